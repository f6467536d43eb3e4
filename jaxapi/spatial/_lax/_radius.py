"""Radius searches in pure lax: counting, filling and binning, one walk for all three.

Lanes go through the tree in packets; a packet visits, in slot order, every leaf that one of its lanes can
reach. The walk looks for the next such leaf in a loop of its own, so that the arrays being filled stay out
of every branch and are updated in place.
"""

import jax
import jax.numpy as jnp
from jax import lax

from ..._typing import Array
from .._device._lanes import Lanes, following, last_slot, node_sums, slack
from .._structure._metric import axis_distance, axis_gap, combine, power, root
from .._structure._tree import Tree

__all__ = ["bin_counts", "fill", "tally"]

PACKET = 16  # lanes that walk together


def tally(tree: Tree, lanes: Lanes, box: Array | None, *, p: float, relation: str) -> Array:
    """Count each lane's neighbours: (Q,) int32."""
    leaves = tree.lower.shape[1] // 2
    members = node_sums(jnp.isfinite(tree.points[0]).astype(jnp.int32), leaves)
    _, above = slack(tree.points.dtype)

    def one(packet):
        def enter(node, counts):
            wanted = may_reach(tree, packet, node, p, box, relation)
            if relation != "any":
                return wanted, counts
            whole = jnp.all(above * node_far(tree, packet, node, p, box) <= packet.bound)
            return wanted & ~whole, counts + jnp.where(wanted & whole, members[node], 0)

        def visit(leaf, counts):
            hit = leaf_distances(tree, packet, leaf, p, box) <= packet.bound[:, None]
            hit &= related(tree, packet, leaf, relation)
            return counts + jnp.sum(hit, axis=1, dtype=jnp.int32)

        return walk(leaves, enter, visit, jnp.zeros(packet.bound.shape, jnp.int32))

    return lax.map(one, packets_of(lanes)).reshape(-1)[: lanes.bound.shape[0]]


def fill(tree: Tree, lanes: Lanes, start: Array, stop: Array, box, *, size: int, p: float, relation: str):
    """Write each lane's neighbours from ``start`` on, in slot order, none at or past ``stop``.

    Returns rows (size,), ``n`` where nothing was written, and distances (size,), there ``inf``.
    """
    leaves = tree.lower.shape[1] // 2
    leaf_size = tree.points.shape[1] // leaves
    packets = packets_of(lanes)
    starts, stops = in_packets(start, 0), in_packets(stop, 0)
    rows = jnp.full(size, tree.n, tree.rows.dtype)
    distances = jnp.full(size, jnp.inf, tree.points.dtype)

    def one(number, filled):
        packet, position, end = jax.tree.map(lambda a: a[number], (packets, starts, stops))

        def enter(node, state):
            return may_reach(tree, packet, node, p, box, relation), state

        def visit(leaf, state):
            position, rows, distances = state
            found = leaf_distances(tree, packet, leaf, p, box)
            hit = (found <= packet.bound[:, None]) & related(tree, packet, leaf, relation)
            place = position[:, None] + jnp.cumsum(hit, axis=1, dtype=position.dtype) - 1
            place = jnp.where(hit & (place < end[:, None]), place, size)
            leaf_rows = lax.dynamic_slice_in_dim(tree.rows, leaf * leaf_size, leaf_size)
            rows = rows.at[place].set(jnp.broadcast_to(leaf_rows[None], hit.shape), mode="drop")
            distances = distances.at[place].set(root(found, p) / tree.scale, mode="drop")
            return position + jnp.sum(hit, axis=1, dtype=position.dtype), rows, distances

        return walk(leaves, enter, visit, (position, *filled))[1:]

    return lax.fori_loop(0, packets.bound.shape[0], one, (rows, distances))


def bin_counts(tree: Tree, lanes: Lanes, radii: Array, weights: Array, box, *, p: float) -> Array:
    """Sum the slots' weights (N,) within each of the ``radii``, scaled powers (R,), of each lane: (R, Q)."""
    leaves = tree.lower.shape[1] // 2
    leaf_size = tree.points.shape[1] // leaves
    totals = node_sums(weights, leaves)
    below, above = slack(tree.points.dtype)

    def one(packet):
        def enter(node, sums):
            gap, far = node_gap(tree, packet, node, p, box), node_far(tree, packet, node, p, box)
            inside = jnp.all(above * far[None] <= radii[:, None], axis=1)
            outside = jnp.all(below * gap[None] > radii[:, None], axis=1)
            decided = jnp.all(inside | outside)
            return ~decided, sums + jnp.where(decided & inside, totals[node], 0)[:, None]

        def visit(leaf, sums):
            found = leaf_distances(tree, packet, leaf, p, box)
            inside = found[None] <= radii[:, None, None]
            share = lax.dynamic_slice_in_dim(weights, leaf * leaf_size, leaf_size)
            return sums + jnp.sum(jnp.where(inside, share[None, None], 0), axis=2, dtype=weights.dtype)

        return walk(leaves, enter, visit, jnp.zeros((radii.shape[0], packet.bound.shape[0]), weights.dtype))

    sums = lax.map(one, packets_of(lanes))  # (packets, R, PACKET)
    return jnp.moveaxis(sums, 1, 0).reshape(radii.shape[0], -1)[:, : lanes.bound.shape[0]]


