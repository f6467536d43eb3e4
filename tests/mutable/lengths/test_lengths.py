"""Arrays with room: NumPy says what counts, and the rest does not matter."""

import operator
import sys
import threading
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from comparisons import assert_mutable
from compilations import no_compilation
from hypothesis import given, settings
from hypothesis import strategies as st
from rooms import NAMESPACES, has_room

import jaxapi.numpy
from jaxapi import mutable
from jaxapi._core import _lengths
from jaxapi.mutable._batches import is_recording

LENGTHS = 70, 66, 81, 93  # of one capacity
DTYPES = "float32", "int32", "uint8", "bool", "complex64", "float16"


def data_of(count, dtype="float32", columns=0):
    rng = np.random.default_rng(count)
    shape = (count, columns) if columns else (count,)
    numbers = rng.normal(size=shape) * 5
    if dtype == "complex64":
        numbers = numbers + 1j * rng.normal(size=shape)
    if dtype == "uint8":
        numbers = abs(numbers)
    return numbers.astype(dtype)


REDUCTIONS = ["all", "any", "argmax", "argmin", "count_nonzero", "max", "mean", "min", "prod"]
REDUCTIONS += ["std", "sum", "var"]


@pytest.mark.thorough
@pytest.mark.daily("poisoned-float32-mutable", "poisoned-int32-numpy")
@NAMESPACES
@pytest.mark.parametrize("dtype", DTYPES)
def test_reductions(xp, dtype):
    count = LENGTHS[0]
    for columns in (0, 3):
        host = data_of(count, dtype, columns)
        if dtype == "float32" and columns:
            host[5, 1] = np.nan
        x = xp.asarray(host)
        assert has_room(x)
        for name in REDUCTIONS:
            if name == "prod":
                host_of_name, x_of_name = host[:, ...] != 0, xp.asarray(host != 0)
            else:
                host_of_name, x_of_name = host, x
            for axis in (None, 0, -1) if dtype == "float32" else (0,):
                for keepdims in (False, True) if axis == 0 else (False,):
                    check_reduction(xp, name, host_of_name, x_of_name, axis=axis, keepdims=keepdims)


@pytest.mark.daily
@pytest.mark.parametrize("count", [70, 95])  # there is room for 96
def test_quantiles_along_each_axis(count):
    host = data_of(count, columns=3)
    host[3, 1] = np.nan
    x = jaxapi.numpy.asarray(host)
    assert has_room(x)
    assert_mutable(jaxapi.numpy.nanquantile(x, 0.3, axis=0), np.nanquantile(host, 0.3, axis=0))
    assert_mutable(jaxapi.numpy.median(x, axis=1), np.median(host, axis=1))


def check_reduction(xp, name, host, x, **options):
    """Compare with NumPy, and in dtype and errors with the exact array, of which no program is compiled."""

    def of_exact(value):
        made = getattr(xp, name)(xp.asarray(value), **options)
        is_scalar.append(made._is_scalar)
        return made._value

    is_scalar = []
    try:
        exact = jax.eval_shape(of_exact, jnp.asarray(host))
    except TypeError as error:
        with pytest.raises(TypeError, match=str(error)[:20]):
            getattr(xp, name)(x, **options)
        return
    found = getattr(xp, name)(x, **options)
    assert_mutable(found, getattr(np, name)(host, **options), dtype=exact.dtype)
    assert [found._is_scalar] == is_scalar


@pytest.mark.thorough
@pytest.mark.daily("poisoned-mutable")
@NAMESPACES
def test_norms(xp):
    for columns in (0, 3):
        host = data_of(70, columns=columns)
        x = xp.asarray(host)
        names = ["vector_norm"] if xp is mutable else ["vector_norm", "norm"]
        for name in names:
            found_by, expected_by = getattr(xp.linalg, name), getattr(np.linalg, name)
            for options in (
                {},
                {"axis": 0},
                {"axis": -1, "keepdims": True},
                {"axis": 0, "ord": 1},
                {"axis": 0, "ord": np.inf},
                {"axis": 0, "ord": -np.inf},
                {"axis": 0, "ord": -1},
                {"axis": 0, "ord": 0},
                {"ord": 1},
                {"ord": np.inf},
                {"ord": -1},
            ):
                assert_mutable(found_by(x, **options), expected_by(host, **options), dtype=np.float32)
        if xp is jaxapi.numpy:
            for order in (None, 2, "fro", "nuc", -2):
                if columns:
                    assert_mutable(xp.linalg.norm(x, order), np.linalg.norm(host, order))
    assert has_room(xp.linalg.vector_norm(x, axis=1))


@NAMESPACES
def test_divisors(xp):
    host = data_of(70, columns=3)
    x = xp.asarray(host)
    for correction in (1, 16, 70, 80):
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of no degree of freedom
            expected = np.var(host, axis=0, ddof=correction)
        found = np.asarray(xp.var(x, axis=0, **{"correction" if xp is mutable else "ddof": correction}))
        finite = np.isfinite(expected)
        np.testing.assert_allclose(found[finite], expected[finite], rtol=1e-5)
        assert not np.isfinite(found[~finite]).any()
    equal = np.full((70, 3), 0.1, np.float32)
    assert (np.asarray(xp.std(xp.asarray(equal), axis=0)) < 1e-7).all()
    halves = np.full((70, 40), 3e3, np.float16)  # whose sum, and number, float16 does not hold
    assert_mutable(xp.mean(xp.asarray(halves)), np.float16(3e3), dtype=np.float16)


@NAMESPACES
def test_arrays_without_elements(xp):
    """They are exact: a function of their elements would look for the first of none."""
    host = data_of(70)[:, None] + np.zeros((1, 0), np.float32)
    x = xp.asarray(data_of(70))[:, None] + xp.zeros((1, 0), dtype=np.float32)
    assert not has_room(x)
    for name in ("unique_values", "sum", "all", "sort", "isnan"):
        assert_mutable(getattr(xp, name)(x), getattr(np, name)(host))
    for name in ("unique_all", "unique_counts", "unique_inverse", "nonzero"):
        for found, expected in zip(getattr(xp, name)(x), getattr(np, name)(host), strict=True):
            assert_mutable(found, expected)
    for name in ("max", "min", "argmax", "argmin"):
        assert_mutable(getattr(xp, name)(x, axis=0), getattr(np, name)(host, axis=0))
        with pytest.raises(ValueError, match=r"empty|zero-size"):
            getattr(xp, name)(x)
    assert_mutable(x[xp.asarray(data_of(70) > 0)], host[data_of(70) > 0])


