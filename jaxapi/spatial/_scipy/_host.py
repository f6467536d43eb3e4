"""What a `KDTree` on the CPU asks: SciPy, of concrete arrays at once, of traced ones by a callback."""

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import jax
import numpy as np

from ..._core._dtypes import x64_for
from ..._core._programs import is_traced
from ..._core._typing import Array
from .._answers import Answer
from .._arrays import as_dtype, placed_like, placed_like_one
from .._results import FixedPairs, NeighborGraph, Neighbors
from .._search import PairWeights, Queries, Search
from .._searcher import ConcreteSearcher, LocalSearcher
from .._tree._queries import Relation
from .._tree._slopes import displacements_to
from . import _by_ckdtree
from ._callback import Batch, Result, called_back
from ._cloud import Cloud, Options, kept_cloud

__all__ = ["CallbackSearcher", "HostSearcher"]


class HostSearcher(LocalSearcher, ConcreteSearcher):
    """The searches of concrete points, queries and numbers by SciPy's tree."""

    def __init__(self, data, n: int, build_cloud: Callable[[], Cloud]):
        self.data = data
        self.n = n
        self._build_cloud = build_cloud

    @cached_property
    def cloud(self) -> Cloud:
        """SciPy's tree, built at first use."""
        return self._build_cloud()

    def _nearest_columns(self, x, bound, search: Search, results, answer: Answer):
        queries = np.asarray(x)
        if x is self.data:
            queries, bound = self._own_queries(bound)
        inputs = self.cloud, queries, bound, search.eps
        found = _by_ckdtree.nearest_columns(*inputs, k=answer.k, answer=answer, search=search)
        return self._placed(found, results, of_one_point=len(queries) == 1)

    def _nearest_within(self, x, r, search: Search, results, max_neighbors: int):
        queries = np.asarray(x)
        if x is self.data:
            queries, r = self._own_queries(r)
        found = _by_ckdtree.nearest_within(self.cloud, queries, r, max_neighbors=max_neighbors, search=search)
        return self._placed(found, results, of_one_point=len(queries) == 1)

    def _counts_within(self, x, r, search: Search, results):
        queries = np.asarray(x)
        if x is self.data:
            queries, r = self._own_queries(r)
        found = _by_ckdtree.counts_within(self.cloud, queries, r, search=search)
        return self._placed(found, results, of_one_point=len(queries) == 1)

    def _fixed_edges(self, r, search: Search, results, **static):
        found = _by_ckdtree.fixed_edges(self.cloud, r, search=search, **static)
        return self._placed(found, results)

    def _own_queries(self, bound):
        """Return the points as queries, and their bound, with which those that do not count find nothing."""
        return _finding_nothing(self.cloud.own_queries(), bound)

    def _placed(self, found, results, of_one_point: bool = False):
        """Return arrays in the shapes of the results, where the points are."""
        in_shapes = [each.reshape(shape) for each, (shape, _) in zip(found, results, strict=True)]
        return placed_like_one(self.data, *in_shapes) if of_one_point else placed_like(self.data, *in_shapes)

    def _sloped(self, distances, x, rows, search: Search):
        return distances  # nothing is differentiated

    def displacements(self, x, rows, shifts, search: Search) -> Array:
        data, x, rows = map(np.asarray, (self.data, x, rows))
        found = displacements_to(data, x, rows, search.boxsize_array(), self.n, dtype=search.dtype, xp=np)
        return placed_like(self.data, found)[0]

    def csr(self, queries: Queries, r, search: Search, sort: bool) -> Neighbors:
        found = _by_ckdtree.csr(self.cloud, np.asarray(queries.x), r, search=search, sort=sort)
        return Neighbors(*placed_like(self.data, *found))

    def lists(self, queries: Queries, r, search: Search, in_order: bool):
        return _by_ckdtree.ball(self.cloud, np.asarray(queries.x), r, search=search, return_sorted=in_order)

    def ball_tree(self, other: "HostSearcher", r, search: Search) -> list[list[int]]:
        return _by_ckdtree.ball_tree(self.cloud, other.cloud, r, search)

    def distance_records(self, other: "HostSearcher", r, search: Search) -> np.ndarray:
        return _by_ckdtree.distance_entries(self.cloud, other.cloud, r, search)

    def edges(self, r, search: Search, relation: Relation) -> NeighborGraph:
        receivers, senders, distances = _by_ckdtree.edges(self.cloud, r, search, relation)
        count = search.index_dtype.type(len(receivers))
        return NeighborGraph(*placed_like(self.data, senders, receivers, distances, count))

    def fixed_pairs(self, r, search: Search, size: int) -> FixedPairs:
        found = _by_ckdtree.fixed_edges(self.cloud, r, relation=Relation.LATER, size=size, search=search)
        *ends, distances, count = found
        pairs = np.stack(ends, axis=1)
        return FixedPairs(*placed_like(self.data, pairs, distances, np.asarray(count)))

    def pairs(self, r, search: Search, output_type: str):
        pairs = _by_ckdtree.pairs(self.cloud, r, search, output_type)
        if output_type == "set":
            return pairs
        return placed_like(self.data, pairs.astype(search.index_dtype))[0]

    def _pair_sums(self, other: "HostSearcher", radii, search: Search, weights: PairWeights, sums):
        given_weights = [] if weights.self_weights is None else list(weights)
        inputs = self.cloud, other.cloud, radii, *given_weights
        return _by_ckdtree.two_point(*inputs, search=search, sums=sums)[0]


