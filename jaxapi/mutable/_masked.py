"""What a mask selects of an array, where statements wait: all of its elements, and the mask.

How many a mask selects is known when all has run that it depends on. `z[near] = z[near] ** 2 + c[near]` does
not need to know: functions of each element are computed for all of them, and those are written where the mask
is True. Whatever else is asked of such an array reads what is selected first.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp

from ._batches import LARGE, WAITS, Pending, is_lent, of_rows
from ._selection import Part, Selection, Source, compiled_pair

__all__ = ["Masked", "is_same", "line_of_write_where", "masked_of"]


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
        return is_same(self.mask, other.mask) and self.elements.is_like(other.elements)


def masked_of(elements: Source, mask: Source) -> Masked | None:
    """Return what a mask selects as it waits; None where it is better read at once."""
    flags = mask.value
    if type(flags) is not Pending or flags.dtype != bool or not flags.ndim or mask.shape != elements.shape:
        return None
    if is_lent(elements.value) or elements.value.nbytes > LARGE or _mask_of(elements, mask) is None:
        return None
    return Masked(elements, mask)


def is_same(x: Source, y: Source) -> bool:
    """Whether two arrays hold the same object."""
    return x.rows == y.rows and _as_it_is(x.value) is _as_it_is(y.value)


def _as_it_is(x: Any) -> Any:
    return x.value() if type(x) is Pending and x.is_there else x


def _mask_of(elements: Source, mask: Source) -> Any:
    """Return a mask of elements in the same places; None where it has no room for all of them."""
    if elements.is_like(mask):
        return mask.value
    if elements.rows is not None:
        return None
    every_row = Selection.of((slice(mask.rows), ...), mask.value.shape)
    return Part(mask.value, every_row)


def line_of_write_where(value: Any, rows: int | None, masked: Masked) -> Any:
    """Return a value after what is selected was written to where the mask is True, as a line of a batch.

    None is returned where it cannot be one.
    """
    elements, mask = masked
    new = elements.value
    if not elements.is_like(Source(value, rows)) or (new.dtype.kind == "c" and value.dtype.kind != "c"):
        return None
    flags = _mask_of(elements, mask)
    made = _written_where(WAITS, value, flags.taken() if type(flags) is Part else flags, new)
    return made if rows is None else of_rows(made)


@compiled_pair
def _written_where(value, mask, new):
    return jnp.where(mask, new.astype(value.dtype), value)
