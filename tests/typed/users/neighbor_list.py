"""A neighbor list in a cell, as a molecular dynamics program keeps it."""

from typing import assert_type

import jax
import numpy as np

import jaxapi as xp
from jaxapi.spatial import KDTree, NeighborList

positions = np.random.default_rng(0).random((50, 3)) * 5.0
cell = np.diag([5.0, 5.0, 5.0])
tree = KDTree(positions, cell=cell)
graph = tree.radius_graph(1.5)
assert_type(graph.shifts, jax.Array)
assert_type(tree.cell, jax.Array)
vectors = tree.data[graph.senders] + graph.shifts @ tree.cell - tree.data[graph.receivers]
assert xp.max(xp.abs(xp.linalg.vector_norm(vectors, axis=1) - graph.distances)) < 1e-5

kept = NeighborList(positions, 1.5, 0.3, cell=cell).update(positions + 0.1)
edges = kept.edges()
assert_type(edges.shifts, jax.Array)
assert_type(kept.cell, jax.Array)
assert_type(kept.vectors(edges), jax.Array)
assert_type(NeighborList(positions, 1.5).cell, None)
assert int(edges.count) == int(KDTree(positions + 0.1, cell=cell).radius_graph(1.5).count)
