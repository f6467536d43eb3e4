"""Arrays on their way to a device and back: dtypes, placement, padding."""

from functools import lru_cache, partial

import jax
import jax.numpy as jnp
import numpy as np

from ..._constant_cache import gpu_in, put_together
from ..._tracing import eagerly, is_traced
from ..._x64 import x64_for
from .._structure._shapes import by_host
from ._finite import finite_on_side_stream

__all__ = [
    "NOT_FINITE",
    "RECORD",
    "as_dtype",
    "constant_on",
    "inputs_for",
    "padded",
    "padded_with_radius",
    "placed_like",
    "placed_like_one",
]

NOT_FINITE = "'x' must be finite, check for nan or inf values"
RECORD = np.dtype([("i", np.intp), ("j", np.intp), ("v", np.float64)], align=True)  # SciPy's

_FEW = 64  # numbers
_INT32 = np.dtype(np.int32)


def as_dtype(x, dtype):
    """Return a jax array; without the dtype, float64 would be rounded to float32 where x64 is off."""
    return x.astype(dtype) if isinstance(x, jax.Array) else jnp.asarray(np.asarray(x, dtype), dtype)


# --- from the host ---------------------------------------------------------------------------------------


def placed_like(data, *arrays):
    """Return host arrays that nobody else knows as jax arrays on the device of `data`."""
    with eagerly(), x64_for(*[each.dtype for each in arrays]):
        # Not by jnp.asarray, which from JAX 0.12 on compiles a copy for each shape.
        placed = jax.device_put(arrays)
        same = all(each.sharding == data.sharding for each in placed)
        return placed if same else jax.device_put(placed, data.sharding)


def placed_like_one(data, *arrays):
    """Do the same for one point's results: a compiled copy takes half the time, but is compiled by shape."""
    if arrays[0].size > _FEW:
        return placed_like(data, *arrays)
    with x64_for(*[each.dtype for each in arrays]):
        copies = _copied(*arrays)
    # Asked for afterwards, as the context takes longer than the question whether it is needed.
    if is_traced(copies[0]) or copies[0].sharding != data.sharding:
        return placed_like(data, *arrays)
    return copies


_copied = jax.jit(lambda *arrays: arrays)


def inputs_for(data, x, dtype):
    """Return queries as they are if on the device of `data`, else as a NumPy array of the dtype."""
    if isinstance(x, jax.Array) and x.sharding == data.sharding:
        return x
    return np.asarray(x, dtype=dtype)


@lru_cache(maxsize=64)
def constant_on(value: float | tuple[float, ...], dtype, sharding):
    """Return a number or a few on the device, kept there: sending one takes as long as a call."""
    host, gpu = np.asarray(value, dtype), gpu_in(sharding)
    return put_together(host, gpu) if gpu and not host.ndim else jax.device_put(host, sharding)


# --- padding ----------------------------------------------------------------------------------


def padded(x, rows: int):
    """Return `x` (q, m) with its last line repeated up to `rows` lines, and whether all are finite."""
    return padded_with_radius(x, None, rows)[:2]


def padded_with_radius(x, radius, rows: int):
    """Do so, and return the one `radius` () on the device for each line of `x`, -1 for those added."""
    if not by_host(x, "padded"):
        finite = finite_on_side_stream(x)
        extended, answer, radii = _padded(x, radius, rows=rows, asks=finite is None)
        return extended, answer if finite is None else finite, radii
    x = np.asarray(x)
    extra = (0, rows - len(x)), (0, 0)
    filled = np.pad(x, extra, mode="edge" if len(x) else "constant")
    radii = (
        None if radius is None else _radii(radius, constant_on(len(x), _INT32, radius.sharding), rows=rows)
    )
    return filled, np.isfinite(x).all(), radii


@partial(jax.jit, static_argnames=("rows", "asks"))
def _padded(x, radius, *, rows: int, asks: bool):
    extended = jnp.pad(x, ((0, rows - x.shape[0]), (0, 0)), mode="edge" if x.shape[0] else "constant")
    radii = None if radius is None else _radii(radius, x.shape[0], rows=rows)
    return extended, jnp.isfinite(x).all() if asks else None, radii


@partial(jax.jit, static_argnames="rows")
def _radii(radius, count, *, rows: int):
    return jnp.where(jax.lax.iota(_INT32, rows) < count, radius, -jnp.ones_like(radius))
