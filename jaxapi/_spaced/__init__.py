"""Evenly spaced numbers and exact powers: `linspace`, `arange` and `logspace`."""

from ._linspace import arange, linspace
from ._logspace import logspace

__all__ = ["arange", "linspace", "logspace"]
