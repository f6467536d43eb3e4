"""Single linkage and HDBSCAN's clusters from a minimum spanning tree, by scikit-learn's rules.

Written once for NumPy and for programs of JAX, with `arrays` of one or the other: shapes are fixed, and
nothing takes more steps than the logarithm of a length, but for the order in which scikit-learn grows its
tree, which is the host's alone.
"""

import heapq
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from .._structure._sorting import lexsorted

__all__ = ["Dendrogram", "Selection", "dendrogram", "flat_clusters", "from_lowest", "grown", "linkage"]


class Selection(NamedTuple):
    """How clusters are chosen."""

    min_cluster_size: int
    method: str  # 'eom' or 'leaf'
    epsilon: Any  # a float, may be traced; None for 0
    allow_single: bool


class Dendrogram(NamedTuple):
    """The merges of n points by the N = n - 1 edges of a tree, in places: lines of merges from below.

    Of each line all merges but the last have the next one above them, and the last one that at which the line
    ends.
    """

    edge: Any  # (N,) by which a place merges
    up: Any  # (N,) the place above, N above the root
    end: Any  # (N,) the last place of the line
    size: Any  # (N,) points in both parts, 0 where there is no edge
    nodes: Any  # (2 N,) both parts of each place: a point, or n + a place
    leaf: Any  # (n,) the place above each point, N where there is none
    joined: Any  # how many edges did not close a cycle


def dendrogram(arrays, n: int, one, two) -> Dendrogram:
    """Return the merges by a tree's edges, one or more, in their order; at the end rows -1 are none.

    Each round joins components by their first edges. An edge in a component that comes before its first one
    is in the line that ends there, on this side: the line has all such edges that are in no line yet.
    """
    xp, put, none = arrays.xp, arrays.put, 2 * len(one)
    edge, point = (xp.arange(each, dtype=arrays.index) for each in (len(one), n))
    line = xp.where(one < 0, none + 1, -1).astype(arrays.index)  # 2 e + side: where each edge's line ends
    one, two = (xp.where(each < 0, 0, each).astype(arrays.index) for each in (one, two))

    def filled(size, value):
        return xp.full(size, value, arrays.index)

    def firsts(one, two):
        first = filled(n, none)
        for side, at in enumerate((one, two)):
            first = put(first, xp.where(one != two, at, n), 2 * edge + side, "min")
        return first

    def join(state):
        one, two, line, below, joined = state
        first = firsts(one, two)
        known = (one == two) & (line < 0) & (2 * edge < first[one])
        line = xp.where(known, first[one], line)
        points = put(filled(n, 0), xp.where(known, one, n), below, "add")
        below = put(below, first >> 1, points, "add")
        by = xp.minimum(first >> 1, len(one) - 1)
        other = xp.where(first == none, point, xp.where(first & 1 == 1, one[by], two[by]))
        root = flattened(arrays, xp.where((other[other] == point) & (point < other), point, other))
        joined = joined + (root != point).sum(dtype=arrays.index)
        return root[one], root[two], line, below, joined

    leaf = firsts(one, two)
    # Points of both sides that are no edge's of the line.
    below = put(filled(len(one), 0), leaf >> 1, 1, "add")
    start = one, two, line, below, filled((), 0)
    *_, line, below, joined = arrays.repeat(lambda state: (state[0] != state[1]).any(), join, start)
    line = xp.where(line < 0, none, line)  # the root's
    order = arrays.lexsorted(line)
    line, place = line[order], edge
    change, always = line[1:] != line[:-1], xp.ones(1, bool)
    first, last = xp.concatenate([always, change]), xp.concatenate([change, always])
    place_of = xp.append(put(place, order, place), filled(1, len(place)))
    above = place_of[line >> 1]
    up = xp.where(last, above, place + 1)
    sums = arrays.sums(below[order])
    before = arrays.sums(first)[1:] - 1  # lines
    size = sums[1:] - sums[put(place, xp.where(first, before, none), place)[before]]
    nodes = put(filled(none, -1), 2 * place_of[leaf >> 1] + (leaf & 1), point)
    nodes = put(nodes, xp.where(last, 2 * above + (line & 1), none), n + place)
    free = (nodes.reshape(-1, 2)[:, 0] >= 0).astype(arrays.index)
    free = 2 * up + free[xp.minimum(up, len(place) - 1)]
    nodes = put(nodes, xp.where(last, none, free), n + place)
    return Dendrogram(order, up, arrays.following(last), size, nodes, place_of[leaf >> 1], joined)


