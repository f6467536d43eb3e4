"""logspace: numbers evenly spaced on a log scale."""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from .._core._devices import check_device, put
from .._core._dtypes import resolve_dtype
from .._core._programs import any_traced, compiled, is_traced
from .._core._typing import Array, ArrayLike, Device, DTypeLike
from .._interop._host_memory import copy_by_program
from ._exact_powers import truncated_powers
from ._powers import complex_powers, real_powers, whole_powers
from ._spacing import (
    Grid,
    checked_axis,
    checked_num,
    complex_spaced,
    converted,
    evenly_spaced,
    in_own_width,
    working_dtype,
)

__all__ = ["logspace"]


def logspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    base: ArrayLike = 10.0,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    *,
    device: Device | None = None,
) -> Array:
    """``num`` numbers evenly spaced on a log scale: ``base`` to the `linspace` of ``start`` and ``stop``.

    Unlike `jax.numpy.logspace` and `numpy.logspace`, an integer dtype gets the exact powers, over its whole
    range, and a power that it cannot hold raises. Not in the Array API standard; the parameters are NumPy's
    [1]_.

    Parameters
    ----------
    start, stop : array_like
        The first and last exponents, real or complex.
    num : int
        How many values, at least 0.
    endpoint : bool
        Whether ``stop`` is the last exponent; without it they are ``(stop - start) / num`` apart.
    base : array_like
        Base of the powers, real or complex; broadcasts with ``start`` and ``stop``.
    dtype : dtype, optional
        By default NumPy's inexact promotion of ``start``, ``stop`` and ``base`` (Python numbers being weak),
        with JAX's default width where none of them is 64 bits wide.
    axis : int
        Where the values go among the axes of the broadcast arguments.
    device : Device or Sharding, optional
        Where the result is put; where the arguments lie if omitted.

    Returns
    -------
    Array, shape (..., num, ...)
        The powers. Floating powers overflow to infinity and are NaN where a negative base has a fractional
        exponent, with NumPy's ``RuntimeWarning`` when the arguments are concrete.

    Raises
    ------
    ValueError
        If ``num`` is negative, the shapes do not broadcast or the arguments lie on different devices; with
        concrete arguments and an integer dtype, if a power is infinite or NaN.
    OverflowError
        If a power is outside an integer ``dtype`` (NumPy wraps); concrete arguments only.
    TypeError
        If ``num`` is not an integer, or arguments are complex and ``dtype`` is not.
    numpy.exceptions.AxisError
        If ``axis`` does not exist.

    Notes
    -----
    *Concrete arguments, integer dtype.* Exponent ``i`` is the rational ``start + i*(stop - start)/div``
    of the very values given (``div`` is ``num - 1``, or ``num`` without ``endpoint``), and the result is the
    real power truncated toward zero: ``logspace(0, 2, 4, base=8, dtype=int)`` is ``[1, 4, 16, 64]``, where
    NumPy has 3 and 15. It is right because no rounding decides. A rational power of a rational number is an
    integer only if the base is a perfect power of an integer, which integer roots tell, and then integer
    arithmetic gives the result. Any other power lies strictly between two integers, and is computed with
    growing precision until its error bound lies between the same two.

    *Concrete arguments, other dtypes.* NumPy's values.

    *Under* `jax.jit`, *any of the three values traced*, *or spread over several devices* (``num``,
    ``endpoint``, ``dtype`` and ``axis`` are static). Floating results are within 2 ulp of the true power,
    real ones of float32 and narrower within 0.51 (complex ones: ``2 + abs(exponent * log(base))``, of a
    traced base twice that): exponents are computed to twice the precision of a float64, so cancellation
    between ``start`` and ``stop`` costs nothing. Integer dtypes: exact where the base and the exponent
    are integers, by repeated multiplication in the dtype; otherwise the float64 power is truncated, which
    may be one low. Nothing can raise, so powers outside an integer dtype saturate at its ends, and NaN
    gives 0. Differentiable in ``start``, ``stop`` and ``base``. Where JAX's settings truncate explicit
    64-bit dtypes, float32 stands in for float64.

    References
    ----------
    .. [1] numpy.logspace, NumPy 2 reference.

    Examples
    --------
    >>> import jaxapi as xp
    >>> xp.logspace(0, 4, num=3, base=3, dtype="int32").tolist()
    [1, 9, 81]
    >>> xp.logspace(33, 34, num=2, base=3, dtype="int64").tolist()
    [5559060566555523, 16677181699666569]
    """
    check_device(device)
    num = checked_num(num)
    (start, stop, base), inexact = converted(start, stop, base)
    axis = checked_axis(axis, start, stop, base)
    dtype = inexact if dtype is None else resolve_dtype(dtype)
    if inexact.kind == "c" and not jnp.issubdtype(dtype, jnp.complexfloating):
        raise TypeError(f"logspace: complex powers do not fit dtype {dtype}; take a complex dtype")
    grid = Grid(num, bool(endpoint), inexact, dtype, axis)
    if any_traced(start, stop, base) or any(map(_is_spread, (start, stop, base))):
        start, stop, base = (x if isinstance(x, jax.Array) else np.asarray(x) for x in (start, stop, base))
        logs = _log_in_two_words(base) if inexact.kind == "c" else None
        powers = in_own_width(_traced_powers, start, stop, base, logs, grid)
        return put(powers, device)
    if device is None:
        device = _common_device(start, stop, base)
    start, stop, base = (np.asarray(x) if isinstance(x, jax.Array) else x for x in (start, stop, base))
    if grid.is_integer:
        powers = _integer_powers(start, stop, base, grid)
    else:
        powers = _numpy_powers(start, stop, base, grid).astype(dtype)
    return put(copy_by_program(powers), device)


