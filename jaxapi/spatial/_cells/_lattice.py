"""The lattice of a periodic cell: short vectors that span it, and points wrapped into one cell of these.

All of it is in float64, of NumPy or of jax arrays, whatever the points are in. There are P periodic vectors
in m dimensions; a lattice may have axes in front, as one for each cloud has. The vectors of a cell that are
not periodic play no part.
"""

import functools
import itertools
import operator
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

__all__ = ["Lattice", "Wrapped", "first_number", "is_singular", "lattice_of", "product", "right_inverse"]

# Cells, of the given vectors or of the reduced ones, that a point may be away from the origin: shifts are
# int32, and those of two points are added to the shifts between them, which are at most `MOST_SHIFTS`.
MOST_TURNS = 2.0**29
MOST_SHIFTS = 2.0**30
EPS = float(np.finfo(np.float64).eps)
SHORTER = 1 - 1e-9  # by so much a vector becomes shorter, or stays: so a reduction ends


class Wrapped(NamedTuple):
    """Points as ``inside + turns @ vectors``."""

    inside: Any  # (..., m) in the cell of the reduced vectors
    turns: Any  # (..., P) whole numbers as float64, nan for a point that is not finite
    fractions: Any  # (..., P) coordinates of `inside` along the reduced vectors, in [0, 1] up to rounding


class Lattice(NamedTuple):
    """Short vectors that span a lattice."""

    vectors: Any  # (..., P, m)
    combination: Any  # (..., P, P) whole numbers: ``vectors = combination @ periodic vectors of the cell``
    inverse: Any  # (..., m, P): ``x @ inverse`` are the coordinates of x along the vectors
    heights: Any  # (..., P) distances between neighboring planes, not finite where the lattice is singular

    @property
    def vector_count(self) -> int:
        """How many vectors there are, P."""
        return self.vectors.shape[-2]

    @property
    def has_axes(self) -> bool:
        """Whether there are several lattices."""
        return self.vectors.ndim > 2

    def of_clouds(self, ids) -> "Lattice":
        """Return the lattice of the cloud of each point, or the one of all."""
        if self.vectors.ndim == 2:
            return self
        if isinstance(self.vectors, np.ndarray):  # whose indexing takes three times as long
            return Lattice(*(array.take(ids, axis=0) for array in self))
        return Lattice(*(array[ids] for array in self))

    def steps(self, shifts):
        """Return the vectors (..., m) of numbers (..., P) of the lattice's vectors."""
        return product(shifts, self.vectors)

    def fractions(self, x):
        """Return the coordinates (..., P) of vectors (..., m) along the lattice's vectors."""
        return product(x, self.inverse)

    def wrapped(self, x, xp) -> Wrapped:
        """Return points (..., m) wrapped into the cell of the reduced vectors.

        Turns are nan for a point so far away that int32 cannot count the cells up to it.
        """
        turns = xp.floor(product(x, self.inverse))
        cell_turns = product(turns, self.combination)
        largest = xp.maximum(xp.abs(turns), xp.abs(cell_turns))
        is_near = (largest < MOST_TURNS).all(axis=-1, keepdims=True)
        turns = xp.where(is_near, turns, xp.nan)
        inside = x - product(turns, self.vectors) if self.vectors.shape[-2] else x
        return Wrapped(inside, turns, product(inside, self.inverse))

    def are_countable(self, shifts, xp):
        """Tell whether int32 counts shifts up to these (..., P) in the cell's own vectors."""
        return (product(xp.abs(shifts), xp.abs(self.combination)) < MOST_SHIFTS).all(axis=-1)

    def of_cell(self, shifts, periodic: tuple[bool, ...], xp):
        """Return numbers of the lattice's vectors (..., P) as numbers of the cell's own (..., m), int32."""
        of_periodic = product(shifts, self.combination)
        zeros = xp.zeros(of_periodic.shape[:-1], of_periodic.dtype)
        columns = [zeros] * len(periodic)
        for column, axis in enumerate(np.flatnonzero(periodic)):
            columns[axis] = of_periodic[..., column]
        of_cell = xp.stack(columns, axis=-1)
        return xp.where(xp.isfinite(of_cell), of_cell, 0).astype(np.int32)


