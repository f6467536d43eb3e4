"""Type promotion by the standard's table, which JAX leaves where x64 mode is off."""

import functools
from collections.abc import Callable

from ._dtypes import result_type
from ._typing import Array
from ._x64 import x64_for

__all__ = ["with_operands_promoted"]


def with_operands_promoted(function: Callable) -> Callable:
    """Trace a function of two arrays with both in the dtype that they promote to, which it keeps.

    With x64 off, JAX promotes uint32 with int32 to int32, and uint64 with int64 to float32.
    """

    @functools.wraps(function)
    def traced(x1: Array, x2: Array, *options):
        dtype = result_type(x1, x2)
        with x64_for(dtype):
            return function(x1.astype(dtype), x2.astype(dtype), *options)

    return traced
