"""What a broken choice would get wrong: ties between leaves, pieces, engines by work, boxes."""

import jax
import jax.numpy as jnp
import numpy as np
from scipy.spatial import KDTree as SciPyTree

from jaxapi.spatial import KDTree, _select
from jaxapi.spatial._device import _searches
from jaxapi.spatial._structure import _build

RNG = np.random.default_rng(12)


def nearest_by_hand(points, x, k):
    """Return the rows of a stable sort by exact squared distances of whole numbers."""
    squares = ((x[:, None] - points[None]) ** 2).sum(-1)
    return np.argsort(squares, axis=1, kind="stable")[:, :k]


def test_ties_between_leaves_go_to_the_lowest_row_inside_jit():
    """Equal points lie in many leaves; whichever is visited first, the lowest rows come out."""
    points = RNG.integers(0, 5, (600, 3)).astype(float)
    x = RNG.integers(0, 5, (60, 3)).astype(float)
    tree = KDTree(points.astype(np.float32), engine="lax")
    assert tree._structure().leaves >= 16
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


def test_very_many_queries_are_searched_in_pieces(monkeypatch):
    """As here with a smaller limit: each engine call gets one piece, and results are whole."""
    points, x = RNG.random((50, 3)).astype(np.float32), RNG.random((20, 3)).astype(np.float32)
    tree = jax.jit(_build.build)(points, 50)
    sizes, run = [], _searches._engines.run

    def counted(engine, name, tree, x, *arrays, **options):
        sizes.append(x.shape[0])
        return run(engine, name, tree, x, *arrays, **options)

    monkeypatch.setattr(_searches, "LARGEST_PIECE", 7 * 4)
    monkeypatch.setattr(_searches._engines, "run", counted)
    bound = np.full(20, np.inf, np.float32)
    bound[11] = 0
    settings = _searches.Search(2.0, None, np.dtype(np.float32), np.dtype(np.int32))
    search = jax.jit(
        lambda tree, x, bound: _searches.nearest(tree, x, bound, jnp.float32(0), None, k=4, search=settings)
    )
    _, rows = search(tree, x, bound)
    assert sizes == [7, 7, 6]
    expected = SciPyTree(points).query(x, k=4)[1]
    expected[11] = 50
    np.testing.assert_array_equal(rows, expected)


def test_many_distances_in_many_dimensions_are_one_product(monkeypatch):
    """On the CPU SciPy searches a few of them; the answers are the same."""
    points, x = RNG.random((300, 20)), RNG.random((8, 20))
    few = KDTree(points).query(x, k=3)
    monkeypatch.setattr(_select, "MANY_DISTANCES", 300 * 8)
    tree = KDTree(points)
    many = tree.query(x, k=3)
    assert tree._scipy_tree is None or tree.engine != "scipy"
    np.testing.assert_allclose(many[0], few[0], rtol=1e-14)
    np.testing.assert_array_equal(many[1], few[1])
