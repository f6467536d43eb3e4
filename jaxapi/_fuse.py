"""`fuse`: cupy.fuse's forms on `jax.jit`."""

import jax

__all__ = ["fuse"]


def fuse(func):
    """Compile ``func`` into few kernels with `jax.jit`."""
    return jax.jit(func)
