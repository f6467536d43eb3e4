"""Quantiles, means, covariances, sums of products and counts."""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple
from typing import Any as Array
from typing import Any as ArrayLike  # the wrapper goes by these names

import jax
import jax.numpy as jnp
import numpy as np

import jaxapi

from ..._core._checks import refuse_values
from ..._core._dtypes import default_dtype, x64_for, x64_on
from ..._core._exact import exact_norm
from ..._core._programs import any_traced, compiled, is_traced
from ..._core._quotients import rounded
from ..._core._zeros import with_positive_zeros
from ..._interop import as_array
from ..._spaced._linspace import spaced_as_numpys
from ...linalg._matrices import full_precision
from ...mutable._capacity._rows import Rows
from ...mutable._capacity._selecting import value_of_content
from ...mutable._promotion import cast, narrowed, result_dtype
from .._common import as_floats, as_number, axes_of, exact_program, float_dtype, refuse, strong
from ._arrays import sort

_NAMES = """
average bincount convolve corrcoef correlate cov digitize histogram histogram2d histogram_bin_edges
histogramdd mean median nanmean nanmedian nanpercentile nanquantile nanstd nanvar percentile polymul
quantile std var
"""
__all__ = _NAMES.split()


# Quantiles


def _between(alpha, beta):
    """Return where a quantile lies among n sorted elements, by its plotting position."""
    return lambda xp, n, q: _product(n, q) + (alpha + _product(q, 1 - alpha - beta)) - 1


def _product(x, y):
    """Return a product that is rounded before something is added to it, in a program, too."""
    return rounded(x * y) if any_traced(x, y) else x * y


def _closest_observation(xp, n, q):
    position = _product(n, q) - 1 - 0.5
    low = xp.floor(position)
    return xp.where((position == low) & (low % 2 == 1), low, low + 1)


# Where a quantile lies among n sorted elements, by numpy or jax.numpy, and rounded as NumPy rounds.
_METHODS: dict[str, Any] = {
    "linear": lambda xp, n, q: _product(n - 1, q),
    "lower": lambda xp, n, q: xp.floor(_product(n - 1, q)),
    "higher": lambda xp, n, q: xp.ceil(_product(n - 1, q)),
    "midpoint": lambda xp, n, q: 0.5 * (xp.floor(_product(n - 1, q)) + xp.ceil(_product(n - 1, q))),
    "nearest": lambda xp, n, q: xp.rint(_product(n - 1, q)),
    "inverted_cdf": lambda xp, n, q: xp.ceil(_product(n, q) - 1),
    "averaged_inverted_cdf": lambda xp, n, q: _product(n, q) - 1,
    "closest_observation": _closest_observation,
    "interpolated_inverted_cdf": _between(0, 1),
    "hazen": _between(0.5, 0.5),
    "weibull": _between(0, 0),
    "median_unbiased": _between(1 / 3, 1 / 3),
    "normal_unbiased": _between(3 / 8, 3 / 8),
}
_OF_ELEMENTS = ("lower", "higher", "nearest", "inverted_cdf", "closest_observation")


class _Ordered(NamedTuple):
    """Elements along some axes, in order as a last axis."""

    elements: Any
    is_nan: Any  # before they were ordered
    axes: tuple[int, ...]
    size: int  # how many elements of the last axis count


def _sorted_along(x, axis, count=None):
    """Return the elements along some axes in order.

    Of a buffer, so many rows count, and the axes have the first one among them: other rows come last.
    """
    axes = axes_of(x, axis)
    is_nan = jnp.isnan(x) if x.dtype.kind in "fc" else jnp.zeros(x.shape, bool)
    size = math.prod(x.shape[i] for i in axes)
    if count is not None:
        size = size // len(x) * count
        x = value_of_content(Rows(x, count), filler="last")
        is_nan = value_of_content(Rows(is_nan, count), filler="zero")
    return _Ordered(sort(_as_last_axis(x, axes)), _as_last_axis(is_nan, axes), axes, size)


def _as_last_axis(x, axes):
    """Return an array in which some axes are one, the last."""
    other_lengths = [n for i, n in enumerate(x.shape) if i not in axes]
    size = math.prod(x.shape[i] for i in axes)
    return jnp.moveaxis(x, axes, range(-len(axes), 0)).reshape(*other_lengths, size)


class _Request(NamedTuple):
    """What quantiles are asked for."""

    q: Any  # between 0 and 1: of NumPy, unless traced
    dtype: np.dtype  # of the result
    axis: Any
    method: str
    keepdims: bool
    skip_nan: bool
    row_count: int | None  # how many rows count of a buffer

    @property
    def takes_elements(self) -> bool:
        """Whether quantiles are elements, so that none has to be computed between two."""
        return self.method in _OF_ELEMENTS or (self.method == "linear" and self.q.dtype.kind != "f")


