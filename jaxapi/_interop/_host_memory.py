"""Host memory (a NumPy array) to a `jax.Array`: copied once, or shared on request."""

import math

import jax
import numpy as np

from .._core._devices import is_cpu
from .._core._dtypes import native_dtype, x64_mode, x64_on
from .._core._programs import compiled, eagerly, is_traced
from .._core._typing import Array

__all__ = ["SMALL", "aligned_empty", "copy_by_program", "copy_host", "share_host"]

# XLA on the CPU works on host memory as it lies if it starts at a multiple of this.
_ALIGNMENT = 64
# From this many bytes on, waiting for the transfer to an accelerator costs less than a copy here.
_LARGE = 1 << 20
# Up to this many bytes a copy takes no time beside the call of a program.
SMALL = 1 << 16


def copy_host(host: np.ndarray, dtype: np.dtype | None = None, device=None) -> Array:
    """Copy host memory of any layout and byte order to the device, cast to ``dtype`` on the way.

    No later write to ``host`` is seen: `jax.device_put`, which keeps the memory on the CPU and reads
    it later for a GPU, is given memory that nobody else knows, or is waited for.
    """
    dtype = native_dtype(host.dtype) if dtype is None else dtype
    if not is_cpu(device) and host.nbytes >= _LARGE and host.dtype == dtype and host.flags.c_contiguous:
        with x64_on():
            array = jax.device_put(host, device)
        if not is_traced(array):
            return array.block_until_ready()  # now the accelerator has read it
    private = aligned_empty(host.shape, dtype)
    np.copyto(private, host, casting="unsafe")
    with x64_on():
        return jax.device_put(private, device)


def copy_by_program(host: np.ndarray) -> Array:
    """Copy host memory of native byte order to the default device, as the argument of a program.

    Of a small array this takes a tenth of the time of `copy_host`, but compiles for each shape.
    """
    if x64_mode():
        return _unchanged(host)
    with x64_on():
        return _unchanged(host)


@compiled
def _unchanged(x: Array) -> Array:
    return x


def share_host(host: np.ndarray, device=None) -> Array:
    """Return an array on the CPU that uses the memory of ``host``; BufferError where it cannot."""
    if not host.dtype.isnative:
        raise BufferError(f"memory of dtype {host.dtype} cannot be shared: JAX has native byte order only")
    address = host.__array_interface__["data"][0]
    if address % _ALIGNMENT and host.size:
        raise BufferError(
            f"memory that starts at {address:#x} cannot be shared: JAX needs a multiple of {_ALIGNMENT} bytes"
        )
    put = jax.device_put if host.flags.c_contiguous else _share_permuted
    with x64_on():
        array = put(host, device)
        if is_traced(array):
            with eagerly():
                array = put(host, device)
    if array.size and array.unsafe_buffer_pointer() != address:
        raise BufferError(f"memory of dtype {host.dtype} cannot be shared with JAX")
    return array


def _share_permuted(host: np.ndarray, device) -> Array:
    """Share memory without gaps whose axes are permuted, through DLPack, which can describe it."""
    try:
        return jax.dlpack.from_dlpack(host, device=device, copy=False)
    except (RuntimeError, ValueError, BufferError) as error:
        raise BufferError(f"memory with strides {host.strides} cannot be shared with JAX: {error}") from None


def aligned_empty(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Return new memory that XLA on the CPU can work on as it lies: JAX takes it over."""
    size = math.prod(shape) * dtype.itemsize
    room = np.empty(size + _ALIGNMENT, np.uint8)
    start = -room.__array_interface__["data"][0] % _ALIGNMENT
    return room[start : start + size].view(dtype).reshape(shape)
