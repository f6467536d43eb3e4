"""Distances at their edges: any unit, one far row, weights of 0, equal vectors; beside SciPy."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
from jax import export
from metrics import BOOLEAN, METRICS, WEIGHTED
from scipy.spatial import distance as scipys

import jaxapi as xp
from jaxapi.spatial import distance

RNG = np.random.default_rng(5)
A, B = RNG.random((4, 5)) + 0.1, RNG.random((6, 5)) + 0.1
W = np.array([0.5, 1.0, 0.0, 2.0, 1.5])
VI = np.linalg.inv(np.cov(RNG.random((30, 5)).T))
OPTIONS = {"minkowski": {"p": 3.5}, "mahalanobis": {"VI": VI}, "seuclidean": {"V": W + 0.5}}
# By how much the distance grows when rows grow by 2: 2**degree.
DEGREES = {
    **dict.fromkeys(("canberra", "braycurtis", "correlation", "cosine", "jensenshannon", "hamming"), 0),
    **dict.fromkeys(("cityblock", "chebyshev", "euclidean", "minkowski", "kl_divergence"), 1),
    **dict.fromkeys(("mahalanobis", "seuclidean"), 1),
    **dict.fromkeys(("sqeuclidean", "inner_product"), 2),
    "hellinger": 0.5,
}
FORMULAS = {
    "hellinger": lambda u, v: np.sqrt(np.sum((np.sqrt(u) - np.sqrt(v)) ** 2) / 2),
    "inner_product": np.dot,
    "kl_divergence": lambda u, v: scipy.special.rel_entr(u, v).sum(),
}
F32, F64 = np.float32, np.float64


@pytest.fixture(autouse=True)
def x64_on():
    """Let NumPy's float64 be float64 in jax.jit and jax.grad; tests with the fixture `x64` choose."""
    with jax.enable_x64(True):
        yield


def theirs(name, a, b, **options):
    if name in FORMULAS:
        return np.array([[FORMULAS[name](u, v) for v in b] for u in a])
    return scipys.cdist(a, b, name, **options)


def rows_of(name, *rows):
    """Return rows that the metric takes."""
    return [x > 0.6 for x in rows] if name in BOOLEAN else list(rows)


@pytest.mark.usefixtures("by_either_way")
@pytest.mark.thorough
@pytest.mark.daily("x32-inner_product-float32", "x32-braycurtis-float32", "x64-cosine")
@pytest.mark.parametrize("dtype", [F32, F64])
@pytest.mark.parametrize("name", DEGREES)
def test_any_unit(name, dtype, x64):
    """Distances of ``x * 2**k`` are those of x, scaled; also by weights of any size."""
    a, b = A.astype(dtype), B.astype(dtype)
    options = OPTIONS.get(name, {})
    base = theirs(name, a.astype(F64), b.astype(F64), **options).astype(np.longdouble)
    powers = (-115, -60, 60, 123) if dtype == F32 else (-1010, -500, 500, 1019)
    function = jax.jit(lambda a, b: distance.cdist(a, b, name, **options))
    along = {"axis": 1} if name == "jensenshannon" else {}
    vectors = jax.jit(lambda a, b: getattr(distance, name)(a, b, **options, **along))
    for k in powers:
        with np.errstate(over="ignore", under="ignore"):
            expected = (base * np.longdouble(2) ** (k * DEGREES[name])).astype(dtype)
        is_normal = (abs(expected) >= 4 * np.finfo(dtype).tiny) | (base == 0)
        close = {"rtol": 1e-5 if dtype == F32 else 1e-12}
        scaled = xp.asarray(np.ldexp(a, k)), xp.asarray(np.ldexp(b, k))
        for got in (distance.cdist(*scaled, name, **options), function(*scaled)):
            assert got.dtype == dtype
            np.testing.assert_allclose(np.asarray(got)[is_normal], expected[is_normal], **close, err_msg=k)
        got = vectors(scaled[0], scaled[1][:4])
        diagonal = is_normal[:, :4].diagonal()
        np.testing.assert_allclose(np.asarray(got)[diagonal], expected[:, :4].diagonal()[diagonal], **close)


