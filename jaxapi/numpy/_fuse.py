"""`fuse` for functions of this module's arrays."""

from typing import TYPE_CHECKING

from .._fuse._fuse import fused
from ..mutable._array import NUMPY
from ..mutable._fuse import Fusion as _Fusion

__all__ = ["Fusion", "fuse"]


class Fusion(_Fusion):
    """A function compiled by `fuse`: `jaxapi.mutable.Fusion`, of arrays of this module."""

    _module = NUMPY


if TYPE_CHECKING:
    from ..mutable._fuse import fuse
else:

    def fuse(func=None, /, kernel_name=None, **options):
        """Compile a function into few kernels: `jaxapi.mutable.fuse` of this module's arrays."""
        return fused(Fusion, func, kernel_name, options)
