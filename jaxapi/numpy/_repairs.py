"""Functions of jax.numpy that lack arguments of NumPy's, or have other dtypes, repaired: of values of JAX.

Their parameters are NumPy's; what is annotated as an array comes as a `jax.Array`.
"""

from __future__ import annotations

import builtins
import functools
from typing import Any
from typing import Any as Array
from typing import Any as ArrayLike  # the wrapper goes by these names

import jax
import jax.numpy as jnp
import numpy as np

import jaxapi

from .._core._dtypes import default_dtype, promoted_dtype, x64_for, x64_on
from .._core._programs import is_traced
from ..mutable._array import wrap
from ._wrap import narrowed


def _float(*arrays) -> np.dtype:
    """Return what NumPy's float64 is next to these arrays, by JAX's mode."""
    dtype = promoted_dtype(
        *arrays, np.dtype("complex128" if any(jnp.iscomplexobj(x) for x in arrays) else "float64")
    )
    return narrowed(dtype, *arrays)


def _refuse(is_bad, error, text):
    if is_bad:
        raise error(text)


# Quantiles

_BY_PLACE = {  # where a quantile lies among n sorted elements, by Hyndman and Fan's alpha and beta
    "interpolated_inverted_cdf": (0, 1),
    "hazen": (0.5, 0.5),
    "weibull": (0, 0),
    "linear": (1, 1),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}
_METHODS: dict[str, Any] = {
    **{
        name: (lambda n, q, a=a, b=b: n * q + (a + q * (1 - a - b)) - 1) for name, (a, b) in _BY_PLACE.items()
    },
    "linear": lambda n, q: (n - 1) * q,
    "lower": lambda n, q: jnp.floor((n - 1) * q),
    "higher": lambda n, q: jnp.ceil((n - 1) * q),
    "midpoint": lambda n, q: 0.5 * (jnp.floor((n - 1) * q) + jnp.ceil((n - 1) * q)),
    "nearest": lambda n, q: jnp.rint((n - 1) * q),
    "inverted_cdf": lambda n, q: jnp.ceil(n * q) - 1,
    "averaged_inverted_cdf": lambda n, q: jnp.where(n * q % 1 == 0, n * q - 0.5, jnp.floor(n * q)),
    "closest_observation": lambda n, q: (
        jnp.ceil(n * q - 1.5) + ((n * q - 1.5) % 1 == 0) * (jnp.floor(n * q - 1.5) % 2 != 1)
    ),
}
_OF_ELEMENTS = ("lower", "higher", "nearest", "inverted_cdf", "closest_observation")


def _quantile(x, q, axis, method, keepdims, weights, skip_nan):
    if method not in _METHODS:
        raise ValueError(f"{method!r} is not a valid method. Use one of: {list(_METHODS)}")
    if not is_traced(q) and not bool(jnp.all((q >= 0) & (q <= 1))):
        raise ValueError("Quantiles must be in the range [0, 1]")
    if weights is not None:
        if method != "inverted_cdf":
            raise ValueError(f"Only method 'inverted_cdf' supports weights. Got: {method}.")
        function = jnp.nanquantile if skip_nan else jnp.quantile
        return function(x, q, axis, method=method, keepdims=keepdims, weights=weights)
    axes = np.lib.array_utils.normalize_axis_tuple(range(x.ndim) if axis is None else axis, x.ndim)
    kept = [i for i in range(x.ndim) if i not in axes]
    flat = jnp.transpose(x, (*kept, *axes)).reshape([x.shape[i] for i in kept] + [-1])
    integers = x.dtype.kind in "iub"
    computed = narrowed(np.result_type(x.dtype, q.dtype), x, q) if integers else promoted_dtype(x, q)
    with x64_on():  # for the positions, whatever the dtype of the elements
        size, can_miss = flat.shape[-1], x.dtype.kind in "fc"
        missing = jnp.isnan(flat) if can_miss else jnp.zeros(flat.shape, bool)
        flat = jnp.sort(flat, axis=-1)
        n = jnp.sum(~missing, -1) if skip_nan else jnp.full(flat.shape[:-1], size)
        at = _METHODS[method](n, q.reshape(q.shape + (1,) * n.ndim).astype(np.float64))
        at = jnp.clip(at, 0, jnp.maximum(n - 1, 0))
        low = jnp.floor(at)
        below, above = (
            (
                jnp.take_along_axis(flat[(None,) * q.ndim], i.astype(np.int32)[..., None], -1)[..., 0]
                for i in (low, jnp.ceil(at))
            )
            if size
            else (jnp.full(at.shape, jnp.nan, computed),) * 2
        )
        if method in _OF_ELEMENTS:
            result = below
        else:
            below, above, part = below.astype(computed), above.astype(computed), at - low
            part = part.astype(jnp.finfo(computed).dtype)
            step = above - below
            result = jnp.where(part >= 0.5, above - step * (1 - part), below + step * part)
            result = jnp.where(below == above, below, result)
        if can_miss:
            result = jnp.where((n == 0) if skip_nan else jnp.any(missing, -1), jnp.nan, result)
    return jnp.expand_dims(result, tuple(i + q.ndim for i in axes)) if keepdims else result


