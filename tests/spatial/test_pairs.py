"""Pairs, ball trees, sparse distances and radius graphs against SciPy, on every engine; nodes."""

import jax
import numpy as np
import pytest
import scipy.sparse
from scipy.spatial import KDTree as SciPyTree
from trees import check_nodes

from jaxapi.spatial import KDTree

SEED = np.random.default_rng(11)
A, B = SEED.random((50, 3)), SEED.random((40, 3))
TREES = KDTree(A), KDTree(B)
ORACLES = SciPyTree(A), SciPyTree(B)
BOXED = SciPyTree(A, boxsize=1.0)


@pytest.mark.daily
def test_pairs_same_as_scipy(radius_engine):
    tree, expected = KDTree(A), ORACLES[0].query_pairs(0.3)
    assert tree.query_pairs(0.3) == expected
    array = tree.query_pairs(0.3, output_type="ndarray")
    assert isinstance(array, jax.Array)
    assert sorted(map(tuple, array.tolist())) == sorted(expected)
    fixed = tree.query_pairs(0.3, max_pairs=400)
    count = int(fixed.count)
    assert count == len(expected)
    assert set(map(tuple, fixed.pairs[:count].tolist())) == expected
    np.testing.assert_array_equal(fixed.pairs[count:], 50)
    np.testing.assert_array_equal(fixed.distances[count:], np.inf)
    first, second = np.asarray(fixed.pairs[:count]).T
    np.testing.assert_allclose(
        fixed.distances[:count], np.linalg.norm(A[first] - A[second], axis=1), rtol=1e-13
    )


@pytest.mark.thorough
@pytest.mark.daily("cuda")
def test_pairs_in_a_periodic_box_and_cut_short(radius_kernel):
    tree, expected = KDTree(A, boxsize=1.0), BOXED.query_pairs(0.3, p=1)
    if radius_kernel != "cuda":
        assert tree.query_pairs(0.3, p=1) == expected
    short = tree.query_pairs(0.3, p=1, max_pairs=7)
    assert int(short.count) == len(expected)
    assert len(set(map(tuple, short.pairs.tolist())) & expected) == 7


@pytest.mark.thorough
@pytest.mark.daily("cuda")
def test_graph_has_both_directions(radius_kernel):
    tree = KDTree(A, boxsize=1.0)
    graph = tree.radius_graph(0.3)
    count = int(graph.count)
    assert count == graph.senders.shape[0]
    expected = BOXED.query_ball_point(A, 0.3)
    assert (np.diff(graph.receivers) >= 0).all()
    ends, senders = np.searchsorted(graph.receivers, np.arange(51)), np.asarray(graph.senders)
    for i, rows in enumerate(expected):
        assert sorted(senders[ends[i] : ends[i + 1]].tolist()) == [j for j in rows if j != i]
    if radius_kernel == "cuda":
        return
    fixed = tree.radius_graph(0.3, max_edges=2600)
    assert count == int(fixed.count)
    np.testing.assert_array_equal(fixed.receivers[:count], graph.receivers)
    np.testing.assert_array_equal(fixed.senders[count:], 50)
    loops = tree.radius_graph(0.3, loop=True, max_edges=2600)
    assert int(loops.count) == count + 50


