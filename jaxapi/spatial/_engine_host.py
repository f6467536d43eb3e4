"""The CPU's engine for concrete arrays: SciPy's cKDTree, with our rule for ties.

SciPy leaves it open which of several equally distant points it returns. Here equal distances go to the lowest
row, also at the last place: one neighbour more is asked for, and where that one is as far as the last, more
and more are, until a farther one turns up. Queries with such a tie cost two to three times as much, and the
number of equally distant points decides the rest; all of it runs in pieces of bounded memory.
"""

import numpy as np
from scipy.spatial import cKDTree

__all__ = ["build", "nearest"]

_PIECE = 1 << 22  # distances held at once; 64 MB with their rows


def build(points: np.ndarray, leafsize: int, compact_nodes: bool, balanced_tree: bool, boxsize) -> cKDTree:
    """Return SciPy's tree over `points` (n, m)."""
    return cKDTree(
        points, leafsize=leafsize, compact_nodes=compact_nodes, balanced_tree=balanced_tree, boxsize=boxsize
    )


def nearest(
    tree: cKDTree,
    x: np.ndarray,
    *,
    k: int,
    p: float,
    bound: float,
    eps: float,
    workers: int,
    dtype,
    index_dtype,
):
    """Return distances and rows of the `k` nearest points, both (q, k), sorted by (distance, row).

    Missing neighbours have distance inf and row n.
    """
    search = _Search(tree, p, bound, eps, workers)
    distances = np.empty((len(x), k), dtype)
    rows = np.empty((len(x), k), index_dtype)
    asked = min(k + 1, tree.n)
    found = min(k, tree.n)
    distances[:, found:] = np.inf
    rows[:, found:] = tree.n
    piece = max(1, _PIECE // asked)
    for start in range(0, len(x), piece):
        part = slice(start, start + piece)
        near, near_rows = search.nearest(x[part], asked)
        _order_ties(search, x[part], near, near_rows, found)
        distances[part, :found] = near[:, :found]
        rows[part, :found] = near_rows[:, :found]
    return distances, rows


class _Search:
    """One tree with the settings of one query."""

    def __init__(self, tree, p, bound, eps, workers):
        self.tree = tree
        self.settings = {"eps": eps, "p": p, "distance_upper_bound": bound, "workers": workers}

    def nearest(self, x, k):
        """Return SciPy's (q, k) answer."""
        distances, rows = self.tree.query(x, k=k, **self.settings)
        return distances.reshape(len(x), k), rows.reshape(len(x), k)


def _order_ties(search: _Search, x, distances, rows, k: int) -> None:
    """Bring the first `k` columns into order by (distance, row), in place."""
    if distances.shape[1] == 1:
        return
    same = distances[:, 1:] == distances[:, :-1]
    if not same.any():
        return
    same &= distances[:, 1:] < np.inf
    inside = np.flatnonzero(same[:, : k - 1].any(axis=1))
    _sort(distances, rows, inside)
    if distances.shape[1] > k:
        _settle_last_place(search, x, distances, rows, np.flatnonzero(same[:, k - 1]), k)


def _sort(distances, rows, which) -> None:
    """Sort the lines `which` by (distance, row), in place."""
    order = np.lexsort((rows[which], distances[which]), axis=-1)
    distances[which] = np.take_along_axis(distances[which], order, axis=1)
    rows[which] = np.take_along_axis(rows[which], order, axis=1)


def _settle_last_place(search: _Search, x, distances, rows, open_lines, k: int) -> None:
    """Ask for more neighbours until one is farther than the k-th; keep the lowest rows."""
    asked = k + 1
    while open_lines.size:
        asked = min(2 * asked, search.tree.n)
        still_open = []
        piece = max(1, _PIECE // asked)
        for start in range(0, open_lines.size, piece):
            lines = open_lines[start : start + piece]
            near, near_rows = search.nearest(x[lines], asked)
            settled = (near[:, -1] > near[:, k - 1]) | (asked == search.tree.n)
            still_open.append(lines[~settled])
            near, near_rows, lines = near[settled], near_rows[settled], lines[settled]
            _sort(near, near_rows, slice(None))
            distances[lines, :k] = near[:, :k]
            rows[lines, :k] = near_rows[:, :k]
        open_lines = np.concatenate(still_open)
