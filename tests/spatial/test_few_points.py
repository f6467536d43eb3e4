"""Few points in programs for the CPU, where every distance is computed: SciPy's answers, bit for bit."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.spatial

from jaxapi.spatial import KDTree

RNG = np.random.default_rng(43)
N, Q, R, LIMIT = 37, 11, np.float32(0.3), 6
SIZE = 2000  # more than there are edges

pytestmark = pytest.mark.skipif(jax.default_backend() != "cpu", reason="elsewhere our own tree is searched")


def clouds():
    """Points and queries in float32: anywhere, on a grid with ties and duplicates, tiny, and subnormal."""
    uniform = RNG.random((N + Q, 3), np.float32)
    grid = RNG.integers(0, 4, (N + Q, 3)).astype(np.float32) / 8
    line = RNG.random((N + Q, 1), np.float32) * np.float32([1, 0, 0])
    least = np.finfo(np.float32).smallest_subnormal
    subnormal = RNG.integers(0, 100, (N + Q, 3)).astype(np.float32) * least
    return {"uniform": uniform, "grid": grid, "line": line, "subnormal": subnormal}


CLOUDS = clouds()


def everything(tree, other, x, r, half, p):
    near = tree.query_radius(x, r, p=p, max_neighbors=LIMIT)
    graph = tree.radius_graph(r, p=p, max_edges=SIZE)
    pairs = tree.query_pairs(r, p=p, max_pairs=SIZE)
    return {
        "nearest": tree.query(x, p=p),
        "query": tree.query(x, 5, p=p),
        "more than there are": tree.query(x, N + 3, p=p),
        "bound": tree.query(x, [2, 1], p=p, distance_upper_bound=r),
        "kneighbors": tree.kneighbors(3, p=p),
        "knn_graph": tree.knn_graph(2, p=p),
        "radius": near,
        "overflow": near.did_buffer_overflow,
        "room": tree.query_radius(x, r, p=p, max_neighbors=N + 5),
        "length": tree.query_ball_point(x, r, p=p, return_length=True),
        "graph": graph,
        "small graph": tree.radius_graph(r, p=p, loop=True, max_edges=7).count,
        "pairs": pairs,
        "count_neighbors": tree.count_neighbors(other, jnp.stack([half, r]), p=p),
        "weights": tree.count_neighbors(other, r, p=p, weights=(jnp.ones(N), 2 * jnp.ones(Q))),
    }


@partial(jax.jit, static_argnames=("p", "box"))
def compiled(points, x, r, half, *, p, box):
    return everything(KDTree(points, boxsize=box), KDTree(x, boxsize=box), x, r, half, p)


def all_in_jit(points, x, r, p, box):
    return jax.tree.map(np.asarray, compiled(points, x, r, r / np.float32(2), p=p, box=box))


def right(points, x, r, p, box):
    """Return SciPy's distances, by (distance, row), as float32."""
    tree = scipy.spatial.KDTree(points.astype(float), boxsize=box)
    distances, rows = tree.query(x.astype(float), N, p=p)
    order = np.lexsort((rows, distances), axis=-1)
    distances, rows = (np.take_along_axis(each, order, axis=1) for each in (distances, rows))
    return tree, distances, rows


@pytest.mark.thorough
@pytest.mark.daily("2.0-None")
@pytest.mark.parametrize("box", [None, 1.0])
@pytest.mark.parametrize("p", [1.0, 2.0, np.inf])
@pytest.mark.parametrize("name", CLOUDS)
def test_answers_are_scipys(name, p, box):
    cloud = CLOUDS[name]
    points, x = cloud[:N], cloud[N:]
    r = R * points.max()
    found = all_in_jit(points, x, r, p, box)
    tree, distances, rows = right(points, x, r, p, box)
    float32 = distances.astype(np.float32)
    np.testing.assert_array_equal(found["nearest"][0], float32[:, 0])
    np.testing.assert_array_equal(found["nearest"][1], rows[:, 0])
    np.testing.assert_array_equal(found["query"][0], float32[:, :5])
    np.testing.assert_array_equal(found["query"][1], rows[:, :5])
    all_distances, all_rows = found["more than there are"]
    np.testing.assert_array_equal(all_distances, np.pad(float32, ((0, 0), (0, 3)), constant_values=np.inf))
    np.testing.assert_array_equal(all_rows, np.pad(rows, ((0, 0), (0, 3)), constant_values=N))
    is_near = distances < r
    bound = np.where(is_near, float32, np.inf), np.where(is_near, rows, N)
    for one, other in zip(found["bound"], bound, strict=True):
        np.testing.assert_array_equal(one, other[:, [1, 0]])

    counts = tree.query_ball_point(x.astype(float), r, p=p, return_length=True)
    for name, width in (("radius", LIMIT), ("room", N + 5)):
        near = found[name]
        missing = (0, 0), (0, max(width - N, 0))
        is_within = np.pad(distances <= r, missing)[:, :width]
        padded = np.pad(float32, missing)[:, :width], np.pad(rows, missing)[:, :width]
        np.testing.assert_array_equal(near.distances, np.where(is_within, padded[0], np.inf))
        np.testing.assert_array_equal(near.indices, np.where(is_within, padded[1], N))
        np.testing.assert_array_equal(near.counts, counts)
    np.testing.assert_array_equal(found["length"], counts)
    assert found["overflow"] == (counts > LIMIT).any()

    entries = tree.sparse_distance_matrix(tree, r, p=p, output_type="ndarray")
    entries = entries[np.lexsort((entries["j"], entries["i"]))]
    assert found["small graph"] == len(entries)
    edges = entries[entries["i"] != entries["j"]]
    graph, pairs = found["graph"], found["pairs"]
    assert graph.count == len(edges)
    assert pairs.count == len(edges) // 2
    np.testing.assert_array_equal(graph.receivers[: len(edges)], edges["i"])
    np.testing.assert_array_equal(graph.senders[: len(edges)], edges["j"])
    np.testing.assert_array_equal(graph.distances[: len(edges)], edges["v"].astype(np.float32))
    assert (graph.receivers[len(edges) :] == N).all()
    assert (graph.distances[len(edges) :] == np.inf).all()
    expected = {(i, j) for i, j, _ in edges.tolist() if i < j}
    assert set(map(tuple, pairs.pairs[: pairs.count].tolist())) == expected

    other = scipy.spatial.KDTree(x.astype(float), boxsize=box)
    radii = np.asarray([r / np.float32(2), r], float)
    right_counts = tree.count_neighbors(other, radii, p=p)
    np.testing.assert_array_equal(found["count_neighbors"], right_counts)
    assert found["weights"] == 2 * right_counts[1]


