"""Positions, and what lies at positions."""

from __future__ import annotations

from typing import Any as Array

import jax
import jax.numpy as jnp
import numpy as np

from ..._core._dtypes import default_dtype
from ..._core._programs import is_traced
from ._common import on_flat, refuse

_NAMES = "diag_indices indices ix_ ravel_multi_index take take_along_axis tril triu unravel_index"
__all__ = _NAMES.split()


def diag_indices(n, ndim=2):
    return (jnp.arange(max(n, 0), dtype=int),) * max(ndim, 0)


def _triangle(function):
    def of_matrix(m: Array, k=0):
        return function(m if m.ndim > 1 else jnp.broadcast_to(m, (len(m), len(m))), k)

    return of_matrix


tril, triu = _triangle(jnp.tril), _triangle(jnp.triu)


def ix_(*args: Array):
    made = [jnp.nonzero(x)[0] if x.dtype == np.bool else x for x in map(jnp.asarray, args)]
    refuse(any(x.ndim != 1 for x in made), ValueError, "Cross index must be 1 dimensional")
    return jnp.ix_(*made)


def _checked(order, *indices):
    refuse(order not in ("C", "F", None), ValueError, "only 'C' or 'F' order is permitted")
    found = [jnp.asarray(x) for x in indices]
    refuse(any(x.dtype.kind not in "iu" for x in found), TypeError, "only int indices permitted")
    return found


def unravel_index(indices: Array, shape, order="C"):
    (indices,) = _checked(order, indices)
    shape = (shape,) if np.ndim(shape) == 0 else tuple(shape)
    if not is_traced(indices) and indices.size:
        inside = int(indices.min()) >= 0 and int(indices.max()) < np.prod(shape)
        refuse(not inside, ValueError, f"index is out of bounds for array with size {np.prod(shape)}")
    parts = jnp.unravel_index(indices, shape[::-1] if order == "F" else shape)
    return parts[::-1] if order == "F" else parts


def ravel_multi_index(multi_index, dims, mode="raise", order="C"):
    places = _checked(order, *multi_index)
    text = f"parameter multi_index must be a sequence of length {len(dims)}"
    refuse(len(places) != len(dims), ValueError, text)
    return jnp.ravel_multi_index(places, dims, mode, order or "C")


def indices(dimensions, dtype=None, sparse=False):
    dtype = default_dtype(int) if dtype is None else dtype
    return jax.tree.map(lambda x: x.astype(dtype), jnp.indices(tuple(dimensions), sparse=sparse))


def _in_bounds(indices, size, mode="raise"):
    """Return positions by NumPy's modes; traced ones are not checked."""
    if mode == "wrap":
        return indices % size
    if mode == "clip":
        return jnp.clip(indices, 0, max(size - 1, 0))
    refuse(mode != "raise", ValueError, f"clipmode must be 'raise', 'wrap' or 'clip', got {mode!r}")
    refuse(indices.dtype.kind not in "iub", TypeError, f"positions are integers, got {indices.dtype}")
    if not is_traced(indices) and indices.size:
        low, high = int(indices.min()), int(indices.max())
        text = f"index {high if high >= size else low} is out of bounds for size {size}"
        refuse(low < -size or high >= size, IndexError, text)
    return indices


def take(a: Array, indices: Array, axis=None, mode="raise"):
    a, axis = on_flat(jnp.atleast_1d(a), axis)
    axis = np.lib.array_utils.normalize_axis_index(axis, a.ndim)
    indices = _in_bounds(indices if indices.size else indices.astype(int), a.shape[axis], mode)
    return jnp.take(a, indices, axis, mode="wrap")


def take_along_axis(arr: Array, indices: Array, axis=-1):
    arr, axis = on_flat(arr, axis)
    axis = np.lib.array_utils.normalize_axis_index(axis, arr.ndim)
    text = "`indices` and `arr` must have the same number of dimensions"
    refuse(indices.ndim != arr.ndim, ValueError, text)
    refuse(indices.dtype.kind not in "iu", IndexError, "`indices` must be an integer array")
    return jnp.take_along_axis(arr, _in_bounds(indices, arr.shape[axis]), axis)
