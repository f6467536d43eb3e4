"""KDTree beyond its numbers: arguments, attributes, transformations."""

import copy
import functools
import gc
import pickle
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cuda_host import x64_in_all_threads
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from radius_engines import use
from scipy.spatial import cKDTree

from jaxapi import asarray
from jaxapi.spatial import (
    KDTree,
    _arrays,
    _tree_arguments,
    _tree_programs,
    chord_length,
    great_circle_distance,
    pad_rows,
    single_linkage,
    unit_vectors,
)
from jaxapi.spatial._engines import _choice, _cuda
from jaxapi.spatial._engines._by_platform import BY_PLATFORM
from jaxapi.spatial._engines._cuda import _compile, _launch
from jaxapi.spatial._search import Search
from jaxapi.spatial._select import _inside
from jaxapi.spatial._tree._build import build
from jaxapi.spatial._tree._metric import TreeMetric
from jaxapi.spatial._tree._queries import Limits

POINTS = np.random.default_rng(0).random((100, 3))


@pytest.mark.parametrize(
    ("settings", "error", "text"),
    [
        ({"data": [[1j, 0]]}, TypeError, "complex"),
        ({"data": [1.0, 2.0]}, ValueError, "must be of shape"),
        ({"data": [[1.0], [2.0, 3.0]]}, ValueError, "inhomogeneous"),
        ({"data": [["a"]]}, TypeError, "real numbers"),
        ({"data": np.ma.masked_less(POINTS, 0.1)}, TypeError, "mask would be lost"),
        ({"data": [np.ma.masked_less(row, 0.1) for row in POINTS]}, TypeError, "mask would be lost"),
        ({"data": [[np.nan, 0]]}, ValueError, "must be finite"),
        ({"data": 1.0}, ValueError, "must be of shape"),
        ({"data": np.zeros((2, 2, 2))}, ValueError, "must be of shape"),
        ({"data": np.zeros((2, 0))}, ValueError, "m >= 1"),
        ({"data": np.full((2, 2), np.inf)}, ValueError, "must be finite"),
        ({"data": np.array([[object()]])}, TypeError, "real numbers"),
        ({"leafsize": 0}, ValueError, "leafsize must be at least 1"),
        ({"leafsize": 2.5}, TypeError, "leafsize must be an integer"),
        ({"boxsize": 0.5}, ValueError, "greater than the size of the periodic box"),
        ({"data": -POINTS, "boxsize": 2.0}, ValueError, "Negative input data"),
        ({"boxsize": np.nan}, ValueError, "nan"),
        ({"boxsize": [1.0, 2.0]}, ValueError, "one for each of the 3 dimensions"),
        ({"boxsize": "a"}, TypeError, "boxsize must be a real number"),
        ({"axis_name": 3}, TypeError, "axis_name must be the name of an axis .* got 3"),
        ({"axis_name": "points"}, ValueError, "axis_name='points': no such axis .* inside of jax.shard_map"),
        ({"axis_name": ("points", "more")}, ValueError, r"axis_name=\('points', 'more'\): no such axis"),
        ({"batch": 1.5}, TypeError, "batch must be integers, got dtype float64"),
        ({"cell": np.eye(3), "batch": object}, TypeError, "batch must be integers, got <class 'object'>"),
        ({"boxsize": np.ma.masked_array([2.0, 2.0, 2.0], [0, 0, 1])}, TypeError, "mask would be lost"),
    ],
)
def test_refuses_bad_settings(settings, error, text):
    with pytest.raises(error, match=text):
        KDTree(**{"data": POINTS, **settings})


def test_no_points_in_a_box():
    for tree in (KDTree(POINTS, n=0, boxsize=4.0), KDTree(POINTS[:0], boxsize=4.0)):
        distances, rows = tree.query(POINTS[:2])
        assert np.isinf(distances).all()
        assert (np.asarray(rows) == tree.n).all()


@pytest.mark.thorough
@pytest.mark.daily("cuda")
@pytest.mark.parametrize("engine", ["lax", "cuda"])
def test_queries_whose_squares_overflow(engine, monkeypatch):
    """In float64, whose squares overflow from 1e154 on, also where the points have float32."""
    use(engine, monkeypatch)
    x = np.array([[1e160, 0, 0], [3e200, 4e200, 0]])
    with x64_in_all_threads():
        for points in (POINTS, POINTS.astype(np.float32)):
            distances, rows = map(np.asarray, KDTree(points).query(x, 2))
            np.testing.assert_allclose(distances, [[1e160] * 2, [5e200] * 2], rtol=1e-13)
            assert (rows < len(points)).all()


