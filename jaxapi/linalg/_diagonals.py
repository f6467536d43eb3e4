"""The diagonals of matrices, and their sums."""

import jax.numpy as jnp

from .._interop._array_arguments import takes_array

__all__ = ["diagonal", "trace"]

diagonal = takes_array(jnp.linalg.diagonal)
trace = takes_array(jnp.linalg.trace)
