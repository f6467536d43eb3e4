"""SciPy inside of transformations: its answers wherever JAX calls it back; clouds of any number of rows."""

import copy
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.spatial
from compilations import no_compilation

import jaxapi
from jaxapi.spatial import KDTree, pad_rows
from jaxapi.spatial._scipy import _by_ckdtree, _host, _threads, _trees

RNG = np.random.default_rng(40)
POINTS, QUERIES = RNG.random((300, 3)), RNG.random((70, 3))
SCIPY = scipy.spatial.KDTree

pytestmark = pytest.mark.skipif(jax.default_backend() != "cpu", reason="SciPy serves the CPU")


@pytest.fixture
def calls(monkeypatch):
    """Count the searches and the trees built."""
    count = {"searches": 0, "trees": 0}
    search, build = _by_ckdtree.nearest_columns, scipy.spatial.cKDTree

    def counted(*args, **options):
        count["searches"] += 1
        return search(*args, **options)

    def built(*args, **options):
        count["trees"] += 1
        return build(*args, **options)

    monkeypatch.setattr(_host._by_ckdtree, "nearest_columns", counted)
    monkeypatch.setattr(_trees, "ckdtree", lambda: built)
    _trees._kept.clear()
    return count


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_ties_and_all_digits(dtype, x64):
    """Whole numbers, where distances are exact: the rows of a stable sort; float64 keeps its bits."""
    points, x = (RNG.integers(0, 4, (n, 3)).astype(dtype) for n in (90, 30))
    squares = ((x[:, None].astype(float) - points) ** 2).sum(-1)
    order = np.argsort(squares, axis=1, kind="stable")[:, :7]
    tree = KDTree(points)
    distances, rows = jax.jit(lambda tree, x: tree.query(x, 7))(tree, KDTree(x).data)
    assert distances.dtype == dtype
    np.testing.assert_array_equal(rows, order)
    np.testing.assert_array_equal(distances, np.sqrt(np.take_along_axis(squares, order, 1)).astype(dtype))


def test_vmap_is_one_call(calls):
    tree, batches = KDTree(POINTS), QUERIES.reshape(7, 10, 3)
    expected = SCIPY(POINTS).query(batches, 3)
    one = jax.vmap(lambda x: tree.query(x, 3))
    for search in (one, jax.jit(one), jax.jit(jax.vmap(jax.vmap(lambda x: tree.query(x, 3))))):
        calls["searches"] = 0
        found = search(jnp.asarray(batches))
        jax.block_until_ready(found)
        assert calls["searches"] == 1
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-5)
        np.testing.assert_array_equal(found[1], expected[1])
    assert calls["trees"] == 1, "a concrete tree is not built again"


def test_vmap_over_clouds_bounds_and_radii():
    clouds, bounds = RNG.random((4, 50, 2)), np.array([0.05, 0.1, np.nan, 0.3])
    x = RNG.random((9, 2))

    def search(points, bound):
        tree = KDTree(points)
        near = tree.query_radius(x, bound, max_neighbors=4)
        return (
            tree.query(x, 3, distance_upper_bound=bound)[1],
            near.indices,
            near.counts,
            tree.kneighbors(2)[1],
        )

    with jax.enable_x64(True):
        for run in (jax.vmap(search), jax.jit(jax.vmap(search))):
            found = run(clouds, bounds)
            for i, (points, bound) in enumerate(zip(clouds, np.nan_to_num(bounds, nan=0.0), strict=True)):
                tree = SCIPY(points)
                np.testing.assert_array_equal(found[0][i], tree.query(x, 3, distance_upper_bound=bound)[1])
                np.testing.assert_array_equal(found[1][i], tree.query(x, 4, distance_upper_bound=bound)[1])
                counts = tree.query_ball_point(x, bound, return_length=True)
                np.testing.assert_array_equal(found[2][i], counts)
                np.testing.assert_array_equal(found[3][i], tree.query(points, 3)[1][:, 1:])


def test_a_loop_builds_one_tree(calls):
    """ICP against a cloud that stays; and a tree as the carry of a loop, built in it or outside."""

    @jax.jit
    def register(source, target):
        def step(source, _):
            rows = KDTree(target, engine="scipy").query(source)[1]
            return source + 0.5 * (target[rows] - source).mean(axis=0), rows

        return jax.lax.scan(step, source, length=5)

    source = POINTS[:40] + 0.01
    shifted, rows = register(source, POINTS)
    assert calls["trees"] == 1
    for i in range(5):
        right = SCIPY(POINTS).query(source)[1]
        np.testing.assert_array_equal(rows[i], right)
        source = source + 0.5 * (POINTS[right] - source).mean(axis=0)
    np.testing.assert_allclose(shifted, source, rtol=1e-5)

    def turn(tree, _):
        return KDTree(-tree.data), tree.query(QUERIES.astype(np.float32))[1]

    _, rows = jax.lax.scan(turn, KDTree(POINTS.astype(np.float32)), length=2)
    for each, points in zip(rows, (POINTS, -POINTS), strict=True):
        np.testing.assert_array_equal(each, SCIPY(points).query(QUERIES)[1])


