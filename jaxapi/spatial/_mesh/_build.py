"""Points on a mesh to one tree a device."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._typing import Array
from .._structure import _build
from .._structure._tree import Tree
from ._axes import Axes
from ._exchange import by_destination, exchange, numbers_sent
from ._partition import partition, shares

__all__ = ["Forest", "build", "own_points", "widened", "with_rows_of_all"]


class Forest(NamedTuple):
    """What one device knows of the trees of all.

    Its own tree is over the points that the partition gave it, in the order of their rows, so that a tie that
    goes to the lowest of its rows goes to the lowest row of all. Coordinates of all trees have one scale.
    """

    tree: Tree
    rows: Any  # (most,) the row of all that each of the tree's rows is; None: the same
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
    device, whole = partition(points, n, axes, rows_dtype)
    order, counts = by_destination(device, axes.size), numbers_sent(device, axes)
    room = max(*share, 1)
    rows = here.astype(rows_dtype) * s + jnp.arange(s, dtype=rows_dtype)
    mine, rows = exchange((points, rows), order, counts, axes, room=room)

    count = jnp.asarray(np.asarray(share, np.int32))[here]
    scale = _build.scale_of(whole, jnp.isfinite(whole).all(axis=1))
    tree = _build.build(mine, count, scale=scale)
    rows = jnp.where(lax.iota(jnp.int32, room) < count, rows, n)
    lower = tree.points.min(axis=1)
    upper = jnp.where(tree.points < jnp.inf, tree.points, -jnp.inf).max(axis=1)
    lower, upper, least = axes.gather((lower, upper, rows[0]))
    return Forest(tree, rows, order, counts, lower, upper, least)


def widened(forest: Forest, dtype) -> Forest:
    """Return the forest in the dtype of the distances."""
    lower, upper = (side.astype(dtype) for side in (forest.lower, forest.upper))
    return forest._replace(tree=forest.tree.astype(dtype), lower=lower, upper=upper)


def with_rows_of_all(forest: Forest, n: int) -> Forest:
    """Return the forest with trees whose rows are those of all `n` points, and no `rows`.

    It is for many results: none of them has to be looked up. Rows of 64 bits do not fit into a tree, and a
    flat tree has the rows of its slots: these stay as they are.
    """
    tree = forest.tree
    if tree.is_flat or forest.rows.dtype != tree.rows.dtype:
        return forest
    rows = jnp.where(tree.rows < tree.n, forest.rows.at[tree.rows].get(mode="clip"), n)
    return forest._replace(tree=tree._replace(rows=rows, n=jnp.full_like(tree.n, n)), rows=None)


def own_points(tree: Tree, room: int):
    """Return the points of a device's tree (room, m) by row, in the user's units; nan where there is none."""
    m = tree.points.shape[0]
    nothing = jnp.full((room, m), jnp.nan, tree.points.dtype)
    there = jnp.isfinite(tree.points[0])
    place = jnp.where(there, tree.rows, room)
    return nothing.at[place].set(tree.points.T / tree.scale, mode="drop")
