"""One packet of queries walks the tree: the traversal that all searches in pure `jax.lax` share.

The boxes of all children of a node, three levels down, are tested at once, and those that are to be visited
are the bits of one integer a step; the integers are the stack. The walk looks for the next leaf in a loop of
its own, so that arrays which a visit writes to stay out of every branch and are updated in place.
"""

import jax.numpy as jnp
from jax import lax

from ..._tree._metric import TreeMetric, axis_distance, axis_gap, axis_reach, power_distance
from ..._tree._tree import Tree
from ..._tree._varying import varying_like

__all__ = ["MeasuredTree", "in_packets", "walk"]

LEAF = 32  # points scanned together, at most; small leaves are taken together
STEP = 3  # levels of the tree in one step down
WIDTH = 1 << STEP  # nodes tested together


class MeasuredTree:
    """The tree and its metric; queries are (m, T) in the tree's scaled coordinates."""

    def __init__(self, tree: Tree, metric: TreeMetric):
        m, slot_count = tree.points.shape
        leaves = tree.leaves
        joined = 0
        while leaves > 1 and 2 * slot_count // leaves <= LEAF:
            leaves = leaves // 2
            joined = joined + 1
        self.tree = tree
        self.p = metric.p
        self.m = m
        self.leaves = leaves
        self.leaf_size = slot_count // leaves
        self.joined = joined  # levels of the tree that are inside of a leaf here
        self.levels = leaves.bit_length() - 1
        boxsize = metric.scaled_boxsize(tree.scale)
        self.boxsize = [None if boxsize is None else boxsize[axis] for axis in range(m)]

    def gaps(self, queries, start):
        """Return the power distances to the boxes of `WIDTH` nodes from `start` on: (WIDTH, T)."""
        return self._boxes(axis_gap, queries, start)

    def reaches(self, queries, start):
        """Return power distances that no point of the nodes exceeds: (WIDTH, T)."""
        return self._boxes(axis_reach, queries, start)

    def _boxes(self, measure, queries, start):
        lower = lax.dynamic_slice_in_dim(self.tree.lower, start, WIDTH, axis=1)[:, :, None]
        upper = lax.dynamic_slice_in_dim(self.tree.upper, start, WIDTH, axis=1)[:, :, None]

        def along(axis):
            return measure(queries[axis][None, :], lower[axis], upper[axis], self.boxsize[axis])

        return power_distance(along, self.m, self.p)

    def distances(self, queries, leaf):
        """Return the power distances to the slots of a leaf: (leaf_size, T)."""
        points = lax.dynamic_slice_in_dim(self.tree.points, leaf * self.leaf_size, self.leaf_size, axis=1)

        def along(axis):
            return axis_distance(queries[axis][None, :], points[axis][:, None], self.boxsize[axis])

        return power_distance(along, self.m, self.p)

    def of_leaf(self, values, leaf):
        """Return the values (N,) of a leaf's slots: (leaf_size, 1)."""
        return lax.dynamic_slice_in_dim(values, leaf * self.leaf_size, self.leaf_size)[:, None]


def walk(measured: MeasuredTree, state, choose, visit, home=None):
    """Visit the leaves that are chosen, the leaf `home` first, or all in slot order; return the final state.

    ``choose(start, exists, state)`` returns a mask of nodes to be visited, of `WIDTH` from `start` on, and
    the state; `exists` is a mask of those that are nodes. ``visit(leaf, state)`` takes a leaf.
    """
    leaves = measured.leaves
    last = max(-(-measured.levels // STEP), 1)  # the step down that arrives at the leaves
    top = measured.levels - STEP * (last - 1)  # levels between the root and the first step; else STEP

    def next_node(node, step, masks):
        """Take the first node of those that wait at the greatest depth; step -1 where there is none."""
        deepest = jnp.max(jnp.where(masks != 0, lax.iota(jnp.int32, last + 1), -1))
        # Nodes that wait are children of one node, which the present node descends from. But the first step
        # has the only ones `top` levels below the root, and step 0 has the root.
        parent = node >> (STEP * (step + 1 - deepest))
        first_child = parent << STEP
        first_of_first_step = jnp.where(deepest == 1, 1 << top, 1)
        start = jnp.where(deepest > 1, first_child, first_of_first_step)
        mask = masks[deepest]
        lowest_bit = mask & -mask
        child = lax.population_count(lowest_bit - 1)
        return start + child, deepest, masks.at[deepest].set(mask - lowest_bit)

    def descend(carry):
        node, step, masks, state = carry
        start = jnp.where(step == 0, 1 << top, node << STEP)
        nodes = start + lax.iota(jnp.int32, WIDTH)
        exists = (step > 0) | (nodes < 2 << top)
        if home is not None:
            exists &= nodes != leaves + home
        is_chosen, state = choose(start, exists, state)
        bits = jnp.int32(1) << lax.iota(jnp.int32, WIDTH)
        mask = jnp.sum(jnp.where(is_chosen & exists, bits, 0), dtype=jnp.int32)
        return *next_node(node, step, masks.at[step + 1].set(mask)), state

    def is_between(carry):
        _, step, _, _ = carry
        return (step >= 0) & (step != last)

    def seek(carry):
        """Go on to the next leaf."""
        return lax.while_loop(is_between, descend, carry)

    def is_at_a_leaf(carry):
        _, step, _, _ = carry
        return step >= 0

    def visit_leaf(carry):
        node, step, masks, state = carry
        state = visit(node - leaves, state)
        return seek((*next_node(node, step, masks), state))

    # masks[s] has a bit for each node of step s that waits; all are below the present node of step s - 1.
    masks = jnp.zeros(last + 1, jnp.int32)
    if home is None:
        carry = varying_like((jnp.int32(1), jnp.int32(0), masks, state), measured.tree)
        carry = seek(carry)
    else:
        carry = varying_like((leaves + home, jnp.int32(last), masks.at[0].set(1), state), measured.tree)
    _, _, _, state = lax.while_loop(is_at_a_leaf, visit_leaf, carry)
    return state


def in_packets(values, size: int, missing=None):
    """Reshape (Q, ...) to (packets, size, ...), filled up with `missing`, or with copies of the last."""
    padding = [(0, -values.shape[0] % size)] + [(0, 0)] * (values.ndim - 1)
    if missing is None:
        values = jnp.pad(values, padding, mode="edge")
    else:
        values = jnp.pad(values, padding, constant_values=missing)
    return values.reshape(-1, size, *values.shape[1:])
