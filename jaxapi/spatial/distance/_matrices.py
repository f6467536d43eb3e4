"""Distances of all pairs of rows, and what reduces them, as functions of arrays alone: no checks, no jit.

A matrix is built coordinate by coordinate: ``total += term(a[:, k, None], b[None, :, k])`` for some dozen
coordinates a kernel. That is elementwise work without a temporary of (nA, nB, m), which every backend
vectorizes and partitions over shards of any axis. XLA's own form, a sum over the last axis of a broadcast
difference, is one kernel as well, but takes 5 to 10 times as long on a CPU.

Derivatives and functions of the user's need rows whole: those go over tiles of XB's rows, and are computed
again in reverse, so that no more than a tile is ever held.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.custom_derivatives import SymbolicZero
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from ..._core._dtypes import x64_on
from ..._core._typing import Array
from .._engines._choice import gpu_engine
from .._tree._open_shapes import has_open_shape
from .._tree._varying import varying_like
from ._calculus import Sums, instantiated
from ._metric import ByRows, KernelTerm, Metric, Parameters, ProductMetric, ScaledRows, SumMetric
from ._scales import columns_of_size_one

__all__ = ["in_units_of_columns", "kernel_sum", "matrix", "nearest"]

_GROUP = 8  # terms added one by one; such sums are then added, so that few roundings follow one another
_CHUNKS = {"cpu": 16, "default": 64}  # coordinates a kernel: accumulators are read and written once for each
_TILE = 2**25  # coordinates of a tile's differences
_UNKNOWN_ROWS = 1024  # of XA, where their number is symbolic
# Before JAX 0.12 second derivatives of `lax.scan` lose what `custom_jvp` says of the loop's values: a kernel
# in a loop would be differentiated itself, which nothing can.
_LOOPS_LOSE_SLOPES = jax.__version_info__ < (0, 12)


def matrix(
    metric: Metric, a: Array, b: Array, parameters: Parameters, *, may_be_kernel: bool = True
) -> Array:
    """Return the distances (..., nA, nB) of the rows of ``a`` (..., nA, m) from those of ``b``."""
    if isinstance(metric, ByRows):
        return _over_tiles(lambda b: _all_pairs(metric, a, b, parameters), a, b)
    if isinstance(metric, ProductMetric) and parameters.weights is None:
        return metric.by_product(a, b, parameters)
    return _by_coordinates(metric, may_be_kernel, a, b, parameters)


def _all_pairs(
    metric: Metric, a: Array, b: Array, parameters: Parameters, scale: Array | None = None
) -> Array:
    """Return the formula's distances of all pairs; XLA may hold (..., nA, nB, m)."""
    return metric.distance(a[..., :, None, :], b[..., None, :, :], parameters.between_pairs(), scale)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def _by_coordinates(
    metric: SumMetric, may_be_kernel: bool, a: Array, b: Array, parameters: Parameters
) -> Array:
    chunks = {name: min(size, 8) if metric.has_logarithms else size for name, size in _CHUNKS.items()}
    forms = {name: functools.partial(_accumulated, metric, size) for name, size in chunks.items()}
    if may_be_kernel and _has_kernel(metric, a, b):
        forms["cuda"] = functools.partial(_by_kernel, metric)
    return lax.platform_dependent(a, b, parameters, **forms)


def _slope(metric: SumMetric, may_be_kernel: bool, primals: Any, tangents: Any) -> tuple[Array, Array]:
    a, b, parameters = primals
    *row_tangents, parameters_tangent = tangents
    a_tangent, b_tangent = (
        varying_like(instantiated(tangent), x) for tangent, x in zip(row_tangents, (a, b), strict=True)
    )
    distances = _by_coordinates(metric, may_be_kernel, *primals)
    with_moving, moving, moving_tangents = _what_moves(parameters, parameters_tangent)
    fixed = lax.stop_gradient((a, parameters))

    def scale_of_tile(b: Array) -> Array | None:
        if b.shape[-2] == distances.shape[-1]:
            return metric.scale_of_distances(distances)
        rows = fixed[0], lax.stop_gradient(b)
        return metric.scale_of_distances(_by_coordinates(metric, may_be_kernel, *rows, fixed[1]))

    def of_tile(tile: tuple[Array, Array]) -> Array:
        b, b_tangent = tile
        scale = scale_of_tile(b)

        def of_pairs(a: Array, b: Array, moving: list[Array]) -> Array:
            return _all_pairs(metric, a, b, with_moving(moving), scale)

        return jax.jvp(of_pairs, (a, b, moving), (a_tangent, b_tangent, moving_tangents))[1]

    return distances, _over_tiles(of_tile, a, (b, b_tangent))


