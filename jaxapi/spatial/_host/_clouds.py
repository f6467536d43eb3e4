"""SciPy's trees over points as they come: with rows that do not count, in units whose squares are numbers."""

import itertools
import math
import threading
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from .._structure._metric import into_box

__all__ = ["Cloud", "Options", "cloud_of"]

KEPT = 8  # trees that callbacks keep: points are compared with those of each
POINTS = 1 << 22  # of these


class Options(NamedTuple):
    """How SciPy is to build a tree."""

    leafsize: int = 10
    compact_nodes: bool = True
    balanced_tree: bool = True


class Cloud:
    """The first `n` points (.., m), of which those that are not finite are nobody's neighbours.

    SciPy's squares of float64 overflow from 1e154 on, and vanish below 1e-162: such points are scaled by a
    power of two, which is exact. `scale`: as another tree's.
    """

    def __init__(self, data: np.ndarray, n: int, lengths, options: Options, scale: float | None = None):
        self.data, self.n, self.lengths, self.options = data, n, lengths, options
        points = data[:n]
        self._rows = None
        if not np.isfinite(points).all():
            self._rows = np.append(np.flatnonzero(np.isfinite(points).all(axis=1)), n)
            points = points[self._rows[:-1]]
        points = points.astype(np.float64)
        if lengths is not None:  # inside of a transformation nobody has looked
            points = into_box(points, np.asarray(lengths, np.float64))
        self.scale = (1.0 if data.dtype == np.float32 else _scale(points)) if scale is None else scale
        if self.scale != 1:
            points *= self.scale
        box = None if lengths is None else np.asarray(lengths, np.float64) * self.scale
        self.tree = cKDTree(points, boxsize=box, **options._asdict())

    def scaled(self, scale: float) -> "Cloud":
        """Return these points in the units of another cloud."""
        return self if scale == self.scale else Cloud(self.data, self.n, self.lengths, self.options, scale)

    def own_queries(self) -> np.ndarray:
        """Return the points as queries, nan in lines that do not count."""
        if self.n == len(self.data):
            return self.data
        return np.where(np.arange(len(self.data))[:, None] < self.n, self.data, np.nan)

    def queries(self, x) -> np.ndarray:
        """Return queries as float64 in the units of the tree, inside of the periodic box."""
        x = np.asarray(x, np.float64)
        x = x if self.lengths is None else into_box(x, np.asarray(self.lengths, np.float64))
        return x if self.scale == 1 else x * self.scale

    def rows(self, found, dtype=None) -> np.ndarray:
        """Return the rows of the data of those of the tree; n stands for none."""
        return np.asarray(found if self._rows is None else self._rows[found], dtype)

    def of_tree(self, values) -> np.ndarray:
        """Return what belongs to the tree's points of values (..,) of all rows."""
        return values[: self.n] if self._rows is None else values[self._rows[:-1]]


def _scale(points: np.ndarray) -> float:
    """Return the power of two that brings the largest extent to about 1, where that is needed."""
    if not points.size:
        return 1.0
    least, greatest = points.min(axis=0), points.max(axis=0)
    largest = max(-float(np.min(least)), float(np.max(greatest)))
    extent = float(np.max(greatest / 2 - least / 2)) or largest  # equal points have no extent
    size, most = (math.frexp(each)[1] for each in (extent, largest))
    if size > -400 and most < 400:
        return 1.0
    return math.ldexp(1.0, -min(max(size, most - 768, -1020), 1020))


_kept: list[tuple[Any, Cloud]] = []
_lock = threading.Lock()


def cloud_of(data: np.ndarray, n: int, lengths, options: Options) -> Cloud:
    """Return the cloud of these values, the same again for the same values.

    A compiled loop of searches over points that stay (ICP in `lax.scan`) builds one tree and not one a step.
    """
    key = data.shape, data.dtype, n, None if lengths is None else tuple(lengths), options
    with _lock:
        for i, (other, cloud) in enumerate(_kept):
            if other == key and _same(cloud.data[:16], data[:16]) and _same(cloud.data, data):
                _kept.insert(0, _kept.pop(i))
                return cloud
    cloud = Cloud(data.copy(), n, lengths, options)
    with _lock:
        _kept.insert(0, (key, cloud))
        sizes = itertools.accumulate(len(each.data) for _, each in _kept)
        del _kept[max(1, min(KEPT, sum(size <= POINTS for size in sizes))) :]
    return cloud


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    """Tell whether arrays have the same bits."""
    bits = f"u{a.dtype.itemsize}"
    return np.array_equal(a.view(bits), b.view(bits))