def lattice_of(cell, periodic: tuple[bool, ...], xp) -> Lattice:
    """Return the lattice of the periodic rows of a cell (..., m, m)."""
    if xp is jnp:
        return _lattice_of(cell, periodic, jnp)
    cell = np.asarray(cell, np.float64)
    return _kept_lattice(cell.tobytes(), cell.shape, periodic)


@functools.lru_cache(maxsize=8)
def _kept_lattice(data: bytes, shape: tuple[int, ...], periodic: tuple[bool, ...]) -> Lattice:
    """Return the lattice of a cell on the host, kept: a tree asks several times, and loops have one cell."""
    with np.errstate(all="ignore"):
        lattice = _lattice_of(np.frombuffer(data).reshape(shape), periodic, np)
    for array in lattice:
        array.flags.writeable = False
    return lattice


def _lattice_of(cell, periodic: tuple[bool, ...], xp) -> Lattice:
    given = cell[..., np.flatnonzero(periodic), :]
    count = given.shape[-2]
    combination = _reduced(given, xp)
    vectors = _matrix_product(combination, given) if count else given
    inverse = right_inverse(vectors, xp)
    heights = 1 / xp.sqrt((inverse * inverse).sum(axis=-2))
    return Lattice(vectors, combination, inverse, heights)


def right_inverse(vectors, xp):
    """Return the inverse (..., m, P) of vectors (..., P, m): ``x @ inverse`` are coordinates along them."""
    transposed = xp.swapaxes(vectors, -1, -2)
    if not vectors.shape[-2]:
        return transposed
    lengths = xp.sqrt((vectors * vectors).sum(axis=-1))
    directions = transposed / xp.where(lengths > 0, lengths, 1)[..., None, :]
    gram = _matrix_product(xp.swapaxes(directions, -1, -2), directions)
    inverse = _matrix_product(directions, _inverted(gram, xp))
    return inverse / xp.where(lengths > 0, lengths, 0)[..., None, :]


def is_singular(cell: np.ndarray, periodic: tuple[bool, ...]) -> bool:
    """Tell whether periodic rows of a cell (..., m, m) depend on each other, up to rounding of float64."""
    given = cell[..., np.flatnonzero(periodic), :]
    lattice = lattice_of(cell, periodic, np)
    with np.errstate(all="ignore"):
        lengths = np.abs(lattice.vectors).max(axis=-1, initial=0)
        rounding = (np.abs(lattice.combination) @ np.abs(given)).max(axis=-1, initial=0) * 64 * EPS
        is_short = ~(lengths > rounding)
        is_flat = ~(lattice.heights > 1e-6 * lengths)
    return bool(is_short.any() or is_flat.any())


def first_number(shifts, xp):
    """Return the first number of each shift (..., P) that is not 0, or 0: it tells which way they go."""
    first = xp.zeros(shifts.shape[:-1], shifts.dtype)
    for axis in range(shifts.shape[-1] - 1, -1, -1):
        number = shifts[..., axis]
        first = xp.where(number != 0, number, first)
    return first


def product(rows, matrix):
    """Return the product of each row (..., k) with a matrix (k, l), or with its own one of (..., k, l)."""
    if not isinstance(matrix, np.ndarray):
        # XLA multiplies such narrow matrices many times slower, and makes fewer kernels of sums of terms.
        terms = [rows[..., k, None] * matrix[..., k, :] for k in range(rows.shape[-1])]
        shape = np.broadcast_shapes(rows.shape[:-1], matrix.shape[:-2])
        no_terms = jnp.zeros((*shape, matrix.shape[-1]))
        return functools.reduce(jnp.add, terms, no_terms)
    if matrix.ndim == 2:
        return rows @ matrix
    return np.einsum("...k,...kl->...l", rows, matrix)


def _matrix_product(first, second):
    """Return the product of matrices (..., j, k) and (..., k, l)."""
    if isinstance(second, np.ndarray):
        return first @ second
    return product(first, second[..., None, :, :])


# --- reduction ------------------------------------------------------------------------------------------


