"""One value of each function where its rule is easily missed: at an end, of a sign, in another dtype.

Expected values are NumPy's, or exact numbers.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from comparisons import assert_same

import jaxapi as xp
from jaxapi import fuse

RNG = np.random.default_rng(5)
NUMBERS = RNG.normal(size=2000).astype(np.float32)
POSITIVE = RNG.uniform(0.1, 2, size=2000).astype(np.float32)


class TestRounding:
    """Quotients and roots are those of NumPy to the last bit, also where XLA knows a shorter formula."""

    @pytest.mark.parametrize("transform", [jax.jit, fuse])
    def test_reciprocals_of_reciprocals(self, transform):
        found = transform(lambda x: xp.divide(1, xp.divide(1, x)))(NUMBERS)
        assert_same(found, np.float32(1) / (np.float32(1) / NUMBERS))

    def test_quotients_of_quotients(self):
        found = jax.jit(lambda x, y, z: xp.divide(xp.divide(x, y), z))(NUMBERS, POSITIVE, POSITIVE[::-1])
        assert_same(found, NUMBERS / POSITIVE / POSITIVE[::-1])

    @pytest.mark.parametrize("axis", [0, 1])
    def test_one_divisor_for_each_line(self, axis):
        x, y = NUMBERS.reshape(40, 50), POSITIVE[: (40, 50)[axis]]
        divisors = np.expand_dims(y, 1 - axis)
        assert_same(jax.jit(xp.divide)(x, divisors), x / divisors)

    def test_squares_of_roots(self):
        found = jax.jit(lambda x: xp.sqrt(x) * xp.sqrt(x))(POSITIVE)
        assert_same(found, np.sqrt(POSITIVE) * np.sqrt(POSITIVE))

    def test_one_divisor_for_a_batch(self):
        x = NUMBERS.reshape(100, 20)
        assert_same(jax.jit(jax.vmap(xp.divide, (0, None)))(NUMBERS, np.float32(3)), NUMBERS / np.float32(3))
        assert_same(jax.jit(jax.vmap(xp.divide, (0, None)))(x, POSITIVE[:20]), x / POSITIVE[:20])
        assert_same(jax.jit(jax.vmap(xp.divide, (1, None)))(x, POSITIVE[:100]), x.T / POSITIVE[:100])

    def test_negative_powers_in_a_fused_function(self):
        one = np.float32(1)
        assert_same(fuse(lambda x: (x**-1) ** -1)(NUMBERS), one / (one / NUMBERS))

    def test_reciprocal_roots_in_a_fused_function(self):
        one = np.float32(1)
        assert_same(fuse(lambda x: 1 / jax.lax.rsqrt(x))(POSITIVE), one / (one / np.sqrt(POSITIVE)))


WIDE = np.array([2.0, 3.0])  # float64, also with x64 off

CASES = {
    "take by narrow positions": (
        lambda: xp.take(xp.arange(40_000), xp.asarray([-1], dtype=xp.int16)),
        lambda: np.array([39_999], np.int32),
    ),
    "pow of integers that wraps": (
        lambda: xp.pow(xp.asarray([3], dtype=xp.int32), xp.asarray([64], dtype=xp.int32)),
        lambda: np.array([3], np.int32) ** np.array([64], np.int32),
    ),
    "equal of signed and unsigned": (
        lambda: xp.equal(np.int64([0, 1, -1]), np.uint64([0, 1, 2**64 - 1])),
        lambda: np.array([True, True, False]),
    ),
    "less of signed and unsigned": (
        lambda: xp.less(np.int64([0, -1]), np.uint64([0, 0])),
        lambda: np.array([False, True]),
    ),
    "prod of a part": (
        lambda: xp.prod(WIDE, where=np.array([True, False])),
        lambda: np.prod(WIDE, where=np.array([True, False])),
    ),
    "cumulative_prod from the initial one": (
        lambda: xp.cumulative_prod(WIDE, include_initial=True),
        lambda: np.cumulative_prod(WIDE, include_initial=True),
    ),
    "max of a part without its NaN": (
        lambda: xp.max(np.float32([1, np.nan]), initial=0.0, where=np.array([True, False])),
        lambda: np.float32(1),
    ),
    "roll by a large unsigned number": (
        lambda: xp.roll(np.arange(10, dtype=np.int32), np.uint32(2**32 - 1)),
        lambda: np.roll(np.arange(10, dtype=np.int32), (2**32 - 1) % 10),
    ),
    "roll of all elements by an array": (
        lambda: xp.roll(np.arange(6, dtype=np.int32).reshape(2, 3), np.asarray(5)),
        lambda: np.roll(np.arange(6, dtype=np.int32).reshape(2, 3), 5),
    ),
    "fftfreq of more samples than float16 counts": (
        lambda: xp.fft.fftfreq(70_000, dtype=jnp.float16),
        lambda: np.fft.fftfreq(70_000).astype(np.float16),
    ),
    "tril below the corner": (
        lambda: xp.tril(np.ones((2, 2), np.float32), k=-2),
        lambda: np.tril(np.ones((2, 2), np.float32), k=-2),
    ),
    "triu above the corner": (
        lambda: xp.triu(np.ones((2, 2), np.float32), k=2),
        lambda: np.triu(np.ones((2, 2), np.float32), k=2),
    ),
    "arange up to the largest number of a dtype": (
        lambda: xp.arange(125, 128, dtype="int8"),
        lambda: np.arange(125, 128, dtype="int8"),
    ),
    "arange down to the smallest number of a dtype": (
        lambda: xp.arange(-126, -129, -1, dtype="int8"),
        lambda: np.arange(-126, -129, -1).astype("int8"),
    ),
    "linspace to the end of a dtype": (
        lambda: xp.linspace(xp.asarray(np.array(0.0)), xp.asarray(np.array(2.0**63)), 3, dtype="int64"),
        lambda: np.array([0, 2**62, 2**63 - 1]),
    ),
    "matrix_rank of zeros": (lambda: xp.linalg.matrix_rank(xp.zeros((2, 2))), lambda: np.int32(0)),
    "matrix_rank by the larger side": (
        lambda: xp.linalg.matrix_rank(np.diag(np.float32([1, 20 * 2.0**-23]), 0) @ np.eye(2, 50, dtype="f4")),
        lambda: np.int32(1),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_values(case):
    call, expected = CASES[case]
    assert_same(call(), np.asarray(expected()))


def test_cosh_just_beyond_the_range_of_exp():
    """The real part is finite, as its cosine is small; NumPy computes in double precision here."""
    z = np.complex64(89.5 + 1.5j)
    expected = np.cosh(np.complex128(z))
    found = np.asarray(xp.cosh(z))
    assert found.real == pytest.approx(expected.real, rel=1e-5)
    assert found.imag == np.float32(np.inf)  # 3.7e38 is no float32


@pytest.mark.daily
def test_derivatives_of_determinants():
    """By central differences in float64, where the formula of small matrices and the others meet."""
    for size in (3, 4):
        x = np.random.default_rng(size).normal(size=(size, size)) + 2 * np.eye(size)
        step = 1e-5
        with jax.enable_x64(True):
            found = jax.grad(xp.linalg.det)(jnp.asarray(x))
            second = jax.hessian(xp.linalg.det)(jnp.asarray(x))
        first_of = np.linalg.inv(x).T * np.linalg.det(x)
        np.testing.assert_allclose(found, first_of, rtol=1e-10, atol=1e-12)
        for i in range(size):
            for j in range(size):
                change = np.zeros_like(x)
                change[i, j] = step
                slopes = [np.linalg.inv(y).T * np.linalg.det(y) for y in (x + change, x - change)]
                expected = (slopes[0] - slopes[1]) / (2 * step)
                np.testing.assert_allclose(second[i, j], expected, rtol=1e-6, atol=1e-6)


@pytest.mark.daily
def test_second_derivatives_of_determinants_in_a_large_unit():
    """By two elements it is the determinant of what is in neither's row or column, with a sign."""
    x = np.float32(2**20) * np.random.default_rng(4).normal(size=(4, 4)).astype(np.float32)
    expected = np.zeros((4, 4, 4, 4))
    for i, j, k, m in np.ndindex(4, 4, 4, 4):
        if i != k and j != m:
            others = np.delete(np.delete(x.astype(float), [i, k], axis=0), [j, m], axis=1)
            sign = (-1) ** (i + j + k + m) * np.sign(k - i) * np.sign(m - j)
            expected[i, j, k, m] = sign * np.linalg.det(others)
    found = jax.hessian(xp.linalg.det)(jnp.asarray(x))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())


