"""Strict dtype rules in this folder: a silent promotion in the library is an error here."""

import jax
import pytest
from cuda_searches import kernels_on_host  # noqa: F401
from radius_engines import radius_engine, radius_kernel  # noqa: F401  (fixtures for all tests here)

from jaxapi.spatial.distance import _host


@pytest.fixture(autouse=True)
def strict():
    """Make implicit dtype promotion raise."""
    with jax.numpy_dtype_promotion("strict"):
        yield


@pytest.fixture(params=["host", "program"])
def by_either_way(request, monkeypatch):
    """Compute distances outside of transformations as it comes on the CPU, and by programs as elsewhere."""
    if request.param == "program":
        monkeypatch.setattr(_host, "_on_host", lambda *arguments: None)
        monkeypatch.setattr(_host, "farthest_on_host", lambda *arguments: None)
