"""Derivatives of RBFInterpolator, first and second, against finite differences in float64."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from derivatives import Case, audit

from jaxapi.interpolate import RBFInterpolator

KERNELS = ["linear", "thin_plate_spline", "cubic", "quintic", "multiquadric", "inverse_multiquadric"]
KERNELS += ["inverse_quadratic", "gaussian"]
RNG = np.random.default_rng(0)
POINTS = np.stack(np.meshgrid([0.0, 1.0, 2.0], [0.0, 1.0, 2.0], indexing="ij"), -1).reshape(-1, 2)
POINTS = (POINTS + RNG.uniform(-0.3, 0.3, POINTS.shape)) / 2
PLACES = np.array([[0.31, 0.52], [0.77, 0.12]])
PARTS = {
    "x": PLACES,
    "y": POINTS,
    "d": np.sin(4 * POINTS).sum(axis=1),
    "smoothing": RNG.uniform(0.01, 0.02, len(POINTS)),
    "epsilon": np.array([2.0]),
}


def unpacked(flat):
    """Return everything that an interpolant has derivatives in, of one array."""
    parts, start = {}, 0
    for name, value in PARTS.items():
        parts[name] = flat[start : start + value.size].reshape(value.shape)
        start += value.size
    return parts


@pytest.mark.thorough
@pytest.mark.daily("gaussian-7")
@pytest.mark.parametrize(
    ("kernel", "neighbors"),
    [*((kernel, None) for kernel in KERNELS), ("linear", 7), ("thin_plate_spline", 7), ("gaussian", 7)],
)
def test_everywhere(kernel, neighbors):
    def function(flat):
        parts = unpacked(flat)
        options = {"smoothing": parts["smoothing"], "epsilon": parts["epsilon"][0], "kernel": kernel}
        return RBFInterpolator(parts["y"], parts["d"], neighbors, **options)(parts["x"])

    point = np.concatenate([each.ravel() for each in PARTS.values()])
    assert audit(Case(function, point)) == []


@pytest.mark.thorough
@pytest.mark.daily("inverse_quadratic")
@pytest.mark.parametrize("kernel", KERNELS)
def test_at_a_data_point(kernel):
    """A linear kernel has no derivative there, a thin plate no second one: what counts is finite."""

    def function(x):
        return RBFInterpolator(POINTS, PARTS["d"], kernel=kernel, epsilon=2.0)(x)

    with jax.enable_x64(True):
        point = jnp.asarray(POINTS[4:5])
        slope = jax.jit(jax.grad(lambda x: function(x)[0]))
        bend = jax.jit(jax.jacfwd(slope))(point)[0, :, 0]  # (2, 2)
        assert jnp.isfinite(bend).all()
        for derivative, of in ((slope(point)[0], function), (bend, slope)):
            ahead, behind = (
                jnp.concatenate([of(point + sign * step) for step in 1e-5 * np.eye(2)]) for sign in (1, -1)
            )
            if kernel != "linear" and (of is function or kernel != "thin_plate_spline"):
                # The cubic's third derivative jumps there.
                np.testing.assert_allclose(derivative, (ahead - behind) / 2e-5, atol=1e-3)


@pytest.mark.thorough
@pytest.mark.parametrize("neighbors", [None, 7])
def test_float64_with_x64_off(neighbors):
    """The same as with x64 on, in every order of modes."""

    def function(x, y, d, smoothing, epsilon):
        options = {"smoothing": smoothing, "epsilon": epsilon[0], "kernel": "gaussian"}
        return jnp.sum(RBFInterpolator(y, d, neighbors, **options)(x) ** 2)

    slopes = jax.grad(function, tuple(range(5)))
    bends = jax.jacfwd(jax.grad(function)), jax.jacrev(jax.grad(function, 1), 1)
    with jax.enable_x64(True):
        parts = [jnp.asarray(part) for part in PARTS.values()]
        expected = [jax.jit(derivative)(*parts) for derivative in (slopes, *bends)]
    with jax.enable_x64(False):
        for derivative, values in zip((slopes, *bends), expected, strict=True):
            for found, value in zip(*map(jax.tree.leaves, (derivative(*parts), values)), strict=True):
                assert found.dtype == np.float64
                np.testing.assert_allclose(found, value, rtol=1e-9, atol=1e-9)


@pytest.mark.thorough
def test_complex_values_and_missing_rows():
    """Rows that do not count leave no nan behind, in either direction."""

    def function(flat, n=9, neighbors=None):
        y = jnp.concatenate([flat[:18].reshape(9, 2), jnp.full((3, 2), jnp.nan, np.float64)])
        d = jnp.concatenate(
            [jax.lax.complex(flat[18:27], flat[18:27] ** 2), jnp.full((3,), jnp.nan, np.complex128)]
        )
        return RBFInterpolator(y, d, neighbors, n=n)(PLACES)

    point = np.concatenate([POINTS.ravel(), PARTS["d"]])
    for options in ({}, {"n": 5, "neighbors": 7}):
        assert audit(Case(lambda flat, options=options: function(flat, **options), point, False)) == []
