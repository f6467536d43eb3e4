"""Points on a mesh to one tree a device."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core._typing import Array
from .._engines._by_platform import BY_PLATFORM
from .._tree._build import scale_of
from .._tree._tree import Tree
from ._axes import Axes
from ._exchange import Transfer, exchange
from ._partition import partition, shares

__all__ = ["Forest", "build_trees", "global_rows"]


class Forest(NamedTuple):
    """What one device knows of the trees of all.

    Its own tree is over the points that the partition gave it. The rows of that tree are those of all points,
    and so need no look-up, unless these have 64 bits or the tree is flat, which has the rows of its slots:
    then it has the points in the order of their rows, and `rows` tells which these are. Either way a tie that
    goes to the lowest of the tree's rows goes to the lowest row of all. Coordinates of all trees have one
    scale.
    """

    tree: Tree
    rows: Array | None  # (share,) the row of all that each of the tree's rows is; None: the same
    lower: Array  # (devices, m) boxes of all devices, scaled; lower = inf and upper = -inf of an empty one
    upper: Array
    lowest_row: Array  # (devices,) of each device

    @property
    def rows_dtype(self):
        """The dtype of rows of all points."""
        return self.tree.rows.dtype if self.rows is None else self.rows.dtype

    def astype(self, dtype) -> "Forest":
        """Return the forest in the dtype of the distances."""
        return self._replace(
            tree=self.tree.astype(dtype), lower=self.lower.astype(dtype), upper=self.upper.astype(dtype)
        )

    def rescaled(self, factor: Array) -> "Forest":
        """Return the forest with coordinates in another unit, by a factor that is a power of two."""
        return self._replace(
            tree=self.tree.rescaled(factor), lower=self.lower * factor, upper=self.upper * factor
        )


def build_trees(points: Array, n: int, axes: Axes, rows_dtype) -> Forest:
    """Build the trees over the first `n` of all rows, of which this device has `points` (s, m)."""
    s = points.shape[0]
    here = axes.here()
    share = shares(n, axes.size)
    device, box = partition(points, n, axes, rows_dtype)
    capacity = max(*share, 1)
    rows = here.astype(rows_dtype) * s + jnp.arange(s, dtype=rows_dtype)
    points, rows = exchange((points, rows), Transfer.to(device, axes), capacity, axes)

    count = jnp.asarray(np.asarray(share, np.int32))[here]
    scale = scale_of(box, jnp.isfinite(box).all(axis=1))
    tree = BY_PLATFORM.build(points, count, scale)
    rows = jnp.where(lax.iota(jnp.int32, capacity) < count, rows, n)
    of_all = axes.gather((*_box(tree), rows[0]))
    if tree.is_flat or rows.dtype != tree.rows.dtype:
        return Forest(tree, rows, *of_all)
    tree = tree._replace(rows=global_rows(tree, rows, tree.rows, n), n=jnp.full_like(tree.n, n))
    return Forest(tree, None, *of_all)


def _box(tree: Tree):
    """Return the box of a tree's points, two arrays (m,); of a flat tree, too, whose nodes do not tell."""
    if not tree.is_flat:
        return tree.lower[:, 1], tree.upper[:, 1]
    upper = jnp.where(tree.points < jnp.inf, tree.points, -jnp.inf)
    return tree.points.min(axis=1), upper.max(axis=1)


def global_rows(tree: Tree, rows: Array | None, tree_rows: Array, n: int) -> Array:
    """Return the rows of all `n` points that rows of one tree are; `rows` as in a forest."""
    if rows is None:
        return tree_rows
    return jnp.where(tree_rows < tree.n, rows.at[tree_rows].get(mode="clip"), n)
