"""Small arrays are written in place here, as large ones are, so that what others hold is at risk.

Files that mark their tests with both sizes run them with the sizes as they are, too.
"""

import itertools

import jax
import pytest

from jaxapi import _constant_cache
from jaxapi.mutable import _deferred, _storage


@pytest.fixture(autouse=True)
def size(request, monkeypatch):
    if getattr(request, "param", "large") == "large":
        monkeypatch.setattr(_storage, "SMALL", -1)
        monkeypatch.setattr(_deferred, "SMALL", -1)


@pytest.fixture
def pretended_gpu(monkeypatch):
    """Let the CPU take a GPU's place, where numbers are kept and calls wait."""
    monkeypatch.setattr(_constant_cache, "_GPU", jax.default_backend())
    monkeypatch.setattr(_constant_cache, "_cache", {})
    monkeypatch.setattr(_constant_cache, "_latest", [-_constant_cache._BLOCK, 0])
    monkeypatch.setattr(_constant_cache, "_ALONE", 0)
    monkeypatch.setattr(_constant_cache, "_SENT", 2)
    monkeypatch.setattr(_constant_cache, "_count", itertools.count())
    _constant_cache.on_gpu.cache_clear()
    _constant_cache._first_device.cache_clear()
    yield
    _constant_cache.on_gpu.cache_clear()
