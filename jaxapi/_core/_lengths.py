"""Results whose length depends on values, without a program for every length.

A program writes them into a buffer, whose length is one of few: `capacity` of their number. For each of
those it is compiled once. The result is the buffer's first rows.

`jax.lax.slice` is compiled anew for each length, which costs time and memory for each number of queries or
neighbors. DLPack describes an array by a pointer and a shape, so that a shorter shape over the
same memory is an array without computation. The memory of the rows that are left out stays held.
"""

import ctypes
from typing import Any

import jax
import numpy as np

from ._devices import cpu_device
from ._dtypes import x64_for
from ._programs import any_traced, in_a_trace

__all__ = ["KEPT", "capacity", "cut", "first_rows", "has_own_length", "is_cut_as_view"]
__all__ += ["lie_on_one_device", "tensor_of"]

# The bytes of a row for `capacity` where the buffer itself is kept: whatever is in them, arrays of one length
# have buffers of one length, and fit each other.
KEPT = 4

_LEAST = 16  # rows
_FINE_FROM = 1 << 22  # bytes, from where on memory matters more than the time that programs take to compile


def capacity(count: int, row_bytes: int, most: int | None = None) -> int:
    """Return the length of a buffer for `count` rows, which many counts share; there are `most` at most.

    There are two lengths for each doubling, and eight from 4 MiB on, so that at most a half, or an eighth, of
    the rows is added.

    >>> [capacity(count, row_bytes=4) for count in (0, 17, 1000, 1025, 1_000_000, 1_100_000)]
    [16, 24, 1024, 1536, 1048576, 1179648]
    >>> capacity(65_537, row_bytes=40_000)
    73728
    """
    row_bytes = max(row_bytes, 1)
    is_fine = count * row_bytes > _FINE_FROM
    steps_to_double = 16 if is_fine else 4
    step = max((1 << (count - 1).bit_length()) // steps_to_double, 1)
    least = min(_LEAST, max(_FINE_FROM // row_bytes, 1))
    length = max(-(-count // step) * step, least)
    return length if most is None else min(length, most)


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


def tensor_of(capsule: Any) -> _Tensor:
    """Return what a capsule of DLPack describes, in its own memory."""
    return _Tensor.from_address(_pointer_of(capsule, b"dltensor"))


class _Shorter:
    """An array that says by DLPack that it has `count` rows."""

    def __init__(self, array: Any, count: int) -> None:
        self.array = array
        self.count = count
        self.__dlpack_device__ = array.__dlpack_device__

    def __dlpack__(self, *, stream: Any = None, **_: Any) -> Any:
        capsule = self.array.__dlpack__(stream=stream)  # without max_version: a DLManagedTensor
        tensor = tensor_of(capsule)
        if tensor.ndim != self.array.ndim or tensor.shape[0] != self.array.shape[0]:
            raise BufferError("JAX's DLPack capsule is not laid out as dlpack.h has it")
        tensor.shape[0] = self.count  # its own copy of the shape
        return capsule


def _is_exported(device: jax.Device) -> bool:
    """Tell whether JAX exports arrays by DLPack, which knows one CPU alone."""
    return device.platform == "gpu" or device == cpu_device()


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
                elif not _is_exported(device):
                    array = array[:count]
                else:
                    array = jax.dlpack.from_dlpack(_Shorter(array, count))
        shorter_arrays.append(array)
    return tuple(shorter_arrays)


def has_own_length(*arrays: Any) -> bool:
    """Tell whether values may choose the length of a result: outside of transformations, on one device.

    Under `jax.set_mesh` what programs return lies on every device of the mesh.
    """
    if in_a_trace() or any_traced(*arrays) or not jax.sharding.get_abstract_mesh().empty:
        return False
    return lie_on_one_device(*arrays)


def lie_on_one_device(*arrays: Any) -> bool:
    """Tell whether the `jax.Array`s among concrete values lie on one device."""
    devices: set[jax.Device] = set()
    for x in arrays:
        if isinstance(x, jax.Array):
            if not isinstance(x.sharding, jax.sharding.SingleDeviceSharding):
                return False
            devices |= x.sharding.device_set
    return len(devices) == 1


def cut(count: int, *arrays: jax.Array) -> tuple[jax.Array, ...]:
    """Return the first `count` rows of results as JAX would: of their dtypes, and bound to their device."""
    return tuple(first_rows(count, array)[0] if is_cut_as_view(array) else array[:count] for array in arrays)


def is_cut_as_view(array: jax.Array) -> bool:
    """Whether the first rows are a view of the memory; else JAX slices, which compiles for each length.

    What DLPack describes is bound to its device, which matters where there are several, and has no weak type.
    """
    return (array.committed or jax.device_count() == 1) and not array.weak_type
