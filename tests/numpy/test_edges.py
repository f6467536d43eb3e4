"""Edge inputs beside NumPy: the least integers, infinities, NaN, negative zeros, no elements."""

import functools
import operator
import pickle

import jax
import numpy as np
import pytest

import jaxapi
import jaxapi.numpy as ours
from tests.numpy.test_statements import check_same

pytestmark = pytest.mark.filterwarnings("ignore")
INF, NAN = np.inf, np.nan
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


@pytest.fixture(autouse=True)
def quietly():
    with np.errstate(all="ignore"):
        yield


def both(function, *arrays):
    """Return what a function of a module and arrays gives on ours and on NumPy, or raises."""
    results = []
    for module in (ours, np):
        try:
            results.append(function(module, *map(module.asarray, arrays)))
        except Exception as error:
            results.append(error)
    return results


def _called(name, module, x, **options):
    return getattr(module, name)(x, **options)


def extremes(dtype):
    limits = np.iinfo(dtype)
    numbers = [limits.min, limits.min + 1, 0, 1, 2, 6, 12, 96, limits.max - 1, limits.max]
    return np.array(numbers + ([-1, -2, -6, -96] if limits.min else []), dtype)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_divisors_of_extreme_integers(dtype, x64):
    x = extremes(dtype)
    for name in ("gcd", "lcm"):
        made, expected = both(lambda np, x, name=name: getattr(np, name)(x[:, None], x), x)
        check_same(made, expected)
        traced = jax.jit(lambda a, b, name=name: getattr(ours, name)(a, b))
        check_same(traced(ours.asarray(x)[:, None], ours.asarray(x)), expected)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_powers_wrap(dtype, x64):
    x = extremes(dtype)
    powers = np.array([0, 1, 2, 5, 31, 63, 64, 65, 66, 100, 127], dtype)
    bits = np.iinfo(dtype).bits
    exact = [[int(a) ** int(n) % 2**bits for n in powers] for a in x]
    exact = np.array(exact, np.dtype(dtype.replace("int", "uint").replace("uu", "u"))).astype(dtype)
    check_same(both(lambda np, x, n: np.power(x[:, None], n), x, powers)[0], exact)
    for power in (jaxapi.pow, jax.jit(jaxapi.pow)):
        made = power(jaxapi.asarray(x)[:, None], jaxapi.asarray(powers))
        np.testing.assert_array_equal(np.asarray(made), exact)


NUMBERS = np.array([0.0, -0.0, 1, -1, 2.5, -7, INF, -INF, NAN])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_fractions_and_quotients(dtype, x64):
    x = NUMBERS.astype(dtype)
    for function in (
        lambda np, x: np.modf(x),
        lambda np, x: np.floor_divide(x[:, None], x),
        lambda np, x: np.divmod(x[:, None], x),
        lambda np, x: x[:, None] // x,
        lambda np, x: 3.0 // x,
        lambda np, x: np.spacing(x[2:]),
        lambda np, x: np.sinc(x[[0, 1, 4, 6, 7, 8]]) if x.dtype != "float16" else x,
    ):
        made, expected = both(function, x)
        check_same(made, expected)
        for part, wanted in zip(
            *[r if isinstance(r, tuple) else (r,) for r in (made, expected)], strict=True
        ):
            wanted_signs = np.signbit(wanted) & (wanted == 0)
            assert (np.signbit(np.asarray(part))[wanted_signs]).all()


def complex_numbers(dtype):
    """Return numbers with each pair of some parts, among them NaN, in any order."""
    parts = [3.0, 1, -2.5, INF, NAN]
    z = np.empty(25, dtype)
    z.real = np.tile(parts, 5)
    z.imag = np.repeat(parts, 5)
    return z[np.random.default_rng(0).permutation(25)]


@pytest.mark.daily
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_order_of_complex_numbers(dtype, x64):
    z = complex_numbers(dtype)
    for name in ("greater", "greater_equal", "less", "less_equal", "fmax", "fmin"):
        made, expected = both(lambda np, z, name=name: getattr(np, name)(z[:, None], z), z)
        np.testing.assert_array_equal(np.asarray(made), expected)
    for function in (
        lambda np, z: np.sort(z),
        lambda np, z: np.argsort(z, stable=True).astype("int32"),
        lambda np, z: np.sort(z.reshape(5, 5), axis=0),
        lambda np, z: np.sort_complex(z),
        lambda np, z: (z.sort(), z)[1],
        lambda np, z: np.unique(z[[0, 1, 1, 2]], axis=0).shape,
    ):
        made, expected = both(function, z.copy())
        check_same(made, expected)


@pytest.mark.thorough("jaxs")
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_sets_of_complex_numbers(dtype):
    z = complex_numbers(dtype)
    z = np.concatenate([z, z[:7]])
    for function in (
        lambda np, z: tuple(np.unique(z, return_counts=True, return_inverse=True)),
        lambda np, z: tuple(np.unique_all(z)),
        lambda np, z: tuple(np.unique_counts(z)),
        lambda np, z: tuple(np.unique_inverse(z[:25])),  # whose sort NumPy does not promise to be stable
        lambda np, z: np.sort(np.unique_values(z)),
        lambda np, z: np.setdiff1d(z[:16], z[16:], assume_unique=True),
        lambda np, z: np.intersect1d(z[:16], z[16:]),
    ):
        with jax.enable_x64(True):
            check_exactly(*both(function, z))
    for function in (
        lambda np, z: np.unique(z),
        lambda np, z: np.union1d(z[:16], z[16:]),
        lambda np, z: np.setdiff1d(z[:16], z[16:]),
        lambda np, z: np.setxor1d(z[:16], z[16:]),
    ):
        made, expected = both(function, z)
        made = np.asarray(made)
        check_exactly(made[~np.isnan(made)], expected[~np.isnan(expected)])
        # Of those that are NaN one is kept, by NumPy the first that it meets.
        given = {repr(number) for number in z.tolist()}
        assert len(made) == len(expected)
        assert {repr(number) for number in made.tolist()} <= given


