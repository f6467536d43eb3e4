"""Nearest neighbours on an NVIDIA GPU, by one Pallas kernel (Triton route).

Queries are ordered by the leaf they fall in, `LANES` neighbours of that order make a packet, and each packet
walks the tree by itself (`_walk`) with its neighbours in registers (`_registers`). Results go straight
to the queries' own places. More neighbours than the registers hold are found within a radius (`_many`),
or where that does not serve in passes, each from where the last one ended.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton

from ..._typing import Array
from .._structure._metric import box_slack, in_units, power, scaled_power
from .._structure._tree import Tree
from ._launch import launch
from ._many import candidates, fits, room_for
from ._order import order_queries
from ._registers import Nearest, NearestOne, home_bound
from ._walk import LANES, Space, lane_bits, visit_leaf, walk

__all__ = ["nearest"]

AT_ONCE = 32  # neighbours that fit the registers
CANDIDATES = 1 << 26  # held at once


def nearest(
    tree: Tree,
    queries: Array,
    bound: Array,
    eps: Array,
    box: Array | None,
    *,
    k: int,
    p: float,
    rooted: bool = True,
    interpret: bool = False,
) -> tuple[Array, Array]:
    """Return distances and rows (q, k) of the `k` nearest points of each query, ordered by (distance, row).

    `queries` (q, m) are in the user's units and of the tree's dtype, and lie in the periodic `box` (m,), if
    there is one; its entries are 0 on axes that are not periodic. Only points nearer than `bound` are found,
    one for all or (q,), which suits a few queries that want neighbours among many that do not. A missing
    neighbour has distance inf and row n, and so have all of a query that is not finite. With `eps`, the i-th
    distance may be up to 1 + eps times the true one. Where not `rooted`, they are scaled power distances.
    `k`, `p`, `rooted` and `interpret` (run on any device, slowly) are static.
    """
    count, m = queries.shape
    dtype = tree.points.dtype
    if count == 0:
        return jnp.zeros((0, k), dtype), jnp.zeros((0, k), jnp.int32)
    # Fill the last packet; what is not finite finds nothing.
    queries = jnp.concatenate([queries, jnp.full((-count % LANES, m), jnp.nan, dtype)]) * tree.scale
    finite = jnp.isfinite(queries).all(axis=1)
    queries = jnp.where(finite[:, None], queries, 0)
    homes, order = order_queries(tree, queries, finite, interpret=interpret)

    for_each = jnp.ndim(bound) > 0
    bound = jnp.broadcast_to(jnp.asarray(bound, dtype), count)
    bound = jnp.pad(bound, (0, queries.shape[0] - count))
    limit = scaled_power(bound, tree.scale, p)
    limit = jnp.maximum(jnp.nextafter(limit, jnp.zeros_like(limit)), 0)  # the last power distance below
    limits = jnp.where(finite & (bound > 0), limit, -1)
    slack = jnp.asarray(box_slack(dtype, m), dtype)
    looser = power(1 + jnp.asarray(eps, dtype), p)
    lengths = [] if box is None else [jnp.asarray(box, dtype) * tree.scale]
    factors = jnp.stack([slack, slack / looser, slack * looser, tree.scale])
    inputs = (queries, limits, homes, order, factors, *lengths)

    if k <= AT_ONCE:
        found = _search(tree, inputs, k=k, p=p, rooted=rooted, interpret=interpret)
        return tuple(each[:count] for each in found)
    if fits(tree) and not for_each:
        distances, rows = _search_by_radius(tree, inputs, k=k, p=p, interpret=interpret)
    else:
        distances, rows = _search_in_passes(
            tree, inputs, *_unsearched(limits, limits < 0, tree.n, k), k=k, p=p, interpret=interpret
        )
    return _found(distances[:count], rows[:count], tree.n, tree.scale, p, rooted), rows[:count]


def _found(distances, rows, n, scale, p, rooted):
    """Return what `nearest` promises for power distances."""
    infinite = jnp.asarray(jnp.inf, distances.dtype)
    return jnp.where(rows < n, in_units(distances, scale, p, rooted), infinite)


def _search_by_radius(tree, inputs, *, k, p, interpret):
    """Find some more than `k` within a radius, and sort them: a block of queries after another."""
    queries, limits, homes, order, factors, *lengths = inputs
    count = order.shape[0]
    blocks = -(-count * room_for(k) // CANDIDATES)
    block = -(-count // blocks)
    extra = 0, blocks * block - count
    all_homes, all_places = (jnp.pad(each, extra, mode="edge") for each in (homes, order))

    def one(i, found):
        home, place = (lax.dynamic_slice_in_dim(each, i * block, block) for each in (all_homes, all_places))
        block_inputs = queries[place], limits[place], home, factors[:1], *lengths
        distances, rows, given_up = candidates(tree, block_inputs, k=k, p=p, interpret=interpret)
        distances, rows = lax.sort((distances, rows), dimension=1, num_keys=2)
        new = distances[:, :k], rows[:, :k], given_up
        return tuple(old.at[place].set(each) for old, each in zip(found, new, strict=True))

    found = *_unsearched(limits, jnp.ones(count, bool), tree.n, k), jnp.zeros(count, bool)
    distances, rows, given_up = lax.fori_loop(0, blocks, one, found)
    again = queries, jnp.where(given_up, limits, -1), homes, order, factors, *lengths
    passes = partial(_search_in_passes, tree, again, k=k, p=p, interpret=interpret)
    return lax.cond(given_up.any(), passes, lambda *found: found, distances, rows)


def _search_in_passes(tree, inputs, distances, rows, *, k, p, interpret):
    """Find `AT_ONCE` neighbours after another of those queries that have a limit; see `_unsearched`."""

    def one(i, found):
        return _search(tree, inputs, (jnp.int32(i * AT_ONCE),), found, k=k, p=p, interpret=interpret)

    return lax.fori_loop(0, -(-k // AT_ONCE), one, (distances, rows))


def _unsearched(limits, done, n, k: int):
    """Return the results (q, k) before the first pass: for a query that is done, none; for others, -1."""
    distances = jnp.where(done, jnp.full_like(limits, jnp.inf), jnp.full_like(limits, -1))
    rows = jnp.where(done, n, -1)
    return tuple(jnp.broadcast_to(each[:, None], (*done.shape, k)) for each in (distances, rows))


def _search(tree, inputs, first=(), found=(), *, k, p, interpret, rooted=False):
    """Run the kernel and return distances and rows (q, k).

    With `found`, power distances and rows that are complete up to column `first`, return these and the next.
    """
    count, m = inputs[0].shape
    leaf_size, levels = tree.leaf_size, tree.levels
    slots = leaf_size << levels
    numbers = jnp.stack([tree.n, jnp.int32(min(k, slots)), *first])
    inputs = (tree.points, tree.rows, tree.lower, tree.upper, numbers, *inputs, *found)

    def kernel(points, slot_rows, lower, upper, numbers, queries, limits, homes, order, factors, *rest):
        *rest, distances_out, rows_out = rest
        periods = rest[0] if len(rest) % 2 else [None] * m
        lanes = pl.program_id(0) * LANES + lax.iota(jnp.int32, LANES)
        own = order[lanes]
        vectors, lengths = [queries[own, a] for a in range(m)], [periods[a] for a in range(m)]
        space = Space(points, slot_rows, lower, upper, vectors, lengths, p, leaf_size, levels)
        missing, wanted = numbers[0], numbers[1]
        slack, reach, looser, scale = (factors[i] for i in range(4))
        start, floor = np.int32(0), None
        if found:
            start = numbers[2]
            wanted = jnp.minimum(start + np.int32(AT_ONCE), wanted)
            last = jnp.maximum(start - np.int32(1), np.int32(0))
            floor = distances_out[own, last], rows_out[own, last]
        visitor = NearestOne(space, missing) if k == 1 else Nearest(space, missing, min(k, AT_ONCE), floor)

        def choose(group, children, state):
            needed = space.gaps(group) <= (visitor.limit(state) * reach)[None, :]
            if floor is not None:
                needed &= space.reaches(group) * slack >= floor[0][None, :]
            return children & lane_bits(needed), state

        bound = home_bound(space, homes[lanes], wanted) * looser
        bound = jnp.minimum(limits[own], bound)
        home = homes[pl.program_id(0) * LANES + LANES // 2]
        end = visitor.needs_end
        state = walk(space, visitor.start(bound), choose, visit_leaf(space, visitor.take, end), home, end)
        distances, rows = visitor.finish(state)
        if not found:
            distances = _found(distances, rows, missing, scale, p, rooted)
        for out, tile in (distances_out, distances), (rows_out, rows):
            column = start + lax.broadcasted_iota(jnp.int32, tile.shape, 0)
            here = column < np.int32(k)
            if found:
                here &= limits[own][None, :] >= 0
            triton.store(out.at[own[None, :], column], tile, mask=here)

    out_shape = (
        jax.ShapeDtypeStruct((count, k), tree.points.dtype),
        jax.ShapeDtypeStruct((count, k), jnp.int32),
    )
    return launch(kernel, count // LANES, inputs, out_shape, in_place=len(found), interpret=interpret)
