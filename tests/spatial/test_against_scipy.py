"""`KDTree.query` against the same call of `scipy.spatial.KDTree`."""

import inspect
import itertools
import math

import jax
import numpy as np
import pytest
import scipy.sparse.csgraph
import scipy.spatial

from jaxapi import asarray
from jaxapi.spatial import KDTree

NORMS = [1, 1.5, 2, 3, 4, 10, math.inf]
BOXES = [None, 1.0, "mixed"]
COUNTS = [1, [1], 4, [3, 1, 1], range(2, 4), np.array([5]), 70]
DTYPES = [np.float32, np.float64]


def cloud(m, dtype, n=60, q=(4, 5)):
    """Return points in the unit box and queries somewhat beyond it."""
    rng = np.random.default_rng(m)
    return rng.random((n, m)).astype(dtype), (rng.random((*q, m)) * 1.4 - 0.2).astype(dtype)


def box_of(box, m):
    """Return one length, or one that is not periodic among others that are."""
    return [1.0, 0.0, 1.25, 0.0][:m] if box == "mixed" else box


def tolerance(dtype, p):
    """Return a relative tolerance in the ulps of `dtype`; powers and roots cost more of them."""
    return np.finfo(dtype).eps * (4 if p in (1, 2, math.inf) else 24)


def check(found, data, x, box, p, dtype, **query):
    """Compare distances with SciPy's, and rows by the distances they stand for."""
    distances, rows = found
    oracle = scipy.spatial.KDTree(data.astype(float), boxsize=box)
    expected, expected_rows = oracle.query(x.astype(float), p=p, **query)
    assert distances.dtype == dtype
    assert distances.shape == rows.shape == np.shape(expected)
    expected = np.asarray(expected)
    # A coordinate difference of nearly equal numbers is exact, but wrapping into a box rounds by an ulp of 1.
    spare = 0 if box is None else 2 * np.finfo(dtype).eps
    np.testing.assert_allclose(distances, expected, rtol=tolerance(dtype, p), atol=spare)
    close = np.isclose(expected, np.asarray(distances), rtol=0, atol=0) | (np.asarray(rows) == expected_rows)
    assert close.mean() > 0.98  # the data are in general position: rows differ at most by rounding


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("m", [1, 2, 3, 4, 8])
def test_every_setting(m, dtype):
    """Every p, box and form of k; on an accelerator every third setting, each one compiles there."""
    data, x = cloud(m, dtype)
    settings = list(itertools.product(NORMS, BOXES, COUNTS))
    trees = {box: KDTree(data, boxsize=box_of(box, m)) for box in BOXES if m <= 4 or box != "mixed"}
    if trees[None].engine != "scipy":
        settings = settings[m % 5 :: 41]
    for p, box, k in settings:
        if box in trees:
            check(trees[box].query(x, k=k, p=p), data, x, box_of(box, m), p, dtype, k=k)


TRACED_SEARCH = jax.jit(lambda data, x: KDTree(data).query(x, k=4))
TRACED = [
    (3, 2, None, 1, np.float32), (3, 2, "mixed", 4, np.float64), (3, 1, 1.0, [3, 1, 70], np.float32),
    (2, math.inf, "mixed", 4, np.float32), (1, 1.5, None, 70, np.float64), (4, 3, None, 4, np.float32),
    (2, 10, 1.0, 4, np.float32), (30, 2, None, 4, np.float32),
]  # fmt: skip


@pytest.mark.daily
@pytest.mark.parametrize(("m", "p", "box", "k", "dtype"), TRACED)
def test_inside_jit(m, p, box, k, dtype, x64):
    """The engine for traced arrays, with the tree as an argument; float64 stays so with x64 off."""
    if x64 and (p, box) != (2, "mixed"):
        pytest.skip("one case shows that x64 mode changes nothing but the dtype of rows")
    data, x = cloud(m, dtype)
    tree = KDTree(data, boxsize=box_of(box, m))
    found = jax.jit(lambda tree, x: tree.query(x, k=k, p=p))(tree, asarray(x))
    assert found[1].dtype == (np.int64 if x64 else np.int32)
    check(found, data, x, box_of(box, m), p, dtype, k=k)


