"""Lines to places on other devices, in messages that tell their places: these may be made and read apart.

The arguments are the same everywhere. Lines of the `values` (q, ...) go to their `device` (q,), to their
`places` (q,) in its arrays `into`, which are changed; ``counts[i, j]`` of them from ``i`` to ``j``. No place
is to be written twice.
"""

import jax
import jax.numpy as jnp
from jax import lax

from ._axes import Axes
from ._exchange import by_destination, in_blocks, named, only, size_of, starts_of, to_others, written
from ._words import packed, unpacked

__all__ = ["arrived", "deliver", "deliver_here", "no_message", "outgoing"]


def deliver(into, values, device, places, counts, axes: Axes):
    """Return the arrays `into` with the lines that all devices send there."""
    into = deliver_here(into, values, device, places, axes)
    order = by_destination(device, axes.size)

    def step(begin, block, into):
        message = outgoing(values, places, order, counts, begin, block, axes)
        return arrived(into, axes.swap(message), counts, begin, block, axes)

    return in_blocks(step, into, len(places), size_of((values, places)), counts, axes)


def deliver_here(into, values, device, places, axes: Axes):
    """Return the arrays `into` with those lines alone that stay on this device."""
    room = len(jax.tree.leaves(into)[0])
    return written(into, only(device == axes.index(), places, room), values)


def outgoing(values, places, order, counts, begin, block: int, axes: Axes):
    """Return messages to all peers, words (peers, w): a block of the lines for each from the one `begin` on.

    `order` are the lines by their destination.
    """
    place = starts_of(counts, axes)[axes.peers()][:, None] + begin + lax.iota(jnp.int32, block)
    sent = named(order, place, len(places))
    return packed(jax.tree.map(lambda a: a[sent], (values, places)), 1)


def no_message(into, block: int, axes: Axes):
    """Return words as those of messages."""
    return packed(jax.tree.map(lambda a: jnp.zeros(a.shape, a.dtype), _parts(into, block, axes)), 1)


def arrived(into, message, counts, begin, block: int, axes: Axes):
    """Return the arrays `into` with the lines of the messages that came."""
    values, places = unpacked(message, _parts(into, block, axes), 1)
    there = begin + lax.iota(jnp.int32, block) < to_others(counts, axes)
    return written(into, only(there, places, len(jax.tree.leaves(into)[0])), values)


def _parts(into, block: int, axes: Axes):
    """Return shapes and dtypes of what messages for the arrays `into` hold: lines, and their places."""
    shape = len(axes.peers()), block
    lines = jax.tree.map(lambda a: jax.ShapeDtypeStruct((*shape, *a.shape[1:]), a.dtype), into)
    return lines, jax.ShapeDtypeStruct(shape, jnp.int32)
