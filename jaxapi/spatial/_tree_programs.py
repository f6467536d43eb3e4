"""The searches of our own structure: pure functions of a tree, queries and numbers, by an engine's functions.

Each is compiled as one piece, whether it is called on its own or inside of a transformation. A query that is
not finite has no neighbors.

Radius searches are two passes over the tree: count each query's neighbors, then write them from where the
counts say. `csr`, `edges` and `pairs`, whose sizes depend on values, read them back between the passes.
"""

from functools import partial
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from .._core._devices import last_in_host_memory
from .._core._dtypes import x64_for, x64_on
from .._core._lengths import first_rows
from .._core._programs import compiled
from .._core._typing import Array
from ._answers import Answer, FoundNeighbors
from ._engines._protocol import has_kernels
from ._search import PairWeights, Search
from ._tree._batching import one_search_of_all
from ._tree._build import padded_size
from ._tree._metric import Measure, TreeMetric, distance_in_units, power_distance
from ._tree._powers_of_two import converted
from ._tree._queries import Limits, RadiusQueries, Relation, Written, own_queries, radius_bound
from ._tree._scaling import NearQueries, a_point, brought_near, doubled, with_room_for_powers
from ._tree._sorting import sorted_by_distance
from ._tree._tree import Tree
from ._tree._varying import varying_alike

__all__ = [
    "CountedPoints",
    "PaddedQueries",
    "count_points",
    "counts_within",
    "csr",
    "edges",
    "filled_edges",
    "fixed_edges",
    "nearest",
    "nearest_columns",
    "nearest_powers",
    "nearest_within",
    "ordered",
    "pair_counts",
    "pair_sums",
    "pairs",
    "sums_within",
    "with_ends_known",
]

LARGEST_PIECE = 2**31 - 2**16
BINS = 32  # radii that one kernel keeps in registers
LARGEST = np.iinfo(np.int32).max


class PaddedQueries(NamedTuple):
    """Queries of which the first `count` are searched for: so one program serves many lengths."""

    x: Any  # (q, m), or an engine's input of this shape; None: the tree's own points
    count: Any  # how many of them count; None: all

    def points(self, search: Search) -> Array:
        """Return the queries in the dtype of distances, nan from `count` on."""
        if self.count is None:
            return converted(self.x, search.dtype)
        return search.engine.read_input(self.x, self.count, dtype=search.dtype)


# --- nearest -------------------------------------------------------------------------------------------


@partial(compiled, static_argnames=("answer", "search", "is_bounded"))
def nearest_columns(
    tree: Tree,
    queries: PaddedQueries,
    limits: Limits,
    metric: TreeMetric,
    *,
    answer: Answer,
    search: Search,
    is_bounded: bool = False,
):
    """Return the answer about the nearest points of every query.

    With `is_bounded` exactly those are found whose distance, as it is returned, is below the bound; otherwise
    so up to rounding. The tree's own points an engine with kernels searches for as they lie in the tree.
    """
    given_limits = limits
    if is_bounded:
        limits = given_limits.a_little_farther()
    if queries.x is None:
        row_count = tree.points.shape[1]
        tree = with_room_for_powers(tree, metric.p)
        assert has_kernels(search.engine)
        distances, rows = search.engine.nearest_of_all(tree, limits, metric, row_count=row_count, k=answer.k)
        rows = rows.astype(search.index_dtype)
    else:

        def find(shared, x, bound):
            tree, eps, metric = shared
            return nearest(tree, x, Limits(bound, eps), metric, k=answer.k, search=search)

        shared = tree, limits.eps, metric
        distances, rows = one_search_of_all(find)(shared, queries.points(search), limits.bound)
    if is_bounded:
        distances, rows = given_limits.kept(distances, rows, tree.n)
    query_count = len(rows) if queries.count is None else queries.count
    return answer.of(FoundNeighbors(distances, rows, tree.n, query_count))


def nearest(tree: Tree, x: Array, limits: Limits, metric: TreeMetric, *, k: int, search: Search):
    """Return distances and rows of the `k` nearest points of every query, both (q, k).

    The dtype of distances is the tree's or a wider one.
    """
    tree = tree.astype(search.dtype)
    x = metric.wrap(converted(x, search.dtype))
    near = brought_near(tree, x, limits.bound, metric)
    tree = with_room_for_powers(tree, metric.p, near.x)
    limits = Limits(near.bound, limits.eps)

    def find(x, limits):
        return search.engine.nearest(tree, x, limits, metric, k=k)

    distances, rows = _in_pieces(find, near.x, limits, k)
    return near.distances(distances), rows.astype(search.index_dtype)


