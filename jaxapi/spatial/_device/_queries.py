"""The three ways to run one query: SciPy on the host, a compiled call on a device, inside of jit."""

import contextlib
from functools import lru_cache, partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..._typing import Array
from .._host import _nearest as _engine_host
from .._structure._metric import axis_distance, combine, power, root
from .._structure._tree import Tree
from . import _engines

__all__ = [
    "Asked",
    "as_dtype",
    "beside",
    "distances_to",
    "index_dtype",
    "on_device",
    "on_host",
    "one_beside",
    "result_dtype",
    "structure",
    "traced",
    "width",
    "without_points",
]

_FLOAT32, _FLOAT64, _INT32, _INT64 = map(np.dtype, (np.float32, np.float64, np.int32, np.int64))
_SMALL = 1 << 16  # bytes
_FEW = 64  # numbers


class Asked(NamedTuple):
    """What a query asks for, beside its points."""

    k: int
    columns: tuple[int, ...] | None  # neighbours asked for one by one; None: all of the k
    p: float
    bound: float | Array
    eps: float | Array
    lengths: tuple[float, ...] | None  # of the periodic box, 0 on axes that are not periodic

    @property
    def inner(self) -> tuple[int, ...]:
        """Shape of the answer for one query."""
        if self.columns is None:
            return () if self.k == 1 else (self.k,)
        return (len(self.columns),)

    def pick(self, n: int) -> tuple[int, ...] | None:
        """Return which of the `min(k, n)` neighbours make the answer, -1 for a missing one; `None`: all."""
        columns = range(1, self.k + 1) if self.columns is None else self.columns
        if self.columns is None and self.k <= n:
            return None
        return tuple(column - 1 if column <= n else -1 for column in columns)


def result_dtype(data, x) -> np.dtype:
    """Return the dtype of distances: float64 if either is, else float32."""
    return _FLOAT64 if _FLOAT64 in (data.dtype, x.dtype) else _FLOAT32


def index_dtype(n: int) -> np.dtype:
    """Return the dtype of rows: JAX's default, wider where `n` needs it."""
    return _INT64 if jax.config.jax_enable_x64 or n >= 2**31 else _INT32


def width(*dtypes):
    """Return the context in which compiled code keeps these dtypes."""
    if 8 in [dtype.itemsize for dtype in dtypes]:
        return jax.enable_x64(True)
    return contextlib.nullcontext()


def without_points(data, x, batch, asked: Asked):
    """Answer a query to an empty tree."""
    shape = batch + asked.inner
    distances = np.full(shape, np.inf, result_dtype(data, x))
    return beside(data, distances, np.zeros(shape, index_dtype(0)))


def on_host(scipy_tree, data, x, batch, asked: Asked, workers: int):
    """Answer a concrete query with SciPy."""
    n = data.shape[0]
    x = np.asarray(x)
    distances, rows = _engine_host.nearest(
        scipy_tree,
        x,
        k=min(asked.k, n),
        p=asked.p,
        bound=asked.bound,
        eps=asked.eps,
        workers=workers,
        dtype=result_dtype(data, x),
        index_dtype=index_dtype(n),
    )
    columns = asked.pick(n)
    if columns is not None:
        columns = np.asarray(columns)
        distances = np.where(columns < 0, distances.dtype.type(np.inf), distances[:, columns])
        rows = np.where(columns < 0, rows.dtype.type(n), rows[:, columns])
    shape = batch + asked.inner
    distances, rows = distances.reshape(shape), rows.reshape(shape)
    return (beside if batch else one_beside)(data, distances, rows)


def beside(data, *arrays):
    """Return host arrays that nobody else knows as jax arrays on the device of `data`."""
    with jax.core.eval_context(), width(*[each.dtype for each in arrays]):
        # jnp.asarray copies, jax.device_put takes longer to begin.
        placed = tuple(jnp.asarray(x) if x.nbytes < _SMALL else jax.device_put(x) for x in arrays)
        return placed if placed[0].sharding == data.sharding else jax.device_put(placed, data.sharding)


def one_beside(data, *arrays):
    """Do the same for one point's results: a compiled copy takes half the time, but is compiled by shape."""
    if arrays[0].size > _FEW:
        return beside(data, *arrays)
    with width(*[each.dtype for each in arrays]):
        copies = _copied(*arrays)
    # Asked for afterwards, as the context takes longer than the question whether it is needed.
    if isinstance(copies[0], jax.core.Tracer) or copies[0].sharding != data.sharding:
        return beside(data, *arrays)
    return copies


_copied = jax.jit(lambda *arrays: arrays)


def structure(data) -> tuple[Tree, Array]:
    """Build the structure over concrete or traced points (n, m), and tell whether all are finite."""
    n = data.shape[0]
    rows = _engines.padded_size(n)
    if isinstance(data, jax.core.Tracer):
        points, finite = _padded(jax.lax.stop_gradient(data), rows=rows)
        return _build(points, np.int32(n)), finite
    with width(data.dtype):
        points, finite = _padded(data, rows=rows)
        tree = _build(points, np.int32(n))
        finite.copy_to_host_async()
        return tree, finite


_build = jax.jit(_engines.build)


@partial(jax.jit, static_argnames="rows")
def _padded(x, *, rows: int):
    """Repeat the last line of `x` until there are `rows`, and tell whether all are finite.

    A call of its own, whose answer is back on the host before the search or the build ends.
    """
    padded = jnp.pad(x, ((0, rows - x.shape[0]), (0, 0)), mode="edge" if x.shape[0] else "constant")
    return padded, jnp.isfinite(x).all()


