"""Clusterings of KDTree against SciPy, scikit-learn, all distances, and finite differences."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from comparisons import assert_same
from jax.sharding import AxisType, NamedSharding, PartitionSpec
from jax.test_util import check_grads
from scipy.cluster.hierarchy import fcluster, is_valid_linkage, linkage
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree
from scipy.spatial.distance import pdist
from sklearn.cluster import DBSCAN, HDBSCAN

import jaxapi as xp
from jaxapi.spatial import KDTree, single_linkage
from jaxapi.spatial._scipy import _groups

CLOUDS = 30
ULPS = 1e-15 if jax.default_backend() == "gpu" else 0  # GPUs round products and sums at once
KINDS = {
    "uniform": lambda rng, n, m: rng.random((n, m)),
    "lattice": lambda rng, n, m: rng.integers(0, 4, (n, m)) / 8,
    "copies": lambda rng, n, m: np.repeat(rng.random((n // 9 + 1, m)), 9, axis=0)[:n],
    "line": lambda rng, n, m: np.outer(rng.random(n), np.ones(m)),
    "halos": lambda rng, n, m: rng.normal(size=(n, m)) * rng.choice([0.01, 1.0], (n, 1)),
    "blobs": lambda rng, n, m: rng.normal(rng.random((4, m))[rng.integers(0, 4, n)] * 3, 0.1),
}


@pytest.fixture(params=KINDS)
def clouds(request):
    """Return random clouds of a kind, the last with many neighbours, with a generator of random numbers."""
    rng = np.random.default_rng(len(request.param))
    sizes = [(int(rng.choice([1, 2, 3, 10, 70])), int(rng.integers(1, 5))) for _ in range(CLOUDS)]
    sizes += [(300, 1), (250, 2), (400, 3)]
    return [(KINDS[request.param](rng, n, m), rng) for n, m in sizes]


@pytest.fixture
def small_pieces(monkeypatch):
    """List pairs of dense clouds in pieces, as if they were more than there is memory for."""
    monkeypatch.setattr(_groups, "PIECE", 50)


def components(n, one, two):
    return connected_components(coo_array((np.ones(len(one)), (one, two)), shape=(n, n)), directed=False)


@pytest.mark.parametrize("p", [1.0, 2.0, np.inf])
def test_components_are_those_of_all_pairs(clouds, small_pieces, p):
    for x, rng in clouds:
        box = [None, 5.0][int(rng.integers(2))] if x.min() >= 0 else None
        r = float(rng.choice([0.0, 0.05, 0.125, 0.3, np.inf]))
        pairs = cKDTree(x, boxsize=box).query_pairs(r, p=p, output_type="ndarray")
        count, labels = components(len(x), *pairs.T)
        found = KDTree(x, boxsize=box).connected_components(r, p=p)
        assert found.count == count
        np.testing.assert_array_equal(found.labels, labels)


def test_dbscan_is_that_of_scikit_learn(clouds, small_pieces):
    for x, rng in clouds:
        eps, least = float(rng.choice([0.05, 0.125, 0.3, 9.0])), int(rng.integers(1, 8))
        weights = rng.integers(-1, 4, len(x)) + 0.5 if rng.integers(2) else None
        expected = DBSCAN(eps=eps, min_samples=least, algorithm="kd_tree").fit(x, sample_weight=weights)
        found = KDTree(x).dbscan(eps, least, sample_weight=weights)
        np.testing.assert_array_equal(np.flatnonzero(found.core), expected.core_sample_indices_)
        np.testing.assert_array_equal(found.labels, expected.labels_)


def all_distances(x, p, box=None):
    """Return the distances as SciPy's tree has them, which are the same in both directions."""
    tree = cKDTree(x, boxsize=box)
    found = tree.sparse_distance_matrix(tree, np.finfo(float).max, p=p, output_type="ndarray")
    apart = np.zeros((len(x), len(x)))
    apart[found["i"], found["j"]] = found["v"]
    return np.minimum(apart, apart.T)