def walk(leaves: int, enter, visit, state):
    """Visit, in slot order, the leaves of all nodes that ``enter`` wants.

    ``enter(node, state) -> (wanted, state)`` meets a node once; where it is not wanted its subtree is
    passed by. ``visit(leaf, state) -> state``.
    """

    def seek(node, state):
        """Go on from ``node`` to the next wanted leaf; 0 at the end."""

        def step(carry):
            node, _, state = carry
            wanted, state = enter(node, state)
            arrived = wanted & (node >= leaves)
            onward = jnp.where(wanted, 2 * node, following(node))
            return jnp.where(arrived, node, onward), arrived, state

        node, _, state = lax.while_loop(
            lambda carry: (carry[0] > 0) & ~carry[1], step, (node, jnp.asarray(False), state)
        )
        return node, state

    def step(carry):
        node, state = carry
        return seek(following(node), visit(node - leaves, state))

    return lax.while_loop(lambda carry: carry[0] > 0, step, seek(jnp.asarray(1, jnp.int32), state))[1]


def may_reach(tree, packet, node, p, box, relation):
    """Tell whether any lane of the packet may have neighbours in the node."""
    _, above = slack(tree.points.dtype)
    wanted = jnp.any(node_gap(tree, packet, node, p, box) <= above * packet.bound)
    if relation == "later":
        wanted &= last_slot(node, tree.lower.shape[1] // 2, tree.points.shape[1]) > packet.own[0]
    return wanted


def node_gap(tree, packet, node, p, box):
    """Return the power distance from each lane to the node's box: (T,)."""
    return sum_axes(
        lambda axis, length: axis_gap(
            packet.points[axis], tree.lower[axis, node], tree.upper[axis, node], length
        ),
        tree,
        p,
        box,
    )


def node_far(tree, packet, node, p, box):
    """Return a power distance that no point of the node exceeds: (T,)."""

    def far(axis, length):
        x = packet.points[axis]
        reach = jnp.maximum(jnp.abs(x - tree.lower[axis, node]), jnp.abs(x - tree.upper[axis, node]))
        return reach if length is None else jnp.where(length > 0, jnp.minimum(reach, length / 2), reach)

    return sum_axes(far, tree, p, box)


def leaf_distances(tree, packet, leaf, p, box):
    """Return the power distance from each lane to each slot of the leaf: (T, leaf)."""
    size = 2 * tree.points.shape[1] // tree.lower.shape[1]
    slots = lax.dynamic_slice_in_dim(tree.points, leaf * size, size, axis=1)
    return sum_axes(
        lambda axis, length: axis_distance(packet.points[axis][:, None], slots[axis][None], length),
        tree,
        p,
        box,
    )


def sum_axes(difference, tree, p, box):
    """Combine the powers of ``difference(axis, length)`` over the axes."""
    total = None
    for axis in range(tree.points.shape[0]):
        term = power(difference(axis, None if box is None else box[axis] * tree.scale), p)
        total = term if total is None else combine(total, term, p)
    return total


def related(tree, packet, leaf, relation):
    """Tell which slots of the leaf each lane may report: (T, leaf), or True for all."""
    if relation == "any":
        return True
    size = 2 * tree.points.shape[1] // tree.lower.shape[1]
    slots = leaf * size + jnp.arange(size, dtype=jnp.int32)[None]
    own = packet.own[:, None]
    return slots > own if relation == "later" else slots != own


def packets_of(lanes: Lanes) -> Lanes:
    """Split the lanes into packets along a new first axis; lanes added at the end reach nothing."""
    points = in_packets(lanes.points.T, 0)  # (packets, PACKET, m)
    return Lanes(jnp.swapaxes(points, 1, 2), in_packets(lanes.bound, -1), in_packets(lanes.own, -1))


def in_packets(values: Array, missing: float) -> Array:
    """Reshape (Q, ...) to (packets, PACKET, ...), padded with ``missing``."""
    extra = -values.shape[0] % PACKET
    values = jnp.pad(values, [(0, extra)] + [(0, 0)] * (values.ndim - 1), constant_values=missing)
    return values.reshape(-1, PACKET, *values.shape[1:])
