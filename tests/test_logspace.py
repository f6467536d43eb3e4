"""logspace against NumPy, exact rational arithmetic and 60-digit decimals."""

import decimal
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jaxapi as xp
from jaxapi._spaced import _exact_powers
from jaxapi._spaced._spacing import evenly_spaced

eighths = st.integers(-24, 80).map(lambda n: n / 8)
DIGITS = decimal.Context(prec=60, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)


def exponents(start, stop, num, endpoint=True):
    start, stop = Fraction(start), Fraction(stop)
    div = num - 1 if endpoint else num
    return [start + i * (stop - start) / max(div, 1) for i in range(num)]


def exact_power(base, exponent):
    """To 60 digits."""
    exponent = DIGITS.divide(decimal.Decimal(exponent.numerator), decimal.Decimal(exponent.denominator))
    return DIGITS.power(decimal.Decimal(base), exponent)


def ulps(got, base, exponent):
    """Error in units of the last place of the true power."""
    true = exact_power(base, exponent)
    spacing = np.spacing(np.asarray(float(true)).astype(got.dtype).astype(got.dtype))
    return abs(decimal.Decimal(float(got)) - true) / decimal.Decimal(float(abs(spacing)))


# --- integer dtypes, concrete -------------------------------------------------------------------------------


def test_perfect_powers_are_not_enclosed(monkeypatch):
    """No interval around an integer ever has no integer inside."""

    def refuse(base, exponent):
        raise AssertionError(f"{base} to the {exponent} is an integer")

    monkeypatch.setattr(_exact_powers, "_enclosed", refuse)
    with jax.enable_x64(True):
        for root, exponent in ((3, 0.5), (5, 0.25), (2**31 - 1, 0.5), (7, 1.0), (12, 1.5)):
            degree = Fraction(exponent).denominator
            found = xp.logspace(exponent, exponent, 1, base=root**degree, dtype=int)
            assert found.tolist() == [root ** Fraction(exponent).numerator]


