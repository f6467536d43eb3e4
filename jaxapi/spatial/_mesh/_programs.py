"""The searches as compiled functions of whole arrays.

A `Forest` of whole arrays has the parts of the devices along a new first axis of each of its arrays. Queries
and results are `spread` like the points, or the same on every device; then each device searches for its share
of them.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import PartitionSpec

from .._device._arrays import as_dtype
from .._device._searcher import picked
from .._settings import Columns, SearchSettings
from . import _nearest, _radius, _ragged
from ._build import Forest, build, widened
from ._layout import Layout

__all__ = [
    "all_within",
    "build_forest",
    "count",
    "in_equal_parts",
    "in_input_order",
    "largest",
    "nearest_columns",
    "nearest_of_all",
    "nearest_within",
    "offsets",
    "radii_of_points",
    "related",
    "rows_of_trees",
    "two_point",
]

SAME = PartitionSpec()


@partial(jax.jit, static_argnames=("layout", "rows_dtype"))
def build_forest(points, *, layout: Layout, rows_dtype):
    """Return the forest over the points (rows, m), and whether all that count are finite."""

    def local(points):
        axes, s = layout.axes, points.shape[0]
        row = axes.index() * s + lax.iota(rows_dtype, s)
        wrong = (row < layout.n) & ~jnp.isfinite(points).all(axis=1)
        forest = build(points, layout.n, axes, rows_dtype)
        return jax.tree.map(lambda a: a[None], forest), axes.sum(wrong.sum(dtype=jnp.int32)) == 0

    return layout.run(local, (layout.rows,), (layout.rows, SAME), points)


@partial(jax.jit, static_argnames="layout")
def rows_of_trees(rows, *, layout: Layout):
    """Return the rows of the data in the order of the trees."""
    return layout.run(lambda rows: rows[0], (layout.rows,), layout.rows, rows)


@partial(jax.jit, static_argnames=("layout", "columns", "settings", "spread"))
def nearest_columns(forest, x, bound, eps, *, layout: Layout, columns: Columns, settings, spread):
    """Return distances and rows (..., *columns.shape) for queries (..., m), and whether these are finite."""

    def search(forest, x, bound, eps):
        found = _nearest.nearest(
            forest,
            x,
            bound,
            eps,
            _box(settings),
            layout.axes,
            n=layout.n,
            k=_most(columns, layout),
            p=settings.p,
        )
        return _chosen(*found, columns, layout, settings)

    inner = columns.shape, columns.shape
    return _for_queries(search, forest, (x,), (bound, eps), inner, layout, settings, spread)


@partial(jax.jit, static_argnames=("layout", "columns", "settings"))
def nearest_of_all(forest, bound, eps, *, layout: Layout, columns: Columns, settings: SearchSettings):
    """Return distances and rows of the neighbours of all points, in the order of the trees."""

    def local(forest, bound, eps):
        forest = _local(forest, settings)
        k = _most(columns, layout)
        found = _nearest.nearest_of_own(
            forest, bound, eps, _box(settings), layout.axes, n=layout.n, k=k, p=settings.p
        )
        found = _chosen(*found, columns, layout, settings)
        return tuple(each.reshape(each.shape[0], *columns.shape) for each in found)

    return layout.run(local, (layout.rows, SAME, SAME), layout.rows, forest, bound, eps)


@partial(jax.jit, static_argnames="layout")
def in_input_order(forest, distances, rows, *, layout: Layout):
    """Return what is known of the points in the order of the trees in the order of the data."""

    def local(forest, distances, rows):
        missing = jnp.asarray(jnp.inf, distances.dtype), jnp.asarray(layout.n, rows.dtype)
        forest = jax.tree.map(lambda a: a[0], forest)
        return _nearest.in_input_order(forest, (distances, rows), missing, layout.axes)

    return layout.run(local, (layout.rows,) * 3, (layout.rows,) * 2, forest, distances, rows)


@partial(jax.jit, static_argnames=("layout", "settings", "spread"))
def count(forest, x, radius, *, layout: Layout, settings: SearchSettings, spread):
    """Return how many points lie within the radii (...) of the queries (..., m)."""

    def search(forest, x, radius):
        static = {"p": settings.p, "index_dtype": settings.index_dtype}
        return (_radius.counts_within(forest, x, radius, _box(settings), layout.axes, **static),)

    return _for_queries(search, forest, (x, radius), (), ((),), layout, settings, spread)


@partial(jax.jit, static_argnames=("layout", "settings", "limit", "spread"))
def nearest_within(forest, x, radius, *, layout: Layout, settings: SearchSettings, limit: int, spread):
    """Return rows and distances (..., limit) of the nearest within the radii (...), and true counts."""

    def search(forest, x, radius):
        return _radius.nearest_within(
            forest,
            x,
            radius,
            _box(settings),
            layout.axes,
            n=layout.n,
            limit=limit,
            p=settings.p,
            index_dtype=settings.index_dtype,
        )

    inner = (limit,), (limit,), ()
    return _for_queries(search, forest, (x, radius), (), inner, layout, settings, spread)


@partial(jax.jit, static_argnames=("layout", "settings", "spread"))
def two_point(forest, x, x_weights, weights, radii, *, layout: Layout, settings: SearchSettings, spread):
    """Return the sums (R,) of ``x_weights[i] * weights[j]`` over the pairs within each of the radii.

    The `weights` lie as the rows of the data do, the `x_weights` as the queries.
    """
    axes = layout.axes

    def local(forest, x, x_weights, weights, radii):
        if not spread:
            x, x_weights = _shares((x, x_weights), axes)
        sums = _radius.sums_within(
            _local(forest, settings), x, radii, weights, _box(settings), axes, p=settings.p
        )
        return axes.sum((sums * x_weights[:, None]).sum(axis=0, dtype=sums.dtype))

    place = layout.rows if spread else SAME
    specs = layout.rows, place, place, layout.rows, SAME
    x, radii = as_dtype(x, settings.dtype), as_dtype(radii, settings.dtype)
    return layout.run(local, specs, SAME, forest, x, x_weights, weights, radii)


@partial(jax.jit, static_argnames=("layout", "settings", "most", "spread"))
def all_within(forest, x, radius, *, layout: Layout, settings: SearchSettings, most: int, spread):
    """Return rows and distances (..., most) of all points within the radii (...), where no query has more."""

    def search(forest, x, radius):
        kind = _radius.search_of(settings.p, settings.dtype)
        static = {"n": layout.n, "most": most, "kind": kind}
        return _ragged.all_within(forest, x, radius, _box(settings), layout.axes, **static)

    return _for_queries(search, forest, (x, radius), (), ((most,),) * 2, layout, settings, spread)


@partial(jax.jit, static_argnames=("layout", "relation"))
def related(rows, *, layout: Layout, relation: str | None):
    """Tell which of the neighbours (q, c) to keep, and return how many on each device.

    With a relation the queries are all points: it tells which neighbours make edges.
    """

    def local(rows):
        own = _own_rows(rows, layout)
        keep = rows < layout.n
        if relation == "other":
            keep &= rows != own
        elif relation == "later":
            keep &= rows > own
        return keep, layout.axes.gather(keep.sum(dtype=jnp.int32))

    return layout.run(local, (layout.rows,), (layout.rows, SAME), rows)


@partial(jax.jit, static_argnames=("layout", "room", "part"))
def in_equal_parts(rows, distances, keep, *, layout: Layout, room: int, part: int):
    """Return receivers, senders and distances of the neighbours to keep, `part` on each device."""

    def local(rows, distances, keep):
        missing = (
            jnp.asarray(layout.n, rows.dtype),
            jnp.asarray(layout.n, rows.dtype),
            jnp.asarray(jnp.inf, distances.dtype),
        )
        own = jnp.broadcast_to(_own_rows(rows, layout), rows.shape)
        return _ragged.in_equal_parts(
            (own, rows, distances), keep, missing, layout.axes, room=room, part=part
        )

    return layout.run(local, (layout.rows,) * 3, (layout.rows,) * 3, rows, distances, keep)


@partial(jax.jit, static_argnames="layout")
def radii_of_points(radius, points, *, layout: Layout):
    """Return the radius for each row of the data (s,), -1 for those that do not count."""

    def local(points, radius):
        row = _own_rows(jnp.zeros(points.shape[0], jnp.int32), layout)[:, 0]
        return jnp.where(row < layout.n, radius, -1)

    return layout.run(local, (layout.rows, SAME), layout.rows, points, radius)


@partial(jax.jit, static_argnames=("layout", "spread"))
def largest(counts, *, layout: Layout, spread: bool):
    """Return the greatest of the counts."""
    place = layout.rows if spread else SAME
    return layout.run(lambda counts: layout.axes.max(counts.max()), (place,), SAME, counts)


@partial(jax.jit, static_argnames="layout")
def offsets(counts, *, layout: Layout):
    """Return where the neighbours of each query begin and the last one's end, on every device."""

    def local(counts):
        ends = jnp.cumsum(layout.axes.gather(counts).reshape(-1))
        return jnp.pad(ends, (1, 0))

    return layout.run(local, (layout.rows,), SAME, counts)


