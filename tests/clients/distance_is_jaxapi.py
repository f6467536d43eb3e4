"""A pytest plugin that runs SciPy's own tests of distances with ours in the place of its functions.

    JAX_ENABLE_X64=1 PYTHONPATH=tests/clients python -m pytest -c /dev/null -p distance_is_jaxapi \\
        --pyargs scipy.spatial.tests.test_distance scipy.spatial.tests.test_hausdorff

Nothing of the tests is changed. `numpy.testing.assert_equal` and `assert_almost_equal` take jax arrays here,
which they else compare as if they were numbers. Tests that cannot pass are expected to fail, each for the
reason given; one of them that passes is a failure.
"""

import jax
import numpy as np
import pytest
import scipy.spatial.distance

from jaxapi.spatial import distance

CANNOT = {}

for name in set(distance.__all__) & set(scipy.spatial.distance.__all__):
    setattr(scipy.spatial.distance, name, getattr(distance, name))


def taking_jax_arrays(compare):
    """Return one of NumPy's comparisons that takes jax arrays by their values."""

    def compared(actual, desired, *arguments, **options):
        return compare(_host(actual), _host(desired), *arguments, **options)

    return compared


def _host(value):
    return np.asarray(value) if isinstance(value, jax.Array) else value


np.testing.assert_equal = taking_jax_arrays(np.testing.assert_equal)
np.testing.assert_almost_equal = taking_jax_arrays(np.testing.assert_almost_equal)


def pytest_configure(config):
    """Register the marks that SciPy's own configuration knows."""
    for mark in ("array_api_backends", "thread_unsafe", "fail_asan", "fail_slow", "slow", "xslow"):
        config.addinivalue_line("markers", f"{mark}: SciPy's")


def pytest_collection_modifyitems(items):
    """Expect those tests to fail that cannot pass."""
    for item in items:
        reason = CANNOT.get(item.name) or CANNOT.get(item.name.split("[")[0])
        if reason:
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