@pytest.mark.usefixtures("by_either_way")
@pytest.mark.thorough
@pytest.mark.daily("seuclidean-float32")
@pytest.mark.parametrize("dtype", [F32, F64])
@pytest.mark.parametrize("name", ["seuclidean", "mahalanobis"])
def test_any_unit_by_default_variances(name, dtype):
    """Columns in units of their own, too."""
    a, b = RNG.random((9, 3)).astype(dtype), RNG.random((8, 3)).astype(dtype)
    expected = scipys.cdist(a, b, name)
    ranges = (-100, 0, 100) if dtype == F32 else (-900, 0, 900)
    for units in (np.zeros(3, int), np.array(ranges), np.array(ranges)[::-1]):
        got = distance.cdist(np.ldexp(a, units), np.ldexp(b, units), name)
        np.testing.assert_allclose(got, expected, rtol=1e-4 if dtype == F32 else 1e-9)
        got = distance.pdist(np.ldexp(a, units), name)
        np.testing.assert_allclose(got, scipys.pdist(a, name), rtol=1e-4 if dtype == F32 else 1e-9)


@pytest.mark.usefixtures("by_either_way")
@pytest.mark.daily
@pytest.mark.parametrize("dtype", [F32, F64])
@pytest.mark.parametrize("name", ["euclidean", "seuclidean", "mahalanobis", "minkowski", "braycurtis"])
def test_weights_of_any_size(name, dtype):
    """Rows in units of columns, and weights that undo them."""
    units = np.array([-30, -10, 0, 20, 30]) * (1 if dtype == F32 else 2 if name == "minkowski" else 8)
    a, b = (np.ldexp(x, units).astype(dtype) for x in (A, B))
    options = {
        "euclidean": {"w": np.ldexp(W, -2 * units)},
        "minkowski": {"w": np.ldexp(W, -3 * units), "p": 3.0},
        "braycurtis": {"w": np.ldexp(W, -units)},
        "seuclidean": {"V": np.ldexp(W + 0.5, 2 * units)},
        "mahalanobis": {"VI": np.ldexp(VI, -units[:, None] - units)},
    }[name]
    if name == "minkowski" and dtype == F32:
        pytest.skip("weights beyond float32")
    a_64, b_64 = (np.ldexp(x.astype(F64), -units) for x in (a, b))
    plain = {
        "euclidean": {"w": W},
        "minkowski": {"w": W, "p": 3.0},
        "braycurtis": {"w": W},
        "seuclidean": {"V": W + 0.5},
        "mahalanobis": {"VI": VI},
    }[name]
    expected = scipys.cdist(a_64, b_64, name, **plain)
    rtol = 1e-5 if dtype == F32 else 1e-11
    np.testing.assert_allclose(distance.cdist(a, b, name, **options), expected, rtol=rtol)
    got = getattr(distance, name)(a, b[:4], **options)
    np.testing.assert_allclose(got, expected.diagonal(), rtol=rtol)


