"""What a `KDTree` with a cell or with clouds asks: SciPy or an engine finds images, distances get slopes."""

import math
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import cached_property
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..._core._dtypes import x64_for, x64_on
from ..._core._lengths import first_rows
from ..._core._programs import any_traced, compiled, eagerly, eagerly_unless_traced, is_traced
from .._arrays import RECORD, as_dtype, check_finite, in_shape, is_on_host, placed_like
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
from .._scipy._callback import Batch, Result, called_back
from .._scipy._trees import Options
from .._search import Columns, PairWeights, Queries, Search, sums_dtype
from .._searcher import ConcreteSearcher
from .._tree._build import padded_size
from .._tree._queries import Relation
from .._tree._slopes import without_slopes
from . import _device
from ._batch import JoinedImages, SharedImages, numbers_of_queries
from ._cell_arguments import check_turns, check_turns_of_points
from ._host import HostImages, PairSums
from ._host_neighbors import HostNeighbors
from ._images import WrappedQueries
from ._points import ImagePoints, ImageQueries
from ._slopes import ImageRows, displacements, with_image_slopes

__all__ = ["ImageSearcher"]

NEIGHBORS_AT_ONCE = 1 << 22  # that are searched for at once, with room for the most of each query
EDGES_AT_FIRST = 1 << 12  # that are searched for before their number is known
INT32 = np.dtype(np.int32)
FLOAT64 = np.dtype(np.float64)


class _HostSearch(NamedTuple):
    """A search by SciPy of one cloud, and of the clouds of all items of a batch at once."""

    of_one: Callable  # (images, *inputs)
    of_items: Callable | None  # (items, *inputs), inputs and results with the axis of items in front
    is_of_queries: bool  # and not of the points: items that share the points may be searched for together


