"""Components and DBSCAN by the CUDA kernels: the labels of SciPy's way, on the host where there is no GPU."""

import ctypes
import subprocess

import cuda_host
import jax
import numpy as np
import pytest
import radius_engines
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from jaxapi.spatial import KDTree, _cuda
from jaxapi.spatial._clusters import _calls
from jaxapi.spatial._cuda import _compile
from jaxapi.spatial._device import _engines

pytestmark = pytest.mark.kernels

CLOUDS = {
    "uniform": lambda rng, n: rng.random((n, 3)) * 4,
    "lattice": lambda rng, n: rng.integers(0, 8, (n, 3)) / 2,
    "halos": lambda rng, n: rng.normal(size=(n, 3)) * rng.choice([0.02, 0.8], (n, 1)) % 4,
    "copies": lambda rng, n: np.repeat(rng.random((n // 10 + 1, 3)), 10, axis=0)[:n],
}


def found(tree, r, least, p, weights):
    clusters = tree.dbscan(r, least, p=p, sample_weight=weights)
    return jax.tree.map(np.asarray, (tree.connected_components(r, p=p), clusters))


@pytest.fixture
def x64():
    """Let the host's callbacks keep 64 bits in all threads."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.mark.parametrize("kind", CLOUDS)
@pytest.mark.parametrize(("p", "box", "dtype"), [(2.0, None, "float32"), (np.inf, 4.0, "float64")])
@pytest.mark.usefixtures("x64")
def test_kernels_give_the_labels_of_scipys_way(kind, p, box, dtype):
    rng = np.random.default_rng(len(kind))
    for n, r, least in ((300, 0.125, 3), (300, 0.5, 7), (5, 1.0, 2), (300, 100.0, 5)):
        x = CLOUDS[kind](rng, n).astype(dtype)
        weights = rng.integers(0, 3, n).astype(float) if r == 0.5 else None
        expected = found(KDTree(x, boxsize=box), r, least, p, weights)
        with pytest.MonkeyPatch.context() as patch:
            radius_engines.use("cuda", patch)
            patch.setattr(_calls, "computed", None)  # no host's way
            eager = found(KDTree(x, boxsize=box), r, least, p, weights)
        for a, b in zip(jax.tree.leaves(eager), jax.tree.leaves(expected), strict=True):
            np.testing.assert_array_equal(a, b)
            assert a.dtype == b.dtype


def test_a_program_for_the_cpu_leaves_the_kernels_alone(monkeypatch):
    """Where a GPU is there, too."""
    x = np.random.default_rng(0).random((60, 3)).astype(np.float32)
    monkeypatch.setattr(_engines, "gpu_engine", lambda: _cuda)
    monkeypatch.setattr(_cuda._launch, "custom_call", cuda_host.custom_call)
    program = jax.jit(lambda x: KDTree(x).connected_components(0.2))
    np.testing.assert_array_equal(program(x).labels, KDTree(x).connected_components(0.2).labels)


THREADED = """
#include <thread>
#include <vector>
#include "union.cuh"
extern "C" void unite_all(int* parents, const int* edges, long long count, int threads) {
  std::vector<std::thread> all;
  for (int t = 0; t < threads; t++)
    all.emplace_back([=] {
      for (long long i = t; i < count; i += threads) unite(parents, edges[2 * i], edges[2 * i + 1]);
    });
  for (auto& each : all) each.join();
}
"""


def test_threads_unite_at_the_same_time(tmp_path):
    """The sets and their roots are those of any order."""
    if cuda_host.compiler() is None:
        pytest.skip("no C++ compiler")
    source, library = tmp_path / "threaded.cpp", tmp_path / "threaded.so"
    source.write_text(f'#include "{cuda_host.HEADER}"\n{THREADED}')
    options = ["-std=c++17", "-O2", "-w", "-fPIC", "-shared", "-pthread", f"-I{_compile.FOLDER}"]
    subprocess.run([*cuda_host.compiler(), *options, str(source), "-o", str(library)], check=True)
    unite_all = ctypes.CDLL(str(library)).unite_all
    rng = np.random.default_rng(0)
    for n, count in ((50, 400), (20_000, 18_000), (20_000, 60_000)) * 3:
        edges = rng.integers(0, n, (count, 2)).astype(np.int32)
        parents = np.arange(n, dtype=np.int32)
        addresses = (ctypes.c_void_p(each.ctypes.data) for each in (parents, edges))
        unite_all(*addresses, ctypes.c_longlong(count), 4)
        while (parents[parents] != parents).any():
            parents = parents[parents]
        labels = connected_components(coo_array((np.ones(count), tuple(edges.T)), shape=(n, n)))[1]
        lowest = np.full(n, n)
        np.minimum.at(lowest, labels, np.arange(n))
        np.testing.assert_array_equal(parents, lowest[labels])
