"""Searches by SciPy's cKDTree: NumPy arrays in, NumPy arrays and Python lists out, with our rules.

SciPy leaves it open which of several equally distant points it returns. Here equal distances go to the lowest
row, also at the last place: one neighbour more is searched for, and where that one is as far as the last,
more and more are, until a farther one turns up. Queries with such a tie cost two to three times as much, and
the number of equally distant points decides the rest; all of it runs in pieces of bounded memory.

A negative radius reaches nothing (SciPy takes its absolute value for p=2), and neither does a radius that is
not a number. Queries and other trees are brought into the periodic box of the tree that is searched; SciPy
measures outside of it without period.

The first five functions are those of `_device._searches`, of the same names, with the same results.
"""

import itertools
import math
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from scipy.sparse import coo_array
from scipy.spatial import cKDTree

from .._device._searches import chosen
from .._settings import SearchSettings
from ._clouds import Cloud
from ._order import spatial_order

__all__ = [
    "ball",
    "ball_tree",
    "counts_within",
    "csr",
    "distance_entries",
    "edges",
    "fixed_edges",
    "nearest_columns",
    "nearest_within",
    "pairs",
    "two_point",
]

_PIECE = 1 << 22  # distances held at once; 64 MB with their rows
_EACH = 1 << 14  # queries at a time: fewer cost calls, more fall out of a thread's cache
_SHARED = 1 << 16  # results up to which SciPy's threads share a piece: more are worked on in each thread
_LISTED = 64  # neighbours of a query, as a guess of what a piece holds
_SPARSE = 10  # points for a query up to which a tree of the queries pays


def nearest_columns(cloud: Cloud, x, bound, eps, *, k: int, columns, wanted: str, settings: SearchSettings):
    """Return what is `wanted` of the `k` nearest points of every query, nearer than `bound`, () or (q,)."""
    distances, rows = _nearest(cloud, x, bound, float(eps), k, settings)
    return chosen(distances, rows, cloud.n, columns, wanted, len(rows), np)


