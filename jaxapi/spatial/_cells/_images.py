"""Points and queries wrapped into one cell, and which images are in reach: on the host and on a device.

`xp` is NumPy, or jax.numpy inside of a program; everything is in float64.
"""

import functools
import math
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from .._tree._powers_of_two import exponent_of, power_of_two
from ._lattice import Lattice, lattice_of
from ._points import FAR_EXPONENT, ROUNDING, SPACING_EXPONENT, ImagePoints, ImageQueries, euclidean_factor

__all__ = ["MOST_IMAGES", "Box", "PointsInCell", "WrappedQueries", "many_images", "points_in_cell"]

MOST_IMAGES = 1 << 24  # of a query, that are gone through
# Seen from as far off the plane of the vectors as the images are apart times 2 to this power, images of a
# point are equally near, up to rounding: lengths of a and of (a, b) differ by b * b / (2 * a), which is below
# a half of a's last bit, 2**-54 * a, where b is below 2**-26.5 * a.
ALIKE_EXPONENT = 27


class Box(NamedTuple):
    """Shifts from the least to the greatest along each vector, (P,) or (q, P); none if high is below low."""

    low: Any
    high: Any

    def of(self, index) -> "Box":
        """Return the boxes of some queries: an index is numbers or a mask."""
        return Box(self.low[index], self.high[index])

    def where(self, condition, xp) -> "Box":
        """Return the boxes (q, P) where a condition holds, (q,) or (q, P), and elsewhere empty ones."""
        if condition.ndim == 1:
            condition = condition[:, None]
        return Box(xp.where(condition, self.low, 1.0), xp.where(condition, self.high, 0.0))

    def of_all(self, xp) -> "Box":
        """Return the box around those of all queries."""
        is_empty = (self.high < self.low).any(axis=1, keepdims=True)
        low = xp.where(is_empty, xp.inf, self.low).min(axis=0, initial=xp.inf)
        high = xp.where(is_empty, -xp.inf, self.high).max(axis=0, initial=-xp.inf)
        is_any = (high >= low).all()
        return Box(xp.where(is_any, low, 1.0), xp.where(is_any, high, 0.0))

    def with_those_of(self, other: "Box", xp) -> "Box":
        """Return the box around both."""
        return Box(xp.minimum(self.low, other.low), xp.maximum(self.high, other.high))

    def holds(self, shift) -> Any:
        """Tell whether a shift (P,) is in the box."""
        return ((self.low <= shift) & (shift <= self.high)).all(axis=-1)

    @property
    def total(self) -> Any:
        """How many shifts there are."""
        return (self.high - self.low + 1).clip(0).prod(axis=-1)

    def shift(self, number, xp) -> Any:
        """Return the shift (..., P) of a number (...); the last vector's changes first."""
        sizes = (self.high - self.low + 1).astype(number.dtype)
        shift = []
        for axis in range(sizes.shape[-1] - 1, -1, -1):
            size = sizes[..., axis]
            shift.append(self.low[..., axis] + number % size)
            number = number // size
        return xp.stack(shift[::-1], axis=-1) if shift else xp.zeros((*number.shape, 0), float)


class Extent(NamedTuple):
    """Where the points are within one cell."""

    lowest: Any  # (P,) of their fractions
    highest: Any
    lowest_across: Any  # (m,) of their parts orthogonal to the periodic vectors
    highest_across: Any

    @classmethod
    def of(cls, fractions, across, is_point, xp) -> "Extent":
        """Return the extent of those of the rows that are points; without any the lowest is inf."""

        def lowest(values):
            return xp.where(is_point[:, None], values, xp.inf).min(axis=0, initial=xp.inf)

        def highest(values):
            return xp.where(is_point[:, None], values, -xp.inf).max(axis=0, initial=-xp.inf)

        return cls(lowest(fractions), highest(fractions), lowest(across), highest(across))


class WrappedQueries(NamedTuple):
    """Queries wrapped into the cell."""

    given: Any  # (q, m) as they were given
    ids: Any  # (q,), or None without clouds
    inside: Any  # (q, m) in the cell; nan for a query that is not finite
    turns: Any  # (q, P) by which it is away from there; nan, too, where int32 cannot count them
    fractions: Any  # (q, P) of what is inside, along the vectors of the lattice
    across: Any  # (q, m) its part orthogonal to these
    is_finite: Any  # (q,) whether a query is finite, and so are its turns
    inside_length: Any  # (q,) the largest coordinate of what is inside, before a far query was brought nearer
    is_far: Any  # (q,) whether a query was brought nearer, for the spacing of the clouds
    rounding: Any  # (q,) by how much distances between it and points, as both were given, may be rounded
    lattice: Lattice  # of all, or that of each

    def of(self, index) -> "WrappedQueries":
        """Return some of the queries: an index is numbers or a mask."""
        *arrays, lattice = self
        chosen = [None if array is None else array[index] for array in arrays]
        return WrappedQueries._make([*chosen, lattice.of_clouds(index)])

    def to_measure(self) -> "WrappedQueries":
        """Return what distances are measured by, and nothing of where to search."""
        return self._replace(
            inside=None,
            fractions=None,
            across=None,
            is_finite=None,
            inside_length=None,
            is_far=None,
            rounding=None,
        )


