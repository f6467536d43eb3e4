"""Functions that NumPy computes on the host, beside JAX's way: dtypes, values, signs of zero, errors."""

import jax
import numpy as np
import pytest
from compilations import no_compilation

import jaxapi.mutable as xp
from jaxapi.mutable import _host_way

DTYPES = ["bool", "int8", "int32", "int64", "uint8", "uint64", "float16", "float32", "float64", "complex64"]
OF_ONE = (
    "abs ceil conj exp imag isnan log logical_not negative positive real reciprocal round sign sqrt square"
)
OF_ONE += " sin tanh trunc"
OF_TWO = "add atan2 bitwise_and bitwise_left_shift copysign divide equal floor_divide hypot less logical_or"
OF_TWO += " logaddexp maximum multiply nextafter pow remainder subtract"
REDUCED = "all any argmax argmin count_nonzero max mean min prod std sum var"
FLAT = "argsort cumulative_prod cumulative_sum diff nonzero sort unique_all unique_counts unique_inverse"
FLAT += " unique_values"
MOVED = {
    "broadcast_to": ((2, 3, 4),),
    "concat of two": (),
    "expand_dims": (1,),
    "flip": (),
    "moveaxis": (0, 1),
    "permute_dims": ((1, 0),),
    "repeat": (2,),
    "roll": (1,),
    "stack of two": (),
    "take": (np.asarray([1, 0]), 1),
    "tile": ((2, 1),),
    "tril": (),
    "unstack": (),
}
MATRICES = "cholesky det eigh eigvalsh inv pinv matrix_rank qr slogdet svdvals trace vector_norm"
SPECIAL = [0.0, -0.0, 1.5, -2.5, np.nan, np.inf, -np.inf, 3.0]


def elements(dtype, shape, seed=0):
    """Return elements of a dtype; floats have zeros of both signs, NaN and infinities among them."""
    rng = np.random.default_rng(seed)
    count = int(np.prod(shape))
    if np.dtype(dtype).kind in "fc":
        values = np.where(rng.random(count) < 0.5, rng.choice(SPECIAL, count), rng.normal(size=count))
    else:
        values = rng.integers(0, 2 if dtype == "bool" else 9, count)
    return values.astype(dtype).reshape(shape)


def outcome(call, arrays, on_host):
    """Return what a call gives on NumPy's memory or JAX's way, as NumPy's arrays; or its error."""
    before = _host_way.is_on()
    _host_way.set_on(on_host)
    try:
        given = [xp.asarray(x, copy=True) for x in arrays]
        if on_host:
            for x in given:
                x[...] = x  # in the host's memory from now on
        return [np.asarray(part) for part in jax.tree.leaves(call(*given), is_leaf=is_array)]
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        return error
    finally:
        _host_way.set_on(before)


def is_array(x):
    return isinstance(x, xp.Array)


def check_same(call, *arrays, most_ulp=2, rtol=None):
    host = outcome(call, arrays, on_host=True)
    device = outcome(call, arrays, on_host=False)
    if isinstance(device, Exception):
        assert type(host) is type(device), (host, device)
        assert str(host) == str(device)
        return
    assert not isinstance(host, Exception), host
    assert [x.dtype for x in host] == [x.dtype for x in device]
    for found, expected in zip(host, device, strict=True):
        assert found.shape == expected.shape
        if found.dtype.kind not in "fc":
            np.testing.assert_array_equal(found, expected)
        elif rtol is not None:
            scale = np.nanmax(np.abs(np.where(np.isfinite(expected), expected, 0)), initial=1)
            np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol * float(scale))
        else:
            for part in ("real", "imag"):
                a, b = getattr(found, part), getattr(expected, part)
                with np.errstate(all="ignore"):
                    spacing = np.spacing(np.abs(np.where(np.isfinite(expected), expected, 0)))
                np.testing.assert_array_equal(np.isnan(a), np.isnan(b))
                np.testing.assert_array_equal(np.signbit(a[b == 0]), np.signbit(b[b == 0]))
                with np.errstate(all="ignore"):
                    distance = np.where(a == b, 0, np.abs(a - b) / spacing)
                assert np.nanmax(distance, initial=0) <= most_ulp


