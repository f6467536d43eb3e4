"""Searches where a rule is easily missed: ties, radii of 0, points that do not count, far queries.

Brute force is the oracle. Coordinates are whole numbers, so that distances and their order are exact.
"""

import jax
import numpy as np
import pytest
import scipy.cluster.hierarchy
from meshes import mesh_of, spread

from jaxapi.spatial import KDTree, distance, great_circle_distance, pad_rows, single_linkage
from jaxapi.spatial._engines._lax import _brute
from jaxapi.spatial._mesh import _by_row, _nearest_on_mesh
from jaxapi.spatial.distance import _matrices

N, COUNTED = 300, 290  # rows, and how many of them count
RNG = np.random.default_rng(11)
LATTICE = RNG.integers(0, 9, (N, 3)).astype(np.float32)
QUERIES = RNG.integers(0, 9, (24, 3)).astype(np.float32)


def differences(x, points, box=None):
    """Return the coordinates of each point seen from each query, the shortest way around a box."""
    between = points[None].astype(float) - x[:, None]
    if box is not None:
        between -= np.round(between / box) * box
    return between


def distances_of(x, points, p=2.0, box=None):
    return np.linalg.norm(differences(x, points, box), ord=p, axis=-1)


def nearest_of(distances, k, bound=np.inf):
    """Return the k nearest of each query: of equal distances the lowest row, strictly below a bound."""
    count = distances.shape[1]
    order = np.argsort(distances, axis=1, kind="stable")[:, :k]
    nearest = np.take_along_axis(distances, order, axis=1)
    is_near = nearest < bound
    return np.where(is_near, nearest, np.inf), np.where(is_near, order, count)