class PointsInCell(NamedTuple):
    """Points wrapped into one cell, of which every image counts."""

    xp: Any
    periodic: tuple[bool, ...]
    lattice: Lattice
    as_queries: WrappedQueries  # the points as queries: rows that are no points are not finite
    extent: Extent
    size: Any  # () at least the coordinates within the cell, and the lengths of its vectors
    largest: Any  # () of the size and of the coordinates as they were given
    spacing: Any  # () between clouds, along the axis of their own

    def queries(self, queries: ImageQueries) -> WrappedQueries:
        """Return queries wrapped into the cell.

        In a tree of clouds, those so far away that another cloud may be nearer than their own are brought
        nearer. From there, too, all points of a cloud are equally near, to the last bit.
        """
        xp = self.xp
        wrapped = _wrapped(queries, self.lattice, xp)
        length = xp.where(wrapped.is_finite, xp.abs(wrapped.given).max(axis=1, initial=0), 0)
        wrapped = wrapped._replace(rounding=ROUNDING * xp.maximum(self.largest, length))
        if wrapped.ids is None:
            return wrapped
        far = self.size * 2.0**FAR_EXPONENT
        is_far = wrapped.inside_length > far
        inside = xp.clip(wrapped.inside, -far, far)
        # How far they were off the plane of the vectors leaves nothing out.
        across = xp.where(is_far[:, None], self.extent.lowest_across, wrapped.across)
        return wrapped._replace(inside=inside, across=across, is_far=is_far)

    def moved(self, x, ids, lattice: Lattice, shift) -> Any:
        """Return where queries x (q, m) search from when a shift, (P,) or (q, P), moves them back.

        In a tree of clouds (q,) they have one coordinate more, by which clouds are far from each other.
        """
        if shift.shape[-1]:
            x = x - lattice.steps(shift)
        return self.beside_each_other(x, ids)

    def beside_each_other(self, x, ids) -> Any:
        """Return points (q, m) of clouds (q,) with the coordinate that tells these apart."""
        if ids is None:
            return x
        return self.xp.concatenate([x, (ids.astype(float) * self.spacing)[:, None]], axis=1)

    def reach(self, queries: WrappedQueries, radius) -> Any:
        """Return how far (q,) to search for what is to be measured within radii (q,); -1 for nothing."""
        xp = self.xp
        reach = radius * (1 + ROUNDING) + queries.rounding
        if queries.ids is not None:
            # A query far away has all points of its cloud within its radius, or none.
            has_all = queries.inside_length <= radius * (1 + ROUNDING)
            reach = xp.where(queries.is_far, xp.where(has_all, xp.inf, -1.0), reach)
            reach = xp.minimum(reach, self.spacing / 4)  # no two points of a cloud are that far apart
        return xp.where(radius >= 0, reach, -1.0)

    @np.errstate(all="ignore")  # of queries that are not finite
    def boxes_in_reach(self, queries: WrappedQueries, reach, p: float) -> Box:
        """Return the shifts (q, P) by which queries may reach points within distances (q,), -1 for none."""
        xp = self.xp
        m = queries.inside.shape[1]
        vector_count = queries.turns.shape[1]
        reach = reach * euclidean_factor(m, p)
        is_reaching = queries.is_finite & (reach >= 0)
        if vector_count:
            is_reaching = is_reaching & (reach < xp.inf)
        reach = xp.where(is_reaching, reach, 0)
        if 0 < vector_count < m:
            # What a query is off the plane of the vectors leaves less of its reach for shifts along them.
            gap = xp.maximum(self._gap(queries) * (1 - ROUNDING) - queries.rounding, 0)
            is_reaching = is_reaching & (gap <= reach)
            gap = xp.where(is_reaching, gap, 0)  # infinite where there are no points
            reach = xp.sqrt(xp.maximum(reach - gap, 0)) * xp.sqrt(reach + gap)
        span = reach[:, None] / queries.lattice.heights * (1 + 1e-9) + 1e-9
        low = xp.ceil(queries.fractions - span - self.extent.highest)
        high = xp.floor(queries.fractions + span - self.extent.lowest)
        is_range = xp.isfinite(low) & xp.isfinite(high) & is_reaching[:, None]
        return Box(low, high).where(is_range, xp)

    def sees_alike(self, queries: WrappedQueries, shifts) -> Any:
        """Tell which queries (q,) see images of a point as equally near, up to rounding: from far away.

        Images are moved by so many shifts at most, (P,) or (q, P), along each of the vectors. How far from
        each other points are orthogonally to these does not matter.
        """
        xp = self.xp
        if queries.turns.shape[1] == queries.inside.shape[1]:  # the vectors span the space
            return queries.is_far
        vectors = queries.lattice.vectors
        lengths = xp.where(xp.isfinite(vectors), xp.abs(vectors), 0.0).sum(axis=-1)
        apart = ((1 + shifts) * lengths).sum(axis=-1)
        return queries.is_far | (self._gap(queries) >= apart * 2.0**ALIKE_EXPONENT)

    def _gap(self, queries: WrappedQueries) -> Any:
        """Return how far (q,) queries are from all points orthogonally to the vectors; inf without points."""
        xp = self.xp
        extent = self.extent
        gaps = xp.maximum(extent.lowest_across - queries.across, queries.across - extent.highest_across)
        gaps = xp.maximum(gaps, 0)
        return functools.reduce(xp.hypot, [gaps[:, axis] for axis in range(gaps.shape[1])])


