"""The nearest images by SciPy's tree: how far to look, and which of what it finds are the nearest."""

from collections.abc import Iterator

import numpy as np

from .._scipy import _by_ckdtree
from .._scipy._reach import beyond, longest_within
from .._search import Search
from ._host import LISTED_AT_ONCE, HostImages
from ._host_neighbors import (
    HostNeighbors,
    MovedQueries,
    PaddedNeighbors,
    UnmeasuredPairs,
    concatenated,
    nearer_in_order,
    no_neighbors,
)
from ._images import MOST_IMAGES, Box, WrappedQueries, many_images
from ._points import ROUNDING

__all__ = ["nearest"]


def nearest(images: HostImages, queries: WrappedQueries, bound, k: int, search: Search) -> tuple:
    """Return rows, shifts and distances (q, k, ...) of the nearest images within a bound, () or (q,)."""
    padded = PaddedNeighbors(len(queries.given), k, images.n, images.m)
    bound = np.broadcast_to(beyond(bound), len(queries.given))
    is_beyond = queries.is_far & (queries.inside_length >= bound)
    searching = np.flatnonzero(queries.is_finite & (bound > 0) & ~is_beyond)
    size = max(LISTED_AT_ONCE // (4 * min(k, max(images.point_count, 1))), 1)
    for start in range(0, len(searching), size):
        part = searching[start : start + size]
        queries_of_part = queries if len(part) == len(bound) else queries.of(part)
        neighbors = _NearestSearch(images, queries_of_part, bound[part], k, search).run()
        padded.put(neighbors._replace(query=part[neighbors.query]))
    return padded.rows, padded.shifts, padded.distances


class _NearestSearch:
    """A search for the `k` nearest images of each finite query, of those nearer than its bound (q,)."""

    def __init__(self, images: HostImages, queries: WrappedQueries, bound, k: int, search: Search):
        self.images = images
        self.queries = queries
        self.bound = bound
        self.k = k
        self.search = search
        self.tree_search = images.tree_search(search)
        # In each image of the cell one point more is looked at.
        self.column_count = min(k + 1, max(images.point_count, 1))

    def run(self) -> HostNeighbors:
        """Return up to `k` images of each query, in order."""
        unmoved = self.images.unmoved(self.queries)
        distances, rows = self._of_tree(unmoved, np.inf)
        has_next = self.column_count > self.k
        next_distance = distances[:, self.k] if has_next else np.full(len(distances), np.inf)
        last_distance = np.minimum(self._kth_distance(distances), self.bound)
        reach, boxes = self._reach(last_distance)
        needs_no_shift = ((boxes.low >= 0) & (boxes.high <= 0)).all(axis=1)
        with_no_shift = unmoved.of(needs_no_shift)
        pieces = [
            self._measured(self.queries, with_no_shift, distances[needs_no_shift], rows[needs_no_shift])
        ]
        if not needs_no_shift.all():
            for moved in self.images.pieces(self.queries, boxes.where(~needs_no_shift, np)):
                distances, rows = self._of_tree(moved, reach[moved.query])
                if has_next:
                    np.minimum.at(next_distance, moved.query, distances[:, self.k])
                pieces.append(self._measured(self.queries, moved, distances, rows))
        near = nearer_in_order(pieces, self.bound)
        rank = near.ranks()
        near = near.kept(rank < self.k)
        last_distance = self.bound.copy()
        is_last = rank[rank < self.k] == self.k - 1
        last_distance[near.query[is_last]] = near.distance[is_last]
        return self._settled(near, last_distance, next_distance)

    def _of_tree(self, moved: MovedQueries, bound) -> tuple[np.ndarray, np.ndarray]:
        """Return distances and rows (t, columns) of the nearest points to moved queries."""
        return _by_ckdtree.nearest(self.images.trees, moved.x, bound, self.column_count, self.tree_search)

    def _settled(self, near: HostNeighbors, last_distance, next_distance) -> HostNeighbors:
        """Return the nearest images, where the next point (q,) may be as near as the last image (q,).

        Up to rounding: all points that are not farther are measured, and their distances decide.
        """
        queries = self.queries
        is_open = next_distance <= last_distance * (1 + ROUNDING) + queries.rounding
        is_open |= queries.is_far & (next_distance < np.inf)
        if self.images.ids is not None:
            # What is farther is of another cloud.
            is_open &= next_distance < self.images.in_cell.spacing / 2
        open_queries = np.flatnonzero(is_open & (last_distance < np.inf))
        if not len(open_queries):
            return near
        pieces = [near.kept(~np.isin(near.query, open_queries))]
        for neighbors in self._as_near(queries.of(open_queries), last_distance[open_queries]):
            nearest = nearer_in_order([neighbors], self.bound[open_queries])
            nearest = nearest.kept(nearest.ranks() < self.k)
            pieces.append(nearest._replace(query=open_queries[nearest.query]))
        return concatenated(pieces).in_order()

    def _measured(self, queries: WrappedQueries, moved: MovedQueries, distances, rows) -> HostNeighbors:
        """Return what moved queries found, (t, columns), measured anew: points of their own clouds."""
        image, column = np.nonzero(distances < np.inf)
        row = rows[image, column]
        ids = self.images.ids
        if ids is not None:  # a query with a cloud of few points has found those of other clouds, too
            is_same_cloud = ids[row] == queries.ids[moved.query[image]]
            image = image[is_same_cloud]
            row = row[is_same_cloud]
        return self.images.measured(queries, moved, UnmeasuredPairs(image, row), self.search)

    # --- how far to look --------------------------------------------------------------------------------

    def _kth_distance(self, distances) -> np.ndarray:
        """Return what the k-th nearest image is not beyond, (q,); -1 for a query that has no neighbor.

        `distances` (q, columns) are those of the nearest points in the cell.
        """
        images = self.images
        k = self.k
        is_neighbor = distances < (np.inf if images.ids is None else images.in_cell.spacing / 2)
        neighbor_count = np.count_nonzero(is_neighbor, axis=1)
        reach = np.full(len(distances), np.inf)
        if self.column_count >= k:
            longer = images.m ** (1 / self.search.p) if self.tree_search.p != self.search.p else 1.0
            reach = np.where(is_neighbor[:, k - 1], longer * distances[:, k - 1], np.inf)
        needs_images = (np.minimum(reach, self.bound) == np.inf) & (neighbor_count > 0)
        if needs_images.any() and self.queries.turns.shape[1]:
            numbers = np.flatnonzero(needs_images)
            image_count = int((-(-k // neighbor_count[numbers])).max())
            reach[numbers] = self._kth_of_images(self.queries.of(numbers), image_count)
        return np.where(neighbor_count > 0, reach, -1.0)

    def _kth_of_images(self, queries: WrappedQueries, image_count: int) -> np.ndarray:
        """Return the distance (q,) of the k-th nearest of so many images around each query, inf without."""
        pieces = [no_neighbors(self.images.m)]
        for moved in self.images.pieces(queries, _box_around(queries, image_count)):
            distances, rows = self._of_tree(moved, np.inf)
            pieces.append(self._measured(queries, moved, distances, rows))
        near = concatenated(pieces).in_order()
        is_kth = near.ranks() == self.k - 1
        kth_distance = np.full(len(queries.given), np.inf)
        kth_distance[near.query[is_kth]] = near.distance[is_kth]
        return kth_distance

    def _reach(self, last_distance) -> tuple[np.ndarray, Box]:
        """Return how far (q,) to search for what is within distances (q,), and boxes (q, P) of the shifts.

        The k nearest points of one cell may be far from each other where the query is far off the plane of
        the vectors: then images of the nearest of them are nearer, and leave fewer images in reach.
        """
        queries = self.queries
        reach = last_distance * (1 + ROUNDING) + queries.rounding
        boxes = self.images.in_cell.boxes_in_reach(queries, reach, self.search.p)
        many = np.flatnonzero(boxes.total >= many_images(self.k))
        if not len(many):
            return reach, boxes
        of_many = queries.of(many)
        nearer_distance = np.minimum(last_distance[many], self._kth_of_images(of_many, self.k))
        reach[many] = nearer_distance * (1 + ROUNDING) + of_many.rounding
        return reach, self._countable(queries, reach)

    def _as_near(self, queries: WrappedQueries, radius) -> Iterator[HostNeighbors]:
        """Yield what may be among the `k` nearest images, as all that are within radii (q,)."""
        radius = longest_within(radius)
        reach = self.images.in_cell.reach(queries, radius)
        boxes = self._countable(queries, reach)
        yield from self.images.within_boxes(queries, boxes, radius, reach, self.search)

    def _countable(self, queries: WrappedQueries, reach) -> Box:
        """Return the boxes (q, P) of the shifts in reach, or of `k` of them: of too many that are as near.

        So it is far off the plane of the vectors, where images differ by less than distances are rounded.
        """
        boxes = self.images.in_cell.boxes_in_reach(queries, reach, self.search.p)
        is_too_many = boxes.total >= MOST_IMAGES
        if self.search.p != 2 or not is_too_many.any():
            return boxes
        around = _box_around(queries, self.k)
        chosen = (is_too_many & self.images.in_cell.sees_alike(queries, around.high))[:, None]
        return Box(np.where(chosen, around.low, boxes.low), np.where(chosen, around.high, boxes.high))


def _box_around(queries: WrappedQueries, image_count: int) -> Box:
    """Return the box (q, P) of the shifts of so many images around each query: the nearest planes first."""
    heights = queries.lattice.heights
    if queries.lattice.has_axes:
        heights = heights.min(axis=0, initial=np.inf)
    extent = np.zeros(len(heights))
    while (2 * extent + 1).prod() < image_count:
        extent[np.argmin((extent + 1) * heights)] += 1
    around = np.broadcast_to(extent, queries.fractions.shape)
    return Box(-around, around)
