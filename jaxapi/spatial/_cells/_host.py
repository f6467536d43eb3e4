"""Searches of all images by SciPy's tree: of NumPy arrays, outside of programs and called back by them.

A query that may reach images of the points is searched for once for each image: it is moved, and not the
points. What is found is measured anew by the vector ``data[j] + s @ cell - x``, so that both ends of a pair
have the same distance to the last bit, and decide alike whether it lies within a radius.
"""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..._interop import aligned_empty
from .._answers import ChosenNeighbors
from .._scipy import _groups, _search
from .._scipy._cloud import Cloud, Options, has_powers
from .._scipy._reach import longest_within
from .._scipy._threads import in_threads, thread_count
from .._search import Search
from .._tree._queries import Relation
from ._lattice import lattice_of
from ._points import FAR_EXPONENT, SPACING_EXPONENT, ImagePoints, ImageQueries, euclidean_factor

__all__ = ["ImageCloud"]

QUERIES_AT_ONCE = 1 << 18  # moved queries
FOUND_AT_ONCE = 1 << 22  # neighbours that are listed at once
MEASURED_AT_ONCE = 1 << 14  # neighbours, which a processor's cache holds
MEASURED_FOR_ONE = 100  # neighbours that are measured while a tree is searched for 8
MOST_IMAGES = 1 << 24  # moved queries of one query, which are held together
ONCE = Options(leafsize=20, compact_nodes=False, balanced_tree=False)  # of a tree that is searched once
ROUNDING = 64 * np.finfo(np.float64).eps


class Moved(NamedTuple):
    """Queries moved by vectors of the lattice, each query's one after the other."""

    query: np.ndarray  # (t,) the number of the query
    shift: np.ndarray  # (t, P) numbers of the reduced vectors that it was moved back by
    cell_shift: np.ndarray  # (t, m) int32, in the cell's own vectors, of a point inside of the reduced cell
    x: np.ndarray  # (t, m), or one column more that tells clouds apart

    def of(self, which) -> "Moved":
        """Return some of them."""
        return Moved(*(array[which] for array in self))


class Found(NamedTuple):
    """Neighbours of queries, grouped by query."""

    query: np.ndarray  # (e,) ascending
    row: np.ndarray  # (e,)
    shift: np.ndarray  # (e, m) of the cell's own vectors, int32
    distance: np.ndarray  # (e,) float64

    def kept(self, which) -> "Found":
        """Return some of them."""
        return Found(*(array[which] for array in self))

    def in_order(self) -> "Found":
        """Return them by query, then (distance, row, shift)."""
        found = self.kept(np.lexsort((self.distance, self.query)))
        tied = (found.distance[1:] == found.distance[:-1]) & (found.query[1:] == found.query[:-1])
        if not tied.any():
            return found
        return self.kept(np.lexsort((*self.shift.T[::-1], self.row, self.distance, self.query)))

    def places(self) -> np.ndarray:
        """Return the place of each among those of its query, of neighbours grouped by query."""
        is_first = np.ones(len(self.query), bool)
        is_first[1:] = self.query[1:] != self.query[:-1]
        starts = np.flatnonzero(is_first)
        return np.arange(len(self.query)) - np.repeat(starts, np.diff(starts, append=len(self.query)))


class Reduced(NamedTuple):
    """Queries wrapped into the cell, and what moves them."""

    x: np.ndarray  # (q, m) as they were given, float64
    inside: np.ndarray  # (q, m)
    turns: np.ndarray  # (q, P), nan for a query that is not finite
    fractions: np.ndarray  # (q, P)
    heights: np.ndarray  # (q, P)
    above: np.ndarray  # (q, m) their part that no periodic vector has, before they are brought nearer
    is_far: np.ndarray  # (q,) whether a query was brought nearer, for the spacing of the clouds
    ids: Any  # (q,), or None without clouds

    def of(self, which) -> "Reduced":
        """Return some of the queries."""
        return Reduced(
            self.x[which],
            self.inside[which],
            self.turns[which],
            self.fractions[which],
            self.heights[which],
            self.above[which],
            self.is_far[which],
            None if self.ids is None else self.ids[which],
        )


