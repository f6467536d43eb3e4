"""Libraries that take arrays of the standard, given ours; NumPy arrays through the same calls are the oracle.

Skipped only where a library is missing. Not tested, for they assign in place, which no jax array can:
most estimators of scikit-learn, scipy.integrate.tanhsinh, scipy.optimize.elementwise.
"""

import importlib.util
import os
import pickle
import subprocess
import sys

import jax
import numpy as np
import pytest

import jaxapi as xp
import jaxapi.mutable
import jaxapi.numpy

VECTOR = np.random.default_rng(1).standard_normal(12)
MATRIX = np.random.default_rng(2).standard_normal((4, 3))
HOLES = np.where(VECTOR > 1, np.nan, VECTOR)
WHOLE = np.array([3, 1, 2, 3, 7, 1])


def pieces(result):
    return list(result) if isinstance(result, tuple | list) else [result]


def assert_close(got, expected):
    assert len(pieces(got)) == len(pieces(expected))
    for ours, theirs in zip(pieces(got), pieces(expected), strict=True):
        assert isinstance(ours, jax.Array)
        np.testing.assert_allclose(np.asarray(ours), theirs, rtol=1e-5, atol=1e-6)


EXTRA = {
    "angle": lambda xpx, xp: xpx.angle(xp.asarray(MATRIX + 1j), xp=xp),
    "apply_where": lambda xpx, xp: xpx.apply_where(
        xp.asarray(VECTOR) > 0, xp.asarray(VECTOR), xp.sqrt, fill_value=0.0, xp=xp
    ),
    "argpartition": lambda xpx, xp: xp.take(
        xp.asarray(VECTOR), xpx.argpartition(xp.asarray(VECTOR), 3, xp=xp)[3:4]
    ),
    "at": lambda xpx, xp: xpx.at(xp.asarray(MATRIX.copy()))[1, :].add(2.0, xp=xp),
    "atleast_nd": lambda xpx, xp: xpx.atleast_nd(xp.asarray(VECTOR), ndim=3, xp=xp),
    "cov": lambda xpx, xp: xpx.cov(xp.asarray(MATRIX), xp=xp),
    "create_diagonal": lambda xpx, xp: xpx.create_diagonal(xp.asarray(VECTOR), offset=1, xp=xp),
    "deg2rad": lambda xpx, xp: xpx.deg2rad(xp.asarray(VECTOR), xp=xp),
    "diag_indices": lambda xpx, xp: xpx.diag_indices(3, xp=xp),
    "expand_dims": lambda xpx, xp: xpx.expand_dims(xp.asarray(VECTOR), axis=(0, 2), xp=xp),
    "isclose": lambda xpx, xp: xpx.isclose(xp.asarray(VECTOR), xp.asarray(VECTOR) + 1e-9, xp=xp),
    "isin": lambda xpx, xp: xpx.isin(xp.asarray(WHOLE), xp.asarray([1, 7]), xp=xp),
    "kron": lambda xpx, xp: xpx.kron(xp.asarray(MATRIX), xp.asarray(MATRIX), xp=xp),
    "lazy_apply": lambda xpx, xp: xpx.lazy_apply(np.cbrt, xp.asarray(VECTOR), as_numpy=True, xp=xp),
    "nan_to_num": lambda xpx, xp: xpx.nan_to_num(xp.asarray(HOLES), fill_value=-1.0, xp=xp),
    "nanmax": lambda xpx, xp: xpx.nanmax(xp.asarray(HOLES), xp=xp),
    "nanmean": lambda xpx, xp: xpx.nanmean(xp.asarray(HOLES), xp=xp),
    "nanmin": lambda xpx, xp: xpx.nanmin(xp.asarray(HOLES), xp=xp),
    "nansum": lambda xpx, xp: xpx.nansum(xp.asarray(HOLES), xp=xp),
    "nunique": lambda xpx, xp: xpx.nunique(xp.asarray(WHOLE), xp=xp),
    "one_hot": lambda xpx, xp: xpx.one_hot(xp.asarray(WHOLE), 8, xp=xp),
    "pad": lambda xpx, xp: xpx.pad(xp.asarray(MATRIX), ((1, 2), (0, 1)), constant_values=3.0, xp=xp),
    "partition": lambda xpx, xp: xpx.partition(xp.asarray(VECTOR), 3, xp=xp)[3],
    "rad2deg": lambda xpx, xp: xpx.rad2deg(xp.asarray(VECTOR), xp=xp),
    "searchsorted": lambda xpx, xp: xpx.searchsorted(
        xp.sort(xp.asarray(VECTOR)), xp.asarray([0.0, 1.0]), xp=xp
    ),
    "setdiff1d": lambda xpx, xp: xpx.setdiff1d(xp.asarray(WHOLE), xp.asarray([1, 9]), xp=xp),
    "sinc": lambda xpx, xp: xpx.sinc(xp.asarray(VECTOR), xp=xp),
    "tril_indices": lambda xpx, xp: xpx.tril_indices(3, xp=xp),
    "triu_indices": lambda xpx, xp: xpx.triu_indices(3, xp=xp),
    "union1d": lambda xpx, xp: xpx.union1d(xp.asarray(WHOLE), xp.asarray([9, 1]), xp=xp),
    "unravel_index": lambda xpx, xp: xpx.unravel_index(xp.asarray([3, 5]), (2, 3), xp=xp),
}
NO_ARRAYS = {"__version__", "broadcast_shapes", "default_dtype", "testing"}


