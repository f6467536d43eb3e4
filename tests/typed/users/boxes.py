"""A box in which the nearest image counts has no shifts."""

from typing import assert_type

import jax
import numpy as np

from jaxapi.spatial import KDTree

points = np.random.default_rng(0).random((40, 3))
tree = KDTree(points, boxsize=[1.0, 1.0, 0.0])
assert_type(tree.cell, None)
distances, rows = tree.query(points[:3], k=4)
assert_type(rows, jax.Array)
assert_type(tree.knn_graph(3).senders, jax.Array)
if tree.boxsize is not None:
    print(tree.boxsize[0])
