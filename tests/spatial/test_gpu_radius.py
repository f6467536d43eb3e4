"""The radius kernels: the numbers of `_lax`, interpreted on the CPU, lowered for CUDA, on a GPU.

Points have integer coordinates, so that no rounding differs, and radii reach some of them exactly.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AbstractDevice, AbstractMesh

import jaxapi as xp
from jaxapi.spatial import KDTree, _gpu, _lax
from jaxapi.spatial._device import _engines
from jaxapi.spatial._gpu import _radius as _gpu_radius
from jaxapi.spatial._structure._build import build
from jaxapi.spatial._structure._queries import ordered_queries, own_queries, radius_bound

SEED = np.random.default_rng(3)
BOX = np.array([20.0, 0.0, 16.0], np.float32)

jitted_build = jax.jit(build, static_argnames="leaf_size")


def cloud(n, side=12):
    """Return points of which some are not finite, and some fall together."""
    points = SEED.integers(0, side, (n, 3)).astype(np.float32)
    points[::50] = np.nan
    return points


def both(name, *arrays, interpret, **options):
    """Return the result of the kernel of that name and, from the CPU, that of `_lax`."""
    kernel = jax.jit(partial(getattr(_gpu_radius, name), interpret=interpret, **options))
    portable = jax.jit(partial(getattr(_lax, name), **options))
    return kernel(*arrays), portable(*jax.device_put(arrays, jax.devices("cpu")[0]))


def assert_same(tree, queries, box, *, relation, p, interpret):
    """Count and fill, whole and cut short."""
    found, counts = both("count", tree, queries, box, p=p, relation=relation, interpret=interpret)
    np.testing.assert_array_equal(found, counts)
    counts = np.asarray(counts)
    ends = np.cumsum(counts, dtype=np.int32)
    size = int(ends[-1]) + 3
    for stop in (ends, ends - counts // 2):
        inputs = tree, queries, ends - counts, stop, box
        options = {"size": size, "p": p, "relation": relation, "interpret": interpret}
        filled, expected = both("fill", *inputs, **options)
        np.testing.assert_array_equal(filled[0], expected[0])
        np.testing.assert_allclose(filled[1], expected[1], rtol=1e-6)
    return counts


def assert_bins_same(tree, queries, *, interpret):
    """Sum weights within five radii, no two queries with equal sums in all."""
    radii = radius_bound(tree, np.array([-1.0, 0.0, 2.0, 5.0, 8.0], np.float32), 2.0)
    weights = np.where(np.asarray(tree.rows) < tree.n, np.arange(len(tree.rows)), 0).astype(np.int32)
    found, expected = both("bin_counts", tree, queries, radii, weights, None, p=2.0, interpret=interpret)
    np.testing.assert_array_equal(found, expected)
    assert (np.asarray(found[1:]) > 0).any(axis=1).all()


def queries_of(tree, count, radius, box=None):
    """Return queries, one of them not finite, in and around the cloud."""
    x = SEED.integers(-3, 15, (count, 3)).astype(np.float32)
    x[count // 3] = np.inf
    radii = np.full(count, radius, np.float32)
    return ordered_queries(tree, x, radii, p=2.0, box=box)[0]


@pytest.mark.kernels
@pytest.mark.parametrize(("relation", "box"), [("any", None), ("other", BOX), ("later", None)])
def test_same_as_lax(relation, box):
    points = cloud(300)
    tree = jitted_build(points, np.int32(290), leaf_size=4)
    if relation == "any":
        queries = queries_of(tree, 70, 4.0)
        queries = queries._replace(bound=queries.bound * (np.arange(70) % 3 / 2).astype(np.float32))
    else:
        queries = own_queries(tree, jnp.float32(3.0), p=2.0)
    counts = assert_same(tree, queries, box, relation=relation, p=2.0, interpret=True)
    assert counts.max() > 8
    if relation == "any":
        assert_bins_same(tree, queries, interpret=True)


@pytest.mark.kernels
def test_counts_nodes_inside_of_the_radius_without_a_visit(monkeypatch):
    tree = jitted_build(cloud(300), np.int32(300), leaf_size=4)
    queries = own_queries(tree, jnp.float32(14.0), p=2.0)
    count = partial(both, "count", tree, queries, None, p=2.0, relation="any", interpret=True)
    found, expected = count()
    np.testing.assert_array_equal(found, expected)
    monkeypatch.setattr(_gpu_radius, "node_sums", lambda values, leaves: jnp.zeros(2 * leaves, values.dtype))
    visited, _ = count()
    assert int(jnp.sum(visited)) < int(jnp.sum(expected)) // 2


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lowers_for_cuda(dtype, x64, monkeypatch):
    """Inside jit, where float64 comes with x64 off, too."""
    monkeypatch.setattr(_engines, "gpu_engine", lambda: _gpu)
    points = xp.asarray(SEED.random((100, 3)).astype(dtype))
    searches = (
        lambda points: KDTree(points).query_ball_point(points, 0.3, p=3.0, return_length=True),
        lambda points: KDTree(points, boxsize=1.0).query_radius(points, 0.3, max_neighbors=8),
        lambda points: KDTree(points).radius_graph(0.3, max_edges=8),
        lambda points: KDTree(points).query_pairs(0.3, p=1.0, max_pairs=8),
        lambda points: KDTree(points).count_neighbors(KDTree(points), [0.1, 0.2]),
    )
    device = AbstractDevice(device_kind="NVIDIA H200", num_cores=132, platform="gpu")
    with jax.sharding.use_abstract_mesh(AbstractMesh((1,), ("x",), abstract_device=device)):
        for search in searches:
            text = jax.jit(search).trace(points).lower(lowering_platforms=("cuda",)).as_text()
            assert "triton" in text


@pytest.mark.gpu
@pytest.mark.usefixtures("gpu")
def test_on_a_gpu():
    points = cloud(20_000, 40)
    tree = jitted_build(points, np.int32(19_900))
    for radius in (1.0, 3.0, 12.0):
        assert_same(tree, queries_of(tree, 5_000, radius), None, relation="any", p=2.0, interpret=False)
    for relation, p, box in (("other", np.inf, BOX * np.float32(2.5)), ("later", 1.0, None)):
        queries = own_queries(tree, jnp.float32(2.0), p=p)
        assert_same(tree, queries, box, relation=relation, p=p, interpret=False)
    assert_bins_same(tree, queries_of(tree, 5_000, -1.0), interpret=False)
