"""The choice of engine, in one place, and what every engine shares.

Each engine is a module with `nearest(tree, queries, *, k, p, bound, eps, box, rooted)`, pure and traceable.
"""

import functools
import warnings
from functools import partial

import jax
import jax.numpy as jnp
from jax import lax

from .._lax import _brute
from .._lax import _nearest as _engine_lax
from .._structure import _build
from .._structure._build import padded_size
from .._structure._tree import Tree

__all__ = ["build", "engine_name", "gpu_engine", "into_box", "nearest", "padded_size"]

_LARGEST_PIECE = 2**31 - 2**16
BRUTE_FROM = 17  # dimensions from which on boxes tell points apart too badly for a tree to pay


def engine_name(data) -> str:
    """Return what searches a tree over `data`: 'scipy', 'pallas', 'lax', 'brute'; 'traced' inside of jit."""
    if isinstance(data, jax.core.Tracer):
        return "traced"
    (device,) = data.devices()
    if device.platform == "cpu":
        return "scipy"
    if data.shape[1] >= BRUTE_FROM:
        return "brute"
    return "pallas" if device.platform == "gpu" and gpu_engine() else "lax"


@functools.cache
def gpu_engine():
    """Return the engine for NVIDIA GPUs, `None` without one or if JAX cannot compile it (with a warning)."""
    try:
        jax.devices("cuda")
    except RuntimeError:
        return None
    try:
        from .._gpu import _nearest as _engine_gpu
    except ImportError as error:
        warnings.warn(
            f"KDTree searches the GPU slowly, without its kernel: this JAX has no Pallas for it ({error})",
            stacklevel=2,
        )
        return None
    return _engine_gpu


def build(points, n, scale=None) -> Tree:
    """Return the structure over the first `n` of `points` (n_pad, m); `scale` as `_build.build` takes it."""
    if points.shape[1] >= BRUTE_FROM:
        return _brute.build(points, n)
    return _build.build(points, n, scale=scale)


def nearest(tree: Tree, x, bound, eps, lengths, *, k: int, p: float, dtype, index_dtype, rooted: bool = True):
    """Return distances and rows of the `k` nearest points of every query, both (q, k).

    They are nearer than `bound`, one for all or (q,), which is 0 for a query that needs none. `dtype` is the
    tree's or a wider one. A query that is not finite has no neighbours. Many queries are searched in pieces
    whose results and coordinates 32-bit numbers can count. With `rooted` false the distances are scaled power
    distances, by which answers of several trees can be compared without rounding.
    """
    q, m = x.shape
    pieces = -(-q * max(k, m) // _LARGEST_PIECE)
    if pieces > 1:
        size = -(-q // pieces)
        settings = {"k": k, "p": p, "dtype": dtype, "index_dtype": index_dtype, "rooted": rooted}
        slices = [slice(start, start + size) for start in range(0, q, size)]
        bounds = [bound[part] if jnp.ndim(bound) else bound for part in slices]
        parts = [
            nearest(tree, x[part], bound, eps, lengths, **settings)
            for part, bound in zip(slices, bounds, strict=True)
        ]
        return tuple(jnp.concatenate(side) for side in zip(*parts, strict=True))
    tree = jax.tree.map(lambda a: a.astype(dtype) if jnp.issubdtype(a.dtype, jnp.floating) else a, tree)
    x = x.astype(dtype)
    if lengths is not None:
        x = into_box(x, lengths)
    default = partial(
        _on_finite(_brute if x.shape[1] >= BRUTE_FROM else _engine_lax), k=k, p=p, rooted=rooted
    )
    if x.shape[1] < BRUTE_FROM and gpu_engine():
        cuda = partial(_on(gpu_engine()), k=k, p=p, rooted=rooted)
        found = lax.platform_dependent(tree, x, bound, eps, lengths, cuda=cuda, default=default)
    else:
        found = default(tree, x, bound, eps, lengths)
    distances, rows = found
    return distances, rows.astype(index_dtype)


def _on(engine):
    """Return an engine's `nearest` with all arrays as positional arguments."""

    def nearest(tree, x, bound, eps, lengths, **static):
        return engine.nearest(tree, x, bound=bound, eps=eps, box=lengths, **static)

    return nearest


def _on_finite(engine):
    """Return the same of an engine that expects finite queries; others have no neighbours."""
    search = _on(engine)

    def nearest(tree, x, *arrays, **static):
        finite = jnp.isfinite(x).all(axis=1)[:, None]
        distances, rows = search(tree, jnp.where(finite, x, 0), *arrays, **static)
        return jnp.where(finite, distances, jnp.inf), jnp.where(finite, rows, tree.n)

    return nearest


def into_box(x, lengths):
    """Shift every periodic coordinate into ``[0, length)``."""
    lengths = jnp.broadcast_to(lengths, x.shape)
    length = jnp.where(lengths > 0, lengths, 1)
    inside = x - lax.stop_gradient(jnp.floor(x / length)) * length
    inside = jnp.where(inside >= length, inside - length, inside)
    inside = jnp.where(inside < 0, inside + length, inside)
    inside = jnp.where(inside >= length, inside - length, inside)
    return jnp.where(lengths > 0, inside, x)
