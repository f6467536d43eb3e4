"""The dtypes to compute in: the standard's promotion, indices that do not wrap, floats for integers.

JAX leaves the standard's table where x64 mode is off: uint32 with int32 gives int32, and uint64 with int64
float32.
"""

import functools
from collections.abc import Callable

import jax.numpy as jnp
import numpy as np

from ._dtype_rules import promoted_dtype
from ._typing import Array, ArrayLike
from ._x64 import WIDE, x64_for, x64_mode, x64_on

__all__ = ["as_indices", "as_inexact", "promoted", "with_operands_promoted"]


def promoted(*arrays: ArrayLike) -> tuple[ArrayLike, ...]:
    """Return the arrays and numbers in the 64-bit dtype that they promote to, where JAX would miss it."""
    if x64_mode() or (dtype := promoted_dtype(*arrays)) not in WIDE:
        return arrays
    with x64_on():
        return tuple(jnp.asarray(x, dtype) for x in arrays)


def with_operands_promoted(function: Callable) -> Callable:
    """Trace a function of two arrays with both in the dtype that they promote to, which it keeps."""

    @functools.wraps(function)
    def traced(x1: Array, x2: Array, *options):
        dtype = promoted_dtype(x1, x2)
        with x64_for(dtype):
            return function(x1.astype(dtype), x2.astype(dtype), *options)

    return traced


def as_indices(x: ArrayLike) -> ArrayLike:
    """Return integers of 32 bits at least: JAX adds lengths to indices in the dtype of these, and wraps."""
    dtype = jnp.result_type(x)
    narrow = dtype == np.bool or (jnp.issubdtype(dtype, jnp.integer) and dtype.itemsize < 4)
    return jnp.asarray(x, np.int32) if narrow else x


def as_inexact(x: Array) -> Array:
    """Return integers as floats, of 64 bits where they or the default float have so many."""
    return x if jnp.issubdtype(x.dtype, jnp.inexact) else x.astype(promoted_dtype(x, 0.0))
