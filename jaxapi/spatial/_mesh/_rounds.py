"""Queries on their way from device to device: the same for every kind of search.

A query visits the devices whose boxes lie within its reach, the nearest first, one a round; what it brings
back may shorten the reach. A round ends when every query that was sent has its answer back where it came
from, and the rounds end when no query on any device has a device left to visit.

A device answers a fixed number of queries a round, the others wait: as many as it has itself where many are
on their way, and a part of these when few have to go on. Where one device would have to answer more than
`HOT` times what an even share is, all devices get a copy of its tree and search it themselves.

To search a tree is the largest part of a program. So rounds are a loop, in which a search stands once; only
of many queries are there two, for rounds of many and of few. And since a GPU has to wait for the host to ask
whether another round is needed, the first round of many queries and the first of few, which nearly every
search needs, are made before that is asked.
"""

import dataclasses
import enum
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from ..._core._typing import Array
from .._tree._build import largest
from .._tree._tree import Tree
from ._exchange import Transfer, by_destination, counts_between, exchange
from ._space import Space, Visited

__all__ = ["FEW", "PART", "ArrivedQueries", "DeviceSearch", "Origin", "Rounds"]

HOT = 2
FEW = 1 << 14  # so many queries of a device it answers in every round
PART = 32  # of more, one in so many where that takes at most `TURNS` rounds
TURNS = 8
ROOM = 1.125  # of an even share, for those that one device sends to another without asking
SPARE = 64  # room for one in so many more than a device has, so that chance makes none wait
UNIT = 64  # lengths are multiples of it: XLA then takes minima and maxima several times as fast


class ArrivedQueries(NamedTuple):
    """Queries that a device searches its tree, or a copy of another one, for in one round."""

    points: Array  # (c, m) in the user's units
    message: Any  # arrays (c, ...) that came along with the points
    mask: Array  # (c,) which lines are queries; the others hold anything

    def masked(self) -> "ArrivedQueries":
        """Return the queries, nan on lines that have none; there the message is a radius of -1."""
        points = jnp.where(self.mask[:, None], self.points, jnp.nan)
        return self._replace(points=points, message=jnp.where(self.mask, self.message, -1))


class DeviceSearch(ABC):
    """What queries ask of each device that they visit, and what they make of the answers.

    The state is arrays (q, ...) of what each query has found so far. Answers are arrays (c, ...).
    """

    copies_trees = True  # whether devices may get a copy of a tree that too many ask for

    @abstractmethod
    def reach(self, state) -> Array:
        """Return how far away a device may be (q,), as a scaled power distance; negative for no device."""

    def skips(self, state, lowest_row: Array):
        """Tell which queries (b, q) no row from the lowest one of devices (b, 1) on can matter to."""
        return False

    @abstractmethod
    def message(self, state):
        """Return arrays (q, ...) that go along with the queries' points."""

    @abstractmethod
    def search(self, tree: Tree, slot_values, arrived: ArrivedQueries):
        """Return the answers of a device with this tree, and these values of its slots or rows."""

    @abstractmethod
    def merge(self, state, answer):
        """Return the state of queries after the answers to them."""


class Origin(enum.Enum):
    """Where queries come from."""

    OUTSIDE = "they have nothing to do with the device that has them"
    OWN_POINTS = "they are points of this device, which is searched first"
    SEARCHED_OWN_POINTS = "they are points of this device, and the state has what is found here"


class Progress(NamedTuple):
    """How far all the queries of a device have come."""

    state: Any
    visited: Visited
    target: Array  # (q,) the device to visit next; the number of devices for none
    counts: Array  # (devices, devices) how many queries of each device have each target
    number: Array  # of rounds


