"""A pytest plugin: small arrays have room, too, and the rows that do not count hold what does harm.

    JAXAPI_NUMPY_ON_HOST=0 PYTHONPATH=tests/helpers python -m pytest -p poisoned_rooms tests/numpy

What passes without it has to pass with it. ``JAXAPI_TESTS_EXACT_UP_TO`` says how many rows have no room.
"""

import os

import pytest
from rooms import poison_rooms

EXACT_UP_TO = int(os.environ.get("JAXAPI_TESTS_EXACT_UP_TO", "2"))


def pytest_configure(config):
    monkeypatch = pytest.MonkeyPatch()
    poison_rooms(monkeypatch, EXACT_UP_TO)
    config.add_cleanup(monkeypatch.undo)
