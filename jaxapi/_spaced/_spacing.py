"""Evenly spaced values of JAX arrays, and the argument rules that arange, linspace and logspace share.

A compiler is free to contract ``i*step + start`` to one fused multiply-add and to turn a division by a
constant into a product with its reciprocal, so the usual formula's rounding is not known (jitted, it puts
powers thousands of ulp off). Here every product is exact, fused or not, and the rounding errors of the sums
are carried along: double-word arithmetic, as in T. J. Dekker, "A floating-point technique for extending the
available precision", Numerische Mathematik 18 (1971).
"""

from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from numpy.lib.array_utils import normalize_axis_index

from .._core import _parts
from .._core._dtypes import NARROWED, WIDE, check_dtype, explicit_64_bits, x64_mode, x64_on
from .._core._errors import whole_number
from .._core._programs import any_traced
from .._core._typing import Array
from .._interop import as_array
from .._interop._numbers import PYTHON_NUMBERS, leaf_types, refuse_masked

__all__ = ["Grid", "checked_axis", "checked_num", "complex_spaced", "converted", "evenly_spaced"]
__all__ += ["exact_product", "in_own_width", "integer_limits", "numpy_dtype", "saturated"]
__all__ += ["spaced_dtype", "split", "two_sum", "working_dtype"]


class Grid(NamedTuple):
    """What shapes the values of `linspace` and `logspace`, but for the ends."""

    num: int
    endpoint: bool
    inexact: np.dtype  # to which the ends promote
    dtype: np.dtype  # of the result
    axis: int

    @property
    def intervals(self) -> int:
        """The number of steps from the start to the stop; 0 where there is none."""
        return self.num - 1 if self.endpoint else self.num

    @property
    def is_integer(self) -> bool:
        """Whether values are of an integer dtype."""
        return jnp.issubdtype(self.dtype, jnp.integer)


@partial(jax.custom_jvp, nondiff_argnums=(2, 3))
def evenly_spaced(start: Array, stop: Array, num: int, endpoint: bool) -> tuple[Array, Array]:
    """Space ``num`` values along a new first axis: ``(value, error)``, the exact value being their sum.

    ``start`` and ``stop`` are float64 or float32 of one shape. The first value is ``start`` and, with
    ``endpoint``, the last is ``stop``. The pair is right to about twice the dtype's precision.
    """
    intervals = _intervals(num, endpoint)
    i = lax.expand_dims(lax.iota(start.dtype, num), range(1, start.ndim + 1))  # (num, 1, ...)
    start = start[None]
    stop = stop[None]
    delta, delta_error = two_sum(stop, -start)
    step = delta / intervals
    high, low = exact_product(jnp.asarray(intervals, step.dtype), step, intervals)
    step_error = (((delta - high) - low) + delta_error) / intervals
    # Count from the nearer end: the other end is then exact too.
    is_nearer_to_stop = i > intervals - i
    i_near = jnp.where(is_nearer_to_stop, i - intervals, i)
    end = jnp.where(is_nearer_to_stop, stop, start)
    high, low = exact_product(i_near, step, intervals)
    value, error1 = two_sum(end, high)
    value, error2 = two_sum(value, low)
    error = (error1 + error2) + i_near * step_error
    value, error = two_sum(value, error)
    is_end = i_near == 0
    return jnp.where(is_end, end, value), jnp.where(is_end, 0, error)


@evenly_spaced.defjvp
def _evenly_spaced_jvp(num, endpoint, primals, tangents):
    start_dot, stop_dot = tangents
    values = evenly_spaced(*primals, num, endpoint)
    share = lax.iota(start_dot.dtype, num) / _intervals(num, endpoint)
    share = lax.expand_dims(share, range(1, start_dot.ndim + 1))
    slopes = (1 - share) * start_dot[None] + share * stop_dot[None]
    no_slopes_of_errors = jnp.zeros_like(values[1])
    return values, (slopes, no_slopes_of_errors)


def complex_spaced(start: Array, stop: Array, num: int, endpoint: bool) -> tuple[Array, Array]:
    """`evenly_spaced` for complex ends, which is twice the real one."""
    real, real_error = evenly_spaced(_parts.real(start), _parts.real(stop), num, endpoint)
    imag, imag_error = evenly_spaced(_parts.imag(start), _parts.imag(stop), num, endpoint)
    return lax.complex(real, imag), lax.complex(real_error, imag_error)


def _intervals(num: int, endpoint: bool) -> int:
    return max(num - 1 if endpoint else num, 1)


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """Sum and its rounding error, exactly (D. E. Knuth, TAOCP vol. 2, 4.2.2)."""
    total = a + b
    b_rounded = total - a
    a_rounded = total - b_rounded
    return total, (a - a_rounded) + (b - b_rounded)


def exact_product(i: Array, x: Array, most: int) -> tuple[Array, Array]:
    """``i * x`` as a sum of two products without rounding, for whole ``abs(i) <= most``.

    With its last bits cut off, ``x`` times a small whole number is exact, and so is the rest of it. (The
    rest is rounded, far below the last bit of the whole, where ``most`` has more than half the bits.)
    """
    high, low = split(x, most.bit_length())
    return i * high, i * low


