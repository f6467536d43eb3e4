"""Radius searches on an NVIDIA GPU: a kernel each for counting, filling and binning.

They take ordered queries, 32 a warp, from the root through all leaves that one of them can reach.
"""

import enum
from collections.abc import Mapping
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ...._core._typing import Array
from ..._tree._metric import TreeMetric
from ..._tree._queries import RadiusQueries, Relation, node_sums, radius_bound
from ..._tree._tree import Tree
from .. import _lax
from ._launch import NONE, Kernel, launch
from ._order import boxsize_operand, nodes_of, order_of, queries_in_order

__all__ = [
    "WARPS",
    "RadiusWalk",
    "bin_counts",
    "count",
    "fill",
    "fill_edges",
    "fill_pairs",
    "fill_rows",
    "ordered_queries",
]

LANES = 32
WARPS = 2  # a block
SORTING_WARPS = 4  # a block
AT_ONCE = 256  # neighbors that a warp sorts in registers
BINS = 4  # kernels are compiled for multiples of so many radii
MOST = np.iinfo(np.int32).max  # that is counted
WEIGHTS = {"int32": "int", "float32": "float", "float64": "double"}


class Writes(enum.IntEnum):
    """What `fill.cu` writes for each neighbor; it has the same numbers."""

    NEIGHBORS = 0  # its row and distance
    EDGES = 1  # these and the query's row
    PAIRS = 2  # both rows, the lower one first


