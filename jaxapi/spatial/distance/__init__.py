"""Distances between vectors and between the rows of arrays, with SciPy's names, on every device."""

import typing as _typing

from ..._missing import says_what_to_write as _says_what_to_write
from . import _condensed, _pairs, _vectors
from ._condensed import *
from ._pairs import *
from ._vectors import *

__all__ = _condensed.__all__ + _pairs.__all__ + _vectors.__all__


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)


if not _typing.TYPE_CHECKING:  # for a type checker unknown names stay errors
    __getattr__ = _says_what_to_write(__name__)