@pytest.mark.usefixtures("by_either_way")
@pytest.mark.thorough
@pytest.mark.daily("hamming-float64", "chebyshev-float32")
@pytest.mark.parametrize("dtype", [F32, F64])
@pytest.mark.parametrize("name", METRICS)
def test_a_far_row_changes_nothing_else(name, dtype):
    """Neither values nor derivatives."""
    far = 1e30 if dtype == F32 else 1e250
    far = 1.0 if name in BOOLEAN else far
    a = A.astype(dtype)
    b = np.concatenate([B, B[:1] * far]).astype(dtype)
    options = OPTIONS.get(name, {})
    expected = theirs(name, *rows_of(name, a.astype(F64), b[:6].astype(F64)), **options)
    rtol = 1e-5 if dtype == F32 else 1e-12
    got = np.asarray(distance.cdist(*rows_of(name, a, b), name, **options))[:, :6]
    np.testing.assert_allclose(got, expected, rtol=rtol, atol=1e-6 if dtype == F32 else 1e-15)
    if name in BOOLEAN:
        return
    together = np.concatenate([a, b[6:], b[:6]])
    got = distance.squareform(distance.pdist(together, name, **options), checks=False)[:4, 5:]
    if name not in ("inner_product", "kl_divergence"):  # which are not symmetric, or not 0 for equal rows
        np.testing.assert_allclose(got, expected, rtol=rtol, atol=1e-6 if dtype == F32 else 1e-15)
    full = theirs(name, a.astype(F64), b.astype(F64), **options)
    if name in ("cosine", "correlation", "jensenshannon"):  # to which SciPy's squares of 1e250 are infinite
        full[:, 6] = full[:, 0]
    total = distance.kernel_sum(lambda d: jnp.where(jnp.abs(d) < 100, d, 0), a, b, None, name, **options)
    np.testing.assert_allclose(total, np.where(abs(full) < 100, full, 0).sum(1), rtol=1e-4)
    near = distance.nearest(a, b, 2, name, **options)
    np.testing.assert_array_equal(near.rows, np.argsort(full, axis=1, kind="stable")[:, :2])

    @jax.jit
    def slopes(a, b):
        return jax.grad(lambda a: jnp.sum(distance.cdist(a, b, name, **options)[:, :6]))(a)

    np.testing.assert_allclose(
        slopes(a, b), slopes(a, b[:6]), rtol=100 * rtol, atol=1e-4 if dtype == F32 else 1e-12
    )


SQUARES = {
    "cdist": lambda x, **w: distance.cdist(x[:3], x, "sqeuclidean", **w)[:, :3],
    "pdist": lambda x, **w: distance.squareform(distance.pdist(x, "sqeuclidean", **w), checks=False)[:3, :3],
    "nearest": lambda x, **w: distance.nearest(x[:3], x, 3, "sqeuclidean", **w).distances,
    "vectors": lambda x, **w: distance.sqeuclidean(x[:3, None], x, **w)[:, :3],
}


@pytest.mark.thorough
@pytest.mark.daily("cdist-None-float32")
@pytest.mark.parametrize("dtype", [F32, F64])
@pytest.mark.parametrize("w", [None, [1.0, 2.0]])
@pytest.mark.parametrize("call", SQUARES)
def test_slopes_of_squares_beside_rows_near_the_largest_number(call, w, dtype):
    """They are 2 w (u - v), and are not looked at where nobody asks for those of the far rows."""
    weights = np.ones(2) if w is None else np.asarray(w)
    largest = F64(np.finfo(dtype).max)
    near = np.array([[1, 1], [2, 5], [3, 4]], F64)
    differences = near[:, None] - near
    expected = np.zeros((5, 2))
    expected[:3] = (2 * weights * differences).sum(1) - (2 * weights * differences).sum(0)
    slopes = jax.grad(lambda rows: jnp.sum(SQUARES[call](rows, w=w)))
    for far in (largest, -largest, 0.9 * largest, largest / 4, 3 * largest**0.5):
        rows = np.concatenate([near, [[far, 0]], [[largest, 1]]]).astype(dtype)
        np.testing.assert_allclose(slopes(rows), expected, rtol=1e-6)


@pytest.mark.daily
@pytest.mark.parametrize("dtype", [F32, F64])
def test_slopes_of_squares_that_overflow(dtype):
    largest = F64(np.finfo(dtype).max)
    slopes = jax.grad(distance.sqeuclidean, (0, 1))
    second = jax.hessian(distance.sqeuclidean)
    for far in (largest / 4, -largest / 4, 3 * largest**0.5):
        u, v = np.array([1, 3], dtype), np.array([far, 1], dtype)
        expected = np.array([2 * (1 - far), 4])
        np.testing.assert_allclose(slopes(u, v), (expected, -expected), rtol=1e-6)
        np.testing.assert_array_equal(second(u, v), 2 * np.eye(2))


