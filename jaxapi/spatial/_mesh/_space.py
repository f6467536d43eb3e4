"""The points of all devices and the metric, as one device sees them inside of `jax.shard_map`."""

import dataclasses
from typing import NamedTuple

import jax.numpy as jnp
from jax import lax

from ..._core._typing import Array
from .._engines._by_platform import BY_PLATFORM
from .._tree._metric import TreeMetric, axis_gap, box_slack, power_distance, wrap
from .._tree._powers_of_two import power_of_two
from .._tree._scaling import NearQueries, brought_near, exponent_of_unit, needs_room
from .._tree._tree import Tree
from ._axes import Axes
from ._forest import Forest, global_rows
from ._partition import shares

__all__ = ["NearInSpace", "Space", "Visited"]

WORD = 32  # devices that one word of `Visited` tells of
TOGETHER = 8  # devices whose boxes are looked at together


@dataclasses.dataclass(frozen=True)
class Space:
    """The trees of all devices, and the metric that they are searched by."""

    forest: Forest
    axes: Axes
    n: int  # points of all devices
    metric: TreeMetric

    @property
    def tree(self) -> Tree:
        """The tree of this device."""
        return self.forest.tree

    @property
    def share(self) -> int:
        """The most points that one device has, at least 1."""
        return max(*shares(self.n, self.axes.size), 1)

    def rows_of_slots(self, slot_count: int) -> Array:
        """Return the rows of the points on the first slots of this device's tree; n where there is none."""
        return global_rows(self.tree, self.forest.rows, self.tree.rows[:slot_count], self.n)

    def in_scaled_box(self, scaled_points: Array) -> Array:
        """Return scaled queries (m, q) in the periodic box, if there is one."""
        boxsize = self.metric.scaled_boxsize(self.tree.scale)
        return scaled_points if boxsize is None else wrap(scaled_points.T, boxsize).T

    def near(self, queries: Array, bound) -> "NearInSpace":
        """Return queries (q, m) in the box, and brought near to the points, with their bounds, () or (q,)."""
        queries = self.metric.wrap(queries)
        corner = self.forest.lower.min(axis=0)[:, None]  # of all devices: this one may have no point
        tree = self.tree._replace(points=corner)
        near = brought_near(tree, queries, jnp.asarray(bound, queries.dtype), self.metric)
        return NearInSpace(self.with_room_for_powers(near.x), near)

    def with_room_for_powers(self, queries: Array | None = None) -> "Space":
        """Return the space in a unit in which no power of a distance overflows, between points or to queries.

        As `_tree._scaling.with_room_for_powers`, which does nothing for most p.
        """
        p = self.metric.p
        if not needs_room(p):
            return self
        forest = self.forest
        corners = jnp.stack([forest.lower.min(axis=0), forest.upper.max(axis=0)], axis=1)
        exponent = exponent_of_unit(self.tree._replace(points=corners), p, queries)
        factor = power_of_two(self.axes.min(exponent), corners.dtype)
        return dataclasses.replace(self, forest=forest.rescaled(factor))

    def nearest_device(self, scaled_points: Array, reach: Array, is_excluded) -> Array:
        """Return the nearest device (q,) within reach (q,) of each scaled query (m, q).

        That is `axes.size` for none. ``is_excluded(devices)`` tells which queries (b, q) some devices (b, 1)
        are not for.
        """
        m, q = scaled_points.shape
        forest = self.forest
        device_count = self.axes.size
        boxsize = self.metric.scaled_boxsize(self.tree.scale)
        reach = reach * box_slack(scaled_points.dtype, m)  # boxes and points round differently
        block = min(device_count, TOGETHER)

        def nearest_of_block(devices):
            """Return the nearest of some devices (b,), and how far away it is."""

            def gaps_along(axis):
                lower = forest.lower[devices, axis][:, None]
                upper = forest.upper[devices, axis][:, None]
                return axis_gap(
                    scaled_points[axis][None], lower, upper, None if boxsize is None else boxsize[axis]
                )

            gaps = power_distance(gaps_along, m, self.metric.p)  # (b, q)
            gaps = jnp.where((gaps <= reach) & ~is_excluded(devices[:, None]), gaps, jnp.inf)
            return gaps.min(axis=0), devices[0] + lax.argmin(gaps, 0, jnp.int32)

        def step(i, nearest):
            gap, device = nearest
            first = jnp.minimum(i * block, device_count - block)
            their_gap, their_device = nearest_of_block(first + lax.iota(jnp.int32, block))
            is_nearer = their_gap < gap
            return jnp.where(is_nearer, their_gap, gap), jnp.where(is_nearer, their_device, device)

        none = jnp.full(q, jnp.inf, scaled_points.dtype), jnp.full(q, device_count, jnp.int32)
        if block == device_count:
            return step(0, none)[1]
        return lax.fori_loop(0, -(-device_count // block), step, self.axes.varying(none))[1]

    def reaches_others(self, scaled_points: Array, reach: Array, skips=None) -> Array:
        """Tell which scaled queries (m, q) have another device within reach (q,).

        None whose points ``skips(lowest row of the device)`` says cannot matter.
        """

        def is_excluded(devices):
            is_here = devices == self.axes.here()
            return is_here if skips is None else is_here | skips(self.forest.lowest_row[devices])

        return self.nearest_device(scaled_points, reach, is_excluded) < self.axes.size


class NearInSpace(NamedTuple):
    """Queries near to the points of all devices, and the space in a unit that has room for their powers."""

    space: Space
    queries: NearQueries

    def distances(self, powers: Array) -> Array:
        """Return the distances of scaled power distances (q, k), rounded as one tree rounds them."""
        distances = BY_PLATFORM.distances_in_units(self.space.tree, powers, self.space.metric)
        return self.queries.distances(distances)


class Visited(NamedTuple):
    """Which devices each query has visited."""

    words: Array  # (q, w) a bit for each device

    @staticmethod
    def none(query_count: int, axes: Axes) -> "Visited":
        """Return that of queries that have visited none."""
        return Visited(jnp.zeros((query_count, -(-axes.size // WORD)), jnp.uint32))

    def add(self, device: Array) -> "Visited":
        """Note the visit of each query to a device (q,)."""
        word = lax.iota(jnp.int32, self.words.shape[1])
        bit = jnp.uint32(1) << (device % WORD).astype(jnp.uint32)
        is_word = device[:, None] // WORD == word
        return Visited(self.words | jnp.where(is_word, bit[:, None], jnp.uint32(0)))

    def has(self, devices: Array) -> Array:
        """Tell which queries (b, q) have visited some devices (b, 1)."""
        words = self.words.T[devices[:, 0] // WORD]
        return words >> (devices % WORD).astype(jnp.uint32) & 1 == 1
