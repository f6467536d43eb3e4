"""KDTree: build and nearest neighbours, against CuPy, jztree, jaxkd and SciPy where they are installed.

    python benchmarks/bench_kdtree.py [--only EXPRESSION] [--no-memory] [--json FILE]

`--only` takes the rows whose names an expression matches, such as "terrain|sphere". `--no-memory` leaves out
what each row holds at most, which takes a process for each.

Each figure is the median time of whole public calls with the data on the device, checks and synchronisation
included, in ms; a peer that is not here, or cannot do the work, prints a dash or what it raised. jztree's
figures include its build; top_k is one matrix product and `lax.top_k` for each piece. `new` is the same with
points or queries that no call has seen, `flight` that of each of eight calls that are waited for together,
and `moved` the time in which this device copies as many bytes as points, queries and results have, on a GPU.
Without a GPU the sizes shrink a hundredfold.
"""

import argparse
import concurrent.futures
import functools
import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable
from typing import NamedTuple

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # the peers need memory too

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from scipy.spatial import cKDTree
from timing import clock, keep, median_us

from jaxapi import asarray
from jaxapi.spatial import KDTree

GPU = jax.default_backend() == "gpu"
IN_FLIGHT = 20  # ms: calls that take longer are not timed by eights, whose results would fill the memory
MILLION = 1_000_000 if GPU else 10_000
LINE = "{:46} {:>8} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}"
FIELDS = (
    "work",
    "engine",
    "jaxapi",
    "new",
    "flight",
    "moved",
    "first",
    "cupy",
    "jztree",
    "jaxkd",
    "scipy",
    "top_k",
)


def peer(call, sync=jax.block_until_ready):
    """Return a peer's median in ms, or why there is none."""
    try:
        return clock(call, sync)[1]
    except Exception as error:  # whatever a peer raises belongs in its cell
        return type(error).__name__[:9]


@functools.cache
def copied_a_ms():
    """Return how many bytes this GPU reads and writes in a ms of copying a gigabyte."""
    x = jnp.zeros(1 << 28, np.float32)
    return 2 * x.nbytes / clock(lambda: x + 1)[1]


def bytes_of(*arrays):
    return sum(each.nbytes for each in arrays)


class Fresh:
    """An array a little different at each turn, of a few made in advance."""

    def __init__(self, x, turns=4):
        self.copies = jax.block_until_ready([x * (1 - i / 1000) for i in range(1, turns + 1)])
        self.turn = 0

    def __call__(self):
        self.turn += 1
        return self.copies[self.turn % len(self.copies)]


def uniform(n, m=3, seed=0, dtype=np.float32):
    return jnp.asarray(np.random.default_rng(seed).random((n, m), dtype=dtype))


def uniform_float64(n, seed=0):
    return asarray(np.random.default_rng(seed).random((n, 3)))


def clusters(n, seed, centres):
    rng = np.random.default_rng(seed)
    middle = np.random.default_rng(centres).random((64, 3))
    return jnp.asarray(
        (middle[rng.integers(0, 64, n)] + 0.005 * rng.standard_normal((n, 3))).astype(np.float32)
    )


