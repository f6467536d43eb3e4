"""Inspection (`__array_namespace_info__`)."""

from jax.numpy import (
    __array_namespace_info__,
)

__all__ = [
    "__array_namespace_info__",
]
