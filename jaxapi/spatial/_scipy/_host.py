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
from ._trees import Options, SciPyTrees, kept_trees

__all__ = ["CallbackSearcher", "HostSearcher"]


class HostSearcher(LocalSearcher, ConcreteSearcher):
    """The searches of concrete points, queries and numbers by SciPy's tree."""

    def __init__(self, data, n, build_trees: Callable[[], SciPyTrees]):
        self.data = data
        self.n = n
        self._build_trees = build_trees

    @cached_property
    def trees(self) -> SciPyTrees:
        """SciPy's tree, built at first use."""
        return self._build_trees()

    def _nearest_columns(self, x, bound, search: Search, results, answer: Answer):
        queries = np.asarray(x)
        if self.are_own_points(x):
            queries, bound = self._own_queries(bound)
        inputs = self.trees, queries, bound, search.eps
        found = _by_ckdtree.nearest_columns(*inputs, k=answer.k, answer=answer, search=search)
        return self._placed(found, results, of_one_point=len(queries) == 1)

    def _nearest_within(self, x, r, search: Search, results, max_neighbors: int):
        queries = np.asarray(x)
        if self.are_own_points(x):
            queries, r = self._own_queries(r)
        found = _by_ckdtree.nearest_within(self.trees, queries, r, max_neighbors=max_neighbors, search=search)
        return self._placed(found, results, of_one_point=len(queries) == 1)

    def _counts_within(self, x, r, search: Search, results):
        queries = np.asarray(x)
        if self.are_own_points(x):
            queries, r = self._own_queries(r)
        found = _by_ckdtree.counts_within(self.trees, queries, r, search=search)
        return self._placed(found, results, of_one_point=len(queries) == 1)

    def _fixed_edges(self, r, search: Search, results, **static):
        found = _by_ckdtree.fixed_edges(self.trees, r, search=search, **static)
        return self._placed(found, results)

    def _own_queries(self, bound):
        """Return the points as queries, and their bound, with which those that do not count find nothing."""
        return _finding_nothing(self.trees.own_queries(), bound)

    def _placed(self, found, results, of_one_point: bool = False):
        """Return arrays in the shapes of the results, where the points are."""
        in_shapes = [each.reshape(shape) for each, (shape, _) in zip(found, results, strict=True)]
        if of_one_point:
            return placed_like_one(self.data, *in_shapes)
        return placed_like(self.data, *in_shapes)

    def _sloped(self, distances, x, rows, search: Search):
        return distances  # nothing is differentiated

    def displacements(self, x, rows, shifts, search: Search) -> Array:
        data, x, rows = map(np.asarray, (self.data, x, rows))
        found = displacements_to(data, x, rows, search.boxsize_array(), self.n, dtype=search.dtype, xp=np)
        return placed_like(self.data, found)[0]

    def csr(self, queries: Queries, r, search: Search, sort: bool) -> Neighbors:
        found = _by_ckdtree.csr(self.trees, np.asarray(queries.x), r, search=search, sort=sort)
        return Neighbors(*placed_like(self.data, *found))

    def lists(self, queries: Queries, r, search: Search, in_order: bool):
        return _by_ckdtree.ball(self.trees, np.asarray(queries.x), r, search=search, return_sorted=in_order)

    def ball_tree(self, other: "HostSearcher", r, search: Search) -> list[list[int]]:
        return _by_ckdtree.ball_tree(self.trees, other.trees, r, search)

    def distance_records(self, other: "HostSearcher", r, search: Search) -> np.ndarray:
        return _by_ckdtree.distance_entries(self.trees, other.trees, r, search)

    def edges(self, r, search: Search, relation: Relation) -> NeighborGraph:
        receivers, senders, distances = _by_ckdtree.edges(self.trees, r, search, relation)
        count = search.index_dtype.type(len(receivers))
        return NeighborGraph(*placed_like(self.data, senders, receivers, distances, count))

    def fixed_pairs(self, r, search: Search, size: int) -> FixedPairs:
        found = _by_ckdtree.fixed_edges(self.trees, r, relation=Relation.LATER, size=size, search=search)
        *ends, distances, count = found
        pairs = np.stack(ends, axis=1)
        return FixedPairs(*placed_like(self.data, pairs, distances, np.asarray(count)))

    def pairs(self, r, search: Search, output_type: str):
        pairs = _by_ckdtree.pairs(self.trees, r, search, output_type)
        if output_type == "set":
            return pairs
        return placed_like(self.data, pairs.astype(search.index_dtype))[0]

    def _pair_sums(self, other: "HostSearcher", radii, search: Search, weights: PairWeights, sums):
        given_weights = [] if weights.self_weights is None else list(weights)
        inputs = self.trees, other.trees, radii, *given_weights
        return _by_ckdtree.two_point(*inputs, search=search, sums=sums)[0]


