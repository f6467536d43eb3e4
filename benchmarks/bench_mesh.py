"""KDTree over a mesh of all GPUs, beside one GPU with as many points each, and jztree where it is installed.

    python benchmarks/bench_mesh.py [--points 1e6 1e7] [--only every ...] [--json FILE]

Each figure is the median time of whole public calls in ms, build included where the row says so, checks
and synchronisation included, on float32 points in three dimensions. Without GPUs eight simulated CPU devices
run few points, which shows that everything works and nothing else. `--only memory` measures the peak of
device memory: of this process, so that it is a run of its own.
"""

import argparse
import json
import os
import statistics
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from jaxapi.spatial import KDTree

jax.config.update("jax_num_cpu_devices", 8)

BUDGET = 1.0  # seconds for one figure
MESH = jax.make_mesh((len(jax.devices()),), ("d",), axis_types=(AxisType.Auto,))
SPREAD = NamedSharding(MESH, PartitionSpec("d"))
SIZE = MESH.size
RESULTS = []


def clock(call):
    """Return (first call in s, median of the others in ms)."""
    start = time.perf_counter()
    jax.block_until_ready(call())
    first = time.perf_counter() - start
    times, began = [], time.perf_counter()
    while len(times) < 15 and (len(times) < 3 or time.perf_counter() - began < BUDGET):
        start = time.perf_counter()
        jax.block_until_ready(call())
        times.append(1e3 * (time.perf_counter() - start))
    return round(first, 1), round(statistics.median(times), 2)


def report(work, points, who, call):
    """Print a row and keep it; what is raised belongs in its cell."""
    try:
        first, median = clock(call)
    except Exception as error:
        first, median = None, f"{type(error).__name__}: {str(error)[:120]}"
    RESULTS.append({"work": work, "points": points, "who": who, "first_s": first, "ms": median})
    print(f"{work:44} {points:>11,} a GPU  {who:30} {median} (first {first} s)", flush=True)


def uniform(rows, sharding, seed=0):
    """Return random points made where they are to lie."""
    make = jax.jit(lambda key: jax.random.uniform(key, (rows, 3)), out_shardings=sharding)
    return make(jax.random.key(seed))


def clusters(rows, sharding, seed=0):
    """Return points in 64 clusters."""

    def make(key):
        which, where, middles = jax.random.split(key, 3)
        middle = jax.random.uniform(middles, (64, 3))[jax.random.randint(which, (rows,), 0, 64)]
        return middle + 0.005 * jax.random.normal(where, (rows, 3))

    return jax.jit(make, out_shardings=sharding)(jax.random.key(seed))


def every(points, k, cloud, name):
    """Every point's neighbours among all, build included."""
    work = f"build, every point's k={k}, {name}"
    one = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    x = cloud(points, one)
    report(work, points, "one device with n points", lambda: KDTree(x).query(x, k))
    del x
    x = cloud(points * SIZE, SPREAD)

    def search(order):
        tree = KDTree(x)
        return tree.query(tree.data, k, order=order)

    report(work, points, f"{SIZE} devices, own order", lambda: search("tree"))
    report(work, points, f"{SIZE} devices, input order", lambda: search("input"))
    report(work, points, f"{SIZE} devices, build alone", lambda: KDTree(x)._structure())


def others(points):
    """A tenth as many other queries, from everywhere and from one corner; the tree is there."""
    count = max(points // 10, 8)
    one = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    tree, x = KDTree(uniform(points, one)), uniform(count, one, 1)
    report("other queries, k=8", points, "one device with n points", lambda: tree.query(x, 8))
    tree, x = KDTree(uniform(points * SIZE, SPREAD)), uniform(count * SIZE, SPREAD, 1)
    report("other queries, k=8", points, f"{SIZE} devices", lambda: tree.query(x, 8))
    x = x / 16
    report("queries in a corner, k=8", points, f"{SIZE} devices", lambda: tree.query(x, 8))


def counts(points):
    """How many points lie in balls of 50 points."""
    radius = float((50 / (points * 4 / 3 * np.pi)) ** (1 / 3))
    one = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    tree, x = KDTree(uniform(points, one)), uniform(points, one, 1)
    count = lambda radius: tree.query_ball_point(x, radius, return_length=True)  # noqa: E731
    report("counts, 50 neighbours", points, "one device with n points", lambda: count(radius))
    tree, x = KDTree(uniform(points * SIZE, SPREAD)), uniform(points * SIZE, SPREAD, 1)
    radius /= SIZE ** (1 / 3)
    report("counts, 50 neighbours", points, f"{SIZE} devices", lambda: count(radius))


def jztree(points, k):
    """The same by jztree, with the room that it needs for points of other devices."""
    from jztree.knn import knn
    from jztree_utils.ics import uniform_particles

    work = f"build, every point's k={k}, uniform"
    part = uniform_particles.smap(MESH, jit=True)(points, npad=int(0.8 * points))
    run = knn.smap(MESH, jit=True)
    for order, result in ("z", "rad"), ("input", "rad_globalidx"):
        who = f"jztree on {SIZE}, {'own order, radii' if order == 'z' else 'input order, radii, rows'}"
        report(work, points, who, lambda o=order, r=result: run(part, k, output_order=o, result=r))


def memory(points, spread):
    """The peak of device memory of one build and search of every point."""
    x = uniform(points * (SIZE if spread else 1), SPREAD if spread else None)
    tree = KDTree(x)
    jax.block_until_ready(tree.query(tree.data, 8, order="tree" if spread else "input"))
    peak = max((device.memory_stats() or {}).get("peak_bytes_in_use", 0) for device in jax.devices())
    RESULTS.append({"work": "memory", "points": points, "who": spread, "bytes": peak})
    print(f"peak of memory, {points:,} points a device, {'mesh' if spread else 'one device'}: {peak:,} bytes")


def main():
    """Run what is asked for."""
    gpu = jax.default_backend() == "gpu"
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=float, nargs="*", default=[1e6, 1e7] if gpu else [64])
    parser.add_argument("--only", nargs="*", default=["every", "clusters", "others", "counts"])
    parser.add_argument("--k", type=int, nargs="*", default=[8])
    parser.add_argument("--one-device", action="store_true", help="measure the memory of one device")
    parser.add_argument("--json")
    given = parser.parse_args()
    print(f"jax {jax.__version__}, {SIZE} x {jax.devices()[0].device_kind}")
    for points in map(int, given.points):
        for k in given.k:
            if "every" in given.only:
                every(points, k, uniform, "uniform")
            if "clusters" in given.only:
                every(points, k, clusters, "clusters")
            if "jztree" in given.only:
                try:
                    jztree(points, k)
                except Exception as error:
                    print(f"jztree: {type(error).__name__}: {str(error)[:200]}")
        if "others" in given.only:
            others(points)
        if "counts" in given.only:
            counts(points)
        if "memory" in given.only:
            memory(points, not given.one_device)
        if given.json:
            with open(given.json, "w") as file:
                json.dump(RESULTS, file, indent=1)


if __name__ == "__main__":
    main()
