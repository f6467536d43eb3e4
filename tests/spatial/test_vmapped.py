"""Searches of vmapped clouds: what NumPy finds in each, by one launch of each kernel for all."""

import contextlib
import re
from collections import Counter

import cuda_host
import jax
import numpy as np
import pytest

from jaxapi.spatial import KDTree
from jaxapi.spatial._engines import _choice, _cuda
from jaxapi.spatial._engines._cuda import _launch
from jaxapi.spatial._tree._batching import one_search_of_all
from jaxapi.spatial._tree._powers_of_two import scaled, unscaled
from jaxapi.spatial._tree._sorting import sorted_by


@pytest.fixture
def kernels(monkeypatch):
    """Search traced clouds by the kernels, compiled for the host where there is no GPU."""
    if jax.default_backend() == "gpu":
        yield
        return
    if cuda_host.compiler() is None:
        pytest.skip("no C++ compiler: neither g++ nor the wheel ziglang")
    monkeypatch.setattr(_launch, "custom_call", cuda_host.custom_call)
    monkeypatch.setattr(_choice, "engine_of", lambda data: _cuda)
    monkeypatch.setattr(_choice, "only_the_cpu", lambda: False)
    monkeypatch.setattr(_choice, "gpu_engine", lambda: _cuda)
    monkeypatch.setattr(jax.lax, "platform_dependent", lambda *arrays, cuda, default: cuda(*arrays))
    with cuda_host.x64_in_all_threads():
        yield


def distances_between(points, x):
    return np.linalg.norm(x[:, None].astype(float) - points[None], axis=2)


@pytest.mark.thorough
@pytest.mark.kernels
def test_clouds_of_clouds_by_kernels(kernels):
    """Points, queries and radii of two batches, one in the other; a cloud may have no point that counts."""
    rng = np.random.default_rng(0)
    points = rng.random((2, 3, 20, 2)).astype(np.float32)
    x = rng.random((2, 3, 7, 2)).astype(np.float32)
    counts = np.array([[20, 0, 13], [20, 1, 7]], np.int32)
    radii = np.array([0.3, 0.2], np.float32)

    def search(points, x, n, radius):
        tree = KDTree(points, n=n)
        return {
            "nearest": tree.query(x, 4),
            "within": tree.query_radius(x, radius, max_neighbors=20),
            "counts": tree.query_ball_point(x, radius, return_length=True),
            "edges": tree.radius_graph(radius, max_edges=200),
            "components": tree.connected_components(radius).labels,
        }

    clouds = jax.vmap(jax.vmap(search, (0, 0, 0, None)), (0, 0, 0, 0))
    results = jax.tree.map(np.asarray, jax.jit(clouds)(points, x, counts, radii))
    for i, j in np.ndindex(2, 3):
        found = jax.tree.map(lambda each, item=(i, j): each[item], results)
        n = counts[i, j]
        apart = distances_between(points[i, j, :n], x[i, j])
        nearest = np.sort(np.pad(apart, ((0, 0), (0, 4)), constant_values=np.inf), axis=1)[:, :4]
        np.testing.assert_allclose(found["nearest"][0], nearest, rtol=1e-5)
        np.testing.assert_array_equal(found["counts"], (apart <= radii[i]).sum(axis=1))
        np.testing.assert_array_equal(found["within"].counts, found["counts"])
        for rows, row in zip(found["within"].indices, apart <= radii[i], strict=True):
            assert sorted(rows[: row.sum()]) == np.flatnonzero(row).tolist()
        is_edge = distances_between(points[i, j, :n], points[i, j, :n]) <= radii[i]
        np.fill_diagonal(is_edge, False)
        total = int(found["edges"].count)
        edges = np.stack([found["edges"].receivers, found["edges"].senders])[:, :total]
        assert sorted(map(tuple, edges.T.tolist())) == [tuple(edge) for edge in np.argwhere(is_edge).tolist()]
        labels = found["components"][:n]
        reach = np.linalg.matrix_power(is_edge.astype(int) + np.eye(n, dtype=int), 20) > 0
        np.testing.assert_array_equal(labels[:, None] == labels[None], reach)


