"""Arithmetic, rounding, comparison, logical and bitwise functions."""

import functools

import jax
import jax.numpy as jnp
from jax.numpy import (
    abs,
    add,
    atan2,
    bitwise_and,
    bitwise_invert,
    bitwise_left_shift,
    bitwise_or,
    bitwise_right_shift,
    bitwise_xor,
    ceil,
    conj,
    copysign,
    divide,
    equal,
    floor,
    greater,
    greater_equal,
    hypot,
    imag,
    isfinite,
    isinf,
    isnan,
    less,
    less_equal,
    logaddexp,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    multiply,
    negative,
    nextafter,
    not_equal,
    positive,
    pow,
    real,
    reciprocal,
    round,
    signbit,
    square,
    subtract,
    trunc,
)

from .._interop import scalar_like
from .._typing import Array, ArrayLike

__all__ = [
    "abs",
    "add",
    "atan2",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "ceil",
    "clip",
    "conj",
    "copysign",
    "divide",
    "equal",
    "floor",
    "floor_divide",
    "greater",
    "greater_equal",
    "hypot",
    "imag",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "nextafter",
    "not_equal",
    "positive",
    "pow",
    "real",
    "reciprocal",
    "remainder",
    "round",
    "sign",
    "signbit",
    "square",
    "subtract",
    "trunc",
]


def clip(x: ArrayLike, /, min: ArrayLike | None = None, max: ArrayLike | None = None) -> Array:
    """Limit each element to the range from ``min`` to ``max``.

    Unlike `jax.numpy.clip`, a Python number as a limit keeps all its digits beside a 64-bit or uint32 array
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

    Notes
    -----
    The same under `jax.jit` and `jax.vmap`; the derivative is 1 inside the limits, 0 outside.

    References
    ----------
    .. [1] Array API standard 2025.12, element-wise functions, ``clip``.

    Examples
    --------
    >>> print(clip(jnp.asarray([-1, 5, 9]), 0, 6))
    [0 5 6]
    """
    return _clip(x, scalar_like(min, x), scalar_like(max, x))


@functools.partial(jax.jit, inline=True)
def _clip(x, min, max):
    return jnp.clip(x, min, max)


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
        Of the promoted dtype and broadcast shape. Finite operands give NumPy's value: the floor of the exact
        quotient, so ``1. // 0.1`` is 9. NaN where an operand is; integers divided by zero
        are `jax.numpy`'s.

    Raises
    ------
    TypeError
        If an operand is complex.

    Notes
    -----
    The same under `jax.jit` and `jax.vmap`; the derivative is zero.

    References
    ----------
    .. [1] Array API standard 2025.12, element-wise functions, ``floor_divide``: special cases.

    Examples
    --------
    >>> print(floor_divide(-1.0, float("inf")), floor_divide(float("inf"), 2.0), floor_divide(7.0, -2.0))
    -0.0 inf -4.0
    """
    return _floor_divide(x1, x2)


@functools.partial(jax.jit, inline=True)
def _floor_divide(x1, x2):
    quotient = jnp.floor_divide(x1, x2)
    if not jnp.issubdtype(quotient.dtype, jnp.floating):
        return quotient
    # NumPy's floor is right where both operands are finite and nonzero; elsewhere the ratio itself is a
    # zero, an infinity or NaN, with the sign the standard asks for.
    ratio = jnp.divide(x1, x2)
    unchanged = jnp.isinf(x2) | (jnp.asarray(x1) == 0) | jnp.isinf(ratio)
    # `abs` only where the quotient is zero: there it may have come out as -0 from operands of one sign.
    floor = jnp.where(quotient == 0, jnp.abs(quotient), quotient)
    return jax.lax.stop_gradient(jnp.where(unchanged, ratio, floor))


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
        a floating ``x2`` is 0; integer remainders by zero as `jax.numpy` has them.

    Raises
    ------
    TypeError
        If an operand is complex.

    Notes
    -----
    The same under `jax.jit` and `jax.vmap`. The derivative is 1 in ``x1`` and
    ``-floor_divide(x1, x2)`` in ``x2``.

    References
    ----------
    .. [1] Array API standard 2025.12, element-wise functions, ``remainder``: special cases.

    Examples
    --------
    >>> print(remainder(-0.0, 3.0), remainder(6.0, -3.0), remainder(-7.0, 3.0))
    0.0 -0.0 2.0
    """
    return _remainder(x1, x2)


@functools.partial(jax.jit, inline=True)
def _remainder(x1, x2):
    value = jnp.remainder(x1, x2)
    if not jnp.issubdtype(value.dtype, jnp.floating):
        return value
    x1, x2 = (jnp.broadcast_to(jnp.asarray(x, value.dtype), value.shape) for x in (x1, x2))
    return _float_remainder(x1, x2)


@jax.custom_jvp
def _float_remainder(x1, x2):
    value = jnp.remainder(x1, x2)
    return jnp.where(value == 0, jnp.copysign(value, x2), value)


@_float_remainder.defjvp
def _float_remainder_jvp(primals, tangents):
    (x1, x2), (dx1, dx2) = primals, tangents
    return _float_remainder(x1, x2), dx1 - _floor_divide(x1, x2) * dx2


def sign(x: ArrayLike, /) -> Array:
    """Sign of each element: -1, 0 or 1; for complex elements ``x / abs(x)``.

    Unlike `jax.numpy.sign`, every zero gives +0, and a complex element with a NaN part gives
    ``nan + nan j`` [1]_.

    Parameters
    ----------
    x : array_like, numeric, any shape

    Returns
    -------
    Array
        Same shape and dtype; NaN where ``x`` is.

    Notes
    -----
    The same under `jax.jit` and `jax.vmap`; the derivative is zero, as JAX has it.

    References
    ----------
    .. [1] Array API standard 2025.12, element-wise functions, ``sign``: special cases.

    Examples
    --------
    >>> print(sign(-0.0), sign(-7.0), sign(3 + 4j))
    0.0 -1.0 (0.6+0.8j)
    """
    return _sign(x)


@functools.partial(jax.jit, inline=True)
def _sign(x):
    value = jnp.sign(x)
    value = jnp.where(jnp.asarray(x) == 0, jnp.zeros_like(value), value)
    if jnp.iscomplexobj(value):
        value = jnp.where(jnp.isnan(x), complex(jnp.nan, jnp.nan), value)
    return value
