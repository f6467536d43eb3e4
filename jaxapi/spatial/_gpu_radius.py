"""Radius searches on an NVIDIA GPU: one Pallas kernel each for counting, filling and binning.

A program takes a packet of 32 lanes, one warp, through the tree in preorder and passes by every node that
none of them can reach. There is no stack: the node after a subtree is bit arithmetic on the node's number.
What the kernels compute is that of `_lax_radius`.
"""

import warnings

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton

from .._typing import Array
from ._lanes import Lanes, following, last_slot, node_sums, slack
from ._metric import axis_distance, axis_gap, combine, power, root
from ._tree import Tree

__all__ = ["bin_counts", "fill", "tally"]

PACKET = 32  # lanes that walk together, one warp
CHUNKS = 8, 4, 2, 1  # slots measured at once: a tile (chunk, PACKET) is as many registers a lane


def tally(
    tree: Tree, lanes: Lanes, box: Array | None, *, p: float, relation: str, interpret: bool = False
) -> Array:
    """Count each lane's neighbours: (Q,) int32."""
    view = View(tree, p, box)
    members = node_sums(jnp.isfinite(tree.points[0]).astype(jnp.int32), view.leaves)
    packets, padded = packets_of(lanes)

    def kernel(*refs):
        tree_refs, (members_ref, *lane_refs), (out_ref,) = view.split(refs, 1)
        lane, packet = view.lanes(lane_refs)

        def enter(node, counts):
            wanted = view.may_reach(tree_refs, packet, node, relation)
            if relation != "any":
                return wanted, counts
            whole = every(view.above * view.far(tree_refs, packet, node) <= packet.bound)
            return wanted & ~whole, counts + jnp.where(wanted & whole, members_ref[node], 0)

        def visit(leaf, counts):
            def chunk(slot, counts):
                hit = view.distances(tree_refs, packet, slot) <= packet.bound[None]
                hit = view.related(hit, packet, slot, relation)
                return counts + jnp.sum(hit.astype(jnp.int32), axis=0, dtype=jnp.int32)

            return view.chunks(leaf, chunk, counts)

        out_ref[lane] = walk(view.leaves, enter, visit, jnp.zeros((PACKET,), jnp.int32))

    out = jax.ShapeDtypeStruct((padded,), jnp.int32)
    return view.call(kernel, (members, *packets), out, padded, interpret)[: lanes.bound.shape[0]]


