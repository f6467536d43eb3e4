"""Single linkage: which components the edges of a spanning tree merge, one after the other.

Written once for NumPy and for programs of JAX, with `arrays` of one or the other: shapes are fixed, and
nothing takes more steps than the logarithm of a length, but for `grown`, which is the host's alone. Indices
beyond the end of an array write nothing; so they stand for none.
"""

import heapq
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from .._tree._sorting import lexsorted
from ._arrays import Arrays

__all__ = ["Dendrogram", "Linkage", "Walked", "dendrogram", "flattened", "from_lowest", "grown", "linkage"]


class Dendrogram(NamedTuple):
    """The merges of n points by the E = n - 1 edges of a tree.

    Merges are numbered by their places, line by line. A line is a row of merges from below, of which each but
    the last has the next one above it; the last has that at which the line ends.
    """

    edge: Any  # (E,) by which a place merges
    up: Any  # (E,) the place above, E above the root
    end: Any  # (E,) the last place of the line
    size: Any  # (E,) points in both parts, 0 where there is no edge
    nodes: Any  # (2 E,) both parts of each place: a point, or n + a place
    leaf: Any  # (n,) the place above each point, E where there is none
    joined: Any  # how many edges did not close a cycle


class _Joining(NamedTuple):
    """The state of the rounds that find out in which line each edge merges.

    A line's name is ``2 * edge + side``, by the edge at which it ends and the side of that; -1: not known.
    """

    sources: Any  # (E,) the component at each end of an edge
    targets: Any
    line: Any  # (E,)
    points: Any  # (E,) how many points are in the parts of an edge that are no line's
    joined: Any  # how many edges did not close a cycle


def dendrogram(arrays: Arrays, point_count: int, sources, targets) -> Dendrogram:
    """Return the merges by a tree's edges, one or more, in their order; at the end rows -1 are none.

    Each round joins components by their first edges. An edge in a component that comes before its first one
    is in the line that ends there, on this side: the line has all such edges that are in no line yet.
    """
    xp = arrays.xp
    edge_count = len(sources)
    no_line = 2 * edge_count
    is_missing = sources < 0
    sources, targets = (xp.where(is_missing, 0, each).astype(arrays.index) for each in (sources, targets))
    first_lines = _first_lines(arrays, point_count, sources, targets)
    start = _Joining(
        sources,
        targets,
        line=xp.where(is_missing, no_line + 1, -1).astype(arrays.index),
        points=arrays.add(xp.zeros(edge_count, arrays.index), first_lines >> 1, 1),
        joined=xp.zeros((), arrays.index),
    )

    def has_more(state):
        return (state.sources != state.targets).any()

    state = arrays.repeat(has_more, lambda state: _join(arrays, point_count, state), start)
    return _merges_by_line(arrays, first_lines, state)


def _first_lines(arrays: Arrays, point_count: int, sources, targets):
    """Return the line that ends at the first edge out of each component, named by its lowest point."""
    no_line = 2 * len(sources)
    edges = arrays.xp.arange(len(sources), dtype=arrays.index)
    first = arrays.xp.full(point_count, no_line, arrays.index)
    for side, ends in enumerate((sources, targets)):
        leaves = arrays.xp.where(sources != targets, ends, point_count)
        first = arrays.put_least(first, leaves, 2 * edges + side)
    return first


def _join(arrays: Arrays, point_count: int, state: _Joining) -> _Joining:
    """Join each component with the other one of its first edge."""
    xp = arrays.xp
    sources, targets, line, points, joined = state
    edge_count = len(sources)
    edges = xp.arange(edge_count, dtype=arrays.index)
    components = xp.arange(point_count, dtype=arrays.index)
    first = _first_lines(arrays, point_count, sources, targets)
    # Edges inside of a component that come before its first one are in the line that ends there.
    is_known = (sources == targets) & (line < 0) & (2 * edges < first[sources])
    line = xp.where(is_known, first[sources], line)
    zeros = xp.zeros(point_count, arrays.index)
    in_lines = arrays.add(zeros, xp.where(is_known, sources, point_count), points)
    points = arrays.add(points, first >> 1, in_lines)
    first_edge = xp.minimum(first >> 1, edge_count - 1)
    other = xp.where(first & 1 == 1, sources[first_edge], targets[first_edge])
    other = xp.where(first == 2 * edge_count, components, other)
    # Of two components that have the same first edge, the lower one is the root.
    is_root = (other[other] == components) & (components < other)
    root = flattened(arrays, xp.where(is_root, components, other))
    joined = joined + (root != components).sum(dtype=arrays.index)
    return _Joining(root[sources], root[targets], line, points, joined)


