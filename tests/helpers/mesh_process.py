"""One of the processes of `test_mesh_processes.py`: ``python mesh_process.py NUMBER COUNT PORT``."""

import pickle
import sys

import jax

number, count, port = map(int, sys.argv[1:])
jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 1)
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(f"127.0.0.1:{port}", count, number)

import numpy as np  # noqa: E402
import pytest  # noqa: E402
from jax.sharding import AxisType, NamedSharding, PartitionSpec  # noqa: E402
from scipy.spatial import KDTree as SciPyTree  # noqa: E402

from jaxapi.spatial import KDTree  # noqa: E402

mesh = jax.make_mesh((count,), ("d",), axis_types=(AxisType.Auto,))
sharding = NamedSharding(mesh, PartitionSpec("d"))
points, queries = np.random.default_rng(5).random((2, 40 * count, 3), np.float32)
mine = slice(40 * number, 40 * (number + 1))


def spread(x):
    """Return an array of which each process has its part."""
    return jax.make_array_from_process_local_data(sharding, x[mine])


def local(x):
    """Return the part of this process."""
    return np.asarray(x.addressable_data(0))


scipy_tree = SciPyTree(points)
expected = scipy_tree.query(queries, 4)
tree = KDTree(spread(points))
assert f"devices={count}" in repr(tree)
for found, right in zip(tree.query(spread(queries), 4), expected, strict=True):
    np.testing.assert_allclose(local(found), right[mine], rtol=1e-5)

# A radius for each query: the whole array in every process, or a part in each.
radii = np.full(len(points), 0.3, np.float32)
whole, found = (tree.query_radius(spread(queries), each) for each in (radii, spread(radii)))
np.testing.assert_array_equal(whole.indptr, found.indptr)
np.testing.assert_array_equal(local(whole.indices), local(found.indices))
lists = scipy_tree.query_ball_point(queries, 0.3)
offsets = np.asarray(found.indptr)  # on every device
np.testing.assert_array_equal(np.diff(offsets), [len(each) for each in lists])
rows = np.concatenate([sorted(each) for each in lists])
part = len(local(found.indices))
assert part == -(-len(rows) // count)
here = local(found.indices)[: len(rows) - number * part]
lines = np.repeat(np.arange(len(lists)), np.diff(offsets))[number * part :][: len(here)]
assert all(row in lists[line] for line, row in zip(lines, here, strict=True))
assert len(set(zip(lines.tolist(), here.tolist(), strict=True))) == len(here)

pairs = scipy_tree.query_pairs(0.3)
graph = tree.radius_graph(0.3)
assert int(graph.count) == 2 * len(pairs)
ends = zip(local(graph.senders).tolist(), local(graph.receivers).tolist(), strict=True)
assert set(ends) <= pairs | {(j, i) for i, j in pairs} | {(tree.n, tree.n)}
other = KDTree(spread(queries))
assert int(tree.count_neighbors(other, 0.3)) == scipy_tree.count_neighbors(SciPyTree(queries), 0.3)

wrong = points.copy()
wrong[1] = np.nan  # of the first process; all of them raise
with pytest.raises(ValueError, match="data must be finite"):
    KDTree(spread(wrong))
with pytest.raises(ValueError, match="'x' must be finite"):
    tree.query_ball_point(spread(wrong), radii, return_length=True)
with pytest.raises(TypeError, match="on a mesh"):
    pickle.dumps(tree)
with pytest.raises(TypeError, match="on a mesh"):
    tree.query_ball_point(queries, 0.1)
# Inside of jit SciPy is called back: by each process for itself, and by the first one for an array of all.
alone = jax.jit(lambda x: KDTree(points).query(x, 4)[1])
np.testing.assert_array_equal(alone(queries[mine]), expected[1][mine])
together = jax.jit(lambda x: KDTree(points).query(x, 4)[1], out_shardings=sharding)
np.testing.assert_array_equal(local(together(spread(queries))), expected[1][mine])
print("done")
