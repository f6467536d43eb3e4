"""Indexing functions."""

from jax.numpy import (
    take,
    take_along_axis,
)

__all__ = [
    "take",
    "take_along_axis",
]
