"""Pairs with and without a cell, as sets, arrays and arrays of fixed shape."""

from typing import assert_type

import jax
import numpy as np

from jaxapi.spatial import KDTree

points = np.random.default_rng(0).random((40, 2))
plain = KDTree(points)
assert_type(plain, KDTree[None])
assert_type(plain.query_pairs(0.1), set[tuple[int, int]])
assert_type(plain.query_pairs(0.1, output_type="ndarray"), jax.Array)
assert_type(plain.query_pairs(0.1, max_pairs=10).count, jax.Array)
periodic = KDTree(points, cell=[1.0, 1.0])
assert_type(periodic, KDTree[jax.Array])
assert_type(periodic.query_pairs(0.1, output_type="ndarray").shifts, jax.Array)
assert_type(periodic.query_pairs(0.1, max_pairs=10).shifts, jax.Array)
