"""Searches of concrete arrays on the CPU, by SciPy."""

import numpy as np
from scipy.spatial import cKDTree

from .._device._arrays import NOT_FINITE, placed_like, placed_like_one
from .._device._nearest import neighbour_edges, without_own
from .._device._slopes import displacements_to
from .._results import FixedNeighbors, Neighbors
from .._settings import Columns, SearchSettings
from . import _radius
from ._nearest import nearest

__all__ = ["Host"]


class Host:
    """The searches of SciPy's tree over concrete points; queries (q, m) not finite raise ValueError."""

    def __init__(self, data, tree: cKDTree):
        self.data, self.tree = data, tree

    @staticmethod
    def prepare(data) -> tuple[None, bool]:
        """Tell whether all points are finite; SciPy builds its tree at first use."""
        return None, bool(np.isfinite(np.asarray(data)).all())

    def nearest(self, x, batch, columns: Columns, bound, eps, settings: SearchSettings, workers):
        """Return distances and rows, both of shape batch + columns.shape."""
        found = self._nearest(x, columns, bound, eps, settings, workers)
        shape = batch + columns.shape
        return self._placed(batch, *(each.reshape(shape) for each in found))

    def _others(self, columns: Columns, bound, settings: SearchSettings, workers):
        distances, rows = self._nearest(self.data, columns, bound, 0.0, settings, workers)
        return without_own(distances, rows, np)

    def _nearest(self, x, columns: Columns, bound, eps, settings: SearchSettings, workers):
        """Return distances and rows (q, columns) as NumPy arrays."""
        n = self.tree.n
        distances, rows = nearest(
            self.tree,
            np.asarray(x),
            k=max(min(columns.k, n), 1),
            p=settings.p,
            bound=bound,
            eps=eps,
            workers=workers,
            dtype=settings.dtype,
            index_dtype=settings.index_dtype,
        )
        among = columns.among(n)
        if among is not None:
            chosen = np.asarray(among)
            distances = np.where(chosen < 0, distances.dtype.type(np.inf), distances[:, chosen])
            rows = np.where(chosen < 0, rows.dtype.type(n), rows[:, chosen])
        return distances, rows

    def others(self, columns: Columns, bound, settings: SearchSettings, workers):
        """Return distances and rows of every point's neighbours, without itself and one column less."""
        return placed_like(self.data, *self._others(columns, bound, settings, workers))

    def edges_of_nearest(self, columns: Columns, settings: SearchSettings, loop: bool):
        """Return senders, receivers and distances of every point's neighbours, and how many there are."""
        if loop:
            found = self._nearest(self.data, columns, np.inf, 0.0, settings, 1)
        else:
            found = self._others(columns, np.inf, settings, 1)
        distances, rows = found
        return placed_like(self.data, *neighbour_edges(distances, rows, self.tree.n, np))

    def displacements(self, x, rows, settings: SearchSettings):
        """Return the vectors from `x` (..., m) to the points of the rows (...) or (..., k)."""
        data, x, rows = map(np.asarray, (self.data, x, rows))
        found = displacements_to(data, x, rows, settings.box(), self.tree.n, dtype=settings.dtype, xp=np)
        return placed_like(self.data, found)[0]

    def csr(self, x, r, settings: SearchSettings, sort: bool) -> Neighbors:
        """Return all neighbours in CSR form."""
        return Neighbors(*placed_like(self.data, *self._csr(x, r, settings, sort)))

    def fixed(self, x, r, batch, settings: SearchSettings, limit: int) -> FixedNeighbors:
        """Return the nearest neighbours within the radii, and how many there are."""
        found = self._csr(x, r, settings, sort=True)
        rows, distances, counts = _radius.first_of_each(*found, limit=limit, n=self.tree.n)
        shape = (*batch, limit)
        shaped = rows.reshape(shape), distances.reshape(shape), counts.reshape(batch)
        return FixedNeighbors(*self._placed(batch, *shaped))

    def counts(self, x, r, batch, settings: SearchSettings, eps, workers):
        """Return how many neighbours each query has."""
        found = self._ball(x, r, settings, eps, workers, return_sorted=None, return_length=True)
        return self._placed(batch, found.astype(settings.index_dtype).reshape(batch))[0]

    def lists(self, x, r, settings: SearchSettings, eps, workers, in_order: bool):
        """Return the rows of each query's neighbours: an object array of lists."""
        return self._ball(x, r, settings, eps, workers, return_sorted=in_order, return_length=False)

    def ball_tree(self, other: "Host", r, settings: SearchSettings, eps) -> list[list[int]]:
        """Return for each point of this tree the rows of its neighbours in the other."""
        return _radius.ball_tree(self.tree, other.tree, r, p=settings.p, eps=eps)

    def distance_records(self, other: "Host", r, settings: SearchSettings) -> np.ndarray:
        """Return the distances to the other tree's points as SciPy's record array with fields i, j, v."""
        return _radius.distance_entries(self.tree, other.tree, r, p=settings.p)

    def edges(self, r, settings: SearchSettings, relation: str):
        """Return receivers, senders and distances of all edges."""
        return placed_like(self.data, *self._edges(r, settings, relation))

    def fixed_edges(self, r, settings: SearchSettings, relation: str, size: int):
        """Return receivers, senders, distances (size,) and the true number of edges."""
        found = self._edges(r, settings, relation)
        count = min(len(found[0]), np.iinfo(settings.index_dtype).max)
        missing = self.tree.n, self.tree.n, np.inf
        kept = [
            np.pad(each[:size], (0, max(size - len(each), 0)), constant_values=each.dtype.type(fill))
            for each, fill in zip(found, missing, strict=True)
        ]
        return placed_like(self.data, *kept, settings.index_dtype.type(count))

    def pairs(self, r, settings: SearchSettings, eps, output_type: str):
        """Return SciPy's set of pairs, or an array of them."""
        pairs = _radius.pairs(self.tree, r, p=settings.p, eps=eps, output_type=output_type)
        return (
            pairs if output_type == "set" else placed_like(self.data, pairs.astype(settings.index_dtype))[0]
        )

    def two_point(self, other: "Host", radii, settings: SearchSettings, own, others, cumulative: bool):
        """Return the pairs within each radius (R,), counted or by their weights; on the host."""
        options = {"weights": None if own is None else (own, others), "cumulative": cumulative}
        return _radius.count_pairs(self.tree, other.tree, radii, p=settings.p, **options)

    def _ball(self, x, r, settings: SearchSettings, eps, workers, **options):
        return _radius.ball(self.tree, _finite(x), r, p=settings.p, eps=eps, workers=workers, **options)

    def _csr(self, x, r, settings: SearchSettings, sort: bool):
        """Return the neighbours as NumPy arrays in CSR form."""
        return _radius.csr(
            self.tree,
            _finite(x),
            r,
            p=settings.p,
            dtype=settings.dtype,
            index_dtype=settings.index_dtype,
            lengths=settings.lengths,
            sort=sort,
        )

    def _edges(self, r, settings: SearchSettings, relation: str):
        found = _radius.edges(self.tree, r, p=settings.p, relation=relation, lengths=settings.lengths)
        dtypes = settings.index_dtype, settings.index_dtype, settings.dtype
        return [each.astype(dtype) for each, dtype in zip(found, dtypes, strict=True)]

    def _placed(self, batch, *arrays):
        return (placed_like if batch else placed_like_one)(self.data, *arrays)


def _finite(x) -> np.ndarray:
    """Return queries as a NumPy array, all of them finite."""
    x = np.asarray(x)
    if not np.isfinite(x).all():
        raise ValueError(NOT_FINITE)
    return x
