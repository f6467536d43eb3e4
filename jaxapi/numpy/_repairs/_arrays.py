"""Joining and taking apart, positions, sorting and searching."""

from __future__ import annotations

import builtins
import functools
import math
import operator
from typing import Any as Array
from typing import Any as ArrayLike  # the wrapper goes by these names

import jax
import jax.numpy as jnp
import numpy as np

import jaxapi

from ..._core._checks import are_collected, refuse_values
from ..._core._dtypes import as_indices, converted, default_dtype, refuse_complex, x64_for, x64_on
from ..._core._errors import refuse_traced
from ..._core._order import keys_of
from ..._core._programs import compiled, is_traced
from ..._core._zeros import with_positive_zeros
from ..._interop import as_array, as_numpys_array
from ...mutable._elementwise import ELEMENTWISE
from ...mutable._promotion import cast, narrowed, result_dtype, together
from ...mutable._selection import values_for
from .._common import (
    as_number,
    axes_of,
    float_dtype,
    integer_for,
    mode_of_positions,
    on_flat,
    refuse,
    strong,
)

_NAMES = """
allclose amax amin append argmax argmin argpartition argsort array_equal array_equiv choose column_stack
compress concat concatenate delete diag_indices dstack extract eye hstack indices insert isclose isin ix_
max meshgrid min nonzero partition ptp ravel_multi_index repeat roll searchsorted select setdiff1d setxor1d
sort sort_complex stack take take_along_axis tile trace tril trim_zeros triu union1d unique unravel_index
vander vstack
"""
__all__ = _NAMES.split()


# Joining, repeating and taking apart


def _joined(name):
    along_axis = {"concatenate": jaxapi.concat, "stack": jaxapi.stack}.get(name)
    function = along_axis or compiled(getattr(jnp, name))

    def join(arrays: list[ArrayLike], axis=0, dtype=None, casting="same_kind"):
        arrays = [x if hasattr(x, "dtype") else jnp.asarray(x) for x in arrays]
        refuse(not arrays, ValueError, "need at least one array to concatenate")
        dtype = result_dtype(*arrays) if dtype is None else np.dtype(dtype)
        for x in arrays:
            text = f"Cannot cast array data from {x.dtype} to {dtype} according to the rule {casting!r}"
            refuse(not np.can_cast(x.dtype, dtype, casting), TypeError, text)
        options = {"axis": axis} if along_axis else {}
        with x64_for(dtype):
            return function([cast(x, dtype) for x in arrays], **options)

    return join


for _name in ("column_stack", "concatenate", "dstack", "hstack", "stack", "vstack"):
    globals()[_name] = _joined(_name)
concat = globals()["concatenate"]


def append(arr, values, axis=None):  # numbers are as strong as arrays
    arrays = [x if isinstance(x, jax.Array) else jnp.asarray(np.asarray(x)) for x in (arr, values)]
    arr, values = together(arrays)
    return jnp.append(arr, values, axis)


def delete(arr: Array, obj, axis=None):
    arr, axis = on_flat(arr, axis)
    axis = np.lib.array_utils.normalize_axis_index(axis, arr.ndim)
    if is_traced(obj):
        return jnp.delete(arr, obj, axis)
    positions = positions_deleted(obj, arr.shape[axis], axis)
    return deleted(arr, positions, axis)


def positions_deleted(obj, length: int, axis: int) -> np.ndarray:
    """Return the positions that `delete` leaves out, ascending, of its argument for an axis."""
    if isinstance(obj, slice):
        return as_positions(np.sort(np.arange(length)[obj]), length)
    positions = _given_positions(obj)
    text = f"positions are integers or bools, got {positions.dtype}"
    refuse(positions.dtype.kind not in "iub", IndexError, text)
    if positions.dtype == np.bool:
        text = f"obj of bools must be of shape {(length,)}, got {positions.shape}"
        refuse(positions.shape != (length,), ValueError, text)
        return as_positions(np.flatnonzero(positions), length)
    wrong = positions[(positions < -length) | (positions >= length)]
    if wrong.size:
        raise IndexError(f"index {wrong[0]} is out of bounds for axis {axis} with size {length}")
    return as_positions(np.unique(np.where(positions < 0, positions + length, positions)), length)


