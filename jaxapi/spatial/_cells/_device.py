"""Searches of all images by an engine of our own tree: pure and traceable.

The tree holds the points of one cell. A query reaches it from several places: its own, and those that it is
moved to by shifts of the lattice, as many as the values ask for. Edges, counts and clusters search from many
places of many queries at once (`_over_places`). What merges the neighbours of a query goes through the shifts
in a loop, and searches for all queries that are moved by one (`_over_shifts`). Everything inside is in
float64, whatever the points are in: queries that are moved by whole cells lose nothing then.

Each function that is exported runs with x64 mode on: `in_float64` sees to it. Derivatives are not taken here.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core._dtypes import x64_on
from ..._core._programs import compiled
from ..._core._typing import Array
from .. import _tree_programs
from .._answers import ChosenNeighbors
from .._engines._lax._components import flattened
from .._every_pair import beyond, longest_within
from .._search import PairWeights, Search
from .._tree._build import scale_of_box, tree_size
from .._tree._metric import TreeMetric
from .._tree._powers_of_two import exponent_of, power_of_two
from .._tree._queries import Limits, RadiusQueries, Relation, radius_bound
from .._tree._scaling import with_room_for_powers
from .._tree._slopes import norms
from .._tree._tree import Tree
from .._tree_programs import PaddedQueries
from ._lattice import Lattice, lattice_of
from ._points import FAR_EXPONENT, SPACING_EXPONENT, ImagePoints, ImageQueries, euclidean_factor
from ._slopes import ImageRows, vectors_to

__all__ = ["components", "counts", "dbscan", "edges", "fixed", "in_float64", "nearest", "two_point"]

ROUNDING = 64 * float(np.finfo(np.float64).eps)
NEIGHBORS_AT_ONCE = 8  # of each query, that are measured at a time
NO_LABEL = np.iinfo(np.int32).max
FEWEST_PLACES = 512  # that are searched from at once


class WrappedQueries(NamedTuple):
    """Queries wrapped into the cell."""

    x: Array  # (q, m) in the cell, or one column more that tells clouds apart; nan for one that is not finite
    turns: Array  # (q, P)
    fractions: Array  # (q, P)
    lattice: Lattice  # of all, or of each query
    ids: Array | None  # (q,)
    is_far: Array  # (q,) whether a query was brought nearer
    inside_length: Array  # (q,) the largest coordinate within the cell, before it was brought nearer
    rounding: Array  # (q,) by how much a distance from the query, as it was given, may be rounded

    def of(self, rows) -> "WrappedQueries":
        """Return some of the queries."""
        return WrappedQueries(
            self.x[rows],
            self.turns[rows],
            self.fractions[rows],
            self.lattice.of_clouds(rows),
            None if self.ids is None else self.ids[rows],
            self.is_far[rows],
            self.inside_length[rows],
            self.rounding[rows],
        )


class Places(NamedTuple):
    """Places that some queries search from; those of a query follow each other."""

    query: Array  # (C,) int32, whose place it is
    shift: Array  # (C, P) by which the query is moved back
    is_place: Array  # (C,) False where there is none

    def within(self, bound) -> Array:
        """Return the bounds (C,) of the queries' (q,), -1 where there is no place."""
        return _where_active(self.is_place, bound[self.query])

    @property
    def target(self) -> Array:
        """Where results of a place are added to its query's, (C,): nowhere if there is none."""
        return jnp.where(self.is_place, self.query, np.iinfo(np.int32).max)

    @property
    def is_home(self) -> Array:
        """Whether a query searches from where it is, (C,)."""
        return (self.shift == 0).all(axis=-1)


class Images(NamedTuple):
    """Points with all their images."""

    points: ImagePoints
    tree: Tree  # over the points of one cell
    as_queries: WrappedQueries  # the points as queries
    lattice: Lattice
    lowest: Array  # (P,) of the fractions of the points
    highest: Array  # (P,)
    lowest_across: Array  # (m,) of what the points are away from the plane of the vectors
    highest_across: Array  # (m,)
    size: Array  # () of coordinates and of vectors of the lattice
    spacing: Array  # () between clouds


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


def in_float64(*static: str) -> Callable:
    """Return a decorator that compiles a function of points, queries and numbers, with x64 mode on.

    `static` are the names of its static arguments.
    """

    def decorate(function: Callable) -> Callable:
        program = compiled(function, static_argnames=static)

        def run(*inputs, **options):
            with x64_on():
                return program(*inputs, **options)

        return run

    return decorate


# --- points and queries ---------------------------------------------------------------------------------


def _images(points: ImagePoints, periodic: tuple[bool, ...], search: Search) -> Images:
    """Build the tree over the points of one cell."""
    points = points._replace(n=jnp.asarray(points.n).astype(np.int32))
    data = points.data.astype(np.float64)
    rows, m = data.shape
    data = jnp.where(jnp.arange(rows, dtype=np.int32)[:, None] < points.n, data, jnp.nan)
    cell = jnp.eye(m, dtype=np.float64) if points.cell is None else points.cell.astype(np.float64)
    lattice = lattice_of(cell, periodic, jnp)
    x, turns, fractions, lattices = _wrapped_points(data, points.ids, lattice)
    is_point = jnp.isfinite(x).all(axis=1) & jnp.isfinite(turns).all(axis=1)

    def lowest_of_points(values):
        return jnp.where(is_point[:, None], values, jnp.inf).min(axis=0, initial=jnp.inf)

    def highest_of_points(values):
        return jnp.where(is_point[:, None], values, -jnp.inf).max(axis=0, initial=-jnp.inf)

    lowest = lowest_of_points(fractions)
    highest = highest_of_points(fractions)
    across = _across(x, fractions, lattices)
    lowest_across = lowest_of_points(across)
    highest_across = highest_of_points(across)
    largest = jnp.max(jnp.where(is_point[:, None], jnp.abs(x), 0), initial=0)
    vectors = jnp.where(jnp.isfinite(lattice.vectors), jnp.abs(lattice.vectors), 0)
    vectors = jnp.max(vectors.sum(axis=(-2, -1)), initial=0)
    size = largest + vectors
    size = jnp.where(size > 0, size, 1.0)
    spacing = power_of_two(exponent_of(size) + SPACING_EXPONENT, np.dtype(np.float64))
    x = jnp.where(is_point[:, None], x, jnp.nan)
    inside_length = jnp.where(is_point, jnp.abs(x).max(axis=1, initial=0), 0)
    farthest = jnp.max(jnp.where(is_point[:, None], jnp.abs(data), 0), initial=0)
    rounding = jnp.full(rows, ROUNDING * jnp.maximum(size, farthest))
    as_queries = WrappedQueries(
        x, turns, fractions, lattices, points.ids, jnp.zeros(rows, bool), inside_length, rounding
    )
    extent = 2 * size
    if points.ids is not None:
        as_queries = as_queries._replace(x=_with_clouds(x, points.ids, spacing))
        largest_id = jnp.max(jnp.abs(points.ids.astype(np.float64)), initial=0)
        extent = jnp.maximum(extent, largest_id * spacing)
    corner = jnp.broadcast_to(extent, as_queries.x.shape[1:])
    extra_rows = tree_size(*as_queries.x.shape) - rows
    padded = jnp.pad(as_queries.x, ((0, extra_rows), (0, 0)))
    tree = search.engine.build(padded, jnp.asarray(points.n, np.int32), scale_of_box(-corner, corner))
    return Images(
        points, tree, as_queries, lattice, lowest, highest, lowest_across, highest_across, size, spacing
    )


