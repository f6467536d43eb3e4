"""Arrays of other libraries to a `jax.Array`, through DLPack or ``__cuda_array_interface__``.

What cannot be done raises BufferError, as the standard's `from_dlpack` has it.
"""

import importlib.util

import array_api_compat
import jax
import jax.numpy as jnp
import numpy as np

from .._core._devices import cpu_device
from .._core._dtypes import x64_on
from .._core._typing import Array
from ._host_memory import copy_host

__all__ = ["copy_cuda_interface", "copy_dlpack", "is_on_host", "numpy_view", "share_cuda_interface"]
__all__ += ["share_dlpack"]

_HOST_DEVICES = frozenset({1, 3, 11})  # kDLCPU, kDLCUDAHost, kDLROCMHost

# XLA's GPU programs fail on arguments that start elsewhere; JAX checks this on the CPU only.
_GPU_ALIGNMENT = 16


def is_on_host(producer) -> bool:
    """Whether the CPU can read the producer's memory."""
    return int(producer.__dlpack_device__()[0]) in _HOST_DEVICES


def share_dlpack(producer) -> Array:
    """Return an array on the producer's device that uses its memory.

    JAX gives its own stream to ``__dlpack__``, so that its work waits for the producer's.
    """
    _check_torch(producer)
    try:
        with x64_on():
            return _aligned(jax.dlpack.from_dlpack(producer, copy=False))
    except (RuntimeError, ValueError, TypeError) as error:
        raise BufferError(_refusal(producer, error)) from None


def copy_dlpack(producer) -> Array:
    """Return an array on the producer's device with memory of its own."""
    if is_on_host(producer):
        return copy_host(numpy_view(producer), device=cpu_device())
    _check_torch(producer)
    if _can_copy(producer):
        # On the producer's stream: in order with its later writes, and any strides will do.
        return share_dlpack(_contiguous_copy(producer))
    return _own_copy(share_dlpack(producer))


def numpy_view(producer) -> np.ndarray:
    """Return a producer's host memory, of any strides, as a NumPy array."""
    _check_torch(producer)
    try:
        return np.from_dlpack(producer)
    except (BufferError, RuntimeError, TypeError):
        # NumPy's DLPack has no bfloat16 and no float8; JAX's has.
        return np.asarray(share_dlpack(_contiguous_copy(producer) if _can_copy(producer) else producer))


def share_cuda_interface(producer) -> Array:
    """Return an array that uses the GPU memory of an object with ``__cuda_array_interface__`` only."""
    if importlib.util.find_spec("cupy"):
        return share_dlpack(_cupy_view(producer))
    if producer.__cuda_array_interface__.get("stream") is not None:
        raise BufferError(
            "an object with __cuda_array_interface__ and a stream to wait for needs CuPy, which waits: "
            "install cupy, or pass an object with __dlpack__"
        )
    try:
        with x64_on():
            return _aligned(jnp.asarray(producer))
    except (RuntimeError, ValueError, TypeError) as error:
        raise BufferError(_refusal(producer, error)) from None


def copy_cuda_interface(producer) -> Array:
    """Return a copy of the data of an object with ``__cuda_array_interface__`` only."""
    if importlib.util.find_spec("cupy"):
        return copy_dlpack(_cupy_view(producer))
    return _own_copy(share_cuda_interface(producer))


def _cupy_view(producer):
    """Return CuPy's view, which waits for the producer's stream; JAX does so for streams of its own only."""
    import cupy

    return cupy.asarray(producer)


def _aligned(shared: Array) -> Array:
    """Raise ValueError for memory that JAX imports and then cannot compute with."""
    if shared.size and shared.unsafe_buffer_pointer() % _GPU_ALIGNMENT:
        raise ValueError(f"it does not start at a multiple of {_GPU_ALIGNMENT} bytes")
    return shared


def _check_torch(producer) -> None:
    """Refuse the tensors of PyTorch whose meaning an array cannot carry."""
    if not array_api_compat.is_torch_array(producer):
        return
    if str(producer.layout) != "torch.strided":
        raise BufferError(f"a PyTorch tensor of layout {producer.layout} is no array: pass x.to_dense()")
    if producer.requires_grad:
        raise BufferError(
            "a PyTorch tensor that requires grad cannot become a jax.Array, "
            "for its gradient would stop there unseen: pass x.detach()"
        )


def _can_copy(producer) -> bool:
    return array_api_compat.is_torch_array(producer) or array_api_compat.is_cupy_array(producer)


def _contiguous_copy(producer):
    if array_api_compat.is_cupy_array(producer):
        return producer.copy(order="C")
    compact = producer.contiguous()
    return compact.clone() if compact.data_ptr() == producer.data_ptr() else compact


def _own_copy(shared: Array) -> Array:
    """Copy now: once the owner of the memory goes on, it may write there."""
    with x64_on():
        return jnp.array(shared, copy=True).block_until_ready()


def _refusal(producer, error) -> str:
    class_name = f"{type(producer).__module__}.{type(producer).__qualname__}"
    remedy = ""
    if "backend" in str(error) or "requires CUDA" in str(error):
        remedy = "; copy it to the host first, as x.get() does in CuPy and x.cpu() in PyTorch"
    return f"JAX cannot use the memory of this {class_name}: {error}{remedy}"
