"""Searching functions (chapter "Searching functions" of the standard)."""

import functools

import jax.numpy as jnp
import numpy as np
from jax import lax
from numpy.lib.array_utils import normalize_axis_index

from ._core._docs import Completion, of_standard, sharing
from ._core._dtypes import promoted, x64_for
from ._core._errors import raises_as_numpy
from ._core._programs import compiled
from ._core._typing import Array, ArrayLike
from ._interop import as_array, as_operand, as_operands
from ._interop._arguments import static_axis, takes_array

__all__ = ["argmax", "argmin", "count_nonzero", "nonzero", "searchsorted", "where"]

count_nonzero = takes_array(jnp.count_nonzero)
nonzero = takes_array(jnp.nonzero, compiled=False)


def _of_extreme(extreme: str) -> Completion:
    """Complete a docstring by which extreme it is."""
    return sharing(
        """
        Unlike `jax.numpy.{name}`, the first of several NaN is found on a GPU too, and arrays of 64-bit dtypes
        work with x64 mode off ([1]_).

        Parameters
        ----------
        x : array_like, real
        axis : int, optional
            The axis searched; all of ``x``, flattened, if omitted.
        keepdims : bool
            Keep the searched axes with size 1.

        Returns
        -------
        Array
            Indices of JAX's default integer dtype. The first NaN counts as the {extreme}.

        Raises
        ------
        ValueError
            If the searched axis is empty.
        numpy.exceptions.AxisError
            If ``axis`` is out of range (both a ``ValueError`` and an ``IndexError``).
        TypeError
            If ``axis`` is not an integer (one axis is searched, or all of them), or ``x`` is complex.
        """,
        extreme=extreme,
    )


