"""The order of queries: by the leaf that each falls in, so that a packet's queries are neighbours.

One kernel (Pallas, Triton route) takes each query down the tree, and one sort does the rest.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import pallas as pl

from ..._typing import Array
from .._structure._homes import split_planes
from .._structure._tree import Tree
from ._launch import launch
from ._walk import LANES, ONE

__all__ = ["order_queries"]

KEY_BITS = 31


def order_queries(
    tree: Tree, queries: Array, finite: Array, *, interpret: bool = False
) -> tuple[Array, Array]:
    """Return the leaves that the (scaled) queries fall in, ascending, and the order of the queries.

    There is a multiple of `LANES` of them, (q, m). The box of those that are `finite` (q,) is what the splits
    divide into cells. Queries of one leaf, and far from all points these may be many, follow a Morton curve
    through its cell.
    """
    count, m = queries.shape
    axes = min(m, KEY_BITS - tree.levels)
    bits = (KEY_BITS - tree.levels) // axes
    axis, split = split_planes(tree)
    inputs = axis, split, _box(queries, finite[:, None]), queries

    def kernel(axis, split, box, queries, keys):
        lanes = pl.program_id(0) * LANES + lax.iota(jnp.int32, LANES)
        x = [queries[lanes, a] for a in range(m)]
        cell = [(jnp.full_like(x[a], box[0, a]), jnp.full_like(x[a], box[1, a])) for a in range(m)]

        def descend(_, carried):
            node, cell = carried
            along, at = axis[node], split[node]
            right, narrower = x[0] > at, []
            for a in range(1, m):
                right = jnp.where(along == np.int32(a), x[a] > at, right)
            for a, (low, high) in enumerate(cell):
                here = (along == np.int32(a)) & (at > low) & (at < high)
                narrower.append((jnp.where(here & right, at, low), jnp.where(here & ~right, at, high)))
            return node + node + right.astype(jnp.int32), narrower

        node = jnp.full((LANES,), ONE)
        node, cell = lax.fori_loop(np.int32(0), np.int32(tree.levels), descend, (node, cell))
        places = [_place(x[a], *cell[a], bits) for a in range(axes)]
        key = node - np.int32(tree.leaves)
        for bit in reversed(range(bits)):
            for place in places:
                key = (key << ONE) | (lax.shift_right_logical(place, np.int32(bit)) & ONE)
        keys[lanes] = key

    out = jax.ShapeDtypeStruct((count,), jnp.int32)
    keys = launch(kernel, count // LANES, inputs, out, interpret=interpret)
    keys, order = lax.sort((keys, lax.iota(jnp.int32, count)), num_keys=1)
    return keys >> (bits * axes), order


def _place(x, low, high, bits: int):
    """Return the number of the part of [low, high] that x is in, of 2**bits."""
    half = high / 2 - low / 2
    fraction = (x / 2 - low / 2) / jnp.where(half > 0, half, jnp.ones_like(half))
    last = np.int32((1 << bits) - 1)
    return jnp.minimum((fraction * (1 << bits)).astype(jnp.int32), last)


def _box(queries: Array, counts: Array) -> Array:
    """Return the least and the greatest coordinates of the queries that count: (2, m)."""
    m = queries.shape[1]
    lines = -1, m * math.gcd(len(queries), 64)  # XLA reduces these several times as fast as lines of three
    lower = jnp.where(counts, queries, jnp.inf).reshape(lines).min(axis=0)
    upper = jnp.where(counts, queries, -jnp.inf).reshape(lines).max(axis=0)
    return jnp.stack([lower.reshape(-1, m).min(axis=0), upper.reshape(-1, m).max(axis=0)])
