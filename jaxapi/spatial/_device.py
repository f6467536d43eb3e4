"""Searches of our own tree outside of transformations: arrays are padded, a program runs, results are cut.

Programs are compiled for queries of a few numbers, `padded_size`, and are told how many count. Rows that fill
an array up are nan: no results, which `jax.debug_nans` is for.
"""

import itertools
import math
from functools import partial

import jax
import numpy as np

from .._core._constants import constant_on
from .._core._dtypes import x64_for
from .._core._lengths import first_rows
from .._core._programs import compiled, eagerly
from .._core._typing import Array
from . import _tree_programs
from ._answers import Answer
from ._arrays import RECORD, check_finite, in_shape
from ._engines._protocol import has_kernels
from ._results import NeighborGraph, Neighbors
from ._search import PairWeights, Queries, Search, has_bound
from ._searcher import ConcreteSearcher, TreeSearcher
from ._tree._build import padded_size
from ._tree._metric import TreeMetric
from ._tree._queries import Limits, Relation
from ._tree._slopes import displacements_to
from ._tree_programs import PaddedQueries

__all__ = ["DeviceSearcher"]

INT32 = np.dtype(np.int32)


class DeviceSearcher(TreeSearcher, ConcreteSearcher):
    """The searches of concrete arrays by an engine, on the device that holds the points."""

    # --- around queries ---------------------------------------------------------------------------------

    def _nearest_columns(self, x, bound, search: Search, results, answer: Answer):
        if self.are_own_points(x) and self._searches_in_place(answer.k):
            queries = PaddedQueries(None, constant_on(self.n, INT32, self.data.sharding))
        else:
            queries = self._padded_queries(x, search, neighbor_count=answer.k)
        with eagerly(), x64_for(search.dtype, search.index_dtype), jax.debug_nans(False):
            limits = Limits(self._number(bound, search), self._number(search.eps, search))
            inputs = self.tree, queries, limits, self._metric(search)
            static = search.static_part(self.engine)
            is_bounded = has_bound(bound)
            found = _tree_programs.nearest_columns(
                *inputs, answer=answer, search=static, is_bounded=is_bounded
            )
            return _cut(found, results)

    def _nearest_within(self, x, r, search: Search, results, max_neighbors: int):
        queries = self._padded_queries(x, search, neighbor_count=max_neighbors)
        with eagerly(), x64_for(search.dtype, search.index_dtype), jax.debug_nans(False):
            inputs = self.tree, queries, self._number(r, search, queries.x.shape[0]), self._metric(search)
            static = search.static_part(self.engine)
            found = _tree_programs.nearest_within(*inputs, search=static, max_neighbors=max_neighbors)
            return _cut(found, results)

    def _counts_within(self, x, r, search: Search, results):
        queries = self._padded_queries(x, search)
        with eagerly(), x64_for(search.dtype, search.index_dtype), jax.debug_nans(False):
            inputs = self.tree, queries, self._number(r, search), self._metric(search)
            found = _tree_programs.counts_within(*inputs, search=search.static_part(self.engine))
            return _cut(found, results)

    def csr(self, queries: Queries, r, search: Search, sort: bool) -> Neighbors:
        padded = self._padded_queries(queries.x, search)
        with eagerly(), x64_for(search.dtype, search.index_dtype), jax.debug_nans(False):
            inputs = self.tree, padded, self._number(r, search), self._metric(search)
            static = search.static_part(self.engine)
            indptr, rows, distances = _tree_programs.csr(*inputs, search=static, sort=sort)
            (indptr,) = first_rows(len(queries.x) + 1, indptr)
            return Neighbors(indptr, rows, distances)

    def lists(self, queries: Queries, r, search: Search, in_order: bool) -> list[list[int]]:
        return _to_lists(self.csr(queries, r, search, False), in_order)

    def displacements(self, x, rows, shifts, search: Search) -> Array:
        shape = *rows.shape, x.shape[-1]
        query_count = math.prod(x.shape[:-1])
        with eagerly(), x64_for(search.dtype, rows.dtype):
            x = in_shape(x, (query_count, x.shape[-1]))
            rows = in_shape(rows, (query_count, rows.size // max(query_count, 1)))
            count = self.n if self.are_own_points(x) else query_count
            queries = self._queries_with_room(x, count, search)
            rows = self._as_input(rows, len(queries.x))
            data = self._as_input(self.data, padded_size(len(self.data)))
            points = PaddedQueries(data, constant_on(self.n, INT32, self.data.sharding))
            inputs = points, queries, rows, self._boxsize(search)
            vectors = _displacements_of_rows(*inputs, search=search.static_part(self.engine))
            return _cut((vectors,), ((shape, search.dtype),))[0]

    # --- among the tree's own points --------------------------------------------------------------------

    def _fixed_edges(self, r, search: Search, results, *, relation: Relation, size: int):
        with eagerly(), x64_for(search.dtype, search.index_dtype), jax.debug_nans(False):
            inputs = self.tree, self._number(r, search), self._metric(search)
            static = search.static_part(self.engine)
            found = _tree_programs.fixed_edges(*inputs, search=static, relation=relation, size=size)
            return _cut(found, results)

    def edges(self, r, search: Search, relation: Relation) -> NeighborGraph:
        with eagerly(), x64_for(search.dtype, search.index_dtype), jax.debug_nans(False):
            inputs = self.tree, self._number(r, search), self._metric(search)
            static = search.static_part(self.engine)
            *edges, count, total = _tree_programs.edges(*inputs, search=static, relation=relation)
            if total > np.iinfo(search.index_dtype).max:
                text = f"{total} edges are more than {search.index_dtype} counts: enable x64 mode"
                raise OverflowError(text)
            receivers, senders, distances = first_rows(total, *edges)
        return NeighborGraph(senders, receivers, distances, count)

    def pairs(self, r, search: Search, output_type: str):
        with eagerly(), x64_for(search.dtype, search.index_dtype), jax.debug_nans(False):
            inputs = self.tree, self._number(r, search), self._metric(search)
            pairs, total = _tree_programs.pairs(*inputs, search=search.static_part(self.engine))
            (pairs,) = first_rows(total, pairs)
        if output_type == "ndarray":
            return pairs
        return set(map(tuple, np.asarray(pairs).tolist()))

    # --- between two trees ------------------------------------------------------------------------------

    def ball_tree(self, other: "DeviceSearcher", r, search: Search) -> list[list[int]]:
        return _to_lists(self._neighbors_in(other, r, search), True)

    def distance_records(self, other: "DeviceSearcher", r, search: Search) -> np.ndarray:
        indptr, rows, distances = map(np.asarray, self._neighbors_in(other, r, search))
        records = np.empty(len(rows), RECORD)
        records["i"] = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        records["j"] = rows
        records["v"] = distances
        return records

    def _neighbors_in(self, other: "DeviceSearcher", r, search: Search) -> Neighbors:
        (points,) = first_rows(self.n, self.data)
        return other.csr(Queries(points, (self.n,)), np.broadcast_to(r, self.n), search, False)

    def _pair_sums(self, other: TreeSearcher, radii, search: Search, weights: PairWeights, sums):
        static = search.static_part(self.engine)
        with eagerly(), x64_for(sums):
            queries = self._padded_queries(self.data, search)
            metric = self._metric(search)
            if weights.self_weights is None:
                counts = _tree_programs.pair_counts(
                    other.tree, queries, radii, metric, search=static, dtype=sums
                )
                return np.asarray(counts)
            weights = PairWeights(*(_padded(array.astype(sums)) for array in weights))
            total = _tree_programs.pair_sums(other.tree, queries, weights, radii, metric, search=static)
            return np.asarray(total)

    # --- arrays on the device ---------------------------------------------------------------------------

    def _searches_in_place(self, k: int) -> bool:
        """Tell whether the engine finds the `k` nearest of the tree's own points as they lie in the tree."""
        if not has_kernels(self.engine) or self.tree.is_flat:
            return False
        if type(self.n) is not int or self.n < len(self.data):  # the kernels leave out rows that do not count
            return False
        slot_count = self.tree.points.shape[1]
        return slot_count * k <= _tree_programs.LARGEST_PIECE

    def _padded_queries(self, x, search: Search, neighbor_count: int = 0) -> PaddedQueries:
        """Return queries with room for more; refuse those on the host that are not finite.

        Each gets so many distances and rows, if the number is known.
        """
        if self.are_own_points(x):
            return self._queries_with_room(x, self.n, search, neighbor_count)
        check_finite(x)
        return self._queries_with_room(x, len(x), search, neighbor_count)

    def _queries_with_room(self, x, count: int, search: Search, neighbor_count: int = 0) -> PaddedQueries:
        row_bytes = neighbor_count * (search.dtype.itemsize + search.index_dtype.itemsize)
        with eagerly(), x64_for(search.dtype, search.index_dtype):
            if not self._has(x):
                x = np.asarray(x, search.dtype)
            size = padded_size(len(x), row_bytes=row_bytes)
            x = self.engine.as_input(x, size, self.data.sharding)
            return PaddedQueries(x, constant_on(count, INT32, self.data.sharding))

    def _has(self, x) -> bool:
        """Tell whether an array lies where the points do."""
        return isinstance(x, jax.Array) and x.sharding == self.data.sharding

    def _as_input(self, x, row_count: int):
        """Return an array that is filled up to so many rows, where the points are."""
        x = x if self._has(x) else np.asarray(x)
        return self.engine.as_input(x, row_count, self.data.sharding)

    def _number(self, number, search: Search, size: int | None = None):
        """Return a number, or the radii of queries with room for `size`, on the device."""
        if not getattr(number, "ndim", 0):
            return constant_on(float(number), search.dtype, self.data.sharding)
        if len(number) and number.strides == (0,):  # one number, broadcast
            return constant_on(number[0].item(), number.dtype, self.data.sharding)
        return jax.device_put(_padded(number, size), self.data.sharding)

    def _metric(self, search: Search) -> TreeMetric:
        """Return the metric, with its box on the device."""
        return TreeMetric(search.p, self._boxsize(search))

    def _boxsize(self, search: Search):
        """Return the size of the periodic box on the device, None without one."""
        if search.boxsize is None:
            return None
        return constant_on(search.boxsize, search.dtype, self.data.sharding)


def _padded(values: np.ndarray, size: int | None = None) -> np.ndarray:
    """Return values (n,) with room for more, of 0: for `size`, or as many as programs take for n."""
    if size is None:
        size = padded_size(len(values))
    return np.pad(values, (0, size - len(values)))


def _cut(arrays, results):
    """Return the first rows of every array, in the shapes of the results."""
    cut = []
    for array, (shape, _) in zip(arrays, results, strict=True):
        if array.ndim:
            row_size = max(math.prod(array.shape[1:]), 1)
            (array,) = first_rows(math.prod(shape) // row_size, array)
        cut.append(array if array.shape == shape else array.reshape(shape))
    return cut


def _to_lists(neighbors: Neighbors, in_order: bool) -> list[list[int]]:
    """Return the rows of each query as a Python list."""
    rows = np.asarray(neighbors.indices).tolist()
    ends = np.asarray(neighbors.indptr).tolist()
    lists = [rows[start:stop] for start, stop in itertools.pairwise(ends)]
    if in_order:
        for rows_of_query in lists:
            rows_of_query.sort()
    return lists


@partial(compiled, static_argnames="search")
def _displacements_of_rows(points: PaddedQueries, queries: PaddedQueries, rows, boxsize, *, search: Search):
    """Return the vectors from the queries to rows of the points; 0 for what is no row."""
    data = points.points(search)
    x = queries.points(search)
    rows = search.engine.read_input(rows, queries.count, dtype=rows.dtype)
    return displacements_to(data, x, rows, boxsize, points.count, dtype=search.dtype)
