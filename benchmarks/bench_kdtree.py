"""KDTree: build and nearest neighbours, beside CuPy, jztree, jaxkd and SciPy where they are installed.

    python benchmarks/bench_kdtree.py [--quick] [--out docs/kdtree-gpu.json] [--plot docs/kdtree-gpu.png]

Each figure is the median time of whole public calls with the data on the device, checks and synchronisation
included, in ms; a peer that is not here, or cannot do the work, prints a dash or what it raised. Without a
GPU the sizes shrink a hundredfold.
"""

import argparse
import json
import os
import platform
import statistics
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # the peers need memory too

import jax
import jax.numpy as jnp
import numpy as np
from scipy.spatial import cKDTree

from jaxapi.spatial import KDTree

GPU = jax.default_backend() == "gpu"
MILLION = 1_000_000 if GPU else 10_000
LINE = "{:44} {:>8} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>8}"
FIELDS = ("work", "engine", "jaxapi", "first", "cupy", "jztree", "jaxkd", "scipy", "MB")
BUDGET = 3.0  # seconds for one figure


def clock(call, sync=jax.block_until_ready):
    """Return (first call in s, median of the others in ms)."""
    start = time.perf_counter()
    sync(call())
    first = time.perf_counter() - start
    times, began = [], time.perf_counter()
    while len(times) < 15 and (not times or time.perf_counter() - began < BUDGET / 10):
        start = time.perf_counter()
        sync(call())
        times.append(1e3 * (time.perf_counter() - start))
    return round(first, 2), round(statistics.median(times), 3)


def peer(call, sync=jax.block_until_ready):
    """Return a peer's median in ms, or why there is none."""
    try:
        return clock(call, sync)[1]
    except Exception as error:  # whatever a peer raises belongs in its cell
        return type(error).__name__[:9]


def uniform(n, m=3, seed=0, dtype=np.float32):
    return jnp.asarray(np.random.default_rng(seed).random((n, m), dtype=dtype))


def clusters(n, seed, centres):
    rng = np.random.default_rng(seed)
    middle = np.random.default_rng(centres).random((64, 3))
    return jnp.asarray(
        (middle[rng.integers(0, 64, n)] + 0.005 * rng.standard_normal((n, 3))).astype(np.float32)
    )


class Peers:
    """The other trees over the same points, each built at first use."""

    def __init__(self, points):
        self.points = points

    def build(self):
        """Return the time of each peer's build."""
        host = np.asarray(self.points)
        cells = {"scipy": peer(lambda: cKDTree(host), lambda tree: tree) if len(host) <= 2e6 else None}
        if GPU:
            cells["cupy"] = peer(lambda: self.cupy_tree(), self.cupy_wait)
            if len(host) <= 2e6:
                cells["jaxkd"] = peer(self.jaxkd_tree)
        return cells

    def query(self, queries, k, p=2.0, names=("cupy", "jaxkd", "scipy")):
        """Return the time of each peer's search."""
        cells = {}
        if "scipy" in names:
            host, tree = np.asarray(queries), cKDTree(np.asarray(self.points))
            cells["scipy"] = peer(lambda: tree.query(host, k=k, p=p, workers=-1), lambda found: found)
        if "cupy" in names and GPU:
            cells["cupy"] = peer(self.cupy_query(queries, k, p), self.cupy_wait)
        if "jaxkd" in names and p == 2 and GPU:
            cells["jaxkd"] = peer(self.jaxkd_query(queries, k))
        return cells

    def cupy_tree(self):
        import cupy
        from cupyx.scipy.spatial import KDTree as Tree

        return Tree(cupy.from_dlpack(self.points))

    def cupy_wait(self, result):
        import cupy

        cupy.cuda.Device().synchronize()
        return result

    def cupy_query(self, queries, k, p):
        try:
            import cupy
        except ImportError as error:
            return _raiser(error)
        tree, queries = self.cupy_tree(), cupy.from_dlpack(queries)
        return lambda: tree.query(queries, k=k, p=p)

    def jaxkd_tree(self):
        import jaxkd

        return jax.jit(jaxkd.build_tree)(self.points)

    def jaxkd_query(self, queries, k):
        try:
            import jaxkd

            tree = self.jaxkd_tree()
        except Exception as error:
            return _raiser(error)
        search = jax.jit(jaxkd.query_neighbors, static_argnames="k")
        return lambda: search(tree, queries, k=k)

    def jztree_self(self, k):
        """Return the time of jztree's build and search of every point, in one call."""

        def call():
            import jztree.knn

            return jztree.knn.knn(self.points, k=k)

        return peer(call)


def _raiser(error):
    def call():
        raise error

    return call


class Report:
    """Prints and keeps the rows."""

    def __init__(self):
        self.rows = []
        print(LINE.format(*FIELDS))

    def row(self, work, call, engine, peers=None):
        try:
            first, median = clock(call)
        except Exception as error:
            first, median = None, f"{type(error).__name__}: {str(error)[:200]}"
        cells = {"work": work, "engine": engine, "jaxapi": median, "first": first, **(peers or {})}
        cells["MB"] = peak_memory()
        self.rows.append(cells)
        print(LINE.format(*(str(cells.get(name) if cells.get(name) is not None else "-") for name in FIELDS)))
        return median


def peak_memory():
    """Return the most device memory used so far, in MB; measured by the caller between rows."""
    stats = jax.devices()[0].memory_stats() or {}
    return round(stats.get("peak_bytes_in_use", 0) / 1e6)