# Names that the standard has now are deprecated in array-api-extra, and still there.
@pytest.mark.filterwarnings("ignore:.*exists in the standard:DeprecationWarning")
@pytest.mark.parametrize("name", EXTRA)
def test_array_api_extra(name):
    xpx = pytest.importorskip("array_api_extra")
    if not hasattr(xpx, name):
        pytest.skip(f"array-api-extra {xpx.__version__} has no {name}")
    assert_close(EXTRA[name](xpx, xp), EXTRA[name](xpx, np))


@pytest.mark.filterwarnings("ignore:.*exists in the standard:DeprecationWarning")
def test_array_api_extra_rest(x64):
    xpx = pytest.importorskip("array_api_extra", minversion="0.11")
    assert set(xpx.__all__) <= EXTRA.keys() | NO_ARRAYS
    assert xpx.broadcast_shapes((2, 1), (3,), xp=xp) == (2, 3)
    for kind in ("real floating", "complex floating", "integral", "indexing"):
        assert xpx.default_dtype(xp, kind) == xp.__array_namespace_info__().default_dtypes()[kind]
    # Without xp=: it must be the arrays' own namespace there, which is jax.numpy.
    xpx.testing.assert_close(xp.asarray(VECTOR), xp.asarray(VECTOR))
    xpx.testing.assert_equal(xp.asarray(WHOLE), xp.asarray(WHOLE))
    with pytest.raises(AssertionError):
        xpx.testing.assert_equal(xp.asarray(WHOLE), xp.asarray(WHOLE) + 1)
    # Under jit, too, without xp=: array-api-extra knows JAX by the name jax.numpy.
    lazy = jax.jit(lambda x: xpx.lazy_apply(np.cbrt, x, as_numpy=True))(xp.asarray(VECTOR, dtype="float32"))
    np.testing.assert_allclose(lazy, np.cbrt(VECTOR), rtol=1e-6)


def test_array_api_compat(x64):
    compat = pytest.importorskip("array_api_compat")
    x = xp.asarray(MATRIX)
    assert compat.is_jax_array(x)
    assert compat.is_array_api_obj(x)
    assert compat.is_lazy_array(x)
    assert not compat.is_writeable_array(x)
    assert not compat.is_numpy_array(x)
    assert compat.array_namespace(x, x) is x.__array_namespace__()  # jax.numpy's, which we leave alone
    assert compat.size(x) == x.size
    assert compat.device(x) == x.device == jax.devices()[0]
    moved = compat.to_device(x, jax.devices("cpu")[0])
    assert moved.dtype == x.dtype
    assert moved.device == jax.devices("cpu")[0]


def run_python(code, **environment):
    """Run code in a fresh process and return what it printed."""
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


