"""The derivatives of distances: the choice of neighbours has none, the distances to those chosen have."""

import math
from functools import partial

import jax
import jax.numpy as jnp
from jax import lax

from ..._core._dtypes import x64_for
from .._structure._metric import axis_distance, into_box

__all__ = ["displacements_to", "distances_to", "with_slopes"]


@partial(jax.custom_jvp, nondiff_argnums=(5,))
def with_slopes(distances, points, x, rows, lengths, p: float):
    """Return `distances` (q, k), which a search found, as a function of the points (n, m) and of x (q, m).

    `rows` (q, k) are the neighbours, n for none. Derivatives also flow to the `lengths` (m,) of the box.
    """
    return distances


@with_slopes.defjvp
def _with_slopes_jvp(p, primals, tangents):
    distances, points, x, rows, lengths = primals

    def recompute(points, x, lengths):
        return distances_to(points, x, rows, lengths, p)

    _, slopes = jax.jvp(recompute, (points, x, lengths), (*tangents[1:3], tangents[4]))
    # Not `distances`, which have no derivatives: those of second order need these.
    return with_slopes(distances, points, x, rows, lengths, p), slopes


@partial(jax.jit, static_argnames="p")
def distances_to(points, x, rows, lengths, p: float):
    """Return the distances (q, k) from each query to its rows; 0, with derivatives 0, for none and at 0."""
    with x64_for(x.dtype):  # else a Python number of `p` has 32 bits
        there = rows < points.shape[0]
        neighbours = points.astype(x.dtype)[jnp.where(there, rows, 0)]  # (q, k, m)
        if lengths is not None:
            x = into_box(x, lengths)
            lengths = jnp.broadcast_to(lengths, neighbours.shape)
        along = axis_distance(x[:, None, :], neighbours, lengths)
        away = there & (along > 0).any(axis=2)
        along = jnp.where(away[:, :, None], along, 1)
        return jnp.where(away, _norm(along, p), 0)


def _norm(along, p: float):
    """Return Minkowski norms over the last axis of coordinates >= 0, not all 0, twice differentiable.

    For 1 < p < 2 the second derivative along a coordinate of 0, which is infinite, is 0.
    """
    if p == 1:
        return along.sum(axis=-1)
    if p == math.inf:
        return along.max(axis=-1)
    # A norm does not depend on what it is scaled by; so no power overflows or vanishes.
    largest = lax.stop_gradient(along).max(axis=-1)
    ratios, power = along / largest[..., None], int(p) if p.is_integer() else p
    there = (ratios > 0) | (p >= 2)
    powers = jnp.where(there, jnp.where(there, ratios, 1) ** power, 0)
    return largest * powers.sum(axis=-1) ** (1 / p)


def displacements_to(points, x, rows, lengths, n, *, dtype, xp=jnp):
    """Return the vectors (..., m) from x to its rows (...), to their nearest images; 0 for none."""
    points = points if len(points) else xp.zeros((1, points.shape[1]), dtype)
    there = (rows >= 0) & (rows < xp.asarray(n).astype(rows.dtype))
    x = x.astype(dtype).reshape(*x.shape[:-1], *(1,) * (rows.ndim - x.ndim + 1), x.shape[-1])
    vectors = points.astype(dtype)[xp.where(there, rows, 0)] - x
    if lengths is not None:
        lengths = xp.broadcast_to(lengths, vectors.shape)
        periods = xp.where(lengths > 0, lengths, xp.ones_like(lengths))
        vectors = xp.where(lengths > 0, vectors - xp.round(vectors / periods) * periods, vectors)
    return xp.where(there[..., None], vectors, xp.zeros_like(vectors))
