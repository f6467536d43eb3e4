"""Arrays on their way to a device and back: dtypes, placement, and what is refused."""

import operator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .._core._devices import is_cpu
from .._core._dtypes import x64_for
from .._core._programs import compiled, eagerly, eagerly_unless_traced, is_traced
from ._tree._powers_of_two import converted

__all__ = [
    "NOT_FINITE",
    "RECORD",
    "as_dtype",
    "check_finite",
    "in_rows",
    "in_shape",
    "is_on_host",
    "placed_like",
    "placed_like_one",
    "points_dtype",
    "reject_traced",
]

NOT_FINITE = "'x' must be finite, check for nan or inf values"
RECORD = np.dtype([("i", np.intp), ("j", np.intp), ("v", np.float64)], align=True)  # SciPy's

_FEW = 64  # numbers


def as_dtype(x, dtype):
    """Return a jax array; without the dtype, float64 would be rounded to float32 where x64 is off."""
    if not isinstance(x, jax.Array):
        return jnp.asarray(np.asarray(x, dtype), dtype)
    return converted(x, dtype)


def in_shape(x: Any, shape: tuple[int, ...]) -> Any:
    """Return an array in a shape; where it has it already, JAX's `reshape` takes long to see that."""
    return x if x.shape == shape else x.reshape(shape)


def in_rows(x: Any, shape: tuple[int, ...]) -> Any:
    """Return queries or radii in another shape; those on the CPU as NumPy's."""
    if x.shape == shape:
        return x
    if isinstance(x, np.ndarray) or (not is_traced(x) and is_cpu(x.sharding)):
        return np.asarray(x).reshape(shape)
    with eagerly_unless_traced(x):
        return x.reshape(shape)


def points_dtype(dtype) -> np.dtype:
    """Return the dtype that points of `dtype` are kept in: float32 up to 32-bit floats, else float64."""
    if jnp.issubdtype(dtype, jnp.floating) and dtype != np.float64:
        return np.dtype(np.float32)
    return np.dtype(np.float64)


def placed_like(data, *arrays):
    """Return arrays of the host, which nobody else may write to, as jax arrays on the device of `data`."""
    with eagerly(), x64_for(*map(_dtype_of, arrays)):
        # Not by jnp.asarray, which compiles a copy for each shape.
        placed = jax.device_put(arrays)
        is_there = placed[0].sharding == data.sharding  # all were put in one place
        return placed if is_there else jax.device_put(placed, data.sharding)


def placed_like_one(data, *arrays):
    """Do what `placed_like` does for the results of one point.

    They are few and of few shapes, so that a compiled copy pays: it takes half the time, but compiles for
    each shape.
    """
    if arrays[0].size > _FEW:
        return placed_like(data, *arrays)
    with x64_for(*map(_dtype_of, arrays)):
        copies = _copied(*arrays)
    # Asked for afterwards, as the context takes longer than the question whether it is needed.
    if is_traced(copies[0]) or copies[0].sharding != data.sharding:
        return placed_like(data, *arrays)
    return copies


_dtype_of = operator.attrgetter("dtype")
_copied = jax.jit(lambda *arrays: arrays)


def is_on_host(x) -> bool:
    """Tell whether the numbers of a concrete array are in this process's memory."""
    if not isinstance(x, jax.Array):
        return True
    return x.is_fully_addressable and all(device.platform == "cpu" for device in x.devices())


def check_finite(x) -> None:
    """Refuse concrete queries that are not finite, where they are on the host.

    On another device nobody looks at them, as JAX's errors do not depend on values there: such a query has no
    neighbors. With `jax_debug_nans` all are looked at, and so are those on the CPUs of several processes.
    """
    if is_on_host(x):
        is_finite = bool(np.isfinite(np.asarray(x)).all())
    elif jax.config.jax_debug_nans or is_cpu_of_others(x):
        with eagerly(), x64_for(x.dtype):
            is_finite = bool(_all_finite(x))
    else:
        return
    if not is_finite:
        raise ValueError(NOT_FINITE)


def reject_traced(traced: bool, method: str, remedy: str) -> None:
    """Refuse traced arrays where the result cannot have a fixed shape."""
    if traced:
        raise TypeError(
            f"{method} returns a result whose size depends on values, which cannot be traced by jit, vmap or "
            f"grad: {remedy}"
        )


def is_cpu_of_others(x: jax.Array) -> bool:
    """Tell whether an array lies on CPUs, some of which belong to other processes."""
    platforms = {device.platform for device in x.devices()}
    return not x.is_fully_addressable and platforms == {"cpu"}


@compiled
def _all_finite(x):
    return jnp.isfinite(x).all()