def _wrapped_points(x, ids, lattice: Lattice):
    """Return points wrapped into the cell, turns, fractions, and the lattice of all or of each point."""
    if not lattice.has_axes:
        return *lattice.wrapped(x, jnp), lattice
    cloud_count = lattice.vectors.shape[0]
    lattices = lattice.of_clouds(jnp.clip(ids, 0, cloud_count - 1))
    inside, turns, fractions = lattices.wrapped(x, jnp)
    has_cell = (ids >= 0) & (ids < cloud_count)
    return inside, jnp.where(has_cell[:, None], turns, jnp.nan), fractions, lattices


def _with_clouds(x, ids, spacing):
    """Return points with one coordinate more, by which clouds are far from each other."""
    return jnp.concatenate([x, (ids.astype(np.float64) * spacing)[:, None]], axis=1)


def _wrapped_queries(images: Images, queries: ImageQueries) -> WrappedQueries:
    """Return queries wrapped into the cell.

    In a tree of clouds, those so far away that another cloud may be nearer than their own are brought nearer.
    From there, too, all points of a cloud are equally near, to the last bit.
    """
    x = queries.x.astype(np.float64)
    inside, turns, fractions, lattices = _wrapped_points(x, queries.ids, images.lattice)
    is_finite = (jnp.isfinite(inside) & jnp.isfinite(x)).all(axis=1) & jnp.isfinite(turns).all(axis=1)
    inside_length = jnp.abs(inside).max(axis=1, initial=0)
    rounding = ROUNDING * jnp.where(is_finite, jnp.abs(x).max(axis=1, initial=0), 0)
    rounding = jnp.maximum(rounding, ROUNDING * images.size)
    is_far = jnp.zeros(len(x), bool)
    if queries.ids is not None:
        far = images.size * 2.0**FAR_EXPONENT
        is_far = is_finite & (inside_length > far)
        inside = jnp.clip(inside, -far, far)
        inside = _with_clouds(inside, queries.ids, images.spacing)
    inside = jnp.where(is_finite[:, None], inside, jnp.nan)
    return WrappedQueries(inside, turns, fractions, lattices, queries.ids, is_far, inside_length, rounding)


def _box_within(images: Images, queries: WrappedQueries, reach, p: float) -> Box:
    """Return the shifts (q, P) by which each query may reach points within a distance (q,)."""
    m = images.points.data.shape[1]
    rounding = _rounding(images, queries)
    is_reaching = jnp.isfinite(queries.x).all(axis=1) & (reach >= 0)
    if len(images.lowest):
        is_reaching &= reach < jnp.inf
    reach = (jnp.where(is_reaching, reach, 0) * (1 + ROUNDING) + rounding) * euclidean_factor(m, p)
    if 0 < len(images.lowest) < m:
        # What a query is away from the plane of the vectors is not left for going along it.
        across = _across(queries.x[:, :m], queries.fractions, queries.lattice)
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


def _across(x, fractions, lattice: Lattice) -> Array:
    """Return the part of points (q, m) that is orthogonal to the vectors of the lattice."""
    return x - lattice.steps(fractions) if fractions.shape[1] else x


def _radii(images: Images, queries: WrappedQueries, radius) -> Array:
    """Return radii (q,) as float64, within which no other cloud is; -1 for those that reach nothing."""
    radius = jnp.broadcast_to(longest_within(radius), len(queries.x))
    radius = jnp.where(radius >= 0, radius, -1.0)
    if queries.ids is None:
        return radius
    # A query far away has all points of its cloud within its radius, or none.
    all_or_none = jnp.where(queries.inside_length <= radius, jnp.inf, -1.0)
    return jnp.minimum(jnp.where(queries.is_far, all_or_none, radius), images.spacing / 4)


class Reach(NamedTuple):
    """Radii (q,) with room for rounding: what lies between both is measured."""

    inner: Array  # (q,) all within are neighbours; -1 for nothing
    outer: Array  # (q,) none outside is a neighbour; -1 for nothing


def _reach_of(images: Images, queries: WrappedQueries, radii) -> Reach:
    """Return how far to search for what is within radii (q,)."""
    rounding = _rounding(images, queries)
    inner = radii * (1 - ROUNDING) - rounding
    outer = jnp.where(radii >= 0, radii * (1 + ROUNDING) + rounding, -1.0)
    inner = jnp.where(inner >= 0, inner, -1.0)
    if queries.ids is not None:
        outer = jnp.minimum(outer, images.spacing / 2)
    return Reach(jnp.where(queries.is_far, radii, inner), jnp.where(queries.is_far, radii, outer))


def _rounding(images: Images, queries: WrappedQueries) -> Array:
    """Return by how much distances (q,) from queries to any of the points may be rounded."""
    return jnp.maximum(queries.rounding, jnp.max(images.as_queries.rounding, initial=0))


def _measured(images: Images, queries: ImageQueries, rows, shifts, p: float) -> Array:
    """Return the distances (q, k) from queries, as they were given, to images of rows; inf to no row.

    Both ends of a pair have the same to the last bit.
    """
    points = images.points
    cell = points.cell
    if cell is not None and cell.ndim == 3:
        cell = cell[jnp.clip(queries.ids, 0, len(cell) - 1)]
    is_row = rows < points.n
    rows = jnp.where(is_row, rows, len(points.data))
    distances = norms(vectors_to(points.data, queries.x, cell, ImageRows(rows, shifts)), p)
    return jnp.where(is_row, distances, jnp.inf)


def _over_shifts(boxes: Box, step: Callable, state):
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


def _places_at_once(boxes: Box) -> int:
    """Return how many places are searched from at a time."""
    query_count, vector_count = boxes.low.shape
    return max(2 * query_count, FEWEST_PLACES) if vector_count else query_count


def _over_places(boxes: Box, step: Callable, state):
    """Return the state after ``step(places, state)`` for all places of queries, many at a time.

    A query has a place for each shift in its box (q, P).
    """
    at_once = _places_at_once(boxes)
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


