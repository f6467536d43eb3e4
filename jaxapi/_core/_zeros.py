"""The sign of results that are 0, which XLA does not keep as IEEE 754 has it: ``x + 0`` is ``x`` to it."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ._typing import Array

__all__ = ["with_positive_zeros", "with_sign_of_zero"]


@jax.custom_jvp
def with_sign_of_zero(x: Array, is_negative: Array) -> Array:
    """Return real numbers whose zeros are negative where that is said, and positive elsewhere."""
    zero = jnp.where(is_negative, -jnp.zeros_like(x), jnp.zeros_like(x))
    return jnp.where(x == 0, zero, x)


@with_sign_of_zero.defjvp
def _with_sign_of_zero_jvp(primals: Any, tangents: Any) -> Any:
    return with_sign_of_zero(*primals), tangents[0]


@jax.custom_jvp
def with_positive_zeros(x: Array) -> Array:
    """Return numbers without negative zeros, as NumPy's sums have none, which begin with 0.

    Their derivatives are those of the numbers. JAX's own, of both parts of a complex number, fail where x64
    mode is off when they are transposed.
    """
    if jnp.iscomplexobj(x):
        return jax.lax.complex(with_positive_zeros(x.real), with_positive_zeros(x.imag))
    return with_sign_of_zero(x, np.False_)


@with_positive_zeros.defjvp
def _with_positive_zeros_jvp(primals: Any, tangents: Any) -> Any:
    return with_positive_zeros(*primals), tangents[0]
