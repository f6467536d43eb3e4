"""Many neighbours on an NVIDIA GPU: one query a program, whose lanes look at 32 nodes or slots at once.

Code around a Pallas kernel (Triton route). A list of many neighbours fits no register. Instead each query
tries radii until one holds `k` points and not many more, which it writes as they come; sorting the rows of
the result does the rest. Where no such radius is found, because very many points are equally far, the query
is given up.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton

from .._structure._metric import axis_gap, power, root
from .._structure._tree import Tree
from ._launch import launch
from ._walk import LANES, ONE, ZERO, Space, walk

__all__ = ["candidates", "fits", "room_for"]

SPLITS = 5  # levels of splits in a group of 32 nodes
TRIES = 16  # radii that a query tries at most
ENOUGH = 2  # times as many points as there is room for: a query stops counting
NOT_YET = np.int32(-1)


def fits(tree: Tree) -> bool:
    """Tell whether the tree is deep enough, and its leaves small enough, for groups of 32."""
    return tree.levels > SPLITS and tree.leaf_size <= LANES


def room_for(k: int) -> int:
    """Return how many candidates a query may have: a quarter more than `k`."""
    return -(-(k + k // 4) // LANES) * LANES


def candidates(tree: Tree, inputs, *, k: int, p: float, interpret: bool = False):
    """Return power distances and rows (q, room) of points among which each query's `k` nearest are.

    They are in no order; where there are less, the distance is inf and the row n. The third result (q,) tells
    which queries were given up; all of theirs is -1. The `inputs` are the queries (q, m); for each, the power
    distance up to which it wants points and the leaf it is in; the slack between distances of boxes and of
    points (1,); and the lengths of the periodic box (m,), if there is one.
    """
    count, m = inputs[0].shape
    dtype, slots = tree.points.dtype, tree.points.shape[1]
    room = room_for(k)
    aim = (k + room) / 2
    # A bucket, one leaf or two, has no more slots than there are lanes; a cluster is a node with `aim` slots.
    two = 2 * tree.leaf_size <= LANES
    bucket, levels = tree.leaf_size << two, tree.levels - two
    above = min(levels - 1, max(0, math.ceil(math.log2(aim / bucket))))
    share = math.log(aim / (bucket << above))
    numbers = jnp.stack([tree.n, jnp.int32(min(k, slots)), jnp.int32(room)])

    def kernel(points, slot_rows, lower, upper, numbers, queries, limits, homes, slack, *rest):
        *periods, distances_out, rows_out, given_up = rest
        own, lane = pl.program_id(0), lax.iota(jnp.int32, LANES)
        x = [queries[own, a] for a in range(m)]
        lengths = [periods[0][a] if periods else None for a in range(m)]
        space = Space(points, slot_rows, lower, upper, x, lengths, p, bucket, levels)
        missing, wanted, most = (numbers[i] for i in range(3))
        limit, slack = limits[own], slack[0]

        def gaps(nodes):
            return space.power_distance(
                lambda a: axis_gap(x[a], lower[a, nodes], upper[a, nodes], lengths[a])
            )

        def group_gaps(group):
            return gaps(pl.ds(group * np.int32(LANES), LANES))

        def write_within(bound):
            """Write the points within `bound`, as far as there is room; return their number, or enough."""

            def choose(group, children, position):
                near = (group_gaps(group) <= bound * slack) & (position < most * np.int32(ENOUGH))
                return children & _word(near, lane), position

            def visit(position, number):
                slot, there = number * np.int32(bucket) + lane, lane < np.int32(bucket)

                def load(ref, other):
                    return triton.load(ref, mask=there, other=other) if bucket < LANES else triton.load(ref)

                distances = space.distance([(x[a], load(points.at[a, slot], jnp.inf)) for a in range(m)])
                hits = distances <= bound
                word = _word(hits, lane)
                place = position + lax.population_count(word & (jnp.left_shift(ONE, lane) - ONE))
                kept = hits & (place < most)
                place = jnp.where(kept, place, most)
                triton.store(distances_out.at[own, place], distances, mask=kept)
                triton.store(rows_out.at[own, place], load(slot_rows.at[slot], 0), mask=kept)
                return position + lax.population_count(word)

            return walk(space, ZERO, choose, visit, splits=SPLITS)

        def nearest_cluster(gap):
            """Return the power distance to the nearest cluster; there is one at `gap`."""

            def choose(group, children, nearest):
                gaps = group_gaps(group)
                gaps = jnp.where(lax.shift_right_logical(children, lane) & ONE != ZERO, gaps, jnp.inf)
                clusters = group * np.int32(LANES) >= np.int32(1 << levels - above)
                closest = jnp.where(clusters, jnp.minimum(nearest, jnp.min(gaps)), nearest)
                return jnp.where(clusters, ZERO, _word(gaps < nearest, lane)), closest

            clusters = space._replace(levels=levels - above)
            return walk(clusters, gap, choose, lambda same, _: same, splits=SPLITS)

        def try_radius(carried):
            size, low, high, _, tries = carried
            reach = power(base + jnp.exp(size), p)
            bound = jnp.minimum(reach, limit)
            found = write_within(bound)
            few, over = (found < wanted) & (reach < limit), found > most
            now = size, jnp.log(jnp.maximum(found, ONE).astype(dtype))
            low, high = _where(few, now, low), _where(over, now, high)
            size = _next_size(*now, low, high, tries, math.log(aim), m)
            tries = jnp.where(few | over, tries + ONE, np.int32(TRIES))
            return size, low, high, jnp.where(few | over, NOT_YET, found), tries

        # A radius is that to the nearest cluster, and something more, whose logarithm is `size`: at first as
        # if the points of the query's own cluster filled their box evenly.
        node = lax.shift_right_logical(homes[own] + np.int32(tree.leaves), np.int32(above + two))
        gap = gaps(node)
        base = root(lax.cond(gap > 0, nearest_cluster, lambda gap: gap, gap), p)
        none, inf = (jnp.full_like(limit, each) for each in (-jnp.inf, jnp.inf))
        size = _log_volume([upper[a, node] - lower[a, node] for a in range(m)])
        size = inf if slots <= room else (size + share - _log_ball(m, p)) / m
        tries = jnp.where(limit >= 0, ZERO, np.int32(TRIES))  # a query without a limit finds nothing
        start = size, (none, none), (inf, inf), NOT_YET, tries
        found = lax.while_loop(lambda carried: carried[-1] < np.int32(TRIES), try_radius, start)[3]

        failed = (found == NOT_YET) & (limit >= 0)
        given_up[own] = failed
        no_distance = jnp.where(failed, jnp.full_like(limit, -1), inf)
        no_row = jnp.where(failed, np.int32(-1), missing)

        def clear(position):
            place = position + lane
            for out, rest in ((distances_out, no_distance), (rows_out, no_row)):
                triton.store(out.at[own, place], jnp.full((LANES,), rest), mask=place < most)
            return position + np.int32(LANES)

        lax.while_loop(lambda position: position < most, clear, jnp.maximum(found, ZERO))

    out = (
        jax.ShapeDtypeStruct((count, room), dtype),
        jax.ShapeDtypeStruct((count, room), jnp.int32),
        jax.ShapeDtypeStruct((count,), jnp.bool_),
    )
    inputs = (tree.points, tree.rows, tree.lower, tree.upper, numbers, *inputs)
    return launch(kernel, count, inputs, out, interpret=interpret)


def _next_size(size, number, low, high, tries, aim, m):
    """Return the radius to try next, as all of them a logarithm, and so are the numbers of points.

    `low` and `high` are radii that held too few and too many points, with these numbers, if there are any.
    The number grows with some power of the radius. Without two radii that tell which one, it is taken for m,
    in steps that double; between two, every other time for what they tell.
    """
    step = jnp.left_shift(ONE, tries).astype(size.dtype) * (aim - number) / m
    part = (aim - low[1]) / (high[1] - low[1])
    part = jnp.minimum(jnp.maximum(part, 0.125), 0.875)
    part = jnp.where(tries & ONE == ONE, jnp.full_like(part, 0.5), part)
    closed = (low[0] > -jnp.inf) & (high[0] < jnp.inf)
    return jnp.where(closed, low[0] + (high[0] - low[0]) * part, size + step)


def _log_volume(sides):
    """Return the logarithm of a box's volume; a flat one is taken to be a little thick."""
    widest = sides[0]
    for side in sides[1:]:
        widest = jnp.maximum(widest, side)
    least = jnp.maximum(widest / 1024, jnp.full_like(widest, math.sqrt(jnp.finfo(widest.dtype).tiny)))
    return sum(jnp.log(jnp.maximum(side, least)) for side in sides)


def _log_ball(m: int, p: float) -> float:
    """Return the logarithm of the volume of Minkowski's unit ball."""
    if p == math.inf:
        return m * math.log(2)
    return m * (math.log(2) + math.lgamma(1 + 1 / p)) - math.lgamma(1 + m / p)


def _where(flag, new, old):
    return tuple(jnp.where(flag, a, b) for a, b in zip(new, old, strict=True))


def _word(flags, lane):
    """Return a word with bit i set where lane i is."""
    return jnp.sum(jnp.where(flags, jnp.left_shift(ONE, lane), ZERO), dtype=jnp.int32)
