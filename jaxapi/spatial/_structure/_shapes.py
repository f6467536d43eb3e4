"""Shapes, and whether one comes again: compiling for one that does not takes longer than the host's way."""

import itertools
import math
from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

__all__ = ["by_host", "calls_before", "has_open_shape", "in_blocks", "in_shape"]

_BY_HOST = 4  # calls for each shape
_BLOCK = 256
_LARGE = 1 << 25  # bytes, from which on the way to the host and back takes as long as compiling


def in_shape(x, shape: tuple[int, ...]):
    """Return an array in a shape; where it has it already, JAX's `reshape` takes long to see that."""
    return x if x.shape == shape else x.reshape(shape)


def has_open_shape(x) -> bool:
    """Tell whether a dimension is a symbol of `jax.export`."""
    return not all(isinstance(size, int) for size in x.shape)


def in_blocks(search, x, *others):
    """Return what a search gives for queries (..., m) of an open number, and for others (...) of theirs.

    Programs for such a number are made of pieces of a known one, searched one after another.
    """
    batch, q = x.shape[:-1], math.prod(x.shape[:-1])
    blocks = (q + _BLOCK - 1) // _BLOCK

    def block(a):
        inner = a.shape[len(batch) :]
        extra = (0, blocks * _BLOCK - q), *((0, 0) for _ in inner)
        return jnp.pad(a.reshape(q, *inner), extra).reshape(blocks, _BLOCK, *inner)

    def unblocked(a):
        inner = a.shape[2:]
        return a.reshape(blocks * _BLOCK, *inner)[:q].reshape(*batch, *inner)

    return jax.tree.map(unblocked, lax.map(lambda parts: search(*parts), tuple(map(block, (x, *others)))))


def by_host(x, work: str, nbytes: int | None = None) -> bool:
    """Tell whether the host is to do some work on `x` that would be compiled for this shape alone.

    Compiling takes as long as hundreds of copies to the host and back, so it waits for shapes that come back.
    `nbytes` is what goes there and back, if not `x`.
    """
    if isinstance(x, np.ndarray):
        return True
    return (nbytes or x.nbytes) < _LARGE and calls_before(work, x.shape, x.dtype) < _BY_HOST


def calls_before(*shape) -> int:
    """Return how often this was called with the same arguments, of late."""
    return next(_calls_of(*shape))


@lru_cache(maxsize=1024)
def _calls_of(*shape):
    return itertools.count()
