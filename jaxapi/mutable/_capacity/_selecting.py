"""Functions whose result has a length that values choose, or another array's: they write into buffers."""

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import jaxapi

from ..._core._devices import in_host_memory
from ..._core._dtypes import as_indices, default_dtype, x64_for
from ..._core._lengths import KEPT, has_own_length, lie_on_one_device
from ..._manipulation import repeated_in_buffer
from ..._searching import nonzero_in_buffers
from ..._unique import RESULTS, distinct_in_buffers
from .._array import NUMPY, Array, reshaped, rows_of, unwrap, wrap, wrap_rows
from .._batches import Pending, concrete, continued, is_recording, lend
from .._host_way import is_by_jax
from .._indexing import (
    check_indices,
    index_along,
    on_host,
    read_unless_on_device,
    reads_on_host,
    selected_in_buffer,
)
from .._keys import FULL, check_int, expand, indices_along, is_mask, parts_of
from ._calls import call_on_rows
from ._fillers import filled
from ._rows import (
    OF_ARGUMENTS,
    Rows,
    compiled_in_width,
    number_of,
    rows_of_host,
    takes_room,
    with_rows,
)

__all__ = ["MAKING_ROOM", "TAKES", "Positions", "content_of", "current_content_of"]
__all__ += ["current_value_of_content", "lie_together", "positions_of_key", "read_at", "read_by_array"]
__all__ += ["value_of_content"]

_filled = compiled_in_width(filled, continued, static_argnums=2)
_UNIQUE_VALUES = ("values",)


def content_of(x: Any) -> Any:
    """Return an array's rows, or its value if that is one of which rows can be made, where `is_by_jax`."""
    content = current_content_of(x)
    return content.value() if type(content) is Pending else content


def current_content_of(x: Any) -> Rows | jax.Array | Pending | None:
    """Return the same, which may be pending."""
    if not isinstance(x, Array):
        return x if takes_room(x) else None
    rows = x._rows_if_possible()
    if rows is not None:
        return rows
    value = x._current
    return value if takes_room(value) else None


def value_of_content(content: Any, capacity: int | None = None, filler: str = "nothing") -> Any:
    """Return a value of so many rows, in which those that do not count hold a filler."""
    return concrete(current_value_of_content(content, capacity, filler))


def current_value_of_content(content: Any, capacity: int | None = None, filler: str = "nothing") -> Any:
    """Return the same, which may be pending."""
    if isinstance(content, Rows):
        value = content.memory
        if filler != "nothing" and content.count < value.shape[0]:
            value = _filled(value, number_of(content.count), filler)
    else:
        value = content
    return value if capacity is None else with_rows(value, capacity)


def lie_together(*values: Any) -> bool:
    """Whether values, of which some may be pending, may choose the length of a result (`has_own_length`)."""
    there = [x for x in values if type(x) is not Pending]
    return not there or has_own_length(*there)


def _capacity_of(*contents: Any) -> int:
    """Return the number of rows that buffers of several contents have."""
    return max(len(x.value) if isinstance(x, Rows) else len(x) for x in contents)


def read_by_array(x: Array, key: Any) -> Any:
    """Return ``x[key]`` for a mask of the first axes, or positions along the first one; None for others."""
    known = key._kept if type(key) is Array else key
    kind = known.dtype.kind
    key_shape = known.shape
    shape = x._kept.shape
    if kind not in "biu" or not key_shape or not shape or not is_by_jax():
        return None
    if kind != "b":
        return _gathered(x, key)
    return _selected(x, key) if key_shape == shape[: len(key_shape)] else None


def _selected(x: Array, mask: Any) -> Any:
    own = current_content_of(x)
    chosen = mask if isinstance(mask, np.ndarray) else current_content_of(mask)
    if own is None or chosen is None:
        return None
    value = _memory_of(own)
    is_true = _memory_of(chosen)
    if not lie_on_one_device(value, is_true):
        return None
    if reads_on_host(value, is_true):
        count = len(own)
        rows, host_mask = on_host(value, is_true)
        return _of_host(rows[:count][host_mask[:count]], value, x._module)
    capacity = max(len(value), len(is_true))
    value = with_rows(value, capacity)
    is_true = value_of_content(chosen, capacity, "zero")
    count, buffer = selected_in_buffer(value, is_true)
    return wrap_rows(Rows(buffer, count), x._module)


def _memory_of(content: Any) -> Any:
    """Return an array's buffer, or the value of an exact array."""
    return concrete(content.memory if type(content) is Rows else content)


def _of_host(host: np.ndarray, value: jax.Array, module: str) -> Any:
    """Return what was selected on the host as an array on the device of a value."""
    sharding = value.sharding if value.committed else None
    rows = rows_of_host(host, sharding)
    if rows is not None:
        return wrap_rows(rows, module)
    with x64_for(host.dtype):
        return wrap(jax.device_put(host, sharding), module)


