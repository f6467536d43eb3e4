"""Evenly spaced numbers: arange and linspace."""

import math
from functools import partial
from typing import Literal, overload

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .._core import _parts
from .._core._devices import check_device, put
from .._core._dtypes import default_dtype, resolve_dtype
from .._core._errors import NEEDS_A_VALUE, with_remedy
from .._core._exact import exact
from .._core._programs import compiled, is_traced
from .._core._quotients import quotient
from .._core._typing import Array, ArrayLike, Device, DTypeLike
from .._interop import as_array
from .._interop._host_memory import copy_by_program
from ._spacing import (
    Grid,
    checked_axis,
    checked_num,
    complex_spaced,
    converted,
    evenly_spaced,
    exact_product,
    in_own_width,
    integer_limits,
    numpy_dtype,
    saturated,
    spaced_dtype,
    working_dtype,
)

__all__ = ["arange", "counted", "linspace", "spaced_as_numpys"]


def arange(
    start: float,
    stop: float | None = None,
    step: float | None = None,
    dtype: DTypeLike | None = None,
    *,
    device: Device | None = None,
) -> Array:
    """Evenly spaced values in ``[start, stop)``, ``step`` apart.

    Unlike `jax.numpy.arange`, the values are NumPy's to the last bit, in one dispatch, a new ``start`` or
    ``step`` does not compile again, and values beyond an integer dtype raise ([1]_, section "arange").

    Parameters
    ----------
    start : number
        First value; where ``stop`` is None, this is ``stop`` and the first value is 0.
    stop : number, optional
        The values end before it.
    step : number, optional
        Spacing, 1 by default; may be negative, not 0.
    dtype : dtype, optional
        By default JAX's default integer dtype for integers, its default floating dtype otherwise.
    device : Device or Sharding, optional
        Where the result is put.

    Returns
    -------
    Array, shape (n,)
        ``n = ceil((stop - start) / step)`` values, none where that is negative. As in NumPy, floating values
        are ``start + i * ((start + step) - start)``, in the dtype (float16 and bfloat16: in float32).

    Raises
    ------
    OverflowError
        If a value is outside an integer ``dtype`` (NumPy checks the first two values only).
    ValueError
        If an argument is NaN or complex, or the length is infinite.
    TypeError
        If an argument is no number, or ``dtype`` is bool or none that JAX has.
    ZeroDivisionError
        If ``step`` is 0.

    Notes
    -----
    Under `jax.jit` the arguments must be concrete, since they shape the result. Constant under `jax.grad`.

    References
    ----------
    .. [1] Array API standard 2025.12, "Creation functions".

    Examples
    --------
    >>> import jaxapi as xp
    >>> xp.arange(10, 0, -3).tolist()
    [10, 7, 4, 1]
    """
    check_device(device)
    start, stop, step = (_host_scalar(x) for x in (start, stop, step))
    given = [start, *(x for x in (stop, step) if x is not None)]
    dtype = resolve_dtype(dtype)
    if dtype == jnp.bool:
        raise TypeError("arange: values of dtype bool have no spacing; take astype(arange(...), bool)")
    for x in given:
        if x is None or isinstance(x, (str, bytes, list, tuple)):
            raise TypeError(f"arange: start, stop and step must be numbers, got {x!r}")
    if not all(isinstance(x, (int, float, np.number)) for x in given):
        try:
            return jnp.arange(start, stop, step, dtype, device=device)  # its errors; symbolic dimensions
        except NEEDS_A_VALUE as error:
            raise with_remedy(error, "arange") from None
    if dtype is None:
        dtype = spaced_dtype(*given)
        dtype = default_dtype(int) if dtype == jnp.bool else dtype
    if stop is None:
        stop = start
        start = 0
    first, stop, step = (x.item() if isinstance(x, np.number) else x for x in (start, stop, step))
    step = 1 if step is None else step
    length = _length(first, stop, step)
    first_two = _first_two(first, step, length, dtype)
    is_counted = first == 0 and not np.signbit(first) and step == 1
    if is_counted:  # no values to send to the device
        values = in_own_width(counted, length, dtype)
    else:
        values = in_own_width(_arange, first_two, length, dtype)
    return put(values, device)


@overload
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    retstep: Literal[False] = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    *,
    device: Device | None = None,
) -> Array: ...
@overload
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    *,
    retstep: Literal[True],
    dtype: DTypeLike | None = None,
    axis: int = 0,
    device: Device | None = None,
) -> tuple[Array, Array]: ...


