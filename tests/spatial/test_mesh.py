"""A KDTree over points on several devices gives the answers of one device.

A program for several devices takes seconds to compile, so each is compiled for one shape and serves many
clouds.
"""

import pickle

import jax
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding, PartitionSpec
from meshes import SPREAD, agree, clouds, mesh_of, nearest, spread
from radius_engines import use
from scipy.spatial import KDTree as SciPyTree

from jaxapi.spatial import KDTree
from jaxapi.spatial._engines import _cuda
from jaxapi.spatial._engines._by_platform import BY_PLATFORM
from jaxapi.spatial._mesh import _by_row, _exchange, _nearest_on_mesh, _rounds

EACH = 8  # rows of a device
K = 11  # more than a device has
NAMES = list(clouds(1))
BOX = [8, 8, 0]

several_of_a_kind = pytest.mark.skipif(
    jax.default_backend() == "gpu" and len(jax.devices()) == 1,
    reason="the mesh is the CPU's, one device a GPU",
)


def cloud(name):
    """Return a mesh of four devices, points that do not divide evenly among them, and queries that do."""
    mesh = mesh_of(4)
    points, queries = clouds(mesh.size * EACH)[name]
    return mesh, points[:-2], queries


class TestNearest:
    @pytest.mark.thorough
    @pytest.mark.parametrize("name", NAMES)
    def test_other_points(self, name):
        mesh, points, queries = cloud(name)
        tree = KDTree(points, sharding=NamedSharding(mesh, SPREAD))
        x = spread(mesh, queries)
        found, expected = tree.query(x, K), nearest(points, queries, K)
        agree(found, expected)
        assert all(each.sharding.is_equivalent_to(tree.data.sharding, 2) for each in found)
        vectors = tree.displacements(x, found[1])
        np.testing.assert_array_equal(vectors, points[expected[1]] - queries[:, None])

    @pytest.mark.daily
    @pytest.mark.parametrize("name", NAMES)
    def test_every_point(self, name):
        """A line too many is nobody's, whatever it holds."""
        mesh, points, _ = cloud(name)
        n = len(points)
        tree = KDTree(spread(mesh, np.pad(points, ((0, 2), (0, 0)), constant_values=np.nan)), n=n)
        assert tree.n == n
        distances, rows = nearest(points, points, K)
        expected = np.pad(distances, ((0, 2), (0, 0)), constant_values=np.inf), np.pad(rows, ((0, 2), (0, 0)))
        expected[1][n:] = n
        found = tree.query(tree.data, K)
        agree(found, expected)
        own = np.asarray(tree.indices)
        there = own < n
        assert sorted(own[there]) == list(range(n))
        in_order = [np.asarray(each)[there] for each in tree.query(tree.data, K, order="tree")]
        agree(in_order, (distances[own[there]], rows[own[there]]))
        assert all(each.sharding.is_equivalent_to(tree.data.sharding, 2) for each in found)

    @pytest.mark.thorough
    @several_of_a_kind
    def test_distances_have_the_bits_of_one_device(self):
        """Which rounds others than SciPy."""

        @jax.jit
        def alone(points, queries):
            tree = KDTree(points, engine="lax")
            return *tree.query(tree.data, K), *tree.query(queries, K)

        for name in "uniform", "clusters", "far queries":
            mesh, points, queries = cloud(name)
            tree = KDTree(points, sharding=NamedSharding(mesh, SPREAD))
            found = *tree.query(tree.data, K), *tree.query(spread(mesh, queries), K)
            for each, expected in zip(found, alone(points, queries), strict=True):
                np.testing.assert_array_equal(each[: len(expected)], expected)

    @pytest.mark.parametrize("name", ["equal points", "grid, with ties"])
    def test_the_others(self, name):
        """Of equal points each has the others as neighbours, and not itself."""
        mesh, points, _ = cloud(name)
        n = len(points)
        tree = KDTree(points, sharding=NamedSharding(mesh, SPREAD))
        expected = [line[line != row][: K - 1] for row, line in enumerate(nearest(points, points, n)[1])]
        distances, rows = tree.kneighbors(K - 1)
        np.testing.assert_array_equal(np.asarray(rows)[:n], expected)
        right = np.linalg.norm(points[:, None] - points[np.stack(expected)], axis=2)
        np.testing.assert_allclose(np.asarray(distances)[:n], right, rtol=1e-6)
        graph = tree.knn_graph(K - 1)
        assert int(graph.count) == n * (K - 1)
        lines = np.asarray(graph.senders).reshape(-1, K - 1)
        np.testing.assert_array_equal(lines[:n], expected)
        assert (lines[n:] == n).all()
        np.testing.assert_array_equal(np.asarray(graph.receivers)[: n * (K - 1)], np.arange(n).repeat(K - 1))
        with_itself = tree.knn_graph(K, loop=True)
        np.testing.assert_array_equal(
            np.asarray(with_itself.senders).reshape(-1, K), tree.query(tree.data, K)[1]
        )

    @pytest.mark.thorough
    def test_queries_that_are_not_spread(self):
        """NumPy's have results on every device, those of one device there."""
        mesh, points, queries = cloud("grid, with ties")
        expected = nearest(points, queries, 4)
        tree = KDTree(points, sharding=NamedSharding(mesh, SPREAD))
        found = tree.query(queries, 4)
        agree(found, expected)
        assert all(each.sharding.is_fully_replicated for each in found)
        one = jax.device_put(queries, mesh.devices[1])
        found = tree.query(one, 4)
        agree(found, expected)
        assert all(each.sharding == one.sharding for each in found)

    @pytest.mark.thorough
    def test_rounds_of_few(self, monkeypatch):
        """Of many queries some are answered in a round that nobody asks for, the others in more of them.

        When few are left to go on, a device answers a part of them a round.
        """
        for name, value in {"FEW": 4, "PART": 3, "TURNS": 1, "ROOM": 1}.items():
            monkeypatch.setattr(_rounds, name, value)
        monkeypatch.setattr(_exchange, "SHORT", 0)
        mesh = mesh_of(3)
        points, queries = clouds(mesh.size * 20)["uniform"]
        n = len(points) - 1
        tree = KDTree(spread(mesh, points), n=n)
        agree(tree.query(spread(mesh, queries), 7), nearest(points[:n], queries, 7))
        agree(tree.query(spread(mesh, queries / 16), 7), nearest(points[:n], queries / 16, 7))

    @pytest.mark.thorough
    @pytest.mark.parametrize(("devices", "order", "boxsize"), [(3, "input", None), (2, "tree", 1.0)])
    def test_pieces(self, devices, order, boxsize, monkeypatch):
        """Results go home piece by piece, in one message each where rows go anywhere, else in several.

        The last piece overlaps the one before it. Points that may have neighbours elsewhere, also across the
        sides of a box, are searched for once more, a part at a time.
        """
        for name, value in {"PIECE": 56, "LARGEST_PIECE": 0, "near_a_border": lambda *sizes: 4}.items():
            monkeypatch.setattr(_nearest_on_mesh, name, value)
        monkeypatch.setattr(_by_row, "even_share", lambda lines, devices: lines - 1)
        monkeypatch.setattr(_exchange, "SHORT", 0)
        mesh = mesh_of(devices)
        points = clouds(mesh.size * 20)["uniform"][0]
        n = len(points) - 1
        widest = np.argmax(np.ptp(points[:n], axis=0))
        points[:n] = points[np.argsort(-points[:n, widest])]
        for cloud in points, np.concatenate([np.random.default_rng(4).permutation(points[:n]), points[n:]]):
            tree = KDTree(spread(mesh, cloud), n=n, boxsize=boxsize)
            right = SciPyTree(cloud[:n], boxsize=boxsize).query(cloud[:n], 7)
            distances, rows = map(np.asarray, tree.query(tree.data, 7, order=order))
            own = np.asarray(tree.indices) if order == "tree" else np.arange(len(cloud))
            there = own < n
            agree((distances[there], rows[there]), [each[own[there]] for each in right])
            assert (rows[~there] == n).all()
            assert np.isinf(distances[~there]).all()

    @pytest.mark.thorough
    @several_of_a_kind
    @pytest.mark.kernels
    def test_gpu_engine(self, monkeypatch):
        """The trees are built and searched by kernels."""
        use("cuda", monkeypatch)
        monkeypatch.setattr(BY_PLATFORM, "_chosen", lambda function, *arrays: function(_cuda, *arrays))
        monkeypatch.setattr(_nearest_on_mesh, "near_a_border", lambda *sizes: 4)
        mesh = mesh_of(2)
        points = clouds(mesh.size * 20)["half equal"][0]
        n = len(points) - 1
        tree = KDTree(spread(mesh, points), n=n)
        expected = nearest(points[:n], points[:n], 8)
        agree([each[:n] for each in tree.query(tree.data, 8)], expected)
        own = np.asarray(tree.indices)
        assert sorted(own[own < n]) == list(range(n))


