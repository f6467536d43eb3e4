"""What a KD-tree's user may pass, checked once at the public edge and turned into plain values.

Each function says rule, value and remedy in SciPy's exception type; where SciPy has a text of its own, that
text comes first.
"""

import math
import operator

import jax
import jax.numpy as jnp
import numpy as np

from .._interop import as_array
from .._typing import Array

__all__ = [
    "any_traced",
    "box_lengths",
    "check_vectors",
    "floating",
    "is_traced",
    "leaf_size",
    "limit",
    "neighbour_columns",
    "norm_order",
    "periodic_lengths",
    "query_array",
    "real_array",
    "worker_count",
]

# NumPy's own dtypes of real numbers; of JAX's others it takes longer to tell what they are.
_USUAL = frozenset(map(np.dtype, "?" + np.typecodes["AllInteger"] + "efd"))


def is_traced(x) -> bool:
    """Tell whether `x` is an abstract value of a JAX transformation."""
    return isinstance(x, jax.core.Tracer)


def any_traced(*values) -> bool:
    """Tell whether one of `values` is an abstract value of a JAX transformation."""
    return any(map(is_traced, values))


def real_array(x, copy: bool | None = None) -> np.ndarray | Array:
    """Return `x` as a NumPy or jax array of real numbers, not copied where it is one already.

    ``copy=True`` copies what CuPy or PyTorch owns and may write to later.
    """
    if not isinstance(x, np.ndarray):
        if not isinstance(x, jax.Array):
            x = as_array(x, copy) if hasattr(x, "__dlpack__") and hasattr(x, "dtype") else np.asarray(x)
        devices = 1 if is_traced(x) or isinstance(x, np.ndarray) else len(x.sharding.device_set)
        if devices > 1:
            raise ValueError(
                f"KDTree takes arrays on one device, got one spread over {devices} devices: "
                "bring it to one with jax.device_put(x, jax.devices()[0]) first"
            )
    if x.dtype in _USUAL:
        return x
    if jnp.issubdtype(x.dtype, jnp.complexfloating):
        raise TypeError("KDTree does not work with complex data")
    if not (jnp.issubdtype(x.dtype, jnp.number) or x.dtype == bool) or x.dtype.itemsize > 8:
        raise TypeError(
            f"KDTree takes real numbers of at most 64 bits, got dtype {x.dtype}: convert them first"
        )
    return x


def floating(dtype) -> np.dtype:
    """Return the dtype that points of `dtype` are kept in: float32 up to 32-bit floats, else float64."""
    if jnp.issubdtype(dtype, jnp.floating) and dtype != np.float64:
        return np.dtype(np.float32)
    return np.dtype(np.float64)


def query_array(x, dtype) -> np.ndarray | Array:
    """Return query points as an array; plain Python numbers take the dtype of the tree."""
    if hasattr(x, "dtype"):
        return real_array(x)
    return real_array(np.asarray(x)).astype(dtype)


def check_vectors(x, m: int) -> None:
    """Refuse query points that have not `m` coordinates."""
    shape = x.shape or (1,)
    if shape[-1] != m:
        raise ValueError(f"x must consist of vectors of length {m} but has shape {shape}")


def neighbour_columns(k) -> tuple[int, tuple[int, ...] | None]:
    """Return the largest neighbour asked for, and those asked for one by one (`None`: all, in order)."""
    if type(k) is int and k > 0:
        return k, None
    if k is None:
        raise ValueError("k must be an integer or a sequence of integers")
    if is_traced(k):
        raise TypeError(
            "k shapes the result, so it must be a Python integer or a sequence of them, not traced"
        )
    if np.ndim(k) > 1:
        raise ValueError(
            f"k must be an integer or a sequence of integers, got an array of shape {np.shape(k)}"
        )
    columns = tuple(_whole(each) for each in ([k] if np.ndim(k) == 0 else k))
    if not columns or min(columns) < 1:
        raise ValueError(f"k must be an integer or a sequence of integers, all at least 1, got {k!r}")
    largest = max(columns)
    return largest, None if np.ndim(k) == 0 else columns


def _whole(number) -> int:
    """Return a whole number given as an integer or a float without fraction."""
    try:
        return operator.index(number)
    except TypeError:
        value = float(number)
        if value.is_integer():
            return int(value)
        raise ValueError(f"k must be an integer or a sequence of integers, got {number!r}") from None


def norm_order(p) -> float:
    """Return Minkowski's p as a Python float."""
    p = float(p)
    if not p >= 1:
        raise ValueError(f"Only p-norms with 1<=p<=infinity permitted, got p={p}")
    return p


def leaf_size(leafsize) -> int:
    """Return the number of points in a leaf."""
    leafsize = operator.index(leafsize)
    if leafsize < 1:
        raise ValueError(f"leafsize must be at least 1, got {leafsize}")
    return leafsize


def limit(value, name: str):
    """Return a bound or tolerance as a Python float, or as it is where it is traced."""
    if is_traced(value):
        if value.ndim:
            raise ValueError(f"{name} must be a scalar, got shape {value.shape}")
        return value
    value = float(value)
    if math.isnan(value):
        raise ValueError(f"{name} must not be nan")
    return value


def worker_count(workers) -> int:
    """Return how many threads may search on the CPU."""
    if workers is None:
        return 1
    workers = operator.index(workers)
    if workers == 0 or workers < -1:
        raise ValueError(f"Invalid number of workers {workers}, must be -1 or > 0")
    return workers


def box_lengths(boxsize, m: int) -> tuple[float, ...] | None:
    """Return the box's length along every axis as the user gave it."""
    if boxsize is None:
        return None
    if is_traced(boxsize):
        raise TypeError("boxsize must be concrete, not traced: a tree keeps it as Python numbers")
    lengths = np.broadcast_to(np.asarray(boxsize, dtype=np.float64), (m,))
    if np.isnan(lengths).any():
        raise ValueError(f"boxsize must not be nan, got {boxsize!r}; use 0 for an axis that is not periodic")
    return tuple(float(length) for length in lengths)


def periodic_lengths(boxsize: tuple[float, ...] | None) -> tuple[float, ...] | None:
    """Return the lengths with 0 on the axes that are not periodic, `None` where no axis is."""
    if boxsize is None:
        return None
    lengths = tuple(length if 0 < length < math.inf else 0.0 for length in boxsize)
    return lengths if any(lengths) else None
