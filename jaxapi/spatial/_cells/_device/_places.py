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
from .._images import Box, WrappedQueries
from ._images import Images, where_active

__all__ = [
    "Places",
    "boxes_within",
    "countable",
    "over_places",
    "over_shifts",
    "places_at_once",
]

FEWEST_PLACES = 512  # that are searched from at once
MOST_PLACES_OF_FEW = 8192  # queries, of each up to eight


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


def boxes_within(images: Images, queries: WrappedQueries, reach, p: float) -> Box:
    """Return the shifts (q, P) by which each query may reach points within distances (q,) by Minkowski's p.

    Boxes with more shifts than int32 counts are empty.
    """
    return countable(images.in_cell.boxes_in_reach(queries, reach, p), queries)


def countable(boxes: Box, queries: WrappedQueries) -> Box:
    """Return the boxes (q, P) whose shifts int32 counts, and empty ones in the place of others."""
    farthest = jnp.maximum(jnp.abs(boxes.low), jnp.abs(boxes.high))
    return boxes.where(queries.lattice.are_countable(farthest, jnp), jnp)


def over_shifts(boxes: Box, step: Callable, state):
    """Return the state after ``step(shift, is_active, state)`` for all shifts in the queries' boxes (q, P).

    `is_active` (q,) tells in whose boxes a shift is. The loop goes through the box around all of them. With a
    shift that is in none nothing is done.
    """
    box = boxes.of_all(jnp)
    total = box.total

    def more(numbered):
        number, _ = numbered
        return number < total

    def next_step(numbered):
        number, state = numbered
        shift = box.shift(number, jnp)
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
    if not vector_count:
        return query_count
    # Points of a small cell have up to eight images within its length.
    of_few = min(8 * query_count, MOST_PLACES_OF_FEW)
    return max(2 * query_count, of_few, FEWEST_PLACES)


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
        shift = boxes.of(query).shift(number - starts[query], jnp)
        shift = jnp.where(is_place[:, None], shift, 0.0)
        return first + at_once, step(Places(query, shift, is_place), state)

    _, state = lax.while_loop(more, next_step, (jnp.zeros((), np.float64), state))
    return state
