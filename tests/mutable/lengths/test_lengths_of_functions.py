"""Statistics, counts and selections of arrays with room: results are NumPy's."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from comparisons import assert_mutable
from rooms import NAMESPACES, has_room, poison_rooms

import jaxapi.numpy
from jaxapi import mutable

COUNTS = 17, 33, 70, 101


@pytest.fixture(autouse=True)
def rooms(monkeypatch):
    """Run each test once, poisoned."""
    poison_rooms(monkeypatch, exact_up_to=16)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of slices that are all NaN
        yield


def numbers_of(count, dtype="float32", columns=0):
    rng = np.random.default_rng(count)
    numbers = rng.normal(size=(count, columns) if columns else count) * 5
    if np.dtype(dtype).kind == "c":
        numbers = numbers + 1j * rng.normal(size=numbers.shape)
    if np.dtype(dtype).kind == "u":
        numbers = abs(numbers)
    return numbers.astype(dtype)


def check(function, *hosts, tolerance=2e-5):
    """Compare a function of a namespace and arrays in it with NumPy, and its dtypes with exact arrays'."""
    xp = jaxapi.numpy
    given = [xp.asarray(host) for host in hosts]
    assert any(map(has_room, given))
    found = function(xp, *given)
    assert_mutable(found, function(np, *hosts), tolerance)
    if len(hosts[0]) == COUNTS[0]:
        exact = function(xp, *[xp.asarray(jnp.asarray(host)) for host in hosts])
        assert _kinds_of(found) == _kinds_of(exact)


def _kinds_of(result):
    parts = result if isinstance(result, tuple) else (result,)
    return [(x.dtype, x._is_scalar) for x in parts]


METHODS = ["linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf", "averaged_inverted_cdf"]
METHODS += ["closest_observation", "interpolated_inverted_cdf", "hazen", "weibull", "median_unbiased"]
METHODS += ["normal_unbiased"]


