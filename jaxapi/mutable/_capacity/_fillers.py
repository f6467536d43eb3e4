"""What rows that do not count hold while elements of several rows are mixed."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

__all__ = ["filled"]


def filled(value: jax.Array, count: Any, filler: str) -> jax.Array:
    """Return a buffer with a filler in the rows that do not count."""
    if filler == "nothing":
        return value
    counts = lax.broadcasted_iota(np.int32, value.shape, 0) < count
    if filler == "first":
        return jnp.where(counts, value, value[:1])
    return jnp.where(counts, value, np.asarray(_FILLERS[filler](value.dtype), value.dtype))


def _least(dtype: np.dtype) -> Any:
    if dtype.kind == "c":
        return complex(-np.inf, -np.inf)
    return -np.inf if dtype.kind == "f" else False if dtype.kind == "b" else np.iinfo(dtype).min


def _greatest(dtype: np.dtype) -> Any:
    if dtype.kind == "c":
        return complex(np.inf, np.inf)
    return np.inf if dtype.kind == "f" else True if dtype.kind == "b" else np.iinfo(dtype).max


def _last(dtype: np.dtype) -> Any:
    """Return what nothing is sorted behind."""
    return complex(np.nan, np.nan) if dtype.kind == "c" else np.nan if dtype.kind == "f" else _greatest(dtype)


_FILLERS: dict[str, Callable[[np.dtype], Any]] = {
    "greatest": _greatest,
    "last": _last,
    "least": _least,
    "zero": lambda dtype: 0,
}
