"""Queries made ready for a radius search: scaled, ordered by where they fall, one lane each.

Both engines of the radius searches read this; it knows nothing of how a search walks the tree.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax

from ..._typing import Array
from .._structure._homes import home_leaf
from .._structure._metric import scaled_power
from .._structure._tree import Tree
from ._engines import into_box

__all__ = ["Lanes", "following", "last_slot", "node_sums", "query_lanes", "self_lanes", "slack"]


class Lanes(NamedTuple):
    """One query a lane, near queries in near lanes.

    What a lane may report is its `relation` to the slots: 'any', all; 'other', all but its own (the edges of
    a graph); 'later', those after its own (each pair once).
    """

    points: Array  # (m, Q) in the tree's scaled coordinates, wrapped into the periodic box
    bound: Array  # (Q,) the radius as a scaled power: a neighbour has power distance <= bound; -1 for none
    own: Array  # (Q,) slot of the tree that the lane itself is; -1 for a query from outside


def query_lanes(tree: Tree, queries: Array, radius: Array, *, p: float, box: Array | None):
    """Return the lanes of ``queries`` (q, m) and their order: lane ``i`` is query ``order[i]``."""
    queries = queries if box is None else into_box(queries, box)
    scaled = queries * tree.scale
    home = home_leaf(tree, scaled)
    _, order = lax.sort((home, jnp.arange(queries.shape[0], dtype=jnp.int32)), num_keys=1)
    bound = radius_bound(tree, radius, p)
    own = jnp.full(queries.shape[0], -1, jnp.int32)
    return Lanes(scaled[order].T, bound[order], own), order


def self_lanes(tree: Tree, radius: Array, *, p: float) -> Lanes:
    """Return the tree's own points as lanes, in slot order; ``radius`` is one number."""
    slots = tree.points.shape[1]
    bound = jnp.broadcast_to(radius_bound(tree, radius, p), slots)
    return Lanes(tree.points, bound, jnp.arange(slots, dtype=jnp.int32))


def radius_bound(tree: Tree, radius: Array, p: float) -> Array:
    """Return the scaled power of a radius; negative and NaN radii give -1, which nothing reaches.

    An infinite radius stays below infinity, where the tree keeps its empty slots.
    """
    radius = jnp.asarray(radius).astype(tree.points.dtype)
    bound = scaled_power(jnp.maximum(radius, 0), tree.scale, p)
    # The largest finite number, which as a constant would not come through with x64 off
    largest = jnp.nextafter(jnp.full_like(bound, jnp.inf), jnp.zeros_like(bound))
    return jnp.where(radius >= 0, jnp.minimum(bound, largest), jnp.full_like(bound, -1))


def slack(dtype) -> tuple[float, float]:
    """Factors that make a test on a node's box safe against rounding: (lower, upper).

    Only a leaf's points decide what is reported, so that counting and filling agree exactly.
    """
    eps = float(jnp.finfo(dtype).eps)
    return 1 - 16 * eps, 1 + 16 * eps


def node_sums(values: Array, leaves: int) -> Array:
    """Sum values (N,) of the slots over every node: (2 * leaves,) in heap order, entry 0 unused."""
    level = values.reshape(leaves, -1).sum(axis=1, dtype=values.dtype)
    levels = [level]
    while level.shape[0] > 1:
        level = level.reshape(-1, 2).sum(axis=1, dtype=values.dtype)
        levels.append(level)
    return jnp.concatenate([jnp.zeros(1, values.dtype), *levels[::-1]])


def following(node: Array) -> Array:
    """Return the node after ``node``'s subtree in preorder, 0 after the last."""
    ones = lax.population_count(node & ~(node + 1))  # so many times is node a right child in a row
    after = (node >> ones) + 1
    return jnp.where(after > 1, after, 0)


def last_slot(node: Array, leaves: int, slots: int) -> Array:
    """Return the last slot of a node."""
    depth = 31 - lax.clz(node)
    height = (leaves.bit_length() - 1) - depth
    return (((node + 1) << height) - leaves) * (slots // leaves) - 1
