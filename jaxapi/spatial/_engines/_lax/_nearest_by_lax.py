"""Nearest neighbors in pure `jax.lax`: the CPU under jit, TPUs, and GPUs without an engine of their own.

Queries are brought into the order of the leaves they fall in and searched in packets of neighbors, one
after the other, so that no packet waits for a slower one. A packet scans its home leaf, then walks the tree
(`_walk`). A leaf's distances make a (points, queries) matrix from which the nearest are drawn one at a time
while they still enter some query's list.
"""

from functools import partial

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._tree import _metric
from ..._tree._batching import one_after_another
from ..._tree._homes import home_leaf
from ..._tree._metric import Measure, TreeMetric, box_slack, power, scaled_power
from ..._tree._queries import Limits, Slots
from ..._tree._tree import Tree
from . import _brute
from ._walk import MeasuredTree, in_packets, walk

__all__ = ["distances_in_units", "nearest", "nearest_of_slots", "prepare"]

PACKET = 32  # queries searched together
_NO_ROW = np.iinfo(np.int32).max


@one_after_another
def nearest(
    tree: Tree,
    queries,
    limits: Limits,
    metric: TreeMetric,
    *,
    k: int,
    measure: Measure = Measure.DISTANCE,
):
    """Return how far the `k` nearest points are, and their rows, both (q, k), sorted by (distance, row).

    `queries` (q, m) are in the user's units and of the tree's dtype, and lie in the periodic box, if there is
    one. A missing neighbor has distance inf and row n, and so have all of a query that is not finite.
    """
    find = _brute.nearest if tree.is_flat else _nearest
    return _of_finite(find, tree, queries, limits, metric, k=k, measure=measure)


def prepare(tree: Tree, boxsize) -> tuple[()]:
    """Return what `nearest_of_slots` reads besides the tree: nothing."""
    return ()


@one_after_another
def nearest_of_slots(tree: Tree, prepared, slots: Slots, limits: Limits, metric: TreeMetric, *, k: int):
    """Return distances and rows (size, k) of the `k` nearest points of those on some slots.

    As `nearest`, without ordering queries; an empty slot has no neighbors. What is `prepared` for a GPU is
    not read.
    """
    x = metric.wrap(tree.points_in_units(slots.of(tree.points)))
    leaves = (slots.begin + lax.iota(jnp.int32, slots.size)) // tree.leaf_size
    find = _brute.nearest if tree.is_flat else partial(_nearest, home=leaves)
    return _of_finite(find, tree, x, limits, metric, k=k, measure=Measure.DISTANCE)


def distances_in_units(tree: Tree, powers, metric: TreeMetric):
    """Return the distances of scaled power distances (q, k), bit for bit those that `nearest` gives."""
    return _metric.distance_in_units(powers, tree.scale, metric.p)


def _of_finite(find, tree, queries, limits, metric, **options):
    """Return the neighbors that `find` gives, and none of queries that are not finite."""
    is_finite = jnp.isfinite(queries).all(axis=1)[:, None]
    distances, rows = find(tree, jnp.where(is_finite, queries, 0), limits, metric, **options)
    return jnp.where(is_finite, distances, jnp.inf), jnp.where(is_finite, rows, tree.n)


