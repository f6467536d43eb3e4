"""`fuse` for functions of this module's arrays."""

from typing import TYPE_CHECKING

from .._core._dtypes import x64_on
from .._fuse._fuse import fused
from ..mutable._array import NUMPY
from ..mutable._fuse import Fusion as _Fusion

__all__ = ["Fusion", "fuse"]


class Fusion(_Fusion):
    """A function compiled by `fuse`: `jaxapi.mutable.Fusion`, of arrays of this module."""

    _module = NUMPY

    def __call__(self, /, *args, **kwargs):
        """Run the compiled function, and change the arguments that it changes."""
        with x64_on():
            return super().__call__(*args, **kwargs)

    def explain(self, /, *args, **kwargs):
        """Tell what XLA makes of the function for these arguments, as `jaxapi.fuse` does."""
        with x64_on():
            return super().explain(*args, **kwargs)

    def lower(self, /, *args, **kwargs):
        """Lower the function for these arguments, as ``jax.jit(f).lower`` does."""
        with x64_on():
            return super().lower(*args, **kwargs)


if TYPE_CHECKING:
    from ..mutable._fuse import fuse
else:

    def fuse(func=None, /, kernel_name=None, **options):
        """Compile a function into few kernels: `jaxapi.mutable.fuse` of this module's arrays."""
        return fused(Fusion, func, kernel_name, options)
