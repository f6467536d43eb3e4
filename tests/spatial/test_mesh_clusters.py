"""Components and DBSCAN of points on several devices: the labels of SciPy and scikit-learn of all points."""

import jax
import numpy as np
import pytest
from jax.sharding import NamedSharding, PartitionSpec
from meshes import SPREAD, mesh_of, spread
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree
from sklearn.cluster import DBSCAN

from jaxapi.spatial import KDTree

N = 240


def line(rng):
    """Return one line that goes through the boxes of all devices again and again, in no order."""
    t = np.linspace(0, 30, N)
    return rng.permutation(np.stack([np.abs(t % 4 - 2), t / 8], axis=1))


CLOUDS = {
    "line": line,
    "uniform": lambda rng: rng.random((N, 2)) * 4,
    "lattice": lambda rng: rng.integers(0, 16, (N, 2)) / 4,
    "copies": lambda rng: np.repeat(rng.random((N // 8, 2)) * 4, 8, axis=0),
    "halos": lambda rng: 2 + rng.normal(size=(N, 2)) * rng.choice([0.02, 0.6], (N, 1)),
    "one place": lambda rng: np.ones((N, 2)),
}


def expected(x, r, least, p, box, weights):
    """Return count, labels, cores and clusters by all pairs."""
    pairs = cKDTree(x, boxsize=box).query_pairs(r, p=p, output_type="ndarray")
    graph = coo_array((np.ones(len(pairs)), tuple(pairs.T)), shape=(len(x), len(x)))
    near = (graph + graph.T).toarray() + np.eye(len(x))
    clusters = DBSCAN(eps=0.5, min_samples=least, metric="precomputed").fit(1 - near, sample_weight=weights)
    core = np.isin(np.arange(len(x)), clusters.core_sample_indices_)
    return *connected_components(graph, directed=False), core, clusters.labels_


def assert_are(found, right):
    """Compare what was found of padded points."""
    np.testing.assert_array_equal(found[: len(right)], right)
    assert (np.asarray(found[len(right) :]) == -1).all()


@pytest.mark.thorough
def test_components_of_some_rows():
    """The last rows of 64 bits fill up what the devices have."""
    rng, sharding = np.random.default_rng(1), NamedSharding(mesh_of(8), SPREAD)
    for cloud in CLOUDS.values():
        x = cloud(rng)[: N - 1]
        tree = KDTree(x, sharding=sharding)
        for r in (0.0, 0.0625, 0.125, 0.25, 9.0):
            count, labels = tree.connected_components(r)
            right = expected(x, r, 4, 2.0, None, None)
            assert int(count) == right[0]
            assert_are(labels, right[1])
        assert labels.sharding.is_equivalent_to(sharding, 1)
        assert labels.dtype == count.dtype == np.int32


@pytest.mark.thorough
def test_dbscan_traced_in_a_box_with_weights():
    sharding = NamedSharding(mesh_of(4), SPREAD)
    tree = jax.jit(lambda x: KDTree(x, boxsize=4.0, sharding=sharding))
    run = jax.jit(lambda tree, r, weights: tree.dbscan(r, 4, p=np.inf, sample_weight=weights))
    rng = np.random.default_rng(0)
    for cloud in CLOUDS.values():
        x, weights = np.float32(cloud(rng)) % 4, np.float32(rng.integers(-1, 3, N) + 0.5)
        for r in np.float32([0.01, 0.126, 0.25, 9.0]):
            core, labels = run(tree(jax.device_put(x, sharding)), r, weights)
            right = expected(x, r, 4, np.inf, 4.0, weights)
            assert_are(core, right[2])
            assert_are(labels, right[3])
    x[7] = np.nan  # nobody's neighbour
    core, labels = run(tree(jax.device_put(x, sharding)), np.float32(9.0), np.ones(N, np.float32))
    np.testing.assert_array_equal(labels, np.where(np.arange(N) == 7, -1, 0))


@pytest.mark.daily
def test_components_inside_of_shard_map():
    mesh = mesh_of(2)
    x = np.random.default_rng(2).random((16, 2), np.float32)

    def search(x):
        count, labels = KDTree(x, axis_name="d").connected_components(0.2, p=1.0)
        return count[None], labels

    count, labels = jax.jit(jax.shard_map(search, mesh=mesh, in_specs=SPREAD, out_specs=SPREAD))(
        spread(mesh, x)
    )
    right = expected(x, 0.2, 3, 1.0, None, None)
    assert 1 < right[0] < 16
    assert count.tolist() == [right[0]] * mesh.size
    assert_are(labels, right[1])


@pytest.mark.daily
def test_what_is_refused():
    tree = KDTree(np.ones((8, 2)), sharding=NamedSharding(mesh_of(2), PartitionSpec("d")))
    with pytest.raises(ValueError, match="r must be at least 0"):
        tree.connected_components(-1.0)
    with pytest.raises(ValueError, match=r"of shape \(8,\), got \(3,\)"):
        tree.dbscan(1.0, sample_weight=np.ones(3))
