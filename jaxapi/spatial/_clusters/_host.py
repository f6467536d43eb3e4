"""Components and clusters within a radius, by SciPy's trees: finite float64 points in, NumPy arrays out."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

__all__ = ["Cloud", "Places", "components", "dbscan", "joined"]

MANY = 32  # pairs a point: of more, no list is made
MOST = 1 << 26  # pairs in all: a gigabyte
LISTED = 8  # neighbours that join dense points before others are looked for
ROUNDING = 1e-12
PIECE = 1 << 22  # pairs held at once


class Cloud(NamedTuple):
    """Points (n, m), the norm, and the periodic lengths or None."""

    points: np.ndarray
    p: float
    lengths: np.ndarray | None

    def tree(self, rows=slice(None)) -> cKDTree:
        """Return SciPy's tree of some of the points."""
        return cKDTree(self.points[rows], balanced_tree=False, boxsize=self.lengths)

    def of(self, rows) -> "Cloud":
        """Return some of the points."""
        return self._replace(points=self.points[rows])


def joined(n: int, one, two):
    """Return how many components n rows have with these edges, and their labels by lowest row."""
    graph = coo_array((np.ones(len(one)), (one, two)), shape=(n, n))
    graph.has_canonical_format = True  # twice the same edge need not be found and summed up
    return connected_components(graph.tocsr(), directed=False)


class Places(NamedTuple):
    """Points by where they are: SciPy's trees do not part copies, and would compare each with each."""

    order: np.ndarray  # (n,) rows, those of a place after each other, the lowest first
    starts: np.ndarray  # (places,)
    sizes: np.ndarray  # (places,)

    @classmethod
    def of(cls, points) -> "Places":
        """Return the places of points (n, m)."""
        n, m = points.shape
        keys = np.sort((points * np.sqrt(np.arange(2, m + 2))).sum(axis=1))  # equal ones of copies
        if not (keys[1:] == keys[:-1]).any():
            return cls(np.arange(n), np.arange(n), np.ones(n, np.intp))
        order = np.lexsort(points.T)
        first = np.ones(n, bool)
        first[1:] = (points[order[1:]] != points[order[:-1]]).any(axis=1)
        starts = np.flatnonzero(first)
        return cls(order, starts, np.diff(starts, append=n))

    def rows(self, most: int):
        """Return the first rows of each place, so many at most."""
        number = np.arange(len(self.order)) - np.repeat(self.starts, self.sizes)
        return np.sort(self.order[number < most])

    def spread(self, rows, values):
        """Return the values of some rows, the first of each place among them, for all rows."""
        found = np.empty(len(self.order), values.dtype)
        found[rows] = values
        found[self.order] = np.repeat(found[self.order[self.starts]], self.sizes)
        return found


def components(cloud: Cloud, r: float):
    """Return how many components of points within `r` there are, and labels by lowest row."""
    tree = cloud.tree()
    if not r >= 0 or _few(tree, cloud, r):
        pairs = tree.query_pairs(r if r >= 0 else np.nan, p=cloud.p, output_type="ndarray")
        return joined(tree.n, *pairs.T)
    places = Places.of(cloud.points)
    rows = places.rows(1)
    if len(rows) < tree.n or r == 0:
        count, labels = components(cloud.of(rows), r) if r else (len(rows), np.arange(len(rows)))
        return count, places.spread(rows, labels)
    # The nearest of each point join most of a dense cloud. Who has fewer has no others; of the rest whole
    # components are compared, until none has a neighbour in another one.
    rows = tree.indices  # neighbours find the same nodes in the caches
    found, near = tree.query(
        cloud.points[rows],
        range(1, LISTED + 1),
        p=cloud.p,
        distance_upper_bound=r * (1 + ROUNDING),
        workers=-1,
    )
    sure = found < r * (1 - ROUNDING)
    labels = joined(tree.n, np.broadcast_to(rows[:, None], near.shape)[sure], near[sure])[1]
    labels = _merged(labels, rows[sure[:, -1]], lambda *sides: _nearest(cloud, r, *sides))
    # What is nearer than r has been joined: left are the few pairs at a distance of r.
    close = rows[(~sure & (near < tree.n)).any(axis=1) | sure[:, -1]]
    labels = _merged(labels, close, lambda *sides: _within(cloud, r, *sides))
    return labels.max() + 1, labels


