"""Objects that a fused function reads and that are no pytrees: the object of a method, callables, partials.

They are taken apart as `jax.tree.flatten` takes pytrees apart: into leaves, which are inputs of the compiled
program, and a structure, for which it is compiled. In the fields of an object arrays, floats and complex
numbers are leaves; everything else is compared by value, and what cannot be is refused by its name. While it
is traced the function sees a copy.
"""

import functools
import operator
import sys
import types
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import jax
import numpy as np

from .._core._programs import ARRAY_TYPES
from ._inputs import as_input
from ._static import Static

__all__ = ["Flattened", "belongs_to_method", "check_not_assigned", "fields_of", "flatten_callable"]
__all__ += ["flatten_object", "is_array", "restore", "static_by_value"]

_LIBRARIES = sys.stdlib_module_names | {"jax", "jaxlib", "jaxapi", "numpy"}  # objects of these are constants
_CONSTANTS = frozenset([bool, int, str, types.NoneType, types.FunctionType])  # if equal, the same
_NOT_NUMBERS = "OSUMmT"  # NumPy's kinds of dtypes that are no numbers


@jax.tree_util.register_pytree_node_class
class Flattened:
    """A value that is no pytree, as one: its leaves, and the structure that makes it again of them."""

    __slots__ = ("leaves", "structure")

    def __init__(self, leaves: list[Any], structure: "Structure"):
        self.leaves = leaves
        self.structure = structure

    def tree_flatten(self) -> tuple[list[Any], "Structure"]:
        """Return the leaves, and what `jax.jit` compares."""
        return self.leaves, self.structure

    @classmethod
    def tree_unflatten(cls, structure: "Structure", leaves: Any) -> "Flattened":
        """Return the same with other leaves, tracers for example."""
        return cls(list(leaves), structure)


def restore(tree: Any, copies: list[Any]) -> Any:
    """Put values in the place of `Static` and `Flattened`; append the copies of objects to ``copies``."""

    def restored(node: Any) -> Any:
        if isinstance(node, Static):
            return node.value
        if isinstance(node, Flattened):
            return node.structure.unflatten(iter(node.leaves), copies)
        return node

    return jax.tree.map(restored, tree, is_leaf=lambda node: isinstance(node, (Static, Flattened)))


def flatten_callable(value: Any) -> Flattened | Static:
    """Take a callable apart: functions, classes and objects of libraries are static.

    A bound method is its function and its object. Of a `functools.partial` the arrays are leaves.
    """
    flattener = _Flattener()
    structure = flattener.flatten_callable(value)
    return structure if isinstance(structure, Static) else Flattened(flattener.leaves, structure)


def flatten_object(value: Any) -> Flattened:
    """Take an object apart by its fields."""
    flattener = _Flattener()
    structure = flattener.flatten_fields(value)
    return Flattened(flattener.leaves, structure)


def belongs_to_method(func: Any, value: Any) -> bool:
    """Whether ``func`` is a method of a class of ``value``, which is no pytree itself."""
    if not jax.tree_util.all_leaves([value]):
        return False
    owner = getattr(func, "__qualname__", "").rpartition(".")[0]
    classes = type(value).__mro__[:-1]
    for cls in classes:
        if cls.__qualname__ == owner and cls.__module__ == func.__module__:
            return True
    if not hasattr(value, "__dict__") or is_array(value):
        return False
    return any(getattr(member, "func", None) is func for cls in classes for member in vars(cls).values())


def fields_of(value: Any) -> dict[str, Any]:
    """Return what an object holds in its ``__dict__`` and ``__slots__``."""
    state = object.__getstate__(value)
    in_dict, in_slots = state if isinstance(state, tuple) else (state, None)
    return (in_dict or {}) | (in_slots or {})


# What values are made of: compared by `jax.jit`, and of other leaves the value again


class Structure(Protocol):
    """What is left of a value without its leaves; equal ones share a program."""

    def unflatten(self, leaves: Iterator[Any], copies: list[Any], /) -> Any:
        """Return the value, with its leaves taken from an iterator."""


class _Leaf:
    """An array or number that is traced."""

    def unflatten(self, leaves: Iterator[Any], copies: list[Any]) -> Any:
        return next(leaves)


class _Constant(NamedTuple):
    """A value of a class whose equal values are the same."""

    cls: type
    value: Any

    def unflatten(self, leaves: Iterator[Any], copies: list[Any]) -> Any:
        return self.value


