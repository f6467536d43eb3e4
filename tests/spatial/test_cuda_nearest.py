"""The CUDA engine's nearest neighbours: its kernels compiled for the host, or on a GPU where there is one.

Oracles are SciPy, and every distance in exact integers, ordered by (distance, row).
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cuda_searches import (
    POINTS,
    QUERIES,
    assert_as_scipy,
    assert_exact,
    grid,
    jitted_build,
    query,
    search,
    searches,
    uniform,
)
from radius_engines import use
from scipy.spatial import cKDTree

from jaxapi.spatial import KDTree
from jaxapi.spatial._engines import _cuda
from jaxapi.spatial._engines._cuda import _launch, _nearest_by_cuda
from jaxapi.spatial._engines._cuda._order import nodes_of, order_of
from jaxapi.spatial._tree._build import build
from jaxapi.spatial._tree._homes import home_leaf
from jaxapi.spatial._tree._metric import Measure, TreeMetric
from jaxapi.spatial._tree._queries import Limits, Slots

NO_LIMITS = Limits(np.float32(np.inf), np.float32(0))

pytestmark = [pytest.mark.kernels, pytest.mark.usefixtures("kernels_on_host")]


@pytest.fixture(params=["packets", "singles"])
def kernel(request, monkeypatch):
    """Search with the one kernel and with the other."""
    monkeypatch.setattr(_nearest_by_cuda, "share_walks", packets if request.param == "packets" else never)
    return request.param


def packets(k, m, count):
    return k <= 32


def never(k, m, count):
    return False


@pytest.mark.thorough
@pytest.mark.daily("packets-1-4")
@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize(("k", "leaf_size"), [(1, 4), (3, 16), (8, 16), (20, 4), (32, 16)])
def test_ties_go_to_the_lowest_row_also_at_the_last_place(k, leaf_size):
    """Also of whole nodes of equal points, of which some are passed by."""
    corners, queries = np.random.default_rng(2).integers(0, 2, (2, POINTS, 3)).astype(np.float32)
    clouds = (grid(POINTS, 3, 0), grid(QUERIES, 3, 1)), (corners, queries[:QUERIES])
    for points, x in (*clouds, (corners, queries[:QUERIES] * 3 - 1)):
        assert_exact(points, x, query(points, x, k=k, leaf_size=leaf_size), k)


@pytest.mark.parametrize("k", [33, 100, 290])
def test_ties_of_many_neighbours(k):
    points, queries = grid(POINTS, 3, 0), grid(QUERIES, 3, 1)
    assert_exact(points, queries, query(points, queries, k=k), k)


@pytest.mark.daily
@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("k", [1, 8, 40])
def test_the_trees_own_points_as_queries(k, monkeypatch):
    """They lie in order already; points that are not finite, and padding, are nobody."""
    monkeypatch.setattr(_nearest_by_cuda, "AT_ONCE", 32)  # 40 neighbours in two passes
    points = grid(POINTS + 9, 3, 4)
    points[POINTS:] = np.nan
    tree = jitted_build(points, np.int32(POINTS), leaf_size=12)
    for lines in (POINTS, len(points)):
        own = jax.jit(partial(_cuda.nearest_of_all, row_count=lines, k=k))
        found = own(tree, NO_LIMITS, TreeMetric(2.0))
        assert found[0].shape == (lines, k)
        assert_exact(points[:POINTS], points[:POINTS], tuple(np.asarray(x)[:POINTS] for x in found), k)


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("k", [1, 8, 40])
def test_the_points_of_some_slots_as_queries(k, monkeypatch):
    """Also where the last slots are empty, the first is told by a traced number, and the nodes are there."""
    monkeypatch.setattr(_nearest_by_cuda, "AT_ONCE", 32)
    points, size = grid(POINTS, 3, 4), 100
    tree = jitted_build(points, np.int32(POINTS), leaf_size=12)
    rows, slots = np.asarray(tree.rows), tree.points.shape[1]
    own = jax.jit(partial(_cuda.nearest_of_slots, k=k))
    for begin, prepared in (7, ()), (slots - size, jax.jit(_cuda.prepare)(tree, None)):
        arrays = tree, prepared, Slots(np.int32(begin), size), NO_LIMITS, TreeMetric(2.0)
        found = [np.asarray(each) for each in own(*arrays)]
        there = rows[begin : begin + size] < POINTS
        queries = points[rows[begin : begin + size][there]]
        assert_exact(points, queries, tuple(each[there] for each in found), k)
        assert (found[1][~there] == POINTS).all()
    assert not there.all()


def test_own_points_and_others(monkeypatch):
    """The tree's points are searched as they lie; what is not finite is refused."""
    use("cuda", monkeypatch)
    points, queries = map(jnp.asarray, (uniform(POINTS, 3, 0), uniform(QUERIES, 3, 1)))
    tree, oracle = KDTree(points), cKDTree(points)
    for x in (queries, points):
        distances, rows = tree.query(x, 3)
        np.testing.assert_array_equal(rows, oracle.query(x, 3)[1])
        np.testing.assert_allclose(distances, oracle.query(x, 3)[0], rtol=1e-5)
    assert tree.query(points)[1].tolist() == list(range(POINTS))
    wrong = np.array(queries.at[3, 1].set(jnp.nan))  # on the host, where values are looked at
    for refused in (
        lambda: tree.query(wrong, 3),
        lambda: tree.query_ball_point(wrong, 0.25, return_length=True),
        lambda: tree.query_radius(wrong, 0.25),
    ):
        with pytest.raises(ValueError, match="must be finite"):
            refused()


