"""What a `KDTree` with a cell or with clouds asks: SciPy or an engine finds images, distances get slopes."""

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..._core._dtypes import x64_for, x64_on
from ..._core._programs import any_traced, compiled, eagerly, eagerly_unless_traced, is_traced
from .._arrays import RECORD, as_dtype, check_finite, is_on_host, placed_like
from .._engines._protocol import Engine
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
from .._scipy._callback import Batch, Result, called_back, computed
from .._scipy._cloud import Options
from .._search import Columns, PairWeights, Queries, Search, sums_dtype
from .._searcher import ConcreteSearcher, without_slopes
from .._tree._build import padded_size
from .._tree._lengths import first_rows
from .._tree._queries import Relation
from . import _device
from ._batch import JoinedClouds, SharedCloud, numbers_of_queries
from ._host import Found, ImageCloud
from ._lattice import lattice_of
from ._points import ImagePoints, ImageQueries
from ._slopes import vectors_to, with_image_slopes

__all__ = ["ImageSearcher", "check_turns_of_points"]

LINES_AT_ONCE = 1 << 22  # places for neighbours
INT32 = np.dtype(np.int32)
FLOAT64 = np.dtype(np.float64)


class _HostSearch(NamedTuple):
    """A search by SciPy of one cloud, and of the clouds of all items of a batch at once."""

    of_one: Callable  # (cloud, *inputs)
    of_items: Callable | None  # (clouds, *inputs), inputs and results with the axis of items in front
    is_of_queries: bool  # which may be those of all items in points that they share


def _search_of_queries(search: Callable, *, is_among_points: bool, has_rows: bool) -> _HostSearch:
    """Return a search ``search(cloud, queries, numbers)`` that finds the same for queries of all items.

    `numbers` are of all queries, or of each; the first of the results may be rows.
    """

    def of_items(clouds: SharedCloud | JoinedClouds, queries: ImageQueries | None, numbers):
        count = clouds.rows if queries is None else queries.x.shape[1]
        flat = None if queries is None else clouds.queries(queries)
        found = search(clouds.cloud, flat, numbers_of_queries(numbers, clouds.item_count, count))
        found = [each.reshape(clouds.item_count, count, *each.shape[1:]) for each in found]
        return [clouds.rows_of_items(found[0]), *found[1:]] if has_rows else found

    return _HostSearch(search, of_items, is_of_queries=not is_among_points)


