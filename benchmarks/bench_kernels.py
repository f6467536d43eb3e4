"""The CUDA engine's kernels alone, launched by CUDA's driver: their times, and what tools can look into.

    python benchmarks/bench_kernels.py [k=1 k=8 k=32 counts build ...] [--points 1000000] [--check]
    ncu --metrics smsp__inst_executed.sum,dram__bytes.sum python benchmarks/bench_kernels.py k=8
    compute-sanitizer --tool racecheck python benchmarks/bench_kernels.py --check

JAX does everything else on the CPU, and every array has memory of its own on the GPU, so that a profiler sees
the kernels and nothing but them, and a checker every access beyond an array. Figures are the medians of
single launches by events, in us. `--check` runs every kind of kernel once, on small clouds with copies and
NaN.
"""

import argparse
import contextlib
import ctypes
import os
import statistics
from functools import partial

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np

from jaxapi.spatial._cuda import _build, _compile, _finite, _launch, _nearest, _radius
from jaxapi.spatial._cuda._launch import Kernel
from jaxapi.spatial._structure._build import padded_size
from jaxapi.spatial._structure._queries import own_queries

NEIGHBOURS = {"counts": 4, "counts50": 50, "fill": 4, "fill50": 50}


class Gpu:
    """One GPU, by the driver; a kernel's arrays live as long as its launch."""

    def __init__(self, repeats: int):
        from cuda.bindings import driver

        self.driver, self.repeats = driver, repeats
        self._checked(driver.cuInit(0))
        device = self._checked(driver.cuDeviceGet(0))
        self._checked(driver.cuCtxSetCurrent(self._checked(driver.cuDevicePrimaryCtxRetain(device))))
        names = "COMPUTE_CAPABILITY_MAJOR", "COMPUTE_CAPABILITY_MINOR"
        kinds = [getattr(driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}") for name in names]
        self.architecture = "".join(str(self._checked(driver.cuDeviceGetAttribute(k, device))) for k in kinds)
        self.start, self.end = (self._checked(driver.cuEventCreate(0)) for _ in range(2))
        self.kernels, self.times = {}, {}

    def __call__(self, kernel: Kernel, blocks: int, threads: int, inputs, outputs, aliases):
        """Do what `_launch.custom_call` does, here and now; keep the median time of a few launches."""
        inputs = [np.asarray(each) for each in inputs]
        outputs = [np.empty(each.shape, each.dtype) for each in outputs]
        with self._held([*inputs, *outputs]) as places:
            arguments = [*places[: len(inputs)], *places[len(inputs) :]]
            for one, other in aliases.items():
                arguments[len(inputs) + other] = places[one]
            values = [ctypes.c_void_p(place) for place in arguments]
            times = []
            for _ in range(self.repeats):
                for one, place in enumerate(places[: len(inputs)]):  # what is changed in place, too
                    self._sent(place, inputs[one])
                times.append(self.launched(kernel, blocks, threads, values))
            for place, output in zip(arguments[len(inputs) :], outputs, strict=True):
                if output.nbytes:
                    self._checked(self.driver.cuMemcpyDtoH(output.ctypes.data, place, output.nbytes))
        self.times.setdefault(kernel.name, []).append(statistics.median(times))
        return [jnp.asarray(each) for each in outputs]

    def launched(self, kernel: Kernel, blocks: int, threads: int, values) -> float:
        """Launch a kernel on arguments; return how many us it took."""
        pointers = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
        where, driver = ctypes.addressof(pointers), self.driver
        self._checked(driver.cuEventRecord(self.start, 0))
        grid = blocks, 1, 1, threads, 1, 1
        self._checked(driver.cuLaunchKernel(self._loaded(kernel), *grid, 0, 0, where, 0))
        self._checked(driver.cuEventRecord(self.end, 0))
        self._checked(driver.cuEventSynchronize(self.end))
        return 1e3 * self._checked(driver.cuEventElapsedTime(self.start, self.end))

    def all_finite(self, x: np.ndarray) -> bool:
        """Do what `_finite.SideStream` does."""
        kernel, found = Kernel.of("not_finite", m=1, dtype=x.dtype), np.zeros(1, np.int32)
        with self._held([x, found]) as (place, answer):
            values = ctypes.c_void_p(place), ctypes.c_longlong(x.size), ctypes.c_void_p(answer)
            self._sent(place, x)
            self._sent(answer, found)
            blocks = -(-x.size // (_finite.THREADS * _finite.EACH))
            times = [self.launched(kernel, blocks, _finite.THREADS, values) for _ in range(self.repeats)]
            self._checked(self.driver.cuMemcpyDtoH(found.ctypes.data, answer, found.nbytes))
        self.times.setdefault(kernel.name, []).append(statistics.median(times))
        return not found[0]

    def _loaded(self, kernel):
        if kernel not in self.kernels:
            ptx = _compile.compiled(kernel.name, self.architecture, kernel.macros)
            module = self._checked(self.driver.cuModuleLoadData(ptx.encode() + b"\0"))
            self.kernels[kernel] = self._checked(
                self.driver.cuModuleGetFunction(module, kernel.name.encode())
            )
        return self.kernels[kernel]

    @contextlib.contextmanager
    def _held(self, arrays):
        """Hold memory of the size of each array; 0 for an empty one."""
        places = []
        try:
            for each in arrays:
                size = each.nbytes
                places.append(int(self._checked(self.driver.cuMemAlloc(size))) if size else 0)
            yield places
        finally:
            for place in filter(None, places):
                self._checked(self.driver.cuMemFree(place))

    def _sent(self, place, array):
        if array.nbytes:
            array = np.ascontiguousarray(array)
            self._checked(self.driver.cuMemcpyHtoD(place, array.ctypes.data, array.nbytes))

    @staticmethod
    def _checked(answer):
        error, *values = answer
        if int(error):
            raise RuntimeError(f"CUDA's driver answers {error!r}")
        return values[0] if len(values) == 1 else values


def tree_of(points, leaf_size=_build.LEAF_SIZE, size=None):
    """Build a tree as a public call does, of points padded to a size that many share."""
    n = len(points)
    padded = np.zeros((size or padded_size(n), points.shape[1]), points.dtype)
    padded[:n] = points
    return _build._tree(padded, jnp.int32(n), None, leaf_size)


def nearest(tree, x, k, p=2.0, box=None):
    """Search for queries from outside; for the tree's own points without."""
    dtype = tree.points.dtype
    bound, eps = jnp.asarray(np.inf, dtype), jnp.asarray(0, dtype)
    if x is None:
        return _nearest.nearest_of_all(tree, bound, eps, box, lines=int(tree.n), k=k, p=p)
    return _nearest._nearest(tree, jnp.asarray(x), bound, eps, box, k=k, p=p, rooted=True)


def within(tree, x, neighbours, volume=1.0, then=("fill",)):
    """Count the neighbours within the radius that gives so many, and list them."""
    radius = (3 * volume * neighbours / (4 * np.pi * int(tree.n))) ** (1 / 3)
    radius = jnp.full(len(x), radius, tree.points.dtype)
    queries, order = _radius.ordered_queries(tree, jnp.asarray(x), radius, None, p=2.0)
    counts = _radius.count(tree, queries, order, None, p=2.0, relation="any")
    if "fill" in then:
        offsets = jnp.concatenate([jnp.zeros(1, jnp.int32), jnp.cumsum(counts)])
        size = int(offsets[-1])
        _radius.fill(tree, queries, order, offsets, None, size=size, p=2.0, relation="any")
    if "lines" in then:
        _radius.fill_lines(tree, queries, order, None, limit=40, p=2.0)
    if "bins" in then:
        radii = jnp.asarray([0.01, 0.05, 0.2], tree.points.dtype)
        _radius.bin_counts(tree, queries, radii, jnp.ones(tree.rows.shape, jnp.int32), None, p=2.0)
    if "own" in then:
        own = own_queries(tree, radius[0], p=2.0)
        counts = _radius.count(tree, own, tree.rows, None, p=2.0, relation="later")
        offsets = jnp.concatenate([jnp.zeros(1, jnp.int32), jnp.cumsum(counts)])
        _radius.fill_pairs(tree, own, offsets, None, size=int(offsets[-1]), p=2.0)


def nasty(n, m, dtype, seed):
    """Return points of which half are copies, and some not finite."""
    rng = np.random.default_rng(seed)
    x = rng.random((n, m)).astype(dtype)
    x[rng.random(n) < 0.5] = x[7]
    x[rng.integers(0, n, 3), 0] = np.nan, np.inf, -np.inf
    return x


def check(gpu, n):
    """Run every kind of kernel once, those for many queries too."""
    _nearest.ORDERED_FROM = 0
    by_packets, _nearest.by_packets = _nearest.by_packets, lambda k, m, count: k <= 32 and m <= 4
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
            gpu.all_finite(x), gpu.all_finite(y[7:8])
            # leaves of 8 and of 24 slots: some levels by sorts, or all by one block
            tree = tree_of(x, leaf_size=(6, 16)[i % 2], size=n * 4 // 3)
            for k in (1, 8, 20, 32) if m == 3 else (8,):
                nearest(tree, y, k)
            nearest(tree, None, 8)
            if m == 3:
                nearest(tree, y, 8, p=np.inf, box=jnp.ones(3, dtype))
                nearest(tree, y, 100)
                within(tree, np.nan_to_num(y, posinf=9, neginf=-9), 20, then=("fill", "lines", "bins", "own"))
    _nearest.by_packets = lambda k, m, count: False
    nearest(tree_of(nasty(n, 3, np.float32, 5)), nasty(n // 3, 3, np.float32, 6), 8)
    _nearest.by_packets = by_packets


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
        gpu = Gpu(1 if options.check else options.repeats)
    except (ImportError, RuntimeError) as error:
        return print(f"no NVIDIA GPU: {error}")
    _launch.custom_call, _launch.architecture = gpu, lambda: gpu.architecture
    if options.check:
        check(gpu, min(options.points, 3000))
        return print("checked", sorted(gpu.times))
    x, y = (np.random.default_rng(seed).random((options.points, 3), dtype=np.float32) for seed in (0, 1))
    tree = tree_of(x)
    works = {"build": lambda: tree_of(x), "finite": lambda: gpu.all_finite(x)}
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
