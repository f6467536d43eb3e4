"""Functions of each element run on buffers as they are: what lies behind the rows that count stays there."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from .._batches import Pending, concrete
from .._elementwise import statement
from .._storage import duplicate
from ._rows import Rows, with_rows

__all__ = ["aligned", "computed"]

_NUMBERS = frozenset([bool, int, float, complex])


def aligned(
    operands: Sequence[Any], capacity: int | None = None, is_concrete: bool = False
) -> list[Any] | None:
    """Return the values of operands, with buffers of one number of rows, or of so many.

    None is returned for operands that do not fit row by row: exact arrays are computed with, or refused.
    Values may be pending unless ``is_concrete`` is true.
    """
    rows = [x for x in operands if type(x) is Rows]
    count = rows[0].count
    ndim = rows[0].memory.ndim
    if capacity is None:
        capacity = max([len(x.memory) for x in rows])
    for x in rows:
        if x.count != count or x.memory.ndim != ndim or len(x.memory) > capacity:
            return None
    values = []
    for x in operands:
        if type(x) is Rows:
            values.append(with_rows(x.memory, capacity))
        elif type(x) in _NUMBERS:
            values.append(x)
        elif not _fits(x, count, ndim):
            return None
        else:
            has_rows = x.ndim == ndim and len(x) == count
            values.append(with_rows(x, capacity) if has_rows else x)
    return [concrete(x) for x in values] if is_concrete else values


def _fits(x: Any, count: int, ndim: int) -> bool:
    """Whether an operand has no axes, or a row for each row that counts, or one for all."""
    if isinstance(x, np.generic):
        return True
    if type(x) is Pending:
        return x.ndim < ndim or (x.ndim == ndim and len(x) in (1, count))
    if isinstance(x, jax.Array):
        if not isinstance(x.sharding, jax.sharding.SingleDeviceSharding):
            return False
    elif not isinstance(x, np.ndarray) or x.dtype.kind not in "biufc":
        return False
    return x.ndim < ndim or (x.ndim == ndim and len(x) in (1, count))


def computed(function: Callable[..., Any], operands: Sequence[Any]) -> Any:
    """Return rows that a function of each element makes, or a tuple of them; None where it needs exact ones.

    ``function`` takes values. What it raises, exact arrays raise, too, with their shapes in the message.
    """
    values = aligned(operands)
    if values is None:
        return None
    try:
        made = statement(function, values)
    except (TypeError, ValueError, OverflowError):
        return None
    rows = [x for x in operands if type(x) is Rows]
    count = rows[0].count
    if isinstance(made, tuple):
        return tuple([Rows(_apart(part, values), count) for part in made])
    return Rows(_apart(made, values), count)


def _apart(made: jax.Array, values: list[Any]) -> jax.Array:
    """Return a result that is none of the operands, whose buffers are written to."""
    for value in values:
        if made is value and type(made) is not Pending:
            return duplicate(made)
    return made
