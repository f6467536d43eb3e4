"""Radius searches in pure `jax.lax`: counting, filling and binning.

Queries go through the tree in packets; a packet visits, in slot order, every leaf that one of its queries can
reach (`_walk`).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ...._core._typing import Array
from ..._tree._batching import one_after_another
from ..._tree._metric import TreeMetric, box_slack, distance_in_units
from ..._tree._queries import RadiusQueries, Relation, Written, node_sums
from ..._tree._sorting import sorted_by_distance
from ..._tree._tree import Tree
from ..._tree._varying import varying_like
from ._walk import WIDTH, MeasuredTree, in_packets, walk

__all__ = [
    "PACKET",
    "bin_counts",
    "count",
    "fill",
    "fill_rows",
    "packets_of",
    "running_sums",
]

PACKET = 16  # queries that walk together
MOST = np.iinfo(np.int32).max  # that is counted


class Packet(NamedTuple):
    """Queries that walk together, as they are in `RadiusQueries`; or many packets of them."""

    points: Array  # (m, PACKET)
    bound: Array  # (PACKET,)
    slot: Array  # (PACKET,)


@one_after_another
def count(
    tree: Tree,
    queries: RadiusQueries,
    metric: TreeMetric,
    *,
    relation: Relation,
    enough: int = MOST,
) -> Array:
    """Count the neighbors of each query, up to `enough` or more: (Q,) int32."""
    measured = MeasuredTree(tree, metric)
    slack = box_slack(tree.points.dtype, measured.m)
    members = node_sums(jnp.isfinite(tree.points[0]).astype(jnp.int32), measured.leaves)

    def count_packet(packet):
        def choose(start, exists, counts):
            may_reach = _may_reach(measured, packet, start, packet.bound * slack, relation)
            is_chosen = may_reach & (counts < enough).any()
            if relation is not Relation.ANY:
                return is_chosen, counts
            # Nodes that lie within the radius of all queries are counted without a visit.
            reaches = measured.reaches(packet.points, start) * slack
            is_inside = is_chosen & exists & jnp.all(reaches <= packet.bound[None, :], axis=1)
            points_inside = jnp.where(is_inside, _of_nodes(members, start), 0)
            return is_chosen & ~is_inside, counts + jnp.sum(points_inside, dtype=jnp.int32)

        def visit(leaf, counts):
            hits = _hits(measured, packet, leaf, measured.distances(packet.points, leaf), relation)
            return counts + jnp.sum(hits, axis=0, dtype=jnp.int32)

        return walk(measured, jnp.zeros(PACKET, jnp.int32), choose, visit)

    counts = lax.map(count_packet, packets_of(queries))
    counts = counts.reshape(-1)[: queries.bound.shape[0]]
    return jnp.zeros_like(counts).at[queries.order].add(counts, mode="drop")


def fill(
    tree: Tree,
    queries: RadiusQueries,
    offsets: Array,
    metric: TreeMetric,
    *,
    size: int,
    relation: Relation,
    written: Written = Written.NEIGHBORS,
) -> tuple[Array, ...]:
    """Write each query's neighbors, in slot order, from its offset up to the next.

    Those of query i go from ``offsets[order[i]]`` to before ``offsets[order[i] + 1]``, of the queries' order.
    Returns rows (size,), ``n`` where nothing was written, and distances (size,), there ``inf``; with EDGES
    also the rows of the queries, and with PAIRS nothing but both rows, (size, 2).
    """
    rows, distances = _filled(tree, queries, offsets, metric, size=size, relation=relation)
    if written is Written.NEIGHBORS:
        return rows, distances
    # The row of the query is the number of rows whose neighbors end at or before this one.
    ending_rows = jnp.zeros(size, jnp.int32).at[offsets[1:]].add(1, mode="drop")
    query_rows = jnp.cumsum(ending_rows, dtype=jnp.int32)
    query_rows = jnp.where(jnp.isfinite(distances), query_rows, tree.n)
    if written is Written.EDGES:
        return rows, distances, query_rows
    return (jnp.stack([jnp.minimum(query_rows, rows), jnp.maximum(query_rows, rows)], axis=1),)


@one_after_another
def _filled(
    tree: Tree,
    queries: RadiusQueries,
    offsets: Array,
    metric: TreeMetric,
    *,
    size: int,
    relation: Relation,
) -> tuple[Array, Array]:
    """Return the rows and the distances (size,) of neighbors, as `fill` writes them."""
    measured = MeasuredTree(tree, metric)
    slack = box_slack(tree.points.dtype, measured.m)
    packets = packets_of(queries)
    starts = in_packets(offsets[:-1].at[queries.order].get(mode="clip"), PACKET, 0)
    stops = in_packets(offsets[1:].at[queries.order].get(mode="clip"), PACKET, 0)
    rows = jnp.full(size, tree.n, tree.rows.dtype)
    powers = jnp.full(size, jnp.inf, tree.points.dtype)
    packet_count = packets.bound.shape[0]
    if not packet_count:
        return rows, powers

    def fill_packet(number, filled):
        packet, start_of_query, stop = jax.tree.map(lambda a: a[number], (packets, starts, stops))

        def choose(start, exists, state):
            return _may_reach(measured, packet, start, packet.bound * slack, relation), state

        def visit(leaf, state):
            next_position, rows, powers = state
            leaf_powers = measured.distances(packet.points, leaf)
            hits = _hits(measured, packet, leaf, leaf_powers, relation)
            positions = next_position[None, :] + jnp.cumsum(hits, axis=0, dtype=next_position.dtype) - 1
            positions = jnp.where(hits & (positions < stop[None, :]), positions, size)
            leaf_rows = jnp.broadcast_to(measured.of_leaf(tree.rows, leaf), hits.shape)
            rows = rows.at[positions].set(leaf_rows, mode="drop")
            powers = powers.at[positions].set(leaf_powers, mode="drop")
            hit_count = jnp.sum(hits, axis=0, dtype=next_position.dtype)
            return next_position + hit_count, rows, powers

        return walk(measured, (start_of_query, *filled), choose, visit)[1:]

    rows, powers = lax.fori_loop(0, packet_count, fill_packet, varying_like((rows, powers), tree))
    return rows, distance_in_units(powers, tree.scale, metric.p)


def fill_rows(
    tree: Tree,
    queries: RadiusQueries,
    metric: TreeMetric,
    *,
    max_neighbors: int,
    count=count,
    fill=fill,
) -> tuple[Array, Array, Array]:
    """Write up to `max_neighbors` neighbors of each query into a row of its own.

    Returns the neighbors' rows of the data and their distances (Q, max_neighbors), ordered by
    (distance, row), ``n`` and ``inf`` where there are fewer, and how many neighbors each query has (Q,). Of
    more than `max_neighbors` any may be kept. `count` and `fill` are an engine's.
    """
    query_count = len(queries.bound)
    size = query_count * max_neighbors
    offsets = jnp.arange(query_count + 1, dtype=jnp.int32) * max_neighbors
    counts = count(tree, queries, metric, relation=Relation.ANY)
    rows, distances = fill(tree, queries, offsets, metric, size=size, relation=Relation.ANY)
    distances = distances.reshape(-1, max_neighbors)
    rows = rows.reshape(-1, max_neighbors)
    distances, rows = sorted_by_distance(distances, rows)
    return rows, distances, counts


@one_after_another
def bin_counts(tree: Tree, queries: RadiusQueries, radii: Array, weights: Array, metric: TreeMetric) -> Array:
    """Sum the slots' weights (N,) within each of the ``radii``, scaled powers (R,), of each query: (R, Q).

    The sums are in the order of the queries made ready, not in that of the user's.
    """
    measured = MeasuredTree(tree, metric)
    slack = box_slack(tree.points.dtype, measured.m)
    totals = node_sums(weights, measured.leaves)
    bounds = radii[:, None, None]

    def sum_packet(packet):
        def choose(start, exists, sums):
            # A node within each radius of all queries, or of none, is decided without a visit.
            gaps = measured.gaps(packet.points, start)
            reaches = measured.reaches(packet.points, start)
            is_inside = jnp.all(reaches[None] * slack <= bounds, axis=2)  # (R, WIDTH)
            is_outside = jnp.all(gaps[None] > bounds * slack, axis=2)
            is_decided = jnp.all(is_inside | is_outside, axis=0) & exists
            node_totals = _of_nodes(totals, start)[None, :]
            weights_inside = jnp.where(is_decided[None, :] & is_inside, node_totals, 0)
            return ~is_decided, sums + jnp.sum(weights_inside, axis=1, dtype=weights.dtype)[:, None]

        def visit(leaf, sums):
            is_inside = measured.distances(packet.points, leaf)[None] <= bounds  # (R, leaf, T)
            leaf_weights = measured.of_leaf(weights, leaf)[None]
            return sums + jnp.sum(jnp.where(is_inside, leaf_weights, 0), axis=1, dtype=weights.dtype)

        return walk(measured, jnp.zeros((radii.shape[0], PACKET), weights.dtype), choose, visit)

    sums = lax.map(sum_packet, packets_of(queries))  # (packets, R, PACKET)
    return jnp.moveaxis(sums, 1, 0).reshape(radii.shape[0], -1)[:, : queries.bound.shape[0]]


def _of_nodes(values, start):
    """Return the values (2 * leaves,) of `WIDTH` nodes, 0 beyond the last."""
    return values.at[start + lax.iota(jnp.int32, WIDTH)].get(mode="fill", fill_value=0)


def _may_reach(measured: MeasuredTree, packet: Packet, start, reach, relation: Relation):
    """Tell which of `WIDTH` nodes any query of the packet may have neighbors in."""
    may_reach = jnp.any(measured.gaps(packet.points, start) <= reach[None, :], axis=1)
    if relation is Relation.LATER:
        may_reach &= _last_slots(measured, start) > packet.slot.min()
    return may_reach


def _last_slots(measured: MeasuredTree, start):
    """Return the last slot of each of `WIDTH` nodes."""
    nodes = start + lax.iota(jnp.int32, WIDTH)
    height = measured.levels - (31 - lax.clz(nodes))
    return (((nodes + 1) << height) - measured.leaves) * measured.leaf_size - 1


def _hits(measured: MeasuredTree, packet: Packet, leaf, distances, relation: Relation):
    """Tell which slots of the leaf are neighbors of each query: (leaf, T)."""
    hits = distances <= packet.bound[None, :]
    if relation is Relation.ANY:
        return hits
    slots = (leaf * measured.leaf_size + lax.iota(jnp.int32, measured.leaf_size))[:, None]
    own_slots = packet.slot[None, :]
    if relation is Relation.LATER:
        return hits & (slots > own_slots)
    return hits & (slots != own_slots)


def packets_of(queries: RadiusQueries) -> Packet:
    """Split the queries into packets along a new first axis; those added at the end reach nothing."""
    points = in_packets(queries.points.T, PACKET, 0)  # (packets, PACKET, m)
    bound = in_packets(queries.bound, PACKET, -1)
    slot = in_packets(queries.slot, PACKET, -1)
    return Packet(jnp.swapaxes(points, 1, 2), bound, slot)


def running_sums(counts: Array) -> Array:
    """Return 0 and the sums (q + 1,) of the first 1, 2, ... counts (q,), int32, 2**31 - 1 at most."""
    ends = jnp.cumsum(counts, dtype=jnp.int32)
    wrapped = lax.cummax((ends < 0).astype(jnp.int32)) > 0  # negative at once: each count is below 2**31
    return jnp.pad(jnp.where(wrapped, np.iinfo(np.int32).max, ends), (1, 0))
