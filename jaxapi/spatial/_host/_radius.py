"""Radius searches by SciPy's cKDTree: NumPy arrays in, NumPy arrays and Python lists out.

SciPy's rules are kept but for two accidents: a negative radius reaches nothing (SciPy takes its absolute
value for p=2), and neither does a radius that is not a number. Queries and other trees are brought into the
periodic box of the tree that is searched; SciPy measures outside of it without period.
"""

import itertools

import numpy as np
from scipy.sparse import coo_array
from scipy.spatial import cKDTree

from .._structure._metric import into_box
from ._order import spatial_order

__all__ = [
    "ball",
    "ball_tree",
    "count_pairs",
    "csr",
    "distance_entries",
    "edges",
    "first_of_each",
    "pairs",
]

_PIECE = 1 << 14  # queries whose neighbours are Python lists at one time
_SPARSE = 10  # points for a query up to which a tree of the queries pays


def ball(tree: cKDTree, x, radius, *, p, eps, workers, return_sorted, return_length):
    """Return SciPy's `query_ball_point` for all queries (q, m): lists of rows, or their lengths."""
    order = spatial_order(x)
    if order is not None:
        x, radius = x.take(order, axis=0), radius.take(order)
    found = tree.query_ball_point(
        x,
        _without_accidents(radius),
        p=p,
        eps=eps,
        workers=workers,
        return_sorted=return_sorted,
        return_length=return_length,
    )
    if order is None:
        return found
    in_order = np.empty_like(found)
    in_order[order] = found
    return in_order


def csr(tree: cKDTree, x, radius, *, p, dtype, index_dtype, lengths, sort):
    """Return indptr, rows and distances of all neighbours of ``x`` (q, m), grouped by query."""
    if len(x) * _SPARSE >= tree.n and len(x) and (radius == radius[0]).all():
        found = _csr_of_one_radius(tree, x, radius[0], p, dtype, index_dtype, lengths)
    else:
        found = _csr_of_lists(tree, x, radius, p, dtype, index_dtype, lengths)
    return _sorted(*found) if sort else found


def _sorted(indptr, rows, distances):
    """Sort each query's neighbours by distance, then row."""
    counts = np.diff(indptr)
    queries = np.repeat(np.arange(len(counts)), counts)
    order = np.argsort(distances)
    order = _grouped(queries[order], order, order, (len(counts), len(order))).data
    rows, distances = rows[order], distances[order]
    ties = (distances[1:] == distances[:-1]) & (queries[1:] == queries[:-1])
    if ties.any():
        tied = np.zeros(len(counts), bool)
        tied[queries[1:][ties]] = True
        which = np.flatnonzero(tied[queries])
        rows[which] = rows[which[np.lexsort((rows[which], distances[which], queries[which]))]]
    return indptr, rows, distances


def _grouped(groups, columns, values, shape):
    """Return values by group, within a group in the order they came: one counting sort."""
    entries = coo_array((values, (groups, columns)), shape=shape)
    entries.has_canonical_format = True  # nothing comes twice, so that it need not be sorted and summed up
    return entries.tocsr()


def _csr_of_lists(tree, x, radius, p, dtype, index_dtype, lengths):
    """Go through SciPy's lists, a piece at a time."""
    counts, rows = [np.zeros(1, np.int64)], [np.zeros(0, index_dtype)]
    for start in range(0, len(x), _PIECE):
        part = slice(start, start + _PIECE)
        lists = ball(
            tree, x[part], radius[part], p=p, eps=0, workers=1, return_sorted=False, return_length=False
        )
        counts.append(np.fromiter(map(len, lists), np.int64, len(lists)))
        flat = itertools.chain.from_iterable(lists)
        rows.append(np.fromiter(flat, index_dtype, int(counts[-1].sum())))
    counts, rows = np.concatenate(counts), np.concatenate(rows)
    queries = np.repeat(np.arange(len(x)), counts[1:])
    distances = _distances(tree.data, x, queries, rows, p, lengths, dtype)
    return _offsets(np.cumsum(counts), index_dtype), rows, distances


def _csr_of_one_radius(tree, x, radius, p, dtype, index_dtype, lengths):
    """Do it without Python lists, which SciPy can for a single radius."""
    if not radius >= 0 or not len(x):
        return np.zeros(len(x) + 1, index_dtype), np.zeros(0, index_dtype), np.zeros(0, dtype)
    queries = cKDTree(_inside(x, lengths), balanced_tree=False, compact_nodes=False)
    found = tree.sparse_distance_matrix(queries, radius, p=p, output_type="ndarray")
    by_query = _grouped(found["j"], found["i"], found["v"], (len(x), tree.n))
    return (
        _offsets(by_query.indptr, index_dtype),
        by_query.indices.astype(index_dtype, copy=False),
        by_query.data.astype(dtype, copy=False),
    )


