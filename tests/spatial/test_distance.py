"""Distances against SciPy's in float64, and matrices against their own vectors."""

import pickle
from typing import get_args

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
from jax import lax
from metrics import BOOLEAN, METRICS, OURS, WEIGHTED
from scipy.spatial import distance as scipys

from jaxapi.spatial import distance
from jaxapi.spatial.distance import _matrices, _metrics
from jaxapi.spatial.distance._metrics import MetricName

RNG = np.random.default_rng(0)
A, B = RNG.random((6, 5)) + 0.1, RNG.random((8, 5)) + 0.1
W = RNG.random(5) * [1, 1, 0, 1, 1]
VI = np.cov(np.vstack([RNG.random((30, 5)), A, B]).T)
FORMULAS = {
    "hellinger": lambda u, v: np.sqrt(np.sum((np.sqrt(u) - np.sqrt(v)) ** 2) / 2),
    "inner_product": np.dot,
    "kl_divergence": lambda u, v: scipy.special.rel_entr(u, v).sum(),
}


def case(name):
    """Return rows and options that the metric takes."""
    options = {"minkowski": {"p": 3.5}, "mahalanobis": {"VI": VI}}.get(name, {})
    return (A > 0.6, B > 0.6, options) if name in BOOLEAN else (A, B, options)


def theirs(name, a, b, **options):
    if name in OURS:
        return np.array([[FORMULAS[name](u, v) for v in b] for u in a])
    return scipys.cdist(a, b, name, **options)


@pytest.mark.usefixtures("by_either_way")
@pytest.mark.thorough
@pytest.mark.daily("euclidean", "inner_product", "correlation", "hamming")
@pytest.mark.parametrize("name", METRICS)
def test_matrices_and_vectors_are_scipys(name):
    a, b, options = case(name)
    for weights in ({}, {"w": W}) if name in WEIGHTED else ({},):
        expected = theirs(name, a, b, **options, **weights)
        got = distance.cdist(a, b, name, **options, **weights)
        assert got.dtype == np.float64
        np.testing.assert_allclose(np.asarray(got), expected, rtol=1e-12, atol=1e-15)
        extra = {"V": np.var(a, axis=0)} if name == "seuclidean" else options | weights
        got = getattr(distance, name)(a[0], b[1], **extra)
        expected = theirs(name, a[:1], b[1:2], **extra)[0, 0]
        assert got.shape == ()
        np.testing.assert_allclose(np.asarray(got), expected, rtol=1e-12, atol=1e-15)
    got = distance.pdist(a, name, **options, **weights)
    if name in OURS:
        expected = theirs(name, a, a)[np.triu_indices(len(a), 1)]
    else:
        expected = scipys.pdist(a, name, **options, **weights)
    np.testing.assert_allclose(np.asarray(got), expected, rtol=1e-12, atol=1e-15)


@pytest.mark.usefixtures("by_either_way")
@pytest.mark.thorough
@pytest.mark.daily("hamming")
@pytest.mark.parametrize("name", ["euclidean", "chebyshev", "minkowski", "correlation", "hamming", "dice"])
def test_more_coordinates_than_a_kernel_takes_at_once(name):
    a, b, w = *(np.round(RNG.random((n, 35)), 1) + 0.1 for n in (6, 8)), RNG.random(35)
    if name in BOOLEAN:
        a, b = a > 0.6, b > 0.6
    options = case(name)[2]
    expected = theirs(name, a, b, w=w, **options)
    np.testing.assert_allclose(distance.cdist(a, b, name, w=w, **options), expected, rtol=1e-12)


@pytest.mark.usefixtures("by_either_way")
@pytest.mark.daily
@pytest.mark.parametrize("name", METRICS)
def test_float32_is_kept_and_accurate(name):
    a, b, options = case(name)
    single = [x if x.dtype == bool else x.astype(np.float32) for x in (a, b)]
    expected = theirs(name, *(x.astype(np.float64) for x in single), **options)
    got = distance.cdist(*(x.astype(np.float32) for x in single), name, **options)
    assert got.dtype == np.float32
    # The terms of a sum may cancel: their roundings are of the size of the largest.
    np.testing.assert_allclose(np.asarray(got), expected, rtol=3e-6, atol=1e-7 * max(1, abs(expected).max()))
    half = (jax.ShapeDtypeStruct(x.shape, np.float16) for x in (a, b))
    assert jax.eval_shape(lambda a, b: distance.cdist(a, b, name, **options), *half).dtype == np.float16


