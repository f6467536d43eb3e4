"""Results whose length depends on values: NumPy says what is in them."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxapi
from jaxapi import _manipulation, _searching, _unique, mutable
from jaxapi._core import _lengths
from jaxapi._core._dtypes import x64_for
from jaxapi._core._lengths import capacity, cut
from jaxapi.mutable import _host_way, _indexing

SIZE = 60
COUNTS = (17, 24, 20, 18, 23)  # of one capacity


@pytest.fixture(autouse=True)
def on_device(monkeypatch):
    """Have JAX's programs select, as on a GPU, also small arrays and those in the host's memory."""
    before = _host_way.is_on()
    _host_way.set_on(False)
    monkeypatch.setattr(_indexing, "_SMALL", 0)
    monkeypatch.setattr(_indexing, "_is_on_host", lambda x: isinstance(x, np.ndarray))
    yield
    _host_way.set_on(before)


def test_capacities():
    for largest, smallest_count in ((1 << 12, 1), (1 << 22, 1 << 21)):
        lengths = {capacity(count, 4) for count in range(smallest_count, largest + 1, 97)} - {16}
        octaves = np.log2(largest / max(smallest_count, 16))
        assert len(lengths) <= octaves * (8 if largest > 1 << 20 else 2) + 1
    for row_bytes in (0, 1, 4, 12, 40_000, 2**21, 2**33):
        for count in (*range(1, 1500), 65_537, 2**20, 2**20 + 1, 3 * 2**20, 2**31 + 1):
            length = capacity(count, row_bytes)
            added = (length - count) * row_bytes
            assert 0 <= added <= max(count * row_bytes / (8 if count * row_bytes > 2**22 else 2), 2**22)
            assert count * max(row_bytes, 1) <= 2**22 or 8 * added <= count * row_bytes
            assert capacity(length, row_bytes) == length
            assert count <= capacity(count, row_bytes, most=count) == count


def test_rows_of_many_bytes_hold_little_more_memory_than_they_need(monkeypatch):
    made = []

    def kept(count, *arrays):
        made.extend(arrays)
        return cut(count, *arrays)

    monkeypatch.setattr(_manipulation, "cut", kept)
    with monkeypatch.context() as context:
        context.setattr(_lengths, "_FINE_FROM", 1 << 10)  # bytes, which 21 rows of 100 floats are over
        rows = jax.device_put(np.random.default_rng(0).random((40, 100), np.float32), jax.devices()[0])
        mask = np.arange(40) < 21
        selected = mutable.asarray(rows)[jnp.asarray(mask)]
        np.testing.assert_array_equal(selected, np.asarray(rows)[mask])
        assert len(selected._value_with_room) == 24  # by the number of rows alone
        counts = mask.astype(np.int32)
        np.testing.assert_array_equal(jaxapi.repeat(rows, counts, axis=0), np.asarray(rows)[mask])
    assert [len(array) for array in made] == [22]


@pytest.mark.thorough
@pytest.mark.daily("x32-uint64")
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float64", "complex64"])
def test_nonzero_and_repeat_of_dtypes(dtype, x64):
    host = np.asarray([[0, 1, -0.0, 3], [1, 0, 0, 2]]).astype(dtype)
    if host.dtype.kind in "fc":
        host[1, 1] = np.nan
    x = jaxapi.asarray(host)
    for found, expected in zip(jaxapi.nonzero(x), np.nonzero(host), strict=True):
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == jnp.result_type(int)
    for counts in ([3, 0, 2, 1], np.asarray([0, 0, 0, 0], "int8"), np.asarray([1, 9, 0, 7], "uint64")):
        for axis in (1, -1):
            np.testing.assert_array_equal(
                jaxapi.repeat(x, counts, axis=axis), np.repeat(host, np.asarray(counts, int), axis)
            )
    by_rows = jaxapi.repeat(x, [2, 3], axis=0)
    np.testing.assert_array_equal(by_rows, np.repeat(host, [2, 3], 0))
    assert by_rows.dtype == host.dtype
    flat_counts = np.arange(8)[::-1] % 3
    np.testing.assert_array_equal(jaxapi.repeat(x, flat_counts), np.repeat(host, flat_counts))


def test_empty_results_and_inputs():
    for host in (np.zeros(5, bool), np.zeros((0, 3)), np.zeros((2, 3))):
        for found, expected in zip(jaxapi.nonzero(host), np.nonzero(host), strict=True):
            np.testing.assert_array_equal(found, expected)
    assert jaxapi.repeat(jnp.arange(4), [0, 0, 0, 0]).shape == (0,)
    assert jaxapi.repeat(jnp.zeros((0, 2)), np.zeros(0, int), axis=0).shape == (0, 2)


@pytest.mark.parametrize(
    ("counts", "axis", "error"),
    [
        ([1, -1, 2], 0, ValueError),
        ([1, 2], 0, ValueError),
        ([1, 2, 3], 2, ValueError),
        ([1, 2, 3], None, ValueError),
    ],
)
def test_repeats_that_do_not_fit(counts, axis, error):
    with pytest.raises(error):
        jaxapi.repeat(jnp.zeros((3, 2)), counts, axis=axis)


@pytest.mark.thorough
def test_results_are_bound_to_a_device_as_jaxs_are():
    """An array that no program put on a device goes along with arrays on any."""
    first, second = jax.devices()[:2] if jax.device_count() > 1 else jax.devices() * 2
    for device in (None, first, second):
        x = jax.device_put(np.asarray([0, 3, 0, 4, 3], np.int32), device)
        for found, expected in (
            (jaxapi.nonzero(x)[0], jnp.nonzero(x)[0]),
            (jaxapi.repeat(x, x), jnp.repeat(x, x)),
            (jaxapi.unique_counts(x)[1], jnp.unique_counts(x)[1]),
        ):
            assert found.devices() == expected.devices()
            if jax.device_count() > 1:  # else it says nothing
                assert found.committed == expected.committed
            np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(cut(2, jax.device_put(np.arange(5), first))[0], [0, 1])


WEAK_TYPES = """
import sys
import jax
import jax.numpy as jnp
jax.config.update("jax_num_cpu_devices", int(sys.argv[1]))
import jaxapi

