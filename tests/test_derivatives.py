"""Derivatives of what has rules of ours, against finite differences; `nox -s fuzz` tries all functions.

Where a rule divides by what may be zero, or a square overflows, the answers are written out.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from derivatives import CASES, audit
from jax import lax

import jaxapi as xp
from jaxapi import mutable, numpy

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


NORMS = {
    **{f"vector_norm {p}": functools.partial(xp.linalg.vector_norm, ord=p) for p in (1, 1.5, 2, 3, np.inf)},
    **{f"norm {p}": functools.partial(numpy.linalg.norm, ord=p) for p in (None, 1, 1.5, 2, 3, np.inf)},
    "hypot": lambda x: xp.hypot(x[0], x[1]),
    "hypot of numpy": lambda x: numpy.hypot(x[0], x[1]),
    "abs": lambda x: xp.abs(lax.complex(x[0], x[1])),
    "abs of numpy": lambda x: numpy.abs(numpy.asarray(lax.complex(x[0], x[1]))),
    "abs of mutable": lambda x: mutable.abs(mutable.asarray(lax.complex(x[0], x[1]))),
    "std": xp.std,
    "std of numpy": lambda x: numpy.asarray(x).std(ddof=1),
    "nanstd": numpy.nanstd,
    "std of mutable": lambda x: mutable.std(mutable.asarray(x)),
    **{
        f"matrix_norm {p}": lambda x, p=p: xp.linalg.matrix_norm(xp.stack([x, -x]), ord=p)
        for p in ("fro", "nuc", 1, 2)
    },
    **{
        f"norm of matrices {p}": lambda x, p=p: numpy.linalg.norm(xp.stack([x, -x]), p)
        for p in ("fro", "nuc", 1, 2)
    },
}  # fmt: skip


@pytest.mark.thorough
def test_norms_of_zeros_have_no_slopes(x64):
    def value_and_slope(norm, x):
        return jax.value_and_grad(lambda x: jnp.asarray(norm(x)))(x)

    def slopes(x):
        return {name: value_and_slope(norm, x) for name, norm in NORMS.items()}

    @jax.jit
    def both_orders(x):
        return slopes(x), jax.jacfwd(slopes)(x)

    for parts_by_name in both_orders(jnp.zeros(3)):
        for name, parts in parts_by_name.items():
            for part in parts:
                np.testing.assert_array_equal(part, np.zeros_like(part), err_msg=name)


@pytest.mark.thorough
def test_norms_beside_zeros():
    """Along an element of 0 in a vector: against NumPy's norms and finite differences."""
    x = np.array([0.0, 3.0, -4.0])
    step = 1e-4
    numpys = {
        **{f"vector_norm {p}": functools.partial(np.linalg.norm, ord=p) for p in (2, 3, np.inf)},
        "norm None": np.linalg.norm, "norm 3": functools.partial(np.linalg.norm, ord=3),
        "hypot": lambda x: np.hypot(x[0], x[1]), "std": np.std,
        "matrix_norm fro": lambda x: np.linalg.norm(np.stack([x, -x])),
    }  # fmt: skip

    def difference(function, x, i):
        move = step * np.eye(3)[i]
        return (np.asarray(function(x + move)) - np.asarray(function(x - move))) / (2 * step)

    with jax.enable_x64(True):
        for name, norm in numpys.items():

            def ours(x, name=name):
                return jnp.asarray(NORMS[name](x))

            slope = jax.jit(jax.grad(ours))
            expected = [difference(norm, x, i) for i in range(3)]
            np.testing.assert_allclose(slope(x), expected, atol=1e-6, err_msg=name)
            curvature = jax.jit(jax.hessian(ours))(x)
            slopes = [functools.partial(difference, norm, i=i) for i in range(3)]
            second = [[difference(slope, x, j) for j in range(3)] for slope in slopes]
            np.testing.assert_allclose(curvature, second, atol=2e-4, err_msg=name)


@pytest.mark.thorough
@pytest.mark.parametrize("shape", [(2, 3), (3, 2), (3, 3), (33, 34)])
def test_singular_values_of_full_decompositions(shape):
    """The slope of a sum of squares of singular values is twice the matrix, also where two are equal."""
    with jax.enable_x64(True):
        x = np.random.default_rng(0).normal(size=shape)

        def slopes(x):
            functions = [
                lambda x: xp.linalg.svd(x).S,
                lambda x: xp.linalg.svd(x, full_matrices=False).S,
                lambda x: numpy.linalg.svd(x)[1],
                xp.linalg.svdvals,
            ]
            return [jax.grad(lambda x: xp.sum(xp.asarray(f(x)) ** 2))(x) for f in functions]  # noqa: B023

        for matrix in (x, np.eye(*shape), np.ones(shape)):
            for slope in jax.jit(slopes)(matrix):
                np.testing.assert_allclose(slope, 2 * matrix, atol=1e-12)
        if shape == (2, 3):
            weights = np.array([1.0, 2.0])
            curvature = jax.jit(jax.hessian(lambda x: (xp.linalg.svd(x).S * weights).sum()))(x)
            step = 1e-5
            for i in np.ndindex(*shape):
                move = np.zeros(shape)
                move[i] = step
                # The slope of each singular value is the product of its vectors.
                slope = [
                    (u[:, :2] * weights) @ vh[:2] for u, _, vh in map(np.linalg.svd, (x + move, x - move))
                ]
                np.testing.assert_allclose(curvature[i], (slope[0] - slope[1]) / (2 * step), atol=1e-8)


@pytest.mark.thorough
@pytest.mark.parametrize("shape", [(2, 3), (4, 2)])
def test_vectors_of_full_decompositions(shape):
    """Of what does not depend on which vectors span the space that is left."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=shape)
    weights = [rng.normal(size=(n, n)) for n in shape]

    def function(xp, x):
        parts = xp.linalg.svd(x)
        u, vh = parts[0], parts[2]
        count = min(shape)
        projections = u[:, count:] @ u[:, count:].T, vh[count:].T @ vh[count:]
        first = (u[:, 0] @ weights[0]) @ u[:, 0]
        return first + sum((w * p).sum() for w, p in zip(weights, projections, strict=True))

    step = 1e-5
    with jax.enable_x64(True):
        slope = jax.jit(jax.grad(functools.partial(function, xp)))(x)
    for i in np.ndindex(*shape):
        move = np.zeros(shape)
        move[i] = step
        expected = (function(np, x + move) - function(np, x - move)) / (2 * step)
        np.testing.assert_allclose(slope[i], expected, atol=1e-7)