@pytest.mark.thorough
@pytest.mark.daily("17")
@pytest.mark.parametrize("count", COUNTS)
def test_quantiles(count):
    hosts = [numbers_of(count), numbers_of(count, "int32"), numbers_of(count, columns=3)]
    hosts[2][count // 2, 1] = np.nan
    hosts[2][count // 3, 2] = np.inf
    hosts.append(hosts[2][:, 1].copy())
    for host in hosts[:: 1 if count == 70 else 3]:
        for axis in (None, 0) if count == 70 else (0,):
            check(lambda xp, x, axis=axis: xp.percentile(x, 30, axis), host)
            check(lambda xp, x, axis=axis: xp.percentile(x, [0, 12.5, 100], axis=axis), host)
            check(lambda xp, x, axis=axis: xp.nanpercentile(x, [30, 77], axis=axis, keepdims=True), host)
            check(lambda xp, x, axis=axis: xp.quantile(x, q=np.float32(0.3), axis=axis), host, tolerance=1e-4)
            check(lambda xp, x, axis=axis: xp.nanquantile(x, 0.3, axis), host)
            check(lambda xp, x, axis=axis: xp.median(x, axis), host)
            check(lambda xp, x, axis=axis: xp.nanmedian(x, axis, keepdims=True), host)
        check(lambda xp, x: xp.median(x, axis=-1), host)
        check(lambda xp, x: xp.quantile(x, 0.7, axis=-1, keepdims=True), host)
    for method in METHODS if count == 70 else METHODS[:1]:
        check(lambda xp, x, method=method: xp.percentile(x, [10, 45, 99], method=method), hosts[0])


@pytest.mark.thorough
def test_medians_of_dtypes():
    for dtype in ("float16", "uint8", "complex64", "bool"):
        host = numbers_of(70, dtype)
        check(lambda xp, x: xp.median(x), host, tolerance=5e-3)
    host = numbers_of(70, "complex64", 2)
    host[5, 1] = complex(3, np.nan)
    check(lambda xp, x: xp.median(x, axis=0), host)
    check(lambda xp, x: xp.percentile(x, 30, method="nearest"), numbers_of(70, "bool"))


@pytest.mark.thorough
def test_wide_dtypes():
    """With x64 mode off, too."""
    xp = jaxapi.numpy
    for is_wide in (False, True):
        host = np.random.default_rng(0).normal(size=70)
        numbers = np.arange(70) % 9 + 2**40
        with jax.enable_x64(True):
            x = xp.asarray(host)
            y = xp.asarray(numbers)
        with jax.enable_x64(is_wide):
            assert x.dtype == np.float64
            for function in (xp.median, xp.nanmax, xp.ptp, lambda x: xp.percentile(x, 30)):
                assert function(x).dtype == np.float64
            assert float(xp.percentile(x, 30)) == np.percentile(host, 30)
            assert float(xp.median(x)) == np.median(host)
            assert float(xp.sum(x, where=x > 0)) == pytest.approx(host[host > 0].sum(), abs=1e-12)
            assert int(xp.max(y, initial=3)) == numbers.max()
            assert_mutable(xp.isin(y, y[:3]), np.isin(numbers, numbers[:3]))
            assert_mutable(xp.roll(y, 3), np.roll(numbers, 3))
            assert_mutable(xp.compress(x > 0, x), host[host > 0], 1e-15)
            assert_mutable(xp.bincount(y - 2**40), np.bincount(numbers - 2**40))
            assert xp.bincount(y - 2**40).dtype == np.int64
            assert_mutable(xp.bincount(y - 2**40, x), np.bincount(numbers - 2**40, host), 1e-13)
            assert_mutable(xp.histogram(x, 7)[0], np.histogram(host, 7)[0])
            assert_mutable(xp.histogram(x, 7)[1], np.histogram(host, 7)[1], 1e-15)
            assert_mutable(xp.digitize(x, xp.asarray([-1.0, 0, 1])), np.digitize(host, [-1, 0, 1]))


@pytest.mark.thorough
@pytest.mark.daily("70")
@pytest.mark.parametrize("count", COUNTS)
def test_what_is_missing(count):
    host = numbers_of(count, columns=3)
    host[::3, 1] = np.nan
    host[:, 2] = np.nan
    host[2, 0] = np.inf
    for dtype in ("float32", "complex64", "int32") if count == 33 else ("float32",):
        given = np.where(np.isfinite(host), host, 3) if dtype == "int32" else host
        given = given.astype(dtype)
        for axis in (None, 0, 1) if count == 33 else (0,):
            for name in ("nansum", "nanprod", "nanmean", "nanmax", "nanmin", "nanvar", "nanstd"):
                if dtype == "complex64" and name not in ("nansum", "nanmean"):
                    continue
                if name == "nanprod" or (dtype != "float32" and axis == 1):
                    continue
                check(lambda xp, x, n=name, axis=axis: getattr(xp, n)(x, axis=axis), given, tolerance=1e-4)
    check(lambda xp, x: xp.nanprod(x, axis=0), (host / 5).astype("float32"), tolerance=1e-4)
    check(lambda xp, x: xp.ptp(x, axis=0), numbers_of(count, columns=3))
    check(lambda xp, x: xp.ptp(x), numbers_of(count, "uint8"))


@pytest.mark.thorough
@pytest.mark.parametrize("count", COUNTS)
def test_histograms(count):
    host = numbers_of(count)
    host[3] = 2  # on an edge
    edges = np.asarray([-4, -1, 0, 2, 7], np.float32)
    weights = numbers_of(count, "int32")
    check(lambda xp, x: xp.histogram(x, 5), host)
    check(lambda xp, x: xp.histogram(x, bins=5, range=(-2, 2)), host)
    check(lambda xp, x: xp.histogram(x, xp.asarray(edges)), host)
    check(lambda xp, x: xp.histogram(x, 5, (x[1], x[1] + 1), density=True), host)
    check(lambda xp, x, w: xp.histogram(x, 5, weights=w), host, weights)
    check(lambda xp, x, w: xp.histogram(x, 5, weights=w), host, abs(host))
    check(lambda xp, x: xp.histogram(x, 5), numbers_of(count, "int32", 2))
    check(lambda xp, x: xp.histogram(x, "sturges"), host)
    host[5] = np.nan
    host[6] = np.inf
    check(lambda xp, x: xp.histogram(x, 4, (-1, 1)), host)


@pytest.mark.thorough
@pytest.mark.daily("70")
@pytest.mark.parametrize("count", COUNTS)
def test_counts(count):
    for dtype in ("uint8", "int32"):
        host = abs(numbers_of(count, dtype)) * 3
        check(lambda xp, x: xp.bincount(x), host)
        check(lambda xp, x: xp.bincount(x, minlength=60), host)
        check(lambda xp, x, w: xp.bincount(x, w), host, numbers_of(count))
    check(lambda xp, x: xp.bincount(x), np.full(count, 255, np.uint8))
    check(lambda xp, x: xp.bincount(x), numbers_of(count, "bool"))
    assert has_room(jaxapi.numpy.bincount(jaxapi.numpy.asarray(np.arange(count))))


@pytest.mark.thorough
@pytest.mark.daily("33")
@pytest.mark.parametrize("count", COUNTS)
def test_functions_of_each_element(count):
    host = numbers_of(count)
    host[1] = np.nan
    host[2] = -np.inf
    places = np.asarray([-3, -1, 0, 2.5], np.float32)
    values = np.asarray([1, 5, 2, 2.5], np.float32)
    for right in (False, True):
        check(lambda xp, x, r=right: xp.digitize(x, xp.asarray(places), r), host)
        check(lambda xp, x, r=right: xp.digitize(x, xp.asarray(places[::-1].copy()), right=r), host)
    check(lambda xp, x: xp.interp(x, xp.asarray(places), xp.asarray(values)), host)
    check(lambda xp, x: xp.interp(x, xp.asarray(places), xp.asarray(values), left=7, right=-1), host)
    check(lambda xp, x: xp.interp(x, xp.asarray(places), xp.asarray(values), period=4), np.nan_to_num(host))
    check(lambda xp, x: xp.clip(x, a_min=-1, a_max=2), host)
    check(lambda xp, x: xp.clip(x, min=-1), host)
    check(lambda xp, x: xp.clip(x, max=xp.asarray(values[:1])), host)
    assert has_room(jaxapi.numpy.clip(jaxapi.numpy.asarray(host), max=2))
    numbers = numbers_of(count, "int32")
    check(lambda xp, x: xp.isin(x, [3, 4, 5]), numbers)
    check(lambda xp, x: xp.isin(x, [3.5, 4], invert=True), numbers)
    check(lambda xp, x, y: xp.isin(x, y), numbers_of(count, "int32", 2), numbers_of(40, "int32"))
    check(lambda xp, x, y: xp.isin(x, y), numbers_of(count, "uint8"), numbers_of(19, "int32"))
    check(lambda xp, x: xp.isin(x, x[:3]), host)
    check(lambda xp, x: xp.ediff1d(x), numbers)
    check(lambda xp, x: xp.ediff1d(x, to_begin=xp.asarray([3, 4], dtype="int32")), numbers)


@pytest.mark.thorough
@NAMESPACES
def test_reductions_of_what_is_chosen(xp):
    names = ["sum", "prod", "max", "min", "mean", "std", "var"]
    for count, dtype, columns in (17, "float32", 0), (70, "float32", 3), (33, "int32", 0), (101, "uint8", 0):
        host = (numbers_of(count, dtype, columns) / 4).astype(dtype)
        if dtype == "float32":
            host[3] = np.nan
            host[4] = np.inf
        mask = host < 1
        x = xp.asarray(host)
        for name in names if dtype == "float32" else ("sum", "max", "min", "mean"):
            start = {"initial": 2} if name in ("max", "min") else {}
            axis = 0 if columns else None
            found = getattr(xp, name)(x, axis=axis, where=xp.asarray(mask), **start)
            assert_mutable(found, getattr(np, name)(host, axis=axis, where=mask, **start), 1e-4)
        for name in ("sum", "max"):
            found = getattr(xp, name)(x, initial=2, axis=0)
            assert_mutable(found, getattr(np, name)(host, initial=2, axis=0), 1e-4)
            if columns:
                given = {"initial": 2, "axis": -1, "keepdims": True}
                found = getattr(xp, name)(x, where=mask, **given)
                assert_mutable(found, getattr(np, name)(host, where=mask, **given), 1e-4)
    if xp is jaxapi.numpy:
        assert_mutable(xp.any(x > 1, where=x < 0), np.any(host > 1, where=host < 0))
        assert_mutable(xp.all(x < 1, where=x < 0), np.all(host < 1, where=host < 0))
        assert_mutable(x.sum(where=x > 0), host.sum(where=host > 0))


@pytest.mark.thorough
def test_parts_of_rows_that_are_chosen():
    xp = jaxapi.numpy
    host = numbers_of(33, columns=3)
    x = xp.asarray(host)
    for mask in (True, host[0] > 0, host[:, :1] > 0, np.asarray([True]), np.zeros((33, 3), bool)):
        for axis in (0, None):
            assert_mutable(xp.sum(x, axis, where=mask), np.sum(host, axis, where=mask))
            assert_mutable(
                xp.sum(x, axis, where=mask, initial=2.5), np.sum(host, axis, where=mask, initial=2.5)
            )
    assert_mutable(xp.sum(xp.asarray([1] * 20), initial=2), 22)
    assert_mutable(xp.sum(xp.asarray([1] * 20), initial=2.0), np.sum([1] * 20, initial=2.0))
    for mask, error in (
        (host[:20] > 0, ValueError),
        (np.ones((33, 4), bool), ValueError),
        (np.ones((1, 33, 3), bool), ValueError),
    ):
        for _ in range(2):
            with pytest.raises(error):
                xp.sum(x, where=xp.asarray(mask))
    with pytest.raises(ValueError, match="initial"):
        xp.max(x, where=x > 0)


@pytest.mark.thorough
@pytest.mark.daily("70")
@pytest.mark.parametrize("count", COUNTS)
def test_selections(count):
    host = numbers_of(count)
    host[1] = np.nan
    table = numbers_of(count, columns=3)
    check(lambda xp, x: xp.compress(x > 0, x), host)
    check(lambda xp, x: xp.compress(x[:, 0] > 0, x, axis=0), table)
    check(lambda xp, x: xp.compress(x > 20, x), host)
    check(lambda xp, x: xp.compress(x[:10] > 0, x), host)
    check(lambda xp, x: xp.extract(x > 0, x), host)
    check(lambda xp, x: xp.extract(x > 0, x), table)
    for x in (host, table):
        check(lambda xp, x: xp.argwhere(x > 0), x)
        check(lambda xp, x: xp.flatnonzero(x > 0), x)
        check(lambda xp, x: xp.flip(x, 0), x)


@pytest.mark.daily
@NAMESPACES
def test_rolling(xp):
    for count in COUNTS:
        for host in (numbers_of(count), numbers_of(count, "int32", 2)):
            x = xp.asarray(host)
            for shift in (0, 3, -5, 1000, -1001):
                assert_mutable(xp.roll(x, shift, axis=0), np.roll(host, shift, axis=0))
                assert has_room(xp.roll(x, shift, axis=0))
            assert_mutable(xp.roll(x, 2), np.roll(host, 2))
            if count == COUNTS[0]:
                for shift in (2**40, -(2**33) - 3):  # which int32 does not hold
                    for axis in (None, 0, -1):
                        assert_mutable(xp.roll(x, shift, axis=axis), np.roll(host, shift, axis=axis))
            assert_mutable(xp.roll(x, 1, axis=-1), np.roll(host, 1, axis=-1))
            with pytest.raises(ValueError, match="axis"):
                xp.roll(x, 1, axis=2)


@NAMESPACES
def test_members(xp):
    for count in COUNTS:
        host = numbers_of(count, "int32")
        others = numbers_of(count + 5, "int32")
        found = xp.isin(xp.asarray(host), xp.asarray(others), invert=True)
        assert_mutable(found, np.isin(host, others, invert=True))
        assert_mutable(xp.isin(xp.asarray(host), xp.asarray(others[:3])), np.isin(host, others[:3]))
        assert_mutable(xp.isin(xp.asarray(host)[:3], xp.asarray(others)), np.isin(host[:3], others))
    if xp is mutable:
        with pytest.raises(TypeError):
            xp.isin(xp.asarray(host), xp.asarray(others), True)
        with pytest.raises(OverflowError):
            xp.isin(xp.asarray(host.astype("uint8")), 1000)


@pytest.mark.daily
@NAMESPACES
@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "maximum", "minimum"])
def test_positions_that_come_again(xp, name):
    for count in COUNTS if name == "add" else COUNTS[1:2]:
        values = numbers_of(count) / 4
        places = (np.arange(count) * 7 % 23 - 3).astype("int32")
        for shape in ((25,), (25, 2), (10,)):
            host = np.ones(shape, np.float32)
            x = xp.asarray(host)
            new = np.stack([values, -values], -1) if len(shape) > 1 else values
            where = places % 10 if shape == (10,) else places
            for b, b_of_host in ((xp.asarray(new), new), (xp.asarray(values)[0], values[0]), (2, 2)):
                getattr(xp, name).at(x, xp.asarray(where), b)
                getattr(np, name).at(host, where, b_of_host)
                np.testing.assert_allclose(np.asarray(x), host, rtol=1e-4, atol=1e-4)
    if x.device.platform == "cpu":  # what lies on a GPU is not waited for
        with pytest.raises(IndexError):
            getattr(xp, name).at(x, xp.asarray(np.full(count, 77)), xp.asarray(values))
    with pytest.raises((ValueError, TypeError)):
        getattr(xp, name).at(x, xp.asarray(where), xp.asarray(values[:19]))
    np.testing.assert_allclose(np.asarray(x), host, rtol=1e-4, atol=1e-4)


