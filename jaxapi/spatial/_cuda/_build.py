"""The tree, built on an NVIDIA GPU: what `_structure._build` says, by a few kernels around XLA's radix sort.

XLA compiles what stands around the kernels for every size, and they need little around them.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core._typing import Array
from .._structure import _build
from .._structure._build import LEAF_SIZE, code_bits, plan, rounds, scale_of_box
from .._structure._sorting import sorted_by
from .._structure._tree import FLAT_FROM, Tree
from ._launch import Kernel, launch
from ._lines import lines
from ._order import THREADS, extent

__all__ = ["build"]

LANES = 32
LEVELS_OF_A_BLOCK = 7  # at the most
SLOTS_A_THREAD = 8  # of a block that splits a node; a node above the leaves has no fewer


def build(points: Array, n: Array, scale: Array | None = None, *, leaf_size: int = LEAF_SIZE) -> Tree:
    """Build the tree of the first `n` rows of `points`, as `_structure._build.build`.

    None of the others is read.
    """
    if points.shape[1] >= FLAT_FROM:
        return _build.flat(lines(points, n, dtype=points.dtype), n, scale)
    return _batched(leaf_size)(points, jnp.asarray(n, jnp.int32), scale)


def _batched(leaf_size: int):
    """Return the build; a batch of them is left to XLA, which does them at once."""

    @jax.custom_batching.custom_vmap
    def run(points, n, scale):
        return _tree(points, n, scale, leaf_size)

    @run.def_vmap
    def rule(size, batched, points, n, scale):
        axes = jax.tree.map(lambda each: 0 if each else None, batched)
        portable = jax.vmap(
            lambda points, n, scale: _build.build(points, n, scale=scale, leaf_size=leaf_size),
            in_axes=tuple(axes),
            axis_size=size,
        )
        trees = portable(points, n, scale)
        return trees, jax.tree.map(lambda _: True, trees)

    return run


def _tree(points, n, scale, leaf_size) -> Tree:
    rows, m = points.shape
    levels, leaf = plan(rows, leaf_size)
    slots, leaves, dtype = leaf << levels, 1 << levels, points.dtype
    if scale is None:
        empty = jnp.stack([jnp.full(m, far, dtype) for far in (jnp.inf, -jnp.inf)])
        scale = scale_of_box(*extent(points, n, empty))

    unsorted, done = (points, n, scale), 0
    boxes = [jnp.full((m, 2 * leaves), far, dtype) for far in (jnp.inf, -jnp.inf)]
    order = lax.iota(jnp.int32, slots)
    for bits in rounds(levels - _levels_of_a_block(levels, leaf, m), m):
        columns, *boxes = _gathered(unsorted, order, boxes, leaf, levels, done)
        order = sorted_by(_keys(columns, boxes, leaf, levels, done), order)
        done += bits
    columns, rows = _split(unsorted, order, leaf, levels, done)
    lower, upper = _boxed(columns, boxes, leaf, levels)
    return Tree(columns, rows, lower, upper, scale, n)


def _gathered(unsorted, order, boxes, leaf, levels, done):
    """Return the points (m, slots) in an order, and add the boxes of the nodes that it has."""
    points, *_ = unsorted
    m, leaves = points.shape[1], 1 << levels
    columns = jax.ShapeDtypeStruct((m, leaf << levels), points.dtype)
    inputs = *unsorted, order, np.array([leaf, levels, done], np.int32), *boxes
    kernel = Kernel.of("gather", m=m, dtype=points.dtype)
    return launch(kernel, -(-leaves // LANES), THREADS, inputs, [columns, *_shapes(boxes)], in_place=2)


def _shapes(arrays):
    return [jax.ShapeDtypeStruct(each.shape, each.dtype) for each in arrays]


def _room(m: int) -> int:
    """Return how many slots a block sorts in shared memory."""
    return 4096 if m <= 4 else 2048


def _levels_of_a_block(levels: int, leaf: int, m: int) -> int:
    """Return how many levels above the leaves the nodes are that a block splits."""
    span = 1 << (leaf - 1).bit_length()
    return min(levels, (_room(m) // span).bit_length() - 1, LEVELS_OF_A_BLOCK)


def _split(unsorted, order, leaf, levels, done):
    """Return the points in the order of the leaves, and their rows, from an order of larger nodes."""
    points, *_ = unsorted
    m, (slots,) = points.shape[1], order.shape
    threads = max(_room(m) // SLOTS_A_THREAD, LANES)
    kernel = Kernel.of("split", m=m, dtype=points.dtype, room=_room(m), threads=threads)
    inputs = *unsorted, order, np.array([leaf, levels, done], np.int32)
    outputs = jax.ShapeDtypeStruct((m, slots), points.dtype), jax.ShapeDtypeStruct((slots,), jnp.int32)
    return launch(kernel, 1 << done, threads, inputs, outputs)


def _boxed(columns, boxes, leaf, levels):
    """Return the boxes of all nodes."""
    kernel = Kernel.of("boxes", m=columns.shape[0], dtype=columns.dtype)
    inputs = columns, np.array([leaf, levels], np.int32), *boxes
    return launch(kernel, -(-(1 << levels) // THREADS), THREADS, inputs, _shapes(boxes), in_place=2)


def _keys(columns, boxes, leaf, levels, done):
    m, slots = columns.shape
    kernel = Kernel.of("keys", m=m, dtype=columns.dtype)
    sizes = np.array([leaf, levels, done, code_bits(done, columns.dtype)], np.int32)
    output = jax.ShapeDtypeStruct((slots,), jnp.uint32)
    return launch(kernel, -(-slots // THREADS), THREADS, (columns, *boxes, sizes), [output])[0]
