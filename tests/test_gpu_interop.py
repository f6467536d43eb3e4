"""CuPy, PyTorch and NumPy together with JAX on one GPU: pointers, streams, devices."""

import jax
import numpy as np
import pytest

import jaxapi as xp

pytestmark = pytest.mark.gpu

SHAPE = (64, 1024)


def address(x):
    return x.unsafe_buffer_pointer()


@pytest.fixture
def cupy(gpu):
    return pytest.importorskip("cupy")


@pytest.fixture
def torch(gpu):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("this PyTorch has no CUDA")
    return torch


CONVERT = {"from_dlpack": xp.from_dlpack, "asarray": xp.asarray}
DTYPES = ["bool", "int8", "int64", "uint16", "float16", "float32", "float64", "complex64", "complex128"]


@pytest.mark.parametrize("convert", CONVERT.values(), ids=CONVERT)
@pytest.mark.parametrize("dtype", DTYPES)
def test_cupy_is_shared_both_ways(cupy, gpu, convert, dtype, x64):
    x = (cupy.arange(SHAPE[0] * SHAPE[1]).reshape(SHAPE) % 100).astype(dtype)
    for copy in (None, False):
        shared = convert(x, copy=copy)
        assert address(shared) == x.data.ptr
        assert shared.dtype == x.dtype
        assert shared.device == gpu
        np.testing.assert_array_equal(shared, x.get())
    assert address(convert(x.T, copy=False)) == x.data.ptr
    np.testing.assert_array_equal(convert(x.T, copy=False), x.get().T)
    assert cupy.from_dlpack(shared).data.ptr == x.data.ptr
    copied = convert(x, copy=True)
    assert address(copied) != x.data.ptr
    x[...] = 1 - x if dtype != "bool" else ~x
    np.testing.assert_array_equal(copied, 1 - x.get() if dtype != "bool" else ~x.get())


@pytest.mark.parametrize("convert", CONVERT.values(), ids=CONVERT)
def test_cupy_of_any_strides(cupy, convert):
    x = cupy.arange(SHAPE[0] * SHAPE[1], dtype="float32").reshape(SHAPE)
    for view in (x[:, ::2], x[::-1], x[1:, 1:], cupy.broadcast_to(x[0], SHAPE), x[0, 1:], x[3, 5], x[:0]):
        for copy in (None, True):
            got = convert(view, copy=copy)
            np.testing.assert_array_equal(got, view.get())
            np.testing.assert_array_equal(got + got, view.get() * 2)
    for view in (x[:, ::2], x[::-1]):
        with pytest.raises((BufferError, ValueError)):
            convert(view, copy=False)


@pytest.mark.parametrize("convert", CONVERT.values(), ids=CONVERT)
def test_torch_is_shared_both_ways(torch, gpu, convert, x64):
    whole = torch.arange(SHAPE[0] * SHAPE[1], device="cuda", dtype=torch.float64).reshape(SHAPE)
    dtypes = [torch.bool, torch.int64, torch.bfloat16, torch.float16, torch.float32, torch.float64]
    for x in [whole.to(dtype) for dtype in dtypes] + [whole.T, whole * 1j]:
        for copy in (None, False):
            shared = convert(x, copy=copy)
            assert address(shared) == x.data_ptr()
            assert shared.dtype.name == str(x.dtype).removeprefix("torch.")
            assert shared.device == gpu
        assert torch.from_dlpack(shared).data_ptr() == x.data_ptr()
        assert address(convert(x, copy=True)) != x.data_ptr()
        np.testing.assert_array_equal(
            np.asarray(convert(x, copy=True)).astype(complex), x.to(torch.complex128).cpu().numpy()
        )
    for view in (whole[:, ::2], whole[1:, 1:], whole[0].expand(SHAPE), (whole * 1j).conj(), whole[0, 1:]):
        expected = view.resolve_conj().cpu().numpy()
        np.testing.assert_array_equal(convert(view), expected)
        np.testing.assert_array_equal(convert(view) + 1, expected + 1)
    with pytest.raises((BufferError, ValueError), match="detach"):
        convert(whole.clone().requires_grad_())


class CudaInterface:
    """A CuPy array of which only ``__cuda_array_interface__`` is seen."""

    def __init__(self, x, **changes):
        self.x = x
        self.__cuda_array_interface__ = x.__cuda_array_interface__ | changes


def test_cuda_array_interface(cupy, gpu, x64):
    for dtype in ("float32", "float64", "int64"):
        x = cupy.arange(4096, dtype=dtype).reshape(64, 64)
        shared = xp.asarray(CudaInterface(x), copy=False)
        assert address(shared) == address(xp.asarray(CudaInterface(x))) == x.data.ptr
        assert shared.dtype == x.dtype
        assert shared.device == gpu
        np.testing.assert_array_equal(shared, x.get())
        copied = xp.asarray(CudaInterface(x), copy=True)
        assert address(copied) != x.data.ptr
        np.testing.assert_array_equal(copied, x.get())
    np.testing.assert_array_equal(xp.asarray(CudaInterface(x[:, ::2])), x.get()[:, ::2])
    with pytest.raises(ValueError, match="cannot use the memory"):
        xp.asarray(CudaInterface(x[:, ::2]), copy=False)


