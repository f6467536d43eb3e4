"""Which leaf of the tree a point falls in."""

import jax.numpy as jnp
from jax import lax

from ..._core._typing import Array
from ._build import largest
from ._tree import Tree
from ._varying import varying_like

__all__ = ["home_leaf"]


def split_planes(tree: Tree) -> tuple[Array, Array]:
    """Return for each inner node (L,) the axis that splits it, and where: halfway between its children.

    The axis is that along which the children's boxes lie farthest apart, or overlap least.
    """
    m = tree.points.shape[0]
    lower, upper = (box.reshape(m, -1, 2) for box in (tree.lower, tree.upper))  # (m, L, sibling)
    axis = largest(lower[:, :, 1] - upper[:, :, 0])
    halfway = upper[:, :, 0] / 2 + lower[:, :, 1] / 2
    return axis, jnp.take_along_axis(halfway, axis[None], axis=0)[0]


def home_leaf(tree: Tree, queries: Array) -> Array:
    """Return the leaf (q,) that each of the (scaled) queries (q, m) falls in."""
    axis, split = split_planes(tree)

    def down(_, node):
        along = axis.at[node].get(mode="promise_in_bounds")
        x = queries[:, 0]
        for a in range(1, queries.shape[1]):
            x = jnp.where(along == a, queries[:, a], x)
        return 2 * node + (x > split.at[node].get(mode="promise_in_bounds")).astype(jnp.int32)

    root = varying_like(jnp.ones(queries.shape[0], jnp.int32), (tree, queries))
    return lax.fori_loop(0, tree.levels, down, root) - tree.leaves
