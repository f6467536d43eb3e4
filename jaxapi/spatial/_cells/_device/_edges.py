"""The edges between points and images within a radius."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from ...._core._typing import Array
from ..._search import Search
from ..._tree._metric import TreeMetric
from ..._tree._queries import Relation
from .._lattice import first_number
from .._points import ImagePoints
from . import _clouds
from ._image_search import ImageNeighbors
from ._images import cell_shifts, images_of, in_float64, measured_distances, where_active
from ._places import Places, over_places, places_at_once
from ._slots import SlotQueries, slot_queries_of

__all__ = ["edges"]


@in_float64("periodic", "search", "relation", "size")
def edges(points: ImagePoints, radius, *, periodic, search: Search, relation: Relation, size: int):
    """Return receivers, senders (size,), shifts (size, m), distances (size,) and the true number of edges.

    Of the relation LATER each pair of images comes once, the lower row first.
    """
    images = images_of(points, periodic, search)
    if _clouds.serves(points):
        receivers, senders, distances, count = _clouds.edges(images, radius, search, relation, size)
        shifts = jnp.zeros((size, points.data.shape[1]), np.int32)
        if relation is Relation.LATER:
            receivers, senders, shifts = _low_row_first(receivers, senders, shifts)
        return receivers, senders, shifts, distances, count
    slot_queries = slot_queries_of(images, images.tree, radius, search)
    edge_search = _EdgeSearch(slot_queries, relation, size)
    counts = edge_search.counts()
    tree = slot_queries.tree
    slot_count = tree.points.shape[1]
    counts_by_row = jnp.zeros(slot_count, np.int32).at[tree.rows].add(counts.of_slots, mode="drop")
    sums = search.engine.running_sums(counts_by_row)
    first_edges = sums[jnp.minimum(tree.rows, slot_count)].astype(np.int64)  # of each slot
    senders, shifts = edge_search.filled(counts, first_edges)
    n = images.points.n
    # The receiver of an edge is the number of rows whose edges have ended before it.
    ended = jnp.zeros(size, np.int32).at[sums[1:]].add(1, mode="drop")
    receivers = jnp.where(senders < n, jnp.cumsum(ended, dtype=np.int32), n)
    ids = None if points.ids is None else points.ids.at[receivers].get(mode="fill", fill_value=0)
    turns = images.as_queries.turns.at[receivers].get(mode="fill", fill_value=0)
    shifts = cell_shifts(images, turns, ids, senders, shifts)
    x = points.data.at[receivers].get(mode="fill", fill_value=0)
    distances = measured_distances(images, x, ids, senders[:, None], shifts[:, None], search.p)[:, 0]
    if relation is Relation.LATER:
        receivers, senders, shifts = _low_row_first(receivers, senders, shifts)
    return receivers, senders, shifts, distances, sums[-1]


class _EdgeCounts(NamedTuple):
    """How many edges there are."""

    of_slots: Array  # (N,)
    of_last_places: tuple[Array, Array]  # (C,) of each place, and whether some are at the radius
    came_at_once: Array  # () whether the last places are all that there are


class _EdgeSearch(NamedTuple):
    """A search for at most `size` edges of points, from all places of the slots of their tree."""

    slot_queries: SlotQueries
    relation: Relation
    size: int

    def counts(self) -> _EdgeCounts:
        """Return how many edges there are."""
        boxes = self.slot_queries.boxes
        at_once = places_at_once(boxes)
        no_counts = jnp.zeros(len(boxes.low), np.int32)
        none_counted = jnp.zeros(at_once, np.int32), jnp.zeros(at_once, bool)
        of_slots, last_counted = over_places(boxes, self._count, (no_counts, none_counted))
        return _EdgeCounts(of_slots, last_counted, boxes.total.sum() <= at_once)

    def filled(self, counts: _EdgeCounts, first_edges) -> tuple[Array, Array]:
        """Return senders (size,) and shifts (size, P) of the edges.

        Those of each slot start at `first_edges` (N,).
        """
        images = self.slot_queries.image_search.images
        boxes = self.slot_queries.boxes
        no_shifts = jnp.zeros((self.size, images.in_cell.lattice.vector_count), np.int32)
        none_written = jnp.zeros(len(boxes.low), np.int32)
        no_senders = jnp.broadcast_to(images.points.n, (self.size,))

        def fill(places: Places, state):
            return self._fill(self._searched(places), counts, first_edges, state)

        _, senders, shifts = over_places(boxes, fill, (none_written, no_senders, no_shifts))
        return senders, shifts

    def _searched(self, places: Places) -> Places:
        """Return the places that see their pairs: of LATER those that are moved to one side."""
        if self.relation is not Relation.LATER:
            return places
        return places._replace(is_place=places.is_place & (first_number(places.shift, jnp) >= 0))

    def _count(self, places: Places, state):
        counts, _ = state
        counted = self.slot_queries.counts(self._searched(places), self.relation)
        counts_of_places, _ = counted
        return counts.at[places.target].add(counts_of_places), counted

    def _fill(self, places: Places, counts: _EdgeCounts, first_edges, state):
        """Return how many edges of each slot (N,) are written, and senders and shifts with those written."""
        slot_queries = self.slot_queries
        tree = slot_queries.tree
        search = slot_queries.image_search.search
        written, senders, shifts = state
        # If all places came at once, what was counted of the last ones is of all.
        counts_of_places, has_border = lax.cond(
            counts.came_at_once,
            lambda: counts.of_last_places,
            lambda: slot_queries.counts(places, self.relation),
        )
        next_edges = first_edges + written.astype(np.int64)
        starts, stops = _edges_of_places(places, counts_of_places, next_edges, self.size)
        outer = places.take_bounds(slot_queries.bounds.outer)
        moved = slot_queries.moved(places, where_active(~has_border, outer), self.relation)
        # Those of a place are written from an offset up to the next one.
        offsets = jnp.stack([starts, stops], axis=1).reshape(-1)
        queries = moved.queries._replace(order=2 * lax.iota(np.int32, len(starts)))
        metric = TreeMetric(search.p)
        rows, distances = search.engine.fill(
            tree, queries, offsets, metric, size=self.size, relation=self.relation
        )
        senders = jnp.where(jnp.isfinite(distances), rows, senders)
        place = _places_of_edges(starts, stops, self.size)
        shifts = jnp.where((place >= 0)[:, None], places.shift.astype(np.int32)[place], shifts)

        def add(neighbors: ImageNeighbors, is_wanted, state):
            next_edge, senders = state
            edge = next_edge[:, None] + jnp.cumsum(is_wanted, axis=1, dtype=np.int32) - 1
            edge = jnp.where(is_wanted & (edge < stops[:, None]), edge, self.size)
            senders = senders.at[edge].set(neighbors.rows, mode="drop")
            next_edge = jnp.minimum(next_edge + jnp.sum(is_wanted, axis=1, dtype=np.int32), self.size)
            return next_edge, senders

        def measure_all(senders):
            at_border = moved.with_bounds(where_active(has_border, outer))
            _, senders = slot_queries.with_all_within(tree, at_border, add, (starts, senders))
            return senders

        senders = lax.cond(has_border.any(), measure_all, lambda senders: senders, senders)
        return written.at[places.target].add(counts_of_places), senders, shifts


def _edges_of_places(places: Places, counts, next_edges, size: int) -> tuple[Array, Array]:
    """Return where the edges of each place, so many, start and stop, (C,) each; the size for those behind it.

    `next_edges` (N,) are where those of a slot go on. The places of a slot are next to each other.
    """
    wide_counts = counts.astype(np.int64)
    before = jnp.cumsum(wide_counts) - wide_counts
    is_first_of_slot = jnp.concatenate([jnp.ones(1, bool), places.query[1:] != places.query[:-1]])
    before_slot = lax.cummax(jnp.where(is_first_of_slot, before, 0))
    starts = next_edges[places.query]
    starts += before - before_slot
    stops = jnp.minimum(starts + wide_counts, size).astype(np.int32)
    return jnp.minimum(starts, size).astype(np.int32), stops


def _places_of_edges(starts, stops, size: int) -> Array:
    """Return the number of the place that each edge (size,) is of, -1 for none.

    With its number added where a place's edges start, and taken off where they stop, the sum up to an edge
    is the number of its place.
    """
    number = lax.iota(np.int32, len(starts)) + 1
    has_edges = starts < stops
    starts = jnp.where(has_edges, starts, size)
    stops = jnp.where(has_edges, stops, size)
    numbers = jnp.zeros(size, np.int32).at[starts].add(number, mode="drop")
    numbers = numbers.at[stops].add(-number, mode="drop")
    return jnp.cumsum(numbers, dtype=np.int32) - 1


def _low_row_first(receivers, senders, shifts):
    """Return pairs with the lower row first, of a point and its image the half with a positive shift."""
    is_turned = (receivers > senders) | ((receivers == senders) & (first_number(shifts, jnp) < 0))
    shifts = jnp.where(is_turned[:, None], -shifts, shifts)
    return jnp.minimum(receivers, senders), jnp.maximum(receivers, senders), shifts
