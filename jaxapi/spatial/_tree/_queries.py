"""What a search reads besides a tree and a metric: queries, made ready, and how far to look.

Every engine reads these; nothing here knows how a search walks the tree.
"""

import enum
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from ..._core._order import float_keys
from ..._core._typing import Array
from ._homes import home_leaf
from ._metric import TreeMetric, distance_of_power, power
from ._powers_of_two import converted
from ._tree import Tree

__all__ = [
    "Limits",
    "RadiusQueries",
    "Relation",
    "Slots",
    "Written",
    "node_sums",
    "ordered_queries",
    "own_queries",
    "radius_bound",
]

# By how many ulps the largest power whose root is a number may lie above and below the number's own power,
# at most. Square roots are rounded once, so that none lies below.
_ULPS_ABOVE: dict[float, int] = {2: 3, 3: 8, 4: 10}
_ULPS_BELOW: dict[float, int] = {3: 8}
_ULPS_FARTHER = 64  # by which a distance may be off that comes of a power which an engine compares, at most


class Limits(NamedTuple):
    """How far a search for the nearest looks."""

    bound: Array  # () or (q,): only points nearer than this are found, up to rounding of powers
    eps: Array  # (): the i-th distance may be up to 1 + eps times the true one

    def a_little_farther(self) -> "Limits":
        """Return limits within which an engine finds all points whose returned distance is below the bound.

        Engines compare powers of distances. These, and their roots, are rounded.
        """
        bits = float_keys(self.bound)
        infinite = float_keys(jnp.full_like(self.bound, jnp.inf))
        farther = lax.bitcast_convert_type(bits + _ULPS_FARTHER, self.bound.dtype)
        can_be_farther = (bits > 0) & (bits < infinite - _ULPS_FARTHER)
        return self._replace(bound=jnp.where(can_be_farther, farther, self.bound))

    def kept(self, distances: Array, rows: Array, n) -> tuple[Array, Array]:
        """Return distances and rows (q, ...) without the points that are as far as the bound, or farther."""
        bound = self.bound.reshape(self.bound.shape + (1,) * (distances.ndim - self.bound.ndim))
        is_nearer = (float_keys(distances) < float_keys(bound)) & ~jnp.isnan(bound)
        distances = jnp.where(is_nearer, distances, jnp.full_like(distances, jnp.inf))
        return distances, jnp.where(is_nearer, rows, jnp.asarray(n).astype(rows.dtype))


class Relation(enum.IntEnum):
    """Which slots within the radius are a query's neighbors; the kernels have the same numbers."""

    ANY = 0  # all of them
    OTHER = 1  # all but the query's own slot: the edges of a graph
    LATER = 2  # those after the query's own slot: each pair once


class Written(enum.IntEnum):
    """What a radius search writes down of each neighbor; the kernels have the same numbers."""

    NEIGHBORS = 0  # its row, and its distance
    EDGES = 1  # its row, its distance, and the row of the query, one of the tree's own points
    PAIRS = 2  # both of these rows, the lower one first


class RadiusQueries(NamedTuple):
    """Q queries made ready for a radius search; those near each other in space are also near in number."""

    points: Array  # (m, Q) in the tree's scaled coordinates, wrapped into the periodic box
    bound: Array  # (Q,) the radius as a scaled power: a neighbor has power distance <= bound; -1 for none
    # (Q,) the query's own slot of the tree. Of a query from outside ~leaf, the leaf that it falls in, or -1
    # if none is known; with the relation LATER always -1, as kernels compare what follows it without a sign.
    slot: Array
    order: Array  # (Q,) results of number i go to the place order[i], or nowhere if there is no such place

    def by_slot(self) -> "RadiusQueries":
        """Return the tree's own points with results in the order of the slots."""
        return self._replace(order=lax.iota(jnp.int32, len(self.bound)))


