"""Powers of two, by which numbers are multiplied without rounding.

XLA takes subnormal numbers for 0 on CPUs. Functions that say so read them from their bits, in 32-bit
integers: `jax.numpy.frexp` fails for float64 traced with x64 off.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core._typing import Array

__all__ = [
    "converted",
    "exponent_from_bits",
    "exponent_of",
    "is_small",
    "power_of_two",
    "scaled",
    "scaled_from_bits",
    "times_power_of_two",
    "unit_of_small",
    "unscaled",
]

SIGN = np.uint32(1 << 31)


def times_power_of_two(x: Array, exponent: Array) -> Array:
    """Return ``x * 2**exponent``, in two steps: the power alone may be out of range."""
    half = exponent // 2
    return x * power_of_two(half, x.dtype) * power_of_two(exponent - half, x.dtype)


def power_of_two(exponent: Array, dtype) -> Array:
    """Return ``2**exponent``, for a normal result; from the bits, as in `exponent_of`."""
    info = jnp.finfo(dtype)
    biased = (exponent + (1 - info.minexp)).astype(jnp.uint32)
    if info.bits == 64:
        high = biased << (info.nmant - 32)
        return _of_words(jnp.zeros_like(high), high, dtype)
    return lax.bitcast_convert_type(biased << info.nmant, dtype)


def _of_words(low: Array, high: Array, dtype) -> Array:
    """Return the numbers of 64 bits that have these words of 32 bits.

    `jnp.reshape` puts a batch's axis in front under `jax.vmap`: JAX does not convert words that have it last.
    """
    words = jnp.stack([low[..., None], high[..., None]], axis=-1).reshape(*low.shape, 2)
    return lax.bitcast_convert_type(words, dtype)


def exponent_of(x: Array) -> Array:
    """Return ``e`` with ``2**(e - 1) <= x < 2**e`` for a normal x >= 0; 0 for 0."""
    info = jnp.finfo(x.dtype)
    words = lax.bitcast_convert_type(x, jnp.uint32)
    high, mantissa = (words[..., 1], info.nmant - 32) if info.bits == 64 else (words, info.nmant)
    exponent = (high >> mantissa).astype(jnp.int32) + info.minexp
    return jnp.where(x > 0, exponent, 0)


@jax.custom_jvp
def scaled_from_bits(x: Array, exponent: Array) -> Array:
    """Return `times_power_of_two` of any x, a subnormal one too."""
    info = jnp.finfo(x.dtype)
    small = _subnormal(x)
    number = jnp.where(small.is_subnormal, small.fraction, x)
    exponent = jnp.where(small.is_subnormal, jnp.maximum(exponent + info.minexp, 2 * info.minexp), exponent)
    return times_power_of_two(number, exponent)


@scaled_from_bits.defjvp
def _slope_of_scaled(primals: Any, tangents: Any) -> tuple[Array, Array]:
    x, exponent = primals
    return scaled_from_bits(x, exponent), times_power_of_two(tangents[0], exponent)


def scaled(x: Array, scale: Array) -> Array:
    """Return ``x * scale`` of any x, a subnormal one too; `scale` is a normal power of two."""
    return scaled_from_bits(x, exponent_of(scale) - 1)


@jax.custom_jvp
def unscaled(x: Array, scale: Array) -> Array:
    """Return ``x / scale``, a subnormal number too; `scale` is a normal power of two."""
    info = jnp.finfo(x.dtype)
    mantissa, word_count = (info.nmant - 32, 2) if info.bits == 64 else (info.nmant, 1)
    # Subnormal numbers are multiples of the least one. What is added to the multiple rounds it, and leaves
    # it in the bits of the fraction.
    to_multiples = info.nmant - info.minexp - (exponent_of(scale) - 1)
    multiple = times_power_of_two(jnp.abs(x), jnp.minimum(to_multiples, 2 * (info.maxexp - 2)))
    added = power_of_two(jnp.full((), info.nmant, jnp.int32), x.dtype)
    is_subnormal = multiple < added
    sums = lax.bitcast_convert_type(jnp.where(is_subnormal, multiple, 0) + added, jnp.uint32)
    sums = sums.reshape(*x.shape, word_count)
    sign = lax.bitcast_convert_type(x, jnp.uint32).reshape(*x.shape, word_count)[..., -1] & SIGN
    high = sums[..., -1] - np.uint32(info.nmant + 1 - info.minexp << mantissa) | sign
    if word_count == 1:
        subnormal = lax.bitcast_convert_type(high, x.dtype)
    else:
        subnormal = _of_words(sums[..., 0], high, x.dtype)
    return jnp.where(is_subnormal, subnormal, x / scale)


@unscaled.defjvp
def _slope_of_unscaled(primals: Any, tangents: Any) -> tuple[Array, Array]:
    x, scale = primals
    return unscaled(x, scale), tangents[0] / scale


def converted(x: Array, dtype) -> Array:
    """Return ``x.astype(dtype)``, also of subnormal numbers from float32 to float64 and back."""
    if {x.dtype, np.dtype(dtype)} == {np.dtype(np.float32), np.dtype(np.float64)}:
        return _compiled_conversion(x, np.dtype(dtype))
    return x.astype(dtype)


@partial(jax.custom_jvp, nondiff_argnums=(1,))
def _converted(x: Array, dtype: np.dtype) -> Array:
    if dtype.itemsize > x.dtype.itemsize:
        unit = unit_of_small(x.dtype)
        from_bits = scaled(x, unit).astype(dtype) / unit.astype(dtype)
        return jnp.where(_subnormal(x).is_subnormal, from_bits, x.astype(dtype))
    unit = unit_of_small(dtype)
    multiples = x * unit.astype(x.dtype)
    return jnp.where(jnp.abs(multiples) < 1, unscaled(multiples.astype(dtype), unit), x.astype(dtype))


@_converted.defjvp
def _slope_of_converted(dtype: np.dtype, primals: Any, tangents: Any) -> tuple[Array, Array]:
    return _converted(primals[0], dtype), tangents[0].astype(dtype)


_compiled_conversion = jax.jit(_converted, static_argnums=1)


def unit_of_small(dtype: np.dtype) -> Array:
    """Return a power of two by which subnormal numbers become normal ones, and so their reciprocals."""
    return power_of_two(jnp.full((), -jnp.finfo(dtype).minexp // 2, jnp.int32), dtype)


def is_small(x: Array) -> Array:
    """Tell which numbers are so small that differences of them may be subnormal."""
    info = jnp.finfo(x.dtype)
    limit = power_of_two(jnp.full((), info.minexp + info.nmant + 2, jnp.int32), x.dtype)
    return jnp.abs(lax.stop_gradient(x)) < limit


def exponent_from_bits(x: Array, of_zero: int) -> Array:
    """Return `exponent_of` the size of any x, a subnormal one too; `of_zero` for 0."""
    small = _subnormal(x)
    fraction = jnp.abs(small.fraction)
    of_subnormal = jnp.where(fraction > 0, exponent_of(fraction) + jnp.finfo(x.dtype).minexp, of_zero)
    return jnp.where(small.is_subnormal, of_subnormal, exponent_of(jnp.abs(x)))


class _Subnormal(NamedTuple):
    """Numbers read as subnormal ones."""

    is_subnormal: Array  # or 0
    fraction: Array  # where it is: the number times 2**-minexp, which is normal


def _subnormal(x: Array) -> _Subnormal:
    info = jnp.finfo(x.dtype)
    words = lax.bitcast_convert_type(x, jnp.uint32)
    high, mantissa = (words[..., 1], info.nmant - 32) if info.bits == 64 else (words, info.nmant)
    without_sign = high & 0x7FFFFFFF
    # Behind the exponent of 1 the bits of a subnormal number read as 1 and its fraction.
    high_of_one = without_sign | (1 - info.minexp << mantissa)
    if info.bits == 64:
        one_and_fraction = _of_words(words[..., 0], high_of_one, x.dtype)
    else:
        one_and_fraction = lax.bitcast_convert_type(high_of_one, x.dtype)
    fraction = one_and_fraction - 1
    fraction = jnp.where(high == without_sign, fraction, -fraction)
    return _Subnormal(without_sign >> mantissa == 0, fraction)
