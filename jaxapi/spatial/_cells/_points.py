"""What searches with images are of: points, the cloud that each belongs to, and the cell."""

from typing import Any, NamedTuple

import numpy as np

from .._engines._protocol import Engine

__all__ = ["FAR_EXPONENT", "ROUNDING", "SPACING_EXPONENT", "ImagePoints", "ImageQueries", "euclidean_factor"]

# Clouds are apart, along an axis of their own, by the size of the points times 2 to this power: so far that
# no search of a point's own cloud reaches another, and so near that powers of small distances do not vanish.
SPACING_EXPONENT = 64
# A query that is farther away than the size times 2 to this power sees all points of its cloud equally near.
FAR_EXPONENT = 56
# By how much a distance within the cell may be rounded, relative to the coordinates.
ROUNDING = 64 * float(np.finfo(np.float64).eps)

INT32 = np.dtype(np.int32)


class ImagePoints(NamedTuple):
    """Points, with a cell, with clouds, or with both; arrays, concrete or traced."""

    data: Any  # (rows, m)
    n: Any  # how many of the rows count
    cell: Any  # (m, m), (clouds, m, m), or None
    ids: Any  # (rows,) the cloud of each point, or None

    def read(self, engine: Engine) -> "ImagePoints":
        """Return the points with arrays in the place of an engine's inputs."""
        data = engine.read_input(self.data, self.n, dtype=self.data.dtype)
        if self.ids is None:
            return self._replace(data=data)
        return self._replace(data=data, ids=engine.read_input(self.ids, self.n, dtype=INT32, fill=0))


class ImageQueries(NamedTuple):
    """Queries of such points."""

    x: Any  # (q, m)
    ids: Any  # (q,) the cloud that each searches, or None


def euclidean_factor(m: int, p: float) -> float:
    """Return how many times as long as by Minkowski's p a vector of m dimensions may be by p = 2."""
    return float(m ** max(0.5 - 1 / p, 0.0))
