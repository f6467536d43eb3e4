"""Arithmetic, rounding, comparison, logical and bitwise functions."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_derivatives import SymbolicZero

from .._core._docs import of_standard
from .._core._dtypes import as_factors, promoted, x64_for
from .._core._errors import check_broadcast
from .._core._exact import exact, transposable
from .._core._programs import compiled
from .._core._typing import Array, ArrayLike
from .._interop import as_operand, as_operands, scalar_like
from .._interop._array_arguments import takes_array, takes_operands
from . import _complex
from ._comparison import by_value
from ._division import float_floor_divide, float_remainder
from ._power import integer_power, power

__all__ = ["abs", "add", "atan2", "bitwise_and", "bitwise_invert", "bitwise_left_shift", "bitwise_or"]
__all__ += ["bitwise_right_shift", "bitwise_xor", "ceil", "clip", "conj", "copysign", "divide", "equal"]
__all__ += ["floor", "floor_divide", "greater", "greater_equal", "hypot", "imag", "isfinite", "isinf"]
__all__ += ["isnan", "less", "less_equal", "logaddexp", "logical_and", "logical_not", "logical_or"]
__all__ += ["logical_xor", "maximum", "minimum", "multiply", "negative", "nextafter", "not_equal"]
__all__ += ["positive", "pow", "real", "reciprocal", "remainder", "round", "sign", "signbit", "square"]
__all__ += ["subtract", "trunc"]

abs = takes_array(transposable(jnp.abs))
add = takes_operands(jnp.add)
bitwise_and = takes_operands(jnp.bitwise_and)
bitwise_invert = takes_array(jnp.bitwise_invert)
bitwise_left_shift = takes_operands(jnp.bitwise_left_shift)
bitwise_or = takes_operands(jnp.bitwise_or)
bitwise_right_shift = takes_operands(jnp.bitwise_right_shift)
bitwise_xor = takes_operands(jnp.bitwise_xor)
ceil = takes_array(jnp.ceil)
conj = takes_array(jnp.conj)
copysign = takes_operands(jnp.copysign)
divide = takes_operands(
    exact(jnp.divide),
    difference="quotients of real numbers are rounded as IEEE 754 says, as NumPy's are: on\n"
    "every device, in every program, and by one number, too. Complex ones are JAX's",
)
equal = takes_operands(jnp.equal, by_value)
floor = takes_array(jnp.floor)
greater = takes_operands(jnp.greater, by_value)
greater_equal = takes_operands(jnp.greater_equal, by_value)
imag = takes_array(transposable(jnp.imag))
isfinite = takes_array(jnp.isfinite)
isinf = takes_array(jnp.isinf)
isnan = takes_array(jnp.isnan)
less = takes_operands(jnp.less, by_value)
less_equal = takes_operands(jnp.less_equal, by_value)
logaddexp = takes_operands(jnp.logaddexp)
logical_and = takes_operands(jnp.logical_and)
logical_not = takes_array(jnp.logical_not)
logical_or = takes_operands(jnp.logical_or)
logical_xor = takes_operands(jnp.logical_xor)
maximum = takes_operands(jnp.maximum)
minimum = takes_operands(jnp.minimum)


def _of_factors(function, x1, x2):
    return function(*promoted(*as_factors(x1, x2)))


multiply = takes_operands(
    jnp.multiply,
    _of_factors,
    difference="a number times False is as NumPy has it, in `jax.jit`, too: NaN for NaN and\n"
    "infinities, and -0 for -0 and negative numbers, where JAX's is 0",
)
negative = takes_array(jnp.negative)
nextafter = takes_operands(jnp.nextafter)
not_equal = takes_operands(jnp.not_equal, by_value)
positive = takes_array(jnp.positive)
real = takes_array(transposable(jnp.real))
reciprocal = takes_array(
    exact(jnp.reciprocal),
    difference="those of real numbers are rounded as IEEE 754 says, as NumPy's are: on\n"
    "every device and in every program. Complex ones are JAX's",
)
round = takes_array(jnp.round)
signbit = takes_array(jnp.signbit)
square = takes_array(jnp.square)
subtract = takes_operands(jnp.subtract)
trunc = takes_array(jnp.trunc)


@functools.wraps(jnp.hypot)
def _hypot(x1, x2):
    is_zero = (x1 == 0) & (x2 == 0)
    x1, x2 = jnp.where(is_zero, 1, x1), jnp.where(is_zero, 1, x2)
    return jnp.where(is_zero, 0, jnp.hypot(x1, x2))


hypot = takes_operands(_hypot, difference="slopes at 0 are 0, as those of `vector_norm`; JAX's are NaN")


@takes_operands
@functools.wraps(jnp.atan2)
def atan2(x1, x2):
    return _angle(x1, x2)


@jax.custom_jvp
def _angle(x1, x2):
    return jnp.atan2(x1, x2)


@functools.partial(_angle.defjvp, symbolic_zeros=True)
def _angle_jvp(primals, tangents):
    """Divide by the radius twice: its square, of which JAX's rule makes use, overflows or vanishes."""
    x1, x2 = primals
    dx1, dx2 = tangents
    angle = _angle(x1, x2)
    radius = jnp.hypot(x1, x2)
    change = jnp.zeros_like(angle)
    if not isinstance(dx1, SymbolicZero):
        change += x2 / radius * (dx1 / radius)
    if not isinstance(dx2, SymbolicZero):
        change -= x1 / radius * (dx2 / radius)
    return angle, change


