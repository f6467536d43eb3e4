"""Interpolants in memory of the host, by NumPy and its LAPACK: nothing is compiled.

A set of neighbors that many places share is solved once. The work is cut into pieces that stay in the cache
of a core, and threads do one piece each.
"""

from typing import Any, NamedTuple

import jax
import numpy as np

from .._interop import aligned_empty, all_in_memory
from ..spatial._scipy._threads import in_threads, thread_count
from ._basis import KERNELS, ZERO_AT_ZERO, Basis
from ._systems import Coefficients, Data, polynomial_domain, rank_tolerance

__all__ = ["are_many_places", "evaluate_locally_on_host", "evaluate_on_host", "in_memory", "solve_on_host"]

_NUMBERS_IN_CACHE = 2**20  # of the matrices of a piece
_KERNELS_IN_CACHE = 2**16  # that are computed at a time
_KERNELS_PER_NEIGHBOR = 8  # that are computed while a tree finds a neighbor
# LAPACK solves larger systems on several cores, which threads would fight for.
_MOST_EQUATIONS_OF_ONE_CORE = 200


def in_memory(*trees: Any) -> Any:
    """Return pytrees with NumPy's arrays of the host's memory; None if an array is not there."""
    leaves, structure = jax.tree.flatten(trees)
    arrays = all_in_memory(leaves)
    return None if arrays is None else jax.tree.unflatten(structure, arrays)


# Kernels


def _coordinates(points: np.ndarray) -> np.ndarray:
    """Return the coordinates (m, ...) of points (..., m)."""
    return np.ascontiguousarray(np.moveaxis(points, -1, 0))


def _squared_distances(x: np.ndarray, y: np.ndarray, epsilon: np.ndarray) -> np.ndarray:
    """Return the squares of distances times epsilon between coordinates that broadcast, (m, ...) each."""
    total = np.zeros(np.broadcast_shapes(x.shape[1:], y.shape[1:]), x.dtype)
    for first, second in zip(x, y, strict=True):
        difference = first - second
        if epsilon != 1:
            difference *= epsilon
        difference *= difference
        total += difference
    return total


def _kernels_of(basis: Basis, squared: np.ndarray) -> np.ndarray:
    """Return the kernels at squared distances."""
    kernels = KERNELS[basis.kernel](np, squared)
    if basis.kernel in ZERO_AT_ZERO:
        is_apart = squared > 0
        if not is_apart.all():
            kernels[~is_apart] = 0
    return kernels


# Systems of equations


class _System(NamedTuple):
    """The symmetric matrices of equations, and how places come into their units."""

    matrix: np.ndarray  # (..., k + monomials, k + monomials), kernels in units, smoothing included
    unit: np.ndarray  # (...) of kernels
    shift: np.ndarray  # (..., m) of places, for monomials
    scale: np.ndarray  # (..., m)
    is_singular: np.ndarray  # (...): points without smoothing coincide, or monomials depend on each other


def _system_of(basis: Basis, epsilon: np.ndarray, data: Data) -> _System:
    """Return the equations of data; in those that do not count coefficients are 0."""
    *batch, count, _ = data.points.shape
    equation_count = count + basis.monomial_count
    shift, scale = polynomial_domain(np, data)
    monomials = basis.monomials(np, (data.points - shift[..., None, :]) / scale[..., None, :])
    if data.mask is not None:
        monomials = np.where(data.mask[..., None], monomials, 0)
    matrix = np.zeros((*batch, equation_count, equation_count), data.points.dtype)
    kernels = matrix[..., :count, :count]
    coincide = _fill_kernels(basis, epsilon, data, kernels)
    matrix[..., :count, count:] = monomials
    matrix[..., count:, :count] = np.swapaxes(monomials, -1, -2)
    # Kernels may be many orders of magnitude larger or smaller than monomials: the coefficients of kernels
    # are computed in another unit, which changes no solution.
    unit = np.maximum(_largest(kernels), np.max(data.smoothing, axis=-1, initial=0))
    unit = np.where(unit > 0, unit, 1)
    kernels /= unit[..., None, None]
    diagonal = data.smoothing / unit[..., None]
    if data.mask is not None:
        diagonal = np.where(data.mask, diagonal, 1)
    rows = np.arange(count)
    kernels[..., rows, rows] += diagonal
    is_singular = coincide | _are_dependent(monomials)
    matrix[is_singular] = np.eye(equation_count)  # which LAPACK solves without an error
    return _System(matrix, unit, shift, scale, is_singular)


