"""Nearest neighbours by every distance, for a flat tree, whose boxes say nothing.

A product of matrices estimates all distances in few bits (`candidates.cu`). Points that may be among a
query's nearest are measured exactly (`closest.cu`), which tells how near further ones must be: so the points
are gone through in rounds, few in the first ones. They are dealt so that each round sees a sample of all.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core._typing import Array
from .._structure._build import scale_of
from .._structure._tree import Tree
from ._launch import Kernel, architecture, launch

__all__ = ["nearest", "serves"]

LANES = 32
TILE, STEP = 64, 16  # points and axes that lie together
CANDIDATE_WARPS, CLOSEST_WARPS = 8, 4  # a block
FIRST = 512  # points of the first round, at the least
LARGEST = 1 << 17  # points of a round, which else has as many as all before it
ROOM = 1024  # for a query's candidates, at the least: seldom are there more than a few times k
SPLITS = 16  # of a round's points, at the most: a block each for the same queries
BLOCKS = 2048  # that fill the GPU a few times over
MEMORY = 1 << 27  # candidates held at once


def serves(k: int, p: float, box) -> bool:
    """Tell whether these kernels find so many neighbours in this space on this GPU."""
    return p == 2 and box is None and k <= 1024 and int(architecture()) >= 80


def nearest(tree: Tree, queries: Array, bound: Array, *, k: int, rooted: bool) -> tuple[Array, Array]:
    """Return distances and rows (q, k) as `_nearest.nearest`; ``k <= n``."""
    count, m = queries.shape
    piece = min(count, max(MEMORY // max(ROOM, 16 * k), 1))
    pieces = -(-count // piece)
    cloud = _dealt(tree)
    if pieces == 1:
        return _nearest(tree, cloud, queries, bound, k, rooted)
    extra = pieces * piece - count
    queries = jnp.pad(queries, ((0, extra), (0, 0))).reshape(pieces, piece, m)
    bounds = jnp.pad(jnp.broadcast_to(bound, count), (0, extra)).reshape(pieces, piece)
    found = lax.map(lambda one: _nearest(tree, cloud, one[0], one[1], k, rooted), (queries, bounds))
    return tuple(each.reshape(-1, k)[:count] for each in found)


def _dealt(tree: Tree):
    """Return the points' rough copies, and what they are relative to."""
    m, slots = tree.points.shape
    points, dtype = tree.points, tree.points.dtype
    there = points[0] < jnp.inf
    groups, used = _groups(there)
    unit = scale_of(points.T, there)
    least, greatest = (jnp.where(there, points, far) for far in (jnp.inf, -jnp.inf))
    middle = least.min(axis=1) / 2 + greatest.max(axis=1) / 2
    middle = jnp.where(jnp.isfinite(middle), middle, jnp.zeros_like(middle))
    total = jnp.maximum(there.sum(dtype=jnp.int32), 1).astype(dtype)
    mean = jnp.where(there, (points - middle[:, None]) * unit, 0).sum(axis=1) / total
    centre = middle + mean / unit
    places, steps = len(groups) * LANES, -(-m // STEP)
    kernel = Kernel.of("rough", m=m, dtype=dtype)
    inputs = points, groups, centre, unit, np.array([slots, places], np.int32)
    outputs = [
        jax.ShapeDtypeStruct((places * steps * STEP,), jnp.float32),
        jax.ShapeDtypeStruct((places,), jnp.float32),
    ]
    tiles, halves = launch(kernel, -(-places // 128), 128, inputs, outputs)
    return groups, (used * LANES + TILE - 1) // TILE * TILE, centre, unit, tiles, halves


def _groups(there: Array) -> tuple[Array, Array]:
    """Deal groups of 32 slots, those without a point last; return them and how many have one.

    Multiples of the golden ratio, without their whole parts, lie evenly in [0, 1): those below any bound
    belong to groups that are spread over all.
    """
    groups = -(-len(there) // TILE) * TILE // LANES
    there = jnp.pad(there, (0, groups * LANES - len(there))).reshape(groups, LANES).any(axis=1)
    numbers = lax.iota(jnp.uint32, groups)
    keys = jnp.where(there, numbers * jnp.uint32(2654435769) >> 1, numbers | jnp.uint32(1 << 31))
    _, order = lax.sort((keys, numbers.astype(jnp.int32)), num_keys=1)
    return order, there.sum(dtype=jnp.int32)


def _rounds(k: int, places: int) -> np.ndarray:
    """Return where the rounds begin and end: multiples of a tile."""
    ends = [0, max(FIRST, 1 << (4 * k - 1).bit_length())]
    while ends[-1] < places:
        ends.append(ends[-1] + min(ends[-1], LARGEST))
    return np.array(ends, np.int32)


def _nearest(tree, cloud, queries, bound, k, rooted):
    groups, used, centre, unit, tiles, halves = cloud
    count, m = queries.shape
    slots, dtype = tree.points.shape[1], queries.dtype
    queries = queries * tree.scale
    rough, squares = _rough_queries(queries, centre, unit)
    edges = jnp.minimum(_rounds(k, len(groups) * LANES), used)
    blocks = -(-count // (CANDIDATE_WARPS * LANES))
    splits = min(max(BLOCKS // blocks, 1), SPLITS)
    lists = 4 * splits
    room = -(-max(ROOM, 16 * k) // lists)
    find = Kernel.of("candidates", m=m, dtype=jnp.float32, warps=CANDIDATE_WARPS)
    look = Kernel.of("closest", m=m, dtype=dtype, k=k, warps=CLOSEST_WARPS)
    struct = jax.ShapeDtypeStruct
    thresholds = struct((count,), jnp.float32)
    nearest = struct((count, k), dtype), struct((count, k), jnp.int32)
    points, rows, n, scale = _lines(tree.points.T), tree.rows, tree.n, tree.scale
    fixed = points, rows, n, scale, _lines(queries), bound, groups, squares, unit

    def looked(i, candidates, found):
        stage = jnp.stack([i == 0, i == len(edges) - 2]).astype(jnp.int32)
        sizes = np.array([count, room, lists, slots, bound.ndim, rooted], np.int32)
        inputs = *fixed, *candidates, lax.dynamic_slice(edges, (i,), (2,)), stage, sizes, *found
        blocks, threads = -(-count // CLOSEST_WARPS), CLOSEST_WARPS * LANES
        return tuple(launch(look, blocks, threads, inputs, (thresholds, *nearest), in_place=2))

    def one(i, state):
        limits, *found = state
        sizes = np.array([count, room, splits], np.int32)
        inputs = tiles, halves, rough, limits, lax.dynamic_slice(edges, (i,), (2,)), sizes
        shapes = struct((count, lists), jnp.int32), struct((count, lists, room), jnp.int32)
        candidates = launch(find, blocks * splits, CANDIDATE_WARPS * LANES, inputs, shapes)
        return looked(i, candidates, found)

    none = jnp.zeros((1,), jnp.int32), jnp.zeros((1,), jnp.int32)
    start = looked(jnp.int32(0), none, [jnp.zeros(each.shape, each.dtype) for each in nearest])
    return lax.fori_loop(1, len(edges) - 1, one, start)[1:]


def _lines(x: Array) -> Array:
    """Return `x` (lines, m) with lines of whole vectors of 16 bytes."""
    return jnp.pad(x, ((0, 0), (0, -x.shape[1] % (16 // x.dtype.itemsize))))


def _rough_queries(x: Array, centre: Array, unit: Array) -> tuple[Array, Array]:
    """Return rough queries, padded to whole blocks and pieces of axes, and the squares of their lengths."""
    count, m = x.shape
    steps = -(-m // STEP)
    pieces = -(-steps // 4)
    width = -(-steps // pieces) * pieces * STEP
    rows = -(-count // (CANDIDATE_WARPS * LANES)) * CANDIDATE_WARPS * LANES
    x = lax.reduce_precision((x - centre) * unit, exponent_bits=8, mantissa_bits=10).astype(jnp.float32)
    squares = jnp.square(x).sum(axis=1)
    near = squares < 1e30  # what is farther away, or not finite, has every point for a candidate
    x = jnp.where(near[:, None], x, 0)
    return jnp.pad(x, ((0, rows - count), (0, width - m))), jnp.where(near, squares, jnp.inf)
