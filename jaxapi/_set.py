"""Set functions (chapter "Set functions" of the standard)."""

import functools
from collections.abc import Callable

import jax.numpy as jnp

from ._core._docs import ROOM, of_standard
from ._core._dtypes import promoted_dtype, x64_for
from ._core._programs import compiled
from ._core._typing import Array, ArrayLike
from ._interop import as_array, as_operands
from ._interop._arguments import takes_array
from ._unique import UniqueAllResult, UniqueCountsResult, UniqueInverseResult, in_two_programs

__all__ = ["isin", "unique_all", "unique_counts", "unique_inverse", "unique_values"]

unique_all: Callable[[ArrayLike], UniqueAllResult] = takes_array(
    in_two_programs(jnp.unique_all), compiled=False, difference=ROOM
)
unique_counts: Callable[[ArrayLike], UniqueCountsResult] = takes_array(
    in_two_programs(jnp.unique_counts), compiled=False, difference=ROOM
)
unique_inverse: Callable[[ArrayLike], UniqueInverseResult] = takes_array(
    in_two_programs(jnp.unique_inverse), compiled=False, difference=ROOM
)
unique_values: Callable[[ArrayLike], Array] = takes_array(
    in_two_programs(jnp.unique_values), compiled=False, difference=ROOM
)


@of_standard("set functions", "")
def isin(x1: ArrayLike, x2: ArrayLike, /, *, invert: bool = False) -> Array:
    """Whether each element of ``x1`` is among those of ``x2``.

    Unlike `jax.numpy.isin`, integers of different signedness are compared by value ([1]_): JAX compares
    int64 with uint64 as floats, and uint32 with int32 modulo 2**32 with x64 off. More than 32 elements of
    ``x2`` are sorted, where JAX compares each with each, in memory for as many pairs.

    Parameters
    ----------
    x1 : array_like, any shape
    x2 : array_like, any shape
        A Python number next to an array takes its dtype, where its kind allows.
    invert : bool
        Say instead whether each element is missing.

    Returns
    -------
    Array
        Of dtype bool, in the shape of ``x1``. NaN is equal to nothing.

    Raises
    ------
    OverflowError
        If a Python integer is out of the range of the array's integer dtype.

    Examples
    --------
    >>> print(isin(jnp.asarray([1, 2, 3, 4]), jnp.asarray([2, 4, 9])))
    [False  True False  True]
    """
    if type(x1) is not type(x2) or not isinstance(x1, Array):
        x1, x2 = map(as_array, as_operands(x1, x2))
    return _isin(x1, x2, invert)


_FEW = 32  # are compared with each element, faster than they are sorted


@functools.partial(compiled, static_argnums=2, inline=True)
def _isin(x1, x2, invert):
    with x64_for(promoted_dtype(x1, x2)):
        return _is_among(x1, x2.ravel(), invert)


def _is_among(x1, x2, invert):
    method = "compare_all" if x2.size <= _FEW else "binary_search"
    if not x2.size or not _differ_in_sign(x1.dtype, x2.dtype):
        return jnp.isin(x1, x2, invert=invert, method=method)
    # Compare unsigned, where no value is lost, and let no negative number match.
    bits = 8 * max(x1.dtype.itemsize, x2.dtype.itemsize)
    unsigned = f"uint{bits}"
    can_match = x1 >= 0
    if jnp.issubdtype(x2.dtype, jnp.signedinteger):
        largest = x2.max()
        x2 = jnp.where(x2 >= 0, x2, largest)
        can_match &= largest >= 0
    is_in = can_match & jnp.isin(x1.astype(unsigned), x2.astype(unsigned), method=method)
    return ~is_in if invert else is_in


def _differ_in_sign(dtype1, dtype2) -> bool:
    """Whether one dtype is of signed integers and the other of unsigned ones."""
    if jnp.issubdtype(dtype1, jnp.unsignedinteger):
        return jnp.issubdtype(dtype2, jnp.signedinteger)
    is_signed = jnp.issubdtype(dtype1, jnp.signedinteger)
    return is_signed and jnp.issubdtype(dtype2, jnp.unsignedinteger)
