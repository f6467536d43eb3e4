"""Vectors and distances to images, as functions of the points and the cell: computed in float64."""

import functools
import math
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ..._core._dtypes import x64_on
from ..._core._programs import compiled
from ..._core._quotients import root, rounded
from ..._core._typing import Array
from .._tree._powers_of_two import exponent_of, times_power_of_two
from .._tree._slopes import norms, rows_of
from ._points import ImagePoints

__all__ = ["ImageRows", "displacements", "lengths_of", "sum_in_order", "vectors_to", "with_image_slopes"]

FLOAT64 = jnp.float64


class ImageRows(NamedTuple):
    """The images that each query is to be measured to."""

    rows: Any  # (q, k) of the points, ``len(data)`` or more for none
    shifts: Any  # (q, k, m) of the cell's own vectors; None without a cell


def vectors_to(data, x, cell, images: ImageRows):
    """Return the vectors (q, k, m) from queries x (q, m) to images, float64; 0 to no row.

    ``data[rows] + shifts @ cell - x``, with one cell (m, m), with one of each query, or without shifts. As
    images are many cells long, float32 would lose digits. Every program rounds them alike.
    """
    is_row = images.rows < data.shape[0]
    points = rows_of(data.astype(FLOAT64), images.rows)
    vectors = points - x.astype(FLOAT64)[:, None, :]
    if cell is not None:
        cell = cell.astype(FLOAT64) if cell.ndim == 2 else cell.astype(FLOAT64)[:, None]
        vectors = vectors + _along_cell(images.shifts, cell)
    return jnp.where(is_row[..., None], vectors, 0)


def _along_cell(shifts, cell) -> Array:
    """Return ``shifts @ cell`` (..., m), with one cell (m, m) or with one of each.

    The rows are added one by one. XLA multiplies such narrow matrices many times slower.
    """
    products = rounded(shifts.astype(FLOAT64)[..., None] * cell)
    return sum_in_order(products, axis=-2)


def sum_in_order(terms, axis: int) -> Array:
    """Return the sum of a few terms along an axis, which every program adds in the same order."""
    return functools.reduce(jnp.add, jnp.moveaxis(terms, axis, 0))


def lengths_of(vectors, p: float) -> Array:
    """Return the lengths of vectors (..., m) by Minkowski's p, which every program rounds alike."""
    sizes = jnp.abs(vectors)
    largest = sizes.max(axis=-1)
    if p == math.inf:
        return largest
    if p == 1:
        return sum_in_order(sizes, axis=-1)
    # A length does not depend on what it is scaled by; so no power overflows or vanishes. Scaled by a power
    # of two, nothing is rounded.
    exponent = exponent_of(largest)
    ratios = times_power_of_two(sizes, -exponent[..., None])
    total = sum_in_order(rounded(ratios ** (int(p) if p.is_integer() else p)), axis=-1)
    length = root(total) if p == 2 else total ** (1 / p)
    return times_power_of_two(length, exponent)


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
            vectors = vectors_to(data, x, None, ImageRows(rows, None))
            vectors = vectors + jnp.where(is_row[..., None], _along_cell(shifts, cells), 0)
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
