"""RBFInterpolator beside SciPy's: values, errors, warnings, dtypes, pytrees, clouds of changing size."""

import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.interpolate
from compilations import no_compilation

import jaxapi as xp
from jaxapi.interpolate import RBFInterpolator, _combination, _host, _systems
from jaxapi.spatial import pad_rows

SCIPYS = scipy.interpolate.RBFInterpolator
KERNELS = {
    "linear": 0,
    "thin_plate_spline": 1,
    "cubic": 1,
    "quintic": 2,
    "multiquadric": 0,
    "inverse_multiquadric": -1,
    "inverse_quadratic": -1,
    "gaussian": -1,
}


def grid(m, rng, n=60):
    """Return n scattered points that keep away from each other, so that systems are well-conditioned."""
    side = round(n ** (1 / m) + 0.499)
    corners = np.stack(np.meshgrid(*m * [np.arange(side)], indexing="ij"), -1).reshape(-1, m)
    chosen = rng.permutation(len(corners))[:n]
    return (corners[chosen] + rng.uniform(0.2, 0.8, (n, m))) / side


def compare(actual, expected, atol=1e-5):
    assert actual.shape == expected.shape
    np.testing.assert_allclose(np.asarray(actual), expected, rtol=1e-5, atol=atol)


# A kernel is a function of the distance, whatever the number of dimensions; two have all of these.
VALUES = [(kernel, 2) for kernel in KERNELS]
VALUES += [(kernel, m) for kernel in ("thin_plate_spline", "gaussian") for m in (1, 3, 4)]


@pytest.mark.thorough
@pytest.mark.daily("gaussian-1", "multiquadric-2", "thin_plate_spline-2", "thin_plate_spline-3")
@pytest.mark.parametrize(("kernel", "m"), VALUES)
def test_values(kernel, m):
    rng = np.random.default_rng(m)
    y, x = grid(m, rng), rng.random((20, m))
    d, smoothing = np.sin(5 * y).sum(axis=1), rng.uniform(0, 0.01, len(y))
    epsilon = 4.0 if m > 1 else 30.0
    for options in ({}, {"neighbors": 18}, {"neighbors": 25, "smoothing": smoothing}):
        options = {"kernel": kernel, "epsilon": epsilon, **options}
        compare(RBFInterpolator(y, d, **options)(x), SCIPYS(y, d, **options)(x))


@pytest.mark.thorough
@pytest.mark.daily("None-0", "None-1", "20-0", "20-1")
@pytest.mark.parametrize("degree", [-1, 0, 1, 3])
@pytest.mark.parametrize("neighbors", [None, 20])
def test_degrees(degree, neighbors):
    rng = np.random.default_rng(5)
    y, x = grid(2, rng), rng.random((20, 2))
    d = np.cos(3 * y).prod(axis=1)
    for kernel in ("gaussian", "cubic"):
        if -1 < degree < KERNELS[kernel]:
            continue
        options = {"kernel": kernel, "epsilon": 4.0, "degree": degree, "neighbors": neighbors}
        compare(RBFInterpolator(y, d, **options)(x), SCIPYS(y, d, **options)(x))


def test_many_dimensions():
    rng = np.random.default_rng(6)
    y, x, d = rng.random((60, 12)), rng.random((7, 12)), rng.random(60)
    compare(RBFInterpolator(y, d)(x), SCIPYS(y, d)(x))


@pytest.mark.thorough
@pytest.mark.daily("15")
@pytest.mark.parametrize("neighbors", [None, 15, np.inf])
def test_values_of_any_shape(neighbors):
    rng = np.random.default_rng(7)
    y, x = grid(2, rng), rng.random((9, 2))
    real = rng.random((60, 2, 3))
    for d in (real, real + 1j * rng.random((60, 2, 3)), real[:, :0], rng.integers(0, 9, 60)):
        expected = SCIPYS(y, d, neighbors=neighbors)(x)
        interpolator = RBFInterpolator(y, d, neighbors=neighbors)
        compare(interpolator(x), expected)
        assert interpolator(x).dtype == interpolator.d_dtype == expected.dtype
        assert interpolator(x[:0]).shape == (0, *d.shape[1:])
    ours, scipys = RBFInterpolator(y, d, neighbors=neighbors), SCIPYS(y, d, neighbors=neighbors)
    for name in ("y", "d", "d_shape", "neighbors", "smoothing", "kernel", "epsilon", "powers"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(scipys, name), err_msg=name)


