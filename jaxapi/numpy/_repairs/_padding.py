"""Padding: by functions, ramps of integers and statistics, which jax.numpy lacks or rounds otherwise."""

from __future__ import annotations

import builtins
from typing import Any as Array

import jax
import jax.numpy as jnp
import numpy as np

import jaxapi

from ..._core._dtypes import has_64_bits, is_lowered_narrow, x64_for, x64_on
from ..._interop._numbers import PYTHON_NUMBERS, leaf_types
from ...mutable._array import NUMPY, wrap
from .._common import as_number, refuse
from ._arrays import max, min
from ._statistics import mean, median

__all__ = ["pad"]

_STATISTICS = {"maximum": max, "mean": mean, "median": median, "minimum": min}


_MODES = [
    "constant",
    "edge",
    "empty",
    "linear_ramp",
    "maximum",
    "mean",
    "median",
    "minimum",
    "reflect",
    "symmetric",
    "wrap",
]


_OPTIONS = {"constant": "constant_values", "linear_ramp": "end_values"}
_OPTIONS |= dict.fromkeys(_STATISTICS, "stat_length")
_OPTIONS |= dict.fromkeys(("reflect", "symmetric"), "reflect_type")


def pad(array: Array, pad_width, mode="constant", **kwargs):
    if isinstance(mode, str) and mode not in _MODES:
        raise ValueError(f"mode {mode!r} is not supported: NumPy's are {', '.join(_MODES)}")
    if not callable(mode):
        unsupported = kwargs.keys() - {_OPTIONS.get(mode)}
        refuse(unsupported, ValueError, f"unsupported keyword arguments for mode {mode!r}: {unsupported}")
    if isinstance(pad_width, dict):
        pad_width = _widths_of_axes(pad_width, array.ndim)
    refuse(np.size(pad_width) == 0, TypeError, f"`pad_width` must be of integral type, got {pad_width!r}")
    if mode not in ("constant", "empty") and not array.size:
        _refuse_to_extend_nothing(array, pad_width)
    if mode == "linear_ramp":
        return _with_ramps(array, pad_width, **kwargs)
    if mode == "constant" and array.dtype.kind == "i":
        _check_constants(array.dtype, **kwargs)
    if mode == "constant" and array.dtype == np.bool and "constant_values" in kwargs:
        kwargs["constant_values"] = jnp.asarray(kwargs["constant_values"]) != 0  # JAX takes the real part
    if callable(mode):
        return _by_function(array, pad_width, mode, kwargs)
    if mode in _STATISTICS:
        return _with_statistics(array, pad_width, mode, **kwargs)
    is_repeated = mode in ("edge", "wrap") or (mode in ("reflect", "symmetric") and _is_even(**kwargs))
    if is_repeated:
        return _by_positions(array, pad_width, mode)
    if mode in ("reflect", "symmetric") and kwargs == {"reflect_type": "odd"}:
        return _by_odd_reflections(array, pad_width, mode)
    if mode == "constant" and has_64_bits(array) and is_lowered_narrow():
        return _with_constants(array, pad_width, **kwargs)
    return jnp.pad(array, pad_width, mode, **kwargs)


def _check_constants(dtype, constant_values=0):
    """Raise NumPy's errors for Python numbers that signed integers do not hold."""
    if leaf_types([constant_values]) <= PYTHON_NUMBERS:
        np.asarray(constant_values, dtype)


def _with_constants(array: Array, pad_width, constant_values=0):
    """Put constants beside an array, axis by axis: the transpose of JAX's own padding is lowered narrow."""
    widths = np.broadcast_to(np.asarray(pad_width), (array.ndim, 2)).tolist()
    constants = jnp.broadcast_to(jnp.asarray(constant_values), (array.ndim, 2)).astype(array.dtype)
    is_negative = any(width < 0 for axis_widths in widths for width in axis_widths)
    refuse(is_negative, ValueError, "index can't contain negative values")
    for axis, axis_widths in enumerate(widths):
        before, after = [
            jnp.full((*array.shape[:axis], width, *array.shape[axis + 1 :]), constants[axis, side])
            for side, width in enumerate(axis_widths)
        ]
        array = jnp.concatenate([before, array, after], axis)
    return array


