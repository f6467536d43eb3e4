"""Running sums, rounding, slopes, interpolation and products."""

from __future__ import annotations

import operator
from typing import Any as Array

import jax
import jax.numpy as jnp
import numpy as np

import jaxapi
from jaxapi import divide

from ..._core import _parts
from ..._core._dtypes import converted, is_lowered_narrow
from ..._core._exact import transposable
from ..._core._programs import any_traced, compiled, is_traced
from ...linalg._matrices import full_precision
from ...mutable._elementwise import ELEMENTWISE
from ...mutable._keys import LONG
from ...mutable._promotion import cast, result_dtype, together
from .._common import as_floats, as_number, axes_of, float_dtype, on_flat, refuse, strong

_NAMES = """
all angle any around bartlett blackman cumprod cumsum cumulative_prod cumulative_sum diff dot ediff1d
geomspace gradient hamming hanning i0 inner interp isneginf isposinf kaiser kron nancumprod nancumsum round
sinc tensordot trapezoid tri unwrap vdot
"""
__all__ = _NAMES.split()


def _cumprod(x: Array, axis: int):
    return jaxapi.cumulative_prod(x, axis=axis, dtype=x.dtype)


def _nancumprod(x: Array, axis: int):
    return _cumprod(jnp.where(jnp.isnan(x), jnp.ones((), x.dtype), x), axis)


# The standard's products have derivatives of 64 bits also where they are lowered narrow.
_RUNNING = {"cumprod": _cumprod, "cumsum": jnp.cumsum, "nancumprod": _nancumprod, "nancumsum": jnp.nancumsum}


def _cumulative(name):
    function = _RUNNING[name]
    total = jnp.sum if name.endswith("sum") else jnp.prod

    def of_axis(a: Array, axis=None, dtype=None):
        a, axis = on_flat(a, axis)
        axis = np.lib.array_utils.normalize_axis_index(operator.index(axis), a.ndim)
        if dtype is None:
            some_elements = a[:0] if a.ndim else a  # whose sum has the dtype of all elements
            dtype = total(some_elements).dtype
        if dtype == np.bool and name.endswith("cumsum"):  # whether any number up to it is not 0
            are_counted = a if name == "cumsum" or a.dtype.kind not in "fc" else jnp.where(jnp.isnan(a), 0, a)
            return function(are_counted != 0, axis) > 0
        return function(cast(a, dtype), axis)

    return of_axis


for _name in ("cumsum", "cumprod", "nancumsum", "nancumprod"):
    globals()[_name] = _cumulative(_name)


def _cumulative_of_standard(name):
    function = getattr(jaxapi, name)

    def of_axis(x: Array, axis=None, dtype=None, include_initial=False):
        x = jnp.atleast_1d(x)
        return function(x, axis=axis, dtype=dtype, include_initial=include_initial)

    return of_axis


cumulative_sum, cumulative_prod = map(_cumulative_of_standard, ("cumulative_sum", "cumulative_prod"))


def _of_truth(name):
    function = getattr(jnp, name)

    def of_axes(a: Array, axis=None, keepdims=False, where: Array = None):
        a = a != 0 if jnp.iscomplexobj(a) else a  # JAX looks at the real part alone
        return function(a, axis, keepdims=keepdims, where=where)

    return of_axes


all, any = map(_of_truth, ("all", "any"))


def _of_signed_infinity(name):
    function = getattr(jnp, name)

    def of_reals(x: Array):
        refuse(jnp.iscomplexobj(x), TypeError, f"{name} takes real numbers, got {x.dtype}")
        return function(x)

    return of_reals


isneginf, isposinf = map(_of_signed_infinity, ("isneginf", "isposinf"))


def i0(x: Array):
    refuse(jnp.iscomplexobj(x), TypeError, "i0 takes real numbers: pass real(x)")
    x = as_floats(x)
    return _i0_by_trapezoids(x) if x.dtype == np.float64 and is_lowered_narrow() else jnp.i0(x)


def _i0_by_trapezoids(x: Array):
    """Return the mean of ``exp(x cos t)`` around the circle, which some hundreds of points give exactly."""
    angles = np.linspace(0, np.pi, 257)
    weights = np.full(257, 1 / 256)
    weights[[0, -1]] /= 2

    def add(total, point):
        cosine, weight = point
        return total + weight * jnp.exp(x * cosine), None

    return jax.lax.scan(add, jnp.zeros_like(x), (jnp.cos(angles), jnp.asarray(weights)))[0]


