"""What a search needs besides the tree: its nodes as the kernels read them, and the queries in order."""

import enum
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..._core._typing import Array
from .._structure._sorting import sorted_by
from .._structure._tree import Tree
from ._launch import Kernel, launch

__all__ = ["THREADS", "Nodes", "Ordered", "extent", "lined", "nodes_of", "ordered"]

THREADS = 128  # a block, where each thread works alone
KEY_BITS = 31  # for the leaf and the place in it; one more tells queries that are far
LEVELS_ABOVE = 6  # the leaf is the node that these are far from
EXTENT_BLOCKS = 1024  # more would wait for each other at the end


class Nodes(NamedTuple):
    """The nodes of a tree, as `nodes.cu` makes them."""

    boxes: Array  # (2L * words of a box,)
    planes: Array  # (L * 2,) where a node is split, and along which axis
    empty: Array  # (2, m), a box: to fill a constant in place takes a copy of it at each call


class Source(enum.IntEnum):
    """Whose neighbours are searched, and in which order; `walk.cuh` has the same."""

    ORDERED = 0  # queries, in an order
    AS_THEY_COME = 1  # queries
    POINTS = 2  # the tree's points, slot by slot, whose results go where their rows are
    SLOTS = 3  # the same from one slot on, and so do their results


class Ordered(NamedTuple):
    """Queries in an order, and how many results there is room for; what is not read is any array."""

    source: Source
    order: Array  # (length,) int32, the queries, or the rows of points, one after another
    leaves: Array  # (length,) int32, the leaf that each query falls in, in the order of the queries
    length: int
    lines: int
    begin: Array | int = 0  # the first slot

    @classmethod
    def as_they_come(cls, tree: Tree, count: int) -> "Ordered":
        """Return so many queries as they come."""
        return cls(Source.AS_THEY_COME, tree.rows, tree.rows, count, count)

    @classmethod
    def points(cls, tree: Tree, lines: int) -> "Ordered":
        """Return the tree's points; their results have n lines or more."""
        return cls(Source.POINTS, tree.rows, tree.rows, len(tree.rows), lines)

    @classmethod
    def slots(cls, tree: Tree, begin, size: int) -> "Ordered":
        """Return the points of so many slots from one on."""
        return cls(Source.SLOTS, tree.rows, tree.rows, size, size, begin)


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
        jax.ShapeDtypeStruct((2, m), dtype),
    )
    return Nodes(*launch(kernel, -(-2 * leaves // THREADS), THREADS, inputs, outputs))


def lengths(tree: Tree, box: Array | None) -> Array:
    """Return the periodic box; what stands for it without one is not read."""
    return tree.scale if box is None else jnp.asarray(box, tree.points.dtype)


def ordered(tree: Tree, nodes: Nodes, queries: Array) -> Ordered:
    """Return the order of queries (q, m), in the user's units."""
    count, m = queries.shape
    above = min(tree.levels, LEVELS_ABOVE)
    places = [_place_bits(m, bits) for bits in (KEY_BITS - tree.levels, KEY_BITS - tree.levels + above)]
    sizes = np.array([count, tree.levels, above, *places[0], *places[1]], np.int32)
    kernel = Kernel.of("order", m=m, dtype=queries.dtype)
    box = extent(queries, count, nodes.empty)
    inputs = nodes.boxes, nodes.planes, tree.scale, box, queries, sizes
    outputs = [jax.ShapeDtypeStruct((count,), dtype) for dtype in (jnp.uint32, jnp.int32, jnp.int32)]
    keys, numbers, leaves = launch(kernel, -(-count // THREADS), THREADS, inputs, outputs)
    return Ordered(Source.ORDERED, sorted_by(keys, numbers), leaves, count, count)


def _place_bits(m: int, bits: int) -> tuple[int, int]:
    """Return how many bits for each of how many axes tell a place on a curve, of so many in all."""
    axes = min(m, bits)
    return bits // axes, axes


def extent(x: Array, n, empty: Array) -> Array:
    """Return the least and the greatest coordinates (2, m) of the first `n` lines that are finite."""
    lines, m = x.shape
    blocks = min(-(-lines // THREADS), EXTENT_BLOCKS)
    inputs = x, jnp.asarray(n, jnp.int32), np.array([blocks * THREADS], np.int32), empty
    output = jax.ShapeDtypeStruct(empty.shape, x.dtype)
    return launch(Kernel.of("extent", m=m, dtype=x.dtype), blocks, THREADS, inputs, [output], in_place=1)[0]


def lined(tree: Tree, line: Ordered, queries: Array, bound: Array) -> tuple[Array, Array, Array]:
    """Return queries (m, q), scaled, and their bounds (q,) and leaves (q,), as ``~leaf``, in an order."""
    count, m = queries.shape
    kernel = Kernel.of("lined", m=m, dtype=queries.dtype)
    outputs = [jax.ShapeDtypeStruct((*axes, count), queries.dtype) for axes in ((m,), ())]
    outputs.append(jax.ShapeDtypeStruct((count,), jnp.int32))
    inputs = queries, bound, tree.scale, line.order, line.leaves, np.array([count], np.int32)
    return tuple(launch(kernel, -(-count // THREADS), THREADS, inputs, outputs))
