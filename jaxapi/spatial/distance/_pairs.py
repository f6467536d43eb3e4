"""Distances of all pairs of rows, and reductions of them that never hold the matrix."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core._dtypes import x64_on
from ..._core._programs import any_traced
from ..._core._typing import Array, ArrayLike
from ..._interop import as_array
from .._tree_arguments import whole
from . import _host, _matrices
from ._distance_arguments import as_numbers, computed, pair_of_rows, with_parameters, working_dtype
from ._metric import Metric, NormalRows, Parameters
from ._metrics import MetricLike, UserMetric, find_metric
from ._scales import as_truth

__all__ = ["NearestRows", "cdist", "directed_hausdorff", "distance_matrix", "kernel_sum", "nearest"]
__all__ += ["pdist"]


def cdist(
    XA: ArrayLike,
    XB: ArrayLike,
    metric: MetricLike = "euclidean",
    *,
    out: np.ndarray | None = None,
    **kwargs: Any,
) -> Array:
    """Return the distance of every row of one array from every row of another.

    As `scipy.spatial.distance.cdist` (SciPy 1.18), on every device, with derivatives and leading batch axes.
    float32 stays float32, and near rows are as exact as far ones: differences are squared, not products
    subtracted.

    Parameters
    ----------
    XA : array_like, shape (..., nA, m)
        Real rows. NaN and infinity follow the arithmetic of the metric's formula.
    XB : array_like, shape (..., nB, m)
        The leading axes broadcast.
    metric : str or callable
        A name of the table of metrics, one of SciPy's short names for it, or a function of two vectors in
        terms of `jax.numpy`, which is traced once. Boolean metrics take every number but 0 as True.
    out : numpy.ndarray, optional
        A C-contiguous float64 array that the distances are copied to, and which is returned.
    **kwargs
        The metric's options: ``w``, ``p``, ``V``, ``VI``, ``base``, ``centered``; for a function its keyword
        arguments. ``V`` and ``VI`` are those of all rows of XA and XB by default. ``p`` is a Python number.

    Returns
    -------
    Array, shape (..., nA, nB)
        Of the floating dtype of XA and XB (half precision is computed in float32), float64 for integers,
        bools and lists. No unit is assumed.

    Raises
    ------
    ValueError
        For an unknown name, rows of different lengths, a negative weight or variance, p not above 0, or ``V``
        or ``VI`` of another shape, or missing where there are too few rows to compute them from.
    TypeError
        For an option that the metric does not have, complex numbers, or a metric of another type.
    numpy.linalg.LinAlgError
        If the covariance of rows that are known has no inverse, which mahalanobis takes by default. Inside
        jit the distances are nan.

    Notes
    -----
    Works under jit, vmap, grad and shard_map, and on sharded arrays, where rows of XA stay where they are.
    Memory is that of the result and the rows; derivatives go over tiles. Where the distance is 0 and has a
    corner they are 0. Inside jit weights and variances are not checked. A new function as metric compiles
    anew: define it once.

    Examples
    --------
    >>> from jaxapi.spatial import distance
    >>> distance.cdist([[0, 0], [3, 0]], [[3, 4]]).tolist()
    [[5.0], [4.0]]
    >>> distance.cdist([[0, 0], [3, 0]], [[3, 4]], lambda u, v: abs(u - v).max()).tolist()
    [[4.0], [4.0]]
    """
    call = _checked(XA, XB, metric, kwargs)
    distances = _host.matrix_on_host(*call)
    if distances is None:
        distances = _cdist(*call)
    call.check_covariance(distances)
    return _written(distances, out)


def pdist(
    X: ArrayLike, metric: MetricLike = "euclidean", *, out: np.ndarray | None = None, **kwargs: Any
) -> Array:
    """Return the distances of all pairs of rows of one array, in condensed form.

    As `scipy.spatial.distance.pdist` (SciPy 1.18), with the differences of `cdist`.

    Parameters
    ----------
    X : array_like, shape (..., n, m)
        Real rows.
    metric, out, **kwargs
        As in `cdist`; ``V`` and ``VI`` are those of the rows of X by default.

    Returns
    -------
    Array, shape (..., n (n - 1) / 2)
        The distances of rows i < j, in the order of (0, 1), (0, 2), ..., (1, 2), ...; see `squareform`. Of
        the floating dtype of X, float64 for integers, bools and lists.

    Raises
    ------
    ValueError, TypeError, numpy.linalg.LinAlgError
        As `cdist`.

    Notes
    -----
    Works under jit, vmap and grad. The square matrix is computed on the way, and held.

    Examples
    --------
    >>> from jaxapi.spatial import distance
    >>> distance.pdist([[0, 0], [3, 0], [3, 4]]).tolist()
    [3.0, 5.0, 4.0]
    """
    rows = as_numbers(X)
    if rows.ndim < 2:
        raise ValueError(f"A 2-dimensional array must be passed. (Shape was {rows.shape}).")
    call = _checked(rows, rows, metric, kwargs, is_alone=True)
    of_rows = (call.dtype, call.metric, call.XA, call.parameters)
    distances = _host.condensed_on_host(*of_rows)
    if distances is None:
        distances = _pdist(*of_rows)
    call.check_covariance(distances)
    return _written(distances, out)


def distance_matrix(x: ArrayLike, y: ArrayLike, p: float = 2.0, threshold: int = 1000000) -> Array:
    """Return the matrix of all Minkowski distances.

    As `scipy.spatial.distance_matrix` (SciPy 1.18): `cdist` by the Minkowski metric.

    Parameters
    ----------
    x : array_like, shape (..., nA, m)
    y : array_like, shape (..., nB, m)
        Real rows.
    p : float
        Order of the norm, above 0, a Python number; inf for the largest difference.
    threshold : int
        Ignored: there is no large temporary array to avoid.

    Returns
    -------
    Array, shape (..., nA, nB)
        Of the floating dtype of the rows, float64 for integers and lists.

    Raises
    ------
    ValueError, TypeError, numpy.linalg.LinAlgError
        As `cdist`.

    Notes
    -----
    Works under jit, vmap and grad. NaN and infinity follow the formula's arithmetic.

    Examples
    --------
    >>> from jaxapi.spatial import distance
    >>> distance.distance_matrix([[0, 0], [0, 1]], [[1, 0], [1, 1]], p=1).tolist()
    [[1.0, 2.0], [2.0, 1.0]]
    """
    return cdist(x, y, "minkowski", p=p)


class NearestRows(NamedTuple):
    """What `nearest` returns: distances, and the rows of XB that have them."""

    distances: Array  # (..., nA, k)
    rows: Array  # (..., nA, k)


def nearest(
    XA: ArrayLike, XB: ArrayLike, k: int = 1, metric: MetricLike = "euclidean", **kwargs: Any
) -> NearestRows:
    """Return the k rows of one array that are nearest to each row of another, by any metric.

    Every distance is computed, a tile at a time, and none is kept that is not among the least k. In few
    dimensions and a Minkowski norm `jaxapi.spatial.KDTree` is faster; neither SciPy nor cuVS has this for
    every metric.

    Parameters
    ----------
    XA : array_like, shape (..., nA, m)
        Real rows.
    XB : array_like, shape (..., nB, m)
        The rows to choose from.
    k : int
        How many, 1 or more; a Python number.
    metric, **kwargs
        As in `cdist`.

    Returns
    -------
    NearestRows
        A named tuple ``(distances, rows)`` of arrays of shape (..., nA, k), as `KDTree.query` gives them for
        ``k=[1, ..., k]``: nearest first, of equal distances the lowest row. Where there are fewer than k at a
        finite distance (NaN is none) the distance is inf and the row nB. Rows are int32.

    Raises
    ------
    ValueError
        If k is below 1, and as `cdist`.
    TypeError
        If k is no integer, and as `cdist`.

    Notes
    -----
    Works under jit, vmap, grad and shard_map (XA's rows). There a covariance that has no inverse, which
    mahalanobis takes by default, makes all distances nan: no row is near. The choice has no derivative;
    distances have that of their pair. **Mask before you look up rows**: ``XB[nB]`` of a `jax.Array` is the
    last row.

    Examples
    --------
    >>> from jaxapi.spatial import distance
    >>> near = distance.nearest([[1, 0], [0, 3]], [[1, 1], [2, 0], [0, 1]], k=2, metric="cosine")
    >>> near.rows.tolist()
    [[1, 0], [2, 0]]
    """
    k = whole(k, "k")
    if k < 1:
        raise ValueError(f"k must be an integer of at least 1, got {k}")
    call = _checked(XA, XB, metric, kwargs)
    near = NearestRows(*_nearest(call.dtype, call.metric, k, call.XA, call.XB, call.parameters))
    call.check_covariance(near.distances)
    return near


def kernel_sum(
    f: Callable[[Array], Array],
    XA: ArrayLike,
    XB: ArrayLike,
    weights: ArrayLike | None = None,
    metric: MetricLike = "euclidean",
    **kwargs: Any,
) -> Array:
    """Return at each row of XA the sum over the rows of XB of a function of the distance.

    ``sum_j weights[j] f(d(XA[i], XB[j]))``: kernel densities, potentials, energies of pairs, products with a
    kernel matrix. The matrix is never held, neither here nor for derivatives.

    Parameters
    ----------
    f : callable
        Takes an array of distances, returns as many values, elementwise, in terms of `jax.numpy`. It may use
        values that are differentiated, as a bandwidth.
    XA : array_like, shape (..., nA, m)
        Where to sum.
    XB : array_like, shape (..., nB, m)
        The rows to sum over.
    weights : array_like, shape (nB,) or (nB, c), optional
        Weights, or c sets of them; 1 if omitted.
    metric, **kwargs
        As in `cdist`.

    Returns
    -------
    Array, shape (..., nA) or (..., nA, c)
        Of the floating dtype of the rows, as in `cdist`, where `f` keeps it. 0 where XB has no rows.

    Raises
    ------
    ValueError
        If weights are of another length, and as `cdist`.
    TypeError
        As `cdist`.

    Notes
    -----
    Works under jit, vmap, grad and shard_map (XA's rows). A pair of equal rows counts with f(0): for a
    potential with a pole write ``jnp.where(d > 0, 1 / jnp.where(d > 0, d, 1), 0)``. Another function
    compiles anew: define it once, or call this inside of a function under jit.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxapi.spatial import distance
    >>> distance.kernel_sum(jnp.square, [[0.0], [1.0]], [[0.0], [2.0]], weights=[1, 10]).tolist()
    [40.0, 11.0]
    """
    call = _checked(XA, XB, metric, kwargs)
    row_count = call.XB.shape[-2]
    factors = None if weights is None else as_array(weights)
    if factors is not None and (factors.ndim not in (1, 2) or factors.shape[0] != row_count):
        raise ValueError(f"weights must be of shape ({row_count},) or ({row_count}, c), got {factors.shape}")
    return _kernel_sum(call.dtype, call.metric, f, call.XA, call.XB, (factors, call.parameters))


def directed_hausdorff(
    u: ArrayLike, v: ArrayLike, rng: Any = 0, *, seed: Any = 0
) -> tuple[Array, Array, Array]:
    """Return how far a row of one array can be from the nearest row of another.

    As `scipy.spatial.distance.directed_hausdorff` (SciPy 1.18), exact, without the order of chance that SciPy
    looks in: of rows equally far the lowest counts.

    Parameters
    ----------
    u : array_like, shape (..., nA, m)
    v : array_like, shape (..., nB, m)
        Real rows.
    rng, seed : optional
        Ignored: nothing is shuffled.

    Returns
    -------
    tuple of Arrays, shape (...)
        The distance, the row of u that has it, and its nearest row of v.

    Raises
    ------
    ValueError
        If the numbers of columns differ, or u or v has no rows.

    Notes
    -----
    Works under jit, vmap and grad; the derivative is that of the one pair. Rows with NaN are infinitely far.

    Examples
    --------
    >>> from jaxapi.spatial import distance
    >>> [x.item() for x in distance.directed_hausdorff([[0, 0], [5, 0]], [[1, 0], [3, 0]])]
    [2.0, 1, 1]
    """
    first = as_numbers(u)
    second = as_numbers(v)
    if first.shape[-1:] != second.shape[-1:]:
        raise ValueError("u and v need to have the same number of columns")
    if 0 in (*first.shape[:-1], *second.shape[:-1]):
        raise ValueError("directed_hausdorff takes at least one row in each array")
    # Lists once more, as they leave the dtype to others.
    u = u if isinstance(u, list | tuple) else first
    v = v if isinstance(v, list | tuple) else second
    first, second, dtype = pair_of_rows(u, v)
    on_host = _host.farthest_on_host(dtype, first, second)
    if on_host is not None:
        return on_host
    near = nearest(first, second)
    return _farthest(near.distances.dtype, *near)


class _Call(NamedTuple):
    """The checked arguments of a public function."""

    dtype: np.dtype  # of the distances
    metric: Metric
    XA: Array
    XB: Array
    parameters: Parameters

    def check_covariance(self, distances: Array) -> None:
        """Raise where the covariance of rows that are known is singular, which leaves no distances."""
        is_mahalanobis = not isinstance(self.metric, UserMetric) and self.metric.name == "mahalanobis"
        has_default = is_mahalanobis and self.parameters.inverse_covariance is None
        if not has_default or any_traced(distances) or _are_finite(distances):
            return
        if _are_finite(self.XA) and _are_finite(self.XB):
            raise np.linalg.LinAlgError(
                "Singular matrix: rows lie on a line or plane, so their covariance matrix has no inverse; "
                "give another as VI=, for example a pseudo-inverse."
            )


def _are_finite(x: Array) -> bool:
    on_host = _host.are_finite(x)
    return bool(jnp.isfinite(x).all()) if on_host is None else on_host


def _checked(
    XA: ArrayLike, XB: ArrayLike, metric: MetricLike, options: dict[str, Any], is_alone: bool = False
) -> _Call:
    """Return what a public function was given; ``is_alone`` where XB is XA."""
    XA, XB, dtype = pair_of_rows(XA, XB)
    row_count = XA.shape[-2] + (0 if is_alone else XB.shape[-2])
    found, parameters = with_parameters(find_metric(metric), options, XA.shape[-1], row_count, dtype)
    return _Call(dtype, found, XA, XB, parameters)


def _working_rows(
    dtype: np.dtype, metric: Metric, given: list[Array], parameters: Parameters
) -> tuple[NormalRows, Parameters]:
    """Return rows of one rank as the metric takes them, and its parameters, by default made of the rows.

    One array is that of both sides.
    """
    rank = max(x.ndim for x in given)
    rows = [x.reshape((1,) * (rank - x.ndim) + x.shape) for x in given]
    if isinstance(metric, UserMetric):
        return NormalRows(rows[0], rows[-1]), parameters
    if metric.takes_truth:
        rows = [as_truth(x) for x in rows]
    rows = [x.astype(working_dtype(dtype)) for x in rows]
    rows, parameters = _matrices.in_units_of_columns(metric, rows, parameters)
    return metric.above_subnormal(rows[0], rows[-1], parameters), parameters


@computed(1)
def _cdist(dtype: np.dtype, metric: Metric, XA: Array, XB: Array, parameters: Parameters) -> Array:
    rows, parameters = _working_rows(dtype, metric, [XA, XB], parameters)
    return rows.in_users_units(_matrices.matrix(metric, rows.a, rows.b, parameters)).astype(dtype)


@computed(1)
def _pdist(dtype: np.dtype, metric: Metric, X: Array, parameters: Parameters) -> Array:
    rows, parameters = _working_rows(dtype, metric, [X], parameters)
    square = rows.in_users_units(_matrices.matrix(metric, rows.a, rows.b, parameters))
    return condensed(square.astype(dtype))


def condensed(square: Array) -> Array:
    """Return the part above the diagonal (..., n (n - 1) / 2), row after row."""
    n = square.shape[-1]
    size = n * (n - 1) // 2
    with x64_on():
        place = lax.iota(np.int64, size)
        # Rows from the last have 1, 2, 3, ... elements: a square has an exact root, others lie between.
        after = jnp.sqrt((8 * (size - 1 - place) + 1).astype(np.float64))
        i = n - 2 - jnp.floor((after - 1) / 2).astype(np.int64)
        j = place - (i * n - i * (i + 1) // 2) + i + 1
    return square.at[..., i, j].get(mode="promise_in_bounds")


@computed(1, 2)
def _nearest(
    dtype: np.dtype, metric: Metric, k: int, XA: Array, XB: Array, parameters: Parameters
) -> tuple[Array, Array]:
    rows, parameters = _working_rows(dtype, metric, [XA, XB], parameters)
    distances, neighbors = _matrices.nearest(metric, k, rows.a, rows.b, parameters)
    return rows.in_users_units(distances).astype(dtype), neighbors


@computed(1, 2)
def _kernel_sum(
    dtype: np.dtype,
    metric: Metric,
    f: Callable[[Array], Array],
    XA: Array,
    XB: Array,
    weights_and_parameters: tuple[Array | None, Parameters],
) -> Array:
    weights, parameters = weights_and_parameters
    rows, parameters = _working_rows(dtype, metric, [XA, XB], parameters)
    if weights is not None:
        weights = weights.astype(working_dtype(dtype))

    def of_distances(distances: Array) -> Array:
        return f(rows.in_users_units(distances).astype(dtype))

    return _matrices.kernel_sum(metric, of_distances, rows.a, rows.b, weights, parameters)


@computed()
def _farthest(dtype: np.dtype, distances: Array, rows: Array) -> tuple[Array, Array, Array]:
    i = jnp.argmax(distances[..., 0], axis=-1).astype(np.int32)
    row = [jnp.take_along_axis(x[..., 0], i[..., None], axis=-1)[..., 0] for x in (distances, rows)]
    return row[0], i, row[1]


def _written(result: Array, out: np.ndarray | None) -> Array:
    """Return ``out`` with the result in it, where one is given: SciPy's rules for it."""
    if out is None:
        return result
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out must be a numpy.ndarray, which can be written to, got {type(out).__name__}")
    if out.shape != result.shape:
        raise ValueError("Output array has incorrect shape.")
    if not out.flags.c_contiguous:
        raise ValueError("Output array must be C-contiguous.")
    if out.dtype != np.float64:
        raise ValueError("Output array must be double type.")
    np.copyto(out, result)
    return out  # type: ignore[return-value]
