"""Farthest-point sampling: on the CPU by NumPy, elsewhere by a program of XLA."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .._core._dtypes import x64_for
from .._core._lengths import first_rows
from .._core._programs import any_traced, compiled, eagerly, is_traced
from .._core._typing import Array, ArrayLike
from .._interop import as_array
from . import _tree_arguments
from ._arrays import as_dtype, is_on_host, placed_like
from ._build_tree import are_finite
from ._engines import _choice
from ._padding import pad_rows
from ._scipy._callback import Result, computed
from ._scipy._farthest import sample_farthest
from ._search import index_dtype
from ._tree._build import padded_size, scale_of
from ._tree._powers_of_two import scaled
from ._tree._slopes import without_slopes
from ._tree._varying import varying_like

__all__ = ["sample_farthest_points"]

FLOAT64 = np.dtype(np.float64)
INT32 = np.dtype(np.int32)
NOT_FINITE = "points must be finite, check for nan or inf values"
POINTS_PER_TURN = 8  # of the loop, before whose turns a GPU and the host wait for each other


def sample_farthest_points(
    points: ArrayLike, k: int, *, start: int | Array = 0, n: int | Array | None = None
) -> Array:
    """Return k rows of points that lie far apart: each is the farthest from those before it.

    Farthest-point sampling: PyTorch3D's function of this name, `fps` of torch_cluster and
    `farthest_point_down_sample` of Open3D.

    Parameters
    ----------
    points : array_like, shape (rows, m)
        Real and finite.
    k : int
        How many; static under jit.
    start : int, default 0
        The row that comes first. May be traced.
    n : int, optional
        How many of the rows count, the first ones; by default all. May be traced.

    Returns
    -------
    Array, shape (k,), integer
        Rows of `points`, none of them twice; the number of rows where there are fewer than k points. Of
        equally far points the lowest row comes first.

    Raises
    ------
    TypeError
        If `points` are not real numbers, or k is not an integer.
    ValueError
        If `points` have another shape or are not finite, if k is negative, or `start` not a row that counts.

    Notes
    -----
    Exact: the squared distances are sums in float64, of points in float32, too. Under jit and vmap, where
    values are not checked, rows that are not finite are not sampled, and nothing is where `start` is such a
    row. Rows have no derivatives: ``points[rows]`` has those of the points. On a CPU most of a large cloud in
    up to four dimensions is skipped at each step; elsewhere each step looks at all points.

    References
    ----------
    .. [1] Y. Eldar, M. Lindenbaum, M. Porat, Y. Zeevi: The farthest point strategy for progressive image
       sampling, IEEE Transactions on Image Processing 6 (9), 1997

    Examples
    --------
    >>> import jaxapi as xp
    >>> xp.spatial.sample_farthest_points([[0.0], [1.0], [5.0], [2.0]], 3).tolist()
    [0, 2, 3]
    """
    array = _tree_arguments.on_one_device(as_array(_tree_arguments.real_array(points, name="points")))
    if array.ndim != 2 or array.shape[1] == 0:
        raise ValueError(f"points must be of shape (n, m) with m >= 1, got {array.shape}")
    k = _tree_arguments.whole(k, "k")
    if k < 0:
        raise ValueError(f"k must be at least 0, got {k}")
    count = _tree_arguments.row_count(n, len(array))
    count = len(array) if count is None else count
    start = _row_number(start, count)
    if any_traced(array, count, start):
        return _traced(array, count, start, k)
    if is_on_host(array):
        return _on_host(array, int(count), int(start), k)
    if not are_finite(array, int(count), _choice.engine_of(array)):
        raise ValueError(NOT_FINITE)
    return _on_device(array, int(count), int(start), k)


def _row_number(start, count) -> int | Array:
    """Return the number of a row that counts; where it is traced, or the count is, it is not checked."""
    if is_traced(start):
        if start.ndim or not jnp.issubdtype(start.dtype, jnp.integer):
            raise TypeError(f"start must be an integer, got {start.dtype} of shape {start.shape}")
        return start
    start = _tree_arguments.whole(start, "start")
    if not is_traced(count) and not 0 <= start < max(count, 1):
        raise ValueError(f"start must be one of the {count} rows that count, got {start}")
    return start


def _on_host(points: Array, count: int, start: int, k: int) -> Array:
    """Return what NumPy finds of concrete points on the CPU."""
    host = np.asarray(points)
    if not np.isfinite(host[:count]).all():
        raise ValueError(NOT_FINITE)
    rows = _by_numpy(host, count, start, k).astype(index_dtype(len(host)))
    return placed_like(points, rows)[0]


def _by_numpy(points: np.ndarray, count, start, k: int) -> np.ndarray:
    """Return what NumPy finds."""
    return sample_farthest(points.astype(FLOAT64, copy=False), int(count), k, int(start))


def _on_device(points: Array, count: int, start: int, k: int) -> Array:
    """Return what a program finds of concrete points; most lengths share one."""
    row_count = len(points)
    with eagerly(), x64_for(points.dtype):
        padded, _ = pad_rows(points)
        counts = np.asarray([count], np.int32)
        starts = np.asarray([start], np.int32)
        (rows,) = sample_of_clouds(padded[None], counts, starts, np.int32(k), size=padded_size(k))
    dtype = index_dtype(row_count)
    with eagerly(), x64_for(dtype):
        rows = _as_rows(rows, np.int32(row_count), padded_count=len(padded), dtype=dtype)
        return first_rows(k, rows)[0]


@partial(compiled, static_argnames=("padded_count", "dtype"))
def _as_rows(rows, row_count, *, padded_count: int, dtype):
    """Return rows of padded points as those of the points: the number of rows is that of a missing one."""
    return jnp.where(rows == padded_count, row_count, rows).astype(dtype)


def _traced(points, count, start, k: int) -> Array:
    """Return what is found where arrays are traced: by NumPy, called back, on a CPU."""
    results = [Result((k,), index_dtype(points.shape[0]))]
    inputs = without_slopes((points, as_dtype(count, INT32), as_dtype(start, INT32)))

    def on_host(points, count, start):
        def by_numpy(points, count, start):
            return [_by_numpy(points, count, start, k)]

        return computed(by_numpy, results, points, count, start)[0]

    def on_device(points, count, start):
        (rows,) = sample_of_clouds(points[None], count[None], start[None], np.int32(k), size=k)
        return rows.astype(results[0].dtype)

    if _choice.only_the_cpu():
        return on_host(*inputs)
    return lax.platform_dependent(*inputs, cpu=on_host, default=on_device)


@partial(compiled, static_argnames="size")
def sample_of_clouds(points: Array, n: Array, start: Array, k: Array, *, size: int) -> Array:
    """Return the samples (clouds, size) of points (clouds, rows, m); the first k, at most size, are found.

    `n` and `start` are those of each cloud. What is missing is the number of rows. Each new point is compared
    with all of its cloud.
    """
    cloud_count, row_count, _ = points.shape
    if cloud_count == 0 or row_count == 0 or size == 0:
        return jnp.full((cloud_count, size), row_count, INT32)
    with x64_for(FLOAT64):
        row_ids = lax.broadcasted_iota(INT32, (cloud_count, row_count), 1)
        is_point = jnp.isfinite(points).all(axis=2) & (row_ids < n[:, None])
        points = jnp.where(is_point[..., None], points, 0)
        if points.dtype == FLOAT64:  # others are squared as float64, in which none is too large or small
            scale = jax.vmap(scale_of)(points, is_point)[:, None, None]
            points = scaled(points, scale)
        columns = jnp.moveaxis(points, 2, 0)  # (m, clouds, rows)
        is_start = (row_ids == start[:, None]) & is_point
        first = jnp.where(is_start, row_ids, row_count).min(axis=1)
        distances = jnp.where(is_point, jnp.inf, -jnp.inf)  # squared, to the nearest sampled point
        turn = min(POINTS_PER_TURN, size)
        room = -(-size // turn) * turn
        sample = jnp.full((cloud_count, room), row_count, INT32)
        state = varying_like((jnp.zeros((), INT32), sample, distances, first), (points, n, start, k))

        def is_not_done(state):
            return state[0] < k

        def add_point(_, state):
            step, sample, distances, rows = state
            sample = lax.dynamic_update_index_in_dim(sample, rows, step, axis=1)
            places = jnp.minimum(rows, row_count - 1)[None, :, None]
            sampled_points = jnp.take_along_axis(columns, places, axis=2)  # (m, clouds, 1)
            offsets = as_dtype(columns, FLOAT64) - as_dtype(sampled_points, FLOAT64)
            distances = jnp.minimum(distances, jnp.square(offsets).sum(axis=0))
            distances = jnp.where(row_ids == rows[:, None], -jnp.inf, distances)  # not again
            farthest = distances.max(axis=1)
            next_rows = jnp.where(distances == farthest[:, None], row_ids, row_count).min(axis=1)
            has_next = (farthest > -jnp.inf) & (rows < row_count)
            return step + np.int32(1), sample, distances, jnp.where(has_next, next_rows, row_count)

        def add_points(state):
            return lax.fori_loop(0, turn, add_point, state, unroll=True)

        _, sample, _, _ = lax.while_loop(is_not_done, add_points, state)
        return jnp.where(lax.iota(INT32, size) < k, sample[:, :size], row_count)
