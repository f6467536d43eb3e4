"""The derivatives of distances: the choice of neighbors has none, the distances to those chosen have."""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core._dtypes import x64_for
from ..._core._programs import any_traced, is_traced
from ._metric import axis_difference, wrap
from ._powers_of_two import converted, is_small, scaled, unit_of_small, unscaled

__all__ = [
    "displacements_to",
    "distances_to",
    "norms",
    "rows_of",
    "with_slopes",
    "without_slope",
    "without_slopes",
]


@partial(jax.custom_jvp, nondiff_argnums=(5,))
def with_slopes(distances, points, x, rows, boxsize, p: float):
    """Return `distances` (q, k), which a search found, as a function of the points (n, m) and of x (q, m).

    `rows` (q, k) are the neighbors, n for none. Derivatives also flow to the `boxsize` (m,).
    """
    return distances


@with_slopes.defjvp
def _with_slopes_jvp(p, primals, tangents):
    distances, points, x, rows, boxsize = primals
    # XLA may compute a coordinate twice, and round it otherwise: a difference of 0 then is not 0 everywhere.
    is_apart = scaled(distances, unit_of_small(distances.dtype)) > 0
    apart_rows = jnp.where(is_apart, rows, len(points))

    def recompute(points, x, boxsize):
        return distances_to(points, x, apart_rows, boxsize, p)

    _, slopes = jax.jvp(recompute, (points, x, boxsize), (*tangents[1:3], tangents[4]))
    # Not `distances`, which have no derivatives: those of second order need these.
    return with_slopes(distances, points, x, rows, boxsize, p), slopes


@partial(jax.jit, static_argnames="p")
def distances_to(points, x, rows, boxsize, p: float):
    """Return the distances (q, k) from each query to its rows; 0, with derivatives 0, for none and at 0."""
    with x64_for(x.dtype):  # else a Python number of `p` has 32 bits
        is_row = rows < points.shape[0]
        neighbors = rows_of(converted(points, x.dtype), rows)  # (q, k, m)
        if boxsize is not None:
            x = wrap(x, boxsize)
            boxsize = jnp.broadcast_to(boxsize, neighbors.shape)
        differences = axis_difference(x[:, None, :], neighbors, boxsize)
        # XLA takes subnormal differences for 0 on CPUs: small ones are computed in another unit.
        unit = unit_of_small(x.dtype)
        boxsize = None if boxsize is None else scaled(boxsize, unit)
        in_unit = axis_difference(scaled(x[:, None, :], unit), scaled(neighbors, unit), boxsize)
        of_small = is_small(x[:, None, :]) & is_small(neighbors)
        in_unit = jnp.where(of_small, in_unit, differences * unit)
        is_near = is_small(differences).all(axis=-1)
        unit = jnp.where(is_near, unit, jnp.ones_like(unit))
        in_unit = jnp.where(is_near[:, :, None], in_unit, differences)
        return _norms_in_unit(
            jnp.where(is_row[:, :, None], differences, 0),
            jnp.where(is_row[:, :, None], in_unit, 0),
            unit,
            p,
        )


def rows_of(points, rows):
    """Return rows of points (n, m), and 0 for those from n on.

    In the place of these any point would do, but derivatives would be added up there, one after another: with
    a fifth of the rows missing a GPU takes longer for that than for all others.
    """
    return points.at[rows].get(mode="fill", fill_value=0)


@partial(jax.custom_jvp, nondiff_argnums=(3,))
def _norms_in_unit(differences, in_unit, unit, p: float):
    """Return norms (q, k) of differences (q, k, m), which are also given in units (q, k)."""
    return unscaled(norms(in_unit, p), unit)


@_norms_in_unit.defjvp
def _norms_in_unit_jvp(p, primals, tangents):
    differences, in_unit, unit = primals
    # Slopes do not depend on the unit, in which nothing vanishes; their own derivatives do.
    _, slopes = jax.jvp(lambda each: norms(each, p), (in_unit,), (tangents[0],))
    return _norms_in_unit(differences, in_unit, unit, p), slopes


