"""Arrays that are written to inside of JAX's transformations."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import jaxapi.mutable as xp

X = np.asarray([3.0, -1.0, 2.0, -4.0], np.float32)


def clipped(x):
    """Write in three ways and return."""
    x[x < 0] = 0
    x += 1
    x[1:3] = x[::-1][:2] * 2
    return x


EXPECTED = np.asarray([4.0, 2.0, 6.0, 1.0], np.float32)


def mesh():
    return Mesh(np.asarray(jax.devices()[:1]), ("i",))


TRANSFORMS = {
    "eager": lambda f: f, "jit": jax.jit, "jit with donation": lambda f: jax.jit(f, donate_argnums=0),
    "vmap": lambda f: lambda x: jax.vmap(f)(x[None])[0], "checkpoint": jax.checkpoint,
    "cond": lambda f: lambda x: lax.cond(xp.sum(x) < 0.5, f, lambda x: x, x),
    "export": lambda f: jax.export.export(jax.jit(f))(xp.asarray(X)).call,
    "shard_map": lambda f: jax.shard_map(f, mesh=mesh(), in_specs=P("i"), out_specs=P("i")), "fuse": xp.fuse,
}  # fmt: skip


@pytest.mark.parametrize("name", TRANSFORMS)
def test_writes_inside(name):
    result = TRANSFORMS[name](clipped)(xp.asarray(X))
    assert type(result) is xp.Array
    np.testing.assert_array_equal(result, EXPECTED, strict=True)


def test_jit_leaves_its_argument():
    x = xp.asarray(X)
    jax.jit(clipped)(x)
    np.testing.assert_array_equal(x, X)


def test_scan_carries():
    def step(state, v):
        state[1:] = state[:-1]
        state[0] = v
        return state, xp.sum(state)

    state, sums = lax.scan(step, xp.zeros(3), xp.asarray(X))
    np.testing.assert_array_equal(state, X[:0:-1])
    np.testing.assert_array_equal(sums, [3, 2, 4, -3])


def test_while_loop():
    def step(x):
        x[0] += 1
        return x

    x = lax.while_loop(lambda x: jnp.asarray(x[0] < 5), step, xp.zeros(2))
    np.testing.assert_array_equal(x, [5, 0])


def test_indices_under_vmap():
    def write(x, i, v):
        x[i] = v
        return x[i], x

    x = xp.zeros((2, 3))
    at, x = jax.vmap(write)(x, xp.asarray([2, 0]), xp.asarray([5.0, 6.0]))
    np.testing.assert_array_equal(at, [5, 6])
    np.testing.assert_array_equal(x, [[0, 0, 5], [6, 0, 0]])


def loss(x, scale):
    x[0] = 0
    x[...] = xp.where(x < -2, 3 * x, x)
    x *= scale
    return xp.sum(x**2)


@pytest.mark.daily
def test_grad():
    # 1 + 4 + (3 * 4)**2, each times scale**2
    gradient = xp.grad(loss)(xp.asarray(X), 2.0)
    assert type(gradient) is xp.Array
    np.testing.assert_allclose(gradient, [0, -8, 16, -288])
    value, (by_x, by_scale) = xp.value_and_grad(loss, (0, 1))(xp.asarray(X), 2.0)
    np.testing.assert_allclose(value, 4 * 149)
    np.testing.assert_allclose(by_x, gradient)
    np.testing.assert_allclose(by_scale, 4 * 149)
    (value, aux), _ = xp.value_and_grad(lambda x: (xp.sum(x), x), has_aux=True)(xp.asarray(X))
    assert type(value) is type(aux) is xp.Array
    np.testing.assert_array_equal(jax.jit(xp.grad(loss))(xp.asarray(X), 2.0), gradient)
    np.testing.assert_array_equal(xp.grad(jax.checkpoint(loss))(xp.asarray(X), 2.0), gradient)


def test_grad_of_a_dict_of_parameters():
    parameters = {"w": xp.ones((2, 2)), "b": xp.zeros(2)}
    gradient = xp.grad(lambda p: xp.sum(p["w"] @ xp.ones(2) + p["b"]))(parameters)
    np.testing.assert_array_equal(gradient["w"], np.ones((2, 2)))
    parameters = jax.tree.map(lambda p, g: p - 0.5 * g, parameters, gradient)
    np.testing.assert_array_equal(parameters["b"], [-0.5, -0.5])


@pytest.mark.parametrize("transform", [jax.jacfwd, jax.jacrev, lambda f: jax.jit(jax.jacrev(f)), jax.hessian])
def test_jacobians_can_be_used(transform):
    """JAX returns them as arrays in the place of another array's value."""
    x, host = xp.asarray([1.0, 2.0, 3.0]), np.asarray([1.0, 2.0, 3.0], np.float32)
    expected = np.diag(3 * host**2)
    if transform is jax.hessian:
        expected = np.eye(3)[..., None] * np.diag(6 * host)
    found = transform(lambda x: x**3)(x)
    assert (found.shape, found.dtype, found.device) == (expected.shape, np.float32, x.device)
    assert jax.tree.structure(found) == jax.tree.structure(jax.tree.map(lambda leaf: leaf, found))
    np.testing.assert_allclose(jax.jit(lambda x: x * 2)(found), expected * 2)
    np.testing.assert_allclose(found[1] + 1, expected[1] + 1)
    found[0] = 7
    expected[0] = 7
    np.testing.assert_allclose(found, expected)
    at_3 = transform(lambda x: x**3)(x[2])
    assert float(at_3) == float(at_3 + 0) == (18 if transform is jax.hessian else 27)


@pytest.mark.parametrize(
    "transform", [jax.jit, lambda f: lambda v: lax.scan(lambda c, v: (c, f(v)), 0, v[None])]
)
def test_a_lost_write_raises(transform):
    outside = xp.zeros(2)

    def write(v):
        outside[0] = v
        return v

    with pytest.raises(ValueError, match="written to inside a function"):
        transform(write)(jnp.asarray(1.0))
    np.testing.assert_array_equal(outside, [0, 0])


def test_arrays_made_inside_are_no_loss():
    def histogram(v):
        x = xp.asarray([0.0, 0.0])
        x[0] = v
        return x

    np.testing.assert_array_equal(jax.jit(histogram)(1.0), [1, 0])
    np.testing.assert_array_equal(jax.vmap(histogram)(jnp.ones(2)), [[1, 0], [1, 0]])


def test_symbolic_lengths():
    def f(x):
        x[0] = 7
        x[1:3] = 8
        return x[::2]

    (n,) = jax.export.symbolic_shape("n", constraints=["n >= 4"])
    shape = jax.tree.map(lambda _: jax.ShapeDtypeStruct((n,), np.float32), xp.ones(4))
    exported = jax.export.export(jax.jit(f))(shape)
    np.testing.assert_array_equal(exported.call(xp.asarray(X)), [7, 8])


def test_sharded():
    x = jax.device_put(xp.asarray(X), NamedSharding(mesh(), P("i")))
    np.testing.assert_array_equal(clipped(x), EXPECTED)
    np.testing.assert_array_equal(x[1], 2)