def linkage(arrays, rows, distances, n):
    """Return the order of edges, the nodes that each joins (N, 2), the sizes (N,), and whether it is a tree.

    There may be room for more points than `n`; edges of rows -1 come last.
    """
    xp, there = arrays.xp, ((rows >= 0) & (rows < n)).all(axis=1)
    wrong = (~there & (rows != -1).all(axis=1)).any() | xp.isnan(distances).any()
    order = arrays.lexsorted(arrays.ascending(distances), ~there)
    rows, there = xp.where(there[:, None], rows, -1)[order], there[order]
    if not len(rows):
        return order, rows, order, ~wrong
    merges = dendrogram(arrays, len(rows) + 1, *rows.T)
    nodes, size = merges.nodes.reshape(-1, 2), merges.size
    nodes = xp.where(nodes <= len(rows), nodes, n + merges.edge[xp.maximum(nodes - len(rows) - 1, 0)])
    columns = nodes.min(axis=1), nodes.max(axis=1), size
    *nodes, size = (arrays.put(xp.zeros_like(size), merges.edge, each) for each in columns)
    nodes, edges = xp.stack(nodes, axis=1), there.sum(dtype=arrays.index)
    points = (merges.leaf < len(rows)).sum(dtype=arrays.index)
    tree = (merges.joined == edges) & (points == xp.where(edges > 0, edges + 1, 0)) & ~wrong
    return order, xp.where(there[:, None], nodes, -1), size, tree


def flattened(arrays, parents):
    """Return the root of each; those of roots are themselves."""
    return arrays.repeat(lambda a: (a[a] != a).any(), lambda a: a[a], parents)


def from_lowest(n: int, one, two, distances):
    """Return a tree's edges, the end nearer to the lowest row first, and their ascending distances.

    Equally long ones come in the order of a walk around the tree from the shortest edge on: so they join one
    by one to what is dense, as where scikit-learn's tree grows. Edges of rows -1 stay last.
    """
    count = 2 * len(one)
    step = jnp.arange(count, dtype=jnp.int32)  # 2 e and 2 e + 1: along an edge in both directions
    source = jnp.stack([one, two], axis=1).reshape(-1)
    source = jnp.where(source < 0, n, source).astype(jnp.int32)
    order = lexsorted(source)
    source = source[order]
    change, always = source[1:] != source[:-1], jnp.ones(1, bool)
    first = lax.cummax(jnp.where(jnp.concatenate([always, change]), step, 0))
    onward = jnp.where(jnp.concatenate([change, always]), order[first], jnp.roll(order, -1))
    onward = jnp.zeros_like(step).at[order].set(onward)[step ^ 1].astype(jnp.int64)
    ends = onward == order[0].astype(jnp.int64)
    # The number of steps to one that is ahead, and which it is.
    left = jnp.where(ends, step.astype(jnp.int64), (1 << 32) + onward)

    def twice(_, left):
        ahead = left & 0xFFFFFFFF
        return left - ahead + left[ahead]

    left = (lax.fori_loop(0, count.bit_length(), twice, left) >> 32).astype(jnp.int32)
    forth, back = left[::2], left[1::2]
    low, high = jnp.where(forth > back, one, two), jnp.where(forth > back, two, one)
    length = left[order[0]] + 1
    order = lexsorted(jnp.minimum((left[0] - forth) % length, (left[0] - back) % length), distances)
    return low[order], high[order], distances[order]


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


