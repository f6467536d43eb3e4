"""The portable engine, in pure `jax.lax`: the CPU under jit, TPUs, and GPUs without Pallas.

Queries are brought into the order of the leaves they fall in and searched in packets of neighbours, one
after the other, so that no packet waits for a slower one. A packet scans its home leaf, then goes down from
the root. It tests the boxes of all children of a node at once and keeps those that some query of the packet
still needs as the bits of one integer a step; the integers are the stack. A leaf's distances make a (points,
queries) matrix from which the nearest are drawn one at a time while they still enter some query's list.
"""

import jax.numpy as jnp
import numpy as np
from jax import lax

from .._structure._metric import axis_distance, axis_gap, combine, in_units, power, scaled_power
from .._structure._tree import Tree

__all__ = ["nearest"]

PACKET = 32  # queries searched together
LEAF = 32  # points scanned together, at most; small leaves are taken together
STEP = 3  # levels of the tree in one step down
_NO_ROW = np.iinfo(np.int32).max


def nearest(tree: Tree, queries, *, k: int, p: float, bound, eps, box, rooted: bool = True):
    """Return distances and rows of the `k` nearest points, both (q, k), sorted by (distance, row)."""
    count, m = queries.shape
    scaled_box = None if box is None else box * tree.scale
    search = Search(tree, p, scaled_box)
    limit = jnp.broadcast_to(scaled_power(jnp.maximum(bound, 0), tree.scale, p), count)
    slack = power(1 + eps, p)

    x = queries * tree.scale
    home = search.home(x)
    home, order = lax.sort((home, lax.iota(jnp.int32, count)), num_keys=1)
    packets = -(-count // PACKET)
    spare = packets * PACKET - count
    padded = jnp.pad(x[order], ((0, spare), (0, 0)), mode="edge")
    homes = jnp.pad(home, (0, spare), mode="edge").reshape(packets, PACKET)[:, PACKET // 2]
    limits = jnp.pad(limit[order], (0, spare)).reshape(packets, PACKET)

    def one(packet):
        lanes, home, limit = packet
        nothing = (jnp.broadcast_to(limit, (k, PACKET)), jnp.full((k, PACKET), -1, jnp.int32))
        return search.run(lanes.T, home, nothing, slack)

    packed = padded.reshape(packets, PACKET, m), homes, limits
    distances, rows = lax.map(one, packed)  # (packets, k, PACKET)
    distances, rows = (a.swapaxes(1, 2).reshape(-1, k)[:count] for a in (distances, rows))
    missing = rows < 0
    distances = jnp.where(missing, jnp.inf, in_units(distances, tree.scale, p, rooted))
    rows = jnp.where(missing, tree.n, rows)
    return tuple(jnp.zeros_like(a).at[order].set(a, unique_indices=True) for a in (distances, rows))


class Search:
    """The walk of one packet."""

    def __init__(self, tree: Tree, p: float, box):
        slots, leaves = tree.points.shape[1], tree.lower.shape[1] // 2
        while leaves > 1 and 2 * slots // leaves <= LEAF:
            leaves //= 2
        self.tree, self.p, self.box = tree, p, box
        self.leaves, self.leaf = leaves, slots // leaves
        self.levels = leaves.bit_length() - 1
        self.steps = max(-(-self.levels // STEP), 1)
        self.m = tree.points.shape[0]

    def length(self, axis):
        """Return the length of the periodic box along one axis."""
        return None if self.box is None else self.box[axis]

    def home(self, x):
        """Return the leaf that each query (q, m) falls in."""
        left, right = (np.arange(self.leaves) * 2 + side for side in (0, 1))
        below, above = self.tree.upper[:, left], self.tree.lower[:, right]  # (m, leaves)
        gaps, middles = above - below, above / 2 + below / 2
        axis, gap, split = jnp.zeros(self.leaves, jnp.int32), gaps[0], middles[0]
        for other in range(1, self.m):  # the axis along which the children are farthest apart
            wider = gaps[other] > gap
            axis = jnp.where(wider, other, axis)
            gap, split = jnp.where(wider, gaps[other], gap), jnp.where(wider, middles[other], split)
        split = jnp.where(jnp.isnan(split), jnp.inf, split)  # an empty child: all go left

        def down(_, node):
            at = jnp.take_along_axis(x, axis[node][:, None], axis=1)[:, 0]
            return 2 * node + (at > split[node]).astype(jnp.int32)

        root_node = jnp.ones(x.shape[0], jnp.int32)
        return lax.fori_loop(0, self.levels, down, root_node) - self.leaves

    def run(self, lanes, home, best, slack):
        """Search for the queries `lanes` (m, T), whose middle one falls in the leaf `home`.

        Step 0 holds the root, the last step the leaves, and the steps lie `STEP` levels apart, the first ones
        maybe less. ``masks[s]`` has a bit for every node of step s, below the present one of step s - 1, that
        is still to be visited.
        """
        last = self.steps
        first = self.levels - STEP * (last - 1)  # levels between steps 0 and 1

        def scan_leaf(node, step, masks, best):
            return masks, self.scan(lanes, node - self.leaves, best)

        def note_children(node, step, masks, best):
            start = jnp.where(step == 0, 1 << first, node << STEP)
            nodes = start + lax.iota(jnp.int32, 1 << STEP)
            needed = self.test(lanes, start, best, slack) & (nodes != self.leaves + home)
            needed &= (step > 0) | (nodes < 2 << first)
            weights = np.int32(1) << np.arange(1 << STEP, dtype=np.int32)
            return masks.at[step + 1].set(jnp.sum(jnp.where(needed, weights, 0), dtype=jnp.int32)), best

        def next_node(node, step, masks):
            deepest = jnp.max(jnp.where(masks != 0, lax.iota(jnp.int32, last + 1), -1))
            parent = node >> (STEP * (step + 1 - deepest))
            start = jnp.where(deepest > 1, parent << STEP, jnp.where(deepest == 1, 1 << first, 1))
            mask = masks[deepest]
            child = lax.population_count((mask & -mask) - 1)
            return start + child, deepest, masks.at[deepest].set(mask & (mask - 1))

        def visit(state):
            node, step, masks, best = state
            masks, best = lax.cond(step == last, scan_leaf, note_children, node, step, masks, best)
            return *next_node(node, step, masks), best

        masks = jnp.zeros(last + 1, jnp.int32).at[0].set(1)
        state = (self.leaves + home, jnp.int32(last), masks, best)
        return lax.while_loop(lambda state: state[1] >= 0, visit, state)[3]

    def test(self, lanes, start, best, slack):
        """Tell which of the nodes from `start` on some lane still needs."""
        lower, upper = (
            lax.dynamic_slice_in_dim(side, start, 1 << STEP, axis=1)[:, :, None]
            for side in (self.tree.lower, self.tree.upper)
        )
        gap = None
        for axis in range(self.m):
            along = axis_gap(lanes[axis][None, :], lower[axis], upper[axis], self.length(axis))
            along = power(along, self.p)
            gap = along if gap is None else combine(gap, along, self.p)  # (nodes, T)
        return ((gap <= best[0][-1][None, :] / slack) & (gap < jnp.inf)).any(axis=1)

    def scan(self, lanes, leaf, best):
        """Put the points of a leaf that are nearer into the lanes' lists."""
        points = lax.dynamic_slice_in_dim(self.tree.points, leaf * self.leaf, self.leaf, axis=1)
        rows = lax.dynamic_slice_in_dim(self.tree.rows, leaf * self.leaf, self.leaf)[:, None]
        distances = None
        for axis in range(self.m):
            along = axis_distance(lanes[axis][None, :], points[axis][:, None], self.length(axis))
            along = power(along, self.p)
            distances = along if distances is None else combine(distances, along, self.p)  # (leaf, T)

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
            best = insert(best, distance, row, enters(distance, row, best))
            drawn = (distances == distance[None, :]) & (rows == row[None, :])
            distances = jnp.where(drawn, jnp.inf, distances)
            return distances, *nearest_of(distances), best

        if best[0].shape[0] == 1:
            distance, row = nearest_of(distances)
            return insert(best, distance, row, enters(distance, row, best))
        return lax.while_loop(more, draw, (distances, *nearest_of(distances), best))[3]


def insert(best, distance, row, enters):
    """Insert one (distance, row) a lane into the sorted lists, (k, T), of the lanes that it `enters`."""
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
