"""A pytest plugin: the clients' own array-API tests, with `jaxapi.mutable` as the only namespace.

The clients list the libraries that they test; each list is replaced here, nothing else. For scikit-learn it
is a function, for SciPy and array-api-extra the parameters of a fixture in their conftest.
"""

import types

import pytest

import jaxapi.mutable

NAME = "jaxapi.mutable"


def pytest_configure(config):
    try:
        import sklearn.utils._array_api as scikit_learn
    except ImportError:
        return
    scikit_learn.yield_namespaces = lambda include_numpy_namespaces=True: iter([NAME])
    scikit_learn.yield_mixed_namespace_input_permutations = mixed_inputs


def mixed_inputs():
    """Take the place of the pairs of libraries with NumPy and this one, both ways."""
    from sklearn.utils._array_api import NamespaceAndDevice

    yield NamespaceAndDevice("numpy", None), NamespaceAndDevice(NAME, None), "numpy to jaxapi.mutable"
    yield NamespaceAndDevice(NAME, None), NamespaceAndDevice("numpy", None), "jaxapi.mutable to numpy"


@pytest.hookimpl(tryfirst=True)
def pytest_plugin_registered(plugin):
    """Replace fixtures before pytest reads them."""
    if hasattr(plugin, "xp_available_backends"):  # SciPy
        plugin.xp_known_backends.add(NAME)
        marks = pytest.mark.array_api_backends
        replace(plugin, "xp", pytest.param(jaxapi.mutable, id=NAME, marks=marks))
    elif hasattr(plugin, "library") and hasattr(plugin, "Backend"):  # array-api-extra
        library = types.SimpleNamespace(modname=NAME, like=lambda *others: False)
        replace(plugin, "library", pytest.param(library, id=NAME))


def replace(module, name, param):
    function = getattr(module, name).__wrapped__
    setattr(module, name, pytest.fixture(params=[param])(function))
