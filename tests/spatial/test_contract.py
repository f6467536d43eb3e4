"""What holds for every method: NumPy's answers wherever JAX runs it, and trees that stay as they are."""

import contextlib
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, PartitionSpec
from meshes import mesh_of

import jaxapi as xp
from jaxapi.spatial import KDTree, chord_length, great_circle_distance, unit_vectors

RNG = np.random.default_rng(30)
POINTS, QUERIES = RNG.random((2, 8, 2), np.float32), RNG.random((2, 4, 2), np.float32)
R, RADII = np.float32(0.3), np.float32([0.1, 0.3])
BOX = np.float32([1, 1.25])


def everything(points, x, tree=None, engine=None):
    """Return what all methods with results of fixed shapes give."""
    tree = KDTree(points, boxsize=BOX, engine=engine) if tree is None else tree
    near = tree.query_radius(x, R, max_neighbors=5, fill_value=0)
    graph, knn = tree.radius_graph(R, max_edges=40, fill_value=-1), tree.knn_graph(8, fill_value=0)
    pairs = tree.query_pairs(R, max_pairs=30)
    return {
        "query": tree.query(x, 3),
        "kneighbors": tree.kneighbors(2),
        "query_radius": (near.distances, near.indices, near.mask, near.counts),
        "query_ball_point": tree.query_ball_point(x, R, return_length=True),
        "radius_graph": (jnp.sort(graph.distances), graph.mask, graph.count, graph.receivers),
        "knn_graph": (knn.distances, knn.senders, knn.mask, knn.count),
        "query_pairs": (jnp.sort(pairs.distances), pairs.mask, pairs.count),
        "count_neighbors": tree.count_neighbors(tree, RADII),
        "displacements": tree.displacements(x, near.indices),
    }


def right(points, x):
    """Return the same by brute force."""
    n = len(points)

    def apart(x):
        vectors = points.astype(float) - x[:, None]
        vectors -= BOX * np.round(vectors / BOX)
        return vectors, np.linalg.norm(vectors, axis=2)

    vectors, distances = apart(x)
    _, own = apart(points)
    rows, others = np.argsort(distances, axis=1), own + np.where(np.eye(n), np.inf, 0)
    nearest, counts = np.take_along_axis(distances, rows, 1), (distances <= R).sum(1)
    there = np.arange(5) < counts[:, None]
    knn = np.argsort(others, axis=1)
    edges, pairs = np.sort(others[others <= R]), np.sort(own[np.triu_indices(n, 1)])
    pairs = pairs[pairs <= R]
    real = np.tile(np.arange(8) < 7, 8)
    vectors = np.take_along_axis(vectors, rows[:, :5, None], 1)

    def padded(values, size, fill):
        return np.pad(values, (0, size - len(values)), constant_values=fill)

    return {
        "query": (nearest[:, :3], rows[:, :3]),
        "kneighbors": (np.sort(others, axis=1)[:, :2], knn[:, :2]),
        "query_radius": (np.where(there, nearest[:, :5], 0), np.where(there, rows[:, :5], n), there, counts),
        "query_ball_point": counts,
        "radius_graph": (
            np.sort(padded(edges, 40, -1)),
            np.arange(40) < len(edges),
            len(edges),
            padded(np.nonzero(others <= R)[0], 40, n),
        ),
        "knn_graph": (
            np.where(real, np.sort(others, axis=1).ravel(), 0),
            np.where(real, knn.ravel(), n),
            real,
            56,
        ),
        "query_pairs": (padded(pairs, 30, np.inf), np.arange(30) < len(pairs), len(pairs)),
        "count_neighbors": (own[..., None] <= RADII).sum((0, 1)),
        "displacements": np.where(there[..., None], vectors, 0),
    }


def compare(found, expected):
    for name, answer in expected.items():
        for one, other in zip(jax.tree.leaves(found[name]), jax.tree.leaves(answer), strict=True):
            np.testing.assert_allclose(one, other, rtol=2e-5, atol=1e-6, err_msg=name)


@pytest.fixture
def picky():
    """JAX at its strictest; strict promotion of dtypes is this folder's anyway."""
    with jax.debug_nans(True), jax.numpy_rank_promotion("raise"):
        yield


@pytest.mark.thorough
@pytest.mark.daily("eager", "jit", "under a mesh")
@pytest.mark.parametrize("way", ["eager", "lax", "jit", "tree passed to jit", "vmap", "under a mesh"])
def test_every_method_everywhere(way, picky):
    points, x = POINTS[0], QUERIES[0]
    if way == "vmap":
        found = jax.jit(jax.vmap(everything))(POINTS, QUERIES)
        for i in range(2):
            compare(jax.tree.map(lambda each, i=i: each[i], found), right(POINTS[i], QUERIES[i]))
        return
    devices = jax.devices()[:2]  # where eager arrays lie, on one GPU too
    mesh = jax.make_mesh((len(devices),), ("d",), axis_types=(AxisType.Auto,), devices=devices)
    with jax.set_mesh(mesh) if way == "under a mesh" else contextlib.nullcontext():
        if way == "jit":
            found = jax.jit(everything)(points, x)
        elif way == "tree passed to jit":
            found = jax.jit(partial(everything, None))(x, KDTree(points, boxsize=BOX))
        else:
            found = everything(points, x, engine="lax" if way == "lax" else None)
        compare(found, right(points, x))


