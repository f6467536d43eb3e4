"""Distances whose sums are exact have one rounding, of the root or the quotient, in every program.

Coordinates are whole numbers, and NumPy's own root and quotient of the sums is what is expected.
"""

import jax
import numpy as np
import pytest

import jaxapi as xp
from jaxapi.spatial import KDTree, distance

DTYPES = [np.float32, np.float64]


@pytest.fixture(params=DTYPES, ids=lambda dtype: dtype.__name__)
def dtype(request):
    with jax.enable_x64(request.param == np.float64):
        yield request.param


def whole_numbers(shape, dtype, seed=0):
    return np.random.default_rng(seed).integers(-100, 100, shape).astype(dtype)


@pytest.mark.thorough
def test_euclidean_roots_in_programs_that_go_on(dtype):
    """XLA may make an approximate reciprocal root of ``1 / d``, and the sum of squares of ``d * d``."""
    a = whole_numbers((40, 6), dtype)
    b = whole_numbers((50, 6), dtype, seed=1)
    expected = np.sqrt(np.sum((a[:, np.newaxis] - b) ** 2, axis=-1))

    def programs(a, b, d, divide):
        return [d(a, b), d(a + 1, b + 1) * d(a + 1, b + 1), divide(1, d(a - 1, b - 1))]

    of_vectors = jax.jit(lambda a, b: programs(a[:, np.newaxis], b, distance.euclidean, xp.divide))
    of_matrices = jax.jit(lambda a, b: programs(a, b, distance.cdist, xp.divide))
    by_numpy = programs(a, b, lambda a, b: expected, np.divide)
    for function in (of_vectors, of_matrices):
        for actual, wanted in zip(function(a, b), by_numpy, strict=True):
            np.testing.assert_array_equal(actual, wanted)
    np.testing.assert_array_equal(distance.cdist(a, b), expected)


@pytest.mark.usefixtures("by_either_way")
@pytest.mark.thorough
@pytest.mark.daily("float64-49")
@pytest.mark.parametrize("length", [41, 49])
def test_hamming_of_rows_that_differ_everywhere_is_1(dtype, length):
    a = np.zeros((3, length), dtype)
    b = np.ones((4, length), dtype)
    for matrix in (
        distance.cdist(a, b, "hamming"),
        jax.jit(lambda a, b: distance.cdist(a, b, "hamming"))(a, b),
    ):
        np.testing.assert_array_equal(matrix, np.ones((3, 4), dtype))
    assert distance.hamming(a[0], b[0]) == 1
    b[:, : length // 3] = 0
    differing = length - length // 3
    np.testing.assert_array_equal(
        distance.cdist(a, b, "hamming"), np.full((3, 4), dtype(differing) / dtype(length))
    )


QUOTIENTS = {
    "hamming": lambda tt, tf, ft, ff: (tf + ft, tt + tf + ft + ff),
    "jaccard": lambda tt, tf, ft, ff: (tf + ft, tt + tf + ft),
    "dice": lambda tt, tf, ft, ff: (tf + ft, 2 * tt + tf + ft),
    "rogerstanimoto": lambda tt, tf, ft, ff: (2 * (tf + ft), tt + ff + 2 * (tf + ft)),
    "russellrao": lambda tt, tf, ft, ff: (tf + ft + ff, tt + tf + ft + ff),
    "sokalsneath": lambda tt, tf, ft, ff: (2 * (tf + ft), tt + 2 * (tf + ft)),
    "yule": lambda tt, tf, ft, ff: (2 * tf * ft, tt * ff + tf * ft),
    "braycurtis": lambda tt, tf, ft, ff: (tf + ft, 2 * tt + tf + ft),
}


@pytest.mark.daily
@pytest.mark.parametrize("metric", QUOTIENTS)
def test_quotients_of_counts(metric, dtype):
    """One divided by the distance, too, in the same program."""
    a, b = np.random.default_rng(2).uniform(size=(2, 30, 41)) < 0.5
    a[0] = b[0]
    both = a[:, np.newaxis] & b
    only_a = a[:, np.newaxis] & ~b
    only_b = ~a[:, np.newaxis] & b
    neither = ~a[:, np.newaxis] & ~b
    a, b = (x if metric in ("dice", "yule") else x.astype(dtype) for x in (a, b))
    actual, inverse = jax.jit(
        lambda a, b: (distance.cdist(a, b, metric), xp.divide(3, distance.cdist(a, b, metric)))
    )(a, b)
    assert actual.dtype == dtype or metric in ("dice", "yule")
    counts = (np.sum(part, axis=-1).astype(actual.dtype) for part in (both, only_a, only_b, neither))
    over, under = QUOTIENTS[metric](*counts)
    np.testing.assert_array_equal(actual, over / under)
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(inverse, 3 / np.asarray(actual))


@pytest.mark.thorough("lax")
@pytest.mark.parametrize("engine", [None, "lax"])
def test_distances_of_trees(engine, dtype):
    points = whole_numbers((200, 3), dtype)
    queries = whole_numbers((60, 3), dtype, seed=1)
    squares = np.sum((queries[:, np.newaxis] - points) ** 2, axis=-1)
    roots = np.sort(np.sqrt(squares), axis=1)[:, :5]

    @jax.jit
    def program(points, queries):
        d, _ = KDTree(points, engine=engine).query(queries, k=5)
        moved, _ = KDTree(points + 1, engine=engine).query(queries + 1, k=5)
        return d, moved * moved

    d, products = program(points, queries)
    np.testing.assert_array_equal(d, roots)
    np.testing.assert_array_equal(products, roots * roots)
    d, _ = KDTree(xp.asarray(points), engine=engine).query(xp.asarray(queries), k=5)
    np.testing.assert_array_equal(d, roots)
