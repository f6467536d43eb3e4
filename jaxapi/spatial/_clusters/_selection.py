"""HDBSCAN's clusters from the dendrogram of a spanning tree, by scikit-learn's rules.

The level is 1 / distance. A cluster is born at the level where a larger one splits. Points leave it at higher
levels, until at the level of its death it splits itself, or its last points leave.

Written once for NumPy and for programs of JAX, as `_hierarchy`.
"""

from typing import Any, NamedTuple

import numpy as np

from ._arrays import Arrays
from ._hierarchy import Dendrogram, flattened

__all__ = ["Selection", "flat_clusters"]


class Selection(NamedTuple):
    """How clusters are chosen."""

    min_cluster_size: int
    method: str  # 'eom' or 'leaf'
    epsilon: Any  # a float, may be traced; None for 0
    allow_single: bool


class _Clusters(NamedTuple):
    """The condensed tree: room for c clusters, numbered level by level; 0 is the root."""

    parent: Any  # (c,), 0 for the root
    parts: Any  # (c, 2) the clusters that one splits into, 0 where it does not
    birth: Any  # (c,) the level at which the parent splits, 0 for the root
    death: Any  # (c,) the level at which it splits or its last points leave
    size: Any  # (c,) points at birth
    exists: Any  # (c,)
    splits: Any  # (c,) whether it splits


class _Leaving(NamedTuple):
    """Where points leave the condensed tree."""

    cluster: Any  # (n,)
    level: Any  # (n,)
    exists: Any  # (n,) whether a point has an edge


def flat_clusters(arrays: Arrays, selection: Selection, dendrogram: Dendrogram, distances):
    """Return labels (n,), -1 for noise, and float64 probabilities (n,) from the edges' distances (E,).

    Sides of equally high clusters tell which is numbered first: those of the edges' first ends.
    """
    xp = arrays.xp
    point_count = len(dendrogram.leaf)
    if not len(dendrogram.up):
        return xp.full(point_count, -1, arrays.index), xp.zeros(point_count)
    clusters, leaving = _condensed(arrays, selection.min_cluster_size, dendrogram, distances)
    chosen = _chosen(arrays, selection, clusters, leaving)
    labels, probabilities = _labelled(arrays, selection, clusters, leaving, chosen)
    return xp.where(leaving.exists, labels, -1), xp.where(leaving.exists, probabilities, 0.0)


# --- the condensed tree ---------------------------------------------------------------------------------


class _Places(NamedTuple):
    """Which places of the dendrogram are large enough for a cluster, (E,); their parts are places, too."""

    level: Any
    parts: Any  # (E, 2), below 0 for points
    is_root: Any
    is_large: Any
    large_parts: Any  # how many of the two parts are large
    is_top: Any  # whether it is the first place of a cluster

    @property
    def is_bottom(self):
        """Whether it is the last place of a cluster, which splits there or ends."""
        return self.is_large & (self.large_parts != 1)

    @classmethod
    def of(cls, arrays: Arrays, least_size: int, tree: Dendrogram, distances) -> "_Places":
        """Return the places of a dendrogram whose edges have these distances (E,)."""
        xp = arrays.xp
        place_count = len(tree.up)
        with np.errstate(divide="ignore"):
            level = 1 / distances[tree.edge].astype(np.float64)
        is_root = (tree.up == place_count) & (tree.size > 0)
        is_large = (tree.size >= least_size) | is_root
        up = xp.minimum(tree.up, place_count - 1)
        parts = tree.nodes.reshape(-1, 2) - len(tree.leaf)
        is_large_part = (parts >= 0) & is_large[xp.maximum(parts, 0)]
        large_parts = is_large_part.sum(axis=1, dtype=arrays.index)
        is_top = is_root | (is_large & (large_parts[up] == 2))
        return cls(level, parts, is_root, is_large, large_parts, is_top)


