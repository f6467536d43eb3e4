"""A fixture for every test of the radius searches: each engine in turn."""

import jax
import pytest

from jaxapi.spatial import _build, _engines, _neighbours, _queries

__all__ = ["radius_engine"]


@pytest.fixture(params=["scipy", "lax", "interpret"])
def radius_engine(request, monkeypatch):
    """Search by radius with SciPy, in pure lax, and with the GPU kernels in Pallas's interpret mode."""
    if request.param != "scipy":
        monkeypatch.setattr(_engines, "engine_name", lambda data: "lax")
        monkeypatch.setattr(_neighbours, "engine_of", lambda data: request.param)
        monkeypatch.setattr(_queries, "_build", BUILD)
    return request.param


BUILD = jax.jit(_build.build)
