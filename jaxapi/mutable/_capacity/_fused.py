"""Fused functions of arrays with room: one program for every number of rows that a buffer takes.

A function is traced once, for a number of rows that is not known, and the program that is checked so is the
one that runs, on the buffers. What decides by the number, or does what the interpreter has no rule for, takes
the exact arrays.
"""

from typing import Any, NamedTuple

import jax
import numpy as np

from ..._core._dtypes import x64_for
from ..._core._lengths import has_own_length
from ..._fuse._inputs import PYTHON_NUMBERS
from ..._fuse._integers import fits_any_dtype
from .._array import Array, rows_or_value, wrap_rows
from .._storage import duplicate
from ._interpreter import evaluate, mentions_length
from ._rows import Rows, least_rows_with_room, number_of, rows_in, with_rows
from ._unknown import Length, Refused, Unknown

__all__ = ["Arguments", "ProgramOfRows", "arguments_with_room", "program_of_rows", "write_content"]


class Arguments(NamedTuple):
    """The arguments of a call by their places, which are positions and names."""

    arrays: dict[str, Array]  # as they were given
    values: dict[Any, Any]  # numbers and values, of which some have rows
    of_rows: frozenset[Any]  # the places of these
    number: int  # of rows that count
    length: int  # of the buffers

    def dtypes(self) -> list[np.dtype]:
        """Return the dtypes of the values."""
        return [x.dtype for x in self.values.values() if hasattr(x, "dtype")]

    def in_order(self) -> tuple[tuple, dict[str, Any]]:
        """Return the values as a call takes them."""
        args = tuple([x for place, x in self.values.items() if type(place) is int])
        return args, {place: x for place, x in self.values.items() if type(place) is str}


def arguments_with_room(args: tuple, kwargs: dict[str, Any]) -> Arguments | None:
    """Return arguments on buffers of one length; None where none has room, or they do not fit row by row."""
    arrays = {}
    contents = {}
    for place, x in [*enumerate(args), *kwargs.items()]:
        if isinstance(x, Array):
            arrays[str(place)] = x
            contents[place] = rows_or_value(x)
        elif isinstance(x, (jax.Array, np.generic)) or _is_number(x):
            contents[place] = x
        else:
            return None
    all_rows = [x for x in contents.values() if isinstance(x, Rows)]
    are_apart = len({id(x._owner) for x in arrays.values()}) == len(arrays)
    if not all_rows or not are_apart or len({x.count for x in all_rows}) > 1:
        return None
    if not has_own_length(*[x.value if isinstance(x, Rows) else x for x in contents.values()]):
        return None
    count = all_rows[0].count
    length = max(len(x.value) for x in all_rows)
    values = {}
    of_rows = []
    for place, x in contents.items():
        if isinstance(x, Rows):
            values[place] = with_rows(x.value, length)
            of_rows.append(place)
        elif getattr(x, "ndim", 0) and len(x) == count:
            values[place] = with_rows(x, length)
            of_rows.append(place)
        else:
            values[place] = x
    return Arguments(arrays, values, frozenset(of_rows), count, length)


def _is_number(x: Any) -> bool:
    return type(x) in PYTHON_NUMBERS and (type(x) is not int or fits_any_dtype(x))


class ProgramOfRows:
    """A function of arrays with room, compiled once for every number of rows that buffers take."""

    def __init__(self, traced: Any, name: str, length: int):
        """Take what was traced with an unknown number of rows, and will run on buffers of so many."""
        results, self._structure = jax.tree.flatten(traced.out_info)
        self._shapes = [x.shape for x in results]
        if not all(map(_has_rows_first_or_none, self._shapes)):
            raise Refused("rows along another axis")

        def run(count: Any, inputs: list[Any]) -> list[Any]:
            made = evaluate(traced.jaxpr, inputs, length, count)
            return [_in_few_lengths(*each) for each in zip(made, self._shapes, strict=True)]

        run.__name__ = run.__qualname__ = name
        self.jitted = jax.jit(run)

    def __call__(self, arguments: Arguments, given: tuple, named: dict[str, Any]) -> Any:
        """Return a pytree of results, in which rows say so, and which share no memory with arguments."""
        inputs = jax.tree.leaves((given, named))
        with x64_for(*arguments.dtypes()):
            made = self.jitted(number_of(arguments.number), inputs)
        contents = []
        for value, shape in zip(made, self._shapes, strict=True):
            if any(value is x for x in inputs):
                value = duplicate(value)
            contents.append(Rows(value, shape[0].of(arguments.number)) if _has_rows(shape) else value)
        return jax.tree.unflatten(self._structure, contents)


def program_of_rows(
    jitted: Any, name: str, given: tuple, named: dict[str, Any], arguments: Arguments
) -> ProgramOfRows | None:
    """Return the program of a function that `jax.jit` has, on buffers; None if it needs exact arrays."""
    unknown = Unknown(least_rows_with_room(), arguments.length)

    def of_unknown_length(place: Any, x: Any) -> Any:
        is_of_rows = place in arguments.of_rows
        return jax.ShapeDtypeStruct((Length(unknown), *x.shape[1:]), x.dtype) if is_of_rows else x

    given_to_trace = tuple([of_unknown_length(place, x) for place, x in enumerate(given)])
    named_to_trace = {name: of_unknown_length(name, x) for name, x in named.items()}
    try:
        with x64_for(*arguments.dtypes()):
            traced = jitted.trace(*given_to_trace, **named_to_trace)
            if unknown.was_asked:
                return None
            program = ProgramOfRows(traced, name, arguments.length)
            on_buffers = program.jitted.trace(number_of(arguments.number), jax.tree.leaves((given, named)))
            if mentions_length(on_buffers.jaxpr):
                return None
    except Exception:  # of the function, which raises it for exact arrays, too, or of what is refused
        return None
    return program


def _has_rows(shape: tuple) -> bool:
    return bool(shape) and isinstance(shape[0], Length)


def _has_rows_first_or_none(shape: tuple) -> bool:
    """Whether the first axis alone has an unknown length, or none has."""
    return not any(isinstance(length, Length) for length in shape[1:])


def _in_few_lengths(value: Any, shape: tuple) -> Any:
    """Return rows in one of the lengths that buffers have; other values as they are."""
    return with_rows(value, rows_in(len(value))) if _has_rows(shape) else value


def write_content(array: Array, content: Any) -> None:
    """Replace the value of an array by another one, or by rows."""
    array._check_writeable()
    if not isinstance(content, Rows):
        array._replace(_other_value, content)
    elif array._has_room() and len(array._value_with_room) == len(content.value):
        array._replace_rows(_other_value, content.value)
    else:
        array[...] = wrap_rows(content, array._module)


def _other_value(old, new, made):
    return new
