"""Powers of two that bring rows where powers of differences neither overflow nor vanish, without rounding.

No scale has a derivative.
"""

import functools
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core._typing import Array
from .._tree._powers_of_two import (
    exponent_from_bits,
    exponent_of,
    power_of_two,
    scaled_from_bits,
    times_power_of_two,
)
from ._calculus import along_last_axis

__all__ = ["above_subnormal", "as_truth", "balanced", "columns_of_size_one", "into_range", "near_overflow"]
__all__ += ["of_size_one", "reciprocal_of_size", "unequal_codes"]


def near_overflow(a: Array, b: Array, weights: Array | None) -> tuple[Array, Array, Array | None, Array]:
    """Return rows so large that sums of squares of differences just do not overflow.

    Also return their weights, and the exponent of two that is the unit of the rows.

    Small differences beside large ones are then squared to normal numbers as long as that is possible: in
    float32 where the largest coordinate is up to 1e35 times as large, in float64 1e300 times. Weights give
    their powers of four to the columns: what is left of them is from 1 to 4.
    """
    limits = jnp.finfo(a.dtype)
    m = a.shape[-1]
    highest = (limits.maxexp - 6 - m.bit_length()) // 2  # of a coordinate
    none = -4 * limits.maxexp  # the exponent of 0
    exponents = _largest_exponent(a, b, axis=-2, of_zero=none)  # (..., 1, m)
    of_columns = jnp.zeros((), np.int32)
    if weights is not None:
        of_columns = _halved_exponent(weights)
        weights = times_power_of_two(weights, -2 * of_columns)
        of_columns = of_columns[..., None, :]
        of_columns = along_last_axis(of_columns, exponents)
        exponents = jnp.where(exponents > none, exponents + of_columns, none)
    largest = jnp.max(exponents, initial=none)
    shift = jnp.where(largest > none, highest - largest, 0)
    shift_of_columns = _in_two_steps(shift + of_columns, a.dtype)
    a = scaled_from_bits(a, shift_of_columns)
    b = scaled_from_bits(b, shift_of_columns)
    return a, b, weights, -shift


