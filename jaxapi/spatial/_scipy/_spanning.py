"""The minimum spanning tree by Boruvka's rounds over SciPy's trees.

Edges are ordered by (distance, lower row, higher row), so that there is one minimum spanning tree. Each round
joins components by their first edges to others. Where the nearest neighbors of a component's points do not
tell that edge for certain, its points search those of other components.
"""

from typing import NamedTuple

import numpy as np
import scipy

from ._groups import ROUNDING, EqualPoints, Points, joined

__all__ = ["SpanningEdges", "spanning_tree"]

SAMPLE = 16
FEW = 32  # components
THREADED = 500
MORE = 8  # neighbors listed of each point, besides those that core distances need


class SpanningEdges(NamedTuple):
    """The edges of a tree of n points, ascending by (distance, rows)."""

    rows: np.ndarray  # (n - 1, 2), the lower one first
    distances: np.ndarray  # (n - 1,)
    measured: np.ndarray  # (n - 1, 2) rows whose distance this is: the edge's own, or a core distance's
    ties: np.ndarray  # (t, 2) rows as far from each other as the core distance of one
    tie_distances: np.ndarray  # (t,)


def spanning_tree(points: Points, min_samples: int = 1, alpha: float = 1.0) -> SpanningEdges:
    """Return the minimum spanning tree of mutual reachability distances, with `min_samples` 1 of plain ones.

    The distance of two points is at least the distance of each to its neighbor number `min_samples`, the
    point itself the first; `alpha` divides their own.
    """
    if len(points) < 2:
        no_rows = np.zeros((0, 2), np.intp)
        return SpanningEdges(no_rows, np.zeros(0), no_rows, no_rows, np.zeros(0))
    distinct = _without_copies(points.coordinates, min_samples)
    kept = distinct.rows
    edges = _Boruvka(points.of(kept), distinct.counts, min_samples, alpha).edges()
    rows = np.concatenate([kept[edges.rows], distinct.copies])
    distances = np.concatenate([edges.distances, np.zeros(len(distinct.copies))])
    measured = np.concatenate([kept[edges.measured], distinct.copies])
    order = np.lexsort((rows[:, 1], rows[:, 0], distances))
    return SpanningEdges(
        rows[order], distances[order], measured[order], kept[edges.ties], edges.tie_distances
    )


class _Distinct(NamedTuple):
    """Points of which copies are left out."""

    rows: np.ndarray  # that stay
    counts: np.ndarray  # how many points each of these stands for
    copies: np.ndarray  # (c, 2): edges to the rows left out


def _without_copies(coordinates, min_samples: int) -> _Distinct:
    """Leave out copies of points. Fewer copies than `min_samples` stay: their distances are not 0."""
    order, starts, sizes = EqualPoints.of(coordinates)
    lowest = np.repeat(order[starts], sizes)  # the lowest row of each group, as the order is stable
    stays = np.repeat(sizes < min_samples, sizes)
    stays[starts] = True
    counts = np.ones(len(coordinates), np.intp)
    counts[order[starts]] = np.where(sizes < min_samples, 1, sizes)
    rows = np.sort(order[stays])
    return _Distinct(rows, counts[rows], np.stack([lowest[~stays], order[~stays]], axis=1))


class _Nearest:
    """The first known neighbor of each point in another component, and its distance; -1 and inf for none."""

    def __init__(self, rows, distances):
        self.rows = rows
        self.distances = distances

    @classmethod
    def none(cls, n: int) -> "_Nearest":
        return cls(np.full(n, -1), np.full(n, np.inf))

    def copy(self) -> "_Nearest":
        return _Nearest(self.rows.copy(), self.distances.copy())

    def forget(self, mask) -> None:
        """Forget the neighbors of some points."""
        self.rows[mask] = -1
        self.distances[mask] = np.inf

    def take(self, points, other: "_Nearest") -> None:
        """Take over the neighbors of some points."""
        self.rows[points] = other.rows[points]
        self.distances[points] = other.distances[points]

    def improve(self, points, rows, distances) -> None:
        """Take neighbors that come before the known ones; of equally far ones that of the lowest row."""
        known_distances = self.distances[points]
        known_rows = self.rows[points]
        is_better = (distances < known_distances) | ((distances == known_distances) & (rows < known_rows))
        better = points[is_better]
        self.rows[better] = rows[is_better]
        self.distances[better] = distances[is_better]


