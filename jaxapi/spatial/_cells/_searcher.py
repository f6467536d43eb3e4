"""What all searchers of points with a cell or with clouds have in common: shapes of results, and checks."""

from abc import abstractmethod

import jax.numpy as jnp
import numpy as np

from ..._core._dtypes import x64_for
from ..._core._lengths import first_rows
from ..._core._programs import any_traced, compiled, eagerly_unless_traced, is_traced
from .._answers import Columns
from .._arrays import RECORD, check_finite, is_on_host, placed_like
from .._results import (
    FixedNeighbors,
    FixedPairs,
    NearestNeighbors,
    NeighborGraph,
    Neighbors,
    PeriodicFixedNeighbors,
    PeriodicNeighborGraph,
    PeriodicNeighbors,
    PeriodicPairs,
)
from .._scipy._trees import Options
from .._search import PairWeights, Queries, Search, sums_dtype
from .._searcher import ConcreteSearcher
from .._tree._queries import Relation
from ._cell_arguments import check_turns, check_turns_of_points
from ._host import PairSums
from ._points import ImagePoints, ImageQueries
from ._slopes import ImageRows, displacements

__all__ = ["ImageSearcher", "tree_search"]

FLOAT64 = np.dtype(np.float64)


class ImageSearcher(ConcreteSearcher):
    """The searches of points of which every image counts, and of clouds that do not see each other.

    Results of a tree with a cell have shifts. The methods that start with an underscore find images; there,
    queries are `ImageQueries`, and None stands for the points.
    """

    def __init__(self, points: ImagePoints, periodic: tuple[bool, ...], options: Options):
        self.points = points
        self.data = points.data
        self.periodic = periodic
        self.options = options
        self._m = points.data.shape[1]
        self._has_checked_points = False

    @property
    def has_shifts(self) -> bool:
        """Whether there is a cell."""
        return self.points.cell is not None

    @abstractmethod
    def _nearest(self, queries: ImageQueries | None, k: int, bound, search: Search) -> NearestNeighbors:
        """Return the `k` nearest images of queries (q, m); of the points there may be rows behind theirs."""

    @abstractmethod
    def _fixed(self, queries: ImageQueries, r, search: Search, max_neighbors: int) -> tuple:
        """Return rows, shifts, distances (q, max_neighbors, ...) of the nearest within radii, and counts."""

    @abstractmethod
    def _all_within(self, queries: ImageQueries, r, search: Search, sort: bool) -> tuple:
        """Return NumPy arrays: where each query's images begin and end, rows, distances and shifts."""

    @abstractmethod
    def _all_edges(self, r, search: Search, relation: Relation) -> tuple:
        """Return receivers, senders, shifts, distances and the number of all edges of concrete points."""

    @abstractmethod
    def _fixed_edges(self, r, search: Search, relation: Relation, size: int) -> tuple:
        """Return receivers, senders, shifts and distances (size, ...), and the true number."""

    @abstractmethod
    def _pair_sums(self, queries: ImageQueries, pairs: PairSums, search: Search, finish, sums):
        """Return what `finish(sums, xp)` makes of the pairs of queries and images within each radius (R,)."""

    @abstractmethod
    def components(self, radius, search: Search) -> tuple:
        """Return how many components there are, and labels (rows,)."""

    @abstractmethod
    def dbscan(self, radius, weights, search: Search, min_samples: int) -> tuple:
        """Return which points are cores (rows,), and labels (rows,)."""

    # --- the nearest ------------------------------------------------------------------------------------

    def nearest(self, queries: Queries, columns: Columns, bound, search: Search) -> NearestNeighbors:
        neighbors = self._nearest(ImageQueries(queries.x, queries.ids), columns.k, bound, search)
        shape = queries.shape + columns.shape
        if columns.chosen is None and neighbors.rows.shape == shape:
            return neighbors
        with eagerly_unless_traced(*neighbors), _x64_for(neighbors):
            if columns.chosen is not None:
                chosen = np.asarray(columns.chosen) - 1
                neighbors = NearestNeighbors(*(array[:, chosen] for array in neighbors))
            distances, rows, shifts = neighbors
            shifts = shifts.reshape(*shape, self._m)
            return NearestNeighbors(distances.reshape(shape), rows.reshape(shape), shifts)

    def kneighbors(self, columns: Columns, bound, search: Search) -> NearestNeighbors:
        neighbors = self._others(columns, bound, search)
        with eagerly_unless_traced(*neighbors):
            return NearestNeighbors(*first_rows(len(self.data), *neighbors))

    def _others(self, columns: Columns, bound, search: Search) -> NearestNeighbors:
        """Return what `_nearest` does of the points, without each point itself."""
        neighbors = self._nearest(None, columns.k, bound, search)
        with eagerly_unless_traced(*neighbors), _x64_for(neighbors):
            return _without_itself(neighbors)

    def knn_graph(self, columns: Columns, search: Search, loop: bool):
        if loop:
            neighbors = self._nearest(None, columns.k, np.inf, search)
        else:
            neighbors = self._others(columns, np.inf, search)
        edge_count = len(self.data) * neighbors.rows.shape[1]
        with eagerly_unless_traced(self.points.n, *neighbors), _x64_for(neighbors):
            n = jnp.asarray(self.points.n, neighbors.rows.dtype)
            *edges, count = _edges_of(neighbors, n)
            receivers, senders, shifts, distances = first_rows(edge_count, *edges)
        return self._graph(receivers, senders, shifts, distances, count)

    # --- within a radius --------------------------------------------------------------------------------

    def fixed(self, queries: Queries, r, search: Search, max_neighbors: int):
        self._check_radius(r)
        image_queries = ImageQueries(queries.x, queries.ids)
        rows, shifts, distances, counts = self._fixed(image_queries, r, search, max_neighbors)
        with eagerly_unless_traced(rows), x64_for(search.dtype, search.index_dtype):
            given_shape = *queries.shape, max_neighbors
            counts = counts.reshape(queries.shape)
            fixed = FixedNeighbors(rows.reshape(given_shape), distances.reshape(given_shape), counts)
            if not self.has_shifts:
                return fixed
            return PeriodicFixedNeighbors(*fixed, shifts.reshape(*given_shape, self._m))

    def csr(self, queries: Queries, r, search: Search, sort: bool):
        found = self._all_within(ImageQueries(queries.x, queries.ids), r, search, sort)
        indptr, rows, distances, shifts = found
        dtype = search.index_dtype
        if indptr[-1] > np.iinfo(dtype).max:
            dtype = np.dtype(np.int64)
        arrays = indptr.astype(dtype), rows.astype(search.index_dtype), distances.astype(search.dtype)
        if not self.has_shifts:
            return Neighbors(*placed_like(self.points.data, *arrays))
        return PeriodicNeighbors(*placed_like(self.points.data, *arrays, shifts))

    def lists(self, queries: Queries, r, search: Search, in_order: bool) -> list[list[int]]:
        indptr, rows, _, _ = self._all_within(ImageQueries(queries.x, queries.ids), r, search, False)
        if len(indptr) == 1:  # no queries, of which `split` makes one part
            return []
        lists = [part.tolist() for part in np.split(rows, indptr[1:-1])]
        return [sorted(part) for part in lists] if in_order else lists

    # --- among the points -------------------------------------------------------------------------------

    def edges(self, r, search: Search, relation: Relation):
        self._check_radius(r)
        return self._graph(*self._all_edges(r, search, relation))

    def fixed_edges(self, r, search: Search, relation: Relation, size: int):
        self._check_radius(r)
        return self._graph(*self._fixed_edges(r, search, relation, size))

    def pairs(self, r, search: Search, output_type: str):
        if self.has_shifts and output_type == "set":
            raise ValueError(
                "a set of pairs of rows holds no shifts: pass output_type='ndarray', or max_pairs, for "
                "arrays with shifts"
            )
        self._check_radius(r)
        fixed = self._pairs(*self._all_edges(r, search, Relation.LATER))
        if self.has_shifts:
            return fixed
        if output_type == "ndarray":
            return fixed.pairs
        return set(map(tuple, np.asarray(fixed.pairs).tolist()))

    def fixed_pairs(self, r, search: Search, size: int):
        self._check_radius(r)
        return self._pairs(*self._fixed_edges(r, search, Relation.LATER, size))

    def _graph(self, receivers, senders, shifts, distances, count):
        if not self.has_shifts:
            return NeighborGraph(senders, receivers, distances, count)
        return PeriodicNeighborGraph(senders, receivers, distances, count, shifts)

    def _pairs(self, receivers, senders, shifts, distances, count):
        with eagerly_unless_traced(receivers), x64_for(receivers.dtype):
            pairs = jnp.stack([receivers, senders], axis=1)
        if not self.has_shifts:
            return FixedPairs(pairs, distances, count)
        return PeriodicPairs(pairs, distances, count, shifts)

    # --- between two trees ------------------------------------------------------------------------------

    def ball_tree(self, other: "ImageSearcher", r, search: Search) -> list[list[int]]:
        n = int(self.points.n)
        queries = self._own_queries()
        radii = np.broadcast_to(r, n)
        return self._in_own_cell(other).lists(Queries(queries.x, (n,), queries.ids), radii, search, True)

    def distance_records(self, other: "ImageSearcher", r, search: Search) -> np.ndarray:
        """Return the distance of each point to the nearest image of each point of the other tree."""
        searched = self._in_own_cell(other)
        radii = np.broadcast_to(r, int(self.points.n))
        indptr, rows, distances, _ = searched._all_within(self._own_queries(), radii, search, False)
        queries = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        order = np.lexsort((distances, rows, queries))
        is_first = np.ones(len(order), bool)
        is_first[1:] = (np.diff(queries[order]) != 0) | (np.diff(rows[order]) != 0)
        nearest = order[is_first]
        records = np.empty(len(nearest), RECORD)
        records["i"] = queries[nearest]
        records["j"] = rows[nearest]
        records["v"] = distances[nearest]
        return records

    def _in_own_cell(self, other: "ImageSearcher") -> "ImageSearcher":
        """Return a searcher of another tree's points, and of their images by this tree's cell."""
        return self._of_points(other.points._replace(cell=self.points.cell))

    @abstractmethod
    def _of_points(self, points: ImagePoints) -> "ImageSearcher":
        """Return a searcher of other points by the same means."""

    def _own_queries(self) -> ImageQueries:
        """Return the points, which are concrete, as queries."""
        n = int(self.points.n)
        ids = None if self.points.ids is None else np.asarray(self.points.ids)[:n]
        return ImageQueries(np.asarray(self.points.data)[:n], ids)

    def two_point(
        self, other: "ImageSearcher", radii, search: Search, weights: PairWeights, cumulative: bool
    ):
        """Return the pairs of points and images of another tree within each radius (R,)."""
        self._check_radius(radii)
        traced = any_traced(*self.points, *other.points, radii, *weights)
        sums = sums_dtype(weights, traced)
        pair_count = len(self.points.data) * len(other.points.data)
        if weights.self_weights is None and pair_count > np.iinfo(sums).max:
            raise OverflowError(
                f"{len(self.points.data)} times {len(other.points.data)} pairs may not fit int32: turn x64 "
                "mode on to count them under jit"
            )
        # The number of images is not known beforehand: int32 stops at its largest number.
        is_counted = np.issubdtype(sums, np.integer)

        def finish(counts, xp):
            if not cumulative:
                counts = xp.diff(counts, prepend=counts[:1] * 0)
            if is_counted:
                counts = xp.minimum(counts, np.iinfo(sums).max)
            return (counts,)

        queries = ImageQueries(_counted(self.points.data, self.points.n), self.points.ids)
        pairs = PairSums(radii, None if is_counted else weights, np.dtype(np.int64) if is_counted else sums)
        counts = self._in_own_cell(other)._pair_sums(queries, pairs, search, finish, sums)
        return counts if traced else np.asarray(counts)

    # --- vectors ----------------------------------------------------------------------------------------

    def displacements(self, x, rows, shifts, search: Search):
        dtype = search.dtype
        q = int(np.prod(x.shape[:-1]))
        shape = rows.shape
        leaves = *self.points, x, rows, shifts
        with eagerly_unless_traced(*leaves), x64_for(dtype, rows.dtype):
            columns = jnp.asarray(rows).reshape(q, -1)
            if shifts is not None:
                shifts = jnp.asarray(shifts).reshape(*columns.shape, self._m)
            images = ImageRows(columns, shifts)
            vectors = displacements(self.points, jnp.asarray(x).reshape(q, self._m), images, dtype=dtype)
            return vectors.reshape(*shape, self._m)

    # --- checks -----------------------------------------------------------------------------------------

    def _check_queries(self, queries: ImageQueries) -> None:
        """Refuse concrete queries that are not finite or, on the host, too far away."""
        check_finite(queries.x)
        if is_on_host(queries.x):
            check_turns(self.points, self.periodic, queries.x, queries.ids, "a query")

    def _check_points(self) -> None:
        """Refuse points on the host that are too far away, once. A new `KDTree` has looked at others."""
        if not self._has_checked_points and not any_traced(*self.points) and is_on_host(self.points.data):
            check_turns_of_points(self.points, self.periodic)
        self._has_checked_points = True

    def _check_radius(self, r) -> None:
        """Refuse infinitely many images, and points that are too far away."""
        self._check_points()
        if any(self.periodic) and not is_traced(r) and np.isposinf(np.asarray(r)).any():
            raise ValueError("within an infinite radius there are infinitely many images: pass a finite one")