def first_of_each(indptr, rows, distances, *, limit, n):
    """Return rows and distances (q, limit) of the first neighbours of each query, and the counts (q,)."""
    counts = np.diff(indptr)
    there = np.arange(limit) < counts[:, None]
    if len(counts) and counts.max() > limit:
        kept = np.arange(len(rows)) - np.repeat(indptr[:-1], counts) < limit
        rows, distances = rows[kept], distances[kept]
    first_rows = np.full(there.shape, n, rows.dtype)
    first_distances = np.full(there.shape, np.inf, distances.dtype)
    first_rows[there], first_distances[there] = rows, distances
    return first_rows, first_distances, counts.astype(rows.dtype)


def _offsets(indptr, index_dtype):
    """Return offsets in the dtype of the rows, or wider where they need it."""
    return indptr.astype(index_dtype if indptr[-1] <= np.iinfo(index_dtype).max else np.int64, copy=False)


def _distances(points, x, queries, rows, p, lengths, dtype):
    """Return the distance of each query to each of its rows."""
    distances = np.empty(len(rows), dtype)
    x = _inside(x, lengths)
    piece = 1 << 16
    for start in range(0, len(rows), piece):
        part = slice(start, start + piece)
        along = np.abs(x.take(queries[part], axis=0) - points.take(rows[part], axis=0))
        if lengths is not None:
            length = np.asarray(lengths)
            along = np.where(length > 0, np.minimum(along, np.abs(length - along)), along)
        if p == 2:
            distances[part] = np.sqrt(np.einsum("ij,ij->i", along, along))
        else:
            distances[part] = np.linalg.norm(along, ord=p, axis=1)
    return distances


def pairs(tree: cKDTree, radius, *, p, eps, output_type):
    """Return SciPy's `query_pairs`."""
    return tree.query_pairs(_without_accidents(radius), p=p, eps=eps, output_type=output_type)


def ball_tree(tree: cKDTree, other: cKDTree, radius, *, p, eps):
    """Return SciPy's `query_ball_tree`."""
    return tree.query_ball_tree(other, _without_accidents(radius), p=p, eps=eps)


def edges(tree: cKDTree, radius, *, p, relation, lengths):
    """Return receivers, senders and distances of all edges, by receiver; `relation` as in `Queries`."""
    if relation == "later":
        found = pairs(tree, radius, p=p, eps=0, output_type="ndarray")
        receivers, senders = found[np.argsort(found[:, 0], kind="stable")].T
        return (
            receivers,
            senders,
            _distances(tree.data, tree.data, receivers, senders, p, lengths, np.float64),
        )
    found = distance_entries(tree, tree, radius, p=p)
    by_receiver = _grouped(found["i"], found["j"], found["v"], (tree.n, tree.n))
    receivers = np.repeat(np.arange(tree.n), np.diff(by_receiver.indptr))
    kept = slice(None) if relation == "any" else receivers != by_receiver.indices
    return receivers[kept], by_receiver.indices[kept], by_receiver.data[kept]


def distance_entries(tree: cKDTree, other: cKDTree, radius, *, p):
    """Return SciPy's `sparse_distance_matrix` as a record array with fields i, j, v."""
    return tree.sparse_distance_matrix(other, _without_accidents(radius), p=p, output_type="ndarray")


def count_pairs(tree: cKDTree, other: cKDTree, radii, *, p, weights, cumulative):
    """Return SciPy's `count_neighbors` for radii (R,), zero for those that reach nothing."""
    there = radii >= 0
    counts = np.zeros(len(radii), np.int64 if weights is None else np.float64)
    if there.any() and tree.n and other.n:
        counts[there] = tree.count_neighbors(other, radii[there], p=p, weights=weights, cumulative=cumulative)
    return counts


def _without_accidents(radius):
    """Turn radii that reach nothing into nan, with which SciPy finds nothing for every p."""
    return np.where(np.asarray(radius) >= 0, radius, np.nan)[()]


def _inside(x, lengths):
    """Return points as float64, in the periodic box if there is one."""
    x = np.asarray(x, dtype=np.float64)
    return x if lengths is None else into_box(x, np.asarray(lengths))
