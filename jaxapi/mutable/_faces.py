"""The namespaces that arrays come from, and the dtypes that each has where none is named.

`jaxapi.mutable` has JAX's, which follow its x64 mode. `jaxapi.numpy` has NumPy's: on the host nothing that
NumPy returned is narrowed, elsewhere x64 mode is on while a function or an operator of it runs.
"""

import contextlib
import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from .._core._dtypes import X64Inside, x64_inside, x64_mode

__all__ = ["MUTABLE", "NUMPY", "in_numpys_dtypes", "mode_of"]

MUTABLE = "jaxapi.mutable"
NUMPY = "jaxapi.numpy"

_AS_IT_IS = contextlib.nullcontext()


def mode_of(module: str) -> AbstractContextManager[Any]:
    """Return a context in which JAX computes in the dtypes of a namespace."""
    return x64_inside() if module == NUMPY else _AS_IT_IS


def in_numpys_dtypes(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that computes in the dtypes of `jaxapi.numpy`."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if x64_mode():
            return function(*args, **kwargs)
        with X64Inside():
            return function(*args, **kwargs)

    return call
