"""What a radius search's user may pass, checked once at the public edge; see `_arguments`."""

import operator

import jax.numpy as jnp
import numpy as np

from . import _arguments

__all__ = ["any_traced", "capacity", "one_of", "one_radius", "radii_of", "reject_traced", "same_dimensions"]


def any_traced(*arrays) -> bool:
    """Tell whether any of the arrays is an abstract value of a JAX transformation."""
    return any(_arguments.is_traced(each) for each in arrays)


def radii_of(r, batch: tuple[int, ...], dtype):
    """Return a radius for each query, in the dtype of the distances."""
    r = _number_array(r, "r")
    if r.shape == batch:
        return _rounded(r, dtype)
    try:
        shape = np.broadcast_shapes(r.shape, batch)
    except ValueError:
        shape = None
    if shape != batch:
        raise ValueError(
            f"could not broadcast input array from shape {r.shape} into shape {batch}: r must be "
            "one radius, or one for each point of x"
        )
    return (jnp if _arguments.is_traced(r) else np).broadcast_to(_rounded(r, dtype), batch)


def one_radius(r, dtype, name: str = "r"):
    """Return a single radius in the dtype of the distances."""
    r = _number_array(r, name)
    if r.ndim:
        raise ValueError(f"{name} must be a single radius, got an array of shape {r.shape}")
    return _rounded(r, dtype)


def _number_array(r, name: str):
    """Return `r` as a NumPy array, or as it is where it is traced."""
    if _arguments.is_traced(r):
        return r
    r = np.asarray(r)
    if not (jnp.issubdtype(r.dtype, jnp.floating) or jnp.issubdtype(r.dtype, jnp.integer) or r.dtype == bool):
        raise TypeError(f"{name} must be a real number or an array of them, got dtype {r.dtype}")
    return r


def _rounded(r, dtype):
    """Return the radius in the dtype of the distances; too large a one is as good as infinite."""
    with np.errstate(over="ignore"):
        return r.astype(dtype)


def capacity(count, name: str) -> int:
    """Return how many results an array of fixed shape holds."""
    if _arguments.is_traced(count):
        raise TypeError(f"{name} shapes the result, so it must be a Python integer, not traced")
    count = operator.index(count)
    if not 1 <= count < 2**31:
        raise ValueError(f"{name} must be at least 1 and below 2**31, got {count}")
    return count


def one_of(value, allowed: tuple[str, ...]) -> str:
    """Return an output type that SciPy knows."""
    if value not in allowed:
        raise ValueError(f"Invalid output type: got {value!r}, must be one of {', '.join(allowed)}")
    return value


def same_dimensions(tree, other, method: str) -> None:
    """Refuse another tree of other dimensions, and anything that is no tree."""
    if not isinstance(other, type(tree)):
        raise TypeError(f"Argument 'other' has incorrect type (expected KDTree, got {type(other).__name__})")
    if tree.m != other.m:
        raise ValueError(
            f"Trees passed to {method} have different dimensionality: {tree.m} and {other.m} dimensions"
        )


def reject_traced(traced: bool, method: str, remedy: str) -> None:
    """Refuse traced arrays where the result cannot have a fixed shape."""
    if traced:
        raise TypeError(
            f"{method} returns a result whose size depends on values, which cannot be traced by jit, vmap or "
            f"grad: {remedy}"
        )
