"""KDTree on the CPU beside SciPy: called alone, inside of `jit`, a few queries at a time, in dynamics.

    python benchmarks/bench_kdtree_cpu.py [points ...] [--parts searches calls ...] [--json FILE]

Calls take turns; the least of several rounds counts, in milliseconds of wall time. `searches` include the
build, SciPy works on all cores, and the first call of `jit` compiles; these rows go to the file. `calls` are
of trees that are built. `radius` has about ten neighbours a query, against SciPy's lists. `dimensions` are
many, where every distance by a product takes the place of a tree. `dynamics` are steps of a program of a few
atoms, beside the same with every pair by hand. `jaxkd` is beside that package inside of `jit`, if it is here.
"""

import argparse
import importlib.util
import itertools
import time
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import scipy.spatial
from timing import keep

import jaxapi as xp

KDTree = xp.spatial.KDTree
SciPyTree = scipy.spatial.KDTree


def least(calls, seconds=1.0):
    """Return the least times of calls that take turns, in ms."""
    times = [[] for _ in calls]
    end = time.perf_counter() + seconds * len(calls)
    while time.perf_counter() < end or len(times[0]) < 4:
        for call, own in zip(calls, times, strict=True):
            start = time.perf_counter()
            jax.block_until_ready(call())
            own.append((time.perf_counter() - start) * 1e3)
    return [min(own) for own in times]


def beside(work, ours, peer, name="SciPy", unit="ms"):
    """Print a line of two calls that take turns."""
    first, second = least([ours, peer])
    print(f"{work:52} {first:10.3f} {name} {second:10.3f} {unit}, ratio {first / second:6.2f}", flush=True)


# --- searches, the build included -----------------------------------------------------------------------


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


def searches(n, rng):
    """Print and return the rows of n points and queries."""
    rows = []
    shifts = itertools.count()  # other points at each call of `jit`, so that each builds its tree
    names = "SciPy", "eager", "ratio", "jit", "ratio", "first"
    print(f"{'points':>8} {'search':14}", *(f"{name:>{6 if name == 'ratio' else 9}}" for name in names))
    points, x = rng.random((2, n, 3)).astype(np.float32)
    r = (8 / (n * 4.19)) ** (1 / 3)  # 8 neighbours
    device = jax.device_put((points, x))
    for name, (ours, theirs) in SEARCHES.items():
        calls = [
            lambda theirs=theirs: theirs(SciPyTree(points), x, r),
            lambda ours=ours: ours(KDTree(device[0]), device[1], r),
        ]
        first = None
        if name != "within r, CSR":
            jitted = jax.jit(lambda s, p, x, ours=ours: ours(KDTree(p + 1e-6 * s), x, r))
            start = time.perf_counter()
            jax.block_until_ready(jitted(next(shifts), *device))
            first = (time.perf_counter() - start) * 1e3
            calls.append(lambda jitted=jitted: jitted(next(shifts), *device))
        scipys, eager, *inside = least(calls)
        line = f"{n:8} {name:14} {scipys:9.2f} {eager:9.2f} {eager / scipys:6.2f}"
        if inside:
            line += f" {inside[0]:9.2f} {inside[0] / scipys:6.2f} {first:9.0f}"
        print(line, flush=True)
        figures = {"scipy": scipys, "eager": eager, "jit": inside[0] if inside else None, "first": first}
        figures = {key: value and round(value, 2) for key, value in figures.items()}
        rows.append({"points": n, "work": name, **figures})
    return rows


# --- trees that are built -------------------------------------------------------------------------------


def calls(n, rng):
    """Print the times of searches for one point, and for a few, in one thread."""
    for dtype in (np.float32, np.float64):
        points = rng.random((n, 3)).astype(dtype)
        ours, peer = KDTree(points), SciPyTree(points)
        many = [lambda t=t, x=points[0]: [t.query(x) for _ in range(1000)] for t in (ours, peer)]
        beside(f"{np.dtype(dtype)}, {n} points, one query", *many, unit="us")
        for q, k in itertools.product((100, 1_000, 10_000), (1, 8)):
            x = rng.random((q, 3)).astype(dtype)
            pair = [lambda t=t, x=x, k=k: t.query(x, k=k) for t in (ours, peer)]
            beside(f"{np.dtype(dtype)}, {n} points, {q} queries, k={k}", *pair)
    grid = rng.integers(0, 40, (n, 3)).astype(float)
    ours, peer = KDTree(grid), SciPyTree(grid)
    beside(f"{n} whole numbers, ties, k=8", lambda: ours.query(grid, k=8), lambda: peer.query(grid, k=8))


