"""Keep the nearest points, in registers: what a search for neighbours does with a leaf.

Code inside a Pallas kernel, see `_walk`. Neighbours are pairs (power distance, row) and are ordered by
both: of equally distant points the lowest row wins, also at the last place.
"""

from functools import partial

import jax.numpy as jnp
import numpy as np
from jax import lax

from ._walk import FOUR, LANES, ONE, ZERO, Space, any_lane, lane_bits

__all__ = ["Nearest", "NearestOne", "home_bound"]

PENDING = 8  # candidates that a lane holds back before it merges them into its list


def home_bound(space: Space, homes, k):
    """Return a power distance within which each lane's query has `k` points, from those around its own leaf.

    Without it, a lane whose own leaf is far from the packet's would ask for everything in between. `k` is an
    int32 scalar, at most the number of slots.
    """
    leaf = np.int32(space.leaf_size)
    # The slots of the subtree around the leaf that has enough, a power of two of leaves, make k groups. Each
    # group has a point within the greatest of their least distances. Up to four slots in a group pay.
    enough = jnp.maximum(k, jnp.minimum(k * FOUR, np.int32(LANES)))
    more = lax.div(enough - ONE, leaf)
    leaves = jnp.where(more > ZERO, jnp.left_shift(ONE, np.int32(32) - lax.clz(more)), ONE)
    leaves = jnp.minimum(leaves, np.int32(1 << space.levels))
    first, members = (homes & -leaves) * leaf, lax.div(leaves * leaf, k)
    none = jnp.zeros((LANES,), space.queries[0].dtype)

    def farther(i, far):
        def nearer(j, near):
            return jnp.minimum(near, space.own_distances(first + i + j * k))

        return jnp.maximum(far, lax.fori_loop(ZERO, members, nearer, none + jnp.inf))

    return lax.fori_loop(ZERO, k, farther, none)


class NearestOne:
    """The nearest point. The state is its (distance, row)."""

    needs_end = False

    def __init__(self, space: Space, missing):
        self.space, self.missing = space, missing

    def start(self, bound):
        """Return the state in which nothing beyond `bound` will be found."""
        return bound, jnp.full((LANES,), self.missing, jnp.int32)

    def limit(self, state):
        """Return the power distance up to which each lane still needs points."""
        return state[0]

    def take(self, state, slot, distances):
        """Take a chunk of slots."""
        nearest = jnp.min(distances, axis=0)

        def closer(state):
            rows = jnp.where(distances == nearest[None, :], self.space.rows_at(slot), self.missing)
            new = nearest, jnp.min(rows, axis=0)
            return _chosen(_before(new, state), new, state)

        return lax.cond(any_lane(nearest <= self.limit(state)), closer, lambda s: s, state)

    def finish(self, state):
        """Return the result as tiles (1, LANES)."""
        return tuple(x[None, :] for x in state)


