"""A name of NumPy, CuPy or JAX that is not here raises AttributeError and says what to write."""

import inspect
import re

import array_api_compat
import jax
import jax.experimental.pallas
import jax.experimental.sparse
import jax.profiler
import jax.scipy.interpolate
import jax.scipy.spatial.transform
import numpy as np
import numpy.testing
import pytest
import scipy.cluster.hierarchy
import scipy.interpolate
import scipy.spatial

import jaxapi as xp
import jaxapi.mutable  # named in an answer
import jaxapi.numpy
from jaxapi import _hints

MODULES = {"jaxapi": (xp, np), "jaxapi.linalg": (xp.linalg, np.linalg), "jaxapi.fft": (xp.fft, np.fft)}
NAMED = re.compile(r"\b(?:jaxapi|jax|numpy|scipy|array_api_compat)(?:\.\w+)+")

ROOTS = {"jaxapi": xp, "jax": jax, "numpy": np, "scipy": scipy, "array_api_compat": array_api_compat}
FACES = [xp, jaxapi.mutable, jaxapi.numpy]
OF_POINTS = [xp.spatial, xp.spatial.distance, xp.interpolate]
OF_POINTS += [jaxapi.mutable.spatial, jaxapi.mutable.spatial.distance, jaxapi.mutable.interpolate]
CLASSES = {
    "KDTree": xp.spatial.KDTree,
    "NearestNDInterpolator": xp.interpolate.NearestNDInterpolator,
    "RBFInterpolator": xp.interpolate.RBFInterpolator,
}


def message(module, name):
    with pytest.raises(AttributeError) as caught:
        getattr(module, name)
    return str(caught.value)


def resolve(path):
    value = ROOTS[path.split(".")[0]]
    for part in path.split(".")[1:]:
        value = getattr(value, part)
    return value


@pytest.mark.parametrize("name", MODULES)
def test_every_name_of_numpy_has_an_answer(name):
    """And every name in an answer exists."""
    module, numpys = MODULES[name]
    public = {each for each in dir(numpys) if not each.startswith("_")}
    names = public | set(_hints.RENAMED[name]) | set(_hints.EXPLAINED[name])
    for each in sorted(names - set(module.__all__)):
        start, _, advice = message(module, each).partition(": ")
        assert start == f"module {name!r} has no attribute {each!r}"
        assert advice, each
        for path in NAMED.findall(advice):
            resolve(path)
        assert not hasattr(module, each)


def test_the_tables_hold_no_name_that_is_here():
    for name, (module, _) in MODULES.items():
        tables = _hints.RENAMED[name], _hints.EXPLAINED[name]
        assert not set(module.__all__) & (set(tables[0]) | set(tables[1]))
        assert not set(tables[0]) & set(tables[1])


@pytest.mark.parametrize(
    ("module", "name", "advice"),
    [
        (xp.spatial, "cKDTree", "use jaxapi.spatial.KDTree"),
        (xp.spatial, "DBSCAN", "KDTree(points).dbscan(eps, min_samples)"),
        (xp.spatial.distance, "haversine", "use jaxapi.spatial.great_circle_distance"),
        (xp, "concatenate", "use jaxapi.concat"), (xp, "einsum", "use jax.numpy.einsum"),
        (xp, "median", "use jax.numpy.median"), (xp, "random", "use jax.random"),
        (xp, "ElementwiseKernel", "jaxapi.fuse"), (xp, "trace", "use jaxapi.linalg.trace"),
        (xp.linalg, "norm", "jaxapi.linalg.vector_norm"), (xp.linalg, "lstsq", "use jax.numpy.linalg.lstsq"),
        (xp.linalg, "einsum", "use jax.numpy.einsum"), (xp.fft, "fft2", "use jax.numpy.fft.fft2"),
        (xp, "datetime64", "NumPy's alone"),
    ],
)  # fmt: skip
def test_answers(module, name, advice):
    assert advice in message(module, name)