class TestPortableEngine:
    """The engine that serves jit on a TPU, and `jax.export`."""

    @pytest.fixture
    def tree(self):
        return KDTree(LATTICE, n=COUNTED, engine="lax")

    @pytest.mark.daily
    def test_nearest(self, tree):
        distances = distances_of(QUERIES, LATTICE[:COUNTED])
        for bound in (np.inf, 2.0, 3.0):
            found = tree.query(QUERIES, 5, distance_upper_bound=bound)
            right = nearest_of(distances, 5, bound)
            np.testing.assert_array_equal(found[1], right[1])
            np.testing.assert_allclose(found[0], right[0], rtol=1e-6)

    @pytest.mark.daily
    def test_within_a_radius(self, tree):
        distances = distances_of(QUERIES, LATTICE[:COUNTED])
        for radius in (0.0, 1.0, 3.0, np.sqrt(np.float32(6))):
            is_near = distances <= float(radius) * (1 + 1e-7)
            found = tree.query_radius(QUERIES, radius, max_neighbors=4)
            np.testing.assert_array_equal(found.counts, is_near.sum(axis=1))
            rows = [list(np.flatnonzero(line)) for line in is_near]
            for i, expected in enumerate(rows):
                kept = sorted(expected, key=lambda row, i=i: (distances[i, row], row))[:4]
                assert np.asarray(found.indices[i])[np.asarray(found.mask[i])].tolist() == kept
        lists = tree.query_ball_point(QUERIES, 2.0)
        assert [sorted(line) for line in lists] == [list(np.flatnonzero(line <= 2)) for line in distances]

    @pytest.mark.daily
    def test_far_queries(self, tree):
        """Squares of their distances overflow."""
        far = np.float32([[1e30, 0, 0], [0, -1e30, 4], [2, 3, 4]])
        distances = distances_of(far, LATTICE[:COUNTED])
        others = KDTree(far, engine="lax")
        for radius in (0.9e30, 1.1e30):
            assert int(others.count_neighbors(tree, radius)) == (distances <= radius).sum()
        found = tree.query_radius(far, 1.1e30)
        np.testing.assert_array_equal(np.diff(found.indptr), (distances <= 1.1e30).sum(axis=1))
        first = slice(0, int(found.indptr[1]))
        np.testing.assert_allclose(
            found.distances[first], distances[0][np.asarray(found.indices[first])], 1e-6
        )

    @pytest.mark.daily
    def test_in_a_box(self):
        tree = KDTree(LATTICE % 9, boxsize=9.0, engine="lax")
        distances = distances_of(QUERIES, LATTICE % 9, box=9.0)
        found = tree.query(QUERIES, 5)
        right = nearest_of(distances, 5)
        np.testing.assert_allclose(found[0], right[0], rtol=1e-6)
        for radius in (2.0, 4.0, 4.5, 7.0):
            counts = tree.query_ball_point(QUERIES, radius, return_length=True)
            np.testing.assert_array_equal(counts, (distances <= radius * (1 + 1e-7)).sum(axis=1))

    @pytest.mark.daily
    def test_a_point_at_distance_zero_by_a_power_that_is_not_whole(self, tree):
        found, _ = tree.query(QUERIES, 5, p=1.5)
        distances = distances_of(QUERIES, LATTICE[:COUNTED], p=1.5)
        np.testing.assert_allclose(found, np.sort(distances, axis=1)[:, :5], rtol=1e-5)

    @pytest.mark.daily
    def test_subnormal_distances(self):
        """Whatever the processor does with numbers below the least normal one, ratios of distances stay."""
        points = np.zeros((40, 2))
        points[:, 0] = np.arange(40) * 2.0**-1060
        found, rows = KDTree(points, engine="lax").query(points[:5], 2)
        np.testing.assert_array_equal(rows[:, 0], np.arange(5))
        np.testing.assert_array_equal(np.asarray(found)[:, 1], np.full(5, 2.0**-1060))

    @pytest.mark.daily
    def test_clusters(self, tree):
        points = LATTICE[:COUNTED]
        distances = distances_of(points, points)
        for radius, least in ((1.0, 4), (1.5, 9)):
            near = distances <= radius
            is_core = near.sum(axis=1) >= least
            found = tree.dbscan(radius, least)
            np.testing.assert_array_equal(found.core[:COUNTED], is_core)
            labels = np.asarray(found.labels)[:COUNTED]
            np.testing.assert_array_equal(labels, labels_of(near, is_core))
            weights = (np.arange(N) % 3).astype(np.float32)
            sums = near @ weights[:COUNTED]
            is_core = sums >= 2 * least
            found = tree.dbscan(radius, 2 * least, sample_weight=weights)
            np.testing.assert_array_equal(found.core[:COUNTED], is_core)
            np.testing.assert_array_equal(np.asarray(found.labels)[:COUNTED], labels_of(near, is_core))


def labels_of(near, is_core):
    """Return DBSCAN's labels, by following cores: a point at borders has the lowest cluster's label."""
    labels = np.full(len(near), -1)
    label = 0
    for seed in range(len(near)):
        if not is_core[seed] or labels[seed] >= 0:
            continue
        waiting = [seed]
        while waiting:
            row = waiting.pop()
            if labels[row] >= 0:
                continue
            labels[row] = label
            if is_core[row]:
                waiting += list(np.flatnonzero(near[row] & (labels < 0)))
        label += 1
    return labels


