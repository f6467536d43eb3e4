"""The first lines of an array, without a program for every number of lines.

`jax.lax.slice` is compiled anew for each length, which costs 10 to 20 ms and some memory for each number of
queries or neighbours. DLPack describes an array by a pointer and a shape, so that a shorter shape over the
same memory is an array without computation. The memory behind the lines left out stays held.
"""

import ctypes
from collections.abc import Iterable

import jax
import jax.numpy as jnp
import numpy as np

from ..._core._dtypes import x64_for
from ..._core._programs import eagerly, eagerly_unless_traced, is_traced
from ..._core._typing import Array, ArrayLike
from ..._interop import as_array
from ._build import padded_size

__all__ = ["first_lines", "flat", "in_shape", "pad_rows", "tensor_of"]

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
    """An array that says by DLPack that it has `count` lines."""

    def __init__(self, array, count: int):
        self.array, self.count, self.__dlpack_device__ = array, count, array.__dlpack_device__

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


def flat(x, shape: tuple[int, ...]):
    """Return queries or radii in the shape of one line of them."""
    if x.shape == shape:
        return x
    if isinstance(x, np.ndarray):
        return x.reshape(shape)
    with eagerly_unless_traced(x):
        return x.reshape(shape)


def first_lines(count: int, *arrays: jax.Array) -> tuple[jax.Array, ...]:
    """Return the first `count` lines of every array, concrete ones on one device."""
    found = []
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
        found.append(array)
    return tuple(found)


def pad_rows(x: ArrayLike, sizes: Iterable[int] | None = None) -> tuple[Array, Array]:
    """Fill an array up with rows of 0, to one of few lengths, and tell how many of its rows count.

    For `jax.jit`, which compiles for each shape: a program of ``(padded, count)`` serves all lengths that are
    padded to the same. `KDTree(padded, n=count)` is then a tree of the rows that count.

    Parameters
    ----------
    x : array_like, shape (n, ...)
        Rows of any dtype, which is kept.
    sizes : iterable of int, optional
        The lengths to choose from. By default powers of two from 1024 to 131,072, above four for each
        doubling.

    Returns
    -------
    padded : Array, shape (size, ...)
        The rows, and 0 from n on; on the device of `x`.
    count : Array, shape (), int32
        The number of rows, n.

    Raises
    ------
    ValueError
        If `x` has no axis, or more rows than the largest of the `sizes`.

    Notes
    -----
    Arrays on the CPU are padded without a program; on other devices one is compiled for each n. Under `jit`
    n is a part of the shape, and known. Derivatives flow to `x`.

    Examples
    --------
    >>> import jax
    >>> import jaxapi as xp
    >>> @jax.jit
    ... def nearest_other(points, n):
    ...     return xp.spatial.KDTree(points, n=n).kneighbors(1)[0][:, 0]
    >>> points, n = xp.spatial.pad_rows([[0.0], [1.0], [3.0]], sizes=[4, 8])
    >>> points.shape, int(n), nearest_other(points, n).tolist()
    ((4, 1), 3, [1.0, 1.0, 2.0, inf])
    """
    x = as_array(x)
    if x.ndim == 0:
        raise ValueError("x must have rows, got an array without axes")
    rows = x.shape[0]
    size = padded_size(rows) if sizes is None else min((s for s in sizes if s >= rows), default=None)
    if size is None:
        raise ValueError(f"x has {rows} rows, more than the largest of the sizes: add a larger one")
    if is_traced(x) or len(x.sharding.device_set) > 1 or next(iter(x.devices())).platform != "cpu":
        padded = jnp.pad(x, ((0, size - rows), *((0, 0),) * (x.ndim - 1)))
    else:
        room = np.zeros((size, *x.shape[1:]), x.dtype)
        room[:rows] = np.asarray(x)
        with eagerly(), x64_for(x.dtype):
            padded = jax.device_put(room, x.sharding)
    return padded, jax.device_put(np.int32(rows))
