"""Components and DBSCAN of the points of all devices.

Each device joins its own points. Then those whose balls reach other devices ask these for the lowest
component near them, in rounds, until nothing changes. Which components have been joined all devices know, by
a number for each point of all: so a round joins whole components, and there are as many rounds as the
logarithm of the number of those that lie on several devices.
"""

import dataclasses
from abc import abstractmethod
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core._dtypes import x64_for
from ..._core._typing import Array
from .._engines._by_platform import BY_PLATFORM, PORTABLE
from .._engines._lax._components import flattened
from .._tree._queries import RadiusQueries, Relation, own_queries, radius_bound
from .._tree._tree import Tree
from ._by_row import DataRows
from ._exchange import by_destination, written
from ._rounds import FEW, PART, ArrivedQueries, Origin
from ._space import Space
from ._within import Balls, BallSearch, around

__all__ = ["DensityLabels", "LabeledComponents", "components", "dbscan"]

NONE = np.iinfo(np.int32).max


class LabeledComponents(NamedTuple):
    """Connected components, numbered by their lowest row."""

    number: Array  # of components
    labels: Array  # of rows or slots; -1 where there is no point


class DensityLabels(NamedTuple):
    """What DBSCAN finds."""

    is_core: Array
    labels: Array  # -1 for noise


def components(space: Space, radius: Array, data_rows: DataRows) -> LabeledComponents:
    """Return how many components the points have, and labels (s,) of this device's rows of the data."""
    rows = _rows_of_slots(space)
    points = TreePoints(space, _points_of(space, radius), radius)
    found = _joined(rows, points, slots=lax.iota(jnp.int32, len(rows)))
    labels = data_rows.write(jnp.full(data_rows.each, -1, jnp.int32), found.labels, rows)
    return LabeledComponents(found.number, labels)


def dbscan(
    space: Space, weights: Array | None, radius: Array, data_rows: DataRows, min_samples: int
) -> DensityLabels:
    """Return which of this device's rows of the data are cores (s,), and their labels (s,).

    `weights` (s,) belong to these rows, too; without them each point counts 1.
    """
    tree = space.tree
    rows = _rows_of_slots(space)
    queries = _points_of(space, radius)
    points = TreePoints(space, queries, radius)
    if weights is None:
        is_enough = points.around_all(NeighborCount(space, radius)) >= min_samples
    else:
        with x64_for(np.dtype(np.float64)):
            weights = data_rows.read(weights.astype(np.float64), rows)
            is_enough = points.around_all(NeighborWeights(space, radius), weights) >= min_samples

    # The cores have a tree of their own, in the same units; its rows are the slots of this one.
    is_core = (rows < space.n) & is_enough
    core_points = jnp.where(is_core[:, None], tree.points_in_units(tree.points), jnp.nan)
    core_tree = BY_PLATFORM.build(core_points, jnp.int32(len(rows)), tree.scale)
    cores = dataclasses.replace(space, forest=space.forest._replace(tree=core_tree, rows=None))
    slots = core_tree.rows
    core_rows = rows.at[slots].get(mode="fill", fill_value=space.n)
    found = _joined(core_rows, TreePoints(cores, queries, radius), slots)

    # Each other point belongs to the lowest cluster that has a core near it, here or elsewhere.
    home_leaves = lax.iota(jnp.int32, len(rows)) // tree.leaf_size
    others = queries._replace(bound=jnp.where(is_core, -1, queries.bound), slot=~home_leaves)
    numbers = jnp.where(found.labels < 0, NONE, found.labels)
    lowest_here = TreePoints(cores, others, radius).around_here(LowestNumber(cores, radius), numbers)
    lowest = jnp.minimum(lowest_here, found.elsewhere)
    labels = jnp.where(lowest < NONE, lowest, -1).at[slots].set(found.labels, mode="drop")
    nothing = jnp.zeros(data_rows.each, jnp.int32), jnp.full(data_rows.each, -1, jnp.int32)
    core_flags, labels = data_rows.write(nothing, (is_core.astype(jnp.int32), labels), rows)
    return DensityLabels(core_flags == 1, labels)