def angle(z: Array, deg=False):
    imag, real = (_parts.imag(z), _parts.real(z)) if jnp.iscomplexobj(z) else (0, z)
    radians = ELEMENTWISE["arctan2"](imag, real)
    return radians * (180 / np.pi) if deg else radians


def round(a: Array, decimals=0):
    if a.dtype == np.bool:
        refuse(decimals != 0, TypeError, f"bool has no {decimals} decimals: pass x.astype(int)")
        return a.astype(np.float16)
    if decimals == 0 or (a.dtype.kind in "iu" and decimals > 0):
        return jnp.round(a) if a.dtype.kind in "fc" else a
    if jnp.iscomplexobj(a):  # part by part, as infinity divided as a complex number is NaN
        return jax.lax.complex(round(_parts.real(a), decimals), round(_parts.imag(a), decimals))
    x = as_floats(a)
    power = float(np.power(10.0, abs(decimals)))  # infinity from 309 on
    if decimals > 0:
        return divide(jnp.round(x * power), power).astype(a.dtype)
    return (jnp.round(divide(x, power)) * power).astype(a.dtype)


around = round


def sinc(x: Array):
    x = as_floats(x)
    nan = complex(np.nan, np.nan) if jnp.iscomplexobj(x) else np.nan
    return jnp.where(jnp.isinf(x), nan, jnp.sinc(x))


def _window(name):
    def function(M, **beta):
        if not any_traced(*beta.values()):
            return jnp.asarray(getattr(np, name)(M, **beta), float_dtype())
        window = jnp.zeros(0) if M < 1 else getattr(jnp, name)(int(np.ceil(M)), **beta)
        return window.astype(float_dtype())

    return function


for _name in ("bartlett", "blackman", "hamming", "hanning", "kaiser"):
    globals()[_name] = _window(_name)


def diff(a: Array, n=1, axis=-1, prepend: Array = None, append: Array = None):
    ends = {"prepend": prepend, "append": append}
    ends = {name: end for name, end in ends.items() if end is not None}
    dtype = result_dtype(a, *ends.values())  # an int is no weak number here
    ends = {name: cast(end, dtype) for name, end in ends.items()}
    return jaxapi.diff(cast(a, dtype), axis=axis, n=n, **ends)


def ediff1d(ary: Array, to_end: Array = None, to_begin: Array = None):
    """Refuse ends of another kind, as NumPy does."""
    ary = ary.reshape(-1)
    ends = {"to_begin": to_begin, "to_end": to_end}
    given = {name: strong(end).reshape(-1) for name, end in ends.items() if end is not None}
    for name, end in given.items():
        text = f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule."
        refuse(not np.can_cast(end.dtype, ary.dtype, "same_kind"), TypeError, text)
    parts = [ELEMENTWISE["subtract"](ary[1:], ary[:-1])]  # which refuses bool
    if to_begin is not None:
        parts.insert(0, cast(given["to_begin"], ary.dtype))
    if to_end is not None:
        parts.append(cast(given["to_end"], ary.dtype))
    return jnp.concatenate(parts)


_geomspace = compiled(transposable(jnp.geomspace), static_argnames=("num", "endpoint"))


def geomspace(start: Array, stop: Array, num=50, endpoint=True, dtype=None, axis=0):
    """Refuse zeros, and end where NumPy ends: jax.numpy's ends are rounded powers."""
    for end in (start, stop):
        has_zero = not is_traced(end) and bool(jnp.any(end == 0))
        refuse(has_zero, ValueError, "Geometric sequence cannot include zero")
    refuse(num < 0, ValueError, f"Number of samples, {num}, must be non-negative.")
    computed = float_dtype(start, stop)
    start, stop = [x.astype(computed) for x in (start, stop)]
    made = _geomspace(start, stop, num, endpoint=endpoint)
    if num > 0:
        made = made.at[0].set(start)
    if num > 1 and endpoint:
        made = made.at[-1].set(stop)
    return jnp.moveaxis(made if dtype is None else cast(made, dtype), 0, axis)


def gradient(f: Array, *varargs: Array, axis=None, edge_order=1):
    f = jnp.asarray(f)
    refuse(f.dtype == np.bool and f.ndim > 0, TypeError, "bool has no differences: pass x.astype(int)")
    f = as_floats(f)
    axes = axes_of(f, axis)
    refuse(len(varargs) not in (0, 1, len(axes)), TypeError, "invalid number of arguments")
    refuse(edge_order not in (1, 2), ValueError, "'edge_order' greater than 2 not supported")
    is_array_of_all_axes = len(varargs) == 1 and np.ndim(varargs[0]) and len(axes) > 1
    refuse(is_array_of_all_axes, TypeError, "distances along several axes are given one by one")
    spacings = varargs if len(varargs) == len(axes) else (varargs or (1.0,)) * len(axes)
    slopes = [_slope(f, x, axis, edge_order) for x, axis in zip(spacings, axes, strict=True)]
    return slopes[0] if len(slopes) == 1 else tuple(slopes)


