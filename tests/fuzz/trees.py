"""Every KDTree method against SciPy and all distances by hand, on every engine, eager, jitted and vmapped."""

import time
from types import MappingProxyType

import cuda_host
import jax
import numpy as np
import pytest
import radius_engines
import scipy.spatial
from hypothesis import strategies as st
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from jaxapi.spatial import KDTree

from .clouds import EXACT, KINDS, distances, points
from .methods import METHODS
from .report import NoOracle

__all__ = ["check", "check_mesh"]

ON_GPU = jax.default_backend() == "gpu"
VALUES = 100  # sets of points and queries of a configuration
# XLA compiles the portable engine for minutes for a GPU, where "natural" is the CUDA engine.
MODES = ["natural", "jit", "vmap", *["lax", *["cuda"] * bool(cuda_host.compiler())] * (not ON_GPU)]
SIZES, DIMENSIONS, QUERIES = [1, 2, 13, 60, 300], [1, 2, 3, 6, 16, 17, 24], 7  # a tree up to 16 dimensions
SIZES_ON_GPU = [*SIZES, 400, 1500, 5000]  # where a size compiles little
ON_MESH, MESH = [24, 50], 4  # points, of which so many devices hold the same number or not


class Case:
    """Points, queries, distances, and how to search them."""

    def __init__(self, rng, kind, mode, p, box, n, m, q, dtype):
        self.rng, self.mode, self.p, self.exact = rng, mode, p, kind in EXACT
        self.points, self.queries = points(rng, kind, n, m, box), points(rng, kind, q, m, box)
        self.box, self.dtype = box, dtype
        self.apart = distances(self.queries, self.points, p, box)
        self.within = distances(self.points, self.points, p, box)
        self.eps = 4e-6 * (1000 if kind == "far" else 1) if dtype == "float32" else 1e-12

    def tree(self, of=None):
        """Return our tree of the points."""
        points = (self.points if of is None else of).astype(self.dtype)
        return KDTree(points, boxsize=self.box, sharding=spread() if self.mode == "mesh" else None)

    def scipy(self, of=None):
        """Return SciPy's."""
        return scipy.spatial.KDTree(self.points if of is None else of, boxsize=self.box)

    def search(self, method, *arrays, traced=MappingProxyType({}), **options):
        """Call a method whose results are arrays, transformed as the mode says; queries come first.

        Numbers in `traced` are arguments of the program, `options` belong to it.
        """
        arrays = [a if np.asarray(a).dtype.kind == "i" else np.asarray(a, self.dtype) for a in arrays]
        if self.mode in ("jit", "vmap"):
            return jax.tree.map(np.asarray, self.compiled(method, options)(self.tree(), arrays, dict(traced)))
        return jax.tree.map(np.asarray, getattr(self.tree(), method)(*arrays, **traced, **options))

    programs = None  # of a configuration: made once, compiled once

    def compiled(self, method, options):
        """Return the jitted method, vmapped over the queries, if the mode says so."""
        key = method, tuple(options.items())
        if key not in self.programs:

            def call(tree, arrays, traced):
                return getattr(tree, method)(*arrays, **traced, **options)

            def one_by_one(tree, arrays, traced):
                x, *others = arrays
                return jax.vmap(lambda x: call(tree, [x, *others], traced))(x)

            self.programs[key] = jax.jit(one_by_one if self.mode == "vmap" else call)
        return self.programs[key]


def spread():
    """Return how points lie on several devices: one part of them on each of the GPUs, or of the CPU's."""
    devices = jax.devices() if len(jax.devices()) > 1 else jax.devices("cpu")
    devices = devices[:MESH]
    mesh = jax.make_mesh((len(devices),), ("d",), axis_types=(AxisType.Auto,), devices=devices)
    return NamedSharding(mesh, PartitionSpec("d"))


def search_with(mode, patch):
    """Have the engine of this mode search; without a GPU the CUDA kernels are compiled for the host.

    They are called from threads of their own, which know the process's x64 mode alone.
    """
    jax.config.update("jax_enable_x64", mode == "cuda")
    if mode in ("lax", "cuda"):
        radius_engines.use(mode, patch)


def check(report, draw):
    """Compare one method in one configuration, for several clouds of points."""
    mode = draw(st.sampled_from(MODES))
    sizes = SIZES_ON_GPU if ON_GPU else SIZES
    n, m = draw(st.sampled_from(sizes)), draw(st.sampled_from(DIMENSIONS))
    p, box = draw(st.sampled_from([1.0, 2.0, 2.0, 3.0, np.inf])), draw(st.sampled_from([None, None, 8.0]))
    compare(report, draw, mode, n, m, p, box, draw(st.sampled_from(["float32", "float64"])))


def check_mesh(report, draw):
    """Do so on several devices, whose programs take long to compile: few shapes."""
    n, p = draw(st.sampled_from(ON_MESH)), draw(st.sampled_from([2.0, np.inf]))
    compare(
        report,
        draw,
        "mesh",
        n,
        draw(st.sampled_from([3, 17])),
        p,
        draw(st.sampled_from([None, 8.0])),
        "float32",
    )


def compare(report, draw, mode, n, m, p, box, dtype):
    """Compare one method, each set of points of another kind."""
    name = draw(st.sampled_from([name for name, method in METHODS.items() if mode in method.modes]))
    options = {key: draw(strategy) for key, strategy in METHODS[name].options.items()}
    x64, rng = draw(st.booleans()), np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    words = f"n={n} m={m} p={p} box={box} {dtype} {options} x64 {'on' if x64 else 'off'}"
    programs, compared, differences = {}, 0, []
    with jax.enable_x64(x64), pytest.MonkeyPatch.context() as patch:
        search_with(mode, patch)
        for number in range(VALUES):
            if time.monotonic() >= report.end:
                break
            kind = KINDS[number % len(KINDS)]
            case = Case(rng, kind, mode, p, box, n, m, QUERIES, dtype)
            case.programs = programs
            try:
                difference = METHODS[name].compare(case, **options)
            except NoOracle:
                continue
            except Exception as error:
                difference = type(error).__name__, str(error)[:200]
            compared += 1
            if difference:
                differences.append((difference[0], f"{kind}, {difference[1]}"))
    report.add(f"KDTree.{name} ({mode})", words, compared, differences)
