"""Constants (chapter "Constants" of the standard)."""

from jax.numpy import (
    e,
    inf,
    nan,
    newaxis,
    pi,
)

__all__ = ["e", "inf", "nan", "newaxis", "pi"]
