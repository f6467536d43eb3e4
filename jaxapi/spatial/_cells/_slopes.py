"""Vectors and distances to images, as functions of the points and the cell: computed in float64."""

from functools import partial

import jax
import jax.numpy as jnp

from ..._core._dtypes import x64_on
from .._tree._slopes import norms

__all__ = ["vectors_to", "with_image_slopes"]

FLOAT64 = jnp.float64


def vectors_to(data, x, cell, rows, shifts):
    """Return the vectors (q, k, m) from queries x (q, m) to images of rows (q, k), float64; 0 to no row.

    ``data[rows] + shifts @ cell - x``, with one cell (m, m), with one of each query, or without shifts. As
    images are many cells long, float32 would lose digits. A row that there is not is ``len(data)`` or more.
    """
    is_row = rows < data.shape[0]
    points = data.astype(FLOAT64)[jnp.where(is_row, rows, 0)]
    vectors = points - x.astype(FLOAT64)[:, None, :]
    if cell is not None:
        vectors = vectors + shifts.astype(FLOAT64) @ cell.astype(FLOAT64)
    return jnp.where(is_row[..., None], vectors, 0)


@partial(jax.custom_jvp, nondiff_argnums=(6,))
def with_image_slopes(distances, data, x, cell, rows, shifts, p: float):
    """Return `distances` (q, k), which a search found, as a function of points, queries and cell.

    The arguments are those of `vectors_to`.
    """
    return distances


@with_image_slopes.defjvp
def _with_image_slopes_jvp(p, primals, tangents):
    distances, data, x, cell, rows, shifts = primals
    apart_rows = jnp.where(distances > 0, rows, len(data))  # as `_tree._slopes` does

    def recompute(data, x, cell):
        return _distances_to(data, x, cell, apart_rows, shifts, p=p, dtype=distances.dtype)

    with x64_on():
        _, slopes = jax.jvp(recompute, (data, x, cell), tangents[1:4])
    # Not `distances`, which have no derivatives: those of second order need these.
    return with_image_slopes(distances, data, x, cell, rows, shifts, p), slopes


@partial(jax.jit, static_argnames=("p", "dtype"))
def _distances_to(data, x, cell, rows, shifts, *, p: float, dtype):
    with x64_on():
        return norms(vectors_to(data, x, cell, rows, shifts), p).astype(dtype)
