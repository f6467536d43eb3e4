"""Clouds and cells on a device: ids stay there, and new numbers of points compile nothing."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from compilations import no_compilation
from scipy.spatial import cKDTree

from jaxapi._core import _devices
from jaxapi.spatial import KDTree
from jaxapi.spatial import _kdtree as kdtree
from jaxapi.spatial._cells import _cell_arguments


@pytest.fixture
def on_a_device(monkeypatch):
    """Take the CPU for a device whose numbers nobody reads but by programs."""
    monkeypatch.setattr(_cell_arguments, "is_on_host", lambda x: False)
    monkeypatch.setattr(kdtree, "is_on_host", lambda x: False)


def edges_of(points, ids, radius):
    """Return the edges (receiver, sender) that SciPy finds in each cloud."""
    edges = set()
    for cloud in np.unique(ids):
        rows = np.flatnonzero(ids == cloud)
        for i, j in cKDTree(points[rows]).query_pairs(radius):
            edges |= {(rows[i], rows[j]), (rows[j], rows[i])}
    return edges


def cloud(n, dtype=np.int32):
    rng = np.random.default_rng(n)
    return rng.random((n, 3), np.float32), rng.integers(0, 5, n).astype(dtype)


@pytest.mark.thorough
def test_graphs_of_clouds_compile_nothing_for_new_numbers_of_points():
    found = []

    def search(points, ids):
        tree = KDTree(points, batch=ids, engine="lax")
        return tree, tree.radius_graph(0.3)

    search(*cloud(60))
    with no_compilation():
        for n in (61, 97, 128):
            found.append((*cloud(n), *search(*cloud(n))))
    for points, ids, tree, graph in found:
        edges = edges_of(points, ids, 0.3)
        assert set(zip(graph.receivers.tolist(), graph.senders.tolist(), strict=True)) == edges
        assert int(graph.count) == len(edges)
        assert tree.query_pairs(0.3) == {edge for edge in edges if edge[0] < edge[1]}


@pytest.mark.thorough
def test_nearest_of_clouds_compile_nothing_for_new_numbers_of_points():
    found = []

    def search(points, ids):
        tree = KDTree(points, batch=ids, engine="lax")
        return tree.kneighbors(3), tree.knn_graph(3)

    search(*cloud(70))
    with no_compilation():
        for n in (71, 97, 128):
            found.append((*cloud(n), *search(*cloud(n))))
    for points, ids, (nearest_distances, nearest_rows), graph in found:
        distances = np.linalg.norm(points[:, None].astype(float) - points, axis=2)
        distances[(ids[:, None] != ids) | np.eye(len(ids), dtype=bool)] = np.inf
        np.testing.assert_array_equal(nearest_rows, np.argsort(distances, axis=1)[:, :3])
        np.testing.assert_allclose(nearest_distances, np.sort(distances, axis=1)[:, :3], rtol=1e-6)
        np.testing.assert_array_equal(graph.senders, np.ravel(nearest_rows))
        np.testing.assert_array_equal(graph.receivers, np.repeat(np.arange(len(ids)), 3))
        assert int(graph.count) == len(graph.senders) == 3 * len(ids)


def edges_in_cell(points, cell, radius):
    """Return the edges (receiver, sender, *shift), looking at all images in the 27 cells around."""
    edges = set()
    for shift in itertools.product((-1, 0, 1), repeat=3):
        vectors = points[None] + np.array(shift) @ cell - points[:, None]
        for i, j in np.argwhere(np.linalg.norm(vectors, axis=2) <= radius).tolist():
            if i != j or any(shift):
                edges.add((i, j, *shift))
    return edges


@pytest.mark.thorough
def test_graphs_in_a_cell_compile_nothing_for_new_numbers_of_points():
    """Nor for another cell or radius. Rows that fill points up, which are nan, are no results."""
    cell = np.array([[1.0, 0.0, 0.0], [0.2, 1.1, 0.0], [-0.1, 0.3, 0.9]], np.float32)
    found = []

    def search(n, cell, radius):
        points, _ = cloud(n)
        tree = KDTree(points, cell=cell, engine="lax")
        graph = tree.radius_graph(radius)
        return tree, graph, tree.radius_graph(radius, max_edges=1024)

    with jax.debug_nans(True):
        search(70, cell, 0.25)
        with no_compilation():
            for n, scale, radius in ((71, 1, 0.25), (97, 1, 0.2), (128, 1.1, 0.23)):
                scaled_cell = np.float32(scale) * cell
                found.append((n, scaled_cell, radius, *search(n, scaled_cell, radius)))
    for n, cell_of_points, radius, tree, graph, fixed in found:
        edges = edges_in_cell(np.asarray(tree.data, np.float64), np.float64(cell_of_points), radius)
        rows = np.stack([graph.receivers, graph.senders], axis=1)
        assert set(map(tuple, np.concatenate([rows, graph.shifts], axis=1).tolist())) == edges
        assert len(rows) == int(graph.count) == int(fixed.count) == len(edges)
        assert np.array_equal(fixed.senders, np.pad(graph.senders, (0, 1024 - len(edges)), constant_values=n))
        assert np.array_equal(fixed.shifts[fixed.mask], graph.shifts)


@pytest.mark.usefixtures("on_a_device")
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8, np.uint32])
def test_ids_of_any_dtype(dtype):
    points, ids = cloud(60, dtype)
    with jax.enable_x64(True):
        given = jnp.asarray(ids)
        assert given.dtype == dtype
    tree = KDTree(jax.device_put(points, jax.devices()[0]), batch=given, engine="lax")
    assert tree.batch.dtype == np.int32
    np.testing.assert_array_equal(tree.batch, ids)


@pytest.mark.usefixtures("on_a_device")
def test_ids_are_copied_where_that_is_asked_for():
    points, ids = cloud(60)
    given = jax.device_put(ids, jax.devices()[0])
    assert KDTree(points, batch=given, engine="lax").batch is given
    tree = KDTree(points, copy_data=True, batch=given, engine="lax")
    given.delete()
    np.testing.assert_array_equal(tree.batch, ids)


@pytest.mark.usefixtures("on_a_device")
@pytest.mark.parametrize(
    ("dtype", "too_large"),
    [(np.int64, 2**31), (np.int64, -(2**31) - 1), (np.uint32, 2**32 - 1), (np.uint64, 2**64 - 1)],
)
def test_ids_that_int32_does_not_hold(dtype, too_large):
    points, ids = cloud(60, dtype)
    ids[7] = too_large
    with jax.enable_x64(True):
        given = jnp.asarray(ids)
    with pytest.raises(ValueError, match="the ids of batch must fit int32"):
        KDTree(jnp.asarray(points), batch=given, engine="lax")


@pytest.mark.usefixtures("on_a_device")
def test_points_that_are_not_finite_are_refused():
    points, _ = cloud(60)
    points[7, 1] = np.nan
    with pytest.raises(ValueError, match="data must be finite"):
        KDTree(jnp.asarray(points), batch=jnp.zeros(60, jnp.int32), engine="lax")


def test_the_last_result_is_left_in_host_memory(monkeypatch):
    """Only the last one."""
    device = jax.devices()[0]
    if device.platform == "cpu" and jax.__version_info__ < (0, 12):
        pytest.skip("older programs for CPUs cannot leave results there")
    monkeypatch.setattr(_devices, "_gpu", lambda array: device)
    x = jnp.arange(4.0)
    program = _devices.last_in_host_memory(_sums_and_last, x, "factor")
    (doubled, nothing), last = program(x, factor=2)
    np.testing.assert_array_equal(doubled, 2 * np.arange(4.0))
    assert nothing is None
    assert float(last) == 6
    assert last.sharding.memory_kind == "pinned_host"
    assert doubled.sharding.memory_kind != "pinned_host"


def _sums_and_last(x, *, factor):
    return (x * factor, None), x[-1] * factor
