"""Results of any length from queries on a mesh, in equal parts on every device."""

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax

from ..._x64 import x64_mode
from .._device import _radius
from ._axes import Axes
from ._build import Forest
from ._exchange import exchange
from ._radius import around

__all__ = ["all_within", "in_equal_parts"]


def all_within(forest: Forest, x, radius, lengths, axes: Axes, *, n, most: int, kind: _radius.Search):
    """Return rows and distances (q, most) of all points within `radius` (q,), of which no query has more."""

    def search(tree, rows, x, radius, there):
        wanted = jnp.where(there, radius, -1)
        found, distances, _ = _radius.nearest_within(tree, x, wanted, lengths, search=kind, limit=most)
        return distances, jnp.where(jnp.isfinite(distances), rows.at[found].get(mode="clip"), n)

    def merge(state, answer):
        both = [jnp.concatenate(sides, axis=1) for sides in zip(state[0], answer, strict=True)]
        return tuple(each[:, :most] for each in lax.sort(tuple(both), dimension=1, num_keys=2)), *state[1:]

    shape = x.shape[0], most
    nothing = jnp.full(shape, jnp.inf, x.dtype), jnp.full(shape, n, forest.rows.dtype)
    distances, rows = around(forest, x, radius, radius, nothing, search, merge, lengths, axes, p=kind.p)
    return rows, distances


def in_equal_parts(values, keep, missing, axes: Axes, *, room: int, part: int):
    """Return the values (q, c) to `keep` (q, c) of all devices one after the other, `part` on each.

    `room` is the most that one device has. `missing` fills the last parts up; what does not fit them is left
    out.
    """
    keep = keep.reshape(-1)
    place = jnp.where(keep, jnp.cumsum(keep, dtype=jnp.int32) - 1, room)
    packed = jax.tree.map(
        lambda a: jnp.zeros(room, a.dtype).at[place].set(a.reshape(-1), mode="drop"), values
    )
    totals = axes.gather(keep.sum(dtype=jnp.int32))
    counts, starts = jax.vmap(partial(_overlaps, totals, part))(lax.iota(jnp.int32, axes.size))
    here = axes.index()
    parts = exchange(packed, None, starts[:, here], counts.T, axes, room=part)
    there = lax.iota(jnp.int32, part) < counts[here].sum(dtype=jnp.int32)
    return jax.tree.map(lambda a, fill: jnp.where(there, a, fill), parts, missing)


def _overlaps(totals, part: int, receiver):
    """Return how many of each device's values the receiver gets, and from which on."""
    wide = totals.astype(jnp.int64 if x64_mode() else jnp.int32)
    before = jnp.cumsum(wide) - wide - receiver.astype(wide.dtype) * part
    first = jnp.clip(-before, 0, wide)
    last = jnp.clip(part - before, 0, wide)
    return (last - first).astype(jnp.int32), first.astype(jnp.int32)
