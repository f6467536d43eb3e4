"""Python numbers and nested sequences of them to NumPy, with JAX's default dtypes."""

from collections.abc import Iterable

import jax.numpy as jnp
import numpy as np

from .._core._constants import constant, may_be_kept
from .._core._dtypes import WIDE, default_dtype, x64_mode, x64_on
from .._core._programs import in_a_trace

__all__ = ["KINDS", "PYTHON_NUMBERS", "leaf_types", "numbers_to_numpy", "refuse_masked", "scalar_like"]

PYTHON_NUMBERS = frozenset({bool, int, float, complex})
KINDS = {int: "iufc", float: "fc", complex: "c"}  # of the arrays that a number takes the dtype of


def leaf_types(sequence) -> set[type]:
    """Return the types of the leaves of nested lists and tuples."""
    types = set(map(type, sequence))
    if types <= PYTHON_NUMBERS:
        return types
    leaves = {_plain(cls) for cls in types if not issubclass(cls, (list, tuple))}
    if len(leaves) < len(types):
        for element in sequence:
            if isinstance(element, (list, tuple)):
                leaves |= leaf_types(element)
    return leaves


def numbers_to_numpy(numbers, types: set[type], dtype: np.dtype | None) -> np.ndarray:
    """Convert Python numbers of these types without rounding an int.

    Left alone, NumPy would take int64 for every int and float64 for ``[2**63, -1]``. Here the types
    choose between JAX's defaults, and an int that does not fit raises OverflowError.
    """
    remedy = "pass a dtype that holds it"
    if dtype is None:
        dtype = default_dtype(_widest(types))
        remedy = "pass a dtype that holds it, such as dtype='int64', or turn JAX's x64 mode on"
    if complex in types and dtype.kind not in "bc":
        raise TypeError(f"complex numbers do not become {dtype}: pass their real or imaginary parts")
    try:
        return np.asarray(numbers, dtype=dtype)
    except OverflowError as error:
        raise OverflowError(f"{error}; {remedy}") from None
    except ValueError as error:
        raise ValueError(f"these numbers make no array of dtype {dtype}: {error}") from None


def scalar_like(x, array):
    """Return a Python number as a program's operand that keeps its precision next to an array; else ``x``.

    Where x64 is off JAX would make an int32 or float32 of it first. An int that does not fit the array's
    dtype raises OverflowError.
    """
    dtype_kinds = KINDS.get(type(x), "")
    dtype = getattr(array, "dtype", None) if dtype_kinds else None
    if dtype is None or dtype.kind not in dtype_kinds:
        return x
    if dtype in WIDE and not x64_mode():
        if may_be_kept() and not in_a_trace():
            return constant(x, dtype)
        host = np.asarray(x, dtype)
        with x64_on():
            return jnp.asarray(host)
    if type(x) is int:
        return np.asarray(x, dtype) if dtype.kind in "iu" else float(x)
    return x


def refuse_masked(types: Iterable[type]) -> None:
    """Raise TypeError if a masked array is among what becomes an array."""
    if any(issubclass(cls, np.ma.MaskedArray) for cls in types):
        raise TypeError("a masked array's mask would be lost: pass x.filled(value), or x.data and x.mask")


def _plain(cls: type) -> type:
    """Return the Python number type that a class is derived from (IntEnum, say), else the class."""
    if not issubclass(cls, np.generic):  # numpy.float64 is a float
        for number in (int, float, complex):
            if issubclass(cls, number):
                return number
    return cls


def _widest(types: set[type]) -> type:
    for number in (complex, float, int, bool):
        if number in types:
            return number
    return float  # an empty sequence
