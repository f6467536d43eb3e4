"""Which points are within a radius: those whose distance, as it is returned, is no longer than the radius.

SciPy compares powers of distances with the power of the radius. Both are rounded, and so is the root that
becomes the distance. So SciPy leaves out some points whose distance is the radius. Where that can happen, it
is asked for all points a little farther away, and their distances tell which are within the radius: up to the
next number with p = 2, by `POWERS` with other p.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import scipy

__all__ = ["SLACK", "Reach", "beyond", "counts_of_pairs", "distances_between", "longest_within"]

SLACK = 1e-13  # by which SciPy's distances to the boxes of nodes, which are sums, may be off at most
POWERS = 1e-14  # by which powers and roots other than squares may be off at most

_power = np.frompyfunc(math.pow, 2, 1)  # as SciPy has it, where NumPy's own may differ in the last place


class Reach(NamedTuple):
    """How far a radius reaches, in the units of a tree; nan where it reaches nothing.

    With p = 1 and infinity, and for half of all radii with p = 2, the three numbers are the same. The other
    radii have a border: points that SciPy finds within `farthest`, but not within `nearest`, may be on either
    side of the radius, and are to be measured.
    """

    radius: Any  # the longest distance that is returned as the user's radius, or as less
    nearest: Any  # all points that SciPy finds within it are within the radius
    farthest: Any  # SciPy finds within it all points that are within the radius

    @classmethod
    def of(cls, radius, in_units_of_tree, p: float) -> "Reach":
        """Return the reach of radii in the user's units, of the dtype of distances, as `p` needs it.

        `in_units_of_tree` returns distances in the units of the tree.
        """
        radius = np.asarray(radius)
        given = np.where(radius >= 0, radius, np.nan).astype(radius.dtype)
        scaled_radius = in_units_of_tree(longest_within(given))
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            if p in (1, np.inf):
                return cls(scaled_radius[()], scaled_radius[()], scaled_radius[()])
            if p != 2:
                return cls(
                    scaled_radius[()], (scaled_radius * (1 - POWERS))[()], (scaled_radius * (1 + POWERS))[()]
                )
            # The root of the next number above the square may be rounded to the radius, too.
            has_border = np.sqrt(np.nextafter(scaled_radius * scaled_radius, np.inf)) <= scaled_radius
            farthest = np.where(
                has_border & (scaled_radius < np.inf), np.nextafter(scaled_radius, np.inf), scaled_radius
            )
        return cls(scaled_radius[()], scaled_radius[()], farthest[()])

    @property
    def borders(self) -> np.ndarray:
        """Which radii have a border."""
        return np.asarray(self.nearest < self.farthest)

    @property
    def has_any_border(self) -> bool:
        """Whether any radius has a border, so that what SciPy finds has to be looked through."""
        return bool(self.borders.any())

    @property
    def of_pairs(self) -> float:
        """How far SciPy is to look for pairs, where it has no tolerance that makes it look into all boxes."""
        return float(self.farthest * (1 + SLACK) if self.has_any_border else self.farthest)

    def at(self, which) -> "Reach":
        """Return the reaches of some queries."""
        return Reach(self.radius[which], self.nearest[which], self.farthest[which])

    def eps(self, given: float = 0.0) -> float:
        """Return SciPy's tolerance; without a given one it looks into the boxes at the border, too."""
        return given or -SLACK


def longest_within(radius) -> np.ndarray:
    """Return the longest distances, in float64, that are returned as radii of float32, or as less.

    Half way to the next number a distance is rounded to the one whose last bit is 0.
    """
    radius = np.asarray(radius)
    longest = radius.astype(np.float64)
    if radius.dtype != np.float32:
        return longest
    with np.errstate(invalid="ignore", over="ignore"):
        half_way = longest + np.spacing(radius).astype(np.float64) / 2
        is_normal = (radius >= np.finfo(np.float32).tiny) & (radius < np.inf)
    rounded_down = np.where(_is_even(radius), half_way, np.nextafter(half_way, 0))
    return np.where(is_normal, rounded_down, longest)


def beyond(bound) -> np.ndarray:
    """Return the shortest distances, in float64, that are returned as bounds of float32, or as more."""
    bound = np.asarray(bound)
    if bound.dtype != np.float32:
        return bound.astype(np.float64)
    with np.errstate(over="ignore", under="ignore"):
        last_below = np.nextafter(bound, np.float32(0))
        shortest = np.nextafter(longest_within(last_below), np.inf)
    return np.where((bound > 0) & (bound < np.inf), shortest, bound.astype(np.float64))


def _is_even(radius: np.ndarray) -> np.ndarray:
    """Tell whether the last bit of float32 numbers is 0."""
    return np.atleast_1d(radius).view(np.uint32).reshape(radius.shape) & 1 == 0


def counts_of_pairs(
    tree: "scipy.spatial.cKDTree", other_tree: "scipy.spatial.cKDTree", radii, p: float
) -> np.ndarray:
    """Return how many pairs of points of two trees SciPy finds within each of some radii (R,).

    It is asked how many lie between one radius and the next, for which it bisects the radii. Asked for all
    pairs up to each radius it would compare each pair with every radius.
    """
    order = np.argsort(radii)
    between = tree.count_neighbors(other_tree, radii[order], p=p, cumulative=False)
    counts = np.empty(len(radii), np.int64)
    counts[order] = np.cumsum(between)
    return counts


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
