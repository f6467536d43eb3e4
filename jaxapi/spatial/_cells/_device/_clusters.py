"""Components of points within a radius, with all images, and dbscan."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from ...._core._typing import Array
from ..._engines._lax._components import flattened
from ..._search import Search
from ..._tree._metric import TreeMetric
from ..._tree._queries import Relation
from ..._tree._tree import Tree
from .._points import ImagePoints
from . import _clouds
from ._image_search import ImageNeighbors
from ._images import Images, images_of, in_float64, rows_of_tree, where_active
from ._places import Places, over_places
from ._slots import SlotQueries, slot_queries_of

__all__ = ["components", "dbscan"]

NO_LABEL = np.iinfo(np.int32).max


class _SlotJoining(NamedTuple):
    """The slots of a tree as queries, which are joined to slots of this tree or of another one."""

    slot_queries: SlotQueries
    has_border: Array  # (N,) whether a slot has neighbors at the radius, in any image

    def lowest(self, tree: Tree, numbers, places: Places) -> Array:
        """Return the lowest of the slots' numbers (N,) of a tree that is in reach from each place (C,)."""
        slot_queries = self.slot_queries
        engine = slot_queries.image_search.search.engine
        metric = TreeMetric(slot_queries.image_search.search.p)
        moved = slot_queries.moved(places, places.take_bounds(slot_queries.bounds.inner), Relation.ANY)
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
            outer = places.take_bounds(slot_queries.bounds.outer)
            at_border = moved.with_bounds(where_active(has_border, outer))
            return slot_queries.with_all_within(tree, at_border, add, lowest)

        return lax.cond(has_border.any(), measure_all, lambda lowest: lowest, lowest_inside)


def _joining(images: Images, tree: Tree, radius, search: Search) -> _SlotJoining:
    """Return the slots of a tree over the points, to be joined."""
    slot_queries = slot_queries_of(images, tree, radius, search)

    def add(places: Places, has_border):
        _, is_border = slot_queries.counts(places, Relation.ANY)
        return has_border.at[places.target].max(is_border)

    no_border = jnp.zeros(tree.points.shape[1], bool)
    has_border = over_places(slot_queries.boxes, add, no_border)
    return _SlotJoining(slot_queries, has_border)


def _lowest_rows(joining: _SlotJoining, tree: Tree) -> Array:
    """Return the lowest row of the component of each slot (N,), in rounds as `_lax._components` does."""
    slot_queries = joining.slot_queries
    slots = lax.iota(np.int32, tree.points.shape[1])

    def join(state):
        roots, _ = state

        def undercut(places: Places, lowest):
            return lowest.at[places.target].min(joining.lowest(slot_queries.tree, roots, places))

        lowest_roots = over_places(slot_queries.boxes, undercut, roots)
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


def _labels(images: Images, tree: Tree, radius, search: Search) -> tuple[Array, Array]:
    """Return how many components the points of a tree have, and labels (rows,) by their lowest rows."""
    row_count = len(images.points.data)
    joining = _joining(images, tree, radius, search)
    lowest = _by_row(tree, row_count, _lowest_rows(joining, tree), -1)
    is_lowest = lowest == jnp.arange(row_count, dtype=np.int32)
    number = search.engine.running_sums(is_lowest.astype(np.int32))
    return number[-1], jnp.where(lowest < 0, -1, number[lowest])


