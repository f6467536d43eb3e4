"""Searching functions (chapter "Searching functions" of the standard)."""

import functools
from typing import Literal, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from numpy.lib.array_utils import normalize_axis_index

from ._core._devices import computed_in_host_memory
from ._core._docs import ROOM, Completion, of_standard, sharing
from ._core._dtypes import as_indices, promoted, promoted_dtype, x64_for
from ._core._errors import raises_as_numpy, whole_number
from ._core._lengths import capacity, cut, has_own_length
from ._core._masks import count_true, index_dtype_for, running_counts, true_positions
from ._core._order import float_keys, insertion_points
from ._core._programs import compiled
from ._core._typing import Array, ArrayLike
from ._interop import as_argument, as_operand, as_operands, with_numpy
from ._interop._array_arguments import static_axis, takes_array

__all__ = ["argmax", "argmin", "count_nonzero", "nonzero", "searchsorted", "top_k", "where"]

count_nonzero = takes_array(jnp.count_nonzero)


@functools.wraps(jnp.nonzero)
def _nonzero(a, *, size=None, fill_value=None):
    if size is not None or not a.ndim or not a.size or not has_own_length(a):
        return jnp.nonzero(a, size=size, fill_value=fill_value)
    return _nonzero_of_own_length(a)


@functools.partial(with_numpy, "nonzero")
def _nonzero_of_own_length(a):
    count, indices = nonzero_in_buffers(a)
    with x64_for(a.dtype, *[x.dtype for x in indices]):
        return cut(count, *indices)


def nonzero_in_buffers(a, row_bytes=None):
    """Return how many elements are not 0, and buffers that begin with their indices along each axis.

    ``row_bytes`` decides how long they are (see `capacity`), by default those of an index along each axis.
    """
    index_dtype = jnp.result_type(int)
    with x64_for(a.dtype, index_dtype, index_dtype_for(a.size)):
        count = computed_in_host_memory(count_true, a)
        counts = running_counts(a)  # computed while the host waits for the number of all
        count = int(count)
        length = capacity(count, row_bytes or a.ndim * index_dtype.itemsize, most=a.size)
        return count, _indices_of_nonzero(a, counts, length, index_dtype)


@functools.partial(compiled, static_argnums=(2, 3))
def _indices_of_nonzero(x, counts, length, index_dtype):
    """Return the indices along each axis, in buffers of one length."""
    with x64_for(x.dtype, counts.dtype, index_dtype):
        positions = true_positions(x.reshape(-1) != 0, counts, length)
        indices = jnp.unravel_index(positions, x.shape)
        return tuple(along_axis.astype(index_dtype) for along_axis in indices)


nonzero = takes_array(_nonzero, compiled=False, difference=ROOM)


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
    return _argmax(as_argument(x), static_axis(axis), keepdims)


