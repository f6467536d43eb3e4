"""Searches do not depend on units: times a power of two or beside a far point, neighbours stay the same."""

import jax
import numpy as np
import pytest
from meshes import mesh_of, spread
from radius_engines import use
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from jaxapi.spatial import KDTree

DTYPES = [np.float32, np.float64]
ORDERS = [1.0, 1.5, 2.0, 3.0, 4.0, 7.0, np.inf]
# How many times farther than the least distance, 2**e, a point may be, as docs/limits.md says.
FAR = {
    np.float32: {2.0: 97, 3.0: 76, 4.0: 60},
    np.float64: {2.0: 960, 3.0: 670, 4.0: 500},
}
FAR_OF_OTHERS = {np.float32: 110, np.float64: 1000}
POINTS = np.random.default_rng(5).integers(0, 1000, (13, 2)).astype(np.longdouble)
QUERIES = np.random.default_rng(6).integers(0, 1000, (5, 2)).astype(np.longdouble)
RADIUS = np.longdouble(300.5)


@pytest.fixture
def tree_of(request, monkeypatch):
    """Return what builds a tree that one engine searches."""
    x64 = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", x64 or request.param == "cuda")
    if request.param == "mesh":
        mesh = mesh_of(2)
        yield lambda points, boxsize=None: KDTree(spread(mesh, points), boxsize=boxsize)
    else:
        use(request.param, monkeypatch)
        yield lambda points, boxsize=None: KDTree(points, boxsize=boxsize)
    jax.config.update("jax_enable_x64", x64)


class Cloud:
    """Points and queries as an engine sees them, and their distances, in units of 2**exponent."""

    def __init__(self, dtype, p, exponent, far=None, box=None):
        if far is not None:
            last = query = np.array([[np.ldexp(np.longdouble(1), far), 0]])
        else:
            last, query = POINTS[:1] + 500, POINTS[:1]
        self.dtype, self.p, self.exponent, self.box = dtype, p, exponent, box
        self.points = np.concatenate([POINTS, last])
        self.queries = np.concatenate([QUERIES, query])

    def scaled(self, values):
        """Return numbers in the dtype of the engine."""
        scaled = np.ldexp(values, self.exponent).astype(self.dtype)
        assert (scaled == np.ldexp(values, self.exponent)).all(), "the test would lose digits"
        return scaled

    def apart(self, queries):
        """Return the distances (q, n), rounded as the engine's dtype rounds them."""
        differences = np.abs(queries[:, None] - self.points)
        if self.box is not None:
            differences = np.minimum(differences, self.box - differences)
        if self.p == np.inf:
            found = differences.max(axis=2)
        else:  # in longdouble, whose exponents have room for all powers here
            found = (differences**self.p).sum(axis=2) ** (1 / np.longdouble(self.p))
        return found.astype(np.float64) if self.dtype is np.float64 else found.astype(np.float32)

    def expected(self, distances):
        """Return distances in the units of the engine."""
        return np.ldexp(distances, self.exponent).astype(self.dtype)

    def assert_distances(self, found, distances):
        expected = self.expected(distances)
        np.testing.assert_allclose(found, expected, rtol=8 * np.finfo(self.dtype).eps)
        assert np.asarray(found).dtype == self.dtype


def assert_rows(found, rows, apart):
    """Compare rows; of points whose distances round to the same number any may come first."""
    found = np.asarray(found)
    np.testing.assert_array_equal(np.sort(found, axis=1), np.sort(rows, axis=1))
    distances = np.pad(apart, ((0, 0), (0, 1)), constant_values=np.inf)
    np.testing.assert_array_equal(
        np.take_along_axis(distances, found, axis=1), np.take_along_axis(distances, rows, axis=1)
    )


