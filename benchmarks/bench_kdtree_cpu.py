"""KDTree on the CPU: concrete arrays against SciPy, arrays under jit against jaxkd (where it is installed).

Run: ``python benchmarks/bench_kdtree_cpu.py``. Each figure stands next to its peer's of the same run; the two
take turns, and the least of several rounds counts, in CPU time for one thread and in wall time for all. The
rows "new" have other points and queries at each call, "new sizes" other numbers of both, the build included.
"""

import importlib.util
import json
import os
import sys
import time
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import scipy.spatial

import jaxapi as xp
from jaxapi.spatial._lax import _brute
from jaxapi.spatial._structure import _build

N, Q = 100_000, 65_536


def least(calls, rounds=7, clock=time.process_time):
    """Return the least time of each call in milliseconds, the calls taking turns."""
    times = [[] for _ in calls]
    for _ in range(rounds + 1):
        for call, own in zip(calls, times, strict=True):
            start = clock()
            jax.block_until_ready(call())
            own.append((clock() - start) * 1e3)
    return [min(own[1:]) for own in times]


def row(table, work, ours, peer, name):
    """Print and keep one line."""
    table.append({"work": work, "jaxapi": ours, "peer": peer, "name": name, "ratio": ours / peer})
    print(f"{work:46s} {ours:10.3f} {peer:10.3f} {name:8s} {ours / peer:6.2f}", flush=True)


def new_data(table, rng):
    """Measure build and search of points that no call has seen."""
    for words, sizes in (("new data", [N] * 8), ("new sizes", [N + 1_000 * i for i in range(8)])):
        for k in (1, 8):
            inputs = [rng.random((2, n, 3)).astype(np.float32) for n in sizes]
            ours, peer = (
                (tree(points).query(x, k=k) for points, x in inputs)
                for tree in (xp.spatial.KDTree, scipy.spatial.KDTree)
            )
            times = least([lambda: next(ours), lambda: next(peer)], 7)  # noqa: B023
            row(table, f"{words}, build and q={N} k={k} ms", *times, "scipy")


def beside_scipy(table, rng):
    """Measure concrete arrays."""
    for dtype in (np.float32, np.float64):
        points = rng.random((N, 3)).astype(dtype)
        ours, peer = xp.spatial.KDTree(points), scipy.spatial.KDTree(points)
        for q in (10_000, Q):
            x = rng.random((q, 3)).astype(dtype)
            for k in (1, 4, 8, 32):
                times = least([lambda: ours.query(x, k=k), lambda: peer.query(x, k=k)])  # noqa: B023
                row(table, f"{np.dtype(dtype)} q={q} k={k} ms", *times, "scipy")
        times = least(
            [lambda: ours.query(x, k=8, workers=-1), lambda: peer.query(x, k=8, workers=-1)],  # noqa: B023
            clock=time.perf_counter,
        )
        row(table, f"{np.dtype(dtype)} q={q} k=8 all cores ms", *times, "scipy")
        many = [lambda t=t: [t.query(points[0]) for _ in range(100)] for t in (ours, peer)]  # noqa: B023
        row(table, f"{np.dtype(dtype)} one query us", *(10 * t for t in least(many, 30)), "scipy")
    grid = rng.integers(0, 40, (N, 3)).astype(float)
    ours, peer = xp.spatial.KDTree(grid), scipy.spatial.KDTree(grid)
    times = least([lambda: ours.query(grid[:Q], k=8), lambda: peer.query(grid[:Q], k=8)], 3)
    row(table, f"whole numbers, ties everywhere q={Q} k=8 ms", *times, "scipy")


