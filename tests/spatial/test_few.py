"""Few points inside of transformations, where every distance is computed: SciPy's answers, and its choice."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.spatial

from jaxapi.spatial import KDTree
from jaxapi.spatial._device import _engines, _few

pytestmark = pytest.mark.skipif(_engines.gpu_engine() is not None, reason="a GPU searches the tree")
RNG = np.random.default_rng(16)
POINTS, QUERIES = RNG.random((50, 3)), RNG.random((9, 3))
FEW = 1 << 17


@pytest.fixture(autouse=True)
def no_tree(few, monkeypatch):
    """Have no tree searched, but where a test says how many distances are few."""

    def refuse(*_, **__):
        raise AssertionError("a tree was searched")

    monkeypatch.setattr(_few, "FEW", FEW)
    monkeypatch.setattr(_few, "gpu_engine", lambda: None)  # on a GPU the tree is searched
    monkeypatch.setattr(_few, "nearest_in_pieces", refuse)


@pytest.mark.parametrize("p", [1.0, 2.0, 2.5, np.inf])
@pytest.mark.parametrize("boxsize", [None, [1.0, 0.0, 1.25]])
def test_as_scipy(p, boxsize):
    """Also with columns chosen one by one, beyond n, and with a bound."""
    with jax.enable_x64(True):
        search = jax.jit(lambda a, x: KDTree(a, boxsize=boxsize).query(x * 3 - 1, [1, 7, 51], p=p))
        x = QUERIES * 3 - 1
        expected = scipy.spatial.KDTree(POINTS, boxsize=boxsize).query(x, [1, 7, 51], p=p)
        found = search(POINTS, QUERIES)
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-13)
        np.testing.assert_array_equal(found[1], expected[1])
        bound = float(expected[0][:, 1].mean())
        expected = scipy.spatial.KDTree(POINTS).query(QUERIES, 4, p=p, distance_upper_bound=bound)
        limited = jax.jit(lambda a, b: KDTree(a).query(QUERIES, 4, p=p, distance_upper_bound=b))
        np.testing.assert_array_equal(limited(POINTS, bound)[1], expected[1])


def test_ties_go_to_the_lowest_row():
    points = RNG.integers(0, 3, (60, 2)).astype(np.float32)
    x = RNG.integers(0, 3, (8, 2)).astype(np.float32)
    squares = ((x[:, None] - points) ** 2).sum(-1)
    expected = np.argsort(squares, axis=1, kind="stable")
    for k in (1, 20):
        rows = jax.jit(lambda a, x, k=k: KDTree(a).query(x, [*range(1, k + 1)])[1])(points, x)
        np.testing.assert_array_equal(rows, expected[:, :k])


@pytest.mark.parametrize("size", [1e-30, 1e30])
def test_sizes_whose_squares_no_float32_holds(size):
    points, x = ((each * size).astype(np.float32) for each in (POINTS, QUERIES))
    distances, rows = jax.jit(lambda a, x: KDTree(a).query(x, 2))(points, x)
    expected = scipy.spatial.KDTree(points.astype(float)).query(x.astype(float), 2)
    np.testing.assert_allclose(distances, expected[0], rtol=1e-5)
    np.testing.assert_array_equal(rows, expected[1])


def test_what_is_not_finite_takes_no_part():
    points, x = POINTS.astype(np.float32), QUERIES.astype(np.float32)
    points[3, 1], x[2, 0] = np.nan, np.inf
    distances, rows = jax.jit(lambda a, x: KDTree(a).query(x, 50))(points, x)
    assert not (rows[:, :49] == 3).any()
    assert (rows[:, 49] == 50).all()
    assert (rows[2] == 50).all()
    assert np.isinf(distances[2]).all()


def test_vmap_and_grad():
    with jax.enable_x64(True):
        clouds, xs = RNG.random((4, 30, 2)), RNG.random((4, 5, 2))
        expected = [scipy.spatial.KDTree(a).query(x, 3) for a, x in zip(clouds, xs, strict=True)]
        found = jax.vmap(lambda a, x: KDTree(a).query(x, 3))(clouds, xs)
        np.testing.assert_array_equal(found[1], [rows for _, rows in expected])
        tree, bounds = KDTree(clouds[0]), jnp.asarray([0.1, 0.2, 0.3, 0.4])
        near = jax.vmap(lambda x, b: tree.query(x, 3, distance_upper_bound=b)[1])(xs, bounds)
        for i, rows in enumerate(near):
            one = scipy.spatial.KDTree(clouds[0]).query(xs[i], 3, distance_upper_bound=bounds[i])
            np.testing.assert_array_equal(rows, one[1])
        assert tree._tree is None, "no structure was needed"
        slope = jax.jit(jax.grad(lambda x: KDTree(clouds[0]).query(x)[0].sum()))(xs[0])
        nearest = clouds[0][scipy.spatial.KDTree(clouds[0]).query(xs[0])[1]]
        away = xs[0] - nearest
        np.testing.assert_allclose(slope, away / np.linalg.norm(away, axis=1)[:, None], rtol=1e-12)


def test_many_distances_are_left_to_the_tree(monkeypatch):
    """Also where vmap brings them together, one query at a time."""
    tree = KDTree(POINTS.astype(np.float32))
    monkeypatch.setattr(_few, "FEW", 50 * 8)
    x = QUERIES.astype(np.float32)
    for search in (jax.jit(tree.query), jax.vmap(tree.query)):
        assert search(x[:8])[1].shape == (8,)
        with pytest.raises(AssertionError, match="a tree was searched"):
            search(x)
