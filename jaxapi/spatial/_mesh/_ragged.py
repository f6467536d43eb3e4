"""Results of any length from queries on a mesh, in equal parts on every device."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core._dtypes import x64_mode
from .._device import _searches
from .._structure._scaling import times_power_of_two
from ._axes import Axes
from ._closest import halved
from ._exchange import exchange
from ._forest import Forest, rows_of_all
from ._lists import lowest
from ._within import around

__all__ = ["all_within", "in_equal_parts"]


def all_within(forest: Forest, x, radius, lengths, axes: Axes, *, n, most: int, kind: _searches.Search):
    """Return rows and distances (q, most) of all points within `radius`, of which no query has more."""
    x, radius, halvings = halved(forest, x, radius, lengths, kind.p)

    def search(tree, rows, x, radius, there):
        inputs = tree, x, None, jnp.where(there, radius, -1), lengths
        found, distances, _ = _searches.nearest_within(*inputs, search=kind, limit=most)
        return distances, rows_of_all(tree, rows, found, n)

    shape = x.shape[0], most
    nothing = jnp.full(shape, jnp.inf, x.dtype), jnp.full(shape, n, forest.rows_dtype)
    merge = partial(lowest, missing=(jnp.inf, n))
    distances, rows = around(forest, x, radius, radius, nothing, search, merge, lengths, axes, p=kind.p)
    return rows, times_power_of_two(distances, halvings[:, None])


def in_equal_parts(values, keep, missing, axes: Axes, *, room: int, size: int):
    """Return the first `size` of the values (q, c) to `keep` (q, c) of all devices, in equal parts.

    They come one device's after the other's. `room` is the most that one device has. Where there are fewer,
    or `size` is not a multiple of the number of devices, the last lines are `missing`.
    """
    keep = keep.reshape(-1)
    place = jnp.where(keep, jnp.cumsum(keep, dtype=jnp.int32) - 1, room)
    packed = jax.tree.map(
        lambda a: jnp.zeros(room, a.dtype).at[place].set(a.reshape(-1), mode="drop"), values
    )
    totals = axes.gather(keep.sum(dtype=jnp.int32))
    part = -(-size // axes.size)
    counts, starts = jax.vmap(partial(_overlaps, totals, part, size))(lax.iota(jnp.int32, axes.size))
    return exchange(packed, None, counts.T, axes, room=part, starts=starts[:, axes.index()], fill=missing)


def _overlaps(totals, part: int, size: int, receiver):
    """Return how many of each device's values the receiver gets, and from which on."""
    wide = totals.astype(np.int64 if x64_mode() else np.int32)
    first = receiver.astype(wide.dtype) * part
    before = jnp.cumsum(wide) - wide - first
    start = jnp.clip(-before, 0, wide)
    stop = jnp.clip(jnp.minimum(part, size - first) - before, 0, wide)
    return jnp.maximum(stop - start, 0).astype(jnp.int32), start.astype(jnp.int32)