def _is_even(reflect_type="even"):
    return reflect_type == "even"


def _by_positions(array, pad_width, mode):
    """Take the elements that repeat, which jax.numpy pads by in as many steps as they come again."""
    for axis, widths in enumerate(_pairs(pad_width, array.ndim, "pad_width")):
        if any(widths):
            before, behind = widths
            size = array.shape[axis]
            numbers = _arange(-before, size + behind)
            positions = _REPEATED[mode](numbers, as_number(size)).astype(np.int32)
            array = jnp.take(array, positions, axis=axis)
    return array


def _arange(start, stop):
    """Return positions of the host; of JAX's program where the length is not known."""
    return np.arange(start, stop) if isinstance(stop, int) else jnp.arange(start, stop)


def _nearest(numbers, size):
    return numbers.clip(0, size - 1)


def _in_turn(numbers, size):
    return numbers % size


def _symmetric(numbers, size):
    """Return the positions of a walk to and fro, which stays at an end for two steps."""
    places = numbers % (2 * size)
    return places.clip(None, 2 * size - 1 - places)


def _reflected(numbers, size):
    """Return the positions of a walk to and fro."""
    period = np.maximum(2 * size - 2, 1) if isinstance(size, int) else 2 * size - 2  # of one element
    places = numbers % period
    return places.clip(None, period - places)


_REPEATED = {"edge": _nearest, "reflect": _reflected, "symmetric": _symmetric, "wrap": _in_turn}


def _by_odd_reflections(array, pad_width, mode):
    """Return an array that goes on turned around its ends.

    After two turns it has come as far as its last element is from the first one, twice. jax.numpy takes as
    many steps as there are turns.
    """
    for axis, (before, behind) in enumerate(_pairs(pad_width, array.ndim, "pad_width")):
        size = array.shape[axis]
        if not before + behind:
            continue
        turns_at = size if mode == "symmetric" else size - 1
        if not turns_at:  # one element, which NumPy repeats
            array = jnp.repeat(array, before + 1 + behind, axis=axis)
            continue
        numbers = _arange(-before, size + behind)
        period = as_number(2 * turns_at)
        period_count = numbers // period
        place = numbers % period
        is_turned = place >= as_number(size)
        turned_place = period - place - (mode == "symmetric")
        positions = jnp.where(is_turned, turned_place, place)
        shape = [-1] + [1] * (array.ndim - axis - 1)
        first = jax.lax.slice_in_dim(array, 0, 1, axis=axis)
        last = jax.lax.slice_in_dim(array, size - 1, size, axis=axis)
        taken = jnp.take(array, positions.astype(np.int32), axis=axis)
        turned = jnp.where(is_turned.reshape(shape), 2 * last - taken, taken)
        gone_on = turned + (2 * period_count).astype(array.dtype).reshape(shape) * (last - first)
        is_inside = (numbers >= 0) & (numbers < as_number(size))
        zero_is_positive = jnp.where(gone_on == 0, jnp.zeros_like(gone_on), gone_on)
        array = jnp.where(is_inside.reshape(shape), taken, zero_is_positive)
    return array


def _refuse_to_extend_nothing(array, pad_width):
    """Refuse to pad along an axis without elements by elements of it."""
    widths = np.broadcast_to(np.asarray(pad_width), (array.ndim, 2))
    for axis, length in enumerate(array.shape):
        is_extended = not length and widths[axis].any()
        text = f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'"
        refuse(is_extended, ValueError, text)


def _widths_of_axes(widths, ndim):
    """Return a pair of widths for each axis, of those that a dict has for some."""
    pairs = [(0, 0)] * ndim
    for axis, width in widths.items():
        pairs[np.lib.array_utils.normalize_axis_index(axis, ndim)] = np.broadcast_to(width, 2).tolist()
    return pairs


