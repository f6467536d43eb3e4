"""Writes to a buffer: of rows that a slice selects, where a mask is True, and by positions that have room."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core._constants import positions as positions_of
from ..._core._dtypes import refuse_complex, x64_for
from .._array import Array
from .._batches import concrete, is_recording, lend, takes_pending
from .._host_way import is_by_jax
from .._indexing import (
    check_indices,
    count_of_mask,
    index_along,
    read_unless_on_device,
    scatter_in_rows,
    write_mask,
)
from .._selection import Part, Selection, compiled_pair, put, values_for
from ._rows import Rows, rows_in, takes_room, with_rows
from ._selecting import (
    Positions,
    current_content_of,
    current_value_of_content,
    lie_together,
    positions_of_key,
)
from ._slices import (
    first,
    is_broadcast_to,
    is_of_rows_alone,
    one_written,
    rows_written,
    window_of,
)

__all__ = ["accumulate_rows", "write_at", "write_number", "write_selection", "write_where"]


def _given(new: Any, buffer: jax.Array) -> Any:
    """Return what is to be written: rows, or a value, which NumPy casts if it comes from the host."""
    rows = new if isinstance(new, Rows) else new._rows() if isinstance(new, Array) else None
    if rows is None:
        return values_for(_taken(new) if isinstance(new, Array) else lend(new), buffer)
    if rows.dtype != buffer.dtype:
        refuse_complex(rows.dtype, buffer.dtype)
    return rows


def _taken(array: Array) -> Any:
    """Return the value of an array, or what it is pending as."""
    operand = array._operand()
    return operand.taken() if type(operand) is Part else operand


def _exact_of(new: Any, given: Any) -> Any:
    """Return what is to be written as an exact value."""
    if isinstance(given, Rows):
        return new._value if isinstance(new, Array) else given.exact()
    return given


def _value_with_room(given: Any) -> Any:
    """Return a value that has as many rows as are given at least, without a program for their number."""
    if isinstance(given, Rows):
        return given.memory
    return with_rows(given, rows_in(len(given))) if isinstance(given, np.ndarray) else given


def write_selection(array: Array, selection: Selection, new: Any) -> None:
    """Write an array, rows or a number to what is selected of an array that has a buffer."""
    given = _given(new, array._current_with_room)
    selects_rows = selection.has_many_rows and is_of_rows_alone(selection, array.shape)
    if not is_broadcast_to(given.shape, selection.shape):
        array._replace_rows(put, selection, _exact_of(new, given))  # which raises
    elif selects_rows:
        _write_rows_of_slice(array, selection.ranges[0], new, given)
    elif selection.axes[:1] == (0,) and selection.ranges[0] == range(len(array)):
        _write_to_every_row(array, selection, new, given)
    else:
        array._replace_rows(put, selection, _exact_of(new, given))


def _has_row_for_each(given: Any, ndim: int) -> bool:
    """Whether there is a row for each row that is written to, not one for all of them."""
    return len(given.shape) == ndim and given.shape[0] > 1


def _write_rows_of_slice(array: Array, positions: range, new: Any, given: Any) -> None:
    """Write whole rows by a program for many numbers of rows."""
    if _has_row_for_each(given, array.ndim):
        numbers = positions_of((positions.start, positions.step, len(positions)))
        array._replace_rows(_write_rows, _value_with_room(given), numbers)
    else:
        width = window_of(positions, array._current_with_room)
        array._replace_rows(_write_one, _exact_of(new, given), _numbers_of(positions), width)


def _write_to_every_row(array: Array, selection: Selection, new: Any, given: Any) -> None:
    """Write to a part of every row, such as a column, in rows that do not count, too."""
    capacity = len(array._current_with_room)
    every_row = Selection((range(capacity), *selection.ranges[1:]), selection.axes)
    if _has_row_for_each(given, len(selection.shape)):
        written = with_rows(given.memory if isinstance(given, Rows) else given, capacity)
    else:
        written = _exact_of(new, given)
    array._replace_rows(put, every_row, written)


def write_number(array: Array, selection: Selection, number: complex) -> bool:
    """Write a number to rows of an exact array, by a program for many numbers of rows.

    False is returned where the program for this number of rows alone is as good.
    """
    count = len(selection.ranges[0])
    is_of_few_lengths = rows_in(count) == count or count == array.shape[0]
    if array._view or is_of_few_lengths or not is_by_jax():
        return False
    value = array._current
    if not takes_room(value) or not is_of_rows_alone(selection, value.shape):
        return False
    given = values_for(number, value)
    width = window_of(selection.ranges[0], value)
    del value  # so that nobody else holds it
    array._replace(_write_one, given, _numbers_of(selection.ranges[0]), width)
    return True


def _numbers_of(positions: range) -> jax.Array:
    """Return the first position, the step and the number of positions, as programs take them."""
    if positions.step == -1:
        positions = positions[::-1]
    return positions_of((positions.start, positions.step, len(positions)))


def write_where(array: Array, mask: Any, new: Any, has_room: bool) -> bool:
    """Write where a mask of the first axes is True, if the array or what is written to it has a buffer.

    ``has_room`` says whether the array has one now. False is returned where exact arrays are needed.
    """
    shape = array.shape
    mask_shape = mask.shape
    if not mask_shape or mask.dtype.kind != "b" or mask_shape != shape[: len(mask_shape)]:
        return False
    value = array._current_with_room if has_room else array._current  # which is written to
    given = _given(new, value)
    capacity = len(value)
    del value  # so that nobody else holds it
    if not has_room and not isinstance(given, Rows) and not is_recording():
        return False
    chosen = mask if isinstance(mask, np.ndarray) else current_content_of(lend(mask))
    if isinstance(chosen, Rows) and chosen.memory.shape[0] > capacity:
        chosen = None if has_room else mask._current
    if chosen is None:
        return False
    is_true = current_value_of_content(chosen, capacity, "zero")
    axes_behind = len(shape) - len(mask_shape)
    has_value_per_true = len(given.shape) > axes_behind and given.shape[-axes_behind - 1] != 1
    if has_value_per_true:
        is_true = concrete(is_true)  # to be counted
        are_as_many = len(given.shape) == axes_behind + 1 and given.shape[0] == int(count_of_mask(is_true))
        if not are_as_many:
            return False
    written = _value_with_room(given) if has_value_per_true and len(given) else _exact_of(new, given)
    replace = array._replace_rows if has_room else array._replace
    replace(_write_mask, is_true, written, has_value_per_true)
    return True


def write_at(array: Array, key: Any, new: Any) -> bool:
    """Write at positions, if the array or one of these has a buffer.

    False is returned where exact arrays are needed.
    """
    has_room = array._has_room()
    if not has_room and (array._view is not None or not is_by_jax() or not takes_room(array._value)):
        return False
    positions = positions_of_key(array, key)
    shape = None if positions is None else _shape_of_indices(positions)
    if positions is None or shape is None:
        return False
    leads = positions.are_axes_indexed[0]
    other_lengths = [n for n, i in zip(array.shape, positions.are_axes_indexed, strict=True) if not i]
    place = positions.are_axes_indexed.index(True)
    selected_shape = (*other_lengths[:place], *shape, *other_lengths[place:])
    given = _given(new, array._value_with_room)
    if not is_broadcast_to(given.shape, selected_shape):
        return False  # as the exact array raises, too
    capacity = max([len(k.value) for k in positions.indices if isinstance(k, Rows)], default=None)
    if capacity is None and not has_room:
        return False
    indices = [_with_capacity(k, capacity) if _has_first_axis(k, shape) else k for k in positions.indices]
    row_capacity = capacity if leads else len(array._value_with_room)
    if row_capacity is not None and _has_row_for_each(given, len(selected_shape)):
        written = _with_capacity(given, row_capacity)
    else:
        written = _exact_of(new, given)
    counts = positions_of((len(array), shape[0] if shape else 1))
    layout = tuple(["array" if is_indexed else () for is_indexed in positions.are_axes_indexed])
    replace = array._replace_rows if has_room else array._replace
    replace(_write_positions, indices, counts, written, layout)
    return True


def _shape_of_indices(positions: Positions) -> tuple[int, ...] | None:
    """Return the shape of what is written for positions along other axes; None for what is no case here.

    That is arrays with other axes between them, and positions with room that are no rows of the result.
    """
    are_indexed = positions.are_axes_indexed
    place = are_indexed.index(True)
    are_together = all(are_indexed[place : place + len(positions.indices)])
    try:
        shape = np.broadcast_shapes(*[k.shape for k in positions.indices])
    except ValueError:
        return None
    rows = [k for k in positions.indices if isinstance(k, Rows)]
    are_rows = all(_has_first_axis(k, shape) for k in rows) and (are_indexed[0] or not rows)
    return shape if are_together and are_rows else None


def _has_first_axis(index: Any, shape: tuple[int, ...]) -> bool:
    """Whether an index has the first axis of all indices together, along which it may have room."""
    return len(shape) > 0 and len(index.shape) == len(shape) and index.shape[0] == shape[0]


def _with_capacity(content: Any, capacity: int | None) -> Any:
    """Return a value with so many rows, of which some do not count."""
    value = content.value if isinstance(content, Rows) else content
    if capacity is None:
        return value
    return first(value, capacity) if len(value) > capacity else with_rows(value, capacity)


def accumulate_rows(array: Array, positions: Any, new: Any, how: str) -> bool:
    """Add to rows of an array at positions that have room, say, once for each time that one comes.

    False is returned where exact arrays are needed.
    """
    places = positions._rows() if isinstance(positions, Array) else None
    if places is None or positions.ndim != 1 or positions.dtype.kind not in "iu" or not array.ndim:
        return False
    written = None if array._host is not None else _value_for_positions(array, places, new)
    where_to = read_unless_on_device(places.memory)
    if written is None or not lie_together(written, where_to):
        return False
    check_indices(where_to, 0, len(array), places.count)
    array._check_writeable()
    counts = positions_of((places.count, len(array)))
    replace = array._replace_rows if array._has_room() else array._replace
    replace(_accumulate, index_along(where_to, len(array)), counts, written, how)
    return True


def _value_for_positions(array: Array, places: Rows, new: Any) -> Any:
    """Return a number, or a buffer with a row for each position; None for others."""
    if np.ndim(new) == 0:
        return values_for(new._current if isinstance(new, Array) else lend(new), array._current_with_room)
    content = current_content_of(new) if isinstance(new, Array) else None
    if content is None or new.shape != (places.count, *array.shape[1:]):
        return None
    capacity = places.memory.shape[0]
    value = current_value_of_content(content)
    refuse_complex(value.dtype, array.dtype)
    return None if len(value) > capacity else with_rows(value, capacity)


@takes_pending
def _accumulate(buffer, positions, counts, new, how, made):
    with x64_for(buffer.dtype, new.dtype, positions.dtype):
        return _accumulated(made, buffer, positions, counts, new, how)


@takes_pending
def _write_mask(buffer, mask, new, has_value_per_true, made):
    return write_mask(made, buffer, mask, new, 0, has_value_per_true)


def _write_positions(buffer, indices, counts, new, layout, made):
    with x64_for(buffer.dtype, new.dtype, *[k.dtype for k in indices]):
        return scatter_in_rows(made, buffer, indices, counts, new, layout)


@takes_pending
def _write_rows(buffer, new, numbers, made):
    with x64_for(buffer.dtype, new.dtype):
        return _with_rows_at(made, buffer, new, numbers)


@takes_pending
def _write_one(buffer, new, numbers, width, made):
    with x64_for(buffer.dtype, new.dtype):
        return _with_one_at(made, buffer, new, numbers, width)


def _accumulated_at(buffer, positions, counts, new, how):
    """Add at positions; those that do not count go beyond the end, and so do those that are out of bounds."""
    position_count, size = counts
    places = jnp.where(positions < 0, positions + size.astype(positions.dtype), positions)
    is_position = lax.iota(np.int32, len(places)) < position_count
    is_within = (places >= 0) & (places < size.astype(places.dtype))
    places = jnp.where(is_position & is_within, places, jnp.asarray(len(buffer), places.dtype))
    new = jnp.broadcast_to(new.astype(buffer.dtype), (len(places), *buffer.shape[1:]))
    return getattr(buffer.at[places], how)(new, mode="drop")


_accumulated = compiled_pair(_accumulated_at, static_argnums=4)
_with_rows_at = compiled_pair(rows_written)
_with_one_at = compiled_pair(one_written, static_argnums=3)
