"""Running sums, rounding, slopes, interpolation and products."""

from __future__ import annotations

import builtins
from typing import Any as Array

import jax.numpy as jnp
import numpy as np

import jaxapi

from .._wrap import result_dtype
from ._common import axes_of, float_dtype, on_flat, refuse

_NAMES = """
around bartlett blackman cumprod cumsum dot gradient hamming hanning inner interp kaiser kron
nancumprod nancumsum round trapezoid
"""
__all__ = _NAMES.split()


def _cumulative(name):
    total, function = (jnp.sum, jnp.cumsum) if name.endswith("sum") else (jnp.prod, jnp.cumprod)
    function = getattr(jnp, name) if name.startswith("nan") else function

    def of_axis(a: Array, axis=None, dtype=None):
        a, axis = on_flat(jnp.asarray(a), axis)
        dtype = total(a[:0] if a.ndim else a).dtype if dtype is None else dtype
        if jnp.iscomplexobj(a) and np.dtype(dtype).kind not in "cb":
            a = a.real
        return function(a.astype(dtype), axis)

    return of_axis


cumsum, cumprod, nancumsum, nancumprod = map(_cumulative, ("cumsum", "cumprod", "nancumsum", "nancumprod"))


def round(a: Array, decimals=0):
    a = jnp.asarray(a)
    if a.dtype == np.bool:
        return a.astype(np.float16)
    if decimals == 0 or (a.dtype.kind in "iu" and decimals > 0):
        return jnp.round(a) if a.dtype.kind in "fc" else a
    computed = a.astype(float_dtype(a)) if a.dtype.kind in "iu" else a
    step = jnp.full_like(computed, 10.0 ** abs(decimals))  # XLA divides by one number inexactly
    made = jnp.round(computed * step) / step if decimals > 0 else jnp.round(computed / step) * step
    return made.astype(a.dtype)


around = round


def _window(name):
    def function(M, **beta):
        return (jnp.zeros(0) if M < 1 else getattr(jnp, name)(int(np.ceil(M)), **beta)).astype(float_dtype())

    return function


bartlett, blackman, hamming, hanning, kaiser = map(
    _window, ("bartlett", "blackman", "hamming", "hanning", "kaiser")
)


def gradient(f: Array, *varargs: Array, axis=None, edge_order=1):
    f = jnp.asarray(f)
    axes = tuple(axes_of(f)) if axis is None else np.lib.array_utils.normalize_axis_tuple(axis, f.ndim)
    refuse(len(varargs) not in (0, 1, len(axes)), TypeError, "invalid number of arguments")
    spaces = [1.0] * len(axes) if not varargs else varargs * len(axes) if len(varargs) == 1 else varargs
    if len(varargs) == 1 and np.ndim(varargs[0]) and len(axes) > 1:
        raise TypeError("distances along several axes are given one by one")
    refuse(edge_order not in (1, 2), ValueError, "'edge_order' greater than 2 not supported")
    f = f.astype(float_dtype(f)) if f.dtype.kind in "iub" else f
    made = [_slope(f, x, each, edge_order) for x, each in zip(spaces, axes, strict=True)]
    return made[0] if len(made) == 1 else tuple(made)


