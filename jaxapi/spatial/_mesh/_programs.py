"""The searches as compiled functions of whole arrays.

A `Forest` of whole arrays has the parts of the devices along a new first axis of each of its arrays. Queries
and results are spread like the points, or the same on every device; then each device searches for its share
of them.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import AxisType, PartitionSpec

from ..._core._typing import Array
from .._answers import Columns
from .._arrays import as_dtype
from .._search import Search, index_dtype
from .._tree._metric import TreeMetric
from .._tree._queries import Limits
from . import _clusters, _nearest_on_mesh, _within
from ._axes import Axes
from ._by_row import DataRows
from ._candidates import Candidates
from ._forest import Forest, build_trees
from ._layout import MeshLayout
from ._space import Space

__all__ = [
    "Density",
    "PlacedWeights",
    "Plan",
    "all_within",
    "are_finite",
    "build_forest",
    "components",
    "count",
    "dbscan",
    "nearest_columns",
    "nearest_of_all",
    "nearest_within",
    "rows_of_trees",
    "two_point",
]

SAME = PartitionSpec()


class Plan(NamedTuple):
    """What a program is compiled for, besides the shapes of its arrays."""

    layout: MeshLayout
    search: Search  # without what is traced: the box, eps
    spread: bool = True  # whether queries lie as the points do; else all devices have all of them

    @property
    def place(self) -> PartitionSpec:
        """How queries and what belongs to them lie."""
        return self.layout.rows if self.spread else SAME

    def space(self, forest: Forest, boxsize: Array | None) -> Space:
        """Return what one device has of a forest, in the dtype of the distances, and the metric."""
        forest = jax.tree.map(lambda a: a[0], forest).astype(self.search.dtype)
        return Space(forest, self.layout.axes, self.layout.n, TreeMetric(self.search.p, boxsize))

    def wanted(self, columns: Columns) -> _nearest_on_mesh.Wanted:
        """Return the form of the nearest neighbors that are asked for."""
        search = self.search
        return _nearest_on_mesh.Wanted(columns, self.layout.n, search.dtype, search.index_dtype)

    def data_rows(self, each: int) -> DataRows:
        """Return how the rows of the data lie, of which every device has `each`."""
        return DataRows(self.layout.n, each, self.layout.axes)


@partial(jax.jit, static_argnames=("layout", "rows_dtype"))
def build_forest(points, count=None, *, layout: MeshLayout, rows_dtype):
    """Return the forest over the points (rows, m), of which the first `count` count; None: by layout."""

    def local(points, count):
        if count is not None:  # what is not finite is nobody's neighbor
            rows = layout.own_rows(len(points), rows_dtype)
            points = jnp.where((rows < count)[:, None], points, jnp.nan)
        forest = build_trees(points, layout.n, layout.axes, rows_dtype)
        return jax.tree.map(lambda a: a[None], forest)

    return layout.run(local, (layout.rows, SAME), layout.rows, points, count)


@partial(jax.jit, static_argnames=("layout", "in_host_memory"))
def are_finite(points, *, layout: MeshLayout, in_host_memory: bool):
    """Return whether all points (rows, m) that count by layout are finite."""

    def local(points):
        rows = layout.own_rows(len(points), index_dtype(layout.n))
        is_wrong = (rows < layout.n) & ~jnp.isfinite(points).all(axis=1)
        return layout.axes.max(is_wrong.any().astype(jnp.int32)) == 0

    all_finite = layout.run(local, (layout.rows,), SAME, points)
    return jax.device_put(all_finite, jax.memory.Space.Host) if in_host_memory else all_finite


@partial(jax.jit, static_argnames="layout")
def rows_of_trees(forest: Forest, *, layout: MeshLayout):
    """Return the rows of the data in the order of the trees, from each as many as any device has points."""

    def local(forest):
        space = Space(jax.tree.map(lambda a: a[0], forest), layout.axes, layout.n, TreeMetric(2.0))
        return space.rows_of_slots(space.share)

    return layout.run(local, (layout.rows,), layout.rows, forest)


# --- around queries ------------------------------------------------------------------------------------


@partial(jax.jit, static_argnames=("plan", "columns", "is_bounded"))
def nearest_columns(
    forest: Forest, x, limits: Limits, boxsize, *, plan: Plan, columns: Columns, is_bounded: bool
) -> Candidates:
    """Return distances and rows (q, *columns.shape) for queries (q, m)."""
    wanted = plan.wanted(columns)

    def search(space, x, limits):
        if not is_bounded:
            return wanted.of(_nearest_on_mesh.nearest(space, x, *limits, wanted.k))
        candidates = _nearest_on_mesh.nearest(space, x, *limits.a_little_farther(), wanted.k)
        return Candidates(*limits.kept(*wanted.of(candidates), wanted.n))

    shapes = columns.shape, columns.shape
    return Candidates(*_for_queries(search, forest, _Inputs((x,), limits), boxsize, shapes, plan))


@partial(jax.jit, static_argnames="plan")
def count(forest: Forest, x, radius, boxsize, *, plan: Plan):
    """Return how many points lie within the radii, (q,) or one, of the queries (q, m)."""

    def search(space, x, radius, _):
        return (_within.counts_within(space, x, radius, plan.search.index_dtype),)

    (counts,) = _for_queries(search, forest, _Inputs((x, radius)), boxsize, ((),), plan)
    return counts


@partial(jax.jit, static_argnames=("plan", "max_neighbors"))
def nearest_within(
    forest: Forest, x, radius, boxsize, *, plan: Plan, max_neighbors: int
) -> _within.NearestWithin:
    """Return the nearest (q, max_neighbors) within the radii, (q,) or one, and true counts."""

    def search(space, x, radius, _):
        found = _within.nearest_within(space, x, radius, max_neighbors, plan.search.index_dtype)
        return *found.candidates, found.counts

    shapes = (max_neighbors,), (max_neighbors,), ()
    *candidates, counts = _for_queries(search, forest, _Inputs((x, radius)), boxsize, shapes, plan)
    return _within.NearestWithin(Candidates(*candidates), counts)


@partial(jax.jit, static_argnames=("plan", "most"))
def all_within(forest: Forest, x, radius, boxsize, *, plan: Plan, most: int) -> Candidates:
    """Return all points (q, most) within the radii, (q,) or one, where no query has more."""

    def search(space, x, radius, _):
        return _within.all_within(space, x, radius, most)

    shapes = (most,), (most,)
    return Candidates(*_for_queries(search, forest, _Inputs((x, radius)), boxsize, shapes, plan))


class _Inputs(NamedTuple):
    """Queries on the mesh."""

    arrays: tuple  # the queries (q, m), and what belongs to each (q,), or to all ()
    limits: Any = ()  # numbers for all of them


def _for_queries(search: Callable, forest: Forest, queries: _Inputs, boxsize, shapes, plan: Plan):
    """Run ``search(space, *arrays, limits)`` on each device's queries.

    Return its results by query, of each of which they have these shapes.
    """
    axes = plan.layout.axes

    def local(forest, arrays, limits, boxsize):
        q = len(arrays[0])
        if not plan.spread:
            arrays = _shares(arrays, axes)
        elif q == 0:
            arrays = _extended(arrays, 1)
        results = search(plan.space(forest, boxsize), *arrays, limits)
        if not plan.spread:
            results = [axes.gather(array).reshape(-1, *array.shape[1:]) for array in results]
        return tuple(array[:q].reshape(q, *shape) for array, shape in zip(results, shapes, strict=True))

    arrays = tuple(as_dtype(a, plan.search.dtype) for a in queries.arrays)
    places = tuple(plan.place if a.ndim else SAME for a in arrays)
    specs = plan.layout.rows, places, SAME, SAME
    return plan.layout.run(local, specs, plan.place, forest, arrays, queries.limits, boxsize)


def _shares(arrays, axes: Axes):
    """Return this device's share of queries that all have, and of what belongs to them: one at the least."""
    share = max(-(-arrays[0].shape[0] // axes.size), 1)
    start = axes.here() * share
    extended = _extended(arrays, share * axes.size)
    return [lax.dynamic_slice_in_dim(a, start, share) if a.ndim else a for a in extended]


def _extended(arrays, q: int):
    """Return queries with nan up to `q` lines, and what belongs to them with 0; one number stays so."""

    def extend(array, missing):
        extra = (0, q - array.shape[0]), *((0, 0),) * (array.ndim - 1)
        return jnp.pad(array, extra, constant_values=missing)

    x, *of_queries = arrays
    extended = [extend(x, jnp.nan)]
    for array in of_queries:
        extended.append(extend(array, 0) if array.ndim else array)
    return extended


# --- of all points -------------------------------------------------------------------------------------


@partial(jax.jit, static_argnames=("plan", "columns", "each", "is_bounded"))
def nearest_of_all(
    forest: Forest,
    limits: Limits,
    boxsize,
    *,
    plan: Plan,
    columns: Columns,
    each: int | None,
    is_bounded: bool,
) -> Candidates:
    """Return distances and rows of the neighbors of all points.

    They are in the order of the data, of which every device has `each` rows; None: in the order of the trees.
    """

    def local(forest, limits, boxsize):
        space = plan.space(forest, boxsize).with_room_for_powers()
        wanted = plan.wanted(columns)
        search = _nearest_on_mesh.AllPoints(
            space, wanted, *(limits.a_little_farther() if is_bounded else limits)
        )
        found = search.in_order_of_trees() if each is None else search.in_order_of_data(plan.data_rows(each))
        if is_bounded:
            found = Candidates(*limits.kept(*found, wanted.n))
        return jax.tree.map(lambda a: a.reshape(a.shape[0], *columns.shape), found)

    rows = plan.layout.rows
    return plan.layout.run(local, (rows, SAME, SAME), rows, forest, limits, boxsize)


class PlacedWeights(NamedTuple):
    """The weights of the points of pairs."""

    queries: Any  # they lie as the queries do
    points: Any  # they lie as the rows of the data do


@partial(jax.jit, static_argnames="plan")
def two_point(forest: Forest, x, weights: PlacedWeights, radii, boxsize, *, plan: Plan):
    """Return the sums (R,) over pairs within each of the radii of the products of their weights."""
    layout = plan.layout

    def local(forest, x, weights, radii, boxsize):
        arrays = x, weights.queries
        x, of_queries = arrays if plan.spread else _shares(arrays, layout.axes)
        sums = _within.sums_within(plan.space(forest, boxsize), x, radii, weights.points)
        return layout.axes.sum((sums * of_queries[:, None]).sum(axis=0, dtype=sums.dtype))

    of_queries = _as_rows(weights.queries, layout) if plan.spread else weights.queries
    weights = PlacedWeights(of_queries, _as_rows(weights.points, layout))
    specs = layout.rows, plan.place, PlacedWeights(plan.place, layout.rows), SAME, SAME
    x = as_dtype(x, plan.search.dtype)
    radii = as_dtype(radii, plan.search.dtype)
    return layout.run(local, specs, SAME, forest, x, weights, radii, boxsize)


@partial(jax.jit, static_argnames=("plan", "each"))
def components(forest: Forest, radius, boxsize, *, plan: Plan, each: int) -> _clusters.LabeledComponents:
    """Return the components of points within `radius`, with labels in the order of the data.

    Each device has `each` rows of the data.
    """

    def local(forest, radius, boxsize):
        space = plan.space(forest, boxsize).with_room_for_powers()
        found = _clusters.components(space, radius, plan.data_rows(each))
        return tuple(a.astype(plan.search.index_dtype) for a in found)

    rows = plan.layout.rows
    number, labels = plan.layout.run(local, (rows, SAME, SAME), (SAME, rows), forest, radius, boxsize)
    return _clusters.LabeledComponents(number, labels)


class Density(NamedTuple):
    """What DBSCAN counts."""

    radius: Any  # () of the ball around each point
    weights: Any  # of all rows of the data; None: each point counts 1


@partial(jax.jit, static_argnames=("plan", "each", "min_samples"))
def dbscan(
    forest: Forest, density: Density, boxsize, *, plan: Plan, each: int, min_samples: int
) -> _clusters.DensityLabels:
    """Return which points are cores, and labels, in the order of the data."""

    def local(forest, density, boxsize):
        space = plan.space(forest, boxsize).with_room_for_powers()
        data_rows = plan.data_rows(each)
        found = _clusters.dbscan(space, density.weights, density.radius, data_rows, min_samples)
        return found._replace(labels=found.labels.astype(plan.search.index_dtype))

    rows = plan.layout.rows
    density = density._replace(weights=_as_rows(density.weights, plan.layout))
    return plan.layout.run(local, (rows, Density(SAME, rows), SAME), rows, forest, density, boxsize)


def _as_rows(weights, layout: MeshLayout):
    """Return weights of all rows as these lie, which `shard_map` does not do on Explicit axes."""
    is_explicit = layout.mesh is not None and AxisType.Explicit in layout.mesh.axis_types
    return jax.sharding.reshard(weights, layout.sharding) if is_explicit and weights is not None else weights
