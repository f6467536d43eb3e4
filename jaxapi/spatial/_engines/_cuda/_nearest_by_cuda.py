"""Nearest neighbors on an NVIDIA GPU.

Queries are ordered by the leaf they fall in. Few neighbors in few dimensions are found for 32 queries by a
warp (`packets.cu`), others by a warp for each query (`singles.cu`), and more than its registers hold in
passes, each from where the last one ended.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ...._core._programs import is_traced
from ...._core._typing import Array
from ..._tree._batching import one_search_of_all
from ..._tree._metric import Measure, TreeMetric
from ..._tree._queries import Limits, Slots
from ..._tree._tree import Tree
from .. import _lax
from . import _every
from ._launch import Kernel, launch
from ._order import THREADS, Nodes, Order, Source, boxsize_operand, nodes_of, order_of

__all__ = ["distances_in_units", "nearest", "nearest_of_all", "nearest_of_slots", "prepare"]

LANES = 32
PACKET_WARPS = 2  # a block
SINGLE_WARPS = 4  # a block
AT_ONCE = 1024  # neighbors that a warp's registers hold
ORDERED_FROM = 1 << 15  # queries: fewer are searched sooner than ordered


def nearest(
    tree: Tree,
    queries: Array,
    limits: Limits,
    metric: TreeMetric,
    *,
    k: int,
    measure: Measure = Measure.DISTANCE,
) -> tuple[Array, Array]:
    """Return how far the `k` nearest points are, and their rows, (q, k), ordered by (distance, row).

    `queries` (q, m) are in the user's units and of the tree's dtype, and lie in the periodic box, if there is
    one. A missing neighbor has distance inf and row n, and so have all of a query that is not finite.
    """
    limits = _in_dtype_of(tree, limits)

    def search(shared, queries, bound):
        tree, eps, metric = shared
        return _nearest(tree, queries, Limits(bound, eps), metric, k=k, measure=measure)

    # Searches on meshes come here without `nearest_columns`, which makes one search of a batch, too.
    return one_search_of_all(search)((tree, limits.eps, metric), queries, limits.bound)


def nearest_of_all(
    tree: Tree,
    limits: Limits,
    metric: TreeMetric,
    *,
    row_count: int,
    k: int,
    measure: Measure = Measure.DISTANCE,
) -> tuple[Array, Array]:
    """Return how far the `k` nearest points of each of the tree's are, and their rows, (row_count, k).

    By row, and as `nearest`, which takes longer: the tree's points lie in order already. There are n rows or
    more; from n on they are not written.
    """
    limits = _in_dtype_of(tree, limits)
    order = Order.points(tree, row_count)
    walk = _Walk(tree, nodes_of(tree, metric.boxsize), order, tree.points, limits, metric)
    return _search(walk, k, measure)


def prepare(tree: Tree, boxsize: Array | None) -> Nodes | tuple[()]:
    """Return what `nearest_of_slots` reads besides the tree: the nodes of one that has some."""
    return () if tree.is_flat else nodes_of(tree, boxsize)


def nearest_of_slots(
    tree: Tree,
    prepared: Nodes | tuple[()],
    slots: Slots,
    limits: Limits,
    metric: TreeMetric,
    *,
    k: int,
) -> tuple[Array, Array]:
    """Return distances and rows (size, k) of the `k` nearest points of those on some slots.

    As `nearest`, which takes longer; an empty slot has no neighbors. Without the nodes, which may
    be `prepared`, they are made here.
    """
    if tree.is_flat:
        return nearest(tree, tree.points_in_units(slots.of(tree.points)), limits, metric, k=k)
    limits = _in_dtype_of(tree, limits)
    order = Order.slots(tree, slots)
    nodes = prepared or nodes_of(tree, metric.boxsize)
    walk = _Walk(tree, nodes, order, tree.points, limits, metric)
    return _search(walk, k, Measure.DISTANCE)


def _in_dtype_of(tree: Tree, limits: Limits) -> Limits:
    """Return the limits as arrays of the tree's dtype, as the kernels read them."""
    dtype = tree.points.dtype
    return Limits(jnp.asarray(limits.bound, dtype), jnp.asarray(limits.eps, dtype))


