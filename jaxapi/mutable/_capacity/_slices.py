"""Rows that a slice selects, and writes to these, by programs whose first position is an input."""

import functools
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core._constants import positions as positions_of
from .._batches import Positions, of_rows, recorded
from .._selection import InArray, Selected, Selection, Source, line_of_write, take
from ._rows import Rows, compiled_in_width, dtype_may_have_room, is_exact, number_of, rows_in, takes_room

__all__ = ["first", "is_broadcast_to", "is_of_rows_alone", "line_of_put", "one_written"]
__all__ += ["reshaped_rows", "rows_written", "selected_rows", "source_of_part", "window_of", "written_to"]

_INT32_MAX = np.iinfo(np.int32).max
_SELECTIONS_KEPT = 4096


def selected_rows(memory: jax.Array | Rows, selection: Selection) -> Rows | None:
    """Return what is selected, of an array or of the rows that count; None where that is better read exactly.

    The selection has many rows. Of an exact array this is worth it where the number of rows changes.
    """
    positions = selection.ranges[0]
    count = len(positions)
    is_buffer = isinstance(memory, Rows)
    value: Any = memory.memory if isinstance(memory, Rows) else memory
    size = memory.count if isinstance(memory, Rows) else value.shape[0]
    is_every_row = count == size and positions == range(size)
    are_whole_rows = is_of_rows_alone(selection, value.shape)
    if not is_buffer and not (selection.in_array(value.shape).is_of_many_lengths and takes_room(value)):
        return None
    rows = Rows(value, count) if is_every_row else Rows(_sliced(value, positions, size), count)
    if are_whole_rows:
        return rows
    within_buffer = Selection((range(len(rows.memory)), *selection.ranges[1:]), selection.axes)
    return Rows(take(rows.memory, within_buffer), count)


def is_of_rows_alone(selection: Selection, shape: tuple[int, ...]) -> bool:
    """Whether each row that is selected is there as it is in an array of this shape."""
    return selection.in_array(shape).is_of_rows_alone


# What lines read


class _RowsToRead(NamedTuple):
    """What a program is compiled for that reads rows into a buffer: all but where they are."""

    capacity: int
    step: int  # 1, -1, or 0 where it is an input
    of_each: Any  # the layout of what is read of each row; None for all of it

    def taken(self, value: Any, starts: Any) -> Any:
        """Return the rows, in a program that has the positions as inputs."""
        starts_of_each = starts[1:]
        if self.step == 1:
            rows = _cut_from_beyond(value, starts[0], self.capacity)
        elif self.step == -1:
            rows = _cut_backward(value, starts[0], self.capacity)
        else:
            rows = _taken_by_steps(value, starts[:_OF_STEPS], self.capacity)
            starts_of_each = starts[_OF_STEPS:]
        return rows if self.of_each is None else self.of_each.taken(rows, starts_of_each)


_OF_STEPS = 3  # numbers: the first position, the step, and the last position that counts


def source_of_part(value: Any, rows: int | None, selection: Selection) -> Source | None:
    """Return what a line reads of an array, or of a buffer of which so many rows count, for a part of it.

    None is returned for a buffer whose rows are another axis of the part, and for arrays that are too long.
    """
    selected = selection.in_array(value.shape)
    if _is_by_rows(value, rows, selection, selected):
        size = value.shape[0] if rows is None else rows
        return Source(value, len(selection.ranges[0]), _rows_to_read(selection, value.shape, size))
    if selected.is_long or (rows is not None and _has_rows_elsewhere(selection)):
        return None
    return Source(value, None, None if selected.is_all else selected)


def _is_by_rows(value: Any, rows: int | None, selection: Selection, selected: InArray) -> bool:
    """Whether a line reads, and writes, many rows by a program for other lengths, too."""
    if rows is not None:
        return selection.has_many_rows
    # As `takes_room`: a line is not traced, and on one device.
    return selected.is_of_many_lengths and dtype_may_have_room(value.dtype) and not value.weak_type


def _has_rows_elsewhere(selection: Selection) -> bool:
    """Whether many rows are selected; they are not the first axis of what is."""
    positions = selection.ranges[0]
    return type(positions) is range and not is_exact(len(positions))