@pytest.mark.daily
def test_all_pairs_in_a_periodic_box(radius_engine):
    """Half of the box is as far as anything is: also from the slots that padding leaves empty."""
    tree = KDTree(A, boxsize=1.0)
    for function in (
        KDTree.radius_graph,
        jax.jit(KDTree.radius_graph, static_argnames=("loop", "max_edges")),
    ):
        found = function(tree, 9.0, loop=True, max_edges=2600)
        assert int(found.count) == 2500
        np.testing.assert_array_equal(found.receivers, np.minimum(np.arange(2600) // 50, 50))


@pytest.mark.daily
def test_duplicates_are_neighbours_of_each_other(radius_engine):
    tree = KDTree(np.repeat(A[:10], 5, axis=0))
    assert len(tree.query_pairs(0.0, output_type="ndarray")) == 10 * 5 * 4 // 2
    assert int(tree.radius_graph(0.0).count) == 10 * 5 * 4


def test_two_trees_same_as_scipy(radius_engine):
    first, second = KDTree(A), KDTree(B)
    assert first.query_ball_tree(second, 0.3) == ORACLES[0].query_ball_tree(ORACLES[1], 0.3)
    expected = ORACLES[0].sparse_distance_matrix(ORACLES[1], 0.3, output_type="dict")
    found = first.sparse_distance_matrix(second, 0.3, output_type="dict")
    assert found.keys() == expected.keys()
    np.testing.assert_allclose([found[key] for key in expected], list(expected.values()), rtol=1e-13)


@pytest.mark.parametrize(
    "name", ["dok_matrix", "dok_array", "coo_matrix", "coo_array", "csr_matrix", "csr_array"]
)
def test_sparse_output_types_keep_zeros(name):
    tree = KDTree([[0.0], [1.0], [3.0]])
    matrix = tree.sparse_distance_matrix(tree, 1.0, output_type=name)
    assert type(matrix) is getattr(scipy.sparse, name)
    assert matrix.nnz == 5
    np.testing.assert_array_equal(matrix.toarray(), [[0, 1, 0], [1, 0, 0], [0, 0, 0]])


def test_sparse_records():
    records = TREES[0].sparse_distance_matrix(TREES[1], 0.3, output_type="ndarray")
    expected = ORACLES[0].sparse_distance_matrix(ORACLES[1], 0.3, output_type="ndarray")
    assert records.dtype == expected.dtype
    assert type(TREES[0].sparse_distance_matrix(TREES[1], 0.3)) is scipy.sparse.dok_matrix


@pytest.mark.thorough("lax")
def test_only_the_box_of_the_first_tree_counts(radius_engine):
    points, others = np.full((50, 3), 0.05), np.full((40, 3), [0.5, 0.05, 0.05])  # shapes of other tests
    others[:2, 0] = 0.95, 3.02
    boxed, plain = KDTree(points, boxsize=1.0), KDTree(others)
    assert boxed.query_ball_tree(plain, 0.11) == [[0, 1]] * 50
    assert plain.query_ball_tree(boxed, 0.11) == [[]] * 40


def test_radii_that_reach_nothing(radius_engine):
    tree = KDTree(A)
    searches = [
        tree.query_pairs,
        tree.radius_graph,
        lambda radius: tree.query_pairs(radius, max_pairs=4),
        lambda radius: tree.sparse_distance_matrix(tree, radius, output_type="dict"),
        lambda radius: tree.query_ball_tree(tree, radius),
    ]
    for radius in (-1.0, np.nan):
        for search in searches:
            with pytest.raises(ValueError, match=f"must be at least 0, got {radius}"):
                search(radius)
    count = jax.jit(lambda radius: tree.query_pairs(radius, max_pairs=4).count)
    assert count(-1.0) == count(np.nan) == 0


def test_empty_and_single():
    for n in (0, 1):
        tree = KDTree(np.zeros((n, 2)))
        assert tree.query_pairs(1.0) == set()
        assert tree.query_pairs(1.0, output_type="ndarray").shape == (0, 2)
        assert tree.query_pairs(1.0, max_pairs=2).pairs.tolist() == [[n, n], [n, n]]
        assert int(tree.radius_graph(1.0, loop=True).count) == n
        assert tree.query_ball_tree(tree, 1.0) == [[0]] * n
        assert tree.sparse_distance_matrix(tree, 1.0).shape == (n, n)


def test_python_objects_cannot_be_traced():
    remedies = {
        "max_pairs": lambda x: KDTree(x).query_pairs(0.1),
        "max_edges": lambda x: KDTree(x).radius_graph(0.1),
        r"other\.query_radius": lambda x: KDTree(x).query_ball_tree(KDTree(x), 0.1),
        "tree.data, r, max_neighbors": lambda x: KDTree(x).sparse_distance_matrix(KDTree(x), 0.1),
        "look at it outside": lambda x: KDTree(x).tree.children,
    }
    for remedy, call in remedies.items():
        with pytest.raises(TypeError, match=remedy):
            jax.jit(call)(A)


FLAT = KDTree(np.zeros((2, 2)))


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda t: t.query_pairs(0.1, output_type="list"), ValueError, "Invalid output type"),
        (lambda t: t.sparse_distance_matrix(t, 0.1, output_type="bsr_array"), ValueError, "output type"),
        (lambda t: t.query_ball_tree(FLAT, 0.1), ValueError, "different dimensionality"),
        (lambda t: t.sparse_distance_matrix(FLAT, 0.1), ValueError, "different dimensionality"),
        (lambda t: t.query_ball_tree(A, 0.1), TypeError, "'other' has incorrect type"),
        (lambda t: t.query_pairs([0.1, 0.2]), ValueError, "r must be a single radius"),
        (lambda t: t.query_pairs(0.1, p=0.5), ValueError, "Only p-norms"),
        (lambda t: t.query_pairs(0.1, max_pairs=2.5), TypeError, "max_pairs must be an integer"),
    ],
)
def test_errors(call, kind, text):
    with pytest.raises(kind, match=text):
        call(TREES[0])


def test_nodes():
    check_nodes(KDTree(A), A)
