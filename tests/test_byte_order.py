"""Arrays of another byte order, as FITS has them, give what the same numbers give in this machine's."""

import subprocess
import sys

import jax
import numpy as np
import pytest
import scipy.spatial
from test_array_arguments import CALLS, FUNCTIONS

import jaxapi as xp
from jaxapi import interpolate, mutable
from jaxapi import numpy as jaxapi_numpy
from jaxapi.spatial import KDTree, distance, great_circle_distance, pad_rows, single_linkage, unit_vectors

DTYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
DTYPES += ["float16", "float32", "float64", "complex64", "complex128"]
REAL = [name for name in DTYPES if not name.startswith(("complex", "bool"))]
POINTS = np.random.default_rng(5).integers(0, 60, (12, 2))
POINTS[:4] = [[0, 0], [0, 1], [0, 1], [7, 7]]  # a tie, copies
FINE = POINTS + 2.0**-40 * POINTS[::-1]  # which float32 would round


def swapped(values):
    """Return arrays, or containers of them, with the same numbers in the other byte order."""
    other = ">" if np.little_endian else "<"
    return jax.tree.map(
        lambda x: x.astype(x.dtype.newbyteorder(other)) if isinstance(x, np.ndarray) else x, values
    )


def assert_of_either_order(call, arrays):
    """Compare what a function returns of arrays of either byte order, and its dtypes."""
    own = jax.tree.leaves(call(*arrays))
    others = jax.tree.leaves(call(*swapped(arrays)))
    for one, other in zip(own, others, strict=True):
        one, other = np.asarray(one), np.asarray(other)
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(other, one)


def calls(functions):
    """Yield the names of the namespace's table, a function of `functions`, and its arrays."""
    for name, (arrays, *rest) in CALLS.items():
        args, kwargs = (*rest, (), {})[:2] if len(rest) < 2 else rest
        if kwargs and isinstance(kwargs.get("axis"), list):
            kwargs = kwargs | {"axis": tuple(kwargs["axis"])}  # NumPy takes no lists of axes
        function = functions.get(name)
        if function is not None and name != "empty_like":  # whose values are left open
            yield name, lambda *x, f=function, a=args, k=kwargs: f(*x, *a, **(k or {})), arrays


def of(module):
    """Return the functions of a namespace by their dotted names."""
    found = {}
    for name in CALLS:
        value = module
        for part in name.split("."):
            value = getattr(value, part, None)
        found[name] = value
    return found


@pytest.mark.thorough
def test_the_namespace(x64):
    for name, call, arrays in calls(FUNCTIONS):
        try:
            assert_of_either_order(call, arrays)
        except AssertionError as error:
            raise AssertionError(name) from error
    for name in ("concat", "stack"):
        assert_of_either_order(lambda *x, name=name: FUNCTIONS[name](x), (FINE, FINE))
    for dtype in DTYPES:
        assert_of_either_order(xp.asarray, (POINTS.astype(dtype),))
    assert_of_either_order(xp.fuse(lambda x, y: x * y + x), (FINE, FINE))


def is_taken(call, arrays):
    """Tell whether a function takes the standard's options: some of NumPy's do so in later versions alone."""
    try:
        call(*arrays)
    except (TypeError, NotImplementedError):
        return False
    return True


@pytest.mark.daily
@pytest.mark.parametrize("module", [jaxapi_numpy, mutable], ids=["numpy", "mutable"])
def test_arrays_that_can_be_assigned_to(module, x64):
    taken = [(name, call, arrays) for name, call, arrays in calls(of(module)) if is_taken(call, arrays)]
    assert len(taken) > 100
    for name, call, arrays in taken:
        try:
            assert_of_either_order(call, arrays)
        except AssertionError as error:
            raise AssertionError(name) from error
    one = module.asarray(FINE[0])

    def assigned(values):
        array = module.asarray(FINE)
        array[1] = values
        array[2] += values
        return array, values + array, array * values, one + values

    assert_of_either_order(assigned, (FINE[0],))


# What takes the points of a tree, queries, and numbers that go with them.
METHODS = {
    "query": lambda tree, x, r, w: tree.query(x, 2),
    "query_radius": lambda tree, x, r, w: tree.query_radius(x, r, sort=True),
    "fixed": lambda tree, x, r, w: tree.query_radius(x, r, max_neighbors=3),
    "query_ball_point": lambda tree, x, r, w: tree.query_ball_point(x, r, return_length=True),
    "displacements": lambda tree, x, r, w: tree.displacements(x, np.arange(len(x))),
    "kneighbors": lambda tree, x, r, w: tree.kneighbors(1),
    "radius_graph": lambda tree, x, r, w: tree.radius_graph(r[0]),
    "query_pairs": lambda tree, x, r, w: sorted(tree.query_pairs(r[0])),
    "count_neighbors": lambda tree, x, r, w: tree.count_neighbors(tree, r, weights=w),
    "count_neighbors of two": lambda tree, x, r, w: tree.count_neighbors(KDTree(x), r, weights=(w, None)),
    "dbscan": lambda tree, x, r, w: tree.dbscan(r[0], 2, sample_weight=w),
    "connected_components": lambda tree, x, r, w: tree.connected_components(r[0]),
    "minimum_spanning_tree": lambda tree, x, r, w: tree.minimum_spanning_tree(),
    "hdbscan": lambda tree, x, r, w: tree.hdbscan(2),
    "sparse_distance_matrix": lambda tree, x, r, w: tree.sparse_distance_matrix(
        KDTree(x), r[0], output_type="coo_array"
    ).toarray(),
}


