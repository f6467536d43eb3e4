"""Least squares and covariances of arrays with room, by functions that look at values, or count themselves.

Rows that do not count are 0, or weigh nothing. What is returned, and raised, is the function's own.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core._dtypes import x64_for
from ..._core._programs import compiled
from .._array import Array, rows_of, wrap
from ._elementwise import aligned
from ._fillers import filled
from ._rows import OF_ARGUMENTS, Rows, compiled_in_width, number_of, with_rows
from ._transposes import rows_of_transpose

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
    length = max(len(rows.value), len(right_rows.value))
    values = [wrap(with_rows(_zero_filled(x), length), module) for x in (rows, right_rows)]
    try:
        return function(*values, rcond=rcond)
    except OF_ARGUMENTS:
        return None  # as the exact arrays raise, too


def _cov(
    m: Any,
    y: Any = None,
    rowvar: Any = True,
    bias: Any = False,
    ddof: Any = None,
    *,
    function: Callable[..., Any],
    module: str,
) -> Any:
    """Weigh what counts by 1, and the rest by 0; variables are columns of rows, or one or two vectors."""
    transposed = rows_of_transpose(m) if isinstance(m, Array) else None
    rows = rows_of(m) if transposed is None else transposed
    if (
        rows is None
        or rows.value.ndim > 2
        or not all(type(x) in (bool, int) for x in (rowvar, bias, ddof or 0))
    ):
        return None
    is_matrix = rows.value.ndim == 2
    rows_are_observations = transposed is not None
    if is_matrix and bool(rowvar) != rows_are_observations:
        return None
    if y is not None and (is_matrix or getattr(y, "ndim", 0) != 1 or rows_of(y) is None):
        return None
    values = aligned([rows] if y is None else [rows, rows_of(y)], is_concrete=True)
    if values is None or not all(x.dtype in _DECOMPOSED for x in values):
        return None
    options = (("rowvar", not is_matrix), ("bias", bias), ("ddof", ddof))
    program = _covariances(function, module, options)
    try:
        with x64_for(*[x.dtype for x in values]):
            made = program(values, number_of(rows.count))
    except OF_ARGUMENTS:
        return None
    return wrap(made, module, is_scalar=not made.ndim)


@functools.cache
def _covariances(function, module: str, options: tuple) -> Any:
    def run(values, count):
        counts = lax.iota(np.int32, len(values[0])) < count
        arrays = [wrap(filled(x, count, "zero"), module) for x in values]
        return function(*arrays, fweights=wrap(counts.astype(np.int32), module), **dict(options))._value

    return compiled(run)


MATRICES: dict[str, Callable[..., Any]] = {"cov": _cov, "lstsq": _lstsq}
