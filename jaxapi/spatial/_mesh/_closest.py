"""The nearest neighbours among the points of all devices."""

from functools import partial

import jax.numpy as jnp
import numpy as np

from .._device import _engines
from .._device._searches import Search as TreeSearch
from .._device._searches import nearest as nearest_of_tree
from .._structure._metric import into_box, root, scaled_power
from .._structure._scaling import brought_near, times_power_of_two
from ._axes import Axes
from ._forest import Forest, rows_of_all
from ._lists import filled, lowest
from ._partition import shares
from ._rounds import Search, visit_devices

__all__ = ["halved", "in_units", "nearest", "nearest_below", "no_room"]

INT32 = np.dtype(np.int32)


def nearest(forest: Forest, x, bound, eps, lengths, axes: Axes, *, n, k, p, own=False, once=False):
    """Return distances and rows (q, k) of the nearest of `n` points for this device's queries `x` (q, m).

    As `_engines.nearest`. `own`: `x` are points of this device. Also tell which queries have devices left to
    visit: none, unless there is but `once` a large round.
    """
    x, bound, halvings = halved(forest, x, bound, lengths, p)
    limit = scaled_power(jnp.maximum(bound, 0), forest.tree.scale, p)
    static = {"n": n, "k": k, "p": p, "own": own, "once": once}
    powers, rows, left = nearest_below(forest, x, limit, eps, lengths, axes, **static)
    distances = in_units(forest, powers, lengths, p)
    return times_power_of_two(distances, halvings[:, None]), rows, left


def halved(forest: Forest, x, bound, lengths, p: float):
    """Return queries and their bounds as `brought_near` does, in the periodic box, and how often."""
    x = x if lengths is None else into_box(x, lengths)
    corner = forest.lower.min(axis=0)[:, None]  # of all devices: this one may have no point
    return brought_near(forest.tree._replace(points=corner), x, jnp.asarray(bound, x.dtype), lengths, p)


def in_units(forest: Forest, powers, lengths, p: float):
    """Return the distances of scaled power distances, rounded as the search of one tree rounds them."""
    return _engines.run(None, "in_units", forest.tree, powers, lengths, p=p)


def nearest_below(forest: Forest, x, limit, eps, lengths, axes: Axes, *, n, k, p, own=False, once=False):
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
        found = jnp.full(shape, jnp.inf, x.dtype), jnp.full(shape, n, forest.rows_dtype)
    kind = Search(_reach, _skip, _reach, search, merge)
    visit = partial(visit_devices, p=p, lengths=lengths, at_home=own, once=once)
    (powers, rows, _), left = visit(forest, x, (*found, limit), kind, axes)
    below = powers < limit[:, None]
    return jnp.where(below, powers, jnp.inf), jnp.where(below, rows, n), left


def _reach(state):
    powers, _, limit = state
    return jnp.where(limit > 0, jnp.minimum(powers[:, -1], limit), -1)


def _skip(state, least):
    return no_room(*state[:2], least)


def no_room(distances, rows, least):
    """Tell which lists no row from `least` on can enter: full of points at distance 0 with lower rows."""
    return (distances[:, -1] == 0) & (rows[:, -1] <= least)


def _search_tree(tree, rows, x, reach, there, *, scale, eps, lengths, k, n, p):
    """Return power distances and rows of all (q, k) of one tree's nearest points; `rows` as in a forest."""
    # The bound is exclusive, and rounded on its way into a power distance again. A little more does no harm:
    # what it lets in comes behind all that lies below the limit, and is left out at the end.
    info = jnp.finfo(x.dtype)
    least = float(4 * info.tiny) ** (1 / p if p <= 4 else 1)
    bound = jnp.maximum(root(jnp.maximum(reach, 0), p) * (1 + 16 * float(info.eps)), least) / scale
    bound = jnp.where(there & (reach >= 0), bound, 0)
    search = TreeSearch(p, None, x.dtype, INT32)
    distances, found = nearest_of_tree(tree, x, bound, eps, lengths, k=k, search=search, rooted=False)
    return distances, rows_of_all(tree, rows, found, n)


def _merge(state, answer, missing):
    """Keep the nearest of both, of equally distant ones the lowest rows."""
    powers, rows, limit = state
    return *lowest((powers, rows), answer, missing), limit