def test_means_of_complex_infinities():
    for infinity in (complex(-np.inf, -np.inf), complex(np.inf, 0), complex(3, np.inf)):
        host = data_of(70, "complex64")
        host[5] = infinity
        with np.errstate(invalid="ignore"):
            expected = np.mean(host)
        assert_mutable(jaxapi.numpy.mean(jaxapi.numpy.asarray(host)), expected, dtype=np.complex64)


@pytest.mark.thorough
@pytest.mark.daily("poisoned-numpy")
@NAMESPACES
def test_functions_of_rows(xp):
    for dtype in DTYPES:
        for columns in (0, 3):
            host = data_of(70, dtype, columns)
            if dtype == "float32":
                host[3] = np.nan
                host[4] = np.inf
            x = xp.asarray(host)
            if dtype != "complex64" or xp is jaxapi.numpy:
                ordered = xp.sort(x, axis=0)
                assert has_room(ordered)
                assert_mutable(ordered, np.sort(host, axis=0), dtype=host.dtype)
                assert_mutable(xp.argsort(x, axis=0), np.argsort(host, axis=0, kind="stable"))
            if dtype not in ("float16", "complex64"):
                sums = xp.cumulative_sum(x, axis=0)
                assert has_room(sums)
                assert_mutable(sums, np.cumulative_sum(host, axis=0))
            assert_mutable(xp.zeros_like(x), np.zeros_like(host), dtype=host.dtype)
    if xp is jaxapi.numpy:
        for kind in (None, "quicksort", "heapsort", "mergesort", "stable"):
            assert has_room(xp.sort(x, kind=kind))
        for name in ("sort", "argsort"):
            with pytest.raises(ValueError, match="kind"):
                getattr(xp, name)(x, kind="fast")
    ordered = np.sort(data_of(70))
    looked_up = data_of(81)
    for side in ("left", "right"):
        for values in (looked_up, ordered, np.float32([np.nan, np.inf, -np.inf])):
            found = xp.searchsorted(xp.asarray(ordered), xp.asarray(values), side=side)
            assert_mutable(found, np.searchsorted(ordered, values, side=side))


@pytest.mark.thorough
@pytest.mark.daily("poisoned-mutable")
@NAMESPACES
def test_selecting(xp):
    host, table, groups = data_of(70), data_of(70, columns=3), data_of(70, "int32") % 9
    x, rows, keys = map(xp.asarray, (host, table, groups))
    exact = xp.asarray(jnp.asarray(host))
    for mask in (host > 0, host > 99, np.arange(70) < 2, np.ones(70, bool)):
        for chosen in (xp.asarray(mask), xp.asarray(jnp.asarray(mask)), jnp.asarray(mask), mask):
            assert_mutable(x[chosen], host[mask])
            assert_mutable(exact[chosen], host[mask])
            assert_mutable(rows[chosen], table[mask])
        assert_mutable(xp.nonzero(xp.asarray(mask))[0], np.nonzero(mask)[0])
    assert has_room(x[xp.asarray(host > 0)])
    assert_mutable(rows[rows > 0], table[table > 0])
    for found, expected in zip(xp.nonzero(rows > 0), np.nonzero(table > 0), strict=True):
        assert_mutable(found, expected)
    for values, of_numpy in ((keys, groups), (rows, table), (x, host)):
        for name in ("unique_all", "unique_counts", "unique_inverse"):
            parts = zip(getattr(xp, name)(values), getattr(np, name)(of_numpy), strict=True)
            for found, expected in parts:
                assert_mutable(found, expected)
        assert_mutable(xp.unique_values(values), np.unique(of_numpy))
    assert_mutable(xp.repeat(x, abs(keys)), np.repeat(host, abs(groups)))
    assert_mutable(xp.repeat(rows, abs(keys), axis=0), np.repeat(table, abs(groups), axis=0))
    with pytest.raises(ValueError, match="negative"):
        xp.repeat(x, keys - 20)
    positions = np.random.default_rng(0).integers(-70, 70, 81).astype(np.int32)
    for chosen in (xp.asarray(positions), positions, jnp.asarray(positions)):
        assert_mutable(x[chosen], host[positions])
        assert_mutable(rows[chosen], table[positions])
    for wrong in (positions + 70, positions - 70):
        if x.device.platform == "cpu":  # what lies on a GPU is not waited for
            with pytest.raises(IndexError, match="out of bounds"):
                x[xp.asarray(wrong)]
    with pytest.raises(IndexError, match="boolean index did not match"):
        x[xp.asarray(np.ones(71, bool))]


@NAMESPACES
@pytest.mark.parametrize("rooms", ["as it comes"], indirect=True)
def test_arrays_of_one_length_have_buffers_of_one_length(xp, monkeypatch):
    """Whatever is in them, and whichever function made them, so that they fit each other."""
    monkeypatch.setattr(_lengths, "_FINE_FROM", 1 << 9)  # bytes: 87 rows of 4 are below, of 8 or more above
    host = np.arange(200)
    mask = xp.asarray((host % 7 < 3).astype(np.int32))  # 87 of them
    table = xp.asarray(data_of(200, columns=3))
    chosen = mask > 0
    distinct = xp.unique_all(xp.asarray(np.repeat(data_of(87), 3)))
    arrays = [
        table[chosen],
        table[:, 0][chosen],
        *xp.nonzero(chosen),
        xp.repeat(table, mask, axis=0),
        distinct.values,
        distinct.indices,
        distinct.counts,
        table[:87],
        xp.asarray(data_of(87, columns=3)),
    ]
    assert {len(x) for x in arrays} == {87}
    assert {len(x._rows().value) for x in arrays} == {96}