def _cell_shifts(images: Images, turns, ids, rows, shift, periodic) -> Array:
    """Return the shifts (..., m) of the cell's own vectors, int32, of images that queries found.

    `turns` are the queries', `rows` what they found, `shift` by how much they were moved; 0 for no row.
    """
    turns_of_rows = images.as_queries.turns.at[rows].get(mode="fill", fill_value=0)
    is_row = rows < images.points.n
    shift = shift.astype(np.float64)
    lattice_shifts = jnp.where(is_row[..., None], shift - turns_of_rows + turns, 0)
    lattice = images.lattice
    if lattice.has_axes:
        combination = lattice.combination[jnp.clip(ids, 0, len(lattice.vectors) - 1)]
        lattice = lattice._replace(combination=combination)
    return lattice.of_cell(lattice_shifts, periodic, jnp)


# --- neighbours of queries ------------------------------------------------------------------------------


class ImageNeighbors(NamedTuple):
    """The nearest images of each query by (distance, row, shift)."""

    distances: Array  # (q, k) inf where there is none
    rows: Array  # (q, k) n where there is none
    shifts: Array  # (q, k, m) int32, 0 where there is none

    @classmethod
    def empty(cls, query_count: int, length: int, images: Images) -> "ImageNeighbors":
        """Return room for so many neighbours of each query, and none in it."""
        shape = query_count, length
        n = images.points.n
        m = images.points.data.shape[1]
        no_shift = jnp.zeros((*shape, m), np.int32)
        return cls(jnp.full(shape, jnp.inf, np.float64), jnp.broadcast_to(n, shape), no_shift)

    def with_those_of(self, other: "ImageNeighbors") -> "ImageNeighbors":
        """Return the nearest of both, as many as here."""
        length = self.distances.shape[1]
        both = jax.tree.map(lambda first, second: jnp.concatenate([first, second], axis=1), self, other)
        return jax.tree.map(lambda array: array[:, :length], both.in_order())

    def in_order(self) -> "ImageNeighbors":
        """Return them by (distance, row, shift)."""
        m = self.shifts.shape[2]
        columns = [self.shifts[:, :, axis] for axis in range(m)]
        keys = self.distances, self.rows, *columns
        distances, rows, *columns = lax.sort(keys, dimension=1, num_keys=len(keys))
        return ImageNeighbors(distances, rows, jnp.stack(columns, axis=-1))

    def without(self, is_left_out, n) -> "ImageNeighbors":
        """Return no neighbours of some of the queries (q,)."""
        return self.kept(jnp.broadcast_to(~is_left_out[:, None], self.rows.shape), n)

    def kept(self, is_kept, n) -> "ImageNeighbors":
        """Return some of them, in order, and behind them nothing."""
        distances = jnp.where(is_kept, self.distances, jnp.inf)
        rows = jnp.where(is_kept, self.rows, n)
        return ImageNeighbors(distances, rows, jnp.where(is_kept[..., None], self.shifts, 0)).in_order()


class _ImageSearch(NamedTuple):
    """A search of queries among the images of points."""

    images: Images
    queries: WrappedQueries
    given: ImageQueries  # the queries as they were given
    periodic: tuple[bool, ...]
    search: Search

    def of(self, query) -> "_ImageSearch":
        """Return the search of some of the queries."""
        ids = None if self.given.ids is None else self.given.ids[query]
        given = ImageQueries(self.given.x[query], ids)
        return self._replace(queries=self.queries.of(query), given=given)

    def measured(self, rows, shift) -> ImageNeighbors:
        """Return rows (q, k) that queries found when they were moved by a shift, and measure them.

        The shift is that of all, (P,), or of each, (q, P). Points of other clouds are nobody's neighbours.
        """
        images = self.images
        queries = self.queries
        n = images.points.n
        rows = rows.astype(np.int32)
        ids = None
        if queries.ids is not None:
            ids = queries.ids[:, None]
            ids_of_rows = images.points.ids.at[rows].get(mode="fill", fill_value=0)
            rows = jnp.where(ids_of_rows == ids, rows, n)
        rows = jnp.minimum(rows, n)
        shift = shift if shift.ndim == 1 else shift[:, None, :]
        shifts = _cell_shifts(images, queries.turns[:, None, :], ids, rows, shift, self.periodic)
        distances = _measured(images, self.given, rows, shifts, self.search.p)
        return ImageNeighbors(distances, rows, shifts)

    def moved(self, shift) -> PaddedQueries:
        """Return the queries moved back by a shift of the lattice, that of all, (P,), or of each, (q, P)."""
        queries = self.queries
        m = queries.lattice.vectors.shape[-1]
        steps = jnp.broadcast_to(queries.lattice.steps(shift), (len(queries.x), m))
        # The coordinate that tells clouds apart stays as it is.
        steps = jnp.pad(steps, ((0, 0), (0, queries.x.shape[1] - m)))
        return PaddedQueries(queries.x - steps, None)

    def with_all_within(self, shift, radii, visit: Callable, state):
        """Return the state after ``visit(neighbors, state)`` for all within radii (q,), some at a time."""
        metric = TreeMetric(self.search.p)
        x = self.moved(shift).x
        prepared = _tree_programs.ordered(self.images.tree, x, radii, metric, self.search)

        def visit_rows(rows, state):
            rows_by_query = jnp.full_like(rows, self.images.points.n).at[prepared.queries.order].set(rows)
            return visit(self.measured(rows_by_query, shift), state)

        from_the_first = jnp.full(len(x), -1, np.int32)
        return _with_all_within(
            prepared.tree, prepared.queries, from_the_first, self.search, visit_rows, state
        )


def _with_all_within(tree: Tree, queries: RadiusQueries, after, search: Search, visit: Callable, state):
    """Return the state after ``visit(rows, state)`` for all neighbours of queries, some of each at a time.

    The neighbours are those in slots after `after` (Q,), -1 for all. Rows (Q, NEIGHBORS_AT_ONCE) are in the
    order of the prepared queries, n where there is none.
    """
    count = len(queries.bound)
    slot_count = tree.points.shape[1]
    slot_of_row = (
        jnp.zeros(slot_count, np.int32).at[tree.rows].set(lax.iota(np.int32, slot_count), mode="drop")
    )
    offsets = jnp.arange(count + 1, dtype=np.int32) * NEIGHBORS_AT_ONCE
    metric = TreeMetric(search.p)

    def more(state):
        _, is_open, _ = state
        return is_open.any()

    def next_neighbors(state):
        last_slots, is_open, state = state
        # The last slot that was seen stands for the query's own: then those LATER are the next ones.
        part = RadiusQueries(
            queries.points,
            jnp.where(is_open, queries.bound, -jnp.ones_like(queries.bound)),
            last_slots,
            lax.iota(np.int32, count),
        )
        size = count * NEIGHBORS_AT_ONCE
        rows, _ = search.engine.fill(tree, part, offsets, metric, size=size, relation=Relation.LATER)
        rows = rows.reshape(count, NEIGHBORS_AT_ONCE)
        last_rows = rows[:, -1]
        is_open &= last_rows < tree.n
        last_slots = jnp.where(is_open, slot_of_row[jnp.minimum(last_rows, slot_count - 1)], slot_count)
        return last_slots, is_open, visit(rows, state)

    start = after, queries.bound >= 0, state
    _, _, state = lax.while_loop(more, next_neighbors, start)
    return state