def kruskal(apart):
    """Return the edges of the minimum spanning tree, the first by (distance, rows)."""
    one, two = np.triu_indices(len(apart), 1)
    group, edges = np.arange(len(apart)), []
    for i in np.lexsort((two, one, apart[one, two])):
        a, b = group[one[i]], group[two[i]]
        if a != b:
            group[group == b] = a
            edges.append((one[i], two[i]))
    return np.reshape(edges, (-1, 2)).astype(int)


@pytest.mark.parametrize("p", [2.0, 1.0, np.inf])
def test_the_spanning_tree_is_kruskals(clouds, p):
    for x, rng in clouds[:CLOUDS:3] + clouds[CLOUDS:]:
        box = 5.0 if x.min() >= 0 and rng.integers(2) else None
        least = int(rng.integers(1, min(len(x), 7) + 1))
        apart = all_distances(x, p, box)
        core = np.sort(apart, axis=1)[:, least - 1]
        apart = np.maximum(apart, np.maximum(core, core[:, None]))
        rows = kruskal(apart)
        found = KDTree(x, boxsize=box).minimum_spanning_tree(min_samples=least, p=p)
        np.testing.assert_allclose(found.distances, apart[*rows.T], rtol=ULPS)
        other = np.asarray((found.rows != rows).any(axis=1))
        assert ULPS or not other.any()
        np.testing.assert_allclose(apart[*np.asarray(found.rows)[other].T], apart[*rows[other].T], rtol=ULPS)
        assert components(len(x), *np.asarray(found.rows).T)[0] == 1


@pytest.mark.parametrize("kind", ["uniform", "line", "halos", "blobs"])
def test_single_linkage_is_scipys(kind):
    for n in (2, 3, 10, 200):
        x = KINDS[kind](np.random.default_rng(n), n, 2)
        found = single_linkage(*KDTree(x).minimum_spanning_tree())
        np.testing.assert_allclose(found, linkage(pdist(x), "single"), rtol=1e-12)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64", "int8", "int64"])
def test_rows_of_every_integer_dtype(dtype):
    x = np.random.default_rng(6).random((9, 2))
    rows, distances = map(np.asarray, KDTree(x).minimum_spanning_tree())
    expected = linkage(pdist(x), "single")
    with jax.enable_x64(True):
        for call in (single_linkage, jax.jit(single_linkage)):
            np.testing.assert_allclose(call(rows.astype(dtype), distances), expected, rtol=1e-12)
    rows = rows.astype(dtype)
    rows[0, 1] = np.iinfo(dtype).max
    with pytest.raises(ValueError, match="the edges of a tree of 9 points"):
        single_linkage(rows, distances)


def test_single_linkage_is_cut_by_scipy():
    x = np.random.default_rng(0).random((60, 3))
    found = single_linkage(*KDTree(x).minimum_spanning_tree())
    assert is_valid_linkage(np.asarray(found), throw=True)
    cut = fcluster(np.asarray(found), 0.2, "distance")
    same = KDTree(x).connected_components(0.2).labels
    np.testing.assert_array_equal(cut[:, None] == cut, same[:, None] == same)


@pytest.mark.parametrize("method", ["eom", "leaf"])
def test_hdbscan_is_that_of_scikit_learn(method):
    rng, compared = np.random.default_rng(7), 0
    for i in range(CLOUDS):
        sizes, spread = rng.integers(4, 40, 6), rng.random(6) * 0.3
        centres = rng.random((6, 2)) * 3
        x = np.concatenate([rng.normal(c, s, (n, 2)) for n, c, s in zip(sizes, centres, spread, strict=True)])
        x = x[rng.permutation(len(x))]
        options = {
            "min_cluster_size": int(rng.integers(2, 10)),
            "min_samples": None if i % 3 else int(rng.integers(1, 7)),
            "cluster_selection_epsilon": 0.0 if i % 2 else float(rng.choice([0.05, 0.3])),
            "allow_single_cluster": bool(rng.integers(2)),
            "alpha": float(rng.choice([1.0, 1.3])),
        }
        try:
            expected = HDBSCAN(cluster_selection_method=method, copy=True, **options).fit(x)
        except TypeError:  # scikit-learn's epsilon takes arrays of one element as numbers, NumPy no longer
            continue
        compared += 1
        found = KDTree(x, engine="scipy").hdbscan(cluster_selection_method=method, **options)
        np.testing.assert_array_equal(found.labels, expected.labels_, str(options))
        np.testing.assert_allclose(found.probabilities, expected.probabilities_, rtol=1e-12)
    assert compared >= CLOUDS // 2


