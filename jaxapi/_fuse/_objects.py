"""Objects with state that a fused function reads: the object of a method, callables, partials.

An object is taken by its own fields, one level deep. Arrays, floats and complex numbers there become inputs
of the compiled program, so a changed one is seen; what is hashable by value is static, so that with another
one the program is compiled again; the use of anything else is refused. What the classes of an object hold is
static by its content. While it is traced the function sees a copy.
"""

import contextlib
import enum
import functools
import operator
import pickle
import sys
import types
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np

from ._static import Static

__all__ = ["Node", "belongs_to_method", "follow_callable", "follow_object", "opened"]

_LIBRARIES = sys.stdlib_module_names | {"jax", "jaxlib", "jaxapi", "numpy"}  # objects of these are constants
_PLAIN = frozenset([bool, int, str, types.NoneType])  # static, and equal ones of a class are the same
_NOT_NUMBERS = "OSUMmT"  # NumPy's kinds of dtypes that are no numbers


@jax.tree_util.register_pytree_node_class
class Node:
    """A value by its inputs, which are the children of this pytree, and what is compared.

    The latter is a tuple of the function that makes of the children what the fused function sees, and of that
    function's other arguments.
    """

    __slots__ = ("form", "parts")

    def __init__(self, parts, form):
        self.parts = parts
        self.form = form

    def tree_flatten(self):
        """Return the inputs, and what `jax.jit` compares."""
        return self.parts, self.form

    @classmethod
    def tree_unflatten(cls, form, parts):
        """Return the same with other inputs, tracers for example."""
        return cls(parts, form)


class _Refusal(NamedTuple):
    """A place whose changes would not be seen."""

    path: str
    kind: type


def opened(tree: Any, watched: list) -> Any:
    """Put values in the place of `Static` and `Node`; collect what refuses assignments to objects."""

    def open_node(node):
        if isinstance(node, Static):
            return _Unfollowed(node.value) if type(node.value) is _Refusal else node.value
        if not isinstance(node, Node):
            return node
        make, *rest = node.form
        made = make(opened(list(node.parts), watched), *rest)
        if make in (_copy, _class):
            watched.append(_Assignments(made))
        return made

    return jax.tree.map(open_node, tree, is_leaf=lambda node: isinstance(node, (Static, Node)))


def follow_callable(value: Any, convert: Callable) -> Any:
    """Describe a callable: functions and library objects are static, the object of a method is followed.

    Of a `functools.partial` arrays are inputs, and numbers are static.
    """
    if isinstance(value, functools.partial):
        content = (list(value.args), value.keywords)
        args, keywords = (_field(part, "a functools.partial's argument", convert, ()) for part in content)
        return Node([follow_callable(value.func, convert), args, keywords], (_partial,))
    if _is_bound(value):
        owner = value.__self__
        follow = follow_callable if isinstance(owner, type) else follow_object
        return Node([follow(owner, convert)], (_method, value.__func__))
    if isinstance(value, type) and not isinstance(value, enum.EnumMeta) and not _is_of_library(value):
        state, unknown = _class_state(value, convert)
        for name, kind in unknown:
            raise TypeError(_refusal(_Refusal(f"{value.__name__}.{name}", kind)))
        return Node([], (_class, value, state))
    return Static(value) if _is_constant(value) else follow_object(value, convert)


def follow_object(value: Any, convert: Callable) -> Any:
    """Describe an object by its own fields and what its classes hold; a pytree by its leaves."""
    if not jax.tree_util.all_leaves([value]):
        return _field(value, "self", convert)
    plain: list = []
    names, parts = [], []
    for name, field in tuple(_fields(value).items()):  # other threads may add one
        if type(field) in _PLAIN:
            plain += name, type(field), field
            continue
        known = type(field) is float or isinstance(field, jax.Array)
        names.append(name)
        parts.append(convert(field) if known else _field(field, f"self.{name}", convert))
    state, unknown = _class_state(type(value), convert)
    return Node(parts, (_copy, type(value), tuple(names), tuple(plain), state, unknown))


def belongs_to_method(func: Any, value: Any) -> bool:
    """Whether ``func`` is a method of a class of ``value``, which is no pytree itself."""
    if not jax.tree_util.all_leaves([value]):
        return False
    owner = getattr(func, "__qualname__", "").rpartition(".")[0]
    classes = type(value).__mro__[:-1]
    if any(c.__qualname__ == owner and c.__module__ == func.__module__ for c in classes):
        return True
    if not hasattr(value, "__dict__") or _is_array(value):
        return False
    return any(getattr(member, "func", None) is func for c in classes for member in vars(c).values())


# How a Node is made into what the function sees


def _partial(parts):
    func, args, keywords = parts
    return functools.partial(func, *args, **keywords)


def _method(parts, func):
    return func.__get__(parts[0])


def _dict(parts, *keys):
    return dict(zip([key.value for key in keys], parts, strict=True))


def _class(parts, kind, state):
    return kind


def _copy(parts, kind, names, plain, state, unknown):
    try:
        copy = types.SimpleNamespace() if kind is types.SimpleNamespace else object.__new__(kind)
    except TypeError as error:
        raise TypeError(
            f"a fused method cannot copy its {kind.__name__} ({error}): register the class as a pytree "
            "(jax.tree_util.register_pytree_node)"
        ) from None
    fields = {name: _Unfollowed(_Refusal(f"self.{name}", of)) for name, of in unknown}
    fields |= zip(plain[::3], plain[2::3], strict=True)
    fields |= zip(names, parts, strict=True)
    for name, field in fields.items():
        if isinstance(getattr(kind, name, None), types.MemberDescriptorType):  # of __slots__
            object.__setattr__(copy, name, field)
        elif hasattr(copy, "__dict__"):
            copy.__dict__[name] = field
        else:
            raise TypeError(_refusal(_Refusal(f"{kind.__name__}.{name}", dict(unknown)[name])))
    return copy


