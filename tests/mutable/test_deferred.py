"""Elements that are read and written when they are needed: as NumPy's, whatever comes between."""

import threading
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxapi.mutable as xp
from jaxapi.mutable import _deferred, _elements


@pytest.fixture
def size():
    """Take the sizes as they are."""


@pytest.mark.parametrize("seed", range(6))
def test_random_programs(seed):
    random = np.random.default_rng(seed)
    hosts = [random.integers(0, 100, shape).astype(np.float32) for shape in ((5, 7), (5, 7), (4,), ())]
    arrays = [+xp.asarray(host) for host in hosts]
    views = [
        (arrays[0][1:, ::2], hosts[0][1:, ::2]),
        (arrays[1].T, hosts[1].T),
        (arrays[2][::-1], hosts[2][::-1]),
    ]
    pairs = [*zip(arrays, hosts, strict=True), *views]
    held = []

    def chosen():
        x, host = pairs[random.integers(len(pairs))]
        return x, host, tuple(int(random.integers(n)) for n in host.shape)

    for _ in range(150):
        x, host, i = chosen()
        y, other, j = chosen()
        match random.integers(9):
            case 0 | 1 | 2:
                x[i] = y[j]
                host[i] = other[j]
            case 3:
                x[i] = number = int(random.integers(100))
                host[i] = number
            case 4:
                x[i] += y[j]
                host[i] += other[j]
            case 5:
                held.append((x[i], host[i].copy()))
            case 6:
                assert float(x[i]) == host[i]
            case 7:
                x += 1
                host += 1
            case 8:
                np.testing.assert_array_equal(x, host)
    for x, host in [*pairs, *held]:
        np.testing.assert_array_equal(x, host)


def test_loops_run_few_programs(monkeypatch):
    x, y = xp.zeros((40, 40)), xp.arange(40, dtype=xp.float32)
    runs = []
    for module, name in ((_deferred, "_moved"), (_deferred, "put"), (_elements, "take")):
        program = getattr(module, name)
        monkeypatch.setattr(
            module, name, lambda *args, program=program: runs.append(program) or program(*args)
        )
    for i in range(40):
        x[i, i] = y[i]
        x[i, 0] = 2.0
    assert [float(y[i]) for i in range(40)] == list(range(40))
    assert not runs
    expected = np.diag(np.arange(40, dtype=np.float32))
    expected[:, 0] = 2
    np.testing.assert_array_equal(x, expected)
    assert len(runs) == 2


@pytest.mark.parametrize("n", [2, 31, 33, 70, 1023, 1024, 1025, 3000])
def test_many_at_once(n):
    x, y = xp.zeros(n), xp.arange(n, dtype=xp.float32) * 2
    for i in range(n):
        x[i] = y[-1 - i]
    np.testing.assert_array_equal(x, np.arange(n)[::-1] * 2)
    for i in range(n):
        x[i] = i
    np.testing.assert_array_equal(x, np.arange(n))
    for i in range(min(n, 70)):
        x[i] = y[i] + 1
    np.testing.assert_array_equal(x[:70], np.arange(n)[:70] * 2 + 1)


def test_dtypes(x64):
    for dtype in (xp.bool, xp.int8, xp.uint8, xp.int64, xp.uint64, xp.float64, xp.complex128, jnp.bfloat16):
        x, y = xp.zeros(3, dtype=dtype), xp.ones(3, dtype=dtype)
        x[0], x[2] = y[1], 1
        assert x.dtype == y[1].dtype == x[1].dtype == dtype
        assert x[0].shape == ()
        np.testing.assert_array_equal(x, np.asarray([1, 0, 1], dtype))
        assert complex(y[0]) == 1
        assert bool(y[0])
    x = xp.zeros(2, dtype=xp.int64)
    x[0] = 2**62
    x[1] = x[0]
    assert x.tolist() == [2**62] * 2
    assert list(range(5))[x[0] - 2**62] == 0


def test_errors():
    x = xp.zeros(2)
    x[0] = 1.0
    with pytest.raises(TypeError, match="complex"):
        x[1] = 1j
    with pytest.raises(TypeError, match="complex"):
        x[1] = (xp.ones(2) * 1j)[0]
    with pytest.raises(OverflowError):
        xp.zeros(2, dtype=xp.int8)[0] = 300
    with pytest.raises(TypeError):
        range(3)[x[0]]
    with pytest.raises(TypeError):
        float((xp.ones(2) * 1j)[0])
    with pytest.raises(IndexError):
        x[2] = 1.0
    np.testing.assert_array_equal(x, [1, 0])


