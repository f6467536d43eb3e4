"""Searches of a tree without points, or between two of which one has none: the answers are known."""

import numpy as np

from ..._tracing import any_traced, is_traced
from .._results import FixedNeighbors, Neighbors
from .._settings import Columns, SearchSettings, sums_dtype
from ._arrays import RECORD, as_dtype, placed_like

__all__ = ["Empty"]


class Empty:
    """The searches of a tree without points, concrete or traced."""

    def __init__(self, data):
        self.data = data

    def nearest(self, x, batch, columns: Columns, bound, eps, settings: SearchSettings, workers):
        """Return distances and rows, both of shape batch + columns.shape."""
        return self._nothing(batch + columns.shape, settings)

    def csr(self, x, r, settings: SearchSettings, sort: bool) -> Neighbors:
        """Return all neighbours in CSR form."""
        distances, rows = self._nothing((0,), settings)
        return Neighbors(self._zeros((x.shape[0] + 1,), settings), rows, distances)

    def fixed(self, x, r, batch, settings: SearchSettings, limit: int) -> FixedNeighbors:
        """Return the nearest neighbours within the radii, and how many there are."""
        distances, rows = self._nothing((*batch, limit), settings)
        return FixedNeighbors(rows, distances, self._zeros(batch, settings))

    def counts(self, x, r, batch, settings: SearchSettings, eps, workers):
        """Return how many neighbours each query has."""
        return self._zeros(batch, settings)

    def lists(self, x, r, settings: SearchSettings, eps, workers, in_order: bool) -> list[list[int]]:
        """Return the rows of each query's neighbours."""
        return [[] for _ in range(x.shape[0])]

    def edges(self, r, settings: SearchSettings, relation: str):
        """Return receivers, senders and distances of all edges."""
        distances, rows = self._nothing((0,), settings)
        return rows, rows, distances

    def fixed_edges(self, r, settings: SearchSettings, relation: str, size: int):
        """Return receivers, senders, distances (size,) and the true number of edges."""
        distances, rows = self._nothing((size,), settings)
        return rows, rows, distances, self._zeros((), settings)

    def ball_tree(self, other, r, settings: SearchSettings, eps) -> list[list[int]]:
        """Return for each point of this tree the rows of its neighbours in the other."""
        return [[] for _ in range(self.data.shape[0])]

    def distance_records(self, other, r, settings: SearchSettings) -> np.ndarray:
        """Return the distances to the other tree's points as SciPy's record array with fields i, j, v."""
        return np.empty(0, RECORD)

    def two_point(self, other, radii, settings: SearchSettings, own, others, cumulative: bool):
        """Return the pairs within each radius (R,), counted or by their weights."""
        return np.zeros(radii.shape, sums_dtype(own, others, any_traced(radii, own, others)))

    def pairs(self, r, settings: SearchSettings, eps, output_type: str):
        """Return SciPy's set of pairs, or an array of them."""
        return set() if output_type == "set" else self._zeros((0, 2), settings)

    def _nothing(self, shape, settings: SearchSettings):
        return self._placed(np.full(shape, np.inf, settings.dtype), np.zeros(shape, settings.index_dtype))

    def _zeros(self, shape, settings: SearchSettings):
        return self._placed(np.zeros(shape, settings.index_dtype))[0]

    def _placed(self, *arrays):
        if is_traced(self.data):
            return tuple(as_dtype(each, each.dtype) for each in arrays)
        return placed_like(self.data, *arrays)
