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
    "needs_64_bits",
    "promotes_to_64_bits",
    "scalar_like",
    "wide_with_x64_off",
]

WIDE = frozenset(np.dtype(name) for name in ("int64", "uint64", "float64", "complex128"))
_KINDS = {int: "iuf", float: "f"}
_UINT32 = np.dtype("uint32")
_SIGNED = frozenset(np.dtype(name) for name in ("int8", "int16", "int32"))


def honour_explicit_dtypes() -> None:
    """Let explicit 64-bit dtypes through with x64 off; leave a choice of the user's alone."""
    if "JAX_EXPLICIT_X64_DTYPES" not in os.environ and not jax.config.jax_enable_x64:
        jax.config.update("jax_explicit_x64_dtypes", "allow")


def needs_64_bits(x) -> bool:
    """Say whether x64 mode is off and ``x`` an array 64 bits wide.

    A traced array does not count: the mode cannot change in the middle of a compiled function.
    """
    return getattr(x, "dtype", None) in WIDE and _can_widen(x)


def wide_with_x64_off(x) -> bool:
    """Say whether x64 mode is off and ``x``, traced or not, 64 bits wide: JAX then lacks some operations."""
    return x.dtype in WIDE and not jax.config.jax_enable_x64


def promotes_to_64_bits(x1, x2) -> bool:
    """Say whether x64 mode is off and the arrays promote to a 64-bit dtype by the standard's table.

    So do arrays of which one is 64 bits wide, and uint32 with a signed integer; arrays of one dtype need no
    promotion. As with `needs_64_bits`, traced arrays do not count.
    """
    dtype1, dtype2 = getattr(x1, "dtype", None), getattr(x2, "dtype", None)
    if dtype1 is dtype2:
        return False
    if dtype1 in WIDE or dtype2 in WIDE:
        return _can_widen(x1) and _can_widen(x2)
    if (dtype1 == _UINT32 and dtype2 in _SIGNED) or (dtype1 in _SIGNED and dtype2 == _UINT32):
        return _can_widen(x1) and _can_widen(x2)
    return False


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


def _can_widen(x) -> bool:
    return not jax.config.jax_enable_x64 and not isinstance(x, jax.core.Tracer)