@pytest.mark.usefixtures("by_either_way")
@pytest.mark.thorough
def test_near_rows_are_as_exact_as_far_ones():
    a = RNG.normal(size=(20, 64)).astype(np.float32)
    near = (a * (1 + 1e-6 * RNG.normal(size=a.shape))).astype(np.float32)
    for name in ("euclidean", "cityblock", "chebyshev", "mahalanobis"):
        options = {"VI": np.eye(64)} if name == "mahalanobis" else {}
        got = np.asarray(distance.cdist(a, near, name, **options), np.float64)
        np.testing.assert_allclose(got, scipys.cdist(a, near, name, **options), rtol=5e-7)
    cosine = np.asarray(distance.cdist(a, near, "cosine"), np.float64).diagonal()
    half = a.astype(np.longdouble), near.astype(np.longdouble)
    unit = [x / np.sqrt((x * x).sum(1, keepdims=True)) for x in half]
    assert (abs(cosine - ((unit[0] - unit[1]) ** 2).sum(1) / 2) < 1e-12).all()  # 1 - cos would be off by 1e-7


@pytest.mark.usefixtures("by_either_way")
@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_squares_neither_overflow_nor_vanish(scale):
    a, b = (A * scale).astype(np.float32), (B * scale).astype(np.float32)
    for name in ("euclidean", "seuclidean", "cosine", "correlation", "cityblock"):
        expected = scipys.cdist(a, b, name)
        np.testing.assert_allclose(np.asarray(distance.cdist(a, b, name), np.float64), expected, rtol=2e-6)
    expected = scale * scipys.cdist(a / scale, b / scale, "minkowski", p=20)
    got = distance.cdist(a, b, "minkowski", p=20)
    np.testing.assert_allclose(np.asarray(got, np.float64), expected, rtol=2e-6)


@pytest.mark.usefixtures("by_either_way")
def test_numbers_that_are_not_0_or_1():
    counts = [RNG.integers(0, 4, (3, 7)).astype(float) for _ in range(2)]
    for name in BOOLEAN:
        np.testing.assert_allclose(distance.cdist(*counts, name), scipys.cdist(*counts, name), rtol=1e-12)
        expected = getattr(scipys, name)(counts[0][0], counts[1][0])
        np.testing.assert_allclose(getattr(distance, name)(counts[0][0], counts[1][0]), expected, rtol=1e-12)


@pytest.mark.usefixtures("by_either_way")
@pytest.mark.thorough
def test_degenerate_rows():
    zeros, ones = np.zeros((1, 3)), np.ones((1, 3))
    with np.errstate(all="ignore"):
        for name in set(METRICS) - {"mahalanobis", "seuclidean", *OURS}:
            for a, b in ((zeros, zeros), (zeros, ones), (ones, ones), (ones, np.full((1, 3), np.nan))):
                if not a.any() and name == "jensenshannon":
                    continue  # inf in SciPy's matrices, nan for its vectors and here
                if np.isnan(b).any() and name in (
                    *BOOLEAN,
                    "hamming",
                    "chebyshev",
                    "canberra",
                    "jensenshannon",
                ):
                    continue
                expected = scipys.cdist(a, b, name)
                np.testing.assert_allclose(distance.cdist(a, b, name), expected, atol=1e-15, err_msg=name)
    assert np.isnan(distance.cdist(ones, np.full((1, 3), np.nan), "chebyshev")).all()
    np.testing.assert_array_equal(distance.cdist(np.ones((2, 0)), np.ones((3, 0))), np.zeros((2, 3)))
    assert distance.cdist(np.ones((0, 2)), np.ones((3, 2))).shape == (0, 3)
    assert distance.kl_divergence([0.5, 0.5], [1.0, 0.0]) == np.inf


@pytest.mark.thorough
def test_batches():
    x, y = RNG.random((2, 1, 6, 4)), RNG.random((3, 5, 4))
    for name in ("euclidean", "cosine", "mahalanobis", "seuclidean", "minkowski"):
        options = {"p": 3} if name == "minkowski" else {}
        got = distance.cdist(x, y, name, **options)
        assert got.shape == (2, 3, 6, 5)
        expected = scipys.cdist(x[1, 0], y[2], name, **options)
        np.testing.assert_allclose(got[1, 2], expected, rtol=1e-9)
    assert distance.pdist(x).shape == (2, 1, 15)
    np.testing.assert_allclose(distance.pdist(x)[1, 0], scipys.pdist(x[1, 0]), rtol=1e-12)
    assert distance.euclidean(x[0, 0], y[0, :1]).shape == (6,)