def _given_positions(obj) -> np.ndarray:
    """Return positions as an array; an empty list has integers, as no others are asked for."""
    is_empty_list = not hasattr(obj, "dtype") and not np.size(obj)
    return np.asarray(obj, int if is_empty_list else None)


def as_positions(positions: np.ndarray, length: int) -> np.ndarray:
    """Return positions along an axis in the dtype that programs count its elements in."""
    return positions.astype(np.int32 if length < 2**31 else np.int64)


@functools.partial(compiled, static_argnums=2)
def deleted(arr, positions, axis):
    """Return an array without the elements at distinct positions, which ascend."""
    count = positions.shape[0]
    numbers = jnp.arange(arr.shape[axis] - count, dtype=positions.dtype)
    # Before which one of those that are kept each element was.
    places = positions - jnp.arange(count, dtype=positions.dtype)
    left_out_before = jnp.cumsum(jnp.zeros_like(numbers).at[places].add(1, mode="drop"), dtype=numbers.dtype)
    return jnp.take(arr, numbers + left_out_before, axis, mode="clip")


def insert(arr: Array, obj, values, axis=None):
    if not hasattr(values, "dtype"):
        values = values_for(integer_for(arr, values), arr)
    elif values.size:
        refuse_complex(values.dtype, arr.dtype)
    if arr.dtype == np.bool:
        values = values != 0  # JAX looks at the real part alone
    arr, axis = on_flat(arr, axis)
    axis = np.lib.array_utils.normalize_axis_index(axis, arr.ndim)
    if is_traced(obj):
        return jnp.insert(arr, obj, values, axis)
    return inserted(arr, positions_inserted(obj, arr.shape[axis], axis), values, axis)


def positions_inserted(obj, length: int, axis: int) -> np.ndarray:
    """Return the position, or several, from 0 on, that `insert` puts elements before."""
    if isinstance(obj, slice):
        return as_positions(np.arange(length)[obj], length)
    positions = _given_positions(obj)
    text = f"positions are integers or bools, got {positions.dtype}"
    refuse(positions.dtype.kind not in "iub", IndexError if positions.ndim else TypeError, text)
    text = "index array argument obj to insert must be one dimensional or scalar"
    refuse(positions.ndim > 1, ValueError, text)
    positions = np.flatnonzero(positions) if positions.dtype == np.bool else positions
    wrong = positions[(positions < -length) | (positions > length)]
    if wrong.size:
        raise IndexError(f"index {wrong.flat[0]} is out of bounds for axis {axis} with size {length}")
    return as_positions(np.where(positions < 0, positions + length, positions), length)


@functools.partial(compiled, static_argnums=3)
def inserted(arr, positions, values, axis):
    """Return an array with values along an axis, each before the element at its position, or all at one."""
    new = jnp.array(values, ndmin=arr.ndim, dtype=arr.dtype)
    new = new if positions.ndim else jnp.moveaxis(new, 0, axis)
    if positions.size == 1:
        positions = jnp.broadcast_to(positions.reshape(-1), new.shape[axis])
    count = positions.shape[0]
    order = jnp.argsort(positions)
    places = positions.at[order].add(jnp.arange(count, dtype=positions.dtype))
    length = arr.shape[axis]
    if not length:  # JAX takes nothing from no elements
        arr = jnp.zeros((*arr.shape[:axis], 1, *arr.shape[axis + 1 :]), arr.dtype)
    is_old = jnp.ones(length + count, bool).at[places].set(False)
    old = jnp.take(arr, jnp.cumsum(is_old, dtype=positions.dtype) - 1, axis, mode="clip")
    return old.at[(slice(None),) * axis + (places,)].set(new)


def unique(
    ar: Array,
    return_index=False,
    return_inverse=False,
    return_counts=False,
    axis=None,
    equal_nan=True,
    sorted=True,
):
    if axis is None and jnp.iscomplexobj(ar):
        parts = _distinct_complex(ar, equal_nan)
    else:
        parts = _distinct(ar, return_inverse, return_counts, axis, equal_nan)
    is_asked = {"indices": return_index, "inverse": return_inverse, "counts": return_counts}
    results = [parts["values"], *(parts[name] for name in is_asked if is_asked[name])]
    return tuple(results) if len(results) > 1 else results[0]


