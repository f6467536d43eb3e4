"""The neighbours of every point among all: nothing is sent that need not be."""

import math
from functools import partial

import jax.numpy as jnp
from jax import lax

from .._device._nearest import LARGEST_PIECE
from .._structure._metric import into_box, scaled_power
from ._axes import Axes
from ._build import Forest, points_of
from ._exchange import by_destination
from ._lists import filled
from ._nearest import nearest, no_room, of_tree
from ._partition import shares
from ._rounds import FEW, within_reach

__all__ = ["nearest_of_own"]

MORE = 1.3  # times the points of uniform ones that are near a border, by simulation of 2 to 64 devices


def nearest_of_own(forest: Forest, bound, eps, lengths, axes: Axes, *, n, k, p, engine=None):
    """Return the neighbours of the points of this device's tree, in the order of its leaves.

    All of them are searched for here; those whose k-th neighbour may lie on another device, once more and
    there, some at a time, so that nothing but the results needs room for all. An `engine` may search the
    points where they lie, all of which are finite.
    """
    tree, most = forest.tree, max(shares(n, axes.size))
    q, slots = max(most, 1), tree.points.shape[1]
    part = _near_a_border(q, k, len(tree.points), axes.size)
    x = points_of(tree, tree.points[:, :q])
    again = partial(nearest, eps=eps, lengths=lengths, axes=axes, n=n, k=k, p=p, own=True)
    if part == q:
        return again(forest, x, bound)[:2]
    if engine is not None and forest.rows is None and min(k, most) * slots <= LARGEST_PIECE:
        found = _where_they_lie(engine, tree, bound, eps, lengths, count=q, k=min(k, most), p=p)
    else:
        static = {"k": min(k, most), "n": n, "p": p, "rooted": True}
        found = of_tree(tree, forest.rows, x, bound, eps, lengths, **static)
    found = filled(found, (jnp.inf, n), k)
    across = _across(forest, x, found, bound, lengths, axes, p=p)
    order, count = by_destination(jnp.where(across, 0, 1), 2), across.sum(dtype=jnp.int32)

    def search_part(found, order, begin, end, once=False):
        """Search again for a part of the points in `order`, from `begin` to `end`."""
        place = begin + lax.iota(jnp.int32, part)
        lines = order.at[place].get(mode="clip")
        chosen = jnp.where(place < end, lines, slots + place)
        points = tree.points.at[:, chosen].get(mode="fill", fill_value=jnp.inf)
        *new, left = again(forest, points_of(tree, points), bound, once=once)
        found = [
            a.at[chosen].set(b, mode="drop", unique_indices=True) for a, b in zip(found, new, strict=True)
        ]
        return tuple(found), left, lines

    # A first part is searched before it is asked how many there are. Those of it that are not done with come
    # behind the others of it, so that all that are left follow each other.
    found, left, lines = search_part(found, order, 0, count, once=True)
    order = order.at[:part].set(lines[by_destination(jnp.where(left, 1, 0), 2)])
    begin, end = part - left.sum(dtype=jnp.int32), jnp.maximum(count, part)
    parts = -(-axes.max(end - begin) // part)
    return lax.fori_loop(
        jnp.int32(0),
        parts,
        lambda i, found: search_part(found, order, begin + i * part, end)[0],
        axes.varying(found),
    )


def _near_a_border(q: int, k: int, m: int, devices: int) -> int:
    """Return how many of `q` points are searched for again at a time: those near a border, were they uniform.

    A ball of `k` points is as wide as `k` of them; with more devices, a box has more sides that others touch.
    """
    sides = (1 + math.log2(devices)) / 2
    return min(q, max(FEW, math.ceil(MORE * sides * k ** (1 / m) * q ** (1 - 1 / m))))


def _where_they_lie(engine, tree, bound, eps, lengths, *, count: int, k: int, p):
    """Return the neighbours (count, k) of the tree's points, which are on its first slots; of any tree.

    An empty slot among these has none; those behind them have no line.
    """
    slot = lax.iota(jnp.int32, tree.points.shape[1])
    places = jnp.where(slot < count, slot, tree.n)
    return engine.nearest_of_all(tree, bound, eps, lengths, lines=count, k=k, p=p, places=places)


def _across(forest: Forest, x, found, bound, lengths, axes: Axes, *, p):
    """Tell which points `x` of this device may have neighbours on others, beside those `found` here."""
    distances, rows = found
    info = jnp.finfo(x.dtype)
    farthest = jnp.minimum(distances[:, -1], bound) * (1 + 16 * float(info.eps))  # the root was rounded
    reach = jnp.maximum(scaled_power(farthest, forest.tree.scale, p), 4 * info.tiny)
    wanted = jnp.isfinite(x).all(axis=1) & (bound > 0)
    x = jnp.where(wanted[:, None], x, 0)
    x = x if lengths is None else into_box(x, lengths)

    def skip(least):
        return no_room(distances, rows, least)

    return within_reach(forest, x, jnp.where(wanted, reach, -1), skip, axes, p=p, lengths=lengths)
