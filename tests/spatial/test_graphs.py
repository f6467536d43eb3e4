"""k-NN graphs, displacements, great circles, and what results tell about themselves."""

import jax
import numpy as np
import pytest
from scipy.spatial import KDTree as SciPyTree

from jaxapi.spatial import KDTree, chord_length, great_circle_distance, unit_vectors

RNG = np.random.default_rng(4)
POINTS = np.repeat(RNG.random((20, 3)), 2, axis=0)  # each one twice
QUERIES = RNG.random((6, 3)) * 1.4 - 0.2
BOX = np.array([1.0, 0.0, 1.3])


def others(points, k):
    """Return the distances and rows of the k nearest other points, from all pairs, equal ones by row."""
    distances = np.linalg.norm(points[:, None] - points[None], axis=-1)
    np.fill_diagonal(distances, np.inf)
    rows = np.argsort(distances, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(distances, rows, axis=1), rows


@pytest.mark.daily
@pytest.mark.parametrize("k", [1, 4])
def test_kneighbors_leave_the_point_itself_out_and_keep_its_duplicates(radius_engine, k):
    expected, rows = others(POINTS, k)
    tree = KDTree(POINTS)
    found = [tree.kneighbors(k)]
    if radius_engine == "natural":
        found.append(jax.jit(lambda tree: tree.kneighbors(k))(tree))
    for distances, neighbours in found:
        np.testing.assert_array_equal(neighbours, rows)
        np.testing.assert_allclose(distances, expected, rtol=1e-14, atol=1e-15)


def test_more_duplicates_than_neighbours():
    """The point itself is not among the k + 1 nearest, and yet there are k others."""
    distances, rows = KDTree(np.zeros((9, 2))).kneighbors(2)
    assert rows.tolist() == [[1, 2], [0, 2]] + [[0, 1]] * 7
    assert not np.asarray(distances).any()
    with pytest.raises(ValueError, match="k must be at least 1"):
        KDTree(POINTS).kneighbors(0)


def test_knn_graph():
    graph = KDTree(POINTS).knn_graph(3)
    _, rows = others(POINTS, 3)
    np.testing.assert_array_equal(graph.senders, rows.reshape(-1))
    np.testing.assert_array_equal(graph.receivers, np.repeat(np.arange(40), 3))
    assert int(graph.count) == 120
    few = KDTree([[0.0], [1.0]]).knn_graph(2)
    assert few.senders.tolist() == [1, 2, 0, 2]
    assert few.receivers.tolist() == [0, 2, 1, 2]
    assert few.distances.tolist() == [1.0, np.inf, 1.0, np.inf]
    assert int(few.count) == 2
    loops = KDTree([[0.0], [1.0], [3.0]]).knn_graph(2, loop=True)
    assert loops.senders.tolist() == [0, 1, 1, 0, 2, 1]


def test_displacements_are_the_shortest_in_a_periodic_box():
    tree = KDTree(POINTS, boxsize=BOX)
    found = tree.query_radius(QUERIES, 0.4, max_neighbors=50)
    vectors = np.asarray(tree.displacements(QUERIES, found.indices))
    there = np.isfinite(found.distances)
    lengths = np.linalg.norm(vectors, axis=-1)
    np.testing.assert_allclose(lengths[there], np.asarray(found.distances)[there], rtol=1e-13)
    assert not lengths[~there].any()
    images = QUERIES[:, None] + vectors - POINTS[np.where(there, found.indices, 0)]
    images /= np.where(BOX > 0, BOX, 1)
    np.testing.assert_allclose(images[there], np.round(images[there]), atol=1e-13)
    one = tree.displacements(QUERIES[0], 3)
    assert one.shape == (3,)
    with pytest.raises(ValueError, match="must begin with"):
        tree.displacements(QUERIES, np.zeros((2, 3), int))
    with pytest.raises(TypeError, match="indices must be integers"):
        tree.displacements(QUERIES[0], 1.0)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_displacements_to_rows_of_few_bits(radius_engine, dtype):
    points = np.arange(2000.0)[:, None] * 10
    tree = KDTree(points)
    rows = np.array([[0, 1, 127]], dtype)
    for given in (rows, jax.numpy.asarray(rows)):
        assert tree.displacements(points[:1], given).tolist() == [[[0.0], [10.0], [1270.0]]]
    by_jit = jax.jit(tree.displacements)(points[:1], rows)
    assert by_jit.tolist() == [[[0.0], [10.0], [1270.0]]]


def test_edges_of_points_to_themselves_where_others_were_left_out(radius_engine):
    tree = KDTree(np.arange(5.0)[:, None] * 10)
    graph = tree.radius_graph(1.0, loop=True, max_edges=3)
    assert graph.senders.tolist() == graph.receivers.tolist() == [0, 1, 2]
    assert graph.mask.tolist() == [True] * 3
    assert int(graph.count) == 5


@pytest.mark.thorough("lax")
def test_results_tell_queries_and_overflow(radius_engine):
    tree = KDTree(POINTS)
    for radius in (0.0, 0.3, 2.0):
        found = tree.query_radius(QUERIES, radius)
        numbers = np.repeat(np.arange(6), np.diff(found.indptr))
        np.testing.assert_array_equal(found.receivers, numbers)
    # what just fits at one radius does not at the next distance
    oracle = SciPyTree(POINTS)
    limit = oracle.query_ball_point(QUERIES, 0.3, return_length=True).max()
    for radius in (0.3, oracle.query(QUERIES, k=limit + 1)[0][:, -1].min() * (1 + 1e-12)):
        fixed = tree.query_radius(QUERIES, radius, max_neighbors=limit)
        assert bool(fixed.did_buffer_overflow) == (radius > 0.3)
        most = int(np.asarray(fixed.counts).argmax())
        one = tree.query_radius(QUERIES[most], radius, max_neighbors=limit)
        assert bool(one.did_buffer_overflow) == (radius > 0.3)
    apart = np.linalg.norm(POINTS[:, None] - POINTS, axis=-1)[np.triu_indices(40, 1)]
    size = int((apart <= 0.3).sum())
    for radius in (0.3, apart[apart > 0.3].min() * (1 + 1e-12)):
        assert bool(tree.query_pairs(radius, max_pairs=size).did_buffer_overflow) == (radius > 0.3)
        assert bool(tree.radius_graph(radius, max_edges=2 * size).did_buffer_overflow) == (radius > 0.3)


def test_great_circles_cross_poles_and_the_date_line():
    """The haversine formula gives the distances, and the order of all."""
    latlon = np.radians(np.stack([RNG.uniform(-90, 90, 60), RNG.uniform(-180, 180, 60)], axis=1))
    latlon[:4] = np.radians([[89.9, 0.0], [89.9, 180.0], [0.1, 179.9], [0.0, -179.9]])
    lat, lon = latlon.T
    half = np.sin((lat[:, None] - lat) / 2) ** 2
    half += np.cos(lat[:, None]) * np.cos(lat) * np.sin((lon[:, None] - lon) / 2) ** 2
    expected = 2 * np.arcsin(np.sqrt(half))
    np.fill_diagonal(expected, np.inf)
    tree = KDTree(unit_vectors(latlon))
    chords, rows = tree.kneighbors(5)
    np.testing.assert_array_equal(rows, np.argsort(expected, axis=1)[:, :5])
    np.testing.assert_allclose(great_circle_distance(chords), np.sort(expected, axis=1)[:, :5], rtol=1e-9)
    assert rows[:4, 0].tolist() == [1, 0, 3, 2]
    within = tree.query_ball_point(unit_vectors(latlon), chord_length(0.5), return_length=True)
    np.testing.assert_array_equal(within, (expected <= 0.5).sum(axis=1) + 1)
    assert great_circle_distance(np.inf) == np.inf
    with pytest.raises(ValueError, match="latitude and longitude"):
        unit_vectors(np.zeros((3, 3)))


def test_repr():
    text = repr(KDTree(POINTS.astype(np.float32), boxsize=2.0))
    assert text.startswith("KDTree(n=40, m=3, dtype=float32, engine=")
    assert "boxsize=(2.0, 2.0, 2.0)" in text
