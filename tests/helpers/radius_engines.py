"""Fixtures that run a test of the radius searches on one engine after another."""

import cuda_host
import jax
import pytest

from jaxapi.spatial._engines import _choice, _cuda, _lax
from jaxapi.spatial._engines._cuda import _every, _launch

__all__ = ["radius_engine", "radius_kernel"]

ENGINES = {"lax": _lax, "cuda": _cuda}


@pytest.fixture(params=["natural", "lax"])
def radius_engine(request, monkeypatch):
    """Search with the device's own engine (SciPy on the CPU) and in pure lax."""
    return use(request.param, monkeypatch)


@pytest.fixture(params=["natural", "lax", pytest.param("cuda", marks=pytest.mark.kernels)])
def radius_kernel(request, monkeypatch):
    """Do the same, and run the CUDA kernels, compiled for the host where there is no GPU.

    JAX's callbacks, by which the host runs them, keep 64 bits with x64 on alone, in all threads.
    """
    x64 = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", x64 or request.param == "cuda")
    yield use(request.param, monkeypatch)
    jax.config.update("jax_enable_x64", x64)


def use(name, monkeypatch):
    """Have one engine do all radius searches of concrete arrays."""
    if name == "cuda" and jax.default_backend() != "gpu":
        if cuda_host.compiler() is None:
            pytest.skip("no C++ compiler: neither g++ nor the wheel ziglang")
        monkeypatch.setattr(_launch, "custom_call", cuda_host.custom_call)
        monkeypatch.setattr(_every, "architecture", lambda: "90")
    if name != "natural":
        monkeypatch.setattr(_choice, "engine_name", lambda data: "lax")
        monkeypatch.setattr(_choice, "engine_of", lambda data: ENGINES[name])
        monkeypatch.setattr(_choice, "only_the_cpu", lambda: False)
    return name
