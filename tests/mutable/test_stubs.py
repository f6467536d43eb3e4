"""The type stubs: every public name, each with its own signature; make_stubs.py writes all but one."""

import ast
import importlib
import importlib.util
import inspect
import pathlib

import jax
import numpy as np
import pytest

import jaxapi

SCRIPT = pathlib.Path(__file__).parents[2] / "make_stubs.py"
PACKAGE = pathlib.Path(jaxapi.__file__).parent
MODULES = {
    "mutable/__init__.pyi": "jaxapi.mutable",
    "mutable/fft.pyi": "jaxapi.mutable.fft",
    "mutable/linalg.pyi": "jaxapi.mutable.linalg",
    "mutable/interpolate/__init__.pyi": "jaxapi.mutable.interpolate",
    "mutable/spatial/__init__.pyi": "jaxapi.mutable.spatial",
    "mutable/spatial/distance.pyi": "jaxapi.mutable.spatial.distance",
    "numpy/__init__.pyi": "jaxapi.numpy",
    "numpy/fft.pyi": "jaxapi.numpy.fft",
    "numpy/linalg.pyi": "jaxapi.numpy.linalg",
    "numpy/random.pyi": "jaxapi.numpy.random",
}
BY_HAND = "spatial/__init__.pyi"


@pytest.fixture(scope="module")
def stubs():
    spec = importlib.util.spec_from_file_location("make_stubs", SCRIPT)
    make_stubs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make_stubs)
    return make_stubs.stubs()


def test_every_file_is_of_a_module(stubs):
    assert set(stubs) == set(MODULES)


def version(text):
    return tuple(map(int, text.split(".")[:2]))


@pytest.mark.skipif(
    version(jax.__version__) < (0, 12) or version(np.__version__) < (2, 5),
    reason="the stubs have the signatures of JAX 0.12 and NumPy 2.5",
)
def test_the_files_are_what_is_written_now(stubs):
    files = {str(path.relative_to(PACKAGE)): path.read_text() for path in PACKAGE.rglob("*.pyi")}
    assert sorted(files) == sorted([*stubs, BY_HAND])
    changed = [name for name, text in stubs.items() if files[name] != text]
    assert not changed, "python make_stubs.py writes them anew"


def parameters_of(function):
    """Return the parameters that have names; none where NumPy, before 2.4, does not tell those of C."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        assert hasattr(np, function.__name__), function
        return []
    return [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]


@pytest.mark.parametrize("name", MODULES)
def test_every_public_name_is_declared_and_functions_with_their_parameters(stubs, name):
    module = importlib.import_module(MODULES[name])
    declared, functions = set(), {}
    for statement in ast.parse(stubs[name]).body:
        if isinstance(statement, ast.FunctionDef):
            functions[statement.name] = statement.args
        elif isinstance(statement, ast.ClassDef):
            declared.add(statement.name)
        elif isinstance(statement, ast.AnnAssign):
            declared.add(statement.target.id)
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            declared |= {alias.asname or alias.name for alias in statement.names}
        elif isinstance(statement, ast.Assign):
            assert len(statement.targets) == 1, "no name is another's alias"
            declared.add(statement.targets[0].id)
    assert set(module.__all__) <= declared | set(functions)
    for function, arguments in functions.items():
        in_stub = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        named = {p.name for p in parameters_of(getattr(module, function))}
        assert named <= {each.arg for each in in_stub} <= named | {"out"}, function


@pytest.mark.parametrize(
    ("name", "functions"),
    [
        ("mutable/__init__.pyi", ("asarray", "concat", "sin", "sum", "vecdot")),
        ("mutable/linalg.pyi", ("inv", "vector_norm")),
        ("mutable/spatial/distance.pyi", ("cdist", "cosine")),
        ("numpy/__init__.pyi", ("concatenate", "median")),
    ],
)
def test_functions_that_return_an_array_say_so(stubs, name, functions):
    """On each release of JAX, which names the class of arrays by another module."""
    results = {
        statement.name: ast.unparse(statement.returns)
        for statement in ast.parse(stubs[name]).body
        if isinstance(statement, ast.FunctionDef)
    }
    assert {results[function] for function in functions} == {"Array"}


def test_the_stub_written_by_hand_has_the_parameters_of_the_code():
    names, methods = set(), {}
    for statement in ast.parse((PACKAGE / BY_HAND).read_text()).body:
        if isinstance(statement, ast.ImportFrom):
            names |= {alias.asname for alias in statement.names}
        elif isinstance(statement, ast.ClassDef):
            names.add(statement.name)
            for method in statement.body:
                methods.setdefault((statement.name, method.name), []).append(method.args)
    assert set(jaxapi.spatial.__all__) <= names
    of_trees = {method for class_name, method in methods if class_name == "KDTree"}
    assert of_trees >= {"__init__", "query_radius", "knn_graph", "radius_graph", "query_pairs"}
    for (class_name, method), overloads in methods.items():
        member = getattr(getattr(jaxapi.spatial, class_name), method)
        named = [p.name for p in parameters_of(member.fget if isinstance(member, property) else member)]
        in_stub = [[each.arg for each in [*args.args, *args.kwonlyargs]] for args in overloads]
        assert max(in_stub, key=len) == named, method
        assert {name for arguments in in_stub for name in arguments} == set(named), method
