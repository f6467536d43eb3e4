"""query_radius and query_ball_point against SciPy, on every engine."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import KDTree as SciPyTree

import jaxapi as xp
from jaxapi.spatial import KDTree, _tree_programs

SEED = np.random.default_rng(7)
POINTS = {m: SEED.random((60, m)) for m in (1, 2, 3, 5)}
QUERIES = {m: SEED.random((20, m)) * 1.6 - 0.3 for m in POINTS}
RADII = {1: 0.1, 2: 0.3, 3: 0.45, 5: 0.8}


def lists_of(found):
    """Return each query's rows, sorted."""
    indptr, rows = np.asarray(found.indptr), np.asarray(found.indices)
    return [sorted(rows[a:b].tolist()) for a, b in itertools.pairwise(indptr)]


def minkowski(a, b, p, boxsize):
    """Return the distance along the nearest images."""
    along = np.abs(a - b)
    if boxsize is not None:
        length = np.broadcast_to(np.asarray(boxsize), along.shape)
        along = np.where(
            length > 0, np.abs(along - length * np.round(along / np.where(length > 0, length, 1))), along
        )
    return along.max(-1) if p == np.inf else (along**p).sum(-1) ** (1 / p)


@pytest.mark.thorough
@pytest.mark.daily("natural", "lax-2-20.0-None", "cuda")
@pytest.mark.parametrize(("m", "p", "boxsize"), [
    (3, 2.0, None), (3, 2.0, [1.0, 0.0, 2.0]), (2, np.inf, 1.0),
    (5, 2.5, 1.0), (1, 1.0, 1.0), (2, 20.0, None),
])  # fmt: skip
def test_same_as_scipy(radius_kernel, m, p, boxsize):
    if radius_kernel == "cuda" and m != 3:
        return  # the kernels differ in the number of axes and the metric alone, which lax tests too
    radii = np.linspace(0, RADII[m], 20)
    tree, oracle = KDTree(POINTS[m], boxsize=boxsize), SciPyTree(POINTS[m], boxsize=boxsize)
    expected = oracle.query_ball_point(QUERIES[m], radii, p=p)
    found = tree.query_radius(QUERIES[m], radii, p=p)
    assert lists_of(found) == expected.tolist()
    queries = QUERIES[m].repeat([len(each) for each in expected], axis=0)
    distances = minkowski(queries, POINTS[m][found.indices], p, boxsize)
    np.testing.assert_allclose(found.distances, distances, rtol=1e-13, atol=1e-15)
    assert found.indices.dtype == jnp.arange(1).dtype
    assert found.distances.dtype == np.float64


@pytest.mark.daily
def test_lists_and_lengths(radius_engine):
    radii = np.linspace(0, RADII[3], 20)
    tree, expected = KDTree(POINTS[3]), SciPyTree(POINTS[3]).query_ball_point(QUERIES[3], radii)
    assert tree.query_ball_point(QUERIES[3], radii).tolist() == expected.tolist()
    counts = tree.query_ball_point(QUERIES[3], radii, return_length=True)
    assert counts.tolist() == [len(each) for each in expected]
    with pytest.raises(ValueError, match="'x' must be finite"):
        tree.query_radius(np.full((20, 3), np.nan), radii)
    everything = tree.query_radius(QUERIES[3], np.full(20, np.inf))
    assert everything.indices.shape == (20 * 60,)


@pytest.mark.thorough("lax")
def test_fixed_form_keeps_the_nearest_and_tells(radius_engine):
    tree, oracle = KDTree(POINTS[3]), SciPyTree(POINTS[3])
    for limit in (3, 70):
        found = tree.query_radius(QUERIES[3], 0.5, max_neighbors=limit)
        distances, rows = oracle.query(QUERIES[3], k=limit, distance_upper_bound=np.nextafter(0.5, 1))
        np.testing.assert_array_equal(found.indices, rows.reshape(20, limit))
        np.testing.assert_allclose(found.distances, distances.reshape(20, limit), rtol=1e-14)
        expected = oracle.query_ball_point(QUERIES[3], 0.5, return_length=True)
        np.testing.assert_array_equal(found.counts, expected)
    assert (np.asarray(found.counts) > 3).any()