def check_exactly(made, expected):
    """Compare results to the bit, but for the bits of NaN."""
    check_same(made, expected)
    made = made if isinstance(made, tuple) else (made,)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for part, wanted in zip(made, expected, strict=True):
        for one in ("real", "imag"):
            np.testing.assert_array_equal(getattr(np.asarray(part), one), getattr(wanted, one))


@pytest.mark.thorough("jaxs")
@pytest.mark.parametrize("mode", ["maximum", "minimum", "mean", "median"])
def test_padding_by_statistics(mode, x64):
    z = complex_numbers("complex128").reshape(5, 5)
    integers = np.array([[1, 2**31 - 1, 0], [2, -(2**31), 3], [1, 2**31 - 2, -(2**31) + 1]], "int32")
    grid = np.arange(12).reshape(4, 3) % 7
    for x, width, options in (
        (integers, 1, {}),
        (integers, ((0, 2), (1, 0)), {"stat_length": ((1, 2), (2, 7))}),
        (grid.astype("uint8"), 2, {"stat_length": 2}),
        (grid > 3, 1, {}),
        (grid.astype("float32"), ((1, 0), (0, 0)), {"stat_length": 3}),
    ):
        check_exactly(*both(lambda np, x: np.pad(x, width, mode, **options), x))  # noqa: B023
    check_same(*both(lambda np, z: np.pad(z, 1, mode), z))
    for options in ({"stat_length": -1}, {"stat_length": 1.5}, {"end_values": 3}):
        check_same(*both(lambda np, x: np.pad(x, 1, mode, **options), grid))  # noqa: B023


@pytest.mark.daily
def test_median_keeps_the_part_of_complex_nan_that_is_a_number(x64):
    z = complex_numbers("complex128")
    for x in (z[:8], z[:9], z[~np.isnan(z)], np.array([NAN + 1j, 2, 3]), np.array([1 + NAN * 1j, 2])):
        check_exactly(*both(lambda np, x: np.median(x), x))
    check_exactly(*both(lambda np, z: np.median(z.reshape(5, 5), axis=0), z))


def test_powers_with_some_numbers_are_other_functions():
    reals = np.array([-INF, -0.0, 0.0, NAN, 2.0, INF, -3.0])
    z = np.array([1 + 2j, complex(-0.0, -0.0), complex(NAN, 1), 2 - 2j, complex(-1.5, 0)])
    for function in (
        lambda np, x: x**0.5,
        lambda np, x: np.power(x, 0.5),
        lambda np, x: x**2,
        lambda np, x: x**-1,
        lambda np, x: x**1,
        lambda np, x: x ** np.ones(7) ** 0.5,
        lambda np, x: (x.__ipow__(0.5), x)[1],
        lambda np, x: (x > 0) ** 2,
        lambda np, x: (x > 0) ** 3,
        lambda np, x: (x > 0).__ipow__(2),
        lambda np, x: (x > 0)[0] ** 2,
        lambda np, x: np.power(x > 0, 2),
    ):
        with jax.enable_x64(True):
            made, expected = both(function, reals)
        check_same(made, expected)
        if not isinstance(expected, Exception):
            np.testing.assert_array_equal(np.signbit(np.asarray(made)), np.signbit(expected))
    with jax.enable_x64(True):
        check_exactly(*both(lambda np, z: z**2, z))
        check_exactly(*both(lambda np, z: z**1, z))
        check_exactly(*both(lambda np, z: z**-1, z[3:]))


def test_rank_of_a_vector_is_an_int(x64):
    for x in (np.zeros(3), np.array([0.0, 2.0]), np.array(1.0), np.array(0)):
        made, expected = both(lambda np, x: np.linalg.matrix_rank(x), x)
        assert type(made) is type(expected) is int
        assert made == expected


def test_axes_that_tensordot_lacks():
    x = np.ones((3, 3))
    for axes in (5, -1, ((0, 1), (0,)), ((5,), (0,))):
        made, expected = both(lambda np, x: np.tensordot(x, x, axes=axes), x)  # noqa: B023
        if isinstance(expected, Exception):
            assert isinstance(made, type(expected)), (axes, made, expected)


OF_ZEROS = [
    lambda np, x: np.sum(x, initial=-0.0),
    lambda np, x: x.sum(axis=0, initial=-0.0),
    lambda np, x: x.sum(axis=1, initial=0.0),
    lambda np, x: np.sum(x[:0], axis=0, initial=-0.0),
    lambda np, x: np.sum(x[:1, :1]),
    lambda np, x: np.sum(x, initial=-0.0, where=x < 1),
    lambda np, x: np.sum(x.astype("float32"), initial=np.float32(-0.0)),
    lambda np, x: np.add.reduce(x, axis=0, initial=-0.0),
    lambda np, x: np.add.reduce(x[0], initial=-0.0),
    lambda np, x: np.linspace(-0.0, 1, 3),
    lambda np, x: np.linspace(-0.0, -1, 3),
    lambda np, x: np.linspace(-0.0, -0.0, 3),
    lambda np, x: np.linspace(-0.0, 2, 3, endpoint=False),
    lambda np, x: np.linspace(x, np.array([1.0, -1, 0]), 3),
    lambda np, x: np.linspace(-0.0, np.array([1.0, -1, 0]), 3),
    lambda np, x: np.linspace(x + 0j, np.array([1.0, -1, 0]), 3).real,
    lambda np, x: np.linspace(-0.0, -1j, 3).real,
    lambda np, x: np.linspace(complex(-0.0, -0.0), x - 1j * x, 3).imag,
    lambda np, x: np.arange(-0.0, -2.0, -1.0),
    lambda np, x: np.prod(x, axis=0, initial=-1.0),
]


@pytest.mark.parametrize("x64", [False, True])
def test_signs_of_zeros(x64, way):
    values = [np.full((2, 3), -0.0), np.array([[-0.0, 0.0, -0.0], [-0.0, -0.0, 0.0]])]
    with jax.enable_x64(x64):
        for function in OF_ZEROS:
            for x in values:
                made, expected = both(function, x)
                np.testing.assert_array_equal(made, expected)
                np.testing.assert_array_equal(np.signbit(np.asarray(made)), np.signbit(expected))
        assert not np.signbit(np.asarray(ours.arange(0.0, 3.0))[0])
        assert np.signbit(np.asarray(ours.arange(-0.0, 3.0))[0])


