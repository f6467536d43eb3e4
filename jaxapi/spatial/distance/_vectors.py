"""The distance of two vectors, a function for each row of the table of metrics."""

import inspect
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import jax.numpy as jnp
import numpy as np

from ..._core._dtypes import x64_for
from ..._core._programs import any_traced
from ..._core._typing import Array, ArrayLike
from ._distance_arguments import as_vectors, computed, with_parameters, working_dtype
from ._host import vectors_on_host
from ._metric import Metric, Parameters
from ._metrics import METRICS, register

__all__ = [
    "braycurtis",
    "canberra",
    "chebyshev",
    "cityblock",
    "correlation",
    "cosine",
    "dice",
    "euclidean",
    "hamming",
    "hellinger",
    "inner_product",
    "jaccard",
    "jensenshannon",
    "kl_divergence",
    "mahalanobis",
    "minkowski",
    "minkowski_distance",
    "rogerstanimoto",
    "russellrao",
    "seuclidean",
    "sokalsneath",
    "sqeuclidean",
    "yule",
]

_TEXT = """Return the {title} of two vectors, ``{formula}``.

As {source}, for arrays on any device, with derivatives, and for many vectors at once.

Parameters
----------
{vectors} : array_like, shape (..., m)
    Real vectors along the last axis; leading axes broadcast. Domain: {domain}. Elsewhere, and for NaN and
    infinity, the formula's arithmetic counts.
{parameters}
Returns
-------
Array, shape (...)
    0-d for two vectors; of the vectors' floating dtype (half precision is computed in float32), float64
    for integers, bools and lists. No unit is assumed.

Raises
------
ValueError
    If lengths differ{errors}.
TypeError
    If the numbers are complex.

Notes
-----
Works under jit, vmap and grad. Where the distance is 0 and has a corner its derivatives are 0.

Examples
--------
>>> from jaxapi.spatial import distance
>>> round(float(distance.{function}({example})), 4)
{result}
"""
_PARAMETERS = {
    "p": "p : float\n    Order of the norm, above 0, a Python number; inf for the largest difference.\n",
    "w": (
        "w : array_like, shape (m,), optional\n"
        "    Weights of the coordinates, not negative; else 1. One of weight 0 is not looked at.\n"
    ),
    "centered": "centered : bool\n    Whether the means are taken away first.\n",
    "V": "V : array_like, shape (m,)\n    Variances of the coordinates, not negative.\n",
    "VI": "VI : array_like, shape (m, m)\n    The inverse of the covariance matrix.\n",
    "base": "base : float, optional\n    Base of the logarithm; e if omitted.\n",
    "axis": "axis : int\n    The axis of the vectors, instead of the last.\n",
    "keepdims": "keepdims : bool\n    Keep that axis with size 1.\n",
}
_ERRORS = {"w": ", or a weight is negative", "V": ", or a variance is", "p": ", or p is not above 0"}
_Function = TypeVar("_Function", bound=Callable[..., Any])
_OF_CUVS = ("hellinger", "inner_product", "kl_divergence")


def _documented(result: float, row: str | None = None) -> Callable[[_Function], _Function]:
    """Give a function its docstring, out of its row of the table."""

    def decorate(function: _Function) -> _Function:
        name = function.__name__
        metric = METRICS[row or name]
        first, second, *options = inspect.signature(function).parameters
        scipys = f"`scipy.spatial.{'' if row else 'distance.'}{name}` (SciPy 1.18)"
        function.__doc__ = _TEXT.format(
            title=metric.title,
            formula=metric.formula,
            domain=metric.domain,
            example=metric.example,
            source="cuVS has it and SciPy not" if name in _OF_CUVS else scipys,
            vectors=f"{first}, {second}",
            parameters="".join(_PARAMETERS[option] for option in options),
            errors="".join(_ERRORS.get(option, "") for option in options),
            function=name,
            result=result,
        )
        register(function, metric)
        return function

    return decorate


class _Weighted(Protocol):
    def __call__(self, u: ArrayLike, v: ArrayLike, w: ArrayLike | None = None) -> Array: ...


def _weighted(name: str, result: float) -> _Weighted:
    def function(u: ArrayLike, v: ArrayLike, w: ArrayLike | None = None) -> Array:
        return _distance(name, u, v, w=w)

    function.__name__ = function.__qualname__ = name
    return _documented(result)(function)