@pytest.mark.parametrize("bound", [0.0, 0.05, 0.2, 1e9, math.inf])
def test_distance_upper_bound(bound):
    """The bound is strict; missing neighbours are (inf, n)."""
    data, x = cloud(3, np.float64)
    options = {"k": 4, "distance_upper_bound": bound}
    check(KDTree(data).query(x, **options), data, x, None, 2, np.float64, **options)
    on_axis = KDTree([[0.0], [3.0], [5.0]])
    assert on_axis.query([0.0], k=3, distance_upper_bound=3)[1].tolist() == [0, 3, 3]


def test_bound_and_eps_are_values_under_jit():
    """Bound and eps may be traced; eps leaves every distance within its factor."""
    data, x = cloud(3, np.float32, n=300)
    tree = KDTree(data)
    search = jax.jit(lambda x, b, e: tree.query(x, k=4, distance_upper_bound=b, eps=e))
    bounded, rows = search(x, 0.1, 0.0)
    expected, expected_rows = scipy.spatial.KDTree(data).query(x, k=4, distance_upper_bound=0.1)
    np.testing.assert_allclose(bounded, expected, rtol=1e-6)
    np.testing.assert_array_equal(rows, expected_rows)
    exact, _ = scipy.spatial.KDTree(data).query(x, k=4)
    rough, _ = search(x, np.inf, 0.5)
    for distances in (rough, tree.query(x, k=4, eps=0.5)[0]):
        assert (np.asarray(distances) <= exact * 1.5 * (1 + 1e-6)).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int8", "uint8", "int32", "int64", "bool"])
def test_other_dtypes(dtype):
    """Small floats count as float32, integers as float64, unsigned differences do not wrap."""
    data = np.random.default_rng(1).integers(0, 2 if dtype == "bool" else 60, (40, 3))
    data = data.astype(jax.numpy.dtype(dtype))
    distances, _ = KDTree(data).query(data[:7], k=5)
    expected, _ = scipy.spatial.KDTree(data.astype(float)).query(data[:7].astype(float), k=5)
    assert distances.dtype == (np.float32 if dtype.endswith("float16") else np.float64)
    np.testing.assert_allclose(distances, expected, rtol=1e-6 if dtype.endswith("float16") else 1e-15)


@pytest.mark.parametrize("data_dtype", DTYPES)
@pytest.mark.parametrize("x_dtype", DTYPES)
def test_mixed_dtypes(data_dtype, x_dtype):
    """The wider dtype wins, eagerly and traced, and no precision is lost on the way."""
    data, _ = cloud(3, data_dtype)
    _, x = cloud(3, x_dtype)
    wide = np.promote_types(data_dtype, x_dtype)
    check(KDTree(data).query(x, k=4), data, x, None, 2, wide, k=4)
    if data_dtype != x_dtype:
        check(jax.jit(KDTree(data).query)(asarray(x)), data, x, None, 2, wide)


@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (3,), (2, 1, 3)])
@pytest.mark.parametrize("k", [1, 2, [2]])
def test_shapes(shape, k):
    """Batch axes are kept; k=1 drops the last axis, a list never does."""
    data, _ = cloud(2, np.float64)
    x = np.random.default_rng(0).random((*shape, 2))
    distances, rows = KDTree(data).query(x, k=k)
    expected, expected_rows = scipy.spatial.KDTree(data).query(x, k=k)
    assert distances.shape == rows.shape == np.shape(expected)
    np.testing.assert_allclose(distances, expected, rtol=1e-15)
    np.testing.assert_array_equal(rows, expected_rows)
    assert KDTree(np.zeros((0, 2))).query(x, k=k)[0].shape == np.shape(expected)


@pytest.mark.parametrize("scale", [1e-30, 1e-3, 1e15, 1e30])
def test_spreads(scale):
    """Squares that would overflow or vanish in float32 do neither."""
    data, x = cloud(3, np.float32)
    data, x = data * np.float32(scale), x * np.float32(scale)
    for found in (KDTree(data).query(x, k=4), TRACED_SEARCH(data, x)):
        check(found, data, x, None, 2, np.float32, k=4)


