"""Joining, repeating and taking apart."""

from __future__ import annotations

from typing import Any as Array
from typing import Any as ArrayLike  # the wrapper goes by these names

import jax
import jax.numpy as jnp
import numpy as np

import jaxapi

from ..._core._dtypes import x64_for
from ..._core._programs import compiled
from ...mutable._array import wrap
from .._array import ndarray
from .._wrap import cast, narrowed, result_dtype, together
from ._common import refuse

_NAMES = (
    "append column_stack concat concatenate delete dstack hstack pad repeat stack tile unique vander vstack"
)
__all__ = _NAMES.split()


def _joined(name):
    function = {"concatenate": jaxapi.concat, "stack": jaxapi.stack}.get(name) or compiled(getattr(jnp, name))
    takes_axis = name in ("concatenate", "stack")

    def join(arrays: list[ArrayLike], axis=0, dtype=None, casting="same_kind"):
        listed = [x if hasattr(x, "dtype") else jnp.asarray(x) for x in arrays]
        refuse(not listed, ValueError, "need at least one array to concatenate")
        dtype = result_dtype(*listed) if dtype is None else np.dtype(dtype)
        for x in listed:
            text = f"Cannot cast array data from {x.dtype} to {dtype} according to the rule {casting!r}"
            refuse(not np.can_cast(x.dtype, dtype, casting), TypeError, text)
        with x64_for(dtype):
            return function([cast(x, dtype) for x in listed], **({"axis": axis} if takes_axis else {}))

    return join


for _name in ("column_stack", "concatenate", "dstack", "hstack", "stack", "vstack"):
    globals()[_name] = _joined(_name)
concat = globals()["concatenate"]


def append(arr, values, axis=None):  # numbers are as strong as arrays
    given = [x if isinstance(x, jax.Array) else jnp.asarray(np.asarray(x)) for x in (arr, values)]
    return jnp.append(*together(given), axis)


def delete(arr: Array, obj, axis=None):
    if not isinstance(obj, slice):
        obj = obj if hasattr(obj, "dtype") else np.asarray(obj, None if np.size(obj) else int)
        refuse(obj.dtype.kind not in "iub", IndexError, f"positions are integers or bools, got {obj.dtype}")
        length = arr.size if axis is None else arr.shape[axis]
        bad = obj.dtype == bool and obj.shape != (length,)
        refuse(bad, ValueError, f"obj of bools must be of shape {(length,)}, got {obj.shape}")
    return jnp.delete(arr, obj, axis)


def unique(
    ar: Array,
    return_index=False,
    return_inverse=False,
    return_counts=False,
    axis=None,
    equal_nan=True,
    sorted=True,
):
    equal_nan = equal_nan and axis is None  # NumPy compares rows by their elements
    values, places, *more = jnp.unique(ar, True, return_inverse, return_counts, axis, equal_nan=equal_nan)
    if jnp.iscomplexobj(ar):  # of which jax.numpy's lose a part, if the other is NaN
        values = jnp.take(ar.reshape(-1) if axis is None else ar, places, axis or 0)
    made = (values, *([places] if return_index else []), *more)
    return made if len(made) > 1 else values


def pad(array: Array, pad_width, mode="constant", **kwargs):
    refuse(np.size(pad_width) == 0, TypeError, f"`pad_width` must be of integral type, got {pad_width!r}")
    if not callable(mode):
        return jnp.pad(array, pad_width, mode, **kwargs)
    padded = wrap(jnp.pad(array, pad_width), ndarray)
    widths = np.broadcast_to(np.asarray(pad_width), (array.ndim, 2)).tolist()
    for axis, rows in enumerate(np.moveaxis(padded, axis, -1) for axis in range(array.ndim)):
        for place in np.ndindex(rows.shape[:-1]):  # the function writes to each row
            mode(rows[(*place, ...)], tuple(widths[axis]), axis, kwargs)
    return padded._value


def repeat(a: Array, repeats, axis=None):
    counts = np.asarray(repeats)
    text = f"Cannot cast array data from {counts.dtype} to int64 according to the rule 'safe'"
    refuse(counts.size and not np.can_cast(counts.dtype, np.int64), TypeError, text)
    refuse(counts.ndim > 1, ValueError, "object too deep for desired array")
    refuse(counts.size and counts.min() < 0, ValueError, "repeats may not contain negative values.")
    return jaxapi.repeat(a, int(counts) if not counts.ndim else jnp.asarray(counts), axis=axis)


def tile(A: Array, reps):
    reps = np.asarray(reps).tolist()
    refuse(np.min(reps, initial=0) < 0, ValueError, "negative dimensions are not allowed")
    return jnp.tile(A, reps)


def vander(x: Array, N=None, increasing=False):
    return jnp.vander(x.astype(narrowed(np.promote_types(x.dtype, int), x)), N, increasing)
