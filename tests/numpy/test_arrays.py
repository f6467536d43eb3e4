"""The array's methods, views, ufuncs and functions that write, statement by statement beside NumPy's."""

import jax
import numpy as np
import pytest

import jaxapi.numpy as ours


def both(statements):
    """Run statements on NumPy's array and ours; return both arrays."""
    arrays = []
    for module in (np, ours):
        x = module.asarray(np.arange(24, dtype=np.float32).reshape(2, 3, 4)).copy()
        scope = {"np": module, "x": x}
        exec(statements, scope)
        arrays.append((np.asarray(scope["x"]), np.asarray(scope.get("y", 0))))
    return arrays


STATEMENTS = """
x.ravel()[3] = 9
x.T[0, 0, 0] = 9
x.swapaxes(0, 1)[0] = 9
np.moveaxis(x, 0, -1)[1, 1] = 9
np.expand_dims(x, 1)[1] = 9
np.squeeze(x[:1])[1] = 9
np.flip(x, 1)[0, 0] = 9
np.rot90(x)[0] = 9
np.split(x, 2)[1][...] = 9
np.hsplit(x, 3)[0][...] = 9
np.atleast_3d(x)[0] = 9
x.reshape(6, 4)[2] = 9
x.reshape(4, 6, order='F')[2] = 9
x.view()[0] = 9
x.real[0] = 9
x.T.ravel()[0] = 9
x.flatten()[0] = 9
x.flat[5] = 9; x.flat[6:9] = [1, 2]
x.flat = 3
y = [float(v) for v in x.flat]
for row in x: row[0] = 9
x.fill(4)
x.sort(); x.sort(0)
x[...] = -x; x.sort(axis=1)
x.partition(1); y = x[..., 1]
x.put([1, -1], [7, 8])
np.put(x.T, [1, 30], [7, 8], mode='wrap')
np.place(x, x > 10, [1, 2, 3])
np.putmask(x, x > 10, [1, 2, 3])
np.copyto(x, 5, where=x > 3)
np.fill_diagonal(x[0], 7)
np.put_along_axis(x, x.argmax(1, keepdims=True), 0, 1)
np.add.at(x, (0, np.array([1, 1, 2])), 1)
np.maximum.at(x, (0, 1), 50)
np.add.at(x, ([],), 1); np.hypot.at(x, ([0, 0], 0, [2, 2]), 1)
np.power.at(x[0, 0], np.array([1, 1, 2]), 2)
np.add(x, 1, out=x); np.multiply(x, 2, out=x, where=x > 5)
y = np.add.reduce(x, axis=(0, 2), keepdims=True)
y = np.multiply.accumulate(x, 1)
y = np.subtract.outer(x[0, 0], x[0, 1])
y = np.hypot.reduce(x, 2)
y = np.hypot.reduce(x, (0, 2), where=x > 5)
y = np.subtract.reduce(x, 1, where=x[:, :, :1] > 3, initial=2, keepdims=True)
y = np.add.reduceat(x, [0, 2, 1], 2)
y = np.maximum.reduce(x, axis=None, initial=30)
y = x.take([1, 5], mode='clip'); x[0] = 1
y = x.cumsum(1, dtype=np.float64)
y = x.dot(x[0].T)
y = x.std(axis=(0, 1), ddof=1, keepdims=True)
y = x.compress([True, False, True], 1)
y = x.choose([x, -x]) if x.dtype.kind == 'i' else x
y = x.trace(1, 1, 2)
y = x.diagonal(1, 0, 2)
y = x.searchsorted(x[0, 0]) if x.ndim == 1 else x
y = x.astype(np.int8).sum()
y = x.nonzero()[1]
y = x.round(-1)
y = x.ptp(1) if hasattr(x, 'ptp') else np.ptp(x, 1)
y = np.frombuffer(x.tobytes(), np.float32)
y = np.gradient(x[0], 0.5, axis=1, edge_order=2)
y = np.histogram(x, bins=5)[0]
y = np.unravel_index(7, (2, 4), order='F')
y = np.quantile(x, [0.1, 0.9], axis=1, method='weibull')
y = np.histogram(np.arange(-9, 10), bins=10)[0]
y = np.histogram2d(np.arange(-9, 10), np.arange(19) % 7, bins=(3, 6))[0]
y = np.digitize(x, [15, 10, 10, 5], right=True)
y = np.array([1, 2], dtype=np.float64) / 2; y = np.array([y.dtype == np.float64])
y = np.select([x > 5, x > 2], [x, -x], 7)
y = np.cov(x[0])
y = np.convolve(x[0, 0], [1, 2, 1], 'same')
y = np.matmul(x, x, axes=[(1, 2), (2, 1), (0, 1)])
y = np.r_[x[0, 0], 0, 1:5]
y = np.mgrid[0:2, 0:1:3j]
y = np.divmod(x, 3)
y = np.nan_to_num(x / 0 * 0, copy=False)
np.einsum('ijk->kij', x)[0] = 9
y = np.einsum(x, [0, 1, 2], x, [0, 3, 2], [1, 3])
y = np.einsum('ij,ij->', x[0], x[1])
y = np.ndarray((2, 0)).shape
y = np.frombuffer(bytes(x[1]), np.float32); y = np.frombuffer(x.data, np.float32)
y = x[[[]]].shape
y = np.delete(x, [0, 0], 1); y = np.delete(y, [], 0)
y = np.round(x / 7, 2) == x // 0.07 * 0 + np.round(x / 7, 2)
y = np.round(x * 1000, -4)
y = np.interp(np.linspace(-1, 9, 21), x[0, 0], x[1, 0], left=5, period=None)
y = np.interp(np.linspace(-1, 9, 21), [0.5, 1, 3], [2, 5, 3], period=4)
y = np.interp([0.5, 1, 1.5], [0, 1, 2], [np.inf, 3, -np.inf])
y = np.median(x * (1 + 1j) - 3, axis=(0, 2)); y = y.real + y.imag
y = np.nanmedian(np.where(x > 20, np.nan, x), [1, 2])
y = np.average(x.astype(np.int8), 1, weights=[1, 2, 0])
y = np.histogram(x, 7, (3, 9.5), density=True)[0]
y = np.histogram(x, 'sturges')[1]
y = np.histogramdd(x[0], (2, 3, 2, 1), density=True)[0]
y = np.digitize(x, [np.nan] * 3)
y = np.argmax(np.exp(1j * x), 1); y = np.argmin(np.exp(1j * x))
y = np.max(np.exp(1j * x), (0, 2)); y = y.real * 2 + y.imag
y = np.maximum(x[0] * 1j, np.nan + 1j).real
y = np.unique(np.array([complex(7, np.nan), 2, 2, complex(np.nan, 3)]), equal_nan=False).imag
y = np.unique(np.array([[np.nan, 1], [np.nan, 1]]), axis=0).shape
y = np.argsort(np.asarray(3.0))
y = np.pad(x[0], 2, lambda row, n, axis, k: row.__setitem__(slice(0, n[0]), 5 + axis))
y = np.append(x, [[1]])
y = np.divmod(np.array([3, -3, 7], np.int32), [0, 0, 2])
y = np.true_divide(np.array([3, 7], np.uint8), -2)
y = np.vander(x[0, 0], 3, increasing=True)
np.copyto(x, 5, where=1.5)
y = x.conj(); y[0] = 9
y = np.tril(x[0, 0])
y = np.searchsorted(np.asarray([3, 1, 2]), np.asarray([1.5, 2.5]), sorter=np.asarray([1, 2, 0]))
y = np.tile(A=x, reps=2)
y = np.indices((2, 2), dtype=bool)
y = np.diag_indices(3)[1]
"""