def _nearest(cloud: Cloud, x, bound, eps: float, k: int, settings: SearchSettings, inclusive: bool = False):
    """Return distances and rows (q, k) by (distance, row); beyond the bound distance inf and row n.

    With `inclusive` a point as far as the bound counts.
    """
    n, (q, _), many = cloud.tree.n, x.shape, getattr(bound, "ndim", 0)
    most = float(np.nanmax(bound, initial=0) if many else max(bound, 0.0)) * cloud.scale
    if inclusive:  # a little more, whose square is a number
        most = max(most * (1 + 1e-6), 1e-100)

    def find(x, bound, threads):
        def search(x, k):
            workers = min(threads, _paying(len(x), k))
            return cloud.tree.query(x, k, eps, settings.p, most, workers)

        near, found = _with_lowest_rows(search, cloud.queries(x), min(k, max(n, 1)), n, most < np.inf)
        if cloud.scale != 1:
            near /= cloud.scale
        if many:
            beyond = ~(near <= bound[:, None] if inclusive else near < bound[:, None]) & (near < np.inf)
            if beyond.any():
                near[beyond], found[beyond] = np.inf, n
        return near, cloud.rows(found)

    threads = _threads(settings.workers, q, k + 1)
    parts = _parts(q, k + 1, threads, _SHARED)
    if len(parts) <= 1 and k <= n:
        near, found = find(x, bound, threads)
        return near.astype(settings.dtype), found.astype(settings.index_dtype)
    order = spatial_order(x)
    distances, rows = _empty((q, k), settings.dtype), _empty((q, k), settings.index_dtype)
    distances[:, n:], rows[:, n:] = np.inf, cloud.n

    def piece(part):
        which = part if order is None else order[part]
        near, found = find(x[which], bound[which] if many else bound, -(-threads // len(parts)))
        if k > n:
            distances[which, :n], rows[which, :n] = near, found
        else:
            distances[which], rows[which] = near, found

    _in_threads(piece, parts, threads)
    return distances, rows


def _empty(shape, dtype) -> np.ndarray:
    """Return an array whose memory JAX takes over on the CPU: it begins at a multiple of 64 bytes."""
    size = math.prod(shape) * dtype.itemsize
    room = np.empty(size + 64, np.uint8)
    start = -room.ctypes.data % 64
    return room[start : start + size].view(dtype).reshape(shape)


def _parts(q: int, width: int, threads: int, fewest: int) -> list[slice]:
    """Return pieces of `q` queries with `width` results each, `fewest` or more of these for a thread."""
    count = -(-q // max(1, min(_EACH, _PIECE // width)))
    count = max(count, min(threads, q * width // fewest), 1)
    count += -count % threads if count > threads else 0  # so that all threads end at the same time
    size = max(1, -(-q // count))
    return [slice(start, start + size) for start in range(0, q, size)]


def _in_threads(piece, parts: list[slice], threads: int) -> None:
    """Run ``piece(slice)`` for all parts."""
    if threads <= 1 or len(parts) <= 1:
        for part in parts:
            piece(part)
        return
    with ThreadPoolExecutor(min(threads, len(parts))) as pool:
        list(pool.map(piece, parts))


def _threads(workers: int | None, queries: int, width: int) -> int:
    """Return how many threads are to search; None: as many as pay, -1: all cores."""
    if workers is not None and workers > 0:
        return workers
    if workers is None:
        paying = _paying(queries, width)
        if paying == 1:
            return 1
        if hasattr(os, "sched_getaffinity"):
            return min(len(os.sched_getaffinity(0)), paying)
        return min(os.cpu_count() or 1, paying)
    cores = os.cpu_count()
    if cores is None:
        raise NotImplementedError("Cannot determine the number of cores: pass workers as a number")
    return cores


def _paying(queries: int, width: int) -> int:
    """Return with how many threads a search for `width` neighbours takes the least time.

    The start of a thread takes as long as the search for some 350 neighbours, a query as that for 5 more: the
    sum is least where starting takes as long as searching.
    """
    return max(1, math.isqrt(queries * (width + 5) // 350))


def _with_lowest_rows(search, x, k: int, n: int, bounded: bool):
    """Search for as many queries as memory allows at once."""
    if n <= 1:
        distances, rows = search(x, 1)
        return distances[:, None], rows[:, None]
    distances, rows = search(x, min(k + 1, n))
    if rows.ndim == 1:
        distances, rows = distances[:, None], rows[:, None]
    same = distances[:, 1:] == distances[:, :-1]
    if bounded:
        same &= distances[:, 1:] < np.inf
    if same.any():
        _order_ties(search, x, distances, rows, same, k, n)
    return distances[:, :k], rows[:, :k]


def _order_ties(search, x, distances, rows, same, k: int, n: int) -> None:
    """Bring the first `k` columns into order by (distance, row), in place."""
    _sort(distances, rows, np.flatnonzero(same[:, : k - 1].any(axis=1)))
    if distances.shape[1] > k:
        _settle_last_place(search, x, distances, rows, np.flatnonzero(same[:, k - 1]), k, n)


def _sort(distances, rows, which) -> None:
    """Sort the lines `which` by (distance, row), in place."""
    order = np.lexsort((rows[which], distances[which]), axis=-1)
    distances[which] = np.take_along_axis(distances[which], order, axis=1)
    rows[which] = np.take_along_axis(rows[which], order, axis=1)


def _settle_last_place(search, x, distances, rows, open_lines, k: int, n: int) -> None:
    """Ask for more neighbours until one is farther than the k-th; keep the lowest rows."""
    wanted = k + 1
    while open_lines.size:
        wanted = min(2 * wanted, n)
        still_open = []
        piece = max(1, _PIECE // wanted)
        for start in range(0, open_lines.size, piece):
            lines = open_lines[start : start + piece]
            near, near_rows = search(x[lines], wanted)
            settled = (near[:, -1] > near[:, k - 1]) | (wanted == n)
            still_open.append(lines[~settled])
            near, near_rows, lines = near[settled], near_rows[settled], lines[settled]
            _sort(near, near_rows, slice(None))
            distances[lines, :k] = near[:, :k]
            rows[lines, :k] = near_rows[:, :k]
        open_lines = np.concatenate(still_open)


# --- within a radius -----------------------------------------------------------------------------------


def ball(cloud: Cloud, x, radius, *, settings: SearchSettings, return_sorted=None, return_length=False):
    """Return SciPy's `query_ball_point` for all queries (q, m): lists of rows, or their numbers."""
    order = spatial_order(x)
    if order is not None:
        x, radius = x.take(order, axis=0), radius.take(order)
    found = cloud.tree.query_ball_point(
        cloud.queries(x),
        _without_accidents(radius * cloud.scale),
        p=settings.p,
        eps=float(settings.eps),
        workers=_threads(settings.workers, len(x), 8),
        return_sorted=return_sorted,
        return_length=return_length,
    )
    if order is None:
        return found
    in_order = np.empty_like(found)
    in_order[order] = found
    return in_order


def counts_within(cloud: Cloud, x, radius, *, settings: SearchSettings):
    """Return how many points lie within the radius of each query."""
    return (ball(cloud, x, radius, settings=settings, return_length=True).astype(settings.index_dtype),)


def nearest_within(cloud: Cloud, x, radius, *, limit: int, settings: SearchSettings):
    """Return rows and distances (q, limit) of the nearest within `radius`, and the true counts (q,)."""
    distances, rows = _nearest(cloud, x, radius, 0.0, limit, settings, inclusive=True)
    counts = (rows < cloud.n) @ np.ones(limit, settings.index_dtype)
    (full,) = np.nonzero(counts == limit)
    (counts[full],) = counts_within(cloud, x[full], radius[full], settings=settings)
    return rows, distances, counts


def csr(cloud: Cloud, x, radius, *, settings: SearchSettings, sort: bool):
    """Return indptr, rows and distances of all neighbours of ``x`` (q, m), grouped by query."""
    q, order = len(x), spatial_order(x, 1024)  # which brings together what a tree of queries holds
    order = np.arange(q) if order is None else order
    alike = q * _SPARSE >= cloud.tree.n and q and (radius == radius[0]).all()
    find = _csr_of_one_radius if alike else _csr_of_lists
    counts, found = np.zeros(q, np.int64), {}

    def piece(part):
        which = order[part]
        ends, rows, distances = find(cloud, x[which], radius[which], settings)
        if sort:
            rows, distances = _sorted(ends, rows, distances)
        counts[which], found[part.start] = np.diff(ends), (which, ends, rows, distances)

    threads = _threads(settings.workers, q // 8, 8)  # a piece costs as much as the start of eight threads
    _in_threads(piece, _parts(q, _LISTED, threads, _LISTED), threads)
    ends = np.append(0, np.cumsum(counts))
    rows, distances = _empty(ends[-1:], settings.index_dtype), _empty(ends[-1:], settings.dtype)
    for which, own, their_rows, their_distances in found.values():
        places = np.repeat(ends[which] - own[:-1], np.diff(own)) + np.arange(own[-1])
        rows[places], distances[places] = cloud.rows(their_rows), their_distances / cloud.scale
    wide = ends[-1] > np.iinfo(settings.index_dtype).max
    return ends if wide else ends.astype(settings.index_dtype), rows, distances


def _sorted(ends, rows, distances):
    """Sort each query's neighbours by distance, then row."""
    counts = np.diff(ends)
    queries = np.repeat(np.arange(len(counts)), counts)
    order = np.lexsort((rows, distances, queries))
    return rows[order], distances[order]


def _grouped(groups, columns, values, shape):
    """Return values by group, within a group in the order they came: one counting sort."""
    entries = coo_array((values, (groups, columns)), shape=shape)
    entries.has_canonical_format = True  # nothing comes twice, so that it need not be sorted and summed up
    return entries.tocsr()


def _csr_of_lists(cloud: Cloud, x, radius, settings: SearchSettings):
    """Go through SciPy's lists."""
    x = cloud.queries(x)
    radius = _without_accidents(radius * cloud.scale)
    lists = cloud.tree.query_ball_point(x, radius, p=settings.p, return_sorted=False)
    counts = np.fromiter(map(len, lists), np.int64, len(lists))
    rows = np.fromiter(itertools.chain.from_iterable(lists), np.int64, int(counts.sum()))
    queries = np.repeat(np.arange(len(x)), counts)
    return np.append(0, np.cumsum(counts)), rows, _distances(cloud, x, queries, rows, settings.p)


def _csr_of_one_radius(cloud: Cloud, x, radius, settings: SearchSettings):
    """Do it without Python lists, which SciPy can for a single radius."""
    radius = _without_accidents(radius[0] * cloud.scale)
    queries = cKDTree(cloud.queries(x), balanced_tree=False, compact_nodes=False)
    found = cloud.tree.sparse_distance_matrix(queries, radius, p=settings.p, output_type="ndarray")
    by_query = _grouped(found["j"], found["i"], found["v"], (len(x), cloud.tree.n))
    return by_query.indptr.astype(np.int64), by_query.indices, by_query.data


def _distances(cloud: Cloud, x, queries, rows, p: float, threads: int = 1):
    """Return the distance of each query, in the units of the tree, to each of its rows."""
    distances, points, box = np.empty(len(rows)), cloud.tree.data, cloud.tree.boxsize

    def piece(part):
        along = x.take(queries[part], axis=0)
        along -= points.take(rows[part], axis=0)
        if box is not None:
            along = np.abs(along)
            along = np.where(box > 0, np.minimum(along, np.abs(box - along)), along)
        if p == 2:
            distances[part] = np.sqrt(np.einsum("ij,ij->i", along, along))
        else:
            distances[part] = np.linalg.norm(along, ord=p, axis=1)

    _in_threads(piece, [slice(i, i + (1 << 16)) for i in range(0, len(rows), 1 << 16)], threads)
    return distances


# --- pairs ---------------------------------------------------------------------------------------------


def pairs(cloud: Cloud, radius, settings: SearchSettings, output_type: str):
    """Return SciPy's `query_pairs`."""
    radius = _without_accidents(radius * cloud.scale)
    return cloud.tree.query_pairs(radius, p=settings.p, eps=float(settings.eps), output_type=output_type)  # type: ignore[call-overload]


def ball_tree(cloud: Cloud, other: Cloud, radius, settings: SearchSettings):
    """Return SciPy's `query_ball_tree`."""
    radius, other = _without_accidents(radius * cloud.scale), other.scaled(cloud.scale)
    return cloud.tree.query_ball_tree(other.tree, radius, p=settings.p, eps=float(settings.eps))


def edges(cloud: Cloud, radius, settings: SearchSettings, relation: str):
    """Return receivers, senders and distances of all edges, by receiver; `relation` as in `Queries`."""
    tree = cloud.tree
    if relation == "later":
        one, two = pairs(cloud, radius, settings._replace(eps=0.0), "ndarray").T
        threads = _threads(settings.workers, len(one), 0)
        distances = _distances(cloud, tree.data, one, two, settings.p, threads)
        found = {"i": one, "j": two, "v": distances / cloud.scale}
    else:
        found = distance_entries(cloud, cloud, radius, settings)
    by_receiver = _grouped(found["i"], found["j"], found["v"], (tree.n, tree.n))
    receivers, senders = np.repeat(np.arange(tree.n), np.diff(by_receiver.indptr)), by_receiver.indices
    kept = receivers != senders if relation == "other" else slice(None)
    receivers, senders, distances = receivers[kept], senders[kept], by_receiver.data[kept]
    dtype = settings.index_dtype
    return cloud.rows(receivers, dtype), cloud.rows(senders, dtype), distances.astype(settings.dtype)


def fixed_edges(cloud: Cloud, radius, *, relation: str, size: int, settings: SearchSettings):
    """Return receivers, senders, distances (size,) and the true number of edges."""
    found = edges(cloud, radius, settings, relation)
    count = min(len(found[0]), np.iinfo(settings.index_dtype).max)
    kept = [
        np.full(size, fill, each.dtype) for each, fill in zip(found, (cloud.n, cloud.n, np.inf), strict=True)
    ]
    for line, each in zip(kept, found, strict=True):
        line[: len(each)] = each[:size]
    return *kept, settings.index_dtype.type(count)


def distance_entries(cloud: Cloud, other: Cloud, radius, settings: SearchSettings):
    """Return SciPy's `sparse_distance_matrix` as a record array with fields i, j, v."""
    radius, other = _without_accidents(radius * cloud.scale), other.scaled(cloud.scale)
    found = cloud.tree.sparse_distance_matrix(other.tree, radius, p=settings.p, output_type="ndarray")
    if cloud.scale != 1:
        found["v"] /= cloud.scale
    return found


def two_point(cloud: Cloud, other: Cloud, radii, own=None, others=None, *, settings: SearchSettings, sums):
    """Return SciPy's `count_neighbors` for radii (R,), zero for those that reach nothing."""
    there = radii >= 0
    counts = np.zeros(len(radii), sums)
    other = other.scaled(cloud.scale)
    if there.any() and cloud.tree.n and other.tree.n:
        weights = None
        if own is not None:  # copies, as SciPy takes no arrays that cannot be written to
            weights = tuple(np.array(c.of_tree(w), np.float64) for c, w in ((cloud, own), (other, others)))
        radii = radii[there].astype(np.float64) * cloud.scale
        counts[there] = cloud.tree.count_neighbors(other.tree, radii, p=settings.p, weights=weights)
    return (counts,)


def _without_accidents(radius):
    """Turn radii that reach nothing into nan, with which SciPy finds nothing for every p."""
    return np.where(np.asarray(radius) >= 0, radius, np.nan)[()]