def _slope(f, x, axis, edge_order):
    """Return the second-order differences of values along an axis, at a distance or at positions `x`."""
    f = jnp.moveaxis(f, axis, 0)
    n = f.shape[0]
    text = f"too small to calculate a numerical gradient: it takes {edge_order + 1} elements"
    refuse(n < edge_order + 1, ValueError, f"Shape of array {text}")
    refuse(np.ndim(x) > 1, ValueError, "distances must be either scalars or 1d")
    is_of_other_length = np.ndim(x) and np.shape(x)[0] != n
    text = "when 1d, distances must match the length of the dimension"
    refuse(is_of_other_length, ValueError, text)
    dtype = f.real.dtype
    is_evenly_spaced = np.ndim(x) == 0
    steps = jnp.full((n - 1,), x, dtype) if is_evenly_spaced else jnp.diff(jnp.asarray(x).astype(dtype))
    steps = steps.reshape(-1, *[1] * (f.ndim - 1))
    rises = divide(jnp.diff(f, axis=0), steps)
    first = rises[:1]
    last = rises[-1:]
    if edge_order == 2:
        first = first + divide((first - rises[1:2]) * steps[:1], steps[:1] + steps[1:2])
        last = last + divide((last - rises[-2:-1]) * steps[-1:], steps[-1:] + steps[-2:-1])
    if is_evenly_spaced:
        inner = divide(f[2:] - f[:-2], 2 * steps[1:])
    else:
        before = steps[:-1]
        after = steps[1:]
        inner = divide(rises[:-1] * after + rises[1:] * before, before + after)
    return jnp.moveaxis(jnp.concatenate([first, inner, last]), 0, axis)


def interp(x: Array, xp: Array, fp: Array, left=None, right=None, period=None):
    is_complex = jnp.iscomplexobj(x) or jnp.iscomplexobj(xp)
    refuse(is_complex, TypeError, "x and xp must be real numbers: only fp may be complex")
    refuse(xp.ndim != 1 or xp.shape != fp.shape, ValueError, "fp and xp are not of the same length.")
    refuse(not xp.size and x.size, ValueError, "array of sample points is empty")
    if not xp.size:
        return jnp.zeros(x.shape, float_dtype(fp))
    fp = fp.astype(float_dtype(fp))
    if jnp.iscomplexobj(fp):  # part by part, as an infinite one times a complex number is NaN
        real = interp(x, xp, _parts.real(fp), _part(jnp.real, left), _part(jnp.real, right), period)
        imag = interp(x, xp, _parts.imag(fp), _part(jnp.imag, left), _part(jnp.imag, right), period)
        imag = jnp.where(jnp.isnan(x), 0, imag)
        return jax.lax.complex(real, imag)
    x, xp = (jnp.asarray(a).astype(fp.real.dtype) for a in (x, xp))
    if period is not None:
        is_zero = not is_traced(period) and period == 0
        refuse(is_zero, ValueError, "period must be a non-zero value")
        period = abs(period)
        left = None
        right = None
        x = x % period
        xp = xp % period
        order = jnp.argsort(xp)
        xp = xp[order]
        fp = fp[order]
        xp = jnp.concatenate([xp[-1:] - period, xp, xp[:1] + period])
        fp = jnp.concatenate([fp[-1:], fp, fp[:1]])
    count = xp.shape[0]
    last = as_number(count - 1)
    before = jnp.clip(jaxapi.searchsorted(xp, x, side="right") - 1, 0, as_number(max(count - 2, 0)))
    before = before.astype(np.int32) if count < LONG else before
    after = jnp.minimum(before + 1, last.astype(before.dtype) if hasattr(last, "dtype") else last)
    start = xp[before]
    low = fp[before]
    end = xp[after]
    high = fp[after]
    slope = divide(high - low, end - start)
    values = slope * (x - start) + low
    values = jnp.where(jnp.isnan(values), slope * (x - end) + high, values)  # where infinity meets 0
    values = jnp.where(jnp.isnan(values) & (low == high), low, values)
    values = jnp.where(x == end, high, values)
    values = jnp.where(x == start, low, values)
    values = jnp.where(x == xp[-1], fp[-1], values)
    values = jnp.where(jnp.isnan(x), x, values)
    values = jnp.where(x < xp[0], fp[0] if left is None else left, values)
    return jnp.where(x > xp[-1], fp[-1] if right is None else right, values)