@pytest.mark.parametrize("name", ["uniform", "grid"])
def test_the_other_points_of_the_cloud(name):
    """A point is not its own neighbour, and of duplicates the lowest rows come first."""
    points = CLOUDS[name][:N]
    found = all_in_jit(points, points[:Q], R, 2.0, None)
    squares = ((points[:, None].astype(float) - points) ** 2).sum(-1)
    np.fill_diagonal(squares, np.inf)
    order = np.argsort(squares, axis=1, kind="stable")
    near = np.sqrt(np.take_along_axis(squares, order, 1)).astype(np.float32)
    np.testing.assert_array_equal(found["kneighbors"][1], order[:, :3])
    np.testing.assert_array_equal(found["kneighbors"][0], near[:, :3])
    np.testing.assert_array_equal(found["knn_graph"].senders, order[:, :2].ravel())
    np.testing.assert_array_equal(found["knn_graph"].receivers, np.repeat(np.arange(N), 2))


@pytest.mark.thorough
def test_what_is_not_finite_and_rows_that_do_not_count():
    """Such points are nobody's neighbours, and such queries have none; a radius below 0 reaches nothing."""
    points, x = CLOUDS["uniform"][:N].copy(), CLOUDS["uniform"][N:].copy()
    points[3] = np.nan
    points[5, 1] = np.inf
    x[2, 0] = np.nan
    n = 20
    kept = np.setdiff1d(np.arange(n), [3, 5])

    @jax.jit
    def search(points, n, x, r):
        tree = KDTree(points, n=n)
        near = tree.query_radius(x, r, max_neighbors=4)
        return tree.query(x, 25), near, tree.radius_graph(R, max_edges=400).count, tree.kneighbors(1)[1]

    radii = np.full(Q, R)
    radii[4:6] = -1, np.nan
    (distances, rows), near, edge_count, others = search(points, n, x, radii)
    tree = scipy.spatial.KDTree(points[kept])
    is_query = np.isfinite(x).all(axis=1)
    expected_distances, expected = tree.query(x[is_query], len(kept))
    np.testing.assert_array_equal(rows[is_query, : len(kept)], kept[expected])
    np.testing.assert_array_equal(distances[is_query, : len(kept)], expected_distances.astype(np.float32))
    assert (rows[:, len(kept) :] == n).all()
    assert (rows[~is_query] == n).all()
    counts = np.zeros(Q, int)
    counts[is_query] = tree.query_ball_point(x[is_query], R, return_length=True)
    counts[4:6] = 0
    np.testing.assert_array_equal(near.counts, counts)
    assert edge_count == 2 * len(tree.query_pairs(R))
    assert (np.asarray(others)[[3, 5, *range(n, N)]] == n).all()