@pytest.mark.thorough
def test_every_method_in_shard_map(picky):
    """With its checks: each device has its own queries, and all have the points."""
    split, whole = PartitionSpec("d"), PartitionSpec()
    names = "query", "query_radius", "query_ball_point", "displacements"
    specs = {name: split if name in names else whole for name in right(POINTS[0], QUERIES[0])}
    run = jax.shard_map(everything, mesh=mesh_of(2), in_specs=(whole, split), out_specs=specs)
    compare(jax.jit(run)(POINTS[0], QUERIES[0]), right(POINTS[0], QUERIES[0]))


X = QUERIES[0]
USES = {
    "batch": lambda t: t.batch, "cell": lambda t: t.cell, "periodic": lambda t: t.periodic,
    "boxsize": lambda t: t.boxsize, "connected_components": lambda t: t.connected_components(0.3),
    "count_neighbors": lambda t: t.count_neighbors(t, [0.1, 0.3]), "data": lambda t: t.data,
    "dbscan": lambda t: t.dbscan(0.3), "displacements": lambda t: t.displacements(X, np.zeros(4, int)),
    "engine": lambda t: t.engine, "hdbscan": lambda t: t.hdbscan(3), "indices": lambda t: t.indices,
    "kneighbors": lambda t: t.kneighbors(2), "knn_graph": lambda t: t.knn_graph(2),
    "leafsize": lambda t: t.leafsize, "m": lambda t: t.m, "maxes": lambda t: t.maxes,
    "minimum_spanning_tree": lambda t: t.minimum_spanning_tree(), "mins": lambda t: t.mins,
    "n": lambda t: t.n, "query": lambda t: t.query(X, 2),
    "query_ball_point": lambda t: t.query_ball_point(X, 0.3),
    "query_ball_tree": lambda t: t.query_ball_tree(t, 0.3), "query_pairs": lambda t: t.query_pairs(0.3),
    "query_radius": lambda t: t.query_radius(X, 0.3), "radius_graph": lambda t: t.radius_graph(0.3),
    "size": lambda t: t.size, "sparse_distance_matrix": lambda t: t.sparse_distance_matrix(t, 0.3),
    "tree": lambda t: t.tree.children, "repr": repr, "pickle": pickle.dumps,
}  # fmt: skip


@pytest.mark.daily
def test_no_use_changes_a_tree():
    """A box that was traced stays a leaf, which gradients and `jax.tree.map` of two trees need."""
    public = {name for name in dir(KDTree) if name[0] != "_"}
    assert public - set(USES) <= {"node", "innernode", "leafnode", "tree_flatten", "tree_unflatten"}
    make = jax.jit(lambda box: KDTree(POINTS[0], boxsize=box))
    for tree in (KDTree(POINTS[0], boxsize=BOX), make(BOX), KDTree(POINTS[0])):
        leaves, kind = jax.tree.flatten(tree)
        for use in USES.values():
            use(tree)
            now, kind_now = jax.tree.flatten(tree)
            assert kind == kind_now
            assert all(map(np.array_equal, leaves, now))
    energy = jax.grad(lambda tree: tree.query(X, 2)[0].sum(), allow_int=True)
    assert np.isfinite(jax.tree.leaves(energy(make(BOX)))[-1]).all()


@pytest.mark.daily
def test_gradients_of_padded_sums():
    """A pad of inf makes 0 * inf of a width's derivative; a chosen one does not."""
    tree = KDTree(POINTS[0])

    def total(h, search, fill):
        near = search(fill)
        d = jnp.where(near.mask, near.distances, 0) if fill is None else near.distances
        return jnp.sum(jnp.where(near.mask, jnp.exp(-((d / h) ** 2)), 0))

    for search in (
        lambda fill: tree.query_radius(X, R, max_neighbors=9, fill_value=fill),
        lambda fill: tree.radius_graph(R, max_edges=60, fill_value=fill),
        lambda fill: tree.query_pairs(R, max_pairs=60, fill_value=fill),
        lambda fill: tree.knn_graph(9, fill_value=fill),
    ):
        there = np.asarray(search(np.inf).distances)
        there = there[there < np.inf].astype(float)
        slope = jax.grad(lambda h, search=search: total(h, search, 0.0))(0.4)
        np.testing.assert_allclose(
            slope, (2 * there**2 / 0.4**3 * np.exp(-((there / 0.4) ** 2))).sum(), rtol=1e-5
        )
    empty = KDTree(np.zeros((0, 2))).query_radius(X, 1.0, max_neighbors=2, fill_value=7.0)
    assert not empty.mask.any()
    assert (empty.distances == 7).all()


