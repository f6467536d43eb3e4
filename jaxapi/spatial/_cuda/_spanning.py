"""The minimum spanning tree on an NVIDIA GPU: Boruvka's rounds on the one tree.

Each round every component takes its first edge to another, by (distance, lower row, higher row). A slot
searches only where it may have that edge: not while the nearest one found before is of another component, nor
where that was farther than what is known of its component.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core._typing import Array
from .._structure._sorting import lexsorted
from .._structure._tree import Tree
from ._launch import Kernel, launch
from ._nearest import in_units
from ._order import THREADS, lengths, nodes_of
from ._radius import WARPS

__all__ = ["spanning_edges"]

HEIGHTS = 5  # that a warp's lanes go up


def spanning_edges(tree: Tree, cores: Array | None, shortens, box: Array | None, *, p: float):
    """Return the rows (N, 2) and the distances (N,) of the edges in their order; at the end -1 and inf.

    With the slots' `cores` (N,), scaled power distances, no distance is less than those of its ends, and
    `shortens` is a factor of the points' power distances.
    """
    m, slots = tree.points.shape
    dtype = tree.points.dtype
    valid = jnp.sum(jnp.isfinite(tree.points[0]), dtype=jnp.int32)
    sizes = np.array([tree.leaf_size, tree.levels], np.int32)
    floor = jnp.zeros(slots, dtype) if cores is None else cores
    mutual = floor, jnp.asarray(shortens, dtype)
    place = tree.scale, lengths(tree, box)
    nodes = nodes_of(tree, box).boxes

    def run(name, inputs, outputs=(), in_place=(), count=slots, threads=THREADS, **constants):
        periodic = box is not None
        kernel = Kernel.of(name, m=m, dtype=dtype, p=p, periodic=periodic, **constants)
        shapes = *outputs, *(jax.ShapeDtypeStruct(each.shape, each.dtype) for each in in_place)
        blocks = -(-count // threads)
        return launch(kernel, blocks, threads, (*inputs, *in_place), shapes, in_place=len(in_place))

    shapes = jax.ShapeDtypeStruct((slots,), dtype), jax.ShapeDtypeStruct((slots, 2), np.int32)
    kind = {"cores": int(cores is not None)}

    def one(state):
        _, count, parents, labels, known, near, apart, edges, found = state
        uppers, picked, parents, labels = run("roots", [sizes], shapes, (parents, labels))
        for height in range(0, tree.levels, HEIGHTS):
            inputs = labels, np.array([*sizes, height], np.int32)
            (known,) = run("uniform", inputs, (), [known], tree.leaves >> height)
        inputs = tree.points, *place, *mutual, labels, near, apart, valid, sizes
        (uppers,) = run("bounds", inputs, (), [uppers], **kind)
        inputs = tree.points, tree.rows, nodes, *place, *mutual, labels, known, valid, sizes
        changed = uppers, near, apart
        uppers, near, apart = run("others", inputs, (), changed, slots, WARPS * 32, warps=WARPS, **kind)
        ends = tree.rows, labels, near, apart
        (picked,) = run("picks", (*ends, uppers, valid), (), [picked])
        parents, edges, found = run("hooks", (*ends, picked, valid), (), [parents, edges, found])
        left = jnp.sum(parents == order, dtype=jnp.int32)
        return count, left, parents, labels, known, near, apart, edges, found

    order = jnp.arange(slots, dtype=jnp.int32)
    none = jnp.full(slots, -1, jnp.int32)
    start = (
        *(jnp.int32(slots + 1), jnp.int32(slots)),  # components before and after a round
        *(order, order, jnp.zeros(2 * tree.leaves, jnp.int32), none, floor),
        *(jnp.full((slots, 2), -1, jnp.int32), jnp.full(slots, jnp.inf, dtype)),
    )
    more = lambda state: (state[1] < state[0]) & (state[1] > slots - valid + 1)  # noqa: E731
    *_, edges, found = lax.while_loop(more, one, start)
    distances = in_units(tree, found[:, None], box, p=p)[:, 0]
    high, low = edges.T
    order = lexsorted(high, low, distances)
    return jnp.stack([low, high], axis=1)[order], distances[order]
