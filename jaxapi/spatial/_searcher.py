"""What `KDTree` asks of a searcher, and what those of points in one place have in common: derivatives."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from .._core._dtypes import x64_for
from .._core._programs import any_traced, eagerly_unless_traced
from .._core._typing import Array
from ._answers import Answer, Columns, NeighborEdges, OtherNeighbors
from ._arrays import as_dtype
from ._engines._protocol import Engine
from ._results import (
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
from ._search import PairWeights, Queries, Search, sums_dtype
from ._tree._queries import Relation
from ._tree._slopes import displacements_to, with_slopes
from ._tree._tree import Tree

__all__ = [
    "ConcreteSearcher",
    "LocalSearcher",
    "Searcher",
    "TreeSearcher",
    "boxsize_of",
    "pairs_of",
]

EDGES_AT_FIRST = 1 << 12  # that are searched for before their number is known

Graph: TypeAlias = NeighborGraph | PeriodicNeighborGraph
AtMost: TypeAlias = FixedNeighbors | PeriodicFixedNeighbors
Pairs: TypeAlias = FixedPairs | PeriodicPairs


class Searcher(ABC):
    """The searches of one tree, over points `data`, as `KDTree` asks for them.

    Concrete queries on the host that are not finite raise ValueError, others have no neighbors. Distances
    have their derivatives. Results of points with a cell have shifts, and are the classes named `Periodic`.
    """

    data: Any

    def are_own_points(self, x) -> bool:
        """Tell whether queries are the tree's own points, of which the first n count: then `x` is `data`."""
        return x is self.data

    @abstractmethod
    def nearest(self, queries: Queries, columns: Columns, bound, search: Search) -> NearestNeighbors:
        """Return the nearest within the bound, of shape queries.shape + columns.shape."""

    @abstractmethod
    def kneighbors(self, columns: Columns, bound, search: Search) -> NearestNeighbors:
        """Return the nearest of every point, without itself and one column less."""

    @abstractmethod
    def knn_graph(self, columns: Columns, search: Search, loop: bool) -> Graph:
        """Return the nearest of every point as edges, with `loop` from each point to itself, too."""

    @abstractmethod
    def fixed(self, queries: Queries, r, search: Search, max_neighbors: int) -> AtMost:
        """Return the nearest neighbors within the radii (q,), and how many there are."""

    @abstractmethod
    def counts(self, queries: Queries, r, search: Search) -> Array:
        """Return how many neighbors each query has within its radius."""

    @abstractmethod
    def fixed_edges(self, r, search: Search, relation: Relation, size: int) -> Graph:
        """Return at most `size` edges of points within a radius, and their true number."""

    @abstractmethod
    def fixed_pairs(self, r, search: Search, size: int) -> Pairs:
        """Return at most `size` pairs of points within a radius, and their true number."""

    @abstractmethod
    def two_point(self, other, radii, search: Search, weights: PairWeights, cumulative: bool):
        """Return the pairs within each radius (R,), counted or by their weights; concrete ones as NumPy's.

        `other` is of the same class, for the points of the other tree.
        """

    @abstractmethod
    def displacements(self, x, rows, shifts, search: Search) -> Array:
        """Return the vectors from `x` (..., m) to the points, or images, of the rows (...) or (..., k)."""


