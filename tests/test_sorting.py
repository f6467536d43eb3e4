"""Sorting: on the CPU many floats are sorted by integers in their order, and nothing is another for it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxapi as xp
from jaxapi import _sorting
from jaxapi._core._order import float_keys

SHAPE = (4, 12)


@pytest.fixture(autouse=True)
def of_any_size(monkeypatch):
    monkeypatch.setattr(_sorting, "_LARGE", 1)


def inputs_of(dtype):
    rng = np.random.default_rng(0)
    edges = np.asarray([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -1.5, 1e-40, -1e-40, 1e-45], dtype)
    yield rng.choice(edges, SHAPE)
    yield rng.choice(edges[3:7], SHAPE)
    yield rng.normal(size=SHAPE).astype(dtype)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_in_numpys_order(dtype, descending, x64):
    """Of NaN, both zeros in the order that they had, and numbers that XLA takes for 0, in jit."""
    for axis in (0, -1):
        sort = jax.jit(lambda x, axis=axis: xp.sort(x, axis=axis, descending=descending))
        argsort = jax.jit(lambda x, axis=axis: xp.argsort(x, axis=axis, descending=descending))
        for host in inputs_of(dtype):
            x = xp.asarray(host)
            expected = np.sort(host, axis=axis, kind="stable")
            expected = np.flip(expected, axis) if descending else expected
            found = np.asarray(sort(x))
            assert found.dtype == dtype
            np.testing.assert_array_equal(found, expected)
            np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))
            positions = np.asarray(argsort(x))
            assert positions.dtype == jnp.result_type(int)
            np.testing.assert_array_equal(np.take_along_axis(host, positions, axis), expected)
            if not descending:
                np.testing.assert_array_equal(positions, np.argsort(host, axis=axis, kind="stable"))


@pytest.mark.thorough
def test_transformations():
    x = np.random.default_rng(1).normal(size=SHAPE).astype("float32")
    weights = jnp.arange(12.0)
    gradient = jax.grad(lambda x: (xp.sort(x) * weights).sum())(x)
    np.testing.assert_array_equal(gradient, np.argsort(np.argsort(x)))
    rows = jax.vmap(lambda row: xp.sort(row, descending=True))(x)
    np.testing.assert_array_equal(rows, np.sort(x)[:, ::-1])
    tangents = jax.jvp(xp.sort, [x], [x])[1]
    np.testing.assert_array_equal(tangents, np.sort(x))
    (n,) = jax.export.symbolic_shape("n")
    exported = jax.export.export(jax.jit(xp.sort))(jax.ShapeDtypeStruct((n, 12), np.float32))
    np.testing.assert_array_equal(exported.call(x), np.sort(x))
    mesh = jax.sharding.Mesh(np.asarray(jax.devices()[:4]), ("i",))
    spec = jax.sharding.PartitionSpec("i") if jax.device_count() >= 4 else jax.sharding.PartitionSpec()
    shards = jax.shard_map(xp.argsort, mesh=mesh, in_specs=spec, out_specs=spec)
    np.testing.assert_array_equal(jax.jit(shards)(x), np.argsort(x))


@pytest.mark.parametrize("axis", [2, -3])
def test_axes_that_are_not_there(axis):
    for function in (xp.sort, xp.argsort):
        with pytest.raises(ValueError, match="axis"):
            function(np.zeros(SHAPE, np.float32), axis=axis)
    assert xp.sort(np.ones((2, 3), np.float32), axis=None).shape == (6,)


def test_dtype_of_positions():
    for x in (jnp.asarray([3.0, 1.0, 2.0]), jnp.asarray([3, 1, 2])):
        found = xp.argsort(x, dtype="int8")
        assert found.dtype == "int8"
        assert found.tolist() == [1, 2, 0]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("is_wide", [False, True])
def test_keys_of_floats_are_in_their_order(dtype, is_wide):
    values = np.concatenate([np.ravel(x) for x in inputs_of(dtype)])
    with jax.enable_x64(True):
        given = jnp.asarray(values, dtype)
    with jax.enable_x64(is_wide):
        keys = np.asarray(jax.jit(float_keys)(given))
    assert keys.dtype.itemsize == values.dtype.itemsize
    _, places = np.unique(values, return_inverse=True)
    _, places_of_keys = np.unique(keys, return_inverse=True)
    np.testing.assert_array_equal(places_of_keys, places)
