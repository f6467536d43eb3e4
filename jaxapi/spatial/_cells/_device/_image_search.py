"""Neighbors of queries among images: measured, in order, and merged."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ...._core._typing import Array
from ... import _tree_programs
from ..._search import Search
from ..._tree._metric import TreeMetric
from ..._tree._queries import RadiusQueries, Relation
from ..._tree._tree import Tree
from ..._tree_programs import PaddedQueries
from .._images import WrappedQueries
from .._points import ROUNDING
from ._images import Images, cell_shifts, measured_distances, where_active

__all__ = ["ImageNeighbors", "ImageSearch", "tied_reach_of", "with_all_within"]

NEIGHBORS_PER_STEP = 8  # of each query, that are measured at a time


class ImageNeighbors(NamedTuple):
    """The nearest images of each query by (distance, row, shift)."""

    distances: Array  # (q, k) inf where there is none
    rows: Array  # (q, k) n where there is none
    shifts: Array  # (q, k, m) int32, 0 where there is none

    @classmethod
    def empty(cls, query_count: int, length: int, images: Images) -> "ImageNeighbors":
        """Return room for so many neighbors of each query, and none in it."""
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

    def counts(self) -> Array:
        """Return how many neighbors each query (q,) has."""
        return jnp.sum(self.distances < jnp.inf, axis=1, dtype=np.int32)

    def without(self, is_left_out, n) -> "ImageNeighbors":
        """Return no neighbors of some of the queries (q,)."""
        return self.kept(jnp.broadcast_to(~is_left_out[:, None], self.rows.shape), n)

    def kept(self, is_kept, n) -> "ImageNeighbors":
        """Return some of them, in order, and behind them nothing."""
        distances = jnp.where(is_kept, self.distances, jnp.inf)
        rows = jnp.where(is_kept, self.rows, n)
        return ImageNeighbors(distances, rows, jnp.where(is_kept[..., None], self.shifts, 0)).in_order()


class ImageSearch(NamedTuple):
    """A search of queries among the images of points."""

    images: Images
    queries: WrappedQueries
    search: Search

    def of(self, query) -> "ImageSearch":
        """Return the search of some of the queries."""
        return self._replace(queries=self.queries.of(query))

    def measured(self, rows, shift) -> ImageNeighbors:
        """Return rows (q, k) that queries found when they were moved by a shift, and measure them.

        The shift is that of all, (P,), or of each, (q, P). Points of other clouds are nobody's neighbors.
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
        shifts = cell_shifts(images, queries.turns[:, None, :], ids, rows, shift)
        distances = measured_distances(images, queries.given, queries.ids, rows, shifts, self.search.p)
        return ImageNeighbors(distances, rows, shifts)

    def moved(self, shift) -> PaddedQueries:
        """Return the queries moved back by a shift of the lattice, that of all, (P,), or of each, (q, P)."""
        queries = self.queries
        x = self.images.in_cell.moved(queries.inside, queries.ids, queries.lattice, shift)
        return PaddedQueries(jnp.where(queries.is_finite[:, None], x, jnp.nan), None)

    def with_all_within(self, shift, radii, visit: Callable, state):
        """Return the state after ``visit(neighbors, state)`` for all within radii (q,), some at a time."""
        metric = TreeMetric(self.search.p)
        x = self.moved(shift).x
        prepared = _tree_programs.ordered(self.images.tree, x, radii, metric, self.search)

        def visit_rows(rows, state):
            rows_by_query = jnp.full_like(rows, self.images.points.n).at[prepared.queries.order].set(rows)
            return visit(self.measured(rows_by_query, shift), state)

        from_the_first = jnp.full(len(x), -1, np.int32)
        return with_all_within(
            prepared.tree, prepared.queries, from_the_first, self.search, visit_rows, state
        )


def with_all_within(tree: Tree, queries: RadiusQueries, after, search: Search, visit: Callable, state):
    """Return the state after ``visit(rows, state)`` for all neighbors of queries, some of each at a time.

    The neighbors are those in slots after `after` (Q,), -1 for all. Rows (Q, NEIGHBORS_PER_STEP) are in the
    order of the prepared queries, n where there is none.
    """
    slot_count = tree.points.shape[1]
    slots = lax.iota(np.int32, slot_count)
    slot_of_row = jnp.zeros(slot_count, np.int32).at[tree.rows].set(slots, mode="drop")

    def more(state):
        _, has_more, _ = state
        return has_more.any()

    def next_neighbors(state):
        last_slots, has_more, state = state
        rows = _next_rows(tree, queries, last_slots, has_more, search)
        last_rows = rows[:, -1]
        has_more &= last_rows < tree.n
        last_slots = jnp.where(has_more, slot_of_row[jnp.minimum(last_rows, slot_count - 1)], slot_count)
        return last_slots, has_more, visit(rows, state)

    start = after, queries.bound >= 0, state
    _, _, state = lax.while_loop(more, next_neighbors, start)
    return state


def _next_rows(tree: Tree, queries: RadiusQueries, last_slots, has_more, search: Search) -> Array:
    """Return the rows (Q, NEIGHBORS_PER_STEP) of the first neighbors behind the last slots (Q,), n for none.

    An engine fills the neighbors of a query in the order of slots. Asked for the relation LATER, it leaves
    out those up to the slot of the query itself, so each query is said to be in its last slot.
    """
    count = len(queries.bound)
    queries_in_last_slots = RadiusQueries(
        queries.points,
        bound=where_active(has_more, queries.bound),
        slot=last_slots,
        order=lax.iota(np.int32, count),
    )
    offsets = jnp.arange(count + 1, dtype=np.int32) * NEIGHBORS_PER_STEP
    rows, _ = search.engine.fill(
        tree,
        queries_in_last_slots,
        offsets,
        TreeMetric(search.p),
        size=count * NEIGHBORS_PER_STEP,
        relation=Relation.LATER,
    )
    return rows.reshape(count, NEIGHBORS_PER_STEP)


def tied_reach_of(images: Images, queries: WrappedQueries, distances, k: int) -> Array:
    """Return the distance (q,) up to which points may be as near as the k-th of distances (q, k + 1).

    It is -1 where the next one is farther, with room for rounding: then the nearest `k` are known.
    """
    last_distance = distances[:, k - 1]
    next_distance = distances[:, k]
    rounding = queries.rounding
    reach = jnp.where(last_distance < jnp.inf, last_distance, 0) * (1 + 2 * ROUNDING) + 2 * rounding
    is_tied = (next_distance < jnp.inf) & (next_distance <= reach)
    if queries.ids is not None:
        is_tied &= last_distance < images.in_cell.spacing / 4  # what is farther is of another cloud
        reach = jnp.minimum(reach, images.in_cell.spacing / 4)
    return jnp.where(is_tied, reach, -1.0)