def test_distinct_nan():
    host = data_of(70)
    host[3:9] = np.nan
    everything = dict.fromkeys(["return_index", "return_inverse", "return_counts"], True)
    for options in ({}, {"equal_nan": False}, everything):
        found = jaxapi.numpy.unique(jaxapi.numpy.asarray(host), **options)
        expected = np.unique(host, **options)
        if not isinstance(found, tuple):
            found, expected = (found,), (expected,)
        for part, of_numpy in zip(found, expected, strict=True):
            assert_mutable(part, of_numpy)


@NAMESPACES
def test_elements(xp):
    host, table, other = data_of(70), data_of(70, columns=3), data_of(70, "int32")
    x, rows, y = map(xp.asarray, (host, table, other))
    exact = xp.asarray(jnp.asarray(host))
    line, column = xp.asarray(table[0]), xp.asarray(table[:, :1])
    for found, expected in (
        (x + y, host.astype(np.float32) + other.astype(np.float32)),
        (rows * x[:, None] - line, table * host[:, None] - table[0]),
        (rows / column, table / table[:, :1]),
        (2 - x, 2 - host),
        (x + host, host + host),
        (exact - x, host - host),
        (abs(-x), abs(host)),
        (x * x[0], host * host[0]),
        (xp.exp(rows), np.exp(table)),
        (xp.where(rows > 0, rows, 0.5), np.where(table > 0, table, np.float32(0.5))),
        (xp.maximum(x, exact), host),
        (rows[:, 1] + x, table[:, 1] + host),
        (x[::-1] - x, host[::-1] - host),
        (x[3:60:2] * 2, host[3:60:2] * 2),
        (x[5:][5:][::-1] + 1, host[5:][5:][::-1] + 1),
        (x.astype("float16"), host.astype("float16")),
        (xp.asarray(x, dtype=np.dtype("int8")), host.astype("int8")),
        (xp.asarray(x, dtype=np.dtype("float32"), copy=True), host),
    ):
        assert has_room(found)
        assert_mutable(found, expected)
    assert x[69] == host[69]
    assert x[-70] == host[0]
    assert_mutable(rows.T + host, table.T + host)
    assert_mutable(x == 3, host == 3, dtype=np.bool)
    for wrong in (
        lambda: x + xp.asarray(data_of(66)),
        lambda: rows * x,
        lambda: rows + xp.asarray(data_of(70, columns=4)),
        lambda: x + data_of(96),  # as many rows as the buffer has
        lambda: xp.where(x > 0, x, xp.asarray(data_of(66))),
        lambda: xp.reshape(x, (96,)),
    ):
        with pytest.raises((ValueError, TypeError)) as error:
            wrong()
        assert "72" not in str(error.value)
    with pytest.raises(IndexError, match="index 70 is out of bounds for axis 0 with size 70"):
        x[70]
    with pytest.raises(TypeError, match="negative"):
        operator.neg(x > 0)
    with pytest.raises(TypeError, match="invert"):
        operator.invert(x)


counts = st.sampled_from([17, 40, *LENGTHS])
bounds = st.integers(-100, 100) | st.none()
slices = st.builds(slice, bounds, bounds, st.sampled_from([None, 1, 2, -1, -3]))
steps = st.tuples(
    st.sampled_from(["set", "add", "set rows", "add rows", "mask", "mask rows", "one", "hold", "all"]), slices
)


@pytest.mark.thorough
@given(
    data=st.data(), count=counts, dtype=st.sampled_from(["float32", "int32"]), columns=st.sampled_from([0, 3])
)
@settings(deadline=None, max_examples=15)
def test_writes(data, count, dtype, columns):
    """Write in every way, and look at what was given away before: it stays as it was."""
    xp = data.draw(st.sampled_from([mutable, jaxapi.numpy]))
    host = data_of(count, dtype, columns)
    x = xp.asarray(host.copy())
    held = []
    for number, (kind, key) in enumerate(data.draw(st.lists(steps, min_size=2, max_size=6))):
        part = host[key]
        new = (data_of(97, dtype, columns) + number).astype(dtype)[: len(part)]
        mask = host.reshape(count, -1)[:, 0] > number
        if kind == "set":
            x[key] = number
            host[key] = number
        elif kind == "add":
            x[key] += number
            host[key] += np.asarray(number, dtype)
        elif kind == "set rows":
            x[key] = xp.asarray(new)
            host[key] = new
        elif kind == "add rows":
            x[key] += xp.asarray(new)
            host[key] += new
        elif kind == "mask":
            x[xp.asarray(mask)] = number
            host[mask] = number
        elif kind == "mask rows":
            values = data_of(97, dtype, columns)[: mask.sum()]
            x[xp.asarray(mask)] = xp.asarray(values)
            host[mask] = values
        elif kind == "one":
            x[-1] = number
            host[-1] = number
        elif kind == "all":
            x += x
            host += host
        else:
            view = x[key]
            held += [(jnp.asarray(x), host.copy()), (jnp.asarray(view), part.copy()), (view + 0, part.copy())]
        np.testing.assert_array_equal(np.asarray(x), host)
        np.testing.assert_array_equal(np.asarray(x[key]), host[key])
    for given_away, expected in held:
        np.testing.assert_array_equal(np.asarray(given_away), expected)


@pytest.mark.daily
@NAMESPACES
def test_writes_of_numbers_and_lines(xp):
    """Write to arrays with room and to exact ones what is the same in each row."""
    table = data_of(80, columns=20)
    line = data_of(20)
    keys = slice(30), slice(60, 21, -1), slice(55, None), slice(1, 79), slice(2, 75, 3), slice(-2, 3, -2)
    for make in (lambda: xp.asarray(table.copy()), lambda: xp.asarray(jnp.asarray(table))):
        for key in keys:
            for new in (7, 2.5, True, xp.asarray(line), line, xp.asarray(line)[None, :], np.float32(3)):
                x = make()
                expected = table.copy()
                expected[key] = np.asarray(new)
                given_away = jnp.asarray(x)
                x[key] = new
                np.testing.assert_array_equal(np.asarray(x), expected)
                np.testing.assert_array_equal(given_away, table)
    x = xp.asarray(jnp.asarray(table))
    with pytest.raises(TypeError):
        x[:30] = 1j


