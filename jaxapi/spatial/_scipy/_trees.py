"""Points as SciPy's trees want them: finite, in the periodic box, and of sizes whose powers are numbers.

SciPy compares sums of ``|difference| ** p`` in float64. Squares overflow from 1e154 on and vanish below
1e-162. So a tree is built of points times a power of two, which rounds nothing: the largest extent comes
near where powers overflow, and as much room as there can be is left below for small distances.
"""

import math
import sys
import threading
import time
from typing import Any, NamedTuple

import numpy as np
import scipy

from .._arrays import NOT_FINITE
from .._tree._metric import wrap
from ._ckdtree import ckdtree
from ._reach import Reach
from ._threads import call_when_idle

__all__ = [
    "HIGHEST_POWER",
    "Options",
    "ScaledQueries",
    "ScaledTree",
    "SciPyTrees",
    "has_powers",
    "kept_trees",
]

ROOM = 58  # powers of two between the extent of the points and the farthest query that is searched as it is
STEP = 64  # exponents are multiples of this, so that most points have the same
DIGITS = 53  # of float64: the difference of two numbers is at most so many powers of two below the lesser
HIGHEST_POWER = 20  # of which there are numbers for distances between 2**-51 and 2**51
TREES = 3  # kept of the same points, in different units
KEPT = 8  # sets of points whose trees callbacks keep


class Options(NamedTuple):
    """How SciPy is to build a tree."""

    leafsize: int = 10
    compact_nodes: bool = True
    balanced_tree: bool = True


# --- units ----------------------------------------------------------------------------------------------


