"""Values on their way to the rows of the data that they belong to, and back.

A line travels together with the place that it is written to, so that messages can be made and read apart.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from ..._core._typing import Array
from ._axes import Axes, packed, unpacked
from ._exchange import Message, Transfer, even_share, exchange, in_blocks, lines_from_peers, only, written

__all__ = ["DataRows", "Piece"]


class Destination(NamedTuple):
    """Where each line goes; no place is to be written twice."""

    device: Array  # (lines,) the number of devices for nowhere
    place: Array  # (lines,) in the arrays of that device


class Piece(NamedTuple):
    """A search that is made piece by piece."""

    search: Callable  # first line -> values and a flag for each of `size` lines from this one on
    size: int
    line_count: int  # of all pieces; the last one may overlap the one before it


class DataRows(NamedTuple):
    """How the rows of the data lie: every device has `each` of them, and the first `n` of all count."""

    n: int
    each: int
    axes: Axes

    def destination(self, rows: Array) -> Destination:
        """Return where rows (q,) of all lie; n stands for none."""
        device = jnp.where(rows < self.n, rows // self.each, self.axes.size)
        return Destination(device.astype(jnp.int32), (rows - device * self.each).astype(jnp.int32))

    def write(self, arrays, values, rows: Array):
        """Send `values` (q, ...) to their `rows` (q,) of all, n for nowhere.

        Return the arrays of this device's rows (each, ...), changed in place. No row may come twice.
        """
        destination = self.destination(rows)
        transfer = Transfer.to(destination.device, self.axes)
        mail = _Mail(values, destination, transfer, self.axes)
        arrays = mail.write_mine(arrays)

        def step(begin, block: int, arrays):
            message = self.axes.swap(mail.outgoing(begin, block))
            return mail.write_arrived(arrays, message, begin)

        return in_blocks(step, arrays, Message(len(rows), mail.line_bytes, transfer), self.axes)

    def read(self, values: Array, rows: Array) -> Array:
        """Return the values (q,) of `rows` (q,) of all, 0 where these are n.

        This device has the values of its own rows (each,). No row may come twice.
        """
        destination = self.destination(rows)
        transfer = Transfer.to(destination.device, self.axes)
        asked = exchange(destination.place, transfer, self.each, self.axes)
        answer = exchange(values[asked], transfer.back(self.axes), len(rows), self.axes)
        return jnp.zeros_like(answer).at[transfer.order].set(answer, unique_indices=True)

    def write_in_pieces(self, arrays, rows: Array, piece: Piece):
        """Write what the pieces of a search find for the first of the `rows`; return the flags, too.

        What is found in one piece travels during the search of the next one, as far as chance sends lines
        evenly; the others follow at once.
        """
        axes = self.axes
        piece_count = -(-piece.line_count // piece.size)
        last = piece.line_count - piece.size
        begins = jnp.minimum(jnp.arange(piece_count, dtype=jnp.int32) * piece.size, last)
        block = even_share(piece.size, axes.size)

        def destination_of(begin) -> Destination:
            return self.destination(lax.dynamic_slice_in_dim(rows, begin, piece.size))

        def count(begin):
            devices = axes.devices()[:, None]
            return (destination_of(begin).device == devices).sum(axis=1, dtype=jnp.int32)

        counts = axes.gather(lax.map(count, begins))  # (devices, pieces, devices)
        is_kept = jnp.eye(axes.size, dtype=bool)[:, None]
        longest = jnp.where(is_kept, 0, counts).max(axis=(0, 2))  # (pieces,)
        sent_before = jnp.pad(counts, ((0, 0), (1, 0), (0, 0)))
        like = jax.tree.map(lambda array: array[:1], arrays), jnp.zeros(1, jnp.int32)
        in_block = lax.iota(jnp.int32, block)

        def step(i, state):
            arrays, flags, message = state
            message = axes.swap(message)
            values, new_flags = piece.search(begins[i])
            destination = destination_of(begins[i])
            transfer = Transfer.to_counted(destination.device, counts[:, i], axes)
            mail = _Mail(values, destination, transfer, axes)
            arrays = mail.write_mine(arrays)
            arrays = _write_message(
                arrays, message, like, in_block < lines_from_peers(sent_before[:, i], axes)
            )
            # Only when that has been read is there a new message, which then needs no room of its own.
            arrays, values = lax.optimization_barrier((arrays, values))
            mail = mail._replace(values=values)

            def send_more(number, arrays):
                begin = number * block
                return mail.write_arrived(arrays, axes.swap(mail.outgoing(begin, block)), begin)

            arrays = lax.fori_loop(jnp.int32(1), -(-longest[i] // block), send_more, arrays)
            flags = lax.dynamic_update_slice_in_dim(flags, new_flags, begins[i], 0)
            return arrays, flags, mail.outgoing(0, block)

        nothing = jnp.zeros((len(axes.peers()), block, packed(like, 1).shape[1]), jnp.uint32)
        start = axes.varying((arrays, jnp.zeros(piece.line_count, bool), nothing))
        arrays, flags, message = lax.fori_loop(0, piece_count, step, start)
        arrives = in_block < lines_from_peers(counts[:, -1], axes)
        return _write_message(arrays, axes.swap(message), like, arrives), flags


class _Mail(NamedTuple):
    """Lines on their way to places on other devices."""

    values: tuple  # arrays (lines, ...)
    destination: Destination
    transfer: Transfer
    axes: Axes

    @property
    def words(self) -> Array:
        """The lines with their places, as words (lines, w)."""
        return packed((self.values, self.destination.place), 1)

    @property
    def line_bytes(self) -> int:
        """How long a line is."""
        return 4 * self.words.shape[1]

    def write_mine(self, arrays):
        """Write those lines alone that stay on this device."""
        mine = self.destination.device == self.axes.here()
        places = only(mine, self.destination.place, _line_count(arrays))
        return written(arrays, places, self.values)

    def outgoing(self, begin, block: int) -> Array:
        """Return messages to all peers (peers, block, w): lines for each from the number `begin` on."""
        offset = begin + lax.iota(jnp.int32, block)
        line_count = len(self.destination.place)
        return self.words[self.transfer.lines_for(self.axes.peers()[:, None], offset, line_count)]

    def write_arrived(self, arrays, message: Array, begin):
        """Write the lines of messages from all peers, each of its lines from the number `begin` on."""
        offset = begin + lax.iota(jnp.int32, message.shape[1])
        like = self.values, self.destination.place
        return _write_message(
            arrays, message, like, offset < lines_from_peers(self.transfer.counts, self.axes)
        )


def _write_message(arrays, message: Array, like, mask: Array):
    """Write those lines of messages from all peers (peers, block, w) that are in the mask (peers, block)."""
    values, places = unpacked(message, like, 1)
    return written(arrays, only(mask, places, _line_count(arrays)), values)


def _line_count(arrays) -> int:
    return len(jax.tree.leaves(arrays)[0])
