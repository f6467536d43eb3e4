"""Values on their way to the rows of the data that they belong to, and back."""

import jax.numpy as jnp

from ._axes import Axes
from ._exchange import by_destination, exchange, numbers_sent

__all__ = ["of_rows", "to_rows"]


def to_rows(values, rows, missing: tuple, n: int, s: int, axes: Axes):
    """Send `values` (q, ...) to the `rows` (q,) of all, n for nowhere, of which each device has `s`.

    Return what this device's rows got (s, ...), `missing` where it is nothing. No row may come twice.
    """
    places, order, counts = _route(rows, n, s, axes)
    return exchange(values, order, counts, axes, room=s, places=places, fill=missing)


def of_rows(values, rows, n: int, axes: Axes):
    """Return the values (q,) of `rows` (q,) of all, 0 where these are n, of which this device has (s,).

    No row may come twice.
    """
    places, order, counts = _route(rows, n, len(values), axes)
    wanted = exchange(places, order, counts, axes, room=len(values))
    answer = exchange(values[wanted], None, counts.T, axes, room=len(rows))
    return jnp.zeros_like(answer).at[order].set(answer, unique_indices=True)


def _route(rows, n: int, s: int, axes: Axes):
    """Return the place of each row on its device, the order of devices, and how many go to each."""
    device = jnp.where(rows < n, rows // s, axes.size)
    places = (rows - device * s).astype(jnp.int32)
    return places, by_destination(device, axes.size), numbers_sent(device, axes)
