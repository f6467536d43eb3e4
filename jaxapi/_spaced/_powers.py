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
    rest = exponents * log_error + errors * log
    real, real_error = _sum_of_products((exponents.real, log.real), (-exponents.imag, log.imag))
    angle, angle_error = _sum_of_products((exponents.real, log.imag), (exponents.imag, log.real))
    real_error += rest.real
    angle_error += rest.imag
    modulus = jnp.exp(real)
    modulus += modulus * real_error
    rounded_cos = jnp.cos(angle)
    rounded_sin = jnp.sin(angle)
    cos = rounded_cos - rounded_sin * angle_error
    sin = rounded_sin + rounded_cos * angle_error
    powers = lax.complex(modulus * cos, modulus * sin)
    return jnp.where(jnp.isfinite(powers), powers, jnp.power(base, exponents))


@complex_powers.defjvp
def _complex_powers_jvp(primals, tangents):
    base, exponents, _, log, _ = primals
    base_dot, exponents_dot = tangents[:2]
    powers = complex_powers(*primals)
    return powers, powers * (exponents_dot * log + exponents * base_dot / base)


def _sum_of_products(*pairs: tuple[Array, Array]) -> tuple[Array, Array]:
    """Sum up the products of pairs, with the rounding error: of halves of the bits, each product is exact."""
    like, _ = pairs[0]
    total = jnp.zeros_like(like)
    error = jnp.zeros_like(like)
    half = 27 if like.dtype == jnp.float64 else 12
    for x, y in pairs:
        for x_part in split(x, half):
            for y_part in split(y, half):
                total, lost = two_sum(total, x_part * y_part)
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
    whole_exponents = jnp.where(whole, exponents, 0).astype(jnp.int32)
    product = jnp.ones(exponents.shape, dtype)
    for bit in range(7):
        has_bit = whole_exponents >> bit & 1 == 1
        product = jnp.where(has_bit, product * factor, product)
        factor = factor * factor
    # Multiplication wraps; a product that wrapped is nowhere near the floating power.
    fits = jnp.abs(product.astype(powers.dtype) - powers) <= jnp.abs(powers) / 1024
    fits &= jnp.isfinite(powers)
    outside = saturated(jnp.where(powers < 0, -jnp.inf, jnp.inf), dtype)
    return jnp.where(whole, jnp.where(fits, product, outside), saturated(jnp.trunc(powers), dtype))
