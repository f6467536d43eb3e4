"""Compressed sparse rows: which query a neighbor belongs to."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from .._core._constants import constant_on
from .._core._dtypes import x64_for
from .._core._lengths import first_rows
from .._core._programs import any_traced, compiled, eagerly
from ._arrays import placed_like
from ._engines import _choice
from ._tree._build import padded_size

__all__ = ["query_numbers"]


def query_numbers(indptr, indices):
    """Return the number of the query of each of the `indices`, in their dtype."""
    total = indices.shape[0]
    dtype = indices.dtype
    if any_traced(indptr, indices) or len(indices.devices()) > 1:
        return _query_numbers(indptr, size=total, dtype=dtype)
    with eagerly(), x64_for(indptr.dtype, dtype):
        if indices.devices().pop().platform == "cpu":
            counts = np.diff(np.asarray(indptr))
            return placed_like(indices, np.repeat(np.arange(len(counts), dtype=dtype), counts))[0]
        engine = _choice.engine_of(indices)
        end_count = indptr.shape[0]
        padded = engine.as_input(indptr, padded_size(end_count), indices.sharding)
        count = constant_on(end_count, np.dtype(np.int32), indices.sharding)
        numbers = _query_numbers_of_input(padded, count, size=padded_size(total), dtype=dtype, engine=engine)
        return first_rows(total, numbers)[0]


@partial(compiled, static_argnames=("size", "dtype", "engine"))
def _query_numbers_of_input(padded, count, *, size: int, dtype, engine):
    indptr = engine.read_input(padded, count, dtype=padded.dtype)
    return _query_numbers(indptr, size=size, dtype=dtype)


@partial(jax.jit, static_argnames=("size", "dtype"))
def _query_numbers(indptr, *, size: int, dtype):
    """Count for each place how many queries end at or before it."""
    ends = jnp.zeros(size, dtype).at[indptr[1:]].add(1, mode="drop")
    return jnp.cumsum(ends, dtype=dtype)