def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    *,
    device: Device | None = None,
) -> Array | tuple[Array, Array]:
    """``num`` evenly spaced values from ``start`` to ``stop``.

    Unlike `jax.numpy.linspace`, the first and last values are ``start`` and ``stop`` themselves (sign of zero
    included), the others are NumPy's to the last bit for numbers and NumPy arrays and correct to 1 ulp for
    JAX arrays, in one dispatch, and a new ``start`` does not compile again ([1]_, section "linspace").

    Parameters
    ----------
    start, stop : array_like
        Ends of the interval; they broadcast. Lists have JAX's default dtypes, as in `asarray`. NaN or
        infinity spreads as in IEEE arithmetic.
    num : int
        How many values, at least 0.
    endpoint : bool
        Whether ``stop`` is the last value; without it the spacing is ``(stop - start) / num``.
    retstep : bool
        Whether to return ``(values, spacing)``; the spacing is NaN where there is none.
    dtype : dtype, optional
        By default NumPy's inexact promotion of ``start`` and ``stop``, with JAX's default width where neither
        is 64 bits wide. With an integer dtype values are rounded down, as in NumPy.
    axis : int
        Where the values go among the axes of the broadcast ``start`` and ``stop``.
    device : Device or Sharding, optional
        Where the result is put.

    Returns
    -------
    Array, shape (..., num, ...)
        The values; with ``retstep`` a pair of them and the spacing.

    Raises
    ------
    ValueError
        If ``num`` is negative, the shapes do not broadcast, or a host argument is NaN or infinite with an
        integer ``dtype``.
    TypeError
        If ``num`` is not an integer.
    OverflowError
        If a host argument is outside an integer ``dtype``.
    numpy.exceptions.AxisError
        If ``axis`` does not exist.

    Notes
    -----
    JAX arrays are never read back, so their values cannot raise: with an integer dtype the result saturates
    at the dtype's ends, and NaN gives 0. Under `jax.jit`, all but ``start`` and ``stop`` are static.
    Differentiable in ``start`` and ``stop``.

    References
    ----------
    .. [1] Array API standard 2025.12, "Creation functions".

    Examples
    --------
    >>> import jaxapi as xp
    >>> xp.linspace(0, 1, 5).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    check_device(device)
    num = checked_num(num)
    (start, stop), inexact = converted(start, stop)
    axis = checked_axis(axis, start, stop)
    dtype = inexact if dtype is None else resolve_dtype(dtype)
    if inexact.kind == "c" and not jnp.issubdtype(dtype, jnp.complexfloating):
        raise TypeError(f"linspace: complex ends do not fit dtype {dtype}; take a complex dtype")
    grid = Grid(num, bool(endpoint), inexact, dtype, axis)
    if isinstance(start, jax.Array) or isinstance(stop, jax.Array):
        start, stop = (x if isinstance(x, jax.Array) else np.asarray(x) for x in (start, stop))
        values = in_own_width(_linspace_arrays, start, stop, grid)
        step = in_own_width(_step, start, stop, grid) if retstep else None
    else:
        rows, ends = _host_rows(start, stop, grid)
        values = _linspace_of_host(start, stop, rows, ends, grid)
        step = as_array(rows[2].astype(inexact)) if retstep else None
    values = put(values, device)
    return (values, step) if retstep else values  # type: ignore[return-value]


def _host_scalar(x):
    """Read a concrete 0-d array back; anything else as it is."""
    if isinstance(x, (jax.Array, np.ndarray)) and not is_traced(x) and x.ndim == 0:
        return np.asarray(x)[()]
    return x


def _length(first, stop, step) -> int:
    if step == 0:
        raise ZeroDivisionError("arange: step must not be 0")
    if all(isinstance(x, int) for x in (first, stop, step)):
        return max(0, -((first - stop) // step))
    length = (stop - first) / step
    if not math.isfinite(length):
        raise ValueError(f"arange: cannot compute length: start {first}, stop {stop}, step {step}")
    return max(0, math.ceil(length))


def _first_two(first, step, length: int, dtype: np.dtype) -> np.ndarray:
    """First and second value, in the dtype to compute in."""
    second = first + step if length > 1 else first
    if not jnp.issubdtype(dtype, jnp.integer):
        return np.array([first, second], dtype).astype(jnp.promote_types(dtype, np.float32))
    first = int(first)
    second = int(second)
    last = first + (length - 1) * (second - first)
    low, high = integer_limits(dtype)
    for value in (first, last):
        if length and not low <= value <= high:
            raise OverflowError(f"arange: {value} is outside {dtype}; take a wider dtype, as dtype='int64'")
    return np.array([first, second] if length else [0, 0], dtype)


@partial(compiled, static_argnums=(0, 1))
def counted(length: int, dtype: np.dtype) -> Array:
    """Return the integers from 0 on."""
    return jnp.arange(length, dtype=dtype)


@partial(compiled, static_argnums=(1, 2))
def _arange(first_two: Array, length: int, dtype: np.dtype) -> Array:
    first, second = first_two
    i = lax.iota(first_two.dtype, length)
    if jnp.issubdtype(dtype, jnp.integer):
        return first + i * (second - first)
    if jnp.iscomplexobj(first_two):
        return _arange(first_two.real, length, first.real.dtype).astype(dtype)
    values = _rounded_product(i, second - first, length) + first
    return jnp.where(i == 0, first, jnp.where(i == 1, second, values)).astype(dtype)


def _rounded_product(i: Array, step: Array, most: int) -> Array:
    """``i * step`` rounded as NumPy rounds it, whatever the compiler would fuse a product with."""
    wide = working_dtype()
    high, low = exact_product(i.astype(wide), step.astype(wide), most)
    return (high + low).astype(step.dtype)


def _linspace_of_host(start, stop, rows, ends, grid: Grid) -> Array:
    """Return the values between numbers or NumPy arrays."""
    has_step_0 = not rows[2].all()
    if rows.ndim > 1 and has_step_0:  # there NumPy computes i/div*delta, for every value
        host = np.linspace(start, stop, grid.num, grid.endpoint, dtype=grid.dtype, axis=grid.axis)
        return copy_by_program(host)
    return in_own_width(_linspace_rows, rows, ends, grid)


def _host_rows(start, stop, grid: Grid) -> tuple[np.ndarray, np.ndarray | None]:
    """Start, stop and step as NumPy computes them; the exact ends where the dtype is an integer's."""
    work = numpy_dtype(start, stop, 0.0)
    if work.itemsize < 4:
        work = np.dtype(np.float32)
    ends = None
    if grid.is_integer:
        ends = _stacked(_floors(start, grid.dtype), _floors(stop, grid.dtype))
    start = work.type(start)
    stop = work.type(stop)
    with np.errstate(all="ignore"):
        step = _step_between(start, stop, grid)
    return _stacked(start, stop, step), ends


