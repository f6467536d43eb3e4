"""Fused functions of arrays with room: as NumPy, statement by statement, and new lengths compile nothing."""

import contextlib

import jax
import numpy as np
import pytest
from compilations import no_compilation
from rooms import NAMESPACES, has_room

import jaxapi.numpy
from jaxapi import mutable

LENGTHS = 70, 66, 81, 93  # of one capacity


def data_of(count, columns=0):
    rng = np.random.default_rng(count)
    data = rng.uniform(-2, 2, (count, columns) if columns else count).astype(np.float32)
    data[::7] = [np.nan, np.inf, 0][count % 3]
    return data


def arrays_in(made):
    return jax.tree.leaves(made, is_leaf=lambda x: isinstance(x, mutable.Array))


def of_numbers(np, x, y):
    return x * 2 - y / x


def masked(np, x, y):
    return np.where(x > y, np.sqrt(np.abs(x)), -np.inf), x < 0


def of_columns(np, table, y):
    return table[:, 0] * y + np.max(table, axis=1)


def beside_each_row(np, table, y):
    return table * y[:, None] + np.asarray([1, 2, 3], dtype="float32")


def both_dtypes(np, x, y):
    return {"low": np.floor(x * 3), "high": np.isnan(y), "same": y}


def centered(np, x, y):
    return x - np.max(x)


def by_size(np, x, y):
    return x / x.size + y


def by_length(np, x, y):
    return x / x.shape[0] + y


def backward(np, x, y):
    return x[::-1] + y


def up_to_each(np, x, y):
    return np.cumulative_sum(x * 0 + 1) + y


def transposed(np, table, y):
    return table.T * y


def standardized(np, x, y):
    return (x - np.mean(x)) / np.std(x) + np.sum(y) / (y.shape[0] - 1)


def in_order(np, x, y):
    return np.sort(x), np.argsort(y), x[np.argsort(y)]


def neighbors(np, x, y):
    return x[1:] - x[:-1], x[-1] + y[2], np.concat([x, y[:3], y])


def of_columns_and_rows(np, table, y):
    gram = table.T @ table
    return {
        "gram": gram,
        "rows": table @ gram,
        "best": np.argmax(table, axis=0),
        "max": np.max(table, axis=1),
    }


