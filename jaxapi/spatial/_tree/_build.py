"""Points to `Tree`, by a few whole-array radix sorts.

A sort yields every quantile, so one sort splits each node many ways, along the node's widest dimension. All
nodes are sorted at once: the key is the node's number and, in the bits left over, the coordinate relative to
the node's own box. One unsigned 32-bit key and one 32-bit payload is what a GPU sorts fastest. Where two
coordinates share a code they keep the order of their rows, which costs a search a little time and never
correctness: a search trusts the boxes alone, and these are computed from the points at the end.
"""

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core._typing import Array
from ._metric import extent_exponent
from ._powers_of_two import exponent_of, power_of_two, scaled
from ._tree import FLAT_FROM, Tree

__all__ = [
    "build",
    "code_bits",
    "flat",
    "largest",
    "padded_size",
    "plan",
    "rounds",
    "scale_of",
    "scale_of_box",
    "tree_size",
]

LEAF_SIZE = 16  # slots a leaf aims at
SLOT_MULTIPLE = 4  # leaf sizes are multiples of this, so that a search can load slots as short vectors
MIN_LEVELS = 3  # a search tests eight nodes at once
FLAT_LEAVES = 1 << MIN_LEVELS
FEWEST_SLOTS = LEAF_SIZE << MIN_LEVELS
SPLIT_BITS = 4  # a sort splits a node at most 2**SPLIT_BITS ways; more gives thin slabs


LARGE_BYTES = 1 << 26  # from where on memory matters more than the time that programs take to compile