QUANTILES = [
    "linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf", "averaged_inverted_cdf",
    "closest_observation", "interpolated_inverted_cdf", "hazen", "weibull", "median_unbiased",
    "normal_unbiased",
]  # fmt: skip


@pytest.mark.thorough("jaxs")
@pytest.mark.parametrize("skips", ["", "nan"])
def test_quantiles_lie_where_numpys_do(skips):
    given = [np.arange(11.0), np.array([1, 2, INF, INF]), np.array([-INF, 1, INF]), np.array([NAN, 1, 2, 5])]
    with jax.enable_x64(True):
        for x in given:
            for method in QUANTILES:
                for q in ([10, 50, 70], 70, [0, 20, 30, 80, 90, 100]):
                    check_same(*both(lambda np, x: getattr(np, f"{skips}percentile")(x, q, method=method), x))  # noqa: B023
            check_same(*both(lambda np, x: getattr(np, f"{skips}median")(x), x))
        for dtype in ("float32", "int8", "bool"):
            x = np.arange(4).astype(dtype)
            for method in ("linear", "higher", "lower"):
                check_same(*both(lambda np, x: getattr(np, f"{skips}quantile")(x, [1 / 3], method=method), x))  # noqa: B023
        for shape in ((0, 3), (3, 0), (0,)):
            for axis in (None, *range(len(shape))):
                for name in ("median", "percentile", "quantile"):
                    options = {} if name == "median" else {"q": 0.5}
                    function = functools.partial(_called, skips + name, axis=axis, **options)
                    check_same(*both(function, np.zeros(shape)))


def test_quantiles_in_a_trace():
    x = ours.arange(11.0)
    low = jax.jit(lambda q: ours.percentile(x, q, method="lower"))
    assert [float(low(q)) for q in (10.0, 50.0, 70.0)] == [1, 5, 7]


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint32", "int64", "float16", "float32", "complex64"])
def test_transforms_of_every_dtype(dtype):
    x = np.random.default_rng(0).normal(size=(4, 6)).astype(dtype)
    loose = {"rtol": 1e-3, "atol": 1e-3} if dtype == "float16" else {"rtol": 1e-5, "atol": 1e-5}
    with jax.enable_x64(True):
        for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "irfft2", "rfftn"):
            made, expected = both(lambda np, x, name=name: getattr(np.fft, name)(x), x)
            if isinstance(expected, Exception):
                assert isinstance(made, TypeError)
                continue
            assert made.dtype == expected.dtype
            np.testing.assert_allclose(np.asarray(made), expected, **loose)
        if dtype != "complex64":
            for module in (jaxapi, ours):
                wide = "complex64" if dtype in ("float16", "float32") else "complex128"
                assert module.fft.fft(module.asarray(x)).dtype == wide


TRANSFORMS = [
    {"s": (3, 4), "axes": (0, 1)}, {"s": (-1, 4), "axes": (0, 1)}, {"s": (3, -1), "axes": (-1, 0)},
    {"axes": (0, 0)}, {"axes": (1, 0, 1)}, {"axes": (0,)}, {"axes": ()}, {"s": (0, 2), "axes": (0, 1)},
    {"s": (2, 3), "axes": (0,)}, {"axes": (5, 0)}, {"axes": (1, 1), "norm": "ortho"},
]  # fmt: skip


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn", "fft2", "irfft2"])
def test_transforms_along_axes(name):
    x = np.random.default_rng(0).normal(size=(4, 5))
    with jax.enable_x64(True):
        for options in TRANSFORMS:
            check_same(*both(lambda np, x: getattr(np.fft, name)(x, **options), x))  # noqa: B023


@pytest.mark.daily
def test_sizes_of_transforms():
    with jax.enable_x64(True):
        for name in ("fft", "irfft", "hfft", "rfft"):
            for n in (None, 0, -1, 3, 9):
                for shape in ((4,), (1,), (0,)):
                    check_same(*both(lambda np, x: getattr(np.fft, name)(x, n), np.ones(shape)))  # noqa: B023
        for n in (0, 2.5, 4):
            check_same(*both(lambda np: np.fft.fftfreq(n)))  # noqa: B023


@pytest.mark.daily
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8"])
def test_ramps_of_integers(dtype, x64):
    for size, width, end in ((1, (0, 7), 10), (3, (4, 9), (5, 100)), (2, 3, 7)):
        x = np.arange(3, 3 + size).astype(dtype)
        options = {"mode": "linear_ramp", "end_values": end}
        check_same(*both(lambda np, x: np.pad(x, width, **options).astype("int32"), x))  # noqa: B023
    x = np.arange(6).reshape(2, 3).astype(dtype)
    check_same(*both(lambda np, x: np.pad(x, ((2, 3), (4, 1)), mode="linear_ramp", end_values=9), x))
    check_same(*both(lambda np, x: np.pad(x, {-1: (1, 2)}), x))


