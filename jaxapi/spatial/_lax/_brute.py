"""Nearest neighbours by every distance: in many dimensions, where boxes say nothing, and of few points."""

import jax.numpy as jnp
from jax import lax

from .._structure._metric import axis_distance, in_units, power_distance, scaled_power
from .._structure._tree import FLAT_FROM, Tree
from .._structure._varying import varying_like

__all__ = ["nearest"]

_QUERIES = 2048  # searched together
_POINTS = 8192  # in one tile
_COORDINATES = 1 << 25  # of candidates held at once
_GROUP = 16  # neighbouring columns of a tile whose minima are compared first
_SPARE = 8  # candidates more than k, so that rounding errors seldom leave a doubt


def nearest(tree: Tree, queries, bound, eps, box, *, k: int, p: float, rooted: bool = True):
    """Return distances and rows of the `k` nearest points, both (q, k), sorted by (distance, row).

    ``k <= n``. `eps` is not used: the answer is exact.
    """
    m, q = tree.points.shape[0], queries.shape[0]
    b = min(_QUERIES, max(q, 1), max(_COORDINATES // ((k + _SPARE) * m), 1))
    blocks = -(-q // b)
    x = jnp.pad(queries * tree.scale, ((0, blocks * b - q), (0, 0))).reshape(blocks, b, m)
    search = _Search(tree, k, p, None if box is None else box * tree.scale)
    limit = jnp.broadcast_to(scaled_power(jnp.maximum(bound, 0), tree.scale, p), q)[:, None]
    by_product = p == 2 and box is None and m >= FLAT_FROM
    distances, rows = lax.map(search.by_product if by_product else search.directly, x)
    distances, rows = distances.reshape(-1, k)[:q], rows.reshape(-1, k)[:q]
    there = distances < limit
    distances = jnp.where(there, in_units(distances, tree.scale, p, rooted), jnp.inf)
    return distances, jnp.where(there, rows, tree.n.astype(rows.dtype))


class _Search:
    """The search for one block of queries (b, m), in power distances of scaled coordinates."""

    def __init__(self, tree: Tree, k: int, p: float, box):
        self.k, self.p, self.box = k, p, box
        self.m, slots = tree.points.shape
        self.width = min(_POINTS, slots)
        tiles = -(-slots // self.width)
        points = jnp.pad(tree.points, ((0, 0), (0, tiles * self.width - slots)), constant_values=jnp.inf)
        self.points = points.T  # (slots, m)
        self.tiles = points.reshape(self.m, tiles, self.width).swapaxes(0, 1)  # (tiles, m, width)
        self.starts = self.width * lax.iota(jnp.int32, tiles)
        real = points[0] < jnp.inf
        self.real = real.reshape(tiles, self.width)
        self.centre = jnp.where(real, points, 0).sum(axis=1) / jnp.maximum(real.sum(), 1).astype(points.dtype)

    def directly(self, x):
        """Compute every distance from its coordinates."""

        def distances_to(tile, real):
            def along(axis):
                length = None if self.box is None else self.box[axis]
                return axis_distance(x[:, axis][:, None], tile[axis][None, :], length)

            return power_distance(along, self.m, self.p, unrolled=self.m < FLAT_FROM)

        return self._least(x, distances_to, self.k)

    def by_product(self, x):
        """Compute squared distances by a matrix product, and exactly for those that may be the least.

        The product's rounding errors have a bound. Where it does not tell that no other point can be among
        the nearest, the whole block is searched directly.
        """
        centred = x - self.centre
        candidates = min(self.k + _SPARE, self.points.shape[0])

        def approximate(tile, real):
            tile = jnp.where(real[None, :], tile - self.centre[:, None], 0)
            product = jnp.matmul(centred, tile, precision=lax.Precision.HIGHEST)
            return jnp.where(real[None, :], (tile * tile).sum(axis=0)[None, :] - 2 * product, jnp.inf)

        rough, rows = self._least(x, approximate, candidates)
        exact = jnp.square(x[:, None, :] - self.points[rows]).sum(axis=2)
        exact, rows = lax.sort((jnp.where(rough < jnp.inf, exact, jnp.inf), rows), num_keys=2)
        own = jnp.square(centred).sum(axis=1)
        norms = jnp.where(self.points[:, :1] < jnp.inf, jnp.square(self.points - self.centre), 0).sum(axis=1)
        error = (2 * self.m + 8) * jnp.finfo(x.dtype).eps * (own + jnp.max(norms))
        last = exact[:, self.k - 1]
        sure = (last < rough[:, -1] + own - error) | (candidates == self.points.shape[0])
        found = (exact[:, : self.k], rows[:, : self.k])
        return lax.cond(sure.all(), lambda: found, lambda: self.directly(x))

    def _least(self, x, distances_to, count: int):
        """Return the `count` least distances and their slots, equal ones by slot."""

        def visit(best, tile):
            points, real, start = tile
            distances = distances_to(points, real)
            distances, where = _least_of(distances, min(count, self.width))
            both = (best[0], distances), (best[1], where + start)
            distances, where = _least_of(jnp.concatenate(both[0], axis=1), count)
            return (distances, jnp.take_along_axis(jnp.concatenate(both[1], axis=1), where, axis=1)), None

        b = x.shape[0]
        nothing = jnp.full((b, count), jnp.inf, x.dtype), jnp.zeros((b, count), jnp.int32)
        nothing = varying_like(nothing, x)
        return lax.scan(visit, nothing, (self.tiles, self.real, self.starts))[0]


def _least_of(distances, count: int):
    """Return the `count` least of each line and their columns; of equal ones the first columns.

    They lie in the `count` groups of neighbouring columns with the least minima (equal ones: the first
    groups), and finding these first leaves much less to sort.
    """
    b, width = distances.shape
    groups = width // _GROUP
    if width % _GROUP == 0 and groups > 4 * count:
        grouped = distances.reshape(b, groups, _GROUP)
        chosen = jnp.sort(lax.top_k(-grouped.min(axis=2), count)[1].astype(jnp.int32), axis=1)
        inside, where = _least_of(
            jnp.take_along_axis(grouped, chosen[:, :, None], axis=1).reshape(b, count * _GROUP), count
        )
        group = jnp.take_along_axis(chosen, where // _GROUP, axis=1)
        return inside, group * _GROUP + where % _GROUP
    negative, where = lax.top_k(-distances, count)
    return -negative, where.astype(jnp.int32)