def _own_rows(rows, layout: Layout):
    """Return the rows of the data (s, 1) that this device has in their order."""
    s = rows.shape[0]
    return (layout.axes.index().astype(rows.dtype) * s + jnp.arange(s, dtype=rows.dtype))[:, None]


def _for_queries(search, forest, arrays, numbers, inner, layout: Layout, settings, spread):
    """Run ``search(forest, *arrays, *numbers)`` on each device's queries.

    Return its results by query, and whether all queries are finite. `arrays` are the queries (..., m) and
    what belongs to each (...); `inner` are the shapes of one query's results.
    """
    axes = layout.axes
    batch = arrays[0].shape[:-1]
    counts = [a.ndim - len(batch) for a in arrays]  # axes of one query's own

    def local(forest, arrays, numbers):
        batch = arrays[0].shape[:-1]
        arrays = [a.reshape(-1, *a.shape[a.ndim - own :]) for a, own in zip(arrays, counts, strict=True)]
        q = arrays[0].shape[0]
        wrong = (~jnp.isfinite(arrays[0])).any()
        if spread:
            wrong = axes.max(wrong.astype(jnp.int32)) > 0
        else:
            arrays = _shares(arrays, axes)
        found = search(_local(forest, settings), *arrays, *numbers)
        if not spread:
            found = [axes.gather(a).reshape(-1, *a.shape[1:])[:q] for a in found]
        found = tuple(each.reshape(*batch, *shape) for each, shape in zip(found, inner, strict=True))
        return *found, ~wrong

    place = layout.rows if spread else SAME
    arrays = tuple(as_dtype(a, settings.dtype) for a in arrays)
    out = (*(place for _ in inner), SAME)
    return layout.run(local, (layout.rows, place, SAME), out, forest, arrays, numbers)


def _shares(arrays, axes):
    """Return this device's share of arrays that all have; queries, the first of them, end with nan."""

    def one(a, missing):
        share = -(-a.shape[0] // axes.size)
        extra = share * axes.size - a.shape[0]
        a = jnp.pad(a, [(0, extra)] + [(0, 0)] * (a.ndim - 1), constant_values=missing)
        return lax.dynamic_slice_in_dim(a, axes.index() * share, share)

    return [one(arrays[0], jnp.nan), *(one(a, 0) for a in arrays[1:])]


def _local(forest: Forest, settings: SearchSettings) -> Forest:
    """Return what one device has of a forest, in the dtype of the distances."""
    return widened(jax.tree.map(lambda a: a[0], forest), settings.dtype)


def _most(columns: Columns, layout: Layout) -> int:
    return min(columns.k, layout.n)


def _chosen(distances, rows, columns: Columns, layout: Layout, settings):
    """Return the columns asked for."""
    return picked(distances, rows.astype(settings.index_dtype), layout.n, columns.among(layout.n))


def _box(settings: SearchSettings):
    return None if settings.lengths is None else as_dtype(np.asarray(settings.lengths), settings.dtype)