def _merges_by_line(arrays: Arrays, first_lines, state: _Joining) -> Dendrogram:
    """Return the merges, line by line; `first_lines` are those at whose ends the points are."""
    xp = arrays.xp
    put = arrays.put
    edge_count = len(state.line)
    point_count = len(first_lines)
    none = 2 * edge_count
    line = xp.where(state.line < 0, none, state.line)  # the root's
    order = arrays.lexsorted(line)
    line = line[order]
    places = xp.arange(edge_count, dtype=arrays.index)
    changes = line[1:] != line[:-1]
    always = xp.ones(1, bool)
    is_first = xp.concatenate([always, changes])
    is_last = xp.concatenate([changes, always])
    place_of_edge = xp.append(put(places, order, places), xp.full(1, edge_count, arrays.index))
    above = place_of_edge[line >> 1]  # the last place of a line
    up = xp.where(is_last, above, places + 1)

    sums = arrays.sums(state.points[order])
    line_number = arrays.sums(is_first)[1:] - 1
    line_start = put(places, xp.where(is_first, line_number, none), places)
    size = sums[1:] - sums[line_start[line_number]]

    leaf = place_of_edge[first_lines >> 1]
    points = xp.arange(point_count, dtype=arrays.index)
    nodes = put(xp.full(none, -1, arrays.index), 2 * leaf + (first_lines & 1), points)
    nodes = put(nodes, xp.where(is_last, 2 * above + (line & 1), none), point_count + places)
    # A place within a line is on the side of the next one that is left.
    is_right = (nodes.reshape(-1, 2)[:, 0] >= 0).astype(arrays.index)
    side_left = 2 * up + is_right[xp.minimum(up, edge_count - 1)]
    nodes = put(nodes, xp.where(is_last, none, side_left), point_count + places)
    return Dendrogram(order, up, arrays.following(is_last), size, nodes, leaf, state.joined)


def flattened(arrays: Arrays, parents):
    """Return the root of each; those of roots are themselves."""

    def has_more(parents):
        return (parents[parents] != parents).any()

    return arrays.repeat(has_more, lambda parents: parents[parents], parents)


class Linkage(NamedTuple):
    """SciPy's linkage matrix, but for the distances, by the order of the edges."""

    order: Any  # (E,) of the edges
    nodes: Any  # (E, 2) that each joins: a point, or n + the number of an earlier merge; -1 for none
    sizes: Any  # (E,) points in both
    is_tree: Any  # whether the edges are those of a tree


def linkage(arrays: Arrays, rows, distances, point_count) -> Linkage:
    """Return what each of the edges (E, 2) merges, the shortest first.

    There may be room for more points than `point_count`; edges of rows -1 come last.
    """
    xp = arrays.xp
    is_edge = ((rows >= 0) & (rows < point_count)).all(axis=1)
    is_no_edge = ~is_edge & (rows != -1).all(axis=1)
    is_wrong = is_no_edge.any() | xp.isnan(distances).any()
    order = arrays.lexsorted(arrays.ascending(distances), ~is_edge)
    rows = xp.where(is_edge[:, None], rows, -1)[order]
    is_edge = is_edge[order]
    edge_count = len(rows)
    if not edge_count:
        return Linkage(order, rows, order, ~is_wrong)
    merges = dendrogram(arrays, edge_count + 1, *rows.T)
    # Parts that are merges are named by their places; SciPy names them by the edges, in order.
    nodes = merges.nodes.reshape(-1, 2)
    merged_before = point_count + merges.edge[xp.maximum(nodes - edge_count - 1, 0)]
    nodes = xp.where(nodes <= edge_count, nodes, merged_before)
    zeros = xp.zeros_like(merges.size)
    lower = arrays.put(zeros, merges.edge, nodes.min(axis=1))
    higher = arrays.put(zeros, merges.edge, nodes.max(axis=1))
    sizes = arrays.put(zeros, merges.edge, merges.size)
    nodes = xp.where(is_edge[:, None], xp.stack([lower, higher], axis=1), -1)
    edges = is_edge.sum(dtype=arrays.index)
    points = (merges.leaf < edge_count).sum(dtype=arrays.index)
    has_all_points = points == xp.where(edges > 0, edges + 1, 0)
    return Linkage(order, nodes, sizes, (merges.joined == edges) & has_all_points & ~is_wrong)


