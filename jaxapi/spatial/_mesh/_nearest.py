"""The nearest neighbours among the points of all devices."""

from functools import partial

import jax.numpy as jnp
import numpy as np

from .._device._nearest import nearest as nearest_of_tree
from .._structure._metric import into_box, root, scaled_power
from ._axes import Axes
from ._build import Forest, own_points, with_rows_of_all
from ._exchange import exchange
from ._lists import filled, lowest
from ._partition import shares
from ._rounds import Search, visit_devices

__all__ = ["in_input_order", "nearest", "nearest_below", "nearest_of_own"]

INT32 = np.dtype(np.int32)


def nearest(forest: Forest, x, bound, eps, lengths, axes: Axes, *, n, k, p, own=False):
    """Return distances and rows (q, k) of the nearest of `n` points for this device's queries `x` (q, m).

    As `_engines.nearest`. `own`: `x` are the points of this device's tree, as `own_points` returns them.
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
        forest = with_rows_of_all(forest, n)
        reach = jnp.where(limit > 0, limit, -1)
        found = filled(search(forest.tree, forest.rows, x, reach, finite), missing, k)
    else:
        shape = x.shape[0], k
        found = jnp.full(shape, jnp.inf, x.dtype), jnp.full(shape, n, forest.rows.dtype)
    kind = Search(_reach, _skip, _reach, search, merge)
    powers, rows, _ = visit_devices(forest, x, (*found, limit), kind, axes, p=p, lengths=lengths, at_home=own)
    below = powers < limit[:, None]
    return jnp.where(below, powers, jnp.inf), jnp.where(below, rows, n)


def nearest_of_own(forest: Forest, bound, eps, lengths, axes: Axes, *, n, k, p):
    """Return the neighbours of the points of this device's tree, in its order."""
    x = own_points(forest.tree, forest.rows.shape[0])
    return nearest(forest, x, bound, eps, lengths, axes, n=n, k=k, p=p, own=True)


def in_input_order(forest: Forest, values, missing: tuple, axes: Axes):
    """Return `values` (most, ...), a line for each point of this device's tree, by its rows of the data."""
    s = forest.order.shape[0]
    # They arrive in the order in which the points left.
    return exchange(values, None, forest.counts.T, axes, room=s, into=forest.order, fill=missing)


def _reach(state):
    powers, _, limit = state
    return jnp.where(limit > 0, jnp.minimum(powers[:, -1], limit), -1)


def _skip(state, least):
    """Points at distance 0 do not enter behind others with lower rows."""
    powers, rows, _ = state
    return (powers[:, -1] == 0) & (rows[:, -1] <= least)


def _search_tree(tree, rows, x, reach, there, *, scale, eps, lengths, k, n, p):
    """Return power distances and rows (q, k) of one tree's nearest points."""
    # The bound is exclusive, and rounded on its way into a power distance again. A little more does no harm:
    # what it lets in comes behind all that lies below the limit, and is left out at the end.
    info = jnp.finfo(x.dtype)
    least = float(4 * info.tiny) ** (1 / p if p <= 4 else 1)
    bound = jnp.maximum(root(jnp.maximum(reach, 0), p) * (1 + 16 * float(info.eps)), least) / scale
    bound = jnp.where(there & (reach >= 0), bound, 0)
    powers, found = nearest_of_tree(
        tree, x, bound, eps, lengths, k=k, p=p, dtype=x.dtype, index_dtype=INT32, rooted=False
    )
    if rows is not None:
        found = jnp.where(found < tree.n, rows.at[found].get(mode="clip"), n).astype(rows.dtype)
    return powers, found


def _merge(state, answer, missing):
    """Keep the nearest of both, of equally distant ones the lowest rows."""
    powers, rows, limit = state
    return *lowest((powers, rows), answer, missing), limit
