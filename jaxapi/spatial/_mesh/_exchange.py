"""Rows from each device to each other one, in blocks of one size.

JAX's `ragged_all_to_all`, which would send what there is and no more, does not exist on the CPU. Here every
device sends every other one a block a step, as many steps as the longest message needs. What stays on its
device is copied there.
"""

import math

import jax
import jax.numpy as jnp
from jax import lax

from ._axes import Axes

__all__ = ["by_destination", "exchange", "numbers_sent"]

LONGEST = 1 << 26  # bytes of the blocks of a step, so that they take little memory beside what they carry
UNASKED = 16  # steps at most that are made before it is asked whether there are more
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


def exchange(values, order, counts, axes: Axes, *, room: int, starts=None, places=None, fill=0, most=None):
    """Send ``counts[i, j]`` lines of the `values` from device ``i`` to ``j``; return (room, ...) lines.

    The lines for ``j`` are those that `order` names from ``starts[j]`` on: by default one device's behind
    another's. Without an `order` they lie there. What arrives is in the order of the senders; with `places`,
    each of the values on the line that its place says. All other lines are `fill`, one number for all or one
    for each array. With `most`, no device sends more lines to another one, and there is one step and nothing
    to wait for.
    """
    here = axes.index()
    lines = jax.tree.leaves(values)[0].shape[0]
    received = counts[:, here]
    begins = jnp.cumsum(received) - received
    starts = jnp.cumsum(counts[here]) - counts[here] if starts is None else starts
    peers = axes.peers()
    line = sum(math.prod(a.shape[1:]) * a.dtype.itemsize for a in jax.tree.leaves((values, places)))
    line *= len(peers)
    most = room if most is None and room * line <= SHORT else most
    steps, block = _steps(room, line, axes.size) if most is None else (1, max(1, most))
    to_others = jnp.where(peers == here, 0, received[peers])[:, None]

    def sent(place):
        place = jnp.clip(place, 0, max(lines - 1, 0))
        place = place if order is None else order[place]
        return jax.tree.map(lambda a: a[place], (values, places))

    def put(arrived, sent, place, there):
        """Set the lines that are `there` on their places; the others have places past the end."""
        lines, told = sent
        place = place if told is None else told
        past = room + lax.iota(jnp.int32, place.size).reshape(place.shape)
        place = jnp.where(there, place, past)
        return jax.tree.map(
            lambda a, new: a.at[place].set(new, mode="drop", unique_indices=True), arrived, lines
        )

    def step(i, arrived):
        offset = i * block + lax.iota(jnp.int32, block)  # among the lines of one sender
        blocks = axes.swap(sent(starts[peers][:, None] + offset))
        return put(arrived, blocks, begins[peers][:, None] + offset, offset < to_others)

    place = lax.iota(jnp.int32, room)
    rank = place - begins[here]
    stays = (rank >= 0) & (rank < received[here])
    own = sent(jnp.where(stays, starts[here] + rank, 0))
    fills = fill if isinstance(fill, tuple) else (fill,) * len(jax.tree.leaves(values))
    fills = jax.tree.unflatten(jax.tree.structure(values), fills)
    if places is None:
        arrived = jax.tree.map(lambda a, last: jnp.where(_lines(stays, a), a, last), own[0], fills)
    else:
        nothing = jax.tree.map(lambda a, last: jnp.full((room, *a.shape[1:]), last, a.dtype), values, fills)
        arrived = put(axes.varying(nothing), own, place, stays)
    arrived = step(0, arrived) if steps == 1 else lax.fori_loop(0, steps, step, arrived)
    if most is not None:
        return arrived
    farthest = jnp.where(jnp.eye(axes.size, dtype=bool), 0, counts).max()
    return lax.fori_loop(jnp.int32(steps), -(-farthest // block), step, arrived)


def _steps(room: int, line: int, devices: int) -> tuple[int, int]:
    """Return how many steps to make without asking, and the lines of a block, of which `line` bytes are sent.

    Together they are so many that chance needs no further step where rows go anywhere.
    """
    even = -(-room // devices)
    even += 8 * math.isqrt(even)
    steps = -(-even * line // LONGEST)
    return min(steps, UNASKED), -(-even // steps)


def _lines(there, a):
    """Return flags of lines as flags that select from `a`."""
    return there.reshape(-1, *(1,) * (a.ndim - 1))
