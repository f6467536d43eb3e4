"""The portable engine, in pure `jax.lax`, for every platform and transformation."""

from .._structure._build import build
from .._structure._queries import ordered_queries
from ._components import component_rows, lowest
from ._lines import lines, with_room
from ._nearest import in_units, nearest, nearest_of_slots
from ._radius import bin_counts, count, fill, fill_edges, fill_lines, fill_pairs, running_sums

__all__ = [
    "NAME",
    "bin_counts",
    "build",
    "component_rows",
    "count",
    "fill",
    "fill_edges",
    "fill_lines",
    "fill_pairs",
    "in_units",
    "lines",
    "lowest",
    "nearest",
    "nearest_of_slots",
    "ordered_queries",
    "running_sums",
    "with_room",
]

NAME = "lax"
