"""A KDTree over points on several devices gives the answers of one device.

The CPU plays eight devices (`tests/conftest.py`); where there are several GPUs, these are taken. A program
for several devices takes seconds to compile, so each is compiled for one shape and serves many clouds.
"""

import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding, PartitionSpec
from scipy.spatial import KDTree as SciPyTree

from jaxapi.spatial import KDTree
from jaxapi.spatial._mesh import _rounds
from jaxapi.spatial._mesh._axes import Axes
from jaxapi.spatial._mesh._partition import partition, shares

EACH = 24  # points on a device
K = 30  # more than a device has
SPREAD = PartitionSpec("d")


def mesh_of(count, kind=AxisType.Auto):
    """Return a mesh of so many devices, of all GPUs where these are fewer."""
    devices = [device for device in jax.devices() if device.platform == "gpu"]
    devices = devices if len(devices) > 1 else jax.devices("cpu")
    count = min(count, len(devices))
    return jax.make_mesh((count,), ("d",), axis_types=(kind,), devices=devices[:count])


def spread(mesh, *arrays):
    """Put arrays on a mesh, sharded along axis 0."""
    placed = jax.device_put(arrays, NamedSharding(mesh, SPREAD))
    return placed[0] if len(arrays) == 1 else placed


def nearest(points, queries, k):
    """Return distances and rows of the nearest, of equally distant points the lowest rows first."""
    points, queries = points.astype(np.float64), queries.astype(np.float64)
    squares = np.square(queries[:, None] - points).sum(axis=2)
    rows = np.lexsort((np.broadcast_to(np.arange(len(points)), squares.shape), squares))[:, :k]
    return np.sqrt(np.take_along_axis(squares, rows, axis=1)), rows


def agree(found, expected):
    """Compare distances and rows with those of `nearest`."""
    distances, rows = map(np.asarray, found)
    np.testing.assert_array_equal(rows, expected[1])
    np.testing.assert_allclose(distances, expected[0], rtol=1e-5)


def clouds(n):
    """Return points and queries that lie in all kinds of ways."""
    rng = np.random.default_rng(18)
    uniform, others = rng.random((2, n, 3), np.float32)
    centres = rng.random((4, 3), np.float32)[rng.integers(0, 4, n)]
    grid = rng.permutation(np.stack(np.meshgrid(*[np.arange(8)] * 3), -1).reshape(-1, 3))[:n].astype(
        np.float32
    )
    return {
        "uniform": (uniform, others),
        "sorted": (uniform[np.argsort(uniform[:, 0])], others),
        "clusters": (centres + 2**-6 * uniform, others),
        "equal points": (np.ones_like(uniform), np.round(others)),
        "grid, with ties": (grid, rng.permutation(grid)),
        "half equal": (np.where(uniform[:, :1] < 0.5, np.float32(0.5), uniform), others),
        "queries in a corner": (uniform, others / 16),
        "queries at one point": (uniform, np.broadcast_to(others[:1], others.shape)),
        "far queries": (np.round(uniform * 16), np.round(others * 400 - 200)),
    }


NAMES = list(clouds(1))