@pytest.mark.thorough("histogramdd", "histogram2d", "interp(np.linspace", "place(", "gradient", "nanmedian")
@pytest.mark.daily("unique", "1j")
@pytest.mark.filterwarnings("ignore:.*:RuntimeWarning")
@pytest.mark.parametrize("statements", STATEMENTS.strip().splitlines())
def test_statements(statements):
    if "ptp" in statements:
        statements = "y = np.ptp(x, 1)"
    (x, y), (our_x, our_y) = both(statements)
    np.testing.assert_allclose(our_x, x, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(our_y, y, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", [None, *"?bHifdF"])
def test_dtype_of_lists(dtype):
    if dtype:
        assert ours.array([1, 2], dtype=dtype).dtype == ours.asarray([1.0], dtype).dtype == np.dtype(dtype)
    else:
        assert ours.array([1, 2]).dtype.kind == "i"


DTYPES = """
einsum('ij->ij', np.ones((2, 2), np.int8), dtype=np.int16)
einsum('ij->i', np.ones((2, 2), np.int8), dtype=np.int16)
median(np.ones(3, np.float16))
median(np.ones(3, np.int8))
quantile(np.ones(3, np.int8), np.float32(0.5) * np.ones(1, np.float32), method='hazen')
average(np.ones(3, np.int8))
average(np.ones(3, np.float32))
append(np.ones(1, np.int8), 10)
vander(np.ones(2, np.float32))
sort_complex(np.ones(2, np.float32))
imag(np.ones(2, bool))
floor_divide(np.ones(2, np.uint8), -2, dtype=np.float64)
copysign(np.ones(2, np.int8), np.ones(2, np.uint8))
add(np.ones(2, np.int8), np.ones(2, np.uint8))
interp(np.ones(2, np.float32), np.arange(3, dtype=np.float32), np.arange(3, dtype=np.float32))
mgrid[0:2, 0:3]
ogrid[0:1:3j][0]
histogram(np.ones(2, np.float32), 3, (0, 2))[1]
conjugate(np.ones(2, bool))
"""


@pytest.mark.parametrize("call", DTYPES.strip().splitlines())
def test_dtypes(call):
    expected = eval(f"np.{call}", {"np": np})
    with jax.enable_x64(True):
        got = eval(f"np.{call}", {"np": ours})
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(np.asarray(got), expected, rtol=1e-6)


LAYOUTS = [
    "x",
    "x.T",
    "x[:, ::2]",
    "x[0]",
    "x.swapaxes(1, 2)",
    "x[..., None]",
    "np.flip(x)",
    "x.reshape(6, 4).T",
]


@pytest.mark.parametrize("text", LAYOUTS)
def test_layout(text):
    theirs = eval(text, {"np": np, "x": np.zeros((2, 3, 4), np.float32)})
    made = eval(text, {"np": ours, "x": ours.zeros((2, 3, 4), np.float32)})
    assert made.strides == theirs.strides
    for flag in ("C_CONTIGUOUS", "F_CONTIGUOUS"):
        assert made.flags[flag] == theirs.flags[flag]
    for order in "CFAK":
        host = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
        expected = eval(text, {"np": np, "x": host}).ravel(order)
        got = eval(text, {"np": ours, "x": ours.asarray(host)}).ravel(order)
        np.testing.assert_array_equal(np.asarray(got), expected)


@pytest.mark.parametrize("name", [name for name, u in ours._ufuncs.UFUNCS.items() if u.nout == 1])
def test_ufuncs_have_numpys_dtypes(name):
    """In one program for all dtypes."""
    function, numpys = getattr(ours, name), getattr(np, name)
    taken, expected = [], []
    for char in "?bHifdF":
        args = [np.ones(2, char)] * numpys.nin
        try:
            with np.errstate(all="ignore"):
                expected.append(numpys(*args))
        except TypeError:
            with pytest.raises(TypeError):
                function(*map(ours.asarray, args))
        else:
            taken.append(args)
    with jax.enable_x64(True):
        found = jax.jit(lambda calls: [function(*map(ours.asarray, args)) for args in calls])(taken)
    for got, numpys in zip(found, expected, strict=True):
        assert got.dtype == numpys.dtype
        np.testing.assert_allclose(np.asarray(got), numpys, rtol=1e-3)


@pytest.mark.parametrize("way", ["jaxs"], indirect=True)
def test_errors_of_jaxs_way():
    x = ours.zeros((2, 3))
    with pytest.raises(ValueError, match="not reorderable"):
        ours.subtract.reduce(x, axis=(0, 1))
    with pytest.raises(ValueError, match="no identity: give initial to use a where mask"):
        ours.subtract.reduce(x, where=x > 0)
    with pytest.raises(ValueError, match="no identity: give initial of an array of no elements"):
        ours.subtract.reduce(x[:0])
    with pytest.raises(TypeError, match="takes 2 arrays"):
        ours.add(x)
    with pytest.raises(ValueError, match="out"):
        ours.add(x, x, out=ours.zeros(3))
    with pytest.raises(TypeError, match="cannot cast"):
        ours.add(x, 1.5, out=ours.zeros((2, 3), int))
    with pytest.raises(IndexError):
        x.take([7])
    with pytest.raises(ValueError, match="NaN"):
        ours.array([np.nan], dtype=int)
    with pytest.raises(ValueError, match="must have the dtype"):
        ours.dot(x, x.T, out=ours.zeros((2, 2), np.float16))
    with pytest.raises(TypeError, match="at most length 2"):
        ours.arange(3, dtype=bool)
    with pytest.raises(IndexError, match="integers or bools"):
        ours.delete(x, [0.5])
    with pytest.raises(ValueError, match="obj of bools"):
        ours.delete(x, True)
    with pytest.raises(TypeError, match=r"Use \(\)"):
        ours.zeros(None)
    with pytest.raises(AttributeError, match="leave the line out"):
        ours.get_default_memory_pool()
    with pytest.raises(AttributeError, match="2-D arrays"):
        ours.matrix([1])


def test_an_array_is_made_of_a_scalar_in_jit():
    def alias_and_write(t):
        before = t
        t += 1
        t[...] = t * 2
        return before, t

    for make in (ours.array, lambda t: t[...]):
        results = jax.jit(lambda t, make=make: alias_and_write(make(t)))(ours.array(5.0))
        assert [float(x) for x in results] == [12, 12]


def accumulate_numbers(np, x):
    """Change numbers in place that other names hold, too, and are to keep."""
    total = np.zeros(3).sum()
    totals = []
    for k in range(3):
        total += k
        totals.append(total)
    best = largest = x.max()
    largest *= 2
    first = kept = x[0]
    first += 5
    size = saved = np.linalg.norm(x)
    size -= 1
    product = before = np.dot(x, x)
    product += 1
    place = found = np.argmax(x)
    place += 1
    count = counted = np.count_nonzero(x)
    count -= 1
    return [*totals, best, largest, kept, first, saved, size, before, product, found, place, counted, count]


def test_numbers_are_kept_in_jit():
    x = np.array([3.0, 0.0, 4.0])
    expected = accumulate_numbers(np, x)
    made = jax.jit(lambda x: accumulate_numbers(ours, x))(ours.asarray(x))
    np.testing.assert_allclose([float(number) for number in made], expected)


def test_what_cupy_programs_ask_of_cuda():
    cuda = ours.cuda
    assert cuda.runtime.getDeviceCount() == jax.device_count()
    for device in (cuda.Device(0), cuda.Device()):
        with device, cuda.Stream(non_blocking=True):
            x = ours.arange(3)
        assert int(device) == device.id == 0
        device.synchronize()
    assert x.tolist() == [0, 1, 2]
    cuda.Stream.null.synchronize()
    cuda.runtime.deviceSynchronize()
    with pytest.raises(IndexError):
        cuda.Device(jax.device_count())


def test_the_first_device_draws_the_same_numbers():
    def drawn():
        ours.random.seed(3)
        return ours.random.rand(4).tolist()

    before = jax.config.jax_default_device
    expected = drawn()
    try:
        with ours.cuda.Device(0):
            assert drawn() == expected
        ours.cuda.Device(0).use()
        assert drawn() == expected
        if jax.device_count() > 1:
            ours.cuda.Device(1).use()
            with ours.cuda.Device(0):
                assert drawn() == expected
                assert jax.numpy.zeros(1).devices() == {jax.devices()[0]}
            assert jax.numpy.zeros(1).devices() == {jax.devices()[1]}
    finally:
        jax.config.update("jax_default_device", before)
