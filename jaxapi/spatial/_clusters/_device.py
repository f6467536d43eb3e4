"""Clusterings and spanning trees by an engine's searches; pure and traceable."""

from functools import partial

import jax.numpy as jnp
import numpy as np

from ..._core._dtypes import x64_for, x64_on
from ..._core._programs import compiled
from ..._core._typing import Array
from .._structure._metric import power
from .._structure._queries import own_queries
from .._structure._tree import Tree
from .._structure._varying import varying_like
from . import _hierarchy
from ._arrays import OnDevice

__all__ = ["components", "dbscan", "hdbscan", "linkage", "linkage_matrix", "merged", "spanning_tree"]


@partial(compiled, static_argnames=("engine", "p", "dtype"))
def components(points, tree: Tree, box, r, *, engine, p: float, dtype):
    """Return how many components the points (lines, m) have, and their labels."""
    count, labels = _numbered(tree, engine, r, box, p, len(points))
    return varying_like((count.astype(dtype), labels.astype(dtype)), (tree, r))


@partial(compiled, static_argnames=("engine", "min_samples", "p", "dtype"))
def dbscan(points, tree: Tree, box, eps, weights, *, engine, min_samples: int, p: float, dtype):
    """Return which points (lines, m) are cores, and their labels; without `weights` each counts 1."""
    lines, there = len(points), jnp.isfinite(tree.points[0])
    points = engine.lines(points, tree.n, dtype=points.dtype)
    own = own_queries(tree, eps, p=p)
    order = jnp.arange(len(there), dtype=jnp.int32)
    if weights is None:
        counts = engine.count(tree, own, order, box, p=p, relation="any", enough=min_samples)
        enough = counts >= min_samples
    else:
        with x64_for(np.dtype(np.float64)):
            weights = jnp.where(there, weights.astype(np.float64)[jnp.minimum(tree.rows, lines - 1)], 0.0)
            enough = engine.bin_counts(tree, own, own.bound.max()[None], weights, box, p=p)[0] >= min_samples
    core = there & enough
    # The cores have a tree of their own, in the same units: nodes of this one hold other points, too.
    is_core = _by_row(tree, core, lines, False)
    inner = engine.build(jnp.where(is_core[:, None], points, jnp.nan), tree.n, tree.scale)
    _, labels = _numbered(inner, engine, eps, box, p, lines)
    none = np.iinfo(np.int32).max
    numbers = jnp.where(jnp.isfinite(inner.points[0]), labels[jnp.minimum(inner.rows, lines - 1)], none)
    outer = own._replace(bound=jnp.where(core, -1, own.bound), own=~(own.own // tree.leaf_size))
    reached = engine.lowest(inner, outer, order, numbers, box, p=p)
    border = _by_row(tree, jnp.where(reached < none, reached, -1), lines, -1)
    labels = jnp.where(is_core, labels, border).astype(dtype)
    return varying_like((is_core, labels), (tree, eps))


@partial(compiled, static_argnames=("engine", "min_samples", "p", "dtype"))
def spanning_tree(points, tree: Tree, box, *, engine, min_samples: int, p: float, dtype):
    """Return the edges' rows, distances, and the rows whose distances these are, by (distance, rows)."""
    cores, near = _cores(len(points), tree, box, engine, min_samples, p)
    rows, distances = _edges(len(points), tree, box, cores, 1.0, engine, p)
    pairs = rows
    if cores is not None:
        low, high = rows.T  # -1 where there is no edge
        cores = engine.in_units(tree, cores[:, None], box, p=p)[:, 0]
        by_low, by_high = cores[low] == distances, cores[high] == distances
        one = jnp.where(by_low | ~by_high, low, high)
        two = jnp.where(by_low, near[low, -1], jnp.where(by_high, near[high, -1], high))
        pairs = jnp.where(rows < 0, -1, jnp.stack([one, two], axis=1))
    return varying_like((rows.astype(dtype), distances, pairs.astype(dtype)), tree)


def hdbscan(points, tree: Tree, box, *, engine, min_samples: int, alpha: float, selection, p: float, dtype):
    """Return labels and probabilities (lines,), by one program for epsilons but 0, and alphas but 1."""
    with x64_on():
        numbers = jnp.asarray(selection.epsilon or 0.0, np.float64), jnp.asarray(1 / alpha, tree.points.dtype)
    selection = selection._replace(epsilon=selection.epsilon and 1.0)
    static = {"engine": engine, "selection": selection, "scaled": alpha != 1, "p": p, "dtype": dtype}
    return _hdbscan(points, tree, box, *numbers, min_samples=min_samples, **static)


@partial(compiled, static_argnames=("engine", "min_samples", "selection", "scaled", "p", "dtype"))
def _hdbscan(points, tree: Tree, box, epsilon, shorter, *, engine, min_samples, selection, scaled, p, dtype):
    lines, shortens = len(points), power(shorter, p)
    if lines == 1:
        return varying_like((jnp.full(1, -1, dtype), jnp.zeros(1, tree.points.dtype)), tree)
    cores, _ = _cores(lines, tree, box, engine, min_samples, p, always=scaled)
    rows, distances = _edges(lines, tree, box, cores, shortens, engine, p)
    with x64_for(np.dtype(np.float64)):
        rows = jnp.where(jnp.isfinite(distances)[:, None], rows, -1)
        one, two, distances = _hierarchy.from_lowest(lines, rows[:, 0], rows[:, 1], distances)
        merges = _hierarchy.dendrogram(OnDevice, lines, one, two)
        selection = selection._replace(epsilon=selection.epsilon and epsilon)
        labels, shares = _hierarchy.flat_clusters(OnDevice, selection, merges, distances)
        return varying_like((labels.astype(dtype), shares.astype(tree.points.dtype)), tree)


@partial(compiled, static_argnames="engine")
def linkage(rows, distances, n, *, engine):
    """Return SciPy's linkage matrix, and whether it is one; room for more edges than those of n points."""
    rows, distances = (engine.lines(each, n - 1, dtype=each.dtype) for each in (rows, distances))
    *merges, tree = merged(rows, distances, n, np.int32)
    return linkage_matrix(distances, *merges), tree


def merged(rows, distances, n, index):
    """Return what `_hierarchy.linkage` does, where there may be room for more than n points."""
    more = jnp.arange(len(rows), dtype=np.int32) >= n - 1
    rows = jnp.clip(rows.astype(np.int64), -2, len(rows) + 1).astype(np.int32)
    found = _hierarchy.linkage(OnDevice, jnp.where(more[:, None], -1, rows), jnp.where(more, 0, distances), n)
    return *(x.astype(index) for x in found[:-1]), found[-1]


def linkage_matrix(distances, order, nodes, sizes):
    """Return SciPy's linkage matrix (n - 1, 4)."""
    columns = (jnp.asarray(each, np.float64) for each in (nodes, distances, sizes))
    nodes, distances, sizes = columns
    return jnp.concatenate([nodes, distances[order][:, None], sizes[:, None]], axis=1)


def _cores(lines: int, tree: Tree, box, engine, min_samples: int, p: float, always: bool = False):
    """Return core distances (lines,), scaled powers, and neighbours (lines, k)."""
    if min_samples == 1 and not always:
        return None, None
    options = {"lines": lines, "k": min_samples, "p": p, "rooted": False}
    found, near = engine.nearest_of_all(tree, np.inf, 0, box, **options)
    there = _by_row(tree, jnp.ones(len(tree.rows), bool), lines, False)  # others are not written
    return jnp.where(there, found[:, -1], np.inf), jnp.where(there[:, None], near, lines)


def _edges(lines: int, tree: Tree, box, cores, shortens, engine, p: float):
    """Return the rows and distances of the edges."""
    if cores is not None:
        there = jnp.isfinite(tree.points[0])
        cores = jnp.where(there, cores[jnp.minimum(tree.rows, lines - 1)], np.inf)
    rows, distances = engine.spanning_edges(tree, cores, shortens, box, p=p)
    return rows[: lines - 1], distances[: lines - 1]


def _numbered(tree: Tree, engine, radius, box, p: float, lines: int):
    """Return how many components there are, and the number of each row's (lines,), by their lowest rows."""
    lowest = _by_row(tree, engine.component_rows(tree, radius, box, p=p), lines, -1)
    sums = engine.running_sums((lowest == jnp.arange(lines, dtype=jnp.int32)).astype(jnp.int32))
    return sums[-1], jnp.where(lowest < 0, -1, sums[lowest])


def _by_row(tree: Tree, values: Array, lines: int, fill) -> Array:
    """Return the slots' values (N,) in the order of the rows, (lines,)."""
    rows = jnp.where(jnp.isfinite(tree.points[0]), tree.rows, lines)
    return jnp.full(lines, fill, values.dtype).at[rows].set(values, mode="drop")
