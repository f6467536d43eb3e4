"""Functions of each element run on buffers as they are: what lies behind the rows that count stays there."""

from collections.abc import Callable, Iterable
from typing import Any

import jax
import numpy as np

from .._storage import duplicate
from ._rows import Rows, most_rows, with_rows

__all__ = ["aligned", "computed"]

_NUMBERS = frozenset([bool, int, float, complex])


def aligned(operands: Iterable[Any], length: int | None = None) -> list[Any] | None:
    """Return the values of operands, with buffers of one number of rows, or of so many.

    None is returned for operands that do not fit row by row: exact arrays are computed with, or refused.
    """
    operands = list(operands)
    rows = [x for x in operands if isinstance(x, Rows)]
    if len(rows) == len(operands) == 2 and _are_alike(*rows) and length is None:
        return [x.value for x in rows]
    count = rows[0].count
    ndim = rows[0].value.ndim
    length = length or most_rows(rows)
    values = []
    for x in operands:
        is_buffer = isinstance(x, Rows)
        value = x.value if is_buffer else x
        if is_buffer and (x.count != count or value.ndim != ndim or len(value) > length):
            return None
        if not is_buffer and not _fits(x, count, ndim):
            return None
        has_rows = is_buffer or (np.ndim(value) == ndim and len(value) == count)
        values.append(with_rows(value, length) if has_rows else value)
    return values


def _are_alike(x: Rows, y: Rows) -> bool:
    return x.count == y.count and len(x.value) == len(y.value) and x.value.ndim == y.value.ndim


def _fits(x: Any, count: int, ndim: int) -> bool:
    """Whether an operand is a number, or an array with a row for each row that counts, or one for all."""
    if type(x) in _NUMBERS or isinstance(x, np.generic):
        return True
    if isinstance(x, jax.Array):
        if not isinstance(x.sharding, jax.sharding.SingleDeviceSharding):
            return False
    elif not isinstance(x, np.ndarray) or x.dtype.kind not in "biufc":
        return False
    return x.ndim < ndim or (x.ndim == ndim and len(x) in (1, count))


def computed(function: Callable[..., Any], operands: Iterable[Any]) -> Any:
    """Return rows that a function of each element makes, or a tuple of them; None where it needs exact ones.

    ``function`` takes values. What it raises, exact arrays raise, too, with their shapes in the message.
    """
    operands = list(operands)
    values = aligned(operands)
    if values is None:
        return None
    try:
        made = function(*values)
    except (TypeError, ValueError, OverflowError):
        return None
    count = next(x.count for x in operands if isinstance(x, Rows))
    if isinstance(made, tuple):
        return tuple([Rows(_apart(part, values), count) for part in made])
    return Rows(_apart(made, values), count)


def _apart(made: jax.Array, values: list[Any]) -> jax.Array:
    """Return a result that is none of the operands, whose buffers are written to."""
    return duplicate(made) if any(made is value for value in values) else made
