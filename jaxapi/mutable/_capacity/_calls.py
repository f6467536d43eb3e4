"""Calls of functions of arrays with room: one program for every number of rows that buffers take.

A call is read as a statement, in which operands stand for arrays, and its program is kept by that
(`_programs`). What is refused, and what raises, takes the exact arrays.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..._core._checks import collected_checks
from ..._core._dtypes import default_dtype, native_dtype, resolve_dtype, x64_for, x64_mode
from ..._core._lengths import has_own_length
from ..._core._programs import is_jax_array
from .._array import Array, keep_call, line_of_call, wrap
from .._batches import Kind, LineProgram, Pending, concrete, is_recording, kind_of, kind_of_array, lend
from .._host_way import is_by_jax
from .._selection import Part
from ._dimensions import Bounds, Refused
from ._programs import Inputs, Program, array_of
from ._rows import Rows, dtype_may_have_room, least_rows_with_room, with_rows
from ._transposes import rows_of_transpose

__all__ = ["call_on_rows", "call_on_values"]

_PROGRAMS_KEPT = 1024
_OPTIONS = (bool, int, float, complex, str, type, np.dtype, type(None), type(np._NoValue))
_RETURN_INTEGERS = frozenset(
    [
        *("argmax", "argmin", "argpartition", "argsort", "count_nonzero", "lexsort", "matrix_rank"),
        *("nanargmax", "nanargmin"),
    ]
)


# What a call is read as


class _Operand(NamedTuple):
    """What stands for an array."""

    shape: tuple[int, ...]  # of the buffer, where it has rows
    dtype: np.dtype
    number: int | None = None  # which number of rows it has, if it has rows
    is_transposed: bool = False  # so that its rows are columns
    is_scalar: bool = False  # as NumPy's

    def structure(self, numbers_of_rows: Sequence[Any]) -> jax.ShapeDtypeStruct:
        """Return the shape and the dtype for numbers of rows."""
        shape = self.shape if self.number is None else (numbers_of_rows[self.number], *self.shape[1:])
        return jax.ShapeDtypeStruct(shape, self.dtype)


class _Count(NamedTuple):
    """What stands for an integer in a sequence that is a number of rows, as one in a shape is."""

    number: int  # which one


class _Option(NamedTuple):
    """What stands for an argument that is no array; 0.0 and -0.0, and 1 and True, are two."""

    type: type
    value: Any
    written: str = ""  # of floats


class _Sequence(NamedTuple):
    """What stands for a list or a tuple."""

    type: type
    items: tuple[Any, ...]


class _Statement(NamedTuple):
    """A function and what stands for its arguments."""

    function: Callable[..., Any]
    module: str
    arguments: tuple[Any, ...]
    named: tuple[tuple[str, Any], ...]

    def operands(self) -> list[_Operand]:
        """Return what stands for arrays, in the order of arguments."""
        operands: list[_Operand] = []
        _collect_operands([*self.arguments, *[x for _, x in self.named]], operands)
        return operands

    def dtypes(self) -> list[np.dtype]:
        """Return the dtypes of arrays, and those that are asked for."""
        options = [x for x in (*self.arguments, *[x for _, x in self.named]) if isinstance(x, _Option)]
        return [*[x.dtype for x in self.operands()], *[x.value for x in options if x.type is np.dtype]]

    def call(self, arrays: Iterator[Array], numbers_of_rows: Sequence[Any]) -> Any:
        """Call the function with arrays."""
        args = [_given(x, arrays, numbers_of_rows) for x in self.arguments]
        kwargs = {name: _given(x, arrays, numbers_of_rows) for name, x in self.named}
        return self.function(*args, **kwargs)


def _collect_operands(arguments: Iterable[Any], operands: list[_Operand]) -> None:
    for x in arguments:
        if isinstance(x, _Operand):
            operands.append(x)
        elif isinstance(x, _Sequence):
            _collect_operands(x.items, operands)


def _given(argument: Any, arrays: Iterator[Array], numbers_of_rows: Sequence[Any]) -> Any:
    """Return an argument of the function."""
    if isinstance(argument, _Operand):
        return next(arrays)
    if isinstance(argument, _Option):
        return argument.value
    if isinstance(argument, _Count):
        return numbers_of_rows[argument.number]
    return argument.type([_given(x, arrays, numbers_of_rows) for x in argument.items])


# How it is read


class _Room(NamedTuple):
    """The rows of an array, or of what it is the transpose of."""

    rows: Rows
    is_transposed: bool


_Rooms = dict[int, _Room]  # by the identities of arrays


class _Choice(NamedTuple):
    """Which arrays have rows: those of some lengths, or of each of these the first array alone."""

    counts: tuple[int, ...]  # the lengths
    is_first_alone: bool = False


class _NeedsExactArrays(Exception):
    """Raised for arguments that no program on buffers takes."""


def call_on_rows(
    function: Callable[..., Any], module: str, args: tuple, kwargs: dict[str, Any], waits: bool = False
) -> Any:
    """Return what a function makes of arrays of which some have room; None where it needs exact arrays.

    ``function`` takes and returns arrays of ours, and looks at no values. One that ``waits`` may be a line of
    a batch where all arrays are exact, too.
    """
    if not is_by_jax():
        return None
    rooms: _Rooms = {}
    _find_rooms(args, rooms)
    if kwargs:
        _find_rooms(kwargs.values(), rooms)
    precision = jax.config.jax_default_matmul_precision  # which a program of products has for good
    if not rooms and not (waits and precision is None and is_recording()):
        return None
    try:
        for choice in _choices(tuple(dict.fromkeys([room.rows.count for room in rooms.values()]))):
            reader = _Reader(rooms, choice)
            statement = reader.read_call(function, module, args, kwargs)
            program = _program(statement, reader.bounds, x64_mode(), precision)
            if program is None:
                continue
            line = program.line(choice, reader.values) if waits and is_recording() else None
            if line is not None and keep_call(function, args, kwargs, x64_mode(), line):
                made = line_of_call(function, args, kwargs, x64_mode())
                if made is not None:
                    return made
            return program(choice.counts, reader.values)
    except _NeedsExactArrays:
        pass
    return None


def call_on_values(function: Callable[..., Any], operands: tuple, module: str, waits: bool = False) -> Any:
    """Return what a function of values makes of arrays, as `call_on_rows` does for one of arrays."""
    return call_on_rows(_of_arrays(function, module), module, operands, {}, waits)


@functools.cache
def _of_arrays(function: Callable[..., Any], module: str) -> Callable[..., Any]:
    """Return a function of values as one of arrays of a namespace."""

    def call(*args):
        made = function(*[x._value if isinstance(x, Array) else x for x in args])
        return wrap(made, module, not made.ndim)

    return call


def _find_rooms(args: Iterable[Any], rooms: _Rooms) -> None:
    """Keep the rows of arrays among arguments, where `is_by_jax`."""
    for x in args:
        if type(x) is Array:
            rows = x._rows_if_possible()
            is_transposed = rows is None and x._view is not None
            if is_transposed:
                rows = rows_of_transpose(x)
            if rows is not None:
                rooms[id(x)] = _Room(rows, is_transposed)
        elif type(x) in (list, tuple):
            _find_rooms(x, rooms)


@functools.lru_cache(maxsize=_PROGRAMS_KEPT)
def _choices(lengths: tuple[int, ...]) -> list[_Choice]:
    """Return which arrays may have rows, of those of some lengths, the most first.

    Where those of every length do not fit, one length has rows, and arrays of others are exact, such as
    matrices of weights. Where arrays, and integers, are as long by accident, one array has rows.
    """
    choices = [_Choice(lengths)] if len(lengths) != 1 else []
    for length in sorted(lengths, reverse=True):
        choices += [_Choice((length,)), _Choice((length,), is_first_alone=True)]
    return choices


class _Reader:
    """Reads the arguments of a call: the values of arrays, and what stands for them."""

    __slots__ = ("_choice", "_numbers", "_numbers_met", "_rooms", "bounds", "values")

    def __init__(self, rooms: _Rooms, choice: _Choice):
        """Take the rows of arrays, and which have them."""
        self._rooms = rooms
        self._choice = choice
        # Which number of rows a length is.
        self._numbers = {length: number for number, length in enumerate(choice.counts)}
        self._numbers_met: set[int] = set()
        self.bounds = tuple([_bounds(rooms, count) for count in choice.counts])
        self.values: list[Any] = []

    def read_call(
        self, function: Callable[..., Any], module: str, args: tuple, kwargs: dict[str, Any]
    ) -> _Statement:
        """Note the values of arrays, and return what a program is kept by."""
        arguments = tuple([self._read(x) for x in args])
        named = tuple([(name, self._read_named(name, x)) for name, x in kwargs.items()])
        values = [x for x in self.values if type(x) is not Pending]
        if len(values) > 1 and not has_own_length(*values):
            raise _NeedsExactArrays
        return _Statement(function, module, arguments, named)

    def _read(self, x: Any) -> Any:
        if type(x) is Array:
            return self._read_array(x)
        if type(x) in (list, tuple):
            return _Sequence(type(x), tuple([self._read_item(item) for item in x]))
        if isinstance(x, np.ndarray) and not x.dtype.isnative:
            x = x.astype(native_dtype(x.dtype))
        if isinstance(x, (jax.Array, np.ndarray)):
            return self._read_value(lend(x), is_scalar=False)
        if isinstance(x, (float, complex)):
            return _Option(type(x), _same_nan(x), repr(x))
        if isinstance(x, (type, np.dtype)):
            return _Option(np.dtype, _dtype(x))
        if isinstance(x, _OPTIONS):
            return _Option(type(x), x)
        raise _NeedsExactArrays

    def _read_item(self, x: Any) -> Any:
        """Read an item of a sequence, such as a length of a shape; elsewhere integers are operands."""
        if type(x) is not int:
            return self._read(x)
        number = None if self._choice.is_first_alone else self._numbers.get(x)
        return _Option(int, x) if number is None else _Count(number)

    def _read_named(self, name: str, x: Any) -> Any:
        return self._read(_dtype(x) if name == "dtype" and type(x) is str else x)

    def _read_array(self, x: Array) -> _Operand:
        room = self._rooms.get(id(x))
        if room is None:
            return self._read_value(_value_of(x), x._is_scalar)
        number = self._numbers.get(room.rows.count)
        if number is None or (self._choice.is_first_alone and number in self._numbers_met):
            return self._read_value(x._value, is_scalar=False)
        return self._read_rows(room.rows.memory, number, room.is_transposed)

    def _read_value(self, value: Any, is_scalar: bool) -> _Operand:
        """Read a value that is exact, and may be as long as others."""
        if not dtype_may_have_room(value.dtype) or getattr(value, "weak_type", False):
            raise _NeedsExactArrays
        if value.ndim and not self._choice.is_first_alone:
            number = self._numbers.get(value.shape[0])
            if number is not None:
                return self._read_rows(value, number, is_transposed=False)
        self.values.append(value)
        return _Operand(value.shape, value.dtype, is_scalar=is_scalar)

    def _read_rows(self, value: Any, number: int, is_transposed: bool) -> _Operand:
        self._numbers_met.add(number)
        value = with_rows(value, self.bounds[number].capacity)
        self.values.append(value)
        return _Operand(value.shape, value.dtype, number, is_transposed)


def _value_of(x: Array) -> Any:
    """Return the value of an array, or what it is pending as."""
    operand = x._operand()
    return operand.taken() if type(operand) is Part else operand


def _bounds(rooms: _Rooms, length: int) -> Bounds:
    """Return the bounds of numbers of rows for which arrays of a length share a program."""
    capacity = 0
    for room in rooms.values():
        if room.rows.count == length:
            capacity = max(capacity, len(room.rows.memory))
    # A power of 2: what more rows than columns decide is decided for most numbers of rows.
    return Bounds(max(1 << length.bit_length() - 1, least_rows_with_room()), capacity)


def _dtype(x: Any) -> np.dtype:
    """Return the dtype that is asked for: of Python's types the default, before a context changes it."""
    try:
        return resolve_dtype(x)
    except TypeError:
        raise _NeedsExactArrays from None


