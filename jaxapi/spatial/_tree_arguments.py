"""What a KD-tree's user may pass, checked once at the public edge and turned into plain values.

Each function says rule, value and remedy in SciPy's exception type; where SciPy has a text of its own, that
text comes first.
"""

import contextlib
import math
import operator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import SingleDeviceSharding

from .._core._dtypes import native_dtype
from .._core._programs import any_traced, is_traced
from .._core._typing import Array
from .._interop import as_array
from .._interop._numbers import leaf_types, refuse_masked
from ._answers import Columns
from ._arrays import is_on_host, points_dtype

__all__ = ["boxsize_per_axis", "broadcast_shape", "capacity", "check_rows", "counted_radii"]
__all__ += ["leaf_size", "neighbor_columns", "norm_order", "number_array", "numbers", "scalar"]
__all__ += ["on_one_device", "one_of", "one_radius", "pair_weights", "periodic_boxsize", "query_array"]
__all__ += ["radii_of", "real_array", "real_number", "rounded", "row_count", "row_numbers"]
__all__ += ["same_dimensions", "what_is_in", "whole", "worker_count"]

# NumPy's own dtypes of real numbers; of JAX's others it takes longer to tell what they are.
_USUAL = frozenset(map(np.dtype, "?" + np.typecodes["AllInteger"] + "efd"))


def real_array(x, copy: bool | None = None, name: str | None = None) -> Any:
    """Return `x`, points or what ``name`` says, as an array of real numbers; one of NumPy or jax as it is.

    ``copy=True`` copies arrays of CuPy and PyTorch, which may be written to later. NumPy's are copied by who
    keeps them: `KDTree` when it brings them to its device.
    """
    if type(x) is np.ndarray and x.dtype in _USUAL:
        return x
    if not isinstance(x, np.ndarray | jax.Array):
        if hasattr(x, "_cloud"):
            raise TypeError("a KDTree was given where points are asked for: pass its points, tree.data")
        x = as_array(x, copy) if hasattr(x, "__dlpack__") and hasattr(x, "dtype") else numbers(x)
    elif isinstance(x, np.ndarray):
        x = numbers(x)
    if x.dtype in _USUAL:
        return x
    if jnp.issubdtype(x.dtype, jnp.complexfloating):
        if name is None:
            raise TypeError("KDTree does not work with complex data")
        raise TypeError(f"{name} must be real numbers, got dtype {x.dtype}: convert them first")
    if not (jnp.issubdtype(x.dtype, jnp.number) or x.dtype == bool) or x.dtype.itemsize > 8:
        is_object = x.dtype == object and x.ndim == 0
        is_points = name in (None, "points", "positions")
        remedy = "pass an array of shape (n, m)" if is_object and is_points else "convert them first"
        rule = "KDTree takes" if name is None else f"{name} must be"
        raise TypeError(f"{rule} real numbers of at most 64 bits, got {what_is_in(x)}: {remedy}")
    return x


def what_is_in(x) -> str:
    """Say what an array that holds no numbers was made of: the object itself, or the dtype of several."""
    is_object = x.dtype == object and x.ndim == 0
    return repr(x.item())[:40] if is_object else f"dtype {x.dtype}"


def on_one_device(x) -> Any:
    """Return an array as it is; of copies on several devices, as `jax.set_mesh` makes them, one.

    Also of an array on a mesh of one device: its mesh would not be that of the other arrays of a search.
    """
    if is_traced(x) or not isinstance(x, jax.Array) or isinstance(x.sharding, SingleDeviceSharding):
        return x
    if x.is_fully_replicated and x.is_fully_addressable:
        return x.addressable_data(0)
    devices = len(x.sharding.device_set)
    raise ValueError(
        f"points and queries must be on one device, got an array on {devices} devices: bring it to one with "
        "jax.device_put(x, jax.devices()[0]), or shard the points of a KDTree along axis 0"
    )


def row_count(n, rows: int):
    """Return how many of the rows count, None where all do; an array where it is traced."""
    if n is None:
        return None
    if isinstance(n, jax.Array | np.ndarray) and n.ndim == 0 and jnp.issubdtype(n.dtype, jnp.integer):
        if is_traced(n):
            return jnp.clip(n, 0, rows).astype(jnp.int32)
        n = int(n)
    n = whole(n, "n")
    if not 0 <= n <= rows:
        raise ValueError(f"n must be between 0 and the {rows} rows of the data, got {n}")
    return n