def clouds(dtype, p):
    """Yield clouds of all sizes that the dtype has, alone and beside one far point."""
    info, far = np.finfo(dtype), FAR[dtype].get(p, FAR_OF_OTHERS[dtype])
    least, greatest = int(info.minexp), int(info.maxexp) - 12
    for exponent in (least, least // 2, 0, greatest // 2, greatest):
        yield Cloud(dtype, p, exponent)
    for exponent in (least + 5, 0, info.maxexp - 2 - far):
        if exponent + far < info.maxexp - 1:
            yield Cloud(dtype, p, exponent, far)


def nearest(cloud, tree):
    """Compare all neighbours."""
    apart = cloud.apart(cloud.queries)
    order = np.argsort(apart, axis=1, kind="stable")
    distances, rows = tree.query(cloud.scaled(cloud.queries), 14, p=cloud.p)
    assert_rows(rows, order, apart)
    cloud.assert_distances(distances, np.take_along_axis(apart, order, axis=1))


def nearest_within(cloud, tree):
    """Compare the nearest within a radius."""
    apart = cloud.apart(cloud.queries)
    order = np.argsort(apart, axis=1, kind="stable")[:, :3]
    sorted_distances = np.take_along_axis(apart, order, axis=1)
    near = sorted_distances <= RADIUS
    radius = cloud.scaled(RADIUS)
    found = tree.query_radius(cloud.scaled(cloud.queries), radius, p=cloud.p, max_neighbors=3)
    np.testing.assert_array_equal(found.counts, (apart <= RADIUS).sum(axis=1))
    assert_rows(found.indices, np.where(near, order, 14), apart)
    cloud.assert_distances(found.distances, np.where(near, sorted_distances, np.inf))
    assert (np.asarray(found.counts) > 3).any()


def all_within(cloud, tree):
    """Compare all neighbours within a radius, as CSR and counted."""
    apart = cloud.apart(cloud.queries)
    order = np.argsort(apart, axis=1, kind="stable")
    near = np.take_along_axis(apart, order, axis=1) <= RADIUS
    x, radius = cloud.scaled(cloud.queries), cloud.scaled(RADIUS)
    found = tree.query_radius(x, radius, p=cloud.p, sort=True)
    np.testing.assert_array_equal(np.diff(found.indptr), near.sum(axis=1))
    np.testing.assert_array_equal(found.indices, order[near])
    cloud.assert_distances(found.distances, np.take_along_axis(apart, order, axis=1)[near])
    lengths = tree.query_ball_point(x, radius, p=cloud.p, return_length=True)
    np.testing.assert_array_equal(lengths, near.sum(axis=1))


def among_points(cloud, tree):
    """Compare pairs, edges, neighbours and counts of the points themselves."""
    apart, radius = cloud.apart(cloud.points), cloud.scaled(RADIUS)
    others = np.where(np.eye(14, dtype=bool), np.inf, apart)
    padded = tree.query_pairs(radius, p=cloud.p, max_pairs=91)
    pairs = set(map(tuple, np.asarray(padded.pairs)[: int(padded.count)].tolist()))
    if len(tree.data.devices()) == 1:
        assert pairs == tree.query_pairs(radius, p=cloud.p)
    assert pairs == set(map(tuple, np.argwhere(np.triu(others <= RADIUS)).tolist()))
    graph = tree.radius_graph(radius, p=cloud.p)
    edges = np.asarray(graph.receivers)[: int(graph.count)], np.asarray(graph.senders)[: int(graph.count)]
    order = np.lexsort(edges[::-1])
    near = np.argwhere(others <= RADIUS)
    np.testing.assert_array_equal(np.stack(edges, axis=1)[order], near)
    cloud.assert_distances(np.asarray(graph.distances)[: len(order)][order], others[tuple(near.T)])
    rows = np.argsort(others, axis=1, kind="stable")[:, :13]
    distances, found = tree.kneighbors(13, p=cloud.p)
    assert_rows(found, rows, others)
    cloud.assert_distances(distances, np.take_along_axis(apart, rows, axis=1))
    radii = np.array([50, RADIUS, 700.5], np.longdouble)
    counts = tree.count_neighbors(tree, cloud.scaled(radii), p=cloud.p)
    np.testing.assert_array_equal(counts, [(apart <= r).sum() for r in radii])


SEARCHES = [nearest, nearest_within, all_within, among_points]
# The other orders share all code but their powers: two searches have these.
CASES = [(search, 2.0) for search in SEARCHES]
OTHERS = [(search, p) for search in (nearest, nearest_within) for p in ORDERS if p != 2]
ON_MESH = [(nearest, 4.0), (nearest_within, 4.0), (nearest, np.inf)]


def named(value):
    return getattr(value, "__name__", str(value))


@pytest.mark.thorough
@pytest.mark.daily("nearest-2.0-lax-float32", "nearest-inf-cuda-float32")
@pytest.mark.parametrize(
    ("tree_of", "dtype"),
    [("natural", np.float32), *[(engine, dtype) for engine in ("lax", "cuda") for dtype in DTYPES]],
    indirect=["tree_of"],
)
@pytest.mark.parametrize(("search", "p"), CASES + OTHERS, ids=named)
def test_units_and_a_far_point_change_nothing(search, p, dtype, tree_of):
    for cloud in clouds(dtype, p):
        search(cloud, tree_of(cloud.scaled(cloud.points)))


@pytest.mark.thorough
@pytest.mark.parametrize("tree_of", ["mesh"], indirect=True)
@pytest.mark.parametrize(("search", "p"), CASES + ON_MESH, ids=named)
def test_on_a_mesh(search, p, tree_of):
    for cloud in clouds(np.float32, p):
        search(cloud, tree_of(cloud.scaled(cloud.points)))


@pytest.mark.thorough
@pytest.mark.daily("2.0-cuda")
@pytest.mark.parametrize("tree_of", ["natural", "lax", "cuda", "mesh"], indirect=True)
@pytest.mark.parametrize("p", [2.0, 4.0])
def test_in_a_box(p, tree_of):
    """Also in one that is far larger than the points."""
    for exponent in (-126, 0, 100):
        box = np.array([1536, 2048], np.longdouble)
        cloud = Cloud(np.float32, p, exponent, box=box)
        nearest(cloud, tree_of(cloud.scaled(cloud.points), boxsize=cloud.scaled(box)))
    far = FAR[np.float32][p] - 1
    box = np.array([np.ldexp(np.longdouble(1), far + 2), 2048])
    cloud = Cloud(np.float32, p, 0, far, box)
    nearest(cloud, tree_of(cloud.scaled(cloud.points), boxsize=cloud.scaled(box)))


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("tree_of", "dtype"),
    [("cuda", np.float32), ("cuda", np.float64), ("mesh", np.float32)],
    indirect=["tree_of"],
)
def test_clusters(dtype, tree_of):
    """Components, DBSCAN and spanning trees find the same points near."""
    for cloud in clouds(dtype, 2.0):
        tree, radius = tree_of(cloud.scaled(cloud.points)), cloud.scaled(RADIUS)
        apart = cloud.apart(cloud.points)
        count, labels = connected_components(apart <= RADIUS)
        found = tree.connected_components(radius)
        assert int(found.count) == count
        np.testing.assert_array_equal(found.labels, labels)
        core = (apart <= RADIUS).sum(axis=1) >= 4
        found = tree.dbscan(radius, 4)
        np.testing.assert_array_equal(found.core, core)
        assert set(np.flatnonzero(np.asarray(found.labels) < 0)) == set(
            np.flatnonzero(~((apart <= RADIUS) & core).any(axis=1))
        )
        if len(tree.data.devices()) == 1:
            edges = minimum_spanning_tree(apart).data
            cloud.assert_distances(tree.minimum_spanning_tree().distances, np.sort(edges).astype(apart.dtype))


