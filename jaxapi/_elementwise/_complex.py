"""The standard's special cases of complex functions, as rules over `jax.numpy`'s values.

Each function here takes an array; a real one goes to the `jax.numpy` function it repairs. For a complex
one, ``a + b j``, the value is `jax.numpy`'s but where a rule of the standard's table says otherwise. A
rule is ``(where it holds, real part, imaginary part)``; a part that is ``None`` stays as computed. The
rules are selections on the two parts, which XLA fuses with the function itself.

The derivative of each is that of the `jax.numpy` function: a selection would lose it where only the sign
of a zero is repaired.
"""

import functools
import math

import jax
import jax.numpy as jnp
from jax import lax
from jax.numpy import e, inf, isfinite, isinf, isnan, nan, pi

from .._core._exact import exact
from .._core._parts import magnitude
from .._core._typing import Array
from . import _hyperbolic

__all__ = ["acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "expm1", "log", "log1p"]
__all__ += ["log2", "log10", "sign", "sin", "sinh", "sqrt", "tan", "tanh"]


def _repairs(function, real=None):
    """Compile the decorated complex function and a ``real`` one, ``function`` itself if it is not given."""
    real = function if real is None else real

    def decorate(rules):
        rules = jax.custom_jvp(rules)
        rules.defjvp(lambda z, dz: (rules(*z), jax.jvp(function, z, dz)[1]))

        @functools.partial(jax.jit, inline=True)
        @functools.wraps(rules)
        def repaired(x: Array) -> Array:
            return rules(x) if jnp.iscomplexobj(x) else real(x)

        return repaired

    return decorate


def _parts(z: Array) -> tuple[Array, Array]:
    return lax.real(z), lax.imag(z)


def _patched(real: Array, imag: Array, *rules) -> Array:
    """Return ``real + imag j``, replaced by the first of the rules that holds."""
    for condition, real_value, imag_value in reversed(rules):
        if real_value is not None:
            real = jnp.where(condition, _constant(real_value, real), real)
        if imag_value is not None:
            imag = jnp.where(condition, _constant(imag_value, imag), imag)
    return lax.complex(real, imag)


def _constant(value, like: Array) -> Array:
    """Return a number in the dtype of ``like``: as a literal it would have 32 bits where x64 is off."""
    return value if isinstance(value, jax.Array) else jnp.full((), value, like.dtype)


def _signed(magnitude, sign_of: Array) -> Array:
    return jnp.copysign(_constant(magnitude, sign_of), sign_of)


@_repairs(jnp.exp)
def exp(z: Array) -> Array:
    """Exponential; the direction of an infinity or a zero is lost where ``b`` is not finite."""
    a, b = _parts(z)
    return _patched(
        *_parts(jnp.exp(z)),
        (b == 0, None, b),
        ((a == -inf) & ~isfinite(b), 0, 0),
        ((a == inf) & ~isfinite(b), inf, nan),
    )


@_repairs(jnp.expm1)
def expm1(z: Array) -> Array:
    """Exponential less one, with the rules of `exp`."""
    a, b = _parts(z)
    return _patched(
        *_parts(jnp.expm1(z)),
        (b == 0, None, b),
        ((a == -inf) & ~isfinite(b), -1, 0),
        ((a == inf) & ~isfinite(b), inf, nan),
    )


@_repairs(jnp.log)
def log(z: Array) -> Array:
    """Logarithm; an infinite part makes the modulus infinite whatever the other part."""
    a, b = _parts(z)
    return _patched(*_parts(jnp.log(z)), (isinf(a) | isinf(b), inf, None))


def _change_base(z: Array, base_log: float) -> Array:
    real, imag = _parts(log(z))
    return lax.complex(real / _constant(base_log, real), imag / _constant(base_log, imag))


@_repairs(jnp.log2)
def log2(z: Array) -> Array:
    """Logarithm to base 2, ``log(z) / log(2)``."""
    return _change_base(z, math.log(2))


def _log10(x: Array) -> Array:
    # jnp.log10 with x64 off raises for 64-bit arrays: its constant is 32 bits.
    natural = jnp.log(x)
    return natural * _constant(1 / math.log(10), natural)


@_repairs(_log10)
def log10(z: Array) -> Array:
    """Logarithm to base 10, ``log(z) / log(10)``."""
    return _change_base(z, math.log(10))


@_repairs(jnp.log1p)
def log1p(z: Array) -> Array:
    """Logarithm of ``1 + z``, with the rules of `log`; next to -1 the square of ``b`` would underflow."""
    a, b = _parts(z)
    return _patched(
        *_parts(jnp.log1p(z)),
        (isinf(a) | isinf(b), inf, None),
        (a == -1, jnp.log(jnp.abs(b)), None),
    )


@_repairs(jnp.sqrt, exact(jnp.sqrt))
def sqrt(z: Array) -> Array:
    """Square root; an infinite part decides even with a NaN, the sign of a zero ``b`` tells the side."""
    a, b = _parts(z)
    real, imag = _parts(jnp.sqrt(z))
    return _patched(
        real,
        jnp.copysign(imag, b),
        (isinf(b), inf, b),
        ((a == -inf) & isnan(b), nan, inf),
        ((a == inf) & isnan(b), inf, nan),
    )


@_repairs(jnp.sinh, _hyperbolic.sinh)
def sinh(z: Array) -> Array:
    """Hyperbolic sine by its real functions: odd in both parts, exact near zero."""
    a, b = _parts(z)
    return _patched(
        _scaled(_hyperbolic.sinh, a, jnp.cos(b)),
        _scaled(_hyperbolic.cosh, a, jnp.sin(b)),
        (b == 0, None, b),
        ((a == 0) & ~isfinite(b), a, nan),
        (isinf(a) & ~isfinite(b), a, nan),
    )


@_repairs(jnp.cosh, _hyperbolic.cosh)
def cosh(z: Array) -> Array:
    """Hyperbolic cosine by its real functions: even, and exact near zero."""
    a, b = _parts(z)
    return _patched(
        _scaled(_hyperbolic.cosh, a, jnp.cos(b)),
        _scaled(_hyperbolic.sinh, a, jnp.sin(b)),
        (b == 0, None, _signed(1, a) * b),
        ((a == 0) & ~isfinite(b), nan, 0),
        (isinf(a) & ~isfinite(b), inf, nan),
    )


def _scaled(function, a: Array, factor: Array) -> Array:
    """Return ``function(a) * factor`` for sinh or cosh, also where only the function overflows."""
    # Beyond 64 sinh and cosh are exp(|a|) / 2 to the last bit; one factor e**2 is multiplied on afterwards.
    large = jnp.abs(a) > 64
    value = function(jnp.where(large, a - _signed(2, a), a)) * factor
    return jnp.where(large, value * _constant(e**2, a), value)


@_repairs(jnp.tanh)
def tanh(z: Array) -> Array:
    """Hyperbolic tangent; at infinity the imaginary part is a zero with the sign of ``b``."""
    a, b = _parts(z)
    return _patched(
        *_parts(jnp.tanh(z)),
        (b == 0, None, b),
        (isinf(a), _signed(1, a), _signed(0, b)),
        ((a == 0) & ~isfinite(b), a, nan),
    )


@_repairs(jnp.asinh)
def asinh(z: Array) -> Array:
    """Inverse hyperbolic sine: odd in both parts."""
    a, b = _parts(z)
    real, imag = _parts(jnp.asinh(z))
    return _patched(
        jnp.copysign(real, a),
        jnp.copysign(imag, b),
        (isnan(a) & (b == 0), nan, b),
        (isnan(a) & isfinite(b), nan, nan),
        (isfinite(a) & isnan(b), nan, nan),
    )


@_repairs(jnp.acosh)
def acosh(z: Array) -> Array:
    """Inverse hyperbolic cosine; on the cut the sign of a zero ``b`` tells the side."""
    a, b = _parts(z)
    real, imag = _parts(jnp.acosh(z))
    return _patched(
        real,
        jnp.copysign(imag, b),
        ((a == 0) & isnan(b), nan, pi / 2),
        (isnan(a) & isfinite(b), nan, nan),
        (isfinite(a) & isnan(b), nan, nan),
    )


@_repairs(jnp.acos)
def acos(z: Array) -> Array:
    """Inverse cosine; on the cuts the sign of a zero ``b`` tells the side."""
    a, b = _parts(z)
    real, imag = _parts(jnp.acos(z))
    return _patched(
        real,
        jnp.copysign(imag, -b),
        ((a == 0) & isnan(b), pi / 2, nan),
        (isnan(a) & isfinite(b), nan, nan),
        (isfinite(a) & isnan(b), nan, nan),
    )


@_repairs(jnp.atanh)
def atanh(z: Array) -> Array:
    """Inverse hyperbolic tangent: odd in both parts."""
    a, b = _parts(z)
    real, imag = _parts(jnp.atanh(z))
    # Next to a pole (1 - |a|)**2 + b**2 would underflow.
    is_next_to_pole = (jnp.abs(a) == 1) & (jnp.abs(b) < 1e-10)
    real_there = jnp.log(2 / jnp.abs(b)) / 2
    return _patched(
        jnp.copysign(real, a),
        jnp.copysign(imag, b),
        ((isinf(a) | (a == 0)) & isnan(b), _signed(0, a), nan),
        (isinf(a) | isinf(b), _signed(0, a), _signed(pi / 2, b)),
        (isnan(a) | isnan(b), nan, nan),
        (is_next_to_pole, jnp.copysign(real_there, a), None),
    )


def _real_sign(x: Array) -> Array:
    value = jnp.sign(x)
    return jnp.where(jnp.asarray(x) == 0, jnp.zeros_like(value), value)


def _direction(z: Array) -> Array:
    """Return ``z / abs(z)``, with its derivative: that of `jax.numpy.sign` is zero in JAX 0.10."""
    zero = z == 0
    return jnp.where(zero, 0, z / jnp.where(zero, 1, magnitude(z)).astype(z.dtype))


@_repairs(_direction, _real_sign)
def sign(z: Array) -> Array:
    """Sign, ``z / abs(z)``; one infinite part decides alone, the modulus of large ones does not overflow."""
    a, b = _parts(z)
    quarter_of_largest = float(jnp.finfo(a.dtype).max) / 4
    large = jnp.maximum(jnp.abs(a), jnp.abs(b)) > _constant(quarter_of_largest, a)
    scale = jnp.where(large, 0.25, 1).astype(a.dtype)
    return _patched(
        *_parts(jnp.sign(lax.complex(a * scale, b * scale))),
        (isnan(a) | isnan(b), nan, nan),
        ((a == 0) & (b == 0), 0, 0),
        (isinf(a) & isinf(b), nan, nan),
        (isinf(a), _signed(1, a), 0),
        (isinf(b), 0, _signed(1, b)),
    )


# The standard defines the circular functions by the hyperbolic ones; multiplying by j only swaps parts.


def _times_j(z: Array) -> Array:
    a, b = _parts(z)
    return lax.complex(-b, a)


def _over_j(z: Array) -> Array:
    a, b = _parts(z)
    return lax.complex(b, -a)


@_repairs(jnp.asin)
def asin(z: Array) -> Array:
    """Inverse sine, ``asinh(z j) / j``."""
    return _over_j(asinh(_times_j(z)))


@_repairs(jnp.atan)
def atan(z: Array) -> Array:
    """Inverse tangent, ``atanh(z j) / j``."""
    return _over_j(atanh(_times_j(z)))


@_repairs(jnp.cos)
def cos(z: Array) -> Array:
    """Cosine, ``cosh(z j)``."""
    return cosh(_times_j(z))


@_repairs(jnp.sin)
def sin(z: Array) -> Array:
    """Sine, ``sinh(z j) / j``."""
    return _over_j(sinh(_times_j(z)))


@_repairs(jnp.tan)
def tan(z: Array) -> Array:
    """Tangent, ``tanh(z j) / j``."""
    return _over_j(tanh(_times_j(z)))
