"""The searches as compiled functions of whole arrays.

A `Forest` of whole arrays has the parts of the devices along a new first axis of each of its arrays. Queries
and results are `spread` like the points, or the same on every device; then each device searches for its share
of them.
"""

import math
from functools import partial

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import AxisType, PartitionSpec

from .._device._arrays import as_dtype
from .._device._searches import picked
from .._settings import Columns, SearchSettings, index_dtype
from . import _closest, _clusters, _own, _ragged, _within
from ._forest import Forest, build, rows_of_points, widened
from ._layout import Layout
from ._partition import shares

__all__ = [
    "all_finite",
    "all_within",
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


@partial(jax.jit, static_argnames=("layout", "spread"))
def all_finite(points, *, layout: Layout, spread: bool):
    """Tell whether all points, or queries, that count are finite."""

    def local(points):
        wrong = ~jnp.isfinite(points).all(axis=1)
        if not spread:
            return ~wrong.any()
        there = layout.own_rows(len(wrong), index_dtype(layout.n)) < layout.n
        return layout.axes.max((there & wrong).any().astype(jnp.int32)) == 0

    return layout.run(local, (layout.rows if spread else SAME,), SAME, points)


@partial(jax.jit, static_argnames=("layout", "rows_dtype"))
def build_forest(points, count=None, *, layout: Layout, rows_dtype):
    """Return the forest over the points (rows, m), of which the first `count` count; None: by layout."""

    def local(points, count):
        if count is not None:  # what is not finite is nobody's neighbour
            there = layout.own_rows(len(points), rows_dtype) < count
            points = jnp.where(there[:, None], points, jnp.nan)
        forest = build(points, layout.n, layout.axes, rows_dtype)
        return jax.tree.map(lambda a: a[None], forest)

    return layout.run(local, (layout.rows, SAME), layout.rows, points, count)


@partial(jax.jit, static_argnames="layout")
def rows_of_trees(forest, *, layout: Layout):
    """Return the rows of the data in the order of the trees."""

    def local(forest):
        return _rows_of_points(jax.tree.map(lambda a: a[0], forest), layout)

    return layout.run(local, (layout.rows,), layout.rows, forest)


@partial(jax.jit, static_argnames=("layout", "columns", "settings", "spread"))
def nearest_columns(forest, x, bound, eps, box, *, layout: Layout, columns: Columns, settings, spread):
    """Return distances and rows (..., *columns.shape) for queries (..., m)."""

    def search(forest, x, bound, eps, box):
        found = _closest.nearest(
            forest,
            x,
            bound,
            eps,
            box,
            layout.axes,
            n=layout.n,
            k=_most(columns, layout),
            p=settings.p,
        )
        return _chosen(*found[:2], columns, layout, settings)

    inner = columns.shape, columns.shape
    return _for_queries(search, forest, (x,), (bound, eps, box), inner, layout, settings, spread)


@partial(jax.jit, static_argnames=("layout", "columns", "settings", "s"))
def nearest_of_all(forest, bound, eps, box, *, layout: Layout, columns: Columns, settings, s: int | None):
    """Return distances and rows of the neighbours of all points.

    They are in the order of the data, of which each device has `s` rows; else in the order of the trees.
    """

    def nothing(lines):
        shape = lines, math.prod(columns.shape)
        return jnp.full(shape, jnp.inf, settings.dtype), jnp.full(shape, layout.n, settings.index_dtype)

    def chosen(distances, rows):
        return _chosen(distances, rows, columns, layout, settings)

    def local(forest, bound, eps, box):
        static = {"n": layout.n, "k": _most(columns, layout), "p": settings.p}
        static |= {"chosen": chosen, "nothing": nothing, "s": s}
        found = _own.nearest_of_own(_local(forest, settings), bound, eps, box, layout.axes, **static)
        return tuple(each.reshape(each.shape[0], *columns.shape) for each in found)

    return layout.run(local, (layout.rows, SAME, SAME, SAME), layout.rows, forest, bound, eps, box)


@partial(jax.jit, static_argnames=("layout", "settings", "spread"))
def count(forest, x, radius, box, *, layout: Layout, settings: SearchSettings, spread):
    """Return how many points lie within the radii (...) of the queries (..., m)."""

    def search(forest, x, radius, box):
        static = {"p": settings.p, "index_dtype": settings.index_dtype}
        return (_within.counts_within(forest, x, radius, box, layout.axes, **static),)

    return _for_queries(search, forest, (x, radius), (box,), ((),), layout, settings, spread)


@partial(jax.jit, static_argnames=("layout", "settings", "limit", "spread"))
def nearest_within(forest, x, radius, box, *, layout: Layout, settings: SearchSettings, limit: int, spread):
    """Return rows and distances (..., limit) of the nearest within the radii (...), and true counts."""

    def search(forest, x, radius, box):
        return _within.nearest_within(
            forest,
            x,
            radius,
            box,
            layout.axes,
            n=layout.n,
            limit=limit,
            p=settings.p,
            index_dtype=settings.index_dtype,
        )

    inner = (limit,), (limit,), ()
    return _for_queries(search, forest, (x, radius), (box,), inner, layout, settings, spread)


@partial(jax.jit, static_argnames=("layout", "settings", "spread"))
def two_point(forest, x, x_weights, weights, radii, box, *, layout: Layout, settings: SearchSettings, spread):
    """Return the sums (R,) of ``x_weights[i] * weights[j]`` over the pairs within each of the radii.

    The `weights` lie as the rows of the data do, the `x_weights` as the queries.
    """
    axes = layout.axes

    def local(forest, x, x_weights, weights, radii, box):
        if not spread:
            x, x_weights = _shares((x, x_weights), axes)
        static = {"n": layout.n, "p": settings.p}
        sums = _within.sums_within(_local(forest, settings), x, radii, weights, box, axes, **static)
        return axes.sum((sums * x_weights[:, None]).sum(axis=0, dtype=sums.dtype))

    place, weights = layout.rows if spread else SAME, _as_rows(weights, layout)
    x_weights = _as_rows(x_weights, layout) if spread else x_weights
    specs = layout.rows, place, place, layout.rows, SAME, SAME
    x, radii = as_dtype(x, settings.dtype), as_dtype(radii, settings.dtype)
    return layout.run(local, specs, SAME, forest, x, x_weights, weights, radii, box)


@partial(jax.jit, static_argnames=("layout", "settings", "most", "spread"))
def all_within(forest, x, radius, box, *, layout: Layout, settings: SearchSettings, most: int, spread):
    """Return rows and distances (..., most) of all points within the radii (...), where no query has more."""

    def search(forest, x, radius, box):
        kind = _within.search_of(settings.p, settings.dtype)
        static = {"n": layout.n, "most": most, "kind": kind}
        return _ragged.all_within(forest, x, radius, box, layout.axes, **static)

    return _for_queries(search, forest, (x, radius), (box,), ((most,),) * 2, layout, settings, spread)


@partial(jax.jit, static_argnames=("layout", "settings", "s"))
def components(forest, radius, box, *, layout: Layout, settings: SearchSettings, s: int):
    """Return how many components of points within `radius` there are, and labels in the order of the data.

    Each device has `s` rows of the data.
    """

    def local(forest, radius, box):
        static = {"n": layout.n, "s": s, "p": settings.p}
        found = _clusters.components(_local(forest, settings), radius, box, layout.axes, **static)
        return tuple(each.astype(settings.index_dtype) for each in found)

    return layout.run(local, (layout.rows, SAME, SAME), (SAME, layout.rows), forest, radius, box)


@partial(jax.jit, static_argnames=("layout", "settings", "s", "min_samples"))
def dbscan(forest, weights, radius, box, *, layout: Layout, settings, s: int, min_samples: int):
    """Return which points are cores, and labels, in the order of the data; `weights` of all rows or None."""

    def local(forest, weights, radius, box):
        static = {"n": layout.n, "s": s, "p": settings.p, "min_samples": min_samples}
        forest = _local(forest, settings)
        core, labels = _clusters.dbscan(forest, weights, radius, box, layout.axes, **static)
        return core, labels.astype(settings.index_dtype)

    specs, weights = (layout.rows, layout.rows, SAME, SAME), _as_rows(weights, layout)
    return layout.run(local, specs, layout.rows, forest, weights, radius, box)


def _as_rows(weights, layout: Layout):
    """Return weights of all rows as these lie, which `shard_map` does not do on Explicit axes."""
    explicit = layout.mesh is not None and AxisType.Explicit in layout.mesh.axis_types
    return jax.sharding.reshard(weights, layout.sharding) if explicit and weights is not None else weights


def _for_queries(search, forest, arrays, numbers, inner, layout: Layout, settings, spread):
    """Run ``search(forest, *arrays, *numbers)`` on each device's queries.

    Return its results by query. `arrays` are the queries (..., m) and what belongs to each (...), or to all
    (); `inner` are the shapes of one query's results.
    """
    axes = layout.axes

    def local(forest, arrays, numbers):
        x, *others = arrays
        batch = x.shape[:-1]
        x = x.reshape(-1, x.shape[-1])
        q = x.shape[0]
        arrays = [x, *(a if a.ndim == 0 else jnp.broadcast_to(a, batch).reshape(q) for a in others)]
        if not spread:
            arrays = _shares(arrays, axes)
        elif q == 0:
            arrays = _extended(arrays, 1)
        found = search(_local(forest, settings), *arrays, *numbers)
        if not spread:
            found = [axes.gather(a).reshape(-1, *a.shape[1:]) for a in found]
        return tuple(each[:q].reshape(*batch, *shape) for each, shape in zip(found, inner, strict=True))

    place = layout.rows if spread else SAME
    arrays = tuple(as_dtype(a, settings.dtype) for a in arrays)
    places = tuple(place if a.ndim else SAME for a in arrays)
    return layout.run(local, (layout.rows, places, SAME), place, forest, arrays, numbers)


def _shares(arrays, axes):
    """Return this device's share of queries that all have, and of what belongs to them: one at the least."""
    share = max(-(-arrays[0].shape[0] // axes.size), 1)
    start = axes.index() * share
    extended = _extended(arrays, share * axes.size)
    return [lax.dynamic_slice_in_dim(a, start, share) if a.ndim else a for a in extended]


def _extended(arrays, q: int):
    """Return queries with nan up to `q` lines, and what belongs to them with 0; one number stays so."""

    def one(a, missing):
        extra = (0, q - a.shape[0]), *((0, 0),) * (a.ndim - 1)
        return jnp.pad(a, extra, constant_values=missing)

    return [one(arrays[0], jnp.nan), *(one(a, 0) if a.ndim else a for a in arrays[1:])]


def _rows_of_points(forest: Forest, layout: Layout):
    """Return the rows of the points of a device's tree, in as many lines as any device has points."""
    return rows_of_points(forest, layout.n, max(*shares(layout.n, layout.axes.size), 1))


def _local(forest: Forest, settings: SearchSettings) -> Forest:
    """Return what one device has of a forest, in the dtype of the distances."""
    return widened(jax.tree.map(lambda a: a[0], forest), settings.dtype)


def _most(columns: Columns, layout: Layout) -> int:
    return min(columns.k, layout.n)


def _chosen(distances, rows, columns: Columns, layout: Layout, settings):
    """Return the columns asked for."""
    return picked(distances, rows.astype(settings.index_dtype), layout.n, columns.among(layout.n))