def test_settings_of_a_tree_brought_into_another_box():
    """Its options keep their places: SciPy's `balanced_tree` and `compact_nodes`."""
    tree = KDTree(POINTS, leafsize=3, compact_nodes=False, balanced_tree=False)
    inside = _inside(tree._cloud, (0.5, 0.5, 0.5), False)
    assert inside.options == tree._cloud.options
    counts = KDTree(POINTS / 2, boxsize=0.5).count_neighbors(tree, 0.1)
    expected = cKDTree(POINTS / 2, boxsize=0.5).count_neighbors(cKDTree(POINTS % 0.5, boxsize=0.5), 0.1)
    assert counts == expected


@pytest.mark.parametrize(
    ("query", "error", "text"),
    [
        ({"x": [[1j, 0, 0]]}, TypeError, "complex"),
        ({"x": [1.0, 2.0]}, ValueError, "vectors of length 3 but has shape"),
        ({"x": 1.0}, ValueError, r"vectors of length 3 but has shape \(1,\)"),
        ({"x": [[np.nan, 0, 0]]}, ValueError, "'x' must be finite"),
        ({"x": [[0, 0, 0], [np.inf, 0, 0]]}, ValueError, "'x' must be finite"),
        ({"k": None}, ValueError, "k must be an integer or a sequence of integers, got None"),
        ({"k": 0}, ValueError, "at least 1"),
        ({"k": -1}, ValueError, "at least 1"),
        ({"k": []}, ValueError, "at least 1"),
        ({"k": [0, 1]}, ValueError, "at least 1"),
        ({"k": 2.5}, TypeError, "2.5"),
        ({"k": [[1, 2]]}, ValueError, "shape"),
        ({"p": 0.5}, ValueError, "Only p-norms with 1<=p<=infinity permitted"),
        ({"p": np.nan}, ValueError, "Only p-norms"),
        ({"p": None}, TypeError, "p must be a real number, got None"),
        ({"x": np.ma.masked_less(POINTS, 0.1)}, TypeError, "mask would be lost"),
        ({"workers": 0}, ValueError, "Invalid number of workers 0"),
        ({"workers": -2}, ValueError, "Invalid number of workers -2"),
        ({"workers": 1.0}, TypeError, "workers must be an integer"),
        ({"distance_upper_bound": np.nan}, ValueError, "nan"),
        ({"distance_upper_bound": [1, 2]}, TypeError, r"must be a real number, got \[1, 2\]"),
        ({"eps": {}}, TypeError, r"eps must be a real number, got \{\}"),
        ({"p": np.complex64(2)}, TypeError, "p must be a real number"),
        ({"n_jobs": 1}, TypeError, "n_jobs"),
    ],
)
def test_refuses_bad_queries(query, error, text):
    with pytest.raises(error, match=text):
        KDTree(POINTS).query(**{"x": POINTS[:2], **query})


@pytest.mark.parametrize("x", [POINTS[0], POINTS[:3], np.zeros((3, 0, 3))])
def test_concrete_queries_inside_of_transformations(x, x64):
    """What depends on nothing that is traced stays concrete."""
    tree = KDTree(POINTS)
    outside = tree.query(x, k=2)

    @jax.jit
    def search(y):
        for inside, expected in zip(tree.query(x, k=2), outside, strict=True):
            assert inside.dtype == expected.dtype
            np.testing.assert_array_equal(inside, expected)
        return y

    jax.vmap(search)(jnp.arange(2))


