"""The CPU's engine for concrete arrays: SciPy's cKDTree, with our rule for ties.

SciPy leaves it open which of several equally distant points it returns. Here equal distances go to the lowest
row, also at the last place: one neighbour more is searched for, and where that one is as far as the last,
more and more are, until a farther one turns up. Queries with such a tie cost two to three times as much, and
the number of equally distant points decides the rest; all of it runs in pieces of bounded memory.
"""

import os
from functools import partial

import numpy as np
from scipy.spatial import cKDTree

from ._order import spatial_order

__all__ = ["build", "nearest"]

_PIECE = 1 << 22  # distances held at once; 64 MB with their rows
_EACH = 1 << 14  # queries of a thread at a time: fewer cost calls, more fall out of its cache


def build(points: np.ndarray, leafsize: int, compact_nodes: bool, balanced_tree: bool, boxsize) -> cKDTree:
    """Return SciPy's tree over `points` (n, m)."""
    return cKDTree(
        points, leafsize=leafsize, compact_nodes=compact_nodes, balanced_tree=balanced_tree, boxsize=boxsize
    )


def nearest(
    tree: cKDTree, x, *, k: int, p: float, bound: float, eps: float, workers: int, dtype, index_dtype
):
    """Return distances and rows of the `k` nearest points, both (q, k), sorted by (distance, row).

    ``1 <= k <= max(n, 1)``. A neighbour beyond the bound has distance inf and row n.
    """
    search = partial(tree.query, eps=eps, p=p, distance_upper_bound=max(bound, 0.0), workers=workers)
    threads = os.cpu_count() or 1 if workers == -1 else workers
    piece = max(1, min(_EACH * threads, _PIECE // (k + 1)))
    order = spatial_order(x)
    if order is None and len(x) <= piece:
        return _piece(search, x, k, tree.n, dtype, index_dtype)
    order = np.arange(len(x)) if order is None else order
    distances, rows = np.empty((len(x), k), dtype), np.empty((len(x), k), index_dtype)
    for start in range(0, len(x), piece):
        which = order[start : start + piece]
        distances[which], rows[which] = _piece(search, x[which], k, tree.n, dtype, index_dtype)
    return distances, rows


def _piece(search, x, k: int, n: int, dtype, index_dtype):
    """Search for as many queries as memory allows at once."""
    if n <= 1:
        distances, rows = (found[:, None] for found in search(x, 1))
    else:
        distances, rows = search(x, min(k + 1, n))
        same = distances[:, 1:] == distances[:, :-1]
        if same.any():
            _order_ties(search, x, distances, rows, same, k, n)
    return distances[:, :k].astype(dtype), rows[:, :k].astype(index_dtype)


def _order_ties(search, x, distances, rows, same, k: int, n: int) -> None:
    """Bring the first `k` columns into order by (distance, row), in place."""
    same &= distances[:, 1:] < np.inf
    _sort(distances, rows, np.flatnonzero(same[:, : k - 1].any(axis=1)))
    if distances.shape[1] > k:
        _settle_last_place(search, x, distances, rows, np.flatnonzero(same[:, k - 1]), k, n)


def _sort(distances, rows, which) -> None:
    """Sort the lines `which` by (distance, row), in place."""
    order = np.lexsort((rows[which], distances[which]), axis=-1)
    distances[which] = np.take_along_axis(distances[which], order, axis=1)
    rows[which] = np.take_along_axis(rows[which], order, axis=1)


def _settle_last_place(search, x, distances, rows, open_lines, k: int, n: int) -> None:
    """Ask for more neighbours until one is farther than the k-th; keep the lowest rows."""
    wanted = k + 1
    while open_lines.size:
        wanted = min(2 * wanted, n)
        still_open = []
        piece = max(1, _PIECE // wanted)
        for start in range(0, open_lines.size, piece):
            lines = open_lines[start : start + piece]
            near, near_rows = search(x[lines], wanted)
            settled = (near[:, -1] > near[:, k - 1]) | (wanted == n)
            still_open.append(lines[~settled])
            near, near_rows, lines = near[settled], near_rows[settled], lines[settled]
            _sort(near, near_rows, slice(None))
            distances[lines, :k] = near[:, :k]
            rows[lines, :k] = near_rows[:, :k]
        open_lines = np.concatenate(still_open)
