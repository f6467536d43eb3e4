"""Arguments of NumPy's functions out of our arrays, and the dtypes of what these return.

With x64 off results of 64 bits are narrowed, as JAX has it: unless an operand, or a dtype that was asked for,
has 64 bits.
"""

import itertools
import numbers
import types
from collections.abc import Iterable
from typing import Any

import jax
import numpy as np

from .._core._dtypes import NARROWED, WIDE, default_dtype, native_dtype, x64_mode
from .._interop._numbers import refuse_masked
from . import _host_way as host_way
from ._storage import Storage, is_for_host

__all__ = [
    "AS_THEY_ARE",
    "BASIC_KEYS",
    "DEFAULTS",
    "NotOnHost",
    "in_jaxs_dtypes",
    "is_basic",
    "key_to_numpy",
    "narrow",
    "refuse_objects",
    "refuse_overflow",
    "to_numpy",
]


class NotOnHost(Exception):
    """An argument is not in the host's memory: JAX has to compute."""


# Classes of what NumPy takes as it is.
AS_THEY_ARE: frozenset[type] = frozenset(
    {int, str, bool, float, complex, slice, range, type(None), type(...), types.FunctionType}
)
AS_THEY_ARE |= {np.ndarray, type(np._NoValue), *np.sctypeDict.values()}
_NUMBERS = frozenset([bool, int, float, complex])
DEFAULTS: frozenset[type] = frozenset([int, float, complex])


def refuse_objects(result: np.ndarray, operands: Any) -> None:
    """Raise TypeError for an array of objects that NumPy made of something else, as of None beside numbers.

    Where an operand is such an array, or ``dtype=object`` or a signature ``O`` was asked for, it is meant.
    """
    if any(map(_is_of_objects, operands)):
        return
    values = itertools.chain(result.flat, (x for x in operands if isinstance(x, numbers.Number)))
    strange = next((repr(x) for x in values if not isinstance(x, _OF_NUMBERS)), "Python objects")
    if any(type(x) is int and not _INT64_MIN <= x <= _UINT64_MAX for x in result.flat):
        raise TypeError(
            "integers beyond 64 bits are Python objects to NumPy: pass floats, as float(x), or smaller ones"
        )
    raise TypeError(
        f"an array of numbers does not hold {strange}: pass a number, as numpy.nan for None or float(x) for "
        "a fraction, or ask for dtype=object, which stays in the host's memory"
    )


_INT64_MIN = np.iinfo(np.int64).min
_UINT64_MAX = np.iinfo(np.uint64).max
_OF_NUMBERS = (int, float, complex, np.generic, np.ndarray, list, tuple)


def _is_of_objects(x: Any) -> bool:
    """Whether an argument is an array of objects, their dtype, a ufunc's signature or a sequence of these."""
    if isinstance(x, (list, tuple)):
        return any(_is_of_objects(part) for part in x if not isinstance(part, (str, int, float)))
    if isinstance(x, str):
        return x in ("O", "object") or x.rpartition("->")[2].startswith("O")
    if isinstance(x, type):
        return x in (object, np.object_)
    dtype = getattr(x, "dtype", x)
    return isinstance(dtype, np.dtype) and dtype.kind == "O"


def to_numpy(x: Any) -> Any:
    """Return an argument as NumPy takes it; raise `NotOnHost` for what NumPy cannot read."""
    kind = type(x)
    if kind in AS_THEY_ARE:
        return x
    if isinstance(x, Storage):
        host = x._host
        if host is None:
            host = x._in_host_memory()
            if host is None:
                raise NotOnHost
        return host
    if kind is tuple or kind is list:
        return x if AS_THEY_ARE.issuperset(map(type, x)) else kind([to_numpy(part) for part in x])
    if isinstance(x, jax.Array):
        if not is_for_host(x):
            raise NotOnHost
        return np.array(x)
    if isinstance(x, jax.Device | jax.sharding.Sharding):
        if x == host_way.cpu() and jax.device_count() == 1:
            return "cpu"
        raise NotOnHost
    if kind is dict:
        return {key: to_numpy(part) for key, part in x.items()}
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return kind(*map(to_numpy, x))
    if kind is type:
        return np.ndarray if issubclass(x, Storage) else x
    return x


def in_jaxs_dtypes(x: Any) -> Any:
    """Return an argument as JAX has it: ``int``, ``float`` and ``complex`` as the dtypes of its mode.

    Arrays are in the machine's byte order. Masked arrays are refused, as the results would lose their masks.
    """
    if isinstance(x, np.ndarray):
        refuse_masked([type(x)])
        if not x.dtype.isnative:
            return x.astype(native_dtype(x.dtype))
    elif isinstance(x, (list, tuple)):
        refuse_masked(set(map(type, x)))
    return default_dtype(x) if type(x) is type and x in DEFAULTS else x


# Classes of indices that give a view or an element, and of parts of one.
BASIC_KEYS: frozenset[type] = frozenset([int, slice, type(None), type(...)])


def is_basic(key: Any) -> bool:
    """Whether an index is of Python's ints, slices, None and Ellipsis alone."""
    if type(key) is not tuple:
        return type(key) in BASIC_KEYS
    for part in key:  # noqa: SIM110 (a generator takes longer, and every statement asks)
        if type(part) not in BASIC_KEYS:
            return False
    return True


def key_to_numpy(key: Any) -> Any:
    """Return an index as NumPy takes it."""
    return tuple([to_numpy(part) for part in key]) if type(key) is tuple else to_numpy(key)


def narrow(result: Any, operands: Iterable[Any], are_positions: bool = False) -> Any:
    """Return NumPy's array or scalar in the dtype that JAX's mode gives it; positions in what holds them."""
    dtype = result.dtype
    if dtype not in WIDE or x64_mode():
        return result
    if are_positions and dtype.kind in "iu":
        keeps = result.size > 0 and result.max() > np.iinfo(NARROWED[dtype]).max
    elif dtype.kind in "iu":
        keeps = any(_is_wide(x, "iu") for x in operands)
    else:
        keeps = any(_is_wide(x, "iufc") for x in operands)
    return result if keeps else result.astype(NARROWED[dtype])


def refuse_overflow(new: np.ndarray, operands) -> None:
    """Raise OverflowError for Python's ints that the default dtype does not hold."""
    if new.dtype.kind in "iu" and new.size and not x64_mode():
        kept = narrow(np.empty(0, new.dtype), operands).dtype
        limits = np.iinfo(kept)
        if kept != new.dtype and (new.max() > limits.max or new.min() < limits.min):
            raise OverflowError(
                f"an integer is out of bounds for {kept}; pass a dtype that holds it, such as dtype='int64', "
                "or turn JAX's x64 mode on"
            )


def _is_wide(x: Any, kinds: str) -> bool:
    """Whether an operand or a dtype, or one in a list, has 64 bits by its own type."""
    if isinstance(x, (np.ndarray, np.generic)):
        return x.dtype in WIDE and x.dtype.kind in kinds
    if isinstance(x, (list, tuple)):
        return not _NUMBERS.issuperset(map(type, x)) and any(_is_wide(part, kinds) for part in x)
    if isinstance(x, np.dtype):
        return x in WIDE and x.kind in kinds
    if isinstance(x, type):
        return issubclass(x, np.generic) and _is_wide(np.dtype(x), kinds)
    if isinstance(x, str):
        try:
            return _is_wide(np.dtype(x), kinds)
        except (TypeError, ValueError):  # another text, such as einsum's subscripts
            return False
    if isinstance(x, Storage):
        return x._typed.dtype in WIDE and x._typed.dtype.kind in kinds
    return False