def _quantile(x, request: _Request, weights):
    """Return quantiles; where they lie NumPy computes, unless traced, as XLA rounds otherwise."""
    q = request.q
    axis = request.axis
    method = request.method
    keepdims = request.keepdims
    skip_nan = request.skip_nan
    text = f"{method!r} is not a valid method. Use one of: {list(_METHODS)}"
    refuse(method not in _METHODS, ValueError, text)
    is_valid = is_traced(q) or bool(np.all((q >= 0) & (q <= 1)))
    refuse(not is_valid, ValueError, "Quantiles must be in the range [0, 1]")
    if weights is not None:
        text = f"Only method 'inverted_cdf' supports weights. Got: {method}."
        refuse(method != "inverted_cdf", ValueError, text)
    refuse(q.ndim > 2, ValueError, "q must be a scalar or 1d")
    if weights is not None:
        quantile = _weighted_quantile(x, request, _weights_along(weights, x, axis))
        return (
            jnp.expand_dims(quantile, tuple(i + q.ndim for i in axes_of(x, axis))) if keepdims else quantile
        )
    if skip_nan and not x.size:
        return jnp.nanmean(as_floats(x), axis, keepdims=keepdims)
    text = "bool has no differences: use method='nearest', or x.astype(float)"
    refuse(x.dtype == np.bool and not request.takes_elements, TypeError, text)
    with x64_on():  # for the positions, whatever the dtype of the elements
        quantile, axes = _quantile_of_sorted(x, request)
    if keepdims:
        return jnp.expand_dims(quantile, tuple(i + q.ndim for i in axes))
    return quantile


def _quantile_of_sorted(x, request: _Request):
    """Return quantiles (*q.shape, *other lengths) of sorted elements, and the axes that these are along."""
    q = request.q
    skip_nan = request.skip_nan
    ordered, is_nan, axes, size = _sorted_along(x, request.axis, request.row_count)
    other_lengths = ordered.shape[:-1]
    is_empty = not size and math.prod(other_lengths)
    refuse(is_empty, IndexError, "index -1 is out of bounds: there are no elements along the axes")
    xp: Any = jnp if skip_nan or is_traced(q) else np
    n = jnp.sum(~is_nan, -1).astype(q.dtype) if skip_nan else size
    position = _METHODS[request.method](xp, n, q.reshape(q.shape + (1,) * len(other_lengths)))
    last = xp.maximum(n - 1, 0)
    position_below = xp.clip(xp.floor(position), 0, last)
    position_above = xp.where(position < 0, 0, xp.minimum(position_below + 1, last))
    if not size:
        ordered = jnp.full((*other_lengths, 1), jnp.nan, request.dtype)
    ordered = ordered[(None,) * q.ndim]
    shape = (*q.shape, *other_lengths)
    quantile = _elements(ordered, position_below, shape)
    if not request.takes_elements:
        above = _elements(ordered, position_above, shape)
        part = jnp.asarray(xp.clip(position, 0, last) - position_below)
        quantile = _value_between(quantile, above, part, request)
    if x.dtype.kind in "fc":
        is_missing = (n == 0) if skip_nan else jnp.any(is_nan, -1)
        quantile = jnp.where(is_missing, jnp.nan, quantile)
        may_be_element = not quantile.ndim and not is_traced(is_missing)
        if may_be_element and quantile.dtype != x.dtype and is_missing:
            quantile = quantile.astype(x.dtype)  # NumPy returns the element that is NaN
    return quantile, axes


def _weights_along(weights, x, axis):
    """Return weights, which may be those along the axes alone, for each element; refuse what NumPy does."""
    refuse(jnp.iscomplexobj(weights), TypeError, "weights must be real numbers, got complex ones")
    if weights.shape != x.shape:
        text = "Axis must be specified when shapes of a and weights differ."
        refuse(axis is None, TypeError, text)
        axes = np.lib.array_utils.normalize_axis_tuple(axis, x.ndim)
        text = "Shape of weights must be consistent with shape of a along specified axis."
        refuse(weights.shape != tuple(x.shape[i] for i in axes), ValueError, text)
        others = tuple(i for i in range(x.ndim) if i not in axes)
        weights = jnp.expand_dims(weights.transpose(np.argsort(axes)), others)
    refuse_values((weights < 0).any(), ValueError, "Weights must be non-negative.")
    return jnp.broadcast_to(weights, x.shape)


def _weighted_quantile(x, request: _Request, weights):
    """Return the first elements up to which the weights make up such a part of their sum."""
    q = request.q
    axes = axes_of(x, request.axis)
    size = math.prod(x.shape[i] for i in axes)
    if not size:
        of_no_elements = request._replace(row_count=None)
        return _quantile(x, of_no_elements, None)
    with x64_on():
        elements = _as_last_axis(x, axes)
        totals, elements, is_nan = _weights_up_to(elements, _as_last_axis(weights, axes), request.skip_nan)
        whole = totals[..., -1:]
        are_all_nan = is_nan.all(-1)
        has_no_sum = ~(jnp.isfinite(whole[..., 0]) & (whole[..., 0] > 0)) & ~(are_all_nan & request.skip_nan)
        refuse_values(has_no_sum.any(), ValueError, "Weights included NaN, inf or were all zero.")
        parts = jaxapi.divide(totals, whole)
        if q.dtype.kind == "f":
            parts = parts.astype(q.dtype)
        # An element without weight at the beginning is none, for q = 0, too
        parts = jnp.where(parts == 0, -1, parts)
        fractions = jnp.asarray(q).reshape(q.shape + (1,) * elements.ndim)
        size = as_number(size)
        counts = size - is_nan.sum(-1) if request.skip_nan else size
        positions = jnp.minimum((parts < fractions).sum(-1), jnp.maximum(counts - 1, 0))
        shape = q.shape + elements.shape[:-1]
        quantile = _elements(elements[(None,) * q.ndim], positions, shape)
        if x.dtype.kind == "f":
            is_missing = are_all_nan if request.skip_nan else is_nan.any(-1)
            quantile = jnp.where(is_missing | has_no_sum, jnp.nan, quantile)
        return quantile


