"""Sorting functions (chapter "Sorting functions" of the standard)."""

import jax.numpy as jnp

from ._interop._arguments import takes_array

__all__ = ["argsort", "sort"]

argsort = takes_array(jnp.argsort)
sort = takes_array(jnp.sort)
