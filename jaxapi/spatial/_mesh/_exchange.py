"""Lines from each device to each other one, in blocks of one size; a line is what an array has along axis 0.

JAX's `ragged_all_to_all`, which would send what there is and no more, does not exist on the CPU. Here every
device sends every other one a block of an even share a step, as many steps as the longest message needs. What
stays on its device is copied there. Arrays of several dtypes travel as 32-bit words, in one message.
"""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from ..._core._typing import Array
from ._axes import Axes, packed, unpacked

__all__ = [
    "Message",
    "Transfer",
    "by_destination",
    "counts_between",
    "even_share",
    "exchange",
    "in_blocks",
    "lines_from_peers",
    "only",
    "written",
]

SHORT = 1 << 24  # bytes of all blocks together, up to which a block has room for all: to ask takes longer


class Transfer(NamedTuple):
    """Which lines go from each device to each other one."""

    counts: Array  # (devices, devices), known to all: `counts[i, j]` lines go from device i to device j
    order: Array | None  # (lines,) this device's lines by destination; None: they lie in this order
    starts: Array  # (devices,) where in the order those for each device begin
    most: int | None = None  # no device sends more lines to another one; None: that is to be asked

    @staticmethod
    def to(destination: Array, axes: Axes) -> "Transfer":
        """Return the transfer of each line to its destination (lines,); `axes.size` for those that stay."""
        return Transfer.to_counted(destination, counts_between(destination, axes), axes)

    @staticmethod
    def to_counted(destination: Array, counts: Array, axes: Axes) -> "Transfer":
        """Return the same where the counts are known."""
        return Transfer(counts, by_destination(destination, axes.size), _starts(counts, axes))

    def back(self, axes: Axes) -> "Transfer":
        """Return the transfer of answers, which lie as the lines arrived, to where these came from."""
        counts = self.counts.T
        return Transfer(counts, None, _starts(counts, axes), self.most)

    def lines_for(self, device, offset, capacity: int) -> Array:
        """Return the lines for a device from the number `offset` of these on, out of `capacity` lines."""
        place = jnp.clip(self.starts[device] + offset, 0, max(capacity - 1, 0))
        return place if self.order is None else self.order[place]


def by_destination(destination: Array, devices: int) -> Array:
    """Return the lines in the order of their destinations (q,), among equal ones of the lines."""
    narrow = jnp.uint8 if devices < 256 else jnp.uint32  # a GPU sorts bytes in one pass
    numbers = lax.iota(jnp.int32, destination.shape[0])
    _, order = lax.sort((destination.astype(narrow), numbers), num_keys=1, is_stable=True)
    return order


def lines_from_peers(counts: Array, axes: Axes) -> Array:
    """Return how many lines each of the peers sends to this device (peers, 1); it sends itself none."""
    here = axes.here()
    peers = axes.peers()
    return jnp.where(peers == here, 0, counts[peers, here])[:, None]


def counts_between(destination: Array, axes: Axes) -> Array:
    """Return how many lines go from each device to each other (devices, devices), known to all."""
    devices = axes.devices().astype(destination.dtype)
    return axes.gather((devices[:, None] == destination).sum(axis=1, dtype=jnp.int32))


def _starts(counts: Array, axes: Axes) -> Array:
    """Return where this device's lines for each device begin, one device's behind another's."""
    mine = counts[axes.here()]
    return jnp.cumsum(mine) - mine


def exchange(values, transfer: Transfer, capacity: int, axes: Axes, fill=0):
    """Return the lines (capacity, ...) of the `values` of all devices that are sent to this one.

    They are in the order of the senders; what is left over is `fill`, one number for all arrays or one
    for each.
    """
    leaves, structure = jax.tree.flatten(values)
    fills = fill if isinstance(fill, tuple) else (fill,) * len(leaves)
    missing = [
        jnp.full((1, *leaf.shape[1:]), value, leaf.dtype) for leaf, value in zip(leaves, fills, strict=True)
    ]
    words = packed(leaves, 1)
    received = _exchanged(words, packed(missing, 1), transfer, capacity, axes)
    return jax.tree.unflatten(structure, unpacked(received, leaves, 1))


def _exchanged(words: Array, missing: Array, transfer: Transfer, capacity: int, axes: Axes) -> Array:
    """Return the words (capacity, w) that are sent to this device; missing ones (1, w) behind them."""
    line_count = words.shape[0]
    here = axes.here()
    arriving = transfer.counts[:, here]
    begins = jnp.cumsum(arriving) - arriving  # where each sender's lines begin
    peers = axes.peers()

    rank = lax.iota(jnp.int32, capacity) - begins[here]
    stays = (rank >= 0) & (rank < arriving[here])
    mine = words[transfer.lines_for(here, rank, line_count)]
    received = jnp.where(stays[:, None], mine, missing)

    def step(begin, block: int, received):
        offset = begin + lax.iota(jnp.int32, block)  # among the lines of one sender
        sent = transfer.lines_for(peers[:, None], offset, line_count)
        arrived = axes.swap(words[sent])
        place = begins[peers][:, None] + offset
        return written(
            received, only(offset < lines_from_peers(transfer.counts, axes), place, capacity), arrived
        )

    return in_blocks(step, received, Message(capacity, 4 * words.shape[1], transfer), axes)


class Message(NamedTuple):
    """How long messages may be, and which lines go where."""

    line_count: int
    line_bytes: int
    transfer: Transfer


def in_blocks(step, received, message: Message, axes: Axes):
    """Return what was received after ``step(begin, block, received)`` for all blocks of a message."""
    most = message.transfer.most
    total_bytes = message.line_count * message.line_bytes * len(axes.peers())
    if most is None and total_bytes <= SHORT:
        most = message.line_count
    if most is not None:
        return axes.varying(step(0, max(1, most), received))
    block = even_share(message.line_count, axes.size)
    is_kept = jnp.eye(axes.size, dtype=bool)
    longest = jnp.where(is_kept, 0, message.transfer.counts).max()
    first = axes.varying(step(0, block, received))
    return lax.fori_loop(
        jnp.int32(1), -(-longest // block), lambda i, received: step(i * block, block, received), first
    )


def only(mask: Array, places: Array, capacity: int) -> Array:
    """Return the places of the lines of the mask, for the others some past the end, each its own."""
    return jnp.where(mask, places, capacity + lax.iota(jnp.int32, places.size).reshape(places.shape))


def written(arrays, places: Array, values):
    """Write lines into arrays, each to its place; those past the end nowhere."""
    return jax.tree.map(
        lambda array, value: array.at[places].set(value, mode="drop", unique_indices=True), arrays, values
    )


def even_share(line_count: int, device_count: int) -> int:
    """Return how many lines chance sends from one device to another at the most."""
    even = -(-line_count // device_count)
    return even + 8 * math.isqrt(even)