# What objects and their classes hold


def _fields(value) -> dict:
    state = object.__getstate__(value)
    in_dict, in_slots = state if isinstance(state, tuple) else (state, None)
    return {**(in_dict or {}), **in_slots} if in_slots else in_dict or {}


def _field(value, path, convert, numbers=(float, complex)):
    """Describe what a field holds, containers by their leaves."""
    kind = type(value)
    if kind is dict:  # by its items, for JAX sorts the keys, which not all can be
        parts = [_field(part, path, convert, numbers) for part in value.values()]
        return Node(parts, (_dict, *map(Static, value)))
    if kind is list or kind is tuple:
        return kind([_field(part, path, convert, numbers) for part in value])
    return jax.tree.map(lambda leaf: _leaf(leaf, path, convert, numbers), value)


def _leaf(value, path, convert, numbers):
    if _is_array(value) or (isinstance(value, numbers) and not isinstance(value, np.generic)):
        return convert(value)
    if type(value) is _Unfollowed:  # of the copy of an object whose method calls another one
        return Static(value._refusal)
    if isinstance(value, functools.partial) and not _is_bound(value.func):
        return follow_callable(value, convert)
    try:
        return Static(value if _is_constant(value) else _Refusal(path, type(value)))
    except TypeError:
        return Static(_Refusal(path, type(value)))


def _class_state(kind, convert) -> tuple[tuple, tuple]:
    """Return the data that the classes of an object hold, by content, and what cannot be compared."""
    state: list = []
    unknown = []
    for name, value in _data_of(kind):
        try:
            state += name, type(value), value if type(value) in _PLAIN else _content(value, convert)
        except Exception:  # whatever a class raises that cannot be pickled
            unknown.append((name, type(value)))
    return tuple(state), tuple(unknown)


def _data_of(kind) -> list[tuple[str, Any]]:
    """List what the classes of an object hold, but for methods, properties and slots."""
    found: dict = {}
    for base in kind.__mro__[-2::-1]:
        found.update(tuple(vars(base).items()))  # other threads may add one
    return [(k, v) for k, v in found.items() if k[:2] != "__" and not hasattr(type(v), "__get__")]


def _content(value, convert) -> Any:
    if _is_array(value):
        convert(value)
    elif _is_constant(value):
        with contextlib.suppress(TypeError):
            return Static(value)
    return pickle.dumps(value)


def _is_array(value: Any) -> bool:
    """Whether ``value`` is an array or NumPy scalar of numbers, of any library."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.dtype.kind not in _NOT_NUMBERS
    return isinstance(value, jax.Array) or (hasattr(type(value), "__dlpack__") and not callable(value))


def _is_constant(value) -> bool:
    """Whether nothing in ``value`` can change unseen: it is compared by value, or of a library."""
    if _is_bound(value):
        return _is_constant(value.__self__)
    kind = type(value)
    by_value = kind.__hash__ not in (object.__hash__, None)
    return isinstance(value, type) or by_value or _is_of_library(kind)


def _is_bound(value) -> bool:
    return hasattr(type(value), "__func__") and hasattr(type(value), "__self__")


def _is_of_library(kind) -> bool:
    return kind.__module__.partition(".")[0] in _LIBRARIES


# What is refused


def _refusal(refusal: _Refusal) -> str:
    return (
        f"a fused function uses {refusal.path}, a {refusal.kind.__name__} whose changes would not be seen: "
        "make it an array, a number or hashable by value (a tuple, a frozen dataclass), register its class "
        "as a pytree (jax.tree_util.register_dataclass), or pass it as an argument"
    )


class _Unfollowed:
    """Stands for what cannot be followed; any use of it is refused."""

    def __init__(self, refusal):
        self._refusal = refusal

    def _refuse(self, *args, **kwargs):
        raise TypeError(_refusal(self._refusal))

    __getattr__ = __call__ = __getitem__ = __setitem__ = __contains__ = __enter__ = _refuse
    __iter__ = __next__ = __len__ = __bool__ = __int__ = __float__ = __index__ = __eq__ = __hash__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __matmul__ = __rmatmul__ = _refuse


class _Assignments:
    """Watches the copy of an object, or a class, for attributes that the function assigns."""

    def __init__(self, watched: Any):
        self._watched = watched
        self._before = self._held()

    def _held(self) -> dict[str, list]:
        """Return the values in each attribute."""
        kind = self._watched if isinstance(self._watched, type) else type(self._watched)
        held = {
            f"{kind.__name__}.{name}": _contents(value) if isinstance(value, (dict, list)) else [value]
            for name, value in _data_of(kind)
        }
        for name, value in {} if kind is self._watched else _fields(self._watched).items():
            if not isinstance(getattr(kind, name, None), functools.cached_property):
                held[f"self.{name}"] = _contents(value)
        return held

    def refuse(self, name: str) -> None:
        """Raise if an attribute was bound or a container changed: the object itself would not see it."""
        before, after = self._before, self._held()
        for place in {**before, **after}:
            old, new = before.get(place, []), after.get(place, [])
            if len(old) != len(new) or not all(map(operator.is_, old, new)):
                raise TypeError(
                    f"fused method {name!r} assigned {place}, which the object would never see: "
                    "return the new value and assign it outside"
                )


def _contents(value) -> list:
    """List the values in a container, and its keys."""
    if isinstance(value, dict):
        value = (*value, *value.values())
    if isinstance(value, (list, tuple)):
        return [type(value), *[x for part in value for x in _contents(part)]]
    return [value] if isinstance(value, _Unfollowed) else jax.tree.leaves(value) or [value]
