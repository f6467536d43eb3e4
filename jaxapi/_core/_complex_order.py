"""NumPy's order of complex numbers, in which those that are NaN in a part come last."""

import jax
import jax.numpy as jnp
import numpy as np

__all__ = ["sorting_keys"]


def sorting_keys(z: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return real arrays that put complex numbers in NumPy's order: the first decides, then the second.

    After all numbers come those whose imaginary part is NaN, then those whose real part is, then those with
    two. Each of these groups is in the order of the part that is a number.
    """
    real_is_nan = jnp.isnan(z.real)
    imag_is_nan = jnp.isnan(z.imag)
    group = 2 * real_is_nan.astype(np.int8) + imag_is_nan
    real = jnp.where(real_is_nan, 0, z.real)
    imag = jnp.where(imag_is_nan, 0, z.imag)
    return group, real, imag
