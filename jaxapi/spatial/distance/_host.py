"""Distances outside of transformations on the CPU: by SciPy and NumPy, in float64, where those are right.

They are where all numbers are 0 or of sizes that float32 could have, as there float64 neither overflows nor
vanishes. Other numbers, NaN and infinity, and batches of rows are left to the programs of `_pairs`, and so
are so many distances that compiling those programs pays.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy

from ..._core._typing import Array
from ..._interop import aligned_empty, all_in_memory, memory_of, placed_on_device_of_one
from .._scipy._ckdtree import ckdtree
from ._metric import Metric, Parameters
from ._metrics import BooleanMetric, UserMetric

__all__ = ["are_finite", "condensed_on_host", "farthest_on_host", "matrix_on_host", "vectors_on_host"]

_SMALLEST = 2.0**-150
_LARGEST = 2.0**128
_MOST_TERMS = 1 << 28  # coordinates of pairs: of more, XLA's programs take less time, with their compilation
_FEW_COLUMNS = 8  # in which a tree finds the nearest row sooner than all distances
_LEAF_SIZE = 24  # with which a tree that is built for one search takes least
_TILE = 1 << 20  # distances


class _Rows(NamedTuple):
    """What distances are computed of."""

    a: np.ndarray  # (nA, m), float64
    b: np.ndarray  # (nB, m), float64; `a` itself for pairs of rows of one array
    weights: np.ndarray | None  # (m,), float64, none of them 0
    parameters: Parameters
    rounding: float  # of the numbers as they were given

    def prepared(self, prepare: Callable[[np.ndarray], np.ndarray]) -> "_Rows":
        """Return what a function makes of the rows."""
        a = prepare(self.a)
        return self._replace(a=a, b=a if self.b is self.a else prepare(self.b))

    def all_rows(self) -> np.ndarray:
        """Return the rows of which a metric's default is made."""
        return self.a if self.b is self.a else np.concatenate([self.a, self.b])


# Fills the distances of all pairs (nA, nB), or of pairs of rows of one array, in condensed form; or says no.
_Computation = Callable[[_Rows, np.ndarray], bool]


def matrix_on_host(
    dtype: np.dtype, metric: Metric, XA: Array, XB: Array, parameters: Parameters
) -> Array | None:
    """Return the distances (nA, nB) of all pairs of rows; None where a program is to compute them."""
    if XA.ndim != 2 or XB.ndim != 2:
        return None
    return _on_host(dtype, metric, (XA, XB), parameters, (XA.shape[0], XB.shape[0]))


