"""The first lines of an array, without a program for every number of lines.

`jax.lax.slice` is compiled anew for each length, which costs 10 to 20 ms and some memory for each number of
neighbours that a search can find. DLPack describes an array by a pointer and a shape, so that a shorter shape
over the same memory is an array without computation. The memory behind the lines left out stays held.

That takes the host longer than a slice that is compiled: where few bytes are asked for a second time in the
same shape, `lines_of_queries` compiles it after all.
"""

import ctypes
import functools

import jax
import numpy as np

from ..._x64 import x64_for
from ._shapes import calls_before

__all__ = ["first_lines", "lines_of_queries"]

_PLATFORMS = ("cpu", "gpu")  # those that JAX exports by DLPack
_SMALL = 1 << 22  # bytes that are sliced sooner than described


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


class _Shorter:
    """An array that says by DLPack that it has `count` lines."""

    def __init__(self, array, count: int):
        self.array, self.count = array, count

    def __dlpack__(self, *, stream=None, **_):
        capsule = self.array.__dlpack__(stream=stream)  # without max_version: a DLManagedTensor
        tensor = _Tensor.from_address(_pointer_of(capsule, b"dltensor"))
        if tensor.ndim != self.array.ndim or tensor.shape[0] != self.array.shape[0]:
            raise BufferError("JAX's DLPack capsule is not laid out as dlpack.h has it")
        tensor.shape[0] = self.count  # its own copy of the shape
        return capsule

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def first_lines(count: int, *arrays):
    """Return the first `count` lines of every array, concrete ones on one device."""
    return tuple(_first_lines(each, count) for each in arrays)


def lines_of_queries(count: int, *arrays):
    """Do the same where `count` is that of a call's queries, which comes again in many programs."""
    if all(count == each.shape[0] for each in arrays):
        return arrays
    shapes = ((each.shape, each.dtype) for each in arrays)
    if sum(each.nbytes for each in arrays) <= _SMALL and calls_before(count, *shapes):
        with x64_for(*(each.dtype for each in arrays)):
            return _sliced(*arrays, count=count)
    return first_lines(count, *arrays)


@functools.partial(jax.jit, static_argnames="count")
def _sliced(*arrays, count: int):
    return tuple(each[:count] for each in arrays)


def _first_lines(array, count: int):
    if count == array.shape[0]:
        return array
    (device,) = array.devices()
    with x64_for(array.dtype):
        if count == 0:
            return jax.device_put(np.zeros((0, *array.shape[1:]), array.dtype), array.sharding)
        if device.platform not in _PLATFORMS:
            return array[:count]
        return jax.dlpack.from_dlpack(_Shorter(array, count))
