"""What holds for every cloud, whatever the engine: needs no oracle but the distances themselves."""

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import KDTree as SciPyTree
from strategies import clouds

from jaxapi.spatial import KDTree

SEARCH = jax.jit(lambda tree, x: tree.query(x, k=3))


def nearest_by_hand(points, x, k):
    """Return squared distances and rows in order of (squared distance, row), from every pair."""
    squares = ((x[:, None] - points[None]) ** 2).sum(-1)
    order = np.argsort(squares, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(squares, order, axis=1), order


def both(points, x):
    """Yield what the concrete and the traced search find."""
    tree = KDTree(points.astype(np.float32))
    yield tree.query(x.astype(np.float32), k=3)
    yield SEARCH(tree, x.astype(np.float32))


@pytest.mark.daily
@given(clouds())
def test_no_closer_point_is_left_out(cloud):
    """Distances are sorted, belong to their rows, and no other row is nearer."""
    points, x = cloud
    expected, _ = nearest_by_hand(points, x, 3)
    there = expected.shape[1]
    for distances, rows in both(points, x):
        distances, rows = np.asarray(distances), np.asarray(rows)
        assert np.isinf(distances[:, there:]).all()
        assert (rows[:, there:] == len(points)).all()
        distances, rows = distances[:, :there], rows[:, :there]
        assert (np.diff(distances, axis=1) >= 0).all()
        assert all(len(set(line)) == there for line in rows)
        own = np.sqrt(((points[rows] - x[:, None]) ** 2).sum(-1))
        np.testing.assert_allclose(distances, own, rtol=1e-6)
        np.testing.assert_allclose(distances, np.sqrt(expected), rtol=1e-6)


@given(clouds(sizes=(30,)), st.sampled_from([1, 5, 12]))
def test_equal_distances_go_to_the_lowest_row(cloud, k):
    """On whole numbers, where distances are exact, the rows are those of a stable sort."""
    points, x = (np.round(np.clip(side, -64, 64)) for side in cloud)
    _, expected = nearest_by_hand(points, x, k)
    np.testing.assert_array_equal(KDTree(points).query(x, k=range(1, k + 1))[1], expected)
    if KDTree(points).engine == "scipy":
        np.testing.assert_array_equal(SEARCH(KDTree(points), x)[1], nearest_by_hand(points, x, 3)[1])


@given(clouds(sizes=(30,)))
def test_order_of_the_points_does_not_matter(cloud):
    """A permutation of the points permutes the rows."""
    points, x = cloud
    order = np.random.default_rng(0).permutation(len(points))
    for (distances, _), (again, rows) in zip(both(points, x), both(points[order], x), strict=True):
        np.testing.assert_array_equal(distances, again)
        own = np.sqrt(((points[order][np.asarray(rows)] - x[:, None]) ** 2).sum(-1))
        np.testing.assert_allclose(again, own, rtol=1e-6)


@given(clouds(sizes=(30,)), st.sampled_from([-2.0, 3.0]))
def test_whole_boxes_further_is_the_same_place(cloud, boxes):
    """In a periodic box a query and its image have the same neighbours."""
    points, x = (np.round(np.clip(side, -64, 64)) % 8 for side in cloud)
    tree = KDTree(points, boxsize=8.0)
    here, there = tree.query(x, k=3), tree.query(x + 8 * boxes, k=3)
    np.testing.assert_array_equal(here[0], there[0])
    np.testing.assert_array_equal(here[1], there[1])


def test_many_equal_points():
    """Ties far beyond k, at the k-th place too."""
    points = np.repeat([[0.0, 0.0], [1.0, 0.0]], 500, axis=0)
    tree = KDTree(points)
    x = np.zeros((3, 2))
    for search in (tree.query, jax.jit(tree.query, static_argnums=1)):
        assert search(x, 3)[1].tolist() == [[0, 1, 2]] * 3
    assert tree.query([[0.5, 0.0]], k=4)[1].tolist() == [[0, 1, 2, 3]]
    distances, rows = tree.query([[0.0, 0.0]], k=range(499, 503))
    assert distances.tolist() == [[0.0, 0.0, 1.0, 1.0]]
    assert rows.tolist() == [[498, 499, 500, 501]]


def test_large_k():
    """More neighbours than any register file holds."""
    points = np.random.default_rng(0).random((3000, 3)).astype(np.float32)
    expected, expected_rows = nearest_by_hand(points.astype(float), points[:5].astype(float), 1500)
    for search in (KDTree(points).query, jax.jit(KDTree(points).query, static_argnums=1)):
        distances, rows = search(points[:5], 1500)
        np.testing.assert_allclose(distances, np.sqrt(expected), rtol=2e-6, atol=1e-7)
        assert (np.asarray(rows) == expected_rows).mean() > 0.99


@pytest.mark.thorough("lax", "e-31")
@pytest.mark.parametrize("m", [3, 20])
@pytest.mark.parametrize("unit", [2.0**-100, 2.0**85])
def test_units_change_no_digit(m, unit, radius_kernel):
    """Squares of such distances vanish, or overflow, in float32."""
    rng = np.random.default_rng(m)
    points, x = rng.random((60, m), np.float32), rng.random((40, m), np.float32)
    unit = np.float32(unit)
    tree, other = KDTree(points), KDTree(points * unit)
    distances, rows = tree.query(x, 3)
    found = other.query(x * unit, 3)
    np.testing.assert_array_equal(found[0], distances * unit)
    np.testing.assert_array_equal(found[1], rows)
    if m == 3:
        r = np.float32(0.3)
        counts = tree.query_ball_point(x, r, return_length=True)
        assert 0 < counts.mean() < 30
        np.testing.assert_array_equal(other.query_ball_point(x * unit, r * unit, return_length=True), counts)
        assert other.count_neighbors(other, r * unit) == tree.count_neighbors(tree, r)


@pytest.mark.thorough("lax")
@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 4.0, np.inf])
def test_queries_from_afar(p, radius_kernel):
    """All points are as near then, so that the first rows are the nearest; nearer queries keep their own."""
    if (p, radius_kernel) == (1.5, "cuda"):
        return  # to the kernels that is an order as any other
    points = np.random.default_rng(0).random((60, 3), np.float32)
    x = np.array([[1e20, 0, -3e19], [2e38, -1e38, 0], [0.5, 0.5, 0.5], [-7e30, 1, 1]], np.float32)
    distances, rows = map(np.asarray, KDTree(points).query(x, 2, p=p))
    far = [0, 1, 3]
    expected = [2.0**100 * np.linalg.norm(row / 2.0**100, p) for row in x[far].astype(np.float64)]
    np.testing.assert_allclose(distances[far], np.stack([expected, expected], axis=1), rtol=2e-6)
    np.testing.assert_array_equal(rows[far], [[0, 1]] * 3)
    near = np.linalg.norm((points - x[2]).astype(np.float64), p, axis=1)
    np.testing.assert_array_equal(rows[2], np.argsort(near)[:2])
    np.testing.assert_allclose(distances[2], np.sort(near)[:2], rtol=2e-6)
    assert (np.asarray(KDTree(points).query(x, 2, p=p, distance_upper_bound=1e19)[1])[far] == 60).all()


