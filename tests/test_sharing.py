"""What shares memory, proved by pointers, and what a copy is independent of."""

import array
import importlib.util

import jax
import ml_dtypes
import numpy as np
import pytest

import jaxapi as xp

MATRIX = (6, 32)


def aligned(shape, dtype, offset=0):
    """Return an empty NumPy array that starts ``offset`` bytes after a multiple of 64."""
    dtype = np.dtype(dtype)
    size = int(np.prod(shape)) * dtype.itemsize
    room = np.empty(size + 128, np.uint8)
    start = -room.ctypes.data % 64 + offset
    return room[start : start + size].view(dtype).reshape(shape)


def numbers(dtype, offset=0):
    host = aligned(MATRIX, dtype, offset)
    host[...] = np.arange(host.size).reshape(MATRIX) % 2
    return host


def cpu():
    return jax.local_devices(backend="cpu")[0]


def address(x):
    return x.unsafe_buffer_pointer()


ON_THE_CPU = {
    "from_dlpack": lambda x, copy: xp.from_dlpack(x, copy=copy),
    "asarray": lambda x, copy: xp.asarray(x, copy=copy, device=cpu()),
}
DTYPES = ["bool", "int8", "uint64", "float16", "float32", "float64", "complex128"]
DTYPES += [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn]


@pytest.mark.parametrize("convert", ON_THE_CPU.values(), ids=ON_THE_CPU)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_aligned_numpy_is_shared(convert, dtype, x64):
    host = numbers(dtype)
    shared = convert(host, False)
    assert address(shared) == host.ctypes.data
    assert shared.dtype == host.dtype
    np.testing.assert_array_equal(shared, host)
    copied = convert(host, True)
    assert address(copied) != host.ctypes.data
    host[...] = np.asarray(2).astype(dtype)
    np.testing.assert_array_equal(copied, (np.arange(host.size).reshape(MATRIX) % 2).astype(dtype))


@pytest.mark.parametrize("convert", ON_THE_CPU.values(), ids=ON_THE_CPU)
def test_read_only_and_transposed_numpy_is_shared(convert):
    host = numbers("float64")
    assert address(convert(host.T, False)) == host.ctypes.data
    np.testing.assert_array_equal(convert(host.T, False), host.T)
    host.flags.writeable = False
    assert address(convert(host, False)) == host.ctypes.data


def test_copy_none():
    host = numbers("float32")
    assert address(xp.from_dlpack(host)) == host.ctypes.data
    assert address(xp.asarray(host, device=cpu())) != host.ctypes.data


UNSHAREABLE = {
    "unaligned": lambda: numbers("float32", offset=4),
    "gaps": lambda: numbers("float32")[:, ::2],
    "reversed": lambda: numbers("float32")[::-1],
    "broadcast": lambda: np.broadcast_to(numbers("float32")[0], MATRIX),
    "big-endian": lambda: numbers("float32").astype(">f4"),
}


@pytest.mark.parametrize("make", UNSHAREABLE.values(), ids=UNSHAREABLE)
def test_copy_false_raises_where_a_copy_is_needed(make):
    host = make()
    with pytest.raises(BufferError):
        xp.from_dlpack(host, copy=False)
    with pytest.raises(ValueError, match="shared"):
        xp.asarray(host, copy=False, device=cpu())
    for copy in (None, True):
        np.testing.assert_array_equal(xp.from_dlpack(host, copy=copy), host)
        np.testing.assert_array_equal(xp.asarray(host, copy=copy), host)


def test_copy_false_of_other_objects():
    host = numbers("float64")
    with pytest.raises(ValueError, match="float32"):
        xp.asarray(host, dtype="float32", copy=False)
    for python_numbers in (1, [1.0, 2.0], [[1], [2]], range(3), [np.float32(1)]):
        with pytest.raises(ValueError, match="memory"):
            xp.asarray(python_numbers, copy=False)
    buffer = memoryview(host)
    assert address(xp.asarray(buffer, copy=False, device=cpu())) == host.ctypes.data
    with pytest.raises(ValueError, match="64"):
        xp.asarray(memoryview(array.array("b", range(100)))[1:], copy=False, device=cpu())


