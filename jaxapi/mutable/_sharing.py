"""The functions that may return their argument, or its memory; and those that make arrays with room."""

import contextlib
import functools
import math
import operator
from typing import Any

import jax
import numpy as np

import jaxapi

from .._core._dtypes import default_dtype, is_numpys, resolve_dtype
from .._interop._dlpack import is_on_host
from .._interop._numbers import PYTHON_NUMBERS, leaf_types, numbers_to_numpy
from . import _host_way as host_way
from ._array import MUTABLE, Array, copied, from_host, reshaped, shared, unwrap, view_of, wrap, wrap_rows
from ._capacity._calls import call_on_rows
from ._capacity._rows import (
    Rows,
    counted_rows,
    dtype_may_have_room,
    filled_rows,
    is_exact,
    rows_of_host,
)
from ._indexing import is_symbolic
from ._standard import cast_by_numpy
from ._wrap import elsewhere, on_host_or_device, without_examples

__all__ = ["arange", "array_of_dlpack", "as_array_of", "asarray", "astype", "empty", "from_dlpack", "reshape"]

# What arrays are made of, not around, unless without a copy.
_COPIED = (bool, int, float, complex, list, tuple, np.ndarray)


def _like(function):
    """Give a function the docstring and the signature of jaxapi's."""

    def give(ours):
        functools.update_wrapper(ours, function, assigned=())
        ours.__doc__ = without_examples(function)
        return ours

    return give


def _on_host_or_device(function):
    return on_host_or_device(function.__name__, function, makes_scalars=False)


@_like(jaxapi.asarray)
def asarray(obj, /, *, dtype=None, device=None, copy=None):
    return as_array_of(MUTABLE, obj, dtype, device, copy)


def as_array_of(module, obj, dtype=None, device=None, copy=None):
    """Return an array of a namespace: what is one as it is, another one's as a view."""
    if isinstance(obj, Array):
        obj = _no_scalar(obj) if obj._is_scalar else obj
        obj = obj if obj._module == module else _viewed(obj, module)
        if not copy and (dtype is None or _has(obj, dtype)) and device in (None, obj.device):
            return obj
        move_to = _elsewhere(obj, device)
        host = _host_to_compute_with(obj) if move_to is None and copy is not False else None
        cast_host = None if host is None else cast_by_numpy(host, dtype)
        if cast_host is not None:
            return from_host(cast_host, module)
        is_computed = copy or dtype is not None
        rows = obj._rows() if is_computed and move_to is None else None
        if rows is not None:
            cast = jaxapi.asarray(rows.value, dtype=dtype, copy=None if copy else copy)
            if cast is not rows.value:
                return wrap_rows(Rows(cast, rows.count), module)
            if copy:
                return copied(obj)
        value = jaxapi.asarray(obj._value, dtype=dtype, device=move_to, copy=None if copy else copy)
        return _again(obj, value, copy, is_for_device=move_to is not None)
    if isinstance(obj, (np.ndarray, list, tuple)) and copy is not False:
        rows = _rows_of_host(obj, dtype, elsewhere(device))
        if rows is not None:
            return wrap_rows(rows, module)
    is_around = copy is False and type(obj) is np.ndarray and device is None and host_way.is_default()
    if is_around and is_numpys(obj.dtype) and (dtype is None or _has(obj, dtype)):
        return from_host(obj.view(), module)
    value = jaxapi.asarray(obj, dtype=dtype, device=elsewhere(device), copy=copy)
    return (wrap if copy or (copy is None and isinstance(obj, _COPIED)) else shared)(value, module)


def _rows_of_host(obj, dtype, device) -> Rows | None:
    """Return a buffer with what is given in the host's memory; None where all rows of one would count."""
    is_number = isinstance(obj, np.ndarray) and not obj.ndim
    count = 0 if is_number else len(obj)
    if device is not None or is_exact(count) or not host_way.is_by_jax():
        return None
    if isinstance(obj, np.ndarray):
        cast = _cast_on_host(obj, dtype) if type(obj) is np.ndarray else None
        return None if cast is None else rows_of_host(cast)
    types = leaf_types(obj)
    if not types or not types <= PYTHON_NUMBERS or type(dtype) not in (type(None), np.dtype):
        return None
    try:
        return rows_of_host(numbers_to_numpy(obj, types, dtype))
    except (TypeError, ValueError, OverflowError):
        return None  # as jaxapi's function raises, too


def _cast_on_host(host: np.ndarray, dtype: Any) -> np.ndarray | None:
    """Return an array in a dtype; None for a cast whose result NumPy and JAX may not have in common."""
    if dtype is None:
        return host
    if not isinstance(dtype, (np.dtype, type)):
        return None
    dtype = resolve_dtype(dtype)
    if dtype == host.dtype:
        return host
    are_floats = host.dtype.kind == dtype.kind == "f" and dtype_may_have_room(dtype)
    if not are_floats:
        return None
    with np.errstate(all="ignore"):  # JAX says nothing of infinities, either
        return host.astype(dtype)


@_on_host_or_device
@_like(jaxapi.empty)
def empty(shape, *, dtype=None, device=None):
    rows = None
    if elsewhere(device) is None:
        rows = filled_rows(shape, default_dtype(float) if dtype is None else resolve_dtype(dtype))
    if rows is not None:
        return wrap_rows(rows)
    return wrap(jaxapi.empty(unwrap(shape), dtype=dtype, device=elsewhere(device)))