class _Sequence(NamedTuple):
    """A list or tuple."""

    cls: type
    items: tuple[Structure, ...]

    def unflatten(self, leaves: Iterator[Any], copies: list[Any]) -> Any:
        return self.cls([item.unflatten(leaves, copies) for item in self.items])


class _Dict(NamedTuple):
    """A dict in its own order: as a pytree its keys would be sorted, which not all can be."""

    keys: tuple[Structure, ...]
    items: tuple[Structure, ...]

    def unflatten(self, leaves: Iterator[Any], copies: list[Any]) -> dict[Any, Any]:
        keys = [key.unflatten(leaves, copies) for key in self.keys]
        values = [item.unflatten(leaves, copies) for item in self.items]
        return dict(zip(keys, values, strict=True))


class _Pytree(NamedTuple):
    """A pytree whose leaves are leaves or static."""

    treedef: Any
    items: tuple[Structure, ...]

    def unflatten(self, leaves: Iterator[Any], copies: list[Any]) -> Any:
        return self.treedef.unflatten([item.unflatten(leaves, copies) for item in self.items])


class _Partial(NamedTuple):
    """A `functools.partial`."""

    func: Structure
    args: Structure
    keywords: Structure

    def unflatten(self, leaves: Iterator[Any], copies: list[Any]) -> functools.partial[Any]:
        func = self.func.unflatten(leaves, copies)
        args = self.args.unflatten(leaves, copies)
        keywords = self.keywords.unflatten(leaves, copies)
        return functools.partial(func, *args, **keywords)


class _Method(NamedTuple):
    """A bound method."""

    owner: Structure
    function: Static

    def unflatten(self, leaves: Iterator[Any], copies: list[Any]) -> Any:
        return self.function.value.__get__(self.owner.unflatten(leaves, copies))


class _Object(NamedTuple):
    """An object of a class, by its fields in their order: some are constants, the others have structures."""

    cls: type
    names: tuple[str, ...]
    constants: tuple[tuple[str, type, Any], ...]  # (name, class, value)
    structures: tuple[tuple[str, Structure], ...]

    def unflatten(self, leaves: Iterator[Any], copies: list[Any]) -> Any:
        fields = {name: value for name, _, value in self.constants}
        for name, structure in self.structures:
            fields[name] = structure.unflatten(leaves, copies)
        copy = self._new()
        for name in self.names:
            if isinstance(getattr(self.cls, name, None), types.MemberDescriptorType):  # of __slots__
                object.__setattr__(copy, name, fields[name])
            else:
                copy.__dict__[name] = fields[name]
        copies.append((copy, _contents_of_fields(copy)))
        return copy

    def _new(self) -> Any:
        if self.cls is types.SimpleNamespace:
            return types.SimpleNamespace()
        try:
            return object.__new__(self.cls)
        except TypeError as error:
            raise TypeError(
                f"a fused method cannot copy its {self.cls.__name__} ({error}): register the class as a "
                "pytree (jax.tree_util.register_pytree_node)"
            ) from None


_LEAF = _Leaf()


def _constant(value: Any) -> _Constant | Static:
    cls = type(value)
    return _Constant(cls, value) if cls in _CONSTANTS else Static(value)


