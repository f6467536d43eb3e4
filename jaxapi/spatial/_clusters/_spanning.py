"""The minimum spanning tree by Boruvka's rounds over SciPy's trees: finite float64 points in, NumPy out.

Edges are ordered by (distance, lower row, higher row), so that there is one minimum spanning tree. Each round
joins components by their first edges to others. Where the nearest neighbours of a component's points do not
tell that edge for certain, its points search those of other components.
"""

from typing import Any, NamedTuple

import numpy as np

from ._host import ROUNDING, Cloud, Places, joined

__all__ = ["Edges", "spanning_tree"]

SAMPLE = 16
FEW = 32  # components
THREADED = 500
MORE = 8  # neighbours listed of each point, besides those that core distances need


class Edges(NamedTuple):
    """The edges of a tree of n points, ascending by (distance, rows)."""

    rows: np.ndarray  # (n - 1, 2), the lower one first
    distances: np.ndarray  # (n - 1,)
    pairs: np.ndarray  # (n - 1, 2) rows whose distance this is: the edge's own, or a core distance's
    ties: np.ndarray  # (t, 2) rows as far from each other as the core distance of one
    tied: np.ndarray  # (t,) their distances


def spanning_tree(cloud: Cloud, min_samples: int = 1, alpha: float = 1.0) -> Edges:
    """Return the minimum spanning tree of mutual reachability distances, with `min_samples` 1 of plain ones.

    The distance of two points is at least the distance of each to its neighbour number `min_samples`, the
    point itself the first; `alpha` divides their own.
    """
    n = len(cloud.points)
    if n < 2:
        nothing = np.zeros((0, 2), np.intp)
        return Edges(nothing, np.zeros(0), nothing, nothing, np.zeros(0))
    kept, copies, many = _without_copies(cloud.points, min_samples)
    edges = _Boruvka(cloud.of(kept), many, min_samples, alpha).edges()
    rows = np.concatenate([kept[edges.rows], copies])
    distances = np.concatenate([edges.distances, np.zeros(len(copies))])
    order = np.lexsort((rows[:, 1], rows[:, 0], distances))
    pairs = np.concatenate([kept[edges.pairs], copies])
    return Edges(rows[order], distances[order], pairs[order], kept[edges.ties], edges.tied)


def _without_copies(points, min_samples: int):
    """Return the rows without copies of others, edges to those left out, and how many each row stands for.

    Fewer copies than `min_samples` stay: their distances are not 0.
    """
    order, starts, sizes = Places.of(points)
    one = np.repeat(order[starts], sizes)  # the lowest row, as the order is stable
    stays = np.repeat(sizes < min_samples, sizes)
    stays[starts] = True
    many = np.ones(len(points), np.intp)
    many[order[starts]] = np.where(sizes < min_samples, 1, sizes)
    kept = np.sort(order[stays])
    return kept, np.stack([one[~stays], order[~stays]], axis=1), many[kept]


