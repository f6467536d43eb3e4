"""What runs of SciPy's own tests share: comparisons that take jax arrays, and the marks that SciPy knows."""

import jax
import numpy as np

__all__ = ["pytest_configure"]


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
