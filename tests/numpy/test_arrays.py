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
np.power.at(x[0, 0], np.array([1, 1, 2]), 2)
np.add(x, 1, out=x); np.multiply(x, 2, out=x, where=x > 5)
y = np.add.reduce(x, axis=(0, 2), keepdims=True)
y = np.multiply.accumulate(x, 1)
y = np.subtract.outer(x[0, 0], x[0, 1])
y = np.hypot.reduce(x, 2)
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
"""


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
    function, numpys = getattr(ours, name), getattr(np, name)
    for char in "?bHifdF":
        args = [np.ones(2, char)] * numpys.nin
        try:
            with np.errstate(all="ignore"):
                expected = numpys(*args)
        except TypeError:
            with pytest.raises(TypeError):
                function(*map(ours.asarray, args))
            continue
        with jax.enable_x64(True):
            got = function(*map(ours.asarray, args))
        assert got.dtype == expected.dtype, char
        np.testing.assert_allclose(np.asarray(got), expected, rtol=1e-3)


def test_errors():
    x = ours.zeros((2, 3))
    with pytest.raises(TypeError, match="at writes to an array"):
        ours.add.at(np.zeros(2), 0, 1)
    with pytest.raises(ValueError, match="not reorderable"):
        ours.subtract.reduce(x, axis=(0, 1))
    with pytest.raises(TypeError, match="takes 2 arrays"):
        ours.add(x)
    with pytest.raises(ValueError, match="out"):
        ours.add(x, x, out=ours.zeros(3))
    with pytest.raises(TypeError, match="cannot cast"):
        ours.add(x, 1.5, out=ours.zeros((2, 3), int))
    with pytest.raises(IndexError):
        x.take([7])
    with pytest.raises(AttributeError, match="2-D arrays"):
        ours.matrix([1])