def _part(part, number):
    """Return the real or the imaginary part of a number that may be left out."""
    return None if number is None else part(number)


def trapezoid(y: Array, x: Array = None, dx=1.0, axis=-1):
    # sums of bool are True, and differences of unsigned integers wrap
    refuse(isinstance(axis, tuple), TypeError, f"trapezoid is along one axis, got the axes {axis}")
    y = jnp.moveaxis(y, axis, -1)
    left = y[..., :-1]
    right = y[..., 1:]
    heights = right | left if y.dtype == np.bool else right + left
    if x is None:
        return (as_floats(ELEMENTWISE["multiply"](heights, dx)) / 2.0).sum(-1)
    widths = jnp.diff(x if x.ndim == 1 else jnp.moveaxis(x, axis, -1))
    widths, heights = together([widths, heights])
    return (as_floats(widths * heights) / 2.0).sum(-1)


def unwrap(p: Array, discont=None, axis=-1, *, period=2 * np.pi):
    refuse(not p.ndim, ValueError, "unwrap takes an array of at least one dimension")
    axis = np.lib.array_utils.normalize_axis_index(axis, p.ndim)
    refuse(jnp.iscomplexobj(p), TypeError, "unwrap takes real numbers: pass angle(x)")
    if p.dtype.kind not in "iu":
        return jnp.unwrap(p, discont, axis, period)
    if p.dtype.kind == "u" and type(period) is int:
        least = period if period < 0 else -(period // 2)  # where the interval of differences begins
        refuse(least < 0, OverflowError, f"Python integer {least} out of bounds for {p.dtype}")
    # differences of integers wrap
    p = jnp.moveaxis(p, axis, -1)
    integer_steps = jnp.diff(p)
    dtype = jnp.result_type(p, period)
    if dtype.kind == "i":
        unwrapped = _unwrapped_integers(p.astype(dtype), integer_steps.astype(dtype), discont, period)
        return jnp.moveaxis(unwrapped, -1, axis)
    dtype = float_dtype(p) if type(period) in (int, float) else result_dtype(p, period)
    steps = cast(integer_steps, dtype)
    half = period / 2
    wrapped_steps = (steps + half) % period - half
    wrapped_steps = jnp.where((wrapped_steps == -half) & (steps > 0), half, wrapped_steps)
    is_small = jnp.abs(integer_steps) < (half if discont is None else discont)
    corrections = jnp.where(is_small, 0, wrapped_steps - steps).cumsum(-1)
    p = cast(p, dtype)
    return jnp.moveaxis(jnp.concatenate([p[..., :1], p[..., 1:] + corrections], -1), -1, axis)


def _unwrapped_integers(p: Array, steps: Array, discont, period):
    """Unwrap integers along the last axis by a period that is one; what overflows wraps as NumPy's."""
    period = jnp.asarray(period, p.dtype)
    half = period // 2
    wrapped_steps = (steps + half) % period - half
    is_upper_half = (period % 2 == 0) & (wrapped_steps == -half) & (steps > 0)
    wrapped_steps = jnp.where(is_upper_half, half, wrapped_steps)
    is_small = jnp.abs(steps) < (period - half if discont is None else discont)  # at most half a period
    corrections = jnp.where(is_small, 0, wrapped_steps - steps).cumsum(-1, dtype=p.dtype)
    return jnp.concatenate([p[..., :1], p[..., 1:] + corrections], -1)


def tri(N, M=None, k=0, dtype=None):
    dtype = float_dtype() if dtype is None else np.dtype(dtype)  # JAX 0.10's default is float32
    return converted(jnp.tri(N, M, k, bool), dtype)


def _product(axis):
    def product(a: Array, b: Array):
        a = strong(a)
        b = strong(b)
        if not a.ndim or not b.ndim:
            return jaxapi.multiply(a, b)
        axis_of_b = b.ndim + axis if b.ndim > 1 else 0
        return jaxapi.tensordot(a, b, axes=((a.ndim - 1,), (axis_of_b,)))

    return product


def tensordot(a: Array, b: Array, axes=2):
    return jaxapi.tensordot(strong(a), strong(b), axes=axes)


dot = _product(-2)
inner = _product(-1)


def vdot(a: Array, b: Array):
    return full_precision(jnp.vdot)(a, b)


def kron(a: Array, b: Array):
    a = strong(a)
    b = strong(b)
    dtype = result_dtype(a, b)
    if dtype != np.bool:
        return jnp.kron(a, b)
    return jnp.kron(a.astype(np.uint8), b.astype(np.uint8)).astype(bool)
