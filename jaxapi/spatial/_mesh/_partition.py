"""Which device gets which point: an exact kd partition, without moving a point.

The devices are split in two again and again, and with them the points, along the widest side of the box of
those that belong together. The point where a group is split is its r-th in the order of (coordinate, row),
found digit by digit: each pass counts how many points lie below some candidates. Rows differ, so the split is
exact, however many coordinates are equal: every device gets the share that is due to it, and none needs spare
room.
"""

import jax.numpy as jnp
import numpy as np
from jax import lax

from .._structure._build import largest
from ._axes import Axes

__all__ = ["partition", "shares"]

DIGIT = 4  # bits that one counting pass finds


def shares(n: int, devices: int) -> list[int]:
    """Return how many of `n` points each device gets.

    >>> shares(10, 4)
    [2, 3, 2, 3]
    """
    return [n * (i + 1) // devices - n * i // devices for i in range(devices)]


def partition(points, n: int, axes: Axes):
    """Return the device (s,) that each of the rows (s, m) goes to; `axes.size` for rows from `n` on.

    Row ``i`` of device ``j`` is row ``j * s + i`` of all. Device ``j`` gets ``shares(n, axes.size)[j]``
    points.
    """
    s, _ = points.shape
    device, row = axes.index(), lax.iota(jnp.int32, s)
    counted = row < _rows_here(n, s, axes)
    finite = jnp.isfinite(points).all(axis=1)
    share = shares(n, axes.size)
    groups = [(0, axes.size)]  # first device, number of devices
    group = jnp.where(counted, 0, -1)
    while any(count > 1 for _, count in groups):
        members = group[:, None] == np.arange(len(groups), dtype=np.int32)  # (s, groups)
        along = _coordinate(points, group, _widest(points, members & finite[:, None], axes))
        along = jnp.where(finite, along, jnp.inf)  # points that nobody finds lie at the far end
        words = [
            *((word, 32) for word in _sortable(along)),
            (jnp.broadcast_to(device.astype(jnp.uint32), s), (axes.size - 1).bit_length()),
            (row.astype(jnp.uint32), (s - 1).bit_length()),
        ]
        ranks = [sum(share[first : first + count // 2]) for first, count in groups]
        left = _among_first(words, members, group, ranks, axes)
        group, groups = _split(group, groups, left)
    return jnp.where(counted, group, axes.size)


def _rows_here(n: int, s: int, axes: Axes):
    """Return how many of this device's rows are among the first `n`."""
    return jnp.asarray(np.clip(n - s * np.arange(axes.size), 0, s).astype(np.int32))[axes.index()]


def _widest(points, members, axes: Axes):
    """Return the axis along which each group (s, groups) is widest: (groups,)."""
    inside = members[:, :, None]
    lower = axes.min(jnp.where(inside, points[:, None, :], jnp.inf).min(axis=0))  # (groups, m)
    upper = axes.max(jnp.where(inside, points[:, None, :], -jnp.inf).max(axis=0))
    return largest(jnp.where(lower < upper, upper / 2 - lower / 2, 0).T)


def _coordinate(points, group, widest):
    """Return each point's coordinate along the widest axis of its group."""
    axis = widest[jnp.maximum(group, 0)]
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


def _among_first(words, members, group, ranks, axes: Axes):
    """Tell which points are among the first ``ranks[g]`` of their group `g`, in the order of all `words`.

    `words` are pairs of an array and its number of bits; together they are different for all points.
    """
    rank = jnp.asarray(np.asarray(ranks, np.int32))
    left = jnp.zeros(group.shape, bool)
    equal = group >= 0
    for word, bits in words:
        if bits:
            threshold = _digits(word, bits, members & equal[:, None], rank, axes)
            own = threshold[jnp.maximum(group, 0)]
            below = equal & (word < own)
            rank -= axes.sum((members & below[:, None]).sum(axis=0, dtype=jnp.int32))
            left |= below
            equal &= word == own
    return left


def _digits(word, bits: int, members, rank, axes: Axes):
    """Return the greatest number, for each group, that at most `rank` of its members' words are below."""
    steps = np.arange(1, 1 << DIGIT, dtype=np.uint32)
    digits = -(-bits // DIGIT)

    def one(i, threshold):
        shift = (DIGIT * (digits - 1 - i)).astype(jnp.uint32)
        candidates = threshold[:, None] | (steps << shift)  # (groups, steps)
        below = members[:, :, None] & (word[:, None, None] < candidates)
        counts = axes.sum(below.sum(axis=0, dtype=jnp.int32))
        digit = (counts <= rank[:, None]).sum(axis=1, dtype=jnp.uint32)
        return threshold | (digit << shift)

    return lax.fori_loop(0, digits, one, jnp.zeros(rank.shape, jnp.uint32))


def _split(group, groups, left):
    """Return the groups after each has been split in two, unless it is one device; and each point's."""
    new, first_half = [], []
    for first, count in groups:
        first_half.append(len(new))
        half = count // 2
        new += [(first, half), (first + half, count - half)] if half else [(first, count)]
    whole = jnp.asarray(np.asarray([count == 1 for _, count in groups]))
    at = jnp.maximum(group, 0)
    moved = jnp.asarray(np.asarray(first_half, np.int32))[at] + jnp.where(left | whole[at], 0, 1)
    return jnp.where(group < 0, -1, moved.astype(jnp.int32)), new
