"""Searches by SciPy's cKDTree: NumPy arrays in, NumPy arrays and Python lists out, with our rules.

SciPy leaves it open which of several equally distant points it returns. Here equal distances go to the lowest
row, also at the last place: one neighbor more is searched for, and where that one is as far as the last,
more and more are, until a farther one turns up. Queries with such a tie cost two to three times as much, and
the number of equally distant points decides the rest; all of it runs in pieces of bounded memory.

A point is within a radius if its distance, as it is returned, is no longer (`_reach`).

A negative radius reaches nothing (SciPy takes its absolute value for p=2), and neither does a radius that is
not a number. Queries and other trees are brought into the periodic box of the tree that is searched; SciPy
measures outside of it without period.

Queries `x` are (q, m) and finite, radii (q,), results in the user's units.
"""

import itertools
from typing import Any, NamedTuple

import numpy as np
import scipy

from ..._interop import aligned_empty
from .._answers import Answer, FoundNeighbors
from .._search import Search
from .._tree._queries import Relation
from ._ckdtree import ckdtree
from ._reach import SLACK, Reach, beyond, counts_of_pairs, distances_between, longest_within
from ._threads import in_threads, paying_threads, thread_count, unhindered
from ._trees import ScaledQueries, ScaledTree, SciPyTrees

__all__ = [
    "ball",
    "ball_tree",
    "counts_within",
    "csr",
    "distance_entries",
    "edges",
    "fixed_edges",
    "grouped",
    "near_pairs",
    "nearest",
    "nearest_columns",
    "nearest_within",
    "pairs",
    "spatial_order",
    "two_point",
]

_PIECE = 1 << 22  # distances held at once; 64 MB with their rows
_EACH = 1 << 14  # queries at a time: fewer cost calls, more fall out of a thread's cache
_SHARED = 1 << 16  # results up to which SciPy's threads share a piece: more are worked on in each thread
_SHORT = 1 << 10  # one thread searches at once up to here; a query counts as its k neighbors and six more
_LISTED = 64  # neighbors of a query, as a guess of what a piece holds
_COUNTED = 128  # neighbors at most, from which on counting them first may pay
_MEASURED = 1 << 16  # distances that a thread computes at once
_SPARSE = 10  # points for a query up to which a tree of the queries pays
_PAIRED = 1 << 10  # queries from which on their order and their tree pay


# --- the order of queries, and pieces of them -----------------------------------------------------------

_FEWEST = 1 << 14  # queries from which on an order pays
_CURVE_BITS = 15  # of a place on the curve: with 16 or fewer NumPy sorts by counting


def spatial_order(x: np.ndarray, fewest: int | None = None) -> np.ndarray | None:
    """Return an order of points (q, m) along a Z-order curve; `None`: leave them as they are.

    Points near each other in space visit the same nodes, which the processor's caches then still hold: random
    ones take up to twice as long.
    """
    if len(x) < (fewest or _FEWEST):
        return None
    coordinates = np.ascontiguousarray(x[:, :3].T, dtype=np.float64)
    least = coordinates.min(axis=1)
    with np.errstate(over="ignore", invalid="ignore"):
        extent = coordinates.max(axis=1) - least
    if not np.isfinite(extent).all():  # so it is where a point is not finite
        return None
    axes = len(coordinates)
    bits = _CURVE_BITS // axes
    cells = np.arange(1 << bits)
    spread = sum((cells >> bit & 1) << bit * axes for bit in range(bits))
    spread = np.asarray(spread, np.uint16)
    places_on_curve = np.zeros(len(x), np.uint16)
    for axis in np.flatnonzero(extent).tolist():
        along = (coordinates[axis] - least[axis]) / extent[axis]
        places_on_curve |= spread[(along * (len(cells) - 0.01)).astype(np.uint16)] << axis
    return np.argsort(places_on_curve, kind="stable")


