"""A function that takes any tree, and one that takes those with a cell."""

from typing import assert_type

import jax
import numpy as np

from jaxapi.spatial import KDTree


def degrees(tree: KDTree, r: float) -> np.ndarray:
    graph = tree.radius_graph(r)
    return np.bincount(np.asarray(graph.receivers), minlength=len(tree.data))


def crossing(tree: KDTree[jax.Array], r: float) -> jax.Array:
    """Tell which edges leave the cell."""
    return (tree.radius_graph(r).shifts != 0).any(axis=1)


def build(points: np.ndarray, cell: np.ndarray | None = None) -> KDTree:
    return KDTree(points, cell=cell)


points = np.random.default_rng(0).random((30, 2))
degrees(KDTree(points), 0.1)
degrees(KDTree(points, cell=np.eye(2)), 0.1)
degrees(build(points), 0.1)
crossing(KDTree(points, cell=np.eye(2)), 0.1)
tree = build(points, np.eye(2))
assert_type(tree.cell, jax.Array | None)


def never_run() -> None:
    crossing(KDTree(points), 0.1)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