def test_jax_arrays(x64):
    for x in (xp.asarray(numbers("float32")), xp.asarray(numbers("float64"))):
        for convert in (xp.asarray, xp.from_dlpack):
            assert convert(x) is x
            assert convert(x, copy=False) is x
            assert address(convert(x, copy=True)) != address(x)
            assert convert(x, copy=True).dtype == x.dtype
            assert address(convert(x, device=x.device, copy=False)) == address(x)
    assert xp.asarray(x, dtype="float64") is x
    assert xp.asarray(x, dtype="int64").dtype == np.int64
    with pytest.raises(ValueError, match="float32"):
        xp.asarray(x, dtype="float32", copy=False)
    with pytest.raises(TypeError, match="imag"):
        xp.asarray(xp.asarray(1j), dtype="float32")


def test_under_jit(x64):
    host = numbers("float64")
    shared = jax.jit(lambda x: xp.from_dlpack(host, copy=False) + x)
    np.testing.assert_array_equal(shared(xp.asarray(host)), host + host)
    cast = jax.jit(lambda x: xp.asarray(x, dtype="int64", device=cpu(), copy=True))
    assert cast(xp.asarray(host)).dtype == np.int64
    gradient = jax.grad(lambda x: xp.asarray(x, copy=True).sum())(xp.asarray(host))
    np.testing.assert_array_equal(gradient, np.ones(MATRIX))


def test_out_to_numpy_shares():
    x = xp.asarray(numbers("float64"), device=cpu())
    assert np.asarray(x).ctypes.data == address(x)
    assert np.from_dlpack(x).ctypes.data == address(x)
    assert not np.asarray(x).flags.writeable
    assert address(xp.from_dlpack(np.asarray(x), copy=False)) == address(x)


def test_from_dlpack_takes_dlpack_only():
    for x in ([1, 2], 3, b"ab", memoryview(b"ab"), np.float64(1)):
        with pytest.raises(AttributeError, match="asarray"):
            xp.from_dlpack(x)
    with pytest.raises(BufferError, match="datetime64"):
        xp.from_dlpack(np.array(["2026-01-01"], "M8[D]"))


class Producer:
    """An object that has DLPack's two methods and nothing else."""

    def __init__(self, host, device=None):
        self.host, self.device = host, device

    def __dlpack__(self, **options):
        return self.host.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.device or self.host.__dlpack_device__()


def test_any_dlpack_object():
    host = numbers("float64")
    assert address(xp.from_dlpack(Producer(host))) == host.ctypes.data
    assert address(xp.asarray(Producer(host), copy=False)) == host.ctypes.data
    for copied in (xp.from_dlpack(Producer(host), copy=True), xp.asarray(Producer(host))):
        assert address(copied) != host.ctypes.data
        np.testing.assert_array_equal(copied, host)
    np.testing.assert_array_equal(xp.from_dlpack(Producer(host[:, ::2])), host[:, ::2])
    with pytest.raises(BufferError, match="Producer"):
        xp.from_dlpack(Producer(host[:, ::2]), copy=False)
    with pytest.raises(BufferError, match="Producer"):
        xp.from_dlpack(Producer(host, device=(8, 0)))  # kDLMetal


def test_strict_arrays():
    strict = pytest.importorskip("array_api_strict")
    x = strict.reshape(strict.arange(6, dtype=strict.int64), (2, 3))
    np.testing.assert_array_equal(xp.from_dlpack(x), np.arange(6).reshape(2, 3))
    assert xp.asarray(x).dtype == np.int64


# PyTorch on the CPU


