"""Interpolants as functions of arrays alone: one system of equations, one place.

The interpolant is ``K(x, y) a + P(x) b``, of kernels K around the points y and monomials P. Its coefficients
solve ``(K(y, y) + smoothing I) a + P(y) b = d`` and ``P(y)^T a = 0``.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .._core._dtypes import x64_for
from .._core._programs import compiled
from .._core._typing import Array
from ._basis import Basis, squared_distance
from ._combination import combination, matmul, right_sides, saddle

__all__ = ["Coefficients", "Data", "coefficients_of", "evaluate", "evaluate_locally"]
__all__ += ["polynomial_domain", "rank_tolerance"]

_NUMBERS_AT_ONCE = 2**25  # of matrices that are held


class Data(NamedTuple):
    """What an interpolant goes through, or near: arrays of jax, or of NumPy on the host.

    There they may have an axis in front, of several interpolants.
    """

    points: Any  # (k, m)
    values: Any  # (k, columns), real
    smoothing: Any  # (k,)
    mask: Any  # (k,), which rows count; None: all do

    def rows(self, xp, rows) -> "Data":
        """Return some rows, of which those that do not exist do not count."""
        count = self.points.shape[0]
        mask = rows < count
        rows = xp.minimum(rows, count - 1)
        if self.mask is not None:
            mask &= self.mask[rows]
        return Data(self.points[rows], self.values[rows], self.smoothing[rows], mask)

    def astype(self, dtype) -> "Data":
        """Return the numbers in another dtype."""
        points = self.points.astype(dtype)
        values = self.values.astype(dtype)
        smoothing = self.smoothing.astype(dtype)
        return Data(points, values, smoothing, self.mask)

    def zeroed_outside_mask(self, xp) -> "Data":
        """Return the data with zeros in rows that do not count."""
        if self.mask is None:
            return self
        points = xp.where(self.mask[..., None], self.points, 0)
        values = xp.where(self.mask[..., None], self.values, 0)
        smoothing = xp.where(self.mask, self.smoothing, 0)
        return Data(points, values, smoothing, self.mask)


class Coefficients(NamedTuple):
    """What makes an interpolant of the basis; places are shifted and scaled for the monomials."""

    shift: Any  # (m,)
    scale: Any  # (m,)
    kernels: Any  # (k, columns)
    monomials: Any  # (monomials, columns)

    def singular(self, values) -> Array:
        """Tell whether finite values have coefficients that are not."""
        finite = jnp.isfinite(self.kernels).all() & jnp.isfinite(self.monomials).all()
        return ~finite & jnp.isfinite(values).all()


class System(NamedTuple):
    """The symmetric matrix of the equations, and how places come into their units."""

    kernels: Array  # (k, k), in units, smoothing included
    monomials: Array  # (k, monomials)
    unit: Array  # () of kernels
    shift: Array  # (m,) of places, for monomials
    scale: Array  # (m,)
    is_singular: Array  # (): points without smoothing coincide, or monomials depend on each other

    def matrix(self) -> Array:
        """Return the whole matrix (k + monomials, k + monomials)."""
        return saddle(self.kernels, self.monomials)

    def nan_if_singular(self, values) -> Array:
        """Return what was solved for; nan, as are its derivatives, where there is no solution."""
        # A library's solver may lose a nan that is in the matrix, so this does not rest on it.
        return values * jnp.where(self.is_singular, jnp.nan, jnp.ones((), values.dtype))


def polynomial_domain(xp, data: Data) -> tuple[Any, Any]:
    """Return the shift and the scale that bring the points between -1 and 1 along each axis."""
    if data.mask is None:
        lowest = xp.min(data.points, axis=-2)
        highest = xp.max(data.points, axis=-2)
    else:
        mask = data.mask[..., None]
        lowest = xp.min(data.points, axis=-2, where=mask, initial=xp.inf)
        highest = xp.max(data.points, axis=-2, where=mask, initial=-xp.inf)
    scale = (highest - lowest) / 2
    return (highest + lowest) / 2, xp.where(scale == 0, 1, scale)


def system_of(basis: Basis, epsilon, data: Data) -> System:
    """Return the equations of data that are finite; in those that do not count coefficients are 0."""
    shift, scale = lax.stop_gradient(polynomial_domain(jnp, data))
    on_diagonal = np.eye(len(data.points), dtype=bool)
    squared = squared_distance(data.points[:, None], data.points, epsilon)
    # Points that coincide without smoothing make the matrix singular, which rounding may hide.
    exact = data.smoothing == 0
    if data.mask is not None:
        exact &= data.mask
    coincide = jnp.any((squared == 0) & ~on_diagonal & exact[:, None] & exact)
    kernels = basis.kernel_of(squared)
    monomials = basis.monomials(jnp, (data.points - shift) / scale)
    if data.mask is not None:
        kernels = jnp.where(data.mask[:, None] & data.mask, kernels, 0)
        monomials = jnp.where(data.mask[:, None], monomials, 0)
    # Kernels may be many orders of magnitude larger or smaller than monomials: the coefficients of kernels
    # are computed in another unit, which changes no solution.
    unit = jnp.maximum(_largest(kernels), _largest(data.smoothing))
    unit = jnp.where(unit > 0, unit, 1)
    diagonal = data.smoothing / unit
    if data.mask is not None:
        diagonal = jnp.where(data.mask, diagonal, 1)
    kernels = kernels / unit + jnp.where(on_diagonal, diagonal, 0)
    is_singular = coincide | are_dependent(monomials)
    # So the test of the rank comes before the solution: see `available_after`.
    kernels = jnp.where(is_singular, 0, kernels)
    return System(kernels, monomials, unit, shift, scale, is_singular)


def are_dependent(monomials):
    """Tell whether the monomials (k, monomials) at the points depend on each other, up to rounding.

    Elimination does not tell: where rounding leaves a pivot other than 0 it returns some numbers.
    """
    count = monomials.shape[1]
    if count < 2:  # the constant alone
        return np.False_
    sizes = lax.platform_dependent(
        lax.stop_gradient(monomials), cpu=_singular_values, default=_singular_values_by_triangle
    )
    return ~(sizes[count - 1] > rank_tolerance(monomials) * sizes[0])  # nan are, too


def rank_tolerance(monomials) -> float:
    """Return which part of the largest singular value is none: that of `numpy.linalg.matrix_rank`.

    In float32 it does not grow with the number of points, which would refuse thousands in a narrow band.
    """
    rows, count = monomials.shape[-2:]
    most_rows = rows if monomials.dtype == np.float64 else 8 * count
    return max(8 * count, most_rows) * float(jnp.finfo(monomials.dtype).eps)


def _singular_values(matrix):
    return jnp.linalg.svd(matrix, compute_uv=False)


def _singular_values_by_triangle(matrix):
    """Return the singular values of a tall matrix by its triangle: GPUs decompose small ones in batches."""
    return _singular_values(jnp.linalg.qr(matrix, mode="r"))


def _largest(x):
    return jnp.max(jnp.abs(lax.stop_gradient(x)), initial=0)


def solve(basis: Basis, epsilon, data: Data) -> Coefficients:
    """Return the coefficients; nan in the columns that have none."""
    data = data.zeroed_outside_mask(jnp)
    system = system_of(basis, epsilon, data)
    solution = jnp.linalg.solve(system.matrix(), right_sides(data.values, basis.monomial_count))
    solution = jnp.where(jnp.isfinite(solution).all(axis=0), system.nan_if_singular(solution), jnp.nan)
    kernels, monomials = jnp.split(solution, [len(data.points)])
    return Coefficients(system.shift, system.scale, kernels / system.unit, monomials)


def value_at(basis: Basis, epsilon, points, coefficients: Coefficients, x):
    """Return the interpolant (columns,) at one place (m,)."""
    kernels = basis.kernel_values(x, points, epsilon)
    monomials = basis.monomials(jnp, (x - coefficients.shift) / coefficients.scale)
    return _product(kernels, coefficients.kernels) + _product(monomials, coefficients.monomials)


@jax.custom_jvp
def _product(row, columns):
    """Return ``row @ columns``, (columns,)."""
    if columns.shape[1] != 1:
        return matmul(row, columns)
    # A GPU adds up a single column while it computes the row, which then is not stored. XLA's program of that
    # for the CPU takes a hundred times as long as one that stores the rows of all places.
    return lax.platform_dependent(row, columns, cpu=matmul, default=_by_sum)


@_product.defjvp
def _slope_of_product(primals, tangents):
    row, columns = primals
    d_row, d_columns = tangents
    return _product(row, columns), _product(d_row, columns) + _product(row, d_columns)


def _by_sum(row, columns):
    return jnp.sum(row[:, None] * columns, axis=0)


def _program(function):
    """Compile a function of static arguments and arrays, which keep their 64 bits."""
    program = compiled(function, static_argnames=("basis", "dtype"))

    @functools.wraps(function)
    def run(*arrays, basis, dtype):
        dtypes = [x.dtype for x in jax.tree.leaves(arrays)]
        with x64_for(dtype, *dtypes):
            return program(*arrays, basis=basis, dtype=dtype)

    return run


@_program
def coefficients_of(data: Data, epsilon, *, basis: Basis, dtype) -> tuple[Coefficients, Any]:
    """Return the coefficients of all data together, and whether the system is singular."""
    data = data.astype(dtype)
    epsilon = epsilon.astype(dtype)
    coefficients = solve(basis, epsilon, data)
    return coefficients, coefficients.singular(data.zeroed_outside_mask(jnp).values)


@_program
def evaluate(data: Data, epsilon, coefficients: Coefficients, x, *, basis: Basis, dtype):
    """Return the interpolant of all data (q, columns) at places (q, m)."""
    data = data.astype(dtype)
    epsilon = epsilon.astype(dtype)
    points = data.zeroed_outside_mask(jnp).points
    coefficients = jax.tree.map(lambda array: array.astype(dtype), coefficients)

    def at(x):
        return value_at(basis, epsilon, points, coefficients, x)

    return _in_pieces(at, x.astype(dtype), len(points))


@_program
def evaluate_locally(data: Data, epsilon, rows, x, *, basis: Basis, dtype):
    """Return at each place (q, m) the interpolant of its neighbors (q, k), and which are singular."""
    data = data.astype(dtype)
    epsilon = epsilon.astype(dtype)

    def at(rows_and_x):
        rows, x = rows_and_x
        near = data.rows(jnp, rows).zeroed_outside_mask(jnp)
        system = system_of(basis, epsilon, near)
        kernels_at_x = jnp.where(near.mask, basis.kernel_values(x, near.points, epsilon), 0) / system.unit
        monomials_at_x = basis.monomials(jnp, (x - system.shift) / system.scale)
        value = combination(system.kernels, system.monomials, kernels_at_x, monomials_at_x, near.values)
        value = system.nan_if_singular(value)
        is_given_finite = jnp.isfinite(near.values).all() & jnp.isfinite(x).all()
        is_singular = is_given_finite & ~jnp.isfinite(value).all()
        return value, is_singular

    size = rows.shape[1] + basis.monomial_count
    return _in_pieces(at, (rows, x.astype(dtype)), size * size)


def _in_pieces(function, places, numbers_of_place: int):
    """Return a function of one place at all of them, as many at a time as memory holds the numbers of.

    Derivatives in reverse compute the pieces again.
    """
    count = jax.tree.leaves(places)[0].shape[0]
    piece_size = max(1, _NUMBERS_AT_ONCE // max(numbers_of_place, 1))
    if count <= piece_size:
        return jax.vmap(function)(places)
    # Not by the batch_size of `lax.map`, which cannot put together pieces of results without columns.
    function_of_piece = jax.vmap(jax.checkpoint(function))
    piece_count = count // piece_size
    whole = piece_count * piece_size

    def in_pieces(array):
        return array[:whole].reshape(piece_count, piece_size, *array.shape[1:])

    def joined(array):
        return array.reshape(whole, *array.shape[2:])

    pieces = jax.tree.map(in_pieces, places)
    values = jax.tree.map(joined, lax.map(function_of_piece, pieces))
    if whole == count:
        return values
    rest_of_places = jax.tree.map(lambda array: array[whole:], places)
    rest = function_of_piece(rest_of_places)
    return jax.tree.map(lambda *parts: jnp.concatenate(parts), values, rest)
