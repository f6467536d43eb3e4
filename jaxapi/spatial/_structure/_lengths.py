"""Arrays of another shape over the same memory, without a program for every shape.

`jax.numpy.reshape` and a slice are compiled anew for each length, 10 to 100 ms for each number of queries or
neighbours. DLPack describes an array by a pointer and a shape, so that another shape over the same memory is
an array without computation. The memory behind what is left out stays held.
"""

import ctypes
import math

import jax
import numpy as np

from ..._tracing import is_traced
from ..._x64 import x64_for

__all__ = ["first_lines", "in_shape", "viewed"]

_PLATFORMS = ("cpu", "gpu")  # those that JAX exports by DLPack


class _Tensor(ctypes.Structure):
    """DLTensor, at the start of DLManagedTensor, as dlpack.h has it."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("dtype", ctypes.c_uint32),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype = ctypes.c_void_p
_pointer_of.argtypes = (ctypes.py_object, ctypes.c_char_p)


class _View:
    """An array that says by DLPack that it has another shape."""

    def __init__(self, array, shape: tuple[int, ...]):
        self.array, self.shape = array, (ctypes.c_int64 * len(shape))(*shape)

    def __dlpack__(self, *, stream=None, **_):
        capsule = self.array.__dlpack__(stream=stream)  # without max_version: a DLManagedTensor
        tensor = _Tensor.from_address(_pointer_of(capsule, b"dltensor"))
        if tensor.shape[: tensor.ndim] != list(self.array.shape):
            raise BufferError("JAX's DLPack capsule is not laid out as dlpack.h has it")
        tensor.ndim, tensor.shape, tensor.strides = len(self.shape), self.shape, None  # None: in C order
        return capsule

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def viewed(array: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    """Return a concrete array on one device in another shape: its first elements in C order.

    A shape with more elements than there are makes an array whose memory ends before it does: whoever reads
    it must know where.
    """
    if array.shape == shape:
        return array
    (device,) = array.devices()
    with x64_for(array.dtype):
        if not array.size or not math.prod(shape):
            return jax.device_put(np.zeros(shape, array.dtype), array.sharding)
        if device.platform not in _PLATFORMS:
            return array.reshape(-1)[: math.prod(shape)].reshape(shape)
        return jax.dlpack.from_dlpack(_View(array, shape))


def in_shape(x, shape: tuple[int, ...]):
    """Return any array, NumPy's, traced or of several devices too, in another shape of as many elements."""
    if x.shape == shape:
        return x
    if isinstance(x, np.ndarray) or is_traced(x) or len(x.sharding.device_set) > 1:
        return x.reshape(shape)
    return viewed(x, shape)


def first_lines(count: int, *arrays: jax.Array) -> tuple[jax.Array, ...]:
    """Return the first `count` lines of every array, concrete ones on one device."""
    return tuple(viewed(each, (count, *each.shape[1:])) for each in arrays)
