"""Scaling by powers of two, which is exact, so that squares neither overflow nor vanish."""

import jax.numpy as jnp
from jax import lax

from .._core._typing import Array

__all__ = ["largest_power", "times"]


def largest_power(x: Array, axis: int) -> Array:
    """Return the power of two next to the largest element along an axis; 1 where that is 0, NaN or inf."""
    parts = jnp.maximum(jnp.abs(x.real), jnp.abs(x.imag)) if jnp.iscomplexobj(x) else jnp.abs(x)
    largest = lax.stop_gradient(parts).max(axis=axis, keepdims=True)
    power = lax.reduce_precision(largest / 2, jnp.finfo(largest.dtype).nexp, 0)
    return jnp.where((power > 0) & (power < jnp.inf), power, 1)


def times(x: Array, factor: Array) -> Array:
    """Multiply by a real factor, part by part: an infinite real part leaves the imaginary one alone."""
    return lax.complex(x.real * factor, x.imag * factor) if jnp.iscomplexobj(x) else x * factor
