"""Distances of all pairs of rows, and what reduces them, as functions of arrays alone: no checks, no jit.

A matrix is built coordinate by coordinate: ``total += term(a[:, k, None], b[None, :, k])`` for some dozen
coordinates a kernel. That is elementwise work without a temporary of (nA, nB, m), which every backend
vectorizes and partitions over shards of any axis. XLA's own form, a sum over the last axis of a broadcast
difference, is one kernel as well, but takes 5 to 10 times as long on a CPU.

Derivatives and functions of the user's need rows whole: those go over tiles of XB's rows, and are computed
again in reverse, so that no more than a tile is ever held.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from ..._core._dtypes import x64_on
from .._device._engines import gpu_engine
from .._structure._varying import varying_like
from ._metrics import KERNEL_TERMS, Metric

__all__ = ["Measure", "default_arrays", "in_units", "kernel_sum", "matrix", "nearest", "rowwise"]

_GROUP = 8  # terms added one by one; such sums are then added, so that few roundings follow one another
_CHUNKS = {"cpu": 16, "default": 64}  # coordinates a kernel: accumulators are read and written once for each
_TILE = 2**25  # coordinates of a tile's differences


class Measure(NamedTuple):
    """A metric with the options that shape the program."""

    metric: Metric
    static: tuple[tuple[str, Any], ...] = ()

    def options(self, arrays):
        return dict(self.static) | arrays


def rowwise(measure: Measure, u, v, arrays):
    """Return the distances of rows that broadcast (..., m): the metric's formula, which differentiates."""
    metric, o = measure.metric, measure.options(arrays)
    if metric.rows is not None:
        return metric.rows(u, v, o)
    u, v = metric.prepare(u, o), metric.prepare(v, o)
    within = o
    if metric.largest is not None:
        (sizes,) = metric.largest(u, v, o)
        largest = lax.stop_gradient(jnp.max(sizes, axis=-1, keepdims=True, initial=0))
        within, o = o | {"largest": largest}, o | {"largest": largest[..., 0]}
    terms = metric.terms(u, v, within)
    return metric.finish(*_reduced(metric, terms), o | {"size": u.shape[-1]})


def _reduced(metric, terms):
    if metric.combine == "max":
        return [jnp.max(term, axis=-1, initial=0) for term in terms]
    return [jnp.sum(term, axis=-1) for term in terms]


def matrix(measure: Measure, a, b, arrays):
    """Return the distances (..., nA, nB) of the rows of ``a`` (..., nA, m) from those of ``b``."""
    metric = measure.metric
    if metric.rows is not None:
        return _over_tiles(lambda b: _all_pairs(measure, a, b, arrays), a, b)
    if metric.product is not None and "w" not in arrays:
        o = measure.options(arrays)
        return metric.finish(*metric.product(metric.prepare(a, o), metric.prepare(b, o)), o)
    return _by_coordinates(measure, a, b, arrays)


def _all_pairs(measure, a, b, arrays):
    """Return the formula's distances of all pairs; XLA may hold (..., nA, nB, m)."""
    between = {name: _between(name, x) for name, x in arrays.items()}
    return rowwise(measure, a[..., :, None, :], b[..., None, :, :], between)


def _between(name, x):
    """Let a metric's array broadcast between pairs of rows; ``VI`` is the matrix of a product."""
    if name == "VI" and x.ndim > 2:
        return x[..., None, :, :]
    return x[..., None, None, :] if name == "w" and x.ndim > 1 else x


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _by_coordinates(measure, a, b, arrays):
    chunks = {name: min(size, 8) if measure.metric.slow else size for name, size in _CHUNKS.items()}
    forms = {name: functools.partial(_accumulated, measure, size) for name, size in chunks.items()}
    if _has_kernel(measure, a, b):
        forms["cuda"] = functools.partial(_by_kernel, measure)
    return lax.platform_dependent(a, b, arrays, **forms)


