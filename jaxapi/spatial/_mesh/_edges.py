"""What becomes of neighbors: edges, pairs and CSR, as compiled functions of whole arrays."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import PartitionSpec

from ..._core._dtypes import x64_mode
from ..._core._typing import Array
from .._search import index_dtype
from .._tree._queries import Relation
from ._candidates import Candidates
from ._exchange import Transfer, exchange
from ._layout import MeshLayout

__all__ = [
    "GraphEdges",
    "edges",
    "in_equal_parts",
    "largest",
    "offsets",
    "radii_of_points",
    "related",
    "without_itself",
]

SAME = PartitionSpec()


class GraphEdges(NamedTuple):
    """The edges of a graph: arrays (e,); n and inf stand for no edge."""

    receivers: Array  # the query of each neighbor
    senders: Array  # the neighbor
    distances: Array


@partial(jax.jit, static_argnames=("layout", "relation"))
def related(rows, *, layout: MeshLayout, relation: Relation | None):
    """Tell which of the neighbors (q, c) to keep, and return how many on each device.

    With a relation the queries are all points: it tells which neighbors make edges.
    """

    def local(rows):
        queries = _query_rows(rows, layout)
        keep = rows < layout.n
        if relation is Relation.OTHER:
            keep &= rows != queries
        elif relation is Relation.LATER:
            keep &= rows > queries
        return keep, layout.axes.gather(keep.sum(dtype=jnp.int32))

    return layout.run(local, (layout.rows,), (layout.rows, SAME), rows)


@partial(jax.jit, static_argnames=("layout", "capacity", "size"))
def in_equal_parts(
    candidates: Candidates, keep, *, layout: MeshLayout, capacity: int, size: int
) -> GraphEdges:
    """Return the edges of the first `size` neighbors to keep, in equal parts: one device's after another's.

    `capacity` is the most that one device has to keep. Where there are fewer than `size`, or this is not a
    multiple of the number of devices, the last edges are none.
    """

    def local(candidates, keep):
        axes = layout.axes
        distances, rows = candidates
        queries = jnp.broadcast_to(_query_rows(rows, layout), rows.shape)
        keep = keep.reshape(-1)
        place = jnp.where(keep, jnp.cumsum(keep, dtype=jnp.int32) - 1, capacity)

        def kept(array):
            return jnp.zeros(capacity, array.dtype).at[place].set(array.reshape(-1), mode="drop")

        totals = axes.gather(keep.sum(dtype=jnp.int32))
        part = -(-size // axes.size)
        counts, starts = jax.vmap(partial(_overlaps, totals, part, size))(axes.devices())
        transfer = Transfer(counts.T, None, starts[:, axes.here()])
        values = kept(queries), kept(rows), kept(distances)
        return GraphEdges(*exchange(values, transfer, part, axes, fill=(layout.n, layout.n, jnp.inf)))

    return layout.run(local, (layout.rows,) * 2, layout.rows, candidates, keep)


def _overlaps(totals, part: int, size: int, receiver):
    """Return how many of each device's values the receiver gets, and from which on."""
    wide = totals.astype(np.int64 if x64_mode() else np.int32)
    first = receiver.astype(wide.dtype) * part
    before = jnp.cumsum(wide) - wide - first
    start = jnp.clip(-before, 0, wide)
    stop = jnp.clip(jnp.minimum(part, size - first) - before, 0, wide)
    return jnp.maximum(stop - start, 0).astype(jnp.int32), start.astype(jnp.int32)


@partial(jax.jit, static_argnames="layout")
def without_itself(distances, rows, *, layout: MeshLayout) -> Candidates:
    """Return all columns (s, k + 1) but that of each row itself, or the last where it is not there."""

    def local(distances, rows):
        is_itself = (rows == _query_rows(rows, layout)).astype(jnp.int32)
        is_behind = lax.cummax(is_itself, axis=1)[:, :-1] > 0
        return Candidates(
            jnp.where(is_behind, distances[:, 1:], distances[:, :-1]),
            jnp.where(is_behind, rows[:, 1:], rows[:, :-1]),
        )

    return layout.run(local, (layout.rows,) * 2, layout.rows, distances, rows)


@partial(jax.jit, static_argnames="layout")
def edges(distances, rows, *, layout: MeshLayout):
    """Return the edges (s * k,) of the neighbors (s, k), and how many there are."""

    def local(distances, rows):
        is_edge = rows < layout.n
        receivers = jnp.where(is_edge, _query_rows(rows, layout), rows)
        count = layout.axes.sum(is_edge.sum(dtype=rows.dtype))
        return GraphEdges(receivers.reshape(-1), rows.reshape(-1), distances.reshape(-1)), count

    return layout.run(local, (layout.rows,) * 2, (layout.rows, SAME), distances, rows)


@partial(jax.jit, static_argnames="layout")
def radii_of_points(radius, points, *, layout: MeshLayout):
    """Return the radius for each row of the data (s,), -1 for those that do not count."""

    def local(points, radius):
        return jnp.where(layout.own_rows(len(points), index_dtype(layout.n)) < layout.n, radius, -1)

    return layout.run(local, (layout.rows, SAME), layout.rows, points, radius)


@partial(jax.jit, static_argnames=("layout", "spread"))
def largest(counts, *, layout: MeshLayout, spread: bool):
    """Return the greatest of the counts."""
    place = layout.rows if spread else SAME
    return layout.run(lambda counts: layout.axes.max(counts.max(initial=0)), (place,), SAME, counts)


@partial(jax.jit, static_argnames=("layout", "dtype"))
def offsets(counts, *, layout: MeshLayout, dtype):
    """Return where the neighbors of each query begin and the last one's end, on every device."""

    def local(counts):
        ends = jnp.cumsum(layout.axes.gather(counts).reshape(-1), dtype=dtype)
        return jnp.pad(ends, (1, 0))

    return layout.run(local, (layout.rows,), SAME, counts)


def _query_rows(rows, layout: MeshLayout):
    """Return the rows (s, 1) of the data to which the lines of `rows` (s, k) belong."""
    return layout.own_rows(len(rows), rows.dtype)[:, None]
