"""How many pairs there are at each distance."""

from typing import assert_type

import jax
import numpy as np

from jaxapi.spatial import KDTree

rng = np.random.default_rng(0)
galaxies = KDTree(rng.random((80, 3)))
uniform = KDTree(rng.random((80, 3)))
edges = np.linspace(0.0, 0.5, 6)
counts = galaxies.count_neighbors(galaxies, edges)
assert_type(counts, jax.Array)
assert_type(galaxies.count_neighbors(uniform, 0.2), int)
print(np.diff(counts) / np.diff(uniform.count_neighbors(uniform, edges)))
