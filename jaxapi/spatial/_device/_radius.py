"""Radius searches on a device: from a tree and radii to counts, rows and distances.

Everything is built from two passes over the tree: count each query's neighbours, then write them from where
the counts say. `counts_within`, `nearest_within`, `fixed_edges` and `two_point` are pure and traceable, and
compiled as one piece also where a transformation alone would run them step by step; `csr`, `edges` and
`pairs` serve concrete arrays, whose totals are read back between the passes.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core._devices import in_host_memory
from ..._core._dtypes import x64_for, x64_on
from ..._core._programs import compiled
from ..._core._typing import Array
from .._structure._batching import one_search_of_all
from .._structure._build import padded_size
from .._structure._lengths import first_lines
from .._structure._queries import own_queries, radius_bound
from .._structure._tree import Tree
from . import _engines
from ._arrays import NOT_FINITE
from ._nearest import nearest

__all__ = ["Search", "counts_within", "csr", "edges", "fixed_edges", "nearest_within", "pairs", "two_point"]

BINS = 32  # radii that one kernel keeps in registers
LARGEST = np.iinfo(np.int32).max


class Search(NamedTuple):
    """The static part of a radius search; equal ones share compiled code."""

    p: float
    engine: Any  # one of `_engines`; None: that of the platform that runs it
    dtype: np.dtype  # of distances
    index_dtype: np.dtype  # of rows

    def lines(self, x, count):
        """Return the first lines of queries that have room for more; the others are nan."""
        return _engines.run(self.engine, "lines", x, count, dtype=self.dtype)

    def running_sums(self, counts):
        """Return where the results of each query begin, and the last ones' end."""
        return _engines.run(self.engine, "running_sums", counts)

    def ordered_queries(self, tree, x, radius, box):
        """Make queries ready, and return their order."""
        return _engines.run(self.engine, "ordered_queries", tree, x, radius, box, p=self.p)

    def count(self, tree, queries, order, box, relation):
        """Count the neighbours of each query."""
        return _engines.run(self.engine, "count", tree, queries, order, box, p=self.p, relation=relation)

    def fill(self, tree, queries, order, offsets, box, relation, size):
        """Write each query's neighbours where the offsets say."""
        options = {"p": self.p, "relation": relation, "size": size}
        return _engines.run(self.engine, "fill", tree, queries, order, offsets, box, **options)

    def fill_edges(self, tree, queries, offsets, box, relation, size):
        """Write the neighbours of each of the tree's own points, and whose they are."""
        options = {"p": self.p, "relation": relation, "size": size}
        return _engines.run(self.engine, "fill_edges", tree, queries, offsets, box, **options)

    def fill_pairs(self, tree, queries, offsets, box, size):
        """Write each pair of the tree's own points once."""
        return _engines.run(self.engine, "fill_pairs", tree, queries, offsets, box, p=self.p, size=size)

    def fill_lines(self, tree, queries, order, box, limit):
        """Write up to `limit` neighbours of each query into its line, and count all."""
        return _engines.run(self.engine, "fill_lines", tree, queries, order, box, limit=limit, p=self.p)

    def bin_counts(self, tree, queries, radii, weights, box):
        """Sum the slots' weights within each radius of each query."""
        return _engines.run(self.engine, "bin_counts", tree, queries, radii, weights, box, p=self.p)


# --- around queries ------------------------------------------------------------------------------------


@partial(jax.jit, static_argnames="search")
def counts_within(tree: Tree, x: Array, radius: Array, box: Array | None, *, search: Search):
    """Return how many points lie within `radius`, one (q,) for each query (q, m) or one for all."""
    radius = jnp.broadcast_to(radius, x.shape[:1])

    def count(shared, x, radius):
        tree, box = shared
        _, _, counts = _counted(tree.astype(search.dtype), x, radius, box, search)
        return counts.astype(search.index_dtype)

    return one_search_of_all(count)((tree, box), x, radius)


def _counted(tree, x, radius, box, search):
    """Return the queries made ready, their order, and how many neighbours each of `x` has."""
    queries, order = search.ordered_queries(tree, x, radius, box)
    return queries, order, search.count(tree, queries, order, box, "any")


@partial(jax.jit, static_argnames=("search", "limit"))
def nearest_within(tree: Tree, x: Array, radius: Array, box: Array | None, *, search: Search, limit: int):
    """Return rows and distances (q, limit) of the nearest within `radius`, and the true counts (q,).

    `radius` is one (q,) for each query (q, m) or one for all.
    """
    radius = jnp.broadcast_to(radius, x.shape[:1])
    find = partial(_nearest_within, search=search, limit=limit)
    return one_search_of_all(find)((tree, box), x, radius)


