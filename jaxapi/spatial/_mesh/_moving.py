"""Pairs of points that move, on a mesh: each device keeps those whose receivers are its own points.

Every device has room for as many senders of each of its points. To measure its pairs it needs the points of
all devices, so these are gathered; nothing else travels.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec

from ..._core._dtypes import x64_on
from .._results import FixedNeighbors
from .._search import index_dtype
from . import _edges
from ._layout import MeshLayout

__all__ = ["FoundPairs", "holds_on_all", "of_own_pairs", "pairs_of"]

SAME = PartitionSpec()


class FoundPairs(NamedTuple):
    """Pairs of points, as many places for each receiver; n where there is none."""

    receivers: Any  # (rows * places,)
    senders: Any  # (rows * places,)
    count: Any  # () the number of pairs that are here
    needed: Any  # () how many places would do, of which each receiver has as many


@partial(jax.jit, static_argnames="layout")
def pairs_of(near: FixedNeighbors, *, layout: MeshLayout) -> FoundPairs:
    """Return the pairs of what lies near each point (rows, places + 1), itself among it."""
    near_others = _edges.without_itself(near.distances, near.indices, layout=layout)
    edges, _ = _edges.edges(*near_others, layout=layout)
    most = _edges.largest(near.counts, layout=layout, spread=True)
    dtype = index_dtype(edges.senders.size)

    def local(senders, most):
        largest = np.iinfo(dtype).max
        count = layout.axes.sum((senders < layout.n).sum(dtype=np.int64))
        # Without itself; a point that is not finite has not even that near it.
        needed = layout.n * jnp.maximum(most.astype(np.int64) - 1, 0)
        return count.astype(dtype), jnp.minimum(needed, largest).astype(dtype)

    with x64_on():
        counts = layout.run(local, (layout.rows, SAME), (SAME, SAME), edges.senders, most)
    return FoundPairs(edges.receivers, edges.senders, *counts)


def holds_on_all(function, layout: MeshLayout, *points):
    """Tell whether a function holds for each device's own part of arrays, all with as many rows."""

    def local(*points):
        is_wrong = ~function(*points)
        return layout.axes.max(is_wrong.astype(np.int32)) == 0

    return layout.run(local, (layout.rows,) * len(points), SAME, *points)


def of_own_pairs(function, layout: MeshLayout, points, pairs):
    """Return what a function makes of the points of all devices and each device's own part of the pairs."""

    def local(points, pairs):
        of_all = jax.tree.map(lambda a: layout.axes.gather(a).reshape(-1, *a.shape[1:]), points)
        return function(of_all, pairs)

    return layout.run(local, (layout.rows, layout.rows), layout.rows, points, pairs)
