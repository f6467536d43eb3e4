"""Clusterings by the CUDA kernels: what SciPy's way gives, on the host where there is no GPU."""

import ctypes
import subprocess

import cuda_host
import jax
import numpy as np
import pytest
import radius_engines
from compilations import no_compilation
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

import jaxapi as xp
from jaxapi.spatial import KDTree, _clusterings
from jaxapi.spatial._clusters import _hierarchy, _selection
from jaxapi.spatial._clusters._arrays import OnHost
from jaxapi.spatial._clusters._results import StableClusters
from jaxapi.spatial._engines import _choice, _cuda
from jaxapi.spatial._engines._cuda import _compile

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


@pytest.mark.thorough
@pytest.mark.daily("2.0-None-float32-copies")
@pytest.mark.parametrize("kind", CLOUDS)
@pytest.mark.parametrize(("p", "box", "dtype"), [(2.0, None, "float32"), (np.inf, 4.0, "float64")])
@pytest.mark.usefixtures("x64")
def test_kernels_give_the_labels_of_scipys_way(kind, p, box, dtype):
    rng = np.random.default_rng(len(kind))
    for n, r, least in ((300, 0.125, 3), (300, 0.5, 7), (300, 100.0, 3)):
        x = CLOUDS[kind](rng, n).astype(dtype)
        weights = rng.integers(0, 3, n).astype(float) if r == 0.5 else None
        expected = found(KDTree(x, boxsize=box, engine="scipy"), r, least, p, weights)
        with pytest.MonkeyPatch.context() as patch:
            radius_engines.use("cuda", patch)
            patch.setattr(_clusterings, "computed", None)  # no host's way
            eager = found(KDTree(x, boxsize=box), r, least, p, weights)
        for a, b in zip(jax.tree.leaves(eager), jax.tree.leaves(expected), strict=True):
            np.testing.assert_array_equal(a, b)
            assert a.dtype == b.dtype


@pytest.mark.thorough
@pytest.mark.parametrize("kind", [*CLOUDS, "line"])
@pytest.mark.parametrize(("m", "p", "box", "dtype"), [(3, 2.0, None, "float32"), (2, 1.0, 5.0, "float64")])
@pytest.mark.usefixtures("x64")
def test_kernels_give_the_spanning_tree_of_all_distances(kind, m, p, box, dtype):
    """The first by (distance, rows), and of them HDBSCAN's labels."""
    rng = np.random.default_rng(len(kind) + m)
    for n, least in ((1, 1), (2, 1), (70, 1), (5, 4), (90, 4)):
        x = np.outer(rng.random(n), np.ones(m)) if kind == "line" else CLOUDS[kind](rng, n)[:, :m]
        x = np.abs(x.astype(dtype)) % 4
        expected = first_tree(x.astype(float), least, p, box)
        stable = KDTree(x, boxsize=box, engine="scipy").hdbscan(4, min_samples=least, p=p)
        if least > 1 and n > 1:  # core distances are equal ones: the first by rows counts
            stable = StableClusters(*cut(n, *expected))
        with pytest.MonkeyPatch.context() as patch:
            radius_engines.use("cuda", patch)
            tree = KDTree(x, boxsize=box)
            edges = tree.minimum_spanning_tree(min_samples=least, p=p)
            clusters = tree.hdbscan(4, min_samples=least, p=p)
        np.testing.assert_array_equal(edges.rows, expected[0])
        np.testing.assert_allclose(edges.distances, expected[1], rtol=1e-6)
        assert edges.distances.dtype == dtype
        if kind != "lattice" or least > 1:  # else no one says which
            np.testing.assert_array_equal(clusters.labels, stable.labels)
            np.testing.assert_allclose(clusters.probabilities, stable.probabilities, rtol=1e-5)


def walked(rows, start):
    """Return the places of the points on a walk around a tree; at each its edges follow that it came by."""
    at, place, todo = [[] for _ in range(len(rows) + 1)], np.zeros(len(rows) + 1, int), [(start, -1)]
    for edge, ends in enumerate(rows):
        for each in ends:
            at[each].append(edge)
    for number in range(len(place)):
        row, came = todo.pop()
        place[row] = number
        onward = sorted(at[row], key=lambda edge, came=came: (edge <= came, edge))
        todo += [(rows[edge].sum() - row, edge) for edge in onward[::-1] if edge != came]
    return place


def cut(n, rows, distances):
    """Return the labels and probabilities that NumPy makes of a spanning tree."""
    order = np.lexsort((walked(rows, rows[0, 0])[rows].max(axis=1), distances))
    ends = np.take_along_axis(rows, np.argsort(walked(rows, 0)[rows], axis=1), axis=1)[order]
    merges = _hierarchy.dendrogram(OnHost, n, *ends.T)
    selection = _selection.Selection(4, "eom", None, False)
    return _selection.flat_clusters(OnHost, selection, merges, distances[order])


def first_tree(x, least, p, box):
    """Return the edges and lengths of Kruskal's tree of all mutual reachability distances."""
    tree, n = cKDTree(x, boxsize=box), len(x)
    apart = tree.sparse_distance_matrix(tree, np.finfo(float).max, p=p).toarray()
    apart = np.minimum(apart, apart.T)
    core = np.sort(apart, axis=1)[:, least - 1]
    apart = np.maximum(apart, np.maximum(core, core[:, None]))
    one, two = np.triu_indices(n, 1)
    group, edges = np.arange(n), []
    for i in np.lexsort((two, one, apart[one, two])):
        a, b = group[[one[i], two[i]]]
        if a != b:
            group[group == b] = a
            edges.append((one[i], two[i]))
    edges = np.reshape(edges, (-1, 2)).astype(int)
    return edges, apart[*edges.T]


