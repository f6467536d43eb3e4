"""Distances under grad, jit, vmap and on shards: against finite differences and the plain calls."""

from functools import partial
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P
from metrics import OURS, SMOOTH_OF_SCIPY

from jaxapi.spatial import distance
from jaxapi.spatial.distance import _matrices

RNG = np.random.default_rng(1)
A, B = RNG.random((3, 3)) + 0.1, RNG.random((5, 3)) + 0.1
C, W, STEP = RNG.random((3, 5)), np.array([1.0, 0.5, 2.0]), RNG.random(A.shape)
SMOOTH = sorted(["dice", *OURS, *SMOOTH_OF_SCIPY])
OPTIONS = {"minkowski": {"p": 3.5}, "mahalanobis": {"VI": np.eye(3) + 0.1}, "euclidean": {"w": W}}
OPTIONS |= {"cosine": {"w": W}, "chebyshev": {"w": W}}


@pytest.fixture
def tiles(monkeypatch):
    """Differentiate over tiles of few rows; other tests have one."""
    jax.clear_caches()
    monkeypatch.setattr(_matrices, "_TILE", 2**6)
    yield
    jax.clear_caches()


def assert_derivatives(f, x, step, h=1e-5, at_0=None):
    """Compare first and second derivatives along ``step``, forward and reverse, with finite differences.

    Those at ``at_0`` are finite.
    """

    def along(x):
        return jnp.vdot(step, jax.grad(f)(x))

    @jax.jit
    @jax.vmap
    def derivatives(x):
        first = along(x), jax.jvp(f, (x,), (step,))[1]
        return f(x), first, (jnp.vdot(step, jax.grad(along)(x)), jax.jvp(along, (x,), (step,))[1])

    with jax.enable_x64(True):
        step = jnp.asarray(step)
        points = jnp.stack([x - h * step, x, x + h * step, x if at_0 is None else at_0])
        values, first, second = derivatives(points)
        for got in first:
            np.testing.assert_allclose(got[1], (values[2] - values[0]) / (2 * h), rtol=1e-6, atol=1e-7)
            slope = (first[0][2] - first[0][0]) / (2 * h)
        for got in second:
            np.testing.assert_allclose(got[1], slope, rtol=1e-5, atol=1e-6)
        assert np.isfinite([*first, *second]).all()


@pytest.mark.thorough
@pytest.mark.daily("dice", "sqeuclidean")
@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives(name):
    """Also of distances that are 0."""

    def of_both(x):
        return jnp.sum(C * distance.cdist(x[:3], x[3:], name, **OPTIONS.get(name, {})))

    equal = np.concatenate([A, A, A[:2]])
    assert_derivatives(of_both, np.concatenate([A, B]), RNG.random((8, 3)), at_0=equal)


@pytest.mark.thorough
@pytest.mark.parametrize("metric", ["euclidean", "mahalanobis", lambda u, v: jnp.sum((u - v) ** 4)])
def test_derivatives_over_tiles(metric, tiles):
    options = {"VI": np.eye(3) + 0.1} if metric == "mahalanobis" else {}
    assert_derivatives(lambda a: jnp.sum(C * distance.cdist(a, B, metric, **options)), A, STEP)


@pytest.mark.thorough
def test_derivatives_of_reductions(tiles):
    weights = np.arange(1.0, 6.0)
    assert_derivatives(
        lambda a: jnp.sum(jnp.sin(distance.kernel_sum(lambda d: jnp.exp(-(d**2)), a, B, weights))), A, STEP
    )
    assert_derivatives(lambda a: jnp.sum(jnp.sin(distance.nearest(a, B, 2, "cosine").distances)), A, STEP)
    assert_derivatives(lambda a: distance.directed_hausdorff(a, B)[0] ** 2, A, STEP)
    assert_derivatives(lambda a: jnp.sum(jnp.cos(distance.squareform(distance.pdist(a)))), A, STEP)
    assert_derivatives(
        lambda h: jnp.sum(distance.kernel_sum(lambda d: jnp.exp(-d / h), A, B)), np.array(0.7), np.array(1.0)
    )
    for name, options in (("minkowski", {"p": 3.0}), ("euclidean", {})):
        assert_derivatives(lambda w, n=name, o=options: jnp.sum(distance.cdist(A, B, n, w=w, **o)), W, W / 2)


