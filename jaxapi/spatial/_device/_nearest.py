"""Nearest neighbours on a device, in pieces where there are very many queries."""

import jax
import jax.numpy as jnp

from .._structure._metric import into_box
from .._structure._tree import Tree
from . import _engines

__all__ = ["nearest", "nearest_in_pieces"]

LARGEST_PIECE = 2**31 - 2**16


def nearest(
    tree: Tree, x, bound, eps, box, *, k: int, p: float, dtype, index_dtype, engine=None, rooted: bool = True
):
    """Return distances and rows of the `k` nearest points of every query, both (q, k).

    They are nearer than `bound`, one for all or (q,), which is 0 for a query that needs none. `dtype` is the
    tree's or a wider one. A query that is not finite has no neighbours. Many queries are searched in pieces
    whose results and coordinates 32-bit numbers can count. `rooted` as in `_lax.nearest`. Pure and traceable.
    """
    q, m = x.shape
    tree, x = tree.astype(dtype), x.astype(dtype)
    if box is not None:
        x = into_box(x, box)
    size = max(LARGEST_PIECE // max(k, m), 1)
    found = [
        _engines.run(
            engine,
            "nearest",
            tree,
            x[start : start + size],
            bound[start : start + size] if jnp.ndim(bound) else bound,
            eps,
            box,
            k=k,
            p=p,
            rooted=rooted,
        )
        for start in range(0, max(q, 1), size)
    ]
    distances, rows = found[0] if len(found) == 1 else map(jnp.concatenate, zip(*found, strict=True))
    return distances, rows.astype(index_dtype)


# Compiled as one piece also where a transformation alone would run it step by step.
nearest_in_pieces = jax.jit(nearest, static_argnames=("k", "p", "dtype", "index_dtype", "engine"))
