"""Connected components on an NVIDIA GPU: a search that joins what it finds, without a list of neighbours."""

import jax
import jax.numpy as jnp
import numpy as np

from ..._core._typing import Array
from .._structure._queries import Queries, own_queries
from .._structure._tree import Tree
from ._launch import Kernel, launch
from ._order import THREADS, lengths, nodes_of
from ._radius import RELATIONS, _kernel, _run, _sizes

__all__ = ["component_rows", "lowest"]


def component_rows(tree: Tree, radius: Array, box: Array | None, *, p: float) -> Array:
    """Return the lowest row of the component of each slot (N,)."""
    queries = own_queries(tree, radius, p=p)
    m, slots = tree.points.shape
    valid = jnp.sum(jnp.isfinite(tree.points[0]), dtype=jnp.int32)
    kernel = Kernel.of("wholes", m=m, dtype=tree.points.dtype, p=p, periodic=box is not None)
    sizes = np.array([tree.leaf_size, tree.levels], np.int32)
    bound = queries.bound.max()  # of an empty slot it is -1
    inputs = nodes_of(tree, box).boxes, tree.scale, lengths(tree, box), bound, valid, sizes
    shape = jax.ShapeDtypeStruct((slots,), np.int32)
    (parents,) = launch(kernel, -(-slots // THREADS), THREADS, inputs, [shape])
    kernel = _kernel(tree, "join", p, box, relation=RELATIONS["later"])
    (parents,) = _run(kernel, tree, queries, box, (valid, _sizes(tree, queries)), in_place=[parents])
    kernel = Kernel.of("firsts", m=m, dtype=tree.points.dtype)
    state = tree.rows, sizes, parents, tree.rows
    roots, _, rows = launch(kernel, -(-slots // THREADS), THREADS, state, [shape] * 3, in_place=2)
    return rows[roots]


def lowest(
    tree: Tree, queries: Queries, order: Array, numbers: Array, box: Array | None, *, p: float
) -> Array:
    """Return the lowest of the slots' numbers (N,) within reach of each query, in the place of `order`."""
    kernel = _kernel(tree, "lowest", p, box, relation=RELATIONS["any"])
    found = jnp.full(queries.bound.shape, np.iinfo(np.int32).max, jnp.int32)
    inputs = order, numbers, _sizes(tree, queries)
    return _run(kernel, tree, queries, box, inputs, in_place=[found])[0]
