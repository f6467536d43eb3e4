"""Arrays on a GPU are filled up by copies on a stream of XLA's: on the CPU with a driver that is late."""

import ctypes
import gc
import queue
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from compilations import no_compilation

from jaxapi.spatial import KDTree, _cuda, pad_rows
from jaxapi.spatial._cuda import _room

DTYPES = ["bool", "int8", "uint16", "int32", "float16", "bfloat16", "float32", "float64", "int64"]
needs_a_gpu = pytest.mark.skipif(jax.default_backend() != "gpu", reason="no GPU")


class LateDriver:
    """CUDA's driver with one stream, whose work another thread does once it may."""

    CUevent_flags = SimpleNamespace(CU_EVENT_DISABLE_TIMING=2)
    CUresult = SimpleNamespace(CUDA_ERROR_NOT_READY=600)
    cuDeviceGet = cuDevicePrimaryCtxRetain = staticmethod(lambda number: (0, number))
    cuCtxPushCurrent = staticmethod(lambda context: (0,))
    cuCtxPopCurrent = staticmethod(lambda: (0, 0))

    def __init__(self):
        self.may_work, self.copies, self.events, self.work = threading.Event(), 0, set(), queue.Queue()
        threading.Thread(target=self._run, daemon=True).start()

    def cuEventCreate(self, flag):
        event = threading.Event()
        self.events.add(event)
        return 0, event

    def cuMemcpyDtoDAsync(self, target, source, size, stream):
        self.copies += 1
        self.work.put(lambda: ctypes.memmove(target, source, size))
        return (0,)

    def cuEventRecord(self, event, stream):
        self.work.put(event.set)
        return (0,)

    def cuEventQuery(self, event):
        return (0 if event.is_set() else 600,)

    def cuEventDestroy(self, event):
        self.events.remove(event)
        return (0,)

    def wait(self):
        self.may_work.set()
        done = threading.Event()
        self.work.put(done.set)
        assert done.wait(60)

    def _run(self):
        while True:
            step = self.work.get()
            self.may_work.wait()
            step()


@pytest.fixture
def late(monkeypatch):
    """Let arrays of the CPU be copied by a `LateDriver`, which is returned."""
    if jax.default_backend() != "cpu":
        pytest.skip("there is a driver")
    from_dlpack, driver = jax.dlpack.from_dlpack, LateDriver()

    class OnStream:
        def __init__(self, x):
            self.__dlpack_device__ = x.__dlpack_device__
            self.__dlpack__ = lambda **_: x.__dlpack__(stream=1 << 20)

    copies = _room.StreamCopies(driver, 0)
    monkeypatch.setattr(jax.dlpack, "from_dlpack", lambda x: from_dlpack(OnStream(x)))
    monkeypatch.setattr(_room, "_exported", lambda array, stream: array.__dlpack__())
    monkeypatch.setattr(_room, "gpu_of", lambda x: x.device)
    monkeypatch.setattr(_room, "_stream_copies", lambda device: copies)
    driver.pending = copies.pending
    return driver


def with_room(x, rows):
    """Return an array of a device with more rows, where it is."""
    return _cuda.with_room(x, rows, x.sharding)


def numbers(seed, shape, dtype="float32"):
    with jax.enable_x64(True):
        return jax.device_put(np.random.default_rng(seed).integers(0, 100, shape).astype(jnp.dtype(dtype)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(0, 3), (1, 3), (700, 3), (1023, 1), (1024,), (5,)])
def test_any_dtype_and_shape(late, dtype, shape):
    late.may_work.set()
    x = numbers(1, shape, dtype)
    room = with_room(x, 1024)
    late.wait()
    assert late.copies == (shape[0] not in (0, 1024))
    assert (room.shape, room.dtype) == ((1024, *shape[1:]), x.dtype)
    np.testing.assert_array_equal(room[: len(x)], x)
    assert not np.asarray(room)[len(x) :].any()


def test_nothing_goes_before_its_copy_is_done(late):
    """Source and zeros of a result that is let go at once; the next result that goes lets go of them."""
    x = numbers(2, (700, 3))
    room = with_room(x, 1024)
    (copy,) = (each for each in gc.get_objects() if type(each) is _room._Copy)
    held = [weakref.ref(each) for each in (x, copy.target)]
    del x, room, copy
    gc.collect()
    assert len(late.pending) == 1
    assert None not in [each() for each in held]
    late.wait()
    for i in range(2):
        with_room(numbers(i, (600, 3)), 1024)
        late.wait()
    gc.collect()
    assert [each() for each in held] == [None, None]
    assert len(late.pending) == len(late.events) <= 1


def test_donated_after_the_result_has_gone(late):
    """The array is its user's to donate."""
    late.may_work.set()
    x, wanted = numbers(5, (700, 3)), np.array(numbers(5, (700, 3)))
    room = with_room(x, 1024)
    late.wait()
    np.testing.assert_array_equal(room[:700], wanted)
    del room
    np.testing.assert_array_equal(jax.jit(lambda x: 2 * x, donate_argnums=0)(x), 2 * wanted)
    assert x.is_deleted()


