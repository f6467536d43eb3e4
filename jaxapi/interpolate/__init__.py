"""Interpolation of scattered data on the KD-tree, with SciPy's interface."""

import typing as _typing

from .._missing import says_what_to_write as _says_what_to_write
from ._nearest_interpolator import NearestNDInterpolator
from ._rbf import RBFInterpolator

__all__ = ["NearestNDInterpolator", "RBFInterpolator"]


def __dir__() -> list[str]:
    """Only the public names."""
    return sorted(__all__)


if not _typing.TYPE_CHECKING:  # for a type checker unknown names stay errors
    __getattr__ = _says_what_to_write(__name__)