braycurtis = _weighted("braycurtis", 0.2)
canberra = _weighted("canberra", 0.5833)
chebyshev = _weighted("chebyshev", 2.0)
cityblock = _weighted("cityblock", 3.0)
cosine = _weighted("cosine", 0.023)
dice = _weighted("dice", 0.5)
euclidean = _weighted("euclidean", 2.2361)
jaccard = _weighted("jaccard", 0.6667)
rogerstanimoto = _weighted("rogerstanimoto", 0.6667)
russellrao = _weighted("russellrao", 0.75)
sqeuclidean = _weighted("sqeuclidean", 5.0)
yule = _weighted("yule", 1.0)


@_documented(0.134)
def correlation(u: ArrayLike, v: ArrayLike, w: ArrayLike | None = None, centered: bool = True) -> Array:
    return _distance("correlation", u, v, w=w, centered=centered)


@_documented(0.6667)
def hamming(u: ArrayLike, v: ArrayLike, w: ArrayLike | None = None) -> Array:
    result = _distance("hamming", u, v, w=w)
    is_empty = np.shape(u)[-1] == 0
    # SciPy's function sums shares of the weights, of which there are none; its matrices divide 0 by 0.
    return _zeros_like(result) if is_empty and w is not None else result


@_documented(0.3249)
def hellinger(u: ArrayLike, v: ArrayLike) -> Array:
    return _distance("hellinger", u, v)


@_documented(21.0)
def inner_product(u: ArrayLike, v: ArrayLike) -> Array:
    return _distance("inner_product", u, v)


@_documented(0.5108)
def kl_divergence(u: ArrayLike, v: ArrayLike) -> Array:
    return _distance("kl_divergence", u, v)


@_documented(1.7321)
def mahalanobis(u: ArrayLike, v: ArrayLike, VI: ArrayLike) -> Array:
    return _distance("mahalanobis", u, v, VI=VI)


@_documented(2.0801)
def minkowski(u: ArrayLike, v: ArrayLike, p: float = 2, w: ArrayLike | None = None) -> Array:
    return _distance("minkowski", u, v, p=p, w=w)


@_documented(1.4142)
def seuclidean(u: ArrayLike, v: ArrayLike, V: ArrayLike) -> Array:
    return _distance("seuclidean", u, v, V=V)


@_documented(0.8)
def sokalsneath(u: ArrayLike, v: ArrayLike, w: ArrayLike | None = None) -> Array:
    result = _distance("sokalsneath", u, v, w=w)
    is_undefined = not any_traced(result) and np.isnan(result).any()
    if is_undefined and not np.any(u) and not np.any(v):
        raise ValueError("Sokal-Sneath dissimilarity is not defined for vectors that are entirely false.")
    return result


@_documented(0.0912)
def jensenshannon(
    p: ArrayLike, q: ArrayLike, base: float | None = None, *, axis: int = 0, keepdims: bool = False
) -> Array:
    u, v, dtype = as_vectors(p, q, axis)
    metric, parameters = with_parameters(METRICS["jensenshannon"], {"base": base}, u.shape[-1], 0, dtype)
    result = _of_vectors(dtype, metric, u, v, parameters)
    if u.shape[-1] == 0:
        result = _zeros_like(result)  # as SciPy's function, where its matrices have infinity
    return jnp.expand_dims(result, axis) if keepdims else result


@_documented(2.0801, "minkowski")
def minkowski_distance(x: ArrayLike, y: ArrayLike, p: float = 2.0) -> Array:
    return _distance("minkowski", x, y, p=p)


def _zeros_like(distances: Array) -> Array:
    with x64_for(distances.dtype):
        return jnp.zeros_like(distances)


def _distance(name: str, u: ArrayLike, v: ArrayLike, **options: Any) -> Array:
    u, v, dtype = as_vectors(u, v)
    m = u.shape[-1]
    metric, parameters = with_parameters(METRICS[name], options, m, m + 1, dtype)
    return _of_vectors(dtype, metric, u, v, parameters)


def _of_vectors(dtype: np.dtype, metric: Metric, u: Array, v: Array, parameters: Parameters) -> Array:
    on_host = vectors_on_host(dtype, metric, u, v, parameters)
    return _by_program(dtype, metric, u, v, parameters) if on_host is None else on_host


@computed(1)
def _by_program(dtype: np.dtype, metric: Metric, u: Array, v: Array, parameters: Parameters) -> Array:
    rank = max(u.ndim, v.ndim)

    def of_rank(x: Array) -> Array:
        new_axes = (1,) * (rank - x.ndim)
        return x.astype(working_dtype(dtype)).reshape(new_axes + x.shape)

    u = of_rank(u)
    v = of_rank(v)
    rows = metric.above_subnormal(u, v, parameters)
    return rows.in_users_units(metric.distance(rows.a, rows.b, parameters)).astype(dtype)
