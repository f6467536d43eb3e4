"""Small arrays are written in place here too, as large ones are, so that what others hold is at risk."""

import pytest

from jaxapi.mutable import _array


@pytest.fixture(autouse=True)
def small_arrays_in_place(monkeypatch):
    monkeypatch.setattr(_array, "_SMALL", -1)
