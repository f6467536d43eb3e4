"""Places in memory of the host: a set of neighbors that many places share is solved once, on all cores.

XLA's program for the CPU solves a batch of systems one after another. Here the batch is cut into pieces that
stay in the cache of a core, and threads run the program of one piece each.
"""

from typing import NamedTuple

import jax
import numpy as np

from .._core._programs import eagerly
from .._core._typing import Array
from .._core._waiting import BATCHES_WAIT_FOR_EACH_OTHER
from ..spatial._arrays import is_on_host, placed_like
from ..spatial._scipy._threads import in_threads, thread_count
from ._basis import Basis
from ._systems import Data, evaluate_sets, solve_sets

__all__ = ["evaluate_on_host", "pays_on_host"]

_NUMBERS_IN_CACHE = 2**20  # of the matrices of a piece
_PLACES = 2048  # that are evaluated at a time
# LAPACK solves larger systems on several cores, which threads would fight for.
_MOST_EQUATIONS_OF_ONE_CORE = 200


class Neighborhoods(NamedTuple):
    """The sets of neighbors that places have, each once."""

    rows: np.ndarray  # (sets, k), ascending
    set_of_place: np.ndarray  # (q,)

    @classmethod
    def of(cls, rows: np.ndarray) -> "Neighborhoods":
        """Return the sets of the neighbors (q, k) of places."""
        rows = np.sort(rows, axis=1)
        # NumPy compares the bytes of a row at once, ten times as fast as number by number with `axis=0`.
        row_dtype = np.dtype((np.void, rows.shape[1] * rows.itemsize))
        _, first_places, set_of_place = np.unique(
            rows.view(row_dtype)[:, 0], return_index=True, return_inverse=True
        )
        return cls(rows[first_places], set_of_place.astype(np.int32))


def pays_on_host(basis: Basis, rows: Array) -> bool:
    """Tell whether neighbors (q, k) are on the CPU, and their systems are more than a piece."""
    place_count, neighbor_count = rows.shape
    on_cpu = is_on_host(rows) and len(rows.devices()) == 1
    return on_cpu and place_count > _sets_in_piece(neighbor_count + basis.monomial_count)


def _sets_in_piece(equation_count: int) -> int:
    return max(1, _NUMBERS_IN_CACHE // equation_count**2)


def evaluate_on_host(
    data: Data, epsilon: Array, rows: Array, x: Array, *, basis: Basis, dtype: np.dtype
) -> tuple[Array, np.ndarray]:
    """Return at each place (q, m) the interpolant of its neighbors (q, k), and which are singular."""
    neighborhoods = Neighborhoods.of(np.asarray(rows))
    set_count, neighbor_count = neighborhoods.rows.shape
    equation_count = neighbor_count + basis.monomial_count
    size = _sets_in_piece(equation_count)
    (device,) = rows.devices()
    places = np.asarray(x)
    in_order_of_sets = np.argsort(neighborhoods.set_of_place, kind="stable")
    ordered_sets = neighborhoods.set_of_place[in_order_of_sets]
    values = np.empty((len(places), data.values.shape[1]), dtype)
    singular = np.empty(len(places), bool)

    def fill(first: int) -> None:
        """Solve the sets of a piece, and write the values at their places."""
        with jax.default_device(device):  # which a new thread does not inherit
            sets = _filled_up(neighborhoods.rows[first : first + size], size)
            solved = solve_sets(data, epsilon, sets, basis=basis, dtype=dtype)
            start, stop = np.searchsorted(ordered_sets, [first, first + size])
            for begin in range(start, stop, _PLACES):
                numbers = in_order_of_sets[begin : min(begin + _PLACES, stop)]
                set_in_piece = neighborhoods.set_of_place[numbers] - np.int32(first)
                padded_values = evaluate_sets(
                    solved,
                    epsilon,
                    _filled_up(set_in_piece, _PLACES),
                    _filled_up(places[numbers], _PLACES),
                    basis=basis,
                    dtype=dtype,
                )
                values[numbers] = np.asarray(padded_values)[: len(numbers)]
                singular[numbers] = np.asarray(solved.singular)[set_in_piece]

    with eagerly():
        fill(0)  # which compiles, before threads would compile the same
        threads = 1
        if equation_count <= _MOST_EQUATIONS_OF_ONE_CORE and not BATCHES_WAIT_FOR_EACH_OTHER:
            threads = thread_count(None, set_count, neighbor_count)
        in_threads(fill, list(range(size, set_count, size)), threads)
    (placed_values,) = placed_like(rows, values)
    return placed_values, singular


def _filled_up(rows: np.ndarray, size: int) -> np.ndarray:
    """Return so many rows, the last ones repeated: all pieces have one program."""
    return np.concatenate([rows, np.repeat(rows[-1:], size - len(rows), axis=0)])
