"""Small arrays of constants, made once.

``zeros(3)``, ``eye(32)`` or ``asarray(1e-6)`` takes a program's run or a transfer, 50 to 130 us of an H200's
host. Called again, it returns another array of the same value, as a copy does.
"""

import functools

import jax
import numpy as np

from .._constant_cache import on_gpu
from .._tracing import in_a_trace, is_traced
from .._x64 import x64_for, x64_mode
from ._array import wrap
from ._wrap import elsewhere

__all__ = ["kept"]

_cache: dict = {}
_MOST = 256  # values kept; then all are forgotten
_FEW = 2**14  # bytes of a value that is kept
_LARGE = object()  # in the place of a larger one, whose size is not found out again
_NUMBERS = (int, float, complex, np.generic)
_NAMES = (str, type(None), type, np.dtype, jax.Device, jax.sharding.Sharding)


def kept(function, fill: int | None = None):
    """Let a function of numbers, dtypes and devices keep the small arrays that it makes.

    Those of one value, ``fill``, are sent to a GPU, which compiles nothing.
    """

    @functools.wraps(function)
    def made(*args, **kwargs):
        key = _key(function, args, kwargs)
        value = _cache.get(key)
        if value is _LARGE:
            return function(*args, **kwargs)
        if value is None:
            here = key is not None and elsewhere(kwargs.get("device")) is None
            sends = here and fill is not None and on_gpu()
            array = _sent(function, args, kwargs, fill) if sends else function(*args, **kwargs)
            if key is None or is_traced(array._value):
                return array
            if len(_cache) >= _MOST:
                _cache.clear()
            if array.nbytes > _FEW:
                _cache[key] = _LARGE
                return array
            value = _cache[key] = array._value
        array = wrap(value)
        array._copied = True
        return array

    return made


def _sent(function, args, kwargs, fill: int):
    """Return what a function makes, by way of the host if that is small."""
    made = jax.eval_shape(lambda: function(*args, **kwargs)._value)
    if made.size * made.dtype.itemsize > _FEW or not isinstance(made.dtype, np.dtype):
        return function(*args, **kwargs)
    with x64_for(made.dtype):
        return wrap(jax.device_put(np.full(made.shape, fill, made.dtype)))


def _key(function, args, kwargs) -> tuple | None:
    """Return what the result depends on; None if that is more than names and numbers."""
    try:
        given = tuple(map(_part, args)), tuple((name, _part(x)) for name, x in kwargs.items())
    except TypeError:
        return None
    if in_a_trace():
        return None
    settings = x64_mode(), jax.config.jax_default_device, jax.sharding.get_abstract_mesh()
    return function, given, settings


def _part(x):
    if isinstance(x, _NUMBERS) and x == x:  # the sign of NaN is not told
        return type(x), repr(x)  # as 1, 1.0 and True are equal, and 0.0 and -0.0
    if isinstance(x, (tuple, list)):
        return type(x), tuple(map(_part, x))
    if isinstance(x, _NAMES):
        return x
    raise TypeError