@pytest.fixture(params=["x32", "x64"])
def mode(request):
    with jax.enable_x64(request.param == "x64"):
        yield


@pytest.fixture
def way():
    """Both ways are taken by each test."""


@pytest.mark.thorough
@pytest.mark.parametrize("name", OF_ONE.split())
def test_of_one_array(name, mode):
    for dtype in DTYPES:
        for shape in ((), (40,), (0,)):
            check_same(getattr(xp, name), elements(dtype, shape))


@pytest.mark.thorough
@pytest.mark.parametrize("name", OF_TWO.split())
def test_of_two_arrays(name, mode):
    function = getattr(xp, name)
    for dtype in DTYPES:
        check_same(function, elements(dtype, (40,)), elements(dtype, (40,), 1))
    pairs = [("int8", "int64"), ("int32", "float32"), ("uint64", "int64"), ("float32", "float64")]
    for first, second in [*pairs, ("bool", "int8"), ("int64", "float16"), ("float64", "complex64")]:
        check_same(function, elements(first, (3, 4)), elements(second, (4,), 1))
    check_same(function, elements("float32", (3, 4)), elements("float32", (3,)))


@pytest.mark.thorough
@pytest.mark.parametrize("number", [2, 2.5, True, 300, -1, -0.0])
@pytest.mark.parametrize("name", OF_TWO.split())
def test_of_an_array_and_a_number(name, number, mode):
    for dtype in ("int8", "uint64", "float32", "float64"):
        rtol = 1e-4 if name in ("logaddexp", "pow") else None  # where JAX loses digits
        check_same(lambda x: getattr(xp, name)(x, number), elements(dtype, (40,)), rtol=rtol)


@pytest.mark.thorough
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1)])
@pytest.mark.parametrize("name", REDUCED.split())
def test_reductions(name, axis, mode):
    for dtype in DTYPES:
        rtol = 1e-2 if dtype == "float16" else 1e-5
        for shape in ((), (40,), (3, 4), (0, 3)):
            check_same(lambda x: getattr(xp, name)(x, axis=axis), elements(dtype, shape), rtol=rtol)


@pytest.mark.thorough
@pytest.mark.parametrize("name", FLAT.split())
@pytest.mark.parametrize("dtype", DTYPES)
def test_along_an_axis(name, dtype, mode):
    for shape in ((), (40,), (3, 4), (0,)):
        rtol = 1e-2 if dtype == "float16" else 1e-5
        check_same(getattr(xp, name), elements(dtype, shape), rtol=rtol)


@pytest.mark.thorough
@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("descending", [False, True])
def test_sorting(descending, axis, mode):
    for dtype in DTYPES:
        for function in (xp.sort, xp.argsort):
            x = elements(dtype, (9, 30))
            check_same(lambda x: function(x, axis=axis, descending=descending), x)  # noqa: B023


@pytest.mark.thorough
@pytest.mark.parametrize("name", MOVED)
@pytest.mark.parametrize("dtype", ["bool", "int64", "float32", "complex64"])
def test_moving(name, dtype, mode):
    function, _, of_two = name.partition(" ")

    def call(x):
        return getattr(xp, function)([x, x] if of_two else x, *MOVED[name])

    for shape in ((), (3,), (3, 4), (0,)):
        check_same(call, elements(dtype, shape))