def by_columns(np, table, y):
    return table / (table.size // table.shape[0]) + y[:, None]


def reshaped(np, table, y):
    flat = np.reshape(table, (-1,))
    return np.reshape(table, (table.shape[0], -1)) + np.reshape(y, (y.shape[0], 1)), flat - np.max(flat)


def distances(np, table, y):
    return np.min(np.sum((table[:, None] - table[None]) ** 2, axis=-1) + y * 0 + y[:, None] * 0, axis=1)


def counted(np, x, y):
    return np.count_nonzero(x > y), np.any(x > 1), np.all(x == x), np.prod(np.where(x > 0, 1.0, -1.0))


ROW_BY_ROW = of_numbers, masked, of_columns, beside_each_row, both_dtypes
OF_ALL_ROWS = centered, by_size, by_length, backward, up_to_each
OF_ALL_ROWS += (
    standardized,
    in_order,
    neighbors,
    of_columns_and_rows,
    by_columns,
    reshaped,
    distances,
    counted,
)
OF_TABLES = of_columns, beside_each_row, transposed, of_columns_and_rows, by_columns, reshaped, distances
EXACT = (transposed,)


@NAMESPACES
@pytest.mark.parametrize("function", [*ROW_BY_ROW, *OF_ALL_ROWS, *EXACT])
def test_results(xp, function):
    fused = xp.fuse(lambda x, y: function(xp, x, y))
    for count in LENGTHS:
        x = data_of(count + 2, 3 if function in OF_TABLES else 0)
        y = data_of(count + 2)[::-1]
        if function not in ROW_BY_ROW:
            x = np.sin(np.arange(x.size)).reshape(x.shape).astype(np.float32)
            y = np.cos(np.arange(y.size)).astype(np.float32)
        with np.errstate(all="ignore"):
            expected = jax.tree.leaves(function(np, x[:count], y[:count].copy()))
        given = xp.asarray(x)[:count], xp.asarray(y)[:count]
        if function not in EXACT and count != LENGTHS[0]:
            with no_compilation():
                made = fused(*given)
        else:
            made = fused(*given)
        for found, part in zip(arrays_in(made), expected, strict=True):
            has_rows = part.ndim and len(part) >= LENGTHS[1] - 1
            assert has_room(found) == (has_rows and function not in EXACT)
            assert found.shape == part.shape
            assert found.dtype.kind == part.dtype.kind
            np.testing.assert_allclose(np.asarray(found), part, rtol=2e-5, atol=2e-5)


def test_writes_at_positions():
    """Of several values at one position: their product, their largest and their smallest."""

    def function(np, x, y):
        z = x * 1
        places = np.asarray([0, 3, 3, -1])
        np.multiply.at(z, places, y[:4])
        np.maximum.at(z, places + 1, y[:4])
        np.minimum.at(z, -places, y[-4:])
        return z

    fused = jaxapi.numpy.fuse(lambda x, y: function(jaxapi.numpy, x, y))
    for count in LENGTHS:
        x = np.sin(np.arange(count + 2)).astype(np.float32)
        y = np.cos(np.arange(count + 2)).astype(np.float32)
        given = jaxapi.numpy.asarray(x)[:count], jaxapi.numpy.asarray(y)[:count]
        with contextlib.nullcontext() if count == LENGTHS[0] else no_compilation():
            made = fused(*given)
        np.testing.assert_array_equal(np.asarray(made), function(np, x[:count], y[:count]))


BRANCHES = {
    "remainder": lambda n: n % 16 == 0,
    "parity": lambda n: n & 1,
    "equal": lambda n: n == 48,
    "not equal": lambda n: n != 48,
    "of a sum": lambda n: 2 * n + 1 == 97,
    "in a tuple": lambda n: n in (33, 48),
    "in a list of shapes": lambda n: (n,) in [(33,), (48,)],
    "in a set": lambda n: n in {33, 48},
    "in a set of shapes": lambda n: (n,) in {(33,), (48,)},
    "in a range": lambda n: n in range(40, 50),
    "key": lambda n: {40: True, 48: False}.get(n, n == 47),
    "hash": lambda n: hash(n) == 48,
    "string": lambda n: f"{n}" == "48",
    "int": lambda n: int(n) == 48,
    "float": lambda n: float(n) == 48.0,
    "number of a range": lambda n: len(range(n)) == 48,
    "less": lambda n: n < 48,
    "greater": lambda n: n >= 48,
    "maximum": lambda n: max(n, 47) == 48,
    "quotient": lambda n: n // 16 == 3,
    "true quotient": lambda n: n / 2 == 24,
    "class": lambda n: isinstance(n, int),
    "caught": lambda n: caught(n),
    "a number of rows": lambda n: n > 10_000,  # which none of these is
}


def caught(n):
    try:
        return n == 48
    except Exception:
        return True


@NAMESPACES
@pytest.mark.parametrize("decides", BRANCHES.values(), ids=BRANCHES.keys())
def test_branches_by_the_number_of_rows(xp, decides):
    """A program for other numbers of rows would take the branch of one of them."""

    def function(np, x):
        return x - np.max(x) if decides(x.shape[0]) else x * 2

    host = np.arange(100, dtype=np.float32)
    with jax.enable_x64(xp is mutable):
        fused = xp.fuse(lambda x: function(xp, x))
        array = xp.asarray(host)
        for count in (40, 48, 47):
            given = array[:count].copy()
            np.testing.assert_array_equal(np.asarray(fused(given)), function(np, host[:count]))


@NAMESPACES
@pytest.mark.parametrize("is_wide", [False, True])
def test_one_program_for_a_decision_that_holds_for_all_rows(xp, is_wide):
    with jax.enable_x64(is_wide):
        fused = xp.fuse(lambda x: x * 3 if x.shape[0] % 16 == 0 else x * 2)
        whole = xp.fuse(lambda x: x - xp.max(x) if x.shape[0] == 1000 or x.size < 3 else x * x.shape[0])
        host = np.arange(100, dtype=np.float64 if is_wide else np.float32)
        array = xp.asarray(host)
        for count in range(17, 100, 9):
            expected = host[:count] * (2 if count % 16 else 3)
            np.testing.assert_array_equal(np.asarray(fused(array[:count].copy())), expected)
            made = whole(array[:count].copy())
            assert has_room(made) or count in (24, 32, 48, 64, 96)
            np.testing.assert_array_equal(np.asarray(made), host[:count] * count)


@NAMESPACES
def test_numbers_of_rows_that_a_dtype_does_not_hold(xp):
    fused = xp.fuse(lambda x: x + x.shape[0])
    for count in (100, 127, 90):
        host = np.zeros(count, np.int8)
        np.testing.assert_array_equal(np.asarray(fused(xp.asarray(host))), host + count)
    with pytest.raises(OverflowError):
        fused(xp.asarray(np.zeros(130, np.int8)))
    with jax.enable_x64(False):
        large = xp.fuse(lambda x: x + x.shape[0] * 2**25)
        host = np.zeros(60, np.int32)
        np.testing.assert_array_equal(np.asarray(large(xp.asarray(host))), host + 60 * 2**25)
        with pytest.raises(OverflowError):
            large(xp.asarray(np.zeros(70, np.int32)))


def add_scaled(np, x, y):
    y += 2 * x


def replace(np, x, y):
    y[...] = np.abs(x)


def replace_negative(np, x, y):
    y[x < 0] = 7


def replace_columns(np, x, y):
    y[:, 0] = x[:, 1] + 1
    y[:, 2] = 5


def both(np, x, y):
    x *= y
    y -= x
    return x + y


@NAMESPACES
@pytest.mark.parametrize("target", ["array", "view", "exact"])
@pytest.mark.parametrize("function", [add_scaled, replace, replace_negative, replace_columns, both])
def test_arguments_that_change(xp, function, target):
    fused = xp.fuse(lambda x, y: function(xp, x, y))
    columns = 3 if function is replace_columns else 0
    for count in LENGTHS[:2]:
        host_x, host_y = data_of(count + 5, columns), data_of(count + 9, columns)
        x = xp.asarray(host_x)[3 : count + 3] * 1
        owner = xp.asarray(host_y)
        y = owner[2 : count + 2]
        if target == "array":
            y = y * 1
        elif target == "exact":
            y = xp.asarray(jax.numpy.asarray(host_y[2 : count + 2]))
        expected_x, expected_y = host_x[3 : count + 3].copy(), host_y[2 : count + 2].copy()
        with np.errstate(all="ignore"):
            expected = function(np, expected_x, expected_y)
        held = jax.numpy.asarray(y)
        before = np.asarray(held).copy()
        made = fused(x, y)
        np.testing.assert_allclose(np.asarray(x), expected_x, rtol=1e-6)
        np.testing.assert_allclose(np.asarray(y), expected_y, rtol=1e-6)
        np.testing.assert_array_equal(np.asarray(held), before)
        if expected is None:
            assert made is None
        else:
            np.testing.assert_allclose(np.asarray(made), expected, rtol=1e-6)
        if target == "view" and xp is jaxapi.numpy:
            host_y[2 : count + 2] = expected_y
            np.testing.assert_allclose(np.asarray(owner), host_y, rtol=1e-6)
        if target == "array":
            assert has_room(y)


@NAMESPACES
def test_results_share_no_memory(xp):
    fused = xp.fuse(lambda x, y: (x, y, x))
    host = data_of(70)
    x = xp.asarray(host)
    first, number, second = fused(x, 2.5)
    assert float(number) == 2.5
    first[3] = 100
    second[4] = 200
    x[5] = 300
    for array, place, number in ((first, 3, 100), (second, 4, 200), (x, 5, 300)):
        expected = host.copy()
        expected[place] = number
        np.testing.assert_array_equal(np.asarray(array), expected)


@NAMESPACES
def test_other_arguments(xp):
    fused = xp.fuse(lambda x, y: x * y)
    host = data_of(70)
    x = xp.asarray(host)
    others = [2, 2.5, True, np.float32(3), np.int64(3), 1000, xp.asarray(2.5), xp.asarray(host[:1])]
    others += [x, x[:], jax.numpy.asarray(host), host, xp.asarray(host * 2)]
    exact = xp.asarray(jax.numpy.asarray(host))
    for other in others:
        with np.errstate(all="ignore"):
            expected = host * np.asarray(other)
        dtype = fused(exact, other).dtype
        for found in (fused(x, other), fused(y=other, x=x)):
            assert found.dtype == dtype
            assert not found._value.weak_type
            np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-6)
    for other in (xp.asarray(data_of(69)), xp.asarray(data_of(71, 3))):
        with pytest.raises(ValueError, match=r"broadcast|[Ii]ncompatible"):
            fused(x, other)
    square = xp.asarray(data_of(70, 70))
    np.testing.assert_array_equal(np.asarray(fused(square, x)), data_of(70, 70) * host)