def test_metrics_by_name_and_function():
    expected = scipys.cdist(A, B, "chebyshev")
    for metric in ("cheb", "Chebyshev", distance.chebyshev, scipys.chebyshev, "test_chebyshev"):
        np.testing.assert_allclose(distance.cdist(A, B, metric), expected, rtol=1e-14)
    traced = []

    def largest(u, v, scale=1, *, shift):
        traced.append(u.shape)
        return scale * jnp.max(jnp.abs(u - v)) + shift

    got = distance.cdist(A, B, largest, scale=2, shift=np.array(1.0))
    np.testing.assert_allclose(got, 2 * expected + 1, rtol=1e-14)
    assert traced == [(5,)]
    np.testing.assert_allclose(distance.cdist([[0, 1]], [[4, 9]], lambda u, v: (u * v).sum()), [[9.0]])
    assert pickle.loads(pickle.dumps(distance.cosine)) is distance.cosine


@pytest.mark.daily
def test_lists_and_dtypes():
    assert distance.euclidean([0, 1], [1, 1]).dtype == np.float64
    assert distance.euclidean(np.float32([0, 1]), [1.5, 1]).dtype == np.float32
    with jax.numpy_dtype_promotion("standard"):
        assert distance.euclidean(np.float32([0, 1]), np.float64([1.5, 1])).dtype == np.float64
    big = distance.sqeuclidean(np.array([0], np.uint64), np.array([2**64 - 1], np.uint64))
    assert big.item() == 2.0**128
    assert distance.cdist([[True]], [[False]], "dice").dtype == np.float64
    half = np.full((1, 2000), 0.1, np.float16)  # summed in float32
    total = distance.cdist(half, 0 * half, "cityblock")
    assert total.dtype == np.float16
    np.testing.assert_allclose(total, half.astype(float).sum(keepdims=True).reshape(1, 1), rtol=5e-4)


@pytest.mark.daily
def test_minkowski_distance_and_matrix():
    for p in (1, 2, 3, 0.5, np.inf):
        expected = np.linalg.norm(A[:, None] - B[None], ord=p, axis=-1)
        np.testing.assert_allclose(distance.distance_matrix(A, B, p), expected, rtol=1e-12)
        expected = expected.diagonal()
        np.testing.assert_allclose(distance.minkowski_distance(A, B[:6], p), expected, rtol=1e-12)


@pytest.mark.usefixtures("by_either_way")
@pytest.mark.daily
def test_jensen_shannon():
    for options in ({}, {"base": 2.0}, {"axis": 1}, {"axis": 1, "keepdims": True}):
        expected = scipys.jensenshannon(A, B[:6], **options)
        got = distance.jensenshannon(A, B[:6], **options)
        np.testing.assert_allclose(got, expected, rtol=1e-12)
    p = (A / A.sum(1, keepdims=True)).astype(np.longdouble)
    q = p * (1 + 1e-5 * RNG.normal(size=p.shape))
    q /= q.sum(1, keepdims=True)
    mean = (p + q) / 2
    exact = np.sqrt((p * np.log(p / mean) + q * np.log(q / mean)).sum(1) / 2)
    got = distance.jensenshannon(p.astype(float), q.astype(float), axis=1)
    np.testing.assert_allclose(got, exact.astype(float), rtol=1e-8)  # SciPy's own is off by 1e-6


def test_out():
    out = np.empty((6, 8))
    assert distance.cdist(A, B, out=out) is out
    np.testing.assert_allclose(out, scipys.cdist(A, B), rtol=1e-14)
    for wrong in (np.empty((8, 6)), np.empty((6, 8), np.float32), np.empty((8, 6)).T):
        with pytest.raises(ValueError, match="Output array"):
            distance.cdist(A, B, out=wrong)
    with pytest.raises(TypeError, match="out must be"):
        distance.cdist(A, B, out=jnp.zeros((6, 8)))


def test_the_type_of_names_holds_them_all():
    assert set(get_args(MetricName)) == set(_metrics._BY_ALIAS)
    assert set(METRICS) <= set(distance.__all__)