class ConcreteSearcher(Searcher):
    """The searches of concrete arrays, some of which have results whose sizes depend on values."""

    @abstractmethod
    def csr(self, queries: Queries, r, search: Search, sort: bool) -> Neighbors | PeriodicNeighbors:
        """Return all neighbors within the radii (q,) in CSR form."""

    @abstractmethod
    def lists(self, queries: Queries, r, search: Search, in_order: bool) -> Sequence[list[int]]:
        """Return the rows of each query's neighbors within its radius."""

    @abstractmethod
    def edges(self, r, search: Search, relation: Relation) -> Graph:
        """Return all edges of points within a radius."""

    def edges_with_room(self, r, search: Search, relation: Relation, room: Callable[[int], int]) -> Graph:
        """Return all edges of points within a radius, in arrays for `room(count)` of them.

        Here some are searched for before their number is known.
        """
        graph = self.fixed_edges(r, search, relation, EDGES_AT_FIRST)
        return self.fixed_edges(r, search, relation, room(int(graph.count)))

    @abstractmethod
    def pairs(self, r, search: Search, output_type: str) -> set[tuple[int, int]] | Array | PeriodicPairs:
        """Return all pairs of points within a radius: SciPy's set, or an array."""

    @abstractmethod
    def ball_tree(self, other, r, search: Search) -> list[list[int]]:
        """Return for each point the rows of its neighbors in the other tree, whose searcher is given."""

    @abstractmethod
    def distance_records(self, other, r, search: Search) -> np.ndarray:
        """Return the distances to the other tree's points as SciPy's record array with fields i, j, v."""


