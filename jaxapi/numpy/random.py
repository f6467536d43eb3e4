"""NumPy's `numpy.random` on JAX's keys: the same distributions, other numbers."""

from . import _random
from ._random import *

__all__ = _random.__all__


def __dir__() -> list[str]:
    """Only the public names."""
    return sorted(__all__)