@pytest.mark.parametrize(
    ("error", "text", "call"),
    [
        (ValueError, "Unknown Distance Metric", lambda: distance.cdist(A, B, "euclidian")),
        (ValueError, "manhattan: use 'cityblock'", lambda: distance.cdist(A, B, "manhattan")),
        (ValueError, "great_circle_distance", lambda: distance.cdist(A, B, "haversine")),
        (TypeError, "string identifier", lambda: distance.cdist(A, B, 3)),
        (TypeError, "unexpected keyword argument 'p'", lambda: distance.cdist(A, B, p=3)),
        (ValueError, "same number of columns", lambda: distance.cdist(A, B[:, :3])),
        (ValueError, "XA must be a 2-dim", lambda: distance.cdist(A[0], B)),
        (ValueError, "2-dimensional array must", lambda: distance.pdist(A[0])),
        (ValueError, "non-negative", lambda: distance.cdist(A, B, w=-W)),
        (ValueError, "same length", lambda: distance.cdist(A, B, w=W[:3])),
        (ValueError, "greater than 0", lambda: distance.minkowski(A[0], B[0], p=0)),
        (ValueError, "one-dimensional", lambda: distance.cdist(A, B, "seuclidean", V=VI)),
        (ValueError, "same dimension", lambda: distance.cdist(A, B, "seuclidean", V=W[:3])),
        (ValueError, "observations", lambda: distance.cdist(A[:2], B[:2], "mahalanobis")),
        (ValueError, "VI must be of shape", lambda: distance.cdist(A, B, "mahalanobis", VI=np.eye(3))),
        (TypeError, "real", lambda: distance.cosine([1j, 2], [3, 4])),
        (ValueError, "1-D", lambda: distance.euclidean(1, 2)),
        (ValueError, "equal lengths", lambda: distance.hamming([1, 2, 3], [1, 2])),
        (ValueError, "entirely false", lambda: distance.sokalsneath([0, 0], [0, 0])),
        (ValueError, "k must be", lambda: distance.nearest(A, B, 0)),
        (TypeError, "k must be an integer .* got 2.5", lambda: distance.nearest(A, B, 2.5)),
        (TypeError, "k must be an integer .* got 'a'", lambda: distance.nearest(A, B, "a")),
        (TypeError, "k shapes the program", lambda: jax.jit(lambda k: distance.nearest(A, B, k))(2)),
        (TypeError, "p shapes the program", lambda: jax.jit(lambda p: distance.pdist(A, "pnorm", p=p))(2)),
        (TypeError, "p must be a real number, got 'a'", lambda: distance.minkowski(A[0], B[0], p="a")),
        (TypeError, "NoneType is not array-like", lambda: distance.cdist(A, None)),
        (TypeError, "NoneType is not array-like", lambda: distance.nearest(A, None)),
        (TypeError, "NoneType is not array-like", lambda: distance.kernel_sum(jnp.exp, A, None)),
        (ValueError, "one real number .* got 'a'", lambda: distance.cdist(A, B, lambda u, v: "a")),
        (ValueError, r"one real number .* shape \(5,\)", lambda: distance.cdist(A, B, lambda u, v: u)),
        (
            ValueError,
            "one real number .* got complex",
            lambda: distance.cdist(A, B, lambda u, v: lax.complex(u[0], v[0])),
        ),
        (ValueError, "one real number .* got None", lambda: distance.cdist(A, B, lambda u, v: None)),
        (ValueError, "weights must be", lambda: distance.kernel_sum(jnp.exp, A, B, W)),
        (ValueError, "same number of columns", lambda: distance.directed_hausdorff(A, B[:, :3])),
        (ValueError, "at least one row", lambda: distance.directed_hausdorff(A[:0], B)),
    ],
)
def test_errors(error, text, call):
    with pytest.raises(error, match=text):
        call()


