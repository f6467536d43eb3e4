"""The sums of all pairs of rows by the CUDA kernel, on the host where there is no GPU, beside NumPy's."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.spatial.distance
from jax import export

from jaxapi.spatial import distance
from jaxapi.spatial._engines import _cuda
from jaxapi.spatial.distance import _matrices
from jaxapi.spatial.distance._distance_arguments import with_parameters
from jaxapi.spatial.distance._metric import SumMetric
from jaxapi.spatial.distance._metrics import METRICS

pytestmark = [pytest.mark.kernels, pytest.mark.usefixtures("kernels_on_host")]

TERMS = {
    "square": lambda apart, w: (apart**2 * w).sum(axis=2),
    "size": lambda apart, w: (apart * w).sum(axis=2),
    "greatest": lambda apart, w: np.where(w > 0, apart, 0).max(axis=2),
    "unequal": lambda apart, w: ((apart != 0) * w).sum(axis=2),
}


@pytest.mark.parametrize("term", TERMS)
@pytest.mark.parametrize(("dtype", "rtol"), [(np.float32, 2e-6), (np.float64, 4e-15)])
def test_against_numpy(term, dtype, rtol):
    rng = np.random.default_rng(0)
    with jax.enable_x64(True):
        for rows, columns, m in ((1, 1, 1), (130, 70, 20), (5, 200, 3), (129, 64, 33)):
            a, b = (rng.integers(0, 3, (size, m)) + rng.random(m) for size in (rows, columns))
            a, b, w = a.astype(dtype), b.astype(dtype), rng.integers(0, 3, m).astype(dtype)
            apart = np.abs(a[:, None].astype(np.float64) - b)
            for weights in (None, w):
                found = _cuda.pairwise(jnp.asarray(a), jnp.asarray(b), weights, term=term)
                assert found.dtype == dtype
                expected = TERMS[term](apart, 1 if weights is None else w)
                np.testing.assert_allclose(found, expected, rtol=rtol)


@pytest.mark.parametrize("term", TERMS)
def test_nan_and_nothing(term):
    a, b = np.ones((3, 2), np.float32), np.zeros((4, 2), np.float32)
    a[1, 0] = np.nan
    found = np.asarray(_cuda.pairwise(jnp.asarray(a), jnp.asarray(b), None, term=term))
    np.testing.assert_array_equal(np.isnan(found).all(axis=1), [False, term != "unequal", False])
    assert _cuda.pairwise(jnp.asarray(a[:0]), jnp.asarray(b), None, term=term).shape == (0, 4)


WITH_KERNEL = [name for name, metric in METRICS.items() if isinstance(metric, SumMetric) and metric.kernel]


@pytest.mark.daily
@pytest.mark.parametrize("name", WITH_KERNEL)
def test_metrics_by_the_kernel_are_scipys(name, monkeypatch):
    monkeypatch.setattr(_matrices, "gpu_engine", lambda: _cuda)
    rng = np.random.default_rng(2)
    a, b, w = rng.random((6, 19)), rng.random((8, 19)), rng.random(19)
    for options in ({}, {"w": w}) if "w" in METRICS[name].options else ({},):
        with jax.enable_x64(True):
            metric, parameters = with_parameters(METRICS[name], options, 19, 14, a.dtype)
            rows = [jnp.asarray(a), jnp.asarray(b)]
            rows, parameters = _matrices.in_units_of_columns(metric, rows, parameters)
            found = _matrices._by_kernel(metric, *rows, parameters)
        if name == "hellinger":  # which SciPy does not have
            expected = scipy.spatial.distance.cdist(np.sqrt(a), np.sqrt(b)) / np.sqrt(2)
        else:
            expected = scipy.spatial.distance.cdist(a, b, name, **options)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", ["euclidean", "hamming"])
def test_a_number_of_rows_that_is_not_known_yet(name, monkeypatch):
    """Programs of such numbers have no launch in them, on a machine with a GPU, too."""
    pytest.importorskip("flatbuffers")
    devices = jax.devices
    monkeypatch.setattr(_matrices, "gpu_engine", lambda: _cuda)
    monkeypatch.setattr(jax, "devices", lambda *name: devices()[:1] if name == ("cuda",) else devices(*name))
    rng = np.random.default_rng(3)
    a, b = (rng.integers(0, 3, (size, 5)).astype(np.float32) for size in (7, 6))
    metric, parameters = with_parameters(METRICS[name], {}, 5, 13, a.dtype)

    def matrix(a, b):
        return _matrices.matrix(metric, a, b, parameters)

    assert _matrices._has_kernel(metric, jnp.asarray(a), jnp.asarray(b))
    n, m = export.symbolic_shape("n, m")
    for count in (6, m):
        shapes = jax.ShapeDtypeStruct((n, 5), a.dtype), jax.ShapeDtypeStruct((count, 5), a.dtype)
        program = export.export(jax.jit(matrix), platforms=["cpu", "cuda"])(*shapes)
        if jax.default_backend() == "cpu":
            expected = scipy.spatial.distance.cdist(a, b, name)
            np.testing.assert_allclose(program.call(a, b), expected, rtol=1e-6)


@pytest.mark.skipif(jax.default_backend() != "gpu", reason="no GPU")
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "cityblock", "chebyshev", "hamming", "seuclidean"])
def test_on_a_gpu(metric):
    """Called alone, by vmap, and with derivatives."""
    rng = np.random.default_rng(1)
    a, b = (rng.random((size, 20), dtype=np.float32) for size in (140, 90))
    found = distance.cdist(a, b, metric)
    np.testing.assert_allclose(found, scipy.spatial.distance.cdist(a, b, metric), rtol=1e-5)
    both = jax.vmap(lambda a: distance.cdist(a, b[:9], metric))(a.reshape(2, 70, 20))
    if metric != "seuclidean":  # whose variances are those of all rows
        np.testing.assert_allclose(both.reshape(140, 9), found[:, :9], rtol=1e-5)
    slope = jax.jit(jax.grad(lambda a: distance.cdist(a, b, metric).sum()))(a)
    assert np.isfinite(slope).all()
