"""Whether queries and points are finite, found out without waiting for a GPU's queue."""

import ctypes
from concurrent.futures import ThreadPoolExecutor

import cuda_host
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxapi.spatial import KDTree
from jaxapi.spatial._cuda import _side_stream
from jaxapi.spatial._cuda._launch import Kernel

BLOCK = _side_stream.THREADS * _side_stream.EACH

needs_a_compiler = pytest.mark.skipif(cuda_host.compiler() is None, reason="no C++ compiler")
needs_a_gpu = pytest.mark.skipif(jax.default_backend() != "gpu", reason="no GPU")


@pytest.fixture(params=[np.float32, np.float64])
def kernel(request):
    """Return the kernel as a function of an array, compiled for the host."""
    run = cuda_host.library(Kernel.of("not_finite", m=1, dtype=request.param))

    def found(array):
        array, count, answer = np.asarray(array, request.param), np.array(array.size), np.zeros(1, np.int32)
        pointers = (ctypes.c_void_p * 3)(array.ctypes.data, count.ctypes.data, answer.ctypes.data)
        blocks = -(-array.size // BLOCK)
        assert run(pointers, ctypes.c_longlong(blocks), ctypes.c_int(_side_stream.THREADS)) == 0
        return bool(answer[0])

    return found


@needs_a_compiler
@pytest.mark.parametrize("size", [1, 300, BLOCK, BLOCK + 1])
def test_the_kernel_finds_one_that_is_not_finite(kernel, size):
    info = np.finfo(np.float32)
    numbers = np.resize(np.array([0, -0.0, 1, info.max, info.min, info.tiny], np.float32), size)
    assert not kernel(numbers)
    for place in {0, size // 2, size - 1}:
        for value in (np.nan, np.inf, -np.inf):
            assert kernel(np.where(np.arange(size) == place, value, numbers))
    beyond = np.append(numbers, np.float32(np.nan))
    assert not kernel(beyond[:size])


def test_without_the_drivers_binding_the_compiled_question_serves():
    assert _side_stream.all_finite(jax.device_put(jnp.ones(3), jax.devices("cpu")[0])) is None


@needs_a_gpu
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_answers_come_before_searches_end(dtype):
    """Of one thread and of several; whatever waits in the queue."""
    x = jax.device_put(np.random.default_rng(0).random((3 * BLOCK, 3)).astype(dtype))
    bad = jax.device_put(np.where(np.arange(len(x))[:, None] == 5, np.nan, x))
    assert _side_stream.all_finite(x) is not None
    assert bool(_side_stream.all_finite(x))
    assert not bool(_side_stream.all_finite(bad))
    assert bool(_side_stream.all_finite(x[:0]))
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda i: bool(_side_stream.all_finite((x, bad)[i % 2])), range(200)))
    assert answers == [True, False] * 100
    tree = KDTree(x)
    for _ in range(6):  # padded on the host, on the device, then not at all
        assert bool((tree.query(x[:BLOCK])[1] == jnp.arange(BLOCK)).all())
        with pytest.raises(ValueError, match="must be finite"):
            tree.query(bad[:BLOCK])
    with pytest.raises(ValueError, match="must be finite"):
        KDTree(bad)
    searched = tree.query(jnp.sin(x + 1))[0]  # of queries that are not computed yet
    assert bool(jnp.isfinite(searched).all())


def test_what_the_driver_answers():
    """A number for an error, and what was asked for."""
    assert _side_stream.SideStream._checked((0, "stream")) == "stream"
    assert list(_side_stream.SideStream._checked((0, "major", "minor"))) == ["major", "minor"]
    with pytest.raises(RuntimeError, match="answers 700"):
        _side_stream.SideStream._checked((700,))