def condensed_on_host(dtype: np.dtype, metric: Metric, X: Array, parameters: Parameters) -> Array | None:
    """Return the distances of all pairs of rows of one array, in condensed form, or None."""
    if X.ndim != 2:
        return None
    n = X.shape[0]
    return _on_host(dtype, metric, (X,), parameters, (n * (n - 1) // 2,))


def vectors_on_host(
    dtype: np.dtype, metric: Metric, u: Array, v: Array, parameters: Parameters
) -> Array | None:
    """Return the distance of two vectors, or None."""
    if u.ndim != 1 or v.ndim != 1:
        return None
    return _on_host(dtype, metric, (u, v), parameters, ())


def _on_host(
    dtype: np.dtype,
    metric: Metric,
    given: tuple[Array, ...],
    parameters: Parameters,
    shape: tuple[int, ...],
) -> Array | None:
    if isinstance(metric, UserMetric) or dtype.itemsize < 4:
        return None
    arrays = all_in_memory(given)
    if arrays is None:
        return None
    is_matrix = bool(shape)
    rows = _rows(metric, arrays, parameters, dtype, is_matrix)
    if rows is None or len(rows.a) * len(rows.b) * rows.a.shape[1] > _MOST_TERMS or 0 in shape:
        return None
    compute = _METRICS[metric.name]
    distances = aligned_empty(shape or (1, 1), np.dtype(np.float64))
    with np.errstate(all="ignore"):
        if not compute(rows, distances):
            return None
        if dtype != np.float64:
            wide = distances
            distances = aligned_empty(wide.shape, dtype)
            np.copyto(distances, wide, casting="same_kind")
    return placed_on_device_of_one(given, distances.reshape(shape))


def _rows(
    metric: Metric, given: list[np.ndarray], parameters: Parameters, dtype: np.dtype, is_matrix: bool
) -> _Rows | None:
    """Return rows and weights without columns of weight 0; None if there are none, or not in range.

    Boolean metrics of numbers other than 0 and 1 follow their formula, but matrices as `takes_truth` says.
    """
    weights = None
    if parameters.weights is not None:
        weights = _in_memory(parameters.weights)
        if weights is None or weights.ndim != 1 or not _is_in_range(weights):
            return None
    is_of_truth = isinstance(metric, BooleanMetric)
    arrays = []
    for x in given:
        x = x[np.newaxis] if x.ndim == 1 else x
        if is_of_truth:
            any_number = is_matrix and metric.takes_truth
            if x.dtype != np.bool and not any_number and not np.isin(x, (0, 1)).all():
                return None
            x = x != 0
        if weights is not None and not weights.all():
            x = x[:, weights != 0]
        if 0 in x.shape or not _is_in_range(x):
            return None
        arrays.append(np.ascontiguousarray(x, np.bool if is_of_truth else np.float64))
    if weights is not None:
        weights = weights[weights != 0].astype(np.float64)
    return _Rows(arrays[0], arrays[-1], weights, parameters, float(np.finfo(dtype).eps))


def _in_memory(x: Any) -> np.ndarray | None:
    """Return the memory of a parameter, which may be NumPy's array; None if it is not on the CPU."""
    return x if isinstance(x, np.ndarray) else memory_of(x)


def _is_in_range(x: np.ndarray) -> bool:
    if x.dtype.kind != "f" or not x.size:  # integers of 64 bits are smaller than the largest
        return True
    sizes = np.abs(x)
    largest = float(np.max(sizes))
    smallest = float(np.min(sizes))
    if smallest == 0:
        smallest = float(np.min(sizes, where=sizes > 0, initial=np.inf))  # which takes twice as long
    return largest <= _LARGEST and smallest >= _SMALLEST  # not if it is NaN


def are_finite(x: Any) -> bool | None:
    """Return whether all numbers of a concrete array are finite; None if they are not on the CPU."""
    x = _in_memory(x)
    return None if x is None else bool(np.isfinite(x).all())


# The metrics


def _by_scipy(rows: _Rows, distances: np.ndarray, metric: Any, **options: Any) -> bool:
    """Compute distances by SciPy's function of a name."""
    options["out"] = distances
    if rows.weights is not None:
        options["w"] = rows.weights
    if distances.ndim == 1:
        scipy.spatial.distance.pdist(rows.a, metric, **options)
    else:
        scipy.spatial.distance.cdist(rows.a, rows.b, metric, **options)
    return True


def _of_name(metric: str) -> _Computation:
    return lambda rows, distances: _by_scipy(rows, distances, metric)


def _chebyshev(rows: _Rows, distances: np.ndarray) -> bool:
    return _by_scipy(rows._replace(weights=None), distances, "chebyshev")


def _minkowski(rows: _Rows, distances: np.ndarray) -> bool:
    """Compute distances where neither powers of differences nor roots of their sums overflow or vanish."""
    p = rows.parameters.p
    sizes = np.abs(rows.all_rows())
    largest = np.max(sizes)
    if largest == 0:
        distances[...] = 0
        return True
    smallest = np.min(sizes, where=sizes > 0, initial=np.inf)
    # A difference is a multiple of the last place of the smallest number.
    exponents = np.log2(largest) + 1, np.log2(smallest) - 53
    if max(p, 1 / p) * max(map(abs, exponents)) > 700:
        return False
    return _by_scipy(rows, distances, "minkowski", p=p)


def _seuclidean(rows: _Rows, distances: np.ndarray) -> bool:
    """Compute distances by given weights, or by SciPy's default of the variances."""
    if rows.weights is None:
        variances = np.var(rows.all_rows(), axis=0, ddof=1)
        weights = 1 / variances
        if not _is_in_range(weights) or not weights.all():  # of rows that are constant
            return False
        rows = rows._replace(weights=weights)
    return _by_scipy(rows, distances, "euclidean")


def _cosine(rows: _Rows, distances: np.ndarray) -> bool:
    """Halve squares of differences of rows of length 1, which keeps small angles."""

    def of_length_1(x: np.ndarray) -> np.ndarray:
        return x / np.sqrt(_sums(np.square(x), rows.weights))

    _by_scipy(rows.prepared(of_length_1), distances, "sqeuclidean")
    distances *= 0.5  # a division takes four times as long
    return True


def _correlation(rows: _Rows, distances: np.ndarray) -> bool:
    def centered(x: np.ndarray) -> np.ndarray:
        total_weight = x.shape[1] if rows.weights is None else np.sum(rows.weights)
        for _ in range(2):  # the second time takes away the first mean's rounding
            x = x - _sums(x, rows.weights) / total_weight
        return x

    return _cosine(rows.prepared(centered) if rows.parameters.centered else rows, distances)


def _sums(x: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Return the sums (n, 1) of rows, times weights."""
    return np.sum(x if weights is None else x * weights, axis=1, keepdims=True)


def _hellinger(rows: _Rows, distances: np.ndarray) -> bool:
    _by_scipy(rows.prepared(np.sqrt), distances, "sqeuclidean")
    distances *= 0.5
    np.sqrt(distances, out=distances)
    return True


def _inner_product(rows: _Rows, distances: np.ndarray) -> bool:
    if distances.ndim == 1:
        return False
    np.matmul(rows.a, rows.b.T, out=distances)
    return True


def _mahalanobis(rows: _Rows, distances: np.ndarray) -> bool:
    """Compute distances by a given inverse, or by that of the covariance of all rows."""
    given = rows.parameters.inverse_covariance
    if given is None:
        rows, inverse = _with_inverse_covariance(rows)
    else:
        inverse = _in_memory(given)
        if inverse is None or inverse.ndim != 2 or not _is_in_range(inverse):
            return False
    if inverse is None:
        distances[...] = np.nan
        return True
    return _by_scipy(rows, distances, "mahalanobis", VI=np.ascontiguousarray(inverse, np.float64))


def _with_inverse_covariance(rows: _Rows) -> tuple[_Rows, np.ndarray | None]:
    """Return rows in units of columns, and the inverse of their covariance matrix; None if it has none."""
    _, exponents = np.frexp(np.max(np.abs(rows.all_rows()), axis=0))
    rows = rows.prepared(lambda x: np.ldexp(x, -exponents))
    every = rows.all_rows()
    deviations = every - np.mean(every, axis=0)
    covariance = deviations.T @ deviations / (len(every) - 1)
    rounding = 8 * len(covariance) * np.finfo(np.float64).eps
    variances = np.diagonal(covariance)
    if (variances <= rounding**2).any():
        return rows, None
    units = np.sqrt(variances)
    sizes = np.linalg.svd(covariance / units[:, np.newaxis] / units, compute_uv=False)
    if sizes[-1] <= rounding * sizes[0]:
        return rows, None
    return rows, np.linalg.inv(covariance)


def _jensen_shannon(rows: _Rows, distances: np.ndarray) -> bool:
    def of_sum_1(x: np.ndarray) -> np.ndarray:
        return x / np.sum(x, axis=1, keepdims=True)

    def terms(p: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Return ``p log(p/m) + q log(q/m)``, as `_metrics` does for traced numbers."""
        total = p + q
        e = np.where(total == 0, 0, (p - q) / total)
        e[np.abs(e) <= 4 * rows.rounding] = 0
        of_small = e * (np.log1p(e) - np.log1p(-e)) + np.log1p(-np.square(e))
        is_large = np.abs(e) >= 0.5
        if is_large.any():
            large = e[is_large]
            of_small[is_large] = _x_log_x(1 + large) + _x_log_x(1 - large)
        return total / 2 * of_small

    base = rows.parameters.base
    _by_rows(rows.prepared(of_sum_1), distances, terms)
    np.maximum(distances, 0, out=distances)
    distances /= 2 if base is None else 2 * np.log(np.float64(base))
    np.sqrt(distances, out=distances)
    return True


def _x_log_x(x: np.ndarray) -> np.ndarray:
    return np.where(x == 0, 0, x * np.log(x))


def _kl_divergence(rows: _Rows, distances: np.ndarray) -> bool:
    def terms(u: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.where(u == 0, 0, u * np.log(u / v))

    _by_rows(rows, distances, terms)
    return True


def _by_rows(rows: _Rows, distances: np.ndarray, terms: Callable[..., np.ndarray]) -> None:
    """Fill in sums of terms of two coordinates, a row of `a` at a time."""
    columns = np.ascontiguousarray(rows.b.T)
    begin = 0
    for i, row in enumerate(rows.a[:, :, np.newaxis]):
        first = 0 if distances.ndim == 2 else i + 1
        line = distances[i] if distances.ndim == 2 else distances[begin : begin + len(rows.b) - first]
        np.sum(terms(row, columns[:, first:]), axis=0, out=line)
        begin += len(line)


_METRICS: dict[str, _Computation] = {
    "chebyshev": _chebyshev,
    "correlation": _correlation,
    "cosine": _cosine,
    "hellinger": _hellinger,
    "inner_product": _inner_product,
    "jensenshannon": _jensen_shannon,
    "kl_divergence": _kl_divergence,
    "mahalanobis": _mahalanobis,
    "minkowski": _minkowski,
    "seuclidean": _seuclidean,
}
_METRICS |= {
    metric: _of_name(metric)
    for metric in (
        "braycurtis",
        "canberra",
        "cityblock",
        "dice",
        "euclidean",
        "hamming",
        "jaccard",
        "rogerstanimoto",
        "russellrao",
        "sokalsneath",
        "sqeuclidean",
        "yule",
    )
}


def farthest_on_host(dtype: np.dtype, u: Array, v: Array) -> tuple[Array, Array, Array] | None:
    """Return what `directed_hausdorff` does of two arrays of rows, or None."""
    arrays = all_in_memory((u, v))
    if arrays is None or u.ndim != 2 or v.ndim != 2 or dtype.itemsize < 4 or u.shape[1] == 0:
        return None
    is_many = u.shape[1] > _FEW_COLUMNS and len(u) * len(v) * u.shape[1] > _MOST_TERMS
    if is_many or not all(map(_is_in_range, arrays)):
        return None
    a, b = (np.ascontiguousarray(x, np.float64) for x in arrays)
    with np.errstate(over="ignore"):
        i = int(np.argmax(_nearest(a, b).astype(dtype)))
        of_row = scipy.spatial.distance.cdist(a[i : i + 1], b)[0].astype(dtype)
    j = int(np.argmin(of_row))
    of_pair = np.asarray(of_row[j]), np.asarray(i, np.int32), np.asarray(j, np.int32)
    distance, row, nearest_row = placed_on_device_of_one((u, v), of_pair)
    return distance, row, nearest_row


def _nearest(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the distance of each row to the nearest row of another array."""
    if a.shape[1] <= _FEW_COLUMNS:
        tree = ckdtree()(b, leafsize=_LEAF_SIZE, balanced_tree=False, compact_nodes=False)
        return tree.query(a)[0]
    size = max(1, _TILE // len(b))
    tiles = [a[first : first + size] for first in range(0, len(a), size)]
    return np.concatenate([scipy.spatial.distance.cdist(tile, b).min(axis=1) for tile in tiles])
