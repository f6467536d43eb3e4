"""Fixtures that run a test of the radius searches on one engine after another."""

from functools import partial

import pytest

from jaxapi.spatial import _gpu, _lax
from jaxapi.spatial._device import _engines

__all__ = ["radius_engine", "radius_kernel"]


class Interpreted:
    """The GPU kernels in Pallas's interpret mode, which takes long to compile."""

    NAME = "interpreted"
    nearest, count, fill, bin_counts = (
        staticmethod(partial(each, interpret=True))
        for each in (_gpu.nearest, _gpu.count, _gpu.fill, _gpu.bin_counts)
    )


ENGINES = {"lax": _lax, "interpret": Interpreted}


@pytest.fixture(params=["natural", "lax"])
def radius_engine(request, monkeypatch):
    """Search with the device's own engine (SciPy on the CPU) and in pure lax."""
    return use(request.param, monkeypatch)


@pytest.fixture(params=["natural", "lax", pytest.param("interpret", marks=pytest.mark.kernels)])
def radius_kernel(request, monkeypatch):
    """Do the same, and run the GPU kernels interpreted."""
    return use(request.param, monkeypatch)


def use(name, monkeypatch):
    """Have one engine do all radius searches of concrete arrays."""
    if name != "natural":
        monkeypatch.setattr(_engines, "engine_name", lambda data: "lax")
        monkeypatch.setattr(_engines, "engine_of", lambda data: ENGINES[name])
    return name
