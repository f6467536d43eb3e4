"""What a call hands to the compiled function: which arguments are traced, converted, or static."""

import array
from collections.abc import Iterable
from typing import Any, NamedTuple

import jax
import numpy as np

from .._interop import as_array
from .._x64 import WIDE, has_64_bits, x64_mode
from ._methods import MethodObject, belongs_to_method

__all__ = ["IS_WIDE", "Call", "prepare_call", "signature_of"]

NARROW_DTYPES = frozenset(
    np.dtype(name)
    for name in "bool int8 int16 int32 uint8 uint16 uint32 float16 float32 complex64".split()  # noqa: SIM905
)
IS_WIDE = dict.fromkeys(NARROW_DTYPES, False) | dict.fromkeys(WIDE, True)
ARRAY_PROTOCOLS = (
    "__dlpack__",
    "__array__",
    "__cuda_array_interface__",
    "__array_interface__",
    "__jax_array__",
)
STATIC = (str, bytes, np.dtype)
_WITHOUT_SHAPE = frozenset([bool, int, float, complex, type(None)])
NUMBERS = (bool, int, float, complex, np.generic)


class Call(NamedTuple):
    """The arguments of one call, sorted."""

    leaves: list  # the traced inputs: arrays and numbers
    treedef: Any  # of (args, kwargs)
    static: tuple  # (position among all leaves, type, value) of the inputs that steer the compilation
    x64: bool  # whether 64-bit dtypes must live
    has_object: bool  # whether the first argument is the object of a method

    @property
    def steered(self) -> bool:
        """Whether the compilation depends on more than the traced inputs."""
        return self.has_object or bool(self.static)

    def merge(self, leaves: Iterable) -> tuple[tuple, dict]:
        """Arguments and keyword arguments with ``leaves`` for the traced inputs."""
        merged = list(leaves)
        for position, _, value in self.static:
            merged.insert(position, value)
        return jax.tree.unflatten(self.treedef, merged)


def prepare_call(func, args: tuple, kwargs: dict) -> Call:
    """Convert the arguments of ``func`` and sort them into traced and static ones."""
    has_object = bool(args) and belongs_to_method(func, args[0])
    if has_object:
        args = (MethodObject(args[0]), *args[1:])
    args = tuple(convert_argument(value) for value in args)
    kwargs = {name: convert_argument(value) for name, value in kwargs.items()}
    leaves, treedef = jax.tree.flatten((args, kwargs))
    leaves = [convert_leaf(leaf) for leaf in leaves]
    static = tuple((i, type(leaf), leaf) for i, leaf in enumerate(leaves) if is_static(leaf))
    traced = [leaf for leaf in leaves if not is_static(leaf)]
    wide = any(map(has_64_bits, traced))
    return Call(traced, treedef, static, wide or x64_mode(), has_object)


def signature_of(value):
    """Return what `jax.jit` distinguishes in a traced input: equal signatures share a program."""
    kind = type(value)
    if kind in _WITHOUT_SHAPE:
        return kind
    return value.shape, value.dtype, getattr(value, "weak_type", False)


def convert_argument(value):
    """Turn a list or nested list of numbers into an array; leave everything else."""
    if isinstance(value, list) and _holds_only_numbers(value):
        return as_array(value)
    return value


def _holds_only_numbers(value: Iterable) -> bool:
    return all(_holds_only_numbers(x) if isinstance(x, list) else isinstance(x, NUMBERS) for x in value)


def convert_leaf(leaf):
    """Turn another library's array into a jax array; leave what `jax.jit` or a static slot takes.

    Python numbers stay Python numbers (they are weakly typed), NumPy arrays and scalars stay NumPy's
    (`jax.jit` reads them without a copy of its own), strings, dtypes and callables stay as they are.
    """
    if isinstance(leaf, jax.Array) or type(leaf) in (bool, int, float, complex):
        return leaf
    if type(leaf) is np.ulonglong:  # where this is another type than np.uint64, jax does not know it
        return np.uint64(leaf)
    if isinstance(leaf, np.generic) or (type(leaf) is np.ndarray and leaf.dtype.isnative):
        return leaf
    if isinstance(leaf, (int, float, complex)):  # subclasses such as IntEnum
        return next(kind(leaf) for kind in (int, float, complex) if isinstance(leaf, kind))
    if isinstance(leaf, STATIC):
        return leaf
    if isinstance(leaf, (memoryview, array.array)) or any(hasattr(leaf, name) for name in ARRAY_PROTOCOLS):
        return as_array(leaf)
    if callable(leaf):
        return leaf
    raise TypeError(
        "fuse takes arrays, numbers, None, lists of numbers, pytrees of these, and strings, dtypes and "
        f"callables as static arguments, got {type(leaf).__name__}: pass its arrays instead"
    )


def is_static(leaf) -> bool:
    """Whether a converted leaf steers the compilation instead of being an input of the program."""
    return isinstance(leaf, STATIC) or (callable(leaf) and not isinstance(leaf, jax.Array))
