"""Nearest neighbors by every distance, for a flat tree: in many dimensions boxes say nothing."""

import jax.numpy as jnp
from jax import lax

from ..._tree._metric import Measure, TreeMetric, axis_distance, power_distance, scaled_power
from ..._tree._queries import Limits
from ..._tree._tree import Tree
from ..._tree._varying import varying_like

__all__ = ["nearest"]

_QUERIES = 2048  # searched together
_POINTS = 8192  # in one tile
_COORDINATES = 1 << 25  # of candidates held at once
_GROUP = 16  # neighboring columns of a tile whose minima are compared first
_SPARE = 8  # candidates more than k, so that rounding errors seldom leave a doubt


def nearest(tree: Tree, queries, limits: Limits, metric: TreeMetric, *, k: int, measure: Measure):
    """Return what `_nearest_by_lax.nearest` does; ``k <= n``. `eps` is not used: the answer is exact."""
    q, m = queries.shape
    block_size = min(_QUERIES, max(q, 1), max(_COORDINATES // ((k + _SPARE) * m), 1))
    block_count = -(-q // block_size)
    padding = (0, block_count * block_size - q), (0, 0)
    x = jnp.pad(tree.scaled(queries), padding).reshape(block_count, block_size, m)
    search = _BlockSearch(tree, k, metric)
    bound_power = scaled_power(limits.bound, tree.scale, metric.p)
    bound_power = jnp.broadcast_to(bound_power, q)[:, None]
    by_product = metric.p == 2 and not metric.is_periodic
    distances, rows = lax.map(search.by_product if by_product else search.directly, x)
    distances = distances.reshape(-1, k)[:q]
    rows = rows.reshape(-1, k)[:q]
    is_near = distances < bound_power
    distances = jnp.where(is_near, measure.of(distances, tree.scale, metric.p), jnp.inf)
    return distances, jnp.where(is_near, rows, tree.n.astype(rows.dtype))


class _BlockSearch:
    """The search for one block of queries (b, m), in power distances of scaled coordinates."""

    def __init__(self, tree: Tree, k: int, metric: TreeMetric):
        self.k = k
        self.p = metric.p
        self.boxsize = metric.scaled_boxsize(tree.scale)
        self.m, slot_count = tree.points.shape
        self.width = min(_POINTS, slot_count)
        tile_count = -(-slot_count // self.width)
        padding = (0, 0), (0, tile_count * self.width - slot_count)
        points = jnp.pad(tree.points, padding, constant_values=jnp.inf)
        self.points = points.T  # (slots, m)
        self.tiles = points.reshape(self.m, tile_count, self.width).swapaxes(0, 1)  # (tiles, m, width)
        self.starts = self.width * lax.iota(jnp.int32, tile_count)
        is_point = points[0] < jnp.inf
        self.is_point = is_point.reshape(tile_count, self.width)
        point_count = jnp.maximum(is_point.sum(), 1).astype(points.dtype)
        self.centre = jnp.where(is_point, points, 0).sum(axis=1) / point_count

    def directly(self, x):
        """Compute every distance from its coordinates."""

        def distances_to(tile, _):
            def along(axis):
                length = None if self.boxsize is None else self.boxsize[axis]
                return axis_distance(x[:, axis][:, None], tile[axis][None, :], length)

            return power_distance(along, self.m, self.p, unrolled=False)

        return self._least(x, distances_to, self.k)

    def by_product(self, x):
        """Compute squared distances by a matrix product, and exactly for those that may be the least.

        The product's rounding errors have a bound. Where it does not tell that no other point can be among
        the nearest, the whole block is searched directly.
        """
        centred = x - self.centre
        candidates = min(self.k + _SPARE, self.points.shape[0])

        def approximate(tile, is_point):
            tile = jnp.where(is_point[None, :], tile - self.centre[:, None], 0)
            products = jnp.matmul(centred, tile, precision=lax.Precision.HIGHEST)
            squares = (tile * tile).sum(axis=0)[None, :]
            return jnp.where(is_point[None, :], squares - 2 * products, jnp.inf)

        rough, rows = self._least(x, approximate, candidates)
        exact = jnp.square(x[:, None, :] - self.points[rows]).sum(axis=2)
        exact = jnp.where(rough < jnp.inf, exact, jnp.inf)
        exact, rows = lax.sort((exact, rows), num_keys=2)
        query_norms = jnp.square(centred).sum(axis=1)
        squares = jnp.square(self.points - self.centre)
        norms = jnp.where(self.points[:, :1] < jnp.inf, squares, 0).sum(axis=1)
        error = (2 * self.m + 8) * jnp.finfo(x.dtype).eps * (query_norms + jnp.max(norms))
        last = exact[:, self.k - 1]
        has_all_points = candidates == self.points.shape[0]
        is_sure = (last < rough[:, -1] + query_norms - error) | has_all_points
        nearest = exact[:, : self.k], rows[:, : self.k]
        return lax.cond(is_sure.all(), lambda: nearest, lambda: self.directly(x))

    def _least(self, x, distances_to, count: int):
        """Return the `count` least distances and their slots, equal ones by slot."""

        def visit(best, tile):
            best_distances, best_slots = best
            points, is_point, start = tile
            distances = distances_to(points, is_point)
            distances, columns = _least_of(distances, min(count, self.width))
            distances = jnp.concatenate([best_distances, distances], axis=1)
            slots = jnp.concatenate([best_slots, columns + start], axis=1)
            distances, columns = _least_of(distances, count)
            return (distances, jnp.take_along_axis(slots, columns, axis=1)), None

        query_count = x.shape[0]
        distances = jnp.full((query_count, count), jnp.inf, x.dtype)
        slots = jnp.zeros((query_count, count), jnp.int32)
        nothing = varying_like((distances, slots), x)
        best, _ = lax.scan(visit, nothing, (self.tiles, self.is_point, self.starts))
        return best


def _least_of(distances, count: int):
    """Return the `count` least of each line and their columns; of equal ones the first columns.

    They lie in the `count` groups of neighboring columns with the least minima (equal ones: the first
    groups), and finding these first leaves much less to sort.
    """
    query_count, width = distances.shape
    group_count = width // _GROUP
    if width % _GROUP == 0 and group_count > 4 * count:
        grouped = distances.reshape(query_count, group_count, _GROUP)
        _, groups = lax.top_k(-grouped.min(axis=2), count)
        groups = jnp.sort(groups.astype(jnp.int32), axis=1)
        candidates = jnp.take_along_axis(grouped, groups[:, :, None], axis=1)
        least, columns = _least_of(candidates.reshape(query_count, count * _GROUP), count)
        group = jnp.take_along_axis(groups, columns // _GROUP, axis=1)
        return least, group * _GROUP + columns % _GROUP
    negative, columns = lax.top_k(-distances, count)
    return -negative, columns.astype(jnp.int32)
