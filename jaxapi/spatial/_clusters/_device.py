"""Clusterings and spanning trees by an engine's searches; pure and traceable.

Points are (rows, m), of which some may not count: rows from the tree's n on, and those that are not finite.
Results are by row. The tree holds points in slots, (N,), some of them empty.
"""

from functools import partial
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from ..._core._dtypes import x64_for, x64_on
from ..._core._programs import compiled
from ..._core._typing import Array
from .._engines._protocol import KernelEngine, has_kernels
from .._search import Search
from .._tree._metric import Measure, TreeMetric, power
from .._tree._powers_of_two import converted
from .._tree._queries import Limits, Relation, own_queries
from .._tree._scaling import with_room_for_powers
from .._tree._tree import Tree
from .._tree._varying import varying_like
from . import _hierarchy, _selection
from ._arrays import OnDevice

__all__ = ["components", "dbscan", "hdbscan", "linkage", "linkage_matrix", "merged", "spanning_tree"]

NO_LABEL = np.iinfo(np.int32).max


class ClusteredPoints(NamedTuple):
    """Points (rows, m), the tree over them, and the metric."""

    data: Array
    tree: Tree
    metric: TreeMetric


class _SearchedPoints(NamedTuple):
    """Points, and how they are searched."""

    points: ClusteredPoints  # with a tree that has room for the powers of distances
    search: Search

    @classmethod
    def of(cls, points: ClusteredPoints, search: Search) -> "_SearchedPoints":
        """Return points that are searched so."""
        return cls(points._replace(tree=with_room_for_powers(points.tree, points.metric.p)), search)

    @property
    def row_count(self) -> int:
        """Number of rows, those that do not count among them."""
        return len(self.points.data)

    @property
    def is_point(self) -> Array:
        """Which slots hold a point, (N,)."""
        return jnp.isfinite(self.points.tree.points[0])

    def by_row(self, values: Array, fill) -> Array:
        """Return the slots' values (N,) in the order of the rows, (rows,)."""
        rows = jnp.where(self.is_point, self.points.tree.rows, self.row_count)
        return jnp.full(self.row_count, fill, values.dtype).at[rows].set(values, mode="drop")

    def by_slot(self, values: Array, fill) -> Array:
        """Return the rows' values (rows,) in the order of the slots, (N,)."""
        rows = jnp.minimum(self.points.tree.rows, self.row_count - 1)
        return jnp.where(self.is_point, values[rows], fill)

    @property
    def kernels(self) -> KernelEngine:
        """The engine of those clusterings that only an engine with kernels can do."""
        engine = self.search.engine
        assert has_kernels(engine)
        return engine

    def components(self, radius) -> tuple[Array, Array]:
        """Return how many components there are, and the label of each row, by their lowest rows."""
        engine = self.search.engine
        slots = engine.component_rows(self.points.tree, radius, self.points.metric)
        lowest = self.by_row(slots, -1)
        is_lowest = lowest == jnp.arange(self.row_count, dtype=jnp.int32)
        number = engine.running_sums(is_lowest.astype(jnp.int32))
        return number[-1], jnp.where(lowest < 0, -1, number[lowest])

    def cores(self, min_samples: int) -> tuple[Array, Array]:
        """Return core distances (rows,), scaled powers, and the rows of the neighbors (rows, k)."""
        tree = self.points.tree
        dtype = tree.points.dtype
        limits = Limits(jnp.full((), np.inf, dtype), jnp.zeros((), dtype))
        powers, neighbors = self.kernels.nearest_of_all(
            tree,
            limits,
            self.points.metric,
            row_count=self.row_count,
            k=min_samples,
            measure=Measure.POWER,
        )
        is_written = self.by_row(jnp.ones(len(tree.rows), bool), False)
        core = jnp.where(is_written, powers[:, -1], np.inf)
        return core, jnp.where(is_written[:, None], neighbors, self.row_count)

    def spanning_edges(self, cores: Array | None, shortens) -> tuple[Array, Array]:
        """Return the rows and distances of the edges; `cores` as above, None for plain distances."""
        of_slots = None if cores is None else self.by_slot(cores, np.inf)
        inputs = self.points.tree, of_slots, shortens, self.points.metric
        rows, distances = self.kernels.spanning_edges(*inputs)
        return rows[: self.row_count - 1], distances[: self.row_count - 1]


