"""KDTree on the CPU beside SciPy on all cores: eager, and inside of `jit`, the build included.

Run: ``python benchmarks/bench_cpu.py [points ...] [--json FILE]``. Calls take turns;
the least of several rounds counts, in milliseconds of wall time. The first call of `jit` compiles.
"""

import argparse
import itertools
import time

import jax
import numpy as np
import scipy.spatial
from timing import keep

import jaxapi as xp

KDTree = xp.spatial.KDTree


def least(calls, seconds=1.0):
    """Return the least times of calls that take turns."""
    times = [[] for _ in calls]
    end = time.perf_counter() + seconds * len(calls)
    while time.perf_counter() < end or len(times[0]) < 4:
        for call, own in zip(calls, times, strict=True):
            start = time.perf_counter()
            jax.block_until_ready(call())
            own.append((time.perf_counter() - start) * 1e3)
    return [min(own) for own in times]


def arrays_of(tree, x, r):
    """Return SciPy's neighbours within a radius as arrays, as its lists are used."""
    lists = tree.query_ball_point(x, r, workers=-1)
    return np.cumsum([len(each) for each in lists]), np.concatenate(lists)


SEARCHES = {
    "k=1": (lambda t, x, r: t.query(x), lambda t, x, r: t.query(x, workers=-1)),
    "k=8": (lambda t, x, r: t.query(x, k=8), lambda t, x, r: t.query(x, k=8, workers=-1)),
    "k=32": (lambda t, x, r: t.query(x, k=32), lambda t, x, r: t.query(x, k=32, workers=-1)),
    "within r, 16": (
        lambda t, x, r: t.query_radius(x, r, max_neighbors=16),
        lambda t, x, r: t.query(x, k=16, distance_upper_bound=r, workers=-1),
    ),
    "within r, CSR": (lambda t, x, r: t.query_radius(x, r), arrays_of),
    "counts": (
        lambda t, x, r: t.query_ball_point(x, r, return_length=True),
        lambda t, x, r: t.query_ball_point(x, r, return_length=True, workers=-1),
    ),
    "pairs": (
        lambda t, x, r: t.query_pairs(r, max_pairs=8 * len(x)),
        lambda t, x, r: t.query_pairs(r, output_type="ndarray"),
    ),
}


def main(sizes, path):
    """Print the table."""
    rng, rows = np.random.default_rng(0), []
    shifts = itertools.count()  # other points at each call of `jit`, so that each builds its tree
    names = "SciPy", "eager", "ratio", "jit", "ratio", "first"
    print(f"{'points':>8} {'search':14}", *(f"{name:>{6 if name == 'ratio' else 9}}" for name in names))
    for n in sizes:
        points, x = rng.random((2, n, 3)).astype(np.float32)
        r = (8 / (n * 4.19)) ** (1 / 3)  # 8 neighbours
        device = jax.device_put((points, x))
        for name, (ours, theirs) in SEARCHES.items():
            calls = [
                lambda theirs=theirs: theirs(scipy.spatial.KDTree(points), x, r),  # noqa: B023
                lambda ours=ours: ours(KDTree(device[0]), device[1], r),  # noqa: B023
            ]
            first = None
            if name != "within r, CSR":
                jitted = jax.jit(lambda s, p, x, ours=ours: ours(KDTree(p + 1e-6 * s), x, r))  # noqa: B023
                start = time.perf_counter()
                jax.block_until_ready(jitted(next(shifts), *device))
                first = (time.perf_counter() - start) * 1e3
                calls.append(lambda jitted=jitted: jitted(next(shifts), *device))  # noqa: B023
            scipys, eager, *inside = least(calls)
            line = f"{n:8} {name:14} {scipys:9.2f} {eager:9.2f} {eager / scipys:6.2f}"
            if inside:
                line += f" {inside[0]:9.2f} {inside[0] / scipys:6.2f} {first:9.0f}"
            print(line, flush=True)
            figures = {"scipy": scipys, "eager": eager, "jit": inside[0] if inside else None, "first": first}
            figures = {key: value and round(value, 2) for key, value in figures.items()}
            rows.append({"points": n, "work": name, **figures})
    keep(path, rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sizes", type=int, nargs="*", default=[1_000, 10_000, 100_000])
    parser.add_argument("--json")
    main(*vars(parser.parse_args()).values())