def built(points, **options):
    tree = KDTree(points, **options)
    jax.block_until_ready(tree.indices)
    return tree


def neighbours(report, quick):
    """Run the table of the 3-D clouds; return the times over k and n for the plot."""
    curves = {"k": {}, "n": {}}
    n = MILLION
    points, others = uniform(n), uniform(n, seed=1)
    peers = Peers(points)
    label = f"{n // 1000}k"
    report.row(f"{label} build", lambda: KDTree(points).indices, built(points).engine, peers.build())
    tree = built(points)
    for k in (1, 8, 32):
        cells = peers.query(others, k)
        median = report.row(
            f"{label} uniform, {label} others, k={k}", lambda k=k: tree.query(others, k=k), tree.engine, cells
        )
        curves["k"][k] = {"jaxapi": median, **cells}
    cells = {"jztree": peers.jztree_self(8)} if GPU else {}
    report.row(
        f"{label} build + every point's k=8", lambda: KDTree(points).query(points, k=8), tree.engine, cells
    )
    for p in (1.0, np.inf, 3.0):
        report.row(f"{label} k=8, p={p}", lambda p=p: tree.query(others, k=8, p=p), tree.engine)
    boxed = built(points, boxsize=1.0)
    report.row(f"{label} k=8, periodic box", lambda: boxed.query(others, k=8), tree.engine)
    for k in (100, 1024):
        report.row(f"{label} k={k}", lambda k=k: tree.query(others, k=k), tree.engine)
    cloud, same, far = clusters(n, 2, 3), clusters(n, 4, 3), clusters(n, 5, 6)
    crowded = built(cloud)
    peers = Peers(cloud)
    for k in (1, 8):
        for name, queries in (("the same", same), ("64 others", far)):
            cells = peers.query(queries, k, names=("cupy",) if not quick else ())
            report.row(
                f"{label} in 64 clusters, others of {name}, k={k}",
                lambda q=queries, k=k: crowded.query(q, k=k),
                tree.engine,
                cells,
            )
    from jaxapi import asarray

    wide_points, wide_others = (asarray(x) for x in np.random.default_rng(7).random((2, n, 3)))
    double = built(wide_points)
    report.row(f"{label} build, float64", lambda: KDTree(wide_points).indices, double.engine)
    for k in (1, 8, 32):
        report.row(f"{label} float64, k={k}", lambda k=k: double.query(wide_others, k=k), double.engine)
    for m in (2, 8):
        cloud, queries = uniform(n, m, 8), uniform(n // 10, m, 9)
        other = built(cloud)
        cells = Peers(cloud).query(queries, 8, names=("cupy",))
        report.row(
            f"{label} m={m}, {n // 10_000}k others, k=8",
            lambda t=other, q=queries: t.query(q, k=8),
            other.engine,
            cells,
        )
    if not quick:
        large = uniform(10 * n, seed=10)
        peers = Peers(large)
        ten = f"{n // 100_000}M" if GPU else "100k"
        report.row(f"{ten} build", lambda: KDTree(large).indices, tree.engine, peers.build())
        for k in (8, 32):
            cells = {"jztree": peers.jztree_self(k)} if GPU else {}
            report.row(
                f"{ten} build + every point's k={k}",
                lambda k=k: KDTree(large).query(large, k=k),
                tree.engine,
                cells,
            )
    for size in (n // 100, n // 10, n, 10 * n):
        some = uniform(size, seed=11)
        other = built(some)
        cells = Peers(some).query(others, 8, names=("cupy",))
        work = f"{size} points, {label} others, k=8"
        median = report.row(work, lambda t=other: t.query(others, k=8), tree.engine, cells)
        curves["n"][size] = {"jaxapi": median, **cells}
    return curves


def plot(curves, path, machine):
    """Draw the times over k and over n."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 4))
    for ax, (over, curve) in zip(axes, curves.items(), strict=True):
        for name in sorted({name for cells in curve.values() for name in cells}):
            xs = [x for x, cells in curve.items() if isinstance(cells.get(name), float)]
            if xs:
                ax.loglog(xs, [curve[x][name] for x in xs], marker="o", label=name)
        ax.set_xlabel({"k": "neighbours k", "n": "points n (k = 8)"}[over])
        ax.set_ylabel(f"ms for {MILLION:,} queries")
        ax.legend()
        ax.grid(alpha=0.3)
    figure.suptitle(f"k nearest neighbours, 3-D, float32: {machine}")
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main():
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="no clouds of ten million, fewer peers")
    parser.add_argument("--out", help="write the rows as JSON")
    parser.add_argument("--plot", help="draw the times over k and n")
    options = parser.parse_args()
    machine = jax.devices()[0].device_kind if GPU else f"{platform.machine()} with {os.cpu_count()} cores"
    versions = f"jax {jax.__version__}, Python {platform.python_version()}"
    print(f"{machine}, {versions}; ms, but 'first' (with compilation) in s; MB: most device memory so far")
    report, curves = Report(), {}
    try:
        curves = neighbours(report, options.quick)
    finally:
        if options.out:
            with open(options.out, "w") as file:
                json.dump(
                    {"machine": machine, "versions": versions, "rows": report.rows, "curves": curves},
                    file,
                    indent=1,
                )
    if options.plot:
        plot(curves, options.plot, f"{machine}, {versions}")


if __name__ == "__main__":
    main()
