"""Strict dtype rules in this folder: a silent promotion in the library is an error here."""

import jax
import pytest
from cuda_searches import kernels_on_host  # noqa: F401
from radius_engines import radius_engine, radius_kernel  # noqa: F401  (fixtures for all tests here)


@pytest.fixture(autouse=True)
def strict():
    """Make implicit dtype promotion raise."""
    with jax.numpy_dtype_promotion("strict"):
        yield
