"""One packet of queries walks the tree: the traversal that searches on an NVIDIA GPU share.

Code inside a Pallas kernel (Triton route). A packet is `LANES` queries, one to each lane of a warp, so a
vector of shape (LANES,) is one register, and a tile (8, LANES) is eight. Eight boxes or slots are tested at
once, with loads that all lanes share: the tree is walked three levels of splits at a time. Which nodes of a
group of eight have still to be visited is a word of bits; the words of all depths lie in the lanes of one
register, so no stack is needed.

A search whose bound shrinks starts in the packet's home leaf and climbs: the siblings on the way to the root
are visited depth first, without those whose box no lane needs. Other searches start at the root.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import pallas as pl

from ..._typing import Array
from .._structure._metric import axis_distance, axis_gap, axis_reach, power_distance

__all__ = ["LANES", "WIDTH", "Space", "any_lane", "lane_bits", "visit_leaf", "walk"]

LANES = 32
WIDTH = 8  # boxes tested at once
SPLITS = 3  # levels of splits in a group of eight

# int32 values, also where x64 makes Python integers int64
ZERO, ONE, THREE, FOUR, SEVEN, EIGHT = (np.int32(i) for i in (0, 1, 3, 4, 7, 8))
SEVEN_BITS, EIGHTH_BIT = np.int32(0x7F7F7F7F), np.uint32(0x80808080).astype(np.int32)  # of each byte
GATHER, GATHERED = np.int32(1 | 1 << 7 | 1 << 14 | 1 << 21), np.int32(21)


class Space(NamedTuple):
    """What a kernel knows of the tree and its packet's queries."""

    points: Any  # ref (m, N)
    rows: Any  # ref (N,)
    lower: Any  # ref (m, 2L)
    upper: Any  # ref (m, 2L)
    queries: list  # m vectors (LANES,), scaled
    lengths: list  # for each axis its period, a scalar, scaled; or None
    p: float
    leaf_size: int
    levels: int

    @property
    def chunk(self) -> int:
        """How many slots are measured at once."""
        return WIDTH if self.leaf_size % WIDTH == 0 else WIDTH // 2

    def gaps(self, group) -> Array:
        """Return the power distances to the boxes of the eight nodes of `group`: (WIDTH, LANES)."""
        return self._boxes(group, axis_gap)

    def reaches(self, group) -> Array:
        """Return power distances that no point of the eight nodes exceeds: (WIDTH, LANES)."""
        return self._boxes(group, axis_reach)

    def distances(self, slot) -> Array:
        """Return the power distances to `chunk` slots from `slot` on: (chunk, LANES)."""
        here = pl.ds(slot, self.chunk)
        return self.distance(
            [(x[None, :], self.points[a, here][:, None]) for a, x in enumerate(self.queries)]
        )

    def own_distances(self, slots) -> Array:
        """Return the power distance from each lane to its own slot: (LANES,)."""
        return self.distance([(x, self.points[a, slots]) for a, x in enumerate(self.queries)])

    def rows_at(self, slot) -> Array:
        """Return the rows of `chunk` slots from `slot` on, each for all lanes: (chunk, LANES)."""
        return jnp.broadcast_to(self.rows[pl.ds(slot, self.chunk)][:, None], (self.chunk, LANES))

    def _boxes(self, group, measure):
        eight = pl.ds(group * EIGHT, WIDTH)
        return self.power_distance(
            lambda a: measure(
                self.queries[a][None, :],
                self.lower[a, eight][:, None],
                self.upper[a, eight][:, None],
                self.lengths[a],
            )
        )

    def distance(self, pairs):
        """Return the power distance of pairs of coordinates, one for each axis."""

        def difference(a):  # whose sign does not matter
            (x, y), length = pairs[a], self.lengths[a]
            return x - y if length is None else axis_distance(x, y, length)

        return self.power_distance(difference)

    def power_distance(self, difference):
        """Return the power distance of ``difference(axis)``."""
        return power_distance(difference, len(self.queries), self.p)