MODES = ("full", "same", "valid")
OTHERS = {
    "upper": lambda np: np.linalg.cholesky(np.asarray([[4.0, 1], [0, 3]]), upper=True),
    "lower": lambda np: np.linalg.cholesky(np.asarray([[4.0, 9], [1, 3]])),
    "upper of complex": lambda np: np.linalg.cholesky(np.asarray([[4.0, 1 + 1j], [7, 3]]), upper=True),
    "variance": lambda np: np.var(np.asarray([1.0, 2.0]), ddof=2),
    "variance of one": lambda np: np.var(np.asarray([[1.0, 2.0], [3, 3]]), axis=1, ddof=3),
    "deviation": lambda np: np.std(np.asarray([1.0, 2.0]), ddof=3, keepdims=True),
    "variance where": lambda np: np.var(np.arange(4.0), ddof=2, where=np.asarray([True, True, False, False])),
    "variance around a mean": lambda np: [
        getattr(np, name)(np.asarray([[1.0, NAN], [2, 4]]), axis=0, mean=np.asarray([[1.0, 3]]), ddof=ddof)
        for name in ("nanvar", "nanstd")
        for ddof in (0, 1)
    ],
    "variance of no numbers": lambda np: np.nanstd(np.asarray([1.0, NAN]), ddof=1),
    "unique": lambda np: np.unique(np.asarray([NAN, NAN, 1.0]), axis=0),
    "unique rows": lambda np: np.unique(np.asarray([[NAN], [NAN], [1.0]]), axis=0),
    "modes": lambda np: np.ravel_multi_index(
        (np.asarray([3, -1]), np.asarray([5, 1])), (2, 3), mode=("clip", "wrap")
    ),
    "a mode that raises": lambda np: np.ravel_multi_index(
        (np.asarray([3, -1]), np.asarray([5, 1])), (2, 3), mode=("raise", "wrap")
    ),
    "blocks": lambda np: np.block([[np.eye(2), np.zeros((2, 1))], [np.ones((1, 3))]]),
    "powers of two": lambda np: np.exp2(np.asarray([complex(INF, 0), 1 + 1j, 0])),
    "slopes beside infinity": lambda np: np.gradient(np.asarray([1.0, 0, INF, 2, 3, 5])),
    "slopes of unsigned": lambda np: np.gradient(np.asarray([0, 2**63, 1], dtype="uint64")),
    "slopes of bool": lambda np: np.gradient(np.asarray([True, False, True])),
    "unwrapped bytes": lambda np: np.unwrap(np.asarray([-128, 127, 1, 3], dtype="int8")),
    "unwrapped number": lambda np: np.unwrap(np.asarray(2.5)),
    "Bessel's": lambda np: np.i0(np.asarray([0, 3], dtype="int8")),
    "Bessel's of complex": lambda np: np.i0(np.asarray([1j])),
    "infinity of complex": lambda np: np.isneginf(np.asarray([1j])),
    "counts of the largest": lambda np: np.bincount(np.asarray([2**64 - 1, 1], dtype="uint64")),
    "a product of polynomials": lambda np: np.polymul(np.asarray([0, 0, 1, 2]), np.asarray([0, 3, 1])),
    "a product of no polynomials": lambda np: np.polymul(np.asarray([0.0, 0]), np.asarray([1.0, 2])),
    "products that wrap": lambda np: (
        np.convolve(np.asarray([2**63 - 1, 3, 5]), np.asarray([2**62 + 1, -7])),
        np.correlate(np.asarray([2**31 - 1, 5, 7], dtype="int32"), np.asarray([2**30 + 1, 3], dtype="int32")),
        [
            np.convolve(np.asarray([2**53 + 1, 1, 5]), np.ones(n, int), mode)
            for n in (1, 2, 4)
            for mode in MODES
        ],
        [
            np.correlate(np.asarray([2**53 + 1, 1, 5]), np.arange(n), mode)
            for n in (1, 2, 4)
            for mode in MODES
        ],
    ),
    "truth of complex": lambda np: (np.all(np.asarray([1j, 1])), np.any(np.asarray([0, 2j]), axis=0)),
    "zeros around complex": lambda np: np.trim_zeros(np.asarray([0, 1j, 0, 2j, 0])),
    "variance of integers": lambda np: np.nanvar(np.asarray([1, 2]), ddof=3),
    "positions of few bits": lambda np: [
        np.take(np.arange(300), np.asarray([3, -1], dtype="int8"), mode=mode) for mode in ("raise", "wrap")
    ],
}


@pytest.mark.parametrize("name", OTHERS)
def test_edges(name):
    with jax.enable_x64(True):
        check_same(*both(OTHERS[name]))


@pytest.mark.thorough("jaxs")
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_of_other_dtypes(dtype, x64):
    """Equal are equal numbers, whatever dtype they promote to; bounds may be beyond the dtype."""
    x = extremes(dtype)
    limits = np.iinfo(dtype)
    exact = x.astype(object)
    for other in INTEGERS:
        y = extremes(other)
        order = y.astype(object)
        made = ours.less(ours.asarray(x)[:, None], ours.asarray(y))
        np.testing.assert_array_equal(np.asarray(made), (exact[:, None] < order).astype(bool))
        made = ours.equal(ours.asarray(x)[:, None], ours.asarray(y))
        np.testing.assert_array_equal(np.asarray(made), (exact[:, None] == order).astype(bool))
        if "64" not in dtype + other:
            for name in ("isin", "array_equal", "array_equiv", "allclose"):
                for a, b in ((x, y), (x[-1:], y[-1:])):
                    if name == "isin" or a.shape == b.shape:
                        check_same(*both(lambda np, a, b, name=name: getattr(np, name)(a, b), a, b))
            check_same(*both(lambda np, a, b: np.isclose(a[:, None], b, atol=1), x, y))
    for low, high in ((-5, 300), (limits.min - 1, limits.max + 1), (-1, 1), (None, 2**70), (-(2**70), None)):
        if low is None or low <= limits.min or dtype.startswith("int"):
            check_same(*both(lambda np, x, low=low, high=high: np.clip(x, low, high), x))


def changed(write):
    """Return what is left of an array of bytes after a write."""

    def left(np):
        x = np.array([0, 5], dtype="uint8")
        write(np, x)
        return x

    return left


@pytest.mark.parametrize("side", ["left", "right"])
def test_positions_among_complex_numbers(side):
    """NumPy sorts those with a NaN behind all others: in the imaginary part, in the real one, in both."""
    nan = np.nan
    parts = [-np.inf, -0.0, 0.0, 2.0, np.inf, nan]
    numbers = [complex(real, imag) for real in parts for imag in parts]
    expected = np.searchsorted(np.sort(numbers), numbers, side=side)
    made = ours.searchsorted(ours.asarray(np.sort(numbers)), ours.asarray(numbers), side=side)
    np.testing.assert_array_equal(np.asarray(made), expected)
    sorter = np.argsort(numbers)
    made = ours.searchsorted(ours.asarray(numbers), 2.0, side=side, sorter=ours.asarray(sorter))
    assert int(made) == np.searchsorted(numbers, 2.0, side=side, sorter=sorter)


