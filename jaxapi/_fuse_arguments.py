"""What a call hands to the compiled function: which arguments are traced, converted, or static."""

from collections.abc import Iterable

import jax
import numpy as np

from ._interop import as_array

__all__ = ["STATIC", "WIDE_DTYPES", "convert_argument", "convert_leaf", "has_wide_dtype"]

WIDE_DTYPES = frozenset(np.dtype(name) for name in ("float64", "int64", "uint64", "complex128"))
STATIC = (str, bytes, np.dtype)
NUMBERS = (bool, int, float, complex, np.generic)


def has_wide_dtype(leaf) -> bool:
    """Whether a converted leaf has a 64-bit dtype that JAX would cut to 32 bits with x64 off."""
    return getattr(leaf, "dtype", None) in WIDE_DTYPES


def convert_argument(value):
    """Turn a list or nested list of numbers into an array; leave everything else."""
    if isinstance(value, list) and _holds_only_numbers(value):
        return as_array(value)
    return value


def _holds_only_numbers(value: Iterable) -> bool:
    return all(_holds_only_numbers(x) if isinstance(x, list) else isinstance(x, NUMBERS) for x in value)


def convert_leaf(leaf):
    """Turn another library's array into a jax array; leave what `jax.jit` or a static slot takes.

    Python numbers stay Python numbers (they are weakly typed), NumPy arrays and scalars stay NumPy's
    (`jax.jit` reads them without a copy of its own), strings, dtypes and callables stay as they are.
    """
    if isinstance(leaf, jax.Array) or type(leaf) in (bool, int, float, complex):
        return leaf
    if isinstance(leaf, np.generic) or (type(leaf) is np.ndarray and leaf.dtype.isnative):
        return leaf
    if isinstance(leaf, (int, float, complex)):  # subclasses such as IntEnum
        return next(kind(leaf) for kind in (int, float, complex) if isinstance(leaf, kind))
    if isinstance(leaf, STATIC):
        return leaf
    if hasattr(leaf, "__dlpack__") or hasattr(leaf, "__array__") or hasattr(leaf, "__cuda_array_interface__"):
        return as_array(leaf)
    if callable(leaf):
        return leaf
    raise TypeError(
        "fuse takes arrays, numbers, None, lists of numbers, pytrees of these, and strings, dtypes and "
        f"callables as static arguments, got {type(leaf).__name__}: pass its arrays instead"
    )


def is_static(leaf) -> bool:
    """Whether a converted leaf steers the compilation instead of being an input of the program."""
    return isinstance(leaf, STATIC) or (callable(leaf) and not isinstance(leaf, jax.Array))
