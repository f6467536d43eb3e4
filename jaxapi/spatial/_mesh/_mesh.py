"""The searches of a tree over points on a mesh, concrete or traced."""

import contextlib
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..._core._constants import constant_on
from ..._core._dtypes import x64_for
from ..._core._programs import any_traced, eagerly, is_traced
from ..._core._typing import Array
from .._answers import Columns
from .._arrays import as_dtype, check_finite, reject_traced
from .._results import FixedNeighbors, FixedPairs, NearestNeighbors, NeighborGraph, Neighbors
from .._search import PairWeights, Queries, Search, has_bound, index_dtype, sums_dtype
from .._searcher import ConcreteSearcher, pairs_of
from .._tree._build import padded_size
from .._tree._queries import Limits, Relation
from .._tree._slopes import without_slopes
from . import _edges, _programs
from ._candidates import Candidates
from ._layout import MeshLayout
from ._placement import PlacedQueries, placed
from ._slopes import Ends, vectors_to, with_slopes
from ._within import NearestWithin

__all__ = ["MeshSearcher"]

LARGEST = np.iinfo(np.int32).max
LISTED = 8  # neighbors of a query that there is room for at the least: so few programs serve most radii


class MeshSearcher(ConcreteSearcher):
    """The searches of a tree whose points lie on several devices.

    Results lie as the queries do: spread over the mesh, on every device of it, or on one device. A traced
    query that is not finite has no neighbors; concrete ones raise ValueError, in all processes alike.
    """

    def __init__(self, data, forest, layout: MeshLayout, count=None):
        self.data = data
        self.layout = layout
        self.count = count  # None: as many as the layout says
        self.forest = without_slopes(forest)

    @staticmethod
    def prepare(data, layout: MeshLayout, count=None):
        """Build the trees of all devices; also tell whether all points that count are finite."""
        rows_dtype = index_dtype(layout.n)
        with _context((data, count), data.dtype, rows_dtype):
            points = without_slopes(data)
            # Its own program, in front of the build: the answer is there while the trees are built.
            all_finite = True
            if count is None and not is_traced(data):
                on_gpus = next(iter(data.devices())).platform == "gpu"
                all_finite = _programs.are_finite(data, layout=layout, in_host_memory=on_gpus)
            return _programs.build_forest(points, count, layout=layout, rows_dtype=rows_dtype), all_finite

    # --- the nearest -----------------------------------------------------------------------------------

    def nearest(self, queries: Queries, columns: Columns, bound, search: Search) -> NearestNeighbors:
        x = queries.x
        if self.are_own_points(x):
            distances, rows = self._nearest_of_all(columns, bound, search)
            return NearestNeighbors(distances, self._counted(rows))
        self._check(x)
        with self._context(search, x, bound, search.eps):
            placed_queries = self._placed(search, x)
            boxsize = search.boxsize_array()
            limits = Limits(*self._numbers(search, bound, search.eps))
            inputs = without_slopes((placed_queries.x, limits, boxsize))
            plan = self._plan(search, placed_queries.spread)
            static: dict[str, Any] = {"plan": plan, "columns": columns, "is_bounded": has_bound(bound)}
            found = _programs.nearest_columns(self.forest, *inputs, **static)
            distances = self._with_slopes(found, placed_queries.x, boxsize, plan)
            results = distances, self._counted(found.rows)
            return NearestNeighbors(*placed_queries.send_back(results, queries.shape + columns.shape))

    def nearest_in_tree_order(self, columns: Columns, bound, search: Search) -> NearestNeighbors:
        """Return the nearest of every point, in the order of the devices' trees."""
        distances, rows = self._nearest_of_all(columns, bound, search, order="tree")
        return NearestNeighbors(distances, self._counted(rows))

    def _nearest_of_all(self, columns: Columns, bound, search: Search, order: str = "input"):
        plan = self._plan(search)
        with self._context(search, bound, search.eps):
            boxsize = search.boxsize_array()
            limits = Limits(*self._numbers(search, bound, search.eps))
            inputs = without_slopes((limits, boxsize))
            each = self._rows_of_a_device if order == "input" else None
            static: dict[str, Any] = {"plan": plan, "columns": columns, "each": each}
            static["is_bounded"] = has_bound(bound)
            found = _programs.nearest_of_all(self.forest, *inputs, **static)
            in_tree_order = order == "tree" and any_traced(self.data, boxsize)
            query_rows = self._indices() if in_tree_order else None
            return self._with_slopes(found, self.data, boxsize, plan, query_rows), found.rows

    def kneighbors(self, columns: Columns, bound, search: Search) -> NearestNeighbors:
        distances, rows = self._kneighbors(columns, bound, search)
        return NearestNeighbors(distances, self._counted(rows))

    def _kneighbors(self, columns: Columns, bound, search: Search):
        found = self._nearest_of_all(columns, bound, search)
        with self._context(search, *found):
            return _edges.without_itself(*found, layout=self.layout)

    def knn_graph(self, columns: Columns, search: Search, loop: bool) -> NeighborGraph:
        find = self._nearest_of_all if loop else self._kneighbors
        found = find(columns, math.inf, search)
        with self._context(search, *found):
            edges, count = _edges.edges(*found, layout=self.layout)
            return self._graph(edges, count)

    def displacements(self, x, rows, shifts, search: Search) -> Array:
        q = math.prod(x.shape[:-1])
        shape = *rows.shape, x.shape[-1]
        with self._context(search, x, rows):
            queries = self._placed(search, x.reshape(q, -1), rows.reshape(q, -1))
            x = as_dtype(queries.x, search.dtype)
            rows = queries.other
            if self.count is not None:
                rows = jnp.where(rows < as_dtype(self.count, rows.dtype), rows, self.layout.n)
            plan = self._plan(search, queries.spread)
            vectors = vectors_to(self.data, x, rows, search.boxsize_array(), plan=plan)
            return queries.send_back((vectors,), shape)[0]

    # --- within a radius -------------------------------------------------------------------------------

    def fixed(self, queries: Queries, r, search: Search, max_neighbors: int) -> FixedNeighbors:
        x = queries.x
        self._check(x)
        with self._context(search, x, r):
            placed_queries = self._placed(search, x, r)
            boxsize = search.boxsize_array()
            radius = as_dtype(placed_queries.other, search.dtype)
            inputs = without_slopes((placed_queries.x, radius, boxsize))
            plan = self._plan(search, placed_queries.spread)
            found = _programs.nearest_within(self.forest, *inputs, plan=plan, max_neighbors=max_neighbors)
            distances = self._with_slopes(found.candidates, placed_queries.x, boxsize, plan)
            lists = self._counted(found.candidates.rows), distances
            rows, distances = placed_queries.send_back(lists, (*queries.shape, max_neighbors))
            (counts,) = placed_queries.send_back((found.counts,), queries.shape)
            return FixedNeighbors(rows, distances, counts)

    def counts(self, queries: Queries, r, search: Search) -> Array:
        x = queries.x
        self._check(x)
        with self._context(search, x, r):
            placed_queries = self._placed(search, x, r)
            radius = as_dtype(placed_queries.other, search.dtype)
            inputs = without_slopes((placed_queries.x, radius, search.boxsize_array()))
            plan = self._plan(search, placed_queries.spread)
            counts = _programs.count(self.forest, *inputs, plan=plan)
            return placed_queries.send_back((counts,), queries.shape)[0]

    def csr(self, queries: Queries, r, search: Search, sort: bool) -> Neighbors:
        """Return all neighbors in CSR form, of spread queries in equal parts, filled up with n and inf."""
        self._check(queries.x)
        with self._context(search):
            placed_queries = self._placed(search, queries.x, r)
            radius = placed_queries.other
            found = self._all_within(placed_queries.x, radius, search, placed_queries.spread)
            if placed_queries.spread:
                return self._csr_in_parts(found, search)
            counts = np.asarray(found.counts)
            rows = np.asarray(found.candidates.rows)
            distances = np.asarray(found.candidates.distances)
            keep = rows < self.layout.n
            indptr = np.pad(np.cumsum(counts, dtype=np.int64), (1, 0))
            indptr = indptr.astype(index_dtype(int(indptr[-1])))
            sharding = placed_queries.result_sharding or self.layout.everywhere
            return Neighbors(*jax.device_put((indptr, rows[keep], distances[keep]), sharding))

    def _csr_in_parts(self, found: NearestWithin, search: Search) -> Neighbors:
        keep, totals = _edges.related(found.candidates.rows, layout=self.layout, relation=None)
        totals = np.asarray(totals)
        total = int(totals.sum(dtype=np.int64))
        edges = self._in_equal_parts(found.candidates, keep, totals, total)
        dtype = np.result_type(search.index_dtype, index_dtype(total))
        with x64_for(dtype):
            indptr = _edges.offsets(found.counts, layout=self.layout, dtype=dtype)
            return Neighbors(indptr, self._counted(edges.senders), edges.distances)

    def edges(self, r, search: Search, relation: Relation) -> NeighborGraph:
        return self._find_edges(r, search, relation, None)

    def fixed_edges(self, r, search: Search, relation: Relation, size: int) -> NeighborGraph:
        """Return `size` edges, or more, if need be, so that all devices have equal parts."""
        return self._find_edges(r, search, relation, size + -size % self.layout.axes.size)

    def fixed_pairs(self, r, search: Search, size: int) -> FixedPairs:
        return pairs_of(self.fixed_edges(r, search, Relation.LATER, size))

    def _find_edges(self, r, search: Search, relation: Relation, size: int | None) -> NeighborGraph:
        """Return all edges, or `size` of them, and how many there are."""
        reject_traced(
            self._traced(r, search.boxsize),
            "a search for pairs on a mesh",
            "use query_radius with max_neighbors",
        )
        with self._context(search):
            radii = _edges.radii_of_points(as_dtype(r, search.dtype), self.data, layout=self.layout)
            found = self._all_within(self.data, radii, search, spread=True)
            keep, totals = _edges.related(found.candidates.rows, layout=self.layout, relation=relation)
            totals = np.asarray(totals)
            total = int(totals.sum(dtype=np.int64))
            size = total if size is None else size
            edges = self._in_equal_parts(found.candidates, keep, totals, size)
            count = search.index_dtype.type(min(total, np.iinfo(search.index_dtype).max))
            count = jax.device_put(count, self.layout.everywhere)
            return self._graph(edges, count)

    def _graph(self, edges: _edges.GraphEdges, count) -> NeighborGraph:
        """Return edges of which those that are none have as row the number of points that count."""
        return NeighborGraph(
            self._counted(edges.senders), self._counted(edges.receivers), edges.distances, count
        )

    def _all_within(self, x, r, search: Search, spread: bool) -> NearestWithin:
        """Return all neighbors by query."""
        plan = self._plan(search, spread)
        inputs = x, as_dtype(r, search.dtype), search.boxsize_array()
        counts = _programs.count(self.forest, *inputs, plan=plan)
        most = padded_size(int(_edges.largest(counts, layout=self.layout, spread=spread)), least=LISTED)
        query_count = -(-len(x) // self.layout.axes.size)  # of a device
        if query_count * most > LARGEST:
            raise ValueError(
                f"{query_count} queries on a device, of which one has {most} neighbors or nearly so many, "
                "take more room than there is: search for fewer at once, or use query_radius with "
                "max_neighbors"
            )
        return NearestWithin(_programs.all_within(self.forest, *inputs, plan=plan, most=most), counts)

    def _in_equal_parts(self, candidates: Candidates, keep, totals, size: int) -> _edges.GraphEdges:
        """Return the edges of `size` neighbors to keep."""
        capacity = padded_size(int(totals.max()))
        return _edges.in_equal_parts(
            candidates, keep, layout=self.layout, capacity=capacity, size=max(1, size)
        )

    # --- pairs of trees, clusters ----------------------------------------------------------------------

    def two_point(self, other, radii, search: Search, weights: PairWeights, cumulative: bool):
        numbers = self.count, getattr(other, "count", None)
        values = self.data, *numbers, other.data, radii, *weights, search.boxsize
        traced = any_traced(*values)
        sums = sums_dtype(weights, traced)
        if not radii.size:
            return np.zeros(0, sums)
        with _context(values, search.dtype, sums):
            if isinstance(other, MeshSearcher):
                of_queries = other._weights(weights.other_weights, sums)
            else:
                row_count = len(other.data)
                of_queries = _of_rows(weights.other_weights, row_count, row_count, sums)
            queries = self._placed(search, other.data, of_queries)
            placed_weights = _programs.PlacedWeights(queries.other, self._weights(weights.self_weights, sums))
            plan = self._plan(search, queries.spread)
            inputs = self.forest, queries.x, placed_weights, radii, search.boxsize_array()
            counts = _programs.two_point(*inputs, plan=plan)
        if traced:
            return counts if cumulative else counts - jnp.concatenate([counts[:1] * 0, counts[:-1]])
        counts = np.asarray(counts)
        return counts if cumulative else np.diff(counts, prepend=counts[:1] * 0)

    def components(self, r, search: Search):
        """Return how many components of points within `r` there are, and the labels."""
        with self._cluster_context(r, search):
            r, boxsize = without_slopes((as_dtype(r, search.dtype), search.boxsize_array()))
            static: dict[str, Any] = {"plan": self._plan(search), "each": self._rows_of_a_device}
            return _programs.components(self.forest, r, boxsize, **static)

    def dbscan(self, eps, weights, search: Search, min_samples: int):
        """Return which points are cores, and the labels; without `weights` each point counts 1."""
        if weights is not None and self.layout.mesh is not None:
            weights = self._weights(weights, weights.dtype)
        with self._cluster_context(eps, search, weights):
            density = _programs.Density(as_dtype(eps, search.dtype), weights)
            density, boxsize = without_slopes((density, search.boxsize_array()))
            static: dict[str, Any] = {"plan": self._plan(search), "each": self._rows_of_a_device}
            static["min_samples"] = min_samples
            return _programs.dbscan(self.forest, density, boxsize, **static)

    def _cluster_context(self, r, search: Search, *values):
        """Return the context of a program that finds clusters; refuse points of which there are too many."""
        if self.layout.n >= LARGEST:
            raise ValueError(f"clusters are found among at most {LARGEST - 1} points, got {self.layout.n}")
        traced = self.data, self.count, search.boxsize, r, *values
        return _context(traced, search.dtype, np.dtype(np.float64))

    # --- what makes Python objects on the host ---------------------------------------------------------

    def lists(self, queries: Queries, r, search: Search, in_order: bool):
        """Refuse SciPy's lists."""
        raise _on_the_host("query_ball_point", "use query_radius")

    def pairs(self, r, search: Search, output_type: str):
        """Refuse SciPy's set of pairs."""
        raise _on_the_host("query_pairs without max_pairs", "pass max_pairs, or use radius_graph")

    def ball_tree(self, other, r, search: Search):
        """Refuse SciPy's lists."""
        raise _on_the_host("query_ball_tree", "use query_radius")

    def distance_records(self, other, r, search: Search):
        """Refuse SciPy's matrices."""
        raise _on_the_host("sparse_distance_matrix", "use query_radius")

    # --- how points and queries lie --------------------------------------------------------------------

    @property
    def indices(self):
        """The rows of the data in the order of the trees; n where a tree has no point for a row."""
        return self._counted(self._indices())

    def _indices(self):
        return _programs.rows_of_trees(self.forest, layout=self.layout)

    def _weights(self, weights, dtype):
        """Return a weight for each row of the data, 0 for those that do not count."""
        weights = _of_rows(weights, len(self.data), self.layout.n, dtype)
        if self.count is None:
            return weights
        return jnp.where(jnp.arange(len(weights)) < self.count, weights, jnp.zeros((), dtype))

    def _counted(self, rows):
        """Return rows with the number of those that count for none."""
        count = self.count
        return rows if count is None else jnp.where(rows < self.layout.n, rows, as_dtype(count, rows.dtype))

    @property
    def _rows_of_a_device(self) -> int:
        """How many rows of the data each device has."""
        return len(self.data) // (1 if self.layout.mesh is None else self.layout.axes.size)

    def _plan(self, search: Search, spread: bool = True) -> _programs.Plan:
        """Return what a program is compiled for: the other parts of a search are arguments."""
        return _programs.Plan(self.layout, search.static_part(search.engine), spread)

    def _traced(self, *values) -> bool:
        return any_traced(self.data, self.count, *values)

    def _check(self, x) -> None:
        """Refuse concrete queries on the host that are not finite, in all processes alike."""
        if not self._traced(x):
            check_finite(x)

    def _with_slopes(self, found: Candidates, x, boxsize, plan: _programs.Plan, query_rows=None):
        """Return the distances with their derivatives, where there may be a transformation."""
        if not any_traced(self.data, x, boxsize):
            return found.distances
        x = as_dtype(x, plan.search.dtype)
        return with_slopes(found.distances, Ends(self.data, x, boxsize), query_rows, found.rows, plan)

    def _placed(self, search: Search, x, other=None) -> PlacedQueries:
        """Return queries as the mesh takes them."""
        return placed(self.layout, self._traced(search.boxsize, x, other), x, other)

    def _context(self, search: Search, *values):
        return _context((self.data, self.count, search.boxsize, *values), search.dtype, search.index_dtype)

    def _numbers(self, search: Search, *values):
        """Return numbers as programs take them, concrete ones kept on every device."""
        if self.layout.mesh is None or self._traced(*values):
            return tuple(as_dtype(each, search.dtype) for each in values)
        place = self.layout.everywhere
        return tuple([constant_on(each, search.dtype, place) for each in values])


def _of_rows(weights, rows: int, n: int, dtype):
    """Return a weight for each row of the data, 0 from `n` on; None for weights of 1."""
    weights = np.ones(n) if weights is None else weights
    if not is_traced(weights):
        return np.pad(np.asarray(weights).astype(dtype), (0, rows - n))
    return jnp.pad(weights.astype(dtype), (0, rows - n))


def _on_the_host(method: str, remedy: str) -> TypeError:
    return TypeError(f"{method} makes Python objects on the host, and this KDTree is on a mesh: {remedy}")


def _context(values, *dtypes):
    """Return the context for concrete values, inside of transformations too; none for traced ones."""
    stack = contextlib.ExitStack()
    if not any_traced(*values):
        stack.enter_context(eagerly())
        stack.enter_context(x64_for(*dtypes))
    return stack
