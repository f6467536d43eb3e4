"""Rows from each device to each other one, in blocks of one size.

JAX's `ragged_all_to_all`, which would send what there is and no more, does not exist on the CPU. Here every
device sends every other one a block a step, as many steps as the longest message needs.
"""

import jax
import jax.numpy as jnp
from jax import lax

from ._axes import Axes

__all__ = ["Routes", "exchange", "routes"]

ROOM = 1.25  # size of a block beside an even share


class Routes:
    """Which rows go where: those of `order`, of which each device gets as many as `counts` says."""

    def __init__(self, order, counts):
        self.order = order  # (q,) rows by destination
        self.counts = counts  # (devices, devices) from row to column, known to all

    def starts(self, axes: Axes):
        """Return where in `order` the rows for each device begin."""
        own = self.counts[axes.index()]
        return jnp.cumsum(own) - own


def by_destination(destination, devices: int):
    """Return the rows in the order of their destinations (q,), among equal ones of the rows."""
    narrow = jnp.uint8 if devices < 256 else jnp.uint32  # a GPU sorts bytes in one pass
    rows = lax.iota(jnp.int32, destination.shape[0])
    return lax.sort((destination.astype(narrow), rows), num_keys=1, is_stable=True)[1]


def routes(destination, axes: Axes) -> Routes:
    """Return the routes of rows to the devices in `destination` (q,); `axes.size` for those that stay."""
    devices = jnp.arange(axes.size, dtype=destination.dtype)
    own = (destination[:, None] == devices).sum(axis=0, dtype=jnp.int32)
    return Routes(by_destination(destination, axes.size), axes.gather(own))


def exchange(values, order, starts, counts, axes: Axes, *, room: int):
    """Send ``counts[i, j]`` lines of the `values` from device ``i`` to ``j``; return (room, ...) lines.

    The lines for ``j`` are those that `order` names from ``starts[j]`` on (None: their own order). What
    arrives is in the order of the senders; past it the lines are zero.
    """
    here = axes.index()
    lines = jax.tree.leaves(values)[0].shape[0]
    received = counts[:, here]
    ends = jnp.cumsum(received)
    place = lax.iota(jnp.int32, room)
    sender = jnp.minimum((place[:, None] >= ends).sum(axis=1, dtype=jnp.int32), axes.size - 1)
    offset = place - (ends - received)[sender]  # among the lines of that sender
    block = max(1, int(-(-room // axes.size) * ROOM))

    def step(i, arrived):
        first = i * block
        taken = jnp.clip(starts[:, None] + first + lax.iota(jnp.int32, block), 0, max(lines - 1, 0))
        if order is not None:
            taken = order[taken]
        within = (offset >= first) & (offset < jnp.minimum(first + block, received[sender]))
        source = jnp.where(within, sender * block + offset - first, 0)

        def one(old, value):
            blocks = axes.swap(value[taken])
            flat = blocks.reshape(axes.size * block, *value.shape[1:])
            shape = (room,) + (1,) * (value.ndim - 1)
            return jnp.where(within.reshape(shape), flat[source], old)

        return jax.tree.map(one, arrived, values)

    nothing = jax.tree.map(lambda a: jnp.zeros((room, *a.shape[1:]), a.dtype), values)
    steps = -(-counts.max() // block)
    return lax.fori_loop(jnp.int32(0), steps, step, axes.varying(nothing))
