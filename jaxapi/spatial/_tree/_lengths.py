"""The first rows of an array, without a program for every number of rows.

`jax.lax.slice` is compiled anew for each length, which costs time and memory for each number of queries or
neighbours. DLPack describes an array by a pointer and a shape, so that a shorter shape over the
same memory is an array without computation. The memory of the rows that are left out stays held.
"""

import ctypes

import jax
import numpy as np

from ..._core._devices import is_cpu
from ..._core._dtypes import x64_for
from ..._core._programs import eagerly_unless_traced, is_traced

__all__ = ["first_rows", "in_rows", "in_shape", "tensor_of"]

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


def tensor_of(capsule) -> _Tensor:
    """Return what a capsule of DLPack describes, in its own memory."""
    return _Tensor.from_address(_pointer_of(capsule, b"dltensor"))


class _Shorter:
    """An array that says by DLPack that it has `count` rows."""

    def __init__(self, array, count: int):
        self.array = array
        self.count = count
        self.__dlpack_device__ = array.__dlpack_device__

    def __dlpack__(self, *, stream=None, **_):
        capsule = self.array.__dlpack__(stream=stream)  # without max_version: a DLManagedTensor
        tensor = tensor_of(capsule)
        if tensor.ndim != self.array.ndim or tensor.shape[0] != self.array.shape[0]:
            raise BufferError("JAX's DLPack capsule is not laid out as dlpack.h has it")
        tensor.shape[0] = self.count  # its own copy of the shape
        return capsule


def in_shape(x, shape: tuple[int, ...]):
    """Return an array in a shape; where it has it already, JAX's `reshape` takes long to see that."""
    return x if x.shape == shape else x.reshape(shape)


def in_rows(x, shape: tuple[int, ...]):
    """Return queries or radii in another shape; those on the CPU as NumPy's."""
    if x.shape == shape:
        return x
    if isinstance(x, np.ndarray) or (not is_traced(x) and is_cpu(x.sharding)):
        return np.asarray(x).reshape(shape)
    with eagerly_unless_traced(x):
        return x.reshape(shape)


def first_rows(count: int, *arrays: jax.Array) -> tuple[jax.Array, ...]:
    """Return the first `count` rows of every array, concrete ones on one device."""
    shorter_arrays = []
    for array in arrays:
        if count != array.shape[0]:
            with x64_for(array.dtype):
                (device,) = array.devices()
                if count == 0:
                    nothing = np.zeros((0, *array.shape[1:]), array.dtype)
                    array = jax.device_put(nothing, array.sharding)
                elif device.platform not in _PLATFORMS:
                    array = array[:count]
                else:
                    array = jax.dlpack.from_dlpack(_Shorter(array, count))
        shorter_arrays.append(array)
    return tuple(shorter_arrays)