def test_positions_in_its_own_numbers():
    xp = jaxapi.numpy
    host = numbers_of(70)
    x = xp.asarray(host)
    places = np.arange(70) // 2
    xp.add.at(x, xp.asarray(places), x)
    np.add.at(host, places, host.copy())
    np.testing.assert_allclose(np.asarray(x), host, rtol=1e-5)
    counts = xp.zeros(80, dtype="int32")
    xp.add.at(counts, xp.asarray(places), 1)
    np.testing.assert_array_equal(np.asarray(counts), np.bincount(places, minlength=80))
    xp.add.at(counts, xp.asarray(places), [2] * 70)
    np.testing.assert_array_equal(np.asarray(counts), np.bincount(places, minlength=80) * 3)
    with pytest.raises(TypeError):
        xp.add.at(counts, xp.asarray(places), xp.ones(70, dtype="complex64"))
    with pytest.raises(TypeError):
        mutable.add.at(mutable.zeros(80), mutable.asarray(places), mutable.ones(70, dtype="complex64"))
    counts.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        xp.add.at(counts, xp.asarray(places), xp.ones(70, dtype="int32"))


def test_options_that_are_equal_and_not_the_same():
    """A program for 0.0 is none for -0.0, and NaN is one option."""
    xp = jaxapi.numpy
    host = numbers_of(70)
    host[::7] = np.nan
    host[3] = np.inf
    x = xp.asarray(host)
    assert has_room(x)
    for nan in (0.0, -0.0, 1, True, 1.0, np.nan, np.nan):
        found = np.asarray(xp.nan_to_num(x, nan=nan, posinf=nan))
        expected = np.nan_to_num(host, nan=nan, posinf=nan)
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