@partial(compiled, static_argnames="search")
def components(points: ClusteredPoints, radius, *, search: Search):
    """Return how many components the points have, and their labels (rows,)."""
    count, labels = _SearchedPoints.of(points, search).components(radius)
    dtype = search.index_dtype
    return varying_like((count.astype(dtype), labels.astype(dtype)), (points.tree, radius))


@partial(compiled, static_argnames=("min_samples", "search"))
def dbscan(points: ClusteredPoints, radius, weights, *, min_samples: int, search: Search):
    """Return which points are cores (rows,), and their labels; without `weights` each counts 1."""
    searched = _SearchedPoints.of(points, search)
    data, tree, metric = searched.points
    engine = search.engine
    data = engine.read_input(data, tree.n, dtype=data.dtype)
    queries = own_queries(tree, radius, metric.p).by_slot()
    if weights is None:
        counts = engine.count(tree, queries, metric, relation=Relation.ANY, enough=min_samples)
        has_enough = counts >= min_samples
    else:
        with x64_for(np.dtype(np.float64)):
            of_slots = searched.by_slot(weights.astype(np.float64), 0.0)
            largest = queries.bound.max()[None]
            (sums,) = engine.bin_counts(tree, queries, largest, of_slots, metric)
            has_enough = sums >= min_samples
    is_core_slot = searched.is_point & has_enough
    is_core = searched.by_row(is_core_slot, False)
    # The cores have a tree of their own, in the same units: nodes of this one hold other points, too.
    core_tree = engine.build(jnp.where(is_core[:, None], data, jnp.nan), tree.n, tree.scale)
    cores = _SearchedPoints(ClusteredPoints(data, core_tree, metric), search)
    _, labels = cores.components(radius)
    # Who is none takes the lowest label of the cores around.
    bound = jnp.where(is_core_slot, -1, queries.bound)
    others = queries._replace(bound=bound, slot=~(queries.slot // tree.leaf_size))
    of_cores = cores.by_slot(labels, NO_LABEL)
    reached = engine.lowest(core_tree, others, of_cores, metric)
    border = searched.by_row(jnp.where(reached < NO_LABEL, reached, -1), -1)
    labels = jnp.where(is_core, labels, border).astype(search.index_dtype)
    return varying_like((is_core, labels), (tree, radius))


@partial(compiled, static_argnames=("min_samples", "search"))
def spanning_tree(points: ClusteredPoints, *, min_samples: int, search: Search):
    """Return the edges' rows, distances, and the rows whose distances these are, by (distance, rows)."""
    searched = _SearchedPoints.of(points, search)
    if min_samples == 1:
        rows, distances = searched.spanning_edges(None, 1.0)
        measured = rows
    else:
        scaled_cores, neighbors = searched.cores(min_samples)
        rows, distances = searched.spanning_edges(scaled_cores, 1.0)
        tree = searched.points.tree
        cores = search.engine.distances_in_units(tree, scaled_cores[:, None], points.metric)[:, 0]
        measured = _measured(rows, distances, cores, neighbors[:, -1])
    dtype = search.index_dtype
    return varying_like((rows.astype(dtype), distances, measured.astype(dtype)), points.tree)


def _measured(rows, distances, cores, core_rows):
    """Return the rows whose distance is that of an edge: its own, or a core distance's."""
    low, high = rows.T  # -1 where there is no edge
    is_low_core = cores[low] == distances
    is_high_core = cores[high] == distances
    first = jnp.where(is_low_core | ~is_high_core, low, high)
    second = jnp.where(is_low_core, core_rows[low], jnp.where(is_high_core, core_rows[high], high))
    return jnp.where(rows < 0, -1, jnp.stack([first, second], axis=1))


def hdbscan(
    points: ClusteredPoints,
    *,
    min_samples: int,
    alpha: float,
    selection: _selection.Selection,
    search: Search,
):
    """Return labels and probabilities (rows,), by one program for epsilons but 0, and alphas but 1."""
    with x64_on():
        epsilon = jnp.asarray(selection.epsilon or 0.0, np.float64)
        shortens = jnp.asarray(1 / alpha, points.tree.points.dtype)
    return _hdbscan(
        points,
        _Numbers(epsilon, shortens),
        min_samples=min_samples,
        has_alpha=alpha != 1,
        selection=selection._replace(epsilon=selection.epsilon and 1.0),
        search=search,
    )


class _Numbers(NamedTuple):
    """The numbers that one program of HDBSCAN's serves."""

    epsilon: Array
    shortens: Array  # 1 / alpha


@partial(compiled, static_argnames=("min_samples", "has_alpha", "selection", "search"))
def _hdbscan(
    points: ClusteredPoints, numbers: _Numbers, *, min_samples, has_alpha, selection, search: Search
):
    searched = _SearchedPoints.of(points, search)
    tree = searched.points.tree
    row_count = searched.row_count
    dtype = search.index_dtype
    if row_count == 1:
        return varying_like((jnp.full(1, -1, dtype), jnp.zeros(1, tree.points.dtype)), tree)
    cores = searched.cores(min_samples)[0] if min_samples > 1 or has_alpha else None
    rows, distances = searched.spanning_edges(cores, power(numbers.shortens, search.p))
    with x64_for(np.dtype(np.float64)):
        rows = jnp.where(jnp.isfinite(distances)[:, None], rows, -1)
        edges = _hierarchy.from_lowest(row_count, rows[:, 0], rows[:, 1], distances)
        merges = _hierarchy.dendrogram(OnDevice, row_count, edges.sources, edges.targets)
        selection = selection._replace(epsilon=selection.epsilon and numbers.epsilon)
        labels, shares = _selection.flat_clusters(OnDevice, selection, merges, edges.distances)
        return varying_like((labels.astype(dtype), shares.astype(tree.points.dtype)), tree)


# --- single linkage -------------------------------------------------------------------------------------


@partial(compiled, static_argnames="engine")
def linkage(rows, distances, point_count, *, engine):
    """Return SciPy's linkage matrix, and whether it is one; room for more edges than those of the points."""
    rows = engine.read_input(rows, point_count - 1, dtype=rows.dtype)
    distances = engine.read_input(distances, point_count - 1, dtype=distances.dtype)
    found = merged(rows, distances, point_count, np.int32)
    return linkage_matrix(distances, found), found.is_tree


def merged(rows, distances, point_count, dtype) -> _hierarchy.Linkage:
    """Return what the edges merge, where there may be room for more than those of the points."""
    edge_count = len(rows)
    is_missing = jnp.arange(edge_count, dtype=np.int32) >= point_count - 1
    rows = jnp.clip(rows.astype(np.int64), -2, edge_count + 1).astype(np.int32)
    rows = jnp.where(is_missing[:, None], -1, rows)
    distances = jnp.where(is_missing, 0, distances)
    found = _hierarchy.linkage(OnDevice, rows, distances, point_count)
    order, nodes, sizes, is_tree = found
    return _hierarchy.Linkage(order.astype(dtype), nodes.astype(dtype), sizes.astype(dtype), is_tree)


def linkage_matrix(distances, found: _hierarchy.Linkage):
    """Return SciPy's linkage matrix (n - 1, 4)."""
    nodes = jnp.asarray(found.nodes, np.float64)
    distances = converted(jnp.asarray(distances), np.float64)[found.order][:, None]
    sizes = jnp.asarray(found.sizes, np.float64)[:, None]
    return jnp.concatenate([nodes, distances, sizes], axis=1)
