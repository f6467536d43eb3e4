"""Sizes: a power of two changes nothing but the size of distances, and one far point nothing but its own.

The oracle is every distance, of numbers whose differences are exact, by NumPy's long doubles.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from jaxapi.spatial import KDTree, single_linkage
from jaxapi.spatial._tree._metric import wrap

pytestmark = pytest.mark.skipif(jax.default_backend() != "cpu", reason="SciPy serves the CPU")

RNG = np.random.default_rng(11)
N = 40
GRID = 2.0**-9  # coordinates are multiples, so that those of subnormal clouds are exact, too
POINTS = RNG.integers(0, 1 << 8, (N, 2)) * GRID
QUERIES = RNG.integers(0, 1 << 8, (7, 2)) * GRID
R = 37 * GRID
ORDERS = [1.0, 1.5, 2.0, 3.0, 4.0, np.inf]
EXPONENTS = {"float64": (-1012, -900, -570, -300, 300, 570, 900, 1023), "float32": (-116, -70, 70, 127)}
FARTHEST = {1.0: 1e300, 1.5: 1e250, 2.0: 1e250, 3.0: 1e170, 4.0: 1e125, np.inf: 1e300}


def everything(points, x, size, p, traced=False):
    """Return by name what methods find, and the distances among them."""
    tree, queries = KDTree(points), KDTree(x)
    r = R * size
    near = tree.query_radius(x, r, p=p, max_neighbors=N)
    pairs = tree.query_pairs(r, p=p, max_pairs=N * N)
    graph = tree.radius_graph(r, p=p, max_edges=N * N)
    found = {
        "query": tree.query(x, 5, p=p)[1],
        "query of columns": tree.query(x, [3, 1], p=p)[1],
        "query within": tree.query(x, 5, p=p, distance_upper_bound=r)[1],
        "kneighbors": tree.kneighbors(3, p=p)[1],
        "knn_graph": tree.knn_graph(2, p=p).senders,
        "query_radius": (near.indices, near.counts),
        "query_pairs": (pairs.pairs, pairs.count),
        "radius_graph": (graph.senders, graph.receivers, graph.count),
        "length": tree.query_ball_point(x, r, p=p, return_length=True),
        "count_neighbors": tree.count_neighbors(queries, np.array([R / 2, R]) * size, p=p),
        "components": tree.connected_components(r, p=p),
        "dbscan": tree.dbscan(r, 3, p=p),
        "spanning tree": tree.minimum_spanning_tree(p=p).rows,
        "of cores": tree.minimum_spanning_tree(min_samples=3, p=p).rows,
        "hdbscan": tree.hdbscan(3, p=p),
        "linkage": single_linkage(*tree.minimum_spanning_tree(p=p))[:, [0, 1, 3]],
    }
    distances = {
        "query": tree.query(x, 5, p=p)[0],
        "kneighbors": tree.kneighbors(3, p=p)[0],
        "query_radius": near.distances,
        "query_pairs": pairs.distances,
        "radius_graph": graph.distances,
        "spanning tree": tree.minimum_spanning_tree(p=p).distances,
        "of cores": tree.minimum_spanning_tree(min_samples=3, p=p).distances,
        "linkage": single_linkage(*tree.minimum_spanning_tree(p=p))[:, 2],
    }
    if not traced:
        csr, one = tree.query_radius(x, np.full(len(x), r), p=p, sort=True), tree.query_radius(x[:1], r, p=p)
        matrix = tree.sparse_distance_matrix(queries, r, p=p, output_type="csr_array")
        matrix.sort_indices()
        found |= {
            "with epsilon": tree.hdbscan(3, p=p, cluster_selection_epsilon=r).labels,
            "csr": (csr.indptr, csr.indices),
            "csr of one": np.sort(one.indices),
            "lists": np.concatenate(tree.query_ball_point(x, r, p=p)),
            "ball_tree": np.concatenate(tree.query_ball_tree(queries, r, p=p)),
            "set of pairs": sorted(tree.query_pairs(r, p=p)),
            "matrix": (matrix.indptr, matrix.indices),
        }
        distances |= {"csr": csr.distances, "csr of one": np.sort(one.distances), "matrix": matrix.data}
    return found, distances


def leaves(values):
    return [np.asarray(each) for each in jax.tree.leaves(values)]


def same(found, right, message=""):
    for name in found:
        for a, b in zip(leaves(found[name]), leaves(right[name]), strict=True):
            # Probabilities are ratios of distances, and powers of these are rounded.
            rtol = 4 * jnp.finfo(a.dtype).eps if getattr(a.dtype, "kind", "i") == "f" else 0
            np.testing.assert_allclose(a, b, rtol, err_msg=f"{name} {message}")


def apart(x, points, p):
    """Return every distance, as long doubles."""
    difference = np.abs(np.asarray(x)[:, None].astype(np.longdouble) - np.asarray(points))
    return np.linalg.norm(difference, ord=p, axis=-1) if p in (1, np.inf) else power_sum(difference, p)


def power_sum(difference, p):
    return (difference ** np.longdouble(p)).sum(axis=-1) ** (1 / np.longdouble(p))


@pytest.mark.parametrize("p", ORDERS)
def test_the_answers_of_this_cloud_are_those_of_every_distance(p):
    """What the tests below compare with."""
    found, distances = everything(POINTS, QUERIES, 1.0, p)
    every, own = apart(QUERIES, POINTS, p), apart(POINTS, POINTS, p)
    order = np.argsort(every, axis=1, kind="stable")
    np.testing.assert_array_equal(found["query"], order[:, :5])
    near = np.take_along_axis(every, order, axis=1)
    np.testing.assert_allclose(distances["query"], near[:, :5].astype(float), rtol=1e-14)
    inside = every <= R
    np.testing.assert_array_equal(found["length"], inside.sum(axis=1))
    np.testing.assert_array_equal(
        found["csr"][1], np.concatenate([o[:c] for o, c in zip(order, inside.sum(1), strict=True)])
    )
    np.testing.assert_array_equal(found["lists"], np.nonzero(inside)[1])
    ends = np.nonzero(np.triu(own <= R, 1))
    assert found["set of pairs"] == list(zip(*(each.tolist() for each in ends), strict=True))
    graph = coo_array((np.ones(len(ends[0])), ends), shape=(N, N))
    count, labels = connected_components(graph, directed=False)
    assert found["components"].count == count
    np.testing.assert_array_equal(found["components"].labels, labels)


@pytest.mark.parametrize("p", ORDERS)
@pytest.mark.parametrize("dtype", EXPONENTS)
def test_a_power_of_two_changes_nothing_but_the_size(dtype, p):
    points, x = POINTS.astype(dtype), QUERIES.astype(dtype)
    right, right_distances = everything(points, x, 1.0, p)
    for exponent in EXPONENTS[dtype]:
        size = np.ldexp(1.0, exponent)
        found, distances = everything(points * size.astype(dtype), x * size.astype(dtype), size, p)
        same(found, right, f"times 2**{exponent}")
        for name, values in right_distances.items():
            expected = np.asarray(values) * size.astype(values.dtype)
            least = np.finfo(dtype).smallest_subnormal
            rounding = (0, 0) if p in (1, 2, np.inf) else (1e-6 if dtype == "float32" else 1e-12, least)
            np.testing.assert_allclose(distances[name], expected, *rounding, err_msg=f"{name} 2**{exponent}")


@pytest.mark.parametrize("p", [2.0, 3.0, np.inf])
def test_sizes_inside_of_jit(p):
    run = jax.jit(lambda points, x, size: everything(points, x, size, p, traced=True))
    eager, _ = everything(POINTS, QUERIES, 1.0, p)
    with jax.enable_x64(True):
        right, right_distances = run(POINTS, QUERIES, 1.0)
        same(right, eager)
        for exponent in (-900, 900):
            size = np.ldexp(1.0, exponent)
            found, distances = run(POINTS * size, QUERIES * size, size)
            same(found, right, f"times 2**{exponent}")
            for name, values in right_distances.items():
                rtol = 0 if p != 3 else 1e-12
                np.testing.assert_allclose(distances[name], values * size, rtol=rtol, err_msg=name)


@pytest.mark.parametrize("p", ORDERS)
@pytest.mark.parametrize("dtype", EXPONENTS)
def test_one_far_point_changes_nothing_else(dtype, p):
    far = FARTHEST[p] if dtype == "float64" else 1e38
    points, x = POINTS.astype(dtype), QUERIES.astype(dtype)
    more = np.concatenate([points, np.array([[-far, 0.125]], dtype)])
    right, right_distances = everything(points, x, 1.0, p)
    found, distances = everything(more, x, 1.0, p)
    rtol = 0 if p in (1, 2, np.inf) else 1e-12 if dtype == "float64" else 1e-6
    for name in ("query", "query within", "lists", "csr", "csr of one", "set of pairs", "length", "matrix"):
        values = found[name] if name != "query within" else np.minimum(found[name], N)
        if name == "matrix":
            assert found[name][0][-1] == found[name][0][-2]
            values = found[name][0][:-1], found[name][1]
        same({name: values}, right)
    for name in ("query", "csr", "csr of one", "matrix"):
        np.testing.assert_allclose(distances[name], right_distances[name], rtol=rtol, err_msg=name)
    for name in ("count_neighbors", "ball_tree"):
        same({name: found[name]}, right)
    assert found["components"].count == right["components"].count + 1
    for name in ("components", "dbscan", "hdbscan"):
        labels = found[name].labels
        np.testing.assert_array_equal(labels[:-1], right[name].labels)
        assert labels[-1] == (right["components"].count if name == "components" else -1)
    np.testing.assert_allclose(found["hdbscan"].probabilities[:-1], right["hdbscan"].probabilities, rtol=rtol)
    for name in ("spanning tree", "of cores"):
        np.testing.assert_array_equal(found[name][:-1], right[name])
        np.testing.assert_allclose(distances[name][:-1], right_distances[name], rtol=rtol)
        np.testing.assert_allclose(distances[name][-1], far, rtol=1e-6)
    # And from the far point all others are equally far.
    tree = KDTree(more)
    away, rows = tree.query(more[-1], N + 1, p=p)
    np.testing.assert_array_equal(rows, [N, *range(N)])
    np.testing.assert_allclose(away[1:], far, rtol=1e-6)


@pytest.mark.parametrize("p", ORDERS)
@pytest.mark.parametrize("far", [1e30, 1e160, 1e300])
@pytest.mark.parametrize("dtype", EXPONENTS)
def test_far_queries_are_those_of_every_distance(dtype, far, p):
    points = POINTS.astype(dtype)
    tree = KDTree(points)
    x = np.array([[far, 0.25], [0.25, -far], [far, far / 3], [0.1, 0.2]])
    every = apart(x, points, p).astype(float)
    distances, rows = tree.query(x, 5, p=p)
    np.testing.assert_array_equal(rows, np.argsort(every, axis=1, kind="stable")[:, :5])
    np.testing.assert_allclose(distances, np.sort(every, axis=1)[:, :5], rtol=1e-12)
    assert (tree.query(x, 5, p=p, distance_upper_bound=far / 2)[1][:3] == N).all()
    near = tree.query_radius(x, 1.2 * far, p=p, max_neighbors=3)
    counts = np.count_nonzero(every <= 1.2 * far, axis=1)
    np.testing.assert_array_equal(near.counts, counts)
    csr = tree.query_radius(x, 1.2 * far, p=p, sort=True)
    np.testing.assert_array_equal(np.diff(csr.indptr), counts)
    every.sort(axis=1)
    np.testing.assert_allclose(csr.distances, every[every <= 1.2 * far], rtol=1e-12)
    np.testing.assert_array_equal(tree.query_ball_point(x, 1.2 * far, p=p, return_length=True), counts)


def in_multiples(numbers, dtype):
    """Return subnormal numbers as multiples of the least one."""
    return np.asarray(numbers, np.float64) / float(np.finfo(dtype).smallest_subnormal)


@pytest.mark.parametrize("dtype", EXPONENTS)
def test_subnormal_sizes(dtype):
    """As small as the differences can be: distances are rounded, rows and labels are not."""
    size = GRID**-1 * np.finfo(dtype).smallest_subnormal
    points, x = (POINTS * size).astype(dtype), (QUERIES * size).astype(dtype)
    for p in (1.0, 2.0, 4.0, np.inf):
        right, _ = everything(POINTS.astype(dtype), QUERIES.astype(dtype), 1.0, p)
        tree = KDTree(points)
        np.testing.assert_array_equal(tree.query(x, 5, p=p)[1], right["query"])
        np.testing.assert_array_equal(
            tree.query_ball_point(x, R * size, p=p, return_length=True), right["length"]
        )
        same({"": tree.connected_components(R * size, p=p)}, {"": right["components"]})
        same({"": tree.dbscan(R * size, 3, p=p)}, {"": right["dbscan"]})
        same({"": tree.hdbscan(3, p=p).labels}, {"": right["hdbscan"].labels})


@pytest.mark.thorough
@pytest.mark.parametrize(("dtype", "p"), [("float32", 2.0), ("float64", np.inf)])
def test_subnormal_sizes_by_the_portable_engine(dtype, p):
    """Which XLA takes for 0 on CPUs; with differences and slopes, in a box of their size and a large one."""
    size = GRID**-1 * np.finfo(dtype).smallest_subnormal
    length = 224 * GRID
    inside = POINTS % length
    x = (QUERIES * size).astype(dtype)
    r = R * size
    for cloud, box, right_box in [
        (POINTS, None, None),
        (POINTS, 1.0, None),
        (inside, float(np.array(length * size, dtype)), length),
    ]:
        points = (cloud * size).astype(dtype)
        tree = KDTree(points, boxsize=box, engine="lax")
        right = KDTree(cloud, boxsize=right_box)
        expected, rows = right.query(QUERIES, 5, p=p)
        distances, found = tree.query(x, 5, p=p)
        np.testing.assert_array_equal(found, rows)
        np.testing.assert_allclose(in_multiples(distances, dtype), expected / GRID, rtol=0, atol=0.5)
        bounded = tree.query(x, 5, p=p, distance_upper_bound=r)[1]
        np.testing.assert_array_equal(bounded, right.query(QUERIES, 5, p=p, distance_upper_bound=R)[1])
        counts = right.query_ball_point(QUERIES, R, p=p, return_length=True)
        near = tree.query_radius(x, r, p=p, max_neighbors=N)
        np.testing.assert_array_equal(near.counts, counts)
        if right_box is None:
            multiples = in_multiples(near.distances, dtype)
            exact = np.sort(apart(QUERIES, cloud, p), axis=1) / GRID
            exact[np.arange(N) >= counts[:, None]] = np.inf
            np.testing.assert_allclose(multiples, exact.astype(float), rtol=0, atol=0.5)
        labels = right.connected_components(R, p=p).labels
        np.testing.assert_array_equal(tree.connected_components(r, p=p).labels, labels)
        vectors = in_multiples(tree.displacements(x, rows), dtype)
        np.testing.assert_array_equal(vectors, right.displacements(QUERIES, rows) / GRID)
        with jax.enable_x64(dtype == "float64"):
            slopes = jax.grad(lambda x, tree=tree: tree.query(x, 5, p=p)[0].sum())(jnp.asarray(x))
            right_slopes = jax.grad(lambda x, right=right: right.query(x, 5, p=p)[0].sum())
            rtol = 1e-5 if dtype == "float32" else 0  # two directions may cancel
            np.testing.assert_allclose(slopes, right_slopes(jnp.asarray(QUERIES, dtype)), rtol, rtol)


@pytest.mark.parametrize("dtype", EXPONENTS)
def test_numbers_of_any_size_come_into_a_box(dtype):
    """Whole numbers of any unit, the least one too; along axes of length 0 and inf they stay."""
    limits = np.finfo(dtype)
    whole = RNG.integers(-2000, 2000, (100, 1)).astype(float)
    units = np.array([1.0, float(limits.smallest_subnormal), float(limits.tiny), 2.0**100])
    kept = np.array([float(limits.max), float(limits.smallest_subnormal)])
    x = np.concatenate([whole * units, np.sign(whole) * kept, whole * kept[1:]], axis=1).astype(dtype)
    lengths = np.concatenate([512 * units, [0.0, 0.0, np.inf]]).astype(dtype)
    with jax.enable_x64(dtype == "float64"):
        inside = jax.jit(wrap)(jnp.asarray(x), jnp.asarray(lengths))
    expected = np.concatenate([whole % 512 * units, x[:, 4:]], axis=1).astype(dtype)
    np.testing.assert_array_equal(inside, expected)


def test_far_queries_of_a_periodic_box():
    """Along the axis that is not periodic; along the other one a query comes into the box."""
    points = POINTS.copy()
    tree = KDTree(points, boxsize=[1.0, 0.0])
    x = np.array([[0.75, 1e200], [5.75, 0.0]])
    distances, rows = tree.query(x, 2)
    difference = np.abs(0.75 - points[:, 0])
    every = np.hypot(np.minimum(difference, 1 - difference), points[:, 1])
    np.testing.assert_array_equal(rows, [[0, 1], np.argsort(every, kind="stable")[:2]])
    np.testing.assert_allclose(distances, [[1e200, 1e200], np.sort(every)[:2]], rtol=1e-12)


def test_small_distances_of_queries_to_a_large_cloud():
    points = np.concatenate([POINTS, [[1.0, 1.0]]])
    points[0] = 0.0
    x = np.array([[1.0, 1.0], [3e-200, 4e-200]])
    distances, rows = KDTree(points).query(x)
    np.testing.assert_array_equal(rows, [N, 0])
    np.testing.assert_allclose(distances, [0.0, 5e-200], rtol=1e-15)
    distances, _ = KDTree(points.astype(np.float32)).query(x)
    np.testing.assert_allclose(distances[1], 5e-200, rtol=1e-12)