class CallbackSearcher(LocalSearcher):
    """The searches by SciPy's tree where the points, the queries or a number are traced.

    `build_cloud` returns the tree of concrete points; None: the points are traced, too.
    """

    def __init__(self, data, n, build_cloud: Callable[[], Cloud] | None, options: Options):
        self.data = data
        self.n = n
        self._build_cloud = build_cloud
        self.options = options

    def _nearest_columns(self, x, bound, search: Search, results, answer: Answer):
        numbers = bound, search.eps
        static: dict[str, Any] = {"k": answer.k, "answer": answer}
        return self._find(_by_ckdtree.nearest_columns, x, numbers, search, results, **static)

    def _nearest_within(self, x, r, search: Search, results, max_neighbors: int):
        return self._find(_by_ckdtree.nearest_within, x, (r,), search, results, max_neighbors=max_neighbors)

    def _counts_within(self, x, r, search: Search, results):
        return self._find(_by_ckdtree.counts_within, x, (r,), search, results)

    def _fixed_edges(self, r, search: Search, results, **static):
        return self._find(_by_ckdtree.fixed_edges, None, (r,), search, results, **static)

    def _find(self, function: Callable, x, numbers, search: Search, results, **static):
        """Return what a function of `_by_ckdtree` finds when the values are known.

        `x` are the queries; None where the function is about the cloud's own points.
        """
        own = x is self.data
        request = self._request(function, search, results, static)._replace(own=own)
        numbers = [_given(each, search.dtype) for each in numbers]
        queries = None if x is None or own else _given(x, search.dtype)
        return request.called_back(self._points(search), queries, *numbers)

    def _request(self, function: Callable, search: Search, results, static) -> "_Request":
        search = search._replace(boxsize=None, eps=0.0 if is_traced(search.eps) else search.eps)
        results = [Result(*each) for each in results]
        cloud = self._build_cloud and self._build_cloud()
        return _Request(function, cloud, self.options, search, static, results)

    def _points(self, search: Search):
        """Return what a cloud is made of inside of a transformation."""
        boxsize: Any = search.boxsize
        if isinstance(boxsize, tuple):
            boxsize = np.asarray(boxsize)
        return self.data, _given(self.n, np.int32), boxsize

    def _pair_sums(self, other: "CallbackSearcher", radii, search: Search, weights: PairWeights, sums):
        given_weights = [] if weights.self_weights is None else list(weights)
        request = self._request(_by_ckdtree.two_point, search, ((radii.shape, sums),), {"sums": sums})
        radii = _given(radii, search.dtype)
        with x64_for(sums):
            given_weights = [_given(array, sums) for array in given_weights]
        points = self._points(search), other._points(search)
        return request.called_back(*points, radii, *given_weights)[0]


class _Request(NamedTuple):
    """A search of arrays whose values are known when a program runs."""

    function: Callable  # of `_by_ckdtree`
    cloud: Cloud | None  # None: of points that are traced
    options: Options
    search: Search
    static: dict[str, Any]
    results: list[Result]
    own: bool = False  # whether the queries are the cloud's own points

    def called_back(self, points, *inputs):
        """Return what the search finds when its values are known; `points` are what a cloud is made of."""
        points = None if self.cloud is not None else points
        leaves, structure = jax.tree.flatten((points, *inputs))

        def search_batch(batch: Batch):
            points, *inputs = jax.tree.unflatten(structure, batch.arrays)
            one_cloud = all(map(batch.is_shared, jax.tree.leaves(points)))
            if one_cloud and isinstance(inputs[0], np.ndarray):
                return self._of_all_queries(batch, points, *inputs)
            items = [jax.tree.unflatten(structure, arrays) for arrays in batch.items()]
            found = [self._of_one_item(*item) for item in items]
            return [np.stack(each) for each in zip(*found, strict=True)]

        return called_back(search_batch, self.results, leaves)

    def _of_one_item(self, points, x, *numbers):
        """Return what the search finds of NumPy arrays; queries that are not finite find nothing."""
        cloud = self.cloud or kept_cloud(*points, self.options)
        if self.own:
            x = cloud.own_queries()
        queries = []
        if isinstance(x, tuple):
            queries = [kept_cloud(*x, self.options)]
        elif x is not None:
            x, *numbers = _finding_nothing(x, *numbers)
            queries = [x]
        return self.function(cloud, *queries, *numbers, search=self.search, **self.static)

    def _of_all_queries(self, batch: Batch, points, x, bound, *eps):
        """Do so once for the queries (..., q, m) of all items, which search one cloud."""
        first = (0,) * len(batch.shape)
        points = jax.tree.map(lambda array: array[first], points)
        q, m = x.shape[-2:]
        x = np.broadcast_to(x, (*batch.shape, q, m)).reshape(-1, m)
        if bound.ndim == len(batch.shape):
            bound = bound[..., None]
        if bound.size == 1 != q:
            bound = bound.reshape(())
        else:
            bound = np.broadcast_to(bound, (*batch.shape, q)).ravel()
        return self._of_one_item(points, x, bound, *(each.min() for each in eps))


def _given(x, dtype):
    """Return an array of a dtype; one that is known stays known inside of `jit`."""
    return as_dtype(x, dtype) if is_traced(x) else np.asarray(x, dtype)


def _finding_nothing(x, number, *others):
    """Return queries, and their bound or radii, with which those that are not finite find nothing."""
    finite = np.isfinite(x).all(axis=1)
    if finite.all():
        return x, number, *others
    return np.where(finite[:, None], x, 0), np.where(finite, number, np.nan), *others
