"""Every KDTree method beside SciPy and all distances by hand, on every engine, eager, jitted and vmapped."""

import cuda_host
import jax
import numpy as np
import pytest
import radius_engines
import scipy.spatial
from hypothesis import strategies as st

from jaxapi.spatial import KDTree

from .clouds import EXACT, KINDS, distances, points
from .methods import METHODS

__all__ = ["check"]

VALUES = {
    "natural": 30,
    "lax": 30,
    "jit": 30,
    "vmap": 30,
    "cuda": 30,
}  # cases of a configuration
MODES = [
    *["natural", "lax", "jit", "vmap"] * 5,
    *["cuda"] * 3 * bool(cuda_host.compiler()),
]


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
        return KDTree((self.points if of is None else of).astype(self.dtype), boxsize=self.box)

    def scipy(self, of=None):
        """Return SciPy's."""
        return scipy.spatial.KDTree(self.points if of is None else of, boxsize=self.box)

    def search(self, method, *arrays, **options):
        """Call a method whose results are arrays, transformed as the mode says; queries come first."""
        arrays = [np.asarray(a, self.dtype) for a in arrays]
        if self.mode == "jit":
            call = self.compiled(method, options)
            return jax.tree.map(np.asarray, call(self.tree(), *arrays))
        if self.mode == "vmap" and arrays:
            call = self.compiled(method, options, batched=True)
            x, *others = arrays
            return jax.tree.map(np.asarray, call(self.tree(), x[:, None], *others))
        return jax.tree.map(np.asarray, getattr(self.tree(), method)(*arrays, **options))

    programs = None  # of a configuration: made once, compiled once

    def compiled(self, method, options, batched=False):
        """Return the jitted method, vmapped over the queries if `batched`."""
        key = method, tuple(options.items())
        if key not in self.programs:

            def call(tree, *arrays):
                return getattr(tree, method)(*arrays, **options)

            def one_by_one(tree, x, *others):
                return jax.vmap(lambda x: jax.tree.map(lambda a: a[0], call(tree, x, *others)))(x)

            self.programs[key] = jax.jit(one_by_one if batched else call)
        return self.programs[key]


def search_with(mode, patch):
    """Have the engine of this mode search; without a GPU the CUDA kernels are compiled for the host."""
    if mode in ("lax", "cuda"):
        radius_engines.use(mode, patch)


def check(report, draw):
    """Compare one method in one configuration, for several clouds of points."""
    mode, kind = draw(st.sampled_from(MODES)), draw(st.sampled_from(KINDS))
    name = draw(st.sampled_from([name for name, method in METHODS.items() if mode in method.modes]))
    n, m, q = draw(st.sampled_from([1, 2, 13, 60, 300])), draw(st.sampled_from([1, 2, 3, 6])), 7
    p, box = draw(st.sampled_from([1.0, 2.0, 3.0, np.inf])), draw(st.sampled_from([None, None, 8.0]))
    dtype, x64 = draw(st.sampled_from(["float32", "float64"])), draw(st.booleans())
    if mode == "cuda" and jax.default_backend() != "gpu":
        x64 |= dtype == "float64"  # which JAX's callbacks return in 64-bit mode only
    options = {key: draw(strategy) for key, strategy in METHODS[name].options.items()}
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    words = f"{kind} n={n} m={m} p={p} box={box} {dtype} {options} x64 {'on' if x64 else 'off'}"
    programs = {}
    with jax.enable_x64(x64), pytest.MonkeyPatch.context() as patch:
        search_with(mode, patch)
        for _ in range(VALUES[mode]):
            case = Case(rng, kind, mode, p, box, n, m, q, dtype)
            case.programs = programs
            try:
                difference = METHODS[name].compare(case, **options)
            except Exception as error:
                difference = type(error).__name__, str(error)[:200]
            report.add(f"KDTree.{name} ({mode})", words, difference)
