"""Functions of matrices with room: where rows are summed, those that do not count are 0, or weigh nothing.

What is returned, and raised, is the function's own.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core._dtypes import x64_for
from ..._core._programs import compiled
from .._array import MUTABLE, NUMPY, Array, rows_of, rows_or_value, unwrap, wrap, wrap_rows
from ._elementwise import aligned
from ._fillers import filled
from ._products import DECOMPOSED, rows_of_transpose, tall_rows
from ._rows import OF_ARGUMENTS, Rows, compiled_in_width, number_of, with_rows
from ._stacks import apart, called

__all__ = ["MATRICES"]


@compiled_in_width
def _with_zeros(value, count):
    return filled(value, count, "zero")


def _zero_filled(rows: Rows) -> jax.Array:
    """Return a buffer with 0 in the rows that do not count."""
    return _with_zeros(rows.value, number_of(rows.count))


def _least_rtol(rows: Rows, times: int = 1) -> Any:
    """Return the part of the largest singular value up to which others are 0, of the rows that count.

    It is an array of NumPy's: for each number a program would be compiled.
    """
    finfo = jnp.finfo(rows.value.dtype)
    return np.asarray(times * max(rows.shape) * float(finfo.eps), finfo.dtype)


def _matrix_norm(
    x: Any, *, keepdims: Any = False, ord: Any = "fro", function: Callable[..., Any], module: str
) -> Any:
    rows = rows_of(x)
    if rows is None or rows.value.ndim != 2:
        return None
    is_of_zeros_as_well = ord in (None, "fro", "nuc", 1, 2, np.inf)
    if not is_of_zeros_as_well:
        return None
    return called(function, [_zero_filled(rows)], {"keepdims": keepdims, "ord": ord}, module)


def _cond(x: Any, p: Any = None, *, function: Callable[..., Any], module: str) -> Any:
    rows = tall_rows(x)
    is_of_singular_values = p is None or p in (2, -2)
    if rows is None or not is_of_singular_values:
        return None
    return called(function, [_zero_filled(rows), p], {}, module)


def _matrix_rank(x: Any, *, function: Callable[..., Any], module: str) -> Any:
    rows = tall_rows(x)
    if rows is None:
        return None
    return called(function, [_zero_filled(rows)], {"rtol": _least_rtol(rows)}, module)


# The rtol of `pinv` in `max(m, n) * eps`, the standard's: NumPy's is ten times that.
_TIMES_OF_PINV = {MUTABLE: 1, NUMPY: 10}


def _pinv(x: Any, *, function: Callable[..., Any], module: str) -> Any:
    """Return the pseudo-inverse of a tall matrix as the transpose of rows."""
    rows = tall_rows(x)
    if rows is None:
        return None
    rtol = _least_rtol(rows, _TIMES_OF_PINV[module])
    made = called(function, [_zero_filled(rows)], {"rtol": rtol}, module)
    return None if made is None else wrap_rows(Rows(made._value.mT, rows.count), module).T


def _lstsq(a: Any, b: Any, rcond: Any = None, *, function: Callable[..., Any], module: str) -> Any:
    rows = tall_rows(a)
    right_rows = rows_of(b)
    if rows is None or right_rows is None or right_rows.count != rows.count:
        return None
    has_residuals = rows.count > rows.value.shape[1]  # more equations than unknowns
    if not has_residuals or right_rows.value.dtype != rows.value.dtype:
        return None
    if rcond is None:
        rcond = float(_least_rtol(rows))
    values = _of_one_length([rows, right_rows], fills=True)
    if values is None or not isinstance(rcond, (int, float)):
        return None
    return called(function, values, {"rcond": rcond}, module)


def _inner(a: Any, b: Any, *, function: Callable[..., Any], module: str) -> Any:
    """Sum the products of two vectors, or keep the rows of a matrix that is multiplied by a small one."""
    rows = rows_of(a)
    if rows is None:
        return None
    if rows.value.ndim == 1:
        return _sum_of_products(function, (a, b), module)
    if rows.value.ndim != 2 or getattr(b, "ndim", 0) not in (1, 2):
        return None
    return apart(function, [rows], (b,), {}, module)


def _sum_of_products(function: Callable[..., Any], vectors: Sequence[Any], module: str) -> Any:
    contents = [rows_or_value(x, 1) for x in vectors]
    if any(np.ndim(x) != 1 for x in vectors):
        return None
    values = _of_one_length(contents, fills=True)
    return None if values is None else called(function, values, {}, module)


def _einsum(
    subscripts: Any, *operands: Any, optimize: Any = None, function: Callable[..., Any], module: str
) -> Any:
    """Compute sums where the rows of operands have one label: the result's first one, or one that is summed.

    Where it is summed, all operands have rows: 0 times what another one holds might be NaN.
    """
    parts = _parts_of(subscripts)
    if parts is None or len(parts[0]) != len(operands) or not isinstance(optimize, (bool, str, type(None))):
        return None
    terms, labels_of_result = parts
    label = _label_of_rows(terms, labels_of_result, operands)
    if label is None or any(label in term[1:] for term in (*terms, labels_of_result)):
        return None
    keeps_rows = labels_of_result.startswith(label)
    have_rows = [term.startswith(label) for term in terms]
    if not keeps_rows and not all(have_rows):
        return None
    contents = [rows_or_value(x, len(term)) for term, x in zip(terms, operands, strict=True)]
    with_label = [x for x, has_rows in zip(contents, have_rows, strict=True) if has_rows]
    values = _of_one_length(with_label, fills=not keeps_rows)
    if values is None:
        return None
    remaining = iter(values)
    in_order = [
        next(remaining) if has_rows else unwrap(x) for x, has_rows in zip(operands, have_rows, strict=True)
    ]
    options = {} if optimize is None else {"optimize": optimize}
    made = called(function, [subscripts, *in_order], options, module)
    if made is None or not keeps_rows:
        return made
    return wrap_rows(Rows(made._value, len(with_label[0])), module)


def _parts_of(subscripts: Any) -> tuple[list[str], str] | None:
    """Return the labels of the operands, and those of the result; None for views and other forms."""
    if type(subscripts) is not str or "." in subscripts:
        return None
    labels, arrow, labels_of_result = subscripts.replace(" ", "").partition("->")
    is_view = sorted(labels) == sorted(labels_of_result)
    return (labels.split(","), labels_of_result) if arrow and not is_view else None


def _of_one_length(contents: list[Any], fills: bool) -> list[Any] | None:
    """Return values of rows and arrays of as many, with 0 behind those that count if that is asked for."""
    rows = [x for x in contents if isinstance(x, Rows)]
    if not rows:
        return None
    count = rows[0].count
    length = max([len(x.value) for x in rows])
    values = []
    for x in contents:
        if not isinstance(x, (Rows, np.ndarray, jax.Array)) or not x.shape or len(x) != count:
            return None
        value = x
        if isinstance(x, Rows):
            value = _zero_filled(x) if fills else x.value
        values.append(with_rows(value, length))
    return values


def _label_of_rows(terms: list[str], labels_of_result: str, operands: Sequence[Any]) -> str | None:
    """Return the label of the axis that has room: the result's first one if it is such, else an operand's."""
    firsts = [term[:1] for term, x in zip(terms, operands, strict=True) if rows_of(x) is not None]
    if not firsts or not all(firsts):
        return None
    return labels_of_result[0] if labels_of_result[:1] in firsts else firsts[0]


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
    values = aligned([rows] if y is None else [rows, rows_of(y)])
    if values is None or not all(x.dtype in DECOMPOSED for x in values):
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


MATRICES: dict[str, Callable[..., Any]] = {
    "cond": _cond,
    "cov": _cov,
    "einsum": _einsum,
    "inner": _inner,
    "lstsq": _lstsq,
    "matrix_norm": _matrix_norm,
    "matrix_rank": _matrix_rank,
    "pinv": _pinv,
}
