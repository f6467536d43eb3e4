"""The 64-bit rules: what explicitly has 64 bits keeps them, whatever JAX's x64 mode.

JAX's setting for explicit requests is ``jax_explicit_x64_dtypes``; its default warns and truncates.
Importing jaxapi sets it to ``'allow'``, process-wide, unless the user chose otherwise or x64 mode is on
already. A few of JAX's operations then still fail on 64-bit arrays or compute with 32 bits; the functions
that repair them open a 64-bit context of their own.
"""

import os

import jax
import jax.numpy as jnp
import numpy as np

__all__ = [
    "WIDE",
    "honour_explicit_dtypes",
    "scalar_like",
    "wide_with_x64_off",
    "x64_mode_for",
]

WIDE = frozenset(np.dtype(name) for name in ("int64", "uint64", "float64", "complex128"))
_KINDS = {int: "iufc", float: "fc", complex: "c"}


def honour_explicit_dtypes() -> None:
    """Let explicit 64-bit dtypes through with x64 off; leave a choice of the user's alone."""
    if "JAX_EXPLICIT_X64_DTYPES" not in os.environ and not jax.config.jax_enable_x64:
        jax.config.update("jax_explicit_x64_dtypes", "allow")


def x64_mode_for(dtype: np.dtype):
    """Return a context in which JAX computes with the 64 bits of ``dtype``, if it has them.

    It may be opened in the middle of a compiled function, around operations that JAX lowers by their
    operands' dtypes alone (its `argmax`, which makes constants of its own, is none of these).
    """
    return jax.enable_x64(dtype in WIDE or jax.config.jax_enable_x64)


def wide_with_x64_off(x) -> bool:
    """Say whether x64 mode is off and ``x``, traced or not, 64 bits wide: JAX then lacks some operations."""
    return x.dtype in WIDE and not jax.config.jax_enable_x64


def scalar_like(x, array):
    """Return a Python number in the dtype of the array it meets, all its digits kept; others as they are.

    JAX would make an int32 or float32 of it first where x64 is off. An int that the dtype cannot hold
    raises NumPy's ``OverflowError``.
    """
    kinds = _KINDS.get(type(x))
    dtype = getattr(array, "dtype", None) if kinds else None
    if dtype is None or dtype.kind not in kinds:
        return x
    host = np.asarray(x, dtype)
    if dtype not in WIDE:
        return host
    with jax.enable_x64(True):
        return jnp.asarray(host)
