"""A KDTree over several devices inside of jit, grad and shard_map; on any mesh; how points are dealt out."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding, PartitionSpec
from meshes import SPREAD, agree, clouds, mesh_of, nearest, spread
from scipy.spatial import KDTree as SciPyTree

from jaxapi.spatial import KDTree
from jaxapi.spatial._answers import Columns
from jaxapi.spatial._engines._by_platform import BY_PLATFORM
from jaxapi.spatial._mesh import _edges, _programs
from jaxapi.spatial._mesh._axes import Axes
from jaxapi.spatial._mesh._layout import MeshLayout
from jaxapi.spatial._mesh._partition import partition, shares
from jaxapi.spatial._search import Search
from jaxapi.spatial._tree._queries import Limits

EACH = 24  # points of a device


class TestTransformations:
    @pytest.mark.thorough
    def test_explicit_axes(self):
        """In jit; of a tree that jit returned; of queries that are not spread; of weights of the host."""
        mesh = mesh_of(2, AxisType.Explicit)
        points, queries = clouds(2 * EACH)["uniform"]
        expected = nearest(points, queries, 3)
        counts = SciPyTree(points).query_ball_point(queries, 0.5, return_length=True)
        same = jax.device_put(queries, NamedSharding(mesh, PartitionSpec()))
        points, queries = spread(mesh, points, queries)
        tree, found = jax.jit(lambda points, queries: (tree := KDTree(points), tree.query(queries, 3)))(
            points, queries
        )
        agree(found, expected)
        with jax.set_mesh(mesh):
            agree(tree.query(queries, 3), expected)
        count = jax.jit(lambda tree, x: tree.query_ball_point(x, 0.5, return_length=True))
        np.testing.assert_array_equal(count(tree, same), counts)
        outside, weights = KDTree(points), np.arange(len(points))
        assert jax.tree.structure(tree) == jax.tree.structure(outside), "a loop can carry either"
        assert [*map(jax.typeof, jax.tree.leaves(tree))] == [*map(jax.typeof, jax.tree.leaves(outside))]
        right = SciPyTree(points).count_neighbors(SciPyTree(queries), 0.5, weights=(weights, weights))
        assert outside.count_neighbors(KDTree(queries), 0.5, weights=(weights, weights)) == right
        near = np.linalg.norm(np.asarray(points)[:, None] - np.asarray(points), axis=2) <= 0.3
        cores = outside.dbscan(0.3, 9, sample_weight=weights).core
        np.testing.assert_array_equal(cores, near @ weights >= 9)

    @pytest.mark.thorough
    def test_a_traced_number_of_rows_that_count(self):
        """As on one device, of a tree that comes out of jit, too."""
        points, queries = clouds(2 * EACH)["uniform"]
        points[2 * EACH - 3] = np.nan  # whatever is behind
        weights, radii = np.linspace(1, 2, 2 * EACH, dtype=np.float32), np.float32([0.1, 0.4])
        sharding = NamedSharding(mesh_of(2), SPREAD)

        def search(points, n, sharding=None):
            tree = KDTree(points, n=n, sharding=sharding)
            distances, rows = tree.query(queries, [1, 9])
            vectors = jnp.where(rows[..., None] < n, tree.displacements(queries, rows), 0)
            pairs = tree.count_neighbors(tree, radii, weights=weights)
            return tree, (distances, rows, vectors, pairs, tree.mins, tree.maxes, tree.n)

        run = jax.jit(partial(search, sharding=sharding))
        for n in (0, 5, 2 * EACH - 3):
            tree, found = run(points, n)
            for one, other in zip(found, jax.jit(search)(points, n)[1], strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
            assert tree.n == n
            assert n or not (tree.mins.any() or tree.maxes.any())
            assert np.sort(tree.indices).tolist() == [*range(n), *[n] * (2 * EACH - n)]

    def test_auto_axes_must_be_named(self):
        points = spread(mesh_of(2), np.ones((4, 2), np.float32))
        with pytest.raises(ValueError, match="pass sharding="):
            jax.jit(lambda points: KDTree(points).query(points)[0])(points)

    @pytest.mark.thorough
    def test_inside_of_shard_map(self):
        mesh = mesh_of(2)
        points, queries = clouds(2 * EACH)["uniform"]
        expected = nearest(points, queries, 3)
        counts = SciPyTree(points).query_ball_point(queries, 0.5, return_length=True)

        def search(points, queries):
            tree = KDTree(points, axis_name="d")
            return tree, tree.query(queries, 3)

        run = jax.jit(jax.shard_map(search, mesh=mesh, in_specs=SPREAD, out_specs=SPREAD))
        points, queries = spread(mesh, points, queries)
        tree, found = run(points, queries)
        agree(found, expected)
        np.testing.assert_array_equal(tree.query_ball_point(queries, 0.5, return_length=True), counts)

    @pytest.mark.thorough
    def test_several_axes(self):
        """The devices count in the order of the axes in the sharding, not of those of the mesh."""
        devices = mesh_of(4).devices
        mesh = jax.make_mesh(
            (devices.size // 2, 2), ("a", "b"), axis_types=(AxisType.Auto,) * 2, devices=devices.ravel()
        )
        points, queries = clouds(devices.size * 8)["sorted"]
        sharding = NamedSharding(mesh, PartitionSpec(("b", "a")))
        tree = KDTree(jax.device_put(points, sharding))
        found = tree.query(jax.device_put(queries, sharding), 4)
        agree(found, nearest(points, queries, 4))
        assert all(each.sharding.is_equivalent_to(sharding, 2) for each in found)


class TestRowsOf64Bits:
    N = 2**31 + 100

    def test_build(self):
        """Nothing on the way to the trees has 32 bits where numbers of all points do not fit."""
        mesh = mesh_of(2)
        rows = -(-self.N // mesh.size) * mesh.size
        layout = MeshLayout(mesh, Axes(("d",), mesh.size), self.N)
        with jax.enable_x64(True):
            forest = jax.eval_shape(
                lambda points: _programs.build_forest(points, layout=layout, rows_dtype=np.dtype(np.int64)),
                jax.ShapeDtypeStruct((rows, 3), np.float32),
            )
        assert forest.rows.dtype == np.int64
        assert forest.rows.shape == (mesh.size, rows // mesh.size)

    @pytest.mark.daily
    def test_nearest(self):
        """Points whose rows are said to begin at 2**31 are found as those."""
        mesh = mesh_of(2)
        points, queries = clouds(2 * EACH)["grid, with ties"]
        expected = nearest(points, queries, 3)
        layout = MeshLayout(mesh, Axes(("d",), mesh.size), len(points))
        with jax.enable_x64(True):
            points = spread(mesh, points)
            forest = _programs.build_forest(points, layout=layout, rows_dtype=np.dtype(np.int64))
            forest = forest._replace(rows=forest.rows + 2**31, lowest_row=forest.lowest_row + 2**31)
            distances, rows = _programs.nearest_columns(
                forest,
                spread(mesh, queries),
                Limits(np.float32(np.inf), np.float32(0)),
                None,
                plan=_programs.Plan(
                    layout._replace(n=2**31 + len(points)),
                    Search(2.0, None, np.dtype(np.float32), np.dtype(np.int64), BY_PLATFORM),
                ),
                columns=Columns(3, None, (3,)),
                is_bounded=False,
            )
            agree((distances, rows - 2**31), expected)

    def test_offsets(self):
        """The sum of all numbers of neighbours may need 64 bits where rows do not."""
        mesh = mesh_of(2)
        layout = MeshLayout(mesh, Axes(("d",), mesh.size), 4)
        counts = np.full(4, 2**30, np.int32)
        with jax.enable_x64(True):
            found = _edges.offsets(spread(mesh, counts), layout=layout, dtype=np.dtype(np.int64))
        np.testing.assert_array_equal(found, np.arange(5) * 2**30)


@pytest.mark.daily
@pytest.mark.parametrize(("kind", "rows_dtype"), [(np.float32, np.int32), (np.float64, np.int64)])
def test_partition_is_exact(kind, rows_dtype):
    """Every group of devices gets the first points of its half, in the order of coordinate and row."""
    mesh = mesh_of(5)
    devices, s, n = mesh.size, 9, 9 * mesh.size - 2
    rng = np.random.default_rng(3)
    points = rng.integers(-2, 3, (devices * s, 2)) * np.array([1, 2])
    points = (points * (1 + np.finfo(kind).eps * rng.integers(0, 3, points.shape))).astype(kind)
    points[1] = np.nan  # as if it were farther than all others
    share = shares(n, devices)
    assert sum(share) == n
    assert max(share) - min(share) <= 1
    expected = np.full(devices * s, devices)

    def split(rows, first, count):
        if count == 1:
            expected[rows] = first
            return
        axis = np.argmax(np.nanmax(points[rows], axis=0) - np.nanmin(points[rows], axis=0))
        rows = rows[np.lexsort((rows, points[rows, axis]))]
        half = sum(share[first : first + count // 2])
        split(rows[:half], first, count // 2)
        split(rows[half:], first + count // 2, count - count // 2)

    split(np.arange(n), 0, devices)
    with jax.enable_x64(True):
        run = jax.shard_map(
            lambda x: partition(x, n, Axes(("d",), devices), np.dtype(rows_dtype)),
            mesh=mesh,
            in_specs=SPREAD,
            out_specs=(SPREAD, PartitionSpec()),
        )
        found, box = jax.jit(run)(spread(mesh, points))
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(box, [np.nanmin(points[:n], axis=0), np.nanmax(points[:n], axis=0)])
