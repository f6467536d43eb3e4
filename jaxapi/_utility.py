"""Utility functions (chapter "Utility functions" of the standard)."""

import functools
from collections.abc import Sequence

import jax.numpy as jnp

from ._core._errors import raises_as_numpy
from ._core._programs import compiled
from ._core._typing import Array, ArrayLike
from ._interop import as_operand
from ._interop._arguments import static_axis, takes_array

__all__ = [
    "all",
    "any",
    "diff",
]

diff = takes_array(jnp.diff, elements=("prepend", "append"))


def all(x: ArrayLike, /, *, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """Whether every element along the axes is true.

    Unlike `jax.numpy.all`, a complex element is true where either part is not zero ([1]_); JAX looks at
    the real part alone.

    Parameters
    ----------
    x : array_like, any dtype
        Zeros are false; everything else, NaN and infinities included, is true.
    axis : int or tuple of int, optional
        The axes reduced, all of them if omitted.
    keepdims : bool
        Keep the reduced axes with size 1.

    Returns
    -------
    Array
        Of dtype bool; True over no elements.

    Raises
    ------
    ValueError
        If an axis is out of range or given twice.

    Notes
    -----
    The same under `jax.jit` and `jax.vmap`.

    References
    ----------
    .. [1] Array API standard 2025.12, utility functions, ``all``.

    Examples
    --------
    >>> print(all(jnp.asarray([1, 1j])))
    True
    """
    return _all(as_operand(x), static_axis(axis), keepdims)


@functools.partial(compiled, static_argnums=(1, 2), inline=True)
@raises_as_numpy
def _all(x, axis, keepdims):
    return jnp.all(_is_true(x), axis=axis, keepdims=keepdims)


def any(x: ArrayLike, /, *, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """Whether some element along the axes is true.

    Unlike `jax.numpy.any`, a complex element is true where either part is not zero ([1]_); JAX looks at
    the real part alone.

    Parameters
    ----------
    x : array_like, any dtype
        Zeros are false; everything else, NaN and infinities included, is true.
    axis : int or tuple of int, optional
        The axes reduced, all of them if omitted.
    keepdims : bool
        Keep the reduced axes with size 1.

    Returns
    -------
    Array
        Of dtype bool; False over no elements.

    Raises
    ------
    ValueError
        If an axis is out of range or given twice.

    Notes
    -----
    The same under `jax.jit` and `jax.vmap`.

    References
    ----------
    .. [1] Array API standard 2025.12, utility functions, ``any``.

    Examples
    --------
    >>> print(any(jnp.asarray([0, 1j])))
    True
    """
    return _any(as_operand(x), static_axis(axis), keepdims)


@functools.partial(compiled, static_argnums=(1, 2), inline=True)
@raises_as_numpy
def _any(x, axis, keepdims):
    return jnp.any(_is_true(x), axis=axis, keepdims=keepdims)


def _is_true(x):
    return jnp.not_equal(x, 0) if jnp.iscomplexobj(x) else x