@pytest.mark.daily
def test_sorted_by_distance_then_row(radius_engine):
    grid = np.stack(np.meshgrid(np.arange(5.0), np.arange(6.0), [0.0], indexing="ij"), -1).reshape(-1, 3)
    tree, x = KDTree(np.concatenate([grid, grid])), np.tile([1.0, 1.0, 0.0], (20, 1))  # shapes of other tests
    found = tree.query_radius(x, np.ones(20), sort=True)
    assert found.indices[-10:].tolist() == [7, 37, 1, 6, 8, 13, 31, 36, 38, 43]
    assert found.distances[-10:].tolist() == [0.0] * 2 + [1.0] * 8
    fixed = tree.query_radius(x, 1.0, max_neighbors=3)
    assert fixed.indices.tolist() == [[7, 37, 1]] * 20
    assert fixed.counts.tolist() == [10] * 20


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=24), st.integers(0, 6))
def test_integer_grids_exactly(points, squared):
    """The bound is inclusive: on integer points, distances are compared exactly."""
    points = np.array(points, float).reshape(-1, 2)
    radius = np.sqrt(squared) if squared in (0, 1, 4) else float(squared)
    expected = [[j for j, b in enumerate(points) if ((a - b) ** 2).sum() <= radius**2] for a in points]
    tree = KDTree(points.astype(np.float32))
    assert lists_of(tree.query_radius(points, radius)) == expected
    if len(points):
        assert tree.query_ball_point(points, radius).tolist() == expected


def test_radii_that_reach_nothing(radius_engine):
    tree = KDTree(POINTS[3])
    counted = jax.jit(lambda radii: tree.query_ball_point(QUERIES[3], radii, return_length=True))
    for radius in (-1.0, -np.inf, np.nan):
        radii = np.where(np.arange(20) == 1, np.inf, radius)
        given = [radius, radii, list(radii)]
        if jax.default_backend() == "cpu":  # of those on another device nobody knows, either
            given.append(jnp.asarray(radii))
        for r in given:
            with pytest.raises(ValueError, match=f"r must be at least 0, got {radius}"):
                tree.query_radius(QUERIES[3], r)
            with pytest.raises(ValueError, match="leave out queries" if np.ndim(r) else "at least 0"):
                tree.query_ball_point(QUERIES[3], r, return_length=True)
        assert counted(radii).tolist() == [0, 60] + [0] * 18  # of traced ones nobody knows


def test_upper_bounds_that_reach_nothing():
    tree = KDTree(POINTS[3])
    for bound in (-1.0, -np.inf, np.int64(-2), jnp.float32(-0.5)):
        with pytest.raises(ValueError, match="distance_upper_bound must be at least 0, got -"):
            tree.query(QUERIES[3], distance_upper_bound=bound)
    traced = jax.jit(lambda bound: tree.query(QUERIES[3], distance_upper_bound=bound)[0])
    assert np.isinf(traced(-1.0)).all()
    assert np.isinf(tree.query(QUERIES[3], distance_upper_bound=-0.0)[0]).all()


def test_shapes_and_dtypes():
    tree = KDTree(POINTS[3].astype(np.float32))
    one = QUERIES[3][0].astype(np.float32)
    assert tree.query_radius(one, 0.5).indptr.shape == (2,)
    assert tree.query_radius(one, 0.5, max_neighbors=4).indices.shape == (4,)
    assert tree.query_radius(one, 0.5, max_neighbors=4).counts.shape == ()
    assert tree.query_radius(QUERIES[3].reshape(4, 5, 3), 0.5, max_neighbors=4).indices.shape == (4, 5, 4)
    assert tree.query_radius(QUERIES[3].reshape(4, 5, 3), 0.5).indptr.shape == (21,)
    assert tree.query_radius(np.zeros((0, 3)), 0.5).indptr.tolist() == [0]
    assert tree.query_radius(np.zeros((2, 0, 3)), 0.5, max_neighbors=2).indices.shape == (2, 0, 2)
    assert tree.query_radius(one, 0.5, return_distance=False).distances is None
    assert tree.query_radius(one, 0.5).distances.dtype == np.float32
    assert tree.query_radius(QUERIES[3], 0.5).distances.dtype == np.float64
    assert type(tree.query_ball_point(one, 0.5)) is list
    assert tree.query_ball_point(one[None, None], 0.5).shape == (1, 1)
    assert tree.query_ball_point(one, 0.5, return_length=True).shape == ()
    with jax.enable_x64(True):
        assert tree.query_radius(one, 0.5).indices.dtype == np.int64