def flat_clusters(arrays, selection: Selection, tree: Dendrogram, distances):
    """Return labels (n,), -1 for noise, and float64 probabilities (n,) from the edges' distances (N,).

    Sides of equally high clusters tell which is numbered first: those of the edges' first ends.
    """
    xp, put, n, count = arrays.xp, arrays.put, len(tree.leaf), len(tree.up)
    if not count:
        return xp.full(n, -1, arrays.index), xp.zeros(n)
    least, place = selection.min_cluster_size, xp.arange(count, dtype=arrays.index)
    with np.errstate(divide="ignore"):
        level = 1 / distances[tree.edge].astype(np.float64)  # HDBSCAN's lambda
    root = (tree.up == count) & (tree.size > 0)
    large, up = (tree.size >= least) | root, xp.minimum(tree.up, count - 1)
    # The condensed tree: where both parts of a node are large, they are clusters; else the large one goes on.
    parts = tree.nodes.reshape(-1, 2) - n
    inner = xp.maximum(parts, 0)
    splits = ((parts >= 0) & large[inner]).sum(axis=1, dtype=arrays.index)
    begins = root | (large & (splits[up] == 2))
    left = xp.where(parts[:, 0] < 0, 1, tree.size[inner[:, 0]])
    shift = xp.where((parts[up, 1] == place) & ~root, left[up], 0)  # points on the left
    # Sums along the way up, and the first cluster there, line by line: few lines follow each other.
    ahead = xp.append(tree.up[tree.end], count)
    sums = arrays.sums(shift)
    depth, shift = (xp.append(each, 0) for each in (tree.end + 1 - place, sums[tree.end + 1] - sums[:-1]))
    top = arrays.following(begins)
    top = xp.append(xp.where(top <= tree.end, top, count), count)
    for _ in range(count.bit_length().bit_length()):
        depth, shift, top = depth + depth[ahead], shift + shift[ahead], xp.where(top < count, top, top[ahead])
        ahead = ahead[ahead]
    most = max(2 * (n // least) - 1, 1)  # clusters, and the root; they are numbered level by level
    starts = put(xp.full(most, count, arrays.index), xp.where(begins, arrays.sums(begins)[:-1], most), place)
    exists, cluster = starts < count, xp.arange(most, dtype=arrays.index)
    starts = starts[arrays.lexsorted(shift[starts], xp.where(exists, depth[starts], count + 1))]
    of = put(xp.zeros_like(place), starts, cluster)[xp.minimum(top[:-1], count - 1)]
    starts = xp.minimum(starts, count - 1)
    low = put(xp.zeros_like(cluster), xp.where(large & (splits != 1), of, most), place)
    split = exists & (splits[low] == 2)
    clusters = _Clusters(
        parent=xp.where(cluster > 0, of[up[starts]], 0),
        parts=xp.where(split[:, None], of[inner[low]], 0),
        birth=xp.where(cluster > 0, level[up[starts]], 0.0),
        death=level[low],
        size=tree.size[starts],
        exists=exists,
        split=split,
    )
    # A point leaves the cluster of the lowest large node that it is in.
    above = xp.append(xp.where(large, place, tree.up), count)
    lowest = flattened(arrays, above)[tree.leaf]
    there, lowest = lowest < count, xp.minimum(lowest, count - 1)
    labels, shares = _labelled(arrays, selection, clusters, there, of[lowest], level[lowest])
    return xp.where(there, labels, -1), xp.where(there, shares, 0.0)


class _Clusters(NamedTuple):
    """The condensed tree: clusters (c,), level by level; 0 is the root."""

    parent: Any
    parts: Any  # (c, 2), clusters, where it is split
    birth: Any
    death: Any  # of the last points
    size: Any
    exists: Any
    split: Any


def _labelled(arrays, selection: Selection, clusters: _Clusters, there, of, out):
    """Return labels and probabilities of points that leave the clusters `of` at the levels `out`."""
    xp, single = arrays.xp, selection.allow_single
    exists, split, parent = clusters.exists, clusters.split, clusters.parent
    number = xp.arange(len(parent), dtype=arrays.index)
    if selection.method == "leaf":
        chosen = exists & ~split & (number > 0)
    else:
        stability = _stability(arrays, clusters, there, of, out)
        below = _best_below(arrays, clusters, stability)
        better = exists & ~(split & (below > stability)) & ((number > 0) | single)
        chosen = better & ~_inside(arrays, parent, better)
    if selection.epsilon is not None:
        chosen = xp.where(chosen[1:].any(), _wide(arrays, selection, clusters, chosen), chosen)
    lowest = flattened(arrays, xp.where(chosen, number, parent))  # the chosen cluster that each lies in, or 0
    name, cluster = xp.where(chosen, arrays.sums(chosen)[:-1], -1), lowest[of]
    labels = xp.where(cluster > 0, name[cluster], -1)
    if single:
        enough = clusters.death[0] if selection.epsilon is None else 1 / selection.epsilon
        alone = (chosen.sum() == 1) & (cluster == 0) & (out >= enough)
        labels = xp.where(alone, name[0], labels)
    most = clusters.death[cluster]
    with np.errstate(invalid="ignore", divide="ignore"):
        share = xp.where((most == 0) | xp.isinf(out), 1.0, xp.minimum(out, most) / most)
    return labels, xp.where(labels >= 0, share, 0.0)


def _stability(arrays, clusters: _Clusters, there, of, out):
    """Return how long points stay in each cluster, in all.

    As sums of integers, which floats hold: so they are the same in any order.
    """
    xp, (birth, death) = arrays.xp, (clusters.birth, clusters.death)
    bits = 2.0 ** (52 - len(of).bit_length())
    with np.errstate(invalid="ignore"):
        span = xp.where(xp.isinf(death) | (death <= birth), 0.0, death - birth)
        part = xp.where(span[of] > 0, (out - birth[of]) / xp.where(span > 0, span, 1.0)[of], 0.0) * bits
    whole, at = xp.floor(part), xp.where(there, of, len(span))
    coarse, fine = (
        arrays.put(xp.zeros_like(span), at, each, "add") for each in (whole, xp.floor((part - whole) * bits))
    )
    stay = xp.where(clusters.split, clusters.size[clusters.parts].sum(axis=1), 0).astype(np.float64)
    found = span * (stay + (coarse + fine / bits) / bits)
    return xp.where(xp.isinf(birth), 0.0, xp.where(xp.isinf(death), xp.inf, found))


def _best_below(arrays, clusters: _Clusters, stability):
    """Return what both parts of each cluster have: each its own stability or what its parts have, if more.

    Each round takes up parts that are known. Who waits for one part only has the larger of a floor and of
    that part and a gain, and looks past others that wait so.
    """
    xp, (a, b) = arrays.xp, clusters.parts.T

    def step(state):
        done, value, floor, gain, awaits = state
        fresh, told = awaits == 0, xp.where(awaits > 0, done[awaits], done[a] & done[b])
        known = xp.maximum(floor, xp.where(fresh, value[a] + value[b], gain + value[awaits]))
        value = xp.where(told & ~done, known, value)
        further = ~fresh & (awaits[awaits] > 0)
        floor = xp.where(further, xp.maximum(floor, gain + floor[awaits]), floor)
        one = fresh & (done[a] != done[b])
        gain = xp.where(
            one, xp.where(done[a], state[1][a], state[1][b]), gain + xp.where(further, gain[awaits], 0.0)
        )
        awaits = xp.where(one, xp.where(done[a], b, a), xp.where(further, awaits[awaits], awaits))
        return done | told, value, floor, gain, awaits

    none = xp.zeros_like(clusters.parent)
    start = ~clusters.split, stability, stability, xp.zeros_like(stability), none
    value = arrays.repeat(lambda state: ~state[0].all(), step, start)[1]
    return value[a] + value[b]


def _inside(arrays, parent, better):
    """Return which clusters lie in one that is better."""
    start = parent, better[parent] & (parent != arrays.xp.arange(len(parent), dtype=parent.dtype))
    return arrays.repeat(
        lambda state: (state[0] > 0).any(),
        lambda state: (state[0][state[0]], state[1] | state[1][state[0]]),
        start,
    )[1]


def _wide(arrays, selection: Selection, clusters: _Clusters, chosen):
    """Return the chosen clusters, each as the first that it lies in that parts from others beyond epsilon."""
    xp, parent = arrays.xp, clusters.parent
    number = xp.arange(len(parent), dtype=arrays.index)
    with np.errstate(divide="ignore"):
        parts_at = 1 / clusters.birth
    far = parts_at > selection.epsilon
    high = flattened(arrays, xp.where(far | (parent == 0), number, parent))[parent]
    high = xp.where(parent == 0, number, high)
    high = xp.where((far[high] & (parent > 0)) | (not selection.allow_single), high, 0)
    kept = xp.where(parts_at >= selection.epsilon, number, high)
    return arrays.put(xp.zeros_like(chosen), xp.where(chosen, kept, len(kept)), True)
