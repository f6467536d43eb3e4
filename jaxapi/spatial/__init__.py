"""Spatial data structures, with SciPy's interface."""

from . import distance as distance
from ._device._padding import pad_rows
from ._kdtree import KDTree
from ._linkage import single_linkage
from ._sphere import chord_length, great_circle_distance, unit_vectors

__all__ = ["KDTree", "chord_length", "great_circle_distance", "pad_rows", "single_linkage", "unit_vectors"]