def _nearest_within(shared, x, radius, *, search, limit):
    tree, box = shared
    most = max(LARGEST // limit, 1)  # queries whose results 32-bit numbers can count
    parts = [slice(start, start + most) for start in range(0, max(x.shape[0], 1), most)]
    found = [_nearest_within_piece(tree, x[part], radius[part], box, search, limit) for part in parts]
    return found[0] if len(found) == 1 else tuple(map(jnp.concatenate, zip(*found, strict=True)))


def _nearest_within_piece(tree, x, radius, box, search, limit):
    tree = tree.astype(search.dtype)
    queries, order = search.ordered_queries(tree, x, radius, box)
    rows, distances, counts = search.fill_lines(tree, queries, order, box, limit)
    rows, more = rows.astype(search.index_dtype), counts > limit

    def with_the_nearest(_, found):
        """Search for the nearest of those queries that have more neighbours than there is room for."""
        none = jnp.zeros_like(tree.scale)
        bound = jnp.where(more, jnp.full_like(none, jnp.inf), none)
        settings = {"p": search.p, "dtype": search.dtype, "index_dtype": search.index_dtype}
        closest, their_rows = nearest(tree, x, bound, none, box, k=limit, engine=search.engine, **settings)
        theirs = their_rows, closest
        return tuple(jnp.where(more[:, None], new, old) for new, old in zip(theirs, found, strict=True))

    found = rows, distances
    if limit < tree.points.shape[1]:  # a loop of one turn or none: unlike `lax.cond`, it copies nothing
        found = lax.fori_loop(0, more.any().astype(jnp.int32), with_the_nearest, found)
    return *found, counts.astype(search.index_dtype)


def csr(tree: Tree, x: Array, q: Array, radius: Array, box, *, search: Search, sort: bool):
    """Return (indptr, rows, distances) for the first `q` concrete queries of `x`, which has room for more.

    Raises ValueError where they are not finite.
    """
    queries, order, counts, indptr, facts = _offsets(tree, x, q, radius, box, search=search)
    total, wrapped, finite = _read(facts)
    if not finite:
        raise ValueError(NOT_FINITE)
    if wrapped:
        indptr, total = _wide(counts)
    with x64_for(indptr.dtype, search.dtype, search.index_dtype):
        size = padded_size(total)
        found = _filled(tree, queries, order, indptr, box, search=search, size=size, sort=sort)
    return indptr, *first_lines(total, *found)


def _read(facts) -> list[int]:
    """Return how many results there are, whether their sums are past 2**31, and what comes after that."""
    return np.asarray(in_host_memory(facts)).tolist()


@partial(compiled, static_argnames="search")
def _offsets(tree, x, q, radius, box, *, search):
    x = search.lines(x, q)
    radius = jnp.broadcast_to(radius, x.shape[:1])
    queries, order, counts = _counted(tree.astype(search.dtype), x, radius, box, search)
    indptr = search.running_sums(counts)
    finite = (jnp.isfinite(x).all(axis=1) | (lax.iota(jnp.int32, len(x)) >= q)).all().astype(jnp.int32)
    facts = jnp.stack([indptr[-1], _wrapped(indptr), finite])
    return queries, order, counts, indptr.astype(search.index_dtype), facts


def _wrapped(ends):
    """Tell whether sums are past 2**31: they turn negative at once, since each term is below it."""
    return (ends < 0).any().astype(jnp.int32)


def _wide(counts):
    """Return where the results of queries begin and end, in 64 bits, and how many there are."""
    with x64_on():
        ends = _wide_sums(counts)
        return ends, int(ends[-1])


@compiled
def _wide_sums(counts):
    return jnp.pad(jnp.cumsum(counts, dtype=jnp.int64), (1, 0))


@partial(compiled, static_argnames=("search", "size", "sort"))
def _filled(tree, queries, order, indptr, box, *, search, size, sort):
    tree = tree.astype(search.dtype)
    rows, distances = search.fill(tree, queries, order, _within(indptr, size), box, "any", size)
    if sort:
        numbers = lax.iota(jnp.int32, order.shape[0])
        query = jnp.repeat(numbers, jnp.diff(indptr), total_repeat_length=size)
        query = jnp.where(lax.iota(indptr.dtype, size) < indptr[-1], query, order.shape[0])
        _, distances, rows = lax.sort((query, distances, rows), num_keys=3)
    return rows.astype(search.index_dtype), distances


# --- among the tree's own points -----------------------------------------------------------------------


@partial(jax.jit, static_argnames=("search", "relation", "size"))
def fixed_edges(tree: Tree, radius: Array, box: Array | None, *, search: Search, relation: str, size: int):
    """Return receivers, senders, distances (size,), grouped by receiver, and how many there are.

    The number is that of all edges, of which the first `size` are kept; from 2**31 on it stays there.
    """
    function = partial(_fixed_edges, search=search, relation=relation, size=size)
    return jax.custom_batching.sequential_vmap(function)(tree, radius, box)


def _fixed_edges(tree, radius, box, *, search, relation, size):
    tree = tree.astype(search.dtype)
    queries, ends = _own_ends(tree, radius, box, search, relation)
    wrapped = lax.cummax((ends < 0).astype(jnp.int32)) > 0  # as in `_wrapped`
    ends = jnp.where(wrapped, LARGEST, ends)
    receivers, senders, distances = _own_filled(tree, queries, ends, box, search, relation, size)
    return receivers, senders, distances, ends[-1].astype(search.index_dtype)


def edges(tree: Tree, radius: Array, box: np.ndarray | None, *, search: Search, relation: str):
    """Return receivers, senders and distances of all edges, grouped by receiver, and how many there are.

    For a concrete tree. The arrays are longer than the number, so that their programs serve others.
    """
    found, total = _own_found(_own_fill, tree, radius, box, search, relation)
    return *found, total


def pairs(tree: Tree, radius: Array, box: np.ndarray | None, *, search: Search):
    """Return the pairs (e, 2) of near points, the lower row first, and how many there are; as `edges`."""
    return _own_found(_own_pairs, tree, radius, box, search, "later")


def _own_found(function, tree, radius, box, search, relation):
    """Return what a function writes for each point of the tree, and how many edges there are."""
    queries, ends, facts = _own_counted(tree, radius, box, search=search, relation=relation)
    total, wrapped = _read(facts)
    if wrapped:
        ends, total = _wide(jnp.diff(ends, prepend=jnp.zeros(1, ends.dtype)))
        ends = ends[1:]
    with x64_for(ends.dtype, search.dtype, search.index_dtype):
        static = {"search": search, "relation": relation, "size": padded_size(total)}
        return function(tree, queries, ends, box, **static), total


def _own_ends(tree, radius, box, search, relation):
    """Return the tree's points as queries, and the sums of their counts in the order of the rows."""
    queries = own_queries(tree, radius, p=search.p)
    counts = search.count(tree, queries, tree.rows, box, relation)
    return queries, search.running_sums(counts)[1:]


def _own_filled(tree, queries, ends, box, search, relation, size):
    offsets = _within(jnp.pad(ends, (1, 0)), size)
    receivers, senders, distances = search.fill_edges(tree, queries, offsets, box, relation, size)
    return receivers.astype(search.index_dtype), senders.astype(search.index_dtype), distances


@partial(compiled, static_argnames=("search", "relation"))
def _own_counted(tree, radius, box, *, search, relation):
    queries, ends = _own_ends(tree.astype(search.dtype), radius, box, search, relation)
    return queries, ends, jnp.stack([ends[-1], _wrapped(ends)])


@partial(compiled, static_argnames=("search", "relation", "size"))
def _own_fill(tree, queries, ends, box, *, search, relation, size):
    return _own_filled(tree.astype(search.dtype), queries, ends, box, search, relation, size)


@partial(compiled, static_argnames=("search", "relation", "size"))
def _own_pairs(tree, queries, ends, box, *, search, relation, size):
    offsets = _within(jnp.pad(ends, (1, 0)), size)
    return search.fill_pairs(tree.astype(search.dtype), queries, offsets, box, size).astype(
        search.index_dtype
    )


def _within(offsets, size: int):
    """Return offsets of which none lies outside of `size` places, whatever they were."""
    return jnp.where(offsets < 0, size, jnp.minimum(offsets, size))


# --- between two trees ---------------------------------------------------------------------------------


@partial(jax.jit, static_argnames="search")
def two_point(tree: Tree, x: Array, x_weights: Array, weights: Array, radii: Array, box, *, search: Search):
    """Sum ``x_weights[i] * weights[j]`` over the pairs within each of the `radii`: (R,), the weights' dtype.

    `weights` (n,) belong to the tree's rows, `x_weights` (q,) to the queries. Integer sums wrap past their
    dtype; each query's own stays below n.
    """
    function = partial(_two_point, search=search)
    return jax.custom_batching.sequential_vmap(function)(
        tree, x.astype(search.dtype), x_weights, weights, radii, box
    )


def _two_point(tree, x, x_weights, weights, radii, box, *, search):
    tree = tree.astype(search.dtype)
    none = jnp.full(x.shape[0], -1, search.dtype)
    queries, order = search.ordered_queries(tree, x, none, box)
    there = jnp.isfinite(tree.points[0])
    narrow = jnp.int32 if jnp.issubdtype(weights.dtype, jnp.integer) else weights.dtype
    slot_weights = jnp.where(there, weights.at[tree.rows].get(mode="fill", fill_value=0), 0).astype(narrow)
    own_weights = x_weights[order]
    sums = []
    at_once = max(1, min(BINS, LARGEST // (x.shape[0] + 64)))  # sums that 32-bit numbers can count
    for start in range(0, radii.shape[0], at_once):
        bounds = radius_bound(tree, radii[start : start + at_once], search.p)
        shares = search.bin_counts(tree, queries, bounds, slot_weights, box)  # (R, q)
        sums.append(jnp.sum(shares.astype(weights.dtype) * own_weights[None], axis=1, dtype=weights.dtype))
    return jnp.concatenate(sums)
