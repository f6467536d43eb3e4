"""Conversion of other libraries' arrays, lists and numbers."""

import jax

from .._core._devices import check_device
from .._core._dtypes import resolve_dtype
from .._core._typing import Array, Device, DTypeLike
from .._interop import import_array, import_dlpack, place

__all__ = ["asarray", "from_dlpack"]


def asarray(
    obj, /, *, dtype: DTypeLike | None = None, device: Device | None = None, copy: bool | None = None
) -> Array:
    """Convert anything array-like to an array.

    Unlike `jax.numpy.asarray`, 64-bit arrays keep their dtype with x64 mode off, ``copy=False`` never
    copies, Python numbers give arrays that are not weakly typed, a Python int that does not fit
    raises, and CuPy, PyTorch and DLPack objects are understood.

    Parameters
    ----------
    obj : array_like
        A `jax.Array`; a NumPy array of any layout and byte order; a CuPy array or PyTorch tensor; an
        object with ``__dlpack__``, ``__cuda_array_interface__``, ``__array__`` (pandas, xarray) or the
        buffer protocol; a Python number or nested sequence of them.
    dtype : dtype, optional
        Default: that of ``obj``; for Python numbers JAX's default bool, int, float or complex dtype.
        A float is cast to an integer toward zero, as `astype` does.
    device : jax.Device or jax.sharding.Sharding, optional
        Default: that of ``obj`` for arrays of an accelerator, else JAX's default device.
    copy : bool, optional
        True always copies; False never does, and raises where sharing is impossible. None (the
        default) copies host memory, so that no later write through ``obj`` changes the result, and
        shares the memory of a GPU: write to a CuPy or PyTorch array after this only if you pass
        ``copy=True``.

    Returns
    -------
    Array
        Of the shape of ``obj``. Missing values (NaN) stay as they are.

    Raises
    ------
    ValueError
        If ``copy=False`` and a copy is needed (another dtype or device, gaps, memory not aligned to
        64 bytes, Python numbers), if nested sequences are ragged, or if a tensor requires grad.
    TypeError
        If the dtype is not JAX's (dates, text, objects, bytes), or complex numbers are to become real.
    OverflowError
        If a Python int does not fit the dtype.

    Notes
    -----
    Traced arrays pass through, also under `jax.grad`; other objects become constants of the program.
    Follows ``asarray`` of the Array API standard, 2025.12.

    Examples
    --------
    >>> import numpy as np
    >>> import jaxapi as xp
    >>> xp.asarray(np.array([0.1, 0.2])).dtype  # whatever the x64 mode
    dtype('float64')
    >>> xp.asarray([[1, 2], [3, 4]], dtype=xp.int8)
    Array([[1, 2],
           [3, 4]], dtype=int8)
    """
    if isinstance(obj, jax.Array) and dtype is None and device is None and not copy:
        return obj
    check_device(device)
    if isinstance(copy, str):
        raise ValueError(f"copy must be True, False or None, got {copy!r}")
    dtype = resolve_dtype(dtype)
    try:
        if isinstance(obj, jax.Array):
            return place(obj, dtype, device, copy)
        return import_array(obj, dtype, device, copy)
    except BufferError as error:
        raise ValueError(str(error)) from None


def from_dlpack(x, /, *, device: Device | None = None, copy: bool | None = None) -> Array:
    """Return the data of an array with ``__dlpack__``, sharing its memory where possible.

    Unlike `jax.numpy.from_dlpack`, 64-bit dtypes stay with x64 mode off, ``copy=True`` really copies,
    and arrays with gaps, negative strides, read-only memory or ml_dtypes are taken too.

    .. warning:: A `jax.Array` does not change, but shared memory does: a later write through ``x`` is
       seen here, at a time that depends on when JAX reads. Write to ``x`` no more, or ``copy=True``.

    Parameters
    ----------
    x : object with ``__dlpack__`` and ``__dlpack_device__``
        NumPy, CuPy, PyTorch, ...; its pending work is waited for on the device, not on the host.
    device : jax.Device or jax.sharding.Sharding, optional
        Where the result is to be. Default: where ``x`` is.
    copy : bool, optional
        True always copies, False never does, None (the default) copies where sharing is impossible.

    Returns
    -------
    Array
        Of the shape and dtype of ``x``.

    Raises
    ------
    BufferError
        If ``copy=False`` and a copy is needed (another device, gaps, CPU memory not aligned to 64
        bytes), if JAX has no such dtype or device, or if a tensor requires grad.
    AttributeError
        If ``x`` has no ``__dlpack__``: `asarray` takes other array-likes.

    Notes
    -----
    Inside `jax.jit` the result is a constant of the program; it carries no gradient.
    Follows ``from_dlpack`` of the Array API standard, 2025.12.

    Examples
    --------
    >>> import numpy as np
    >>> import jaxapi as xp
    >>> x = xp.from_dlpack(np.arange(6, dtype=np.int64).reshape(2, 3)[:, ::-1])
    >>> x.dtype, x.shape
    (dtype('int64'), (2, 3))
    """
    check_device(device)
    if isinstance(x, jax.Array):
        return place(x, None, device, copy)
    if not hasattr(x, "__dlpack__") or not hasattr(x, "__dlpack_device__"):
        raise AttributeError(f"{type(x).__name__} has no __dlpack__: use asarray for other array-likes")
    return import_dlpack(x, device, copy)
