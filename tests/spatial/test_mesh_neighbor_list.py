"""Lists of neighbors of points on several devices, against all pairs of points.

A program for several devices takes seconds to compile, so one serves all steps of a test.
"""

import contextlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding, PartitionSpec
from meshes import mesh_of
from scipy.spatial.distance import cdist

from jaxapi.spatial import NeighborList

N = 48
CUTOFF = 0.3
SKIN = 0.1


def sharding_of(layout):
    """Return the sharding of rows along all axes of a mesh."""
    if layout == "two axes":
        mesh = mesh_of(4)
        devices = mesh.devices.reshape(2, -1)
        mesh = jax.sharding.Mesh(devices, ("a", "b"), axis_types=(AxisType.Auto,) * 2)
        return NamedSharding(mesh, PartitionSpec(("a", "b")))
    kind = AxisType.Explicit if layout == "explicit" else AxisType.Auto
    return NamedSharding(mesh_of(4, kind), PartitionSpec("d"))


@pytest.fixture(params=["auto", "explicit", "two axes"])
def sharding(request):
    sharding = sharding_of(request.param)
    if sharding.mesh.size < 2:
        pytest.skip("one device")
    return sharding


def cloud(seed, size=1.0):
    return (np.random.default_rng(seed).random((N, 3)) * size).astype(np.float32)


def all_edges(x, cutoff=CUTOFF):
    """Return all edges (receiver, sender), sorted: every pair is measured."""
    distances = cdist(x.astype(np.float64), x.astype(np.float64)).astype(np.float32)
    distances[~(distances <= np.float32(cutoff))] = np.inf  # of nan, too
    np.fill_diagonal(distances, np.inf)
    return np.argwhere(distances < np.inf)


def edges_of(graph):
    """Return the edges of a graph (receiver, sender), sorted, and their distances."""
    mask = np.asarray(graph.mask)
    edges = np.column_stack([graph.receivers, graph.senders])[mask]
    order = np.lexsort(edges.T[::-1])
    return edges[order], np.asarray(graph.distances)[mask][order]


def assert_edges(graph, x, cutoff=CUTOFF):
    edges, distances = edges_of(graph)
    expected = all_edges(x, cutoff)
    np.testing.assert_array_equal(edges, expected)
    assert int(graph.count) == len(expected)
    vectors = x[expected[:, 1]].astype(np.float64) - x[expected[:, 0]]
    np.testing.assert_allclose(distances, np.linalg.norm(vectors, axis=1), rtol=1e-6)


@pytest.mark.thorough
def test_steps_outside_of_programs(sharding):
    x = cloud(1)
    neighbors = NeighborList(x, CUTOFF, SKIN, sharding=sharding)
    assert neighbors.positions.sharding.is_equivalent_to(sharding, 2)
    assert neighbors.max_edges % N == 0
    most = np.bincount(all_edges(x, CUTOFF + SKIN)[:, 0]).max()
    assert int(neighbors.needed) == N * most <= neighbors.max_edges

    graph = neighbors.edges()
    assert graph.senders.sharding.is_equivalent_to(sharding, 1)
    assert_edges(graph, x)
    assert_edges(neighbors.edges(0.2), x, 0.2)
    assert_edges(neighbors.candidates(), x, CUTOFF + SKIN)
    vectors = np.asarray(neighbors.vectors(graph))[np.asarray(graph.mask)]
    senders, receivers = (np.asarray(rows)[np.asarray(graph.mask)] for rows in graph[:2])
    np.testing.assert_array_equal(vectors, x[senders] - x[receivers])
    # Each device has the edges of its own points.
    for part in graph.receivers.addressable_shards:
        rows = np.asarray(part.data)
        rows = rows[rows < N]
        each = N // sharding.mesh.size
        assert len(rows) == 0 or rows.min() // each == rows.max() // each == part.index[0].start // (
            neighbors.max_edges // sharding.mesh.size
        )

    moved = x + np.float32(0.02)
    kept = neighbors.update(moved)
    assert int(kept.rebuilds) == 0
    assert_edges(kept.edges(), moved)
    elsewhere = cloud(2)
    anew = kept.update(jax.device_put(elsewhere, jax.devices()[0]))
    assert int(anew.rebuilds) == 1
    assert_edges(anew.edges(), elsewhere)


@pytest.mark.thorough
def test_a_loop_in_a_program(sharding):
    """Points drift together, until there is no more room; outside of the program there is again."""
    x = cloud(3)
    neighbors = NeighborList(jax.device_put(x, sharding), CUTOFF, SKIN)

    def step(neighbors, _):
        neighbors = neighbors.update(neighbors.positions * np.float32(0.97))
        return neighbors, (neighbors.positions, neighbors.edges(), neighbors.did_buffer_overflow)

    last, (positions, graphs, overflows) = jax.jit(lambda list: jax.lax.scan(step, list, length=30))(
        neighbors
    )
    overflows = np.asarray(overflows)
    assert not overflows[0]
    assert overflows[-1]
    assert 1 < int(last.rebuilds) < 30
    for number in range(30):
        graph = jax.tree.map(lambda array, number=number: np.asarray(array[number]), graphs)
        here = np.asarray(positions[number])
        if not overflows[number]:
            assert_edges(graph, here)
        else:  # some were left out, but what is there is right
            found = set(map(tuple, edges_of(graph)[0].tolist()))
            assert found <= set(map(tuple, all_edges(here).tolist()))
    assert int(last.needed) > last.max_edges
    larger = last.update(last.positions)
    assert not bool(larger.did_buffer_overflow)
    assert_edges(larger.edges(), np.asarray(last.positions))