def _quantiles(scale, skip_nan):
    def function(a: Array, q, axis=None, method="linear", keepdims=False, weights: Array = None):
        a = jnp.asarray(a)
        _refuse(jnp.iscomplexobj(a), TypeError, "a must be an array of real numbers")
        if isinstance(q, (int, float)) and a.dtype.kind == "f":
            q = jnp.asarray(q, a.dtype)
        q = jnp.asarray(q, q.dtype if getattr(q, "dtype", np.dtype(int)).kind == "f" else _float())
        _refuse(q.ndim > 1, ValueError, "q must be a scalar or 1d")
        return _quantile(a, q / scale if scale != 1 else q, axis, method, keepdims, weights, skip_nan)

    return function


def _medians(skip_nan):
    def function(a: Array, axis=None, keepdims=False):
        a = jnp.asarray(a)
        q = jnp.asarray(0.5, a.real.dtype if a.dtype.kind in "fc" else _float())
        return _quantile(a, q, _as_tuple(axis), "linear", keepdims, None, skip_nan)

    return function


def _as_tuple(axis):
    return tuple(axis) if isinstance(axis, list) else axis


percentile, nanpercentile = _quantiles(100, False), _quantiles(100, True)
quantile, nanquantile = _quantiles(1, False), _quantiles(1, True)
median, nanmedian = _medians(False), _medians(True)


def _of_floats(name):
    """Return jax.numpy's function, which takes integers for NumPy's float64, and axes in a list."""
    function = getattr(jnp, name)

    @functools.wraps(function)
    def computed(a, *args, **kwargs):
        a = jnp.asarray(a)
        if "axis" in kwargs:
            kwargs["axis"] = _as_tuple(kwargs["axis"])
        return function(a.astype(_float(a)) if a.dtype.kind in "iub" else a, *args, **kwargs)

    return computed


average, mean, nanmean, nanstd, nanvar, std, var = map(
    _of_floats, ("average", "mean", "nanmean", "nanstd", "nanvar", "std", "var")
)


# Sums of products


def _floats_of(given, dtype):
    """Return arrays in a dtype, by default NumPy's, which computes covariances in float64."""
    if any(x is not None and x.ndim > 2 for x in given):
        raise ValueError("arrays have more than 2 dimensions")
    dtype = _float(*[x for x in given if x is not None]) if dtype is None else np.dtype(dtype)
    if dtype.kind not in "fc":
        raise TypeError(f"covariances cannot be computed in {dtype}")
    return [None if x is None else x.astype(dtype) for x in given]


def cov(
    m: Array,
    y: Array = None,
    rowvar=True,
    bias=False,
    ddof=None,
    fweights: Array = None,
    aweights: Array = None,
    dtype=None,
):
    _refuse(ddof is not None and ddof != int(ddof), ValueError, "ddof must be integer")
    if fweights is not None:
        if not is_traced(fweights) and bool((fweights != jnp.round(fweights)).any()):
            raise TypeError("fweights must be integer")
        fweights = fweights.astype(int)
    with x64_on():
        m, y = _floats_of([m, y], dtype)
        return jnp.cov(m, y, rowvar, bias, ddof, fweights, aweights)


def corrcoef(x: Array, y: Array = None, rowvar=True, dtype=None):
    with x64_on():
        x, y = _floats_of([x, y], dtype)
        return jnp.corrcoef(x, y, rowvar)


def _sliding(name, a, v, mode):
    if not a.size or not v.size:
        raise ValueError(f"{'first' if not a.size else 'second'} array argument cannot be empty")
    dtype = promoted_dtype(a, v)
    computed = _float(a, v) if dtype.kind in "iub" else dtype
    with x64_for(dtype, computed):
        a, v = (jnp.atleast_1d(x).astype(computed) for x in (a, v))
        result = getattr(jnp, name)(a, v, mode, precision=jax.lax.Precision.HIGHEST)
        if dtype.kind in "iu":  # by way of int64, so that unsigned ones wrap
            with x64_on():
                result = jnp.rint(result).astype(np.int64)
        return result.astype(dtype)


