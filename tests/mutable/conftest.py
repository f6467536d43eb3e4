"""Each test runs on NumPy's arrays in the host's memory, and JAX's way, as on a GPU.

Small arrays are written in place here, as large ones are, so that what others hold is at risk. Files that
mark their tests with both sizes run them with the sizes as they are, too.
"""

import os

import jax
import pytest
from rooms import poison_rooms

from jaxapi.mutable import _host_way, _in_place

WAYS = ["numpys", "jaxs"] if jax.devices()[0].platform == "cpu" else ["jaxs"]


@pytest.fixture(params=WAYS, autouse=True)
def way(request):
    before = _host_way.is_on()
    _host_way.set_on(request.param == "numpys")
    yield request.param
    _host_way.set_on(before)


@pytest.fixture(autouse=True)
def size(request, monkeypatch):
    if getattr(request, "param", "large") == "large":
        monkeypatch.setattr(_in_place, "_SMALL", -1)


@pytest.fixture(autouse=True)
def rooms(monkeypatch):
    if "JAXAPI_TESTS_POISONED" in os.environ:
        poison_rooms(monkeypatch, exact_up_to=1)
