"""The choice of engine, in one place, and what every engine shares.

Each engine is a module with `nearest(tree, queries, *, k, p, bound, eps, box)`, pure and traceable.
"""

import jax
import jax.numpy as jnp
from jax import lax

from . import _brute
from ._build import padded_size
from ._tree import Tree

__all__ = ["build", "engine_name", "into_box", "nearest", "padded_size"]


def engine_name(data) -> str:
    """Return what searches a tree over `data`: 'scipy', 'pallas', 'lax', 'brute'; 'traced' inside of jit."""
    if isinstance(data, jax.core.Tracer):
        return "traced"
    (device,) = data.devices()
    return "scipy" if device.platform == "cpu" else "brute"


def build(points, n) -> Tree:
    """Return the structure over the first `n` of `points` (n_pad, m)."""
    return _brute.build(points, n)


def nearest(tree: Tree, x, bound, eps, lengths, *, k: int, p: float, dtype, index_dtype):
    """Return distances and rows of the `k` nearest points of every query, both (q, k).

    `dtype` is the tree's or a wider one. A query that is not finite has no neighbours.
    """
    tree = jax.tree.map(lambda a: a.astype(dtype) if jnp.issubdtype(a.dtype, jnp.floating) else a, tree)
    x = x.astype(dtype)
    finite = jnp.isfinite(x).all(axis=1)[:, None]
    x = jnp.where(finite, x, 0)
    if lengths is not None:
        x = into_box(x, lengths)
    distances, rows = _brute.nearest(tree, x, k=k, p=p, bound=bound, eps=eps, box=lengths)
    return jnp.where(finite, distances, jnp.inf), jnp.where(finite, rows, tree.n).astype(index_dtype)


def into_box(x, lengths):
    """Shift every periodic coordinate into ``[0, length)``."""
    lengths = jnp.broadcast_to(lengths, x.shape)
    length = jnp.where(lengths > 0, lengths, 1)
    inside = x - lax.stop_gradient(jnp.floor(x / length)) * length
    inside = jnp.where(inside >= length, inside - length, inside)
    inside = jnp.where(inside < 0, inside + length, inside)
    inside = jnp.where(inside >= length, inside - length, inside)
    return jnp.where(lengths > 0, inside, x)
