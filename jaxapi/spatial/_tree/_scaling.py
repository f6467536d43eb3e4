"""The units of trees and queries, powers of two in which powers of distances neither overflow nor vanish."""

from typing import NamedTuple

import jax.numpy as jnp

from ..._core._typing import Array
from ._metric import TreeMetric, largest_exponent
from ._powers_of_two import exponent_of, power_of_two, times_power_of_two, unscaled
from ._tree import Tree

__all__ = [
    "NearQueries",
    "a_point",
    "brought_near",
    "doubled",
    "exponent_of_unit",
    "needs_room",
    "with_room_for_powers",
]


class NearQueries(NamedTuple):
    """Queries so near to a tree that powers of distances to its points fit."""

    x: Array  # (q, m)
    bound: Array  # (q,)
    halvings: Array  # (q,) how often the way to the tree was halved, 0 for most

    def distances(self, distances: Array) -> Array:
        """Return what distances (q, k) of these queries are from where they were."""
        return doubled(distances, self.halvings[:, None])


def brought_near(tree: Tree, x: Array, bound: Array, metric: TreeMetric) -> NearQueries:
    """Return queries (q, m) and their bounds (q,), moved so near to the tree that powers fit.

    A query whose powers would overflow is moved towards the tree: its distance and its bound are halved until
    they do not. From so far all points of the tree are equally near, up to rounding, and as near from the
    same distance on its other side, also beyond the sides of a periodic box.
    """
    # Where powers are greater than squares, the tree is brought to a unit with room for them.
    most = largest_exponent(x.dtype, x.shape[1], 2.0 if needs_room(metric.p) else metric.p)
    point = a_point(tree)[None]
    half = jnp.abs(x / 2 - point / 2)  # of the way, which may overflow
    if metric.boxsize is not None:
        boxsize = jnp.broadcast_to(metric.boxsize, x.shape)
        half = jnp.where(boxsize > 0, jnp.minimum(half, boxsize / 2 - half), half)
    largest = jnp.max(jnp.where(jnp.isfinite(half), half, 0), axis=1)
    halvings = jnp.maximum(exponent_of(largest) + exponent_of(tree.scale) - most, 0)
    halvings = jnp.where(largest > 0, halvings, 0)
    way = times_power_of_two(half, 1 - halvings[:, None])
    x = jnp.where(halvings[:, None] > 0, point + way, x)
    return NearQueries(x, doubled(bound, -halvings), halvings)


def doubled(distances: Array, times: Array) -> Array:
    """Return distances that are doubled so many times, as those of most are none; -1 halves."""
    return jnp.where(times == 0, distances, times_power_of_two(distances, times))


def with_room_for_powers(tree: Tree, p: float, queries: Array | None = None) -> Tree:
    """Return the tree in a unit in which no power of its points' distances from each other overflows.

    Nor of those from `queries` (q, m), in the user's units, which `brought_near` has returned. A tree's own
    unit is made for squares.
    """
    if not needs_room(p):
        return tree
    return tree.rescaled(power_of_two(exponent_of_unit(tree, p, queries), tree.scale.dtype))


def exponent_of_unit(tree: Tree, p: float, queries: Array | None = None) -> Array:
    """Return the exponent of the factor for `with_room_for_powers`, at most 0."""
    m = tree.points.shape[0]
    first = jnp.where(jnp.isfinite(tree.points[:, :1]), tree.points[:, :1], 0)
    ways = jnp.abs(tree.points - first)
    largest = jnp.max(jnp.where(jnp.isfinite(ways), ways, 0))
    if queries is not None:
        ways = jnp.abs(tree.scaled(queries).T - first)
        largest = jnp.maximum(largest, jnp.max(jnp.where(jnp.isfinite(ways), ways, 0), initial=0))
    # A difference of two ways may be twice as long.
    headroom = largest_exponent(tree.scale.dtype, m, p) - 1
    return jnp.minimum(headroom - exponent_of(largest), 0)


def needs_room(p: float) -> bool:
    """Tell whether powers overflow where squares do not."""
    return p in (3, 4)


def a_point(tree: Tree) -> Array:
    """Return one of the tree's points (m,) in the user's units; 0 where the first slot has none."""
    point = tree.points[:, 0]
    return unscaled(jnp.where(jnp.isfinite(point), point, 0), tree.scale)
