"""The engine for NVIDIA GPUs as Pallas kernels (Triton route)."""

from .._structure._queries import ordered_queries
from ._launch import check
from ._nearest import nearest
from ._radius import bin_counts, count, fill

__all__ = ["NAME", "bin_counts", "check", "count", "fill", "nearest", "ordered_queries"]

NAME = "pallas"
