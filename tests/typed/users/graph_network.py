"""The edges of a graph network, for a dataclass that other code takes."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from jaxapi.spatial import KDTree


@dataclass
class Crystal:
    positions: np.ndarray
    cell: np.ndarray


@dataclass
class Edges:
    senders: jax.Array
    receivers: jax.Array
    vectors: jax.Array


def edges_of(crystal: Crystal, k: int) -> Edges:
    tree = KDTree(crystal.positions, cell=crystal.cell, periodic=[True, True, False])
    graph = tree.knn_graph(k)
    vectors = tree.displacements(tree.data[graph.receivers], graph.senders, shifts=graph.shifts)
    return Edges(graph.senders, graph.receivers, vectors)


edges = edges_of(Crystal(np.random.default_rng(0).random((20, 3)), np.eye(3)), 4)
messages: jax.Array = jax.ops.segment_sum(edges.vectors, edges.receivers, 20)
print(jnp.shape(messages))