@of_standard("searching functions", "")
@_of_extreme("maximum")
def argmax(x: ArrayLike, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """Index of the first maximum.

    Examples
    --------
    >>> print(argmax(jnp.asarray([3.0, 7.0, 7.0])))
    1
    """
    return _index_of_extreme(as_array(x), static_axis(axis), keepdims, True)


@of_standard("searching functions", "")
@_of_extreme("minimum")
def argmin(x: ArrayLike, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """Index of the first minimum.

    Examples
    --------
    >>> print(argmin(jnp.asarray([3.0, 1.0, 1.0])))
    1
    """
    return _index_of_extreme(as_array(x), static_axis(axis), keepdims, False)


@functools.partial(compiled, static_argnums=(1, 2, 3), inline=True)
def _index_of_extreme(x, axis, keepdims, largest):
    """Reduce pairs of element and index by an order without ties, since XLA reduces in any order."""
    if jnp.iscomplexobj(x):
        raise TypeError("complex numbers have no order: pass real(x), imag(x) or abs(x)")
    axes = tuple(range(x.ndim)) if axis is None else (normalize_axis_index(axis, x.ndim),)
    if 0 in [x.shape[each] for each in axes]:
        raise ValueError(f"an array of shape {x.shape} is empty along axes {axes}: it has no extreme element")
    x = x.astype(np.int8) if x.dtype == np.bool else x
    x, axis = (x.reshape(-1), 0) if axis is None else (x, axes[0])
    index = jnp.result_type(int)
    with x64_for(x.dtype):
        indices = lax.full_like(x, 0, index) + lax.broadcasted_iota(index, x.shape, axis)
        beyond = _last(x.dtype, largest), np.asarray(np.iinfo(index).max, index)
        order = functools.partial(_earlier, lax.gt if largest else lax.lt)
        _, found = lax.reduce((lax.stop_gradient(x), indices), beyond, order, (axis,))
    return lax.expand_dims(found, axes) if keepdims else found


def _earlier(is_ahead, one, other):
    """Return the pair that comes first: NaN before numbers, the lower index of equals."""
    (x, i), (y, j) = one, other
    x_is_nan, y_is_nan = lax.ne(x, x), lax.ne(y, y)
    equal = lax.eq(x, y) | (x_is_nan & y_is_nan)
    first = is_ahead(x, y) | (x_is_nan & ~y_is_nan) | (equal & lax.lt(i, j))
    return lax.select(first, x, y), lax.select(first, i, j)


def _last(dtype: np.dtype, largest: bool) -> np.ndarray:
    """Return a value of the dtype that none comes after."""
    if jnp.issubdtype(dtype, jnp.integer):
        return np.asarray(jnp.iinfo(dtype).min if largest else jnp.iinfo(dtype).max, dtype)
    infinite = np.asarray(-np.inf if largest else np.inf, dtype)
    finite = np.asarray(jnp.finfo(dtype).min if largest else jnp.finfo(dtype).max, dtype)
    return infinite if infinite == infinite else finite  # some of 8 bits have no infinity


@of_standard("searching functions", "")
def searchsorted(
    x1: ArrayLike, x2: ArrayLike, /, *, side: str = "left", sorter: ArrayLike | None = None
) -> Array:
    """Where the elements of ``x2`` go into the sorted ``x1``.

    Unlike `jax.numpy.searchsorted`, the indices have the default integer dtype (JAX gives int32 even with
    x64 on), as the standard asks ([1]_).

    Parameters
    ----------
    x1 : array_like, real, shape (n,)
        In ascending order, or put in order by ``sorter``. NaN counts as the largest value.
    x2 : array_like, real, any shape
        A Python scalar takes the dtype of ``x1``.
    side : {'left', 'right'}
        Before or after elements of ``x1`` that equal the one looked up.
    sorter : array_like, integer, shape (n,), optional
        Indices that sort ``x1``.

    Returns
    -------
    Array
        Indices from 0 to n, in the shape of ``x2``.

    Raises
    ------
    ValueError
        If ``x1`` is not 1-D, ``sorter`` is not of its shape, or ``side`` is neither 'left' nor 'right'.
    TypeError
        If ``sorter`` is not of integers.
    OverflowError
        If a Python integer is out of the range of the dtype of ``x1``.

    Examples
    --------
    >>> print(searchsorted(jnp.asarray([1, 2, 2, 5]), jnp.asarray([2, 6]), side="right"))
    [3 4]
    """
    x1, x2 = as_operands(x1, x2)
    return _searchsorted(x1, x2, None if sorter is None else as_operand(sorter), side)


@functools.partial(compiled, static_argnums=3, inline=True)
def _searchsorted(x1, x2, sorter, side):
    if sorter is not None and jnp.shape(sorter) != jnp.shape(x1):
        raise ValueError(f"sorter must have the shape of x1, {jnp.shape(x1)}, got {jnp.shape(sorter)}")
    x1, x2 = promoted(x1, x2)
    return jnp.searchsorted(x1, x2, side=side, sorter=sorter).astype(int)


@of_standard(
    "searching functions",
    ". Differentiable in ``x1`` and ``x2``; a NaN derivative of the side that is not taken spreads, as "
    "everywhere in JAX",
)
def where(
    condition: ArrayLike, x1: ArrayLike | None = None, x2: ArrayLike | None = None, /
) -> Array | tuple[Array, ...]:
    """Take each element from ``x1`` where the condition is true, from ``x2`` elsewhere.

    Unlike `jax.numpy.where`, anything array-like is taken and keeps its dtype with x64 mode off too, and a
    Python number keeps all its precision next to an array of a 64-bit dtype ([1]_).

    Parameters
    ----------
    condition : array_like, bool
        Numbers are true where they are not 0.
    x1, x2 : array_like
        Broadcast with one another and with the condition. Without them the result is
        ``nonzero(condition)``, as in NumPy.

    Returns
    -------
    Array
        Of the broadcast shape and the dtype that ``x1`` and ``x2`` promote to. NaN is taken as it is.

    Raises
    ------
    ValueError
        If the shapes do not broadcast, or one of ``x1`` and ``x2`` is missing.
    OverflowError
        If a Python integer is out of the range of the other's integer dtype.

    Examples
    --------
    >>> print(where(jnp.asarray([True, False]), [1, 2], 9))
    [1 9]
    """
    if x1 is None and x2 is None:
        return nonzero(condition)
    if x1 is None or x2 is None:
        raise ValueError("where needs both x1 and x2, or neither: pass the value for the other side too")
    x1, x2 = as_operands(x1, x2)
    return _where(as_operand(condition), x1, x2)


@functools.partial(compiled, inline=True)
@raises_as_numpy
def _where(condition, x1, x2):
    return jnp.where(condition, *promoted(x1, x2))
