"""Points on a mesh to one tree a device."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._typing import Array
from .._structure import _build
from .._structure._tree import Tree
from ._axes import Axes
from ._exchange import exchange, routes
from ._partition import partition, shares

__all__ = ["Forest", "build", "own_points", "widened"]


class Forest(NamedTuple):
    """What one device knows of the trees of all.

    Its own tree is over the points that the partition gave it, in the order of their rows, so that a tie that
    goes to the lowest of its rows goes to the lowest row of all. Coordinates of all trees have one scale.
    """

    tree: Tree
    rows: Array  # (most,) the row of all that each of the tree's rows is
    order: Array  # (s,) this device's rows of the user's data, by the device that they went to
    counts: Array  # (devices, devices) how many went from row to column
    lower: Array  # (devices, m) boxes of all devices, scaled; lower = inf and upper = -inf of an empty one
    upper: Array
    least: Array  # (devices,) the lowest row of each device


def build(points, n: int, axes: Axes, rows_dtype) -> Forest:
    """Build the trees over the first `n` of all rows, of which this device has `points` (s, m)."""
    s = points.shape[0]
    here = axes.index()
    share = shares(n, axes.size)
    route = routes(partition(points, n, axes), axes)
    room = max(*share, 1)
    rows = here.astype(rows_dtype) * s + jnp.arange(s, dtype=rows_dtype)
    sent = points, rows
    mine, rows = exchange(sent, route.order, route.starts(axes), route.counts, axes, room=room)

    count = jnp.asarray(np.asarray(share, np.int32))[here]
    there = (lax.iota(jnp.int32, room) < count) & jnp.isfinite(mine).all(axis=1)
    lower = jnp.where(there[:, None], mine, jnp.inf).min(axis=0)
    upper = jnp.where(there[:, None], mine, -jnp.inf).max(axis=0)
    extremes = jnp.stack([axes.min(lower), axes.max(upper)])
    tree = _build.build(mine, count, scale=_build.scale_of(extremes, jnp.isfinite(extremes).all(axis=1)))
    rows = jnp.where(lax.iota(jnp.int32, room) < count, rows, n)
    lower, upper = (axes.gather(side * tree.scale) for side in (lower, upper))
    return Forest(tree, rows, route.order, route.counts, lower, upper, axes.gather(rows[0]))


def widened(forest: Forest, dtype) -> Forest:
    """Return the forest in the dtype of the distances."""
    lower, upper = (side.astype(dtype) for side in (forest.lower, forest.upper))
    return forest._replace(tree=forest.tree.astype(dtype), lower=lower, upper=upper)


def own_points(tree: Tree, room: int):
    """Return the points of a device's tree (room, m) by row, in the user's units; nan where there is none."""
    m = tree.points.shape[0]
    nothing = jnp.full((room, m), jnp.nan, tree.points.dtype)
    there = jnp.isfinite(tree.points[0])
    place = jnp.where(there, tree.rows, room)
    return nothing.at[place].set(tree.points.T / tree.scale, mode="drop")
