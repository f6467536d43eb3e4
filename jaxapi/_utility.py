"""Utility functions."""

from jax.numpy import (
    all,
    any,
    diff,
)

__all__ = [
    "all",
    "any",
    "diff",
]
