"""The nearest neighbours among the points of all devices."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .._device._nearest import nearest as nearest_of_tree
from .._structure._metric import into_box, root, scaled_power
from ._axes import Axes
from ._build import Forest, own_points
from ._exchange import exchange
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
    merge = partial(_merge, n=n)
    shape = x.shape[0], k
    state = jnp.full(shape, jnp.inf, x.dtype), jnp.full(shape, n, forest.rows.dtype), limit
    if own:
        answer = search(forest.tree, forest.rows, x, _reach(state), finite)
        state = _first(state, answer)
    kind = Search(_reach, _skip, _reach, search, merge)
    state = visit_devices(forest, x, state, kind, axes, p=p, lengths=lengths, at_home=own)
    return state[:2]


def nearest_of_own(forest: Forest, bound, eps, lengths, axes: Axes, *, n, k, p):
    """Return the neighbours of the points of this device's tree, in its order."""
    x = own_points(forest.tree, forest.rows.shape[0])
    return nearest(forest, x, bound, eps, lengths, axes, n=n, k=k, p=p, own=True)


def in_input_order(forest: Forest, values, missing, axes: Axes):
    """Return `values` (most, ...), a line for each point of this device's tree, by its rows of the data."""
    s = forest.order.shape[0]
    received = forest.counts[:, axes.index()]
    starts = jnp.cumsum(received) - received
    arrived = exchange(values, None, starts, forest.counts.T, axes, room=s)
    # They arrive in the order in which the points left.
    there = lax.iota(jnp.int32, s) < forest.counts[axes.index()].sum(dtype=jnp.int32)

    def one(value, fill):
        value = jnp.where(there.reshape(s, *(1,) * (value.ndim - 1)), value, fill)
        return jnp.zeros_like(value).at[forest.order].set(value, unique_indices=True)

    return jax.tree.map(one, arrived, missing)


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
    # what it lets in is left out when the answers are merged.
    info = jnp.finfo(x.dtype)
    least = float(4 * info.tiny) ** (1 / p if p <= 4 else 1)
    bound = jnp.maximum(root(jnp.maximum(reach, 0), p) * (1 + 16 * float(info.eps)), least) / scale
    bound = jnp.where(there & (reach >= 0), bound, 0)
    powers, found = nearest_of_tree(
        tree, x, bound, eps, lengths, k=k, p=p, dtype=x.dtype, index_dtype=INT32, rooted=False
    )
    missing = found >= tree.n
    found = jnp.where(missing, n, rows.at[found].get(mode="clip"))
    return jnp.where(missing, jnp.inf, powers), found.astype(rows.dtype)


def _first(state, answer):
    """Return the state after the first answer, whose order it keeps."""
    k = answer[0].shape[1]
    below = answer[0] < state[2][:, None]
    powers, rows = (
        jnp.concatenate([jnp.where(below, new, old[:, :k]), old[:, k:]], axis=1)
        for new, old in zip(answer, state[:2], strict=True)
    )
    return powers, rows, state[2]


def _merge(state, answer, n):
    """Keep the nearest of both, of equally distant ones the lowest rows."""
    powers, rows, limit = state
    k = powers.shape[1]
    below = answer[0] < limit[:, None]
    new = jnp.where(below, answer[0], jnp.inf), jnp.where(below, answer[1], n)
    both = [jnp.concatenate(sides, axis=1) for sides in zip((powers, rows), new, strict=True)]
    powers, rows = (each[:, :k] for each in lax.sort(tuple(both), dimension=1, num_keys=2))
    return powers, rows, limit
