"""NumPy's own functions, handed our arrays: they are ours, and what is computed stays on the device."""

import functools

import jax
import numpy as np

from ..mutable._array import Array
from ..mutable._wrap import wrap_result
from ._names import ON_HOST

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


def array_function(a, func, types, args, kwargs):
    """Call our function for NumPy's; those that print, compare or save take NumPy's arrays."""
    if not all(issubclass(kind, (Array, np.ndarray, jax.Array)) for kind in types):
        return NotImplemented
    name = func.__name__
    if name in ON_HOST:
        return func(*_on_host(args), **_on_host(kwargs))
    found = _ours().get(func)
    if found is None:
        raise TypeError(
            f"numpy.{name} does not take arrays of jaxapi: call it with numpy.asarray(x), on the host"
        )
    return found(*args, **kwargs)


def array_ufunc(a, ufunc, method, *inputs, **kwargs):
    """Call our ufunc for NumPy's; one that is not NumPy's, or writes to NumPy's arrays, runs on the host."""
    found = _ours().get(ufunc)
    out = kwargs.get("out") or ()
    writes = method == "at" and not isinstance(inputs[0], Array)
    if found is None or writes or any(isinstance(x, np.ndarray) for x in out):
        if any(isinstance(x, Array) for x in out):
            made = getattr(ufunc, method)(*_on_host(inputs), **{**kwargs, "out": None})
            for to, part in zip(out, made if isinstance(made, tuple) else (made,), strict=True):
                to[...] = part
            return out if len(out) > 1 else out[0]
        return getattr(ufunc, method)(*_on_host(inputs), **_on_host(kwargs))
    if len(out) == 1:
        kwargs["out"] = out[0]
    return wrap_result((found if method == "__call__" else getattr(found, method))(*inputs, **kwargs))


def _on_host(x):
    if isinstance(x, Array):
        return np.asarray(x)
    if type(x) in (list, tuple):
        return type(x)(map(_on_host, x))
    return {key: _on_host(part) for key, part in x.items()} if type(x) is dict else x