@pytest.mark.parametrize("base", range(2, 17))
def test_every_power_up_to_2_to_the_62_is_exact(base, x64):
    top = next(s for s in range(64) if base ** (s + 1) > 2**62)
    for s in (0, 1, top // 2, top - 1, top):
        got = xp.logspace(0, s, s + 1, base=base, dtype=xp.int64)
        assert got.dtype == np.int64
        assert np.asarray(got).tolist() == [base**i for i in range(s + 1)]


@given(
    base=st.integers(2, 20) | st.sampled_from([0.5, 0.3, 1.5, 2.25, 8.0, 27, 1024, 1e3, 6.25]),
    start=eighths,
    stop=eighths,
    num=st.integers(1, 7),
    endpoint=st.booleans(),
)
def test_integer_powers_are_the_real_powers_truncated(base, start, stop, num, endpoint):
    steps = exponents(start, stop, num, endpoint)
    if any(float(e) * np.log2(float(base)) >= 62.999 for e in steps):
        with pytest.raises(OverflowError, match="logspace"):
            xp.logspace(start, stop, num, endpoint, base=base, dtype="int64")
        return
    got = xp.logspace(start, stop, num, endpoint, base=base, dtype="int64")
    for power, e in zip(np.asarray(got).tolist(), steps, strict=True):
        # power <= base**(n/d) < power + 1, as integers
        p, q = (Fraction(base) ** e.numerator).as_integer_ratio()
        assert power**e.denominator * q <= p < (power + 1) ** e.denominator * q


decimals = st.floats(-3, 9).map(lambda x: round(x, 9))  # nearer to 0, 60 digits are too few for the oracle


@given(start=decimals, stop=decimals, base=st.floats(0.1, 30), num=st.integers(1, 9))
def test_integer_powers_of_any_float(start, stop, base, num):
    got = xp.logspace(start, stop, num, base=base, dtype="int64")
    want = [int(exact_power(base, e)) for e in exponents(start, stop, num)]
    assert np.asarray(got).tolist() == want


@pytest.mark.parametrize(
    ("args", "want"),
    [
        ((0, 2, 4, True, 8), [1, 4, 16, 64]),  # NumPy: 1, 3, 15, 64
        ((1, 2, 1, True, 3), [3]),
        ((33, 34, 2, True, 3), [3**33, 3**34]),  # NumPy: 3**34 + 1
        ((-3, 3, 7, True, -10), [0, 0, 0, 1, -10, 100, -1000]),
        ((0, -3, 4, True, 0.5), [1, 2, 4, 8]),
        ((0, 0.5, 2, True, (2**26 + 1) ** 2), [1, 2**26 + 1]),
        ((0, 0.5, 2, True, (2**26 + 1) ** 2 - 1), [1, 2**26]),
        ((0, 5e-324, 2, True, 10), [1, 1]),
        ((1, 1, 1, True, 1 + 2**-52), [1]),
        ((1, -1, 3, True, 1 - 2**-53), [0, 1, 1]),
        ((0, 2**52 * 30, 2, True, 1 + 2**-52), [1, int(decimal.Decimal(30).exp(DIGITS))]),
        ((0, 3, 4, True, 0), [1, 0, 0, 0]),
        ((0, 1e300, 2, True, 1), [1, 1]),
        ((0, 5, 0), []),
        ((2, 2, 3, False), [100, 100, 100]),
    ],
)
def test_integer_powers_at_the_edges(args, want, x64):
    got = xp.logspace(*args, dtype="int64")
    assert got.dtype == np.int64
    assert np.asarray(got).tolist() == want


def test_the_ends_of_every_integer_dtype():
    for bits in (8, 16, 32, 64):
        for name, top in ((f"int{bits}", bits - 2), (f"uint{bits}", bits - 1)):
            assert int(xp.logspace(0, top, 2, base=2, dtype=name)[-1]) == 2**top
            with pytest.raises(OverflowError, match="take a wider dtype"):
                xp.logspace(0, top + 1, 2, base=2, dtype=name)
        assert int(xp.logspace(bits - 1, 0, 2, base=-2, dtype=f"int{bits}")[0]) == -(2 ** (bits - 1))


@pytest.mark.parametrize(
    ("error", "args", "kwargs"),
    [
        (ValueError, (0, 1, -1), {}),
        (TypeError, (0, 1, 2.5), {}),
        (TypeError, (0, 1, "3"), {}),
        (ValueError, ([0, 1], 1), {"base": [1, 2, 3]}),
        (np.exceptions.AxisError, (0, 1, 3), {"axis": 1}),
        (np.exceptions.AxisError, (0, [1, 2], 3), {"axis": -3}),
        (ValueError, (-1, 1, 3), {"base": 0, "dtype": int}),
        (ValueError, (0, 1, 3), {"base": -2, "dtype": int}),
        (ValueError, (0, np.nan, 3), {"dtype": int}),
        (ValueError, (0, 1, 3), {"base": np.inf, "dtype": int}),
        (OverflowError, (0, 10, 11), {"dtype": "int32"}),
        (OverflowError, (0, 1e18, 2), {"base": 1 + 2**-52, "dtype": "uint64"}),
        (OverflowError, (0, 1e300, 2), {"dtype": "uint64"}),
        (TypeError, (0, 1j, 3), {"dtype": int}),
        (TypeError, (0, 1, 3), {"base": 1j, "dtype": "float32"}),
    ],
)
def test_errors(error, args, kwargs):
    with pytest.raises(error):
        xp.logspace(*args, **kwargs)


# --- other dtypes, concrete: NumPy's values -----------------------------------------------------------------

scalars = st.floats(-4, 4).map(lambda x: round(x, 3)) | st.integers(-4, 4)
dtypes = ["int8", "int64", "float16", "float32", "float64"]


@st.composite
def powers_arguments(draw):
    """Start, stop and base: Python numbers, NumPy scalars, arrays and lists."""

    def one(positive):
        dtype = draw(st.sampled_from([None, *dtypes]))
        shape = draw(st.sampled_from([(), (), (2,), (1,), (3, 1)]))
        values = draw(st.lists(scalars, min_size=6, max_size=6))
        values = np.array([abs(v) + 1 if positive else v for v in values])[: int(np.prod(shape))].reshape(
            shape
        )
        return values.tolist() if dtype is None else values.astype(dtype)

    return one(False), one(False), one(True)


@given(
    arguments=powers_arguments(), num=st.integers(0, 5), endpoint=st.booleans(), axis=st.sampled_from([0, -1])
)
def test_concrete_floats_are_numpys(arguments, num, endpoint, axis):
    start, stop, base = arguments
    with jax.enable_x64(True):
        got = xp.logspace(start, stop, num, endpoint, base, axis=axis)
    want = np.logspace(start, stop, num, endpoint, base, axis=axis)
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)


