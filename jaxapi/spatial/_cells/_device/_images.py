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
from ..._tree._powers_of_two import exponent_of, power_of_two
from ..._tree._tree import Tree
from .._images import Extent, across_of, with_clouds, wrapped_points
from .._lattice import Lattice, lattice_of
from .._points import FAR_EXPONENT, ROUNDING, SPACING_EXPONENT, ImagePoints, ImageQueries
from .._slopes import ImageRows, lengths_of, vectors_to

__all__ = [
    "Images",
    "RadiusBounds",
    "WrappedQueries",
    "cell_shifts",
    "images_and_queries",
    "images_of",
    "in_float64",
    "measured_distances",
    "radii_of",
    "radius_bounds",
    "rounding_of",
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


class WrappedQueries(NamedTuple):
    """Queries wrapped into the cell."""

    inside: Array  # (q, m) in the cell, or one column more that tells clouds apart; nan if not finite
    turns: Array  # (q, P)
    fractions: Array  # (q, P)
    lattice: Lattice  # of all, or of each query
    ids: Array | None  # (q,)
    is_far: Array  # (q,) whether a query was brought nearer
    inside_length: Array  # (q,) the largest coordinate within the cell, before it was brought nearer
    rounding: Array  # (q,) by how much a distance from the query, as it was given, may be rounded

    @property
    def is_finite(self) -> Array:
        """Whether each query (q,) is finite, and so are its turns."""
        return jnp.isfinite(self.inside).all(axis=1)

    @property
    def heights(self) -> Array:
        """The distances (..., P) between neighboring planes of the lattice."""
        return self.lattice.heights

    @property
    def across(self) -> Array:
        """The part (q, m) of each query that is orthogonal to the vectors of the lattice."""
        return across_of(self.inside[:, : self.lattice.vectors.shape[-1]], self.fractions, self.lattice)

    def of(self, rows) -> "WrappedQueries":
        """Return some of the queries."""
        return WrappedQueries(
            self.inside[rows],
            self.turns[rows],
            self.fractions[rows],
            self.lattice.of_clouds(rows),
            None if self.ids is None else self.ids[rows],
            self.is_far[rows],
            self.inside_length[rows],
            self.rounding[rows],
        )


class Images(NamedTuple):
    """Points with all their images."""

    points: ImagePoints
    tree: Tree  # over the points of one cell
    as_queries: WrappedQueries  # the points as queries
    lattice: Lattice
    extent: Extent  # of the points
    size: Array  # () of coordinates and of vectors of the lattice
    spacing: Array  # () between clouds


class RadiusBounds(NamedTuple):
    """Radii (q,) with room for rounding: what lies between both is measured."""

    inner: Array  # (q,) all within are neighbors; -1 for nothing
    outer: Array  # (q,) none outside is a neighbor; -1 for nothing


def images_of(points: ImagePoints, periodic: tuple[bool, ...], search: Search) -> Images:
    """Build the tree over the points of one cell."""
    points = points._replace(n=jnp.asarray(points.n).astype(np.int32))
    data = points.data.astype(np.float64)
    rows, m = data.shape
    data = jnp.where(jnp.arange(rows, dtype=np.int32)[:, None] < points.n, data, jnp.nan)
    cell = jnp.eye(m, dtype=np.float64) if points.cell is None else points.cell.astype(np.float64)
    lattice = lattice_of(cell, periodic, jnp)
    (x, turns, fractions), lattices = wrapped_points(data, points.ids, lattice, jnp)
    is_point = jnp.isfinite(x).all(axis=1) & jnp.isfinite(turns).all(axis=1)
    extent = Extent.of(fractions, across_of(x, fractions, lattices), is_point, jnp)
    largest = jnp.max(jnp.where(is_point[:, None], jnp.abs(x), 0), initial=0)
    vectors = jnp.where(jnp.isfinite(lattice.vectors), jnp.abs(lattice.vectors), 0)
    vectors = jnp.max(vectors.sum(axis=(-2, -1)), initial=0)
    size = largest + vectors
    size = jnp.where(size > 0, size, 1.0)
    spacing = power_of_two(exponent_of(size) + SPACING_EXPONENT, np.dtype(np.float64))
    x = jnp.where(is_point[:, None], x, jnp.nan)
    inside_length = jnp.where(is_point, jnp.abs(x).max(axis=1, initial=0), 0)
    farthest = jnp.max(jnp.where(is_point[:, None], jnp.abs(data), 0), initial=0)
    rounding = jnp.full(rows, ROUNDING * jnp.maximum(size, farthest))
    as_queries = WrappedQueries(
        x, turns, fractions, lattices, points.ids, jnp.zeros(rows, bool), inside_length, rounding
    )
    reach = 2 * size
    if points.ids is not None:
        as_queries = as_queries._replace(inside=with_clouds(x, points.ids, spacing, jnp))
        largest_id = jnp.max(jnp.abs(points.ids.astype(np.float64)), initial=0)
        reach = jnp.maximum(reach, largest_id * spacing)
    corner = jnp.broadcast_to(reach, as_queries.inside.shape[1:])
    extra_rows = tree_size(*as_queries.inside.shape) - rows
    padded = jnp.pad(as_queries.inside, ((0, extra_rows), (0, 0)))
    tree = search.engine.build(padded, jnp.asarray(points.n, np.int32), scale_of_box(-corner, corner))
    return Images(points, tree, as_queries, lattice, extent, size, spacing)


def _wrapped_queries(images: Images, queries: ImageQueries) -> WrappedQueries:
    """Return queries wrapped into the cell.

    In a tree of clouds, those so far away that another cloud may be nearer than their own are brought nearer.
    From there, too, all points of a cloud are equally near, to the last bit.
    """
    x = queries.x.astype(np.float64)
    (inside, turns, fractions), lattices = wrapped_points(x, queries.ids, images.lattice, jnp)
    is_finite = (jnp.isfinite(inside) & jnp.isfinite(x)).all(axis=1) & jnp.isfinite(turns).all(axis=1)
    inside_length = jnp.abs(inside).max(axis=1, initial=0)
    rounding = ROUNDING * jnp.where(is_finite, jnp.abs(x).max(axis=1, initial=0), 0)
    rounding = jnp.maximum(rounding, ROUNDING * images.size)
    is_far = jnp.zeros(len(x), bool)
    if queries.ids is not None:
        far = images.size * 2.0**FAR_EXPONENT
        is_far = is_finite & (inside_length > far)
        inside = jnp.clip(inside, -far, far)
        inside = with_clouds(inside, queries.ids, images.spacing, jnp)
    inside = jnp.where(is_finite[:, None], inside, jnp.nan)
    return WrappedQueries(inside, turns, fractions, lattices, queries.ids, is_far, inside_length, rounding)


def images_and_queries(points: ImagePoints, queries: ImageQueries | None, periodic, search: Search):
    """Return the points with their images, and the wrapped queries: None stands for the points."""
    images = images_of(points, periodic, search)
    if queries is None:
        return images, images.as_queries
    return images, _wrapped_queries(images, queries)


def radii_of(images: Images, queries: WrappedQueries, radius) -> Array:
    """Return radii (q,) as float64, within which no other cloud is; -1 for those that reach nothing."""
    radius = jnp.broadcast_to(longest_within(radius), len(queries.inside))
    radius = jnp.where(radius >= 0, radius, -1.0)
    if queries.ids is None:
        return radius
    # A query far away has all points of its cloud within its radius, or none.
    all_or_none = jnp.where(queries.inside_length <= radius, jnp.inf, -1.0)
    return jnp.minimum(jnp.where(queries.is_far, all_or_none, radius), images.spacing / 4)


def radius_bounds(images: Images, queries: WrappedQueries, radii) -> RadiusBounds:
    """Return how far to search for what is within radii (q,)."""
    rounding = rounding_of(images, queries)
    inner = radii * (1 - ROUNDING) - rounding
    outer = jnp.where(radii >= 0, radii * (1 + ROUNDING) + rounding, -1.0)
    inner = jnp.where(inner >= 0, inner, -1.0)
    if queries.ids is not None:
        outer = jnp.minimum(outer, images.spacing / 2)
    return RadiusBounds(
        inner=jnp.where(queries.is_far, radii, inner), outer=jnp.where(queries.is_far, radii, outer)
    )


def rounding_of(images: Images, queries: WrappedQueries) -> Array:
    """Return by how much distances (q,) from queries to any of the points may be rounded."""
    return jnp.maximum(queries.rounding, jnp.max(images.as_queries.rounding, initial=0))


def cell_shifts(images: Images, turns, ids, rows, shift, periodic) -> Array:
    """Return the shifts (..., m) of the cell's own vectors, int32, of images that queries found.

    `turns` are the queries', `rows` what they found, `shift` by how much they were moved; 0 for no row.
    """
    turns_of_rows = images.as_queries.turns.at[rows].get(mode="fill", fill_value=0)
    is_row = rows < images.points.n
    shift = shift.astype(np.float64)
    lattice_shifts = jnp.where(is_row[..., None], shift - turns_of_rows + turns, 0)
    lattice = images.lattice
    if lattice.has_axes:
        combination = lattice.combination[jnp.clip(ids, 0, len(lattice.vectors) - 1)]
        lattice = lattice._replace(combination=combination)
    return lattice.of_cell(lattice_shifts, periodic, jnp)


def measured_distances(images: Images, queries: ImageQueries, rows, shifts, p: float) -> Array:
    """Return the distances (q, k) from queries, as they were given, to images of rows; inf to no row.

    They are the same to the last bit in every program, and from both ends of a pair.
    """
    points = images.points
    cell = points.cell
    if cell is not None and cell.ndim == 3:
        cell = cell[jnp.clip(queries.ids, 0, len(cell) - 1)]
    is_row = rows < points.n
    rows = jnp.where(is_row, rows, len(points.data))
    distances = lengths_of(vectors_to(points.data, queries.x, cell, ImageRows(rows, shifts)), p)
    return jnp.where(is_row, distances, jnp.inf)


def where_active(is_active, bound):
    return jnp.where(is_active, bound, -jnp.ones_like(bound))