# --- orders of equally long edges -----------------------------------------------------------------------


class Walked(NamedTuple):
    """A tree's edges by ascending distances: of each the end nearer to the lowest row first."""

    sources: Any
    targets: Any
    distances: Any


def from_lowest(point_count: int, sources, targets, distances) -> Walked:
    """Return a tree's edges in the order of a walk around the tree from the shortest edge on.

    So equally long ones join one by one to what is dense, as where scikit-learn's tree grows. Edges of rows
    -1 stay last.
    """
    step_count = 2 * len(sources)
    steps = jnp.arange(step_count, dtype=jnp.int32)  # 2 e and 2 e + 1: along an edge in both directions
    begins = jnp.stack([sources, targets], axis=1).reshape(-1)
    begins = jnp.where(begins < 0, point_count, begins).astype(jnp.int32)
    order = lexsorted(begins)  # the steps from each point follow each other
    begins = begins[order]
    changes = begins[1:] != begins[:-1]
    always = jnp.ones(1, bool)
    first = lax.cummax(jnp.where(jnp.concatenate([always, changes]), steps, 0))
    is_last = jnp.concatenate([changes, always])
    next_from_point = jnp.where(is_last, order[first], jnp.roll(order, -1))
    # After a step comes the next one from its end behind the way back.
    onward = jnp.zeros_like(steps).at[order].set(next_from_point)[steps ^ 1].astype(jnp.int64)
    first_step = order[0].astype(jnp.int64)
    # In the upper half the number of steps to one that is ahead, in the lower half which it is.
    left = jnp.where(onward == first_step, steps.astype(jnp.int64), (1 << 32) + onward)

    def twice_as_far(_, left):
        ahead = left & 0xFFFFFFFF
        return left - ahead + left[ahead]

    left = (lax.fori_loop(0, step_count.bit_length(), twice_as_far, left) >> 32).astype(jnp.int32)
    forth = left[::2]
    back = left[1::2]
    low = jnp.where(forth > back, sources, targets)
    high = jnp.where(forth > back, targets, sources)
    walk_length = left[order[0]] + 1
    position = jnp.minimum((left[0] - forth) % walk_length, (left[0] - back) % walk_length)
    order = lexsorted(position, distances)
    return Walked(low[order], high[order], distances[order])


def grown(point_count: int, rows, distances):
    """Return the edges (n - 1, 2) of Prim's tree from row 0 on, of a graph, and their distances.

    Where points are equally far the first one joins by its first neighbor in the tree. So scikit-learn grows
    its tree, on which labels depend: distances that are a point's core distance are all equal.
    """
    lower = rows.min(axis=1)
    higher = rows.max(axis=1)
    _, once = np.unique(lower * point_count + higher, return_index=True)
    sources = np.concatenate([lower[once], higher[once]])
    targets = np.concatenate([higher[once], lower[once]])
    levels, rank = np.unique(distances[once], return_inverse=True)
    keys = np.concatenate([rank, rank]) * point_count + targets  # ordered by the distance, then by the row
    order = np.argsort(sources, kind="stable")
    starts = np.searchsorted(sources[order], np.arange(point_count + 1)).tolist()
    keys_of_points = keys[order].tolist()
    is_outside = bytearray(b"\1") * point_count
    taken = []
    key = 0
    heap: list[int] = []
    for _ in range(point_count):
        while not is_outside[key % point_count]:
            key = heapq.heappop(heap)
        taken.append(key)
        point = key % point_count
        is_outside[point] = 0
        for neighbor in keys_of_points[starts[point] : starts[point + 1]]:
            if is_outside[neighbor % point_count]:
                heapq.heappush(heap, neighbor)
    level, points = np.divmod(taken, point_count)
    position = np.argsort(points)
    # Of the edges by which a point might have joined, that to the first one in the tree.
    is_joining = (position[sources] < position[targets]) & (keys == np.asarray(taken)[position[targets]])
    joined_to = np.full(point_count, point_count)
    np.minimum.at(joined_to, position[targets[is_joining]], position[sources[is_joining]])
    edges = np.stack([points[joined_to[1:]], points[1:]], axis=1)
    return edges, levels[level[1:]]
