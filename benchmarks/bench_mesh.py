"""KDTree over a mesh of all GPUs, against one GPU with as many points each, and jztree where it is installed.

    python benchmarks/bench_mesh.py [--points 1e6 1e7] [--only every ...] [--k 8 16] [--json FILE]
    python benchmarks/bench_mesh.py --process 0 --of 2 &  python benchmarks/bench_mesh.py --process 1 --of 2

Each figure is the median time of whole public calls in ms, build included where the row says so, checks
and synchronisation included, on float32 points in three dimensions. Without GPUs eight simulated CPU devices
run few points, which shows that everything works and nothing else. With `--process` each process has one
GPU, and figures of one GPU alone are left out. `--only memory` measures the peak of device memory: of this
process, so that it is a run of its own, and one more with `--order input`. `--only largest` builds and
searches once, in the trees' order.
"""

import argparse
import itertools
import json
import os
import statistics
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from jaxapi.spatial import KDTree

ALL = ["every", "clusters", "fractal", "others", "counts", "friends"]
RUNS = 9
RESULTS = []


def arguments():
    """Return what is asked for, and start this process among others if there are any."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=float, nargs="*")
    parser.add_argument("--only", nargs="*", default=ALL)
    parser.add_argument("--k", type=int, nargs="*", default=[8])
    parser.add_argument("--one-device", action="store_true", help="measure the memory of one device")
    parser.add_argument("--order", default="tree", help="measure the memory of results in this order")
    parser.add_argument("--process", type=int)
    parser.add_argument("--of", type=int, default=1)
    parser.add_argument("--json")
    given = parser.parse_args()
    if given.process is None:
        jax.config.update("jax_num_cpu_devices", 8)
    else:
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        jax.distributed.initialize("127.0.0.1:12753", given.of, given.process, local_device_ids=given.process)
    return given


GIVEN = arguments()
MESH = jax.make_mesh((len(jax.devices()),), ("d",), axis_types=(AxisType.Auto,))
SPREAD = NamedSharding(MESH, PartitionSpec("d"))
SIZE = MESH.size
ALONE = GIVEN.of == 1
FIRST = not GIVEN.process  # the process that prints


def clock(call):
    """Return (first call in s, median of the others in ms): as many in all processes."""
    start = time.perf_counter()
    jax.block_until_ready(call())
    first = time.perf_counter() - start
    times = []
    for _ in range(RUNS):
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
    if not FIRST:
        return
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


def fractal(rows, sharding, seed=0):
    """Return points of Sierpinski's tetrahedron, which has two dimensions: big holes and dense corners."""
    corners = np.float32([[0, 0, 0], [1, 1, 0], [1, 0, 1], [0, 1, 1]])

    def make(key):
        def level(x, key):
            return (x + jax.numpy.asarray(corners)[jax.random.randint(key, (rows,), 0, 4)]) / 2, None

        start, *keys = jax.random.split(key, 23)
        return jax.lax.scan(level, jax.random.uniform(start, (rows, 3)), jax.numpy.stack(keys))[0]

    return jax.jit(make, out_shardings=sharding)(jax.random.key(seed))


def every(points, k, cloud, name):
    """Every point's neighbours among all, build included."""
    work = f"build, every point's k={k}, {name}"
    if ALONE:
        x = cloud(points, jax.sharding.SingleDeviceSharding(jax.devices()[0]))
        report(work, points, "one device with n points", lambda: KDTree(x).query(x, k))
        del x
    x = cloud(points * SIZE, SPREAD)

    def search(order):
        tree = KDTree(x)
        return tree.query(tree.data, k, order=order)

    report(work, points, f"{SIZE} devices, own order", lambda: search("tree"))
    report(work, points, f"{SIZE} devices, input order", lambda: search("input"))
    report(work, points, f"{SIZE} devices, build alone", lambda: KDTree(x)._cloud.built_tree())