class TestResults:
    """What belongs to a result, on the host."""

    def test_room_that_just_suffices(self):
        tree = KDTree([[0.0], [1.0], [2.0]])
        pairs = tree.query_pairs(5.0, max_pairs=3)
        assert int(pairs.count) == 3
        assert not bool(pairs.did_buffer_overflow)
        assert bool(tree.query_pairs(5.0, max_pairs=2).did_buffer_overflow)
        graph = tree.radius_graph(5.0, max_edges=6)
        assert not bool(graph.did_buffer_overflow)
        assert np.asarray(graph.mask).tolist() == [True] * 6
        assert bool(tree.radius_graph(5.0, max_edges=5).did_buffer_overflow)

    def test_receivers_of_lists_given_to_a_program(self):
        found = KDTree([[0.0], [1.0], [2.0], [9.0]]).query_radius([[0.0], [5.0], [1.0]], 1.0)
        receivers = jax.jit(lambda found: found.receivers)(found)
        assert np.asarray(receivers).tolist() == [0, 0, 2, 2, 2]

    @pytest.mark.daily
    def test_radii_below_zero_of_few_points_in_a_program(self):
        tree = KDTree(np.float32([[0.0], [1.0], [2.0]]))
        x = np.float32([[0.0], [1.0]])
        search = jax.jit(lambda r: tree.query_radius(x, r, max_neighbors=2).counts)
        for radius, expected in ((-1.0, [0, 0]), (0.0, [1, 1]), (1.0, [2, 3])):
            assert np.asarray(search(radius)).tolist() == expected

    def test_counts_in_lists_in_a_program(self):
        tree = KDTree([[0.0], [1.0], [2.0], [9.0]])

        @jax.jit
        def search(x):
            found = tree.query_radius(x, 1.0, max_neighbors=3)
            return found.counts, found.mask

        counts, mask = search(np.array([[0.0], [5.0], [1.0]]))
        assert counts.tolist() == [2, 0, 3]
        assert mask.sum(axis=1).tolist() == [2, 0, 3]

    def test_splits_are_in_units_of_the_points(self):
        points = np.random.default_rng(0).random((200, 2)) * 50
        node = KDTree(points).tree
        left = points[node.lesser.indices][:, node.split_dim]
        right = points[node.greater.indices][:, node.split_dim]
        assert left.max() <= node.split <= right.min()

    def test_negative_coordinates_in_a_box_are_refused(self):
        for points in ([[-1.0, 1.0]], [[1.0, -1.0]], [[1.0, 1.0], [0.5, -0.25]]):
            with pytest.raises(ValueError, match="box"):
                KDTree(points, boxsize=2.0)

    def test_boxes_with_a_side_that_is_no_number_are_refused(self):
        for box in ([1.0, np.nan], [np.nan, 0.0], np.nan):
            with pytest.raises(ValueError, match="nan"):
                KDTree([[0.5, 0.5]], boxsize=box)

    def test_rows_that_do_not_count_are_nobodys_neighbors(self):
        points = np.array([[0.0], [1.0], [2.0], [0.1], [1.1]])
        found = KDTree(points, n=3).kneighbors(2)
        assert np.asarray(found[1]).tolist() == [[1, 2], [0, 2], [1, 0], [3, 3], [3, 3]]
        assert np.isinf(np.asarray(found[0])[3:]).all()

    def test_displacements_to_no_row(self):
        """They are 0, in a box and in a cell, whatever lies in the row that stands for none."""
        points, x = np.array([[0.5, 1.0], [2.0, 3.0]]), np.array([[1.0, 1.0], [1.5, 2.0]])
        for options in ({}, {"boxsize": 4.0}, {"engine": "lax"}):
            found = KDTree(points, **options).displacements(x, [2, 0])
            np.testing.assert_array_equal(found, [[0, 0], [-1, -1]])
        clouds = KDTree(points, cell=np.array([np.eye(2) * 4, np.eye(2) * 5]), batch=[0, 1])
        shifts = np.array([[1, 0], [0, 0]])
        found = clouds.displacements(x, [2, 1], shifts=shifts)
        np.testing.assert_array_equal(found[0], [0, 0])

    def test_linkage_of_unsigned_rows(self):
        rows, lengths = np.array([[0, 1], [2, 3], [1, 2]]), np.array([1.0, 1.5, 4.0])
        expected = scipy.cluster.hierarchy.linkage(np.array([[0.0], [1.0], [5.0], [6.5]]), "single")
        np.testing.assert_allclose(single_linkage(rows.astype(np.uint32), lengths), expected)

    def test_rows_are_padded_to_the_least_size_that_has_them(self):
        for count, size in ((1, 4), (3, 4), (4, 4), (5, 8)):
            padded, number = pad_rows(np.ones((count, 2)), sizes=[4, 8])
            assert (padded.shape, int(number)) == ((size, 2), count)

    def test_a_cluster_as_stable_as_its_parts(self):
        """All six stay together to a density of 1/2, and three and three from there to 1: 6/2 = 2 * 3/2."""
        points = np.array([0.0, 1.0, 2.0, 4.0, 5.0, 6.0])[:, None]
        found = KDTree(points).hdbscan(3, min_samples=2, allow_single_cluster=True)
        assert np.asarray(found[0]).tolist() == [0] * 6

    def test_points_that_leave_a_single_cluster_last(self):
        """They are its members, those that leave it before are noise: scikit-learn's rule."""
        points = np.array([0.0, 1.0, 2.0, 3.0, 9.0])[:, None]
        found = KDTree(points).hdbscan(3, min_samples=1, allow_single_cluster=True)
        assert np.asarray(found[0]).tolist() == [0, 0, 0, 0, -1]

    def test_dense_groups(self):
        """In each one the eight nearest join all points, from group to group none of them leads."""
        group = np.linspace(0, 0.1, 100)
        for starts, expected in (([0, 50, 1], [0, 1, 0]), ([0, 1, 2, 50, 3], [0, 0, 0, 1, 0])):
            points = np.concatenate([start + group for start in starts])[:, None]
            count, labels = KDTree(points).connected_components(1.0)
            assert int(count) == 2
            np.testing.assert_array_equal(labels, np.repeat(expected, 100))

    def test_dense_cores_with_just_enough_neighbors(self):
        """The last ones lie at the radius."""
        points = np.arange(300.0)
        with jax.enable_x64(True):
            found = KDTree(points[:, None]).dbscan(40.0, 81, p=1.0)
        counts = (np.abs(points - points[:, None]) <= 40).sum(axis=1)
        np.testing.assert_array_equal(found.core, counts >= 81)

    @pytest.mark.parametrize("transform", [lambda f: f, jax.jit])
    def test_distances_that_round_to_the_radius(self, transform):
        """Those are within it: a distance in float32 may be the radius where the exact one is longer."""
        radius = np.float32(72_000_000)
        points = np.array([[-36_000_000, 1], [5e8, 0]], np.float32)
        x = np.array([[36_000_004, 0]], np.float32)
        exact = np.hypot(72_000_004.0, 1.0)
        assert exact > radius
        assert np.float32(exact) == radius

        @transform
        def search(points, x):
            tree = KDTree(points)
            return tree.query(x)[0], tree.query_ball_point(x, radius, return_length=True)

        assert np.asarray(search(points, x)).tolist() == [[radius], [1]]

    @pytest.mark.daily
    @pytest.mark.parametrize(("p", "aside"), [(2.0, 3.4526698e-4), (4.0, 2**-5.5)])
    def test_roots_that_round_to_the_radius(self, p, aside):
        """Also where the power of a distance is greater than that of the radius."""
        points = np.float32([[1, aside], [1, 0], [5, 5]])
        power = (points[0].astype(float) ** p).sum()
        assert np.float32(power) > 1
        assert np.float32(power ** (1 / p)) == 1
        counts = KDTree(points, engine="lax").query_ball_point(
            [[0, 0]], np.float32(1), p=p, return_length=True
        )
        assert np.asarray(counts).tolist() == [2]