class _Flattener:
    """Takes values apart, and collects their leaves."""

    def __init__(self) -> None:
        self.leaves: list[Any] = []

    def flatten_fields(self, value: Any) -> _Object:
        """Return the structure of an object by its fields."""
        fields = fields_of(value)
        constants = []
        structures: list[tuple[str, Structure]] = []
        for name, field in fields.items():
            cls = type(field)
            if cls in _CONSTANTS:
                constants.append((name, cls, field))
            elif cls is float or cls in ARRAY_TYPES:
                self.leaves.append(field)
                structures.append((name, _LEAF))
            else:
                structure = self._flatten(field, f"self.{name}", (float, complex))
                structures.append((name, structure))
        return _Object(type(value), tuple(fields), tuple(constants), tuple(structures))

    def flatten_callable(self, value: Any) -> Structure:
        """Return the structure of a callable."""
        if isinstance(value, functools.partial):
            func = self.flatten_callable(value.func)
            name = "a functools.partial's argument"
            args = self._flatten(value.args, name, ())
            keywords = self._flatten(value.keywords, name, ())
            return _Partial(func, args, keywords)
        if _is_bound(value):
            return _Method(self._flatten_owner(value.__self__), Static(value.__func__))
        return _static_constant(value) or self._flatten_owner(value)

    def _flatten_owner(self, value: Any) -> Structure:
        """Return the structure of a method's object or class."""
        if isinstance(value, type):
            return Static(value)
        if not jax.tree_util.all_leaves([value]):
            return self._flatten(value, "self", (bool, int, float, complex))
        return self.flatten_fields(value)

    def _flatten(self, value: Any, name: str, traced: tuple[type, ...]) -> Structure:
        """Return the structure of a field or argument, in which numbers of these classes are leaves."""
        cls = type(value)
        if cls in traced or cls in ARRAY_TYPES:
            self.leaves.append(value)
            return _LEAF
        if cls in _CONSTANTS:
            return _Constant(cls, value)
        if cls is list or cls is tuple:
            return _Sequence(cls, tuple([self._flatten(item, name, traced) for item in value]))
        if cls is dict:
            items = tuple([self._flatten(item, name, traced) for item in value.values()])
            return _Dict(tuple([_constant(key) for key in value]), items)
        if not jax.tree_util.all_leaves([value]):
            leaves, treedef = jax.tree.flatten(value)
            return _Pytree(treedef, tuple([self._flatten_leaf(leaf, name, traced) for leaf in leaves]))
        return self._flatten_leaf(value, name, traced)

    def _flatten_leaf(self, value: Any, name: str, traced: tuple[type, ...]) -> Structure:
        if is_array(value) or (isinstance(value, traced) and not isinstance(value, np.generic)):
            self.leaves.append(as_input(value))
            return _LEAF
        if isinstance(value, functools.partial) and not _is_bound(value.func):
            return self.flatten_callable(value)
        static = _static_constant(value)
        if static is not None:
            return static
        raise TypeError(
            f"a fused function uses {name}, a {type(value).__name__} whose changes would not be seen: make "
            "it an array, a number or hashable by value (a tuple, a frozen dataclass), register its class "
            "as a pytree (jax.tree_util.register_dataclass), or pass it as an argument. A fused method takes "
            "every field of its object"
        )


# How values are told apart


def is_array(value: Any) -> bool:
    """Whether ``value`` is an array or NumPy scalar of numbers, of any library."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.dtype.kind not in _NOT_NUMBERS
    return isinstance(value, jax.Array) or (hasattr(type(value), "__dlpack__") and not callable(value))


def static_by_value(value: Any) -> Static | None:
    """Return a value as one that is static; None where it has no hash by value."""
    return _static_if_comparable(value) if _has_hash_by_value(value) else None


def _static_constant(value: Any) -> Static | None:
    """Return as static what cannot change unseen: it has a hash by value, or is of a library."""
    owner = value.__self__ if _is_bound(value) else value
    is_constant = isinstance(owner, type) or _has_hash_by_value(owner) or _is_of_library(type(owner))
    return _static_if_comparable(value) if is_constant else None


def _static_if_comparable(value: Any) -> Static | None:
    try:
        return Static(value)
    except TypeError:  # a frozen dataclass of an array, say, has no hash
        return None


def _has_hash_by_value(value: Any) -> bool:
    hash_of_class: Any = type(value).__hash__
    return hash_of_class is not None and hash_of_class is not object.__hash__


def _is_bound(value: Any) -> bool:
    return hasattr(type(value), "__func__") and hasattr(type(value), "__self__")


def _is_of_library(cls: type) -> bool:
    return cls.__module__.partition(".")[0] in _LIBRARIES


# What a method does to the copy


def check_not_assigned(name: str, copies: list[tuple[Any, dict[str, list[Any]]]]) -> None:
    """Raise TypeError where a method bound a field of its object anew, or changed a container in one.

    The object itself would not see it.
    """
    for copy, before in copies:
        after = _contents_of_fields(copy)
        for field in {**before, **after}:
            old = before.get(field, [])
            new = after.get(field, [])
            is_same = len(old) == len(new) and all(map(operator.is_, old, new))
            if not is_same:
                raise TypeError(
                    f"fused method {name!r} assigned self.{field}, which the object would never see: "
                    "return the new value and assign it outside"
                )


def _contents_of_fields(copy: Any) -> dict[str, list[Any]]:
    """Return the values in each field; what a cached property keeps is none."""
    cls = type(copy)
    return {
        name: _contents(value)
        for name, value in fields_of(copy).items()
        if not isinstance(getattr(cls, name, None), functools.cached_property)
    }


def _contents(value: Any) -> list[Any]:
    """List the values in a container, and its keys."""
    if isinstance(value, dict):
        value = (*value, *value.values())
    if isinstance(value, (list, tuple)):
        contents: list[Any] = [type(value)]
        for item in value:
            contents += _contents(item)
        return contents
    return jax.tree.leaves(value) or [value]
