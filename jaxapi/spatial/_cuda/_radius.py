"""Radius searches on an NVIDIA GPU: a kernel each for counting, filling and binning.

They take ordered queries, 32 a warp, from the root through all leaves that one of them can reach.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core._typing import Array
from .. import _lax
from .._structure._metric import into_box
from .._structure._queries import Queries, node_sums, radius_bound
from .._structure._tree import Tree
from ._launch import Kernel, launch
from ._order import lengths, lined, nodes_of, ordered

__all__ = ["bin_counts", "count", "fill", "fill_edges", "fill_lines", "fill_pairs", "ordered_queries"]

WARPS, SORTING_WARPS = 2, 4  # a block
AT_ONCE = 256  # neighbours that a warp sorts in registers
BINS = 4  # kernels are compiled for multiples of so many radii
MOST = np.iinfo(np.int32).max  # that is counted
RELATIONS = {"any": 0, "other": 1, "later": 2}
WRITES = {"neighbours": 0, "edges": 1, "pairs": 2}
WEIGHTS = {"int32": "int", "float32": "float", "float64": "double"}


def ordered_queries(tree: Tree, queries: Array, radius: Array, box: Array | None, *, p: float):
    """Return ``queries`` (q, m) made ready, and their order: number ``i`` is query ``order[i]``.

    Where others have -1 for a query from outside, `own` is ``~leaf``, with the leaf that it falls in.
    """
    queries = queries if box is None else into_box(queries, box)
    bound = radius_bound(tree, radius, p)
    if not len(queries):
        nothing = jnp.zeros(0, jnp.int32)
        return Queries(queries.T, bound, nothing), nothing
    line = ordered(tree, nodes_of(tree, None), queries)
    return Queries(*lined(tree, line, queries, bound)), line.order


def count(
    tree: Tree,
    queries: Queries,
    order: Array,
    box: Array | None,
    *,
    p: float,
    relation: str,
    enough: int = MOST,
) -> Array:
    """Count the neighbours of each query, up to `enough` or more, in the place of ``order``: (Q,) int32."""
    kernel = _kernel(tree, "count", p, box, relation=RELATIONS[relation])
    counts = jnp.zeros(queries.bound.shape, jnp.int32)
    sizes = np.append(_sizes(tree, queries), np.int32(min(enough, MOST)))
    return _run(kernel, tree, queries, box, (order, sizes), in_place=[counts])[0]


def fill(
    tree: Tree,
    queries: Queries,
    order: Array,
    offsets: Array,
    box: Array | None,
    *,
    size: int,
    p: float,
    relation: str,
):
    """Write each query's neighbours, in slot order, from its offset up to the next: offsets (Q + 1,).

    Returns rows (size,), ``n`` where nothing was written, and distances (size,), there ``inf``.
    """
    lines = jnp.full(size, tree.n, jnp.int32), jnp.full(size, jnp.inf, tree.points.dtype)
    return _filled(tree, queries, order, offsets, box, lines, p, relation)


def fill_edges(tree: Tree, queries: Queries, offsets: Array, box, *, size: int, p: float, relation: str):
    """Do so for the tree's own points, and say whose they are: receivers, senders and distances (size,)."""
    none = jnp.full(size, tree.n, jnp.int32)
    lines = none, jnp.full(size, jnp.inf, tree.points.dtype), none
    found = _filled(tree, queries, tree.rows, offsets, box, lines, p, relation, "edges")
    senders, distances, receivers = found
    return receivers, senders, distances


def fill_pairs(tree: Tree, queries: Queries, offsets: Array, box, *, size: int, p: float):
    """Write the two rows of each pair of the tree's own points, the lower one first: (size, 2)."""
    lines = (jnp.full((size, 2), tree.n, jnp.int32),)
    return _filled(tree, queries, tree.rows, offsets, box, lines, p, "later", "pairs")[0]


def _filled(tree, queries, order, offsets, box, lines, p, relation, writes="neighbours"):
    wide = int(offsets.dtype == np.int64)
    relation, writes = RELATIONS[relation], WRITES[writes]
    kernel = _kernel(tree, "fill", p, box, relation=relation, wide=wide, writes=writes)
    inputs = order, offsets, _sizes(tree, queries)
    return tuple(_run(kernel, tree, queries, box, inputs, in_place=lines))