@pytest.mark.daily
def test_operands_that_are_no_arrays():
    xp = jaxapi.numpy
    host = numbers_of(70, "int32")
    x = xp.asarray(host)
    for ordered in ([1, 3, 5], np.asarray([1, 3, 5]), [1.5, 2.5], 3):
        check_same_or_error(lambda np, x, ordered=ordered: np.searchsorted(ordered, x), host, x)
    for others in ([1, 3], 3, (1, 2), np.asarray([3]), 2.5):
        check_same_or_error(lambda np, x, others=others: np.isin(x, others), host, x)
        check_same_or_error(lambda np, x, others=others: np.isin(others, x), host, x)
    for counts in (2, [2] * 70, (1, 2), host, abs(host) % 3):
        check_same_or_error(lambda np, x, counts=counts: np.repeat(x, counts), host, x)
    for places in ([0, 69, -70], 70, np.asarray([[1, 2], [3, 4]])):
        check_same_or_error(lambda np, x, places=places: np.take(x, places), host, x)
    for shift in (True, np.int64(3), [1], (1, 2)):
        check_same_or_error(lambda np, x, shift=shift: np.roll(x, shift), host, x)


def check_same_or_error(function, host, x):
    """Compare with NumPy, or see an error where it has one."""
    try:
        expected = function(np, host)
    except Exception:
        with pytest.raises((IndexError, TypeError, ValueError)):
            function(jaxapi.numpy, x)
        return
    np.testing.assert_array_equal(np.asarray(function(jaxapi.numpy, x)), expected)