def nearest_powers(tree: Tree, x: Array, limits: Limits, metric: TreeMetric, *, k: int, search: Search):
    """Return scaled power distances and rows of the `k` nearest points of every query, both (q, k).

    The queries are near, as `brought_near` makes them, and the tree has room for their powers.
    """
    tree = tree.astype(search.dtype)
    x = metric.wrap(converted(x, search.dtype))

    def find(x, limits):
        return search.engine.nearest(tree, x, limits, metric, k=k, measure=Measure.POWER)

    powers, rows = _in_pieces(find, x, limits, k)
    return powers, rows.astype(search.index_dtype)


def _in_pieces(find, x: Array, limits: Limits, k: int):
    """Return what ``find(x, limits)`` does: of many queries in pieces.

    32-bit numbers can count the results and the coordinates of each.
    """
    q, m = x.shape
    has_bound_per_query = jnp.ndim(limits.bound) > 0
    piece_size = max(LARGEST_PIECE // max(k, m), 1)
    results = []
    for start in range(0, max(q, 1), piece_size):
        piece = slice(start, start + piece_size)
        bound = limits.bound[piece] if has_bound_per_query else limits.bound
        results.append(find(x[piece], Limits(bound, limits.eps)))
    return _concatenated(results)


def _concatenated(pieces):
    """Return the arrays of the results (tuples) of consecutive queries as one result."""
    if len(pieces) == 1:
        return pieces[0]
    return tuple(map(jnp.concatenate, zip(*pieces, strict=True)))


# --- around queries ------------------------------------------------------------------------------------


@partial(compiled, static_argnames="search")
def counts_within(tree: Tree, queries: PaddedQueries, radius: Array, metric: TreeMetric, *, search: Search):
    """Return how many points lie within `radius`, one (q,) for each query or one for all."""
    radius = jnp.broadcast_to(radius, queries.x.shape[:1])

    def count_neighbors(shared, x, radius):
        tree, metric = shared
        prepared = _counted(tree.astype(search.dtype), x, radius, metric, search)
        return prepared.counts.astype(search.index_dtype)

    return (one_search_of_all(count_neighbors)((tree, metric), queries.points(search), radius),)


class _Prepared(NamedTuple):
    """Queries made ready for a radius search, and the tree in the unit that they are in."""

    tree: Any
    queries: RadiusQueries
    halvings: Any  # (Q,), by query: how often one that is far from all points was halved
    counts: Any = None  # (Q,), by query: how many neighbors
    unit: Any = None  # the scale that the tree is to be brought to, if it is another


def ordered(tree, x, radius, metric: TreeMetric, search: Search) -> _Prepared:
    """Return the queries in an order in which neighboring ones are searched for together."""
    near = brought_near(tree, metric.wrap(x), radius, metric)
    tree = with_room_for_powers(tree, metric.p, near.x)
    queries = search.engine.ordered_queries(tree, near.x, near.bound, metric)
    return _Prepared(tree, queries, near.halvings)


def _counted(tree, x, radius, metric: TreeMetric, search: Search) -> _Prepared:
    """Return the queries as `ordered` does, and how many neighbors each has."""
    prepared = ordered(tree, x, radius, metric, search)
    counts = search.engine.count(prepared.tree, prepared.queries, metric, relation=Relation.ANY)
    return prepared._replace(counts=counts)


@partial(compiled, static_argnames=("search", "max_neighbors"))
def nearest_within(
    tree: Tree,
    queries: PaddedQueries,
    radius: Array,
    metric: TreeMetric,
    *,
    search: Search,
    max_neighbors: int,
):
    """Return rows and distances (q, max_neighbors) of the nearest within `radius`, and true counts (q,).

    `radius` is one (q,) for each query or one for all.
    """
    radius = jnp.broadcast_to(radius, queries.x.shape[:1])
    find = partial(_nearest_within, search=search, max_neighbors=max_neighbors)
    return one_search_of_all(find)((tree, metric), queries.points(search), radius)


def _nearest_within(shared, x, radius, *, search: Search, max_neighbors: int):
    tree, metric = shared
    piece_size = max(LARGEST // max_neighbors, 1)  # queries whose results 32-bit numbers can count
    find = partial(_nearest_within_piece, search=search, max_neighbors=max_neighbors)
    pieces = []
    for start in range(0, max(x.shape[0], 1), piece_size):
        piece = slice(start, start + piece_size)
        pieces.append(find(tree, x[piece], radius[piece], metric))
    return _concatenated(pieces)


def _nearest_within_piece(tree, x, radius, metric: TreeMetric, *, search: Search, max_neighbors: int):
    tree = tree.astype(search.dtype)
    prepared = ordered(tree, x, radius, metric, search)
    inputs = prepared.tree, prepared.queries, metric
    rows, distances, counts = search.engine.fill_rows(*inputs, max_neighbors=max_neighbors)
    rows = rows.astype(search.index_dtype)
    distances = doubled(distances, prepared.halvings[:, None])
    overflows = counts > max_neighbors  # (q,), queries with more neighbors than there is room for

    def with_the_nearest(_, neighbors):
        """Replace the neighbors of queries that overflow by their nearest ones."""
        rows, distances = neighbors
        zero = jnp.zeros_like(tree.scale)
        bound = jnp.where(overflows, jnp.full_like(zero, jnp.inf), zero)
        limits = Limits(bound, zero)
        nearest_distances, nearest_rows = nearest(tree, x, limits, metric, k=max_neighbors, search=search)
        rows = jnp.where(overflows[:, None], nearest_rows, rows)
        distances = jnp.where(overflows[:, None], nearest_distances, distances)
        return rows, distances

    if max_neighbors < tree.points.shape[1]:
        # A loop of one turn or none: unlike `lax.cond`, it copies nothing.
        turns = overflows.any().astype(jnp.int32)
        rows, distances = lax.fori_loop(0, turns, with_the_nearest, (rows, distances))
    return rows, distances, counts.astype(search.index_dtype)


def csr(tree: Tree, queries: PaddedQueries, radius: Array, metric: TreeMetric, *, search: Search, sort: bool):
    """Return (indptr, rows, distances) for the concrete queries that count."""
    count_neighbors = last_in_host_memory(_offsets, tree.rows, "search")
    (prepared, indptr), totals = count_neighbors(tree, queries, radius, metric, search=search)
    indptr, total, most_halvings = _ends(prepared.counts, indptr, totals)
    halvings = prepared.halvings if most_halvings else None
    prepared = prepared._replace(tree=tree, counts=None, halvings=halvings)
    with x64_for(indptr.dtype, search.dtype, search.index_dtype):
        size = padded_size(total)
        rows, distances = _filled(prepared, indptr, metric, search=search, size=size, sort=sort)
    return indptr, *first_rows(total, rows, distances)


def _offsets(tree: Tree, queries: PaddedQueries, radius: Array, metric: TreeMetric, *, search: Search):
    """Return the counted queries without the tree and `indptr`, and what `_ends` reads back."""
    radius = jnp.broadcast_to(radius, queries.x.shape[:1])
    tree = tree.astype(search.dtype)
    prepared = _counted(tree, queries.points(search), radius, metric, search)
    unit = None if prepared.tree is tree else prepared.tree.scale
    indptr = search.engine.running_sums(prepared.counts)
    totals = jnp.stack([indptr[-1], jnp.max(prepared.halvings, initial=0)])
    prepared = prepared._replace(tree=None, unit=unit)
    return (prepared, indptr.astype(search.index_dtype)), totals


def _ends(counts, ends, totals):
    """Return where the results of queries begin and end, and how many there are; in 64 bits from 2**31 on.

    `totals` are that number, up to 2**31 - 1, and what else is to be known of them, which is returned, too.
    """
    total, *extremes = np.asarray(totals).tolist()
    if total >= LARGEST:
        with x64_on():
            ends = _wide_sums(counts)
            total = int(ends[-1])
    return ends, total, *extremes


@compiled
def _wide_sums(counts):
    return jnp.pad(jnp.cumsum(counts, dtype=jnp.int64), (1, 0))


@partial(compiled, static_argnames=("search", "size", "sort"))
def _filled(prepared: _Prepared, indptr, metric: TreeMetric, *, search: Search, size: int, sort: bool):
    """Return rows and distances (size,) of the neighbors of counted queries, from where `indptr` says."""
    tree = prepared.tree.astype(search.dtype)
    if prepared.unit is not None:
        tree = tree.rescaled(prepared.unit / tree.scale)
    offsets = jnp.minimum(indptr, size)
    inputs = tree, prepared.queries, offsets, metric
    rows, distances = search.engine.fill(*inputs, size=size, relation=Relation.ANY)
    if prepared.halvings is not None:
        halvings = jnp.repeat(prepared.halvings, jnp.diff(indptr), total_repeat_length=size)
        distances = doubled(distances, halvings)
    if sort:
        query_count = len(prepared.queries.order)
        query_ids = lax.iota(jnp.int32, query_count)
        query = jnp.repeat(query_ids, jnp.diff(indptr), total_repeat_length=size)
        is_result = lax.iota(indptr.dtype, size) < indptr[-1]
        query = jnp.where(is_result, query, query_count)
        distances, rows = sorted_by_distance(distances, rows, query)
    return rows.astype(search.index_dtype), distances


# --- among the tree's own points -----------------------------------------------------------------------


@partial(compiled, static_argnames=("search", "relation", "size"))
def fixed_edges(
    tree: Tree, radius: Array, metric: TreeMetric, *, search: Search, relation: Relation, size: int
):
    """Return receivers, senders, distances (size,), grouped by receiver, and how many there are.

    The number is that of all edges, of which the first `size` are kept; from 2**31 on it stays there.
    """
    counted = count_points(tree, radius, metric, search, relation)
    receivers, senders, distances = _edges_of(counted, metric, search, relation, size)
    return receivers, senders, distances, counted.ends[-1].astype(search.index_dtype)


def edges(tree: Tree, radius: Array, metric: TreeMetric, *, search: Search, relation: Relation):
    """Return receivers, senders and distances of all edges, grouped by receiver, and how many there are.

    For a concrete tree. The arrays are longer than the number, so that their programs serve others.
    """
    counted, total = _concrete_counts(tree, radius, metric, search, relation)
    with x64_for(counted.ends.dtype, search.dtype, search.index_dtype):
        size = padded_size(total)
        edges = filled_edges(counted, metric, search=search, relation=relation, size=size)
    return *edges, total


def pairs(tree: Tree, radius: Array, metric: TreeMetric, *, search: Search):
    """Return the pairs (e, 2) of near points, the lower row first, and how many there are; as `edges`."""
    counted, total = _concrete_counts(tree, radius, metric, search, Relation.LATER)
    with x64_for(counted.ends.dtype, search.dtype, search.index_dtype):
        return _filled_pairs(counted, metric, search=search, size=padded_size(total)), total


class CountedPoints(NamedTuple):
    """The tree's own points as queries, and how many edges each has."""

    tree: Any
    queries: RadiusQueries
    counts: Any  # (n,) by row
    ends: Any  # (n + 1,) their running sums


def _concrete_counts(tree, radius, metric: TreeMetric, search: Search, relation: Relation):
    """Return the counted points of a concrete tree, and how many edges they have in all."""
    count_edges = last_in_host_memory(_counts_and_total, tree.rows, "search", "relation")
    counted, totals = count_edges(tree, radius, metric, search=search, relation=relation)
    return with_ends_known(counted._replace(tree=tree), totals)


def with_ends_known(counted: CountedPoints, totals):
    """Return counted points from `ends` on, and what the totals say: how many edges they have in all, first.

    For concrete points; waits for the totals, which `_ends` describes.
    """
    ends, total, *others = _ends(counted.counts, counted.ends, totals)
    return counted._replace(counts=None, ends=ends), total, *others


def _counts_and_total(tree, radius, metric: TreeMetric, *, search: Search, relation: Relation):
    counted = count_points(tree, radius, metric, search, relation)
    return counted._replace(tree=None), counted.ends[-1:]


def count_points(tree, radius, metric: TreeMetric, search: Search, relation: Relation) -> CountedPoints:
    """Return the tree's own points as queries, and how many edges each has."""
    tree = with_room_for_powers(tree.astype(search.dtype), metric.p)
    queries = own_queries(tree, radius, metric.p)
    counts = search.engine.count(tree, queries, metric, relation=relation)
    return CountedPoints(tree, queries, counts, search.engine.running_sums(counts))


@partial(compiled, static_argnames=("search", "relation", "size"))
def filled_edges(counted: CountedPoints, metric, *, search: Search, relation: Relation, size: int):
    """Return receivers, senders and distances (size,) of counted points, and how many edges there are."""
    tree = with_room_for_powers(counted.tree.astype(search.dtype), metric.p)
    edges = _edges_of(counted._replace(tree=tree), metric, search, relation, size)
    return *edges, counted.ends[-1].astype(search.index_dtype)


def _edges_of(counted: CountedPoints, metric, search: Search, relation: Relation, size: int):
    """Return receivers, senders and distances (size,) of counted points."""
    offsets = jnp.minimum(counted.ends, size)
    inputs = counted.tree, counted.queries, offsets, metric
    edges = search.engine.fill(*inputs, size=size, relation=relation, written=Written.EDGES)
    senders, distances, receivers = edges
    return receivers.astype(search.index_dtype), senders.astype(search.index_dtype), distances


@partial(compiled, static_argnames=("search", "size"))
def _filled_pairs(counted: CountedPoints, metric, *, search: Search, size: int):
    tree = with_room_for_powers(counted.tree.astype(search.dtype), metric.p)
    offsets = jnp.minimum(counted.ends, size)
    inputs = tree, counted.queries, offsets, metric
    (pairs,) = search.engine.fill(*inputs, size=size, relation=Relation.LATER, written=Written.PAIRS)
    return pairs.astype(search.index_dtype)


# --- between two trees ---------------------------------------------------------------------------------


@partial(compiled, static_argnames=("search", "dtype"))
def pair_counts(
    tree: Tree, queries: PaddedQueries, radii: Array, metric: TreeMetric, *, search: Search, dtype
):
    """Return how many pairs of a query and a point are within each of the `radii`: (R,), of a dtype.

    An integer one wraps past its limit; each query's own count stays below n.
    """
    with x64_for(dtype):
        row_count = len(queries.x)
        query_count = row_count if queries.count is None else queries.count
        is_query = lax.iota(jnp.int32, row_count) < query_count
        weights = PairWeights(is_query.astype(dtype), jnp.ones(tree.points.shape[1], dtype))
        return _summed(tree, queries, weights, radii, metric, search)


@partial(compiled, static_argnames="search")
def pair_sums(
    tree: Tree,
    queries: PaddedQueries,
    weights: PairWeights,
    radii: Array,
    metric: TreeMetric,
    *,
    search: Search,
):
    """Return the sums of the products of weights over the pairs within each of the `radii`: (R,).

    The weights, of one dtype, which is that of the sums, belong to the queries and to the tree's rows.
    """
    with x64_for(weights.self_weights.dtype):
        return _summed(tree, queries, weights, radii, metric, search)


def _summed(tree, queries: PaddedQueries, weights: PairWeights, radii, metric, search: Search):
    radii = converted(radii, search.dtype)
    x = queries.points(search)
    tree, x, weights, radii, metric = varying_alike(tree, x, weights, radii, metric)
    tree = tree.astype(search.dtype)
    near = brought_near(tree, metric.wrap(x), jnp.zeros((), search.dtype), metric)
    tree = with_room_for_powers(tree, metric.p, near.x)
    of_slots = weights.other_weights.at[tree.rows].get(mode="fill", fill_value=0)
    order, parts = sums_within(tree, near, radii, of_slots, metric, search=search)
    of_queries = weights.self_weights[order][None]
    sums = [jnp.sum(part * of_queries, axis=1, dtype=of_queries.dtype) for part in parts]
    return jnp.concatenate(sums)


def sums_within(
    tree: Tree, near: NearQueries, radii: Array, weights: Array, metric: TreeMetric, *, search: Search
):
    """Return an order of the queries, and in it sums (some radii, q), of some of the radii (R,) at a time.

    They are of the slots' `weights`, in their dtype. The tree has room for the queries' powers.
    """
    x = near.x
    q, m = x.shape
    p = metric.p
    dtype = weights.dtype
    narrow = jnp.int32 if jnp.issubdtype(dtype, jnp.integer) else dtype
    weights = jnp.where(jnp.isfinite(tree.points[0]), weights.astype(narrow), 0)
    # A query that is far sees all points at the same distance: within a radius are all of them or none.
    point = a_point(tree)
    powers = power_distance(lambda axis: (x[:, axis] - point[axis]) * tree.scale, m, p)
    distances = doubled(distance_in_units(powers, tree.scale, p), near.halvings)
    is_far = near.halvings > 0
    no_radius = jnp.full(q, -1, search.dtype)
    x = jnp.where(is_far[:, None], jnp.full_like(x, jnp.nan), x)
    queries = search.engine.ordered_queries(tree, x, no_radius, metric)
    is_far = is_far[queries.order]
    distances = distances[queries.order]
    total = jnp.sum(weights, dtype=dtype)
    radii_at_once = max(1, min(BINS, LARGEST // (q + 64)))  # sums that 32-bit numbers can count

    def sums_of_some(radii):
        bounds = radius_bound(tree, radii, p)
        sums = search.engine.bin_counts(tree, queries, bounds, weights, metric).astype(dtype)
        sums_of_far = jnp.where(distances[None] <= radii[:, None], total, jnp.zeros_like(total))
        return jnp.where(is_far[None], sums_of_far, sums)

    starts = range(0, radii.shape[0], radii_at_once)
    return queries.order, (sums_of_some(radii[start : start + radii_at_once]) for start in starts)
