"""What a search needs beside the tree: its nodes as the kernels read them, and the queries in order."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._typing import Array
from .._structure._tree import Tree
from ._launch import Kernel, launch

__all__ = ["THREADS", "Nodes", "Ordered", "extent", "lined", "nodes_of", "ordered", "unordered"]

THREADS = 128  # a block, where each thread works alone
KEY_BITS = 31
EXTENT_BLOCKS = 1024  # more would wait for each other at the end


class Nodes(NamedTuple):
    """The nodes of a tree, as `nodes.cu` makes them."""

    boxes: Array  # (2L * words of a box,)
    splits: Array  # (L * 2,) where a node is split, and along which axis


class Ordered(NamedTuple):
    """The order of queries by where they fall."""

    keys: Array  # (q,) int32 ascending; the leaf is ``key >> shift``
    order: Array  # (q,) int32, the query of each key
    shift: int
    lines: int | None = None  # of the results of the tree's own points, whose rows `order` has; else `None`
    begin: Array | None = None  # the slot of the first line, where these follow the slots, not the rows

    @property
    def length(self) -> int:
        """How many queries there are."""
        return len(self.order) if self.lines is None or self.begin is None else self.lines

    @property
    def of_tree(self):
        """What `packets.cu` and `singles.cu` call so, and the slot to begin with."""
        if self.begin is not None:
            return 2, self.begin
        return int(self.lines is not None), 0


def nodes_of(tree: Tree, box: Array | None) -> Nodes:
    """Return the nodes of a tree."""
    m, dtype, leaves = tree.points.shape[0], tree.points.dtype, tree.leaves
    words = 16 // dtype.itemsize
    box_words = -(-2 * m // words) * words
    kernel = Kernel.of("nodes", m=m, dtype=dtype, periodic=box is not None)
    inputs = tree.lower, tree.upper, tree.scale, lengths(tree, box), np.array([tree.levels], np.int32)
    outputs = (
        jax.ShapeDtypeStruct((2 * leaves * box_words,), dtype),
        jax.ShapeDtypeStruct((2 * leaves,), dtype),
    )
    return Nodes(*launch(kernel, -(-2 * leaves // THREADS), THREADS, inputs, outputs))


def lengths(tree: Tree, box: Array | None) -> Array:
    """Return the periodic box; what stands for it without one is not read."""
    return tree.scale if box is None else jnp.asarray(box, tree.points.dtype)


def ordered(tree: Tree, nodes: Nodes, queries: Array) -> Ordered:
    """Return the order of queries (q, m), in the user's units."""
    count, m = queries.shape
    axes = min(m, KEY_BITS - tree.levels)
    bits = (KEY_BITS - tree.levels) // axes
    sizes = np.array([count, tree.levels, bits, axes], np.int32)
    kernel = Kernel.of("order", m=m, dtype=queries.dtype)
    inputs = nodes.splits, tree.scale, *extent(queries, count), queries, sizes
    output = jax.ShapeDtypeStruct((count,), jnp.int32)
    (keys,) = launch(kernel, -(-count // THREADS), THREADS, inputs, [output])
    keys, order = lax.sort((keys, lax.iota(jnp.int32, count)), num_keys=1)
    return Ordered(keys, order, bits * axes)


def unordered(count: int) -> Ordered:
    """Return queries as they come, without keys: as if all fell in the first leaf."""
    return Ordered(jnp.zeros(count, jnp.int32), lax.iota(jnp.int32, count), 0)


def extent(x: Array, n) -> tuple[Array, Array]:
    """Return the least and the greatest coordinates (m,) of those of the first `n` lines that are finite."""
    lines, m = x.shape
    blocks = min(-(-lines // THREADS), EXTENT_BLOCKS)
    box = [jnp.full(m, far, x.dtype) for far in (jnp.inf, -jnp.inf)]
    inputs = x, jnp.asarray(n, jnp.int32), np.array([blocks * THREADS], np.int32), *box
    outputs = [jax.ShapeDtypeStruct((m,), x.dtype)] * 2
    return tuple(
        launch(Kernel.of("extent", m=m, dtype=x.dtype), blocks, THREADS, inputs, outputs, in_place=2)
    )


def lined(tree: Tree, line: Ordered, queries: Array, bound: Array) -> tuple[Array, Array]:
    """Return queries (m, q), scaled, and their bounds (q,) in an order."""
    count, m = queries.shape
    kernel = Kernel.of("lined", m=m, dtype=queries.dtype)
    outputs = [jax.ShapeDtypeStruct((*axes, count), queries.dtype) for axes in ((m,), ())]
    inputs = queries, bound, tree.scale, line.order, np.array([count], np.int32)
    return tuple(launch(kernel, -(-count // THREADS), THREADS, inputs, outputs))
