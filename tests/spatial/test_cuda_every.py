"""The CUDA engine's search of every distance, by products of matrices: nearest neighbours in many dimensions.

Its kernels are compiled for the host, or run on a GPU if there is one; oracles are SciPy and every distance.
"""

import jax
import numpy as np
import pytest
from cuda_searches import (
    POINTS,
    QUERIES,
    assert_as_scipy,
    assert_exact,
    grid,
    jitted_build,
    query,
    searches,
    uniform,
)

from jaxapi.spatial._engines._cuda import _every
from jaxapi.spatial._tree._metric import TreeMetric
from jaxapi.spatial._tree._queries import Limits

pytestmark = [pytest.mark.kernels, pytest.mark.usefixtures("kernels_on_host")]


@pytest.fixture
def few_a_round(monkeypatch):
    """Let every distance be looked at in rounds of few points, by small blocks."""
    if jax.default_backend() != "gpu":
        monkeypatch.setattr(_every, "architecture", lambda: "80")
        monkeypatch.setattr(_every, "CANDIDATE_WARPS", 2)
    monkeypatch.setattr(_every, "FIRST", 64)
    monkeypatch.setattr(_every, "LARGEST", 256)
    monkeypatch.setattr(_every, "BLOCKS", 3)


@pytest.mark.thorough
@pytest.mark.daily("17-8-float32")
@pytest.mark.usefixtures("few_a_round")
@pytest.mark.parametrize(
    ("m", "k", "dtype"), [(17, 8, np.float32), (70, 1, np.float32), (33, 40, np.float64)]
)
def test_every_distance(m, k, dtype):
    """By products, between points that lie far from the origin."""
    points, queries = uniform(800, m, 30, dtype) + 3, uniform(QUERIES, m, 31, dtype) * 2 + 2.5
    queries[7], queries[9] = np.nan, 1e25
    found = query(points, queries, k=k)
    assert np.isinf(found[0][7]).all()
    assert (found[1][7] == 800).all()
    there = np.delete(np.arange(QUERIES), [7, 9])
    assert_as_scipy(points, queries[there], tuple(each[there] for each in found), k=k)


@pytest.mark.daily
@pytest.mark.usefixtures("few_a_round")
@pytest.mark.parametrize("room", [4, 1024])
def test_every_distance_with_ties(room, monkeypatch):
    """Repeated points, of which some are not finite, with and without room for all candidates."""
    monkeypatch.setattr(_every, "ROOM", room)
    monkeypatch.setattr(_every, "MEMORY", 30 * max(room, 16 * 3))  # queries come in two pieces
    points, queries = np.repeat(grid(100, 17, 32), 8, 0) // 3, grid(QUERIES, 17, 33) // 3
    points[::9] = 1000
    found = query(points, queries)
    assert_exact(points, queries, found, 3)
    bound = np.float32(3.5)
    near, rows = query(points, queries, bound=bound)
    np.testing.assert_array_equal(near, np.where(found[0] < bound, found[0], np.inf))
    np.testing.assert_array_equal(rows, np.where(found[0] < bound, found[1], 800))


@pytest.mark.daily
@pytest.mark.usefixtures("few_a_round")
def test_every_distance_between_clusters():
    """Neighbours are a thousand times nearer than most points: products tell too little about them."""
    rng = np.random.default_rng(34)
    centres = rng.random((5, 20))
    points = (centres[rng.integers(0, 5, 800)] + 1e-4 * rng.random((800, 20))).astype(np.float32)
    queries = (centres[rng.integers(0, 5, QUERIES)] + 1e-4 * rng.random((QUERIES, 20))).astype(np.float32)
    distances, rows = query(points, queries, k=5)
    squares = ((queries[:, None].astype(float) - points[None]) ** 2).sum(-1)
    np.testing.assert_allclose(distances, np.sqrt(np.sort(squares, axis=1)[:, :5]), rtol=1e-5)
    np.testing.assert_allclose(np.take_along_axis(squares, rows, 1), np.square(distances), rtol=1e-5)


@pytest.mark.usefixtures("few_a_round")
def test_every_distance_where_few_rows_count():
    """Rounds end within a tile, or have nothing to look at."""
    points, queries = grid(800, 17, 38), grid(QUERIES, 17, 39)
    for n in (0, 2, 330):
        tree = jitted_build(points, np.int32(n), leaf_size=4)
        limits = Limits(np.float32(np.inf), np.float32(0))
        found = searches(k=3)(tree, queries, limits, TreeMetric(2.0))
        distances, rows = (np.asarray(x) for x in found)
        assert (rows[:, n:] == n).all()
        assert np.isinf(distances[:, n:]).all()
        assert_exact(points[:n], queries, (distances[:, :n], rows[:, :n]), min(n, 3))


@pytest.mark.usefixtures("few_a_round")
def test_every_distance_between_points_nearly_as_far():
    """Distances differ by less than a product tells apart: who is left out is a neighbour lost."""
    rng = np.random.default_rng(37)
    away = rng.standard_normal((800, 17))
    away *= (1 + 1e-6 * rng.permutation(800))[:, None] / np.linalg.norm(away, axis=1)[:, None]
    points, queries = away.astype(np.float32), np.zeros((QUERIES, 17), np.float32)
    distances, _ = query(points, queries, k=8)
    exact = np.sort(np.linalg.norm(points.astype(float), axis=1))[:8]
    np.testing.assert_allclose(distances, np.broadcast_to(exact, (QUERIES, 8)), rtol=5e-7)


@pytest.mark.parametrize(("m", "k", "p", "box"), [(17, 3, 1.0, None), (20, 3, 2.0, (1.0,) * 20)])
def test_every_distance_where_products_do_not_serve(m, k, p, box):
    points, queries = uniform(POINTS, m, 35), uniform(QUERIES, m, 36)
    assert_as_scipy(points, queries, query(points, queries, k=k, p=p, box=box), k=k, p=p, box=box)
