"""The CUDA engine's kernels alone, launched by CUDA's driver: their times, and what tools can look into.

    python benchmarks/bench_kernels.py [k=1 k=8 k=32 counts build ...] [--points 1000000] [--check]
    ncu --metrics smsp__inst_executed.sum,dram__bytes.sum python benchmarks/bench_kernels.py k=8
    compute-sanitizer --tool racecheck python benchmarks/bench_kernels.py --check

JAX does everything else on the CPU, and every array has memory of its own on the GPU, so that a profiler sees
the kernels and nothing but them, and a checker every access beyond an array. Figures are the medians of
single launches by events, in us. `--check` runs every kind of kernel on small clouds with copies and NaN,
twice: the host gets results from memory that was filled before, and what a kernel leaves in memory that was
not, the next kernels read, so that initcheck sees who reads what nobody has written.
"""

import argparse
import ctypes
import os
import statistics
from functools import partial

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np

from jaxapi.spatial._engines._cuda import _build, _compile, _every, _launch, _nearest_by_cuda, _radius
from jaxapi.spatial._engines._cuda._launch import Kernel
from jaxapi.spatial._tree._build import flat, tree_size
from jaxapi.spatial._tree._metric import Measure, TreeMetric
from jaxapi.spatial._tree._queries import Limits, Relation, Written, own_queries

NEIGHBOURS = {"counts": 4, "counts50": 50, "fill": 4, "fill50": 50}


