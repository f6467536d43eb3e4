"""Sorting functions."""

from jax.numpy import (
    argsort,
    sort,
)

__all__ = [
    "argsort",
    "sort",
]
