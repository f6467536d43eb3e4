"""Weighted quantiles, covariances without freedom, folds that start at a zero with a sign: beside NumPy."""

import warnings

import jax
import numpy as np
import pytest

import jaxapi.mutable
import jaxapi.numpy as ours

pytestmark = pytest.mark.filterwarnings("ignore")
BY_WEIGHT = {"method": "inverted_cdf"}


def outcome(function, module):
    """Return what a function of a module returns, or the type of what it raises."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(module)
        except (TypeError, ValueError, IndexError) as error:
            return type(error)


def check(function, **tolerance):
    made, expected = outcome(function, ours), outcome(function, np)
    if isinstance(expected, type):
        assert made is expected, made
        return
    assert not isinstance(made, type), made
    np.testing.assert_allclose(np.asarray(made), expected, **tolerance)


FRACTIONS = [0.0, 0, 1, 1.0, 0.3, [0, 1], [0.0, 0.25, 0.5, 0.75, 1.0]]


@pytest.mark.daily
@pytest.mark.parametrize("name", ["quantile", "percentile", "nanquantile", "nanpercentile"])
def test_weighted_quantiles(name, x64):
    rng = np.random.default_rng(31)
    with_nan = rng.integers(0, 9, (4, 6)).astype(np.float32)
    with_nan[1, 2] = with_nan[3, :] = np.nan
    scale = 100 if "percentile" in name else 1
    sparse = rng.integers(0, 3, (4, 6)).astype(np.float32)
    sparse[:, 0] = 1
    cases = [
        (np.arange(3.0), [0, 0, 1.0], None),
        (np.arange(3), [0, 0, 1], None),
        (np.arange(6), [0.1] * 6, 0),
        (np.arange(4.0), [0.25] * 4, 0),
        (with_nan, sparse, None),
        (with_nan, sparse, 1),
        (with_nan, [1.0, 2, 0, 1, 0.5, 1], 1),
        (with_nan[:3], [2.0, 1, 3], -2),
    ]
    for x, weights, axis in cases:
        if "nan" in name and x.ndim == 2:  # where NumPy fails with the weights of an axis
            along = np.expand_dims(weights, 1 - axis % 2) if np.ndim(weights) == 1 else weights
            weights = np.broadcast_to(along, x.shape)
        for q in FRACTIONS:
            percent = np.multiply(q, scale).tolist()
            check(
                lambda np, x=x, w=weights, a=axis, q=percent: getattr(np, name)(
                    np.asarray(x), q, axis=a, weights=np.asarray(w), **BY_WEIGHT
                )
            )


WRONG_WEIGHTS = [[-1, 1, 1], [0, 0, 0], [np.nan, 1, 1], [np.inf, 1, 1], [1, 1], [[1, 1, 1]]]


@pytest.mark.parametrize("weights", WRONG_WEIGHTS)
def test_weights_that_are_refused(weights):
    for name in ("quantile", "nanquantile"):
        for axis in (None, 0):
            check(
                lambda np, n=name, a=axis: getattr(np, n)(
                    np.arange(3.0), 0.5, axis=a, weights=np.asarray(weights), **BY_WEIGHT
                )
            )


def test_weighted_quantiles_in_jit(x64):
    x = np.float32([4, 2, 3, 9])
    weights = np.float32([0, 0, 1, 2])
    run = jax.jit(lambda x, w, q: ours.quantile(x, q, weights=w, **BY_WEIGHT))
    for q in (0.0, 0.3, 0.5, 1.0):
        assert run(x, weights, np.float32(q)) == np.quantile(x, q, weights=weights, **BY_WEIGHT)
    assert np.isnan(run(x, 0 * weights, np.float32(0.5)))


@pytest.mark.parametrize("ddof", [0, 1, 3, 4, 5, 100])
def test_covariances_without_freedom(ddof, x64):
    x = np.array([[1.0, 5, 2, 7], [3, 3, 3, 3], [4, 1, 1, 0]])
    counts, weights = np.array([1, 0, 2, 1]), np.array([0.5, 1, 2, 0.25])
    options = [{}, {"fweights": counts}, {"aweights": weights}, {"fweights": counts, "aweights": weights}]
    for given in options:
        check(
            lambda np, given=given: np.cov(
                np.asarray(x), ddof=ddof, **{name: np.asarray(w) for name, w in given.items()}
            ),
            rtol=1e-5,
            atol=1e-6,
        )
    for given in ({"fweights": [0] * 4}, {"fweights": [1, 0, 0, 0], "aweights": [0, 1.5, 1, 1]}):
        with pytest.raises(ZeroDivisionError, match="sum to zero"):
            ours.cov(ours.asarray(x), ddof=ddof, **given)
    check(lambda np: np.cov(np.asarray(x).T, rowvar=False, ddof=ddof), rtol=1e-5, atol=1e-6)
    check(lambda np: np.cov(np.asarray(x[0]), np.asarray(x[2]), ddof=ddof), rtol=1e-5, atol=1e-6)
    check(lambda np: np.cov(np.asarray(x[0]), ddof=ddof), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("module", [ours, jaxapi.mutable])
def test_folds_that_start_at_zeros(module):
    """A zero with a sign is another number than one without, also for programs that are kept."""
    x = module.asarray(np.float32([-1, -2, 3] * 40))
    x = x[x < 0]  # an array with room, JAX's way
    for start in (0.0, -0.0, 0.0, -0.0):
        for name in ("max", "min"):
            made = getattr(module, name)(x if name == "max" else -x, initial=start)
            assert float(made) == 0.0
            assert np.signbit(np.asarray(made)) == np.signbit(start)
    assert int(module.max(x, initial=4)) == 4
    assert float(module.max(x, initial=np.inf)) == np.inf


@pytest.mark.parametrize("kept", [[0, 1], [0], [0, 2]])
def test_sums_without_nan_that_start_at_zeros(kept):
    x = np.float32([-0.0, -0.0, np.nan])[kept]
    for start in (0.0, -0.0):
        made = np.asarray(ours.nansum(ours.asarray(x), initial=start))
        assert np.signbit(made) == np.signbit(np.nansum(x, initial=start))


def test_densities_of_flags():
    x = np.float32([1, 2, 3, 4])
    flags = np.array([True, False, True, True])
    made, _ = ours.histogram(ours.asarray(x), 2, weights=ours.asarray(flags), density=True)
    expected, _ = np.histogram(x, 2, weights=flags, density=True)
    assert made.dtype == expected.dtype
    np.testing.assert_allclose(made, expected)


SLOPES = [
    lambda np, x: np.cov(x, aweights=x),
    lambda np, x: np.pad(x, 2, "linear_ramp", end_values=1) @ np.arange(7.0),
    lambda np, x: np.pad(x, 2, "reflect", reflect_type="odd") @ np.arange(7.0),
    lambda np, x: np.nansum(x * x),
    lambda np, x: np.linspace(x[0] + 0j, x[1], 4).real.sum(),
    lambda np, x: np.vectorize(lambda p, q=2: p * q)(x, q=x).sum(),
]


@pytest.mark.parametrize("function", SLOPES)
def test_slopes(function, x64):
    """Beside finite differences of NumPy's function, by this module's ``grad`` and by JAX's own."""
    x = np.array([0.3, 1.2, 2.0])
    steps = 1e-6 * np.eye(3)
    expected = [(function(np, x + step) - function(np, x - step)) / 2e-6 for step in steps]
    made = ours.grad(lambda x: function(ours, x))(ours.asarray(x))
    np.testing.assert_allclose(np.asarray(made), expected, rtol=1e-5, atol=1e-6)
    of_jax = jax.grad(lambda x: function(ours, x)._value)(ours.asarray(x))
    np.testing.assert_allclose(np.asarray(of_jax), expected, rtol=1e-5, atol=1e-6)
