"""Say which of SciPy's functions run on which arrays, eagerly and in `jax.jit`: docs/scipy-functions.csv.

    python docs/make_scipy.py [signal special ...]

Each case is an expression. NumPy's arrays give the oracle, the others are the same arrays elsewhere.
"""

import csv
import importlib
import os
import pathlib
import re
import sys
import warnings

os.environ["SCIPY_ARRAY_API"] = "1"  # before SciPy is imported

import jax
import jax.numpy as jnp
import numpy as np

import jaxapi.mutable
import jaxapi.numpy

TABLE = pathlib.Path(__file__).with_name("scipy-functions.csv")
NAMESPACES = {"jax": jnp, "mutable": jaxapi.mutable, "numpy": jaxapi.numpy}
RANDOM = np.random.default_rng(0)
SQUARE = RANDOM.random((6, 6))
ARRAYS = {
    "v": RANDOM.random(16) * 0.8 + 0.1,
    "w": RANDOM.random(16) * 0.8 + 0.1,
    "grid": np.arange(16.0),
    "filt": RANDOM.random(5),
    "long": RANDOM.random(64),
    "m": SQUARE,
    "spd": SQUARE @ SQUARE.T + 6 * np.eye(6),
    "tri": np.triu(SQUARE + np.eye(6)),
    "image": RANDOM.random((8, 9)),
    "points": RANDOM.random((10, 3)),
    "quats": RANDOM.random((10, 4)),
    "places": RANDOM.random((2, 10)) * 5,
}
CASES = """
signal.argrelmax(v)[0]
signal.convolve(v, filt)
signal.convolve2d(image, m)
signal.correlate(v, filt)
signal.czt(v)
signal.decimate(long, 2)
signal.deconvolve(v, filt)
signal.detrend(v)
signal.envelope(v)
signal.fftconvolve(v, filt)
signal.filtfilt(filt[:2], filt[2:4], v)
signal.find_peaks(v)[0]
signal.freqz(filt, worN=8)
signal.hilbert(v)
signal.lfilter(filt, filt[:2], v)
signal.medfilt(v, 3)
signal.oaconvolve(v, filt)
signal.periodogram(v)
signal.resample(v, 8)
signal.savgol_filter(v, 5, 2)
signal.sawtooth(v)
signal.spectrogram(v, nperseg=8)
signal.upfirdn(filt, v, 2)
signal.welch(v, nperseg=8)
special.beta(v, w)
special.betainc(v, w, v)
special.betaln(v, w)
special.digamma(v)
special.entr(v)
special.erf(v)
special.erfc(v)
special.erfinv(v)
special.exp1(v)
special.expit(v)
special.gamma(v)
special.gammainc(v, w)
special.gammaincc(v, w)
special.gammaln(v)
special.hyp1f1(v, w, v)
special.i0(v)
special.i1e(v)
special.j0(v)
special.jv(v, w)
special.kl_div(v, w)
special.log_ndtr(v)
special.log_softmax(v)
special.logit(v)
special.logsumexp(v)
special.ndtr(v)
special.ndtri(v)
special.rel_entr(v, w)
special.softmax(v)
special.stdtrit(v, w)
special.xlogy(v, w)
special.zeta(v + 1, w)
ndimage.affine_transform(image, m[:2, :2], order=1)
ndimage.binary_dilation(image > 0.5)
ndimage.center_of_mass(image)
ndimage.convolve(image, m[:3, :3])
ndimage.correlate(image, m[:3, :3])
ndimage.distance_transform_edt(image > 0.5)
ndimage.gaussian_filter(image, 1.0)
ndimage.label(image > 0.5)
ndimage.map_coordinates(image, places, order=1)
ndimage.maximum_filter(image, 3)
ndimage.median_filter(image, 3)
ndimage.rotate(image, 30, order=1)
ndimage.shift(image, 1.5, order=1)
ndimage.sobel(image)
ndimage.sum_labels(image)
ndimage.uniform_filter(image, 3)
ndimage.zoom(image, 2, order=1)
stats.bartlett(v, w)
stats.circmean(v)
stats.describe(v).variance
stats.energy_distance(v, w)
stats.entropy(v)
stats.f_oneway(v, w)
stats.gaussian_kde(v)(w)
stats.gmean(v)
stats.iqr(v)
stats.jarque_bera(v)
stats.kendalltau(v, w)
stats.ks_2samp(v, w)
stats.kurtosis(v)
stats.levene(v, w)
stats.linregress(v, w)
stats.mannwhitneyu(v, w)
stats.moment(v, 2)
stats.norm.pdf(v)
stats.Normal().pdf(v)
stats.pearsonr(v, w)
stats.quantile(v, 0.5)
stats.rankdata(v)
stats.sem(v)
stats.skew(v)
stats.spearmanr(v, w)
stats.trim_mean(v, 0.1)
stats.ttest_1samp(v, 0.5)
stats.ttest_ind(v, w)
stats.ttest_rel(v, w)
stats.variation(v)
stats.wasserstein_distance(v, w)
stats.wilcoxon(v, w)
stats.zscore(v)
linalg.block_diag(m, m)
linalg.cholesky(spd)
linalg.det(m)
linalg.eig(m)
linalg.eigh(spd)
linalg.expm(m)
linalg.inv(spd)
linalg.logm(spd)
linalg.lstsq(spd, m)[0]
linalg.lu(m)
linalg.norm(m)
linalg.pinv(m)
linalg.polar(m)
linalg.qr(m)
linalg.schur(m)
linalg.solve(spd, m)
linalg.solve_triangular(tri, m)
linalg.sqrtm(spd)
linalg.svd(m)
linalg.toeplitz(filt)
integrate.cubature(lambda t: t[:, 0] ** 2, v[:1], v[:1] + 1).estimate
integrate.cumulative_simpson(v)
integrate.cumulative_trapezoid(v)
integrate.simpson(v)
integrate.solve_ivp(lambda t, y: -y, (0, 1), filt).y
integrate.tanhsinh(lambda t: t**2, v, v + 1).integral
integrate.trapezoid(v)
spatial.distance.cdist(points, points)
spatial.distance.cosine(v, w)
spatial.distance.directed_hausdorff(points, points + 1)[0]
spatial.distance.euclidean(v, w)
spatial.distance.jensenshannon(v, w)
spatial.distance.pdist(points)
spatial.distance.squareform(v[:6])
spatial.transform.Rotation.from_quat(quats).apply(points)
spatial.transform.Rotation.from_rotvec(points).as_matrix()
cluster.vq.kmeans2(points, points[:2], minit="matrix")[0]
cluster.vq.vq(points, points[:2])[0]
cluster.vq.whiten(points)
fft.dct(v)
fft.fft(v)
fft.rfft(v)
interpolate.AAA(v, w)(v)
interpolate.CubicSpline(grid, v)(w)
interpolate.make_interp_spline(grid, v)(2.5)
differentiate.derivative(lambda t: t**2, v).df
differentiate.jacobian(lambda t: t**2, filt).df
optimize.elementwise.find_root(lambda t: t**2 - 0.3, (v * 0, v * 0 + 1)).x
optimize.minimize(lambda t: (t**2).sum(), filt).x
optimize.rosen(filt)
"""
MODULES = "cluster.vq differentiate fft integrate interpolate linalg ndimage optimize.elementwise signal"
MODULES += " spatial.distance spatial.transform special stats"


