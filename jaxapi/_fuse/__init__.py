"""`fuse`: cupy.fuse's forms and semantics on `jax.jit`."""

from ._fuse import fuse

__all__ = ["fuse"]