def _nearest(tree, queries, limits, metric, *, k, measure, home=None):
    """Return what `nearest` does of finite queries; with `home` (q,), their leaves, they are in order."""
    count = queries.shape[0]
    measured = MeasuredTree(tree, metric)
    bound_power = scaled_power(limits.bound, tree.scale, metric.p)
    bound_power = jnp.broadcast_to(bound_power, count)
    looser = power(1 + limits.eps, metric.p) / box_slack(tree.points.dtype, measured.m)

    x = tree.scaled(queries)
    order = lax.iota(jnp.int32, count)
    is_ordered = home is not None
    leaves = home if is_ordered else home_leaf(tree, x)
    home = leaves >> measured.joined
    if not is_ordered:
        home, order = lax.sort((home, order), num_keys=1)
    homes = in_packets(home, PACKET)[:, PACKET // 2]
    bound_power_of_packets = in_packets(bound_power[order], PACKET, 0)

    def search_packet(packet):
        x, home, bound_power = packet
        no_neighbors = jnp.broadcast_to(bound_power, (k, PACKET)), jnp.full((k, PACKET), -1, jnp.int32)
        return _search(measured, x.T, home, no_neighbors, looser)

    packets = in_packets(x[order], PACKET), homes, bound_power_of_packets
    distances, rows = lax.map(search_packet, packets)  # (packets, k, PACKET)
    distances = distances.swapaxes(1, 2).reshape(-1, k)[:count]
    rows = rows.swapaxes(1, 2).reshape(-1, k)[:count]
    is_missing = rows < 0
    distances = jnp.where(is_missing, jnp.inf, measure.of(distances, tree.scale, metric.p))
    rows = jnp.where(is_missing, tree.n, rows)
    if is_ordered:
        return distances, rows
    return _in_order_of_queries(distances, order), _in_order_of_queries(rows, order)


def _in_order_of_queries(values, order):
    """Return values whose number ``i`` belongs to query ``order[i]``, by query."""
    return jnp.zeros_like(values).at[order].set(values, unique_indices=True)


def _search(measured: MeasuredTree, queries, home, best, looser):
    """Search for the queries of one packet (m, T), whose middle one falls in the leaf `home`."""

    def choose(start, exists, best):
        distances, _ = best
        gaps = measured.gaps(queries, start)
        may_enter = (gaps <= distances[-1][None, :] / looser) & (gaps < jnp.inf)
        return may_enter.any(axis=1), best

    def visit(leaf, best):
        distances = measured.distances(queries, leaf)
        rows = measured.of_leaf(measured.tree.rows, leaf)
        return _taken(distances, rows, best)

    return walk(measured, best, choose, visit, home)


def _taken(distances, rows, best):
    """Put the points of a leaf (leaf, T) that are nearer into the queries' lists."""

    def nearest_of(distances):
        distance = distances.min(axis=0)
        row = jnp.where(distances == distance[None, :], rows, _NO_ROW).min(axis=0)
        return distance, row

    def enters(distance, row, best):
        distances, rows = best
        last = distances[-1]
        last_row = rows[-1]
        return (distance < last) | ((distance == last) & (row < last_row))

    def more(state):
        _, distance, row, best = state
        return enters(distance, row, best).any()

    def draw(state):
        distances, distance, row, best = state
        best = _inserted(best, distance, row, enters(distance, row, best))
        is_drawn = (distances == distance[None, :]) & (rows == row[None, :])
        distances = jnp.where(is_drawn, jnp.inf, distances)
        return distances, *nearest_of(distances), best

    if best[0].shape[0] == 1:
        distance, row = nearest_of(distances)
        return _inserted(best, distance, row, enters(distance, row, best))
    return lax.while_loop(more, draw, (distances, *nearest_of(distances), best))[3]


def _inserted(best, distance, row, enters):
    """Insert one (distance, row) a query into the sorted lists, (k, T), of the queries that it `enters`."""
    distances, rows = best
    before = (distances < distance[None, :]) | ((distances == distance[None, :]) & (rows < row[None, :]))
    stays = before | ~enters[None, :]
    if distances.shape[0] == 1:
        return jnp.where(stays, distances, distance[None, :]), jnp.where(stays, rows, row[None, :])
    # The new pair goes below the last that stays; those after it move down by one.
    is_above_kept = jnp.concatenate([jnp.ones_like(stays[:1]), stays[:-1]])

    def with_new(values, new):
        moved = jnp.concatenate([values[:1], values[:-1]])
        return jnp.where(stays, values, jnp.where(is_above_kept, new[None, :], moved))

    return with_new(distances, distance), with_new(rows, row)