INTS_BEYOND_THE_DTYPE = {
    "insert": lambda np: np.insert(np.array([0, 5], dtype="uint8"), 0, 300),
    "insert several": lambda np: np.insert(np.array([0, 5], dtype="uint8"), 0, [1, 300]),
    "put": changed(lambda np, x: np.put(x, 0, 300)),
    "put several": changed(lambda np, x: np.put(x, [0, 1], [1, -1])),
    "place": changed(lambda np, x: np.place(x, np.array([True, False]), [300])),
    "fill_diagonal": lambda np: np.fill_diagonal(np.zeros((2, 2), dtype="uint8"), 300),
    "a slice": changed(lambda np, x: x.__setitem__(slice(None), [1, 300])),
    "a mask": changed(lambda np, x: x.__setitem__(np.array([True, True]), [1, -1])),
    "what fits": changed(lambda np, x: x.__setitem__(slice(None), [1, 255])),
    "floats": changed(lambda np, x: x.__setitem__(slice(None), [1.5, 2.5])),
    "insert floats": lambda np: np.insert(np.array([0, 5], dtype="uint8"), 1, [1.5]),
    "search below": lambda np: np.searchsorted(np.array([0, 5], dtype="uint8"), -1),
    "search above": lambda np: np.searchsorted(np.array([0, 5], dtype="uint8"), 256, side="right"),
    "search": lambda np: np.searchsorted(np.array([1, 2**63], dtype="uint64"), 2**63),
    "search floats": lambda np: np.searchsorted(np.array([1, 2, 3]), [1.5, 2.5]),
    "both signs": lambda np: np.isin(np.array([2**53 + 1], "int64"), np.array([2**53], "uint64")),
    "roll": lambda np: np.roll(np.arange(5), 2**31),
    "roll back": lambda np: np.roll(np.arange(6).reshape(2, 3), (-(2**40), 7), (0, 1)),
    "tril": lambda np: np.tril(np.ones((2, 3)), 2**32),
    "triu": lambda np: np.triu(np.ones((2, 3)), -(2**32)),
    "reduceat of none": lambda np: np.add.reduceat(np.arange(6.0).reshape(2, 3), []),
    "along no axis": changed(lambda np, x: np.put_along_axis(x, np.array([1]), 7, None)),
    "outer": lambda np: np.outer(np.array([0, 1], dtype="uint8"), -1),
    "outer of a float": lambda np: np.outer(1.5, np.array([0, 1], dtype="float32")),
    "piecewise": changed(lambda np, x: np.piecewise(x, [x > 0], [-1, 0])),
    "piecewise, the rest": changed(lambda np, x: np.piecewise(x, [x > 0], [1, 300])),
    "piecewise floats": lambda np: np.piecewise(np.array([0.0, 1]), [np.array([True, False])], [2**70, 0]),
    "trapezoid": changed(lambda np, x: np.trapezoid(x, dx=-1)),
    "sum": changed(lambda np, x: np.sum(x, initial=-1)),
    "sum in a small dtype": changed(lambda np, x: np.sum(x, initial=300, dtype="uint8")),
    "sum of floats in a small dtype": lambda np: np.sum(np.ones(3), initial=300, dtype="int8"),
    "sum of flags in a small dtype": lambda np: np.sum(np.ones(3, bool), initial=300, dtype="int8"),
    "sum of flags": lambda np: np.sum(np.ones(3, bool), initial=300),
    "sum in a larger dtype": changed(lambda np, x: np.sum(x, initial=300)),
    "sum of floats": changed(lambda np, x: np.sum(x, initial=-1, dtype=float)),
    "sum, the method": changed(lambda np, x: x.sum(initial=-1)),
    "prod": changed(lambda np, x: np.prod(x, initial=2**64)),
    "nansum": changed(lambda np, x: np.nansum(x, initial=-1)),
    "nanmax": changed(lambda np, x: np.nanmax(x, initial=300)),
    "nanmin of NaN": changed(lambda np, x: np.nanmin(x, initial=np.nan)),
    "add.reduce": changed(lambda np, x: np.add.reduce(x, initial=-1)),
    "minimum.reduce": changed(lambda np, x: np.minimum.reduce(x, initial=300)),
    "bitwise_or.reduce": changed(lambda np, x: np.bitwise_or.reduce(x, initial=300)),
    "bitwise_or.reduce of what fits": changed(lambda np, x: np.bitwise_or.reduce(x, initial=8)),
    "logical_or.reduce": changed(lambda np, x: np.logical_or.reduce(x, initial=300)),
}


@pytest.mark.parametrize("name", INTS_BEYOND_THE_DTYPE)
def test_ints_beyond_the_dtype(name):
    with jax.enable_x64(True):
        check_same(*both(INTS_BEYOND_THE_DTYPE[name]))


PYTHON_NUMBERS = [True, 0, -1, 1.5, 1j, 2**63 - 1, 2**63, 2**64, -(2**63) - 1, 2**70, -(2**70)]


@pytest.mark.parametrize("x64", [True, False])
def test_a_choice_of_two_numbers_of_any_size(x64):
    def outcome(module, is_chosen, x, y):
        try:
            return module.where(is_chosen, x, y)
        except OverflowError as error:
            return np.asarray(type(error).__name__)

    is_chosen = np.array([True, False])
    given = ours.asarray(is_chosen)
    with jax.enable_x64(x64):
        for x in PYTHON_NUMBERS:
            for y in PYTHON_NUMBERS:
                expected = outcome(np, is_chosen, x, y)
                np.testing.assert_array_equal(outcome(ours, given, x, y), expected, strict=True)


