"""What a search needs besides the tree: its nodes as the kernels read them, and the queries in order."""

import enum
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ...._core._typing import Array
from ..._tree._queries import Slots
from ..._tree._sorting import sorted_by
from ..._tree._tree import Tree
from ._launch import Kernel, launch

__all__ = [
    "THREADS",
    "Nodes",
    "Order",
    "Source",
    "boxsize_operand",
    "extent",
    "nodes_of",
    "order_of",
    "queries_in_order",
]

THREADS = 128  # a block, where each thread works alone
KEY_BITS = 31  # for the leaf and the place in it; one more tells queries that are far
LEVELS_ABOVE = 6  # the leaf is the node that these are far from
EXTENT_BLOCKS = 1024  # more would wait for each other at the end
VECTOR_BYTES = 16  # that a kernel loads at once


# --- nodes ----------------------------------------------------------------------------------------------


class Nodes(NamedTuple):
    """The nodes of a tree, as `nodes.cu` makes them."""

    boxes: Array  # (2L * words of a box,)
    planes: Array  # (L * 2,) where a node is split, and along which axis
    empty: Array  # (2, m), a box: to fill a constant in place takes a copy of it at each call


def nodes_of(tree: Tree, boxsize: Array | None) -> Nodes:
    """Return the nodes of a tree."""
    m = tree.points.shape[0]
    dtype = tree.points.dtype
    node_count = 2 * tree.leaves
    numbers_in_vector = VECTOR_BYTES // dtype.itemsize
    box_size = -(-2 * m // numbers_in_vector) * numbers_in_vector
    kernel = Kernel.of("nodes", m=m, dtype=dtype, periodic=boxsize is not None)
    inputs = {
        "lower": tree.lower,
        "upper": tree.upper,
        "scale": tree.scale,
        "lengths": boxsize_operand(tree, boxsize),
        "sizes": np.array([tree.levels], np.int32),
    }
    outputs = {
        "boxes": jax.ShapeDtypeStruct((node_count * box_size,), dtype),
        "planes": jax.ShapeDtypeStruct((node_count,), dtype),
        "empty": jax.ShapeDtypeStruct((2, m), dtype),
    }
    return Nodes(*launch(kernel, -(-node_count // THREADS), THREADS, inputs, outputs))


def boxsize_operand(tree: Tree, boxsize: Array | None) -> Array:
    """Return the size of the periodic box; what stands for it without one is not read."""
    return tree.scale if boxsize is None else jnp.asarray(boxsize, tree.points.dtype)


# --- the order of queries -------------------------------------------------------------------------------


class Source(enum.IntEnum):
    """Whose neighbors are searched, and in which order; `walk.cuh` has the same."""

    ORDERED = 0  # queries, in an order
    AS_THEY_COME = 1  # queries
    POINTS = 2  # the tree's points, slot by slot, whose results go where their rows are
    SLOTS = 3  # the same from one slot on, and so do their results


class Order(NamedTuple):
    """The order of queries, and how many results there is room for; what is not read is any array."""

    source: Source
    order: Array  # (length,) int32, the queries, or the rows of points, one after another
    leaves: Array  # (length,) int32, the leaf that each query falls in, in the order of the queries
    length: int
    row_count: int  # of the results
    begin: Array | int = 0  # the first slot

    @classmethod
    def as_they_come(cls, tree: Tree, count: int) -> "Order":
        """Return so many queries as they come."""
        return cls(Source.AS_THEY_COME, tree.rows, tree.rows, count, count)

    @classmethod
    def points(cls, tree: Tree, row_count: int) -> "Order":
        """Return the tree's points; their results have n rows or more."""
        return cls(Source.POINTS, tree.rows, tree.rows, len(tree.rows), row_count)

    @classmethod
    def slots(cls, tree: Tree, slots: Slots) -> "Order":
        """Return the points of some slots."""
        return cls(Source.SLOTS, tree.rows, tree.rows, slots.size, slots.size, slots.begin)


def order_of(tree: Tree, nodes: Nodes, queries: Array) -> Order:
    """Return the order of queries (q, m), in the user's units."""
    count, m = queries.shape
    levels_above = min(tree.levels, LEVELS_ABOVE)
    bits_in_leaf = KEY_BITS - tree.levels
    of_near = _place_bits(m, bits_in_leaf)
    of_far = _place_bits(m, bits_in_leaf + levels_above)
    sizes = np.array([count, tree.levels, levels_above, *of_near, *of_far], np.int32)
    kernel = Kernel.of("order", m=m, dtype=queries.dtype)
    inputs = {
        "boxes": nodes.boxes,
        "planes": nodes.planes,
        "scale": tree.scale,
        "box": extent(queries, count, nodes.empty),
        "queries": queries,
        "sizes": sizes,
    }
    outputs = {
        "keys": jax.ShapeDtypeStruct((count,), jnp.uint32),
        "numbers": jax.ShapeDtypeStruct((count,), jnp.int32),
        "leaves": jax.ShapeDtypeStruct((count,), jnp.int32),
    }
    keys, numbers, leaves = launch(kernel, -(-count // THREADS), THREADS, inputs, outputs)
    return Order(Source.ORDERED, sorted_by(keys, numbers), leaves, count, count)


def _place_bits(m: int, bits: int) -> tuple[int, int]:
    """Return how many bits for each of how many axes tell a place on a curve, of so many in all."""
    axis_count = min(m, bits)
    return bits // axis_count, axis_count


def extent(x: Array, n, empty: Array) -> Array:
    """Return the least and the greatest coordinates (2, m) of the first `n` rows that are finite."""
    row_count, m = x.shape
    blocks = min(-(-row_count // THREADS), EXTENT_BLOCKS)
    kernel = Kernel.of("extent", m=m, dtype=x.dtype)
    sizes = np.array([blocks * THREADS], np.int32)
    inputs = {"x": x, "count": jnp.asarray(n, jnp.int32), "sizes": sizes}
    (box,) = launch(kernel, blocks, THREADS, inputs, in_place={"box": empty})
    return box


def queries_in_order(tree: Tree, order: Order, queries: Array, bound: Array) -> tuple[Array, Array, Array]:
    """Return scaled queries (m, q) in an order, their bounds (q,) and their leaves (q,), as ``~leaf``."""
    count, m = queries.shape
    kernel = Kernel.of("lined", m=m, dtype=queries.dtype)
    inputs = {
        "queries": queries,
        "bounds": bound,
        "scale": tree.scale,
        "order": order.order,
        "leaves": order.leaves,
        "sizes": np.array([count], np.int32),
    }
    outputs = {
        "columns": jax.ShapeDtypeStruct((m, count), queries.dtype),
        "ordered_bounds": jax.ShapeDtypeStruct((count,), queries.dtype),
        "slots": jax.ShapeDtypeStruct((count,), jnp.int32),
    }
    columns, bounds, slots = launch(kernel, -(-count // THREADS), THREADS, inputs, outputs)
    return columns, bounds, slots
