"""The edges between points and images within a radius: counted, and then filled into arrays.

Of traced points one program does both. Of concrete ones two do, with the number of edges read in between:
XLA compiles each part once, whatever the number is.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from ...._core._devices import last_in_host_memory
from ...._core._dtypes import x64_on
from ...._core._typing import Array
from ..._search import Search
from ..._tree._metric import TreeMetric
from ..._tree._queries import Relation
from .._lattice import first_number
from .._points import ImagePoints
from . import _clouds
from ._image_search import ImageNeighbors
from ._images import Images, cell_shifts, images_of, in_float64, measured_distances, where_active
from ._places import Places, over_places, places_at_once
from ._slots import SlotQueries, slot_queries_of

__all__ = ["all_edges", "edges"]


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
    return _filled(_counted(images, radius, search, relation), search, relation, size)


def all_edges(
    points: ImagePoints,
    radius,
    *,
    periodic,
    search: Search,
    relation: Relation,
    dtype,
    room: Callable[[int], int],
) -> tuple:
    """Return what `edges` does of all edges, in arrays for `room(count)` of them, and the count as a number.

    For concrete points, whose rows and ids are inputs of the engine. Distances are of `dtype`, rows and the
    count of the dtype of rows.
    """
    if _clouds.serves(points):
        options = {"search": search, "relation": relation, "dtype": dtype}
        receivers, senders, distances, count, total = _clouds.all_edges(points, radius, room=room, **options)
        return receivers, senders, None, distances, count, total
    with x64_on():
        options = {"periodic": periodic, "search": search, "relation": relation}
        count_edges = last_in_host_memory(_counted_points, points.n, *options)
        counted, numbers = count_edges(points, radius, **options)
        total, came_at_once = np.asarray(numbers).tolist()
    options |= {"came_at_once": bool(came_at_once), "dtype": dtype}
    return *_filled_edges(counted, size=room(total), **options), total


def _counted_points(points: ImagePoints, radius, *, periodic, search: Search, relation: Relation):
    """Return points with their edges counted, and their number and whether all places came at once, (2,)."""
    images = images_of(points.read(search.engine), periodic, search)
    counted = _counted(images, radius, search, relation)
    numbers = jnp.stack([counted.ends[-1], counted.came_at_once.astype(np.int32)])
    return counted._replace(slot_queries=counted.slot_queries.arrays_to_fill()), numbers


@in_float64("periodic", "search", "relation", "size", "came_at_once", "dtype")
def _filled_edges(
    counted: "_CountedPoints",
    *,
    periodic,
    search: Search,
    relation: Relation,
    size: int,
    came_at_once: bool,
    dtype,
):
    """Return what `edges` does, of the arrays of counted points and in the dtypes of results."""
    slot_queries = counted.slot_queries.with_static(periodic, search)
    counted = counted._replace(slot_queries=slot_queries, came_at_once=came_at_once)
    receivers, senders, shifts, distances, count = _filled(counted, search, relation, size)
    index_dtype = search.index_dtype
    receivers = receivers.astype(index_dtype)
    senders = senders.astype(index_dtype)
    return receivers, senders, shifts, distances.astype(dtype), count.astype(index_dtype)


class _CountedPlaces(NamedTuple):
    """Places, and how many edges there are from each."""

    places: Places  # (C,)
    counts: Array  # (C,)
    has_border: Array  # (C,) whether some are at the radius

    @classmethod
    def of(cls, slot_queries: SlotQueries, places: Places, relation: Relation) -> "_CountedPlaces":
        """Return places with their edges counted: of LATER of those alone that are moved to one side."""
        if relation is Relation.LATER:
            is_later = first_number(places.shift, jnp) >= 0
            places = places._replace(is_place=places.is_place & is_later)
        return cls(places, *slot_queries.counts(places, relation))

    @classmethod
    def none(cls, slot_queries: SlotQueries) -> "_CountedPlaces":
        """Return as many that are no places."""
        count = places_at_once(slot_queries.boxes)
        no_number = jnp.zeros(count, np.int32)
        nowhere = jnp.zeros(count, bool)
        no_shift = jnp.zeros((count, slot_queries.boxes.low.shape[1]), np.float64)
        return cls(Places(no_number, no_shift, nowhere), no_number, nowhere)


class _CountedPoints(NamedTuple):
    """Points as queries of each other, and how many edges they have."""

    slot_queries: SlotQueries
    last_places: _CountedPlaces
    came_at_once: Any  # () whether the last places are all that there are; a bool where that is known
    first_edges: Array  # (N,) the number of the first edge of each slot
    ends: Array  # (rows + 1,) the running sums of the edges of rows


def _counted(images: Images, radius, search: Search, relation: Relation) -> _CountedPoints:
    """Return the points with their edges counted."""
    slot_queries = slot_queries_of(images, images.tree, radius, search)
    boxes = slot_queries.boxes
    tree = slot_queries.tree
    slot_count = tree.points.shape[1]

    def count(places: Places, state):
        counts, _ = state
        counted = _CountedPlaces.of(slot_queries, places, relation)
        return counts.at[places.target].add(counted.counts), counted

    no_counts = jnp.zeros(slot_count, np.int32)
    none_counted = _CountedPlaces.none(slot_queries)
    counts, last_places = over_places(boxes, count, (no_counts, none_counted))
    counts_by_row = jnp.zeros(slot_count, np.int32).at[tree.rows].add(counts, mode="drop")
    ends = search.engine.running_sums(counts_by_row)
    first_edges = ends[jnp.minimum(tree.rows, slot_count)].astype(np.int64)
    came_at_once = boxes.total.sum() <= places_at_once(boxes)
    return _CountedPoints(slot_queries, last_places, came_at_once, first_edges, ends)


def _filled(counted: _CountedPoints, search: Search, relation: Relation, size: int) -> tuple:
    """Return what `edges` does, of counted points."""
    senders, shifts = _EdgeSearch(counted, relation, size).filled()
    images = counted.slot_queries.image_search.images
    points = images.points
    n = points.n
    # The receiver of an edge is the number of rows whose edges have ended before it.
    ended = jnp.zeros(size, np.int32).at[counted.ends[1:]].add(1, mode="drop")
    receivers = jnp.where(senders < n, jnp.cumsum(ended, dtype=np.int32), n)
    ids = None if points.ids is None else points.ids.at[receivers].get(mode="fill", fill_value=0)
    turns = images.as_queries.turns.at[receivers].get(mode="fill", fill_value=0)
    shifts = cell_shifts(images, turns, ids, senders, shifts)
    x = points.data.at[receivers].get(mode="fill", fill_value=0)
    distances = measured_distances(images, x, ids, senders[:, None], shifts[:, None], search.p)[:, 0]
    if relation is Relation.LATER:
        receivers, senders, shifts = _low_row_first(receivers, senders, shifts)
    return receivers, senders, shifts, distances, counted.ends[-1]


class _EdgeSearch(NamedTuple):
    """A search for at most `size` edges of counted points, from all places of the slots of their tree."""

    counted: _CountedPoints
    relation: Relation
    size: int

    def filled(self) -> tuple[Array, Array]:
        """Return senders (size,) and shifts (size, P) of the edges."""
        counted = self.counted
        slot_queries = counted.slot_queries
        images = slot_queries.image_search.images
        boxes = slot_queries.boxes
        no_shifts = jnp.zeros((self.size, images.in_cell.lattice.vector_count), np.int32)
        none_written = jnp.zeros(len(boxes.low), np.int32)
        no_senders = jnp.broadcast_to(images.points.n, (self.size,))
        nothing = none_written, no_senders, no_shifts

        def fill(places: Places, state):
            counted_places = lax.cond(
                counted.came_at_once,
                lambda: counted.last_places,
                lambda: _CountedPlaces.of(slot_queries, places, self.relation),
            )
            return self._with_edges_of(counted_places, state)

        # If all places came at once, the last ones are all.
        if counted.came_at_once is True:
            _, senders, shifts = self._with_edges_of(counted.last_places, nothing)
        else:
            _, senders, shifts = over_places(boxes, fill, nothing)
        return senders, shifts

    def _with_edges_of(self, counted_places: _CountedPlaces, state):
        """Return how many edges of each slot (N,) are written, and senders and shifts, with these places'."""
        slot_queries = self.counted.slot_queries
        tree = slot_queries.tree
        search = slot_queries.image_search.search
        written, senders, shifts = state
        places, counts_of_places, has_border = counted_places
        next_edges = self.counted.first_edges + written.astype(np.int64)
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
