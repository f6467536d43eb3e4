"""What a mask selects of an array, where statements wait: all of its elements, and the mask.

How many a mask selects is known when all has run that it depends on. `z[near] = z[near] ** 2 + c[near]` does
not need to know: functions of each element are computed for all of them, and those are written where the mask
is True. Whatever else is asked of such an array reads what is selected first.
"""

import functools
from typing import Any, NamedTuple

import jax.numpy as jnp

from .._core._dtypes import WIDE, x64_as, x64_inside
from ._batches import (
    LARGE,
    WAITS,
    LineProgram,
    Pending,
    attempt_by_kinds,
    is_lent,
    kind_of,
    line_program_of,
    of_rows,
)
from ._selection import Part, Selection, Source, compiled_pair

__all__ = ["Masked", "is_same", "line_of_number_where", "line_of_write_where", "masked_of"]


_LINES_KEPT = 1024


class Masked(NamedTuple):
    """Elements of which some are selected, and the mask."""

    elements: Source
    mask: Source

    def with_value(self, value: Any) -> "Masked":
        """Return other elements of which the same are selected."""
        rows = self.elements.rows
        return Masked(Source(value if rows is None else of_rows(value), rows), self.mask)

    def reads(self, value: Any) -> bool:
        """Whether it holds a value, which is there."""
        return any(_as_it_is(held.value) is value for held in self)

    def is_like(self, other: "Masked") -> bool:
        """Whether the same mask selects of elements in the same places."""
        return is_same(self.mask, other.mask) and _are_alike(self.elements, other.elements)


def masked_of(elements: Source, mask: Source) -> Masked | None:
    """Return what a mask selects as it waits; None where it is better read at once."""
    flags = mask.value
    if type(flags) is not Pending or flags.dtype != bool or not flags.shape:
        return None
    if is_lent(elements.value) or elements.value.nbytes > LARGE or _mask_of(elements, mask) is None:
        return None
    return Masked(elements, mask)


def _are_alike(x: Source, y: Source) -> bool:
    """Whether two arrays have the same shape, and as many rows that do not count."""
    return x.rows == y.rows and x.value.shape == y.value.shape


def is_same(x: Source, y: Source) -> bool:
    """Whether two arrays hold the same object."""
    return x.rows == y.rows and _as_it_is(x.value) is _as_it_is(y.value)


def _as_it_is(x: Any) -> Any:
    return x.value() if type(x) is Pending and x.is_there else x


def _mask_of(elements: Source, mask: Source) -> Any:
    """Return a mask of elements in the same places; None for other shapes, or where it lacks their room."""
    if _are_alike(elements, mask):
        return mask.value
    if elements.rows is not None or mask.rows is None or mask.shape != elements.shape:
        return None
    every_row = Selection.of((slice(mask.rows), ...), mask.value.shape)
    return Part(mask.value, every_row)


def line_of_write_where(value: Any, rows: int | None, masked: Masked) -> Any:
    """Return a value after what is selected was written to where the mask is True, as a line of a batch.

    None is returned where it cannot be one.
    """
    elements, mask = masked
    new = elements.value
    if not _are_alike(elements, Source(value, rows)) or (new.dtype.kind == "c" and value.dtype.kind != "c"):
        return None
    flags = _mask_of(elements, mask)
    made = _written_where(WAITS, value, flags.taken() if type(flags) is Part else flags, new)
    return made if rows is None else of_rows(made)


def line_of_number_where(value: Any, rows: int | None, mask: Source, number: complex, is_wide: bool) -> Any:
    """Return a value after a number was written to where a mask is True, as a line of a batch.

    None is returned where it cannot be one. ``is_wide`` says whether the array's namespace computes in 64
    bits.
    """
    flags = mask.value
    if flags.dtype != bool or mask.rows != rows or flags.shape != value.shape or not flags.shape:
        return None
    is_x64 = is_wide or value.dtype in WIDE
    made = attempt_by_kinds(_line_program_of_number_where, (), (value, flags, number), is_x64)
    return made if rows is None else of_rows(made)


@functools.lru_cache(_LINES_KEPT)
def _line_program_of_number_where(key: tuple[Any, ...]) -> LineProgram | None:
    """Return the program of such a line; None where the number is none of the dtype."""
    (of_value, of_mask, of_number), is_x64 = key
    if of_number is complex:
        return None
    with x64_inside() if is_x64 else x64_as(False):
        kinds = (of_value, of_mask, kind_of((), of_value.dtype))
        return line_program_of(_written_where.in_new_memory, (), kinds)


@compiled_pair
def _written_where(value, mask, new):
    return jnp.where(mask, new.astype(value.dtype), value)
