"""What several repairs share."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from .._wrap import narrowed, result_dtype

__all__ = ["as_tuple", "axes_of", "float_dtype", "on_flat", "refuse"]


def float_dtype(*arrays) -> np.dtype:
    """Return what NumPy's float64 is next to these arrays, by JAX's mode."""
    dtype = result_dtype(
        *arrays, np.dtype("complex128" if any(jnp.iscomplexobj(x) for x in arrays) else "float64")
    )
    return narrowed(dtype, *arrays)


def refuse(is_bad, error, text):
    if is_bad:
        raise error(text)


def as_tuple(axis):
    return tuple(axis) if isinstance(axis, list) else axis


def on_flat(x, axis):
    return (x.reshape(-1), 0) if axis is None else (x, axis)


def axes_of(f):
    return np.arange(f.ndim).tolist()
