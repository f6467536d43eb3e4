"""Static arguments: values that a program is compiled for, told apart by type and value."""

import dataclasses
import decimal
import enum
import inspect
import operator
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import jax
import numpy as np

__all__ = ["ArgumentNames", "Static", "argument_names", "value_key"]

_WITH_SIGNED_ZERO = (float, complex, np.inexact, decimal.Decimal)


@jax.tree_util.register_pytree_node_class
class Static:
    """A pytree without leaves that holds one value: `jax.jit` compiles again for another one."""

    def __init__(self, value: Any):
        self.value = value
        self._key = value_key(value)
        self._hash = hash(self._key)  # a TypeError for what cannot be static

    def tree_flatten(self) -> tuple[tuple[()], "Static"]:
        """Return no leaves, and itself as what `jax.jit` compares."""
        return (), self

    @staticmethod
    def tree_unflatten(static: "Static", leaves: Any) -> "Static":
        """Return the static value as it came."""
        return static

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Static) and self._key == other._key

    def unflatten(self, leaves: Iterator[Any], copies: list[Any]) -> Any:
        """Return the value: as the structure of an object's field it has no leaves."""
        return self.value

    def __repr__(self) -> str:
        return f"Static({self.value!r})"


def value_key(value: Any) -> tuple[Any, ...]:
    """Return what tells values apart: 1, 1.0 and True differ, as do 0.0 and -0.0; nan equals itself.

    Tuples, frozensets and dataclasses are told apart by their contents in the same way, and anything
    else by its class and its ``==``.
    """
    cls = type(value)
    if isinstance(value, enum.Enum):
        return cls, value.name, value.value if isinstance(value, enum.Flag) else None
    if isinstance(value, _WITH_SIGNED_ZERO):
        return cls, repr(value)
    if isinstance(value, tuple):
        return cls, *map(value_key, value)
    if isinstance(value, frozenset):
        return cls, frozenset(map(value_key, value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        hash(value)  # a TypeError for what cannot be static
        fields = [getattr(value, field.name) for field in dataclasses.fields(value) if field.compare]
        key = cls, *map(value_key, fields)
        return key if _is_hashable(key) else (cls, value)
    return cls, value


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


class ArgumentNames(NamedTuple):
    """Which arguments are meant: by position, and by name."""

    positions: frozenset[int]
    names: frozenset[str]

    def __contains__(self, key: object) -> bool:
        return key in self.positions or key in self.names


def argument_names(
    func: Any, what: str, argnums: int | Iterable[int] | None, argnames: str | Iterable[str] | None
) -> ArgumentNames:
    """Read ``static_argnums`` and the like as `jax.jit` does: what is not given follows from the other."""
    if argnums is None and argnames is None:
        return ArgumentNames(frozenset(), frozenset())
    parameters = _parameters(func)
    positional = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    by_name = {p.name for p in parameters if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)}
    kinds = {p.kind for p in parameters}
    count = None if inspect.Parameter.VAR_POSITIONAL in kinds or not parameters else len(positional)
    any_name = inspect.Parameter.VAR_KEYWORD in kinds or not parameters
    positions = {_position(i, count, what) for i in _several(argnums)}
    names = set(_several(argnames))
    unknown = sorted(names - by_name) if not any_name else []
    if unknown:
        raise ValueError(f"{what}_argnames has {unknown}, which the function does not take by name")
    if argnums is None:
        positions = {i for i, name in enumerate(positional) if name in names}
    if argnames is None:
        names = {name for i, name in enumerate(positional) if i in positions} & by_name
    return ArgumentNames(frozenset(positions), frozenset(names))


def _several(given: Any) -> tuple[Any, ...]:
    if given is None:
        return ()
    return (given,) if isinstance(given, (int, str)) else tuple(given)


def _parameters(func: Any) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(func).parameters.values())
    except (TypeError, ValueError):
        return []  # a builtin without signature: anything may be meant


def _position(number: Any, count: int | None, what: str) -> int:
    position = operator.index(number)
    if count is None:
        if position < 0:
            raise ValueError(f"{what}_argnums has {position}, counted from the end of a function with *args")
        return position
    if not -count <= position < count:
        raise ValueError(
            f"{what}_argnums has {position}, and the function takes {count} positional arguments"
        )
    return position % count
