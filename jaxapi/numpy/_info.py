"""Inspection (chapter "Inspection" of the array API standard): NumPy's default dtypes, on JAX's devices."""

from .._info import Info as _Info
from ..mutable._faces import in_numpys_dtypes

__all__ = ["__array_namespace_info__"]


class Info(_Info):
    """The standard's inspection methods, of a namespace that has 64-bit dtypes whatever JAX's x64 mode."""

    default_dtypes = in_numpys_dtypes(_Info.default_dtypes)
    dtypes = in_numpys_dtypes(_Info.dtypes)


def __array_namespace_info__() -> Info:
    """Say what the namespace has: devices, dtypes and capabilities, as `jaxapi.__array_namespace_info__`.

    The default dtypes are float64, complex128 and int64.
    """
    return Info()
