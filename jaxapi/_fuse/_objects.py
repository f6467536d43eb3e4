"""Objects with state that a fused function reads: the object of a method, bound methods, partials.

Such an object is followed through its attributes, nested objects and containers too. Arrays, floats and
complex numbers become inputs of the compiled program, so a changed one is seen; the rest is static, so
that with a changed one the program is compiled again. While it is traced the function sees copies.
"""

import enum
import functools
import sys
import types
from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import Any

import jax
import numpy as np

from ._static import Static

__all__ = ["Assignments", "FollowedObject", "belongs_to_method"]

_LIBRARIES = sys.stdlib_module_names | {"jax", "jaxlib", "jaxapi", "numpy"}  # whose objects are not opened
_ALWAYS_LEAVES = frozenset([bool, int, float, complex, str, np.ndarray])
_NOT_NUMBERS = "OSUMmT"  # NumPy's kinds of dtypes that are no numbers

# The description of an object is a hashable tree of `Static` values and of the tuples
#     ("input", place among the inputs)
#     ("container", treedef, descriptions of its leaves)
#     ("instance", number, class, (name, description) of its attributes, and of its class's)
#     ("again", number of an instance opened before): a cycle, or a second name for it
#     ("method", function, description of the instance)
#     ("partial", description of (func, args, keywords))
#     ("unknown", path, class): cannot be followed, and is refused where it is used


@jax.tree_util.register_pytree_node_class
class FollowedObject:
    """An object as its inputs, the leaves of this pytree, and a hashable description of the rest."""

    def __init__(self, inputs, description):
        self.inputs = inputs
        self.description = description

    @classmethod
    def follow(cls, value: Any, convert: Callable, *, as_self: bool = False) -> "FollowedObject":
        """Read ``value`` and ``convert`` its arrays; ``as_self`` opens it, whatever its ``==`` and hash."""
        reader = _Reader()
        description = reader.open(value, "self") if as_self else reader.read(value, _name_of(value))
        return cls([convert(value) for value in reader.inputs], description)

    def tree_flatten(self):
        """Return the inputs, and what `jax.jit` compares."""
        return self.inputs, self.description

    @classmethod
    def tree_unflatten(cls, description, inputs):
        """Return the same with other inputs, tracers for example."""
        return cls(list(inputs), description)

    def copy(self) -> Any:
        """Make the copy that the function sees while it is traced."""
        return _make(self.description, self.inputs, {})

    @property
    def is_instance(self) -> bool:
        """Whether it is an object of attributes, and no partial or bound method."""
        return not isinstance(self.description, Static) and self.description[0] == "instance"


class _Reader:
    """Describes objects and collects their inputs; ``trail`` is what was found where."""

    def __init__(self, *, cached: bool = True):
        self.inputs: list = []
        self.trail: list = []
        self._cached = cached  # whether to read what cached_property keeps
        self._numbers: dict = {}  # of opened objects, by id

    def read(self, value, path, *, fixed=False):
        """Describe ``value``; ``fixed`` makes floats static."""
        if type(value) in _ALWAYS_LEAVES:
            return self._read_leaf(value, path, fixed)
        leaves, treedef = jax.tree.flatten(value)
        if jax.tree_util.treedef_is_leaf(treedef):
            return self._read_leaf(value, path, fixed)
        self.trail.append((path, treedef))
        return "container", treedef, tuple(self._read_leaf(leaf, path, fixed) for leaf in leaves)

    def open(self, value, path, *, fixed=False):
        """Describe an object by its attributes and those of its class."""
        if id(value) in self._numbers:
            self.trail.append((path, self._numbers[id(value)]))
            return "again", self._numbers[id(value)]
        number = self._numbers[id(value)] = len(self._numbers)
        kind = type(value)
        attributes = _attributes(value)
        if not self._cached:
            attributes = {name: v for name, v in attributes.items() if not _is_cached(kind, name)}
        own = tuple((name, self.read(v, f"{path}.{name}", fixed=fixed)) for name, v in attributes.items())
        of_class = tuple(
            (name, self.read(v, f"{path}.{name}", fixed=True))
            for name, v in _class_attributes(kind)
            if name not in attributes
        )
        return "instance", number, kind, own, of_class

    def _read_leaf(self, leaf, path, fixed):
        is_number = isinstance(leaf, (float, complex)) and not isinstance(leaf, np.generic)
        if _is_array(leaf) or (is_number and not fixed):
            self.inputs.append(leaf)
            self.trail.append((path, leaf))
            return "input", len(self.inputs) - 1
        if isinstance(leaf, functools.partial):
            return "partial", self.read((leaf.func, leaf.args, leaf.keywords), path, fixed=True)
        if hasattr(type(leaf), "__func__") and hasattr(type(leaf), "__self__"):
            self.trail.append((path, leaf.__func__))
            return "method", leaf.__func__, self.read(leaf.__self__, path, fixed=fixed)
        if _has_open_state(leaf):
            return self.open(leaf, path, fixed=fixed)
        try:
            static = Static(leaf)
        except TypeError:
            self.trail.append((path, type(leaf)))
            return "unknown", path, type(leaf)
        self.trail.append((path, static))
        return static


