"""Memory of a process that calls every method of KDTree again and again, with other sizes at each call.

    python benchmarks/bench_kdtree_memory.py [--calls 10000]

Eagerly every size changes: points, queries, neighbours. Under jit values change, since a shape is a program.
The resident memory of the process stands next to the number of calls; after the first thousand it is to stay
where it is.
"""

import argparse
import gc
import os
import resource

import jax
import jax.numpy as jnp
import numpy as np

from jaxapi.spatial import KDTree


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


def main():
    """Print the memory as the calls go on."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--calls", type=int, default=10_000)
    options = parser.parse_args()
    print(f"jax {jax.__version__}, {jax.devices()[0].device_kind}, process {os.getpid()}")
    for name, calls in (("eager", eager_calls), ("jit", jitted_calls)):
        rng, done, told = np.random.default_rng(0), 0, 0
        while done < options.calls:
            for result in calls(rng):
                jax.block_until_ready(result)
                done += 1
            if done >= told:
                gc.collect()
                print(f"{name:6} {done:6} calls {resident():8.1f} MB", flush=True)
                told += max(options.calls // 10, 1)


if __name__ == "__main__":
    main()
