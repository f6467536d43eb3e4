"""The CUDA engine's build: its kernels compiled for the host, or on a GPU where there is one."""

import contextlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial import cKDTree
from trees import check, check_nodes, cloud

import jaxapi as xp
from jaxapi.spatial import KDTree
from jaxapi.spatial._engines import _choice, _cuda
from jaxapi.spatial._engines._cuda import _build, _launch
from jaxapi.spatial._engines._cuda._order import extent
from jaxapi.spatial._tree._metric import TreeMetric
from jaxapi.spatial._tree._queries import Limits

pytestmark = [pytest.mark.kernels, pytest.mark.usefixtures("kernels_on_host")]


@pytest.fixture(autouse=True)
def few_threads(monkeypatch):
    """The host takes turns among those of a block."""
    if jax.default_backend() != "gpu":
        monkeypatch.setattr(_build, "_room", lambda m: 512)


jitted = jax.jit(_cuda.build, static_argnames="leaf_size")


@pytest.mark.parametrize("kind", ["uniform", "duplicates", "line", "outlier", "wide", "narrow", "far"])
@pytest.mark.parametrize("n", [0, 1000])
def test_invariants(kind, n):
    points = cloud(kind, n, 3, np.float32)
    padded = np.zeros((1024, 3), np.float32)
    padded[:n] = points
    check(jitted(padded, n), points)


@pytest.mark.thorough
@pytest.mark.daily("16-100-16")
@pytest.mark.parametrize(("m", "n", "leaf_size"), [(1, 1, 4), (2, 5000, 12), (16, 100, 16), (17, 20, 16)])
def test_dimensions(m, n, leaf_size):
    """Also of leaves that are no power of two, of few leaves, and of a flat tree."""
    points = cloud("uniform", n, m, np.float32)
    tree = jitted(points, n, leaf_size=leaf_size)
    if m < 17:
        check(tree, points)
    else:
        assert tree.is_flat
        np.testing.assert_array_equal(tree.points[:, :n].T / tree.scale, points)


def test_blocks_that_split_fewer_levels(monkeypatch):
    """The sorts before do more of them."""
    monkeypatch.setattr(_build, "_room", lambda m: 256)
    points = cloud("uniform", 1000, 3, np.float32)
    tree = jax.jit(lambda points: _cuda.build(points, 1000, leaf_size=12))(points)
    check(tree, points)
    low, high = (np.asarray(box)[:, tree.leaves :] for box in (tree.lower, tree.upper))
    assert np.prod(high - low, axis=0).sum() < 1.0 * float(tree.scale) ** 3


def test_slots_that_follow_each_other_are_close_together():
    """32 of them are a packet, also where leaves have another size."""
    n = 20 << 8
    points = cloud("uniform", n, 3, np.float32)
    tree = jitted(points, n)
    assert tree.leaf_size == 20
    packets = np.asarray(tree.points).reshape(3, -1, 32)
    volumes = np.prod(packets.max(2) - packets.min(2), axis=0)
    assert volumes.sum() < 1.6 * float(tree.scale) ** 3


@pytest.mark.daily
def test_points_that_shared_memory_does_not_hold():
    """A block has its points at the place of its results then."""
    with jax.enable_x64(True):
        points = cloud("duplicates", 512, 16, np.float64)
        tree = jitted(points, 512)
        assert tree.points.shape == (16, 512)
        check(tree, points)


def test_float64_arrays_are_filled_in_place_with_x64_off(monkeypatch):
    """What a kernel fills is of the dtype of its result then, too."""
    filled = []

    def custom_call(kernel, blocks, threads, inputs, outputs, items):
        in_place = inputs.keys() & outputs.keys()
        filled.extend((jnp.asarray(inputs[name]).dtype, outputs[name].dtype) for name in in_place)
        return [jnp.zeros(each.shape, each.dtype) for each in outputs.values()]

    monkeypatch.setattr(_launch, "custom_call", custom_call)
    with jax.enable_x64(False):
        points = xp.asarray(cloud("uniform", 100, 2, np.float64))
        tree = jax.eval_shape(lambda points: _cuda.build(points, 100), points)
        limits = Limits(np.inf, 0.0)
        jax.eval_shape(
            lambda tree, points: _cuda.nearest(tree, points, limits, TreeMetric(2.0), k=1), tree, points
        )
    assert set(filled) == {(np.dtype("float64"),) * 2}


def test_vmap():
    points = np.stack([cloud(kind, 100, 2, np.float32) for kind in ("uniform", "duplicates", "line")])
    trees = jax.jit(jax.vmap(lambda p: _cuda.build(p, 100)))(points)
    for i in range(3):
        check(jax.tree.map(lambda leaf, i=i: leaf[i], trees), points[i])


def test_a_scale_that_is_given():
    points = cloud("uniform", 100, 2, np.float32)
    tree = jax.jit(lambda points: _cuda.build(points, 100, scale=jnp.float32(4)))(points)
    assert tree.scale == 4
    check(tree, points)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_extent(dtype):
    """Of lines that are finite, of both signs; nothing has the empty box."""
    rng = np.random.default_rng(1)
    x = (rng.standard_normal((300, 2)) * [1, -1e-3] + [-5, 0]).astype(dtype)
    x[7] = np.nan, 1
    x[8] = -np.inf, 9
    with jax.enable_x64(True) if dtype == np.float64 else contextlib.nullcontext():
        empty = np.array([[np.inf] * 2, [-np.inf] * 2], dtype)
        found = jax.jit(extent)(x, 250, empty)
        nothing = jax.jit(extent)(x, 0, empty)
    real = np.delete(x[:250], [7, 8], axis=0)
    np.testing.assert_array_equal(found, [real.min(0), real.max(0)])
    np.testing.assert_array_equal(nothing, empty)


def test_a_tree_of_concrete_points_is_built_so(monkeypatch):
    """The public tree, as on a GPU, against SciPy's."""
    monkeypatch.setattr(_choice, "engine_name", lambda data: "lax")
    monkeypatch.setattr(_choice, "engine_of", lambda data: _cuda)
    points = cloud("uniform", 700, 3, np.float32)
    tree = KDTree(jnp.asarray(points))
    assert sorted(np.asarray(tree.indices)) == list(range(700))
    distances, rows = tree.query(tree.data, k=3)
    expected, _ = cKDTree(points.astype(float)).query(points.astype(float), k=3)
    np.testing.assert_allclose(distances, expected, rtol=1e-6, atol=1e-6)
    assert (np.asarray(rows)[:, 0] == np.arange(700)).all()


def test_nodes(monkeypatch):
    """Children lie in either order along the side that parts them."""
    monkeypatch.setattr(_choice, "engine_of", lambda data: _cuda)
    points = cloud("uniform", 300, 3, np.float32)
    check_nodes(KDTree(jnp.asarray(points)), points)