def convolve(a: Array, v: Array, mode="full"):
    return _sliding("convolve", a, v, mode)


def correlate(a: Array, v: Array, mode="valid"):
    _refuse(not (a.ndim and v.ndim), ValueError, "object of too small depth for desired array")
    return _sliding("correlate", a, v, mode)


# Counts


def _of_one_axis(x):
    _refuse(not x.ndim, ValueError, "object of too small depth for desired array")
    _refuse(x.ndim > 1, ValueError, "object too deep for desired array")


def bincount(x: Array, weights: Array = None, minlength=0):
    _of_one_axis(x)
    _refuse(minlength is None, TypeError, "'NoneType' object cannot be interpreted as an integer")
    _refuse(minlength < 0, ValueError, "'minlength' must not be negative")
    if x.dtype.kind not in "iub":
        raise TypeError(f"Cannot cast array data from {x.dtype} to int64 according to the rule 'safe'")
    if weights is not None and weights.shape != x.shape:
        raise ValueError("The weights and list don't have the same length.")
    if weights is not None and jnp.iscomplexobj(weights):
        raise TypeError("Cannot cast array data from complex to float64 according to the rule 'safe'")
    if not is_traced(x) and x.size and int(x.min()) < 0:
        raise ValueError("'list' argument must have no negative elements")
    dtype = default_dtype(int) if weights is None else _float()
    weights = weights if weights is None else weights.astype(dtype)
    if not x.size:
        return jnp.zeros(minlength, default_dtype(int))
    return jnp.bincount(x.astype(int), weights, minlength).astype(dtype)


def _edges(a, bins, range, weights=None):
    """Return the edges of bins, which NumPy makes of the smallest and the largest element."""
    if is_traced(a) or is_traced(bins):
        return jnp.histogram_bin_edges(a, bins, range, weights)
    if not isinstance(bins, str):
        a, weights = jnp.stack([a.min(), a.max()]) if a.size else a, None
    a, bins = np.asarray(a), np.asarray(bins) if isinstance(bins, jax.Array) else bins
    edges = np.histogram_bin_edges(a, bins, range, None if weights is None else np.asarray(weights))
    return jnp.asarray(edges, narrowed(edges.dtype, a))


def _counted(columns, edges, weights, dtype, density):
    """Return the sum of weights in each bin, whose last edge is inside of it."""
    places, inside = [], True
    for x, each in zip(columns, edges, strict=True):
        to = jnp.where(x == each[-1], len(each) - 1, jnp.searchsorted(each, x, side="right"))
        inside = inside & (to > 0) & (to < len(each))
        places.append(to - 1)
    shape = [len(each) - 1 for each in edges]
    places = [jnp.where(inside, to, n) for to, n in zip(places, shape, strict=True)]
    weights = 1 if weights is None else weights.astype(dtype)
    counts = jnp.zeros(shape, dtype).at[tuple(places)].add(weights, mode="drop")
    if not density:
        return counts
    made = counts.astype(_float(counts))
    for i, each in enumerate(edges):
        made = made / jnp.diff(each).reshape([-1 if i == j else 1 for j in range_of(counts)])
    return made / counts.sum()


def histogram_bin_edges(a: Array, bins: Array = 10, range=None, weights: Array = None):
    return _edges(a.reshape(-1), bins, range, weights)


def histogram(a: Array, bins: Array = 10, range=None, density=None, weights: Array = None):
    _refuse(jnp.iscomplexobj(a), TypeError, "histogram takes real numbers")
    if weights is not None and weights.shape != a.shape:
        raise ValueError("weights should have the same shape as a.")
    a, weights = a.reshape(-1), None if weights is None else weights.reshape(-1)
    edges = _edges(a, bins, range, weights)
    dtype = default_dtype(int) if weights is None else weights.dtype
    return _counted([a], [edges], weights, dtype, density), edges


