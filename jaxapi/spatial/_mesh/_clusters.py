"""Components and DBSCAN of the points of all devices.

Each device joins its own points. Then those whose balls reach other devices ask these for the lowest
component near them, in rounds, until nothing changes. Which components have been joined all devices know, by
a number for each point of all: so a round joins whole components, and there are as many rounds as the
logarithm of the number of those that lie on several devices.
"""

from functools import partial

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core._dtypes import x64_for
from .. import _lax
from .._device import _engines
from .._lax._components import flattened
from .._structure._metric import into_box
from .._structure._queries import own_queries, radius_bound
from ._axes import Axes
from ._by_row import of_rows, to_rows
from ._exchange import by_destination, written
from ._forest import Forest, rows_of_points
from ._rounds import FEW, PART, within_reach
from ._within import around

__all__ = ["components", "dbscan"]

run = partial(_engines.run, None)


def components(forest: Forest, radius, box, axes: Axes, *, n: int, s: int, p: float):
    """Return how many components the `n` points have, and labels (s,) of this device's rows of the data."""
    rows = _rows_of_slots(forest, n)
    count, labels = _joined(forest, rows, radius, box, axes, n=n, p=p)
    return count, to_rows(jnp.full(s, -1, jnp.int32), labels, rows, n, axes)


def dbscan(forest: Forest, weights, radius, box, axes: Axes, *, n: int, s: int, p: float, min_samples: int):
    """Return which of this device's rows of the data are cores (s,), and their labels (s,).

    `weights` (s,) belong to these rows, too; without them each point counts 1.
    """
    tree, rows = forest.tree, _rows_of_slots(forest, n)
    queries, order = own_queries(tree, radius, p=p), jnp.arange(len(rows), dtype=jnp.int32)

    def count(tree, queries, order, _):
        return run("count", tree, queries, order, box, p=p, relation="any")

    def add_up(tree, queries, order, weights):
        sums = run("bin_counts", tree, queries, radius_bound(tree, radius, p)[None], weights, box, p=p)
        return jnp.zeros_like(sums[0]).at[order].set(sums[0], unique_indices=True)

    def lowest(tree, queries, order, numbers):
        return run("lowest", tree, queries, order, numbers, box, p=p)

    elsewhere = _elsewhere(forest, queries, radius, box, axes, p)
    if weights is None:
        enough = elsewhere(count(tree, queries, order, None), count, None, jnp.add) >= min_samples
    else:
        with x64_for(np.dtype(np.float64)):
            weights = of_rows(weights.astype(np.float64), rows, n, axes)
            found = add_up(tree, queries, order, weights)
            enough = elsewhere(found, add_up, weights, jnp.add) >= min_samples
    # The cores have a tree of their own, in the same units; its rows are the slots of this one.
    core = (rows < n) & enough
    points = jnp.where(core[:, None], tree.in_units(tree.points), jnp.nan)
    cores = forest._replace(tree=run("build", points, jnp.int32(len(rows)), tree.scale), rows=None)
    slots = cores.tree.rows
    core_rows = rows.at[slots].get(mode="fill", fill_value=n)
    _, labels = _joined(cores, core_rows, radius, box, axes, n=n, p=p)
    none = np.int32(np.iinfo(np.int32).max)
    numbers = jnp.where(labels < 0, none, labels)
    outer = queries._replace(bound=jnp.where(core, -1, queries.bound), own=~(order // tree.leaf_size))
    reached = lowest(cores.tree, outer, order, numbers)
    reached = _elsewhere(cores, outer, radius, box, axes, p)(reached, lowest, numbers, jnp.minimum)
    labels = jnp.where(reached < none, reached, -1).at[slots].set(labels, mode="drop")
    nothing = jnp.zeros(s, jnp.int32), jnp.full(s, -1, jnp.int32)
    core, labels = to_rows(nothing, (core.astype(jnp.int32), labels), rows, n, axes)
    return core == 1, labels


def _rows_of_slots(forest: Forest, n: int):
    return rows_of_points(forest, n, forest.tree.points.shape[1]).astype(jnp.int32)


def _joined(forest: Forest, rows, radius, box, axes: Axes, *, n: int, p: float):
    """Return how many components there are, and the number of each slot's (slots,), -1 without a point.

    `rows` (slots,) are those of all `n` points; components are numbered by their lowest row.
    """
    tree, queries = forest.tree, own_queries(forest.tree, radius, p=p)
    engine = _lax if tree.is_flat else None  # whose nodes are not those that the kernels join at once
    first = _engines.run(engine, "component_rows", tree._replace(rows=rows), radius, box, p=p)
    elsewhere = _elsewhere(forest, queries, radius, box, axes, p)

    def lowest(tree, queries, order, numbers):
        return run("lowest", tree, queries, order, numbers, box, p=p)

    def join(state):
        parents, _ = state
        known = parents[first]
        found = elsewhere(known, lowest, known, jnp.minimum)
        joined = flattened(axes.min(parents.at[known].min(found)))
        return joined, (joined != parents).any()

    # Of each device's components the lowest row, n for the others and at the end.
    parents = axes.min(jnp.full(n + 1, n, jnp.int32).at[first].set(first))
    parents, _ = lax.while_loop(lambda state: state[1], join, (parents, jnp.bool_(True)))
    numbers = jnp.cumsum(parents[:n] == lax.iota(jnp.int32, n), dtype=jnp.int32)
    return numbers[-1], jnp.pad(numbers - 1, (0, 1), constant_values=-1)[parents[first]]


def _elsewhere(forest: Forest, queries, radius, box, axes: Axes, p: float):
    """Return what adds to the `values` (q,) of this device's queries what the other devices near them find.

    That is what `merge` makes of ``find(tree, queries, order, numbers)``, a search of another device's tree
    that has `numbers` (slots,).
    """
    tree, q = forest.tree, len(queries.bound)
    columns = queries.points if box is None else into_box(queries.points.T, box * tree.scale).T
    near = within_reach(forest, columns, queries.bound, lambda _: False, axes, p=p, lengths=box)
    order, count = by_destination(jnp.where(near, 0, 1), 2), near.sum(dtype=jnp.int32)
    part = min(q, max(FEW, q // PART))
    parts = -(-axes.max(count) // part)

    def elsewhere(values, find, numbers, merge):
        def search(tree, numbers, x, _, there):
            reach = jnp.where(there, radius, -1)
            return find(tree, *run("ordered_queries", tree, x, reach, box, p=p), numbers)

        def one(i, values):
            place = i * part + lax.iota(jnp.int32, part)
            there = place < count
            lines = jnp.where(there, order.at[place].get(mode="clip"), q + place)
            x = tree.in_units(queries.points.at[:, lines].get(mode="fill", fill_value=jnp.inf))
            known, reach = values.at[lines].get(mode="clip"), jnp.where(there, radius, -1)
            options = {"p": p, "at_home": True}
            found = around(searched, x, reach, (), known, search, merge, box, axes, **options)
            return written(values, lines, found)

        searched = forest._replace(rows=numbers)
        return lax.fori_loop(jnp.int32(0), parts, one, axes.varying(values))

    return elsewhere