@pytest.mark.thorough
def test_vmap_over_clouds_queries_and_radii():
    clouds = RNG.random((3, N, 2), np.float32)
    x = RNG.random((3, 5, 2), np.float32)
    radii = np.float32([0.1, 0.2, 0.4])

    def search(points, x, r):
        tree = KDTree(points)
        graph = tree.radius_graph(r, max_edges=SIZE)
        return tree.query(x, 3)[1], tree.query_radius(x, r, max_neighbors=N).counts, graph.count

    rows, counts, edge_counts = jax.jit(jax.vmap(search))(clouds, x, radii)
    for i, (points, queries, r) in enumerate(zip(clouds, x, radii, strict=True)):
        tree = scipy.spatial.KDTree(points)
        np.testing.assert_array_equal(rows[i], tree.query(queries, 3)[1])
        np.testing.assert_array_equal(counts[i], tree.query_ball_point(queries, r, return_length=True))
        assert edge_counts[i] == 2 * len(tree.query_pairs(r))
    many = RNG.random((20_000, 2), np.float32)  # more than memory is to hold at once
    found = jax.jit(jax.vmap(lambda x: KDTree(clouds[0]).query(x)[1]))(many)
    np.testing.assert_array_equal(found, scipy.spatial.KDTree(clouds[0]).query(many)[1])


def _in_a_branch(search):
    """Return a search that a program may leave out."""

    def run(*arrays):
        return jax.lax.cond(True, partial(search, *arrays), partial(search, *arrays))

    return run


@pytest.mark.thorough
@pytest.mark.parametrize("wrapped", [jax.jit, _in_a_branch])
@pytest.mark.parametrize("name", ["uniform", "subnormal"])
def test_vmap_of_what_was_traced_before(name, wrapped):
    """Warnings are errors: `jax.vmap` traces searches again, where x64 mode is off."""
    clouds = np.stack([CLOUDS[name][order] for order in (slice(None), slice(None, None, -1))])
    points, x = clouds[:, :N], clouds[:, N:]
    radii = R * points.max(axis=(1, 2))

    def search(points, x, r):
        tree = KDTree(points)
        near = tree.query_radius(x, r, max_neighbors=N)
        graph = tree.radius_graph(r, max_edges=SIZE)
        sums = tree.count_neighbors(KDTree(x), r, weights=(jnp.ones(N), 2 * jnp.ones(Q)))
        return tree.query(x, 4), near, graph, sums

    with jax.enable_x64(False):
        (distances, rows), near, graph, sums = jax.vmap(wrapped(search))(points, x, radii)
    for i, r in enumerate(radii):
        tree = scipy.spatial.KDTree(points[i].astype(float))
        right_distances, right_rows = tree.query(x[i].astype(float), 4)
        np.testing.assert_array_equal(distances[i], right_distances.astype(np.float32))
        np.testing.assert_array_equal(rows[i], right_rows)
        counts = tree.query_ball_point(x[i].astype(float), r, return_length=True)
        np.testing.assert_array_equal(near.counts[i], counts)
        assert float(sums[i]) == 2 * counts.sum()
        entries = tree.sparse_distance_matrix(tree, r, output_type="ndarray")
        edges = np.sort(entries[entries["i"] != entries["j"]], order=["i", "j"])
        assert int(graph.count[i]) == len(edges)
        np.testing.assert_array_equal(graph.receivers[i, : len(edges)], edges["i"])
        np.testing.assert_array_equal(graph.senders[i, : len(edges)], edges["j"])
        np.testing.assert_array_equal(graph.distances[i, : len(edges)], edges["v"].astype(np.float32))


@pytest.mark.daily
def test_slopes():
    """Those of the distances in the points and the queries, by plain jax.numpy."""
    points, x = CLOUDS["uniform"][:N], CLOUDS["uniform"][N:]
    rows = scipy.spatial.KDTree(points).query(x, 3)[1]
    weights = jnp.asarray([1.0, 2.0, 3.0])

    def energy(points, x):
        return (weights * KDTree(points).query(x, 3)[0]).sum()

    def plain(points, x):
        return (weights * jnp.linalg.norm(points[rows] - x[:, None], axis=-1)).sum()

    for found, expected in zip(
        jax.jit(jax.grad(energy, (0, 1)))(points, x), jax.grad(plain, (0, 1))(points, x), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.thorough
@pytest.mark.daily("60")
@pytest.mark.parametrize("count", [60, 300])
def test_a_cloud_is_searched_alike_whatever_its_size(count):
    """Dynamics of few points by every pair, and of more by SciPy's tree: the forces are those by hand."""
    length = 4.0
    points = np.float32(RNG.random((count, 3)) * length)

    @jax.jit
    def force(points):
        tree = KDTree(points, boxsize=length)
        graph = tree.radius_graph(1.0, max_edges=count * count, fill_value=0.0)
        vectors = tree.displacements(points[graph.receivers], graph.senders)
        return jax.ops.segment_sum(vectors * jnp.exp(-graph.distances)[:, None], graph.receivers, count)

    vectors = points[None].astype(float) - points[:, None]
    vectors -= np.round(vectors / length) * length
    distances = np.linalg.norm(vectors, axis=-1)
    weights = np.where((distances <= 1) & (distances > 0), np.exp(-distances), 0)
    expected = (weights[..., None] * vectors).sum(axis=1)
    np.testing.assert_allclose(force(points), expected, rtol=1e-4, atol=1e-4)