@functools.partial(compiled, static_argnames="skip_nan")
def _weights_up_to(elements, weights, skip_nan):
    """Return sums of weights up to each element, the elements in order, and which are NaN: the last ones."""
    order = jnp.argsort(elements, axis=-1, stable=True)
    elements = jnp.take_along_axis(elements, order, -1)
    weights = jnp.take_along_axis(weights, order, -1).astype(np.float64)
    is_nan = jnp.isnan(elements) if elements.dtype.kind == "f" else jnp.zeros(elements.shape, bool)
    if skip_nan:
        weights = jnp.where(is_nan, 0, weights)

    def one_by_one(weights):
        # NumPy's order, whose rounding decides whether a part is reached
        def add(total, weight):
            return total + weight, total + weight

        in_front = jnp.moveaxis(weights, -1, 0)
        _, totals = jax.lax.scan(add, jnp.zeros_like(in_front[0]), in_front)
        return jnp.moveaxis(totals, 0, -1)

    def at_once(weights):
        return jnp.cumsum(weights, -1)

    return jax.lax.platform_dependent(weights, cpu=one_by_one, default=at_once), elements, is_nan


def _value_between(below, above, part, request: _Request):
    """Return what lies between two elements: a part of the step between them above the lower one."""
    if below.dtype.kind != "f":  # whose differences wrap
        below = below.astype(request.dtype)
        above = above.astype(request.dtype)
    step = above - below
    part = part.astype(request.dtype)
    if request.method == "averaged_inverted_cdf":
        part = jnp.where(part == 0, 0.5, 1).astype(request.dtype)
    from_above = above - _product(step, 1 - part)
    from_below = below + _product(step, part)
    value = jnp.where(part >= 0.5, from_above, from_below)
    return value.astype(request.dtype)


def _elements(ordered, positions, shape):
    """Return the elements at positions along the last axis, in a shape that both broadcast to."""
    positions = jnp.broadcast_to(jnp.asarray(positions), shape).astype(np.int32)
    return jnp.take_along_axis(ordered, positions[..., None], -1)[..., 0]


def _quantiles(scale, skip_nan):
    def function(
        a: Array, q, axis=None, method="linear", keepdims=False, weights: Array = None, *, count=None
    ):
        refuse(jnp.iscomplexobj(a), TypeError, "a must be an array of real numbers")
        fractions = _fractions(q, scale)
        dtype = _dtype_of_quantiles(a, q, fractions)
        return _quantile(a, _Request(fractions, dtype, axis, method, keepdims, skip_nan, count), weights)

    return function


def _fractions(q, scale):
    """Return from 0 to 1 what is given up to a scale, such as percents."""
    if not is_traced(q):
        return np.true_divide(q, scale) if scale != 1 else np.asarray(q)
    if scale == 1:
        return q
    dtype = q.dtype if q.dtype.kind == "f" else float_dtype()
    return jaxapi.divide(jnp.asarray(q, dtype), scale)


def _dtype_of_quantiles(a, q, fractions):
    """Return NumPy's dtype: a number of Python's changes none, and integers are floats."""
    is_number = type(q) in (int, float)
    if is_number and a.dtype.kind == "f":
        return a.dtype
    if is_number or fractions.dtype.kind != "f":
        return float_dtype(a)
    strong = None if isinstance(q, (list, tuple)) else fractions
    return narrowed(np.result_type(a.dtype, fractions.dtype), a, strong)