def test_writes_of_other_dtypes_to_positions_that_come_again():
    xp = jaxapi.numpy
    places = np.arange(70) % 5
    for dtype, other in (
        ("float32", "int32"),
        ("float32", "bool"),
        ("int32", "uint8"),
        ("float64", "float32"),
    ):
        for name in ("add", "maximum", "multiply", "subtract"):
            host = np.arange(1, 8).astype(dtype)
            values = (np.arange(70) % 3).astype(other)
            with jax.enable_x64(True):
                x = xp.asarray(host.copy())
                getattr(xp, name).at(x, xp.asarray(places), xp.asarray(values))
            getattr(np, name).at(host, places, values)
            np.testing.assert_array_equal(np.asarray(x), host)


@pytest.mark.daily
def test_results_written_to_another_array():
    """To a row of the array, a column, an exact array, or all of it: whoever else has it sees it."""
    writes = (
        lambda np, x, y: np.sum(x, axis=0, out=x[0]),
        lambda np, x, y: np.max(x, 0, x[3]),
        lambda np, x, y: np.mean(x[1:], axis=0, out=y),
        lambda np, x, y: np.min(x, axis=1, out=x[:, 1]),
        lambda np, x, y: x.sum(0, out=x[-1]),
        lambda np, x, y: np.cumsum(x, axis=0, out=x),
        lambda np, x, y: np.median(x, axis=0, out=y),
        lambda np, x, y: np.dot(x[:, 0], x, out=y),
        lambda np, x, y: np.nanmax(x, axis=0, out=y[::-1]),
        lambda np, x, y: np.clip(x, -1, 1, out=x),
        lambda np, x, y: np.round(x, 1, out=x),
    )
    for write in writes:
        host, other = numbers_of(70, columns=3), np.zeros(3, np.float32)
        x, y = jaxapi.numpy.asarray(host.copy()), jaxapi.numpy.asarray(jnp.asarray(other))
        assert has_room(x)
        assert_mutable(write(jaxapi.numpy, x, y), write(np, host, other))
        assert_mutable(x, host)
        assert_mutable(y, other)