def _what_moves(
    parameters: Parameters, tangents: Any
) -> tuple[Callable[[list[Array]], Parameters], list[Array], list[Array]]:
    """Return a function that puts arrays into the parameters, those that have tangents, and the tangents.

    What no derivative is taken by stays out: where a weight is 0, that derivative may not be a number.
    """
    leaves, structure = jax.tree.flatten(parameters)
    tangents = jax.tree.leaves(tangents)
    places = [i for i, tangent in enumerate(tangents) if not isinstance(tangent, SymbolicZero)]

    def with_moving(moving: list[Array]) -> Parameters:
        changed = list(leaves)
        for i, leaf in zip(places, moving, strict=True):
            changed[i] = leaf
        parameters: Parameters = jax.tree.unflatten(structure, changed)
        return parameters

    return with_moving, [leaves[i] for i in places], [tangents[i] for i in places]


_by_coordinates.defjvp(_slope, symbolic_zeros=True)


def _has_kernel(metric: SumMetric, a: Array, b: Array) -> bool:
    """Whether a GPU has a kernel for these; XLA does not spread its work over several."""
    if metric.kernel is None or a.ndim != 2 or b.ndim != 2:
        return False
    if has_open_shape((*a.shape, *b.shape)):  # a launch is of blocks whose number is known
        return False
    if a.dtype not in (np.float32, np.float64) or gpu_engine() is None:
        return False
    return len(jax.devices("cuda")) == 1


def _by_kernel(metric: SumMetric, a: Array, b: Array, parameters: Parameters) -> Array:
    rows = metric.scaled_for_kernel(a, b, parameters)
    term, factor = metric.kernel or KernelTerm("")

    @jax.custom_batching.custom_vmap
    def total(a: Array, b: Array, weights: Array | None) -> Array:
        kernels = gpu_engine()
        assert kernels is not None  # as `_has_kernel` has asked
        return kernels.pairwise(a, b, weights, term=term)

    @total.def_vmap
    def of_batch(size: int, batched: Any, *rows: Any) -> tuple[Array, bool]:
        axes = jax.tree.map(lambda each: 0 if each else None, tuple(batched))
        by_xla = jax.vmap(functools.partial(_kernels_total, term), axes, axis_size=size)
        return by_xla(*rows), True

    weights = None if metric.takes_greatest else rows.weights  # whose coordinates of weight 0 are 0
    sums = (total(rows.a, rows.b, weights) * factor,)
    return varying_like(_finished(metric, sums, rows, None, parameters), (a, b, parameters))


def _kernels_total(term: str, a: Array, b: Array, weights: Array | None) -> Array:
    """Return what the CUDA kernel does, by XLA."""
    terms = {
        "square": lambda u, v: jnp.square(u - v),
        "size": lambda u, v: jnp.abs(u - v),
        "greatest": lambda u, v: jnp.abs(u - v),
        "unequal": lambda u, v: jnp.where(u != v, jnp.ones((), u.dtype), 0),
    }

    def weighted(u: Array, v: Array, _: None, weights: Array | None) -> Sums:
        value = terms[term](u, v)
        return (value if weights is None else value * weights,)

    combine = jnp.maximum if term == "greatest" else jnp.add
    return _totals(weighted, combine, _CHUNKS["default"], ScaledRows(a, b, weights))[0]


def _accumulated(metric: SumMetric, chunk: int, a: Array, b: Array, parameters: Parameters) -> Array:
    rows = metric.scaled_rows(a, b, parameters)
    # XLA's CPU would else prepare a row again for each of its pairs, where it takes these one by one.
    prepared_a, prepared_b = lax.optimization_barrier((rows.a, rows.b))
    rows = rows._replace(a=prepared_a, b=prepared_b)
    scale = None
    if metric.divides_by_largest:
        (largest,) = _totals(_sizes, jnp.maximum, chunk, rows._replace(weights=None))
        scale = metric.scale_of_largest(largest)

    def terms(u: Array, v: Array, scale: Array | None, weights: Array | None) -> Sums:
        return metric.weighted_terms(u, v, scale, weights, parameters)

    combine = jnp.maximum if metric.takes_greatest else jnp.add
    sums = _totals(terms, combine, chunk, rows, scale)
    return _finished(metric, sums, rows, scale, parameters)