def padded_size(n: int, least: int = 1024, large: int = 1 << 17, row_bytes: int = 0) -> int:
    """Return the size that `n` queries or results are padded to, so that most sizes share programs.

    A power of two from `least` to `large`, where time goes by calls more than by sizes; above four sizes for
    each doubling, at most 25% more than `n`. So it is from 64 MiB on where results have `row_bytes` each.

    >>> [padded_size(n) for n in (0, 1000, 1025, 200_000, 1_000_000)]
    [1024, 1024, 2048, 229376, 1048576]
    >>> padded_size(70_000, row_bytes=8000)
    81920
    """
    is_large = n > large or (n > least and n * row_bytes > LARGE_BYTES)
    if not is_large:
        return max(1 << (n - 1).bit_length(), least)
    unit = 1 << ((n - 1).bit_length() - 3)
    return -(-n // unit) * unit


def tree_size(n: int, m: int) -> int:
    """Return the size that a tree's `n` points in `m` dimensions are padded to, in `jax.jit` and outside.

    So trees over as many points have one structure. `jax.vmap` builds many of few points; and a search of a
    flat tree computes distances to all slots.

    >>> [tree_size(n, 3) for n in (0, 100, 1025, 200_000)], tree_size(1025, 20)
    ([128, 128, 2048, 229376], 1280)
    """
    return padded_size(n, FEWEST_SLOTS, FEWEST_SLOTS if m >= FLAT_FROM else 1 << 17)


def plan(n: int, leaf_size: int = LEAF_SIZE) -> tuple[int, int]:
    """Return ``(levels, slots in a leaf)`` for a cloud of (padded) size `n`."""
    levels = max(MIN_LEVELS, round(float(np.log2(max(n, 1) / leaf_size))))
    leaf = -(-n // (1 << levels))
    return levels, max(1, -(-leaf // SLOT_MULTIPLE)) * SLOT_MULTIPLE


def rounds(levels: int, m: int) -> list[int]:
    """Split `levels` into one number a sort, a whole number of cycles through the dimensions where it can.

    The largest come first: the sorts that follow take the sides that are wide then, so leaves stay cubic.
    """
    cycles = max(1, -(-levels // (SPLIT_BITS * m)))
    count = min(levels, cycles * m)
    return sorted((levels * (i + 1) // count - levels * i // count for i in range(count)), reverse=True)


def build(points: Array, n: Array, scale: Array | None = None, *, leaf_size: int = LEAF_SIZE) -> Tree:
    """Build the tree of the first `n` rows of `points`; a flat one where a tree does not pay.

    Pure, for use under `jax.jit` and `jax.vmap`. `points` has shape (rows, m) and a floating dtype, in the
    user's units; `n` may be traced. A row that is not finite takes a slot but is never anyone's neighbor.
    `scale` is that of the points unless trees with other points are to share one.
    """
    return flat(points, n, scale) if points.shape[1] >= FLAT_FROM else _split(points, n, scale, leaf_size)


def flat(points: Array, n: Array, scale: Array | None = None) -> Tree:
    """Return the points in the order of their rows, in boxes that say nothing; `scale` as in `build`."""
    points = jnp.pad(points, ((0, -points.shape[0] % (FLAT_LEAVES * SLOT_MULTIPLE)), (0, 0)))
    slots, m = points.shape
    n = jnp.asarray(n, jnp.int32)
    order = lax.iota(jnp.int32, slots)
    real = (order < n) & jnp.isfinite(points).all(axis=1)
    box = jnp.full((m, 2 * FLAT_LEAVES), jnp.inf, points.dtype)
    scale = scale_of(points, real) if scale is None else scale
    return Tree(
        points=jnp.where(real[:, None], scaled(points, scale), jnp.inf).T,
        rows=jnp.where(real, order, n),
        lower=-box,
        upper=box,
        scale=scale,
        n=n,
    )


def _split(points: Array, n: Array, scale: Array | None, leaf_size: int) -> Tree:
    """Return the points in the leaves of a tree."""
    rows, m = points.shape
    levels, leaf = plan(rows, leaf_size)
    slots = leaf << levels
    n = jnp.asarray(n, jnp.int32)
    if slots > rows:
        points = jnp.concatenate([points, jnp.zeros((slots - rows, m), points.dtype)])
    order = lax.iota(jnp.int32, slots)
    valid = jnp.isfinite(points).all(axis=1) & (order < n)
    scale = scale_of(points, valid) if scale is None else scale
    points = jnp.where(valid[:, None], scaled(points, scale), jnp.inf)

    done = 0
    for bits in rounds(levels, m):
        key = _sort_key(_gathered(points, order) if done else points.T, done)
        _, order = lax.sort((key, order), num_keys=1, is_stable=True)
        done += bits
    columns = _gathered(points, order)
    lower, upper = _boxes(columns, 1 << levels)
    return Tree(columns, jnp.where(columns[0] < jnp.inf, order, n), lower, upper, scale, n)


def _gathered(points: Array, order: Array) -> Array:
    """Return the coordinates (m, slots) in an order, gathered once and not by each kernel that reads them."""
    return lax.optimization_barrier(points[order].T)


def scale_of(points: Array, valid: Array, exponent: int | None = None) -> Array:
    """Return the power of two that brings the largest extent to ``2**exponent``, or near it.

    By default to that of `extent_exponent`.
    """
    lower = jnp.where(valid[:, None], points, jnp.inf).min(axis=0)
    upper = jnp.where(valid[:, None], points, -jnp.inf).max(axis=0)
    return scale_of_box(lower, upper, exponent)


def scale_of_box(lower: Array, upper: Array, exponent: int | None = None) -> Array:
    """Return `scale_of` the points in a box (m,), an empty one without points.

    That of the smallest numbers where all are 0: XLA takes subnormal ones for 0 on CPUs.
    """
    wanted = extent_exponent(lower.dtype) if exponent is None else exponent
    info = jnp.finfo(lower.dtype)
    half = jnp.max(jnp.where(lower < upper, upper / 2 - lower / 2, 0))
    largest = jnp.max(jnp.where(lower <= upper, jnp.maximum(jnp.abs(lower), jnp.abs(upper)), 0))
    # Coordinates stay so small that a query which `brought_near` moves along an axis does not get lost there.
    # Of a single point, or equal ones, they alone have a size.
    of_coordinates = exponent_of(largest) - (wanted + info.nmant + 1)
    of_coordinates = jnp.where(largest > 0, of_coordinates, info.minexp)
    of_extent = exponent_of(half) + 1 - wanted
    size = jnp.where(half > 0, jnp.maximum(of_extent, of_coordinates), of_coordinates)
    size = jnp.clip(size, info.minexp + 2, info.maxexp - 2)
    return power_of_two(-size, lower.dtype)


def _sort_key(columns: Array, done: int) -> Array:
    """Return a uint32 for each slot: its node after `done` splits, its place along the widest side."""
    m, slots = columns.shape
    nodes = columns.reshape(m, 1 << done, slots >> done)
    finite = nodes < jnp.inf
    lower = nodes.min(axis=2)
    upper = jnp.where(finite, nodes, -jnp.inf).max(axis=2)
    width = jnp.where(lower < upper, upper - lower, 0)  # (m, nodes)
    widest = largest(width)
    along = _pick(nodes, widest[:, None])
    start = _pick(lower, widest)
    size = _pick(width, widest)
    bits = code_bits(done, columns.dtype)
    top = (1 << bits) - 1  # the code of a slot without a point, so that such slots come last
    fraction = (along - start[:, None]) / jnp.where(size > 0, size, 1)[:, None]
    code = jnp.minimum(fraction * (top - 1), top - 1)
    code = jnp.where(along < jnp.inf, code, top).astype(jnp.uint32)
    node = lax.broadcasted_iota(jnp.uint32, code.shape, 0)
    return ((node << bits) | code).reshape(slots)


def code_bits(done: int, dtype) -> int:
    """Return how many bits of a sort key tell the place along a side, after `done` splits."""
    return min(32 - done, jnp.finfo(dtype).nmant + 1, 31)


def largest(values: Array) -> Array:
    """Return ``argmax(values, axis=0)``; `jax.numpy.argmax` fails for float64 traced with x64 off."""
    largest, *others = _lines(values)
    where = jnp.zeros(values.shape[1:], jnp.int32)
    for a, value in enumerate(others, start=1):
        where = jnp.where(value > largest, a, where)
        largest = jnp.maximum(value, largest)
    return where


def _pick(values: Array, dimension: Array) -> Array:
    """Select ``values[dimension[i], i]`` without a gather."""
    result, *others = _lines(values)
    for a, value in enumerate(others, start=1):
        result = jnp.where(dimension == a, value, result)
    return result


def _lines(values: Array) -> list[Array]:
    """Return ``list(values)``, which takes several times as long to trace."""
    return [lax.index_in_dim(values, a, keepdims=False) for a in range(values.shape[0])]


def _boxes(columns: Array, leaves: int) -> tuple[Array, Array]:
    """Return the boxes of all nodes: (m, 2 * leaves) twice.

    Both sides are least values, of coordinates and of their negatives. The two levels above the leaves come
    from the leaves; then each step finds, of all nodes above these, the least of the nodes three levels
    below: right for three levels more. The steps are one kernel, which XLA compiles once.
    """
    m, slots = columns.shape
    slot_values = columns.reshape(m, leaves, slots // leaves)
    greatest = jnp.where(slot_values < jnp.inf, slot_values, -jnp.inf).max(axis=2)
    least = jnp.concatenate([slot_values.min(axis=2), -greatest])
    low = jnp.concatenate([least.reshape(2 * m, -1, size).min(axis=2) for size in (4, 2, 1)], axis=1)

    top = jnp.full((2 * m, leaves // 4), jnp.inf, columns.dtype)
    for _ in range(-(-(leaves.bit_length() - 3) // 3)):
        top = jnp.concatenate([top, low], axis=1).reshape(2 * m, -1, 8).min(axis=2)
    unused = jnp.full((2 * m, 1), jnp.inf, columns.dtype)
    nodes = jnp.concatenate([unused, top[:, 1:], low], axis=1)
    return nodes[:m], -nodes[m:]