class TestNearest:
    @pytest.mark.parametrize("name", NAMES)
    def test_other_points(self, name):
        mesh = mesh_of(8)
        points, queries = clouds(mesh.size * EACH)[name]
        tree = KDTree(spread(mesh, points))
        found = tree.query(spread(mesh, queries), K)
        agree(found, nearest(points, queries, K))
        assert all(each.sharding.is_equivalent_to(tree.data.sharding, 2) for each in found)

    @pytest.mark.parametrize("name", NAMES)
    def test_every_point(self, name):
        mesh = mesh_of(8)
        points, _ = clouds(mesh.size * EACH)[name]
        tree = KDTree(spread(mesh, points))
        expected = nearest(points, points, K)
        found = tree.query(tree.data, K)
        agree(found, expected)
        rows = np.asarray(tree.indices)
        assert sorted(rows) == list(range(len(points)))
        agree(tree.query(tree.data, K, order="tree"), [each[rows] for each in expected])
        assert all(each.sharding.is_equivalent_to(tree.data.sharding, 2) for each in found)

    def test_not_a_multiple_of_the_devices(self):
        """NumPy points are padded; NumPy queries, and one device's, have results where they came from."""
        mesh = mesh_of(3)
        points, queries = clouds(70)["grid, with ties"]
        expected = nearest(points, queries, 4)
        tree = KDTree(points, sharding=NamedSharding(mesh, SPREAD))
        assert tree.n == 70
        assert len(tree.data) == -(-70 // mesh.size) * mesh.size
        found = tree.query(queries, 4)
        agree(found, expected)
        assert all(each.sharding.is_fully_replicated for each in found)
        one = jax.device_put(queries, mesh.devices[1])
        found = tree.query(one, 4)
        agree(found, expected)
        assert all(each.sharding == one.sharding for each in found)
        padded = np.concatenate([points, np.full((2, 3), np.nan, np.float32)])
        agree(KDTree(spread(mesh, padded), n=70).query(queries, 4), expected)

    def test_later_rounds_of_few(self, monkeypatch):
        """Of many queries a device answers all in the first round, and a part of them in later ones."""
        monkeypatch.setattr(_rounds, "FEW", 16)
        mesh = mesh_of(3)
        points, queries = clouds(mesh.size * 20)["uniform"]
        tree = KDTree(spread(mesh, points))
        agree(tree.query(spread(mesh, queries / 16), 7), nearest(points, queries / 16, 7))

    def test_periodic_box_bound_and_columns(self):
        mesh = mesh_of(2)
        points, queries = clouds(2 * EACH)["uniform"]
        tree = KDTree(spread(mesh, points), boxsize=[1, 1, 0])
        distances, rows = tree.query(spread(mesh, queries - 1), [1, 4], distance_upper_bound=0.25)
        expected = SciPyTree(points, boxsize=[1, 1, 0]).query(queries - 1, [1, 4], distance_upper_bound=0.25)
        np.testing.assert_array_equal(rows, expected[1])
        np.testing.assert_allclose(distances, expected[0], rtol=1e-5)


@pytest.fixture(scope="module")
def near():
    """Return a tree on a mesh, queries on it and SciPy's tree."""
    mesh = mesh_of(2)
    points, queries = clouds(2 * EACH)["grid, with ties"]
    return KDTree(spread(mesh, points)), spread(mesh, queries + np.float32(0.5)), SciPyTree(points)


class TestWithin:
    def test_counts_and_the_nearest(self, near):
        tree, queries, scipy_tree = near
        radius = np.float32(2)
        expected = scipy_tree.query_ball_point(np.asarray(queries), radius, return_length=True)
        assert (expected > 3).any()
        np.testing.assert_array_equal(tree.query_ball_point(queries, radius, return_length=True), expected)
        found = tree.query_radius(queries, radius, max_neighbors=3)
        np.testing.assert_array_equal(found.counts, expected)
        distances, rows = nearest(np.asarray(tree.data), np.asarray(queries), 3)
        there = distances <= radius
        np.testing.assert_array_equal(found.indices, np.where(there, rows, tree.n))
        np.testing.assert_allclose(found.distances, np.where(there, distances, np.inf), rtol=1e-6)

    def test_radius_0(self, near):
        """Its bound, the number after 0, is subnormal, which XLA takes for 0."""
        tree, queries, _ = near
        found = tree.query_radius(queries - np.float32(0.5), np.float32(0), max_neighbors=3)
        _, rows = nearest(np.asarray(tree.data), np.asarray(queries) - np.float32(0.5), 1)
        assert (found.counts > 0).any()
        first = np.where(np.asarray(found.counts) > 0, rows[:, 0], tree.n)
        np.testing.assert_array_equal(found.indices[:, 0], first)

    def test_radii_of_each_query(self, near):
        tree, queries, scipy_tree = near
        radii = np.linspace(-1, 3, len(queries)).astype(np.float32)
        expected = scipy_tree.query_ball_point(np.asarray(queries), np.maximum(radii, 0), return_length=True)
        found = tree.query_ball_point(queries, radii, return_length=True)
        np.testing.assert_array_equal(found, np.where(radii < 0, 0, expected))

    def test_all_neighbours(self, near):
        """What is spread comes in equal parts, filled up; what is not comes as it is."""
        tree, queries, scipy_tree = near
        expected = [sorted(rows) for rows in scipy_tree.query_ball_point(np.asarray(queries), 2.0)]
        for found in tree.query_radius(queries, 2.0), tree.query_radius(np.asarray(queries), 2.0):
            offsets, rows = np.asarray(found.indptr), np.asarray(found.indices)
            lists = [sorted(part.tolist()) for part in np.split(rows, offsets[1:])]
            assert lists[:-1] == expected
            assert set(lists[-1]) <= {tree.n}
            ends = np.repeat(np.asarray(queries), np.diff(offsets), axis=0)
            right = np.linalg.norm(ends - np.asarray(tree.data)[rows[: offsets[-1]]], axis=1)
            np.testing.assert_allclose(np.asarray(found.distances)[: offsets[-1]], right, rtol=1e-6)

    def test_edges_and_pairs(self, near):
        tree, _, scipy_tree = near
        pairs = scipy_tree.query_pairs(2.0)
        graph = tree.radius_graph(2.0)
        senders, receivers = np.asarray(graph.senders), np.asarray(graph.receivers)
        assert int(graph.count) == 2 * len(pairs)
        assert len(senders) - int(graph.count) < 8
        assert (np.diff(receivers) >= 0).all()
        edges = set(zip(senders.tolist(), receivers.tolist(), strict=True)) - {(tree.n, tree.n)}
        assert edges == pairs | {(j, i) for i, j in pairs}
        found = tree.query_pairs(2.0, max_pairs=2 * len(pairs))
        assert int(found.count) == len(pairs)
        rows = np.asarray(found.pairs)
        assert set(map(tuple, rows[: len(pairs)].tolist())) == pairs
        assert (rows[len(pairs) :] == tree.n).all()
        assert np.isinf(np.asarray(found.distances)[len(pairs) :]).all()
        with pytest.raises(ValueError, match="multiple of the"):
            tree.query_pairs(2.0, max_pairs=2 * len(pairs) + 1)

    def test_pairs_of_two_trees(self, near):
        tree, queries, scipy_tree = near
        radii = np.float32([1, 2, 4])
        host = np.asarray(queries)
        expected = SciPyTree(host).count_neighbors(scipy_tree, radii)
        for other in KDTree(queries), KDTree(host):
            np.testing.assert_array_equal(tree.count_neighbors(other, radii), expected)
        weights = np.linspace(0, 1, tree.n), np.linspace(2, 1, len(host))
        expected = scipy_tree.count_neighbors(SciPyTree(host), radii, weights=weights)
        found = tree.count_neighbors(KDTree(queries), radii, weights=weights)
        np.testing.assert_allclose(found, expected, rtol=1e-5)


class TestTransformations:
    def test_explicit_axes_in_jit(self):
        mesh = mesh_of(2, AxisType.Explicit)
        points, queries = clouds(2 * EACH)["uniform"]
        expected = nearest(points, queries, 3)
        points, queries = spread(mesh, points, queries)
        tree, found = jax.jit(lambda points, queries: (tree := KDTree(points), tree.query(queries, 3)))(
            points, queries
        )
        agree(found, expected)
        agree(tree.query(queries, 3), expected)  # a tree that jit returned
        agree(jax.jit(lambda tree, queries: tree.query(queries, 3))(tree, queries), expected)
        with jax.set_mesh(mesh):
            agree(tree.query(queries, 3), expected)

    def test_grad_with_auto_axes(self):
        mesh = mesh_of(2)
        points, queries = clouds(2 * EACH)["uniform"]
        rows = nearest(points, queries, 3)[1]
        sharding = NamedSharding(mesh, SPREAD)

        def total(points, queries):
            return KDTree(points, sharding=sharding).query(queries, 3)[0].sum()

        def expected(points, queries):
            return jnp.sqrt(jnp.square(points[rows] - queries[:, None]).sum(axis=2)).sum()

        slopes = jax.jit(jax.grad(total, argnums=(0, 1)))(*spread(mesh, points, queries))
        for found, right in zip(slopes, jax.grad(expected, argnums=(0, 1))(points, queries), strict=True):
            np.testing.assert_allclose(found, right, rtol=1e-4, atol=1e-5)

    def test_auto_axes_must_be_named(self):
        points = spread(mesh_of(2), np.ones((4, 2), np.float32))
        with pytest.raises(ValueError, match="pass sharding="):
            jax.jit(lambda points: KDTree(points).query(points)[0])(points)

    def test_inside_of_shard_map(self):
        mesh = mesh_of(2)
        points, queries = clouds(2 * EACH)["uniform"]
        expected = nearest(points, queries, 3)

        def search(points, queries):
            tree = KDTree(points, axis_name="d")
            return tree, tree.query(queries, 3)

        run = jax.jit(jax.shard_map(search, mesh=mesh, in_specs=SPREAD, out_specs=SPREAD))
        points, queries = spread(mesh, points, queries)
        tree, found = run(points, queries)
        agree(found, expected)
        agree(tree.query(queries, 3), expected)


@pytest.fixture(scope="module")
def tree(near):
    """Return a tree on a mesh."""
    return near[0]


class TestErrors:
    def test_what_needs_all_points_on_the_host(self, tree):
        with pytest.raises(TypeError, match="on a mesh"):
            pickle.dumps(tree)
        with pytest.raises(TypeError, match="on a mesh"):
            tree.tree  # noqa: B018
        for search in (
            lambda: tree.query_ball_point(tree.data, 1.0),
            lambda: tree.query_ball_tree(tree, 1.0),
            lambda: tree.query_pairs(1.0),
            lambda: tree.sparse_distance_matrix(tree, 1.0),
        ):
            with pytest.raises(TypeError, match="on a mesh"):
                search()

    def test_values_that_are_not_finite(self, tree):
        points = np.asarray(tree.data).copy()
        points[5, 1] = np.nan
        points = jax.device_put(points, tree.data.sharding)
        with pytest.raises(ValueError, match="data must be finite"):
            KDTree(points)
        with pytest.raises(ValueError, match="'x' must be finite"):
            tree.query(points, 4)

    def test_how_points_lie(self):
        mesh = mesh_of(2)
        points = np.ones((4, 2), np.float32)
        with pytest.raises(ValueError, match="along axis 0 alone"):
            KDTree(jax.device_put(points, NamedSharding(mesh, PartitionSpec(None, "d"))))
        with pytest.raises(ValueError, match="n must be between"):
            KDTree(spread(mesh, points), n=5)
        with pytest.raises(ValueError, match="at least one point"):
            KDTree(spread(mesh, points), n=0)
        with pytest.raises(TypeError, match="NamedSharding"):
            KDTree(points, sharding="d")

    def test_traced_box(self, tree):
        def search(length):
            return KDTree(tree.data, boxsize=length, sharding=tree.data.sharding).query(tree.data)[0]

        with pytest.raises(TypeError, match="boxsize must be concrete"):
            jax.jit(search)(8.0)

    def test_order(self, tree):
        with pytest.raises(ValueError, match=r"pass tree\.data"):
            tree.query(np.zeros((2, 3), np.float32), order="tree")
        with pytest.raises(ValueError, match="Invalid order"):
            tree.query(tree.data, order="leaf")

    def test_repr(self, tree):
        assert repr(tree) == f"KDTree(n=48, m=3, dtype=float32, engine='{tree.engine}', devices=2)"


def test_partition_is_exact():
    """Every group of devices gets the first points of its half, in the order of coordinate and row."""
    mesh = mesh_of(5)
    devices, s, n = mesh.size, 9, 9 * mesh.size - 2
    rng = np.random.default_rng(3)
    points = rng.integers(-2, 3, (devices * s, 2)).astype(np.float32) * [1, 2]
    share = shares(n, devices)
    assert sum(share) == n
    assert max(share) - min(share) <= 1
    expected = np.full(devices * s, devices)

    def split(rows, first, count):
        if count == 1:
            expected[rows] = first
            return
        axis = np.argmax(np.ptp(points[rows], axis=0))
        rows = rows[np.lexsort((rows, points[rows, axis]))]
        half = sum(share[first : first + count // 2])
        split(rows[:half], first, count // 2)
        split(rows[half:], first + count // 2, count - count // 2)

    split(np.arange(n), 0, devices)
    run = jax.shard_map(
        lambda x: partition(x, n, Axes(("d",), devices)), mesh=mesh, in_specs=SPREAD, out_specs=SPREAD
    )
    found = jax.jit(run)(spread(mesh, points.astype(np.float32)))
    np.testing.assert_array_equal(found, expected)
