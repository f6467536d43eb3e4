"""Distances of each to each, by several metrics."""

from typing import assert_type

import jax
import numpy as np

from jaxapi.spatial import distance

x = np.random.default_rng(0).random((20, 3))
matrix = distance.cdist(x, x, "cosine")
assert_type(matrix, jax.Array)
assert_type(distance.squareform(distance.pdist(x)), jax.Array)
near = distance.nearest(x, x, 2, "cityblock")
assert_type(near.rows, jax.Array)
forward, row, other_row = distance.directed_hausdorff(x, x + 1.0)
assert_type(forward, jax.Array)
