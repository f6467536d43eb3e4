"""Single linkage and HDBSCAN's clusters from a minimum spanning tree, by scikit-learn's rules."""

import heapq
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Selection", "flat_clusters", "grown", "merges"]


class Selection(NamedTuple):
    """How clusters are chosen."""

    min_cluster_size: int
    method: str  # 'eom' or 'leaf'
    epsilon: float
    allow_single: bool


def merges(rows, distances, order):
    """Return which two nodes each edge of a tree joins (n - 1, 2), the distances, and the sizes, in an order.

    Nodes below n are points, n + i is what the edge i has joined.
    """
    n = len(rows) + 1
    above = list(range(2 * n - 1))
    size, nodes = [1] * (2 * n - 1), []
    for node, (a, b) in enumerate(rows[order].tolist(), start=n):
        while above[a] != a:
            above[a] = a = above[above[a]]
        while above[b] != b:
            above[b] = b = above[above[b]]
        above[a] = above[b] = node
        size[node] = size[a] + size[b]
        nodes.append((a, b))
    return (
        np.asarray(nodes, np.intp).reshape(-1, 2),
        distances[order],
        np.asarray(size[n : n + len(nodes)], np.intp),
    )


def grown(n: int, rows, distances):
    """Return the edges (n - 1, 2) of Prim's tree from row 0 on, of a graph, and their distances.

    Where points are equally far the first one joins by its first neighbour in the tree. So scikit-learn grows
    its tree, on which labels depend: distances that are a point's core distance are all equal.
    """
    ends, distances = np.concatenate([rows, rows[:, ::-1]]), np.concatenate([distances, distances])
    order = np.argsort(ends[:, 0], kind="stable")
    starts = np.searchsorted(ends[order, 0], np.arange(n + 1)).tolist()
    others, lengths = ends[order, 1].tolist(), distances[order].tolist()
    least, source, inside = [np.inf] * n, [0] * n, [False] * n
    heap: list[tuple[float, int]] = []
    node, edges, found = 0, [], []
    for _ in range(n - 1):
        inside[node] = True
        for i in range(starts[node], starts[node + 1]):
            other, length = others[i], lengths[i]
            if length < least[other] and not inside[other]:
                least[other], source[other] = length, node
                heapq.heappush(heap, (length, other))
        while inside[node]:
            length, node = heapq.heappop(heap)
        edges.append((source[node], node))
        found.append(length)
    return np.asarray(edges, np.intp).reshape(-1, 2), np.asarray(found)


def flat_clusters(selection: Selection, nodes, distances, sizes):
    """Return labels (n,), -1 for noise, and probabilities (n,)."""
    n, least = len(nodes) + 1, selection.min_cluster_size
    if n == 1:
        return np.full(1, -1), np.zeros(1)
    size = np.concatenate([np.ones(n, np.intp), sizes])
    with np.errstate(divide="ignore"):
        level = 1 / distances  # HDBSCAN's lambda
    # The condensed tree: where both parts of a node are large, they are clusters; else the large one goes on.
    tree: Any = [-1], [0.0], [n], [0.0]  # parents, where they begin, sizes, and where they end
    parent, _, _, death = tree
    queue = [2 * n - 2]
    children, large, of = nodes.tolist(), (size >= least).tolist(), [0] * (2 * n - 1)
    for node in queue:
        own, here = of[node], level[node - n]
        death[own] = here  # the queue goes down
        parts = [part for part in children[node - n] if large[part]]
        for part in parts:
            if len(parts) == 2:
                of[part] = len(parent)
                for kept, value in zip(tree, (own, here, int(size[part]), here), strict=True):
                    kept.append(value)
            else:
                of[part] = own
        queue += parts
    # A point leaves the cluster of the lowest large node that it is in.
    up = np.arange(2 * n - 1)
    up[nodes] = np.arange(n, 2 * n - 1)[:, None]
    stays = np.asarray(large)
    stays[-1] = True
    up[stays] = np.flatnonzero(stays)
    while not stays[up[:n]].all():
        up = up[up]
    left = up[:n]
    return _labelled(selection, np.asarray(of)[left], level[left - n], *map(np.array, tree))


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
