"""A user's program: mypy checks that it is well typed, and what the types are."""

from typing import assert_type

import jax
import numpy as np
from scipy.sparse import csr_array

import jaxapi as xp
from jaxapi.interpolate import NearestNDInterpolator, RBFInterpolator
from jaxapi.spatial import KDTree, chord_length, distance

points = np.random.default_rng(0).random((100, 3))

# array_like: lists, tuples, numbers, arrays
assert_type(xp.asarray([[1, 2], [3, 4]]), jax.Array)
assert_type(xp.vecdot([1.0, 2.0], (3.0, 4.0)), jax.Array)
assert_type(xp.linalg.det([[1.0, 2.0], [3.0, 4.0]]), jax.Array)
assert_type(xp.linalg.eigh(np.eye(3)).eigenvalues, jax.Array)
assert_type(xp.linalg.svd(np.eye(3)).S, jax.Array)
assert_type(xp.unique_all([1, 2]).inverse_indices, jax.Array)
assert_type(xp.unique_values([1, 2]), jax.Array)
assert_type(xp.argmax([1.0, 2.0]), jax.Array)
assert_type(xp.linspace(0, 1), jax.Array)
assert_type(xp.linspace([0, 1], 1, retstep=True), tuple[jax.Array, jax.Array])
assert_type(xp.logspace(0, 39, 40, base=3, dtype=xp.int64), jax.Array)
assert_type(xp.sin(xp.ones(3)), jax.Array)
assert_type(xp.remainder([5.0], 3), jax.Array)

# the KD-tree
tree = KDTree([[0.0, 0.0], [3.0, 4.0]], boxsize=[10.0, 10.0])
assert_type(tree.query([1.0, 1.0], k=2), tuple[jax.Array, jax.Array])
near = tree.query_radius([[0.0, 0.0]], 1.0)
assert_type(near.indptr, jax.Array)
assert_type(near.distances, jax.Array)
assert_type(tree.query_radius([[0.0, 0.0]], 1.0, return_distance=False).distances, None)
fixed = tree.query_radius([[0.0, 0.0]], [1.0], max_neighbors=3)
assert_type(fixed.counts, jax.Array)
assert_type(fixed.distances, jax.Array)
assert_type(fixed.mask, jax.Array)
assert_type(tree.query_pairs(6.0), set[tuple[int, int]])
assert_type(tree.query_pairs(6.0, output_type="ndarray"), jax.Array)
assert_type(tree.query_pairs(6.0, max_pairs=10).pairs, jax.Array)
assert_type(tree.query_ball_point([0.0, 0.0], 6.0, return_length=True), jax.Array)
assert_type(tree.query_ball_point([[0.0, 0.0]], 6.0), list[int] | np.ndarray)
assert_type(tree.radius_graph(6.0).senders, jax.Array)
assert_type(tree.count_neighbors(tree, 1.0), int)
assert_type(tree.count_neighbors(tree, 1.0, weights=[1.0, 2.0]), float)
assert_type(tree.count_neighbors(tree, np.arange(3.0), weights=(None, [1.0, 2.0])), jax.Array)
chord = chord_length(0.1)
assert_type(tree.query([1.0, 1.0], distance_upper_bound=chord), tuple[jax.Array, jax.Array])
assert_type(tree.kneighbors(1, distance_upper_bound=chord), tuple[jax.Array, jax.Array])
assert_type(tree.radius_graph(chord).senders, jax.Array)

# names in strings
assert_type(tree.sparse_distance_matrix(tree, 6.0, output_type="csr_array"), csr_array[np.float64])
assert_type(tree.sparse_distance_matrix(tree, 6.0, output_type="dict"), dict[tuple[int, int], float])
assert_type(tree.sparse_distance_matrix(tree, 6.0, output_type="ndarray"), np.ndarray)
assert_type(tree.hdbscan(2, cluster_selection_method="leaf").labels, jax.Array)
assert_type(distance.cdist(points, points, "cosine"), jax.Array)
assert_type(distance.pdist(points, distance.cityblock), jax.Array)
assert_type(distance.nearest(points, points, 2, "jensenshannon").rows, jax.Array)
tree.hdbscan(2, cluster_selection_method="mass")  # type: ignore[arg-type]
tree.sparse_distance_matrix(tree, 6.0, output_type="bsr_array")  # type: ignore[call-overload]
distance.cdist(points, points, "manhattan")  # type: ignore[arg-type]
KDTree(points, engine="cuda")  # type: ignore[call-overload]
RBFInterpolator(points, points, kernel="spline")  # type: ignore[arg-type]

# interpolators
temperature = RBFInterpolator(points, [1.0] * 100, neighbors=8, smoothing=points[:, 0])
assert_type(temperature([[0.0, 0.0, 0.0]]), jax.Array)
assert_type(temperature.powers, np.ndarray)
assert_type(NearestNDInterpolator((points[:, 0], points[:, 1]), points)(0.5, [0.1, 0.2], p=1), jax.Array)
assert_type(xp.interpolate.RBFInterpolator(points, points, n=50).d, jax.Array)


# fused functions and methods keep their parameters and results
@xp.fuse
def step(phi: jax.Array, dt: float) -> jax.Array:
    return phi + dt * phi


@xp.fuse("norm")
def norm(x: jax.Array) -> jax.Array:
    return xp.sqrt(xp.sum(x * x))


class Model:
    dt = 0.1

    @xp.fuse
    def step(self, phi: jax.Array) -> jax.Array:
        return phi + self.dt * phi


assert_type(step(xp.ones(3), 0.5), jax.Array)
assert_type(norm(xp.ones(3)), jax.Array)
assert_type(Model().step(xp.ones(3)), jax.Array)
step("phi", 0.5)  # type: ignore[arg-type]
Model().step()  # type: ignore[call-arg]
