"""Calls of functions of arrays with room: one program for every number of rows that buffers take.

A call is traced once, for a number of rows that is not known (`_unknown`), and the program is evaluated on
the buffers (`_interpreter`). What decides by the number, what the interpreter has no rule for, and what
raises, takes the exact arrays.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..._core._dtypes import resolve_dtype, x64_for, x64_mode
from ..._core._lengths import has_own_length
from ..._core._programs import compiled
from .._array import Array, wrap, wrap_rows
from .._storage import duplicate
from ._interpreter import evaluate, mentions_length
from ._rows import (
    Rows,
    as_default_integers,
    dtype_may_have_room,
    least_rows_with_room,
    number_of,
    rows_in,
    with_rows,
)
from ._transposes import rows_of_transpose
from ._unknown import Length, Refused, Unknown

__all__ = ["call_on_rows", "call_on_values"]

_PROGRAMS_KEPT = 1024
_OPTIONS = (bool, int, float, complex, str, type, np.dtype, type(None), type(np._NoValue))
_RETURN_INTEGERS = frozenset(
    ["argmax", "argmin", "argsort", "count_nonzero", "lexsort", "matrix_rank", "nanargmax", "nanargmin"]
)
_INT32 = jax.ShapeDtypeStruct((), np.int32)


class _Operand(NamedTuple):
    """What a program is kept by of an array."""

    shape: tuple[int, ...]  # of the buffer, where it has rows
    dtype: np.dtype
    has_rows: bool
    is_transposed: bool  # so that its rows are columns
    is_scalar: bool  # as NumPy's

    def structure(self, number_of_rows: Any) -> jax.ShapeDtypeStruct:
        """Return the shape and the dtype for a number of rows."""
        shape = (number_of_rows, *self.shape[1:]) if self.has_rows else self.shape
        return jax.ShapeDtypeStruct(shape, self.dtype)


class _Option(NamedTuple):
    """An argument that is no array; 0.0 and -0.0, and 1 and True, are two."""

    type: type
    value: Any
    written: str = ""  # of floats


class _Sequence(NamedTuple):
    """A list or a tuple of arguments."""

    type: type
    parts: tuple[Any, ...]


# The rows of arrays by the identities of these, and whether those are transposed.
_RowsOfArrays = dict[int, tuple[Rows, bool]]
_COUNT = "the number of rows"  # in the place of an argument that is it, as in a shape


class _NeedsExactArrays(Exception):
    """Raised for arguments that no program on buffers takes."""


def call_on_rows(function: Callable[..., Any], module: str, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Return what a function makes of arrays of which some have room; None where it needs exact arrays.

    ``function`` takes and returns arrays of ours, and looks at no values. The longest arrays have rows, and
    those of other lengths, such as matrices of weights, are exact; or else the other way round.
    """
    found: _RowsOfArrays = {}
    _find_rows(args, found)
    if kwargs:
        _find_rows(kwargs.values(), found)
    for count in sorted({rows.count for rows, _ in found.values()}, reverse=True):
        made = _call_for_count(function, module, args, kwargs, found, count)
        if made is not None:
            return made
    return None


def _call_for_count(
    function: Callable[..., Any],
    module: str,
    args: tuple,
    kwargs: dict[str, Any],
    found: _RowsOfArrays,
    count: int,
) -> Any:
    """Return what a call makes where arrays of one length have rows; None where it needs exact arrays.

    Others that are as long, and integers, may be so by accident: if they do not fit, one array has rows.
    """
    for others_have_rows in (True, False):
        reader = _Reader(found, count, others_have_rows)
        try:
            parts = tuple([reader.read(x) for x in args])
            named = tuple([(name, reader.read_named(name, x)) for name, x in kwargs.items()])
        except _NeedsExactArrays:
            return None
        if len(reader.values) > 1 and not has_own_length(*reader.values):
            return None
        program = _program(function, module, parts, named, reader.length, reader.least, x64_mode())
        if program is not None:
            return program(reader.values, count)
        if not reader.found_others:
            return None  # as they would be read the same again
    return None


def call_on_values(function: Callable[..., Any], operands: tuple, module: str) -> Any:
    """Return what a function of values makes of arrays of which some have room."""
    return call_on_rows(_of_arrays(function, module), module, operands, {})


@functools.cache
def _of_arrays(function: Callable[..., Any], module: str) -> Callable[..., Any]:
    def of_arrays(*args):
        made = function(*[x._value if isinstance(x, Array) else x for x in args])
        return wrap(made, module, not made.ndim)

    return of_arrays


def _find_rows(args: Iterable[Any], found: _RowsOfArrays) -> None:
    """Keep the rows of arrays among arguments by the arrays' identities."""
    for x in args:
        if type(x) is Array:
            rows = x._rows()
            is_transposed = rows is None and x._view is not None
            if is_transposed:
                rows = rows_of_transpose(x)
            if rows is not None:
                found[id(x)] = rows, is_transposed
        elif type(x) in (list, tuple):
            _find_rows(x, found)


