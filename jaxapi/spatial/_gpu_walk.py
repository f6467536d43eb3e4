"""One packet of queries walks the tree: the traversal that searches on an NVIDIA GPU share.

Code inside a Pallas kernel (Triton route). A packet is `LANES` queries, one to each lane of a warp, so a
vector of shape (LANES,) is one register, and a tile (8, LANES) is eight. Eight boxes or slots are tested at
once, with loads that all lanes share: the tree is walked three levels of splits at a time. Which nodes of a
group of eight have still to be visited is a word of bits; the words of all depths lie in the lanes of one
register, so no stack is needed.

The search starts in the packet's home leaf and climbs: the siblings on the way to the root are visited depth
first, without those whose box no lane needs.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import pallas as pl

from .._typing import Array
from ._metric import axis_distance, axis_gap, combine, power

__all__ = ["LANES", "Space", "any_lane", "bit", "lane_bits", "walk"]

LANES = 32
WIDTH = 8  # boxes tested at once
SPLITS = 3  # levels of splits in a group of eight

# int32 values, also where x64 makes Python integers int64
ZERO, ONE, THREE, FOUR, SEVEN, EIGHT = (np.int32(i) for i in (0, 1, 3, 4, 7, 8))
SEVEN_BITS, EIGHTH_BIT = np.int32(0x7F7F7F7F), np.uint32(0x80808080).astype(np.int32)  # of each byte


class Space(NamedTuple):
    """What a kernel knows of the tree and its packet's queries."""

    points: object  # ref (m, N)
    rows: object  # ref (N,)
    lower: object  # ref (m, 2L)
    upper: object  # ref (m, 2L)
    queries: list  # m vectors (LANES,), scaled
    lengths: list  # for each axis its period, a scalar, scaled; or None
    p: float
    leaf_size: int
    levels: int
    chunk: int  # slots measured at once

    def gaps(self, group) -> Array:
        """Return the power distances to the boxes of the eight nodes of `group`: (WIDTH, LANES)."""
        return self._boxes(group, axis_gap)

    def reaches(self, group) -> Array:
        """Return power distances that no point of the eight nodes exceeds: (WIDTH, LANES)."""
        return self._boxes(group, _axis_reach)

    def distances(self, slot) -> Array:
        """Return the power distances to `chunk` slots from `slot` on: (chunk, LANES)."""
        here = pl.ds(slot, self.chunk)
        return self._distance(
            [(x[None, :], self.points[a, here][:, None]) for a, x in enumerate(self.queries)]
        )

    def own_distances(self, slots) -> Array:
        """Return the power distance from each lane to its own slot: (LANES,)."""
        return self._distance([(x, self.points[a, slots]) for a, x in enumerate(self.queries)])

    def rows_at(self, slot) -> Array:
        """Return the rows of `chunk` slots from `slot` on, each for all lanes: (chunk, LANES)."""
        return jnp.broadcast_to(self.rows[pl.ds(slot, self.chunk)][:, None], (self.chunk, LANES))

    def _boxes(self, group, measure):
        eight = pl.ds(group * EIGHT, WIDTH)
        return self._sum(
            measure(x[None, :], self.lower[a, eight][:, None], self.upper[a, eight][:, None], length)
            for a, (x, length) in enumerate(zip(self.queries, self.lengths, strict=True))
        )

    def _distance(self, pairs):
        # The sign of a difference does not matter to power().
        return self._sum(
            x - y if length is None else axis_distance(x, y, length)
            for (x, y), length in zip(pairs, self.lengths, strict=True)
        )

    def _sum(self, differences):
        total = None
        for difference in differences:
            term = power(difference, self.p)
            total = term if total is None else combine(total, term, self.p)
        return total


def _axis_reach(x, lower, upper, length):
    """Return a distance along one axis that no point of the box exceeds."""
    reach = jnp.maximum(jnp.abs(x - lower), jnp.abs(x - upper))
    return reach if length is None else jnp.where(length > 0, jnp.minimum(reach, length / 2), reach)