class _Boruvka:
    """The state of the rounds.

    `label` (n,) tells the component of each point, of `count` components. `listed` are the nearest neighbors
    of each point with their mutual reachability distances (n, k), in order; `searched` what searches have
    found. What is in neither is not nearer than `bound` (n,).
    """

    def __init__(self, points: Points, counts, min_samples: int, alpha: float):
        """Take distinct points, each of which stands for so many (`counts`)."""
        n = len(points)
        self.points = points
        self.alpha = alpha
        tree = points.tree()
        k = min(n, min_samples + MORE)
        rows = tree.indices  # in this order neighbors find the same nodes in the caches
        found_distances, found_rows = points.nearest(tree, rows, range(1, k + 1))
        apart = np.empty((n, k))
        apart[rows] = found_distances
        neighbors = np.empty((n, k), np.intp)
        neighbors[rows] = found_rows
        enough = (counts[neighbors].cumsum(axis=1) >= min_samples).argmax(axis=1)
        every = np.arange(n)
        self.core = apart[every, enough]
        self.core_row = neighbors[every, enough]
        self.bound = self._farther(every, apart) if k < n else np.full(n, np.inf)
        distances = self._reachability(every[:, None], neighbors, apart)
        order = np.lexsort((neighbors, distances), axis=1)
        self.listed_rows = np.take_along_axis(neighbors, order, axis=1)
        self.listed_distances = np.take_along_axis(distances, order, axis=1)
        self.searched = _Nearest.none(n)
        self.label = every
        self.count = n

    def _reachability(self, rows, other_rows, apart):
        """Return the mutual reachability distances of points that are so far apart."""
        return np.maximum(np.maximum(self.core[rows], self.core[other_rows]), apart / self.alpha)

    def _farther(self, rows, apart):
        """Return what is not farther than the points behind those found, (q, k) so far apart."""
        return np.maximum(self.core[rows], apart[:, -1] / self.alpha)

    def edges(self) -> SpanningEdges:
        """Return all edges, in no order."""
        n = len(self.label)
        lows = [np.zeros(0, np.intp)]
        highs = [np.zeros(0, np.intp)]
        distances = [np.zeros(0)]
        has_searched = False
        while self.count > 1:
            nearest = self._known()
            least = self._least(nearest)
            # A component's first edge is certain where no point may have a nearer one, or one as near.
            is_open = (self.bound <= nearest.distances) & (self.bound <= least[self.label])
            is_certain = np.ones(self.count, bool)
            is_certain[self.label[is_open]] = False
            if not has_searched and is_certain.sum() * 4 < self.count:
                largest = np.argmax(np.bincount(self.label, minlength=self.count))
                rows = np.flatnonzero(is_open & (self.label != largest))
                self._search(rows, _Frontier(nearest, least, np.full(n, np.inf)))
                has_searched = True
                continue
            has_searched = False
            ends = np.flatnonzero(is_certain[self.label] & (nearest.distances == least[self.label]))
            other_ends = nearest.rows[ends]
            keys = np.minimum(ends, other_ends) * n + np.maximum(ends, other_ends)
            first = np.full(self.count, np.iinfo(np.intp).max)
            np.minimum.at(first, self.label[ends], keys)
            chosen, of = np.unique(first[is_certain], return_index=True)
            low, high = np.divmod(chosen, n)
            lows.append(low)
            highs.append(high)
            distances.append(least[is_certain][of])
            self.count, names = joined(self.count, self.label[low], self.label[high])
            self.label = names[self.label]
        return self._with_ties(np.concatenate(lows), np.concatenate(highs), np.concatenate(distances))

    def _with_ties(self, low, high, distances) -> SpanningEdges:
        """Return edges with the rows that were measured, and what could take their place."""
        is_low_core = self.core[low] == distances
        is_high_core = self.core[high] == distances
        measured = np.stack([low, high], axis=1)
        measured[is_low_core, 1] = self.core_row[low][is_low_core]
        only_high = is_high_core & ~is_low_core
        measured[only_high] = np.stack([high, self.core_row[high]], axis=1)[only_high]
        core = np.maximum(self.core[:, None], self.core[self.listed_rows])
        is_other = self.listed_rows != np.arange(len(core))[:, None]
        is_tied = (self.listed_distances == core) & is_other
        ties = np.stack([np.nonzero(is_tied)[0], self.listed_rows[is_tied]], axis=1)
        rows = np.stack([low, high], axis=1)
        return SpanningEdges(rows, distances, measured, ties, self.listed_distances[is_tied])

    def _known(self) -> _Nearest:
        """Return each point's first known neighbor of another component."""
        label = self.label
        nearest = self.searched.copy()
        joined_since = (nearest.rows >= 0) & (label[nearest.rows] == label)
        # The neighbor behind it is not known.
        self.bound[joined_since] = np.minimum(self.bound, nearest.distances)[joined_since]
        self.searched.forget(joined_since)
        nearest.forget(joined_since)
        is_other = label[self.listed_rows] != label[:, None]
        points = np.flatnonzero(is_other.any(axis=1))
        column = is_other[points].argmax(axis=1)
        nearest.improve(points, self.listed_rows[points, column], self.listed_distances[points, column])
        return nearest

    def _least(self, nearest: _Nearest):
        """Return the least distance of each component's points."""
        least = np.full(self.count, np.inf)
        np.minimum.at(least, self.label, nearest.distances)
        return least

    # --- searches among other components --------------------------------------------------------------------

    def _search(self, rows, frontier: "_Frontier") -> None:
        """Find the first neighbors of these points, as far as their components need them.

        Two components differ in a bit of their labels, and so are on different sides of one of these splits.
        Of few components each is split off.
        """
        if self.count <= FEW:
            sides = [self.label == each for each in np.unique(self.label[rows])]
        else:
            bits = range((self.count - 1).bit_length())
            sides = [self.label >> bit & 1 == side for bit in bits for side in (0, 1)]
        for side in sides:
            others = np.flatnonzero(~side)
            tree = self.points.of(others).tree()
            inside = rows[side[rows]]
            # A few points tell how far the others of their components have to look.
            for active in (inside[::SAMPLE], inside):
                k = 2
                while len(active):
                    is_done = self._search_tree(_Others(tree, others), active, k, frontier)
                    active = active[~is_done]
                    k *= 4
        self.bound[rows] = np.maximum(self.bound, frontier.unseen)[rows]
        self.searched.take(rows, frontier.nearest)

    def _search_tree(self, others: "_Others", active, k: int, frontier: "_Frontier"):
        """Search k neighbors of the active points; return which of them need no more."""
        is_done = np.zeros(len(active), bool)
        for part in self._by_size(frontier.limits(active, self.label)):
            rows = active[part]
            limit = frontier.limits(rows, self.label).max() * self.alpha * (1 + ROUNDING)
            farthest = max(limit, np.finfo(float).tiny)
            found_rows, distances, reach = self._first_of(others, rows, k, farthest)
            frontier.nearest.improve(rows, found_rows, distances)
            np.minimum.at(frontier.least, self.label[rows], frontier.nearest.distances[rows])
            is_done[part] = reach > frontier.limits(rows, self.label)
            seen = rows[is_done[part]]
            frontier.unseen[seen] = np.minimum(frontier.unseen[seen], reach[is_done[part]])
        return is_done

    @staticmethod
    def _by_size(limits):
        """Return which of some points look about as far: a search takes one limit for all."""
        size = np.frexp(limits)[1]
        size[np.isinf(limits)] = np.iinfo(size.dtype).max
        order = np.argsort(size, kind="stable")
        return np.split(order, np.flatnonzero(np.diff(size[order])) + 1)

    def _first_of(self, others: "_Others", rows, k: int, farthest: float):
        """Return the first of `k` neighbors among others, its distance, and a bound of those not seen."""
        k = min(k, others.tree.n)
        workers = -1 if len(rows) > THREADED else 1  # a thread takes longer than few searches
        apart, numbers = self.points.nearest(others.tree, rows, range(1, k + 1), farthest, workers)
        found = numbers < others.tree.n
        neighbors = others.rows[np.where(found, numbers, 0)]
        distances = np.where(found, self._reachability(rows[:, None], neighbors, apart), np.inf)
        first = np.lexsort((neighbors, distances), axis=1)[:, 0]
        behind = np.inf if k == others.tree.n else self._farther(rows, apart)
        reach = np.where(found[:, -1], behind, max(farthest / self.alpha, 0.0))
        query = np.arange(len(rows))
        return neighbors[query, first], distances[query, first], reach


class _Frontier(NamedTuple):
    """How far searches have come; improved in place."""

    nearest: _Nearest
    least: np.ndarray  # (count,) the least distance out of each component
    unseen: np.ndarray  # (n,) what is not nearer than this has not been seen

    def limits(self, rows, label):
        """Return how far some points have to look."""
        return np.minimum(self.nearest.distances[rows], self.least[label[rows]])


class _Others(NamedTuple):
    """A tree over the points of some rows."""

    tree: "scipy.spatial.cKDTree"
    rows: np.ndarray
