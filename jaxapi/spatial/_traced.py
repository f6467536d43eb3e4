"""Searches of our own tree inside of a transformation: parts of its program, on arrays as they are."""

import numpy as np

from .._core._dtypes import x64_for
from . import _tree_programs
from ._answers import Answer
from ._arrays import as_dtype
from ._engines._protocol import Engine
from ._search import PairWeights, Search, has_bound
from ._searcher import TreeSearcher, boxsize_of
from ._tree._metric import TreeMetric
from ._tree._queries import Limits, Relation
from ._tree._slopes import without_slopes
from ._tree._tree import Tree
from ._tree_programs import PaddedQueries

__all__ = ["TracedSearcher"]


class TracedSearcher(TreeSearcher):
    """The searches where the points, the queries or a number are traced.

    Nothing that an engine computes is differentiated; `LocalSearcher` puts derivatives on top.
    """

    def __init__(self, data, n, tree: Tree, engine: Engine):
        super().__init__(data, n, without_slopes(tree), engine)

    def _nearest_columns(self, x, bound, search: Search, results, answer: Answer):
        is_bounded = has_bound(bound)
        bound = as_dtype(bound, search.dtype)
        eps = as_dtype(search.eps, search.dtype)
        limits = Limits(*without_slopes((bound, eps)))
        inputs = self.tree, self._queries(x, search), limits, self._metric(search)
        static = search.static_part(self.engine)
        found = _tree_programs.nearest_columns(*inputs, answer=answer, search=static, is_bounded=is_bounded)
        return _in_shapes(found, results)

    def _nearest_within(self, x, r, search: Search, results, max_neighbors: int):
        inputs = self.tree, self._queries(x, search), self._radius(r, search), self._metric(search)
        static = search.static_part(self.engine)
        found = _tree_programs.nearest_within(*inputs, search=static, max_neighbors=max_neighbors)
        return _in_shapes(found, results)

    def _counts_within(self, x, r, search: Search, results):
        inputs = self.tree, self._queries(x, search), self._radius(r, search), self._metric(search)
        found = _tree_programs.counts_within(*inputs, search=search.static_part(self.engine))
        return _in_shapes(found, results)

    def _fixed_edges(self, r, search: Search, results, *, relation: Relation, size: int):
        inputs = self.tree, self._radius(r, search), self._metric(search)
        static = search.static_part(self.engine)
        found = _tree_programs.fixed_edges(*inputs, search=static, relation=relation, size=size)
        return _in_shapes(found, results)

    def _pair_sums(self, other: TreeSearcher, radii, search: Search, weights: PairWeights, sums):
        queries = self._queries(self.data, search)
        radii = self._radius(radii, search)
        metric = self._metric(search)
        static = search.static_part(self.engine)
        if weights.self_weights is None:
            return _tree_programs.pair_counts(other.tree, queries, radii, metric, search=static, dtype=sums)
        with x64_for(sums):
            weights = PairWeights(*(as_dtype(array, sums) for array in weights))
        return _tree_programs.pair_sums(other.tree, queries, weights, radii, metric, search=static)

    def _queries(self, x, search: Search) -> PaddedQueries:
        """Return queries (q, m); of the tree's own points the first n count."""
        count = None
        if self.are_own_points(x) and not (type(self.n) is int and self.n == len(x)):
            count = as_dtype(self.n, np.dtype(np.int32))
        return PaddedQueries(*without_slopes((as_dtype(x, search.dtype), count)))

    def _radius(self, r, search: Search):
        """Return radii in the dtype of the distances."""
        return without_slopes(as_dtype(r, search.dtype))

    def _metric(self, search: Search) -> TreeMetric:
        return TreeMetric(search.p, without_slopes(boxsize_of(search)))


def _in_shapes(found, results):
    """Return the arrays that were found in the shapes of the results."""
    return [array.reshape(shape) for array, (shape, _) in zip(found, results, strict=True)]