def test_clouds_that_nobody_searches_are_let_go(monkeypatch):
    """After a while; and while a cloud is searched it stays."""
    monkeypatch.setattr(_threads, "IDLE", 0.2)
    search = jax.jit(lambda points, x: KDTree(points * 1.0, engine="scipy").query(x)[1])
    for _ in range(3 * (os.cpu_count() or 1)):  # so that each thread has begun to wait so long
        jax.block_until_ready(search(POINTS, QUERIES))
    assert _trees._kept
    for _ in range(100):
        time.sleep(0.1)
        if not _trees._kept:
            break
    assert not _trees._kept


def test_threads_and_programs_in_flight():
    search = jax.jit(lambda p, x: KDTree(p * 1.0).query(x, 4))
    points, x = (RNG.random((n, 3), np.float32) for n in (20_000, 3_000))
    right = SCIPY(points).query(x, 4)[1]
    with ThreadPoolExecutor(8) as pool:
        for rows in pool.map(lambda _: [search(points, x)[1] for _ in range(4)][-1], range(8)):
            assert (np.asarray(rows) == right).mean() > 0.999
    assert threading.active_count() < 200


ONE_CORE = """
import os, sys
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
import jax, numpy as np
from jaxapi.spatial import KDTree
from scipy.spatial import KDTree as SciPyTree
search = jax.jit(lambda p, x: KDTree(p * 1.0).query(x + KDTree(x * 1.0).query(p[:9])[0].sum() * 0)[1])
p, x = np.random.default_rng(0).random((2, 40_000, 3), np.float32)
found = [search(p, x) for _ in range(6)] + [jax.vmap(search)(p[None, :500], x[None, :80])]
jax.block_until_ready(found)
assert (np.asarray(found[-2]) == SciPyTree(p).query(x)[1]).mean() > 0.999
"""


@pytest.mark.thorough
@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs a set of cores")
def test_one_core():
    subprocess.run([sys.executable, "-c", ONE_CORE], check=True, timeout=100)


@pytest.mark.thorough
@pytest.mark.parametrize(("engine", "jit"), [("scipy", False), ("scipy", True), ("lax", True)])
def test_rows_that_do_not_count(engine, jit):
    """Whatever they hold, in every method; the answers are those of the rows that do."""
    points, x, n = RNG.random((25, 2)), RNG.random((6, 2)), 14
    junk = points.copy()
    junk[n:] = [[np.nan, 0.5], *RNG.random((len(points) - n - 1, 2))]

    def everything(points, n, x, tree=None, engine=engine):
        tree = KDTree(points, n=n, engine=engine) if tree is None else tree
        own, near = tree.query(tree.data, 2), tree.query_radius(x, 0.3, max_neighbors=5)
        graph, pairs = tree.radius_graph(0.3, max_edges=200), tree.query_pairs(0.3, max_pairs=99)
        knn = tree.knn_graph(3)
        return {
            "query": tree.query(x, 17),
            "one": tree.query(x),
            "radius": (near.indices, near.distances, near.counts),
            "own": [each[:n] if type(n) is int else each for each in own],
            "others": tree.kneighbors(2),
            "graph": (jnp.sort(graph.senders), graph.count),
            "knn": (knn.senders, knn.receivers, knn.count),
            "pairs": (jnp.sort(pairs.distances), pairs.count),
            "count": tree.count_neighbors(tree, [0.1, 0.3]),
            "box": (tree.mins, tree.maxes),
            "moved": tree.displacements(x, near.indices),
        }

    with jax.enable_x64(True):
        right = everything(points[:n], None, x, engine="scipy")
        if jit:
            found = jax.jit(everything)(junk, n, x)
            tree = KDTree(junk, n=n, engine=engine)
            again = jax.jit(lambda tree, x: everything(None, None, x, tree))(tree, x)
            jax.tree.map(np.testing.assert_array_equal, again, found)
            if engine == "scipy":
                both = jax.vmap(everything, in_axes=(None, 0, None))(junk, jnp.asarray([n, 9]), x)
                found_again = jax.tree.map(lambda each: each[0], both)
                jax.tree.map(np.testing.assert_allclose, found_again, found)
        else:
            found = everything(junk, n, x)
        for name, value in right.items():
            for one, other in zip(jax.tree.leaves(found[name]), jax.tree.leaves(value), strict=True):
                one = np.asarray(one)[: len(other)] if np.ndim(other) else one
                np.testing.assert_allclose(one, other, rtol=1e-12, err_msg=name)