@pytest.mark.thorough
@pytest.mark.daily("hamming")
@pytest.mark.parametrize("name", WEIGHTED)
def test_a_coordinate_of_weight_0_is_not_looked_at(name):
    """Neither for values nor for derivatives, which are 0 along it."""
    a, b = (x.astype(F32) for x in rows_of(name, A, B))
    options = {"p": 50.0} if name == "minkowski" else {}
    kept = [0, 1, 3, 4]
    a_kept, b_kept = a[:, kept], b[:, kept]
    if name in BOOLEAN:
        expected = theirs(name, a_kept != 0, b_kept != 0, w=W[kept])
    else:
        expected = theirs(name, a_kept, b_kept, w=W[kept], **options)
    w, rest = W.astype(F32), W.astype(F32)[kept]
    vectors = functools.partial(getattr(distance, name), **options)

    @jax.jit
    def slopes(a, b, w):
        def of_matrix(a, b, w):
            return jnp.sum(distance.cdist(a, b, name, w=w, **options))

        def of_vectors(a, b, w):
            return jnp.sum(vectors(a, b[:4], w=w))

        by_reverse = [jax.grad(f, argnums=(0, 1, 2))(a, b, w) for f in (of_matrix, of_vectors)]
        by_rows = jax.jvp(lambda a, b: of_matrix(a, b, w), (a, b), (jnp.ones_like(a), jnp.ones_like(b)))[1]
        return by_reverse, by_rows

    (of_matrix_without, of_vectors_without), along_without = slopes(a_kept, b_kept, rest)
    for value in (1e25, np.nan, np.inf, -1e38):
        a[:, 2], b[:3, 2] = value, -value
        close = {"rtol": 1e-5, "atol": 1e-6}
        np.testing.assert_allclose(distance.cdist(a, b, name, w=w, **options), expected, **close)
        np.testing.assert_allclose(vectors(a, b[:4], w=w), expected.diagonal(), **close)
        (of_matrix, of_vectors), along = slopes(a, b, w)
        close = {"rtol": 1e-3, "atol": 1e-4}
        for got, without in ((of_matrix, of_matrix_without), (of_vectors, of_vectors_without)):
            for x, y in zip(got, without, strict=True):
                np.testing.assert_allclose(x[..., kept], y, **close)
            for x in got[:2]:
                np.testing.assert_array_equal(x[:, 2], 0)
        np.testing.assert_allclose(along, along_without, **close)


@pytest.mark.thorough
@pytest.mark.daily("hamming")
@pytest.mark.parametrize("name", WEIGHTED)
def test_derivative_by_a_weight_of_0(name):
    """Against SciPy's difference from above; that of it by rows against differences of the first."""
    u, v = rows_of(name, A[0], B[0])
    options = {"p": 3.5} if name == "minkowski" else {}
    step = 1e-6 * np.array([0.0, 0.0, 1.0, 0.0, 0.0])
    difference = getattr(scipys, name)(u, v, w=W + step, **options) - getattr(scipys, name)(
        u, v, w=W, **options
    )
    expected = 0.0 if name == "chebyshev" else difference / 1e-6

    with jax.enable_x64(True):
        u, v = jnp.asarray(u, float), jnp.asarray(v, float)

        @jax.jit
        def slope(u):
            return jax.grad(lambda w: getattr(distance, name)(u, v, w=w, **options))(W)[2]

        def of_matrix(w):
            return jnp.sum(distance.cdist(u[None], v[None], name, w=w, **options))

        np.testing.assert_allclose(slope(u), expected, rtol=1e-4, atol=1e-7)
        np.testing.assert_allclose(jax.grad(of_matrix)(W)[2], expected, rtol=1e-4, atol=1e-7)
        if name in ("hamming", "jaccard"):
            return
        mixed = jax.grad(slope)(u)
        along = RNG.random(5)
        differences = (slope(u + 1e-5 * along) - slope(u - 1e-5 * along)) / 2e-5
        np.testing.assert_allclose(mixed @ along, differences, rtol=1e-5, atol=1e-7)