def slow_fill(cupy, x, value, ticks=400_000_000):
    """Write ``value`` on the current stream, about 0.2 s from now."""
    source = """extern "C" __global__ void delay(long long ticks) {
        long long start = clock64();
        while (clock64() - start < ticks);
    }"""
    delay = cupy.RawKernel(source, "delay")
    delay((1,), (1,), (np.int64(ticks),))
    x.fill(value)


class Unsynchronised:
    """A producer that does not wait: what `from_dlpack` would read if no stream were passed."""

    def __init__(self, x):
        self.x = x

    def __dlpack__(self, **options):
        return self.x.__dlpack__(stream=-1)

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()


def written_late(cupy, convert):
    """Return what ``convert`` sees of an array that a kernel on another stream has yet to write."""
    x = cupy.zeros(1 << 20, dtype="float32")
    slow_fill(cupy, x, 1, ticks=1)  # compile all of it: compiling later would outlast the delay
    x.fill(0)
    (convert(x) + 0).block_until_ready()
    cupy.cuda.Device().synchronize()
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        slow_fill(cupy, x, 1)
        seen = convert(x) + 0
    seen = np.asarray(seen)
    stream.synchronize()
    return seen


def test_cupy_stream_is_respected(cupy):
    assert (written_late(cupy, lambda x: xp.from_dlpack(Unsynchronised(x))) == 0).any()  # the test can fail
    for convert in (
        xp.from_dlpack,
        xp.asarray,
        lambda x: xp.asarray(x, copy=True),
        lambda x: xp.from_dlpack(x, device=jax.devices("cpu")[0]),
        lambda x: xp.asarray(CudaInterface(x, version=3, stream=cupy.cuda.get_current_stream().ptr or 1)),
    ):
        assert (written_late(cupy, convert) == 1).all()


def test_cupy_may_write_after_a_copy(cupy):
    for convert in (
        lambda x: xp.asarray(x, copy=True),
        lambda x: xp.from_dlpack(x, copy=True),
        lambda x: xp.asarray(x, dtype="float64"),
        lambda x: xp.asarray(x, device=jax.devices("cpu")[0]),
        lambda x: xp.asarray(x[::2]),
    ):
        stream = cupy.cuda.Stream(non_blocking=True)
        with stream:
            x = cupy.ones(1 << 26, dtype="float32")
            copied = convert(x)
            x.fill(2)
        assert (np.asarray(copied) == 1).all()


def test_torch_stream_is_respected(torch):
    x = torch.zeros(1 << 20, device="cuda")
    (xp.from_dlpack(x) + 0).block_until_ready()
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda._sleep(400_000_000)
        x.fill_(1)
        seen = xp.from_dlpack(x) + 0
    assert (np.asarray(seen) == 1).all()


def test_jax_work_is_waited_for(cupy, torch):
    work = jax.jit(lambda x: jax.lax.fori_loop(0, 50, lambda i, y: y @ y / 4096, x))
    x = xp.ones((4096, 4096))
    for read in (lambda y: cupy.from_dlpack(y)[0, 0].get(), lambda y: torch.from_dlpack(y)[0, 0].item()):
        work(x).block_until_ready()
        with cupy.cuda.Stream(non_blocking=True), torch.cuda.stream(torch.cuda.Stream()):
            assert read(work(x)) == 1


def test_numpy_to_the_gpu_is_independent(gpu):
    for size in (16, 1 << 16, 1 << 27):
        host = np.ones(size, "float32")
        copied = xp.asarray(host)
        host[:] = 2
        assert copied.device == gpu
        assert (np.asarray(copied) == 1).all()
    with pytest.raises(ValueError, match="device"):
        xp.asarray(host, copy=False)
    with pytest.raises(BufferError, match="device"):
        xp.from_dlpack(host, device=gpu, copy=False)
    assert xp.from_dlpack(host).device.platform == "cpu"
    assert xp.from_dlpack(host, device=gpu).device == gpu


def test_across_devices(gpu, cupy, torch):
    cpu = jax.devices("cpu")[0]
    here = xp.arange(8.0)
    there = xp.from_dlpack(here, device=cpu)
    assert there.device == cpu
    assert xp.from_dlpack(there, device=gpu).device == gpu
    with pytest.raises(BufferError, match="copy=None"):
        xp.from_dlpack(here, device=cpu, copy=False)
    np.testing.assert_array_equal(np.asarray(xp.from_dlpack(cupy.arange(8.0), device=cpu)), np.arange(8.0))
    on_host = torch.arange(8.0)
    assert xp.asarray(on_host).device == gpu
    assert xp.from_dlpack(on_host).device == cpu
    assert xp.asarray(on_host.pin_memory()).device == gpu
    np.testing.assert_array_equal(xp.from_dlpack(on_host.pin_memory(), device=cpu), np.arange(8.0))
    with pytest.raises(ValueError, match="platform GPU"):
        xp.add(xp.from_dlpack(on_host), xp.asarray(here, device=gpu))
