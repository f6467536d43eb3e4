"""Interpolation of scattered data on the KD-tree, with SciPy's interface."""

from ._nearest import NearestNDInterpolator
from ._rbf import RBFInterpolator

__all__ = ["NearestNDInterpolator", "RBFInterpolator"]


def __dir__() -> list[str]:
    """Only the public names."""
    return sorted(__all__)
