"""Transposes of rows: what functions of each element make of them is the transpose of rows again."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import jaxapi

from .._array import Array, wrap_rows
from ._elementwise import computed
from ._rows import Rows

__all__ = ["computed_of_transposes", "rows_of_transpose"]


def rows_of_transpose(x: Array) -> Rows | None:
    """Return the rows of what a matrix is the transpose of; None if it is no such view."""
    return None if x._view is None else x._view.rows_that_are_columns()


def computed_of_transposes(function: Callable[..., Any], operands: Sequence[Any], module: str) -> Any:
    """Return what a function of each element makes of operands of which one at least is a transpose.

    ``x.T + y`` is ``(x + y[:, None]).T`` for a vector y, and ``(x + y.T).T`` for a transpose. None is
    returned where the exact arrays are needed.
    """
    transposed = []
    has_rows = False
    for x in operands:
        content = x
        if isinstance(x, Array):
            rows = rows_of_transpose(x)
            has_rows = has_rows or rows is not None
            content = _as_column(x) if rows is None else rows
        if np.ndim(content) and not isinstance(content, Rows):
            return None
        transposed.append(content)
    made = computed(function, transposed) if has_rows else None
    return wrap_rows(made, module).T if isinstance(made, Rows) else None


def _as_column(x: Array) -> Any:
    """Return the rows of a vector as a matrix of one column; of another array its value."""
    rows = x._rows_if_possible() if x.ndim == 1 else None
    return x._value if rows is None else Rows(jaxapi.expand_dims(rows.value, 1), rows.count)