@pytest.mark.thorough
@pytest.mark.parametrize("name", MATRICES.split())
@pytest.mark.parametrize("dtype", ["int32", "float32", "float64", "complex64"])
def test_matrices(name, dtype, mode):
    x = np.random.default_rng(0).normal(size=(2, 4, 4))
    positive = (x @ np.swapaxes(x, -1, -2) + 4 * np.eye(4)).astype(dtype)
    rtol = 1e-11 if dtype == "float64" else 1e-4
    for matrices in (positive, positive[0], np.zeros((0, 0), dtype), positive[:, :3], np.zeros((3,), dtype)):
        parts = {"qr": lambda q, r: q @ r, "eigh": lambda values, vectors: values}.get(name)
        call = getattr(xp.linalg, name)
        check_same(call if parts is None else lambda x: parts(*call(x)), matrices, rtol=rtol)  # noqa: B023


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["matmul", "outer", "tensordot", "vecdot"])
def test_products(name, mode):
    for dtype in DTYPES:
        x = np.asarray(elements(dtype, (3, 3)), dtype)
        x = np.where(np.isfinite(x), x, 1).astype(dtype)
        check_same(getattr(xp.linalg, name), x, x, rtol=1e-2 if dtype == "float16" else 1e-5)
    check_same(getattr(xp.linalg, name), np.ones(3, "int32"), np.ones(3, "float32"), rtol=1e-5)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "fftn"])
@pytest.mark.parametrize("dtype", ["int32", "float32", "float64", "complex64"])
def test_transforms(name, dtype, mode):
    x = np.random.default_rng(0).normal(size=(4, 6)).astype(dtype)
    check_same(getattr(xp.fft, name), x, rtol=1e-12 if dtype == "float64" else 1e-5)


@pytest.mark.parametrize("dtype", [None, float, int, "float32", "int64", "complex128", "bool"])
def test_new_arrays(dtype, mode):
    for call in (
        lambda: xp.zeros((2, 3), dtype=dtype),
        lambda: xp.empty(2, dtype=dtype),
        lambda: xp.full(3, 7, dtype=dtype),
        lambda: xp.full(3, 2.5, dtype=dtype),
        lambda: xp.full(3, 300, dtype="int8"),
        lambda: xp.eye(3, k=1, dtype=dtype),
        lambda: xp.arange(5, dtype=dtype),
        lambda: xp.arange(-0.0, 3.0, 0.1, dtype=dtype),
        lambda: xp.arange(0, 1000, dtype="int8"),
        lambda: xp.linspace(-0.0, 1.0, 50, dtype=dtype),
        lambda: xp.linspace(-1.0, 1.0, 7, endpoint=False, dtype=dtype),
        lambda: xp.zeros(3, device=xp.zeros(1).device),
        lambda: xp.zeros(3, device="cpu"),
        lambda: xp.zeros(-1),
    ):
        check_same(call)


@pytest.mark.thorough
def test_casts(mode):
    for source in DTYPES:
        for target in DTYPES:
            check_same(lambda x: xp.astype(x, target), elements(source, (40,)))  # noqa: B023


def test_what_is_left_to_jax(mode):
    """Lists, numbers alone and arguments that only jaxapi has."""
    x = elements("float32", (3, 4))
    check_same(lambda x: xp.add(x, [1, 2, 3, 4]), x)
    check_same(lambda: xp.sqrt(2.0))
    check_same(lambda x: xp.sum(x, where=x > 0), x, rtol=1e-6)
    check_same(lambda x: xp.sum(x, axes=0), x)
    check_same(lambda x: xp.take(x, xp.asarray([9])), x)
    check_same(lambda x: xp.linalg.inv(xp.zeros((3, 3))), x)
    check_same(lambda x: xp.linalg.cholesky(-xp.eye(3)), x)


def test_results_have_memory_of_their_own():
    _host_way.set_on(True)
    x = xp.ones((2, 2))
    x[0, 0] = 3
    for made in (
        xp.permute_dims(x, (1, 0)),
        xp.broadcast_to(x, (2, 2, 2)),
        xp.flip(x),
        xp.real(x),
        xp.squeeze(x, axis=()),
        xp.unstack(x)[0],
        xp.moveaxis(x, 0, 1),
        xp.matrix_transpose(x),
        xp.linalg.diagonal(x),
        xp.broadcast_arrays(x, x)[0],
        xp.meshgrid(x[0])[0],
    ):
        made[...] = -1
    np.testing.assert_array_equal(x, [[3, 1], [1, 1]])


