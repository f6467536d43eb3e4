"""Rows from each device to each other one, in blocks of one size.

JAX's `ragged_all_to_all`, which would send what there is and no more, does not exist on the CPU. Here every
device sends every other one a block of an even share a step, as many steps as the longest message needs. What
stays on its device is copied there.
"""

import math

import jax
import jax.numpy as jnp
from jax import lax

from ._axes import Axes
from ._words import packed, unpacked

__all__ = [
    "arrived",
    "by_destination",
    "deliver",
    "deliver_here",
    "even_share",
    "exchange",
    "most_sent",
    "no_message",
    "numbers_sent",
    "outgoing",
    "written",
]

SHORT = 1 << 24  # bytes of all blocks together, up to which a block has room for all: to ask takes longer


def by_destination(destination, devices: int):
    """Return the rows in the order of their destinations (q,), among equal ones of the rows."""
    narrow = jnp.uint8 if devices < 256 else jnp.uint32  # a GPU sorts bytes in one pass
    rows = lax.iota(jnp.int32, destination.shape[0])
    return lax.sort((destination.astype(narrow), rows), num_keys=1, is_stable=True)[1]


def numbers_sent(destination, axes: Axes):
    """Return how many rows go from each device to each other (devices, devices), known to all.

    The rows of this device go to those in `destination` (q,); `axes.size` for those that stay.
    """
    devices = lax.iota(destination.dtype, axes.size)
    return axes.gather((devices[:, None] == destination).sum(axis=1, dtype=jnp.int32))


def exchange(values, order, counts, axes: Axes, *, room: int, starts=None, fill=0, most=None):
    """Send ``counts[i, j]`` lines of the `values` from device ``i`` to ``j``; return (room, ...) lines.

    The lines for ``j`` are those that `order` names from ``starts[j]`` on: by default one device's behind
    another's. Without an `order` they lie there. What arrives is in the order of the senders; all other lines
    are `fill`, one number for all or one for each array. With `most`, no device sends more lines to another
    one, so that there is nothing to ask and wait for.
    """
    here, received, begins = _received(counts, axes)
    starts = _starts(counts, axes) if starts is None else starts
    rank = lax.iota(jnp.int32, room) - begins[here]
    lines = len(jax.tree.leaves(values)[0])
    line = jnp.where((rank >= 0) & (rank < received[here]), _named(order, starts[here] + rank, lines), lines)
    fills = fill if isinstance(fill, tuple) else (fill,) * len(jax.tree.leaves(values))
    fills = jax.tree.unflatten(jax.tree.structure(values), fills)
    stay = jax.tree.map(
        lambda a, last: jnp.where(_lines(line < lines, a), a.at[line].get(mode="clip"), last), values, fills
    )
    return _from_others(stay, values, None, order, counts, starts, axes, most)


def deliver(into, values, device, places, counts, axes: Axes):
    """Send the lines of the `values` (q, ...) to their `device` (q,), to their `places` in its arrays `into`.

    Return these arrays, changed in place. ``counts[i, j]`` lines go from device ``i`` to ``j``. No place is
    to be written twice.
    """
    into = deliver_here(into, values, device, places, axes)
    order = by_destination(device, axes.size)
    return _from_others(into, values, places, order, counts, _starts(counts, axes), axes, None)


def deliver_here(into, values, device, places, axes: Axes):
    """Do so for those lines alone that stay on this device."""
    past = len(jax.tree.leaves(into)[0]) + lax.iota(jnp.int32, len(places))
    return written(into, jnp.where(device == axes.index(), places, past), values)


def outgoing(values, places, device, counts, most: int, axes: Axes):
    """Return a message to every peer, words (peers, w), of those lines that do not stay here.

    The arguments are those of `deliver`; at most so many lines go from one device to another.
    """
    first = _starts(counts, axes)[axes.peers()][:, None]
    sent = _named(by_destination(device, axes.size), first + lax.iota(jnp.int32, most), len(device))
    return packed(jax.tree.map(lambda a: a[sent], (values, places)), 1)


