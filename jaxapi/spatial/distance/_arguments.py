"""Checks of what the public functions take, with SciPy's exceptions, and the dtype to compute in."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..._core._dtypes import promoted_dtype, x64_for
from ..._core._programs import any_traced, compiled
from ..._interop import as_array
from ._matrices import Measure
from ._metrics import METRICS, Metric

__all__ = ["as_numbers", "as_vectors", "computed", "measure_of", "pair_of_rows", "working_dtype"]


def as_numbers(x) -> Any:
    """Return anything array-like as an array of real numbers, lists with NumPy's dtypes."""
    if isinstance(x, list | tuple | int | float) and not any_traced(*jax.tree.leaves(x)):
        x = np.asarray(x)
    x = as_array(x)
    if jnp.issubdtype(x.dtype, jnp.complexfloating):
        raise TypeError("distances take real numbers, got complex ones: stack real and imaginary parts")
    return x


def working_dtype(dtype: np.dtype) -> np.dtype:
    """Return what to compute in: half precision is computed in float32."""
    return np.dtype(np.float32) if dtype.itemsize < 4 else dtype


def as_vectors(u, v, axis: int = -1):
    """Return two arrays of vectors, brought to the last axis, and the dtype of their distances."""
    u, v, dtype = _with_dtype(u, v)
    if u.ndim == 0 or v.ndim == 0:
        raise ValueError("Input vector should be 1-D.")
    if axis != -1:
        u, v = jnp.moveaxis(u, axis, -1), jnp.moveaxis(v, axis, -1)
    if u.shape[-1] != v.shape[-1] and 1 not in (u.shape[-1], v.shape[-1]):
        raise ValueError(f"The 1d arrays must have equal lengths, got {u.shape[-1]} and {v.shape[-1]}.")
    return u, v, dtype


def pair_of_rows(XA, XB):
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


def _with_dtype(*given):
    """Return arrays, and the dtype of their distances: that of the floating ones, else float64, as SciPy.

    A list counts only where there is nothing else.
    """
    arrays = [as_numbers(x) for x in given]
    counting = [x for x, was in zip(arrays, given, strict=True) if not isinstance(was, list | tuple)]
    dtypes = {np.dtype(x.dtype) for x in counting or arrays if jnp.issubdtype(x.dtype, jnp.floating)}
    return *arrays, np.dtype(promoted_dtype(*dtypes) if dtypes else np.float64)


def measure_of(metric: Metric, options: dict[str, Any], m: int, count: int, dtype: np.dtype):
    """Return the `Measure` and its arrays of a metric with the options given.

    ``m`` coordinates and ``count`` rows in all are what the options must suit.
    """
    if metric.users:
        given = {name: as_array(x) for name, x in options.items() if _is_array(x)}
        return Measure(metric, tuple(sorted((k, x) for k, x in options.items() if k not in given))), given
    options = {name: x for name, x in options.items() if x is not None}
    unknown = sorted(options.keys() - set(metric.options))
    if unknown:
        takes = ", ".join(metric.options) or "none"
        raise TypeError(f"{metric.name} got an unexpected keyword argument {unknown[0]!r}: it takes {takes}")
    static: dict[str, Any] = {}
    arrays = {name: _array(x, dtype) for name, x in options.items() if name in ("w", "V", "VI", "base")}
    if "w" in arrays:
        arrays["w"] = _weights(options["w"], arrays["w"], m)
    if "centered" in options:
        static["centered"] = bool(options["centered"])
    if metric.name == "minkowski":
        p = float(options.get("p", 2))
        if not p > 0:
            raise ValueError(f"p must be greater than 0, got {p}")
        simpler = {1.0: "cityblock", 2.0: "euclidean", np.inf: "chebyshev"}
        if p in simpler:
            metric = METRICS[simpler[p]]
        else:
            static["p"] = p
    if "V" in arrays:
        if arrays["V"].ndim != 1:
            raise ValueError("Variance vector V must be one-dimensional.")
        if arrays["V"].shape[0] != m:
            raise ValueError(
                "Variance vector V must be of the same dimension as the vectors on which the distances are "
                f"computed, got {arrays['V'].shape[0]} and {m}."
            )
        arrays["w"] = 1 / arrays.pop("V")
    if "VI" in arrays:
        arrays["VI"] = jnp.atleast_2d(arrays["VI"])
        if arrays["VI"].shape[-2:] != (m, m):
            raise ValueError(f"VI must be of shape ({m}, {m}), got {arrays['VI'].shape}")
    elif metric.name == "mahalanobis" and count <= m:
        raise ValueError(
            f"The number of observations ({count}) is too small; the covariance matrix is singular. For "
            f"observations with {m} dimensions, at least {m + 1} observations are required."
        )
    return Measure(metric, tuple(static.items())), arrays


def _is_array(x) -> bool:
    return isinstance(x, np.ndarray | jax.Array)


def _array(x, dtype):
    with x64_for(working_dtype(dtype)):
        return jnp.asarray(as_numbers(x), working_dtype(dtype))


def _weights(given, w, m: int):
    if w.ndim != 1:
        raise ValueError("Input vector should be 1-D.")
    if w.shape[0] != m:
        raise ValueError(
            f"'w' should have the same length as 'u' and 'v'. Weights must have same size as input vector. "
            f"{w.shape[0]} vs. {m}"
        )
    if not any_traced(w) and np.any(np.asarray(given) < 0):
        raise ValueError("Input weights should be all non-negative")
    return w


def computed(*static: int):
    """Compile a function whose first argument is a dtype; its 64-bit arrays stay whole with x64 off, too."""

    def decorate(function):
        run = compiled(function, static_argnums=(0, *static))

        def call(dtype, *args):
            wide = [x.dtype for x in jax.tree.leaves(args) if isinstance(x, np.ndarray | jax.Array)]
            with x64_for(dtype, *wide):
                return run(dtype, *args)

        return call

    return decorate