def _few(tree: cKDTree, cloud: Cloud, r: float) -> bool:
    """Whether a list of the pairs within r pays: counted, unless some points have far too many."""
    if tree.n <= MANY:
        return True
    sample = cloud.tree(slice(None, None, tree.n // 256 + 1))
    for some, most in ((sample, 4 * MANY * sample.n), (tree, 2 * min(MANY * tree.n, MOST))):
        if tree.count_neighbors(some, r, p=cloud.p) > most:
            return False
    return True


def _merged(labels, rows, edges_between):
    """Join components until there are no edges between the `rows` of two.

    Two components differ in a bit of their labels, and so are on different sides of one of these splits.
    """
    while True:
        names, own = np.unique(labels[rows], return_inverse=True)
        edges = []
        for bit in range((len(names) - 1).bit_length()):
            side = own >> bit & 1 == 1
            edges.append(edges_between(*sorted((rows[side], rows[~side]), key=len)))
        one, two = np.concatenate(edges, axis=1) if edges else ((), ())
        if not len(one):
            return labels
        labels = joined(labels.max() + 1, labels[one], labels[two])[1][labels]


def _nearest(cloud: Cloud, r: float, few, many):
    """Return edges from a few rows to the nearest of many, nearer than r."""
    _, near = cloud.tree(many).query(cloud.points[few], p=cloud.p, distance_upper_bound=r, workers=-1)
    there = near < len(many)
    return few[there], many[near[there]]


def _within(cloud: Cloud, r: float, few, many):
    """Return all edges from a few rows to many, up to r."""
    found = cloud.tree(few).sparse_distance_matrix(cloud.tree(many), r, p=cloud.p, output_type="ndarray")
    return few[found["i"]], many[found["j"]]


def dbscan(cloud: Cloud, eps: float, min_samples: int, weights=None):
    """Return which points are cores, and the labels (n,), -1 for noise."""
    n, tree = len(cloud.points), cloud.tree()
    if _few(tree, cloud, eps):
        one, two = tree.query_pairs(eps, p=cloud.p, output_type="ndarray").T
        own = np.ones(n) if weights is None else weights
        core = own + sum(np.bincount(a, own[b], n) for a, b in ((one, two), (two, one))) >= min_samples
        both = core[one] & core[two]
        label = joined(n, one[both], two[both])[1]
        borders: Iterable = [
            (a[kept], b[kept]) for a, b in ((one, two), (two, one)) for kept in [~core[a] & core[b]]
        ]
    else:
        places, most = Places.of(cloud.points), 1 if weights is not None else min_samples
        if (places.sizes > most).any():
            rows = places.rows(most)
            if weights is not None:
                sums = np.add.reduceat(weights[places.order], places.starts)
                weights = places.spread(places.order[places.starts], sums)[rows]
            found = dbscan(cloud.of(rows), eps, min_samples, weights)
            return tuple(places.spread(rows, each) for each in found)
        core = _cores(cloud, tree, eps, min_samples, weights)
        inner, outer = np.flatnonzero(core), np.flatnonzero(~core)
        label = np.zeros(n, np.intp)
        label[inner] = components(cloud.of(inner), eps)[1]
        borders = ((a, inner[b]) for a, b in _pieces(cloud, cloud.tree(inner), eps, outer))
    # Numbered by the lowest core, as scikit-learn does.
    numbers = np.full(n + 1, n)
    used = np.unique(label[core])
    numbers[used] = np.arange(len(used))
    labels = np.where(core, numbers[label], n)
    for border, near in borders:
        np.minimum.at(labels, border, labels[near])
    labels[labels == n] = -1
    return core, labels


def _cores(cloud: Cloud, tree: cKDTree, eps: float, min_samples: int, weights):
    """Return which points have enough neighbours within eps, by weight where there are weights."""
    if weights is not None:
        sums = np.zeros(tree.n)
        for queries, near in _pieces(cloud, tree, eps, np.arange(tree.n)):
            sums += np.bincount(queries, weights[near], tree.n)
        return sums >= min_samples
    core, rows = np.zeros(tree.n, bool), tree.indices
    if min_samples <= tree.n:  # else there are not so many
        bound: Any = {"distance_upper_bound": eps, "p": cloud.p, "workers": -1}
        core[rows] = tree.query(cloud.points[rows], [min_samples], **bound)[1][:, 0] < tree.n
    rest = np.flatnonzero(~core)  # who has enough only with those that are eps away
    counts = tree.query_ball_point(cloud.points[rest], eps, p=cloud.p, workers=-1, return_length=True)
    core[rest] = counts >= min_samples
    return core


def _pieces(cloud: Cloud, tree: cKDTree, eps: float, rows):
    """Give the pairs of some rows and the tree's points within eps, as many at a time as memory allows."""
    if not (len(rows) and tree.n):
        return
    counts = tree.query_ball_point(cloud.points[rows], eps, p=cloud.p, workers=-1, return_length=True)
    for part in np.split(rows, np.flatnonzero(np.diff(np.cumsum(counts) // PIECE)) + 1):
        found = cloud.tree(part).sparse_distance_matrix(tree, eps, p=cloud.p, output_type="ndarray")
        yield part[found["i"]], found["j"]
