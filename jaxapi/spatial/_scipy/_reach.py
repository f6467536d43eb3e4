"""The one test of inclusion: a neighbour is whose distance, as it is returned, is at most the radius.

SciPy compares powers of distances with the power of the radius. Both are rounded, and so is the root that
becomes the distance: with the radius itself SciPy would leave out points at just that distance. So it
searches a little farther where that can happen, and who is near the edge is told by the distance.
"""

import math
from typing import Any, NamedTuple

import numpy as np

__all__ = ["SLACK", "Reach", "distances_between"]

SLACK = 1e-13  # of distances to the boxes of SciPy's nodes, which it adds up
POWERS = 1e-14  # by which powers and roots other than squares may be off, several times what they are

_power = np.frompyfunc(math.pow, 2, 1)  # as SciPy has it, where NumPy's own may differ in the last place


class Reach(NamedTuple):
    """How far a radius reaches, in the units of a tree; nan where it reaches nothing.

    SciPy finds all whose distance is at most `radius` within `farthest`; all that it finds within `nearest`
    are as near. Most radii have the same for both.
    """

    radius: Any  # distances up to this are returned as the user's radius, or less
    nearest: Any
    farthest: Any

    @classmethod
    def of(cls, radius, in_units, p: float) -> "Reach":
        """Return the reach of radii in the user's units, of the dtype of distances, as `p` needs it.

        `in_units` returns distances in the units of the tree.
        """
        radius = np.asarray(radius)
        given = np.where(radius >= 0, radius, np.nan).astype(radius.dtype)
        limit = in_units(given)
        with np.errstate(over="ignore", invalid="ignore"):
            if radius.dtype == np.float32:
                # Half way to the next number a distance is rounded to the one whose last bit is 0.
                half_way = limit + in_units(np.spacing(given).astype(np.float64)) / 2
                rounded_down = np.where(_is_even(given), half_way, np.nextafter(half_way, 0))
                is_normal = (given >= np.finfo(np.float32).tiny) & (given < np.inf)
                limit = np.where(is_normal, rounded_down, limit)
            if p in (1, np.inf):
                return cls(limit[()], limit[()], limit[()])
            if p != 2:
                return cls(limit[()], (limit * (1 - POWERS))[()], (limit * (1 + POWERS))[()])
            farthest = limit
            if radius.dtype == np.float64:
                is_short = np.sqrt(np.nextafter(limit * limit, np.inf)) <= limit
                farthest = np.where(is_short & (limit < np.inf), np.nextafter(limit, np.inf), limit)
        return cls(limit[()], limit[()], farthest[()])

    @property
    def has_edge(self) -> bool:
        """Whether what SciPy finds has to be looked through."""
        return bool(np.any(self.nearest < self.farthest))

    @property
    def of_pairs(self) -> float:
        """How far SciPy looks for pairs: a tolerance, as of `eps`, leaves out those at the edge."""
        return float(self.farthest * (1 + SLACK) if self.has_edge else self.farthest)

    def at(self, which) -> "Reach":
        """Return the reaches of some queries."""
        return Reach(self.radius[which], self.nearest[which], self.farthest[which])

    def eps(self, given: float = 0.0) -> float:
        """Return SciPy's tolerance: one that makes it look into boxes at the edge, unless one is given."""
        return given or -SLACK


def _is_even(radius: np.ndarray) -> np.ndarray:
    """Tell whether the last bit of float32 numbers is 0."""
    return np.atleast_1d(radius).view(np.uint32).reshape(radius.shape) & 1 == 0


def distances_between(x, points, p: float, boxsize) -> np.ndarray:
    """Return the distances (e,) of points (e, m) from `x` (e, m), which is overwritten, as SciPy has them.

    `boxsize` (m,) is that of the periodic box, 0 on other axes, or None.
    """
    x -= points
    difference = np.abs(x, out=x)
    if boxsize is not None:
        around = np.abs(boxsize - difference)
        difference = np.where(boxsize > 0, np.minimum(difference, around), difference)
    if p == np.inf:
        return difference.max(axis=1)
    if p == 2:
        np.multiply(difference, difference, out=difference)
    elif p != 1:
        difference = _power(difference, p).astype(np.float64)
    m = difference.shape[1]
    total = difference[:, 0].copy()
    first = 1
    if p == 2 and boxsize is None and m >= 4:  # SciPy has four sums
        first = m // 4 * 4
        sums = [difference[:, start:first:4] for start in range(4)]
        total = _added(sums[0])
        for each in sums[1:]:
            total += _added(each)
    for axis in range(first, m):
        total += difference[:, axis]
    if p == 2:
        return np.sqrt(total)
    return total if p == 1 else _power(total, 1 / p).astype(np.float64)


def _added(columns) -> np.ndarray:
    """Return the sums of columns (e, k), one after the other."""
    total = columns[:, 0].copy()
    for column in columns.T[1:]:
        total += column
    return total
