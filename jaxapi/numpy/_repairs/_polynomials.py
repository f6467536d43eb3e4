"""Polynomials, whose coefficients may be a number, or of other lengths."""

from __future__ import annotations

from typing import Any as Array

import jax.numpy as jnp
import numpy as np

from ..._core import _parts
from ..._core._programs import is_traced
from ...mutable._elementwise import ELEMENTWISE
from ...mutable._promotion import cast, result_dtype
from .._common import as_floats, float_dtype, refuse, strong

__all__ = ["poly", "polyadd", "polyder", "polyint", "polysub", "polyval"]


def _by_coefficients(name):
    """Return a function of the coefficients of two polynomials; the shorter one begins with zeros."""
    of_each = ELEMENTWISE[name]

    def of_two(a1: Array, a2: Array):
        a1 = jnp.atleast_1d(strong(a1))
        a2 = jnp.atleast_1d(strong(a2))
        length = max(len(a1), len(a2))
        return of_each(_with_leading_zeros(a1, length), _with_leading_zeros(a2, length))

    return of_two


def _with_leading_zeros(coefficients, length):
    missing = length - len(coefficients)
    if not missing:
        return coefficients
    return jnp.concatenate([jnp.zeros(missing, coefficients.dtype), coefficients])


polyadd = _by_coefficients("add")
polysub = _by_coefficients("subtract")


def poly(seq_of_zeros: Array):
    """Compute in floats, as NumPy does, and leave out imaginary parts of what is real."""
    zeros = as_floats(seq_of_zeros)
    is_half_of_vector = zeros.ndim < 2 and zeros.dtype == np.float16
    made = jnp.poly(zeros.astype(float_dtype(zeros)) if is_half_of_vector else zeros)
    is_real = not jnp.iscomplexobj(zeros) or (zeros.ndim < 2 and _come_in_conjugate_pairs(zeros))
    return _parts.real(made) if jnp.iscomplexobj(made) and is_real else made


def _come_in_conjugate_pairs(zeros) -> bool:
    """Whether conjugates of all zeros are zeros, too, which makes a polynomial real; False if traced."""
    if is_traced(zeros):
        return False
    on_host = np.ravel(np.asarray(zeros))
    return bool(np.all(np.sort(on_host) == np.sort(on_host.conj())))


def polyder(p: Array, m=1):
    """Multiply by powers in NumPy's dtypes: those of integers are integers."""
    refuse(m < 0, ValueError, "Order of derivative must be positive (see polyint)")
    for _ in range(m):
        powers = jnp.arange(len(p) - 1, 0, -1, dtype=int)
        p = ELEMENTWISE["multiply"](p[:-1], powers)
    return p


def polyint(p: Array, m=1, k=None):
    """Divide by powers in NumPy's dtypes."""
    refuse(m < 0, ValueError, "Order of integral must be positive (see polyder)")
    constants = jnp.atleast_1d(jnp.asarray(jnp.zeros(m, float_dtype()) if k is None else k))
    if len(constants) == 1 and m > 1:
        constants = jnp.repeat(constants, m)
    text = "k must be a scalar or a rank-1 array of length 1 or >m."
    refuse(len(constants) < m, ValueError, text)
    for i in range(m):
        powers = jnp.arange(len(p), 0, -1, dtype=int)
        quotients = ELEMENTWISE["divide"](p, powers)
        dtype = result_dtype(quotients, constants)
        p = jnp.concatenate([cast(quotients, dtype), cast(constants[i : i + 1], dtype)])
    return p


def polyval(p: Array, x: Array):
    """Evaluate by Horner's rule from 0 on, as NumPy does: 0 times what is not finite is NaN."""
    refuse(not p.ndim, TypeError, "p must be coefficients in one axis, got an array without axes")
    p = strong(p)
    x = strong(x)
    if not len(p):
        return jnp.zeros_like(x)
    dtype = result_dtype(p, x)
    if dtype == np.bool:  # sums are True where anything is
        return jnp.polyval(p.astype(np.float32), x.astype(np.float32)) != 0
    made = jnp.polyval(cast(p, dtype), cast(x, dtype))
    if dtype.kind not in "fc":
        return made
    nothing = complex(np.nan, np.nan) if jnp.iscomplexobj(made) else np.nan
    return jnp.where(jnp.isfinite(x), made, jnp.asarray(nothing, made.dtype))
