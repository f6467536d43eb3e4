"""Sorting, searching and extremes."""

from __future__ import annotations

from typing import Any as Array

import jax.numpy as jnp
import numpy as np

import jaxapi

from .._wrap import narrowed
from ._common import as_tuple, axes_of, on_flat, refuse

_NAMES = """
amax amin argmax argmin argpartition argsort max min nonzero partition searchsorted sort_complex
"""
__all__ = _NAMES.split()


def argsort(a: Array, axis=-1, descending=False):
    a, axis = on_flat(jnp.atleast_1d(a) if axis is None else a, axis)
    if not a.ndim:
        np.lib.array_utils.normalize_axis_index(axis, 1)
        return jnp.zeros(1, int)
    return jnp.argsort(a, axis, descending=descending)


def _needs_an_axis(a, axis):
    if not a.ndim and axis is not None:
        raise np.exceptions.AxisError(axis, 0)


def _kths(kth, size):
    kths = [int(k) for k in np.ravel(kth)]
    for k in kths:
        if not -size <= k < size:
            raise ValueError(f"kth(={k}) out of bounds ({size})")


def partition(a: Array, kth, axis=-1):
    _needs_an_axis(a, axis)
    a, axis = on_flat(a, axis)
    _kths(kth, a.shape[np.lib.array_utils.normalize_axis_index(axis, a.ndim)])
    return jnp.sort(a, axis)


def argpartition(a: Array, kth, axis=-1):
    a, axis = on_flat(a, axis)
    a = jnp.atleast_1d(a)
    _kths(kth, a.shape[np.lib.array_utils.normalize_axis_index(axis, a.ndim)])
    return jnp.argsort(a, axis)


def sort_complex(a: Array):
    narrow = a.dtype.char in "bhBHF"
    return jnp.sort(a, -1).astype(np.complex64 if narrow else narrowed(np.dtype(complex), a))


def searchsorted(a: Array, v: Array, side="left", sorter: Array = None):
    if sorter is not None:
        refuse(sorter.dtype.kind not in "iu", TypeError, "sorter must only contain integers")
        refuse(sorter.shape != a.shape, ValueError, "sorter.size must equal a.size")
    if side not in ("left", "right"):
        raise ValueError(f"search side must be 'left' or 'right' (got {side!r})")
    return jaxapi.searchsorted(a, v, side=side, sorter=sorter)


def nonzero(a: Array):
    a = jnp.asarray(a)
    if not a.ndim:
        raise ValueError(
            "Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(scalar).nonzero() instead."
        )
    return jaxapi.nonzero(a)


def _extreme(name, largest):
    """Return jaxapi's function, of complex numbers, too: real parts decide, then imaginary ones."""
    function, best, worst = (
        getattr(jaxapi, name),
        jnp.max if largest else jnp.min,
        -np.inf if largest else np.inf,
    )

    def place(x, axis, keepdims):
        missing = jnp.isnan(x)
        tied = jnp.where(x.real == best(x.real, axis, keepdims=True), x.imag, worst)
        at = (jnp.argmax if largest else jnp.argmin)(tied, axis, keepdims=keepdims)
        first = jnp.argmax(missing, axis, keepdims=keepdims)
        return jnp.where(missing.any(axis, keepdims=keepdims), first, at)

    def of_axis(a: Array, axis=None, keepdims=False, **options):
        a, axis = jnp.asarray(a), as_tuple(axis)
        if not jnp.iscomplexobj(a) or options:
            return function(a, axis=axis, keepdims=keepdims, **options)
        axes = np.lib.array_utils.normalize_axis_tuple(axes_of(a) if axis is None else axis, a.ndim)
        kept = [i for i in axes_of(a) if i not in axes]
        flat = jnp.transpose(a, (*kept, *axes)).reshape([a.shape[i] for i in kept] + [-1])
        if not flat.shape[-1]:
            raise ValueError(f"zero-size array to {name}, which has no identity")
        found = place(flat, -1, True)
        found = (found if name.startswith("arg") else jnp.take_along_axis(flat, found, -1))[..., 0]
        return jnp.expand_dims(found, axes) if keepdims else found

    return of_axis


max = amax = _extreme("max", True)
min = amin = _extreme("min", False)
argmax, argmin = _extreme("argmax", True), _extreme("argmin", False)
