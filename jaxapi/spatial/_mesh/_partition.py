"""Which device gets which point: an exact kd partition, without moving a point.

The devices are split in two again and again, and with them the points, along the widest side of the box of
those that belong together. The point where a group is split is its r-th in the order of (coordinate, row).
Each device sorts its own points, group by group; how many of them lie below a candidate for the r-th is then
looked up in no time, and added up over the devices. So the r-th is found digit by digit. Rows differ, so the
split is exact, however many coordinates are equal: every device gets the share that is due to it, and none
needs spare room.
"""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core._typing import Array
from .._tree._build import largest
from .._tree._powers_of_two import scaled, unit_of_small
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


class Level(NamedTuple):
    """How groups of devices, and with them their points, are split in two."""

    ranks: Array  # (groups,) how many points go to the first half
    first_halves: Array  # (groups,) the number of the first half among the next level's groups
    is_one_device: Array  # (groups,) such a group is not split

    @property
    def group_count(self) -> int:
        """How many groups there are."""
        return self.ranks.shape[-1]


def partition(points: Array, n: int, axes: Axes, rows_dtype):
    """Return the device (s,) that each row goes to, and the box (2, m) of all points that are finite.

    Row ``i`` of device ``j`` is row ``j * s + i`` of all; those from `n` on go to ``axes.size``. Device ``j``
    gets ``shares(n, axes.size)[j]`` points. Numbers of points of all devices have the dtype of rows.
    """
    first_level, *levels = _levels(shares(n, axes.size), rows_dtype)
    is_counted = lax.iota(jnp.int32, points.shape[0]) < _rows_here(n, points.shape[0], axes)
    is_finite = jnp.isfinite(points).all(axis=1)
    group = jnp.where(is_counted, 0, axes.size)
    box = _boxes(points, jnp.where(is_finite, group, axes.size), 1, axes)

    def split(level: Level, group, boxes):
        widest = _widest_sides(boxes)[jnp.minimum(group, level.group_count - 1)]
        along = jnp.where(is_finite, _coordinate(points, widest), jnp.inf)  # what nobody finds is far away
        is_first = _among_first(_sortable(along), group, level.ranks, axes)
        return _halves(group, level, is_first, axes.size)

    group = split(first_level, group, box)
    if levels:  # one after the other, with room for the groups of the last one
        stacked = jax.tree.map(lambda *each: jnp.stack(each), *levels)

        def step(i, group):
            level = jax.tree.map(lambda each: each[i], stacked)
            boxes = _boxes(points, jnp.where(is_finite, group, axes.size), level.group_count, axes)
            return split(level, group, boxes)

        group = lax.fori_loop(0, len(levels), step, axes.varying(group))
    return group, box[0]


