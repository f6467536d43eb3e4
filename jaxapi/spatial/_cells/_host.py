"""Searches of all images by SciPy's tree: of NumPy arrays, outside of programs and called back by them.

A query that may reach images of the points is searched for once for each image: it is moved, and not the
points. What is found is measured anew by the vector ``data[j] + s @ cell - x``, so that both ends of a pair
have the same distance to the last bit, and decide alike whether it lies within a radius.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from .._scipy import _by_ckdtree, _groups
from .._scipy._reach import beyond, longest_within
from .._scipy._trees import Options, SciPyTrees, has_powers
from .._search import PairWeights, Search
from .._tree._queries import Relation
from ._host_neighbors import (
    HostNeighbors,
    PaddedNeighbors,
    both_ways,
    concatenated,
    in_parts,
    nearer_in_order,
    no_neighbors,
)
from ._images import MOST_IMAGES, Box, WrappedQueries, many_images, points_in_cell
from ._lattice import first_number
from ._points import ROUNDING, ImagePoints, ImageQueries

__all__ = ["HostImages", "PairSums"]

QUERIES_AT_ONCE = 1 << 18  # moved queries
LISTED_AT_ONCE = 1 << 22  # neighbors that are listed at once
ONCE = Options(leafsize=20, compact_nodes=False, balanced_tree=False)  # of a tree that is searched once


class MovedQueries(NamedTuple):
    """Queries moved by vectors of the lattice, each query's one after the other."""

    query: np.ndarray  # (t,) the number of the query
    shift: np.ndarray  # (t, P) numbers of the reduced vectors that it was moved back by
    cell_shift: np.ndarray  # (t, m) int32, in the cell's own vectors, of a point inside of the reduced cell
    x: np.ndarray  # (t, m), or one column more that tells clouds apart

    def of(self, index) -> "MovedQueries":
        """Return some of them: an index is numbers, a slice or a mask."""
        return MovedQueries(self.query[index], self.shift[index], self.cell_shift[index], self.x[index])


class UnmeasuredPairs(NamedTuple):
    """Pairs of moved queries and points that a tree found: their distances are still to be measured."""

    image: np.ndarray  # (e,) numbers of moved queries
    row: np.ndarray  # (e,)


class PairSums(NamedTuple):
    """What is asked of pairs of queries and images: their number, or sum of weights, within each radius."""

    radii: np.ndarray  # (R,)
    weights: PairWeights | None  # the queries' and the points'; None: pairs are counted
    dtype: np.dtype

    def of_listed(self, neighbors: HostNeighbors) -> np.ndarray:
        """Return the number or the sum (R,) of these pairs."""
        masks = [neighbors.distance <= radius for radius in self.radii]
        if self.weights is None:
            return np.array([np.count_nonzero(mask) for mask in masks], self.dtype)
        products = self.weights.self_weights[neighbors.query] * self.weights.other_weights[neighbors.row]
        return np.array([products[mask].sum() for mask in masks], self.dtype)