def _same_nan(x: Any) -> Any:
    """Return a number; NaN as the one object that equals itself among the keys of a dict."""
    if x == x:
        return x
    if type(x) is not float:
        raise _NeedsExactArrays
    return math.nan


# Its program


@functools.lru_cache(maxsize=_PROGRAMS_KEPT)
def _program(
    statement: _Statement, bounds: tuple[Bounds, ...], is_x64: bool, precision: Any
) -> _StatementProgram | None:
    """Return the program of a statement, in x64 mode or not, and of JAX's precision that is on.

    None is returned where it needs exact arrays.
    """
    try:
        return _StatementProgram(statement, bounds)
    except Exception:  # of the function, which raises it for exact arrays, too, or of what is refused
        return None


class _StatementProgram:
    """A statement compiled for buffers."""

    def __init__(self, statement: _Statement, bounds: tuple[Bounds, ...]):
        """Trace the statement for numbers of rows within bounds, which may be refused."""
        self._module = statement.module
        self._statement = statement
        self._operands = statement.operands()
        self._is_of_transposes = any(x.is_transposed for x in self._operands)
        self._structure: Any = None  # of the result
        self._is_one = False  # an array alone
        self._are_scalars: list[bool] = []  # of the arrays in it
        self._has_checks = False
        self._line: LineProgram | None = None  # the program of a line, once there is one

        def trace(numbers_of_rows: Sequence[Any]) -> jax.stages.Traced:
            def call(*values: Any) -> Any:
                return self._called(values, numbers_of_rows)

            return jax.jit(call).trace(*[x.structure(numbers_of_rows) for x in self._operands])

        name = getattr(statement.function, "__name__", "function")
        self._integers = default_dtype(int) if name in _RETURN_INTEGERS else None
        capacities = [each.capacity for each in bounds]
        inputs = Inputs(bounds, [x.structure(capacities) for x in self._operands], statement.dtypes())
        self._program = Program(name, inputs, trace)

    def _called(self, values: Sequence[Any], numbers_of_rows: Sequence[Any]) -> list[jax.Array]:
        """Call the function with traced values; return those of its result, and whether a check fails."""
        arrays = [_wrapped(*each, self._module) for each in zip(values, self._operands, strict=True)]
        given = [x._value for x in arrays]
        with collected_checks() as checks:
            made = self._statement.call(iter(arrays), numbers_of_rows)
        if any(x._value is not value for x, value in zip(arrays, given, strict=True)):
            raise Refused("a write to an argument, as to out=")
        results, self._structure = jax.tree.flatten(made, is_leaf=_is_array)
        self._is_one = _is_array(made)
        if not all(map(_is_array, results)):
            raise Refused("a result that is no array")
        self._are_scalars = [x._is_scalar for x in results]
        self._has_checks = bool(checks)
        is_bad = [functools.reduce(operator.or_, checks)] if checks else []
        return [*[self._in_dtype(x._value) for x in results], *is_bad]

    def _in_dtype(self, result: jax.Array) -> jax.Array:
        """Return positions, or numbers of elements, in the dtype that they have where x64 mode is off."""
        return result if self._integers is None else result.astype(self._integers)

    def line(self, choice: _Choice, values: Sequence[Any]) -> LineProgram | None:
        """Return the program of a line; None where results are looked at first, or lengths are several."""
        if choice.is_first_alone or len(choice.counts) > 1 or self._is_of_transposes:
            return None
        program = self._program.for_line()
        are_on_device = all(type(x) is Pending or is_jax_array(x) for x in values)
        if program is None or not self._are_scalars or self._has_checks or not are_on_device:
            return None
        if self._line is None:
            kinds = [kind_of((), np.dtype(np.int32))] * len(choice.counts)
            kinds += [x.kind if type(x) is Pending else kind_of_array(x) for x in values]
            wrapped = self._wrapped_of_rows if choice.counts else self._wrapped
            with x64_for(*self._statement.dtypes()):
                self._line = _CallProgram(program, tuple(kinds), wrapped)
        return self._line

    def _wrapped_of_rows(self, made: Sequence[Any]) -> Callable[[int], Any]:
        """Return what makes, of a number of rows, what the function returns of what the program made."""

        def wrapped(rows: int) -> Any:
            return self._wrapped(self._program.contents((rows,), made))

        return wrapped

    def __call__(self, counts: tuple[int, ...], values: list[Any]) -> Any:
        """Return what the function makes of buffers in which numbers of rows count.

        None is returned where it raises for the values.
        """
        contents = self._program(counts, values)
        if self._has_checks and concrete(contents.pop()):
            return None
        return self._wrapped(contents)

    def _wrapped(self, contents: Sequence[Any]) -> Any:
        """Return the results of the program as the function does."""
        if self._is_one:
            return array_of(contents[0], self._module, self._are_scalars[0])
        results = zip(contents, self._are_scalars, strict=True)
        return self._structure.unflatten([array_of(x, self._module, is_scalar) for x, is_scalar in results])


class _CallProgram(LineProgram):
    """The program of a call of exact arrays."""

    __slots__ = ("_wrapped",)

    def __init__(self, program: Any, kinds: tuple[Kind, ...], wrapped: Callable[[Sequence[Any]], Any]):
        """Trace the program; ``wrapped`` makes arrays of its results, or a function of a number of rows."""
        super().__init__(program, (), kinds)
        self._wrapped = wrapped

    def returned(self, results: Sequence[Any]) -> Any:
        return self._wrapped(results)


def _is_array(x: Any) -> bool:
    return isinstance(x, Array)


def _wrapped(value: jax.Array, operand: _Operand, module: str) -> Array:
    """Return an operand as the function takes it."""
    oriented = jnp.matrix_transpose(value) if operand.is_transposed else value
    return wrap(oriented, module, operand.is_scalar)
