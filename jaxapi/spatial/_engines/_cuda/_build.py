"""The tree, built on an NVIDIA GPU: what `_tree._build` says, by a few kernels around XLA's radix sort.

XLA compiles what stands around the kernels for every size, and they need little around them.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ...._core._typing import Array
from ..._tree import _build
from ..._tree._build import LEAF_SIZE, code_bits, plan, rounds, scale_of_box
from ..._tree._sorting import sorted_by
from ..._tree._tree import FLAT_FROM, Tree
from ._inputs import read_input
from ._launch import Kernel, launch
from ._order import THREADS, extent

__all__ = ["build"]

LANES = 32
LEVELS_OF_A_BLOCK = 7  # at the most
SLOTS_A_THREAD = 8  # of a block that splits a node; a node above the leaves has no fewer


def build(points: Array, n: Array, scale: Array | None = None, *, leaf_size: int = LEAF_SIZE) -> Tree:
    """Build the tree of the first `n` rows of `points`, as `_tree._build.build`.

    None of the others is read.
    """
    if points.shape[1] >= FLAT_FROM:
        return _build.flat(read_input(points, n, dtype=points.dtype), n, scale)
    return _tree(points, jnp.asarray(n, jnp.int32), scale, leaf_size)


def _tree(points, n, scale, leaf_size: int) -> Tree:
    row_count, m = points.shape
    levels, leaf = plan(row_count, leaf_size)
    nowhere = jnp.inf, -jnp.inf
    if scale is None:
        empty = jnp.stack([jnp.full(m, corner, points.dtype) for corner in nowhere])
        scale = scale_of_box(*extent(points, n, empty))
    splitting = _Splitting(points, n, scale, leaf, levels)

    boxes = tuple(jnp.full((m, 2 << levels), corner, points.dtype) for corner in nowhere)
    order = lax.iota(jnp.int32, splitting.slot_count)
    done = 0
    for bits in rounds(levels - splitting.levels_of_a_block, m):
        columns, boxes = splitting.gathered(order, boxes, done)
        order = sorted_by(splitting.keys(columns, boxes, done), order)
        done += bits
    columns, rows = splitting.split_in_blocks(order, done)
    lower, upper = splitting.with_all_boxes(columns, boxes)
    return Tree(columns, rows, lower, upper, scale, n)


class _Splitting(NamedTuple):
    """The points that are split, and into what; `done` is how many levels of a tree there are so far."""

    points: Array  # (rows, m)
    n: Array
    scale: Array
    leaf: int  # slots of a leaf
    levels: int

    @property
    def leaves(self) -> int:
        """How many leaves there will be."""
        return 1 << self.levels

    @property
    def slot_count(self) -> int:
        """How many slots there are."""
        return self.leaf << self.levels

    @property
    def levels_of_a_block(self) -> int:
        """How many levels above the leaves the nodes are that a block splits."""
        span = 1 << (self.leaf - 1).bit_length()
        levels_in_room = (_room(self.points.shape[1]) // span).bit_length() - 1
        return min(self.levels, levels_in_room, LEVELS_OF_A_BLOCK)

    def kernel(self, name: str, **constants) -> Kernel:
        """Return a kernel for the points' dimensions and dtype."""
        return Kernel.of(name, m=self.points.shape[1], dtype=self.points.dtype, **constants)

    @property
    def columns_shape(self) -> jax.ShapeDtypeStruct:
        """The shape and dtype of the points by slot."""
        return jax.ShapeDtypeStruct((self.points.shape[1], self.slot_count), self.points.dtype)

    def inputs(self) -> dict[str, Array]:
        """Return what kernels read of the points."""
        return {"points": self.points, "n": self.n, "scale": self.scale}

    def sizes(self, *others: int) -> np.ndarray:
        """Return the numbers that kernels read, and others."""
        return np.array([self.leaf, self.levels, *others], np.int32)

    def gathered(self, order: Array, boxes, done: int):
        """Return the points (m, slots) in an order, and the boxes with those of the nodes that it has."""
        inputs = {**self.inputs(), "order": order, "sizes": self.sizes(done)}
        outputs = {"columns": self.columns_shape}
        blocks = -(-self.leaves // LANES)
        columns, *boxes = launch(self.kernel("gather"), blocks, THREADS, inputs, outputs, _by_name(boxes))
        return columns, boxes

    def keys(self, columns: Array, boxes, done: int) -> Array:
        """Return the keys (slots,) by which the points of each node are sorted."""
        sizes = self.sizes(done, code_bits(done, columns.dtype))
        inputs = {"columns": columns, **_by_name(boxes), "sizes": sizes}
        outputs = {"keys": jax.ShapeDtypeStruct((self.slot_count,), jnp.uint32)}
        blocks = -(-self.slot_count // THREADS)
        (keys,) = launch(self.kernel("keys"), blocks, THREADS, inputs, outputs)
        return keys

    def split_in_blocks(self, order: Array, done: int):
        """Return the points (m, slots) in the order of the leaves, and their rows; a block splits a node."""
        room = _room(self.points.shape[1])
        threads = max(room // SLOTS_A_THREAD, LANES)
        kernel = self.kernel("split", room=room, threads=threads)
        inputs = {**self.inputs(), "order": order, "sizes": self.sizes(done)}
        rows_shape = jax.ShapeDtypeStruct((self.slot_count,), jnp.int32)
        outputs = {"columns": self.columns_shape, "rows": rows_shape}
        return launch(kernel, 1 << done, threads, inputs, outputs)

    def with_all_boxes(self, columns: Array, boxes):
        """Return the boxes of all nodes."""
        inputs = {"columns": columns, "sizes": self.sizes()}
        blocks = -(-self.leaves // THREADS)
        return launch(self.kernel("boxes"), blocks, THREADS, inputs, in_place=_by_name(boxes))


def _room(m: int) -> int:
    """Return how many slots a block sorts in shared memory."""
    return 4096 if m <= 4 else 2048


def _by_name(boxes) -> dict[str, Array]:
    lower, upper = boxes
    return {"lower": lower, "upper": upper}
