"""Searches of all images by SciPy's tree: of NumPy arrays, outside of programs and called back by them.

A query that may reach images of the points is searched for once for each image: it is moved, and not the
points. What is found is measured anew by the vector ``data[j] + s @ cell - x``, so that both ends of a pair
have the same distance to the last bit, and decide alike whether it lies within a radius.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from .._scipy import _by_ckdtree, _groups
from .._scipy._reach import longest_within
from .._scipy._trees import Options, SciPyTrees, has_powers
from .._search import PairWeights, Search
from .._tree._queries import Relation
from ._host_neighbors import (
    HostNeighbors,
    MovedQueries,
    PaddedNeighbors,
    UnmeasuredPairs,
    both_ways,
    concatenated,
    in_parts,
    no_neighbors,
)
from ._images import MOST_IMAGES, Box, WrappedQueries, points_in_cell
from ._lattice import first_number
from ._points import ROUNDING, ImagePoints, ImageQueries

__all__ = ["HostImages", "PairSums"]

QUERIES_AT_ONCE = 1 << 18  # moved queries
LISTED_AT_ONCE = 1 << 22  # neighbors that are listed at once
ONCE = Options(leafsize=20, compact_nodes=False, balanced_tree=False)  # of a tree that is searched once


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

    A search takes queries wrapped into the cell, as `wrapped` returns them. It asks by which shifts of the
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
        self.as_queries = as_queries  # the points
        # Rows of points, which count and are finite: numbers in the tree are numbers of these.
        self.point_rows = np.flatnonzero(as_queries.is_finite)
        self.point_count = len(self.point_rows)
        # The shift to a point is that to its image in the cell, less the turns that brought it there.
        self.cell_turns = as_queries.lattice.of_cell(as_queries.turns, periodic, np)
        self.has_turns = bool(self.cell_turns.any())
        inside = self.in_cell.beside_each_other(as_queries.inside, points.ids)
        self.trees = SciPyTrees(inside, self.n, None, options)

    def wrapped(self, queries: ImageQueries | None) -> WrappedQueries:
        """Return queries wrapped into the cell; None stands for the points."""
        if queries is None:
            return self.as_queries
        with np.errstate(all="ignore"):
            return self.in_cell.queries(queries)

    # --- queries that are moved -------------------------------------------------------------------------

    def pieces(self, queries: WrappedQueries, boxes: Box) -> Iterator[MovedQueries]:
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

    def unmoved(self, queries: WrappedQueries) -> MovedQueries:
        cell_shift = queries.lattice.of_cell(queries.turns, self.periodic, np)
        x = self.in_cell.beside_each_other(queries.inside, queries.ids)
        return MovedQueries(np.arange(len(x)), np.zeros(queries.turns.shape), cell_shift, x)

    def measured(
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
        point_columns = np.ascontiguousarray(self.as_queries.given.T)
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

    def tree_search(self, search: Search) -> Search:
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
        boxes = self.in_cell.boxes_in_reach(queries, reach, search.p)
        yield from self.within_boxes(queries, boxes, radius, reach, search)

    def within_boxes(
        self, queries: WrappedQueries, boxes: Box, radius, reach, search: Search
    ) -> Iterator[HostNeighbors]:
        """Yield the neighbors within radii (q,) of those images whose shifts are in boxes (q, P)."""
        for moved in self.pieces(queries, boxes):
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
        (counts,) = _by_ckdtree.counts_within(self.trees, sample.x, radii, search=self.tree_search(search))
        mean = max(float(counts.mean()), 1.0)
        size = max(int(LISTED_AT_ONCE / mean), 1)
        return [slice(start, min(start + size, count)) for start in range(0, count, size)]

    def _neighbors_within(
        self, queries: WrappedQueries, moved: MovedQueries, radius, reach, search: Search
    ) -> HostNeighbors:
        """Return the points that are within the radii (q,), of those that a tree finds in reach (q,)."""
        tree_search = self.tree_search(search)
        indptr, rows, _ = _by_ckdtree.csr(
            self.trees, moved.x, reach[moved.query], search=tree_search, sort=False
        )
        images = np.repeat(np.arange(len(moved.query)), np.diff(indptr))
        neighbors = self.measured(queries, moved, UnmeasuredPairs(images, rows), search)
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
        points = self.as_queries.of(self.point_rows)
        radius = np.broadcast_to(longest_within(radius), self.rows)[self.point_rows]
        if self.in_cell.lattice.vector_count:
            radius = np.where(radius < np.inf, radius, -1.0)  # a program cannot refuse an infinite radius
        reach = self.in_cell.reach(points, radius)
        if not (reach >= 0).any():
            return
        # The points as they are, moved by no shift. Of a pair of these, the end with the lower row sees it.
        unmoved = self.unmoved(points)
        parts = self._parts(unmoved, reach, search)
        if len(parts) == 1:
            image, number = _by_ckdtree.near_pairs(self.trees, reach.max(), self.tree_search(search)).T
            unmeasured = UnmeasuredPairs(image, self.point_rows[number])
            yield self._pairs_within(points, unmoved, unmeasured, radius, search)
        else:
            for part in parts:
                image, number = self._near_images(unmoved.of(part), reach.max(), search)
                image += part.start
                is_later = image < number
                unmeasured = UnmeasuredPairs(image[is_later], self.point_rows[number[is_later]])
                yield self._pairs_within(points, unmoved, unmeasured, radius, search)
        boxes = self.in_cell.boxes_in_reach(points, reach, search.p)
        with_shifts = np.flatnonzero(((boxes.low < 0) | (boxes.high > 0)).any(axis=1))
        boxes = boxes.of(with_shifts)
        boxes.low[:, :1] = np.maximum(boxes.low[:, :1], 0)  # no shift of the other side
        for moved in self.pieces(points.of(with_shifts), boxes):
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
        entries = _by_ckdtree.distance_entries(images, self.trees, reach, self.tree_search(search))
        return entries["i"], entries["j"]

    def _pairs_within(
        self, points: WrappedQueries, moved: MovedQueries, unmeasured: UnmeasuredPairs, radius, search: Search
    ) -> HostNeighbors:
        """Return the pairs of moved points and points, by their rows, that are within a radius."""
        pairs = self.measured(points, moved, unmeasured, search)
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

    def fixed_edges(self, radius, relation: Relation, size: int, search: Search) -> tuple[HostNeighbors, int]:
        """Return so many edges, filled up with rows n, shifts 0 and distances inf, and their true number."""
        edges = self.edges(radius, relation, search)
        count = len(edges.query)
        filled = []
        for values, fill in zip(edges, (self.n, self.n, 0, np.inf), strict=True):
            array = np.empty((size, *values.shape[1:]), values.dtype)
            array[:count] = values[:size]
            array[count:] = fill
            filled.append(array)
        return HostNeighbors(*filled), count

    def _reaching_rows(self, radius) -> np.ndarray:
        """Return the rows of the points within whose radius there is something: the point itself."""
        is_reaching = np.broadcast_to(np.asarray(radius) >= 0, self.rows)
        if self.in_cell.lattice.vector_count:
            is_reaching = is_reaching & (np.asarray(radius) < np.inf)
        return np.flatnonzero(is_reaching & self.as_queries.is_finite)

    # --- between two trees ------------------------------------------------------------------------------

    def two_point(self, queries: WrappedQueries, pairs: PairSums, search: Search) -> np.ndarray:
        """Return the pairs of queries and images within each of the radii (R,), counted or by weights."""
        pairs = pairs._replace(radii=longest_within(pairs.radii))
        radii = pairs.radii
        counts = np.zeros(len(radii), pairs.dtype)
        largest = float(np.max(radii, where=radii >= 0, initial=-1.0))
        if largest < 0:
            return counts
        if self.tree_search(search).p != search.p or queries.is_far.any():
            for neighbors in self.within(queries, np.full(len(queries.given), largest), search):
                counts += pairs.of_listed(neighbors)
            return counts
        reach = largest * (1 + ROUNDING) + queries.rounding
        if self.ids is not None:
            reach = np.minimum(reach, self.in_cell.spacing / 4)
        for moved in self.pieces(queries, self.in_cell.boxes_in_reach(queries, reach, search.p)):
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
        labels = self._joined(radius, self.as_queries.is_finite, search)
        return self._numbered(labels, np.flatnonzero(self.as_queries.is_finite), -1)

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
        is_core = self.as_queries.is_finite & (sums >= min_samples)
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
