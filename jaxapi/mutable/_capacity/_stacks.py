"""Functions of matrices that run on buffers as they are, and are told nothing of rows.

In a stack of matrices each one is a row, and stays apart: where functions decompose them, or iterate, those
that do not count are the identity. In a matrix with room what does not count is 0 where rows are summed. What
is returned, and raised, is the function's own.
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
from ._elementwise import aligned, computed
from ._fillers import filled
from ._products import DECOMPOSED, rows_of_transpose, tall_rows
from ._rows import Rows, compiled_in_width, is_possible, number_of, with_rows

__all__ = ["way_of_matrices"]

_ERRORS = (IndexError, NotImplementedError, OverflowError, TypeError, ValueError)
_OPTIONS = (bool, float, int, str, type, np.dtype, type(None))  # what programs are kept by


def way_of_matrices(
    function: Callable[..., Any], name: str, module: str
) -> Callable[[tuple, dict[str, Any]], Any] | None:
    """Return what tries a function on buffers, and returns None for exact arrays; None if there is no way.

    `jaxapi.numpy` has functions of other axes by the names of some of `linalg`.
    """
    ways: list[Callable[..., Any]] = []
    is_of_linalg = function.__module__.endswith("linalg")
    if is_of_linalg and name in _OF_STACKS:
        ways.append(functools.partial(_of_stack, operand_count=_OF_STACKS[name]))
    if name in _OF_ROWS:
        ways.append(_OF_ROWS[name])
    if not ways:
        return None

    def way(args, kwargs):
        if not is_possible():
            return None
        for each in ways:
            made = each(function, args, kwargs, module)
            if made is not None:
                return made
        return None

    return way


def _are_plain(args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    return all(isinstance(x, _OPTIONS) for x in (*args, *kwargs.values()))


def _as_argument(value: Any, module: str) -> Any:
    return wrap(value, module) if isinstance(value, jax.Array) else value


def _called(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], module: str) -> Any:
    """Return what a function makes of values; None where it raises, as it does of the exact arrays."""
    try:
        return function(*[_as_argument(x, module) for x in args], **kwargs)
    except _ERRORS:
        return None


# Rows that stay apart


def _of_each_row(
    function: Callable[..., Any],
    contents: list[Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    module: str,
    prepared: Callable[..., Any] | None = None,
) -> Any:
    """Return the rows that a function makes of rows, or several of them, in a named tuple.

    ``prepared`` puts into the first operand what functions may do with what does not count.
    """
    results: list[Any] = []

    def run(*values):
        count = next(x.count for x in contents if isinstance(x, Rows))
        if prepared is not None and isinstance(contents[0], Rows):
            values = (prepared(values[0], number_of(count)), *values[1:])
        made = function(*[_as_argument(x, module) for x in values], *args, **kwargs)
        results.append(made)
        return tuple([part._value for part in made]) if isinstance(made, tuple) else made._value

    try:
        made = computed(run, contents)
    except _ERRORS:
        return None
    if made is None:
        return None
    if not isinstance(made, tuple):
        return wrap_rows(made, module)
    return type(results[0])(*[wrap_rows(part, module) for part in made])


# Functions of stacks of `linalg`, and how many stacks they take
_OF_STACKS = dict.fromkeys(["cholesky", "cond", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh"], 1)
_OF_STACKS |= dict.fromkeys(["inv", "matrix_norm", "matrix_power", "matrix_rank", "pinv", "qr"], 1)
_OF_STACKS |= dict.fromkeys(["slogdet", "svd", "svdvals", "trace"], 1)
_OF_STACKS["solve"] = 2


def _of_stack(
    function: Callable[..., Any], args: tuple, kwargs: dict[str, Any], module: str, operand_count: int
) -> Any:
    operands = args[:operand_count]
    options = args[operand_count:]
    ndim = max([getattr(x, "ndim", 0) for x in operands])
    if ndim < 3 or not _are_plain(options, kwargs):
        return None
    contents = [rows_or_value(x, ndim) for x in operands]
    if not any(isinstance(x, Rows) for x in contents):
        return None
    return _of_each_row(function, contents, options, kwargs, module, _with_identities)


@compiled_in_width
def _with_identities(value, count):
    """Put the identity where matrices do not count: none is singular then, and iterations end at once."""
    counts = lax.broadcasted_iota(np.int32, value.shape, 0) < count
    return jnp.where(counts, value, jnp.eye(*value.shape[-2:], dtype=value.dtype))


def _cross(function: Callable[..., Any], args: tuple, kwargs: dict[str, Any], module: str) -> Any:
    if len(args) != 2 or not kwargs.keys() <= {"axis"}:
        return None
    ndim = max([getattr(x, "ndim", 0) for x in args])
    axis = kwargs.get("axis", -1)
    if ndim < 2 or type(axis) is not int or axis in (0, -ndim):
        return None
    contents = [rows_or_value(x, ndim) for x in args]
    if not any(isinstance(x, Rows) for x in contents):
        return None
    return _of_each_row(function, contents, (), kwargs, module)


def _outer(function: Callable[..., Any], args: tuple, kwargs: dict[str, Any], module: str) -> Any:
    """Multiply the elements of a vector with room by a short one: as many columns as that has."""
    rows = rows_of(args[0])
    if rows is None or len(args) != 2 or kwargs or rows.value.ndim != 1 or rows_of(args[1]) is not None:
        return None
    return _of_each_row(function, [rows], args[1:], {}, module)


# Rows that are summed, or are those of one matrix


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


def _matrix_norm(function: Callable[..., Any], args: tuple, kwargs: dict[str, Any], module: str) -> Any:
    rows = rows_of(args[0])
    if rows is None or rows.value.ndim != 2 or len(args) > 1 or not kwargs.keys() <= {"keepdims", "ord"}:
        return None
    order = kwargs.get("ord", "fro")
    is_of_zeros_as_well = order in (None, "fro", "nuc", 1, 2, np.inf)
    return _called(function, [_zero_filled(rows)], kwargs, module) if is_of_zeros_as_well else None


def _cond(function: Callable[..., Any], args: tuple, kwargs: dict[str, Any], module: str) -> Any:
    rows = tall_rows(args[0])
    orders = [*args[1:], *kwargs.values()]
    is_of_singular_values = len(orders) < 2 and all(p is None or p in (2, -2) for p in orders)
    if rows is None or not is_of_singular_values:
        return None
    return _called(function, [_zero_filled(rows), *args[1:]], kwargs, module)


def _matrix_rank(function: Callable[..., Any], args: tuple, kwargs: dict[str, Any], module: str) -> Any:
    rows = tall_rows(args[0])
    if rows is None or len(args) > 1 or kwargs:
        return None
    rtol = _least_rtol(rows)
    return _called(function, [_zero_filled(rows)], {"rtol": rtol}, module)


# The rtol of `pinv` in `max(m, n) * eps`, the standard's: NumPy's is ten times that.
_TIMES_OF_PINV = {MUTABLE: 1, NUMPY: 10}


def _pinv(function: Callable[..., Any], args: tuple, kwargs: dict[str, Any], module: str) -> Any:
    """Return the pseudo-inverse of a tall matrix as the transpose of rows."""
    rows = tall_rows(args[0])
    if rows is None or len(args) > 1 or kwargs:
        return None
    rtol = _least_rtol(rows, _TIMES_OF_PINV[module])
    made = _called(function, [_zero_filled(rows)], {"rtol": rtol}, module)
    return None if made is None else wrap_rows(Rows(made._value.mT, rows.count), module).T


def _lstsq(function: Callable[..., Any], args: tuple, kwargs: dict[str, Any], module: str) -> Any:
    rows = tall_rows(args[0])
    if rows is None or len(args) < 2 or len(args) + len(kwargs) > 3 or not kwargs.keys() <= {"rcond"}:
        return None
    rcond = kwargs.get("rcond", args[2] if len(args) == 3 else None)
    right_rows = rows_of(args[1])
    has_residuals = rows.count > rows.value.shape[1]  # more equations than unknowns
    if right_rows is None or right_rows.count != rows.count or not has_residuals:
        return None
    if right_rows.value.dtype != rows.value.dtype or not isinstance(rcond, (int, float, type(None))):
        return None
    if rcond is None:
        rcond = float(_least_rtol(rows))
    values = _of_one_length([rows, right_rows], fills=True)
    return None if values is None else _called(function, values, {"rcond": rcond}, module)


def _inner(function: Callable[..., Any], args: tuple, kwargs: dict[str, Any], module: str) -> Any:
    """Sum the products of two vectors, or keep the rows of a matrix that is multiplied by a small one."""
    rows = rows_of(args[0])
    if rows is None or len(args) != 2 or kwargs:
        return None
    if rows.value.ndim == 1:
        return _sum_of_products(function, args, module)
    other = args[1]
    if rows.value.ndim != 2 or getattr(other, "ndim", 0) not in (1, 2):
        return None
    return _of_each_row(function, [rows], args[1:], {}, module)


def _sum_of_products(function: Callable[..., Any], vectors: Sequence[Any], module: str) -> Any:
    contents = [rows_or_value(x, 1) for x in vectors]
    if any(np.ndim(x) != 1 for x in vectors):
        return None
    values = _of_one_length(contents, fills=True)
    return None if values is None else _called(function, values, {}, module)


def _einsum(function: Callable[..., Any], args: tuple, kwargs: dict[str, Any], module: str) -> Any:
    """Compute sums where the rows of operands have one label: the result's first one, or one that is summed.

    Where it is summed, all operands have rows: 0 times what another one holds might be NaN.
    """
    if type(args[0]) is not str or "." in args[0] or not _are_plain((), kwargs):
        return None
    subscripts = args[0].replace(" ", "")
    labels, arrow, labels_of_result = subscripts.partition("->")
    terms = labels.split(",")
    operands = args[1:]
    is_view = sorted(labels) == sorted(labels_of_result)
    if not arrow or is_view or len(terms) != len(operands):
        return None
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
    made = _called(function, [subscripts, *in_order], kwargs, module)
    if made is None or not keeps_rows:
        return made
    return wrap_rows(Rows(made._value, len(with_label[0])), module)


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


def _cov(function: Callable[..., Any], args: tuple, kwargs: dict[str, Any], module: str) -> Any:
    """Weigh what counts by 1, and the rest by 0; variables are columns of rows, or one or two vectors."""
    if len(args) > 2 or not kwargs.keys() <= {"bias", "ddof", "rowvar"} or not _are_plain((), kwargs):
        return None
    options = dict(kwargs)
    transposed = rows_of_transpose(args[0]) if isinstance(args[0], Array) else None
    rows = rows_of(args[0]) if transposed is None else transposed
    if rows is None:
        return None
    is_matrix = rows.value.ndim > 1
    rows_are_observations = transposed is not None
    if is_matrix and bool(options.pop("rowvar", True)) != rows_are_observations:
        return None
    contents = [rows, *[rows_or_value(x, 1) for x in args[1:]]]
    are_vectors = all(isinstance(x, Rows) and x.value.ndim == 1 for x in contents)
    if rows.value.ndim > 2 or (len(args) == 2 and not are_vectors):
        return None
    values = aligned(contents)
    if values is None or not all(x.dtype in DECOMPOSED for x in values):
        return None
    if is_matrix:
        options["rowvar"] = False
    program = _covariances(function, module, tuple(options.items()))
    try:
        with x64_for(*[x.dtype for x in values]):
            made = program(values, number_of(rows.count))
    except _ERRORS:
        return None
    return wrap(made, module, is_scalar=not made.ndim)


@functools.cache
def _covariances(function, module: str, options: tuple) -> Any:
    def run(values, count):
        counts = lax.iota(np.int32, len(values[0])) < count
        arrays = [wrap(filled(x, count, "zero"), module) for x in values]
        return function(*arrays, fweights=wrap(counts.astype(np.int32), module), **dict(options))._value

    return compiled(run)


_OF_ROWS: dict[str, Callable[..., Any]] = {
    "cond": _cond,
    "cov": _cov,
    "cross": _cross,
    "einsum": _einsum,
    "inner": _inner,
    "lstsq": _lstsq,
    "matrix_norm": _matrix_norm,
    "matrix_rank": _matrix_rank,
    "outer": _outer,
    "pinv": _pinv,
}
