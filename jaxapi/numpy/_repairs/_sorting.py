"""Sorting, searching and extremes."""

from __future__ import annotations

from typing import Any as Array

import jax.numpy as jnp
import numpy as np

import jaxapi

from .._wrap import narrowed
from ._common import on_flat, refuse

_NAMES = """
amax amin argmax argmin argpartition argsort array_equiv max min nonzero partition searchsorted sort_complex
"""
__all__ = _NAMES.split()


def argsort(a: Array, axis=-1, descending=False):
    a, axis = on_flat(jnp.atleast_1d(a), axis)
    return jnp.argsort(a, axis, descending=descending)


def _partitioned(function):
    def of_axis(a: Array, kth, axis=-1):
        refuse(
            not a.ndim and axis is not None, np.exceptions.AxisError, f"axis {axis} of an array without axes"
        )
        a, axis = on_flat(a, axis)
        size = a.shape[np.lib.array_utils.normalize_axis_index(axis, a.ndim)]
        for k in np.ravel(kth).tolist():
            refuse(not -size <= k < size, ValueError, f"kth(={k}) out of bounds ({size})")
        return function(a, axis)

    return of_axis


partition, argpartition = map(_partitioned, (jnp.sort, jnp.argsort))


def array_equiv(a1: Array, a2: Array):
    try:
        np.broadcast_shapes(a1.shape, a2.shape)
    except ValueError:
        return jnp.asarray(False)
    return jnp.array_equiv(a1, a2)


def sort_complex(a: Array):
    narrow = a.dtype.char in "bhBHF"
    return jnp.sort(a, -1).astype(np.complex64 if narrow else narrowed(np.dtype(complex), a))


def searchsorted(a: Array, v: Array, side="left", sorter: Array = None):
    if sorter is not None:
        refuse(sorter.dtype.kind not in "iu", TypeError, "sorter must only contain integers")
        refuse(sorter.shape != a.shape, ValueError, "sorter.size must equal a.size")
    text = f"search side must be 'left' or 'right' (got {side!r})"
    refuse(side not in ("left", "right"), ValueError, text)
    return jaxapi.searchsorted(a, v, side=side, sorter=sorter)


def nonzero(a: Array):
    refuse(not a.ndim, ValueError, "nonzero takes an array with axes: use atleast_1d(x).nonzero()")
    return jaxapi.nonzero(a)


def _extreme(name):
    """Return jaxapi's function, of complex numbers, too: real parts decide, then imaginary ones."""
    best = getattr(jnp, name[-3:])

    def of_axis(a: Array, axis=None, keepdims=False, **options):
        axis = tuple(axis) if isinstance(axis, list) else axis
        if not jnp.iscomplexobj(a):
            return getattr(jaxapi, name)(a, axis=axis, keepdims=keepdims, **options)
        refuse(not a.size and not options, ValueError, f"zero-size array to {name}, which has no identity")
        missing = jnp.isnan(a)
        is_missing = missing.any(axis, keepdims=keepdims)
        if not name.startswith("arg"):
            return jnp.where(is_missing, jnp.nan, best(a, axis, keepdims=keepdims, **options))
        found = jnp.argmax(a == best(a, axis, keepdims=True), axis, keepdims=keepdims)
        return jnp.where(is_missing, jnp.argmax(missing, axis, keepdims=keepdims), found)

    return of_axis


max, min, argmax, argmin = map(_extreme, ("max", "min", "argmax", "argmin"))
amax, amin = max, min