def _levels(share: list[int], rows_dtype) -> list[Level]:
    """Return the levels that split all devices into groups of one device each."""
    groups = [(0, len(share))]  # first device, number of devices
    levels = []
    capacity = 1
    while any(count > 1 for _, count in groups):
        ranks = [sum(share[first : first + count // 2]) for first, count in groups]
        first_halves: list[int] = []
        next_groups: list[tuple[int, int]] = []
        for first, count in groups:
            first_halves.append(len(next_groups))
            half = count // 2
            next_groups += [(first, half), (first + half, count - half)] if half else [(first, count)]
        is_one_device = [count == 1 for _, count in groups]
        levels.append((ranks, first_halves, is_one_device))
        capacity = len(groups)
        groups = next_groups

    def level(ranks, first_halves, is_one_device, capacity: int) -> Level:
        extra = 0, capacity - len(ranks)
        return Level(
            jnp.asarray(np.pad(np.asarray(ranks, rows_dtype), extra)),
            jnp.asarray(np.pad(np.asarray(first_halves, np.int32), extra)),
            jnp.asarray(np.pad(np.asarray(is_one_device, bool), extra)),
        )

    capacities = [1, *[capacity] * len(levels)]  # the first level has one group
    return [level(*numbers, its_room) for numbers, its_room in zip(levels, capacities, strict=False)]


def _halves(group: Array, level: Level, is_first: Array, device_count: int) -> Array:
    """Return the number of each point's group at the next level."""
    known = jnp.minimum(group, level.group_count - 1)
    stays_first = is_first | level.is_one_device[known]
    moved = level.first_halves[known] + jnp.where(stays_first, 0, 1)
    return jnp.where(group < level.group_count, moved, device_count).astype(jnp.int32)


def _widest_sides(boxes: Array) -> Array:
    """Return the axis of the widest side of boxes (groups, 2, m)."""
    lower = boxes[:, 0]
    upper = boxes[:, 1]
    return largest(jnp.where(lower < upper, upper / 2 - lower / 2, 0).T)


def _rows_here(n: int, s: int, axes: Axes):
    """Return how many of this device's rows are among the first `n`."""
    here = [min(max(n - s * device, 0), s) for device in range(axes.size)]
    return jnp.asarray(np.asarray(here, np.int32))[axes.here()]


def _boxes(points: Array, group: Array, count: int, axes: Axes) -> Array:
    """Return the boxes (groups, 2, m) of the points of each group."""
    s, m = points.shape
    shape = -1, m * math.gcd(s, 64)  # XLA reduces these several times as fast as lines of three

    def corners(number):
        """Return the upper corner, and the lower one with other signs."""
        is_inside = (group == number)[:, None]
        farthest = [
            jnp.where(is_inside, side, -jnp.inf).reshape(shape).max(axis=0).reshape(-1, m).max(axis=0)
            for side in (-points, points)
        ]
        return jnp.stack(farthest)

    numbers = lax.iota(jnp.int32, count)
    found = axes.max(corners(numbers[0])[None] if count == 1 else lax.map(corners, numbers))
    return jnp.stack([-found[:, 0], found[:, 1]], axis=1)


def _coordinate(points, axis):
    """Return each point's coordinate along its axis."""
    along = points[:, 0]
    for a in range(1, points.shape[1]):
        along = jnp.where(axis == a, points[:, a], along)
    return along


def _sortable(x):
    """Return words of 32 bits, the highest first, that are in the order of the numbers `x`."""
    is_zero = scaled(x, unit_of_small(x.dtype)) == 0  # -0.0, too
    words = lax.bitcast_convert_type(jnp.where(is_zero, 0, x), jnp.uint32)
    words = [words[..., 1], words[..., 0]] if x.dtype.itemsize == 8 else [words]
    negative = words[0] >> 31 == 1
    flipped = [jnp.where(negative, ~word, word) for word in words]
    return [jnp.where(negative, flipped[0], flipped[0] | np.uint32(1 << 31)), *flipped[1:]]


def _among_first(words, group: Array, ranks: Array, axes: Axes) -> Array:
    """Tell which points are among the first ``ranks[g]`` of their group `g`, by (words, row).

    Points of groups from ``len(ranks)`` on belong to none.
    """
    s = group.shape[0]
    count = len(ranks)
    order, columns = _sorted(words, group, count)
    sizes = (lax.iota(group.dtype, count)[:, None] == group).sum(axis=1, dtype=jnp.int32)
    ends = jnp.cumsum(sizes)
    starts = ends - sizes

    # Of each group, the places from `low` to `high` have the words of the r-th point.
    low = starts
    high = ends
    rank = ranks
    for i, word in enumerate(columns):
        if i:
            rank = ranks - axes.sum((low - starts).astype(rank.dtype))
        digits = _digits(word, low, high, rank, axes)
        both_sides = jnp.stack([digits, digits], axis=1)
        places = _place(word, low, high, both_sides, np.array([False, True]))
        low = places[:, 0]
        high = places[:, 1]
    below, equal = (each.astype(ranks.dtype) for each in axes.gather((low - starts, high - low)))
    waiting = ranks - below.sum(axis=0, dtype=ranks.dtype)
    before = (jnp.cumsum(equal, axis=0, dtype=ranks.dtype) - equal)[axes.here()]
    cut = low + jnp.clip(waiting - before, 0, (high - low).astype(ranks.dtype)).astype(jnp.int32)

    # Where a group is cut, a point that stays behind begins.
    known = jnp.minimum(group, count - 1)
    at = jnp.minimum(cut, s - 1)
    is_first = lax.iota(jnp.int32, s) < order[at][known]
    for word, column in zip(words[::-1], columns[::-1], strict=True):
        behind = column[at][known]
        is_first = (word < behind) | ((word == behind) & is_first)
    return is_first | (cut == ends)[known]


def _sorted(words, group, count: int):
    """Return the rows in the order of (group, words, row), and the words in this order."""
    rows = lax.iota(jnp.int32, group.shape[0])
    highest = jnp.where(group < count, words[0], HIGHEST)  # which no number has
    column, order = lax.sort(((highest, *words[1:])[-1], rows), num_keys=1, is_stable=True)
    keys = [highest] if len(words) > 1 else []
    if count > 1:
        narrow = jnp.uint8 if count < 256 else jnp.uint32  # a GPU sorts bytes in one pass
        keys.append(jnp.minimum(group, count).astype(narrow))
    for key in keys:
        order = lax.sort((key[order], order), num_keys=1, is_stable=True)[1]
    return order, [word[order] for word in words] if keys else [column]


def _digits(word: Array, low: Array, high: Array, rank: Array, axes: Axes) -> Array:
    """Return the greatest number for each group that at most `rank` of its sorted words are below."""
    steps = np.arange(1, 1 << DIGIT, dtype=np.uint32)

    def find_digit(i, number):
        shift = (WORD - DIGIT - DIGIT * i).astype(jnp.uint32)
        candidates = number[:, None] | (jnp.asarray(steps) << shift)  # (groups, steps)
        places = _place(word, low, high, candidates, np.array([False]))
        counts = axes.sum((places - low[:, None]).astype(rank.dtype))
        digit = (counts <= rank[:, None]).sum(axis=1, dtype=jnp.uint32)
        return number | (digit << shift)

    return lax.fori_loop(0, WORD // DIGIT, find_digit, jnp.zeros(rank.shape, jnp.uint32))


def _place(word: Array, low: Array, high: Array, wanted: Array, behind_equal: np.ndarray) -> Array:
    """Return where between `low` and `high` (g,) the numbers `wanted` (g, c) fit into the sorted words.

    In front of equal words, or behind them, for each of the c.
    """
    place = low[:, None].astype(jnp.uint32)
    end = high[:, None, None].astype(jnp.uint32)
    bits = word.shape[0].bit_length()
    while bits:  # one in so many words is looked at, then one in fewer of those between two of these
        probe_bits = min(bits, PROBES)
        bits -= probe_bits
        step = np.uint32(1 << bits)
        probes = place[..., None] + np.arange(1, 1 << probe_bits, dtype=np.uint32) * step - 1
        probed = word.at[probes].get(mode="clip")
        is_below = probed < wanted[..., None]
        if behind_equal.any():
            is_below |= behind_equal[:, None] & (probed == wanted[..., None])
        place = place + step * (is_below & (probes < end)).sum(axis=-1, dtype=jnp.uint32)
    return place.astype(jnp.int32)
