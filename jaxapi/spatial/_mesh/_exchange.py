"""Rows from each device to each other one, in blocks of one size.

JAX's `ragged_all_to_all`, which would send what there is and no more, does not exist on the CPU. Here every
device sends every other one a block a step, as many steps as the longest message needs.
"""

import jax
import jax.numpy as jnp
from jax import lax

from ._axes import Axes

__all__ = ["by_destination", "exchange", "numbers_sent"]

ROOM = 1.25  # size of a block beside an even share
LONGEST = 1 << 21  # lines of a block, so that the blocks take little memory beside what they carry
SHORT = 1 << 18  # lines of all blocks together, up to which a block has room for all: to ask takes longer


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


def exchange(values, order, counts, axes: Axes, *, room: int, starts=None, into=None, fill=0):
    """Send ``counts[i, j]`` lines of the `values` from device ``i`` to ``j``; return (room, ...) lines.

    The lines for ``j`` are those that `order` names from ``starts[j]`` on: by default one device's behind
    another's. Without an `order` they lie there. What arrives is in the order of the senders, line ``i`` on
    line ``into[i]`` if there is `into`. All other lines are `fill`, one number for all or one for each array.
    """
    here = axes.index()
    lines = jax.tree.leaves(values)[0].shape[0]
    received = counts[:, here]
    begins = jnp.cumsum(received) - received
    starts = jnp.cumsum(counts[here]) - counts[here] if starts is None else starts
    short = room * axes.size <= SHORT
    block = max(1, room if short else min(int(-(-room // axes.size) * ROOM), LONGEST))

    def step(i, arrived):
        offset = i * block + lax.iota(jnp.int32, block)  # among the lines of one sender
        taken = jnp.clip(starts[:, None] + offset, 0, max(lines - 1, 0))
        taken = taken if order is None else order[taken]
        blocks = axes.swap(jax.tree.map(lambda a: a[taken], values))
        nowhere = room + lax.iota(jnp.int32, axes.size * block).reshape(axes.size, block)
        place = begins[:, None] + offset
        place = place if into is None else into.at[place].get(mode="clip")
        place = jnp.where(offset < received[:, None], place, nowhere)
        return jax.tree.map(
            lambda a, new: a.at[place].set(new, mode="drop", unique_indices=True), arrived, blocks
        )

    fills = fill if isinstance(fill, tuple) else (fill,) * len(jax.tree.leaves(values))
    leaves, structure = jax.tree.flatten(values)
    empty = [jnp.full((room, *a.shape[1:]), each, a.dtype) for a, each in zip(leaves, fills, strict=True)]
    nothing = jax.tree.unflatten(structure, empty)
    arrived = step(0, axes.varying(nothing))
    if short:
        return arrived
    return lax.fori_loop(jnp.int32(1), -(-counts.max() // block), step, arrived)