def test_dtype_without_one(x64):
    default = np.dtype("float64" if x64 else "float32")
    assert xp.logspace(0, 1, 3).dtype == default
    assert xp.logspace(np.int8(0), np.int8(1), 3).dtype == default
    assert xp.logspace(np.float64(0), 1, 3).dtype == np.float64
    assert xp.logspace(np.float32(0), 1, 3).dtype == np.float32
    assert xp.logspace(np.float32(0), 1, 3, base=np.array([2.0])).dtype == np.float64
    assert xp.logspace(jnp.bfloat16(0), jnp.bfloat16(1), 3).dtype == jnp.bfloat16
    assert xp.logspace(0, 1, 3, dtype="float64").dtype == np.float64
    assert xp.logspace(0, 1j, 3).dtype == (np.complex128 if x64 else np.complex64)
    assert xp.logspace(0, 1, 3, dtype=int).dtype == (np.int64 if x64 else np.int32)


def test_other_dtypes_and_values():
    np.testing.assert_array_equal(xp.logspace(0, 1j, 5, dtype="complex128"), np.logspace(0, 1j, 5))
    want = np.logspace(0, 3, 4, base=-2 + 1j)
    np.testing.assert_array_equal(xp.logspace(0, 3, 4, base=-2 + 1j, dtype="complex128"), want)
    assert xp.logspace(0, 1, 2, dtype=bool).tolist() == [True, True]
    with pytest.warns(RuntimeWarning):
        assert np.isinf(xp.logspace(-1, 1, 3, base=0)[0])
    with pytest.warns(RuntimeWarning):
        assert np.isnan(xp.logspace(0, 1, 3, base=-2)[1])
    arrays = jnp.asarray([0.0, 1.0]), jnp.asarray(2.0)
    np.testing.assert_array_equal(xp.logspace(*arrays, 3), np.logspace(*map(np.asarray, arrays), 3))


# --- traced -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("base", [2, 3, 10, 16])
@pytest.mark.parametrize("kind", [int, float])
def test_traced_integer_powers_are_exact(base, kind, x64):
    top = next(s for s in range(64) if base ** (s + 1) > 2**62)
    traced = jax.jit(lambda stop, base: xp.logspace(0, stop, top + 1, base=base, dtype=xp.int64))
    got = traced(kind(top), kind(base))
    assert got.dtype == np.int64
    assert np.asarray(got).tolist() == [base**i for i in range(top + 1)]


@pytest.mark.thorough
@pytest.mark.daily("x32")
def test_traced_integer_powers_outside_the_dtype_saturate(x64):
    def powers(start, stop, num, base, dtype):
        traced = jax.jit(lambda base: xp.logspace(start, stop, num, base=base, dtype=dtype))
        return np.asarray(traced(base)).tolist()

    assert powers(5, 8, 4, 2, "int8") == [32, 64, 127, 127]
    assert powers(0, 4, 5, -10, "int8") == [1, -10, 100, -128, 127]
    assert powers(0, 4, 5, -3, "uint8") == [1, 0, 9, 0, 81]
    assert powers(62, 65, 4, 2.0, "int64") == [2**62] + [2**63 - 1] * 3
    assert powers(62, 65, 4, 2, "uint64") == [2**62, 2**63] + [2**64 - 1] * 2
    assert powers(1, 3, 3, xp.asarray(np.int64(2**40 + 1)), "int64") == [2**40 + 1, 2**63 - 1, 2**63 - 1]
    assert powers(0, 1, 2, np.nan, "int32") == [1, 0]
    assert powers(-2, 2, 5, 1, "int32") == [1] * 5
    assert powers(-2, 2, 5, -1, "int32") == [1, -1, 1, -1, 1]
    assert powers(0, 2, 3, 0, "int32") == [1, 0, 0]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("endpoint", [True, False])