def test_hdbscan_joins_clusters_that_part_below_epsilon():
    x = np.concatenate([np.arange(6) * 0.01 + c for c in (0.0, 0.2, 5.0, 9.0)])[:, None]
    tree = KDTree(x)
    assert tree.hdbscan(5).labels.max() == 3
    found = tree.hdbscan(5, cluster_selection_method="leaf", cluster_selection_epsilon=1.0).labels
    same = np.repeat([0, 0, 1, 2], 6)
    np.testing.assert_array_equal(found[:, None] == found, same[:, None] == same)


def every(tree):
    return (
        tree.connected_components(0.2),
        tree.dbscan(0.2, 3, sample_weight=np.ones(len(tree.data))),
        tree.minimum_spanning_tree(min_samples=3),
        tree.hdbscan(4),
    )


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32"])
@pytest.mark.parametrize("box", [None, 4.0])
def test_jit_gives_the_same(dtype, box):
    x = (np.random.default_rng(1).random((40, 2)) * 3.9).astype(dtype)
    expected = every(KDTree(x, boxsize=box))
    assert_same(jax.jit(lambda x: every(KDTree(x, boxsize=box)))(xp.asarray(x)), expected, rtol=1e-6)
    if box and dtype == "float32":
        assert_same(jax.jit(lambda box: every(KDTree(x, boxsize=box)))(box), expected, rtol=1e-6)
        assert_same(jax.jit(every)(KDTree(x, boxsize=box)), expected, rtol=1e-6)


@pytest.mark.thorough
@pytest.mark.parametrize(("p", "box"), [(4.0, None), (np.inf, 4.0)])
def test_the_portable_engine_gives_the_same(p, box):
    """Traced and exported, which takes no callback; without weights eager; subnormal numbers, too."""
    rng = np.random.default_rng(3)

    def both(x, n, r, weights, **options):
        tree = KDTree(x, n=n, boxsize=box, **options)
        return (*tree.connected_components(r, p=p), *tree.dbscan(r, 4, p=p, sample_weight=weights))

    def cloud(kind):
        x = np.abs(KINDS[kind](rng, 60, 2)).astype(np.float32) % 4
        return x, np.int32(50), np.float32(rng.integers(-1, 3, 60) + 0.5) if box else None

    x, n, weights = cloud("uniform")
    shapes = jax.eval_shape(lambda *values: values, x, n, np.float32(1), weights)
    exported = jax.export.export(jax.jit(partial(both, engine="lax")))(*shapes)
    traced = jax.jit(jax.export.deserialize(exported.serialize()).call)
    for kind in KINDS:
        x, n, weights = cloud(kind)
        for r in np.float32([0.0, 0.0625, 0.125, 0.5, 40.0]):
            assert_same(traced(x, n, r, weights), both(x, 50, r or 1e-30, weights), rtol=1e-6)
    if not box:
        x, *_ = cloud("lattice")
        tiny = np.finfo(np.float32).smallest_subnormal
        x = np.round(8 * x)
        for r in np.float32([1.0, 2.0]):
            assert_same(traced(tiny * x, n, tiny * r, weights), both(x, 50, r, weights), rtol=1e-6)
        x = x / 8
        assert_same(KDTree(x, engine="lax").dbscan(0.125, 4, p=p), KDTree(x).dbscan(0.125, 4, p=p), rtol=1e-6)