@pytest.mark.thorough("lax")
@pytest.mark.parametrize("engine", ["scipy", "lax"])
def test_searches_of_a_tree(engine, x64):
    methods = METHODS if engine == "scipy" else {"query": METHODS["query"]}
    for dtype in REAL if engine == "scipy" else ["float64"]:
        points = FINE.astype(dtype)
        radii, weights = np.linspace(1, 30, len(points)), np.linspace(0.1, 2, len(points))
        for name, method in methods.items():
            if dtype not in ("float32", "float64", "int32") and name != "query":
                continue
            for arrays in ((points, FINE, radii, weights), (FINE.astype("float32"), points, radii, weights)):

                def search(points, x, r, w, method=method):
                    return method(KDTree(points, engine=engine), x, r, w)

                assert_of_either_order(search, arrays)


def test_columns_of_fits_are_not_narrowed():
    columns = np.array([[500_000.0, 5_400_000.0], [500_000.01, 5_400_000.0]])
    expected, _ = scipy.spatial.KDTree(columns).query(columns, k=[2])
    distances = KDTree(columns.astype(">f8")).kneighbors(1)[0]
    assert distances.dtype == np.float64
    np.testing.assert_array_equal(distances, expected)
    assert KDTree(columns.astype(">f8")).dbscan(0.005, 2).labels.tolist() == [-1, -1]
    near_zero = KDTree((columns - columns[0]).astype("float32"))
    assert near_zero.query((columns - columns[0]).astype(">f8"))[0].dtype == np.float64


def test_boxes_cells_and_clouds(x64):
    box, cell, ids = np.array([101.0, 102.0]), np.array([[101.0, 0.0], [3.0, 102.0]]), POINTS[:, 0] % 2
    assert_of_either_order(lambda points, box: KDTree(points, boxsize=box).kneighbors(2), (FINE, box))
    assert_of_either_order(lambda points, cell: KDTree(points, cell=cell).kneighbors(2), (FINE, cell))
    assert_of_either_order(lambda points, ids: KDTree(points, batch=ids).kneighbors(2), (FINE, ids))
    edges = KDTree(FINE).minimum_spanning_tree()
    assert_of_either_order(single_linkage, tuple(map(np.asarray, edges)))
    assert_of_either_order(pad_rows, (FINE,))
    assert_of_either_order(unit_vectors, (FINE / 200,))
    assert_of_either_order(great_circle_distance, (FINE[:, 0] / 200,))


@pytest.mark.thorough
def test_distances_between_vectors(x64):
    pair = FINE, FINE[::-1].copy()
    bits = tuple(each.astype(np.int64) % 2 == 1 for each in pair)
    for name in distance.__all__:
        function = getattr(distance, name)
        if name in ("cdist", "directed_hausdorff", "distance_matrix", "minkowski_distance"):
            assert_of_either_order(function, pair)
        elif name == "nearest":
            assert_of_either_order(lambda a, b: distance.nearest(a, b, 2), pair)
        elif name == "kernel_sum":
            assert_of_either_order(lambda a, b: distance.kernel_sum(lambda d: 1 / (1 + d), a, b), pair)
        elif name == "pdist":
            assert_of_either_order(function, pair[:1])
        elif name == "squareform":
            assert_of_either_order(function, (FINE[:10, 0].copy(),))
        elif name == "mahalanobis":
            assert_of_either_order(function, (*(each[0] for each in pair), np.eye(2)))
        elif name == "seuclidean":
            assert_of_either_order(function, (*(each[0] for each in pair), np.array([1.0, 3.0])))
        elif name not in ("is_valid_dm", "is_valid_y", "num_obs_dm", "num_obs_y", "NearestRows"):
            u, v = bits if "boolean" in (function.__doc__ or "").lower() else pair
            assert_of_either_order(function, (u[0], v[0]))


@pytest.mark.daily
def test_interpolators(x64):
    values = FINE[:, 0] / 7
    for dtype in ("float32", "float64", "int32"):
        points = np.unique(FINE.astype(dtype), axis=0)
        arrays = points, values[: len(points)], FINE[:4]
        for interpolator in (interpolate.NearestNDInterpolator, interpolate.RBFInterpolator):
            assert_of_either_order(lambda points, y, x, make=interpolator: make(points, y)(x), arrays)


ULONGLONG = """
import jax
import numpy as np
from jaxapi.spatial import distance, single_linkage

with jax.enable_x64(True):
    u, v = np.array([1.0, 2.0, 0.0]), np.array([1.0, 3.0, -0.0])
    jax.lax.bitcast_convert_type(u, np.dtype("ulonglong"))
    assert distance.hamming(u, v) == np.float64(1 / 3)

    edges = jax.numpy.asarray([[0, 1], [1, 2]]).astype(np.dtype("ulonglong"))
    merged = jax.jit(single_linkage)(edges, np.array([1.0, 2.0]))
    assert merged.tolist() == [[0, 1, 1, 2], [2, 3, 2, 3]]
"""


@pytest.mark.thorough
def test_after_a_program_of_numpys_other_64_bit_type():
    """JAX keeps the dtype that it was asked for first, of those that are equal; a process of its own."""
    subprocess.run([sys.executable, "-c", ULONGLONG], check=True)
