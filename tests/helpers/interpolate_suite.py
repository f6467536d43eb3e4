"""A pytest plugin that runs SciPy's own tests of two interpolators with ours in their place.

    JAX_ENABLE_X64=1 PYTHONPATH=tests/helpers python -m pytest -c /dev/null -p interpolate_suite \\
        --pyargs scipy.interpolate.tests.test_rbfinterp scipy.interpolate.tests.test_ndgriddata

Nothing of the tests is changed. SciPy's comparisons take jax arrays by their values here. Tests that cannot
pass are expected to fail, each for the reason given; one of them that passes is a failure.
"""

import pytest
import scipy._lib._array_api
import scipy.interpolate
import scipy.interpolate._ndgriddata
import scipy.interpolate._rbfinterp
from scipy_comparisons import pytest_configure, taking_jax_arrays  # noqa: F401  (pytest calls the first)

import jaxapi.interpolate

INTERNALS = {
    "test_chunking": "replaces SciPy's private _chunk_evaluator",
}

for name in ("xp_assert_close", "xp_assert_equal"):
    compare = getattr(scipy._lib._array_api, name)
    setattr(scipy._lib._array_api, name, taking_jax_arrays(compare))
table = getattr(
    scipy._lib._array_api, "xp_capabilities_table", {}
)  # what SciPy's class does with other arrays
if scipy.interpolate.RBFInterpolator in table:
    table[jaxapi.interpolate.RBFInterpolator] = table[scipy.interpolate.RBFInterpolator]
for module in (scipy.interpolate, scipy.interpolate._rbfinterp):
    module.RBFInterpolator = jaxapi.interpolate.RBFInterpolator
for module in (scipy.interpolate, scipy.interpolate._ndgriddata):
    module.NearestNDInterpolator = jaxapi.interpolate.NearestNDInterpolator


def pytest_collection_modifyitems(items):
    """Expect those tests to fail that are about SciPy's internals."""
    for item in items:
        for name, reason in INTERNALS.items():
            if item.name.split("[")[0] == name:
                item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
