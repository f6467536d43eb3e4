"""The derivatives of distances: the choice of neighbours has none, the distances to those chosen have."""

from functools import partial

import jax
import jax.numpy as jnp

from .._structure._metric import axis_distance, into_box, power_distance, root

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
    _, points_slope, x_slope, _, lengths_slope = tangents
    if lengths is None:
        _, slopes = jax.jvp(
            lambda points, x: distances_to(points, x, rows, None, p), (points, x), (points_slope, x_slope)
        )
    else:
        _, slopes = jax.jvp(
            lambda points, x, lengths: distances_to(points, x, rows, lengths, p),
            (points, x, lengths),
            (points_slope, x_slope, lengths_slope),
        )
    return distances, slopes


@partial(jax.jit, static_argnames="p")
def distances_to(points, x, rows, lengths, p: float):
    """Return the distances (q, k) from each query to its rows; 0, with derivative 0, for none."""
    points = points.astype(x.dtype)
    there = rows < points.shape[0]
    neighbours = points[jnp.where(there, rows, 0)]  # (q, k, m)
    if lengths is not None:
        x = into_box(x, lengths)
        lengths = jnp.broadcast_to(lengths, neighbours.shape)
    along = axis_distance(x[:, None, :], neighbours, lengths)
    away = there & (along > 0).any(axis=2)
    along = jnp.where(away[:, :, None], along, 1)
    total = power_distance(lambda axis: along[..., axis], along.shape[2], p)
    return jnp.where(away, root(total, p), 0)


def displacements_to(points, x, rows, lengths, n, *, dtype, xp=jnp):
    """Return the vectors (..., m) from x to its rows (...), to their nearest images; 0 for rows from n on."""
    points = points if len(points) else xp.zeros((1, points.shape[1]), dtype)
    there = rows < xp.asarray(n).astype(rows.dtype)
    x = x.astype(dtype).reshape(*x.shape[:-1], *(1,) * (rows.ndim - x.ndim + 1), x.shape[-1])
    vectors = points.astype(dtype)[xp.where(there, rows, 0)] - x
    if lengths is not None:
        periods = xp.where(lengths > 0, lengths, xp.ones_like(lengths))
        vectors = xp.where(lengths > 0, vectors - xp.round(vectors / periods) * periods, vectors)
    return xp.where(there[..., None], vectors, xp.zeros_like(vectors))