CORNERS = ["cityblock", "chebyshev", "canberra", "braycurtis", "euclidean", "hellinger", "jensenshannon"]
CORNERS += ["minkowski", "minkowski of 1.5", "seuclidean", "mahalanobis"]


@pytest.mark.thorough
@pytest.mark.daily("euclidean")
@pytest.mark.parametrize("corner", CORNERS)
def test_derivatives_of_distance_0_are_0(corner):
    """First and second, by rows and by what else the metric is given, in any unit."""
    name = corner.split()[0]
    options = {"minkowski": {"w": W}, "seuclidean": {"V": W + 0.5}, "mahalanobis": {"VI": VI}}
    arrays = options.get(name) or ({"w": W} if name in WEIGHTED else {})
    p = {"p": 1.5} if "1.5" in corner else {"p": 3.5} if name == "minkowski" else {}

    def of_vectors(u, v, arrays, unit):
        return getattr(distance, name)(u, v, **arrays, **p)

    def of_matrix(u, v, arrays, unit):
        rows = jnp.stack([v, v + unit])
        return distance.cdist(u[None], rows, name, **arrays, **p)[0, 0]

    @jax.jit
    def derivatives(u, arrays, unit):
        found = []
        for function in (of_vectors, of_matrix):
            found.append(jax.grad(function, argnums=(0, 1, 2))(u, u, arrays, unit))
            found.append(jax.hessian(function, argnums=(0, 1, 2))(u, u, arrays, unit))
        return found

    with jax.enable_x64(True):
        for unit in (1.0, 1e-3, 1e3):
            for u in (A[0], np.array([1.0, 0.0, 2.0, 0.0, 0.5])):
                found = jax.tree.leaves(derivatives(u * unit, arrays, unit))
                assert all((x == 0).all() for x in found)


@pytest.mark.parametrize("name", ["cityblock", "canberra", "braycurtis", "chebyshev", "minkowski"])
def test_slopes_along_coordinates_that_agree_are_0(name):
    u, v = np.array([1.0, 2.0, 0.0, 4.0]), np.array([1.5, 2.0, 0.0, 3.0])
    options = {"p": 3.5} if name == "minkowski" else {}
    slope = jax.grad(lambda u: getattr(distance, name)(u, v, **options))(u)
    step = 1e-6 * np.eye(4)
    scipy = getattr(scipys, name)
    central = [(scipy(u + h, v, **options) - scipy(u - h, v, **options)) / 2e-6 for h in step]
    np.testing.assert_allclose(slope, central, rtol=1e-6, atol=1e-5)  # which is 0 at a corner


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["jensenshannon", "hellinger"])
def test_one_sided_slopes_where_both_are_0(name):
    u, v = np.array([0.2, 0.0, 0.5, 0.0]), np.array([0.1, 0.0, 0.3, 0.4])
    function = FORMULAS.get(name, scipys.jensenshannon)
    step = 1e-7 * np.eye(4)
    with jax.enable_x64(True):
        by_u, by_v = jax.grad(getattr(distance, name), argnums=(0, 1))(u, v)
        of_matrix = jax.grad(lambda u: distance.cdist(u[None], v[None], name)[0, 0])(u)
    for i in (0, 1, 2):
        np.testing.assert_allclose(by_u[i], (function(u + step[i], v) - function(u, v)) / 1e-7, rtol=1e-5)
        np.testing.assert_allclose(by_v[i], (function(u, v + step[i]) - function(u, v)) / 1e-7, rtol=1e-5)
    np.testing.assert_allclose(of_matrix, by_u, rtol=1e-12)
    assert np.isfinite(by_u[3])  # an infinite slope counts 0


@pytest.mark.usefixtures("by_either_way")
@pytest.mark.thorough
def test_jensen_shannon_of_proportional_vectors():
    with jax.enable_x64(True):
        for u in RNG.random((20, 7)):
            for factor in (1.0, 3.0, 0.7):
                v = u * factor
                assert distance.jensenshannon(u, v) == 0
                assert (jax.grad(distance.jensenshannon)(u, v) == 0).all()
                assert (jax.hessian(distance.jensenshannon)(u, v) == 0).all()