def visit_leaf(space: Space, take, end: bool = False):
    """Return the function that takes a leaf, chunk by chunk, by ``take(state, slot, distances)``.

    With `end`, `take` gets one argument more: whether it is called for the end of the walk, with any slot.
    """
    chunks = np.int32(space.leaf_size // space.chunk)
    last = np.int32((1 << space.levels) - 1)

    def visit(state, leaf):
        at_end = leaf > last
        slot = jnp.minimum(leaf, last) * np.int32(space.leaf_size)

        def chunk(i, state):
            here = slot + i * np.int32(space.chunk)
            return take(state, here, space.distances(here), *([at_end] if end else []))

        if chunks == ONE:
            return chunk(ZERO, state)
        return lax.fori_loop(ZERO, jnp.where(at_end, ONE, chunks) if end else chunks, chunk, state)

    return visit


def walk(space: Space, state, choose, visit, home=None, end: bool = False, splits: int = SPLITS):
    """Visit the leaves that are chosen, the leaf `home` first, or all in slot order; return the final state.

    ``choose(group, children, state)`` returns which of the `children`, a word with a bit for each node of the
    eight in `group`, are to be visited, and the state. ``visit(state, leaf)`` takes a leaf. With `end`, it is
    called once more at the end, for the leaf after the last: what is left to do then is done by the code that
    is there already, and does not have to be compiled twice.

    For groups of another size, a power of two up to 32, give the levels of `splits` in one.
    """
    size = 1 << splits
    shift, width = np.int32(splits), np.int32(size)
    leaves = np.int32(1 << space.levels)
    depths = -(-space.levels // splits)
    lane = lax.iota(jnp.int32, LANES)
    # Group 0 or 1 holds the root's children, all nodes of one level: of its numbers only 2, 4 and so on are.
    first = 1 << ((space.levels - 1) % splits + 1)
    root_children = _word(((1 << first) - 1) << first % size)
    all_children = _word((1 << size) - 1)
    after = np.int32((2 << space.levels) // size)  # the group after the last

    def visit_leaves(group, children, state):
        def visit_next(carried):
            children, state = carried
            leaf = group * width + _first(children) - leaves
            return _without_first(children), visit(state, leaf)

        return lax.while_loop(lambda carried: carried[0] != ZERO, visit_next, (children, state))[1]

    def go_on(depth, group, words, waiting, climbed, state):
        """Take the next node that waits, of those at the greatest depth, and choose among its children."""
        up = depth - (np.int32(31) - lax.clz(waiting))
        depth, group = depth - up, lax.shift_right_logical(group, shift * up)
        word = jnp.sum(jnp.where(lane == depth, words, ZERO), dtype=jnp.int32)
        rest = _without_first(word)
        words = jnp.where(lane == depth, rest, words)
        waiting = jnp.where(rest == ZERO, waiting - jnp.left_shift(ONE, depth), waiting)
        child = group * width + _first(word)
        if home is None:
            depth, group, passed = depth + ONE, child, ZERO
        else:  # or, at a depth that has not been climbed to, take the siblings on the way
            siblings = depth < climbed
            climbed = jnp.where(siblings, depth, climbed)
            height = shift * (np.int32(depths) - depth)
            way = lax.shift_right_logical(home + leaves, height) & (width - ONE)
            passed = jnp.where(siblings, jnp.left_shift(ONE, way), ZERO)
            depth, group = jnp.where(siblings, depth, depth + ONE), jnp.where(siblings, group, child)
        children = jnp.where(group <= ONE, root_children, all_children) & ~passed
        children, state = choose(group, children, state)
        return depth, group, children, words, waiting, climbed, state

    def step(carried):
        # `children`: those of `group`, at `depth`, that are to be visited. Inner nodes wait in `words`, one
        # for each depth; `waiting` has the bits of the depths at which some do, or siblings on the way that
        # were not chosen from yet. `climbed`: the least depth at which they were.
        depth, group, children, words, waiting, climbed, state = carried
        at_leaves = group * width >= leaves
        state = lax.cond(at_leaves, lambda s: visit_leaves(group, children, s), lambda s: s, state)
        inner = jnp.where(at_leaves, ZERO, children)
        words = jnp.where(lane == depth, inner, words)
        waiting = waiting | jnp.where(inner != ZERO, jnp.left_shift(ONE, depth), ZERO)

        def stop(depth, group, words, waiting, climbed, state):
            children = jnp.where(group < after, ONE, ZERO) if end else waiting
            return depth, jnp.maximum(group, after), children, words, waiting, climbed, state

        return lax.cond(waiting != ZERO, go_on, stop, depth, group, words, waiting, climbed, state)

    start: tuple
    if home is None:  # depth 0 is a group of its own, of which the root's children are one child
        start = ZERO, ZERO, np.int32(1 << first // size), ZERO, ZERO
    else:
        above = lax.shift_right_logical(home + leaves, shift)
        here = jnp.left_shift(ONE, home & (width - ONE))
        start = np.int32(depths), above, here, np.int32((2 << depths) - 2), np.int32(depths + 1)
    depth, group, children, waiting, climbed = start
    carried = depth, group, children, jnp.zeros((LANES,), jnp.int32), waiting, climbed, state

    def goes_on(carried):
        _, group, children, _, waiting, _, _ = carried
        return ((children | waiting) != ZERO) | (group < after if end else False)

    return lax.while_loop(goes_on, step, carried)[-1]


def _word(bits: int):
    """Return up to 32 bits as int32."""
    return np.uint32(bits).astype(np.int32)


def any_lane(flags) -> Array:
    """Tell whether any lane's flag is set."""
    return jnp.max(flags.astype(jnp.int32)) > ZERO


def lane_bits(flags) -> Array:
    """Return a word with bit i set where any lane of row i, of at most eight, is set."""
    row = lax.broadcasted_iota(jnp.int32, flags.shape, 0)
    count = jnp.left_shift(ONE, (row & THREE) * EIGHT)  # counters of lanes, a byte each
    bits = _nonzero_bytes(jnp.where(flags & (row < FOUR), count, ZERO), SEVEN)
    if flags.shape[0] > 4:
        bits = bits | _nonzero_bytes(jnp.where(flags & (row >= FOUR), count, ZERO), THREE)
    # Bits 8i and 8i + 4 to i and i + 4: of all products of two bits, no two fall on one place.
    return lax.shift_right_logical(bits * GATHER, GATHERED) & np.int32(255)


def _nonzero_bytes(counts, shift):
    total = jnp.sum(jnp.sum(counts, axis=0, dtype=jnp.int32), dtype=jnp.int32)
    return lax.shift_right_logical((total + SEVEN_BITS) & EIGHTH_BIT, shift)


def _first(bits):
    """Return the number of the lowest bit."""
    return lax.population_count((bits & -bits) - ONE)


def _without_first(bits):
    return bits & (bits - ONE)