@pytest.mark.thorough
def test_forces(sharding):
    x = cloud(4)
    neighbors = NeighborList(jax.device_put(x, sharding), CUTOFF, SKIN)

    def energy(x, neighbors):
        neighbors = neighbors.update(x)
        graph = neighbors.edges(fill_value=0.0)
        lengths = jnp.where(graph.mask, (CUTOFF - graph.distances) ** 3, 0).sum()
        return lengths + (neighbors.vectors(graph)[:, 0] ** 4).sum()

    def energy_of_edges(x, edges):
        vectors = x[edges[:, 1]] - x[edges[:, 0]]
        return ((CUTOFF - jnp.sqrt((vectors**2).sum(axis=1))) ** 3).sum() + (vectors[:, 0] ** 4).sum()

    def mesh_of_derivatives():
        """Return the context in which JAX takes derivatives of arrays on a mesh with Explicit axes."""
        is_explicit = AxisType.Explicit in sharding.mesh.axis_types
        return jax.set_mesh(sharding.mesh) if is_explicit else contextlib.nullcontext()

    moved = cloud(5)
    for y in (x, moved):
        edges = all_edges(y)
        slopes = jax.grad(energy_of_edges)(jnp.asarray(y), edges)
        with mesh_of_derivatives():
            found = jax.jit(jax.grad(energy))(jax.device_put(y, sharding), neighbors)
        np.testing.assert_allclose(found, slopes, rtol=1e-4, atol=1e-5)
    with mesh_of_derivatives():
        found = jax.grad(energy)(jax.device_put(moved, sharding), neighbors)
    np.testing.assert_allclose(found, slopes, rtol=1e-4, atol=1e-5)

    def slope_along(function, *others):
        def slope(x):
            return (jax.grad(function)(x, *others) * direction).sum()

        return jax.grad(slope)

    direction = jnp.asarray(cloud(6))
    second = slope_along(energy_of_edges, edges)(jnp.asarray(moved))
    with mesh_of_derivatives():
        direction = jax.device_put(direction, sharding)
        found = jax.jit(slope_along(energy, neighbors))(jax.device_put(moved, sharding))
    np.testing.assert_allclose(found, second, rtol=1e-3, atol=1e-3)


@pytest.mark.thorough
def test_a_list_made_in_a_program(sharding):
    x = cloud(7)
    is_auto = AxisType.Auto in sharding.mesh.axis_types

    @jax.jit
    def edges(x):
        neighbors = NeighborList(
            x, CUTOFF, SKIN, max_edges=30 * N - 5, sharding=sharding if is_auto else None
        )
        assert neighbors.max_edges == 30 * N
        return neighbors.edges()

    assert_edges(edges(jax.device_put(x, sharding)), x)


@pytest.mark.thorough
def test_points_that_are_not_finite(sharding):
    x = cloud(8)
    neighbors = NeighborList(x, CUTOFF, SKIN, sharding=sharding)
    broken = x.copy()
    broken[3] = np.nan
    broken[30] = np.inf
    update = jax.jit(NeighborList.update)
    with np.errstate(invalid="ignore"):
        broken_list = update(neighbors, jax.device_put(broken, sharding))
        edges, _ = edges_of(broken_list.edges())
        finite = np.isfinite(broken).all(axis=1)
        expected = all_edges(x)
        np.testing.assert_array_equal(edges, expected[finite[expected].all(axis=1)])
    assert_edges(update(broken_list, jax.device_put(x, sharding)).edges(), x)
    with pytest.raises(ValueError, match="finite"):
        neighbors.update(broken)


@pytest.mark.daily
def test_what_is_refused():
    sharding = sharding_of("auto")
    if sharding.mesh.size < 2:
        pytest.skip("one device")
    x = cloud(9)
    with pytest.raises(ValueError, match="46 positions do not divide evenly among"):
        NeighborList(x[:46], CUTOFF, sharding=sharding)
    with pytest.raises(TypeError, match="cell needs all points in one place"):
        NeighborList(x, CUTOFF, cell=np.eye(3), sharding=sharding)
    neighbors = NeighborList(x, CUTOFF, SKIN, sharding=sharding)
    with pytest.raises(ValueError, match="shape"):
        neighbors.update(x[:44])
    with pytest.raises(ValueError, match="has no cell"):
        neighbors.update(x, np.eye(3))
    graph = neighbors.edges()
    part = graph._replace(senders=graph.senders[:3], receivers=graph.receivers[:3])
    with pytest.raises(ValueError, match=r"as edges\(\) returned them, got 3 edges"):
        neighbors.vectors(part)
    on_one = NeighborList(x, CUTOFF)
    with pytest.raises(ValueError, match="on 4 devices: bring it to one"):
        on_one.update(jax.device_put(x, sharding))

    @jax.shard_map(mesh=sharding.mesh, in_specs=PartitionSpec(), out_specs=PartitionSpec(), check_vma=False)
    def inside(neighbors):
        return neighbors.edges().count

    with pytest.raises(TypeError, match=r"inside of jax\.shard_map"):
        inside(neighbors)
    with pytest.raises(TypeError, match="on several devices cannot be exported"):
        jax.export.export(jax.jit(lambda neighbors: neighbors.needed))(neighbors).serialize()