@pytest.mark.daily
def test_many_dimensions_far_from_the_origin():
    """There a product of matrices, by which the portable engine chooses, is rounded: it looks again."""
    points = (4096 + RNG.integers(0, 4, (60, 20))).astype(np.float32)
    points[30:] *= -1  # so that their mean is no better origin
    queries = points[:5] + np.float32(1)
    found = KDTree(points, engine="lax").query(queries, 3)
    right = nearest_of(distances_of(queries, points), 3)
    np.testing.assert_array_equal(found[1], right[1])
    np.testing.assert_allclose(found[0], right[0], rtol=1e-6)


@pytest.mark.daily
@pytest.mark.parametrize("p", [1.0, 2.0])
def test_many_dimensions_in_several_tiles(p, monkeypatch):
    """By every distance, with p = 2 by those that products of matrices leave over."""
    monkeypatch.setattr(_brute, "_POINTS", 16)
    points = RNG.integers(0, 4, (56, 20)).astype(np.float32)
    queries = points[::-8] + np.float32(1)
    found = KDTree(points, engine="lax").query(queries, 3, p=p)
    right = nearest_of(distances_of(queries, points, p=p), 3)
    np.testing.assert_array_equal(found[1], right[1])
    np.testing.assert_allclose(found[0], right[0], rtol=1e-6)


