"""Queries made ready for a radius search: scaled, and ordered by the leaf that each falls in.

Every engine of the radius searches reads this; it knows nothing of how a search walks the tree.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax

from ..._core._typing import Array
from ._homes import home_leaf
from ._metric import into_box, scaled_power
from ._tree import Tree

__all__ = ["Queries", "node_sums", "ordered_queries", "own_queries", "radius_bound"]


class Queries(NamedTuple):
    """Q queries, those near each other in space also near in number.

    Which slots count as a query's neighbours is a search's `relation`: 'any', all; 'other', all but its own
    (the edges of a graph); 'later', those after its own (each pair once).
    """

    points: Array  # (m, Q) in the tree's scaled coordinates, wrapped into the periodic box
    bound: Array  # (Q,) the radius as a scaled power: a neighbour has power distance <= bound; -1 for none
    own: Array  # (Q,) the query's own slot of the tree; -1 for a query from outside


def ordered_queries(tree: Tree, queries: Array, radius: Array, box: Array | None, *, p: float):
    """Return ``queries`` (q, m) made ready, and their order: number ``i`` is query ``order[i]``."""
    queries = queries if box is None else into_box(queries, box)
    scaled = queries * tree.scale
    home = home_leaf(tree, scaled)
    _, order = lax.sort((home, jnp.arange(queries.shape[0], dtype=jnp.int32)), num_keys=1)
    bound = radius_bound(tree, radius, p)
    own = jnp.full(queries.shape[0], -1, jnp.int32)
    return Queries(scaled[order].T, bound[order], own), order


def own_queries(tree: Tree, radius: Array, *, p: float) -> Queries:
    """Return the tree's own points as queries, in slot order; ``radius`` is one number.

    Empty slots reach nothing, not even in a periodic box, where nothing is farther than half of its length.
    """
    slots = tree.points.shape[1]
    there = jnp.isfinite(tree.points[0])
    bound = radius_bound(tree, radius, p)
    bound = jnp.where(there, bound, -jnp.ones_like(bound))
    return Queries(tree.points, bound, jnp.arange(slots, dtype=jnp.int32))


def radius_bound(tree: Tree, radius: Array, p: float) -> Array:
    """Return the scaled power of a radius; negative and NaN radii give -1, which nothing reaches.

    An infinite radius stays below infinity, where the tree keeps its empty slots.
    """
    radius = jnp.asarray(radius).astype(tree.points.dtype)
    bound = scaled_power(jnp.maximum(radius, 0), tree.scale, p)
    # The largest finite number, which as a constant would not come through with x64 off
    largest = jnp.nextafter(jnp.full_like(bound, jnp.inf), jnp.zeros_like(bound))
    return jnp.where(radius >= 0, jnp.minimum(bound, largest), jnp.full_like(bound, -1))


def node_sums(values: Array, leaves: int) -> Array:
    """Sum values (N,) of the slots over every node: (2 * leaves,) in heap order, entry 0 unused."""
    level = values.reshape(leaves, -1).sum(axis=1, dtype=values.dtype)
    levels = [level]
    while level.shape[0] > 1:
        level = level.reshape(-1, 2).sum(axis=1, dtype=values.dtype)
        levels.append(level)
    return jnp.concatenate([jnp.zeros(1, values.dtype), *levels[::-1]])
