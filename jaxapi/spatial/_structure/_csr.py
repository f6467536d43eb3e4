"""Compressed sparse rows: which query a neighbour belongs to."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from ..._tracing import any_traced, eagerly
from ..._x64 import x64_for
from ._build import padded_size
from ._prefix import first_lines
from ._shapes import by_host

__all__ = ["query_numbers"]


def query_numbers(indptr, indices):
    """Return the number of the query of each of the `indices`, in their dtype."""
    total = indices.shape[0]
    if any_traced(indptr, indices):
        return _query_numbers(indptr, size=total, dtype=indices.dtype)
    with eagerly(), x64_for(indptr.dtype, indices.dtype):
        if len(indices.devices()) == 1 and by_host(indptr, "query_numbers", indices.nbytes):
            numbers = np.arange(indptr.shape[0] - 1, dtype=indices.dtype)
            return jax.device_put(np.repeat(numbers, np.diff(np.asarray(indptr))), indices.sharding)
        return first_lines(total, _query_numbers(indptr, size=padded_size(total), dtype=indices.dtype))[0]


@partial(jax.jit, static_argnames=("size", "dtype"))
def _query_numbers(indptr, *, size: int, dtype):
    """Count for each place how many queries end at or before it."""
    ends = jnp.zeros(size, dtype).at[indptr[1:]].add(1, mode="drop")
    return jnp.cumsum(ends, dtype=dtype)
