"""Periodic cells and clouds by the portable engine, beside brute force over images in float64."""

import jax
import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

from jaxapi.spatial import KDTree
from tests.spatial.test_cells import edge_set, images_within, without_points_themselves

CELL = np.array([[1.0, 0.0], [0.4, 0.9]], "float32")
PERIODIC = (True, True)
RADIUS = np.float32(0.45)


def points_of(n, seed=0):
    rng = np.random.default_rng(seed)
    return ((rng.random((n, 2)) + rng.integers(-2, 3, (n, 2))) @ CELL).astype("float32")


@pytest.mark.daily
def test_weighted_pairs_between_two_trees():
    """At radii that rounding decides, too."""
    line = np.arange(6, dtype=np.float32)[:, None] * np.float32(0.1) + np.float32(
        [[0], [3], [0], [-3], [0], [6]]
    )
    others = line[::2] + np.float32(0.1)
    weights = np.arange(1.0, 7.0, dtype=np.float32), np.array([2.0, -1.0, 5.0], np.float32)
    cell = np.float32([[0.75]])
    radii = np.float32([0.0, 0.1, 0.2, 0.4, 0.8])

    @jax.jit
    def count(line, others, radii):
        tree, other = (KDTree(x, cell=cell, engine="lax") for x in (line, others))
        return (
            tree.count_neighbors(other, radii),
            tree.count_neighbors(other, radii, weights=weights, cumulative=False),
        )

    counts, sums = count(line, others, radii)
    found = images_within(others, line, 0.9, cell, (True,))
    # Distances are those of float32, rounded once.
    distances = {key: np.float32(distance) for key, distance in found.items()}
    expected = [sum(d <= r for d in distances.values()) for r in radii]
    assert counts.tolist() == expected
    totals = [
        sum(weights[0][i] * weights[1][j] for (i, j, _), d in distances.items() if d <= r) for r in radii
    ]
    np.testing.assert_allclose(sums, np.diff(totals, prepend=0), rtol=1e-6)


@pytest.mark.daily
def test_lists_in_pieces(monkeypatch):
    points, x = points_of(7), points_of(11, seed=1)
    tree = KDTree(points, cell=CELL, engine="lax")
    found = images_within(points, x, RADIUS, CELL, PERIODIC)
    monkeypatch.setattr(
        "jaxapi.spatial._cells._program_searcher.NEIGHBORS_AT_ONCE", 32
    )  # four queries, of eight each
    near = tree.query_radius(x, RADIUS, sort=True)
    counts = np.bincount([key[0] for key in found], minlength=11)
    assert counts.max() <= 8
    assert np.diff(near.indptr).tolist() == counts.tolist()
    keys = zip(near.receivers.tolist(), near.indices.tolist(), *near.shifts.T.tolist(), strict=True)
    expected = sorted(found, key=lambda key: (key[0], found[key]))
    assert list(keys) == expected
    np.testing.assert_allclose(near.distances, [found[key] for key in expected], rtol=1e-5, atol=1e-6)
    rows = [sorted(j for i, j, *_ in found if i == query) for query in range(11)]
    assert tree.query_ball_point(x, RADIUS, return_sorted=True).tolist() == rows
    few = np.where(np.arange(11) < 5, RADIUS, 0.0).astype("float32")
    assert [len(each) for each in tree.query_ball_point(x, few)] == np.where(few > 0, counts, 0).tolist()


@pytest.mark.thorough
def test_graphs(monkeypatch):
    points = points_of(9)
    found = images_within(points, points, RADIUS, CELL, PERIODIC)
    edges = without_points_themselves(found)
    tree = KDTree(points, cell=CELL, engine="lax")
    graph = tree.radius_graph(RADIUS)
    assert int(graph.count) == len(graph.senders) == len(edges)
    assert edge_set(graph) == edges
    few = tree.radius_graph(RADIUS, max_edges=5)
    assert bool(few.did_buffer_overflow)
    assert int(few.count) == len(edges)
    assert edge_set(few) < edges
    monkeypatch.setattr(
        "jaxapi.spatial._cells._program_searcher.EDGES_AT_FIRST", 5
    )  # all are searched for again
    again = tree.radius_graph(RADIUS)
    assert int(again.count) == len(again.senders) == len(edges)
    assert edge_set(again) == edges


