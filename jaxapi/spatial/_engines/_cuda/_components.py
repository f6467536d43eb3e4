"""Connected components on an NVIDIA GPU: a search that joins what it finds, without a list of neighbors."""

import jax
import jax.numpy as jnp
import numpy as np

from ...._core._typing import Array
from ..._tree._metric import TreeMetric
from ..._tree._queries import RadiusQueries, Relation, own_queries
from ..._tree._tree import Tree
from ._launch import Kernel, launch
from ._order import THREADS, boxsize_operand, nodes_of
from ._radius import RadiusWalk

__all__ = ["component_rows", "lowest"]


def component_rows(tree: Tree, radius: Array, metric: TreeMetric) -> Array:
    """Return the lowest row of the component of each slot (N,)."""
    queries = own_queries(tree, radius, metric.p)
    m, slot_count = tree.points.shape
    dtype = tree.points.dtype
    point_count = jnp.sum(jnp.isfinite(tree.points[0]), dtype=jnp.int32)
    sizes = np.array([tree.leaf_size, tree.levels], np.int32)
    shape = jax.ShapeDtypeStruct((slot_count,), np.int32)
    blocks = -(-slot_count // THREADS)

    # The points of whole nodes are one component, if no two of them can be farther apart than the radius.
    kernel = Kernel.of("wholes", m=m, dtype=dtype, p=metric.p, periodic=metric.is_periodic)
    boxes = nodes_of(tree, metric.boxsize).boxes
    bound = queries.bound.max()  # of an empty slot it is -1
    inputs = {
        "boxes": boxes,
        "scale": tree.scale,
        "lengths": boxsize_operand(tree, metric.boxsize),
        "bound": bound,
        "valid": point_count,
        "sizes": sizes,
    }
    (parents,) = launch(kernel, blocks, THREADS, inputs, {"parents": shape})

    walk = RadiusWalk(tree, queries, metric)
    kernel = walk.kernel("join", relation=int(Relation.LATER))
    inputs = {"valid": point_count, "sizes": walk.sizes()}
    (parents,) = walk.run(kernel, inputs, in_place={"parents": parents})

    kernel = Kernel.of("firsts", m=m, dtype=dtype)
    inputs = {"rows": tree.rows, "sizes": sizes}
    in_place = {"parents": parents, "lowest": tree.rows}
    roots, _, rows = launch(kernel, blocks, THREADS, inputs, {"roots": shape}, in_place)
    return rows[roots]


def lowest(tree: Tree, queries: RadiusQueries, numbers: Array, metric: TreeMetric) -> Array:
    """Return the lowest of the slots' numbers (N,) within reach of each query, as `_lax.lowest`."""
    walk = RadiusWalk(tree, queries, metric)
    kernel = walk.kernel("lowest", relation=int(Relation.ANY))
    nothing = jnp.full(queries.bound.shape, np.iinfo(np.int32).max, jnp.int32)
    inputs = {"order": queries.order, "numbers": numbers, "sizes": walk.sizes()}
    (lowest,) = walk.run(kernel, inputs, in_place={"found": nothing})
    return lowest
