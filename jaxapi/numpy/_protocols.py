"""NumPy's own functions, handed our arrays: they are ours, and what is computed stays on the device."""

import functools

import jax
import numpy as np

from ..mutable import _host_way as host_way
from ..mutable._array import NUMPY, Array, as_from
from ..mutable._by_numpy import computed_by_numpy
from ..mutable._faces import mode_of
from ..mutable._numpy_arguments import NotOnHost
from ..mutable._wrap import wrap_result
from ._table import ON_HOST
from ._ufuncs import ufunc as Ufunc
from ._wrap import on_host

__all__ = ["array_function", "array_ufunc"]


@functools.cache
def _ours() -> dict:
    """Return our functions by NumPy's."""
    import jaxapi.numpy as module

    pairs = ((np, module), (np.linalg, module.linalg), (np.fft, module.fft))
    return {
        function: getattr(own, name)
        for numpys, own in pairs
        for name, function in vars(numpys).items()
        if callable(function) and not isinstance(function, type) and name in own.__all__
    }


def array_function(func, types, args, kwargs, module):
    """Call our function for NumPy's, in the dtypes of a namespace, whose arrays the results are.

    Those that print, compare or save take NumPy's arrays.
    """
    if not all(issubclass(kind, (Array, np.ndarray, jax.Array)) for kind in types):
        return NotImplemented
    name = func.__name__
    if host_way.is_eager():
        try:
            return computed_by_numpy(func, args, kwargs, module)
        except NotOnHost:
            pass
    has_none = name == "broadcast_arrays" and any(x is None for x in args)  # as matplotlib's bars have
    if name in ON_HOST or has_none:
        return func(*on_host(args), **on_host(kwargs))
    found = _ours().get(func)
    if found is None:
        raise TypeError(
            f"numpy.{name} does not take arrays of jaxapi: call it with numpy.asarray(x), on the host"
        )
    with mode_of(module):
        return as_from(_computed_by_jax(found)(*args, **kwargs), module)


def _computed_by_jax(found):
    """Return what a function does where JAX computes, in the dtypes of its x64 mode."""
    return getattr(found, "__wrapped__", found)


def array_ufunc(module, ufunc, method, *inputs, **kwargs):
    """Call our ufunc for NumPy's, in the dtypes of a namespace, whose arrays the results are.

    One that is not NumPy's, or writes to NumPy's arrays, runs on the host.
    """
    found = _ours().get(ufunc)
    writes = method == "at" and not isinstance(inputs[0], Array)
    if method == "outer" and isinstance(found, Ufunc) and found.takes_weak_number(*inputs):
        method = "__call__"
    takes_weak_numbers = found is not None and method == "at" and not writes
    if host_way.is_eager() and not takes_weak_numbers:
        try:
            numpys = ufunc if method == "__call__" else getattr(ufunc, method)
            return computed_by_numpy(numpys, inputs, kwargs, module)
        except NotOnHost:
            pass
    out = kwargs.get("out") or ()
    if found is None or writes or any(isinstance(x, np.ndarray) for x in out):
        if any(isinstance(x, Array) for x in out):
            made = getattr(ufunc, method)(*on_host(inputs), **{**kwargs, "out": None})
            for to, part in zip(out, made if isinstance(made, tuple) else (made,), strict=True):
                to[...] = part
            return out if len(out) > 1 else out[0]
        return getattr(ufunc, method)(*on_host(inputs), **on_host(kwargs))
    if len(out) == 1:
        kwargs["out"] = out[0]
    with mode_of(module):
        return as_from(wrap_result(_method_by_jax(found, method)(*inputs, **kwargs), NUMPY), module)


def _method_by_jax(found, method):
    """Return what a method of a ufunc, or of a function in the place of one, does where JAX computes."""
    if isinstance(found, Ufunc):
        return found.method_by_jax(method)
    return _computed_by_jax(found) if method == "__call__" else getattr(found, method)
