"""All within a radius: rows of any length and of a fixed one, with and without a cell and distances."""

from typing import assert_type

import jax
import numpy as np

from jaxapi.spatial import KDTree

points = np.random.default_rng(0).random((30, 3))
plain = KDTree(points)
periodic = KDTree(points, cell=np.eye(3))
assert_type(plain.query_radius(points, 0.2).distances, jax.Array)
assert_type(plain.query_radius(points, 0.2, return_distance=False).distances, None)
assert_type(plain.query_radius(points, 0.2, max_neighbors=3).counts, jax.Array)
assert_type(periodic.query_radius(points, 0.2).shifts, jax.Array)
assert_type(periodic.query_radius(points, 0.2, return_distance=False).shifts, jax.Array)
assert_type(periodic.query_radius(points, 0.2, return_distance=False).distances, None)
assert_type(periodic.query_radius(points, 0.2, max_neighbors=3).shifts, jax.Array)
assert_type(periodic.query_radius(points, 0.2, max_neighbors=3, return_distance=False).distances, None)
