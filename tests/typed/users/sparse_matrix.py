"""A matrix of near distances for SciPy."""

from typing import assert_type

import numpy as np
from scipy.sparse import coo_array, dok_matrix

from jaxapi.spatial import KDTree

tree = KDTree(np.random.default_rng(0).random((30, 3)))
assert_type(tree.sparse_distance_matrix(tree, 0.3), dok_matrix[np.float64])
assert_type(tree.sparse_distance_matrix(tree, 0.3, output_type="coo_array"), coo_array[np.float64])
for (i, j), distance in tree.sparse_distance_matrix(tree, 0.3, output_type="dict").items():
    print(i + j, distance + 1.0)
    break
