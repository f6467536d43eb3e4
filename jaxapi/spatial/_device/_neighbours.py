"""Radius searches on a device: from a tree and radii to counts, rows and distances.

Everything is built from two passes over the tree: count each query's neighbours, then write them from
where the counts say. `tallies`, `within`, `fixed_edges` and `two_point` are pure and traceable;
`csr` and `edges` serve concrete arrays, whose totals are read back between the passes.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._typing import Array
from .._lax import _radius as _lax_radius
from .._structure._tree import Tree
from . import _engines
from ._lanes import query_lanes, radius_bound, self_lanes
from ._queries import width

__all__ = [
    "NOT_FINITE",
    "Search",
    "csr",
    "edges",
    "engine_of",
    "fixed_edges",
    "tallies",
    "two_point",
    "within",
]

NOT_FINITE = "'x' must be finite, check for nan or inf values"

BINS = 32  # radii that one kernel keeps in registers
LARGEST = np.iinfo(np.int32).max


def engine_of(data) -> str:
    """Return which of the two engines searches concrete points."""
    (device,) = data.devices()
    return "pallas" if device.platform == "gpu" and _engines.gpu_engine() else "lax"


class Search(NamedTuple):
    """The static part of a radius search; equal searches share compiled code."""

    p: float
    engine: str  # 'pallas', 'lax', 'interpret' (pallas without a GPU), or 'traced': the platform decides
    dtype: np.dtype  # of distances
    index_dtype: np.dtype  # of rows

    def run(self, name: str, *arrays, **options):
        """Call the function of that name of the engine's module."""
        options["p"] = self.p
        portable = partial(getattr(_lax_radius, name), **options)
        if self.engine == "lax" or (self.engine == "traced" and not _engines.gpu_engine()):
            return portable(*arrays)
        from .._gpu import _radius as _gpu_radius  # not every JAX has what it needs

        on_gpu = partial(getattr(_gpu_radius, name), interpret=self.engine == "interpret", **options)
        if self.engine == "traced":
            return lax.platform_dependent(*arrays, cuda=on_gpu, default=portable)
        return on_gpu(*arrays)

    def tally(self, tree, lanes, box, relation):
        """Count each lane's neighbours."""
        return self.run("tally", tree, lanes, box, relation=relation)

    def fill(self, tree, lanes, start, stop, box, relation, size):
        """Write each lane's neighbours from `start` on."""
        return self.run("fill", tree, lanes, start, stop, box, relation=relation, size=size)

    def bin_counts(self, tree, lanes, radii, weights, box):
        """Sum the slots' weights within each radius of each lane."""
        return self.run("bin_counts", tree, lanes, radii, weights, box)

    def widened(self, tree: Tree) -> Tree:
        """Return the tree in the dtype of the distances."""
        return jax.tree.map(
            lambda a: a.astype(self.dtype) if jnp.issubdtype(a.dtype, jnp.floating) else a, tree
        )


# --- under vmap ---------------------------------------------------------------------------------------


def batched_over_queries(function):
    """Let vmap over the queries of ``function(tree, x, radius, box)`` make one search of them all.

    A batch of trees is searched one after another: walking several trees in lockstep waits for the slowest.
    """

    @jax.custom_batching.custom_vmap
    def run(tree, x, radius, box):
        return function(tree, x, radius, box)

    @run.def_vmap
    def rule(size, batched, tree, x, radius, box):
        tree_batched, x_batched, radius_batched, _ = batched
        x = x if x_batched else jnp.broadcast_to(x, (size, *x.shape))
        radius = radius if radius_batched else jnp.broadcast_to(radius, (size, *radius.shape))
        if any(tree_batched):
            tree = Tree(
                *(
                    a if b else jnp.broadcast_to(a, (size, *a.shape))
                    for a, b in zip(tree, tree_batched, strict=True)
                )
            )
            found = lax.map(lambda one: run(*one, box), (tree, x, radius))
        else:
            flat = run(tree, x.reshape(-1, x.shape[-1]), radius.reshape(-1), box)
            found = jax.tree.map(lambda a: a.reshape(*radius.shape, *a.shape[1:]), flat)
        return found, jax.tree.map(lambda _: True, found)

    return run


# --- around queries ------------------------------------------------------------------------------------


@partial(jax.jit, static_argnames="search")
def tallies(tree: Tree, x: Array, radius: Array, box: Array | None, *, search: Search):
    """Return how many points lie within `radius` (q,) of each query (q, m)."""
    return batched_over_queries(partial(_tallies, search=search))(tree, x, radius, box)


def _tallies(tree, x, radius, box, *, search):
    tree = search.widened(tree)
    lanes, order = query_lanes(tree, x, radius, p=search.p, box=box)
    counts = search.tally(tree, lanes, box, "any").astype(search.index_dtype)
    return jnp.zeros_like(counts).at[order].set(counts, unique_indices=True)


