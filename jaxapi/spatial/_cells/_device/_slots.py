"""The points as queries: the slots of the tree, searched for from many places."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from ...._core._typing import Array
from ..._every_pair import longest_within
from ..._search import Search
from ..._tree._metric import TreeMetric
from ..._tree._queries import RadiusQueries, Relation, radius_bound
from ..._tree._scaling import with_room_for_powers
from ..._tree._tree import Tree
from .._images import Box
from ._image_search import ImageNeighbors, ImageSearch, with_all_within
from ._images import Images, RadiusBounds, radius_bounds, where_active
from ._places import Places, boxes_within

__all__ = ["SlotQueries", "slot_queries_of"]


class MovedSlots(NamedTuple):
    """Slots of the tree as queries from some places."""

    queries: RadiusQueries  # (C,)
    places: Places  # (C,)
    relation: Relation  # of a slot to the points that are its neighbors

    def with_bounds(self, bounds) -> "MovedSlots":
        """Return them with other bounds (C,)."""
        return self._replace(queries=self.queries._replace(bound=bounds))


class SlotQueries(NamedTuple):
    """The points as queries of a radius search, in the slots of the tree (N,)."""

    tree: Tree  # in a unit that has room for the powers of moved queries
    image_search: ImageSearch  # of the slots; an empty one stands for some point
    radius: Array  # ()
    bounds: RadiusBounds  # of scaled powers
    boxes: Box  # (N, P)

    def arrays_to_fill(self) -> "SlotQueries":
        """Return the arrays by which another program fills and measures; `with_static` makes them whole."""
        images, queries, _ = self.image_search
        nothing: Any = None
        in_cell = images.in_cell._replace(
            xp=nothing,
            periodic=nothing,
            as_queries=images.as_queries.to_measure(),
            extent=nothing,
            size=nothing,
            largest=nothing,
            spacing=nothing,
        )
        images = images._replace(in_cell=in_cell, tree=nothing)
        return self._replace(image_search=ImageSearch(images, queries.to_measure(), nothing))

    def with_static(self, periodic: tuple[bool, ...], search: Search) -> "SlotQueries":
        """Return such arrays with what is no array."""
        images, queries, _ = self.image_search
        in_cell = images.in_cell._replace(xp=jnp, periodic=periodic)
        images = images._replace(in_cell=in_cell)
        return self._replace(image_search=ImageSearch(images, queries, search))

    def moved(self, places: Places, bound, relation: Relation) -> MovedSlots:
        """Return slots as queries within bounds (C,) from places (C,), with results by the place.

        Moved ones are queries from outside. They are taken to be in the leaf of their slot, but for the
        relation LATER, for which every slot comes after theirs.
        """
        tree = self.tree
        slots = places.query
        m = self.image_search.queries.given.shape[1]
        steps = self.image_search.queries.lattice.of_clouds(slots).steps(places.shift)
        steps = jnp.broadcast_to(steps, (len(slots), m)) * tree.scale
        steps = jnp.pad(steps, ((0, 0), (0, tree.points.shape[0] - m)))
        outside = -jnp.ones_like(slots) if relation is Relation.LATER else ~(slots // tree.leaf_size)
        points = tree.points[:, slots] - steps.T
        slots_of_queries = jnp.where(places.is_unmoved, slots, outside)
        queries = RadiusQueries(points, bound, slots_of_queries, lax.iota(np.int32, len(slots)))
        return MovedSlots(queries, places, relation)

    def with_all_within(self, tree: Tree, moved: MovedSlots, visit: Callable, state):
        """Return the state after ``visit(neighbors, is_wanted, state)`` for all in reach, some at a time."""
        queries, places, relation = moved
        search_of_places = self.image_search.of(places.query)
        own_rows = -jnp.ones_like(places.query)
        if relation is Relation.OTHER:
            own_rows = jnp.where(places.is_unmoved, self.tree.rows[places.query], own_rows)
        after = queries.slot if relation is Relation.LATER else -jnp.ones_like(queries.slot)

        def visit_rows(rows, state):
            neighbors = search_of_places.measured(rows, places.shift)
            is_wanted = (neighbors.distances <= self.radius) & (neighbors.rows != own_rows[:, None])
            return visit(neighbors, is_wanted, state)

        return with_all_within(tree, queries, after, self.image_search.search, visit_rows, state)

    def counts(self, places: Places, relation: Relation) -> tuple[Array, Array]:
        """Return how many neighbors there are from each place, and from which there are some at the radius.

        Both are (C,).
        """
        engine = self.image_search.search.engine
        metric = TreeMetric(self.image_search.search.p)
        outer = self.moved(places, places.take_bounds(self.bounds.outer), relation)
        inner = outer.with_bounds(places.take_bounds(self.bounds.inner))
        inner_counts = engine.count(self.tree, inner.queries, metric, relation=relation)
        outer_counts = engine.count(self.tree, outer.queries, metric, relation=relation)
        has_border = outer_counts > inner_counts

        def add(neighbors: ImageNeighbors, is_wanted, counts):
            return counts + jnp.sum(is_wanted, axis=1, dtype=np.int32)

        def measure_all(counts):
            at_border = outer.with_bounds(where_active(has_border, outer.queries.bound))
            counts = jnp.where(has_border, 0, counts)
            return self.with_all_within(self.tree, at_border, add, counts)

        counts = lax.cond(has_border.any(), measure_all, lambda counts: counts, inner_counts)
        return counts, has_border


def slot_queries_of(images: Images, tree: Tree, radius, search: Search) -> SlotQueries:
    """Return the slots of a tree over the points as queries."""
    bounds = radius_bounds(images, images.as_queries, radius)
    boxes = boxes_within(images, images.as_queries, bounds.outer, search.p)
    rows = jnp.minimum(tree.rows, max(len(images.points.data) - 1, 0))
    is_point = jnp.isfinite(tree.points[0])
    box = boxes.of_all(jnp)
    cell_count = jnp.maximum(jnp.abs(box.low), jnp.abs(box.high)).max(initial=0) + 1
    corner = jnp.broadcast_to(images.in_cell.size * cell_count, (1, tree.points.shape[0]))
    tree = with_room_for_powers(tree, search.p, jnp.concatenate([corner, -corner]))

    # Both in one: XLA compiles what finds a bound once.
    radii = jnp.stack(bounds)[:, rows]
    bounds_of_slots = where_active(is_point & (radii >= 0), radius_bound(tree, radii, search.p))
    image_search = ImageSearch(images, images.as_queries.of(rows), search)
    boxes = boxes.of(rows).where(is_point, jnp)
    return SlotQueries(tree, image_search, longest_within(radius), RadiusBounds(*bounds_of_slots), boxes)
