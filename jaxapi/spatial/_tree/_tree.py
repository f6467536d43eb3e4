"""The KD-tree as data: what build makes and every search reads."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from ..._core._typing import Array
from ._powers_of_two import scaled, unscaled

__all__ = ["FLAT_FROM", "Tree"]

FLAT_FROM = 17  # dimensions from which on boxes tell points apart too badly for a tree to pay


class Tree(NamedTuple):
    """A bucket KD-tree without pointers; every static number follows from the shapes.

    There are ``L`` leaves (a power of two, at least 8) of equal size, ``N`` slots in all. Node 1 is the root,
    the children of node ``i`` are ``2i`` and ``2i + 1``, leaf ``j`` is node ``L + j`` and owns the slots
    ``j * (N // L)`` up to the next leaf's. There are more slots than points: those without a
    point come last, with coordinates ``+inf`` and row ``n``. The points of a node are split along one axis
    between its children, and either child may have the lower part. Equal points lie in the order of their
    rows: searches that return the lowest rows of equally near points rely on it.

    Coordinates are the user's times `scale`, a power of two: the largest extent is then about 2 to the power
    `extent_exponent`, where squares neither overflow nor vanish.
    """

    points: Array  # (m, N) floating, scaled, in leaf order
    rows: Array  # (N,) int32: the row of the user's data in each slot
    lower: Array  # (m, 2L) boxes of the nodes, scaled; column 0 is unused
    upper: Array  # (m, 2L) an empty node has lower = +inf and upper = -inf
    scale: Array  # () of the points' dtype
    n: Array  # () int32: how many rows of the user's data count

    def astype(self, dtype) -> "Tree":
        """Return the tree with coordinates of another floating dtype."""
        return jax.tree.map(lambda a: a.astype(dtype) if jnp.issubdtype(a.dtype, jnp.floating) else a, self)

    def rescaled(self, factor: Array) -> "Tree":
        """Return the tree with coordinates in another unit, by a factor that is a power of two."""
        return self._replace(
            points=self.points * factor,
            lower=self.lower * factor,
            upper=self.upper * factor,
            scale=self.scale * factor,
        )

    def scaled(self, x: Array) -> Array:
        """Return coordinates or lengths in the user's units as those of the tree."""
        return scaled(x, self.scale)

    def points_in_units(self, columns: Array) -> Array:
        """Return some of the points (m, q) in the user's units (q, m), nan for those of empty slots."""
        return unscaled(jnp.where(columns < jnp.inf, columns, jnp.nan).T, self.scale)

    @property
    def is_flat(self) -> bool:
        """Whether the boxes say nothing: the slots are the rows in order, and searches look at all."""
        return self.points.shape[-2] >= FLAT_FROM

    @property
    def leaves(self) -> int:
        """How many leaves the tree has."""
        return self.lower.shape[-1] // 2

    @property
    def leaf_size(self) -> int:
        """How many slots a leaf has."""
        return self.points.shape[-1] // self.leaves

    @property
    def levels(self) -> int:
        """How many splits lie between the root and a leaf."""
        return self.leaves.bit_length() - 1
