"""NumPy's `numpy.fft`, of our arrays."""

from . import _fft
from ._fft import *

__all__ = _fft.__all__


def __dir__() -> list[str]:
    """Only the public names."""
    return sorted(__all__)
