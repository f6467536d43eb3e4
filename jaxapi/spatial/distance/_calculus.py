"""Elementary functions with the derivatives that distances need: 0 at corners and by what has no weight."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.custom_derivatives import SymbolicZero

from ..._core import _quotients
from ..._core._typing import Array

__all__ = ["Rows", "Sums", "Terms", "absolute", "along_last_axis", "divided", "instantiated", "quotient"]
__all__ += ["ratio", "rounded_ratio", "rows_for", "square_root", "weighted_sums", "without"]


@jax.custom_jvp
def absolute(x: Array) -> Array:
    """Return the absolute value; its derivative at 0 is 0 (JAX's is 1)."""
    return jnp.abs(x)


@absolute.defjvp
def _slope_of_absolute(primals: Any, tangents: Any) -> tuple[Array, Array]:
    (x,) = primals
    (tangent,) = tangents
    return absolute(x), jnp.sign(x) * tangent


def square_root(x: Array) -> Array:
    """Return the square root, rounded as IEEE 754 says; all its derivatives at 0 are 0."""
    is_zero = x == 0
    return jnp.where(is_zero, 0, _quotients.root(jnp.where(is_zero, 1, x)))


def divided(x: Array, y: Array | float) -> Array:
    """Return ``x / y`` of one dtype, rounded as IEEE 754 says."""
    shape = jnp.broadcast_shapes(jnp.shape(x), jnp.shape(y))
    x, y = (jnp.broadcast_to(jnp.asarray(part, x.dtype), shape) for part in (x, y))
    return _quotients.quotient(x, y)


@jax.custom_jvp
def ratio(x: Array, y: Array) -> Array:
    """Return ``x / y``, with derivatives that do not square y (JAX's do), which may overflow or vanish."""
    return x / y


@jax.custom_jvp
def rounded_ratio(x: Array, y: Array) -> Array:
    """Return `ratio`, rounded as IEEE 754 says: what is returned, and no term of a sum."""
    return divided(x, y)


def _slope_of_ratio(divide: Callable[..., Array], primals: Any, tangents: Any) -> tuple[Array, Array]:
    x, y = primals
    x_tangent, y_tangent = tangents
    value = divide(x, y)
    return value, (x_tangent - value * y_tangent) * ratio(jnp.ones((), y.dtype), y)


ratio.defjvp(functools.partial(_slope_of_ratio, ratio))
rounded_ratio.defjvp(functools.partial(_slope_of_ratio, rounded_ratio))


def quotient(x: Array, y: Array, divide: Callable[..., Array] = ratio) -> Array:
    """Return ``x / y``; 0 where both are, and so are the derivatives."""
    both_zero = (x == 0) & (y == 0)
    return jnp.where(both_zero, 0, divide(x, jnp.where(both_zero, 1, y)))


Sums = tuple[Array, ...]
Terms = Callable[..., Sums]  # of rows and a scale


class Rows(NamedTuple):
    """Rows (..., m) in two forms, which differ where a coordinate's weight is 0."""

    seen: Array  # 0 there: what distances, and their derivatives by rows, depend on
    whole: Array  # as given: what the derivative by that weight depends on


def rows_for(x: Array, weights: Array | None) -> Rows:
    """Return rows in both forms."""
    return Rows(without(x, weights), x)


def without(x: Array, weights: Array | None) -> Array:
    """Return rows with 0 in the place of coordinates of weight 0."""
    if weights is None:
        return x
    has_no_weight = along_last_axis(weights, x) == 0
    return jnp.where(has_no_weight, jnp.zeros((), x.dtype), x)


def along_last_axis(weights: Array, x: Array) -> Array:
    """Return weights that broadcast along the last axis of ``x``, without a promotion of ranks."""
    return weights.reshape((1,) * (x.ndim - weights.ndim) + weights.shape)


def weighted_sums(
    terms: Terms, rows: Sequence[Rows], weights: Array | None, scale: Array | None = None
) -> Sums:
    """Return the sums over coordinates of each of ``terms(*rows, scale)``, which are multiplied by weights.

    A coordinate of weight 0 adds 0, whatever its term is. By that weight the derivative is the term; by rows
    it is 0. ``scale`` is handed on and has no derivative.
    """
    seen = tuple(x.seen for x in rows)
    if weights is None:
        return tuple(jnp.sum(term, axis=-1) for term in terms(*seen, scale))
    whole = tuple(x.whole for x in rows)
    return _weighted_sums(terms, seen, whole, weights, scale)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _weighted_sums(
    terms: Terms, seen: tuple[Array, ...], whole: tuple[Array, ...], weights: Array, scale: Array | None
) -> Sums:
    return _sums_of_products(terms(*seen, scale), weights)


def _sums_of_products(terms: Sequence[Array], weights: Array) -> Sums:
    """Return the sums of terms times weights along the last axis."""
    return tuple(jnp.sum(term * along_last_axis(weights, term), axis=-1) for term in terms)


def _slope_of_weighted_sums(terms: Terms, primals: Any, tangents: Any) -> tuple[Sums, Sums]:
    seen, whole, weights, scale = primals
    seen_tangents, whole_tangents, weights_tangent, _ = tangents

    def of_rows(*rows: Array) -> Sums:
        return _sums_of_products(terms(*rows, scale), weights)

    # The slope by rows has a derivative by weights of 0, which is that of whole rows where it is a number.
    is_whole = _are_numbers(terms, whole, scale)
    is_whole &= along_last_axis(weights, is_whole) == 0
    rows = tuple(jnp.where(is_whole, x, y) for x, y in zip(whole, seen, strict=True))
    row_tangents = tuple(
        jnp.where(is_whole, instantiated(x), instantiated(y))
        for x, y in zip(whole_tangents, seen_tangents, strict=True)
    )
    slopes = jax.jvp(of_rows, rows, row_tangents)[1]
    if not isinstance(weights_tangent, SymbolicZero):
        slopes = tuple(
            slope + jnp.sum(term * along_last_axis(weights_tangent, term), axis=-1)
            for slope, term in zip(slopes, terms(*whole, scale), strict=True)
        )
    return _weighted_sums(terms, *primals), slopes


def _are_numbers(terms: Terms, rows: tuple[Array, ...], scale: Array | None) -> Array:
    """Return where all terms and their slopes are finite."""
    is_finite = jnp.ones((), bool)
    for i in range(len(rows)):
        tangents = tuple(jnp.full_like(x, float(i == j)) for j, x in enumerate(rows))
        values, slopes = jax.jvp(lambda *rows: terms(*rows, scale), rows, tangents)
        for x in (*values, *slopes):
            is_finite &= jnp.isfinite(lax.stop_gradient(x))
    return is_finite


_weighted_sums.defjvp(_slope_of_weighted_sums, symbolic_zeros=True)


def instantiated(tangent: Any) -> Array:
    """Return a tangent as an array, where it is one of JAX's symbols for 0."""
    return jnp.zeros(tangent.shape, tangent.dtype) if isinstance(tangent, SymbolicZero) else tangent
