"""Who computes a function of either namespace: NumPy on the host, else JAX."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core._errors import error_of_several
from . import _host_way as host_way
from ._array import NUMPY, Array, from_numpy, line_of_call
from ._batches import is_recording
from ._faces import mode_of
from ._numpy_arguments import NotOnHost, in_jaxs_dtypes, to_numpy

__all__ = ["computed_by_numpy", "in_numpys_way"]


def computed_by_numpy(function: Callable[..., Any], args: tuple, kwargs: dict, module: str = NUMPY) -> Any:
    """Return what NumPy's function gives for our arrays, which are all in the host's memory, else raise.

    The results are arrays of a namespace, in its dtypes.
    """
    operands = [to_numpy(x) for x in args]
    options = {name: to_numpy(x) for name, x in kwargs.items()} if kwargs else kwargs
    if module != NUMPY:
        operands = [in_jaxs_dtypes(x) for x in operands]
        options = {name: in_jaxs_dtypes(x) for name, x in options.items()}
    result = function(*operands, **options)
    is_array = type(result) is np.ndarray
    if is_array:
        for i, host in enumerate(operands):
            if host is result and isinstance(args[i], Array):
                return args[i]
    if options:
        out = kwargs.get("out")
        if out is not None:
            return _written_to(out, result, module)
        operands += options.values()
    arrays = from_numpy(result, module, operands)
    if type(result) is tuple:  # a positional argument may be the ``out`` of some of the results
        targets = [(x, host) for x, host in zip(args, operands, strict=False) if isinstance(x, Array)]
        pairs = zip(result, arrays, strict=True)
        arrays = tuple([_target_or_array(part, array, targets) for part, array in pairs])
    return arrays


def _target_or_array(part, array, targets):
    """Return the argument whose memory a part of a result is, else the array that was made of the part."""
    for x, host in targets:
        if host is part:
            return x
    return array


def _written_to(out, result, module):
    """Return what ``out=`` was given; for None in a tuple NumPy's new result."""
    if type(out) is not tuple:
        return out
    if len(out) == 1:
        return out[0]
    pairs = zip(out, result, strict=True)
    return tuple([from_numpy(part, module) if target is None else target for target, part in pairs])


def in_numpys_way(
    numpys: Callable[..., Any], function: Callable[..., Any], is_new: bool = False, module: str = NUMPY
) -> Callable[..., Any]:
    """Return a function that NumPy computes where all arrays are in the host's memory and nothing is traced.

    ``is_new`` is said of functions that make arrays of numbers, which go where JAX puts those.
    """
    is_numpys = host_way.is_default if is_new else host_way.is_eager
    waiting = getattr(function, "waiting", None)

    @functools.wraps(function)
    def call(*args, **kwargs):
        if is_numpys():
            try:
                return computed_by_numpy(numpys, args, kwargs, module)
            except NotOnHost:
                pass
            except TypeError as error:
                raise error_of_several(error) or error from None
        elif waiting is not None and is_recording():
            line = line_of_call(waiting, args, kwargs, is_wide=True)
            if line is not None:
                return line
        with mode_of(module):
            return function(*args, **kwargs)

    return call
