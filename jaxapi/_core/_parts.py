"""Parts of complex numbers and padding whose derivatives keep their bits, whatever JAX's x64 mode.

The transposes of JAX's own have zeros of NumPy in them, which with x64 mode off are 32 bits wide: `jax.grad`
of 64-bit numbers raises TypeError. Values are those of JAX's operations.
"""

import itertools
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax import lax

from ._typing import Array

__all__ = ["imag", "magnitude", "padded", "real"]


def real(x: Array) -> Array:
    """Return the real parts of numbers, by the conversion whose transpose is a conversion, too."""
    if not np.issubdtype(x.dtype, np.complexfloating):
        return x
    dtype = np.finfo(x.dtype).dtype
    return lax.convert_element_type_p.bind(x, new_dtype=dtype, weak_type=False, sharding=None)


def imag(x: Array) -> Array:
    """Return the imaginary parts of numbers."""
    return _imag(x) if np.issubdtype(x.dtype, np.complexfloating) else lax.full_like(x, 0)


@jax.custom_jvp
def _imag(x: Array) -> Array:
    return lax.imag(x)


@_imag.defjvp
def _imag_jvp(primals: Any, tangents: Any) -> Any:
    (x,) = primals
    (change,) = tangents
    return _imag(x), real(lax.mul(change, lax.full_like(change, -1j)))


@jax.custom_jvp
def magnitude(x: Array) -> Array:
    """Return the absolute values of complex numbers; where one is 0, so are its slopes, first and second."""
    return lax.abs(x)


@magnitude.defjvp
def _magnitude_jvp(primals: Any, tangents: Any) -> Any:
    (x,) = primals
    (change,) = tangents
    is_zero = x == 0
    elsewhere = lax.select(is_zero, lax.full_like(x, 1), x)
    slope = lax.div(real(lax.mul(change, lax.conj(elsewhere))), magnitude(elsewhere))
    return magnitude(x), lax.select(is_zero, lax.full_like(slope, 0), slope)


def padded(x: Array, value: Array, config: Sequence[tuple[int, int, int]]) -> Array:
    """Return what `lax.pad` does, by concatenation; for lengths that are not known by JAX's operation."""
    if not all(isinstance(each, (int, np.integer)) for each in itertools.chain(*config)):
        return lax.pad(x, value, config)
    for axis, (before, after, between) in enumerate(config):
        if between and x.shape[axis] > 1:
            x = _spread(x, value, axis, int(between))
        start = max(0, -int(before))
        stop = x.shape[axis] - max(0, -int(after))
        x = lax.slice_in_dim(x, start, max(start, stop), axis=axis)
        gaps = [_full(x, value, axis, int(n)) for n in (before, after)]
        if before > 0 or after > 0:
            x = lax.concatenate([gaps[0], x, gaps[1]], axis)
    return x


def _full(x: Array, value: Array, axis: int, count: int) -> Array:
    """Return a number for as many places along an axis, none for less than one."""
    return lax.broadcast(value, (*x.shape[:axis], max(0, count), *x.shape[axis + 1 :]))


def _spread(x: Array, value: Array, axis: int, between: int) -> Array:
    """Put a number so many times between two neighbours along an axis."""
    count = x.shape[axis]
    gaps = lax.broadcast(value, (*x.shape[: axis + 1], between, *x.shape[axis + 1 :]))
    rows = lax.concatenate([lax.expand_dims(x, [axis + 1]), gaps], axis + 1)
    flat = rows.reshape(*x.shape[:axis], count * (between + 1), *x.shape[axis + 1 :])
    return lax.slice_in_dim(flat, 0, count + (count - 1) * between, axis=axis)
