"""logspace: numbers evenly spaced on a log scale."""

import operator
from fractions import Fraction
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from ._exact_powers import truncated_power
from ._interop import as_array
from ._typing import Array, ArrayLike, DTypeLike

__all__ = ["logspace"]


def logspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    base: ArrayLike = 10.0,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Array:
    """Numbers spaced evenly on a log scale, ``base ** linspace(start, stop, num)``.

    Examples
    --------
    >>> import jaxapi as xp
    >>> xp.logspace(0, 4, num=3, base=3, dtype="int32").tolist()
    [1, 9, 81]
    """
    num = operator.index(num)
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    dtype = None if dtype is None else _dtype(dtype)
    ndim = len(np.broadcast_shapes(np.shape(start), np.shape(stop), np.shape(base)))
    axis = operator.index(axis)
    if not -ndim - 1 <= axis <= ndim:
        raise np.exceptions.AxisError(axis, ndim + 1, "destination")
    if any(isinstance(x, jax.core.Tracer) for x in jax.tree.leaves((start, stop, base))):
        return _logspace(start, stop, base, num, bool(endpoint), dtype, axis)
    start, stop, base = map(_to_host, (start, stop, base))
    if dtype is not None and jnp.issubdtype(dtype, jnp.integer):
        return as_array(_integer_powers(start, stop, num, endpoint, base, dtype, axis))
    powers = np.logspace(start, stop, num, endpoint, base, dtype, axis)
    if dtype is None and not any(getattr(x, "itemsize", 0) >= 8 for x in (start, stop, base)):
        powers = powers.astype(jax.dtypes.canonicalize_dtype(powers.dtype))
    return as_array(powers)


def _dtype(dtype: DTypeLike) -> np.dtype:
    """Resolve a dtype; Python's scalar types mean JAX's defaults."""
    return jnp.result_type(dtype) if dtype in (bool, int, float, complex) else jnp.dtype(dtype)


def _to_host(x):
    """Convert to NumPy what is not a Python number, which stays weakly typed."""
    return x if isinstance(x, int | float | complex) else np.asarray(x)


def _integer_powers(start, stop, num, endpoint, base, dtype, axis) -> np.ndarray:
    """Truncate the exact powers, for concrete arguments."""
    start, stop, base = np.broadcast_arrays(*map(np.asarray, (start, stop, base)))
    if any(np.iscomplexobj(x) for x in (start, stop, base)):
        raise TypeError(f"logspace: complex powers do not fit {dtype}; take dtype=complex64 or complex128")
    if not all(np.isfinite(x).all() for x in (start, stop, base)):
        raise ValueError(f"logspace: start, stop and base must be finite with dtype {dtype}")
    div = num - 1 if endpoint else num
    powers = np.empty((num, *start.shape), object)
    limits = jnp.iinfo(dtype)
    for where in np.ndindex(start.shape):
        first, last, root = start[where].item(), stop[where].item(), base[where].item()
        first, last = Fraction(first), Fraction(last)
        step = (last - first) / div if div > 0 else 0
        for i in range(num):
            power = truncated_power(root, first + i * step)
            if not limits.min <= power <= limits.max:
                raise OverflowError(
                    f"logspace: {root} to the {float(first + i * step)} is {power}, "
                    f"outside {dtype} [{limits.min}, {limits.max}]; take a wider dtype"
                )
            powers[(i, *where)] = power
    return np.moveaxis(powers.astype(dtype), 0, axis)


@partial(jax.jit, static_argnums=(3, 4, 5, 6))
def _logspace(start, stop, base, num, endpoint, dtype, axis):
    exponents = jnp.linspace(start, stop, num, endpoint=endpoint, axis=axis)
    if jnp.ndim(base):
        base = jnp.expand_dims(base, axis)
    powers = jnp.power(base, exponents)
    return powers if dtype is None else powers.astype(dtype)