def test_traced_floats_are_accurate(dtype, endpoint, x64):
    dtype = jnp.dtype(dtype)
    smallest, largest = float(jnp.finfo(dtype).tiny), float(jnp.finfo(dtype).max)
    bound = 2 if dtype == np.float64 else 0.51  # of float64 powers, rounded once
    rng = np.random.default_rng(7)
    num = 50
    traced = jax.jit(lambda start, stop, base: xp.logspace(start, stop, num, endpoint, base))
    for reach in (0.5, 4, 0.95 * np.log10(largest)):
        for start, stop in ((-reach, reach), rng.uniform(-reach, reach, 2), (0.99 * reach, reach)):
            for base in (10.0, 2.5, 0.3):
                args = [np.asarray(x).astype(dtype) for x in (start, stop, base)]
                powers = np.asarray(traced(*map(xp.asarray, args)))
                assert powers.dtype == dtype
                a, b, c = map(float, args)
                for power, e in list(zip(powers, exponents(a, b, num, endpoint), strict=True))[::7]:
                    if smallest <= exact_power(c, e) <= largest:
                        assert ulps(power, c, e) <= bound


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_traced_bases_at_the_ends_of_the_range(dtype, x64):
    traced = jax.jit(lambda base: xp.logspace(-1, 2, 4, base=base))
    for base in (0.0, np.inf, -np.inf, np.nan, float(np.finfo(dtype).max), float(np.finfo(dtype).tiny)):
        with np.errstate(all="ignore"):
            want = np.logspace(-1, 2, 4, base=base).astype(dtype)
        got = np.array(traced(xp.asarray(base, dtype=dtype)))
        subnormal = (np.abs(want) < np.finfo(dtype).tiny) & (got == 0)
        want[subnormal] = 0  # as XLA has subnormal numbers on a CPU
        np.testing.assert_allclose(got, want, rtol=4 * np.finfo(dtype).eps)


def test_traced_complex_is_accurate():
    num = 21
    traced = jax.jit(lambda start, stop, base: xp.logspace(start, stop, num, base=base))
    for dtype in ("complex64", "complex128"):
        for start, stop, base in ((-2 + 1j, 3 - 2j, 10.0), (-3.0, 3 + 1j, 1.5 + 0.5j), (0, 5j, 2.0)):
            args = [np.asarray(x).astype(dtype) for x in (start, stop, base)]
            got = np.asarray(traced(*map(xp.asarray, args)))
            assert got.dtype == dtype
            start, stop, base = (x.astype(np.clongdouble) for x in args)
            steps = start + np.arange(num) * (stop - start) / (num - 1)
            allowed = (2 + np.abs(steps * np.log(base))) * np.finfo(dtype).eps
            want = np.power(base, steps)
            assert np.all(np.abs(got - want) <= allowed * np.abs(want))


def test_a_known_complex_base_loses_nothing_to_its_logarithm():
    start, stop, base, num = -20 + 30j, 25 - 40j, -3 + 2j, 21
    got = jax.jit(lambda start, stop: xp.logspace(start, stop, num, base=np.complex128(base)))(
        xp.asarray(np.complex128(start)), xp.asarray(np.complex128(stop))
    )
    steps = np.clongdouble(start) + np.arange(num) * np.clongdouble(stop - start) / (num - 1)
    want = np.power(np.clongdouble(base), steps)  # of exponents up to 135
    assert np.max(np.abs(np.asarray(got) - want) / np.abs(want)) <= 2 * np.finfo(float).eps


def test_spacing_keeps_what_rounding_loses():
    start, stop, num = -300.1, 300.2, 1001
    with jax.enable_x64(True):
        values, errors = map(
            np.asarray, jax.jit(evenly_spaced, static_argnums=(2, 3))(start, stop, num, True)
        )
    for value, error, exact in zip(values, errors, exponents(start, stop, num), strict=True):
        assert float(exact) == value
        assert abs(Fraction(value) + Fraction(error) - exact) <= 2.0**-90 * abs(exact) + 2.0**-95


