"""Clouds of several ids in one array, against each cloud by itself, by NumPy and SciPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.sparse import csgraph
from scipy.spatial import KDTree as SciPyTree

from jaxapi.spatial import KDTree

ENGINES = (None, "lax")
IDS = (-7, 0, 3, 10_000)  # in any order, with gaps


def clouds(rng, n, m, dtype):
    """Return points, their clouds, queries, and the clouds that these search; a cloud may be empty."""
    present = rng.choice(IDS, rng.integers(1, 4), replace=False)
    ids = rng.choice(present, n)
    points = rng.normal(size=(n, m)) * 10.0 ** rng.uniform(-2, 2)
    x = points[rng.integers(0, n, 6)] + rng.normal(size=(6, m)) * 0.1
    return points.astype(dtype), ids.astype(np.int32), x.astype(dtype), rng.choice(IDS, 6).astype(np.int32)


def expected_nearest(points, ids, x, ids_of_x, k):
    """Return distances (q, k) and rows to the nearest of each query's cloud, by SciPy."""
    distances = np.full((len(x), k), np.inf)
    rows = np.full((len(x), k), len(points))
    for i, (query, cloud) in enumerate(zip(x.astype(float), ids_of_x, strict=True)):
        members = np.flatnonzero(ids == cloud)
        if len(members):
            found, numbers = SciPyTree(points[members].astype(float)).query(query, range(1, k + 1))
            distances[i] = found
            rows[i] = np.append(members, len(points))[numbers]
    return distances, rows


@pytest.mark.thorough("lax")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_clouds_do_not_see_each_other(engine, dtype):
    rng = np.random.default_rng(0)

    @jax.jit  # the ids are operands: one program for all
    def search(points, ids, x, ids_of_x, radius):
        tree = KDTree(points, batch=ids, engine=engine)
        nearest = tree.query(x, 5, batch=ids_of_x)
        within = tree.query_radius(x, radius, max_neighbors=16, batch=ids_of_x)
        counts = tree.query_ball_point(x, radius, return_length=True, batch=ids_of_x)
        return nearest, within, counts, tree.radius_graph(radius, max_edges=300)

    for _ in range(25):
        points, ids, x, ids_of_x = clouds(rng, 16, 3, dtype)
        radius = np.float32(np.abs(points).max() * rng.uniform(0.1, 1.5))
        with jax.enable_x64(dtype == "float64"):
            nearest, within, counts, graph = search(points, ids, x, ids_of_x, radius)
        distances, rows = expected_nearest(points, ids, x, ids_of_x, 5)
        np.testing.assert_allclose(nearest[0], distances, rtol=1e-6)
        np.testing.assert_array_equal(nearest[1], rows)
        apart = np.linalg.norm(points[None].astype(float) - x[:, None], axis=2)
        is_near = (apart <= radius) & (ids[None] == ids_of_x[:, None])
        np.testing.assert_array_equal(within.counts, is_near.sum(axis=1))
        np.testing.assert_array_equal(counts, is_near.sum(axis=1))
        for i in range(6):
            assert (
                sorted(np.asarray(within.indices)[i, : is_near[i].sum()])
                == np.flatnonzero(is_near[i]).tolist()
            )
        apart = np.linalg.norm(points[None].astype(float) - points[:, None], axis=2)
        is_edge = (apart <= radius) & (ids[None] == ids[:, None]) & ~np.eye(16, dtype=bool)
        assert int(graph.count) == is_edge.sum()
        edges = set(zip(graph.receivers.tolist(), graph.senders.tolist(), strict=True)) - {(16, 16)}
        assert edges == set(zip(*(each.tolist() for each in np.nonzero(is_edge)), strict=True))
        assert len(graph) == 4  # without a cell there are no shifts