def points_in_cell(points: ImagePoints, periodic: tuple[bool, ...], xp) -> PointsInCell:
    """Return points wrapped into the cell; without a cell they stay where they are."""
    rows, m = points.data.shape
    is_counted = xp.arange(rows, dtype=np.int32)[:, None] < points.n
    given = xp.where(is_counted, points.data.astype(np.float64), np.nan)
    cell = xp.eye(m, dtype=np.float64) if points.cell is None else points.cell.astype(np.float64)
    lattice = lattice_of(cell, periodic, xp)
    wrapped = _wrapped(ImageQueries(given, points.ids), lattice, xp)
    is_point = wrapped.is_finite
    extent = Extent.of(wrapped.fractions, wrapped.across, is_point, xp)
    # A cell that is not finite has no points.
    vectors = xp.where(xp.isfinite(lattice.vectors), xp.abs(lattice.vectors), 0.0)
    longest = xp.max(vectors.sum(axis=(-2, -1)), initial=0.0)
    size = xp.max(xp.where(is_point, wrapped.inside_length, 0.0), initial=0.0) + longest
    size = xp.where(size > 0, size, 1.0)
    largest = xp.max(xp.where(is_point[:, None], xp.abs(given), 0.0), initial=0.0)
    largest = xp.maximum(size, largest)
    as_queries = wrapped._replace(rounding=xp.full(rows, ROUNDING * largest))
    return PointsInCell(xp, periodic, lattice, as_queries, extent, size, largest, _spacing_of(size, xp))


def _wrapped(queries: ImageQueries, lattice: Lattice, xp) -> WrappedQueries:
    """Return queries wrapped into the cell, with none far and no rounding.

    Turns are nan for a query that is not finite, and for one whose cloud has no cell.
    """
    x = queries.x.astype(np.float64)
    ids = queries.ids
    if lattice.has_axes:
        cloud_count = len(lattice.vectors)
        lattice = lattice.of_clouds(xp.clip(ids, 0, cloud_count - 1))
        has_cell = (ids >= 0) & (ids < cloud_count)
        inside, turns, fractions = lattice.wrapped(x, xp)
        turns = xp.where(has_cell[:, None], turns, np.nan)
    else:
        inside, turns, fractions = lattice.wrapped(x, xp)
    is_finite = (xp.isfinite(inside) & xp.isfinite(x)).all(axis=1) & xp.isfinite(turns).all(axis=1)
    across = _across_of(inside, fractions, lattice)
    inside_length = xp.where(is_finite, xp.abs(inside).max(axis=1, initial=0), 0)
    inside = xp.where(is_finite[:, None], inside, np.nan)
    is_far = xp.zeros(len(x), bool)
    return WrappedQueries(
        x, ids, inside, turns, fractions, across, is_finite, inside_length, is_far, None, lattice
    )


def _across_of(x, fractions, lattice: Lattice) -> Any:
    """Return the part of points (q, m) that is orthogonal to the vectors of the lattice."""
    if not fractions.shape[1]:
        return x
    if fractions.shape[1] == x.shape[1]:  # the vectors span the space
        return x * 0
    # Twice, as what is left after the first time is rounded to the digits of the whole.
    across = x - lattice.steps(fractions)
    return across - lattice.steps(lattice.fractions(across))


def _spacing_of(size, xp) -> Any:
    """Return how far clouds of points of such a size are apart: a power of two."""
    if xp is jnp:
        return power_of_two(exponent_of(size) + SPACING_EXPONENT, np.dtype(np.float64))
    return math.ldexp(1.0, math.frexp(size)[1] + SPACING_EXPONENT)


def many_images(k: int) -> int:
    """Return from how many images on it pays to look at near ones first, for the `k` nearest."""
    return max(1 << 12, 16 * k)
