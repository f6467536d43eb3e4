"""How tests compare results with what is expected of them."""

import jax
import numpy as np

__all__ = ["assert_fused", "assert_same"]


def assert_same(found, expected, *, rtol=0.0, atol=0.0, dtype=True, signs=False):
    """Compare trees of arrays: shapes, dtypes and values, of which NaN equals NaN.

    Without tolerances values are equal. ``dtype=False`` leaves dtypes out, ``signs=True`` tells 0 from -0.
    """
    found_leaves, found_tree = jax.tree.flatten(found)
    expected_leaves, expected_tree = jax.tree.flatten(expected)
    assert found_tree.num_leaves == expected_tree.num_leaves
    for found_leaf, expected_leaf in zip(found_leaves, expected_leaves, strict=True):
        found_host = np.asarray(found_leaf)
        expected_host = np.asarray(expected_leaf)
        assert found_host.shape == expected_host.shape
        if dtype:
            assert found_host.dtype == expected_host.dtype
        if rtol or atol:
            np.testing.assert_allclose(found_host, expected_host, rtol=rtol, atol=atol)
        else:
            np.testing.assert_array_equal(found_host, expected_host)
        if signs:
            is_number = ~np.isnan(expected_host)
            np.testing.assert_array_equal(
                np.signbit(found_host)[is_number], np.signbit(expected_host)[is_number]
            )


def assert_fused(found, expected):
    """Compare the result of a fused function, which is a `jax.Array`, with NumPy's."""
    assert isinstance(found, jax.Array)
    assert_same(found, expected, rtol=1e-6)