@pytest.mark.thorough
def test_kernels_are_not_differentiated(tiles, monkeypatch):
    """Each derivative has its own formula. Programs with a kernel are traced here, not run."""

    def pairwise(a, b, weights, term):
        shape = jax.ShapeDtypeStruct((len(a), len(b)), a.dtype)
        return jax.ffi.ffi_call("a_kernel", shape, vmap_method="sequential")(a, b)

    def has_kernel(metric, a, b):
        return metric.kernel is not None and a.ndim == b.ndim == 2

    monkeypatch.setattr(_matrices, "gpu_engine", lambda: SimpleNamespace(pairwise=pairwise))
    monkeypatch.setattr(_matrices, "_has_kernel", has_kernel)
    functions = {
        "matrix": lambda a: jnp.sum(C * distance.cdist(a, B)),
        "sums": lambda a: jnp.sum(distance.kernel_sum(jnp.exp, a, B)),
        "nearest": lambda a: jnp.sum(distance.nearest(a, B, 2).distances),
    }
    with jax.enable_x64(True):
        assert "a_kernel" in str(jax.make_jaxpr(functions["matrix"])(A))
        for f in functions.values():
            along = partial(lambda f, x: jnp.vdot(STEP, jax.grad(f)(x)), f)
            for derivative in (jax.grad(f), jax.grad(along), lambda x, g=along: jax.jvp(g, (x,), (STEP,))):
                jax.make_jaxpr(derivative)(A)


@pytest.mark.thorough
def test_no_array_of_pairs_and_coordinates():
    a = jax.ShapeDtypeStruct((1000, 64), np.float32)
    pairs = 1000 * 1000 * 4

    def peak(function):
        return jax.jit(function).lower(a, a).compile().memory_analysis().temp_size_in_bytes

    assert peak(distance.cdist) < 3 * pairs
    assert peak(lambda a, b: distance.nearest(a, b, 3)) < 8 * pairs
    _matrices._TILE, tile = 2**22, _matrices._TILE
    try:
        jax.clear_caches()
        for function in (
            lambda a, b: distance.kernel_sum(jnp.exp, a, b),
            jax.grad(lambda a, b: jnp.sum(distance.kernel_sum(jnp.exp, a, b))),
            lambda a, b: distance.nearest(a, b, 3),
        ):
            assert peak(function) < 12 * 2**22
        assert peak(jax.grad(lambda a, b: jnp.sum(distance.cdist(a, b) ** 3))) < 3 * pairs + 12 * 2**22
    finally:
        _matrices._TILE = tile
        jax.clear_caches()


WAYS = {
    "cdist": lambda a, b: distance.cdist(a, b, "cosine"),
    "product": lambda a, b: distance.cdist(a, b, "jaccard"),
    "mahalanobis": lambda a, b: distance.cdist(a, b, "mahalanobis", VI=np.eye(4)),
    "function": lambda a, b: distance.cdist(a, b, lambda u, v: jnp.max(jnp.abs(u - v))),
    "nearest": lambda a, b: distance.nearest(a, b, 3, "cityblock").distances,
    "kernel_sum": lambda a, b: distance.kernel_sum(jnp.exp, a, b, np.arange(33.0)),
    "gradient": jax.grad(lambda a, b: jnp.sum(distance.cdist(a, b, "minkowski", p=3))),
    "gradient of nearest": jax.grad(lambda a, b: jnp.sum(distance.nearest(a, b, 2)[0])),
    "gradient of a sum": jax.grad(lambda a, b: jnp.sum(distance.kernel_sum(jnp.exp, a, b))),
}


@pytest.mark.thorough
@pytest.mark.daily("product")
@pytest.mark.skipif(jax.default_backend() != "cpu", reason="the CPU plays eight devices")
@pytest.mark.parametrize("way", WAYS)
def test_shards_and_vmap(way, tiles):
    f = WAYS[way]
    a, b = (RNG.random((n, 4)).astype(np.float32) for n in (16, 33))
    expected = np.asarray(jax.jit(f)(a, b))
    close = {"rtol": 2e-6, "atol": 2e-6 * abs(expected).max()}
    mesh = jax.make_mesh((8,), ("x",), axis_types=(AxisType.Auto,))
    over = jax.shard_map(f, mesh=mesh, in_specs=(P("x"), P()), out_specs=P("x"))
    np.testing.assert_allclose(jax.jit(over)(a, b), expected, **close)
    for kind in (AxisType.Explicit,) if "gradient" in way else (AxisType.Auto, AxisType.Explicit):
        mesh = jax.make_mesh((8,), ("x",), axis_types=(kind,))
        rows, all_of = (
            jax.device_put(a, NamedSharding(mesh, P("x"))),
            jax.device_put(b, NamedSharding(mesh, P())),
        )
        got = jax.jit(f)(rows, all_of)
        assert got.sharding.spec[0] == "x"
        np.testing.assert_allclose(got, expected, **close)
    mapped = jax.jit(jax.vmap(f, in_axes=(0, None)))(a.reshape(2, 8, 4), b)
    np.testing.assert_allclose(mapped.reshape(expected.shape), expected, **close)
