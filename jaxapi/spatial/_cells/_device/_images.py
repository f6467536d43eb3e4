"""Points with all their images, and queries wrapped into the cell of these."""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from ...._core._dtypes import x64_on
from ...._core._programs import compiled
from ...._core._typing import Array
from ..._every_pair import longest_within
from ..._search import Search
from ..._tree._build import scale_of_box, tree_size
from ..._tree._tree import Tree
from .._images import PointsInCell, WrappedQueries, points_in_cell
from .._points import ROUNDING, ImagePoints, ImageQueries
from .._slopes import ImageRows, lengths_of, vectors_to

__all__ = [
    "Images",
    "RadiusBounds",
    "cell_shifts",
    "images_and_queries",
    "images_of",
    "in_float64",
    "measured_distances",
    "radius_bounds",
    "rows_of_tree",
    "where_active",
]


def in_float64(*static: str) -> Callable:
    """Return a decorator that compiles a function of points, queries and numbers, with x64 mode on.

    `static` are the names of its static arguments.
    """

    def decorate(function: Callable) -> Callable:
        program = compiled(function, static_argnames=static)

        def run(*inputs, **options):
            with x64_on():
                return program(*inputs, **options)

        return run

    return decorate


class Images(NamedTuple):
    """Points with all their images."""

    points: ImagePoints
    in_cell: PointsInCell
    tree: Tree  # over the points of one cell

    @property
    def as_queries(self) -> WrappedQueries:
        """The points as queries."""
        return self.in_cell.as_queries


class RadiusBounds(NamedTuple):
    """Radii (q,) with room for rounding: what lies between both is measured."""

    inner: Array  # (q,) all within are neighbors; -1 for nothing
    outer: Array  # (q,) none outside is a neighbor; -1 for nothing


def images_of(points: ImagePoints, periodic: tuple[bool, ...], search: Search) -> Images:
    """Build the tree over the points of one cell."""
    points = points._replace(n=jnp.asarray(points.n).astype(np.int32))
    in_cell = points_in_cell(points, periodic, jnp)
    reach = 2 * in_cell.size
    if points.ids is not None:
        largest_id = jnp.max(jnp.abs(points.ids.astype(np.float64)), initial=0)
        reach = jnp.maximum(reach, largest_id * in_cell.spacing)
    x = rows_of_tree(in_cell)
    corner = jnp.broadcast_to(reach, x.shape[1:])
    tree = search.engine.build(x, points.n, scale_of_box(-corner, corner))
    return Images(points, in_cell, tree)


def rows_of_tree(in_cell: PointsInCell) -> Array:
    """Return what a tree of the points is built of, with as many rows as it needs."""
    queries = in_cell.as_queries
    x = in_cell.beside_each_other(queries.inside, queries.ids)
    extra_rows = tree_size(*x.shape) - len(x)
    return jnp.pad(x, ((0, extra_rows), (0, 0)))


def images_and_queries(points: ImagePoints, queries: ImageQueries | None, periodic, search: Search):
    """Return the points with their images, and the wrapped queries: None stands for the points."""
    images = images_of(points, periodic, search)
    if queries is None:
        return images, images.as_queries
    return images, images.in_cell.queries(queries)


def radius_bounds(images: Images, queries: WrappedQueries, radius) -> RadiusBounds:
    """Return how far to search for what is within radii, () or (q,)."""
    in_cell = images.in_cell
    radius = jnp.broadcast_to(longest_within(radius), len(queries.inside))
    inner = radius * (1 - ROUNDING) - queries.rounding
    if queries.ids is not None:
        inner = jnp.minimum(inner, in_cell.spacing / 4)
        inner = jnp.where(queries.is_far, -1.0, inner)  # whose distances are not those of the tree
    return RadiusBounds(jnp.where(inner >= 0, inner, -1.0), in_cell.reach(queries, radius))


def cell_shifts(images: Images, turns, ids, rows, shift) -> Array:
    """Return the shifts (..., m) of the cell's own vectors, int32, of images that queries found.

    `turns` are the queries', `rows` what they found, `shift` by how much they were moved; 0 for no row.
    """
    turns_of_rows = images.as_queries.turns.at[rows].get(mode="fill", fill_value=0)
    is_row = rows < images.points.n
    shift = shift.astype(np.float64)
    lattice_shifts = jnp.where(is_row[..., None], shift - turns_of_rows + turns, 0)
    lattice = images.in_cell.lattice
    if lattice.has_axes:
        combination = lattice.combination[jnp.clip(ids, 0, len(lattice.vectors) - 1)]
        lattice = lattice._replace(combination=combination)
    return lattice.of_cell(lattice_shifts, images.in_cell.periodic, jnp)


def measured_distances(images: Images, x, ids, rows, shifts, p: float) -> Array:
    """Return the distances (q, k) from queries x (q, m) of clouds (q,) to images of rows; inf to no row.

    They are the same to the last bit in every program, and from both ends of a pair.
    """
    points = images.points
    cell = points.cell
    if cell is not None and cell.ndim == 3:
        cell = cell[jnp.clip(ids, 0, len(cell) - 1)]
    is_row = rows < points.n
    rows = jnp.where(is_row, rows, len(points.data))
    distances = lengths_of(vectors_to(points.data, x, cell, ImageRows(rows, shifts)), p)
    return jnp.where(is_row, distances, jnp.inf)


def where_active(is_active, bound):
    return jnp.where(is_active, bound, -jnp.ones_like(bound))