def distances_in_units(tree: Tree, powers: Array, metric: TreeMetric) -> Array:
    """Return the distances of scaled power distances (q, k), bit for bit those that `nearest` gives.

    XLA rounds roots of its own in other ways.
    """
    query_count, k = powers.shape
    if tree.is_flat and not _every.serves(k, metric):
        return _lax.distances_in_units(tree, powers, metric)
    kernel = Kernel.of("in_units", m=1, dtype=powers.dtype, p=metric.p)
    sizes = np.array([query_count, k], np.int32)
    inputs = {"powers": powers, "scale": tree.scale, "sizes": sizes}
    outputs = {"found": jax.ShapeDtypeStruct(powers.shape, powers.dtype)}
    (distances,) = launch(kernel, -(-query_count * k // THREADS), THREADS, inputs, outputs)
    return distances


class _Sizes(NamedTuple):
    """The numbers that every kernel of this file reads, in their order there."""

    query_count: int
    leaf_size: int
    levels: int
    bound_stride: int  # 1: each query has a bound; 0: all have one
    are_distances_rooted: bool  # else they are scaled powers
    source: Source
    first_slot: Array | int


class _Walk(NamedTuple):
    """What every kernel of this file reads; queries that are points of the tree are not read."""

    tree: Tree
    nodes: Nodes
    order: Order
    queries: Array
    limits: Limits
    metric: TreeMetric

    def kernel(self, name: str, **constants) -> Kernel:
        """Return a kernel for the tree's dimensions and dtype, and the metric."""
        m = len(self.tree.points)
        dtype = self.tree.points.dtype
        p = self.metric.p
        return Kernel.of(name, m=m, dtype=dtype, p=p, periodic=self.metric.is_periodic, **constants)

    def inputs(self) -> dict[str, Array]:
        """Return the arrays that every kernel begins with."""
        tree = self.tree
        return {
            "points": tree.points,
            "rows": tree.rows,
            "boxes": self.nodes.boxes,
            "n": tree.n,
            "scale": tree.scale,
            "queries": self.queries,
            "bounds": self.limits.bound,
            "eps": self.limits.eps,
            "lengths": boxsize_operand(tree, self.metric.boxsize),
            "order": self.order.order,
        }

    def sizes(self, measure: Measure, *others):
        """Return the numbers that every kernel reads, and others, as one array; some may be traced."""
        of_every_kernel = _Sizes(
            query_count=self.order.length,
            leaf_size=self.tree.leaf_size,
            levels=self.tree.levels,
            bound_stride=self.limits.bound.ndim,
            are_distances_rooted=measure is Measure.DISTANCE,
            source=self.order.source,
            first_slot=self.order.begin,
        )
        numbers = [*of_every_kernel, *others]
        if any(map(is_traced, numbers)):
            return jnp.stack([jnp.asarray(number, jnp.int32) for number in numbers])
        return np.array(numbers, np.int32)

    def outputs(self, k: int) -> dict[str, jax.ShapeDtypeStruct]:
        """Return the shapes and dtypes of distances and rows."""
        shape = self.order.row_count, k
        distances = jax.ShapeDtypeStruct(shape, self.queries.dtype)
        return {"found": distances, "found_rows": jax.ShapeDtypeStruct(shape, jnp.int32)}


def _nearest(tree, queries, limits, metric, *, k, measure):
    count = len(queries)
    if count == 0:
        return jnp.zeros((0, k), tree.points.dtype), jnp.zeros((0, k), jnp.int32)
    if tree.is_flat:
        if _every.serves(k, metric):
            return _every.nearest(tree, queries, limits.bound, k=k, measure=measure)
        return _lax.nearest(tree, queries, limits, metric, k=k, measure=measure)
    nodes = nodes_of(tree, metric.boxsize)
    is_worth_ordering = count >= ORDERED_FROM
    order = order_of(tree, nodes, queries) if is_worth_ordering else Order.as_they_come(tree, count)
    return _search(_Walk(tree, nodes, order, queries, limits, metric), k, measure)


def _search(walk: _Walk, k: int, measure: Measure):
    """Search for queries in their order."""
    if share_walks(k, len(walk.tree.points), walk.order.length):
        return _search_by_packets(walk, k, measure)
    if k <= AT_ONCE:
        return _search_by_singles(walk, k, measure)
    return _search_in_passes(walk, k, measure)


def share_walks(k: int, m: int, count: int) -> bool:
    """Tell whether 32 queries share a walk: where they have most leaves in common, and fill the GPU."""
    return k <= 32 and m <= 4 and count >= 1 << 16


def _search_by_packets(walk: _Walk, k: int, measure: Measure):
    kernel = walk.kernel("packets", k=k, warps=PACKET_WARPS)
    inputs = {**walk.inputs(), "leaves": walk.order.leaves, "sizes": walk.sizes(measure)}
    packet_count = -(-walk.order.length // LANES)
    blocks = -(-packet_count // PACKET_WARPS)
    return tuple(launch(kernel, blocks, PACKET_WARPS * LANES, inputs, walk.outputs(k)))


def _search_by_singles(walk: _Walk, k: int, measure: Measure):
    kernel = walk.kernel("singles", k=k, floor=0, warps=SINGLE_WARPS)
    inputs = {**walk.inputs(), "sizes": walk.sizes(measure)}
    blocks = -(-walk.order.length // SINGLE_WARPS)
    return tuple(launch(kernel, blocks, SINGLE_WARPS * LANES, inputs, walk.outputs(k)))


def _search_in_passes(walk: _Walk, k: int, measure: Measure):
    """Find `AT_ONCE` neighbors at a time, each pass from the last neighbor of the one before."""
    kernel = walk.kernel("singles", k=AT_ONCE, floor=1, warps=SINGLE_WARPS)
    count = walk.order.length
    inputs = {**walk.inputs(), "sizes": walk.sizes(measure, k)}
    last = jax.ShapeDtypeStruct((count,), walk.queries.dtype)
    last_row = jax.ShapeDtypeStruct((count,), jnp.int32)
    outputs = {**walk.outputs(k), "last": last, "last_row": last_row}
    blocks = -(-count // SINGLE_WARPS)
    threads = SINGLE_WARPS * LANES

    def find_more(i, results):
        of_pass = {**inputs, "first": jnp.int32(i * AT_ONCE)}
        in_place = dict(zip(outputs, results, strict=True))
        return tuple(launch(kernel, blocks, threads, of_pass, in_place=in_place))

    start = tuple(jnp.zeros(output.shape, output.dtype) for output in outputs.values())
    passes = -(-k // AT_ONCE)
    distances, rows, _, _ = lax.fori_loop(0, passes, find_more, start)
    return distances, rows
