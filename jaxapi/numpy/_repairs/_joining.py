"""Joining, repeating and taking apart."""

from __future__ import annotations

from typing import Any
from typing import Any as Array
from typing import Any as ArrayLike  # the wrapper goes by these names

import jax
import jax.numpy as jnp
import numpy as np

import jaxapi

from ..._core._dtypes import x64_for
from ...mutable._array import wrap
from .._array import ndarray
from .._wrap import narrowed, result_dtype
from ._common import axes_of, refuse

_NAMES = """
append column_stack concat concatenate delete dstack hstack meshgrid pad repeat stack tile unique
vander vstack
"""
__all__ = _NAMES.split()


def _joined(name, axis=None):
    def join(arrays, axis, dtype, casting):
        listed = list(arrays) if isinstance(arrays, (list, tuple)) else list(jnp.asarray(arrays))
        refuse(not listed, ValueError, "need at least one array to concatenate")
        kinds = [x.dtype for x in listed if isinstance(x, jax.Array)]
        dtype = result_dtype(*listed) if dtype is None else np.dtype(dtype)
        for kind in kinds:
            if not np.can_cast(kind, dtype, casting):
                raise TypeError(
                    f"Cannot cast array data from {kind} to {dtype} according to the rule {casting!r}"
                )
        with x64_for(dtype):
            listed = [jnp.real(x) if jnp.iscomplexobj(x) and dtype.kind not in "cb" else x for x in listed]
            listed = [jnp.asarray(x).astype(dtype) for x in listed]
            return getattr(jnp, name)(listed, **({} if axis is _WITHOUT else {"axis": axis}))

    def without_axis(arrays: list[ArrayLike], tup: Any = None, dtype=None, casting="same_kind"):
        return join(arrays, _WITHOUT, dtype, casting)

    def along(arrays: list[ArrayLike], axis=axis, dtype=None, casting="same_kind"):
        return join(arrays, axis, dtype, casting)

    return without_axis if axis is None else along


_WITHOUT = object()
concat = concatenate = _joined("concatenate", 0)
stack = _joined("stack", 0)
hstack, vstack, dstack, column_stack = map(_joined, ("hstack", "vstack", "dstack", "column_stack"))


def tile(A: Array, reps):
    reps = np.asarray(reps).tolist()
    refuse(np.min(reps, initial=0) < 0, ValueError, "negative dimensions are not allowed")
    return jnp.tile(A, reps)


def append(arr: Array, values: Array, axis=None):
    return jnp.append(arr, values if isinstance(values, jax.Array) else jnp.asarray(np.asarray(values)), axis)


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


def meshgrid(*xi: Array, sparse=False, indexing="xy", copy=True):
    return jnp.meshgrid(*xi, sparse=sparse, indexing=indexing)


def vander(x: Array, N=None, increasing=False):
    x = jnp.asarray(x)
    return jnp.vander(x.astype(narrowed(np.promote_types(x.dtype, int), x)), N, increasing)


def pad(array: Array, pad_width, mode="constant", **kwargs):
    if np.size(pad_width) == 0:
        raise TypeError(f"`pad_width` must be of integral type, got {pad_width!r}")
    if not callable(mode):
        return jnp.pad(array, pad_width, mode, **kwargs)
    padded = wrap(jnp.pad(array, pad_width), ndarray)
    widths = np.broadcast_to(np.asarray(pad_width), (array.ndim, 2))
    for axis in axes_of(array):  # the function writes to each row
        rows = padded._transposed((*[i for i in axes_of(array) if i != axis], axis))
        for place in np.ndindex(rows.shape[:-1]):
            mode(rows[(*place, ...)], tuple(widths[axis].tolist()), axis, kwargs)
    return padded._value


def repeat(a: Array, repeats, axis=None):
    counts = np.asarray(repeats)
    if not np.can_cast(counts.dtype, np.int64) and counts.size:
        raise TypeError(f"Cannot cast array data from {counts.dtype} to int64 according to the rule 'safe'")
    refuse(counts.ndim > 1, ValueError, "object too deep for desired array")
    refuse(counts.size and counts.min() < 0, ValueError, "repeats may not contain negative values.")
    return jaxapi.repeat(a, int(counts) if not counts.ndim else jnp.asarray(counts), axis=axis)
