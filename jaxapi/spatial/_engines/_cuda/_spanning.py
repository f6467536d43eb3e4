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
from ._launch import NONE, Kernel, launch
from ._nearest_by_cuda import distances_in_units
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
    shortens = jnp.asarray(shortens, dtype)
    space = {"scale": tree.scale, "lengths": boxsize_operand(tree, metric.boxsize)}
    nodes = nodes_of(tree, metric.boxsize).boxes

    def run(name, inputs, outputs=NONE, in_place=NONE, count=slots, threads=THREADS, **constants):
        periodic = metric.is_periodic
        kernel = Kernel.of(name, m=m, dtype=dtype, p=metric.p, periodic=periodic, **constants)
        return launch(kernel, -(-count // threads), threads, inputs, outputs, in_place)

    no_edges = {
        "uppers": jax.ShapeDtypeStruct((slots,), dtype),
        "picks": jax.ShapeDtypeStruct((slots, 2), np.int32),
    }
    has_cores = {"cores": int(cores is not None)}

    def join(state: _Round) -> _Round:
        """Join every component to the one that is closest to it."""
        labelled = {"parents": state.parents, "labels": state.labels}
        uppers, picked, parents, labels = run("roots", {"sizes": sizes}, no_edges, labelled)
        uniform = state.uniform
        for height in range(0, tree.levels, HEIGHTS):
            inputs = {"labels": labels, "sizes": np.array([*sizes, height], np.int32)}
            (uniform,) = run("uniform", inputs, in_place={"known": uniform}, count=tree.leaves >> height)
        inputs = {
            "points": tree.points,
            **space,
            "cores": floor,
            "shortens": shortens,
            "labels": labels,
            "near": state.near,
            "apart": state.apart,
            "valid": valid,
            "sizes": sizes,
        }
        (uppers,) = run("bounds", inputs, in_place={"uppers": uppers}, **has_cores)
        inputs = {
            "points": tree.points,
            "rows": tree.rows,
            "boxes": nodes,
            **space,
            "core_distances": floor,
            "shortens": shortens,
            "labels": labels,
            "known": uniform,
            "valid": valid,
            "sizes": sizes,
        }
        in_place = {"uppers": uppers, "near": state.near, "apart": state.apart}
        of_warps = {"threads": WARPS * 32, "warps": WARPS}
        uppers, near, apart = run("others", inputs, in_place=in_place, **of_warps, **has_cores)
        ends = {"rows": tree.rows, "labels": labels, "near": near, "apart": apart}
        inputs = {**ends, "uppers": uppers, "valid": valid}
        (picked,) = run("picks", inputs, in_place={"picked": picked})
        inputs = {**ends, "picked": picked, "valid": valid}
        in_place = {"parents": parents, "edges": state.edges, "distances": state.distances}
        parents, edges, distances = run("hooks", inputs, in_place=in_place)
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
