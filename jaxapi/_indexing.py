"""Indexing functions (chapter "Indexing functions" of the standard)."""

import functools

import jax.numpy as jnp

from ._core._dtypes import as_indices
from ._interop._array_arguments import takes_array

__all__ = ["take", "take_along_axis"]


def _with_any_indices(function):
    """Return a function that takes indices of narrow dtypes, too."""

    @functools.wraps(function)
    def taken(x, indices, *options, **named_options):
        return function(x, as_indices(indices), *options, **named_options)

    return taken


take = takes_array(_with_any_indices(jnp.take), "indices")
take_along_axis = takes_array(_with_any_indices(jnp.take_along_axis), "indices")