def _largest(kernels: np.ndarray) -> np.ndarray:
    highest = np.max(kernels, axis=(-1, -2), initial=0)
    lowest = np.min(kernels, axis=(-1, -2), initial=0)
    return np.maximum(highest, -lowest)


def _fill_kernels(basis: Basis, epsilon: np.ndarray, data: Data, kernels: np.ndarray) -> np.ndarray:
    """Write the kernels between points (..., k, k); tell where points without smoothing coincide."""
    coordinates = _coordinates(data.points)
    *batch, count, _ = data.points.shape
    is_exact = data.smoothing == 0
    if data.mask is not None:
        is_exact &= data.mask
    coincide = np.zeros(batch, bool)
    for rows in _pieces(count, _KERNELS_IN_CACHE // coordinates[0].size):
        squared = _squared_distances(coordinates[..., rows, None], coordinates[..., None, :], epsilon)
        kernels[..., rows, :] = _kernels_of(basis, squared)
        is_zero = squared == 0
        numbers = np.arange(rows.start, rows.stop)
        is_zero[..., numbers - rows.start, numbers] = False
        if is_zero.any():
            is_zero &= is_exact[..., rows, None] & is_exact[..., None, :]
            coincide |= is_zero.any(axis=(-1, -2))
    if data.mask is not None:
        kernels[~(data.mask[..., None] & data.mask[..., None, :])] = 0
    return coincide


def _are_dependent(monomials: np.ndarray) -> np.ndarray:
    """Tell whether monomials (..., k, monomials) depend on each other, as `_systems.are_dependent` does."""
    *batch, _, count = monomials.shape
    if count < 2:  # the constant alone
        return np.zeros(batch, bool)
    is_finite = np.isfinite(monomials).all(axis=(-1, -2))
    sizes = np.linalg.svd(np.where(is_finite[..., None, None], monomials, 0), compute_uv=False)
    return ~(sizes[..., count - 1] > rank_tolerance(monomials) * sizes[..., 0])


def _solved(basis: Basis, epsilon: np.ndarray, data: Data) -> tuple[Coefficients, np.ndarray]:
    """Return coefficients, nan in the columns that have none, and which systems (...) are singular."""
    data = data.zeroed_outside_mask(np)
    *batch, count, column_count = data.values.shape
    with np.errstate(all="ignore"):
        system = _system_of(basis, epsilon, data)
        right_sides = np.zeros((*batch, count + basis.monomial_count, column_count), data.values.dtype)
        right_sides[..., :count, :] = data.values
        solution = _solutions(system.matrix, right_sides)
        has_none = system.is_singular[..., None] | ~np.isfinite(solution).all(axis=-2)
        solution = np.where(has_none[..., None, :], np.nan, solution)
        kernels = solution[..., :count, :] / system.unit[..., None, None]
    is_singular = has_none.any(axis=-1) & np.isfinite(data.values).all(axis=(-1, -2))
    return Coefficients(system.shift, system.scale, kernels, solution[..., count:, :]), is_singular


def _solutions(matrices: np.ndarray, right_sides: np.ndarray) -> np.ndarray:
    """Return solutions; nan for the matrices in which elimination finds no pivot."""
    try:
        return np.linalg.solve(matrices, right_sides)
    except np.linalg.LinAlgError:
        if matrices.ndim == 2:
            return np.full_like(right_sides, np.nan)
        pairs = zip(matrices, right_sides, strict=True)
        return np.stack([_solutions(matrix, right_side) for matrix, right_side in pairs])


# All data in one system


def solve_on_host(
    data: Data, epsilon: np.ndarray, *, basis: Basis, dtype: np.dtype
) -> tuple[Coefficients, bool]:
    """Return the coefficients of all data together, and whether the system is singular."""
    coefficients, is_singular = _solved(basis, epsilon.astype(dtype), data.astype(dtype))
    return coefficients, bool(is_singular)


def evaluate_on_host(
    data: Data,
    epsilon: np.ndarray,
    coefficients: Coefficients,
    x: np.ndarray,
    *,
    basis: Basis,
    dtype: np.dtype,
) -> np.ndarray:
    """Return the interpolant of all data (q, columns) at places (q, m)."""
    coordinates = _coordinates(data.astype(dtype).zeroed_outside_mask(np).points)
    epsilon = epsilon.astype(dtype)
    x = x.astype(dtype)
    coefficients = jax.tree.map(lambda array: array.astype(dtype), coefficients)
    values = aligned_empty((len(x), data.values.shape[1]), dtype)
    with np.errstate(all="ignore"):
        monomials = basis.monomials(np, (x - coefficients.shift) / coefficients.scale)
        np.matmul(monomials, coefficients.monomials, out=values)
    places = _coordinates(x)

    def add_kernels(piece: slice) -> None:
        with np.errstate(all="ignore"):
            squared = _squared_distances(places[:, piece, None], coordinates[:, None], epsilon)
            values[piece] += _kernels_of(basis, squared) @ coefficients.kernels

    point_count = coordinates.shape[1]
    pieces = _pieces(len(x), _KERNELS_IN_CACHE // point_count)
    in_threads(add_kernels, pieces, thread_count(None, len(x), point_count // _KERNELS_PER_NEIGHBOR))
    return values


def _pieces(count: int, size: int) -> list[slice]:
    size = max(1, size)
    return [slice(first, min(first + size, count)) for first in range(0, count, size)]


# A system for each place


class _Neighborhoods(NamedTuple):
    """The sets of neighbors that places have, each once."""

    rows: np.ndarray  # (sets, k), ascending
    set_of_place: np.ndarray  # (q,)

    @classmethod
    def of(cls, rows: np.ndarray) -> "_Neighborhoods":
        """Return the sets of the neighbors (q, k) of places."""
        rows = np.sort(rows, axis=1)
        # NumPy compares the bytes of a row at once, ten times as fast as number by number with `axis=0`.
        row_dtype = np.dtype((np.void, rows.shape[1] * rows.itemsize))
        _, first_places, set_of_place = np.unique(
            rows.view(row_dtype)[:, 0], return_index=True, return_inverse=True
        )
        return cls(rows[first_places], set_of_place)


def are_many_places(basis: Basis, rows: np.ndarray) -> bool:
    """Tell whether the systems of neighbors (q, k) are more than a piece."""
    place_count, neighbor_count = rows.shape
    return place_count > _sets_in_piece(neighbor_count + basis.monomial_count)


def _sets_in_piece(equation_count: int) -> int:
    return max(1, _NUMBERS_IN_CACHE // equation_count**2)


def evaluate_locally_on_host(
    data: Data, epsilon: np.ndarray, rows: np.ndarray, x: np.ndarray, *, basis: Basis, dtype: np.dtype
) -> tuple[np.ndarray, np.ndarray]:
    """Return at each place (q, m) the interpolant of its neighbors (q, k), and which are singular."""
    data = data.astype(dtype)
    epsilon = epsilon.astype(dtype)
    neighborhoods = _Neighborhoods.of(rows)
    set_count, neighbor_count = neighborhoods.rows.shape
    equation_count = neighbor_count + basis.monomial_count
    in_order_of_sets = np.argsort(neighborhoods.set_of_place, kind="stable")
    ordered_sets = neighborhoods.set_of_place[in_order_of_sets]
    values = aligned_empty((len(x), data.values.shape[1]), dtype)
    is_singular = np.empty(len(x), bool)

    def fill(sets: slice) -> None:
        """Solve the sets of a piece, and write the values at their places."""
        near = data.rows(np, neighborhoods.rows[sets])
        if near.mask.all():
            near = near._replace(mask=None)
        near = near.zeroed_outside_mask(np)
        coordinates = _coordinates(near.points)
        coefficients, of_set = _solved(basis, epsilon, near)
        start, stop = np.searchsorted(ordered_sets, [sets.start, sets.stop])
        for piece in _pieces(stop - start, _KERNELS_IN_CACHE // neighbor_count):
            places = in_order_of_sets[start + piece.start : start + piece.stop]
            set_in_piece = neighborhoods.set_of_place[places] - sets.start
            shift, scale, kernel_coefficients, monomial_coefficients = (
                array[set_in_piece] for array in coefficients
            )
            part = x[places].astype(dtype)
            with np.errstate(all="ignore"):
                squared = _squared_distances(
                    _coordinates(part)[..., None], coordinates[:, set_in_piece], epsilon
                )
                kernels = _kernels_of(basis, squared)
                monomials = basis.monomials(np, (part - shift) / scale)
                sums = kernels[:, None] @ kernel_coefficients + monomials[:, None] @ monomial_coefficients
            values[places] = sums[:, 0]
            is_singular[places] = of_set[set_in_piece]

    threads = 1
    if equation_count <= _MOST_EQUATIONS_OF_ONE_CORE:
        threads = thread_count(None, set_count, neighbor_count)
    in_threads(fill, _pieces(set_count, _sets_in_piece(equation_count)), threads)
    return values, is_singular
