"""What a call hands to `jax.jit`: arguments converted, with what is static in nodes without leaves."""

import array
import enum
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import jax
import numpy as np

from .._dtype_rules import check_dtype
from .._interop import as_array
from .._x64 import WIDE, has_64_bits, x64_mode
from ._objects import Assignments, FollowedObject, belongs_to_method
from ._static import ArgumentNames, Static

__all__ = ["IS_WIDE", "Call", "call_opened", "prepare_call", "signature_of"]

NARROW_DTYPES = frozenset(
    np.dtype(name)
    for name in "bool int8 int16 int32 uint8 uint16 uint32 float16 float32 complex64".split()  # noqa: SIM905
)
IS_WIDE = dict.fromkeys(NARROW_DTYPES, False) | dict.fromkeys(WIDE, True)
_ARRAY_PROTOCOLS = (
    "__dlpack__",
    "__array__",
    "__cuda_array_interface__",
    "__array_interface__",
    "__jax_array__",
)
_STATIC = (str, bytes, np.dtype, enum.Enum)
_WITHOUT_SHAPE = frozenset([bool, int, float, complex, type(None)])
_NUMBERS = (bool, int, float, complex, np.generic)


class Call(NamedTuple):
    """The arguments of one call as pytrees that `jax.jit` takes."""

    args: tuple
    kwargs: dict
    leaves: list  # the traced inputs in them: arrays and numbers
    treedef: Any  # of (args, kwargs), with what is static
    x64: bool  # whether 64-bit dtypes must live

    def arguments(self, leaves: list) -> tuple[tuple, dict]:
        """Arguments and keyword arguments, with ``leaves`` for the traced inputs."""
        if leaves is self.leaves:
            return self.args, self.kwargs
        return jax.tree.unflatten(self.treedef, leaves)

    def replace(self, leaves: list) -> "Call":
        """Return the same call with other inputs."""
        args, kwargs = self.arguments(leaves)
        return self._replace(args=args, kwargs=kwargs, leaves=leaves)


def prepare_call(
    func: Callable, args: tuple, kwargs: dict, static: ArgumentNames, donated: ArgumentNames
) -> Call:
    """Convert the arguments of ``func``, and set what is static apart."""

    def prepare(place, value):
        if place in static:
            return _static_argument(place, value)
        if place == 0 and belongs_to_method(func, value):
            return FollowedObject.follow(value, _convert_leaf, as_self=True)
        return _convert_argument(value, copy=place in donated)

    args = tuple(prepare(place, value) for place, value in enumerate(args))
    kwargs = {name: prepare(name, value) for name, value in kwargs.items()}
    leaves, treedef = jax.tree.flatten((args, kwargs))
    wide = any(map(has_64_bits, leaves))
    return Call(args, kwargs, leaves, treedef, wide or x64_mode())


def call_opened(name: str, func: Callable, args: tuple, kwargs: dict) -> Any:
    """Call ``func`` with the values of static arguments and with copies of followed objects."""
    watched = []

    def open_node(node):
        if isinstance(node, Static):
            return node.value
        if not isinstance(node, FollowedObject):
            return node
        copy = node.copy()
        if node.is_instance:
            watched.append(Assignments(copy))
        return copy

    args, kwargs = jax.tree.map(
        open_node, (args, kwargs), is_leaf=lambda node: isinstance(node, (Static, FollowedObject))
    )
    result = func(*args, **kwargs)
    for assignments in watched:
        assignments.refuse(name)
    return result


def signature_of(value: Any):
    """Return what `jax.jit` distinguishes in a traced input: equal signatures share a program."""
    kind = type(value)
    if kind in _WITHOUT_SHAPE:
        return kind
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


def _convert_argument(value, copy):
    """Turn a list or nested list of numbers into an array, and convert each leaf of everything else."""
    if isinstance(value, jax.Array):
        return value
    if isinstance(value, list) and _holds_only_numbers(value):
        return as_array(value)
    return jax.tree.map(lambda leaf: _convert_leaf(leaf, copy), value)


def _holds_only_numbers(value: Iterable) -> bool:
    return all(_holds_only_numbers(x) if isinstance(x, list) else isinstance(x, _NUMBERS) for x in value)


def _convert_leaf(leaf, copy=False):
    """Turn another library's array into a jax array, and what is static into a node without leaves.

    Python numbers stay Python numbers (they are weakly typed), NumPy arrays and scalars stay NumPy's
    (`jax.jit` reads them without a copy of its own). ``copy`` shares no memory, which may be donated then.
    """
    if isinstance(leaf, (jax.Array, jax.ShapeDtypeStruct)) or type(leaf) in (bool, int, float, complex):
        return leaf
    if type(leaf) is np.ulonglong:  # where this is another type than np.uint64, jax does not know it
        return np.uint64(leaf)
    if isinstance(leaf, np.generic) or (type(leaf) is np.ndarray and leaf.dtype.isnative):
        check_dtype(leaf.dtype)
        return leaf
    if isinstance(leaf, int):  # a subclass such as IntEnum
        return int(leaf)
    if isinstance(leaf, float):
        return float(leaf)
    if isinstance(leaf, complex):
        return complex(leaf)
    if isinstance(leaf, _STATIC):
        return Static(leaf)
    if isinstance(leaf, (memoryview, array.array)) or any(hasattr(leaf, name) for name in _ARRAY_PROTOCOLS):
        return as_array(leaf, copy=True if copy else None)
    if callable(leaf):
        followed = FollowedObject.follow(leaf, _convert_leaf)
        return followed.description if isinstance(followed.description, Static) else followed
    raise TypeError(
        "fuse takes arrays, numbers, None, lists of numbers, pytrees of these, and as static arguments "
        f"strings, dtypes, enums and callables, got {type(leaf).__name__}: pass its arrays, or name the "
        "argument in static_argnames"
    )
