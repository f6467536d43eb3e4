"""Powers whose derivatives are right at zero, and powers of integers that wrap."""

import functools

import jax
import jax.numpy as jnp
from jax.custom_derivatives import SymbolicZero

__all__ = ["integer_power", "power"]

_BITS_OF_JAX = 6  # of an exponent that `jax.numpy.pow` reads: 3 to the 64 is 1 there


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


def integer_power(x1, x2):
    """Raise integers to powers of the same dtype that are not negative, modulo 2 to its number of bits."""
    low_bits = (1 << _BITS_OF_JAX) - 1

    def any_is_left(state):
        return jnp.any(state[1] > 0)

    def with_next_bits(state):
        base, exponent, result = state
        base = jax.lax.integer_pow(base, low_bits + 1)
        return base, exponent >> _BITS_OF_JAX, result * jnp.pow(base, exponent & low_bits)

    x1, x2 = jnp.broadcast_arrays(x1, x2)
    state = x1, x2 >> _BITS_OF_JAX, jnp.pow(x1, x2 & low_bits)
    return jax.lax.while_loop(any_is_left, with_next_bits, state)[2]
