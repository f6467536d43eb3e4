"""Searches among the points of clouds that have no cell.

Points have no other images then, and lie in the tree as they were given. Its clouds are farther from each
other than any radius that is searched, so that plain searches of the tree keep to them.
"""

import jax.numpy as jnp
import numpy as np

from ...._core._typing import Array
from ... import _tree_programs
from ..._clusters import _device as clusterings
from ..._every_pair import longest_within
from ..._search import Search
from ..._tree._metric import TreeMetric
from ..._tree._queries import Relation
from .._points import ImagePoints
from ._images import Images, rows_of_tree

__all__ = ["components", "dbscan", "edges", "serves"]


def serves(points: ImagePoints) -> bool:
    """Tell whether the points are searched here: without a cell, and not in float64.

    Beside the distance between clouds powers of float64's least distances would vanish.
    """
    return points.cell is None and points.data.dtype != np.float64


def edges(images: Images, radius, search: Search, relation: Relation, size: int):
    """Return receivers, senders, distances (size,) and the true number of edges."""
    inputs = images.tree, _radius(images, radius), TreeMetric(search.p)
    return _tree_programs.fixed_edges(*inputs, search=search, relation=relation, size=size)


def components(images: Images, radius, search: Search) -> tuple[Array, Array]:
    """Return how many components there are, and labels (rows,)."""
    count, labels = clusterings.components(_points(images, search), _radius(images, radius), search=search)
    return count, labels[: len(images.points.data)]


def dbscan(images: Images, radius, weights, search: Search, min_samples: int) -> tuple[Array, Array]:
    """Return which points are cores (rows,), and labels (rows,)."""
    row_count = len(images.points.data)
    points = _points(images, search)
    if weights is not None:
        weights = jnp.pad(weights, (0, len(points.data) - row_count))
    inputs = points, _radius(images, radius), weights
    is_core, labels = clusterings.dbscan(*inputs, min_samples=min_samples, search=search)
    return is_core[:row_count], labels[:row_count]


def _points(images: Images, search: Search) -> clusterings.ClusteredPoints:
    """Return the points of all clouds, of as many rows as the tree was built of."""
    return clusterings.ClusteredPoints(rows_of_tree(images.in_cell), images.tree, TreeMetric(search.p))


def _radius(images: Images, radius) -> Array:
    """Return a radius as float64, within which no other cloud is: they are `spacing` apart, or more.

    No two points of a cloud are a quarter of that apart. NaN stays NaN.
    """
    return jnp.minimum(longest_within(radius), images.in_cell.spacing / 4)