def _is_array(value: Any) -> bool:
    """Whether ``value`` is an array or NumPy scalar of numbers, of any library."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.dtype.kind not in _NOT_NUMBERS
    return isinstance(value, jax.Array) or (hasattr(type(value), "__dlpack__") and not callable(value))


def _has_open_state(value) -> bool:
    """Whether an object is all attributes, and not a value by an ``==`` and hash of its own."""
    kind = type(value)
    if kind is types.SimpleNamespace:
        return True
    if isinstance(value, (type, enum.Enum)) or kind.__module__.partition(".")[0] in _LIBRARIES:
        return False
    if kind.__hash__ is not object.__hash__:
        try:
            hash(value)
            return False
        except TypeError:
            pass
    try:
        _new(kind)
    except TypeError:
        return False  # made in C: what it holds cannot be seen
    return True


def _new(kind):
    return types.SimpleNamespace() if kind is types.SimpleNamespace else object.__new__(kind)


def _attributes(instance) -> dict:
    state = object.__getstate__(instance)
    in_dict, in_slots = state if isinstance(state, tuple) else (state, None)
    return {**(in_dict or {}), **(in_slots or {})}


def _class_attributes(kind) -> Iterator[tuple[str, Any]]:
    """List the data that the classes of an object hold: no methods, properties, slots."""
    seen = {"_abc_impl"}
    for base in kind.__mro__[:-1]:
        for name, value in vars(base).items():
            if name in seen or (name.startswith("__") and name.endswith("__")):
                continue
            seen.add(name)
            if not hasattr(type(value), "__get__"):
                yield name, value


def _is_cached(kind, name) -> bool:
    return isinstance(getattr(kind, name, None), functools.cached_property)


def _name_of(value) -> str:
    return getattr(value, "__name__", type(value).__name__)


def _make(description, inputs, made):
    """Make a copy of what was described, with ``inputs``."""
    if isinstance(description, Static):
        return description.value
    match description:
        case ("input", place):
            return inputs[place]
        case ("container", treedef, parts):
            return jax.tree.unflatten(treedef, [_make(part, inputs, made) for part in parts])
        case ("again", number):
            return made[number]
        case ("method", func, instance):
            return func.__get__(_make(instance, inputs, made))
        case ("partial", content):
            func, args, keywords = _make(content, inputs, made)
            return functools.partial(func, *args, **keywords)
        case ("unknown", path, kind):
            return _Unfollowed(path, kind)
        case ("instance", number, kind, attributes, of_class):
            copy = made[number] = _new(kind)
            for name, part in (*attributes, *filter(_is_copied, of_class)):
                _set(copy, name, _make(part, inputs, made))
            return copy


def _is_copied(named) -> bool:
    """Whether a copy needs an attribute of the class: not if it is static, as the class has it."""
    part = named[1]
    parts = part[2] if isinstance(part, tuple) and part[0] == "container" else (part,)
    return not all(isinstance(part, Static) for part in parts)


def _set(copy, name, value):
    try:
        object.__setattr__(copy, name, value)
    except AttributeError:
        raise TypeError(
            f"{type(copy).__name__}.{name} is an attribute of a class with __slots__, which a fused method "
            "cannot follow: pass it as an argument, or give the object a slot for it"
        ) from None


class _Unfollowed:
    """Stands for an attribute whose changes would not be seen; any use of it is refused."""

    def __init__(self, path, kind):
        self._path = path
        self._kind = kind

    def _refuse(self, *args, **kwargs):
        raise TypeError(
            f"a fused function uses {self._path}, a {self._kind.__name__} whose changes would not be seen: "
            "use a tuple, list, dict, array or object of attributes, or give its class == and hash by value"
        )

    __getattr__ = __call__ = __getitem__ = __setitem__ = __contains__ = __enter__ = _refuse
    __iter__ = __next__ = __len__ = __bool__ = __int__ = __float__ = __index__ = __eq__ = __hash__ = _refuse


def belongs_to_method(func, value) -> bool:
    """Whether ``func`` was defined in the body of a class of ``value``, which is no pytree itself."""
    owner = getattr(func, "__qualname__", "").rpartition(".")[0]
    if not owner or not jax.tree_util.all_leaves([value]):
        return False
    return any(
        kind.__qualname__ == owner and kind.__module__ == func.__module__ for kind in type(value).__mro__
    )


class Assignments:
    """Watches the copy of an object that a function sees for attributes that it assigns."""

    def __init__(self, copy: Any):
        self._copy = copy
        self._before = self._trail()

    def _trail(self):
        reader = _Reader(cached=False)
        reader.open(self._copy, "self")
        return reader.trail

    def refuse(self, name: str) -> None:
        """Raise if an attribute was bound or a container changed: the object itself would not see it."""
        for old, new in zip_longest(self._before, self._trail(), fillvalue=("", None)):
            if old[0] != new[0] or not _is_same(old[1], new[1]):
                raise TypeError(
                    f"fused method {name!r} assigned {new[0] or old[0]}, which the object would never see: "
                    "return the new value and assign it outside"
                )


def _is_same(old, new) -> bool:
    return old is new or (type(old) is type(new) and not _is_array(old) and bool(old == new))
