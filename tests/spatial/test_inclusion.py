"""A returned distance, used as a radius, includes its point: in every method, engine, dtype and norm.

Distances are compared as they are returned: what `query` returns of all points decides.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.spatial
from meshes import mesh_of, spread
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from jaxapi.spatial import KDTree

N = 60
RNG = np.random.default_rng(1)
LATTICES = {
    m: 0.1 * np.stack(np.meshgrid(*[np.arange(side)] * m, indexing="ij"), -1).reshape(-1, m)[:N]
    for m, side in ((1, N), (2, 8), (3, 4), (5, 3))
}
CLOUDS = [RNG.random((N, m)) for m in LATTICES] + list(LATTICES.values())


def counts_of(tree, x, radii, p):
    """Return what each method that takes many radii counts around each query (q,)."""
    found = tree.query_radius(x, radii, p=p)
    fixed = tree.query_radius(x, radii, p=p, max_neighbors=N)
    few = tree.query_radius(x, radii, p=p, max_neighbors=2)
    assert (few.mask.sum(axis=1) == np.minimum(few.counts, 2)).all()
    return {
        "csr": np.diff(found.indptr), "fixed": fixed.counts, "mask": fixed.mask.sum(axis=1),
        "few": few.counts,
        "lengths": tree.query_ball_point(x, radii, p=p, return_length=True),
        "lists": [len(rows) for rows in tree.query_ball_point(x, radii, p=p)],
    }  # fmt: skip


def totals_of(tree, r, p):
    """Return what each method with one radius counts among all points, each with itself."""
    weights = np.ones(N)
    pairs = {
        "pairs": len(tree.query_pairs(r, p=p)), "array": len(tree.query_pairs(r, p=p, output_type="ndarray")),
        "fixed pairs": int(tree.query_pairs(r, p=p, max_pairs=N * N).count),
    }  # fmt: skip
    edges = {
        "graph": len(tree.radius_graph(r, p=p).senders),
        "fixed graph": int(tree.radius_graph(r, p=p, max_edges=N * N).count),
    }
    return {
        "count": tree.count_neighbors(tree, r, p=p),
        "counts": int(tree.count_neighbors(tree, [r / 2, r], p=p)[1]),
        "weights": round(tree.count_neighbors(tree, r, p=p, weights=weights)),
        "trees": sum(map(len, tree.query_ball_tree(tree, r, p=p))),
        "matrix": len(tree.sparse_distance_matrix(tree, r, p=p, output_type="dict")),
        "csr": len(tree.query_radius(tree.data, r, p=p).indices),
        "lengths": int(tree.query_ball_point(tree.data, r, p=p, return_length=True).sum()),
        "lists": sum(map(len, tree.query_ball_point(tree.data, r, p=p))),
        **{name: N + 2 * count for name, count in pairs.items()},
        **{name: N + count for name, count in edges.items()},
    }  # fmt: skip


def assert_included(points, p, engine=None, boxsize=None):
    tree = KDTree(points, engine=engine, boxsize=boxsize)
    distances = np.asarray(tree.query(points, N, p=p)[0])
    for radii in (distances[:, 1], distances[:, 5]):
        expected = (distances <= radii[:, None]).sum(axis=1)
        assert (expected > 1).all()
        for name, counts in counts_of(tree, points, radii, p).items():
            np.testing.assert_array_equal(counts, expected, err_msg=f"{name} {p} {points.shape}")
    for r in (distances[7, 1], distances[20, 5]):
        degrees = (distances <= r).sum(axis=1)
        for name, total in totals_of(tree, r, p).items():
            assert total == degrees.sum(), (name, p, points.shape)
        least = int(np.median(degrees))
        np.testing.assert_array_equal(tree.dbscan(r, least, p=p).core, degrees >= least)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 3.0, 4.0, np.inf])
def test_by_scipy(p, dtype):
    for points in CLOUDS:
        assert_included(points.astype(dtype), p)
        assert_included(points.astype(dtype), p, boxsize=1.0 if points.max() < 1 else 7.0)


@pytest.mark.thorough
@pytest.mark.parametrize(("dtype", "p"), [("float32", 2.0), ("float32", 3.0), ("float64", 2.0)])
def test_by_lax(dtype, p):
    """In the methods that programs of their own serve; shapes are few, as each compiles."""
    for points in (CLOUDS[2].astype(dtype), CLOUDS[6].astype(dtype)):
        tree = KDTree(points, engine="lax")
        distances = np.asarray(tree.query(points, N, p=p)[0])
        radii = distances[:, 5]
        expected = (distances <= radii[:, None]).sum(axis=1)
        found = tree.query_radius(points, radii, p=p, max_neighbors=N)
        np.testing.assert_array_equal(found.counts, expected)
        np.testing.assert_array_equal(found.mask.sum(axis=1), expected)
        np.testing.assert_array_equal(np.diff(tree.query_radius(points, radii, p=p).indptr), expected)
        r = distances[7, 1]
        degrees = (distances <= r).sum(axis=1)
        assert tree.count_neighbors(tree, r, p=p) == degrees.sum()
        assert 2 * len(tree.query_pairs(r, p=p)) + N == degrees.sum()
        np.testing.assert_array_equal(tree.dbscan(r, 3, p=p).core, degrees >= 3)


@pytest.mark.thorough
def test_in_programs(x64):
    """SciPy called back, and every pair compared, include what is returned outside."""

    @jax.jit
    def counted(tree, x, radii):
        return tree.query_ball_point(x, radii, return_length=True), tree.query_radius(
            x, radii, max_neighbors=9
        )

    for points in CLOUDS:
        for dtype in ("float32", "float64") if x64 else ("float32",):
            tree = KDTree(points.astype(dtype))
            distances = np.asarray(tree.query(tree.data, N)[0])
            radii = distances[:, 5]
            lengths, fixed = counted(tree, tree.data, jnp.asarray(radii))
            expected = (distances <= radii[:, None]).sum(axis=1)
            np.testing.assert_array_equal(lengths, expected)
            np.testing.assert_array_equal(fixed.counts, expected)


def test_components_of_dense_clouds():
    """Many points as far as the radius: no list of pairs is made."""
    along = np.concatenate([0.1 * np.arange(40), 4.1 + 0.1 * np.arange(40)])
    points = np.concatenate([np.column_stack([along, np.full(80, y)]) for y in (0.0, 0.1, 0.2)])
    points = np.concatenate([points, points[:1] + 1e-9 * RNG.random((200, 2))])
    tree = KDTree(points)
    distances = np.asarray(tree.query(points, len(points))[0])
    for r in (distances[100, 1], distances[100, 4], distances[30, 60]):
        degrees = (distances <= r).sum(axis=1)
        np.testing.assert_array_equal(tree.dbscan(r, 5).core, degrees >= 5)
        graph = tree.radius_graph(r)
        ends = graph.receivers, graph.senders
        adjacency = coo_array((np.ones(len(graph.senders)), ends), shape=(len(points),) * 2)
        assert int(tree.connected_components(r).count) == connected_components(adjacency)[0]


@pytest.mark.thorough
def test_one_number_is_told_from_the_next():
    """Float32 numbers whose distance is rounded, and the number before it."""
    points = np.array([[0.1], [0.7]], np.float32)
    distance = np.float32(np.float64(points[1, 0]) - np.float64(points[0, 0]))
    for engine in ("scipy", "lax"):
        tree = KDTree(points, engine=engine)
        assert tree.kneighbors(1)[0].tolist() == [[distance]] * 2
        assert tree.dbscan(distance, 2).labels.tolist() == [0, 0]
        assert tree.dbscan(np.nextafter(distance, np.float32(0)), 2).labels.tolist() == [-1, -1]
        assert (
            tree.kneighbors(1, distance_upper_bound=np.nextafter(distance, np.float32(0)))[1].tolist()
            == [[2]] * 2
        )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_many_points(dtype):
    """Of which SciPy lists the pairs to count them, and which have few or many neighbours."""
    side = 0.1 * np.arange(12)
    lattice = np.stack(np.meshgrid(side, side, side, indexing="ij"), -1).reshape(-1, 3)
    for points in (lattice, RNG.random((1500, 3))):
        points = points.astype(dtype)
        tree = KDTree(points)
        distances = np.asarray(tree.query(points, 200)[0])
        radii = distances[:, 6]
        expected = (distances <= radii[:, None]).sum(axis=1)
        np.testing.assert_array_equal(tree.query_ball_point(points, radii, return_length=True), expected)
        for r in distances[:, [1, 6, 110]].min(axis=0):
            expected = (distances <= r).sum(axis=1)
            assert expected.max() < 200  # so that the nearest are all that count
            np.testing.assert_array_equal(tree.query_ball_point(points, r, return_length=True), expected)
            assert tree.count_neighbors(tree, r) == expected.sum()
            assert 2 * len(tree.query_pairs(r)) + len(points) == expected.sum()
            np.testing.assert_array_equal(tree.dbscan(r, 7).core, expected >= 7)
        some = np.sort(distances[::300, 3])
        totals = [(distances <= r).sum() for r in some]
        np.testing.assert_array_equal(tree.count_neighbors(tree, some), totals)
        ones = np.ones(len(points))
        np.testing.assert_allclose(tree.count_neighbors(tree, some, weights=(ones, ones)), totals)


def test_half_way_between_two_numbers_of_float32():
    """The square of a distance that is rounded to half way is the next number after that of half way."""
    points = np.array([[-(2.0**-24), 0], [1, 2.0**-26]], np.float32)
    tree = KDTree(points)
    distances = np.asarray(tree.query(points, 2)[0])
    r = distances[0, 1]
    assert r == 1
    np.testing.assert_array_equal(np.diff(tree.query_radius(points, r).indptr), [2, 2])
    np.testing.assert_array_equal(tree.query_radius(points, r, max_neighbors=2).counts, [2, 2])
    np.testing.assert_array_equal(tree.query_ball_point(points, r, return_length=True), [2, 2])
    assert tree.count_neighbors(tree, r) == 4
    assert tree.query_pairs(r) == {(0, 1)}
    assert tree.dbscan(r, 2).labels.tolist() == [0, 0]
    assert int(tree.connected_components(r).count) == 1


CELL = np.array([[2.0, 0, 0], [0.7, 1.9, 0], [0.1, 0.3, 1.7]])
WITH_CLOUDS = np.arange(N) % 2
MORE = 30  # neighbours, more than are within the radii


@pytest.mark.thorough
def test_programs_of_every_norm_are_of_one_size():
    """XLA took minutes to compile sixteen cube roots on end."""
    points = jnp.zeros((64, 3))

    def size(p):
        def search(points):
            return KDTree(points, engine="lax").query_radius(points, 0.1, p=p, max_neighbors=4)

        return len(jax.jit(search).lower(points).as_text().splitlines())

    assert max(size(3), size(4)) < 1.2 * size(2)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("has_clouds", [False, True])
def test_images_and_clouds(has_clouds, dtype):
    clouds = WITH_CLOUDS if has_clouds else None
    options = {"batch": clouds} if has_clouds else {"cell": CELL.astype(dtype)}
    points = RNG.random((N, 3)).astype(dtype)
    tree = KDTree(points, **options)
    distances = np.asarray(tree.query(points, MORE, batch=clouds)[0])
    radii = distances[:, 5]
    expected = (distances <= radii[:, None]).sum(axis=1)
    found = tree.query_radius(points, radii, batch=clouds)
    np.testing.assert_array_equal(np.diff(found.indptr), expected)
    fixed = tree.query_radius(points, radii, max_neighbors=MORE, batch=clouds)
    np.testing.assert_array_equal(fixed.counts, expected)
    np.testing.assert_array_equal(fixed.mask.sum(axis=1), expected)
    lengths = tree.query_ball_point(points, radii, return_length=True, batch=clouds)
    np.testing.assert_array_equal(lengths, expected)
    for r in np.sort(radii)[:20]:
        degrees = (distances <= r).sum(axis=1)
        assert degrees.max() < MORE
        assert len(tree.radius_graph(r).senders) + N == degrees.sum()
        assert 2 * int(tree.query_pairs(r, max_pairs=N * MORE).count) + N == degrees.sum()
        assert int(tree.count_neighbors(tree, r)) == degrees.sum()
        np.testing.assert_array_equal(tree.dbscan(r, 3).core, degrees >= 3)


@pytest.mark.thorough("lax")
@pytest.mark.parametrize("engine", [None, "lax"])
def test_images_of_clouds_in_programs(engine):
    @jax.jit
    def found_among(tree, x, radii):
        distances = tree.query(x, MORE, batch=WITH_CLOUDS)[0]
        counts = tree.query_ball_point(x, radii, return_length=True, batch=WITH_CLOUDS)
        return distances, counts, tree.radius_graph(radii.min(), max_edges=N * MORE).count

    for _ in range(3):
        points = RNG.random((N, 3)).astype(np.float32)
        tree = KDTree(points, engine=engine, batch=WITH_CLOUDS, cell=CELL.astype(np.float32))
        distances, *_ = found_among(tree, points, np.ones(N, np.float32))
        radii = np.asarray(distances)[:, 5]
        distances, counts, edge_count = found_among(tree, points, radii)
        np.testing.assert_array_equal(counts, (distances <= radii[:, None]).sum(axis=1))
        assert edge_count + N == (distances <= radii.min()).sum()


@pytest.mark.thorough
@pytest.mark.parametrize("p", [2.0, 3.0])
def test_images_in_skewed_cells_of_float64(p):
    """Programs that return distances, and those that only count, round the way to an image alike."""

    def tree_of(points, cell):
        return KDTree(points, cell=cell, engine="lax")

    nearest = jax.jit(lambda points, cell, x: tree_of(points, cell).query(x, 4, p=p)[0])
    counted = jax.jit(
        lambda points, cell, x, radii: (
            tree_of(points, cell).query_ball_point(x, radii, p=p, return_length=True),
            tree_of(points, cell).query_radius(x, radii, p=p, max_neighbors=6).counts,
        )
    )
    rng = np.random.default_rng(5)
    with jax.enable_x64(True):
        for _ in range(6):
            cell = rng.normal(size=(2, 2)) * 0.4 + np.eye(2)
            points = rng.uniform(-3, 3, (20, 2))
            x = points + 0.1
            distances = np.asarray(nearest(points, cell, x))
            for column in (1, 2):
                for counts in counted(points, cell, x, distances[:, column]):
                    assert (np.asarray(counts) > column).all()


def bounds_about(distances):
    """Return numbers at, beside and near some distances, of which float32 rounds some to the distance."""
    one = distances.dtype.type(1)
    beside = [np.nextafter(distances, 0 * one), distances, np.nextafter(distances, 2 * one)]
    near = [distances.astype(float) * (1 + error) for error in (-2e-8, 2e-8)]
    return np.stack([*beside, *near]).ravel().tolist()


def assert_nearer(found, distances, rows, bound, n):
    """Compare what a bound leaves of neighbours with what is returned without one."""
    is_nearer = distances < distances.dtype.type(bound)
    np.testing.assert_array_equal(found[0], np.where(is_nearer, distances, np.inf), err_msg=str(bound))
    np.testing.assert_array_equal(found[1], np.where(is_nearer, rows, n), err_msg=str(bound))


SPACES = {"plain": {}, "box": {"boxsize": 1.0}, "cell": {"cell": [[1.0, 0.2], [0.0, 1.3]]}}
HOST_SEARCHES = [
    (space, p, None, dtype)
    for space in ("plain", "box")
    for p in (1.0, 2.0, 3.0, np.inf)
    for dtype in ("float32", "float64")
]
OTHER_SEARCHES = [
    ("cell", 2.0, None, "float32"),
    ("cell", 2.0, None, "float64"),
    ("cell", 2.0, "lax", "float32"),
    ("plain", 2.0, "lax", "float64"),
    ("plain", 3.0, "lax", "float32"),
    ("box", 2.0, "lax", "float32"),
]


@pytest.mark.thorough("lax")
@pytest.mark.parametrize(("space", "p", "engine", "dtype"), HOST_SEARCHES + OTHER_SEARCHES)
def test_a_distance_as_an_upper_bound_leaves_its_point_out(space, p, engine, dtype):
    """Eagerly and in a program, where the bound is traced: distances decide as they are returned."""
    rng = np.random.default_rng(2)
    n = 40 if space == "cell" else 200
    points = rng.random((n, 2)).astype(dtype)
    x = rng.random((24, 2)).astype(dtype)
    tree = KDTree(points, engine=engine, **SPACES[space])
    traced = jax.jit(lambda x, bound: tree.query(x, 3, p=p, distance_upper_bound=bound))
    distances, rows = map(np.asarray, tree.query(x, 3, p=p))
    own_distances, own_rows = map(np.asarray, tree.kneighbors(2, p=p))
    for bound in bounds_about(distances[[1, 5, 8], [2, 1, 0]]):
        assert_nearer(tree.query(x, 3, p=p, distance_upper_bound=bound), distances, rows, bound, n)
        with jax.enable_x64(True):  # or else the program is given another bound, of float32
            found = traced(x, bound)
        assert_nearer(found, distances, rows, bound, n)
        found = tree.query(x, p=p, distance_upper_bound=bound)
        assert_nearer(found, distances[:, 0], rows[:, 0], bound, n)
    for bound in bounds_about(own_distances[3:4, 1]):
        assert_nearer(tree.kneighbors(2, p=p, distance_upper_bound=bound), own_distances, own_rows, bound, n)


@pytest.mark.thorough
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_upper_bounds_over_devices_and_of_few_points(dtype):
    rng = np.random.default_rng(3)
    points = rng.random((64, 2)).astype(dtype)
    x = rng.random((16, 2)).astype(dtype)
    with jax.enable_x64(True):
        spread_tree = KDTree(spread(mesh_of(4), points))
        few_in_a_program = jax.jit(
            lambda points, x, bound: KDTree(points).query(x, 3, distance_upper_bound=bound)
        )
        distances, rows = map(np.asarray, few_in_a_program(points, x, np.inf))
        spread_distances, spread_rows = map(np.asarray, spread_tree.query(x, 3))
        own_distances, own_rows = map(np.asarray, spread_tree.kneighbors(2))
        for bound in bounds_about(spread_distances[[1, 5, 8], [2, 1, 0]]):
            found = spread_tree.query(x, 3, distance_upper_bound=bound)
            assert_nearer(found, spread_distances, spread_rows, bound, len(points))
        for bound in bounds_about(distances[[1, 5, 8], [2, 1, 0]]):
            found = few_in_a_program(points, x, bound)
            assert_nearer(found, distances, rows, bound, len(points))
        for bound in bounds_about(own_distances[3:5, 1]):
            found = spread_tree.kneighbors(2, distance_upper_bound=bound)
            assert_nearer(found, own_distances, own_rows, bound, len(points))


@pytest.mark.thorough
def test_upper_bounds_of_kernels(radius_kernel):
    rng = np.random.default_rng(4)
    points = rng.random((200, 2), np.float32)
    x = rng.random((24, 2), np.float32)
    tree = KDTree(points)
    distances, rows = map(np.asarray, tree.query(x, 3))
    own_distances, own_rows = map(np.asarray, tree.query(points, 3))
    for bound in bounds_about(distances[[1, 5, 8], [2, 1, 0]]):
        assert_nearer(tree.query(x, 3, distance_upper_bound=bound), distances, rows, bound, len(points))
        found = tree.query(tree.data, 3, distance_upper_bound=bound)
        assert_nearer(found, own_distances, own_rows, bound, len(points))


@pytest.mark.daily
def test_upper_bounds_beyond_the_dtype_of_distances():
    tree = KDTree(np.float32([[0.0], [1.0]]))
    for bound, found in ((1e300, [0.25, 0.75]), (1e-300, [np.inf, np.inf]), (np.inf, [0.25, 0.75])):
        assert tree.query([0.25], 2, distance_upper_bound=bound)[0].tolist() == found
    assert tree.query([0.0], distance_upper_bound=1e-40)[0] == 0
    assert tree.query([0.0], distance_upper_bound=0.0)[0] == np.inf


@pytest.mark.thorough
@pytest.mark.parametrize("is_traced", [False, True])
@pytest.mark.parametrize("boxsize", [None, 8.0])
def test_bounds_in_programs_with_x64_mode_off(boxsize, is_traced):
    """Of points of float64: our own engines found nothing below any bound."""
    rng = np.random.default_rng(5)
    points, queries = 8 * rng.random((200, 2)), 8 * rng.random((7, 2))
    distances, rows = scipy.spatial.KDTree(points, boxsize=boxsize).query(
        queries, 5, distance_upper_bound=0.7
    )
    with jax.enable_x64(False):
        tree = KDTree(points, boxsize=boxsize, engine="lax")

        def nearest(tree, bound):
            return tree.query(queries, 5, distance_upper_bound=bound if is_traced else 0.7)

        found, found_rows = jax.jit(nearest)(tree, 0.7)
    np.testing.assert_array_equal(found_rows, rows)
    np.testing.assert_allclose(found, distances, rtol=1e-6)
