"""NaN in reductions to the largest and the smallest.

On the CPU XLA (of JAX 0.10 to 0.12 at least) loses the NaN among some thousand float32 or float64: `jnp.max`
gives the largest of the rest.
"""

import jax.numpy as jnp
from jax import lax

__all__ = ["with_nan"]


def with_nan(extreme, x, axis=None, keepdims=False, where=None):
    """Return ``extreme``, the result of a reduction of ``x``, with NaN where it should be."""
    if not jnp.issubdtype(x.dtype, jnp.floating):
        return extreme

    def put_back(extreme, x):
        lost = jnp.any(jnp.isnan(x), axis=axis, keepdims=keepdims, where=where)
        return jnp.where(lost, jnp.array(jnp.nan, extreme.dtype), extreme)

    return lax.platform_dependent(extreme, x, cpu=put_back, default=lambda extreme, x: extreme)
