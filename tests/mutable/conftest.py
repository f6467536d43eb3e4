"""Small arrays are written in place here, as large ones are, so that what others hold is at risk.

Files that mark their tests with both sizes run them with the sizes as they are, too.
"""

import pytest

from jaxapi.mutable import _storage


@pytest.fixture(autouse=True)
def size(request, monkeypatch):
    if getattr(request, "param", "large") == "large":
        monkeypatch.setattr(_storage, "SMALL", -1)
