"""Products of vectors that are no contractions."""

import functools

import jax
import jax.numpy as jnp

from .._interop import as_array
from .._promotion import with_operands_promoted
from .._typing import Array, ArrayLike

__all__ = ["cross", "outer"]


def cross(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Array:
    """Cross product of 3-element vectors.

    Unlike `jax.numpy.linalg.cross`, lists are taken, and integers of different signedness promote as the
    standard says with x64 off too, uint32 with int32 to int64 ([1]_).

    Parameters
    ----------
    x1, x2 : array_like, numeric
        Of size 3 along ``axis``; the other axes broadcast. NaN and infinity follow IEEE arithmetic.
    axis : int
        The axis of the vectors in both.

    Returns
    -------
    Array
        Of the promoted dtype and broadcast shape.

    Raises
    ------
    ValueError
        If the size along ``axis`` is not 3 or the other axes do not broadcast.

    Notes
    -----
    The same under `jax.vmap` and `jax.jit`; differentiable.

    References
    ----------
    .. [1] Array API standard 2025.12, linear algebra extension, ``cross``.

    Examples
    --------
    >>> print(cross(jnp.asarray([1, 0, 0]), jnp.asarray([0, 1, 0])))
    [0 0 1]
    """
    if type(x1) is not type(x2) or not isinstance(x1, Array):
        x1, x2 = as_array(x1), as_array(x2)
    return _cross(x1, x2, axis)


@functools.partial(jax.jit, static_argnums=2, inline=True)
@with_operands_promoted
def _cross(x1, x2, axis):
    return jnp.linalg.cross(x1, x2, axis=axis)


def outer(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Outer product of two vectors.

    Unlike `jax.numpy.linalg.outer`, lists are taken, and integers of different signedness promote as the
    standard says with x64 off too, uint32 with int32 to int64 ([1]_).

    Parameters
    ----------
    x1 : array_like, numeric, shape (n,)
    x2 : array_like, numeric, shape (m,)

    Returns
    -------
    Array
        ``x1[i] * x2[j]``, of the promoted dtype and shape (n, m). NaN and infinity follow IEEE arithmetic.

    Raises
    ------
    ValueError
        If an operand is not 1-D.

    Notes
    -----
    The same under `jax.vmap` and `jax.jit`; differentiable.

    References
    ----------
    .. [1] Array API standard 2025.12, linear algebra extension, ``outer``.

    Examples
    --------
    >>> print(outer(jnp.asarray([1, 2]), jnp.asarray([3, 4])))
    [[3 4]
     [6 8]]
    """
    if type(x1) is not type(x2) or not isinstance(x1, Array):
        x1, x2 = as_array(x1), as_array(x2)
    return _outer(x1, x2)


@functools.partial(jax.jit, inline=True)
@with_operands_promoted
def _outer(x1, x2):
    return jnp.linalg.outer(x1, x2)
