"""What a broken choice would get wrong: ties between leaves, pieces, engines by work, boxes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial import KDTree as SciPyTree
from scipy.spatial.distance import cdist

from jaxapi.spatial import KDTree, _tree_programs
from jaxapi.spatial._engines._by_platform import BY_PLATFORM
from jaxapi.spatial._search import Search
from jaxapi.spatial._tree import _build
from jaxapi.spatial._tree._metric import TreeMetric
from jaxapi.spatial._tree._queries import Limits

RNG = np.random.default_rng(12)


def nearest_by_hand(points, x, k):
    """Return the rows of a stable sort by exact squared distances of whole numbers."""
    squares = ((x[:, None] - points[None]) ** 2).sum(-1)
    return np.argsort(squares, axis=1, kind="stable")[:, :k]


@pytest.mark.daily
def test_ties_between_leaves_go_to_the_lowest_row_inside_jit():
    """Equal points lie in many leaves; whichever is visited first, the lowest rows come out."""
    points = RNG.integers(0, 5, (600, 3)).astype(float)
    x = RNG.integers(0, 5, (60, 3)).astype(float)
    tree = KDTree(points.astype(np.float32), engine="lax")
    assert tree._cloud.built_tree().leaves >= 16
    for k in (1, 3):
        _, rows = jax.jit(lambda tree, x, k=k: tree.query(x, k=[*range(1, k + 1)]))(
            tree, jnp.asarray(x, "float32")
        )
        np.testing.assert_array_equal(rows, nearest_by_hand(points, x, k))


def test_traced_counts_bring_the_other_tree_into_the_box():
    """Points beyond the box of the first tree count at their places inside."""
    a, b = RNG.random((40, 2)), RNG.random((30, 2)) * 3 - 1
    count = jax.jit(lambda a, b: KDTree(a, boxsize=1.0).count_neighbors(KDTree(b), [0.1, 0.3]))
    inside = SciPyTree(b % 1.0, boxsize=1.0)
    expected = SciPyTree(a, boxsize=1.0).count_neighbors(inside, [0.1, 0.3])
    assert expected[0] > SciPyTree(a, boxsize=1.0).count_neighbors(SciPyTree(b), [0.1, 0.3])[0]
    assert count(a, b).tolist() == expected.tolist()


@pytest.mark.thorough
def test_very_many_queries_are_searched_in_pieces(monkeypatch):
    """As here with a smaller limit: each engine call gets one piece, and results are whole."""
    points, x = RNG.random((50, 3)).astype(np.float32), RNG.random((20, 3)).astype(np.float32)
    tree = jax.jit(_build.build)(points, 50)
    sizes, search_engine = [], BY_PLATFORM.nearest

    def counted(tree, x, *arrays, **options):
        sizes.append(x.shape[0])
        return search_engine(tree, x, *arrays, **options)

    monkeypatch.setattr(_tree_programs, "LARGEST_PIECE", 7 * 4)
    monkeypatch.setattr(BY_PLATFORM, "nearest", counted)
    bound = np.full(20, np.inf, np.float32)
    bound[11] = 0
    settings = Search(2.0, None, np.dtype(np.float32), np.dtype(np.int32), BY_PLATFORM)
    search = jax.jit(
        lambda tree, x, limits: _tree_programs.nearest(tree, x, limits, TreeMetric(2.0), k=4, search=settings)
    )
    _, rows = search(tree, x, Limits(bound, np.float32(0)))
    assert sizes == [7, 7, 6]
    expected = SciPyTree(points).query(x, k=4)[1]
    expected[11] = 50
    np.testing.assert_array_equal(rows, expected)


@pytest.mark.thorough
def test_many_distances_in_many_dimensions_are_one_product():
    """On the CPU SciPy searches a few of them; the answers are the same."""
    points, x = RNG.random((4096, 17)), RNG.random((4096, 17))
    many = KDTree(points).query(x, k=3)
    few = KDTree(points).query(x[:20], k=3)
    distances = cdist(x[:20], points)
    rows = np.argsort(distances, axis=1)[:, :3]
    for found_distances, found_rows in (few, many):
        np.testing.assert_array_equal(found_rows[:20], rows)
        expected = np.take_along_axis(distances, rows, axis=1)
        np.testing.assert_allclose(found_distances[:20], expected, rtol=1e-14)