class LocalSearcher(Searcher):
    """The searches of points in one place, of which the first `n` count; `n` may be traced.

    The methods that start with an underscore find neighbors, and have no derivatives; what all such
    searchers make of these is here: shapes, derivatives, checks. `results` are the shapes and dtypes of the
    arrays that a search returns.
    """

    n: Any

    @abstractmethod
    def _nearest_columns(self, x, bound, search: Search, results, answer: Answer):
        """Return the answer about the nearest of queries (q, m), as `_tree_programs.nearest_columns`."""

    @abstractmethod
    def _nearest_within(self, x, r, search: Search, results, max_neighbors: int):
        """Return rows, distances and counts of neighbors, as `_tree_programs.nearest_within`."""

    @abstractmethod
    def _counts_within(self, x, r, search: Search, results):
        """Return how many neighbors are within the radii, as `_tree_programs.counts_within`."""

    @abstractmethod
    def _fixed_edges(self, r, search: Search, results, *, relation: Relation, size: int):
        """Return the edges of the tree's own points, as `_tree_programs.fixed_edges`."""

    def nearest(self, queries: Queries, columns: Columns, bound, search: Search) -> NearestNeighbors:
        x = queries.x
        shape = queries.shape + columns.shape
        results = (shape, search.dtype), (shape, search.index_dtype)
        answer = columns.answer(len(self.data))
        distances, rows = self._nearest_columns(x, bound, search, results, answer)
        return NearestNeighbors(self._sloped(distances, x, rows, search), rows)

    def kneighbors(self, columns: Columns, bound, search: Search) -> NearestNeighbors:
        shape = len(self.data), columns.k - 1
        results = (shape, search.dtype), (shape, search.index_dtype)
        n = len(self.data)
        answer = OtherNeighbors(columns.found_among(n), columns.among(n))
        distances, rows = self._nearest_columns(self.data, bound, search, results, answer)
        return NearestNeighbors(self._sloped(distances, self.data, rows, search), rows)

    def knn_graph(self, columns: Columns, search: Search, loop: bool) -> NeighborGraph:
        edges_per_point = columns.shape[0] if loop else columns.k - 1
        shape = (len(self.data) * edges_per_point,)
        rows = shape, search.index_dtype
        results = rows, rows, (shape, search.dtype), ((), search.index_dtype)
        n = len(self.data)
        answer = NeighborEdges(columns.found_among(n), columns.among(n), loop)
        edges = self._nearest_columns(self.data, np.inf, search, results, answer)
        senders, receivers, distances, count = edges
        return NeighborGraph(senders, receivers, self._sloped(distances, self.data, senders, search), count)

    def fixed(self, queries: Queries, r, search: Search, max_neighbors: int) -> FixedNeighbors:
        shape = (*queries.shape, max_neighbors)
        results = (shape, search.index_dtype), (shape, search.dtype), (queries.shape, search.index_dtype)
        rows, distances, counts = self._nearest_within(queries.x, r, search, results, max_neighbors)
        return FixedNeighbors(rows, self._sloped(distances, queries.x, rows, search), counts)

    def counts(self, queries: Queries, r, search: Search) -> Array:
        results = ((queries.shape, search.index_dtype),)
        return self._counts_within(queries.x, r, search, results)[0]

    def fixed_edges(self, r, search: Search, relation: Relation, size: int) -> NeighborGraph:
        rows = (size,), search.index_dtype
        results = rows, rows, ((size,), search.dtype), ((), search.index_dtype)
        edges = self._fixed_edges(r, search, results, relation=relation, size=size)
        receivers, senders, distances, count = edges
        if any_traced(self.data, search.boxsize) and len(self.data):
            is_edge = receivers < as_dtype(self.n, receivers.dtype)
            points = self.data[jnp.where(is_edge, receivers, 0)]
            distances = self._sloped(distances, points, senders, search)
        return NeighborGraph(senders, receivers, distances, count)

    def fixed_pairs(self, r, search: Search, size: int) -> FixedPairs:
        return pairs_of(self.fixed_edges(r, search, Relation.LATER, size))

    def two_point(self, other, radii, search: Search, weights: PairWeights, cumulative: bool):
        values = self.data, self.n, other.data, other.n, radii, search.boxsize, *weights
        traced = any_traced(*values)
        sums = sums_dtype(weights, traced)
        pair_count = len(self.data) * len(other.data)
        if weights.self_weights is None and pair_count > np.iinfo(sums).max:
            raise OverflowError(
                f"{len(self.data)} times {len(other.data)} pairs may not fit int32: turn x64 mode on to "
                "count them under jit"
            )
        xp = jnp if traced else np
        if not (radii.size and pair_count):
            return xp.zeros(radii.shape, sums)
        counts = self._pair_sums(other, radii, search, weights, sums)
        if cumulative:
            return counts
        with x64_for(sums):
            return xp.diff(counts, prepend=counts[:1] * 0)

    @abstractmethod
    def _pair_sums(self, other, radii, search: Search, weights: PairWeights, sums):
        """Return the sums of the products of weights of pairs within each radius; of 1 without weights."""

    def displacements(self, x, rows, shifts, search: Search) -> Array:
        return _displaced(self.data, x, rows, boxsize_of(search), self.n, dtype=search.dtype)

    def _sloped(self, distances, x, rows, search: Search):
        """Return the distances from x (q, m) to rows (q, ...) with their derivatives, 0 to no point."""
        if not any_traced(self.data, search.boxsize, x) or not len(self.data):
            return distances
        q = len(x)
        if not q:
            return distances
        columns = rows.reshape(q, -1)
        all_rows_count = type(self.n) is int and self.n == len(self.data)
        if not all_rows_count:  # from n on there are no points
            columns = jnp.where(columns < as_dtype(self.n, rows.dtype), columns, len(self.data))
        x = as_dtype(x, search.dtype)
        boxsize = boxsize_of(search)
        sloped = with_slopes(distances.reshape(q, -1), self.data, x, columns, boxsize, search.p)
        return sloped.reshape(distances.shape)


class TreeSearcher(LocalSearcher):
    """The searches of our own tree, by an engine."""

    def __init__(self, data, n, tree: Tree, engine: Engine):
        self.data = data
        self.n = n
        self.tree = tree
        self.engine = engine


def pairs_of(edges: NeighborGraph) -> FixedPairs:
    """Return the edges to later rows as pairs, the lower row first."""
    with eagerly_unless_traced(edges.receivers):
        return FixedPairs(_low_row_first(edges.receivers, edges.senders), edges.distances, edges.count)


@jax.jit
def _low_row_first(receivers, senders):
    return jnp.stack([jnp.minimum(receivers, senders), jnp.maximum(receivers, senders)], axis=1)


_displaced = jax.jit(displacements_to, static_argnames=("dtype",))


def boxsize_of(search: Search) -> Array | None:
    """Return the size of the periodic box as a jax array, also where x64 is off; None without a box."""
    return None if search.boxsize is None else as_dtype(search.boxsize_array(), search.dtype)
