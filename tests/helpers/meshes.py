"""Meshes of devices, points that lie on them, and the right answers: what the tests of several devices share.

The CPU plays eight devices (`conftest.py`); where there are several GPUs, these are taken.
"""

import jax
import numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec

__all__ = ["SPREAD", "agree", "clouds", "mesh_of", "nearest", "spread"]

SPREAD = PartitionSpec("d")


def mesh_of(count, kind=AxisType.Auto):
    """Return a mesh of so many devices, of all GPUs where these are fewer."""
    devices = [device for device in jax.devices() if device.platform == "gpu"]
    devices = devices if len(devices) > 1 else jax.devices("cpu")
    count = min(count, len(devices))
    return jax.make_mesh((count,), ("d",), axis_types=(kind,), devices=devices[:count])


def spread(mesh, *arrays):
    """Put arrays on a mesh, sharded along axis 0."""
    placed = jax.device_put(arrays, NamedSharding(mesh, SPREAD))
    return placed[0] if len(arrays) == 1 else placed


def nearest(points, queries, k):
    """Return distances and rows of the nearest, of equally distant points the lowest rows first."""
    points, queries = points.astype(np.float64), queries.astype(np.float64)
    squares = np.square(queries[:, None] - points).sum(axis=2)
    rows = np.lexsort((np.broadcast_to(np.arange(len(points)), squares.shape), squares))[:, :k]
    return np.sqrt(np.take_along_axis(squares, rows, axis=1)), rows


def agree(found, expected):
    """Compare distances and rows with those of `nearest`."""
    distances, rows = map(np.asarray, found)
    np.testing.assert_array_equal(rows, expected[1])
    least = np.finfo(distances.dtype).smallest_subnormal
    np.testing.assert_allclose(distances, expected[0], rtol=1e-5, atol=least)


def clouds(n):
    """Return points and queries that lie in all kinds of ways."""
    rng = np.random.default_rng(18)
    uniform, others = rng.random((2, n, 3), np.float32)
    centres = rng.random((4, 3), np.float32)[rng.integers(0, 4, n)]
    grid = rng.permutation(np.stack(np.meshgrid(*[np.arange(8)] * 3), -1).reshape(-1, 3))[:n].astype(
        np.float32
    )
    return {
        "uniform": (uniform, others),
        "sorted": (uniform[np.argsort(uniform[:, 0])], others),
        "clusters": (centres + 2**-6 * uniform, others),
        "equal points": (np.ones_like(uniform), np.round(others)),
        "grid, with ties": (grid, rng.permutation(grid)),
        "half equal": (np.where(uniform[:, :1] < 0.5, np.float32(0.5), uniform), others),
        "queries in a corner": (uniform, others / 16),
        "queries at one point": (uniform, np.broadcast_to(others[:1], others.shape)),
        "subnormal": tuple(each * np.float32(2**-149) for each in (grid, rng.permutation(grid))),
        "far queries": (np.round(uniform * 16), np.round(others * 400 - 200)),
    }
