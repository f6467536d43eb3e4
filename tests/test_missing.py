"""A name of NumPy, CuPy or JAX that is not here raises AttributeError and says what to write."""

import re

import array_api_compat
import jax
import jax.experimental.pallas
import numpy as np
import numpy.testing
import pytest

import jaxapi as xp
import jaxapi.mutable  # named in an answer
from jaxapi import _missing

MODULES = {"jaxapi": (xp, np), "jaxapi.linalg": (xp.linalg, np.linalg), "jaxapi.fft": (xp.fft, np.fft)}
NAMED = re.compile(r"\b(?:jaxapi|jax|numpy|array_api_compat)(?:\.\w+)+")


def message(module, name):
    with pytest.raises(AttributeError) as caught:
        getattr(module, name)
    return str(caught.value)


def resolve(path):
    value = {"jaxapi": xp, "jax": jax, "numpy": np, "array_api_compat": array_api_compat}[path.split(".")[0]]
    for part in path.split(".")[1:]:
        value = getattr(value, part)
    return value


@pytest.mark.parametrize("name", MODULES)
def test_every_name_of_numpy_has_an_answer(name):
    """And every name in an answer exists."""
    module, numpys = MODULES[name]
    public = {each for each in dir(numpys) if not each.startswith("_")}
    names = public | set(_missing._RENAMED[name]) | set(_missing._EXPLAINED[name])
    for each in sorted(names - set(module.__all__)):
        start, _, advice = message(module, each).partition(": ")
        assert start == f"module {name!r} has no attribute {each!r}"
        assert advice, each
        for path in NAMED.findall(advice):
            resolve(path)
        assert not hasattr(module, each)


def test_the_tables_hold_no_name_that_is_here():
    for name, (module, _) in MODULES.items():
        tables = _missing._RENAMED[name], _missing._EXPLAINED[name]
        assert not set(module.__all__) & (set(tables[0]) | set(tables[1]))
        assert not set(tables[0]) & set(tables[1])


@pytest.mark.parametrize(
    ("module", "name", "advice"),
    [
        (xp.spatial, "cKDTree", "use KDTree"),
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
        (jaxapi.mutable.ones(1), "__cuda_array_interface__", None),
    ],
)
def test_answers_where_arrays_can_be_assigned_to(module, name, advice):
    text = message(module, name)
    assert advice in text if advice else text.endswith(f"has no attribute {name!r}")


def test_names_in_answers_of_mutable_exist():
    for name in {*_missing._RENAMED["jaxapi"], *_missing._EXPLAINED["jaxapi"], *_missing._ASSIGNED}:
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
    for old, new in _missing._RENAMED["jaxapi"].items():
        if isinstance(getattr(np, old, None), np.ufunc) and getattr(np, old).nin == 1:
            sample = (x * 4).astype(int) if old in ("invert", "bitwise_not") else x + (old == "arccosh")
            np.testing.assert_allclose(getattr(xp, new)(sample), getattr(np, old)(sample), rtol=1e-6)
