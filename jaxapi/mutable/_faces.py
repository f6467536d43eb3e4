"""The namespaces that arrays come from, and the dtypes that each has where none is named.

`jaxapi.mutable` has JAX's, which follow its x64 mode. `jaxapi.numpy` has NumPy's: on the host nothing that
NumPy returned is narrowed, elsewhere x64 mode is on while a function or an operator of it runs.
"""

import contextlib
import functools
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from .._core._dtypes import x64_mode, x64_on
from .._core._programs import in_a_trace

__all__ = ["MUTABLE", "NUMPY", "in_numpys_dtypes", "is_lowered_narrow", "mode_of"]

MUTABLE = "jaxapi.mutable"
NUMPY = "jaxapi.numpy"

_AS_IT_IS = contextlib.nullcontext()


class _Thread(threading.local):
    is_of_numpy = False  # whether x64 mode is on for `jaxapi.numpy` alone


_thread = _Thread()


class _NumpysMode:
    """x64 mode, for a function of `jaxapi.numpy` that is called with this mode off."""

    __slots__ = ("_mode",)

    def __enter__(self) -> None:
        self._mode = x64_on()
        self._mode.__enter__()
        _thread.is_of_numpy = True

    def __exit__(self, *error: Any) -> None:
        _thread.is_of_numpy = False
        self._mode.__exit__(*error)


def mode_of(module: str) -> AbstractContextManager[Any]:
    """Return a context in which JAX computes in the dtypes of a namespace."""
    return _NumpysMode() if module == NUMPY and not x64_mode() else _AS_IT_IS


def in_numpys_dtypes(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that computes in the dtypes of `jaxapi.numpy`."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if x64_mode():
            return function(*args, **kwargs)
        with _NumpysMode():
            return function(*args, **kwargs)

    return call


def is_lowered_narrow() -> bool:
    """Whether what is traced now is lowered where x64 mode is off: by a transformation around `jaxapi.numpy`.

    Some of JAX's operations choose the bits of their constants there: those of 64 bits raise, or lose half of
    them.
    """
    return _thread.is_of_numpy and in_a_trace()