def numbers(x) -> np.ndarray | Array:
    """Return a list of numbers as an array of native byte order; a jax array where some are traced."""
    refuse_masked(leaf_types(x) if isinstance(x, list | tuple) else [type(x)])
    if any_traced(*jax.tree.leaves(x)):
        return jnp.asarray(x)
    host = np.asarray(x)
    return host if host.dtype.isnative else host.astype(native_dtype(host.dtype))


def query_array(x, data: Array) -> np.ndarray | Array:
    """Return query points as an array of vectors as long as those of the tree's `data`.

    Plain Python numbers take their dtype.
    """
    x = real_array(x) if hasattr(x, "dtype") else real_array(x).astype(data.dtype)
    m = data.shape[-1]
    shape = x.shape or (1,)
    if shape[-1] != m:
        raise ValueError(f"x must consist of vectors of length {m} but has shape {shape}")
    if isinstance(x, np.ndarray) or any_traced(x, data):
        return x
    if x.sharding == data.sharding or len(data.sharding.device_set) > 1:
        return x
    x = on_one_device(x)
    if x.committed and x.devices() != data.devices():
        (device,) = x.devices()
        (tree_device,) = data.devices()
        raise ValueError(
            f"x is on {device} and the tree on {tree_device}: "
            "bring x there with jax.device_put(x, tree.data.device)"
        )
    return x


def neighbor_columns(k) -> Columns:
    """Return which neighbors are asked for."""
    if type(k) is int and k > 0:
        return Columns(k, None, (k,) if k > 1 else ())
    if k is None:
        raise ValueError("k must be an integer or a sequence of integers, got None")
    if is_traced(k):
        raise TypeError(
            "k shapes the result, so it must be a Python integer or a sequence of them, not traced"
        )
    if any_traced(*jax.tree.leaves(k)):
        raise TypeError("k shapes the result, so it must hold Python integers, not traced ones")
    if np.ndim(k) > 1:
        raise ValueError(
            f"k must be an integer or a sequence of integers, got an array of shape {np.shape(k)}"
        )
    given = [k] if np.ndim(k) == 0 else k
    columns = tuple(whole(column, "k") for column in given)
    if not columns or min(columns) < 1:
        raise ValueError(f"k must be an integer or a sequence of integers, all at least 1, got {k!r}")
    if np.ndim(k) == 0:
        return neighbor_columns(*columns)
    count = len(columns)
    is_all = count > 1 and columns == tuple(range(1, count + 1))  # as by their number
    return Columns(max(columns), None if is_all else columns, (count,))


def real_number(value, name: str) -> float:
    """Return a real number as a Python float; text is none, although `float` takes it."""
    if is_traced(value):
        raise TypeError(
            f"{name} shapes the program, so it must be a Python number, not traced: close over it or name it"
            " in static_argnames of jax.jit"
        )
    if not isinstance(value, str | bytes | complex | np.complexfloating):
        with contextlib.suppress(TypeError):
            return float(value)
    raise TypeError(f"{name} must be a real number, got {value!r}")


def whole(number, name: str) -> int:
    """Return a whole number; booleans and floats are none."""
    if not isinstance(number, bool | np.bool):
        with contextlib.suppress(TypeError):
            return operator.index(number)
    if is_traced(number):
        raise TypeError(
            f"{name} shapes the program, so it must be a Python integer, not traced: close over it or name it"
            " in static_argnames of jax.jit"
        )
    kinds = "an integer or a sequence of integers" if name == "k" else "an integer"
    raise TypeError(f"{name} must be {kinds}, got {number!r}: convert it with int()")


def norm_order(p) -> float:
    """Return Minkowski's p as a Python float."""
    if type(p) is float and p >= 1:
        return p
    if is_traced(p):
        raise TypeError(
            "p shapes the compiled search, so it must be a Python number, not traced: mark it as static, "
            "as by jax.jit(..., static_argnames='p')"
        )
    p = real_number(p, "p")
    if not p >= 1:
        raise ValueError(f"Only p-norms with 1<=p<=infinity permitted, got p={p}")
    return p


def leaf_size(leafsize) -> int:
    """Return the number of points in a leaf."""
    leafsize = whole(leafsize, "leafsize")
    if leafsize < 1:
        raise ValueError(f"leafsize must be at least 1, got {leafsize}")
    return leafsize


