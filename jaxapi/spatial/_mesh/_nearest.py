"""The nearest neighbours among the points of all devices."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .._device._nearest import LARGEST_PIECE
from .._device._nearest import nearest as nearest_of_tree
from .._structure._metric import into_box, root, scaled_power
from ._axes import Axes
from ._build import Forest, own_points, with_rows_of_all
from ._exchange import by_destination, exchange
from ._lists import filled, lowest
from ._partition import shares
from ._rounds import Search, part_of, visit_devices, within_reach

__all__ = ["in_input_order", "nearest", "nearest_below", "nearest_of_own"]

INT32 = np.dtype(np.int32)


def nearest(forest: Forest, x, bound, eps, lengths, axes: Axes, *, n, k, p, own=False):
    """Return distances and rows (q, k) of the nearest of `n` points for this device's queries `x` (q, m).

    As `_engines.nearest`. `own`: `x` are points of this device, and its tree has the rows of all.
    """
    limit = jnp.broadcast_to(scaled_power(jnp.maximum(bound, 0), forest.tree.scale, p), x.shape[:1])
    powers, rows = nearest_below(forest, x, limit, eps, lengths, axes, n=n, k=k, p=p, own=own)
    there = rows < n
    return jnp.where(there, root(powers, p) / forest.tree.scale, jnp.inf), rows


def nearest_below(forest: Forest, x, limit, eps, lengths, axes: Axes, *, n, k, p, own=False):
    """Do the same in scaled power distances, of the points that lie below `limit` (q,)."""
    finite = jnp.isfinite(x).all(axis=1)
    x = jnp.where(finite[:, None], x, 0)
    if lengths is not None:
        x = into_box(x, lengths)
    limit = jnp.where(finite, limit, 0)
    most = max(shares(n, axes.size))
    search = partial(
        _search_tree, scale=forest.tree.scale, eps=eps, lengths=lengths, k=min(k, most), n=n, p=p
    )
    missing = jnp.inf, n
    merge = partial(_merge, missing=missing)
    if own:
        reach = jnp.where(limit > 0, limit, -1)
        found = filled(search(forest.tree, forest.rows, x, reach, finite), missing, k)
    else:
        shape = x.shape[0], k
        found = jnp.full(shape, jnp.inf, x.dtype), jnp.full(shape, n, forest.rows.dtype)
    kind = Search(_reach, _skip, _reach, search, merge)
    powers, rows, _ = visit_devices(forest, x, (*found, limit), kind, axes, p=p, lengths=lengths, at_home=own)
    below = powers < limit[:, None]
    return jnp.where(below, powers, jnp.inf), jnp.where(below, rows, n)


def nearest_of_own(forest: Forest, bound, eps, lengths, axes: Axes, *, n, k, p, engine=None):
    """Return the neighbours of the points of this device's tree, in its order.

    All of them are searched for here; those whose k-th neighbour may lie on another device, once more and
    there, some at a time, so that nothing but the results needs room for all. An `engine` may search the
    points where they lie, all of which are finite.
    """
    x = own_points(forest.tree, forest.rows.shape[0])
    q = x.shape[0]
    local = forest.tree
    forest = with_rows_of_all(forest, n)
    find = partial(nearest, eps=eps, lengths=lengths, axes=axes, n=n, k=k, p=p, own=True)
    part = part_of(q)
    if part == q:
        return find(forest, x, bound)
    most = min(k, max(shares(n, axes.size)))
    if engine is not None and forest.rows is None and most * local.points.shape[1] <= LARGEST_PIECE:
        found = _where_they_lie(engine, forest.tree, local, bound, eps, lengths, count=q, k=most, n=n, p=p)
    else:
        found = _of_tree(forest.tree, forest.rows, x, bound, eps, lengths, k=most, n=n, p=p, rooted=True)
    found = filled(found, (jnp.inf, n), k)
    across = _across(forest, x, found, bound, lengths, axes, p=p)
    order, count = by_destination(jnp.where(across, 0, 1), 2), across.sum(dtype=jnp.int32)

    def batch(i, found):
        place = i * part + lax.iota(jnp.int32, part)
        there = place < count
        chosen = jnp.where(there, order.at[place].get(mode="clip"), q + place)
        new = find(forest, jnp.where(there[:, None], x.at[chosen].get(mode="clip"), jnp.nan), bound)
        return jax.tree.map(lambda a, b: a.at[chosen].set(b, mode="drop", unique_indices=True), found, new)

    return lax.fori_loop(jnp.int32(0), -(-axes.max(count) // part), batch, axes.varying(found))


def _where_they_lie(engine, tree, local, bound, eps, lengths, *, count: int, k: int, n: int, p):
    """Return the neighbours (count, k) of the tree's points in the order of its `local` rows.

    The `tree` has the rows of all. It has one point less than there are lines, or none.
    """
    places = jnp.where(local.rows < local.n, local.rows, n)
    found = engine.nearest_of_all(tree, bound, eps, lengths, lines=count, k=k, p=p, places=places)
    return tuple(a.at[local.n].set(last, mode="drop") for a, last in zip(found, (jnp.inf, n), strict=True))


def in_input_order(forest: Forest, values, missing: tuple, axes: Axes):
    """Return `values` (most, ...), a line for each point of this device's tree, by its rows of the data."""
    s = forest.order.shape[0]
    # They arrive in the order in which the points left.
    return exchange(values, None, forest.counts.T, axes, room=s, into=forest.order, fill=missing)


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
        return _no_room(distances, rows, least)

    return within_reach(forest, x, jnp.where(wanted, reach, -1), skip, axes, p=p, lengths=lengths)


def _reach(state):
    powers, _, limit = state
    return jnp.where(limit > 0, jnp.minimum(powers[:, -1], limit), -1)


def _skip(state, least):
    return _no_room(*state[:2], least)


def _no_room(distances, rows, least):
    """Tell which lists no row from `least` on can enter: full of points at distance 0 with lower rows."""
    return (distances[:, -1] == 0) & (rows[:, -1] <= least)


def _search_tree(tree, rows, x, reach, there, *, scale, eps, lengths, k, n, p):
    """Return power distances and rows (q, k) of one tree's nearest points."""
    # The bound is exclusive, and rounded on its way into a power distance again. A little more does no harm:
    # what it lets in comes behind all that lies below the limit, and is left out at the end.
    info = jnp.finfo(x.dtype)
    least = float(4 * info.tiny) ** (1 / p if p <= 4 else 1)
    bound = jnp.maximum(root(jnp.maximum(reach, 0), p) * (1 + 16 * float(info.eps)), least) / scale
    bound = jnp.where(there & (reach >= 0), bound, 0)
    return _of_tree(tree, rows, x, bound, eps, lengths, k=k, n=n, p=p, rooted=False)


def _of_tree(tree, rows, x, bound, eps, lengths, *, k, n, p, rooted):
    """Return distances and rows of all (q, k) of one tree's nearest points; `rows` as in a forest."""
    distances, found = nearest_of_tree(
        tree, x, bound, eps, lengths, k=k, p=p, dtype=x.dtype, index_dtype=INT32, rooted=rooted
    )
    if rows is not None:
        found = jnp.where(found < tree.n, rows.at[found].get(mode="clip"), n).astype(rows.dtype)
    return distances, found


def _merge(state, answer, missing):
    """Keep the nearest of both, of equally distant ones the lowest rows."""
    powers, rows, limit = state
    return *lowest((powers, rows), answer, missing), limit