@pytest.mark.daily
def test_slopes_of_rows_that_count():
    """They are those of the other cloud, 0 for rows that do not count, whatever these hold."""
    junk = np.where(np.arange(30)[:, None] < 11, POINTS[:30], np.nan)
    with jax.enable_x64(True):
        f = jax.jit(
            jax.grad(
                lambda p, n: (
                    KDTree(p, n=n)
                    .query(QUERIES, 15, distance_upper_bound=0.9)[0]
                    .sum(where=KDTree(p, n=n).query(QUERIES, 15, distance_upper_bound=0.9)[1] < n)
                )
            )
        )
        right = jax.grad(
            lambda p: jnp.where(
                jnp.isfinite(d := KDTree(p).query(QUERIES, 15, distance_upper_bound=0.9)[0]), d, 0
            ).sum()
        )(POINTS[:11])
        slope = f(junk, 11)
        np.testing.assert_allclose(slope[:11], right, rtol=1e-12)
        assert not slope[11:].any()


@pytest.mark.daily
def test_clouds_of_many_sizes_are_one_program():
    search = jax.jit(lambda p, n, x: KDTree(p, n=n).query(x, 2)[1])
    passed = jax.jit(lambda tree, x: tree.query(x, 2)[1])
    x = QUERIES.astype(np.float32)
    search(*pad_rows(POINTS.astype(np.float32)), x)
    padded, n = pad_rows(POINTS.astype(np.float32))
    passed(KDTree(padded, n=n), x)
    for n in (3, 100, 299):
        points = POINTS[:n].astype(np.float32)
        with no_compilation():
            padded, count = pad_rows(points)
            tree = KDTree(padded, n=count)
            found = search(padded, count, x), passed(tree, x), tree.query(x, 2)[1]
            jax.block_until_ready((tree, copy.deepcopy(tree)))
        for rows in found:
            np.testing.assert_array_equal(rows, SCIPY(points).query(x, 2)[1])


def test_pad_rows():
    for x in (np.arange(6).reshape(3, 2), [[1.5], [2.5]], jnp.ones((5, 2, 2), bool)):
        padded, n = pad_rows(x, sizes=[9, 4, 5])
        assert int(n) == len(x)
        assert len(padded) == {3: 4, 2: 4, 5: 5}[len(x)]
        np.testing.assert_array_equal(padded[: len(x)], np.asarray(x))
        assert not np.asarray(padded[len(x) :]).any()
    assert pad_rows(np.zeros((3, 1)), 8)[0].shape == (8, 1)
    with pytest.raises(ValueError, match="x has 3 rows"):
        pad_rows(np.zeros((3, 1)), sizes=[2])
    with pytest.raises(ValueError, match="must have rows"):
        pad_rows(1.0)


@pytest.mark.parametrize("power", [570, -570, 900])
@pytest.mark.parametrize("jit", [False, True])
def test_sizes_whose_squares_no_float64_holds(power, jit):
    """A power of two changes nothing but the size."""
    points, x, size = POINTS[:60], QUERIES[:9], 2.0**power

    def everything(points, x, size):
        tree, other = KDTree(points), KDTree(x)
        near = tree.query_radius(x, 0.3 * size, max_neighbors=9)
        pairs = tree.query_pairs(0.3 * size, max_pairs=400)
        whole = {
            "query": tree.query(x, 4),
            "bound": tree.query(x, 4, distance_upper_bound=0.2 * size)[1],
            "near": (near.distances, near.indices, near.counts),
            "pairs": (jnp.sort(pairs.distances), pairs.count),
            "count": tree.count_neighbors(other, np.array([0.1, 0.4]) * size),
        }
        if not jit:
            csr = tree.query_radius(x, np.linspace(0.1, 0.4, len(x)) * size, sort=True)
            whole["csr"] = csr.indices, csr.distances
            one = tree.query_radius(x, 0.3 * size, sort=True)
            whole["one"] = one.indices, one.distances
            lists = tree.query_ball_tree(other, 0.3 * size)
            whole["lists"] = jnp.asarray([row for rows in lists for row in rows])
            whole["matrix"] = jnp.asarray(
                tree.sparse_distance_matrix(other, 0.3 * size, output_type="ndarray")["v"]
            )
        return whole

    run = jax.jit(everything, static_argnums=2) if jit else everything
    with jax.enable_x64(True):
        right, found = run(points, x, 1.0), run(points * size, x * size, size)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(right), strict=True):
        floating = jnp.issubdtype(one.dtype, jnp.floating)
        np.testing.assert_array_equal(one, np.asarray(other) * size if floating else other)


