"""How tests compare results with what is expected of them."""

import jax
import numpy as np

from jaxapi import mutable

__all__ = ["assert_fused", "assert_jaxs", "assert_mutable", "assert_same"]


def assert_same(found, expected, *, rtol=0.0, atol=0.0, dtype=True, signs=False):
    """Compare trees of arrays: shapes, dtypes in any byte order, and values, of which NaN equals NaN.

    Without tolerances values are equal. ``dtype="kind"`` compares the kinds of dtypes alone, ``dtype=False``
    leaves them out; ``signs=True`` tells 0 from -0.
    """
    found_leaves = jax.tree.leaves(found, is_leaf=_is_array)
    expected_leaves = jax.tree.leaves(expected, is_leaf=_is_array)
    assert len(found_leaves) == len(expected_leaves)
    for found_leaf, expected_leaf in zip(found_leaves, expected_leaves, strict=True):
        found_host = np.asarray(found_leaf)
        expected_host = np.asarray(expected_leaf)
        assert np.shape(found_leaf) == found_host.shape == expected_host.shape
        if dtype == "kind":
            assert found_host.dtype.kind == expected_host.dtype.kind
        elif dtype:
            assert found_host.dtype == expected_host.dtype.newbyteorder("=")
        if rtol or atol:
            np.testing.assert_allclose(found_host, expected_host, rtol=rtol, atol=atol)
        else:
            np.testing.assert_array_equal(found_host, expected_host)
        if signs and expected_host.dtype.kind == "f":
            is_number = ~np.isnan(expected_host)
            np.testing.assert_array_equal(
                np.signbit(found_host)[is_number], np.signbit(expected_host)[is_number]
            )


def _is_array(x):
    """Whether a part of a result is compared whole: one of `mutable` is a container of JAX's arrays."""
    return isinstance(x, mutable.Array)


def assert_jaxs(found, expected, **options):
    """Compare a `jax.Array` with NumPy's array."""
    assert isinstance(found, jax.Array)
    assert found.dtype == np.asarray(found).dtype
    assert_same(found, expected, **options)


def assert_fused(found, expected):
    """Compare the result of a fused function with NumPy's."""
    assert_jaxs(found, expected, rtol=1e-6)


def assert_mutable(found, expected, tolerance=2e-5, *, dtype=None):
    """Compare an array of `mutable`, or a tuple of them, with NumPy's, whose dtypes may be wider.

    The tolerance is at least that of float16 where arrays are such. ``dtype`` is theirs, if given.
    """
    parts, expected_parts = (x if isinstance(x, tuple) else (x,) for x in (found, expected))
    for part, expected_part in zip(parts, expected_parts, strict=True):
        assert isinstance(part, mutable.Array)
        is_half = part.dtype == np.float16
        rtol, atol = max(tolerance, 5e-3 * is_half), max(tolerance, 1e-2 * is_half)
        assert dtype is None or part.dtype == dtype
        assert_same(part, expected_part, rtol=rtol, atol=atol, dtype="kind")