@of_standard("element-wise functions", "; the derivative is 1 inside the limits, 0 outside")
def clip(x: ArrayLike, /, min: ArrayLike | None = None, max: ArrayLike | None = None) -> Array:
    """Limit each element to the range from ``min`` to ``max``.

    Unlike `jax.numpy.clip`, a Python number as a limit keeps all its precision with a 64-bit or uint32 array
    with x64 off too ([1]_); JAX rounds a float to 32 bits and raises for a large int.

    Parameters
    ----------
    x : array_like, real
    min, max : array_like, real, optional
        Broadcast against ``x``. Where ``min`` is larger, the result is ``max``.

    Returns
    -------
    Array
        Of the promoted dtype; NaN where an operand is.

    Raises
    ------
    OverflowError
        If a Python integer is out of the range of the dtype of ``x``.
    ValueError
        If the shapes do not broadcast.

    Examples
    --------
    >>> print(clip(jnp.asarray([-1, 5, 9]), 0, 6))
    [0 5 6]
    """
    x = as_operand(x)
    return _clip(x, _limit(min, x), _limit(max, x))


def _limit(value, x):
    return None if value is None else scalar_like(as_operand(value), x)


@functools.partial(compiled, inline=True)
def _clip(x, min, max):
    operands = [x, *(limit for limit in (min, max) if limit is not None)]  # `None` promotes nothing
    check_broadcast("clip", *map(jnp.shape, operands))
    limits: Any
    x, *limits = promoted(*operands)
    upper = None if max is None else limits.pop()
    lower = None if min is None else limits.pop()
    return jnp.clip(x, lower, upper)


