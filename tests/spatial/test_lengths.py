"""One contract of shapes: after the first call nothing compiles for lengths of the same padded size."""

from functools import partial
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from compilations import no_compilation
from scipy.spatial import KDTree as SciPyTree
from scipy.spatial.distance import cdist

from jaxapi.spatial import KDTree
from jaxapi.spatial._engines import _cuda, _lax
from jaxapi.spatial._engines._cuda import _inputs
from jaxapi.spatial._tree import _build

RADIUS = 0.2


def calls(tree, x):
    """Return the results of all methods that return arrays."""
    near, graph = tree.query_radius(x, RADIUS, sort=True), tree.radius_graph(RADIUS)
    fixed = tree.query_radius(x, RADIUS, max_neighbors=5)
    return {
        "query": tree.query(x, k=3),
        "one": tree.query(np.asarray(x)[:1]),
        "own": tree.query(tree.data, k=2),
        "columns": tree.query(x, k=[2, 1]),
        "kneighbors": tree.kneighbors(2),
        "knn_graph": tree.knn_graph(2)[:3],
        "csr": near[:3],
        "receivers": near.receivers,
        "distances": fixed.distances,
        "counts": tree.query_ball_point(x, RADIUS, return_length=True),
        "graph": graph[:2],
        "pairs": tree.query_pairs(RADIUS, output_type="ndarray").shape,
        "two_point": tree.count_neighbors(tree, [0.1, 0.2]),
        "weighed": tree.count_neighbors(tree, [0.1, 0.2], weights=np.arange(tree.n) / 7),
        "displacements": tree.displacements(tree.data, tree.kneighbors(2)[1]),
        "extremes": (tree.mins, tree.maxes),
        "indices": tree.indices,
    }


def expected(points, x):
    """Return what SciPy and NumPy say, where they have the same results."""
    tree = SciPyTree(points)
    apart = np.sqrt(((x[:, None].astype(float) - points) ** 2).sum(axis=2))
    order, near = np.argsort(apart, axis=1), np.sort(np.where(apart <= RADIUS, apart, np.inf), axis=1)
    lists = tree.query_ball_point(x, RADIUS)
    counts = np.array([len(each) for each in lists])
    own = tree.query(points, k=3)[1][:, 1:]
    return {
        "query": tree.query(x, k=3),
        "one": tree.query(np.asarray(x)[:1]),
        "own": tree.query(points, k=2),
        "columns": tree.query(x, k=[2, 1]),
        "kneighbors": tuple(each[:, 1:] for each in tree.query(points, k=3)),
        "csr": (np.append(0, np.cumsum(counts)), order[near < np.inf], near[near < np.inf]),
        "distances": near[:, :5],
        "receivers": np.repeat(np.arange(len(x)), counts),
        "counts": counts,
        "pairs": tree.query_pairs(RADIUS, output_type="ndarray").shape,
        "two_point": tree.count_neighbors(tree, [0.1, 0.2]),
        "weighed": tree.count_neighbors(tree, [0.1, 0.2], weights=np.arange(tree.n) / 7),
        "displacements": points[own] - points[:, None],
        "extremes": (points.min(axis=0), points.max(axis=0)),
    }


def cloud(n, q):
    rng = np.random.default_rng(n)
    return rng.random((n, 3), dtype=np.float32), rng.random((q, 3), dtype=np.float32)


@pytest.mark.thorough
@pytest.mark.daily("natural")
def test_new_lengths_compile_nothing(radius_kernel):
    """Of points, of queries and of results, in any order, from NumPy and from JAX; nor is a result nan."""
    sizes = ((60, 40), (60, 41), (33, 50), (70, 7))
    clouds = [cloud(*size) for size in sizes]
    theirs = [expected(*each) for each in clouds]
    clouds = [tuple(map(jnp.asarray, each)) for each in clouds]
    points, x = clouds[0]
    with jax.debug_nans(True):
        jax.block_until_ready(calls(KDTree(points), x))
    with no_compilation():
        found = [calls(KDTree(points), x) for points, x in clouds]
    for ours, true in zip(found, theirs, strict=True):
        for name, value in true.items():
            for one, other in zip(jax.tree.leaves(ours[name]), jax.tree.leaves(value), strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6, err_msg=name)


@pytest.mark.thorough("lax")
@pytest.mark.usefixtures("radius_engine")
def test_any_kind_of_array_compiles_nothing():
    """NumPy's and JAX's, committed to a device or not, of a padded size and of any other."""
    committed = partial(jax.device_put, device=jax.devices()[0])
    found = []

    def search(points, x):
        tree = KDTree(points)
        rows = tree.query(x, k=3)[1]
        lengths = tree.query_ball_point(x, RADIUS, return_length=True)
        return rows, lengths, tree.displacements(x, rows), tree.mins

    search(*map(np.asarray, cloud(1000, 900)))
    with no_compilation():
        for size in ((1024, 1024), (1001, 700)):
            for kind in (jax.device_put, committed, np.asarray):
                found.append((size, search(*map(kind, cloud(*size)))))
    for size, (rows, lengths, vectors, mins) in found:
        points, x = cloud(*size)
        tree = SciPyTree(points)
        np.testing.assert_array_equal(rows, tree.query(x, k=3)[1])
        np.testing.assert_array_equal(lengths, tree.query_ball_point(x, RADIUS, return_length=True))
        np.testing.assert_array_equal(vectors, points[np.asarray(rows)] - x[:, None])
        np.testing.assert_array_equal(mins, points.min(axis=0))