def _gathered(x: Array, positions: Any) -> Any:
    own = current_content_of(x)
    is_of_host = isinstance(positions, np.ndarray)
    places: Any = rows_of_host(positions) if is_of_host else current_content_of(lend(positions))
    if own is None or places is None or not (isinstance(own, Rows) or isinstance(places, Rows)):
        return None
    value = current_value_of_content(own)
    where = read_unless_on_device(current_value_of_content(places))
    if not lie_together(value, where):
        return None
    count = places.count if isinstance(places, Rows) else None
    size = x.shape[0]
    check_indices(where, 0, size, count)
    made = _taken(value, index_along(where, size), number_of(size))
    return wrap(made, x._module) if count is None else wrap_rows(Rows(made, count), x._module)


class Positions(NamedTuple):
    """A key of positions along some axes, and of all of the others."""

    indices: list[Any]  # rows or values of integers, of 32 bits at least
    are_axes_indexed: tuple[bool, ...]

    def key(self, indices: Any) -> tuple[Any, ...]:
        """Return the key with other values of the positions."""
        remaining = iter(indices)
        return tuple([next(remaining) if is_indexed else FULL for is_indexed in self.are_axes_indexed])


def positions_of_key(x: Array, key: Any) -> Positions | None:
    """Return the positions in a key of integers, arrays and full slices; None for another key."""
    keys = tuple(key) if isinstance(key, tuple) else (key,)
    if any(k is None or (type(k) is slice and k != FULL) for k in keys):
        return None
    if any(k is Ellipsis for k in keys) and (len(keys) > 2 or x.ndim < 2):
        return None  # as `...` may stand for no axis between arrays
    keys = tuple([list(k) if type(k) is range else unwrap(k) if type(k) is list else k for k in keys])
    parts = [k if isinstance(k, Array) else parts_of((k,))[0] for k in keys]
    if any(is_mask(part) and part.ndim != 1 for part in parts):
        return None
    indices = []
    are_axes_indexed = []
    for k, axis in expand(parts, x.shape):
        are_axes_indexed.append(type(k) is not slice)
        if type(k) is not slice:
            positions = _positions_along(k, axis, x.shape[axis], x._module)
            if positions is None:
                return None
            indices.append(positions)
    return Positions(indices, tuple(are_axes_indexed))


def _positions_along(k: Any, axis: int, size: int, module: str) -> Any:
    """Return the positions that a part of a key means along an axis, as rows or a value."""
    if type(k) is int:
        return np.asarray(check_int(k, axis, size), np.int32)
    if k.dtype == bool:
        if k.shape != (size,):
            return None
        found = np.nonzero(k) if isinstance(k, np.ndarray) else _nonzero(k, module=module)
        if found is None:
            return None
        (k,) = found
    rows = rows_of(k)
    value: Any = unwrap(k) if rows is None else rows.value
    check_indices(value, axis, size, None if rows is None else rows.count)
    value = as_indices(value) if isinstance(value, jax.Array) else indices_along(value, size)
    return value if rows is None else Rows(value, rows.count)


def read_at(x: Array, key: Any) -> Any:
    """Return what is at positions, of an array with room or by such positions; None for another key."""
    if not is_by_jax():
        return None
    positions = positions_of_key(x, key)
    if positions is None or (rows_of(x) is None and not any(isinstance(k, Rows) for k in positions.indices)):
        return None
    indices = [wrap_rows(k, x._module) if isinstance(k, Rows) else k for k in positions.indices]
    return call_on_rows(_read_at, x._module, (x, positions.are_axes_indexed, *indices), {})


def _read_at(x, are_axes_indexed, *indices):
    key = Positions([], are_axes_indexed).key([k._value for k in indices])
    made = x._value[key]
    return wrap(made, x._module, is_scalar=not made.ndim)


def _taken_by_function(x: Any, positions: Any, module: str) -> Any:
    """Return rows at positions, where one of the two arrays has room at least, as `take` does.

    For positions beyond the end `jaxapi.numpy` raises, and `jaxapi.mutable` returns what `jaxapi.take` does.
    """
    own = content_of(x)
    places = content_of(positions)
    if own is None or places is None or not (isinstance(own, Rows) or isinstance(places, Rows)):
        return None
    value = value_of_content(own)
    where = value_of_content(places, filler="zero")
    if where.dtype.kind not in "iu" or not has_own_length(value, where):
        return None
    places_from_zero, are_within = _from_zero(as_indices(where), number_of(len(own)), len(value))
    if module == NUMPY and not in_host_memory(are_within):
        return None  # as the exact arrays raise, too
    made = jaxapi.take(value, places_from_zero, axis=0)
    return wrap_rows(Rows(made, places.count), module) if isinstance(places, Rows) else wrap(made, module)