@of_standard("element-wise functions, ``{name}``: special cases", "; the derivative is zero")
def floor_divide(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Round ``x1 / x2`` toward minus infinity.

    Unlike `jax.numpy.floor_divide`, infinite and zero operands follow the standard's special cases [1]_:
    ``-1 // inf`` is -0 (JAX and NumPy give -1), ``inf // 2`` is inf (NaN there), and
    ``-0. // 2`` keeps its sign.

    Parameters
    ----------
    x1, x2 : array_like, real, shapes that broadcast
        Python scalars take the other operand's dtype.

    Returns
    -------
    Array
        Of the promoted dtype and broadcast shape. Finite operands give NumPy's value on every device: the
        floor of the exact quotient, so ``1. // 0.1`` is 9. NaN where an operand is; integers divided by zero
        are 0, as in NumPy, where JAX gives -1 or -2.

    Raises
    ------
    TypeError
        If an operand is complex.
    ValueError
        If the shapes do not broadcast.

    Examples
    --------
    >>> print(floor_divide(-1.0, float("inf")), floor_divide(float("inf"), 2.0), floor_divide(7.0, -2.0))
    -0.0 inf -4.0
    """
    return _floor_divide(*as_operands(x1, x2))


@functools.partial(compiled, inline=True)
def _floor_divide(x1, x2):
    check_broadcast("floor_divide", jnp.shape(x1), jnp.shape(x2))
    x1, x2 = promoted(x1, x2)
    dtype = jnp.result_type(x1, x2)
    if not jnp.issubdtype(dtype, jnp.floating):
        return _of_integers(jnp.floor_divide, x1, x2)
    x1, x2 = jnp.broadcast_arrays(jnp.asarray(x1, dtype), jnp.asarray(x2, dtype))
    # NumPy's floor is right where both operands are finite and nonzero; elsewhere the ratio itself is a
    # zero, an infinity or NaN, with the sign the standard asks for.
    with x64_for(dtype):
        unchanged = jnp.isinf(x1) | jnp.isinf(x2) | (x1 == 0)
        floor = jnp.where(unchanged, x1 / x2, float_floor_divide(x1, x2))
    return jax.lax.stop_gradient(floor)


def _of_integers(function, x1, x2):
    """Return a quotient or a remainder of integers: 0 by zero, which XLA leaves to the device."""
    is_zero = jnp.equal(x2, 0)
    divided = function(x1, jnp.where(is_zero, jnp.ones_like(x2), x2))
    return jnp.where(is_zero, jnp.zeros_like(divided), divided)


@of_standard("element-wise functions, ``{name}``, which leaves that case open")
def pow(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Raise ``x1`` to the power ``x2``.

    Unlike `jax.numpy.pow`, an integer to a negative integer power raises where the power is a Python int, as
    in NumPy, and elsewhere gives the whole part of the result [1]_: JAX gives -1197088493 for ``3**-3``.
    Integers wrap at powers above 63, too, of which JAX reads six bits: it gives 1 for ``3**64``.

    Parameters
    ----------
    x1, x2 : array_like, numeric, shapes that broadcast
        Python scalars take the other operand's dtype, where their kind allows.

    Returns
    -------
    Array
        Of the promoted dtype and broadcast shape. Integers wrap; to negative powers 1 and -1 give 1 or -1,
        all others 0. NaN where an operand is, but for ``x1**0`` and ``1**x2``, which are 1; and where a
        negative real ``x1`` has a fractional ``x2``.

    Raises
    ------
    ValueError
        If integers have a negative Python int as power (make them floats first), or the shapes do not
        broadcast.
    OverflowError
        If a Python integer is out of the range of the other operand's integer dtype.

    Examples
    --------
    >>> print(pow([2, 3], 2), pow([2.0, 4.0], -1))
    [4 9] [0.5  0.25]
    """
    x1 = as_operand(x1)
    if type(x2) is int:
        if x2 < 0 and jnp.issubdtype(jnp.result_type(x1), jnp.integer):
            raise ValueError("integers to a negative integer power are no integers: make them floats first")
        if isinstance(x1, jax.Array) and has_few_factors(x1.dtype, x2):
            return multiplied(x1, x2)
    return raised(*as_operands(x1, x2))


_MOST_FACTORS = 4  # multiplied, they take a tenth of the time of a power


def has_few_factors(dtype: np.dtype, exponent: Any) -> bool:
    """Whether a power of an array is `multiplied`."""
    return type(exponent) is int and -_MOST_FACTORS <= exponent <= _MOST_FACTORS and dtype.kind != "b"


@functools.partial(compiled, static_argnums=1, inline=True)
def multiplied(x1, exponent):
    """Return the power to an int that is part of the program."""
    return jnp.pow(x1, exponent)


@functools.partial(compiled, inline=True)
def raised(x1, x2):
    """Return the power by a program for all exponents."""
    check_broadcast("pow", jnp.shape(x1), jnp.shape(x2))
    x1, x2 = promoted(x1, x2)
    dtype = jnp.result_type(x1, x2)
    if jnp.issubdtype(jnp.result_type(x2), jnp.inexact):
        return power(x1, x2)
    if not jnp.issubdtype(dtype, jnp.integer):
        return jnp.pow(x1, x2)
    with x64_for(dtype):
        x1 = jnp.asarray(x1, dtype)
        x2 = jnp.asarray(x2, dtype)
        if not jnp.issubdtype(dtype, jnp.signedinteger):
            return integer_power(x1, x2)
        inverse = jnp.where(jnp.abs(x1) == 1, jnp.where(x2 & 1 == 1, x1, 1), 0)
        return jnp.where(x2 < 0, inverse, integer_power(x1, jnp.maximum(x2, 0))).astype(dtype)


@of_standard(
    "element-wise functions, ``{name}``: special cases",
    ". The derivative is 1 in ``x1`` and ``-floor_divide(x1, x2)`` in ``x2``",
)
def remainder(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Remainder of ``floor_divide(x1, x2)``, with the sign of ``x2``.

    Unlike `jax.numpy.remainder`, a zero remainder has the sign of ``x2`` too [1]_, as in Python and NumPy.

    Parameters
    ----------
    x1, x2 : array_like, real, shapes that broadcast
        Python scalars take the other operand's dtype.

    Returns
    -------
    Array
        Of the promoted dtype and broadcast shape. NaN where an operand is, where ``x1`` is infinite and where
        a floating ``x2`` is 0; of integers divided by zero 0, as in NumPy.

    Raises
    ------
    TypeError
        If an operand is complex.
    ValueError
        If the shapes do not broadcast.

    Examples
    --------
    >>> print(remainder(-0.0, 3.0), remainder(6.0, -3.0), remainder(-7.0, 3.0))
    0.0 -0.0 2.0
    """
    return _remainder(*as_operands(x1, x2))


@functools.partial(compiled, inline=True)
def _remainder(x1, x2):
    check_broadcast("remainder", jnp.shape(x1), jnp.shape(x2))
    x1, x2 = promoted(x1, x2)
    dtype = jnp.result_type(x1, x2)
    if not jnp.issubdtype(dtype, jnp.floating):
        return _of_integers(jnp.remainder, x1, x2)
    return _float_remainder(*jnp.broadcast_arrays(jnp.asarray(x1, dtype), jnp.asarray(x2, dtype)))


@jax.custom_jvp
def _float_remainder(x1, x2):
    return float_remainder(x1, x2)


@_float_remainder.defjvp
def _float_remainder_jvp(primals, tangents):
    x1, x2 = primals
    dx1, dx2 = tangents
    return _float_remainder(x1, x2), dx1 - _floor_divide(x1, x2) * dx2


@of_standard(
    "element-wise functions, ``{name}``: special cases",
    "; the derivative is zero for real elements and for 0, and that of ``x / abs(x)`` for other complex ones",
)
def sign(x: ArrayLike, /) -> Array:
    """Sign of each element: -1, 0 or 1; for complex elements ``x / abs(x)``.

    Unlike `jax.numpy.sign`, every zero gives +0, and a complex element with a NaN part gives
    ``nan + nan j`` [1]_, one with an infinite part the sign of that part, as in NumPy.

    Parameters
    ----------
    x : array_like, numeric, any shape

    Returns
    -------
    Array
        Same shape and dtype; NaN where ``x`` is.

    Examples
    --------
    >>> print(sign(-0.0), sign(-7.0), sign(3 + 4j))
    0.0 -1.0 (0.6+0.8j)
    """
    return _complex.sign(as_operand(x))