def histogramdd(sample, bins: list[ArrayLike] | int = 10, range=None, density=None, weights: Array = None):
    sample = jnp.stack(sample, -1) if isinstance(sample, (list, tuple)) else sample
    sample = sample.reshape(-1, 1) if sample.ndim < 2 else sample
    count, ndim = sample.shape
    bins = bins if isinstance(bins, (list, tuple)) or np.ndim(bins) else [bins] * ndim
    if len(bins) != ndim:  # type: ignore[arg-type]
        raise ValueError("The dimension of bins must be equal to the dimension of the sample x.")
    if range is not None and len(range) != ndim:
        raise ValueError("range argument must have one entry per dimension")
    if weights is not None and weights.shape != (count,):
        raise ValueError("weights should have the same shape as the sample.")
    columns = list(sample.T)
    given = zip(columns, bins, range or [None] * ndim, strict=True)  # type: ignore[arg-type]
    edges = [  # between given limits they are NumPy's float64
        _edges(x if within is None else x.astype(_float(x)), some, within) for x, some, within in given
    ]
    dtype = _float() if weights is None else _float(weights)
    return _counted(columns, edges, weights, dtype, density), edges


def histogram2d(
    x: Array, y: Array, bins: list[ArrayLike] | int = 10, range=None, density=None, weights: Array = None
):
    _refuse(len(x) != len(y), ValueError, "x and y must have the same length.")
    if not isinstance(bins, int) and len(bins) != 2:
        bins = [jnp.asarray(bins)] * 2
    counts, (first, second) = histogramdd(jnp.stack([x, y], -1), bins, range, density, weights)
    return counts, first, second


def digitize(x: Array, bins: Array, right=False):
    _refuse(jnp.iscomplexobj(x), TypeError, "x may not be complex")
    _of_one_axis(bins)
    side = "left" if right else "right"
    up = jnp.searchsorted(bins, x, side=side)
    down = len(bins) - jnp.searchsorted(bins[::-1], x, side=side)
    if is_traced(bins):
        return jnp.where(bins[-1] >= bins[0], up, down) if len(bins) else up
    order = np.asarray(bins)
    distinct = order[:-1][order[:-1] != order[1:]], order[1:][order[:-1] != order[1:]]
    rises = not len(distinct[0]) or distinct[0][0] < distinct[1][0]
    if ((order[1:] < order[:-1]) if rises else (order[1:] > order[:-1])).any():
        raise ValueError("bins must be monotonically increasing or decreasing")
    return up if rises else down


# Sorting and searching


def _on_flat(x, axis):
    return (x.reshape(-1), 0) if axis is None else (x, axis)


def argsort(a: Array, axis=-1, descending=False):
    a, axis = _on_flat(jnp.atleast_1d(a) if axis is None else a, axis)
    if not a.ndim:
        np.lib.array_utils.normalize_axis_index(axis, 1)
        return jnp.zeros(1, int)
    return jnp.argsort(a, axis, descending=descending)


def _needs_an_axis(a, axis):
    if not a.ndim and axis is not None:
        raise np.exceptions.AxisError(axis, 0)


def _kths(kth, size):
    kths = [int(k) for k in np.ravel(kth)]
    for k in kths:
        if not -size <= k < size:
            raise ValueError(f"kth(={k}) out of bounds ({size})")


def partition(a: Array, kth, axis=-1):
    _needs_an_axis(a, axis)
    a, axis = _on_flat(a, axis)
    _kths(kth, a.shape[np.lib.array_utils.normalize_axis_index(axis, a.ndim)])
    return jnp.sort(a, axis)


def argpartition(a: Array, kth, axis=-1):
    a, axis = _on_flat(a, axis)
    a = jnp.atleast_1d(a)
    _kths(kth, a.shape[np.lib.array_utils.normalize_axis_index(axis, a.ndim)])
    return jnp.argsort(a, axis)


def sort_complex(a: Array):
    narrow = a.dtype.char in "bhBHF"
    return jnp.sort(a, -1).astype(np.complex64 if narrow else narrowed(np.dtype(complex), a))


def searchsorted(a: Array, v: Array, side="left", sorter: Array = None):
    if sorter is not None:
        _refuse(sorter.dtype.kind not in "iu", TypeError, "sorter must only contain integers")
        _refuse(sorter.shape != a.shape, ValueError, "sorter.size must equal a.size")
    if side not in ("left", "right"):
        raise ValueError(f"search side must be 'left' or 'right' (got {side!r})")
    return jaxapi.searchsorted(a, v, side=side, sorter=sorter)


def nonzero(a: Array):
    a = jnp.asarray(a)
    if not a.ndim:
        raise ValueError(
            "Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(scalar).nonzero() instead."
        )
    return jaxapi.nonzero(a)


