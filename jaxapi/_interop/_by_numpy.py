"""What NumPy computes at least twice as fast as XLA on the CPU: outside of transformations it does.

Each function of the table is of an array in the host's memory and further arguments of the function of its
name. It returns an array of its own, or None for what is left to JAX; so are errors.
"""

import contextlib
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from .._core._dtypes import default_dtype, is_numpys, x64_for
from .._core._programs import in_a_trace, is_traced
from .._core._typing import Array
from ._host_memory import aligned_empty

__all__ = [
    "all_in_memory",
    "may_stay_numpys",
    "memory_of",
    "placed_on_device_of",
    "placed_on_device_of_one",
    "sort_floats",
    "sort_positions",
    "with_numpy",
]

_config = jax.config


def with_numpy(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that asks NumPy first, if the name is in the table; else the function itself."""
    if name not in _TABLE:
        return call

    def either(x: Any, *args: Any, **kwargs: Any) -> Any:
        result = _by_numpy(name, x, *args, **kwargs)
        return call(x, *args, **kwargs) if result is None else result

    return either


def _by_numpy(name: str, x: Any, *args: Any, **kwargs: Any) -> Any:
    """Return what NumPy computes of an array on the CPU, where that lies; None if JAX is to compute."""
    if is_traced(x) or not _is_large(name, x) or (host := memory_of(x)) is None:
        return None
    result = None
    with contextlib.suppress(TypeError, ValueError):  # JAX's way raises its own
        result = _TABLE[name].compute(host, *args, **kwargs)
    if result is None:
        return None
    if isinstance(result, tuple):
        return tuple(placed_on_device_of(x, part) for part in result)
    return placed_on_device_of(x, result)


def _is_large(name: str, x: Any) -> bool:
    """Tell whether an array has so many elements that the way to NumPy and back pays."""
    return math.prod(getattr(x, "shape", ())) >= _TABLE[name].least_size


def memory_of(x: Any) -> np.ndarray | None:
    """Return the memory of an array of the CPU that NumPy may compute with; None if JAX is to compute."""
    if type(x) is np.ndarray or in_a_trace():
        return None
    if not _has_numbers_for_numpy(x.dtype) or x.weak_type:
        return None
    if not isinstance(x.sharding, jax.sharding.SingleDeviceSharding) or not x.is_fully_addressable:
        return None
    device: Any = next(iter(x.sharding.device_set))
    if device.platform != "cpu":
        return None
    if not x.committed and _config.jax_default_device is not None:
        return None  # there JAX computes
    return np.asarray(x) if _may_compute() else None


def may_stay_numpys(x: Any) -> bool:
    """Tell whether NumPy may compute with an array of NumPy's, which JAX would put on the CPU."""
    if type(x) is not np.ndarray or not _has_numbers_for_numpy(x.dtype) or in_a_trace():
        return False
    is_on_cpu = _config.jax_default_device is None and jax.default_backend() == "cpu"
    return is_on_cpu and _may_compute()


def _has_numbers_for_numpy(dtype: np.dtype) -> bool:
    has_half_or_extended_precision = dtype.char in "eg"
    return is_numpys(dtype) and dtype.kind != "c" and not has_half_or_extended_precision


def _may_compute() -> bool:
    """Tell whether nobody asked JAX to look at what is computed, or to do it on all of a mesh."""
    if _config.jax_debug_nans or _config.jax_debug_infs or _config.jax_disable_jit:
        return False
    return jax.sharding.get_abstract_mesh().empty


def all_in_memory(arrays: Sequence[Any]) -> list[Any] | None:
    """Return the memory of arrays, NumPy's and Python numbers as they are; None if JAX is to compute.

    So it is if one is not on the CPU, or they were put on several devices.
    """
    in_memory = []
    sharding = None
    for x in arrays:
        if type(x) is np.ndarray or isinstance(x, int | float):
            in_memory.append(x)
            continue
        host = None if is_traced(x) else memory_of(x)
        if host is None:
            return None
        if x.committed:
            if sharding is not None and x.sharding != sharding:
                return None
            sharding = x.sharding
        in_memory.append(host)
    return in_memory


def placed_on_device_of_one(arrays: Sequence[Any], results: Any) -> Any:
    """Return a result, or a pytree of them, on the device that one of the arrays was put on.

    Where none was, that is the default device.
    """
    committed = (x for x in arrays if isinstance(x, jax.Array) and x.committed)
    with x64_for(*[result.dtype for result in jax.tree.leaves(results)]):
        return jax.device_put(results, next((x.sharding for x in committed), None))


def placed_on_device_of(x: Array, result: np.ndarray) -> Array:
    """Return a result, whose memory nobody else has, as an array on the device of x."""
    with x64_for(result.dtype):
        return jax.device_put(result, x.sharding if x.committed else None)


def _new(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    return aligned_empty(shape, np.dtype(dtype))


# Sorting


def sort_floats(x, axis=-1, *, kind=None, order=None, stable=True, descending=False):
    if x.dtype.kind != "f" or kind is not None or order is not None or axis is None:
        return None
    result = _new(x.shape, x.dtype)
    np.copyto(result, x)
    result.sort(axis=axis)
    _keep_zeros_in_order(x, result, axis)
    if descending:
        result = np.flip(result, axis)
    return result


def _keep_zeros_in_order(x, in_order, axis):
    """Put 0.0 and -0.0, which are equal, in the order that they had: NumPy's fast sort is not stable."""
    is_zero = x == 0
    if not (is_zero & np.signbit(x)).any():
        return
    zeros = np.moveaxis(is_zero, axis, -1)
    zeros_in_order = np.moveaxis(in_order == 0, axis, -1)
    np.moveaxis(in_order, axis, -1)[zeros_in_order] = np.moveaxis(x, axis, -1)[zeros]


def sort_positions(x, axis=-1, *, kind=None, order=None, stable=True, descending=False):
    """Sort pairs of key and position as one integer each, which is faster than a stable sort."""
    if kind is not None or order is not None or axis is None or x.dtype.itemsize > 4:
        return None
    keys = np.moveaxis(_keys_of(x), axis, -1)
    pairs = (~keys if descending else keys) << 32
    pairs |= np.arange(pairs.shape[-1], dtype=np.int64)
    pairs.sort(axis=-1)
    pairs &= 2**32 - 1
    result = _new(x.shape, default_dtype(int))
    np.copyto(np.moveaxis(result, axis, -1), pairs, casting="unsafe")
    return result


def _keys_of(x) -> np.ndarray:
    """Return int64 of 32 bits in the order of numbers of at most 32 bits, with NaN last."""
    if x.dtype.kind != "f":
        keys = x.astype(np.int64)
        return keys - 2**31 if x.dtype == np.uint32 else keys
    bits = x.view(np.int32)
    greatest = np.iinfo(np.int32).max
    magnitude = (bits & greatest).astype(np.int64)
    keys = np.where(bits < 0, -magnitude, magnitude)
    keys[np.isnan(x)] = greatest
    return keys


def _distinct(x):
    """Return the distinct values of an array, and where in the sorted array each begins."""
    in_order = np.sort(x.ravel()) if x.dtype.kind != "f" else sort_floats(x.ravel())
    begins = np.flatnonzero(in_order[1:] != in_order[:-1])
    begins += 1
    begins = np.concatenate([[0], begins])
    values = _new(begins.shape, x.dtype)
    np.take(in_order, begins, out=values, mode="clip")
    return values, begins


def _unique_values(x):
    return _distinct(x)[0]


def _unique_counts(x):
    values, begins = _distinct(x)
    counts = _new(begins.shape, default_dtype(int))
    np.copyto(counts, np.diff(begins, append=x.size), casting="unsafe")
    return values, counts


# Searching


def _nonzero(x):
    return tuple(indices.astype(default_dtype(int)) for indices in np.nonzero(x))


def _count_nonzero(x, axis=None, keepdims=False):
    if x.dtype != np.bool or axis is not None:
        return None
    return np.asarray(np.count_nonzero(x, keepdims=keepdims), default_dtype(int))


def _arg_extreme(function, x, axis, keepdims):
    return np.asarray(function(x, axis=axis, keepdims=keepdims), default_dtype(int))


# Reductions


def _truth(function, x, axis, keepdims):
    return None if axis is not None else np.asarray(function(x, keepdims=keepdims))


def _extreme(function, x, axis, keepdims):
    if axis is not None:
        return None
    result = np.asarray(function(x, keepdims=keepdims))
    if x.dtype.kind == "f" and not result.all():  # which of 0.0 and -0.0, JAX says
        return None
    return result


def _cumulative_sum(x, *, axis=None, dtype=None, include_initial=False):
    if x.dtype.kind not in "iu" or dtype is not None or include_initial or (axis is None and x.ndim > 1):
        return None
    default = default_dtype(int)
    if x.dtype.itemsize >= default.itemsize:
        default = x.dtype
    elif x.dtype.kind == "u":
        default = np.dtype(f"u{default}")
    return np.cumsum(x, axis=axis, out=_new(x.shape, default))


# Moving


def _roll(x, shift, axis=None):
    if type(shift) is not int or (axis is not None and (x.ndim > 1 or axis not in (0, -1))):
        return None
    shift %= x.size
    result = _new(x.shape, x.dtype)
    flat = x.reshape(-1)
    result.reshape(-1)[shift:] = flat[: x.size - shift]
    result.reshape(-1)[:shift] = flat[x.size - shift :]
    return result


def _repeat(x, counts, axis):
    return np.repeat(x, np.asarray(counts), axis)


class _Entry(NamedTuple):
    """A function of the table, and from how many elements on it is faster than XLA's."""

    compute: Callable[..., Any]
    least_size: int


_TABLE = {
    "all": _Entry(functools.partial(_truth, np.all), 1 << 20),
    "any": _Entry(functools.partial(_truth, np.any), 1 << 20),
    "argmax": _Entry(functools.partial(_arg_extreme, np.argmax), 1 << 14),
    "argmin": _Entry(functools.partial(_arg_extreme, np.argmin), 1 << 14),
    "argsort": _Entry(sort_positions, 1 << 13),
    "count_nonzero": _Entry(_count_nonzero, 1 << 20),
    "cumulative_sum": _Entry(_cumulative_sum, 1 << 15),
    "max": _Entry(functools.partial(_extreme, np.max), 1 << 18),
    "min": _Entry(functools.partial(_extreme, np.min), 1 << 18),
    "nonzero": _Entry(_nonzero, 1 << 12),
    "repeat": _Entry(_repeat, 1 << 12),
    "roll": _Entry(_roll, 1 << 18),
    "sort": _Entry(sort_floats, 1 << 12),
    "unique_counts": _Entry(_unique_counts, 1 << 12),
    "unique_values": _Entry(_unique_values, 1 << 12),
}