@pytest.mark.parametrize(
    ("module", "name", "advice"),
    [
        (jaxapi.mutable, "concatenate", "use jaxapi.mutable.concat"),
        (jaxapi.mutable, "einsum", "use jaxapi.numpy.einsum"),
        (jaxapi.mutable, "copyto", "assign: x[...] = y"),
        (jaxapi.mutable, "grid", None),
        (jaxapi.mutable.linalg, "norm", "jaxapi.mutable.linalg.vector_norm"),
        (jaxapi.mutable.fft, "fft2", "use jaxapi.numpy.fft.fft2"),
        (jaxapi.mutable.ones(1), "sqrt", "use jaxapi.mutable.sqrt(x)"),
        (jaxapi.mutable.ones(1), "cross", "use jaxapi.mutable.linalg.cross"),
        (jaxapi.mutable.ones(1), "cuda", "use x.to_device(device)"),
        (jaxapi.numpy.ones(1), "at", "assign"),
        (jaxapi.numpy, "float_", "use float64"),
        (jaxapi.numpy, "float", "use Python's own"),
        (jaxapi.numpy, "NaN", "use nan"),
        (jaxapi.mutable.ones(1), "__cuda_array_interface__", None),
    ],
)
def test_answers_where_arrays_can_be_assigned_to(module, name, advice):
    text = message(module, name)
    assert advice in text if advice else text.endswith(f"has no attribute {name!r}")


def test_names_in_answers_of_mutable_exist():
    for name in {*_hints.RENAMED["jaxapi"], *_hints.EXPLAINED["jaxapi"], *_hints.ASSIGNED}:
        if hasattr(jaxapi.mutable, name):
            continue
        for path in NAMED.findall(message(jaxapi.mutable, name)):
            resolve(path)


@pytest.mark.parametrize("name", ["no_such_name", "__path_to_nowhere__", "_src"])
def test_other_names_stay_plain(name):
    assert message(xp, name) == f"module 'jaxapi' has no attribute {name!r}"


def test_renamed_functions_are_numpys():
    """Old and new name compute the same, where both are functions of one array."""
    x = np.array([0.25, 0.5])
    for old, new in _hints.RENAMED["jaxapi"].items():
        if isinstance(getattr(np, old, None), np.ufunc) and getattr(np, old).nin == 1:
            sample = (x * 4).astype(int) if old in ("invert", "bitwise_not") else x + (old == "arccosh")
            np.testing.assert_allclose(getattr(xp, new)(sample), getattr(np, old)(sample), rtol=1e-6)


# --- points: SciPy's, scikit-learn's, CuPy's, JAX MD's and PyTorch Geometric's names ----------------------


@pytest.mark.parametrize("module", [*FACES, *OF_POINTS], ids=lambda module: module.__name__)
def test_names_of_points_have_an_answer_everywhere(module):
    """And what it names exists."""
    elsewhere = {name for names in _hints.HOMES.values() for name in names}
    for name in sorted({*_hints.OF_POINTS, *elsewhere} - set(dir(module))):
        start, _, advice = message(module, name).partition(": ")
        assert start == f"module {module.__name__!r} has no attribute {name!r}"
        assert advice, name
        for path in NAMED.findall(advice):
            resolve(path)
        if module is not xp and "mutable" in module.__name__:
            assert not re.search(r"jaxapi\.(spatial|interpolate)", advice)


def test_the_homes_of_names_are_true():
    for path, names in _hints.HOMES.items():
        assert set(names) == set(resolve(path).__all__)
        for name in names:
            assert not inspect.ismodule(getattr(resolve(path), name)) or name == "distance"


@pytest.mark.parametrize("module", [*FACES, *OF_POINTS, jaxapi.numpy.cuda], ids=lambda each: each.__name__)
def test_no_hint_shadows_a_name(module):
    for name in dir(module):
        getattr(module, name)
    own = _hints.EXPLAINED[module.__name__.replace(".mutable", "")]
    if "mutable" not in module.__name__:
        assert set(own).isdisjoint(dir(module))
    assert set(_hints.OF_POINTS).isdisjoint(dir(module))


def test_no_hint_shadows_an_attribute_or_an_argument():
    assert set(_hints.ATTRIBUTES["KDTree"]).isdisjoint(dir(xp.spatial.KDTree))
    for name, methods in _hints.ARGUMENTS.items():
        for method, hints in methods.items():
            known = inspect.signature(getattr(CLASSES[name], method)).parameters
            assert known.keys().isdisjoint(hints), (name, method)


