"""Nearest neighbours on an NVIDIA GPU.

Queries are ordered by the leaf they fall in. Few neighbours in few dimensions are found for 32 queries by a
warp (`packets.cu`), others by a warp for each query (`singles.cu`), and more than its registers hold in
passes, each from where the last one ended.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core._programs import is_traced
from ..._core._typing import Array
from .. import _lax
from .._structure._batching import one_search_of_all
from .._structure._tree import Tree
from . import _every
from ._launch import Kernel, launch
from ._order import THREADS, Nodes, Ordered, lengths, nodes_of, ordered

__all__ = ["in_units", "nearest", "nearest_of_all", "nearest_of_slots"]

LANES = 32
PACKET_WARPS, SINGLE_WARPS = 2, 4  # a block
AT_ONCE = 1024  # neighbours that a warp's registers hold
ORDERED_FROM = 1 << 15  # queries: fewer are searched sooner than ordered


def nearest(
    tree: Tree, queries: Array, bound, eps, box: Array | None, *, k: int, p: float, rooted: bool = True
) -> tuple[Array, Array]:
    """Return distances and rows (q, k) of the `k` nearest points of each query, ordered by (distance, row).

    `queries` (q, m) are in the user's units and of the tree's dtype, and lie in the periodic `box` (m,), if
    there is one; its entries are 0 on axes that are not periodic. Only points nearer than `bound` are found,
    one for all or (q,). A missing neighbour has distance inf and row n, and so have all of a query that is
    not finite. With `eps`, the i-th distance may be up to 1 + eps times the true one. Where not `rooted`,
    distances are scaled power distances. `k`, `p` and `rooted` are static.
    """
    dtype = tree.points.dtype
    bound, eps = jnp.asarray(bound, dtype), jnp.asarray(eps, dtype)

    def search(shared, queries, bound):
        tree, eps, box = shared
        return _nearest(tree, queries, bound, eps, box, k=k, p=p, rooted=rooted)

    return one_search_of_all(search)((tree, eps, box), queries, bound)


def nearest_of_all(
    tree: Tree,
    bound,
    eps,
    box: Array | None,
    *,
    lines: int,
    k: int,
    p: float,
    rooted: bool = True,
) -> tuple[Array, Array]:
    """Return distances and rows (lines, k) of the `k` nearest points of each of the tree's, by their rows.

    As `nearest`, which takes longer: the tree's points lie in order already. There are n lines or more; from
    n on they are not written.
    """
    dtype = tree.points.dtype
    bound, eps = jnp.asarray(bound, dtype), jnp.asarray(eps, dtype)
    line = Ordered.points(tree, lines)
    return _search(tree, nodes_of(tree, box), line, tree.points, bound, eps, box, k=k, p=p, rooted=rooted)


def nearest_of_slots(
    tree: Tree,
    prepared: Nodes | tuple[()],
    begin,
    bound,
    eps,
    box: Array | None,
    *,
    size: int,
    k: int,
    p: float,
    rooted: bool = True,
) -> tuple[Array, Array]:
    """Return distances and rows (size, k) of the `k` nearest points of those on the slots from `begin` on.

    As `nearest`, which takes longer; an empty slot has no neighbours. The nodes may be `prepared`.
    """
    if tree.is_flat:
        queries = tree.in_units(lax.dynamic_slice_in_dim(tree.points, begin, size, axis=1))
        return nearest(tree, queries, bound, eps, box, k=k, p=p, rooted=rooted)
    dtype = tree.points.dtype
    bound, eps = jnp.asarray(bound, dtype), jnp.asarray(eps, dtype)
    line = Ordered.slots(tree, begin, size)
    return _search(
        tree, prepared or nodes_of(tree, box), line, tree.points, bound, eps, box, k=k, p=p, rooted=rooted
    )


def in_units(tree: Tree, powers: Array, box: Array | None, *, p: float) -> Array:
    """Return the distances of scaled power distances (q, k), bit for bit those that `nearest` gives.

    XLA rounds roots of its own in other ways.
    """
    lines, k = powers.shape
    if tree.is_flat and not _every.serves(k, p, box):
        return _lax.in_units(tree, powers, box, p=p)
    kernel = Kernel.of("in_units", m=1, dtype=powers.dtype, p=p)
    inputs = powers, tree.scale, np.array([lines, k], np.int32)
    output = jax.ShapeDtypeStruct(powers.shape, powers.dtype)
    return launch(kernel, -(-lines * k // THREADS), THREADS, inputs, [output])[0]


def _nearest(tree, queries, bound, eps, box, *, k, p, rooted):
    count, dtype = len(queries), tree.points.dtype
    if count == 0:
        return jnp.zeros((0, k), dtype), jnp.zeros((0, k), jnp.int32)
    if tree.is_flat:
        if _every.serves(k, p, box):
            return _every.nearest(tree, queries, bound, k=k, rooted=rooted)
        return _lax.nearest(tree, queries, bound, eps, box, k=k, p=p, rooted=rooted)
    nodes = nodes_of(tree, box)
    many = count >= ORDERED_FROM
    line = ordered(tree, nodes, queries) if many else Ordered.as_they_come(tree, count)
    return _search(tree, nodes, line, queries, bound, eps, box, k=k, p=p, rooted=rooted)


def _search(tree, nodes: Nodes, line: Ordered, queries, bound, eps, box, *, k, p, rooted):
    """Search for queries in their order; those of the tree are not read."""
    count, m = line.length, len(tree.points)
    kernel = partial(Kernel.of, m=m, dtype=tree.points.dtype, p=p, periodic=box is not None)
    arguments = tree, nodes, line, queries, bound, eps, lengths(tree, box), kernel, rooted
    if by_packets(k, m, count):
        return _by_packets(*arguments, k)
    if k <= AT_ONCE:
        return _by_singles(*arguments, k)
    return _in_passes(*arguments, k)


def by_packets(k: int, m: int, count: int) -> bool:
    """Tell whether 32 queries share a walk: where they have most leaves in common, and fill the GPU."""
    return k <= 32 and m <= 4 and count >= 1 << 16


def _shapes(line: Ordered, k: int, dtype):
    return tuple(jax.ShapeDtypeStruct((line.lines, k), each) for each in (dtype, jnp.int32))


def _of_tree(tree: Tree, nodes: Nodes):
    """Return the arrays that every search begins with."""
    return tree.points, tree.rows, nodes.boxes, tree.n, tree.scale


def _sizes(*numbers):
    """Return numbers as a kernel takes them; some may be traced."""
    if any(map(is_traced, numbers)):
        return jnp.stack([jnp.asarray(each, jnp.int32) for each in numbers])
    return np.array(numbers, np.int32)


def _by_packets(tree, nodes, line: Ordered, queries, bound, eps, box, kernel, rooted, k):
    count = line.length
    kernel = kernel("packets", k=k, warps=PACKET_WARPS)
    sizes = _sizes(count, tree.leaf_size, tree.levels, bound.ndim, rooted, line.source, line.begin)
    arrays = *_of_tree(tree, nodes), queries, bound, eps, box, line.order, line.leaves
    inputs = *arrays, sizes
    packets = -(-count // LANES)
    blocks, threads = -(-packets // PACKET_WARPS), PACKET_WARPS * LANES
    return tuple(launch(kernel, blocks, threads, inputs, _shapes(line, k, queries.dtype)))


def _by_singles(tree, nodes, line: Ordered, queries, bound, eps, box, kernel, rooted, k):
    count = line.length
    kernel = kernel("singles", k=k, floor=0, warps=SINGLE_WARPS)
    sizes = _sizes(count, tree.leaf_size, tree.levels, bound.ndim, rooted, line.source, line.begin)
    inputs = *_of_tree(tree, nodes), queries, bound, eps, box, line.order, sizes
    blocks, threads = -(-count // SINGLE_WARPS), SINGLE_WARPS * LANES
    return tuple(launch(kernel, blocks, threads, inputs, _shapes(line, k, queries.dtype)))


def _in_passes(tree, nodes, line: Ordered, queries, bound, eps, box, kernel, rooted, k):
    """Find `AT_ONCE` neighbours after another, each pass from the last neighbour of the one before."""
    count = line.length
    kernel = kernel("singles", k=AT_ONCE, floor=1, warps=SINGLE_WARPS)
    sizes = _sizes(count, tree.leaf_size, tree.levels, bound.ndim, rooted, line.source, line.begin, k)
    fixed = *_of_tree(tree, nodes), queries, bound, eps, box, line.order, sizes
    last = tuple(jax.ShapeDtypeStruct((count,), dtype) for dtype in (queries.dtype, jnp.int32))
    outputs = *_shapes(line, k, queries.dtype), *last
    blocks, threads = -(-count // SINGLE_WARPS), SINGLE_WARPS * LANES

    def one(i, found):
        inputs = *fixed, jnp.int32(i * AT_ONCE), *found
        return tuple(launch(kernel, blocks, threads, inputs, outputs, in_place=len(found)))

    start = tuple(jnp.zeros(each.shape, each.dtype) for each in outputs)
    return lax.fori_loop(0, -(-k // AT_ONCE), one, start)[:2]