def no_message(into, most: int, axes: Axes):
    """Return words as those of a message."""
    return packed(jax.tree.map(lambda a: jnp.zeros(a.shape, a.dtype), _parts(into, most, axes)), 1)


def arrived(into, message, counts, most: int, axes: Axes):
    """Write the lines of the messages that came to their places in the arrays `into`."""
    values, places = unpacked(message, _parts(into, most, axes), 1)
    there = lax.iota(jnp.int32, most) < _to_others(counts, axes)
    past = len(jax.tree.leaves(into)[0]) + lax.iota(jnp.int32, places.size).reshape(places.shape)
    return written(into, jnp.where(there, places, past), values)


def _parts(into, most: int, axes: Axes):
    """Return shapes and dtypes of what a message for the arrays `into` holds: lines, and their places."""
    shape = len(axes.peers()), most
    lines = jax.tree.map(lambda a: jax.ShapeDtypeStruct((*shape, *a.shape[1:]), a.dtype), into)
    return lines, jax.ShapeDtypeStruct(shape, jnp.int32)


def _from_others(into, values, places, order, counts, starts, axes: Axes, most):
    """Send the lines that do not stay on their devices, and write those that arrive."""
    begins = _received(counts, axes)[2]
    peers = axes.peers()
    room, lines = (len(jax.tree.leaves(each)[0]) for each in (into, values))
    size = sum(math.prod(a.shape[1:]) * a.dtype.itemsize for a in jax.tree.leaves((values, places)))
    longest = room if places is None else lines  # of messages
    most = longest if most is None and longest * size * len(peers) <= SHORT else most
    block = even_share(longest, axes.size) if most is None else max(1, most)
    to_others = _to_others(counts, axes)

    def step(i, into):
        offset = i * block + lax.iota(jnp.int32, block)  # among the lines of one sender
        sent = _named(order, starts[peers][:, None] + offset, lines)
        new, place = axes.swap(jax.tree.map(lambda a: a[sent], (values, places)))
        place = begins[peers][:, None] + offset if place is None else place
        past = room + lax.iota(jnp.int32, place.size).reshape(place.shape)
        return written(into, jnp.where(offset < to_others, place, past), new)

    into = axes.varying(step(0, into))
    if most is not None:
        return into
    return lax.fori_loop(jnp.int32(1), -(-most_sent(counts) // block), step, into)


def most_sent(counts):
    """Return the most lines that go from one device to another."""
    return jnp.where(jnp.eye(counts.shape[-1], dtype=bool), 0, counts).max()


def _received(counts, axes: Axes):
    """Return the number of this device, how many lines it gets from each, and where each one's begin."""
    here = axes.index()
    received = counts[:, here]
    return here, received, jnp.cumsum(received) - received


def _to_others(counts, axes: Axes):
    """Return how many lines each of the peers sends to this device (peers, 1); it sends itself none."""
    here, peers = axes.index(), axes.peers()
    return jnp.where(peers == here, 0, counts[peers, here])[:, None]


def _starts(counts, axes: Axes):
    """Return where the lines for each device begin, one device's behind another's."""
    own = counts[axes.index()]
    return jnp.cumsum(own) - own


def _named(order, place, lines: int):
    """Return which lines the places in an order are, or without one in the lines themselves."""
    place = jnp.clip(place, 0, max(lines - 1, 0))
    return place if order is None else order[place]


def written(into, places, values):
    """Write lines into arrays, each to its place; those past the end nowhere."""
    return jax.tree.map(lambda a, b: a.at[places].set(b, mode="drop", unique_indices=True), into, values)


def even_share(lines: int, devices: int) -> int:
    """Return how many of the lines chance sends from one device to another at the most."""
    even = -(-lines // devices)
    return even + 8 * math.isqrt(even)


def _lines(there, a):
    """Return flags of lines as flags that select from `a`."""
    return there.reshape(-1, *(1,) * (a.ndim - 1))
