"""Vectors and distances to images, as functions of the points and the cell: computed in float64."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ..._core._dtypes import x64_on
from ..._core._programs import compiled
from .._tree._slopes import norms
from ._points import ImagePoints

__all__ = ["ImageRows", "displacements", "vectors_to", "with_image_slopes"]

FLOAT64 = jnp.float64


class ImageRows(NamedTuple):
    """The images that each query is to be measured to."""

    rows: Any  # (q, k) of the points, ``len(data)`` or more for none
    shifts: Any  # (q, k, m) of the cell's own vectors; None without a cell


def vectors_to(data, x, cell, images: ImageRows):
    """Return the vectors (q, k, m) from queries x (q, m) to images, float64; 0 to no row.

    ``data[rows] + shifts @ cell - x``, with one cell (m, m), with one of each query, or without shifts. As
    images are many cells long, float32 would lose digits.
    """
    is_row = images.rows < data.shape[0]
    points = data.astype(FLOAT64)[jnp.where(is_row, images.rows, 0)]
    vectors = points - x.astype(FLOAT64)[:, None, :]
    if cell is not None:
        cell = cell.astype(FLOAT64) if cell.ndim == 2 else cell.astype(FLOAT64)[:, None]
        # XLA multiplies such narrow matrices many times slower than it adds their products.
        vectors = vectors + (images.shifts.astype(FLOAT64)[..., None] * cell).sum(axis=-2)
    return jnp.where(is_row[..., None], vectors, 0)


@partial(compiled, static_argnames="dtype")
def displacements(points: ImagePoints, x, images: ImageRows, *, dtype):
    """Return the vectors (q, k, m) from queries to images; 0 to rows that do not count."""
    with x64_on():
        data = points.data
        cell = points.cell
        rows, shifts = images
        is_row = (rows >= 0) & (rows < jnp.asarray(points.n).astype(rows.dtype))
        rows = jnp.where(is_row, rows, len(data))
        if not len(data):
            return jnp.zeros((*rows.shape, x.shape[1]), dtype)
        if cell is not None and cell.ndim == 3:  # each vector has the cell of the cloud that it ends in
            ids_of_rows = points.ids[jnp.minimum(rows, len(data) - 1)]
            cells = cell.astype(jnp.float64)[jnp.clip(ids_of_rows, 0, len(cell) - 1)]
            along_cell = (shifts.astype(jnp.float64)[..., None] * cells).sum(axis=-2)
            vectors = vectors_to(data, x, None, ImageRows(rows, None))
            vectors = vectors + jnp.where(is_row[..., None], along_cell, 0)
        else:
            vectors = vectors_to(data, x, cell, ImageRows(rows, shifts))
        return vectors.astype(dtype)


@partial(jax.custom_jvp, nondiff_argnums=(5,))
def with_image_slopes(distances, data, x, cell, images: ImageRows, p: float):
    """Return `distances` (q, k), which a search found, as a function of points, queries and cell.

    The other arguments are those of `vectors_to`.
    """
    return distances


@with_image_slopes.defjvp
def _with_image_slopes_jvp(p, primals, tangents):
    distances, data, x, cell, images = primals
    # A distance of 0 has no slope, as in `_tree._slopes`: the image is left out.
    images_apart = images._replace(rows=jnp.where(distances > 0, images.rows, len(data)))

    def recompute(data, x, cell):
        return _distances_to(data, x, cell, images_apart, p=p, dtype=distances.dtype)

    with x64_on():
        _, slopes = jax.jvp(recompute, (data, x, cell), tangents[1:4])
    # Not `distances`, which have no derivatives: those of second order need these.
    return with_image_slopes(distances, data, x, cell, images, p), slopes


@partial(jax.jit, static_argnames=("p", "dtype"))
def _distances_to(data, x, cell, images: ImageRows, *, p: float, dtype):
    with x64_on():
        return norms(vectors_to(data, x, cell, images), p).astype(dtype)
