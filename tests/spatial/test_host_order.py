"""The order in which SciPy searches many points changes nothing but the time it takes."""

import numpy as np
import pytest

from jaxapi.spatial import KDTree
from jaxapi.spatial._host_order import spatial_order

MANY = 5000


def queries(m, dtype):
    """Return points on whole numbers, where ties are frequent, the second axis always the same."""
    x = (
        np.random.default_rng(m)
        .integers(-9 if np.dtype(dtype).kind in "if" else 0, 9, (MANY, m))
        .astype(dtype)
    )
    x[:, 1:2] = 3
    return x


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.float16, np.float32, np.float64, bool])
@pytest.mark.parametrize("m", [1, 2, 3, 5])
def test_order_is_a_permutation(m, dtype):
    x = queries(m, dtype)
    order = spatial_order(x)
    assert sorted(order.tolist()) == list(range(MANY))
    first = x[order, 0].astype(float)
    if m <= 2:  # a grid as fine as this tells the whole numbers apart
        assert (np.diff(first) >= 0).all()


def test_points_close_to_each_other_follow_each_other():
    x = np.random.default_rng(0).random((MANY, 3))
    steps = [np.linalg.norm(np.diff(each, axis=0), axis=1).mean() for each in (x, x[spatial_order(x)])]
    assert steps[1] < steps[0] / 4


def test_no_order():
    """There is none of few points, and of those whose extent is no number."""
    x = np.zeros((MANY, 3))
    assert spatial_order(x).tolist() == list(range(MANY))
    assert spatial_order(x[:100]) is None
    for bad in (np.nan, np.inf, -np.finfo(float).max):
        x[0], x[1] = bad, np.finfo(float).max
        assert spatial_order(x) is None


@pytest.mark.parametrize("workers", [1, -1])
@pytest.mark.parametrize(("m", "boxsize"), [(1, None), (3, None), (3, [7, 0, 9])])
@pytest.mark.parametrize("k", [1, [4, 2]])
def test_results_of_many_queries(m, boxsize, k, workers):
    """All at once they are what they are a few at a time."""
    points = queries(m, np.uint8)[:300] % 7
    x = queries(m, np.float32)
    tree = KDTree(points, boxsize=boxsize)
    few = [tree.query(part, k=k) for part in np.split(x, 5)]
    assert len(x) // 5 < 2048 < len(x)
    for found, expected in zip(tree.query(x, k=k, workers=workers), zip(*few, strict=True), strict=True):
        np.testing.assert_array_equal(found, np.concatenate(expected))


def test_many_queries_that_are_not_finite():
    x = np.zeros((MANY, 2))
    x[7] = np.nan
    with pytest.raises(ValueError, match="'x' must be finite"):
        KDTree(np.zeros((5, 2))).query(x)
