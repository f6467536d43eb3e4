"""Radius searches on an NVIDIA GPU: one Pallas kernel each for counting, filling and binning.

A program takes a packet of lanes, one warp, from the root through all leaves that one of them can reach, in
slot order (`_walk`). What the kernels compute is that of `_lax._radius`.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton

from ..._typing import Array
from .._structure._metric import box_slack, power_distance, root
from .._structure._queries import Queries, node_sums
from .._structure._tree import Tree
from ._launch import launch
from ._walk import LANES, WIDTH, Space, lane_bits, visit_leaf, walk

__all__ = ["bin_counts", "count", "fill"]


def count(
    tree: Tree, lanes: Queries, box: Array | None, *, p: float, relation: str, interpret: bool = False
) -> Array:
    """Count each lane's neighbours: (Q,) int32."""
    above = box_slack(tree.points.dtype, tree.points.shape[0])
    whole_nodes = relation == "any"  # count nodes that lie within the radius of all lanes without a visit
    inputs: tuple[Array, ...] = ()
    if whole_nodes:
        members = node_sums(jnp.isfinite(tree.points[0]).astype(jnp.int32), tree.leaves)
        inputs = members, least_radii(tree, p)

    def kernel(space, packet, *refs):
        room = room_around(space, packet) if whole_nodes else None

        def choose(group, children, counts):
            children &= lane_bits(near(space, packet, group, above * packet.bound, relation))
            if not whole_nodes:
                return children, counts
            members, radii = refs[:2]

            def count_whole(children, counts):
                open_ = lane_bits(~(above * space.reaches(group) <= packet.bound[None, :]))
                inside = of_children(members, group, children & ~open_)
                return children & open_, counts + jnp.sum(inside, dtype=jnp.int32)

            return lax.cond(radii[group] <= room, count_whole, lambda *same: same, children, counts)

        def take(counts, slot, distances):
            hits = related(distances <= packet.bound[None, :], packet, slot, relation)
            return counts + jnp.sum(hits.astype(jnp.int32), axis=0, dtype=jnp.int32)

        nothing = jnp.zeros((LANES,), jnp.int32)
        refs[-1][packet.lane] = walk(space, nothing, choose, visit_leaf(space, take))

    packets = in_packets(lanes)
    out = jax.ShapeDtypeStruct(packets.bound.shape, jnp.int32)
    return run(kernel, tree, packets, box, inputs, out, p=p, interpret=interpret)[: lanes.bound.shape[0]]


def fill(
    tree: Tree,
    lanes: Queries,
    start: Array,
    stop: Array,
    box: Array | None,
    *,
    size: int,
    p: float,
    relation: str,
    interpret: bool = False,
):
    """Write each lane's neighbours from ``start`` on, in slot order, none at or past ``stop``.

    Returns rows (size,), ``n`` where nothing was written, and distances (size,), there ``inf``.
    """
    above = box_slack(tree.points.dtype, tree.points.shape[0])

    def kernel(space, packet, start, stop, unit, *refs):
        rows_out, distances_out = refs[-2:]
        end, unit = stop[packet.lane], unit[0]

        def bound(position):
            """Return the bound; a lane that is full needs no more."""
            return jnp.where(position < end, packet.bound, jnp.full_like(packet.bound, -1))

        def choose(group, children, position):
            children &= lane_bits(near(space, packet, group, above * bound(position), relation))
            return children, position

        def take(position, slot, distances):
            hits = related(distances <= bound(position)[None, :], packet, slot, relation)
            hit_rows = lane_bits(hits)

            def write(position):
                rows = space.rows_at(slot)
                for i in range(space.chunk):

                    def write_row(position, i=i):
                        hit = picked(hits.astype(jnp.int32), i) != 0
                        kept = hit & (position < end)
                        place = jnp.where(kept, position, size)
                        triton.store(rows_out.at[place], picked(rows, i), mask=kept)
                        distance = root(picked(distances, i), space.p) * unit
                        triton.store(distances_out.at[place], distance, mask=kept)
                        return position + hit.astype(position.dtype)

                    here = hit_rows & np.int32(1 << i) != 0
                    position = lax.cond(here, write_row, lambda same: same, position)
                return position

            return lax.cond(hit_rows != 0, write, lambda same: same, position)

        walk(space, start[packet.lane], choose, visit_leaf(space, take))

    packets = in_packets(lanes)
    extra = (0, packets.bound.shape[0] - start.shape[0])
    unit = (1 / tree.scale).reshape(1)  # exactly, as it is a power of two
    rows = jnp.full(size, tree.n, tree.rows.dtype)
    distances = jnp.full(size, jnp.inf, tree.points.dtype)
    inputs = jnp.pad(start, extra), jnp.pad(stop, extra), unit, rows, distances
    out = tuple(jax.ShapeDtypeStruct(each.shape, each.dtype) for each in (rows, distances))
    return run(kernel, tree, packets, box, inputs, out, p=p, interpret=interpret, in_place=2)