def test_many_threads(late):
    late.may_work.set()

    def one(i):
        x = numbers(i, (500 + i, 3))
        room = with_room(x, 1024)
        late.wait()
        return np.array_equal(room[: len(x)], x)

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(one, range(200)))
    late.wait()
    with_room(numbers(0, (3,)), 1024)
    assert len(late.pending) == len(late.events) <= 1


@pytest.mark.parametrize("stream", [None, 0, 1, 2])
def test_without_a_stream_a_program_pads(late, monkeypatch, stream):
    export = _room._Copy.__dlpack__
    monkeypatch.setattr(_room._Copy, "__dlpack__", lambda self, **_: export(self, stream=stream))
    x = numbers(6, (700, 3))
    np.testing.assert_array_equal(with_room(x, 1024)[:700], x)
    assert not late.copies


def test_errors_of_the_driver(late):
    """A program pads where the driver refuses."""
    late.cuMemcpyDtoDAsync = lambda *_: (700,)
    x = numbers(7, (700, 3))
    np.testing.assert_array_equal(with_room(x, 1024)[:700], x)


def test_other_arrays_go_by_the_host():
    x, place = np.ones((3, 2), np.float32), jax.devices()[0]
    for rows in (3, 4):
        room = _cuda.with_room(x, rows, place)
        assert (room.shape, room.device, room.committed) == ((rows, 2), place, True)
        np.testing.assert_array_equal(room[:3], x)


# --- on a GPU ------------------------------------------------------------------------------------------


@pytest.fixture
def only_copies(monkeypatch):
    """Fail where anything else pads."""

    def no_other_way(x, rows, place):
        raise AssertionError((x.shape, rows))

    monkeypatch.setattr(_room._lax, "with_room", no_other_way)


def weighed(x, n, xp=np):
    """Return sums of the first lines of whole numbers that tell their order; exact."""
    lines = xp.arange(len(x), dtype=xp.int32)[:, None]
    return xp.where(lines < n, x * (lines % 11 + 1), 0).sum(axis=0, dtype=xp.int32)


total = jax.jit(lambda x, n: weighed(x, n, jnp))


@needs_a_gpu
@pytest.mark.usefixtures("only_copies")
@pytest.mark.parametrize("dtype", [each for each in DTYPES if each != "bool"])
def test_every_dtype_on_a_gpu(dtype):
    for n in (1, 3, 1000, 1023):
        x = numbers(n, (n, 3), dtype)
        room = with_room(x, 1024)
        assert room.dtype == x.dtype
        np.testing.assert_array_equal(np.asarray(room), np.pad(np.asarray(x), ((0, 1024 - n), (0, 0))))


@needs_a_gpu
@pytest.mark.usefixtures("only_copies")
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
        total(with_room(arrays[0], size), 1)
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
            n, room = len(x), with_room(x, size)
            if i % 5 == 0:
                del x
            found.append(total(room, n))
            if i % 2 == 0:
                del room
                if i % 3 and i % 5:
                    donated(x)
            if i % 7 == 0:
                with_room(arrays[0], size)  # which nobody uses
    for ours, rows in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(ours, weighed(rows, len(rows)))
    for arrays in sources:
        for x in arrays:
            np.testing.assert_array_equal(x, host[: len(x)])


@needs_a_gpu
@pytest.mark.usefixtures("only_copies")
def test_threads_on_a_gpu():
    sources = [numbers(i, (3000 + 100 * i, 3), "int32") for i in range(8)]
    jax.block_until_ready([total(with_room(x + 0, 4096), len(x)) for x in sources])

    def one(i):
        x = sources[i % 8] + (i % 5)
        room, n = with_room(x, 4096), len(x)
        del x
        return np.array_equal(total(room, n), weighed(np.asarray(sources[i % 8]) + i % 5, n))

    with ThreadPoolExecutor(16) as threads:
        assert all(threads.map(one, range(2000)))


@needs_a_gpu
@pytest.mark.usefixtures("only_copies")
def test_results_that_nobody_uses_harm_nothing():
    """Their memory is not written to once somebody else has it."""
    matrix = jnp.ones((4096, 4096), jnp.float32)
    slow = jax.jit(lambda a, x: x + jax.lax.fori_loop(0, 40, lambda _, a: jnp.sin(a @ matrix), a)[0, 0] * 0)
    x = jnp.ones((1 << 20, 3))
    fives = jax.jit(lambda: jnp.full((1 << 21, 3), 5.0))
    jax.block_until_ready((slow(matrix, x), fives()))
    for _ in range(30):
        with_room(slow(matrix, x), 1 << 21)
        other = [fives() for _ in range(3)]
        assert all(bool((each == 5).all()) for each in other)


@needs_a_gpu
@pytest.mark.usefixtures("only_copies")
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
def test_columns_first_are_padded_by_a_program():
    """An array in another layout has no copy in C order."""
    format_type = pytest.importorskip("jax.experimental.layout")
    layout = format_type.Layout(major_to_minor=(1, 0))
    x = numbers(9, (1 << 17, 3))
    turned = jax.device_put(x, format_type.Format(layout, x.sharding))
    np.testing.assert_array_equal(np.asarray(with_room(turned, 1 << 18))[: len(x)], x)


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