def repeats(n, seed, times=100):
    """Return points of which each is there so many times, in any order."""
    places = uniform(max(n // times, 1), seed=5)
    return places[np.random.default_rng(seed).integers(0, len(places), n)]


def terrain(n, seed):
    x, y = np.random.default_rng(seed).random((2, n))
    height = 0.05 * np.sin(9 * x) * np.cos(7 * y) + 0.02 * np.sin(40 * x + 30 * y)
    return jnp.asarray(np.stack([x, y, height], axis=1).astype(np.float32))


def sphere(n, seed):
    x = np.random.default_rng(seed).standard_normal((n, 3))
    return jnp.asarray((x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32))


def line(n, seed):
    return uniform(n, 1, seed) * np.float32([[1, 2, 3]])


def lattice(n, seed):
    """Return the integer points of a cube, in any order; what is over of `n` again."""
    side = round(n ** (1 / 3))
    axes = np.meshgrid(*[np.arange(side, dtype=np.float32)] * 3, indexing="ij")
    corners = np.stack(axes, axis=-1).reshape(-1, 3)
    return jnp.asarray(np.resize(np.random.default_rng(seed).permutation(corners), (n, 3)))


def fractal(n, seed):
    """Return points near a Sierpinski tetrahedron."""
    rng = np.random.default_rng(seed)
    corners = np.array([[0, 0, 0], [1, 1, 0], [1, 0, 1], [0, 1, 1]])
    places = sum(2.0**-i * corners[rng.integers(0, 4, n)] for i in range(1, 16))
    return jnp.asarray((places + 1e-5 * rng.random((n, 3))).astype(np.float32))


CLOUDS = (terrain, sphere, lattice, line, fractal)


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

    def query(self, queries, k, p, names):
        """Return the time of each peer's search."""
        cells = {}
        if "scipy" in names:
            host, tree = np.asarray(queries), cKDTree(np.asarray(self.points))
            cells["scipy"] = peer(lambda: tree.query(host, k=k, p=p, workers=-1), lambda found: found)
        if "cupy" in names and GPU:
            cells["cupy"] = peer(self.cupy_query(queries, k, p), self.cupy_wait)
        if "jaxkd" in names and GPU:
            cells["jaxkd"] = peer(self.jaxkd_query(queries, k))
        if "top_k" in names:
            cells["top_k"] = peer(lambda: product_and_top_k(self.points, queries, k))
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

    def jztree(self, k, queries=None):
        """Return the time of jztree's build and search, in one call; of every point without `queries`."""

        def call():
            import jztree.knn

            return jztree.knn.knn.jit(self.points, k=k, part_query=queries)

        return {"jztree": peer(call)} if GPU else {}


@functools.partial(jax.jit, static_argnames="k")
def product_and_top_k(points, queries, k):
    """Search by one matrix product and top-k for each piece of the queries that fits the memory."""
    own = jnp.square(points).sum(axis=1)
    piece = min(len(queries), max(1, 2**31 // len(points)))

    def search(x):
        with jax.default_matmul_precision("float32"):
            found, rows = lax.top_k(2 * x @ points.T - own, k)
        return jnp.sqrt(jnp.maximum(jnp.square(x).sum(axis=1)[:, None] - found, 0)), rows

    return lax.map(
        search, jnp.pad(queries, ((0, -len(queries) % piece), (0, 0))).reshape(-1, piece, queries.shape[1])
    )


def _raiser(error):
    def call():
        raise error

    return call


class Cloud:
    """Points, the tree over them and the peers' trees, each made when it is first needed."""

    def __init__(self, make, *arguments, **options):
        self.make, self.arguments, self.options = make, arguments, options

    @functools.cached_property
    def points(self):
        return self.make(*self.arguments)

    @functools.cached_property
    def tree(self):
        return KDTree(self.points, **self.options)

    @functools.cached_property
    def peers(self):
        return Peers(self.points)

    def build(self, points=None):
        """Build the tree anew, of its points or of others."""
        return KDTree(self.points if points is None else points, **self.options).indices


class Row(NamedTuple):
    """One line of the table, and what it measures."""

    work: str
    cloud: Cloud
    varied: Cloud  # that new data take the place of
    call: Callable  # with data in their place
    peers: Callable = dict


def build_row(name, cloud, peers=dict):
    return Row(f"{name} build", cloud, cloud, cloud.build, peers)


def query_row(work, cloud, queries, k=8, p=2.0, peers=()):
    """Return the row of `queries` (a cloud) in `cloud`; with build where they are the same."""

    def call(x):
        tree = KDTree(x) if queries is cloud else cloud.tree
        return tree.query(x, k=k, p=p, workers=-1)

    def others():
        cells = cloud.peers.query(queries.points, k, p, [name for name in peers if name != "jztree"])
        if "jztree" in peers:
            cells |= cloud.peers.jztree(k, None if queries is cloud else queries.points)
        return cells

    return Row(f"{work}, k={k}" + (f", p={p}" if p != 2 else ""), cloud, queries, call, others)


def table():
    """Yield the rows, on clouds in 3-D of float32 where they do not say another thing."""
    n = MILLION
    label = f"{n // 1000}k"
    points, others = Cloud(uniform, n), Cloud(uniform, n, 3, 1)
    yield build_row(label, points, lambda: points.peers.build())
    for k in (1, 8, 16, 32):
        peers = () if k == 16 else ("cupy", "jaxkd", "scipy", "jztree")
        yield query_row(f"{label}, {label} others", points, others, k, peers=peers)
    yield query_row(f"{label} build + every point", points, points, peers=["jztree"])
    for p in (1.0, np.inf, 3.0):
        yield query_row(f"{label}, {label} others", points, others, p=p)
    yield query_row(f"{label} in a periodic box", Cloud(uniform, n, boxsize=1.0), others)
    for k in (100, 1024):
        yield query_row(f"{label}, {label} others", points, others, k)
    clustered, same, far = Cloud(clusters, n, 2, 3), Cloud(clusters, n, 4, 3), Cloud(clusters, n, 5, 6)
    copies, same_copies = Cloud(repeats, n, 2), Cloud(repeats, n, 4)
    both = "cupy", "jztree"
    for k in (1, 8):
        yield query_row(f"{label} in 64 clusters, others of the same", clustered, same, k, peers=both)
        yield query_row(f"{label} in 64 clusters, others of 64 more", clustered, far, k)  # CuPy takes 6 s
        yield query_row(f"{label} in {n // 100} places, others there", copies, same_copies, k, peers=both)
    for make in CLOUDS:
        for k in (1, 8, 32):
            yield query_row(
                f"{label} {make.__name__}, others of the same", Cloud(make, n, 1), Cloud(make, n, 2), k
            )
    many_copies = Cloud(repeats, n, 2, 1000)
    if GPU:  # a CPU takes minutes to settle so many ties
        for queries, words in ((Cloud(repeats, n, 4, 1000), "others there"), (others, "uniform others")):
            yield query_row(f"{label} in {n // 1000} places, {words}", many_copies, queries)
    few, few_others = Cloud(uniform, n // 100, 3, 12), Cloud(uniform, n // 100, 3, 13)
    yield query_row(f"{n // 100}, {n // 100} others", few, few_others, peers=("cupy",))
    wide, wide_others = Cloud(uniform_float64, n), Cloud(uniform_float64, n, 1)
    yield build_row(f"{label} float64", wide)
    for k in (1, 8, 32):
        yield query_row(f"{label} float64, {label} others", wide, wide_others, k)
    for m in (2, 4, 5, 6):
        yield query_row(f"{label} m={m}, {label} others", Cloud(uniform, n, m, 8), Cloud(uniform, n, m, 9))
    some = n // 10
    for m in (2, 8, 16, 64):
        work = f"{label} m={m}, {some // 1000}k others"
        peers = {2: ("cupy",), 8: ("cupy", "top_k")}.get(m, ("top_k",))  # CuPy takes a minute with m=16
        yield query_row(work, Cloud(uniform, n, m, 8), Cloud(uniform, some, m, 9), peers=peers)
    for size in (n // 100, n // 10, n, 10 * n):
        cloud = Cloud(uniform, size, 3, 11)
        peers = ("cupy", "scipy") if size <= 2e6 else ("cupy",)
        yield query_row(f"{size} points, {label} others", cloud, others, peers=peers)
    large = Cloud(uniform, 10 * n, 3, 10)
    ten = f"{n // 100_000}M" if GPU else "100k"
    yield build_row(ten, large, lambda: large.peers.build())
    for k in (8, 32):
        yield query_row(f"{ten} build + every point", large, large, k, peers=["jztree"])


def measure(row):
    """Return a row's cells, and print them."""
    first, median, new, flight, moved = None, None, None, None, None
    try:
        x = row.varied.points
        first, median = clock(lambda: row.call(x))
        fresh = Fresh(x)
        new = clock(lambda: row.call(fresh()))[1]
        if median < IN_FLIGHT:
            flight = round(median_us(lambda: row.call(x), rounds=5, calls=8) / 1e3, 3)
        if GPU:
            held = bytes_of(*{id(each): each for each in (row.cloud.points, x)}.values())
            moved = round((held + bytes_of(*jax.tree.leaves(row.call(x)))) / copied_a_ms(), 3)
        engine = row.cloud.tree.engine
    except Exception as error:
        engine = f"{type(error).__name__}: {str(error)[:200]}"
    cells = {"work": row.work, "engine": engine, "jaxapi": median, "new": new}
    cells |= {"flight": flight, "moved": moved, "first": first}
    cells |= row.peers()
    print(
        LINE.format(*(str(cells[name]) if cells.get(name) is not None else "-" for name in FIELDS)),
        flush=True,
    )
    return cells


def add_memory(rows):
    """Add the most device memory, in MB, that each row's data, tree and call hold in a process of its own."""

    def measured(work):
        command = [sys.executable, __file__, "--memory-of", work]
        done = subprocess.run(command, capture_output=True, text=True)
        return int(done.stdout.split()[-1]) if done.returncode == 0 else done.stderr[-200:]

    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        for row, megabytes in zip(rows, pool.map(measured, [row["work"] for row in rows]), strict=True):
            row["MB"] = megabytes
            print(f"{row['work']:46} {megabytes:>8} MB")


def print_memory(work):
    """Run one row once and print the most device memory it held, in MB."""
    row = next(row for row in table() if row.work == work)
    jax.block_until_ready(row.call(row.varied.points))
    print(round(jax.devices()[0].memory_stats()["peak_bytes_in_use"] / 1e6))


def main():
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="rows whose names this regular expression matches")
    parser.add_argument("--json", help="write the rows to this file, too")
    parser.add_argument("--no-memory", action="store_true", help="leave out the device memory of each row")
    parser.add_argument("--memory-of", help="print the most device memory, in MB, of the row of this name")
    options = parser.parse_args()
    if options.memory_of:
        return print_memory(options.memory_of)
    machine = jax.devices()[0].device_kind if GPU else f"{platform.machine()} with {os.cpu_count()} cores"
    versions = f"jax {jax.__version__}, Python {platform.python_version()}"
    print(f"{machine}, {versions}; ms, but 'first' (with compilation) in s")
    print(LINE.format(*FIELDS))
    rows = []
    try:
        for row in table():
            if re.search(options.only, row.work):
                rows.append(measure(row))
        if GPU and not options.no_memory:
            add_memory(rows)
    finally:
        keep(options.json, rows)


if __name__ == "__main__":
    main()