def test_far_queries():
    with jax.enable_x64(False):
        distance = jax.jit(lambda p, x: KDTree(p).query(x)[0])
        assert distance(np.float32([[0, 0]]), np.float32([3e30, 4e30])) == np.float32(5e30)


@pytest.mark.thorough
def test_slopes_of_a_tree_with_whole_numbers_as_leaves():
    """By every engine: the derivative of a distance in the points is the direction away from the query."""
    points, x = POINTS[:4].astype(np.float32), QUERIES[0].astype(np.float32)
    row = int(SCIPY(points).query(x)[1])
    for options in ({}, {"engine": "lax"}, {"n": 4}, {"n": 4, "engine": "lax"}):
        tree = KDTree(points, **options)
        for run in (lambda f: f, jax.jit):
            slope = run(jax.grad(lambda tree: tree.query(x)[0], allow_int=True))(tree)
            away = points[row] - x
            np.testing.assert_allclose(jax.tree.leaves(slope)[0][row], away / np.linalg.norm(away), rtol=1e-5)


@pytest.mark.thorough
def test_lesser_orders_where_coordinates_agree():
    """The second derivatives along those that differ are right; along the others, infinite, they are 0."""
    at, p = np.array([2.0, 0.0, 1.0]), 1.5
    with jax.enable_x64(True):
        f = lambda x: KDTree(np.zeros((1, 3))).query(x, p=p)[0]  # noqa: E731
        found = jax.hessian(f)(at)
        for other in (jax.jacrev(jax.jacfwd(f))(at), jax.jacrev(jax.jacrev(f))(at)):
            np.testing.assert_allclose(other, found, atol=1e-12)
        d = np.linalg.norm(at, p)
        u = (at / d)[[0, 2]]
        right = (p - 1) / d * (np.diag(u ** (p - 2)) - np.outer(u ** (p - 1), u ** (p - 1)))
    np.testing.assert_allclose(found[np.ix_([0, 2], [0, 2])], right, atol=1e-12)
    assert not found[1].any()
    assert not found[:, 1].any()


def test_points_on_the_edge_of_a_box():
    """Rounding puts them there inside of `jit`, where they cannot be refused."""
    points = np.array([[0.25], [1.0], [-0.125], [2.5]])
    with jax.enable_x64(True):
        search = jax.jit(lambda p, box: KDTree(p, boxsize=box).query([[0.0]], 4))
        distances, rows = search(points, 1.0)
    np.testing.assert_array_equal(rows, [[1, 2, 0, 3]])
    np.testing.assert_array_equal(distances, [[0, 0.125, 0.25, 0.5]])


@pytest.mark.thorough
def test_float64_without_x64_keeps_its_digits_under_eager_derivatives():
    rng = np.random.default_rng(5)
    points, x = rng.random((50, 3)), rng.random((4, 3))
    expected = SCIPY(points).query(x, k=3)[0]

    def distances(x):
        return KDTree(points).query(x, k=3)[0]

    with jax.enable_x64(False):
        value, pullback = jax.vjp(distances, jaxapi.asarray(x))
        np.testing.assert_array_equal(value, expected)
        (slopes,) = pullback(value)
        assert slopes.dtype == np.float64
    step = 1e-6 * rng.random((4, 3))
    change = SCIPY(points).query(x + step, k=3)[0] - SCIPY(points).query(x - step, k=3)[0]
    np.testing.assert_allclose((np.asarray(slopes) * step).sum(), (change / 2 * expected).sum(), rtol=1e-7)


def test_a_cloud_that_is_kept_has_its_own_memory():
    """What a callback is handed is XLA's memory, which other programs write to afterwards."""
    points, lengths = POINTS.copy(), np.full(3, 1.5)
    _trees.kept_trees(points, len(points), lengths, _trees.Options())
    points[:], lengths[:] = 0, 1e-310
    cloud = _trees.kept_trees(POINTS, len(points), np.full(3, 1.5), _trees.Options())
    distances, _ = cloud.tree_for(2.0).tree.query(cloud.tree_for(2.0).queries(QUERIES).x, k=3)
    expected = SCIPY(POINTS, boxsize=1.5).query(QUERIES, k=3)[0]
    np.testing.assert_allclose(cloud.tree_for(2.0).distances(distances), expected, rtol=1e-12)
