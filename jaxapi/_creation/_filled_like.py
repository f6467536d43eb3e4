"""Arrays of one value like another array: its shape, its dtype, its device."""

from .._core._docs import sharing
from .._core._dtypes import resolve_dtype
from .._core._programs import is_traced
from .._core._typing import Array, ArrayLike, Device, DTypeLike
from .._interop import as_array
from ._filled import filled

__all__ = ["empty_like", "full_like", "ones_like", "zeros_like"]


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
    """Return an array of zeros of the shape, dtype and device of ``x``: JAX has no uninitialised memory.

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
    return filled(x.shape, fill_value, x.dtype if dtype is None else resolve_dtype(dtype), device)