def _extreme(name, largest):
    """Return jaxapi's function, of complex numbers, too: real parts decide, then imaginary ones."""
    function, best, worst = (
        getattr(jaxapi, name),
        jnp.max if largest else jnp.min,
        -np.inf if largest else np.inf,
    )

    def place(x, axis, keepdims):
        missing = jnp.isnan(x)
        tied = jnp.where(x.real == best(x.real, axis, keepdims=True), x.imag, worst)
        at = (jnp.argmax if largest else jnp.argmin)(tied, axis, keepdims=keepdims)
        first = jnp.argmax(missing, axis, keepdims=keepdims)
        return jnp.where(missing.any(axis, keepdims=keepdims), first, at)

    def of_axis(a: Array, axis=None, keepdims=False, **options):
        a, axis = jnp.asarray(a), _as_tuple(axis)
        if not jnp.iscomplexobj(a) or options:
            return function(a, axis=axis, keepdims=keepdims, **options)
        axes = np.lib.array_utils.normalize_axis_tuple(range_of(a) if axis is None else axis, a.ndim)
        kept = [i for i in range_of(a) if i not in axes]
        flat = jnp.transpose(a, (*kept, *axes)).reshape([a.shape[i] for i in kept] + [-1])
        if not flat.shape[-1]:
            raise ValueError(f"zero-size array to {name}, which has no identity")
        found = place(flat, -1, True)
        found = (found if name.startswith("arg") else jnp.take_along_axis(flat, found, -1))[..., 0]
        return jnp.expand_dims(found, axes) if keepdims else found

    return of_axis


max = amax = _extreme("max", True)
min = amin = _extreme("min", False)
argmax, argmin = _extreme("argmax", True), _extreme("argmin", False)


# Positions and matrices


def _triangle(function):
    def of_matrix(m: Array, k=0):
        return function(m if m.ndim > 1 else jnp.broadcast_to(m, (len(m), len(m))), k)

    return of_matrix


tril, triu = _triangle(jnp.tril), _triangle(jnp.triu)


def diag_indices(n, ndim=2):
    return (jnp.arange(builtins.max(n, 0), dtype=int),) * builtins.max(ndim, 0)


def ix_(*args: Array):
    made = [jnp.nonzero(x)[0] if x.dtype == np.bool else x for x in map(jnp.asarray, args)]
    _refuse(any(x.ndim != 1 for x in made), ValueError, "Cross index must be 1 dimensional")
    return jnp.ix_(*made)


def unravel_index(indices: Array, shape, order="C"):
    _check_cf(order)
    _refuse(jnp.asarray(indices).dtype.kind not in "iu", TypeError, "only int indices permitted")
    shape = (shape,) if np.ndim(shape) == 0 else tuple(shape)
    indices = jnp.asarray(indices)
    if (
        not is_traced(indices)
        and indices.size
        and not (int(indices.min()) >= 0 and int(indices.max()) < np.prod(shape))
    ):
        raise ValueError(f"index is out of bounds for array with size {np.prod(shape)}")
    parts = jnp.unravel_index(indices, shape[::-1] if order == "F" else shape)
    return parts[::-1] if order == "F" else parts


def indices(dimensions, dtype=None, sparse=False):
    made = jnp.indices(tuple(dimensions), sparse=sparse)
    dtype = default_dtype(int) if dtype is None else dtype
    return tuple(x.astype(dtype) for x in made) if sparse else made.astype(dtype)


def _indices_from(function):
    def of_matrix(arr: Array, k=0):
        _refuse(arr.ndim != 2, ValueError, "input array must be 2-d")
        return function(arr.shape[-2], k=k, m=arr.shape[-1])

    return of_matrix


tril_indices_from, triu_indices_from = map(_indices_from, (jnp.tril_indices, jnp.triu_indices))


def _check_cf(order):
    _refuse(order not in ("C", "F", None), ValueError, "only 'C' or 'F' order is permitted")


def ravel_multi_index(multi_index, dims, mode="raise", order="C"):
    _check_cf(order)
    places = [jnp.asarray(x) for x in multi_index]
    _refuse(any(x.dtype.kind not in "iu" for x in places), TypeError, "only int indices permitted")
    if len(places) != len(dims):
        raise ValueError(f"parameter multi_index must be a sequence of length {len(dims)}")
    return jnp.ravel_multi_index(places, dims, mode, order or "C")


# Joining and repeating


