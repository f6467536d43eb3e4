"""Floors of quotients and remainders of real floating numbers, which fit together as NumPy's do."""

import jax.numpy as jnp
import numpy as np
from jax import lax

from .._core._dtypes import x64_for
from .._core._quotients import quotient
from .._core._typing import Array

__all__ = ["float_floor_divide", "float_remainder"]


def float_floor_divide(x1: Array, x2: Array) -> Array:
    """Return NumPy's `floor_divide` of arrays of one floating dtype and one shape.

    What is divided is ``x1`` without its remainder: the quotient itself may be rounded up to the next whole
    number, whose remainder would be negative.
    """
    dtype = x1.dtype
    if dtype.itemsize < 4:  # as NumPy computes
        return float_floor_divide(x1.astype(np.float32), x2.astype(np.float32)).astype(dtype)
    with x64_for(dtype):
        ratio = x1 / x2  # of which the sign is used, and what division by 0 gives: no rounding matters
        rest = lax.rem(x1, x2)
        nearly_whole = quotient(x1 - rest, x2)
        nearly_whole = jnp.where(_has_other_sign(rest, x2), nearly_whole - 1, nearly_whole)
        floor = jnp.floor(nearly_whole)
        # Rounding may have put it just below a whole number.
        floor = jnp.where(nearly_whole - floor > 0.5, floor + 1, floor)
        floor = jnp.where(nearly_whole == 0, jnp.copysign(nearly_whole, ratio), floor)
        return lax.stop_gradient(jnp.where(x2 == 0, ratio, floor))


def float_remainder(x1: Array, x2: Array) -> Array:
    """Return NumPy's `remainder` of arrays of one floating dtype and one shape."""
    dtype = x1.dtype
    if dtype.itemsize < 4:
        return float_remainder(x1.astype(np.float32), x2.astype(np.float32)).astype(dtype)
    with x64_for(dtype):
        rest = lax.rem(x1, x2)
        rest = jnp.where(_has_other_sign(rest, x2), rest + x2, rest)
        return jnp.where(rest == 0, jnp.copysign(rest, x2), rest)


def _has_other_sign(rest: Array, divisor: Array) -> Array:
    """Return where a remainder, which has the sign of the dividend, has not that of the divisor."""
    return (rest != 0) & ((rest < 0) != (divisor < 0))