def scalar(value, name: str):
    """Return a bound or tolerance as a Python float, or as it is where it is traced."""
    if type(value) is float and value == value:
        return value
    if is_traced(value):
        if value.ndim:
            raise ValueError(f"{name} must be a scalar, got shape {value.shape}")
        return value
    value = real_number(value, name)
    if math.isnan(value):
        raise ValueError(f"{name} must not be nan")
    return value


def rounded(value, dtype: np.dtype):
    """Return a number as `scalar` gives it in the precision of a dtype, which programs give it anyway."""
    if is_traced(value) or dtype != np.float32 or math.isinf(value):
        return value
    with np.errstate(over="ignore", under="ignore"):
        return float(np.float32(value))


def worker_count(workers) -> int | None:
    """Return how many threads may search on the CPU; None: as many as pay."""
    if workers is None:
        return None
    workers = whole(workers, "workers")
    if workers == 0 or workers < -1:
        raise ValueError(f"Invalid number of workers {workers}, must be -1 or > 0")
    return workers


def boxsize_per_axis(boxsize, m: int) -> tuple[float, ...] | Array | None:
    """Return the box's length along every axis as the user gave it: an array (m,) where it is traced."""
    if boxsize is None:
        return None
    sides = number_array(boxsize, "boxsize")
    if sides.shape not in ((), (1,), (m,)):
        raise ValueError(
            f"boxsize must be one length, or one for each of the {m} dimensions, got shape {sides.shape}"
        )
    if is_traced(sides):
        return jnp.broadcast_to(sides, (m,))
    sides = np.broadcast_to(np.asarray(sides, np.float64), (m,))
    if np.isnan(sides).any():
        raise ValueError(f"boxsize must not be nan, got {boxsize!r}; use 0 for an axis that is not periodic")
    if (sides < 0).any():
        raise ValueError(
            f"boxsize must not be negative, got {boxsize!r}: use 0 for an axis that is not periodic"
        )
    return tuple(float(side) for side in sides)


def periodic_boxsize(boxsize: tuple[float, ...] | Array | None) -> tuple[float, ...] | Array | None:
    """Return the box with 0 on the axes that are not periodic, `None` where no axis is."""
    if boxsize is None:
        return None
    if isinstance(boxsize, jax.Array):
        return jnp.where((boxsize > 0) & (boxsize < jnp.inf), boxsize, jnp.zeros_like(boxsize))
    periodic = tuple(side if 0 < side < math.inf else 0.0 for side in boxsize)
    return periodic if any(periodic) else None


def radii_of(r, batch: tuple[int, ...], dtype, *, on_mesh: bool = False):
    """Return a radius for each query, in the dtype of the distances; of arrays on a mesh, as they are."""
    if on_mesh and isinstance(r, jax.Array) and r.shape == batch and jnp.issubdtype(r.dtype, jnp.floating):
        return r
    r = _radius_array(r, "r")
    if r.shape == batch:
        return _rounded(r, dtype)
    if r.ndim and broadcast_shape(r.shape, batch) != batch:
        raise ValueError(
            f"could not broadcast input array from shape {r.shape} into shape {batch}: r must be "
            "one radius, or one for each point of x"
        )
    return (jnp if is_traced(r) else np).broadcast_to(_rounded(r, dtype), batch)