@NAMESPACES
def test_writes_where_a_mask_is_true_of_views(xp):
    """Write rows to views of an array with room: of a part of it, or in another shape."""
    views = (
        lambda m, x: m.reshape(x, (70, 1)),
        lambda m, x: m.reshape(x, (2, 35)),
        lambda m, x: x[3:],
        lambda m, x: x[::-2],
        lambda m, x: x[:, None],
    )
    for view_of in views:
        host = data_of(70)
        x = xp.asarray(host.copy())
        view, view_of_host = view_of(xp, x), view_of(np, host)
        mask = view_of_host > -1
        values = data_of(93)[: mask.sum()]
        view[xp.asarray(mask)] = xp.asarray(values)
        view_of_host[mask] = values
        np.testing.assert_array_equal(np.asarray(view), view_of_host)
        np.testing.assert_array_equal(np.asarray(x), host)


@NAMESPACES
def test_refused_writes(xp):
    host = data_of(70)
    x = xp.asarray(host.copy())
    for error, write in (
        (ValueError, lambda: x.__setitem__(slice(3, None), xp.asarray(data_of(66)))),
        (ValueError, lambda: x.__setitem__(slice(3, None), xp.asarray(data_of(70)))),
        (ValueError, lambda: x.__setitem__(xp.asarray(host > 0), xp.asarray(data_of(3)))),
        (IndexError, lambda: x.__setitem__(xp.asarray(np.ones(72, bool)), 1)),
        (IndexError, lambda: x.__setitem__(70, 1)),
        (TypeError, lambda: x.__setitem__(slice(0, 50), xp.asarray(data_of(50, "complex64")))),
        (TypeError, lambda: x.__setitem__(slice(0, 50), 1j)),
        (ValueError, lambda: x.__iadd__(xp.asarray(data_of(66)))),
        (TypeError, lambda: x.__iadd__(xp.asarray(data_of(70, "complex64")))),
    ):
        with pytest.raises(error):
            write()
        np.testing.assert_array_equal(np.asarray(x), host)
    x.flags.writeable = False
    for write in (
        lambda: x.__setitem__(slice(3, None), 1),
        lambda: x.__iadd__(1),
        lambda: x.__setitem__(x > 0, 1),
    ):
        with pytest.raises(ValueError, match="read-only"):
            write()


@pytest.mark.parametrize("rooms", ["as it comes"], indirect=True)
def test_writes_in_place():
    x = mutable.asarray(data_of(70_000))
    values = mutable.asarray(data_of(40_000))
    mask = mutable.asarray(data_of(70_000) > 0)

    def write():
        x[30_000:] = values
        x[:50_000] = 7
        x[:40_000] += values
        x[mask] = 3
        x[2] = 1
        x.__imul__(2)
        return x._buffer._value.unsafe_buffer_pointer()

    addresses = [write() for _ in range(4)]
    first = 2 if is_recording() else 0  # a batch's programs are given copies in their first calls
    assert len(set(addresses[first:])) == 1
    given_away = jnp.asarray(x)
    before = np.array(given_away)
    x[:50_000] = 8
    np.testing.assert_array_equal(given_away, before)

    def write_again():
        x[:50_000] = 9
        return x._buffer._value.unsafe_buffer_pointer()

    write_again()  # by a program of its own, which is given a copy in its first call
    assert len({write_again() for _ in range(3)}) == 1


@pytest.mark.skipif(jax.device_count() < 2, reason="one device")
@NAMESPACES
def test_what_a_mask_selects_is_bound_to_a_device_where_the_array_is(xp):
    host = np.arange(70, dtype=np.float32)
    there = jax.devices()[1]
    x, y = xp.asarray(host), xp.asarray(jax.device_put(host, there))
    selected = x[x > 3]
    assert has_room(selected)
    assert_mutable(selected + y[y > 3], host[4:] * 2)
    assert (selected + y[y > 3]).device == y[y > 3].device == there


@pytest.mark.daily
@NAMESPACES
@pytest.mark.parametrize("rooms", ["as it comes"], indirect=True)
def test_masks_of_exact_arrays(xp):
    """What is computed of the elements where a mask is True is written back, whatever their number."""
    host = data_of(20 * 33).reshape(20, 33)
    x = xp.zeros((20, 33), dtype=np.float32)
    x += xp.asarray(host)
    assert not has_room(x)

    def write(count):
        mask = (np.arange(20 * 33) % 660 < count).reshape(20, 33)
        x[xp.asarray(mask)] = x[xp.asarray(mask)] * 2 - 1
        host[mask] = host[mask] * 2 - 1
        x[mask] = 3 - x[mask]
        host[mask] = 3 - host[mask]
        x.T[mask.T] = x.T[mask.T] / 2
        host.T[mask.T] = host.T[mask.T] / 2
        assert_mutable(x, host)

    for count in (300, 390, 391, 500, 512) * 2:  # as some wait first, and run at once then
        write(count)
    with pytest.raises((ValueError, TypeError)):
        x[x > 0] = xp.asarray(data_of(40))
    with no_compilation():
        for count in (301, 380, 444, 501):
            write(count)


