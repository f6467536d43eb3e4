"""Images within a radius: the nearest of them, up to a fixed number, and how many there are."""

from functools import partial
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from ...._core._typing import Array
from ... import _tree_programs
from ..._every_pair import longest_within
from ..._search import Search
from ..._tree._metric import TreeMetric
from .._images import Box
from .._points import ImagePoints, ImageQueries
from ._image_search import ImageNeighbors, ImageSearch, tied_reach_of
from ._images import RadiusBounds, images_and_queries, in_float64, radius_bounds, where_active
from ._places import Places, boxes_within, over_places, over_shifts

__all__ = ["counts", "fixed"]


@in_float64("periodic", "search", "max_neighbors")
def fixed(
    points: ImagePoints, queries: ImageQueries, radius, *, periodic, search: Search, max_neighbors: int
):
    """Return rows, shifts, distances (q, max_neighbors, ...) of the nearest within radii (q,), and counts."""
    radius_search, boxes = _radius_search(points, queries, radius, periodic, search)

    def step(shift, is_active, state: _Found):
        return radius_search.where(is_active).with_those_of_shift(shift, state)

    query_count = len(radius_search.radius)
    none = ImageNeighbors.empty(query_count, max_neighbors, radius_search.image_search.images)
    found = over_shifts(boxes, step, _Found(none, jnp.zeros(query_count, np.int32)))
    return found.neighbors.rows, found.neighbors.shifts, found.neighbors.distances, found.counts


@in_float64("periodic", "search")
def counts(points: ImagePoints, queries: ImageQueries, radius, *, periodic, search: Search):
    """Return how many images are within the radii (q,)."""
    radius_search, boxes = _radius_search(points, queries, radius, periodic, search)

    def step(places: Places, counts):
        counts_of_places = radius_search.of_places(places).counts(places.shift)
        return counts.at[places.target].add(counts_of_places)

    return (over_places(boxes, step, jnp.zeros(len(radius_search.radius), np.int32)),)


class _Found(NamedTuple):
    """What queries found."""

    neighbors: ImageNeighbors  # the nearest
    counts: Array  # (q,) of all


class _RadiusSearch(NamedTuple):
    """A search of queries for the images within their radii."""

    image_search: ImageSearch
    radius: Array  # (q,) no distance within it is longer
    bounds: RadiusBounds

    def where(self, is_active) -> "_RadiusSearch":
        """Return the search in which the other queries find nothing, (q,)."""
        inner, outer = self.bounds
        bounds = RadiusBounds(where_active(is_active, inner), where_active(is_active, outer))
        return self._replace(bounds=bounds)

    def of_places(self, places: Places) -> "_RadiusSearch":
        """Return the search from some places."""
        inner, outer = self.bounds
        bounds = RadiusBounds(places.take_bounds(inner), places.take_bounds(outer))
        return _RadiusSearch(self.image_search.of(places.query), self.radius[places.query], bounds)

    def counts(self, shift) -> Array:
        """Return how many images queries find when they are moved by a shift: that of all, or of each."""
        inner_counts = self._counts_of_tree(shift, self.bounds.inner)
        outer_counts = self._counts_of_tree(shift, self.bounds.outer)
        has_border = outer_counts > inner_counts
        counts = jnp.where(has_border, 0, outer_counts.astype(np.int32))

        def measure_all(counts):
            at_border = where_active(has_border, self.bounds.outer)
            return self.image_search.with_all_within(shift, at_border, self._with_count, counts)

        return lax.cond(has_border.any(), measure_all, lambda counts: counts, counts)

    def with_those_of_shift(self, shift, found: _Found) -> _Found:
        """Return what was found, with what all queries find when they are moved by a shift."""
        images, queries, search = self.image_search
        max_neighbors = found.neighbors.rows.shape[1]
        point_count = max(min(max_neighbors, len(images.points.data)), 1)  # of an image that are looked at
        outer = self.bounds.outer
        inputs = images.tree, self.image_search.moved(shift), outer, TreeMetric(search.p)
        rows, distances, outer_counts = _tree_programs.nearest_within(
            *inputs, search=search, max_neighbors=point_count + 1
        )
        is_whole = outer_counts <= point_count + 1
        has_border = outer_counts > self._counts_of_tree(shift, self.bounds.inner)
        tied_reach = tied_reach_of(images, queries, distances, point_count)
        is_cut = ~is_whole & (has_border | (tied_reach >= 0))
        measured = self._within_radius(self.image_search.measured(rows, shift))
        measured = measured.without(is_cut, images.points.n)
        counts = jnp.where(is_whole, measured.counts(), outer_counts.astype(np.int32))
        counts = jnp.where(is_cut & has_border, 0, counts)
        found = _Found(found.neighbors.with_those_of(measured), found.counts + counts)

        def measure_all(found):
            radii = jnp.where(has_border, outer, jnp.minimum(outer, tied_reach))
            visit = partial(self._with_neighbors, has_border)
            return self.image_search.with_all_within(shift, where_active(is_cut, radii), visit, found)

        return lax.cond(is_cut.any(), measure_all, lambda found: found, found)

    def _counts_of_tree(self, shift, radii) -> Array:
        """Return how many points the tree counts within radii (q,) of moved queries."""
        images, _, search = self.image_search
        inputs = images.tree, self.image_search.moved(shift), radii, TreeMetric(search.p)
        (counts,) = _tree_programs.counts_within(*inputs, search=search)
        return counts

    def _within_radius(self, neighbors: ImageNeighbors) -> ImageNeighbors:
        n = self.image_search.images.points.n
        return neighbors.kept(neighbors.distances <= self.radius[:, None], n)

    def _with_count(self, neighbors: ImageNeighbors, counts) -> Array:
        return counts + jnp.sum(neighbors.distances <= self.radius[:, None], axis=1, dtype=np.int32)

    def _with_neighbors(self, is_counted, neighbors: ImageNeighbors, found: _Found) -> _Found:
        """Return what was found with further neighbors; those of some queries (q,) are counted."""
        neighbors = self._within_radius(neighbors)
        counts = found.counts + jnp.where(is_counted, neighbors.counts(), 0)
        return _Found(found.neighbors.with_those_of(neighbors), counts)


def _radius_search(
    points: ImagePoints, queries: ImageQueries, radius, periodic, search: Search
) -> tuple[_RadiusSearch, Box]:
    """Return the search within radii, () or (q,), and the shifts (q, P) by which queries are moved."""
    images, wrapped = images_and_queries(points, queries, periodic, search)
    bounds = radius_bounds(images, wrapped, radius)
    boxes = boxes_within(images, wrapped, bounds.outer, search.p)
    radius = jnp.broadcast_to(longest_within(radius), len(wrapped.inside))
    return _RadiusSearch(ImageSearch(images, wrapped, search), radius, bounds), boxes
