"""floor_divide, remainder and sign: the standard's tables, NumPy elsewhere."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from comparisons import assert_same
from hypothesis import given
from hypothesis import strategies as st

import jaxapi as xp

FLOATS = ["float16", "bfloat16", "float32", "float64"]
INTS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
SHAPES = [((), ()), ((3,), ()), ((0,), (1,)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((2, 0, 1), (1, 4))]
FINITE = (0.5, 1.0, 3.5, 1024.0)
inf, nan = math.inf, math.nan


def special_pairs():
    """Yield (x1, x2, floor_divide, remainder) where the standard says what they are; nan also means NaN."""
    for s1 in (1.0, -1.0):
        for s2 in (1.0, -1.0):
            sign = s1 * s2
            yield s1 * inf, s2 * inf, nan, nan
            yield s1 * 0.0, s2 * 0.0, nan, nan
            yield s1 * 0.0, s2 * inf, sign * 0.0, s2 * 0.0
            yield s1 * inf, s2 * 0.0, sign * inf, nan
            for x in FINITE:
                yield s1 * inf, s2 * x, sign * inf, nan
                yield s1 * x, s2 * inf, sign * 0.0, s1 * x if s1 == s2 else s2 * inf
                yield s1 * 0.0, s2 * x, sign * 0.0, s2 * 0.0
                yield s1 * x, s2 * 0.0, sign * inf, nan
    for x in (0.0, 1.0, inf, nan):
        yield nan, x, nan, nan
        yield x, nan, nan, nan


@pytest.mark.parametrize("dtype", FLOATS)
def test_special_pairs(dtype, x64):
    x1, x2, quotient, rest = np.array(list(special_pairs())).T
    a, b = xp.asarray(x1, dtype=jnp.dtype(dtype)), xp.asarray(x2, dtype=jnp.dtype(dtype))
    for function, expected in ((xp.floor_divide, quotient), (xp.remainder, rest)):
        out = function(a, b)
        assert out.dtype == dtype
        assert_same(np.asarray(out).astype("float64"), expected, signs=True)


@pytest.mark.parametrize("name", ["floor_divide", "remainder"])
def test_integers_by_zero(name, x64):
    dtypes = [np.int8, np.int32, np.uint8, np.uint32, *[np.int64, np.uint64] * x64]
    operands = [(np.array([1, 0, 7, np.iinfo(d).min], d), np.array([0, 0, 2, 0], d)) for d in dtypes]

    def divided(namespace, operands):
        function = getattr(namespace, name)
        return [(function(a, b), function(a, 0)) for a, b in operands]

    with np.errstate(divide="ignore"):
        expected = divided(np, operands)
    for made in (divided(xp, operands), jax.jit(functools.partial(divided, xp))(operands)):
        for ours, numpys in zip(made, expected, strict=True):
            np.testing.assert_array_equal(ours, numpys)
    assert getattr(xp, name)([1], [0]).tolist() == [0]


@pytest.mark.parametrize("name", ["floor_divide", "remainder"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@given(data=st.data())
def test_finite_floats_are_numpys(name, dtype, data):
    width = 32 if dtype == "float32" else 64
    numbers = st.floats(-1e6, 1e6, width=width).filter(lambda x: x == 0 or abs(x) > 1e-6)
    x1, x2 = (
        np.array(data.draw(st.lists(numbers.filter(lambda x: x != 0), min_size=6, max_size=6)), dtype)
        for _ in range(2)
    )
    out, expected = np.asarray(getattr(xp, name)(xp.asarray(x1), xp.asarray(x2))), getattr(np, name)(x1, x2)
    np.testing.assert_array_equal(out, expected)


def test_quotients_are_exact():
    assert float(xp.floor_divide(1.0, 0.1)) == 1.0 // 0.1 == 9
    out = xp.floor_divide(xp.asarray([0.5, -0.5]), xp.asarray([3.0, -3.0]))
    assert_same(np.asarray(out).astype("float64"), np.array([0.0, 0.0]), signs=True)


@pytest.mark.parametrize("name", ["floor_divide", "remainder"])
@given(data=st.data())
def test_integers_are_numpys(name, data):
    dtype = data.draw(st.sampled_from(INTS))
    info = np.iinfo(dtype)
    numbers = st.integers(int(info.min), int(info.max))
    x1 = np.array(data.draw(st.lists(numbers, min_size=6, max_size=6)), dtype)
    x2 = np.array(
        data.draw(st.lists(numbers.filter(lambda x: x not in (0, -1)), min_size=6, max_size=6)), dtype
    )
    out = getattr(xp, name)(xp.asarray(x1), xp.asarray(x2))
    assert out.dtype == dtype
    np.testing.assert_array_equal(np.asarray(out), getattr(np, name)(x1, x2))


@pytest.mark.parametrize("name", ["floor_divide", "remainder"])
@pytest.mark.parametrize("shapes", SHAPES)
def test_broadcasting(name, shapes):
    x1, x2 = (np.arange(math.prod(s), dtype="float32").reshape(s) + i for i, s in enumerate(shapes, 3))
    out = getattr(xp, name)(xp.asarray(x1), xp.asarray(x2))
    np.testing.assert_array_equal(np.asarray(out), getattr(np, name)(x1, x2))


@pytest.mark.parametrize("name", ["floor_divide", "remainder"])
def test_python_scalars_are_weak(name):
    function = getattr(xp, name)
    for dtype in ("int8", "float16", "float32"):
        x = xp.asarray([7, 5], dtype=jnp.dtype(dtype))
        assert function(x, 2).dtype == dtype
        assert function(2, x).dtype == dtype
    with pytest.raises(TypeError):
        function(xp.asarray([1j]), 2)
    assert function([7, 5], 2).dtype == xp.asarray([7, 5]).dtype


@pytest.mark.parametrize("dtype", [*INTS, *FLOATS])
def test_sign_real(dtype, x64):
    values = [0, 1, 5] if dtype[0] == "u" else [-5, -1, 0, 1, 5]
    values += [inf, -inf, nan, -0.0] if dtype not in INTS else []
    out = xp.sign(xp.asarray(values, dtype=jnp.dtype(dtype)))
    assert out.dtype == dtype
    expected = np.sign(np.array(values, dtype="float64")) + 0.0
    assert_same(np.asarray(out).astype("float64"), expected, signs=True)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_sign_complex(dtype, x64):
    z = np.array([0, complex(-0.0, -0.0), 3 + 4j, complex(nan, 1), complex(1, nan), complex(nan, inf)])
    out = np.asarray(xp.sign(xp.asarray(z, dtype=jnp.dtype(dtype))))
    assert out.dtype == dtype
    expected = np.array([0, 0, 0.6 + 0.8j] + 3 * [complex(nan, nan)])
    np.testing.assert_allclose(out.real, expected.real, rtol=1e-6)
    np.testing.assert_allclose(out.imag, expected.imag, rtol=1e-6)
    assert not np.signbit([out[:2].real, out[:2].imag]).any()


@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (1, 1)])
def test_shapes_are_kept(shape):
    x = xp.ones(shape)
    for name in ("sign", "exp", "sqrt", "tanh"):
        assert getattr(xp, name)(x).shape == shape
        assert getattr(xp, name)(x * 1j).shape == shape


@pytest.mark.thorough
def test_derivatives():
    dx1, dx2 = jax.grad(xp.remainder, (0, 1))(7.5, -2.0)
    assert (dx1, dx2) == (1, 4)
    assert jax.grad(xp.remainder, (0, 1))(6.0, 3.0) == (1, -2)
    assert jax.grad(xp.floor_divide, (0, 1))(0.0, 2.0) == (0, 0)
    assert jax.grad(xp.sign)(0.0) == 0
    for name in ("sinh", "asinh", "tanh", "exp", "sqrt", "log"):
        z = 0.3 - 0.7j
        slope = jax.grad(getattr(xp, name), holomorphic=True)(z)
        near = [complex(getattr(np, name)(z + h)) for h in (1e-6, -1e-6)]
        assert abs(slope - (near[0] - near[1]) / 2e-6) < 1e-5
    # The sign of a zero is repaired without turning the derivative round.
    assert jax.grad(xp.asinh, holomorphic=True)(complex(-0.0, 0.0)) == 1


class TestClip:
    @pytest.mark.parametrize("dtype", [*INTS, *FLOATS])
    def test_numpys(self, dtype):
        x = np.array([0, 1, 5, 100], "float64")
        for limits in ((1, 50), (None, 2), (3, None), (7, 4)):
            out = xp.clip(xp.asarray(x, dtype=jnp.dtype(dtype)), *limits)
            assert out.dtype == dtype
            np.testing.assert_array_equal(np.asarray(out).astype("float64"), np.clip(x, *limits))

    def test_wide_limits(self, x64):
        x = np.array([0, 2**40, 2**62], "int64")
        assert xp.clip(xp.asarray(x), 2**33 + 1, 2**41).tolist() == [2**33 + 1, 2**40, 2**41]
        assert xp.clip(xp.asarray([2**32 - 1], dtype=xp.uint32), max=2**31).tolist() == [2**31]
        assert xp.clip(xp.asarray(np.array([0.0, 1.0])), 0.1, 0.7).tolist() == [0.1, 0.7]

    def test_arrays_and_errors(self):
        x, limit = xp.asarray([[1.0, 5.0]]), xp.asarray([[2.0], [3.0]])
        assert xp.clip(x, limit).tolist() == [[2.0, 5.0], [3.0, 5.0]]
        with pytest.raises(OverflowError):
            xp.clip(xp.asarray([1], dtype=xp.int8), 0, 300)
        assert jax.grad(lambda x: xp.clip(x, 0.0, 1.0))(0.5) == 1


@pytest.mark.parametrize("name", ["sinh", "cosh"])
@pytest.mark.parametrize(("dtype", "largest"), [("float32", 89.4), ("float64", 710.47)])
def test_hyperbolic_functions_up_to_the_overflow(name, dtype, largest, x64):
    rng = np.random.default_rng(0)
    parts = rng.uniform(-largest, largest, 500), rng.uniform(-25, 25, 200), rng.uniform(-1.5, 1.5, 100)
    x = np.concatenate([*parts, [-544.26 * (dtype == "float64"), largest, -largest, 0.0, -0.0]]).astype(dtype)
    exact = getattr(np, name)(x.astype(np.longdouble))
    for function in (getattr(xp, name), jax.jit(getattr(xp, name))):
        out = np.asarray(function(xp.asarray(x)))
        assert out.dtype == dtype
        assert np.isfinite(out).all()
        assert (np.abs(out - exact) <= 3 * np.spacing(np.abs(exact).astype(dtype))).all()
        np.testing.assert_array_equal(np.signbit(out), np.signbit(exact))
    beyond = getattr(xp, name)(xp.asarray([largest + 1, -np.inf, np.nan], dtype=jnp.dtype(dtype)))
    np.testing.assert_array_equal(np.asarray(beyond), getattr(np, name)([np.inf, -np.inf, np.nan]))


def test_complex_sinh_near_the_overflow(x64):
    """The parts are hyperbolic functions times a sine or cosine, which may keep them finite."""
    z = np.array([544.26 + 0.5j, -700 + 2j, 710.4 + 1.5j, 710.6 + 0.7j])
    with np.errstate(over="ignore"):
        exact = np.sinh(z.astype(np.clongdouble))
    out = np.asarray(xp.sinh(xp.asarray(z)))
    for part, true in ((out.real, exact.real), (out.imag, exact.imag)):
        assert (np.abs(part - true) <= 6 * np.spacing(np.abs(true).astype("float64"))).all()


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_sign_of_large_and_infinite_complex(dtype, x64):
    largest = float(np.finfo(dtype).max)
    parts = [0.0, -0.0, 3.0, -2.0, largest, -largest, np.inf, -np.inf]
    z = np.array([complex(a, b) for a in parts for b in parts]).astype(dtype)
    with np.errstate(invalid="ignore"):
        expected = np.sign(np.where(np.isfinite(z), z / 4, z))  # NumPy's modulus overflows
    out = np.asarray(xp.sign(xp.asarray(z)))
    tiny = np.finfo(dtype).tiny  # XLA gives 0 for subnormal numbers
    np.testing.assert_allclose(out, expected, rtol=4 * np.finfo(dtype).eps, atol=tiny)


def test_derivatives_of_remainder():
    """1 in the dividend, minus the quotient in the divisor."""
    for x1, x2 in ((7.5, 2.0), (-7.5, 2.0), (7.5, -2.0), (0.5, 2.0)):
        slopes = jax.grad(xp.remainder, argnums=(0, 1))(x1, x2)
        assert slopes == (1, -np.floor(x1 / x2))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_quotients_of_one_sign_are_not_negative_zero(dtype, x64):
    rng = np.random.default_rng(0)
    x1, x2 = rng.uniform(0, 1, (2, 1000)).astype(dtype)
    x2 += 1
    for sign in (1, -1):
        out = np.asarray(xp.floor_divide(xp.asarray(sign * x1), xp.asarray(sign * x2)))
        assert (out == 0).all()
        assert not np.signbit(out).any()


@pytest.mark.parametrize(
    "dtypes", [("int8", "int8"), ("int32", "int32"), ("int64", "int64"), ("uint8", "int8")]
)
def test_integer_powers(dtypes, x64):
    """As Python's, rounded toward zero where the power is negative, and wrapped."""
    bases = [-128, -3, -2, -1, 0, 1, 2, 3, 127, 255]
    bases = [x for x in bases if np.iinfo(dtypes[0]).min <= x <= np.iinfo(dtypes[0]).max]
    powers = [-128, -20, -3, -2, -1, 0, 1, 2, 3, 7]
    x1, x2 = xp.asarray(bases, dtype=dtypes[0])[:, None], xp.asarray(powers, dtype=dtypes[1])
    dtype = np.result_type(*dtypes)
    exact = [[x**n if n >= 0 else (x**-n if abs(x) == 1 else 0) for n in powers] for x in bases]
    expected = np.array([[(x + 2**63) % 2**64 - 2**63 for x in row] for row in exact]).astype(dtype)
    for function in (xp.pow, jax.jit(xp.pow)):
        out = function(x1, x2)
        assert out.dtype == dtype
        np.testing.assert_array_equal(out, expected)


def test_integers_to_a_negative_number_raise_as_in_numpy():
    for x in (2, [1, 2], np.array([3]), xp.asarray([3], dtype=xp.uint8)):
        for function in (xp.pow, jax.jit(xp.pow, static_argnums=1), np.power):
            if function is np.power or not isinstance(x, list):
                with pytest.raises((ValueError, OverflowError)):
                    function(x, -1)
    assert xp.pow(xp.asarray([2.0, 4.0]), -1).tolist() == [0.5, 0.25]
    assert xp.pow(2.0, -1) == 0.5