@pytest.mark.thorough
@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_units(scale):
    """The unit of the places changes nothing where SciPy's does not, also in float32."""
    rng = np.random.default_rng(8)
    y, x, d = grid(2, rng), rng.random((9, 2)), rng.random(60)
    for kernel, atol in (("linear", 1e-4), ("thin_plate_spline", 1e-3), ("cubic", 1e-2)):
        expected = SCIPYS(y, d, kernel=kernel)(x)
        compare(RBFInterpolator(y * scale, d, kernel=kernel)(x * scale), expected)
        for neighbors in (None, 20):
            expected = SCIPYS(y, d, kernel=kernel, neighbors=neighbors)(x)
            arrays = [np.float32(each) for each in (y * scale, d, x * scale)]
            ours = RBFInterpolator(*arrays[:2], kernel=kernel, neighbors=neighbors)(arrays[2])
            assert ours.dtype == np.float32
            compare(ours, expected, atol)


@pytest.fixture
def small_pieces(monkeypatch):
    """Make pieces of some dozens of places."""
    monkeypatch.setattr(_systems, "_NUMBERS_AT_ONCE", 20_000)
    monkeypatch.setattr(_host, "_NUMBERS_IN_CACHE", 20_000)
    monkeypatch.setattr(_host, "_KERNELS_IN_CACHE", 500)


@pytest.mark.thorough
def test_pieces(small_pieces):
    rng = np.random.default_rng(9)
    y, x, d = grid(2, rng), rng.random((101, 2)), rng.random((60, 2))
    for neighbors in (None, 13):
        f = RBFInterpolator(y, d, neighbors=neighbors)
        expected = SCIPYS(y, d, neighbors=neighbors)(x)
        compare(f(x), expected)
        with jax.enable_x64(True):
            compare(jax.jit(lambda f, x: f(x))(f, x), expected)
        whole = jax.grad(lambda x, f=f: jnp.sum(f(x) ** 2))(xp.asarray(x))
        parts = [
            jax.grad(lambda x, f=f: jnp.sum(f(x) ** 2))(xp.asarray(part)) for part in np.split(x[:100], 10)
        ]
        np.testing.assert_allclose(whole[:100], np.concatenate(parts), rtol=1e-6, atol=1e-8)


@pytest.mark.thorough
@pytest.mark.parametrize("neighbors", [3, 12])
def test_neighborhoods_that_repeat(small_pieces, x64, neighbors):
    """Many places on few points: outside of jit each set of neighbors is solved once, in pieces."""
    rng = np.random.default_rng(18)
    y, x = grid(2, rng, 20), rng.random((4000, 2))
    d = rng.random((20, 2)) + 1j * rng.random((20, 2))
    smoothing = rng.random(20)
    expected = SCIPYS(y, d, neighbors, smoothing)(x)
    f = RBFInterpolator(y, d, neighbors, smoothing)
    compare(f(x), expected, 1e-9)
    assert f(x).dtype == np.complex128
    with jax.enable_x64(True):  # at known places inside of jit, too
        compare(jax.jit(lambda sign: jnp.where(sign, f(x), 0j))(True), expected, 1e-9)
    narrow = RBFInterpolator(np.float32(y), np.complex64(d), neighbors, np.float32(smoothing))
    assert narrow(np.float32(x)).dtype == np.complex64
    compare(narrow(np.float32(x)), expected, 1e-4)
    padded = np.concatenate([y, np.full((4, 2), np.nan)])
    values, weights = (np.concatenate([each, each[:4] * np.nan]) for each in (d, smoothing))
    for n in (20, 10):
        expected = SCIPYS(y[:n], d[:n], neighbors, smoothing[:n])(x)
        f = RBFInterpolator(padded, values, neighbors, weights, n=n)
        compare(f(x), expected, 1e-9)
        with jax.enable_x64(True):
            compare(jax.jit(lambda sign, f=f: jnp.where(sign, f(x), 0j))(True), expected, 1e-9)
    for columns in (0, 1):
        f = RBFInterpolator(y, d.real[:, :columns], neighbors)
        compare(f(x), SCIPYS(y, d.real[:, :columns], neighbors)(x), 1e-9)


