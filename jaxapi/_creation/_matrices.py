"""Grids and triangles: arrays made of arrays."""

import functools

import jax.numpy as jnp

from .._core._docs import of_standard
from .._core._errors import whole_number
from .._core._programs import compiled
from .._core._typing import Array, ArrayLike
from .._interop import as_operand
from .._interop._array_arguments import takes_array

__all__ = ["meshgrid", "tril", "triu"]


def _of_a_triangle(function):
    """Return JAX's function with a diagonal that is beyond the matrix moved to its corner."""

    @functools.wraps(function)
    def of_matrices(m, k=0):
        rows, columns = m.shape[-2:] if m.ndim > 1 else (m.size, m.size)
        return function(m, max(-rows - 1, min(whole_number(k, "k"), columns + 1)))

    return of_matrices


tril = takes_array(_of_a_triangle(jnp.tril))
triu = takes_array(_of_a_triangle(jnp.triu))


@of_standard("creation functions")
def meshgrid(*arrays: ArrayLike, indexing: str = "xy") -> tuple[Array, ...]:
    """Coordinate arrays of the grid that 1-D arrays span.

    Unlike `jax.numpy.meshgrid` of JAX 0.10, the result is a tuple, not a list ([1]_).

    Parameters
    ----------
    *arrays : array_like, at most 1-D
    indexing : {'xy', 'ij'}
        Whether the first array varies along the second axis of the results, as in a plot, or the first.

    Returns
    -------
    tuple of Array
        One array for each of the arguments, all of the grid's shape, each of its own dtype and values.

    Raises
    ------
    ValueError
        If an array has more than one dimension or ``indexing`` is another one.

    Examples
    --------
    >>> x, y = meshgrid(jnp.arange(3), jnp.arange(2))
    >>> print(x)
    [[0 1 2]
     [0 1 2]]
    """
    return _meshgrid(tuple(map(as_operand, arrays)), indexing)


@functools.partial(compiled, static_argnums=1, inline=True)
def _meshgrid(arrays, indexing):
    return tuple(jnp.meshgrid(*arrays, indexing=indexing))