def test_out():
    x = xp.asarray([1.0, 4.0])
    x *= 1
    out = xp.zeros(2)
    assert xp.sqrt(x, out=out) is out
    np.testing.assert_array_equal(out, [1, 2])
    total = xp.zeros(())
    assert xp.sum(x, out=total) is total
    assert float(total) == 5


def test_first_calls_compile_nothing():
    """What is compiled once in a process is not compiled by lengths that no other test has."""
    _host_way.set_on(True)
    x = xp.asarray(np.random.default_rng(0).normal(size=(137, 3)))
    with no_compilation():
        centered = x - xp.mean(x, axis=0)
        covariance = xp.matmul(centered.T, centered) / 136
        values, vectors = xp.linalg.eigh(covariance)
        scores = centered @ vectors[:, xp.argsort(values)]
        labels = xp.argmax(scores, axis=1)
        xp.unique_inverse(labels)
        xp.concat([scores, xp.zeros((137, 1), dtype=scores.dtype)], axis=1)
        xp.where(scores > 0, xp.log(xp.abs(scores)), 0.0)
        xp.astype(labels, xp.float32)
        xp.any(xp.isnan(xp.std(scores, axis=0)))


def test_what_comes_behind_an_overflow():
    sums = xp.cumulative_sum(xp.asarray(np.array([3e38, 3e38, -3e38, -3e38], np.float32)))
    products = xp.cumulative_prod(xp.asarray(np.array([1e30, 1e30, 1e-30], np.float32)))
    np.testing.assert_array_equal(sums, np.array([3e38, np.inf, np.inf, np.inf], np.float32))
    np.testing.assert_array_equal(products, np.array([1e30, np.inf, np.inf], np.float32))


def test_squares_beyond_float16():
    values = np.arange(100) * 3
    x = xp.asarray(values.astype(np.float16))
    np.testing.assert_allclose(np.asarray(xp.var(x), float), np.var(values), rtol=1e-3)
    np.testing.assert_allclose(np.asarray(xp.std(x), float), np.std(values), rtol=1e-3)


@pytest.mark.parametrize("dtype", ["int8", "int32", "float32"])
def test_inverse_power(dtype):
    matrix = np.array([[2, 1], [1, 1]], dtype)
    power = xp.linalg.matrix_power(xp.asarray(matrix), -1)
    assert power.dtype == np.float32
    np.testing.assert_allclose(power, [[1, -1], [-1, 2]], rtol=1e-6)


REFUSED = {
    "fftfreq": lambda: xp.fft.fftfreq(5, dtype=xp.int32),
    "rfftfreq": lambda: xp.fft.rfftfreq(5, dtype=xp.complex64),
    "repeat": lambda: xp.repeat(xp.asarray([1, 2]), 2.0),
    "fftn": lambda: xp.fft.fftn(xp.ones((2, 3), dtype=xp.complex64), s=(2, -1), axes=(0, 1)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_numpy_takes_and_the_standard_does_not(name):
    with pytest.raises((TypeError, ValueError)):
        REFUSED[name]()


def test_a_number_that_becomes_an_infinity_is_warned_of():
    x = xp.ones(2, dtype=xp.float32)
    with np.errstate(over="warn"), pytest.warns(RuntimeWarning, match="overflow"):
        assert np.isinf(np.asarray(xp.full(2, 1e300, dtype=xp.float32))).all()
    with np.errstate(over="warn"), jax.enable_x64(False), pytest.warns(RuntimeWarning, match="overflow"):
        assert np.isinf(np.asarray(xp.add(x, 1e300))).all()


@pytest.mark.parametrize("name", ["add", "concat", "sum", "where"])
def test_masked_arrays_are_refused(name):
    """NumPy would compute with them, and the result have no mask."""
    masked = np.ma.masked_array([1.0, 2.0], [False, True])
    given = {"concat": [[masked, masked]], "sum": [masked], "where": [masked > 1, 1.0, masked]}
    with pytest.raises(TypeError, match="mask would be lost"):
        getattr(xp, name)(*given.get(name, [xp.ones(2), masked]))