def high_power(a, b, p):
    """Return the distances of each pair, near the greatest difference, of which all powers are numbers."""
    differences = np.abs(a[:, None] - b[None])
    largest = differences.max(axis=2)
    ratios = differences / np.where(largest > 0, largest, 1)[..., None]
    return largest * (ratios**p).sum(axis=2) ** (1 / p)


@pytest.mark.thorough
@pytest.mark.parametrize("engine", [None, "scipy", "lax"])
@pytest.mark.parametrize("p", [50, 1000])
def test_high_powers(p, engine):
    """Powers of ordinary distances overflow and vanish: 5**1000, 0.5**1100."""
    rng = np.random.default_rng(0)
    points, queries = rng.uniform(-5, 5, (40, 3)), rng.uniform(-5, 5, (12, 3))
    points[3] = points[4] + 1e-7
    expected = high_power(queries, points, p)
    radius = np.median(expected)
    tree, other = KDTree(points, engine=engine), KDTree(queries, engine=engine)
    distances, rows = tree.query(queries, 3, p=p)
    np.testing.assert_allclose(distances, np.sort(expected)[:, :3], rtol=1e-13)
    np.testing.assert_array_equal(rows, np.argsort(expected)[:, :3])
    found = jax.jit(lambda tree, x: tree.query(x, 3, p=p))(tree, other.data)
    np.testing.assert_allclose(found[0], distances, rtol=1e-13)
    within = (expected <= radius).sum(axis=1)
    assert tree.query_ball_point(queries, radius, p=p, return_length=True).tolist() == within.tolist()
    assert [len(rows) for rows in other.query_ball_tree(tree, radius, p=p)] == within.tolist()
    assert tree.count_neighbors(other, radius, p=p) == within.sum()
    assert (np.asarray(tree.dbscan(1e-6, 2, p=p).labels) >= 0).tolist() == [i in (3, 4) for i in range(40)]
    assert tree.query(queries, 3)[0].tolist() == KDTree(points).query(queries, 3)[0].tolist()  # p=2 as before
    with pytest.raises(ValueError, match="p up to 20"):
        tree.minimum_spanning_tree(p=p)
    crystal = KDTree(points, cell=20.0 * np.eye(3), engine=engine)
    np.testing.assert_allclose(crystal.query(queries, 3, p=p)[0], np.sort(expected)[:, :3], rtol=1e-13)
