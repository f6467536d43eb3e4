"""Connected components in pure `jax.lax`: in rounds, each joined to the lowest one within reach."""

import jax.numpy as jnp
import numpy as np
from jax import lax

from ...._core._typing import Array
from ..._tree._batching import one_after_another
from ..._tree._metric import TreeMetric, box_slack
from ..._tree._queries import RadiusQueries, own_queries
from ..._tree._tree import Tree
from ..._tree._varying import varying_like
from ._radius import PACKET, packets_of
from ._walk import WIDTH, MeasuredTree, in_packets, walk

__all__ = ["component_rows", "flattened", "lowest"]

NONE = np.iinfo(np.int32).max


@one_after_another
def component_rows(tree: Tree, radius: Array, metric: TreeMetric) -> Array:
    """Return the lowest row of the component of each slot (N,).

    Of two neighboring components at least one has joined a lower one after two rounds: so there are as many
    as the logarithm of their number.
    """
    queries = own_queries(tree, radius, metric.p).by_slot()
    slots = lax.iota(jnp.int32, tree.points.shape[1])

    def join(state):
        roots, _ = state
        lowest_roots = lowest(tree, queries, roots, metric, roots)
        joined = flattened(roots.at[roots].min(lowest_roots))
        return joined, (joined != roots).any()

    def has_changed(state):
        _, changed = state
        return changed

    start = varying_like((slots, jnp.bool_(True)), tree)
    roots, _ = lax.while_loop(has_changed, join, start)
    return jnp.full_like(tree.rows, NONE).at[roots].min(tree.rows)[roots]


def flattened(parents: Array) -> Array:
    """Return the root of each; a parent is no higher than its children."""
    return lax.while_loop(lambda a: (a[a] != a).any(), lambda a: a[a], parents)


@one_after_another
def lowest(
    tree: Tree, queries: RadiusQueries, numbers: Array, metric: TreeMetric, known: Array | None = None
) -> Array:
    """Return the lowest of the slots' numbers (N,) within reach of each query.

    The greatest int32 where there is none; of each query a number may be `known` (q,) that is to be undercut.
    """
    measured = MeasuredTree(tree, metric)
    order = queries.order
    slack = box_slack(tree.points.dtype, measured.m)
    numbers = jnp.where(jnp.isfinite(tree.points[0]), numbers, NONE)
    levels = [numbers.reshape(measured.leaves, -1).min(axis=1)]
    while len(levels[-1]) > 1:
        levels.append(levels[-1].reshape(-1, 2).min(axis=1))
    lowest_of_nodes = jnp.concatenate([jnp.full(1, NONE, jnp.int32), *levels[::-1]])
    known = jnp.full(queries.bound.shape, NONE, jnp.int32) if known is None else known[order]

    def search_packet(packet_and_known):
        packet, known = packet_and_known

        def choose(start, exists, lowest):
            nodes = start + lax.iota(jnp.int32, WIDTH)
            of_nodes = lowest_of_nodes.at[nodes].get(mode="fill", fill_value=NONE)[:, None]
            is_within_reach = measured.gaps(packet.points, start) <= packet.bound * slack
            may_undercut = is_within_reach & (of_nodes < lowest)
            # Of nodes that lie within the radius as a whole the lowest number is known.
            is_inside = measured.reaches(packet.points, start) * slack <= packet.bound
            is_known = may_undercut & exists[:, None] & is_inside
            lowest = jnp.minimum(lowest, jnp.where(is_known, of_nodes, NONE).min(axis=0))
            is_chosen = may_undercut & ~is_known & (of_nodes < lowest)
            return is_chosen.any(axis=1), lowest

        def visit(leaf, lowest):
            hits = measured.distances(packet.points, leaf) <= packet.bound
            leaf_numbers = jnp.where(hits, measured.of_leaf(numbers, leaf), NONE)
            return jnp.minimum(lowest, leaf_numbers.min(axis=0))

        return walk(measured, known, choose, visit)

    packets = packets_of(queries), in_packets(known, PACKET, NONE)
    lowest_numbers = lax.map(search_packet, packets).reshape(-1)[: len(order)]
    nothing = jnp.full_like(lowest_numbers, NONE)
    return nothing.at[order].set(lowest_numbers, mode="drop", unique_indices=True)