def _distinct(ar, return_inverse, return_counts, axis, equal_nan):
    """Return values and the positions of the first ones, and as asked for the inverse and counts."""
    equal_nan = equal_nan and (axis is None or ar.ndim == 1)  # NumPy compares rows by their elements
    arrays = jnp.unique(ar, True, return_inverse, return_counts, axis, equal_nan=equal_nan)
    names = ["values", "indices"]
    names += ["inverse"] if return_inverse else []
    names += ["counts"] if return_counts else []
    parts = dict(zip(names, arrays, strict=True))
    if jnp.iscomplexobj(ar):  # JAX's values lose one part where the other is NaN
        parts["values"] = jnp.take(ar, parts["indices"], axis)
    return parts


def _distinct_complex(ar, equal_nan):
    """Return the same of complex numbers, in NumPy's order, which says which NaN is the first."""
    flat = ar.reshape(-1)
    order = _order_of_complex(flat, 0)
    ordered = flat[order]
    differs = ordered[1:] != ordered[:-1]
    if equal_nan:
        is_nan = jnp.isnan(ordered)
        differs &= ~(is_nan[1:] & is_nan[:-1])
    begins = jnp.concatenate([jnp.ones(flat[:1].shape, bool), differs])
    starts = jnp.flatnonzero(begins)
    ranks = jnp.cumsum(begins) - 1
    return {
        "values": ordered[starts],
        "indices": order[starts],
        "inverse": jnp.zeros_like(ranks).at[order].set(ranks).reshape(ar.shape),
        "counts": jnp.diff(starts, append=flat.size),
    }


def union1d(ar1: Array, ar2: Array):
    """Give a number the dtype of the array beside it, as NumPy's concatenate of flat arrays does."""
    dtype = _dtype_with_numbers(ar1, ar2)
    return unique(jnp.concatenate([cast(x, dtype).reshape(-1) for x in (ar1, ar2)]))


def _dtype_with_numbers(*arrays):
    """Return the dtype of arrays of which some were made of Python's numbers, which give way to others."""
    operands = [x.dtype.type(0).item() if x.weak_type else x for x in arrays]
    return result_dtype(*operands)


def setdiff1d(ar1: Array, ar2: Array, assume_unique=False):
    ar1 = ar1.reshape(-1) if assume_unique else unique(ar1)
    return ar1[isin(ar1, ar2, invert=True)]


def setxor1d(ar1: Array, ar2: Array, assume_unique=False):
    dtype = result_dtype(ar1.dtype, ar2.dtype)  # also of a number, which gives way to no array
    parts = [cast(x, dtype).reshape(-1) for x in (ar1, ar2)]
    parts = parts if assume_unique else list(map(unique, parts))
    ordered = sort(jnp.concatenate(parts))
    if not ordered.size:
        return ordered
    end = jnp.ones(1, bool)
    differs = jnp.concatenate([end, ordered[1:] != ordered[:-1], end])
    return ordered[differs[1:] & differs[:-1]]


def trim_zeros(filt: Array, trim="fb", axis=None):
    is_known = trim.lower() in ("f", "b", "fb", "bf")
    refuse(not is_known, ValueError, f"unexpected character(s) in `trim`: {trim!r}")
    if not jnp.iscomplexobj(filt) or filt.ndim != 1:
        return jnp.trim_zeros(filt, trim) if axis is None else jnp.trim_zeros(filt, trim, axis)
    positions = np.flatnonzero(np.asarray(filt != 0))  # JAX looks at the real part alone
    if not len(positions):
        return filt[:0]
    start = positions[0] if "f" in trim.lower() else 0
    stop = positions[-1] + 1 if "b" in trim.lower() else len(filt)
    return filt[start:stop]


def repeat(a: Array, repeats, axis=None):
    if isinstance(repeats, jax.Array) and repeats.size > 1 and np.can_cast(repeats.dtype, np.int64):
        refuse(repeats.ndim > 1, ValueError, "object too deep for desired array")
        return jaxapi.repeat(a, repeats, axis=axis)  # which reads their sum alone
    refuse_traced("repeats", repeats)
    counts = np.asarray(repeats)
    if not counts.size:
        counts = counts.astype(int)
    text = f"Cannot cast array data from {counts.dtype} to int64 according to the rule 'safe'"
    refuse(counts.size and not np.can_cast(counts.dtype, np.int64), TypeError, text)
    refuse(counts.ndim > 1, ValueError, "object too deep for desired array")
    refuse(counts.size and counts.min() < 0, ValueError, "repeats may not contain negative values.")
    return jaxapi.repeat(a, counts if counts.ndim else int(counts), axis=axis)


