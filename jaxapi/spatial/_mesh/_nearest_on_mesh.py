"""The nearest neighbors among the points of all devices."""

import dataclasses
import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core._typing import Array
from .._answers import Columns, pick_columns
from .._engines._by_platform import BY_PLATFORM
from .._search import Search
from .._tree._metric import distance_of_power, power, scaled_power
from .._tree._powers_of_two import unscaled
from .._tree._queries import Limits, Slots
from .._tree._tree import Tree
from .._tree_programs import LARGEST_PIECE, nearest_powers
from ._by_row import DataRows, Piece
from ._candidates import Candidates
from ._exchange import by_destination, written
from ._forest import global_rows
from ._rounds import FEW, ArrivedQueries, DeviceSearch, Origin, Rounds
from ._space import Space

__all__ = ["AllPoints", "Wanted", "nearest", "nearest_below"]

INT32 = np.dtype(np.int32)
MORE = 1.3  # times the points of uniform ones that are near a border, by simulation of 2 to 64 devices
PIECE = 1 << 23  # neighbors that are found at once before they are returned, at the least
PIECES = 6  # at the most: a search ends with few queries at work


class NearestState(NamedTuple):
    """What queries know of their neighbors."""

    candidates: Candidates  # with scaled power distances
    bound_power: Array  # (q,) a scaled power distance: only what is nearer is asked for


class NeighborSearch(DeviceSearch):
    """The search for the `k` nearest."""

    def __init__(self, space: Space, k: int, eps: Array):
        self.space = space
        self.k = k
        self.eps = eps

    def start(self, bound_power: Array) -> NearestState:
        """Return the state of queries that know of no neighbor."""
        space = self.space
        shape = len(bound_power), self.k
        return NearestState(
            Candidates.none(shape, space.n, bound_power.dtype, space.forest.rows_dtype), bound_power
        )

    def reach(self, state: NearestState) -> Array:
        """Return the power distance of the last candidate."""
        farthest = state.candidates.distances[:, -1]
        return jnp.where(state.bound_power > 0, jnp.minimum(farthest, state.bound_power), -1)

    def skips(self, state: NearestState, lowest_row: Array) -> Array:
        """Tell which queries have equal points with lower rows."""
        return state.candidates.is_closed_to(lowest_row)

    def message(self, state: NearestState) -> Array:
        """Send how far away neighbors may be."""
        return self.reach(state)

    def search(self, tree: Tree, slot_values, arrived: ArrivedQueries) -> Candidates:
        """Return the nearest points of one tree; `slot_values` are its rows, as in a forest."""
        # The bound is exclusive, and rounded on its way into a power distance again. A little more does no
        # harm: what it lets in comes behind all that lies below the bound, and is left out at the end.
        space = self.space
        p = space.metric.p
        reach = arrived.message
        info = jnp.finfo(reach.dtype)
        least = jnp.full_like(reach, 4 * info.tiny)
        bound = unscaled(_rounded_up(distance_of_power(jnp.maximum(reach, least), p), tree), tree.scale)
        bound = jnp.where(arrived.mask & (reach >= 0), bound, 0)
        k = min(self.k, space.share)
        limits = Limits(bound, self.eps)
        search = Search(p, None, reach.dtype, INT32, BY_PLATFORM)
        powers, rows = nearest_powers(tree, arrived.points, limits, space.metric, k=k, search=search)
        return Candidates(powers, global_rows(tree, slot_values, rows, space.n))

    def merge(self, state: NearestState, answer: Candidates) -> NearestState:
        """Keep the nearest of both, of equally distant ones the lowest rows."""
        return state._replace(candidates=state.candidates.merge(answer, self.space.n))


def nearest(space: Space, queries: Array, bound: Array, eps: Array, k: int) -> Candidates:
    """Return the `k` nearest of all points for this device's queries (q, m), nearer than `bound`."""
    near = space.near(queries, bound)
    bound_power = scaled_power(near.queries.bound, near.space.tree.scale, space.metric.p)
    candidates = nearest_below(near.space, near.queries.x, bound_power, eps, k)
    return candidates._replace(distances=near.distances(candidates.distances))


def nearest_below(space: Space, queries: Array, bound_power: Array, eps: Array, k: int) -> Candidates:
    """Return the nearest with scaled power distances, which are below `bound_power`, () or (q,)."""
    rounds, state = _rounds_of(space, queries, bound_power, NeighborSearch(space, k, eps), Origin.OUTSIDE)
    return _below_limit(rounds.run(state), space.n)


