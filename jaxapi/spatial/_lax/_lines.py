"""Inputs of any length, read by programs of few: arrays that are filled up."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core._dtypes import x64_for
from ..._core._programs import compiled
from ..._core._typing import Array

__all__ = ["lines", "with_room"]

LARGE = 1 << 22  # bytes, which take the way to the host and back longer than a search


def with_room(x, rows: int, place):
    """Return `x` (count, ...) with so many `rows` as an input on a `place`, for `lines` alone to read.

    By the host, half a millisecond for each megabyte; large arrays on a device by a program for each length.
    JAX compiles anew for an array that is not committed to its device; so every input is.
    """
    far = isinstance(x, jax.Array) and next(iter(x.devices())).platform != "cpu"
    if len(x) != rows and far and x.nbytes > LARGE:
        x = _extended(x, rows=rows)
    elif len(x) != rows:
        room = np.zeros((rows, *x.shape[1:]), x.dtype)
        room[: len(x)] = x
        x = room
    if isinstance(x, jax.Array) and x.committed:
        return x
    with x64_for(x.dtype):
        return jax.device_put(x, place)


@partial(compiled, static_argnames="rows")
def _extended(x, *, rows: int):
    return jnp.pad(x, ((0, rows - x.shape[0]), *((0, 0),) * (x.ndim - 1)))


def lines(x: Array, count: Array, *, dtype, fill: int | None = None) -> Array:
    """Return the first `count` lines of `x` in a dtype, and as many others as it has room for, of `fill`.

    Without it those are nan, or the largest integer.
    """
    dtype = np.dtype(dtype)
    missing = np.iinfo(dtype).max if dtype.kind in "iu" else np.nan
    there = (lax.iota(jnp.int32, x.shape[0]) < count).reshape(-1, *(1,) * (x.ndim - 1))
    return jnp.where(there, x.astype(dtype), jnp.full((), missing if fill is None else fill, dtype))
