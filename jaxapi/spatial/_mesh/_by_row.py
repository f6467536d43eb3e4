"""Values on their way to the rows of the data that they belong to, and back."""

import jax
import jax.numpy as jnp
from jax import lax

from ._axes import Axes
from ._delivery import arrived, deliver, deliver_here, no_message, outgoing
from ._exchange import by_destination, even_share, exchange, most_sent, numbers_sent

__all__ = ["of_rows", "to_rows", "to_rows_in_pieces"]


def to_rows(into, values, rows, n: int, axes: Axes):
    """Send `values` (q, ...) to the `rows` (q,) of all, n for nowhere.

    Return the arrays `into` of this device's rows (s, ...), changed in place. No row may come twice.
    """
    device, places = _places(rows, n, len(jax.tree.leaves(into)[0]), axes)
    return deliver(into, values, device, places, numbers_sent(device, axes), axes)


def to_rows_in_pieces(into, find, rows, q: int, size: int, n: int, axes: Axes):
    """Do the same for what ``find(begin, size)`` finds for the first `q` of the rows, `size` at a time.

    It also finds a flag for each, all of which (q,) come second.
    """
    s = len(jax.tree.leaves(into)[0])
    begins = jnp.minimum(jnp.arange(-(-q // size), dtype=jnp.int32) * size, q - size)  # the last may overlap

    def places(begin):
        return _places(lax.dynamic_slice_in_dim(rows, begin, size), n, s, axes)

    def number(begin):
        return (places(begin)[0] == lax.iota(jnp.int32, axes.size)[:, None]).sum(axis=1, dtype=jnp.int32)

    counts = axes.gather(lax.map(number, begins))  # (devices, pieces, devices)
    flags = jnp.zeros(q, bool)

    def one_by_one():
        """Send what is found before the next search."""

        def piece(i, state):
            into, flags = state
            found, new = find(begins[i], size)
            into = deliver(into, found, *places(begins[i]), counts[:, i], axes)
            return into, lax.dynamic_update_slice_in_dim(flags, new, begins[i], 0)

        return lax.fori_loop(0, len(begins), piece, axes.varying((into, flags)))

    def overlapping():
        """Send what is found during the next search: what arrives then is written when that is done."""
        before = jnp.pad(counts, ((0, 0), (1, 0), (0, 0)))

        def piece(i, state):
            into, flags, message = state
            message = axes.swap(message)
            found, new = find(begins[i], size)
            device, own = places(begins[i])
            into = deliver_here(into, found, device, own, axes)
            into = arrived(into, message, before[:, i], 0, even, axes)
            # Only when that has been read is there a new message, which then needs no room of its own.
            into, found = lax.optimization_barrier((into, found))
            order = by_destination(device, axes.size)
            message = outgoing(found, own, order, counts[:, i], 0, even, axes)
            return into, lax.dynamic_update_slice_in_dim(flags, new, begins[i], 0), message

        start = axes.varying((into, flags, no_message(into, even, axes)))
        *found, message = lax.fori_loop(0, len(begins), piece, start)
        return arrived(found[0], axes.swap(message), counts[:, -1], 0, even, axes), found[1]

    even = even_share(size, axes.size)
    return lax.cond(most_sent(counts.max(axis=1)) <= even, overlapping, one_by_one)


def of_rows(values, rows, n: int, axes: Axes):
    """Return the values (q,) of `rows` (q,) of all, 0 where these are n, of which this device has (s,).

    No row may come twice.
    """
    device, places = _places(rows, n, len(values), axes)
    order, counts = by_destination(device, axes.size), numbers_sent(device, axes)
    wanted = exchange(places, order, counts, axes, room=len(values))
    answer = exchange(values[wanted], None, counts.T, axes, room=len(rows))
    return jnp.zeros_like(answer).at[order].set(answer, unique_indices=True)


def _places(rows, n: int, s: int, axes: Axes):
    """Return the devices of rows (q,), `axes.size` for none, and their places there; each has `s` rows."""
    device = jnp.where(rows < n, rows // s, axes.size)
    return device.astype(jnp.int32), (rows - device * s).astype(jnp.int32)
