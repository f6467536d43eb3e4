"""The GPU's nearest-neighbour kernel: interpreted on the CPU, lowered for CUDA, run on a GPU.

Its oracles are SciPy, and every distance in exact integers, ordered by (distance, row).
"""

import contextlib
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AbstractDevice, AbstractMesh
from scipy.spatial import cKDTree

import jaxapi as xp
from jaxapi.spatial import KDTree, _gpu
from jaxapi.spatial._device import _engines
from jaxapi.spatial._gpu import _nearest as _engine_gpu
from jaxapi.spatial._gpu._nearest import nearest
from jaxapi.spatial._gpu._order import order_queries
from jaxapi.spatial._structure._build import build
from jaxapi.spatial._structure._homes import home_leaf
from jaxapi.spatial._structure._metric import into_box

POINTS, QUERIES = 300, 50  # one shape for most tests: each shape is a compilation of seconds

jitted_build = jax.jit(build, static_argnames="leaf_size")


@partial(jax.jit, static_argnames=("k", "p", "interpret"))
def search(tree, queries, bound, eps, box, *, k, p, interpret):
    if box is not None:
        queries = into_box(queries, box)
    return nearest(tree, queries, bound, eps, box, k=k, p=p, interpret=interpret)


def query(points, queries, *, k=3, p=2.0, bound=np.inf, eps=0.0, box=None, interpret=True, leaf_size=4):
    """Return NumPy distances and rows."""
    dtype = points.dtype.type
    with jax.enable_x64(True) if dtype == np.float64 else contextlib.nullcontext():
        tree = jitted_build(points, np.int32(len(points)), leaf_size=leaf_size)
        box = None if box is None else np.broadcast_to(np.asarray(box, dtype), points.shape[1:])
        found = search(tree, queries, dtype(bound), dtype(eps), box, k=k, p=p, interpret=interpret)
    return tuple(np.asarray(x) for x in found)


def uniform(n, m, seed, dtype=np.float32):
    return np.random.default_rng(seed).random((n, m)).astype(dtype)


def grid(n, m, seed):
    """Return points with integer coordinates, many of them equal, and equal distances in plenty."""
    return np.random.default_rng(seed).integers(0, 6, (n, m)).astype(np.float32)


def assert_as_scipy(points, queries, found, *, k, p=2.0, bound=np.inf, box=None):
    distances, rows = found
    tree = cKDTree(points.astype(float), boxsize=box)
    expected, _ = tree.query(queries.astype(float), k=[*range(1, k + 1)], p=p, distance_upper_bound=bound)
    rtol = 8 * np.finfo(points.dtype).eps
    np.testing.assert_allclose(distances, expected, rtol=rtol, atol=rtol)
    assert (rows[np.isinf(expected)] == len(points)).all()
    there = np.isfinite(distances)
    difference = np.abs(points[rows[there]].astype(float) - np.repeat(queries, there.sum(1), 0))
    if box is not None:
        length = np.where(np.asarray(box) > 0, box, np.inf)
        difference %= length
        difference = np.minimum(difference, length - difference)
    exact = difference.max(1) if p == np.inf else (difference**p).sum(1) ** (1 / p)
    np.testing.assert_allclose(distances[there], exact, rtol=2 * rtol, atol=rtol)


