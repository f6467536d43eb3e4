"""One packet of queries walks the tree: the traversal that all searches in pure `jax.lax` share.

The boxes of all children of a node, three levels down, are tested at once, and those that are to be visited
are the bits of one integer a step; the integers are the stack. The walk looks for the next leaf in a loop of
its own, so that arrays which a visit writes to stay out of every branch and are updated in place.
"""

import jax.numpy as jnp
import numpy as np
from jax import lax

from .._structure._metric import axis_distance, axis_gap, axis_reach, power_distance
from .._structure._tree import Tree
from .._structure._varying import varying_like

__all__ = ["Space", "in_packets", "walk"]

LEAF = 32  # points scanned together, at most; small leaves are taken together
STEP = 3  # levels of the tree in one step down
WIDTH = 1 << STEP  # nodes tested together


class Space:
    """The tree and its metric; queries are (m, T) in the tree's scaled coordinates."""

    def __init__(self, tree: Tree, p: float, box):
        slots, leaves, joined = tree.points.shape[1], tree.leaves, 0
        while leaves > 1 and 2 * slots // leaves <= LEAF:
            leaves, joined = leaves // 2, joined + 1
        self.tree, self.p = tree, p
        self.m = tree.points.shape[0]
        self.leaves, self.leaf_size = leaves, slots // leaves
        self.joined = joined  # levels of the tree that are inside of a leaf here
        self.levels = leaves.bit_length() - 1
        self.lengths = [None] * self.m if box is None else [box[axis] * tree.scale for axis in range(self.m)]

    def gaps(self, queries, start):
        """Return the power distances to the boxes of `WIDTH` nodes from `start` on: (WIDTH, T)."""
        return self._boxes(axis_gap, queries, start)

    def reaches(self, queries, start):
        """Return power distances that no point of the nodes exceeds: (WIDTH, T)."""
        return self._boxes(axis_reach, queries, start)

    def _boxes(self, measure, queries, start):
        lower, upper = (
            lax.dynamic_slice_in_dim(side, start, WIDTH, axis=1)[:, :, None]
            for side in (self.tree.lower, self.tree.upper)
        )
        return power_distance(
            lambda axis: measure(queries[axis][None, :], lower[axis], upper[axis], self.lengths[axis]),
            self.m,
            self.p,
        )

    def distances(self, queries, leaf):
        """Return the power distances to the slots of a leaf: (leaf_size, T)."""
        points = lax.dynamic_slice_in_dim(self.tree.points, leaf * self.leaf_size, self.leaf_size, axis=1)
        return power_distance(
            lambda axis: axis_distance(queries[axis][None, :], points[axis][:, None], self.lengths[axis]),
            self.m,
            self.p,
        )

    def of_leaf(self, values, leaf):
        """Return the values (N,) of a leaf's slots: (leaf_size, 1)."""
        return lax.dynamic_slice_in_dim(values, leaf * self.leaf_size, self.leaf_size)[:, None]


def walk(space: Space, state, choose, visit, home=None):
    """Visit the leaves that are chosen, the leaf `home` first, or all in slot order; return the final state.

    ``choose(start, there, state)`` returns which of the `WIDTH` nodes from `start` on are to be visited, of
    those that are `there`, and the state. ``visit(leaf, state)`` takes a leaf.
    """
    leaves, last = space.leaves, max(-(-space.levels // STEP), 1)
    top = space.levels - STEP * (last - 1)  # levels between the root and the first step; else STEP

    def next_node(node, step, masks):
        """Take the first node of those that wait at the greatest depth; step -1 where there is none."""
        deepest = jnp.max(jnp.where(masks != 0, lax.iota(jnp.int32, last + 1), -1))
        above = node >> (STEP * (step + 1 - deepest))
        start = jnp.where(deepest > 1, above << STEP, jnp.where(deepest == 1, 1 << top, 1))
        mask = masks[deepest]
        child = lax.population_count((mask & -mask) - 1)
        return start + child, deepest, masks.at[deepest].set(mask & (mask - 1))

    def descend(carry):
        node, step, masks, state = carry
        start = jnp.where(step == 0, 1 << top, node << STEP)
        nodes = start + lax.iota(jnp.int32, WIDTH)
        there = (step > 0) | (nodes < 2 << top)
        if home is not None:
            there &= nodes != leaves + home
        chosen, state = choose(start, there, state)
        bits = np.int32(1) << np.arange(WIDTH, dtype=np.int32)
        word = jnp.sum(jnp.where(chosen & there, bits, 0), dtype=jnp.int32)
        return *next_node(node, step, masks.at[step + 1].set(word)), state

    def seek(carry):
        """Go on to the next leaf."""
        return lax.while_loop(lambda carry: (carry[1] >= 0) & (carry[1] != last), descend, carry)

    def visit_leaf(carry):
        node, step, masks, state = carry
        state = visit(node - leaves, state)
        return seek((*next_node(node, step, masks), state))

    # masks[s] has a bit for every node of step s, below the present one of step s - 1, that waits
    masks = jnp.zeros(last + 1, jnp.int32)
    if home is None:
        carry = varying_like((jnp.int32(1), jnp.int32(0), masks, state), space.tree)
        carry = seek(carry)
    else:
        carry = varying_like((leaves + home, jnp.int32(last), masks.at[0].set(1), state), space.tree)
    return lax.while_loop(lambda carry: carry[1] >= 0, visit_leaf, carry)[3]


def in_packets(values, size: int, missing=None):
    """Reshape (Q, ...) to (packets, size, ...), filled up with `missing`, or with copies of the last line."""
    extra = [(0, -values.shape[0] % size)] + [(0, 0)] * (values.ndim - 1)
    if missing is None:
        values = jnp.pad(values, extra, mode="edge")
    else:
        values = jnp.pad(values, extra, constant_values=missing)
    return values.reshape(-1, size, *values.shape[1:])