class _Boruvka:
    """The state of the rounds.

    `best` is the first edge of each point to another component that is known; all that are not known are not
    nearer than `bound`, which is kept from round to round.
    """

    def __init__(self, cloud: Cloud, many, min_samples: int, alpha: float):
        self.cloud, self.alpha, n = cloud, alpha, len(cloud.points)
        tree, k = cloud.tree(), min(n, min_samples + MORE)
        found, near = np.empty((n, k)), np.empty((n, k), np.intp)
        rows = tree.indices  # neighbours find the same nodes in the caches
        found[rows], near[rows] = tree.query(cloud.points[rows], range(1, k + 1), p=cloud.p, workers=-1)
        enough = (many[near].cumsum(axis=1) >= min_samples).argmax(axis=1)
        self.core, self.core_row = found[np.arange(n), enough], near[np.arange(n), enough]
        self.bound = self._reach(slice(None), found) if k < n else np.full(n, np.inf)
        distances = self._distances(np.arange(n)[:, None], near, found)
        order = np.lexsort((near, distances), axis=1)
        self.near, self.distances = (np.take_along_axis(each, order, axis=1) for each in (near, distances))
        self.found: Any = np.full(n, -1), np.full(n, np.inf)  # by searches
        self.label, self.count = np.arange(n), n

    def _distances(self, rows, others, found):
        return np.maximum(np.maximum(self.core[rows], self.core[others]), found / self.alpha)

    def _reach(self, rows, found):
        """Return what is not farther than the points behind those found."""
        return np.maximum(self.core[rows], found[:, -1] / self.alpha)

    def edges(self) -> Edges:
        """Return all edges, in no order."""
        found = [(np.zeros(0, np.intp), np.zeros(0, np.intp), np.zeros(0))]
        searched = False
        while self.count > 1:
            best, nearest = self._known()
            least = self._least(nearest)
            # A component's first edge is certain where no point may have a nearer one, or one as near.
            open_ = (self.bound <= nearest) & (self.bound <= least[self.label])
            certain = np.ones(self.count, bool)
            certain[self.label[open_]] = False
            if not searched and certain.sum() * 4 < self.count:
                sizes = np.bincount(self.label, minlength=self.count)
                searched = True
                self._search(np.flatnonzero(open_ & (self.label != np.argmax(sizes))), best, nearest, least)
                continue
            searched = False
            which = np.flatnonzero(certain[self.label] & (nearest == least[self.label]))
            ends = np.minimum(which, best[which]), np.maximum(which, best[which])
            key = ends[0] * len(self.label) + ends[1]
            first = np.full(self.count, np.iinfo(np.intp).max)
            np.minimum.at(first, self.label[which], key)
            chosen, at = np.unique(first[certain], return_index=True)
            low, high = np.divmod(chosen, len(self.label))
            found.append((low, high, least[certain][at]))
            self.count, names = joined(self.count, self.label[low], self.label[high])
            self.label = names[self.label]
        one, two, distances = (np.concatenate(each) for each in zip(*found, strict=True))
        by_one, by_two = self.core[one] == distances, self.core[two] == distances
        pairs = np.stack([np.where(by_one | ~by_two, one, two), two], axis=1)
        pairs[:, 1] = np.where(by_one, self.core_row[one], np.where(by_two, self.core_row[two], two))
        core = np.maximum(self.core[:, None], self.core[self.near])
        tied = (self.distances == core) & (self.near != np.arange(len(core))[:, None])
        ties = np.stack([np.nonzero(tied)[0], self.near[tied]], axis=1)
        return Edges(np.stack([one, two], axis=1), distances, pairs, ties, self.distances[tied])

    def _known(self) -> Any:
        """Return each point's first known neighbour of another component, and its distance."""
        label, (best, nearest) = self.label, (each.copy() for each in self.found)
        gone = (best >= 0) & (label[best] == label)
        self.bound[gone] = np.minimum(self.bound, nearest)[gone]  # the next one is not known
        self.found[0][gone], self.found[1][gone] = best[gone], nearest[gone] = -1, np.inf
        other = label[self.near] != label[:, None]
        which = np.flatnonzero(other.any(axis=1))
        place = other[which].argmax(axis=1)
        self._improve(best, nearest, which, self.near[which, place], self.distances[which, place])
        return best, nearest

    @staticmethod
    def _improve(best, nearest, which, rows, distances):
        """Take neighbours that come before the best ones; of equally far ones that of the lowest row."""
        better = (distances < nearest[which]) | ((distances == nearest[which]) & (rows < best[which]))
        best[which[better]], nearest[which[better]] = rows[better], distances[better]

    def _least(self, nearest):
        least = np.full(self.count, np.inf)
        np.minimum.at(least, self.label, nearest)
        return least

    def _search(self, rows, best, nearest, least):
        """Find the first neighbours of these points, as far as their components need them.

        Two components differ in a bit of their labels, and so are on different sides of one of these splits.
        Of few components each is split off.
        """
        if self.count <= FEW:
            sides = [self.label == each for each in np.unique(self.label[rows])]
        else:
            bits = range((self.count - 1).bit_length())
            sides = [self.label >> bit & 1 == side for bit in bits for side in (0, 1)]
        behind = np.full(len(best), np.inf)  # what is not nearer than this has not been seen
        for side in sides:
            others, inside = np.flatnonzero(~side), rows[side[rows]]
            tree = self.cloud.tree(others)
            # A few points tell how far the others of their components have to look.
            for active in (inside[::SAMPLE], inside):
                k = 2
                while len(active):
                    done = np.zeros(len(active), bool)
                    for part in self._scales(np.minimum(nearest, least[self.label])[active]):
                        some = active[part]
                        limit = np.minimum(nearest, least[self.label])[some]
                        farthest = max(limit.max() * self.alpha * (1 + ROUNDING), np.finfo(float).tiny)
                        near, distances, reach = self._nearest(tree, others, some, k, farthest)
                        self._improve(best, nearest, some, near, distances)
                        np.minimum.at(least, self.label[some], nearest[some])
                        done[part] = reach > np.minimum(nearest, least[self.label])[some]
                        seen = some[done[part]]
                        behind[seen] = np.minimum(behind[seen], reach[done[part]])
                    active, k = active[~done], 4 * k
        self.bound[rows] = np.maximum(self.bound, behind)[rows]
        for kept, new in zip(self.found, (best, nearest), strict=True):
            kept[rows] = new[rows]

    @staticmethod
    def _scales(limits):
        """Give which of some points look about as far: a search takes one limit for all."""
        scale = np.frexp(limits)[1]
        scale[np.isinf(limits)] = np.iinfo(scale.dtype).max
        order = np.argsort(scale, kind="stable")
        return np.split(order, np.flatnonzero(np.diff(scale[order])) + 1)

    def _nearest(self, tree, others, rows, k: int, farthest: float):
        """Return the first of `k` neighbours in a tree of others, and a bound of those not seen."""
        k = min(k, tree.n)
        options: Any = {"distance_upper_bound": farthest, "p": self.cloud.p}
        options["workers"] = -1 if len(rows) > THREADED else 1  # a thread takes longer than few searches
        found, near = tree.query(self.cloud.points[rows], range(1, k + 1), **options)
        there = near < tree.n
        near = others[np.where(there, near, 0)]
        distances = np.where(there, self._distances(rows[:, None], near, found), np.inf)
        first = np.lexsort((near, distances), axis=1)[:, :1]
        seen_all = np.inf if k == tree.n else self._reach(rows, found)
        reach = np.where(there[:, -1], seen_all, max(farthest / self.alpha, 0.0))
        return *(np.take_along_axis(each, first, axis=1)[:, 0] for each in (near, distances)), reach
