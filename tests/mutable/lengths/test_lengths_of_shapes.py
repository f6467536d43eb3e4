"""Functions that depend on shapes alone, of arrays with room: NumPy's results, and nothing compiled twice."""

import warnings

import jax.numpy as jnp
import numpy as np
import pytest
from compilations import no_compilation
from jax import lax
from rooms import AT_ONCE, has_room, poison_rooms

import jaxapi.numpy
from jaxapi import mutable


def changed(x, change):
    x = x.copy()
    change(x)
    return x


def written(x, key, new):
    return changed(x, lambda copy: copy.__setitem__(key, new))


# Of a table (n, 3), a vector and integers of as many elements.
VECTORS = [
    lambda xp, x, v, k: xp.gradient(v),
    lambda xp, x, v, k: xp.gradient(v, 2.0, edge_order=2),
    lambda xp, x, v, k: xp.gradient(x, axis=0),
    lambda xp, x, v, k: xp.trapezoid(v),
    lambda xp, x, v, k: xp.trapezoid(v, xp.cumsum(abs(v))),
    lambda xp, x, v, k: xp.trapezoid(x, axis=0),
    lambda xp, x, v, k: xp.unwrap(v * 3),
    lambda xp, x, v, k: xp.diff(v, n=2, append=v[:1]),
    lambda xp, x, v, k: xp.pad(v, (2, 1)),
    lambda xp, x, v, k: xp.append(v, v),
    lambda xp, x, v, k: xp.polyval(xp.asarray([1.0, -2, 0.5], dtype="float32"), v),
    lambda xp, x, v, k: xp.vander(v, 3),
    lambda xp, x, v, k: xp.sinc(v),
    lambda xp, x, v, k: xp.lexsort((v, k)),
    lambda xp, x, v, k: xp.median(v),
    lambda xp, x, v, k: xp.nanargmax(v),
]
TABLES = [
    lambda xp, x, v, k: xp.select([x > 1, x < -1], [x, -x], 0.5),
    lambda xp, x, v, k: xp.hstack([x, x]),
    lambda xp, x, v, k: xp.vstack([x, x[::-1]]),
    lambda xp, x, v, k: xp.column_stack([v, x]),
    lambda xp, x, v, k: xp.dstack([x, x]),
    lambda xp, x, v, k: xp.tile(x, (1, 2)),
    lambda xp, x, v, k: xp.kron(x, xp.asarray([[1, 2]], dtype="float32")),
    lambda xp, x, v, k: xp.tril(x),
    lambda xp, x, v, k: xp.triu(x, -2),
    lambda xp, x, v, k: xp.trace(x, offset=-1),
    lambda xp, x, v, k: xp.nan_to_num(x, nan=2),
    lambda xp, x, v, k: xp.nancumsum(x, axis=0),
    lambda xp, x, v, k: xp.isclose(x, x * (1 + 1e-6)),
    lambda xp, x, v, k: xp.fft.rfft(x, axis=1),
    lambda xp, x, v, k: xp.fft.fft2(xp.stack([x, x], axis=2), axes=(1, 2)),
    lambda xp, x, v, k: xp.median(x, axis=0),
    lambda xp, x, v, k: xp.einsum("ij,ik->jk", x, x),
    lambda xp, x, v, k: xp.einsum("ij,i->j", x, v),
    lambda xp, x, v, k: xp.matvec(x.T, v),
    lambda xp, x, v, k: xp.sum(x, axis=1, keepdims=True) + xp.sum(x.T, axis=0)[:, None],
    lambda xp, x, v, k: xp.linalg.solve(xp.asarray(np.eye(3, dtype="float32") * 2), x.T),
    lambda xp, x, v, k: xp.linalg.svd(x - xp.mean(x, axis=0), full_matrices=False).S,
]
PADDED = [
    lambda xp, x, v, k: xp.pad(v, (2, 3), mode="edge"),
    lambda xp, x, v, k: xp.pad(v, (2, 3), mode="wrap"),
    lambda xp, x, v, k: xp.pad(x, ((2, 3), (1, 5)), mode="symmetric"),
    lambda xp, x, v, k: xp.pad(v, (2, 3), mode="reflect"),
    lambda xp, x, v, k: xp.pad(v, 2, mode="reflect", reflect_type="odd"),
    lambda xp, x, v, k: xp.pad(v, 2, mode="mean", stat_length=4),
    lambda xp, x, v, k: xp.pad(k, 2, mode="linear_ramp", end_values=50),
    lambda xp, x, v, k: xp.tile(v, 2),
    lambda xp, x, v, k: xp.repeat(x, 3, axis=0),
    lambda xp, x, v, k: xp.roll(x, 2, axis=1),
]
LEFT_OUT = [
    lambda xp, x, v, k: xp.delete(v, [3, -1, 3]),
    lambda xp, x, v, k: xp.delete(x, 5, axis=0),
    lambda xp, x, v, k: xp.delete(x, 1, axis=1),
    lambda xp, x, v, k: xp.delete(v, slice(0, 6, 2)),
    lambda xp, x, v, k: xp.insert(v, [3, 0, -1], [1, 2, 3]),
    lambda xp, x, v, k: xp.insert(x, [5], [[1, 2, 3], [4, 5, 6]], axis=0),
    lambda xp, x, v, k: xp.insert(x, 1, v, axis=1),
    lambda xp, x, v, k: xp.insert(k, 2, 4),
]
FOLDED = [
    lambda xp, x, v, k: xp.add.reduce(x),
    lambda xp, x, v, k: xp.subtract.reduce(v),
    lambda xp, x, v, k: xp.hypot.reduce(x, axis=1),
    lambda xp, x, v, k: xp.gcd.reduce(k + 1),
    lambda xp, x, v, k: xp.maximum.accumulate(v),
    lambda xp, x, v, k: xp.subtract.accumulate(x),
    lambda xp, x, v, k: xp.average(x, axis=0, weights=abs(v)),
    lambda xp, x, v, k: xp.average(x, axis=0, weights=abs(v), returned=True)[1],
    lambda xp, x, v, k: xp.corrcoef(x.T),
    lambda xp, x, v, k: xp.corrcoef(v, v * v),
    lambda xp, x, v, k: xp.cov(x, rowvar=False, fweights=k, aweights=abs(v)),
]
SLID = [
    lambda xp, x, v, k: xp.convolve(v, xp.asarray([1, 2, 1], dtype="float32"), "same"),
    lambda xp, x, v, k: xp.convolve(xp.asarray([1, 2, 4], dtype="float32"), v, "valid"),
    lambda xp, x, v, k: xp.convolve(k, xp.asarray([1, 2, 1], dtype="int32")),
    lambda xp, x, v, k: xp.correlate(xp.asarray([1, 2, 4], dtype="float32"), v, "full"),
    lambda xp, x, v, k: xp.fft.rfft(v, 128),
]
TAKEN = [
    lambda xp, x, v, k: xp.take_along_axis(x, xp.argsort(x, axis=1), 1),
    lambda xp, x, v, k: xp.take_along_axis(x, xp.argsort(x, axis=0), 0),
    lambda xp, x, v, k: xp.take(x, xp.asarray([0, 2]), axis=1),
    lambda xp, x, v, k: xp.choose(k % 2, [v, -v]),
    lambda xp, x, v, k: xp.choose(k, [v, 1.0], mode="clip"),
    lambda xp, x, v, k: xp.diagonal(x, -1),
    lambda xp, x, v, k: xp.meshgrid(v, xp.asarray([1.0, 2], dtype="float32"))[0],
    lambda xp, x, v, k: xp.sort(xp.partition(v, 3)),
    lambda xp, x, v, k: xp.unravel_index(k, (3, 4))[1],
    lambda xp, x, v, k: xp.ediff1d(v, to_end=3.0),
    lambda xp, x, v, k: xp.intersect1d(k, k[:30]),
    lambda xp, x, v, k: xp.union1d(k, k + 3),
    lambda xp, x, v, k: xp.setdiff1d(k, xp.asarray([1, 7])),
]
RESHAPED = [
    lambda xp, x, v, k: xp.ravel(x) * 2,
    lambda xp, x, v, k: x.T.ravel() + 1,
    lambda xp, x, v, k: xp.reshape(x, -1, order="F"),
    lambda xp, x, v, k: xp.reshape(x, (-1,)).sum(),
    lambda xp, x, v, k: x.reshape(-1)[7:] * 2,
    lambda xp, x, v, k: x.ravel()[k],
    lambda xp, x, v, k: x.flatten().reshape(-1, 3),
    lambda xp, x, v, k: v[: len(v) // 2 * 2].reshape(-1, 2).mean(axis=1),
    lambda xp, x, v, k: x[: len(x) // 4 * 4].reshape(-1, 12) + 1,
    lambda xp, x, v, k: xp.rot90(x) * 2,
    lambda xp, x, v, k: xp.atleast_2d(v) - 1,
    lambda xp, x, v, k: xp.lib.stride_tricks.sliding_window_view(v, 5).mean(axis=1),
    lambda xp, x, v, k: xp.lib.stride_tricks.sliding_window_view(x, 4, axis=0) * 2,
    lambda xp, x, v, k: x[1:, ::-1].T * v[1:],
]
AT_POSITIONS = [
    lambda xp, x, v, k: x[[3, -1, 4]],
    lambda xp, x, v, k: v[[5]] * 2,
    lambda xp, x, v, k: x[[3, 4], 1],
    lambda xp, x, v, k: x[[k[5] + 3, 4], range(2)],
    lambda xp, x, v, k: x[:, [2, 0]] - 1,
    lambda xp, x, v, k: x[..., np.asarray([True, False, True])],
    lambda xp, x, v, k: x[k, 1],
    lambda xp, x, v, k: x[xp.arange(len(x)), k % 3],
    lambda xp, x, v, k: x[xp.arange(len(x)) % 2 == 0, 2],
    lambda xp, x, v, k: x[np.asarray([[3, 4], [5, -6]])],
    lambda xp, x, v, k: v[[]],
    lambda xp, x, v, k: xp.take(x, k),
    lambda xp, x, v, k: xp.take(x, [3, 5]),
    lambda xp, x, v, k: xp.take(x, -2, axis=0),
    lambda xp, x, v, k: written(x, [3, -4], 7),
    lambda xp, x, v, k: written(x, ([3, -4], 1), [5, 6]),
    lambda xp, x, v, k: written(x, (slice(None), [2, 0]), x[:, :2] * 2),
    lambda xp, x, v, k: written(x, (k > 3, 0), 7),
    lambda xp, x, v, k: written(x, (xp.arange(len(x)), k % 3), v),
    lambda xp, x, v, k: written(v, k, 7),
    lambda xp, x, v, k: written(v, xp.argsort(v), v * 2),
    lambda xp, x, v, k: written(v, [3, 5, 3], [1, 2, 3]),
    lambda xp, x, v, k: written(xp.asarray(np.zeros(9, "float32")), k, 1.5),
    lambda xp, x, v, k: written(x, [2, 3], x[5]),
]
LOOKED_UP = [
    lambda xp, x, v, k: xp.interp(xp.asarray([0.1, 2.5, 90], dtype="float32"), xp.cumsum(abs(v)), v),
    lambda xp, x, v, k: xp.interp(v, xp.cumsum(abs(v)), x[:, 1], left=-7),
    lambda xp, x, v, k: xp.interp(v * 5, v, x[:, 1], period=2.5),
    lambda xp, x, v, k: xp.digitize(xp.asarray([-1.0, 0.1, 9], dtype="float32"), xp.sort(v)),
    lambda xp, x, v, k: xp.digitize(v, xp.sort(x[:, 1])[::-1], right=True),
    lambda xp, x, v, k: xp.histogram2d(v, x[:, 1], 5)[0],
    lambda xp, x, v, k: xp.histogramdd(x, (3, 2, 4), weights=abs(v))[0],
    lambda xp, x, v, k: xp.histogramdd(x, 3, density=True)[1][2],
    lambda xp, x, v, k: xp.histogram(v, "sqrt")[0][:5],
    lambda xp, x, v, k: xp.polyfit(v, x[:, 1], 1),
    lambda xp, x, v, k: xp.quantile(v, 0.3, weights=abs(x[:, 1]), method="inverted_cdf"),
    lambda xp, x, v, k: xp.percentile(x, [30, 60], axis=0, weights=abs(v), method="inverted_cdf"),
    lambda xp, x, v, k: xp.ravel_multi_index((k, k % 2), (9, 2)),
    lambda xp, x, v, k: xp.packbits(x > 0, axis=1),
    lambda xp, x, v, k: xp.broadcast_arrays(v[:, None], x)[0] * 2,
    lambda xp, x, v, k: xp.repeat(x, [1, 0, 2], axis=1),
    lambda xp, x, v, k: xp.where(xp.array_equiv(x, x[:1]), 1, 2),
]
FILLED = [
    lambda xp, x, v, k: xp.zeros_like(x) + v[:, None],
    lambda xp, x, v, k: xp.ones_like(v, dtype="int32"),
    lambda xp, x, v, k: xp.piecewise(v, [v < -0.2, v > 0.3], [lambda e: -e, lambda e: e * 2, 7]),
    lambda xp, x, v, k: changed(v, lambda a: xp.copyto(a, 2, where=a > 0)),
    lambda xp, x, v, k: changed(x, lambda a: xp.copyto(a, v[:, None])),
    lambda xp, x, v, k: changed(v, lambda a: xp.putmask(a, a > 0, [1, 2, 3])),
    lambda xp, x, v, k: changed(x, lambda a: xp.putmask(a, a > 0, 7)),
    lambda xp, x, v, k: changed(v, lambda a: xp.place(a, a > -2, [1, 2, 3])),
    lambda xp, x, v, k: changed(v, lambda a: xp.put(a, [3, -4, 5], [1, 2])),
    lambda xp, x, v, k: changed(v, lambda a: xp.put(a, k * 20, 1, mode="wrap")),
]
CALLED = [
    lambda xp, x, v, k: xp.vectorize(lambda e: e * 2 + 1)(v),
    lambda xp, x, v, k: xp.vectorize(lambda e, f: e * f)(v, k),
    lambda xp, x, v, k: xp.apply_along_axis(lambda row: row.sum() * 2, 1, x),
    lambda xp, x, v, k: xp.apply_along_axis(lambda row: row[::-1] - row.mean(), -1, x),
    lambda xp, x, v, k: xp.trim_zeros(xp.where(abs(k - 4) < 3, k, 0) * 1),
    lambda xp, x, v, k: xp.trim_zeros(v * (xp.arange(len(v)) > 2), "f"),
    lambda xp, x, v, k: xp.trim_zeros(v * 0),
    lambda xp, x, v, k: xp.c_[v, x],
    lambda xp, x, v, k: xp.r_[v, k],
]
# What JAX cannot trace, called for one element or row after another.
UNTRACED = [
    lambda xp, x, v, k: xp.vectorize(lambda e: e * 2 if e > 0 else -e)(v),
    lambda xp, x, v, k: xp.apply_along_axis(lambda row: row.max() if row[0] > 0 else 0, 1, x),
]
# What is of values raises for some of them.
REFUSED = [
    (ZeroDivisionError, lambda xp, x, v, k: xp.average(x, axis=0, weights=v * 0)),
    (IndexError, lambda xp, x, v, k: xp.take_along_axis(x, k[:, None], 1)),
    (IndexError, lambda xp, x, v, k: xp.take(x, k, axis=1)),
    (ValueError, lambda xp, x, v, k: xp.choose(k, [v, -v])),
    (ValueError, lambda xp, x, v, k: xp.cov(x, rowvar=False, fweights=-1 - k)),
    (IndexError, lambda xp, x, v, k: xp.delete(v, len(v))),
    (IndexError, lambda xp, x, v, k: xp.insert(v, -len(v) - 1, 2)),
    (ValueError, lambda xp, x, v, k: xp.digitize(v[:3], v)),
    (ValueError, lambda xp, x, v, k: xp.quantile(v, 0.3, weights=v, method="inverted_cdf")),
    (ValueError, lambda xp, x, v, k: xp.histogram2d(v, v / 0 - v / 0, 5)),
    (ValueError, lambda xp, x, v, k: xp.histogram2d(v, v, [v, 5])),
    (ValueError, lambda xp, x, v, k: xp.ravel_multi_index((k, k), (9, 2))),
    (IndexError, lambda xp, x, v, k: x[[3, len(x)]]),
    (IndexError, lambda xp, x, v, k: x[:, [3]]),
    (IndexError, lambda xp, x, v, k: x[k, len(x)]),
    (IndexError, lambda xp, x, v, k: x[[1, 2], [0, 1, 2]]),
    (IndexError, lambda xp, x, v, k: xp.take(v, [-len(v) - 1])),
    (IndexError, lambda xp, x, v, k: written(v, [len(v)], 7)),
    (ValueError, lambda xp, x, v, k: written(v, [3, 4], [1, 2, 3])),
    (ValueError, lambda xp, x, v, k: written(x, k, v[:4])),
]
DECISIONS = [
    lambda xp, x, v, k: xp.allclose(x, x * (1 + 1e-7)),
    lambda xp, x, v, k: xp.allclose(v, v + 1),
    lambda xp, x, v, k: xp.array_equal(k, k),
    lambda xp, x, v, k: xp.array_equal(v, -v),
]
STATEMENTS = [*VECTORS, *TABLES, *PADDED, *LEFT_OUT, *FOLDED, *SLID, *TAKEN, *RESHAPED, *AT_POSITIONS]
STATEMENTS += [*LOOKED_UP, *FILLED, *CALLED]
VIEWS = [
    lambda x: x.T,
    lambda x: x[5:],
    lambda x: x[:-3, 1],
    lambda x: x[:, ::-1],
    lambda x: x[::-2],
    lambda x: x[3],
    lambda x: x[:, None, 1:],
    lambda x: x[4:][::2].T,
    lambda x: x.T[1],
    lambda x: x.reshape(-1)[7:],
    lambda x: x[2:2],
]


def arrays(xp, count):
    rng = np.random.default_rng(count)
    x = rng.normal(size=(count, 3)).astype("float32")
    return xp.asarray(x), xp.asarray(x[:, 0].copy()), xp.asarray(rng.integers(0, 9, count).astype("int32"))


@pytest.fixture(autouse=True)
def rooms(request, monkeypatch):
    """Run each test once, poisoned if it does not count compilations."""
    if "compile" not in request.node.name:
        poison_rooms(monkeypatch, exact_up_to=16)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def check(statement, count):
    expected = statement(np, *arrays(np, count))
    found = statement(jaxapi.numpy, *arrays(jaxapi.numpy, count))
    assert found.shape == expected.shape
    assert found.dtype.kind == expected.dtype.kind
    np.testing.assert_allclose(np.asarray(found), expected, rtol=2e-4, atol=2e-4)


@pytest.mark.daily
def test_of_a_vector():
    for statement in VECTORS:
        check(statement, 70)


@pytest.mark.daily
def test_of_a_table():
    for statement in TABLES:
        check(statement, 70)


@pytest.mark.daily
@pytest.mark.parametrize(
    "statements",
    [PADDED, LEFT_OUT, FOLDED, SLID, TAKEN, RESHAPED, AT_POSITIONS, LOOKED_UP, FILLED, CALLED, UNTRACED],
)
def test_of_parts(statements):
    for statement in statements:
        check(statement, 70)


def test_values_are_refused():
    for error, statement in REFUSED:
        with pytest.raises(error) as expected:
            statement(np, *arrays(np, 70))
        with pytest.raises(error) as found:
            statement(jaxapi.numpy, *arrays(jaxapi.numpy, 70))
        assert type(found.value) is type(expected.value)


def test_positions_are_operands_and_compile_nothing():
    v = arrays(jaxapi.numpy, 70)[1]
    host = arrays(np, 70)[1]
    jaxapi.numpy.delete(v, 3), jaxapi.numpy.insert(v, 3, 2.0)
    with no_compilation():
        found = [(jaxapi.numpy.delete(v, i), jaxapi.numpy.insert(v, i, 2.0)) for i in (0, 9, -1, 69)]
    for i, (without, more) in zip((0, 9, -1, 69), found, strict=True):
        np.testing.assert_array_equal(np.asarray(without), np.delete(host, i))
        np.testing.assert_array_equal(np.asarray(more), np.insert(host, i, 2.0))


@pytest.mark.thorough
def test_of_other_numbers_of_rows():
    """As many rows as columns squared, as the other operand, and one below and above a power of 2."""
    for count in (17, 63):
        for statement in STATEMENTS:
            check(statement, count)


def test_decisions():
    for statement in DECISIONS:
        found = statement(jaxapi.numpy, *arrays(jaxapi.numpy, 70))
        assert type(found) is bool
        assert found is bool(statement(np, *arrays(np, 70)))


def test_arrays_that_are_as_long_by_accident():
    """A matrix of as many rows as the table, or fewer, is summed over; a number may be that of the rows."""
    xp = jaxapi.numpy
    rng = np.random.default_rng(0)
    for count in (21, 22, 70):
        x = rng.normal(size=(count, 21)).astype("float32")
        weights = rng.normal(size=(21, 5)).astype("float32")
        for of_weights in (xp.asarray(weights), weights):
            found = xp.asarray(x) @ of_weights
            assert has_room(found)
            np.testing.assert_allclose(np.asarray(found), x @ weights, rtol=1e-4, atol=1e-4)
        np.testing.assert_array_equal(np.asarray(xp.pad(xp.asarray(x), (21, 0))), np.pad(x, (21, 0)))


def test_a_number_that_is_that_of_the_rows_changes_no_dtype():
    _, v, k = arrays(jaxapi.numpy, 70)
    _, host, numbers = arrays(np, 70)
    for xp, given, integers in ((jaxapi.numpy, v, k), (np, host, numbers)):
        made = xp.select([given > 0], [given], 70), xp.max(integers, initial=70), xp.trapezoid(given, dx=70)
        assert [each.dtype for each in made] == [np.float32, np.int32, np.float32]


JOINED = [
    lambda xp, x, y: xp.concat([x, y[1:], x]),
    lambda xp, x, y: xp.concat([x[:, None], y[:, None]]),
    lambda xp, x, y: xp.sort(xp.concat([y, x])),
    lambda xp, x, y: xp.sum(x) - xp.vecdot(y, y),
]
JOINED_BY_NUMPY = [
    lambda xp, x, y: xp.append(x, y),
    lambda xp, x, y: xp.hstack([x, y, y]),
    lambda xp, x, y: xp.union1d(x, y),
    lambda xp, x, y: xp.einsum("i,j->i", x, y),
    lambda xp, x, y: xp.setdiff1d(x, y[::2]),
]


@pytest.mark.daily
def test_two_lengths():
    for first, second in ((17, 70), (70, 17), (70, 73)):
        hosts = [arrays(np, first)[1], arrays(np, second)[1]]
        for xp in (jaxapi.numpy, mutable):
            given = list(map(xp.asarray, hosts))
            for statement in JOINED if xp is mutable else [*JOINED, *JOINED_BY_NUMPY]:
                found = np.asarray(statement(xp, *given))
                np.testing.assert_allclose(found, statement(np, *hosts), rtol=1e-4, atol=1e-4)


def test_rows_that_do_not_count_do_not_add_up():
    """What is appended again and again has a buffer for what counts."""
    for xp in (jaxapi.numpy, mutable):
        host = arrays(np, 70)[1]
        x = xp.asarray(host)
        for count in range(17, 40):
            more = arrays(np, count)[1]
            x = xp.concat([x, xp.asarray(more)])
            host = np.concatenate([host, more])
        np.testing.assert_array_equal(np.asarray(x), host)
        assert len(x._rows().value) <= 2 * len(x)


def test_errors_are_those_of_exact_arrays():
    xp = jaxapi.numpy
    x, v, _ = arrays(xp, 70)
    with pytest.raises(ValueError, match="70"):
        xp.matmul(x, v)
    with pytest.raises(ValueError, match="axis 2 is out of bounds"):
        xp.median(x, axis=2)
    with pytest.raises(ValueError, match="dimensions"):
        xp.hstack([x, v])


def test_results_are_written_to_out():
    xp = jaxapi.numpy
    x, v, _ = arrays(np, 70)
    given = xp.asarray(x)
    total = xp.zeros(3, dtype=np.float32)
    sums = xp.asarray(np.zeros(70, np.float32))
    for made, out in (
        (xp.mean(given, axis=0, out=total), total),
        (xp.mean(given, 0, None, total), total),
        (xp.cumsum(xp.asarray(v), out=sums), sums),
    ):
        assert made is out
    np.testing.assert_allclose(np.asarray(total), x.mean(axis=0), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(np.asarray(sums), np.cumsum(v), rtol=1e-5, atol=1e-5)


def test_what_is_written_to_an_array_is_seen_in_another_shape():
    x = jaxapi.numpy.asarray(arrays(np, 70)[0])
    flat = x.reshape(-1)
    read = np.asarray(flat), np.asarray(flat * 1)
    x[5:] = 0
    flat[3] = 7
    assert np.asarray(x)[1, 0] == 7
    np.testing.assert_array_equal(np.asarray(flat * 1), np.asarray(x).reshape(-1))
    for before in read:
        np.testing.assert_array_equal(before, arrays(np, 70)[0].reshape(-1))


def test_views_are_read():
    for count in (17, 70):
        host = arrays(np, count)[0]
        x = jaxapi.numpy.asarray(host)
        for view in VIEWS:
            np.testing.assert_array_equal(np.asarray(view(x)), view(host))
        x[6:] += 1
        np.testing.assert_array_equal(
            np.asarray(x[5:].T, dtype="float64"), (host + (np.arange(count) > 5)[:, None])[5:].T
        )
        z = jaxapi.numpy.asarray(host[:, 0] + 1j * host[:, 1])
        np.testing.assert_array_equal(np.asarray(z.imag), host[:, 1])
        np.testing.assert_array_equal(np.asarray(z[3:].real[::2]), host[3::2, 0])


@pytest.mark.daily
@AT_ONCE
def test_new_lengths_compile_nothing():
    def run(count):
        given = arrays(jaxapi.numpy, count)
        return [np.shape(statement(jaxapi.numpy, *given)) for statement in (*STATEMENTS, *DECISIONS)]

    for count in (80, 84, 90, 96):
        run(count)
    with no_compilation():
        shapes = run(85)
    given = arrays(np, 85)
    assert shapes == [np.shape(statement(np, *given)) for statement in (*STATEMENTS, *DECISIONS)]


def test_loops_of_a_known_length():
    """A loop by `lax.scan` that carries rows: no number of rows decides how often it runs."""

    def program(x):
        def step(carried, number):
            return carried * 0.5 + number, (carried.sum(), carried)

        carried, (sums, values) = lax.scan(step, jnp.asarray(x), jnp.arange(4.0))
        return carried + values.sum(0), sums

    fused = mutable.fuse(program)
    for count in (17, 70):
        host = arrays(np, count)[1]
        found = fused(mutable.asarray(host))
        assert has_room(found[0])
        for part, expected in zip(found, program(host), strict=True):
            np.testing.assert_allclose(np.asarray(part), expected, rtol=1e-5, atol=1e-5)