def test_more_neighbours_than_registers_hold_come_in_passes(monkeypatch):
    """A pass ends amid equally far points, and the last has fewer columns than it finds neighbours."""
    monkeypatch.setattr(_nearest_by_cuda, "AT_ONCE", 32)
    points, queries = grid(POINTS, 3, 0), grid(QUERIES, 3, 1)
    assert_exact(points, queries, query(points, queries, k=70), 70)
    distances, rows = query(points, queries, k=70, bound=2.0)
    everything, their_rows = query(points, queries, k=70)
    near = everything < 2
    np.testing.assert_array_equal(distances, np.where(near, everything, np.inf))
    np.testing.assert_array_equal(rows, np.where(near, their_rows, POINTS))


def line(n, seed):
    return uniform(n, 3, seed) * np.float32([1, 0, 0])


def knots(n, seed):
    """Return points in five narrow clusters."""
    rng = np.random.default_rng(seed)
    return (uniform(5, 3, seed)[rng.integers(0, 5, n)] + 0.003 * rng.random((n, 3))).astype(np.float32)


@pytest.mark.usefixtures("kernel")
def test_the_lowest_rows_of_those_as_far_by_rounding_come_first():
    """A box's distance may be rounded up where those of its points are rounded down: none is lost."""
    rng = np.random.default_rng(41)
    points, queries = np.zeros((POINTS, 3), np.float32), np.zeros((QUERIES, 3), np.float32)
    queries[:, 0] = 1000
    points[:, 0] = rng.choice([0, 4e-5], POINTS)
    points[:, 1] = rng.random(POINTS) * 0.1  # boxes have points of both kinds; squares are too little
    every = queries[0, 0] - points[:, 0]
    assert len(np.unique(every)) == 2
    rows = np.argsort(every, kind="stable")[:3]
    distances, found = query(points, queries)
    np.testing.assert_array_equal(found, np.broadcast_to(rows, found.shape))
    np.testing.assert_array_equal(distances, np.broadcast_to(every[rows], distances.shape))


MANY = 1000