@_by_coordinates.defjvp
def _slope(measure, primals, tangents):
    a, b, arrays = primals
    da, db, darrays = tangents

    def of_tile(tile):
        b, db = tile
        return jax.jvp(
            lambda a, b, arrays: _all_pairs(measure, a, b, arrays), (a, b, arrays), (da, db, darrays)
        )[1]

    return _by_coordinates(measure, *primals), _over_tiles(of_tile, a, (b, db))


def _has_kernel(measure, a, b) -> bool:
    """Whether a GPU has a kernel for these; XLA does not spread its work over several."""
    if measure.metric.terms not in KERNEL_TERMS or a.ndim != 2 or b.ndim != 2:
        return False
    return a.dtype in (np.float32, np.float64) and gpu_engine() is not None and len(jax.devices("cuda")) == 1


def _by_kernel(measure, a, b, arrays):
    metric, o = measure.metric, measure.options(arrays)
    term, factor, weighted = KERNEL_TERMS[metric.terms]

    @jax.custom_batching.custom_vmap
    def total(a, b, w):
        return gpu_engine().pairwise(a, b, w, term=term) * factor

    @total.def_vmap
    def of_batch(size, batched, *rows):
        axes = jax.tree.map(lambda each: 0 if each else None, tuple(batched))
        by_xla = jax.vmap(lambda a, b, w: _total_of(measure, a, b, o | {"w": w}), axes, axis_size=size)
        return by_xla(*rows), True

    found = total(metric.prepare(a, o), metric.prepare(b, o), o.get("w") if weighted else None)
    return varying_like(metric.finish(found, o | {"size": a.shape[-1]}), (a, b, arrays))


def _total_of(measure, a, b, o):
    combine = jnp.maximum if measure.metric.combine == "max" else jnp.add
    return _totals(measure.metric.terms, combine, _CHUNKS["default"], a, b, o)[0]


def _accumulated(measure, chunk, a, b, arrays):
    metric, o = measure.metric, measure.options(arrays)
    # XLA's CPU would else prepare a row again for each of its pairs, where it takes these one by one.
    a, b = lax.optimization_barrier((metric.prepare(a, o), metric.prepare(b, o)))
    if metric.largest is not None:
        (o["largest"],) = _totals(metric.largest, jnp.maximum, chunk, a, b, o)
    combine = jnp.maximum if metric.combine == "max" else jnp.add
    totals = _totals(metric.terms, combine, chunk, a, b, o)
    return metric.finish(*totals, o | {"size": a.shape[-1]})