class ImageSearcher(ConcreteSearcher):
    """The searches of points of which every image counts, and of clouds that do not see each other.

    Without `engine` SciPy searches: concrete arrays at once, traced ones when a program calls back. Results
    of a tree with a cell have shifts. Inside, queries are `ImageQueries`; None stands for the points.
    """

    def __init__(
        self, points: ImagePoints, periodic: tuple[bool, ...], engine: Engine | None, options: Options
    ):
        self.points = points
        self.data = points.data
        self.periodic = periodic
        self.engine = engine if len(points.data) else None  # without points there is nothing to search
        self.options = options
        self._cloud: ImageCloud | None = None
        self._has_checked_points = False

    @property
    def has_shifts(self) -> bool:
        """Whether there is a cell."""
        return self.points.cell is not None

    @property
    def cloud(self) -> ImageCloud:
        """SciPy's tree over concrete points, built at first use."""
        if self._cloud is None:
            points = jax.tree.map(np.asarray, self.points)
            self._cloud = ImageCloud(points, self.periodic, self.options)
        return self._cloud

    @property
    def _is_traced(self) -> bool:
        return any_traced(*self.points)

    # --- who searches -----------------------------------------------------------------------------------

    def _found(
        self, by_scipy: _HostSearch, by_engine: Callable, results: list[Result], inputs: tuple, **static
    ):
        """Return what a search finds, in the shapes and dtypes of the results.

        ``by_engine(points, *inputs, ...)`` is of `_device`.
        """
        traced = self._is_traced or any_traced(*jax.tree.leaves(inputs))
        with eagerly_unless_traced(*self.points, *jax.tree.leaves(inputs)):
            if self.engine is None:
                found = self._by_scipy(by_scipy, results, inputs)
                return found if traced else placed_like(self.points.data, *found)
            points, inputs = without_slopes((self.points, inputs))
            found = by_engine(points, *inputs, periodic=self.periodic, **static)
            with x64_for(*(result.dtype for result in results)):
                return [
                    array.astype(result.dtype).reshape(result.shape)
                    for array, result in zip(found, results, strict=True)
                ]

    def _by_scipy(self, by_scipy: _HostSearch, results: list[Result], inputs: tuple) -> list:
        """Return what SciPy finds, at once or when a program calls back."""
        of_points = tuple(self.points) if self._is_traced else ()
        leaves, structure = jax.tree.flatten((of_points, inputs))

        def search(*leaves):
            of_points, inputs = jax.tree.unflatten(structure, leaves)
            return by_scipy.of_one(self._cloud_of(of_points), *inputs)

        if not any_traced(*leaves):
            found = computed(search, results, *leaves)
            return [each.reshape(result.shape) for each, result in zip(found, results, strict=True)]

        def of_batch(batch: Batch) -> list:
            is_joined = math.prod(batch.shape) > 1 and len(self.points.data) > 0
            if is_joined and by_scipy.of_items is not None:
                of_points, inputs = jax.tree.unflatten(structure, batch.in_line())
                clouds = self._clouds_of(of_points, math.prod(batch.shape), by_scipy.is_of_queries)
                return by_scipy.of_items(clouds, *inputs)
            of_each = [search(*leaves) for leaves in batch.items()]
            return [np.stack(each) for each in zip(*of_each, strict=True)]

        return called_back(of_batch, results, leaves)

    def _cloud_of(self, of_points: tuple) -> ImageCloud:
        """Return SciPy's tree over points that are known now; without any over those that always were."""
        if not of_points:
            return self.cloud
        return ImageCloud(ImagePoints(*of_points), self.periodic, self.options)

    def _clouds_of(self, of_points: tuple, item_count: int, is_of_queries: bool):
        """Return the clouds of all items of a batch, of arrays with their axis in front."""
        if is_of_queries and all(len(each) == 1 for each in jax.tree.leaves(of_points)):
            first = jax.tree.map(lambda each: each[0], of_points)
            return SharedCloud(self._cloud_of(first), item_count)
        points = of_points or jax.tree.map(lambda array: np.asarray(array)[None], self.points)
        return JoinedClouds(ImagePoints(*points), self.periodic, self.options, item_count)

    def _search(self, search: Search) -> Search:
        """Return what is asked of a tree in one cell: without a box, and in float64."""
        search = search._replace(boxsize=None, eps=0.0, dtype=FLOAT64)
        return search if self.engine is None else search.compiled(self.engine)

    def _queries(self, queries: ImageQueries | None) -> tuple:
        """Return queries, those on the host finite and not too far away."""
        self._check_points()
        if queries is not None and not is_traced(queries.x):
            check_finite(queries.x)
            if is_on_host(queries.x):
                check_turns(self.points, self.periodic, queries.x, queries.ids, "a query")
        return (queries,)

    def _check_points(self) -> None:
        """Refuse points that are too far away, once: those on the host, as a new `KDTree` looks at others."""
        if not self._has_checked_points and not self._is_traced and is_on_host(self.points.data):
            check_turns_of_points(self.points, self.periodic)
        self._has_checked_points = True

    # --- the nearest ------------------------------------------------------------------------------------

    def nearest(self, queries: Queries, columns: Columns, bound, search: Search) -> NearestNeighbors:
        lines = self._nearest(_image_queries(queries), columns.k, bound, search)
        return self._picked(lines, columns, queries.shape)

    def _nearest(self, queries: ImageQueries | None, k: int, bound, search: Search) -> NearestNeighbors:
        """Return the `k` nearest images of queries (q, m)."""
        x = self.points.data if queries is None else queries.x
        shape = len(x), k
        results = [
            Result(shape, search.index_dtype),
            Result((*shape, self._m), INT32),
            Result(shape, search.dtype),
        ]
        inner = self._search(search)

        def by_scipy(cloud: ImageCloud, queries, bound):
            reduced = _reduced(cloud, queries)
            return cloud.nearest(reduced, np.broadcast_to(bound, len(reduced.x)), k, inner)

        bound = as_dtype(bound, search.dtype) if is_traced(bound) else np.asarray(bound, search.dtype)
        inputs = *self._queries(queries), bound
        host = _search_of_queries(by_scipy, is_among_points=queries is None, has_rows=True)
        rows, shifts, distances = self._found(host, _device.nearest, results, inputs, search=inner, k=k)
        return NearestNeighbors(self._sloped(distances, queries, rows, shifts, search), rows, shifts)

    def _picked(self, lines: NearestNeighbors, columns: Columns, batch: tuple[int, ...]) -> NearestNeighbors:
        """Return the columns asked for, in the shape of the batch of the queries."""
        with eagerly_unless_traced(*lines), x64_for(*(each.dtype for each in lines)):
            if columns.chosen is not None:
                which = np.asarray(columns.chosen) - 1
                lines = NearestNeighbors(*(each[:, which] for each in lines))
            shape = batch + columns.shape
            distances, rows, shifts = lines
            shifts = shifts.reshape(*shape, self._m)
            return NearestNeighbors(distances.reshape(shape), rows.reshape(shape), shifts)

    def kneighbors(self, columns: Columns, bound, search: Search) -> NearestNeighbors:
        lines = self._nearest(None, columns.k, bound, search)
        with eagerly_unless_traced(*lines), x64_for(*(each.dtype for each in lines)):
            return _without_itself(lines)

    def knn_graph(self, columns: Columns, search: Search, loop: bool):
        if loop:
            lines = self._nearest(None, columns.k, np.inf, search)
        else:
            lines = self.kneighbors(columns, np.inf, search)
        with eagerly_unless_traced(self.points.n, *lines), x64_for(*(each.dtype for each in lines)):
            n = jnp.asarray(self.points.n, lines.rows.dtype)
            senders, receivers, distances, count, shifts = _edges_of(lines, n)
        return self._graph(receivers, senders, shifts, distances, count)

    # --- within a radius --------------------------------------------------------------------------------

    def fixed(self, queries: Queries, r, search: Search, max_neighbors: int):
        self._check_radius(r)
        limit = max_neighbors
        given = _image_queries(queries)
        q = len(given.x)
        shape = q, limit
        results = [
            Result(shape, search.index_dtype),
            Result((*shape, self._m), INT32),
            Result(shape, search.dtype),
            Result((q,), search.index_dtype),
        ]
        inner = self._search(search)

        def by_scipy(cloud: ImageCloud, queries, r):
            return cloud.fixed(_reduced(cloud, queries), r, limit, inner)

        inputs = *self._queries(given), r
        host = _search_of_queries(by_scipy, is_among_points=False, has_rows=True)
        found = self._found(host, _device.fixed, results, inputs, search=inner, limit=limit)
        rows, shifts, distances, counts = found
        distances = self._sloped(distances, given, rows, shifts, search)
        with eagerly_unless_traced(rows), x64_for(search.dtype, search.index_dtype):
            lines = *queries.shape, limit
            counts = counts.reshape(queries.shape)
            fixed = FixedNeighbors(rows.reshape(lines), distances.reshape(lines), counts)
            if not self.has_shifts:
                return fixed
            return PeriodicFixedNeighbors(*fixed, shifts.reshape(*lines, self._m))

    def counts(self, queries: Queries, r, search: Search):
        self._check_radius(r)
        inner = self._search(search)

        def by_scipy(cloud: ImageCloud, queries, r):
            return (cloud.counts(_reduced(cloud, queries), r, inner),)

        results = [Result(queries.shape, search.index_dtype)]
        inputs = *self._queries(_image_queries(queries)), r
        host = _search_of_queries(by_scipy, is_among_points=False, has_rows=False)
        return self._found(host, _device.counts, results, inputs, search=inner)[0]

    def csr(self, queries: Queries, r, search: Search, sort: bool):
        indptr, rows, distances, shifts = self._concrete_csr(queries, r, search, sort)
        dtype = search.index_dtype
        if indptr[-1] > np.iinfo(dtype).max:
            dtype = np.dtype(np.int64)
        arrays = indptr.astype(dtype), rows.astype(search.index_dtype), distances.astype(search.dtype)
        if not self.has_shifts:
            return Neighbors(*placed_like(self.points.data, *arrays))
        return PeriodicNeighbors(*placed_like(self.points.data, *arrays, shifts))

    def lists(self, queries: Queries, r, search: Search, in_order: bool) -> list[list[int]]:
        indptr, rows, _, _ = self._concrete_csr(queries, r, search, False)
        lists = [each.tolist() for each in np.split(rows, indptr[1:-1])] if len(indptr) > 1 else []
        return [sorted(each) for each in lists] if in_order else lists

    def _concrete_csr(self, queries: Queries, r, search: Search, sort: bool) -> tuple:
        """Return NumPy arrays: where each query's images begin and end, rows, distances and shifts."""
        given = _image_queries(queries)
        self._queries(given)
        self._check_radius(r)
        q = len(given.x)
        if self.engine is None:
            given = jax.tree.map(np.asarray, given)
            found = self.cloud.all_within(self.cloud.queries(given), np.asarray(r), self._search(search))
            found = found.in_order() if sort else found
            indptr = np.append(0, np.cumsum(np.bincount(found.query, minlength=q)))
            return indptr, found.row, found.distance, found.shift
        counts = np.asarray(self.counts(queries._replace(shape=(q,)), r, search)).astype(np.int64)
        most = int(np.max(counts, initial=0))
        limit = 1 << max(most - 1, 7).bit_length()  # so that few programs serve all
        pieces = [
            self._found_of(part, radii, search, limit)
            for part, radii in _parts_of_queries(queries, r, max(LINES_AT_ONCE // limit, 1))
        ]
        counts, rows, distances, shifts = (np.concatenate(each) for each in zip(*pieces, strict=True))
        indptr = np.append(0, np.cumsum(counts[:q]))
        return indptr, rows, distances, shifts if self.has_shifts else None

    def _found_of(self, queries: Queries, r, search: Search, limit: int) -> tuple:
        """Return how many images each query has, and their rows, distances and shifts, one after another."""
        fixed = self.fixed(queries, r, search, limit)
        counts = np.minimum(np.asarray(fixed.counts).astype(np.int64), limit)
        is_found = np.arange(limit) < counts[:, None]
        shifts = np.asarray(fixed.shifts)[is_found] if self.has_shifts else np.zeros((0, self._m), np.int32)
        return counts, np.asarray(fixed.indices)[is_found], np.asarray(fixed.distances)[is_found], shifts

    # --- among the points -------------------------------------------------------------------------------

    def edges(self, r, search: Search, relation: Relation):
        return self._graph(*self._concrete_edges(r, search, relation))

    def fixed_edges(self, r, search: Search, relation: Relation, size: int):
        return self._graph(*self._fixed_edges(r, search, relation, size))

    def pairs(self, r, search: Search, output_type: str):
        if self.has_shifts and output_type == "set":
            raise ValueError(
                "a set of pairs of rows holds no shifts: pass output_type='ndarray', or max_pairs, for "
                "arrays with shifts"
            )
        found = self._pairs(*self._concrete_edges(r, search, Relation.LATER))
        if self.has_shifts:
            return found
        return found.pairs if output_type == "ndarray" else set(map(tuple, np.asarray(found.pairs).tolist()))

    def fixed_pairs(self, r, search: Search, size: int):
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

    def _concrete_edges(self, r, search: Search, relation: Relation) -> tuple:
        """Return receivers, senders, shifts, distances and the number of all edges."""
        self._check_radius(r)
        dtype = search.index_dtype
        if self.engine is None:
            found = self.cloud.edges(np.asarray(r), relation, self._search(search))
            count = dtype.type(len(found.query))
            return placed_like(self.points.data, *_edge_arrays(found, search), count)
        *_, count = self._fixed_edges(r, search, relation, 1)
        size = padded_size(max(int(count), 1))
        *edges, count = self._fixed_edges(r, search, relation, size)
        with eagerly():
            return *first_rows(int(count), *edges), count

    def _fixed_edges(self, r, search: Search, relation: Relation, size: int) -> tuple:
        """Return receivers, senders, shifts and distances (size, ...), and the true number."""
        self._check_radius(r)
        rows = Result((size,), search.index_dtype)
        results = [
            rows,
            rows,
            Result((size, self._m), INT32),
            Result((size,), search.dtype),
            Result((), search.index_dtype),
        ]
        inner = self._search(search)
        most = np.iinfo(search.index_dtype).max

        def by_scipy(cloud: ImageCloud, r):
            found = cloud.edges(np.asarray(r), relation, inner)
            fills = cloud.n, cloud.n, 0, np.inf
            filled = []
            for values, fill in zip(_edge_arrays(found, search), fills, strict=True):
                array = np.empty((size, *values.shape[1:]), values.dtype)
                array[: len(values)] = values[:size]
                array[len(values) :] = fill
                filled.append(array)
            return *filled, min(len(found.query), most)

        def of_items(clouds: JoinedClouds, r):
            radii = numbers_of_queries(r, clouds.item_count, clouds.rows)
            *filled, counts = clouds.edges_of_items(clouds.cloud.edges(radii, relation, inner), size)
            return *filled, np.minimum(counts, most)

        host = _HostSearch(by_scipy, of_items, is_of_queries=False)
        options = {"search": inner, "relation": relation, "size": size}
        found = self._found(host, _device.edges, results, (r,), **options)
        receivers, senders, shifts, distances, count = found
        if any_traced(self.points.data, self.points.cell) and len(self.points.data):
            ends = ImageQueries(self._points_of(receivers), self._ids_of(receivers))
            columns = distances[:, None], senders[:, None], shifts[:, None]
            distances = self._sloped(columns[0], ends, *columns[1:], search)[:, 0]
        return receivers, senders, shifts, distances, count

    def _points_of(self, rows):
        return self.points.data[jnp.minimum(rows, max(len(self.points.data) - 1, 0))]

    def _ids_of(self, rows):
        ids = self.points.ids
        return None if ids is None else jnp.asarray(ids)[jnp.minimum(rows, max(len(ids) - 1, 0))]

    # --- between two trees ------------------------------------------------------------------------------

    def ball_tree(self, other: "ImageSearcher", r, search: Search) -> list[list[int]]:
        return self._in_own_cell(other).lists(self._own_points(), self._radii(r), search, True)

    def distance_records(self, other: "ImageSearcher", r, search: Search) -> np.ndarray:
        """Return the distance of each point to each of the other tree's, of these images the nearest."""
        searched = self._in_own_cell(other)
        indptr, rows, distances, _ = searched._concrete_csr(self._own_points(), self._radii(r), search, False)
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
        """Return what searches the points of another tree and their images in this tree's cell."""
        points = other.points._replace(cell=self.points.cell)
        return ImageSearcher(points, self.periodic, self.engine, self.options)

    def _own_points(self) -> Queries:
        """Return the points, which are concrete, as queries."""
        n = int(self.points.n)
        ids = None if self.points.ids is None else np.asarray(self.points.ids)[:n]
        return Queries(np.asarray(self.points.data)[:n], (n,), ids)

    def _radii(self, r) -> np.ndarray:
        return np.broadcast_to(r, int(self.points.n))

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
        inner = self._search(search)
        queries = ImageQueries(_counted(self.points.data, self.points.n), self.points.ids)
        # How many images there are is not known before: what int32 does not hold is its largest number.
        is_counted = np.issubdtype(sums, np.integer)
        wide = np.dtype(np.int64) if is_counted else sums
        own, others = weights
        if own is None:
            own, others = (np.ones(len(each.points.data), wide) for each in (self, other))
        searched = self._in_own_cell(other)

        def by_scipy(cloud: ImageCloud, queries, radii, *weights):
            given = [] if is_counted else weights
            counts = cloud.two_point(_reduced(cloud, queries), radii, *given, search=inner, sums=wide)
            counts = counts if cumulative else np.diff(counts, prepend=counts[:1] * 0)
            return (np.minimum(counts, np.iinfo(sums).max) if is_counted else counts,)

        def by_engine(points, *inputs, **static):
            (counts,) = _device.two_point(points, *inputs, **static)
            with x64_on():
                counts = counts if cumulative else jnp.diff(counts, prepend=counts[:1] * 0)
                return (jnp.minimum(counts, np.iinfo(sums).max) if is_counted else counts,)

        results = [Result(radii.shape, sums)]
        searched._check_points()
        inputs = queries, radii, own, others
        host = _HostSearch(by_scipy, None, is_of_queries=True)
        (counts,) = searched._found(host, by_engine, results, inputs, search=inner, sums=wide)
        return counts if traced else np.asarray(counts)

    # --- clusters ---------------------------------------------------------------------------------------

    def components(self, radius, search: Search) -> tuple:
        """Return how many components there are, and labels (rows,)."""
        self._check_radius(radius)
        inner = self._search(search)

        def by_scipy(cloud: ImageCloud, radius):
            return cloud.components(radius, inner)

        def of_items(clouds: JoinedClouds, radius):
            radii = numbers_of_queries(radius, clouds.item_count, clouds.rows)
            _, labels = clouds.cloud.components(radii, inner)
            return clouds.labels_of_items(labels)

        host = _HostSearch(by_scipy, of_items, is_of_queries=False)
        results = [Result((), search.index_dtype), Result((len(self.points.data),), search.index_dtype)]
        return tuple(self._found(host, _device.components, results, (radius,), search=inner))

    def dbscan(self, radius, weights, search: Search, min_samples: int) -> tuple:
        """Return which points are cores (rows,), and labels (rows,)."""
        self._check_radius(radius)
        inner = self._search(search)

        def by_scipy(cloud: ImageCloud, radius, weights):
            return cloud.dbscan(radius, weights, min_samples, inner)

        def of_items(clouds: JoinedClouds, radius, weights):
            radii = numbers_of_queries(radius, clouds.item_count, clouds.rows)
            if weights is not None:
                weights = numbers_of_queries(weights, clouds.item_count, clouds.rows)
            is_core, labels = clouds.cloud.dbscan(radii, weights, min_samples, inner)
            return is_core, clouds.labels_of_items(labels)[1]

        host = _HostSearch(by_scipy, of_items, is_of_queries=False)
        rows = (len(self.points.data),)
        results = [Result(rows, np.dtype(bool)), Result(rows, search.index_dtype)]
        inputs = radius, weights
        options = {"search": inner, "min_samples": min_samples}
        return tuple(self._found(host, _device.dbscan, results, inputs, **options))

    # --- vectors ----------------------------------------------------------------------------------------

    def displacements(self, x, rows, shifts, search: Search):
        dtype = search.dtype
        q = int(np.prod(x.shape[:-1]))
        shape = rows.shape
        leaves = *self.points, x, rows, shifts
        with eagerly_unless_traced(*leaves), x64_for(dtype, rows.dtype):
            columns = jnp.asarray(rows).reshape(q, -1)
            cell = self.points.cell
            if shifts is not None:
                shifts = jnp.asarray(shifts).reshape(*columns.shape, self._m)
            inputs = self.points.data, self.points.n, jnp.asarray(x).reshape(q, self._m), cell
            ids = self.points.ids
            vectors = _vectors(*inputs, ids, columns, shifts, dtype=dtype)
            return vectors.reshape(*shape, self._m)

    def _sloped(self, distances, queries: ImageQueries | None, rows, shifts, search: Search):
        """Return distances (q, k) as a function of points, queries and cell."""
        data, n, cell, ids = self.points
        x = data if queries is None else queries.x
        if not any_traced(data, cell, x) or not len(data):
            return distances
        ids = ids if queries is None else queries.ids
        with x64_on():
            if cell is not None and cell.ndim == 3:
                cell = cell[jnp.clip(jnp.asarray(ids), 0, len(cell) - 1)]
            columns = jnp.where(rows < as_dtype(n, rows.dtype), rows, len(data))
        x = as_dtype(x, search.dtype)
        return with_image_slopes(distances, data, x, cell, columns, shifts, search.p)

    @property
    def _m(self) -> int:
        return self.points.data.shape[1]

    def _check_radius(self, r) -> None:
        """Refuse infinitely many images, and points that are too far away."""
        self._check_points()
        if any(self.periodic) and not is_traced(r) and np.isposinf(np.asarray(r)).any():
            raise ValueError("within an infinite radius there are infinitely many images: pass a finite one")


def check_turns_of_points(points: ImagePoints, periodic: tuple[bool, ...]) -> None:
    """Refuse points, of those that count, that are too far away; none of traced ones."""
    if points.cell is None or any_traced(*points):
        return
    n = int(points.n)
    ids = None if points.ids is None else np.asarray(points.ids)[:n]
    check_turns(points, periodic, np.asarray(points.data)[:n], ids, "a point")


def check_turns(points: ImagePoints, periodic: tuple[bool, ...], x, ids, what: str) -> None:
    """Refuse places `x` so far away that shifts cannot count the cells up to them; none of traced ones."""
    cell = points.cell
    if cell is None or not len(x) or any_traced(x, ids, cell):
        return
    cell = np.asarray(cell, np.float64)
    x = np.asarray(x, np.float64)
    with np.errstate(all="ignore"):
        lattice = lattice_of(cell, periodic, np)
        if lattice.has_axes:
            lattice = lattice.of_clouds(np.clip(np.asarray(ids), 0, len(cell) - 1))
        turns = lattice.wrapped(x, np).turns
    is_far = np.isfinite(x).all(axis=1) & np.isnan(turns).any(axis=1)
    if is_far.any():
        raise ValueError(
            f"{what} lies 2**29 cells or more from the origin, more than int32 shifts can count: got "
            f"{x[is_far][0]}; wrap it into the cell, or pass shorter vectors"
        )


def _image_queries(queries: Queries) -> ImageQueries:
    return ImageQueries(queries.x, queries.ids)


def _parts_of_queries(queries: Queries, r, size: int) -> Iterator[tuple[Queries, Any]]:
    """Yield parts of concrete queries and their radii, all of one size: what is missing reaches nothing."""
    q = len(queries.x)
    if q <= size:
        yield queries._replace(shape=(q,)), r
        return
    x = np.asarray(queries.x)
    ids = None if queries.ids is None else np.asarray(queries.ids)
    radii = np.broadcast_to(np.asarray(r), q)
    for start in range(0, q, size):
        rows = np.arange(start, start + size)
        is_query = rows < q
        rows = np.minimum(rows, q - 1)
        part = Queries(x[rows], (size,), None if ids is None else ids[rows])
        yield part, np.where(is_query, radii[rows], radii.dtype.type(-1))


def _reduced(cloud: ImageCloud, queries: ImageQueries | None):
    return cloud.own_queries() if queries is None else cloud.queries(queries)


def _edge_arrays(found: Found, search: Search) -> tuple:
    """Return receivers, senders, shifts and distances of edges by receiver."""
    dtype = search.index_dtype
    return (
        found.query.astype(dtype, copy=False),
        found.row.astype(dtype, copy=False),
        found.shift,
        found.distance.astype(search.dtype, copy=False),
    )


def _counted(data, n):
    """Return points with nan in the rows that do not count."""
    if type(n) is int and n == len(data):
        return data
    xp = jnp if any_traced(data, n) else np
    with eagerly_unless_traced(data, n), x64_for(data.dtype):
        nan = np.array(np.nan, data.dtype)
        return xp.where(xp.arange(len(data))[:, None] < n, xp.asarray(data), nan)


@compiled
def _without_itself(lines: NearestNeighbors) -> NearestNeighbors:
    """Return all columns (n, k + 1) but that of each point itself, or the last where it is not there."""
    rows = jnp.arange(lines.rows.shape[0], dtype=lines.rows.dtype)[:, None]
    is_itself = (lines.rows == rows) & jnp.all(lines.shifts == 0, axis=-1)
    is_after = jnp.cumsum(is_itself, axis=1)[:, :-1] > 0

    def without(values):
        after = is_after.reshape(*is_after.shape, *(1,) * (values.ndim - 2))
        return jnp.where(after, values[:, 1:], values[:, :-1])

    return NearestNeighbors(*map(without, lines))


@compiled
def _edges_of(lines: NearestNeighbors, n):
    """Return senders, receivers, distances, the number and the shifts of the edges from neighbours."""
    senders = lines.rows
    receivers = jnp.arange(senders.shape[0], dtype=senders.dtype)[:, None]
    is_edge = (senders < n) & (receivers < n)
    receivers = jnp.where(is_edge, receivers, n)
    count = jnp.sum(is_edge, dtype=senders.dtype)
    shifts = lines.shifts.reshape(-1, lines.shifts.shape[-1])
    return senders.reshape(-1), receivers.reshape(-1), lines.distances.reshape(-1), count, shifts


@partial(compiled, static_argnames="dtype")
def _vectors(data, n, x, cell, ids, rows, shifts, *, dtype):
    """Return the vectors (q, k, m) from queries to images of rows (q, k)."""
    with x64_on():
        is_row = (rows >= 0) & (rows < jnp.asarray(n).astype(rows.dtype))
        rows = jnp.where(is_row, rows, len(data))
        if not len(data):
            return jnp.zeros((*rows.shape, x.shape[1]), dtype)
        if cell is not None and cell.ndim == 3:  # each vector has the cell of the cloud that it ends in
            of_rows = ids[jnp.minimum(rows, len(data) - 1)]
            cells = cell.astype(jnp.float64)[jnp.clip(of_rows, 0, len(cell) - 1)]
            along = (shifts.astype(jnp.float64)[..., None] * cells).sum(axis=-2)
            vectors = vectors_to(data, x, None, rows, None) + jnp.where(is_row[..., None], along, 0)
        else:
            vectors = vectors_to(data, x, cell, rows, shifts)
        return vectors.astype(dtype)
