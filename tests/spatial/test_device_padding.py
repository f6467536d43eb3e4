"""Programs of few lengths read arrays of any, where these lie; on the CPU by kernels of the host."""

import itertools
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from comparisons import assert_same
from compilations import no_compilation

from jaxapi.spatial import KDTree, pad_rows
from jaxapi.spatial._engines import _cuda
from jaxapi.spatial._engines._cuda import _inputs

DTYPES = ["bool", "int8", "uint16", "int32", "float16", "bfloat16", "float32", "float64", "int64"]
needs_a_gpu = pytest.mark.skipif(jax.default_backend() != "gpu", reason="no GPU")


def numbers(seed, shape, dtype="float32"):
    with jax.enable_x64(True):
        return jax.device_put(np.random.default_rng(seed).integers(0, 100, shape).astype(jnp.dtype(dtype)))


@partial(jax.jit, static_argnames=("dtype", "fill"))
def read(room, n, dtype=None, fill=0):
    return _cuda.read_input(room, n, dtype=room.dtype if dtype is None else dtype, fill=fill)


def padded(x, rows, **options):
    """Return an array of a device with more rows."""
    room = _cuda.as_input(x, rows, getattr(x, "sharding", jax.devices()[0]))
    return read(room, len(x), **options).block_until_ready()


@pytest.fixture
def addressed(kernels_on_host, monkeypatch):
    """Let arrays of the CPU be read where they lie."""
    if jax.default_backend() == "cpu":
        monkeypatch.setattr(_inputs, "gpu_of", lambda x: x.device)


@pytest.mark.usefixtures("addressed")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(0, 3), (1, 3), (700, 3), (1023, 1), (1024,), (5,)])
def test_any_dtype_and_shape(dtype, shape):
    x = numbers(1, shape, dtype)
    with jax.enable_x64(True):
        found = np.asarray(padded(x, 1024))
    assert (found.shape, found.dtype) == ((1024, *shape[1:]), x.dtype)
    np.testing.assert_array_equal(found[: len(x)], x)
    assert not found[len(x) :].any()


@pytest.mark.usefixtures("addressed")
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int32", "float32"])
def test_other_dtypes_and_what_stands_for_no_line(dtype):
    x = numbers(3, (100, 2), dtype)
    with jax.enable_x64(True):
        for to in (np.float32, np.float64):
            wanted = np.pad(np.asarray(x, to), ((0, 28), (0, 0)), constant_values=np.nan)
            np.testing.assert_array_equal(padded(x, 128, dtype=to, fill=None), wanted)
        if dtype == "int32":
            wanted = np.pad(np.asarray(x, np.int64), ((0, 28), (0, 0)), constant_values=2**63 - 1)
            np.testing.assert_array_equal(padded(x, 128, dtype=np.int64, fill=None), wanted)


@pytest.mark.usefixtures("addressed")
@pytest.mark.parametrize("dtype", [np.float16, jnp.bfloat16])
def test_numbers_of_two_bytes(dtype):
    """Infinite ones, zeros of both signs and NaN, too; a CPU takes subnormal ones for 0 in XLA's programs."""
    with np.errstate(invalid="ignore"):
        host = np.arange(2**16, dtype=np.uint16).view(dtype)
        wide = host.astype(np.float32)
    is_normal = (wide == 0) | ~(np.abs(wide) < float(jnp.finfo(dtype).tiny))
    host, wide = host[is_normal], wide[is_normal]
    found = np.asarray(padded(jax.device_put(host), 2**17, dtype=np.float32))[: len(host)]
    assert_same(found, wide, signs=True)


@pytest.mark.usefixtures("addressed")
def test_arrays_of_the_host_and_dtypes_without_a_kernel():
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    for each in (x, x[:, ::-1], x.astype(np.complex64), x.astype(jnp.float8_e5m2)):
        for rows in (3, 4):
            found = np.asarray(padded(each, rows))
            assert (found.shape, found.dtype) == ((rows, 2), each.dtype)
            np.testing.assert_array_equal(found[:3].astype(np.complex64), each.astype(np.complex64))


@pytest.mark.usefixtures("addressed")
def test_one_program_for_many_lengths():
    arrays = [numbers(n, (n, 3)) for n in (0, 3, 900, 1024)]
    padded(arrays[2], 1024)
    with no_compilation():
        found = [padded(x, 1024) for x in arrays]
    for x, each in zip(arrays, found, strict=True):
        np.testing.assert_array_equal(each[: len(x)], x)


# --- on a GPU ------------------------------------------------------------------------------------------


def weighed(x, n, xp=np):
    """Return sums of the first lines of whole numbers that tell their order; exact."""
    lines = xp.arange(len(x), dtype=xp.int32)[:, None]
    return xp.where(lines < n, x * (lines % 11 + 1), 0).sum(axis=0, dtype=xp.int32)


@jax.jit
def total_of_lines(room, n):
    return weighed(_cuda.read_input(room, n, dtype=np.int32, fill=0), n, jnp)


def total(x, rows):
    """Return the sums of an array, by a program for so many rows."""
    return total_of_lines(_cuda.as_input(x, rows, x.sharding), np.int32(len(x)))


