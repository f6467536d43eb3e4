"""Spatial data structures, with SciPy's interface."""

import importlib as _importlib
import typing as _typing

from .._missing import missing as _missing_name
from ._engines._launcher import registered as _registered
from ._farthest import sample_farthest_points
from ._kdtree import KDTree
from ._linkage import single_linkage
from ._neighbor_list import NeighborList
from ._padding import pad_rows
from ._sphere import chord_length, great_circle_distance, unit_vectors

__all__ = [
    "KDTree",
    "NeighborList",
    "chord_length",
    "distance",
    "great_circle_distance",
    "pad_rows",
    "sample_farthest_points",
    "single_linkage",
    "unit_vectors",
]

_registered()  # a program that `jax.export` wrote may start kernels before anything else of ours runs


def __dir__() -> list[str]:
    """Only the public names."""
    return sorted(__all__)


if _typing.TYPE_CHECKING:
    from . import distance as distance
else:  # for a type checker unknown names stay errors

    def __getattr__(name: str):
        """Load a module where it is used; say what to write for names that are not here."""
        if name == "distance":
            return _importlib.import_module(".distance", __name__)
        raise _missing_name(__name__, name)
