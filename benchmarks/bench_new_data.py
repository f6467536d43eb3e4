"""KDTree as programs call it: other points, other queries and other sizes at each call.

    python benchmarks/bench_new_data.py [--points 1000000] [--out FILE.json]

Each work is timed on the same data again and again, on the same after the host has made other data, which
takes its caches, and on points and queries that no call has seen, whose trees are built before the clock
starts. Then clouds of sizes that no call has seen: build and first search.
"""

import argparse
import json
import math
import time

import jax
import jax.numpy as jnp
import numpy as np

from jaxapi.spatial import KDTree

SIZES = 1_000, 1_500, 2_000, 3_000, 5_000, 7_000, 12_000, 20_000, 100_000, 150_000, 200_000
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
    for _ in range(CALLS):  # sizes that come again get programs of their own
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


def first_calls(rng, n):
    """Return the times of the build and of the first search of a cloud."""
    points = cloud(rng, n)
    tree = []
    build = milliseconds(lambda p: tree.append(KDTree(p)) or tree[0].indices, points)
    return build, milliseconds(lambda p: tree[0].query(p, k=8), points)


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


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--out", help="write the figures to this JSON file, too")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    print(f"JAX {jax.__version__}, {jax.devices()[0].device_kind}, {options.points} points and queries")
    print(f"{'ms':34} {'same data':>10} {'host work':>10} {'new data':>10}")
    figures = {}
    for name, call in works(options.points).items():
        figures[name] = seen_and_new(call, rng, options.points)
        print("{:34} {:10.2f} {:10.2f} {:10.2f}".format(name, *figures[name]), flush=True)
    print(f"{'ms':34} {'build':>10} {'first query':>11}")
    for n in SIZES:
        figures[f"{n} points"] = first_calls(rng, n)
        print("{:34} {:10.0f} {:11.0f}".format(f"{n} points", *figures[f"{n} points"]), flush=True)
    if options.out:
        with open(options.out, "w") as file:
            json.dump(figures, file, indent=1)


if __name__ == "__main__":
    main()
