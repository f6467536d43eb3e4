"""Calls of functions of arrays with room: one program for every number of rows that buffers take.

A call is traced once, for a number of rows that is not known (`_unknown`), and the program is evaluated on the
buffers (`_interpreter`). What decides by the number, what the interpreter has no rule for, and what raises,
takes the exact arrays.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
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
    is_possible,
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
_RETURN_INTEGERS = frozenset(["argmax", "argmin", "argsort", "count_nonzero"])
_INT32 = jax.ShapeDtypeStruct((), np.int32)


class _Operand(NamedTuple):
    """What a program is kept by of an array."""

    shape: tuple[int, ...]  # of the buffer, where it has rows
    dtype: np.dtype
    is_scalar: bool = False  # as NumPy's
    has_rows: bool = False
    is_transposed: bool = False

    def structure(self, number_of_rows: Any) -> jax.ShapeDtypeStruct:
        """Return the shape and the dtype for a number of rows."""
        shape = (number_of_rows, *self.shape[1:]) if self.has_rows else self.shape
        return jax.ShapeDtypeStruct(shape, self.dtype)


class _Option(NamedTuple):
    """An argument that is no array; 0.0 and -0.0, and 1 and True, are two."""

    type: type
    written: str
    value: Any


class _Sequence(NamedTuple):
    """A list or a tuple of arguments."""

    type: type
    parts: tuple[Any, ...]


class _Arguments(NamedTuple):
    """The arguments of a call, of which arrays are operands by their places."""

    args: tuple[Any, ...]
    kwargs: tuple[tuple[str, Any], ...]


_ROWS = "the number of rows"  # in the place of an argument that is it, as in a shape


class _Signature(NamedTuple):
    """What a program is kept by."""

    function: Callable[..., Any]
    module: str
    arguments: _Arguments
    operands: tuple[_Operand, ...]
    length: int  # of the buffers
    least: int  # number of rows that count
    is_x64: bool


def call_on_rows(function: Callable[..., Any], module: str, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Return what a function makes of arrays of which some have room; None where it needs exact arrays.

    ``function`` takes and returns arrays of ours, and looks at no values.
    """
    if not is_possible():
        return None
    arrays: list[Any] = []
    if not _collect_arrays((*args, *kwargs.values()), arrays):
        return None
    found = list(map(_content_and_operand, arrays))
    contents = [content for content, _ in found]
    counts = {content.count for content in contents if isinstance(content, Rows)}
    if len(counts) != 1 or not all(dtype_may_have_room(operand.dtype) for _, operand in found):
        return None
    if not has_own_length(*[x.value if isinstance(x, Rows) else x for x in contents]):
        return None
    (count,) = counts
    for others_have_rows in (True, False):
        made = _call(function, module, args, kwargs, found, count, others_have_rows)
        if made is not None:
            return made
    return None


def call_on_values(function: Callable[..., Any], operands: tuple, module: str) -> Any:
    """Return what a function of values makes of arrays of which some have room."""
    return call_on_rows(_of_arrays(function, module), module, operands, {})


@functools.cache
def _of_arrays(function: Callable[..., Any], module: str) -> Callable[..., Any]:
    def of_arrays(*args):
        made = function(*[x._value if isinstance(x, Array) else x for x in args])
        return wrap(made, module, not made.ndim)

    of_arrays.__name__ = getattr(function, "__name__", "function")
    return of_arrays


def _collect_arrays(args: Sequence[Any], arrays: list[Any]) -> bool:
    """Put the arrays among arguments into a list; say whether programs take everything else, too."""
    for x in args:
        if isinstance(x, (Array, jax.Array, np.ndarray)):
            arrays.append(x)
        elif type(x) in (list, tuple):
            if not _collect_arrays(x, arrays):
                return False
        elif not isinstance(x, _OPTIONS):
            return False
    return True


def _content_and_operand(x: Any) -> tuple[Any, _Operand]:
    """Return an array's rows, or its value, and what a program is kept by."""
    is_transposed = False
    is_scalar = False
    if isinstance(x, Array):
        rows = x._rows()
        if rows is None:
            rows = rows_of_transpose(x)
            is_transposed = rows is not None
        if rows is not None:
            value = rows.value
            return rows, _Operand(value.shape, value.dtype, False, True, is_transposed)
        is_scalar = x._is_scalar
        x = x._value
    return x, _Operand(x.shape, x.dtype, is_scalar)


def _call(
    function: Callable[..., Any],
    module: str,
    args: tuple,
    kwargs: dict[str, Any],
    found: list[tuple[Any, _Operand]],
    count: int,
    others_have_rows: bool,
) -> Any:
    """Return what a call makes; None where it needs exact arrays.

    An array, or an integer, that is as long as there are rows may have rows, or be so by accident.
    """
    length = max(len(content.value) for content, _ in found if isinstance(content, Rows))
    values = []
    operands = []
    for content, operand in found:
        value = content
        if isinstance(content, Rows):
            value = with_rows(content.value, length)
        elif others_have_rows and operand.shape[:1] == (count,):
            value = with_rows(content, length)
            operand = operand._replace(has_rows=True)
        values.append(value)
        operands.append(operand._replace(shape=value.shape))
    places = iter(range(len(found)))
    number = count if others_have_rows else None
    arguments = _Arguments(
        tuple([_as_kept(x, places, number) for x in args]),
        tuple([(name, _as_kept(x, places, number)) for name, x in kwargs.items()]),
    )
    least = max(1 << count.bit_length() - 1, least_rows_with_room())
    program = _program(
        _Signature(function, module, arguments, tuple(operands), length, least, x64_mode())
    )
    return None if program is None else program(values, count)


