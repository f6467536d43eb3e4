"""The shapes that linear algebra asks for."""

import jax.numpy as jnp
import numpy as np

from .._typing import Array

__all__ = ["square"]


def square(x: Array) -> Array:
    """Return ``x``, whose last two axes must be of one size."""
    shape = jnp.shape(x)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise np.linalg.LinAlgError(f"x must be square matrices, of shape (..., n, n), got shape {shape}")
    return x