def test_refuses_what_is_no_radius_and_no_row():
    tree = KDTree(POINTS)
    rows = np.zeros(100, int)
    calls = [
        (lambda: tree.query_radius(POINTS, None), "r must be a real number or an array of them, got None"),
        (lambda: tree.query_pairs({}), r"r must be a real number or an array of them, got \{\}"),
        (lambda: tree.query_ball_point(POINTS, "a"), "r must be a real number or an array of them"),
        (lambda: tree.dbscan(None), "eps must be a real number or an array of them, got None"),
        (lambda: tree.dbscan(0.1, sample_weight="a"), "^sample_weight must be real numbers"),
        (lambda: tree.sparse_distance_matrix(tree, None), "max_distance must be a real number .* got None"),
        (lambda: tree.displacements(POINTS, None), "indices must be integers, got None"),
        (lambda: tree.displacements(POINTS, rows / 2), "indices must be integers, got dtype float64"),
        (lambda: single_linkage("a", [1.0]), "^rows must be real numbers"),
        (lambda: single_linkage([[0, 1]], "a"), "^distances must be real numbers"),
    ]
    for call, text in calls:
        with pytest.raises(TypeError, match=text):
            call()


def test_refuses_what_is_no_angle_and_no_length_of_rows():
    for function in (unit_vectors, chord_length, great_circle_distance):
        with pytest.raises(TypeError, match="must be real, got complex numbers"):
            function([1j, 0])
    for sizes in ("a", 2.5, [4, 2.5], dict):
        with pytest.raises(TypeError, match="sizes, a length or several, must be an integer, got"):
            pad_rows(POINTS, sizes)
    for sizes in (-1, 99, np.int64(99), [5, 10], []):
        with pytest.raises(ValueError, match=r"x has 100 rows, more than the largest of the sizes, \["):
            pad_rows(POINTS, sizes)
    for sizes in (128, np.int64(128), [99, 256, 128], (size for size in (128, 256)), np.asarray([128])):
        assert pad_rows(POINTS, sizes)[0].shape == (128, 3)


def test_attributes():
    """SciPy's attributes, none of them writable."""
    tree = KDTree(POINTS, leafsize=5, boxsize=[1, 0, 2])
    assert (tree.n, tree.m, tree.leafsize) == (100, 3, 5)
    np.testing.assert_array_equal(tree.data, POINTS)
    np.testing.assert_array_equal(tree.mins, POINTS.min(0))
    np.testing.assert_array_equal(tree.maxes, POINTS.max(0))
    np.testing.assert_array_equal(tree.boxsize, [1, 0, 2])
    assert sorted(tree.indices.tolist()) == list(range(100))
    assert tree.size >= 1
    assert KDTree(POINTS).boxsize is None
    for name in ("data", "n", "m", "leafsize", "size", "mins", "maxes", "indices", "boxsize", "engine"):
        with pytest.raises(AttributeError):
            setattr(tree, name, 1)
    with pytest.raises(ValueError, match="read-only"):
        tree.boxsize[0] = 3
    tree.note = "attributes of one's own are fine"


def test_without_points_and_with_one():
    """No points: everything is missing. One point: it is the nearest."""
    nothing = KDTree(np.zeros((0, 3)))
    assert nothing.mins.tolist() == nothing.maxes.tolist() == [0, 0, 0]
    for search in (nothing.query, jax.jit(nothing.query)):
        distance, row = search(np.zeros(3))
        assert (float(distance), int(row)) == (np.inf, 0)
    one = KDTree([[3.0, 4.0]])  # of lists
    for search in (one.query, jax.jit(one.query)):
        distance, row = search(np.zeros(2))
        assert (float(distance), int(row)) == (5.0, 0)
    assert one.query([0.0, 0.0], k=2)[1].tolist() == [0, 1]


def test_user_data_may_change_afterwards():
    """A tree keeps its own copy."""
    data = POINTS.copy()
    tree = KDTree(data)
    data[:] = 0
    assert tree.query(POINTS[7])[1] == 7


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda tree: pickle.loads(pickle.dumps(tree))]
)
def test_copies_and_pickles(duplicate, x64):
    """A copy has the same points, settings and answers; float64 survives with x64 off."""
    tree = KDTree(POINTS, leafsize=7, boxsize=[1.0, 0, 1.5])
    again = duplicate(tree)
    assert again.data.dtype == np.float64
    assert (again.n, again.m, again.leafsize, again.boxsize.tolist()) == (100, 3, 7, [1.0, 0.0, 1.5])
    np.testing.assert_array_equal(again.query(POINTS[:9] + 0.01)[0], tree.query(POINTS[:9] + 0.01)[0])


X = asarray(POINTS[:6] + 0.01)
EXPECTED = np.argmin(((POINTS[:6, None] + 0.01 - POINTS[None]) ** 2).sum(-1), axis=1).tolist()


