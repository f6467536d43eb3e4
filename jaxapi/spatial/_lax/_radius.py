"""Radius searches in pure `jax.lax`: counting, filling and binning.

Queries go through the tree in packets; a packet visits, in slot order, every leaf that one of its queries can
reach (`_walk`).
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core._typing import Array
from .._structure._metric import box_slack, root
from .._structure._queries import Queries, node_sums
from .._structure._tree import Tree
from .._structure._varying import varying_like
from ._walk import WIDTH, Space, in_packets, walk

__all__ = [
    "PACKET",
    "bin_counts",
    "count",
    "fill",
    "fill_edges",
    "fill_lines",
    "fill_pairs",
    "packets_of",
    "running_sums",
]

PACKET = 16  # queries that walk together
MOST = np.iinfo(np.int32).max  # that is counted


def count(
    tree: Tree,
    queries: Queries,
    order: Array,
    box: Array | None,
    *,
    p: float,
    relation: str,
    enough: int = MOST,
) -> Array:
    """Count the neighbours of each query, up to `enough` or more: (Q,) int32.

    Number ``i`` of the queries is query ``order[i]``, in whose place its count is. An empty slot of the tree
    has no neighbours, and the place n.
    """
    space, slack = Space(tree, p, box), box_slack(tree.points.dtype, tree.points.shape[0])
    members = node_sums(jnp.isfinite(tree.points[0]).astype(jnp.int32), space.leaves)

    def one(packet):
        def choose(start, there, counts):
            wanted = _may_reach(space, packet, start, packet.bound * slack, relation)
            wanted = wanted & (counts < enough).any()
            if relation != "any":
                return wanted, counts
            # Nodes that lie within the radius of all queries are counted without a visit.
            far = space.reaches(packet.points, start) * slack
            whole = wanted & there & jnp.all(far <= packet.bound[None, :], axis=1)
            inside = jnp.where(whole, _of_nodes(members, start), 0)
            return wanted & ~whole, counts + jnp.sum(inside, dtype=jnp.int32)

        def visit(leaf, counts):
            hits = _hits(space, packet, leaf, space.distances(packet.points, leaf), relation)
            return counts + jnp.sum(hits, axis=0, dtype=jnp.int32)

        return walk(space, jnp.zeros(PACKET, jnp.int32), choose, visit)

    counts = lax.map(one, packets_of(queries)).reshape(-1)[: queries.bound.shape[0]]
    return jnp.zeros_like(counts).at[order].add(counts, mode="drop")


def fill(
    tree: Tree, queries: Queries, order: Array, offsets: Array, box, *, size: int, p: float, relation: str
) -> tuple[Array, Array]:
    """Write each query's neighbours, in slot order, from its offset up to the next: offsets (Q + 1,).

    Returns rows (size,), ``n`` where nothing was written, and distances (size,), there ``inf``.
    """
    space, slack = Space(tree, p, box), box_slack(tree.points.dtype, tree.points.shape[0])
    packets = packets_of(queries)
    starts, stops = (
        in_packets(each.at[order].get(mode="clip"), PACKET, 0) for each in (offsets[:-1], offsets[1:])
    )
    rows = jnp.full(size, tree.n, tree.rows.dtype)
    distances = jnp.full(size, jnp.inf, tree.points.dtype)

    def one(number, filled):
        packet, position, end = jax.tree.map(lambda a: a[number], (packets, starts, stops))

        def choose(start, there, state):
            return _may_reach(space, packet, start, packet.bound * slack, relation), state

        def visit(leaf, state):
            position, rows, distances = state
            found = space.distances(packet.points, leaf)
            hits = _hits(space, packet, leaf, found, relation)
            place = position[None, :] + jnp.cumsum(hits, axis=0, dtype=position.dtype) - 1
            place = jnp.where(hits & (place < end[None, :]), place, size)
            leaf_rows = jnp.broadcast_to(space.of_leaf(tree.rows, leaf), hits.shape)
            rows = rows.at[place].set(leaf_rows, mode="drop")
            distances = distances.at[place].set(root(found, p) / tree.scale, mode="drop")
            return position + jnp.sum(hits, axis=0, dtype=position.dtype), rows, distances

        return walk(space, (position, *filled), choose, visit)[1:]

    return lax.fori_loop(0, packets.bound.shape[0], one, varying_like((rows, distances), tree))


def fill_edges(tree: Tree, queries: Queries, offsets: Array, box, *, size: int, p: float, relation: str):
    """Do so for the tree's own points, and say whose they are: receivers, senders and distances (size,)."""
    senders, distances = fill(tree, queries, tree.rows, offsets, box, size=size, p=p, relation=relation)
    # The receiver of an edge: how many rows end at or before it.
    receivers = jnp.cumsum(jnp.zeros(size, jnp.int32).at[offsets[1:]].add(1, mode="drop"), dtype=jnp.int32)
    return jnp.where(jnp.isfinite(distances), receivers, tree.n), senders, distances


