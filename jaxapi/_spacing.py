"""Evenly spaced values of JAX arrays, and the argument rules that arange, linspace and logspace share.

A compiler is free to contract ``i*step + start`` to one fused multiply-add and to turn a division by a
constant into a product with its reciprocal, so the usual formula's rounding is not known (jitted, it puts
powers thousands of ulp off). Here every product is exact, fused or not, and the rounding errors of the sums
are carried along: double-word arithmetic, as in T. J. Dekker, "A floating-point technique for extending the
available precision", Numerische Mathematik 18 (1971).
"""

import operator
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ._interop import as_array
from ._typing import Array

__all__ = [
    "array_or_number",
    "checked_axis",
    "checked_num",
    "complex_spaced",
    "evenly_spaced",
    "in_own_width",
    "named_dtype",
    "numpy_dtype",
    "promoted_dtype",
    "saturated",
    "working_dtype",
]


@partial(jax.custom_jvp, nondiff_argnums=(2, 3))
def evenly_spaced(start: Array, stop: Array, num: int, endpoint: bool) -> tuple[Array, Array]:
    """Space ``num`` values along a new first axis: ``(value, error)``, the exact value being their sum.

    ``start`` and ``stop`` are float64 or float32 of one shape. The first value is ``start`` and, with
    ``endpoint``, the last is ``stop``. The pair is right to about twice the dtype's digits.
    """
    div = _intervals(num, endpoint)
    i = lax.expand_dims(lax.iota(start.dtype, num), range(1, start.ndim + 1))  # (num, 1, ...)
    delta, delta_error = _two_sum(stop, -start)
    step = delta / div
    # With its last digits cut off the step times any integer up to div is exact, and so is the rest.
    step_high = _without_last_bits(step, div.bit_length())
    step_low = step - step_high
    step_error = (((delta - step_high * div) - step_low * div) + delta_error) / div
    # Count from the nearer end: the other end is then exact too.
    from_stop = i > div - i
    i_near = jnp.where(from_stop, i - div, i)
    end = jnp.where(from_stop, stop, start)
    value, error1 = _two_sum(end, i_near * step_high)
    value, error2 = _two_sum(value, i_near * step_low)
    error = (error1 + error2) + i_near * step_error
    value, error = _two_sum(value, error)
    at_end = i_near == 0
    return jnp.where(at_end, end, value), jnp.where(at_end, 0, error)


@evenly_spaced.defjvp
def _evenly_spaced_jvp(num, endpoint, primals, tangents):
    start_dot, stop_dot = tangents
    values = evenly_spaced(*primals, num, endpoint)
    share = lax.iota(start_dot.dtype, num) / _intervals(num, endpoint)
    share = lax.expand_dims(share, range(1, start_dot.ndim + 1))
    return values, ((1 - share) * start_dot + share * stop_dot, jnp.zeros_like(values[1]))


def complex_spaced(start: Array, stop: Array, num: int, endpoint: bool) -> tuple[Array, Array]:
    """`evenly_spaced` for complex ends, which is twice the real one."""
    real, real_error = evenly_spaced(start.real, stop.real, num, endpoint)
    imag, imag_error = evenly_spaced(start.imag, stop.imag, num, endpoint)
    return lax.complex(real, imag), lax.complex(real_error, imag_error)


def _intervals(num: int, endpoint: bool) -> int:
    return max(num - 1 if endpoint else num, 1)


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """Sum and its rounding error, exactly (D. E. Knuth, TAOCP vol. 2, 4.2.2)."""
    total = a + b
    b_rounded = total - a
    return total, (a - (total - b_rounded)) + (b - b_rounded)


def _without_last_bits(x: Array, bits: int) -> Array:
    integer = jnp.uint64 if x.dtype == jnp.float64 else jnp.uint32
    kept = lax.bitcast_convert_type(x, integer) >> bits << bits
    return lax.bitcast_convert_type(kept, x.dtype)


def working_dtype() -> np.dtype:
    """float64, or float32 where the user's settings truncate explicit 64-bit dtypes."""
    wide = jax.config.jax_enable_x64 or jax.config.jax_explicit_x64_dtypes.name == "ALLOW"
    return jnp.dtype("float64") if wide else jnp.dtype("float32")


def saturated(x: Array, dtype: np.dtype) -> Array:
    """Convert floating whole numbers to an integer dtype; its ends for what is outside, 0 for NaN."""
    limits = jnp.iinfo(dtype)
    low, high = float(limits.min), float(limits.max)  # high may round up to limits.max + 1
    inside = jnp.where((x > low) & (x < high), x, 0).astype(dtype)
    low, high = jnp.asarray(limits.min, dtype), jnp.asarray(limits.max, dtype)
    return jnp.where(x >= float(limits.max), high, jnp.where(x <= float(limits.min), low, inside))


def in_own_width(function, *args, **kwargs):
    """Call with 64-bit mode on where nothing is traced; arguments keep their width in any case."""
    if any(isinstance(x, jax.core.Tracer) for x in args):
        args = [as_array(np.asarray(x)) if isinstance(x, np.ndarray | np.number) else x for x in args]
        return function(*args, **kwargs)
    if jax.config.jax_enable_x64:
        return function(*args, **kwargs)
    with jax.enable_x64(True):
        return function(*args, **kwargs)


def checked_num(num) -> int:
    """Give NumPy's errors for a bad number of samples."""
    num = operator.index(num)
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    return num


def checked_axis(axis, *args) -> int:
    """Where a new axis goes among those of the broadcast arguments."""
    ndim = len(np.broadcast_shapes(*(np.shape(x) for x in args))) + 1
    axis = operator.index(axis)
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(axis, ndim, "destination")
    return axis % ndim


def array_or_number(x):
    """Python numbers and JAX arrays as they are, anything else as a NumPy array."""
    if isinstance(x, jax.Array | int | float | complex) and not isinstance(x, np.generic):
        return x
    if any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(x)):
        return jnp.asarray(x)
    return np.asarray(x)


def named_dtype(dtype) -> np.dtype:
    """Resolve a dtype; Python's scalar types mean JAX's defaults."""
    return jnp.result_type(dtype) if dtype in (bool, int, float, complex) else jnp.dtype(dtype)


def promoted_dtype(*args) -> np.dtype:
    """NumPy's promotion, in JAX's default width where no argument is 64 bits wide of itself."""
    dtype = numpy_dtype(*args)
    if dtype in _WIDE and not any(getattr(x, "dtype", None) in _WIDE for x in args):
        return jax.dtypes.canonicalize_dtype(dtype)
    return dtype


def numpy_dtype(*args) -> np.dtype:
    """NumPy's promotion, Python numbers and weakly typed arrays being weak."""
    kinds = [_weak(x) for x in args]
    if any(isinstance(kind, np.dtype) and kind.kind == "V" for kind in kinds):
        return jnp.result_type(*kinds)  # bfloat16, float8_*: NumPy does not promote them
    return np.result_type(*kinds)


_WIDE = frozenset(map(np.dtype, ("int64", "uint64", "float64", "complex128")))


def _weak(x):
    """Dtype of an array, a number of its kind where the array is weakly typed, a number as it is."""
    if isinstance(x, jax.Array) and x.weak_type:
        return {"i": 0, "f": 0.0, "c": 0j}[x.dtype.kind]
    return getattr(x, "dtype", x)