@functools.partial(compiled_in_width, static_argnums=2)
def _from_zero(positions, count, beyond):
    """Return positions from 0 on, and whether all are within; those that are not are moved beyond."""
    count = count.astype(positions.dtype)
    positions = jnp.where(positions < 0, positions + count, positions)
    is_within = (positions >= 0) & (positions < count)
    return jnp.where(is_within, positions, jnp.asarray(beyond, positions.dtype)), is_within.all()


@functools.partial(compiled_in_width, as_line=continued)
def _taken(value, positions, count):
    positions = jnp.where(positions < 0, positions + count.astype(positions.dtype), positions)
    positions = jnp.clip(positions, 0, count.astype(positions.dtype) - 1)
    return jnp.take(value, positions, axis=0, mode="clip")


# Functions of the namespaces: each returns None where the exact arrays are needed


def _nonzero(x: Any, *, module: str) -> Any:
    own = content_of(x)
    if own is None or not has_own_length(value_of_content(own)):
        return None
    count, indices = nonzero_in_buffers(value_of_content(own, filler="zero"), KEPT)
    return tuple([wrap_rows(Rows(along_axis, count), module) for along_axis in indices])


def _distinct(x: Any, parts: tuple[str, ...], module: str, equal_nan: bool = False) -> Any:
    """Return the parts of a result by their names; None where the exact array is needed."""
    own = content_of(x)
    if own is None or not has_own_length(value_of_content(own)):
        return None
    value = value_of_content(own, filler="last")
    equal_nan = equal_nan and value.dtype.kind == "f"
    if not isinstance(own, Rows):
        count, made = distinct_in_buffers(value, parts, equal_nan=equal_nan, row_bytes=KEPT)
    else:
        size = number_of(math.prod(own.shape))
        count, made = distinct_in_buffers(value, parts, size, equal_nan, row_bytes=KEPT)
    arrays = {}
    for part, array in zip(parts, made, strict=True):
        if part != "inverse_indices":
            arrays[part] = wrap_rows(Rows(array, count), module)
        elif isinstance(own, Rows):
            arrays[part] = wrap_rows(Rows(array, own.count), module)
        else:
            arrays[part] = wrap(array, module)
    return arrays


def _unique_values(x: Any, *, module: str) -> Any:
    parts = _distinct(x, _UNIQUE_VALUES, module)
    return None if parts is None else parts["values"]


def _unique_parts(name: str) -> Callable[..., Any]:
    result = RESULTS[name]

    def way(x: Any, *, module: str) -> Any:
        parts = _distinct(x, result._fields, module)
        return None if parts is None else result(**parts)

    return way


def _unique(
    ar,
    return_index=False,
    return_inverse=False,
    return_counts=False,
    axis=None,
    equal_nan=True,
    sorted=True,
    *,
    module,
):
    if axis is not None or ar.dtype.kind == "c":
        return None
    asked = {"indices": return_index, "inverse_indices": return_inverse, "counts": return_counts}
    names = ("values", *[name for name, is_asked in asked.items() if is_asked])
    parts = _distinct(ar, names, module, bool(equal_nan))
    if parts is None:
        return None
    return tuple(parts.values()) if len(parts) > 1 else parts["values"]


def _repeat(x: Any, repeats: Any, axis: Any = None, *, module: str) -> Any:
    is_by_rows = isinstance(repeats, Array) and repeats.dtype.kind in "iu" and repeats.ndim == 1
    if not is_by_rows or not (axis == 0 or (axis is None and x.ndim == 1)) or repeats.shape != x.shape[:1]:
        return None
    own = content_of(x)
    counts = content_of(repeats)
    if own is None or counts is None:
        return None
    capacity = _capacity_of(own, counts)
    value = value_of_content(own, capacity)
    numbers = value_of_content(counts, capacity, "zero")
    if not has_own_length(value, numbers):
        return None
    try:
        total, buffer = repeated_in_buffer(value, as_indices(numbers), 0, KEPT)
    except ValueError:
        return None  # as the exact arrays raise, too
    return wrap_rows(Rows(buffer, total), module)


def _searchsorted(x1: Any, x2: Any, side: Any = "left", sorter: Any = None, *, module: str) -> Any:
    if not isinstance(x2, Array) or sorter is not None or side not in ("left", "right"):
        return None
    ordered = current_content_of(lend(x1))
    looked_up = current_content_of(x2)
    if ordered is None or looked_up is None:
        return None
    if not (isinstance(ordered, Rows) or isinstance(looked_up, Rows) or is_recording()):
        return None
    value = current_value_of_content(ordered)
    places = current_value_of_content(looked_up)
    if value.ndim != 1 or value.dtype != places.dtype or not lie_together(value, places):
        return None
    made = _insertion_points(value, number_of(len(ordered)), places, side, default_dtype(int))
    count = looked_up.count if isinstance(looked_up, Rows) else None
    return wrap(made, module) if count is None else wrap_rows(Rows(made, count), module)