def broadcast_shape(*shapes) -> tuple[int, ...] | None:
    """Return the common shape; None where there is none."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        return None


def one_radius(r, dtype, name: str = "r"):
    """Return a single radius in the dtype of the distances."""
    r = _radius_array(r, name)
    if r.ndim:
        raise ValueError(f"{name} must be a single radius, got an array of shape {r.shape}")
    return _rounded(r, dtype)


def _radius_array(given, name: str):
    """Return a radius, or several, as `number_array`; those on the host are at least 0.

    On another device nobody looks at them, and in programs nobody can: a negative radius or nan reaches
    nothing there.
    """
    r = number_array(given, name)
    if is_traced(r) or not is_on_host(given):
        return r
    is_radius = r >= 0
    if not is_radius.all():
        wrong = r.reshape(-1)[np.argmin(is_radius)]
        remedy = ": leave out queries that are to have no neighbors" if r.ndim else ""
        limit = "above" if name == "eps" else "at least"
        raise ValueError(f"{name} must be {limit} 0, got {wrong}{remedy}")
    return r


def number_array(r, name: str):
    """Return `r` as a NumPy array, or a jax array where it is traced."""
    r = numbers(r)
    if not (jnp.issubdtype(r.dtype, jnp.floating) or jnp.issubdtype(r.dtype, jnp.integer) or r.dtype == bool):
        raise TypeError(f"{name} must be a real number or an array of them, got {what_is_in(r)}")
    return r


def _rounded(r, dtype):
    """Return the radius in the dtype of the distances; too large a one is as good as infinite."""
    with np.errstate(over="ignore"):
        return r.astype(dtype)


def capacity(count, name: str) -> int:
    """Return how many results an array of fixed shape holds."""
    if is_traced(count):
        raise TypeError(f"{name} shapes the result, so it must be a Python integer, not traced")
    count = whole(count, name)
    if not 1 <= count < 2**31:
        raise ValueError(f"{name} must be at least 1 and below 2**31, got {count}")
    return count


def row_numbers(indices, batch: tuple[int, ...]):
    """Return rows for each point of a batch, or several."""
    indices = indices if isinstance(indices, jax.Array) else numbers(indices)
    if not jnp.issubdtype(indices.dtype, jnp.integer):
        raise TypeError(f"indices must be integers, got {what_is_in(indices)}")
    if indices.shape[: len(batch)] != batch:
        raise ValueError(
            f"the shape of indices must begin with {batch}, that of x without its last axis, "
            f"got {indices.shape}"
        )
    # The number of points is to be compared with them, which fewer bits may not hold.
    return indices.astype(np.int32) if indices.dtype.itemsize < 4 else indices


def check_rows(rows, n: int) -> None:
    """Refuse concrete rows on the host below 0 or above `n`; on another device nobody looks at them."""
    if not is_traced(rows) and is_on_host(rows):
        rows = np.asarray(rows)
        wrong = (rows < 0) | (rows > n)
        if wrong.any():
            raise IndexError(f"indices must be rows from 0 to {n - 1}, or {n} for none, got {rows[wrong][0]}")


def one_of(value, allowed: tuple[str, ...], name: str = "output type") -> str:
    """Return one of the values that SciPy knows."""
    if value not in allowed:
        raise ValueError(f"Invalid {name}: got {value!r}, must be one of {', '.join(allowed)}")
    return value


def same_dimensions(tree, other, method: str) -> None:
    """Refuse another tree of other dimensions, and anything that is no tree."""
    other_class = type(other)
    if not hasattr(other, "_cloud"):
        raise TypeError(
            "Argument 'other' has incorrect type (expected jaxapi.spatial.KDTree, got "
            f"{other_class.__module__}.{other_class.__qualname__}): "
            "build a tree of its points, as KDTree(other.data)"
        )
    if tree.m != other.m:
        raise ValueError(
            f"Trees passed to {method} have different dimensionality: {tree.m} and {other.m} dimensions"
        )


def counted_radii(r, dtype, cumulative: bool):
    """Return the radii, () or (R,), in the dtype of the distances."""
    r = _radius_array(r, "r")
    traced = is_traced(r)
    r = r if traced else r.astype(np.float64)
    if r.ndim > 1:
        raise ValueError(
            f"r must be either a single value or a one-dimensional array of values, got shape {r.shape}"
        )
    if not cumulative and not traced and (np.diff(r.reshape(-1)) < 0).any():
        raise ValueError("r must be non-decreasing for non-cumulative counting.")
    with np.errstate(over="ignore"):
        return r.astype(dtype)


def pair_weights(cloud, other, weights):
    """Return the weights of both clouds, `None` twice for plain counting."""
    if isinstance(weights, tuple):
        if len(weights) != 2:
            raise ValueError(f"weights must be a tuple of two, one for each tree, got {len(weights)}")
        self_weights, other_weights = weights
    elif weights is not None and other is not cloud:
        raise ValueError("Two different trees are used. Specify weights for both in a tuple.")
    else:
        self_weights = weights
        other_weights = weights
    if self_weights is None and other_weights is None:
        return None, None
    return _weights_of(cloud, self_weights), _weights_of(other, other_weights)


def _weights_of(cloud, weights):
    """Return a weight for each point."""
    if weights is None:
        return np.ones(cloud.row_count, np.float32)
    weights = number_array(weights, "weights")
    if weights.shape != (cloud.row_count,):
        raise ValueError(
            f"Number of weights differ from the number of data points: {weights.shape} for "
            f"{cloud.row_count} points"
        )
    return weights.astype(points_dtype(weights.dtype))