class Gpu:
    """One GPU, by the driver; a kernel's arrays live as long as its launch, but for those of `checks`."""

    def __init__(self, repeats: int, *, checks: bool = False):
        from cuda.bindings import driver

        self.driver, self.repeats, self.checks = driver, repeats, checks
        self._checked(driver.cuInit(0))
        device = self._checked(driver.cuDeviceGet(0))
        self._checked(driver.cuCtxSetCurrent(self._checked(driver.cuDevicePrimaryCtxRetain(device))))
        names = "COMPUTE_CAPABILITY_MAJOR", "COMPUTE_CAPABILITY_MINOR"
        kinds = [getattr(driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}") for name in names]
        self.architecture = "".join(str(self._checked(driver.cuDeviceGetAttribute(k, device))) for k in kinds)
        self.start, self.end = (self._checked(driver.cuEventCreate(0)) for _ in range(2))
        self.kernels, self.times, self.left = {}, {}, {}

    def __call__(self, kernel: Kernel, blocks: int, threads: int, inputs, outputs, aliases, items):
        """Do what `_launch.custom_call` does, here and now; keep the median time of a few launches."""
        arrays = [np.asarray(each) for each in inputs]
        results = [np.empty(each.shape, each.dtype) for each in outputs]
        sources = [self._memory(each.nbytes) for each in arrays]
        targets = [self._memory(each.nbytes) for each in results]
        for one, other in aliases.items():
            self._free(targets[other])
            targets[other] = sources[one]
        times = []
        for _ in range(self.repeats):
            for target, result in zip(targets, results, strict=True):
                self._fill(target, result.nbytes)
            for source, array in zip(sources, arrays, strict=True):  # what is changed in place, too
                self._send(source, array)
            times.append(self.launched(kernel, blocks, threads, [*sources, *targets]))
        for target, result in zip(targets, results, strict=True):
            self._fetch(result, target)
        for place in {*sources, *targets}:
            self._free(place)
        self.times.setdefault(kernel.name, []).append(statistics.median(times))
        made = [jnp.asarray(each) for each in results]
        if self.checks:
            self._once_more(kernel, blocks, threads, inputs, made, aliases)
        return made

    def _once_more(self, kernel, blocks, threads, inputs, made, aliases):
        """Launch a kernel on what others left, and leave what it makes in memory that is not filled."""
        sources = []
        for each in inputs:
            place, _ = self.left.get(id(each), (None, None))
            if place is None:
                array = np.asarray(each)
                place = self._memory(array.nbytes)
                self._send(place, array)
            sources.append(place)
        targets = {other: sources[one] for one, other in aliases.items()}
        targets = [targets[i] if i in targets else self._memory(each.nbytes) for i, each in enumerate(made)]
        self.launched(kernel, blocks, threads, [*sources, *targets])
        self.left |= {id(each): (place, each) for each, place in zip(made, targets, strict=True)}

    def launched(self, kernel: Kernel, blocks: int, threads: int, arguments) -> float:
        """Launch a kernel on places of memory and numbers; return how many us it took."""
        values = [ctypes.c_void_p(each) if isinstance(each, int) else each for each in arguments]
        pointers = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
        where, driver = ctypes.addressof(pointers), self.driver
        self._checked(driver.cuEventRecord(self.start, 0))
        grid = blocks, 1, 1, threads, 1, 1
        self._checked(driver.cuLaunchKernel(self._loaded(kernel), *grid, 0, 0, where, 0))
        self._checked(driver.cuEventRecord(self.end, 0))
        self._checked(driver.cuEventSynchronize(self.end))
        return 1e3 * self._checked(driver.cuEventElapsedTime(self.start, self.end))

    def _loaded(self, kernel):
        if kernel not in self.kernels:
            ptx = _compile.compiled(kernel.name, self.architecture, kernel.macros)
            module = self._checked(self.driver.cuModuleLoadData(ptx.encode() + b"\0"))
            self.kernels[kernel] = self._checked(
                self.driver.cuModuleGetFunction(module, kernel.name.encode())
            )
        return self.kernels[kernel]

    # --- memory; the place of no bytes is 0 -------------------------------------------------------------

    def _memory(self, size: int) -> int:
        return int(self._checked(self.driver.cuMemAlloc(size))) if size else 0

    def _free(self, place: int):
        if place:
            self._checked(self.driver.cuMemFree(place))

    def _fill(self, place: int, size: int):
        if size:
            self._checked(self.driver.cuMemsetD8(place, 0xFF, size))  # nan, or row -1

    def _send(self, place: int, array: np.ndarray):
        if array.nbytes:
            array = np.ascontiguousarray(array)
            self._checked(self.driver.cuMemcpyHtoD(place, array.ctypes.data, array.nbytes))

    def _fetch(self, array: np.ndarray, place: int):
        if array.nbytes:
            self._checked(self.driver.cuMemcpyDtoH(array.ctypes.data, place, array.nbytes))

    @staticmethod
    def _checked(answer):
        error, *values = answer
        if int(error):
            raise RuntimeError(f"CUDA's driver answers {error!r}")
        return values[0] if len(values) == 1 else values


def tree_of(points, leaf_size=_build.LEAF_SIZE, size=None):
    """Build a tree as a public call does, of points padded to a size that many share."""
    n = len(points)
    padded = np.zeros((size or tree_size(*points.shape), points.shape[1]), points.dtype)
    padded[:n] = points
    return _build._tree(padded, jnp.int32(n), None, leaf_size)


def nearest(tree, x, k, p=2.0, box=None):
    """Search for queries from outside; for the tree's own points without."""
    dtype = tree.points.dtype
    limits = Limits(jnp.asarray(np.inf, dtype), jnp.asarray(0, dtype))
    metric = TreeMetric(p, box)
    if x is None:
        return _nearest_by_cuda.nearest_of_all(tree, limits, metric, row_count=int(tree.n), k=k)
    return _nearest_by_cuda._nearest(tree, jnp.asarray(x), limits, metric, k=k, measure=Measure.DISTANCE)


def within(tree, x, neighbours, volume=1.0, then=("fill",)):
    """Count the neighbours within the radius that gives so many, and list them."""
    radius = (3 * volume * neighbours / (4 * np.pi * int(tree.n))) ** (1 / 3)
    radius = jnp.full(len(x), radius, tree.points.dtype)
    metric = TreeMetric(2.0)
    queries = _radius.ordered_queries(tree, jnp.asarray(x), radius, metric)
    counts = _radius.count(tree, queries, metric, relation=Relation.ANY)
    if "fill" in then:
        offsets = jnp.concatenate([jnp.zeros(1, jnp.int32), jnp.cumsum(counts)])
        size = int(offsets[-1])
        _radius.fill(tree, queries, offsets, metric, size=size, relation=Relation.ANY)
    if "rows" in then:
        _radius.fill_rows(tree, queries, metric, max_neighbors=40)
    if "bins" in then:
        radii = jnp.asarray([0.01, 0.05, 0.2], tree.points.dtype)
        _radius.bin_counts(tree, queries, radii, jnp.ones(tree.rows.shape, jnp.int32), metric)
    if "own" in then:
        own = own_queries(tree, radius[0], metric.p)
        counts = _radius.count(tree, own, metric, relation=Relation.LATER)
        offsets = jnp.concatenate([jnp.zeros(1, jnp.int32), jnp.cumsum(counts)])
        static = {"size": int(offsets[-1]), "relation": Relation.LATER, "written": Written.PAIRS}
        _radius.fill(tree, own, offsets, metric, **static)


def nasty(n, m, dtype, seed):
    """Return points of which half are copies, and some not finite."""
    rng = np.random.default_rng(seed)
    x = rng.random((n, m)).astype(dtype)
    x[rng.random(n) < 0.5] = x[7]
    x[rng.integers(0, n, 3), 0] = np.nan, np.inf, -np.inf
    return x


def check(gpu, n):
    """Run every kind of kernel once, those for many queries too."""
    _nearest_by_cuda.ORDERED_FROM = 0
    share_walks = _nearest_by_cuda.share_walks
    _nearest_by_cuda.share_walks = lambda k, m, count: k <= 32 and m <= 4
    kinds = (
        (1, np.float32),
        (2, np.float32),
        (3, np.float32),
        (3, np.float64),
        (5, np.float32),
        (16, np.float32),
    )
    for i, (m, dtype) in enumerate(kinds):
        with jax.enable_x64(dtype == np.float64):
            x, y = nasty(n, m, dtype, m), nasty(n // 3, m, dtype, m + 20)
            # leaves of 8 and of 24 slots: some levels by sorts, or all by one block
            tree = tree_of(x, leaf_size=(6, 16)[i % 2], size=n * 4 // 3)
            for k in (1, 8, 20, 32) if m == 3 else (8,):
                distances, _ = nearest(tree, y, k)
            _nearest_by_cuda.distances_in_units(tree, distances, TreeMetric(2.0))
            nearest(tree, None, 8)
            if m == 3:
                nearest(tree, y, 8, p=np.inf, box=jnp.ones(3, dtype))
                nearest(tree, y, 100)
                within(tree, np.nan_to_num(y, posinf=9, neginf=-9), 20, then=("fill", "rows", "bins", "own"))
    _nearest_by_cuda.share_walks = lambda k, m, count: False
    nearest(tree_of(nasty(n, 3, np.float32, 5)), nasty(n // 3, 3, np.float32, 6), 8)
    _nearest_by_cuda.share_walks = share_walks
    with jax.disable_jit():  # rounds of every distance, which else are a loop of XLA's
        x, y = nasty(n, 20, np.float32, 7), nasty(n // 3, 20, np.float32, 8)
        bound = jnp.float32(np.inf)
        _every.nearest(flat(x, n), jnp.asarray(y), bound, k=8, measure=Measure.DISTANCE)


def main():
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "work", nargs="*", default=["build", "k=1", "k=8", "k=32", "own=8", "counts", "fill50"]
    )
    parser.add_argument("--points", type=int, default=1_000_000, help="and as many queries, in 3-D")
    parser.add_argument("--repeats", type=int, default=5, help="launches of each kernel")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    try:
        gpu = Gpu(1 if options.check else options.repeats, checks=options.check)
    except (ImportError, RuntimeError) as error:
        return print(f"no NVIDIA GPU: {error}")
    _launch.custom_call, _launch.architecture = gpu, lambda: gpu.architecture
    if options.check:
        check(gpu, min(options.points, 3000))
        return print("checked", sorted(gpu.times))
    x, y = (np.random.default_rng(seed).random((options.points, 3), dtype=np.float32) for seed in (0, 1))
    tree = tree_of(x)
    works = {"build": lambda: tree_of(x)}
    for name in options.work:
        kind, _, k = name.partition("=")
        if k:
            works[name] = partial(nearest, tree, y if kind == "k" else None, int(k))
        elif kind in NEIGHBOURS:
            works[name] = partial(within, tree, y, NEIGHBOURS[kind], then=kind.rstrip("0123456789"))
    for name in options.work:
        gpu.times.clear()
        works[name]()
        for kernel, times in gpu.times.items():
            print(f"{name:8} {kernel:12} {' + '.join(f'{each:.0f}' for each in times)} us", flush=True)


if __name__ == "__main__":
    main()
