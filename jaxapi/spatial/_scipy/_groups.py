"""Components and dense groups within a radius, by SciPy's trees.

Where few pairs lie within the radius, they are listed. Else the list might not fit, and these ways use that
most points of a dense cloud are joined by their nearest neighbors.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy

from ._ckdtree import ckdtree
from ._reach import SLACK, Reach, counts_of_pairs, distances_between
from ._threads import unhindered

__all__ = ["ROUNDING", "EqualPoints", "Points", "components", "dbscan", "joined"]

MANY = 32  # pairs a point: of more, no list is made
MOST = 1 << 26  # pairs in all: a gigabyte
LISTED = 8  # neighbors that join dense points before others are looked for
ROUNDING = 1e-12
PIECE = 1 << 22  # pairs held at once


@dataclass(frozen=True)
class Points:
    """Points whose powers are numbers, as those of a `ScaledTree`."""

    coordinates: np.ndarray  # (n, m), float64
    p: float
    boxsize: np.ndarray | None  # (m,) of the periodic box, 0 on other axes

    def __len__(self) -> int:
        return len(self.coordinates)

    def of(self, rows) -> "Points":
        """Return some of the points."""
        return Points(self.coordinates[rows], self.p, self.boxsize)

    def tree(self) -> "scipy.spatial.cKDTree":
        """Return SciPy's tree of the points."""
        return ckdtree()(self.coordinates, balanced_tree=False, boxsize=self.boxsize)

    def nearest(self, tree: "scipy.spatial.cKDTree", rows, k, bound: float = np.inf, workers: int = -1):
        """Return distances and numbers of neighbors in a tree, nearer than a bound; `k` as SciPy's."""
        x = self.coordinates[rows]
        return unhindered(tree.query, x, k, p=self.p, distance_upper_bound=bound, workers=workers)

    def counts(self, tree: "scipy.spatial.cKDTree", rows, radius: float):
        """Return how many points of a tree SciPy finds within a radius of each of some rows."""
        x = self.coordinates[rows]
        options: dict[str, Any] = {"p": self.p, "eps": -SLACK, "return_length": True, "workers": -1}
        return unhindered(tree.query_ball_point, x, radius, **options)

    def pairs(self, tree: "scipy.spatial.cKDTree", reach: Reach) -> "Edges":
        """Return the pairs of points of a tree within a radius."""
        edges = Edges(*tree.query_pairs(reach.of_pairs, p=self.p, output_type="ndarray").T)
        return self.no_longer(edges, reach) if reach.has_any_border else edges

    def few_pairs(self, tree: "scipy.spatial.cKDTree", reach: Reach) -> "Edges | None":
        """Return the pairs within a radius; None where they are so many that their list does not pay."""
        if tree.n <= MANY:
            return self.pairs(tree, reach)
        sample = self.of(slice(None, None, tree.n // 256 + 1)).tree()
        if tree.count_neighbors(sample, reach.nearest, p=self.p) > 4 * MANY * sample.n:
            return None
        limits = np.array([reach.nearest, reach.of_pairs])
        at_least, at_most = counts_of_pairs(tree, tree, limits, self.p)
        if at_most > 2 * min(MANY * tree.n, MOST):
            return None
        edges = Edges(*tree.query_pairs(reach.of_pairs, p=self.p, output_type="ndarray").T)
        return self.no_longer(edges, reach) if at_least < at_most else edges

    def no_longer(self, edges: "Edges", reach: Reach) -> "Edges":
        """Return the edges that are no longer than a radius."""
        ends = self.coordinates[edges.sources], self.coordinates[edges.targets]
        return edges.kept(distances_between(*ends, self.p, self.boxsize) <= reach.radius)

    def pairs_between(
        self, reach: Reach, rows, other_rows, other_tree: "scipy.spatial.cKDTree | None" = None
    ) -> "Edges":
        """Return the pairs of some rows and others within a radius."""
        tree = self.of(rows).tree()
        other_tree = other_tree or self.of(other_rows).tree()
        farthest = reach.farthest * (1 + SLACK)
        found = tree.sparse_distance_matrix(other_tree, farthest, p=self.p, output_type="ndarray")
        found = found[found["v"] <= reach.radius]
        return Edges(rows[found["i"]], other_rows[found["j"]])


class Edges(NamedTuple):
    """Edges of a graph by the rows of their ends."""

    sources: np.ndarray
    targets: np.ndarray

    def kept(self, mask) -> "Edges":
        """Return some of the edges."""
        return Edges(self.sources[mask], self.targets[mask])

    def turned(self) -> "Edges":
        """Return the edges in the other direction."""
        return Edges(self.targets, self.sources)


def joined(n: int, sources, targets) -> tuple[int, np.ndarray]:
    """Return how many components n rows have with these edges, and their labels by lowest row."""
    graph = scipy.sparse.coo_array((np.ones(len(sources)), (sources, targets)), shape=(n, n))
    graph.has_canonical_format = True  # twice the same edge need not be found and summed up
    return scipy.sparse.csgraph.connected_components(graph.tocsr(), directed=False)


class EqualPoints(NamedTuple):
    """Points grouped by equal coordinates: a tree does not split copies, and would compare each with each."""

    order: np.ndarray  # (n,) rows, those of a group after each other, the lowest first
    starts: np.ndarray  # (groups,)
    sizes: np.ndarray  # (groups,)

    @classmethod
    def of(cls, coordinates) -> "EqualPoints":
        """Return the groups of points (n, m)."""
        n, m = coordinates.shape
        keys = (coordinates * np.sqrt(np.arange(2, m + 2))).sum(axis=1)  # copies have equal ones
        keys.sort()
        if not (keys[1:] == keys[:-1]).any():
            return cls(np.arange(n), np.arange(n), np.ones(n, np.intp))
        order = np.lexsort(coordinates.T)
        in_order = coordinates[order]
        is_first = np.ones(n, bool)
        is_first[1:] = (in_order[1:] != in_order[:-1]).any(axis=1)
        starts = np.flatnonzero(is_first)
        return cls(order, starts, np.diff(starts, append=n))

    def rows(self, most: int):
        """Return the first rows of each group, so many at most."""
        number = np.arange(len(self.order)) - np.repeat(self.starts, self.sizes)
        return np.sort(self.order[number < most])

    def spread(self, rows, values):
        """Return the values of some rows, the first of each group among them, for all rows."""
        spread = np.empty(len(self.order), values.dtype)
        spread[rows] = values
        spread[self.order] = np.repeat(spread[self.order[self.starts]], self.sizes)
        return spread


# --- components -----------------------------------------------------------------------------------------


def components(points: Points, reach: Reach) -> tuple[int, np.ndarray]:
    """Return how many components of points within a radius there are, and labels by lowest row."""
    if not reach.radius >= 0:
        return len(points), np.arange(len(points))
    tree = points.tree()
    pairs = points.few_pairs(tree, reach)
    if pairs is not None:
        return joined(len(points), *pairs)
    groups = EqualPoints.of(points.coordinates)
    rows = groups.rows(1)
    if reach.radius == 0:
        return len(rows), groups.spread(rows, np.arange(len(rows)))
    if len(rows) < len(points):
        count, labels = components(points.of(rows), reach)
        return count, groups.spread(rows, labels)
    return _components_of_dense(points, tree, reach)


def _components_of_dense(
    points: Points, tree: "scipy.spatial.cKDTree", reach: Reach
) -> tuple[int, np.ndarray]:
    """Return the components of points without copies, and labels.

    The nearest of each point join most of a dense cloud. Who has fewer has no others; of the rest whole
    components are compared, until none has a neighbor in another one.
    """
    n = len(points)
    radius = float(reach.radius)
    rows = tree.indices  # in this order neighbors find the same nodes in the caches
    k = range(1, LISTED + 1)
    distances, neighbors = points.nearest(tree, rows, k, bound=radius * (1 + ROUNDING))
    is_sure = distances < radius * (1 - ROUNDING)
    sources = np.broadcast_to(rows[:, None], neighbors.shape)
    _, labels = joined(n, sources[is_sure], neighbors[is_sure])
    may_have_more = is_sure[:, -1]
    nearest = partial(_nearest_between, points, radius)
    labels = _merged(labels, rows[may_have_more], nearest)
    # What is nearer than the radius has been joined: left are the few pairs that are as far as it.
    at_radius = (~is_sure & (neighbors < n)).any(axis=1)
    pairs = partial(points.pairs_between, reach)
    labels = _merged(labels, rows[at_radius | may_have_more], pairs)
    return labels.max() + 1, labels


def _merged(labels, rows, edges_between: Callable[..., Edges]):
    """Join components until there are no edges between the `rows` of two.

    Two components differ in a bit of their labels, and so are on different sides of one of these splits.
    """
    while True:
        names, numbers = np.unique(labels[rows], return_inverse=True)
        sources = []
        targets = []
        for bit in range((len(names) - 1).bit_length()):
            side = numbers >> bit & 1 == 1
            fewer, more = sorted((rows[side], rows[~side]), key=len)
            edges = edges_between(fewer, more)
            sources.append(labels[edges.sources])
            targets.append(labels[edges.targets])
        if not sum(map(len, sources)):
            return labels
        _, merged = joined(labels.max() + 1, np.concatenate(sources), np.concatenate(targets))
        labels = merged[labels]


def _nearest_between(points: Points, radius: float, fewer, more) -> Edges:
    """Return edges from the fewer rows to the nearest of more, nearer than the radius."""
    _, neighbors = points.nearest(points.of(more).tree(), fewer, 1, bound=radius)
    found = neighbors < len(more)
    return Edges(fewer[found], more[neighbors[found]])


# --- DBSCAN ---------------------------------------------------------------------------------------------


def dbscan(points: Points, reach: Reach, min_samples: int, weights=None) -> tuple[np.ndarray, np.ndarray]:
    """Return which points are cores, and the labels (n,), -1 for noise."""
    n = len(points)
    tree = points.tree()
    reaches_nothing = not reach.radius >= 0
    pairs = points.pairs(tree, reach) if reaches_nothing else points.few_pairs(tree, reach)
    if pairs is not None:
        directed = pairs, pairs.turned()
        own = np.ones(n) if weights is None else weights
        of_others = sum(np.bincount(edges.sources, own[edges.targets], n) for edges in directed)
        is_core = own + of_others >= min_samples
        _, label = joined(n, *pairs.kept(is_core[pairs.sources] & is_core[pairs.targets]))
        borders = [edges.kept(~is_core[edges.sources] & is_core[edges.targets]) for edges in directed]
        return is_core, _numbered(is_core, label, borders)
    # Copies count, but no more than make a core; with weights one stands for all.
    groups = EqualPoints.of(points.coordinates)
    most = 1 if weights is not None else min_samples
    if (groups.sizes > most).any():
        rows = groups.rows(most)
        if weights is not None:
            sums = np.add.reduceat(weights[groups.order], groups.starts)
            weights = groups.spread(groups.order[groups.starts], sums)[rows]
        is_core, labels = dbscan(points.of(rows), reach, min_samples, weights)
        return groups.spread(rows, is_core), groups.spread(rows, labels)
    is_core = _cores(points, tree, reach, min_samples, weights)
    cores = np.flatnonzero(is_core)
    label = np.zeros(n, np.intp)
    label[cores] = components(points.of(cores), reach)[1]
    return is_core, _numbered(
        is_core, label, _pairs_by_pieces(points, np.flatnonzero(~is_core), cores, reach)
    )


def _numbered(is_core, label, borders: Iterable[Edges]) -> np.ndarray:
    """Return labels by the lowest core of each cluster, as scikit-learn's, of `borders` the first one's.

    `label` tells the components of cores; `borders` are edges from points that are none to cores.
    """
    n = len(is_core)
    used = np.unique(label[is_core])
    numbers = np.full(n + 1, n)
    numbers[used] = np.arange(len(used))
    labels = np.where(is_core, numbers[label], n)
    for edges in borders:
        np.minimum.at(labels, edges.sources, labels[edges.targets])
    labels[labels == n] = -1
    return labels


def _cores(points: Points, tree: "scipy.spatial.cKDTree", reach: Reach, min_samples: int, weights):
    """Return which points have enough neighbors within the radius, by weight where there are weights."""
    n = len(points)
    if weights is not None:
        sums = np.zeros(n)
        every = np.arange(n)
        for edges in _pairs_by_pieces(points, every, every, reach):
            sums += np.bincount(edges.sources, weights[edges.targets], n)
        return sums >= min_samples
    is_core = np.zeros(n, bool)
    if min_samples <= n:  # else nobody has so many
        rows = tree.indices
        is_core[rows] = points.nearest(tree, rows, [min_samples], bound=reach.nearest)[1][:, 0] < n
    rest = np.flatnonzero(~is_core)  # who has enough only with those that are as far as the radius
    is_core[rest] = points.counts(tree, rest, reach.nearest) >= min_samples
    if reach.has_any_border:
        rest = rest[~is_core[rest]]
        rest = rest[points.counts(tree, rest, reach.farthest) >= min_samples]
        counts = np.zeros(n, np.int64)
        for edges in _pairs_by_pieces(points, rest, np.arange(n), reach):
            counts += np.bincount(edges.sources, minlength=n)
        is_core[rest] = counts[rest] >= min_samples
    return is_core


def _pairs_by_pieces(points: Points, rows, other_rows, reach: Reach) -> Iterator[Edges]:
    """Yield the pairs of some rows and others within a radius, as many at a time as memory allows."""
    if not (len(rows) and len(other_rows)):
        return
    other_tree = points.of(other_rows).tree()
    counts = points.counts(other_tree, rows, reach.farthest)
    for part in np.split(rows, np.flatnonzero(np.diff(np.cumsum(counts) // PIECE)) + 1):
        yield points.pairs_between(reach, part, other_rows, other_tree)