def _points_of(space: Space, radius: Array) -> RadiusQueries:
    """Return the points of this device as queries, slot by slot."""
    return own_queries(space.tree, radius, space.metric.p).by_slot()


def _rows_of_slots(space: Space) -> Array:
    return space.rows_of_slots(space.tree.points.shape[1]).astype(jnp.int32)


class Joined(NamedTuple):
    """Components of the points of the trees, and what is near other points."""

    number: Array  # of components
    labels: Array  # (N,) of the tree's slots; -1 without a point
    elsewhere: Array  # (q,) the lowest component that each query reaches on other devices; NONE without one


def _joined(rows: Array, points: "TreePoints", slots: Array) -> Joined:
    """Return the components of the points of the trees, whose slots have these rows (N,) of all.

    The queries `points` are those of the trees, and maybe others: `slots` (N,) says which ones they are.
    """
    space = points.space
    tree = space.tree
    axes = space.axes
    n = space.n
    # Kernels join the points of whole nodes at once; those of a flat tree are none.
    engine = PORTABLE if tree.is_flat else BY_PLATFORM
    first = engine.component_rows(tree._replace(rows=rows), points.radius, space.metric)
    search = LowestNumber(space, points.radius)

    def join(state):
        parents, _, _ = state
        numbers = parents[first]
        known = search.nothing(points.count, numbers).at[slots].set(numbers, mode="drop")
        lowest = points.around_elsewhere(known, search, numbers)
        lowest_of_slots = lowest.at[slots].get(mode="fill", fill_value=NONE)
        joined = flattened(axes.min(parents.at[numbers].min(lowest_of_slots)))
        return joined, lowest, (joined != parents).any()

    # Of each device's components the lowest row, n for the others and at the end.
    parents = axes.min(jnp.full(n + 1, n, jnp.int32).at[first].set(first))
    nothing = axes.varying(search.nothing(points.count, None))
    start = parents, nothing, jnp.bool_(True)
    parents, lowest, _ = lax.while_loop(lambda state: state[-1], join, start)
    is_first = parents[:n] == lax.iota(jnp.int32, n)
    numbers = jnp.cumsum(is_first, dtype=jnp.int32)
    labels = jnp.pad(numbers - 1, (0, 1), constant_values=-1)
    elsewhere = jnp.where(lowest < NONE, labels[jnp.minimum(lowest, n)], NONE)
    return Joined(numbers[-1], labels[parents[first]], elsewhere)


# --- what points ask of the devices near them ----------------------------------------------------------


class PointSearch(BallSearch):
    """A search around points of the devices' trees, all with the same radius."""

    copies_trees = False

    def __init__(self, space: Space, radius: Array):
        self.space = space
        self.radius = radius

    def search(self, tree: Tree, slot_values, arrived: ArrivedQueries) -> Array:
        """Return the answers of one device."""
        reach = jnp.where(arrived.mask, self.radius, -1)
        queries = BY_PLATFORM.ordered_queries(tree, arrived.points, reach, self.space.metric)
        return self.find(tree, queries, slot_values)

    @abstractmethod
    def nothing(self, query_count: int, slot_values) -> Array:
        """Return the answer where there is no point."""

    @abstractmethod
    def find(self, tree: Tree, queries: RadiusQueries, slot_values) -> Array:
        """Return the answers of a tree to queries that are made ready."""


class NeighborCount(PointSearch):
    """How many points are near."""

    def nothing(self, query_count: int, slot_values) -> Array:
        """Return 0."""
        return jnp.zeros(query_count, jnp.int32)

    def find(self, tree: Tree, queries: RadiusQueries, slot_values) -> Array:
        """Count."""
        return BY_PLATFORM.count(tree, queries, self.space.metric, relation=Relation.ANY)

    def combine(self, result: Array, answer: Array) -> Array:
        """Add up."""
        return result + answer