class ImageCloud:
    """Points with all their images, and SciPy's tree over those in one cell."""

    def __init__(self, points: ImagePoints, periodic: tuple[bool, ...], options: Options):
        self.data = np.asarray(points.data)
        self.n = int(points.n)
        self.ids = points.ids
        self.periodic = periodic
        self.rows, self.m = self.data.shape
        cell = np.eye(self.m) if points.cell is None else np.asarray(points.cell, np.float64)
        self.cell = cell
        with np.errstate(all="ignore"):
            self.lattice = lattice_of(cell, periodic, np)
        vectors = np.where(np.isfinite(self.lattice.vectors), self.lattice.vectors, 0.0)
        counted = np.where(np.arange(self.rows)[:, None] < self.n, self.data, np.nan)
        own = self._reduced(ImageQueries(counted, points.ids))
        self.own = own
        is_point = np.isfinite(own.turns).all(axis=1) & np.isfinite(own.inside).all(axis=1)
        self.is_point = is_point
        self.point_rows = np.flatnonzero(is_point)
        fractions = own.fractions[is_point]
        self.lowest = fractions.min(axis=0, initial=np.inf)
        self.highest = fractions.max(axis=0, initial=-np.inf)
        above = own.above[is_point]
        self.lowest_above = above.min(axis=0, initial=np.inf)
        self.highest_above = above.max(axis=0, initial=-np.inf)
        # A cell that is not finite has no points.
        self.size = np.abs(own.inside[is_point]).max(initial=0.0) + np.abs(vectors).sum(initial=0.0)
        self.largest = max(self.size, np.abs(own.x[is_point]).max(initial=0.0))
        # A point's shift is that of its image in the cell less this.
        self.cell_turns = self._lattice_of(points.ids).of_cell(own.turns, periodic, np)
        self.has_turns = bool(self.cell_turns.any())
        self.spacing = math.ldexp(1.0, math.frexp(self.size or 1.0)[1] + SPACING_EXPONENT)
        inside = np.where(is_point[:, None], own.inside, np.nan)
        self.cloud = Cloud(self._with_clouds(inside, points.ids), self.n, None, options)

    def own_queries(self) -> Reduced:
        """Return the points as queries; rows that are no points find nothing."""
        return self.own

    def queries(self, queries: ImageQueries) -> Reduced:
        """Return queries wrapped into the cell."""
        return self._near(self._reduced(queries))

    def _reduced(self, queries: ImageQueries) -> Reduced:
        x = np.asarray(queries.x, np.float64)
        lattice = self.lattice
        if lattice.has_axes:
            lattice = lattice.of_clouds(np.clip(queries.ids, 0, len(self.cell) - 1))
        with np.errstate(all="ignore"):
            wrapped = lattice.wrapped(x, np)
        turns = wrapped.turns
        if lattice.has_axes:
            has_cell = (queries.ids >= 0) & (queries.ids < len(self.cell))
            turns = np.where(has_cell[:, None], turns, np.nan)
        heights = np.broadcast_to(lattice.heights, wrapped.fractions.shape)
        with np.errstate(all="ignore"):
            # Twice, as what is left after the first time is rounded to the digits of the whole.
            above = wrapped.inside - lattice.steps(wrapped.fractions)
            above = above - lattice.steps(_along(above, lattice))
        is_far = np.zeros(len(x), bool)
        return Reduced(x, wrapped.inside, turns, wrapped.fractions, heights, above, is_far, queries.ids)

    def _near(self, queries: Reduced) -> Reduced:
        """Return queries so near that no other cloud is as near as their own.

        From so far all points of a cloud are equally near, to the last bit.
        """
        if queries.ids is None:
            return queries
        far = math.ldexp(self.size or 1.0, FAR_EXPONENT)
        is_far = (np.abs(queries.inside) > far).any(axis=1)
        return queries._replace(inside=np.clip(queries.inside, -far, far), is_far=is_far)

    def _with_clouds(self, x, ids) -> np.ndarray:
        """Return points with one coordinate more, by which clouds are far from each other."""
        if ids is None:
            return x
        return np.concatenate([x, (np.asarray(ids, np.float64) * self.spacing)[:, None]], axis=1)

    # --- queries that are moved -------------------------------------------------------------------------

    def _ranges(self, queries: Reduced, reach, p: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the least and greatest shift (q, P) of images within reach (q,); none below the least."""
        reach = reach * euclidean_factor(self.m, p)
        reaches = np.isfinite(queries.inside).all(axis=1) & np.isfinite(queries.turns).all(axis=1)
        reaches &= reach >= 0
        if len(self.lowest):
            reaches &= reach < np.inf
        if 0 < len(self.lowest) < self.m:
            # Images lie beside each other: what leads to their plane is not left for the way along it.
            gap = np.maximum(self.lowest_above - queries.above, queries.above - self.highest_above)
            gap = np.linalg.norm(np.maximum(gap, 0), axis=1)
            gap = np.where(queries.is_far, 0, gap)  # was brought nearer, as the reach was
            gap = np.maximum(gap * (1 - ROUNDING) - self._slack(queries), 0)
            reaches &= gap <= reach
            reach = np.where(reaches, reach, 0)
            reach = np.sqrt(np.maximum(reach - gap, 0)) * np.sqrt(reach + gap)
        with np.errstate(all="ignore"):
            span = np.where(reaches, reach, 0)[:, None] / queries.heights * (1 + 1e-9) + 1e-9
            low = np.ceil(queries.fractions - span - self.highest)
            high = np.floor(queries.fractions + span - self.lowest)
        is_range = reaches[:, None] & np.isfinite(low) & np.isfinite(high)
        return np.where(is_range, low, 1.0), np.where(is_range, high, 0.0)

    def _pieces(self, queries: Reduced, low, high) -> Iterator[Moved]:
        """Yield the queries moved by all shifts from the least to the greatest, as many at a time as fit.

        Those of a query that are more than that follow each other in several pieces.
        """
        sizes = np.maximum(high - low + 1, 0)
        totals = sizes.prod(axis=1)
        if not low.shape[1]:
            totals = (np.isfinite(queries.inside).all(axis=1)).astype(np.float64)
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
                shift = np.empty((len(query), low.shape[1]))
                for axis in range(low.shape[1] - 1, -1, -1):
                    size = sizes[query, axis].astype(np.int64)
                    shift[:, axis] = low[query, axis] + number % size
                    number = number // size
                yield self._moved(queries, query, shift)

    def _moved(self, queries: Reduced, query, shift) -> Moved:
        x = queries.inside[query]
        ids = None if queries.ids is None else queries.ids[query]
        lattice = self._lattice_of(ids)
        if shift.shape[1]:
            x = x - lattice.steps(shift)
        cell_shift = lattice.of_cell(shift + queries.turns[query], self.periodic, np)
        return Moved(query, shift, cell_shift, self._with_clouds(x, ids))

    def _lattice_of(self, ids):
        if not self.lattice.has_axes:
            return self.lattice
        return self.lattice.of_clouds(np.clip(ids, 0, len(self.cell) - 1))

    def _measured(self, queries: Reduced, moved: Moved, image, row, search: Search) -> Found:
        """Return neighbours (e,) by the numbers of moved queries, with their shifts and distances."""
        count = len(row)
        query = moved.query.take(image)
        shift = np.zeros((count, self.m), np.int32)
        distance = np.empty(count)
        has_shifts = self.has_turns or bool(moved.cell_shift.any())
        # Columns, as NumPy's loops over a few coordinates of each neighbour take many times as long.
        points = np.ascontiguousarray(self.own.x.T)
        starts = np.ascontiguousarray(queries.x.T)

        def measure_part(part):
            rows = row[part]
            of_query = query[part]
            vector = points.take(rows, axis=1)
            vector -= starts.take(of_query, axis=1)
            if has_shifts:
                shifts = shift[part]
                moved.cell_shift.take(image[part], axis=0, out=shifts, mode="clip")
                if self.has_turns:
                    shifts -= self.cell_turns.take(rows, axis=0)
                vector += self._along_cell(shifts, None if self.ids is None else queries.ids[of_query])
            distance[part] = _lengths(vector, search.p)

        in_threads(measure_part, _slices(count), thread_count(search.workers, count // MEASURED_FOR_ONE, 8))
        return Found(query, row, shift, distance)

    def _along_cell(self, shifts, ids) -> np.ndarray:
        """Return the columns (m, e) of ``shifts @ cell``, of the cell of each of the clouds.

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

    def _slack(self, queries: Reduced) -> np.ndarray:
        """Return by how much distances of each query (q,) may be rounded."""
        length = np.abs(queries.x).max(axis=1)
        return ROUNDING * np.maximum(self.largest, np.where(np.isfinite(length), length, 0))

    def _of_tree(self, search: Search) -> Search:
        """Return how the tree is searched, by distances that are no longer than those by `search.p`.

        High powers of the way between two clouds leave no room for those of the distances within one, and the
        highest are no numbers.
        """
        if search.p in (1, 2, np.inf) or (self.ids is None and has_powers(search.p)):
            return search
        return search._replace(p=np.inf)

    # --- within a radius --------------------------------------------------------------------------------

    def within(self, queries: Reduced, radius, search: Search) -> Iterator[Found]:
        """Yield the neighbours of queries within their radii (q,), piece by piece in their order.

        Those of a query may be in several pieces that follow each other.
        """
        radius = longest_within(radius)
        reach = self._reach(queries, radius)
        for moved in self._pieces(queries, *self._ranges(queries, reach, search.p)):
            for part in self._parts(moved, reach, search):
                yield self._found(queries, moved.of(part), radius, reach, search)

    def _reach(self, queries: Reduced, radius) -> np.ndarray:
        """Return how far (q,) to search for what is to be measured within radii (q,); -1 for nothing."""
        reach = radius * (1 + ROUNDING) + self._slack(queries)
        reach = np.where(radius >= 0, reach, -1.0)
        if self.ids is None:
            return reach
        length = np.abs(queries.x).max(axis=1)
        of_far = np.where(length <= radius * (1 + ROUNDING), np.inf, -1.0)
        return np.minimum(np.where(queries.is_far, of_far, reach), self.spacing / 4)

    def _parts(self, moved: Moved, reach, search: Search) -> list[slice]:
        """Return pieces of moved queries that have a bounded number of neighbours, by those of some."""
        count = len(moved.query)
        if not count:
            return []
        some = slice(None, None, count // 64 + 1)
        x = moved.x[some]
        radii = reach[moved.query[some]]
        (counts,) = _search.counts_within(self.cloud, x, radii, search=self._of_tree(search))
        mean = max(float(counts.mean()), 1.0)
        size = max(int(FOUND_AT_ONCE / mean), 1)
        return [slice(start, min(start + size, count)) for start in range(0, count, size)]

    def _found(self, queries: Reduced, moved: Moved, radius, reach, search: Search) -> Found:
        radii = reach[moved.query]
        of_tree = self._of_tree(search)
        indptr, rows, _ = _search.csr(self.cloud, moved.x, radii, search=of_tree, sort=False)
        which = np.repeat(np.arange(len(moved.query)), np.diff(indptr))
        found = self._measured(queries, moved, which, rows, search)
        is_within = found.distance <= radius[found.query]
        return found if is_within.all() else found.kept(is_within)

    def all_within(self, queries: Reduced, radius, search: Search) -> Found:
        """Return all neighbours of queries within their radii (q,)."""
        pieces = list(self.within(queries, radius, search))
        return _joined([_nothing(self.m), *pieces])

    def counts(self, queries: Reduced, radius, search: Search) -> np.ndarray:
        """Return how many neighbours each query has within its radius."""
        counts = np.zeros(len(queries.x), np.int64)
        for found in self.within(queries, radius, search):
            counts += np.bincount(found.query, minlength=len(queries.x))
        return counts

    def fixed(self, queries: Reduced, radius, limit: int, search: Search) -> tuple:
        """Return rows, shifts, distances (q, limit, ...) of the nearest within a radius, and the counts."""
        lines = _Lines(len(queries.x), limit, self.n, self.m)
        counts = np.zeros(len(queries.x), np.int64)
        of_last_query = _nothing(self.m)
        for found in self.within(queries, radius, search):
            counts += np.bincount(found.query, minlength=len(queries.x))
            found = _joined([of_last_query, found]).in_order()
            lines.put(found)
            of_last_query = found.kept((found.query == found.query[-1:]) & (found.places() < limit))
        return lines.rows, lines.shifts, lines.distances, counts

    # --- among the points -------------------------------------------------------------------------------

    def pairs(self, radius, search: Search) -> Iterator[Found]:
        """Yield all pairs of images within a radius, piece by piece: each once, seen from one of its ends.

        From the other end the shift is the negative one. So the points as they are, and their images on one
        side, have all of the pairs. A point is no pair with itself. The radius may be one of each row, the
        same for those of a cloud.
        """
        points = self.own.of(self.point_rows)
        radius = np.broadcast_to(longest_within(radius), self.rows)[self.point_rows]
        if len(self.lowest):
            radius = np.where(radius < np.inf, radius, -1.0)  # which programs cannot refuse
        reach = self._reach(points, radius)
        if not (reach >= 0).any():
            return
        home = Moved(
            np.arange(len(points.x)),
            np.zeros(points.turns.shape),
            self.cell_turns[self.point_rows],
            self._with_clouds(points.inside, points.ids),
        )
        parts = self._parts(home, reach, search)
        if len(parts) == 1:
            image, number = _search.pairs(self.cloud, reach.max(), self._of_tree(search), "ndarray").T
            yield self._measured_pairs(points, home, image, number, radius, search)
        else:
            for part in parts:
                image, number = self._near_images(home.of(part), reach.max(), search)
                image += part.start
                is_later = image < number
                yield self._measured_pairs(points, home, image[is_later], number[is_later], radius, search)
        low, high = self._ranges(points, reach, search.p)
        away = np.flatnonzero(((low < 0) | (high > 0)).any(axis=1))
        low = low[away]
        high = high[away]
        low[:, :1] = np.maximum(low[:, :1], 0)
        for moved in self._pieces(points.of(away), low, high):
            moved = moved._replace(query=away[moved.query]).of(_first_number(moved.shift) > 0)
            for part in self._parts(moved, reach, search):
                images = moved.of(part)
                image, number = self._near_images(images, reach.max(), search)
                yield self._measured_pairs(points, images, image, number, radius, search)

    def _near_images(self, moved: Moved, reach: float, search: Search) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers of moved queries, and those of the points within reach of them."""
        images = Cloud(moved.x, len(moved.x), None, ONCE)
        entries = _search.distance_entries(images, self.cloud, reach, self._of_tree(search))
        return entries["i"], entries["j"]

    def _measured_pairs(self, points: Reduced, moved: Moved, image, number, radius, search: Search) -> Found:
        """Return those pairs of moved points, and points by number, that are within a radius."""
        found = self._measured(points, moved, image, self.point_rows[number], search)
        is_within = found.distance <= radius[found.query]
        found = found._replace(query=self.point_rows[found.query])
        return found if is_within.all() else found.kept(is_within)

    def edges(self, radius, relation: Relation, search: Search) -> Found:
        """Return the edges between points: `query` are receivers; of LATER the lower row.

        The radius may be one of each row, the same for those of a cloud.
        """
        pairs = _joined([_nothing(self.m), *self.pairs(radius, search)])
        if relation is Relation.LATER:
            is_turned = pairs.query > pairs.row
            at = np.flatnonzero(pairs.query == pairs.row)
            is_turned[at] = _first_number(pairs.shift[at]) < 0
            np.negative(pairs.shift, out=pairs.shift, where=is_turned[:, None])
            lower = np.minimum(pairs.query, pairs.row)
            return pairs._replace(query=lower, row=np.maximum(pairs.query, pairs.row))
        loops = self._reaching_rows(radius) if relation is Relation.ANY else self.point_rows[:0]
        return _both_ways(pairs, loops, self.rows, search)

    def _reaching_rows(self, radius) -> np.ndarray:
        """Return the rows of the points within whose radius there is something: the point itself."""
        reaches = np.broadcast_to(np.asarray(radius) >= 0, self.rows)
        if len(self.lowest):
            reaches = reaches & (np.asarray(radius) < np.inf)
        return np.flatnonzero(reaches & self.is_point)

    # --- the nearest ------------------------------------------------------------------------------------

    def nearest(self, queries: Reduced, bound, k: int, search: Search) -> tuple:
        """Return rows, shifts and distances (q, k, ...) of the nearest images, nearer than `bound`, (q,)."""
        query_count = len(queries.x)
        lines = _Lines(query_count, k, self.n, self.m)
        count = min(k, max(self.cloud.size, 1))
        bound = np.asarray(bound, np.float64)
        is_finite = np.isfinite(queries.turns).all(axis=1) & np.isfinite(queries.inside).all(axis=1)
        is_beyond = queries.is_far & (np.abs(queries.x).max(axis=1) >= bound)
        at = np.flatnonzero(is_finite & (bound > 0) & ~is_beyond)
        size = max(FOUND_AT_ONCE // (4 * count), 1)
        for start in range(0, len(at), size):
            part = at[start : start + size]
            found = self._nearest(queries.of(part), bound[part], k, count, search)
            lines.put(found._replace(query=part[found.query]))
        return lines.rows, lines.shifts, lines.distances

    def _nearest(self, queries: Reduced, bound, k: int, count: int, search: Search) -> Found:
        """Return up to `k` nearest images of each finite query, in order, of `count` points of an image.

        One point more is looked at: where it is as near, up to rounding, what is measured decides.
        """
        count = min(count + 1, max(self.cloud.size, 1))
        spare = np.full(len(queries.x), np.inf)
        home = self._moved(queries, np.arange(len(queries.x)), np.zeros((len(queries.x), len(self.lowest))))
        distances, rows = self._nearest_of(home, np.inf, count, search)
        if count > k:
            spare = distances[:, k]
        reach = np.minimum(self._kth_distance(queries, distances, bound, k, search), bound)
        reach = reach * (1 + ROUNDING) + self._slack(queries)
        low, high = self._ranges(queries, reach, search.p)
        is_at_home = (
            ((low >= 0) & (high <= 0)).all(axis=1) if len(self.lowest) else np.ones(len(queries.x), bool)
        )
        at_home = home.of(is_at_home)
        pieces = [self._neighbors(queries, at_home, distances[is_at_home], rows[is_at_home], search)]
        away = np.flatnonzero(~is_at_home)
        for moved in self._pieces(queries.of(away), low[away], high[away]):
            moved = moved._replace(query=away[moved.query])
            distances, rows = self._nearest_of(moved, reach[moved.query], count, search)
            if count > k:
                np.minimum.at(spare, moved.query, distances[:, k])
            pieces.append(self._neighbors(queries, moved, distances, rows, search))
        near = _joined_in_order(pieces, bound)
        near = near.kept(near.places() < k)
        last = bound.copy()
        is_last = near.places() == k - 1
        last[near.query[is_last]] = near.distance[is_last]
        is_open = spare <= last * (1 + ROUNDING) + self._slack(queries)
        is_open |= queries.is_far & (spare < np.inf)
        if self.ids is not None:
            is_open &= spare < self.spacing / 2
        open_queries = np.flatnonzero(is_open & (last < np.inf))
        if not len(open_queries):
            return near
        pieces = [near.kept(~np.isin(near.query, open_queries))]
        for found in self.within(queries.of(open_queries), last[open_queries], search):
            nearest = _joined_in_order([found], bound[open_queries])
            nearest = nearest.kept(nearest.places() < k)
            pieces.append(nearest._replace(query=open_queries[nearest.query]))
        return _joined(pieces).in_order()

    def _nearest_of(self, moved: Moved, bound, count: int, search: Search) -> tuple:
        """Return distances and rows (t, count) of the nearest points of moved queries."""
        answer = ChosenNeighbors(count, None)
        of_tree = self._of_tree(search)
        return _search.nearest_columns(
            self.cloud, moved.x, bound, 0.0, k=count, answer=answer, search=of_tree
        )

    def _neighbors(self, queries: Reduced, moved: Moved, distances, rows, search: Search) -> Found:
        """Return the neighbours that there are of those of moved queries (t, count)."""
        image, column = np.nonzero(distances < np.inf)
        found_rows = rows[image, column]
        if self.ids is not None:  # of a cloud with few points others are found
            is_own = self.ids[found_rows] == queries.ids[moved.query[image]]
            image = image[is_own]
            found_rows = found_rows[is_own]
        return self._measured(queries, moved, image, found_rows, search)

    def _kth_distance(self, queries: Reduced, distances, bound, k: int, search: Search):
        """Return what the k-th nearest image is not beyond, (q,); -1 for a query that has no neighbour."""
        in_reach = distances < (np.inf if self.ids is None else self.spacing / 2)
        count_at_home = np.count_nonzero(in_reach, axis=1)
        reach = np.full(len(queries.x), np.inf)
        if distances.shape[1] >= k:
            longer = self.m ** (1 / search.p) if self._of_tree(search).p != search.p else 1.0
            reach = np.where(in_reach[:, k - 1], longer * distances[:, k - 1], np.inf)
        needs_images = (np.minimum(reach, bound) == np.inf) & (count_at_home > 0)
        if len(self.lowest) and needs_images.any():
            at = np.flatnonzero(needs_images)
            some = queries.of(at)
            extent = _box_of(some.heights.min(axis=0), int((-(-k // count_at_home[at])).max()))
            low = np.broadcast_to(-extent, (len(at), len(extent)))
            pieces = [_nothing(self.m)]
            for moved in self._pieces(some, low, -low):
                found_distances, rows = self._nearest_of(moved, np.inf, distances.shape[1], search)
                pieces.append(self._neighbors(some, moved, found_distances, rows, search))
            near = _joined(pieces).in_order()
            is_kth = near.places() == k - 1
            reach[at[near.query[is_kth]]] = near.distance[is_kth]
        return np.where(count_at_home > 0, reach, -1.0)

    # --- between two clouds -----------------------------------------------------------------------------

    def two_point(self, queries: Reduced, radii, *weights, search: Search, sums) -> np.ndarray:
        """Return the pairs of queries and images within each of the radii (R,), counted or by weights."""
        counts = np.zeros(len(radii), sums)
        radii = longest_within(radii)
        largest = float(np.max(radii, where=radii >= 0, initial=-1.0))
        if largest < 0:
            return counts
        every = np.full(len(queries.x), largest)
        if self._of_tree(search).p != search.p or queries.is_far.any():
            for found in self.within(queries, every, search):
                counts += _pair_sums(found, radii, weights, sums)
            return counts
        slack = self._slack(queries)
        reach = largest * (1 + ROUNDING) + slack
        if self.ids is not None:
            reach = np.minimum(reach, self.spacing / 4)
        for moved in self._pieces(queries, *self._ranges(queries, reach, search.p)):
            _, image = np.unique(moved.shift, axis=0, return_inverse=True)
            order = np.argsort(image, kind="stable")
            for part in np.split(order, np.flatnonzero(np.diff(image[order])) + 1):
                counts += self._two_point_of(queries, moved.of(part), radii, weights, search, sums)
        return counts

    def _two_point_of(self, queries: Reduced, moved: Moved, radii, weights, search: Search, sums):
        """Return the pairs of one image within each of the radii.

        Where pairs lie so near the border that rounding may decide, they are listed and measured.
        """
        slack = self._slack(queries)
        border = slack[moved.query].max(initial=0)
        longest = np.inf if self.ids is None else self.spacing / 4
        lower = np.where(radii >= 0, radii * (1 - ROUNDING) - border, -1.0)
        upper = np.where(radii >= 0, radii * (1 + ROUNDING) + border, -1.0)
        bounds = np.minimum(np.concatenate([lower, upper]), longest)
        others = Cloud(moved.x, len(moved.x), None, self.cloud.options)
        clouds = others, self.cloud
        at_lower, at_upper = _search.two_point(*clouds, bounds, search=search, sums=np.int64)[0].reshape(
            2, -1
        )
        counts = at_upper.astype(sums)
        if weights:
            of_both = weights[0][moved.query], weights[1]
            of_radii = np.minimum(radii, longest)
            counts = _search.two_point(*clouds, of_radii, *of_both, search=search, sums=sums)[0]
        is_open = at_lower != at_upper
        if is_open.any():
            largest = np.full(len(queries.x), radii[is_open].max())
            reach = np.minimum(largest * (1 + ROUNDING) + slack, longest)
            counts[is_open] = 0
            for part in self._parts(moved, reach, search):
                found = self._found(queries, moved.of(part), largest, reach, search)
                counts[is_open] += _pair_sums(found, radii[is_open], weights, sums)
        return counts

    # --- clusters ---------------------------------------------------------------------------------------

    def components(self, radius, search: Search) -> tuple:
        """Return how many components there are, and labels (rows,) by their lowest rows, -1 for no point."""
        labels = self._joined(radius, self.is_point, search)
        return self._numbered(labels, np.flatnonzero(self.is_point), -1)

    def _joined(self, radius, is_counted, search: Search) -> np.ndarray:
        """Return labels (rows,) that those of the counted rows have in common that are joined."""
        labels = np.arange(self.rows)
        for found in self.pairs(radius, search):
            found = found.kept(is_counted[found.query] & is_counted[found.row])
            _, joined = _groups.joined(self.rows, labels[found.query], labels[found.row])
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
        sums[reaching_rows] = weight_of_row[reaching_rows]  # each is its own neighbour
        for found in self.pairs(radius, search):
            for rows, neighbors in (found.query, found.row), (found.row, found.query):
                sums += np.bincount(rows, weight_of_row[neighbors], self.rows)
        is_core = self.is_point & (sums >= min_samples)
        labels = self._joined(radius, is_core, search)
        _, numbered = self._numbered(labels, np.flatnonzero(is_core), self.rows)
        borders = numbered.copy()
        for found in self.pairs(radius, search):
            for rows, neighbors in (found.query, found.row), (found.row, found.query):
                is_border = ~is_core[rows] & is_core[neighbors]
                np.minimum.at(borders, rows[is_border], numbered[neighbors[is_border]])
        return is_core, np.where(borders == self.rows, -1, borders)


class _Lines:
    """The neighbours of queries in lines of one length, filled up with row n, shift 0 and distance inf."""

    def __init__(self, query_count: int, length: int, n: int, m: int):
        self.length = length
        self.rows = np.full((query_count, length), n)
        self.shifts = np.zeros((query_count, length, m), np.int32)
        self.distances = np.full((query_count, length), np.inf)

    def put(self, found: Found) -> None:
        """Write the first neighbours of each query, which are in order."""
        place = found.places()
        kept = place < self.length
        index = found.query[kept], place[kept]
        self.rows[index] = found.row[kept]
        self.shifts[index] = found.shift[kept]
        self.distances[index] = found.distance[kept]


def _joined_in_order(pieces: list[Found], bound) -> Found:
    """Return the neighbours of several pieces that are nearer than the bound of their query, in order."""
    found = _joined(pieces)
    return found.kept(found.distance < bound[found.query]).in_order()


def _pair_sums(found: Found, radii, weights, sums) -> np.ndarray:
    """Return how many pairs of queries and neighbours are within each radius, or their sum by weights."""
    within = [found.distance <= radius for radius in radii]
    if not weights:
        return np.array([np.count_nonzero(each) for each in within], sums)
    products = weights[0][found.query] * weights[1][found.row]
    return np.array([products[each].sum() for each in within], sums)


def _both_ways(pairs: Found, loops, row_count: int, search: Search) -> Found:
    """Return pairs seen from both of their ends, and loops of rows at themselves, grouped by query."""
    edge_count = 2 * len(pairs.query) + len(loops)
    dtype = np.dtype(np.int32 if max(edge_count, row_count) < 2**31 else np.int64)
    ends = np.concatenate([pairs.row, pairs.query, loops], dtype=dtype, casting="unsafe")
    other_ends = np.concatenate([pairs.query, pairs.row, loops], dtype=dtype, casting="unsafe")
    no_shifts = np.zeros((len(loops), pairs.shift.shape[1]), np.int32)
    shifts = np.concatenate([-pairs.shift, pairs.shift, no_shifts])
    distances = np.concatenate([pairs.distance, pairs.distance, np.zeros(len(loops))])
    numbers = np.arange(edge_count, dtype=dtype)
    by_end = _search.grouped(ends, other_ends, numbers, (row_count, row_count))
    shift = aligned_empty(shifts.shape, shifts.dtype)
    distance = aligned_empty(distances.shape, distances.dtype)

    def copy_part(part):
        shifts.take(by_end.data[part], axis=0, out=shift[part], mode="clip")
        distances.take(by_end.data[part], out=distance[part], mode="clip")

    in_threads(
        copy_part, _slices(edge_count), thread_count(search.workers, edge_count // MEASURED_FOR_ONE, 8)
    )
    query = np.repeat(np.arange(row_count, dtype=dtype), np.diff(by_end.indptr))
    return Found(query, by_end.indices, shift, distance)


def _lengths(columns, p: float) -> np.ndarray:
    """Return the lengths (e,) of vectors (m, e) by Minkowski's p."""
    if p == 2:
        return np.sqrt(np.einsum("ie,ie->e", columns, columns))
    if p in (1, np.inf):
        return np.linalg.norm(columns, ord=p, axis=0)
    largest = np.abs(columns).max(axis=0)  # powers of small differences vanish
    return largest * np.linalg.norm(columns / np.where(largest > 0, largest, 1), ord=p, axis=0)


def _slices(count: int) -> list[slice]:
    """Return pieces of so many neighbours that a processor's cache holds."""
    return [slice(start, start + MEASURED_AT_ONCE) for start in range(0, count, MEASURED_AT_ONCE)]


def _joined(pieces: list[Found]) -> Found:
    """Return all of several pieces."""
    if len(pieces) == 1:
        return pieces[0]
    return Found(*map(np.concatenate, zip(*pieces, strict=True)))


def _first_number(shift) -> np.ndarray:
    """Return the first number that is not 0 of each shift (t, P), or 0."""
    first = np.zeros(len(shift), shift.dtype)
    for column in shift.T[::-1]:
        first = np.where(column != 0, column, first)
    return first


def _nothing(m: int) -> Found:
    no_rows = np.zeros(0, np.int64)
    return Found(no_rows, no_rows, np.zeros((0, m), np.int32), np.zeros(0))


def _along(x, lattice) -> np.ndarray:
    """Return the coordinates (q, P) of vectors (q, m) along those of the lattice."""
    return np.einsum("...m,...mp->...p", x, lattice.inverse)


def _box_of(heights, images: int) -> np.ndarray:
    """Return how far a box of so many images goes along each vector; the nearest planes come first."""
    extent = np.zeros(len(heights))
    while (2 * extent + 1).prod() < images:
        extent[np.argmin((extent + 1) * heights)] += 1
    return extent
