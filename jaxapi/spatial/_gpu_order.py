"""The order of queries: by the leaf that each falls in, so that a packet's queries are neighbours."""

import math

import jax.numpy as jnp
from jax import lax

from .._typing import Array
from ._build import largest
from ._tree import Tree

__all__ = ["order_queries"]

MORTON_BITS = 30


def order_queries(tree: Tree, queries: Array) -> tuple[Array, Array]:
    """Return the leaves that the (scaled) queries fall in, ascending, and the order of the queries.

    Those in one leaf, and far from all points these may be many, follow a Morton curve.
    """
    _, order = lax.sort((_morton(queries), lax.iota(jnp.int32, queries.shape[0])), num_keys=1)
    leaf = home_leaf(tree, queries)[order]
    return lax.sort((leaf, order), num_keys=1, is_stable=True)


def home_leaf(tree: Tree, queries: Array) -> Array:
    """Return the leaf that each query falls in.

    Siblings are split where their boxes lie farthest apart (or overlap least), halfway.
    """
    m = queries.shape[1]
    lower, upper = (box.reshape(m, -1, 2) for box in (tree.lower, tree.upper))  # (m, L, sibling)
    axis = largest(lower[:, :, 1] - upper[:, :, 0])
    halfway = upper[:, :, 0] / 2 + lower[:, :, 1] / 2
    split = jnp.take_along_axis(halfway, axis[None], axis=0)[0]
    node = jnp.ones(queries.shape[0], jnp.int32)
    for _ in range(tree.levels):
        along = axis.at[node].get(mode="promise_in_bounds")
        x = queries[:, 0]
        for a in range(1, m):
            x = jnp.where(along == a, queries[:, a], x)
        node = 2 * node + (x > split.at[node].get(mode="promise_in_bounds")).astype(jnp.int32)
    return node - tree.leaves


def _morton(queries: Array) -> Array:
    """Return each query's place on a Morton curve through the box of all queries, as uint32."""
    axes = min(queries.shape[1], MORTON_BITS)
    bits = MORTON_BITS // axes
    queries = queries[:, :axes]
    # Long lines first: XLA reduces those several times as fast as lines of three.
    lines = queries.reshape(-1, axes * math.gcd(len(queries), 64))
    lower, upper = (
        lines.min(axis=0).reshape(-1, axes).min(axis=0),
        lines.max(axis=0).reshape(-1, axes).max(axis=0),
    )
    width = upper / 2 - lower / 2
    fraction = (queries / 2 - lower / 2) / jnp.where(width > 0, width, 1)
    cells = jnp.clip(fraction * 2**bits, 0, 2**bits - 1).astype(jnp.uint32)
    code = jnp.zeros(queries.shape[0], jnp.uint32)
    for place in reversed(range(bits)):
        for a in range(axes):
            code = (code << 1) | ((cells[:, a] >> place) & 1)
    return code
