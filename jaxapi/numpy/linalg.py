"""NumPy's `numpy.linalg`, of our arrays."""

from . import _linalg
from ._linalg import *

__all__ = _linalg.__all__


def __dir__() -> list[str]:
    """Only the public names."""
    return sorted(__all__)