def csr(tree: Tree, x: Array, radius: Array, box: Array | None, *, search: Search, sort: bool):
    """Return (indptr, rows, distances) for concrete queries; raise ValueError where `x` is not finite."""
    lanes, order, counts, indptr, facts = _counted(tree, x, radius, box, search=search)
    total, overflow, finite = np.asarray(facts).tolist()
    if not finite:
        raise ValueError(NOT_FINITE)
    if overflow:  # more than 2**31 neighbours in all
        with jax.enable_x64(True):
            indptr = _wide_offsets(counts)
            total = int(indptr[-1])
    with width(indptr.dtype, search.dtype, search.index_dtype):
        rows, distances = _filled(
            tree, lanes, order, indptr, box, search=search, size=_engines.padded_size(total), sort=sort
        )
        return indptr, *_first(rows, distances, count=total)


@partial(jax.jit, static_argnames="search")
def _counted(tree, x, radius, box, *, search):
    tree = search.widened(tree)
    lanes, order = query_lanes(tree, x, radius, p=search.p, box=box)
    tallied = search.tally(tree, lanes, box, "any")
    counts = jnp.zeros_like(tallied).at[order].set(tallied, unique_indices=True)
    indptr = jnp.pad(jnp.cumsum(counts, dtype=jnp.int32), (1, 0))
    # A sum past 2**31 turns negative at once, since each term is below 2**31.
    facts = jnp.stack(
        [indptr[-1], (indptr < 0).any().astype(jnp.int32), jnp.isfinite(x).all().astype(jnp.int32)]
    )
    return lanes, order, counts, indptr.astype(search.index_dtype), facts


@jax.jit
def _wide_offsets(counts):
    return jnp.pad(jnp.cumsum(counts, dtype=jnp.int64), (1, 0))


@partial(jax.jit, static_argnames=("search", "size", "sort"))
def _filled(tree, lanes, order, indptr, box, *, search, size, sort):
    tree = search.widened(tree)
    rows, distances = search.fill(tree, lanes, indptr[:-1][order], indptr[1:][order], box, "any", size)
    if sort:
        queries = lax.iota(jnp.int32, order.shape[0])
        query = jnp.repeat(queries, jnp.diff(indptr), total_repeat_length=size)
        query = jnp.where(lax.iota(indptr.dtype, size) < indptr[-1], query, order.shape[0])
        _, distances, rows = lax.sort((query, distances, rows), num_keys=3)
    return rows.astype(search.index_dtype), distances


@partial(jax.jit, static_argnames="count")
def _first(rows, distances, *, count):
    return rows[:count], distances[:count]


def within(tree: Tree, x: Array, radius: Array, box: Array | None, *, search: Search, limit: int):
    """Return rows and distances (q, limit) of the nearest within `radius`, and the true counts (q,)."""
    return batched_over_queries(partial(_within, search=search, limit=limit))(tree, x, radius, box)