@functools.lru_cache(_SELECTIONS_KEPT)
def _rows_to_read(selection: Selection, shape: tuple[int, ...], size: int) -> Selected | None:
    """Return what a line reads of an array of which ``size`` rows count, for many rows; None for all."""
    positions = selection.ranges[0]
    capacity = rows_in(len(positions))
    each = Selection((range(capacity), *selection.ranges[1:]), selection.axes)
    selected_of_each = each.in_array((capacity, *shape[1:]))
    if positions.step == 1 and positions.start == 0 and capacity == shape[0]:
        return None if selected_of_each.is_all else selected_of_each
    starts: tuple[int, ...] = (positions.start,)
    step = positions.step
    if abs(step) > 1:
        starts = (positions.start, step, size - 1)
        step = 0
    of_each = None if selected_of_each.is_all else selected_of_each.layout
    all_starts = Positions((*starts, *selected_of_each.starts))
    return Selected(all_starts, _RowsToRead(capacity, step, of_each), each.shape)


# What lines write


class _RowsToWrite(NamedTuple):
    """What a program is compiled for that writes rows: all but where they are, and how many."""

    width: int | None  # of the window in which each row becomes the same; None where each has its own

    def written(self, value: Any, new: Any, numbers: Any, one_by_one: bool = False) -> Any:
        """Return the array, in a program that has first position, step and number of rows as inputs."""
        if self.width is None:
            return rows_written(value, new, numbers)
        return one_written(value, new, numbers, self.width)


_EACH_ITS_OWN = _RowsToWrite(None)


def line_of_put(value: Any, rows: int | None, selection: Selection, new: Source, is_wide: bool) -> Any:
    """Return an array, or a buffer of which so many rows count, after ``new`` was written to a part of it.

    It is a line of a batch; None is returned where it cannot be one. ``is_wide`` says whether the array's
    namespace computes in 64 bits.
    """
    own = None  # what has a row for each that is written
    if type(new.value) not in _NUMBERS:
        shape = new.shape
        if shape != selection.shape and not is_broadcast_to(shape, selection.shape):
            return None  # as the write at once raises
        if 0 < len(shape) == len(selection.shape) and shape[0] > 1:
            own = new
    if new.rows is not None and own is None:
        return None  # its rows are another axis
    written = written_to(value, rows, selection, new, own)
    made = None if written is None else line_of_write(value, written, new, is_wide)
    return made if rows is None else of_rows(made)


def written_to(
    value: Any, rows: int | None, selection: Selection, new: Source, own: Source | None
) -> Selected | None:
    """Return what a line writes ``new`` to; None where no line does.

    ``own`` is the same if it has a row for each that is written, else None.
    """
    written = selection.in_array(value.shape)
    if _is_by_rows(value, rows, selection, written):
        return _rows_to_write(value, rows, selection, own)
    if new.rows is not None or (rows is not None and _has_rows_elsewhere(selection)):
        return None
    return None if written.is_long else written


_NUMBERS = frozenset([bool, int, float, complex])


def is_broadcast_to(shape: tuple[int, ...], selected_shape: tuple[int, ...]) -> bool:
    """Whether an array of a shape can be written to what has another one."""
    lengths = zip(reversed(shape), reversed(selected_shape), strict=False)
    return len(shape) <= len(selected_shape) and all(n in (1, m) for n, m in lengths)


def _rows_to_write(value: Any, rows: int | None, selection: Selection, own: Source | None) -> Selected | None:
    """Return what a line writes to for many rows, of which each gets its own, or all the same.

    None is returned for parts of some rows, and where there are not as many own ones as a program needs.
    """
    positions = selection.ranges[0]
    if is_of_rows_alone(selection, value.shape):
        numbers = (positions.start, positions.step, len(positions))
        if own is not None:
            return Selected(Positions(numbers), _EACH_ITS_OWN, selection.shape)
        if positions.step == -1:
            numbers = (positions[-1], 1, len(positions))
        return Selected(Positions(numbers), _RowsToWrite(window_of(positions, value)), selection.shape)
    if rows is None or positions != range(rows):
        return None
    if own is not None and own.memory_shape[0] != len(value):
        return None
    # A part of every row, such as a column, in rows that do not count, too.
    every_row = Selection((range(len(value)), *selection.ranges[1:]), selection.axes)
    return every_row.in_array(value.shape)