def _step_between(start, stop, grid: Grid):
    """Return the spacing; NaN where there is none."""
    if grid.intervals > 0:
        return (stop - start) / grid.intervals
    return (stop - start) * np.nan


def _stacked(*rows) -> np.ndarray:
    if all(row.shape == () for row in rows):
        return np.array(rows)
    return np.array(np.broadcast_arrays(*rows))


def _floors(x: ArrayLike, dtype: np.dtype) -> np.ndarray:
    low, high = integer_limits(dtype)
    x = np.asarray(x)
    floors = np.empty(x.shape, object)
    for index in np.ndindex(x.shape):
        value = x[index].item()
        if not math.isfinite(value):
            raise ValueError(f"linspace: {value} is not representable in {dtype}; take a floating dtype")
        floors[index] = math.floor(value)
        if not low <= floors[index] <= high:
            raise OverflowError(f"linspace: {value} is outside {dtype}; take a wider dtype")
    return floors.astype(dtype)


@partial(compiled, static_argnums=2)
def _linspace_rows(rows, ends, grid: Grid) -> Array:
    if jnp.iscomplexobj(rows):
        of_parts = grid._replace(dtype=rows.real.dtype)
        real = _linspace_rows(_parts.real(rows), ends, of_parts)
        imag = _linspace_rows(_parts.imag(rows), ends, of_parts)
        return lax.complex(real, imag).astype(grid.dtype)
    start, stop, step = rows[:, None]
    i = lax.expand_dims(lax.iota(rows.dtype, grid.num), range(1, start.ndim))  # (num, 1, ...)
    values = _rounded_product(i, step, grid.num) + start
    if ends is not None:
        start, stop = ends[:, None]
        values = jnp.floor(values).astype(grid.dtype)
    values = jnp.where(i == 0, start, values)
    if grid.endpoint and grid.num > 1:
        values = jnp.where(i == grid.num - 1, stop, values)
    return jnp.moveaxis(values, 0, grid.axis).astype(grid.dtype)


def spaced_as_numpys(start: Array, stop: Array, num: int) -> Array:
    """Return numbers between two others of one floating dtype, in the steps by which NumPy computes them."""
    intervals = jnp.full((), num - 1, start.dtype)
    rows = jnp.stack([start, stop, quotient(stop - start, intervals)])
    return _linspace_rows(rows, None, Grid(num, True, start.dtype, start.dtype, 0))


@partial(compiled, static_argnums=2)
def _linspace_arrays(start, stop, grid: Grid) -> Array:
    work = working_dtype()
    if grid.inexact.kind == "c":
        work = np.promote_types(work, np.complex64)
    start, stop = jnp.broadcast_arrays(start.astype(work), stop.astype(work))
    if grid.inexact.kind == "c":
        values, _ = complex_spaced(start, stop, grid.num, grid.endpoint)
    else:
        values, _ = evenly_spaced(start, stop, grid.num, grid.endpoint)
    if grid.is_integer:
        values = saturated(jnp.floor(values), grid.dtype)
    return jnp.moveaxis(values, 0, grid.axis).astype(grid.dtype)


@partial(compiled, static_argnums=2)
def _step(start, stop, grid: Grid) -> Array:
    return exact(_step_between)(start, stop, grid).astype(grid.inexact)
