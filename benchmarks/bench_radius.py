"""Radius searches and pair counts, against SciPy and CuPy where they can run.

    python benchmarks/bench_radius.py [--points 1000000] [--json FILE]

Each figure is the median of whole public calls, results on the device; 'new data' with another radius, and so
other numbers of results, at every call. SciPy uses all cores where it can.
"""

import argparse
import itertools
import time

import jax
import jax.numpy as jnp
import numpy as np
from scipy.spatial import cKDTree
from timing import clock, keep

from jaxapi.spatial import KDTree

LINE = "{:12} {:36} {:>10} {:>10} {:>10} {:>11} {:>9}"
FIELDS = "cloud", "work", "jaxapi", "new", "scipy", "results"


def once(call):
    """Return the time in ms of one call."""
    start = time.perf_counter()
    call()
    return 1e3 * (time.perf_counter() - start)


def clouds(n, rng):
    """Return points and queries, uniform and in 64 clusters, (n, 3) float32."""
    uniform = rng.random((2, n, 3), dtype=np.float32)
    centres = rng.random((64, 3), dtype=np.float32)
    widths = 10 ** rng.uniform(-3, -1.5, (64, 1)).astype(np.float32)
    which = rng.integers(0, 64, (2, n))
    noise = rng.standard_normal((2, n, 3), dtype=np.float32)
    return {"uniform": uniform, "64 clusters": centres[which] + widths[which] * noise}


def radius_for(oracle, queries, wanted):
    """Return the radius that gives a sample of the queries so many neighbours on average."""
    low, high = 0.0, 1.0
    sample = queries[:: max(1, len(queries) // 2000)]
    for _ in range(30):
        middle = (low + high) / 2
        found = oracle.query_ball_point(sample, middle, return_length=True, workers=-1).mean()
        low, high = (middle, high) if found < wanted else (low, middle)
    return high


def rows(tree, oracle, queries, radii, device_queries, uniform):
    """Yield (work, neighbours, jaxapi's call, SciPy's call or None)."""
    for wanted, r in radii.items():
        yield (
            f"counts, {wanted} neighbours",
            lambda f=1.0, r=r: tree.query_ball_point(device_queries, r * f, return_length=True),
            lambda r=r: oracle.query_ball_point(queries, r, return_length=True, workers=-1),
        )
        yield (
            f"CSR, {wanted} neighbours",
            lambda f=1.0, r=r: tree.query_radius(device_queries, r * f),
            lambda r=r: oracle.query_ball_point(queries, r, workers=-1),
        )
        limit = {4: 32, 50: 128}[wanted]
        yield (
            f"fixed size {limit}, {wanted} neighbours",
            lambda f=1.0, r=r, limit=limit: tree.query_radius(device_queries, r * f, max_neighbors=limit),
            None,
        )
    pairs_radius = radii[50] * (24 / 50) ** (1 / 3)
    yield (
        "all pairs",
        lambda f=1.0: tree.query_pairs(pairs_radius * f, output_type="ndarray"),
        lambda: oracle.query_pairs(pairs_radius, output_type="ndarray"),
    )
    yield "radius graph", lambda f=1.0: tree.radius_graph(pairs_radius * f), None
    bins = np.linspace(0.0025, 0.05, 20)
    other = KDTree(device_queries)
    yield (
        "two-point counts, 20 radii to 0.05",
        lambda f=1.0: tree.count_neighbors(other, bins * f),
        # In clusters SciPy takes minutes.
        (lambda: oracle.count_neighbors(cKDTree(queries), bins)) if uniform else None,
    )


def cupy_radius(points, queries, r):
    """Return CuPy's time for a hundred queries; it needs queries x points x 8 bytes."""
    try:
        import cupy
        from cupyx.scipy.spatial import KDTree as CupyTree
    except ImportError:
        return None
    try:
        tree, some = CupyTree(cupy.asarray(points)), cupy.asarray(queries[:100])
        tree.query_ball_point(some[:10], r)
        return once(lambda: (tree.query_ball_point(some, r), cupy.cuda.Device().synchronize()))
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:80]


def main():
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--points", type=int, default=1_000_000 if jax.default_backend() == "gpu" else 100_000
    )
    parser.add_argument("--json")
    parser.add_argument("--clouds", nargs="*", default=["uniform", "64 clusters"])
    parser.add_argument("--without-peers", action="store_true")
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    table = []
    print(f"{jax.devices()[0].device_kind}, jax {jax.__version__}, {arguments.points} points and queries")
    print(LINE.format("cloud", "work", "jaxapi ms", "new data", "SciPy ms", "results", "ns each"), flush=True)
    for cloud, (points, queries) in clouds(arguments.points, rng).items():
        if cloud not in arguments.clouds:
            continue
        tree, oracle = KDTree(jnp.asarray(points)), cKDTree(points)
        radii = {wanted: radius_for(oracle, queries, wanted) for wanted in (4, 50)}
        work = rows(tree, oracle, queries, radii, jnp.asarray(queries), cloud == "uniform")
        for name, ours, scipys in work:
            try:
                result = ours()
                size = results_of(result)
                _, milliseconds = clock(ours, rounds=7, budget=20)
                factors = (1 - 1e-3 * i for i in itertools.count(1))
                _, fresh = clock(lambda ours=ours, fs=factors: ours(next(fs)), rounds=7, budget=20)
                theirs = None if scipys is None or arguments.without_peers else once(scipys)
            except Exception as error:
                print(f"{cloud:12} {name:38} {type(error).__name__}: {error}"[:200], flush=True)
                continue
            each = f"{1e6 * milliseconds / max(size, 1):.3f}"
            peer = "-" if theirs is None else f"{theirs:.1f}"
            print(
                LINE.format(cloud, name, f"{milliseconds:.2f}", f"{fresh:.2f}", peer, size, each), flush=True
            )
            table.append(dict(zip(FIELDS, (cloud, name, milliseconds, fresh, theirs, size), strict=True)))
        if not arguments.without_peers:
            milliseconds = cupy_radius(points, queries, radii[50])
            print(f"{cloud:12} CuPy, 100 of the queries, 50 neighbours: {milliseconds} ms", flush=True)
            work = "CSR, 50 neighbours, 100 queries"
            table.append({"cloud": cloud, "work": work, "cupy": milliseconds})
    keep(arguments.json, table)


def results_of(result) -> int:
    """Return how many neighbours, pairs or counts a result stands for."""
    if hasattr(result, "counts"):
        return int(result.counts.sum())
    if hasattr(result, "_fields"):
        return result[1].shape[0]
    result = np.asarray(result)
    return len(result) if result.ndim == 2 else int(result[-1] if len(result) == 20 else result.sum())


if __name__ == "__main__":
    main()
