"""Utility functions (chapter "Utility functions" of the standard)."""

import functools
from collections.abc import Sequence

import jax.numpy as jnp

from ._core._docs import Completion, of_standard, sharing
from ._core._errors import raises_as_numpy
from ._core._programs import compiled
from ._core._typing import Array, ArrayLike
from ._interop import as_operand, with_numpy
from ._interop._array_arguments import static_axis, takes_array

__all__ = ["all", "any", "diff"]

diff = takes_array(jnp.diff, elements=("prepend", "append"))


def _of_truth(nothing: str) -> Completion:
    """Complete a docstring: what is returned over no elements."""
    return sharing(
        """
        Unlike `jax.numpy.{name}`, a complex element is true where either part is not zero ([1]_); JAX looks
        at the real part alone.

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
            Of dtype bool; {nothing} over no elements.

        Raises
        ------
        ValueError
            If an axis is out of range or given twice.
        """,
        nothing=nothing,
    )


@of_standard("utility functions", "")
@_of_truth("True")
def all(x: ArrayLike, /, *, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """Whether every element along the axes is true.

    Examples
    --------
    >>> print(all(jnp.asarray([1, 1j])))
    True
    """
    return _truth(jnp.all, x, axis, keepdims)


@of_standard("utility functions", "")
@_of_truth("False")
def any(x: ArrayLike, /, *, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """Whether some element along the axes is true.

    Examples
    --------
    >>> print(any(jnp.asarray([0, 1j])))
    True
    """
    return _truth(jnp.any, x, axis, keepdims)


def _truth(function, x, axis, keepdims):
    return _TRUTHS[function](as_operand(x), static_axis(axis), keepdims)


@functools.partial(compiled, static_argnums=(0, 2, 3), inline=True)
@raises_as_numpy
def _reduced(function, x, axis, keepdims):
    x = jnp.not_equal(x, 0) if jnp.iscomplexobj(x) else x
    return function(x, axis=axis, keepdims=keepdims)


_TRUTHS = {
    function: with_numpy(function.__name__, functools.partial(_reduced, function))
    for function in (jnp.all, jnp.any)
}
