"""The points of all devices within a radius: how many, which, the nearest of them, their weights."""

from abc import abstractmethod
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from ..._core._typing import Array
from .. import _tree_programs
from .._engines._by_platform import BY_PLATFORM
from .._search import Search
from .._tree._powers_of_two import unscaled
from .._tree._queries import radius_bound
from .._tree._scaling import NearQueries
from .._tree._sorting import sorted_by_distance
from .._tree._tree import Tree
from .._tree_programs import PaddedQueries
from ._by_row import DataRows
from ._candidates import Candidates
from ._forest import global_rows
from ._nearest_on_mesh import nearest_below
from ._rounds import ArrivedQueries, DeviceSearch, Origin, Rounds
from ._space import NearInSpace, Space

__all__ = ["BallSearch", "all_within", "around", "counts_within", "nearest_within", "sums_within"]

INT32 = np.dtype(np.int32)


class BallState(NamedTuple):
    """What is known of the points within each query's radius."""

    result: Any  # arrays (q, ...)
    reach: Array  # (q,) the scaled power of the radius; -1 for no search
    message: Any  # arrays (q, ...) that a device needs besides the query


class BallSearch(DeviceSearch):
    """A search of every device that a query's ball reaches."""

    def reach(self, state: BallState) -> Array:
        """Return the radius."""
        return state.reach

    def message(self, state: BallState):
        """Send what a device needs."""
        return state.message

    @abstractmethod
    def combine(self, result, answer):
        """Return the result after an answer."""

    def merge(self, state: BallState, answer) -> BallState:
        """Return the state after an answer."""
        return state._replace(result=self.combine(state.result, answer))


class Balls(NamedTuple):
    """Queries with the radius around each."""

    points: Array  # (q, m) near the points of the trees
    radius: Array  # () or (q,)
    message: Any  # arrays (q, ...) that a device needs besides


def around(
    space: Space, balls: Balls, search: BallSearch, result, slot_values=None, origin: Origin = Origin.OUTSIDE
):
    """Return the result (q, ...) with what the search finds on every device that a ball reaches."""
    is_finite = jnp.isfinite(balls.points).all(axis=1)
    points = space.metric.wrap(jnp.where(is_finite[:, None], balls.points, 0))
    reach = radius_bound(space.tree, jnp.where(is_finite, balls.radius, -1), space.metric.p)
    state = BallState(result, reach, balls.message)
    return Rounds(space, points, search, slot_values, origin).run(state).result


def tree_search(p: float, dtype) -> Search:
    """Return a radius search within one tree, by the engine of its device."""
    return Search(p, None, np.dtype(dtype), INT32, BY_PLATFORM)


class CountSearch(BallSearch):
    """How many points lie within each query's radius, which goes along with it."""

    def __init__(self, space: Space, index_dtype: np.dtype):
        self.space = space
        self.index_dtype = index_dtype

    def search(self, tree: Tree, slot_values, arrived: ArrivedQueries) -> Array:
        """Count those of one tree."""
        arrived = arrived.masked()
        metric = self.space.metric
        search = tree_search(metric.p, arrived.points.dtype)
        inputs = tree, PaddedQueries(arrived.points, None), arrived.message, metric
        (counts,) = _tree_programs.counts_within(*inputs, search=search)
        return counts.astype(self.index_dtype)

    def combine(self, result: Array, answer: Array) -> Array:
        """Add up."""
        return result + answer


def counts_within(space: Space, queries: Array, radius: Array, index_dtype: np.dtype) -> Array:
    """Return how many points lie within `radius`, () or (q,), of each of this device's queries (q, m)."""
    return _counts_of_near(space.near(queries, radius), index_dtype)


def _counts_of_near(near: NearInSpace, index_dtype: np.dtype) -> Array:
    x, bound, _ = near.queries
    balls = Balls(x, bound, bound)
    nothing = jnp.zeros(len(x), index_dtype)
    return around(near.space, balls, CountSearch(near.space, index_dtype), nothing)


class ListSearch(BallSearch):
    """All points within each query's radius, which goes along with it; no query has more than `most`."""

    def __init__(self, space: Space, most: int):
        self.space = space
        self.most = most

    def search(self, tree: Tree, slot_values, arrived: ArrivedQueries) -> Candidates:
        """Return those of one tree; `slot_values` are its rows, as in a forest."""
        arrived = arrived.masked()
        metric = self.space.metric
        search = tree_search(metric.p, arrived.points.dtype)
        inputs = tree, PaddedQueries(arrived.points, None), arrived.message, metric
        rows, distances, _ = _tree_programs.nearest_within(*inputs, search=search, max_neighbors=self.most)
        return Candidates(distances, global_rows(tree, slot_values, rows, self.space.n))

    def combine(self, result: Candidates, answer: Candidates) -> Candidates:
        """Join the lists."""
        return result.merge(answer, self.space.n)