def tile(A: Array, reps):
    counts = np.asarray(reps)
    is_fraction = counts.size > 0 and counts.dtype.kind not in "iub"
    refuse(is_fraction, TypeError, f"reps must be integers, got {counts.dtype}")
    reps = counts.astype(int).tolist()
    refuse(np.min(reps, initial=0) < 0, ValueError, "negative dimensions are not allowed")
    return jnp.tile(A, reps)


def vander(x: Array, N=None, increasing=False):
    return jnp.vander(x.astype(narrowed(np.promote_types(x.dtype, int), x)), N, increasing)


# Positions, and what lies at positions


def diag_indices(n, ndim=2):
    return (jnp.arange(builtins.max(n, 0), dtype=int),) * builtins.max(ndim, 0)


def _triangle(function):
    def of_matrix(m: Array, k=0):
        return function(m if m.ndim > 1 else jnp.broadcast_to(m, (len(m), len(m))), k)

    return of_matrix


tril = _triangle(jaxapi.tril)
triu = _triangle(jaxapi.triu)


def eye(N, M=None, k=0, dtype=None):
    dtype = float_dtype() if dtype is None else np.dtype(dtype)
    return converted(jnp.eye(N, M, operator.index(k), bool), dtype)


def trace(a: Array, offset=0, axis1=0, axis2=1, dtype=None):
    total = jnp.trace(a, operator.index(offset), axis1, axis2, dtype)
    return with_positive_zeros(total) if total.dtype.kind in "fc" else total


def roll(a: Array, shift, axis=None):
    """Take away whole turns from Python's integers, which may be beyond 64 bits."""
    shifts = list(shift) if isinstance(shift, (list, tuple)) else [shift]
    is_long = any(type(x) is int and not -(2**31) <= x < 2**31 for x in shifts)
    lengths = [a.size] if axis is None else [a.shape[i] for i in _axes_with_repeats(a, axis)]
    if is_long and all(type(length) is int for length in lengths):
        whole_turns = math.lcm(*[builtins.max(length, 1) for length in lengths])
        shifts = [x % whole_turns if type(x) is int else x for x in shifts]
    shift = as_numpys_array(shifts) if isinstance(shift, (list, tuple)) else shifts[0]
    return jaxapi.roll(a, shift, axis)


def _axes_with_repeats(a, axis):
    return np.lib.array_utils.normalize_axis_tuple(axis, a.ndim, allow_duplicate=True)


def ix_(*args: Array):
    positions = [jnp.nonzero(x)[0] if x.dtype == np.bool else x for x in map(jnp.asarray, args)]
    refuse(any(x.ndim != 1 for x in positions), ValueError, "Cross index must be 1 dimensional")
    return jnp.ix_(*positions)


def meshgrid(*xi: Array, copy=True, sparse=False, indexing="xy"):  # of JAX 0.10 a list
    xi = tuple(jnp.ravel(jnp.asarray(x)) for x in xi)
    return tuple(jnp.meshgrid(*xi, sparse=sparse, indexing=indexing))  # copies, whatever ``copy`` says


def _checked(order, *indices):
    refuse(order not in ("C", "F", None), ValueError, "only 'C' or 'F' order is permitted")
    positions = [jnp.asarray(x) for x in indices]
    refuse(any(x.dtype.kind not in "iub" for x in positions), TypeError, "only int indices permitted")
    return [x.astype(int) if x.dtype == np.bool else x for x in positions]


