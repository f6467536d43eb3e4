"""Moved queries and neighbors on the host: lists grouped by query, and arrays with as many for each."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..._interop import aligned_empty
from .._scipy import _by_ckdtree
from .._scipy._threads import in_threads, thread_count
from .._search import Search

__all__ = [
    "HostNeighbors",
    "MovedQueries",
    "PaddedNeighbors",
    "UnmeasuredPairs",
    "both_ways",
    "concatenated",
    "in_parts",
    "nearer_in_order",
    "no_neighbors",
]

MEASURED_AT_ONCE = 1 << 14  # neighbors, which a processor's cache holds
MEASURED_PER_8_QUERIES = 100  # neighbors that are measured while a tree is searched for 8 queries


class MovedQueries(NamedTuple):
    """Queries moved by vectors of the lattice, each query's one after the other."""

    query: np.ndarray  # (t,) the number of the query
    shift: np.ndarray  # (t, P) numbers of the reduced vectors that it was moved back by
    cell_shift: np.ndarray  # (t, m) int32, in the cell's own vectors, of a point inside of the reduced cell
    x: np.ndarray  # (t, m), or one column more that tells clouds apart

    def of(self, index) -> "MovedQueries":
        """Return some of them: an index is numbers, a slice or a mask."""
        return MovedQueries(self.query[index], self.shift[index], self.cell_shift[index], self.x[index])


class UnmeasuredPairs(NamedTuple):
    """Pairs of moved queries and points that a tree found: their distances are still to be measured."""

    image: np.ndarray  # (e,) numbers of moved queries
    row: np.ndarray  # (e,)


class HostNeighbors(NamedTuple):
    """Neighbors of queries, grouped by query; or pairs of points, of which `query` is one end's row."""

    query: np.ndarray  # (e,) ascending
    row: np.ndarray  # (e,)
    shift: np.ndarray  # (e, m) of the cell's own vectors, int32
    distance: np.ndarray  # (e,) float64

    def kept(self, index) -> "HostNeighbors":
        """Return some of them: an index is numbers or a mask."""
        return HostNeighbors(self.query[index], self.row[index], self.shift[index], self.distance[index])

    def in_order(self) -> "HostNeighbors":
        """Return them by query, then (distance, row, shift)."""
        neighbors = self.kept(np.lexsort((self.distance, self.query)))
        is_same_query = neighbors.query[1:] == neighbors.query[:-1]
        is_same_distance = neighbors.distance[1:] == neighbors.distance[:-1]
        if not (is_same_query & is_same_distance).any():
            return neighbors
        return self.kept(np.lexsort((*self.shift.T[::-1], self.row, self.distance, self.query)))

    def ranks(self) -> np.ndarray:
        """Return the number (e,) of each among the neighbors of its query, which are next to each other."""
        is_first = np.ones(len(self.query), bool)
        is_first[1:] = self.query[1:] != self.query[:-1]
        starts = np.flatnonzero(is_first)
        return np.arange(len(self.query)) - np.repeat(starts, np.diff(starts, append=len(self.query)))


class PaddedNeighbors:
    """The same number of neighbors for each query, filled up with row n, shift 0 and distance inf."""

    def __init__(self, query_count: int, length: int, n: int, m: int):
        self.length = length
        self.rows = np.full((query_count, length), n)
        self.shifts = np.zeros((query_count, length, m), np.int32)
        self.distances = np.full((query_count, length), np.inf)

    def put(self, neighbors: HostNeighbors) -> None:
        """Write the first neighbors of each query, which are in order."""
        rank = neighbors.ranks()
        is_kept = rank < self.length
        index = neighbors.query[is_kept], rank[is_kept]
        self.rows[index] = neighbors.row[is_kept]
        self.shifts[index] = neighbors.shift[is_kept]
        self.distances[index] = neighbors.distance[is_kept]


def concatenated(pieces: list[HostNeighbors]) -> HostNeighbors:
    """Return all of several pieces."""
    if len(pieces) == 1:
        return pieces[0]
    return HostNeighbors(*map(np.concatenate, zip(*pieces, strict=True)))


def nearer_in_order(pieces: list[HostNeighbors], bound) -> HostNeighbors:
    """Return the neighbors of several pieces that are nearer than the bound of their query, in order."""
    neighbors = concatenated(pieces)
    return neighbors.kept(neighbors.distance < bound[neighbors.query]).in_order()


def no_neighbors(m: int) -> HostNeighbors:
    """Return a list of none, in m dimensions."""
    no_rows = np.zeros(0, np.int64)
    return HostNeighbors(no_rows, no_rows, np.zeros((0, m), np.int32), np.zeros(0))


def both_ways(pairs: HostNeighbors, loops, row_count: int, search: Search) -> HostNeighbors:
    """Return pairs seen from both of their ends, and loops of rows at themselves, grouped by query."""
    edge_count = 2 * len(pairs.query) + len(loops)
    dtype = np.dtype(np.int32 if max(edge_count, row_count) < 2**31 else np.int64)
    receivers = np.concatenate([pairs.row, pairs.query, loops], dtype=dtype, casting="unsafe")
    senders = np.concatenate([pairs.query, pairs.row, loops], dtype=dtype, casting="unsafe")
    no_shifts = np.zeros((len(loops), pairs.shift.shape[1]), np.int32)
    shifts = np.concatenate([-pairs.shift, pairs.shift, no_shifts])
    distances = np.concatenate([pairs.distance, pairs.distance, np.zeros(len(loops))])
    edge_numbers = np.arange(edge_count, dtype=dtype)
    by_receiver = _by_ckdtree.grouped(receivers, senders, edge_numbers, (row_count, row_count))
    shift = aligned_empty(shifts.shape, shifts.dtype)
    distance = aligned_empty(distances.shape, distances.dtype)

    def copy_part(part):
        shifts.take(by_receiver.data[part], axis=0, out=shift[part], mode="clip")
        distances.take(by_receiver.data[part], out=distance[part], mode="clip")

    in_parts(copy_part, edge_count, search)
    query = np.repeat(np.arange(row_count, dtype=dtype), np.diff(by_receiver.indptr))
    return HostNeighbors(query, by_receiver.indices, shift, distance)


def in_parts(function: Callable, count: int, search: Search) -> None:
    """Call a function with slices of so many neighbors, each of which a processor's cache holds."""
    if count <= MEASURED_AT_ONCE:
        function(slice(count))
        return
    parts = [slice(start, start + MEASURED_AT_ONCE) for start in range(0, count, MEASURED_AT_ONCE)]
    in_threads(function, parts, thread_count(search.workers, count // MEASURED_PER_8_QUERIES, 8))
