"""arange and linspace against NumPy, to the last bit."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from comparisons import assert_same
from compilations import no_compilation
from hypothesis import given
from hypothesis import strategies as st

import jaxapi as xp

numbers = st.floats(-1e3, 1e3) | st.integers(-1000, 1000) | st.sampled_from([-0.9, 0.9, 0.1, -0.3, 1e-300])


@given(
    start=numbers,
    stop=numbers,
    num=st.sampled_from([0, 1, 2, 7, 50]),
    endpoint=st.booleans(),
    dtype=st.sampled_from([None, "float32", "float64", "complex64", "int16", "int64"]),
)
def test_linspace_is_numpys(start, stop, num, endpoint, dtype):
    for x64, default in ((False, np.float32), (True, np.float64)):
        with jax.enable_x64(x64):
            got = xp.linspace(start, stop, num, endpoint, dtype=dtype)
        assert_same(got, np.linspace(start, stop, num, endpoint, dtype=dtype or default))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_linspace_of_arrays_is_numpys(dtype, axis, x64):
    start, stop = np.array([0.1, -2.7, 3]), np.array([[1.3], [-0.4]])
    start, stop = start.astype(dtype), stop.astype(dtype)
    want = np.linspace(start, stop, 7, axis=axis)
    if want.dtype == np.float64 and dtype == "int32" and not x64:
        want = want.astype(np.float32)
    assert_same(xp.linspace(start, stop, 7, axis=axis), want)
    assert xp.linspace(start.tolist(), stop.tolist(), 7, axis=axis).shape == want.shape


@pytest.mark.parametrize("function", ["linspace", "logspace"])
def test_lists_have_the_default_dtypes(function, x64):
    """As in `asarray`; what they hold is computed with in float64."""
    start, stop = [0.1, 0.2], [[1], [3]]
    want = getattr(np, function)(start, stop, 5)
    got = getattr(xp, function)(start, stop, 5)
    assert_same(got, want if x64 else want.astype(np.float32))
    assert_same(getattr(xp, function)(start, stop, 5, dtype="float64"), want)
    assert getattr(xp, function)([1j], 2, 3).dtype == (np.complex128 if x64 else np.complex64)
    assert getattr(xp, function)([np.float64(1)], 2, 3).dtype == np.float64


def test_linspace_of_complex_ends():
    assert_same(xp.linspace(0.1, 1 + 2.3j, 5, dtype="complex128"), np.linspace(0.1, 1 + 2.3j, 5))
    got = jax.jit(lambda stop: xp.linspace(0.1, stop, 5))(np.complex64(1 + 2.3j))
    np.testing.assert_allclose(got, np.linspace(0.1, 1 + 2.3j, 5), rtol=1e-6)


def test_linspace_ends_are_exact(x64):
    values = xp.linspace(-0.0, -0.0, 3)
    assert np.signbit(values[0])
    assert np.signbit(values[-1])
    ends = np.asarray(xp.linspace(2**53 + 1, 2**62 + 1, 5, dtype="int64"))[[0, -1]]
    assert ends.tolist() == [2**53 + 1, 2**62 + 1]
    for stop in (0.1, 0.7, 1e30, 1 / 3):
        traced = jax.jit(lambda stop: xp.linspace(-1e9, stop, 11))(np.float32(stop))
        assert float(traced[-1]) == float(np.float32(stop))
        assert float(traced[0]) == -1e9


def test_linspace_step():
    values, step = xp.linspace(0, 1, 5, retstep=True)
    assert float(step) == 0.25
    assert values.shape == (5,)
    assert np.isnan(xp.linspace(0, 1, 1, retstep=True)[1])
    assert float(xp.linspace(jnp.float32(0), 1, 5, retstep=True, endpoint=False)[1]) == float(np.float32(0.2))


@pytest.mark.parametrize("endpoint", [True, False])
def test_linspace_of_jax_arrays_is_the_rounded_exact_value(endpoint, x64):
    start, stop, num = -0.9, 2.7, 101
    for dtype in ("float32", "float64"):
        a, b = np.asarray(start, dtype), np.asarray(stop, dtype)
        arrays = xp.asarray(a), xp.asarray(b)
        got = np.asarray(xp.linspace(*arrays, num, endpoint))
        assert got.dtype == dtype
        exact_a, exact_b = Fraction(float(a)), Fraction(float(b))
        step = (exact_b - exact_a) / (num - 1 if endpoint else num)
        want = np.array([float(exact_a + i * step) for i in range(num)]).astype(dtype)
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("endpoint", [True, False])
def test_linspace_step_of_jax_arrays(endpoint, x64):
    start, stop = np.array([0.5, -2.0, np.inf]), np.array([2.25, 7.0, 1.0])
    for dtype in ("float32", "float64"):
        arrays = xp.asarray(start.astype(dtype)), xp.asarray(stop.astype(dtype))
        with np.errstate(invalid="ignore"):
            want = np.linspace(start.astype(dtype), stop.astype(dtype), 8, endpoint, retstep=True)[1]
        for function in (xp.linspace, jax.jit(xp.linspace, static_argnums=(2, 3), static_argnames="retstep")):
            values, step = function(*arrays, 8, endpoint, retstep=True)
            assert step.dtype == dtype  # XLA may take a quotient as a product with the reciprocal: 1 ulp
            np.testing.assert_allclose(step, want, rtol=np.finfo(dtype).eps)
            assert values.shape == (8, 3)
    assert np.isnan(xp.linspace(arrays[0], arrays[1], 1, retstep=True)[1]).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_linspace_of_jax_arrays_begins_and_ends_exactly(dtype, x64):
    """With the signs of zeros and with infinities, of which the arithmetic in between would make NaN."""
    ends = [0.0, -0.0, 1.0, 0.1, -1e30, np.inf, -np.inf]
    pairs = np.array([(a, b) for a in ends for b in ends], dtype).T
    arrays = [xp.asarray(x) for x in pairs]
    for function in (xp.linspace, jax.jit(xp.linspace, static_argnums=(2, 3))):
        values = np.asarray(function(*arrays, 5))
        assert values.dtype == dtype
        for got, want in ((values[0], pairs[0]), (values[-1], pairs[1])):
            np.testing.assert_array_equal(got, want)
            np.testing.assert_array_equal(np.signbit(got), np.signbit(want))
        first = np.asarray(function(*arrays, 5, False))[0]
        np.testing.assert_array_equal(first, pairs[0])
        np.testing.assert_array_equal(np.signbit(first), np.signbit(pairs[0]))


@pytest.mark.daily
def test_linspace_transforms():
    np.testing.assert_allclose(
        jax.vmap(lambda a, b: xp.linspace(a, b, 3))(jnp.arange(2.0), jnp.arange(2.0) + 1),
        [[0, 0.5, 1], [1, 1.5, 2]],
    )
    np.testing.assert_allclose(jax.jacobian(lambda a: xp.linspace(a, 1.0, 3))(0.25), [1, 0.5, 0])
    np.testing.assert_allclose(
        jax.jacobian(lambda b: xp.linspace(0.0, b, 4, False))(0.25), [0, 0.25, 0.5, 0.75]
    )
    got = jax.jit(lambda a: xp.linspace(a, 300.5, 5, dtype="int8"))(-300.5)
    assert got.tolist() == [-128, -128, 0, 127, 127]
    assert jax.jit(lambda a: xp.linspace(a, 1, 5, dtype="int8"))(-1.0).tolist() == [-1, -1, 0, 0, 1]
    for stop in (0.9, 0.3):
        got = jax.jit(lambda stop=stop: xp.linspace(-0.9, stop, 301, dtype="float64"))()
        assert_same(got, np.linspace(-0.9, stop, 301))


@pytest.mark.parametrize(
    ("error", "args", "kwargs"),
    [
        (ValueError, (0, 1, -1), {}), (TypeError, (0, 1, 2.5), {}), (ValueError, ([1, 2], [1, 2, 3]), {}),
        (np.exceptions.AxisError, (0, 1, 3), {"axis": 1}), (OverflowError, (0, 300, 3), {"dtype": "int8"}),
        (ValueError, (0, np.nan, 3), {"dtype": "int8"}), (ValueError, (0, np.inf, 3), {"dtype": "int8"}),
        (TypeError, (0, 1j, 3), {"dtype": "float32"}), (TypeError, (["a"], 1, 3), {}),
        (TypeError, ([2**70], 1, 3), {}), (TypeError, (np.array(["2026-01-01"], "M8[D]"), 1, 3), {}),
    ],
)  # fmt: skip
def test_linspace_errors(error, args, kwargs):
    with pytest.raises(error):
        xp.linspace(*args, **kwargs)


@given(
    start=numbers,
    length=st.integers(-2, 12),
    step=st.sampled_from([0.1, 0.3, 1, 2, 7, -1, -0.7, 1e-3]),
    dtype=st.sampled_from([None, "float16", "float32", "float64", "int64"]),
)
def test_arange_is_numpys(start, length, step, dtype):
    stop = start + length * step
    integers = isinstance(start, int) and isinstance(step, int)
    for x64, default in ((False, np.float32), (True, np.float64)):
        if dtype is None and integers:
            default = np.int64 if x64 else np.int32
        with jax.enable_x64(x64):
            got = xp.arange(start, stop, step, dtype=dtype)
        assert_same(got, np.arange(start, stop, step, dtype=dtype or default))


def test_arange_forms(x64):
    integer = np.int64 if x64 else np.int32
    assert_same(xp.arange(5), np.arange(5, dtype=integer))
    assert_same(xp.arange(0), np.arange(0, dtype=integer))
    assert_same(xp.arange(True), np.arange(True, dtype=integer))
    assert_same(xp.arange(1, 5), np.arange(1, 5, dtype=integer))
    assert_same(xp.arange(2, 5), np.arange(2, 5, dtype=integer))
    assert_same(xp.arange(3, step=2), np.arange(0, 3, 2, dtype=integer))
    assert_same(xp.arange(5, 0, -1, dtype="uint8"), np.arange(5, 0, -1, dtype="uint8"))
    assert_same(xp.arange(np.float64(3)), np.arange(3.0))
    assert_same(xp.arange(jnp.asarray(3)), np.arange(3, dtype=integer))
    assert_same(xp.arange(2**63, 2**63 + 3, dtype="uint64"), np.arange(2**63, 2**63 + 3, dtype="uint64"))
    assert_same(xp.arange(3, dtype="complex64"), np.arange(3, dtype="complex64"))
    assert xp.arange(3, dtype=jnp.bfloat16).dtype == jnp.bfloat16
    assert np.signbit(xp.arange(-0.0, 1, 0.5)[0])
    assert xp.arange(2**40, 2**40 + 2, dtype="int64").tolist() == [2**40, 2**40 + 1]
    device = jax.devices()[0]
    assert xp.arange(3, device=device).devices() == {device}


@pytest.mark.parametrize(
    ("error", "args", "kwargs"),
    [
        (ZeroDivisionError, (0, 5, 0), {}), (ValueError, (0, np.nan), {}), (ValueError, (0, np.inf), {}),
        (OverflowError, (300,), {"dtype": "int8"}), (OverflowError, (-1, 2), {"dtype": "uint8"}),
        (OverflowError, (2**40, 2**40 + 2), {"dtype": "int32"}),
        (OverflowError, (2**64, 2**64 + 2), {"dtype": "uint64"}), (TypeError, ([1, 2],), {}),
        (TypeError, ("3",), {}), (TypeError, (None,), {}), (TypeError, (None, 3), {}),
        (TypeError, (3,), {"dtype": bool}), (ValueError, (1j,), {}),
    ],
)  # fmt: skip
def test_arange_errors(error, args, kwargs):
    with pytest.raises(error):
        xp.arange(*args, **kwargs)


def test_a_new_start_does_not_compile_again():
    for function in (xp.linspace, xp.arange):
        function(0.0, 10.0, 10)
        with no_compilation():
            function(0.25, 10.25, 10)