def all_within(space: Space, queries: Array, radius: Array, most: int) -> Candidates:
    """Return all points within `radius`, () or (q,), of each query, of which none has more than `most`."""
    near = space.near(queries, radius)
    forest = near.space.forest
    nothing = Candidates.none((len(queries), most), space.n, queries.dtype, forest.rows_dtype)
    x, bound, _ = near.queries
    balls = Balls(x, bound, bound)
    found = around(near.space, balls, ListSearch(near.space, most), nothing, forest.rows)
    return found._replace(distances=near.queries.distances(found.distances))


class NearestWithin(NamedTuple):
    """The nearest points within a radius."""

    candidates: Candidates  # (q, max_neighbors)
    counts: Array  # (q,) of all within the radius


def nearest_within(
    space: Space, queries: Array, radius: Array, max_neighbors: int, index_dtype: np.dtype
) -> NearestWithin:
    """Return the nearest within `radius`, () or (q,), and true counts.

    As `_tree_programs.nearest_within`: ordered by distance and row, or where some are left out by the
    distance before its root.
    """
    near = space.near(queries, radius)
    space = near.space
    counts = _counts_of_near(near, index_dtype)
    reach = radius_bound(space.tree, near.queries.bound, space.metric.p)
    above = jnp.nextafter(reach, jnp.full_like(reach, jnp.inf))
    tiny = jnp.finfo(reach.dtype).tiny  # the number after 0 is subnormal, and XLA takes it for 0
    limits = jnp.where(reach >= 0, jnp.maximum(above, tiny), 0)
    exact = jnp.zeros((), reach.dtype)
    by_power = nearest_below(space, near.queries.x, limits, exact, max_neighbors)
    by_power = by_power._replace(distances=near.distances(by_power.distances))
    by_distance = Candidates(*sorted_by_distance(*by_power))
    is_whole = (counts <= max_neighbors)[:, None]
    distances = jnp.where(is_whole, by_distance.distances, by_power.distances)
    rows = jnp.where(is_whole, by_distance.rows, by_power.rows)
    return NearestWithin(Candidates(distances, rows.astype(index_dtype)), counts)


class SumSearch(BallSearch):
    """The sums of the slots' weights within several radii (R,); the queries' halvings go along with them."""

    def __init__(self, space: Space, radii: Array, dtype: np.dtype):
        self.space = space
        self.radii = radii
        self.dtype = dtype

    def search(self, tree: Tree, slot_values, arrived: ArrivedQueries) -> Array:
        """Return the sums of one tree (q, R)."""
        metric = self.space.metric
        halvings = arrived.message
        near = NearQueries(arrived.points, jnp.zeros(halvings.shape, arrived.points.dtype), halvings)
        search = tree_search(metric.p, arrived.points.dtype)
        weights = slot_values.astype(self.dtype)
        order, parts = _tree_programs.sums_within(tree, near, self.radii, weights, metric, search=search)
        sums = jnp.concatenate([*parts]).T
        sums = jnp.zeros_like(sums).at[order].set(sums, unique_indices=True)
        return jnp.where(arrived.mask[:, None], sums, 0)

    def combine(self, result: Array, answer: Array) -> Array:
        """Add up."""
        return result + answer


def sums_within(space: Space, queries: Array, radii: Array, weights: Array) -> Array:
    """Return the sums (q, R) of the weights of the points within each of the `radii` (R,).

    `weights` (s,) belong to this device's rows of the data.
    """
    data_rows = DataRows(space.n, len(weights), space.axes)
    weights = data_rows.read(weights, space.rows_of_slots(space.tree.points.shape[1]))
    narrow = jnp.int32 if jnp.issubdtype(weights.dtype, jnp.integer) else weights.dtype
    tree = space.tree
    largest = unscaled(jnp.max(tree.scaled(radii)), tree.scale)
    near = space.near(queries, largest)
    nothing = jnp.zeros((len(queries), len(radii)), weights.dtype)
    balls = Balls(*near.queries)
    search = SumSearch(near.space, radii, weights.dtype)
    return around(near.space, balls, search, nothing, weights.astype(narrow))