class RadiusWalk(NamedTuple):
    """What every kernel of a radius search reads; each has a lane for each query."""

    tree: Tree
    queries: RadiusQueries
    metric: TreeMetric

    def kernel(self, name: str, **constants) -> Kernel:
        """Return a kernel for the tree's dimensions and dtype, and the metric."""
        m = len(self.tree.points)
        dtype = self.tree.points.dtype
        p = self.metric.p
        return Kernel.of(
            name, m=m, dtype=dtype, p=p, periodic=self.metric.is_periodic, warps=WARPS, **constants
        )

    def sizes(self, *others: int) -> np.ndarray:
        """Return the sizes that every kernel reads, and others."""
        tree = self.tree
        return np.array([len(self.queries.bound), tree.leaf_size, tree.levels, *others], np.int32)

    def run(self, kernel: Kernel, inputs: Mapping, outputs: Mapping = NONE, in_place: Mapping = NONE):
        """Return the outputs of a kernel, and the arrays that it changes in place."""
        query_count = len(self.queries.bound)
        if not query_count:  # nothing to launch
            empty = [jnp.zeros(output.shape, output.dtype) for output in outputs.values()]
            return [*empty, *in_place.values()]
        tree = self.tree
        boxsize = self.metric.boxsize
        of_every_kernel = {
            "points": tree.points,
            "rows": tree.rows,
            "boxes": nodes_of(tree, boxsize).boxes,
            "scale": tree.scale,
            "lengths": boxsize_operand(tree, boxsize),
            "queries": self.queries.points,
            "bounds": self.queries.bound,
            "own": self.queries.slot,
        }
        threads = WARPS * LANES
        blocks = -(-query_count // threads)
        return launch(kernel, blocks, threads, {**of_every_kernel, **inputs}, outputs, in_place)


def ordered_queries(tree: Tree, queries: Array, radius: Array, metric: TreeMetric) -> RadiusQueries:
    """Return ``queries`` (q, m) made ready, as `_tree._queries.ordered_queries`.

    Where that has -1 for the slot of a query from outside, it is ``~leaf``, with the leaf that it falls in.
    """
    queries = metric.wrap(queries)
    bound = radius_bound(tree, radius, metric.p)
    if not len(queries):
        nothing = jnp.zeros(0, jnp.int32)
        return RadiusQueries(queries.T, bound, nothing, nothing)
    order = order_of(tree, nodes_of(tree, None), queries)
    return RadiusQueries(*queries_in_order(tree, order, queries, bound), order.order)


def count(
    tree: Tree,
    queries: RadiusQueries,
    metric: TreeMetric,
    *,
    relation: Relation,
    enough: int = MOST,
) -> Array:
    """Count the neighbors of each query, up to `enough` or more: (Q,) int32."""
    walk = RadiusWalk(tree, queries, metric)
    kernel = walk.kernel("count", relation=int(relation))
    counts = jnp.zeros(queries.bound.shape, jnp.int32)
    inputs = {"order": queries.order, "sizes": walk.sizes(min(enough, MOST))}
    (counts,) = walk.run(kernel, inputs, in_place={"counts": counts})
    return counts


def fill(
    tree: Tree,
    queries: RadiusQueries,
    offsets: Array,
    metric: TreeMetric,
    *,
    size: int,
    relation: Relation,
) -> tuple[Array, Array]:
    """Write each query's neighbors, in slot order, from its offset up to the next.

    Those of query i go from ``offsets[order[i]]`` to before ``offsets[order[i] + 1]``, of the queries' order.
    Returns rows (size,), ``n`` where nothing was written, and distances (size,), there ``inf``.
    """
    nothing = _no_neighbors(tree, size)
    walk = RadiusWalk(tree, queries, metric)
    rows, distances = _filled(walk, offsets, nothing, relation, Writes.NEIGHBORS)
    return rows, distances


def fill_edges(
    tree: Tree,
    queries: RadiusQueries,
    offsets: Array,
    metric: TreeMetric,
    *,
    size: int,
    relation: Relation,
) -> tuple[Array, Array, Array]:
    """Write the neighbors of the tree's own points as `fill`: receivers, senders and distances (size,)."""
    nothing = _no_neighbors(tree, size)
    nothing["found_by"] = nothing["found_rows"]
    walk = RadiusWalk(tree, queries, metric)
    senders, distances, receivers = _filled(walk, offsets, nothing, relation, Writes.EDGES)
    return receivers, senders, distances


def fill_pairs(tree: Tree, queries: RadiusQueries, offsets: Array, metric: TreeMetric, *, size: int) -> Array:
    """Write the two rows of each pair of the tree's own points, the lower one first: (size, 2)."""
    nothing = {"pairs": jnp.full((size, 2), tree.n, jnp.int32)}
    walk = RadiusWalk(tree, queries, metric)
    (pairs,) = _filled(walk, offsets, nothing, Relation.LATER, Writes.PAIRS)
    return pairs


def _no_neighbors(tree: Tree, size: int) -> dict[str, Array]:
    """Return what `fill` leaves where it writes no neighbor."""
    rows = jnp.full(size, tree.n, jnp.int32)
    distances = jnp.full(size, jnp.inf, tree.points.dtype)
    return {"found_rows": rows, "found": distances}


def _filled(walk: RadiusWalk, offsets: Array, nothing: Mapping, relation: Relation, writes: Writes):
    """Return arrays of nothing after the neighbors have been written to them."""
    is_wide = offsets.dtype == np.int64
    constants = {"relation": int(relation), "wide": int(is_wide), "writes": int(writes)}
    inputs = {"order": walk.queries.order, "offsets": offsets, "sizes": walk.sizes()}
    return walk.run(walk.kernel("fill", **constants), inputs, in_place=nothing)


def fill_rows(
    tree: Tree, queries: RadiusQueries, metric: TreeMetric, *, max_neighbors: int
) -> tuple[Array, Array, Array]:
    """Write up to `max_neighbors` neighbors of each query into a row of its own, as `_lax.fill_rows`."""
    query_count = len(queries.bound)
    if max_neighbors > AT_ONCE or not query_count:
        return _lax.fill_rows(tree, queries, metric, max_neighbors=max_neighbors, count=count, fill=fill)
    dtype = queries.bound.dtype
    outputs = {
        "found_rows": jax.ShapeDtypeStruct((query_count, max_neighbors), jnp.int32),
        "found": jax.ShapeDtypeStruct((query_count, max_neighbors), dtype),
        "counts": jax.ShapeDtypeStruct((query_count,), jnp.int32),
    }
    walk = RadiusWalk(tree, queries, metric)
    kernel = walk.kernel("within", relation=int(Relation.ANY))
    inputs = {"order": queries.order, "sizes": walk.sizes(max_neighbors)}
    rows, distances, counts = walk.run(kernel, inputs, outputs)

    register_count = 1 << max(max_neighbors - 1, 31).bit_length()  # so that few kernels serve all numbers
    kernel = Kernel.of("sorted", m=1, dtype=dtype, k=register_count, warps=SORTING_WARPS)
    sizes = np.array([query_count, max_neighbors], np.int32)
    inputs = {"n": tree.n, "counts": counts, "sizes": sizes}
    in_place = {"found_rows": rows, "found": distances}
    blocks = -(-query_count // SORTING_WARPS)
    rows, distances = launch(kernel, blocks, SORTING_WARPS * LANES, inputs, in_place=in_place)
    return rows, distances, counts


def bin_counts(tree: Tree, queries: RadiusQueries, radii: Array, weights: Array, metric: TreeMetric) -> Array:
    """Sum the slots' weights (N,) within each of the ``radii`` of each query, as `_lax.bin_counts`.

    There are at most 32 radii.
    """
    bin_count = len(radii)
    size = -(-bin_count // BINS) * BINS
    radii, order = lax.sort((radii, lax.iota(jnp.int32, bin_count)), num_keys=1)
    constants = {"relation": int(Relation.ANY), "weight": WEIGHTS[weights.dtype.name], "bins": size}
    walk = RadiusWalk(tree, queries, metric)
    radii = jnp.pad(radii, (0, size - bin_count), mode="edge")
    inputs = {
        "radii": radii,
        "weights": weights,
        "totals": node_sums(weights, tree.leaves),
        "sizes": walk.sizes(),
    }
    outputs = {"sums": jax.ShapeDtypeStruct((size, *queries.bound.shape), weights.dtype)}
    (sums,) = walk.run(walk.kernel("bins", **constants), inputs, outputs)
    nothing = jnp.zeros((bin_count, *queries.bound.shape), weights.dtype)
    return nothing.at[order].set(sums[:bin_count])
