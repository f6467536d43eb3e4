"""Rows that a slice selects, by programs whose first position is an input."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core._constants import positions as positions_of
from .._batches import recorded
from .._selection import Selection, take
from ._rows import Rows, compiled_in_width, is_exact, number_of, rows_in, takes_room

__all__ = ["first", "has_many_rows", "is_of_rows_alone", "reshaped_rows", "selected_rows"]

_INT32_MAX = np.iinfo(np.int32).max


def has_many_rows(selection: Selection) -> bool:
    """Whether the first axis of what is selected is that of the array, and has more rows than exact ones."""
    if not selection.axes or selection.axes[0] != 0:
        return False
    positions = selection.ranges[0]
    return type(positions) is range and not is_exact(len(positions))


def selected_rows(memory: jax.Array | Rows, selection: Selection) -> Rows | None:
    """Return what is selected, of an array or of the rows that count; None where that is better read exactly.

    The selection `has_many_rows`. Of an exact array this is worth it where the number of rows changes.
    """
    positions = selection.ranges[0]
    count = len(positions)
    is_buffer = isinstance(memory, Rows)
    value: Any = memory.memory if isinstance(memory, Rows) else memory
    size = memory.count if isinstance(memory, Rows) else value.shape[0]
    is_every_row = count == size and positions == range(size)
    are_whole_rows = is_of_rows_alone(selection, value.shape)
    if not is_buffer:
        changes_length_alone = are_whole_rows and not is_every_row and rows_in(count) != count
        if not changes_length_alone or not takes_room(value):
            return None
    rows = Rows(value, count) if is_every_row else Rows(_sliced(value, positions, size), count)
    if are_whole_rows:
        return rows
    within_buffer = Selection((range(len(rows.memory)), *selection.ranges[1:]), selection.axes)
    return Rows(take(rows.memory, within_buffer), count)


def is_of_rows_alone(selection: Selection, shape: tuple[int, ...]) -> bool:
    """Whether each row that is selected is there as it is in an array of this shape."""
    return selection.in_array(shape).is_of_rows_alone


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