def _rounds_of(space: Space, queries: Array, bound_power: Array, search: NeighborSearch, origin: Origin):
    """Return the rounds of near queries, and their state at first."""
    is_finite = jnp.isfinite(queries).all(axis=1)
    queries = space.metric.wrap(jnp.where(is_finite[:, None], queries, 0))
    bound_power = jnp.where(is_finite, bound_power, 0)
    return Rounds(space, queries, search, space.forest.rows, origin), search.start(bound_power)


def _below_limit(state: NearestState, n: int) -> Candidates:
    distances, rows = state.candidates
    is_below = distances < state.bound_power[:, None]
    return Candidates(jnp.where(is_below, distances, jnp.inf), jnp.where(is_below, rows, n))


# --- of all points -------------------------------------------------------------------------------------


class Wanted(NamedTuple):
    """Which neighbors are asked for, and in which form."""

    columns: Columns
    n: int  # points of all devices, which stands for a missing neighbor
    dtype: np.dtype
    index_dtype: np.dtype

    @property
    def k(self) -> int:
        """How many neighbors are to be found."""
        return min(self.columns.k, self.n)

    def of(self, candidates: Candidates) -> Candidates:
        """Return the neighbors asked for."""
        rows = candidates.rows.astype(self.index_dtype)
        return Candidates(*pick_columns(candidates.distances, rows, self.n, self.columns.among(self.n)))

    def none(self, query_count: int) -> Candidates:
        """Return lists of no neighbors."""
        shape = query_count, math.prod(self.columns.shape)
        return Candidates.none(shape, self.n, self.dtype, self.index_dtype)


