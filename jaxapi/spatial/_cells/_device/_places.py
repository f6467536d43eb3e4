"""The places that queries search from, and loops over these.

A query reaches points of the cell, and images of them, from several places: its own, and those that it is
moved to by shifts of the lattice. `over_places` goes through the places of all queries, many at a time;
`over_shifts` through the shifts, and searches for all queries that are moved by one.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from ...._core._typing import Array
from ..._tree._slopes import norms
from .._points import ROUNDING, euclidean_factor
from ._images import Images, WrappedQueries, across_of, rounding_of, where_active

__all__ = ["Box", "Places", "box_within", "over_places", "over_shifts", "places_at_once"]

FEWEST_PLACES = 512  # that are searched from at once


class Box(NamedTuple):
    """Shifts from the least to the greatest along each vector, (P,) or (q, P); none if high is below low."""

    low: Array
    high: Array

    def of_all(self) -> "Box":
        """Return the box around those of all queries."""
        is_empty = (self.high < self.low).any(axis=1, keepdims=True)
        low = jnp.where(is_empty, jnp.inf, self.low).min(axis=0, initial=jnp.inf)
        high = jnp.where(is_empty, -jnp.inf, self.high).max(axis=0, initial=-jnp.inf)
        is_any = (high >= low).all()
        return Box(jnp.where(is_any, low, 1.0), jnp.where(is_any, high, 0.0))

    def with_those_of(self, other: "Box") -> "Box":
        """Return the box around both."""
        return Box(jnp.minimum(self.low, other.low), jnp.maximum(self.high, other.high))

    def holds(self, shift) -> Array:
        """Tell whether a shift (P,) is in the box."""
        return ((self.low <= shift) & (shift <= self.high)).all(axis=-1)

    @property
    def total(self) -> Array:
        """How many shifts there are."""
        return jnp.maximum(self.high - self.low + 1, 0).prod(axis=-1)

    def shift(self, number) -> Array:
        """Return the shift (..., P) of a number (...); the last vector's changes first."""
        sizes = self.high - self.low + 1
        shift = []
        for axis in range(sizes.shape[-1] - 1, -1, -1):
            size = sizes[..., axis]
            shift.append(self.low[..., axis] + number % size)
            number = number // size
        return jnp.stack(shift[::-1], axis=-1) if shift else jnp.zeros((*number.shape, 0), np.float64)


class Places(NamedTuple):
    """Places that some queries search from; those of a query follow each other."""

    query: Array  # (C,) int32, whose place it is
    shift: Array  # (C, P) by which the query is moved back
    is_place: Array  # (C,) False where there is none

    def take_bounds(self, bounds) -> Array:
        """Return the bound of each place's query (C,), of those of all (q,); -1 where there is no place."""
        return where_active(self.is_place, bounds[self.query])

    @property
    def target(self) -> Array:
        """Where results of a place are added to its query's, (C,): nowhere if there is none."""
        return jnp.where(self.is_place, self.query, np.iinfo(np.int32).max)

    @property
    def is_unmoved(self) -> Array:
        """Whether a query searches from where it is, (C,)."""
        return (self.shift == 0).all(axis=-1)


def box_within(images: Images, queries: WrappedQueries, reach, p: float) -> Box:
    """Return the shifts (q, P) by which each query may reach points within a distance (q,)."""
    m = images.points.data.shape[1]
    rounding = rounding_of(images, queries)
    is_reaching = jnp.isfinite(queries.inside).all(axis=1) & (reach >= 0)
    if len(images.lowest):
        is_reaching &= reach < jnp.inf
    reach = (jnp.where(is_reaching, reach, 0) * (1 + ROUNDING) + rounding) * euclidean_factor(m, p)
    if 0 < len(images.lowest) < m:
        # What a query is off the plane of the vectors leaves less of its reach for shifts along them.
        across = across_of(queries.inside[:, :m], queries.fractions, queries.lattice)
        gaps = jnp.maximum(images.lowest_across - across, across - images.highest_across)
        gap = norms(jnp.maximum(gaps, 0), 2.0)
        gap = jnp.maximum(gap * (1 - ROUNDING) - rounding, 0)
        is_reaching &= gap <= reach
        reach = jnp.sqrt(jnp.maximum(reach - gap, 0)) * jnp.sqrt(reach + gap)
    span = reach[:, None] / queries.lattice.heights * (1 + 1e-9) + 1e-9
    low = jnp.ceil(queries.fractions - span - images.highest)
    high = jnp.floor(queries.fractions + span - images.lowest)
    is_reaching &= queries.lattice.are_countable(jnp.maximum(jnp.abs(low), jnp.abs(high)), jnp)
    is_box = is_reaching[:, None] & jnp.isfinite(low) & jnp.isfinite(high)
    return Box(jnp.where(is_box, low, 1.0), jnp.where(is_box, high, 0.0))


def over_shifts(boxes: Box, step: Callable, state):
    """Return the state after ``step(shift, is_active, state)`` for all shifts in the queries' boxes (q, P).

    `is_active` (q,) tells in whose boxes a shift is. The loop goes through the box around all of them. With a
    shift that is in none nothing is done.
    """
    box = boxes.of_all()
    total = box.total

    def more(numbered):
        number, _ = numbered
        return number < total

    def next_step(numbered):
        number, state = numbered
        shift = box.shift(number)
        is_active = boxes.holds(shift)

        def active_step(state):
            return step(shift, is_active, state)

        state = lax.cond(is_active.any(), active_step, lambda state: state, state)
        return number + 1, state

    _, state = lax.while_loop(more, next_step, (jnp.zeros((), np.float64), state))
    return state


def places_at_once(boxes: Box) -> int:
    """Return how many places are searched from at a time."""
    query_count, vector_count = boxes.low.shape
    return max(2 * query_count, FEWEST_PLACES) if vector_count else query_count


def over_places(boxes: Box, step: Callable, state):
    """Return the state after ``step(places, state)`` for all places of queries, many at a time.

    A query has a place for each shift in its box (q, P).
    """
    at_once = places_at_once(boxes)
    if not len(boxes.low):
        return state
    totals = boxes.total
    ends = jnp.cumsum(totals)
    starts = ends - totals
    total = totals.sum()

    def more(numbered):
        first, _ = numbered
        return first < total

    def next_step(numbered):
        first, state = numbered
        # The query of a place is the last one whose places have begun there.
        begun_by_first = jnp.sum(starts <= first, dtype=np.int32)
        begins_here = (starts > first) & (starts < jnp.minimum(first + at_once, total))
        begins = jnp.where(begins_here, starts - first, at_once).astype(np.int32)
        begun = jnp.zeros(at_once, np.int32).at[begins].add(1, mode="drop")
        query = begun_by_first + jnp.cumsum(begun, dtype=np.int32) - 1
        number = first + lax.iota(np.float64, at_once)
        is_place = number < total
        box = Box(boxes.low[query], boxes.high[query])
        shift = jnp.where(is_place[:, None], box.shift(number - starts[query]), 0.0)
        return first + at_once, step(Places(query, shift, is_place), state)

    _, state = lax.while_loop(more, next_step, (jnp.zeros((), np.float64), state))
    return state