class _Reader:
    """Reads the arguments of a call: the values of arrays, and what a program is kept by."""

    __slots__ = (
        *("_found", "_has_first", "_others_have_rows"),
        *("count", "found_others", "least", "length", "values"),
    )

    def __init__(self, found: _RowsOfArrays, count: int, others_have_rows: bool):
        """Take the rows of arrays, the length that has rows, and whether all of it have, or the first."""
        self._found = found
        self._others_have_rows = others_have_rows
        self._has_first = False
        self.count = count
        self.length = max([len(rows.value) for rows, _ in found.values() if rows.count == count])
        # A power of 2: what more rows than columns decide is decided for most numbers of rows.
        self.least = max(1 << self.count.bit_length() - 1, least_rows_with_room())
        self.values: list[Any] = []
        self.found_others = False

    def read(self, x: Any) -> Any:
        """Note the values of an argument's arrays, and return what a program is kept by."""
        if type(x) is Array:
            return self._read_array(x)
        if type(x) in (list, tuple):
            return _Sequence(type(x), tuple([self._read_part(part) for part in x]))
        if isinstance(x, (jax.Array, np.ndarray)):
            return self._read_value(x, is_scalar=False)
        if isinstance(x, (float, complex)):
            return _Option(type(x), _same_nan(x), repr(x))
        if isinstance(x, (type, np.dtype)):
            return _Option(np.dtype, _dtype(x))
        if isinstance(x, _OPTIONS):
            return _Option(type(x), x)
        raise _NeedsExactArrays

    def _read_part(self, x: Any) -> Any:
        """Do so with a part of a sequence, such as a length of a shape; elsewhere integers are operands."""
        if type(x) is not int or x != self.count:
            return self.read(x)
        self.found_others = True
        return _COUNT if self._others_have_rows else _Option(int, x)

    def read_named(self, name: str, x: Any) -> Any:
        """Do so with an argument that is given by its name."""
        return self.read(_dtype(x) if name == "dtype" and type(x) is str else x)

    def _read_array(self, x: Array) -> _Operand:
        found = self._found.get(id(x))
        if found is None:
            return self._read_value(x._value, x._is_scalar)
        rows, is_transposed = found
        is_other = rows.count == self.count and self._has_first
        self.found_others = self.found_others or is_other
        if rows.count != self.count or (is_other and not self._others_have_rows):
            return self._read_value(x._value, is_scalar=False)
        self._has_first = True
        value = with_rows(rows.value, self.length)
        self.values.append(value)
        return _Operand(value.shape, value.dtype, True, is_transposed, False)

    def _read_value(self, value: Any, is_scalar: bool) -> _Operand:
        if not dtype_may_have_room(value.dtype) or getattr(value, "weak_type", False):
            raise _NeedsExactArrays
        is_as_long = value.shape[:1] == (self.count,)
        self.found_others = self.found_others or is_as_long
        has_rows = is_as_long and self._others_have_rows
        value = with_rows(value, self.length) if has_rows else value
        self.values.append(value)
        return _Operand(value.shape, value.dtype, has_rows, False, is_scalar)


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


@functools.lru_cache(maxsize=_PROGRAMS_KEPT)
def _program(
    function: Callable[..., Any],
    module: str,
    parts: tuple[Any, ...],
    named: tuple[tuple[str, Any], ...],
    length: int,
    least: int,
    is_x64: bool,
) -> _Program | None:
    """Return the program of a call, in x64 mode or not; None where it needs exact arrays."""
    try:
        return _Program(_Call(function, module, parts, named), length, least)
    except Exception:  # of the function, which raises it for exact arrays, too, or of what is refused
        return None


class _Call(NamedTuple):
    """A function and its arguments, in which operands stand for arrays."""

    function: Callable[..., Any]
    module: str
    parts: tuple[Any, ...]
    named: tuple[tuple[str, Any], ...]

    def operands(self) -> list[_Operand]:
        """Return what stands for arrays, in the order of arguments."""
        operands: list[_Operand] = []
        _collect_operands([*self.parts, *[part for _, part in self.named]], operands)
        return operands

    def dtypes(self) -> list[np.dtype]:
        """Return the dtypes of arrays, and those that are asked for."""
        options = [x for x in (*self.parts, *[x for _, x in self.named]) if isinstance(x, _Option)]
        asked_for = [x.value for x in options if x.type is np.dtype]
        return [*[x.dtype for x in self.operands()], *asked_for]

    def of(self, arrays: Iterator[Array], number_of_rows: Any) -> Any:
        """Call the function with arrays."""
        args = [_given(part, arrays, number_of_rows) for part in self.parts]
        kwargs = {name: _given(part, arrays, number_of_rows) for name, part in self.named}
        return self.function(*args, **kwargs)


def _collect_operands(parts: Iterable[Any], operands: list[_Operand]) -> None:
    for part in parts:
        if isinstance(part, _Operand):
            operands.append(part)
        elif isinstance(part, _Sequence):
            _collect_operands(part.parts, operands)


