"""What a call hands to `jax.jit`: arguments converted, with what is static in nodes without leaves."""

import array
import enum
import types
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import jax
import numpy as np

from .._core._dtypes import WIDE, check_dtype, has_64_bits
from .._interop import as_array
from ._objects import belongs_to_method, follow_callable, follow_object
from ._static import ArgumentNames, Static

__all__ = ["FUNCTION", "IS_WIDE", "Call", "Inputs", "prepare_call", "signature_of"]

FUNCTION = "_jaxapi_function"  # a keyword argument: the function itself, where it holds state

NARROW_DTYPES = frozenset(
    np.dtype(name)
    for name in "bool int8 int16 int32 uint8 uint16 uint32 float16 float32 complex64".split()  # noqa: SIM905
)
IS_WIDE = dict.fromkeys(NARROW_DTYPES, False) | dict.fromkeys(WIDE, True)
_PROTOCOLS = "__dlpack__ __array__ __cuda_array_interface__ __array_interface__ __jax_array__".split()  # noqa: SIM905
_STATIC = (str, bytes, np.dtype, enum.Enum)
_NUMBERS = (bool, int, float, complex, np.generic)


class Call(NamedTuple):
    """The arguments of one call as pytrees that `jax.jit` takes, and what is traced in them."""

    args: tuple
    kwargs: dict
    inputs: list  # arrays and numbers
    is_wide: bool  # whether 64-bit dtypes are among them


def prepare_call(
    func: Callable, args: tuple, kwargs: dict, static: ArgumentNames, donated: ArgumentNames
) -> Call:
    """Convert the arguments of ``func``, and set what is static apart."""
    inputs = Inputs()
    convert = inputs.convert

    def prepare(place, value):
        if place in static:
            return _static_argument(place, value)
        if isinstance(value, jax.Array):
            return convert(value)
        if place == 0 and belongs_to_method(func, value):
            return follow_object(value, convert)
        if isinstance(value, list) and _holds_only_numbers(value):
            return convert(as_array(value))
        return jax.tree.map(lambda leaf: convert(leaf, place in donated), value)

    args = tuple([prepare(place, value) for place, value in enumerate(args)])
    if kwargs:
        kwargs = {name: prepare(name, value) for name, value in kwargs.items()}
    if not isinstance(func, types.FunctionType):
        function = follow_callable(func, convert)
        if not isinstance(function, Static):
            kwargs = {**kwargs, FUNCTION: function}
    return Call(args, kwargs, inputs, any(map(has_64_bits, inputs)))


class Inputs(list):
    """What is traced in a call: arrays and numbers, in any order."""

    def convert(self, leaf, copy=False):
        """Turn another library's array into a jax array, and what is static into a node without leaves.

        Python numbers stay Python numbers (they are weakly typed), NumPy arrays and scalars stay NumPy's
        (`jax.jit` reads them without a copy of its own). ``copy`` shares no memory, which may be donated.
        """
        if not isinstance(leaf, jax.Array) and type(leaf) not in _NUMBERS:
            if isinstance(leaf, _STATIC) and not isinstance(leaf, _NUMBERS):
                return Static(leaf)
            if callable(leaf) and not _has_protocol(leaf):
                return follow_callable(leaf, self.convert)
            leaf = _as_input(leaf, copy)
        self.append(leaf)
        return leaf


def signature_of(value: Any):
    """Return what `jax.jit` distinguishes in a traced input: equal signatures share a program."""
    if not hasattr(value, "dtype"):
        return type(value)
    return value.shape, value.dtype, getattr(value, "weak_type", False)


def _static_argument(place, value):
    try:
        return Static(value)
    except TypeError:
        where = f"number {place}" if isinstance(place, int) else repr(place)
        raise ValueError(
            f"static argument {where} must be hashable, got {type(value).__name__}: pass a tuple for a list, "
            "and arrays as arguments that are not static"
        ) from None


def _holds_only_numbers(value: Iterable) -> bool:
    return all(_holds_only_numbers(x) if isinstance(x, list) else isinstance(x, _NUMBERS) for x in value)


def _has_protocol(leaf) -> bool:
    return any(hasattr(leaf, name) for name in _PROTOCOLS)


def _as_input(leaf, copy):
    if type(leaf) is np.ulonglong:  # where this is another type than np.uint64, jax does not know it
        return np.uint64(leaf)
    if isinstance(leaf, np.generic) or (type(leaf) is np.ndarray and leaf.dtype.isnative):
        check_dtype(leaf.dtype)
        return leaf
    for number in (int, float, complex):
        if isinstance(leaf, number):  # a subclass such as IntEnum
            return number(leaf)
    if isinstance(leaf, jax.ShapeDtypeStruct):
        return leaf
    if isinstance(leaf, (memoryview, array.array)) or _has_protocol(leaf):
        return as_array(leaf, copy=True if copy else None)
    raise TypeError(
        "fuse takes arrays, numbers, None, lists of numbers, pytrees of these, and as static arguments "
        f"strings, dtypes, enums and callables, got {type(leaf).__name__}: pass its arrays, name it in "
        "static_argnames, or register its class as a pytree (jax.tree_util.register_dataclass)"
    )