def test_nothing_is_compiled_outside_of_transformations():
    rng = np.random.default_rng(25)
    y, x = grid(2, rng, 57), rng.random((43, 2))
    d = np.sin(y[:, 0])
    for neighbors in (None, 11):
        for dtype in (np.float32, np.float64):
            points, values, places = (array.astype(dtype) for array in (y, d, x))
            with no_compilation():
                found = RBFInterpolator(points, values, neighbors, smoothing=0.1, n=50)(places)
            compare(found, SCIPYS(y[:50], d[:50], neighbors, smoothing=0.1)(x), 1e-4)


@pytest.mark.daily
@pytest.mark.parametrize("kernel", KERNELS)
def test_values_in_programs(kernel):
    """They are those of the host, where NumPy computes: of complex values, and of some of the rows."""
    rng = np.random.default_rng(26)
    y, x = grid(2, rng, 40), rng.random((31, 2))
    d = rng.random(40) + 1j * rng.random(40)
    for neighbors in (None, 14):
        f = RBFInterpolator(y, d, neighbors, kernel=kernel, epsilon=5.0, n=37)
        with jax.enable_x64(True):
            in_program = jax.jit(lambda f, x: f(x))(f, xp.asarray(x))
        np.testing.assert_allclose(in_program, f(x), rtol=1e-9, atol=1e-9)


@pytest.mark.daily
def test_pieces_of_no_columns(small_pieces):
    """In programs, where each place's neighborhood is solved."""
    rng = np.random.default_rng(20)
    y, x = grid(2, rng, 20), rng.random((1200, 2)).astype(np.float32)
    for neighbors in (None, 3):
        for count in (1100, 1200):  # places: whole pieces and a rest
            f = RBFInterpolator(np.float32(y), np.zeros((20, 0), np.float32), neighbors)
            assert jax.jit(lambda f, x: f(x))(f, x[:count]).shape == (count, 0)


@pytest.mark.daily
def test_a_singular_neighborhood_among_many(small_pieces):
    rng = np.random.default_rng(19)
    y = np.concatenate([rng.random((500, 2)), [[2.0, 0.0], [2.1, 0.0], [2.2, 0.0]]])
    places = np.concatenate([rng.random((900, 2)), [[2.1, 0.0]]])
    f = RBFInterpolator(y, y[:, 0], neighbors=3)
    assert jnp.isfinite(f(places[:900])).all()
    with pytest.raises(np.linalg.LinAlgError, match=r"full column rank \(2/3\)"):
        f(places)


@pytest.mark.thorough
def test_dtypes(x64):
    rng = np.random.default_rng(10)
    y, x, d = grid(2, rng), rng.random((9, 2)), rng.random(60)
    narrow = RBFInterpolator(np.float32(y), np.float32(d), neighbors=12)
    assert narrow(np.float32(x)).dtype == np.float32
    assert narrow(x.tolist()).dtype == np.float32
    assert narrow(x).dtype == np.float64
    assert RBFInterpolator(y, np.float32(d))(np.float32(x)).dtype == np.float64
    assert RBFInterpolator(np.float32(y), np.complex64(d))(np.float32(x)).dtype == np.complex64
    assert RBFInterpolator(np.float32(y), np.float16(d))(np.float16(x)).dtype == np.float32
    assert RBFInterpolator(y.tolist(), d.tolist())(x.tolist()).dtype == np.float64
    assert (
        RBFInterpolator(xp.asarray(y), d, epsilon=np.float32(2), smoothing=1)(xp.asarray(x)).dtype
        == np.float64
    )
    compare(RBFInterpolator(xp.asarray(y), d)(xp.asarray(x)), SCIPYS(y, d)(x), 1e-9)
    for f in (narrow, RBFInterpolator(y, d), RBFInterpolator(y, d + 1j, neighbors=12)):
        again = pickle.loads(pickle.dumps(f))
        np.testing.assert_array_equal(again(x), f(x))
        assert again(x).dtype == f(x).dtype