def others(points):
    """A tenth as many other queries, from everywhere and from one corner; the tree is there."""
    count = max(points // 10, 8)
    if ALONE:
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
    count = lambda radius: tree.query_ball_point(x, radius, return_length=True)  # noqa: E731
    if ALONE:
        one = jax.sharding.SingleDeviceSharding(jax.devices()[0])
        tree, x = KDTree(uniform(points, one)), uniform(points, one, 1)
        report("counts, 50 neighbours", points, "one device with n points", lambda: count(radius))
    tree, x = KDTree(uniform(points * SIZE, SPREAD)), uniform(points * SIZE, SPREAD, 1)
    radius /= SIZE ** (1 / 3)
    report("counts, 50 neighbours", points, f"{SIZE} devices", lambda: count(radius))


def friends(points):
    """Components and DBSCAN at a fifth of the mean separation, build included."""
    one, shapes = jax.sharding.SingleDeviceSharding(jax.devices()[0]), (uniform, clusters, fractal)
    for cloud, (count, where) in itertools.product(shapes, [(1, one)] * ALONE + [(SIZE, SPREAD)]):
        x, r = cloud(points * count, where), 0.2 / (points * count) ** (1 / 3)
        for name in "connected_components", "dbscan":
            search = lambda x=x, r=r, name=name: getattr(KDTree(x), name)(r)  # noqa: E731
            report(f"build, {name}, {cloud.__name__}", points, f"{count} devices", search)


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


def largest(points):
    """As many points as there is room for: one build and search, and another one that is timed."""
    x = uniform(points * SIZE, SPREAD)
    for _ in range(2):
        start = time.perf_counter()
        tree = KDTree(x)
        jax.block_until_ready(tree._cloud.built_tree())
        built = time.perf_counter()
        jax.block_until_ready(tree.query(tree.data, 8, order="tree"))
        end = time.perf_counter()
        del tree
    if FIRST:
        print(f"{points * SIZE:,} points: built in {built - start:.3f} s, searched in {end - built:.3f} s")
        print(f"peak of memory, {points:,} points a device: {peak():,} bytes", flush=True)
    RESULTS.append({"work": "largest", "points": points, "s": [built - start, end - built], "bytes": peak()})


def memory(points, spread, order):
    """The peak of device memory of one build and search of every point."""
    x = uniform(points * (SIZE if spread else 1), SPREAD if spread else None)
    tree = KDTree(x)
    jax.block_until_ready(tree.query(tree.data, 8, order=order if spread else "input"))
    RESULTS.append({"work": "memory", "points": points, "who": spread and order, "bytes": peak()})
    who = f"mesh, {order} order" if spread else "one device"
    print(f"peak of memory, {points:,} points a device, {who}: {peak():,} bytes")


def peak():
    """Return the most bytes in use on a device of this process so far."""
    return max((device.memory_stats() or {}).get("peak_bytes_in_use", 0) for device in jax.local_devices())


def main():
    """Run what is asked for."""
    gpu = jax.default_backend() == "gpu"
    if FIRST:
        processes = f", {GIVEN.of} processes" if GIVEN.of > 1 else ""
        print(f"jax {jax.__version__}, {SIZE} x {jax.devices()[0].device_kind}{processes}")
    clouds = {"every": uniform, "clusters": clusters, "fractal": fractal}
    for points in map(int, GIVEN.points or ([1e6, 1e7] if gpu else [64])):
        for k in GIVEN.k:
            for name, cloud in clouds.items():
                if name in GIVEN.only:
                    every(points, k, cloud, cloud.__name__)
            if "jztree" in GIVEN.only:
                try:
                    jztree(points, k)
                except Exception as error:
                    print(f"jztree: {type(error).__name__}: {str(error)[:200]}")
        for name, work in {
            "others": others,
            "counts": counts,
            "friends": friends,
            "largest": largest,
        }.items():
            if name in GIVEN.only:
                work(points)
        if "memory" in GIVEN.only:
            memory(points, not GIVEN.one_device, GIVEN.order)
        if GIVEN.json and FIRST:
            with open(GIVEN.json, "w") as file:
                json.dump(RESULTS, file, indent=1)


if __name__ == "__main__":
    main()
