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

LONGEST = 1 << 27  # bytes of the blocks of a step, so that they take little memory beside what they carry
UNASKED = 6  # steps at most that are made before it is asked whether there are more
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
    size = sum(math.prod(a.shape[1:]) * a.dtype.itemsize for a in jax.tree.leaves((values, places)))
    size *= len(peers)  # bytes of a line to each
    most = room if most is None and room * size <= SHORT else most
    steps, block = _steps(room, size, axes.size) if most is None else (1, max(1, most))
    to_others = jnp.where(peers == here, 0, received[peers])[:, None]

    def source(place):
        place = jnp.clip(place, 0, max(lines - 1, 0))
        return place if order is None else order[place]

    def step(i, arrived):
        offset = i * block + lax.iota(jnp.int32, block)  # among the lines of one sender
        sent = source(starts[peers][:, None] + offset)
        new, place = axes.swap(jax.tree.map(lambda a: a[sent], (values, places)))
        place = begins[peers][:, None] + offset if place is None else place
        past = room + lax.iota(jnp.int32, place.size).reshape(place.shape)
        place = jnp.where(offset < to_others, place, past)
        return jax.tree.map(lambda a, b: a.at[place].set(b, mode="drop", unique_indices=True), arrived, new)

    # Which line lies on each that stays on its device; the others wait for those that come, or for nothing.
    place = lax.iota(jnp.int32, room if places is None else lines)
    rank = place - (begins if places is None else starts)[here]
    stays = (rank >= 0) & (rank < received[here])
    line = jnp.where(stays, source(starts[here] + rank), lines)
    if places is not None:
        target = jnp.where(stays, places.at[line].get(mode="clip"), room + place)
        line = jnp.full(room, lines, jnp.int32).at[target].set(line, mode="drop", unique_indices=True)
    fills = fill if isinstance(fill, tuple) else (fill,) * len(jax.tree.leaves(values))
    fills = jax.tree.unflatten(jax.tree.structure(values), fills)
    arrived = jax.tree.map(
        lambda a, last: jnp.where(_lines(line < lines, a), a.at[line].get(mode="clip"), last), values, fills
    )
    for i in range(steps):
        arrived = step(i, arrived)
    if most is not None:
        return arrived
    farthest = jnp.where(jnp.eye(axes.size, dtype=bool), 0, counts).max()
    return lax.fori_loop(jnp.int32(steps), -(-farthest // block), step, arrived)


def _steps(room: int, size: int, devices: int) -> tuple[int, int]:
    """Return how many steps to make without asking, and the lines of a block, each of `size` bytes.

    Together they are so many that chance needs no further step where rows go anywhere.
    """
    even = -(-room // devices)
    even += 8 * math.isqrt(even)
    steps = -(-even * size // LONGEST)
    return min(steps, UNASKED), -(-even // steps)


def _lines(there, a):
    """Return flags of lines as flags that select from `a`."""
    return there.reshape(-1, *(1,) * (a.ndim - 1))