NAN = np.nan
FOLDS_FROM_NAN = [
    (name, elements, options)
    for name in ("nanmax", "nanmin")
    for elements in ([1.0, 2.0], [NAN, 2.0], [NAN, NAN], [-np.inf, NAN], [np.inf, NAN])
    for options in ({"initial": NAN}, {"initial": 1.5}, {"initial": NAN, "where": [True, False]})
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_folds_that_begin_with_nan(dtype):
    for name, elements, options in FOLDS_FROM_NAN:
        x = np.array(elements, dtype)
        expected = getattr(np, name)(x, **options)
        np.testing.assert_array_equal(getattr(ours, name)(ours.asarray(x), **options), expected, strict=True)
        rows = np.stack([x, x[::-1]])
        expected = getattr(np, name)(rows, axis=1, keepdims=True, **options)
        got = getattr(ours, name)(ours.asarray(rows), axis=1, keepdims=True, **options)
        np.testing.assert_array_equal(got, expected, strict=True)


def test_the_namespace_takes_shifts_and_diagonals_of_any_size(x64):
    x = np.arange(6).reshape(2, 3)
    for shift in (2**31, -(2**40) + 1, np.int64(2**62)):
        for axis in (None, 0, 1, (0, 1)):
            shifts = (shift, 1) if axis == (0, 1) else shift
            np.testing.assert_array_equal(jaxapi.roll(x, shifts, axis=axis), np.roll(x, shifts, axis))
    for shift in (np.uint32(2**32 - 1), np.int8(-3), np.uint8(255)):
        long = np.arange(300)
        np.testing.assert_array_equal(jaxapi.roll(x, shift), np.roll(x, shift))
        np.testing.assert_array_equal(jaxapi.roll(long, shift), np.roll(long, shift))
    for k in (2**32, -(2**32)):
        np.testing.assert_array_equal(jaxapi.tril(x, k=k), np.tril(x, k))
        np.testing.assert_array_equal(jaxapi.triu(x, k=k), np.triu(x, k))


@pytest.mark.daily
def test_positions_and_sizes_of_another_byte_order():
    swapped = np.array([2, 1, 0], ">i4")
    for function in (
        lambda np, x: np.repeat(x, x),
        lambda np, x: np.delete(np.arange(4), x),
        lambda np, x: np.insert(np.arange(4), x, x),
        lambda np, x: np.append(x, x),
        lambda np, x: np.ravel_multi_index((x, x), (3, 3)),
        lambda np, x: np.histogramdd([x, x], 2)[0],
        lambda np, x: np.take(np.arange(4), x),
    ):
        with jax.enable_x64(True):
            made = function(ours, swapped)
            expected = function(np, swapped.astype("int32"))
        np.testing.assert_array_equal(np.asarray(made), expected)


@pytest.mark.daily
def test_operands_of_64_bits_change_narrow_arrays_exactly():
    """In place, of a part and of arrays that are large enough for their memory to be used again."""
    for n in (4, 70_000):
        x = np.arange(n, dtype="int32")
        large = np.full(n - 1, 2**32 + 2)
        y = np.full(n, 1e38, "float32")
        mine_x = ours.asarray(x)
        mine_y = ours.asarray(y)
        mine_x[1:] //= large
        mine_x += np.asarray([2**32])
        mine_y[1:] *= np.float64(1e-60)
        mine_y /= np.float64(1e60)
        x[1:] //= large
        x += np.asarray([2**32])
        y[1:] *= np.float64(1e-60)
        y /= np.float64(1e60)
        np.testing.assert_array_equal(mine_x, x)
        np.testing.assert_array_equal(mine_y, y)


PRODUCTS = {
    "matmul": "mm", "dot": "mm", "inner": "mm", "tensordot": "mm", "vdot": "vv", "vecdot": "vv",
    "matvec": "mv", "vecmat": "vm", "cov": "m", "corrcoef": "m", "convolve": "vv", "correlate": "vv",
    "linalg.matmul": "mm", "linalg.vecdot": "vv", "linalg.tensordot": "mm", "linalg.solve": "mm",
    "linalg.lstsq": "mv", "linalg.pinv": "m", "linalg.inv": "m", "linalg.tensorsolve": "mv",
}  # fmt: skip


def precisions_of(program, *arrays):
    """Return the precisions of the products of matrices in a program."""
    text = jax.jit(program).lower(*arrays).as_text()
    lines = [line for line in text.splitlines() if "dot_general" in line or "stablehlo.convolution" in line]
    return lines, ["HIGHEST, HIGHEST" in line or "precision HIGHEST>" in line for line in lines]


def test_products_have_full_float32():
    """JAX's default on a GPU rounds factors of float32 to eleven bits."""
    operands = {"m": np.eye(4, dtype=np.float32) + np.float32(0.1), "v": np.ones(4, np.float32)}
    calls = {
        name: (functools.reduce(getattr, name.split("."), ours), [operands[kind] for kind in kinds])
        for name, kinds in PRODUCTS.items()
    }
    matrix = operands["m"]
    calls["einsum"] = functools.partial(ours.einsum, "ij,jk"), [matrix, matrix]
    calls["matrix_power"] = lambda x: ours.linalg.matrix_power(x, 3), [matrix]
    calls["multi_dot"] = lambda *x: ours.linalg.multi_dot(x), [matrix] * 3
    calls["method"] = lambda x, y: x.dot(y), [matrix, matrix]
    calls["@"] = lambda x, y: x @ y, [matrix, matrix]
    found = set()
    for name, (call, arrays) in calls.items():

        def program(*arrays, call=call):
            results = jax.tree.leaves(call(*map(ours.asarray, arrays)))
            return [jax.numpy.asarray(x) for x in results]

        lines, are_highest = precisions_of(program, *arrays)
        assert all(are_highest), (name, lines)
        found |= {name} if lines else set()
    assert found >= calls.keys() - {"linalg.solve", "linalg.inv", "linalg.tensorsolve"}  # have none of ours


@pytest.mark.thorough
@pytest.mark.parametrize("size", [4, 40])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_singular_values_decide_as_numpys(size, dtype):
    """Of few rows and columns and of many, which a GPU decomposes in another way; of full rank and not."""
    rng = np.random.default_rng(5)
    full = rng.standard_normal((size + 3, size)) + (
        1j * rng.random((size + 3, size)) if dtype[0] == "c" else 0
    )
    full = full.astype(dtype)
    low = full.copy()
    low[:, 1] = low[:, 0]
    right = rng.standard_normal((size + 3, 2)).astype(dtype)
    rtol = 2e4 * np.finfo(dtype).eps
    cutoff = 1e-5
    with jax.enable_x64(True):
        for a in (full, low, full.T, full[:size]):
            b = right[: len(a)]
            for given in (b, b[:, 0]):
                made, expected = both(lambda np, a, b: np.linalg.lstsq(a, b, rcond=cutoff), a, given)
                for one, other in zip(made, expected, strict=True):
                    assert one.shape == np.shape(other)
                    assert one.dtype == np.asarray(other).dtype
                    scale = np.abs(other).max(initial=1)
                    np.testing.assert_allclose(np.asarray(one), other, rtol=rtol, atol=rtol * scale)
            made, expected = both(lambda np, a: np.linalg.pinv(a, rcond=cutoff), a)
            np.testing.assert_allclose(
                np.asarray(made), expected, rtol=rtol, atol=rtol * np.abs(expected).max()
            )
            if a is not low:
                for p in (None, 2, -2):
                    made, expected = both(lambda np, a: np.linalg.cond(a, p), a)  # noqa: B023
                    np.testing.assert_allclose(np.asarray(made), expected, rtol=rtol)
        zeros = np.zeros((size, size), dtype)
        assert ours.linalg.cond(ours.asarray(zeros)) == np.linalg.cond(zeros) == np.inf
        for a, b in ((full, right[1:]), (full[0], right), (full, right[None]), (full[None], right)):
            for module in (ours, np):
                with pytest.raises(np.linalg.LinAlgError):
                    module.linalg.lstsq(module.asarray(a), module.asarray(b))


@pytest.mark.parametrize("module", [ours, jaxapi.mutable], ids=["numpy", "mutable"])
@pytest.mark.parametrize("exponent", [0.5, np.float32(0.5), 2, -1])
def test_powers_in_place_are_those_of_the_operator(module, exponent):
    values = np.float32([-INF, -4.0, -0.0, 0.0, INF, NAN, 9.0])
    for size in (7, 1 << 17):  # small arrays and those whose memory is used again
        host = np.resize(values, size)
        expected = host**exponent
        x = module.asarray(host.copy())
        x **= exponent
        part = module.asarray(host.copy())
        part[:] **= exponent
        for found in (x, part, module.asarray(host) ** exponent):
            np.testing.assert_array_equal(np.asarray(found), expected)
            np.testing.assert_array_equal(np.signbit(np.asarray(found))[:5], np.signbit(expected)[:5])


@pytest.mark.parametrize(
    "call",
    [
        lambda np, x: np.delete(x, 9, 0),
        lambda np, x: np.delete(x, [0, -3], 0),
        lambda np, x: np.delete(x, [5, 6]),
        lambda np, x: np.sort(x, kind="x"),
        lambda np, x: np.argsort(x, kind="fast"),
        lambda np, x: x.sort(kind="x"),
        lambda np, x: np.pad(x, 1, mode="mirror"),
        lambda np, x: np.linalg.multi_dot([x]),
        lambda np, x: np.std(x, ddof="a"),
        lambda np, x: np.var(x, ddof=None),
    ],
)
def test_what_numpy_refuses(call):
    made, expected = both(call, np.arange(6.0).reshape(2, 3))
    assert isinstance(expected, Exception)
    check_same(made, expected)
    assert "racer" not in str(made)
    assert "abstract" not in str(made)


def test_what_numpy_takes_beside_it():
    x = np.asarray([[2.0, 1.0, 0.0], [5.0, 4.0, 3.0]])
    for kind in ("quicksort", "mergesort", "heapsort", "stable", "Quick", None):
        check_same(*both(lambda np, x, kind=kind: np.sort(x, kind=kind), x))
        made, expected = both(lambda np, x, kind=kind: np.argsort(x, kind=kind), x)
        np.testing.assert_array_equal(made, expected)
    check_same(*both(lambda np, x: np.delete(x, [0, -1], 1), x))
    check_same(*both(lambda np, x: np.delete(x, -6), x))


@pytest.mark.daily
def test_copies_of_dtypes_are_numpys(way):
    """What was unpickled has a copy of NumPy's dtype, which JAX then gives to other arrays, too."""
    unpickled = pickle.loads(pickle.dumps(np.arange(1, 6)))
    assert unpickled.dtype.isbuiltin == 0
    single = np.arange(5, dtype=np.float32)
    with jax.enable_x64(True):
        x = ours.asarray(unpickled)
        check_same(ours.asarray(single) + x, single + unpickled)
        check_same(single + x, single + unpickled)
        check_same(ours.average(single, weights=x), np.average(single, weights=unpickled))
        check_same(ours.asarray(unpickled, np.int8), unpickled.astype(np.int8))
        with pytest.raises(OverflowError):
            ours.add.at(ours.asarray(unpickled.astype(np.int8)), 0, 300)
        check_same(ours.add.reduce(x, dtype=np.float32), np.add.reduce(unpickled, dtype=np.float32))


@pytest.mark.parametrize(
    ("name", "shapes", "text"),
    [
        (
            "matvec",
            [(2, 3), (4,)],
            r"last axis of x1 has size 3 and the last axis of x2 has size 4.*\(2, 3\) and \(4,\)",
        ),
        ("matvec", [(3,), (3,)], "x1 does not have enough dimensions: it has 1, and at least 2"),
        ("matvec", [(2, 2, 3), (3, 3)], r"broadcast together with shapes \(2,\) \(3,\)"),
        ("vecmat", [(3,), (4, 2)], "last axis of x1 has size 3 and the last axis but one of x2 has size 4"),
        ("vecmat", [(2, 3), (3,)], "x2 does not have enough dimensions: it has 1, and at least 2"),
        ("linalg.matmul", [(2, 3), (4, 5)], r"x1 has size 3 and .* of x2 has size 4.*\(2, 3\) and \(4, 5\)"),
        ("linalg.vecdot", [(2, 3), (2, 5)], r"x1 has size 3 and .* x2 has size 5.*\(2, 3\) and \(2, 5\)"),
        ("vecdot", [(), (3,)], "x1 does not have enough dimensions: it has 0, and at least 1"),
    ],
)
def test_products_say_what_does_not_fit(name, shapes, text):
    arrays = [np.ones(shape) for shape in shapes]
    with pytest.raises(ValueError, match="operand"):
        operator.attrgetter(name)(np)(*arrays)
    with pytest.raises(ValueError, match=text):
        jax.jit(lambda *arrays: operator.attrgetter(name)(ours)(*arrays))(*arrays)


# Of few numbers: x is a vector with a negative zero, z is complex, m has two rows, i is 3 without axes.
FEW = """
np.nanmean(i, axis=0)
np.nanmean(i, axis=1)
np.nanmean(i + 0.5, axis=0)
np.nanvar(i, axis=0)
np.nanvar(i + 0.5, axis=0)
np.nanstd(i, axis=-1)
np.nanargmax(x, out=np.array(True))
np.nanargmin(m, axis=0, out=np.zeros(2, bool))
np.nanargmax(x, out=np.array(0.0))
np.roll(m, 2**100)
np.roll(m, 2**100 + 3)
np.roll(x, 2**100 + 1, axis=0)
np.roll(m, -(2**100), 1)
np.roll(m, (1, 2**70), (0, 1))
np.roll(m, [2**63, -1], axis=[1, 1])
np.roll(x[:0], 2**100)
np.unravel_index(3, (2**40, 2**40))
np.unravel_index(3, (2**64, 4))
np.unravel_index(3, (2.5, 4))
np.unravel_index(3, 2**70)
np.unravel_index([0], ())
np.unravel_index(0, ())
np.unravel_index(3, (2**61, 2))
np.correlate(x, m[0], mode=0)
np.correlate(x, m[0], mode=1)
np.correlate(x, m[0], mode=2)
np.correlate(x, m[0], mode=3)
np.correlate(x, m[0], mode=None)
np.correlate(x, m[0], mode=True)
np.convolve(m[0], x, 0)
np.convolve(m[0], x, 1)
np.convolve(m[0], x, 2)
np.convolve(m[0], x, mode=1.5)
np.take(x, [1, 5], mode=0)
np.take(x, [1, 5], mode=1)
np.take(x, [1, 5], mode=2)
np.take(x, [1, 5], mode='W')
x.take([-1, 5], mode=0)
np.choose([0, 5], m, mode=0)
np.choose([0, 5], m, mode=1)
np.choose([0, 5], m, mode=2)
np.ravel_multi_index((1, 5), (2, 4), mode=0)
np.ravel_multi_index((1, 5), (2, 4), mode=('raise', 1))
np.ravel_multi_index((1, 5), (2, 4), mode=2)
np.insert(x[:0], 0, 5.0)
np.insert(x[:0], [0, 0], [5.0, 6.0])
np.insert(m[:, :0], 0, 5.0, axis=1)
np.insert(m[:0], 0, [5.0, 6.0], axis=0)
np.select([m > 2], [m.astype(np.uint64)], 2**63)
np.select([m > 2], [m], 2**63)
np.take(x, [0, 2], mode=7)
np.take(x, [0, 2], mode=-1)
x.take([0], mode=-1)
np.choose(x > 0, [1, 2], mode=3)
np.ravel_multi_index((1, 5), (2, 4), mode=9)
np.put(x, [1, 5], 9, mode=0)
np.put(x, [1, 5], 9, mode=1)
np.put(x, [1, 5], 9, mode=2)
np.put(x, [1, 5], 9, mode='w')
np.pad(x, 1, constant_value=3)
np.pad(x, 1, mode='reflect', reflect=3)
np.pad(x, 1, mode='edge', stat_length=2)
np.pad(x, 1, mode='symmetric', reflect_type='even')
np.bincount([])
np.bincount(x[:0])
np.bincount([], z[:0], 2)
np.cov(m, fweights=[1, 2], aweights=[1, 2, 3])
np.cov(m, fweights=[1.5, 2], aweights=[1, 2, 3])
np.cov(m, fweights=[1, 2, 3], aweights=[1, 2])
np.cov(m, fweights=[[1, 2]], aweights=[-1, 2])
np.cov(m, rowvar=False, aweights=[0.5, 2])
np.cov(x, aweights=[0.5, 2, 1])
np.argmax(z[0], axis=(0,))
np.argmin(z, axis=[0])
np.cumprod(i, axis=1)
np.cumprod(i, axis=())
np.cumsum(m, axis=(0,))
np.cumprod(m, axis=2)
np.unwrap(np.array([0, 5, 1, 120], 'int8'), period=np.float32(4))
np.unwrap(np.array([0, 5, 1, 120], 'int8'), period=2.5)
np.mean(x, axis=())
np.mean(x.astype('float16'), axis=())
x.mean(axis=())
np.mean(z, axis=())
np.mean(-0.0 * m, axis=0)
np.mean(x[:1])
np.nanmean(x, axis=())
np.average(x, axis=())
np.median(x, axis=())
np.nanmedian(x[:1])
np.sum(z, axis=())
np.trace(-0.0 * m[:, :1])
"""


def _of_few(module, statement):
    names = {
        "np": module,
        "x": module.array([-0.0, 1.0, 3.0]),
        "z": module.array([complex(-0.0, -0.0), complex(2.0, -0.0)]),
        "m": module.array([[1.0, 2.0], [4.0, 3.0]]),
        "i": module.array(3),
    }
    try:
        made = eval(statement, names)
    except Exception as error:
        return error
    return names["x"] if made is None else made


@pytest.mark.parametrize("statement", FEW.strip().splitlines())
def test_statements_of_few_numbers(statement):
    with jax.enable_x64(True):
        expected = _of_few(np, statement)
        made = _of_few(ours, statement)
        check_same(made, expected)
        if not isinstance(expected, (tuple, Exception)):
            for part in ("real", "imag"):
                signs = [np.signbit(getattr(np.asarray(x), part).astype(float)) for x in (made, expected)]
                np.testing.assert_array_equal(*signs)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["mean", "nanmean", "average", "median", "trace"])
def test_slopes_of_means_at_zero(name):
    """They are those of sums, where elements are 0 or -0, too."""
    with jax.enable_x64(True):
        x = np.array([[0.0, -0.0], [-0.0, 0.0]])
        found = jax.grad(lambda x: getattr(ours, name)(x)._value)(x)
        assert float(found.sum()) == (2.0 if name == "trace" else 1.0)
