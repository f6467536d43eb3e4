"""New lengths compile nothing: after a call for one length of a capacity, whole programs run for the others.

Each program runs first for the lengths that it may compile for, and then for others. Searches have the same
rule, by the sizes that points are padded to: tests/spatial/test_lengths.py.
"""

import itertools
import warnings

import jax
import numpy as np
import pytest
from comparisons import assert_same
from compilations import no_compilation, results_of_new_lengths
from rooms import AT_ONCE, NAMESPACES
from scipy import stats

import jaxapi.numpy
from jaxapi import mutable
from jaxapi.mutable import _indexing
from tests.mutable.lengths.test_lengths import data_of
from tests.mutable.lengths.test_lengths_of_functions import numbers_of
from tests.mutable.lengths.test_lengths_of_matrices import OF_STACKS, numbers, stack_of
from tests.mutable.lengths.test_lengths_of_shapes import AT_POSITIONS, CALLED, LOOKED_UP, RESHAPED, arrays


@pytest.fixture(autouse=True)
def rooms():
    """Leave what lies behind the rows that count as it comes."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of slices that are all NaN
        yield


# --- selections of arrays without room ------------------------------------------------------------------

SIZE = 60
COUNTS = (17, 24, 20, 18, 23)  # of one capacity


@pytest.fixture
def on_device(monkeypatch):
    """Have JAX's programs select, as on a GPU, also small arrays and those in the host's memory."""
    monkeypatch.setattr(_indexing, "_SMALL", 0)
    monkeypatch.setattr(_indexing, "_is_on_host", lambda x: isinstance(x, np.ndarray))


def mask_of(count, shape=(SIZE,)):
    rng = np.random.default_rng(count)
    return rng.permutation(np.arange(np.prod(shape)) < count).reshape(shape)


def counts_of(total):
    """Return so many repeats in all of elements, some of which have none."""
    return np.random.default_rng(total).multinomial(total, [1 / SIZE] * SIZE).astype(np.int32)


def values_of(count):
    """Return so many distinct numbers, in any order and often."""
    rng = np.random.default_rng(count)
    return rng.permutation(np.concatenate([np.arange(count), rng.integers(0, count, SIZE - count)])).astype(
        "f4"
    )


def selections(xp, x, mask, grid_mask, table, counts, values):
    """Return results of NumPy or a namespace like it, in which arrays are indexed by masks."""
    distinct = xp.unique_all(values)
    return [
        *xp.nonzero(mask),
        *xp.nonzero(grid_mask),
        x[mask],
        table[mask],
        xp.repeat(x, counts),
        xp.repeat(table, counts, axis=0),
        *distinct,
        *xp.unique_counts(values),
        xp.unique_inverse(values)[0],
        xp.unique_values(values),
    ]


@pytest.mark.daily
@pytest.mark.usefixtures("on_device")
@NAMESPACES
def test_selections(xp):
    device = jax.devices()[0]
    x = np.random.default_rng(0).random(SIZE, np.float32)
    table = np.arange(3 * SIZE, dtype=np.int32).reshape(SIZE, 3)

    def inputs(count):
        return x, mask_of(count), mask_of(count, (5, 12)), table, counts_of(count), values_of(count)

    def run(count):
        arrays = [xp.asarray(jax.device_put(array, device)) for array in inputs(count)]
        return [np.asarray(part) for part in selections(xp, *arrays)]

    found = results_of_new_lengths(run, COUNTS[:1], COUNTS)
    for count, parts in zip(COUNTS, found, strict=True):
        assert_same(parts, list(selections(np, *inputs(count))), dtype=False)


# --- arrays with room -----------------------------------------------------------------------------------


def pipeline(xp, count):
    host = data_of(count)
    x = xp.asarray(host.copy())
    rows = xp.asarray(data_of(count, columns=3))
    scaled = (rows - xp.mean(rows, axis=0)) / xp.std(rows, axis=0)
    bright = scaled[scaled[:, 0] > -0.5]
    ordered = bright[xp.argsort(bright[:, 1])]
    values, counts = xp.unique_counts(xp.floor(ordered[:, 2] * 9))
    total = xp.sum(values[counts > xp.mean(xp.astype(counts, np.dtype("float32")))])
    x[count // 5 :] = x[: count - count // 5]
    x[:-20] += x[20:]
    x[xp.asarray(host > 0)] = 2
    repeated = xp.repeat(x, xp.asarray(abs(data_of(count, "int32"))))
    where = xp.nonzero(x > 1)[0]
    return float(total) + float(xp.sum(xp.sort(x[3:]))) + float(xp.max(x[where])) + float(xp.sum(repeated))


@pytest.mark.thorough
@pytest.mark.daily("numpy")
@NAMESPACES
def test_a_pipeline(xp):
    counts = (534, 600, 677, 744, 752)
    found = results_of_new_lengths(lambda count: pipeline(xp, count), range(530, 760, 3), counts)
    np.testing.assert_allclose(found, [pipeline(np, count) for count in counts], rtol=1e-3)


def parts_in_place(xp, count, is_exact):
    """Read and write parts with many rows of arrays that have room, or are as long as buffers are."""
    host = data_of(64 if is_exact else count)
    x = xp.asarray(host.copy()) * 1
    y = xp.asarray(host[::-1].copy()) * 1
    x[3:count] = 2
    x[1 : count - 2] = y[2 : count - 1]
    x[: count - 5] += y[5:count]
    x[1:count] -= x[: count - 1]
    x[count - 1 : 1 : -1] = y[2:count]
    y[1:count:2] *= 3
    rest = x[2:count] * y[: count - 2] - y[count - 1 : 1 : -1]
    return np.concatenate([np.asarray(x), np.asarray(rest)])


@pytest.mark.parametrize("is_exact", [True, False])
@NAMESPACES
def test_parts_in_place(xp, is_exact):
    counts = (41, 43, 45, 46)  # of one capacity, as are those of the parts
    found = results_of_new_lengths(lambda count: parts_in_place(xp, count, is_exact), (40,), counts)
    for count, parts in zip(counts, found, strict=True):
        np.testing.assert_allclose(parts, parts_in_place(np, count, is_exact), rtol=1e-5)


def statistics(xp, count):
    host = numbers_of(count)
    x = xp.asarray(host)
    table = xp.asarray(numbers_of(count, columns=3))
    numbers = xp.asarray(np.arange(count, dtype=np.int32) % (count // 3))
    places = xp.asarray(np.asarray([-3, -1, 0, 2.5], np.float32))
    counts = xp.zeros(400, dtype=np.float32)
    xp.add.at(counts, numbers, x)
    xp.add.at(counts, numbers, np.float32(2))
    results = [
        xp.percentile(x, [30, 50]),
        xp.quantile(table, 0.3, axis=0),
        xp.nanpercentile(x, 30),
        xp.median(x),
        xp.nanmedian(table, axis=0),
        xp.nanmean(table, axis=0),
        xp.nanmax(x),
        xp.ptp(x),
        xp.histogram(x, 7)[0],
        xp.histogram(x, places, weights=x)[0],
        xp.bincount(numbers),
        xp.bincount(numbers, x),
        xp.digitize(x, places),
        xp.interp(x, places, places),
        xp.sum(x, where=x > 0),
        xp.max(x, where=x > 0, initial=1),
        xp.std(table, axis=0, where=table > 0),
        xp.compress(x > 0, x),
        xp.extract(x > 0, x),
        xp.argwhere(x > 0),
        xp.flatnonzero(x > 0),
        xp.isin(numbers, [3, 4]),
        xp.isin(numbers, numbers[::2]),
        xp.roll(x, count // 3),
        xp.flip(x),
        xp.ediff1d(x),
        xp.clip(x, max=2),
    ]
    return [counts, *results]


@pytest.mark.thorough
def test_statistics():
    def run(count):
        return [float(jaxapi.numpy.sum(x)) for x in statistics(jaxapi.numpy, count)]

    found = results_of_new_lengths(run, (530, 576, 640, 768), (531, 577, 601, 677, 744))
    expected = [float(np.sum(np.asarray(x, float))) for x in statistics(np, 744)]
    np.testing.assert_allclose(found[-1], expected, rtol=1e-3, atol=1e-3)


@pytest.mark.daily
@pytest.mark.parametrize("name", ["sum", "max", "isin", "roll"])
def test_functions_of_the_standard(name):
    def run(count):
        x = mutable.asarray(numbers_of(count))
        if name in ("sum", "max"):
            return getattr(mutable, name)(x, where=x > 0, initial=1)
        return mutable.sum(mutable.roll(x, 3) if name == "roll" else mutable.isin(x, x[::2]), dtype=np.int32)

    results_of_new_lengths(run, (530, 560, 640, 700, 768), (531, 577, 601, 677, 744))


def matrices(xp, count):
    """Compute what keeps room, or sums rows, of so many rows."""
    stack = xp.asarray(stack_of(count))
    right = xp.asarray(numbers((count, 3, 2)))
    x = xp.asarray(numbers((count, 3)))
    wide = xp.asarray(numbers((count, 3), "float64"))
    of = xp.linalg
    small = xp.asarray(numbers((3,)))
    for name in OF_STACKS:
        if hasattr(of, name) and name != "matrix_power":
            getattr(of, name)(stack)
    for name in ("cholesky", "eigh", "qr", "svd"):
        getattr(of, name)(stack)
    of.matrix_power(stack, 3)
    of.solve(stack, right)
    stack @ right
    of.cross(x, x)
    of.outer(x[:, 0], small)
    of.matrix_rank(x)
    for matrix in (x, wide):
        of.pinv(matrix)
    for order in ("fro", "nuc", 1, 2, np.inf):
        of.matrix_norm(x, ord=order)
    xp.diff(x, axis=0)
    xp.diff(x, axis=1)
    xp.diff(x[:, 0], n=2)
    xp.exp(x.T)
    if xp is jaxapi.numpy:
        of.cond(x)
        of.lstsq(x, x[:, 0])
        of.norm(x, "fro")
        xp.inner(x[:, 0], x[:, 1])
        xp.cov(x, rowvar=False)
        xp.cov(x.T)
        for subscripts in ("ij,ij->i", "ij,ik->jk"):
            xp.einsum(subscripts, x, x)


@pytest.mark.daily
@NAMESPACES
def test_matrices(xp):
    results_of_new_lengths(lambda count: matrices(xp, count), (70, 90), (72, 81, 93))


@pytest.mark.thorough
def test_programs_of_libraries():
    """Programs as libraries write them: mixtures, scalers, distances and moments."""
    xp = mutable

    def mixture(x):
        responsibilities = xp.asarray(np.random.default_rng(0).random((len(x), 2)), dtype=xp.float32)
        responsibilities /= xp.sum(responsibilities, axis=1)[:, None]
        weights = xp.sum(responsibilities, axis=0)
        means = (responsibilities.T @ x) / weights[:, None]
        distances = xp.empty((len(x), 2), dtype=x.dtype)
        for k in range(2):
            away = x - means[k]
            covariance = (responsibilities[:, k] * away.T) @ away / weights[k]
            distances[:, k] = xp.sum(xp.square(away @ covariance), axis=1)
        largest = xp.max(distances, axis=1, keepdims=True)
        copy = xp.asarray(distances, copy=True)
        copy[distances == largest] = -xp.inf
        total = xp.squeeze(xp.log1p(xp.sum(xp.exp(copy - largest), axis=1, keepdims=True)) + largest, axis=1)
        return xp.mean(total)

    def scaler(x):
        total = xp.sum(x, axis=0, dtype=xp.float64)
        away = x - total / len(x)
        away **= 2
        return xp.sum(away, axis=0, dtype=xp.float64)

    def distances(x):
        wide = xp.astype(x, xp.float64)
        centers = wide[:5]
        made = -2 * (wide @ centers.T)
        made += xp.sum(wide * wide, axis=1)[:, None]
        made += xp.sum(centers * centers, axis=1)[None, :]
        narrow = xp.empty((len(x), 5), dtype=xp.float32)
        narrow[:, :5] = xp.astype(made, xp.float32)
        return xp.sum(xp.sqrt(xp.maximum(narrow, xp.asarray(0.0, dtype=xp.float32))), axis=0)

    def skewness(x):
        sample = xp.broadcast_to(xp.moveaxis(x[:, 0], 0, -1), (len(x),))
        away = sample - xp.mean(sample, axis=0, keepdims=True)
        return xp.mean(away**3) / xp.mean(away**2) ** 1.5

    def ranks(x):
        sample = x[:, 0]
        order = xp.argsort(sample, axis=-1, stable=True)
        ordered = xp.take_along_axis(sample, order, axis=-1)
        differs = xp.concat([xp.ones((1,), dtype=xp.bool), ordered[..., :-1] != ordered[..., 1:]], axis=-1)
        firsts = xp.arange(len(x))[differs]
        counts = xp.diff(firsts, append=xp.asarray([len(x)], dtype=firsts.dtype))
        numbers = xp.arange(1, len(x) + 1, dtype=xp.float32)
        of_distinct = numbers[differs] + (xp.astype(counts, xp.float32) - 1) / 2
        repeated = xp.reshape(xp.repeat(of_distinct, counts), x.shape[:1])
        return xp.take_along_axis(repeated, xp.argsort(order, axis=-1, stable=True), axis=-1)[:12]

    def correlation(x):
        first, second = x[:, 0] - xp.mean(x[:, 0]), x[:, 1] - xp.mean(x[:, 1])
        norms = [xp.linalg.vector_norm(part, axis=-1, keepdims=True) for part in (first, second)]
        return xp.vecdot(first / norms[0], second / norms[1], axis=-1)

    programs = mixture, scaler, distances, skewness, ranks, correlation

    def run(count):
        host = np.round(data_of(count, columns=3), 1)
        x = xp.asarray(host)
        results = [np.asarray(program(x)) for program in programs]
        away = host.astype(float) - host.mean(axis=0, dtype=float)
        np.testing.assert_allclose(results[1], (away**2).sum(axis=0), rtol=1e-5)
        squares = ((host[:, None].astype(float) - host[:5]) ** 2).sum(axis=2)
        np.testing.assert_allclose(results[2], np.sqrt(squares).sum(axis=0), rtol=1e-4)
        np.testing.assert_array_equal(results[4], stats.rankdata(host[:, 0])[:12])
        np.testing.assert_allclose(results[5], np.corrcoef(host[:, :2].T)[0, 1], rtol=1e-4, atol=1e-6)
        second = np.mean(away[:, 0] ** 2)
        third = np.mean(away[:, 0] ** 3)
        np.testing.assert_allclose(results[3], third / second**1.5, rtol=1e-3, atol=1e-5)

    with jax.enable_x64(False):
        results_of_new_lengths(run, (70, 81), (66, 67, 75, 79))


def of_pairs(xp, smooth, places, x, y):
    """Compute what takes arrays of two lengths."""
    both = xp.concat([places, x])
    return [
        xp.sum(smooth(places, x, y)),
        xp.sum(xp.sort(both)),
        xp.sum(xp.isin(places, x), dtype=np.int32),
        xp.sum(xp.searchsorted(xp.sort(x), places), dtype=np.int32),
        xp.max(both) - xp.min(x),
    ]


@pytest.mark.daily
@NAMESPACES
def test_pairs_of_lengths(xp):
    """Of 64 calls none compiles after the 16th."""
    smooth = xp.fuse(lambda places, x, y: xp.exp(-((places[:, None] - x[None, :]) ** 2)) @ y)

    def run(pair):
        hosts = [numbers_of(count) for count in (pair[0], pair[1], pair[1])]
        return [np.asarray(each) for each in of_pairs(xp, smooth, *map(xp.asarray, hosts))]

    rng = np.random.default_rng(0)
    first = itertools.product((130, 192, 200, 256), (131, 192, 201, 256))
    pairs = [*first, *rng.integers(129, 256, (48, 2)).tolist()]
    found = results_of_new_lengths(run, pairs[:16], pairs[16:])
    places, x = [numbers_of(count) for count in pairs[-1]]
    expected = np.sum(np.exp(-((places[:, None] - x) ** 2)) @ x)
    np.testing.assert_allclose(found[-1][0], expected, rtol=1e-3, atol=1e-3)


@pytest.mark.thorough
@AT_ONCE
def test_many_lengths():
    """Of 64 calls none compiles after the 16th."""
    statements = [*RESHAPED, *AT_POSITIONS, *LOOKED_UP, *CALLED]

    def run(count):
        given = arrays(jaxapi.numpy, count)
        return [statement(jaxapi.numpy, *given) for statement in statements]

    first = np.linspace(129, 256, 16).astype(int)
    others = np.setdiff1d(np.arange(129, 257), first)
    then = np.random.default_rng(0).permutation(others)[:48].tolist()
    found = results_of_new_lengths(run, first.tolist(), then)
    for count, results in list(zip(then, found, strict=True))[::8]:
        given = arrays(np, count)
        for statement, result in zip(statements, results, strict=True):
            np.testing.assert_allclose(np.asarray(result), statement(np, *given), rtol=2e-4, atol=2e-4)


def samples(rng, count):
    """Draw numbers, and put numbers in order."""
    table = jaxapi.numpy.asarray(numbers_of(count, columns=3))
    return [
        rng.random(count),
        rng.standard_normal((count, 3)),
        rng.integers(-3, 9, count),
        rng.permutation(count),
        rng.permutation(table),
        rng.choice(table, 5),
        rng.choice(count, count - 3),
    ]


def samples_of_jax(key, count):
    """Draw the same from `jax.random` alone, one key for each."""
    keys = []
    for _ in range(7):
        key, taken = jax.random.split(key)
        keys.append(taken)
    table = jax.numpy.asarray(numbers_of(count, columns=3))
    return [
        jax.random.uniform(keys[0], (count,), float),
        jax.random.normal(keys[1], (count, 3), float),
        jax.random.randint(keys[2], (count,), 0, 12, np.uint64).astype(int) - 3,
        jax.random.permutation(keys[3], count),
        jax.random.permutation(keys[4], table),
        jax.random.choice(keys[5], table, (5,)),
        jax.random.choice(keys[6], count, (count - 3,)),
    ]


@pytest.mark.daily
@AT_ONCE
def test_random_numbers():
    """What is drawn of a length with room is what `jax.random` draws of that length."""
    key = jax.random.key(3)

    def run(count):
        return samples(jaxapi.numpy.random.default_rng(key), count)

    lengths = 85, 91
    for count, found in zip(lengths, results_of_new_lengths(run, (70, 84, 96), lengths), strict=True):
        with jax.enable_x64(True):
            expected = list(map(np.asarray, samples_of_jax(key, count)))
        for part, expected_part in zip(found, expected, strict=True):
            np.testing.assert_array_equal(np.asarray(part), expected_part)


# --- writes to exact arrays -----------------------------------------------------------------------------


@pytest.mark.daily
def test_numbers_written_to_exact_arrays():
    x = mutable.zeros((700, 3), dtype=mutable.float32)
    host = np.zeros((700, 3), np.float32)
    for count in (17, 21, 25, 40, 50, 90, 100, 150, 200, 300, 400, 530, 650):
        x[:count] = 1
    with no_compilation():
        for count in (18, 23, 30, 45, 60, 95, 111, 170, 222, 333, 444, 555, 666):
            x[:count] = count
            host[:count] = count
            x[-count:] = 2
            host[-count:] = 2
    np.testing.assert_array_equal(np.asarray(x)[5:], host[5:])
