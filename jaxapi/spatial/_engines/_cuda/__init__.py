"""The engine for NVIDIA GPUs: CUDA C++ compiled by NVRTC when first needed, launched by XLA."""

from ._build import build
from ._components import component_rows, lowest
from ._inputs import as_input, read_input
from ._launch import check
from ._nearest_by_cuda import distances_in_units, nearest, nearest_of_all, nearest_of_slots, prepare
from ._pairwise import pairwise
from ._radius import bin_counts, count, fill, fill_rows, ordered_queries
from ._spanning import spanning_edges
from ._sums import running_sums

__all__ = [
    "NAME",
    "as_input",
    "bin_counts",
    "build",
    "check",
    "component_rows",
    "count",
    "distances_in_units",
    "fill",
    "fill_rows",
    "lowest",
    "nearest",
    "nearest_of_all",
    "nearest_of_slots",
    "ordered_queries",
    "pairwise",
    "prepare",
    "read_input",
    "running_sums",
    "spanning_edges",
]

NAME = "cuda"