def _joined(name, axis=None):
    def join(arrays, axis, dtype, casting):
        listed = list(arrays) if isinstance(arrays, (list, tuple)) else list(jnp.asarray(arrays))
        _refuse(not listed, ValueError, "need at least one array to concatenate")
        kinds = [x.dtype for x in listed if isinstance(x, jax.Array)]
        dtype = promoted_dtype(*listed) if dtype is None else np.dtype(dtype)
        for kind in kinds:
            if not np.can_cast(kind, dtype, casting):
                raise TypeError(
                    f"Cannot cast array data from {kind} to {dtype} according to the rule {casting!r}"
                )
        with x64_for(dtype):
            listed = [jnp.real(x) if jnp.iscomplexobj(x) and dtype.kind not in "cb" else x for x in listed]
            listed = [jnp.asarray(x).astype(dtype) for x in listed]
            return getattr(jnp, name)(listed, **({} if axis is _WITHOUT else {"axis": axis}))

    def without_axis(arrays: list[ArrayLike], tup: Any = None, dtype=None, casting="same_kind"):
        return join(arrays, _WITHOUT, dtype, casting)

    def along(arrays: list[ArrayLike], axis=axis, dtype=None, casting="same_kind"):
        return join(arrays, axis, dtype, casting)

    return without_axis if axis is None else along


_WITHOUT = object()
concat = concatenate = _joined("concatenate", 0)
stack = _joined("stack", 0)
hstack, vstack, dstack, column_stack = map(_joined, ("hstack", "vstack", "dstack", "column_stack"))


def tile(A: Array, reps):
    reps = np.asarray(reps).tolist()
    _refuse(np.min(reps, initial=0) < 0, ValueError, "negative dimensions are not allowed")
    return jnp.tile(A, reps)


def append(arr: Array, values: Array, axis=None):
    return jnp.append(arr, values if isinstance(values, jax.Array) else jnp.asarray(np.asarray(values)), axis)


def delete(arr: Array, obj, axis=None):
    if not isinstance(obj, slice):
        obj = obj if hasattr(obj, "dtype") else np.asarray(obj, None if np.size(obj) else int)
        _refuse(obj.dtype.kind not in "iub", IndexError, f"positions are integers or bools, got {obj.dtype}")
        length = arr.size if axis is None else arr.shape[axis]
        bad = obj.dtype == bool and obj.shape != (length,)
        _refuse(bad, ValueError, f"obj of bools must be of shape {(length,)}, got {obj.shape}")
    return jnp.delete(arr, obj, axis)


def unique(
    ar: Array,
    return_index=False,
    return_inverse=False,
    return_counts=False,
    axis=None,
    equal_nan=True,
    sorted=True,
):
    equal_nan = equal_nan and axis is None  # NumPy compares rows by their elements
    values, places, *more = jnp.unique(ar, True, return_inverse, return_counts, axis, equal_nan=equal_nan)
    if jnp.iscomplexobj(ar):  # of which jax.numpy's lose a part, if the other is NaN
        values = jnp.take(ar.reshape(-1) if axis is None else ar, places, axis or 0)
    made = (values, *([places] if return_index else []), *more)
    return made if len(made) > 1 else values


def meshgrid(*xi: Array, sparse=False, indexing="xy", copy=True):
    return jnp.meshgrid(*xi, sparse=sparse, indexing=indexing)


def vander(x: Array, N=None, increasing=False):
    x = jnp.asarray(x)
    return jnp.vander(x.astype(narrowed(np.promote_types(x.dtype, int), x)), N, increasing)


def pad(array: Array, pad_width, mode="constant", **kwargs):
    if np.size(pad_width) == 0:
        raise TypeError(f"`pad_width` must be of integral type, got {pad_width!r}")
    if not callable(mode):
        return jnp.pad(array, pad_width, mode, **kwargs)
    padded = wrap(jnp.pad(array, pad_width))
    widths = np.broadcast_to(np.asarray(pad_width), (array.ndim, 2))
    for axis in range_of(array):  # the function writes to each row
        rows = padded._transposed((*[i for i in range_of(array) if i != axis], axis))
        for place in np.ndindex(rows.shape[:-1]):
            mode(rows[(*place, ...)], tuple(widths[axis].tolist()), axis, kwargs)
    return padded._value


def repeat(a: Array, repeats, axis=None):
    counts = np.asarray(repeats)
    if not np.can_cast(counts.dtype, np.int64) and counts.size:
        raise TypeError(f"Cannot cast array data from {counts.dtype} to int64 according to the rule 'safe'")
    _refuse(counts.ndim > 1, ValueError, "object too deep for desired array")
    _refuse(counts.size and counts.min() < 0, ValueError, "repeats may not contain negative values.")
    return jaxapi.repeat(a, int(counts) if not counts.ndim else jnp.asarray(counts), axis=axis)


