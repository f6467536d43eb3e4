"""The order in which SciPy searches many points changes nothing but the time it takes."""

import numpy as np
import pytest

from jaxapi.spatial import KDTree

MANY = 17_000  # are ordered, and searched in pieces
PARTS = 5  # none of which is


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
def test_each_query_gets_its_own_answer(m, dtype):
    """The points are the places of the queries, each of which is its own nearest."""
    x = queries(m, dtype)
    places, place = np.unique(x, axis=0, return_inverse=True)
    distances, rows = KDTree(places).query(x)
    np.testing.assert_array_equal(rows, place.ravel())
    assert not np.any(distances)


@pytest.mark.parametrize("far", [0.0, np.finfo(float).max, -np.finfo(float).max])
def test_queries_whose_extent_is_no_number(far):
    """Or that are all in one place."""
    x = np.zeros((MANY, 3))
    x[0], x[1] = far, -far
    points = np.array([[0.0, 0, 0], [0, 1, 0]])
    distances, rows = KDTree(points).query(x)
    assert not np.any(np.asarray(distances)[2:])
    assert not np.any(np.asarray(rows)[2:])


@pytest.mark.parametrize("workers", [1, -1])
@pytest.mark.parametrize(("m", "boxsize"), [(1, None), (3, None), (3, [7, 0, 9])])
@pytest.mark.parametrize("k", [1, [4, 2]])
def test_results_of_many_queries(m, boxsize, k, workers):
    """All at once they are what they are a few at a time."""
    points = queries(m, np.uint8)[:300] % 7
    x = queries(m, np.float32)
    tree = KDTree(points, boxsize=boxsize)
    few = [tree.query(part, k=k) for part in np.split(x, PARTS)]
    for found, expected in zip(tree.query(x, k=k, workers=workers), zip(*few, strict=True), strict=True):
        np.testing.assert_array_equal(found, np.concatenate(expected))


@pytest.mark.thorough
@pytest.mark.daily("boxsize1-True")
@pytest.mark.parametrize("one_radius", [True, False])
@pytest.mark.parametrize("boxsize", [None, [7, 0, 9]])
def test_radius_search_of_many_queries(boxsize, one_radius):
    """Lists, numbers and arrays belong to their queries, however many there are."""
    points, x = queries(3, np.uint8)[:300] % 7, queries(3, np.float64)
    tree = KDTree(points, boxsize=boxsize)
    r = 2.0 if one_radius else np.random.default_rng(0).integers(0, 4, MANY)
    radii = np.broadcast_to(r, MANY)
    few = [
        tree.query_ball_point(part, radius)
        for part, radius in zip(np.split(x, PARTS), np.split(radii, PARTS), strict=True)
    ]
    lists = np.concatenate(few).tolist()
    counts = list(map(len, lists))
    assert tree.query_ball_point(x, r).tolist() == lists
    assert tree.query_ball_point(x.reshape(170, 100, 3), 2.0)[3, 4] == tree.query_ball_point(
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
@pytest.mark.parametrize("workers", [1, 2, 16])
def test_pieces_hold_every_query_once(q, workers):
    """However many there are, for however many threads and neighbours: on a line the nearest are known."""
    points = np.arange(64.0)[:, None]
    x = np.random.default_rng(q).permutation(q)[:, None] % 60 + 0.25
    for k in (1, 3):
        rows = np.asarray(KDTree(points).query(x, k, workers=workers)[1]).reshape(q, k)
        nearest = np.floor(x).astype(int) + np.array([0, 1, -1])
        is_first = np.floor(x) == 0
        expected = np.where(is_first, [0, 1, 2], nearest)[:, :k]
        np.testing.assert_array_equal(rows, expected)


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


@pytest.mark.parametrize("r", [0.05, 0.3, 2.0])
def test_room_for_many_neighbours(r):
    """Whether they are few or many, and in an order by distance, then row."""
    rng = np.random.default_rng(4)
    points, x = rng.integers(0, 64, (400, 2)) / 64, rng.integers(0, 64, (50, 2)) / 64
    squares = ((x[:, None] - points) ** 2).sum(axis=2)
    counts = (squares <= r * r).sum(axis=1)
    found = KDTree(points).query_radius(x, r, max_neighbors=150)
    np.testing.assert_array_equal(found.counts, counts)
    order = np.argsort(squares, axis=1, kind="stable")[:, :150]
    there = np.arange(150) < counts[:, None]
    np.testing.assert_array_equal(found.indices, np.where(there, order, 400))
    nearest = np.sqrt(np.take_along_axis(squares, order, axis=1))
    np.testing.assert_array_equal(found.distances, np.where(there, nearest, np.inf))


@pytest.mark.parametrize("limit", [150, 400])
@pytest.mark.parametrize("one_radius", [True, False])
def test_many_neighbours_of_a_query_where_some_have_more(one_radius, limit):
    """Dense and empty places, duplicates and ties: the nearest by distance and row, and the true counts."""
    rng = np.random.default_rng(7)
    points = np.concatenate([rng.integers(0, 6, (900, 2)), rng.integers(20, 90, (300, 2))]).astype(float)
    x = np.concatenate([points[:900:200], points[900::12], [[50.5, 50.5], [-1e6, 0.0]]])
    radii = np.full(len(x), 5.0) if one_radius else np.linspace(4, 5, len(x))
    found = KDTree(points).query_radius(x, radii, max_neighbors=limit)
    squares = ((x[:, None] - points) ** 2).sum(-1)
    order = np.argsort(squares, axis=1, kind="stable")[:, :limit]
    near = np.take_along_axis(squares, order, axis=1)
    is_near = near <= radii[:, None] ** 2
    np.testing.assert_array_equal(found.indices, np.where(is_near, order, len(points)))
    np.testing.assert_array_equal(found.distances, np.where(is_near, np.sqrt(near), np.inf))
    counts = (squares <= radii[:, None] ** 2).sum(1)
    np.testing.assert_array_equal(found.counts, counts)
    assert counts.max() > limit > counts.mean(), "some have more, and there is room for most"
