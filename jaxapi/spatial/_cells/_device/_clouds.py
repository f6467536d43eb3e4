"""Searches among the points of clouds that have no cell.

Points have no other images then, and lie in the tree as they were given. Its clouds are farther from each
other than any radius that is searched, so that plain searches of the tree keep to them.
"""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from ...._core._devices import last_in_host_memory
from ...._core._dtypes import x64_on
from ...._core._typing import Array
from ... import _tree_programs
from ..._clusters import _device as clusterings
from ..._every_pair import longest_within
from ..._search import Search
from ..._tree._metric import TreeMetric
from ..._tree._queries import Relation
from ..._tree_programs import CountedPoints
from .._points import ImagePoints
from ._images import Images, images_of, in_float64, rows_of_tree

__all__ = ["all_edges", "components", "dbscan", "edges", "serves"]


def serves(points: ImagePoints) -> bool:
    """Tell whether the points are searched here: without a cell, and not in float64.

    Beside the distance between clouds powers of float64's least distances would vanish.
    """
    return points.cell is None and points.data.dtype != np.float64


def edges(images: Images, radius, search: Search, relation: Relation, size: int):
    """Return receivers, senders, distances (size,) and the true number of edges."""
    inputs = images.tree, _radius(images, radius), TreeMetric(search.p)
    return _tree_programs.fixed_edges(*inputs, search=search, relation=relation, size=size)


def all_edges(
    points: ImagePoints,
    radius,
    *,
    search: Search,
    relation: Relation,
    dtype,
    room: Callable[[int], int],
) -> tuple:
    """Return receivers, senders, distances of all edges, how many there are, and the same as a number.

    For concrete points, whose rows and ids are inputs of the engine. The arrays have room for `room(count)`
    edges; distances are of `dtype`. Of LATER the lower row is first.
    """
    with x64_on():
        count_edges = last_in_host_memory(_counted_edges, points.n, "search", "relation")
        counted, totals = count_edges(points, radius, search=search, relation=relation)
        counted, total = _tree_programs.with_ends_known(counted, totals)
    static = {"search": search, "relation": relation, "size": room(total), "dtype": dtype}
    return *_filled_edges(counted, **static), total


def _counted_edges(points: ImagePoints, radius, *, search: Search, relation: Relation):
    """Return the counted points of all clouds, and how many edges they have in all, (1,)."""
    images = images_of(points.read(search.engine), (), search)
    metric = TreeMetric(search.p)
    counted = _tree_programs.count_points(images.tree, _radius(images, radius), metric, search, relation)
    return counted._replace(tree=images.tree), counted.ends[-1:]


@in_float64("search", "relation", "size", "dtype")
def _filled_edges(counted: CountedPoints, *, search: Search, relation: Relation, size: int, dtype) -> Any:
    options = {"search": search, "relation": relation, "size": size}
    edges = _tree_programs.filled_edges(counted, TreeMetric(search.p), **options)
    receivers, senders, distances, count = edges
    if relation is Relation.LATER:
        lower_rows = jnp.minimum(receivers, senders)
        senders = jnp.maximum(receivers, senders)
        receivers = lower_rows
    return receivers, senders, distances.astype(dtype), count


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