def test_elements_are_arrays_of_their_own():
    x = xp.zeros(3) + 4
    element = x[1]
    element[()] = 5.0
    element[...] += 1
    again = element[()]
    element[()] = x[2]
    np.testing.assert_array_equal(element, 4)
    np.testing.assert_array_equal(again, 6)
    np.testing.assert_array_equal(x, [4, 4, 4])


def test_values_of_other_dtypes_are_cast():
    x, y = xp.zeros(3, dtype=xp.int32), xp.full(3, 2.75)
    x[0], x[1], x[2] = y[0], y[1], xp.asarray(True)
    np.testing.assert_array_equal(x, [2, 2, 1])


def test_what_is_deleted_or_shared():
    x = xp.zeros(3) + 5
    element = x[1]
    consumer = jax.jit(lambda y: y + 1, donate_argnums=0)
    consumer(x)
    assert float(element) == 5
    x = xp.zeros(3) + 7
    element = x[1]
    jnp.asarray(x).delete()
    assert float(element) == 7
    target, value = xp.zeros(2), xp.sum(xp.ones(3))
    target[0] = value
    consumer(value)
    np.testing.assert_array_equal(target, [3, 0])


@pytest.mark.parametrize(("n", "is_kept"), [(1024, True), (1025, False)])
def test_an_unread_element_keeps_few_bytes_in_memory(n, is_kept):
    x = xp.zeros(n, dtype=xp.float32)
    x[1:3] = 1.0
    kept = weakref.ref(x._value)
    held = [x[1], x[2]]
    del x
    assert (kept() is not None) == is_kept
    assert [float(element) for element in held] == [1, 1]


def test_under_jit():
    x = xp.zeros(3) + 1
    x[0] = 5.0
    element = x[1]

    @jax.jit
    def f(y):
        y[0] = x[0] + element
        y[1] = x[2]
        return y

    np.testing.assert_array_equal(f(xp.zeros(2)), [6, 1])
    np.testing.assert_array_equal(x, [5, 1, 1])

    @jax.jit
    def leaking():
        x[1] = 3.0

    with pytest.raises(ValueError, match="outside"):
        leaking()
    np.testing.assert_array_equal(x, [5, 1, 1])
    gradient = jax.grad(lambda y: jnp.asarray(y[0] * x[0] + y[1] * element))(xp.ones(2))
    np.testing.assert_array_equal(gradient, [5, 1])
    batch = jax.vmap(lambda i: jnp.asarray(x[0] + x[1] * i))(jnp.arange(3.0))
    np.testing.assert_array_equal(batch, [5, 6, 7])


def test_threads_lose_no_element():
    x = xp.zeros(400)

    def write(k):
        for i in range(k, 400, 4):
            x[i] = i
            if i % 50 == 0:
                x.sum()

    threads = [threading.Thread(target=write, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(x, np.arange(400))


def test_elements_of_several_arrays_come_together():
    """Each keeps the dtype of where it goes, or is refused."""
    x = xp.zeros(4, dtype=xp.float32)
    x[0] = xp.asarray([0.5, 1.5], dtype=xp.float32)[1]
    x[1] = xp.asarray([1, 2**24 + 1], dtype=xp.int32)[1]
    with pytest.raises(TypeError):
        x[2] = xp.asarray([1j, 2j])[0]
    x[3] = xp.asarray([1e300, 0.1], dtype=xp.float64)[1]
    np.testing.assert_array_equal(x, np.asarray([1.5, 2**24, 0, 0.1], np.float32))
    assert x.dtype == np.float32


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="the CPU plays several devices")
def test_elements_of_arrays_on_several_devices():
    first, second = (xp.asarray([1, 2, 3], dtype=xp.float32, device=d) for d in jax.devices()[:2])
    x = xp.zeros(3, dtype=xp.float32)
    x[0] = second[1]
    x[1] = second[2]
    assert x.device == second.device
    np.testing.assert_array_equal(x, [2, 3, 0])
    with pytest.raises(ValueError, match="devices"):
        first[0] = second[1]
