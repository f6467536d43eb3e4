"""What several functions of the namespace share: floats as NumPy has them, axes, and errors."""

from __future__ import annotations

import operator
from collections.abc import Callable

import jax.numpy as jnp
import numpy as np

from .._core._dtypes import converted
from .._core._exact import exact
from .._core._programs import compiled
from ..mutable._promotion import narrowed, result_dtype

__all__ = ["as_floats", "as_number", "axes_of", "exact_program", "float_dtype", "integer_for", "on_flat"]
__all__ += ["mode_of_positions", "refuse", "strong"]


def exact_program(function: Callable, *static: str) -> Callable:
    """Return a function of jax.numpy as one program, with quotients and roots rounded as NumPy rounds."""
    return compiled(exact(function), static_argnames=static)


def float_dtype(*arrays) -> np.dtype:
    """Return what NumPy's float64 is next to these arrays, by JAX's mode."""
    wide = np.dtype("complex128" if any(jnp.iscomplexobj(x) for x in arrays) else "float64")
    return narrowed(result_dtype(*arrays, wide), *arrays)


def as_floats(x):
    return converted(x, float_dtype(x)) if x.dtype.kind in "iub" else x


def strong(x):
    """Return an array in its own dtype, also one that was made of a Python number, whose dtype is weak."""
    return x.astype(x.dtype) if x.weak_type else x


def refuse(is_bad, error, text):
    if is_bad:
        raise error(text)


def mode_of_positions(mode) -> str:
    """Return what is done with positions out of bounds, by name: NumPy's C code takes 0, 1 and 2, too."""
    if mode is None:
        return "raise"
    if isinstance(mode, str):
        is_known = mode in ("clip", "wrap", "raise")
        refuse(not is_known, ValueError, f"clipmode must be 'raise', 'wrap' or 'clip', got {mode!r}")
        return mode
    refuse(isinstance(mode, bool), TypeError, "clipmode must be a name or a number, got a bool")
    names = {0: "clip", 1: "wrap", 2: "raise"}
    number = operator.index(mode)
    refuse(number not in names, ValueError, f"clipmode must be 0, 1 or 2, or a name, got {mode}")
    return names[number]


def as_number(length):
    """Return a length as arithmetic with arrays takes it: a number of the program if it is not known."""
    return length if isinstance(length, int) else jnp.asarray(length)


def on_flat(x, axis):
    return (x.reshape(-1), 0) if axis is None else (x, axis)


def axes_of(x, axis=None):
    return np.lib.array_utils.normalize_axis_tuple(range(x.ndim) if axis is None else axis, x.ndim)


def integer_for(a, number):
    """Return Python's float as the integer that an array of integers takes; what else is given as it is."""
    is_python_float = isinstance(number, float) and not isinstance(number, np.generic)
    if is_python_float and a.dtype.kind in "iu":
        return int(number)  # which raises where there is none
    return number