def _slope(f, x, axis, edge_order):
    """Return the second-order differences of unevenly spaced values along an axis."""
    f = jnp.moveaxis(f, axis, 0)
    n = len(f)
    if n < edge_order + 1:
        raise ValueError(
            f"Shape of array too small to calculate a numerical gradient: it takes {edge_order + 1} elements"
        )
    refuse(np.ndim(x) > 1, ValueError, "distances must be either scalars or 1d")
    if np.ndim(x) and len(x) != n:
        raise ValueError("when 1d, distances must match the length of the corresponding dimension")
    steps = jnp.diff(jnp.asarray(x).astype(f.real.dtype)) if np.ndim(x) else jnp.full(n - 1, x, f.real.dtype)
    steps = steps.reshape(-1, *[1] * (f.ndim - 1))
    rises = jnp.diff(f, axis=0) / steps
    if edge_order == 1:
        first, last = rises[:1], rises[-1:]
    else:
        h, g = steps[:1], steps[1:2]
        first = rises[:1] + (rises[:1] - rises[1:2]) * h / (h + g)
        g, h = steps[-2:-1], steps[-1:]
        last = rises[-1:] + (rises[-1:] - rises[-2:-1]) * h / (h + g)
    before, after = steps[:-1], steps[1:]
    inner = (rises[:-1] * after + rises[1:] * before) / (before + after)
    return jnp.moveaxis(jnp.concatenate([first, inner, last]), 0, axis)


def interp(x: Array, xp: Array, fp: Array, left=None, right=None, period=None):
    refuse(xp.ndim != 1 or xp.shape != fp.shape, ValueError, "fp and xp are not of the same length.")
    refuse(not xp.size, ValueError, "array of sample points is empty")
    fp = fp.astype(float_dtype(fp))
    x, xp = (jnp.asarray(a).astype(jnp.finfo(float_dtype(x, xp, fp)).dtype) for a in (x, xp))
    if period is not None:
        refuse(period == 0, ValueError, "period must be a non-zero value")
        period, left, right = abs(period), None, None
        x, xp = x % period, xp % period
        order = jnp.argsort(xp)
        xp, fp = xp[order], fp[order]
        xp = jnp.concatenate([xp[-1:] - period, xp, xp[:1] + period])
        fp = jnp.concatenate([fp[-1:], fp, fp[:1]])
    at = jnp.clip(jnp.searchsorted(xp, x, side="right") - 1, 0, builtins.max(len(xp) - 2, 0))
    low, high = (fp[at], fp[at + 1]) if len(xp) > 1 else (fp[at], fp[at])
    start, end = xp[at], xp[jnp.minimum(at + 1, len(xp) - 1)]
    slope = (high - low) / (end - start)
    made = slope * (x - start) + low
    made = jnp.where(jnp.isnan(made), slope * (x - end) + high, made)  # where infinity meets 0
    made = jnp.where(jnp.isnan(made) & (low == high), low, made)
    made = jnp.where(x == start, low, jnp.where(x == end, high, made))
    made = jnp.where(jnp.isnan(x), x, made)
    made = jnp.where(x < xp[0], fp[0] if left is None else left, made)
    return jnp.where(x > xp[-1], fp[-1] if right is None else right, made)


def trapezoid(y: Array, x: Array = None, dx=1.0, axis=-1):
    y = y.astype(float_dtype(y)) if y.dtype.kind in "iub" else y
    y = jnp.moveaxis(y, axis, -1)
    steps = dx
    if x is not None:
        steps = jnp.diff(x) if x.ndim == 1 else jnp.diff(jnp.moveaxis(x, axis, -1))
    return (steps * (y[..., 1:] + y[..., :-1]) / 2).sum(-1)


def dot(a: Array, b: Array):
    a, b = jnp.asarray(a), jnp.asarray(b)
    if not a.ndim or not b.ndim:
        return jaxapi.multiply(a, b)
    return jaxapi.tensordot(a, b, axes=((a.ndim - 1,), (builtins.max(b.ndim - 2, 0),)))


def inner(a: Array, b: Array):
    a, b = jnp.asarray(a), jnp.asarray(b)
    if not a.ndim or not b.ndim:
        return jaxapi.multiply(a, b)
    return jaxapi.tensordot(a, b, axes=((a.ndim - 1,), (b.ndim - 1,)))


def kron(a: Array, b: Array):
    a, b = jnp.asarray(a), jnp.asarray(b)
    if result_dtype(a, b) == np.bool:
        return jnp.kron(a.astype(np.uint8), b.astype(np.uint8)).astype(bool)
    return jnp.kron(a, b)
