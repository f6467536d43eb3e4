"""Single linkage and HDBSCAN's clusters from a minimum spanning tree, by scikit-learn's rules."""

import heapq
from typing import NamedTuple

import numpy as np

from ._host import joined

__all__ = ["Selection", "flat_clusters", "grown", "merges"]


class Selection(NamedTuple):
    """How clusters are chosen."""

    min_cluster_size: int
    method: str  # 'eom' or 'leaf'
    epsilon: float
    allow_single: bool


def merges(rows, distances, order):
    """Return which two nodes each edge of a tree joins (n - 1, 2), the distances, and the sizes, in an order.

    Nodes below n are points, n + i is what the edge i has joined. Each round joins components by their first
    edges. Edges in a component that come before its first one make a line of nodes, which ends at that edge:
    the others of a line have on one side the node before, on the other what ends there.
    """
    ends, n = rows[order], len(rows) + 1
    count = len(ends)
    nodes = np.full((count, 2), -1)
    below = np.full(count, 2 * count)  # 2 e + side: under which side of an edge e each one's line ends
    left, (one, two) = np.arange(count), ends.T
    open_, inside = left[:0], left[:0]  # edges joined whose line is not known, and their components
    components, rounds = n, []
    while len(left):
        first = np.full((2, components), count)
        for each, at in zip(first, (one, two), strict=True):
            each[at[::-1]] = left[::-1]  # the last one assigned, the first edge, stays
        side = (first[1] < first[0]).astype(np.intp)
        first = first.min(axis=0)
        if components == n:
            some = np.flatnonzero(first < count)
            nodes[first[some], side[some]] = some
        known = open_ < first[inside]
        below[open_[known]] = (2 * first + side)[inside[known]]
        rounds.append(open_[known])
        here = (first[one] == left) | (first[two] == left)
        components, names = joined(components, one[here], two[here])
        open_ = np.concatenate([open_[~known], left[here]])
        inside = names[np.concatenate([inside[~known], one[here]])]
        left, one, two = left[~here], names[one[~here]], names[two[~here]]
    sizes = (nodes >= 0).sum(axis=1)
    for lines in (*rounds, open_):  # what ends at an edge is in an earlier one
        lines = lines[np.lexsort((lines, below[lines]))]
        starts = np.flatnonzero(np.diff(below[lines], prepend=-1))
        total = np.cumsum(sizes[lines])
        before = np.repeat(total[starts] - sizes[lines[starts]], np.diff(starts, append=len(lines)))
        sizes[lines] = total - before
        tops = lines[np.flatnonzero(np.diff(below[lines], append=-1))]
        tops = tops[below[tops] < 2 * count]
        nodes.flat[below[tops]] = n + tops
        np.add.at(sizes, below[tops] // 2, sizes[tops])
        more = np.ones(len(lines), bool)
        more[starts] = False
        at = np.flatnonzero(more)
        nodes[lines[at], (nodes[lines[at], 0] >= 0).astype(np.intp)] = n + lines[at - 1]
    return nodes, distances[order], sizes


def grown(n: int, rows, distances):
    """Return the edges (n - 1, 2) of Prim's tree from row 0 on, of a graph, and their distances.

    Where points are equally far the first one joins by its first neighbour in the tree. So scikit-learn grows
    its tree, on which labels depend: distances that are a point's core distance are all equal.
    """
    low, high = rows.min(axis=1), rows.max(axis=1)
    _, once = np.unique(low * n + high, return_index=True)
    one, other = np.concatenate([low[once], high[once]]), np.concatenate([high[once], low[once]])
    levels, rank = np.unique(distances[once], return_inverse=True)
    keys = np.concatenate([rank, rank]) * n + other  # ordered by the distance, then by the row
    order = np.argsort(one, kind="stable")
    starts, sorted_keys = np.searchsorted(one[order], np.arange(n + 1)).tolist(), keys[order].tolist()
    left, found, key = bytearray(b"\1") * n, [], 0
    heap: list[int] = []
    for _ in range(n):
        while not left[key % n]:
            key = heapq.heappop(heap)
        found.append(key)
        node = key % n
        left[node] = 0
        for each in sorted_keys[starts[node] : starts[node + 1]]:
            if left[each % n]:
                heapq.heappush(heap, each)
    level, nodes = np.divmod(found, n)
    place = np.argsort(nodes)
    near = (place[one] < place[other]) & (keys == np.asarray(found)[place[other]])
    source = np.full(n, n)
    np.minimum.at(source, place[other[near]], place[one[near]])
    return np.stack([nodes[source[1:]], nodes[1:]], axis=1), levels[level[1:]]


def flat_clusters(selection: Selection, nodes, distances, sizes):
    """Return labels (n,), -1 for noise, and probabilities (n,)."""
    n, least = len(nodes) + 1, selection.min_cluster_size
    if n == 1:
        return np.full(1, -1), np.zeros(1)
    size = np.concatenate([np.ones(n, np.intp), sizes])
    with np.errstate(divide="ignore"):
        level = 1 / distances  # HDBSCAN's lambda
    up = np.arange(2 * n - 1)
    up[nodes] = np.arange(n, 2 * n - 1)[:, None]
    stays = size >= least
    stays[-1] = True
    # The condensed tree: where both parts of a node are large, they are clusters; else the large one goes on.
    large, number = np.flatnonzero(stays), np.cumsum(stays) - 1
    parts, parents = stays[nodes].sum(axis=1), up[large] - n
    begins = parts[parents] == 2
    begins[-1] = False
    depth = np.arange(len(large)) < len(large) - 1
    shift = np.where(depth & (nodes[parents, 1] == large), size[nodes[parents, 0]], 0)
    above, depth = number[parents + n], depth.astype(np.intp)
    parent, top = above, np.where(begins, np.arange(len(large)), above)
    while (above < len(large) - 1).any():
        depth, shift = depth + depth[above], shift + shift[above]  # points on the left
        above, top = above[above], top[top]
    starts = np.flatnonzero(begins)
    starts = starts[np.lexsort((shift[starts], depth[starts]))]  # level by level, as scikit-learn's
    of = np.zeros(len(large), np.intp)
    of[starts] = np.arange(1, len(starts) + 1)
    of = of[top]
    death, ends = np.zeros(len(starts) + 1), np.flatnonzero(parts[large - n] != 1)
    death[of[ends]] = level[large[ends] - n]
    birth = np.append(0.0, level[parents[starts]])
    tree = np.append(-1, of[parent[starts]]), birth, np.append(n, size[large[starts]]), death
    # A point leaves the cluster of the lowest large node that it is in.
    up[stays] = large
    while not stays[up[:n]].all():
        up = up[up]
    left = up[:n]
    return _labelled(selection, of[number[left]], level[left - n], *tree)


def _labelled(selection: Selection, of, out, parent, birth, members, death):
    """Return labels and probabilities of points that leave the clusters `of` at the levels `out`."""
    count = len(parent)
    with np.errstate(invalid="ignore"):
        stability = np.bincount(of, out - birth[of], count)
        stability += np.bincount(parent[1:], (birth[1:] - birth[parent[1:]]) * members[1:], count)
    chosen = _chosen(stability.tolist(), parent.tolist(), birth.tolist(), selection)
    lowest = np.zeros(count, np.intp)  # the chosen cluster that each lies in, or the root
    for cluster in range(1, count):
        lowest[cluster] = cluster if cluster in chosen else lowest[parent[cluster]]
    number = np.full(count, -1)
    number[sorted(chosen)] = np.arange(len(chosen))
    cluster = lowest[of]
    labels = np.where(cluster > 0, number[cluster], -1)
    if selection.allow_single and len(chosen) == 1:
        enough = 1 / selection.epsilon if selection.epsilon else death[0]
        labels[(cluster == 0) & (out >= enough)] = number[0]
    most = death[cluster]
    certain = (most == 0) | np.isinf(out)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(certain, 1, np.minimum(out, most) / most)
    return labels, np.where(labels >= 0, share, 0)


def _chosen(stability: list, parent: list, birth: list, selection: Selection) -> set[int]:
    """Return the clusters of the condensed tree that are chosen; 0 is the root."""
    count, single = len(parent), selection.allow_single
    below, has_parts = [0.0] * count, [False] * count
    for cluster in range(count - 1, 0, -1):
        has_parts[parent[cluster]] = True
    if selection.method == "leaf":
        chosen = {cluster for cluster in range(1, count) if not has_parts[cluster]}
    else:
        better = [False] * count  # than its parts together
        for cluster in range(count - 1, -1 if single else 0, -1):
            better[cluster] = not below[cluster] > stability[cluster]
            if cluster:
                below[parent[cluster]] += stability[cluster] if better[cluster] else below[cluster]
        chosen, covered = set(), [False] * count
        for cluster in range(count):
            covered[cluster] = cluster > 0 and covered[parent[cluster]]
            if better[cluster] and not covered[cluster]:
                chosen.add(cluster)
                covered[cluster] = True
    if not selection.epsilon or chosen <= {0}:
        return chosen

    def wide(cluster: int) -> int:
        """Return the cluster, or the first that it lies in that parts from others beyond epsilon."""
        if 1 / birth[cluster] >= selection.epsilon:
            return cluster
        while parent[cluster] and 1 / birth[parent[cluster]] <= selection.epsilon:
            cluster = parent[cluster]
        return parent[cluster] if parent[cluster] or single else cluster

    return {wide(cluster) for cluster in chosen}