def fill(
    tree: Tree,
    lanes: Lanes,
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
    view = View(tree, p, box)
    packets, padded = packets_of(lanes)
    extra = (0, padded - start.shape[0])
    start, stop = jnp.pad(start, extra), jnp.pad(stop, extra)
    rows = jnp.full(size, tree.n, tree.rows.dtype)
    distances = jnp.full(size, jnp.inf, tree.points.dtype)

    def kernel(*refs):
        tree_refs, inputs, (rows_out, distances_out) = view.split(refs, 2)
        rows_ref, scale_ref, start_ref, stop_ref, *lane_refs = inputs[:-2]
        lane, packet = view.lanes(lane_refs)
        end, scale = stop_ref[lane], scale_ref[0]

        def enter(node, position):
            return view.may_reach(tree_refs, packet, node, relation), position

        def visit(leaf, position):
            def chunk(slot, position):
                found = view.distances(tree_refs, packet, slot)
                hits = view.related(found <= packet.bound[None], packet, slot, relation)
                rows = jnp.broadcast_to(rows_ref[pl.ds(slot, view.chunk)][:, None], hits.shape)

                def write(position):
                    for i in range(view.chunk):
                        hit = picked(hits.astype(jnp.int32), i) > 0
                        kept = hit & (position < end)
                        place = jnp.where(kept, position, size)
                        triton.store(rows_out.at[place], picked(rows, i), mask=kept)
                        distance = root(picked(found, i), p) / scale
                        triton.store(distances_out.at[place], distance, mask=kept)
                        position = position + hit.astype(position.dtype)
                    return position

                return lax.cond(some(hits), write, lambda position: position, position)

            return view.chunks(leaf, chunk, position)

        walk(view.leaves, enter, visit, start_ref[lane])

    inputs = (tree.rows, tree.scale.reshape(1), start, stop, *packets, rows, distances)
    out = (
        jax.ShapeDtypeStruct(rows.shape, rows.dtype),
        jax.ShapeDtypeStruct(distances.shape, distances.dtype),
    )
    return view.call(kernel, inputs, out, padded, interpret, filled_in_place=2)


def bin_counts(
    tree: Tree,
    lanes: Lanes,
    radii: Array,
    weights: Array,
    box: Array | None,
    *,
    p: float,
    interpret: bool = False,
) -> Array:
    """Sum the slots' weights (N,) within each of the ``radii``, scaled powers (R,), of each lane: (R, Q)."""
    view = View(tree, p, box)
    totals = node_sums(weights, view.leaves)
    packets, padded = packets_of(lanes)
    bins = radii.shape[0]

    def kernel(*refs):
        tree_refs, (totals_ref, weights_ref, radii_ref, *lane_refs), (out_ref,) = view.split(refs, 1)
        lane, packet = view.lanes(lane_refs)
        bounds = [radii_ref[number] for number in range(bins)]

        def enter(node, sums):
            near = view.below * jnp.min(view.gap(tree_refs, packet, node))
            far = view.above * jnp.max(view.far(tree_refs, packet, node))
            decided = near >= near  # False only for a lane that is not a number
            for bound in bounds:
                decided &= (far <= bound) | (near > bound)
            total = jnp.where(decided, totals_ref[node], jnp.zeros((), weights.dtype))
            zero = jnp.zeros((), weights.dtype)
            return ~decided, tuple(
                s + jnp.where(far <= bound, total, zero) for s, bound in zip(sums, bounds, strict=True)
            )

        def visit(leaf, sums):
            def chunk(slot, sums):
                found = view.distances(tree_refs, packet, slot)
                share = jnp.broadcast_to(weights_ref[pl.ds(slot, view.chunk)][:, None], found.shape)
                inside = (jnp.where(found <= bound, share, jnp.zeros_like(share)) for bound in bounds)
                shares = (jnp.sum(each, axis=0, dtype=weights.dtype) for each in inside)
                return tuple(s + share for s, share in zip(sums, shares, strict=True))

            return view.chunks(leaf, chunk, sums)

        zero = jnp.zeros((PACKET,), weights.dtype)
        sums = walk(view.leaves, enter, visit, (zero,) * bins)
        for number in range(bins):
            out_ref[lane + number * padded] = sums[number]

    out = jax.ShapeDtypeStruct((bins * padded,), weights.dtype)
    sums = view.call(kernel, (totals, weights, radii, *packets), out, padded, interpret)
    return sums.reshape(bins, padded)[:, : lanes.bound.shape[0]]


class View:
    """What a kernel sees of the tree: references to its arrays, and the geometry on top of them."""

    def __init__(self, tree: Tree, p: float, box: Array | None):
        self.tree, self.p = tree, p
        self.axes, self.slots = tree.points.shape
        self.leaves = tree.lower.shape[1] // 2
        self.size = self.slots // self.leaves
        self.chunk = next(c for c in CHUNKS if self.size % c == 0)
        self.below, self.above = slack(tree.points.dtype)
        lengths = jnp.zeros(1, tree.points.dtype) if box is None else (box * tree.scale)
        self.periodic = box is not None
        self.arrays = (*tree.points, *tree.lower, *tree.upper, lengths.astype(tree.points.dtype))

    def call(self, kernel, inputs, out, lanes: int, interpret: bool, filled_in_place: int = 0):
        """Run the kernel on the tree's arrays and ``inputs``, one program a packet of lanes."""
        arrays = (*self.arrays, *inputs)
        options = {} if interpret else {"compiler_params": triton.CompilerParams(num_warps=1, num_stages=1)}
        if filled_in_place:
            first = len(arrays) - filled_in_place
            options["input_output_aliases"] = {first + i: i for i in range(filled_in_place)}
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*Triton.*", category=DeprecationWarning)
            return pl.pallas_call(
                kernel, out_shape=out, grid=(lanes // PACKET,), interpret=interpret, **options
            )(*arrays)

    def split(self, refs, outputs: int):
        """Split a kernel's references: the tree's, the other inputs, the outputs."""
        own = len(self.arrays)
        return refs[:own], refs[own : len(refs) - outputs], refs[len(refs) - outputs :]

    def lanes(self, refs):
        """Load the program's packet: the lanes' numbers and their `Lanes`."""
        lane = pl.program_id(0) * PACKET + lax.broadcasted_iota(jnp.int32, (PACKET,), 0)
        *points, bound, own = refs
        return lane, Lanes([ref[lane] for ref in points], bound[lane], own[lane])

    def lengths(self, refs):
        """Return each axis's period, None where there is no periodic box."""
        return [refs[3 * self.axes][a] if self.periodic else None for a in range(self.axes)]

    def distances(self, refs, packet, slot):
        """Return the power distances from each lane to the slots of a chunk: (chunk, PACKET)."""
        return self.sum_axes(
            axis_distance(x[None], refs[a][pl.ds(slot, self.chunk)][:, None], length)
            for a, (x, length) in enumerate(zip(packet.points, self.lengths(refs), strict=True))
        )

    def gap(self, refs, packet, node):
        """Return the power distance from each lane to the node's box."""
        lower, upper = refs[self.axes : 2 * self.axes], refs[2 * self.axes : 3 * self.axes]
        return self.sum_axes(
            axis_gap(x, low[node], high[node], length)
            for x, low, high, length in zip(packet.points, lower, upper, self.lengths(refs), strict=True)
        )

    def far(self, refs, packet, node):
        """Return a power distance that no point of the node exceeds."""
        lower, upper = refs[self.axes : 2 * self.axes], refs[2 * self.axes : 3 * self.axes]

        def reach(x, low, high, length):
            most = jnp.maximum(jnp.abs(x - low), jnp.abs(x - high))
            return most if length is None else jnp.where(length > 0, jnp.minimum(most, length / 2), most)

        return self.sum_axes(
            reach(x, low[node], high[node], length)
            for x, low, high, length in zip(packet.points, lower, upper, self.lengths(refs), strict=True)
        )

    def sum_axes(self, differences):
        """Combine the powers of the axes' differences."""
        total = None
        for difference in differences:
            term = power(difference, self.p)
            total = term if total is None else combine(total, term, self.p)
        return total

    def may_reach(self, refs, packet, node, relation):
        """Tell whether any lane of the packet may have neighbours in the node."""
        wanted = some(self.gap(refs, packet, node) <= self.above * packet.bound)
        if relation == "later":
            wanted &= last_slot(node, self.leaves, self.slots) > jnp.min(packet.own)
        return wanted

    def related(self, hits, packet, slot, relation):
        """Keep those hits of a chunk that the lanes may report."""
        if relation == "any":
            return hits
        slots = slot + lax.broadcasted_iota(jnp.int32, hits.shape, 0)
        own = packet.own[None]
        return hits & (slots > own if relation == "later" else slots != own)

    def chunks(self, leaf, take, state):
        """Go through a leaf a chunk at a time."""

        def step(number, state):
            return take(leaf * self.size + number * self.chunk, state)

        return lax.fori_loop(jnp.int32(0), jnp.int32(self.size // self.chunk), step, state)


def picked(tile, i: int):
    """Return row `i` of a tile: no instruction, since each lane holds a column in registers."""
    here = lax.broadcasted_iota(jnp.int32, tile.shape, 0) == i
    return jnp.sum(jnp.where(here, tile, jnp.zeros_like(tile)), axis=0, dtype=tile.dtype)


def walk(leaves: int, enter, visit, state):
    """Visit, in slot order, the leaves of all nodes that ``enter`` wants; see `_lax_radius.walk`."""

    def step(carry):
        node, state = carry
        wanted, state = enter(node, state)
        leafy = node >= leaves
        state = lax.cond(wanted & leafy, lambda s: visit(node - leaves, s), lambda s: s, state)
        return jnp.where(wanted & ~leafy, 2 * node, following(node)), state

    return lax.while_loop(lambda carry: carry[0] > 0, step, (jnp.int32(1), state))[1]


def some(test):
    """Tell whether the test holds for any lane."""
    return jnp.max(test.astype(jnp.int32)) > 0


def every(test):
    """Tell whether the test holds for all lanes."""
    return jnp.min(test.astype(jnp.int32)) > 0


def packets_of(lanes: Lanes):
    """Return the lanes' arrays, padded to whole packets with lanes that reach nothing, and their number."""
    count = lanes.bound.shape[0]
    padded = max(-(-count // PACKET), 1) * PACKET
    extra = (0, padded - count)
    points = [jnp.pad(x, extra, mode="edge" if count else "constant") for x in lanes.points]
    bound = jnp.pad(lanes.bound, extra, constant_values=-1)
    return (*points, bound, jnp.pad(lanes.own, extra, constant_values=-1)), padded
