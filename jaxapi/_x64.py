"""The 64-bit rule: an explicit request for a 64-bit dtype is honoured, whatever JAX's x64 mode.

JAX's setting for this is ``jax_explicit_x64_dtypes``; its default warns and truncates. Importing jaxapi
sets it to ``'allow'``, process-wide, unless the user chose otherwise or x64 mode is on already.
"""

import os

import jax

__all__ = ["honour_explicit_dtypes"]


def honour_explicit_dtypes() -> None:
    """Let explicit 64-bit dtypes through with x64 off; leave a choice of the user's alone."""
    if "JAX_EXPLICIT_X64_DTYPES" not in os.environ and not jax.config.jax_enable_x64:
        jax.config.update("jax_explicit_x64_dtypes", "allow")
