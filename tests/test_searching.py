"""Searches: the first extreme among NaN in whatever order XLA reduces, and membership by sorting."""

import itertools
import operator

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jax import lax
from small_arrays import COMPLEX, FLOATS, INTS

import jaxapi as xp
from jaxapi._core._order import insertion_points
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


REAL_EDGES = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, -1e-45, 5e-324, 1.0, -1.0, 1.5, 3e38]


def edges_of(dtype):
    """Return numbers of a dtype that compilers compare wrongly, or that are easily missed."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.asarray([False, True])
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        edges = [limits.min, limits.min + 1, limits.max - 1, limits.max, 0, 1, 2]
        return np.asarray(edges, dtype)
    with np.errstate(over="ignore"):
        if dtype.kind == "c":
            edges = [complex(real, imag) for real in REAL_EDGES[:8] for imag in REAL_EDGES[:8]]
            return np.asarray(edges, dtype)
        return np.asarray(REAL_EDGES, dtype)


@st.composite
def searches(draw, dtypes):
    """Draw 13 numbers, many of them equal, and 6 to look up, of a dtype."""
    edges = edges_of(draw(st.sampled_from(dtypes)))
    drawn = [draw(st.lists(st.integers(0, len(edges) - 1), min_size=n, max_size=n)) for n in (13, 6)]
    return edges[drawn[0]], edges[drawn[1]].reshape(2, 3)


DTYPES = ["bool", *INTS, "float16", *FLOATS, *COMPLEX]
at_once = jax.jit(insertion_points, static_argnums=2)


@pytest.mark.thorough
@given(search=searches(DTYPES), side=st.sampled_from(["left", "right"]))
def test_searchsorted_in_numpys_order(search, side):
    """Ties, NaN, both zeros and the least numbers; looked up in one kernel, as on a GPU, and in steps."""
    x, values = search
    order = np.argsort(x, kind="stable")
    expected = np.searchsorted(x[order], values, side=side)
    found = xp.searchsorted(x[order], values, side=side)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(xp.searchsorted(x, values, side=side, sorter=order), expected)
    with pytest.MonkeyPatch.context() as patch, jax.enable_x64(True):
        patch.setattr(lax, "platform_dependent", lambda *operands, cpu, default: default(*operands))
        np.testing.assert_array_equal(at_once(x[order], values, side), expected)


@given(search=searches(["bool", *INTS, "float16", *FLOATS]), invert=st.booleans(), few=st.booleans())
def test_isin_of_edges(search, invert, few):
    among, x = search
    among = among if few else np.tile(among, 3)
    np.testing.assert_array_equal(xp.isin(x, among, invert=invert), np.isin(x, among, invert=invert))


@pytest.mark.parametrize("n", [0, 1, 2, 7, 8, 9, 100])
def test_searchsorted_of_every_length(n):
    x = np.arange(n, dtype=np.float32)
    values = np.arange(-1, n + 1, dtype=np.float32) + np.float32(0.5)
    for side in ("left", "right"):
        for looked_up in (values, values - np.float32(0.5), values[:0], values[:1], values[0]):
            found = xp.searchsorted(x, looked_up, side=side)
            np.testing.assert_array_equal(found, np.searchsorted(x, looked_up, side=side))


@pytest.mark.thorough
def test_searchsorted_under_transformations():
    rows = np.sort(np.random.default_rng(3).random((3, 40), np.float32))
    values = np.random.default_rng(4).random((3, 5), np.float32)
    expected = [np.searchsorted(row, wanted) for row, wanted in zip(rows, values, strict=True)]
    np.testing.assert_array_equal(jax.vmap(xp.searchsorted)(rows, values), expected)
    over_rows = jax.vmap(xp.searchsorted, in_axes=(0, None))(rows, values[0])
    np.testing.assert_array_equal(over_rows, [np.searchsorted(row, values[0]) for row in rows])
    gradient = jax.grad(lambda v: (xp.searchsorted(rows[0], v) * v).sum())(values[0])
    np.testing.assert_array_equal(gradient, expected[0])
    (open_length,) = jax.export.symbolic_shape("n")
    shapes = (jax.ShapeDtypeStruct((40,), np.float32), jax.ShapeDtypeStruct((open_length,), np.float32))
    exported = jax.export.export(jax.jit(xp.searchsorted))(*shapes)
    np.testing.assert_array_equal(exported.call(rows[0], values[0]), expected[0])


def test_sorters_that_are_none():
    with pytest.raises(TypeError, match="integers"):
        xp.searchsorted(jnp.arange(3), 1, sorter=jnp.asarray([0.0, 1, 2]))