def _sizes(u: Array, v: Array, scale: None, weights: None) -> Sums:
    return (jnp.abs(u - v),)


def _finished(
    metric: SumMetric, sums: Sums, rows: ScaledRows, scale: Array | None, parameters: Parameters
) -> Array:
    distances = metric.finished(sums, rows.a.shape[-1], scale, replace(parameters, weights=rows.weights))
    return distances if rows.exponent is None else metric.in_users_units(distances, rows.exponent)


def _totals(
    terms: Callable[..., Sums],
    combine: Callable[[Array, Array], Array],
    chunk: int,
    rows: ScaledRows,
    scale: Array | None = None,
) -> Sums:
    """Return the sums (or maxima) of the terms of all pairs, ``chunk`` coordinates at a time."""
    a, b, weights, _ = rows
    m = a.shape[-1]

    def of_chunk(start: Any, length: int) -> Sums:
        def cut(x: Array | None) -> Any:
            return None if x is None else lax.dynamic_slice_in_dim(x, start, length, axis=-1)

        part_of_a = cut(a)
        part_of_b = cut(b)
        part_of_weights = cut(weights)
        # Columns one behind the other in memory: XLA may leave a transpose to those who read it.
        columns_of_b = lax.optimization_barrier(jnp.stack([part_of_b[..., k] for k in range(length)]))
        groups: list[Sums] = []
        for k in range(length):
            weight = None if weights is None else part_of_weights[..., k, None, None]
            new = terms(part_of_a[..., :, k, None], columns_of_b[k][..., None, :], scale, weight)
            old = groups.pop() if k % _GROUP else None
            groups.append(new if old is None else tuple(map(combine, old, new)))
        return tuple(functools.reduce(combine, each) for each in zip(*groups, strict=True))

    if m == 0:
        scale = None if scale is None else scale[..., None]
        none = terms(a[..., :, None, :], b[..., None, :, :], scale, None)
        return tuple(jnp.sum(term, axis=-1) for term in none)
    first = m % chunk or chunk

    def add(i: Array, totals: Sums) -> Sums:
        return tuple(map(combine, totals, of_chunk(first + i * chunk, chunk)))

    totals = of_chunk(0, first)
    return lax.fori_loop(0, (m - first) // chunk, add, totals) if m > first else totals


def _tile_rows(a: Array) -> int:
    """Return how many rows of XB a tile takes: its size is that of some dozen MB, or of XA."""
    m = a.shape[-1]
    rows = math.prod(a.shape[:-1])
    if not isinstance(rows, int):  # a number of queries that an exported program is given later
        rows = _UNKNOWN_ROWS
    return max(1, _TILE // (max(1, rows) * max(m, 8)))


class _Tiles(NamedTuple):
    """Rows of XB, cut into tiles of as many each.

    The last tile is filled up with the last row: its distances, of no use, and their derivatives are as
    finite as that row's.
    """

    arrays: Any  # of shape (tiles, ..., size, m)
    number: int
    size: int
    row_count: int


def _tiles(a: Array, b: Any) -> _Tiles:
    """Return arrays (..., nB, m) cut into tiles."""
    count = jax.tree.leaves(b)[0].shape[-2]
    tiles = 1
    size = count
    if isinstance(count, int):
        tiles = -(-count // min(_tile_rows(a), max(count, 1)))
        size = -(-count // max(tiles, 1))

    def cut(x: Array) -> Array:
        missing_rows = tiles * size - count
        padding = [(0, 0)] * (x.ndim - 2) + [(0, missing_rows), (0, 0)]
        padded = jnp.pad(x, padding, mode="edge")
        in_tiles = padded.reshape(*x.shape[:-2], tiles, size, x.shape[-1])
        return jnp.moveaxis(in_tiles, -3, 0)

    return _Tiles(jax.tree.map(cut, b), tiles, size, count)


def _over_tiles(function: Callable[[Any], Array], a: Array, b: Any) -> Array:
    """Return ``function(b)`` (..., nA, nB), computed for a tile of rows of ``b`` at a time."""
    tiles = _tiles(a, b)
    function = jax.checkpoint(function)
    if tiles.number <= 1:
        return function(b)
    columns = jnp.moveaxis(lax.map(function, tiles.arrays), 0, -2)  # (..., nA, tiles, size)
    return columns.reshape(*columns.shape[:-2], -1)[..., : tiles.row_count]


def _folded(step: Callable[..., Any], tiles: _Tiles) -> Any:
    """Return ``step(carry, arrays, i)`` over the tiles; the first makes the carry, of its types."""
    carry = step(None, jax.tree.map(lambda x: x[0], tiles.arrays), 0)
    if tiles.number == 1:
        return carry
    rest = jax.tree.map(lambda x: x[1:], tiles.arrays)
    numbers = jnp.arange(1, tiles.number, dtype=np.int32)
    return lax.scan(lambda carry, x: (step(carry, *x), None), carry, (rest, numbers))[0]


def kernel_sum(
    metric: Metric,
    f: Callable[[Array], Array],
    a: Array,
    b: Array,
    weights: Array | None,
    parameters: Parameters,
) -> Array:
    """Return the sums (..., nA[, c]) over the rows of ``b`` of ``weights * f(distance)``, tile by tile."""
    if isinstance(b.shape[-2], int) and b.shape[-2] == 0:
        values = f(matrix(metric, a, b, parameters))
        return jnp.sum(values, axis=-1) if weights is None else _weighted_sum(values, weights)
    columns = None if weights is None else weights.reshape(b.shape[-2], -1)
    tiles = _tiles(a, (b, columns))

    may_be_kernel = tiles.number == 1 or not _LOOPS_LOSE_SLOPES

    @jax.checkpoint
    def of_rows(b: Array, w: Array | None, start: Any) -> Array:
        values = f(matrix(metric, a, b, parameters, may_be_kernel=may_be_kernel))
        is_row = start + lax.broadcasted_iota(np.int32, values.shape, values.ndim - 1) < tiles.row_count
        values = jnp.where(is_row, values, 0)
        return jnp.sum(values, axis=-1) if w is None else _weighted_sum(values, w)

    def step(total: Array | None, arrays: tuple[Array, Array | None], i: Any) -> Array:
        part = of_rows(*arrays, i * tiles.size)
        return part if total is None else total + part

    total: Array = _folded(step, tiles)
    return total[..., 0] if weights is not None and weights.ndim == 1 else total


def _weighted_sum(values: Array, weights: Array) -> Array:
    return jnp.matmul(values, weights, precision=lax.Precision.HIGHEST)


def nearest(metric: Metric, k: int, a: Array, b: Array, parameters: Parameters) -> tuple[Array, Array]:
    """Return the k least distances (..., nA, k) and the rows of ``b``; inf and nB where there are fewer."""
    rows, distances = _search(metric, k, *lax.stop_gradient((a, b, parameters)))
    return _chosen(metric, a, b, parameters, rows, distances), rows


def _search(metric: Metric, k: int, a: Array, b: Array, parameters: Parameters) -> tuple[Array, Array]:
    tiles = _tiles(a, b)
    if tiles.number == 0:
        none = matrix(metric, a, b, parameters)
        padding = [(0, 0)] * (none.ndim - 1) + [(0, k)]
        none = jnp.pad(none, padding, constant_values=jnp.inf)
        return jnp.zeros(none.shape, np.int32), none

    def step(best: tuple[Array, Array] | None, b: Array, i: Any) -> tuple[Array, Array]:
        distances = matrix(metric, a, b, parameters)
        rows = i * tiles.size + lax.broadcasted_iota(np.int32, distances.shape, distances.ndim - 1)
        is_near = (distances < jnp.inf) & (rows < tiles.row_count)
        distances = jnp.where(is_near, distances, jnp.inf)
        rows = jnp.where(is_near, rows, tiles.row_count)
        if best is None:
            missing = k if not isinstance(tiles.size, int) else max(0, k - tiles.size)
            more = [(0, 0)] * (distances.ndim - 1) + [(0, missing)]
            distances = jnp.pad(distances, more, constant_values=jnp.inf)
            rows = jnp.pad(rows, more, constant_values=tiles.row_count)
        else:  # those found before have lower rows, and come first among equals
            rows = jnp.concatenate([best[0], rows], axis=-1)
            distances = jnp.concatenate([best[1], distances], axis=-1)
        negative = jnp.where(distances == 0, -0.0, -distances)  # -0.0 and 0.0 are equal
        largest, places = lax.top_k(negative, k)
        return jnp.take_along_axis(rows, places, axis=-1), -largest

    best: tuple[Array, Array] = _folded(step, tiles)
    return best


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _chosen(
    metric: Metric, a: Array, b: Array, parameters: Parameters, rows: Array, distances: Array
) -> Array:
    """Return the distances that a search found: a choice has no derivative, each pair has its own."""
    return distances


def _slope_of_chosen(metric: Metric, primals: Any, tangents: Any) -> tuple[Array, Array]:
    a, b, parameters, rows, distances = primals
    with_moving, moving, moving_tangents = _what_moves(parameters, tangents[2])
    take = jnp.vectorize(_taken, signature="(n,m),(a,k)->(a,k,m)")
    scale = metric.scale_of_distances(distances)
    count = b.shape[-2]

    def of_pairs(a: Array, b: Array, moving: list[Array]) -> Array:
        if isinstance(count, int) and count == 0:
            return jnp.zeros(rows.shape, a.dtype)
        between = with_moving(moving).between_pairs()
        slopes = metric.distance(a[..., :, None, :], take(b, rows), between, scale)
        return jnp.where(rows < count, slopes, 0)

    rows_tangents = instantiated(tangents[0]), instantiated(tangents[1])
    slopes = jax.jvp(of_pairs, (a, b, moving), (*rows_tangents, moving_tangents))[1]
    return _chosen(metric, *primals), slopes


_chosen.defjvp(_slope_of_chosen, symbolic_zeros=True)


def _taken(b: Array, rows: Array) -> Array:
    """Return the rows of ``b`` by number; sharded as the numbers are, where axes are explicit."""
    sharding = jax.typeof(rows).sharding
    explicit = AxisType.Explicit in sharding.mesh.axis_types
    out = NamedSharding(sharding.mesh, PartitionSpec(*sharding.spec, None)) if explicit else None
    return b.at[rows].get(mode="clip", out_sharding=out)


def in_units_of_columns(
    metric: Metric, rows: list[Array], parameters: Parameters
) -> tuple[list[Array], Parameters]:
    """Return rows in units of columns, and SciPy's default of the metric for them, which is in these units.

    That is the variances or the inverse of the covariance matrix of all rows, computed in float64. Of other
    metrics, and where there are some already, rows and parameters are as they were.
    """
    given = parameters.weights, parameters.inverse_covariance
    if metric.name not in ("seuclidean", "mahalanobis") or given != (None, None):
        return rows, parameters
    rows = columns_of_size_one(rows)
    dtype = rows[0].dtype
    row_count = sum(x.shape[-2] for x in rows)
    with x64_on():
        wide = [x.astype(np.float64) for x in rows]
        mean = sum(jnp.sum(x, axis=-2, keepdims=True) for x in wide) / row_count
        wide = [x - mean for x in wide]
        if metric.name == "seuclidean":
            squares = functools.reduce(jnp.add, (jnp.sum(jnp.square(x), axis=-2) for x in wide))
            return rows, replace(parameters, weights=((row_count - 1) / squares).astype(dtype))
        products = sum(jnp.matmul(x.mT, x, precision=lax.Precision.HIGHEST) for x in wide)
        covariance = jnp.asarray(products / (row_count - 1))
        inverse = jnp.linalg.inv(covariance)
        inverse = jnp.where(_is_singular(covariance)[..., None, None], jnp.nan, inverse)
        return rows, replace(parameters, inverse_covariance=inverse.astype(dtype))


def _is_singular(covariance: Array) -> Array:
    """Tell of which matrices (..., m, m) rounding leaves no inverse: of rows on a line or plane, or constant.

    Columns are of size one: what varies by less than their rounding is constant. Elimination does not tell:
    where rounding leaves a pivot other than 0 it returns some numbers.
    """
    m = covariance.shape[-1]
    if m == 0:
        return jnp.zeros(covariance.shape[:-2], bool)
    variances = jnp.diagonal(covariance, axis1=-2, axis2=-1)
    rounding = 8 * m * np.finfo(np.float64).eps
    is_constant = variances <= rounding**2
    deviations = jnp.sqrt(jnp.where(is_constant, 1, variances))
    correlation = covariance / deviations[..., None] / deviations[..., None, :]
    sizes = jnp.linalg.svd(lax.stop_gradient(correlation), compute_uv=False)
    return (sizes[..., -1] <= rounding * sizes[..., 0]) | is_constant.any(axis=-1)