def test_where_arrays_are_exact():
    host = data_of(70)
    x = mutable.asarray(host)
    assert jnp.asarray(x).shape == (70,)
    assert jax.jit(lambda a: jnp.asarray(a.shape[0]))(x) == 70
    assert [leaf.shape for leaf in jax.tree.leaves(x)] == [(70,)]
    np.testing.assert_array_equal(jax.dlpack.from_dlpack(x), host)
    np.testing.assert_allclose(jax.grad(lambda a: (a * a).sum()._value)(x)._value, 2 * host)
    np.testing.assert_array_equal(jax.vmap(lambda a: a + 1)(x)._value, host + 1)
    assert jax.jit(lambda: (x + 1)._value.shape[0])() == 70
    with jax.debug_nans(True):
        assert_mutable(x + 1, host + 1)
        assert not has_room(x + 1)
    with jax.disable_jit():
        assert not has_room(x + 1)
    with jax.enable_x64(True):
        wide = mutable.asarray(data_of(70, "float64"))
        assert has_room(wide)
    with jax.enable_x64(False):
        for found in (mutable.sum(wide), wide.mean(axis=0), mutable.sort(wide)[-1], (wide + x)[3]):
            assert found.dtype == np.float64
        assert abs(float(mutable.sum(wide)) - data_of(70, "float64").sum()) < 1e-12
        wide[:50] = 1 / 3
        wide[wide > 0.5] = 0.1
        wide += 0.1
        assert wide.dtype == np.float64
        assert wide[0] == np.float64(1 / 3) + 0.1
    assert not has_room(mutable.astype(x, "bfloat16"))
    assert not has_room(mutable.asarray(data_of(1)))
    assert str(x) == str(jnp.asarray(host))
    assert has_room(mutable.asarray(host.tolist()))
    assert has_room(x.copy())


def test_one_array_at_a_time():
    """A buffer that two arrays hold is written by neither."""
    host = data_of(70)
    x = mutable.asarray(host)
    first = x[:66] + 0
    others = [x.copy(), +x, x.astype(np.float32), mutable.positive(x), mutable.real(x)]
    before = [jnp.asarray(other) for other in others[:3]]
    x[:50] = 7
    for other in others:
        other[:1] = 5
        other[:60] += 1
    np.testing.assert_array_equal(np.asarray(x), np.r_[np.full(50, 7), host[50:]].astype(np.float32))
    np.testing.assert_array_equal(np.asarray(first), host[:66])
    for given_away in before:
        np.testing.assert_array_equal(given_away, host)


@pytest.mark.daily
@NAMESPACES
def test_products(xp):
    host, table, other = data_of(70), data_of(70, columns=3), data_of(70, columns=3)[::-1].copy()
    host[3], table[5, 1] = np.inf, np.nan  # which 0 in the other operand does not leave out
    finite = data_of(70, columns=3)
    x, rows, more, clean = map(xp.asarray, (host, table, other, finite))
    small = table[20:23] + 1
    weights = xp.asarray(small)
    exact = xp.asarray(jnp.asarray(other))
    host_pairs = np.stack([finite, other], axis=1)
    pairs = xp.asarray(host_pairs)
    with np.errstate(invalid="ignore"):  # of NumPy's products
        cases = (
            (rows @ weights, table @ small, True),
            (rows @ small, table @ small, True),
            (rows @ weights[0], table @ small[0], True),
            (xp.matmul(clean, weights), finite @ small, True),
            (clean.T @ more, finite.T @ other, False),
            (clean.T @ exact, finite.T @ other, False),
            (exact.T @ clean, other.T @ finite, False),
            (clean.mT @ x, finite.T @ host, False),
            (clean[:, 0] @ more, finite[:, 0] @ other, False),
            (clean[:, 0] @ more[:, 1], finite[:, 0] @ other[:, 1], False),
            (other[:, 0] @ clean, other[:, 0] @ finite, False),
            (xp.vecdot(clean, more), np.vecdot(finite, other), True),
            (xp.vecdot(clean[:, 0], more[:, 1]), np.vecdot(finite[:, 0], other[:, 1]), False),
            (xp.vecdot(clean[:, 0], more[:, 1], axis=-1), np.vecdot(finite[:, 0], other[:, 1]), False),
            (xp.vecdot(clean, more, axis=-2), np.vecdot(finite, other, axis=-2), False),
            (xp.vecdot(pairs, pairs, axis=-2), np.vecdot(host_pairs, host_pairs, axis=-2), True),
            (xp.tensordot(clean, weights, axes=1), np.tensordot(finite, small, axes=1), True),
            (xp.tensordot(clean, more, axes=((0,), (0,))), finite.T @ other, False),
            (xp.tensordot(clean, more, axes=2), np.tensordot(finite, other, axes=2), False),
            (clean[:, :, None] @ weights[0][None, :], finite[:, :, None] @ small[0][None, :], True),
        )
    for found, expected, keeps_rows in cases:
        assert has_room(found) == keeps_rows
        assert_mutable(found, expected)
    for wrong in (
        lambda: rows.T @ xp.asarray(data_of(66)),
        lambda: rows @ more,
        lambda: x @ xp.asarray(data_of(72)),
        lambda: xp.tensordot(rows, xp.asarray(data_of(66)), axes=((0,), (0,))),
        lambda: xp.vecdot(rows, xp.asarray(data_of(66, columns=3))),
        lambda: xp.vecdot(rows, more, -1),
    ):
        with pytest.raises((ValueError, TypeError)) as error:
            wrong()
        assert "72" not in str(error.value) or "(72,)" in str(error.value)


@pytest.mark.daily
@NAMESPACES
def test_decompositions(xp):
    for columns, rank in ((3, 3), (3, 2)):
        host = data_of(70, columns=columns)
        if rank < columns:
            host[:, 2] = host[:, 0]  # whose singular vectors to 0 are of rows that count, too
        x = xp.asarray(host)
        u, s, vh = xp.linalg.svd(x, full_matrices=False)
        q, r = xp.linalg.qr(x)
        assert has_room(u)
        assert has_room(q)
        assert_mutable(s, np.linalg.svdvals(host))
        assert_mutable(xp.linalg.svdvals(x), np.linalg.svdvals(host))
        np.testing.assert_allclose(np.asarray(u * s @ vh), host, atol=1e-4)
        np.testing.assert_allclose(np.asarray(q @ r), host, atol=1e-4)
        for basis in (u, q):
            np.testing.assert_allclose(np.asarray(basis).T @ np.asarray(basis), np.eye(columns), atol=1e-5)
    wide = data_of(18, columns=40)
    assert_mutable(xp.linalg.svd(xp.asarray(wide), full_matrices=False)[1], np.linalg.svdvals(wide))
    assert_mutable(xp.linalg.svdvals(xp.asarray(wide)), np.linalg.svdvals(wide))
    assert xp.linalg.svd(xp.asarray(data_of(20, columns=2)))[0].shape == (20, 20)


