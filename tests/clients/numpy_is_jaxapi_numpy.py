"""A pytest plugin: NumPy's own tests, those of the installed wheel, on `jaxapi.numpy`.

Nothing of the tests is changed but what their imports give. A file is read with NumPy, so that it has the
same tests as there. Then its names, the attributes of its classes and the parameters of its tests become
jaxapi's objects: `np` is `jaxapi.numpy`, a public function of NumPy's is jaxapi's, an array of numbers is
jaxapi's. So is what an import inside of a test gives. Private names, exceptions and `numpy.testing` stay
NumPy's; what is handed to a comparison of `numpy.testing` becomes a NumPy array first.

`NUMPY_IS=numpy` in the environment runs the tests on NumPy, to see which of them fail here on NumPy itself.
"""

import builtins
import functools
import importlib
import importlib.abc
import importlib.machinery
import os
import pathlib
import sys
import types
from collections.abc import Iterator

import numpy as np
import numpy.testing
import pytest

face = importlib.import_module(os.environ.get("NUMPY_IS", "jaxapi.numpy"))
FOLDER = pathlib.Path(np.__file__).parent
PUBLIC_MODULES = ("numpy", "numpy.linalg", "numpy.fft", "numpy.random", "numpy.lib.stride_tricks")
COMPARISONS = {
    "assert_allclose",
    "assert_almost_equal",
    "assert_approx_equal",
    "assert_array_almost_equal",
    "assert_array_almost_equal_nulp",
    "assert_array_compare",
    "assert_array_equal",
    "assert_array_less",
    "assert_array_max_ulp",
    "assert_equal",
}
NUMBERS = {np.dtype(letter) for letter in "?bBhHiIlLqQefdFD"}
ParameterSet = type(pytest.param())


class Missing:
    """Stands for a name that the face does not have: a test that uses it fails."""

    def __init__(self, module, name):
        self._name = name
        self._use = functools.partial(getattr, module, name)

    def __repr__(self):
        return f"<missing {self._name}>"

    def __getattr__(self, name):
        return getattr(self._use(), name)

    def __call__(self, *args, **kwargs):
        return self._use()(*args, **kwargs)

    def __getitem__(self, index):
        return self._use()[index]


class PrivateModule:
    """A module of NumPy's that is not public: its public functions are the face's."""

    def __init__(self, module):
        self._module = module

    def __getattr__(self, name):
        return translate(getattr(self._module, name))


def name_of_face(module_name, name):
    """Return the face's object of the name, or one that raises where it is used."""
    module = face
    try:
        for part in module_name.split(".")[1:]:
            module = getattr(module, part)
        return getattr(module, name)
    except AttributeError:
        return Missing(module, name)


def public_functions():
    """Return what stands for each public object of NumPy's, by its identity, beside the object."""
    found = {}
    for module_name in PUBLIC_MODULES:
        for name, value in vars(importlib.import_module(module_name)).items():
            if not name.startswith("_") and not isinstance(value, types.ModuleType):
                found.setdefault(id(value), (value, name_of_face(module_name, name)))
    for name in COMPARISONS:
        value = getattr(numpy.testing, name)
        found[id(value)] = value, comparison(value)
    return found


def on_host(x):
    """Return x with NumPy arrays for the face's, also those in lists, tuples and dicts."""
    if isinstance(x, face.ndarray):
        return np.asarray(x)
    if type(x) in (list, tuple):
        return type(x)(on_host(item) for item in x)
    if type(x) is dict:
        return {key: on_host(item) for key, item in x.items()}
    return x


def comparison(function):
    """Return a function of `numpy.testing` that compares NumPy arrays."""

    @functools.wraps(function)
    def compare(*args, **kwargs):
        __tracebackhide__ = True
        return function(*map(on_host, args), **{name: on_host(value) for name, value in kwargs.items()})

    return compare


def module_instead_of(module):
    """Return what stands for a module."""
    parts = module.__name__.split(".")
    if parts[0] != "numpy" or parts[1:2] in (["testing"], ["exceptions"], ["dtypes"]):
        return module
    if any(part.startswith("_") for part in parts) or parts == ["numpy", "lib"]:
        return PrivateModule(module)
    return face if len(parts) == 1 else name_of_face(".".join(parts[:-1]), parts[-1])