@pytest.mark.usefixtures("radius_engine")
@pytest.mark.parametrize("wrong", [-1, 8])
def test_rows_that_are_none(wrong):
    """Of NumPy, and of a CPU that has the points; only those that were asked for."""
    points, x = cloud(7, 700)
    rows = np.full((700, 2), 7, np.int32)
    tree = KDTree(jnp.asarray(points))
    for kind in (np.asarray, jnp.asarray):
        assert not tree.displacements(kind(x), kind(rows)).any()
        rows[699, 1] = wrong
        if kind is np.asarray or jax.default_backend() == "cpu":
            with pytest.raises(IndexError, match=rf"rows from 0 to 6, or 7 for none, got {wrong}"):
                tree.displacements(kind(x), kind(rows))
        else:  # nobody looks at numbers on a GPU
            assert not tree.displacements(kind(x), kind(rows)).any()
        rows[699, 1] = 7


def test_an_empty_array_on_its_way_is_not_waited_for():
    """A program reads a number that is there once the array is: an empty array has none."""
    sharding = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    on_its_way = SimpleNamespace(
        size=0, dtype=np.dtype(np.float32), sharding=sharding, is_ready=lambda: False
    )
    assert _inputs._after(on_its_way, is_copied=True).shape == (1,)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int32", "float16", "bfloat16", "float32"])
@pytest.mark.usefixtures("kernels_on_host")
@pytest.mark.kernels
def test_lines_of_every_dtype(dtype):
    """Values are NumPy's casts; what is behind the end is nan or the largest integer."""
    x = np.array([[0, 1, 2.5], [-3.25, 6.25e-5, 65504], [np.inf, -np.inf, 1e-4], [7, 7, 7]])
    x = np.where(np.isfinite(x), x, 1) if np.dtype(jnp.dtype(dtype)).kind in "iub" else x
    x = (
        np.abs(x).clip(0, 100).astype(dtype)
        if dtype == "uint16"
        else x.clip(-100, 100).astype(dtype)
        if dtype == "int8"
        else x.astype(dtype)
    )
    for engine in (_lax, _cuda):
        for to in ("float32", "int32"):
            if to == "int32" and dtype not in ("int8", "int32"):
                continue
            read = jax.jit(partial(engine.read_input, dtype=to))
            made = np.asarray(read(x, np.int32(3)))
            np.testing.assert_array_equal(made[:3], x[:3].astype(to))
            missing = np.iinfo("int32").max if to == "int32" else np.nan
            np.testing.assert_array_equal(made[3:], np.full((1, 3), missing, to))


@pytest.mark.parametrize("size", [1, 31, 4096, 4097, 9000])
@pytest.mark.usefixtures("kernels_on_host")
@pytest.mark.kernels
def test_running_sums(size):
    """As NumPy's, up to the largest number of 32 bits."""
    for most in (2**20, 2**31):
        counts = np.random.default_rng(size).integers(0, most, size).astype(np.int32)
        expected = np.minimum(np.append(0, np.cumsum(counts, dtype=np.int64)), 2**31 - 1)
        for engine in (_lax, _cuda):
            np.testing.assert_array_equal(jax.jit(engine.running_sums)(counts), expected)


def test_rows_that_do_not_count_find_nothing():
    points = np.random.default_rng(3).random((300, 3), dtype=np.float32)
    tree = KDTree(points, n=200)
    for distances, rows in (tree.query(tree.data, k=2), tree.kneighbors(2)):
        assert np.isfinite(distances[:200]).all()
        assert np.isinf(distances[200:]).all()
        np.testing.assert_array_equal(rows[200:], 200)
    graph = tree.knn_graph(2)
    assert int(graph.count) == 400
    is_edge = np.asarray(graph.receivers) < 200
    assert np.count_nonzero(is_edge) == 400
    np.testing.assert_array_equal(graph.senders[~is_edge], 200)
    assert np.isinf(graph.distances[~is_edge]).all()


@pytest.mark.thorough
def test_results_of_many_bytes_are_padded_to_less(monkeypatch):
    """Queries with so many neighbours that memory matters run by programs of more sizes, with one answer."""
    monkeypatch.setattr(_build, "LARGE_BYTES", 1 << 10)
    rng = np.random.default_rng(0)
    points = rng.random((50, 2), np.float32)
    x = rng.random((1100, 2), np.float32)
    radii = rng.uniform(0.05, 0.3, len(x)).astype(np.float32)
    tree = KDTree(points, engine="lax")
    distances, rows = tree.query(x, k=3)
    found = tree.query_radius(x, radii, max_neighbors=4)
    all_distances = cdist(x, points)
    nearest_rows = np.argsort(all_distances, axis=1)[:, :4]
    np.testing.assert_array_equal(rows, nearest_rows[:, :3])
    np.testing.assert_array_equal(found.counts, (all_distances <= radii[:, None]).sum(1))
    np.testing.assert_array_equal(found.indices[found.mask], nearest_rows[np.asarray(found.mask)])
    np.testing.assert_allclose(distances, np.sort(all_distances, axis=1)[:, :3], rtol=1e-5)