def tensors(torch):
    whole = torch.arange(192.0, dtype=torch.float64).reshape(MATRIX)
    return {
        "whole": whole,
        "transposed": whole.T,
        "gaps": whole[:, ::2],
        "unaligned": whole[:, 1:],
        "expanded": whole[0].expand(MATRIX),
        "0-d": whole[2, 3],
        "empty": whole[:0],
        "complex": whole * 1j,
        "conjugated": (whole * 1j).conj(),
        "bfloat16": whole.to(torch.bfloat16),
        "bfloat16 gaps": whole.to(torch.bfloat16)[:, ::2],
        "bool": whole > 7,
    }


@pytest.mark.thorough("x32")
def test_torch_values(x64):
    torch = pytest.importorskip("torch")
    for name, tensor in tensors(torch).items():
        expected = tensor.resolve_conj().to(torch.complex128).numpy()
        for convert in (xp.asarray, xp.from_dlpack):
            for copy in (None, True):
                got = convert(tensor, copy=copy)
                assert got.dtype.name == str(tensor.dtype).removeprefix("torch."), name
                np.testing.assert_array_equal(np.asarray(got).astype(complex), expected, err_msg=name)
    with pytest.raises(BufferError):
        xp.from_dlpack(tensors(torch)["gaps"], copy=False)


def test_torch_shares_both_ways():
    torch = pytest.importorskip("torch")
    for name in ("whole", "transposed", "complex", "bfloat16", "bool"):
        tensor = tensors(torch)[name]
        shared = xp.from_dlpack(tensor, copy=False)
        assert address(shared) == tensor.data_ptr()
        assert address(xp.from_dlpack(tensor, copy=True)) != tensor.data_ptr()
        assert address(xp.asarray(tensor)) != tensor.data_ptr()
        assert torch.from_dlpack(shared).data_ptr() == tensor.data_ptr()


def test_torch_refused_with_the_remedy():
    torch = pytest.importorskip("torch")
    for tensor in (torch.ones(3, requires_grad=True), torch.nn.Parameter(torch.ones(3))):
        with pytest.raises(ValueError, match="detach"):
            xp.asarray(tensor)
        for copy in (None, True, False):
            with pytest.raises(BufferError, match="detach"):
                xp.from_dlpack(tensor, copy=copy)
    with pytest.raises(BufferError, match="to_dense"):
        xp.from_dlpack(torch.eye(2).to_sparse())


class CudaOnly:
    """An object that has ``__cuda_array_interface__`` and nothing else."""

    def __init__(self, stream):
        self.__cuda_array_interface__ = {"shape": (4,), "typestr": "<f4", "data": (64, False), "version": 3}
        self.__cuda_array_interface__["stream"] = stream


@pytest.mark.skipif(importlib.util.find_spec("cupy") is not None, reason="CuPy is here")
@pytest.mark.parametrize(("stream", "remedy"), [(None, "to the host"), (1, "needs CuPy")])
def test_a_cuda_interface_without_cupy(stream, remedy):
    for copy in (None, True, False):
        with pytest.raises(ValueError, match=remedy):
            xp.asarray(CudaOnly(stream), copy=copy)


def test_a_gpu_object_without_a_gpu():
    if any(device.platform == "gpu" for device in jax.devices()):
        pytest.skip("there is a GPU")

    class Cuda(Producer):
        @property
        def __cuda_array_interface__(self):
            return {"shape": (4,), "typestr": "<f4", "data": (64, False), "version": 3}

    with pytest.raises(ValueError, match=r"Cuda.*to the host"):
        xp.asarray(Cuda(numbers("float32"), device=(2, 0)))
    with pytest.raises(BufferError, match=r"Cuda.*to the host"):
        xp.from_dlpack(Cuda(numbers("float32"), device=(2, 0)))


def test_what_jax_packs_is_not_shared():
    """Two int4 of NumPy are two bytes, of JAX one."""
    hosts = [aligned((n,), ml_dtypes.int4) for n in range(64, 6400, 64)]
    for host in hosts:
        with pytest.raises(ValueError, match="cannot be shared with JAX"):
            xp.asarray(host, copy=False, device=jax.devices("cpu")[0])