@_on_host_or_device
@_like(jaxapi.arange)
def arange(start, stop=None, step=None, dtype=None, *, device=None):
    rows = None
    if elsewhere(device) is None:
        rows = counted_rows(start, stop, step, resolve_dtype(dtype))
    if rows is not None:
        return wrap_rows(rows)
    given = unwrap((start, stop, step))
    return wrap(jaxapi.arange(*given, dtype=dtype, device=elsewhere(device)))


def _no_scalar(scalar):
    """Return a scalar as an array without axes, which can be written to."""
    if scalar._host is not None:
        return from_host(scalar._host.copy(), scalar._module)
    return shared(scalar._handed_out(), scalar._module)


def _viewed(array, module):
    host = array._in_host_memory() if host_way.is_eager() else None
    return view_of(array, None, module=module) if host is None else from_host(host, module, array._is_scalar)


@_like(jaxapi.astype)
def astype(x, dtype, /, *, copy=True, device=None):
    if not isinstance(x, Array):
        return shared(jaxapi.astype(x, dtype, copy=copy, device=device))
    move_to = _elsewhere(x, device)
    if _has(x, dtype) and move_to is None:
        return copied(x) if copy else x
    host = _host_to_compute_with(x) if move_to is None and dtype is not None else None
    cast_host = None if host is None else cast_by_numpy(host, dtype)
    if cast_host is not None:
        return from_host(cast_host, x._module, x._is_scalar)
    rows = x._rows() if move_to is None else None
    if rows is not None:
        cast = jaxapi.astype(rows.value, dtype, copy=False)
        if cast is not rows.value:
            return wrap_rows(Rows(cast, rows.count), x._module)
    value = jaxapi.astype(x._value, dtype, copy=False, device=move_to)
    return _again(x, value, copy, is_for_device=move_to is not None)


@_like(jaxapi.from_dlpack)
def from_dlpack(x, /, *, device=None, copy=None):
    return array_of_dlpack(MUTABLE, x, device, copy)


def array_of_dlpack(module, x, device=None, copy=None):
    """Return an array of a namespace of what another library has; without a copy around its memory."""
    if isinstance(x, Array):
        return as_array_of(module, x, device=device, copy=copy)
    if copy is False and device is None and host_way.is_default():
        host = _memory_of(x)
        if host is not None:
            return from_host(host, module)
    return shared(jaxapi.from_dlpack(x, device=device, copy=copy), module)


def _memory_of(x) -> np.ndarray | None:
    """Return the host's memory of another library's array; None where NumPy has no array around it."""
    if isinstance(x, jax.Array) or not hasattr(x, "__dlpack_device__") or not is_on_host(x):
        return None
    try:
        host = np.from_dlpack(x, copy=False)
    except (BufferError, RuntimeError, TypeError, ValueError):
        return None
    return host if is_numpys(host.dtype) else None


@_like(jaxapi.reshape)
def reshape(x, /, shape, *args, copy=None, **options):
    given = isinstance(x, Array) and not (copy or args or options or is_symbolic(x.shape))
    known = _known_shape(shape, x.size) if given else None
    if known is not None:
        view = reshaped(x, known)
        if view is not None:
            return view
        if copy is False:
            raise ValueError(f"shape {x.shape} of this view becomes {known} by a copy alone: leave out copy")
        made = call_on_rows(_reshaped_copy, x._module, (x, shape), {})
        if made is not None:
            return made
    module = x._module if isinstance(x, Array) else MUTABLE
    host = _host_to_compute_with(x) if isinstance(x, Array) and not (args or options) else None
    if host is not None:
        with contextlib.suppress(TypeError, ValueError):  # JAX's way raises its own
            return from_host(host.reshape(unwrap(shape)).copy(), module)
    return wrap(jaxapi.reshape(unwrap(x), shape, *args, **options), module)


def _host_to_compute_with(x: Array) -> np.ndarray | None:
    """Return an array's memory on the host; None where JAX computes."""
    return x._in_host_memory() if host_way.is_eager() else None


def _reshaped_copy(x, shape):
    return wrap(jaxapi.reshape(x._value, shape), x._module)


def _known_shape(shape, size: int) -> tuple[int, ...] | None:
    """Return the lengths of a shape in which ``size`` elements fit, at least one; None for another."""
    try:
        shape = (
            (operator.index(shape),)
            if not isinstance(shape, (tuple, list))
            else tuple(map(operator.index, shape))
        )
    except TypeError:
        return None
    given = math.prod([n for n in shape if n != -1])
    if shape.count(-1) == 1 and given:
        shape = tuple([size // given if n == -1 else n for n in shape])
    fits = math.prod(shape) == size and min(shape, default=1) > 0
    return shape if fits else None


def _has(array, dtype) -> bool:
    """Whether a dtype is the array's for sure: what `float` and the like mean depends on JAX's mode."""
    return dtype is not None and type(dtype) is not type and dtype == array.dtype  # None is NumPy's float64


def _elsewhere(array, device):
    """Return a device that is another one than the array's; what comes to it may share the memory."""
    if device is None or device == array.device:
        return None
    array._handed_out()
    return device


def _again(array, value, copy, is_for_device):
    """Return the array itself if nothing had to change, else another one.

    One for a device is always another: whether JAX moves a value that is there already, it alone knows.
    """
    is_the_same = array._host is None and value is array._value and not is_for_device
    if is_the_same:
        return copied(array) if copy else array
    return (shared if value.dtype == array.dtype else wrap)(value, array._module, array._is_scalar)