def test_lists_pairs_and_clusters_keep_to_their_clouds():
    rng = np.random.default_rng(1)
    points, ids, _, _ = clouds(rng, 40, 2, "float64")
    tree = KDTree(points, batch=ids)
    radius = float(np.median(tree.query(points, 3, batch=ids)[0][:, 2]))
    apart = np.linalg.norm(points[None] - points[:, None], axis=2)
    is_near = (apart <= radius) & (ids[None] == ids[:, None])
    low, high = np.nonzero(np.triu(is_near, 1))
    assert tree.query_pairs(radius) == set(zip(low.tolist(), high.tolist(), strict=True))
    assert len(tree.query_pairs(radius, output_type="ndarray")) == len(low)
    assert tree.count_neighbors(tree, radius) == is_near.sum()
    lists = tree.query_ball_point(points, radius, batch=ids)
    assert list(lists) == [np.flatnonzero(row).tolist() for row in is_near]
    assert tree.query_ball_tree(tree, radius) == list(lists)
    matrix = tree.sparse_distance_matrix(tree, radius, output_type="coo_array").toarray()
    np.testing.assert_allclose(matrix, np.where(is_near, apart, 0))
    found = tree.query_radius(points, radius, batch=ids, sort=True)
    assert np.diff(found.indptr).tolist() == is_near.sum(axis=1).tolist()
    everything = tree.query_radius(points, np.inf, batch=ids)
    assert np.diff(everything.indptr).tolist() == [(ids == each).sum() for each in ids]

    components = tree.connected_components(radius)
    clusters = tree.dbscan(radius, 3)
    graph = tree.knn_graph(2)
    for cloud in np.unique(ids):
        rows = np.flatnonzero(ids == cloud)
        alone = KDTree(points[rows])
        labels = np.asarray(components.labels)[rows]
        _, in_order = np.unique(labels, return_inverse=True)
        firsts = np.unique(labels, return_index=True)[1].argsort().argsort()
        np.testing.assert_array_equal(firsts[in_order], alone.connected_components(radius).labels)
        np.testing.assert_array_equal(np.asarray(clusters.core)[rows], alone.dbscan(radius, 3).core)
        is_noise = np.asarray(alone.dbscan(radius, 3).labels) == -1
        np.testing.assert_array_equal(np.asarray(clusters.labels)[rows] == -1, is_noise)
        distances = np.asarray(graph.distances).reshape(-1, 2)[rows]
        if len(rows) > 2:
            np.testing.assert_allclose(distances, alone.kneighbors(2)[0])


