"""What is traced in a call: arrays and numbers, as `jax.jit` takes them."""

import array
from typing import Any

import jax
import numpy as np

from .._core._dtypes import NARROWED, check_dtype
from .._core._programs import is_jax_array
from .._interop import as_array

__all__ = ["IS_WIDE", "NUMBERS", "NUMPY_TYPES", "PYTHON_NUMBERS", "as_input", "is_input", "signature_of"]

_NARROW_DTYPES = (
    *("bool", "int8", "int16", "int32", "uint8", "uint16", "uint32"),
    *("float16", "float32", "complex64"),
)
IS_WIDE = {np.dtype(name): False for name in _NARROW_DTYPES}
IS_WIDE |= {wide: True for wide in NARROWED if wide.isnative}
NUMPY_TYPES = frozenset(dtype.type for dtype in IS_WIDE) | {np.ndarray}

PYTHON_NUMBERS = frozenset([bool, int, float, complex])
NUMBERS = (bool, int, float, complex, np.generic)
_PROTOCOLS = ("__dlpack__", "__array__", "__cuda_array_interface__", "__array_interface__", "__jax_array__")


def is_input(value: Any) -> bool:
    """Whether a value is traced: a number, or an array or buffer of any library."""
    if isinstance(value, type):  # those of NumPy's scalars look like arrays
        return False
    if isinstance(value, (*NUMBERS, jax.ShapeDtypeStruct, memoryview, array.array)):
        return True
    return any(hasattr(value, name) for name in _PROTOCOLS)


def as_input(value: Any, copy: bool = False) -> Any:
    """Turn another library's array into a jax array.

    With ``copy`` it shares no memory with the library's, so that it may be donated. Python numbers stay
    Python numbers, as these are weakly typed. NumPy's arrays and scalars stay NumPy's: `jax.jit` reads them
    itself, and never donates their memory.
    """
    if type(value) in PYTHON_NUMBERS or is_jax_array(value):
        return value
    if type(value) is np.ulonglong:  # where this is another type than np.uint64, jax does not know it
        return np.uint64(value)
    if isinstance(value, np.generic) or (type(value) is np.ndarray and value.dtype.isnative):
        check_dtype(value.dtype)
        return value
    number: Any
    for number in (int, float, complex):
        if isinstance(value, number):  # a subclass of it
            return number(value)
    if isinstance(value, jax.ShapeDtypeStruct):
        return value
    return as_array(value, copy=True if copy else None)


def signature_of(value: Any) -> Any:
    """Return what `jax.jit` distinguishes in a traced input: equal signatures share a program."""
    if not hasattr(value, "dtype"):
        return type(value)
    return value.shape, value.dtype, getattr(value, "weak_type", False)