def split(x: Array, bits: int) -> tuple[Array, Array]:
    """``x`` without its last ``bits`` bits, and those."""
    unsigned = jnp.uint64 if x.dtype == jnp.float64 else jnp.uint32
    bits_of_x = lax.bitcast_convert_type(x, unsigned)
    high = lax.bitcast_convert_type(bits_of_x >> bits << bits, x.dtype)
    return high, x - high


def working_dtype() -> np.dtype:
    """float64, or float32 where the user's settings truncate explicit 64-bit dtypes."""
    return jnp.dtype("float64") if explicit_64_bits() else jnp.dtype("float32")


def saturated(x: Array, dtype: np.dtype) -> Array:
    """Convert floating whole numbers to an integer dtype; its ends for what is outside, 0 for NaN."""
    low, high = integer_limits(dtype)  # as floats, high may be one too much
    inside = jnp.where((x > float(low)) & (x < float(high)), x, 0).astype(dtype)
    inside = jnp.where(x <= float(low), lax.full((), low, dtype), inside)
    return jnp.where(x >= float(high), lax.full((), high, dtype), inside)


def in_own_width(function, *args):
    """Call a compiled function so that 64-bit arguments and results keep their width."""
    if x64_mode():
        return function(*args)
    if any_traced(*args):  # JAX's settings rule inside a trace
        arrays = [as_array(x) if isinstance(x, np.ndarray) else x for x in args]
        return function(*arrays)
    with x64_on():
        return function(*args)


def checked_num(num) -> int:
    """Give NumPy's errors for a bad number of samples."""
    if not hasattr(num, "__index__"):
        raise TypeError(f"num, the number of samples, must be an integer, got {num!r}")
    num = whole_number(num, "num, the number of samples,")
    if num < 0:
        raise ValueError(f"num, the number of samples, must be non-negative, got {num}")
    return num


def checked_axis(axis, *args) -> int:
    """Where a new axis goes among those of the broadcast arguments."""
    shapes = {getattr(x, "shape", ()) for x in args}
    ndim = len(shapes.pop() if len(shapes) == 1 else np.broadcast_shapes(*shapes)) + 1
    return normalize_axis_index(axis, ndim, "destination")


def converted(*arguments) -> tuple[list, np.dtype]:
    """Return the arguments as arrays or numbers, and the inexact dtype that they promote to."""
    values = [_array_or_number(x) for x in arguments]
    return values, spaced_dtype(*map(_as_in_asarray, arguments, values), 0.0)


def _as_in_asarray(given, value):
    """Return what promotes as `asarray` has it: a list of Python numbers is of JAX's default dtype."""
    if x64_mode() or not isinstance(given, (list, tuple)) or not leaf_types(given) <= PYTHON_NUMBERS:
        return value
    return np.empty(0, NARROWED.get(value.dtype, value.dtype))


def _array_or_number(x) -> Any:
    """Python numbers as they are, host arrays and sequences as NumPy arrays, others as JAX arrays."""
    if type(x) in _WEAK:
        return x
    if isinstance(x, (list, tuple)):
        has_jax_arrays = any(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(x))
        if not has_jax_arrays:
            refuse_masked(leaf_types(x))
            x = np.asarray(x)
    if isinstance(x, (np.ndarray, np.generic)):
        refuse_masked([type(x)])
        check_dtype(x.dtype)
        return x
    return as_array(x)


@cache
def integer_limits(dtype: np.dtype) -> tuple[int, int]:
    """Smallest and largest value of an integer dtype."""
    limits = jnp.iinfo(dtype)
    return int(limits.min), int(limits.max)


def spaced_dtype(*args) -> np.dtype:
    """NumPy's promotion, in JAX's default width where no argument is 64 bits wide of itself."""
    types = tuple(map(_dtype_or_type, args))
    return _promoted(types, x64_mode() or not WIDE.isdisjoint(types))


def numpy_dtype(*args) -> np.dtype:
    """NumPy's promotion, Python numbers and weakly typed arrays being weak."""
    return _promoted(tuple(map(_dtype_or_type, args)), True)


_WEAK = {bool: False, int: 0, float: 0.0, complex: 0j}
_WEAK_KINDS = {"b": bool, "i": int, "f": float, "c": complex}


def _dtype_or_type(x) -> np.dtype | type:
    """Dtype of an array; the Python type of a number or of a weakly typed array."""
    if type(x) in _WEAK:
        return type(x)
    if isinstance(x, jax.Array) and x.weak_type:
        return _WEAK_KINDS[x.dtype.kind]
    return x.dtype


@cache
def _promoted(types: tuple, wide: bool) -> np.dtype:
    values = [_WEAK.get(part, part) for part in types]
    if any(isinstance(part, np.dtype) and part.kind == "V" for part in types):
        return jnp.result_type(*values)  # bfloat16, float8_*: NumPy does not promote them
    dtype = np.result_type(*values)
    return dtype if wide else NARROWED.get(dtype, dtype)