# Mathematics


def _cumulative(name):
    total, function = (jnp.sum, jnp.cumsum) if name.endswith("sum") else (jnp.prod, jnp.cumprod)
    function = getattr(jnp, name) if name.startswith("nan") else function

    def of_axis(a: Array, axis=None, dtype=None):
        a, axis = _on_flat(jnp.asarray(a), axis)
        dtype = total(a[:0] if a.ndim else a).dtype if dtype is None else dtype
        if jnp.iscomplexobj(a) and np.dtype(dtype).kind not in "cb":
            a = a.real
        return function(a.astype(dtype), axis)

    return of_axis


cumsum, cumprod, nancumsum, nancumprod = map(_cumulative, ("cumsum", "cumprod", "nancumsum", "nancumprod"))


def round(a: Array, decimals=0):
    a = jnp.asarray(a)
    if a.dtype == np.bool:
        return a.astype(np.float16)
    if decimals == 0 or (a.dtype.kind in "iu" and decimals > 0):
        return jnp.round(a) if a.dtype.kind in "fc" else a
    computed = a.astype(_float(a)) if a.dtype.kind in "iu" else a
    step = jnp.full_like(computed, 10.0 ** abs(decimals))  # XLA divides by one number inexactly
    made = jnp.round(computed * step) / step if decimals > 0 else jnp.round(computed / step) * step
    return made.astype(a.dtype)


around = round


def _window(name):
    def function(M, **beta):
        return (jnp.zeros(0) if M < 1 else getattr(jnp, name)(int(np.ceil(M)), **beta)).astype(_float())

    return function


bartlett, blackman, hamming, hanning, kaiser = map(
    _window, ("bartlett", "blackman", "hamming", "hanning", "kaiser")
)


def gradient(f: Array, *varargs: Array, axis=None, edge_order=1):
    f = jnp.asarray(f)
    axes = tuple(range_of(f)) if axis is None else np.lib.array_utils.normalize_axis_tuple(axis, f.ndim)
    _refuse(len(varargs) not in (0, 1, len(axes)), TypeError, "invalid number of arguments")
    spaces = [1.0] * len(axes) if not varargs else varargs * len(axes) if len(varargs) == 1 else varargs
    if len(varargs) == 1 and np.ndim(varargs[0]) and len(axes) > 1:
        raise TypeError("distances along several axes are given one by one")
    _refuse(edge_order not in (1, 2), ValueError, "'edge_order' greater than 2 not supported")
    f = f.astype(_float(f)) if f.dtype.kind in "iub" else f
    made = [_slope(f, x, each, edge_order) for x, each in zip(spaces, axes, strict=True)]
    return made[0] if len(made) == 1 else tuple(made)


def range_of(f):
    return np.arange(f.ndim).tolist()


def _slope(f, x, axis, edge_order):
    """Return the second-order differences of unevenly spaced values along an axis."""
    f = jnp.moveaxis(f, axis, 0)
    n = len(f)
    if n < edge_order + 1:
        raise ValueError(
            f"Shape of array too small to calculate a numerical gradient: it takes {edge_order + 1} elements"
        )
    _refuse(np.ndim(x) > 1, ValueError, "distances must be either scalars or 1d")
    if np.ndim(x) and len(x) != n:
        raise ValueError("when 1d, distances must match the length of the corresponding dimension")
    steps = jnp.diff(jnp.asarray(x).astype(f.real.dtype)) if np.ndim(x) else jnp.full(n - 1, x, f.real.dtype)
    steps = steps.reshape(-1, *[1] * (f.ndim - 1))
    rises = jnp.diff(f, axis=0) / steps
    if edge_order == 1:
        first, last = rises[:1], rises[-1:]
    else:
        h, g = steps[:1], steps[1:2]
        first = rises[:1] + (rises[:1] - rises[1:2]) * h / (h + g)
        g, h = steps[-2:-1], steps[-1:]
        last = rises[-1:] + (rises[-1:] - rises[-2:-1]) * h / (h + g)
    before, after = steps[:-1], steps[1:]
    inner = (rises[:-1] * after + rises[1:] * before) / (before + after)
    return jnp.moveaxis(jnp.concatenate([first, inner, last]), 0, axis)


