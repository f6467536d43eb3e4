"""The derivatives of distances to points on other devices."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec

from .._tree._slopes import displacements_to, distances_to
from ._axes import Axes
from ._layout import MeshLayout
from ._programs import Plan

__all__ = ["Ends", "vectors_to", "with_slopes"]

SAME = PartitionSpec()


class Ends(NamedTuple):
    """What distances are functions of."""

    points: Any  # (n, m)
    x: Any  # the queries (q, m)
    boxsize: Any  # (m,) of the periodic box, or None


@partial(jax.custom_jvp, nondiff_argnums=(4,))
def with_slopes(distances, ends: Ends, query_rows, rows, plan: Plan):
    """Return `distances` (q, ...), which a search found, as a function of their ends.

    As `_tree._slopes.with_slopes`, of arrays on a mesh. With `query_rows` (q,) the queries are these rows
    of `ends.x`.
    """
    return distances


@with_slopes.defjvp
def _with_slopes_jvp(plan, primals, tangents):
    distances, ends, query_rows, rows = primals

    def recompute(ends):
        return _distances(ends, query_rows, rows, plan=plan)

    _, slopes = jax.jvp(recompute, (ends,), (tangents[1],))
    # Not `distances`, which have no derivatives: those of second order need these.
    return with_slopes(distances, ends, query_rows, rows, plan), slopes


@partial(jax.jit, static_argnames="plan")
def _distances(ends: Ends, query_rows, rows, *, plan: Plan):
    """Return the distances from each query to its rows."""
    layout = plan.layout

    def local(ends, query_rows, rows):
        x = ends.x if query_rows is None else _fetch(ends.x, query_rows, layout.axes)
        neighbors, numbers = _neighbors(ends.points, rows.reshape(len(x), -1), layout)
        distances = distances_to(neighbors, x, numbers, ends.boxsize, plan.search.p)
        return distances.reshape(rows.shape)

    place = plan.place
    specs = Ends(layout.rows, place, SAME), place, place
    return layout.run(local, specs, place, ends, query_rows, rows)


@partial(jax.jit, static_argnames="plan")
def vectors_to(points, x, rows, boxsize, *, plan: Plan):
    """Return the vectors (q, k, m) from each query to its rows (q, k), as `displacements_to`."""
    layout = plan.layout

    def local(points, x, rows, boxsize):
        neighbors, numbers = _neighbors(points, rows, layout)
        return displacements_to(neighbors, x, numbers, boxsize, len(neighbors), dtype=x.dtype)

    place = plan.place
    return layout.run(local, (layout.rows, place, place, SAME), place, points, x, rows, boxsize)


def _neighbors(points, rows, layout: MeshLayout):
    """Return the points (q * k, m) of the rows (q, k), and where each is among them, q * k for none."""
    numbers = jnp.arange(rows.size, dtype=rows.dtype).reshape(rows.shape)
    numbers = jnp.where(rows < layout.n, numbers, rows.size)
    return _fetch(points, rows, layout.axes).reshape(-1, points.shape[-1]), numbers


def _fetch(points, rows, axes: Axes):
    """Return the points (..., m) of some rows: all points go round, and each device takes those it needs."""
    each = points.shape[0]
    ring = [(i, (i + 1) % axes.size) for i in range(axes.size)]

    @jax.checkpoint
    def step(carry, i):
        block, taken = carry
        owner = (axes.here() - i) % axes.size
        place = rows - owner.astype(rows.dtype) * each
        is_in_block = (place >= 0) & (place < each)
        in_block = block[jnp.where(is_in_block, place, 0)]
        taken = jnp.where(is_in_block[..., None], in_block, taken)
        return (lax.ppermute(block, axes.names, ring), taken), None

    nothing = jnp.zeros((*rows.shape, points.shape[1]), points.dtype)
    start = points, axes.varying(nothing)
    (_, taken), _ = lax.scan(step, start, jnp.arange(axes.size, dtype=jnp.int32))
    return taken