@in_float64("periodic", "search", "max_neighbors")
def fixed(
    points: ImagePoints, queries: ImageQueries, radius, *, periodic, search: Search, max_neighbors: int
):
    """Return rows, shifts, distances (q, max_neighbors, ...) of the nearest within radii (q,), and counts."""
    images, wrapped = _prepared(points, queries, periodic, search)
    image_search = _ImageSearch(images, wrapped, queries, periodic, search)
    reach = _reach_of(images, wrapped, _radii(images, wrapped, radius))
    radius = jnp.broadcast_to(longest_within(radius), len(wrapped.x))
    boxes = _box_within(images, wrapped, reach.outer, search.p)
    point_count = max(min(max_neighbors, len(points.data)), 1)  # of an image that are looked at
    n = points.n

    def within(neighbors: ImageNeighbors) -> ImageNeighbors:
        return neighbors.kept(neighbors.distances <= radius[:, None], n)

    def step(shift, is_active, state):
        neighbors, counts = state
        inner = jnp.where(is_active, reach.inner, -1.0)
        outer = jnp.where(is_active, reach.outer, -1.0)
        inputs = images.tree, image_search.moved(shift)
        metric = TreeMetric(search.p)
        rows, distances, outer_counts = _tree_programs.nearest_within(
            *inputs, outer, metric, search=search, max_neighbors=point_count + 1
        )
        (inner_counts,) = _tree_programs.counts_within(*inputs, inner, metric, search=search)
        is_whole = outer_counts <= point_count + 1
        has_border = outer_counts > inner_counts
        tied_reach = _tied_reach(images, wrapped, distances, point_count)
        is_cut = ~is_whole & (has_border | (tied_reach >= 0))
        image_neighbors = within(image_search.measured(rows, shift)).without(is_cut, n)
        measured_counts = jnp.sum(image_neighbors.distances < jnp.inf, axis=1, dtype=np.int32)
        image_counts = jnp.where(is_whole, measured_counts, outer_counts.astype(np.int32))
        counts += jnp.where(is_cut & has_border, 0, image_counts)
        neighbors = neighbors.with_those_of(image_neighbors)

        def add(next_neighbors: ImageNeighbors, state):
            neighbors, counts = state
            next_neighbors = within(next_neighbors)
            next_counts = jnp.sum(next_neighbors.distances < jnp.inf, axis=1, dtype=np.int32)
            return neighbors.with_those_of(next_neighbors), counts + jnp.where(has_border, next_counts, 0)

        def measure_all(state):
            radii = jnp.where(has_border, outer, jnp.minimum(outer, tied_reach))
            return image_search.with_all_within(shift, jnp.where(is_cut, radii, -1.0), add, state)

        return lax.cond(is_cut.any(), measure_all, lambda state: state, (neighbors, counts))

    state = ImageNeighbors.empty(len(wrapped.x), max_neighbors, images), jnp.zeros(len(wrapped.x), np.int32)
    neighbors, counts_of_queries = _over_shifts(boxes, step, state)
    return neighbors.rows, neighbors.shifts, neighbors.distances, counts_of_queries


def _tied_reach(images: Images, queries: WrappedQueries, distances, k: int) -> Array:
    """Return the distance (q,) up to which points may be as near as the k-th of distances (q, k + 1).

    It is -1 where the next one is farther, with room for rounding: then the nearest `k` are known.
    """
    last_distance = distances[:, k - 1]
    next_distance = distances[:, k]
    rounding = _rounding(images, queries)
    reach = jnp.where(last_distance < jnp.inf, last_distance, 0) * (1 + 2 * ROUNDING) + 2 * rounding
    is_tied = (next_distance < jnp.inf) & (next_distance <= reach)
    if queries.ids is not None:
        is_tied &= last_distance < images.spacing / 4  # what is farther is of another cloud
        reach = jnp.minimum(reach, images.spacing / 4)
    return jnp.where(is_tied, reach, -1.0)


@in_float64("periodic", "search")
def counts(points: ImagePoints, queries: ImageQueries, radius, *, periodic, search: Search):
    """Return how many images are within the radii (q,)."""
    images, wrapped = _prepared(points, queries, periodic, search)
    given = ImageQueries(points.data, points.ids) if queries is None else queries
    image_search = _ImageSearch(images, wrapped, given, periodic, search)
    reach = _reach_of(images, wrapped, _radii(images, wrapped, radius))
    radius = jnp.broadcast_to(longest_within(radius), len(wrapped.x))
    boxes = _box_within(images, wrapped, reach.outer, search.p)

    def step(places: Places, counts):
        search_of_places = image_search.of(places.query)
        radius_of_places = radius[places.query, None]
        outer = places.within(reach.outer)
        inputs = images.tree, search_of_places.moved(places.shift)
        metric = TreeMetric(search.p)
        (inner_counts,) = _tree_programs.counts_within(
            *inputs, places.within(reach.inner), metric, search=search
        )
        (outer_counts,) = _tree_programs.counts_within(*inputs, outer, metric, search=search)
        has_border = outer_counts > inner_counts
        counts_of_places = jnp.where(has_border, 0, outer_counts.astype(np.int32))

        def add(neighbors: ImageNeighbors, counts):
            return counts + jnp.sum(neighbors.distances <= radius_of_places, axis=1, dtype=np.int32)

        def measure_all(counts):
            at_border = jnp.where(has_border, outer, -1.0)
            return search_of_places.with_all_within(places.shift, at_border, add, counts)

        counts_of_places = lax.cond(has_border.any(), measure_all, lambda counts: counts, counts_of_places)
        return counts.at[places.target].add(counts_of_places)

    return (_over_places(boxes, step, jnp.zeros(len(wrapped.x), np.int32)),)


def _prepared(points: ImagePoints, queries: ImageQueries | None, periodic, search: Search):
    """Return the points with their images, and the wrapped queries: None stands for the points."""
    images = _images(points, periodic, search)
    if queries is None:
        return images, images.as_queries
    return images, _wrapped_queries(images, queries)


