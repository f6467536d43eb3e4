"""The searches of our own structure: pure functions of a tree, queries and numbers, by an engine's functions.

Each is compiled as one piece, whether it is called on its own or inside of a transformation. Of queries `x`
the first `count` are searched for, None for all: so one program serves many lengths. A query that is not
finite has no neighbours.

Radius searches are two passes over the tree: count each query's neighbours, then write them from where the
counts say. `csr`, `edges` and `pairs`, whose sizes depend on values, read them back between the passes.
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
from .._structure._metric import in_units, into_box, power_distance
from .._structure._queries import own_queries, radius_bound
from .._structure._scaling import a_point, brought_near, times_power_of_two
from .._structure._tree import Tree
from .._structure._varying import varying_alike
from . import _engines
from ._finite import check_finite

__all__ = [
    "Search",
    "chosen",
    "counts_within",
    "csr",
    "edges",
    "fixed_edges",
    "nearest",
    "nearest_columns",
    "nearest_within",
    "pairs",
    "picked",
    "sums_within",
    "two_point",
]

LARGEST_PIECE = 2**31 - 2**16
BINS = 32  # radii that one kernel keeps in registers
LARGEST = np.iinfo(np.int32).max


class Search(NamedTuple):
    """The static part of a search; equal ones share compiled code."""

    p: float
    engine: Any  # one of `_engines`; None: that of the platform that runs it
    dtype: np.dtype  # of distances
    index_dtype: np.dtype  # of rows

    def run(self, name: str, *arrays, **options):
        """Call the engine's function of that name."""
        return _engines.run(self.engine, name, *arrays, **options)

    def lines(self, x, count):
        """Return queries in the dtype of distances, those from `count` on nan."""
        return x.astype(self.dtype) if count is None else self.run("lines", x, count, dtype=self.dtype)


# --- nearest -------------------------------------------------------------------------------------------


@partial(compiled, static_argnames=("k", "columns", "wanted", "search"))
def nearest_columns(tree: Tree, x, count, bound, eps, box, *, k: int, columns, wanted: str, search: Search):
    """Return what is `wanted` of the `k` nearest points of every query, nearer than `bound`, () or (q,).

    'one': distances and rows (q,); 'columns': (q, c), of `columns` those, -1 for none; 'others': (n, k - 1),
    without each point itself; 'edges', 'edges_loop': as a graph. Without `x`: of the tree's own points, by an
    engine that searches them as they lie.
    """
    if x is None:
        lines = tree.points.shape[1]
        options = {"lines": lines, "k": k, "p": search.p}
        distances, rows = search.engine.nearest_of_all(tree, bound, eps, box, **options)
        rows = rows.astype(search.index_dtype)
    else:

        def find(shared, x, bound):
            tree, eps, box = shared
            return nearest(tree, x, bound, eps, box, k=k, search=search)

        shared = tree, eps, box
        distances, rows = one_search_of_all(find)(shared, search.lines(x, count), bound)
    return chosen(distances, rows, tree.n, columns, wanted, len(rows) if count is None else count)


def chosen(distances, rows, n, columns, wanted: str, count, xp=jnp):
    """Return what is `wanted` of all columns that were found, of lines from `count` on no edges."""
    if wanted == "one":
        return distances[:, 0], rows[:, 0]
    distances, rows = picked(distances, rows, n, columns, xp)
    if wanted in ("others", "edges"):
        distances, rows = without_own(distances, rows, xp)
    if wanted in ("edges", "edges_loop"):
        return neighbour_edges(distances, rows, n, count, xp)
    return distances, rows