def bin_counts(
    tree: Tree,
    lanes: Queries,
    radii: Array,
    weights: Array,
    box: Array | None,
    *,
    p: float,
    interpret: bool = False,
) -> Array:
    """Sum the slots' weights (N,) within each of the ``radii``, scaled powers (R,), of each lane: (R, Q).

    There are no more radii than lanes in a packet.
    """
    above = box_slack(tree.points.dtype, tree.points.shape[0])
    bins = radii.shape[0]
    totals = node_sums(weights, tree.leaves)

    def kernel(space, packet, radii, totals, weights, out):
        here = lax.iota(jnp.int32, LANES)
        bounds, bound_of_lane = [radii[i] for i in range(bins)], radii[here]
        zero = jnp.zeros((LANES,), weights.dtype)

        def choose(group, children, state):
            # Whatever lies within a radius of all lanes, or of none, is decided: lane i looks at radius i.
            far = (above * jnp.max(space.reaches(group), axis=1))[:, None]
            gap = jnp.min(space.gaps(group), axis=1)[:, None]
            inside = far <= bound_of_lane[None, :]
            open_ = lane_bits(~inside & (gap <= above * bound_of_lane[None, :]))
            total = jnp.broadcast_to(of_children(totals, group, children & ~open_)[:, None], inside.shape)
            shares = jnp.where(inside, total, jnp.zeros_like(total))
            sums, of_nodes = state
            of_nodes += jnp.sum(shares, axis=0, dtype=weights.dtype)
            return children & open_, (sums, of_nodes)

        def take(state, slot, distances):
            share = weights[pl.ds(slot, space.chunk)][:, None]
            share = jnp.broadcast_to(share, distances.shape)
            inside = (jnp.where(distances <= bound, share, jnp.zeros_like(share)) for bound in bounds)
            sums, of_nodes = state
            shares = (jnp.sum(each, axis=0, dtype=weights.dtype) for each in inside)
            return tuple(s + share for s, share in zip(sums, shares, strict=True)), of_nodes

        sums, of_nodes = walk(space, ((zero,) * bins, zero), choose, visit_leaf(space, take))
        for i, own in enumerate(sums):
            common = jnp.sum(jnp.where(here == i, of_nodes, zero), dtype=weights.dtype)
            out[i, packet.lane] = jnp.where(packet.finite, own + common, zero)

    packets = in_packets(lanes)
    radii = jnp.pad(radii, (0, LANES - bins), constant_values=-1)
    out = jax.ShapeDtypeStruct((bins, packets.bound.shape[0]), weights.dtype)
    sums = run(kernel, tree, packets, box, (radii, totals, weights), out, p=p, interpret=interpret)
    return sums[:, : lanes.bound.shape[0]]


class Packet(NamedTuple):
    """The lanes of one program, as vectors (LANES,)."""

    lane: Any  # the number of each
    bound: Any  # as in `Queries`; -1 for a lane that is not finite
    own: Any
    finite: Any


def in_packets(lanes: Queries) -> Queries:
    """Fill the last packet with lanes that reach nothing."""
    extra = (0, -lanes.bound.shape[0] % LANES)
    bound, own = (jnp.pad(each, extra, constant_values=-1) for each in (lanes.bound, lanes.own))
    return Queries(jnp.pad(lanes.points, ((0, 0), extra)), bound, own)


