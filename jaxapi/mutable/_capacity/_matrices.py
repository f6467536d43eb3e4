"""Least squares of arrays with room, by a function that looks at values.

Rows that do not count are 0. What is returned, and raised, is the function's own.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .._array import rows_of, wrap
from ._fillers import filled
from ._rows import OF_ARGUMENTS, Rows, compiled_in_width, number_of, with_rows

__all__ = ["MATRICES"]

_DECOMPOSED = frozenset(map(np.dtype, ["float32", "float64", "complex64", "complex128"]))


@compiled_in_width
def _with_zeros(value, count):
    return filled(value, count, "zero")


def _zero_filled(rows: Rows) -> jax.Array:
    """Return a buffer with 0 in the rows that do not count."""
    return _with_zeros(rows.value, number_of(rows.count))


def _lstsq(a: Any, b: Any, rcond: Any = None, *, function: Callable[..., Any], module: str) -> Any:
    """Solve with rows of 0 in both arrays; how many residuals there are depends on the rank."""
    rows = rows_of(a)
    right_rows = rows_of(b)
    if rows is None or right_rows is None or right_rows.count != rows.count:
        return None
    columns = rows.value.shape[-1]
    has_residuals = rows.value.ndim == 2 and rows.count > columns  # more equations than unknowns
    dtype = rows.value.dtype
    if not has_residuals or dtype not in _DECOMPOSED or right_rows.value.dtype != dtype:
        return None
    if rcond is None:
        rcond = rows.count * float(jnp.finfo(dtype).eps)
    if not isinstance(rcond, (int, float)):
        return None
    capacity = max(len(rows.value), len(right_rows.value))
    values = [wrap(with_rows(_zero_filled(x), capacity), module) for x in (rows, right_rows)]
    try:
        return function(*values, rcond=rcond)
    except OF_ARGUMENTS:
        return None  # as the exact arrays raise, too


MATRICES: dict[str, Callable[..., Any]] = {"lstsq": _lstsq}
