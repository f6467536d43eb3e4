"""The nearest images of queries."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ...._core._typing import Array
from ... import _tree_programs
from ..._answers import AllNeighbors
from ..._every_pair import beyond
from ..._search import Search
from ..._tree._metric import TreeMetric
from ..._tree._queries import Limits
from .._images import MOST_IMAGES, Box, many_images
from .._points import ROUNDING, ImagePoints, ImageQueries
from ._image_search import ImageNeighbors, ImageSearch, tied_reach_of
from ._images import images_and_queries, in_float64
from ._places import countable

__all__ = ["nearest", "nearest_of_points"]


@in_float64("periodic", "search", "k")
def nearest(points: ImagePoints, queries: ImageQueries, bound, *, periodic, search: Search, k: int):
    """Return rows, shifts and distances (q, k, ...) of the nearest images, nearer than `bound`, () or (q,).

    Boxes of shifts are gone through, each around the last one: until as many images are found, and then that
    which holds all that are not farther.
    """
    images, wrapped = images_and_queries(points, queries, periodic, search)
    bound = jnp.broadcast_to(beyond(bound), len(wrapped.inside))
    if wrapped.ids is not None:
        bound = jnp.where(wrapped.is_far & (wrapped.inside_length >= bound), 0.0, bound)
    neighbors = _NearestSearch(ImageSearch(images, wrapped, search), bound, k).found()
    return neighbors.rows, neighbors.shifts, neighbors.distances


@in_float64("periodic", "search", "k", "dtype")
def nearest_of_points(points: ImagePoints, bound, *, periodic, search: Search, k: int, dtype):
    """Return what `nearest` does of the points, which are inputs of the engine, in the dtypes of results."""
    points = points.read(search.engine)
    rows, shifts, distances = nearest(points, None, bound, periodic=periodic, search=search, k=k)
    return rows.astype(search.index_dtype), shifts, distances.astype(dtype)


class _NearestSearch(NamedTuple):
    """A search for the `k` nearest images of each query that are nearer than its bound."""

    image_search: ImageSearch
    bound: Array  # (q,)
    k: int

    def found(self) -> ImageNeighbors:
        """Return the nearest images."""
        images = self.image_search.images
        vector_count = images.in_cell.lattice.vector_count
        none = ImageNeighbors.empty(len(self.bound), self.k, images)
        no_shift = jnp.zeros(vector_count, np.float64)
        neighbors = self.with_those_of_shift(no_shift, none)
        if not vector_count:
            return neighbors
        unmoved = Box(no_shift, no_shift)
        start = jnp.zeros((), np.float64), self.next_box(unmoved, neighbors), unmoved, neighbors
        *_, neighbors = lax.while_loop(_has_more, self.step, start)
        return neighbors

    def step(self, state):
        """Return the state after one shift of a box; with the last one the next box comes."""
        number, box, done, neighbors = state
        shift = box.shift(number, jnp)

        def search_shift(neighbors):
            return self.with_those_of_shift(shift, neighbors)

        neighbors = lax.cond(done.holds(shift), lambda neighbors: neighbors, search_shift, neighbors)
        is_end = number + 1 >= box.total
        following = _where(is_end, self.next_box(box, neighbors), box)
        done = _where(is_end, box, done)
        return jnp.where(is_end, 0.0, number + 1), following, done, neighbors

    def with_those_of_shift(self, shift, neighbors: ImageNeighbors) -> ImageNeighbors:
        """Return the nearest of some neighbors and of those of all queries when they are moved by a shift."""
        images, queries, search = self.image_search
        n = images.points.n
        point_count = max(min(self.k, len(images.points.data)), 1)  # of an image that are looked at
        last_distance = self._last_distance(neighbors)
        reach = jnp.where(last_distance > 0, last_distance * (1 + ROUNDING) + queries.rounding, 0.0)
        reach = jnp.nextafter(reach, jnp.full_like(reach, jnp.inf))
        reach = jnp.where(self.bound > 0, reach, 0.0)
        limits = Limits(reach, jnp.zeros((), np.float64))
        inputs = images.tree, self.image_search.moved(shift), limits, TreeMetric(search.p)
        answer = AllNeighbors(point_count + 1)
        distances, rows = _tree_programs.nearest_columns(*inputs, answer=answer, search=search)
        tied_reach = tied_reach_of(images, queries, distances, point_count)
        is_tied = tied_reach >= 0
        measured = self.image_search.measured(rows, shift)
        neighbors = neighbors.with_those_of(self._nearer_than_bound(measured).without(is_tied, n))

        def measure_all(neighbors):
            return self.image_search.with_all_within(shift, tied_reach, self._with_nearer, neighbors)

        return lax.cond(is_tied.any(), measure_all, lambda neighbors: neighbors, neighbors)

    def next_box(self, done: Box, neighbors: ImageNeighbors) -> Box:
        """Return the box to go through after those shifts that are done."""
        images, queries, search = self.image_search
        last_distance = self._last_distance(neighbors)
        misses_some = (neighbors.distances[:, 0] < jnp.inf) & (last_distance == jnp.inf)
        grown = _grown(done.high, self._heights())
        reach = last_distance * (1 + ROUNDING) + queries.rounding
        boxes = images.in_cell.boxes_in_reach(queries, reach, search.p)
        # Far off the plane of the vectors the nearest of one cell may be far from each other: images of the
        # very nearest are nearer, and leave fewer images in reach.
        has_many = (boxes.total >= many_images(self.k)) & (done.total < self.k)
        boxes = countable(boxes, queries)
        if search.p == 2:
            sees_alike = images.in_cell.sees_alike(queries, done.high)
            boxes = boxes.where(~((boxes.total >= MOST_IMAGES) & sees_alike), jnp)
        box = boxes.of_all(jnp)
        box = done.with_those_of(_where(box.total > 0, box, done), jnp)
        return _where((misses_some | has_many).any(), Box(-grown, grown), box)

    def _last_distance(self, neighbors: ImageNeighbors) -> Array:
        """Return what a further neighbor of each query (q,) must be nearer than."""
        return jnp.minimum(neighbors.distances[:, -1], self.bound)

    def _nearer_than_bound(self, neighbors: ImageNeighbors) -> ImageNeighbors:
        return neighbors.kept(neighbors.distances < self.bound[:, None], self.image_search.images.points.n)

    def _with_nearer(self, further: ImageNeighbors, neighbors: ImageNeighbors) -> ImageNeighbors:
        return neighbors.with_those_of(self._nearer_than_bound(further))

    def _heights(self) -> Array:
        """Return the least distance (P,) between neighboring planes of all lattices."""
        heights = self.image_search.queries.lattice.heights
        heights = jnp.where(jnp.isfinite(heights), heights, 1.0)
        return heights if heights.ndim == 1 else heights.min(axis=0, initial=jnp.inf)


def _has_more(state):
    """Tell whether there are shifts that are not done."""
    _, box, done, _ = state
    return ((box.low < done.low) | (box.high > done.high)).any()


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
