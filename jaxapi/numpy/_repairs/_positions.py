"""Positions, triangles, and what lies at positions."""

from __future__ import annotations

import builtins
from typing import Any as Array

import jax.numpy as jnp
import numpy as np

from ..._core._dtypes import default_dtype
from ..._core._programs import is_traced
from ._common import on_flat, refuse

_NAMES = """
diag_indices indices ix_ ravel_multi_index take take_along_axis tril tril_indices_from triu
triu_indices_from unravel_index
"""
__all__ = _NAMES.split()


def _triangle(function):
    def of_matrix(m: Array, k=0):
        return function(m if m.ndim > 1 else jnp.broadcast_to(m, (len(m), len(m))), k)

    return of_matrix


tril, triu = _triangle(jnp.tril), _triangle(jnp.triu)


def diag_indices(n, ndim=2):
    return (jnp.arange(builtins.max(n, 0), dtype=int),) * builtins.max(ndim, 0)


def ix_(*args: Array):
    made = [jnp.nonzero(x)[0] if x.dtype == np.bool else x for x in map(jnp.asarray, args)]
    refuse(any(x.ndim != 1 for x in made), ValueError, "Cross index must be 1 dimensional")
    return jnp.ix_(*made)


def unravel_index(indices: Array, shape, order="C"):
    _check_cf(order)
    refuse(jnp.asarray(indices).dtype.kind not in "iu", TypeError, "only int indices permitted")
    shape = (shape,) if np.ndim(shape) == 0 else tuple(shape)
    indices = jnp.asarray(indices)
    if (
        not is_traced(indices)
        and indices.size
        and not (int(indices.min()) >= 0 and int(indices.max()) < np.prod(shape))
    ):
        raise ValueError(f"index is out of bounds for array with size {np.prod(shape)}")
    parts = jnp.unravel_index(indices, shape[::-1] if order == "F" else shape)
    return parts[::-1] if order == "F" else parts


def indices(dimensions, dtype=None, sparse=False):
    made = jnp.indices(tuple(dimensions), sparse=sparse)
    dtype = default_dtype(int) if dtype is None else dtype
    return tuple(x.astype(dtype) for x in made) if sparse else made.astype(dtype)


def _indices_from(function):
    def of_matrix(arr: Array, k=0):
        refuse(arr.ndim != 2, ValueError, "input array must be 2-d")
        return function(arr.shape[-2], k=k, m=arr.shape[-1])

    return of_matrix


tril_indices_from, triu_indices_from = map(_indices_from, (jnp.tril_indices, jnp.triu_indices))


def _check_cf(order):
    refuse(order not in ("C", "F", None), ValueError, "only 'C' or 'F' order is permitted")


def ravel_multi_index(multi_index, dims, mode="raise", order="C"):
    _check_cf(order)
    places = [jnp.asarray(x) for x in multi_index]
    refuse(any(x.dtype.kind not in "iu" for x in places), TypeError, "only int indices permitted")
    if len(places) != len(dims):
        raise ValueError(f"parameter multi_index must be a sequence of length {len(dims)}")
    return jnp.ravel_multi_index(places, dims, mode, order or "C")


def _in_bounds(indices, size, mode="raise"):
    """Return positions by NumPy's modes; traced ones are not checked."""
    if mode == "wrap":
        return indices % size
    if mode == "clip":
        return jnp.clip(indices, 0, builtins.max(size - 1, 0))
    if mode != "raise":
        raise ValueError(f"clipmode must be 'raise', 'wrap' or 'clip', got {mode!r}")
    if jnp.asarray(indices).dtype.kind not in "iub":
        raise TypeError(f"positions are integers, got {jnp.asarray(indices).dtype}")
    if not is_traced(indices) and indices.size:
        low, high = int(indices.min()), int(indices.max())
        if low < -size or high >= size:
            raise IndexError(f"index {high if high >= size else low} is out of bounds for size {size}")
    return indices


def take(a: Array, indices: Array, axis=None, mode="raise"):
    a, axis = on_flat(jnp.atleast_1d(a), axis)
    indices = jnp.asarray(indices)
    axis = np.lib.array_utils.normalize_axis_index(axis, a.ndim)
    indices = _in_bounds(indices if indices.size else indices.astype(int), a.shape[axis], mode)
    return jnp.take(a, indices, axis, mode="wrap")


def take_along_axis(arr: Array, indices: Array, axis=-1):
    arr, axis = on_flat(arr, axis)
    axis = np.lib.array_utils.normalize_axis_index(axis, arr.ndim)
    if indices.ndim != arr.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    refuse(indices.dtype.kind not in "iu", IndexError, "`indices` must be an integer array")
    return jnp.take_along_axis(arr, _in_bounds(indices, arr.shape[axis]), axis)