def radius_beside_scipy(table, rng):
    """Measure radius searches, about ten neighbours a query, against SciPy's lists."""
    points = rng.random((N, 3)).astype(np.float32)
    ours, peer = xp.spatial.KDTree(points), scipy.spatial.KDTree(points)
    r = 0.03
    for q in (2_000, 20_000):
        x = rng.random((q, 3)).astype(np.float32)
        radii = (r * rng.uniform(0.5, 1.3, q)).astype(np.float32)
        for name, radius, search in (
            ("lists", r, ours.query_ball_point),
            ("lists, a radius per point", radii, ours.query_ball_point),
            ("arrays", r, ours.query_radius),
            ("arrays, a radius per point", radii, ours.query_radius),
            ("arrays, sorted", r, partial(ours.query_radius, sort=True)),
            ("at most 32", r, partial(ours.query_radius, max_neighbors=32)),
            ("at most 32, a radius per point", radii, partial(ours.query_radius, max_neighbors=32)),
        ):
            times = least([lambda: search(x, radius), lambda: peer.query_ball_point(x, radius)])  # noqa: B023
            row(table, f"radius q={q} {name} ms", *times, "scipy")
        times = least(
            [lambda t=t: t.query_ball_point(x, r, return_length=True) for t in (ours, peer)]  # noqa: B023
        )
        row(table, f"radius q={q} numbers ms", *times, "scipy")
    many = [lambda t=t: [t.query_ball_point(points[0], r) for _ in range(100)] for t in (ours, peer)]
    row(table, "radius one list us", *(10 * t for t in least(many, 30)), "scipy")


def beside_jaxkd(table, rng):
    """Measure arrays under jit."""
    if importlib.util.find_spec("jaxkd") is None:
        print("jaxkd is not installed: its rows are left out")
        return
    import jaxkd

    points, x = (jnp.asarray(rng.random((count, 3)), jnp.float32) for count in (N, Q))
    peer = jaxkd.build_tree(points)
    for k in (1, 8, 32):
        search = jax.jit(lambda tree, x, k=k: tree.query(x, k=range(1, k + 1)))
        tree = xp.spatial.KDTree(points)
        times = least(
            [lambda: search(tree, x), lambda: jaxkd.query_neighbors(peer, x, k=k)],  # noqa: B023
            3,
            time.perf_counter,
        )
        row(table, f"under jit, float32 q={Q} k={k} ms", *times, "jaxkd")
    build = jax.jit(xp.spatial.KDTree)
    times = least([lambda: build(points), lambda: jaxkd.build_tree(points)], 3, time.perf_counter)
    row(table, f"build under jit n={N} ms", *times, "jaxkd")


def by_dimension(table, rng, n=30_000, q=500, k=8):
    """Measure SciPy's tree and every distance in 8 to 128 dimensions: what the choice by m rests on.

    Uniform points are the tree's worst case; points near a surface of three dimensions are an easy one.
    """
    for m in (8, 12, 16, 17, 32, 64, 128):
        surface = rng.random((n + q, 3)) @ rng.standard_normal((3, m)) + 0.01 * rng.random((n + q, m))
        for kind, cloud in (("uniform", rng.random((n + q, m))), ("near a surface", surface)):
            points, x = np.split(cloud.astype(np.float32), [n])
            peer = scipy.spatial.KDTree(points)
            flat, queries = _build.flat(jnp.asarray(points), n), jnp.asarray(x)
            none = jnp.float32(np.inf), jnp.float32(0), None
            every = jax.jit(lambda x, flat=flat, none=none: _brute.nearest(flat, x, *none, k=k, p=2.0))
            times = least([lambda: every(queries), lambda: peer.query(x, k=k)], 2)  # noqa: B023
            row(table, f"every distance, m={m} n={n} q={q} {kind} ms", *times, "scipy")


def main():
    """Print the table; with a file name, write it as JSON too."""
    print(f"jax {jax.__version__}, scipy {scipy.__version__}, {os.cpu_count()} cores, n={N}, m=3")
    print(f"{'':46s} {'jaxapi':>10s} {'peer':>10s} {'':8s} {'ratio':>6s}")
    table, rng = [], np.random.default_rng(0)
    with jax.default_device(jax.devices("cpu")[0]):
        new_data(table, rng)
        beside_scipy(table, rng)
        radius_beside_scipy(table, rng)
        beside_jaxkd(table, rng)
        by_dimension(table, rng)
    if len(sys.argv) > 1:
        with open(sys.argv[1], "w") as file:
            json.dump(table, file, indent=1)


if __name__ == "__main__":
    main()
