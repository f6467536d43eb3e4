"""Where a mask is True, as steps of programs that write results into buffers."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ._dtypes import x64_for
from ._programs import compiled

__all__ = ["count_true", "index_dtype_for", "put_at", "running_counts", "targets", "true_positions"]


def index_dtype_for(size: int) -> np.dtype:
    """Return the dtype of positions in an array and in a buffer behind it, each of at most that size."""
    return np.dtype(np.int32 if 2 * size <= np.iinfo(np.int32).max else np.int64)


def count_true(x: jax.Array) -> jax.Array:
    """Count what is not 0."""
    dtype = index_dtype_for(x.size)
    with x64_for(x.dtype, dtype):
        return jnp.sum(x != 0, dtype=dtype)


@compiled
def running_counts(x: jax.Array) -> jax.Array:
    """Return how many of a flattened array are not 0 up to each element, that included."""
    dtype = index_dtype_for(x.size)
    with x64_for(x.dtype, dtype):
        return jnp.cumsum(x.reshape(-1) != 0, dtype=dtype)


def targets(is_kept: jax.Array, counts: jax.Array, length: int) -> jax.Array:
    """Return where each element goes in a buffer of `length` that is filled from its start.

    ``counts`` say how many are kept up to each element, that included. What is not kept goes beyond the end,
    and no two elements go to the same place, so that a program may write all at once.
    """
    positions = lax.iota(counts.dtype, counts.size)
    return jnp.where(is_kept, counts - 1, length + positions - counts)


def true_positions(is_true: jax.Array, counts: jax.Array, length: int) -> jax.Array:
    """Return the positions of what is True in a flattened mask, and 0 behind them in a buffer of `length`."""
    positions = lax.iota(counts.dtype, counts.size)
    return put_at(jnp.zeros(length, counts.dtype), targets(is_true, counts, length), positions)


def put_at(buffer: jax.Array, where_to: jax.Array, values: jax.Array) -> jax.Array:
    """Return a buffer with values written to different places; what goes beyond the end is left out.

    ``buffer.at[where_to]`` narrows places to the bits that count the buffer: those far beyond its end would
    come to lie in it.
    """
    dimensions = lax.ScatterDimensionNumbers((), (0,), (0,))
    mode = lax.GatherScatterMode.FILL_OR_DROP
    return lax.scatter(buffer, where_to[:, None], values, dimensions, unique_indices=True, mode=mode)