class TestByNumpy:
    """What NumPy computes on the CPU for arrays of many elements has JAX's order, dtypes and shapes."""

    def test_stable_order_of_zeros(self):
        x = RNG.choice(np.float32([0.0, -0.0, 1.0, -1.0]), size=(3, 5000))
        expected = np.take_along_axis(x, np.argsort(x, axis=1, kind="stable"), axis=1)
        assert_same(xp.sort(xp.asarray(x), axis=1), expected, signs=True)

    def test_argsort_of_unsigned_integers(self):
        x = RNG.integers(0, 2**32, 10_000).astype(np.uint32)
        assert_same(xp.argsort(xp.asarray(x)), np.argsort(x, kind="stable").astype(np.int32))

    def test_roll_of_a_matrix(self):
        x = np.arange(2**18, dtype=np.int32).reshape(512, 512)
        for axis in (0, 1, None):
            assert_same(xp.roll(xp.asarray(x), 1, axis=axis), np.roll(x, 1, axis=axis))

    def test_sums_of_small_unsigned_integers(self, x64):
        x = np.ones(40_000, np.uint8)
        expected = np.cumulative_sum(x, dtype="uint64" if x64 else "uint32")
        assert_same(xp.cumulative_sum(xp.asarray(x)), expected)


def test_a_cast_is_a_copy():
    x = xp.asarray([1.0], dtype=xp.float32)
    with pytest.raises(ValueError, match="copy"):
        xp.asarray(x, dtype=xp.float64, copy=False)