def unravel_index(indices: Array, shape, order="C"):
    (indices,) = _checked(order, indices)
    indices = indices.astype(int)  # small integers do not hold the lengths of axes
    lengths = (shape,) if np.ndim(shape) == 0 else tuple(shape)
    shape = tuple([operator.index(n) if isinstance(n, _NUMBERS) else n for n in lengths])  # type: ignore[arg-type]
    _check_shape(shape)
    refuse(not shape and indices.ndim, ValueError, "multiple indices are not supported for 0d arrays")
    size = math.prod(shape)
    is_beyond = jnp.any((indices < 0) | (indices >= size))
    refuse_values(is_beyond, ValueError, f"index is out of bounds for array with size {size}")
    parts = jnp.unravel_index(indices, shape[::-1] if order == "F" else shape)
    return parts[::-1] if order == "F" else parts


def _check_shape(shape):
    """Refuse the shape of an array whose elements 64 bits do not count, as far as its lengths are known."""
    known = [length for length in shape if type(length) is int]
    largest = np.iinfo(np.int64).max
    refuse(any(length > largest for length in known), ValueError, "Maximum allowed dimension exceeded")
    text = f"dimensions are too large: an array of shape {shape} has more than {largest} elements"
    refuse(math.prod(known) > largest, ValueError, text)


_NUMBERS = (int, float, np.number)


def ravel_multi_index(multi_index, dims, mode="raise", order="C"):
    positions = _checked(order, *multi_index)
    dims = (dims,) if np.ndim(dims) == 0 else tuple(dims)
    text = f"parameter multi_index must be a sequence of length {len(dims)}"
    refuse(len(positions) != len(dims), ValueError, text)
    if not isinstance(mode, (tuple, list)):
        mode = mode_of_positions(mode)
    if are_collected() and mode == "raise":
        mode = ["raise"] * len(dims)
    if isinstance(mode, (tuple, list)):
        refuse(len(mode) != len(dims), ValueError, f"mode must be one for each of {len(dims)} axes")
        try:
            positions = [_in_bounds(*of_axis) for of_axis in zip(positions, dims, mode, strict=True)]
        except IndexError as error:
            raise ValueError(f"invalid entry in coordinates array: {error}") from None
        mode = "wrap"
    index_dtype = default_dtype(int) if math.prod(dims) < 2**31 else np.dtype(np.int64)
    with x64_for(index_dtype):
        positions = [x.astype(index_dtype) for x in positions]
        return jnp.ravel_multi_index(positions, dims, mode, order or "C")


def indices(dimensions, dtype=None, sparse=False):
    dtype = default_dtype(int) if dtype is None else dtype
    is_negative = builtins.min(dimensions, default=0) < 0
    refuse(is_negative, ValueError, f"negative dimensions are not allowed, got {tuple(dimensions)}")
    return jax.tree.map(lambda x: x.astype(dtype), jnp.indices(tuple(dimensions), sparse=sparse))


def _in_bounds(indices, size, mode="raise"):
    """Return positions by NumPy's modes; traced ones are not checked."""
    refuse(indices.dtype.kind not in "iub", TypeError, f"positions are integers, got {indices.dtype}")
    indices = as_indices(indices)  # as a size may be too large for them
    size = as_number(size)
    mode = mode_of_positions(mode)
    if mode == "wrap":
        return indices % size
    if mode == "clip":
        return jnp.clip(indices, 0, builtins.max(size - 1, 0) if isinstance(size, int) else size - 1)
    if is_traced(indices):
        is_beyond = jnp.any((indices < -size) | (indices >= size))
        refuse_values(is_beyond, IndexError, "an index is out of bounds")
    elif indices.size:
        low = int(indices.min())
        high = int(indices.max())
        text = f"index {high if high >= size else low} is out of bounds for size {size}"
        refuse(low < -size or high >= size, IndexError, text)
    return indices


def take(a: Array, indices: Array, axis=None, mode="raise"):
    a, axis = on_flat(jnp.atleast_1d(a), axis)
    axis = np.lib.array_utils.normalize_axis_index(axis, a.ndim)
    indices = _in_bounds(indices if indices.size else indices.astype(int), a.shape[axis], mode)
    return jnp.take(a, indices, axis, mode="wrap")