def test_argument_and_result_of_transformations():
    """A tree goes into jit, vmap, scan and device_put, and comes out of jit."""
    tree = KDTree(POINTS)
    assert jax.jit(lambda tree: tree.query(X)[1])(tree).tolist() == EXPECTED
    assert jax.vmap(lambda x: tree.query(x)[1])(X).tolist() == EXPECTED
    assert jax.lax.scan(lambda tree, x: (tree, tree.query(x)[1]), tree, X)[1].tolist() == EXPECTED
    assert jax.device_put(tree, jax.devices()[0]).query(X)[1].tolist() == EXPECTED
    built = jax.jit(KDTree)(asarray(POINTS))
    assert (built.n, built.m, built.data.dtype) == (100, 3, np.float64)
    assert built.query(X)[1].tolist() == EXPECTED
    leaves, structure = jax.tree.flatten(tree)
    assert jax.tree.unflatten(structure, leaves).query(X)[1].tolist() == EXPECTED
    assert jax.tree.map(lambda leaf: leaf, tree).leafsize == tree.leafsize


def test_batch_of_clouds():
    """Under vmap a tree per cloud; outside of it a batch of trees says what to do."""
    clouds = asarray(POINTS[:96].reshape(4, 24, 3))
    trees = jax.jit(jax.vmap(KDTree))(clouds)
    rows = jax.jit(jax.vmap(lambda tree, x: tree.query(x, k=2)[1]))(trees, clouds)
    assert rows[:, :, 0].tolist() == [list(range(24))] * 4
    for cloud, found in zip(POINTS[:96].reshape(4, 24, 3), rows, strict=True):
        assert KDTree(cloud).query(cloud, k=2)[1].tolist() == found.tolist()
    with pytest.raises(ValueError, match=r"jax\.vmap"):
        trees.query(X)


def test_points_that_are_not_finite_inside_jit():
    """Traced values cannot raise: such a point is nobody's neighbour, such a query has none."""
    points = POINTS[:20].astype(np.float32).copy()
    points[3, 1], points[5] = np.nan, np.inf
    x = points.copy()
    distances, rows = jax.jit(lambda points, x: KDTree(points).query(x, k=20))(points, x)
    assert np.isin([3, 5], rows).tolist() == [False, False]
    bad = np.isin(np.arange(20), [3, 5])
    assert np.isinf(np.asarray(distances)[bad]).all()
    assert (np.asarray(rows)[bad] == 20).all()
    assert (np.asarray(rows)[~bad, 0] == np.arange(20)[~bad]).all()
    assert (np.asarray(rows)[~bad, 18:] == 20).all()


def test_gradient_is_zero_where_nothing_is():
    points = jnp.asarray(POINTS[:4].astype(np.float32))

    def bounded(x):
        distances = KDTree(points).query(x, k=2, distance_upper_bound=1e-3)[0]
        return jnp.where(jnp.isinf(distances), 0, distances).sum()

    assert jax.jit(jax.grad(bounded))(points + 0.25).tolist() == np.zeros((4, 3)).tolist()


@pytest.mark.daily
@pytest.mark.parametrize("asarray", [np.asarray, jnp.asarray])
def test_a_device_refuses_what_is_not_finite(asarray):
    """Whatever engine a device has, and wherever the values come from."""
    points = POINTS[:5].astype(np.float32)
    tree = KDTree(asarray(points), engine="lax")
    assert tree.query(asarray(points))[1].tolist() == [0, 1, 2, 3, 4]
    for bad in (np.nan, np.inf):
        points = points.copy()
        points[4, 0] = bad
        if asarray is np.asarray or jax.default_backend() == "cpu":
            with pytest.raises(ValueError, match="'x' must be finite"):
                tree.query(asarray(points))
        with pytest.raises(ValueError, match="data must be finite"):
            KDTree(asarray(points), engine="lax")
    with pytest.raises(ValueError, match="greater than the size of the periodic box"):
        KDTree(asarray(points[:4]), boxsize=1e-3, engine="lax")


