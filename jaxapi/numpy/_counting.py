"""Statistics, counts and selections of arrays with room, as NumPy has them: a new length compiles nothing.

Each function takes NumPy's arguments, and returns None where the exact arrays are needed: for arguments that
are unusual, and where the exact arrays raise. See `jaxapi.mutable._capacity`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

import jaxapi

from .._core._dtypes import default_dtype, x64_for, x64_on
from .._core._lengths import KEPT, capacity, has_own_length
from .._core._programs import compiled
from .._searching import nonzero_in_buffers
from ..mutable._array import NUMPY, Array, rows_of, unwrap, wrap_rows
from ..mutable._capacity._calls import call_on_rows
from ..mutable._capacity._elementwise import aligned
from ..mutable._capacity._fillers import filled
from ..mutable._capacity._rows import OF_ARGUMENTS, Rows, as_default_integers, number_of
from ..mutable._capacity._selecting import content_of, read_by_array, value_of_content
from ..mutable._promotion import together
from ..mutable._selection import values_for
from ._common import axes_of, float_dtype
from ._repairs import REPAIRS
from ._repairs._arrays import deleted, inserted, positions_deleted, positions_inserted
from ._wrap import ours, value_of

__all__ = ["COUNTING"]


def _computed(function: Callable[..., Any], *values: Any, **options: Any) -> Any:
    """Return what a function makes of values, with 64 bits if some have them; None where it raises."""
    dtypes = [x.dtype for x in (*values, *options.values()) if hasattr(x, "dtype")]
    try:
        with x64_for(*dtypes):
            return function(*values, **options)
    except OF_ARGUMENTS:
        return None


# Statistics


def _way_of_quantiles(name: str) -> Callable[..., Any]:
    """Return what computes quantiles; integers have no NaN that could be skipped."""
    of_all = REPAIRS[name.removeprefix("nan")]
    skips_nan = name.startswith("nan")

    def way(
        a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, module
    ) -> Any:
        rows = rows_of(a)
        if rows is None or out is not None or not _has_first(axis, rows):
            return None
        given = {"q": _numbers(q), "axis": axis, "method": method, "keepdims": _is_set(keepdims)}
        if skips_nan and rows.value.dtype.kind == "f":
            made = _computed(REPAIRS[name], value_of_content(rows, filler="last"), **given)
        else:
            made = _computed(of_all, rows.value, count=rows.count, **given)
        return None if made is None else ours(made)

    return way


def _has_first(axis: Any, rows: Rows) -> bool:
    """Whether rows are mixed along an axis, or several."""
    try:
        return 0 in axes_of(rows.value, axis)
    except OF_ARGUMENTS:
        return False


def _numbers(x: Any) -> Any:
    """Return a number, or several in a list, without our arrays."""
    return type(x)(map(unwrap, x)) if type(x) in (list, tuple) else unwrap(x)


def _is_set(flag: Any) -> bool:
    return flag is not np._NoValue and bool(flag)


# Counts


def _histogram(a, bins=10, range=None, density=None, weights=None, *, module):
    rows = rows_of(a)
    if rows is None or (isinstance(bins, str) and weights is not None):
        return None
    if isinstance(bins, str):  # by a rule of statistics, of values in the host's memory
        bins = np.histogram_bin_edges(np.asarray(a), bins, _numbers(range))
        range = None
    operands = [rows] if weights is None else [rows, _operand(weights)]
    if np.shape(operands[-1]) != a.shape:
        return None
    values = aligned(operands, is_concrete=True)
    if values is None:
        return None
    value = values[0]
    weights_of_value = None if weights is None else values[1]
    count = math.prod(rows.shape)
    bins = bins if type(bins) is int else value_of(bins)
    limits = _numbers(range)
    function = REPAIRS["histogram"]
    made = _computed(function, value, bins, limits, density, weights_of_value, count=count)
    return None if made is None else tuple(map(ours, made))


def _operand(x: Any) -> Any:
    """Return an operand as rows, or as a value."""
    rows = rows_of(x)
    return value_of(x) if rows is None else rows


def _bincount(x, weights=None, minlength=0, *, module):
    numbers = content_of(x) if isinstance(x, Array) else None
    if numbers is None or x.ndim != 1 or not np.can_cast(x.dtype, np.int64) or type(minlength) is not int:
        return None
    if weights is not None and (not isinstance(weights, Array) or weights.shape != x.shape):
        return None
    if weights is not None and weights.dtype.kind == "c":
        return None
    value = value_of_content(numbers)
    count = number_of(len(numbers))
    weights_of_value = None
    if weights is not None:
        content = content_of(weights)
        if content is None:
            return None
        weights_of_value = value_of_content(content, len(value))
    if not has_own_length(value) or minlength < 0:
        return None
    with x64_on():
        least, greatest = np.asarray(_extremes(value, count)).tolist()
    if least < 0:
        return None
    length = max(greatest + 1, minlength)
    dtypes = (value.dtype,) if weights is None else (value.dtype, weights.dtype)
    with x64_for(*dtypes):
        dtype = default_dtype(int) if weights is None else float_dtype()
        made = _counts(value, count, weights_of_value, capacity(length, KEPT), dtype)
    return wrap_rows(Rows(made, length), NUMPY)


@compiled
def _extremes(x, count):
    least = filled(x, count, "greatest").min()
    greatest = filled(x, count, "least").max()
    return jnp.stack([least.astype(np.int64), greatest.astype(np.int64)])


@functools.partial(compiled, static_argnums=(3, 4))
def _counts(x, count, weights, length, dtype):
    """Return how often each number comes; numbers that do not count are beyond the last one, and dropped."""
    counts = jnp.arange(len(x), dtype=np.int32) < count
    numbers = jnp.where(counts, x.astype(int), length)
    weights = None if weights is None else weights.astype(dtype)
    return jnp.bincount(numbers, weights, length=length).astype(dtype)


# Functions of each element and of other arrays, which are exact


def _array_of(x: Any) -> Any:
    """Return anything array-like as a value of JAX, and numbers of Python's, too."""
    value = value_of(x)
    return jnp.asarray(value) if isinstance(value, (int, float, complex)) else value