class Nearest:
    """The k nearest points after `floor`, a (distance, row) for each lane, or None.

    The list is kept sorted; a lane's new candidates wait unsorted until one lane has no room for more. Then
    all lanes sort theirs and merge them into the list, by networks that are the same for every lane. The
    state is (list, candidates, number of candidates); the list is a pair of tiles (size, LANES) of which each
    lane holds a column, the candidates are pairs of vectors.
    """

    needs_end = True  # to merge the last candidates

    def __init__(self, space: Space, missing, k: int, floor=None):
        self.space, self.missing, self.k, self.floor = space, missing, k, floor
        self.size = max(PENDING, 1 << (k - 1).bit_length())

    def start(self, bound):
        """Return the state in which nothing beyond `bound` will be found."""
        rows = jnp.full((self.size, LANES), self.missing, jnp.int32)
        return (jnp.broadcast_to(bound[None, :], rows.shape), rows), *self._no_candidates(bound.dtype)

    def _no_candidates(self, dtype):
        nothing = jnp.full((LANES,), jnp.inf, dtype), jnp.full((LANES,), self.missing, jnp.int32)
        return (nothing,) * PENDING, jnp.zeros((LANES,), jnp.int32)

    def limit(self, state):
        """Return the power distance up to which each lane still needs points."""
        return _row(state[0][0], self.k - 1)

    def take(self, state, slot, distances, end):
        """Take a chunk of slots; at the end only merge the candidates."""

        def add(state):
            near = (distances <= self.limit(state)[None, :]) & ~end
            if self.floor is not None:
                near &= distances >= self.floor[0][None, :]
            wanted = lane_bits(near)
            new = jnp.sum(near.astype(jnp.int32), axis=0, dtype=jnp.int32)
            full = any_lane(state[2] + new > np.int32(PENDING)) | end
            best, candidates, count = lax.cond(full, self.merge, lambda s: s, state)
            limit = _row(best[0], self.k - 1)
            rows = self.space.rows_at(slot)
            for i in range(self.space.chunk):
                push = partial(self._push, item=(_row(distances, i), _row(rows, i)), limit=limit)
                here = wanted & np.int32(1 << i) != ZERO
                candidates, count = lax.cond(here, push, lambda *s: s, candidates, count)
            return best, candidates, count

        nearest = jnp.min(distances, axis=0)
        return lax.cond(any_lane(nearest <= self.limit(state)) | end, add, lambda s: s, state)

    def _push(self, candidates, count, item, limit):
        """Push a candidate in front, in the lanes that want it."""
        wanted = item[0] <= limit
        if self.floor is not None:
            wanted &= _before(self.floor, item)
        shifted = (item, *candidates[:-1])
        candidates = tuple(_chosen(wanted, new, old) for new, old in zip(shifted, candidates, strict=True))
        return candidates, count + wanted.astype(jnp.int32)

    def merge(self, state):
        """Merge the candidates into the list."""
        best, candidates, _ = state
        # Backwards, so that the list's end and the nearest candidates meet: of each pair the nearer stays.
        candidates = _tile(_sorted(candidates)[::-1])
        shape = (self.size // PENDING, PENDING, LANES)
        at_end = lax.broadcasted_iota(jnp.int32, shape, 0) == np.int32(shape[0] - 1)
        best = tuple(x.reshape(shape) for x in best)
        candidates = tuple(x[None] for x in candidates)
        best = _chosen(_before(candidates, best) & at_end, candidates, best)
        best = tuple(x.reshape(self.size, LANES) for x in best)
        step = self.size // 2
        while step:  # what was sorted up to its end, and then down, is a bitonic sequence
            best = _exchanged(best, step)
            step //= 2
        return best, *self._no_candidates(best[0].dtype)

    def finish(self, state):
        """Return the result as tiles (size, LANES)."""
        return state[0]


def _before(a, b):
    """Tell where (distance, row) `a` comes before `b`."""
    return (a[0] < b[0]) | ((a[0] == b[0]) & (a[1] < b[1]))


def _chosen(mask, a, b):
    """Return pair `a` where `mask`, pair `b` elsewhere."""
    return tuple(jnp.where(mask, x, y) for x, y in zip(a, b, strict=True))


def _row(tile, i):
    """Return row `i` of a tile."""
    return _only(tile, lax.broadcasted_iota(jnp.int32, tile.shape, 0) == np.int32(i), 0)


def _only(tile, mask, axis):
    """Reduce `axis` to the one place where `mask`, a constant, holds.

    No instruction is left of it: each lane holds whole columns in registers, and x + -0.0 is x whatever x is.
    """
    return jnp.sum(jnp.where(mask, tile, jnp.asarray(-0.0, tile.dtype)), axis=axis, dtype=tile.dtype)


def _tile(items):
    """Return pairs of vectors as one pair of tiles."""
    place = lax.broadcasted_iota(jnp.int32, (len(items), LANES), 0)
    tile = tuple(jnp.broadcast_to(x[None, :], place.shape) for x in items[0])
    for i, item in enumerate(items):
        tile = _chosen(place == np.int32(i), [x[None, :] for x in item], tile)
    return tile


def _sorted(items):
    """Sort a power of two of pairs of vectors, by Batcher's odd-even merge sort."""
    items = list(items)
    count, width = len(items), 1
    while width < count:
        step = width
        while step:
            for i in range(step % width, count - step):
                j = i + step
                if (i - step % width) // step % 2 == 0 and i // (2 * width) == j // (2 * width):
                    swap = _before(items[j], items[i])
                    items[i], items[j] = _chosen(swap, items[j], items[i]), _chosen(swap, items[i], items[j])
            step //= 2
        width *= 2
    return items


def _exchanged(items, step):
    """Order each two rows of a pair of tiles that are `step` apart."""
    size, lanes = items[0].shape
    shape = (size // (2 * step), 2, step, lanes)
    split = [x.reshape(shape) for x in items]
    half = lax.broadcasted_iota(jnp.int32, shape, 1)
    first, second = ([_only(x, half == np.int32(i), 1) for x in split] for i in (0, 1))
    swap = _before(second, first)
    low = [x[:, None] for x in _chosen(swap, second, first)]
    high = [x[:, None] for x in _chosen(swap, first, second)]
    return tuple(x.reshape(size, lanes) for x in _chosen(half == ZERO, low, high))