def _condensed(arrays: Arrays, least_size: int, tree: Dendrogram, distances) -> tuple[_Clusters, _Leaving]:
    """Leave out of the tree what has fewer points than a cluster.

    Where both parts of a place are large, they are clusters; else the large one goes on.
    """
    xp = arrays.xp
    put = arrays.put
    point_count = len(tree.leaf)
    place_count = len(tree.up)
    numbers = xp.arange(place_count, dtype=arrays.index)
    places = _Places.of(arrays, least_size, tree, distances)
    above = _look_up(arrays, tree, places.is_top, _points_to_the_left(arrays, tree, places))

    # The first places of the clusters, level by level and from left to right.
    most_clusters = max(2 * (point_count // least_size) - 1, 1)
    clusters = xp.arange(most_clusters, dtype=arrays.index)
    number_of_top = xp.where(places.is_top, arrays.sums(places.is_top)[:-1], most_clusters)
    top = put(xp.full(most_clusters, place_count, arrays.index), number_of_top, numbers)
    exists = top < place_count
    depths = xp.where(exists, above.depth[top], place_count + 1)
    top = top[arrays.lexsorted(above.points_before[top], depths)]
    cluster_of_top = put(xp.zeros_like(numbers), top, clusters)
    cluster_of_place = cluster_of_top[xp.minimum(above.top[:-1], place_count - 1)]
    top = xp.minimum(top, place_count - 1)
    # And the last ones, where a cluster splits or ends.
    cluster_of_bottom = xp.where(places.is_bottom, cluster_of_place, most_clusters)
    bottom = put(xp.zeros_like(clusters), cluster_of_bottom, numbers)
    splits = exists & (places.large_parts[bottom] == 2)
    above_top = xp.minimum(tree.up, place_count - 1)[top]
    parts_of_bottom = xp.maximum(places.parts, 0)[bottom]
    condensed = _Clusters(
        parent=xp.where(clusters > 0, cluster_of_place[above_top], 0),
        parts=xp.where(splits[:, None], cluster_of_place[parts_of_bottom], 0),
        birth=xp.where(clusters > 0, places.level[above_top], 0.0),
        death=places.level[bottom],
        size=tree.size[top],
        exists=exists,
        splits=splits,
    )
    return condensed, _leaving(arrays, tree, places, cluster_of_place)


def _points_to_the_left(arrays: Arrays, tree: Dendrogram, places: _Places):
    """Return how many points a place (E,) has to the left of it that the one above it has not."""
    xp = arrays.xp
    place_count = len(tree.up)
    numbers = xp.arange(place_count, dtype=arrays.index)
    up = xp.minimum(tree.up, place_count - 1)
    left_part = places.parts[:, 0]
    left_size = xp.where(left_part < 0, 1, tree.size[xp.maximum(left_part, 0)])
    is_right = (places.parts[up, 1] == numbers) & ~places.is_root
    return xp.where(is_right, left_size[up], 0)


def _leaving(arrays: Arrays, tree: Dendrogram, places: _Places, cluster_of_place) -> _Leaving:
    """Return where each point leaves the condensed tree: at the lowest large place above it."""
    xp = arrays.xp
    place_count = len(tree.up)
    numbers = xp.arange(place_count, dtype=arrays.index)
    next_large = xp.append(xp.where(places.is_large, numbers, tree.up), place_count)
    lowest = flattened(arrays, next_large)[tree.leaf]
    has_edge = lowest < place_count
    lowest = xp.minimum(lowest, place_count - 1)
    return _Leaving(cluster_of_place[lowest], places.level[lowest], has_edge)


class _Above(NamedTuple):
    """What lies on the way from each place to the root, (E + 1,): the last is that of no place."""

    depth: Any  # how many places
    points_before: Any  # how many points further left in the tree
    top: Any  # the first place of a cluster, E for none


def _look_up(arrays: Arrays, tree: Dendrogram, is_top, points_before) -> _Above:
    """Sum along the way up: within a line at once, then line by line, of which few follow each other.

    `points_before` are what `_points_to_the_left` returns.
    """
    xp = arrays.xp
    place_count = len(tree.up)
    places = xp.arange(place_count, dtype=arrays.index)
    sums = arrays.sums(points_before)
    next_top = arrays.following(is_top)
    ahead = xp.append(tree.up[tree.end], place_count)
    depth = xp.append(tree.end + 1 - places, 0)
    points_before = xp.append(sums[tree.end + 1] - sums[:-1], 0)
    top = xp.append(xp.where(next_top <= tree.end, next_top, place_count), place_count)
    for _ in range(place_count.bit_length().bit_length()):
        depth = depth + depth[ahead]
        points_before = points_before + points_before[ahead]
        top = xp.where(top < place_count, top, top[ahead])
        ahead = ahead[ahead]
    return _Above(depth, points_before, top)


# --- which clusters -------------------------------------------------------------------------------------


def _chosen(arrays: Arrays, selection: Selection, clusters: _Clusters, leaving: _Leaving):
    """Return which clusters are chosen (c,), none within another."""
    xp = arrays.xp
    is_root = xp.arange(len(clusters.parent), dtype=arrays.index) == 0
    if selection.method == "leaf":
        chosen = clusters.exists & ~clusters.splits & ~is_root
    else:
        stability = _stability(arrays, clusters, leaving)
        best_of_parts = _best_of_parts(arrays, clusters, stability)
        is_better = clusters.exists & ~(clusters.splits & (best_of_parts > stability))
        is_better = is_better & (~is_root | selection.allow_single)
        chosen = is_better & ~_lies_in(arrays, clusters.parent, is_better)
    if selection.epsilon is not None:
        chosen = xp.where(chosen[1:].any(), _widened(arrays, selection, clusters, chosen), chosen)
    return chosen


def _stability(arrays: Arrays, clusters: _Clusters, leaving: _Leaving):
    """Return how long points stay in each cluster, in all.

    As sums of integers, which floats hold: so they are the same in any order. The first sum is of the upper
    half of each number's digits, the second one of the lower half.
    """
    xp = arrays.xp
    birth = clusters.birth
    death = clusters.death
    cluster = leaving.cluster
    digits = 2.0 ** (52 - len(cluster).bit_length())
    with np.errstate(invalid="ignore"):
        span = xp.where(xp.isinf(death) | (death <= birth), 0.0, death - birth)
        share = (leaving.level - birth[cluster]) / xp.where(span > 0, span, 1.0)[cluster]
    share = xp.where(span[cluster] > 0, share, 0.0) * digits
    upper = xp.floor(share)
    lower = xp.floor((share - upper) * digits)
    cluster = xp.where(leaving.exists, cluster, len(span))
    zeros = xp.zeros_like(span)
    left_before = (arrays.add(zeros, cluster, upper) + arrays.add(zeros, cluster, lower) / digits) / digits
    stay = xp.where(clusters.splits, clusters.size[clusters.parts].sum(axis=1), 0).astype(np.float64)
    stability = xp.where(xp.isinf(death), xp.inf, span * (stay + left_before))
    return xp.where(xp.isinf(birth), 0.0, stability)


class _Best(NamedTuple):
    """The state of the rounds that find the best of the parts of each cluster.

    A cluster that waits for one part only will have `gain` and what that part has, or `floor` if that is
    more.
    """

    is_known: Any
    value: Any
    floor: Any
    gain: Any
    awaited: Any  # the part waited for, 0 for both


def _best_of_parts(arrays: Arrays, clusters: _Clusters, stability):
    """Return what both parts of each cluster have: each its own stability or what its parts have, if more.

    Each round takes up parts that are known, and looks past parts that wait for one part themselves.
    """
    xp = arrays.xp
    first, second = clusters.parts.T

    def step(state: _Best) -> _Best:
        is_known, value, floor, gain, awaited = state
        awaits_both = awaited == 0
        is_told = xp.where(awaits_both, is_known[first] & is_known[second], is_known[awaited])
        parts_value = xp.where(awaits_both, value[first] + value[second], gain + value[awaited])
        new_value = xp.where(is_told & ~is_known, xp.maximum(floor, parts_value), value)
        # Past a part that waits itself: its floor and gain become this cluster's.
        looks_past = ~awaits_both & (awaited[awaited] > 0)
        floor = xp.where(looks_past, xp.maximum(floor, gain + floor[awaited]), floor)
        gain = gain + xp.where(looks_past, gain[awaited], 0.0)
        # One part of two is known from now on.
        has_one = awaits_both & (is_known[first] != is_known[second])
        gain = xp.where(has_one, xp.where(is_known[first], value[first], value[second]), gain)
        other = xp.where(is_known[first], second, first)
        awaited = xp.where(has_one, other, xp.where(looks_past, awaited[awaited], awaited))
        return _Best(is_known | is_told, new_value, floor, gain, awaited)

    none = xp.zeros_like(clusters.parent)
    start = _Best(~clusters.splits, stability, stability, xp.zeros_like(stability), none)
    value = arrays.repeat(lambda state: ~state.is_known.all(), step, start).value
    return value[first] + value[second]


def _lies_in(arrays: Arrays, parent, mask):
    """Return which clusters lie in one of the mask, at any depth."""
    is_root = arrays.xp.arange(len(parent), dtype=parent.dtype) == parent

    def has_more(state):
        ancestor, _ = state
        return (ancestor > 0).any()

    def twice_as_far(state):
        ancestor, lies_in = state
        return ancestor[ancestor], lies_in | lies_in[ancestor]

    return arrays.repeat(has_more, twice_as_far, (parent, mask[parent] & ~is_root))[1]


def _widened(arrays: Arrays, selection: Selection, clusters: _Clusters, chosen):
    """Return the chosen clusters, each as the first that it lies in that parts from others beyond epsilon."""
    xp = arrays.xp
    parent = clusters.parent
    numbers = xp.arange(len(parent), dtype=arrays.index)
    with np.errstate(divide="ignore"):
        birth_distance = 1 / clusters.birth
    is_far = birth_distance > selection.epsilon
    wide = flattened(arrays, xp.where(is_far | (parent == 0), numbers, parent))[parent]
    wide = xp.where(parent == 0, numbers, wide)
    stays = (is_far[wide] & (parent > 0)) | (not selection.allow_single)
    wide = xp.where(stays, wide, 0)
    kept = xp.where(birth_distance >= selection.epsilon, numbers, wide)
    return arrays.put(xp.zeros_like(chosen), xp.where(chosen, kept, len(kept)), True)


# --- labels ---------------------------------------------------------------------------------------------


def _labelled(arrays: Arrays, selection: Selection, clusters: _Clusters, leaving: _Leaving, chosen):
    """Return labels and probabilities of points."""
    xp = arrays.xp
    numbers = xp.arange(len(chosen), dtype=arrays.index)
    label_of_cluster = xp.where(chosen, arrays.sums(chosen)[:-1], -1)
    # The chosen cluster that each lies in, or 0.
    chosen_above = flattened(arrays, xp.where(chosen, numbers, clusters.parent))
    cluster = chosen_above[leaving.cluster]
    labels = xp.where(cluster > 0, label_of_cluster[cluster], -1)
    if selection.allow_single:
        enough = clusters.death[0] if selection.epsilon is None else 1 / selection.epsilon
        is_in_root = (chosen.sum() == 1) & (cluster == 0) & (leaving.level >= enough)
        labels = xp.where(is_in_root, label_of_cluster[0], labels)
    death = clusters.death[cluster]
    with np.errstate(invalid="ignore", divide="ignore"):
        share = xp.minimum(leaving.level, death) / death
    is_whole = (death == 0) | xp.isinf(leaving.level)
    probabilities = xp.where(is_whole, 1.0, share)
    return labels, xp.where(labels >= 0, probabilities, 0.0)
