"""Strict dtype rules in this folder: a silent promotion in the library is an error here."""

import jax
import pytest


@pytest.fixture(autouse=True)
def strict():
    """Make implicit dtype promotion raise."""
    with jax.numpy_dtype_promotion("strict"):
        yield