def _search_of_queries(search: Callable, *, is_among_points: bool, has_rows: bool) -> _HostSearch:
    """Return a search ``search(images, queries, numbers)`` that finds the same for queries of all items.

    `numbers` are of all queries, or of each; the first of the results may be rows.
    """

    def of_items(items: SharedImages | JoinedImages, queries: ImageQueries | None, numbers):
        if queries is None:
            count = items.rows
            joined_queries = None
        else:
            count = queries.x.shape[1]
            joined_queries = items.queries(queries)
        joined_numbers = numbers_of_queries(numbers, items.item_count, count)
        arrays = search(items.images, joined_queries, joined_numbers)
        arrays = [array.reshape(items.item_count, count, *array.shape[1:]) for array in arrays]
        if has_rows:
            arrays[0] = items.rows_of_items(arrays[0])
        return arrays

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
        self._m = points.data.shape[1]
        self._is_traced = any_traced(*points)
        self._has_checked_points = False

    @property
    def has_shifts(self) -> bool:
        """Whether there is a cell."""
        return self.points.cell is not None

    @cached_property
    def host_images(self) -> HostImages:
        """SciPy's tree over concrete points, built at first use."""
        points = jax.tree.map(np.asarray, self.points)
        return HostImages(points, self.periodic, self.options)

    # --- who searches -----------------------------------------------------------------------------------

    def _results_of(
        self, by_scipy: _HostSearch, by_engine: Callable, results: list[Result], inputs: tuple, **static
    ):
        """Return the arrays that a search finds, in the shapes and dtypes of the results.

        SciPy searches where this searcher has no engine; else ``by_engine(points, *inputs, ...)`` does, which
        is a function of `_device`.
        """
        traced = any_traced(*self.points, *jax.tree.leaves(inputs))
        if self.engine is None and not traced:
            return placed_like(self.points.data, *self._at_once(by_scipy, results, inputs))
        with nullcontext() if traced else eagerly():
            if self.engine is None:
                return self._by_callback(by_scipy, results, inputs)
            points, inputs = without_slopes((self.points, inputs))
            arrays = by_engine(points, *inputs, periodic=self.periodic, **static)
            with x64_for(*(result.dtype for result in results)):
                return [_as_result(array, result) for array, result in zip(arrays, results, strict=True)]

    def _at_once(self, by_scipy: _HostSearch, results: list[Result], inputs: tuple) -> list[np.ndarray]:
        """Return what SciPy finds of concrete arrays."""
        arrays = by_scipy.of_one(self.host_images, *jax.tree.map(np.asarray, inputs))
        found = zip(arrays, results, strict=True)
        return [np.asarray(array, result.dtype).reshape(result.shape) for array, result in found]

    def _by_callback(self, by_scipy: _HostSearch, results: list[Result], inputs: tuple) -> list:
        """Return what SciPy finds when a program calls back."""
        traced_points = tuple(self.points) if self._is_traced else ()
        leaves, structure = jax.tree.flatten((traced_points, inputs))

        def search(*leaves):
            traced_points, inputs = jax.tree.unflatten(structure, leaves)
            return by_scipy.of_one(self._host_images_of(traced_points), *inputs)

        def of_batch(batch: Batch) -> list:
            item_count = math.prod(batch.shape)
            if item_count > 1 and len(self.points.data) > 0 and by_scipy.of_items is not None:
                traced_points, inputs = jax.tree.unflatten(structure, batch.in_line())
                items = self._images_of_items(traced_points, item_count, by_scipy.is_of_queries)
                return by_scipy.of_items(items, *inputs)
            arrays_of_items = [search(*leaves) for leaves in batch.items()]
            return [np.stack(arrays) for arrays in zip(*arrays_of_items, strict=True)]

        return called_back(of_batch, results, leaves)

    def _host_images_of(self, traced_points: tuple) -> HostImages:
        """Return SciPy's tree over points whose values are known now; without any, over concrete ones."""
        if not traced_points:
            return self.host_images
        return HostImages(ImagePoints(*traced_points), self.periodic, self.options)

    def _images_of_items(self, traced_points: tuple, item_count: int, is_of_queries: bool):
        """Return the clouds of all items of a batch; arrays have the axis of items in front."""
        is_shared = all(len(array) == 1 for array in jax.tree.leaves(traced_points))
        if is_of_queries and is_shared:
            points_of_first = jax.tree.map(lambda array: array[0], traced_points)
            return SharedImages(self._host_images_of(points_of_first), item_count)
        points = traced_points
        if not points:
            points = jax.tree.map(lambda array: np.asarray(array)[None], self.points)
        return JoinedImages(ImagePoints(*points), self.periodic, self.options, item_count)

    def _tree_search(self, search: Search) -> Search:
        """Return what is asked of a tree in one cell: without a box, and in float64."""
        search = search._replace(boxsize=None, eps=0.0, dtype=FLOAT64)
        return search if self.engine is None else search.static_part(self.engine)

    def _inputs(self, queries: ImageQueries | None, *numbers) -> tuple:
        """Return queries and numbers as inputs of a search; None stands for the points.

        Points and concrete queries are checked: finite, and those on the host not too far away. Where all is
        concrete and SciPy searches, queries are wrapped here: the same look tells whether they can be.
        """
        self._check_points()
        if queries is None or is_traced(queries.x):
            return queries, *numbers
        if self.engine is None and not (self._is_traced or any_traced(queries.ids, *numbers)):
            ids = None if queries.ids is None else np.asarray(queries.ids)
            wrapped = self.host_images.queries(ImageQueries(np.asarray(queries.x), ids))
            if not wrapped.is_finite.all():
                self._check_queries(queries)
            return wrapped, *numbers
        self._check_queries(queries)
        return queries, *numbers

    def _check_queries(self, queries: ImageQueries) -> None:
        """Refuse concrete queries that are not finite or, on the host, too far away."""
        check_finite(queries.x)
        if is_on_host(queries.x):
            check_turns(self.points, self.periodic, queries.x, queries.ids, "a query")

    def _check_points(self) -> None:
        """Refuse points on the host that are too far away, once. A new `KDTree` has looked at others."""
        if not self._has_checked_points and not self._is_traced and is_on_host(self.points.data):
            check_turns_of_points(self.points, self.periodic)
        self._has_checked_points = True

    # --- the nearest ------------------------------------------------------------------------------------

    def nearest(self, queries: Queries, columns: Columns, bound, search: Search) -> NearestNeighbors:
        neighbors = self._nearest(_image_queries(queries), columns.k, bound, search)
        return self._picked(neighbors, columns, queries.shape)

    def _nearest(self, queries: ImageQueries | None, k: int, bound, search: Search) -> NearestNeighbors:
        """Return the `k` nearest images of queries (q, m)."""
        x = self.points.data if queries is None else queries.x
        shape = len(x), k
        results = [
            Result(shape, search.index_dtype),
            Result((*shape, self._m), INT32),
            Result(shape, search.dtype),
        ]
        tree_search = self._tree_search(search)

        def by_scipy(images: HostImages, queries, bound):
            wrapped = _wrapped(images, queries)
            return images.nearest(wrapped, np.broadcast_to(bound, len(wrapped.given)), k, tree_search)

        bound = as_dtype(bound, search.dtype) if is_traced(bound) else np.asarray(bound, search.dtype)
        inputs = self._inputs(queries, bound)
        host = _search_of_queries(by_scipy, is_among_points=queries is None, has_rows=True)
        rows, shifts, distances = self._results_of(
            host, _device.nearest, results, inputs, search=tree_search, k=k
        )
        return NearestNeighbors(self._sloped(distances, queries, rows, shifts, search), rows, shifts)

    def _picked(
        self, neighbors: NearestNeighbors, columns: Columns, batch: tuple[int, ...]
    ) -> NearestNeighbors:
        """Return the columns asked for, in the shape of the batch of the queries."""
        if columns.chosen is None and neighbors.rows.shape == batch + columns.shape:
            return neighbors
        with eagerly_unless_traced(*neighbors), _x64_for(neighbors):
            if columns.chosen is not None:
                chosen = np.asarray(columns.chosen) - 1
                neighbors = NearestNeighbors(*(array[:, chosen] for array in neighbors))
            shape = batch + columns.shape
            distances, rows, shifts = neighbors
            shifts = shifts.reshape(*shape, self._m)
            return NearestNeighbors(distances.reshape(shape), rows.reshape(shape), shifts)

    def kneighbors(self, columns: Columns, bound, search: Search) -> NearestNeighbors:
        neighbors = self._nearest(None, columns.k, bound, search)
        with eagerly_unless_traced(*neighbors), _x64_for(neighbors):
            return _without_itself(neighbors)

    def knn_graph(self, columns: Columns, search: Search, loop: bool):
        if loop:
            neighbors = self._nearest(None, columns.k, np.inf, search)
        else:
            neighbors = self.kneighbors(columns, np.inf, search)
        with eagerly_unless_traced(self.points.n, *neighbors), _x64_for(neighbors):
            n = jnp.asarray(self.points.n, neighbors.rows.dtype)
            senders, receivers, distances, count, shifts = _edges_of(neighbors, n)
        return self._graph(receivers, senders, shifts, distances, count)

    # --- within a radius --------------------------------------------------------------------------------

    def fixed(self, queries: Queries, r, search: Search, max_neighbors: int):
        self._check_radius(r)
        image_queries = _image_queries(queries)
        q = len(image_queries.x)
        shape = q, max_neighbors
        results = [
            Result(shape, search.index_dtype),
            Result((*shape, self._m), INT32),
            Result(shape, search.dtype),
            Result((q,), search.index_dtype),
        ]
        tree_search = self._tree_search(search)

        def by_scipy(images: HostImages, queries, r):
            return images.fixed(_wrapped(images, queries), r, max_neighbors, tree_search)

        inputs = self._inputs(image_queries, r)
        host = _search_of_queries(by_scipy, is_among_points=False, has_rows=True)
        options = {"search": tree_search, "max_neighbors": max_neighbors}
        rows, shifts, distances, counts = self._results_of(host, _device.fixed, results, inputs, **options)
        distances = self._sloped(distances, image_queries, rows, shifts, search)
        with eagerly_unless_traced(rows), x64_for(search.dtype, search.index_dtype):
            given_shape = *queries.shape, max_neighbors
            counts = counts.reshape(queries.shape)
            fixed = FixedNeighbors(rows.reshape(given_shape), distances.reshape(given_shape), counts)
            if not self.has_shifts:
                return fixed
            return PeriodicFixedNeighbors(*fixed, shifts.reshape(*given_shape, self._m))

    def counts(self, queries: Queries, r, search: Search):
        self._check_radius(r)
        tree_search = self._tree_search(search)

        def by_scipy(images: HostImages, queries, r):
            return (images.counts(_wrapped(images, queries), r, tree_search),)

        results = [Result(queries.shape, search.index_dtype)]
        inputs = self._inputs(_image_queries(queries), r)
        host = _search_of_queries(by_scipy, is_among_points=False, has_rows=False)
        (counts,) = self._results_of(host, _device.counts, results, inputs, search=tree_search)
        return counts

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
        if len(indptr) == 1:  # no queries, of which `split` makes one part
            return []
        lists = [part.tolist() for part in np.split(rows, indptr[1:-1])]
        return [sorted(part) for part in lists] if in_order else lists

    def _concrete_csr(self, queries: Queries, r, search: Search, sort: bool) -> tuple:
        """Return NumPy arrays: where each query's images begin and end, rows, distances and shifts."""
        image_queries = _image_queries(queries)
        wrapped, r = self._inputs(image_queries, r)
        self._check_radius(r)
        q = len(image_queries.x)
        if self.engine is None:
            neighbors = self.host_images.all_within(wrapped, np.asarray(r), self._tree_search(search))
            if sort:
                neighbors = neighbors.in_order()
            indptr = np.append(0, np.cumsum(np.bincount(neighbors.query, minlength=q)))
            return indptr, neighbors.row, neighbors.distance, neighbors.shift
        counts = np.asarray(self.counts(queries._replace(shape=(q,)), r, search)).astype(np.int64)
        largest_count = int(np.max(counts, initial=0))
        max_neighbors = 1 << max(largest_count - 1, 7).bit_length()  # a power of two: few programs serve all
        part_size = max(NEIGHBORS_AT_ONCE // max_neighbors, 1)
        parts = [
            self._fixed_in_line(part, radii, search, max_neighbors)
            for part, radii in _parts_of_queries(queries, r, part_size)
        ]
        counts, rows, distances, shifts = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        indptr = np.append(0, np.cumsum(counts[:q]))
        return indptr, rows, distances, shifts if self.has_shifts else None

    def _fixed_in_line(self, queries: Queries, r, search: Search, max_neighbors: int) -> tuple:
        """Return how many images each query has, and their rows, distances and shifts, one after another."""
        fixed = self.fixed(queries, r, search, max_neighbors)
        counts = np.minimum(np.asarray(fixed.counts).astype(np.int64), max_neighbors)
        is_neighbor = np.arange(max_neighbors) < counts[:, None]
        rows = np.asarray(fixed.indices)[is_neighbor]
        distances = np.asarray(fixed.distances)[is_neighbor]
        shifts = np.zeros((0, self._m), np.int32)
        if self.has_shifts:
            shifts = np.asarray(fixed.shifts)[is_neighbor]
        return counts, rows, distances, shifts

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
        fixed = self._pairs(*self._concrete_edges(r, search, Relation.LATER))
        if self.has_shifts:
            return fixed
        if output_type == "ndarray":
            return fixed.pairs
        return set(map(tuple, np.asarray(fixed.pairs).tolist()))

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
            neighbors = self.host_images.edges(np.asarray(r), relation, self._tree_search(search))
            count = dtype.type(len(neighbors.query))
            return placed_like(self.points.data, *_edge_arrays(neighbors, search), count)
        *edges, count = self._fixed_edges(r, search, relation, EDGES_AT_FIRST)
        edge_count = int(count)
        if edge_count > EDGES_AT_FIRST:
            *edges, count = self._fixed_edges(r, search, relation, padded_size(edge_count))
        with eagerly():
            return *first_rows(edge_count, *edges), count

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
        tree_search = self._tree_search(search)
        largest_index = np.iinfo(search.index_dtype).max

        def by_scipy(images: HostImages, r):
            edges = images.edges(np.asarray(r), relation, tree_search)
            fills = images.n, images.n, 0, np.inf
            filled = []
            for values, fill in zip(_edge_arrays(edges, search), fills, strict=True):
                array = np.empty((size, *values.shape[1:]), values.dtype)
                array[: len(values)] = values[:size]
                array[len(values) :] = fill
                filled.append(array)
            return *filled, min(len(edges.query), largest_index)

        def of_items(items: JoinedImages, r):
            radii = numbers_of_queries(r, items.item_count, items.rows)
            edges = items.images.edges(radii, relation, tree_search)
            *filled, counts = items.edges_of_items(edges, size)
            return *filled, np.minimum(counts, largest_index)

        host = _HostSearch(by_scipy, of_items, is_of_queries=False)
        options = {"search": tree_search, "relation": relation, "size": size}
        edges = self._results_of(host, _device.edges, results, (r,), **options)
        receivers, senders, shifts, distances, count = edges
        if any_traced(self.points.data, self.points.cell) and len(self.points.data):
            ends = ImageQueries(self._points_of(receivers), self._ids_of(receivers))
            # One column: each receiver is a query with one neighbor.
            columns = self._sloped(distances[:, None], ends, senders[:, None], shifts[:, None], search)
            distances = columns[:, 0]
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
        """Return the distance of each point to the nearest image of each point of the other tree."""
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
        """Return a searcher of another tree's points, and of their images by this tree's cell."""
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
        tree_search = self._tree_search(search)
        queries = ImageQueries(_counted(self.points.data, self.points.n), self.points.ids)
        # The number of images is not known beforehand: int32 stops at its largest number.
        is_counted = np.issubdtype(sums, np.integer)
        wide = np.dtype(np.int64) if is_counted else sums
        if weights.self_weights is None:
            ones = np.ones(len(self.points.data), wide)
            other_ones = np.ones(len(other.points.data), wide)
            weights = PairWeights(ones, other_ones)
        searched = self._in_own_cell(other)

        def finished(counts, xp):
            if not cumulative:
                counts = xp.diff(counts, prepend=counts[:1] * 0)
            if is_counted:
                counts = xp.minimum(counts, np.iinfo(sums).max)
            return (counts,)

        def by_scipy(images: HostImages, queries, radii, weights):
            pairs = PairSums(radii, None if is_counted else weights, wide)
            return finished(images.two_point(images.queries(queries), pairs, tree_search), np)

        def by_engine(points, *inputs, **static):
            (counts,) = _device.two_point(points, *inputs, **static)
            with x64_on():
                return finished(counts, jnp)

        results = [Result(radii.shape, sums)]
        searched._check_points()
        inputs = queries, radii, weights
        host = _HostSearch(by_scipy, None, is_of_queries=True)
        (counts,) = searched._results_of(host, by_engine, results, inputs, search=tree_search, sums=wide)
        return counts if traced else np.asarray(counts)

    # --- clusters ---------------------------------------------------------------------------------------

    def components(self, radius, search: Search) -> tuple:
        """Return how many components there are, and labels (rows,)."""
        self._check_radius(radius)
        tree_search = self._tree_search(search)

        def by_scipy(images: HostImages, radius):
            return images.components(radius, tree_search)

        def of_items(items: JoinedImages, radius):
            radii = numbers_of_queries(radius, items.item_count, items.rows)
            _, labels = items.images.components(radii, tree_search)
            return items.labels_of_items(labels)

        host = _HostSearch(by_scipy, of_items, is_of_queries=False)
        results = [Result((), search.index_dtype), Result((len(self.points.data),), search.index_dtype)]
        return tuple(self._results_of(host, _device.components, results, (radius,), search=tree_search))

    def dbscan(self, radius, weights, search: Search, min_samples: int) -> tuple:
        """Return which points are cores (rows,), and labels (rows,)."""
        self._check_radius(radius)
        tree_search = self._tree_search(search)

        def by_scipy(images: HostImages, radius, weights):
            return images.dbscan(radius, weights, min_samples, tree_search)

        def of_items(items: JoinedImages, radius, weights):
            radii = numbers_of_queries(radius, items.item_count, items.rows)
            if weights is not None:
                weights = numbers_of_queries(weights, items.item_count, items.rows)
            is_core, labels = items.images.dbscan(radii, weights, min_samples, tree_search)
            return is_core, items.labels_of_items(labels)[1]

        host = _HostSearch(by_scipy, of_items, is_of_queries=False)
        rows = (len(self.points.data),)
        results = [Result(rows, np.dtype(bool)), Result(rows, search.index_dtype)]
        inputs = radius, weights
        options = {"search": tree_search, "min_samples": min_samples}
        return tuple(self._results_of(host, _device.dbscan, results, inputs, **options))

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
        return with_image_slopes(distances, data, x, cell, ImageRows(columns, shifts), search.p)

    def _check_radius(self, r) -> None:
        """Refuse infinitely many images, and points that are too far away."""
        self._check_points()
        if any(self.periodic) and not is_traced(r) and np.isposinf(np.asarray(r)).any():
            raise ValueError("within an infinite radius there are infinitely many images: pass a finite one")


def _as_result(array: jax.Array, result: Result) -> jax.Array:
    """Return an array in the dtype and shape of a result: an operation of JAX only where it differs."""
    if array.dtype != result.dtype:
        array = array.astype(result.dtype)
    return in_shape(array, result.shape)


def _image_queries(queries: Queries) -> ImageQueries:
    return ImageQueries(queries.x, queries.ids)


def _parts_of_queries(queries: Queries, r, size: int) -> Iterator[tuple[Queries, Any]]:
    """Yield parts of concrete queries and their radii, all of one size; the radii of padding are -1."""
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


def _wrapped(images: HostImages, queries: ImageQueries | WrappedQueries | None) -> WrappedQueries:
    if queries is None:
        return images.points_as_queries
    return images.queries(queries) if isinstance(queries, ImageQueries) else queries


def _x64_for(neighbors: NearestNeighbors):
    return x64_for(*[array.dtype for array in neighbors])


def _edge_arrays(edges: HostNeighbors, search: Search) -> tuple:
    """Return receivers, senders, shifts and distances of edges by receiver."""
    dtype = search.index_dtype
    return (
        edges.query.astype(dtype, copy=False),
        edges.row.astype(dtype, copy=False),
        edges.shift,
        edges.distance.astype(search.dtype, copy=False),
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
    """Return senders, receivers, distances, the number and the shifts of the edges from neighbors."""
    senders = neighbors.rows
    receivers = jnp.arange(senders.shape[0], dtype=senders.dtype)[:, None]
    is_edge = (senders < n) & (receivers < n)
    receivers = jnp.where(is_edge, receivers, n)
    count = jnp.sum(is_edge, dtype=senders.dtype)
    shifts = neighbors.shifts.reshape(-1, neighbors.shifts.shape[-1])
    return senders.reshape(-1), receivers.reshape(-1), neighbors.distances.reshape(-1), count, shifts