@pytest.mark.daily
@NAMESPACES
def test_shapes(xp):
    host, table = data_of(70), data_of(70, columns=4)
    x, rows = map(xp.asarray, (host, table))
    exact = xp.asarray(jnp.asarray(table))
    for found, expected in (
        (xp.concat([rows, rows[:20], exact, rows[3:6]]), np.concat([table, table[:20], table, table[3:6]])),
        (xp.concat([x, x[60:]]), np.concat([host, host[60:]])),
        (xp.reshape(x, (-1, 1)) + 1, host[:, None] + 1),
        (xp.reshape(x, (70,)) + 1, host + 1),
        (xp.reshape(rows, (70, 2, -1)) + 1, table.reshape(70, 2, 2) + 1),
        (xp.expand_dims(x, axis=1) + 1, host[:, None] + 1),
        (xp.expand_dims(rows, axis=-1) + 1, table[:, :, None] + 1),
        (xp.broadcast_to(rows, (70, 4)), table),
        (xp.concat([x[3:], xp.asarray(host[:1])], axis=-1), np.concat([host[3:], host[:1]])),
        (xp.concat([rows, x[:, None], exact], axis=1), np.concat([table, host[:, None], table], axis=1)),
        (xp.stack([x, rows[:, 1]], axis=1), np.stack([host, table[:, 1]], axis=1)),
        (xp.stack([rows, exact], axis=-1), np.stack([table, table], axis=-1)),
        (xp.broadcast_to(x[:, None], (70, 4)), np.broadcast_to(host[:, None], (70, 4))),
        (xp.moveaxis(x, 0, -1) + 1, host + 1),
        (xp.moveaxis(rows[:, :, None], 1, -1) + 1, np.moveaxis(table[:, :, None], 1, -1) + 1),
        (xp.permute_dims(rows[:, None], (0, -1, 1)) + 1, table[:, :, None] + 1),
        (xp.squeeze(rows[:, 1:2], axis=1) + 1, table[:, 1] + 1),
        (xp.squeeze(rows[:, None, 1:2], axis=(-1, 1)) + 1, table[:, 1] + 1),
    ):
        assert has_room(found)
        assert_mutable(found, expected)
    for found, expected in (
        (xp.concat([x, x], axis=-1), np.concat([host, host])),
        (xp.concat([rows, rows], axis=1), np.concat([table, table], axis=1)),
        (xp.concat([rows, rows], axis=None), np.concat([table, table], axis=None)),
        (xp.expand_dims(x, axis=0), host[None]),
        (xp.stack([x, x]), np.stack([host, host])),
        (xp.broadcast_to(x, (2, 70)), np.broadcast_to(host, (2, 70))),
        (xp.moveaxis(rows, 0, 1), table.T),
        (xp.permute_dims(rows, (1, 0)), table.T),
        (xp.reshape(rows, (35, 8)) + 1, table.reshape(35, 8) + 1),
        (xp.concat([x, xp.asarray(data_of(70, "int32"))]), np.concat([host, data_of(70, "int32")])),
    ):
        assert_mutable(found, expected)
    line = xp.reshape(x, (-1,))
    assert line[69] == line[-1] == host[69]
    with pytest.raises(IndexError, match="size 70"):
        line[70]
    view = xp.reshape(x, (70, 1))
    view[3:60] = 5
    np.testing.assert_array_equal(np.asarray(x)[3:60], 5)
    for wrong in (
        lambda: xp.concat([rows, x]),
        lambda: xp.concat([rows, rows[:, :3]]),
        lambda: xp.concat([rows, rows[:66]], axis=1),
        lambda: xp.stack([x, x[:66]], axis=1),
        lambda: xp.stack([x, x[:66]]),
        lambda: xp.broadcast_to(x, (72,)),
        lambda: xp.broadcast_to(rows, (70, 5)),
        lambda: xp.moveaxis(rows, 0, 2),
        lambda: xp.moveaxis(rows, (0, 1), 0),
        lambda: xp.permute_dims(rows, (0, 0)),
        lambda: xp.squeeze(rows, axis=1),
        lambda: xp.squeeze(rows, axis=0),
    ):
        with pytest.raises((ValueError, TypeError)):
            wrong()


@pytest.mark.daily
@NAMESPACES
def test_taking(xp):
    host, table = data_of(70), data_of(70, columns=3)
    x, rows = map(xp.asarray, (host, table))
    exact = xp.asarray(jnp.asarray(table))
    for positions in (np.arange(69, 3, -2), np.random.default_rng(0).integers(-70, 70, 81)):
        for dtype in ("int32", "int64", "int8"):
            places = xp.asarray(positions.astype(dtype))
            for found, expected in (
                (xp.take(x, places), host[positions]),
                (xp.take(rows, places, axis=0), table[positions]),
                (xp.take(exact, places, axis=-2), table[positions]),
                (xp.take_along_axis(x, places, axis=-1), host[positions]),
                (xp.take_along_axis(x, places), host[positions]),
            ):
                assert has_room(found)
                assert_mutable(found, expected)
    columns = xp.asarray([2, 0, -1])
    assert_mutable(xp.take(rows, columns, axis=1), table[:, [2, 0, -1]])
    assert_mutable(xp.take(x, xp.asarray([3, -1])), host[[3, -1]])
    order = np.argsort(table, axis=0)
    assert_mutable(xp.take_along_axis(rows, xp.asarray(order), axis=0), np.sort(table, axis=0))
    for beyond in (70, 71, 90, -71):
        places = xp.asarray(np.r_[np.arange(40), beyond])
        of_exact = xp.asarray(jnp.asarray(host))
        for name in ("take", "take_along_axis"):
            if xp is jaxapi.numpy:
                with pytest.raises(IndexError, match=str(beyond)):
                    getattr(xp, name)(x, places)
            else:
                expected = getattr(xp, name)(of_exact, xp.asarray(jnp.asarray(places)))
                np.testing.assert_array_equal(np.asarray(getattr(xp, name)(x, places)), np.asarray(expected))