class TestDistances:
    def test_tolerance_of_distance_matrices_includes_it(self):
        matrix = np.array([[0.5, 1.0], [1.0, 0.5]])
        assert distance.is_valid_dm(matrix, tol=0.5)
        assert not distance.is_valid_dm(matrix, tol=0.49)

    def test_a_number_is_no_distance_matrix(self):
        for is_valid in (distance.is_valid_y, distance.is_valid_dm):
            assert not is_valid(np.float32(5))
            with pytest.raises(ValueError, match="shape"):
                is_valid(np.float32(5), throw=True)

    def test_proportional_distributions(self):
        assert float(distance.jensenshannon([1.0, 2.0, 4.0], [3.0, 6.0, 12.0])) == 0.0

    def test_divergence_of_large_ratios(self):
        x, y = np.float32([[1e30, 1.0]]), np.float32([[1e-30, 2.0]])
        terms = x[0].astype(float) * np.log(x[0].astype(float) / y[0].astype(float))
        assert float(distance.cdist(x, y, "kl_divergence")[0, 0]) == pytest.approx(terms.sum(), rel=1e-5)

    def test_proportional_distributions_of_many_kinds(self):
        """What their normalization rounds differently is no distance."""
        x = np.random.default_rng(0).uniform(0.1, 1, (50, 7)).astype(np.float32)
        assert (np.diag(distance.cdist(x, x * np.float32(3), "jensenshannon")) == 0).all()

    def test_correlation_far_from_zero(self):
        """The mean of float32 numbers near a million is rounded by a part of what they differ by."""
        u, v = (1e6 + np.random.default_rng(0).normal(size=(2, 50))).astype(np.float32)
        expected = 1 - np.corrcoef(u.astype(float), v.astype(float))[0, 1]
        assert float(distance.correlation(u, v)) == pytest.approx(expected, abs=1e-5)

    @pytest.mark.daily
    def test_rows_that_do_not_fill_tiles(self, monkeypatch):
        """17 rows in three tiles of six: what fills up the last one counts for nothing."""
        jax.clear_caches()
        monkeypatch.setattr(_matrices, "_TILE", 2**8)
        a, b = RNG.normal(size=(5, 3)).astype(np.float32), RNG.normal(size=(17, 3)).astype(np.float32)
        b[-1] = a[0]  # the row that it is filled up with
        distances = distances_of(a, b)
        found = distance.kernel_sum(lambda d: 1 / (1 + d), a, b)
        np.testing.assert_allclose(found, (1 / (1 + distances)).sum(axis=1), rtol=1e-6)
        expected = nearest_of(distances, 4)
        found = distance.nearest(a, b, 4)
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-6, atol=1e-7)
        np.testing.assert_array_equal(found[1], expected[1])
        jax.clear_caches()

    def test_chords_beyond_the_diameter(self):
        """By a rounding error as they are measured, by more in a program: they are diameters."""
        found = great_circle_distance(np.nextafter(np.float32(2), np.float32(3)))
        assert float(found) == pytest.approx(np.pi, rel=1e-6)
        assert float(jax.jit(great_circle_distance)(np.float32(2.5))) == pytest.approx(np.pi, rel=1e-6)


@pytest.mark.daily
def test_mesh_bound_is_strict():
    """Also where the neighbour lies on another device."""
    mesh = mesh_of(2)
    points = spread(mesh, np.float32([[0], [1], [2], [3], [10], [11], [12], [13]]))
    tree = KDTree(points)
    found = tree.query(np.float32([[0.0], [7.0]]), 2, distance_upper_bound=3.0)
    assert np.asarray(found[0]).tolist() == [[0.0, 1.0], [np.inf, np.inf]]