@pytest.mark.usefixtures("by_either_way")
def test_tiny_numbers_are_not_0():
    for dtype in (F32, F64):
        tiny = np.finfo(dtype).smallest_subnormal
        u, v = np.array([tiny, 0, -0.0, np.nan], dtype), np.array([0, tiny, 0.0, np.nan], dtype)
        assert float(distance.hamming(u[:2], v[:2])) == scipys.hamming(u[:2], v[:2]) == 1
        assert distance.cdist(u[None], v[None], "hamming") == 0.75
        for name in ("jaccard", "russellrao", "rogerstanimoto"):
            expected = scipys.cdist(u[None, :3], v[None, :3], name)
            np.testing.assert_allclose(distance.cdist(u[None, :3], v[None, :3], name), expected)


@pytest.mark.usefixtures("by_either_way")
@pytest.mark.thorough
@pytest.mark.daily("chebyshev-float64")
@pytest.mark.parametrize("dtype", [F32, F64])
@pytest.mark.parametrize("name", [name for name in DEGREES if name != "hamming"])
def test_subnormal_rows(name, dtype):
    """XLA takes them for 0 on CPUs: what is not as small itself is as exact as of other numbers."""
    least = np.finfo(dtype).minexp - 12
    whole_a, whole_b = RNG.integers(1, 1000, (4, 5)), RNG.integers(1, 1000, (6, 5))
    a, b = (np.ldexp(x.astype(np.longdouble), least).astype(dtype) for x in (whole_a, whole_b))
    assert (a > 0).all()
    assert (a < np.finfo(dtype).tiny).all()
    np.testing.assert_array_equal(np.ldexp(a.astype(np.longdouble), -least), whole_a)
    options = OPTIONS.get(name, {})
    whole = theirs(name, whole_a.astype(F64), whole_b.astype(F64), **options)
    with np.errstate(under="ignore"):
        expected = (whole * np.longdouble(2) ** (least * DEGREES[name])).astype(F64)
    close = {"rtol": 1e-5 if dtype == F32 else 1e-12, "atol": np.finfo(dtype).tiny}
    np.testing.assert_allclose(distance.cdist(a, b, name, **options), expected, **close)
    along = {"axis": 1} if name == "jensenshannon" else {}
    got = getattr(distance, name)(a, b[:4], **options, **along)
    np.testing.assert_allclose(got, expected[:, :4].diagonal(), **close)
    near = distance.nearest(a, b, 6, name, **options)
    order = np.argsort(whole, axis=1, kind="stable")
    if name in ("sqeuclidean", "inner_product"):
        return  # whose numbers are 0 in the unit in which they are compared
    np.testing.assert_array_equal(near.rows, order)
    np.testing.assert_allclose(near.distances, np.take_along_axis(expected, order, axis=1), **close)


@pytest.mark.usefixtures("by_either_way")
@pytest.mark.thorough
@pytest.mark.parametrize("dtype", [F32, F64])
def test_subnormal_numbers_beside_others(dtype):
    """In the same row, in the other row, beside large weights and beside a far row."""
    info = np.finfo(dtype)
    small = np.ldexp(dtype(3), info.minexp - 7)
    far = np.ldexp(small, 150)
    close = {"rtol": 1e-5 if dtype == F32 else 1e-12}
    u, v = np.array([small, 1], dtype), np.array([5 * small, 2], dtype)
    np.testing.assert_allclose(distance.canberra(u, v), 4 / 6 + 1 / 3, **close)
    np.testing.assert_allclose(distance.kl_divergence([dtype(1)], [small]), -np.log(F64(small)), **close)
    got = distance.inner_product(np.array([small, 1], dtype), np.array([info.max / 4, 0], dtype))
    np.testing.assert_allclose(got, np.longdouble(small) * (info.max / 4), **close)
    weight = np.ldexp(dtype(1), info.maxexp - 2)
    got = distance.cityblock(u[:1], v[:1], [weight])
    np.testing.assert_allclose(got, 4 * np.longdouble(small) * weight, **close)
    rows = np.array([[small, small], [4 * small, small], [far, 1]], dtype)
    roots = np.sqrt(rows.astype(np.longdouble))
    expected = np.sqrt(((roots[:, None] - roots) ** 2).sum(-1) / 2).astype(F64)
    np.testing.assert_allclose(distance.cdist(rows, rows, "hellinger"), expected, **close)
    np.testing.assert_allclose(distance.hellinger(rows[:, None], rows), expected, **close)
    got = distance.cdist(rows[:2], rows[1:], "braycurtis")
    np.testing.assert_allclose(got[0, 0], 3 / 7, **close)


