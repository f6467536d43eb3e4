"""Set functions."""

from jax.numpy import (
    isin,
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
)

__all__ = [
    "isin",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]