@in_float64("periodic", "search", "k")
def nearest(points: ImagePoints, queries: ImageQueries, bound, *, periodic, search: Search, k: int):
    """Return rows, shifts and distances (q, k, ...) of the nearest images, nearer than `bound`, () or (q,).

    Boxes of shifts are gone through, each around the last one: until as many images are found, and then that
    which holds all that are not farther.
    """
    images, wrapped = _prepared(points, queries, periodic, search)
    query_count = len(wrapped.x)
    bound = jnp.broadcast_to(beyond(bound), query_count)
    if wrapped.ids is not None:
        bound = jnp.where(wrapped.is_far & (wrapped.inside_length >= bound), 0.0, bound)
    given = ImageQueries(points.data, points.ids) if queries is None else queries
    image_search = _ImageSearch(images, wrapped, given, periodic, search)
    rounding = _rounding(images, wrapped)
    n = points.n
    point_count = max(min(k, len(points.data)), 1)  # of an image that are looked at
    vector_count = len(images.lowest)
    heights = wrapped.lattice.heights
    heights = jnp.where(jnp.isfinite(heights), heights, 1.0)
    if heights.ndim > 1:
        heights = heights.min(axis=0, initial=jnp.inf)

    def nearer_than_bound(neighbors: ImageNeighbors) -> ImageNeighbors:
        return neighbors.kept(neighbors.distances < bound[:, None], n)

    def search_image(shift, neighbors):
        last_distance = jnp.minimum(neighbors.distances[:, -1], bound)
        reach = jnp.where(last_distance > 0, last_distance * (1 + ROUNDING) + rounding, 0.0)
        reach = jnp.nextafter(reach, jnp.full_like(reach, jnp.inf))
        reach = jnp.where(bound > 0, reach, 0.0)
        limits = Limits(reach, jnp.zeros((), np.float64))
        inputs = images.tree, image_search.moved(shift), limits, TreeMetric(search.p)
        answer = ChosenNeighbors(point_count + 1, None)
        distances, rows = _tree_programs.nearest_columns(*inputs, answer=answer, search=search)
        tied_reach = _tied_reach(images, wrapped, distances, point_count)
        is_tied = tied_reach >= 0
        image_neighbors = nearer_than_bound(image_search.measured(rows, shift)).without(is_tied, n)
        neighbors = neighbors.with_those_of(image_neighbors)

        def add(next_neighbors: ImageNeighbors, neighbors: ImageNeighbors) -> ImageNeighbors:
            return neighbors.with_those_of(nearer_than_bound(next_neighbors))

        def measure_all(neighbors):
            return image_search.with_all_within(shift, tied_reach, add, neighbors)

        return lax.cond(is_tied.any(), measure_all, lambda neighbors: neighbors, neighbors)

    def next_box(done: Box, neighbors: ImageNeighbors) -> Box:
        """Return the box to go through after those shifts that are done."""
        last_distance = jnp.minimum(neighbors.distances[:, -1], bound)
        misses_some = (neighbors.distances[:, 0] < jnp.inf) & (last_distance == jnp.inf)
        grown = _grown(done.high, heights)
        box = _box_within(images, wrapped, last_distance, search.p).of_all()
        box = done.with_those_of(_where(box.total > 0, box, done))
        return _where(misses_some.any(), Box(-grown, grown), box)

    def step(state):
        number, box, done, neighbors = state
        shift = box.shift(number)

        def search_shift(neighbors):
            return search_image(shift, neighbors)

        neighbors = lax.cond(done.holds(shift), lambda neighbors: neighbors, search_shift, neighbors)
        is_end = number + 1 >= box.total
        following = _where(is_end, next_box(box, neighbors), box)
        done = _where(is_end, box, done)
        return jnp.where(is_end, 0.0, number + 1), following, done, neighbors

    def more(state):
        _, box, done, _ = state
        return ((box.low < done.low) | (box.high > done.high)).any()

    no_shift = jnp.zeros(vector_count, np.float64)
    home = Box(no_shift, no_shift)
    neighbors = search_image(no_shift, ImageNeighbors.empty(query_count, k, images))
    if vector_count:
        start = jnp.zeros((), np.float64), next_box(home, neighbors), home, neighbors
        *_, neighbors = lax.while_loop(more, step, start)
    return neighbors.rows, neighbors.shifts, neighbors.distances


def _grown(extent, heights) -> Array:
    """Return how far (P,) a box goes that is larger by one plane, along the vector of the nearest planes."""
    # Not by argmin, which under vmap makes 32-bit constants once more.
    following = (extent + 1) * heights
    is_nearest = following == following.min(initial=jnp.inf)
    grown = []
    is_taken = jnp.zeros((), bool)
    for axis in range(len(extent)):
        grown.append(jnp.where(is_nearest[axis] & ~is_taken, extent[axis] + 1, extent[axis]))
        is_taken |= is_nearest[axis]
    return jnp.stack(grown) if grown else extent


def _where(condition, first, second):
    """Return one of two records by a condition ()."""
    return jax.tree.map(partial(jnp.where, condition), first, second)


# --- among the points -----------------------------------------------------------------------------------


class _MovedSlots(NamedTuple):
    """Slots of the tree as queries from some places."""

    queries: RadiusQueries  # (C,)
    places: Places  # (C,)
    relation: Relation  # of a slot to the points that are its neighbours

    def within(self, bound) -> "_MovedSlots":
        """Return them with other bounds (C,)."""
        return self._replace(queries=self.queries._replace(bound=bound))