def fill_lines(tree: Tree, queries: Queries, order: Array, box: Array | None, *, limit: int, p: float):
    """Write up to `limit` neighbours of each query into a line of its own, in the place of ``order``.

    Returns rows and distances (Q, limit), ordered by (distance, row), ``n`` and ``inf`` in what is left, and
    how many neighbours each has (Q,). Of more neighbours than `limit` it is any that are kept.
    """
    lines = queries.bound.shape[0]
    if limit > AT_ONCE or not lines:
        return _lax.fill_lines(tree, queries, order, box, limit=limit, p=p, count=count, fill=fill)
    shapes = [jax.ShapeDtypeStruct((lines, limit), dtype) for dtype in (jnp.int32, queries.bound.dtype)]
    sizes = np.array([lines, tree.leaf_size, tree.levels, limit], np.int32)
    counted = jax.ShapeDtypeStruct((lines,), jnp.int32)
    kernel = _kernel(tree, "within", p, box, relation=RELATIONS["any"])
    found = _run(kernel, tree, queries, box, (order, sizes), [*shapes, counted])
    rows, distances, counts = found
    held = 1 << max(limit - 1, 31).bit_length()  # so that few kernels serve all limits
    kernel = Kernel.of("sorted", m=1, dtype=queries.bound.dtype, k=held, warps=SORTING_WARPS)
    inputs = tree.n, counts, np.array([lines, limit], np.int32), rows, distances
    blocks, threads = -(-lines // SORTING_WARPS), SORTING_WARPS * 32
    return *launch(kernel, blocks, threads, inputs, shapes, in_place=2), counts


def bin_counts(
    tree: Tree, queries: Queries, radii: Array, weights: Array, box: Array | None, *, p: float
) -> Array:
    """Sum the slots' weights (N,) within each of the ``radii``, scaled powers (R,), of each query: (R, Q).

    There are at most 32 radii.
    """
    bins = len(radii)
    size = -(-bins // BINS) * BINS
    radii, place = lax.sort((radii, lax.iota(jnp.int32, bins)), num_keys=1)
    weight = WEIGHTS[weights.dtype.name]
    kernel = _kernel(tree, "bins", p, box, relation=RELATIONS["any"], weight=weight, bins=size)
    radii = jnp.pad(radii, (0, size - bins), mode="edge")
    inputs = radii, weights, node_sums(weights, tree.leaves), _sizes(tree, queries)
    output = jax.ShapeDtypeStruct((size, *queries.bound.shape), weights.dtype)
    (sums,) = _run(kernel, tree, queries, box, inputs, [output])
    return jnp.zeros((bins, *queries.bound.shape), weights.dtype).at[place].set(sums[:bins])


def _kernel(tree: Tree, name: str, p: float, box, **constants) -> Kernel:
    m, dtype = tree.points.shape[0], tree.points.dtype
    return Kernel.of(name, m=m, dtype=dtype, p=p, periodic=box is not None, warps=WARPS, **constants)


def _sizes(tree: Tree, queries: Queries):
    return np.array([queries.bound.shape[0], tree.leaf_size, tree.levels], np.int32)


def _run(kernel: Kernel, tree: Tree, queries: Queries, box, inputs, outputs=(), in_place=()):
    """Run a kernel with a lane for each query; return its outputs and what it changes in place."""
    if not queries.bound.shape[0]:  # nothing to launch
        return [*(jnp.zeros(each.shape, each.dtype) for each in outputs), *in_place]
    boxes = nodes_of(tree, box).boxes
    of_tree = tree.points, tree.rows, boxes, tree.scale, lengths(tree, box)
    threads = WARPS * 32
    blocks = -(-queries.bound.shape[0] // threads)
    outputs = *outputs, *(jax.ShapeDtypeStruct(each.shape, each.dtype) for each in in_place)
    inputs = *of_tree, *queries, *inputs, *in_place
    return launch(kernel, blocks, threads, inputs, outputs, in_place=len(in_place))