def _parts(query_count: int, width: int, threads: int, fewest: int) -> list[slice]:
    """Return pieces of queries with `width` results each, `fewest` or more of these for a thread."""
    count = -(-query_count // max(1, min(_EACH, _PIECE // width)))
    count = max(count, min(threads, query_count * width // fewest), 1)
    if count > threads:
        count += -count % threads  # so that all threads end at the same time
    size = max(1, -(-query_count // count))
    return [slice(start, start + size) for start in range(0, query_count, size)]


# --- nearest --------------------------------------------------------------------------------------------


def nearest_columns(trees: SciPyTrees, x, bound, eps, *, k: int, answer: Answer, search: Search):
    """Return the answer about the `k` nearest points of every query, nearer than `bound`, () or (q,)."""
    if type(eps) is not float:  # of a program, an array
        search = search._replace(eps=float(eps))
    distances, rows = nearest(trees, x, bound, k, search)
    return answer.of(FoundNeighbors(distances, rows, trees.n, len(rows)), np)


def nearest_within(trees: SciPyTrees, x, radius, *, max_neighbors: int, search: Search):
    """Return rows and distances (q, max_neighbors) of the nearest within `radius`, and true counts (q,)."""
    search = search._replace(eps=0.0)
    expected = _neighbors_expected(trees, x, radius, search) if max_neighbors >= _COUNTED else max_neighbors
    if expected < max_neighbors and (radius == radius[0]).all():
        indptr, rows, distances = csr(trees, x, radius, search=search, sort=True)
        return _first_within(indptr, rows, distances, max_neighbors, trees.n)
    if 4 * expected < max_neighbors:
        (counts,) = counts_within(trees, x, radius, search=search)
        k = min(max_neighbors, max(int(counts.max(initial=0)), 1))
        distances, rows = nearest(trees, x, radius, k, search, inclusive=True)
        return _widened(rows, max_neighbors, trees.n), _widened(distances, max_neighbors, np.inf), counts
    distances, rows = nearest(trees, x, radius, max_neighbors, search, inclusive=True)
    counts = np.count_nonzero(rows < trees.n, axis=1).astype(search.index_dtype)
    (full,) = np.nonzero(counts == max_neighbors)
    if len(full):
        (counts[full],) = counts_within(trees, x[full], radius[full], search=search)
    return rows, distances, counts


def _neighbors_expected(trees: SciPyTrees, x, radius, search: Search) -> float:
    """Return how many neighbors some 32 of the queries have on average; inf without queries."""
    some = slice(None, None, len(x) // 32 + 1)
    (counts,) = counts_within(trees, x[some], radius[some], search=search)
    return float(counts.mean()) if len(counts) else np.inf


def _first_within(indptr, rows, distances, max_neighbors: int, n: int):
    """Return the first neighbors (q, max_neighbors) of each query in CSR form, and true counts (q,)."""
    counts = np.diff(indptr)
    columns = np.arange(max_neighbors)
    is_there = columns < counts[:, None]
    kept = np.arange(len(rows)) - np.repeat(indptr[:-1], counts) < max_neighbors
    fixed_rows = aligned_empty(is_there.shape, rows.dtype)
    fixed_rows[...] = n
    fixed_rows[is_there] = rows[kept]
    fixed_distances = aligned_empty(is_there.shape, distances.dtype)
    fixed_distances[...] = np.inf
    fixed_distances[is_there] = distances[kept]
    return fixed_rows, fixed_distances, counts.astype(rows.dtype)


def _widened(values, width: int, fill):
    """Return values (q, k) with more columns, filled up."""
    query_count, k = values.shape
    if k == width:
        return values
    wide = aligned_empty((query_count, width), values.dtype)
    wide[:, :k] = values
    wide[:, k:] = fill
    return wide


def nearest(trees: SciPyTrees, x, bound, k: int, search: Search, inclusive: bool = False):
    """Return distances and rows (q, k) by (distance, row); beyond the bound distance inf and row n.

    With `inclusive` a point as far as the bound counts.
    """
    tree = trees.tree_for(search.p)
    query_count = len(x)
    k_found = min(k, max(tree.n, 1))
    has_bound_per_query = getattr(bound, "ndim", 0) > 0
    largest_bound = float(np.nanmax(bound, initial=0) if has_bound_per_query else max(bound, 0.0))
    upper_bound = largest_bound * tree.unit
    if 0 < upper_bound < np.inf:
        # SciPy compares powers of distances, which are rounded. The distances decide, in `_leave_out`.
        upper_bound = max(upper_bound * (1 + 1e-6), 1e-100)
    if inclusive:
        farthest = tree.reach_of(search.dtype.type(largest_bound)).farthest
        upper_bound = max(float(farthest) * (1 + 1e-6), 1e-100)
    is_short = query_count * (k + 6) < _SHORT and search.workers is None
    threads = 1 if is_short else thread_count(search.workers, query_count, k + 1)
    parts = [slice(query_count)] if is_short else _parts(query_count, k + 1, threads, _SHARED)
    threads_of_a_part = -(-threads // max(len(parts), 1))
    if search.workers is not None:  # and not `thread_count` has said how many pay
        part_length = min(query_count, parts[0].stop) if parts else 0
        threads_of_a_part = min(threads_of_a_part, paying_threads(part_length, k + 1))
    nearest_search = _NearestSearch(tree, k_found, search, inclusive, upper_bound, threads_of_a_part)
    if len(parts) <= 1 and k == k_found:
        distances, rows = nearest_search.run(x, bound)
        return distances.astype(search.dtype), rows.astype(search.index_dtype)
    order = spatial_order(x)
    distances = aligned_empty((query_count, k), search.dtype)
    rows = aligned_empty((query_count, k), search.index_dtype)
    distances[:, k_found:] = np.inf
    rows[:, k_found:] = trees.n

    def search_part(part):
        queries = part if order is None else order[part]
        bounds = bound[queries] if has_bound_per_query else bound
        found_distances, found_rows = nearest_search.run(x[queries], bounds)
        if k > k_found:
            distances[queries, :k_found] = found_distances
            rows[queries, :k_found] = found_rows
        else:
            distances[queries] = found_distances
            rows[queries] = found_rows

    in_threads(search_part, parts, threads)
    return distances, rows


class _NearestSearch(NamedTuple):
    """A search for the `k` nearest points, of which a tree that is not empty has as many."""

    tree: ScaledTree
    k: int
    search: Search
    inclusive: bool  # whether a point as far as the bound counts
    upper_bound: float  # what all neighbors are nearer than, in the units of the tree
    threads: int  # that share a search

    def run(self, x, bound):
        """Return distances and rows (q, k) by (distance, row) of queries within their bounds."""
        queries = self.tree.queries(x)
        # One more than k tells whether others are as far as the k-th.
        k = self.k + 1 if self.k < self.tree.n else self.k
        scaled_distances, numbers = self._ask(queries.x, k, self.threads)
        is_tied = scaled_distances[:, 1:] == scaled_distances[:, :-1]
        if is_tied.any():
            is_tied &= numbers[:, 1:] < self.tree.n  # and not that there are no more
            self._order_ties(queries.x, scaled_distances, numbers, is_tied)
        distances = queries.distances(scaled_distances[:, : self.k])
        numbers = numbers[:, : self.k]
        if getattr(bound, "ndim", 0) or bound < np.inf or not isinstance(queries.exponent, int):
            self._leave_out(distances, numbers, bound)
        return distances, self.tree.trees.rows(numbers)

    def _ask(self, x, k: int, threads: int):
        """Return what SciPy finds, (q, k): distances in the units of the tree, and numbers of its points."""
        asked = x, k, self.search.eps, self.search.p, self.upper_bound
        if threads == 1:
            distances, numbers = self.tree.tree.query(*asked)
        else:
            distances, numbers = unhindered(self.tree.tree.query, *asked, workers=threads)
        if k == 1:  # of which SciPy leaves the axis out
            return distances[:, None], numbers[:, None]
        return distances, numbers

    def _order_ties(self, x, scaled_distances, numbers, is_tied) -> None:
        """Bring equally distant neighbors into the order of their rows, in place; the lowest k stay.

        `is_tied` tells which neighbors are as far as the one before.
        """
        k = self.k
        _sort(scaled_distances, numbers, np.flatnonzero(is_tied[:, : k - 1].any(axis=1)))
        if scaled_distances.shape[1] > k:
            self._settle_last_place(x, scaled_distances, numbers, np.flatnonzero(is_tied[:, k - 1]))

    def _settle_last_place(self, x, scaled_distances, numbers, tied) -> None:
        """Ask for more neighbors of the tied queries until one is farther than the k-th; keep the lowest.

        Distances and numbers are (q, k + 1), and changed in place.
        """
        k = self.k
        wanted = k + 1
        while tied.size:
            wanted = 2 * wanted
            still_tied = []
            piece = max(1, _PIECE // wanted)
            for start in range(0, tied.size, piece):
                queries = tied[start : start + piece]
                threads = min(self.threads, paying_threads(len(queries), wanted))
                more_distances, more_numbers = self._ask(x[queries], wanted, threads)
                settled = more_distances[:, -1] > more_distances[:, k - 1]  # inf where there are no more
                still_tied.append(queries[~settled])
                settled_distances = more_distances[settled]
                settled_numbers = more_numbers[settled]
                _sort(settled_distances, settled_numbers, slice(None))
                scaled_distances[queries[settled], :k] = settled_distances[:, :k]
                numbers[queries[settled], :k] = settled_numbers[:, :k]
            tied = np.concatenate(still_tied)

    def _leave_out(self, distances, numbers, bound) -> None:
        """Leave out neighbors beyond the bound of their query, in place."""
        if self.inclusive:
            within = distances <= longest_within(bound)[..., None]
        else:
            within = distances < beyond(np.asarray(bound, self.search.dtype))[..., None]
        left_out = ~within & (distances < np.inf)
        if left_out.any():
            distances[left_out] = np.inf
            numbers[left_out] = self.tree.n


def _sort(distances, rows, queries) -> None:
    """Sort the neighbors of some queries by (distance, row), in place."""
    order = np.lexsort((rows[queries], distances[queries]), axis=-1)
    distances[queries] = np.take_along_axis(distances[queries], order, axis=1)
    rows[queries] = np.take_along_axis(rows[queries], order, axis=1)


# --- within a radius ------------------------------------------------------------------------------------


def ball(trees: SciPyTrees, x, radius, *, search: Search, return_sorted=None):
    """Return lists of the rows within each query's radius, as SciPy's `query_ball_point`."""
    if not search.eps and trees.tree_for(search.p).reach_of(radius).has_any_border:
        return _lists(csr(trees, x, radius, search=search, sort=False), return_sorted)
    return _ball(trees, x, radius, search, return_sorted=return_sorted)


def _lists(neighbors, in_order) -> np.ndarray:
    """Return the rows of each query's neighbors as a list."""
    indptr, rows, _ = neighbors
    all_rows = rows.tolist()
    lists = np.empty(len(indptr) - 1, object)
    lists[:] = [all_rows[start:stop] for start, stop in itertools.pairwise(indptr.tolist())]
    if in_order:
        for rows_of_query in lists:
            rows_of_query.sort()
    return lists


def _ball(trees: SciPyTrees, x, radius, search: Search, *, nearest: bool = False, **options):
    """Return what SciPy's `query_ball_point` finds within `farthest` of the radii's reach, or `nearest`."""
    order = spatial_order(x)
    if order is not None:
        x = x.take(order, axis=0)
        radius = radius.take(order)
    tree = trees.tree_for(search.p)
    queries = tree.queries(x)
    reach = queries.reach_of(radius, search.p)
    found = unhindered(
        tree.tree.query_ball_point,
        queries.x,
        reach.nearest if nearest else reach.farthest,
        p=search.p,
        eps=reach.eps(float(search.eps)),
        workers=thread_count(search.workers, len(x), 8),
        **options,
    )
    if order is None:
        return found
    in_order = np.empty_like(found)
    in_order[order] = found
    return in_order


def counts_within(trees: SciPyTrees, x, radius, *, search: Search):
    """Return how many points lie within the radius of each query."""
    if _counts_by_pairs_pay(trees, x, radius, search):
        counts = _counts_by_pairs(trees, x, radius[0], search)
    else:
        counts = _ball(trees, x, radius, search, return_length=True)
        if not search.eps:
            _settle_counts(trees, x, radius, search, counts)
    return (counts.astype(search.index_dtype),)


def _counts_by_pairs_pay(trees: SciPyTrees, x, radius, search: Search) -> bool:
    """Tell whether it takes less time to list all neighbors than SciPy takes to count them."""
    tree = trees.tree_for(search.p)
    query_count = len(x)
    if search.eps or query_count < _PAIRED or query_count * _SPARSE < tree.n:
        return False
    has_one_radius = (radius == radius[0]).all()
    if not (has_one_radius and isinstance(tree.queries(x).exponent, int)):
        return False
    some = slice(None, None, query_count // 32 + 1)
    return _ball(trees, x[some], radius[some], search, return_length=True).mean() <= _LISTED


def _counts_by_pairs(trees: SciPyTrees, x, radius, search: Search) -> np.ndarray:
    """Return how many points are within one radius of each query, by a list of their pairs."""
    tree = trees.tree_for(search.p)
    reach = tree.reach_of(radius)
    order = spatial_order(x, _PAIRED)
    if order is None:
        order = np.arange(len(x))
    counts = np.empty(len(x), np.int64)

    def count_part(part):
        queries = order[part]
        query_tree = ckdtree()(tree.queries(x[queries]).x, balanced_tree=False, compact_nodes=False)
        found = _entries(tree.tree, query_tree, reach, search)
        counts[queries] = np.bincount(found["j"], minlength=len(queries))

    threads = thread_count(search.workers, len(x) // 8, 8)
    in_threads(count_part, _parts(len(x), _LISTED, threads, _LISTED), threads)
    return counts


def _settle_counts(trees: SciPyTrees, x, radius, search: Search, counts) -> None:
    """Leave out of SciPy's counts, in place, the points at the border that are beyond the radius."""
    (queries,) = np.nonzero(trees.tree_for(search.p).reach_of(radius).borders)
    if len(queries):
        at_least = _ball(trees, x[queries], radius[queries], search, nearest=True, return_length=True)
        queries = queries[at_least < counts[queries]]  # which have points at the border: they are measured
    if len(queries):
        indptr, _, _ = csr(trees, x[queries], radius[queries], search=search, sort=False)
        counts[queries] = np.diff(indptr)


class _Found(NamedTuple):
    """All neighbors of some queries, grouped by query."""

    indptr: np.ndarray  # (q + 1,)
    numbers: np.ndarray  # of the tree's points
    distances: np.ndarray

    def sorted(self) -> "_Found":
        """Return each query's neighbors in order by distance, then row."""
        counts = np.diff(self.indptr)
        query_count = len(counts)
        width = int(counts.max(initial=0))
        if query_count * width > 4 * len(self.numbers):  # a few have far more than the others
            queries = np.repeat(np.arange(query_count), counts)
            order = np.lexsort((self.numbers, self.distances, queries))
            return self._replace(numbers=self.numbers[order], distances=self.distances[order])
        # A query to a row of a matrix, which is sorted in a small part of the time, most of all by one key.
        is_there = np.arange(width) < counts[:, None]
        distances = np.full(is_there.shape, np.inf)
        distances[is_there] = self.distances
        numbers = np.zeros(is_there.shape, self.numbers.dtype)
        numbers[is_there] = self.numbers
        order = np.argsort(distances, axis=1)
        distances = np.take_along_axis(distances, order, axis=1)
        numbers = np.take_along_axis(numbers, order, axis=1)
        is_tied = distances[:, 1:] == distances[:, :-1]
        is_tied &= is_there[:, 1:]
        _sort(distances, numbers, np.flatnonzero(is_tied.any(axis=1)))
        return self._replace(numbers=numbers[is_there], distances=distances[is_there])


def csr(trees: SciPyTrees, x, radius, *, search: Search, sort: bool):
    """Return indptr, rows and distances of all neighbors of ``x`` (q, m), grouped by query."""
    tree = trees.tree_for(search.p)
    query_count = len(x)
    order = spatial_order(x, _PAIRED)  # which brings together what a tree of queries holds
    if order is None:
        order = np.arange(query_count)
    one_radius = query_count * _SPARSE >= tree.n and query_count and (radius == radius[0]).all()
    counts = np.zeros(query_count, np.int64)
    found_by_part = {}

    def search_part(part):
        query_numbers = order[part]
        queries = tree.queries(x[query_numbers])
        reach = queries.reach_of(radius[query_numbers], search.p)
        if one_radius and isinstance(queries.exponent, int):
            found = _all_within_one_radius(tree, queries, reach.at(0), search)
        else:
            found = _all_within(tree, queries, reach, search)
        if sort:
            found = found.sorted()
        counts[query_numbers] = np.diff(found.indptr)
        found_by_part[part.start] = query_numbers, found

    threads = thread_count(search.workers, query_count // 8, 8)  # a piece costs eight threads' starts
    in_threads(search_part, _parts(query_count, _LISTED, threads, _LISTED), threads)
    indptr = np.append(0, np.cumsum(counts))
    rows = aligned_empty((int(indptr[-1]),), search.index_dtype)
    distances = aligned_empty((int(indptr[-1]),), search.dtype)
    for query_numbers, found in found_by_part.values():
        first = np.repeat(indptr[query_numbers] - found.indptr[:-1], np.diff(found.indptr))
        places = first + np.arange(found.indptr[-1])
        rows[places] = trees.rows(found.numbers)
        distances[places] = found.distances
    if indptr[-1] <= np.iinfo(search.index_dtype).max:
        indptr = indptr.astype(search.index_dtype)
    return indptr, rows, distances


def _all_within(tree: ScaledTree, queries: ScaledQueries, reach: Reach, search: Search) -> _Found:
    """Go through SciPy's lists."""
    lists: Any = tree.tree.query_ball_point(
        queries.x, reach.farthest, p=search.p, eps=reach.eps(), return_sorted=False
    )
    counts = np.fromiter(map(len, lists), np.int64, len(lists))
    numbers = np.fromiter(itertools.chain.from_iterable(lists), np.int64, int(counts.sum()))
    query_of_each = np.repeat(np.arange(len(queries.x)), counts)
    scaled_distances = _distances(tree, queries.x, query_of_each, numbers, search)
    if reach.has_any_border:
        is_within = scaled_distances <= reach.radius[query_of_each]
        if not is_within.all():
            query_of_each = query_of_each[is_within]
            numbers = numbers[is_within]
            scaled_distances = scaled_distances[is_within]
            counts = np.bincount(query_of_each, minlength=len(lists))
    distances = queries.distances(scaled_distances, query_of_each)
    return _Found(np.append(0, np.cumsum(counts)), numbers, distances)


def _all_within_one_radius(tree: ScaledTree, queries: ScaledQueries, reach: Reach, search: Search) -> _Found:
    """Do it without Python lists, which SciPy can for a single radius."""
    query_tree = ckdtree()(queries.x, balanced_tree=False, compact_nodes=False)
    found = _entries(tree.tree, query_tree, reach, search)
    by_query = grouped(found["j"], found["i"], found["v"], (len(queries.x), tree.n))
    return _Found(by_query.indptr.astype(np.int64), by_query.indices, queries.distances(by_query.data))


def _entries(
    tree: "scipy.spatial.cKDTree", other_tree: "scipy.spatial.cKDTree", reach: Reach, search: Search
) -> np.ndarray:
    """Return SciPy's `sparse_distance_matrix` of distances within a radius, in the units of the trees."""
    farthest = reach.farthest * (1 + SLACK)
    found = tree.sparse_distance_matrix(other_tree, farthest, p=search.p, output_type="ndarray")
    if found["v"].max(initial=0.0) > reach.radius:
        found = found[found["v"] <= reach.radius]
    return found


def grouped(groups, columns, values, shape):
    """Return values by group, within a group in the order they came: one counting sort."""
    entries = scipy.sparse.coo_array((values, (groups, columns)), shape=shape)
    entries.has_canonical_format = True  # nothing comes twice, so that it need not be sorted and summed up
    return entries.tocsr()


def _distances(tree: ScaledTree, x, queries, numbers, search: Search, threads: int = 1):
    """Return the distance of each of the `queries` to the point of that number, in the units of the tree."""
    distances = np.empty(len(numbers))
    points = tree.tree.data
    boxsize = tree.tree.boxsize

    def measure_part(part):
        ends = x.take(queries[part], axis=0), points.take(numbers[part], axis=0)
        distances[part] = distances_between(*ends, search.p, boxsize)

    parts = [slice(start, start + _MEASURED) for start in range(0, len(numbers), _MEASURED)]
    in_threads(measure_part, parts, threads)
    return distances


# --- pairs ----------------------------------------------------------------------------------------------


def pairs(trees: SciPyTrees, radius, search: Search, output_type: str):
    """Return SciPy's `query_pairs`."""
    tree = trees.tree_for(search.p)
    reach = tree.reach_of(radius)
    if search.eps or not reach.has_any_border:
        options = {"p": search.p, "eps": float(search.eps), "output_type": output_type}
        return tree.tree.query_pairs(reach.farthest, **options)  # type: ignore[call-overload]
    found, scaled_distances = _measured_pairs(tree, reach, search)
    is_within = scaled_distances <= reach.radius
    if output_type == "set" and is_within.all():  # which SciPy makes in less time than Python
        return tree.tree.query_pairs(reach.of_pairs, p=search.p)
    if not is_within.all():
        found = found[is_within]
    return found if output_type == "ndarray" else set(zip(*found.T.tolist(), strict=True))


def near_pairs(trees: SciPyTrees, radius, search: Search) -> np.ndarray:
    """Return pairs (e, 2) of points, with all that are within a radius: who measures them tells which."""
    tree = trees.tree_for(search.p)
    reach = tree.reach_of(radius)
    return tree.tree.query_pairs(reach.of_pairs, p=search.p, output_type="ndarray")


def _measured_pairs(tree: ScaledTree, reach: Reach, search: Search) -> tuple[np.ndarray, np.ndarray]:
    """Return pairs (e, 2) of points, with all that are within a radius, and scaled distances (e,)."""
    found = tree.tree.query_pairs(reach.of_pairs, p=search.p, output_type="ndarray")
    threads = thread_count(search.workers, len(found), 0)
    first, second = found.T
    return found, _distances(tree, tree.tree.data, first, second, search, threads)


def ball_tree(trees: SciPyTrees, other: SciPyTrees, radius, search: Search):
    """Return SciPy's `query_ball_tree`."""
    tree, others = trees.trees_with(other, search.p)
    reach = tree.reach_of(radius)
    if search.eps or not reach.has_any_border:
        eps = reach.eps(float(search.eps))
        return tree.tree.query_ball_tree(others.tree, reach.farthest, p=search.p, eps=eps)
    found = _entries(tree.tree, others.tree, reach, search)
    by_point = grouped(found["i"], found["j"], found["v"], (tree.n, others.n))
    by_point.sort_indices()
    return _lists((by_point.indptr, by_point.indices, None), False).tolist()


def edges(trees: SciPyTrees, radius, search: Search, relation: Relation):
    """Return receivers, senders and distances of all edges, by receiver."""
    tree = trees.tree_for(search.p)
    if relation is Relation.LATER:
        reach = tree.reach_of(radius)
        ends, scaled_distances = _measured_pairs(tree, reach, search)
        if reach.has_any_border:
            is_within = scaled_distances <= reach.radius
            ends = ends[is_within]
            scaled_distances = scaled_distances[is_within]
        receivers, senders = ends.T
        distances = tree.distances(scaled_distances)
    else:
        entries = distance_entries(trees, trees, radius, search)
        receivers = entries["i"]
        senders = entries["j"]
        distances = entries["v"]
    by_receiver = grouped(receivers, senders, distances, (tree.n, tree.n))
    receivers = np.repeat(np.arange(tree.n), np.diff(by_receiver.indptr))
    senders = by_receiver.indices
    distances = by_receiver.data
    if relation is Relation.OTHER:
        different = receivers != senders
        receivers = receivers[different]
        senders = senders[different]
        distances = distances[different]
    dtype = search.index_dtype
    return trees.rows(receivers, dtype), trees.rows(senders, dtype), distances.astype(search.dtype)


def fixed_edges(trees: SciPyTrees, radius, *, relation: Relation, size: int, search: Search):
    """Return receivers, senders, distances (size,) and the true number of edges."""
    found = edges(trees, radius, search, relation)
    count = min(len(found[0]), np.iinfo(search.index_dtype).max)
    results = []
    for values, fill in zip(found, (trees.n, trees.n, np.inf), strict=True):
        kept = np.full(size, fill, values.dtype)
        kept[: len(values)] = values[:size]
        results.append(kept)
    return *results, search.index_dtype.type(count)


def distance_entries(trees: SciPyTrees, other: SciPyTrees, radius, search: Search):
    """Return SciPy's `sparse_distance_matrix` as a record array with fields i, j, v."""
    tree, others = trees.trees_with(other, search.p)
    found = _entries(tree.tree, others.tree, tree.reach_of(radius), search)
    if tree.exponent:
        found["v"] = tree.distances(found["v"])
    return found


def two_point(trees: SciPyTrees, other: SciPyTrees, radii, *weights, search: Search, sums):
    """Return SciPy's `count_neighbors` for radii (R,), zero for those that reach nothing.

    With weights of the rows of both the sums of their products; `sums` is the dtype.
    """
    counts = np.zeros(len(radii), sums)
    reaching = radii >= 0
    tree, other_tree = trees.trees_with(other, search.p)
    if not (reaching.any() and tree.n and other_tree.n):
        return (counts,)
    # Copies, as SciPy takes no arrays that cannot be written to.
    copies = [
        np.array(each.of_tree(values), np.float64)
        for each, values in zip((trees, other), weights, strict=False)
    ]
    reach = tree.reach_of(radii[reaching])
    (with_border,) = np.nonzero(reach.borders)
    if copies:
        weights = tuple(copies)
        totals: Any = tree.tree.count_neighbors(other_tree.tree, reach.nearest, p=search.p, weights=weights)
    if not copies or len(with_border):
        limits = np.concatenate([reach.nearest, reach.farthest[with_border]])
        pair_counts = counts_of_pairs(tree.tree, other_tree.tree, limits, search.p)
        at_least, at_most = np.split(pair_counts, [len(reach.nearest)])
        if not copies:
            totals = at_least.copy()
        for number, most in zip(with_border, at_most, strict=True):
            if at_least[number] < most:  # some pairs are at the border
                totals[number] = _sum_of_pairs(tree, other_tree, reach.at(number), copies, search)
    counts[reaching] = totals
    return (counts,)


def _sum_of_pairs(tree: ScaledTree, other_tree: ScaledTree, reach: Reach, weights, search: Search):
    """Return the number of pairs within a radius, or the sum of their products of weights, by their list."""
    total = 0
    pair_count = tree.tree.count_neighbors(other_tree.tree, reach.farthest, p=search.p)
    pieces = max(1, min(int(pair_count) // _PIECE, tree.n))
    for part in np.array_split(tree.tree.indices, pieces):  # which are near each other
        part_tree = ckdtree()(tree.tree.data[part], boxsize=tree.tree.boxsize)
        found = _entries(part_tree, other_tree.tree, reach, search)
        if weights:
            total += (weights[0][part[found["i"]]] * weights[1][found["j"]]).sum()
        else:
            total += len(found)
    return total
