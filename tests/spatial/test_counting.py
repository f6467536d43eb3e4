"""count_neighbors against SciPy, on every engine."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import KDTree as SciPyTree

from jaxapi.spatial import KDTree

SEED = np.random.default_rng(5)
A, B = SEED.random((50, 3)), SEED.random((40, 3))
W, V = SEED.random(50), SEED.random(40)
RADII = np.array([0.0, 0.1, 0.3, 0.3, 0.7, 3.0])


@pytest.mark.thorough
@pytest.mark.daily("natural", "cuda-2.0-None")
@pytest.mark.parametrize(("p", "boxsize"), [(2.0, None), (np.inf, 1.0)])
def test_same_as_scipy(radius_kernel, p, boxsize):
    tree, other = KDTree(A, boxsize=boxsize), KDTree(B)
    oracle, others = SciPyTree(A, boxsize=boxsize), SciPyTree(B)
    expected = oracle.count_neighbors(others, RADII, p=p)
    assert tree.count_neighbors(other, RADII, p=p).tolist() == expected.tolist()
    apart = oracle.count_neighbors(others, RADII, p=p, cumulative=False)
    assert tree.count_neighbors(other, RADII, p=p, cumulative=False).tolist() == apart.tolist()
    wide = np.repeat([3.0, 4.0], [4, 3])  # nodes in one bin as a whole
    assert tree.count_neighbors(other, wide, p=p).tolist() == [2000] * 7
    for weights in ((W, V), (None, V))[: 1 if radius_kernel == "cuda" else 2]:
        expected = oracle.count_neighbors(others, RADII, p=p, weights=weights)
        found = tree.count_neighbors(other, RADII, p=p, weights=weights)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        assert found.dtype == np.float64


@pytest.mark.daily
def test_one_tree(radius_engine):
    tree, oracle = KDTree(A), SciPyTree(A)
    expected = oracle.count_neighbors(oracle, RADII)
    assert tree.count_neighbors(tree, RADII).tolist() == expected.tolist()
    expected = oracle.count_neighbors(oracle, RADII, weights=W)
    np.testing.assert_allclose(tree.count_neighbors(tree, RADII, weights=W), expected, rtol=1e-12)


def test_results():
    tree = KDTree([[0.0], [1.0], [3.0]])
    assert type(tree.count_neighbors(tree, 1.0)) is int
    assert type(tree.count_neighbors(tree, 1.0, weights=[1.0, 1.0, 1.0])) is float
    assert tree.count_neighbors(tree, [0, 1, 1, 2], cumulative=False).tolist() == [3, 2, 0, 2]
    assert tree.count_neighbors(tree, 1, cumulative=False) == 5
    assert tree.count_neighbors(tree, [2.0, 0.0]).tolist() == [7, 3]
    assert tree.count_neighbors(tree, 1.0, weights=(None, None)) == 5
    assert tree.count_neighbors(tree, []).shape == (0,)
    assert tree.count_neighbors(tree, []).dtype == np.int64
    for radius in (-1.0, np.nan, [-1.0, 1.0]):
        with pytest.raises(ValueError, match="r must be at least 0, got"):
            tree.count_neighbors(tree, radius)
    assert tree.count_neighbors(KDTree(np.zeros((0, 1))), [1.0]).tolist() == [0]


@given(st.lists(st.integers(-3, 3), max_size=12), st.lists(st.integers(-3, 3), max_size=12))
def test_integer_lines_exactly(first, second):
    a, b = np.array(first, float).reshape(-1, 1), np.array(second, float).reshape(-1, 1)
    distances = np.abs(a - b.T)
    radii = np.arange(8.0)
    found = KDTree(a).count_neighbors(KDTree(b), radii)
    assert found.tolist() == [int((distances <= r).sum()) for r in radii]


@pytest.mark.daily
def test_more_radii_than_one_kernel_takes(radius_engine):
    radii = np.linspace(0, 1, 40)
    expected = SciPyTree(A).count_neighbors(SciPyTree(B), radii)
    assert KDTree(A).count_neighbors(KDTree(B), radii).tolist() == expected.tolist()


@pytest.mark.daily
def test_inside_jit():
    count = jax.jit(lambda a, b, r: KDTree(a, boxsize=1.0).count_neighbors(KDTree(b), r))
    radii = np.append(-1, RADII).astype(np.float32)
    found = count(jnp.asarray(A, jnp.float32), jnp.asarray(B, jnp.float32), radii)
    a, b = (SciPyTree(points.astype(np.float32), boxsize=1.0) for points in (A, B))
    assert found.tolist() == [0, *a.count_neighbors(b, radii[1:].astype(float))]
    assert found.dtype == jnp.arange(1).dtype


def test_counts_that_may_not_fit_are_refused_under_jit():
    big = jax.ShapeDtypeStruct((50_000, 1), np.float32)
    with jax.enable_x64(False), pytest.raises(OverflowError, match="turn x64 mode on"):
        jax.eval_shape(lambda a: KDTree(a).count_neighbors(KDTree(a), 1.0), big)


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda t, o: t.count_neighbors(o, [[1.0]]), ValueError, "single value or a one-dimensional"),
        (lambda t, o: t.count_neighbors(o, [1.0, 0.0], cumulative=False), ValueError, "non-decreasing"),
        (lambda t, o: t.count_neighbors(o, 1.0, weights=W), ValueError, "Two different trees"),
        (lambda t, o: t.count_neighbors(o, 1.0, weights=(V, W)), ValueError, "Number of weights"),
        (lambda t, o: t.count_neighbors(o, 1.0, weights=(W, V, V)), ValueError, "a tuple of two"),
        (lambda t, o: t.count_neighbors(KDTree([[0.0]]), 1.0), ValueError, "different dimensionality"),
        (lambda t, o: t.count_neighbors(B, 1.0), TypeError, "incorrect type"),
    ],
)
def test_errors(call, kind, text):
    with pytest.raises(kind, match=text):
        call(KDTree(A), KDTree(B))