@pytest.fixture(scope="module")
def near():
    """Return a tree in a periodic box, queries and a radius for each on the mesh, and SciPy's tree."""
    mesh = mesh_of(2)
    points, queries = clouds(mesh.size * 24)["grid, with ties"]
    radii = np.full(len(queries), 2, np.float32)
    tree = KDTree(spread(mesh, points), boxsize=BOX)
    return tree, *spread(mesh, queries + np.float32(0.5), radii), SciPyTree(points, boxsize=BOX)


@pytest.mark.daily
def test_vectors_to_rows_that_do_not_count():
    """They are 0, also where the mesh holds such a row."""
    mesh = mesh_of(2)
    points = np.random.default_rng(0).random((8, 2)).astype(np.float32)
    tree = KDTree(spread(mesh, points), n=6)
    rows = np.array([[0, 5], [6, 6], [6, 3]])
    x = points[:3] + 1
    vectors = np.asarray(tree.displacements(x, rows))
    expected = np.where((rows < 6)[..., None], points[np.minimum(rows, 7)] - x[:, None], 0)
    np.testing.assert_allclose(vectors, expected, rtol=1e-6)

    @jax.jit
    def to_rows(points, n, rows):
        return KDTree(points, n=n).displacements(x, rows)

    mesh = mesh_of(2, AxisType.Explicit)
    with jax.set_mesh(mesh):
        vectors = to_rows(spread(mesh, points), np.int32(6), np.array([[0, 5], [6, 7], [8, 3]]))
    expected[1:, 0] = 0
    np.testing.assert_allclose(np.asarray(vectors), expected, rtol=1e-6)


