"""Searches: the first extreme among NaN in whatever order XLA reduces, and membership by sorting."""

import itertools
import operator

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jaxapi as xp
from jaxapi._searching import _earlier

VALUES = np.array([0.0, -0.0, 1.0, -np.inf, np.inf, np.nan, -np.nan], "float32")


@pytest.mark.parametrize(("name", "compare"), [("argmax", lax.gt), ("argmin", lax.lt)])
def test_pairs_are_in_order(name, compare):
    """What XLA reduces by is an order: of any three pairs the same comes first, however they are taken."""
    find = jax.jit(lambda left, right: _earlier(compare, left, right))
    rng = np.random.default_rng(0)
    for values in itertools.product(VALUES, repeat=3):
        pairs = [(x, np.int32(i)) for x, i in zip(values, rng.permutation(3), strict=True)]
        first = getattr(np, name)([x for x, _ in sorted(pairs, key=operator.itemgetter(1))])
        for a, b, c in itertools.permutations(pairs):
            assert find(find(a, b), c)[1] == find(a, find(b, c))[1] == first


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "int64", "float16", "float32", "float64"])
@pytest.mark.parametrize("function", ["argmax", "argmin"])
def test_the_first_extreme(x64, function, dtype):
    rng = np.random.default_rng(1)
    x = rng.integers(0, 3, (40, 5)).astype(dtype)
    if x.dtype.kind == "f":
        x = np.where(rng.random(x.shape) < 0.6, rng.choice(VALUES, x.shape), x).astype(dtype)
        x[:3] = [[-np.inf] * 5, [np.inf] * 5, [np.nan] * 5]
    for axis, keepdims in ((None, False), (0, True), (-1, False)):
        found = getattr(xp, function)(x, axis=axis, keepdims=keepdims)
        assert found.dtype == jnp.result_type(int)
        np.testing.assert_array_equal(found, getattr(np, function)(x, axis=axis, keepdims=keepdims))


@pytest.mark.parametrize(
    ("dtype", "size"),
    [
        *itertools.product(["int32", "int64", "uint8", "float32", "float64", "complex64"], [32, 33]),
        ("float32", 1),
        ("float32", 300),
    ],
)
def test_isin(x64, dtype, size):
    """By all pairs up to 32, else by sorting."""
    rng = np.random.default_rng(2)
    x, among = (rng.integers(0, 60, n).astype(dtype) for n in (200, size))
    if np.dtype(dtype).kind == "f":
        x[:4], among[::7] = [np.nan, np.inf, -np.inf, -0.0], np.nan
        among[-1:] = np.inf
    for invert in (False, True) if size == 33 else (False,):
        np.testing.assert_array_equal(xp.isin(x, among, invert=invert), np.isin(x, among, invert=invert))


def test_isin_of_many_in_many_takes_no_pairs():
    x = jnp.arange(200_000)
    memory = jax.jit(xp.isin).lower(x, x).compile().memory_analysis()
    assert memory.temp_size_in_bytes < 100 * x.nbytes  # a bit for each pair would be 6,250