COMPARE = """
import jax, numpy as np, jaxapi as xp
host = np.random.default_rng(0).standard_normal((24, 3)).astype("float32")
x = xp.asarray(host)
label = (host[:, 0] > 0).astype("int32")

def compare(name, function, array=True):
    expected, got = function(host, label), function(x, xp.asarray(label))
    assert isinstance(got, jax.Array) == array, (name, type(got))
    np.testing.assert_allclose(np.asarray(got), np.asarray(expected), rtol=2e-3, atol=2e-3, err_msg=name)
"""

SCIPY = """
import scipy.cluster.vq, scipy.fft, scipy.integrate, scipy.ndimage, scipy.signal, scipy.special, scipy.stats
from scipy.spatial.transform import Rotation

compare("logsumexp", lambda x, y: scipy.special.logsumexp(x, axis=0))
compare("expit", lambda x, y: scipy.special.expit(x))
compare("zscore", lambda x, y: scipy.stats.zscore(x, axis=0))
compare("rfft", lambda x, y: scipy.fft.rfft(x, axis=0))
compare("detrend", lambda x, y: scipy.signal.detrend(x, axis=0))
compare("fftconvolve", lambda x, y: scipy.signal.fftconvolve(x, x, axes=0))
compare("whiten", lambda x, y: scipy.cluster.vq.whiten(x))
compare("gaussian_filter", lambda x, y: scipy.ndimage.gaussian_filter(x, 1.0))
compare("trapezoid", lambda x, y: scipy.integrate.trapezoid(x, axis=0))
compare("Rotation", lambda x, y: Rotation.from_rotvec(x[0]).apply(x))
assert scipy.signal.windows.hann(8, xp=xp).dtype == np.float64
print("passed")
"""


@pytest.mark.thorough
def test_scipy():
    pytest.importorskip("scipy", minversion="1.17")
    assert run_python(COMPARE + SCIPY, SCIPY_ARRAY_API="1") == "passed\n"


SCIKIT_LEARN = """
import sklearn
from sklearn.decomposition import PCA
from sklearn.metrics import accuracy_score, log_loss, mean_absolute_error, mean_squared_error
from sklearn.preprocessing import StandardScaler

with sklearn.config_context(array_api_dispatch=True):
    compare("PCA", lambda x, y: abs(PCA(2, svd_solver="full").fit_transform(x)))
    compare("accuracy", lambda x, y: accuracy_score(y, y[::-1]), array=False)
    compare("mse", lambda x, y: mean_squared_error(x[:, 0], x[:, 1]), array=False)
    compare("mae", lambda x, y: mean_absolute_error(x[:, 0], x[:, 1]), array=False)
    compare("log loss", lambda x, y: log_loss(y, 1 / (1 + abs(x[:, 0]))), array=False)
with jax.enable_x64(True), sklearn.config_context(array_api_dispatch=True):
    wide = host.astype("float64")
    expected, got = (PCA(2, svd_solver="full").fit_transform(each) for each in (wide, xp.asarray(wide)))
    assert isinstance(got, jax.Array) and got.dtype == np.float64
    np.testing.assert_allclose(abs(np.asarray(got)), abs(expected), rtol=1e-9, atol=1e-12)
compare("scaler", lambda x, y: StandardScaler().fit_transform(x), array=False)
print("passed")
"""


@pytest.mark.thorough
def test_scikit_learn():
    pytest.importorskip("sklearn")
    assert run_python(COMPARE + SCIKIT_LEARN, SCIPY_ARRAY_API="1") == "passed\n"


def test_xarray(x64):
    xarray = pytest.importorskip("xarray")
    series = xarray.DataArray(xp.asarray(MATRIX), dims=("time", "channel"), coords={"time": range(4)})
    assert isinstance(series.data, jax.Array)
    mean = series.mean("time")
    assert isinstance(mean.data, jax.Array)
    np.testing.assert_allclose(mean.to_numpy(), MATRIX.mean(0), rtol=1e-6)
    assert_close(xp.asarray(series.sel(time=2)), MATRIX[2])
    table = xarray.Dataset({"x": series})
    assert xp.asarray(table["x"]).dtype == np.float64