@pytest.mark.thorough
def test_array_likes():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(11)
    y, x, d = grid(2, rng), rng.random((9, 2)), rng.random(60)
    smoothing = rng.random(60)
    f = RBFInterpolator(*map(torch.asarray, (y, d)), smoothing=torch.asarray(smoothing))
    compare(f(torch.asarray(x)), SCIPYS(y, d, smoothing=smoothing)(x))


Y, D = np.linspace(0, 1, 5)[:, None], np.zeros(5)
WRONG = [
    (lambda R: R(Y[:, 0], D)),
    (lambda R: R(Y, D[:1])),
    (lambda R: R(Y, D, smoothing=np.ones(1))),
    (lambda R: R(Y, D, kernel="gaussian")),
    (lambda R: R(Y, D, degree=-2)),
    (lambda R: R(Y[:1], D[:1])),
    (lambda R: R(Y, D, neighbors=1)),
    (lambda R: R(np.zeros((5, 2)), D, kernel="quintic")),
    (lambda R: R(Y, D)(Y[:, 0])),
    (lambda R: R(Y, D)(np.zeros((3, 2)))),
    (lambda R: R(np.zeros((3, 2)), np.zeros(3))),
    (lambda R: R([[2.0, 0.0], [1.0, 0.0], [0.0, 0.0]], np.zeros(3))),
    (lambda R: R(np.array([[2.0, 0.0], [1.0, 0.0], [0.0, 0.0]]), np.zeros(3), neighbors=3)(np.ones((2, 2)))),
    (lambda R: R(np.array([[0.0], [0.0], [1.0]]), np.zeros(3), kernel="gaussian", epsilon=1.0)),
    (lambda R: R(np.array([[0.0], [np.nan], [1.0]]), np.zeros(3), neighbors=2)),
]


@pytest.mark.parametrize("call", WRONG)
def test_errors(call):
    with pytest.raises(Exception) as scipys:  # noqa: PT011 (which one is the question)
        call(SCIPYS)
    with pytest.raises(scipys.type) as ours:
        call(RBFInterpolator)
    text = str(scipys.value).partition("{")[0]  # the names of a set come in any order
    assert text in str(ours.value) or "finite" in str(ours.value)


def test_own_errors():
    with pytest.raises(ValueError, match=r"`kernel` must be one of \{'"):
        RBFInterpolator(Y, D, kernel="cubist")
    with pytest.raises(ValueError, match=r"`kernel` must be one of \{.*, got None"):
        RBFInterpolator(Y, D, kernel=None)
    for name in ("neighbors", "degree"):
        with pytest.raises(TypeError, match=f"`{name}` must be a real number, got 'a'"):
            RBFInterpolator(Y, D, **{name: "a"})
        with pytest.raises(TypeError, match=f"`{name}` shapes the program"):
            jax.jit(lambda number, name=name: RBFInterpolator(Y, D, **{name: number})(Y))(3)
    for neighbors in (0, -1, np.nan):
        with pytest.raises(ValueError, match=f"`neighbors` must be at least 1, got {neighbors}"):
            RBFInterpolator(Y, D, neighbors=neighbors, kernel="linear", degree=-1)
    with pytest.raises(TypeError, match="`y` must be real"):
        RBFInterpolator(Y + 1j, D)
    with pytest.raises(TypeError, match="`epsilon` must be a number"):
        RBFInterpolator(Y, D, epsilon=np.ones(5))
    with pytest.raises(ValueError, match="`n` must be between 0 and the 5 rows"):
        RBFInterpolator(Y, D, n=6)


@pytest.mark.parametrize("kernel", [kernel for kernel, least in KERNELS.items() if least > 0])
def test_warnings(kernel):
    def warned(interpolator):
        with pytest.warns(UserWarning, match="degree") as record:
            interpolator(Y, D, kernel=kernel, degree=KERNELS[kernel] - 1)
        return [(str(each.message), each.filename) for each in record]

    assert warned(RBFInterpolator) == warned(SCIPYS)
    RBFInterpolator(Y, D, kernel=kernel, degree=-1)


@pytest.mark.daily
def test_singular_inside_of_jit():
    line = jnp.stack([jnp.arange(4.0), jnp.zeros(4)], axis=1)
    for neighbors in (None, 3):
        values = jax.jit(lambda y, n=neighbors: RBFInterpolator(y, y[:, 0], n)(y + 0.5))(line)
        assert jnp.isnan(values).all()


