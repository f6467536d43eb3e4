"""Spatial data structures, with SciPy's interface."""

import typing as _typing

from .._missing import says_what_to_write as _says_what_to_write
from . import distance as distance
from ._engines._launcher import registered as _registered
from ._kdtree import KDTree
from ._linkage import single_linkage
from ._padding import pad_rows
from ._sphere import chord_length, great_circle_distance, unit_vectors

__all__ = [
    "KDTree",
    "chord_length",
    "distance",
    "great_circle_distance",
    "pad_rows",
    "single_linkage",
    "unit_vectors",
]

_registered()  # a program that `jax.export` wrote may start kernels before anything else of ours runs


def __dir__() -> list[str]:
    """Only the public names."""
    return sorted(__all__)


if not _typing.TYPE_CHECKING:  # for a type checker unknown names stay errors
    __getattr__ = _says_what_to_write(__name__)
