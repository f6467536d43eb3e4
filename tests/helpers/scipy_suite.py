"""A pytest plugin that runs SciPy's own tests of KDTree with ours in the place of both of its classes.

    JAX_ENABLE_X64=1 PYTHONPATH=tests/helpers python -m pytest -c /dev/null \\
        -p scipy_suite --pyargs scipy.spatial.tests.test_kdtree

Nothing of the tests is changed. `numpy.testing.assert_equal` and `assert_almost_equal` take jax arrays here,
which they else compare as if they were numbers. Tests that cannot pass are expected to fail, each for the
reason given; one of them that passes is a failure.
"""

import pytest
import scipy.spatial
from scipy_comparisons import pytest_configure  # noqa: F401  (which pytest calls)

import jaxapi.spatial
from jaxapi.spatial._scipy._ckdtree import ckdtree

INTERNALS = {
    "test_ckdtree_view": "asks for nodes of SciPy's C++ class",
    "test_kdtree_weights": "calls SciPy's private _build_weights",
    "test_kdtree_duplicated_inputs": "expects the 3 nodes of SciPy's own splits",
    "test_kdtree_attributes": "expects data to be a view of the caller's array; jax arrays are immutable",
    "test_single_query": "expects Python scalars for one point; ours are jax arrays without axes",
    "test_kdtree_count_neighbous_multiple_r": "indexes the counts with a list, which jax arrays refuse",
    "test_immutable": "expects NumPy's message on writing into an array; jax arrays raise TypeError",
}


class cKDTree(jaxapi.spatial.KDTree):
    """The same under SciPy's other name: the tests tell the two apart by it."""


ckdtree()  # by which ours search on the CPU, stays SciPy's
scipy.spatial.KDTree = jaxapi.spatial.KDTree
scipy.spatial.cKDTree = cKDTree


def pytest_collection_modifyitems(items):
    """Expect those tests to fail that are about SciPy's internals."""
    for item in items:
        for name, reason in INTERNALS.items():
            if item.name.split("[")[0] == name:
                item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