WRONG = {
    "quantile out of range": lambda xp, x: xp.quantile(x, 2),
    "percentile of an axis": lambda xp, x: xp.percentile(x, 30, axis=3),
    "method": lambda xp, x: xp.percentile(x, 30, method="good"),
    "median of an axis": lambda xp, x: xp.median(x, axis=1),
    "bins": lambda xp, x: xp.histogram(x, 0),
    "range": lambda xp, x: xp.histogram(x, 5, (3, 1)),
    "edges": lambda xp, x: xp.histogram(x, xp.asarray([3, 1, 2])),
    "weights": lambda xp, x: xp.histogram(x, 5, weights=x[:20]),
    "floats": lambda xp, x: xp.bincount(x),
    "negative numbers": lambda xp, x: xp.bincount(x.astype("int32")),
    "minlength": lambda xp, x: xp.bincount(abs(x).astype("int32"), minlength=-1),
    "weights of numbers": lambda xp, x: xp.bincount(abs(x).astype("int32"), x[:20]),
    "unordered bins": lambda xp, x: xp.digitize(x, xp.asarray([3, 1, 2])),
    "a number for bins": lambda xp, x: xp.digitize(x, 0.5),
    "a number for points": lambda xp, x: xp.interp(x, 1.0, 2.0),
    "lengths": lambda xp, x: xp.interp(x, xp.asarray([3, 1]), xp.asarray([3.0])),
    "period": lambda xp, x: xp.interp(x, xp.asarray([1.0, 2]), xp.asarray([3.0, 1]), period=0),
    "condition": lambda xp, x: xp.compress(xp.ones(80, dtype=bool), x),
    "axis of nan": lambda xp, x: xp.nanmax(x, axis=1),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors(name):
    host = numbers_of(70)
    with pytest.raises(Exception) as expected:  # noqa: PT011 (which one it is NumPy says)
        WRONG[name](np, host)
    with pytest.raises(expected.type):
        WRONG[name](jaxapi.numpy, jaxapi.numpy.asarray(host))
