"""Sums over the pairs of queries and images within several radii."""

from functools import partial
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from ...._core._typing import Array
from ... import _tree_programs
from ..._every_pair import longest_within
from ..._search import PairWeights, Search
from ..._tree._metric import TreeMetric
from .._points import ROUNDING, ImagePoints, ImageQueries
from ._image_search import ImageNeighbors, ImageSearch
from ._images import images_and_queries, in_float64, where_active
from ._places import boxes_within, over_shifts

__all__ = ["two_point"]


@in_float64("periodic", "search", "sums")
def two_point(
    points: ImagePoints, queries: ImageQueries, radii, weights: PairWeights, *, periodic, search: Search, sums
):
    """Return the sums of ``weights of query * weights of point`` over pairs within each of the radii (R,).

    Pairs are of a query and an image of a point; `sums` is the dtype.
    """
    images, wrapped = images_and_queries(points, queries, periodic, search)
    radii = longest_within(radii)
    largest = jnp.broadcast_to(jnp.max(radii, initial=-1.0, where=radii >= 0), len(wrapped.inside))
    boxes = boxes_within(images, wrapped, images.in_cell.reach(wrapped, largest), search.p)
    query_weights = jnp.where(wrapped.is_finite, weights.self_weights, 0).astype(sums)
    weights = PairWeights(query_weights, weights.other_weights.astype(sums))
    pair_search = _PairSearch(ImageSearch(images, wrapped, search), radii, weights)

    def step(shift, is_active, total):
        return total + pair_search.sums(shift, is_active)

    return (over_shifts(boxes, step, jnp.zeros(radii.shape, sums)),)


class _PairSearch(NamedTuple):
    """A search for the pairs of queries and images within each of several radii."""

    image_search: ImageSearch
    radii: Array  # (R,) no distance within one is longer
    weights: PairWeights  # of the queries, 0 of those that are not finite, and of the points

    def sums(self, shift, is_active) -> Array:
        """Return the sums (R,) over the pairs of some queries (q,) when they are moved by a shift.

        The tree sums over those that are surely within a radius. If it counts others that may be, all pairs
        of that radius are measured, and so are those of queries that were brought nearer.
        """
        images, queries, search = self.image_search
        is_far = is_active & queries.is_far
        inner_radii, outer_radii = self._radii_with_rounding()
        weights = PairWeights(self._weights_of(is_active & ~is_far), self.weights.other_weights)
        ones = PairWeights(
            (is_active & ~is_far).astype(np.int32), jnp.ones(len(images.points.data), np.int32)
        )
        inputs = images.tree, self.image_search.moved(shift)
        metric = TreeMetric(search.p)
        both_radii = jnp.concatenate([inner_radii, outer_radii])
        counts = _tree_programs.pair_sums(*inputs, ones, both_radii, metric, search=search)
        inner_counts, outer_counts = jnp.split(counts, 2)
        has_border = inner_counts != outer_counts  # (R,)
        sums = _tree_programs.pair_sums(*inputs, weights, inner_radii, metric, search=search)
        sums = jnp.where(has_border, 0, sums).astype(self.weights.self_weights.dtype)

        def measure_all(sums):
            largest = jnp.max(outer_radii, initial=-1.0, where=has_border)
            largest_of_far = jnp.max(self.radii, initial=-1.0, where=self.radii >= 0)
            reach_of_far = images.in_cell.reach(queries, jnp.broadcast_to(largest_of_far, is_far.shape))
            reach = where_active(is_active, jnp.where(is_far, reach_of_far, largest))
            visit = partial(self._with_sums_of, self._weights_of(is_active), is_far, has_border)
            return self.image_search.with_all_within(shift, reach, visit, sums)

        return lax.cond(has_border.any() | is_far.any(), measure_all, lambda sums: sums, sums)

    def _weights_of(self, is_query) -> Array:
        """Return the weights (q,) of some queries, 0 of the others."""
        return jnp.where(is_query, self.weights.self_weights, jnp.zeros_like(self.weights.self_weights))

    def _radii_with_rounding(self) -> tuple[Array, Array]:
        """Return radii (R,) within which all are neighbors, and those outside of which none is.

        They are those of queries that were not brought nearer.
        """
        images, queries, _ = self.image_search
        radii = self.radii
        rounding = jnp.max(jnp.where(queries.is_far, 0, queries.rounding), initial=0)
        longest = jnp.inf if queries.ids is None else images.in_cell.spacing / 4
        inner_radii = jnp.where(radii >= 0, radii * (1 - ROUNDING) - rounding, -1.0)
        outer_radii = jnp.where(radii >= 0, radii * (1 + ROUNDING) + rounding, -1.0)
        return jnp.minimum(inner_radii, longest), jnp.minimum(outer_radii, longest)

    def _with_sums_of(self, query_weights, is_far, has_border, neighbors: ImageNeighbors, sums) -> Array:
        """Return sums (R,) with those over neighbors: of far queries, and of radii with a border (R,)."""
        point_weights = self.weights.other_weights.at[neighbors.rows].get(mode="fill", fill_value=0)
        products = query_weights[:, None] * point_weights

        def sum_within(radius_and_border):
            radius, has_border = radius_and_border
            is_within = (neighbors.distances <= radius) & (has_border | is_far[:, None])
            return jnp.sum(jnp.where(is_within, products, 0), dtype=sums.dtype)

        return sums + lax.map(sum_within, (self.radii, has_border))