def norms(differences, p: float):
    """Return Minkowski norms over the last axis of differences, twice differentiable; slopes at 0 are 0."""
    away = (differences != 0).any(axis=-1)
    differences = jnp.where(away[..., None], differences, 1)
    return jnp.where(away, _norm(differences, p), 0)


def _norm(differences, p: float):
    """Return Minkowski norms over the last axis of differences, not all of them 0, twice differentiable.

    Slopes along a difference of 0 are 0: so is the second one for 1 < p < 2, where it is infinite.
    """
    is_even = p % 2 == 0  # powers need no sizes then, which have a kink
    apart = differences != 0
    sizes = jnp.where(apart, jnp.abs(jnp.where(apart, differences, 1)), 0)
    if p == 1:
        return sizes.sum(axis=-1)
    if p == math.inf:
        return sizes.max(axis=-1)
    # A norm does not depend on what it is scaled by; so no power overflows or vanishes.
    largest = lax.stop_gradient(sizes).max(axis=-1)
    if is_even:
        powers = (differences / largest[..., None]) ** int(p)
    else:
        ratios = jnp.where(apart, sizes / largest[..., None], 1)
        powers = jnp.where(apart, ratios ** (int(p) if p.is_integer() else p), 0)
    return largest * powers.sum(axis=-1) ** (1 / p)


def displacements_to(points, x, rows, boxsize, n, *, dtype, xp=jnp):
    """Return the vectors (..., m) from x to its rows (...), to their nearest images; 0 for none."""
    points = points if len(points) else xp.zeros((1, points.shape[1]), dtype)
    is_row = (rows >= 0) & (rows < xp.asarray(n).astype(rows.dtype))
    x = x.reshape(*x.shape[:-1], *(1,) * (rows.ndim - x.ndim + 1), x.shape[-1])
    if xp is np:
        neighbors = points.astype(dtype)[np.where(is_row, rows, 0)]
        vectors = _to_nearest_image(neighbors - x.astype(dtype), boxsize, np)
    else:
        neighbors = rows_of(converted(points, dtype), jnp.where(is_row, rows, len(points)))
        vectors = _vectors_between(converted(x, dtype), neighbors, boxsize)
    return xp.where(is_row[..., None], vectors, xp.zeros_like(vectors))


def _vectors_between(x, neighbors, boxsize):
    """Return vectors to neighbors (..., m), also subnormal ones, which XLA takes for 0 on CPUs."""
    is_near = is_small(neighbors) & is_small(x)
    unit = jnp.where(is_near, unit_of_small(x.dtype), jnp.ones_like(neighbors))
    boxsize = None if boxsize is None else scaled(jnp.broadcast_to(boxsize, unit.shape), unit)
    vectors = scaled(neighbors, unit) - scaled(x, unit)
    return unscaled(_to_nearest_image(vectors, boxsize, jnp), unit)


def _to_nearest_image(vectors, boxsize, xp):
    """Return vectors to the nearest images; an axis of length 0 or inf is not periodic."""
    if boxsize is None:
        return vectors
    boxsize = xp.broadcast_to(boxsize, vectors.shape)
    is_periodic = (boxsize > 0) & (boxsize < xp.inf)
    periods = xp.where(is_periodic, boxsize, xp.ones_like(boxsize))
    return xp.where(is_periodic, vectors - xp.round(vectors / periods) * periods, vectors)


def without_slopes(values):
    """Return values that no derivative flows through: integers, too, which `allow_int` has traced."""
    if not any_traced(*jax.tree.leaves(values)):
        return values
    return jax.tree.map(lambda x: without_slope(x) if is_traced(x) else x, values)


def without_slope(x):
    """Return a traced array as `without_slopes` does."""
    if jnp.issubdtype(x.dtype, jnp.floating):
        return lax.stop_gradient(x)
    bits = jnp.dtype(f"uint{8 * x.dtype.itemsize}")
    return lax.bitcast_convert_type(lax.bitcast_convert_type(x, bits), x.dtype)
