"""Anything array-like to a `jax.Array` that keeps its dtype, 64-bit included."""

import jax
import jax.numpy as jnp
import numpy as np

from ._typing import Array

__all__ = ["as_array"]


def as_array(x) -> Array:
    """Convert anything array-like; arrays keep their dtype, Python numbers take JAX's default."""
    if isinstance(x, jax.Array):
        return x
    host = np.asarray(x)
    with jax.enable_x64(True):
        array = jnp.asarray(host)
    if hasattr(x, "dtype"):
        return array
    return array.astype(jax.dtypes.canonicalize_dtype(array.dtype))
