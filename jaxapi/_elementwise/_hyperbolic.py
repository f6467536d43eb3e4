"""The real hyperbolic sine and cosine, accurate over their whole range.

XLA takes them as ``exp(x + log(1/2))``, whose argument is rounded to the precision of ``x``: hundreds of ulp
near the overflow. Here no argument is rounded.
"""

import math

import jax
import jax.numpy as jnp
from jax import lax

from .._core._typing import Array

__all__ = ["cosh", "sinh"]


def sinh(x: Array) -> Array:
    """Hyperbolic sine of real numbers, to 3 ulp."""
    return _sinh(x) if _is_wide_enough(x) else jnp.sinh(x)


def cosh(x: Array) -> Array:
    """Hyperbolic cosine of real numbers, to 3 ulp."""
    return _cosh(x) if _is_wide_enough(x) else jnp.cosh(x)


@jax.custom_jvp
def _sinh(x: Array) -> Array:
    magnitude = jnp.abs(x)
    small = jnp.expm1(jnp.minimum(magnitude, _LARGE))
    near = (small + small / (small + 1)) / 2
    return jnp.copysign(jnp.where(magnitude < _LARGE, near, _half_exp(magnitude)), x)


@jax.custom_jvp
def _cosh(x: Array) -> Array:
    magnitude = jnp.abs(x)
    small = jnp.exp(jnp.minimum(magnitude, _LARGE))
    near = small / 2 + 1 / small / 2
    return jnp.where(magnitude < _LARGE, near, _half_exp(magnitude))


@_sinh.defjvp
def _sinh_jvp(primals, tangents):
    return _sinh(*primals), _cosh(*primals) * tangents[0]


@_cosh.defjvp
def _cosh_jvp(primals, tangents):
    return _cosh(*primals), _sinh(*primals) * tangents[0]


# From here on exp(-x) is beyond the last bit of exp(x) in float64, and x - 1 is exact in any dtype.
_LARGE = 20.0


def _half_exp(x: Array) -> Array:
    """``exp(x) / 2``, which overflows later than ``exp(x)``."""
    # As a literal the constant would have 32 bits where x64 is off.
    return jnp.exp(x - 1) * lax.full((), math.e / 2, x.dtype)


def _is_wide_enough(x: Array) -> bool:
    """Say whether the dtype is float32 or float64: XLA computes narrower ones in float32, to the last bit."""
    return x.dtype in (jnp.float32, jnp.float64)
