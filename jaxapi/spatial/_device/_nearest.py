"""Nearest neighbours on a device, in pieces where there are very many queries."""

import jax
import jax.numpy as jnp
import numpy as np

from .._structure._metric import into_box
from .._structure._tree import Tree
from . import _engines

__all__ = ["nearest", "nearest_in_pieces", "neighbour_edges", "picked", "without_own"]

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


def picked(distances, rows, n, columns):
    """Return the columns asked for, of all that were found."""
    if columns is None:
        return distances, rows
    columns = np.asarray(columns)
    there = columns >= 0
    rows = jnp.where(there, rows[:, columns], jnp.asarray(n, rows.dtype))
    return jnp.where(there, distances[:, columns], jnp.inf), rows


def without_own(distances, rows, xp=jnp):
    """Return all columns (n, k + 1) but that of each line's own row, or the last where it is not there."""
    own = rows == xp.arange(rows.shape[0], dtype=rows.dtype)[:, None]
    passed = xp.cumulative_sum(own, axis=1)[:, :-1] > 0
    return tuple(xp.where(passed, each[:, 1:], each[:, :-1]) for each in (distances, rows))


def neighbour_edges(distances, rows, n, xp=jnp):
    """Return senders, receivers and distances of the first `n` lines' neighbours, and how many there are."""
    lines = xp.arange(rows.shape[0], dtype=rows.dtype)[:, None]
    n = xp.asarray(n).astype(rows.dtype)
    there = (rows < n) & (lines < n)
    receivers = xp.where(there, lines, n)
    count = xp.sum(there, dtype=rows.dtype)
    return rows.reshape(-1), receivers.reshape(-1), distances.reshape(-1), count
