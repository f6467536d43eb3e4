"""Clouds in one tree, each with a cell of its own."""

from typing import assert_type

import jax
import numpy as np

from jaxapi.spatial import KDTree

cells = np.stack([np.eye(3), 2.0 * np.eye(3)])
tree = KDTree(np.random.default_rng(0).random((20, 3)), cell=cells, batch=[0] * 10 + [1] * 10)
graph = tree.radius_graph(0.8, max_edges=500)
assert_type(graph.shifts, jax.Array)
assert_type(graph.did_buffer_overflow, jax.Array)
assert_type(tree.query_radius([[0.0, 0.0, 0.0]], 0.5, batch=[1]).shifts, jax.Array)
