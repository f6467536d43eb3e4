"""The one wrapper: a function of jaxapi becomes one that takes and returns `jaxapi.mutable.Array`."""

import functools
import inspect
import re
from typing import Any

import jax
import numpy as np

import jaxapi
from jaxapi import _elementwise

from .._core._programs import ARRAY_TYPES, is_jax_array, is_traced
from .._interop import is_passed_on
from ._array import MUTABLE, Array, any_may_have_room, copied, shared, wrap
from ._batches import Pending
from ._by_numpy import in_numpys_way
from ._capacity._functions import of_elements, way_on_rows
from ._capacity._selecting import MAKING_ROOM
from ._standard import FUNCTIONS, MAKES_ARRAYS, by_standard

__all__ = ["argument", "elsewhere", "on_host_or_device", "without_examples", "wrap_function"]
__all__ += ["wrap_namespace", "wrap_result"]

_OF_OPERANDS = frozenset([jaxapi.where] + [getattr(jaxapi, name) for name in _elementwise.__all__])
# What NumPy's functions of these names return without axes is an array, and no scalar.
_OF_ARRAYS = frozenset(
    ["asarray", "broadcast_arrays", "broadcast_to", "empty", "empty_like", "from_dlpack", "full"]
)
# Arguments that are no arrays.
_OPTIONS = frozenset(["axes", "axis", "correction", "k", "keepdims", "n", "offset", "ord", "s"])
_OF_ARRAYS |= {
    "full_like",
    "meshgrid",
    "ones",
    "ones_like",
    "permute_dims",
    "squeeze",
    "where",
    "zeros",
    "zeros_like",
}


def wrap_namespace(source, names, target: dict, module: str) -> None:
    """Put wrapped functions into a module; constants, dtypes and classes go there as they are."""
    for name in names:
        value = getattr(source, name)
        is_function = callable(value) and not inspect.isclass(value) and not hasattr(value, "dtype")
        target[name] = wrap_function(value, name, module) if is_function else value


def wrap_function(function, name: str, module: str):
    """Take arrays out of the arguments, and make arrays of the results: by NumPy on the host, else by JAX."""
    elementwise = function in _OF_OPERANDS
    makes_scalars = name not in _OF_ARRAYS
    makes_room = name in MAKING_ROOM

    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        if way is not None and args and (makes_room or any_may_have_room(args)):
            made = way(args, kwargs)
            if made is not None:
                return made
        if kwargs:
            out = kwargs.pop("out", None)
            if out is not None:
                return _into(out, function_of_either(*args, **kwargs), elementwise)
            if "device" in kwargs:
                kwargs["device"] = elsewhere(kwargs["device"])
            kwargs = {key: option(x) if key in _OPTIONS else argument(x) for key, x in kwargs.items()}
        values = [argument(x) for x in args]
        result = function(*values, **kwargs)
        if type(result) not in ARRAY_TYPES:
            return wrap_result(result, makes_scalars=makes_scalars)
        for x, value in zip(args, values):  # noqa: B905 (of one length, and strict takes longer)
            if value is result:
                return copied(x) if isinstance(x, Array) else shared(result)
        return wrap(result, is_scalar=makes_scalars and not result.ndim)

    wrapped.__module__ = module
    wrapped.__name__ = name
    wrapped.__qualname__ = name
    wrapped.__doc__ = without_examples(function)
    way: Any = way_on_rows(wrapped, name, MUTABLE)
    if elementwise:
        way = functools.partial(of_elements, function, module=MUTABLE)
    function_of_either = on_host_or_device(name, wrapped, makes_scalars) if name in FUNCTIONS else wrapped
    return function_of_either


def on_host_or_device(name: str, function, makes_scalars=True):
    """Return a function of the standard that NumPy computes on the host, and ``function`` elsewhere."""
    either = in_numpys_way(by_standard(name, makes_scalars), function, name in MAKES_ARRAYS, MUTABLE)
    takes_device = "device" in inspect.signature(function).parameters
    return _with_device(either) if takes_device else either


def _with_device(function):
    """Return a function that is not told the only device."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        if "device" in kwargs:
            kwargs["device"] = elsewhere(kwargs["device"])
        return function(*args, **kwargs)

    return call


def argument(x):
    """Return an argument as a function of jaxapi takes it: what the host's memory holds, or a value of JAX.

    jaxapi hands a copy of a small array of NumPy's to its program, which takes a third of the time that it
    takes to make a value of JAX of it first.
    """
    if isinstance(x, Array):
        host = x._host
        return host if host is not None and is_passed_on(host) else x._value
    if type(x) is list:
        return [argument(part) for part in x]
    if type(x) is tuple:
        return tuple([argument(part) for part in x])
    return x


def option(x):
    """Return an argument that is no array: NumPy's numbers, and elements that have a value, as Python's."""
    if type(x) in (list, tuple):
        return type(x)(map(option, x))
    x = argument(x)
    is_element = isinstance(x, (np.generic, np.ndarray, jax.Array)) and not x.ndim
    return x.item() if is_element and not is_traced(x) else x


def elsewhere(device):
    """Return a device; None for the only one, whose arrays would be compiled for apart if it was named."""
    return None if device == _only_device() and jax.config.jax_default_device is None else device


@functools.cache
def _only_device():
    devices = jax.devices()
    return devices[0] if len(devices) == 1 else object()


def without_examples(function) -> str:
    """Return a docstring up to its examples, which show the arrays of jaxapi."""
    return re.split(r"\n+ *Examples:? *\n", inspect.getdoc(function) or "")[0]


def wrap_result(result, module=MUTABLE, makes_scalars=True):
    """Wrap arrays, also in tuples, named tuples, lists and dicts; leave everything else."""
    if is_jax_array(result) or type(result) is Pending:
        return wrap(result, module, makes_scalars and not result.ndim)
    if isinstance(result, (tuple, list)):
        parts = [wrap_result(part, module, makes_scalars) for part in result]
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    if isinstance(result, dict):
        return {key: wrap_result(part, module, makes_scalars) for key, part in result.items()}
    return result


def _into(out, result, elementwise=False):
    """Write a result to ``out=``, as NumPy and CuPy do, and return that.

    The result of an element-wise function is broadcast to it, any other has its shape.
    """
    if not isinstance(out, Array):
        raise TypeError(f"out must be a jaxapi.mutable.Array, got {type(out).__name__}")
    sizes = zip(reversed(result.shape), reversed(out.shape), strict=False)
    broadcasts = result.ndim <= out.ndim and all(n in (1, m) for n, m in sizes)
    if result.shape != out.shape and not (elementwise and broadcasts):
        raise ValueError(f"out has shape {out.shape}, the result {result.shape}")
    if not np.can_cast(result.dtype, out.dtype, "same_kind"):
        raise TypeError(
            f"out has dtype {out.dtype}, which the result's {result.dtype} cannot be cast to safely"
        )
    out[...] = result
    return out
