"""Checks of what the public functions take, with SciPy's exceptions, and the dtype to compute in."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..._core._dtypes import promoted_dtype, x64_for
from ..._core._programs import any_traced, compiled
from ..._core._typing import Array, ArrayLike
from ..._interop import as_array, may_stay_numpys, memory_of
from .._tree_arguments import real_number
from ._metric import Metric, Parameters
from ._metrics import METRICS, UserMetric

__all__ = ["as_numbers", "as_vectors", "computed", "pair_of_rows", "with_parameters", "working_dtype"]


def as_numbers(x: ArrayLike) -> Array:
    """Return anything array-like as an array of real numbers, lists with NumPy's dtypes.

    Where the host computes, an array of NumPy's is passed on as it is.
    """
    if isinstance(x, list | tuple | int | float) and not any_traced(*jax.tree.leaves(x)):
        x = np.asarray(x)
    if may_stay_numpys(x):
        return x  # type: ignore[return-value]
    x = as_array(x)
    if jnp.issubdtype(x.dtype, jnp.complexfloating):
        raise TypeError("distances take real numbers, got complex ones: stack real and imaginary parts")
    return x


def working_dtype(dtype: np.dtype) -> np.dtype:
    """Return what to compute in: half precision is computed in float32."""
    return np.dtype(np.float32) if dtype.itemsize < 4 else dtype


def as_vectors(u: ArrayLike, v: ArrayLike, axis: int = -1) -> tuple[Array, Array, np.dtype]:
    """Return two arrays of vectors, brought to the last axis, and the dtype of their distances."""
    u, v, dtype = _with_dtype(u, v)
    if u.ndim == 0 or v.ndim == 0:
        raise ValueError("Input vector should be 1-D.")
    if axis != -1:
        u, v = (_with_last_axis(x, axis) for x in (u, v))
    if u.shape[-1] != v.shape[-1]:
        raise ValueError(f"The 1d arrays must have equal lengths, got {u.shape[-1]} and {v.shape[-1]}.")
    return u, v, dtype


def _with_last_axis(x: Array, axis: int) -> Array:
    if isinstance(x, np.ndarray):
        return np.moveaxis(x, axis, -1)
    return x if axis == x.ndim - 1 else jnp.moveaxis(x, axis, -1)


def pair_of_rows(XA: ArrayLike, XB: ArrayLike) -> tuple[Array, Array, np.dtype]:
    """Return two arrays (..., n, m), and the dtype of their distances."""
    XA, XB, dtype = _with_dtype(XA, XB)
    for name, x in (("XA", XA), ("XB", XB)):
        if x.ndim < 2:
            raise ValueError(f"{name} must be a 2-dimensional array.")
    if XA.shape[-1] != XB.shape[-1]:
        raise ValueError(
            "XA and XB must have the same number of columns (i.e. feature dimension.), "
            f"got {XA.shape[-1]} and {XB.shape[-1]}"
        )
    return XA, XB, dtype


def _with_dtype(first: ArrayLike, second: ArrayLike) -> tuple[Array, Array, np.dtype]:
    """Return arrays, and the dtype of their distances: that of the floating ones, else float64, as SciPy.

    A list counts only where there is nothing else.
    """
    given = (first, second)
    arrays = [as_numbers(first)]
    arrays.append(arrays[0] if second is first else as_numbers(second))
    with_dtype = [x for x, was in zip(arrays, given, strict=True) if not isinstance(was, list | tuple)]
    dtypes = {np.dtype(x.dtype) for x in with_dtype or arrays if jnp.issubdtype(x.dtype, jnp.floating)}
    return arrays[0], arrays[1], np.dtype(promoted_dtype(*dtypes) if dtypes else np.float64)


def with_parameters(
    metric: Metric, options: dict[str, Any], m: int, count: int, dtype: np.dtype
) -> tuple[Metric, Parameters]:
    """Return a metric with its parameters, checked; a Minkowski metric may be one that has a name.

    ``m`` coordinates and ``count`` rows in all are what the options must suit.
    """
    if isinstance(metric, UserMetric):
        arrays = {name: as_array(x) for name, x in options.items() if _is_array(x)}
        others = tuple(sorted((name, x) for name, x in options.items() if name not in arrays))
        return replace(metric, options_of_function=others), Parameters(keywords=arrays)
    options = {name: x for name, x in options.items() if x is not None}
    unknown = sorted(options.keys() - set(metric.options))
    if unknown:
        takes = ", ".join(metric.options) or "none"
        raise TypeError(f"{metric.name} got an unexpected keyword argument {unknown[0]!r}: it takes {takes}")
    parameters = Parameters()
    if "w" in options:
        parameters = replace(parameters, weights=_weights(options["w"], m, dtype))
    if "V" in options:
        with np.errstate(divide="ignore"):
            parameters = replace(parameters, weights=1 / _variances(options["V"], m, dtype))
    if "VI" in options:
        parameters = replace(parameters, inverse_covariance=_inverse_covariance(options["VI"], m, dtype))
    elif metric.name == "mahalanobis" and count <= m:
        raise ValueError(
            f"The number of observations ({count}) is too small; the covariance matrix is singular. For "
            f"observations with {m} dimensions, at least {m + 1} observations are required."
        )
    if "base" in options:
        parameters = replace(parameters, base=_array(options["base"], dtype))
    if "centered" in options:
        parameters = replace(parameters, centered=bool(options["centered"]))
    if metric.name == "minkowski":
        p = real_number(options.get("p", 2), "p")
        if not p > 0:
            raise ValueError(f"p must be greater than 0, got {p}")
        of_name = {1.0: "cityblock", 2.0: "euclidean", np.inf: "chebyshev"}.get(p)
        if of_name is not None:
            return METRICS[of_name], parameters
        parameters = replace(parameters, p=p)
    return metric, parameters


def _is_array(x: Any) -> bool:
    return isinstance(x, np.ndarray | jax.Array)


def _array(x: ArrayLike, dtype: np.dtype) -> Array:
    """Return an option as an array to compute with; in the host's memory it stays NumPy's."""
    x = as_numbers(x)
    host = x if isinstance(x, np.ndarray) else memory_of(x)
    if host is not None:
        return host.astype(working_dtype(dtype))  # type: ignore[return-value]
    with x64_for(working_dtype(dtype)):
        return jnp.asarray(x, working_dtype(dtype))


def _weights(given: ArrayLike, m: int, dtype: np.dtype) -> Array:
    weights = _array(given, dtype)
    if weights.ndim != 1:
        raise ValueError("Input vector should be 1-D.")
    if weights.shape[0] != m:
        raise ValueError(
            f"'w' should have the same length as 'u' and 'v'. Weights must have same size as input vector. "
            f"{weights.shape[0]} vs. {m}"
        )
    _refuse_negative(given, "Input weights should be all non-negative")
    return weights


def _variances(given: ArrayLike, m: int, dtype: np.dtype) -> Array:
    variances = _array(given, dtype)
    if variances.ndim != 1:
        raise ValueError("Variance vector V must be one-dimensional.")
    if variances.shape[0] != m:
        raise ValueError(
            "Variance vector V must be of the same dimension as the vectors on which the distances are "
            f"computed, got {variances.shape[0]} and {m}."
        )
    _refuse_negative(given, "Input weights should be all non-negative: variances V are")
    return variances


def _inverse_covariance(given: ArrayLike, m: int, dtype: np.dtype) -> Array:
    inverse = _array(given, dtype)
    if inverse.ndim < 2:
        inverse = inverse.reshape(1, -1)
    if inverse.shape[-2:] != (m, m):
        raise ValueError(f"VI must be of shape ({m}, {m}), got {inverse.shape}")
    return inverse


def _refuse_negative(given: Any, rule: str) -> None:
    """Refuse numbers below 0 where they are known."""
    if any_traced(*jax.tree.leaves(given)):
        return
    least = np.min(np.asarray(given), initial=0)
    if least < 0:
        raise ValueError(f"{rule}, got {least}")


def _as_argument(x: Any) -> Any:
    """Return an argument of a program, which reads memory of NumPy's later than this call returns."""
    return as_array(x, copy=True) if isinstance(x, np.ndarray) else x


def computed(*static: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Compile a function whose first argument is a dtype; its 64-bit arrays stay whole with x64 off, too."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        run = compiled(function, static_argnums=(0, *static))

        def call(dtype: np.dtype, *args: Any) -> Any:
            args = jax.tree.map(_as_argument, args)
            wide = [x.dtype for x in jax.tree.leaves(args) if isinstance(x, np.ndarray | jax.Array)]
            with x64_for(dtype, *wide):
                return run(dtype, *args)

        return call

    return decorate