@pytest.mark.daily
def test_vmap_and_scan_give_the_same():
    x = np.random.default_rng(2).random((3, 30, 2)).astype(np.float32)
    each = [every(KDTree(one)) for one in x]
    expected = jax.tree.map(lambda *found: jnp.stack(found), *each)
    assert_same(jax.vmap(lambda x: every(KDTree(x)))(x), expected, rtol=1e-6)
    assert_same(jax.lax.scan(lambda carry, x: (carry, every(KDTree(x))), 0, x)[1], expected, rtol=1e-6)
    radii = np.float32([0.01, 0.1, 0.3])
    found = jax.vmap(KDTree(x[0]).connected_components)(radii).labels
    np.testing.assert_array_equal(found, [KDTree(x[0]).connected_components(r).labels for r in radii])
    edges = jax.vmap(lambda x: KDTree(x).minimum_spanning_tree())(x)
    np.testing.assert_array_equal(
        jax.vmap(single_linkage)(*edges)[0], single_linkage(*KDTree(x[0]).minimum_spanning_tree())
    )


def test_traced_points_that_are_not_finite_belong_to_nothing():
    x = np.random.default_rng(3).random((30, 2)).astype(np.float32)
    x[[3, 7]] = np.nan, np.inf
    kept = np.delete(np.arange(30), [3, 7])
    components, clusters, edges, stable = jax.jit(lambda x: every(KDTree(x)))(x)
    expected = every(KDTree(x[kept]))
    assert components.count == expected[0].count
    for found, alone in zip((components, clusters, stable), (*expected[:2], expected[3]), strict=True):
        np.testing.assert_array_equal(found.labels[kept], alone.labels)
        np.testing.assert_array_equal(found.labels[np.array([3, 7])], -1)
    np.testing.assert_array_equal(edges.rows[:-2], kept[expected[2].rows])
    np.testing.assert_array_equal(edges.rows[-2:], -1)
    np.testing.assert_array_equal(edges.distances[-2:], np.inf)
    few = jax.jit(lambda x: every(KDTree(x)))(np.full((30, 2), np.nan, np.float32))
    assert few[0].count == 0
    assert (few[2].rows == -1).all()
    np.testing.assert_array_equal(jax.jit(single_linkage)(*edges)[-2:], [[-1, -1, np.inf, 0]] * 2)


