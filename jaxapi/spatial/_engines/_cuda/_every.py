"""Nearest neighbors by every distance, for a flat tree, whose boxes say nothing.

A product of matrices estimates all distances in few bits (`candidates.cu`). Points that may be among a
query's nearest are measured exactly (`closest.cu`), which tells how near further ones must be: so the points
are gone through in rounds, few in the first ones. They are dealt so that each round sees a sample of all.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ...._core._typing import Array
from ..._tree._batching import one_after_another
from ..._tree._build import scale_of
from ..._tree._metric import Measure, TreeMetric
from ..._tree._tree import Tree
from ._launch import Kernel, architecture, launch

__all__ = ["nearest", "serves"]

LANES = 32
TILE = 64  # points that lie together, as the kernels have it
STEP = 16  # axes that lie together, as the kernels have it
ROUGH_THREADS = 128  # a block
CANDIDATE_WARPS = 8  # a block
CLOSEST_WARPS = 4  # a block
VECTOR_BYTES = 16  # that a kernel loads at once
FIRST = 512  # points of the first round, at the least
LARGEST = 1 << 17  # points of a round, which else has as many as all before it
ROOM = 1024  # for a query's candidates, at the least: seldom are there more than a few times k
SPLITS = 16  # of a round's points, at the most: a block each for the same queries
LISTS_A_SPLIT = 4  # of a query's candidates: a list for each lane that looks for them
BLOCKS = 2048  # that fill the GPU a few times over
MEMORY = 1 << 27  # candidates held at once


def serves(k: int, metric: TreeMetric) -> bool:
    """Tell whether these kernels find so many neighbors by this metric on this GPU."""
    return metric.p == 2 and not metric.is_periodic and k <= 1024 and int(architecture()) >= 80


@one_after_another  # since the candidates of all trees of a batch may need more memory than there is
def nearest(tree: Tree, queries: Array, bound: Array, *, k: int, measure: Measure) -> tuple[Array, Array]:
    """Return what `_nearest_by_cuda.nearest` does; ``k <= n``."""
    query_count, m = queries.shape
    piece_size = min(query_count, max(MEMORY // _room(k), 1))
    piece_count = -(-query_count // piece_size)
    rough = _RoughPoints.of(tree)
    if piece_count == 1:
        return _nearest(rough, queries, bound, k, measure)

    def nearest_of_piece(queries_and_bounds):
        queries, bounds = queries_and_bounds
        return _nearest(rough, queries, bounds, k, measure)

    extra = piece_count * piece_size - query_count
    queries = jnp.pad(queries, ((0, extra), (0, 0))).reshape(piece_count, piece_size, m)
    bounds = jnp.pad(jnp.broadcast_to(bound, query_count), (0, extra)).reshape(piece_count, piece_size)
    distances, rows = lax.map(nearest_of_piece, (queries, bounds))
    return distances.reshape(-1, k)[:query_count], rows.reshape(-1, k)[:query_count]


def _room(k: int) -> int:
    """Return for how many candidates of a query there is room."""
    return max(ROOM, 16 * k)


# --- rough copies ---------------------------------------------------------------------------------------


class _RoughPoints(NamedTuple):
    """The points of a tree, and copies of few bits, in groups of 32 that are dealt."""

    tree: Tree
    groups: Array  # (groups,) the slots of group g are those from 32 * groups[g] on
    end: Array  # () the place, of all slots in the order of the groups, behind the last point; of whole tiles
    centre: Array  # (m,) that the copies are relative to
    unit: Array  # () that they are multiplied by
    tiles: Array  # the copies, in tiles of points and steps of axes
    half_squares: Array  # half the squares of their lengths

    @classmethod
    def of(cls, tree: Tree) -> "_RoughPoints":
        """Return the rough copies of a tree's points."""
        points = tree.points
        dtype = points.dtype
        m, slot_count = points.shape
        is_point = points[0] < jnp.inf
        groups, used_groups = _dealt_groups(is_point)
        end = (used_groups * LANES + TILE - 1) // TILE * TILE
        unit = scale_of(points.T, is_point, exponent=0)
        centre = _centre(points, is_point, unit)

        place_count = len(groups) * LANES
        step_count = -(-m // STEP)
        kernel = Kernel.of("rough", m=m, dtype=dtype)
        inputs = {
            "points": points,
            "groups": groups,
            "centre": centre,
            "unit": unit,
            "sizes": np.array([slot_count, place_count], np.int32),
        }
        outputs = {
            "tiles": jax.ShapeDtypeStruct((place_count * step_count * STEP,), jnp.float32),
            "halves": jax.ShapeDtypeStruct((place_count,), jnp.float32),
        }
        blocks = -(-place_count // ROUGH_THREADS)
        tiles, half_squares = launch(kernel, blocks, ROUGH_THREADS, inputs, outputs)
        return cls(tree, groups, end, centre, unit, tiles, half_squares)

    def rough_queries(self, x: Array) -> tuple[Array, Array]:
        """Return rough copies of scaled queries (q, m), and the squares of their lengths (q,).

        The copies are filled up to whole blocks of queries and whole pieces of axes.
        """
        query_count, m = x.shape
        step_count = -(-m // STEP)
        pieces = -(-step_count // 4)
        width = -(-step_count // pieces) * pieces * STEP
        block = CANDIDATE_WARPS * LANES
        height = -(-query_count // block) * block
        x = (x - self.centre) * self.unit
        x = lax.reduce_precision(x, exponent_bits=8, mantissa_bits=10).astype(jnp.float32)
        squares = jnp.square(x).sum(axis=1)
        is_near = squares < 1e30  # what is farther away, or not finite, has every point for a candidate
        x = jnp.where(is_near[:, None], x, 0)
        x = jnp.pad(x, ((0, height - query_count), (0, width - m)))
        return x, jnp.where(is_near, squares, jnp.inf)


def _dealt_groups(is_point: Array) -> tuple[Array, Array]:
    """Deal groups of 32 slots, those without a point last; return them and how many have one.

    Multiples of the golden ratio, without their whole parts, lie evenly in [0, 1): those below any bound
    belong to groups that are spread over all.
    """
    group_count = -(-len(is_point) // TILE) * TILE // LANES
    is_point = jnp.pad(is_point, (0, group_count * LANES - len(is_point)))
    has_point = is_point.reshape(group_count, LANES).any(axis=1)
    numbers = lax.iota(jnp.uint32, group_count)
    spread = numbers * jnp.uint32(2654435769) >> 1
    at_the_end = numbers | jnp.uint32(1 << 31)
    keys = jnp.where(has_point, spread, at_the_end)
    _, order = lax.sort((keys, numbers.astype(jnp.int32)), num_keys=1)
    return order, has_point.sum(dtype=jnp.int32)


def _centre(points: Array, is_point: Array, unit: Array) -> Array:
    """Return the mean (m,) of points (m, N), computed relative to the middle of their box."""
    lowest = jnp.where(is_point, points, jnp.inf).min(axis=1)
    highest = jnp.where(is_point, points, -jnp.inf).max(axis=1)
    middle = lowest / 2 + highest / 2
    middle = jnp.where(jnp.isfinite(middle), middle, jnp.zeros_like(middle))
    point_count = jnp.maximum(is_point.sum(dtype=jnp.int32), 1).astype(points.dtype)
    offsets = jnp.where(is_point, (points - middle[:, None]) * unit, 0)
    mean = offsets.sum(axis=1) / point_count
    return middle + mean / unit


# --- rounds ---------------------------------------------------------------------------------------------


def _round_ends(k: int, place_count: int) -> np.ndarray:
    """Return where the rounds begin and end: multiples of a tile."""
    ends = [0, max(FIRST, 1 << (4 * k - 1).bit_length())]
    while ends[-1] < place_count:
        ends.append(ends[-1] + min(ends[-1], LARGEST))
    return np.array(ends, np.int32)


def _nearest(rough: _RoughPoints, queries, bound, k: int, measure: Measure):
    """Return distances and rows (q, k) of queries for whose candidates there is room at once."""
    tree = rough.tree
    dtype = queries.dtype
    query_count, m = queries.shape
    slot_count = tree.points.shape[1]
    queries = queries * tree.scale
    rough_queries, squares = rough.rough_queries(queries)
    ends = jnp.minimum(_round_ends(k, len(rough.groups) * LANES), rough.end)
    round_count = len(ends) - 1

    candidate_blocks = -(-query_count // (CANDIDATE_WARPS * LANES))
    splits = min(max(BLOCKS // candidate_blocks, 1), SPLITS)
    lists = LISTS_A_SPLIT * splits
    room = -(-_room(k) // lists)  # of a list
    find_candidates = Kernel.of("candidates", m=m, dtype=jnp.float32, warps=CANDIDATE_WARPS)
    counts_shape = jax.ShapeDtypeStruct((query_count, lists), jnp.int32)
    candidates_shape = jax.ShapeDtypeStruct((query_count, lists, room), jnp.int32)

    closest_blocks = -(-query_count // CLOSEST_WARPS)
    find_closest = Kernel.of("closest", m=m, dtype=dtype, k=k, warps=CLOSEST_WARPS)
    thresholds_shape = jax.ShapeDtypeStruct((query_count,), jnp.float32)
    distances_shape = jax.ShapeDtypeStruct((query_count, k), dtype)
    rows_shape = jax.ShapeDtypeStruct((query_count, k), jnp.int32)
    of_all_rounds = {
        "points": _in_vectors(tree.points.T),
        "rows": tree.rows,
        "n": tree.n,
        "scale": tree.scale,
        "queries": _in_vectors(queries),
        "bounds": bound,
        "groups": rough.groups,
        "squares": squares,
        "unit": rough.unit,
    }

    def closest(i, candidates, nearest):
        """Return the thresholds and the nearest after the candidates of round i."""
        is_first = i == 0
        is_last = i == round_count - 1
        stage = jnp.stack([is_first, is_last]).astype(jnp.int32)
        bound_stride = bound.ndim  # 1: each query has a bound; 0: all have one
        are_distances_rooted = measure is Measure.DISTANCE
        numbers = query_count, room, lists, slot_count, bound_stride, are_distances_rooted
        sizes = np.array(numbers, np.int32)
        list_sizes, lists_of_rows = candidates
        distances, rows = nearest
        inputs = {
            **of_all_rounds,
            "list_sizes": list_sizes,
            "lists": lists_of_rows,
            "range": lax.dynamic_slice(ends, (i,), (2,)),
            "stage": stage,
            "sizes": sizes,
        }
        outputs = {"thresholds": thresholds_shape}
        in_place = {"found": distances, "found_rows": rows}
        threads = CLOSEST_WARPS * LANES
        return tuple(launch(find_closest, closest_blocks, threads, inputs, outputs, in_place))

    def go_through_round(i, state):
        thresholds, *nearest = state
        sizes = np.array([query_count, room, splits], np.int32)
        inputs = {
            "tiles": rough.tiles,
            "halves": rough.half_squares,
            "queries": rough_queries,
            "thresholds": thresholds,
            "range": lax.dynamic_slice(ends, (i,), (2,)),
            "sizes": sizes,
        }
        outputs = {"counts": counts_shape, "found": candidates_shape}
        blocks = candidate_blocks * splits
        candidates = launch(find_candidates, blocks, CANDIDATE_WARPS * LANES, inputs, outputs)
        return closest(i, candidates, nearest)

    no_candidates = jnp.zeros((1,), jnp.int32), jnp.zeros((1,), jnp.int32)
    nothing = [jnp.zeros(shape.shape, shape.dtype) for shape in (distances_shape, rows_shape)]
    state = closest(jnp.int32(0), no_candidates, nothing)
    _, distances, rows = lax.fori_loop(1, round_count, go_through_round, state)
    return distances, rows


def _in_vectors(x: Array) -> Array:
    """Return rows (q, m) filled up with zeros, so that each is of whole vectors."""
    vector_size = VECTOR_BYTES // x.dtype.itemsize
    missing = -x.shape[1] % vector_size
    return jnp.pad(x, ((0, 0), (0, missing)))
