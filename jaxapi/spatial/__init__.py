"""Spatial data structures, with SciPy's interface."""

from ._kdtree import KDTree

__all__ = ["KDTree"]