@pytest.mark.daily
def test_far_queries_of_a_cloud_far_from_the_origin():
    """The cloud's place is a part of the way to it, whose powers overflow."""
    points = np.float32([[2**22, 0, 0], [2**22 + 1, 0, 0], [2**22, 1, 0]])
    x = np.float32([[2.0**e, 0, 0] for e in (23, 31, 36, 64)])
    distances = KDTree(points, engine="lax").query(x, p=4.0)[0]
    np.testing.assert_allclose(distances, SciPyTree(points).query(x, p=4.0)[0], rtol=1e-6)


@pytest.mark.thorough
def test_far_queries_in_a_box(radius_kernel):
    """Their nearest images count. The origin is not far."""
    points = np.random.default_rng(0).random((40, 2), np.float32) * np.float32(1e-21)
    x = np.float32([[0.9, 0.05], [0.3, 0.2], [0.5, 0.99], [0, 0]])
    right, other = SciPyTree(points.astype(float), boxsize=1), SciPyTree(x.astype(float), boxsize=1)
    tree, reach = KDTree(points, boxsize=1), np.float32([0.2, 0.4, 0.45, 1e-30])
    np.testing.assert_allclose(tree.query(x)[0], right.query(x.astype(float))[0], rtol=1e-6)
    counts = right.query_ball_point(x.astype(float), reach, return_length=True)
    np.testing.assert_array_equal(tree.query_ball_point(x, reach, return_length=True), counts)
    pairs = right.count_neighbors(other, [0.2, 0.4])
    np.testing.assert_array_equal(tree.count_neighbors(KDTree(x), [0.2, 0.4]), pairs)


@pytest.mark.thorough
def test_radii_as_far_as_the_queries(radius_kernel):
    points = np.random.default_rng(0).random((60, 3), np.float32)
    x = np.array([[1e20, 0, -3e19], [2e38, -1e38, 0], [0.5, 0.5, 0.5], [-7e30, 1, 1]], np.float32)
    tree, other = KDTree(points), KDTree(x)
    right, right_other = SciPyTree(points.astype(float)), SciPyTree(x.astype(float))
    for r in np.float32([[1.1e20, 2e38, 0.4, 7.1e30], [1e30] * 4]):
        counts = right.query_ball_point(x, r, return_length=True)
        np.testing.assert_array_equal(tree.query_ball_point(x, r, return_length=True), counts)
        fixed, found = tree.query_radius(x, r, max_neighbors=64), tree.query_radius(x, r, sort=True)
        np.testing.assert_array_equal(fixed.counts, counts)
        np.testing.assert_array_equal(np.diff(found.indptr), counts)
        ways = (points[found.indices] - np.repeat(x, counts, axis=0).astype(float)) / 2.0**100
        np.testing.assert_allclose(found.distances, np.linalg.norm(ways, axis=1) * 2.0**100, rtol=2e-6)
        np.testing.assert_array_equal(fixed.distances[np.isfinite(fixed.distances)], found.distances)
    weights, radii = (np.array([1.0, 2.0, 3.0, 4.0]), np.arange(60.0)), [0.4, 1e30, 2.5e38]
    assert other.count_neighbors(tree, radii).tolist() == right_other.count_neighbors(right, radii).tolist()
    weighed = right_other.count_neighbors(right, radii, weights=weights)
    np.testing.assert_allclose(other.count_neighbors(tree, radii, weights=weights), weighed, rtol=1e-6)