def test_vectors_of_lengths_1_and_more_are_refused():
    for name in METRICS:
        arguments = [2.0] if name == "minkowski" else []
        arguments = [np.eye(3)] if name == "mahalanobis" else arguments
        arguments = [np.ones(3)] if name == "seuclidean" else arguments
        with pytest.raises(ValueError, match="equal lengths, got 1 and 3"):
            getattr(distance, name)([1.0], [1.0, 2.0, 3.0], *arguments)


def test_negative_variances_are_refused():
    for call in (
        lambda: distance.seuclidean([1.0, 2.0], [3.0, 4.0], [1.0, -1.0]),
        lambda: distance.cdist(A, B, "seuclidean", V=-np.ones(5)),
    ):
        with pytest.raises(ValueError, match=r"non-negative: variances V are, got -1.0"):
            call()


def test_nearest_takes_zeros_for_equal():
    zeros = np.array([[0.0], [-0.0], [0.0], [-0.0], [-1.0]], F32)
    near = distance.nearest(np.ones((1, 1), F32), zeros, 5, lambda u, v: (u * v)[0])
    assert near.rows.tolist() == [[4, 0, 1, 2, 3]]
    near = distance.nearest(np.ones((1, 1), F32), zeros, 5, "inner_product")
    assert near.rows.tolist() == [[4, 0, 1, 2, 3]]


@pytest.mark.thorough
@pytest.mark.daily("euclidean")
@pytest.mark.parametrize(
    "name", ["euclidean", "seuclidean", "mahalanobis", "hellinger", "minkowski", "hamming"]
)
def test_64_bits_in_jit_with_x64_off(name):
    options = {"p": 3.5} if name == "minkowski" else {}
    expected = distance.pdist(np.concatenate([A, B]), name, **options)
    with jax.enable_x64(False):
        function = jax.jit(lambda x: distance.pdist(x, name, **options))
        argument = jax.device_put(jnp.asarray(np.concatenate([A, B]), F64))
        assert argument.dtype == F64
        got = function(argument)
    assert got.dtype == F64
    np.testing.assert_allclose(got, expected, rtol=1e-12)


NO_DISTANCE = ("chebyshev", "rogerstanimoto", "russellrao", "sokalsneath")  # of two vectors SciPy raises


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # SciPy's
@pytest.mark.thorough
@pytest.mark.parametrize("x64", [True, False])
def test_vectors_without_coordinates(x64):
    """They are as far apart as SciPy's functions say, and its matrices, which differ from these."""
    rows = np.zeros((3, 0))
    weights = np.zeros(0)
    with jax.enable_x64(x64):
        for name in sorted(set(METRICS) - set(FORMULAS)):
            own = {"mahalanobis": {"VI": np.zeros((0, 0))}, "seuclidean": {"V": weights}}.get(name, {})
            takes_weights = name not in ("jensenshannon", "mahalanobis", "seuclidean")
            for options in [own, {"w": weights}] if takes_weights else [own]:
                got = distance.pdist(rows, name, **options)
                assert got.dtype == F64
                np.testing.assert_array_equal(got, scipys.pdist(rows, name, **options), err_msg=name)
                got = distance.cdist(rows, rows[:2], name, **options)
                np.testing.assert_array_equal(got, scipys.cdist(rows, rows[:2], name, **options))
                if name in NO_DISTANCE:
                    continue
                got = getattr(distance, name)(weights, weights, **options)
                assert got.dtype == F64
                expected = getattr(scipys, name)(weights, weights, **options)
                np.testing.assert_array_equal(got, expected, err_msg=name)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # SciPy's