def radius(n, rng):
    """Print the times of radius searches, against SciPy's lists."""
    points = rng.random((n, 3)).astype(np.float32)
    ours, peer = KDTree(points), SciPyTree(points)
    r = (10 / (n * 4.19)) ** (1 / 3)
    q = max(n // 5, 1)
    x = rng.random((q, 3)).astype(np.float32)
    radii = (r * rng.uniform(0.5, 1.3, q)).astype(np.float32)
    for name, bound, search in (
        ("lists", r, ours.query_ball_point),
        ("lists, a radius per point", radii, ours.query_ball_point),
        ("arrays", r, ours.query_radius),
        ("arrays, a radius per point", radii, ours.query_radius),
        ("arrays, sorted", r, partial(ours.query_radius, sort=True)),
        ("at most 32", r, partial(ours.query_radius, max_neighbors=32)),
        ("at most 32, a radius per point", radii, partial(ours.query_radius, max_neighbors=32)),
        ("at most 700", r, partial(ours.query_radius, max_neighbors=700)),
    ):
        pair = partial(search, x, bound), partial(peer.query_ball_point, x, bound)
        beside(f"{n} points, radius, {q} queries, {name}", *pair)
    pair = [partial(t.query_ball_point, x, r, return_length=True) for t in (ours, peer)]
    beside(f"{n} points, radius, {q} queries, numbers", *pair)


def dimensions(n, rng, q=500, k=8):
    """Print the times of every distance by a product beside SciPy's tree.

    Uniform points are the tree's worst case; points near a surface of three dimensions are an easy one.
    """
    for m in (17, 32, 64, 128):
        surface = rng.random((n + q, 3)) @ rng.standard_normal((3, m)) + 0.01 * rng.random((n + q, m))
        for kind, cloud in (("uniform", rng.random((n + q, m))), ("near a surface", surface)):
            points, x = np.split(cloud.astype(np.float32), [n])
            ours, peer = KDTree(points, engine="lax"), SciPyTree(points)
            pair = [lambda t=t, x=x: t.query(x, k=k) for t in (ours, peer)]
            beside(f"{n} points, m={m}, {q} queries, {kind}", *pair)


# --- programs -------------------------------------------------------------------------------------------

STEPS = 50
CUTOFF = 1.8


def force_by_graph(x, length):
    n = len(x)
    tree = KDTree(x, boxsize=length)
    graph = tree.radius_graph(CUTOFF, max_edges=60 * n, fill_value=0.0)
    vectors = tree.displacements(x[graph.receivers], graph.senders)
    pulls = jnp.exp(-graph.distances)[:, None] * vectors
    return -jax.ops.segment_sum(pulls, graph.receivers, n)


def force_by_hand(x, length):
    vectors = x[None] - x[:, None]
    vectors = vectors - jnp.round(vectors / length) * length
    squares = (vectors * vectors).sum(axis=-1)
    distances = jnp.sqrt(jnp.where(squares > 0, squares, 1.0))
    weights = jnp.where((squares > 0) & (distances <= CUTOFF), jnp.exp(-distances), 0.0)
    return -(weights[..., None] * vectors).sum(axis=1)


def dynamics(n, rng):
    """Print the time of a step of dynamics of n atoms."""
    length = (n / 0.8) ** (1 / 3)
    start = rng.uniform(0, length, (n, 3)).astype(np.float32), np.zeros((n, 3), np.float32)

    def simulation(force):
        def step(state, _):
            x, v = state
            v = v + 0.001 * force(x, length)
            return ((x + 0.001 * v) % length, v), None

        run = jax.jit(lambda x, v: jax.lax.scan(step, (x, v), length=STEPS)[0])
        return lambda: run(*start)

    both = [simulation(force) for force in (force_by_graph, force_by_hand)]
    beside(f"{n} atoms, {STEPS} steps of dynamics, radius_graph", *both, name="by hand")


def jaxkd(n, rng):
    """Print the times inside of jit beside jaxkd's."""
    if importlib.util.find_spec("jaxkd") is None:
        print("jaxkd is not installed: its rows are left out")
        return
    import jaxkd

    points, x = (jnp.asarray(rng.random((n, 3)), jnp.float32) for _ in range(2))
    peer = jaxkd.build_tree(points)
    tree = KDTree(points)
    for k in (1, 8, 32):
        search = jax.jit(lambda tree, x, k=k: tree.query(x, k=range(1, k + 1)))
        pair = partial(search, tree, x), partial(jaxkd.query_neighbors, peer, x, k=k)
        beside(f"{n} points under jit, k={k}", *pair, name="jaxkd")


PARTS = {
    "searches": (searches, (1_000, 10_000, 100_000)),
    "calls": (calls, (10_000,)),
    "radius": (radius, (100_000,)),
    "dimensions": (dimensions, (30_000,)),
    "dynamics": (dynamics, (64, 256, 1_000)),
    "jaxkd": (jaxkd, (100_000,)),
}


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("sizes", type=int, nargs="*", help="numbers of points; each part has its own")
    parser.add_argument("--parts", nargs="*", default=list(PARTS), choices=list(PARTS))
    parser.add_argument("--json", help="write the rows of `searches` to this file, too")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    rows = []
    with jax.default_device(jax.devices("cpu")[0]):
        for name in options.parts:
            part, sizes = PARTS[name]
            for n in options.sizes or sizes:
                rows += part(n, rng) or []
    keep(options.json, rows)


if __name__ == "__main__":
    main()
