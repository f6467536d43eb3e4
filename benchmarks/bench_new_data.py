"""KDTree as programs call it: other points, other queries and other sizes at each call.

    python benchmarks/bench_new_data.py [--points 1000000] [--lengths 3000 100000] [--json FILE]
                                        [--methods "query, k=4" kneighbors] [--memory 10000]

Each work is timed on the same data again and again, on the same after the host has made other data, which
takes its caches, and on points and queries that no call has seen, whose trees are built before the clock
starts; --points 0 leaves these out.

Then calls 1 to 7 of a length that no call has seen, build included: the first row of a method is of a size
that it is padded to for the first time, the second of another length of that size. `other lengths` is the
median of calls of a length each, `warm` that of calls of a tree that is built.

At last the resident memory of the process while it calls every method again and again, so many calls as
`--memory` says. Eagerly every size changes: points, queries, neighbours; under jit values change, since a
shape is a program. After the first tenth of the calls it is to stay where it is.
"""

import argparse
import gc
import math
import os
import resource
import time

import jax
import jax.numpy as jnp
import numpy as np
from timing import keep

from jaxapi.spatial import KDTree

LENGTHS = 300, 1_000, 3_000, 10_000, 30_000, 100_000, 1_000_000
CALLS = 7


def milliseconds(call, *arguments):
    """Return the time of one call whose arguments are ready."""
    jax.block_until_ready(arguments)
    start = time.perf_counter()
    jax.block_until_ready(call(*arguments))
    return 1e3 * (time.perf_counter() - start)


def cloud(rng, n):
    """Return n points of the unit cube on JAX's default device."""
    return jnp.asarray(rng.random((n, 3), dtype=np.float32))


def seen_and_new(call, rng, n):
    """Return the median times of ``call(tree, x)``: the same data, the same amid host work, other data."""
    tree, x = KDTree(cloud(rng, n)), cloud(rng, n)
    for _ in range(CALLS):  # a GPU takes some long calls until its clock is steady
        jax.block_until_ready(call(tree, x))
    seen = [milliseconds(call, tree, x) for _ in range(CALLS)]
    amid, new = [], []
    for _ in range(CALLS):
        jax.block_until_ready((cloud(rng, n), cloud(rng, n)))
        amid.append(milliseconds(call, tree, x))
    for _ in range(CALLS):
        tree, x = KDTree(cloud(rng, n)), cloud(rng, n)
        jax.block_until_ready(tree.query(x[:1000]))  # so that the tree is built
        new.append(milliseconds(call, tree, x))
    return tuple(float(np.median(times)) for times in (seen, amid, new))


def of_new_length(call, rng, n):
    """Return the times of seven calls with n points and queries each, the trees' builds included."""
    return [of_length(call, rng, n) for _ in range(CALLS)]


def of_length(call, rng, n):
    """Return the time of a call with n points and queries, the tree's build included."""
    return milliseconds(lambda points, x: call(KDTree(points), x), cloud(rng, n), cloud(rng, n))


def warm(call, rng, n):
    """Return the median time of a call of a tree that is built."""
    tree, x = KDTree(cloud(rng, n)), cloud(rng, n)
    return float(np.median([milliseconds(call, tree, x) for _ in range(3 * CALLS)]))


def works(n):
    """Return the calls that are timed, by name; radii give 4 and 24 neighbours on average."""
    four, many = ((wanted / n * 3 / 4 / math.pi) ** (1 / 3) for wanted in (4, 24))
    return {
        "query, k=1": lambda tree, x: tree.query(x),
        "query, k=8": lambda tree, x: tree.query(x, k=8),
        "query_radius, CSR, 4 neighbours": lambda tree, x: tree.query_radius(x, four)[:3],
        "radius_graph, 4 neighbours": lambda tree, x: tree.radius_graph(four)[:3],
        "query_pairs, 24 neighbours": lambda tree, x: tree.query_pairs(many, output_type="ndarray"),
    }


def methods(n):
    """Return calls of every method that returns arrays, by name; the radius gives 24 neighbours."""
    r = (24 / n * 3 / 4 / math.pi) ** (1 / 3)
    return {
        "query, k=4": lambda tree, x: tree.query(x, k=4),
        "query of the points, k=4": lambda tree, x: tree.query(tree.data, k=4),
        "kneighbors": lambda tree, x: tree.kneighbors(4),
        "knn_graph": lambda tree, x: tree.knn_graph(4)[:3],
        "query_radius, CSR": lambda tree, x: tree.query_radius(x, r)[:3],
        "query_radius, 32 at most": lambda tree, x: tree.query_radius(x, r, max_neighbors=32)[:3],
        "numbers of neighbours": lambda tree, x: tree.query_ball_point(x, r, return_length=True),
        "radius_graph": lambda tree, x: tree.radius_graph(r)[:3],
        "query_pairs": lambda tree, x: tree.query_pairs(r, output_type="ndarray"),
        "count_neighbors": lambda tree, x: tree.count_neighbors(tree, [r / 2, r]),
        "displacements": lambda tree, x: tree.displacements(x, tree.query(x, k=4)[1]),
    }


