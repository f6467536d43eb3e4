"""What users may pass to an interpolator, turned into arrays of real numbers."""

import math
import operator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .._core._dtypes import x64_for
from .._core._programs import any_traced, is_traced
from .._core._typing import Array
from .._interop import aligned_empty, as_array, memory_of, placed_on_device_of
from ..spatial import KDTree

__all__ = ["as_columns", "as_dtype", "as_numbers", "as_places", "from_columns", "real_dtype"]
__all__ += ["restored", "row_count", "stored", "wider"]

_WIDE = (np.dtype(np.float64), np.dtype(np.complex128))


def as_numbers(x) -> Array:
    """Return anything array-like as an array that is kept; lists of numbers have NumPy's dtypes."""
    if isinstance(x, list | tuple | int | float | complex) and not any_traced(*jax.tree.leaves(x)):
        x = np.asarray(x)
    return as_array(x, copy=True)


def real_dtype(dtype) -> np.dtype:
    """Return the real dtype to compute in: float64 for integers, float32 for half precision."""
    narrow = jnp.issubdtype(dtype, jnp.inexact) and dtype not in _WIDE
    return np.dtype(np.float32 if narrow else np.float64)


def wider(*dtypes: np.dtype) -> np.dtype:
    """Return float64 if one of the dtypes is, else float32."""
    return np.dtype(np.float64 if np.dtype(np.float64) in dtypes else np.float32)


def as_dtype(x: Array, dtype) -> Array:
    """Return an array in a dtype, of 64 bits with x64 off, too."""
    if x.dtype == dtype:
        return x
    host = None if is_traced(x) else memory_of(x)
    if host is not None:
        converted = aligned_empty(host.shape, np.dtype(dtype))
        with np.errstate(all="ignore"):
            np.copyto(converted, host)
        return placed_on_device_of(x, converted)
    with x64_for(x.dtype, np.dtype(dtype)):
        return x.astype(dtype)


def as_places(x, name: str, like: np.dtype | None = None) -> Array:
    """Return real coordinates as floats; plain Python numbers are of the dtype `like`, else float64."""
    array = as_numbers(x)
    if jnp.issubdtype(array.dtype, jnp.complexfloating):
        raise TypeError(f"`{name}` must be real, got complex numbers: stack real and imaginary parts")
    plain = like is not None and not hasattr(x, "dtype")
    return as_dtype(array, like if plain else real_dtype(array.dtype))


@jax.jit
def _real_and_imaginary(x):
    return jnp.stack([x.real, x.imag], axis=-1).reshape(x.shape[0], 2 * x.shape[1])


def as_columns(values: Array) -> Array:
    """Return values (n, ...) as real columns (n, columns); a complex one makes two, side by side."""
    shape = values.shape[0], math.prod(values.shape[1:])
    host = None if is_traced(values) else memory_of(values)
    if host is not None:
        in_columns = aligned_empty(shape, real_dtype(host.dtype))
        with np.errstate(all="ignore"):
            np.copyto(in_columns, host.reshape(shape))
        return placed_on_device_of(values, in_columns)
    with x64_for(values.dtype):
        columns = values.reshape(shape)
        if jnp.issubdtype(values.dtype, jnp.complexfloating):
            return _real_and_imaginary(columns)
    return as_dtype(columns, real_dtype(values.dtype))


def from_columns(columns: Any, shape: tuple[int, ...], is_complex: bool) -> Any:
    """Return values (n, *shape) of columns (n, columns), which may be NumPy's."""
    shape = columns.shape[0], *shape
    if isinstance(columns, np.ndarray):
        if is_complex:
            columns = columns.view(np.result_type(columns.dtype, np.complex64))
        return columns.reshape(shape)
    with x64_for(columns.dtype):
        if is_complex:
            columns = jax.lax.complex(columns[:, 0::2], columns[:, 1::2])
        return columns.reshape(shape)


def row_count(n, rows: int):
    """Return how many of the rows count, None where all do; an array where it is traced."""
    if n is None:
        return None
    if is_traced(n):
        return jnp.clip(n, 0, rows).astype(np.int32)
    n = operator.index(n)
    if not 0 <= n <= rows:
        raise ValueError(f"`n` must be between 0 and the {rows} rows of the data, got {n}")
    return n


def stored(attributes: dict) -> dict:
    """Return what a pickle keeps: arrays of NumPy, as JAX's would lose 64 bits with x64 off."""

    def on_host(value):
        return np.asarray(value) if isinstance(value, jax.Array) else value

    return jax.tree.map(on_host, attributes, is_leaf=lambda value: isinstance(value, KDTree))


def restored(state: dict) -> dict:
    """Return the attributes that a pickle kept."""

    def on_device(value):
        return as_array(value) if isinstance(value, np.ndarray) else value

    return jax.tree.map(on_device, state, is_leaf=lambda value: isinstance(value, KDTree))
