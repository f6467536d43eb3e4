"""Clusterings of concrete and of traced points: one function for both, in a callback where they are traced.

Points from `count` on, and those that are not finite, which only traced ones can be, belong to nothing.
"""

from collections.abc import Callable

import numpy as np

from ..._core._programs import is_traced
from .._host._callbacks import called_back, in_turn
from .._structure._metric import into_box
from . import _hierarchy, _host
from ._arrays import OnHost
from ._spanning import Edges, spanning_tree

__all__ = ["components", "computed", "dbscan", "hdbscan", "linkage", "tree_edges"]


def computed(function: Callable, shapes, *values):
    """Return `function` of NumPy arrays, of `shapes`; for a batch of `jax.vmap` in one call."""
    arrays = [each if each is None or is_traced(each) else np.asarray(each) for each in values]
    traced = {i: each for i, each in enumerate(arrays) if is_traced(each)}
    if not traced:
        return tuple(np.asarray(x, shape.dtype) for x, shape in zip(function(*arrays), shapes, strict=True))
    constants = [None if i in traced else each for i, each in enumerate(arrays)]

    def of_batch(batch, batches, *values):
        results = tuple(np.empty(batch + each.shape, each.dtype) for each in shapes)
        for index, one in zip(np.ndindex(batch), in_turn(batch, batches, values), strict=True):
            given = dict(zip(traced, one, strict=True))
            inputs = [given.get(i, each) for i, each in enumerate(constants)]
            for result, x in zip(results, function(*inputs), strict=True):
                result[index] = x
        return results

    return tuple(called_back(of_batch, [(each.shape, each.dtype) for each in shapes], traced.values()))


def _cloud(points, count, lengths, p: float):
    """Return the points that count, and which of all they are."""
    there = np.flatnonzero(np.isfinite(points[: int(count)]).all(axis=1))
    points = points[there].astype(np.float64)
    if lengths is not None:
        lengths = lengths.astype(np.float64)
        points = into_box(points, lengths)
    return _host.Cloud(points, p, lengths), there


def _spread(n: int, there, values, fill):
    """Return values of some of n points, `fill` for the others."""
    result = np.full(n, fill, np.asarray(values).dtype)
    result[there] = values
    return result


def components(points, count, lengths, r, *, p: float):
    """Return the number of components, and labels (n,)."""
    cloud, there = _cloud(points, count, lengths, p)
    number, labels = _host.components(cloud, float(r))
    return number, _spread(len(points), there, labels, -1)


def dbscan(points, count, lengths, eps, weights, *, min_samples: int, p: float):
    """Return which points are cores (n,), and labels (n,)."""
    cloud, there = _cloud(points, count, lengths, p)
    weights = None if weights is None else weights[there].astype(np.float64)
    core, labels = _host.dbscan(cloud, float(eps), min_samples, weights)
    return _spread(len(points), there, core, False), _spread(len(points), there, labels, -1)


def tree_edges(points, count, lengths, *, min_samples: int, p: float, dtype):
    """Return the edges' rows (n - 1, 2), distances (n - 1,), and the rows whose distances these are."""
    cloud, there = _cloud(points, count, lengths, p)
    lines = max(len(points) - 1, 0)
    edges = _edges(cloud, min_samples)
    # In the order of the distances as they are returned.
    distances = edges.distances.astype(dtype)
    order = np.lexsort((edges.rows[:, 1], edges.rows[:, 0], distances))
    rows, pairs = np.full((2, lines, 2), -1)
    rows[: len(order)], pairs[: len(order)] = there[edges.rows[order]], there[edges.pairs[order]]
    return rows, _spread(lines, slice(len(order)), distances[order], np.inf), pairs


def _edges(cloud: _host.Cloud, min_samples: int, alpha: float = 1.0) -> Edges:
    """Return the spanning tree; fewer points than `min_samples` have no core distances, and no edges."""
    return spanning_tree(cloud if len(cloud.points) >= min_samples else cloud.of([]), min_samples, alpha)


def hdbscan(
    points, count, lengths, *, min_samples: int, alpha: float, p: float, selection: _hierarchy.Selection
):
    """Return labels and probabilities (n,)."""
    cloud, there = _cloud(points, count, lengths, p)
    edges = _edges(cloud, min_samples, alpha)
    rows = np.concatenate([edges.rows, edges.ties])
    return _stable(len(points), there, rows, np.concatenate([edges.distances, edges.tied]), selection)


def _stable(lines: int, there, rows, distances, selection: _hierarchy.Selection):
    """Return labels and probabilities (lines,) of points there, whose spanning trees a graph has."""
    if not len(rows):
        return np.full(lines, -1), np.zeros(lines)
    rows, distances = _hierarchy.grown(len(there), rows, distances)
    order = np.argsort(distances)  # unstable, as scikit-learn's
    merges = _hierarchy.dendrogram(OnHost, len(there), *rows[order].T)
    found = _hierarchy.flat_clusters(OnHost, selection, merges, distances[order])
    return tuple(_spread(lines, there, each, fill) for each, fill in zip(found, (-1, 0), strict=True))


def linkage(rows, distances):
    """Return the order of the edges, the nodes that each joins, the sizes, and whether it is a tree."""
    return _hierarchy.linkage(OnHost, rows, distances, len(rows) + 1)