def lengths_in_a_loop(x):
    return x + jax.lax.fori_loop(0, 2, lambda i, total: total + x.shape[0], 0)


def ones_in_a_loop(x):
    ones = jax.lax.fori_loop(0, 3, lambda i, total: total + jax.numpy.ones(x.shape[0]).sum(), 0.0)
    return x + ones


@NAMESPACES
@pytest.mark.parametrize(("function", "times"), [(lengths_in_a_loop, 2), (ones_in_a_loop, 3)])
def test_loops_that_use_the_number_of_rows(xp, function, times):
    fused = xp.fuse(function)
    for count in LENGTHS[:2]:
        host = np.arange(count, dtype=np.float32)
        np.testing.assert_array_equal(np.asarray(fused(xp.asarray(host))), host + times * count)


@NAMESPACES
@pytest.mark.parametrize("dtype", ["float64", "int64", "complex128"])
def test_64_bits_without_x64_mode(xp, dtype):
    with jax.enable_x64(False):
        fused = xp.fuse(lambda x, y: x * y + x)
        for count in LENGTHS[:2]:
            host = (np.arange(count) * 1.1).astype(dtype)
            found = fused(xp.asarray(host), xp.asarray(host))
            assert found.dtype == dtype
            np.testing.assert_allclose(np.asarray(found), host * host + host, rtol=1e-15)