def _sums_of_weights(
    slot_queries: SlotQueries, places: Places, is_border, weights_of_rows, weights_of_slots
) -> Array:
    """Return the sums (C,) of weights of neighbors from each place, at the radius where `is_border` (C,)."""
    search = slot_queries.image_search.search
    tree = slot_queries.tree
    moved = slot_queries.moved(places, places.take_bounds(slot_queries.bounds.inner), Relation.ANY)
    # All points have the same inner bound. Slots without a point have -1.
    inner_bound = jnp.max(slot_queries.bounds.inner)
    (sums,) = search.engine.bin_counts(
        tree, moved.queries, inner_bound[None], weights_of_slots, TreeMetric(search.p)
    )
    sums = jnp.where(moved.queries.bound >= 0, sums, 0.0)

    def add(neighbors: ImageNeighbors, is_wanted, sums):
        neighbor_weights = weights_of_rows.at[neighbors.rows].get(mode="fill", fill_value=0.0)
        return sums + jnp.sum(jnp.where(is_wanted, neighbor_weights, 0.0), axis=1)

    def measure_all(sums):
        outer = places.take_bounds(slot_queries.bounds.outer)
        at_border = moved.with_bounds(where_active(is_border, outer))
        sums = jnp.where(is_border, 0.0, sums)
        return slot_queries.with_all_within(tree, at_border, add, sums)

    return lax.cond(is_border.any(), measure_all, lambda sums: sums, sums)


@in_float64("periodic", "search")
def components(points: ImagePoints, radius, *, periodic, search: Search):
    """Return how many components there are, and labels (rows,) by their lowest rows, -1 for no point."""
    images = images_of(points, periodic, search)
    if _clouds.serves(points):
        return _clouds.components(images, radius, search)
    return _labels(images, images.tree, radius, search)


@in_float64("periodic", "search", "min_samples")
def dbscan(points: ImagePoints, radius, weights, *, periodic, search: Search, min_samples: int):
    """Return which points are cores (rows,), and labels (rows,), -1 for noise; weights (rows,) or None."""
    images = images_of(points, periodic, search)
    if _clouds.serves(points):
        return _clouds.dbscan(images, radius, weights, search, min_samples)
    tree = images.tree
    row_count = len(points.data)
    slot_queries = slot_queries_of(images, tree, radius, search)
    slot_count = tree.points.shape[1]
    weights_of_rows = jnp.ones(row_count, np.float64) if weights is None else weights.astype(np.float64)
    weights_of_slots = _by_slot(tree, weights_of_rows, 0.0)

    def add(places: Places, state):
        sums, has_border = state
        sums_of_places, is_border = slot_queries.counts(places, Relation.ANY)
        has_border = has_border.at[places.target].max(is_border)
        if weights is not None:
            sums_of_places = _sums_of_weights(
                slot_queries, places, is_border, weights_of_rows, weights_of_slots
            )
        return sums.at[places.target].add(sums_of_places), has_border

    no_sums = jnp.zeros(slot_count, np.int32 if weights is None else np.float64)
    sums, has_border = over_places(slot_queries.boxes, add, (no_sums, jnp.zeros(slot_count, bool)))
    joining = _SlotJoining(slot_queries, has_border)
    is_core_slot = jnp.isfinite(tree.points[0]) & (sums >= min_samples)
    is_core = _by_row(tree, row_count, is_core_slot, False)
    x = rows_of_tree(images.in_cell)
    is_core_of_tree = jnp.pad(is_core, (0, len(x) - row_count), constant_values=True)
    x = jnp.where(is_core_of_tree[:, None], x, jnp.nan)
    core_tree = search.engine.build(x, tree.n, tree.scale)
    _, labels = _labels(images, core_tree, radius, search)
    core_labels = _by_slot(core_tree, labels, NO_LABEL)
    unit = slot_queries.tree.scale / core_tree.scale

    def reach_cores(places: Places, lowest):
        places = places._replace(is_place=places.is_place & ~is_core_slot[places.query])
        return lowest.at[places.target].min(joining.lowest(core_tree.rescaled(unit), core_labels, places))

    no_labels = jnp.full(slot_count, NO_LABEL, np.int32)
    lowest_labels = over_places(slot_queries.boxes, reach_cores, no_labels)
    slot_labels = jnp.where(lowest_labels < NO_LABEL, lowest_labels, -1)
    return is_core, jnp.where(is_core, labels, _by_row(tree, row_count, slot_labels, -1))
