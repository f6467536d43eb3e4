"""The portable engine, in pure `jax.lax`, for every platform and transformation."""

from ..._tree._build import build
from ..._tree._queries import ordered_queries
from ._components import component_rows, lowest
from ._inputs import as_input, read_input
from ._nearest_by_lax import distances_in_units, nearest, nearest_of_slots, prepare
from ._radius import MOST, bin_counts, count, fill, fill_rows, running_sums

__all__ = [
    "MOST",
    "NAME",
    "as_input",
    "bin_counts",
    "build",
    "component_rows",
    "count",
    "distances_in_units",
    "fill",
    "fill_rows",
    "lowest",
    "nearest",
    "nearest_of_slots",
    "ordered_queries",
    "prepare",
    "read_input",
    "running_sums",
]

NAME = "lax"
