"""Connected components in pure `jax.lax`: in rounds, each joined to the lowest one within reach."""

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core._typing import Array
from .._structure._metric import box_slack
from .._structure._queries import Queries, own_queries
from .._structure._tree import Tree
from .._structure._varying import varying_like
from ._radius import PACKET, packets_of
from ._walk import WIDTH, Space, in_packets, walk

__all__ = ["component_rows", "flattened", "lowest"]

NONE = np.iinfo(np.int32).max


def component_rows(tree: Tree, radius: Array, box: Array | None, *, p: float) -> Array:
    """Return the lowest row of the component of each slot (N,).

    Of two neighbouring components at least one has joined a lower one after two rounds: so there are as many
    as the logarithm of their number.
    """
    queries = own_queries(tree, radius, p=p)
    slots = lax.iota(jnp.int32, tree.points.shape[1])

    def join(state):
        roots, _ = state
        found = lowest(tree, queries, slots, roots, box, p=p, known=roots)
        joined = flattened(roots.at[roots].min(found))
        return joined, (joined != roots).any()

    start = varying_like((slots, jnp.bool_(True)), tree)
    roots, _ = lax.while_loop(lambda state: state[1], join, start)
    return jnp.full_like(tree.rows, NONE).at[roots].min(tree.rows)[roots]


def flattened(parents: Array) -> Array:
    """Return the root of each; a parent is no higher than its children."""
    return lax.while_loop(lambda a: (a[a] != a).any(), lambda a: a[a], parents)


def lowest(
    tree: Tree, queries: Queries, order: Array, numbers: Array, box, *, p: float, known: Array | None = None
) -> Array:
    """Return the lowest of the slots' numbers (N,) within reach of each query, in the place of `order`.

    The greatest int32 where there is none; of each query a number may be `known` (q,) that is to be undercut.
    """
    space, slack = Space(tree, p, box), box_slack(tree.points.dtype, tree.points.shape[0])
    numbers = jnp.where(jnp.isfinite(tree.points[0]), numbers, NONE)
    levels = [numbers.reshape(space.leaves, -1).min(axis=1)]
    while len(levels[-1]) > 1:
        levels.append(levels[-1].reshape(-1, 2).min(axis=1))
    least = jnp.concatenate([jnp.full(1, NONE, jnp.int32), *levels[::-1]])
    known = jnp.full(queries.bound.shape, NONE, jnp.int32) if known is None else known[order]

    def one(packet):
        packet, known = packet

        def choose(start, there, found):
            least_of = least.at[start + lax.iota(jnp.int32, WIDTH)].get(mode="fill", fill_value=NONE)[:, None]
            near = (space.gaps(packet.points, start) <= packet.bound * slack) & (least_of < found)
            # Of nodes that lie within the radius as a whole the lowest number is known.
            whole = near & there[:, None] & (space.reaches(packet.points, start) * slack <= packet.bound)
            found = jnp.minimum(found, jnp.where(whole, least_of, NONE).min(axis=0))
            return (near & ~whole & (least_of < found)).any(axis=1), found

        def visit(leaf, found):
            hits = space.distances(packet.points, leaf) <= packet.bound
            return jnp.minimum(found, jnp.where(hits, space.of_leaf(numbers, leaf), NONE).min(axis=0))

        return walk(space, known, choose, visit)

    packets = packets_of(queries), in_packets(known, PACKET, NONE)
    found = lax.map(one, packets).reshape(-1)[: len(order)]
    return jnp.full_like(found, NONE).at[order].set(found, mode="drop", unique_indices=True)