def nearest(tree: Tree, x, bound, eps, box, *, k: int, search: Search, rooted: bool = True):
    """Return distances and rows of the `k` nearest points of every query, both (q, k).

    Many queries are searched in pieces whose results and coordinates 32-bit numbers can count. The dtype of
    distances is the tree's or a wider one. `rooted` as in `_lax.nearest`.
    """
    q, m = x.shape
    tree, x = tree.astype(search.dtype), x.astype(search.dtype)
    if box is not None:
        x = into_box(x, box)
    if rooted:
        x, bound, halvings = brought_near(tree, x, bound, box, search.p)
    size = max(LARGEST_PIECE // max(k, m), 1)
    found = []
    for start in range(0, max(q, 1), size):
        part = slice(start, start + size)
        inputs = tree, x[part], bound[part] if jnp.ndim(bound) else bound, eps, box
        found.append(search.run("nearest", *inputs, k=k, p=search.p, rooted=rooted))
    distances, rows = found[0] if len(found) == 1 else map(jnp.concatenate, zip(*found, strict=True))
    distances = times_power_of_two(distances, halvings[:, None]) if rooted else distances
    return distances, rows.astype(search.index_dtype)


def picked(distances, rows, n, columns, xp=jnp):
    """Return the columns asked for, of all that were found; -1 stands for a missing one."""
    if columns is None:
        return distances, rows
    columns = np.asarray(columns)
    there = columns >= 0
    rows = xp.where(there, rows[:, columns], xp.asarray(n).astype(rows.dtype))
    return xp.where(there, distances[:, columns], xp.asarray(np.inf, distances.dtype)), rows


def without_own(distances, rows, xp=jnp):
    """Return all columns (n, k + 1) but that of each line's own row, or the last where it is not there."""
    own = rows == xp.arange(rows.shape[0], dtype=rows.dtype)[:, None]
    passed = xp.cumulative_sum(own, axis=1)[:, :-1] > 0
    return tuple(xp.where(passed, each[:, 1:], each[:, :-1]) for each in (distances, rows))


def neighbour_edges(distances, rows, n, count, xp=jnp):
    """Return senders, receivers and distances of the first lines' neighbours, and how many there are."""
    lines = xp.arange(rows.shape[0], dtype=rows.dtype)[:, None]
    n = xp.asarray(n).astype(rows.dtype)
    there = (rows < n) & (lines < xp.asarray(count).astype(rows.dtype))
    receivers = xp.where(there, lines, n)
    return rows.reshape(-1), receivers.reshape(-1), distances.reshape(-1), xp.sum(there, dtype=rows.dtype)


# --- around queries ------------------------------------------------------------------------------------


@partial(compiled, static_argnames="search")
def counts_within(tree: Tree, x: Array, count, radius: Array, box: Array | None, *, search: Search):
    """Return how many points lie within `radius`, one (q,) for each query (q, m) or one for all."""
    x, radius = search.lines(x, count), jnp.broadcast_to(radius, x.shape[:1])

    def number(shared, x, radius):
        tree, box = shared
        return _counted(tree.astype(search.dtype), x, radius, box, search)[2].astype(search.index_dtype)

    return (one_search_of_all(number)((tree, box), x, radius),)


def _ordered(tree, x, radius, box, search):
    """Return the queries made ready, their order, and how often those far from all points were halved."""
    x = x if box is None else into_box(x, box)
    x, radius, halvings = brought_near(tree, x, radius, box, search.p)
    return *search.run("ordered_queries", tree, x, radius, box, p=search.p), halvings


def _counted(tree, x, radius, box, search):
    """Return the queries made ready, their order, how many neighbours each of `x` has, and its halvings."""
    queries, order, halvings = _ordered(tree, x, radius, box, search)
    counts = search.run("count", tree, queries, order, box, p=search.p, relation="any")
    return queries, order, counts, halvings


@partial(compiled, static_argnames=("search", "limit"))
def nearest_within(
    tree: Tree, x: Array, count, radius: Array, box: Array | None, *, search: Search, limit: int
):
    """Return rows and distances (q, limit) of the nearest within `radius`, and the true counts (q,).

    `radius` is one (q,) for each query (q, m) or one for all.
    """
    x, radius = search.lines(x, count), jnp.broadcast_to(radius, x.shape[:1])
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
    queries, order, halvings = _ordered(tree, x, radius, box, search)
    rows, distances, counts = search.run("fill_lines", tree, queries, order, box, limit=limit, p=search.p)
    rows, more = rows.astype(search.index_dtype), counts > limit
    distances = times_power_of_two(distances, halvings[:, None])

    def with_the_nearest(_, found):
        """Search for the nearest of those queries that have more neighbours than there is room for."""
        none = jnp.zeros_like(tree.scale)
        bound = jnp.where(more, jnp.full_like(none, jnp.inf), none)
        closest, their_rows = nearest(tree, x, bound, none, box, k=limit, search=search)
        theirs = their_rows, closest
        return tuple(jnp.where(more[:, None], new, old) for new, old in zip(theirs, found, strict=True))

    found = rows, distances
    if limit < tree.points.shape[1]:  # a loop of one turn or none: unlike `lax.cond`, it copies nothing
        found = lax.fori_loop(0, more.any().astype(jnp.int32), with_the_nearest, found)
    return *found, counts.astype(search.index_dtype)


def csr(tree: Tree, x: Array, q: Array, radius: Array, box, *, search: Search, sort: bool, finite):
    """Return (indptr, rows, distances) for the first `q` concrete queries of `x`, which has room for more.

    Raises ValueError where they are not `finite`, which is asked while they are searched.
    """
    queries, order, counts, halvings, indptr, totals = _offsets(tree, x, q, radius, box, search=search)
    check_finite(finite)
    indptr, total, far = _ends(counts, indptr, totals)
    halvings = halvings if far else None
    with x64_for(indptr.dtype, search.dtype, search.index_dtype):
        static = {"search": search, "size": padded_size(total), "sort": sort}
        found = _filled(tree, queries, order, indptr, halvings, box, **static)
    return indptr, *first_lines(total, *found)


@partial(compiled, static_argnames="search")
def _offsets(tree, x, q, radius, box, *, search):
    x, radius = search.lines(x, q), jnp.broadcast_to(radius, x.shape[:1])
    queries, order, counts, halvings = _counted(tree.astype(search.dtype), x, radius, box, search)
    indptr = search.run("running_sums", counts)
    totals = jnp.stack([indptr[-1], jnp.max(halvings, initial=0)])
    return queries, order, counts, halvings, indptr.astype(search.index_dtype), totals


def _ends(counts, ends, totals):
    """Return where the results of queries begin and end, and how many there are; in 64 bits from 2**31 on.

    `totals` are that number, up to 2**31 - 1, and what else is to be known of them, which is returned, too.
    """
    total, *others = np.asarray(in_host_memory(totals)).tolist()
    if total >= LARGEST:
        with x64_on():
            ends = _wide_sums(counts)
            total = int(ends[-1])
    return ends, total, *others


@compiled
def _wide_sums(counts):
    return jnp.pad(jnp.cumsum(counts, dtype=jnp.int64), (1, 0))


@partial(compiled, static_argnames=("search", "size", "sort"))
def _filled(tree, queries, order, indptr, halvings, box, *, search, size, sort):
    tree = tree.astype(search.dtype)
    options = {"p": search.p, "relation": "any", "size": size}
    rows, distances = search.run("fill", tree, queries, order, jnp.minimum(indptr, size), box, **options)
    if halvings is not None:
        halvings = jnp.repeat(halvings, jnp.diff(indptr), total_repeat_length=size)
        distances = times_power_of_two(distances, halvings)
    if sort:
        numbers = lax.iota(jnp.int32, order.shape[0])
        query = jnp.repeat(numbers, jnp.diff(indptr), total_repeat_length=size)
        query = jnp.where(lax.iota(indptr.dtype, size) < indptr[-1], query, order.shape[0])
        _, distances, rows = lax.sort((query, distances, rows), num_keys=3)
    return rows.astype(search.index_dtype), distances


# --- among the tree's own points -----------------------------------------------------------------------


@partial(compiled, static_argnames=("search", "relation", "size"))
def fixed_edges(tree: Tree, radius: Array, box: Array | None, *, search: Search, relation: str, size: int):
    """Return receivers, senders, distances (size,), grouped by receiver, and how many there are.

    The number is that of all edges, of which the first `size` are kept; from 2**31 on it stays there.
    """
    function = partial(_fixed_edges, search=search, relation=relation, size=size)
    return jax.custom_batching.sequential_vmap(function)(tree, radius, box)


def _fixed_edges(tree, radius, box, *, search, relation, size):
    tree = tree.astype(search.dtype)
    queries, _, ends = _own_ends(tree, radius, box, search, relation)
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
    queries, *counted = _own_counted(tree, radius, box, search=search, relation=relation)
    ends, total = _ends(*counted)
    with x64_for(ends.dtype, search.dtype, search.index_dtype):
        static = {"search": search, "relation": relation, "size": padded_size(total)}
        return function(tree, queries, ends, box, **static), total


def _own_ends(tree, radius, box, search, relation):
    """Return the tree's points as queries, their counts in the order of the rows, and the sums of these."""
    queries = own_queries(tree, radius, p=search.p)
    counts = search.run("count", tree, queries, tree.rows, box, p=search.p, relation=relation)
    return queries, counts, search.run("running_sums", counts)


def _own_filled(tree, queries, ends, box, search, relation, size):
    offsets = jnp.minimum(ends, size)
    options = {"p": search.p, "relation": relation, "size": size}
    receivers, senders, distances = search.run("fill_edges", tree, queries, offsets, box, **options)
    return receivers.astype(search.index_dtype), senders.astype(search.index_dtype), distances


@partial(compiled, static_argnames=("search", "relation"))
def _own_counted(tree, radius, box, *, search, relation):
    queries, counts, ends = _own_ends(tree.astype(search.dtype), radius, box, search, relation)
    return queries, counts, ends, ends[-1:]


@partial(compiled, static_argnames=("search", "relation", "size"))
def _own_fill(tree, queries, ends, box, *, search, relation, size):
    return _own_filled(tree.astype(search.dtype), queries, ends, box, search, relation, size)


@partial(compiled, static_argnames=("search", "relation", "size"))
def _own_pairs(tree, queries, ends, box, *, search, relation, size):
    offsets = jnp.minimum(ends, size)
    pairs = search.run("fill_pairs", tree.astype(search.dtype), queries, offsets, box, size=size, p=search.p)
    return pairs.astype(search.index_dtype)


# --- between two trees ---------------------------------------------------------------------------------


@partial(compiled, static_argnames=("search", "sums"))
def two_point(tree: Tree, x: Array, count, own, others, radii: Array, box, *, search: Search, sums):
    """Sum ``own[i] * others[j]`` over the pairs within each of the `radii`: (R,), of the dtype `sums`.

    The weights `own` (q,) belong to the queries, `others` (n,) to the tree's rows; None twice for 1. Integer
    sums wrap past their dtype; each query's own stays below n.
    """
    with x64_for(sums):
        if own is None:
            there = lax.iota(jnp.int32, len(x)) < (len(x) if count is None else count)
            own, others = there.astype(sums), jnp.ones(tree.points.shape[1], sums)
        own, others, radii = own.astype(sums), others.astype(sums), radii.astype(search.dtype)
        inputs = varying_alike(tree, search.lines(x, count), own, others, radii, box)
        return jax.custom_batching.sequential_vmap(partial(_two_point, search=search))(*inputs)


def _two_point(tree, x, x_weights, weights, radii, box, *, search):
    tree = tree.astype(search.dtype)
    x = x if box is None else into_box(x, box)
    x, _, halvings = brought_near(tree, x, jnp.zeros((), search.dtype), box, search.p)
    weights = weights.at[tree.rows].get(mode="fill", fill_value=0)
    narrow = jnp.int32 if jnp.issubdtype(weights.dtype, jnp.integer) else weights.dtype
    inputs = tree, x, halvings, radii, weights.astype(narrow), box
    order, parts = sums_within(*inputs, search=search, dtype=weights.dtype)
    own = x_weights[order]
    return jnp.concatenate([jnp.sum(part * own[None], axis=1, dtype=weights.dtype) for part in parts])


def sums_within(tree: Tree, x, halvings, radii, weights, box, *, search: Search, dtype):
    """Return an order of the queries, and in it sums (some radii, q), of some of the radii (R,) at a time.

    They are of the slots' `weights`, in a dtype; of queries after `halvings` as `brought_near` makes them.
    """
    weights, one = jnp.where(jnp.isfinite(tree.points[0]), weights, 0), a_point(tree)
    # To one that is far all points are as near: within a radius are all of them or none.
    apart = power_distance(lambda axis: (x[:, axis] - one[axis]) * tree.scale, x.shape[1], search.p)
    apart = times_power_of_two(in_units(apart, tree.scale, search.p), halvings)
    far = (halvings > 0)[:, None]
    none = jnp.full(x.shape[0], -1, search.dtype)
    x = jnp.where(far, jnp.full_like(x, jnp.nan), x)
    queries, order = search.run("ordered_queries", tree, x, none, box, p=search.p)
    far, apart, total = far[order, 0], apart[order], jnp.sum(weights, dtype=dtype)
    at_once = max(1, min(BINS, LARGEST // (x.shape[0] + 64)))  # sums that 32-bit numbers can count

    def some(radii):
        bounds = radius_bound(tree, radii, search.p)
        found = search.run("bin_counts", tree, queries, bounds, weights, box, p=search.p).astype(dtype)
        return jnp.where(
            far[None], jnp.where(apart[None] <= radii[:, None], total, jnp.zeros_like(total)), found
        )

    return order, (some(radii[start : start + at_once]) for start in range(0, radii.shape[0], at_once))