@pytest.mark.daily
def test_points_that_coincide():
    """They are singular wherever they lie, unless they are smoothed."""
    rng = np.random.default_rng(16)
    y = grid(2, rng)
    y[17] = y[3]
    for neighbors in (None, 30):
        with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
            RBFInterpolator(y, y[:, 0] + np.arange(60), neighbors)(y[:5])
        compare(RBFInterpolator(y, y[:, 0], neighbors, 0.1)(y), SCIPYS(y, y[:, 0], neighbors, 0.1)(y))


@pytest.mark.thorough
def test_points_that_coincide_where_a_solver_hides_it(monkeypatch):
    """As those of GPUs may, and as one that gives finite numbers for whatever it gets."""
    solve, lu = jnp.linalg.solve, jax.lax.linalg.lu
    monkeypatch.setattr(jnp.linalg, "solve", lambda a, b: jnp.nan_to_num(solve(jnp.nan_to_num(a), b)))
    monkeypatch.setattr(
        jax.lax.linalg, "lu", lambda a: (jnp.nan_to_num(a), *(0 * each for each in lu(jnp.nan_to_num(a))[1:]))
    )
    y = np.random.default_rng(17).random((23, 2))  # a size of its own: its programs are compiled here
    y[17] = y[3]
    for form in (_combination.by_weights, _combination.by_reflections):
        monkeypatch.setattr(_systems, "combination", form)
        jax.clear_caches()
        for neighbors in (None, 22):
            with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
                RBFInterpolator(y, y[:, 0], neighbors)(y[:5])
            assert jnp.isfinite(RBFInterpolator(y, y[:, 0], neighbors, 0.1)(y)).all()
    monkeypatch.undo()
    jax.clear_caches()  # of programs with such a solver


@pytest.mark.daily
def test_values_that_are_nan_are_no_error():
    """As in SciPy: their columns are nan, others are not."""
    rng = np.random.default_rng(12)
    y, x, d = grid(2, rng), rng.random((9, 2)), rng.random((60, 2))
    d[3, 0] = np.nan
    for neighbors in (None, 20):
        expected = SCIPYS(y, d, neighbors=neighbors)(x)
        ours = np.asarray(RBFInterpolator(y, d, neighbors=neighbors)(x))
        compare(ours[:, 1], expected[:, 1])
        np.testing.assert_array_equal(np.isnan(ours), np.isnan(expected))


@pytest.mark.thorough
def test_transformations():
    rng = np.random.default_rng(13)
    clouds = np.stack([grid(2, rng) for _ in range(3)]).astype(np.float32)
    values, x = rng.random((3, 60)).astype(np.float32), rng.random((9, 2)).astype(np.float32)
    for neighbors in (None, 12):
        options = {"neighbors": neighbors, "kernel": "linear"}
        expected = np.stack([SCIPYS(y, d, **options)(x) for y, d in zip(clouds, values, strict=True)])

        def made_inside(y, d, options=options):
            return RBFInterpolator(y, d, **options)(x)

        compare(jax.vmap(made_inside)(clouds, values), expected, 1e-4)
        compare(jax.jit(made_inside)(clouds[0], values[0]), expected[0], 1e-4)
        f = RBFInterpolator(clouds[0], values[0], **options)
        compare(jax.jit(lambda f, x: f(x))(f, x), expected[0], 1e-4)
        made = jax.jit(lambda y, d, options=options: RBFInterpolator(y, d, **options))(clouds[0], values[0])
        assert jax.tree.structure(made) == jax.tree.structure(f)
        compare(made(x), expected[0], 1e-4)
        many = jax.vmap(lambda y, d, options=options: RBFInterpolator(y, d, **options))(clouds, values)
        compare(jax.vmap(lambda f: f(x))(many), expected, 1e-4)

        def follow(f, cloud, options=options):
            y, d = cloud
            return RBFInterpolator(y, d, **options), f(x)

        _, scanned = jax.lax.scan(follow, f, (jnp.asarray(clouds), jnp.asarray(values)))
        compare(scanned[1:], expected[:2], 1e-4)