def choose(a: Array, choices: list[ArrayLike], mode="raise"):
    """Refuse what are no positions, as NumPy does."""
    is_safe = np.can_cast(a.dtype, np.int64)
    refuse(
        not is_safe, TypeError, f"Cannot cast array data from {a.dtype} to int64 according to the rule 'safe'"
    )
    a = a.astype(int) if a.dtype == np.bool else a
    mode = mode_of_positions(mode)
    if mode == "raise":
        if is_traced(a) and not are_collected():
            return jnp.choose(a, choices, mode=mode)  # which raises
        is_beyond = jnp.any((a < 0) | (a >= len(choices)))
        refuse_values(is_beyond, ValueError, "invalid entry in choice array")
    return _chosen(as_indices(a), choices, mode == "wrap")


@functools.partial(compiled, static_argnums=2)
def _chosen(positions, choices, is_wrapped):
    count = len(choices)
    positions = positions % count if is_wrapped else jnp.clip(positions, 0, count - 1)
    positions, *arrays = jnp.broadcast_arrays(positions, *choices)
    return jnp.take_along_axis(jnp.stack(arrays), positions[None], 0)[0]


def compress(condition: Array, a: Array, axis=None):
    """Refuse a True beyond the last element, as NumPy does."""
    refuse(condition.ndim != 1, ValueError, "condition must be a 1-d array")
    a, axis = on_flat(a, axis)
    size = a.shape[np.lib.array_utils.normalize_axis_index(axis, a.ndim)]
    if is_traced(condition):
        return jnp.compress(condition, a, axis)
    positions = np.flatnonzero(np.asarray(condition))
    is_beyond = positions.size > 0 and positions[-1] >= size
    refuse(is_beyond, IndexError, f"condition is True beyond the {size} elements of axis {axis}")
    return jnp.take(a, positions, axis)


def extract(condition: Array, arr: Array):
    return take(arr.reshape(-1), jnp.flatnonzero(condition))


def take_along_axis(arr: Array, indices: Array, axis=-1):
    arr, axis = on_flat(arr, axis)
    axis = np.lib.array_utils.normalize_axis_index(axis, arr.ndim)
    text = "`indices` and `arr` must have the same number of dimensions"
    refuse(indices.ndim != arr.ndim, ValueError, text)
    refuse(indices.dtype.kind not in "iu", IndexError, "`indices` must be an integer array")
    return jnp.take_along_axis(arr, _in_bounds(indices, arr.shape[axis]), axis)


# Sorting, searching and extremes


def argsort(a: Array, axis=-1, kind=None, descending=False):
    _check_kind(kind)
    a, axis = on_flat(jnp.atleast_1d(a), axis)
    if jnp.iscomplexobj(a) and not descending:
        return _order_of_complex(a, axis)
    return jnp.argsort(a, axis, descending=descending)


def _check_kind(kind) -> None:
    """Refuse names of sorts that NumPy does not know; every sort is stable."""
    is_known = kind is None or str(kind)[:1].lower() in ("h", "m", "q", "s")
    refuse(not is_known, ValueError, f"sort kind must be one of 'quick', 'heap', or 'stable' (got {kind!r})")


def sort(a: Array, axis=-1, kind=None, descending=False):
    _check_kind(kind)
    refuse(not a.ndim and axis is not None, np.exceptions.AxisError, f"axis {axis} of an array without axes")
    a, axis = on_flat(a, axis)
    if jnp.iscomplexobj(a) and not descending:
        return jnp.take_along_axis(a, _order_of_complex(a, axis), axis)
    return jaxapi.sort(a, axis=axis, descending=descending)


def _order_of_complex(a, axis):
    """Return the positions that put complex numbers in NumPy's order."""
    return jnp.lexsort(keys_of(a)[::-1], axis)


def _partitioned(function):
    def of_axis(a: Array, kth, axis=-1):
        if function is argsort and not a.ndim and axis in (0, -1):
            a = a.reshape(1)
        refuse(
            not a.ndim and axis is not None, np.exceptions.AxisError, f"axis {axis} of an array without axes"
        )
        a, axis = on_flat(a, axis)
        size = a.shape[np.lib.array_utils.normalize_axis_index(axis, a.ndim)]
        kth = np.ravel(kth)
        refuse(kth.size and kth.dtype.kind not in "iu", TypeError, "Partition index must be integer")
        for k in kth.tolist() if a.size else ():
            if not -size <= k < size:
                raise ValueError(f"kth(={k}) out of bounds ({size})")
        return function(a, axis)

    return of_axis


partition, argpartition = map(_partitioned, (sort, argsort))


