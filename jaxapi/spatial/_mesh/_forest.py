"""Points on a mesh to one tree a device."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core._typing import Array
from .._device import _engines
from .._structure._build import scale_of
from .._structure._tree import Tree
from ._axes import Axes
from ._exchange import by_destination, exchange, numbers_sent
from ._partition import partition, shares

__all__ = ["Forest", "build", "rows_of_all", "rows_of_points", "widened"]


class Forest(NamedTuple):
    """What one device knows of the trees of all.

    Its own tree is over the points that the partition gave it. Its rows are those of all points, and so need
    no look-up, unless these have 64 bits or the tree is flat, which has the rows of its slots: then it has
    the points in the order of their rows, and `rows` tells which these are. Either way a tie that goes to the
    lowest of its rows goes to the lowest row of all. Coordinates of all trees have one scale.
    """

    tree: Tree
    rows: Any  # (most,) the row of all that each of the tree's rows is; None: the same
    lower: Array  # (devices, m) boxes of all devices, scaled; lower = inf and upper = -inf of an empty one
    upper: Array
    least: Array  # (devices,) the lowest row of each device

    @property
    def rows_dtype(self):
        """The dtype of rows of all points."""
        return self.tree.rows.dtype if self.rows is None else self.rows.dtype


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
    scale = scale_of(whole, jnp.isfinite(whole).all(axis=1))
    tree = _engines.run(None, "build", mine, count, scale)
    rows = jnp.where(lax.iota(jnp.int32, room) < count, rows, n)
    least = rows[0]
    if not tree.is_flat and rows.dtype == tree.rows.dtype:
        tree = tree._replace(rows=rows_of_all(tree, rows, tree.rows, n), n=jnp.full_like(tree.n, n))
        rows = None
    return Forest(tree, rows, *axes.gather((*_box(tree), least)))


def _box(tree: Tree):
    """Return the box of a tree's points, two arrays (m,); of a flat tree, too, whose nodes do not tell."""
    if not tree.is_flat:
        return tree.lower[:, 1], tree.upper[:, 1]
    return tree.points.min(axis=1), jnp.where(tree.points < jnp.inf, tree.points, -jnp.inf).max(axis=1)


def widened(forest: Forest, dtype) -> Forest:
    """Return the forest in the dtype of the distances."""
    lower, upper = (side.astype(dtype) for side in (forest.lower, forest.upper))
    return forest._replace(tree=forest.tree.astype(dtype), lower=lower, upper=upper)


def rows_of_all(tree: Tree, rows, found, n: int):
    """Return the rows of all `n` points of what was `found` in a tree; `rows` as in a forest."""
    return found if rows is None else jnp.where(found < tree.n, rows.at[found].get(mode="clip"), n)


def rows_of_points(forest: Forest, n: int, most: int):
    """Return the rows (most,) of the points of a device's tree in the order of its leaves.

    That is of `most` lines, as many as any device has points; n where there is none.
    """
    tree = forest.tree
    return rows_of_all(tree, forest.rows, tree.rows[:most], n)