def translate(value):
    """Return what stands for a value that was made with NumPy, also in lists, tuples and dicts."""
    if id(value) in PUBLIC and PUBLIC[id(value)][0] is value:
        return PUBLIC[id(value)][1]
    if isinstance(value, types.ModuleType):
        return module_instead_of(value)
    if type(value) is np.ndarray and value.dtype in NUMBERS:
        return face.asarray(value)
    if type(value) in (list, tuple):
        return type(value)(translate(item) for item in value)
    if type(value) is dict:
        return {translate(key): translate(item) for key, item in value.items()}
    if isinstance(value, ParameterSet):
        return value._replace(values=translate(tuple(value.values)))
    if type(value) is functools.partial:
        return functools.partial(translate(value.func), *translate(value.args), **translate(value.keywords))
    return value


def translate_module(module):
    """Translate a file's names, what its classes and objects hold, and the parameters of its tests."""
    scope = vars(module)
    classes = [value for value in scope.values() if isinstance(value, type) and is_of(module, value)]
    functions = [value for value in scope.values() if isinstance(value, types.FunctionType)]
    for owner in classes:
        functions += [value for value in vars(owner).values() if isinstance(value, types.FunctionType)]
        for name, value in list(vars(owner).items()):
            if not name.startswith("__"):
                replace_attribute(owner, name, value)
    for function in functions:
        function.__defaults__ = translate(function.__defaults__)
    for marked in [*functions, *classes]:
        if "pytestmark" in vars(marked):
            marked.pytestmark = [translate_mark(mark) for mark in marked.pytestmark]
    for name, value in list(scope.items()):
        if not name.startswith("__"):
            scope[name] = translate(value)
            translate_objects(module, value)


def is_of(module, value):
    return value.__module__ == module.__name__


def replace_attribute(owner, name, value):
    new = translate(value)
    if isinstance(new, types.FunctionType) and isinstance(owner, type) and new is not value:
        new = staticmethod(new)  # in a class, NumPy's compiled functions are no methods
    if new is not value:
        setattr(owner, name, new)


def translate_objects(module, value):
    """Translate what objects of the file's own classes hold."""
    for item in value if type(value) in (list, tuple) else [value]:
        if is_of(module, type(item)) and hasattr(item, "__dict__"):
            for name, attribute in list(vars(item).items()):
                replace_attribute(item, name, attribute)


def translate_mark(mark):
    if mark.name != "parametrize":
        return mark
    given = dict(zip(("argnames", "argvalues", "indirect", "ids"), mark.args, strict=False)) | mark.kwargs
    values = given["argvalues"]
    given["argvalues"] = translate(list(values) if isinstance(values, Iterator) else values)
    return pytest.mark.parametrize(**given).mark


files_being_read = []


def import_instead(name, scope=None, local=None, fromlist=(), level=0):
    """What an import statement of a test calls."""
    module = builtins.__import__(name, scope, local, fromlist or (), level)
    if files_being_read or level or name.split(".")[0] != "numpy":
        return module
    return module_instead_of(module) if name == "numpy" and not fromlist else PrivateModule(module)


class Loader(importlib.machinery.SourceFileLoader):
    """Reads a test file, and puts jaxapi's objects into it."""

    def exec_module(self, module):
        module.__builtins__ = {**vars(builtins), "__import__": import_instead}
        code = compile(self.get_data(self.path), self.path, "exec", dont_inherit=True)
        files_being_read.append(self.path)
        try:
            exec(code, vars(module))
        finally:
            files_being_read.pop()
        translate_module(module)


class Finder(importlib.abc.MetaPathFinder):
    """Finds the test files in NumPy's folder."""

    def find_spec(self, name, path, target=None):
        if not name.rpartition(".")[2].startswith("test_"):
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is None or spec.origin is None or FOLDER not in pathlib.Path(spec.origin).parents:
            return None
        spec.loader = Loader(name, spec.origin)
        return spec


PUBLIC = public_functions()
sys.meta_path.insert(0, Finder())