def _pairs(numbers, ndim: int, name: str) -> list[list[int]]:
    """Return a pair of numbers of elements for each axis."""
    pairs = np.broadcast_to(np.asarray(numbers), (ndim, 2))
    refuse(pairs.dtype.kind not in "iu", TypeError, f"`{name}` must be of integral type.")
    refuse(pairs.min(initial=0) < 0, ValueError, f"`{name}` can't contain negative values.")
    return pairs.tolist()


def _by_function(array, pad_width, function, options):
    """Let a function write the padding of each row."""
    padded = wrap(jnp.pad(array, pad_width), NUMPY)
    widths = np.broadcast_to(np.asarray(pad_width), (array.ndim, 2)).tolist()
    for axis in range(array.ndim):
        rows = np.moveaxis(padded, axis, -1)
        for index in np.ndindex(rows.shape[:-1]):
            function(rows[(*index, ...)], tuple(widths[axis]), axis, options)
    return padded._value


def _with_ramps(array, pad_width, end_values=0):
    """Return an array with ramps at its ends, in NumPy's steps: those of integers are rounded down."""
    widths = _pairs(pad_width, array.ndim, "pad_width")
    wide = np.complex128 if array.dtype.kind == "c" else np.float64
    with x64_on():
        ends = jnp.broadcast_to(jnp.asarray(end_values), (array.ndim, 2)).astype(wide)
        for axis in range(array.ndim):
            size = array.shape[axis]
            left_edge = jax.lax.slice_in_dim(array, 0, 1, axis=axis)
            right_edge = jax.lax.slice_in_dim(array, size - 1, size, axis=axis)
            left = _ramp(ends[axis, 0], left_edge, widths[axis][0], axis)
            right = _ramp(ends[axis, 1], right_edge, widths[axis][1], axis)
            array = jnp.concatenate([left, array, jnp.flip(right, axis)], axis)
    return array


def _ramp(start, stop, count, axis):
    """Return numbers from one up to elements, without these, along an axis."""
    positions = jnp.arange(count, dtype=float).reshape(-1, *[1] * (stop.ndim - axis - 1))
    step = jaxapi.divide(stop.astype(start.dtype) - start, builtins.max(count, 1))
    # of a known 0 XLA would leave out the sum, which makes 0 of -0
    ramp = positions * step + jax.lax.optimization_barrier(start)
    return (jnp.floor(ramp) if stop.dtype.kind in "iu" else ramp).astype(stop.dtype)


def _with_statistics(array, pad_width, mode, stat_length=None):
    """Return an array with a statistic of the first elements before it, and of the last ones behind it."""
    widths = _pairs(pad_width, array.ndim, "pad_width")
    lengths = [[size, size] for size in array.shape]
    if stat_length is not None:
        lengths = _pairs(np.rint(stat_length).astype(int), array.ndim, "stat_length")
    for axis in range(array.ndim):
        size = array.shape[axis]
        first_count = builtins.min(lengths[axis][0], size)
        last_count = builtins.min(lengths[axis][1], size)
        first = jax.lax.slice_in_dim(array, 0, first_count, axis=axis)
        last = jax.lax.slice_in_dim(array, size - last_count, size, axis=axis)
        before = _repeated_statistic(first, mode, axis, widths[axis][0])
        behind = _repeated_statistic(last, mode, axis, widths[axis][1])
        array = jnp.concatenate([before, array, behind], axis)
    return array


def _repeated_statistic(elements, mode, axis, count):
    """Return a statistic along an axis, as often as it is asked for; of integers it is rounded."""
    is_of_nothing = mode in ("maximum", "minimum") and not elements.shape[axis]
    refuse(is_of_nothing, ValueError, "stat_length of 0 yields no value for padding")
    dtype = elements.dtype
    with x64_on() if dtype.kind in "iu" else x64_for(dtype):
        statistic = _STATISTICS[mode](elements, axis=axis, keepdims=True)
        if dtype.kind in "iu" and statistic.dtype.kind == "f":
            statistic = jnp.rint(statistic)
        return jnp.repeat(statistic.astype(dtype), count, axis)