class _SlotQueries(NamedTuple):
    """The points as queries of a radius search, in the slots of the tree (N,)."""

    tree: Tree  # in a unit that has room for the powers of moved queries
    image_search: _ImageSearch  # of the slots; an empty one stands for some point
    radius: Array  # ()
    bounds: Reach  # of scaled powers
    boxes: Box  # (N, P)

    def moved(self, places: Places, bound, relation: Relation) -> _MovedSlots:
        """Return slots as queries within bounds (C,) from places (C,), with results by the place.

        Moved ones are queries from outside. They are taken to be in the leaf of their slot, but for the
        relation LATER, for which every slot comes after theirs.
        """
        tree = self.tree
        slots = places.query
        m = self.image_search.given.x.shape[1]
        steps = self.image_search.queries.lattice.of_clouds(slots).steps(places.shift)
        steps = jnp.broadcast_to(steps, (len(slots), m)) * tree.scale
        steps = jnp.pad(steps, ((0, 0), (0, tree.points.shape[0] - m)))
        outside = -jnp.ones_like(slots) if relation is Relation.LATER else ~(slots // tree.leaf_size)
        points = tree.points[:, slots] - steps.T
        slots_of_queries = jnp.where(places.is_home, slots, outside)
        queries = RadiusQueries(points, bound, slots_of_queries, lax.iota(np.int32, len(slots)))
        return _MovedSlots(queries, places, relation)

    def with_all_within(self, tree: Tree, moved: _MovedSlots, visit: Callable, state):
        """Return the state after ``visit(neighbors, is_wanted, state)`` for all in reach, some at a time."""
        queries, places, relation = moved
        search_of_places = self.image_search.of(places.query)
        own_rows = -jnp.ones_like(places.query)
        if relation is Relation.OTHER:
            own_rows = jnp.where(places.is_home, self.tree.rows[places.query], own_rows)
        after = queries.slot if relation is Relation.LATER else -jnp.ones_like(queries.slot)

        def visit_rows(rows, state):
            neighbors = search_of_places.measured(rows, places.shift)
            is_wanted = (neighbors.distances <= self.radius) & (neighbors.rows != own_rows[:, None])
            return visit(neighbors, is_wanted, state)

        return _with_all_within(tree, queries, after, self.image_search.search, visit_rows, state)

    def counts(self, places: Places, relation: Relation) -> tuple[Array, Array]:
        """Return how many neighbours there are from each place, and from which there are some at the radius.

        Both are (C,).
        """
        engine = self.image_search.search.engine
        metric = TreeMetric(self.image_search.search.p)
        outer = self.moved(places, places.within(self.bounds.outer), relation)
        inner = outer.within(places.within(self.bounds.inner))
        inner_counts = engine.count(self.tree, inner.queries, metric, relation=relation)
        outer_counts = engine.count(self.tree, outer.queries, metric, relation=relation)
        has_border = outer_counts > inner_counts

        def add(neighbors: ImageNeighbors, is_wanted, counts):
            return counts + jnp.sum(is_wanted, axis=1, dtype=np.int32)

        def measure_all(counts):
            at_border = outer.within(_where_active(has_border, outer.queries.bound))
            counts = jnp.where(has_border, 0, counts)
            return self.with_all_within(self.tree, at_border, add, counts)

        counts = lax.cond(has_border.any(), measure_all, lambda counts: counts, inner_counts)
        return counts, has_border


def _where_active(is_active, bound):
    return jnp.where(is_active, bound, -jnp.ones_like(bound))


def _slot_queries(images: Images, tree: Tree, radius, periodic, search: Search) -> _SlotQueries:
    """Return the slots of a tree over the points as queries."""
    reach = _reach_of(images, images.as_queries, _radii(images, images.as_queries, radius))
    boxes = _box_within(images, images.as_queries, reach.outer, search.p)
    rows = jnp.minimum(tree.rows, max(len(images.points.data) - 1, 0))
    is_point = jnp.isfinite(tree.points[0])
    box = boxes.of_all()
    cell_count = jnp.maximum(jnp.abs(box.low), jnp.abs(box.high)).max(initial=0) + 1
    corner = jnp.broadcast_to(images.size * cell_count, (1, tree.points.shape[0]))
    tree = with_room_for_powers(tree, search.p, jnp.concatenate([corner, -corner]))

    def bound_of(radii):
        radii = radii[rows]
        return _where_active(is_point & (radii >= 0), radius_bound(tree, radii, search.p))

    ids = None if images.points.ids is None else images.points.ids[rows]
    given = ImageQueries(images.points.data[rows], ids)
    image_search = _ImageSearch(images, images.as_queries.of(rows), given, periodic, search)
    bounds = Reach(bound_of(reach.inner), bound_of(reach.outer))
    is_in_box = is_point[:, None]
    boxes = Box(jnp.where(is_in_box, boxes.low[rows], 1.0), jnp.where(is_in_box, boxes.high[rows], 0.0))
    return _SlotQueries(tree, image_search, longest_within(radius), bounds, boxes)


def _first_number(shifts) -> Array:
    """Return the first number of shifts (..., P) that is not 0; 0 where all are."""
    first = jnp.zeros(shifts.shape[:-1], shifts.dtype)
    for axis in range(shifts.shape[-1] - 1, -1, -1):
        number = shifts[..., axis]
        first = jnp.where(number != 0, number, first)
    return first


@in_float64("periodic", "search", "relation", "size")
def edges(points: ImagePoints, radius, *, periodic, search: Search, relation: Relation, size: int):
    """Return receivers, senders (size,), shifts (size, m), distances (size,) and the true number of edges.

    Of the relation LATER each pair of images comes once, the lower row first.
    """
    images = _images(points, periodic, search)
    slot_queries = _slot_queries(images, images.tree, radius, periodic, search)
    engine = search.engine
    tree = slot_queries.tree
    metric = TreeMetric(search.p)
    slot_count = tree.points.shape[1]
    vector_count = len(images.lowest)

    def searched(places: Places) -> Places:
        if relation is not Relation.LATER:
            return places
        return places._replace(is_place=places.is_place & (_first_number(places.shift) >= 0))

    def count_edges(places: Places, state):
        counts, _ = state
        counted = slot_queries.counts(searched(places), relation)
        counts_of_places, _ = counted
        return counts.at[places.target].add(counts_of_places), counted

    boxes = slot_queries.boxes
    at_once = _places_at_once(boxes)
    no_counts = jnp.zeros(slot_count, np.int32)
    none_counted = jnp.zeros(at_once, np.int32), jnp.zeros(at_once, bool)
    counts_by_slot, last_counted = _over_places(boxes, count_edges, (no_counts, none_counted))
    came_at_once = boxes.total.sum() <= at_once
    counts_by_row = jnp.zeros(slot_count, np.int32).at[tree.rows].add(counts_by_slot, mode="drop")
    sums = engine.running_sums(counts_by_row)
    first_edges = sums[jnp.minimum(tree.rows, slot_count)].astype(np.int64)  # of each slot

    def fill_edges(places: Places, state):
        written, senders, shifts = state
        places = searched(places)
        # If all places came at once, what was counted of the last ones is of all.
        counts, has_border = lax.cond(
            came_at_once, lambda: last_counted, lambda: slot_queries.counts(places, relation)
        )
        wide_counts = counts.astype(np.int64)
        before = jnp.cumsum(wide_counts) - wide_counts
        is_first = jnp.concatenate([jnp.ones(1, bool), places.query[1:] != places.query[:-1]])
        before_first = lax.cummax(jnp.where(is_first, before, 0))
        starts = (first_edges + written.astype(np.int64))[places.query]
        starts += before - before_first
        stops = jnp.minimum(starts + wide_counts, size).astype(np.int32)
        starts = jnp.minimum(starts, size).astype(np.int32)
        outer = places.within(slot_queries.bounds.outer)
        moved = slot_queries.moved(places, _where_active(~has_border, outer), relation)
        # Those of a place are written from an offset up to the next one.
        offsets = jnp.stack([starts, stops], axis=1).reshape(-1)
        queries = moved.queries._replace(order=2 * lax.iota(np.int32, len(starts)))
        rows, distances = engine.fill(tree, queries, offsets, metric, size=size, relation=relation)
        senders = jnp.where(jnp.isfinite(distances), rows, senders)
        # With its number added where a place's edges begin, and taken off where they end, the sum up to an
        # edge is the number of its place.
        number = lax.iota(np.int32, len(starts)) + 1
        has_edges = starts < stops
        begins = jnp.where(has_edges, starts, size)
        ends = jnp.where(has_edges, stops, size)
        numbers = jnp.zeros(size, np.int32).at[begins].add(number, mode="drop")
        numbers = numbers.at[ends].add(-number, mode="drop")
        place = jnp.cumsum(numbers, dtype=np.int32) - 1
        shifts_of_places = places.shift.astype(np.int32)
        shifts = jnp.where((place >= 0)[:, None], shifts_of_places[place], shifts)

        def add(neighbors: ImageNeighbors, is_wanted, state):
            next_edge, senders = state
            edge = next_edge[:, None] + jnp.cumsum(is_wanted, axis=1, dtype=np.int32) - 1
            edge = jnp.where(is_wanted & (edge < stops[:, None]), edge, size)
            senders = senders.at[edge].set(neighbors.rows, mode="drop")
            next_edge = jnp.minimum(next_edge + jnp.sum(is_wanted, axis=1, dtype=np.int32), size)
            return next_edge, senders

        def measure_all(senders):
            at_border = moved.within(_where_active(has_border, outer))
            _, senders = slot_queries.with_all_within(tree, at_border, add, (starts, senders))
            return senders

        senders = lax.cond(has_border.any(), measure_all, lambda senders: senders, senders)
        return written.at[places.target].add(counts), senders, shifts

    n = images.points.n
    no_shifts = jnp.zeros((size, vector_count), np.int32)
    state = no_counts, jnp.broadcast_to(n, (size,)), no_shifts
    _, senders, shifts = _over_places(boxes, fill_edges, state)
    # The receiver of an edge is the number of rows whose edges have ended before it.
    ended = jnp.zeros(size, np.int32).at[sums[1:]].add(1, mode="drop")
    receivers = jnp.where(senders < n, jnp.cumsum(ended, dtype=np.int32), n)
    ids = None if points.ids is None else points.ids.at[receivers].get(mode="fill", fill_value=0)
    turns = images.as_queries.turns.at[receivers].get(mode="fill", fill_value=0)
    shifts = _cell_shifts(images, turns, ids, senders, shifts, periodic)
    x = points.data.at[receivers].get(mode="fill", fill_value=0)
    ends = ImageQueries(x, ids)
    distances = _measured(images, ends, senders[:, None], shifts[:, None], search.p)[:, 0]
    if relation is Relation.LATER:
        receivers, senders, shifts = _low_row_first(receivers, senders, shifts)
    return receivers, senders, shifts, distances, sums[-1]


def _low_row_first(receivers, senders, shifts):
    """Return pairs with the lower row first, of a point and its image the half with a positive shift."""
    is_turned = (receivers > senders) | ((receivers == senders) & (_first_number(shifts) < 0))
    shifts = jnp.where(is_turned[:, None], -shifts, shifts)
    return jnp.minimum(receivers, senders), jnp.maximum(receivers, senders), shifts


# --- between two clouds ---------------------------------------------------------------------------------


@in_float64("periodic", "search", "sums")
def two_point(
    points: ImagePoints, queries: ImageQueries, radii, weights: PairWeights, *, periodic, search: Search, sums
):
    """Return the sums of ``weights of query * weights of point`` over pairs within each of the radii (R,).

    Pairs are of a query and an image of a point; `sums` is the dtype.
    """
    images, wrapped = _prepared(points, queries, periodic, search)
    radii = longest_within(radii)
    image_search = _ImageSearch(images, wrapped, queries, periodic, search)
    largest = jnp.broadcast_to(jnp.max(radii, initial=-1.0, where=radii >= 0), len(wrapped.x))
    outer = _reach_of(images, wrapped, _radii(images, wrapped, largest)).outer
    boxes = _box_within(images, wrapped, outer, search.p)
    rounding = jnp.max(jnp.where(wrapped.is_far, 0, _rounding(images, wrapped)), initial=0)
    longest = jnp.inf if wrapped.ids is None else images.spacing / 4
    inner_radii = jnp.where(radii >= 0, radii * (1 - ROUNDING) - rounding, -1.0)
    outer_radii = jnp.where(radii >= 0, radii * (1 + ROUNDING) + rounding, -1.0)
    inner_radii = jnp.minimum(inner_radii, longest)
    outer_radii = jnp.minimum(outer_radii, longest)
    is_query = jnp.isfinite(wrapped.x).all(axis=1)
    query_weights = jnp.where(is_query, weights.self_weights, 0).astype(sums)
    point_weights = weights.other_weights.astype(sums)

    def step(shift, is_active, total):
        metric = TreeMetric(search.p)
        active_weights = jnp.where(is_active, query_weights, jnp.zeros_like(query_weights))
        weights = PairWeights(active_weights, point_weights)
        ones = PairWeights(is_active.astype(np.int32), jnp.ones(len(point_weights), np.int32))
        inputs = images.tree, image_search.moved(shift)
        both_radii = jnp.concatenate([inner_radii, outer_radii])
        counts = _tree_programs.pair_sums(*inputs, ones, both_radii, metric, search=search)
        inner_counts, outer_counts = jnp.split(counts, 2)
        has_border = inner_counts != outer_counts  # (R,)
        sums_of_image = _tree_programs.pair_sums(*inputs, weights, inner_radii, metric, search=search)

        def add(neighbors: ImageNeighbors, sums_of_image):
            weights_of_rows = point_weights.at[neighbors.rows].get(mode="fill", fill_value=0)
            products = active_weights[:, None] * weights_of_rows

            def sum_within(radius):
                return jnp.sum(jnp.where(neighbors.distances <= radius, products, 0), dtype=sums)

            return sums_of_image + jnp.where(has_border, lax.map(sum_within, radii), 0).astype(sums)

        def measure_all(sums_of_image):
            largest = jnp.max(outer_radii, initial=-1.0, where=has_border)
            reach = jnp.where(is_active, largest, -1.0)
            sums_of_image = jnp.where(has_border, 0, sums_of_image).astype(sums)
            return image_search.with_all_within(shift, reach, add, sums_of_image)

        sums_of_image = lax.cond(has_border.any(), measure_all, lambda sums: sums, sums_of_image)
        return total + sums_of_image

    return (_over_shifts(boxes, step, jnp.zeros(radii.shape, sums)),)


# --- clusters -------------------------------------------------------------------------------------------


class _SlotJoining(NamedTuple):
    """The slots of a tree as queries, which are joined to slots of this tree or of another one."""

    slot_queries: _SlotQueries
    has_border: Array  # (N,) whether a slot has neighbours at the radius, in any image

    def lowest(self, tree: Tree, numbers, places: Places) -> Array:
        """Return the lowest of the slots' numbers (N,) of a tree that is in reach from each place (C,)."""
        slot_queries = self.slot_queries
        engine = slot_queries.image_search.search.engine
        metric = TreeMetric(slot_queries.image_search.search.p)
        moved = slot_queries.moved(places, places.within(slot_queries.bounds.inner), Relation.ANY)
        if tree is not slot_queries.tree:
            in_no_leaf = -jnp.ones_like(moved.queries.slot)
            moved = moved._replace(queries=moved.queries._replace(slot=in_no_leaf))
        lowest_inside = engine.lowest(tree, moved.queries, numbers, metric)
        slots = lax.iota(np.int32, len(numbers))
        slot_of_row = jnp.zeros_like(slots).at[tree.rows].set(slots, mode="drop")

        def add(neighbors: ImageNeighbors, is_wanted, lowest):
            slots_of_neighbors = slot_of_row[jnp.minimum(neighbors.rows, len(slots) - 1)]
            wanted_numbers = jnp.where(is_wanted, numbers[slots_of_neighbors], NO_LABEL)
            return jnp.minimum(lowest, wanted_numbers.min(axis=1).astype(lowest.dtype))

        has_border = places.is_place & self.has_border[places.query]

        def measure_all(lowest):
            outer = places.within(slot_queries.bounds.outer)
            at_border = moved.within(_where_active(has_border, outer))
            return slot_queries.with_all_within(tree, at_border, add, lowest)

        return lax.cond(has_border.any(), measure_all, lambda lowest: lowest, lowest_inside)


def _joining(images: Images, tree: Tree, radius, periodic, search: Search) -> _SlotJoining:
    """Return the slots of a tree over the points, to be joined."""
    slot_queries = _slot_queries(images, tree, radius, periodic, search)

    def add(places: Places, has_border):
        _, is_border = slot_queries.counts(places, Relation.ANY)
        return has_border.at[places.target].max(is_border)

    no_border = jnp.zeros(tree.points.shape[1], bool)
    has_border = _over_places(slot_queries.boxes, add, no_border)
    return _SlotJoining(slot_queries, has_border)


def _lowest_rows(joining: _SlotJoining, tree: Tree) -> Array:
    """Return the lowest row of the component of each slot (N,), in rounds as `_lax._components` does."""
    slot_queries = joining.slot_queries
    slots = lax.iota(np.int32, tree.points.shape[1])

    def join(state):
        roots, _ = state

        def undercut(places: Places, lowest):
            return lowest.at[places.target].min(joining.lowest(slot_queries.tree, roots, places))

        lowest_roots = _over_places(slot_queries.boxes, undercut, roots)
        joined = flattened(roots.at[roots].min(lowest_roots))
        return joined, (joined != roots).any()

    roots, _ = lax.while_loop(lambda state: state[1], join, (slots, jnp.ones((), bool)))
    return jnp.full_like(tree.rows, NO_LABEL).at[roots].min(tree.rows)[roots]


def _by_row(tree: Tree, row_count: int, values, fill) -> Array:
    """Return the slots' values (N,) by row, (rows,)."""
    rows = jnp.where(jnp.isfinite(tree.points[0]), tree.rows, row_count)
    return jnp.full(row_count, fill, values.dtype).at[rows].set(values, mode="drop")


def _by_slot(tree: Tree, values, fill) -> Array:
    """Return the rows' values by slot, (N,)."""
    rows = jnp.minimum(tree.rows, len(values) - 1)
    return jnp.where(jnp.isfinite(tree.points[0]), values[rows], fill)


def _labels(images: Images, tree: Tree, radius, periodic, search: Search) -> tuple[Array, Array]:
    """Return how many components the points of a tree have, and labels (rows,) by their lowest rows."""
    row_count = len(images.points.data)
    joining = _joining(images, tree, radius, periodic, search)
    lowest = _by_row(tree, row_count, _lowest_rows(joining, tree), -1)
    is_lowest = lowest == jnp.arange(row_count, dtype=np.int32)
    number = search.engine.running_sums(is_lowest.astype(np.int32))
    return number[-1], jnp.where(lowest < 0, -1, number[lowest])


@in_float64("periodic", "search")
def components(points: ImagePoints, radius, *, periodic, search: Search):
    """Return how many components there are, and labels (rows,) by their lowest rows, -1 for no point."""
    images = _images(points, periodic, search)
    return _labels(images, images.tree, radius, periodic, search)


@in_float64("periodic", "search", "min_samples")
def dbscan(points: ImagePoints, radius, weights, *, periodic, search: Search, min_samples: int):
    """Return which points are cores (rows,), and labels (rows,), -1 for noise; weights (rows,) or None."""
    images = _images(points, periodic, search)
    tree = images.tree
    engine = search.engine
    metric = TreeMetric(search.p)
    row_count = len(points.data)
    slot_queries = _slot_queries(images, tree, radius, periodic, search)
    slot_count = tree.points.shape[1]
    weights_of_rows = jnp.ones(row_count, np.float64) if weights is None else weights.astype(np.float64)
    weights_of_slots = _by_slot(tree, weights_of_rows, 0.0)

    def add(places: Places, state):
        sums, has_border = state
        counts, is_border = slot_queries.counts(places, Relation.ANY)
        has_border = has_border.at[places.target].max(is_border)
        if weights is None:
            return sums.at[places.target].add(counts), has_border
        moved = slot_queries.moved(places, places.within(slot_queries.bounds.inner), Relation.ANY)
        bounds = jnp.max(slot_queries.bounds.inner)[None]
        (weight_sums,) = engine.bin_counts(slot_queries.tree, moved.queries, bounds, weights_of_slots, metric)
        weight_sums = jnp.where(moved.queries.bound >= 0, weight_sums, 0.0)

        def add_weights(neighbors: ImageNeighbors, is_wanted, weight_sums):
            neighbor_weights = weights_of_rows.at[neighbors.rows].get(mode="fill", fill_value=0.0)
            return weight_sums + jnp.sum(jnp.where(is_wanted, neighbor_weights, 0.0), axis=1)

        def measure_all(weight_sums):
            at_border = moved.within(_where_active(is_border, places.within(slot_queries.bounds.outer)))
            weight_sums = jnp.where(is_border, 0.0, weight_sums)
            return slot_queries.with_all_within(slot_queries.tree, at_border, add_weights, weight_sums)

        weight_sums = lax.cond(is_border.any(), measure_all, lambda sums: sums, weight_sums)
        return sums.at[places.target].add(weight_sums), has_border

    no_sums = jnp.zeros(slot_count, np.int32 if weights is None else np.float64)
    sums, has_border = _over_places(slot_queries.boxes, add, (no_sums, jnp.zeros(slot_count, bool)))
    joining = _SlotJoining(slot_queries, has_border)
    is_core_slot = jnp.isfinite(tree.points[0]) & (sums >= min_samples)
    is_core = _by_row(tree, row_count, is_core_slot, False)
    extra_rows = tree_size(*images.as_queries.x.shape) - row_count
    x = jnp.pad(jnp.where(is_core[:, None], images.as_queries.x, jnp.nan), ((0, extra_rows), (0, 0)))
    core_tree = engine.build(x, tree.n, tree.scale)
    _, labels = _labels(images, core_tree, radius, periodic, search)
    core_labels = _by_slot(core_tree, labels, NO_LABEL)
    unit = slot_queries.tree.scale / core_tree.scale

    def reach_cores(places: Places, lowest):
        places = places._replace(is_place=places.is_place & ~is_core_slot[places.query])
        return lowest.at[places.target].min(joining.lowest(core_tree.rescaled(unit), core_labels, places))

    no_labels = jnp.full(slot_count, NO_LABEL, np.int32)
    lowest_labels = _over_places(slot_queries.boxes, reach_cores, no_labels)
    slot_labels = jnp.where(lowest_labels < NO_LABEL, lowest_labels, -1)
    return is_core, jnp.where(is_core, labels, _by_row(tree, row_count, slot_labels, -1))
