"""Norms of vectors, and products of them that are no contractions."""

import functools
from collections.abc import Sequence

import jax.numpy as jnp
from jax import lax
from numpy.lib.array_utils import normalize_axis_index

from .._core._docs import of_standard
from .._core._dtypes import as_inexact, with_operands_promoted
from .._core._errors import raises_as_numpy, refuse_traced, whole_number
from .._core._exact import exact_norm
from .._core._programs import compiled
from .._core._typing import Array, ArrayLike
from .._interop import as_argument
from .._interop._array_arguments import static_axis

__all__ = ["cross", "norms_of_vectors", "outer", "vector_norm"]
__all__ += ["without_slopes_at_zero"]


@of_standard("linear algebra extension")
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
    numpy.exceptions.AxisError
        If an operand has no such axis (a ``ValueError`` and an ``IndexError``).

    Examples
    --------
    >>> print(cross(jnp.asarray([1, 0, 0]), jnp.asarray([0, 1, 0])))
    [0 0 1]
    """
    if type(x1) is not type(x2) or not isinstance(x1, Array):
        x1 = as_argument(x1)
        x2 = as_argument(x2)
    return _cross(x1, x2, whole_number(axis, "axis"))


@functools.partial(compiled, static_argnums=2, inline=True)
@with_operands_promoted
def _cross(x1, x2, axis):
    for x in (x1, x2):
        normalize_axis_index(axis, x.ndim)  # which raises AxisError
    return jnp.linalg.cross(x1, x2, axis=axis)


@of_standard("linear algebra extension")
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

    Examples
    --------
    >>> print(outer(jnp.asarray([1, 2]), jnp.asarray([3, 4])))
    [[3 4]
     [6 8]]
    """
    if type(x1) is not type(x2) or not isinstance(x1, Array):
        x1 = as_argument(x1)
        x2 = as_argument(x2)
    return _outer(x1, x2)


@functools.partial(compiled, inline=True)
@with_operands_promoted
def _outer(x1, x2):
    return jnp.linalg.outer(x1, x2)


@of_standard("linear algebra extension")
def vector_norm(
    x: ArrayLike,
    /,
    *,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    ord: int | float = 2,
) -> Array:
    """Norms of vectors.

    Unlike `jax.numpy.linalg.vector_norm`, the norm of integers is one of floats for every ``ord``, as in
    NumPy ([1]_): JAX gives the 3-norm of ``[3, 4]`` as 1, for its root is an integer, too. Slopes of a norm
    of 0 are 0, where JAX's are NaN, and so are those along an element that is 0, but for ``ord=2``.

    Parameters
    ----------
    x : array_like, numeric
        NaN makes a norm NaN; infinity counts as in IEEE arithmetic.
    axis : int or tuple of int, optional
        The axes along which a vector's elements lie; all of them if omitted.
    keepdims : bool
        Keep these axes with size 1.
    ord : int, float, inf or -inf
        ``sum(abs(x)**ord)**(1/ord)``; inf is the largest magnitude, -inf the smallest, and 0 counts the
        elements that are not 0.

    Returns
    -------
    Array
        Real: of the floating dtype of ``x``, of its parts' if complex, the default one for integers.

    Raises
    ------
    ValueError
        If an axis is out of range, ``ord`` is no number, or there is no element to be the smallest.

    Examples
    --------
    >>> print(vector_norm([3, 4]), vector_norm([[3, 4], [6, 8]], axis=1, ord=1))
    5.0 [ 7. 14.]
    """
    refuse_traced("ord", ord)
    return _vector_norm(as_argument(x), static_axis(axis), keepdims, ord)


@functools.partial(compiled, static_argnums=(1, 2, 3), inline=True)
@raises_as_numpy
def _vector_norm(x, axis, keepdims, ord):
    return norms_of_vectors(as_inexact(x), axis=axis, keepdims=keepdims, ord=ord)


def norms_of_vectors(x, *, axis=None, keepdims=False, ord=2):
    """Return what `jax.numpy.linalg.vector_norm` does, with slopes at 0."""
    x = x if ord == 2 else without_slopes_at_zero(x)
    return exact_norm(jnp.linalg.vector_norm)(x, axis=axis, keepdims=keepdims, ord=ord)


def without_slopes_at_zero(x):
    """Return the same elements; no derivative flows through those that are 0."""
    return jnp.where(x == 0, lax.stop_gradient(x), x)
