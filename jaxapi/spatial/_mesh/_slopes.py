"""The derivatives of distances to points on other devices."""

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec

from .._device._slopes import displacements_to, distances_to
from ._axes import Axes
from ._layout import Layout

__all__ = ["vectors_to", "with_slopes"]

SAME = PartitionSpec()


@partial(jax.custom_jvp, nondiff_argnums=(6, 7, 8))
def with_slopes(distances, points, x, own, rows, lengths, p: float, layout: Layout, spread: bool):
    """Return `distances` (q, ...), which a search found, as a function of the points and of x (q, m).

    As `_device._slopes.with_slopes`, of arrays on a mesh. With `own` (q,) the queries are these rows of `x`.
    """
    return distances


@with_slopes.defjvp
def _with_slopes_jvp(p, layout, spread, primals, tangents):
    distances, points, x, own, rows, lengths = primals

    def recompute(points, x, lengths):
        return _distances(points, x, own, rows, lengths, p=p, layout=layout, spread=spread)

    _, slopes = jax.jvp(recompute, (points, x, lengths), (*tangents[1:3], tangents[5]))
    # Not `distances`, which have no derivatives: those of second order need these.
    return with_slopes(distances, points, x, own, rows, lengths, p, layout, spread), slopes


@partial(jax.jit, static_argnames=("p", "layout", "spread"))
def _distances(points, x, own, rows, lengths, *, p, layout: Layout, spread: bool):
    """Return the distances from each query to its rows."""

    def local(points, x, own, rows, lengths):
        if own is not None:
            x = _fetch(x, own, layout.axes)
        neighbours, numbers = _neighbours(points, rows.reshape(len(x), -1), layout)
        return distances_to(neighbours, x, numbers, lengths, p).reshape(rows.shape)

    place = layout.rows if spread else SAME
    specs = layout.rows, place, place, place, SAME
    return layout.run(local, specs, place, points, x, own, rows, lengths)


@partial(jax.jit, static_argnames=("layout", "spread"))
def vectors_to(points, x, rows, lengths, *, layout: Layout, spread: bool):
    """Return the vectors (q, k, m) from each query to its rows (q, k), as `displacements_to`."""

    def local(points, x, rows, lengths):
        neighbours, numbers = _neighbours(points, rows, layout)
        return displacements_to(neighbours, x, numbers, lengths, len(neighbours), dtype=x.dtype)

    place = layout.rows if spread else SAME
    return layout.run(local, (layout.rows, place, place, SAME), place, points, x, rows, lengths)


def _neighbours(points, rows, layout: Layout):
    """Return the points (q * k, m) of the rows (q, k), and where each is among them, q * k for none."""
    numbers = jnp.arange(rows.size, dtype=rows.dtype).reshape(rows.shape)
    numbers = jnp.where(rows < layout.n, numbers, rows.size)
    return _fetch(points, rows, layout.axes).reshape(-1, points.shape[-1]), numbers


def _fetch(points, rows, axes: Axes):
    """Return the points (..., m) of the given rows: the devices' points go round, each takes its own."""
    s = points.shape[0]
    ring = [(i, (i + 1) % axes.size) for i in range(axes.size)]

    @jax.checkpoint
    def step(carry, i):
        block, taken = carry
        owner = (axes.index() - i) % axes.size
        local = rows - owner.astype(rows.dtype) * s
        here = (local >= 0) & (local < s)
        taken = jnp.where(here[..., None], block[jnp.where(here, local, 0)], taken)
        return (lax.ppermute(block, axes.names, ring), taken), None

    nothing = jnp.zeros((*rows.shape, points.shape[1]), points.dtype)
    start = points, axes.varying(nothing)
    return lax.scan(step, start, jnp.arange(axes.size, dtype=jnp.int32))[0][1]
