"""Searching functions (chapter "Searching functions" of the standard)."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.numpy import count_nonzero, nonzero, where

from ._interop import as_array, scalar_like
from ._typing import Array, ArrayLike
from ._x64 import lacks_64_bits

__all__ = [
    "argmax",
    "argmin",
    "count_nonzero",
    "nonzero",
    "searchsorted",
    "where",
]


def argmax(x: ArrayLike, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """Index of the first maximum.

    Unlike `jax.numpy.argmax`, arrays of 64-bit dtypes work with x64 mode off too ([1]_).

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
        Indices of JAX's default integer dtype. The first NaN counts as the maximum.

    Raises
    ------
    ValueError
        If the searched axis is empty.
    numpy.exceptions.AxisError
        If ``axis`` is out of range (both a ``ValueError`` and an ``IndexError``).

    Notes
    -----
    The same under `jax.vmap` and `jax.jit`.

    References
    ----------
    .. [1] Array API standard 2025.12, searching functions, ``argmax``.

    Examples
    --------
    >>> print(argmax(jnp.asarray([3.0, 7.0, 7.0])))
    1
    """
    return _argmax(x if isinstance(x, jax.Array) else as_array(x), axis, keepdims)


@functools.partial(jax.jit, static_argnums=(1, 2), inline=True)
def _argmax(x, axis, keepdims):
    _check_axis(axis, x.ndim)
    if lacks_64_bits(x) and x.dtype.kind != "c":
        x = _is_extreme(x, axis, lax.reduce_max)
    return jnp.argmax(x, axis=axis, keepdims=keepdims).astype(int)


def argmin(x: ArrayLike, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """Index of the first minimum.

    Unlike `jax.numpy.argmin`, arrays of 64-bit dtypes work with x64 mode off too ([1]_).

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
        Indices of JAX's default integer dtype. The first NaN counts as the minimum.

    Raises
    ------
    ValueError
        If the searched axis is empty.
    numpy.exceptions.AxisError
        If ``axis`` is out of range (both a ``ValueError`` and an ``IndexError``).

    Notes
    -----
    The same under `jax.vmap` and `jax.jit`.

    References
    ----------
    .. [1] Array API standard 2025.12, searching functions, ``argmin``.

    Examples
    --------
    >>> print(argmin(jnp.asarray([3.0, 1.0, 1.0])))
    1
    """
    return _argmin(x if isinstance(x, jax.Array) else as_array(x), axis, keepdims)


@functools.partial(jax.jit, static_argnums=(1, 2), inline=True)
def _argmin(x, axis, keepdims):
    _check_axis(axis, x.ndim)
    if lacks_64_bits(x) and x.dtype.kind != "c":
        x = ~_is_extreme(x, axis, lax.reduce_min)
    return jnp.argmin(x, axis=axis, keepdims=keepdims).astype(int)


def _is_extreme(x, axis, reduce):
    """Say which elements are the extreme ones, or NaN: JAX searches flags where it cannot search `x`."""
    axes = tuple(range(x.ndim)) if axis is None else (axis % x.ndim,)
    return (x == lax.expand_dims(reduce(x, axes), axes)) | (x != x)


def _check_axis(axis: int | None, ndim: int) -> None:
    if axis is not None and not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(axis, ndim)


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
        If ``x1`` is not 1-D or ``side`` is neither 'left' nor 'right'.
    OverflowError
        If a Python integer is out of the range of the dtype of ``x1``.

    Notes
    -----
    The same under `jax.jit` and `jax.vmap`.

    References
    ----------
    .. [1] Array API standard 2025.12, searching functions, ``searchsorted``.

    Examples
    --------
    >>> print(searchsorted(jnp.asarray([1, 2, 2, 5]), jnp.asarray([2, 6]), side="right"))
    [3 4]
    """
    return _searchsorted(x1, scalar_like(x2, x1), sorter, side)


@functools.partial(jax.jit, static_argnums=3, inline=True)
def _searchsorted(x1, x2, sorter, side):
    return jnp.searchsorted(x1, x2, side=side, sorter=sorter).astype(int)
