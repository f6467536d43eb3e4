"""The parts of a key ``x[key]``, with NumPy's rules and errors."""

import operator

import jax
import jax.numpy as jnp
import numpy as np

from .._core._dtypes import x64_on
from .._interop import as_array
from .._interop._numbers import PYTHON_NUMBERS, leaf_types
from ._batches import Pending

__all__ = ["FULL", "LONG", "check_int", "expand", "indices_along", "is_array", "is_mask", "length_of"]
__all__ += ["parts_of"]

FULL = slice(None)
LONG = 2**31  # from here on the length of an axis is no int32


def parts_of(key) -> tuple:
    """Return the parts of a key: ints, slices, None, Ellipsis and arrays."""
    return tuple(map(_part, key)) if isinstance(key, tuple) else (_part(key),)


def _part(k):
    if k is None or k is Ellipsis or type(k) is int or type(k) is slice:
        return k
    if isinstance(k, (bool, np.bool)):
        return np.asarray(k)
    if isinstance(k, (list, tuple)):
        k = _listed(k)
    elif hasattr(k, "__array__") and not isinstance(k, (np.ndarray, np.generic, jax.Array, Pending)):
        k = np.asarray(k)
    if not hasattr(k, "dtype"):
        try:
            return operator.index(k)
        except TypeError:
            raise _no_index(type(k).__name__) from None
    if k.dtype == bool:
        return k
    if not jnp.issubdtype(k.dtype, jnp.integer):
        raise _no_index(f"an array of {k.dtype}")
    return int(k) if isinstance(k, np.integer) else k


def _listed(k):
    """Return a list's positions; plain numbers stay on the host, where they can be checked."""
    types = leaf_types(k)
    if not types:
        return np.asarray(k, np.int32)
    return np.asarray(k) if types <= PYTHON_NUMBERS else as_array(k)


def _no_index(what: str) -> IndexError:
    return IndexError(
        "only integers, slices (`:`), ellipsis (`...`), None (newaxis) and integer or boolean arrays are "
        f"valid indices, got {what}"
    )


def is_array(k) -> bool:
    return hasattr(k, "dtype")


def is_mask(k) -> bool:
    return is_array(k) and k.dtype == bool


def length_of(k) -> int:
    """How many axes of the array a part of a key stands for."""
    if k is None or k is Ellipsis:
        return 0
    return k.ndim if is_mask(k) else 1


def expand(keys, shape):
    """Yield each part with its axis, ``...`` and what is missing at the end as full slices."""
    taken = sum(map(length_of, keys))
    if taken > len(shape):
        raise IndexError(
            f"too many indices for array: array is {len(shape)}-dimensional, but {taken} were indexed"
        )
    dots = sum(k is Ellipsis for k in keys)
    if dots > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    axis = 0
    for k in keys if dots else (*keys, ...):
        if k is Ellipsis:
            stop = axis + len(shape) - taken
            for every in range(axis, stop):
                yield FULL, every
            axis = stop
        else:
            yield k, axis
            axis += length_of(k)


def check_int(k: int, axis: int, size: int) -> int:
    if not -size <= k < size:
        raise IndexError(f"index {k} is out of bounds for axis {axis} with size {size}")
    return k + size if k < 0 else k


def indices_along(given, size: int):
    """Return indices of the host along axes of at most `size` with 32 bits, or with 64 if they take them."""
    if size < LONG:
        return np.asarray(given, np.int32)
    with x64_on():  # NumPy's int64 is cut to 32 bits where x64 is off
        return jnp.asarray(given, np.int64)
