"""The engine for NVIDIA GPUs as Pallas kernels (Triton route)."""

from ._nearest import nearest
from ._radius import bin_counts, count, fill

__all__ = ["NAME", "bin_counts", "count", "fill", "nearest"]

NAME = "pallas"