@pytest.mark.daily
@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("k", [8, 70])
def test_clouds(k):
    """Uniform, of far clusters, on a line, far away, of few points repeated."""
    for points, queries in (
        (uniform(MANY, 3, 20), uniform(QUERIES, 3, 21) * 1.5 - 0.2),
        (knots(MANY, 22), knots(QUERIES, 23)),
        (line(MANY, 24), uniform(QUERIES, 3, 25)),
        (uniform(MANY, 3, 26), uniform(QUERIES, 3, 27) + 30),
        (np.repeat(uniform(10, 3, 36), MANY // 10, 0), uniform(QUERIES, 3, 37)),
    ):
        assert_as_scipy(points, queries, query(points, queries, k=k, leaf_size=16), k=k)


@pytest.mark.thorough
@pytest.mark.daily("singles-3-3.0-box1-float32")
@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize(
    ("k", "p", "box", "dtype"),
    [
        (1, 1.0, None, np.float32), (3, 3.0, (1.5, 0.0, 1.0), np.float32),
        (8, np.inf, (1.5, 0.0, 1.0), np.float64), (20, 7.0, None, np.float64),
        (5, 1.5, (0.0, 0.0, 1.0), np.float32), (2, 4.0, (1.0, 1.0, 1.0), np.float32),
    ],
)  # fmt: skip
def test_norms_boxes_and_dtypes(k, p, box, dtype):
    points, queries = uniform(POINTS, 3, 2, dtype), uniform(QUERIES, 3, 3, dtype) * 3 - 1
    found = query(points, queries, k=k, p=p, box=box)
    assert found[0].dtype == dtype
    assert_as_scipy(points, queries, found, k=k, p=p, box=box)


@pytest.mark.thorough("33-3.0")
@pytest.mark.parametrize(
    ("k", "p", "box", "dtype", "bound"),
    [
        (70, 1.0, None, np.float32, 0.4),
        (70, np.inf, (1.5, 0.0, 1.0), np.float32, np.inf),
        (33, 3.0, (1.5, 0.0, 1.0), np.float64, 0.3),
        (290, 7.0, None, np.float32, np.inf),
    ],
)
def test_many_neighbours_in_every_space(k, p, box, dtype, bound):
    points, queries = uniform(POINTS, 3, 28, dtype), uniform(QUERIES, 3, 29, dtype)
    found = query(points, queries, k=k, p=p, box=box, bound=bound)
    assert_as_scipy(points, queries, found, k=k, p=p, box=box, bound=bound)


@pytest.mark.thorough
@pytest.mark.daily("packets-1")
@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("m", [1, 5, 16])
def test_dimensions(m):
    points, queries = uniform(POINTS, m, 4), uniform(QUERIES, m, 5) * 2 - 0.5
    assert_as_scipy(points, queries, query(points, queries, k=4), k=4)


@pytest.mark.usefixtures("kernel")
def test_bound_is_strict_and_may_differ():
    points, queries = grid(POINTS, 3, 8), grid(QUERIES, 3, 9)
    everything, their_rows = query(points, queries)
    each = np.random.default_rng(1).integers(0, 3, QUERIES)
    for bound in (0.0, 1e-30, 1.0, np.nextafter(np.float32(1), np.float32(2)), np.nan, each):
        distances, rows = query(points, queries, bound=bound)
        near = everything < np.reshape(bound, (-1, 1))
        np.testing.assert_array_equal(distances, np.where(near, everything, np.inf))
        np.testing.assert_array_equal(rows, np.where(near, their_rows, POINTS))


@pytest.mark.usefixtures("kernel")
def test_eps_bounds_the_error():
    points, queries = uniform(POINTS, 3, 10), uniform(QUERIES, 3, 11)
    best, _ = query(points, queries)
    for eps in (0.1, 2.0):
        distances, rows = query(points, queries, eps=eps)
        assert (rows < POINTS).all()
        assert (distances >= best).all()
        assert (distances <= best * (1 + eps) * (1 + 1e-6)).all()


@pytest.mark.usefixtures("kernel")
def test_queries_that_are_not_finite_find_nothing():
    points, queries = uniform(POINTS, 3, 12), uniform(QUERIES, 3, 13)
    queries[[1, 7, 30]] = [[np.nan, 0, 0], [0, np.inf, 0], [0, 0, -np.inf]]
    distances, rows = query(points, queries)
    assert np.isinf(distances[[1, 7, 30]]).all()
    assert (rows[[1, 7, 30]] == POINTS).all()
    assert_as_scipy(
        *(np.delete(each, [1, 7, 30], 0) for each in (points, queries)), _without(distances, rows), k=3
    )


def _without(distances, rows):
    """Return results without those queries; rows of the points that are left."""
    rows = np.delete(rows, [1, 7, 30], 0)
    shift = (rows[..., None] > np.array([1, 7, 30])).sum(-1)
    return np.delete(distances, [1, 7, 30], 0), rows - shift


@pytest.mark.usefixtures("kernel")
def test_few_points():
    """More is asked for than there is; the rows from n on do not count."""
    queries = uniform(QUERIES, 3, 14)
    points = uniform(POINTS, 3, 15)
    for n in (0, 1, 2, 5):
        tree = jitted_build(points, np.int32(n), leaf_size=4)
        found = searches(k=3)(tree, queries, NO_LIMITS, TreeMetric(2.0))
        distances, rows = (np.asarray(x) for x in found)
        assert (rows[:, n:] == n).all()
        assert np.isinf(distances[:, n:]).all()
        every = np.sort(np.linalg.norm(queries[:, None] - points[None, :n], axis=-1), axis=1)[:, :3]
        np.testing.assert_allclose(distances[:, :n], every, rtol=1e-6)


def test_no_queries():
    distances, rows = query(uniform(POINTS, 3, 0), np.zeros((0, 3), np.float32))
    assert distances.shape == rows.shape == (0, 3)


@pytest.mark.usefixtures("kernel")
def test_scale_does_not_matter():
    points, queries = uniform(POINTS, 3, 16), uniform(QUERIES, 3, 17)
    distances, rows = query(points, queries)
    for factor in np.float32([2.0**-100, 2.0**100]):
        scaled, same = query(points * factor, queries * factor)
        np.testing.assert_array_equal(rows, same)
        np.testing.assert_array_equal(distances * factor, scaled)


@pytest.mark.daily
@pytest.mark.usefixtures("kernel")
def test_power_distances():
    """Their roots are taken as the search takes them; XLA's pow may round in another way."""
    points, queries = grid(POINTS, 3, 8) * 2, grid(QUERIES, 3, 9)  # the scale is not 1
    distances, rows = query(points, queries, p=3.0)
    powers, same = query(points, queries, p=3.0, measure=Measure.POWER)
    np.testing.assert_array_equal(rows, same)
    tree = jitted_build(points, np.int32(POINTS), leaf_size=4)
    np.testing.assert_array_equal(_cuda.distances_in_units(tree, powers, TreeMetric(3.0)), distances)
    np.testing.assert_allclose(powers, (distances * np.asarray(tree.scale)) ** 3, rtol=1e-6)
    assert len(np.unique(powers * 4096 % 1)) == 1, "exact, as coordinates are integers"


@jax.jit
def nearest_of_64(points, queries, bound):
    tree = build(points, 64, leaf_size=4)
    return _cuda.nearest(tree, queries, Limits(bound, 0.0), TreeMetric(2.0), k=3)


@pytest.mark.thorough
@pytest.mark.daily("queries")
@pytest.mark.parametrize("of", ["queries", "queries and bounds", "trees", "everything"])
def test_vmap(of):
    points = np.stack([grid(64, 2, seed) for seed in (0, 1)])
    queries = np.stack([grid(32, 2, seed) for seed in (2, 3)])
    bounds = np.array([2.5, 1.5], np.float32)
    axes = {"queries": (None, 0, None), "queries and bounds": (None, 0, 0), "trees": (0, None, None)}
    axes = axes.get(of, (0, 0, 0))
    arrays = [
        each if axis == 0 else each[0] for each, axis in zip((points, queries, bounds), axes, strict=True)
    ]
    found = jax.jit(jax.vmap(nearest_of_64, in_axes=axes))(*arrays)
    for i in (0, 1):
        single = [each[i] if axis == 0 else each for each, axis in zip(arrays, axes, strict=True)]
        for batched, alone in zip(found, nearest_of_64(*single), strict=True):
            np.testing.assert_array_equal(batched[i], alone)
        squares = ((single[1][:, None] - single[0][None]) ** 2).sum(-1)
        assert (np.isfinite(found[0][i]).sum(1) == np.minimum((squares < single[2] ** 2).sum(1), 3)).all()


@pytest.mark.daily
def test_order_puts_queries_of_a_leaf_together():
    """But those far from all points by their place alone, behind the others of a node."""
    points = uniform(POINTS, 3, 18)
    far = np.float32([[5, 0, 0]]) + uniform(2 * POINTS, 3, 19) / 10
    queries = np.random.default_rng(20).permutation(np.concatenate([points, far]))
    tree = jitted_build(points, np.int32(POINTS), leaf_size=4)
    line = jax.jit(lambda q: order_of(tree, nodes_of(tree, None), q))(queries)
    order, leaves = np.asarray(line.order), np.asarray(line.leaves)
    np.testing.assert_array_equal(np.sort(order), np.arange(len(queries)))
    np.testing.assert_array_equal(leaves, home_leaf(tree, queries * tree.scale))
    near, behind = np.split(queries[order], [len(points)])
    assert (near[:, 0] <= 1).all()
    assert (np.diff(leaves[order[: len(points)]]) >= 0).all()
    assert len(set(leaves[order[len(points) :]])) < len(far) / 32, "their leaves tell them apart badly"
    for each in (near, behind):
        steps, apart = (
            np.linalg.norm(each - other, axis=1)[1:] for other in (np.roll(each, 1, 0), each[::-1])
        )
        assert steps.mean() < 0.4 * apart.mean()


def test_kernels_depend_on_no_sizes(monkeypatch):
    """Clouds and queries of all sizes share what NVRTC compiles."""
    kernels = set()

    def record(kernel, blocks, threads, inputs, outputs, items):
        kernels.add(kernel)
        return [jnp.zeros(each.shape, each.dtype) for each in outputs.values()]

    monkeypatch.setattr(_launch, "custom_call", record)
    for n, q in ((1 << 22, 1 << 22), (1 << 28, 1 << 22), (3000, 1 << 22)):
        tree = jax.eval_shape(
            build, jax.ShapeDtypeStruct((n, 3), np.float32), jax.ShapeDtypeStruct((), np.int32)
        )
        queries = jax.ShapeDtypeStruct((q, 3), np.float32)
        none = jax.ShapeDtypeStruct((), np.float32)
        own = partial(search, metric=TreeMetric(2.0), k=8, measure=Measure.DISTANCE)
        jax.eval_shape(own, tree, queries, Limits(none, none))
    assert sorted(kernel.name for kernel in kernels) == ["extent", "nodes", "order", "packets"]