weak = jax.jit(lambda: jnp.full(40, 3.0))()
counts = jnp.arange(40) % 2
for x in (weak, jax.device_put(weak, jax.devices()[0]), jax.device_put(weak.astype("float32"))):
    for found, expected in (
        (jaxapi.repeat(x, counts), jnp.repeat(x, counts)),
        (jaxapi.unique_values(x), jnp.unique_values(x)),
        (jaxapi.unique_counts(x).values, jnp.unique_counts(x).values),
        (jaxapi.unique_all(x).counts, jnp.unique_all(x).counts),
        (jaxapi.nonzero(x)[0], jnp.nonzero(x)[0]),
    ):
        assert found.weak_type == expected.weak_type, (x.weak_type, found, expected)
        assert found.tolist() == expected.tolist()
        assert len(jax.devices()) == 1 or found.committed == expected.committed
        assert (found * jnp.ones(found.shape, "float16")).dtype == (
            expected * jnp.ones(expected.shape, "float16")
        ).dtype
"""


@pytest.mark.thorough
@pytest.mark.parametrize("devices", [1, 8])
def test_weak_types_are_kept(devices):
    """On one device results are cut by DLPack, which knows no weak types; on several, some are."""
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    subprocess.run([sys.executable, "-c", WEAK_TYPES, str(devices)], check=True, env=environment)


@pytest.mark.daily
def test_under_a_mesh_results_lie_on_all_of_it():
    mesh = jax.sharding.Mesh(np.asarray(jax.devices()), ("i",))
    with jax.set_mesh(mesh):
        x = jaxapi.asarray([0, 3, 1, 3])
        for found, expected in (
            (jaxapi.nonzero(x)[0], [1, 2, 3]),
            (jaxapi.unique_values(x), [0, 1, 3]),
            (jaxapi.repeat(x, x), [3, 3, 3, 1, 3, 3, 3]),
        ):
            assert found.tolist() == expected
            assert found.devices() == set(jax.devices())


def wide_ints(program, *inputs):
    """Return the dtypes of integers of as many elements as the largest input has, in a program for them."""
    largest = max(x.size for x in inputs)
    found = set()

    def collect(jaxpr):
        for equation in jaxpr.eqns:
            for output in equation.outvars:
                if output.aval.size >= largest and jnp.issubdtype(output.aval.dtype, jnp.signedinteger):
                    found.add(str(output.aval.dtype))
            for inner in jax.tree.leaves(list(equation.params.values()), is_leaf=is_jaxpr):
                if is_jaxpr(inner):
                    collect(getattr(inner, "jaxpr", inner))

    def is_jaxpr(x):
        return hasattr(x, "eqns") or hasattr(x, "jaxpr")

    with x64_for(*[x.dtype for x in inputs]):
        collect(jax.make_jaxpr(program)(*inputs))
    return found


@pytest.mark.parametrize("size", [2**20, 2**30 + 8])
def test_positions_of_many_elements_are_counted_in_64_bits(size, x64):
    """Programs for so many are looked at, not run: 32 bits do not count an array and a buffer behind it."""
    position_dtype = "int32" if size < 2**30 else "int64"
    mask = jax.ShapeDtypeStruct((size,), np.bool_)
    values = jax.ShapeDtypeStruct((size,), np.float32)
    counts = jax.ShapeDtypeStruct((size,), position_dtype)
    few = jax.ShapeDtypeStruct((7,), np.float32)
    index_dtype = jnp.result_type(int)
    parts = ("values", "indices", "counts")

    def indices(x, counts):
        return _searching._indices_of_nonzero(x, counts, 16, index_dtype)

    def distinct(x):
        in_order = _unique._sorted(x, None, True, False)
        return _unique._taken(in_order, None, x.shape, 16, parts, False, index_dtype)

    def written(x, mask, new):
        return _indexing._written_mask(x, mask, new, 0, True)

    programs = (indices, values, counts), (distinct, values), (written, values, mask, few)
    for program, *inputs in programs:
        assert wide_ints(program, *inputs) == {position_dtype}, program.__name__
    for found in jax.eval_shape(distinct, values)[1:]:
        assert found.dtype == index_dtype


@pytest.mark.parametrize("is_on_host", [False, True])
def test_positions_in_many_elements_are_numpys(is_on_host, x64):
    _host_way.set_on(is_on_host)
    dims = (2**20, 2**21)
    places = np.asarray([2**19, 5]), np.asarray([3, 2**20])
    flat = np.ravel_multi_index(places, dims)
    np.testing.assert_array_equal(jaxapi.numpy.ravel_multi_index(places, dims), flat)
    for order in "CF":
        for found, expected in zip(
            jaxapi.numpy.unravel_index(flat, dims, order), np.unravel_index(flat, dims, order), strict=True
        ):
            np.testing.assert_array_equal(found, expected)


def test_transformations_are_jaxs():
    x = jnp.asarray([2.0, 3.0, 5.0])
    counts = jnp.asarray([2, 0, 3])
    gradient = jax.grad(lambda x: (jaxapi.repeat(x, counts) * jnp.arange(5.0)).sum())(x)
    np.testing.assert_array_equal(gradient, [0 + 1, 0, 2 + 3 + 4])
    rows = jax.vmap(lambda row: jaxapi.repeat(row, counts))(jnp.stack([x, -x]))
    np.testing.assert_array_equal(rows, np.repeat(np.stack([x, -x]), counts, axis=1))
    found = jax.jit(lambda x: jaxapi.nonzero(x, size=4, fill_value=9))(counts)
    np.testing.assert_array_equal(found[0], [0, 2, 9, 9])
    mask = np.asarray([True, False, True])
    gradient = mutable.grad(lambda x: mutable.sum(x[mask] ** 2))(mutable.asarray(x))
    np.testing.assert_array_equal(gradient, [4.0, 0, 10])
    with pytest.raises(jax.errors.ConcretizationTypeError):
        jax.jit(jaxapi.nonzero)(counts)


def test_what_fills_a_buffer_up_is_no_nan():
    with jax.debug_nans(True):
        assert jaxapi.unique_values(jnp.asarray([2.0, 1.0, 2.0])).tolist() == [1, 2]
        assert jaxapi.repeat(jnp.asarray([1, 2, 3]), jnp.asarray([1, 0, 2])).tolist() == [1, 3, 3]
        assert jaxapi.nonzero(jnp.asarray([0, 1, 2]))[0].tolist() == [1, 2]