def _comparable(x, y):
    """Return two arrays so that equal numbers are equal: of integers JAX makes 32 bits, which may wrap."""
    if x.dtype == y.dtype or x.dtype.kind not in "iu" or y.dtype.kind not in "iu":
        return x, y
    is_widest = np.dtype(np.uint64) in (x.dtype, y.dtype)
    with x64_on():
        return (part.astype(np.float64 if is_widest else np.int64) for part in (x, y))


def _of_comparable(function, x, y, *args, **options):
    x, y = _comparable(jnp.asarray(x), jnp.asarray(y))
    with x64_for(x.dtype, y.dtype):
        return function(x, y, *args, **options)


def allclose(a: Array, b: Array, rtol=1e-05, atol=1e-08, equal_nan=False):
    return _are_close(jnp.allclose, a, b, rtol, atol, equal_nan)


def isclose(a: Array, b: Array, rtol=1e-05, atol=1e-08, equal_nan=False):
    return _are_close(jnp.isclose, a, b, rtol, atol, equal_nan)


def _are_close(function, a, b, rtol, atol, equal_nan):
    """Compare floats in the dtype that NumPy has for them: a number gives way to an array."""
    dtype = _dtype_with_numbers(a, b)
    if dtype.kind in "fc":
        a = cast(a, dtype)
        b = cast(b, dtype)
    return _of_comparable(function, a, b, rtol, atol, equal_nan)


def isin(element: Array, test_elements: Array, assume_unique=False, invert=False, *, kind=None):
    text = f"Invalid kind: {kind!r}. Please use None, 'sort' or 'table'."
    refuse(kind not in (None, "sort", "table"), ValueError, text)
    are_integers = element.dtype.kind in "iub" and test_elements.dtype.kind in "iub"
    text = "kind='table' is for integers and bools: leave kind out, or pass 'sort'"
    refuse(kind == "table" and not are_integers, ValueError, text)
    test_elements = strong(test_elements)
    return jaxapi.isin(element, test_elements, invert=invert)


def array_equal(a1: Array, a2: Array, equal_nan=False):
    return _of_comparable(jnp.array_equal, a1, a2, equal_nan)


def array_equiv(a1: Array, a2: Array):
    try:
        jnp.broadcast_shapes(a1.shape, a2.shape)
    except ValueError:
        return jnp.asarray(False)
    return _of_comparable(jnp.array_equiv, a1, a2)


def sort_complex(a: Array):
    narrow = a.dtype.char in "bhBHF"
    return sort(a, -1).astype(np.complex64 if narrow else narrowed(np.dtype(complex), a))


def searchsorted(a: Array, v, side="left", sorter: Array = None):
    if sorter is not None:
        refuse(sorter.dtype.kind not in "iu", TypeError, "sorter must only contain integers")
        refuse(sorter.shape != a.shape, ValueError, "sorter.size must equal a.size")
    text = f"search side must be 'left' or 'right' (got {side!r})"
    refuse(side not in ("left", "right"), ValueError, text)
    refuse(a.ndim != 1, ValueError, f"a is a vector, got an array of {a.ndim} axes")
    if type(v) is int and a.dtype.kind in "iu":
        limits = np.iinfo(a.dtype)
        if not limits.min <= v <= limits.max:  # below or above every element
            return jnp.asarray(0 if v < limits.min else a.size)
        v = np.asarray(v, a.dtype)
    elif not hasattr(v, "dtype"):
        if type(v) is int and v >= 2**63:
            v = as_array(np.uint64(v))
        else:
            v = jnp.asarray(v) if isinstance(v, (int, float, complex)) else as_numpys_array(v)
        a, v = together((a, v))
    return jaxapi.searchsorted(a, v, side=side, sorter=sorter)


