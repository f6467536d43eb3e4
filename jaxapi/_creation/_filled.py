"""Arrays of one value, of a shape or like another array, and the identity matrix: one compiled call each."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .._core._devices import as_sharding, check_device
from .._core._docs import sharing
from .._core._dtypes import converted, default_dtype, refuse_complex, resolve_dtype, x64_for
from .._core._errors import NEEDS_A_VALUE, whole_number
from .._core._programs import compiled, is_traced
from .._core._typing import Array, ArrayLike, Device, DTypeLike
from .._interop import as_array
from .._interop._numbers import leaf_types, numbers_to_numpy

__all__ = ["empty", "empty_like", "eye", "full", "full_like", "ones", "ones_like", "zeros", "zeros_like"]


_of_shape = sharing(
    """
    Unlike `jax.numpy.{name}`, it is one compiled call, and 64-bit dtypes stay with x64 mode off.

    Parameters
    ----------
    shape : int or tuple of int
        Under `jax.jit` it must be known at trace time.
    dtype : dtype, optional
        Default: JAX's default float.
    device : jax.Device or jax.sharding.Sharding, optional
        Default: JAX's default device.

    Returns
    -------
    Array
        Of shape ``shape``.

    Raises
    ------
    ValueError
        If a length is negative.
    TypeError
        If ``shape``, ``dtype`` or ``device`` is not one.

    Notes
    -----
    A new shape or dtype compiles once. Follows ``{name}`` of the Array API standard, 2025.12.
    """
)


@_of_shape
def zeros(
    shape: int | tuple[int, ...], *, dtype: DTypeLike | None = None, device: Device | None = None
) -> Array:
    """Return an array of zeros.

    Examples
    --------
    >>> import jaxapi as xp
    >>> xp.zeros((2, 2), dtype=xp.float64).dtype
    dtype('float64')
    """
    return _call(jnp.zeros, shape=_checked(shape, device), dtype=_float_unless(dtype), device=device)


@_of_shape
def ones(
    shape: int | tuple[int, ...], *, dtype: DTypeLike | None = None, device: Device | None = None
) -> Array:
    """Return an array of ones.

    Examples
    --------
    >>> import jaxapi as xp
    >>> xp.ones(3)
    Array([1., 1., 1.], dtype=float32)
    """
    return _call(jnp.ones, shape=_checked(shape, device), dtype=_float_unless(dtype), device=device)


@_of_shape
def empty(
    shape: int | tuple[int, ...], *, dtype: DTypeLike | None = None, device: Device | None = None
) -> Array:
    """Return an array of zeros: JAX had no uninitialised memory before 0.11.

    Examples
    --------
    >>> import jaxapi as xp
    >>> xp.empty((2, 3)).shape
    (2, 3)
    """
    return _call(jnp.zeros, shape=_checked(shape, device), dtype=_float_unless(dtype), device=device)


def full(
    shape: int | tuple[int, ...],
    fill_value: ArrayLike,
    *,
    dtype: DTypeLike | None = None,
    device: Device | None = None,
) -> Array:
    """Return an array filled with one value.

    Unlike `jax.numpy.full`, a new value does not compile, 64-bit dtypes and values stay with x64 mode
    off, and a Python int that does not fit raises.

    Parameters
    ----------
    shape : int or tuple of int
        Under `jax.jit` it must be known at trace time.
    fill_value : number or array_like
        May be traced. An array is broadcast to ``shape``.
    dtype : dtype, optional
        Default: that of ``fill_value``; for Python numbers JAX's default bool, int, float or complex.
    device : jax.Device or jax.sharding.Sharding, optional
        Default: JAX's default device, or that of an array ``fill_value``.

    Returns
    -------
    Array
        Of shape ``shape``. Gradients flow to ``fill_value``.

    Raises
    ------
    OverflowError
        If a Python int does not fit the dtype.
    ValueError
        If a length is negative, or an array does not broadcast to ``shape``.
    TypeError
        If ``shape``, ``dtype`` or ``device`` is not one, or a complex value is to fill a real dtype.

    Notes
    -----
    A new shape or dtype compiles once. Follows ``full`` of the Array API standard, 2025.12.

    Examples
    --------
    >>> import jaxapi as xp
    >>> xp.full(2, 2**40, dtype=xp.int64)
    Array([1099511627776, 1099511627776], dtype=int64)
    """
    return _filled(shape, fill_value, resolve_dtype(dtype), device)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: DTypeLike | None = None,
    device: Device | None = None,
) -> Array:
    """Return a matrix with ones on the ``k``-th diagonal and zeros elsewhere.

    Unlike `jax.numpy.eye`, it is one compiled call, a new ``k`` does not compile and may be any int,
    and 64-bit dtypes stay with x64 mode off.

    Parameters
    ----------
    n_rows : int
    n_cols : int, optional
        Default: ``n_rows``.
    k : int
        Positive above the main diagonal, negative below.
    dtype : dtype, optional
        Default: JAX's default float.
    device : jax.Device or jax.sharding.Sharding, optional
        Default: JAX's default device.

    Returns
    -------
    Array
        Of shape ``(n_rows, n_cols)``.

    Raises
    ------
    ValueError
        If a length is negative.
    TypeError
        If a length or ``k`` is not an int, or ``dtype`` or ``device`` is not one.

    Notes
    -----
    A new shape or dtype compiles once. Follows ``eye`` of the Array API standard, 2025.12.

    Examples
    --------
    >>> import jaxapi as xp
    >>> xp.eye(2, 3, k=1, dtype=xp.int8)
    Array([[0, 1, 0],
           [0, 0, 1]], dtype=int8)
    """
    check_device(device)
    shape = _lengths((n_rows, n_rows if n_cols is None else n_cols))
    # Beyond the corners every diagonal is empty; clipped, k fits any integer dtype.
    diagonal = np.int32(max(-shape[0], min(whole_number(k, "k"), shape[1])))
    return _call(_eye, diagonal, shape=shape, dtype=_float_unless(dtype), device=device)


_like_another = sharing(
    """
    Unlike `jax.numpy.{name}`, it is one compiled call, and 64-bit dtypes stay with x64 mode off.

    Parameters
    ----------
    x : array_like
    dtype : dtype, optional
        Default: that of ``x``.
    device : jax.Device or jax.sharding.Sharding, optional
        Default: that of ``x``, sharding included.

    Returns
    -------
    Array
        Of the shape of ``x``.

    Raises
    ------
    TypeError
        If ``x`` is not array-like, or ``dtype`` or ``device`` is not one.

    Notes
    -----
    Works under `jax.jit` and `jax.vmap`. Follows ``{name}`` of the Array API standard, 2025.12.
    """
)


@_like_another
def zeros_like(x: ArrayLike, /, *, dtype: DTypeLike | None = None, device: Device | None = None) -> Array:
    """Return an array of zeros of the shape, dtype and device of ``x``.

    Examples
    --------
    >>> import jaxapi as xp
    >>> xp.zeros_like(xp.asarray([1, 2]))
    Array([0, 0], dtype=int32)
    """
    return _filled_like(x, 0, dtype, device)


@_like_another
def ones_like(x: ArrayLike, /, *, dtype: DTypeLike | None = None, device: Device | None = None) -> Array:
    """Return an array of ones of the shape, dtype and device of ``x``.

    Examples
    --------
    >>> import jaxapi as xp
    >>> xp.ones_like(xp.asarray([1, 2]))
    Array([1, 1], dtype=int32)
    """
    return _filled_like(x, 1, dtype, device)


@_like_another
def empty_like(x: ArrayLike, /, *, dtype: DTypeLike | None = None, device: Device | None = None) -> Array:
    """Return an array of zeros of the shape, dtype and device of ``x``, as `empty`.

    Examples
    --------
    >>> import jaxapi as xp
    >>> xp.empty_like(xp.asarray([1, 2])).shape
    (2,)
    """
    return _filled_like(x, 0, dtype, device)


def full_like(
    x: ArrayLike, /, fill_value: ArrayLike, *, dtype: DTypeLike | None = None, device: Device | None = None
) -> Array:
    """Return an array of the shape, dtype and device of ``x`` filled with one value.

    Unlike `jax.numpy.full_like`, a new value does not compile, 64-bit dtypes and values stay with x64
    mode off, and a Python int that does not fit raises.

    Parameters
    ----------
    x : array_like
    fill_value : number or array_like
        May be traced. An array is broadcast to the shape of ``x``.
    dtype : dtype, optional
        Default: that of ``x``.
    device : jax.Device or jax.sharding.Sharding, optional
        Default: that of ``x``, sharding included.

    Returns
    -------
    Array
        Of the shape of ``x``. Gradients flow to ``fill_value``.

    Raises
    ------
    OverflowError
        If a Python int does not fit the dtype.
    TypeError
        If ``x`` is not array-like, ``dtype`` or ``device`` is not one, or a complex value is to fill a real
        dtype.

    Notes
    -----
    Works under `jax.jit` and `jax.vmap`. Follows ``full_like`` of the Array API standard, 2025.12.

    Examples
    --------
    >>> import jaxapi as xp
    >>> xp.full_like(xp.asarray([1, 2]), 7)
    Array([7, 7], dtype=int32)
    """
    return _filled_like(x, fill_value, dtype, device)


def _filled_like(x, fill_value, dtype: DTypeLike | None, device) -> Array:
    x = as_array(x)
    if device is None and not is_traced(x) and x.committed:
        device = x.sharding
    return _filled(x.shape, fill_value, x.dtype if dtype is None else resolve_dtype(dtype), device)


def _float_unless(dtype: DTypeLike | None) -> np.dtype:
    return default_dtype(float) if dtype is None else resolve_dtype(dtype)


def _filled(shape, fill_value, dtype: np.dtype | None, device) -> Array:
    """Return an array of one value, its dtype by default."""
    shape = _checked(shape, device)
    value = _value(fill_value, dtype)
    dtype = value.dtype if dtype is None else dtype
    return _call(_fill, value, shape=shape, dtype=dtype, device=device)


def _checked(shape, device) -> tuple[int, ...]:
    check_device(device)
    return _lengths(shape)


def _lengths(shape) -> tuple[int, ...]:
    """Return ``shape`` as a tuple of ints; an int is a shape of one axis."""
    is_sequence = hasattr(shape, "__getitem__") and getattr(shape, "ndim", None) != 0
    try:
        lengths = tuple(whole_number(n, "shape") for n in (shape if is_sequence else [shape]))
    except NEEDS_A_VALUE:
        raise
    except TypeError as error:
        raise TypeError(f"shape must be an int or a tuple of ints, got {shape!r}: {error}") from None
    if any(n < 0 for n in lengths):
        raise ValueError(f"lengths must not be negative, got shape {lengths}")
    return lengths


def _value(fill_value, dtype: np.dtype | None):
    """Return the fill value as an array: a Python number as NumPy's, which says when it does not fit."""
    if isinstance(fill_value, (int, float, complex)) and not isinstance(fill_value, np.generic):
        return numbers_to_numpy(fill_value, leaf_types([fill_value]), dtype)
    value = as_array(fill_value)
    if dtype is not None:
        refuse_complex(value.dtype, dtype)
    return value


def _call(function, *values, shape, dtype: np.dtype, device) -> Array:
    """Run one compiled call with the result on ``device``, 64-bit dtypes as they are."""
    program = _program(function, None if device is None else as_sharding(device))
    with x64_for(dtype, *[value.dtype for value in values]):
        return program(*values, shape=shape, dtype=dtype)


@functools.lru_cache(maxsize=256)
def _program(function, sharding: jax.sharding.Sharding | None):
    return compiled(function, static_argnames=("shape", "dtype"), out_shardings=sharding)


def _fill(value, *, shape, dtype):
    return jnp.broadcast_to(lax.convert_element_type(value, dtype), shape)


def _eye(diagonal, *, shape, dtype):
    rows = lax.broadcasted_iota(np.int32, shape, 0)
    columns = lax.broadcasted_iota(np.int32, shape, 1)
    return converted(columns - rows == diagonal, dtype)
