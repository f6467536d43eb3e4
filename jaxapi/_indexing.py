"""Indexing functions (chapter "Indexing functions" of the standard)."""

import jax.numpy as jnp

from ._array_arguments import takes_array

__all__ = [
    "take",
    "take_along_axis",
]

take = takes_array(jnp.take, "indices")
take_along_axis = takes_array(jnp.take_along_axis, "indices")