@pytest.mark.thorough
@pytest.mark.daily("2.0-3")
@pytest.mark.parametrize("least", [None, 3])
@pytest.mark.parametrize("p", [1.0, 2.0, 3.0])
def test_distances_of_the_spanning_tree_have_derivatives(least, p):
    x = np.random.default_rng(4).random((8, 2))

    def cubes(x, box):
        tree = KDTree(x, boxsize=box)
        return (tree.minimum_spanning_tree(min_samples=least, p=p).distances ** 3).sum()

    with jax.enable_x64(True):
        check_grads(cubes, (x, 1.5), order=2, modes=["rev"], atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("traced", [False, True])
def test_rows_from_n_on_belong_to_nothing(traced):
    x = np.random.default_rng(5).random((30, 2)).astype(np.float32)
    x[20:25] = x[:5]  # what is behind has no effect
    call = jax.jit(lambda x, n: every(KDTree(x, n=n))) if traced else lambda x, n: every(KDTree(x, n=n))
    expected = every(KDTree(x[:20]))
    components, clusters, edges, stable = call(x, 20)
    assert components.count == expected[0].count
    for found, alone in zip((components, clusters, stable), (*expected[:2], expected[3]), strict=True):
        np.testing.assert_array_equal(found.labels, np.append(alone.labels, np.full(10, -1)))
    np.testing.assert_array_equal(edges.rows[:19], expected[2].rows)
    assert (edges.rows[19:] == -1).all()
    assert np.isposinf(edges.distances[19:]).all()
    assert single_linkage(*edges).shape == (29, 4)
    assert_same(jax.jit(every)(KDTree(x, n=20)), call(x, 20), rtol=1e-6)


@pytest.mark.thorough
def test_what_needs_all_points_on_one_device():
    mesh = jax.make_mesh((2,), ("d",), devices=jax.devices("cpu")[:2], axis_types=(AxisType.Auto,))
    tree = KDTree(np.ones((8, 2)), sharding=NamedSharding(mesh, PartitionSpec("d")))
    for search in (tree.hdbscan, tree.minimum_spanning_tree):
        with pytest.raises(TypeError, match="all points in one place"):
            search()


def test_the_smallest_clouds():
    for n in range(3):
        tree = KDTree(np.zeros((n, 2)))
        assert int(tree.connected_components(0.0).count) == min(n, 1)
        assert tree.dbscan(1.0, 2).labels.tolist() == [[], [-1], [0, 0]][n]
        assert tree.minimum_spanning_tree().rows.tolist() == [[0, 1]] * (n == 2)
        assert single_linkage(*tree.minimum_spanning_tree()).shape == (max(n - 1, 0), 4)
    assert KDTree(np.zeros((1, 2))).hdbscan(2, min_samples=1).labels.tolist() == [-1]
    same = KDTree(np.ones((3000, 3)))
    assert int(same.connected_components(0.0).count) == 1
    for copies in (same, KDTree(np.ones((3000, 3)), boxsize=4.0)):  # each is not compared with each
        assert int(copies.connected_components(0.1).count) == 1
        assert (copies.dbscan(0.1, 3, sample_weight=np.ones(3000)).labels == 0).all()
        assert copies.dbscan(0.1, 3000).core.all()
        assert not copies.dbscan(0.1, 3001).core.any()
    np.testing.assert_array_equal(same.minimum_spanning_tree(min_samples=4).rows[:, 0], 0)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda tree: tree.connected_components(-1), ValueError, "r must be at least 0, got -1"),
        (lambda tree: tree.connected_components(np.nan), ValueError, "r must be at least 0, got nan"),
        (lambda tree: tree.connected_components([1.0]), ValueError, "single radius"),
        (lambda tree: tree.dbscan(0), ValueError, "eps must be above 0, got 0"),
        (lambda tree: tree.dbscan(1, 0), ValueError, "min_samples must be at least 1, got 0"),
        (lambda tree: tree.dbscan(1, 2.5), TypeError, "min_samples must be an integer"),
        (
            lambda tree: jax.jit(lambda size: tree.dbscan(1, size).labels)(2),
            TypeError,
            "min_samples shapes the program",
        ),
        (
            lambda tree: tree.hdbscan(5),
            ValueError,
            "which is min_cluster_size unless it is given,.* got 5 of 4",
        ),
        (lambda tree: tree.dbscan(1, sample_weight=[1.0]), ValueError, r"of shape \(4,\), got \(1,\)"),
        (lambda tree: tree.dbscan(1, sample_weight=[np.nan] * 4), ValueError, "must not be nan"),
        (lambda tree: tree.minimum_spanning_tree(min_samples=5), ValueError, "at most the number of points"),
        (lambda tree: tree.hdbscan(1), ValueError, "min_cluster_size must be at least 2, got 1"),
        (lambda tree: tree.hdbscan(2, alpha=0), ValueError, "alpha must be above 0"),
        (lambda tree: tree.hdbscan(2, cluster_selection_epsilon=-1), ValueError, "at least 0, got -1"),
        (lambda tree: tree.hdbscan(2, cluster_selection_method="x"), ValueError, "one of eom, leaf"),
        (lambda _: single_linkage([[0, 1], [1, 0]], [1.0, 2.0]), ValueError, "the edges of a tree of 3"),
        (lambda _: single_linkage([[0, 1]], [np.nan]), ValueError, "nan"),
        (lambda _: single_linkage([[0, 1]], [1.0, 2.0]), ValueError, r"\(1, 2\) and \(2,\)"),
        (lambda _: single_linkage([[0.0, 1.0]], [1.0]), TypeError, "rows must be integers"),
    ],
)
def test_what_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call(KDTree(np.arange(8.0).reshape(4, 2)))
