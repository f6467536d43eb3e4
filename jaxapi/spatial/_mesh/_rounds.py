"""Queries on their way from device to device: the same for every kind of search.

A query visits the devices whose boxes lie within its reach, the nearest first, one a round; what it brings
back may shorten the reach. A round ends when every query that was sent has its answer back where it came
from, and the rounds end when no query on any device has a device left to visit.

A device answers a fixed number of queries a round, the others wait: as many as it has itself where many are
on their way, and a part of these when few have to go on. Where one device would have to answer more than
`HOT` times what an even share is, all devices get a copy of its tree and search it themselves.

To ask whether another round is needed, a GPU has to wait for the host. So the first large round and a small
one, which nearly every search needs, are made without asking.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from ..._core._typing import Array
from .._structure._build import largest
from .._structure._metric import axis_gap, box_slack, power_distance
from ._axes import Axes
from ._exchange import by_destination, exchange, numbers_sent
from ._forest import Forest

__all__ = ["FEW", "PART", "Search", "visit_devices", "within_reach"]

HOT = 2
FEW = 1 << 14  # so many queries of a device it answers in every round
PART = 32  # of more, one in so many where that takes at most `TURNS` rounds
TURNS = 8
ROOM = 1.125  # of an even share, for those that one device sends to another without asking
SPARE = 64  # room for one in so many more than a device has, so that chance makes none wait
LINES = 64  # of arrays with a multiple of so many lines, XLA finds the extent several times as fast
WORD = 32  # devices that one word of `Trip.visited` tells of


class Search(NamedTuple):
    """A kind of search, as functions of arrays with one line a query.

    The state is what a query has found so far. `reach`: state -> scaled power distances; a device that is at
    most so far away is visited, none where it is negative. `skip`: (state, lowest row of a device) -> whether
    its points cannot enter, however near. `send`: state -> arrays that go along with the query's point.
    `search`: (tree, rows, points, sent arrays, there) -> answer; only the lines `there` are queries. `merge`:
    (state, answer) -> state. `copies`: whether devices may get a copy of a tree that too many ask for.
    """

    reach: Callable
    skip: Callable
    send: Callable
    search: Callable
    merge: Callable
    copies: bool = True


class Trip(NamedTuple):
    """Where all the queries of a device are."""

    state: object
    visited: Array  # (q, words) bits of the devices that a query has seen
    target: Array  # (q,) the device to visit next; the number of devices for none
    counts: Array  # (devices, devices) how many queries of each device have each target
    round: Array


def visit_devices(
    forest: Forest, x, state, search: Search, axes: Axes, *, p, lengths, at_home=False, once=False
):
    """Return the state of the queries `x` (q, m) of this device after their visits, and who has some left.

    `at_home`: they are the tree's own points, and the state has the answers of this device. `once`: there is
    one large round, without asking whether there is need of another; else no visit is left.
    """
    q = x.shape[0]
    visited = jnp.zeros((q, -(-axes.size // WORD)), jnp.uint32)
    if at_home:
        visited = _with_bit(visited, jnp.full(q, axes.index()))

    def next_target(x, state, visited):
        def skip(least):
            return search.skip(state, least)

        reach = search.reach(state)
        columns = (x * forest.tree.scale).T
        return _nearest_device(forest, columns, reach, skip, visited, axes, p=p, lengths=lengths)

    def merged(x, old, answer):
        """Return state, visits and next targets of queries after the answers of their targets."""
        state, visited, target = old
        state = search.merge(state, answer)
        visited = _with_bit(visited, target)
        return state, visited, next_target(x, state, visited)

    def arrive(now: Trip, chosen, answer):
        """Take the answers to the queries `chosen`, in any order; q and above stand for none."""
        old = now.state, now.visited, now.target
        if len(chosen) < q:
            points, before = jax.tree.map(lambda a: a.at[chosen].get(mode="clip"), (x, old))
            after = merged(points, before, answer)
            new = jax.tree.map(lambda a, b: a.at[chosen].set(b, mode="drop", unique_indices=True), old, after)
        else:  # all at once, in their own order
            nowhere = jnp.full(q, len(chosen), jnp.int32)
            place = lax.iota(jnp.int32, len(chosen))
            line = nowhere.at[chosen].set(place, mode="drop", unique_indices=True)
            came = line < len(chosen)
            after = merged(x, old, jax.tree.map(lambda a: a.at[line].get(mode="clip"), answer))
            new = jax.tree.map(
                lambda a, b: jnp.where(came.reshape(-1, *(1,) * (a.ndim - 1)), b, a), old, after
            )
        state, visited, target = new
        return Trip(state, visited, target, numbers_sent(target, axes), now.round + 1)

    def send(now: Trip, capacity, most=None):
        return arrive(now, *_send_queries(forest, x, now, search, axes, capacity, most))

    def copy(now: Trip, hot, capacity):
        """Search a copy of the tree of the device `hot`, for `capacity` queries at a time."""
        tree, rows = axes.from_device((forest.tree, forest.rows), hot)
        counts, order = now.counts, by_destination(now.target, axes.size)
        own = counts[axes.index()]
        first = (jnp.cumsum(own) - own)[hot]

        def piece(i, now: Trip) -> Trip:
            place = i * capacity + lax.iota(jnp.int32, capacity)
            there = place < own[hot]
            chosen = jnp.where(there, order.at[first + place].get(mode="clip"), q + place)
            sent = jax.tree.map(lambda a: a.at[chosen].get(mode="clip"), (x, search.send(now.state)))
            return arrive(now, chosen, search.search(tree, rows, *sent, there))

        return lax.fori_loop(jnp.int32(0), -(-counts[:, hot].max() // capacity), piece, now)

    def one_round(now: Trip, capacity) -> Trip:
        if axes.size <= HOT or not search.copies:
            return send(now, capacity)
        load = now.counts.sum(axis=0, dtype=jnp.int32)
        hot = largest(load)
        return lax.cond(load[hot] > HOT * q, lambda: copy(now, hot, capacity), lambda: send(now, capacity))

    def rounds(now: Trip, one) -> Trip:
        return lax.while_loop(lambda now: _most(now.counts) > 0, one, now)

    state, visited = axes.varying((state, visited))
    target = next_target(x, state, visited)
    trip = Trip(state, visited, target, numbers_sent(target, axes), jnp.int32(0))
    if once:
        trip = send(trip, q, _room(q, axes.size - 1 if at_home else axes.size))
    elif at_home or q <= FEW:
        trip = rounds(trip, partial(one_round, capacity=q))
    else:
        part, whole = max(q // PART, FEW), q + q // SPARE // LINES * LINES

        def more(now: Trip) -> Trip:
            few = _most(now.counts) <= TURNS * part
            return lax.cond(few, partial(send, capacity=part), partial(one_round, capacity=whole), now)

        trip = send(trip, whole, _room(whole, axes.size))
        trip = send(trip, part, _room(part, axes.size - 1))
        trip = rounds(trip, more)
    return trip.state, trip.target < axes.size


def _room(capacity: int, devices: int) -> int:
    """Return the room for queries from one device to another without asking: more than an even share."""
    return min(capacity, int(-(-capacity // max(devices, 1)) * ROOM))


def within_reach(forest: Forest, columns, reach, skip, axes: Axes, *, p, lengths):
    """Tell which scaled queries (m, q) of this device have another device within their reach (q,).

    None that `skip` excludes, a function of the lowest row of a device.
    """
    visited = jnp.zeros((columns.shape[1], -(-axes.size // WORD)), jnp.uint32)
    visited = _with_bit(visited, jnp.full(columns.shape[1], axes.index()))
    return _nearest_device(forest, columns, reach, skip, visited, axes, p=p, lengths=lengths) < axes.size


def _most(counts):
    """Return the most queries that one device has to send or to answer."""
    return jnp.maximum(counts.sum(axis=0).max(), counts.sum(axis=1).max())


def _with_bit(visited, device):
    """Note the visit of each query to a device."""
    words = lax.iota(jnp.int32, visited.shape[1])
    bit = jnp.uint32(1) << (device % WORD).astype(jnp.uint32)
    return visited | jnp.where(device[:, None] // WORD == words, bit[:, None], jnp.uint32(0))


def _nearest_device(forest: Forest, columns, reach, skip, visited, axes: Axes, *, p, lengths):
    """Return the nearest device (q,) within reach that a scaled query (m, q) has not visited.

    That is `axes.size` for none.
    """
    m, q = columns.shape
    lengths = None if lengths is None else lengths * forest.tree.scale
    reach = reach * box_slack(columns.dtype, m)  # boxes and points round differently

    def one(device, best):
        def along(axis):
            length = None if lengths is None else lengths[axis]
            return axis_gap(columns[axis], forest.lower[device, axis], forest.upper[device, axis], length)

        gap = power_distance(along, m, p)
        seen = visited[:, device // WORD] >> (device % WORD).astype(jnp.uint32) & 1 == 1
        passed_by = seen | skip(forest.least[device])
        nearer = (gap <= reach) & (gap < best[0]) & ~passed_by
        return jnp.where(nearer, gap, best[0]), jnp.where(nearer, device.astype(jnp.int32), best[1])

    none = jnp.full(q, jnp.inf, columns.dtype), jnp.full(q, axes.size, jnp.int32)
    return lax.fori_loop(0, axes.size, one, axes.varying(none), unroll=min(axes.size, 8))[1]


def _send_queries(forest: Forest, x, now: Trip, search: Search, axes: Axes, capacity: int, most: int | None):
    """Send at most `capacity` queries to their targets; return which, and the answers in their order.

    With `most`, in one step that takes so many from a device to another one.
    """
    q = x.shape[0]
    here = axes.index()
    order = by_destination(now.target, axes.size)
    own = now.counts[here]
    starts = jnp.cumsum(own) - own
    granted = _granted(now.counts, now.round, capacity)
    if most is not None:
        granted = jnp.where(jnp.eye(axes.size, dtype=bool), granted, jnp.minimum(granted, most))
    sent = x, search.send(now.state)
    points, arrays = exchange(sent, order, granted, axes, room=capacity, starts=starts, most=most)
    place = lax.iota(jnp.int32, capacity)
    there = place < granted[:, here].sum(dtype=jnp.int32)
    answer = search.search(forest.tree, forest.rows, points, arrays, there)
    answer = exchange(answer, None, granted.T, axes, room=capacity, most=most)

    # The answers come in the order of the devices, those of one in the order of the route.
    sent = granted[here]
    ends = jnp.cumsum(sent)
    device = jnp.minimum((place[:, None] >= ends).sum(axis=1, dtype=jnp.int32), axes.size - 1)
    rank = place - (ends - sent)[device]
    chosen = order.at[starts[device] + rank].get(mode="clip")
    return jnp.where(place < ends[-1], chosen, q + place), answer


def _granted(counts, turn, capacity: int):
    """Return how many of the `counts` from row to column go this round: no device sends or gets too many.

    Every sender has an even share of a receiver's capacity; what some leave goes to the others in turn.
    """
    devices = counts.shape[0]
    even = jnp.minimum(counts, capacity // devices)
    order = (lax.iota(jnp.int32, devices) + turn) % devices  # another sender comes first each time
    waiting = (counts - even)[order]
    free = capacity - even.sum(axis=0, dtype=jnp.int32)
    before = jnp.cumsum(waiting, axis=0) - waiting
    more = jnp.zeros_like(counts).at[order].set(jnp.clip(free - before, 0, waiting))
    free = capacity - even.sum(axis=1, dtype=jnp.int32)[:, None]
    before = jnp.cumsum(more, axis=1) - more
    return even + jnp.clip(free - before, 0, more)
