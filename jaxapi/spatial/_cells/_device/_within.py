"""Images within a radius: the nearest of them, up to a fixed number, and how many there are."""

import jax.numpy as jnp
import numpy as np
from jax import lax

from ... import _tree_programs
from ..._every_pair import longest_within
from ..._search import Search
from ..._tree._metric import TreeMetric
from .._points import ImagePoints, ImageQueries
from ._image_search import ImageNeighbors, ImageSearch, tied_reach_of
from ._images import images_and_queries, in_float64, radii_of, radius_bounds
from ._places import Places, boxes_within, over_places, over_shifts

__all__ = ["counts", "fixed"]


@in_float64("periodic", "search", "max_neighbors")
def fixed(
    points: ImagePoints, queries: ImageQueries, radius, *, periodic, search: Search, max_neighbors: int
):
    """Return rows, shifts, distances (q, max_neighbors, ...) of the nearest within radii (q,), and counts."""
    images, wrapped = images_and_queries(points, queries, periodic, search)
    image_search = ImageSearch(images, wrapped, queries, periodic, search)
    bounds = radius_bounds(images, wrapped, radii_of(images, wrapped, radius))
    radius = jnp.broadcast_to(longest_within(radius), len(wrapped.inside))
    boxes = boxes_within(images, wrapped, bounds.outer, search.p)
    point_count = max(min(max_neighbors, len(points.data)), 1)  # of an image that are looked at
    n = points.n

    def within_radius(neighbors: ImageNeighbors) -> ImageNeighbors:
        return neighbors.kept(neighbors.distances <= radius[:, None], n)

    def step(shift, is_active, state):
        neighbors, counts = state
        inner = jnp.where(is_active, bounds.inner, -1.0)
        outer = jnp.where(is_active, bounds.outer, -1.0)
        inputs = images.tree, image_search.moved(shift)
        metric = TreeMetric(search.p)
        rows, distances, outer_counts = _tree_programs.nearest_within(
            *inputs, outer, metric, search=search, max_neighbors=point_count + 1
        )
        (inner_counts,) = _tree_programs.counts_within(*inputs, inner, metric, search=search)
        is_whole = outer_counts <= point_count + 1
        has_border = outer_counts > inner_counts
        tied_reach = tied_reach_of(images, wrapped, distances, point_count)
        is_cut = ~is_whole & (has_border | (tied_reach >= 0))
        image_neighbors = within_radius(image_search.measured(rows, shift)).without(is_cut, n)
        measured_counts = jnp.sum(image_neighbors.distances < jnp.inf, axis=1, dtype=np.int32)
        image_counts = jnp.where(is_whole, measured_counts, outer_counts.astype(np.int32))
        counts += jnp.where(is_cut & has_border, 0, image_counts)
        neighbors = neighbors.with_those_of(image_neighbors)

        def add(next_neighbors: ImageNeighbors, state):
            neighbors, counts = state
            next_neighbors = within_radius(next_neighbors)
            next_counts = jnp.sum(next_neighbors.distances < jnp.inf, axis=1, dtype=np.int32)
            return neighbors.with_those_of(next_neighbors), counts + jnp.where(has_border, next_counts, 0)

        def measure_all(state):
            radii = jnp.where(has_border, outer, jnp.minimum(outer, tied_reach))
            return image_search.with_all_within(shift, jnp.where(is_cut, radii, -1.0), add, state)

        return lax.cond(is_cut.any(), measure_all, lambda state: state, (neighbors, counts))

    state = (
        ImageNeighbors.empty(len(wrapped.inside), max_neighbors, images),
        jnp.zeros(len(wrapped.inside), np.int32),
    )
    neighbors, counts_of_queries = over_shifts(boxes, step, state)
    return neighbors.rows, neighbors.shifts, neighbors.distances, counts_of_queries


@in_float64("periodic", "search")
def counts(points: ImagePoints, queries: ImageQueries, radius, *, periodic, search: Search):
    """Return how many images are within the radii (q,)."""
    images, wrapped = images_and_queries(points, queries, periodic, search)
    image_search = ImageSearch(images, wrapped, queries, periodic, search)
    bounds = radius_bounds(images, wrapped, radii_of(images, wrapped, radius))
    radius = jnp.broadcast_to(longest_within(radius), len(wrapped.inside))
    boxes = boxes_within(images, wrapped, bounds.outer, search.p)

    def step(places: Places, counts):
        search_of_places = image_search.of(places.query)
        radius_of_places = radius[places.query, None]
        outer = places.take_bounds(bounds.outer)
        inputs = images.tree, search_of_places.moved(places.shift)
        metric = TreeMetric(search.p)
        (inner_counts,) = _tree_programs.counts_within(
            *inputs, places.take_bounds(bounds.inner), metric, search=search
        )
        (outer_counts,) = _tree_programs.counts_within(*inputs, outer, metric, search=search)
        has_border = outer_counts > inner_counts
        counts_of_places = jnp.where(has_border, 0, outer_counts.astype(np.int32))

        def add(neighbors: ImageNeighbors, counts):
            return counts + jnp.sum(neighbors.distances <= radius_of_places, axis=1, dtype=np.int32)

        def measure_all(counts):
            at_border = jnp.where(has_border, outer, -1.0)
            return search_of_places.with_all_within(places.shift, at_border, add, counts)

        counts_of_places = lax.cond(has_border.any(), measure_all, lambda counts: counts, counts_of_places)
        return counts.at[places.target].add(counts_of_places)

    return (over_places(boxes, step, jnp.zeros(len(wrapped.inside), np.int32)),)
