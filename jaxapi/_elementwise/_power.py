"""Powers whose derivatives are right at zero."""

import functools

import jax
import jax.numpy as jnp
from jax.custom_derivatives import SymbolicZero

__all__ = ["power"]


@jax.custom_jvp
def power(x1, x2):
    """Raise to inexact powers; all derivatives of those to 0, 1, 2 ... are right at 0, too."""
    return jnp.pow(x1, x2)


@functools.partial(power.defjvp, symbolic_zeros=True)
def _power_jvp(primals, tangents):
    """Keep 0 to the 0 constant: JAX makes it 0 * inf, and so the derivatives of x**1, x**2 ... at 0."""
    x1, x2 = primals
    dx1, dx2 = tangents
    value = power(x1, x2)
    change = jnp.zeros_like(value)
    if not isinstance(dx1, SymbolicZero):
        change += x2 * power(x1, jnp.where((x1 == 0) & (x2 == 0), 1, x2 - 1)) * dx1
    if not isinstance(dx2, SymbolicZero):  # if there is a zero instead, a negative base has a derivative
        change += jnp.log(jnp.where(x1 == 0, 1, x1)) * value * dx2
    return value, change.astype(value.dtype)