@pytest.mark.daily
def test_clusters():
    points = points_of(9)
    found = images_within(points, points, RADIUS, CELL, PERIODIC)
    tree = KDTree(points, cell=CELL, engine="lax")
    counts = np.bincount([key[0] for key in found], minlength=9)
    at_least = int(np.median(counts))
    clusters = tree.dbscan(RADIUS, at_least)
    np.testing.assert_array_equal(clusters.core, counts >= at_least)


@pytest.mark.daily
def test_clouds_without_a_cell():
    """In float32 they lie in one tree, apart from each other."""
    points = points_of(11)
    ids = np.array([3, 0, 3, 3, 0, 7, 0, 3, 0, 3, 0])
    apart = np.linalg.norm(points[None].astype(float) - points[:, None], axis=2)
    radius = np.float32(1.6)
    is_near = (apart <= radius) & (ids == ids[:, None])
    weights = np.where(np.arange(11) % 3 == 0, 2.0, 1.0).astype("float32")

    @jax.jit
    def search(points, radius):
        tree = KDTree(points, batch=ids, engine="lax")
        return {
            "graph": tree.radius_graph(radius, max_edges=120),
            "components": tree.connected_components(radius),
            "dbscan": tree.dbscan(radius, 4, sample_weight=weights),
            "all": tree.connected_components(np.float32(np.inf)),
        }

    found = search(points, radius)
    edges = found["graph"]
    is_edge = is_near & ~np.eye(11, dtype=bool)
    assert int(edges.count) == is_edge.sum()
    pairs = set(zip(edges.receivers.tolist(), edges.senders.tolist(), strict=True)) - {(11, 11)}
    assert pairs == set(zip(*(each.tolist() for each in np.nonzero(is_edge)), strict=True))
    count, labels = connected_components(is_near)
    assert int(found["components"].count) == count
    np.testing.assert_array_equal(found["components"].labels, labels)
    np.testing.assert_array_equal(found["dbscan"].core, is_near @ weights >= 4)
    assert int(found["all"].count) == 3
    for n in (0, 4):
        fewer = KDTree(points, batch=ids, n=n, engine="lax").connected_components(radius)
        assert int(fewer.count) == (connected_components(is_near[:n, :n])[0] if n else 0)


@pytest.mark.daily
def test_nearest():
    points, x = points_of(5), points_of(4, seed=2)
    tree = KDTree(points, cell=CELL, engine="lax")
    within = images_within(points, x, 2.0, CELL, PERIODIC)
    distances, rows, shifts = tree.query(x, [1, 6], return_shifts=True)
    vectors = points[np.asarray(rows)] + np.asarray(shifts) @ CELL - x[:, None]
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=2), distances, rtol=1e-5)
    for i in range(4):
        nearest = sorted(d for key, d in within.items() if key[0] == i)
        np.testing.assert_allclose(distances[i], [nearest[0], nearest[5]], rtol=1e-6)


@pytest.mark.thorough
def test_few_neighbors():
    points, x = points_of(5), points_of(4, seed=2)
    tree = KDTree(points, cell=CELL, engine="lax")
    within = images_within(points, x, 2.0, CELL, PERIODIC)
    cut = tree.query_radius(x, RADIUS, max_neighbors=2)
    for i in range(4):
        near = sorted(d for key, d in within.items() if key[0] == i and d <= RADIUS)
        assert int(cut.counts[i]) == len(near)
        np.testing.assert_allclose(cut.distances[i][: len(near)], near[:2], rtol=1e-6)