def test_points_that_are_refused_leave_no_tree():
    """The error comes while the device builds: what it builds is let go."""
    points = jnp.asarray(POINTS[:5].astype(np.float32)).at[4, 0].set(np.nan)
    before = None
    for _ in range(3):
        with pytest.raises(ValueError, match="data must be finite"):
            KDTree(points, engine="lax")
        gc.collect()
        arrays = len(jax.live_arrays())
        before = arrays if before is None else before
        assert arrays == before
    tree = KDTree(points[:4], engine="lax")
    assert len(jax.live_arrays()) > before
    assert tree.query(points[:4])[1].tolist() == [0, 1, 2, 3]


@pytest.mark.thorough
def test_values_on_another_device_are_not_looked_at(monkeypatch):
    """As JAX has it: such a query has no neighbours there. The build tells of points that are not finite."""
    for module in (_arrays, _tree_arguments):
        monkeypatch.setattr(module, "is_on_host", lambda x: not isinstance(x, jax.Array))
    use("lax", monkeypatch)
    points = POINTS[:5].astype(np.float32)
    tree, x = KDTree(points), points.copy()
    x[1], x[3, 2] = np.nan, np.inf
    on_device = jnp.asarray(x)
    for search in (tree.query, lambda x: tree.query_radius(x, 0.1, max_neighbors=1)[:2]):
        with pytest.raises(ValueError, match="'x' must be finite"):
            search(x)
        found = sorted(map(np.asarray, search(on_device)), key=lambda each: each.dtype.kind == "i")
        assert np.isinf(found[0]).ravel().tolist() == [False, True, False, True, False]
        assert found[1].ravel().tolist() == [0, 5, 2, 5, 4]
        with jax.debug_nans(True), pytest.raises(ValueError, match="'x' must be finite"):
            search(on_device)
    assert np.diff(tree.query_radius(on_device, 0.1).indptr).tolist() == [1, 0, 1, 0, 1]
    with pytest.raises(IndexError, match="must be rows"):
        tree.displacements(points, np.arange(5) + 2)
    assert (tree.displacements(points, jnp.arange(5) + 2)[4] == 0).all()
    with pytest.raises(ValueError, match="data must be finite"):
        KDTree(on_device)


@pytest.mark.thorough
def test_each_platform_gets_its_own_engine(monkeypatch):
    """Where a GPU is about, a jitted search still compiles the portable engine alone for the CPU."""
    cpu = jax.devices("cpu")[0]
    tree = KDTree(jax.device_put(POINTS.astype(np.float32), cpu))
    tree.query(X)  # built where it lies
    monkeypatch.setattr(_choice, "gpu_engine", lambda: _cuda)
    monkeypatch.setattr(_launch, "architecture", lambda: "90")
    monkeypatch.setattr(_compile, "compiled", lambda *kernel: "no PTX")
    with jax.default_device(cpu):
        search = jax.jit(lambda tree, x: tree.query(x, k=3)[1])
        x = np.asarray(X, np.float32)
        assert search(tree, x)[:, 0].tolist() == EXPECTED
        assert jax.jit(jax.vmap(lambda x: tree.query(x)[1]))(x).tolist() == EXPECTED
        assert _launch.target() not in search.lower(tree, x).as_text()


@pytest.mark.skipif(jax.device_count() < 2, reason="one device")
def test_spread_arrays_are_refused():
    """Queries that are spread over devices raise with a tree on one; of copies on several, one is taken."""
    mesh = Mesh(np.array(jax.devices()[:2]), ("rows",))
    spread, whole = (
        jax.device_put(np.ones((4, 2), np.float32), NamedSharding(mesh, spec))
        for spec in (PartitionSpec("rows"), PartitionSpec())
    )
    assert len(KDTree(whole).query(whole)[1].devices()) == 1
    with pytest.raises(ValueError, match="device_put"):
        KDTree(np.ones((4, 2))).query(spread)
    other = jax.devices()[1]
    tree = KDTree(jax.device_put(np.eye(3, dtype=np.float32), other))
    distances, rows = tree.query(np.eye(3))
    assert rows.devices() == distances.devices() == {other}


