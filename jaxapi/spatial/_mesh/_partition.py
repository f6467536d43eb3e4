"""Which device gets which point: an exact kd partition, without moving a point.

The devices are split in two again and again, and with them the points, along the widest side of the box of
those that belong together. The point where a group is split is its r-th in the order of (coordinate, row).
Each device sorts its own points, group by group; how many of them lie below a candidate for the r-th is then
looked up in no time, and added up over the devices. So the r-th is found digit by digit. Rows differ, so the
split is exact, however many coordinates are equal: every device gets the share that is due to it, and none
needs spare room.
"""

import math

import jax.numpy as jnp
import numpy as np
from jax import lax

from .._structure._build import largest
from ._axes import Axes

__all__ = ["partition", "shares"]

WORD = 32
DIGIT = 8  # bits of a word that one message finds
PROBES = 6  # bits of a place that one look at the words finds
HIGHEST = np.uint32(2**WORD - 1)


def shares(n: int, devices: int) -> list[int]:
    """Return how many of `n` points each device gets.

    >>> shares(10, 4)
    [2, 3, 2, 3]
    """
    return [n * (i + 1) // devices - n * i // devices for i in range(devices)]


def partition(points, n: int, axes: Axes, rows_dtype):
    """Return the device (s,) that each row goes to, and the box (2, m) of all points that are finite.

    Row ``i`` of device ``j`` is row ``j * s + i`` of all; those from `n` on go to ``axes.size``. Device ``j``
    gets ``shares(n, axes.size)[j]`` points. Numbers of points of all devices have the dtype of rows.
    """
    share = shares(n, axes.size)
    groups = [(0, axes.size)]  # first device, number of devices
    group = jnp.where(lax.iota(jnp.int32, points.shape[0]) < _rows_here(n, points.shape[0], axes), 0, 1)
    finite = jnp.isfinite(points).all(axis=1)
    boxes = _boxes(points, group, finite, 1, axes)
    whole = boxes[0]
    while any(count > 1 for _, count in groups):
        if len(groups) > 1:
            boxes = _boxes(points, group, finite, len(groups), axes)
        lower, upper = boxes[:, 0], boxes[:, 1]
        widest = largest(jnp.where(lower < upper, upper / 2 - lower / 2, 0).T)
        along = _coordinate(points, widest[jnp.minimum(group, len(groups) - 1)])
        along = jnp.where(finite, along, jnp.inf)  # points that nobody finds lie at the far end
        ranks = [sum(share[first : first + count // 2]) for first, count in groups]
        left = _among_first(_sortable(along), group, np.asarray(ranks, rows_dtype), axes)
        group, groups = _split(group, groups, left)
    return group, whole


def _rows_here(n: int, s: int, axes: Axes):
    """Return how many of this device's rows are among the first `n`."""
    here = [min(max(n - s * device, 0), s) for device in range(axes.size)]
    return jnp.asarray(np.asarray(here, np.int32))[axes.index()]


def _boxes(points, group, finite, count: int, axes: Axes):
    """Return the boxes (groups, 2, m) of the finite points of each group."""
    s, m = points.shape
    lines = -1, m * math.gcd(s, 64)  # XLA reduces these several times as fast as lines of three

    def one(number):
        inside = (finite & (group == number))[:, None]
        lower, upper = (
            jnp.where(inside, side, -jnp.inf).reshape(lines).max(axis=0).reshape(-1, m).max(axis=0)
            for side in (-points, points)
        )
        return jnp.stack([lower, upper])

    numbers = lax.iota(jnp.int32, count)
    found = axes.max(one(numbers[0])[None] if count == 1 else lax.map(one, numbers))
    return jnp.stack([-found[:, 0], found[:, 1]], axis=1)


def _coordinate(points, axis):
    """Return each point's coordinate along its axis."""
    along = points[:, 0]
    for a in range(1, points.shape[1]):
        along = jnp.where(axis == a, points[:, a], along)
    return along


def _sortable(x):
    """Return words of 32 bits, the highest first, that are in the order of the numbers `x`."""
    words = lax.bitcast_convert_type(x + 0.0, jnp.uint32)  # -0.0 + 0.0 is 0.0
    words = [words[..., 1], words[..., 0]] if x.dtype.itemsize == 8 else [words]
    negative = words[0] >> 31 == 1
    flipped = [jnp.where(negative, ~word, word) for word in words]
    return [jnp.where(negative, flipped[0], flipped[0] | np.uint32(1 << 31)), *flipped[1:]]


def _among_first(words, group, ranks, axes: Axes):
    """Tell which points are among the first ``ranks[g]`` of their group `g`, by (words, row).

    Points of the group ``len(ranks)`` belong to none.
    """
    s, count = group.shape[0], len(ranks)
    order, columns = _sorted(words, group, count)
    sizes = (lax.iota(group.dtype, count)[:, None] == group).sum(axis=1, dtype=jnp.int32)
    ends = jnp.cumsum(sizes)
    starts = ends - sizes

    # Of each group, the places from `low` to `high` have the words of the r-th point.
    low, high, rank = starts, ends, jnp.asarray(ranks)
    for i, word in enumerate(columns):
        if i:
            rank = jnp.asarray(ranks) - axes.sum((low - starts).astype(rank.dtype))
        wanted = _digits(word, low, high, rank, axes)[:, None]
        low, high = (_place(word, low, high, wanted, right)[:, 0] for right in (False, True))
    below, equal = (each.astype(ranks.dtype) for each in axes.gather((low - starts, high - low)))
    waiting = jnp.asarray(ranks) - below.sum(axis=0, dtype=ranks.dtype)
    before = (jnp.cumsum(equal, axis=0, dtype=ranks.dtype) - equal)[axes.index()]
    cut = low + jnp.clip(waiting - before, 0, (high - low).astype(ranks.dtype)).astype(jnp.int32)

    # Where a group is cut, a point that stays behind begins.
    own, at = jnp.minimum(group, count - 1), jnp.minimum(cut, s - 1)
    left = lax.iota(jnp.int32, s) < order[at][own]
    for word, column in zip(words[::-1], columns[::-1], strict=True):
        first = column[at][own]
        left = (word < first) | ((word == first) & left)
    return left | (cut == ends)[own]


def _sorted(words, group, count: int):
    """Return the rows in the order of (group, words, row), and the words in this order."""
    rows = lax.iota(jnp.int32, group.shape[0])
    highest = jnp.where(group < count, words[0], HIGHEST)  # which no number has
    column, order = lax.sort(((highest, *words[1:])[-1], rows), num_keys=1, is_stable=True)
    keys = [highest] if len(words) > 1 else []
    keys += [group.astype(jnp.uint8 if count < 256 else jnp.uint32)] if count > 1 else []
    for key in keys:
        order = lax.sort((key[order], order), num_keys=1, is_stable=True)[1]
    return order, [word[order] for word in words] if keys else [column]


def _digits(word, low, high, rank, axes: Axes):
    """Return the greatest number for each group that at most `rank` of its sorted words are below."""
    steps = np.arange(1, 1 << DIGIT, dtype=np.uint32)

    def one(i, found):
        shift = (WORD - DIGIT - DIGIT * i).astype(jnp.uint32)
        candidates = found[:, None] | (jnp.asarray(steps) << shift)  # (groups, steps)
        places = _place(word, low, high, candidates, False)
        counts = axes.sum((places - low[:, None]).astype(rank.dtype))
        return found | ((counts <= rank[:, None]).sum(axis=1, dtype=jnp.uint32) << shift)

    return lax.fori_loop(0, WORD // DIGIT, one, jnp.zeros(rank.shape, jnp.uint32))


def _place(word, low, high, wanted, right: bool):
    """Return where between `low` and `high` (g,) the numbers `wanted` (g, c) fit into the sorted words.

    In front of equal words, or behind them.
    """
    place, end = low[:, None].astype(jnp.uint32), high[:, None, None].astype(jnp.uint32)
    bits = word.shape[0].bit_length()
    while bits:  # one in so many words is looked at, then one in fewer of those between two of these
        probes = min(bits, PROBES)
        bits -= probes
        step = 1 << bits
        probe = place[..., None] + np.arange(1, 1 << probes, dtype=np.uint32) * np.uint32(step) - 1
        there = word.at[probe].get(mode="clip")
        before = (there <= wanted[..., None]) if right else (there < wanted[..., None])
        place = place + np.uint32(step) * (before & (probe < end)).sum(axis=-1, dtype=jnp.uint32)
    return place.astype(jnp.int32)


def _split(group, groups, left):
    """Return the groups after each has been split in two, unless it is one device; and each point's."""
    new, first_half = [], []
    for first, count in groups:
        first_half.append(len(new))
        half = count // 2
        new += [(first, half), (first + half, count - half)] if half else [(first, count)]
    whole = jnp.asarray(np.asarray([count == 1 for _, count in groups]))
    own = jnp.minimum(group, len(groups) - 1)
    moved = jnp.asarray(np.asarray(first_half, np.int32))[own] + jnp.where(left | whole[own], 0, 1)
    return jnp.where(group < len(groups), moved, len(new)).astype(jnp.int32), new