@pytest.mark.daily
@NAMESPACES
def test_differences(xp):
    for dtype in DTYPES:
        host = data_of(70, dtype)
        x = xp.asarray(host)
        last = np.asarray([3, 5], dtype)
        for name, found, expected in (
            ("diff", xp.diff(x), np.diff(host)),
            ("diff at the end", xp.diff(x, append=xp.asarray(last)), np.diff(host, append=last)),
            ("diff at the start", xp.diff(x, axis=0, prepend=xp.asarray(last)), np.diff(host, prepend=last)),
            ("second diff", xp.diff(x, n=2), np.diff(host, n=2)),
        ):
            assert has_room(found), name
            assert_mutable(found, expected, dtype=host.dtype)
    table = data_of(70, columns=3)
    for axis in (0, 1):
        assert_mutable(xp.diff(xp.asarray(table), axis=axis), np.diff(table, axis=axis))
    assert_mutable(xp.diff(xp.asarray(data_of(17))), np.diff(data_of(17)))


@NAMESPACES
def test_columns(xp):
    """Write to a part of every row: of arrays with room, of exact ones, of numbers and of lines."""
    table = data_of(70, columns=4)
    columns = data_of(70, columns=2)
    x = xp.asarray(table.copy())
    longer = xp.asarray(data_of(140))
    column = longer[:70]  # whose buffer has another length
    for key, new, host in (
        (np.s_[:, 1], column, data_of(140)[:70]),
        (np.s_[:, 2], columns[:, 0], columns[:, 0]),
        (np.s_[:, 3], xp.asarray(jnp.asarray(columns[:, 1])), columns[:, 1]),
        (np.s_[:, :2], xp.asarray(columns), columns),
        (np.s_[:, 3:1:-1], xp.asarray(columns), columns),
        (np.s_[:, 1:3], xp.asarray(columns[:, :1]), columns[:, :1]),
        (np.s_[:, 1:3], xp.asarray(columns[:1]), columns[:1]),
        (np.s_[:, 0], 5, 5),
        (np.s_[:, 0], x[:, 1], None),
        (np.s_[:, 2], xp.asarray(data_of(70, "int32")), data_of(70, "int32")),
    ):
        given_away = jnp.asarray(x)
        before = np.array(given_away)
        table[key] = table[:, 1] if host is None else host
        x[key] = new
        assert has_room(x)
        np.testing.assert_array_equal(np.asarray(x), table)
        np.testing.assert_array_equal(given_away, before)
    for error, new in (
        (ValueError, xp.asarray(data_of(66))),
        (ValueError, longer[:72]),
        (TypeError, xp.asarray(data_of(70, "complex64"))),
    ):
        with pytest.raises(error):
            x[:, 1] = new
        np.testing.assert_array_equal(np.asarray(x), table)


@NAMESPACES
def test_transposes(xp):
    """Operators take rows as columns, beside a vector along them, too."""
    host, table = data_of(70), data_of(70, columns=3)
    x, rows = map(xp.asarray, (host, table))
    for found, expected in (
        (x * rows.T, host * table.T),
        (rows.T - x, table.T - host),
        (rows.T / rows.mT, table.T / table.T),
        (2 - rows.T, 2 - table.T),
        (rows.T**2, table.T**2),
        (rows[:, 1] + rows.T, table[:, 1] + table.T),
        (x < rows.T, host < table.T),
        (rows.T * rows[3, 1], table.T * table[3, 1]),
    ):
        assert has_room(found.T + 0)
        assert_mutable(found, expected)
    assert_mutable((x * rows.T) @ rows, (host * table.T) @ table)
    for found, expected in (
        (rows.T + xp.asarray(table[0][:, None]), table.T + table[0][:, None]),
        (rows.T + xp.asarray(jnp.asarray(host)), table.T + host),
        (rows.T + host, table.T + host),
    ):
        assert_mutable(found, expected)
    for wrong in (
        lambda: rows.T * xp.asarray(data_of(66)),
        lambda: rows.T + rows,
        lambda: rows.T + xp.asarray(data_of(72)),
        lambda: rows.T + xp.asarray(data_of(66, columns=3)).T,
    ):
        with pytest.raises((ValueError, TypeError)):
            wrong()


@NAMESPACES
def test_empty(xp):
    for shape in ((70,), (70, 3), 70):
        x = xp.empty(shape, dtype=np.float32)
        assert has_room(x)
        assert x.shape == np.empty(shape).shape
        assert x.dtype == np.float32
        x[:] = 3
        np.testing.assert_array_equal(np.asarray(x), np.full(shape, 3, np.float32))
    assert xp.empty(70).dtype == xp.zeros(70).dtype
    assert not has_room(xp.empty(5))
    assert xp.empty((70, 0)).shape == (70, 0)
    assert xp.empty((0, 70)).shape == (0, 70)
    for wrong in (-70, (70, -1), (70.5,), "a"):
        with pytest.raises((ValueError, TypeError)):
            xp.empty(wrong)


@NAMESPACES
def test_arange(xp):
    for numbers in ((70,), (3, 70), (70, 3, -1), (-5, 200, 3), (-90, -20)):
        for dtype in (None, "int32", "float32", "uint32", "float64", "int64"):
            if dtype == "uint32" and numbers[0] < 0:
                continue
            x = xp.arange(*numbers, dtype=dtype)
            goes_below_zero = dtype == "uint32" and numbers[-1] == -1  # in rows that do not count
            assert has_room(x) != goes_below_zero
            assert x.dtype == (xp.asarray([1]).dtype if dtype is None else dtype)
            np.testing.assert_array_equal(np.asarray(x), np.arange(*numbers, dtype=dtype))
    near_the_end = 2**31 - 71, 2**31 - 1
    assert_mutable(xp.arange(*near_the_end), np.arange(*near_the_end))
    assert not has_room(xp.arange(5))
    np.testing.assert_array_equal(np.asarray(xp.arange(100, dtype="int8")), np.arange(100))
    np.testing.assert_array_equal(np.asarray(xp.arange(0.5, 70)), np.arange(0.5, 70, dtype="f"))
    with pytest.raises(ZeroDivisionError):
        xp.arange(0, 70, 0)
    with pytest.raises(OverflowError):
        xp.arange(2**31 - 70, 2**31 + 70, dtype="int32")


