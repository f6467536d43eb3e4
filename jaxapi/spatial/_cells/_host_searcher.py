"""The searches of concrete points with a cell or with clouds, of which SciPy finds the images."""

from functools import cached_property

import jax
import numpy as np

from .._arrays import placed_like
from .._results import NearestNeighbors
from .._search import Queries, Search
from .._tree._queries import Relation
from ._host import HostImages, PairSums
from ._host_neighbors import HostNeighbors
from ._images import WrappedQueries
from ._nearest_on_host import nearest
from ._points import ImagePoints, ImageQueries
from ._searcher import ImageSearcher, tree_search

__all__ = ["HostImageSearcher"]


class HostImageSearcher(ImageSearcher):
    """The searches of concrete points, queries and numbers by SciPy's tree."""

    @cached_property
    def images(self) -> HostImages:
        """SciPy's tree over the points, built at first use. Points that are too far away are refused."""
        self._check_points()
        return HostImages(jax.tree.map(np.asarray, self.points), self.periodic, self.options)

    def _of_points(self, points: ImagePoints) -> "HostImageSearcher":
        return HostImageSearcher(points, self.periodic, self.options)

    def _wrapped(self, queries: ImageQueries) -> WrappedQueries:
        """Return queries wrapped into the cell; the same look tells whether they are to be refused."""
        ids = None if queries.ids is None else np.asarray(queries.ids)
        wrapped = self.images.wrapped(ImageQueries(np.asarray(queries.x), ids))
        if not wrapped.is_finite.all():
            self._check_queries(queries)
        return wrapped

    def _nearest(self, queries: ImageQueries | None, k: int, bound, search: Search) -> NearestNeighbors:
        wrapped = self.images.as_queries if queries is None else self._wrapped(queries)
        bound = np.asarray(bound, search.dtype)
        rows, shifts, distances = nearest(self.images, wrapped, bound, k, tree_search(search))
        rows = rows.astype(search.index_dtype, copy=False)
        distances = distances.astype(search.dtype, copy=False)
        return NearestNeighbors(*placed_like(self.data, distances, rows, shifts))

    def _fixed(self, queries: ImageQueries, r, search: Search, max_neighbors: int) -> tuple:
        wrapped = self._wrapped(queries)
        found = self.images.fixed(wrapped, np.asarray(r), max_neighbors, tree_search(search))
        rows, shifts, distances, counts = found
        rows = rows.astype(search.index_dtype, copy=False)
        distances = distances.astype(search.dtype, copy=False)
        return placed_like(self.data, rows, shifts, distances, counts.astype(search.index_dtype, copy=False))

    def counts(self, queries: Queries, r, search: Search):
        self._check_radius(r)
        wrapped = self._wrapped(ImageQueries(queries.x, queries.ids))
        counts = self.images.counts(wrapped, np.asarray(r), tree_search(search))
        return placed_like(self.data, counts.astype(search.index_dtype).reshape(queries.shape))[0]

    def _all_within(self, queries: ImageQueries, r, search: Search, sort: bool) -> tuple:
        wrapped = self._wrapped(queries)
        self._check_radius(r)
        neighbors = self.images.all_within(wrapped, np.asarray(r), tree_search(search))
        if sort:
            neighbors = neighbors.in_order()
        counts = np.bincount(neighbors.query, minlength=len(wrapped.given))
        indptr = np.append(0, np.cumsum(counts))
        return indptr, neighbors.row, neighbors.distance, neighbors.shift

    def _all_edges(self, r, search: Search, relation: Relation) -> tuple:
        edges = self.images.edges(np.asarray(r), relation, tree_search(search))
        return self._placed(edges, search.index_dtype.type(len(edges.query)), search)

    def _fixed_edges(self, r, search: Search, relation: Relation, size: int) -> tuple:
        edges, count = self.images.fixed_edges(np.asarray(r), relation, size, tree_search(search))
        count = min(count, np.iinfo(search.index_dtype).max)
        return self._placed(edges, np.asarray(count, search.index_dtype), search)

    def _placed(self, edges: HostNeighbors, count, search: Search) -> tuple:
        """Return receivers, senders, shifts, distances and the number of edges by receiver."""
        dtype = search.index_dtype
        return placed_like(
            self.data,
            edges.query.astype(dtype, copy=False),
            edges.row.astype(dtype, copy=False),
            edges.shift,
            edges.distance.astype(search.dtype, copy=False),
            count,
        )

    def _pair_sums(self, queries: ImageQueries, pairs: PairSums, search: Search, finish, sums):
        queries = jax.tree.map(np.asarray, queries)
        counts = self.images.two_point(self.images.wrapped(queries), pairs, tree_search(search))
        (counts,) = finish(counts, np)
        return placed_like(self.data, np.asarray(counts, sums))[0]

    def components(self, radius, search: Search) -> tuple:
        self._check_radius(radius)
        count, labels = self.images.components(np.asarray(radius), tree_search(search))
        dtype = search.index_dtype
        return placed_like(self.data, np.asarray(count, dtype), labels.astype(dtype, copy=False))

    def dbscan(self, radius, weights, search: Search, min_samples: int) -> tuple:
        self._check_radius(radius)
        weights = None if weights is None else np.asarray(weights)
        found = self.images.dbscan(np.asarray(radius), weights, min_samples, tree_search(search))
        is_core, labels = found
        return placed_like(self.data, is_core, labels.astype(search.index_dtype, copy=False))
