"""The dtypes that NumPy has for operands, and casts to them: of values of JAX."""

from typing import Any

import jax
import numpy as np

from .._core import _parts
from .._core._dtypes import NARROWED, WIDE, converted, is_numpys, promoted_dtype, x64_for, x64_mode
from .._core._programs import compiled
from .._interop import as_array
from ._batches import Pending, recorded
from ._selection import Part

__all__ = ["cast", "cast_line", "narrowed", "result_dtype", "together"]


def cast(value, dtype: np.dtype) -> jax.Array:
    """Cast as NumPy does, of complex numbers the real part."""
    if type(value) is Pending:
        return cast_line(value, dtype)
    value = as_array(value)
    if value.dtype == dtype and not value.weak_type:
        return value
    with x64_for(value.dtype, dtype):
        if value.dtype.kind == "c" and dtype.kind not in "cb":
            value = _parts.real(value)
        return _astype(value, dtype)


def cast_line(operand: Any, dtype: np.dtype) -> Any:
    """Return the same of an operand, by lines of a batch."""
    value = operand.taken() if type(operand) is Part else operand
    if value.dtype == dtype and not value.weak_type:
        return value
    with x64_for(value.dtype, dtype):
        if value.dtype.kind == "c" and dtype.kind not in "cb":
            value = real_line(value)
        return _astype_line(value, dtype)


_astype = compiled(converted, static_argnums=1)
_astype_line = recorded(_astype)
real_line = recorded(compiled(_parts.real))


def result_dtype(*values) -> np.dtype:
    """Return what arrays, dtypes and Python numbers promote to: NumPy's dtype with x64 on, else JAX's."""
    dtypes = [getattr(x, "dtype", x) for x in values]
    if isinstance(dtypes[0], np.dtype) and all(d == dtypes[0] for d in dtypes):
        return dtypes[0]
    if not x64_mode() or not all(is_numpys(d) for d in dtypes if isinstance(d, np.dtype)):
        return promoted_dtype(*values)
    return np.result_type(*dtypes)


def together(tree):
    """Return arrays in one dtype, that of `result_dtype`, if there are integers and others among them."""
    arrays = [x for x in jax.tree.leaves(tree) if hasattr(x, "weak_type") or type(x) is np.ndarray]
    if len(arrays) < 2 or len({x.dtype.kind in "iub" for x in arrays}) < 2:
        return tree
    dtype = result_dtype(*arrays)
    return jax.tree.map(lambda x: cast(x, dtype) if hasattr(x, "dtype") else x, tree)


def narrowed(dtype: np.dtype, *operands) -> np.dtype:
    """Return the dtype of a result by JAX's mode: 64 bits with x64 off only of what has 64 bits."""
    if x64_mode() or any(getattr(x, "dtype", None) in WIDE for x in operands):
        return dtype
    return NARROWED.get(dtype, dtype)