@pytest.mark.thorough
@pytest.mark.daily("None", "lax")
@pytest.mark.parametrize("engine", ENGINES)
def test_a_cell_for_each_cloud(engine):
    rng = np.random.default_rng(2)
    cells = np.stack([np.eye(2), [[1.0, 0.0], [0.8, 1.5]], [[0.3, 0.1], [0.0, 2.0]]])
    ids = rng.integers(0, 3, 12)
    points = rng.uniform(-3, 3, (12, 2))

    def energy(points, cells, engine):
        tree = KDTree(points, cell=cells, batch=ids, engine=engine)
        graph = tree.radius_graph(0.9, max_edges=512)
        vectors = tree.displacements(points[graph.receivers], graph.senders, shifts=graph.shifts)
        return jnp.sum(vectors**2), graph

    (value, graph), slopes = jax.jit(
        jax.value_and_grad(lambda *args: energy(*args, engine), argnums=1, has_aux=True)
    )(points, cells)
    total = 0.0
    for cloud in range(3):
        rows = np.flatnonzero(ids == cloud)
        alone = KDTree(points[rows], cell=cells[cloud]).radius_graph(0.9)
        expected = zip(
            rows[np.asarray(alone.receivers)].tolist(),
            rows[np.asarray(alone.senders)].tolist(),
            *np.asarray(alone.shifts).T.tolist(),
            strict=True,
        )
        at = np.isin(np.asarray(graph.receivers), rows)
        found = zip(
            np.asarray(graph.receivers)[at].tolist(),
            np.asarray(graph.senders)[at].tolist(),
            *np.asarray(graph.shifts)[at].T.tolist(),
            strict=True,
        )
        assert set(found) == set(expected)
        total += float((np.asarray(alone.distances) ** 2).sum())
    np.testing.assert_allclose(value, total, rtol=1e-4)
    shifts = np.asarray(graph.shifts)[: int(graph.count)].astype(float)
    receivers = np.asarray(graph.receivers)[: int(graph.count)]
    senders = np.asarray(graph.senders)[: int(graph.count)]
    of_edges = cells[ids[receivers]]
    vectors = points[senders] - points[receivers] + np.einsum("ea,eab->eb", shifts, of_edges)
    expected = np.zeros_like(cells)
    np.add.at(expected, ids[receivers], 2 * shifts[:, :, None] * vectors[:, None, :])
    np.testing.assert_allclose(slopes, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.thorough
def test_far_queries_and_clouds_of_one_point():
    points = np.array([[0.0], [1.0], [5.0], [0.5]])
    ids = np.array([4, 4, 9, 4])
    for engine in ENGINES:
        tree = KDTree(points, batch=ids, engine=engine)
        distances, rows = tree.query([[1e30], [-1e30], [0.2]], 3, batch=[9, 9, 9])
        assert rows[:, 0].tolist() == [2, 2, 2]
        assert (np.asarray(rows)[:, 1:] == 4).all()
        np.testing.assert_allclose(distances[:2, 0], 1e30)
        assert tree.query([0.2], 2, batch=5)[1].tolist() == [4, 4]
        assert tree.query_ball_point(
            [[1e30], [1e30]], [2e30, 1e29], batch=4, return_length=True
        ).tolist() == [
            3,
            0,
        ]


def test_vmap_over_clouds_with_ids():
    points = np.random.default_rng(3).random((3, 10, 2))
    ids = np.random.default_rng(4).integers(0, 2, (3, 10))
    counts = jax.vmap(lambda points, ids: KDTree(points, batch=ids).radius_graph(0.4, max_edges=100).count)
    expected = [
        sum(
            SciPyTree(p[i == cloud]).count_neighbors(SciPyTree(p[i == cloud]), 0.4) - (i == cloud).sum()
            for cloud in (0, 1)
            if (i == cloud).any()
        )
        for p, i in zip(points, ids, strict=True)
    ]
    assert counts(points, ids).tolist() == expected


def images_of(points, ids, cell, x, ids_of_x):
    """Return distances (q, n, images) to all images near the origin, inf to other clouds, and shifts."""
    shifts = np.stack(np.meshgrid(range(-6, 7), range(-6, 7), indexing="ij"), axis=-1).reshape(-1, 2)
    vectors = points[:, None] + shifts @ cell - x[:, None, None]
    distances = np.linalg.norm(vectors, axis=-1)
    return np.where((ids == ids_of_x[:, None])[..., None], distances, np.inf), shifts


# What every item has of its own: the points and their cell, their ids, how many count; the rest is shared.
@pytest.mark.daily
@pytest.mark.parametrize(
    "varying",
    [("points", "cell"), ("points", "cell", "ids"), ("points", "n"), ("cell",), ("x",), ("radius",)],
)
def test_searches_of_vmapped_clouds(varying):
    rng = np.random.default_rng(7)
    items, n, q = 4, 12, 5
    cell = np.array([[1.0, 0.0], [0.4, 0.9]]) * rng.uniform(0.9, 1.4, (items, 1, 1))
    given = {
        "points": (rng.random((items, n, 2)) + rng.integers(-1, 2, (items, n, 2))) @ cell,
        "cell": cell,
        "ids": rng.choice(IDS[:3], (items, n)).astype(np.int32),
        "x": rng.uniform(-1, 1, (items, q, 2)),
        "ids_of_x": rng.choice(IDS[:3], (items, q)).astype(np.int32),
        "n": np.array([12, 0, 5, 11], np.int32),
        "radius": np.array([0.35, -1.0, 0.5, 0.2]),
    }
    with_ids = "ids" in varying
    if with_ids:
        varying = (*varying, "ids_of_x")
    else:
        given |= {"ids": np.zeros((items, n), np.int32), "ids_of_x": np.zeros((items, q), np.int32)}
    axes = {name: 0 if name in varying else None for name in given}
    arguments = {name: values if name in varying else values[0] for name, values in given.items()}

    def search(arguments):
        ids = arguments["ids"] if with_ids else None
        of_queries = {"batch": arguments["ids_of_x"]} if with_ids else {}
        x, radius = arguments["x"], arguments["radius"]
        tree = KDTree(arguments["points"], n=arguments["n"], cell=arguments["cell"], batch=ids)
        return {
            "nearest": tree.query(x, 6, return_shifts=True, **of_queries),
            "within": tree.query_radius(x, radius, max_neighbors=60, **of_queries),
            "counts": tree.query_ball_point(x, radius, return_length=True, **of_queries),
            "graph": tree.radius_graph(radius, max_edges=400),
            "few": tree.radius_graph(radius, max_edges=3),
            "pairs": tree.query_pairs(radius, max_pairs=200),
            "components": tree.connected_components(radius),
            "dbscan": tree.dbscan(radius, 4),
        }

    with jax.enable_x64(True):
        results = jax.vmap(search, (axes,))(arguments)
    for item in range(items):
        found = jax.tree.map(lambda each, item=item: np.asarray(each)[item], results)
        item_of = {name: values[item if name in varying else 0] for name, values in given.items()}
        count, radius, x = item_of["n"], item_of["radius"], item_of["x"]
        points, ids = item_of["points"][:count], item_of["ids"][:count]
        distances, shifts = images_of(points, ids, item_of["cell"], x, item_of["ids_of_x"])
        assert found["counts"].tolist() == (distances <= radius).sum(axis=(1, 2)).tolist()
        np.testing.assert_array_equal(found["within"].counts, found["counts"])
        for i in range(q):
            order = np.argsort(distances[i], axis=None)[:6]
            nearest = distances[i].ravel()[order]
            rows, numbers = np.unravel_index(order, distances[i].shape) if count else (order, order)
            is_there = nearest < np.inf
            missing = 6 - is_there.sum()
            np.testing.assert_allclose(
                found["nearest"][0][i], np.append(nearest[is_there], [np.inf] * missing)
            )
            expected = np.append(rows[is_there], [count] * missing)
            np.testing.assert_array_equal(found["nearest"][1][i], expected)
            found_shifts = found["nearest"][2][i][: is_there.sum()]
            np.testing.assert_array_equal(found_shifts, shifts[numbers[is_there]])
            within = np.sort(distances[i][distances[i] <= radius])
            np.testing.assert_allclose(found["within"].distances[i, : len(within)], within)
            assert (found["within"].indices[i, len(within) :] == count).all()
        distances, _ = images_of(points, ids, item_of["cell"], points, ids)
        query, row, number = np.nonzero(distances <= radius)
        is_other = (query != row) | (shifts[number] != 0).any(axis=1)
        edges = np.column_stack([query, row, shifts[number]])[is_other]
        graph = found["graph"]
        assert graph.count == found["few"].count == len(edges)
        found_edges = np.column_stack([graph.receivers, graph.senders, graph.shifts])[: len(edges)]
        assert set(map(tuple, found_edges.tolist())) == set(map(tuple, edges.tolist()))
        assert (graph.receivers[len(edges) :] == count).all()
        assert (graph.senders[len(edges) :] == count).all()
        assert found["pairs"].count == len(edges) // 2
        is_pair = found["pairs"].mask
        pairs = np.column_stack([found["pairs"].pairs, found["pairs"].shifts])[is_pair]
        turned = np.column_stack([pairs[:, 1], pairs[:, 0], -pairs[:, 2:]])
        assert sorted(np.concatenate([pairs, turned]).tolist()) == sorted(edges.tolist())
        linked = (distances <= radius).any(axis=2)
        component_count, labels = csgraph.connected_components(linked)
        assert found["components"].count == (component_count if count else 0)
        assert found["components"].labels.tolist() == [*labels.tolist(), *[-1] * (n - count)]
        is_core = (distances <= radius).sum(axis=(1, 2)) >= 4
        assert found["dbscan"].core.tolist() == [*is_core.tolist(), *[False] * (n - count)]
        core_labels = (
            csgraph.connected_components(linked[np.ix_(is_core, is_core)])[1] if is_core.any() else []
        )
        assert found["dbscan"].labels[:count][is_core].tolist() == list(core_labels)


@pytest.mark.parametrize(
    ("error", "text", "arguments"),
    [
        (ValueError, "one id for each point", {"batch": [0, 1]}),
        (TypeError, "integers", {"batch": [0.0, 1.0, 2.0]}),
        (ValueError, "int32", {"batch": np.array([0, 1, 2**40])}),
        (ValueError, "boxsize", {"batch": [0, 1, 2], "boxsize": 2.0}),
        (ValueError, "2 cells", {"batch": [0, 1, 2], "cell": np.stack([np.eye(2)] * 2)}),
    ],
)
def test_bad_batches_are_refused(error, text, arguments):
    with pytest.raises(error, match=text):
        KDTree(np.zeros((3, 2)), **arguments)


def test_queries_name_their_cloud():
    tree = KDTree(np.zeros((3, 2)), batch=[0, 1, 2])
    with pytest.raises(ValueError, match="pass batch="):
        tree.query([0.0, 0.0])
    with pytest.raises(ValueError, match="no clouds"):
        KDTree(np.zeros((3, 2))).query_radius([[0.0, 0.0]], 1.0, batch=[0])
    with pytest.raises(ValueError, match="both"):
        tree.count_neighbors(KDTree(np.zeros((3, 2))), 1.0)


def test_high_powers_keep_small_distances():
    points = np.random.default_rng(5).random((40, 2))
    points[:2] = 2.0**-10
    points[1, 0] += 1e-7
    ids = np.repeat([0, 3], 20)
    tree = KDTree(points, batch=ids)
    difference = np.abs(points[:, None] - points[None])
    largest = difference.max(axis=2)
    scaled = difference / np.where(largest > 0, largest, 1)[..., None]
    for p in (1.5, 3.0, 20.0, 30.0, 300.0, np.inf):
        apart = largest if p == np.inf else largest * (scaled**p).sum(axis=2) ** (1 / p)
        apart = np.where(ids[:, None] == ids[None], apart, np.inf)
        distances, rows = tree.query(points, 4, p=p, batch=ids)
        np.testing.assert_array_equal(rows, np.argsort(apart, axis=1, kind="stable")[:, :4])
        np.testing.assert_allclose(distances, np.sort(apart, axis=1)[:, :4], rtol=1e-12)
        for radius in (1e-6, 0.3):
            counts = tree.query_ball_point(points, radius, p=p, batch=ids, return_length=True)
            np.testing.assert_array_equal(counts, (apart <= radius).sum(axis=1))
            assert tree.count_neighbors(tree, radius, p=p) == (apart <= radius).sum()


def test_a_cell_that_is_not_finite_is_nobody_elses():
    rng = np.random.default_rng(6)
    points = rng.random((15, 2)) * 1e25
    ids = np.repeat([0, 1, 2], 5)
    cells = np.stack([np.eye(2)] * 3) * 1e25
    cells[1, 0, 0] = np.inf
    count = jax.jit(
        lambda cells: KDTree(points, cell=cells, batch=ids).radius_graph(8e24, max_edges=900).count
    )
    with jax.enable_x64(True):
        expected = [int(KDTree(points[ids == i], cell=cells[0]).radius_graph(8e24).count) for i in (0, 2)]
        assert int(count(cells)) == sum(expected)
