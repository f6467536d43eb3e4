"""Small arrays are written in place here, as large ones are, so that what others hold is at risk.

Files that mark their tests with both sizes run them with the sizes as they are, too.
"""

import jax
import pytest

from jaxapi import _kept
from jaxapi.mutable import _later, _storage


@pytest.fixture(autouse=True)
def size(request, monkeypatch):
    if getattr(request, "param", "large") == "large":
        monkeypatch.setattr(_storage, "SMALL", -1)
        monkeypatch.setattr(_later, "SMALL", -1)


@pytest.fixture
def pretended_gpu(monkeypatch):
    """Let the CPU take a GPU's place, where numbers are kept and calls wait."""
    monkeypatch.setattr(_kept, "_GPU", jax.default_backend())
    monkeypatch.setattr(_kept, "_kept", {})
    monkeypatch.setattr(_kept, "_latest", [-_kept._BLOCK])
    _kept._has_gpu.cache_clear()
    _kept._first_device.cache_clear()
    yield
    _kept._has_gpu.cache_clear()