def _reduced(vectors, xp):
    """Return which combinations (..., P, P) of the vectors (..., P, m) are short.

    Multiples of the other vectors are taken off each one, and, in three dimensions, sums of two others, as
    long as one becomes shorter. Searches are right for every combination, and fast for short vectors.

    A turn looks at all such moves at once and makes the next one that helps, in the order of the moves: XLA
    makes a few kernels of that, where it makes some of each move that is written out. Most cells are short.
    """
    m = vectors.shape[-1]
    count = vectors.shape[-2]
    identity = xp.broadcast_to(xp.eye(count, dtype=np.float64), (*vectors.shape[:-2], count, count))
    if count < 2:
        return identity
    moves = _moves(count)
    move_count = len(moves.row)
    numbers = np.arange(move_count)

    def turn(state):
        rows, first, _ = state
        changed = rows[..., moves.row, :]
        other = rows[..., moves.other, :]
        third = rows[..., moves.third, :]
        length = _dot(changed, changed, m)
        nearest = xp.round(_dot(changed, other, m) / _dot(other, other, m))
        multiple = xp.where(moves.is_sum, moves.sign_of_other, nearest)
        shorter = changed - multiple[..., None] * other
        shorter = xp.where(moves.is_sum[:, None], shorter - moves.sign_of_third[:, None] * third, shorter)
        is_shorter = _dot(shorter, shorter, m) < SHORTER * length
        turns_away = (numbers - first[..., None]) % move_count
        fewest = xp.where(is_shorter, turns_away, move_count).min(axis=-1)
        helps = fewest < move_count
        move = (first + fewest) % move_count
        row = xp.take_along_axis(shorter, move[..., None, None], axis=-2)
        is_row = np.arange(count) == xp.asarray(moves.row)[move][..., None]
        is_changed = (is_row & helps[..., None])[..., None]
        return xp.where(is_changed, row, rows), move + 1, helps.any()

    # Behind each vector is which combination of the given ones it is.
    rows = xp.concatenate([vectors, identity], axis=-1)
    first = xp.zeros(vectors.shape[:-2], numbers.dtype)
    state = rows, first, xp.ones((), bool)
    if xp is jnp:
        state = lax.while_loop(lambda state: state[2], turn, state)
    else:
        while state[2]:
            state = turn(state)
    return state[0][..., m:]


class _Moves(NamedTuple):
    """What may make a vector shorter, in the order in which it is tried; each array has one of each move."""

    row: np.ndarray  # the vector that changes
    other: np.ndarray  # of which a multiple is taken off it: the nearest whole one
    third: np.ndarray
    is_sum: np.ndarray  # or the sum of both others, with these signs
    sign_of_other: np.ndarray
    sign_of_third: np.ndarray


def _moves(count: int) -> _Moves:
    """Return the moves of so many vectors."""
    moves = [(i, j, j, False, 1.0, 1.0) for i, j in itertools.permutations(range(count), 2)]
    for i in range(count):
        others = [j for j in range(count) if j != i]
        for j, k in itertools.combinations(others, 2):
            signs = itertools.product((1.0, -1.0), repeat=2)
            moves += [(i, j, k, True, sign_j, sign_k) for sign_j, sign_k in signs]
    return _Moves(*map(np.array, zip(*moves, strict=True)))


def _dot(x, y, m: int):
    """Return the products of vectors (..., m or more), of their first m coordinates."""
    return functools.reduce(operator.add, [x[..., axis] * y[..., axis] for axis in range(m)])


def _inverted(matrix, xp):
    """Return the inverse of positive definite matrices (..., P, P), by elimination."""
    count = matrix.shape[-1]
    identity = xp.broadcast_to(xp.eye(count, dtype=np.float64), matrix.shape)
    both = xp.concatenate([matrix, identity], axis=-1)
    rows = [both[..., i, :] for i in range(count)]
    for i in range(count):
        rows[i] = rows[i] / rows[i][..., i : i + 1]
        for j in range(count):
            if j != i:
                rows[j] = rows[j] - rows[j][..., i : i + 1] * rows[i]
    return xp.stack(rows, axis=-2)[..., count:]
