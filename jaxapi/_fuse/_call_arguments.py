"""What a call hands to `jax.jit`: arguments converted, with what is static in nodes without leaves."""

import types
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import jax

from .._core._dtypes import has_64_bits
from .._core._programs import ARRAY_TYPES, is_jax_array
from .._interop import as_array
from ._inputs import NUMBERS, PYTHON_NUMBERS, as_input, is_input
from ._objects import belongs_to_method, flatten_callable, flatten_object, static_by_value
from ._static import ArgumentNames, Static

__all__ = ["FUNCTION", "Call", "prepare_call"]

FUNCTION = "_jaxapi_function"  # a keyword argument: the function itself, where it holds state


class Call(NamedTuple):
    """The arguments of one call as pytrees that `jax.jit` takes, and what is traced in them."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    inputs: list[Any]  # arrays and numbers
    is_wide: bool  # whether 64-bit dtypes are among them


def prepare_call(
    func: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    static: ArgumentNames,
    donated: ArgumentNames,
) -> Call:
    """Convert the arguments of ``func``, and set what is static apart."""

    def prepare(key: Any, value: Any) -> Any:  # the position or the name of an argument
        if key in static:
            return _static_argument(key, value)
        if type(value) in PYTHON_NUMBERS or type(value) in ARRAY_TYPES:
            return value
        if key == 0 and belongs_to_method(func, value):
            return flatten_object(value)
        if is_jax_array(value):
            return value
        if isinstance(value, list) and _holds_only_numbers(value):
            return as_array(value)
        return jax.tree.map(lambda leaf: _prepare_leaf(leaf, key, key in donated), value)

    args = tuple([prepare(position, value) for position, value in enumerate(args)])
    kwargs = {name: prepare(name, value) for name, value in kwargs.items()}
    if not isinstance(func, types.FunctionType):
        function = flatten_callable(func)
        if not isinstance(function, Static):
            kwargs[FUNCTION] = function
    inputs = jax.tree.leaves((args, kwargs))
    return Call(args, kwargs, inputs, any(map(has_64_bits, inputs)))


def _prepare_leaf(leaf: Any, key: int | str, copy: bool) -> Any:
    if is_input(leaf):
        return as_input(leaf, copy)
    if callable(leaf):
        return flatten_callable(leaf)
    static = static_by_value(leaf)
    if static is None:
        raise TypeError(
            "fuse takes arrays, numbers, None, lists of numbers, pytrees of these, and as static arguments "
            f"what is hashable by value, got {type(leaf).__name__} as argument {key}: pass its arrays, "
            "name it in static_argnames, or register its class as a pytree "
            "(jax.tree_util.register_dataclass)"
        )
    return static


def _static_argument(key: int | str, value: Any) -> Static:
    try:
        return Static(value)
    except TypeError:
        argument = f"number {key}" if isinstance(key, int) else repr(key)
        raise ValueError(
            f"static argument {argument} must be hashable, got {type(value).__name__}: pass a tuple for a "
            "list, and arrays as arguments that are not static"
        ) from None


def _holds_only_numbers(value: Iterable[Any]) -> bool:
    return all(_holds_only_numbers(x) if isinstance(x, list) else isinstance(x, NUMBERS) for x in value)
