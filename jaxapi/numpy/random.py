"""NumPy's `numpy.random`: its numbers on the host, and `jax.random`'s on a device and in a trace."""

from . import _random
from ._random import *

__all__ = _random.__all__


def __dir__() -> list[str]:
    """Only the public names."""
    return sorted(__all__)
