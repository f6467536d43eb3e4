"""The set functions' two programs against NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxapi

_NAN = float("nan")


@pytest.mark.parametrize(
    "host",
    [
        np.asarray([[3, 1, 3, 2], [1, 1, 7, 3]], np.int64),
        np.asarray([2.5, _NAN, -1.0, _NAN, 2.5, float("inf"), 0.0, -0.0], np.float32),
        np.asarray([1 + 2j, 1 - 2j, 1 + 2j, 0], np.complex64),
        np.asarray([True, False, True]),
        np.asarray(5, np.uint8),
        np.zeros((2, 0), np.float64),
    ],
    ids=lambda host: f"{host.dtype}{host.shape}",
)
def test_against_numpy(host, x64):
    x = jaxapi.asarray(host)
    expected = np.unique_all(host)
    everything = jaxapi.unique_all(x)
    assert everything._fields == expected._fields
    assert everything.values.dtype == host.dtype
    for name, found in everything._asdict().items():
        np.testing.assert_array_equal(found, getattr(expected, name))
        if name != "values":
            assert found.dtype == jnp.asarray([1]).dtype
    for found in (jaxapi.unique_counts(x), jaxapi.unique_inverse(x)):
        for name, part in found._asdict().items():
            np.testing.assert_array_equal(part, getattr(expected, name))
    np.testing.assert_array_equal(jaxapi.unique_values(x), expected.values)


def test_under_jit():
    found = jax.jit(lambda x: jaxapi.unique_all(x, size=4))(jnp.asarray([5, 3, 5]))
    np.testing.assert_array_equal(found.counts, [1, 2, 0, 0])
    with pytest.raises(jax.errors.ConcretizationTypeError):
        jax.jit(jaxapi.unique_values)(jnp.arange(3))
