"""Derivatives of what has rules of ours, against finite differences; `nox -s fuzz` tries all functions.

Where a rule divides by what may be zero, or a square overflows, the answers are written out.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from derivatives import CASES, audit

import jaxapi as xp

OWN = """
    acosh,complex asin,complex atan2 atanh,complex clip,limits cosh,large cos,complex exp,complex floor_divide
    linspace linspace,complex linspace,open log10 log10,complex logspace logspace,complex
    max,where min,axis pow pow,complex pow,numbers pow,zero remainder,negative sign,complex sinh sinh,complex
    sqrt,complex tanh,complex vecdot,broadcast vecdot,complex linalg.det,complex linalg.matrix_norm,2
    linalg.pinv,wide linalg.qr,tall fft.fftfreq fft.ihfft
"""


OWN_OF_OTHERS = [name for name in CASES if "singular" in name or "distance" in name]


@pytest.mark.thorough("distance", "linalg", "complex")
@pytest.mark.parametrize("name", [*OWN.split(), *OWN_OF_OTHERS])
def test_against_finite_differences(name):
    assert not audit(CASES[name])


@pytest.mark.parametrize("power", [0.0, 1.0, 2.0, 3.0, 0, 1, 2, 3])
def test_powers_of_zero(power):
    with jax.enable_x64(True):
        derivative = functools.partial(lambda power, x: xp.pow(x, power), power)
        for order in range(4):
            expected = np.prod(np.arange(power, power - order, -1)) * (order == power)
            assert derivative(0.0) == expected, order
            derivative = jax.grad(derivative)


def test_powers_in_both_operands():
    slopes = jax.grad(lambda x, y: xp.pow(x, y), argnums=(0, 1))
    assert slopes(-2.0, 3.0)[0] == 12
    assert np.isnan(slopes(-2.0, 3.0)[1])  # real numbers have no powers around it
    assert jax.grad(lambda x: xp.pow(x, 3.0))(-2.0) == 12
    assert jax.grad(lambda x: xp.sum(xp.pow(x, jnp.arange(4))))(0.0) == 1
    np.testing.assert_allclose(
        jax.grad(lambda y: xp.sum(xp.pow(jnp.arange(1, 4), y)))(2.0), 12.6601, rtol=1e-5
    )
    assert jax.hessian(lambda base: xp.sum(xp.logspace(0.0, 3.0, 4, base=base)))(0.0) == 2


@pytest.mark.parametrize("size", [1e-30, 1e-10, 1.0, 1e10, 1e30])
def test_angles_of_any_size(size):
    by_y, by_x = jax.grad(xp.atan2, argnums=(0, 1))(jnp.float32(3 * size), jnp.float32(4 * size))
    np.testing.assert_allclose([by_y * size, by_x * size], [4 / 25, -3 / 25], rtol=1e-6)


@pytest.mark.parametrize(
    "options", [{}, {"axis": 0}, {"axis": (-1,), "keepdims": True}, {"where": [True, False, True]}]
)
def test_products_of_64_bits(options):
    x = np.array([[0.2, 0.0, 0.45], [0.9, 0.0, 0.6]])
    check_with_x64_off(lambda x: xp.sum(xp.prod(x, initial=2.0, **options)), x)


@pytest.mark.thorough
@pytest.mark.parametrize("options", [{"axis": 1}, {"axis": 0, "include_initial": True}])
def test_running_products_of_64_bits(options):
    x = np.array([[0.2, 0.0, 0.45], [0.9, 0.0, 0.6]])
    check_with_x64_off(lambda x: xp.sum(xp.cumulative_prod(x, **options)), x)


def check_with_x64_off(function, x):
    @jax.jit
    def with_derivatives(x):
        return function(x), jax.grad(function)(x), jax.hessian(function)(x)

    with jax.enable_x64(True):
        expected = with_derivatives(x)
    with jax.enable_x64(False):
        found = with_derivatives(xp.asarray(x))
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == np.float64
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-15)
