"""Powers of JAX arrays more precise than the compiler's own: the traced half of `logspace`."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .._core._typing import Array
from .._elementwise._power import power
from ._spacing import saturated, split, two_sum

__all__ = ["complex_powers", "real_powers", "whole_powers"]


def real_powers(base: Array, exponents: Array, errors: Array) -> Array:
    """Raise to ``exponents + errors``: ``base**errors`` is ``1 + errors*log(base)`` to full precision."""
    powers = power(base, exponents)
    # Some GPUs' power is an ulp off at the exponent 1; the base is not. (Differentiate the power, though.)
    first = (exponents == 1) & jnp.isfinite(base)
    powers += lax.stop_gradient(jnp.where(first, base - powers, 0))
    correction = lax.stop_gradient(errors * jnp.log(jnp.abs(base)))
    usable = jnp.isfinite(correction) & jnp.isfinite(powers)
    return jnp.where(usable, powers + powers * jnp.where(usable, correction, 0), powers)


@jax.custom_jvp
def complex_powers(base: Array, exponents: Array, errors: Array, log: Array, log_error: Array) -> Array:
    """Raise to ``exponents + errors``, as the exponential of their product with ``log + log_error``.

    The product is a sum of four real ones; its rounding errors, which the exponential would multiply, are
    carried along.
    """
    u, v, x, y = exponents.real, exponents.imag, log.real, log.imag
    rest = exponents * log_error + errors * log
    real, real_error = _sum_of_products(u, x, -v, y)
    angle, angle_error = _sum_of_products(u, y, v, x)
    real_error, angle_error = real_error + rest.real, angle_error + rest.imag
    modulus = jnp.exp(real)
    modulus += modulus * real_error
    cos, sin = jnp.cos(angle), jnp.sin(angle)
    cos, sin = cos - sin * angle_error, sin + cos * angle_error
    powers = lax.complex(modulus * cos, modulus * sin)
    return jnp.where(jnp.isfinite(powers), powers, jnp.power(base, exponents))


@complex_powers.defjvp
def _complex_powers_jvp(primals, tangents):
    base, exponents, _, log, _ = primals
    base_dot, exponents_dot = tangents[:2]
    powers = complex_powers(*primals)
    return powers, powers * (exponents_dot * log + exponents * base_dot / base)


def _sum_of_products(a: Array, b: Array, c: Array, d: Array) -> tuple[Array, Array]:
    """``a*b + c*d`` and its rounding error: of halves of the bits, every product is exact."""
    total, error = jnp.zeros_like(a), jnp.zeros_like(a)
    half = 27 if a.dtype == jnp.float64 else 12
    for x, y in ((a, b), (c, d)):
        for part in split(x, half):
            for other in split(y, half):
                total, lost = two_sum(total, part * other)
                error += lost
    return total, error


def whole_powers(base: Array, exponents: Array, powers: Array, dtype: np.dtype) -> Array:
    """Truncate floating powers; multiply out those of an integer to an integer, which are exact."""
    # An integer below 2 in magnitude has exact floating powers, and the first power is exact (real_powers);
    # from the second on, a base of 2**32 is beyond every dtype, as is 2 to the 65th.
    magnitude = jnp.abs(base.astype(powers.dtype))
    whole = (exponents == jnp.floor(exponents)) & (exponents <= 64) & (magnitude >= 2)
    if jnp.issubdtype(base.dtype, jnp.integer):
        whole &= exponents >= 1
        factor = base.astype(dtype)
    else:
        whole &= (exponents >= 2) & (magnitude < 2.0**32) & (base == jnp.floor(base))
        wide = jnp.int64 if powers.dtype == jnp.float64 else jnp.int32
        factor = jnp.where(magnitude < 2.0**32, base, 0).astype(wide).astype(dtype)
    times = jnp.where(whole, exponents, 0).astype(jnp.int32)
    product = jnp.ones(exponents.shape, dtype)
    for bit in range(7):
        product = jnp.where(times >> bit & 1 == 1, product * factor, product)
        factor = factor * factor
    # Multiplication wraps; a product that wrapped is nowhere near the floating power.
    fits = jnp.abs(product.astype(powers.dtype) - powers) <= jnp.abs(powers) / 1024
    fits &= jnp.isfinite(powers)
    outside = saturated(jnp.where(powers < 0, -jnp.inf, jnp.inf), dtype)
    return jnp.where(whole, jnp.where(fits, product, outside), saturated(jnp.trunc(powers), dtype))