@pytest.mark.parametrize("m", [16, 17, 64])
def test_many_dimensions(m):
    """Where boxes no longer help, traced searches compute every distance."""
    data, x = cloud(m, np.float32, n=300)
    for found in (KDTree(data).query(x, k=4), TRACED_SEARCH(data, x)):
        check(found, data, x, None, 2, np.float32, k=4)


def test_many_dimensions_and_equal_points():
    """A product's rounding errors never decide: equal points come in the order of their rows."""
    data, _ = cloud(64, np.float32, n=300)
    data[10:60] = data[3]
    x = data[[3, 200]] + np.float32(1000)
    assert TRACED_SEARCH(data, data[[3, 200]])[1][0].tolist() == [3, 10, 11, 12]
    expected = scipy.spatial.KDTree(data).query(x, k=1)[0]
    np.testing.assert_allclose(TRACED_SEARCH(data, x)[0][:, 0], expected, rtol=1e-6)


@pytest.mark.daily
def test_eps_lets_searches_stop_early():
    """Pairs and lists are SciPy's own then, which reach up to (1 + eps) times the radius."""
    rng = np.random.default_rng(0)
    points, others = rng.random((400, 2)), rng.random((300, 2))
    theirs, their_others = scipy.spatial.KDTree(points), scipy.spatial.KDTree(others)
    ours, our_others = KDTree(points), KDTree(others)
    exact = theirs.query_pairs(0.1)
    for eps in (0.5, 2.0):
        for p in (1, 2, np.inf):
            assert ours.query_pairs(0.1, p=p, eps=eps) == theirs.query_pairs(0.1, p=p, eps=eps)
        assert theirs.query_pairs(0.1, eps=eps) != exact
        expected = theirs.query_ball_tree(their_others, 0.1, eps=eps)
        assert list(ours.query_ball_tree(our_others, 0.1, eps=eps)) == [sorted(rows) for rows in expected]
        nearest, rows = ours.query(others, 3, eps=eps)
        least = theirs.query(others, 3)[0]
        assert (np.asarray(nearest) <= least * (1 + eps)).all()
        assert (np.asarray(nearest) >= least).all()
        apart = np.linalg.norm(points[np.asarray(rows)] - others[:, None], axis=2)
        np.testing.assert_allclose(nearest, apart)


def test_defaults_are_scipys():
    """Of the methods that SciPy has, by name; those that it has not measure by Euclid, too."""
    for name in ("query", "query_ball_point", "query_ball_tree", "query_pairs", "count_neighbors"):
        theirs = inspect.signature(getattr(scipy.spatial.KDTree, name)).parameters
        ours = inspect.signature(getattr(KDTree, name)).parameters
        for parameter, of_scipy in theirs.items():
            if parameter not in ("self", "workers"):
                assert ours[parameter].default == of_scipy.default, (name, parameter)
    for name, method in vars(KDTree).items():
        if callable(method) and not name.startswith("_"):
            parameters = inspect.signature(method).parameters
            assert "p" not in parameters or parameters["p"].default == 2.0, name


def test_methods_that_scipy_lacks_measure_by_euclid():
    points = np.random.default_rng(3).random((30, 2))
    apart = np.linalg.norm(points[:, None] - points, axis=2)
    others = np.sort(np.where(np.eye(30, dtype=bool), np.inf, apart), axis=1)
    tree = KDTree(points)
    np.testing.assert_allclose(tree.kneighbors(3)[0], others[:, :3])
    np.testing.assert_allclose(tree.knn_graph(3).distances, others[:, :3].ravel())
    is_near = apart <= 0.25
    assert int(tree.radius_graph(0.25).count) == is_near.sum() - 30
    np.testing.assert_array_equal(np.diff(tree.query_radius(points, 0.25).indptr), is_near.sum(axis=1))
    np.testing.assert_array_equal(tree.dbscan(0.25, 5).core, is_near.sum(axis=1) >= 5)
    components = scipy.sparse.csgraph.connected_components(is_near)[0]
    assert int(tree.connected_components(0.25).count) == components
    spanning = scipy.sparse.csgraph.minimum_spanning_tree(apart).sum()
    np.testing.assert_allclose(np.asarray(tree.minimum_spanning_tree().distances).sum(), spanning)
