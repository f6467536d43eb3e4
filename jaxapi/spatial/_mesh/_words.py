"""Arrays of several dtypes as one array of 32-bit words, so that one message carries them all."""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

__all__ = ["packed", "unpacked"]


def packed(tree, axes: int):
    """Return arrays of 32 or 64 bits, whose first `axes` axes are the same, as words (..., w)."""
    words = [
        lax.bitcast_convert_type(a, jnp.uint32).reshape(*a.shape[:axes], -1) for a in jax.tree.leaves(tree)
    ]
    return jnp.concatenate(words, axis=axes)


def unpacked(words, like, axes: int):
    """Return words (..., w) as arrays with the dtypes of those in `like`, and their axes from `axes` on."""
    leaves, structure = jax.tree.flatten(like)
    sizes = [math.prod(a.shape[axes:]) * (a.dtype.itemsize // 4) for a in leaves]
    parts = jnp.split(words, np.cumsum(sizes)[:-1], axis=words.ndim - 1)

    def one(part, a):
        shape = *words.shape[:-1], *a.shape[axes:]
        wide = a.dtype.itemsize == 8
        return lax.bitcast_convert_type(part.reshape(*shape, 2) if wide else part.reshape(shape), a.dtype)

    return jax.tree.unflatten(structure, [one(part, a) for part, a in zip(parts, leaves, strict=True)])