class TestForms:
    def test_squareform(self):
        for n, dtype in ((2, float), (3, np.float32), (7, np.float32), (7, np.int8), (7, bool)):
            vector = (5 * RNG.random(n * (n - 1) // 2)).astype(dtype)
            square = distance.squareform(vector)
            assert square.dtype == dtype
            np.testing.assert_array_equal(square, scipys.squareform(vector))
            np.testing.assert_array_equal(distance.squareform(square), vector)
            np.testing.assert_array_equal(jax.jit(distance.squareform)(square), vector)

    def test_forms_that_are_asked_for(self):
        vector = RNG.random(6)
        square = scipys.squareform(vector)
        for force in ("tomatrix", "ToMatrix", "no"):
            np.testing.assert_array_equal(distance.squareform(vector, force), square)
        for force in ("tovector", "TOVECTOR", "no"):
            np.testing.assert_array_equal(distance.squareform(square, force), vector)

    def test_empty(self):
        np.testing.assert_array_equal(distance.squareform(np.zeros(0)), [[0.0]])
        assert (
            distance.squareform(np.zeros((1, 1))).shape == distance.squareform(np.zeros((0, 0))).shape == (0,)
        )

    def test_refused(self):
        for wrong in (np.ones(4), np.ones((2, 3)), np.ones((2, 2)), np.ones((1, 1, 1))):
            with pytest.raises(ValueError, match=r"vector size|square|diagonal|permitted"):
                distance.squareform(wrong)
        for form, x in (("tomatrix", np.zeros((2, 2))), ("tovector", np.zeros(3))):
            with pytest.raises(ValueError, match="Forcing"):
                distance.squareform(x, form)

    def test_checks_are_scipys(self):
        square = scipys.squareform(RNG.random(6))
        crooked, heavy = square.copy(), square.copy()
        crooked[0, 1] += 0.1
        heavy[0, 0] = 0.1
        for x in (square, crooked, heavy, square[:2], square[0]):
            for tol in (0.0, 0.05, 0.2):
                if x.ndim == 2 and x.shape[0] != x.shape[1]:
                    assert not distance.is_valid_dm(x, tol)
                else:
                    assert distance.is_valid_dm(x, tol) is bool(scipys.is_valid_dm(x, tol))
        for size in range(12):
            assert distance.is_valid_y(np.ones(size)) is bool(scipys.is_valid_y(np.ones(size)))
        assert (distance.num_obs_dm(square), distance.num_obs_y(np.ones(6))) == (4, 4)
        for call in (distance.num_obs_dm, distance.num_obs_y):
            with pytest.raises(ValueError, match=r"square|one-dim|empty"):
                call(np.ones((2, 3)))
        with pytest.warns(UserWarning, match="symmetric"):
            distance.is_valid_dm(crooked, warning=True)


@pytest.fixture(scope="class", params=[2**9, _matrices._TILE], ids=["tiles", "one tile"])
def tiles(request):
    with pytest.MonkeyPatch.context() as patch:
        jax.clear_caches()
        patch.setattr(_matrices, "_TILE", request.param)
        yield
    jax.clear_caches()


@pytest.mark.usefixtures("tiles")
class TestReductions:
    @pytest.mark.thorough
    @pytest.mark.daily("one tile")
    def test_nearest(self):
        a, b = (RNG.integers(0, 3, (n, 3)).astype(np.float32) for n in (20, 37))
        full = scipys.cdist(a, b, "cityblock")
        order = np.argsort(full, axis=1, kind="stable")
        for k in (1, 4, 40):
            near = distance.nearest(a, b, k, "cityblock")
            np.testing.assert_array_equal(near.rows[:, :37], order[:, :k])
            np.testing.assert_array_equal(near.distances[:, :37], np.take_along_axis(full, order[:, :k], 1))
            assert (near.rows[:, 37:] == 37).all()
            assert (near.distances[:, 37:] == np.inf).all()
        user = distance.nearest(a, b, 2, lambda u, v: jnp.sum(jnp.abs(u - v)))
        np.testing.assert_array_equal(user.rows, order[:, :2])

    @pytest.mark.daily
    def test_nearest_of_rows_with_nan(self):
        b = np.array([[np.nan, 0], [3, 4], [0, 0]])
        near = distance.nearest([[0.0, 0.0], [np.nan, 0.0]], b, 3)
        assert near.rows.tolist() == [[2, 1, 3], [3, 3, 3]]
        assert near.distances.tolist() == [[0, 5, np.inf], [np.inf] * 3]

    @pytest.mark.thorough
    @pytest.mark.daily("one tile")
    def test_kernel_sum(self):
        b = np.concatenate([B, B[:5] / 2])  # which fill no number of tiles
        weights = RNG.random((13, 2))
        full = np.exp(-scipys.cdist(A, b))
        for w, expected in (
            (None, full.sum(1)),
            (weights[:, 0], full @ weights[:, 0]),
            (weights, full @ weights),
        ):
            got = distance.kernel_sum(lambda d: jnp.exp(-d), A, b, w)
            np.testing.assert_allclose(got, expected, rtol=1e-12)

    @pytest.mark.daily
    def test_directed_hausdorff(self):
        for seed in range(3):
            u, v = np.random.default_rng(seed).random((2, 30, 3))
            d, i, j = distance.directed_hausdorff(u, v)
            assert (d.item(), i.item(), j.item()) == pytest.approx(scipys.directed_hausdorff(u, v), rel=1e-14)