def fill_pairs(tree: Tree, queries: Queries, offsets: Array, box, *, size: int, p: float):
    """Write the two rows of each pair of the tree's own points, the lower one first: (size, 2)."""
    ends = fill_edges(tree, queries, offsets, box, size=size, p=p, relation="later")[:2]
    return jnp.stack([jnp.minimum(*ends), jnp.maximum(*ends)], axis=1)


def fill_lines(
    tree: Tree, queries: Queries, order: Array, box, *, limit: int, p: float, count=count, fill=fill
) -> tuple[Array, Array, Array]:
    """Write up to `limit` neighbours of each query into a line of its own, in the place of ``order``.

    Returns rows and distances (Q, limit), ordered by (distance, row), ``n`` and ``inf`` in what is left, and
    how many neighbours each has (Q,). Of more neighbours than `limit` it is any that are kept. By an engine's
    `count` and `fill`.
    """
    size = order.shape[0] * limit
    offsets = jnp.arange(order.shape[0] + 1, dtype=jnp.int32) * limit
    counts = count(tree, queries, order, box, p=p, relation="any")
    rows, distances = fill(tree, queries, order, offsets, box, size=size, p=p, relation="any")
    distances, rows = lax.sort(
        (distances.reshape(-1, limit), rows.reshape(-1, limit)), dimension=1, num_keys=2
    )
    return rows, distances, counts


def bin_counts(tree: Tree, queries: Queries, radii: Array, weights: Array, box, *, p: float) -> Array:
    """Sum the slots' weights (N,) within each of the ``radii``, scaled powers (R,), of each query: (R, Q)."""
    space, slack = Space(tree, p, box), box_slack(tree.points.dtype, tree.points.shape[0])
    totals = node_sums(weights, space.leaves)
    bounds = radii[:, None, None]

    def one(packet):
        def choose(start, there, sums):
            # Whatever lies within a radius of all queries, or of none, is decided without a visit.
            gaps, reaches = space.gaps(packet.points, start), space.reaches(packet.points, start)
            inside = jnp.all(reaches[None] * slack <= bounds, axis=2)  # (R, WIDTH)
            outside = jnp.all(gaps[None] > bounds * slack, axis=2)
            decided = jnp.all(inside | outside, axis=0) & there
            shares = jnp.where(decided[None, :] & inside, _of_nodes(totals, start)[None, :], 0)
            return ~decided, sums + jnp.sum(shares, axis=1, dtype=weights.dtype)[:, None]

        def visit(leaf, sums):
            inside = space.distances(packet.points, leaf)[None] <= bounds  # (R, leaf, T)
            share = space.of_leaf(weights, leaf)[None]
            return sums + jnp.sum(jnp.where(inside, share, 0), axis=1, dtype=weights.dtype)

        return walk(space, jnp.zeros((radii.shape[0], PACKET), weights.dtype), choose, visit)

    sums = lax.map(one, packets_of(queries))  # (packets, R, PACKET)
    return jnp.moveaxis(sums, 1, 0).reshape(radii.shape[0], -1)[:, : queries.bound.shape[0]]


def _of_nodes(values, start):
    """Return the values (2 * leaves,) of `WIDTH` nodes, 0 beyond the last."""
    return values.at[start + lax.iota(jnp.int32, WIDTH)].get(mode="fill", fill_value=0)


def _may_reach(space: Space, packet: Queries, start, reach, relation: str):
    """Tell which of `WIDTH` nodes any query of the packet may have neighbours in."""
    wanted = jnp.any(space.gaps(packet.points, start) <= reach[None, :], axis=1)
    if relation == "later":
        wanted &= _last_slots(space, start) > packet.own[0]
    return wanted


def _last_slots(space: Space, start):
    """Return the last slot of each of `WIDTH` nodes."""
    nodes = start + lax.iota(jnp.int32, WIDTH)
    height = space.levels - (31 - lax.clz(nodes))
    return (((nodes + 1) << height) - space.leaves) * space.leaf_size - 1


def _hits(space: Space, packet: Queries, leaf, distances, relation: str):
    """Tell which slots of the leaf are neighbours of each query: (leaf, T)."""
    hits = distances <= packet.bound[None, :]
    if relation == "any":
        return hits
    slots = (leaf * space.leaf_size + lax.iota(jnp.int32, space.leaf_size))[:, None]
    own = packet.own[None, :]
    return hits & (slots > own if relation == "later" else slots != own)


def packets_of(queries: Queries) -> Queries:
    """Split the queries into packets along a new first axis; those added at the end reach nothing."""
    points = in_packets(queries.points.T, PACKET, 0)  # (packets, PACKET, m)
    bound, own = (in_packets(each, PACKET, -1) for each in (queries.bound, queries.own))
    return Queries(jnp.swapaxes(points, 1, 2), bound, own)


def running_sums(counts: Array) -> Array:
    """Return 0 and the sums (q + 1,) of the first 1, 2, ... counts (q,), int32, 2**31 - 1 at most."""
    ends = jnp.cumsum(counts, dtype=jnp.int32)
    wrapped = lax.cummax((ends < 0).astype(jnp.int32)) > 0  # negative at once: each count is below 2**31
    return jnp.pad(jnp.where(wrapped, np.iinfo(np.int32).max, ends), (1, 0))
