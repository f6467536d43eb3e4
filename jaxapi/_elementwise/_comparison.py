"""Comparisons by value, which are right for uint64 with signed integers, too.

JAX compares those in the floating dtype that they promote to, where neighbors above 2**53 are equal.
"""

import jax.numpy as jnp
import numpy as np

from .._core._dtypes import promoted, x64_on

__all__ = ["by_value"]


def by_value(compare, x1, x2):
    """Compare two operands as numbers, by a function of `jax.numpy`."""
    if _is_signed(x1) and _is_uint64(x2):
        return _with_negative(x1, compare(np.int8(-1), np.int8(0)), lambda x1: compare(x1, x2))
    if _is_uint64(x1) and _is_signed(x2):
        return _with_negative(x2, compare(np.int8(0), np.int8(-1)), lambda x2: compare(x1, x2))
    return compare(*promoted(x1, x2))


def _with_negative(x, negative, compare_with):
    """Return ``negative`` where ``x`` is below 0, so below every uint64; elsewhere compare it as one."""
    with x64_on():
        return jnp.where(x < 0, negative, compare_with(x.astype(np.uint64)))


def _is_signed(x) -> bool:
    return hasattr(x, "dtype") and jnp.issubdtype(x.dtype, jnp.signedinteger)


def _is_uint64(x) -> bool:
    return getattr(x, "dtype", None) == np.uint64
