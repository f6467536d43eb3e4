"""Numbers of queries that `jax.export` leaves open."""

import math

import jax
import jax.numpy as jnp
from jax import lax

__all__ = ["has_open_shape", "in_blocks"]

BLOCK = 256


def has_open_shape(shape) -> bool:
    """Tell whether a dimension is a symbol of `jax.export`."""
    return {int, *map(type, shape)} != {int}


def in_blocks(search, x, *others):
    """Return what a search gives for queries (..., m) of an open number, and for others (...) of theirs.

    Programs for such a number are made of pieces of a known one, searched one after another.
    """
    batch = x.shape[:-1]
    q = math.prod(batch)
    block_count = (q + BLOCK - 1) // BLOCK

    def blocks_of(values):
        inner = values.shape[len(batch) :]
        padding = (0, block_count * BLOCK - q), *((0, 0) for _ in inner)
        padded = jnp.pad(values.reshape(q, *inner), padding)
        return padded.reshape(block_count, BLOCK, *inner)

    def of_batch(values):
        inner = values.shape[2:]
        queries = values.reshape(block_count * BLOCK, *inner)[:q]
        return queries.reshape(*batch, *inner)

    blocks = tuple(map(blocks_of, (x, *others)))
    results = lax.map(lambda block: search(*block), blocks)
    return jax.tree.map(of_batch, results)
