"""Data types and the functions on them (chapters "Data types" and "Data type functions")."""

import builtins
import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax.numpy import (
    bool,
    complex64,
    complex128,
    float32,
    float64,
    iinfo,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)

from ._core._devices import check_device
from ._core._docs import of_standard
from ._core._dtypes import converted, promoted_dtype, refuse_complex, resolve_dtype
from ._core._programs import compiled
from ._core._typing import Array, ArrayLike, Device, DTypeLike
from ._interop import as_array

__all__ = ["astype", "bool", "can_cast", "complex64", "complex128", "finfo", "float32", "float64", "iinfo"]
__all__ += ["int8", "int16", "int32", "int64", "isdtype", "result_type", "uint8", "uint16", "uint32"]
__all__ += ["uint64"]


@of_standard("data type functions", "; differentiable between floating dtypes")
def astype(
    x: ArrayLike, dtype: DTypeLike, /, *, copy: builtins.bool = True, device: Device | None = None
) -> Array:
    """Convert to another dtype.

    Unlike `jax.numpy.astype`, a NumPy array of a 64-bit dtype keeps its bits with x64 mode off, a copy is
    made unless ``copy`` is False, and complex numbers do not become real ones ([1]_).

    Parameters
    ----------
    x : array_like
    dtype : dtype
        A 64-bit dtype is honoured with x64 off too; ``int``, ``float`` and ``complex`` are JAX's defaults.
        Floats are truncated toward zero to integers; NaN, and floats outside an integer's range, give values
        that depend on the backend.
    copy : bool
        If False, an array that has the dtype already is returned itself.
    device : Device or Sharding, optional
        Where the result lives; where ``x`` does if omitted.

    Returns
    -------
    Array
        In the shape of ``x``.

    Raises
    ------
    TypeError
        If ``x`` is complex and ``dtype`` real (take `real` or `imag`; bool is allowed), or ``dtype`` or
        ``device`` is not one.

    Examples
    --------
    >>> import numpy as np
    >>> print(float(astype(np.asarray([1 / 3]), float64)[0]))
    0.3333333333333333
    """
    check_device(device)
    if dtype is None:
        raise TypeError("astype needs a dtype, got None")
    dtype = resolve_dtype(dtype)
    array = x if isinstance(x, jax.Array) else as_array(x)
    refuse_complex(array.dtype, dtype)
    if copy or array.dtype != dtype:
        array = _astype(array, dtype)
    return array if device is None else jax.device_put(array, device)


@functools.partial(compiled, static_argnums=1, inline=True)
def _astype(x, dtype):
    x = converted(x, dtype) if x.dtype == np.bool else x
    return jnp.astype(x, dtype, copy=True)


def can_cast(from_: DTypeLike | Array, to: DTypeLike, /) -> builtins.bool:
    """Whether a dtype, or an array's, can be cast to another without losing values.

    Unlike `jax.numpy.can_cast`, an array stands for its dtype on every NumPy ([1]_); a newer one warns.

    Parameters
    ----------
    from_ : dtype or array
    to : dtype

    Returns
    -------
    bool

    Raises
    ------
    TypeError
        If an argument is not a dtype, as a Python number is not.

    References
    ----------
    .. [1] Array API standard 2025.12, data type functions, ``can_cast``.

    Examples
    --------
    >>> can_cast(int16, int32), can_cast(jnp.ones(3), int8)
    (True, False)
    """
    return jnp.can_cast(getattr(from_, "dtype", from_), to)


@dataclasses.dataclass(frozen=True)
class FloatInfo:
    """Limits of a floating dtype, all Python numbers."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: np.dtype


def finfo(type: DTypeLike | Array, /) -> FloatInfo:
    """Limits of a floating dtype, or of the parts of a complex one.

    Unlike `jax.numpy.finfo`, the limits are Python floats, as the standard asks ([1]_), not scalars of the
    dtype; NumPy's further attributes are not there.

    Parameters
    ----------
    type : dtype or array
        Of a floating or complex dtype.

    Returns
    -------
    FloatInfo
        With ``bits``, ``eps``, ``max``, ``min``, ``smallest_normal`` and the real ``dtype``.

    Raises
    ------
    ValueError
        If the dtype is neither floating nor complex.

    References
    ----------
    .. [1] Array API standard 2025.12, data type functions, ``finfo``.

    Examples
    --------
    >>> finfo(float32).eps
    1.1920928955078125e-07
    """
    dtype = "void" if type is None else getattr(type, "dtype", type)  # numpy.dtype(None) is float64
    try:
        limits = jnp.finfo(dtype)
    except (TypeError, ValueError):
        raise ValueError(f"finfo takes a floating or complex dtype or such an array, got {type!r}") from None
    return FloatInfo(
        bits=int(limits.bits),
        eps=float(limits.eps),
        max=float(limits.max),
        min=float(limits.min),
        smallest_normal=float(limits.smallest_normal),
        dtype=jnp.dtype(limits.dtype),
    )


def isdtype(dtype: DTypeLike | Array, kind: DTypeLike | str | tuple) -> builtins.bool:
    """Whether a dtype is of a kind.

    Unlike `jax.numpy.isdtype`, None is refused, as a dtype and as a kind ([1]_).

    Parameters
    ----------
    dtype : dtype
        Or an array, which stands for its own.
    kind : dtype, str, or tuple of these
        A dtype, or 'bool', 'signed integer', 'unsigned integer', 'integral', 'real floating', 'complex
        floating' or 'numeric'; one of several in a tuple.

    Returns
    -------
    bool

    Raises
    ------
    TypeError
        If ``dtype`` or ``kind`` is None or something else that is none.
    ValueError
        If ``kind`` is another string.

    References
    ----------
    .. [1] Array API standard 2025.12, data type functions, ``isdtype``.

    Examples
    --------
    >>> isdtype(float32, "real floating"), isdtype(float32, ("integral", float64))
    (True, False)
    """
    for name, given in (("dtype", dtype), ("kind", kind)):
        if given is None or (isinstance(given, tuple) and None in given):
            raise TypeError(f"isdtype: {name} must be a dtype or a kind of dtypes, got {given!r}")
    return jnp.isdtype(dtype, kind)  # type: ignore[arg-type]


def result_type(*arrays_and_dtypes: ArrayLike | DTypeLike) -> np.dtype:
    """Return the dtype that the arguments promote to.

    Unlike `jax.numpy.result_type`, 64-bit dtypes stay 64-bit with x64 off, and ``uint32`` with a signed
    integer gives ``int64``, as the standard's table has it ([1]_). JAX's operators themselves then still
    compute in 32 bits where neither operand has 64.

    Parameters
    ----------
    *arrays_and_dtypes : array_like or dtype
        Python scalars, and JAX's weakly typed arrays, take the dtype of the others where their kind
        allows; among themselves they give JAX's default dtypes.

    Returns
    -------
    numpy.dtype

    Raises
    ------
    ValueError
        If there is no argument.

    References
    ----------
    .. [1] Array API standard 2025.12, "Type promotion rules".

    Examples
    --------
    >>> result_type(float64, jnp.ones(2, "float32"), 1.0)
    dtype('float64')
    """
    return promoted_dtype(*map(_array_or_dtype, arrays_and_dtypes))


def _array_or_dtype(x):
    """Convert what is neither an array nor a number nor a dtype: lists, other libraries' arrays."""
    if isinstance(x, list | tuple):
        return as_array(x)
    is_foreign = hasattr(x, "__dlpack__") and not isinstance(x, Array)
    return as_array(x) if is_foreign else x