def assert_exact(points, queries, found, k):
    """Compare with every distance of integer points, ordered by (distance, row)."""
    squares = ((queries[:, None].astype(int) - points[None].astype(int)) ** 2).sum(-1)
    rows = np.argsort(squares, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(found[1], rows)
    distances = np.sqrt(np.take_along_axis(squares, rows, 1).astype(np.float32))
    np.testing.assert_array_max_ulp(found[0], distances, maxulp=1)  # XLA's square root on a GPU is that exact


@pytest.mark.kernels
@pytest.mark.parametrize(("k", "leaf_size"), [(1, 4), (3, 4), (40, 4), (40, 8)])
def test_ties_go_to_the_lowest_row_also_at_the_last_place(k, leaf_size):
    """The 40 are those within a radius, or in a tree of fewer leaves come in two passes."""
    points, queries = grid(POINTS, 3, 0), grid(QUERIES, 3, 1)
    assert_exact(points, queries, query(points, queries, k=k, leaf_size=leaf_size), k)


def line(n, seed):
    return uniform(n, 3, seed) * np.float32([1, 0, 0])


def knots(n, seed):
    """Return points in five narrow clusters."""
    rng = np.random.default_rng(seed)
    return (uniform(5, 3, seed)[rng.integers(0, 5, n)] + 0.003 * rng.random((n, 3))).astype(np.float32)


MANY = 1000


@pytest.mark.kernels
@pytest.mark.parametrize(
    ("points", "queries"),
    [
        (uniform(MANY, 3, 20), uniform(QUERIES, 3, 21) * 1.5 - 0.2),
        (knots(MANY, 22), knots(QUERIES, 23)),
        (line(MANY, 24), uniform(QUERIES, 3, 25)),
        (uniform(MANY, 3, 26), uniform(QUERIES, 3, 27) + 30),
    ],
    ids=["uniform", "far clusters", "line", "far away"],
)
def test_many_neighbours(points, queries):
    assert_as_scipy(points, queries, query(points, queries, k=70), k=70)


@pytest.mark.kernels
@pytest.mark.parametrize(
    ("k", "p", "box", "dtype", "bound"),
    [
        (70, 1.0, None, np.float32, 0.4),
        (70, np.inf, (1.5, 0.0, 1.0), np.float32, np.inf),
        (33, 3.0, (1.5, 0.0, 1.0), np.float64, 0.3),
        (900, 7.0, None, np.float32, np.inf),
    ],
)
def test_many_neighbours_in_every_space(k, p, box, dtype, bound):
    points, queries = uniform(MANY, 3, 28, dtype), uniform(QUERIES, 3, 29, dtype)
    found = query(points, queries, k=k, p=p, box=box, bound=bound)
    assert_as_scipy(points, queries, found, k=k, p=p, box=box, bound=bound)


@pytest.mark.kernels
def test_many_equally_far_points_are_found_in_passes():
    """No radius holds 40 and not many more, for some of the queries."""
    points = np.concatenate([np.full((200, 3), 4), grid(POINTS, 3, 30) * 2]).astype(np.float32)
    queries = np.concatenate([np.full((3, 3), 4), grid(QUERIES, 3, 31)]).astype(np.float32)
    assert_exact(points, queries, query(points, queries, k=40), 40)


@pytest.mark.kernels
def test_a_bound_for_each_query():
    points, queries = uniform(POINTS, 3, 34), uniform(QUERIES, 3, 35)
    bound = np.where(np.arange(QUERIES) % 3 == 0, 0.4, 0).astype(np.float32)
    distances, rows = query(points, queries, k=40, bound=bound)
    everything, their_rows = query(points, queries, k=40)
    near = everything < bound[:, None]
    np.testing.assert_array_equal(distances, np.where(near, everything, np.inf))
    np.testing.assert_array_equal(rows, np.where(near, their_rows, POINTS))


@pytest.mark.kernels
def test_many_neighbours_come_in_blocks(monkeypatch):
    points, queries = grid(POINTS, 3, 32), grid(QUERIES, 3, 33)
    monkeypatch.setattr(_engine_gpu, "CANDIDATES", 1000)
    jax.clear_caches()
    assert_exact(points, queries, query(points, queries, k=40), 40)


@pytest.mark.kernels
@pytest.mark.parametrize(
    ("k", "p", "box"),
    [(1, 1.0, None), (3, 3.0, (1.5, 0.0, 1.0)), (1, 7.0, None), (1, np.inf, (1.5, 0.0, 1.0))],
)
def test_norms_and_boxes(k, p, box):
    points, queries = uniform(POINTS, 3, 2), uniform(QUERIES, 3, 3) * 3 - 1
    assert_as_scipy(points, queries, query(points, queries, k=k, p=p, box=box), k=k, p=p, box=box)


@pytest.mark.kernels
@pytest.mark.parametrize("m", [1, 6])
def test_dimensions(m):
    points, queries = uniform(POINTS, m, 4), uniform(QUERIES, m, 5) * 2 - 0.5
    assert_as_scipy(points, queries, query(points, queries, k=1), k=1)


@pytest.mark.kernels
def test_float64_keeps_its_digits():
    points, queries = uniform(POINTS, 3, 6, np.float64), uniform(QUERIES, 3, 7, np.float64)
    distances, rows = query(points, queries)
    assert distances.dtype == np.float64
    assert_as_scipy(points, queries, (distances, rows), k=3)


@pytest.mark.kernels
def test_bound_is_strict():
    points, queries = grid(POINTS, 3, 8), grid(QUERIES, 3, 9)
    for bound in (0.0, 1e-30, 1.0, np.nextafter(np.float32(1), np.float32(2)), 2.0):
        distances, rows = query(points, queries, bound=bound)
        everything, their_rows = query(points, queries)
        near = everything < bound
        np.testing.assert_array_equal(distances, np.where(near, everything, np.inf))
        np.testing.assert_array_equal(rows, np.where(near, their_rows, POINTS))


@pytest.mark.kernels
def test_eps_bounds_the_error():
    points, queries = uniform(POINTS, 3, 10), uniform(QUERIES, 3, 11)
    best, _ = query(points, queries)
    for eps in (0.1, 2.0):
        distances, rows = query(points, queries, eps=eps)
        assert (rows < POINTS).all()
        assert (distances >= best).all()
        assert (distances <= best * (1 + eps) * (1 + 1e-6)).all()


@pytest.mark.kernels
def test_queries_that_are_not_finite_find_nothing():
    points, queries = uniform(POINTS, 3, 12), uniform(QUERIES, 3, 13)
    queries[[1, 7, 30]] = [[np.nan, 0, 0], [0, np.inf, 0], [0, 0, -np.inf]]
    distances, rows = query(points, queries)
    assert np.isinf(distances[[1, 7, 30]]).all()
    assert (rows[[1, 7, 30]] == POINTS).all()
    assert np.isfinite(np.delete(distances, [1, 7, 30], 0)).all()


@pytest.mark.kernels
def test_few_points():
    """More is asked for than there is; the rows from n on do not count."""
    queries = uniform(QUERIES, 3, 14)
    points = uniform(POINTS, 3, 15)
    for n in (0, 1, 2, 5):
        tree = jitted_build(points, np.int32(n), leaf_size=4)
        found = search(tree, queries, np.float32(np.inf), np.float32(0), None, k=3, p=2.0, interpret=True)
        distances, rows = (np.asarray(x) for x in found)
        assert (rows[:, n:] == n).all()
        assert np.isinf(distances[:, n:]).all()
        every = np.sort(np.linalg.norm(queries[:, None] - points[None, :n], axis=-1), axis=1)[:, :3]
        np.testing.assert_allclose(distances[:, :n], every, rtol=1e-6)


@pytest.mark.kernels
@pytest.mark.parametrize("shift", [1e-30, 1e30])
def test_scale_does_not_matter(shift):
    points, queries = uniform(POINTS, 3, 16), uniform(QUERIES, 3, 17)
    distances, rows = query(points, queries)
    factor = np.float32(2.0 ** round(np.log2(shift)))
    scaled, same = query(points * factor, queries * factor)
    np.testing.assert_array_equal(rows, same)
    np.testing.assert_array_equal(distances * factor, scaled)


@pytest.mark.kernels
def test_vmap():
    points = np.stack([grid(64, 2, seed) for seed in (0, 1)])
    queries = np.stack([grid(32, 2, seed) for seed in (2, 3)])

    def one(points, queries):
        tree = build(points, 64, leaf_size=4)
        return nearest(tree, queries, np.inf, 0.0, None, k=1, p=2.0, interpret=True)

    found = jax.jit(jax.vmap(one))(points, queries)
    for i in (0, 1):
        assert_exact(points[i], queries[i], [np.asarray(x[i]) for x in found], 1)


@pytest.mark.kernels
def test_order_puts_queries_of_a_leaf_together():
    points = uniform(POINTS, 3, 18)
    tree = jitted_build(points, np.int32(POINTS), leaf_size=4)
    scaled = points * np.asarray(tree.scale)
    home = np.asarray(home_leaf(tree, scaled))
    slots = np.argsort(np.asarray(tree.rows)[np.asarray(tree.rows) < POINTS])
    assert (home == slots // tree.leaf_size).mean() > 0.99, "a point falls in its own leaf"
    for queries in (scaled[: POINTS // 32 * 32], 1000 + uniform(512, 3, 19)):
        finite = np.ones(len(queries), bool)
        found = jax.jit(partial(order_queries, interpret=True))(tree, queries, finite)
        homes, order = (np.asarray(x) for x in found)
        np.testing.assert_array_equal(np.sort(order), np.arange(len(queries)))
        np.testing.assert_array_equal(homes, np.sort(np.asarray(home_leaf(tree, queries))))
    steps = np.linalg.norm(np.diff(queries[order], axis=0), axis=1)
    assert steps.mean() < 0.5 * np.linalg.norm(np.diff(queries, axis=0), axis=1).mean(), "far queries, too"


def h200():
    """Return the context in which a GPU that is not here is lowered for."""
    device = AbstractDevice(device_kind="NVIDIA H200", num_cores=132, platform="gpu")
    return jax.sharding.use_abstract_mesh(AbstractMesh((1,), ("x",), abstract_device=device))


def lower(points, queries, dtype=jnp.float32, box=False, **static):
    """Lower a search for an NVIDIA GPU."""
    m = points[1]
    tree = jax.eval_shape(build, jax.ShapeDtypeStruct(points, dtype), jax.ShapeDtypeStruct((), jnp.int32))
    scalar = jax.ShapeDtypeStruct((), dtype)
    box = jax.ShapeDtypeStruct((m,), dtype) if box else None
    with h200():
        traced = search.trace(
            tree, jax.ShapeDtypeStruct(queries, dtype), scalar, scalar, box, interpret=False, **static
        )
        return traced.lower(lowering_platforms=("cuda",))


@pytest.mark.parametrize(
    ("static", "options"),
    [
        ({"k": 1, "p": 2.0}, {}),
        ({"k": 32, "p": 1.5}, {"box": True}),
        ({"k": 100, "p": np.inf}, {}),
        ({"k": 8, "p": 7.0}, {"dtype": jnp.float64}),
        ({"k": 50, "p": 2.0}, {"dtype": jnp.float64, "box": True}),
    ],
)
def test_lowers_for_cuda(static, options):
    wide = options.get("dtype") == jnp.float64
    with jax.enable_x64(True) if wide else contextlib.nullcontext():
        assert "triton" in lower((1024, 3), (1000, 3), **static, **options).as_text()


@pytest.mark.parametrize("k", [3, 40])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_jitted_query_lowers_for_cuda(dtype, k, x64, monkeypatch):
    """float64 lowers with x64 off, too."""
    monkeypatch.setattr(_engines, "gpu_engine", lambda: _gpu)
    points = xp.asarray(uniform(1000, 3, 0, dtype))
    search = jax.jit(lambda points: KDTree(points).query(points, k=k))
    with h200():
        traced = search.trace(points)
        assert "triton" in traced.lower(lowering_platforms=("cuda",)).as_text()


def test_lowers_where_32_bits_do_not_count_the_elements():
    """Arrays go to the kernel with their shapes, and each index fits: Pallas makes 64-bit offsets of them."""
    text = lower((2**28, 10), (2**27, 10), k=20, p=2.0).as_text()
    assert f"tensor<10x{2**28}xf32>" in text
    assert f"tensor<{2**27}x20xf32>" in text


@pytest.mark.gpu
@pytest.mark.parametrize("k", [1, 8, 32, 100])
@pytest.mark.usefixtures("gpu")
def test_on_a_gpu(k):
    points, queries = grid(1000, 3, 20) * 4 + grid(1000, 3, 21), grid(500, 3, 22) * 5
    assert_exact(points, queries, query(points, queries, k=k, interpret=False, leaf_size=16), k)
    points, queries = uniform(5000, 3, 23), uniform(500, 3, 24) * 2 - 0.5
    found = query(points, queries, k=k, p=1.0, box=1.25, interpret=False, leaf_size=16)
    assert_as_scipy(points, queries, found, k=k, p=1.0, box=1.25)
