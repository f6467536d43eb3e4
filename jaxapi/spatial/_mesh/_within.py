"""All points within a radius, among those of all devices: how many, the nearest of them, sums of weights."""

import jax.numpy as jnp
import numpy as np
from jax import lax

from .._device import _searches
from .._structure._metric import into_box
from .._structure._queries import radius_bound
from .._structure._scaling import times_power_of_two
from ._axes import Axes
from ._by_row import of_rows
from ._closest import halved, in_units, nearest_below
from ._forest import Forest, rows_of_points
from ._rounds import Search, visit_devices

__all__ = ["around", "counts_within", "nearest_within", "search_of", "sums_within"]

INT32 = np.dtype(np.int32)


def counts_within(forest: Forest, x, radius, lengths, axes: Axes, *, p, index_dtype):
    """Return how many points lie within `radius`, () or (q,), of each of this device's queries (q, m)."""
    kind = search_of(p, x.dtype)
    x, radius, _ = halved(forest, x, radius, lengths, p)

    def count(tree, rows, x, radius, there):
        radius = jnp.where(there, radius, -1)
        (found,) = _searches.counts_within(tree, x, None, radius, lengths, search=kind)
        return found.astype(index_dtype)

    nothing = jnp.zeros(x.shape[0], index_dtype)
    return around(forest, x, radius, radius, nothing, count, jnp.add, lengths, axes, p=p)


def sums_within(forest: Forest, x, radii, weights, lengths, axes: Axes, *, n, p):
    """Return the sums (q, R) of the weights of the points within each of the `radii` (R,).

    `weights` (s,) belong to this device's rows of the data.
    """
    slots = forest.tree.points.shape[1]
    weights = of_rows(weights, rows_of_points(forest, n, slots), n, axes)
    kind = search_of(p, x.dtype)
    narrow = jnp.int32 if jnp.issubdtype(weights.dtype, jnp.integer) else weights.dtype
    x, reach, halvings = halved(forest, x, jnp.max(radii), lengths, p)

    def add_up(tree, own, x, halvings, there):
        inputs = tree, x, halvings, radii, own, lengths
        order, parts = _searches.sums_within(*inputs, search=kind, dtype=weights.dtype)
        found = jnp.concatenate([*parts]).T  # (q, R)
        found = jnp.zeros_like(found).at[order].set(found, unique_indices=True)
        return jnp.where(there[:, None], found, 0)

    nothing = jnp.zeros((x.shape[0], radii.shape[0]), weights.dtype)
    forest = forest._replace(rows=weights.astype(narrow))
    return around(forest, x, reach, halvings, nothing, add_up, jnp.add, lengths, axes, p=p)


def around(forest: Forest, x, radius, send, nothing, search, merge, lengths, axes: Axes, *, p, at_home=False):
    """Return what `merge` makes of `nothing` and what `search` finds on every device that a ball reaches.

    `at_home`: `x` are points of this device, which is not searched.
    """
    finite = jnp.isfinite(x).all(axis=1)
    x = jnp.where(finite[:, None], x, 0)
    x = x if lengths is None else into_box(x, lengths)
    reach = radius_bound(forest.tree, jnp.where(finite, radius, -1), p)
    kind = Search(
        reach=lambda state: state[1],
        skip=lambda state, least: False,
        send=lambda state: state[2],
        search=search,
        merge=lambda state, answer: (merge(state[0], answer), *state[1:]),
        copies=not at_home,
    )
    state = nothing, reach, send
    return visit_devices(forest, x, state, kind, axes, p=p, lengths=lengths, at_home=at_home)[0][0]


def search_of(p, dtype) -> _searches.Search:
    """Return a radius search within one tree, by the engine of its device."""
    return _searches.Search(p, None, np.dtype(dtype), INT32)


def nearest_within(forest: Forest, x, radius, lengths, axes: Axes, *, n, limit, p, index_dtype):
    """Return rows and distances (q, limit) of the nearest within `radius`, () or (q,), and true counts (q,).

    As `_device._searches.nearest_within`: ordered by distance and row, or where some are left out by the
    distance before its root.
    """
    tree = forest.tree
    x, radius, halvings = halved(forest, x, radius, lengths, p)
    counts = counts_within(forest, x, radius, lengths, axes, p=p, index_dtype=index_dtype)
    reach = radius_bound(tree, radius, p)
    above = jnp.nextafter(reach, jnp.full_like(reach, jnp.inf))
    tiny = jnp.finfo(x.dtype).tiny  # the number after 0 is subnormal, and XLA takes it for 0
    below = jnp.where(reach >= 0, jnp.maximum(above, tiny), 0)
    zero = jnp.zeros((), x.dtype)
    powers, rows, _ = nearest_below(forest, x, below, zero, lengths, axes, n=n, k=limit, p=p)
    distances = times_power_of_two(in_units(forest, powers, lengths, p), halvings[:, None])
    in_order = lax.sort((distances, rows), dimension=1, num_keys=2)
    whole = (counts <= limit)[:, None]
    distances, rows = (
        jnp.where(whole, new, old) for new, old in zip(in_order, (distances, rows), strict=True)
    )
    return rows.astype(index_dtype), distances, counts
