"""Inputs of any length for programs of few lengths: arrays that are filled up."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ...._core._dtypes import x64_for
from ...._core._programs import compiled
from ...._core._typing import Array
from ..._tree._powers_of_two import converted

__all__ = ["as_input", "read_input"]

LARGE = 1 << 22  # bytes, which take the way to the host and back longer than a search


def as_input(x, row_count: int, sharding):
    """Return `x` (count, ...) as an input with so many rows, which a program reads by `read_input`.

    The host fills it up, which takes half a millisecond for each megabyte; a large array on a device is
    filled up by a program for its length. JAX compiles anew for an array that is not committed to its device;
    so every input is.
    """
    is_on_device = isinstance(x, jax.Array) and next(iter(x.devices())).platform != "cpu"
    if len(x) != row_count and is_on_device and x.nbytes > LARGE:
        x = _extended(x, row_count=row_count)
    elif len(x) != row_count:
        extended = np.zeros((row_count, *x.shape[1:]), x.dtype)
        extended[: len(x)] = x
        x = extended
    if isinstance(x, jax.Array) and x.committed:
        return x
    with x64_for(x.dtype):
        return jax.device_put(x, sharding)


@partial(compiled, static_argnames="row_count")
def _extended(x, *, row_count: int):
    return jnp.pad(x, ((0, row_count - x.shape[0]), *((0, 0),) * (x.ndim - 1)))


def read_input(x: Array, count: Array, *, dtype, fill: int | None = None) -> Array:
    """Return an input in a dtype: its first `count` rows, and `fill` in those behind them.

    Without a `fill` that is nan, or the largest integer.
    """
    dtype = np.dtype(dtype)
    missing = np.iinfo(dtype).max if dtype.kind in "iu" else np.nan
    filler = missing if fill is None else fill
    x = converted(x, dtype)
    is_counted = lax.iota(jnp.int32, x.shape[0]) < count
    is_counted = is_counted.reshape(-1, *(1,) * (x.ndim - 1))
    return jnp.where(is_counted, x, jnp.full((), filler, dtype))
