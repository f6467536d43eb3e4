"""The engine without a tree: every distance, for many dimensions, where boxes no longer tell points apart.

The structure is a `Tree` whose slots are the rows in order and whose boxes say nothing.
"""

import jax.numpy as jnp
from jax import lax

from ._metric import axis_distance, combine, power, root
from ._tree import Tree

__all__ = ["build", "nearest"]

_LEAVES = 8
_QUERIES = 256
_POINTS = 2048


def build(points, n) -> Tree:
    """Return `points` (n_pad, m), of which the first `n` count, in the order of their rows."""
    spare = -points.shape[0] % _LEAVES
    points = jnp.pad(points, ((0, spare), (0, 0)))
    slots, m = points.shape
    real = (jnp.arange(slots, dtype=jnp.int32) < jnp.asarray(n, jnp.int32)) & jnp.isfinite(points).all(axis=1)
    n = jnp.asarray(n, jnp.int32)
    rows = jnp.where(real, jnp.arange(slots, dtype=jnp.int32), n)
    box = jnp.full((m, 2 * _LEAVES), jnp.inf, points.dtype)
    return Tree(
        points=jnp.where(real[:, None], points, jnp.inf).T,
        rows=rows,
        lower=-box,
        upper=box,
        scale=jnp.ones((), points.dtype),
        n=n,
    )


def nearest(tree: Tree, queries, *, k: int, p: float, bound, eps, box):
    """Return distances and rows of the `k` nearest points, both (q, k), sorted by (distance, row)."""
    m, slots = tree.points.shape
    q = queries.shape[0]
    width = min(_POINTS, slots)
    tiles = -(-slots // width)
    spare = tiles * width - slots
    missing = tree.n.astype(tree.rows.dtype)
    points = jnp.pad(tree.points, ((0, 0), (0, spare)), constant_values=jnp.inf)
    rows = jnp.pad(tree.rows, (0, spare), constant_values=0)
    rows = jnp.where(jnp.arange(tiles * width) < slots, rows, missing)
    points = points.reshape(m, tiles, width).swapaxes(0, 1)
    rows = rows.reshape(tiles, width)
    scaled_box = None if box is None else box * tree.scale
    limit = power(jnp.maximum(bound, 0) * tree.scale, p)

    def search(block):  # (m, b)
        def visit(best, tile):
            columns, numbers = tile
            total = None
            for axis in range(m):
                length = None if box is None else scaled_box[axis]
                term = power(axis_distance(block[axis][:, None], columns[axis][None, :], length), p)
                total = term if total is None else combine(total, term, p)
            wanted = total < limit
            total = jnp.where(wanted, total, jnp.inf)
            numbers = jnp.where(wanted, numbers[None, :], missing)
            merged = [jnp.concatenate(pair, axis=1) for pair in zip(best, (total, numbers), strict=True)]
            merged = lax.sort(merged, dimension=1, num_keys=2)
            return tuple(side[:, :k] for side in merged), None

        b = block.shape[1]
        nothing = (jnp.full((b, k), jnp.inf, queries.dtype), jnp.full((b, k), 0, rows.dtype) + missing)
        best, _ = lax.scan(visit, nothing, (points, rows))
        return best

    b = min(_QUERIES, max(q, 1))
    blocks = -(-q // b)
    padded = jnp.pad(queries * tree.scale, ((0, blocks * b - q), (0, 0)))
    distances, found = lax.map(search, padded.T.reshape(m, blocks, b).swapaxes(0, 1))
    distances, found = distances.reshape(-1, k)[:q], found.reshape(-1, k)[:q]
    return root(distances, p) / tree.scale, found
