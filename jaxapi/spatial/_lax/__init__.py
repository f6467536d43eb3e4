"""The portable engine, in pure `jax.lax`, for every platform and transformation."""

from ._nearest import nearest
from ._radius import bin_counts, count, fill

__all__ = ["NAME", "bin_counts", "count", "fill", "nearest"]

NAME = "lax"
