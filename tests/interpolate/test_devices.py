"""Places that are sharded over devices."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.interpolate
from jax.sharding import AxisType, NamedSharding, PartitionSpec
from meshes import mesh_of, spread

from jaxapi.interpolate import NearestNDInterpolator, RBFInterpolator, _host

RNG = np.random.default_rng(0)
Y, D, X = (RNG.random(shape).astype(np.float32) for shape in ((60, 2), (60, 3), (64, 2)))


@pytest.mark.thorough
@pytest.mark.daily("explicit-None", "explicit-12")
@pytest.mark.parametrize("neighbors", [None, 12])
@pytest.mark.parametrize("kind", [AxisType.Auto, AxisType.Explicit], ids=["auto", "explicit"])
def test_sharded_places(kind, neighbors):
    mesh = mesh_of(4, kind)
    x = spread(mesh, X)
    f = RBFInterpolator(Y, D, neighbors)
    expected = scipy.interpolate.RBFInterpolator(Y, D, neighbors)(X)
    values = f(x)
    assert len(values.sharding.device_set) == mesh.size
    assert values.sharding.spec[0] == "d"
    np.testing.assert_allclose(values, expected, atol=2e-3)
    with jax.set_mesh(mesh):
        slope = jax.jit(jax.grad(lambda x: jnp.sum(f(x) ** 2)))(x)
    np.testing.assert_allclose(
        slope, jax.grad(lambda x: jnp.sum(f(x) ** 2))(jnp.asarray(X)), rtol=1e-2, atol=0.1
    )


def test_nearest():
    x = spread(mesh_of(4), X)
    values = NearestNDInterpolator(Y, D)(x)
    assert len(values.sharding.device_set) == len(x.sharding.device_set)
    np.testing.assert_array_equal(values, scipy.interpolate.NearestNDInterpolator(Y, D)(X).astype(np.float32))


def test_coordinates_must_stay_together():
    x = jax.device_put(X, NamedSharding(mesh_of(2), PartitionSpec(None, "d")))
    with pytest.raises(ValueError, match="sharded along their first ax"):
        RBFInterpolator(Y, D)(x)


@pytest.mark.daily
def test_many_places_by_few_neighbors():
    """More systems than the host takes at once, whose places lie on several devices."""
    rng = np.random.default_rng(1)
    x = rng.random((2400, 2)).astype(np.float32)
    f = RBFInterpolator(Y, D, 20, kernel="linear")
    assert _host.are_many_places(f._basis, np.zeros((len(x), 20)))
    values = f(spread(mesh_of(4), x))
    assert len(values.sharding.device_set) == 4
    expected = scipy.interpolate.RBFInterpolator(Y, D, 20, kernel="linear")(x)
    np.testing.assert_allclose(values, expected, atol=2e-3)
    np.testing.assert_allclose(f(x), expected, atol=2e-3)