class NeighborWeights(PointSearch):
    """The sum of the slots' weights that are near."""

    def nothing(self, query_count: int, slot_values) -> Array:
        """Return 0."""
        return jnp.zeros(query_count, slot_values.dtype)

    def find(self, tree: Tree, queries: RadiusQueries, slot_values) -> Array:
        """Add up those of one tree."""
        metric = self.space.metric
        bound = radius_bound(tree, self.radius, metric.p)[None]
        (sums,) = BY_PLATFORM.bin_counts(tree, queries, bound, slot_values, metric)
        return jnp.zeros_like(sums).at[queries.order].set(sums, unique_indices=True)

    def combine(self, result: Array, answer: Array) -> Array:
        """Add up."""
        return result + answer


class LowestNumber(PointSearch):
    """The lowest of the slots' numbers that are near."""

    def nothing(self, query_count: int, slot_values) -> Array:
        """Return the greatest number."""
        return jnp.full(query_count, NONE, jnp.int32)

    def find(self, tree: Tree, queries: RadiusQueries, slot_values) -> Array:
        """Return the lowest of one tree."""
        return BY_PLATFORM.lowest(tree, queries, slot_values, self.space.metric)

    def combine(self, result: Array, answer: Array) -> Array:
        """Return the lower one."""
        return jnp.minimum(result, answer)


class TreePoints:
    """Points of this device as queries, and which of them have other devices within the radius."""

    def __init__(self, space: Space, queries: RadiusQueries, radius: Array):
        self.space = space
        self.queries = queries
        self.radius = radius
        self.count = len(queries.bound)
        self.at_once = min(self.count, max(FEW, self.count // PART))

    def around_all(self, search: PointSearch, slot_values=None) -> Array:
        """Return what a search finds around every point, (q,)."""
        if self.at_once == self.count:
            balls = self._balls(self.queries.points, self.queries.bound >= 0)
            nothing = search.nothing(self.count, slot_values)
            return around(self.space, balls, search, nothing, slot_values, Origin.OWN_POINTS)
        here = self.around_here(search, slot_values)
        return self.around_elsewhere(here, search, slot_values)

    def around_here(self, search: PointSearch, slot_values=None) -> Array:
        """Return what a search finds around every point on this device, (q,)."""
        return search.find(self.space.tree, self.queries, slot_values)

    def around_elsewhere(self, result: Array, search: PointSearch, slot_values=None) -> Array:
        """Return the result (q,) with what the search finds on other devices."""
        space = self.space
        q = self.count
        if self.at_once == q:
            balls = self._balls(self.queries.points, self.queries.bound >= 0)
            return around(space, balls, search, result, slot_values, Origin.SEARCHED_OWN_POINTS)
        scaled_points = space.in_scaled_box(self.queries.points)
        is_near = space.reaches_others(scaled_points, self.queries.bound)
        order = by_destination(jnp.where(is_near, 0, 1), 2)
        near_count = is_near.sum(dtype=jnp.int32)

        def step(i, result):
            place = i * self.at_once + lax.iota(jnp.int32, self.at_once)
            mask = place < near_count
            queries = jnp.where(mask, order.at[place].get(mode="clip"), q + place)
            scaled_points = self.queries.points.at[:, queries].get(mode="fill", fill_value=jnp.inf)
            known = result.at[queries].get(mode="clip")
            balls = self._balls(scaled_points, mask)
            found = around(space, balls, search, known, slot_values, Origin.SEARCHED_OWN_POINTS)
            return written(result, queries, found)

        part_count = -(-space.axes.max(near_count) // self.at_once)
        return lax.fori_loop(jnp.int32(0), part_count, step, space.axes.varying(result))

    def _balls(self, scaled_points: Array, mask: Array) -> Balls:
        """Return the balls around some scaled points (m, c); those outside of the mask reach nothing."""
        return Balls(self.space.tree.points_in_units(scaled_points), jnp.where(mask, self.radius, -1), ())