@pytest.mark.thorough
@pytest.mark.usefixtures("x64")
def test_rows_that_are_not_there_have_no_edges(monkeypatch):
    x = np.random.default_rng(1).random((40, 2))
    radius_engines.use("cuda", monkeypatch)
    for least in (1, 3):
        edges = KDTree(x, n=25).minimum_spanning_tree(min_samples=least)
        expected = first_tree(x[:25], least, 2.0, None)
        np.testing.assert_array_equal(edges.rows[:24], expected[0])
        np.testing.assert_allclose(edges.distances[:24], expected[1], rtol=1e-12)
        assert (edges.rows[24:] == -1).all()
        assert np.isposinf(edges.distances[24:]).all()


@pytest.mark.thorough
@pytest.mark.usefixtures("x64")
def test_many_copies_are_joined_to_the_lowest(monkeypatch):
    radius_engines.use("cuda", monkeypatch)
    for n, least, box in ((3000, 1, None), (3000, 1, 4.0), (300, 4, None)):
        edges = KDTree(np.ones((n, 3), np.float32), boxsize=box).minimum_spanning_tree(min_samples=least)
        np.testing.assert_array_equal(edges.rows, [(0, i) for i in range(1, n)])


@pytest.mark.thorough
@pytest.mark.usefixtures("x64")
def test_one_program_serves_all_epsilons_and_alphas(monkeypatch):
    """They are compared in float64, as scikit-learn does."""
    x = np.concatenate([np.arange(6) * 0.01 + c for c in (0.0, 0.2, 5.0, 9.0)])[:, None].astype(np.float32)
    radius_engines.use("cuda", monkeypatch)
    tree = KDTree(x)

    def labels(epsilon, alpha):
        options = {"cluster_selection_method": "leaf", "cluster_selection_epsilon": epsilon, "alpha": alpha}
        return np.asarray(tree.hdbscan(5, **options).labels)

    first = labels(0.1, 1.5)
    with no_compilation():
        joined = labels(1.0, 1.1)
    assert len(np.unique(first)) == 4
    np.testing.assert_array_equal(joined[:12], joined[0])
    assert len(np.unique(joined)) == 3


@pytest.mark.daily
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_a_program_for_the_cpu_leaves_the_kernels_alone(monkeypatch, dtype):
    """Where a GPU is there, too."""
    x = (9 * np.random.default_rng(0).random((60, 3))).astype(dtype)

    def clusters(x):
        tree = KDTree(x)
        return tree.connected_components(2.0), tree.minimum_spanning_tree(min_samples=3), tree.hdbscan(4)

    expected = clusters(x)
    monkeypatch.setattr(_choice, "gpu_engine", lambda: _cuda)
    monkeypatch.setattr(_cuda._launch, "custom_call", cuda_host.custom_call)
    for a, b in zip(jax.tree.leaves(jax.jit(clusters)(x)), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float64", "int32"])
@pytest.mark.parametrize("box", [None, 4.0])
def test_programs_for_the_gpu_keep_64_bits_with_x64_off(monkeypatch, dtype, box):
    """They are lowered here, without what the kernels do."""

    def nothing(kernel, blocks, threads, inputs, outputs, items):
        return [jax.numpy.zeros(each.shape, each.dtype) for each in outputs.values()]

    def clusters(x):
        tree = KDTree(x, boxsize=box)
        edges = [tree.minimum_spanning_tree(min_samples=least).distances for least in (1, 3)]
        return tree.connected_components(0.2), tree.dbscan(0.2), edges

    monkeypatch.setattr(_choice, "gpu_engine", lambda: _cuda)
    monkeypatch.setattr(_cuda._launch, "custom_call", nothing)
    x = xp.asarray(np.zeros((50, 2), dtype))
    program = jax.jit(clusters).trace(x).lower(lowering_platforms=("cuda",))
    assert [each.dtype for each in program.out_info[2]] == [np.float64] * 2
    assert (
        jax.jit(lambda x: KDTree(x).hdbscan(4, alpha=1.3)).trace(x).out_info.probabilities.dtype == np.float64
    )


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("n", [480, 2])
def test_programs_for_the_gpu_give_the_same(gpu, dtype, n):
    x = (1e9 * np.random.default_rng(2).random((500, 3))).astype(dtype)
    x[7] = np.nan if dtype != "int32" else x[7]

    @jax.jit
    def clusters(x, n):
        tree = KDTree(x, n=n)
        return (
            tree.connected_components(1e8),
            tree.minimum_spanning_tree(min_samples=3),
            tree.hdbscan(4, min_samples=1),
        )

    with jax.enable_x64(True):
        places = gpu, jax.devices("cpu")[0]
        found, expected = (jax.tree.leaves(clusters(jax.device_put(x, each), n)) for each in places)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


@pytest.mark.gpu
@pytest.mark.parametrize("kind", CLOUDS)
@pytest.mark.parametrize("least", [1, 5])
@pytest.mark.usefixtures("gpu")
def test_large_trees_are_as_long_as_those_of_scipys_way(kind, least):
    x = CLOUDS[kind](np.random.default_rng(3), 100_000).astype(np.float32)
    found = KDTree(x).minimum_spanning_tree(min_samples=least)
    expected = KDTree(x, engine="scipy").minimum_spanning_tree(min_samples=least)
    np.testing.assert_allclose(found.distances, expected.distances, rtol=1e-5)
    same = (np.asarray(found.rows) == np.asarray(expected.rows)).all(axis=1).mean()
    assert same > 0.9, same  # rounded distances may be equal, where others are not
    again = KDTree(x).minimum_spanning_tree(min_samples=least)
    np.testing.assert_array_equal(again.rows, found.rows)


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