@of_standard("searching functions", "")
@_of_extreme("minimum")
def argmin(x: ArrayLike, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """Index of the first minimum.

    Examples
    --------
    >>> print(argmin(jnp.asarray([3.0, 1.0, 1.0])))
    1
    """
    return _argmin(as_argument(x), static_axis(axis), keepdims)


@functools.partial(with_numpy, "argmax")
def _argmax(x, axis, keepdims):
    return _index_of_extreme(x, axis, keepdims, True)


@functools.partial(with_numpy, "argmin")
def _argmin(x, axis, keepdims):
    return _index_of_extreme(x, axis, keepdims, False)


@functools.partial(compiled, static_argnums=(1, 2, 3), inline=True)
@raises_as_numpy
def _index_of_extreme(x, axis, keepdims, largest):
    """Reduce pairs of element and index by an order without ties, since XLA reduces in any order."""
    if jnp.iscomplexobj(x):
        raise TypeError("complex numbers have no order: pass real(x), imag(x) or abs(x)")
    axes = tuple(range(x.ndim)) if axis is None else (normalize_axis_index(axis, x.ndim),)
    if 0 in [x.shape[i] for i in axes]:
        raise ValueError(f"an array of shape {x.shape} is empty along axes {axes}: it has no extreme element")
    x = x.astype(np.int8) if x.dtype == np.bool else x
    if axis is None:
        x = x.reshape(-1)
        axis = 0
    else:
        axis = axes[0]
    index_dtype = jnp.result_type(int)
    with x64_for(x.dtype):
        indices = lax.full_like(x, 0, index_dtype) + lax.broadcasted_iota(index_dtype, x.shape, axis)
        beyond = _last(x.dtype, largest), np.asarray(np.iinfo(index_dtype).max, index_dtype)
        order = functools.partial(_earlier, lax.gt if largest else lax.lt)
        _, extreme = lax.reduce((lax.stop_gradient(x), indices), beyond, order, (axis,))
    return lax.expand_dims(extreme, axes) if keepdims else extreme


def _earlier(is_ahead, left, right):
    """Return the (element, index) that comes first: NaN before numbers, the lower index of equals."""
    x, i = left
    y, j = right
    x_is_nan = lax.ne(x, x)
    y_is_nan = lax.ne(y, y)
    equal = lax.eq(x, y) | (x_is_nan & y_is_nan)
    first = is_ahead(x, y) | (x_is_nan & ~y_is_nan) | (equal & lax.lt(i, j))
    return lax.select(first, x, y), lax.select(first, i, j)


def _last(dtype: np.dtype, largest: bool) -> np.ndarray:
    """Return a value of the dtype that none comes after."""
    limits = jnp.iinfo(dtype) if jnp.issubdtype(dtype, jnp.integer) else jnp.finfo(dtype)
    finite = np.asarray(limits.min if largest else limits.max, dtype)
    if jnp.issubdtype(dtype, jnp.integer):
        return finite
    infinite = np.asarray(-np.inf if largest else np.inf, dtype)
    has_infinity = infinite == infinite  # some of 8 bits have NaN in its place
    return infinite if has_infinity else finite


@of_standard("searching functions", "")
def searchsorted(
    x1: ArrayLike, x2: ArrayLike, /, *, side: str = "left", sorter: ArrayLike | None = None
) -> Array:
    """Where the elements of ``x2`` go into the sorted ``x1``.

    Unlike `jax.numpy.searchsorted`, the indices have the default integer dtype (JAX gives int32 even with
    x64 on), as the standard asks ([1]_), one kernel of a GPU finds them all, and numbers that XLA takes for
    0 on the CPU are in their order.

    Parameters
    ----------
    x1 : array_like, real, shape (n,)
        In ascending order, or put in order by ``sorter``. NaN counts as the largest value, and 0.0 and -0.0
        as equal.
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
    if jnp.ndim(x1) != 1:
        raise ValueError(f"x1 must be 1-dimensional, got shape {jnp.shape(x1)}: sort and search one axis")
    if side not in ("left", "right"):
        raise ValueError(f"side must be 'left' or 'right', got {side!r}")
    if sorter is not None:
        if jnp.shape(sorter) != jnp.shape(x1):
            raise ValueError(f"sorter must have the shape of x1, {jnp.shape(x1)}, got {jnp.shape(sorter)}")
        if not jnp.issubdtype(sorter.dtype, jnp.integer):
            raise TypeError(f"sorter must be of integers, as argsort(x1) is, got dtype {sorter.dtype}")
        x1 = x1[as_indices(sorter)]
    dtype = promoted_dtype(x1, x2)
    with x64_for(dtype):
        x1 = jnp.asarray(x1, dtype)
        x2 = jnp.asarray(x2, dtype)
        positions = insertion_points(x1, x2, side)
    return positions.astype(int)


class TopKResult(NamedTuple):
    """What `top_k` returns."""

    values: Array
    indices: Array


def top_k(
    x: ArrayLike, k: int, /, *, axis: int = -1, mode: Literal["largest", "smallest"] = "largest"
) -> TopKResult:
    """Return the k largest or smallest elements along an axis, and where they are.

    Unlike `jax.lax.top_k`, it finds the smallest, too, counts NaN last in both modes, and works on arrays of
    64-bit dtypes with x64 mode off. It is of the draft that follows standard 2025.12 ([1]_), which leaves the
    order of equal elements and of NaN open.

    Parameters
    ----------
    x : array_like, real or boolean
        At least 1-D.
    k : int
        From 0 to the size of the axis. It shapes the result, and so is no traced value under `jax.jit`.
    axis : int
        The axis searched.
    mode : {'largest', 'smallest'}
        Which elements are looked for.

    Returns
    -------
    values : Array
        Of the shape of ``x`` with k along ``axis``, of its dtype, the largest first, or with
        ``mode='smallest'`` the smallest. NaN comes after all numbers, so that it is among them only where
        the axis has fewer than k numbers. 0.0 and -0.0 are equal.
    indices : Array
        Where they are along ``axis``, of JAX's default integer dtype. Of equal elements, and of several NaN,
        the lowest index is first.

    Raises
    ------
    ValueError
        If k is negative or beyond the size of the axis, or ``mode`` is neither 'largest' nor 'smallest'.
    numpy.exceptions.AxisError
        If ``axis`` is out of range (both a ``ValueError`` and an ``IndexError``); a 0-D array has none.
    TypeError
        If k or ``axis`` is not an integer, or ``x`` is complex.

    Notes
    -----
    The same under `jax.jit` and `jax.vmap`; the values are differentiable.

    References
    ----------
    .. [1] Array API standard, draft of 2026.12, ``top_k``.

    Examples
    --------
    >>> values, indices = top_k(jnp.asarray([3.0, 7.0, 1.0, 7.0]), 3)
    >>> print(values, indices)
    [7. 7. 3.] [1 3 0]
    """
    if mode not in ("largest", "smallest"):
        raise ValueError(f"mode must be 'largest' or 'smallest', got {mode!r}")
    x = as_argument(x)
    return TopKResult(*_top_k(x, _as_integer(k, "k"), _as_integer(axis, "axis"), mode == "largest"))


def _as_integer(number, name: str) -> int:
    """Return a number that shapes the result, which is of integer type and no truth value."""
    if isinstance(number, bool | np.bool) or not hasattr(number, "__index__"):
        raise TypeError(f"{name} must be an integer, got {number!r}: round it first, as in int(x)")
    return whole_number(number, name)


@functools.partial(compiled, static_argnums=(1, 2, 3), inline=True)
def _top_k(x, k, axis, largest):
    if jnp.iscomplexobj(x):
        raise TypeError("complex numbers have no order: pass real(x), imag(x) or abs(x)")
    axis = normalize_axis_index(axis, x.ndim)
    if not 0 <= k <= x.shape[axis]:
        raise ValueError(f"k must be from 0 to {x.shape[axis]}, the size of axis {axis}, got {k}")
    with x64_for(x.dtype):
        ranks = _ranks(lax.stop_gradient(x), largest)
        indices = _first_by_rank(jnp.moveaxis(ranks, axis, -1), k)
        indices = jnp.moveaxis(indices, -1, axis)
        values = jnp.take_along_axis(x, indices, axis)
    return values, indices.astype(int)


def _first_by_rank(ranks, k):
    """Return where the k largest integers along the last axis are.

    On the CPU XLA sorts all integers, and for float32 alone it looks for k, comparing bits: in a hundredth of
    the time. So integers of 32 bits become the floats that are in their order.
    """

    def by_integers(ranks):
        return lax.top_k(ranks, k)[1]

    def by_floats(ranks):
        magnitude = np.int32(np.iinfo(np.int32).max)
        bits = jnp.where(ranks < 0, ranks ^ magnitude, ranks)
        return lax.top_k(lax.bitcast_convert_type(bits, np.float32), k)[1]

    if ranks.dtype == np.int16:
        ranks = ranks.astype(np.int32)
    if ranks.dtype != np.int32:
        return by_integers(ranks)
    return lax.platform_dependent(ranks, cpu=by_floats, default=by_integers)


def _ranks(x, largest):
    """Return integers that are in the order of the elements, the first of them the largest."""
    if x.dtype == np.bool or jnp.issubdtype(x.dtype, jnp.integer):
        wide = x if x.dtype.itemsize > 2 else x.astype(np.int32)
        return wide if largest else ~wide
    keys = float_keys(x)
    limits = np.iinfo(keys.dtype)
    return jnp.where(keys == limits.max, limits.min, keys if largest else -keys)  # NaN is last


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
    return choose(as_operand(condition), x1, x2)


@functools.partial(compiled, inline=True)
@raises_as_numpy
def choose(condition, x1, x2):
    """Return what `where` does, in one program."""
    return jnp.where(condition, *promoted(x1, x2))
