"""What a search for the nearest returns of the `k` neighbors that it finds for each query.

An answer is static, and searches that ask for equal ones share a program. `xp` is NumPy where SciPy searches.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

__all__ = [
    "AllNeighbors",
    "Answer",
    "ChosenNeighbors",
    "Columns",
    "FoundNeighbors",
    "NeighborEdges",
    "OnlyNearest",
    "OtherNeighbors",
    "pick_columns",
]


class FoundNeighbors(NamedTuple):
    """The `k` nearest points of every query, nearest first."""

    distances: Any  # (q, k), inf where there is no neighbor
    rows: Any  # (q, k), `n` where there is no neighbor
    n: Any  # how many points there are
    query_count: Any  # how many of the queries count


@dataclass(frozen=True)
class Answer(ABC):
    """What is returned of the neighbors that were found."""

    k: int  # how many neighbors are searched for

    @abstractmethod
    def of(self, found: FoundNeighbors, xp=jnp) -> tuple:
        """Return the arrays of the answer."""


@dataclass(frozen=True)
class OnlyNearest(Answer):
    """Distances and rows (q,) of the nearest point alone."""

    def of(self, found: FoundNeighbors, xp=jnp) -> tuple:
        return found.distances[:, 0], found.rows[:, 0]


@dataclass(frozen=True)
class AllNeighbors(Answer):
    """Distances and rows (q, k) of all neighbors."""

    def of(self, found: FoundNeighbors, xp=jnp) -> tuple:
        return found.distances, found.rows


@dataclass(frozen=True)
class ChosenNeighbors(Answer):
    """Distances and rows (q, c) of some of the neighbors, -1 for a missing one."""

    columns: tuple[int, ...]

    def of(self, found: FoundNeighbors, xp=jnp) -> tuple:
        return pick_columns(found.distances, found.rows, found.n, self.columns, xp)


@dataclass(frozen=True)
class OtherNeighbors(Answer):
    """Distances and rows (n, c - 1) of the neighbors of the tree's own points, without the point itself."""

    columns: tuple[int, ...] | None

    def of(self, found: FoundNeighbors, xp=jnp) -> tuple:
        distances, rows = pick_columns(found.distances, found.rows, found.n, self.columns, xp)
        return _without_itself(distances, rows, xp)


@dataclass(frozen=True)
class NeighborEdges(Answer):
    """The neighbors of the tree's own points as edges of a graph; with `loop` from each to itself, too."""

    columns: tuple[int, ...] | None
    loop: bool

    def of(self, found: FoundNeighbors, xp=jnp) -> tuple:
        distances, rows = pick_columns(found.distances, found.rows, found.n, self.columns, xp)
        if not self.loop:
            distances, rows = _without_itself(distances, rows, xp)
        return _edges(found._replace(distances=distances, rows=rows), xp)


class Columns(NamedTuple):
    """Which neighbors a search for the nearest asks for."""

    k: int  # the last of them
    chosen: tuple[int, ...] | None  # those asked for one by one; None: all of the k
    shape: tuple[int, ...]  # of the answer for one query

    def among(self, n: int) -> tuple[int, ...] | None:
        """Return which of the neighbors among n points make the answer, -1 for a missing one; None: all."""
        if self.chosen is None and self.k <= n:
            return None
        columns = range(1, self.k + 1) if self.chosen is None else self.chosen
        return tuple(column - 1 if column <= n else -1 for column in columns)

    def found_among(self, n: int) -> int:
        """Return how many neighbors are searched for among n points: no more than these, at least one."""
        return max(min(self.k, n), 1)

    def answer(self, n: int) -> Answer:
        """Return what a search among n points is to return."""
        if not self.shape:
            return ONLY_NEAREST
        columns = self.among(n)
        if columns is None:
            return AllNeighbors(self.k)
        return ChosenNeighbors(self.found_among(n), columns)


ONLY_NEAREST = OnlyNearest(1)


def pick_columns(distances, rows, n, columns, xp=jnp):
    """Return the columns asked for of all that were found; -1 stands for a missing one."""
    if columns is None:
        return distances, rows
    columns = np.asarray(columns)
    is_present = columns >= 0
    picked_rows = xp.where(is_present, rows[:, columns], xp.asarray(n).astype(rows.dtype))
    picked_distances = xp.where(is_present, distances[:, columns], xp.asarray(np.inf, distances.dtype))
    return picked_distances, picked_rows


def _without_itself(distances, rows, xp):
    """Return all columns (n, k + 1) but that of each point's own row, or the last where it is not there."""
    own_rows = xp.arange(rows.shape[0], dtype=rows.dtype)[:, None]
    is_after_itself = xp.cumulative_sum(rows == own_rows, axis=1)[:, :-1] > 0
    other_distances = xp.where(is_after_itself, distances[:, 1:], distances[:, :-1])
    other_rows = xp.where(is_after_itself, rows[:, 1:], rows[:, :-1])
    return other_distances, other_rows


def _edges(found: FoundNeighbors, xp):
    """Return senders, receivers and distances of the neighbors, and how many edges there are."""
    senders = found.rows
    queries = xp.arange(senders.shape[0], dtype=senders.dtype)[:, None]
    n = xp.asarray(found.n).astype(senders.dtype)
    query_count = xp.asarray(found.query_count).astype(senders.dtype)
    is_edge = (senders < n) & (queries < query_count)
    receivers = xp.where(is_edge, queries, n)
    edge_count = xp.sum(is_edge, dtype=senders.dtype)
    return senders.reshape(-1), receivers.reshape(-1), found.distances.reshape(-1), edge_count
