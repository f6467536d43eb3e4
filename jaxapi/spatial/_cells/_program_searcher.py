"""The searches of points with a cell or with clouds by programs, which call SciPy back or are an engine's."""

import math
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..._core._constants import constant_on
from ..._core._dtypes import x64_for, x64_on
from ..._core._lengths import first_rows
from ..._core._programs import any_traced, compiled, eagerly, is_traced
from .._arrays import as_dtype, in_shape
from .._engines._protocol import Engine
from .._results import NearestNeighbors
from .._scipy._callback import Batch, Result, called_back
from .._scipy._trees import Options
from .._search import PairWeights, Queries, Search
from .._searcher import EDGES_AT_FIRST
from .._tree._build import padded_size, tree_size
from .._tree._queries import Relation
from .._tree._slopes import without_slopes
from . import _device
from ._batch import JoinedImages, SharedImages, numbers_of_queries
from ._host import HostImages, PairSums
from ._nearest_on_host import nearest
from ._points import ImagePoints, ImageQueries
from ._searcher import ImageSearcher, tree_search
from ._slopes import ImageRows, with_image_slopes

__all__ = ["ProgramImageSearcher"]

NEIGHBORS_AT_ONCE = 1 << 22  # that are searched for at once, with room for the most of each query
INT32 = np.dtype(np.int32)


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


