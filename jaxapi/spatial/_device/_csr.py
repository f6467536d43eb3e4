"""Compressed sparse rows: which query a neighbour belongs to."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from ..._core._dtypes import x64_for
from ..._core._programs import any_traced, compiled, eagerly
from .._structure._build import padded_size
from .._structure._lengths import first_lines
from . import _engines
from ._arrays import constant_on, placed_like

__all__ = ["query_numbers"]


def query_numbers(indptr, indices):
    """Return the number of the query of each of the `indices`, in their dtype."""
    total, dtype = indices.shape[0], indices.dtype
    if any_traced(indptr, indices) or len(indices.devices()) > 1:
        return _query_numbers(indptr, size=total, dtype=dtype)
    with eagerly(), x64_for(indptr.dtype, dtype):
        if indices.devices().pop().platform == "cpu":
            counts = np.diff(np.asarray(indptr))
            return placed_like(indices, np.repeat(np.arange(len(counts), dtype=dtype), counts))[0]
        engine, ends = _engines.engine_of(indices), indptr.shape[0]
        room = engine.with_room(indptr, padded_size(ends), indices.sharding)
        count = constant_on(ends, np.dtype(np.int32), indices.sharding)
        numbers = _query_numbers_of_lines(room, count, size=padded_size(total), dtype=dtype, engine=engine)
        return first_lines(total, numbers)[0]


@partial(compiled, static_argnames=("size", "dtype", "engine"))
def _query_numbers_of_lines(room, count, *, size: int, dtype, engine):
    indptr = _engines.run(engine, "lines", room, count, dtype=room.dtype)
    return _query_numbers(indptr, size=size, dtype=dtype)


@partial(jax.jit, static_argnames=("size", "dtype"))
def _query_numbers(indptr, *, size: int, dtype):
    """Count for each place how many queries end at or before it."""
    ends = jnp.zeros(size, dtype).at[indptr[1:]].add(1, mode="drop")
    return jnp.cumsum(ends, dtype=dtype)