def test_weights_keep_their_digits():
    tree, weights = KDTree(POINTS[0]), xp.asarray(RNG.random(8))
    within = np.linalg.norm(POINTS[0][:, None] - POINTS[0], axis=2) <= R
    expected = (within * np.outer(weights, weights)).sum()
    frozen = np.asarray(weights)
    assert not frozen.flags.writeable
    for x64 in (False, True):
        with jax.enable_x64(x64):
            for each in (weights, frozen):
                np.testing.assert_allclose(tree.count_neighbors(tree, R, weights=each), expected, rtol=1e-14)
            count = jax.jit(lambda weights: tree.count_neighbors(tree, R, weights=weights))
            found = count(weights)
            assert found.dtype == np.float64
            assert count(weights.astype("float32")).dtype == np.float32
            np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_copies():
    points = jnp.asarray(POINTS[0])
    assert KDTree(points).data is points
    tree = KDTree(points, copy_data=True)
    points.delete()
    assert np.array_equal(tree.query(POINTS[0])[1], np.arange(8))


@pytest.mark.thorough
def test_an_open_number_of_queries():
    export = pytest.importorskip("jax.export")
    tree, (q,) = KDTree(POINTS[0]), export.symbolic_shape("q")

    def search(x):
        near = tree.query_radius(x, R, max_neighbors=5)
        return tree.query(x, 2), near, tree.query_ball_point(x, R, return_length=True)

    kernels = [
        export.DisabledSafetyCheck.custom_call(target) for target in ("jaxapi_launch", "__gpu$xla.gpu.ptx")
    ]
    exported = export.export(jax.jit(search), disabled_checks=kernels)(
        jax.ShapeDtypeStruct((q, 2), np.float32)
    )
    for count in (1, 300):
        x = RNG.random((count, 2), np.float32)
        for found, expected in zip(
            jax.tree.leaves(exported.call(x)), jax.tree.leaves(search(x)), strict=True
        ):
            np.testing.assert_allclose(found, expected, rtol=1e-5)
    with pytest.raises(TypeError, match="points must be of a known shape"):
        jax.export.export(jax.jit(lambda p: KDTree(p).query(X)))(jax.ShapeDtypeStruct((q, 2), np.float32))


TREE = KDTree(POINTS[0])


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: KDTree(X, metric="l1"), TypeError, r"^KDTree\.__init__\(\) got an unexpected.*metric"),
        (lambda: KDTree(TREE), TypeError, "pass its points, tree.data"),
        (lambda: TREE.query(TREE), TypeError, "pass its points, tree.data"),
        (lambda: TREE.query(X, k=2.0), TypeError, "k must be an integer.*got 2.0"),
        (lambda: TREE.query(X, k=True), TypeError, "k must be an integer.*got True"),
        (lambda: TREE.query(X, k=[1, 2.0]), TypeError, "k must be an integer.*got 2.0"),
        (lambda: TREE.radius_graph(0.1, max_edges=1e4), TypeError, "max_edges must be an integer"),
        (
            lambda: TREE.query_radius(X, 0.1, max_neighbors="all"),
            TypeError,
            "max_neighbors must be an integer",
        ),
        (lambda: KDTree(np.zeros((4, 3)), boxsize=[1, 1]), ValueError, "one for each of the 3 dimensions"),
        (lambda: TREE.displacements(X[0], 9), IndexError, "rows from 0 to 7, or 8 for none, got 9"),
        (lambda: TREE.displacements(X[0], [-1, 0]), IndexError, "got -1"),
        (lambda: unit_vectors([[52.5, 13.4]]), ValueError, "latitudes must be radians.*numpy.radians"),
        (lambda: unit_vectors([[1.3, 103.8]]), ValueError, "longitudes must be radians"),
        (lambda: great_circle_distance([1.0, 3.0]), ValueError, "from 0 to 2, or inf, got 3.0"),
        (lambda: great_circle_distance(-0.5), ValueError, "got -0.5"),
        (lambda: chord_length(-1), ValueError, "must be radians from 0 to pi, or inf, got -1.0"),
        (lambda: chord_length(60), ValueError, "must be radians from 0 to pi, or inf, got 60.0: divide"),
    ],
)
def test_what_cannot_be_meant_is_refused(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def test_rows_that_are_none_inside_of_jit():
    rows = np.array([-1, 8, 9, 3])
    vectors = jax.jit(lambda rows: TREE.displacements(X, rows))(rows)
    np.testing.assert_array_equal(vectors, [[0, 0], [0, 0], [0, 0], POINTS[0][3] - X[3]])


def in_child(tree, x):
    return np.asarray(tree.query(x)[1])


@pytest.mark.thorough
def test_trees_in_other_processes():
    """Those that `spawn` or `forkserver` start; JAX, which has threads, cannot be forked."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        rows = pool.submit(in_child, TREE, POINTS[0]).result(timeout=120)
    assert rows.tolist() == list(range(8))