def test_empty_tree():
    tree = KDTree(np.zeros((0, 2)))
    assert tree.query_radius([[0.0, 0.0]], 1.0).indptr.tolist() == [0, 0]
    found = tree.query_radius([0.0, 0.0], 1.0, max_neighbors=2)
    assert found.indices.tolist() == [0, 0]
    assert found.distances.tolist() == [np.inf, np.inf]
    assert int(found.counts) == 0
    assert tree.query_ball_point([0.0, 0.0], 1.0) == []
    assert tree.query_ball_point([[0.0, 0.0]], 1.0, return_length=True).tolist() == [0]


@pytest.mark.thorough
@pytest.mark.daily("x64")
def test_inside_jit_and_vmap(x64):
    tree = KDTree(POINTS[3].astype(np.float32), boxsize=1.0)
    x = jnp.asarray(QUERIES[3], jnp.float32)
    outside = tree.query_radius(x, 0.4, max_neighbors=6)
    mapped = jax.vmap(lambda tree, one: tree.query_radius(one, 0.4, max_neighbors=6), (None, 0))
    inside = jax.jit(mapped)(tree, x)
    np.testing.assert_array_equal(inside.indices, outside.indices)
    np.testing.assert_allclose(inside.distances, outside.distances, rtol=5e-7)
    np.testing.assert_array_equal(inside.counts, outside.counts)
    counts = jax.jit(lambda x: tree.query_ball_point(x, 0.4, return_length=True))(x)
    np.testing.assert_array_equal(counts, outside.counts)
    assert counts.dtype == (np.int64 if x64 else np.int32)


def test_non_finite_values_under_jit():
    points = POINTS[2].astype(np.float32)
    points[3] = np.nan
    x = jnp.asarray([[np.nan, 0.0], [0.5, 0.5], [np.inf, 0.0]], jnp.float32)
    found = jax.jit(lambda points, x: KDTree(points).query_radius(x, jnp.inf, max_neighbors=60))(points, x)
    assert found.counts.tolist() == [0, 59, 0]
    assert 3 not in np.asarray(found.indices[1])
    assert found.indices[0].tolist() == [60] * 60


def test_gradient_is_zero_at_distance_zero():
    points = jnp.asarray(POINTS[2], jnp.float32)
    total = lambda x: KDTree(points).query_radius(x, 0.0, max_neighbors=1).distances.sum()  # noqa: E731
    np.testing.assert_array_equal(jax.jit(jax.grad(total))(points), np.zeros((60, 2)))


@pytest.mark.thorough
def test_more_results_than_32_bits_can_count(monkeypatch):
    """They are found in pieces, as here with a smaller limit."""
    tree = KDTree(POINTS[2].astype(np.float32), engine="lax")
    x = QUERIES[2].astype(np.float32)
    monkeypatch.setattr(_tree_programs, "LARGEST", 7 * 8)
    pieces = jax.jit(lambda x: tree.query_radius(x, 0.3, max_neighbors=8))(x)
    oracle = SciPyTree(POINTS[2].astype(np.float32))
    distances, rows = oracle.query(x, k=8, distance_upper_bound=0.3)
    np.testing.assert_array_equal(pieces.indices, rows)
    np.testing.assert_allclose(pieces.distances, distances, rtol=1e-6)
    np.testing.assert_array_equal(pieces.counts, oracle.query_ball_point(x, 0.3, return_length=True))


@pytest.mark.thorough
def test_numbers_of_results_that_rise_and_fall(radius_kernel):
    """The last number is tried for the next: too small or far too large, it changes no answer."""
    points, x = POINTS[3], np.random.default_rng(4).random((20, 3))
    tree, oracle = KDTree(points), SciPyTree(points)
    for radius in (0.2, 2.0, 0.05):
        found = tree.query_radius(x, radius)
        lists = [sorted(each) for each in oracle.query_ball_point(x, radius)]
        ends = np.cumsum([0, *map(len, lists)])
        np.testing.assert_array_equal(found.indptr, ends)
        rows = np.asarray(found.indices)
        assert [sorted(rows[i:j].tolist()) for i, j in itertools.pairwise(ends)] == lists
        assert tree.query_pairs(radius) == oracle.query_pairs(radius)
        graph = tree.radius_graph(radius)
        edges = set(zip(graph.receivers.tolist(), graph.senders.tolist(), strict=True))
        assert edges == {pair for i, j in oracle.query_pairs(radius) for pair in ((i, j), (j, i))}
    with pytest.raises(ValueError, match="must be finite"):
        tree.query_radius(np.where(x == x[3, 0], np.nan, x), 0.5)


