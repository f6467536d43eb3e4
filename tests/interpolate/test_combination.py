"""The two ways to the value at a place, one of which the CPU takes and the other one GPUs, beside NumPy."""

import jax
import numpy as np
import pytest

from jaxapi.interpolate._combination import by_reflections, by_weights

WAYS = pytest.mark.parametrize("way", [by_reflections, by_weights])


def arguments(rng, monomials, columns, k=9):
    """Return a batch of systems, symmetric and not definite."""
    kernels = rng.normal(size=(20, k, k))
    shapes = (k, monomials), (k,), (monomials,), (k, columns)
    return kernels + kernels.mT, *(rng.normal(size=(20, *shape)) for shape in shapes)


@pytest.mark.daily
@WAYS
@pytest.mark.parametrize(("monomials", "columns"), [(0, 1), (1, 2), (4, 1), (4, 4), (9, 1)])
def test_values(way, monomials, columns):
    given = arguments(np.random.default_rng(0), monomials, columns)
    kernels, polynomials, there, polynomials_there, values = given
    corner = np.zeros((20, monomials, monomials))
    matrix = np.block([[kernels, polynomials], [polynomials.mT, corner]])
    right = np.concatenate([there, polynomials_there], axis=1)
    weights = np.linalg.solve(matrix, right[..., None])[:, :9]
    with jax.enable_x64(True):
        found = jax.jit(jax.vmap(way))(*given)
    np.testing.assert_allclose(found, (weights.mT @ values)[:, 0], rtol=1e-7, atol=1e-9)


@pytest.mark.daily
@WAYS
def test_small_and_large_kernels(way):
    """At a place far away kernels are tiny, or huge: the value keeps its digits."""
    given = arguments(np.random.default_rng(1), 0, 1)
    for factor in (1e-30, 1e30):
        with jax.enable_x64(False):
            narrow = [np.float32(each) for each in given]
            ones = jax.vmap(way)(*narrow)
            narrow[2] = narrow[2] * np.float32(factor)
            np.testing.assert_allclose(jax.vmap(way)(*narrow) / np.float32(factor), ones, rtol=1e-4)


@pytest.mark.daily
@WAYS
def test_singular(way):
    kernels, monomials, *others = arguments(np.random.default_rng(2), 3, 1)
    for singular in (
        (np.zeros_like(kernels), np.zeros_like(monomials)),
        (kernels, monomials * [1, 1, 0]),
        (kernels * np.nan, monomials),
    ):
        with jax.enable_x64(True):
            assert np.isnan(jax.jit(jax.vmap(way))(*singular, *others)).all()
