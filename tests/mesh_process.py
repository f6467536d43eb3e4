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


expected = SciPyTree(points).query(queries, 4)
tree = KDTree(spread(points))
assert f"devices={count}" in repr(tree)
for found, right in zip(tree.query(spread(queries), 4), expected, strict=True):
    np.testing.assert_allclose(local(found), right[mine], rtol=1e-5)
for found, right in zip(tree.query(queries[:7], 4), expected, strict=True):  # the same in every process
    np.testing.assert_allclose(np.asarray(found), right[:7], rtol=1e-5)

wrong = points.copy()
wrong[1] = np.nan  # of the first process; all of them raise
with pytest.raises(ValueError, match="data must be finite"):
    KDTree(spread(wrong))
with pytest.raises(ValueError, match="'x' must be finite"):
    tree.query(spread(wrong), 4)
with pytest.raises(TypeError, match="on a mesh"):
    pickle.dumps(tree)
with pytest.raises(TypeError, match="on a mesh"):
    tree.query_ball_point(queries, 0.1)
print("done")