@needs_a_gpu
def test_random_lengths_of_temporaries():
    """Of arrays that are not computed or sent yet, and let go or donated as soon as they are asked for."""
    rng = np.random.default_rng(0)
    matrix = jax.device_put(rng.random((2048, 2048), dtype=np.float32))
    slow = jax.jit(lambda a: jax.lax.fori_loop(0, 20, lambda _, a: jnp.sin(a @ matrix), a)[0, 0] * 0)
    rolled = jax.jit(lambda x, zero, at: jnp.roll(x, at, axis=0) + zero.astype(jnp.int32))
    donated = jax.jit(lambda x: x * 0 - 1, donate_argnums=0)
    host = rng.integers(0, 100, (1 << 17, 3)).astype(np.int32)
    sizes = 1024, 4096, 1 << 14, 1 << 17
    sources = [[jax.device_put(host[:n]) for n in rng.integers(size // 2, size, 6)] for size in sizes]
    for size, arrays in zip(sizes, sources, strict=True):  # programs of theirs, first
        total(arrays[0], size)
        for x in arrays:
            donated(rolled(x, slow(matrix), 0))
    found, wanted = [], []
    with no_compilation():
        for i in range(3000):
            size, arrays = sizes[i % 4], sources[i % 4]
            if i % 3:
                source, at = arrays[rng.integers(6)], int(rng.integers(99))
                x = rolled(source, slow(matrix) if i % 50 == 0 else np.float32(0), at)
                wanted.append(np.roll(host[: len(x)], at, axis=0))
            else:
                n = int(rng.integers(1, size))
                x = jax.device_put(host[:n])
                wanted.append(host[:n])
            found.append(total(x, size))
            if i % 5 == 0:
                del x
                other = jax.device_put(host[: int(rng.integers(1, size))] * 0 - 1)  # perhaps where it lay
            elif i % 2 == 0 and i % 3:
                donated(x)
    for ours, rows in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(ours, weighed(rows, len(rows)))
    assert (np.asarray(other) == -1).all()
    for x in itertools.chain(*sources):
        np.testing.assert_array_equal(x, host[: len(x)])


@needs_a_gpu
def test_threads_on_a_gpu():
    sources = [numbers(i, (3000 + 100 * i, 3), "int32") for i in range(8)]
    jax.block_until_ready([total(x + 0, 4096) for x in sources])

    def one(i):
        x = sources[i % 8] + (i % 5)
        found = total(x, 4096)
        del x
        other = jax.device_put(np.full((3000 + 100 * (i % 8), 3), -1, np.int32))  # perhaps where it lay
        wanted = np.asarray(sources[i % 8]) + i % 5
        return np.array_equal(found, weighed(wanted, len(wanted))) and (np.asarray(other) == -1).all()

    with ThreadPoolExecutor(16) as threads:
        assert all(threads.map(one, range(2000)))


@needs_a_gpu
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_for_users_on_a_gpu(dtype):
    """`pad_rows` of any length compiles nothing; what it gives is the user's to donate."""
    host = np.random.default_rng(2).random((1000, 3)).astype(dtype)
    with jax.enable_x64(dtype == "float64"):
        double = jax.jit(lambda x: 2 * x, donate_argnums=0)
        double(pad_rows(jax.device_put(host))[0])
        with no_compilation():
            for n in (1, 300, 999):
                x = jax.device_put(host[:n])
                padded, count = pad_rows(x)
                assert int(count) == n
                wanted = np.pad(2 * host[:n], ((0, 1024 - n), (0, 0)))
                np.testing.assert_array_equal(double(padded), wanted)
                np.testing.assert_array_equal(x, host[:n])


@needs_a_gpu
def test_columns_first():
    format_type = pytest.importorskip("jax.experimental.layout")
    layout = format_type.Layout(major_to_minor=(1, 0))
    x = numbers(9, (1 << 17, 3))
    turned = jax.device_put(x, format_type.Format(layout, x.sharding))
    np.testing.assert_array_equal(padded(turned, 1 << 18)[: len(x)], x)


@needs_a_gpu
def test_searches_of_new_lengths_compile_nothing():
    """Of arrays of any length that the device has, at once or not computed yet."""
    rng = np.random.default_rng(1)
    lengths = rng.integers(300_000, 320_000, 6)
    clouds = [jax.device_put(rng.random((n, 3), dtype=np.float32)) for n in lengths]
    half = [jax.jit(lambda x: x / 2)(x) for x in clouds]
    tree = KDTree(clouds[0])
    jax.block_until_ready(tree.query(half[0], k=3))
    jax.block_until_ready(tree.query_ball_point(half[0], 0.01, return_length=True))
    for points, x in zip(clouds, half, strict=True):
        y = x * 1.0
        with no_compilation():
            tree = KDTree(points)
            distances, rows = tree.query(y, k=3)
            counts = tree.query_ball_point(y, 0.01, return_length=True)
        del y
        near = np.linalg.norm(np.asarray(points)[np.asarray(rows)] - np.asarray(x)[:, None], axis=-1)
        np.testing.assert_allclose(distances, near, rtol=1e-5, atol=1e-7)
        assert (np.diff(distances, axis=1) >= 0).all()
        assert len(counts) == len(x)