def above_subnormal(weights: Array | None, *arrays: Array) -> tuple[list[Array], Array]:
    """Return arrays times one power of two, an even one, by which subnormal numbers become normal.

    Also return its exponent. It is smaller where numbers are so large, times their weights, that powers of
    them might overflow, and below 0 where differences would.
    """
    limits = jnp.finfo(arrays[0].dtype)
    largest = _largest_exponent(*arrays)
    if weights is not None:
        largest = largest + jnp.maximum(_largest_exponent(weights), 0)
    shift = jnp.clip(limits.maxexp // 4 - largest, 0, limits.nmant + 3)
    shift = jnp.minimum(shift, limits.maxexp - 2 - largest) // 2 * 2
    return [scaled_from_bits(x, shift) for x in arrays], shift


def into_range(lowest: int, highest: int, *arrays: Array) -> list[Array]:
    """Return arrays times one power of two that brings the largest number between two exponents.

    It is 1 where that number is there, and 0 stays 0.
    """
    exponent = _largest_exponent(*arrays)
    shift = _in_two_steps(jnp.clip(exponent, lowest, highest) - exponent, arrays[0].dtype)
    return [scaled_from_bits(x, shift) for x in arrays]


def of_size_one(x: Array, size_of: Array) -> Array:
    """Return rows times a power of two each, that brings the largest number of ``size_of`` near 1."""
    exponent = _largest_exponent(size_of, axis=-1)
    return scaled_from_bits(x, _in_two_steps(-exponent, x.dtype))


def columns_of_size_one(rows: list[Array]) -> list[Array]:
    """Return rows (..., n, m), each column times the power of two that brings its largest number near 1."""
    exponent = _largest_exponent(*rows, axis=-2)
    return [scaled_from_bits(x, _in_two_steps(-exponent, x.dtype)) for x in rows]


def balanced(matrix: Array) -> tuple[Array, Array, Array]:
    """Return a matrix (..., m, m) with a diagonal near 1, units (..., m) of coordinates and their unit (...).

    ``x @ matrix @ x`` is ``(y @ balanced @ y) * unit**2`` with ``y = x * units``. All are powers of two, the
    largest of `units` is 1. Where the diagonal is not positive it stays as it is.
    """
    dtype = matrix.dtype
    exponents = _halved_exponent(jnp.diagonal(matrix, axis1=-2, axis2=-1))
    matrix = times_power_of_two(matrix, -exponents[..., None])
    matrix = times_power_of_two(matrix, -exponents[..., None, :])
    largest = jnp.max(exponents, axis=-1, keepdims=True, initial=jnp.finfo(dtype).minexp)
    units = power_of_two(jnp.maximum(exponents - largest, jnp.finfo(dtype).minexp), dtype)
    return matrix, units, power_of_two(largest, dtype)[..., 0]


def reciprocal_of_size(size: Array) -> Array:
    """Return the power of two that brings sizes (...) near 1; 1 for 0 and for what is not finite."""
    size = lax.stop_gradient(size)
    size = jnp.where(jnp.isfinite(size), size, 0)
    limit = jnp.finfo(size.dtype).maxexp - 2
    return power_of_two(-jnp.clip(exponent_of(size), -limit, limit), size.dtype)


def as_truth(x: Array) -> Array:
    """Return whether numbers are not 0, by their bits: XLA's CPU takes the smallest numbers for 0."""
    if not jnp.issubdtype(x.dtype, jnp.floating):
        return x.astype(bool)
    bits, sign = _bits(x)
    return (bits & ~sign) != 0


def unequal_codes(a: Array, b: Array) -> tuple[Array, Array]:
    """Return integers that are equal where numbers are: 0.0 and -0.0 are, nan is not, tiny ones are not 0.

    LLVM makes comparisons of numbers out of those of bits that it sees in one kernel, so these stay apart.
    """
    codes = []
    for nan, x in ((1, a), (2, b)):
        bits, sign = _bits(lax.stop_gradient(x))
        # The sign's type, as that of `bits` may be `ulonglong`, which equals uint64 and JAX does not know.
        unsigned = type(sign)
        infinity = np.asarray(np.inf, x.dtype).view(unsigned)[()]
        is_nan = (bits & ~sign) > infinity
        without_sign_of_zero = jnp.where(bits == sign, jnp.zeros((), bits.dtype), bits)
        codes.append(jnp.where(is_nan, infinity + unsigned(nan), without_sign_of_zero))
    return lax.optimization_barrier((codes[0], codes[1]))


def _bits(x: Array) -> tuple[Array, Any]:
    """Return the bits of floating-point numbers, and the bit that is the sign."""
    unsigned = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[x.dtype.itemsize]
    return lax.bitcast_convert_type(x, unsigned), unsigned(1 << (8 * x.dtype.itemsize - 1))


def _largest_exponent(*arrays: Array, axis: int | None = None, of_zero: int = 0) -> Array:
    """Return the exponent of the largest finite size of all arrays, with the axis kept.

    Where there is none, or all are 0, it is `of_zero`.
    """
    none = -4 * jnp.finfo(arrays[0].dtype).maxexp
    exponents = []
    for x in map(lax.stop_gradient, arrays):
        exponent = jnp.where(jnp.isfinite(x), exponent_from_bits(x, of_zero=none), none)
        exponents.append(jnp.max(exponent, axis=axis, keepdims=axis is not None, initial=none))
    largest = functools.reduce(jnp.maximum, exponents)
    return jnp.where(largest == none, of_zero, largest)


def _halved_exponent(x: Array) -> Array:
    """Return half of the exponents, rounded down; 0 for what is not positive and finite."""
    x = lax.stop_gradient(x)
    exponent = exponent_of(jnp.where((x > 0) & (x < jnp.inf), x, 0)) - 1
    return jnp.where((x > 0) & (x < jnp.inf), exponent // 2, 0)


def _in_two_steps(exponent: Array, dtype: np.dtype) -> Array:
    """Return an exponent that `times_power_of_two` can take."""
    limit = 2 * (jnp.finfo(dtype).maxexp - 2)
    return jnp.clip(exponent, -limit, limit)