class TestWithin:
    @pytest.mark.daily
    def test_counts_and_the_nearest(self, near):
        tree, queries, radii, scipy_tree = near
        host = np.asarray(queries)
        expected = scipy_tree.query_ball_point(host, 2.0, return_length=True)
        assert (expected > 3).any()
        np.testing.assert_array_equal(tree.query_ball_point(queries, radii, return_length=True), expected)
        found = tree.query_radius(queries, 2.0, max_neighbors=3)
        np.testing.assert_array_equal(found.counts, expected)
        distances, _ = scipy_tree.query(host, 3, distance_upper_bound=2.0001)
        np.testing.assert_allclose(found.distances, distances, rtol=1e-6)
        vectors = tree.displacements(queries, found.indices)
        assert vectors.sharding.is_equivalent_to(queries.sharding, 3)
        there = np.isfinite(distances)
        lengths = np.linalg.norm(np.asarray(vectors), axis=2)
        np.testing.assert_allclose(lengths[there], distances[there], rtol=1e-6)
        assert (lengths[~there] == 0).all()

    @pytest.mark.thorough
    def test_radii_as_far_as_the_queries(self, near):
        """Beyond 2**64 extents of the points, whose squares float32 does not hold."""
        tree, queries, radii, scipy_tree = near
        x, r = np.array(queries), np.array(radii)
        x[::4, 2] = np.float32([1e20, -3e19, 2e38, -9e37, 1e30, 5e20])[np.arange(len(x[::4])) % 6]
        r[::4] = np.where(np.arange(len(r[::4])) % 4, 1.5e38, 4e20)
        far, host = np.abs(x[:, 2]) > 1e19, x.astype(float)
        counts = scipy_tree.query_ball_point(host, r, return_length=True)
        assert set(counts[far]) == {0, len(tree.data)}
        x, r = jax.device_put((x, r), queries.sharding)
        np.testing.assert_array_equal(tree.query_ball_point(x, r, return_length=True), counts)
        fixed, found = tree.query_radius(x, r, max_neighbors=3), tree.query_radius(x, r)
        np.testing.assert_array_equal(fixed.counts, counts)
        np.testing.assert_array_equal(np.diff(found.indptr), counts)
        distances, _ = scipy_tree.query(host, len(tree.data))
        distances = np.where(distances <= np.asarray(r)[:, None], distances, np.inf)
        np.testing.assert_allclose(fixed.distances, distances[:, :3], rtol=2e-6)
        all_of_them = distances[np.isfinite(distances)]
        np.testing.assert_allclose(found.distances[: len(all_of_them)], all_of_them, rtol=2e-6)
        radii = np.float32([2, 1e30, 1.9e38])
        weights = np.linspace(0, 1, tree.n), np.linspace(2, 1, len(host))
        other = SciPyTree(np.where([True, True, False], host % 8, host), boxsize=BOX)
        expected = scipy_tree.count_neighbors(other, radii, weights=weights)
        found = tree.count_neighbors(KDTree(np.asarray(x)), radii, weights=weights)
        np.testing.assert_allclose(found, expected, rtol=1e-5)

    @pytest.mark.daily
    def test_radius_0(self, near):
        """Its bound, the number after 0, is subnormal, which XLA takes for 0."""
        tree, queries, _, scipy_tree = near
        queries = queries - np.float32(0.5)
        found = tree.query_radius(queries, np.float32(0), max_neighbors=3)
        expected = [sorted(rows) for rows in scipy_tree.query_ball_point(np.asarray(queries), 0.0)]
        assert any(expected)
        assert np.asarray(found.counts).tolist() == [*map(len, expected)]
        assert np.asarray(found.indices).tolist() == [(rows + 3 * [tree.n])[:3] for rows in expected]

    @pytest.mark.thorough
    def test_a_returned_distance_includes_its_point(self, near):
        """What `query` returns of all points decides, and no other rounding."""
        tree, queries, _, _ = near
        x = queries - np.float32(0.4)
        distances = np.asarray(tree.query(x, tree.n)[0])
        for place in (0, 2, 7):
            radii = distances[:, place]
            expected = (distances <= radii[:, None]).sum(axis=1)
            r = jax.device_put(radii, NamedSharding(x.sharding.mesh, SPREAD))
            np.testing.assert_array_equal(tree.query_ball_point(x, r, return_length=True), expected)
            found = tree.query_radius(x, r, max_neighbors=3)
            np.testing.assert_array_equal(found.counts, expected)
            np.testing.assert_array_equal(found.mask.sum(axis=1), np.minimum(expected, 3))
            np.testing.assert_array_equal(np.diff(tree.query_radius(x, r).indptr)[: len(x)], expected)
        some = np.sort(distances[:, 2])[[3, 9, 20]]
        totals = [(distances <= r).sum() for r in some]
        np.testing.assert_array_equal(tree.count_neighbors(KDTree(x), some), totals)

    @pytest.mark.daily
    def test_no_queries(self, near):
        tree, queries, *_ = near
        none = jax.device_put(queries[:0], queries.sharding)
        assert tree.query_ball_point(np.zeros((0, 3), np.float32), 2.0, return_length=True).shape == (0,)
        assert [each.shape for each in tree.query(none, 3)] == [(0, 3)] * 2

    @pytest.mark.thorough
    def test_radii_of_each_query(self, near):
        tree, queries, _, scipy_tree = near
        radii = np.linspace(0, 3, len(queries)).astype(np.float32)
        expected = scipy_tree.query_ball_point(np.asarray(queries), radii, return_length=True)
        found = tree.query_ball_point(queries, radii, return_length=True)
        np.testing.assert_array_equal(found, expected)

    @pytest.mark.thorough
    def test_all_neighbours(self, near):
        """What is spread comes in equal parts, filled up; what is not comes as it is."""
        tree, queries, radii, scipy_tree = near
        points, host = np.asarray(tree.data), np.asarray(queries)
        expected = [sorted(rows) for rows in scipy_tree.query_ball_point(host, 2.0)]
        for found in tree.query_radius(queries, radii), tree.query_radius(host, 2.0):
            offsets, rows = np.asarray(found.indptr), np.asarray(found.indices)
            lists = [sorted(part.tolist()) for part in np.split(rows, offsets[1:])]
            assert lists[:-1] == expected
            assert set(lists[-1]) <= {tree.n}
            along = np.repeat(host, np.diff(offsets), axis=0) - points[rows[: offsets[-1]]]
            along[:, :2] -= 8 * np.round(along[:, :2] / 8)
            right = np.linalg.norm(along, axis=1)
            np.testing.assert_allclose(np.asarray(found.distances)[: offsets[-1]], right, rtol=1e-6)

    @pytest.mark.thorough
    def test_edges_and_pairs(self, near):
        tree, _, _, scipy_tree = near
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

    def test_room_that_is_not_a_multiple_of_the_devices(self, near):
        """The arrays are one line longer, which holds one pair more."""
        tree, _, _, scipy_tree = near
        pairs = scipy_tree.query_pairs(2.0)
        room = len(pairs) // 2 * 2 - 3
        found = tree.query_pairs(2.0, max_pairs=room)
        assert int(found.count) == len(pairs)
        rows = np.asarray(found.pairs)
        assert rows.shape == (room + 1, 2)
        kept = set(map(tuple, rows.tolist()))
        assert len(kept) == room + 1
        assert kept < pairs

    @pytest.mark.thorough
    def test_pairs_of_two_trees(self, near):
        tree, queries, _, scipy_tree = near
        radii = np.float32([1, 2, 3])
        host = np.asarray(queries)
        other = SciPyTree(np.where([True, True, False], host % 8, host), boxsize=BOX)
        expected = scipy_tree.count_neighbors(other, radii)
        np.testing.assert_array_equal(tree.count_neighbors(KDTree(queries), radii), expected)
        weights = np.linspace(0, 1, tree.n), np.linspace(2, 1, len(host))
        expected = scipy_tree.count_neighbors(other, radii, weights=weights)
        found = tree.count_neighbors(KDTree(host), radii, weights=weights)
        np.testing.assert_allclose(found, expected, rtol=1e-5)


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

    def test_values_that_are_not_finite(self, tree, near):
        points = np.asarray(tree.data).copy()
        points[5, 1] = np.nan
        points = jax.device_put(points, tree.data.sharding)
        with pytest.raises(ValueError, match="data must be finite"):
            KDTree(points)
        with pytest.raises(ValueError, match="'x' must be finite"):
            tree.query_ball_point(points, near[2], return_length=True)

    def test_padding_need_not_be_finite(self):
        """The build looks at the points that count."""
        mesh, points, _ = cloud("uniform")
        padded = np.pad(points, ((0, 2), (0, 0)), constant_values=np.nan)
        assert KDTree(spread(mesh, padded), n=len(points)).n == len(points)
        padded[0] = np.nan
        with pytest.raises(ValueError, match="data must be finite"):
            KDTree(spread(mesh, padded), n=len(points))

    def test_how_points_lie(self):
        mesh = mesh_of(2)
        points = np.ones((4, 2), np.float32)
        with pytest.raises(ValueError, match="along axis 0 alone"):
            KDTree(jax.device_put(points, NamedSharding(mesh, PartitionSpec(None, "d"))))
        with pytest.raises(ValueError, match="n must be between"):
            KDTree(spread(mesh, points), n=5)
        with pytest.raises(ValueError, match="the 3 rows of the data, got 4"):  # which are padded to 4
            KDTree(points[:3], n=4, sharding=NamedSharding(mesh, PartitionSpec("d")))
        with pytest.raises(ValueError, match="at least one point"):
            KDTree(spread(mesh, points), n=0)
        with pytest.raises(TypeError, match="NamedSharding"):
            KDTree(points, sharding="d")

    def test_pairs_inside_of_jit(self, tree):
        with pytest.raises(TypeError, match="use query_radius with max_neighbors"):
            jax.jit(lambda r: tree.radius_graph(r, max_edges=8))(1.0)

    def test_too_many_neighbours(self, tree, near, monkeypatch):
        monkeypatch.setattr("jaxapi.spatial._mesh._mesh.LARGEST", 1 << 7)
        with pytest.raises(ValueError, match="use query_radius with max_neighbors"):
            tree.query_radius(near[1], near[2])

    def test_order(self, tree):
        with pytest.raises(ValueError, match=r"pass tree\.data"):
            tree.query(np.zeros((2, 3), np.float32), order="tree")
        with pytest.raises(ValueError, match="Invalid order"):
            tree.query(tree.data, order="leaf")

    def test_engine(self, tree):
        """Each device is searched by its own; which one cannot be chosen."""
        on_gpus = all(device.platform == "gpu" for device in tree.data.devices())
        assert tree.engine == ("cuda" if on_gpus else "lax")
        for engine in ("scipy", "lax"):
            with pytest.raises(ValueError, match=f"engine='{engine}' is for points on one device"):
                KDTree(tree.data, engine=engine)

    def test_repr(self, tree):
        facts = f"n=48, m=3, dtype=float32, engine='{tree.engine}', devices=2, boxsize=(8.0, 8.0, 0.0)"
        assert repr(tree) == f"KDTree({facts})"


@pytest.mark.thorough
@several_of_a_kind
def test_float64_stays_float64():
    """With x64 off, too, whatever brings the points; their differences are lost in float32."""
    sharding = NamedSharding(mesh_of(4), SPREAD)
    points = 1e3 + 1e-6 * np.random.default_rng(2).random((4 * EACH, 3))
    inputs = points, points.tolist(), KDTree(points).data, points.astype(">f8"), points[:-2]
    with jax.enable_x64(False):
        for given in inputs:
            tree = KDTree(given, sharding=sharding)
            assert tree.data.dtype == np.float64
            np.testing.assert_array_equal(np.asarray(tree.data)[: tree.n], np.asarray(given))
        whole = np.array([[2**40, 1], [2**40 + 3, 1]] * 8)
        np.testing.assert_array_equal(KDTree(whole, sharding=sharding).data, whole)
        tree = KDTree(points, sharding=sharding)
        found = tree.query(points, k=2)
        assert found[0].dtype == np.float64
        agree(found, nearest(points, points, 2))