@dataclasses.dataclass(frozen=True)
class AllPoints:
    """The search for the neighbors of every point: nothing is sent that need not be.

    All points are searched for on their device, and what is found is written to their rows piece by piece,
    so that nothing but results needs room for all. Those whose k-th neighbor may lie on another device are
    searched for once more and there, some at a time.
    """

    space: Space
    wanted: Wanted
    bound: Array
    eps: Array

    def in_order_of_trees(self) -> Candidates:
        """Return the neighbors of the points of this device's tree, in the order of its leaves."""
        if self._at_once == self._point_count:
            return self._find_all()

        def write(results, values, slots):
            return written(results, slots, values)

        results, across = self._search_here()
        return self._search_across(results, across, write)

    def in_order_of_data(self, data_rows: DataRows) -> Candidates:
        """Return the neighbors of this device's rows of the data."""
        rows = self.space.rows_of_slots(self.space.tree.points.shape[1])
        results = self.wanted.none(data_rows.each)
        if self._at_once == self._point_count:
            return data_rows.write(results, self._find_all(), rows[: self._point_count])

        def write(results, values, slots):
            their_rows = rows.at[slots].get(mode="fill", fill_value=self.space.n)
            return data_rows.write(results, values, their_rows)

        prepared = self._prepared()

        def search(begin):
            return self._search_piece_here(prepared, begin, self._piece)

        piece = Piece(search, self._piece, self._point_count)
        results, across = data_rows.write_in_pieces(results, rows, piece)
        return self._search_across(results, across, write)

    @property
    def _point_count(self) -> int:
        """How many slots of a tree have a point, on the device that has most."""
        return self.space.share

    @property
    def _at_once(self) -> int:
        """How many points are searched for across borders at a time."""
        return near_a_border(self._point_count, self.wanted.k, self.space)

    @property
    def _piece(self) -> int:
        """How many points are searched for here at a time."""
        count = self._point_count
        return min(count, max(-(-count // PIECES), -(-PIECE // self.wanted.k)))

    def _find_all(self) -> Candidates:
        """Return the neighbors of all points at once."""
        found, _ = self._find(self.space.tree.points[:, : self._point_count], once=False)
        return found

    def _find(self, scaled_points: Array, once: bool):
        """Return the neighbors of some scaled points (m, c), and who may have others still.

        None may, unless they are to visit another device but `once`.
        """
        space = self.space
        near = space.near(space.tree.points_in_units(scaled_points), self.bound)
        bound_power = scaled_power(near.queries.bound, near.space.tree.scale, space.metric.p)
        search = NeighborSearch(near.space, self.wanted.k, self.eps)
        rounds, state = _rounds_of(near.space, near.queries.x, bound_power, search, Origin.OWN_POINTS)
        if once:
            state, may_have_others = rounds.run_once(state)
        else:
            state = rounds.run(state)
            may_have_others = jnp.zeros(len(bound_power), bool)
        candidates = _below_limit(state, space.n)
        distances = near.distances(candidates.distances)
        return self.wanted.of(candidates._replace(distances=distances)), may_have_others

    def _search_here(self):
        """Return what is found here, and who may have neighbors elsewhere."""
        count = self._point_count
        if count * max(self.wanted.k, len(self.space.tree.points)) <= LARGEST_PIECE:
            return self._search_piece_here(self._prepared(), 0, count)
        size = self._piece
        prepared = self._prepared()

        def step(i, results):
            begin = jnp.minimum(i * size, count - size)
            return jax.tree.map(
                lambda all_lines, some: lax.dynamic_update_slice_in_dim(all_lines, some, begin, 0),
                results,
                self._search_piece_here(prepared, begin, size),
            )

        nothing = self.space.axes.varying((self.wanted.none(count), jnp.zeros(count, bool)))
        return lax.fori_loop(0, -(-count // size), step, nothing)

    def _prepared(self):
        """Return what is made of the tree once for all pieces."""
        return BY_PLATFORM.prepare(self.space.tree, self.space.metric.boxsize)

    def _search_piece_here(self, prepared, begin, size: int):
        """Return the neighbors here of points from `begin` on, and who may have others elsewhere."""
        space = self.space
        tree = space.tree
        slots = Slots(jnp.asarray(begin, jnp.int32), size)
        limits = Limits(self.bound, self.eps)
        k = min(self.wanted.k, space.share)
        distances, rows = BY_PLATFORM.nearest_of_slots(tree, prepared, slots, limits, space.metric, k=k)
        candidates = Candidates(distances, global_rows(tree, space.forest.rows, rows, space.n))
        candidates = candidates.filled(self.wanted.k, space.n)
        return self.wanted.of(candidates), self._reaches_others(slots.of(tree.points), candidates)

    def _reaches_others(self, scaled_points: Array, candidates: Candidates) -> Array:
        """Tell which scaled points (m, c) may have neighbors on other devices besides these."""
        space = self.space
        info = jnp.finfo(scaled_points.dtype)
        tree = space.tree
        bound = tree.scaled(self.bound)
        farthest = _rounded_up(jnp.minimum(tree.scaled(candidates.distances[:, -1]), bound), tree)
        reach = jnp.maximum(power(lax.optimization_barrier(farthest), space.metric.p), 4 * info.tiny)
        is_asked = (scaled_points[0] < jnp.inf) & (bound > 0)
        reach = jnp.where(is_asked, reach, -1)
        return space.reaches_others(space.in_scaled_box(scaled_points), reach, candidates.is_closed_to)

    def _search_across(self, results: Candidates, across: Array, write) -> Candidates:
        """Return the results after those who reach `across` have been searched for again.

        A first part of them is searched for before it is asked how many there are. Those of it that are not
        done with come behind the others of it, so that all that are left follow each other.
        """
        count = self._point_count
        part_size = self._at_once
        axes = self.space.axes
        points = self.space.tree.points
        order = by_destination(jnp.where(across, 0, 1), 2)
        across_count = across.sum(dtype=jnp.int32)

        def find_part(results, order, begin, end, once: bool):
            place = begin + lax.iota(jnp.int32, part_size)
            slots_in_order = order.at[place].get(mode="clip")
            slots = jnp.where(place < end, slots_in_order, count + place)
            scaled_points = points.at[:, slots].get(mode="fill", fill_value=jnp.inf)
            found, may_have_others = self._find(scaled_points, once)
            return write(results, found, slots), may_have_others, slots_in_order

        results, is_left, slots = find_part(results, order, 0, across_count, once=True)
        order = order.at[:part_size].set(slots[by_destination(jnp.where(is_left, 1, 0), 2)])
        begin = part_size - is_left.sum(dtype=jnp.int32)
        end = jnp.maximum(across_count, part_size)
        part_count = -(-axes.max(end - begin) // part_size)

        def step(i, results):
            results, _, _ = find_part(results, order, begin + i * part_size, end, once=False)
            return results

        return lax.fori_loop(jnp.int32(0), part_count, step, axes.varying(results))


def _rounded_up(distances: Array, tree: Tree) -> Array:
    """Return scaled distances that are no less than they were before roundings, in the user's units, too."""
    info = jnp.finfo(distances.dtype)
    least = tree.scaled(jnp.full((), info.smallest_subnormal, distances.dtype))
    return distances * (1 + 16 * float(info.eps)) + least


def near_a_border(point_count: int, k: int, space: Space) -> int:
    """Return how many points are searched for again at a time: those near a border, were they uniform.

    A ball of `k` points is as wide as `k` of them; with more devices, a box has more sides that others touch.
    """
    sides = (1 + math.log2(space.axes.size)) / 2
    m = len(space.tree.points)
    some = MORE * sides * k ** (1 / m) * point_count ** (1 - 1 / m)
    return min(point_count, max(FEW, math.ceil(some)))