def window_of(positions: range, value: Any) -> int:
    """Return how many rows a program reads and writes that changes these: more where they have gaps."""
    has_gaps = abs(positions.step) > 1
    return len(value) if has_gaps else min(rows_in(len(positions)), len(value))


def rows_written(buffer: Any, new: Any, numbers: Any) -> Any:
    """Write rows at positions; those that do not count go beyond the end."""
    start, step, count = numbers
    index = lax.iota(np.int32, new.shape[0])
    beyond = buffer.shape[0] + index
    where_to = jnp.where(index < count, start + step * index, beyond)
    new = jnp.broadcast_to(new.astype(buffer.dtype), (new.shape[0], *buffer.shape[1:]))
    return buffer.at[where_to].set(new, mode="drop", unique_indices=True)


def one_written(buffer: Any, new: Any, numbers: Any, width: int) -> Any:
    """Write the same row, or a number, at positions among as many rows."""
    start, step, count = numbers
    first = jnp.clip(start, 0, buffer.shape[0] - width)
    window = lax.dynamic_slice_in_dim(buffer, first, width)
    distance = first + lax.iota(np.int32, width) - start
    number = distance // step
    is_written = (number * step == distance) & (number >= 0) & (number < count)
    is_written = is_written.reshape(-1, *(1,) * (buffer.ndim - 1))
    window = jnp.where(is_written, new.astype(buffer.dtype), window)
    return lax.dynamic_update_slice_in_dim(buffer, window, first, 0)


def reshaped_rows(rows: Rows, shape: tuple[int, ...]) -> Rows | None:
    """Return rows in another shape of as many elements, which are copied; None where few rows are.

    Rows lie one after another, so that what counts is in front of the buffer before and after.
    """
    if not shape or is_exact(shape[0]):
        return None
    new_shape = (rows_in(shape[0]), *shape[1:])
    is_too_large = math.prod(new_shape) > _INT32_MAX
    return None if is_too_large else Rows(_reshaped(rows.memory, new_shape), shape[0])


def _sliced(value: jax.Array, positions: range, size: int) -> jax.Array:
    """Return a buffer that begins with the rows at these positions below ``size``."""
    capacity = rows_in(len(positions))
    start = positions.start
    if positions.step == 1:
        if start + capacity > len(value):
            return _from_beyond(value, number_of(start), capacity)
        if start:
            return _from(value, number_of(start), capacity)
        return value if capacity == len(value) else first(value, capacity)
    if positions.step == -1:
        return _backward(value, number_of(start), capacity)
    return _taken(value, positions_of((start, positions.step, size - 1)), capacity)


def _taken_by_steps(value, numbers, capacity):
    start, step, last = numbers
    positions = start + step * lax.iota(np.int32, capacity)
    return jnp.take(value, jnp.clip(positions, 0, last), axis=0, mode="clip")


def _cut_from(value, start, capacity):
    return lax.dynamic_slice_in_dim(value, start, capacity)


def _with_margins(value, before, behind):
    zero = jnp.zeros((), value.dtype)
    return lax.pad(value, zero, [(before, behind, 0), *[(0, 0, 0)] * (value.ndim - 1)])


def _cut_from_beyond(value, start, capacity):
    return lax.dynamic_slice_in_dim(_with_margins(value, 0, capacity), start, capacity)


def _cut_backward(value, start, capacity):
    return lax.rev(lax.dynamic_slice_in_dim(_with_margins(value, capacity, 0), start + 1, capacity), (0,))


def _in_shape(value, shape):
    elements = value.reshape(-1)
    missing = math.prod(shape) - elements.size
    elements = _with_margins(elements, 0, missing) if missing > 0 else elements[: math.prod(shape)]
    return elements.reshape(shape)


def _first_of(value, capacity):
    return lax.slice_in_dim(value, 0, capacity)


_backward = compiled_in_width(_cut_backward, recorded, static_argnums=2)
_from_beyond = compiled_in_width(_cut_from_beyond, recorded, static_argnums=2)
_taken = compiled_in_width(_taken_by_steps, recorded, static_argnums=2)
_from = compiled_in_width(_cut_from, recorded, static_argnums=2)
_reshaped = compiled_in_width(_in_shape, recorded, static_argnums=1)
first = compiled_in_width(_first_of, recorded, static_argnums=1)