@pytest.mark.thorough
def test_a_batch_is_one_launch_of_each_kernel(monkeypatch):
    """Of clouds that are batches of batches, too: its program has the launches that a cloud's has."""
    of_all_items = set()

    def named(kernel, blocks, threads, inputs, outputs, items):
        if items is not None:
            for each, stride in zip((*inputs.values(), *outputs.values()), items.strides, strict=True):
                nbytes = np.dtype(each.dtype).itemsize * int(np.prod(each.shape))
                assert stride in (0, nbytes // items.size)
            if items.size == 20:
                of_all_items.add(kernel.name)
        return jax.ffi.ffi_call(f"{kernel.name}.cu", tuple(outputs.values()))(*inputs.values())

    def search(points):
        tree = KDTree(points)
        return tree.query(points, 3), tree.radius_graph(0.1, max_edges=99), tree.connected_components(0.1)

    def launches(function, points):
        program = jax.jit(function).trace(points).lower(lowering_platforms=("cuda",)).as_text()
        return Counter(re.findall(r"@\"?(\w+)\.cu", program))

    monkeypatch.setattr(_choice, "gpu_engine", lambda: _cuda)
    monkeypatch.setattr(_choice, "only_the_cpu", lambda: False)
    monkeypatch.setattr(_launch, "custom_call", named)
    points = np.zeros((4, 5, 30, 2), np.float32)
    of_one = launches(search, points[0, 0])
    assert {"split", "singles", "count", "fill", "join"} <= of_one.keys()
    assert launches(jax.vmap(jax.vmap(search)), points) == of_one
    assert of_all_items == of_one.keys()


@pytest.mark.parametrize("order", ["trees first", "queries first"])
def test_queries_over_a_batch_of_trees_are_joined(order):
    """Whichever batch vmap comes to first: each search gets (trees, all queries)."""
    shapes = []

    def search(shared, x, number):
        shapes.append(x.shape)
        return x.sum(axis=1) * shared + number

    rng = np.random.default_rng(0)
    trees, x, numbers = rng.random(3), rng.random((4, 5, 2)), rng.random(4)
    run = one_search_of_all(search)
    if order == "trees first":
        found = jax.vmap(jax.vmap(run, (0, None, None)), (None, 0, 0))(trees, x, numbers)
    else:
        found = jax.vmap(jax.vmap(run, (None, 0, 0)), (0, None, None))(trees, x, numbers).swapaxes(0, 1)
    expected = x.sum(axis=2)[:, None] * trees[:, None] + numbers[:, None, None]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert shapes[-1] == (20, 2)


@pytest.mark.parametrize("dtype", ["uint32", "int32", "uint8", "int64"])
def test_batches_are_sorted_at_once(dtype):
    """Stably, negative and greatest keys among them, alone and in batches of batches."""
    rng = np.random.default_rng(0)
    limits = np.iinfo(dtype)
    keys = rng.choice([limits.min, limits.min + 1, 0, 1, 7, limits.max], (2, 3, 50)).astype(dtype)
    values = np.broadcast_to(np.arange(50, dtype=np.int32), keys.shape)
    expected = np.argsort(keys, axis=2, kind="stable")
    with jax.enable_x64(True) if limits.bits == 64 else contextlib.nullcontext():
        np.testing.assert_array_equal(jax.vmap(sorted_by)(keys[0], values[0]), expected[0])
        np.testing.assert_array_equal(jax.vmap(jax.vmap(sorted_by))(keys, values), expected)
        np.testing.assert_array_equal(jax.vmap(sorted_by, (0, None))(keys[0], values[0, 0]), expected[0])


@pytest.mark.daily
def test_powers_of_two_of_single_numbers_of_64_bits():
    """In a batch, too, whose axis JAX may have at the end."""
    x = np.array([1.0, 3e-310, -5.0, 0.0])
    scales = 2.0 ** np.arange(60, 64)
    with jax.enable_x64(True):
        np.testing.assert_array_equal(jax.vmap(scaled)(x, scales), x * scales)
        np.testing.assert_array_equal(jax.vmap(unscaled)(x * scales, scales), x)


@pytest.mark.daily
def test_no_clouds_and_no_queries(monkeypatch):
    """Have results without items, on a GPU without a launch, and traced queries have theirs."""
    launches = []

    def named(kernel, blocks, threads, inputs, outputs, items):
        launches.append(items)
        return jax.ffi.ffi_call(f"{kernel.name}.cu", tuple(outputs.values()))(*inputs.values())

    def search(points, x):
        tree = KDTree(points, engine="lax")
        within = tree.query_radius(x, 0.5, max_neighbors=3)
        return tree.query(x, 2), within, tree.query_ball_point(x, 0.5, return_length=True)

    points = np.zeros((5, 2), np.float32)
    distances, within, counts = jax.jit(search)(points, points[:0])
    assert [x.shape for x in distances] == [(0, 2)] * 2
    assert [x.shape for x in within] == [(0, 3), (0, 3), (0,)]
    assert counts.shape == (0,)

    monkeypatch.setattr(_choice, "gpu_engine", lambda: _cuda)
    monkeypatch.setattr(_choice, "only_the_cpu", lambda: False)
    monkeypatch.setattr(_launch, "custom_call", named)
    no_clouds = np.zeros((0, 30, 2), np.float32)
    program = jax.jit(jax.vmap(lambda points: KDTree(points).radius_graph(0.1, max_edges=9)))
    lowered = program.trace(no_clouds).lower(lowering_platforms=("cuda",))
    assert [x.shape for x in jax.tree.leaves(lowered.out_info)] == [(0, 9), (0, 9), (0, 9), (0,)]
    assert not any(items is not None for items in launches)


@pytest.mark.thorough
def test_least_distances_in_clouds_of_float64():
    """Are as they are without clouds, although clouds are very far from each other."""
    with jax.enable_x64(True):
        points = np.array([[0.0], [1e-130], [3e-130], [1.0]])
        ids = np.array([0, 0, 0, 2**31 - 1], np.int32)
        graph = jax.jit(lambda x: KDTree(x, batch=ids, engine="lax").radius_graph(2e-130, p=4, max_edges=8))(
            points
        )
        edges = set(zip(graph.receivers.tolist(), graph.senders.tolist(), strict=True)) - {(4, 4)}
        assert edges == {(0, 1), (1, 0), (1, 2), (2, 1)}
        np.testing.assert_allclose(sorted(graph.distances.tolist())[:4], [1e-130] * 2 + [2e-130] * 2)
