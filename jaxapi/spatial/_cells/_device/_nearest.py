"""The nearest images of queries."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ...._core._typing import Array
from ... import _tree_programs
from ..._answers import ChosenNeighbors
from ..._every_pair import beyond
from ..._search import Search
from ..._tree._metric import TreeMetric
from ..._tree._queries import Limits
from .._images import ALIKE_EXPONENT, MOST_IMAGES, Box, gap_of, many_images
from .._points import ROUNDING, ImagePoints, ImageQueries
from ._image_search import ImageNeighbors, ImageSearch, tied_reach_of
from ._images import images_and_queries, in_float64, rounding_of
from ._places import boxes_within

__all__ = ["nearest"]


@in_float64("periodic", "search", "k")
def nearest(points: ImagePoints, queries: ImageQueries, bound, *, periodic, search: Search, k: int):
    """Return rows, shifts and distances (q, k, ...) of the nearest images, nearer than `bound`, () or (q,).

    Boxes of shifts are gone through, each around the last one: until as many images are found, and then that
    which holds all that are not farther.
    """
    images, wrapped = images_and_queries(points, queries, periodic, search)
    query_count = len(wrapped.inside)
    bound = jnp.broadcast_to(beyond(bound), query_count)
    if wrapped.ids is not None:
        bound = jnp.where(wrapped.is_far & (wrapped.inside_length >= bound), 0.0, bound)
    given = ImageQueries(points.data, points.ids) if queries is None else queries
    image_search = ImageSearch(images, wrapped, given, periodic, search)
    rounding = rounding_of(images, wrapped)
    n = points.n
    point_count = max(min(k, len(points.data)), 1)  # of an image that are looked at
    vector_count = images.lattice.vector_count
    heights = wrapped.lattice.heights
    heights = jnp.where(jnp.isfinite(heights), heights, 1.0)
    if heights.ndim > 1:
        heights = heights.min(axis=0, initial=jnp.inf)
    sees_alike = wrapped.is_far
    if 0 < vector_count < points.data.shape[1]:
        extent = images.size * (1 + k)
        sees_alike |= gap_of(images.extent, wrapped, jnp) >= extent * 2.0**ALIKE_EXPONENT

    def nearer_than_bound(neighbors: ImageNeighbors) -> ImageNeighbors:
        return neighbors.kept(neighbors.distances < bound[:, None], n)

    def search_image(shift, neighbors):
        last_distance = jnp.minimum(neighbors.distances[:, -1], bound)
        reach = jnp.where(last_distance > 0, last_distance * (1 + ROUNDING) + rounding, 0.0)
        reach = jnp.nextafter(reach, jnp.full_like(reach, jnp.inf))
        reach = jnp.where(bound > 0, reach, 0.0)
        limits = Limits(reach, jnp.zeros((), np.float64))
        inputs = images.tree, image_search.moved(shift), limits, TreeMetric(search.p)
        answer = ChosenNeighbors(point_count + 1, None)
        distances, rows = _tree_programs.nearest_columns(*inputs, answer=answer, search=search)
        tied_reach = tied_reach_of(images, wrapped, distances, point_count)
        is_tied = tied_reach >= 0
        image_neighbors = nearer_than_bound(image_search.measured(rows, shift)).without(is_tied, n)
        neighbors = neighbors.with_those_of(image_neighbors)

        def add(next_neighbors: ImageNeighbors, neighbors: ImageNeighbors) -> ImageNeighbors:
            return neighbors.with_those_of(nearer_than_bound(next_neighbors))

        def measure_all(neighbors):
            return image_search.with_all_within(shift, tied_reach, add, neighbors)

        return lax.cond(is_tied.any(), measure_all, lambda neighbors: neighbors, neighbors)

    def next_box(done: Box, neighbors: ImageNeighbors) -> Box:
        """Return the box to go through after those shifts that are done."""
        last_distance = jnp.minimum(neighbors.distances[:, -1], bound)
        misses_some = (neighbors.distances[:, 0] < jnp.inf) & (last_distance == jnp.inf)
        grown = _grown(done.high, heights)
        boxes = boxes_within(images, wrapped, last_distance, search.p)
        # Far off the plane of the vectors the nearest of one cell may be far from each other: images of the
        # very nearest are nearer, and leave fewer images in reach.
        has_many = (boxes.total >= many_images(k)) & (done.total < k)
        if search.p == 2:
            boxes = boxes.where(~((boxes.total >= MOST_IMAGES) & sees_alike), jnp)
        box = boxes.of_all(jnp)
        box = done.with_those_of(_where(box.total > 0, box, done), jnp)
        return _where((misses_some | has_many).any(), Box(-grown, grown), box)

    def step(state):
        number, box, done, neighbors = state
        shift = box.shift(number, jnp)

        def search_shift(neighbors):
            return search_image(shift, neighbors)

        neighbors = lax.cond(done.holds(shift), lambda neighbors: neighbors, search_shift, neighbors)
        is_end = number + 1 >= box.total
        following = _where(is_end, next_box(box, neighbors), box)
        done = _where(is_end, box, done)
        return jnp.where(is_end, 0.0, number + 1), following, done, neighbors

    def more(state):
        _, box, done, _ = state
        return ((box.low < done.low) | (box.high > done.high)).any()

    no_shift = jnp.zeros(vector_count, np.float64)
    unmoved = Box(no_shift, no_shift)
    neighbors = search_image(no_shift, ImageNeighbors.empty(query_count, k, images))
    if vector_count:
        start = jnp.zeros((), np.float64), next_box(unmoved, neighbors), unmoved, neighbors
        *_, neighbors = lax.while_loop(more, step, start)
    return neighbors.rows, neighbors.shifts, neighbors.distances


def _grown(extent, heights) -> Array:
    """Return how far (P,) a box goes that is larger by one plane, along the vector of the nearest planes."""
    # Not by argmin, which under vmap makes 32-bit constants once more.
    following = (extent + 1) * heights
    is_nearest = following == following.min(initial=jnp.inf)
    grown = []
    is_taken = jnp.zeros((), bool)
    for axis in range(len(extent)):
        grown.append(jnp.where(is_nearest[axis] & ~is_taken, extent[axis] + 1, extent[axis]))
        is_taken |= is_nearest[axis]
    return jnp.stack(grown) if grown else extent


def _where(condition, first, second):
    """Return one of two records by a condition ()."""
    return jax.tree.map(partial(jnp.where, condition), first, second)