def _totals(terms, combine, chunk, a, b, o):
    """Return the sums (or maxima) of the terms of all pairs, ``chunk`` coordinates at a time."""
    m, w = a.shape[-1], o.get("w")

    def of_chunk(start, length):
        rows, others, weights = (
            None if x is None else lax.dynamic_slice_in_dim(x, start, length, axis=-1) for x in (a, b, w)
        )
        # Columns one behind the other in memory: XLA may leave a transpose to those who read it.
        columns = lax.optimization_barrier(jnp.stack([others[..., k] for k in range(length)]))
        groups = []
        for k in range(length):
            weight = {} if w is None else {"w": weights[..., k, None, None]}
            new = terms(rows[..., :, k, None], columns[k][..., None, :], o | weight)
            old = groups.pop() if k % _GROUP else None
            groups.append(new if old is None else [*map(combine, old, new)])
        return tuple(functools.reduce(combine, each) for each in zip(*groups, strict=True))

    if m == 0:
        terms = terms(a[..., :, None, :], b[..., None, :, :], o)
        return tuple(jnp.sum(term, axis=-1) for term in terms)
    first = m % chunk or chunk

    def add(i, totals):
        return tuple(map(combine, totals, of_chunk(first + i * chunk, chunk)))

    totals = of_chunk(0, first)
    return lax.fori_loop(0, (m - first) // chunk, add, totals) if m > first else totals


def _tile_rows(a) -> int:
    """Return how many rows of XB a tile takes: its size is that of some dozen MB, or of XA."""
    rows = max(1, a.size // max(1, a.shape[-1]))
    return max(1, _TILE // (rows * max(a.shape[-1], 8)))


def _tiles(a, b):
    """Return arrays (..., nB, m) cut into (tiles, ..., rows, m), and how many rows there are.

    The last tile is filled up with the last row: its distances, of no use, and their derivatives are as
    finite as that row's.
    """
    count = jax.tree.leaves(b)[0].shape[-2]
    tiles = -(-count // min(_tile_rows(a), max(count, 1)))
    size = -(-count // max(tiles, 1))

    def cut(x):
        x = jnp.pad(x, [(0, 0)] * (x.ndim - 2) + [(0, tiles * size - count), (0, 0)], mode="edge")
        return jnp.moveaxis(x.reshape(*x.shape[:-2], tiles, size, x.shape[-1]), -3, 0)

    return jax.tree.map(cut, b), tiles, size, count


def _over_tiles(function, a, b):
    """Return ``function(b)`` (..., nA, nB), computed for a tile of rows of ``b`` at a time."""
    tiles, number, _, count = _tiles(a, b)
    function = jax.checkpoint(function)
    if number <= 1:
        return function(b)
    columns = jnp.moveaxis(lax.map(function, tiles), 0, -2)  # (..., nA, tiles, size)
    return columns.reshape(*columns.shape[:-2], -1)[..., :count]


def _scanned(step, tiles, number):
    """Return ``step`` folded over the tiles; the first makes the carry, of the types that it has then."""
    carry = step(None, (jax.tree.map(lambda x: x[0], tiles), 0))
    rest = jax.tree.map(lambda x: x[1:], tiles), jnp.arange(1, number, dtype=np.int32)
    return lax.scan(lambda carry, x: (step(carry, x), None), carry, rest)[0] if number > 1 else carry


def kernel_sum(measure: Measure, f, a, b, weights, arrays):
    """Return the sums (..., nA[, c]) over the rows of ``b`` of ``weights * f(distance)``, tile by tile."""
    if b.shape[-2] == 0:
        values = f(matrix(measure, a, b, arrays))
        return jnp.sum(values, axis=-1) if weights is None else _weighted_sum(values, weights)
    columns = None if weights is None else weights.reshape(b.shape[-2], -1)
    (tiles, of_tile), number, size, count = _tiles(a, (b, columns))

    @jax.checkpoint
    def of_rows(b, w, start):
        values = f(matrix(measure, a, b, arrays))
        real = start + lax.broadcasted_iota(np.int32, values.shape, values.ndim - 1) < count
        values = jnp.where(real, values, 0)
        return jnp.sum(values, axis=-1) if w is None else _weighted_sum(values, w)

    def step(carry, x):
        (b, w), i = x
        part = of_rows(b, w, i * size)
        return part if carry is None else carry + part

    total = _scanned(step, (tiles, of_tile), number)
    return total[..., 0] if weights is not None and weights.ndim == 1 else total


def _weighted_sum(values, weights):
    return jnp.matmul(values, weights, precision=lax.Precision.HIGHEST)


def nearest(measure: Measure, k: int, a, b, arrays):
    """Return the k least distances (..., nA, k) and the rows of ``b``; inf and nB where there are fewer."""
    rows, distances = _search(measure, k, *lax.stop_gradient((a, b, arrays)))
    return _chosen(measure, a, b, arrays, rows, distances), rows


def _search(measure, k, a, b, arrays):
    tiles, number, size, count = _tiles(a, b)
    if count == 0:
        none = matrix(measure, a, b, arrays)
        none = jnp.pad(none, [(0, 0)] * (none.ndim - 1) + [(0, k)], constant_values=jnp.inf)
        return jnp.zeros(none.shape, np.int32), none

    def step(best, x):
        b, i = x
        distances = matrix(measure, a, b, arrays)
        rows = i * size + lax.broadcasted_iota(np.int32, distances.shape, distances.ndim - 1)
        found = (distances < jnp.inf) & (rows < count)
        distances, rows = jnp.where(found, distances, jnp.inf), jnp.where(found, rows, count)
        if best is None:
            more = [(0, 0)] * (distances.ndim - 1) + [(0, max(0, k - size))]
            distances = jnp.pad(distances, more, constant_values=jnp.inf)
            rows = jnp.pad(rows, more, constant_values=count)
        else:  # those found before have lower rows, and come first among equals
            rows = jnp.concatenate([best[0], rows], axis=-1)
            distances = jnp.concatenate([best[1], distances], axis=-1)
        negative, places = lax.top_k(-distances, k)
        return jnp.take_along_axis(rows, places, axis=-1), -negative

    return _scanned(step, tiles, number)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _chosen(measure, a, b, arrays, rows, distances):
    """Return the distances that a search found: a choice has no derivative, each pair has its own."""
    return distances


@_chosen.defjvp
def _slope_of_chosen(measure, primals, tangents):
    *differentiable, rows, _ = primals
    take = jnp.vectorize(_taken, signature="(n,m),(a,k)->(a,k,m)")

    def of_pairs(a, b, arrays):
        if b.shape[-2] == 0:
            return jnp.zeros(rows.shape, a.dtype)
        between = {name: _between(name, x) for name, x in arrays.items()}
        distances = rowwise(measure, a[..., :, None, :], take(b, rows), between)
        return jnp.where(rows < b.shape[-2], distances, 0)

    slopes = jax.jvp(of_pairs, tuple(differentiable), tuple(tangents[:3]))[1]
    return _chosen(measure, *primals), slopes


def _taken(b, rows):
    """Return the rows of ``b`` by number; sharded as the numbers are, where axes are explicit."""
    sharding = jax.typeof(rows).sharding
    explicit = AxisType.Explicit in sharding.mesh.axis_types
    out = NamedSharding(sharding.mesh, PartitionSpec(*sharding.spec, None)) if explicit else None
    return b.at[rows].get(mode="clip", out_sharding=out)


def default_arrays(measure: Measure, rows):
    """Return SciPy's arrays of the metric for these rows: variances or a covariance, in float64."""
    name = measure.metric.name
    if name not in ("seuclidean", "mahalanobis"):
        return {}
    dtype, count = rows[0].dtype, sum(x.shape[-2] for x in rows)
    with x64_on():
        wide = [x.astype(np.float64) for x in rows]
        mean = sum(jnp.sum(x, axis=-2, keepdims=True) for x in wide) / count
        wide = [x - mean for x in wide]
        if name == "seuclidean":
            squares = sum(jnp.sum(jnp.square(x), axis=-2) for x in wide)
            return {"w": ((count - 1) / squares).astype(dtype)}
        products = sum(jnp.matmul(x.mT, x, precision=lax.Precision.HIGHEST) for x in wide)
        return {"VI": jnp.linalg.inv(products / (count - 1)).astype(dtype)}


def in_units(metric: Metric, a, b):
    """Return the rows in units of a power of two near the largest coordinate, and that unit.

    Squares of large or small coordinates would else overflow or vanish. Other metrics take rows as they are.
    """
    if not metric.homogeneous:
        return a, b, 1
    sizes = (jnp.where(jnp.isfinite(x), jnp.abs(x), 0) for x in map(lax.stop_gradient, (a, b)))
    limits = jnp.finfo(a.dtype)
    exponent = jnp.frexp(functools.reduce(jnp.maximum, (jnp.max(x, initial=0) for x in sizes)))[1]
    exponent = jnp.clip(exponent, limits.minexp + 2, limits.maxexp - 2)
    one = jnp.ones((), a.dtype)
    return a * jnp.ldexp(one, -exponent), b * jnp.ldexp(one, -exponent), jnp.ldexp(one, exponent)
