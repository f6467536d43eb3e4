"""Points within one cell, and which of their images are in reach: on the host and on a device.

`xp` is NumPy, or jax.numpy inside of a program; everything is in float64.
"""

import functools
from typing import Any, NamedTuple, Protocol

from ._lattice import Lattice, Wrapped
from ._points import ROUNDING

__all__ = ["MOST_IMAGES", "Box", "Extent", "across_of", "box_in_reach", "gap_of"]
__all__ += ["many_images", "sees_alike", "with_clouds", "wrapped_points"]

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


class QueriesInCell(Protocol):
    """What tells how far queries are from the images of points."""

    @property
    def is_finite(self) -> Any:
        """Whether each query (q,) is finite, and so are its turns."""

    @property
    def fractions(self) -> Any:
        """Their coordinates (q, P) along the vectors of the lattice."""

    @property
    def heights(self) -> Any:
        """The distances (..., P) between neighboring planes of the lattice."""

    @property
    def across(self) -> Any:
        """Their parts (q, m) orthogonal to the vectors."""


def wrapped_points(x, ids, lattice: Lattice, xp) -> tuple[Wrapped, Lattice]:
    """Return points wrapped into the cell, with the lattice of all, or that of each.

    Turns are nan for a point that is not finite, and for one whose cloud has no cell.
    """
    if not lattice.has_axes:
        return lattice.wrapped(x, xp), lattice
    cloud_count = len(lattice.vectors)
    lattices = lattice.of_clouds(xp.clip(ids, 0, cloud_count - 1))
    wrapped = lattices.wrapped(x, xp)
    has_cell = (ids >= 0) & (ids < cloud_count)
    return wrapped._replace(turns=xp.where(has_cell[:, None], wrapped.turns, xp.nan)), lattices


def across_of(x, fractions, lattice: Lattice) -> Any:
    """Return the part of points (q, m) that is orthogonal to the vectors of the lattice."""
    if not fractions.shape[1]:
        return x
    if fractions.shape[1] == x.shape[1]:  # the vectors span the space
        return x * 0
    # Twice, as what is left after the first time is rounded to the digits of the whole.
    across = x - lattice.steps(fractions)
    return across - lattice.steps(lattice.fractions(across))


def with_clouds(x, ids, spacing, xp) -> Any:
    """Return points with one coordinate more, by which clouds are far from each other."""
    if ids is None:
        return x
    return xp.concatenate([x, (ids.astype(float) * spacing)[:, None]], axis=1)


def many_images(k: int) -> int:
    """Return from how many images on it pays to look at near ones first, for the `k` nearest."""
    return max(1 << 12, 16 * k)


def gap_of(extent: Extent, queries: QueriesInCell, xp) -> Any:
    """Return how far (q,) queries are from all points orthogonally to the vectors; inf without points."""
    gaps = xp.maximum(extent.lowest_across - queries.across, queries.across - extent.highest_across)
    gaps = xp.maximum(gaps, 0)
    return functools.reduce(xp.hypot, [gaps[:, axis] for axis in range(gaps.shape[1])])


def sees_alike(extent: Extent, queries: QueriesInCell, vectors, shift_count, xp) -> Any:
    """Tell which queries (q,) see images of a point as equally near, up to rounding: from far off the plane.

    Images are moved by so many shifts at most along each of the vectors (..., P, m). How far from each other
    points are orthogonally to these does not matter.
    """
    lengths = xp.where(xp.isfinite(vectors), xp.abs(vectors), 0.0).sum(axis=(-2, -1))
    apart = xp.max(lengths, initial=0.0) * (1 + shift_count)
    return gap_of(extent, queries, xp) >= apart * 2.0**ALIKE_EXPONENT


def box_in_reach(extent: Extent, queries: QueriesInCell, reach, rounding, xp) -> Box:
    """Return the shifts (q, P) by which queries may reach points within Euclidean distances (q,).

    A distance of -1 reaches none. `rounding` (q,) is by how much distances may be rounded.
    """
    is_reaching = queries.is_finite & (reach >= 0)
    vector_count = len(extent.lowest)
    if vector_count:
        is_reaching = is_reaching & (reach < xp.inf)
    reach = xp.where(is_reaching, reach, 0)
    if 0 < vector_count < len(extent.lowest_across):
        # What a query is off the plane of the vectors leaves less of its reach for shifts along them.
        gap = xp.maximum(gap_of(extent, queries, xp) * (1 - ROUNDING) - rounding, 0)
        is_reaching = is_reaching & (gap <= reach)
        gap = xp.where(is_reaching, gap, 0)  # infinite where there are no points
        reach = xp.sqrt(xp.maximum(reach - gap, 0)) * xp.sqrt(reach + gap)
    span = reach[:, None] / queries.heights * (1 + 1e-9) + 1e-9
    low = xp.ceil(queries.fractions - span - extent.highest)
    high = xp.floor(queries.fractions + span - extent.lowest)
    is_range = xp.isfinite(low) & xp.isfinite(high) & is_reaching[:, None]
    return Box(low, high).where(is_range, xp)
