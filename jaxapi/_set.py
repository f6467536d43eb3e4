"""Set functions (chapter "Set functions" of the standard)."""

import functools
from collections.abc import Callable

import jax.numpy as jnp
from jax import lax

from ._core._docs import ROOM, of_standard
from ._core._dtypes import promoted_dtype, x64_for
from ._core._order import insertion_points, keys_of
from ._core._programs import compiled
from ._core._typing import Array, ArrayLike
from ._interop import as_argument, as_operands
from ._interop._array_arguments import takes_array
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
        x1, x2 = map(as_argument, as_operands(x1, x2))
    return _isin(x1, x2, invert)


_FEW = 32  # are compared with each element, faster than they are sorted


@functools.partial(compiled, static_argnums=2, inline=True)
def _isin(x1, x2, invert):
    with x64_for(promoted_dtype(x1, x2)):
        return _is_among(x1, x2.ravel(), invert)


def _is_among(x1, x2, invert):
    if x2.size and _differ_in_sign(x1.dtype, x2.dtype):
        # Compare unsigned, where no value is lost, and let no negative number match.
        bits = 8 * max(x1.dtype.itemsize, x2.dtype.itemsize)
        unsigned = f"uint{bits}"
        can_match = x1 >= 0
        if jnp.issubdtype(x2.dtype, jnp.signedinteger):
            largest = x2.max()
            x2 = jnp.where(x2 >= 0, x2, largest)
            can_match &= largest >= 0
        is_in = can_match & _equals_any(x1.astype(unsigned), x2.astype(unsigned))
    else:
        dtype = promoted_dtype(x1, x2)
        is_in = _equals_any(x1.astype(dtype), x2.astype(dtype))
    return ~is_in if invert else is_in


def _equals_any(x1, x2):
    """Tell which elements equal one of x2 (n,), which has their dtype."""
    is_few = x2.size <= _FEW
    if jnp.iscomplexobj(x1):
        return jnp.isin(x1, x2, method="compare_all" if is_few else "binary_search")
    (keys,) = keys_of(lax.stop_gradient(x1))
    (keys_of_x2,) = keys_of(lax.stop_gradient(x2))
    if is_few:
        is_in = jnp.isin(keys, keys_of_x2, method="compare_all")
    else:
        sorted_keys = jnp.sort(keys_of_x2)
        positions = insertion_points(sorted_keys, keys, "left")
        is_in = sorted_keys[jnp.minimum(positions, x2.size - 1)] == keys
    return is_in & (x1 == x1)  # NaN equals nothing


def _differ_in_sign(dtype1, dtype2) -> bool:
    """Whether one dtype is of signed integers and the other of unsigned ones."""
    if jnp.issubdtype(dtype1, jnp.unsignedinteger):
        return jnp.issubdtype(dtype2, jnp.signedinteger)
    is_signed = jnp.issubdtype(dtype1, jnp.signedinteger)
    return is_signed and jnp.issubdtype(dtype2, jnp.unsignedinteger)
