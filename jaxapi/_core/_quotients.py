"""Quotients and square roots of real numbers, rounded as IEEE 754 says, on every device and in every program.

What XLA makes of them otherwise:

- On an NVIDIA GPU a float32 quotient is approximate, and so is a root: a third of them is off.
- A quotient by one number is a product with its reciprocal, also where the number was broadcast.
- In chains ``(a / b) / c`` becomes ``a / (b * c)``, ``1 / sqrt(a)`` an approximate ``rsqrt(a)``,
  ``1 / (1 / a)`` becomes ``a``, and so does ``sqrt(a) * sqrt(a)``.
- What is computed in float64 and rounded to float32 is computed in float32.
- What was rounded to float16 is not, where the next operation takes more bits.
- A product to which something is added is not rounded before, in one program, and is in the next one.

All of it is prevented by selects on the operands and on the result. Their condition holds where the result is
NaN anyway, of which LLVM knows nothing, or at an index that there is not, of which XLA knows nothing.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.custom_derivatives import SymbolicZero

from ._dtypes import x64_on
from ._typing import Array

__all__ = ["quotient", "root", "root_of_norm", "rounded"]


@jax.custom_jvp
def quotient(x: Array, y: Array) -> Array:
    """Divide arrays of one real floating dtype and one shape."""

    def times_y(result: Array) -> Array:
        return y * result

    def divide(_: Any, x: Array) -> Array:
        return _quotient(x, y)

    # As the solution of a linear equation it can be transposed.
    return lax.custom_linear_solve(times_y, x, divide, symmetric=True)


@functools.partial(quotient.defjvp, symbolic_zeros=True)
def _quotient_jvp(primals: tuple[Array, Array], tangents: tuple[Any, Any]) -> tuple[Array, Array]:
    x, y = primals
    dx, dy = tangents
    result = quotient(x, y)
    change = jnp.zeros_like(result)
    if not isinstance(dx, SymbolicZero):
        change = dx / y
    if not isinstance(dy, SymbolicZero):
        change = change - dy * x * lax.integer_pow(y, -2)  # as JAX: the result may be infinite where dy is 0
    return result, change


@jax.custom_batching.custom_vmap
def _quotient(x: Array, y: Array) -> Array:
    if x.dtype == np.float64:
        return _sealed_quotient(x, y)
    return lax.platform_dependent(x, y, cuda=_quotient_by_float64, default=_sealed_quotient)


@_quotient.def_vmap
def _quotient_batched(size: int, is_batched: Any, x: Array, y: Array) -> tuple[Array, bool]:
    """Broadcast both: one number for the whole batch would be one number for XLA, too."""
    x_is_batched, y_is_batched = is_batched
    if not x_is_batched:
        x = jnp.broadcast_to(x, (size, *x.shape))
    if not y_is_batched:
        y = jnp.broadcast_to(y, (size, *y.shape))
    return _quotient(x, y), True


def _sealed_quotient(x: Array, y: Array) -> Array:
    total = x + y  # where this is NaN, so is the quotient
    is_hidden = _is_hidden(total)
    x = jnp.where(is_hidden, total, x)
    y = jnp.where(is_hidden, total, y)
    return jnp.where(is_hidden, total, x / y)


def _quotient_by_float64(x: Array, y: Array) -> Array:
    """Divide in float64: rounding to float32 once more changes nothing, as 53 >= 2 * 24 + 2 bits."""
    scale = 2.0**40  # multiplying by it is exact, and keeps LLVM from narrowing the division to float32
    total = x + y
    is_hidden = _is_hidden(total)
    x = jnp.where(is_hidden, total, x)
    y = jnp.where(is_hidden, total, y)
    with x64_on():
        wide = x.astype(np.float64) / (y.astype(np.float64) * scale) * scale
        narrow = wide.astype(x.dtype)
    return jnp.where(is_hidden, total, narrow)


@jax.custom_jvp
def root(x: Array) -> Array:
    """Take the square root of an array of a real floating dtype."""
    if x.dtype == np.float64:
        return _sealed_root(x)
    return lax.platform_dependent(x, cuda=_root_by_float64, default=_sealed_root)


@root.defjvp
def _root_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    result = root(*primals)
    return result, tangents[0] * (0.5 / result)


@jax.custom_jvp
def root_of_norm(x: Array) -> Array:
    """Take the square root of a sum of squares: its slopes at 0 are 0, those of a norm."""
    return root(x)


@root_of_norm.defjvp
def _root_of_norm_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    result = root_of_norm(*primals)
    slope = jnp.where(result == 0, 0, 0.5 / jnp.where(result == 0, 1, result))
    return result, tangents[0] * slope


def rounded(x: Array) -> Array:
    """Return an array that is rounded before something is added to it, or taken off."""
    return jnp.where(jnp.isnan(x) | _never(()), jnp.nan, x)


def _sealed_root(x: Array) -> Array:
    is_hidden = jnp.isnan(x) | _never(())
    x = jnp.where(is_hidden, jnp.nan, x)
    return jnp.where(is_hidden, jnp.nan, jnp.sqrt(x))


def _root_by_float64(x: Array) -> Array:
    is_hidden = jnp.isnan(x) | _never(())
    x = jnp.where(is_hidden, jnp.nan, x)
    with x64_on():
        narrow = jnp.sqrt(x.astype(np.float64)).astype(x.dtype)
    return jnp.where(is_hidden, jnp.nan, narrow)


def _is_hidden(total: Array) -> Array:
    """Return where a quotient gives way to the sum: where both are NaN, which XLA cannot know on any axis."""
    return jnp.isnan(total) | _never(total.shape)


def _never(shape: tuple[int, ...]) -> Any:
    """Return False, of which XLA knows neither that it is, nor that it is the same along any axis."""
    nowhere = lax.optimization_barrier(np.int32(-1))
    is_there = nowhere == 0
    for axis, size in enumerate(shape):
        if size != 1:  # also where it is a symbol
            is_there |= lax.broadcasted_iota(np.int32, shape, axis) == nowhere
    return is_there