@pytest.mark.parametrize("name", ["euclidean", "cosine", "jensenshannon"])
def test_vectors_without_coordinates_in_jit(name):
    rows = np.zeros((2, 0))
    expected = scipys.cdist(rows, rows, name)
    expected_of_vectors = getattr(scipys, name)(rows[0], rows[1])
    got = jax.jit(lambda x: distance.cdist(x, x, name))(rows)
    np.testing.assert_array_equal(got, expected)
    got = jax.jit(getattr(distance, name))(rows[0], rows[1])
    np.testing.assert_array_equal(got, expected_of_vectors)


@pytest.mark.thorough
@pytest.mark.daily("euclidean")
@pytest.mark.parametrize("name", ["euclidean", "mahalanobis", "jaccard", "cosine", "minkowski", "hamming"])
def test_a_number_of_rows_that_is_not_known_yet(name):
    """A program exported for any number of queries, and for any number of both."""
    pytest.importorskip("flatbuffers")
    options = {"minkowski": {"p": 3.5}, "mahalanobis": {"VI": VI}}.get(name, {})
    a, b = A.astype(F32), B.astype(F32)
    weights = np.arange(6, dtype=F32)
    n, m = export.symbolic_shape("n, m")
    calls = {
        "nearest": lambda a, b: distance.nearest(a, b, 2, name, **options),
        "kernel_sum": lambda a, b: distance.kernel_sum(jnp.exp, a, b, weights[: len(b)], name, **options),
        "cdist": lambda a, b: distance.cdist(a, b, name, **options),
    }
    for label, call in calls.items():
        count = 6 if label == "kernel_sum" else m  # a weight for each row
        shapes = jax.ShapeDtypeStruct((n, 5), F32), jax.ShapeDtypeStruct((count, 5), F32)
        program = export.export(jax.jit(call))(*shapes)
        expected = call(a, b)
        for queries in (4, 1):
            got = program.call(a[:queries], b)
            for x, y in zip(jax.tree.leaves(got), jax.tree.leaves(expected), strict=True):
                np.testing.assert_allclose(x, y[:queries], rtol=1e-6)


FLAT = {
    "a line": lambda t: np.stack([t, 0.3 * t + 0.1], axis=1),
    "an axis": lambda t: np.stack([t, np.full_like(t, 0.1)], axis=1),
    "a plane": lambda t: np.stack([t, t[::-1], 0.5 * t - 0.25 * t[::-1]], axis=1),
}


@pytest.mark.usefixtures("by_either_way")
@pytest.mark.parametrize("flat", FLAT)
def test_covariance_without_inverse(flat):
    """It raises as in SciPy, also where rounding hides it, and is nan in a program."""
    x = FLAT[flat](np.random.default_rng(7).random(8))
    calls = [
        lambda x: distance.pdist(x, "mahalanobis"),
        lambda x: distance.cdist(x, x[::-1], "mahalanobis"),
        lambda x: distance.nearest(x, x, 2, "mahalanobis").distances,
    ]
    for call in calls[: 3 if flat == "a line" else 1]:
        with pytest.raises(np.linalg.LinAlgError, match="covariance matrix has no inverse"):
            call(x)
        assert not np.isfinite(jax.jit(call)(x)).any()
    inverse = np.linalg.pinv(np.cov(x.T))
    expected = scipys.pdist(x, "mahalanobis", VI=inverse)
    np.testing.assert_allclose(distance.pdist(x, "mahalanobis", VI=inverse), expected, rtol=1e-6)
    x[0, 0] = np.nan
    assert np.isnan(distance.pdist(x, "mahalanobis")).any()