@NAMESPACES
def test_arguments_are_refused_as_those_of_exact_arrays(xp):
    x = xp.asarray(data_of(70))
    positions = xp.asarray(np.ones(70, int))
    wrong = [
        lambda x: xp.diff(x, n=1.0),
        lambda x: xp.diff(x, axis=0.0),
        lambda x: xp.diff(x, axis=xp.asarray([0, 0])),
        lambda x: xp.take(x, positions, axis=0.0),
        lambda x: xp.take_along_axis(x, positions, axis=0.0),
    ]
    exact = xp.asarray(jnp.asarray(data_of(70)))
    for call in wrong:
        for array in (x, exact):
            with pytest.raises(TypeError):
                call(array)


@pytest.mark.parametrize("kind", [float, int, complex])
def test_dtypes_named_by_pythons_types(kind):
    """They are the default ones, whatever the length."""
    with jax.enable_x64(False):
        for count in (3, 70):
            host = np.arange(count).astype(kind)
            assert mutable.asarray(host, dtype=kind).dtype == mutable.asarray([1], dtype=kind).dtype


@pytest.mark.thorough
@pytest.mark.daily("poisoned-float64-numpy", "poisoned-int64-mutable")
@NAMESPACES
@pytest.mark.parametrize("dtype", ["float64", "int64", "uint64", "complex128"])
def test_64_bits_without_x64_mode(xp, dtype):
    """Arrays of 64 bits keep them and their room, and results have the dtypes that exact arrays give."""
    with jax.enable_x64(False):
        host = data_of(70, columns=3).astype(dtype) + np.asarray(1 / 3, "f8").astype(dtype)
        x = xp.asarray(host)
        exact = xp.asarray(jax.device_put(mutable.asarray(host)._value))
        assert has_room(x)
        assert not has_room(exact)
        for name in REDUCTIONS:
            try:
                expected = getattr(xp, name)(exact, axis=0)
            except TypeError:
                continue
            found = getattr(xp, name)(x, axis=0)
            assert found.dtype == expected.dtype
            np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-13)
        column = x[:, 1]
        of_column = host[:, 1]
        cases = [
            (x + x, host + host, True),
            (x[3:50] * 3, host[3:50] * np.asarray(3, dtype), True),
            (x[x[:, 0] != 0], host[host[:, 0] != 0], True),
            (x - xp.sum(x, axis=0), host - host.sum(axis=0), True),
            (x[xp.asarray(np.arange(69, 30, -1))], host[69:30:-1], True),
            (xp.concat([x, x])[::-1] + x[0], np.concat([host, host])[::-1] + host[0], True),
            (xp.repeat(column, xp.asarray(np.arange(70) % 3)), of_column.repeat(np.arange(70) % 3), True),
            (x.T @ x, host.T @ host, False),
            (x[np.arange(70) < 3], host[:3], False),
            (exact[exact[:, 0] == exact[3, 0]], host[host[:, 0] == host[3, 0]], False),
        ]
        if dtype != "complex128":
            ordered = np.sort(of_column)
            found = xp.searchsorted(xp.sort(column), column)
            assert found.dtype == xp.searchsorted(xp.asarray(ordered)[:9], column[:9]).dtype
            cases += [
                (xp.sort(column), ordered, True),
                (xp.argsort(column), np.argsort(of_column, kind="stable"), True),
                (xp.unique_values(column), np.unique(of_column), True),
                (found, np.searchsorted(ordered, of_column), True),
            ]
        for found, expected, keeps_room in cases:
            assert has_room(found) == keeps_room
            assert found.dtype == expected.dtype or {found.dtype, expected.dtype} == {
                np.dtype("i4"),
                np.dtype("i8"),
            }
            np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-13)
        x[3:40] = 1
        x[50:] = x[20:40]
        x[:, 1] = column
        x[x == 1] = 3
        x += 1
        host[3:40] = 1
        host[50:] = host[20:40]
        host[:, 1] = of_column
        host[host == 1] = 3
        host += np.asarray(1, dtype)
        assert has_room(x)
        np.testing.assert_array_equal(np.asarray(x), host)
        narrow = data_of(70, columns=3)
        if dtype == "float64":
            for name in ("sum", "mean", "cumulative_sum"):
                found = getattr(xp, name)(xp.asarray(narrow), axis=0, dtype=np.dtype(dtype))
                assert found.dtype == dtype
                expected = getattr(np, name)(narrow, axis=0, dtype=dtype)
                np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-13, atol=1e-13)


def test_writes_of_two_threads():
    """Each write is whole, in a buffer, too; one that makes the array exact may come in between."""

    def changed_by(*writes, count):
        x = jaxapi.numpy.asarray(np.zeros(40, np.float32))
        barrier = threading.Barrier(len(writes))

        def work(write):
            barrier.wait()
            for _ in range(count):
                write(x)

        threads = [threading.Thread(target=work, args=(write,)) for write in writes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return np.asarray(x)

    def add(x):
        x[5:35] += 1

    def set_rows(x):
        x[10:35] = 1

    def set_places(x):
        x[np.arange(3)] = 2

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        added = changed_by(add, add, count=100)
        for _ in range(30):
            written = changed_by(set_rows, set_places, count=1)
            np.testing.assert_array_equal(written, [2] * 3 + [0] * 7 + [1] * 25 + [0] * 5)
    finally:
        sys.setswitchinterval(interval)
    np.testing.assert_array_equal(added, [0] * 5 + [200] * 30 + [0] * 5)


@pytest.mark.daily
def test_donated_arrays_are_gone():
    x = jaxapi.numpy.asarray(data_of(70))
    jax.jit(lambda a: a + 1, donate_argnums=0)(x)
    if not x._value.is_deleted():
        pytest.skip("JAX donates nothing here")
    for use in (lambda: np.asarray(x + 0), lambda: float(x.sum()), lambda: x[1:] + 0, lambda: float(x[3])):
        with pytest.raises((RuntimeError, ValueError), match=r"deleted|donated"):
            use()