@functools.partial(compiled_in_width, as_line=continued, static_argnums=(3, 4))
def _insertion_points(ordered, count, looked_up, side, dtype):
    found = jaxapi.searchsorted(filled(ordered, count, "last"), looked_up, side=side)
    return jnp.minimum(found, count.astype(found.dtype)).astype(dtype)


def _isin(x1: Any, x2: Any, *, invert: bool = False, module: str) -> Any:
    """Look among the elements of a buffer, of which those that do not count are the first one."""
    if not isinstance(x1, Array):
        return None
    rows = x1._rows_if_possible()
    sought = content_of(x2) if isinstance(x2, Array) else None
    if rows is None and not isinstance(sought, Rows):
        return None
    among = value_of_content(sought, filler="first") if isinstance(sought, Rows) else unwrap(x2)
    try:
        made = jaxapi.isin(x1._value if rows is None else rows.value, among, invert=invert)
    except (TypeError, ValueError, OverflowError):
        return None  # as the exact arrays raise, too
    return wrap(made, module, not made.ndim) if rows is None else wrap_rows(Rows(made, rows.count), module)


def _roll(a: Any, shift: Any, axis: Any = None, *, module: str) -> Any:
    rows = rows_of(a)
    if rows is None or type(shift) is not int:
        return None
    if not (axis is None and a.ndim == 1) and not (type(axis) is int and axis in (0, -a.ndim)):
        return None
    made = _rolled(rows.value, number_of(shift % rows.count), number_of(rows.count))
    return wrap_rows(Rows(made, rows.count), module)


@compiled_in_width
def _rolled(value, shift, count):
    positions = jnp.arange(len(value), dtype=np.int32) - shift
    positions = jnp.where(positions < 0, positions + count, positions)
    return jnp.take(value, positions, axis=0, mode="clip")


def _take(a: Any, indices: Any, axis: Any = None, *, module: str) -> Any:
    if axis is None and isinstance(a, Array) and a.ndim > 1:
        a = reshaped(a, (a.size,))
    if not isinstance(a, Array) or not a.ndim:
        return None
    if module == NUMPY and isinstance(indices, (int, list, np.ndarray)):
        return _taken_from_host(a, indices, axis)
    if not isinstance(indices, Array) or not indices.ndim:
        return None
    if axis is not None and type(axis) is not int:
        return None
    if axis is not None and axis != 0 and -a.ndim < axis < a.ndim:
        return _take_in_rows(a, indices, axis, module)
    is_by_rows = axis in (0, -a.ndim) or (axis is None and a.ndim == 1)
    return _taken_by_function(a, indices, module) if is_by_rows else None


def _taken_from_host(a: Array, indices: Any, axis: Any) -> Any:
    """Return what is at positions that the host has, whose mistakes are seen there."""
    try:
        place = 0 if axis is None else range(a.ndim)[axis]
        positions = np.asarray(indices)
        return read_at(a, (FULL,) * place + (positions,)) if positions.dtype.kind in "iu" else None
    except OF_ARGUMENTS:
        return None  # as the exact arrays raise, too


def _take_in_rows(a: Array, indices: Array, axis: int, module: str) -> Any:
    """Take the same positions in every row."""
    rows = a._rows_if_possible()
    if rows is None or module == NUMPY:  # which looks at positions first
        return None
    try:
        made = jaxapi.take(rows.value, indices._value, axis=axis)
    except (TypeError, ValueError):
        return None  # as the exact arrays raise, too
    return wrap_rows(Rows(made, rows.count), module)


def _take_along_axis(arr: Any, indices: Any, axis: Any = -1, *, module: str) -> Any:
    are_vectors = isinstance(arr, Array) and isinstance(indices, Array) and arr.ndim == indices.ndim == 1
    is_of_vectors = are_vectors and type(axis) is int and axis in (0, -1)
    return _taken_by_function(arr, indices, module) if is_of_vectors else None


TAKES: dict[str, Callable[..., Any]] = {
    "isin": _isin,
    "roll": _roll,
    "take": _take,
    "take_along_axis": _take_along_axis,
}
MAKING_ROOM: dict[str, Callable[..., Any]] = {
    "nonzero": _nonzero,
    "repeat": _repeat,
    "searchsorted": _searchsorted,
    "unique": _unique,
    "unique_all": _unique_parts("unique_all"),
    "unique_counts": _unique_parts("unique_counts"),
    "unique_inverse": _unique_parts("unique_inverse"),
    "unique_values": _unique_values,
}