def test_numbers_beyond_32_bits():
    """More results than 2**31: pieces stay below; only shapes are computed here."""
    tree = jax.eval_shape(build, jax.ShapeDtypeStruct((1024, 3), np.float32), 1000)
    x = jax.ShapeDtypeStruct((2**27 + 5, 3), np.float32)
    number = jax.ShapeDtypeStruct((), np.float32)
    search = functools.partial(
        _tree_programs.nearest,
        metric=TreeMetric(2.0),
        k=32,
        search=Search(2.0, None, np.dtype(np.float32), np.dtype(np.int32), BY_PLATFORM),
    )
    limits = Limits(number, number)
    jaxpr, (distances, rows) = jax.make_jaxpr(search, return_shape=True)(tree, x, limits)
    assert distances.shape == rows.shape == (2**27 + 5, 32)
    whole = distances.shape
    for equation in jaxpr.jaxpr.eqns:
        for out in equation.outvars:
            assert out.aval.shape == whole or out.aval.size < 2**31


def test_order_of_the_tree():
    """`order="tree"` gives the points' neighbours in the order of `indices`; `n` leaves out the rest."""
    points = np.random.default_rng(3).random((50, 3))
    tree = KDTree(points, n=40)
    rows = np.asarray(tree.indices)
    assert sorted(rows) == list(range(40))
    expected = cKDTree(points[:40]).query(points[:40], 3)
    for found, right in zip(tree.query(tree.data, 3, order="tree"), expected, strict=True):
        np.testing.assert_allclose(found, right[rows], rtol=1e-12)


def test_levels_of_nodes():
    root = KDTree(np.random.default_rng(3).random((40, 2), dtype=np.float32), leafsize=4).tree
    level, nodes, seen = 0, [root], 0
    while nodes:
        assert {node.level for node in nodes} == {level}
        seen += sum(node.children for node in nodes if node.split_dim == -1)
        nodes = [child for node in nodes if node.split_dim >= 0 for child in (node.lesser, node.greater)]
        level += 1
    assert seen == 40


@pytest.mark.thorough("lax")
@pytest.mark.parametrize("engine", ["scipy", "lax"])
def test_a_coordinate_may_be_the_box(engine):
    """A remainder may be rounded to the box's length, which is the same place as 0."""
    box = np.float32(2892)
    rounded = np.float32(-2.6e-5) % box
    assert rounded == box
    points = np.array([[rounded], [1.0], [2891.5], [1400.0]], np.float32)
    zero = np.where(points == box, np.float32(0), points)
    for tree in (
        KDTree(points, boxsize=float(box), engine=engine),
        KDTree(points, boxsize=[box], engine=engine),
    ):
        same = KDTree(zero, boxsize=float(box), engine=engine)
        expected, rows = cKDTree(zero, boxsize=float(box)).query(zero, k=3)
        for found in (tree.query(points, 3), tree.query(tree.data, 3), same.query(points, 3)):
            np.testing.assert_array_equal(found[0], expected)
            np.testing.assert_array_equal(found[1], rows)
        assert tree.query_pairs(1.0) == {(0, 1), (0, 2)}
        assert tree.radius_graph(1.0).distances.tolist() == [1.0, 0.5, 1.0, 0.5]
        assert tree.count_neighbors(same, [0.4, 1.0]).tolist() == [4, 8]
        assert tree.dbscan(1.0, 2).labels.tolist() == [0, 0, 0, -1]
        assert tree.displacements(points[1:2], np.array([0])).tolist() == [[-1.0]]
    with pytest.raises(ValueError, match="greater than the size of the periodic box"):
        KDTree(np.nextafter(points, np.float32(4000)), boxsize=box, engine=engine)
    tenth = np.float32(0.1)  # above the float64 number 0.1
    assert (
        KDTree(np.array([[tenth], [0.01]], np.float32), boxsize=0.1, engine=engine).kneighbors(1)[0].max()
        < 0.011
    )


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="SciPy serves the CPU")
def test_one_point_takes_few_steps_to_scipys_tree():
    """SciPy answers in some microseconds: each function of ours on the way there and back adds to them."""
    tree = KDTree(POINTS.astype(np.float32))
    x = POINTS[0].astype(np.float32)
    tree.query(x)  # which builds the tree
    called = []

    def note(frame, event, _):
        if event == "call" and frame.f_globals["__name__"].startswith("jaxapi."):
            called.append(frame.f_code.co_name)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        distance, row = tree.query(x)
    finally:
        sys.setprofile(before)
    assert (float(distance), int(row)) == (0.0, 0)
    assert 0 < len(called) <= 34, called