def run(kernel, tree: Tree, packets: Queries, box, inputs, out, *, p: float, **options):
    """Run ``kernel(space, packet, *references to the inputs and outputs)`` for each packet; see `launch`."""
    m, leaf_size, levels = tree.points.shape[0], tree.leaf_size, tree.levels
    periods = () if box is None else ((box * tree.scale).astype(tree.points.dtype),)
    inputs = (tree.points, tree.rows, tree.lower, tree.upper, *packets, *periods, *inputs)

    def program(points, rows, lower, upper, queries, bounds, owns, *refs):
        lane = pl.program_id(0) * LANES + lax.iota(jnp.int32, LANES)
        coordinates = [queries[a, lane] for a in range(m)]
        finite = jnp.isfinite(coordinates[0])
        for x in coordinates[1:]:
            finite &= jnp.isfinite(x)
        coordinates = [jnp.where(finite, x, jnp.zeros_like(x)) for x in coordinates]
        lengths = [None] * m
        if periods:
            period, *refs = refs
            lengths = [period[a] for a in range(m)]
        space = Space(points, rows, lower, upper, coordinates, lengths, p, leaf_size, levels)
        bound = bounds[lane]
        bound = jnp.where(finite, bound, jnp.full_like(bound, -1))
        kernel(space, Packet(lane, bound, owns[lane], finite), *refs)

    programs = packets.bound.shape[0] // LANES
    return launch(program, programs, inputs, out, **options)


def near(space: Space, packet: Packet, group, reach, relation):
    """Tell which of the eight nodes of `group` each lane may have neighbours in: (WIDTH, LANES)."""
    flags = space.gaps(group) <= reach[None, :]
    if relation != "later":
        return flags
    # The first leaf with a slot after the packet's first, and the node of the group's level that it is in
    leaf = lax.div(jnp.min(packet.own) + np.int32(1), np.int32(space.leaf_size)) + np.int32(1 << space.levels)
    level = np.int32(31) - lax.clz(group * np.int32(WIDTH) | np.int32(1))
    node = lax.shift_right_logical(leaf, np.int32(space.levels) - level)
    nodes = group * np.int32(WIDTH) + lax.broadcasted_iota(jnp.int32, flags.shape, 0)
    return flags & (nodes >= node)


def related(hits, packet: Packet, slot, relation):
    """Keep those hits of a chunk that the lanes may report."""
    if relation == "any":
        return hits
    slots = slot + lax.broadcasted_iota(jnp.int32, hits.shape, 0)
    own = packet.own[None, :]
    return hits & (slots > own if relation == "later" else slots != own)


def least_radii(tree: Tree, p: float) -> Array:
    """Return for each group of eight nodes the radius of the smallest, from its middle to a corner."""
    half = tree.upper / 2 - tree.lower / 2
    return root(power_distance(lambda a: half[a], len(half), p), p).reshape(-1, WIDTH).min(axis=1)


def room_around(space: Space, packet: Packet):
    """Return how large a node's radius may be for the node to lie within the bounds of all lanes, roughly.

    The test proper takes as long as that for neighbours, and where radii are small it would be in vain.
    """
    spread = space.power_distance(lambda a: jnp.max(space.queries[a]) / 2 - jnp.min(space.queries[a]) / 2)
    least = jnp.min(packet.bound)
    reach = root(jnp.maximum(least, jnp.zeros_like(least)), space.p)
    return jnp.where(least >= 0, reach - root(spread, space.p), jnp.full_like(least, -1))


def of_children(values, group, children):
    """Return the values (WIDTH,) of the nodes of `group`, 0 for those not among the `children`."""
    chosen = lax.shift_right_logical(children, lax.iota(jnp.int32, WIDTH)) & np.int32(1) != 0
    found = values[pl.ds(group * np.int32(WIDTH), WIDTH)]
    return jnp.where(chosen, found, jnp.zeros_like(found))


def picked(tile, i: int):
    """Return row `i` of a tile: no instruction, since each lane holds a column in registers."""
    here = lax.broadcasted_iota(jnp.int32, tile.shape, 0) == i
    return jnp.sum(jnp.where(here, tile, jnp.zeros_like(tile)), axis=0, dtype=tile.dtype)
