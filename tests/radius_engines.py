"""Fixtures that run a test of the radius searches on one engine after another."""

import pytest

from jaxapi.spatial._device import _engines, _neighbours

__all__ = ["radius_engine", "radius_kernel"]


@pytest.fixture(params=["natural", "lax"])
def radius_engine(request, monkeypatch):
    """Search with the device's own engine (SciPy on the CPU) and in pure lax."""
    return use(request.param, monkeypatch)


@pytest.fixture(params=["natural", "lax", pytest.param("interpret", marks=pytest.mark.kernels)])
def radius_kernel(request, monkeypatch):
    """Do the same, and run the GPU kernels in Pallas's interpret mode, which takes long to compile."""
    return use(request.param, monkeypatch)


def use(name, monkeypatch):
    """Have one engine do all radius searches of concrete arrays."""
    if name != "natural":
        monkeypatch.setattr(_engines, "engine_name", lambda data: "lax")
        monkeypatch.setattr(_neighbours, "engine_of", lambda data: name)
    return name
