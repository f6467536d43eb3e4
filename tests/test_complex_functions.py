"""Complex functions: the standard's rules, their symmetries, and accuracy between them."""

import jax
import numpy as np
import pytest
from complex_rules import CLASSES, RULES, cases
from hypothesis import given
from hypothesis import strategies as st

import jaxapi as xp

NAMES = xp._elementwise._special.__all__
ODD = ("asinh", "atanh", "sinh", "tanh", "asin", "atan", "sin", "tan")
MODES = [("complex64", False), ("complex128", False), ("complex128", True)]
GRID = np.array([complex(a, b) for a in (*CLASSES["any"], -0.0) for b in (*CLASSES["any"], -0.0)])


def apply(name, z, dtype="complex128", x64=True):
    """Return the function's values for a NumPy array, computed in ``dtype`` by one program for all sizes."""
    z = np.asarray(z)
    room = np.zeros(-(-z.size // 256) * 256, complex)
    room[: z.size] = z.ravel()
    with jax.enable_x64(x64):
        found = np.asarray(getattr(xp, name)(xp.asarray(room, dtype=getattr(xp, dtype))))
    return found[: z.size].reshape(z.shape)


def same(x, y):
    """Say where two real arrays agree, to rounding and in the signs of zeros."""
    close = np.isclose(x, y, rtol=1e-6, atol=0, equal_nan=True)
    return close & (np.isnan(x) | (np.signbit(x) == np.signbit(y)))


def same_complex(x, y):
    return same(x.real, y.real) & same(x.imag, y.imag)


def assert_agree(arguments, x, y):
    # Where an argument has a NaN, the standard leaves the sign of a zero or an infinity open.
    free = np.isnan(arguments.real) | np.isnan(arguments.imag)
    unsigned = same(abs(x.real), abs(y.real)) & same(abs(x.imag), abs(y.imag))
    bad = np.flatnonzero(~(same_complex(x, y) | (free & unsigned)))
    assert not bad.size, [(arguments[i], x[i], y[i]) for i in bad]


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize(("dtype", "x64"), MODES)
def test_rules(name, dtype, x64):
    arguments, expected = cases(name)
    real, real_free, imag, imag_free = np.array(expected).T
    for z, conjugate in ((np.array(arguments), 1), (np.conj(arguments), -1)):
        out = apply(name, z, dtype, x64)
        assert out.dtype == dtype
        good = same(out.real, real) | (real_free.astype(bool) & same(abs(out.real), real))
        good &= same(out.imag, conjugate * imag) | (imag_free.astype(bool) & same(abs(out.imag), imag))
        assert good.all(), [(z[i], out[i]) for i in np.flatnonzero(~good)]


@pytest.mark.parametrize("name", NAMES)
def test_conjugate(name):
    # Where a sign is unspecified (next to a NaN) it need not be mirrored.
    out, mirrored = apply(name, GRID), np.conj(apply(name, np.conj(GRID)))
    free = np.isnan(out.real) | np.isnan(out.imag) | ~np.isfinite(GRID.imag)
    assert (same_complex(out, mirrored) | free).all()


@pytest.mark.parametrize("name", ODD)
def test_odd(name):
    out, mirrored = apply(name, GRID), -apply(name, -GRID)
    free = np.isnan(out.real) | np.isnan(out.imag)
    assert (same_complex(out, mirrored) | free).all()


@pytest.mark.parametrize(
    ("name", "base"), [("asin", "asinh"), ("atan", "atanh"), ("sin", "sinh"), ("tan", "tanh")]
)
def test_defined_by_hyperbolic(name, base):
    def times_j(z):
        return np.array([complex(-w.imag, w.real) for w in z])

    assert_agree(GRID, apply(name, GRID), -times_j(apply(base, times_j(GRID))))


def test_cos_is_cosh():
    turned = np.array([complex(-z.imag, z.real) for z in GRID])
    assert_agree(GRID, apply("cos", GRID), apply("cosh", turned))


@pytest.mark.parametrize(("name", "base"), [("log2", 2), ("log10", 10)])
def test_change_of_base(name, base):
    natural = apply("log", GRID)
    expected = np.array([complex(w.real / np.log(base), w.imag / np.log(base)) for w in natural])
    assert same_complex(apply(name, GRID), expected).all()


@pytest.mark.parametrize("a", [np.inf, -np.inf])
@pytest.mark.parametrize("b", [0.5, 2.5, -4.0, 1e10])
def test_direction_of_infinity(a, b):
    cis = np.array([np.cos(b), np.sin(b)])
    towards = np.copysign(np.inf if a > 0 else 0, cis)
    (out,) = apply("exp", [complex(a, b)])
    np.testing.assert_array_equal([out.real, out.imag], towards)
    assert (np.signbit([out.real, out.imag]) == np.signbit(cis)).all()
    (out,) = apply("expm1", [complex(a, b)])
    np.testing.assert_array_equal([out.real, out.imag], [towards[0] - 1, towards[1]])
    (out,) = apply("sinh", [complex(a, b)])
    np.testing.assert_array_equal([out.real, out.imag], [a * cis[0], np.inf * cis[1]])
    (out,) = apply("cosh", [complex(a, b)])
    np.testing.assert_array_equal([out.real, out.imag], [np.inf * cis[0], a * cis[1]])


parts = st.floats(-20, 20, width=32).map(lambda x: 0.0 if abs(x) < 1e-30 else x)
points = st.lists(st.builds(complex, parts, parts), min_size=8, max_size=8)


@pytest.mark.parametrize("name", NAMES)
@given(z=points)
def test_accuracy(name, z):
    z = np.array(z)
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(z)
    np.testing.assert_allclose(apply(name, z), expected, rtol=2e-13, atol=2e-13)


@pytest.mark.parametrize(
    "name", ["sinh", "tanh", "asinh", "atanh", "sin", "tan", "asin", "atan", "expm1", "log1p"]
)
def test_small_arguments_keep_their_digits(name):
    z = np.array([1e-20 + 3e-19j, 1e-9 - 1e-12j])
    np.testing.assert_allclose(apply(name, z)[0], z[0], rtol=1e-15)
    np.testing.assert_allclose(apply(name, z.astype("complex64"), "complex64")[0], z[0], rtol=1e-6)


def test_nothing_overflows_early():
    # sinh and cosh of 89.2 overflow in float32; multiplied by the cosine here they do not.
    z = np.array([89.2 + 1.4j, -89.2 + 1.4j])
    for name in ("sinh", "cosh"):
        expected = getattr(np, name)(z).real
        np.testing.assert_allclose(apply(name, z, "complex64").real, expected, rtol=1e-5)


def test_near_poles():
    b = np.float32(1e-30)
    np.testing.assert_allclose(apply("log1p", complex(-1, b), "complex64").real, np.log(b), rtol=1e-6)
    np.testing.assert_allclose(apply("atanh", complex(1, b), "complex64").real, np.log(2 / b) / 2, rtol=1e-6)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_real_arguments(name, dtype, x64):
    x = np.array([-np.inf, -2.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 2.0, np.inf, np.nan], dtype)
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(x)
    out = np.asarray(getattr(xp, name)(xp.asarray(x)))
    assert out.dtype == dtype
    np.testing.assert_allclose(out, expected, rtol=1e-6 if dtype == "float32" else 1e-14)
    assert (np.signbit(out) == np.signbit(expected))[~np.isnan(expected)].all()
