"""Clusterings by SciPy's trees: NumPy arrays by row.

Rows that do not count, or are not finite, belong to nothing. A clustering sees points and radii in the units
of SciPy's tree, in which their powers are numbers.
"""

import numpy as np

from .._clusters import _hierarchy, _selection
from .._clusters._arrays import OnHost
from . import _groups
from ._spanning import SpanningEdges, spanning_tree
from ._trees import Options, ScaledTree, SciPyTrees

__all__ = ["components", "dbscan", "hdbscan", "linkage", "tree_edges", "tree_of"]

OPTIONS = Options(balanced_tree=False)  # as fast to search, and built in two thirds of the time


def tree_of(points, count, boxsize, p: float) -> ScaledTree:
    """Return the tree of the first of some points (rows, m), in a periodic box or None."""
    return SciPyTrees(points, count, boxsize, OPTIONS).tree_for(p)


def _points_of(tree: ScaledTree) -> _groups.Points:
    return _groups.Points(tree.tree.data, tree.p, tree.tree.boxsize)


def components(tree: ScaledTree, radius):
    """Return the number of components, and labels (rows,)."""
    number, labels = _groups.components(_points_of(tree), tree.reach_of(radius))
    return number, tree.trees.by_row(labels, fill=-1)


def dbscan(tree: ScaledTree, radius, weights, *, min_samples: int):
    """Return which points are cores (rows,), and labels (rows,)."""
    if weights is not None:
        weights = tree.trees.of_tree(weights).astype(np.float64)
    is_core, labels = _groups.dbscan(_points_of(tree), tree.reach_of(radius), min_samples, weights)
    return tree.trees.by_row(is_core, fill=False), tree.trees.by_row(labels, fill=-1)


def tree_edges(tree: ScaledTree, *, min_samples: int, dtype):
    """Return the edges' rows (rows - 1, 2), distances (rows - 1,), and the rows whose distances these are."""
    edges = _spanning_edges(tree, min_samples)
    # In the order of the distances as they are returned.
    distances = tree.distances(edges.distances).astype(dtype)
    order = np.lexsort((edges.rows[:, 1], edges.rows[:, 0], distances))
    most_edges = max(len(tree.trees.data) - 1, 0)
    rows = np.full((most_edges, 2), -1)
    rows[: len(order)] = tree.trees.rows(edges.rows[order])
    measured = np.full((most_edges, 2), -1)
    measured[: len(order)] = tree.trees.rows(edges.measured[order])
    all_distances = np.full(most_edges, np.inf, dtype)
    all_distances[: len(order)] = distances[order]
    return rows, all_distances, measured


def hdbscan(tree: ScaledTree, *, min_samples: int, alpha: float, selection: _selection.Selection):
    """Return labels and probabilities (rows,)."""
    edges = _spanning_edges(tree, min_samples, alpha)
    if not len(edges.rows):
        row_count = len(tree.trees.data)
        return np.full(row_count, -1), np.zeros(row_count)
    if selection.epsilon is not None:
        selection = selection._replace(epsilon=float(tree.reach_of(selection.epsilon).radius))
    # Scikit-learn grows its tree in an order that depends on all edges that could take each other's place.
    rows = np.concatenate([edges.rows, edges.ties])
    distances = np.concatenate([edges.distances, edges.tie_distances])
    rows, distances = _hierarchy.grown(tree.n, rows, distances)
    order = np.argsort(distances)  # unstable, as scikit-learn's
    merges = _hierarchy.dendrogram(OnHost, tree.n, *rows[order].T)
    labels, probabilities = _selection.flat_clusters(OnHost, selection, merges, distances[order])
    return tree.trees.by_row(labels, fill=-1), tree.trees.by_row(probabilities, fill=0.0)


def _spanning_edges(tree: ScaledTree, min_samples: int, alpha: float = 1.0) -> SpanningEdges:
    """Return the spanning tree; fewer points than `min_samples` have no core distances, and no edges."""
    points = _points_of(tree)
    return spanning_tree(points if tree.n >= min_samples else points.of([]), min_samples, alpha)


def linkage(rows, distances):
    """Return the order of the edges, the nodes that each joins, the sizes, and whether it is a tree."""
    return _hierarchy.linkage(OnHost, rows, distances, len(rows) + 1)