class HostImages:
    """Points with all their images, and SciPy's tree over those in one cell.

    A search takes queries wrapped into the cell, as `queries` returns them. It asks by which shifts of the
    lattice images of the points may be in reach, moves each query back by these, and asks the tree.
    """

    def __init__(self, points: ImagePoints, periodic: tuple[bool, ...], options: Options):
        self.data = np.asarray(points.data)
        self.n = int(points.n)
        self.ids = points.ids
        self.periodic = periodic
        self.rows, self.m = self.data.shape
        self.cell = np.eye(self.m) if points.cell is None else np.asarray(points.cell, np.float64)
        with np.errstate(all="ignore"):
            self.in_cell = points_in_cell(points, periodic, np)
        as_queries = self.in_cell.as_queries
        self.points_as_queries = as_queries
        # Rows of points, which count and are finite: numbers in the tree are numbers of these.
        self.point_rows = np.flatnonzero(as_queries.is_finite)
        self.point_count = len(self.point_rows)
        # The shift to a point is that to its image in the cell, less the turns that brought it there.
        self.cell_turns = as_queries.lattice.of_cell(as_queries.turns, periodic, np)
        self.has_turns = bool(self.cell_turns.any())
        inside = self.in_cell.beside_each_other(as_queries.inside, points.ids)
        self.trees = SciPyTrees(inside, self.n, None, options)

    def queries(self, queries: ImageQueries) -> WrappedQueries:
        """Return queries wrapped into the cell."""
        with np.errstate(all="ignore"):
            return self.in_cell.queries(queries)

    # --- queries that are moved -------------------------------------------------------------------------

    def _boxes_in_reach(self, queries: WrappedQueries, reach, p: float) -> Box:
        """Return the shifts (q, P) of images within reach (q,)."""
        with np.errstate(all="ignore"):
            return self.in_cell.boxes_in_reach(queries, reach, p)

    def _pieces(self, queries: WrappedQueries, boxes: Box) -> Iterator[MovedQueries]:
        """Yield the queries moved by all shifts of their boxes (q, P), as many at a time as fit.

        Those of a query that are more than that follow each other in several pieces.
        """
        totals = boxes.total
        if not boxes.low.shape[1]:
            totals = queries.is_finite.astype(np.float64)
        most = totals.max(initial=0)
        if most >= MOST_IMAGES:
            raise ValueError(
                f"a query reaches {most:.0f} images of the cell, of {MOST_IMAGES} at most: pass a smaller "
                "radius (or distance_upper_bound), a larger cell, or queries nearer to the points"
            )
        totals = totals.astype(np.int64)
        ends = np.cumsum(totals)
        piece_ends = np.flatnonzero(np.diff(ends // QUERIES_AT_ONCE)) + 1
        for start, stop in zip([0, *piece_ends], [*piece_ends, len(totals)], strict=True):
            stops = np.cumsum(totals[start:stop])
            count = int(stops[-1]) if len(stops) else 0
            step = max(count, 1) if count <= 2 * QUERIES_AT_ONCE else QUERIES_AT_ONCE
            for first in range(0, count, step):
                number = np.arange(first, min(first + step, count))
                of_piece = np.searchsorted(stops, number, side="right")
                query = start + of_piece
                number -= (stops - totals[start:stop])[of_piece]
                yield self._moved(queries, query, boxes.of(query).shift(number, np))

    def _moved(self, queries: WrappedQueries, query, shift) -> MovedQueries:
        ids = None if queries.ids is None else queries.ids[query]
        lattice = queries.lattice.of_clouds(query)
        x = self.in_cell.moved(queries.inside[query], ids, lattice, shift)
        cell_shift = lattice.of_cell(shift + queries.turns[query], self.periodic, np)
        return MovedQueries(query, shift, cell_shift, x)

    def _unmoved(self, queries: WrappedQueries) -> MovedQueries:
        cell_shift = queries.lattice.of_cell(queries.turns, self.periodic, np)
        x = self.in_cell.beside_each_other(queries.inside, queries.ids)
        return MovedQueries(np.arange(len(x)), np.zeros(queries.turns.shape), cell_shift, x)

    def _measured(
        self, queries: WrappedQueries, moved: MovedQueries, unmeasured: UnmeasuredPairs, search: Search
    ) -> HostNeighbors:
        """Return pairs of moved queries and points with their shifts and distances."""
        image, row = unmeasured
        count = len(row)
        query = moved.query.take(image)
        shift = np.zeros((count, self.m), np.int32)
        distance = np.empty(count)
        has_shifts = self.has_turns or bool(moved.cell_shift.any())
        # Columns, as NumPy's loops over a few coordinates of each neighbor take many times as long.
        point_columns = np.ascontiguousarray(self.points_as_queries.given.T)
        query_columns = np.ascontiguousarray(queries.given.T)

        def measure_part(part):
            rows = row[part]
            query_numbers = query[part]
            vector = point_columns.take(rows, axis=1)
            vector -= query_columns.take(query_numbers, axis=1)
            if has_shifts:
                shifts = shift[part]
                moved.cell_shift.take(image[part], axis=0, out=shifts, mode="clip")
                if self.has_turns:
                    shifts -= self.cell_turns.take(rows, axis=0)
                ids = None if self.ids is None else queries.ids[query_numbers]
                vector += self._along_cell(shifts, ids)
            distance[part] = _lengths(vector, search.p)

        in_parts(measure_part, count, search)
        return HostNeighbors(query, row, shift, distance)

    def _along_cell(self, shifts, ids) -> np.ndarray:
        """Return the columns (m, e) of ``shifts @ cell``, with the cell of the cloud where each has its own.

        Not by a matrix product, which would wait for BLAS's threads.
        """
        numbers = shifts.T.astype(np.float64)
        along = np.zeros(numbers.shape)
        for row, column in np.ndindex(self.m, self.m):
            entry = self.cell[..., row, column]
            if self.cell.ndim == 3:
                entry = entry.take(ids, mode="clip")
            along[column] += numbers[row] * entry
        return along

    def _tree_search(self, search: Search) -> Search:
        """Return how the tree is searched, by distances that are no longer than those by `search.p`.

        High powers of the way between two clouds leave no room for those of the distances within one, and the
        highest are no numbers.
        """
        if search.p in (1, 2, np.inf) or (self.ids is None and has_powers(search.p)):
            return search
        return search._replace(p=np.inf)

    # --- within a radius --------------------------------------------------------------------------------

    def within(self, queries: WrappedQueries, radius, search: Search) -> Iterator[HostNeighbors]:
        """Yield the neighbors of queries within their radii (q,), piece by piece in their order.

        Those of a query may be in several pieces that follow each other.
        """
        radius = longest_within(radius)
        reach = self.in_cell.reach(queries, radius)
        boxes = self._boxes_in_reach(queries, reach, search.p)
        yield from self._within_boxes(queries, boxes, radius, reach, search)

    def _within_boxes(
        self, queries: WrappedQueries, boxes: Box, radius, reach, search: Search
    ) -> Iterator[HostNeighbors]:
        """Yield the neighbors within radii (q,) of those images whose shifts are in boxes (q, P)."""
        for moved in self._pieces(queries, boxes):
            for part in self._parts(moved, reach, search):
                yield self._neighbors_within(queries, moved.of(part), radius, reach, search)

    def _parts(self, moved: MovedQueries, reach, search: Search) -> list[slice]:
        """Return slices of moved queries that may have so many neighbors as are listed at once.

        The number is estimated by the neighbors of a sample of the queries.
        """
        count = len(moved.query)
        if not count:
            return []
        if count * self.point_count <= LISTED_AT_ONCE:  # each may have all points
            return [slice(0, count)]
        sample = moved.of(slice(None, None, count // 64 + 1))
        radii = reach[sample.query]
        (counts,) = _by_ckdtree.counts_within(self.trees, sample.x, radii, search=self._tree_search(search))
        mean = max(float(counts.mean()), 1.0)
        size = max(int(LISTED_AT_ONCE / mean), 1)
        return [slice(start, min(start + size, count)) for start in range(0, count, size)]

    def _neighbors_within(
        self, queries: WrappedQueries, moved: MovedQueries, radius, reach, search: Search
    ) -> HostNeighbors:
        """Return the points that are within the radii (q,), of those that a tree finds in reach (q,)."""
        tree_search = self._tree_search(search)
        indptr, rows, _ = _by_ckdtree.csr(
            self.trees, moved.x, reach[moved.query], search=tree_search, sort=False
        )
        images = np.repeat(np.arange(len(moved.query)), np.diff(indptr))
        neighbors = self._measured(queries, moved, UnmeasuredPairs(images, rows), search)
        is_within = neighbors.distance <= radius[neighbors.query]
        return neighbors if is_within.all() else neighbors.kept(is_within)

    def all_within(self, queries: WrappedQueries, radius, search: Search) -> HostNeighbors:
        """Return all neighbors of queries within their radii (q,)."""
        pieces = list(self.within(queries, radius, search))
        return concatenated([no_neighbors(self.m), *pieces])

    def counts(self, queries: WrappedQueries, radius, search: Search) -> np.ndarray:
        """Return how many neighbors each query has within its radius."""
        counts = np.zeros(len(queries.given), np.int64)
        for neighbors in self.within(queries, radius, search):
            counts += np.bincount(neighbors.query, minlength=len(queries.given))
        return counts

    def fixed(self, queries: WrappedQueries, radius, max_neighbors: int, search: Search) -> tuple:
        """Return rows, shifts, distances (q, max_neighbors, ...) of the nearest within radii, and counts."""
        padded = PaddedNeighbors(len(queries.given), max_neighbors, self.n, self.m)
        counts = np.zeros(len(queries.given), np.int64)
        of_last_query = no_neighbors(self.m)
        for neighbors in self.within(queries, radius, search):
            counts += np.bincount(neighbors.query, minlength=len(queries.given))
            neighbors = concatenated([of_last_query, neighbors]).in_order()
            padded.put(neighbors)
            is_of_last_query = neighbors.query == neighbors.query[-1:]
            of_last_query = neighbors.kept(is_of_last_query & (neighbors.ranks() < max_neighbors))
        return padded.rows, padded.shifts, padded.distances, counts

    # --- among the points -------------------------------------------------------------------------------

    def pairs(self, radius, search: Search) -> Iterator[HostNeighbors]:
        """Yield all pairs of images within a radius, piece by piece: each once, seen from one of its ends.

        From the other end the shift is the negative one. So the points as they are, and their images on one
        side, have all of the pairs. A point is no pair with itself. The radius may be one of each row, the
        same for those of a cloud.
        """
        points = self.points_as_queries.of(self.point_rows)
        radius = np.broadcast_to(longest_within(radius), self.rows)[self.point_rows]
        if self.in_cell.lattice.vector_count:
            radius = np.where(radius < np.inf, radius, -1.0)  # a program cannot refuse an infinite radius
        reach = self.in_cell.reach(points, radius)
        if not (reach >= 0).any():
            return
        # The points as they are, moved by no shift. Of a pair of these, the end with the lower row sees it.
        unmoved = self._unmoved(points)
        parts = self._parts(unmoved, reach, search)
        if len(parts) == 1:
            image, number = _by_ckdtree.near_pairs(self.trees, reach.max(), self._tree_search(search)).T
            unmeasured = UnmeasuredPairs(image, self.point_rows[number])
            yield self._pairs_within(points, unmoved, unmeasured, radius, search)
        else:
            for part in parts:
                image, number = self._near_images(unmoved.of(part), reach.max(), search)
                image += part.start
                is_later = image < number
                unmeasured = UnmeasuredPairs(image[is_later], self.point_rows[number[is_later]])
                yield self._pairs_within(points, unmoved, unmeasured, radius, search)
        boxes = self._boxes_in_reach(points, reach, search.p)
        with_shifts = np.flatnonzero(((boxes.low < 0) | (boxes.high > 0)).any(axis=1))
        boxes = boxes.of(with_shifts)
        boxes.low[:, :1] = np.maximum(boxes.low[:, :1], 0)  # no shift of the other side
        for moved in self._pieces(points.of(with_shifts), boxes):
            moved = moved._replace(query=with_shifts[moved.query]).of(first_number(moved.shift, np) > 0)
            for part in self._parts(moved, reach, search):
                images = moved.of(part)
                image, number = self._near_images(images, reach.max(), search)
                unmeasured = UnmeasuredPairs(image, self.point_rows[number])
                yield self._pairs_within(points, images, unmeasured, radius, search)

    def _near_images(
        self, moved: MovedQueries, reach: float, search: Search
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return pairs of numbers: of moved points, and of the tree's points within reach of them."""
        images = SciPyTrees(moved.x, len(moved.x), None, ONCE)
        entries = _by_ckdtree.distance_entries(images, self.trees, reach, self._tree_search(search))
        return entries["i"], entries["j"]

    def _pairs_within(
        self, points: WrappedQueries, moved: MovedQueries, unmeasured: UnmeasuredPairs, radius, search: Search
    ) -> HostNeighbors:
        """Return the pairs of moved points and points, by their rows, that are within a radius."""
        pairs = self._measured(points, moved, unmeasured, search)
        is_within = pairs.distance <= radius[pairs.query]
        pairs = pairs._replace(query=self.point_rows[pairs.query])
        return pairs if is_within.all() else pairs.kept(is_within)

    def edges(self, radius, relation: Relation, search: Search) -> HostNeighbors:
        """Return the edges between points: `query` are receivers; of LATER the lower row.

        The radius may be one of each row, the same for those of a cloud.
        """
        pairs = concatenated([no_neighbors(self.m), *self.pairs(radius, search)])
        if relation is Relation.LATER:
            is_turned = pairs.query > pairs.row
            of_a_point_and_its_image = np.flatnonzero(pairs.query == pairs.row)
            is_turned[of_a_point_and_its_image] = first_number(pairs.shift[of_a_point_and_its_image], np) < 0
            np.negative(pairs.shift, out=pairs.shift, where=is_turned[:, None])
            lower = np.minimum(pairs.query, pairs.row)
            return pairs._replace(query=lower, row=np.maximum(pairs.query, pairs.row))
        loops = self._reaching_rows(radius) if relation is Relation.ANY else self.point_rows[:0]
        return both_ways(pairs, loops, self.rows, search)

    def _reaching_rows(self, radius) -> np.ndarray:
        """Return the rows of the points within whose radius there is something: the point itself."""
        is_reaching = np.broadcast_to(np.asarray(radius) >= 0, self.rows)
        if self.in_cell.lattice.vector_count:
            is_reaching = is_reaching & (np.asarray(radius) < np.inf)
        return np.flatnonzero(is_reaching & self.points_as_queries.is_finite)

    # --- the nearest ------------------------------------------------------------------------------------

    def nearest(self, queries: WrappedQueries, bound, k: int, search: Search) -> tuple:
        """Return rows, shifts and distances (q, k, ...) of the nearest images, nearer than `bound`, (q,)."""
        padded = PaddedNeighbors(len(queries.given), k, self.n, self.m)
        bound = beyond(bound)
        is_beyond = queries.is_far & (queries.inside_length >= bound)
        searching = np.flatnonzero(queries.is_finite & (bound > 0) & ~is_beyond)
        size = max(LISTED_AT_ONCE // (4 * min(k, max(self.point_count, 1))), 1)
        for start in range(0, len(searching), size):
            part = searching[start : start + size]
            queries_of_part = queries if len(part) == len(bound) else queries.of(part)
            neighbors = self._nearest(queries_of_part, bound[part], k, search)
            padded.put(neighbors._replace(query=part[neighbors.query]))
        return padded.rows, padded.shifts, padded.distances

    def _nearest(self, queries: WrappedQueries, bound, k: int, search: Search) -> HostNeighbors:
        """Return up to `k` nearest images of each finite query, in order.

        In each image of the cell one point more is looked at. Where it may be as near as the last neighbor,
        up to rounding, all points that are not farther are measured, and their distances decide.
        """
        query_count = len(queries.given)
        point_count = max(self.point_count, 1)
        column_count = min(min(k, point_count) + 1, point_count)
        unmoved = self._unmoved(queries)
        tree_search = self._tree_search(search)
        distances, rows = _by_ckdtree.nearest(self.trees, unmoved.x, np.inf, column_count, tree_search)
        next_distance = distances[:, k] if column_count > k else np.full(query_count, np.inf)
        last_distance = np.minimum(
            self._kth_distance(queries, distances, bound, k, search, tree_search), bound
        )
        reach, boxes = self._reach_of_nearest(queries, last_distance, column_count, k, search)
        needs_no_shift = ((boxes.low >= 0) & (boxes.high <= 0)).all(axis=1)
        with_no_shift = unmoved.of(needs_no_shift)
        pieces = [
            self._same_cloud_neighbors(
                queries, with_no_shift, distances[needs_no_shift], rows[needs_no_shift], search
            )
        ]
        if not needs_no_shift.all():
            boxes = boxes.where(~needs_no_shift, np)
            for moved in self._pieces(queries, boxes):
                bounds = reach[moved.query]
                distances, rows = _by_ckdtree.nearest(self.trees, moved.x, bounds, column_count, tree_search)
                if column_count > k:
                    np.minimum.at(next_distance, moved.query, distances[:, k])
                pieces.append(self._same_cloud_neighbors(queries, moved, distances, rows, search))
        near = nearer_in_order(pieces, bound)
        rank = near.ranks()
        near = near.kept(rank < k)
        last_distance = bound.copy()
        is_last = rank[rank < k] == k - 1
        last_distance[near.query[is_last]] = near.distance[is_last]
        is_open = next_distance <= last_distance * (1 + ROUNDING) + queries.rounding
        is_open |= queries.is_far & (next_distance < np.inf)
        if self.ids is not None:
            is_open &= next_distance < self.in_cell.spacing / 2  # what is farther is of another cloud
        open_queries = np.flatnonzero(is_open & (last_distance < np.inf))
        if not len(open_queries):
            return near
        pieces = [near.kept(~np.isin(near.query, open_queries))]
        for neighbors in self._as_near(queries.of(open_queries), last_distance[open_queries], k, search):
            nearest = nearer_in_order([neighbors], bound[open_queries])
            nearest = nearest.kept(nearest.ranks() < k)
            pieces.append(nearest._replace(query=open_queries[nearest.query]))
        return concatenated(pieces).in_order()

    def _same_cloud_neighbors(
        self, queries: WrappedQueries, moved: MovedQueries, distances, rows, search: Search
    ) -> HostNeighbors:
        """Return what moved queries found, (t, columns), measured anew: points of their own clouds."""
        image, column = np.nonzero(distances < np.inf)
        row = rows[image, column]
        if self.ids is not None:  # a query with a cloud of few points has found those of other clouds, too
            is_same_cloud = self.ids[row] == queries.ids[moved.query[image]]
            image = image[is_same_cloud]
            row = row[is_same_cloud]
        return self._measured(queries, moved, UnmeasuredPairs(image, row), search)

    def _kth_distance(
        self, queries: WrappedQueries, distances, bound, k: int, search: Search, tree_search: Search
    ):
        """Return what the k-th nearest image is not beyond, (q,); -1 for a query that has no neighbor.

        `distances` (q, columns) are those of the nearest points in the cell.
        """
        is_neighbor = distances < (np.inf if self.ids is None else self.in_cell.spacing / 2)
        neighbor_count = np.count_nonzero(is_neighbor, axis=1)
        reach = np.full(len(queries.given), np.inf)
        if distances.shape[1] >= k:
            longer = self.m ** (1 / search.p) if tree_search.p != search.p else 1.0
            reach = np.where(is_neighbor[:, k - 1], longer * distances[:, k - 1], np.inf)
        needs_images = (np.minimum(reach, bound) == np.inf) & (neighbor_count > 0)
        if needs_images.any() and queries.turns.shape[1]:
            numbers = np.flatnonzero(needs_images)
            image_count = int((-(-k // neighbor_count[numbers])).max())
            few = queries.of(numbers)
            reach[numbers] = self._kth_of_images(few, image_count, distances.shape[1], k, search)
        return np.where(neighbor_count > 0, reach, -1.0)

    def _kth_of_images(
        self, queries: WrappedQueries, image_count: int, column_count: int, k: int, search: Search
    ) -> np.ndarray:
        """Return the distance (q,) of the k-th nearest of so many images around each query, inf without."""
        pieces = [no_neighbors(self.m)]
        tree_search = self._tree_search(search)
        for moved in self._pieces(queries, self._box_around(queries, image_count)):
            distances, rows = _by_ckdtree.nearest(self.trees, moved.x, np.inf, column_count, tree_search)
            pieces.append(self._same_cloud_neighbors(queries, moved, distances, rows, search))
        near = concatenated(pieces).in_order()
        is_kth = near.ranks() == k - 1
        kth_distance = np.full(len(queries.given), np.inf)
        kth_distance[near.query[is_kth]] = near.distance[is_kth]
        return kth_distance

    def _box_around(self, queries: WrappedQueries, image_count: int) -> Box:
        """Return the box (q, P) of the shifts of so many images around each query."""
        heights = queries.lattice.heights
        if queries.lattice.has_axes:
            heights = heights.min(axis=0, initial=np.inf)
        around = np.broadcast_to(_box_of(heights, image_count), queries.fractions.shape)
        return Box(-around, around)

    def _reach_of_nearest(
        self, queries: WrappedQueries, last_distance, column_count: int, k: int, search: Search
    ) -> tuple[np.ndarray, Box]:
        """Return how far (q,) to search for what is within distances (q,), and boxes (q, P) of the shifts.

        The k nearest points of one cell may be far from each other where the query is far off the plane of
        the vectors: then images of the nearest of them are nearer, and leave fewer images in reach.
        """
        reach = last_distance * (1 + ROUNDING) + queries.rounding
        boxes = self._boxes_in_reach(queries, reach, search.p)
        many = np.flatnonzero(boxes.total >= many_images(k))
        if not len(many):
            return reach, boxes
        of_many = queries.of(many)
        of_images = self._kth_of_images(of_many, k, column_count, k, search)
        nearer_distance = np.minimum(last_distance[many], of_images)
        reach[many] = nearer_distance * (1 + ROUNDING) + of_many.rounding
        return reach, self._countable(queries, self._boxes_in_reach(queries, reach, search.p), k, search)

    def _as_near(self, queries: WrappedQueries, radius, k: int, search: Search) -> Iterator[HostNeighbors]:
        """Yield what may be among the `k` nearest images, as all that are within radii (q,)."""
        radius = longest_within(radius)
        reach = self.in_cell.reach(queries, radius)
        boxes = self._countable(queries, self._boxes_in_reach(queries, reach, search.p), k, search)
        yield from self._within_boxes(queries, boxes, radius, reach, search)

    def _countable(self, queries: WrappedQueries, boxes: Box, k: int, search: Search) -> Box:
        """Return boxes (q, P) of the shifts of `k` images, where there are too many that are as near.

        So it is far off the plane of the vectors, where images differ by less than distances are rounded.
        """
        is_too_many = boxes.total >= MOST_IMAGES
        if search.p != 2 or not is_too_many.any():
            return boxes
        around = self._box_around(queries, k)
        chosen = (is_too_many & self.in_cell.sees_alike(queries, around.high))[:, None]
        return Box(np.where(chosen, around.low, boxes.low), np.where(chosen, around.high, boxes.high))

    # --- between two trees ------------------------------------------------------------------------------

    def two_point(self, queries: WrappedQueries, pairs: PairSums, search: Search) -> np.ndarray:
        """Return the pairs of queries and images within each of the radii (R,), counted or by weights."""
        pairs = pairs._replace(radii=longest_within(pairs.radii))
        radii = pairs.radii
        counts = np.zeros(len(radii), pairs.dtype)
        largest = float(np.max(radii, where=radii >= 0, initial=-1.0))
        if largest < 0:
            return counts
        if self._tree_search(search).p != search.p or queries.is_far.any():
            for neighbors in self.within(queries, np.full(len(queries.given), largest), search):
                counts += pairs.of_listed(neighbors)
            return counts
        reach = largest * (1 + ROUNDING) + queries.rounding
        if self.ids is not None:
            reach = np.minimum(reach, self.in_cell.spacing / 4)
        for moved in self._pieces(queries, self._boxes_in_reach(queries, reach, search.p)):
            _, image = np.unique(moved.shift, axis=0, return_inverse=True)
            order = np.argsort(image, kind="stable")
            for numbers in np.split(order, np.flatnonzero(np.diff(image[order])) + 1):
                counts += self._two_point_of_image(queries, moved.of(numbers), pairs, search)
        return counts

    def _two_point_of_image(
        self, queries: WrappedQueries, moved: MovedQueries, pairs: PairSums, search: Search
    ) -> np.ndarray:
        """Return the pairs of one image within each of the radii.

        Where pairs lie so near the border that rounding may decide, they are listed and measured.
        """
        radii = pairs.radii
        rounding = queries.rounding
        border = rounding[moved.query].max(initial=0)
        longest = np.inf if self.ids is None else self.in_cell.spacing / 4
        lower = np.where(radii >= 0, radii * (1 - ROUNDING) - border, -1.0)
        upper = np.where(radii >= 0, radii * (1 + ROUNDING) + border, -1.0)
        bounds = np.minimum(np.concatenate([lower, upper]), longest)
        both_trees = SciPyTrees(moved.x, len(moved.x), None, self.trees.options), self.trees
        (counts_at_bounds,) = _by_ckdtree.two_point(*both_trees, bounds, search=search, sums=np.int64)
        at_lower, at_upper = np.split(counts_at_bounds, 2)
        counts = at_upper.astype(pairs.dtype)
        if pairs.weights is not None:
            weights = pairs.weights.self_weights[moved.query], pairs.weights.other_weights
            searched_radii = np.minimum(radii, longest)
            (counts,) = _by_ckdtree.two_point(
                *both_trees, searched_radii, *weights, search=search, sums=pairs.dtype
            )
        is_open = at_lower != at_upper
        if is_open.any():
            open_pairs = pairs._replace(radii=radii[is_open])
            largest = np.full(len(queries.given), open_pairs.radii.max())
            reach = np.minimum(largest * (1 + ROUNDING) + rounding, longest)
            counts[is_open] = 0
            for part in self._parts(moved, reach, search):
                neighbors = self._neighbors_within(queries, moved.of(part), largest, reach, search)
                counts[is_open] += open_pairs.of_listed(neighbors)
        return counts

    # --- clusters ---------------------------------------------------------------------------------------

    def components(self, radius, search: Search) -> tuple:
        """Return how many components there are, and labels (rows,) by their lowest rows, -1 for no point."""
        labels = self._joined(radius, self.points_as_queries.is_finite, search)
        return self._numbered(labels, np.flatnonzero(self.points_as_queries.is_finite), -1)

    def _joined(self, radius, is_counted, search: Search) -> np.ndarray:
        """Return labels (rows,) that those of the counted rows have in common that are joined."""
        labels = np.arange(self.rows)
        for pairs in self.pairs(radius, search):
            pairs = pairs.kept(is_counted[pairs.query] & is_counted[pairs.row])
            _, joined = _groups.joined(self.rows, labels[pairs.query], labels[pairs.row])
            labels = joined[labels]
        return labels

    def _numbered(self, labels, rows, fill: int) -> tuple[int, np.ndarray]:
        """Return how many labels some rows have, and them numbered by their lowest rows (rows,)."""
        _, first, label = np.unique(labels[rows], return_index=True, return_inverse=True)
        number = np.empty(len(first), np.int64)
        number[np.argsort(first)] = np.arange(len(first))
        numbered = np.full(self.rows, fill)
        numbered[rows] = number[label]
        return len(first), numbered

    def dbscan(self, radius, weights, min_samples: int, search: Search) -> tuple:
        """Return which points are cores (rows,), and labels (rows,), -1 for noise."""
        weight_of_row = np.ones(self.rows) if weights is None else np.asarray(weights, np.float64)
        sums = np.zeros(self.rows)
        reaching_rows = self._reaching_rows(radius)
        sums[reaching_rows] = weight_of_row[reaching_rows]  # each is its own neighbor
        for pairs in self.pairs(radius, search):
            for rows, neighbor_rows in (pairs.query, pairs.row), (pairs.row, pairs.query):
                sums += np.bincount(rows, weight_of_row[neighbor_rows], self.rows)
        is_core = self.points_as_queries.is_finite & (sums >= min_samples)
        labels = self._joined(radius, is_core, search)
        _, numbered = self._numbered(labels, np.flatnonzero(is_core), self.rows)
        borders = numbered.copy()
        for pairs in self.pairs(radius, search):
            for rows, neighbor_rows in (pairs.query, pairs.row), (pairs.row, pairs.query):
                is_border = ~is_core[rows] & is_core[neighbor_rows]
                np.minimum.at(borders, rows[is_border], numbered[neighbor_rows[is_border]])
        return is_core, np.where(borders == self.rows, -1, borders)


def _lengths(columns, p: float) -> np.ndarray:
    """Return the lengths (e,) of vectors (m, e) by Minkowski's p."""
    if p == 2:
        return np.sqrt(np.einsum("ie,ie->e", columns, columns))
    if p in (1, np.inf):
        return np.linalg.norm(columns, ord=p, axis=0)
    largest = np.abs(columns).max(axis=0)  # powers of small differences vanish
    return largest * np.linalg.norm(columns / np.where(largest > 0, largest, 1), ord=p, axis=0)


def _box_of(heights, images: int) -> np.ndarray:
    """Return how far a box of so many images goes along each vector; the nearest planes come first."""
    extent = np.zeros(len(heights))
    while (2 * extent + 1).prod() < images:
        extent[np.argmin((extent + 1) * heights)] += 1
    return extent