class Sizes(NamedTuple):
    """The sizes of points, which decide what they are multiplied by."""

    lower: np.ndarray  # (m,)
    upper: np.ndarray  # (m,)
    longest_side: float  # of the periodic box, 0 without one
    smallest: float  # absolute value of a coordinate that is not 0, inf where all are

    def with_those_of(self, other: "Sizes") -> "Sizes":
        """Return the sizes of the points of two sets in one box."""
        lower = np.minimum(self.lower, other.lower)
        upper = np.maximum(self.upper, other.upper)
        longest_side = max(self.longest_side, other.longest_side)
        smallest = min(self.smallest, other.smallest)
        return Sizes(lower, upper, longest_side, smallest)

    def unit_exponent(self, p: float) -> int:
        """Return the exponent of the power of two that the points are to be multiplied by."""
        reach = reach_exponent(p, len(self.lower))
        headroom = min(ROOM, reach // 2)
        largest = max(-float(self.lower.min()), float(self.upper.max()), self.longest_side)
        half_extents = self.upper / 2 - self.lower / 2  # the difference itself may overflow
        half_extent = max(float(np.max(half_extents)), self.longest_side / 2)
        # Points that are all in one place have no extent.
        extent_exponent = math.frexp(half_extent or largest)[1] + 1
        largest_exponent = math.frexp(largest)[1]
        highest = min(reach - headroom - extent_exponent, reach - headroom // 8 - largest_exponent)
        if rounds_alike_in_all_units(p):
            exponent = highest // STEP * STEP
        else:
            # Other powers are rounded the less the nearer to 1 they are: no more is done than is needed.
            least_exponent = DIGITS - int(1022 / largest_power(p))
            needed = least_exponent - math.frexp(self.smallest)[1] if self.smallest < math.inf else 0
            exponent = min(highest, max(needed, 0))
        return min(max(exponent, -1020), 1020)


def has_powers(p: float) -> bool:
    """Tell whether SciPy can search by Minkowski's p: whether powers of distances are numbers."""
    return p <= HIGHEST_POWER or p == math.inf


def rounds_alike_in_all_units(p: float) -> bool:
    """Tell whether a power of two changes nothing but the size of distances."""
    return p in (1, 2, math.inf)


def largest_power(p: float) -> float:
    """Return the exponent of the powers that have to be numbers; for p = 1 and inf none have to."""
    return p if 2 < p < math.inf else 2.0


def reach_exponent(p: float, m: int) -> int:
    """Return e: the powers of m differences below ``2**e`` have a sum that is a number."""
    return int((1022 - m.bit_length()) / largest_power(p)) - 1


def times_power_of_two(x, exponent):
    """Return ``x * 2**exponent`` as float64; `exponent` is a number, or an array of them."""
    with np.errstate(over="ignore"):  # a distance that no float64 holds is inf
        if isinstance(exponent, int):
            return np.multiply(x, math.ldexp(1.0, exponent), dtype=np.float64)
        return np.ldexp(np.asarray(x, np.float64), exponent)


class ScaledQueries(NamedTuple):
    """Queries in the units of a tree."""

    x: np.ndarray  # (q, m), float64
    exponent: int | np.ndarray  # of what their distances are multiplied by; (q,) where some are far away

    def reach_of(self, radius, p: float) -> Reach:
        """Return how far radii, () or (q,), reach; those that reach nothing are nan.

        With nan SciPy finds nothing for every p; of a negative radius it takes the absolute value for p=2.
        """
        return Reach.of(radius, lambda distance: times_power_of_two(distance, self.exponent), p)

    def distances(self, scaled_distances: np.ndarray, of=slice(None)) -> np.ndarray:
        """Return distances (q, ...) of these queries, or of those whose numbers are given, as the user's.

        They may take the place of the scaled ones.
        """
        if isinstance(self.exponent, int) and self.exponent >= 0:  # which cannot overflow
            scaled_distances *= math.ldexp(1.0, -self.exponent)
            return scaled_distances
        if isinstance(self.exponent, int):
            return times_power_of_two(scaled_distances, -self.exponent)
        exponent = -self.exponent[of]
        return times_power_of_two(
            scaled_distances, exponent.reshape(exponent.shape + (1,) * (scaled_distances.ndim - 1))
        )


class ScaledTree(NamedTuple):
    """SciPy's tree over points times ``2**exponent``."""

    trees: "SciPyTrees"  # over the same points in any unit; this is one of them
    tree: "scipy.spatial.cKDTree"
    n: int  # points in the tree; and the number that SciPy gives a neighbor that there is not
    p: float  # for which the units are
    exponent: int
    unit: float  # ``2**exponent``
    reach: float  # finite; coordinates of queries up to this have differences whose powers are numbers

    def queries(self, x) -> ScaledQueries:
        """Return queries (q, m) in the units of the tree, inside of the periodic box.

        Those that are not finite are refused. They are beyond every reach, so that this takes no time.
        """
        boxsize = self.trees.boxsize
        if x.size and not (float(x.max()) <= self.reach and float(x.min()) >= -self.reach):
            if not np.isfinite(x).all():
                raise ValueError(NOT_FINITE)
            x = np.asarray(x, np.float64)
            return self._brought_near(x if boxsize is None else wrap(x, boxsize))
        if boxsize is not None:
            x = wrap(np.asarray(x, np.float64), boxsize)
        scaled_x = x.astype(np.float64)
        scaled_x *= self.unit
        return ScaledQueries(scaled_x, self.exponent)

    def _brought_near(self, x: np.ndarray) -> ScaledQueries:
        """Return queries of which powers of the distance would overflow.

        Each is moved towards the points, along the line between them, halfway and halfway again until they do
        not. Seen from there all points are equally near up to rounding, so no answer changes but for the
        distances, which are doubled as often.
        """
        scaled_point = self.tree.data[0] if self.n else np.zeros(x.shape[1])
        point = np.ldexp(scaled_point, -self.exponent)
        half_way = x / 2 - point / 2  # all of it may overflow
        distance_exponents = np.frexp(np.abs(half_way).max(axis=1))[1] + 1
        halvings = np.maximum(distance_exponents - math.frexp(self.reach)[1] + 1, 0)
        near = scaled_point + np.ldexp(half_way, (self.exponent + 1 - halvings)[:, None])
        moved = (halvings > 0)[:, None]
        if self.trees.boxsize is not None:  # along a periodic axis nothing is far
            moved = moved & (self.trees.boxsize == 0)
        x = np.where(moved, near, times_power_of_two(x, self.exponent))
        return ScaledQueries(x, self.exponent - halvings)

    def reach_of(self, radius) -> Reach:
        """Return how far a radius, or several, reach; those that reach nothing are nan."""
        return ScaledQueries(self.tree.data, self.exponent).reach_of(radius, self.p)

    def distances(self, scaled_distances: np.ndarray) -> np.ndarray:
        """Return distances of points of the tree in the user's units, as `ScaledQueries.distances`."""
        return ScaledQueries(self.tree.data, self.exponent).distances(scaled_distances)


class SciPyTrees:
    """SciPy's trees over the first `n` of points (rows, m), a tree for each unit that searches need.

    Points that are not finite are nobody's neighbors.

    `data` and `boxsize` are NumPy arrays: boxsize (m,) of the periodic box, 0 on other axes, or None.
    """

    def __init__(self, data: np.ndarray, n, boxsize, options: Options):
        self.data = data
        self.n = int(n)
        self.boxsize = None if boxsize is None else np.asarray(boxsize, np.float64)
        self.options = options
        finite = np.isfinite(data[: self.n])
        # The rows of the points in the trees, and behind them n, which stands for no neighbor.
        self._rows: np.ndarray | None = None
        if not finite.all():
            self._rows = np.append(np.flatnonzero(finite.all(axis=1)), self.n)
        self._trees: dict[int, scipy.spatial.cKDTree] = {}  # by the exponent of their units
        self._by_order: dict[float, ScaledTree] = {}

    @property
    def size(self) -> int:
        """Number of points in the trees."""
        return self.n if self._rows is None else len(self._rows) - 1

    def tree_for(self, p: float) -> ScaledTree:
        """Return the tree for searches by Minkowski's p."""
        tree = self._by_order.get(p)
        if tree is None:
            sizes = self._sizes(p)
            tree = self._times(0 if sizes is None else sizes.unit_exponent(p), p)
            self._by_order[p] = tree
        return tree

    def trees_with(self, other: "SciPyTrees", p: float) -> tuple[ScaledTree, ScaledTree]:
        """Return the trees of these points and of others in the same units."""
        mine = self.tree_for(p)
        if other is self:
            return mine, mine
        sizes = self._sizes(p)
        others_sizes = other._sizes(p)
        if others_sizes is None:
            return mine, other._times(mine.exponent, p)
        both = others_sizes if sizes is None else sizes.with_those_of(others_sizes)
        exponent = both.unit_exponent(p)
        return self._times(exponent, p), other._times(exponent, p)

    def _times(self, exponent: int, p: float) -> ScaledTree:
        """Return the tree over the points times ``2**exponent``."""
        tree = self._trees.get(exponent)
        if tree is None:
            if len(self._trees) == TREES:
                self._trees.clear()
                self._by_order.clear()
            points = times_power_of_two(self._points(), exponent)
            boxsize = None if self.boxsize is None else times_power_of_two(self.boxsize, exponent)
            tree = ckdtree()(points, boxsize=boxsize, **self.options._asdict())
            self._trees[exponent] = tree
        reach_above = reach_exponent(p, self.data.shape[1]) - 1 - exponent
        reach = math.ldexp(1.0, reach_above) if reach_above < 1024 else sys.float_info.max
        return ScaledTree(self, tree, tree.n, p, exponent, math.ldexp(1.0, exponent), reach)

    def _points(self) -> np.ndarray:
        """Return the points in the trees, in the user's units."""
        points = self.of_tree(self.data)
        if self.boxsize is None:
            return points
        return wrap(points.astype(np.float64), self.boxsize)  # in a transformation nobody has looked

    def _sizes(self, p: float) -> Sizes | None:
        """Return the sizes of the points; None without points."""
        if not self.size:
            return None
        points = self._points()
        smallest = math.inf
        if not rounds_alike_in_all_units(p):
            smallest = float(np.min(np.abs(points), where=points != 0, initial=math.inf))
        lower = points.min(axis=0).astype(np.float64)
        upper = points.max(axis=0).astype(np.float64)
        longest_side = 0.0 if self.boxsize is None else float(self.boxsize.max())
        return Sizes(lower, upper, longest_side, smallest)

    def own_queries(self) -> np.ndarray:
        """Return the points as queries (rows, m), nan in rows that do not count."""
        if self.n == len(self.data):
            return self.data
        counts = np.arange(len(self.data)) < self.n
        return np.where(counts[:, None], self.data, np.nan)

    def rows(self, numbers, dtype=None) -> np.ndarray:
        """Return the rows of points by their numbers in the trees; n stands for none."""
        return np.asarray(numbers if self._rows is None else self._rows[numbers], dtype)

    def of_tree(self, values) -> np.ndarray:
        """Return what belongs to the points in the trees of values (rows, ...)."""
        return values[: self.n] if self._rows is None else values[self._rows[:-1]]

    def by_row(self, values, fill) -> np.ndarray:
        """Return the values of the points in the trees for all rows, `fill` for the others."""
        result = np.full(len(self.data), fill, np.asarray(values).dtype)
        result[slice(self.n) if self._rows is None else self._rows[:-1]] = values
        return result


# --- points that come by callbacks -----------------------------------------------------------------------

_kept: list[tuple[Any, SciPyTrees]] = []
_last_asked = 0.0
_lock = threading.Lock()


def kept_trees(data: np.ndarray, n: int, boxsize, options: Options) -> SciPyTrees:
    """Return the trees of these values, the same again for the same values.

    A compiled loop of searches over points that stay (ICP in `lax.scan`) builds one tree and not one a step.
    """
    global _last_asked
    key = data.shape, data.dtype, int(n), None if boxsize is None else tuple(boxsize), options
    with _lock:
        _last_asked = time.monotonic()
        candidates = [trees for other_key, trees in _kept if other_key == key]
    for trees in candidates:
        if _same_bits(trees.data[:16], data[:16]) and _same_bits(trees.data, data):
            return trees
    # Copies: the arrays are XLA's memory, which has other values after the callback.
    boxsize = None if boxsize is None else np.array(boxsize, np.float64)
    trees = SciPyTrees(data.copy(), n, boxsize, options)
    with _lock:
        _kept.insert(0, (key, trees))
        del _kept[KEPT:]
    return trees


@call_when_idle
def _forget_trees(seconds: float) -> None:
    """Let go of the trees that are kept, if nobody has asked for one for so many seconds."""
    with _lock:
        if time.monotonic() - _last_asked >= seconds:
            _kept.clear()


def _same_bits(first: np.ndarray, second: np.ndarray) -> bool:
    bits = f"u{first.dtype.itemsize}"
    return np.array_equal(first.view(bits), second.view(bits))