def _way_of_each(name: str, returns_positions: bool = False) -> Callable[..., Any]:
    function = REPAIRS[name]

    def made(x: Any, *others: Any, **options: Any) -> Any:
        rows = rows_of(x)
        if rows is None or any(rows_of(other) is not None for other in others):
            return None
        result = _computed(function, rows.value, *map(_array_of, others), **options)
        if result is None:
            return None
        return wrap_rows(
            Rows(as_default_integers(result) if returns_positions else result, rows.count), NUMPY
        )

    return made


_digitized = _way_of_each("digitize", returns_positions=True)
_interpolated = _way_of_each("interp")


def _digitize(x, bins, right=False, *, module):
    return _digitized(x, bins, right=bool(right))


def _interp(x, xp, fp, left=None, right=None, period=None, *, module):
    options = {"left": left, "right": right, "period": period}
    return _interpolated(x, xp, fp, **{name: value_of(option) for name, option in options.items()})


def _isin(element, test_elements, assume_unique=False, invert=False, *, kind=None, module):
    looked_up = _operand(element)
    sought = _operand(test_elements)
    has_rows = isinstance(looked_up, Rows)
    if not (has_rows or isinstance(sought, Rows)) or kind not in (None, "sort", "table"):
        return None
    value = looked_up.value if has_rows else looked_up
    among = value_of_content(sought, filler="first") if isinstance(sought, Rows) else sought
    try:
        made = jaxapi.isin(*together((value, among)), invert=bool(invert))
    except OF_ARGUMENTS:
        return None
    return wrap_rows(Rows(made, looked_up.count), NUMPY) if has_rows else ours(made)


def _ediff1d(ary, to_end=None, to_begin=None, *, module):
    rows = rows_of(ary)
    if rows is None or ary.ndim != 1 or ary.dtype == np.bool:
        return None
    if to_end is not None or to_begin is not None:
        return None
    return ary[1:] - ary[:-1]


# Elements left out, and put in: where, an operand of the program says


def _delete(arr, obj, axis=None, *, module):
    place = _axis_of_rows(arr, axis)
    if place is None or isinstance(obj, Array):
        return None
    try:
        positions = positions_deleted(obj, arr.shape[place], place)
    except OF_ARGUMENTS:
        return None
    return call_on_rows(_deleted, NUMPY, (arr, positions, place), {})


def _deleted(arr, positions, axis):
    return ours(deleted(arr._value, positions._value, axis), arr)


def _insert(arr, obj, values, axis=None, *, module):
    place = _axis_of_rows(arr, axis)
    if place is None or isinstance(obj, Array):
        return None
    try:
        positions = positions_inserted(obj, arr.shape[place], place)
        if not isinstance(values, Array):
            values = np.asarray(values_for(values, rows_of(arr).value))
    except OF_ARGUMENTS:
        return None
    return call_on_rows(_inserted, NUMPY, (arr, positions, values, place), {})


def _inserted(arr, positions, values, axis):
    return ours(inserted(arr._value, positions._value, values._value, axis), arr)


