"""KDTree beyond its numbers: arguments, attributes, transformations."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxapi.spatial import KDTree

POINTS = np.random.default_rng(0).random((100, 3))


def test_takes_arrays_and_lists():
    """NumPy and jax arrays and lists give the same neighbours; float64 stays float64."""
    expected = [int(i) for i in KDTree(POINTS).query(POINTS[:5])[1]]
    assert expected == [0, 1, 2, 3, 4]
    for data in (POINTS.tolist(), POINTS.astype(np.float32), jnp.asarray(POINTS.astype(np.float32))):
        assert KDTree(data).query(POINTS[:5].tolist())[1].tolist() == expected
    distances, _ = KDTree(POINTS).query(POINTS[:5], k=2)
    assert isinstance(distances, jax.Array)
    assert distances.dtype == np.float64


@pytest.mark.parametrize(
    ("data", "error", "text"),
    [
        ([[1j, 0]], TypeError, "complex"),
        ([1.0, 2.0], ValueError, "must be of shape"),
        ([[1.0], [2.0, 3.0]], ValueError, "inhomogeneous"),
        ([["a"]], TypeError, "real numbers"),
        ([[np.nan, 0]], ValueError, "must be finite"),
    ],
)
def test_refuses_bad_data(data, error, text):
    """Wrong data raise SciPy's exception types."""
    with pytest.raises(error, match=text):
        KDTree(data)
