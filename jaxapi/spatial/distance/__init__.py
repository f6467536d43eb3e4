"""Distances between vectors and between the rows of arrays, with SciPy's names, on every device."""

from . import _condensed, _pairs, _vectors
from ._condensed import *
from ._pairs import *
from ._vectors import *

__all__ = _condensed.__all__ + _pairs.__all__ + _vectors.__all__
