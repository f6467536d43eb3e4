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

__all__ = [
    "by_destination",
    "even_share",
    "exchange",
    "in_blocks",
    "most_sent",
    "named",
    "numbers_sent",
    "only",
    "size_of",
    "starts_of",
    "to_others",
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
    starts = starts_of(counts, axes) if starts is None else starts
    rank = lax.iota(jnp.int32, room) - begins[here]
    lines = len(jax.tree.leaves(values)[0])
    line = jnp.where((rank >= 0) & (rank < received[here]), named(order, starts[here] + rank, lines), lines)
    fills = fill if isinstance(fill, tuple) else (fill,) * len(jax.tree.leaves(values))
    fills = jax.tree.unflatten(jax.tree.structure(values), fills)
    stay = jax.tree.map(
        lambda a, last: jnp.where(_lines(line < lines, a), a.at[line].get(mode="clip"), last), values, fills
    )
    peers = axes.peers()

    def step(begin, block, into):
        offset = begin + lax.iota(jnp.int32, block)  # among the lines of one sender
        sent = named(order, starts[peers][:, None] + offset, lines)
        new, place = axes.swap(jax.tree.map(lambda a: a[sent], values)), begins[peers][:, None] + offset
        return written(into, only(offset < to_others(counts, axes), place, room), new)

    return in_blocks(step, stay, room, size_of(values), counts, axes, most)


def in_blocks(step, into, lines: int, size: int, counts, axes: Axes, most=None):
    """Return the arrays `into` after ``step(begin, block, into)`` for each block of the longest message.

    Messages have up to so many `lines` of `size` bytes; `most` is as in `exchange`.
    """
    if most is None and lines * size * len(axes.peers()) <= SHORT:
        most = lines
    block = even_share(lines, axes.size) if most is None else max(1, most)
    into = axes.varying(step(0, block, into))
    if most is not None:
        return into
    blocks = -(-most_sent(counts) // block)
    return lax.fori_loop(jnp.int32(1), blocks, lambda i, into: step(i * block, block, into), into)


def most_sent(counts):
    """Return the most lines that go from one device to another."""
    return jnp.where(jnp.eye(counts.shape[-1], dtype=bool), 0, counts).max()


def _received(counts, axes: Axes):
    """Return the number of this device, how many lines it gets from each, and where each one's begin."""
    here = axes.index()
    received = counts[:, here]
    return here, received, jnp.cumsum(received) - received


def to_others(counts, axes: Axes):
    """Return how many lines each of the peers sends to this device (peers, 1); it sends itself none."""
    here, peers = axes.index(), axes.peers()
    return jnp.where(peers == here, 0, counts[peers, here])[:, None]


def starts_of(counts, axes: Axes):
    """Return where the lines for each device begin, one device's behind another's."""
    own = counts[axes.index()]
    return jnp.cumsum(own) - own


def named(order, place, lines: int):
    """Return which lines the places in an order are, or without one in the lines themselves."""
    place = jnp.clip(place, 0, max(lines - 1, 0))
    return place if order is None else order[place]


def only(there, places, room: int):
    """Return the places of the lines that are `there`, for the others some past the end, each its own."""
    return jnp.where(there, places, room + lax.iota(jnp.int32, places.size).reshape(places.shape))


def size_of(values) -> int:
    """Return how many bytes a line has."""
    return sum(math.prod(a.shape[1:]) * a.dtype.itemsize for a in jax.tree.leaves(values))


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