def _axis_of_rows(x: Any, axis: Any) -> int | None:
    """Return an axis of an array with room, from 0 on; None where it needs the exact array."""
    if rows_of(x) is None or (axis is None and x.ndim > 1):
        return None
    axis = 0 if axis is None else axis
    return axis % x.ndim if type(axis) is int and -x.ndim <= axis < x.ndim else None


# Sets, of arrays whose lengths values choose


def _distinct(x, assume_unique):
    x = jaxapi.numpy.ravel(x)
    return x if assume_unique else jaxapi.numpy.unique(x)


def _ordered(ar1, ar2, assume_unique):
    """Return the elements of two sets in order."""
    return jaxapi.numpy.sort(jaxapi.numpy.concatenate([_distinct(x, assume_unique) for x in (ar1, ar2)]))


def _are_sets(*arrays: Any) -> bool:
    """Whether all are arrays of numbers in which equal ones are alike."""
    return all(isinstance(x, Array) and x.dtype.kind in "biuf" for x in arrays)


def _intersect1d(ar1, ar2, assume_unique=False, return_indices=False, *, module):
    if return_indices or not _are_sets(ar1, ar2):
        return None
    ordered = _ordered(ar1, ar2, assume_unique)
    return ordered[:-1][ordered[1:] == ordered[:-1]] if ordered.size else None


def _setdiff1d(ar1, ar2, assume_unique=False, *, module):
    if not _are_sets(ar1, ar2):
        return None
    distinct = _distinct(ar1, assume_unique)
    return distinct[jaxapi.numpy.isin(distinct, ar2, invert=True)]


def _setxor1d(ar1, ar2, assume_unique=False, *, module):
    if not _are_sets(ar1, ar2):
        return None
    ordered = _ordered(ar1, ar2, assume_unique)
    if not ordered.size:
        return None
    end = np.ones(1, bool)
    differs = jaxapi.numpy.concatenate([end, ordered[1:] != ordered[:-1], end])
    return ordered[differs[1:] & differs[:-1]]


def _union1d(ar1, ar2, *, module):
    if not _are_sets(ar1, ar2):
        return None
    return jaxapi.numpy.unique(jaxapi.numpy.concatenate([jaxapi.numpy.ravel(x) for x in (ar1, ar2)]))


# Selections


def _argwhere(a, *, module):
    rows = rows_of(a)
    if rows is None:
        return None
    count, indices = nonzero_in_buffers(value_of_content(rows, filler="zero"), KEPT)
    return wrap_rows(Rows(jnp.stack(indices, -1), count), NUMPY)


def _flatnonzero(a, *, module):
    rows = rows_of(a)
    if rows is None:
        return None
    elements = value_of_content(rows, filler="zero").reshape(-1)
    count, (positions,) = nonzero_in_buffers(elements, KEPT)
    return wrap_rows(Rows(positions, count), NUMPY)


def _compress(condition, a, axis=None, out=None, *, module):
    is_by_rows = isinstance(a, Array) and (axis == 0 or (axis is None and a.ndim == 1))
    if not is_by_rows or out is not None or not _is_mask(condition) or condition.ndim != 1:
        return None
    return read_by_array(a, condition)


def _extract(condition, arr, *, module):
    are_alike = _is_mask(condition) and isinstance(arr, Array) and condition.shape == arr.shape
    return read_by_array(arr, condition) if are_alike else None


def _trim_zeros(filt, trim="fb", axis=None, *, module):
    rows = rows_of(filt)
    if rows is None or filt.ndim != 1 or axis is not None:
        return None
    is_kept = filt != 0
    if not bool(is_kept.any()):
        return filt[:0]
    start = int(is_kept.argmax()) if "f" in trim.lower() else 0
    stop = len(filt) - (int(is_kept[::-1].argmax()) if "b" in trim.lower() else 0)
    return filt[start:stop]


def _is_mask(x: Any) -> bool:
    return isinstance(x, Array) and x.dtype == np.bool and x.ndim > 0


COUNTING: dict[str, Callable[..., Any]] = {
    "argwhere": _argwhere,
    "bincount": _bincount,
    "compress": _compress,
    "delete": _delete,
    "digitize": _digitize,
    "ediff1d": _ediff1d,
    "extract": _extract,
    "flatnonzero": _flatnonzero,
    "histogram": _histogram,
    "insert": _insert,
    "interp": _interp,
    "intersect1d": _intersect1d,
    "isin": _isin,
    "setdiff1d": _setdiff1d,
    "setxor1d": _setxor1d,
    "trim_zeros": _trim_zeros,
    "union1d": _union1d,
}
COUNTING |= {
    name: _way_of_quantiles(name) for name in ("nanpercentile", "nanquantile", "percentile", "quantile")
}