@pytest.mark.thorough
def test_clouds_of_changing_size():
    rng = np.random.default_rng(14)
    x = rng.random((9, 2)).astype(np.float32)
    for neighbors in (None, 12):

        @jax.jit
        def values_at(y, d, n, neighbors=neighbors):
            return RBFInterpolator(y, d, neighbors, n=n)(x)

        for n in (60, 40, 8):
            y, d = grid(2, rng, n).astype(np.float32), rng.random(n).astype(np.float32)
            padded, count = pad_rows(y, sizes=[64])
            filled = jnp.full((64,), jnp.nan).at[:n].set(d)
            expected = SCIPYS(y, d, neighbors)(x)
            if n < 60:
                with no_compilation():
                    compare(values_at(padded, filled, count), expected, 1e-3)
            compare(values_at(padded, filled, count), expected, 1e-3)
            wild = padded.at[n:].set(jnp.inf)
            compare(RBFInterpolator(wild, filled, neighbors, n=n)(x), expected, 1e-3)
            assert RBFInterpolator(wild, filled, neighbors, n=n).n == n
    with pytest.raises(ValueError, match="At least 3 data points are required"):
        RBFInterpolator(np.zeros((8, 2)), np.zeros(8), n=2)


@pytest.mark.daily
def test_one_place_of_each_neighborhood():
    """Places that share neighbors, which SciPy solves for once."""
    rng = np.random.default_rng(15)
    y, d = grid(2, rng), rng.random((60, 2)) + 1j
    x = np.concatenate([y, y + 1e-3, rng.permutation(y) - 1e-3, y])
    for options in ({"neighbors": 10}, {"neighbors": 1, "degree": 0, "kernel": "linear"}):
        compare(RBFInterpolator(y, d, **options)(x), SCIPYS(y, d, **options)(x))


LINES = {
    "along an axis": lambda t: np.stack([t, 0 * t], axis=1),
    "diagonal": lambda t: np.stack([t, t], axis=1),
    "askew": lambda t: np.stack([t, 0.3 * t + 0.1], axis=1),
    "in space": lambda t: np.stack([t, 2 - t, 0.7 * t], axis=1),
    "a plane": lambda t: np.stack([t, t[::-1], 0.5 * t - 0.25 * t[::-1]], axis=1),
}


@pytest.mark.daily("diagonal", "askew")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("line", LINES)
def test_points_whose_monomials_depend_on_each_other(line, dtype):
    """Whatever elimination makes of them: every kernel, with smoothing, too; nan inside of jit."""
    y = LINES[line](np.random.default_rng(22).random(12)).astype(dtype)
    d = y[:, 0]
    with pytest.raises(np.linalg.LinAlgError, match="full column rank"):
        RBFInterpolator(y, d, smoothing=0.1)
    for neighbors in (None, 6):
        inside = jax.jit(lambda y, n=neighbors: RBFInterpolator(y, y[:, 0], n)(y))(y)
        assert np.isnan(inside).all()
        with pytest.raises(np.linalg.LinAlgError, match="full column rank"):
            RBFInterpolator(y, d, neighbors)(y)
    assert np.isfinite(RBFInterpolator(y, d, kernel="linear")(y)).all()


@pytest.mark.daily("gaussian")
@pytest.mark.parametrize("kernel", KERNELS)
def test_points_of_short_rank_for_a_degree(kernel):
    """A circle has no unique quadratic polynomial, a line no linear one."""
    angle = np.linspace(0, 5, 14)
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    line = LINES["askew"](np.random.default_rng(23).random(12))
    for y, degree in ((circle, 2), (line, 1), (line, 2)):
        if degree < KERNELS[kernel]:
            continue
        with pytest.raises(np.linalg.LinAlgError, match="full column rank"):
            RBFInterpolator(y, y[:, 0], kernel=kernel, epsilon=1.0, degree=degree)


def test_points_near_a_line():
    """They are no line: a narrow band of thousands in float32, and of little more than rounding."""
    rng = np.random.default_rng(24)
    x = rng.random(1000).astype(np.float32)
    band = np.stack([x, x + np.float32(1e-3) * rng.random(1000).astype(np.float32)], axis=1)
    assert np.isfinite(RBFInterpolator(band, x, 9, smoothing=1.0)(band[:5])).all()
    t = rng.random(12)
    y = np.stack([t, t + 1e-9 * rng.random(12)], axis=1)
    compare(RBFInterpolator(y, t)(y), SCIPYS(y, t)(y))
