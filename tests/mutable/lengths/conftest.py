"""Arrays here have room, JAX's way, as on a GPU.

Each test runs as it comes, and once more with what does harm in the rows that do not count.
"""

import pytest
from rooms import poison_rooms

from jaxapi.mutable import _host_way


@pytest.fixture(autouse=True)
def way():
    """Run each test JAX's way alone."""
    before = _host_way.is_on()
    _host_way.set_on(False)
    yield
    _host_way.set_on(before)


@pytest.fixture(autouse=True, params=["as it comes", "poisoned"])
def rooms(request, monkeypatch):
    if request.param == "poisoned":
        poison_rooms(monkeypatch, exact_up_to=16)
