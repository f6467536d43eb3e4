"""The neighbours of every point among all: nothing is sent that need not be."""

import math
from functools import partial

import jax
import jax.numpy as jnp
from jax import lax

from .._device import _engines
from .._device._searches import LARGEST_PIECE
from .._structure._metric import into_box, scaled_power
from ._axes import Axes
from ._by_row import to_rows, to_rows_in_pieces
from ._closest import nearest, no_room
from ._exchange import by_destination, written
from ._forest import Forest, rows_of_all, rows_of_points
from ._lists import filled
from ._partition import shares
from ._rounds import FEW, within_reach

__all__ = ["nearest_of_own"]

MORE = 1.3  # times the points of uniform ones that are near a border, by simulation of 2 to 64 devices
PIECE = 1 << 23  # neighbours that are found at once before they go home, at the least
PIECES = 6  # at the most: a search ends with few queries at work


def nearest_of_own(forest: Forest, bound, eps, lengths, axes: Axes, *, n, k, p, chosen, nothing, s=None):
    """Return what is `chosen` of the distances and rows of all points' neighbours.

    In the order of the leaves of this device's tree; or in that of the data, of which each device has `s`
    rows. ``nothing(lines)`` are results of lines without a point.

    All points are searched for here, and their results sent home piece by piece, so that nothing but results
    needs room for all. Those whose k-th neighbour may lie on another device are searched for once more and
    there, some at a time.
    """
    tree, most = forest.tree, max(shares(n, axes.size))
    q = max(most, 1)
    rows = rows_of_points(forest, n, tree.points.shape[1])
    again = partial(nearest, eps=eps, lengths=lengths, axes=axes, n=n, k=k, p=p, own=True)
    part = _near_a_border(q, k, len(tree.points), axes.size)
    prepared = _engines.prepared(tree, lengths)

    def search(begin, size):
        """Return the neighbours here of points from `begin` on, and who may have others elsewhere."""
        static = {"size": size, "k": min(k, most), "p": p}
        arrays = tree, prepared, jnp.asarray(begin, jnp.int32), bound, eps, lengths
        distances, found = _engines.run(None, "nearest_of_slots", *arrays, **static)
        found = filled((distances, rows_of_all(tree, forest.rows, found, n)), (jnp.inf, n), k)
        points = lax.dynamic_slice_in_dim(tree.points, begin, size, axis=1)
        return chosen(*found), _across(forest, points, found, bound, lengths, axes, p=p)

    def search_again(points, once=False):
        """Return the neighbours anywhere of points, and whose are not final."""
        *found, left = again(forest, tree.in_units(points), bound, once=once)
        return chosen(*found), left

    def write(out, values, lines):
        """Write the results of some of the tree's lines, of those from `q` on nowhere."""
        if s is None:
            return written(out, lines, values)
        return to_rows(out, values, rows.at[lines].get(mode="fill", fill_value=n), n, axes)

    if part == q:
        found, _ = search_again(tree.points[:, :q])
        return found if s is None else write(nothing(s), found, lax.iota(jnp.int32, q))

    size = min(q, max(-(-q // PIECES), -(-PIECE // k)))
    if s is not None:
        out, across = to_rows_in_pieces(nothing(s), search, rows, q, size, n, axes)
    elif q * max(k, len(tree.points)) <= LARGEST_PIECE:
        out, across = search(0, q)
    else:
        out, across = _in_pieces(axes.varying((nothing(q), jnp.zeros(q, bool))), search, q, size)
    order, count = by_destination(jnp.where(across, 0, 1), 2), across.sum(dtype=jnp.int32)

    def search_part(out, order, begin, end, once=False):
        """Search again for a part of the points in `order`, from `begin` to `end`."""
        place = begin + lax.iota(jnp.int32, part)
        there = order.at[place].get(mode="clip")
        lines = jnp.where(place < end, there, q + place)
        found, left = search_again(tree.points.at[:, lines].get(mode="fill", fill_value=jnp.inf), once)
        return write(out, found, lines), left, there

    # A first part is searched before it is asked how many there are. Those of it that are not done with come
    # behind the others of it, so that all that are left follow each other.
    out, left, lines = search_part(out, order, 0, count, once=True)
    order = order.at[:part].set(lines[by_destination(jnp.where(left, 1, 0), 2)])
    begin, end = part - left.sum(dtype=jnp.int32), jnp.maximum(count, part)
    parts = -(-axes.max(end - begin) // part)
    return lax.fori_loop(
        jnp.int32(0),
        parts,
        lambda i, out: search_part(out, order, begin + i * part, end)[0],
        axes.varying(out),
    )


def _in_pieces(into, find, q: int, size: int):
    """Return the arrays `into` with what ``find(begin, size)`` finds of `q` lines, `size` at a time."""

    def piece(i, state):
        begin = jnp.minimum(i * size, q - size)
        return jax.tree.map(
            lambda a, b: lax.dynamic_update_slice_in_dim(a, b, begin, 0), state, find(begin, size)
        )

    return lax.fori_loop(0, -(-q // size), piece, into)


def _near_a_border(q: int, k: int, m: int, devices: int) -> int:
    """Return how many of `q` points are searched for again at a time: those near a border, were they uniform.

    A ball of `k` points is as wide as `k` of them; with more devices, a box has more sides that others touch.
    """
    sides = (1 + math.log2(devices)) / 2
    return min(q, max(FEW, math.ceil(MORE * sides * k ** (1 / m) * q ** (1 - 1 / m))))


def _across(forest: Forest, points, found, bound, lengths, axes: Axes, *, p):
    """Tell which points (m, q) of this device's tree may have neighbours on others, besides those `found`."""
    distances, rows = found
    scale, info = forest.tree.scale, jnp.finfo(points.dtype)
    farthest = jnp.minimum(distances[:, -1], bound) * (1 + 16 * float(info.eps))  # the root was rounded
    reach = jnp.maximum(scaled_power(farthest, scale, p), 4 * info.tiny)
    wanted = (points[0] < jnp.inf) & (bound > 0)
    points = points if lengths is None else into_box(points.T, lengths * scale).T

    def skip(least):
        return no_room(distances, rows, least)

    return within_reach(forest, points, jnp.where(wanted, reach, -1), skip, axes, p=p, lengths=lengths)
