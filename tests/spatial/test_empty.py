"""Inputs without points or queries: no warning, and nothing that ``numpy.seterr(all="raise")`` raises."""

import warnings

import numpy as np
import pytest

from jaxapi import spatial
from jaxapi.interpolate import NearestNDInterpolator, RBFInterpolator
from jaxapi.spatial import KDTree


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "space",
    [{}, {"boxsize": 1.0}, {"cell": np.eye(3) + 0.1}, {"cell": np.eye(3), "periodic": (True, False, True)}],
    ids=["plain", "box", "cell", "partly periodic"],
)
def test_empty_inputs_compute_nothing_invalid(space, dtype):
    points = np.random.default_rng(0).random((7, 3)).astype(dtype)
    empty = np.zeros((0, 3), dtype)
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        for data, x in ((empty, points), (points, empty), (empty, empty)):
            tree = KDTree(data, **space)
            assert np.isinf(tree.query(x, k=2)[0]).all()
            assert tree.query_ball_point(x, 0.1, return_length=True).tolist() == [0] * len(x)
            assert tree.query_radius(x, 0.1).indices.shape == (0,)
            assert tree.query_radius(x, 0.1, max_neighbors=3).counts.tolist() == [0] * len(x)
        assert tree.radius_graph(0.1).senders.shape == tree.knn_graph(2).senders.shape == (0,)
        assert tree.connected_components(0.1).count == 0
        assert tree.dbscan(0.1).labels.shape == (0,)


@pytest.mark.thorough
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_empty_rows_compute_nothing_invalid(dtype):
    points = np.random.default_rng(0).random((7, 3)).astype(dtype)
    empty = np.zeros((0, 3), dtype)
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        assert spatial.unit_vectors(empty[:, :2]).shape == (0, 3)
        assert spatial.great_circle_distance(empty[:, 0]).shape == (0,)
        assert spatial.single_linkage(np.zeros((0, 2), int), empty[:, 0]).shape == (0, 4)
        with pytest.raises(ValueError, match="at least one row"):
            spatial.distance.directed_hausdorff(empty, points)
        for metric in ("euclidean", "cosine", "correlation", "braycurtis", "hamming", "jensenshannon"):
            assert spatial.distance.cdist(empty, points, metric).shape == (0, 7)
            assert spatial.distance.pdist(points[:1], metric).shape == (0,)
        assert RBFInterpolator(points, points[:, 0])(empty).shape == (0,)
        assert NearestNDInterpolator(points, points[:, 0])(empty).shape == (0,)
        for rescale in (False, True):
            nearest = NearestNDInterpolator(empty, empty[:, 0], rescale=rescale)
            assert np.isnan(nearest(points)).tolist() == [True] * 7
        with pytest.raises(ValueError, match="At least 4 data points"):
            RBFInterpolator(empty, empty[:, 0])