@pytest.mark.daily
def test_transforms(x64):
    tolerance = {"rtol": 1e-12 if x64 else 1e-6}
    starts, stops = np.array([0.0, 1.0, -1.0]), np.array([2.0, 3.0, 0.5])
    want = np.logspace(starts, stops, 5).T
    got = jax.vmap(lambda a, b: xp.logspace(a, b, 5))(jnp.asarray(starts), jnp.asarray(stops))
    np.testing.assert_allclose(got, want, **tolerance)
    got = jax.jit(lambda a, b: xp.logspace(a, b, 5, axis=-1))(starts, stops)
    np.testing.assert_allclose(got, want, **tolerance)
    got = jax.jit(lambda base: xp.logspace(0, [1, 2], 5, base=base, axis=1))(np.array([[2.0], [3.0]]))
    np.testing.assert_allclose(got, np.logspace(0, [1, 2], 5, base=[[2.0], [3.0]], axis=1), **tolerance)

    tolerance["atol"] = 1e-13  # a derivative that is 0 may be rounded
    log = np.log(10)
    ten = 10 ** np.linspace(0.5, 2, 4)
    share = np.linspace(0, 1, 4)
    rows = jax.jit(jax.jacobian(lambda a: xp.logspace(a, 2.0, 4)))(0.5)
    np.testing.assert_allclose(rows, ten * log * (1 - share), **tolerance)
    rows = jax.jit(jax.jacobian(lambda b: xp.logspace(0.5, b, 4)))(2.0)
    np.testing.assert_allclose(rows, ten * log * share, **tolerance)
    rows = jax.jit(jax.hessian(lambda b: xp.logspace(0.5, b, 4)))(2.0)
    np.testing.assert_allclose(rows, ten * (log * share) ** 2, **tolerance)
    rows = jax.jit(jax.jacobian(lambda base: xp.logspace(1.0, 3.0, 3, base=base)))(2.0)
    np.testing.assert_allclose(rows, [1, 4, 12], **tolerance)


def test_traced_in_a_list():
    got = jax.jit(lambda a: xp.logspace([a, 2 * a], 3, 2))(1.0)
    np.testing.assert_allclose(got, [[10, 100], [1000, 1000]], rtol=1e-6)


def test_a_new_start_does_not_compile_again():
    traced = jax.jit(lambda start, base: xp.logspace(start, 3.0, 4, base=base))
    traced(0.5, 2.0)
    traced(0.7, 3.0)
    assert traced._cache_size() == 1


@pytest.mark.parametrize("dtype", [None, "int64"])
def test_device(dtype):
    (device,) = jax.devices("cpu")[:1]
    sharding = jax.sharding.SingleDeviceSharding(device)
    for where in (device, sharding):
        out = xp.logspace(0, 2, 3, dtype=dtype, device=where)
        assert out.sharding == sharding
        assert out.committed
        assert out.tolist() == [1, 10, 100]
    traced = jax.jit(lambda stop: xp.logspace(0, stop, 3, device=device))(2.0)
    np.testing.assert_allclose(traced, [1, 10, 100])
    with pytest.raises(TypeError, match="device"):
        xp.logspace(0, 2, 3, device="gpu")


@pytest.mark.parametrize(
    ("base", "least", "most", "dtype"),
    [
        (-2, 0, 63, "int64"),
        (2, 0, 63, "uint64"),
        (-1, -3, 3, "int8"),
        (-2, -3, 7, "int8"),
        (-1.5, -2, 9, "int32"),
    ],
)
def test_whole_exponents(base, least, most, dtype):
    found = xp.logspace(least, most, most - least + 1, base=base, dtype=dtype)
    assert found.dtype == dtype
    assert np.asarray(found).tolist() == [int(Fraction(base) ** k) for k in range(least, most + 1)]


def test_roots_that_are_whole():
    found = xp.logspace(16.5, 31.5, 16, base=4, dtype="uint64")
    assert np.asarray(found).tolist() == [2**k for k in range(33, 64, 2)]


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_derivatives_by_complex_bases_are_linear(dtype, x64):
    base, along = np.asarray(1 + 2j, dtype), np.asarray(2 - 1j, dtype)
    powers, slopes = jax.jvp(
        lambda base: xp.logspace(0, 3, 4, base=base, dtype=dtype), (xp.asarray(base),), (xp.asarray(along),)
    )
    np.testing.assert_allclose(powers, base ** np.arange(4), rtol=1e-6)
    np.testing.assert_allclose(slopes, [0, along, 2 * base * along, 3 * base**2 * along], rtol=1e-5)
