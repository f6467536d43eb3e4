"""Real data for the main job: the nearest neighbors of every airport, compared with SciPy's."""

import importlib.metadata
import math
import statistics
import time
from typing import NamedTuple

import jax
import numpy as np

__all__ = [
    "SAMPLE",
    "Airports",
    "Neighbors",
    "compare",
    "compare_with_brute_force",
    "load",
    "neighbors",
    "to_km",
]

EARTH_RADIUS_KM = 6371.0088  # mean radius, IUGG
PAIR_KM = 10.0
REPEATS = 5
SAMPLE = 1000  # airports that are compared with brute force


class Airports(NamedTuple):
    """Every airport of the `airportsdata` package."""

    version: str
    names: list[str]
    longitude: np.ndarray  # (n,), degrees
    latitude: np.ndarray  # (n,), degrees
    points: np.ndarray  # (n, 3), float64, on the unit sphere


class Neighbors(NamedTuple):
    """What one KD-tree says of the airports."""

    distances: np.ndarray  # (n, 3), chords on the unit sphere, nearest first
    rows: np.ndarray  # (n, 3)
    pairs: int  # pairs within PAIR_KM
    seconds: float  # median of REPEATS, building included
    first_seconds: float  # the first call, which compiles


def load() -> Airports:
    """Read the airports; ModuleNotFoundError without `airportsdata`."""
    import airportsdata

    records = list(airportsdata.load().values())
    latitude = np.array([r["lat"] for r in records], dtype=np.float64)
    longitude = np.array([r["lon"] for r in records], dtype=np.float64)
    phi = np.radians(latitude)
    theta = np.radians(longitude)
    x = np.cos(phi) * np.cos(theta)
    y = np.cos(phi) * np.sin(theta)
    z = np.sin(phi)
    points = np.stack([x, y, z], axis=1)
    names = [f"{r['icao']} {r['name']}, {r['country']}" for r in records]
    return Airports(importlib.metadata.version("airportsdata"), names, longitude, latitude, points)


def to_km(chord):
    """Turn a chord of the unit sphere into kilometres on the great circle."""
    return 2 * EARTH_RADIUS_KM * np.arcsin(np.minimum(np.asarray(chord) / 2, 1))


def neighbors(tree_type: type, points: np.ndarray) -> Neighbors:
    """Ask a tree of ``tree_type`` (SciPy's or ours) for the three nearest others and the close pairs."""
    chord = 2 * math.sin(PAIR_KM / (2 * EARTH_RADIUS_KM))
    times = []
    for _ in range(REPEATS + 1):
        start = time.perf_counter()
        tree = tree_type(points)
        nearest = tree.query(points, k=4)
        pairs = (int(tree.count_neighbors(tree, chord)) - len(points)) // 2  # both orders and itself
        jax.block_until_ready(nearest)
        times.append(time.perf_counter() - start)
    distances, rows = _without_self(*map(np.asarray, nearest))
    return Neighbors(distances, rows, pairs, statistics.median(times[1:]), times[0])


def _without_self(distances: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Drop each point's own row: airports share coordinates, so it need not come first, nor at all."""
    is_self = rows == np.arange(len(rows))[:, None]
    keep = np.argsort(is_self, axis=1, kind="stable")[:, :3]
    return np.take_along_axis(distances, keep, 1), np.take_along_axis(rows, keep, 1)


def compare(ours: Neighbors, scipys: Neighbors) -> tuple[int, float]:
    """Count the differences, and give the largest relative one of the distances.

    A difference is a distance off by more than 1e-9 relative, another row at an unequal distance, or
    another number of pairs.
    """
    error = np.abs(ours.distances - scipys.distances)
    off = error > 1e-9 * scipys.distances
    other_row = (ours.rows != scipys.rows) & (error > 1e-15 * scipys.distances)
    relative = np.divide(error, scipys.distances, out=np.zeros_like(error), where=scipys.distances > 0)
    count = int(np.sum(off | other_row)) + int(ours.pairs != scipys.pairs)
    return count, float(relative.max())


def compare_with_brute_force(ours: Neighbors, points: np.ndarray, sample: int = SAMPLE) -> int:
    """Count the differences from all distances of some airports, computed one after the other."""
    count = 0
    for row in np.random.default_rng(0).choice(len(points), sample, replace=False):
        distances = np.linalg.norm(points - points[row], axis=1)
        named = distances[ours.rows[row]]  # as far as they are said to be, and not the airport itself
        distances[row] = np.inf
        nearest = np.sort(np.partition(distances, 3)[:3])
        found = ours.distances[row]
        is_same = np.allclose([found, named], nearest, rtol=1e-9, atol=1e-15) and row not in ours.rows[row]
        count += not is_same
    return count
