"""Sorting functions (chapter "Sorting functions" of the standard)."""

import functools

import jax.numpy as jnp
import numpy as np
from jax import lax

from ._core._dtypes import x64_for
from ._core._order import float_keys
from ._interop._array_arguments import takes_array

__all__ = ["argsort", "sort"]

_LARGE = 1 << 12  # elements, from which on XLA on the CPU sorts integers in less than half the time of floats


@functools.wraps(jnp.sort)
def _sort(a, axis=-1, *, kind=None, order=None, stable=True, descending=False):
    """Sort floats together with integers that are in their order, which XLA on the CPU compares faster."""

    def default(x):
        return jnp.sort(x, axis, kind=kind, order=order, stable=stable, descending=descending)

    def by_keys(x):
        dimension = axis % x.ndim
        with x64_for(x.dtype):
            keys = float_keys(lax.stop_gradient(x))
            _, in_order = lax.sort((keys, x), dimension=dimension, is_stable=stable, num_keys=1)
        return lax.rev(in_order, (dimension,)) if descending else in_order

    if not _has_keys(a, axis):
        return default(a)
    return lax.platform_dependent(a, default=default, cpu=by_keys)


@functools.wraps(jnp.argsort)
def _argsort(a, axis=-1, *, kind=None, order=None, stable=True, descending=False, dtype=None):
    """Sort integers that are in the order of floats."""
    index_dtype = int if dtype is None else dtype

    def default(x):
        options = {"kind": kind, "order": order, "stable": stable, "descending": descending}
        return jnp.argsort(x, axis, **options, dtype=dtype)

    def by_keys(x):
        with x64_for(x.dtype):
            keys = float_keys(lax.stop_gradient(x))
            positions = jnp.argsort(keys, axis, stable=stable, descending=descending)
        return positions.astype(index_dtype)

    if not _has_keys(a, axis):
        return default(a)
    return lax.platform_dependent(a, default=default, cpu=by_keys)


def _has_keys(x, axis) -> bool:
    """Tell whether an array has many floats of 32 or 64 bits, and the axis."""
    if jnp.result_type(x) not in (np.float32, np.float64) or not isinstance(axis, int):
        return False
    known_lengths = all(isinstance(length, int) for length in jnp.shape(x))
    return known_lengths and jnp.size(x) >= _LARGE and -x.ndim <= axis < x.ndim


argsort = takes_array(_argsort)
sort = takes_array(_sort)
