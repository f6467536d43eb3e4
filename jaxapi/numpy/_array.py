"""The class of arrays, and `fuse` for functions of them."""

from typing import TYPE_CHECKING

from .._fuse._fuse import fused
from ..mutable._array import Array, register
from ..mutable._fuse import Fusion as _Fusion

__all__ = ["Fusion", "fuse", "ndarray"]


class ndarray(Array):
    """NumPy's array: a `jaxapi.mutable.Array` whose operators have the dtypes of NumPy's.

    Arrays of integers and of floats promote as NumPy's if x64 is on: int32 with float32 is float64.
    """

    __slots__ = ()
    _name = "jaxapi.numpy.Array"
    _is_numpys = True


ndarray.__module__ = "jaxapi.numpy"
register(ndarray)


class Fusion(_Fusion):
    """A function compiled by `fuse`: `jaxapi.mutable.Fusion`, of arrays of this module."""

    _kind = ndarray


if TYPE_CHECKING:
    from ..mutable._fuse import fuse
else:

    def fuse(func=None, /, kernel_name=None, **options):
        """Compile a function into few kernels: `jaxapi.mutable.fuse` of this module's arrays."""
        return fused(Fusion, func, kernel_name, options)
