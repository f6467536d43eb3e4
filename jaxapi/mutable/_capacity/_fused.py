"""Fused functions of arrays with room: one program for every number of rows that a buffer takes.

The program that is traced for numbers of rows that are not known, and checked so (`_programs`), is the one
that runs, on the buffers. What is refused takes the exact arrays.
"""

from typing import Any, NamedTuple

import jax
import numpy as np

from ..._core._lengths import has_own_length
from ..._fuse._inputs import PYTHON_NUMBERS
from ..._fuse._integers import fits_any_dtype
from .._array import Array, rows_or_value
from ._dimensions import Bounds
from ._programs import Inputs, Program, array_of
from ._rows import Rows, least_rows_with_room, with_rows

__all__ = ["Arguments", "arguments_with_room", "program_of_rows", "write_content"]


class Arguments(NamedTuple):
    """The arguments of a call by their places, which are positions and names."""

    arrays: dict[str, Array]  # as they were given
    values: dict[Any, Any]  # numbers and values, of which some are buffers
    numbers: dict[Any, int]  # of buffers by their places: which number of rows they have
    counts: tuple[int, ...]  # the numbers of rows
    bounds: tuple[Bounds, ...]  # of these

    def dtypes(self) -> list[np.dtype]:
        """Return the dtypes of the values."""
        return [x.dtype for x in self.values.values() if hasattr(x, "dtype")]

    def in_order(self) -> tuple[tuple, dict[str, Any]]:
        """Return the values as a call takes them."""
        args = tuple([x for place, x in self.values.items() if type(place) is int])
        return args, {place: x for place, x in self.values.items() if type(place) is str}


def arguments_with_room(args: tuple, kwargs: dict[str, Any]) -> Arguments | None:
    """Return arguments on buffers, one number of rows for each length; None where none has room."""
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
    counts = tuple(dict.fromkeys([x.count for x in all_rows]))
    if not counts or not are_apart:
        return None
    if not has_own_length(*[x.value if isinstance(x, Rows) else x for x in contents.values()]):
        return None
    capacities = [max(len(x.value) for x in all_rows if x.count == count) for count in counts]
    values = {}
    numbers = {}
    for place, x in contents.items():
        value = x.value if isinstance(x, Rows) else x
        if np.ndim(value) and len(x) in counts:
            numbers[place] = counts.index(len(x))
            value = with_rows(value, capacities[numbers[place]])
        values[place] = value
    bounds = tuple([Bounds(least_rows_with_room(), capacity) for capacity in capacities])
    return Arguments(arrays, values, numbers, counts, bounds)


def _is_number(x: Any) -> bool:
    return type(x) in PYTHON_NUMBERS and (type(x) is not int or fits_any_dtype(x))


def program_of_rows(
    jitted: Any, name: str, given: tuple, named: dict[str, Any], arguments: Arguments
) -> Program | None:
    """Return the program of a function that `jax.jit` has, on buffers; None if it needs exact arrays."""

    def trace(numbers_of_rows: list[Any]) -> jax.stages.Traced:
        def of_unknown_count(place: Any, x: Any) -> Any:
            if place not in arguments.numbers:
                return x
            rows = numbers_of_rows[arguments.numbers[place]]
            return jax.ShapeDtypeStruct((rows, *x.shape[1:]), x.dtype)

        args = [of_unknown_count(place, x) for place, x in enumerate(given)]
        return jitted.trace(*args, **{place: of_unknown_count(place, x) for place, x in named.items()})

    inputs = Inputs(arguments.bounds, jax.tree.leaves((given, named)), arguments.dtypes())
    try:
        return Program(name, inputs, trace)
    except Exception:  # of the function, which raises it for exact arrays, too, or of what is refused
        return None


def write_content(array: Array, content: Any) -> None:
    """Replace the value of an array by another one, or by rows."""
    array._check_writeable()
    if isinstance(content, jax.Array):
        array._replace(_other_value, content)
    elif isinstance(content, Rows) and _fits_buffer(content, array):
        array._replace_rows(_other_value, content.value)
    else:
        array[...] = array_of(content, array._module, is_scalar=False)


def _fits_buffer(rows: Rows, array: Array) -> bool:
    return array._has_room() and len(array._value_with_room) == len(rows.value)


def _other_value(old, new, made):
    return new
