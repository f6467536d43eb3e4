"""Farthest-point sampling by NumPy: of all points, or of blocks of near ones, most of which are skipped."""

import math

import numpy as np

from ._ckdtree import ckdtree
from ._trees import times_power_of_two

__all__ = ["sample_farthest"]

LARGEST_EXPONENT = 400  # of coordinates: squares of differences are far from overflowing, and from vanishing
BLOCK_SIZE = 128  # points
BLOCKS_FROM = 1 << 16  # points: below, 20 calls for a few blocks take longer than 10 for all points
BLOCKS_UP_TO = 4  # dimensions: above, boxes overlap so much that most blocks are looked at


def sample_farthest(points: np.ndarray, n: int, k: int, start: int) -> np.ndarray:
    """Return `k` rows of the first `n` of points (rows, m) in float64, ``len(points)`` for those missing.

    Rows that are not finite are no points; where `start` is none, nothing is found.
    """
    rows = np.full(k, len(points))
    is_point = np.isfinite(points[:n]).all(axis=1)
    if not (0 <= start < n and is_point[start]):
        return rows
    rows_of_points = np.flatnonzero(is_point)
    points = _in_range_of_squares(points[rows_of_points])
    sample_count = min(k, len(points))
    first = int(np.searchsorted(rows_of_points, start))
    pays = len(points) >= BLOCKS_FROM and points.shape[1] <= BLOCKS_UP_TO
    find = _by_blocks if pays else _by_all_points
    rows[:sample_count] = rows_of_points[find(points, sample_count, first)]
    return rows


def _in_range_of_squares(points: np.ndarray) -> np.ndarray:
    """Return points times a power of two, which rounds nothing."""
    largest = float(np.abs(points).max())
    exponent = min(LARGEST_EXPONENT - math.frexp(largest)[1], 1000)  # a power of two in range itself
    return times_power_of_two(points, exponent)


def _by_all_points(points: np.ndarray, k: int, first: int) -> np.ndarray:
    """Return the sample, at most as large as there are points: each new one is compared with all."""
    columns = np.ascontiguousarray(points.T)
    distances = np.full(len(points), np.inf)  # squared, to the nearest sampled point
    from_new = np.empty(len(points))
    differences = np.empty_like(columns)
    sample = np.empty(k, np.intp)
    row = first
    for i in range(k):
        sample[i] = row
        np.subtract(columns, columns[:, row, None], out=differences)
        np.multiply(differences, differences, out=differences)
        np.add.reduce(differences, axis=0, out=from_new)
        np.minimum(distances, from_new, out=distances)
        distances[row] = -np.inf  # not again
        row = int(np.argmax(distances))
    return sample


def _by_blocks(points: np.ndarray, k: int, first: int) -> np.ndarray:
    """Return the same sample, by looking at blocks of near points that a new one may come nearer to.

    A block's box is as far from a new point as the block's farthest point from the sample, or farther:
    nothing changes there. Rounded differences, squares and sums are in the order of the exact ones, so that
    the test is exact, too.
    """
    n, m = points.shape
    block_count = -(-n // BLOCK_SIZE)
    rows = np.full(block_count * BLOCK_SIZE, n)
    rows[:n] = ckdtree()(points, leafsize=BLOCK_SIZE // 4).indices
    rows = rows.reshape(block_count, BLOCK_SIZE)
    is_point = rows < n
    rows_that_exist = np.where(is_point, rows, rows[:, :1])
    blocks = np.ascontiguousarray(np.moveaxis(points[rows_that_exist], -1, 1))  # (blocks, m, BLOCK_SIZE)
    lower = np.ascontiguousarray(blocks.min(axis=2).T)  # (m, blocks)
    upper = np.ascontiguousarray(blocks.max(axis=2).T)

    distances = np.where(is_point, np.inf, -np.inf)  # squared, to the nearest sampled point
    farthest = np.full(block_count, np.inf)  # of each block
    sample = np.empty(k, np.intp)
    row = first
    for i in range(k):
        sample[i] = row
        point = points[row]
        to_boxes = np.zeros(block_count)
        for axis in range(m):
            gap = np.clip(point[axis], lower[axis], upper[axis]) - point[axis]
            to_boxes += gap * gap
        looked_at = np.flatnonzero(to_boxes <= farthest)

        differences = blocks[looked_at] - point[:, None]
        from_new = np.zeros((len(looked_at), BLOCK_SIZE))
        for axis in range(m):
            from_new += differences[:, axis] * differences[:, axis]
        nearest = np.minimum(distances[looked_at], from_new)
        nearest[rows[looked_at] == row] = -np.inf  # not again
        distances[looked_at] = nearest
        farthest[looked_at] = nearest.max(axis=1)

        with_farthest = np.flatnonzero(farthest == farthest.max())
        is_farthest = distances[with_farthest] == farthest[with_farthest[0]]
        row = int(rows[with_farthest][is_farthest].min())
    return sample
