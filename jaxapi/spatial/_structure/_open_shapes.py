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
    batch, q = x.shape[:-1], math.prod(x.shape[:-1])
    blocks = (q + BLOCK - 1) // BLOCK

    def block(a):
        inner = a.shape[len(batch) :]
        extra = (0, blocks * BLOCK - q), *((0, 0) for _ in inner)
        return jnp.pad(a.reshape(q, *inner), extra).reshape(blocks, BLOCK, *inner)

    def unblocked(a):
        inner = a.shape[2:]
        return a.reshape(blocks * BLOCK, *inner)[:q].reshape(*batch, *inner)

    return jax.tree.map(unblocked, lax.map(lambda parts: search(*parts), tuple(map(block, (x, *others)))))