@pytest.mark.daily
def test_clusters_on_a_mesh():
    """Chains that go from device to device; cores with just enough neighbours, or weights."""
    mesh = mesh_of(4)
    lattice = np.stack(np.meshgrid(np.arange(7), np.arange(4)), -1).reshape(-1, 2)
    lattice = np.concatenate([lattice, [[20, 0], [21, 0], [22, 0], [40, 0]]]).astype(np.float32)
    # Of eight points on each device the first is a core, beside the last one of the device before.
    on_a_device = np.array([0, 0.5, 1, 1.5, 10, 20, 30, 39])
    borders = np.stack([(on_a_device + 40 * np.arange(4)[:, None]).ravel(), np.zeros(32)], -1)

    @jax.jit
    def search(tree, weights):
        return tree.dbscan(1.0, 4), tree.dbscan(1.0, 4, sample_weight=weights)

    for cloud in lattice, borders.astype(np.float32):
        points = np.random.default_rng(2).permutation(cloud)
        near = distances_of(points, points) <= 1
        tree = KDTree(spread(mesh, points))
        for weights in (np.arange(32) % 3, 2 * (np.arange(32) % 3)):
            weights = weights.astype(np.float32)
            for found, sums in zip(
                search(tree, spread(mesh, weights)), (near.sum(axis=1), near @ weights), strict=True
            ):
                np.testing.assert_array_equal(found.core, sums >= 4)
                np.testing.assert_array_equal(found.labels, labels_of(near, sums >= 4))


@pytest.mark.daily
def test_weights_of_a_tree_and_one_on_a_mesh():
    """The tree on the mesh searches, and each point keeps its own weight."""
    points, others = (RNG.integers(0, 5, (8, 2)).astype(np.float32) for _ in range(2))
    weights, other_weights = np.arange(1.0, 9.0), np.arange(8.0) ** 2
    near = distances_of(points, others) <= 2
    other_tree = KDTree(spread(mesh_of(2), others))
    found = KDTree(points).count_neighbors(other_tree, 2.0, weights=(weights, other_weights))
    assert float(found) == weights @ near @ other_weights


@pytest.mark.daily
def test_vectors_on_a_mesh():
    """The points of three devices go round, and every device takes those that it needs."""
    mesh = mesh_of(3)
    points = np.random.default_rng(6).normal(size=(9, 2)).astype(np.float32)
    rows = (np.arange(36).reshape(9, 4) * 5 % 9).astype(np.int32)
    found = KDTree(spread(mesh, points)).displacements(spread(mesh, points), spread(mesh, rows))
    np.testing.assert_array_equal(found, points[rows] - points[:, None])


@pytest.mark.thorough
def test_lists_on_a_mesh_are_in_order():
    """Equal distances by rows, also where their squares, which come before them, are not equal."""
    points = np.float32([[1, 3.4526698e-4], [1, 0], [5, 5], [-1, 3.4526698e-4]])
    tree = KDTree(spread(mesh_of(2), points))
    found = tree.query_radius(np.float32([[0, 0]]), np.float32(2), max_neighbors=3)
    assert np.asarray(found.distances).tolist() == [[1, 1, 1]]
    assert np.asarray(found.indices).tolist() == [[0, 1, 3]]


@pytest.mark.thorough
def test_distances_on_a_mesh_that_round_to_the_radius():
    """By a power that is not whole a box may seem farther away than its points."""
    rng = np.random.default_rng(0)
    mesh = mesh_of(2)
    here = 0.1 * rng.random((4, 3))
    there = 1 + np.array([1, 0, 0]) + 2.0**-23 * rng.integers(0, 3, (4, 3))
    x = spread(mesh, rng.uniform(0, 0.3, (4096, 3)).astype(np.float32))
    tree = KDTree(spread(mesh, np.concatenate([here, there]).astype(np.float32)))
    distances = np.asarray(tree.query(x, 8, p=1.5)[0])
    for rank in (4, 7):
        radii = spread(mesh, distances[:, rank])
        counts = np.asarray(tree.query_ball_point(x, radii, p=1.5, return_length=True))
        assert (counts > rank).all()


