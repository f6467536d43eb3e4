"""What becomes of neighbours: edges, pairs and CSR, as compiled functions of whole arrays."""

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec

from .._settings import index_dtype
from . import _ragged
from ._layout import Layout

__all__ = ["edges", "in_equal_parts", "largest", "offsets", "radii_of_points", "related", "without_own"]

SAME = PartitionSpec()


@partial(jax.jit, static_argnames=("layout", "relation"))
def related(rows, *, layout: Layout, relation: str | None):
    """Tell which of the neighbours (q, c) to keep, and return how many on each device.

    With a relation the queries are all points: it tells which neighbours make edges.
    """

    def local(rows):
        own = _own(rows, layout)
        keep = rows < layout.n
        if relation == "other":
            keep &= rows != own
        elif relation == "later":
            keep &= rows > own
        return keep, layout.axes.gather(keep.sum(dtype=jnp.int32))

    return layout.run(local, (layout.rows,), (layout.rows, SAME), rows)


@partial(jax.jit, static_argnames=("layout", "room", "size"))
def in_equal_parts(rows, distances, keep, *, layout: Layout, room: int, size: int):
    """Return receivers, senders and distances of the first `size` neighbours to keep, in equal parts."""

    def local(rows, distances, keep):
        missing = (
            jnp.asarray(layout.n, rows.dtype),
            jnp.asarray(layout.n, rows.dtype),
            jnp.asarray(jnp.inf, distances.dtype),
        )
        own = jnp.broadcast_to(_own(rows, layout), rows.shape)
        return _ragged.in_equal_parts(
            (own, rows, distances), keep, missing, layout.axes, room=room, size=size
        )

    return layout.run(local, (layout.rows,) * 3, (layout.rows,) * 3, rows, distances, keep)


@partial(jax.jit, static_argnames="layout")
def without_own(distances, rows, *, layout: Layout):
    """Return all columns (s, k + 1) but that of each row itself, or the last where it is not there."""

    def local(distances, rows):
        own = (rows == _own(rows, layout)).astype(jnp.int32)
        passed = lax.cummax(own, axis=1)[:, :-1] > 0
        return tuple(jnp.where(passed, each[:, 1:], each[:, :-1]) for each in (distances, rows))

    return layout.run(local, (layout.rows,) * 2, layout.rows, distances, rows)


@partial(jax.jit, static_argnames="layout")
def edges(distances, rows, *, layout: Layout):
    """Return senders, receivers and distances (s * k,) of the neighbours (s, k), and how many there are."""

    def local(distances, rows):
        there = rows < layout.n
        receivers = jnp.where(there, _own(rows, layout), rows)
        count = layout.axes.sum(there.sum(dtype=rows.dtype))
        return rows.reshape(-1), receivers.reshape(-1), distances.reshape(-1), count

    out = layout.rows, layout.rows, layout.rows, SAME
    return layout.run(local, (layout.rows,) * 2, out, distances, rows)


@partial(jax.jit, static_argnames="layout")
def radii_of_points(radius, points, *, layout: Layout):
    """Return the radius for each row of the data (s,), -1 for those that do not count."""

    def local(points, radius):
        return jnp.where(layout.own_rows(len(points), index_dtype(layout.n)) < layout.n, radius, -1)

    return layout.run(local, (layout.rows, SAME), layout.rows, points, radius)


@partial(jax.jit, static_argnames=("layout", "spread"))
def largest(counts, *, layout: Layout, spread: bool):
    """Return the greatest of the counts."""
    place = layout.rows if spread else SAME
    return layout.run(lambda counts: layout.axes.max(counts.max(initial=0)), (place,), SAME, counts)


@partial(jax.jit, static_argnames=("layout", "dtype"))
def offsets(counts, *, layout: Layout, dtype):
    """Return where the neighbours of each query begin and the last one's end, on every device."""

    def local(counts):
        ends = jnp.cumsum(layout.axes.gather(counts).reshape(-1), dtype=dtype)
        return jnp.pad(ends, (1, 0))

    return layout.run(local, (layout.rows,), SAME, counts)


def _own(rows, layout: Layout):
    """Return the rows (s, 1) of the data to which the lines of `rows` (s, k) belong."""
    return layout.own_rows(len(rows), rows.dtype)[:, None]
