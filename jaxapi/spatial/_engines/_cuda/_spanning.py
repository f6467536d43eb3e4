"""The minimum spanning tree on an NVIDIA GPU: Boruvka's rounds on the one tree.

Each round every component takes its first edge to another, by (distance, lower row, higher row). A slot
searches only where it may have that edge: not while the nearest one found before is of another component, nor
where that was farther than what is known of its component.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ...._core._typing import Array
from ..._tree._metric import TreeMetric
from ..._tree._sorting import lexsorted
from ..._tree._tree import Tree
from ..._tree._varying import varying_like
from ._launch import Kernel, launch
from ._nearest import distances_in_units
from ._order import THREADS, boxsize_operand, nodes_of
from ._radius import WARPS

__all__ = ["spanning_edges"]

HEIGHTS = 5  # that a warp's lanes go up


class _Round(NamedTuple):
    """Components after a round, each a tree of slots that refer to a parent, and the edges found so far."""

    components_before: Array  # how many before the round
    components: Array
    parents: Array  # (N,)
    labels: Array  # (N,) the component of each slot
    uniform: Array  # (2L,) what is known of nodes that lie in one component
    near: Array  # (N,) the closest slot of another component that was found last, -1 for none
    apart: Array  # (N,) how far it is, or a number below which there is none
    edges: Array  # (N, 2)
    distances: Array  # (N,) scaled power distances


def spanning_edges(tree: Tree, cores: Array | None, shortens, metric: TreeMetric) -> tuple[Array, Array]:
    """Return the rows (N, 2) and the distances (N,) of the edges in their order; at the end -1 and inf.

    With the slots' `cores` (N,), scaled power distances, no distance is less than those of its ends, and
    `shortens` is a factor of the points' power distances.
    """
    inputs_of_search = tree, cores, shortens
    m, slots = tree.points.shape
    dtype = tree.points.dtype
    valid = jnp.sum(jnp.isfinite(tree.points[0]), dtype=jnp.int32)
    sizes = np.array([tree.leaf_size, tree.levels], np.int32)
    floor = jnp.zeros(slots, dtype) if cores is None else cores
    mutual = floor, jnp.asarray(shortens, dtype)
    space = tree.scale, boxsize_operand(tree, metric.boxsize)
    nodes = nodes_of(tree, metric.boxsize).boxes

    def run(name, inputs, outputs=(), in_place=(), count=slots, threads=THREADS, **constants):
        periodic = metric.is_periodic
        kernel = Kernel.of(name, m=m, dtype=dtype, p=metric.p, periodic=periodic, **constants)
        changed = [jax.ShapeDtypeStruct(array.shape, array.dtype) for array in in_place]
        blocks = -(-count // threads)
        arrays = *inputs, *in_place
        return launch(kernel, blocks, threads, arrays, (*outputs, *changed), in_place=len(in_place))

    shapes = jax.ShapeDtypeStruct((slots,), dtype), jax.ShapeDtypeStruct((slots, 2), np.int32)
    has_cores = {"cores": int(cores is not None)}

    def join(state: _Round) -> _Round:
        """Join every component to the one that is closest to it."""
        uppers, picked, parents, labels = run("roots", [sizes], shapes, (state.parents, state.labels))
        uniform = state.uniform
        for height in range(0, tree.levels, HEIGHTS):
            of_height = labels, np.array([*sizes, height], np.int32)
            (uniform,) = run("uniform", of_height, (), [uniform], tree.leaves >> height)
        known = tree.points, *space, *mutual, labels, state.near, state.apart, valid, sizes
        (uppers,) = run("bounds", known, (), [uppers], **has_cores)
        inputs = tree.points, tree.rows, nodes, *space, *mutual, labels, uniform, valid, sizes
        changed = uppers, state.near, state.apart
        uppers, near, apart = run("others", inputs, (), changed, slots, WARPS * 32, warps=WARPS, **has_cores)
        ends = tree.rows, labels, near, apart
        (picked,) = run("picks", (*ends, uppers, valid), (), [picked])
        changed = parents, state.edges, state.distances
        parents, edges, distances = run("hooks", (*ends, picked, valid), (), changed)
        left = jnp.sum(parents == order, dtype=jnp.int32)
        components = state.components, left
        joined = _Round(*components, parents, labels, uniform, near, apart, edges, distances)
        return varying_like(joined, inputs_of_search)

    def are_more(state: _Round):
        return (state.components < state.components_before) & (state.components > slots - valid + 1)

    order = jnp.arange(slots, dtype=jnp.int32)
    start = _Round(
        components_before=jnp.int32(slots + 1),
        components=jnp.int32(slots),
        parents=order,
        labels=order,
        uniform=jnp.zeros(2 * tree.leaves, jnp.int32),
        near=jnp.full(slots, -1, jnp.int32),
        apart=floor,
        edges=jnp.full((slots, 2), -1, jnp.int32),
        distances=jnp.full(slots, jnp.inf, dtype),
    )
    joined = lax.while_loop(are_more, join, varying_like(start, inputs_of_search))
    edges = joined.edges
    distances = distances_in_units(tree, joined.distances[:, None], metric)[:, 0]
    high, low = edges.T
    order = lexsorted(high, low, distances)
    return jnp.stack([low, high], axis=1)[order], distances[order]
