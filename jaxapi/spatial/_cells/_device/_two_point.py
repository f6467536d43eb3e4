"""Sums over the pairs of queries and images within several radii."""

import jax.numpy as jnp
import numpy as np
from jax import lax

from ... import _tree_programs
from ..._every_pair import longest_within
from ..._search import PairWeights, Search
from ..._tree._metric import TreeMetric
from .._points import ROUNDING, ImagePoints, ImageQueries
from ._image_search import ImageNeighbors, ImageSearch
from ._images import images_and_queries, in_float64, radii_of, radius_bounds, rounding_of
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
    image_search = ImageSearch(images, wrapped, queries, periodic, search)
    largest = jnp.broadcast_to(jnp.max(radii, initial=-1.0, where=radii >= 0), len(wrapped.inside))
    outer = radius_bounds(images, wrapped, radii_of(images, wrapped, largest)).outer
    boxes = boxes_within(images, wrapped, outer, search.p)
    rounding = jnp.max(jnp.where(wrapped.is_far, 0, rounding_of(images, wrapped)), initial=0)
    longest = jnp.inf if wrapped.ids is None else images.spacing / 4
    inner_radii = jnp.where(radii >= 0, radii * (1 - ROUNDING) - rounding, -1.0)
    outer_radii = jnp.where(radii >= 0, radii * (1 + ROUNDING) + rounding, -1.0)
    inner_radii = jnp.minimum(inner_radii, longest)
    outer_radii = jnp.minimum(outer_radii, longest)
    is_query = jnp.isfinite(wrapped.inside).all(axis=1)
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

    return (over_shifts(boxes, step, jnp.zeros(radii.shape, sums)),)