class CallbackSearcher(LocalSearcher):
    """The searches by SciPy's tree where the points, the queries or a number are traced.

    `build_trees` returns the tree of concrete points; None: the points are traced, too.
    """

    def __init__(self, data, n, build_trees: Callable[[], SciPyTrees] | None, options: Options):
        self.data = data
        self.n = n
        self._build_trees = build_trees
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

        `x` are the queries; None where the function is about the tree's own points.
        """
        is_of_own_points = self.are_own_points(x)
        queries = None if x is None or is_of_own_points else _given(x, search.dtype)
        numbers = [_given(each, search.dtype) for each in numbers]
        by_scipy = self._search_of_batch(function, search, static, is_of_own_points)
        points = self._points(search) if by_scipy.trees is None else None
        results = [Result(*each) for each in results]
        return called_back(by_scipy.of_batch, results, (points, queries, *numbers))

    def _pair_sums(self, other: "CallbackSearcher", radii, search: Search, weights: PairWeights, sums):
        given_weights = [] if weights.self_weights is None else list(weights)
        with x64_for(sums):
            given_weights = [_given(array, sums) for array in given_weights]
        by_scipy = self._search_of_batch(_by_ckdtree.two_point, search, {"sums": sums})
        results = [Result(radii.shape, sums)]
        points = self._points(search) if by_scipy.trees is None else None
        inputs = points, other._points(search), _given(radii, search.dtype), *given_weights
        return called_back(by_scipy.of_batch, results, inputs)[0]

    def _search_of_batch(
        self, function: Callable, search: Search, static: dict[str, Any], is_of_own_points: bool = False
    ) -> "_SearchOfBatch":
        """Return the search, with the trees where the points are concrete."""
        trees = None if self._build_trees is None else self._build_trees()
        eps = 0.0 if is_traced(search.eps) else search.eps
        search = search._replace(boxsize=None, eps=eps)
        return _SearchOfBatch(function, trees, self.options, search, static, is_of_own_points)

    def _points(self, search: Search):
        """Return what trees are made of, when the values are known."""
        boxsize: Any = search.boxsize
        if isinstance(boxsize, tuple):
            boxsize = np.asarray(boxsize)
        return self.data, _given(self.n, np.int32), boxsize


class _SearchOfBatch(NamedTuple):
    """A search by SciPy, of the NumPy arrays of a batch: points, queries and numbers."""

    function: Callable  # of `_by_ckdtree`
    trees: SciPyTrees | None  # None: of points that are among the arrays
    options: Options
    search: Search
    static: dict[str, Any]
    is_of_own_points: bool  # whether the queries are the tree's own points

    def of_batch(self, batch: Batch) -> list[np.ndarray]:
        """Return what the search finds of the inputs of a batch.

        They are what trees are made of, or None where there are trees, queries and numbers.
        """
        points, *inputs = batch.inputs
        if isinstance(inputs[0], np.ndarray) and batch.are_shared(points):
            return self._of_all_queries(batch, points, *inputs)
        found = [self._of_one_item(*item) for item in batch.items()]
        return [np.stack(each) for each in zip(*found, strict=True)]

    def _of_all_queries(self, batch: Batch, points, x, bound, *eps):
        """Do so once for the queries (..., q, m) of all items, which search the same points."""
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

    def _of_one_item(self, points, x, *numbers):
        """Return what the search finds of NumPy arrays; queries that are not finite find nothing."""
        trees = self.trees or kept_trees(*points, self.options)
        if self.is_of_own_points:
            x = trees.own_queries()
        queries = []
        if isinstance(x, tuple):
            queries = [kept_trees(*x, self.options)]
        elif x is not None:
            x, *numbers = _finding_nothing(x, *numbers)
            queries = [x]
        return self.function(trees, *queries, *numbers, search=self.search, **self.static)


def _given(x, dtype):
    """Return an array of a dtype; one that is known stays known inside of `jit`."""
    return as_dtype(x, dtype) if is_traced(x) else np.asarray(x, dtype)


def _finding_nothing(x, number, *others):
    """Return queries, and their bound or radii, with which those that are not finite find nothing."""
    finite = np.isfinite(x).all(axis=1)
    if finite.all():
        return x, number, *others
    return np.where(finite[:, None], x, 0), np.where(finite, number, np.nan), *others
