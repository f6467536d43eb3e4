"""Scattered interpolation against SciPy and CuPy, neighborhoods and all data together.

    python benchmarks/bench_interpolate.py [--places N] [--points N] [--json FILE]

Times are milliseconds of whole public calls, results waited for, interpolators made before. ``search`` is the
KD-tree's part of a local call. SciPy's times are of one call. The peers get the same numbers; SciPy computes
in float64.
"""

import argparse
import os
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import numpy as np
import scipy.interpolate
from timing import clock, keep

from jaxapi.interpolate import NearestNDInterpolator, RBFInterpolator

try:
    import cupy
    from cupyx.scipy.interpolate import RBFInterpolator as CupysRBFInterpolator
except ImportError:
    cupy = None

ON_GPU = jax.devices()[0].platform == "gpu"


def data(n, m, dtype):
    """Return points, and a smooth function of them with some noise."""
    rng = np.random.default_rng(0)
    points = rng.random((n, m))
    values = np.sin(7 * points).prod(axis=1) + 0.01 * rng.standard_normal(n)
    return points.astype(dtype), values.astype(dtype)


def once(call):
    """Return the time of one call in milliseconds."""
    start = time.perf_counter()
    call()
    return round(1e3 * (time.perf_counter() - start), 1)


def local(points, places, neighbors, m, dtype, scipys, kept):
    """One system for each place."""
    y, d = data(points, m, dtype)
    x = np.random.default_rng(1).random((places, m)).astype(dtype)
    ours = RBFInterpolator(y, d, neighbors=neighbors)
    queries = jax.device_put(x) if dtype == np.float32 else x
    first, ms = clock(lambda: ours(queries), rounds=5)
    row = {"what": "local", "points": points, "places": places, "neighbors": neighbors, "dimensions": m}
    row |= {"dtype": np.dtype(dtype).name, "first_s": first, "jaxapi": ms}
    row["search"] = clock(lambda: ours._tree.query(queries, k=neighbors), rounds=5)[1]
    if scipys:
        theirs = scipy.interpolate.RBFInterpolator(y, d, neighbors=neighbors)
        row["scipy"] = once(lambda: theirs(x))
    kept.append(row)
    print(row, flush=True)


def dense(points, places, columns, m, dtype, scipys, kept):
    """One system for all, evaluated everywhere."""
    y, d = data(points, m, dtype)
    d = np.stack([d * (i + 1) for i in range(columns)], axis=1) if columns > 1 else d
    x = np.random.default_rng(1).random((places, m)).astype(dtype)
    row = {"what": "dense", "points": points, "places": places, "columns": columns, "dimensions": m}
    row |= {"dtype": np.dtype(dtype).name, "build": clock(lambda: RBFInterpolator(y, d)._coefficients)[1]}
    ours = RBFInterpolator(y, d)
    queries = jax.device_put(x) if dtype == np.float32 else x
    row["first_s"], row["jaxapi"] = clock(lambda: ours(queries), rounds=5)
    if cupy:
        theirs, queries = CupysRBFInterpolator(cupy.asarray(y), cupy.asarray(d)), cupy.asarray(x)
        row["cupy"] = clock(lambda: theirs(queries), lambda _: cupy.cuda.Device().synchronize(), rounds=5)[1]
    if scipys:
        theirs = scipy.interpolate.RBFInterpolator(y, d)
        row["scipy"] = once(lambda: theirs(x))
    kept.append(row)
    print(row, flush=True)


def nearest(points, places, m, kept):
    """The nearest point's value."""
    y, d = data(points, m, np.float32)
    x = np.random.default_rng(1).random((places, m), np.float32)
    ours, theirs = NearestNDInterpolator(y, d), scipy.interpolate.NearestNDInterpolator(y, d)
    queries = jax.device_put(x)
    row = {"what": "nearest", "points": points, "places": places, "dimensions": m}
    row["jaxapi"] = clock(lambda: ours(queries), rounds=5)[1]
    row["scipy"] = once(lambda: theirs(x, workers=-1))
    kept.append(row)
    print(row, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--places", type=int, default=1_000_000 if ON_GPU else 100_000)
    parser.add_argument("--points", type=int, default=1_000_000 if ON_GPU else 100_000)
    parser.add_argument("--no-scipy", action="store_true")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    print(f"jax {jax.__version__}, {jax.devices()[0]}, CuPy {getattr(cupy, '__version__', '-')}")
    kept, scipys = [], not arguments.no_scipy and not ON_GPU
    try:
        for dtype in (np.float32, np.float64):
            local(arguments.points, arguments.places, 32, 3, dtype, scipys, kept)
        local(500, arguments.places, 32, 2, np.float64, scipys, kept)  # a map of few stations
        for columns in (1, 8):
            for dtype in (np.float32, np.float64):
                dense(1024, arguments.places, columns, 3, dtype, scipys, kept)
        nearest(arguments.points, arguments.places, 3, kept)
    finally:  # what was measured until Ctrl-C, too
        keep(arguments.json, kept)


if __name__ == "__main__":
    main()