@partial(jax.tree_util.register_dataclass, data_fields=("begin",), meta_fields=("size",))
@dataclass(frozen=True)
class Slots:
    """Some slots of a tree that follow each other. A pytree, in which their number is static."""

    begin: Array  # () int32, the first of them
    size: int

    def of(self, columns: Array) -> Array:
        """Return the slots' part of values (..., N)."""
        return lax.dynamic_slice_in_dim(columns, self.begin, self.size, axis=-1)


def ordered_queries(tree: Tree, queries: Array, radius: Array, metric: TreeMetric) -> RadiusQueries:
    """Return ``queries`` (q, m) made ready: in the order of the leaves that they fall in."""
    scaled_queries = tree.scaled(metric.wrap(queries))
    home = home_leaf(tree, scaled_queries)
    _, order = lax.sort((home, jnp.arange(queries.shape[0], dtype=jnp.int32)), num_keys=1)
    bound = radius_bound(tree, radius, metric.p)
    no_slot = jnp.full(queries.shape[0], -1, jnp.int32)
    return RadiusQueries(scaled_queries[order].T, bound[order], no_slot, order)


def own_queries(tree: Tree, radius: Array, p: float) -> RadiusQueries:
    """Return the tree's own points as queries, slot by slot, with results by row; ``radius`` is one number.

    Empty slots reach nothing, not even in a periodic box, where nothing is farther than half of its length.
    Their results go to the place n.
    """
    slot_count = tree.points.shape[1]
    is_point = jnp.isfinite(tree.points[0])
    bound = radius_bound(tree, radius, p)
    bound = jnp.where(is_point, bound, -jnp.ones_like(bound))
    return RadiusQueries(tree.points, bound, jnp.arange(slot_count, dtype=jnp.int32), tree.rows)


def radius_bound(tree: Tree, radius: Array, p: float) -> Array:
    """Return the largest scaled power whose distance, as it is returned, is within a radius.

    Negative and NaN radii give -1, which nothing reaches. An infinite radius stays below infinity, where the
    tree keeps its empty slots.
    """
    radius = converted(jnp.asarray(radius), tree.points.dtype)
    bound = _largest_power(jnp.maximum(tree.scaled(radius), 0), p)
    # The largest finite number, which as a constant would not come through with x64 off
    largest = jnp.nextafter(jnp.full_like(bound, jnp.inf), jnp.zeros_like(bound))
    return jnp.where(tree.scaled(radius) >= 0, jnp.minimum(bound, largest), jnp.full_like(bound, -1))


def _largest_power(distance: Array, p: float) -> Array:
    """Return the largest power distance whose root is at most a distance: powers and roots are rounded."""
    # The barrier keeps XLA from rewriting products of what was scaled.
    bound = power(lax.optimization_barrier(distance), p)
    infinite = jnp.full_like(bound, jnp.inf)
    ulps_above = _ULPS_ABOVE.get(p, 0)
    ulps_below = _ULPS_BELOW.get(p, 0)
    for _ in range(ulps_below):
        bound = jnp.nextafter(bound, jnp.zeros_like(bound))

    def next_candidate(_, state):
        candidate, bound = state
        candidate = jnp.nextafter(candidate, infinite)
        return candidate, jnp.where(distance_of_power(candidate, p) <= distance, candidate, bound)

    # In a loop, as XLA takes minutes to compile sixteen cube roots on end.
    _, bound = lax.fori_loop(0, ulps_below + ulps_above, next_candidate, (bound, bound))
    return bound


def node_sums(values: Array, leaves: int) -> Array:
    """Sum values (N,) of the slots over every node: (2 * leaves,) in heap order, entry 0 unused."""
    level = values.reshape(leaves, -1).sum(axis=1, dtype=values.dtype)
    levels = [level]
    while level.shape[0] > 1:
        level = level.reshape(-1, 2).sum(axis=1, dtype=values.dtype)
        levels.append(level)
    return jnp.concatenate([jnp.zeros(1, values.dtype), *levels[::-1]])