def walk(space: Space, home, state, needed, visit):
    """Visit every leaf that a lane may need, the leaf `home` first; return the final state.

    ``needed(group, state)`` (WIDTH, LANES) tells which of the eight nodes of a group each lane may need.
    ``visit(state, slot)`` takes the leaf that starts at `slot`.
    """
    leaves = np.int32(1 << space.levels)
    depths = -(-space.levels // SPLITS)
    lane = lax.iota(jnp.int32, LANES)
    # Group 0 or 1 holds the root's children, all nodes of one level: of its eight numbers only 2, 4 or 8 are.
    first = 1 << ((space.levels - 1) % SPLITS + 1)
    root_children = np.int32(sum(int(bit(i)) for i in range(first % WIDTH, first % WIDTH + first)))
    all_children = np.int32(sum(int(bit(i)) for i in range(WIDTH)))

    def visit_leaves(group, children, state):
        def visit_next(carried):
            children, state = carried
            leaf = group * EIGHT + _first_row(children) - leaves
            return _without_first(children), visit(state, leaf * np.int32(space.leaf_size))

        return lax.while_loop(lambda carried: carried[0] != ZERO, visit_next, (children, state))[1]

    def step(carried):
        # `children`: of `group`, at `depth`, the nodes to be visited. `climbed`: the least depth yet at which
        # the siblings on the way from the home leaf to the root were tested.
        depth, group, children, climbed, words, state = carried
        some = children != ZERO
        at_leaves = some & (group * EIGHT >= leaves)
        state = lax.cond(at_leaves, lambda s: visit_leaves(group, children, s), lambda s: s, state)

        # Go down to the first child, or test the siblings on the way, or go up.
        down = some & ~at_leaves
        siblings = ~down & (climbed > depth)
        up = ~down & ~siblings
        words = jnp.where(down & (lane == depth), _without_first(children), words)
        group = jnp.where(down, group * EIGHT + _first_row(children), group)
        on_the_way = lax.shift_right_logical(home + leaves, np.int32(SPLITS) * (np.int32(depths - 1) - depth))
        allowed = jnp.where(group <= ONE, root_children, all_children)
        allowed = allowed & ~jnp.where(siblings, bit(on_the_way), ZERO)
        tested = lax.cond(up, lambda a: a, lambda a: lane_bits(needed(group, state)) & a, allowed)

        climbed = jnp.where(siblings, depth, climbed)
        depth = jnp.where(down, depth + ONE, jnp.where(up, depth - ONE, depth))
        left = jnp.sum(jnp.where(lane == depth, words, ZERO), dtype=jnp.int32)
        children = jnp.where(up, jnp.where(depth < climbed, ZERO, left), tested)
        group = jnp.where(up, lax.shift_right_logical(group, np.int32(SPLITS)), group)
        return depth, group, children, climbed, words, state

    carried = (
        np.int32(depths - 1),
        lax.shift_right_logical(home + leaves, np.int32(SPLITS)),
        bit(home),
        np.int32(depths),
        jnp.zeros((LANES,), jnp.int32),
        state,
    )
    return lax.while_loop(lambda carried: carried[0] >= ZERO, step, carried)[-1]


def any_lane(flags) -> Array:
    """Tell whether any lane's flag is set."""
    return jnp.max(flags.astype(jnp.int32)) > ZERO


def lane_bits(flags) -> Array:
    """Return a word with `bit` (i) set where any lane of row i, of at most eight, is set."""
    row = lax.broadcasted_iota(jnp.int32, flags.shape, 0)
    count = jnp.left_shift(ONE, (row & THREE) * EIGHT)  # counters of lanes, a byte each
    bits = _nonzero_bytes(jnp.where(flags & (row < FOUR), count, ZERO), SEVEN)
    if flags.shape[0] > 4:
        bits = bits | _nonzero_bytes(jnp.where(flags & (row >= FOUR), count, ZERO), THREE)
    return bits


def _nonzero_bytes(counts, shift):
    total = jnp.sum(jnp.sum(counts, axis=0, dtype=jnp.int32), dtype=jnp.int32)
    return lax.shift_right_logical((total + SEVEN_BITS) & EIGHTH_BIT, shift)


def bit(row):
    """Return the bit that stands for a row, or a node, of eight: rows 0 to 3 at 8 * row, the rest beside."""
    return np.int32(1) << ((row & THREE) * EIGHT + (row & FOUR))


def _first_row(bits):
    """Return the row that the lowest bit stands for."""
    position = lax.population_count((bits & -bits) - ONE)
    return lax.shift_right_logical(position, THREE) + (position & FOUR)


def _without_first(bits):
    return bits & (bits - ONE)
