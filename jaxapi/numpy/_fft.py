"""NumPy's `numpy.fft`, of our arrays."""

import operator

import jax.numpy as jnp
import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from .._core._exact import transposable
from .._core._programs import compiled
from ..mutable._by_numpy import in_numpys_way as _in_numpys_way
from ._common import as_floats, refuse
from ._wrap import on_rows_first as _on_rows_first
from ._wrap import with_numpys_signature as _signed

_OF_HALF = "hfft irfft"  # which of n elements read n // 2 + 1
_OF_REALS = "ihfft rfft"
_OF_AXIS = f"fft ifft {_OF_HALF} {_OF_REALS}".split()
_OF_AXES = ["fft2", "fftn", "ifft2", "ifftn", "irfft2", "irfftn", "rfft2", "rfftn"]
_SHIFTS = ["fftshift", "ifftshift"]
__all__ = sorted([*_OF_AXIS, *_OF_AXES, *_SHIFTS, "fftfreq", "rfftfreq"])


def _as_numbers(a, name):
    """Return an array in the dtype that NumPy transforms: integers are float64, halves float32."""
    is_of_reals = name.startswith("rfft") or name == "ihfft"
    refuse(is_of_reals and jnp.iscomplexobj(a), TypeError, f"{name} takes real numbers, got {a.dtype}")
    return a.astype(np.float32) if a.dtype.itemsize == 2 and a.dtype.kind not in "iu" else as_floats(a)


def _checked_count(n):
    n = operator.index(n)
    refuse(n < 1, ValueError, f"Invalid number of FFT data points ({n}) specified.")
    return n


def _count_of(name, n, size):
    """Return how many elements a transform of an axis of this size has."""
    default = 2 * (size - 1) if name in _OF_HALF.split() else size
    return _checked_count(default if n is None else n)


def _transform(name):
    """Return a transform of JAX's as one program, which on a GPU takes a fraction of its steps' time."""
    return compiled(transposable(getattr(jnp.fft, name)), static_argnums=(1, 2, 3))


def _of_axis(name):
    transform = _transform(name)

    def function(a, n=None, axis=-1, norm=None):
        a = jnp.asarray(a)
        count = _count_of(name, n, a.shape[normalize_axis_index(axis, a.ndim)])
        made = transform(_as_numbers(a, name), count, axis, norm)
        return made.astype(a.dtype) if a.dtype == np.float16 and made.dtype == np.float32 else made

    return function


def _counts_and_axes(a, name, s, axes):
    """Return how many elements to transform along each axis, and the axes, which may be there repeatedly."""
    if s is not None:
        s = [operator.index(n) for n in s]
    if axes is None:
        axes = range(-(a.ndim if s is None else len(s)), 0)
    axes = [normalize_axis_index(axis, a.ndim) for axis in axes]
    refuse(not axes and "rfft" in name, IndexError, f"{name} takes at least one axis")
    if s is None:
        s = [a.shape[axis] for axis in axes]
        if name.startswith("irfft"):
            s[-1] = 2 * (s[-1] - 1)
    refuse(len(s) != len(axes), ValueError, "Shape and axes have different lengths.")
    counts = [a.shape[axis] if n == -1 else n for n, axis in zip(s, axes, strict=True)]
    return [_checked_count(n) for n in counts], axes


def _of_axes(name):
    transform = _transform(name.replace("2", "n"))
    all_axes = (-2, -1) if name.endswith("2") else None

    def function(a, s=None, axes=all_axes, norm=None):
        a = jnp.asarray(a)
        counts, axes = _counts_and_axes(a, name, s, axes)
        if not axes:
            return a
        if len(axes) == 1:
            return _FUNCTIONS[name[:-1]](a, counts[0], axes[0], norm)
        a = _as_numbers(a, name)
        if len({*axes}) == len(axes):
            return transform(a, tuple(counts), tuple(axes), norm)
        one_by_one = list(zip(_names_of_steps(name, len(axes)), counts, axes, strict=True))
        if not name.startswith("irfft"):
            one_by_one.reverse()
        for step, n, axis in one_by_one:
            a = _transform(step)(a, n, axis, norm)
        return a

    return function


def _names_of_steps(name, count):
    """Return the transforms along each axis: of the last one that of real numbers."""
    last = name[:-1]
    others = last.replace("rfft", "fft")
    return [others] * (count - 1) + [last]


def _of_count(name):
    frequencies = getattr(jnp.fft, name)

    def function(n, d=1.0, **options):
        refuse(not isinstance(n, (int, np.integer)), ValueError, "n should be an integer")
        refuse(n == 0, ZeroDivisionError, "float division by zero")
        refuse(n < 0, ValueError, "negative dimensions are not allowed")
        return frequencies(n, d=d, **options)

    return function


_FUNCTIONS = {name: getattr(jnp.fft, name) for name in _SHIFTS}
_FUNCTIONS |= {name: _of_axis(name) for name in _OF_AXIS}
_FUNCTIONS |= {name: _of_axes(name) for name in _OF_AXES}
_FUNCTIONS |= {name: _of_count(name) for name in ("fftfreq", "rfftfreq")}
for _name, _function in _FUNCTIONS.items():
    _numpys = getattr(np.fft, _name)
    _made = _on_rows_first(_name, _signed(_name, _numpys, _function, "jaxapi.numpy.fft"))
    globals()[_name] = _in_numpys_way(_numpys, _made)