class ProgramImageSearcher(ImageSearcher):
    """The searches by an engine; without one, of traced arrays, by SciPy, which programs call back."""

    def __init__(
        self, points: ImagePoints, periodic: tuple[bool, ...], options: Options, engine: Engine | None
    ):
        super().__init__(points, periodic, options)
        self.engine = engine if len(points.data) else None  # without points there is nothing to search
        self._is_traced = any_traced(*points)

    def _of_points(self, points: ImagePoints) -> "ProgramImageSearcher":
        return ProgramImageSearcher(points, self.periodic, self.options, self.engine)

    @cached_property
    def host_images(self) -> HostImages:
        """SciPy's tree over concrete points, built at first use."""
        points = jax.tree.map(np.asarray, self.points)
        return HostImages(points, self.periodic, self.options)

    # --- who searches -----------------------------------------------------------------------------------

    def _results_of(
        self,
        by_scipy: _HostSearch,
        by_engine: Callable,
        results: list[Result],
        inputs: tuple,
        is_one_program: bool = True,
        **static: Any,
    ):
        """Return the arrays that a search finds, in the shapes and dtypes of the results.

        SciPy searches where this searcher has no engine; else ``by_engine(points, *inputs, ...)`` does. The
        casts of its results are in the same program, unless it is made for this call: then there is none that
        a later call could use again, and `is_one_program` is False.
        """
        if self.engine is None:
            return self._by_callback(by_scipy, results, inputs)
        options = tuple({"periodic": self.periodic, **static}.items())
        points = self.points
        if any_traced(*points, *jax.tree.leaves(inputs)):
            points, inputs = without_slopes((points, inputs))
            return _results_by_engine(by_engine, tuple(results), options, points, inputs)
        find = _results_by_engine_in_one_program if is_one_program else _results_by_engine
        with eagerly(), x64_on():
            return find(by_engine, tuple(results), options, points, inputs)

    def _by_callback(self, by_scipy: _HostSearch, results: list[Result], inputs: tuple) -> list:
        """Return what SciPy finds when a program calls back."""
        traced_points = tuple(self.points) if self._is_traced else ()

        def of_batch(batch: Batch) -> list:
            item_count = math.prod(batch.shape)
            if item_count > 1 and len(self.points.data) > 0 and by_scipy.of_items is not None:
                traced_points, inputs = batch.in_line()
                items = self._images_of_items(traced_points, item_count, by_scipy.is_of_queries)
                return by_scipy.of_items(items, *inputs)
            arrays_of_items = [
                by_scipy.of_one(self._host_images_of(traced_points), *inputs)
                for traced_points, inputs in batch.items()
            ]
            return [np.stack(arrays) for arrays in zip(*arrays_of_items, strict=True)]

        return called_back(of_batch, results, (traced_points, inputs))

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
        """Return what is asked of a tree in one cell, of whichever searches it."""
        search = tree_search(search)
        return search if self.engine is None else search.static_part(self.engine)

    def _inputs(self, queries: ImageQueries | None, *numbers) -> tuple:
        """Return queries and numbers as inputs of a search, with points and concrete queries checked."""
        self._check_points()
        if queries is not None and not is_traced(queries.x):
            self._check_queries(queries)
        return queries, *numbers

    # --- the nearest ------------------------------------------------------------------------------------

    def _nearest(self, queries: ImageQueries | None, k: int, bound, search: Search) -> NearestNeighbors:
        is_traced_search = any_traced(*self.points, bound)
        if self.engine is not None and queries is None and not is_traced_search and np.ndim(bound) == 0:
            return self._nearest_of_points(self.engine, k, bound, search)
        x = self.points.data if queries is None else queries.x
        shape = len(x), k
        results = [
            Result(shape, search.index_dtype),
            Result((*shape, self._m), INT32),
            Result(shape, search.dtype),
        ]
        tree_search = self._tree_search(search)

        def by_scipy(images: HostImages, queries, bound):
            return nearest(images, images.wrapped(queries), bound, k, tree_search)

        bound = as_dtype(bound, search.dtype) if is_traced(bound) else np.asarray(bound, search.dtype)
        inputs = self._inputs(queries, bound)
        host = _search_of_queries(by_scipy, is_among_points=queries is None, has_rows=True)
        rows, shifts, distances = self._results_of(
            host, _device.nearest, results, inputs, search=tree_search, k=k
        )
        return NearestNeighbors(self._sloped(distances, queries, rows, shifts, search), rows, shifts)

    def _nearest_of_points(self, engine: Engine, k: int, bound, search: Search) -> NearestNeighbors:
        """Return what `_nearest` does of concrete points; both are filled up, as in `_edges_by`."""
        self._check_points()
        data = self.points.data
        with eagerly(), x64_for(data.dtype, search.dtype), jax.debug_nans(False):
            points = self._padded_points(engine)
            bound = constant_on(float(bound), search.dtype, data.sharding)
            tree_search = self._tree_search(search)
            options: dict[str, Any] = {"periodic": self.periodic, "search": tree_search}
            found = _device.nearest_of_points(points, bound, k=k, dtype=search.dtype, **options)
            rows, shifts, distances = found
            return NearestNeighbors(distances, rows, shifts)

    # --- within a radius --------------------------------------------------------------------------------

    def _fixed(self, queries: ImageQueries, r, search: Search, max_neighbors: int) -> tuple:
        q = len(queries.x)
        shape = q, max_neighbors
        results = [
            Result(shape, search.index_dtype),
            Result((*shape, self._m), INT32),
            Result(shape, search.dtype),
            Result((q,), search.index_dtype),
        ]
        tree_search = self._tree_search(search)

        def by_scipy(images: HostImages, queries, r):
            return images.fixed(images.wrapped(queries), r, max_neighbors, tree_search)

        inputs = self._inputs(queries, r)
        host = _search_of_queries(by_scipy, is_among_points=False, has_rows=True)
        options: dict[str, Any] = {"search": tree_search, "max_neighbors": max_neighbors}
        rows, shifts, distances, counts = self._results_of(host, _device.fixed, results, inputs, **options)
        return rows, shifts, self._sloped(distances, queries, rows, shifts, search), counts

    def counts(self, queries: Queries, r, search: Search):
        self._check_radius(r)
        tree_search = self._tree_search(search)

        def by_scipy(images: HostImages, queries, r):
            return (images.counts(images.wrapped(queries), r, tree_search),)

        results = [Result(queries.shape, search.index_dtype)]
        inputs = self._inputs(ImageQueries(queries.x, queries.ids), r)
        host = _search_of_queries(by_scipy, is_among_points=False, has_rows=False)
        (counts,) = self._results_of(host, _device.counts, results, inputs, search=tree_search)
        return counts

    def _all_within(self, queries: ImageQueries, r, search: Search, sort: bool) -> tuple:
        q = len(queries.x)
        counts = np.asarray(self.counts(Queries(queries.x, (q,), queries.ids), r, search)).astype(np.int64)
        largest_count = int(np.max(counts, initial=0))
        max_neighbors = 1 << max(largest_count - 1, 7).bit_length()  # a power of two: few programs serve all
        part_size = max(NEIGHBORS_AT_ONCE // max_neighbors, 1)
        parts = [
            self._fixed_in_line(part, radii, search, max_neighbors)
            for part, radii in _parts_of_queries(queries, r, part_size)
        ]
        counts, rows, distances, shifts = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        indptr = np.append(0, np.cumsum(counts[:q]))
        return indptr, rows, distances, shifts

    def _fixed_in_line(self, queries: ImageQueries, r, search: Search, max_neighbors: int) -> tuple:
        """Return how many images each query has, and their rows, distances and shifts, one after another."""
        rows, shifts, distances, counts = map(np.asarray, self._fixed(queries, r, search, max_neighbors))
        counts = np.minimum(counts.astype(np.int64), max_neighbors)
        is_neighbor = np.arange(max_neighbors) < counts[:, None]
        return counts, rows[is_neighbor], distances[is_neighbor], shifts[is_neighbor]

    # --- among the points -------------------------------------------------------------------------------

    def _all_edges(self, r, search: Search, relation: Relation) -> tuple:
        if self.engine is None:
            *edges, count = self._fixed_edges(r, search, relation, EDGES_AT_FIRST)
            total = int(count)
            if total > EDGES_AT_FIRST:
                *edges, count = self._fixed_edges(r, search, relation, padded_size(total))
        else:
            *edges, count, total = self._edges_by(self.engine, r, search, relation, padded_size)
        receivers, senders, shifts, distances = edges
        with eagerly():
            receivers, senders, distances = first_rows(total, receivers, senders, distances)
            if self.has_shifts:
                (shifts,) = first_rows(total, shifts)
        return receivers, senders, shifts, distances, count

    def _edges_by(
        self, engine: Engine, r, search: Search, relation: Relation, room: Callable[[int], int]
    ) -> tuple:
        """Return all edges of concrete points in arrays for `room(count)`, their count, and it as a number.

        The tree is built once. Its points are filled up, so that most numbers of points share programs.
        """
        data = self.points.data
        with eagerly(), x64_for(data.dtype), jax.debug_nans(False):
            points = self._padded_points(engine)
            radius = constant_on(float(r), search.dtype, data.sharding)
            tree_search = self._tree_search(search)
            options: dict[str, Any] = {"periodic": self.periodic, "search": tree_search}
            options |= {"relation": relation, "dtype": search.dtype, "room": room}
            return _device.all_edges(points, radius, **options)

    def _padded_points(self, engine: Engine) -> ImagePoints:
        """Return concrete points as inputs of the engine, with as many rows as their tree has."""
        data, n, cell, ids = self.points
        sharding = data.sharding
        axis_count = self._m if ids is None else self._m + 1  # clouds are apart by an axis of their own
        row_count = tree_size(len(data), axis_count)
        return ImagePoints(
            engine.as_input(data, row_count, sharding),
            constant_on(int(n), INT32, sharding),
            cell,
            None if ids is None else engine.as_input(ids, row_count, sharding),
        )

    def edges_with_room(self, r, search: Search, relation: Relation, room: Callable[[int], int]):
        if self.engine is None:
            return super().edges_with_room(r, search, relation, room)
        self._check_radius(r)
        *edges, _ = self._edges_by(self.engine, r, search, relation, room)
        return self._graph(*edges)

    def _fixed_edges(self, r, search: Search, relation: Relation, size: int) -> tuple:
        if self.engine is not None and not any_traced(*self.points, r):
            *edges, _ = self._edges_by(self.engine, r, search, relation, lambda _: size)
            return tuple(edges)
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
            edges, count = images.fixed_edges(np.asarray(r), relation, size, tree_search)
            return edges.query, edges.row, edges.shift, edges.distance, min(count, largest_index)

        def of_items(items: JoinedImages, r):
            radii = numbers_of_queries(r, items.item_count, items.rows)
            edges = items.images.edges(radii, relation, tree_search)
            *filled, counts = items.edges_of_items(edges, size)
            return *filled, np.minimum(counts, largest_index)

        host = _HostSearch(by_scipy, of_items, is_of_queries=False)
        options: dict[str, Any] = {"search": tree_search, "relation": relation, "size": size}
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

    def _pair_sums(self, queries: ImageQueries, pairs: PairSums, search: Search, finish, sums):
        self._check_points()
        tree_search = self._tree_search(search)
        weights = pairs.weights
        if weights is None:
            ones = np.ones(len(queries.x), pairs.dtype)
            weights = PairWeights(ones, np.ones(len(self.points.data), pairs.dtype))

        def by_scipy(images: HostImages, queries, radii, weights):
            values = pairs._replace(radii=radii, weights=None if pairs.weights is None else weights)
            return finish(images.two_point(images.wrapped(queries), values, tree_search), np)

        def by_engine(points, *inputs, **static):
            (counts,) = _device.two_point(points, *inputs, **static)
            with x64_on():
                return finish(counts, jnp)

        host = _HostSearch(by_scipy, None, is_of_queries=True)
        results = [Result(pairs.radii.shape, sums)]
        inputs = queries, pairs.radii, weights
        options: dict[str, Any] = {"search": tree_search, "sums": pairs.dtype, "is_one_program": False}
        (counts,) = self._results_of(host, by_engine, results, inputs, **options)
        return counts

    # --- clusters ---------------------------------------------------------------------------------------

    def components(self, radius, search: Search) -> tuple:
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
        options: dict[str, Any] = {"search": tree_search, "min_samples": min_samples}
        return tuple(self._results_of(host, _device.dbscan, results, inputs, **options))

    # --- derivatives ------------------------------------------------------------------------------------

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


def _results_by_engine(
    by_engine: Callable, results: tuple[Result, ...], options: tuple, points: ImagePoints, inputs: tuple
) -> list:
    """Return what a function of `_device` finds, in the shapes and dtypes of the results."""
    arrays = by_engine(points, *inputs, **dict(options))
    with x64_for(*(result.dtype for result in results)):
        return [_as_result(array, result) for array, result in zip(arrays, results, strict=True)]


_results_by_engine_in_one_program = compiled(_results_by_engine, static_argnums=(0, 1, 2))


def _as_result(array: jax.Array, result: Result) -> jax.Array:
    """Return an array in the dtype and shape of a result: an operation of JAX only where it differs."""
    if array.dtype != result.dtype:
        array = array.astype(result.dtype)
    return in_shape(array, result.shape)


def _parts_of_queries(queries: ImageQueries, r, size: int) -> Iterator[tuple[ImageQueries, Any]]:
    """Yield parts of concrete queries and their radii, all of one size; the radii of padding are -1."""
    q = len(queries.x)
    if q <= size:
        yield queries, r
        return
    x = np.asarray(queries.x)
    ids = None if queries.ids is None else np.asarray(queries.ids)
    radii = np.broadcast_to(np.asarray(r), q)
    for start in range(0, q, size):
        rows = np.arange(start, start + size)
        is_query = rows < q
        rows = np.minimum(rows, q - 1)
        part = ImageQueries(x[rows], None if ids is None else ids[rows])
        yield part, np.where(is_query, radii[rows], radii.dtype.type(-1))