@dataclasses.dataclass(frozen=True)
class Rounds:
    """The rounds of one search for the queries (q, m) of this device."""

    space: Space
    points: Array  # (q, m) in the user's units
    search: DeviceSearch
    slot_values: Any  # what the search reads of this device besides its tree
    origin: Origin = Origin.OUTSIDE

    def run(self, state):
        """Return the state of all queries after all their visits."""
        q = len(self.points)
        axes = self.space.axes
        progress = self.start(state)
        if self.origin is not Origin.OUTSIDE or q <= FEW:
            return self._all(progress, lambda progress: self.round(progress, q)).state
        few = max(q // PART, FEW)
        many = q + q // SPARE // UNIT * UNIT

        def round_of_any(progress: Progress) -> Progress:
            are_few = _busiest(progress.counts) <= TURNS * few
            return lax.cond(
                are_few,
                lambda progress: self.round(progress, few),
                lambda progress: self.round(progress, many),
                progress,
            )

        progress = self.round(progress, many, _room(many, axes.size))
        progress = self.round(progress, few, _room(few, axes.size - 1))
        return self._all(progress, round_of_any).state

    def run_once(self, state):
        """Return the state after a search here and one visit, and which queries have more to visit."""
        q = len(self.points)
        axes = self.space.axes
        progress = self.round(self.start(state), q, most=0)
        progress = self.round(progress, q, _room(q, axes.size - 1))
        return progress.state, progress.target < axes.size

    def start(self, state) -> Progress:
        """Return the progress before the first round."""
        axes = self.space.axes
        visited = Visited.none(len(self.points), axes)
        if self.origin is Origin.SEARCHED_OWN_POINTS:
            visited = visited.add(jnp.full(len(self.points), axes.here()))
        state, visited = axes.varying((state, visited))
        if self.origin is Origin.OWN_POINTS:
            target = jnp.where(self.search.reach(state) >= 0, axes.here(), axes.size)
        else:
            target = self._next_target(self.points, state, visited)
        return Progress(state, visited, target, counts_between(target, axes), jnp.int32(0))

    def _all(self, progress: Progress, make_round) -> Progress:
        return lax.while_loop(lambda progress: _busiest(progress.counts) > 0, make_round, progress)

    def round(self, progress: Progress, capacity: int, most: int | None = None) -> Progress:
        """Have devices answer at most `capacity` queries each, of all or of those with the first turn.

        With `most`, no device sends more to another one, so that nothing is to be asked.
        """
        axes = self.space.axes
        transfer = self._transfer(progress, capacity, most)
        tree = self.space.tree
        slot_values = self.slot_values
        if self._may_copy and most is None and capacity >= len(self.points):
            transfer, hot, is_copied = self._with_copies(progress, transfer)
            tree, slot_values = lax.cond(
                is_copied,
                lambda arrays: axes.varying(axes.from_device(arrays, hot)),
                lambda arrays: axes.varying(arrays),
                (tree, slot_values),
            )
        sent = self.points, self.search.message(progress.state)
        points, message = exchange(sent, transfer, capacity, axes)
        arriving = transfer.counts[:, axes.here()].sum(dtype=jnp.int32)
        mask = lax.iota(jnp.int32, capacity) < arriving
        answer = self.search.search(tree, slot_values, ArrivedQueries(points, message, mask))
        answer = exchange(answer, transfer.back(axes), capacity, axes)
        return self._arrive(progress, self._queries_sent(transfer, capacity), answer)

    def _transfer(self, progress: Progress, capacity: int, most: int | None) -> Transfer:
        """Return which queries go to their target in this round."""
        axes = self.space.axes
        waiting = progress.counts[axes.here()]
        starts = jnp.cumsum(waiting) - waiting
        sent = _sent_in_round(progress.counts, progress.number, capacity)
        if most is not None:
            is_kept = jnp.eye(axes.size, dtype=bool)
            sent = jnp.where(is_kept, sent, jnp.minimum(sent, most))
        return Transfer(sent, by_destination(progress.target, axes.size), starts, most)

    @property
    def _may_copy(self) -> bool:
        return self.search.copies_trees and self.space.axes.size > HOT

    def _with_copies(self, progress: Progress, transfer: Transfer):
        """Return the device that most queries are for, and whether all are to have a copy of its tree.

        Then the queries for it stay where they are, as the transfer tells, which comes first.
        """
        load = progress.counts.sum(axis=0, dtype=jnp.int32)
        hot = largest(load)
        is_copied = load[hot] > HOT * len(self.points)
        is_kept = jnp.eye(len(load), dtype=bool)
        stay = jnp.where(is_kept, progress.counts[:, hot][:, None], 0)
        counts = jnp.where(is_copied, stay, transfer.counts)
        starts = jnp.where(is_copied, transfer.starts[hot], transfer.starts)
        return transfer._replace(counts=counts, starts=starts), hot, is_copied

    def _queries_sent(self, transfer: Transfer, capacity: int) -> Array:
        """Return whose the answers (c,) are: they come in the order of the devices and of what was sent.

        Behind them are different numbers from q on.
        """
        axes = self.space.axes
        q = len(self.points)
        places = lax.iota(jnp.int32, capacity)
        sent = transfer.counts[axes.here()]
        ends = jnp.cumsum(sent)
        device = jnp.minimum((places[:, None] >= ends).sum(axis=1, dtype=jnp.int32), axes.size - 1)
        rank = places - (ends - sent)[device]
        return jnp.where(places < ends[-1], transfer.lines_for(device, rank, q), q + places)

    def _next_target(self, points, state, visited: Visited) -> Array:
        space = self.space

        def is_excluded(devices):
            return visited.has(devices) | self.search.skips(state, space.forest.lowest_row[devices])

        scaled_points = space.tree.scaled(points).T
        return space.nearest_device(scaled_points, self.search.reach(state), is_excluded)

    def _arrive(self, progress: Progress, queries: Array, answer) -> Progress:
        """Take the answers to these queries (c,), in any order; q and above stand for none."""
        if len(queries) < len(self.points):
            state, visited, target = self._merge_some(progress, queries, answer)
        else:
            state, visited, target = self._merge_all(progress, queries, answer)
        counts = counts_between(target, self.space.axes)
        return Progress(state, visited, target, counts, progress.number + 1)

    def _merge_some(self, progress: Progress, queries: Array, answer):
        everything = progress.state, progress.visited, progress.target
        points, before = jax.tree.map(lambda a: a.at[queries].get(mode="clip"), (self.points, everything))
        after = self._merged(points, before, answer)
        return jax.tree.map(
            lambda old, new: old.at[queries].set(new, mode="drop", unique_indices=True), everything, after
        )

    def _merge_all(self, progress: Progress, queries: Array, answer):
        q = len(self.points)
        answer_count = len(queries)
        nowhere = jnp.full(q, answer_count, jnp.int32)
        places = lax.iota(jnp.int32, answer_count)
        place = nowhere.at[queries].set(places, mode="drop", unique_indices=True)
        has_answer = place < answer_count
        answer = jax.tree.map(lambda a: a.at[place].get(mode="clip"), answer)
        before = progress.state, progress.visited, progress.target
        after = self._merged(self.points, before, answer)

        def choose(old, new):
            return jnp.where(has_answer.reshape(-1, *(1,) * (old.ndim - 1)), new, old)

        return jax.tree.map(choose, before, after)

    def _merged(self, points, before, answer):
        """Return state, visits and next targets of queries after the answers of their targets."""
        state, visited, target = before
        state = self.search.merge(state, answer)
        visited = visited.add(target)
        return state, visited, self._next_target(points, state, visited)


def _room(capacity: int, devices: int) -> int:
    """Return the room for queries from one device to another without asking: more than an even share."""
    return min(capacity, int(-(-capacity // max(devices, 1)) * ROOM))


def _busiest(counts: Array) -> Array:
    """Return the most queries that one device has to send or to answer."""
    return jnp.maximum(counts.sum(axis=0).max(), counts.sum(axis=1).max())


def _sent_in_round(counts: Array, number: Array, capacity: int) -> Array:
    """Return how many queries each device (row) sends to each other (column) in a round, of those that wait.

    No device sends or receives more than `capacity`. Every sender has an even share of a receiver's; what
    some leave of their shares goes to the others in turn, each round to another one first.
    """
    devices = counts.shape[0]
    even_shares = jnp.minimum(counts, capacity // devices)
    turns = (lax.iota(jnp.int32, devices) + number) % devices

    free_at_receivers = capacity - even_shares.sum(axis=0, dtype=jnp.int32)
    waiting = (counts - even_shares)[turns]
    waiting_before = jnp.cumsum(waiting, axis=0) - waiting
    accepted_in_turn = jnp.clip(free_at_receivers - waiting_before, 0, waiting)
    accepted = jnp.zeros_like(counts).at[turns].set(accepted_in_turn)

    free_at_senders = capacity - even_shares.sum(axis=1, dtype=jnp.int32)[:, None]
    accepted_before = jnp.cumsum(accepted, axis=1) - accepted
    return even_shares + jnp.clip(free_at_senders - accepted_before, 0, accepted)
