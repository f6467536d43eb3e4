"""Numbers and positions that statements repeat, kept where JAX's programs read them.

Sent anew with each statement they take as long as the rest of it on a GPU: programs take twice the time.
"""

import functools
from typing import Any

import jax
import numpy as np

from .._core._dtypes import x64_for
from .._core._programs import eagerly

__all__ = ["constant", "positions"]

_MANY = 4096  # of each


def constant(number: complex, dtype: np.dtype) -> jax.Array:
    """Return a Python number as an array without axes on JAX's default device."""
    kind: Any = type(number)
    return _constant(kind, repr(number), dtype, jax.config.jax_default_device)


def positions(starts: tuple[int, ...]) -> jax.Array:
    """Return positions below 2**31 as a vector on JAX's default device."""
    return _positions(starts, jax.config.jax_default_device)


@functools.lru_cache(_MANY)
def _constant(kind: Any, text: str, dtype: np.dtype, device) -> jax.Array:
    # The text tells -0.0 from 0.0 and finds NaN again.
    with eagerly(), x64_for(dtype):
        return jax.device_put(np.asarray(kind(text), dtype))


@functools.lru_cache(_MANY)
def _positions(starts: tuple[int, ...], device) -> jax.Array:
    with eagerly():
        return jax.device_put(np.asarray(starts, np.int32))
