"""Radius searches on an NVIDIA GPU: a kernel each for counting, filling and binning.

They take ordered queries, 32 a warp, from the root through all leaves that one of them can reach.
"""

from collections.abc import Mapping
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ...._core._typing import Array
from ..._tree._metric import TreeMetric
from ..._tree._queries import RadiusQueries, Relation, Written, node_sums, radius_bound
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
    written: Written = Written.NEIGHBORS,
) -> tuple[Array, ...]:
    """Write each query's neighbors, in slot order, from its offset up to the next, as `_lax.fill`."""
    no_rows = jnp.full(size, tree.n, jnp.int32)
    nothing = {"found_rows": no_rows, "found": jnp.full(size, jnp.inf, tree.points.dtype)}
    if written is Written.EDGES:
        nothing["found_by"] = no_rows
    if written is Written.PAIRS:
        nothing = {"pairs": jnp.full((size, 2), tree.n, jnp.int32)}
    walk = RadiusWalk(tree, queries, metric)
    is_wide = offsets.dtype == np.int64
    constants = {"relation": int(relation), "wide": int(is_wide), "writes": int(written)}
    inputs = {"order": queries.order, "offsets": offsets, "sizes": walk.sizes()}
    return tuple(walk.run(walk.kernel("fill", **constants), inputs, in_place=nothing))


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