def tree_search(search: Search) -> Search:
    """Return what is asked of a tree in one cell: without a box, and in float64."""
    return search._replace(boxsize=None, eps=0.0, dtype=FLOAT64)


def _x64_for(neighbors: NearestNeighbors):
    return x64_for(*[array.dtype for array in neighbors])


def _counted(data, n):
    """Return points with nan in the rows that do not count."""
    if type(n) is int and n == len(data):
        return data
    xp = jnp if any_traced(data, n) else np
    with eagerly_unless_traced(data, n), x64_for(data.dtype):
        nan = np.array(np.nan, data.dtype)
        return xp.where(xp.arange(len(data))[:, None] < n, xp.asarray(data), nan)


@compiled
def _without_itself(neighbors: NearestNeighbors) -> NearestNeighbors:
    """Return neighbors (n, k + 1) of the points without each point itself, or without the last, (n, k)."""
    rows = jnp.arange(neighbors.rows.shape[0], dtype=neighbors.rows.dtype)[:, None]
    is_itself = (neighbors.rows == rows) & jnp.all(neighbors.shifts == 0, axis=-1)
    is_after = jnp.cumsum(is_itself, axis=1)[:, :-1] > 0

    def without(values):
        after = is_after.reshape(*is_after.shape, *(1,) * (values.ndim - 2))
        return jnp.where(after, values[:, 1:], values[:, :-1])

    return NearestNeighbors(*map(without, neighbors))


@compiled
def _edges_of(neighbors: NearestNeighbors, n):
    """Return receivers, senders, shifts, distances and the number of the edges from neighbors."""
    senders = neighbors.rows
    receivers = jnp.arange(senders.shape[0], dtype=senders.dtype)[:, None]
    is_edge = (senders < n) & (receivers < n)
    receivers = jnp.where(is_edge, receivers, n)
    count = jnp.sum(is_edge, dtype=senders.dtype)
    shifts = neighbors.shifts.reshape(-1, neighbors.shifts.shape[-1])
    return receivers.reshape(-1), senders.reshape(-1), shifts, neighbors.distances.reshape(-1), count