@pytest.mark.daily
def test_sums_past_32_bits_are_made_again(radius_engine, monkeypatch):
    """As if there were more than 2**31 neighbours in all."""
    monkeypatch.setattr(_tree_programs, "LARGEST", 1)
    x, tree, oracle = QUERIES[3], KDTree(POINTS[3]), SciPyTree(POINTS[3])
    for _ in range(2):
        found = tree.query_radius(x, 0.5)
        lengths = oracle.query_ball_point(x, 0.5, return_length=True)
        np.testing.assert_array_equal(found.indptr, np.cumsum([0, *lengths]))
        assert radius_engine == "natural" or found.indptr.dtype == np.int64
        assert set(found.indices[: lengths[0]].tolist()) == set(oracle.query_ball_point(x[0], 0.5))
        assert tree.query_pairs(0.5) == oracle.query_pairs(0.5)


def test_lists_cannot_be_traced():
    tree = KDTree(POINTS[2])
    with pytest.raises(TypeError, match="max_neighbors"):
        jax.jit(lambda x: tree.query_radius(x, 0.1))(POINTS[2])
    with pytest.raises(TypeError, match=r"query_radius\(x, r, max_neighbors"):
        jax.jit(lambda x: tree.query_ball_point(x, 0.1))(POINTS[2])


ORIGIN = [0.0, 0.0]


@pytest.mark.parametrize(
    ("search", "kind", "text"),
    [
        (lambda t: t.query_radius(np.zeros((3, 3)), 0.1), ValueError, "vectors of length 2 but has shape"),
        (lambda t: t.query_radius(np.zeros((2, 2)), [0.1] * 3), ValueError, "could not broadcast"),
        (lambda t: t.query_radius([np.nan, 0.0], 0.1), ValueError, "'x' must be finite"),
        (lambda t: t.query_ball_point([np.inf, 0.0], 0.1, return_length=True), ValueError, "finite"),
        (lambda t: t.query_radius([np.inf, 0.0], 0.1, max_neighbors=2), ValueError, "finite"),
        (lambda t: t.query_radius(ORIGIN, 0.1, p=0.5), ValueError, "Only p-norms"),
        (lambda t: t.query_radius(ORIGIN, 0.1, max_neighbors=0), ValueError, "max_neighbors must be"),
        (lambda t: t.query_ball_point(np.zeros((1, 2), complex), 0.1), TypeError, "complex data"),
        (lambda _: KDTree(None), TypeError, "got None: pass an array of shape"),
        (lambda t: t.query_ball_point(ORIGIN, 1j), TypeError, "r must be a real number"),
        (lambda t: t.query_ball_point(ORIGIN, 0.1, workers=0), ValueError, "workers"),
    ],
)
def test_errors(search, kind, text):
    with pytest.raises(kind, match=text):
        search(KDTree(POINTS[2]))


@pytest.mark.parametrize(("on", "boxsize"), [(False, None), (False, 0.9), (True, None)])
def test_a_float64_radius_keeps_its_digits_inside_jit(on, boxsize):
    """Also with x64 off: in float32 both radii are 0.1."""
    points = xp.asarray(np.array([[0.0, 0.0], [0.1, 0.0], [0.5, 0.5]]))
    assert points.dtype == np.float64
    radii = [0.1, 0.1 - 1e-12]

    @jax.jit
    def counts(points):
        tree, twice = KDTree(points, boxsize=boxsize), points[jnp.array([0, 0])]
        return (
            tree.query_ball_point(twice, radii, return_length=True) - 1,
            tree.query_radius(twice, radii, max_neighbors=3).counts - 1,
            (tree.count_neighbors(tree, radii) - 3) // 2,
            jnp.stack([tree.query_pairs(radius, max_pairs=3).count for radius in radii]),
        )

    with jax.enable_x64(on):
        assert [count.tolist() for count in counts(points)] == [[1, 0]] * 4
