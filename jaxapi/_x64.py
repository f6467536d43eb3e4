"""The 64-bit rules: what explicitly has 64 bits keeps them, whatever JAX's x64 mode.

JAX's setting for explicit requests is ``jax_explicit_x64_dtypes``; its default warns and truncates.
Importing jaxapi sets it to ``'allow'``, process-wide, unless the user chose otherwise or x64 mode is on
already. A few of JAX's operations then still fail on 64-bit arrays or compute with 32 bits; the functions
that repair them open a 64-bit context of their own, by `x64_for`.
"""

import contextlib
import functools
import os
import warnings

import jax
import jax.numpy as jnp
import numpy as np

__all__ = [
    "NARROWED",
    "WIDE",
    "allow_explicit_dtypes",
    "explicit_64_bits",
    "has_64_bits",
    "lacks_64_bits",
    "x64_as",
    "x64_for",
    "x64_mode",
    "x64_on",
]

NARROWED = {
    np.dtype(wide): np.dtype(narrow)
    for wide, narrow in (
        ("int64", "int32"),
        ("uint64", "uint32"),
        ("float64", "float32"),
        ("complex128", "complex64"),
    )
}
WIDE = frozenset(NARROWED)

_AS_IT_IS = contextlib.nullcontext()


def allow_explicit_dtypes() -> None:
    """Let explicit 64-bit dtypes through with x64 off; leave a choice of the user's alone."""
    if "JAX_EXPLICIT_X64_DTYPES" in os.environ or x64_mode():
        return
    if hasattr(jax.config, "jax_explicit_x64_dtypes"):
        jax.config.update("jax_explicit_x64_dtypes", "allow")


def x64_mode() -> bool:
    """Whether JAX's x64 mode is on, which makes 64 bits the default."""
    return jax.config.jax_enable_x64


def explicit_64_bits() -> bool:
    """Whether arrays of 64-bit dtypes can be made, with x64 on or by an explicit dtype."""
    if x64_mode():
        return True
    choice = getattr(jax.config, "jax_explicit_x64_dtypes", None)
    return _can_make_float64() if choice is None else choice.name == "ALLOW"


@functools.cache
def _can_make_float64() -> bool:
    """Try, with x64 off: a JAX without the setting has one behaviour."""
    with warnings.catch_warnings(), x64_as(False):
        warnings.simplefilter("ignore")
        return jax.eval_shape(lambda: jnp.zeros((), "float64")).dtype == np.float64


def has_64_bits(x) -> bool:
    """Whether ``x``, traced or not, is an array of a 64-bit dtype."""
    return getattr(x, "dtype", None) in WIDE


def lacks_64_bits(x) -> bool:
    """Whether x64 mode is off and the array ``x`` 64 bits wide: JAX then lacks some operations."""
    return x.dtype in WIDE and not x64_mode()


def x64_as(on: bool):
    """Return a context in which x64 mode is on or off, whatever it is outside."""
    return jax.enable_x64(on)


def x64_on():
    """Return a context in which nothing loses its 64 bits."""
    return x64_as(True)


def x64_for(*dtypes: np.dtype):
    """Return a context in which arrays of these dtypes keep their bits: x64 mode, if one is 64 bits wide.

    It may be opened in the middle of a compiled function, around operations that JAX lowers by their
    operands' dtypes alone (its `argmax`, which makes constants of its own, is none of these).
    """
    return _AS_IT_IS if WIDE.isdisjoint(dtypes) else x64_on()