def _within(tree, x, radius, box, *, search, limit):
    most = max(LARGEST // limit, 1)  # queries whose results 32-bit numbers can count
    parts = [slice(start, start + most) for start in range(0, max(x.shape[0], 1), most)]
    found = [_within_piece(tree, x[part], radius[part], box, search=search, limit=limit) for part in parts]
    return found[0] if len(found) == 1 else tuple(map(jnp.concatenate, zip(*found, strict=True)))


def _within_piece(tree, x, radius, box, *, search, limit):
    queries = x.shape[0]
    tree = search.widened(tree)
    lanes, order = query_lanes(tree, x, radius, p=search.p, box=box)
    tallied = search.tally(tree, lanes, box, "any")
    counts = jnp.zeros_like(tallied).at[order].set(tallied, unique_indices=True)

    start = order * limit
    rows, distances = search.fill(tree, lanes, start, start + limit, box, "any", queries * limit)
    rows, distances = rows.reshape(queries, limit), distances.reshape(queries, limit)
    distances, rows = lax.sort((distances, rows), dimension=1, num_keys=2)
    rows, more = rows.astype(search.index_dtype), counts > limit

    def with_the_nearest(rows, distances):
        """Search for the nearest of those queries that have more neighbours than there is room for."""
        none = jnp.zeros_like(tree.scale)
        bound = jnp.where(more, jnp.full_like(none, jnp.inf), none)
        nearest, their_rows = _engines.nearest(
            tree, x, bound, none, box, k=limit, p=search.p, dtype=search.dtype, index_dtype=search.index_dtype
        )
        return jnp.where(more[:, None], their_rows, rows), jnp.where(more[:, None], nearest, distances)

    if limit < tree.points.shape[1]:
        rows, distances = lax.cond(more.any(), with_the_nearest, lambda *same: same, rows, distances)
    return rows, distances, counts.astype(search.index_dtype)


# --- among the tree's own points -----------------------------------------------------------------------


def fixed_edges(tree: Tree, radius: Array, box: Array | None, *, search: Search, relation: str, size: int):
    """Return receivers, senders, distances (size,), grouped by receiver, and how many there are.

    The number is that of all edges, of which the first `size` are kept; from 2**31 on it stays there.
    """
    function = partial(_fixed_edges, search=search, relation=relation, size=size)
    return jax.custom_batching.sequential_vmap(function)(tree, radius, box)


def _fixed_edges(tree, radius, box, *, search, relation, size):
    tree = search.widened(tree)
    lanes, ends = _own_ends(tree, radius, box, search, relation)
    wrapped = lax.cummax((ends < 0).astype(jnp.int32)) > 0  # sums past 2**31 turn negative at once
    ends = jnp.where(wrapped, LARGEST, ends)
    receivers, senders, distances = _own_filled(tree, lanes, ends, box, search, relation, size)
    return receivers, senders, distances, ends[-1].astype(search.index_dtype)


def edges(tree: Tree, radius: Array, box: Array | None, *, search: Search, relation: str):
    """Return receivers, senders and distances of all edges, grouped by receiver, for a concrete tree."""
    lanes, ends, facts = _own_counted(tree, radius, box, search=search, relation=relation)
    total, overflow = np.asarray(facts).tolist()
    if overflow:
        with jax.enable_x64(True):
            ends = _wide_offsets(jnp.diff(ends, prepend=jnp.zeros(1, ends.dtype)))[1:]
            total = int(ends[-1])
    with width(ends.dtype, search.dtype, search.index_dtype):
        found = _own_fill(
            tree, lanes, ends, box, search=search, relation=relation, size=_engines.padded_size(total)
        )
        return _first_edges(*found, count=total)


def _own_ends(tree, radius, box, search, relation):
    """Return the tree's points as lanes, and the sums of their counts in the order of the rows."""
    lanes = self_lanes(tree, radius, p=search.p)
    tallied = search.tally(tree, lanes, box, relation)
    counts = jnp.zeros_like(tallied).at[tree.rows].add(tallied, mode="drop")  # empty slots count 0
    return lanes, jnp.cumsum(counts, dtype=jnp.int32)


def _own_filled(tree, lanes, ends, box, search, relation, size):
    starts = jnp.pad(ends, (1, 0))[:-1]
    starts, stops = (jnp.minimum(each, size).at[tree.rows].get(mode="clip") for each in (starts, ends))
    senders, distances = search.fill(tree, lanes, starts, stops, box, relation, size)
    # The receiver of an edge: how many rows end at or before it.
    receivers = jnp.zeros(size, jnp.int32).at[ends].add(1, mode="drop")
    receivers = jnp.cumsum(receivers, dtype=jnp.int32)
    here = jnp.isfinite(distances)
    receivers = jnp.where(here, receivers, tree.n).astype(search.index_dtype)
    return receivers, senders.astype(search.index_dtype), distances


@partial(jax.jit, static_argnames=("search", "relation"))
def _own_counted(tree, radius, box, *, search, relation):
    tree = search.widened(tree)
    lanes, ends = _own_ends(tree, radius, box, search, relation)
    return lanes, ends, jnp.stack([ends[-1], (ends < 0).any().astype(jnp.int32)])


@partial(jax.jit, static_argnames=("search", "relation", "size"))
def _own_fill(tree, lanes, ends, box, *, search, relation, size):
    return _own_filled(search.widened(tree), lanes, ends, box, search, relation, size)


@partial(jax.jit, static_argnames="count")
def _first_edges(receivers, senders, distances, *, count):
    return receivers[:count], senders[:count], distances[:count]


# --- between two trees ---------------------------------------------------------------------------------


def two_point(tree: Tree, x: Array, x_weights: Array, weights: Array, radii: Array, box, *, search: Search):
    """Sum ``x_weights[i] * weights[j]`` over the pairs within each of the `radii`: (R,), the weights' dtype.

    `weights` (n,) belong to the tree's rows, `x_weights` (q,) to the queries. Integer sums wrap past their
    dtype; each query's own stays below n.
    """
    function = partial(_two_point, search=search)
    return jax.custom_batching.sequential_vmap(function)(tree, x, x_weights, weights, radii, box)


def _two_point(tree, x, x_weights, weights, radii, box, *, search):
    tree = search.widened(tree)
    none = jnp.full(x.shape[0], -1, search.dtype)
    lanes, order = query_lanes(tree, x, none, p=search.p, box=box)
    there = jnp.isfinite(tree.points[0])
    narrow = jnp.int32 if jnp.issubdtype(weights.dtype, jnp.integer) else weights.dtype
    slot_weights = jnp.where(there, weights.at[tree.rows].get(mode="fill", fill_value=0), 0).astype(narrow)
    lane_weights = x_weights[order]
    sums = []
    at_once = max(1, min(BINS, LARGEST // (x.shape[0] + 64)))  # sums that 32-bit numbers can count
    for first in range(0, radii.shape[0], at_once):
        bounds = radius_bound(tree, radii[first : first + at_once], search.p)
        shares = search.bin_counts(tree, lanes, bounds, slot_weights, box)  # (R, q)
        sums.append(jnp.sum(shares.astype(weights.dtype) * lane_weights[None], axis=1, dtype=weights.dtype))
    return jnp.concatenate(sums)
