"""Nearest neighbours in pure `jax.lax`: the CPU under jit, TPUs, and GPUs without an engine of their own.

Queries are brought into the order of the leaves they fall in and searched in packets of neighbours, one
after the other, so that no packet waits for a slower one. A packet scans its home leaf, then walks the tree
(`_walk`). A leaf's distances make a (points, queries) matrix from which the nearest are drawn one at a time
while they still enter some query's list.
"""

from functools import partial

import jax.numpy as jnp
import numpy as np
from jax import lax

from .._structure import _metric
from .._structure._homes import home_leaf
from .._structure._metric import box_slack, into_box, power, scaled_power
from .._structure._tree import Tree
from . import _brute
from ._walk import Space, in_packets, walk

__all__ = ["in_units", "nearest", "nearest_of_slots"]

PACKET = 32  # queries searched together
_NO_ROW = np.iinfo(np.int32).max


def nearest(tree: Tree, queries, bound, eps, box, *, k: int, p: float, rooted: bool = True):
    """Return distances and rows of the `k` nearest points, both (q, k), sorted by (distance, row).

    `queries` (q, m) are in the user's units and of the tree's dtype, and lie in the periodic `box` (m,), if
    there is one; its entries are 0 on axes that are not periodic. Only points nearer than `bound` are found,
    one for all or (q,). A missing neighbour has distance inf and row n, and so have all of a query that is
    not finite. With `eps`, the i-th distance may be up to 1 + eps times the true one. Where not `rooted`,
    distances are scaled power distances, by which answers of several trees can be compared without rounding.
    """
    search = _brute.nearest if tree.is_flat else _nearest
    return _of_finite(search, tree, queries, bound, eps, box, k=k, p=p, rooted=rooted)


def nearest_of_slots(
    tree: Tree, prepared, begin, bound, eps, box, *, size: int, k: int, p: float, rooted: bool = True
):
    """Return distances and rows (size, k) of the `k` nearest points of those on the slots from `begin` on.

    As `nearest`, without ordering queries; an empty slot has no neighbours. What is `prepared` for a GPU is
    not read.
    """
    x = tree.in_units(lax.dynamic_slice_in_dim(tree.points, begin, size, axis=1))
    x = x if box is None else into_box(x, box)
    leaves = (begin + lax.iota(jnp.int32, size)) // tree.leaf_size
    search = _brute.nearest if tree.is_flat else partial(_nearest, home=leaves)
    return _of_finite(search, tree, x, bound, eps, box, k=k, p=p, rooted=rooted)


def in_units(tree: Tree, powers, box, *, p: float):
    """Return the distances of scaled power distances (q, k), bit for bit those that `nearest` gives."""
    return _metric.in_units(powers, tree.scale, p)


def _of_finite(search, tree, queries, bound, eps, box, **settings):
    """Search for those queries that are finite."""
    finite = jnp.isfinite(queries).all(axis=1)[:, None]
    distances, rows = search(tree, jnp.where(finite, queries, 0), bound, eps, box, **settings)
    return jnp.where(finite, distances, jnp.inf), jnp.where(finite, rows, tree.n)


def _nearest(tree, queries, bound, eps, box, *, k, p, rooted, home=None):
    """Do it for finite queries in a tree, in order by the leaves `home` (q,) that they fall in, if given."""
    count = queries.shape[0]
    space = Space(tree, p, box)
    limit = jnp.broadcast_to(scaled_power(jnp.maximum(bound, 0), tree.scale, p), count)
    looser = power(1 + eps, p) / box_slack(tree.points.dtype, space.m)

    x = queries * tree.scale
    order = lax.iota(jnp.int32, count)
    ordered = home is not None
    home = (home if ordered else home_leaf(tree, x)) >> space.joined
    if not ordered:
        home, order = lax.sort((home, order), num_keys=1)
    homes = in_packets(home, PACKET)[:, PACKET // 2]
    limits = in_packets(limit[order], PACKET, 0)

    def one(packet):
        x, home, limit = packet
        nothing = jnp.broadcast_to(limit, (k, PACKET)), jnp.full((k, PACKET), -1, jnp.int32)
        return _search(space, x.T, home, nothing, looser)

    distances, rows = lax.map(one, (in_packets(x[order], PACKET), homes, limits))  # (packets, k, PACKET)
    distances, rows = (a.swapaxes(1, 2).reshape(-1, k)[:count] for a in (distances, rows))
    missing = rows < 0
    distances = jnp.where(missing, jnp.inf, _metric.in_units(distances, tree.scale, p, rooted))
    rows = jnp.where(missing, tree.n, rows)
    if ordered:
        return distances, rows
    return tuple(jnp.zeros_like(a).at[order].set(a, unique_indices=True) for a in (distances, rows))


def _search(space: Space, queries, home, best, looser):
    """Search for the queries of one packet (m, T), whose middle one falls in the leaf `home`."""

    def choose(start, there, best):
        gaps = space.gaps(queries, start)
        return ((gaps <= best[0][-1][None, :] / looser) & (gaps < jnp.inf)).any(axis=1), best

    def visit(leaf, best):
        return _taken(space.distances(queries, leaf), space.of_leaf(space.tree.rows, leaf), best)

    return walk(space, best, choose, visit, home)


def _taken(distances, rows, best):
    """Put the points of a leaf (leaf, T) that are nearer into the queries' lists."""

    def nearest_of(distances):
        distance = distances.min(axis=0)
        row = jnp.where(distances == distance[None, :], rows, _NO_ROW).min(axis=0)
        return distance, row

    def enters(distance, row, best):
        last, last_row = best[0][-1], best[1][-1]
        return (distance < last) | ((distance == last) & (row < last_row))

    def more(state):
        _, distance, row, best = state
        return enters(distance, row, best).any()

    def draw(state):
        distances, distance, row, best = state
        best = _inserted(best, distance, row, enters(distance, row, best))
        drawn = (distances == distance[None, :]) & (rows == row[None, :])
        distances = jnp.where(drawn, jnp.inf, distances)
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
    first = jnp.concatenate([jnp.ones_like(stays[:1]), stays[:-1]])  # the one above stays: it goes here
    shifted = tuple(jnp.concatenate([side[:1], side[:-1]]) for side in best)
    return tuple(
        jnp.where(stays, side, jnp.where(first, new[None, :], above))
        for side, new, above in zip(best, (distance, row), shifted, strict=True)
    )