def select(condlist: list[ArrayLike], choicelist: list[ArrayLike], default=0):
    refuse(
        len(condlist) != len(choicelist),
        ValueError,
        "list of cases must be same length as list of conditions",
    )
    for i, condition in enumerate(condlist):
        text = f"invalid entry {i} in condlist: should be boolean ndarray"
        refuse(jnp.asarray(condition).dtype != np.bool, TypeError, text)
    if not condlist:
        return jnp.select(condlist, choicelist, default)  # which raises
    if isinstance(default, (list, tuple)):
        default = jnp.asarray(default)
    is_huge = any(type(x) is int and not -(2**63) <= x < 2**64 for x in choicelist)
    refuse(is_huge, TypeError, "an integer beyond 64 bits is no choice: pass a float")
    if type(default) is int and any(jnp.issubdtype(jnp.asarray(x).dtype, jnp.inexact) for x in choicelist):
        default = float(default)
    elif type(default) is int and result_dtype(*choicelist) == np.uint64:
        default = np.uint64(default)  # which raises for a number that it does not hold
    dtype = result_dtype(*choicelist, default)
    choicelist = [_choice(choice, dtype) for choice in choicelist]
    chosen = _choice(default, dtype, casting="unsafe")
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        chosen = jnp.where(condition, choice, chosen)
    return chosen


def _choice(choice, dtype, casting="same_kind"):
    """Return a choice in the dtype of the result: NumPy's array of it is cast, a Python integer's, too."""
    if type(choice) is int and dtype.kind in "biu":
        text = f"Cannot cast scalar from int64 to {dtype} according to the rule {casting!r}"
        refuse(not np.can_cast(np.int64, dtype, casting), TypeError, text)
        return np.asarray(choice, np.int64).astype(dtype)
    return cast(choice, dtype)


def nonzero(a: Array):
    refuse(not a.ndim, ValueError, "nonzero takes an array with axes: use atleast_1d(x).nonzero()")
    return jaxapi.nonzero(a)


def _extreme(name):
    """Return jaxapi's function, of complex numbers, too: real parts decide, then imaginary ones."""
    extreme_of_axis = jnp.max if name.endswith("max") else jnp.min

    def of_axis(a: Array, axis=None, keepdims=False, where: Array = None, **options):
        options |= {} if where is None else {"where": where}
        axis = tuple(axis) if isinstance(axis, list) else axis
        if name.startswith("arg") and axis is not None:
            axis = operator.index(axis)
        if not jnp.iscomplexobj(a):
            return getattr(jaxapi, name)(a, axis=axis, keepdims=keepdims, **options)
        refuse(not a.size and not options, ValueError, f"zero-size array to {name}, which has no identity")
        is_nan = jnp.isnan(a) if where is None else jnp.isnan(a) & where
        has_nan = is_nan.any(axis, keepdims=keepdims)
        if not name.startswith("arg"):
            extreme = extreme_of_axis(a, axis, keepdims=keepdims, **options)
            if not a.size:
                return extreme
            extreme = jnp.where(has_nan, _first_of(a, is_nan, axis).reshape(extreme.shape), extreme)
            initial = jnp.asarray(options.get("initial", 0), a.dtype)
            return jnp.where(jnp.isnan(initial), initial, extreme)
        is_extreme = a == extreme_of_axis(a, axis, keepdims=True)
        position = jaxapi.argmax(is_extreme, axis=axis, keepdims=keepdims)
        return jnp.where(has_nan, jaxapi.argmax(is_nan, axis=axis, keepdims=keepdims), position)

    return of_axis


def _first_of(a, chosen, axis):
    """Return the first elements along some axes that are chosen."""
    axes = axes_of(a, axis)
    other_lengths = [n for i, n in enumerate(a.shape) if i not in axes]
    size = math.prod(a.shape[i] for i in axes)
    last = range(-len(axes), 0)
    lines = jnp.moveaxis(a, axes, last).reshape(*other_lengths, size)
    chosen = jnp.moveaxis(jnp.broadcast_to(chosen, a.shape), axes, last).reshape(lines.shape)
    positions = jaxapi.argmax(chosen, axis=-1)
    return jnp.take_along_axis(lines, positions[..., None], -1)[..., 0]


max, min, argmax, argmin = map(_extreme, ("max", "min", "argmax", "argmin"))
amax = max
amin = min


def ptp(a: Array, axis=None, keepdims=False, *, dtype=None):
    """Subtract the least from the largest element, also of complex numbers; in the dtype that is given."""
    a = a if dtype is None else cast(a, dtype)
    largest = max(a, axis, keepdims=keepdims)
    return ELEMENTWISE["subtract"](largest, min(a, axis, keepdims=keepdims))