def leaves(result):
    """Return the arrays and numbers of a result, which may be a tuple or a record of tests' results."""
    if isinstance(result, (tuple, list)):
        return [leaf for part in result for leaf in leaves(part)]
    if hasattr(result, "pvalue"):
        return [result.statistic, result.pvalue]
    return [] if result is None else [result]


def is_close(result, expected) -> bool:
    pairs = list(zip(map(np.asarray, result), map(np.asarray, expected), strict=True))
    return all(
        a.shape == b.shape and np.allclose(a, b, rtol=1e-8, atol=1e-8, equal_nan=True) for a, b in pairs
    )


def outcome(case: str, namespace, is_traced: bool) -> str:
    """Run a case: yes, numpy (the right values in NumPy's arrays), wrong, or no."""
    scipys = {name.split(".")[0]: importlib.import_module(f"scipy.{name.split('.')[0]}") for name in CHOSEN}
    names = [name for name in ARRAYS if re.search(rf"\b{name}\b", case)]
    run = eval(f"lambda {', '.join(names)}: {case}", {**scipys, "np": np})
    hosts = [ARRAYS[name] for name in names]
    expected = leaves(run(*hosts))

    def arrays_of(*arrays):
        return leaves(run(*arrays))

    try:
        call = jax.jit(arrays_of) if is_traced else arrays_of
        result = call(*map(namespace.asarray, hosts))
        if not is_close(result, expected):
            return "wrong"
    except Exception:
        return "no"
    is_device_array = [isinstance(leaf, jax.Array | jaxapi.mutable.Array) for leaf in result]
    return "yes" if all(is_device_array) else "numpy"


def main():
    jax.config.update("jax_enable_x64", True)
    warnings.simplefilter("ignore")
    with TABLE.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["function", *(f"{name}{way}" for name in NAMESPACES for way in ("", " in jit"))])
        for case in CASES.strip().splitlines():
            if any(case.startswith(f"{name}.") for name in CHOSEN):
                found = [outcome(case, xp, traced) for xp in NAMESPACES.values() for traced in (False, True)]
                writer.writerow([case.split("(")[0], *found])
                file.flush()


if __name__ == "__main__":
    CHOSEN = sys.argv[1:] or MODULES.split()
    for module in CHOSEN:
        importlib.import_module(f"scipy.{module}")
    main()