def interp(x: Array, xp: Array, fp: Array, left=None, right=None, period=None):
    _refuse(xp.ndim != 1 or xp.shape != fp.shape, ValueError, "fp and xp are not of the same length.")
    _refuse(not xp.size, ValueError, "array of sample points is empty")
    fp = fp.astype(_float(fp))
    x, xp = (jnp.asarray(a).astype(jnp.finfo(_float(x, xp, fp)).dtype) for a in (x, xp))
    if period is not None:
        _refuse(period == 0, ValueError, "period must be a non-zero value")
        period, left, right = abs(period), None, None
        x, xp = x % period, xp % period
        order = jnp.argsort(xp)
        xp, fp = xp[order], fp[order]
        xp = jnp.concatenate([xp[-1:] - period, xp, xp[:1] + period])
        fp = jnp.concatenate([fp[-1:], fp, fp[:1]])
    at = jnp.clip(jnp.searchsorted(xp, x, side="right") - 1, 0, builtins.max(len(xp) - 2, 0))
    low, high = (fp[at], fp[at + 1]) if len(xp) > 1 else (fp[at], fp[at])
    start, end = xp[at], xp[jnp.minimum(at + 1, len(xp) - 1)]
    slope = (high - low) / (end - start)
    made = slope * (x - start) + low
    made = jnp.where(jnp.isnan(made), slope * (x - end) + high, made)  # where infinity meets 0
    made = jnp.where(jnp.isnan(made) & (low == high), low, made)
    made = jnp.where(x == start, low, jnp.where(x == end, high, made))
    made = jnp.where(jnp.isnan(x), x, made)
    made = jnp.where(x < xp[0], fp[0] if left is None else left, made)
    return jnp.where(x > xp[-1], fp[-1] if right is None else right, made)


def trapezoid(y: Array, x: Array = None, dx=1.0, axis=-1):
    y = y.astype(_float(y)) if y.dtype.kind in "iub" else y
    y = jnp.moveaxis(y, axis, -1)
    steps = dx
    if x is not None:
        steps = jnp.diff(x) if x.ndim == 1 else jnp.diff(jnp.moveaxis(x, axis, -1))
    return (steps * (y[..., 1:] + y[..., :-1]) / 2).sum(-1)


def _in_bounds(indices, size, mode="raise"):
    """Return positions by NumPy's modes; traced ones are not checked."""
    if mode == "wrap":
        return indices % size
    if mode == "clip":
        return jnp.clip(indices, 0, builtins.max(size - 1, 0))
    if mode != "raise":
        raise ValueError(f"clipmode must be 'raise', 'wrap' or 'clip', got {mode!r}")
    if jnp.asarray(indices).dtype.kind not in "iub":
        raise TypeError(f"positions are integers, got {jnp.asarray(indices).dtype}")
    if not is_traced(indices) and indices.size:
        low, high = int(indices.min()), int(indices.max())
        if low < -size or high >= size:
            raise IndexError(f"index {high if high >= size else low} is out of bounds for size {size}")
    return indices


def take(a: Array, indices: Array, axis=None, mode="raise"):
    a, axis = _on_flat(jnp.atleast_1d(a), axis)
    indices = jnp.asarray(indices)
    axis = np.lib.array_utils.normalize_axis_index(axis, a.ndim)
    indices = _in_bounds(indices if indices.size else indices.astype(int), a.shape[axis], mode)
    return jnp.take(a, indices, axis, mode="wrap")


def take_along_axis(arr: Array, indices: Array, axis=-1):
    arr, axis = _on_flat(arr, axis)
    axis = np.lib.array_utils.normalize_axis_index(axis, arr.ndim)
    if indices.ndim != arr.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    _refuse(indices.dtype.kind not in "iu", IndexError, "`indices` must be an integer array")
    return jnp.take_along_axis(arr, _in_bounds(indices, arr.shape[axis]), axis)


def dot(a: Array, b: Array):
    a, b = jnp.asarray(a), jnp.asarray(b)
    if not a.ndim or not b.ndim:
        return jaxapi.multiply(a, b)
    return jaxapi.tensordot(a, b, axes=((a.ndim - 1,), (builtins.max(b.ndim - 2, 0),)))


def inner(a: Array, b: Array):
    a, b = jnp.asarray(a), jnp.asarray(b)
    if not a.ndim or not b.ndim:
        return jaxapi.multiply(a, b)
    return jaxapi.tensordot(a, b, axes=((a.ndim - 1,), (b.ndim - 1,)))


def kron(a: Array, b: Array):
    a, b = jnp.asarray(a), jnp.asarray(b)
    if promoted_dtype(a, b) == np.bool:
        return jnp.kron(a.astype(np.uint8), b.astype(np.uint8)).astype(bool)
    return jnp.kron(a, b)