def _medians(skip_nan):
    def function(a: Array, axis=None, keepdims=False):
        if not a.size:
            return jnp.nanmean(as_floats(a), axis, keepdims=keepdims)
        ordered, is_nan, axes, size = _sorted_along(a, axis)
        size = jnp.asarray(size)  # which may be a number of rows that is not known
        n = jnp.sum(~is_nan, -1) if skip_nan else jnp.full(ordered.shape[:-1], size)
        ordered = as_floats(ordered)
        dtype = ordered.dtype
        if dtype == np.float16:
            ordered = ordered.astype(np.float32)
        below = _elements(ordered, jnp.maximum((n - 1) // 2, 0), n.shape)
        above = _elements(ordered, jnp.maximum(n // 2, 0), n.shape)
        median = with_positive_zeros(jnp.where(n % 2 == 1, below, (below + above) / 2))
        is_missing = (n == 0) if skip_nan else jnp.any(is_nan, -1)
        # NaN, and of complex numbers perhaps in one part
        missing = jnp.nan if skip_nan else _elements(ordered, size - 1, n.shape)
        median = jnp.where(is_missing, missing, median).astype(dtype)
        return jnp.expand_dims(median, axes) if keepdims else median

    return function


percentile = _quantiles(100, skip_nan=False)
nanpercentile = _quantiles(100, skip_nan=True)
quantile = _quantiles(1, skip_nan=False)
nanquantile = _quantiles(1, skip_nan=True)
median = _medians(skip_nan=False)
nanmedian = _medians(skip_nan=True)


def _of_floats(function, *static):
    """Return a function of jax.numpy that takes integers for NumPy's float64."""
    program = exact_program(function, "axis", "keepdims", *static)

    @functools.wraps(function)
    def computed(a, axis=None, *args, **kwargs):
        a = jnp.asarray(a)
        axes_of(a, axis)  # which raises for an axis that there is not
        return program(as_floats(a), axis, *args, **kwargs)

    return computed


_average = _of_floats(jnp.average, "returned")


def average(a: Array, axis=None, weights: Array = None, returned=False, keepdims=False):
    """Refuse weights whose sum is 0, as NumPy does, unless they are traced."""
    axes_of(a, axis)  # which raises for an axis that there is not
    if weights is None:
        a = with_positive_zeros(a) if a.dtype.kind in "fc" else a
        return _average(a, axis, returned=returned, keepdims=keepdims)
    is_of_all = axis is None and weights.shape != a.shape
    refuse(is_of_all, TypeError, "Axis must be specified when shapes of a and weights differ.")
    has_integers = a.dtype.kind in "iub"
    dtype = float_dtype(a, weights) if has_integers else result_dtype(a, weights)
    a = cast(a, dtype)
    weights = cast(weights, dtype)
    of_axis = weights.ndim == a.ndim or axis is None
    totals = weights.sum(axis) if of_axis else weights.sum()
    refuse_values(jnp.any(totals == 0), ZeroDivisionError, "Weights sum to zero, can't be normalized")
    return _average(a, axis, weights=weights, returned=returned, keepdims=keepdims)


def _of_sums_from_zero(function):
    """Return a mean of no negative zeros: NumPy adds to 0, which makes all of them positive."""

    @functools.wraps(function)
    def computed(a, *args, **kwargs):
        return function(with_positive_zeros(a), *args, **kwargs)

    return computed


mean = _of_floats(_of_sums_from_zero(jnp.mean), "dtype")
_nanmean = _of_floats(_of_sums_from_zero(jnp.nanmean), "dtype")


@functools.wraps(_nanmean)
def nanmean(a, axis=None, dtype=None, *args, **kwargs):
    _refuse_integers_of_floats(jnp.asarray(a), dtype)
    return _nanmean(a, axis, dtype, *args, **kwargs)


def _refuse_integers_of_floats(a, dtype):
    is_narrower = dtype is not None and a.dtype.kind in "fc" and np.dtype(dtype).kind in "biu"
    refuse(is_narrower, TypeError, "If a is inexact, then dtype must be inexact")


_var = exact_program(jnp.var, "axis", "dtype", "ddof", "keepdims")
_nanvar = exact_program(jnp.nanvar, "axis", "dtype", "ddof", "keepdims")
_root_of_variance = compiled(exact_norm(jnp.sqrt))


def _deviation(variance, dtype):
    """Return standard deviations; of integers one alone, as NumPy casts no array of roots to integers."""
    deviation = _root_of_variance(variance)
    if dtype is None or dtype.kind not in "iu":
        return deviation
    refuse(deviation.ndim, TypeError, f"cannot cast standard deviations to {dtype}: rule 'same_kind'")
    return cast(deviation, dtype)


def _by_degrees_of_freedom(function):
    """Give a function of ``ddof=`` its name in the standard, too: ``correction=``."""

    def of_both(
        a: Array,
        axis=None,
        dtype=None,
        ddof=0,
        keepdims=False,
        where: Array = None,
        mean: Array = None,
        correction=None,
    ):
        if correction is not None:
            text = "ddof and correction can't be provided simultaneously."
            refuse(ddof != 0, ValueError, text)
            ddof = correction
        return function(a, axis, dtype, ddof, keepdims, where, mean)

    return of_both


@_by_degrees_of_freedom
def var(a, axis, dtype, ddof, keepdims, where, mean):
    """Divide by 0 where no degree of freedom is left: by NumPy the quotient is infinite, by JAX NaN."""
    refuse(ddof is None or isinstance(ddof, str), TypeError, f"ddof must be a number, got {ddof!r}")
    axes_of(a, axis)  # which raises for an axis that there is not
    if dtype is not None and dtype.kind in "iu" and not jnp.iscomplexobj(a):
        return _variance_in_integers(a, axis, dtype, ddof, keepdims, where, mean)
    a = as_floats(a)
    options = {"dtype": dtype, "keepdims": keepdims, "where": where, "mean": mean}
    made = _var(a, axis, ddof=ddof, **options)
    if where is None:
        has_freedom = math.prod(a.shape[i] for i in axes_of(a, axis)) > ddof
        if has_freedom:
            return made
    else:
        has_freedom = jnp.sum(jnp.broadcast_to(where, a.shape), axis, keepdims=keepdims) > ddof
    return jnp.where(has_freedom, made, _var(a, axis, **options) / 0)


def _variance_in_integers(a, axis, dtype, ddof, keepdims, where, mean):
    """Return variances of which each step is cut to integers, the mean, too, as NumPy's."""
    counted = jnp.ones(a.shape, bool) if where is None else jnp.broadcast_to(where, a.shape)
    count = jnp.sum(counted, axis, keepdims=True)
    if mean is None:
        total = jnp.sum(cast(a, dtype), axis, dtype, keepdims=True, where=counted)
        mean = cast(total / count, dtype)
    difference_dtype = result_dtype(a, mean)
    differences = cast(a, difference_dtype) - cast(mean, difference_dtype)
    squares = cast(differences * differences, dtype)
    total = jnp.sum(squares, axis, dtype, keepdims=keepdims, where=counted)
    freedom = jnp.maximum(count.reshape(total.shape) - ddof, 0)
    return cast(total / freedom, dtype)


@_by_degrees_of_freedom
def std(a, axis, dtype, ddof, keepdims, where, mean):
    return _deviation(var(a, axis, dtype, ddof, keepdims, where, mean), dtype)


@_by_degrees_of_freedom
def nanvar(a, axis, dtype, ddof, keepdims, where, mean):
    _refuse_integers_of_floats(a, dtype)
    if a.dtype.kind not in "fc":  # what has no NaN divides by 0, too
        return var(a, axis, dtype, ddof, keepdims, where, mean)
    if mean is None:
        return _nanvar(a, axis, dtype, ddof=ddof, keepdims=keepdims, where=where)
    counted = ~jnp.isnan(a) if where is None else ~jnp.isnan(a) & where
    has_freedom = jnp.sum(counted, axis, keepdims=keepdims) > ddof
    return jnp.where(has_freedom, var(a, axis, dtype, ddof, keepdims, counted, mean), jnp.nan)


@_by_degrees_of_freedom
def nanstd(a, axis, dtype, ddof, keepdims, where, mean):
    return _deviation(nanvar(a, axis, dtype, ddof, keepdims, where, mean), dtype)


# Sums of products


def _correlated(function, *static):
    program = exact_program(full_precision(function), "rowvar", *static)

    def of_rows(arrays, dtype, *args):
        given = [x for x in arrays if x is not None]
        refuse(any(x.ndim > 2 for x in given), ValueError, "arrays have more than 2 dimensions")
        dtype = float_dtype(*given) if dtype is None else np.dtype(dtype)
        refuse(dtype.kind not in "fc", TypeError, f"covariances cannot be computed in {dtype}")
        with x64_on():
            floats = [None if x is None else x.astype(dtype) for x in arrays]
            return program(*floats, *args)

    return of_rows


def _covariance(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None):
    """Return jax.numpy's covariances; infinite ones where no degree of freedom is left, as NumPy's are."""
    if ddof is None:
        ddof = 0 if bias else 1
    observation_count = m.shape[-1] if rowvar or m.ndim < 2 else m.shape[0]
    if fweights is None and aweights is None and not isinstance(observation_count, int):
        fweights = jnp.ones(observation_count, int)  # whose sum is a number of the program
    freedom = _degrees_of_freedom(m, rowvar, ddof, fweights, aweights)
    if isinstance(freedom, int) and freedom > 0:
        return jnp.cov(m, y, rowvar, bias, ddof, fweights, aweights)
    covariances = jnp.cov(m, y, rowvar, bias, 0, fweights, aweights)
    infinite = jax.lax.stop_gradient(covariances) * np.float32(np.inf)  # whose slopes would be NaN
    if isinstance(freedom, int):
        return infinite
    return jnp.where(freedom > 0, jnp.cov(m, y, rowvar, bias, ddof, fweights, aweights), infinite)


def _degrees_of_freedom(m, rowvar, ddof, fweights, aweights):
    """Return how many there are: an int where nothing has a weight."""
    if fweights is None and aweights is None:
        return (m.shape[-1] if rowvar or m.ndim < 2 else m.shape[0]) - ddof
    weights = 1 if fweights is None else fweights
    if aweights is None:
        return weights.sum() - ddof
    total = (weights * aweights).sum()
    return total - ddof * (weights * aweights * aweights).sum() / total


def _correlation(x, y=None, rowvar=True):
    """Return covariances divided by deviations, as jax.numpy does."""
    covariances = _covariance(x, y, rowvar)
    if not covariances.ndim:
        return covariances / covariances
    deviations = jnp.sqrt(jnp.real(jnp.diag(covariances))).astype(covariances.dtype)
    quotients = covariances / deviations[:, None] / deviations[None, :]
    real = jnp.clip(jnp.real(quotients), -1, 1)
    if not jnp.iscomplexobj(quotients):
        return real
    return jax.lax.complex(real, jnp.clip(jnp.imag(quotients), -1, 1))


_cov = _correlated(_covariance, "bias", "ddof")
_corrcoef = _correlated(_correlation)


def _check_weights(name, weights, sample_count):
    refuse(weights.ndim > 1, RuntimeError, f"cannot handle multidimensional {name}")
    text = f"incompatible numbers of samples and {name}: {sample_count} and {weights.size}"
    refuse(weights.shape != (sample_count,), RuntimeError, text)
    refuse_values(jnp.any(weights < 0), ValueError, f"{name} cannot be negative")


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
    refuse(ddof is not None and ddof != int(ddof), ValueError, "ddof must be integer")
    sample_count = m.shape[-1] if rowvar or m.ndim < 2 else m.shape[0]
    if fweights is not None:
        refuse_values(jnp.any(fweights != jnp.round(fweights)), TypeError, "fweights must be integer")
        fweights = fweights.astype(int)
        _check_weights("fweights", fweights, sample_count)
    if aweights is not None:
        _check_weights("aweights", aweights, sample_count)
    given = [weights for weights in (fweights, aweights) if weights is not None]
    if given and given[0].shape == given[-1].shape:
        are_all_zero = ~jnp.any(math.prod(given))
        refuse_values(are_all_zero, ZeroDivisionError, "Weights sum to zero, can't be normalized")
    ddof = None if ddof is None else int(ddof)
    return _cov((m, y), dtype, rowvar, bias, ddof, fweights, aweights)


def corrcoef(x: Array, y: Array = None, rowvar=True, dtype=None):
    return _corrcoef((x, y), dtype, rowvar)


def _mode_of_sliding(mode) -> str:
    """Return how far one array slides along the other, by name: NumPy takes 0, 1 and 2 for these."""
    modes = ("valid", "same", "full")
    if type(mode) is int and 0 <= mode < len(modes):
        return modes[mode]
    is_of_other_type = isinstance(mode, bool) or not isinstance(mode, (str, int))
    text = f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})"
    refuse(is_of_other_type, TypeError, text)
    refuse(mode not in modes, ValueError, text)
    return mode


def _sliding(name, a, v, mode):
    for x, which in ((a, "first"), (v, "second")):
        refuse(not x.size, ValueError, f"{which} array argument cannot be empty")
    mode = _mode_of_sliding(mode)
    dtype = result_dtype(a, v)
    a = jnp.atleast_1d(a)
    v = jnp.atleast_1d(v)
    with x64_for(dtype):
        if dtype.kind in "iu":
            return _sliding_of_integers(name, a.astype(dtype), v.astype(dtype), mode)
        computed = float_dtype(a, v) if dtype.kind == "b" else dtype
        return _sliding_of_floats(name, a.astype(computed), v.astype(computed), mode).astype(dtype)


@functools.partial(compiled, static_argnums=(0, 3))
def _sliding_of_floats(name, a, v, mode):
    """Slide one array along the other, as jax.numpy does, which takes no length that is not known."""
    refuse(a.ndim > 1 or v.ndim > 1, ValueError, "object too deep for desired array")
    is_swapped = a.shape[0] < v.shape[0]
    long, short = (v, a) if is_swapped else (a, v)
    if name == "convolve":
        short = short[::-1]
    elif is_swapped:
        long = jnp.conj(long)
    else:
        short = jnp.conj(short)
    size = short.shape[0]
    before = {"full": size - 1, "same": size // 2, "valid": 0}[mode]
    behind = {"full": size - 1, "same": size - size // 2 - 1, "valid": 0}[mode]
    precision = jax.lax.Precision.HIGHEST
    windows = [(before, behind)]
    made = jax.lax.conv_general_dilated(
        long[None, None], short[None, None], (1,), windows, precision=precision
    )
    made = made[0, 0]
    return made[::-1] if is_swapped and name == "correlate" else made


def _sliding_of_integers(name, a, v, mode):
    """Add a shifted array for each element of the other: sums wrap, and are exact, as floats' are not."""
    is_swapped = a.shape[0] < v.shape[0]
    is_flipped = name == "correlate" and is_swapped
    if name == "correlate":
        v = v[::-1]
    long, short = (v, a) if is_swapped else (a, v)
    count = long.shape[0]
    short_count = short.shape[0]
    size = count + short_count - 1
    padded = jnp.pad(long, (short_count - 1, short_count - 1))

    def with_element(i, total):
        shifted = jax.lax.dynamic_slice_in_dim(padded, short_count - 1 - i, size)
        return total + short[i] * shifted

    whole = jax.lax.fori_loop(0, short_count, with_element, jnp.zeros(size, long.dtype))
    if mode == "full":
        return whole
    if mode == "valid":
        return whole[short_count - 1 : count]
    start = short_count // 2 if is_flipped else (short_count - 1) // 2
    return whole[start : start + count]


def convolve(a: Array, v: Array, mode="full"):
    return _sliding("convolve", a, v, mode)


def polymul(a1: Array, a2: Array):
    return _sliding("convolve", _without_leading_zeros(a1), _without_leading_zeros(a2), "full")


def _without_leading_zeros(polynomial):
    """Return coefficients as NumPy's polynomials have them; traced ones as they are."""
    polynomial = jnp.atleast_1d(polynomial)
    refuse(polynomial.ndim > 1, ValueError, "Polynomial must be 1d only.")
    if is_traced(polynomial):
        return polynomial
    positions = np.flatnonzero(np.asarray(polynomial))
    return polynomial[positions[0] :] if len(positions) else jnp.zeros(1, polynomial.dtype)


def correlate(a: Array, v: Array, mode="valid"):
    refuse(not (a.ndim and v.ndim), ValueError, "object of too small depth for desired array")
    return _sliding("correlate", a, v, mode)


# Counts


def _of_one_axis(x):
    refuse(not x.ndim, ValueError, "object of too small depth for desired array")
    refuse(x.ndim > 1, ValueError, "object too deep for desired array")


def bincount(x: Array, weights: Array = None, minlength=0):
    _of_one_axis(x)
    refuse(minlength is None, TypeError, "'NoneType' object cannot be interpreted as an integer")
    refuse(minlength < 0, ValueError, "'minlength' must not be negative")
    text = f"Cannot cast array data from {x.dtype} to int64 according to the rule 'safe'"
    refuse(x.dtype.kind not in "iub", TypeError, text)
    length = None  # which JAX refuses for what is traced
    if x.size and not is_traced(x):
        with x64_on():
            least, greatest = np.asarray(_extremes(x)).tolist()
        refuse(least < 0, ValueError, "'list' argument must have no negative elements")
        length = max(greatest + 1, minlength)
    dtype = default_dtype(int) if weights is None else float_dtype()
    if weights is not None:
        unlike = weights.shape != x.shape
        refuse(unlike, ValueError, "The weights and list don't have the same length.")
        is_complex = jnp.iscomplexobj(weights) and x.size
        refuse(is_complex, TypeError, "Cannot cast array data from complex to float64")
    if not x.size:
        return jnp.zeros(minlength, default_dtype(int))
    return _counts_of(x, weights, minlength, length, dtype)


@compiled
def _extremes(x):
    x = x.astype(np.int64)
    return jnp.stack([x.min(), x.max()])


@functools.partial(compiled, static_argnums=(2, 3, 4))
def _counts_of(x, weights, minlength, length, dtype):
    weights = None if weights is None else weights.astype(dtype)
    return jnp.bincount(x.astype(int), weights, minlength, length=length).astype(dtype)


def _edges(a, bins, range, weights=None, count=None):
    """Return the edges of bins, which NumPy makes of the smallest and the largest element that count."""
    if is_traced(a) or is_traced(bins):
        return _traced_edges(as_floats(a), bins, range, weights)
    if range is not None:
        range = [np.asarray(limit)[()] if isinstance(limit, jax.Array) else limit for limit in range]
    if not isinstance(bins, str):
        weights = None
        if count is not None:
            rows = Rows(a, count)
            smallest = value_of_content(rows, filler="greatest").min()
            largest = value_of_content(rows, filler="least").max()
            a = jnp.stack([smallest, largest])
        elif a.size:
            a = jnp.stack([a.min(), a.max()])
    a = np.asarray(a)
    if isinstance(bins, jax.Array):
        bins = np.asarray(bins)
    if weights is not None:
        weights = np.asarray(weights)
    edges = np.histogram_bin_edges(a, bins, range, weights)
    return jnp.asarray(edges, narrowed(edges.dtype, a))


def _traced_edges(a, bins, range, weights):
    """Return the edges as NumPy spaces them; those that are given as they are."""
    if not isinstance(bins, str) and np.ndim(bins) == 1:
        bins = jnp.asarray(bins)
        is_broken = (bins[:-1] > bins[1:]).any()
        refuse_values(is_broken, ValueError, "`bins` must increase monotonically, when an array")
        return bins
    if is_traced(bins) or isinstance(bins, str) or (range is not None and any_traced(*range)):
        return jnp.histogram_bin_edges(a, bins, range, weights)
    if range is not None or not a.size:
        edges = np.histogram_bin_edges(np.empty(0, a.dtype), bins, range)
        return jnp.asarray(edges, narrowed(edges.dtype, a))
    refuse(bins < 1, ValueError, "`bins` must be positive, when an integer")
    least = a.min()
    greatest = a.max()
    is_infinite = ~(jnp.isfinite(least) & jnp.isfinite(greatest))
    refuse_values(is_infinite, ValueError, "autodetected range is not finite")
    is_one_number = least == greatest
    return spaced_as_numpys(
        jnp.where(is_one_number, least - 0.5, least),
        jnp.where(is_one_number, greatest + 0.5, greatest),
        int(bins) + 1,
    )


def _counted(columns, edges, weights, dtype, density, is_inside: Any = True):
    """Return the sum of weights in each bin, whose last edge is inside of it; of elements that count."""
    bins = []
    for x, edges_of_axis in zip(columns, edges, strict=True):
        x = strong(x)  # a Python int is none of the edges' dtype
        edge = jaxapi.searchsorted(edges_of_axis, x, side="right")  # the first one above
        edge = jnp.where(x == edges_of_axis[-1], len(edges_of_axis) - 1, edge)
        is_inside = is_inside & (edge > 0) & (edge < len(edges_of_axis))
        bins.append(edge - 1)
    shape = [len(edges_of_axis) - 1 for edges_of_axis in edges]
    bins = [jnp.where(is_inside, numbers, n) for numbers, n in zip(bins, shape, strict=True)]
    weights = 1 if weights is None else weights.astype(dtype)
    if dtype == np.bool:  # sums are True where anything is
        counts = jnp.zeros(shape, dtype).at[tuple(bins)].max(weights, mode="drop")
    else:
        counts = jnp.zeros(shape, dtype).at[tuple(bins)].add(weights, mode="drop")
    if not density:
        return counts
    densities = counts.astype(float_dtype(counts))
    for axis, edges_of_axis in enumerate(edges):
        widths = jnp.diff(edges_of_axis)
        other_axes = [i for i in axes_of(counts) if i != axis]
        densities = jaxapi.divide(densities, jnp.expand_dims(widths, other_axes))
    return jaxapi.divide(densities, counts.sum())


def histogram_bin_edges(a: Array, bins: Array = 10, range=None, weights: Array = None):
    return _edges(a.reshape(-1), bins, range, weights)


def histogram(a: Array, bins: Array = 10, range=None, density=None, weights: Array = None, *, count=None):
    """Count elements in bins; of a buffer's elements, one after another, so many count."""
    refuse(jnp.iscomplexobj(a), TypeError, "histogram takes real numbers")
    unlike = weights is not None and weights.shape != a.shape
    refuse(unlike, ValueError, "weights should have the same shape as a.")
    a = a.reshape(-1)
    if weights is not None:
        weights = weights.reshape(-1)
    edges = _edges(a, bins, range, weights, count)
    dtype = default_dtype(int) if weights is None else weights.dtype
    counts = True
    if count is not None:
        counts = value_of_content(Rows(jnp.ones(a.shape, bool), count), filler="zero")
    return _counted([a], [edges], weights, dtype, density, counts), edges


def histogramdd(sample, bins: list[ArrayLike] | int = 10, range=None, density=None, weights: Array = None):
    if isinstance(sample, (list, tuple)):
        sample = _columns_as_one([as_array(column) for column in sample])
    sample = as_array(sample)
    sample = sample.reshape(-1, 1) if sample.ndim < 2 else sample
    count, ndim = sample.shape
    bins = bins if isinstance(bins, (list, tuple)) or np.ndim(bins) else [bins] * ndim
    text = "The dimension of bins must be equal to the dimension of the sample x."
    refuse(len(bins) != ndim, ValueError, text)  # type: ignore[arg-type]
    unlike = range is not None and len(range) != ndim
    refuse(unlike, ValueError, "range argument must have one entry per dimension")
    unlike = weights is not None and weights.shape != (count,)
    refuse(unlike, ValueError, "weights should have the same shape as the sample.")
    columns = list(sample.T)
    ranges = range or [None] * ndim
    edges = []
    for x, bins_of_axis, limits in zip(columns, bins, ranges, strict=True):  # type: ignore[arg-type]
        if limits is not None:  # then the edges are NumPy's float64
            x = x.astype(float_dtype(x))
        edges.append(_edges(x, bins_of_axis, limits))
    dtype = float_dtype() if weights is None else float_dtype(weights)
    return _counted(columns, edges, weights, dtype, density), edges


def _columns_as_one(columns):
    """Return the columns of a sample in the dtype that NumPy has for them."""
    dtype = result_dtype(*columns)
    return jnp.stack([cast(column, dtype) for column in columns], -1)


def histogram2d(
    x: Array, y: Array, bins: list[ArrayLike] | int = 10, range=None, density=None, weights: Array = None
):
    refuse(x.shape[0] != y.shape[0], ValueError, "x and y must have the same length.")
    if not isinstance(bins, int) and len(bins) != 2:
        bins = [jnp.asarray(bins)] * 2
    counts, (first, second) = histogramdd(_columns_as_one([x, y]), bins, range, density, weights)
    return counts, first, second


def digitize(x: Array, bins: Array, right=False):
    is_complex = jnp.iscomplexobj(x) or jnp.iscomplexobj(bins)
    refuse(is_complex, TypeError, "digitize takes real numbers and real bins")
    _of_one_axis(bins)
    side = "left" if right else "right"
    x = strong(x)  # a Python int is none of the bins' dtype
    up = jaxapi.searchsorted(bins, x, side=side)
    count = bins.shape[0]
    down = as_number(count) - jaxapi.searchsorted(bins[::-1], x, side=side)
    if count < 2:
        return up
    order = bins if is_traced(bins) else np.asarray(bins)
    low = order[:-1]
    high = order[1:]
    differs = low != high
    first = jaxapi.argmax(differs) if is_traced(differs) else differs.argmax()
    rises = ~differs.any() | (low[first] < high[first])  # as NumPy reads what is NaN
    is_broken = ((high < low) & rises | (high > low) & ~rises).any()
    refuse_values(is_broken, ValueError, "bins must be monotonically increasing or decreasing")
    return jnp.where(rises, up, down)