def _as_kept(x: Any, places: Iterator[int], count: int | None) -> Any:
    """Return an argument as a program is kept by it: an array as its place."""
    if isinstance(x, (Array, jax.Array, np.ndarray)):
        return next(places)
    if type(x) in (list, tuple):
        return _Sequence(type(x), tuple([_as_kept(part, places, count) for part in x]))
    return _ROWS if type(x) is int and x == count else _Option(type(x), repr(x), x)


@functools.lru_cache(maxsize=_PROGRAMS_KEPT)
def _program(signature: _Signature) -> _Program | None:
    """Return the program of a call; None where it needs exact arrays."""
    try:
        return _Program(signature)
    except Exception:  # of the function, which raises it for exact arrays, too, or of what is refused
        return None


class _Program:
    """A call compiled for buffers of one length."""

    def __init__(self, signature: _Signature):
        """Trace the call with an unknown number of rows, which may be refused."""
        self._signature = signature
        dtypes = [x.dtype for x in signature.operands]
        self._dtypes = [*dtypes, *_dtypes_among(signature.arguments)]
        self._parts: list[_Part] = []
        self._form: Any = None

        def run(count, values):
            return self._evaluated(count, values)

        run.__name__ = run.__qualname__ = signature.function.__name__
        self._compiled = compiled(run)
        inputs = [operand.structure(signature.length) for operand in signature.operands]
        with x64_for(*self._dtypes):
            on_buffers = self._compiled.jitted().trace(_INT32, inputs)
        if mentions_length(on_buffers.jaxpr):
            raise Refused("a length that stays unknown")

    def _evaluated(self, count: Any, values: list[Any]) -> list[Any]:
        signature = self._signature
        unknown = Unknown(signature.least, signature.length)
        inputs = [operand.structure(Length(unknown)) for operand in signature.operands]
        traced = jax.jit(functools.partial(self._called, Length(unknown))).trace(*inputs)
        if unknown.was_asked:
            raise Refused("a decision")
        self._parts = [
            part._replace(shape=info.shape) for part, info in zip(self._parts, traced.out_info, strict=True)
        ]
        made = evaluate(traced.jaxpr, values, signature.length, count)
        return [part.of_few_lengths(value) for part, value in zip(self._parts, made, strict=True)]

    def _called(self, number_of_rows: Any, *values: Any) -> list[Any]:
        """Call the function with traced values."""
        signature = self._signature
        arrays = []
        for value, operand in zip(values, signature.operands, strict=True):
            value = jnp.matrix_transpose(value) if operand.is_transposed else value
            arrays.append(wrap(value, signature.module, operand.is_scalar))
        args = [_given(x, arrays, number_of_rows) for x in signature.arguments.args]
        kwargs = {name: _given(x, arrays, number_of_rows) for name, x in signature.arguments.kwargs}
        results: list[Array] = []
        self._form = _form_of(signature.function(*args, **kwargs), results)
        self._parts = [_Part((), x._is_scalar) for x in results]
        return [x._value for x in results]

    def __call__(self, values: list[Any], count: int) -> Any:
        """Return what the function makes of buffers in which a number of rows counts."""
        with x64_for(*self._dtypes):
            made = self._compiled(number_of(count), values)
        signature = self._signature
        results = []
        for part, value in zip(self._parts, made, strict=True):
            if any(value is x for x in values):
                value = duplicate(value)
            if signature.function.__name__ in _RETURN_INTEGERS:
                value = as_default_integers(value)
            results.append(part.wrapped(value, count, signature.module))
        return _unflattened(self._form, iter(results))


class _Part(NamedTuple):
    """An array of a result."""

    shape: tuple[Any, ...]
    is_scalar: bool

    @property
    def axis_of_rows(self) -> int | None:
        """The axis that has rows: the first one, or the second one of a matrix; others are refused."""
        axes = [i for i, each in enumerate(self.shape) if isinstance(each, Length)]
        if not axes:
            return None
        if axes == [0] or (axes == [1] and len(self.shape) == 2):
            return axes[0]
        raise Refused("rows along another axis")

    def of_few_lengths(self, value: Any) -> Any:
        """Return rows as the first axis, in one of the lengths that buffers have."""
        axis = self.axis_of_rows
        if axis is None:
            return value
        value = jnp.matrix_transpose(value) if axis else value
        return with_rows(value, rows_in(len(value)))

    def wrapped(self, value: Any, count: int, module: str) -> Any:
        """Return an array of ours."""
        axis = self.axis_of_rows
        if axis is None:
            return wrap(value, module, self.is_scalar)
        made = wrap_rows(Rows(value, self.shape[axis].of(count)), module)
        return made.T if axis else made


def _dtypes_among(arguments: _Arguments) -> list[np.dtype]:
    """Return the dtypes that are asked for."""
    options = [x for x in (*arguments.args, *[x for _, x in arguments.kwargs]) if isinstance(x, _Option)]
    return [resolve_dtype(x.value) for x in options if isinstance(x.value, (type, np.dtype))]


def _given(part: Any, arrays: Sequence[Array], number_of_rows: Any) -> Any:
    """Return an argument of the function."""
    if type(part) is int:
        return arrays[part]
    if part is _ROWS:
        return number_of_rows
    if isinstance(part, _Option):
        return part.value
    return part.type([_given(each, arrays, number_of_rows) for each in part.parts])


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
