"""The shapes that linear algebra needs."""

import jax.numpy as jnp
import numpy as np

from .._core._typing import Array

LINALG = "linear algebra extension"
NOT_SQUARE = """numpy.linalg.LinAlgError
    If the last two axes are not of one size (a ``ValueError``)."""
NO_MATRIX = """numpy.linalg.LinAlgError
    If ``x`` has fewer than two dimensions (a ``ValueError``)."""

__all__ = ["LINALG", "NOT_SQUARE", "NO_MATRIX", "check_system", "matrices", "square"]


def matrices(x: Array) -> Array:
    """Return ``x``, which must have two dimensions or more."""
    shape = jnp.shape(x)
    if len(shape) < 2:
        raise np.linalg.LinAlgError(f"x must be matrices, of shape (..., m, n), got shape {shape}")
    return x


def square(x: Array) -> Array:
    """Return ``x``, whose last two axes must be of one size."""
    shape = jnp.shape(x)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise np.linalg.LinAlgError(f"x must be square matrices, of shape (..., n, n), got shape {shape}")
    return x


def check_system(x1: Array, x2: Array) -> None:
    """Raise ValueError unless ``x2`` is a vector, or matrices, of as many rows as ``x1``."""
    n, shape = jnp.shape(square(x1))[-1], jnp.shape(x2)
    if not shape or shape[-2:][0] != n:
        raise ValueError(f"x2 must have shape ({n},) or (..., {n}, k) for x1 of {x1.shape}, got {shape}")