def _given(part: Any, arrays: Iterator[Array], number_of_rows: Any) -> Any:
    """Return an argument of the function."""
    if isinstance(part, _Operand):
        return next(arrays)
    if part is _COUNT:
        return number_of_rows
    if isinstance(part, _Option):
        return part.value
    return part.type([_given(each, arrays, number_of_rows) for each in part.parts])


class _Program:
    """A call compiled for buffers of one length."""

    def __init__(self, call: _Call, length: int, least: int):
        """Trace the call for numbers of rows from the least one on, which may be refused."""
        self._call = call
        self._length = length
        self._least = least
        self._operands = call.operands()
        self._dtypes = call.dtypes()
        self._returns_integers = getattr(call.function, "__name__", "") in _RETURN_INTEGERS
        self._form: Any = None  # of the result
        self._parts: list[_Part] = []  # the arrays in it

        def run(count, *values):
            return self._evaluated(count, values)

        run.__name__ = run.__qualname__ = getattr(call.function, "__name__", "function")
        self._compiled = compiled(run)
        inputs = [operand.structure(length) for operand in self._operands]
        with x64_for(*self._dtypes):
            on_buffers = self._compiled.jitted().trace(_INT32, *inputs)
        if mentions_length(on_buffers.jaxpr):
            raise Refused("a length that stays unknown")

    def _evaluated(self, count: Any, values: tuple[Any, ...]) -> list[Any]:
        """Evaluate on buffers what is traced for a number of rows that is not known."""
        unknown = Unknown(self._least, self._length)
        number_of_rows = Length(unknown)

        def call(*traced: Any) -> list[Any]:
            return self._called(traced, number_of_rows)

        traced = jax.jit(call).trace(*[operand.structure(number_of_rows) for operand in self._operands])
        if unknown.was_asked:
            raise Refused("a decision")
        self._parts = [
            part.of_shape(info.shape) for part, info in zip(self._parts, traced.out_info, strict=True)
        ]
        made = evaluate(traced.jaxpr, values, self._length, count)
        return [part.of_few_lengths(value) for part, value in zip(self._parts, made, strict=True)]

    def _called(self, values: Sequence[Any], number_of_rows: Any) -> list[Any]:
        """Call the function with traced values, and keep what its result is made of."""
        arrays = []
        for value, operand in zip(values, self._operands, strict=True):
            oriented = jnp.matrix_transpose(value) if operand.is_transposed else value
            arrays.append(wrap(oriented, self._call.module, operand.is_scalar))
        results: list[Array] = []
        given = [array._value for array in arrays]
        self._form = _form_of(self._call.of(iter(arrays), number_of_rows), results)
        if any(array._value is not value for array, value in zip(arrays, given, strict=True)):
            raise Refused("a write")  # such as to out=, which the caller's array would not see
        self._parts = [_Part(x._is_scalar) for x in results]
        return [x._value for x in results]

    def __call__(self, values: list[Any], count: int) -> Any:
        """Return what the function makes of buffers in which a number of rows counts."""
        with x64_for(*self._dtypes):
            made = self._compiled(number_of(count), *values)
        results = []
        for part, value in zip(self._parts, made, strict=True):
            if any(value is x for x in values):
                value = duplicate(value)
            if self._returns_integers:
                value = as_default_integers(value)
            results.append(part.wrapped(value, count, self._call.module))
        return results[0] if self._form is None else _unflattened(self._form, iter(results))


class _Part(NamedTuple):
    """An array of a result: how many rows it has along which axis, if it has some."""

    is_scalar: bool
    axis: int = 0
    length: Length | None = None

    def of_shape(self, shape: tuple[Any, ...]) -> _Part:
        """Return the part for a shape, of which the first axis has rows, or the second one of a matrix."""
        axes = [i for i, each in enumerate(shape) if isinstance(each, Length)]
        if not axes:
            return self
        if axes == [0] or (axes == [1] and len(shape) == 2):
            return self._replace(axis=axes[0], length=shape[axes[0]])
        raise Refused("rows along another axis")

    def of_few_lengths(self, value: Any) -> Any:
        """Return rows as the first axis, in one of the lengths that buffers have."""
        if self.length is None:
            return value
        value = jnp.matrix_transpose(value) if self.axis else value
        return with_rows(value, rows_in(len(value)))

    def wrapped(self, value: Any, count: int, module: str) -> Any:
        """Return an array of ours."""
        if self.length is None:
            return wrap(value, module, self.is_scalar)
        made = wrap_rows(Rows(value, self.length.of(count)), module)
        return made.T if self.axis else made


def _form_of(result: Any, arrays: list[Array]) -> Any:
    """Put the arrays of a result into a list, and return what they are parts of; None for one alone."""
    if isinstance(result, Array):
        arrays.append(result)
        return None
    if isinstance(result, (list, tuple)):
        return _Sequence(type(result), tuple([_form_of(part, arrays) for part in result]))
    raise Refused("a result that is no array")


def _unflattened(form: Any, results: Iterator[Any]) -> Any:
    if form is None:
        return next(results)
    parts = [_unflattened(each, results) for each in form.parts]
    return form.type(*parts) if hasattr(form.type, "_fields") else form.type(parts)
