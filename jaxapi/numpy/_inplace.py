"""Functions that write to an array, and return None."""

import functools

import jax.numpy as jnp
import numpy as np

from .._core._dtypes import refuse_complex
from .._core._programs import is_traced
from ..mutable._array import Array, unwrap
from ..mutable._batches import number_as_cast, warn_of_overflow
from ..mutable._selection import values_for
from ._common import integer_for, mode_of_positions
from ._creation import arange
from ._functions import FUNCTIONS, clip
from ._functions import where as where_of
from ._wrap import as_ours, as_type, ours, positions_in_list

__all__ = ["copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"]


def _target(a, name: str) -> Array:
    if not isinstance(a, Array):
        raise TypeError(f"{name} writes to an array of jaxapi.numpy, got {type(a).__name__}")
    return a


def copyto(dst, src, casting="same_kind", where=True):
    """Write an array to another one, where a mask says so."""
    if isinstance(dst, np.ndarray):
        return np.copyto(dst, np.asarray(unwrap(src)), casting, np.asarray(unwrap(where)))
    _target(dst, "copyto")
    if isinstance(src, (bool, int, float, complex)) and not isinstance(src, np.generic):
        rule = "unsafe" if type(src) is int and dst.dtype != np.bool else casting
        if not np.can_cast(np.min_scalar_type(src), dst.dtype, rule):
            raise TypeError(f"Cannot cast scalar from {type(src).__name__} to {dst.dtype}: rule {casting!r}")
        src = np.asarray(src, dst.dtype)
    if isinstance(where, (int, float, complex)):
        where = bool(where)
    src = as_ours(src)
    mask = None if where is True else as_ours(where)
    if not np.can_cast(src.dtype, dst.dtype, casting):
        raise TypeError(
            f"Cannot cast array data from {src.dtype} to {dst.dtype} according to the rule {casting!r}"
        )
    if mask is not None and mask.dtype != bool:
        raise TypeError(f"Cannot cast array data from {mask.dtype} to bool according to the rule 'safe'")
    new = src if src.dtype == dst.dtype else as_type(src, dst.dtype)
    if mask is not None:
        new = where_of(mask, new, dst)
    dst[...] = new


def place(arr, mask, vals):
    """Write values one after another, and again from the first, where a mask is True."""
    mask = as_type(as_ours(mask), bool)
    if mask.size != _target(arr, "place").size:
        raise ValueError("place: mask and data must be the same size")
    if is_traced(mask._owner._memory):
        _place_in_program(arr, mask._value, vals)
        return
    positions = FUNCTIONS["flatnonzero"](mask)
    if positions.size and not np.size(unwrap(vals)):
        raise ValueError("Cannot insert from an empty array!")
    put(arr, positions, vals)


def _place_in_program(arr, mask, vals):
    """Write values where a mask is True that has no values yet: element by element."""
    new = as_type(as_ours(vals), arr.dtype)._value.reshape(-1)
    if not new.size:
        raise ValueError("Cannot insert from an empty array!")
    mask = mask.reshape(arr.shape)
    number = jnp.cumsum(mask.reshape(-1)).reshape(arr.shape) - 1  # of the value that is written
    arr[...] = ours(jnp.where(mask, new[number % new.size], arr._value))


def put(a, ind, v, mode="raise"):
    """Write values, repeated as needed, at positions of the flattened array."""
    size = _target(a, "put").size
    positions = as_ours(positions_in_list(ind)).reshape(-1)
    v = integer_for(a, v)
    if isinstance(v, (int, list, tuple)):
        v = values_for(v, a, waits=True)  # in memory of its own
    warn_of_overflow(a.dtype, v)
    v = as_ours(v)
    if v.size:
        refuse_complex(v.dtype, a.dtype)
    mode = mode_of_positions(mode)
    if positions.size and not size:
        raise IndexError("cannot replace elements of an empty array")
    if not positions.size or not v.size:
        return
    if not np.can_cast(positions.dtype, np.int64):
        dtype = positions.dtype
        raise TypeError(f"Cannot cast array data from {dtype} to int64 according to the rule 'safe'")
    if positions.dtype.kind == "b":
        positions = as_type(positions, np.dtype(np.int64))
    if mode == "wrap":
        positions = positions % size
    elif mode == "clip":
        positions = clip(positions, 0, size - 1)
    if not np.can_cast(v.dtype, a.dtype, "unsafe"):
        raise TypeError(f"cannot put {v.dtype} into {a.dtype}")
    values = _as_many(as_type(v, a.dtype).reshape(-1), positions.size)
    if a._is_contiguous():
        flat = a if a.ndim == 1 else a.reshape(-1)
        flat[positions] = values
        return
    flat = a.ravel()
    flat[positions] = values
    a[...] = flat.reshape(a.shape)


@functools.wraps(np.put)
def put_by_numpy(a, ind, v, mode="raise"):
    np.put(a, ind, number_as_cast(a.dtype, v) if isinstance(a, np.ndarray) else v, mode)


def _as_many(values: Array, count: int) -> Array:
    """Return values, repeated as needed, for so many elements; one for all of them as it is."""
    if values.size in (1, count):
        return values
    return values[:count] if values.size > count else values[arange(count) % values.size]


def putmask(a, mask, values):
    """Write the values at the positions of a mask that are True, repeated as needed."""
    is_weak = isinstance(values, np.generic) or not hasattr(values, "dtype")
    values = integer_for(a, values)
    if isinstance(values, (int, list, tuple)):
        values = values_for(values, a)
    warn_of_overflow(a.dtype, values)
    values = as_ours(values)
    if np.shape(mask if isinstance(mask, Array) else unwrap(mask)) != _target(a, "putmask").shape:
        raise ValueError("putmask: mask and data must be the same size")
    is_complex_into_real = values.dtype.kind == "c" and a.dtype.kind != "c"
    is_unsafe = not is_weak and not np.can_cast(values.dtype, a.dtype, "safe")
    if is_complex_into_real or is_unsafe:
        raise TypeError(
            f"Cannot cast array data from {values.dtype} to {a.dtype} according to the rule 'safe'"
        )
    if values.size:
        new = _as_many(as_type(values, a.dtype).reshape(-1), a.size)
        new = new.reshape(()) if new.size == 1 else new.reshape(a.shape)
        a[...] = where_of(as_type(as_ours(mask), bool), new, a)


@functools.wraps(np.putmask)
def putmask_by_numpy(a, mask, values):
    np.putmask(a, mask, number_as_cast(a.dtype, values) if isinstance(a, np.ndarray) else values)


def _of_numpys(name):
    function = getattr(np, name).__wrapped__  # written in Python of `flat` and indexing

    @functools.wraps(function)
    def call(a, *args, **kwargs):
        operands = [x if isinstance(x, (int, float)) else as_ours(x) for x in args]
        function(_target(a, name), *operands, **kwargs)

    call.__module__ = "jaxapi.numpy"
    call.__doc__ = f"Write as `numpy.{name}` does."
    return call


fill_diagonal = _of_numpys("fill_diagonal")
_put_along_an_axis = _of_numpys("put_along_axis")


@functools.wraps(_put_along_an_axis)
def put_along_axis(arr, indices, values, axis):
    if axis is not None:
        _put_along_an_axis(arr, indices, values, axis)
        return
    if np.ndim(indices) != 1:
        raise ValueError("when axis=None, indices must have one dimension")
    put(arr, indices, jnp.broadcast_to(as_ours(values)._value, np.shape(indices)))