def eager_calls(rng):
    """Call every method once, each for points and queries of other numbers."""

    def cloud():
        return rng.random((rng.integers(20, 3000), 3), dtype=np.float32)

    def tree():
        return KDTree(cloud())

    near = tree().query_radius(cloud(), 0.1)
    yield near.receivers
    yield tree().query(cloud(), k=int(rng.integers(1, 9)))
    yield tree().query(cloud()[0])
    yield tree().query_radius(cloud(), 0.1, max_neighbors=int(rng.integers(1, 20)))
    yield tree().query_ball_point(cloud(), 0.05)
    yield tree().query_ball_point(cloud(), 0.05, return_length=True)
    yield tree().query_pairs(0.04)
    yield tree().query_pairs(0.04, output_type="ndarray")
    yield tree().query_ball_tree(tree(), 0.05)
    yield tree().count_neighbors(tree(), [0.1, 0.2])
    yield tree().sparse_distance_matrix(tree(), 0.05)
    yield tree().kneighbors(3)
    yield tree().knn_graph(2).senders
    yield tree().radius_graph(0.05).senders


def jitted_calls(rng):
    """Call what works under jit, for other points each time."""
    points, x = (jnp.asarray(rng.random((count, 3), dtype=np.float32)) for count in (300, 100))
    yield _jitted(points, x, np.float32(rng.uniform(0.05, 0.15)))


@jax.jit
def _jitted(points, x, r):
    tree = KDTree(points)
    fixed = tree.query_radius(x, r, max_neighbors=8)
    graph, pairs = tree.radius_graph(r, max_edges=500), tree.query_pairs(r, max_pairs=300)
    return tree.query(x, k=4), fixed, graph, pairs, tree.count_neighbors(tree, r), tree.kneighbors(2)


def resident() -> float:
    """Return the resident memory in MB."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 1e6


def print_memory(call_count):
    """Print the memory as the calls go on."""
    print(f"process {os.getpid()}")
    for name, calls in (("eager", eager_calls), ("jit", jitted_calls)):
        rng, done, told = np.random.default_rng(0), 0, 0
        while done < call_count:
            for result in calls(rng):
                jax.block_until_ready(result)
                done += 1
            if done >= told:
                gc.collect()
                print(f"{name:6} {done:6} calls {resident():8.1f} MB", flush=True)
                told += max(call_count // 10, 1)


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--lengths", type=int, nargs="*", default=LENGTHS)
    parser.add_argument("--methods", nargs="*", help="their names, all by default")
    parser.add_argument("--memory", type=int, default=10_000, metavar="CALLS", help="0: leave it out")
    parser.add_argument("--json", help="write the figures to this file, too")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    print(f"JAX {jax.__version__}, {jax.devices()[0].device_kind}")
    rows = []
    if options.points:
        print(f"{options.points} points and queries")
        print(f"{'ms':34} {'same data':>10} {'host work':>10} {'new data':>10}")
    for name, call in works(options.points).items() if options.points else ():
        times = seen_and_new(call, rng, options.points)
        print("{:34} {:10.2f} {:10.2f} {:10.2f}".format(name, *times), flush=True)
        names = "same", "amid", "new"
        rows.append({"work": name, "points": options.points, **dict(zip(names, times, strict=True))})
    print(f"{'ms, build included':44} calls 1 to {CALLS}")
    for n in options.lengths:
        for number, (name, call) in enumerate(methods(n).items()):
            if options.methods and name not in options.methods:
                continue
            for extra in (0, 7):
                length = n + 13 * number + extra
                times = of_new_length(call, rng, length)
                text = " ".join(f"{time:8.2f}" for time in times)
                print(f"{name:25} {length:>9} points {text}", flush=True)
                rows.append({"work": name, "points": length, "calls": times})
            others = [of_length(call, rng, n + 13 * number + extra) for extra in range(8, 8 + CALLS)]
            median = float(np.median(others))
            warm_time = warm(call, rng, n)
            print(f"{name:25} other lengths {median:.2f}, at most {max(others):.2f}; warm {warm_time:.2f}")
            rows.append({"work": name, "points": n, "others": median, "warm": warm_time})
    keep(options.json, rows)
    if options.memory:
        print_memory(options.memory)


if __name__ == "__main__":
    main()