@pytest.mark.parametrize("face", [jaxapi.mutable, jaxapi.numpy], ids=lambda module: module.__name__)
@pytest.mark.parametrize("method", ["mean", "max", "std"])
def test_windows_of_xarray(face, method):
    """They are padded by the namespace, and stay in it."""
    xarray = pytest.importorskip("xarray")
    windows, expected = (
        getattr(xarray.DataArray(x, dims=("time", "channel")).rolling(time=2, center=True), method)()
        for x in (face.asarray(MATRIX), MATRIX)
    )
    assert isinstance(windows.data, jaxapi.mutable.Array)
    np.testing.assert_allclose(np.asarray(windows.data), expected.data, rtol=1e-12)


LABELS = """
import numpy, sklearn
from sklearn.metrics import roc_auc_score
import jaxapi.numpy as np

rng = numpy.random.default_rng(0)
scores = rng.random(200)
with sklearn.config_context(array_api_dispatch=True):
    for dtype in ("int64", "int32", "float32", "int8", "bool"):
        for labels in ((0, 1), (1, 0)):
            truth = numpy.where(rng.random(200) > 0.5, *labels).astype(dtype)
            found = roc_auc_score(np.asarray(truth), np.asarray(scores))
            assert abs(float(found) - roc_auc_score(truth, scores)) < 1e-12, (dtype, labels)
"""


@pytest.mark.thorough
def test_labels_of_scikit_learn():
    """They are looked for in order, by `unique_values`."""
    pytest.importorskip("sklearn")
    run_python(LABELS, SCIPY_ARRAY_API="1")


@pytest.mark.parametrize("face", [jaxapi.mutable, jaxapi.numpy], ids=lambda module: module.__name__)
def test_unique_values_are_in_order(face):
    x = np.random.default_rng(5).permutation(np.arange(-40, 400, 7).repeat(3))
    np.testing.assert_array_equal(face.unique_values(face.asarray(x)), np.unique(x))
    with_nan = np.array([3.0, np.nan, -1.0, np.nan, 3.0])
    np.testing.assert_array_equal(face.unique_values(face.asarray(with_nan)), [-1, 3, np.nan, np.nan])


def test_what_c_code_asks_of_a_class_is_not_there():
    """`jax.Array` has no table of C functions to pass on; consumers call `__dlpack__` then."""
    assert not hasattr(jaxapi.mutable.Array, "__dlpack_c_exchange_api__")
    for array in (jaxapi.mutable.asarray(VECTOR), jaxapi.numpy.asarray(VECTOR)):
        np.testing.assert_array_equal(np.from_dlpack(array), VECTOR)


def test_numba():
    numba = pytest.importorskip("numba")

    @numba.njit
    def total(x):
        result = 0.0
        for value in x.flat:
            result += value
        return result

    x = xp.asarray(MATRIX, device=jax.devices("cpu")[0])
    assert total(np.asarray(x)) == pytest.approx(MATRIX.sum())

    @numba.njit
    def double(x):
        return 2 * x

    assert_close(xp.asarray(double(np.asarray(x))), 2 * MATRIX)


def test_pandas():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(np.asarray(xp.asarray(MATRIX)), columns=list("abc"))
    assert_close(xp.asarray(table), MATRIX)
    assert_close(xp.asarray(table["b"]), MATRIX[:, 1])


@pytest.mark.daily
def test_matplotlib():
    if importlib.util.find_spec("matplotlib") is None:
        pytest.skip("could not find matplotlib")
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    (line,) = axes.plot(xp.asarray(VECTOR), xp.asarray(HOLES))
    np.testing.assert_array_equal(line.get_ydata(), HOLES)
    np.testing.assert_array_equal(axes.imshow(xp.asarray(MATRIX)).get_array(), MATRIX)


def test_pickle(x64):
    for array in (xp.asarray(MATRIX), xp.zeros((2, 0), dtype="int64"), xp.asarray(1j, dtype="complex128")):
        with jax.enable_x64(True):  # without it JAX unpickles 64-bit arrays as 32-bit ones
            back = pickle.loads(pickle.dumps(array))
        assert back.dtype == array.dtype
        np.testing.assert_array_equal(back, array)
    for name in xp.__all__:
        function = getattr(xp, name)
        if callable(function) and getattr(function, "__module__", "").startswith("jaxapi"):
            assert pickle.loads(pickle.dumps(function)) is function, name