def on_device(tree: Tree, data, x, batch, asked: Asked):
    """Answer a concrete query with one compiled call."""
    n = data.shape[0]
    q = x.shape[0]
    dtype, rows_dtype = result_dtype(data, x), index_dtype(n)
    if not isinstance(x, jax.Array) or x.sharding != data.sharding:
        x = np.asarray(x, dtype=dtype)
    rows = _engines.padded_size(q)
    lengths = None if asked.lengths is None else np.asarray(asked.lengths, dtype)
    with width(dtype, rows_dtype):
        if isinstance(x, np.ndarray):
            finite = np.isfinite(x).all()
            x = np.pad(x, ((0, rows - q), (0, 0)))
        else:
            x, finite = _padded(x, rows=rows)
        distances, found = _compiled(
            tree,
            x,
            _scalar(asked.bound, dtype, data.sharding),
            _scalar(asked.eps, dtype, data.sharding),
            lengths,
            k=min(asked.k, n),
            p=asked.p,
            dtype=dtype,
            index_dtype=rows_dtype,
            columns=asked.pick(n),
        )
        if isinstance(finite, jax.Array):
            finite.copy_to_host_async()  # only now, since asking takes long enough to delay the search
        if distances.shape != batch + asked.inner:
            distances, found = _trimmed(distances, found, shape=batch + asked.inner)
    if not finite:
        raise ValueError("'x' must be finite, check for nan or inf values")
    return distances, found


@lru_cache(maxsize=64)
def _scalar(value: float, dtype, sharding):
    """Return a number on the device, kept there: sending one takes as long as a call."""
    return jax.device_put(np.asarray(value, dtype), sharding)


@partial(jax.jit, static_argnames=("k", "p", "dtype", "index_dtype", "columns"))
def _compiled(tree, x, bound, eps, lengths, *, k, p, dtype, index_dtype, columns):
    distances, rows = _engines.nearest(
        tree, x, bound, eps, lengths, k=k, p=p, dtype=dtype, index_dtype=index_dtype
    )
    distances, rows = _picked(distances, rows, tree.n, columns)
    if columns is None and k == 1:
        distances, rows = distances[:, 0], rows[:, 0]
    return distances, rows


def _picked(distances, rows, n, columns):
    """Return the columns asked for."""
    if columns is None:
        return distances, rows
    columns = np.asarray(columns)
    there = columns >= 0
    rows = jnp.where(there, rows[:, columns], jnp.asarray(n, rows.dtype))
    return jnp.where(there, distances[:, columns], jnp.inf), rows


@partial(jax.jit, static_argnames="shape")
def _trimmed(distances, rows, *, shape):
    """Drop the padded queries and restore the batch shape."""
    count = int(np.prod(shape)) // max(int(np.prod(distances.shape[1:])), 1)
    return distances[:count].reshape(shape), rows[:count].reshape(shape)


def traced(tree: Tree, data, x, batch, asked: Asked):
    """Answer a query inside a transformation."""
    n = data.shape[0]
    dtype = result_dtype(data, x)
    shape = batch + asked.inner
    if n == 0:
        return jnp.full(shape, jnp.inf, dtype), jnp.zeros(shape, index_dtype(0))
    x, bound, eps = (as_dtype(each, dtype) for each in (x, asked.bound, asked.eps))
    lengths = None if asked.lengths is None else as_dtype(asked.lengths, dtype)
    distances, rows = _differentiable(
        data, x, tree, bound, eps, lengths, min(asked.k, n), asked.p, index_dtype(n)
    )
    distances, rows = _picked(distances, rows, n, asked.pick(n))
    return distances.reshape(shape), rows.reshape(shape)


def as_dtype(x, dtype):
    """Return a jax array; without the dtype, float64 would be rounded to float32 where x64 is off."""
    return x.astype(dtype) if isinstance(x, jax.Array) else jnp.asarray(np.asarray(x, dtype), dtype)


@partial(jax.custom_jvp, nondiff_argnums=(6, 7, 8))
def _differentiable(points, x, tree, bound, eps, lengths, k, p, index_dtype):
    """Search; derivatives flow to `points` (n, m), the tree's points by row, and to `x`."""
    return _nearest(tree, x, bound, eps, lengths, k=k, p=p, dtype=x.dtype, index_dtype=index_dtype)


# Compiled as one piece also where the transformation alone would run it step by step.
_nearest = jax.jit(_engines.nearest, static_argnames=("k", "p", "dtype", "index_dtype"))


@_differentiable.defjvp
def _differentiable_jvp(k, p, index_dtype, primals, tangents):
    points, x, _, _, _, lengths = primals
    distances, rows = _differentiable(*primals, k, p, index_dtype)

    def recompute(points, x):
        return distances_to(points.astype(x.dtype), x, rows, lengths, p)

    _, slopes = jax.jvp(recompute, (points, x), tangents[:2])
    return (distances, rows), (slopes, np.zeros(rows.shape, jax.dtypes.float0))


@partial(jax.jit, static_argnames="p")
def distances_to(points, x, rows, lengths, p: float):
    """Return the distances from each query to its rows, (q, k), with derivative 0 at distance 0."""
    there = rows < points.shape[0]
    neighbours = points[jnp.where(there, rows, 0)]  # (q, k, m)
    if lengths is not None:
        x = _engines.into_box(x, lengths)
        lengths = jnp.broadcast_to(lengths, neighbours.shape)
    along = axis_distance(x[:, None, :], neighbours, lengths)
    away = there & (along > 0).any(axis=2)
    along = jnp.where(away[:, :, None], along, 1)
    total = power(along[..., 0], p)
    for axis in range(1, along.shape[2]):
        total = combine(total, power(along[..., axis], p), p)
    return jnp.where(away, root(total, p), 0)