@pytest.mark.daily
def test_points_at_the_side_of_a_box_on_a_mesh(monkeypatch):
    """They are at its other side, too: near that, distances are exact.

    Their rows lie on other devices than their trees, and go there one by one.
    """
    monkeypatch.setattr(_nearest_on_mesh, "near_a_border", lambda *sizes: 2)
    monkeypatch.setattr(_by_row, "even_share", lambda lines, devices: 1)
    ulp = 2.0**-24
    near = [[1677.6 * ulp, 0], [0.1, 0.2], [0.15, 0.3], [0.2, 0.1]]
    far = [[1, 0], [1, 1677.7 * ulp], [0.9, 0.3], [0.8, 0.2]]
    points, box = np.array([*far, *near], np.float32), np.array([1.0, 8.0])
    tree = KDTree(spread(mesh_of(2), points), boxsize=box)
    _, rows = nearest_of(distances_of(points, points, box=box), 2)
    np.testing.assert_array_equal(tree.query(tree.data, 2)[1], rows)


CELL = np.array([[4.0, 0.0], [1.0, 5.0]])
IN_CELL = np.array([[0.0, 0.0], [1.0, 0.0], [3.5, 0.0], [2.0, 2.5], [2.5, 4.5]])


def images_of(points, cell, reach=3):
    """Return every point of the images around a cell, and its row."""
    numbers = np.arange(-reach, reach + 1)
    shifts = np.stack(np.meshgrid(numbers, numbers), -1).reshape(-1, 2) @ cell
    return (points[None] + shifts[:, None]).reshape(-1, 2), np.tile(np.arange(len(points)), len(shifts))


def test_nearest_images_of_clouds():
    rng = np.random.default_rng(3)
    points, x = rng.uniform(0, 4, (4, 2)), rng.uniform(0, 5, (200, 2))
    images, rows = images_of(points, CELL)
    clouds = KDTree(points, cell=CELL, batch=[0, 0, 1, 1])
    for p in (1.1, 3.0):
        distances = np.where(rows < 2, distances_of(x, images, p=p), np.inf)
        found = clouds.query(x, 2, p=p, batch=np.zeros(len(x), int))
        np.testing.assert_allclose(found[0], np.sort(distances, axis=1)[:, :2], rtol=1e-12)


def test_cells_by_all_images():
    images, _ = images_of(IN_CELL, CELL)
    tree = KDTree(IN_CELL, cell=CELL)
    for p in (1.0, 2.0, 3.0, np.inf):
        distances = np.sort(distances_of(IN_CELL, images, p=p), axis=1)
        np.testing.assert_allclose(tree.query(IN_CELL, 7, p=p)[0], distances[:, :7], rtol=1e-12)
    loops = tree.radius_graph(0.0, loop=True)
    assert np.asarray(loops.senders).tolist() == np.asarray(loops.receivers).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.daily
def test_pairs_in_a_cell_by_the_portable_engine():
    images, _ = images_of(IN_CELL, CELL)
    distances = distances_of(IN_CELL, images)
    tree = KDTree(IN_CELL, cell=CELL, engine="lax")
    for radius in (1.0, 1.5, 4.0, 5.2):
        pairs = tree.query_pairs(radius, max_pairs=80)
        assert int(pairs.count) == ((distances > 0) & (distances <= radius)).sum() // 2


@pytest.mark.daily
def test_images_at_the_radius():
    """They are decided by distances as they are returned, not by those of points moved into other cells."""
    points, length = np.random.default_rng(0).uniform(0, 0.7, 40), 0.7
    between = points - points[:, None]
    distances = np.abs(np.concatenate([between, between + length, between - length], axis=1))
    radii = np.sort(distances, axis=1)[:, 45]
    with jax.enable_x64(True):
        tree = KDTree(points[:, None], cell=[[length]], engine="lax")
        counts = tree.query_ball_point(points[:, None], radii, return_length=True)
        np.testing.assert_array_equal(counts, (distances <= radii[:, None]).sum(axis=1))