def _is_spread(x) -> bool:
    """Whether an array lies on several devices: no host need hold all of it, and it is computed in place."""
    return isinstance(x, jax.Array) and len(x.sharding.device_set) > 1


def _common_device(*arguments) -> jax.Device | None:
    """Return the one device that the committed jax arrays lie on; None without any."""
    placements = {frozenset(x.devices()) for x in arguments if isinstance(x, jax.Array) and x.committed}
    if len(placements) > 1:
        names = " and ".join(sorted(str(device) for device in frozenset.union(*placements)))
        raise ValueError(f"logspace: start, stop and base must lie on one device, got {names}; move them")
    devices: list[jax.Device] = list(*placements)
    return devices[0] if devices else None


def _numpy_powers(start, stop, base, grid: Grid) -> np.ndarray:
    """NumPy's logspace, in float32 for the dtypes that NumPy does not promote (bfloat16, float8_*)."""
    if any(isinstance(x, np.ndarray) and x.dtype.kind == "V" for x in (start, stop, base)):
        start, stop, base = (np.asarray(x, np.float32) for x in (start, stop, base))
    return np.logspace(start, stop, grid.num, grid.endpoint, base, axis=grid.axis)


def _integer_powers(start, stop, base, grid: Grid) -> np.ndarray:
    """Truncate the exact powers of concrete arguments."""
    start, stop, base = np.broadcast_arrays(*map(np.asarray, (start, stop, base)))
    powers = np.empty((grid.num, *start.shape), grid.dtype)
    for index in np.ndindex(start.shape):
        values = start[index].item(), stop[index].item(), base[index].item()
        if not all(map(math.isfinite, values)):
            raise ValueError(f"logspace: start, stop, base must be finite with {grid.dtype}, got {values}")
        powers[(slice(None), *index)] = truncated_powers(*values, grid)
    return np.moveaxis(powers, 0, grid.axis)


def _log_in_two_words(base) -> np.ndarray | None:
    """Logarithm of a concrete complex base and its rounding error; None for a traced base."""
    if is_traced(base):
        return None
    with np.errstate(all="ignore"):
        exact = np.log(np.asarray(base).astype(np.clongdouble))
        rounded = exact.astype(np.complex128)
        return np.stack([rounded, np.nan_to_num((exact - rounded).astype(np.complex128))])


@partial(compiled, static_argnums=4)
def _traced_powers(start, stop, base, logs, grid: Grid) -> Array:
    """Compute the powers on the device, from exponents of twice the precision."""
    shape = jnp.broadcast_shapes(start.shape, stop.shape, base.shape)
    is_complex = grid.inexact.kind == "c"
    work = np.promote_types(working_dtype(), np.complex64) if is_complex else working_dtype()
    first = jnp.broadcast_to(start.astype(work), shape)
    last = jnp.broadcast_to(stop.astype(work), shape)
    base = jnp.broadcast_to(base, shape)[None]
    if is_complex:
        if logs is None:
            log = jnp.log(base.astype(work))
            log_error = jnp.zeros(base.shape, work)
        else:
            log, log_error = (jnp.broadcast_to(x, shape)[None] for x in logs)
        exponents, errors = complex_spaced(first, last, grid.num, grid.endpoint)
        powers = complex_powers(base.astype(work), exponents, errors, log, log_error)
    else:
        exponents, errors = evenly_spaced(first, last, grid.num, grid.endpoint)
        powers = real_powers(base.astype(work), exponents, errors)
        if grid.is_integer:
            powers = whole_powers(base, exponents, powers, grid.dtype)
    return jnp.moveaxis(powers, 0, grid.axis).astype(grid.dtype)
