"""Products, decompositions and other functions of several arrays, or of shapes, on buffers.

Where rows are summed, those that do not count are 0 in both operands. Elsewhere rows stay apart, and there is
nothing to do.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import jaxapi

from ..._core._dtypes import x64_for
from ..._core._lengths import has_own_length
from ..._core._programs import compiled
from ...linalg._results import QRResult, SVDResult
from .._array import NUMPY, Array, rows_of, rows_or_value, unwrap, wrap, wrap_rows
from .._promotion import together
from ._elementwise import computed
from ._fillers import filled
from ._rows import (
    OF_ARGUMENTS,
    Rows,
    compiled_in_width,
    dtype_may_have_room,
    is_exact,
    number_of,
    rows_in,
    takes_room,
    with_rows,
)

__all__ = ["DECOMPOSED", "PRODUCTS", "computed_of_transposes", "product_of", "rows_of_transpose", "tall_rows"]


class _Operand(NamedTuple):
    """An operand of a product: rows, or an exact value, and whether rows are its second axis."""

    content: Any
    is_transposed: bool = False

    @property
    def has_room(self) -> bool:
        return isinstance(self.content, Rows)

    @property
    def value(self) -> Any:
        return self.content.value if self.has_room else self.content


def _operand(x: Any) -> _Operand | None:
    """Return an operand; None for what products on buffers do not take."""
    if isinstance(x, Array):
        rows = x._rows_if_possible()
        if rows is not None:
            return _Operand(rows)
        rows = rows_of_transpose(x)
        if rows is not None:
            return _Operand(rows, is_transposed=True)
        x = x._value
    is_array = isinstance(x, (jax.Array, np.ndarray)) and x.ndim > 0 and dtype_may_have_room(x.dtype)
    return _Operand(x) if is_array else None


def rows_of_transpose(x: Array) -> Rows | None:
    """Return the rows of what a matrix is the transpose of; None if it is no such view."""
    view = x._view
    return view.owner._rows_if_possible() if view is not None and view.is_transpose else None


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


def _wrapped(made: Any, module: str) -> Any:
    if isinstance(made, Rows):
        return wrap_rows(made, module)
    return None if made is None else wrap(made, module, is_scalar=not made.ndim)


def product_of(function: Callable[..., Any], x1: Any, x2: Any, module: str) -> Any:
    """Return the product of matrices or vectors by ``function``; None where it needs the exact arrays."""
    left = _operand(x1)
    right = _operand(x2)
    if left is None or right is None or not (left.has_room or right.has_room):
        return None
    try:
        made = _product(function, left, right, x2)
    except OF_ARGUMENTS:
        return None  # as the exact arrays raise, too
    return _wrapped(made, module)


def _product(function: Callable[..., Any], left: _Operand, right: _Operand, x2: Any) -> Any:
    if right.value.ndim > 2 and not left.is_transposed:
        return computed(function, [left.content, right.content])  # matrix by matrix
    keeps_rows = left.has_room and not left.is_transposed and left.value.ndim > 1
    if keeps_rows:
        other = unwrap(x2)
        if other.ndim > 2 or not has_own_length(left.value, other):
            return None
        return Rows(function(left.value, other), left.content.count)
    sums_rows_of_left = left.is_transposed or left.value.ndim == 1
    sums_rows_of_right = not right.is_transposed and right.value.ndim <= 2
    if not (sums_rows_of_left and sums_rows_of_right):
        return None
    return _contracted(function, left, right, {})


def _contracted(function: Callable[..., Any], left: _Operand, right: _Operand, options: dict) -> Any:
    """Return a product in which the rows of both operands are summed."""
    count = len(left.content)
    if len(right.content) != count or not has_own_length(left.value, right.value):
        return None
    length = max(len(left.value), len(right.value))
    values = with_rows(left.value, length), with_rows(right.value, length)
    return _sum_of_rows(*values, number_of(count), function, left.is_transposed, tuple(options.items()))


@functools.partial(compiled_in_width, static_argnums=(3, 4, 5))
def _sum_of_rows(left, right, count, function, is_transposed, options):
    left = filled(left, count, "zero")
    right = filled(right, count, "zero")
    return function(left.mT if is_transposed else left, right, **dict(options))


# Functions of the namespaces: each returns None where the exact arrays are needed


def _numpys_matmul(x1, x2):
    return jaxapi.matmul(*together((x1, x2)))


def _matmul(x1: Any, x2: Any, *, module: str) -> Any:
    return product_of(_numpys_matmul if module == NUMPY else jaxapi.matmul, x1, x2, module)


def _dot(a: Any, b: Any, *, module: str) -> Any:
    is_of_matrices = np.ndim(a) <= 2 and np.ndim(b) <= 2  # of others dot is another product
    return product_of(_numpys_matmul, a, b, module) if is_of_matrices else None


def _numpys_vecdot(x1, x2, axis=-1):
    return jaxapi.vecdot(*together((x1, x2)), axis=axis)


def _vecdot(x1: Any, x2: Any, *, axis: Any = -1, module: str) -> Any:
    function = _numpys_vecdot if module == NUMPY else jaxapi.vecdot
    ndim = max(getattr(x1, "ndim", 0), getattr(x2, "ndim", 0))
    if type(axis) is not int or not -ndim <= axis < 0:
        return None
    if getattr(x1, "ndim", 0) == getattr(x2, "ndim", 0) == 1:
        return product_of(function, x1, x2, module)
    operands = [rows_or_value(x1), rows_or_value(x2)]
    sums_rows = axis == -ndim
    if sums_rows or not any(isinstance(x, Rows) and x.value.ndim == ndim for x in operands):
        return None
    return _wrapped(computed(functools.partial(function, axis=axis), operands), module)


def _numpys_tensordot(x1, x2, axes):
    return jaxapi.tensordot(*together((x1, x2)), axes=axes)


def _tensordot(x1: Any, x2: Any, axes: Any = 2, *, module: str) -> Any:
    left = _operand(x1)
    right = _operand(x2)
    if left is None or right is None or not left.has_room or left.is_transposed:
        return None
    pairs = _pairs_of_axes(axes, left.value.ndim, right.value.ndim)
    if pairs is None:
        return None
    function = _numpys_tensordot if module == NUMPY else jaxapi.tensordot
    partners = [j for i, j in pairs if i == 0]
    options = {"axes": (tuple([i for i, _ in pairs]), tuple([j for _, j in pairs]))}
    try:
        if not partners:
            made: Any = function(left.value, unwrap(x2), **options)
            return wrap_rows(Rows(made, left.content.count), module)
        if partners != [0] or right.is_transposed:
            return None
        return _wrapped(_contracted(function, left, right, options), module)
    except OF_ARGUMENTS:
        return None  # as the exact arrays raise, too


def _pairs_of_axes(axes: Any, ndim1: int, ndim2: int) -> list[tuple[int, int]] | None:
    """Return the pairs of axes that are summed; None for what is no such pairs."""
    if type(axes) is int:
        if not 0 <= axes <= min(ndim1, ndim2):
            return None
        return list(zip(range(ndim1 - axes, ndim1), range(axes), strict=True))
    if type(axes) not in (tuple, list) or len(axes) != 2:
        return None
    first, second = [[each] if type(each) is int else each for each in axes]
    are_axes = all(type(each) in (tuple, list) for each in (first, second)) and len(first) == len(second)
    if not are_axes or not all(type(i) is int for i in (*first, *second)):
        return None
    if not all(-ndim1 <= i < ndim1 for i in first) or not all(-ndim2 <= i < ndim2 for i in second):
        return None
    return [(i % ndim1, j % ndim2) for i, j in zip(first, second, strict=True)]


def tall_rows(x: Any) -> Rows | None:
    """Return the rows of a matrix that has as many as columns at least."""
    rows = rows_of(x)
    if rows is None or rows.value.ndim != 2 or rows.count < rows.value.shape[1]:
        return None
    return rows if rows.value.dtype in DECOMPOSED else None


DECOMPOSED = frozenset(map(np.dtype, ["float32", "float64", "complex64", "complex128"]))


def _qr(x: Any, mode: str = "reduced", *, module: str) -> Any:
    rows = tall_rows(x) if mode == "reduced" else None
    if rows is None:
        return None
    q, r = _qr_of_rows(rows.value, number_of(rows.count))
    return QRResult(wrap_rows(Rows(q, rows.count), module), wrap(r, module))


@compiled_in_width
def _qr_of_rows(value, count):
    return jaxapi.linalg.qr(filled(value, count, "zero"))


def _svd(x: Any, full_matrices: bool = True, *, module: str) -> Any:
    rows = None if full_matrices else tall_rows(x)
    if rows is None:
        return None
    u, s, vh = _svd_of_rows(rows.value, number_of(rows.count))
    return SVDResult(wrap_rows(Rows(u, rows.count), module), wrap(s, module), wrap(vh, module))


@compiled_in_width
def _svd_of_rows(value, count):
    """Decompose the small factor of a QR decomposition, whose other factor is 0 in the rows of 0.

    Of the matrix itself singular vectors to the singular value 0 might lie in rows that do not count.
    """
    q, r = jaxapi.linalg.qr(filled(value, count, "zero"))
    u, s, vh = jaxapi.linalg.svd(r, full_matrices=False)
    return jaxapi.matmul(q, u), s, vh


def _svdvals(x: Any, *, module: str) -> Any:
    rows = tall_rows(x)
    return None if rows is None else wrap(_svdvals_of_rows(rows.value, number_of(rows.count)), module)


@compiled_in_width
def _svdvals_of_rows(value, count):
    return jaxapi.linalg.svdvals(filled(value, count, "zero"))


def _contents_of(arrays: Any) -> list[Any] | None:
    """Return each array as rows or a value; None if none has rows, or dtypes or numbers of axes differ."""
    if type(arrays) not in (tuple, list):
        return None
    contents = [rows_or_value(x) for x in arrays]
    if not all(isinstance(x, Rows) or takes_room(x) for x in contents):
        return None
    values = [x.value if isinstance(x, Rows) else x for x in contents]
    if not any(isinstance(x, Rows) for x in contents) or not has_own_length(*values):
        return None
    kinds = {(x.dtype, x.ndim) for x in values}
    return contents if len(kinds) == 1 else None


def _concat(arrays: Any, axis: Any = 0, *, module: str) -> Any:
    contents = _contents_of(arrays)
    if contents is None or type(axis) is not int:
        return None
    ndim = len(contents[0].shape)
    if not -ndim <= axis < ndim:
        return None
    if axis % ndim:
        return _side_by_side(jaxapi.concat, contents, axis % ndim, module)
    made = _one_after_another(contents)
    return None if made is None else wrap_rows(made, module)


def _one_after_another(contents: list[Any]) -> Rows | None:
    values = [x.value if isinstance(x, Rows) else x for x in contents]
    first = values[0]
    counts = [len(x) for x in contents]
    total = sum(counts)
    if is_exact(total) or any(x.shape[1:] != first.shape[1:] for x in values):
        return None
    starts = [number_of(sum(counts[:i])) for i in range(len(counts))]
    with x64_for(first.dtype):
        return Rows(_joined(values, starts, rows_in(total)), total)


def _stack(arrays: Any, axis: Any = 0, *, module: str) -> Any:
    contents = _contents_of(arrays)
    if contents is None or type(axis) is not int:
        return None
    ndim = len(contents[0].shape) + 1
    if not -ndim <= axis < ndim or axis % ndim == 0 or len({x.shape for x in contents}) > 1:
        return None
    return _side_by_side(jaxapi.stack, contents, axis % ndim, module)


def _side_by_side(function: Callable[..., Any], contents: list[Any], axis: int, module: str) -> Any:
    """Return arrays of as many rows, put together along another axis by ``function``."""
    if len({len(x) for x in contents}) > 1:
        return None
    made = computed(lambda *values: function(values, axis=axis), contents)
    return None if made is None else wrap_rows(made, module)


def _diff(a: Any, n: Any = 1, axis: Any = -1, prepend: Any = None, append: Any = None, *, module: str) -> Any:
    if not isinstance(a, Array) or a.dtype.kind not in "iufc" or type(n) is not int or type(axis) is not int:
        return None
    if a.ndim > 1 and prepend is None and append is None:
        return _diff_of_matrix(a, n, axis, module)
    if a.ndim != 1 or axis not in (0, -1) or n < 1:
        return None
    contents = _contents_of([x for x in (prepend, a, append) if x is not None])
    if contents is None:
        return None
    rows = contents[0] if len(contents) == 1 else _one_after_another(contents)
    return None if rows is None else _differences_of_rows(rows, n, module)


def _diff_of_matrix(a: Array, n: int, axis: int, module: str) -> Any:
    rows = a._rows_if_possible()
    if rows is None or n < 1 or not -a.ndim <= axis < a.ndim:
        return None
    if axis % a.ndim == 0:
        return _differences_of_rows(rows, n, module)
    made = computed(lambda value: jaxapi.diff(value, axis=axis, n=n), [rows])
    return None if made is None else wrap_rows(made, module)


def _differences_of_rows(rows: Rows, n: int, module: str) -> Any:
    count = rows.count - n
    if is_exact(count):
        return None
    return wrap_rows(Rows(_differences(rows.value, n, rows_in(count)), count), module)


@functools.partial(compiled_in_width, static_argnums=(1, 2))
def _differences(value, n, length):
    """Return differences between neighboring rows, n times, in so many rows."""
    return with_rows(jaxapi.diff(value, axis=0, n=n)[:length], length)


@functools.partial(compiled, static_argnums=2)
def _joined(values, starts, length):
    """Write values one after another, each over the room of the one before it."""
    longest = max(x.shape[0] for x in values)
    buffer = jnp.zeros((length + longest, *values[0].shape[1:]), values[0].dtype)
    for value, start in zip(values, starts, strict=True):
        buffer = lax.dynamic_update_slice_in_dim(buffer, value, start, 0)
    return buffer[:length]


def _expand_dims(x: Any, axis: Any, *, module: str) -> Any:
    axes = _axes_of_result(axis, getattr(x, "ndim", 0))
    rows = rows_of(x)
    if rows is None or axes is None or 0 in axes:
        return None
    return wrap_rows(Rows(jaxapi.expand_dims(rows.value, axes), rows.count), module)


def _axes_of_result(axis: Any, ndim: int) -> tuple[int, ...] | None:
    """Return where new axes are; None for what is no such places."""
    axes: Sequence[Any] = axis if type(axis) is tuple else (axis,)
    ndim += len(axes)
    if not all(type(i) is int and -ndim <= i < ndim for i in axes):
        return None
    axes = tuple([i % ndim for i in axes])
    return axes if len(set(axes)) == len(axes) else None


PRODUCTS: dict[str, Callable[..., Any]] = {
    "concat": _concat,
    "concatenate": _concat,
    "diff": _diff,
    "dot": _dot,
    "expand_dims": _expand_dims,
    "matmul": _matmul,
    "qr": _qr,
    "stack": _stack,
    "svd": _svd,
    "svdvals": _svdvals,
    "tensordot": _tensordot,
    "vecdot": _vecdot,
}