@pytest.mark.daily
def test_a_point_and_its_images_in_a_skewed_cell():
    """Of the two pairs with opposite shifts that is listed whose first number is positive."""
    tree = KDTree([[0.1, 0.2]], cell=np.array([[1.0, 0.0], [3.25, 1.0]]), engine="lax")
    pairs = tree.query_pairs(1.3, max_pairs=4)
    # (1, 0) leads to (1, 0), (3, -1) to (-0.25, -1) and (4, -1) to (0.75, -1).
    assert sorted(np.asarray(pairs.shifts)[: int(pairs.count)].tolist()) == [[1, 0], [3, -1], [4, -1]]


@pytest.mark.daily
def test_nearest_images_on_one_side_alone():
    """Of one query, near a side of the cell, of whose points some lie near the other side."""
    for points, x in (([0.05, 0.5], 0.95), ([0.95, 0.5], 0.05)):
        tree = KDTree(np.array(points)[:, None], cell=[[1.0]], engine="lax")
        assert float(tree.query([[x]])[0][0]) == pytest.approx(0.1, rel=1e-6)


@pytest.mark.daily
def test_counts_where_some_of_equally_near_images_are_left_out():
    cell = np.array([[4.0, 0.0], [1.0, 5.0]])
    points = np.unique(np.random.default_rng(0).integers(0, 5, (9, 2)), axis=0)[:6].astype(float)
    distances = distances_of(points, images_of(points, cell)[0])
    found = KDTree(points, cell=cell, engine="lax").query_radius(points, 2.3, max_neighbors=2)
    np.testing.assert_array_equal(found.counts, (distances <= 2.3).sum(axis=1))


@pytest.mark.daily
def test_components_by_images_at_the_radius():
    """Whole numbers: many distances are the radius."""
    cell = np.array([[5.0, 0.0], [1.0, 7.0]])
    for seed in (14, 30):
        points = np.unique(np.random.default_rng(seed).integers(0, 7, (9, 2)), axis=0)[:8].astype(float)
        images, rows = images_of(points, cell)
        tree = KDTree(points, cell=cell, engine="lax")
        for radius in (1.0, 2.0):
            within = distances_of(points, images) <= radius
            near = np.stack([within[:, rows == row].any(axis=1) for row in range(8)], axis=1)
            count, labels = tree.connected_components(radius)
            expected = labels_of(near, np.ones(8, bool))
            np.testing.assert_array_equal(labels, expected)
            assert int(count) == expected.max() + 1


@pytest.mark.daily
def test_radii_beyond_all_clouds():
    """Clouds stay apart; within one all are neighbors."""
    points = np.random.default_rng(1).random((6, 2)).astype(np.float32)

    @jax.jit
    def search(points, radius):
        tree = KDTree(points, batch=np.array([0, 0, 0, 1, 1, 1]), engine="lax")
        return tree.radius_graph(radius, max_edges=40).count, tree.connected_components(radius)

    for radius in (2.0, 1e30, np.inf):
        count, (component_count, labels) = search(points, np.float32(radius))
        assert (int(count), int(component_count)) == (12, 2)
        assert np.asarray(labels).tolist() == [0, 0, 0, 1, 1, 1]


@pytest.mark.daily
def test_clusters_in_a_cell_by_the_portable_engine():
    images, rows = images_of(IN_CELL, CELL)
    distances = distances_of(IN_CELL, images)
    tree = KDTree(IN_CELL, cell=CELL, engine="lax")
    search = jax.jit(lambda radius, weights: tree.dbscan(radius, 3, sample_weight=weights))
    weights = np.array([1.0, 2.0, 0.0, 1.0, 3.0])
    for radius in (1.0, 1.5, 3.0):
        within = distances <= radius
        near = np.stack([within[:, rows == row].any(axis=1) for row in range(5)], axis=1)
        for given in (np.ones(5), weights):
            sums = (within * given[rows]).sum(axis=1)
            found = search(radius, given)
            np.testing.assert_array_equal(found.core, sums >= 3)
            np.testing.assert_array_equal(found.labels, labels_of(near, sums >= 3))