@pytest.mark.parametrize(
    ("module", "name", "advice"),
    [
        (xp, "KDTree", "use jaxapi.spatial.KDTree"), (xp, "cdist", "use jaxapi.spatial.distance.cdist"),
        (jaxapi.numpy, "KDTree", "use jaxapi.mutable.spatial.KDTree"),
        (jaxapi.mutable, "KDTree", "use jaxapi.mutable.spatial.KDTree"),
        (xp.spatial, "knn", "use jaxapi.spatial.KDTree(points).query(x, k)"),
        (xp.spatial, "cdist", "use jaxapi.spatial.distance.cdist"),
        (xp.spatial, "ConvexHull", "use scipy.spatial.ConvexHull"),
        (xp.spatial, "neighbor_list", "jaxapi.spatial.KDTree(points, cell=cell).radius_graph(r)"),
        (xp.interpolate, "griddata", "use jaxapi.interpolate.RBFInterpolator"),
        (xp.interpolate, "LinearNDInterpolator", "there is no triangulation"),
        (jaxapi.mutable.interpolate, "griddata", "use jaxapi.mutable.interpolate.RBFInterpolator"),
        (jaxapi.numpy, "spatial", "import it from jaxapi.mutable"),
        (jaxapi.numpy, "RawModule", "jaxapi.numpy.fuse"), (jaxapi.numpy, "tensor", "use asarray"),
        (jaxapi.numpy.cuda, "Event", "jax.block_until_ready"),
        (jaxapi.numpy.cuda, "MemoryPool", "JAX looks after memory"),
        (xp.spatial.KDTree([[0.0]]), "kneighbors_graph", "use .knn_graph(k)"),
        (jaxapi.mutable.spatial.KDTree([[0.0]]), "fit", "pass the points to KDTree itself"),
    ],
)  # fmt: skip
def test_answers_about_points(module, name, advice):
    assert advice in message(module, name)


def test_names_in_answers_about_a_gpu_exist():
    for name in _hints.EXPLAINED["jaxapi.numpy.cuda"]:
        for path in NAMED.findall(message(jaxapi.numpy.cuda, name)):
            resolve(path)


TREE = xp.spatial.KDTree([[0.0, 0.0], [1.0, 2.0]])


@pytest.mark.parametrize(
    ("call", "advice"),
    [
        (lambda: xp.spatial.KDTree([[0.0]], pbc=True), "'pbc': use cell= and periodic="),
        (lambda: jaxapi.mutable.spatial.KDTree([[0.0]], pbc=True), "'pbc': use cell= and periodic="),
        (lambda: xp.spatial.KDTree([[0.0]], metric="l1"), "of the p= of each search"),
        (lambda: xp.spatial.KDTree([[0.0]], leaf_size=3), "use leafsize="),
        (lambda: TREE.dbscan(0.5, metric="l1"), "pass p="),
        (lambda: TREE.query_radius([0, 0], radius=1), "use r="),
        (lambda: TREE.query([0, 0], n_neighbors=1), "use k="),
        (lambda: TREE.query_ball_point([0, 0], radius=1), "use r="),
        (lambda: TREE.dbscan(0.5, min_points=2), "use min_samples="),
        (lambda: TREE.sparse_distance_matrix(TREE, radius=1), "use max_distance="),
        (lambda: TREE.radius_graph(1.0, max_num_neighbors=8), "use max_edges="),
        (lambda: xp.interpolate.RBFInterpolator([[0.0]], [1.0], function="linear"), "use kernel="),
        (lambda: xp.interpolate.NearestNDInterpolator(points=[[0, 0]], values=[1]), "use x="),
    ],
)  # fmt: skip
def test_answers_about_arguments(call, advice):
    with pytest.raises(TypeError, match=r"\(\) got an unexpected keyword argument '\w+': ") as caught:
        call()
    assert advice in str(caught.value)


def test_each_hint_at_an_argument_is_said():
    """By the class whose method it is; other unknown arguments are Python's own error."""
    for name, methods in _hints.ARGUMENTS.items():
        for method, hints in methods.items():
            for argument in hints:
                with pytest.raises(TypeError, match=rf"{method}\(\) got .*{argument}'") as caught:
                    getattr(CLASSES[name], method)(None, **{argument: 1})
                assert str(caught.value).endswith(hints[argument])
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'no_such'$"):
        TREE.query([0, 0], no_such=1)


def test_a_tree_has_no_hint_for_private_names():
    assert not hasattr(TREE, "__jax_array__")
    assert message(TREE, "no_such_name") == "'KDTree' object has no attribute 'no_such_name'"
