"""Small arrays are written in place here, as large ones are, so that what others hold is at risk.

Files that mark their tests with both sizes run them with the sizes as they are, too.
"""

import itertools

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
    monkeypatch.setattr(_kept, "_latest", [-_kept._BLOCK, 0])
    monkeypatch.setattr(_kept, "_ALONE", 0)
    monkeypatch.setattr(_kept, "_SENT", 2)
    monkeypatch.setattr(_kept, "_count", itertools.count())
    _kept.on_gpu.cache_clear()
    _kept._first_device.cache_clear()
    yield
    _kept.on_gpu.cache_clear()
