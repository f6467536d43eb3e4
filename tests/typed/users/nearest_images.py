"""The nearest images of queries, with the cells in which they lie."""

from typing import assert_type

import jax
import numpy as np

from jaxapi.spatial import KDTree

tree = KDTree(np.random.default_rng(0).random((30, 3)), cell=[1.0, 1.0, 1.0, 90.0, 90.0, 120.0])
distances, rows, shifts = tree.query([0.1, 0.2, 0.3], k=3, return_shifts=True)
assert_type(shifts, jax.Array)
assert_type(tree.query([0.1, 0.2, 0.3]), tuple[jax.Array, jax.Array])
assert_type(tree.kneighbors(2, return_shifts=True), tuple[jax.Array, jax.Array, jax.Array])