def smoothed(xp, places, x, y):
    weights = xp.exp(-((places[:, None] - x[None, :]) ** 2))
    return weights @ y / xp.sum(weights, axis=1)


def joined(xp, places, x, y):
    return xp.concat([x[1:], places * xp.sum(y), x / x.shape[0]])


def nearest(xp, places, x, y):
    return xp.argmin(xp.abs(places[:, None] - x[None, :]), axis=1), xp.max(places) - xp.sum(y) / y.shape[0]


def of_all_pairs(xp, places, x, y):
    return xp.mean(places[:, None] * x[None, :])


@NAMESPACES
@pytest.mark.parametrize("function", [smoothed, joined, nearest, of_all_pairs])
def test_two_lengths(xp, function):
    fused = xp.fuse(lambda places, x, y: function(xp, places, x, y))
    rng = np.random.default_rng(0)
    for first, second in ((17, 70), (70, 17), (70, 73), (73, 73)):
        hosts = [rng.normal(size=n).astype(np.float32) for n in (first, second, second)]
        found = fused(*map(xp.asarray, hosts))
        expected = function(np, *hosts)
        parts = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
        for made, right in parts:
            np.testing.assert_allclose(np.asarray(made), right, rtol=1e-4, atol=1e-5)


def test_errors_are_those_of_exact_arrays():
    @mutable.fuse
    def changes(x, y):
        y += x

    added = mutable.fuse(lambda x, y: x + y)
    with pytest.raises(ValueError, match="73"):
        added(mutable.asarray(data_of(70)), mutable.asarray(data_of(73)))
    x = mutable.asarray(data_of(70))
    with pytest.raises(TypeError, match="cannot be changed"):
        changes(x, jax.numpy.asarray(data_of(70)))
    read_only = mutable.asarray(data_of(70))
    read_only.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        changes(x, read_only)
    np.testing.assert_array_equal(np.asarray(read_only), data_of(70))

    @mutable.fuse
    def fails(x):
        raise KeyError(x.shape)

    with pytest.raises(KeyError, match="70"):
        fails(x)
