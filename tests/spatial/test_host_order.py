"""The order in which SciPy searches many points changes nothing but the time it takes."""

import itertools

import numpy as np
import pytest

from jaxapi.spatial import KDTree
from jaxapi.spatial._host import _order, _searches
from jaxapi.spatial._host._order import spatial_order

MANY = 5000


@pytest.fixture(autouse=True)
def _many_are_fewer(monkeypatch):
    """Order queries, and search them in pieces, where tests have so many."""
    monkeypatch.setattr(_order, "_FEWEST", 1024)
    monkeypatch.setattr(_searches, "_EACH", 1024)


def queries(m, dtype):
    """Return points on whole numbers, where ties are frequent, the second axis always the same."""
    x = (
        np.random.default_rng(m)
        .integers(-9 if np.dtype(dtype).kind in "if" else 0, 9, (MANY, m))
        .astype(dtype)
    )
    x[:, 1:2] = 3
    return x


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.float16, np.float32, np.float64, bool])
@pytest.mark.parametrize("m", [1, 2, 3, 5])
def test_order_is_a_permutation(m, dtype):
    x = queries(m, dtype)
    order = spatial_order(x)
    assert sorted(order.tolist()) == list(range(MANY))
    first = x[order, 0].astype(float)
    if m <= 2:  # a grid as fine as this tells the whole numbers apart
        assert (np.diff(first) >= 0).all()


def test_points_close_to_each_other_follow_each_other():
    x = np.random.default_rng(0).random((MANY, 3))
    steps = [np.linalg.norm(np.diff(each, axis=0), axis=1).mean() for each in (x, x[spatial_order(x)])]
    assert steps[1] < steps[0] / 4


def test_no_order():
    """There is none of few points, and of those whose extent is no number."""
    x = np.zeros((MANY, 3))
    assert spatial_order(x).tolist() == list(range(MANY))
    assert spatial_order(x[:100]) is None
    for bad in (np.nan, np.inf, -np.finfo(float).max):
        x[0], x[1] = bad, np.finfo(float).max
        assert spatial_order(x) is None


@pytest.mark.parametrize("workers", [1, -1])
@pytest.mark.parametrize(("m", "boxsize"), [(1, None), (3, None), (3, [7, 0, 9])])
@pytest.mark.parametrize("k", [1, [4, 2]])
def test_results_of_many_queries(m, boxsize, k, workers):
    """All at once they are what they are a few at a time."""
    points = queries(m, np.uint8)[:300] % 7
    x = queries(m, np.float32)
    tree = KDTree(points, boxsize=boxsize)
    few = [tree.query(part, k=k) for part in np.split(x, 5)]
    assert len(x) // 5 < 1024 < len(x)
    for found, expected in zip(tree.query(x, k=k, workers=workers), zip(*few, strict=True), strict=True):
        np.testing.assert_array_equal(found, np.concatenate(expected))


@pytest.mark.parametrize("one_radius", [True, False])
@pytest.mark.parametrize("boxsize", [None, [7, 0, 9]])
def test_radius_searches_of_many_queries(boxsize, one_radius):
    """Lists, numbers and arrays belong to their queries, however many there are."""
    points, x = queries(3, np.uint8)[:300] % 7, queries(3, np.float64)
    tree = KDTree(points, boxsize=boxsize)
    r = 2.0 if one_radius else np.random.default_rng(0).integers(-1, 4, MANY)
    radii = np.broadcast_to(r, MANY)
    few = [
        tree.query_ball_point(part, radius)
        for part, radius in zip(np.split(x, 5), np.split(radii, 5), strict=True)
    ]
    lists = np.concatenate(few).tolist()
    counts = list(map(len, lists))
    assert tree.query_ball_point(x, r).tolist() == lists
    assert tree.query_ball_point(x.reshape(50, 100, 3), 2.0)[3, 4] == tree.query_ball_point(
        x[304], 2.0, return_sorted=True
    )
    assert tree.query_ball_point(x, r, return_length=True).tolist() == counts
    found = tree.query_radius(x, r)
    assert np.diff(found.indptr).tolist() == counts
    assert list(map(sorted, np.split(np.asarray(found.indices), np.asarray(found.indptr)[1:-1]))) == lists
    by_distance = tree.query_radius(x, r, sort=True)
    queried = np.repeat(np.arange(MANY), counts)
    order = np.lexsort((found.indices, found.distances, queried))
    np.testing.assert_array_equal(by_distance.indices, np.asarray(found.indices)[order])
    np.testing.assert_array_equal(by_distance.distances, np.asarray(found.distances)[order])
    fixed = tree.query_radius(x, r, max_neighbors=20)
    assert fixed.counts.tolist() == counts
    assert max(counts) > 20 > min(counts)
    nearest = np.asarray(by_distance.indices)
    for start, rows, count in zip(by_distance.indptr.tolist(), fixed.indices.tolist(), counts, strict=False):
        kept = nearest[start : start + min(count, 20)].tolist()
        assert rows == kept + [tree.n] * (20 - len(kept))


def test_many_queries_that_are_not_finite():
    x = np.zeros((MANY, 2))
    x[7] = np.nan
    with pytest.raises(ValueError, match="'x' must be finite"):
        KDTree(np.zeros((5, 2))).query(x)


@pytest.mark.parametrize("q", [0, 1, 1023, 1025, MANY])
def test_pieces_hold_every_query_once(q):
    for width, threads in itertools.product((1, 9, 5000), (1, 2, 16)):
        parts = _searches._parts(q, width, threads, fewest=64)
        assert [i for part in parts for i in range(q)[part]] == list(range(q))
        assert max((part.stop - part.start for part in parts), default=0) <= _searches._EACH


@pytest.mark.parametrize("workers", [None, 3])
def test_fewer_points_than_neighbours(workers):
    """In pieces as by a stable sort of all distances, which are exact here."""
    points, x = queries(2, np.float32)[:4], queries(2, np.float32)
    squares = ((x[:, None].astype(float) - points) ** 2).sum(axis=2)
    order = np.argsort(squares, axis=1, kind="stable")
    distances, rows = KDTree(points).query(x, 6, workers=workers)
    np.testing.assert_array_equal(rows, np.pad(order, ((0, 0), (0, 2)), constant_values=4))
    nearest = np.sqrt(np.take_along_axis(squares, order, axis=1)).astype(np.float32)
    np.testing.assert_array_equal(distances, np.pad(nearest, ((0, 0), (0, 2)), constant_values=np.inf))
