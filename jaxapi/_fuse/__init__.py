"""`fuse`: cupy.fuse's forms and semantics on `jax.jit`."""

from ._fusion import fuse

__all__ = ["fuse"]
