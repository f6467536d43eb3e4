"""The class: NumPy's array in the host's memory, or a `jax.Array` that can be replaced.

The way of a statement, such as ``x * y`` or ``x[mask]``:

1. On the CPU, outside of JAX's transformations, NumPy computes with the host's memory (`is_eager`).
2. Else JAX computes, in the dtypes of the arrays' namespace (`mode_of`). Where statements wait, one is made a
   line of a batch (`line_of_elements`, `line_of_call`, `line_of_put`, `_line_of_change`), whose program reads
   buffers, and parts of arrays, itself (`Source`). What is no line goes on.
3. Where an operand may have room (`may_have_room`), and arrays may have it now (`is_by_jax`), the rows of
   buffers are computed with (`contents_of`, `_capacity`), so that a new length compiles nothing. Operands
   that do not fit row by row take the next step.
4. Exact arrays are computed with: their values, or what a program reads of a view (`_operand`). Inside of a
   transformation these are traced.

In both of the last steps `statement` chooses the program by the dtypes of the operands (`_elementwise`), and
makes a line of a batch of it where statements wait (`_batches`). The result is wrapped: by `from_host`,
`wrap_rows` or `wrap`. A write goes the same way, and ends in `Storage._replace` or `_replace_rows`.
"""

import functools
import math
import operator
import sys
import threading
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Self

import jax
import jax.numpy as jnp
import numpy as np

from .._core._devices import in_host_memory
from .._core._dtypes import WIDE, refuse_complex, x64_mode
from .._core._errors import error_of_several
from .._core._lengths import is_cut_as_view
from .._core._programs import is_traced
from .._interop import as_array
from . import _host_way as host_way
from ._batches import (
    LineProgram,
    Pending,
    attempt_by_kinds,
    is_asked_at_once,
    is_recording,
    lend,
    note_reader,
    number_as_cast,
    of_rows,
    warn_of_overflow,
)
from ._capacity._elementwise import aligned, computed
from ._capacity._rows import Buffer, Rows, are_worth_room
from ._capacity._slices import line_of_put, source_of_part, written_to
from ._elementwise import COPY, ELEMENTWISE, Elementwise, OfBase, OfOneDtype, statement
from ._faces import MUTABLE, NUMPY, mode_of
from ._host_way import is_by_jax, is_eager
from ._indexing import (
    are_on_device,
    is_symbolic,
    line_of_scatter,
    plain_selection,
    read,
    selection_of,
    write,
)
from ._keys import parts_of
from ._masked import Masked, is_same, line_of_number_where, line_of_write_where, masked_of
from ._numpy_arguments import (
    AS_THEY_ARE,
    BASIC_KEYS,
    NotOnHost,
    in_jaxs_dtypes,
    is_basic,
    key_to_numpy,
    narrow,
    refuse_objects,
    to_numpy,
)
from ._operators import (
    ADD,
    AND,
    EQ,
    FLOORDIV,
    GE,
    GT,
    LE,
    LSHIFT,
    LT,
    MATMUL,
    MOD,
    MUL,
    NE,
    OR,
    POW,
    RSHIFT,
    SUB,
    TRUEDIV,
    XOR,
    Operator,
)
from ._selection import (
    Part,
    Selection,
    Source,
    one_program_suffices,
    put,
    put_own,
    take,
    take_line,
)
from ._storage import Storage, duplicate_line
from ._views import View

__all__ = [
    "MUTABLE",
    "NUMPY",
    "Array",
    "any_may_have_room",
    "as_from",
    "contents_of",
    "copied",
    "from_host",
    "from_numpy",
    "keep_call",
    "layout_of",
    "line_of_call",
    "line_of_elements",
    "may_have_room",
    "reshaped",
    "rows_of",
    "rows_or_value",
    "shared",
]
__all__ += ["unwrap", "view_of", "wrap", "wrap_rows", "written"]

_HOST_OF_DLPACK = 1  # kDLCPU
# JAX's functions that ask for a `__jax_array__` only to say that they do not call it.
_WITHOUT_CONVERSION = frozenset(["shaped_abstractify", "typeof"])
_VERSIONS = frozenset([None, "2021.12", "2022.12", "2023.12", "2024.12", "2025.12"])


def _binary(by: Operator, is_reflected: bool = False) -> Callable[[Any, Any], "Array"]:
    """Return the method of an operator, by NumPy where both operands are in the host's memory.

    It is one function, as a call takes as long as NumPy's own work on some numbers.
    """
    of_numpy = by.of_numpy
    is_the_standards = by.is_the_standards
    may_warn = by.may_warn

    def operate(self, other, /):
        # A result is `jaxapi.numpy`'s if one of the operands is its array.
        is_of_both = isinstance(other, Array) and other._module != self._module
        module = NUMPY if is_of_both else self._module
        if is_eager() and not (is_the_standards and self._module == MUTABLE):
            host = self._host
            if host is None:
                host = self._readable()
            is_array = type(other) is Array
            operand = other._host if is_array else other
            if operand is None or (not is_array and type(other) not in AS_THEY_ARE):
                operand = _operand_on_host(other)
            if host is not None and operand is not _ELSEWHERE:
                if type(operand) is float:
                    operand = number_as_cast(host.dtype, operand)
                first, second = (operand, host) if is_reflected else (host, operand)
                if may_warn and self._module == MUTABLE:
                    with np.errstate(all="ignore"):
                        made = of_numpy(first, second)
                else:
                    made = of_numpy(first, second)
                if type(made) is np.ndarray and made.dtype is host.dtype:
                    return from_host(made, module)
                return from_numpy(made, module, (host, operand))
        if is_recording():
            made = _line_of_operator(self, other, by, is_reflected, module)
            if made is not None:
                return made
        with mode_of(module):
            return self._operate_by_jax(other, by, is_reflected, module)

    return operate


def _line_of_operator(array: "Array", other: Any, by: Operator, is_reflected: bool, module: str) -> Any:
    """Return what an operator makes as a line of a batch; None where it cannot be one."""
    if type(other) is not Array and type(other) not in _NUMBERS:
        return None
    variant = array._variant_of(by, other, module, is_reflected) if by is POW else by
    function = variant.of_standard.of_values if module == MUTABLE else variant.of_values
    if type(function) is OfBase:
        return line_of_elements(function.of_base, (array,), module)
    operands = (other, array) if is_reflected else (array, other)
    return line_of_elements(function, operands, module) if type(function) is Elementwise else None


def line_of_elements(
    function: Elementwise | OfOneDtype, args: Sequence[Any], module: str, makes_scalars: bool = True
) -> Any:
    """Return what a function makes of each element as a line of a batch; None where it cannot be one.

    The arguments are arrays or Python's numbers. A result without axes is a scalar where ``makes_scalars``.
    """
    operands: list[Any] = []
    layouts: list[Any] = []
    with_rows: Source | None = None  # one that has rows
    sources: list[Source] = []
    for x in args:
        layout = None
        if type(x) is Array:
            if x._masked is not None:
                return _line_of_masked(function, args, module)
            source = _source_of(x)
            if source is None:
                return None
            x, rows, selected = source
            sources.append(source)
            if rows is not None:
                with_rows = source
            if selected is not None:
                operands.append(selected.starts)
                layout = selected.layout
        elif type(x) not in _NUMBERS:
            return None
        operands.append(x)
        layouts.append(layout)
    if with_rows is not None and not all(_fits_row_by_row(source, with_rows) for source in sources):
        return None
    made = _line_of_operands(function, operands, tuple(layouts), module)
    if made is None:
        return None
    rows = None if with_rows is None else with_rows.rows
    if rows is None:
        return wrap(made, module, is_scalar=makes_scalars and not made.shape)
    return wrap_rows(Rows(made, rows), module)


def _line_of_operands(
    function: Elementwise | OfOneDtype, operands: list[Any], layouts: tuple[Any, ...], module: str
) -> Any:
    """Return the value that a function makes of each element of what a line reads, or None."""
    made = function.known_line(operands, layouts, module == NUMPY or x64_mode())
    if made is None and type(function) is Elementwise:
        with mode_of(module):
            return function.line_of_inputs(operands, layouts)
    return made


def _fits_row_by_row(source: Source, with_rows: Source) -> bool:
    """Whether an operand has as many rows as another one that has some, or one for all of them."""
    if source.rows is not None:
        return source is with_rows or _has_same_rows(source, with_rows)
    shape = source.memory_shape
    ndim = len(with_rows.memory_shape)
    return len(shape) < ndim or (len(shape) == ndim and shape[0] == 1)


def _has_same_rows(x: Source, y: Source) -> bool:
    """Whether as many rows count of two, and do not count."""
    shape = x.memory_shape
    other_shape = y.memory_shape
    return x.rows == y.rows and len(shape) == len(other_shape) and shape[0] == other_shape[0]


def _line_of_change(
    value: Any, rows: int | None, part: Selection, function: Elementwise, other: Any, is_wide: bool
) -> Any:
    """Return an array, or a buffer of which so many rows count, after a function changed a part of it.

    ``other`` is the function's other operand, an array or a number. It is a line of a batch; None is returned
    where it cannot be one. ``is_wide`` says whether the array's namespace computes in 64 bits.
    """
    is_array = type(other) is Array
    read = source_of_part(value, rows, part)
    operand = _source_of(other) if is_array else Source(other)
    if read is None or operand is None:
        return None
    has_rows = read.rows is not None
    if operand.rows is not None and not has_rows:
        return None
    if has_rows and is_array and not _fits_row_by_row(operand, read):
        return None
    if operand.value is value and operand.selected is not read.selected:
        # Another part is read first: the change may be made in the memory of the array.
        if operand.selected is None:
            taken = COPY.known_line([value], (None,), is_wide)
        else:
            taken = COPY.known_line([operand.selected.starts, value], (operand.selected.layout,), is_wide)
        if taken is None:
            return None
        operand = Source(taken, operand.rows)
    has_row_for_each = bool(part.shape) and part.shape[0] > 1
    written = written_to(value, rows, part, read, own=read if has_row_for_each else None)
    if written is None:
        return None
    made = function.line_of_change(read, written, operand, is_wide)
    return of_rows(made) if has_rows or rows is not None else made


def _source_of(array: "Array") -> Source | None:
    """Return what a line reads an array from; None where it may have room, and no line reads that."""
    view = array._view
    if view is None:
        return array._held()
    if view.is_selection:
        return view.source()
    return None if view.may_have_rows() else Source(_current_of(array))


def _current_of(array: "Array") -> Any:
    """Return what a view without room reads as a line, in the mode of its namespace."""
    view: Any = array._view
    with mode_of(array._module):
        return take_line(view.owner._current, view.part) if view.is_selection else view.current()


# The programs of calls that waited, by the functions, their arrays' kinds, and all of their other arguments.
_programs_of_calls: dict[Any, LineProgram] = {}
_CALLS_KEPT = 4096
_OPTIONS = frozenset([int, bool, str, type(None), type])


def line_of_call(function: Callable[..., Any], args: tuple, kwargs: dict[str, Any], is_wide: bool) -> Any:
    """Return what a call makes as a line of a batch; None of what was no line yet.

    ``is_wide`` says whether the arrays' namespace computes in 64 bits.
    """
    call = _Call(is_wide)
    key = call.key_of(function, args, kwargs)
    if key is None:
        return None
    made = attempt_by_kinds(_programs_of_calls.get, key, call.operands, call.is_x64())
    return made if made is None or call.rows is None else made(call.rows)


def keep_call(
    function: Callable[..., Any], args: tuple, kwargs: dict[str, Any], is_wide: bool, program: LineProgram
) -> bool:
    """Keep the program of a call, which depends on the kinds of arrays and on all other arguments alone.

    Where arrays have rows, its first operand is their number, of which what it makes is a function. False is
    returned for arguments that `line_of_call` does not take.
    """
    call = _Call(is_wide)
    key = call.key_of(function, args, kwargs)
    if key is None:
        return False
    if len(_programs_of_calls) == _CALLS_KEPT:
        _programs_of_calls.clear()
    _programs_of_calls[*key, program.operand_kinds, call.is_x64()] = program
    return True


class _Call:
    """What a line reads of a call's arguments, and what its program is kept by."""

    __slots__ = ("_is_wide", "_key", "_lengths", "operands", "rows")

    def __init__(self, is_wide: bool):
        """Say whether the arrays' namespace computes in 64 bits."""
        self._is_wide = is_wide
        self._key: list[Any] = []
        self._lengths: list[int] = []  # integers in sequences, as in a shape
        self.operands: list[Any] = []  # the number of rows, if some arrays have them, and values of arrays
        self.rows: int | None = None  # how many count, of all arrays that have a buffer

    def is_x64(self) -> bool:
        """Whether x64 mode is on while the call runs."""
        return self._is_wide or not WIDE.isdisjoint([x.dtype for x in self.operands])

    def key_of(self, function: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
        """Note the operands, and return what the program is kept by; None for other arguments."""
        key = self._key
        key += (self._is_wide, function, len(args), jax.config.jax_default_matmul_precision)
        if not self._read(args):
            return None
        if kwargs:
            key += kwargs
            if not self._read(kwargs.values()):
                return None
        rows = self.rows
        if rows is not None:
            if not self._are_rows_apart(rows):
                return None
            self.operands.insert(0, np.int32(rows))
        return tuple(key)

    def _read(self, arguments: Iterable[Any]) -> bool:
        """Note values of arrays, and in the key all else; return False for other arguments."""
        key = self._key
        for x in arguments:
            of = type(x)
            if of is Array:
                if not self._read_array(x):
                    return False
            elif of in _OPTIONS or isinstance(x, np.dtype):
                key.append(of)  # as 1 is equal to True
                key.append(x)
            elif of is list or of is tuple:
                key.append(of)
                key.append(len(x))
                self._lengths += [item for item in x if type(item) is int]
                if not self._read(x):
                    return False
            else:
                return False
        return True

    def _read_array(self, array: "Array") -> bool:
        if array._buffer is None:
            if may_have_room(array):
                return False
            self.operands.append(array._current if array._view is None else _current_of(array))
            self._key.append(array._is_scalar)
            return True
        held = array._held()
        if held is None or held.rows is None or self.rows not in (None, held.rows):
            return False
        self.rows = held.rows
        self.operands.append(held.value)
        self._key.append(_HasRows(held.rows.bit_length()))
        return True

    def _are_rows_apart(self, rows: int) -> bool:
        """Whether nothing else is as long as arrays that have rows: no exact array, no length in a shape."""
        return rows not in self._lengths and not any(x.shape[:1] == (rows,) for x in self.operands)


class _HasRows(NamedTuple):
    """What a program is kept by of an array that has rows: it serves numbers between two powers of 2."""

    bits: int


def _line_of_masked(function: Elementwise | OfOneDtype, args: Sequence[Any], module: str) -> Any:
    """Return the same where some arguments are what a mask selects, and others have no axes."""
    operands: list[Any] = []
    selected: list[Masked] = []
    for x in args:
        masked = x._masked if type(x) is Array else None
        operand = masked.elements.value if masked else x if type(x) in _NUMBERS else _operand_without_axes(x)
        if operand is None:
            return None
        operands.append(operand)
        if masked:
            selected.append(masked)
    if not all(masked.is_like(selected[0]) for masked in selected[1:]):
        return None
    made = _line_of_operands(function, operands, (None,) * len(operands), module)
    return None if made is None else _wrap_masked(selected[0].with_value(made), module)


def _operand_without_axes(x: Any) -> Any:
    """Return an array without axes as an operand of a line; None of what is something else."""
    source = _source_of(x) if type(x) is Array and not x.shape else None
    return None if source is None or source.selected is not None else source.value


def _of_source(held: Source, module: str) -> Any:
    """Make an array of what another one holds."""
    if held.rows is None:
        return wrap(held.value, module)
    return wrap_rows(Rows(held.value, held.rows), module)


def _in_place(by: Operator) -> Callable[[Any, Any], "Array"]:
    """Return the method of an operator that writes its result to the array; a scalar becomes another one."""
    of_numpy = by.of_numpy
    in_place_of_numpy = by.in_place_of_numpy
    is_the_standards = by.is_the_standards
    may_warn = by.may_warn

    def operate(self, other, /):
        if self._is_scalar:
            return of_numpy(self, other)
        if is_eager() and not (is_the_standards and self._module == MUTABLE):
            host = self._host
            if host is None:
                host = self._in_host_memory()
            operand = _operand_on_host(other)
            if host is not None and operand is not _ELSEWHERE and operand is not None:
                if type(operand) is float:
                    operand = number_as_cast(host.dtype, operand)
                if may_warn and self._module == MUTABLE:
                    with np.errstate(all="ignore"):
                        in_place_of_numpy(host, operand)
                else:
                    in_place_of_numpy(host, operand)
                return self
        if is_recording() and self._changes_by_line(other, by):
            return self
        with mode_of(self._module):
            return _changed_by_jax(self, other, by)

    return operate


def _changed_by_jax(array: "Array", other: Any, by: Operator) -> Any:
    """Let an operator write to an array, and return that, or NotImplemented."""
    if array._has_room() and _changed_in_room(array, other, by):
        return array
    view = array._view
    has_room = view is not None and view.is_selection and view.owner._has_room()
    if has_room and _changed_part_in_room(array, other, by):
        return array
    operand = other._operand() if isinstance(other, Array) else by.operand(other)
    if operand is NotImplemented:
        return NotImplemented
    if type(operand) is Part:
        operand = operand.taken()
    used = _used_in_place(array, by, operand)
    is_part = view is not None and view.is_selection
    if is_part or is_recording():  # by a program, which knows no number
        warn_of_overflow(array.dtype, operand)
    if view is not None and is_part:
        array._check_writeable()
        view.owner._replace_part(used.write_part, view.part, operand)
    else:
        array._rewrite(used.write, operand)
    return array


def _used_in_place(array: "Array", by: Operator, operand: Any) -> Operator:
    """Return the operator of an array's namespace for an operand."""
    used = by.of_standard if array._module == MUTABLE else by
    return used.for_operand(float(operand) if isinstance(operand, np.floating) else operand, array)


def _changed_in_room(array: "Array", other: Any, by: Operator) -> bool:
    """Let an operator write to the buffer of an array; return False where the exact array is needed."""
    if by is MATMUL:
        return False
    operand: Any = _operand_with_room(other, by)
    own: Any = array._rows_if_possible()
    values = None if operand is NotImplemented else aligned((own, operand), len(own.memory))
    if values is None:
        return False
    used = _used_in_place(array, by, operand)
    operand = values[1]
    del own, values  # so that nobody else holds the buffer
    array._check_writeable()
    try:
        array._replace_rows(used.write, operand)
    except (TypeError, ValueError, OverflowError):
        return False  # as the exact arrays raise, too
    return True


def _operand_with_room(other: Any, by: Operator) -> Any:
    """Return an operand as rows, if it has room, or as the operator takes it, where `is_by_jax`."""
    if type(other) in _NUMBERS:
        return other
    if not isinstance(other, Array):
        return by.operand(other)
    rows = other._rows_if_possible()
    return other._current if rows is None else rows


def _changed_part_in_room(array: "Array", other: Any, by: Operator) -> bool:
    """Let an operator write to a part of a buffer; return False where the exact array is needed."""
    operand = NotImplemented if by is MATMUL else _operand_with_room(other, by)
    if operand is NotImplemented:
        return False
    used = _used_in_place(array, by, operand)
    array._check_writeable()
    view: Any = array._view
    with view.owner._lock:  # no other thread writes between reading and writing
        rows = array._rows()
        values = None if rows is None else aligned((rows, operand))
        if rows is None or values is None:
            return False
        try:
            new = used.write(values[0], values[1], None)
        except (TypeError, ValueError, OverflowError):
            return False  # as the exact arrays raise, too
        del values  # so that nobody else holds the buffer
        count = rows.count
        del rows
        _writing().write_selection(view.owner, view.part, Rows(new, count))
    return True


def _unary(name: str) -> Callable[[Any], "Array"]:
    """Return the method that is NumPy's function of each element."""
    of_numpy = getattr(np, name)
    of_values = ELEMENTWISE[name]

    def operate(self, /):
        host = self._readable() if is_eager() else None
        if host is not None:
            return from_numpy(of_numpy(host), self._module, (host,))
        if is_recording():
            line = line_of_elements(of_values, (self,), self._module)
            if line is not None:
                return line
        with mode_of(self._module):
            rows = self._rows()
            made_rows = None if rows is None else computed(of_values, (rows,))
            if made_rows is not None:
                return wrap_rows(made_rows, self._module)
            made = statement(of_values, (self._operand(),))
            return wrap(made, self._module, is_scalar=not made.ndim)

    return operate


class Array(Storage):
    """An array that can be assigned to, of any dtype, shape and device of JAX.

    On the CPU it is NumPy's array and does what that does, its views, operators and indices. Elsewhere, and
    inside of JAX's transformations, it holds a `jax.Array` and replaces it when it is written to.
    ``x[key] = value`` and ``x += y`` change ``x`` for everyone who holds ``x``, as in NumPy. ``x[1:]``,
    ``x[0]`` of a matrix, ``x.T``, ``x.mT`` and ``reshape(x, shape)`` are views where NumPy's are: what is
    written to them is written to ``x``. Unlike NumPy's, the results of other functions of the standard, such
    as ``permute_dims(x, axes)``, are copies ([1]_).

    What NumPy returns as a scalar, such as a sum or one element, cannot be written to: ``x += 1`` binds a new
    one. It hashes, rounds, and is an index of lists.

    Arrays are made by the functions of `jaxapi.mutable` and `jaxapi.numpy`, which is this class's module
    ``x.__array_namespace__()``; the class is for ``isinstance``. Called, it takes a shape and makes an array
    of zeros, as `numpy.ndarray` makes one of anything.

    Attributes
    ----------
    dtype, shape, ndim, size : as of `jax.Array`
    device : Device or Sharding
        None under a transformation.
    T, mT : Array
        Transposed views.

    Raises
    ------
    IndexError
        If an int is out of bounds, as in NumPy. Integer arrays are checked where they lie in host memory;
        those on a GPU follow JAX: reading clamps them, writing drops them.
    TypeError
        If a complex value is written to a real array, or an operator in place (``x += y``) had to change
        the dtype to another kind.
    ValueError
        If shapes do not broadcast.

    Notes
    -----
    ``numpy.asarray(x)`` is the host's memory itself, and writes to it are NumPy's: threads that write to one
    array need a lock. JAX gets copies of it: ``jnp.asarray(x)``, DLPack, the arguments of `jax.jit`. On a
    GPU a write reuses the memory of the array (donation) unless it may be held elsewhere, and each write is
    atomic: another thread sees all of it or nothing. What others got before stays as it was, and
    ``numpy.asarray(x)`` is a copy.

    A pytree: arrays pass through `jax.jit`, `jax.vmap`, `jax.lax.scan` and so on, and may be written to
    inside. There functions see values: what a function under `jax.jit` writes to its argument is not seen
    by its caller (`jaxapi.mutable.fuse` hands it over). Writing to an array from outside raises under
    `jax.jit` and `jax.lax`; what `jax.vmap` or `jax.grad` alone traces JAX refuses where it is used later.
    For the derivatives of a loss that is an array see `jaxapi.mutable.grad`.

    References
    ----------
    .. [1] Array API standard 2025.12, "Copy-view behavior and mutability".

    Examples
    --------
    >>> import jaxapi.mutable as xp
    >>> x = xp.zeros(4, dtype=xp.float32)
    >>> x[1:3] = 2
    >>> x[x == 0] -= 1
    >>> x
    jaxapi.mutable.Array([-1.,  2.,  2., -1.], dtype=float32)
    """

    __slots__ = ()
    __array_priority__ = 1000  # NumPy's arrays leave operators to this class
    _typ = "npy_extension"  # pandas' name for what it reads by to_numpy, as masks and values

    def __new__(cls, shape, dtype=float, buffer=None, offset=0, strides=None, order=None):
        """Make an array of a shape, as `numpy.ndarray`: of a buffer, or of zeros."""
        with mode_of(NUMPY):
            return _numpy_methods().made_of_shape(shape, dtype, buffer, offset, strides, order)

    # Attributes

    @property
    def dtype(self) -> np.dtype:
        """The data type of the elements."""
        host = self._host
        if host is not None:
            return host.dtype
        masked = self._masked
        return self._kept.dtype if masked is None else masked.elements.value.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return self.size * self.itemsize

    @property
    def itemsize(self) -> int:
        """The bytes of one element."""
        return self.dtype.itemsize

    @property
    def device(self) -> Any:
        """Where the array lies: a `jax.Device`, a Sharding if on several, None if traced."""
        if self._host is not None:
            return host_way.cpu()
        value = self._owner._memory
        return None if is_traced(value) else value.device

    @property
    def T(self) -> Self:
        """The view with the axes in reverse order."""
        host = self._host
        if host is not None and is_eager():
            return from_host(host.T, self._module)
        return self._transposed(tuple(range(self.ndim))[::-1])

    @property
    def mT(self) -> Self:
        """The view with the last two axes exchanged."""
        if self.ndim < 2:
            raise ValueError(f"mT takes at least two axes, got an array of {self.ndim}: use T or reshape")
        *rest, last, least = range(self.ndim)
        return self._transposed((*rest, least, last))

    def _transposed(self, axes: tuple[int, ...]) -> Any:
        host = self._in_host_memory() if is_eager() else None
        if host is not None:
            return from_host(host.transpose(axes), self._module)
        if is_symbolic(self.shape):
            return wrap(jnp.transpose(self._value, axes), self._module)
        return self._part(Selection.transposed(self.shape, axes))

    def _is_contiguous(self) -> bool:
        """Whether NumPy's array would be."""
        return not self._view or layout_of(self).flags.c_contiguous

    def _part(self, selection: Selection) -> Any:
        if 0 in selection.shape or self._is_scalar:  # perhaps along a new axis, which the owner has not
            return wrap(take(self._current_with_room, selection), self._module)
        part = view_of(*self._selection_in_owner(selection), module=self._module)
        part._is_read_only = self._is_read_only
        return part

    @property
    def base(self) -> Any:
        """The array that a view is of."""
        return self._attribute("base")

    @property
    def data(self) -> memoryview:
        """The memory; of an array on a GPU a copy."""
        return self._attribute("data")

    @property
    def flags(self) -> Any:
        """What is known of the memory, as of NumPy's array."""
        return self._attribute("flags")

    @property
    def flat(self) -> Any:
        """The elements one after another, to read and to write."""
        return self._attribute("flat")

    @flat.setter
    def flat(self, value: Any) -> None:
        self._set_attribute("flat", value)

    @property
    def imag(self) -> Any:
        """The imaginary parts; of complex numbers a view."""
        return self._attribute("imag")

    @imag.setter
    def imag(self, value: Any) -> None:
        self._set_attribute("imag", value)

    @property
    def real(self) -> Any:
        """The real parts, a view; of real numbers the array itself."""
        return self._attribute("real")

    @real.setter
    def real(self, value: Any) -> None:
        self._set_attribute("real", value)

    @property
    def strides(self) -> tuple[int, ...]:
        """The bytes between neighbors along each axis, as NumPy's array would have them."""
        return self._attribute("strides")

    def _attribute(self, name: str) -> Any:
        host = self._in_host_memory() if is_eager() else None
        if host is None:
            return as_from(getattr(_numpy_methods(), name)(self), self._module)
        if name == "flat":
            return _numpy_methods().FlatOnHost(self, host.flat)
        part = getattr(host, name)
        return self if part is host else from_numpy(part, self._module, (host,))

    def _set_attribute(self, name: str, value: Any) -> None:
        host = self._in_host_memory() if is_eager() else None
        if host is None:
            getattr(_numpy_methods(), f"set_{name}")(self, value)
        else:
            setattr(host, name, to_numpy(value))

    # To other types

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Return NumPy's array: the host's memory itself, or a copy of a GPU's and of another dtype."""
        host = self._in_host_memory() if host_way.is_on() else None
        if host is not None:
            return np.array(host, dtype, copy=copy)
        if copy is False:
            self._check_is_memory(ValueError)
            return np.asarray(self._handed_out(), dtype=dtype, copy=False)
        if self._view is not None and self._is_read_with_owner():
            owner = np.asarray(self._owner)
            return np.array(layout_of(self, owner.reshape(-1)), dtype=dtype)
        buffer = self._living_buffer()
        if buffer is not None and not is_cut_as_view(buffer._value):  # else a program for each length
            rows = buffer.rows()
            return np.array(np.asarray(rows.value)[: rows.count], dtype=dtype)
        return np.array(self._value, dtype=dtype)

    def _is_read_with_owner(self) -> bool:
        """Whether a view is selected in the host's memory: a program would be one for each shape."""
        view = self._view
        while view is not None:
            if view.component is not None:
                return False
            view = view.owner._view
        owner = self._owner
        is_small = owner.nbytes <= _READ_AS_A_WHOLE
        return (is_small or owner.size <= 2 * self.size) and not is_traced(owner._memory)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[Any, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Export the value as it is now; without a copy its memory is shared until the next write.

        ``copy=False`` exports the host's memory itself, which later writes change, and raises BufferError
        where a copy would have to be made.
        """
        self._check_exported_to(dl_device, stream)
        if copy is False:
            if self._host is not None:
                return self._host_unless_read_only().__dlpack__(max_version=max_version, copy=False)
            self._check_is_memory(BufferError)
        is_old = max_version is None or max_version < (1, 0)
        is_numpys = self.__dlpack_device__()[0] == _HOST_OF_DLPACK and self.dtype.kind in "biufc"
        if is_numpys and copy is not False and (copy or is_old):
            # A copy may be written to; and an old consumer cannot be told not to write to what others read.
            return np.array(self._value).__dlpack__(max_version=max_version)
        if is_old:
            max_version = None
        value: Any = self._handed_out()  # whose declared types lack the standard's arguments
        try:
            return value.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)
        except ValueError as error:  # the standard's exception for what cannot be exported so
            raise BufferError(str(error)) from None

    def _host_unless_read_only(self) -> np.ndarray:
        """Return the host's memory; what may not be written to as NumPy's array that says so."""
        host: Any = self._host
        if self._is_read_only or self._is_numpys_scalar:
            host = host.view()
            host.flags.writeable = False
        return host

    def _check_is_memory(self, error: type[Exception]) -> None:
        """Refuse an array whose value would be copied out of that of another one, or of its buffer."""
        view = self._view
        is_part = view is not None and not view.is_whole
        buffer = self._owner._living_buffer()
        is_cut = buffer is not None and _starts_of(self._value) != _starts_of(buffer._value)
        if is_part or is_cut:
            raise error(
                "what is a part of other memory, of an array or of a buffer with room, is not exported "
                "without a copy: leave copy=False out"
            )

    def _check_exported_to(self, dl_device: tuple[Any, int] | None, stream: Any) -> None:
        """Refuse what the host's memory cannot be: an array of another device, or of a stream."""
        if int(self.__dlpack_device__()[0]) != _HOST_OF_DLPACK:
            return
        if dl_device is not None and int(dl_device[0]) != _HOST_OF_DLPACK:
            raise BufferError(
                f"an array in the host's memory is not exported to DLPack's device {dl_device}: copy it "
                "there first, as x.to_device(device) does"
            )
        if stream is not None:
            raise BufferError(
                f"an array in the host's memory has no stream, got stream={stream!r}: leave it out"
            )

    def __dlpack_device__(self) -> tuple[Any, int]:
        """Return DLPack's type and number of the device."""
        if self._host is not None:
            return (1, 0)
        value: Any = self._value
        return value.__dlpack_device__()

    def to_device(self, device: Any, /, *, stream: None = None) -> Any:
        """Copy to another device; the array itself if it lies there."""
        if isinstance(device, str) and device == "cpu":  # NumPy's name for the host's memory
            device = self.device if _is_on_cpu(self) else jax.devices("cpu")[0]
        if device == self.device and stream is None:
            return self
        return shared(self._handed_out().to_device(device, stream=stream), self._module)

    def __array_namespace__(self, /, *, api_version: str | None = None) -> types.ModuleType:
        """Return the module that the array comes from."""
        if api_version not in _VERSIONS:
            raise ValueError(
                f"jaxapi.mutable follows the array API standard up to 2025.12, not {api_version!r}"
            )
        return sys.modules[self._module]

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Let NumPy's own functions be those of `jaxapi.numpy`."""
        return _numpy_methods().array_function(func, types, args, kwargs, self._module)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Let NumPy's own ufuncs be those of `jaxapi.numpy`: of its scalars, too, as in ``x.max() * x``."""
        if method == "__call__" and not kwargs and is_eager():
            try:
                operands = [to_numpy(x) for x in inputs]
            except NotOnHost:
                pass
            else:
                return from_numpy(ufunc(*operands), self._module, operands)
        return _numpy_methods().array_ufunc(self._module, ufunc, method, *inputs, **kwargs)

    @property
    def __jax_array__(self) -> Callable[[], jax.Array]:
        """What returns the value as it is now, for the functions of jax.numpy; others of JAX do not call it.

        Where JAX only asks whether there is one, it says that an array must be converted, but not how.
        """
        if sys._getframe(1).f_code.co_name in _WITHOUT_CONVERSION:
            raise ValueError(
                f"JAX wants a jax.Array, got an array of {self._module}: to differentiate a function that "
                f"returns one, use {self._module}.grad or value_and_grad, not those of JAX; elsewhere pass "
                "jax.numpy.asarray(x)"
            )
        return self._handed_out

    def _number(self) -> Any:
        """Return what Python's numbers are made of."""
        return in_host_memory(self._value) if self._host is None else self._host

    def __bool__(self) -> bool:
        return bool(self._number())

    def __int__(self) -> int:
        return int(self._number())

    def __float__(self) -> float:
        return float(self._number())

    def __complex__(self) -> complex:
        return complex(self._number())

    def __index__(self) -> int:
        if self._host is not None:
            return operator.index(self._host[()] if self._is_scalar else self._host)
        number = self._number()
        return operator.index(self._value if type(number) is bool else number)

    def __hash__(self) -> int:
        if not self._is_scalar:
            raise TypeError(f"unhashable type: '{type(self).__name__}'")
        return hash(self.item())

    def __round__(self, ndigits: int | None = None) -> Any:
        self._refuse_axes("round")
        return round(self.item()) if ndigits is None else self.round(ndigits)

    def __trunc__(self) -> int:
        self._refuse_axes("trunc")
        return math.trunc(self.item())

    def __floor__(self) -> int:
        self._refuse_axes("floor")
        return math.floor(self.item())

    def __ceil__(self) -> int:
        self._refuse_axes("ceil")
        return math.ceil(self.item())

    def _refuse_axes(self, name: str) -> None:
        if self.ndim:
            raise TypeError(f"{name}() takes a number, got an array of shape {self.shape}: use numpy.{name}")

    def __bytes__(self) -> bytes:
        """Return the elements in memory, as NumPy's array does."""
        return self.tobytes()

    def __repr__(self) -> str:
        if self._module == NUMPY and not is_traced(self._owner._typed):
            return repr(self._as_numpys())
        if self._host is not None:
            start = f"{self._module}."
            text = repr(self._host).replace("array(", "Array(", 1)
            return start + text.replace("\n", "\n" + " " * len(start))
        text = repr(self._value)
        if is_traced(self._value):
            return f"{self._module}.Array({text})"
        start = f"{self._module}."
        return start + text.replace("\n", "\n" + " " * len(start))

    def __str__(self) -> str:
        return str(self._typed)

    def _as_numpys(self) -> Any:
        """Return NumPy's array, or its scalar of one."""
        host = np.asarray(self._value) if self._host is None else self._host
        return host[()] if self._is_scalar else host

    def __format__(self, spec: str) -> str:
        return format(self.item() if self._is_scalar and spec else self._typed, spec)

    def __len__(self) -> int:
        shape = self.shape
        if not shape:
            raise TypeError("len() of an array without axes")
        return shape[0]

    def __iter__(self) -> Iterator[Self]:
        if not self.shape:
            raise TypeError("iteration over an array without axes")
        host = self._in_host_memory() if is_eager() else None
        if host is not None:
            return (as_read(part, self._module) for part in host)
        return (self[i] for i in range(len(self)))

    def __contains__(self, value: Any) -> bool:
        equal = self == value
        return bool(equal._value.any()) if isinstance(equal, Array) else bool(np.any(equal))

    def __reduce__(self):
        host = self._host
        return _unpickled, (np.asarray(self._value) if host is None else host, self._module, self._is_scalar)

    def __copy__(self) -> Self:
        return copied(self)

    def __deepcopy__(self, memo: dict) -> Self:
        return copied(self)

    # Indexing

    def __getitem__(self, key: Any, /) -> Self:
        host = self._host
        if host is not None and (type(key) in BASIC_KEYS or is_basic(key)):
            part = host[key]  # a view or an element, inside of JAX's transformations, too
            module = self._module
            if type(part) is np.ndarray:
                return from_host(part, module)
            return part if module == NUMPY else as_read(part, module)
        if is_eager():
            if host is None:
                host = self._in_host_memory()
            if host is not None:
                try:
                    part = host[key_to_numpy(key)]
                except NotOnHost:
                    pass
                else:
                    return as_read(part, self._module)
        keys = tuple(key) if isinstance(key, tuple) else (key,)
        if _PLAIN_PARTS.issuperset(map(type, keys)):
            selection = plain_selection(self.shape, keys)
            if selection is not None:
                return self._element(selection) if selection.is_element else self._part(selection)
        if _has_positions(key) and is_recording():
            line = self._selected_by(key) if type(key) is Array and key.dtype == bool else self._line_at(keys)
            if line is not None:
                return line
        if isinstance(key, _ARRAYS):
            with mode_of(self._module):
                part = _selecting().read_by_array(self, key)
            if part is not None:
                return part
        if _has_arrays(key) and any_may_have_room((self, key)) and not is_recording():
            part = _selecting().read_at(self, key)
            if part is not None:
                return part
        keys, selection = _parsed(key, self.shape)
        if selection is not None:
            return self._element(selection) if selection.is_element else self._part(selection)
        with mode_of(self._module):
            made = read(self._current, keys)
            return wrap(made, self._module, is_scalar=not made.ndim and ... not in keys)

    def _element(self, selection: Selection) -> Any:
        """Return one element, which is a copy, as NumPy's scalars are."""
        owner, selection = self._selection_in_owner(selection)
        if is_recording() and not is_asked_at_once(is_run=True):
            line = line_of_elements(COPY, (view_of(owner, selection),), self._module)
            if line is not None:
                return line
        with mode_of(self._module):
            element = take(owner._current_with_room, selection)
            return _wrap_apart(element, owner, is_scalar=True, module=self._module)

    def _line_at(self, keys: tuple) -> Any:
        """Return what is at positions on the device as a line of a batch; None for another key."""
        parts: list[Any] = []
        positions: list[Array] = []
        for k in keys:
            of = type(k)
            if of is Array:
                if k._positions_held() is None:
                    return None
                positions.append(k)
                k = _POSITIONS
            elif of is slice:
                k = (k.start, k.stop, k.step)
                if not _BOUNDS.issuperset(map(type, k)):
                    return None
            elif k is not None and k is not Ellipsis:
                return None
            parts.append(k)
        if self._masked is not None or may_have_room(self):
            return None
        function = _reader_at(tuple(parts))
        args = (self, *positions)
        line = line_of_call(function, args, {}, self._is_wide())
        if line is not None:
            return line
        with mode_of(self._module):
            return _calls().call_on_rows(function, self._module, args, {}, waits=True)

    def _positions_held(self) -> Any:
        """Return the value of an exact array of integers on a device, which are not looked at; else None."""
        held = self._held() if self._masked is None and self._host is None else None
        return held.value if held is not None and held.rows is None and are_on_device(held.value) else None

    def _selected_by(self, mask: "Array") -> Any:
        """Return what a mask selects as it waits; None where it is better read at once."""
        if self._masked is not None or mask._masked is not None:
            return None
        elements = self._held()
        flags = mask._held()
        masked = None if elements is None or flags is None else masked_of(elements, flags)
        return None if masked is None else _wrap_masked(masked, self._module)

    def _read_masked(self, masked: Masked) -> Any:
        """Read what a mask selects, which is known now."""
        with mode_of(self._module):
            source, mask = (_of_source(held, self._module) for held in masked)
            part = _selecting().read_by_array(source, mask)
            if part is None:
                part = wrap(read(source._current, (mask._current,)), self._module)
            return part

    def _changes_by_line(self, other: Any, by: Operator) -> bool:
        """Let an operator change what a mask selects, or a view of a part, where that may wait."""
        if self._masked is not None:
            with self._lock:  # from reading what is selected until it is written
                changed = _line_of_operator(self, other, by, False, self._module)
                if changed is None or changed.dtype != self.dtype:
                    return False
                self._check_writeable()
                self._masked = changed._masked
                return True
        view = self._view
        if view is None or not view.is_selection or by is POW:
            return False
        function = (by.of_standard if self._module == MUTABLE else by).of_values
        is_exact_or_number = type(other) in _NUMBERS or (type(other) is Array and other._masked is None)
        if type(function) is not Elementwise or not is_exact_or_number:
            return False
        self._check_writeable()
        return view.owner._replace_by_line(_line_of_change, view.part, function, other, self._is_wide())

    def __setitem__(self, key: Any, value: Any, /) -> None:
        if self._is_scalar and self._is_numpys_scalar:
            raise TypeError("a scalar does not support item assignment: make an array of it first")
        host = self._host
        if is_eager():
            if host is None:
                host = self._in_host_memory()
            if host is not None and self._write_by_numpy(host, key, value):
                return
        if self._is_written_by(key, value):
            self._check_writeable()
            return
        if is_recording() and self._writes_line(key, value):
            return
        with mode_of(self._module):
            self._write_by_jax(key, value)

    def _is_written_by(self, key: Any, value: Any) -> bool:
        """Whether a value is the view that a key selects, as the last step of x[key] += y writes."""
        view = value._view if type(value) is Array and value._masked is None else None
        if view is None or not view.is_selection or _has_arrays(key):
            return False
        own_view = self._view
        if view.owner is not (self if own_view is None else own_view.owner):
            return False
        _, selection = _parsed(key, self.shape)
        if selection is None:
            return False
        owner, selection = self._selection_in_owner(selection)
        return view.selects(owner, selection)

    def _write_by_jax(self, key: Any, value: Any) -> None:
        if isinstance(key, _ARRAYS):
            has_room = self._has_room()
            if has_room or may_have_room(value) or is_recording():
                self._check_writeable()
                if _writing().write_where(self, key, value, has_room):
                    return
        if _has_arrays(key) and any_may_have_room((self, key)) and not is_recording():
            self._check_writeable()
            if _writing().write_at(self, key, value):
                return
        keys, selection = _parsed(key, self.shape)
        if selection is None or 0 in selection.shape or self._host is not None:
            self._rewrite(write, keys, written(value))
            return
        owner, selection = self._selection_in_owner(selection)
        self._check_writeable()
        if selection.has_many_rows and owner._has_room():
            _writing().write_selection(owner, selection, value)
        elif not _writes_number_to_rows(owner, selection, value):
            _write_part(owner, selection, value)

    def _writes_line(self, key: Any, value: Any) -> bool:
        """Let a write wait; return False for one that is better done at once."""
        if type(key) is Array:
            is_mask = key.dtype == bool
            return self._writes_where(key, value) if is_mask else self._writes_at(key, value, "set")
        keys = tuple(key) if isinstance(key, tuple) else (key,)
        selection = plain_selection(self.shape, keys)
        if selection is None or 0 in selection.shape:
            return False
        owner, selection = self._selection_in_owner(selection)
        new: Source | None = None
        if type(value) in _NUMBERS:
            new = Source(value)
        elif type(value) is Array and value._masked is None:
            new = _source_of(value)
        if new is None:
            return False
        self._check_writeable()
        return owner._replace_by_line(line_of_put, selection, new, self._is_wide())

    def _is_wide(self) -> bool:
        """Whether the namespace of the array computes in 64 bits."""
        return self._module == NUMPY or x64_mode()

    def _writes_at(self, positions: "Array", value: Any, how: str) -> bool:
        """Let a write at positions on the device wait, as JAX calls it; return False for another one."""
        where = positions._positions_held()
        if where is None:
            return False
        new = value
        if type(value) is Array and value._masked is None:
            source = _source_of(value)
            if source is None or source.rows is not None or source.selected is not None:
                return False
            new = source.value
        elif type(value) not in _NUMBERS:
            return False
        self._check_writeable()
        try:
            return self._replace_by_line(line_of_scatter, where, new, how, self._is_wide())
        except (OverflowError, TypeError, ValueError):
            return False  # as the write at once raises, too

    def _writes_where(self, mask: "Array", value: Any) -> bool:
        """Let a write of a number, or of what the same mask selects, wait; return False for another one."""
        flags = mask._held() if mask._masked is None else None
        if flags is None:
            return False
        if type(value) in _NUMBERS:
            self._check_writeable()
            try:
                return self._replace_by_line(line_of_number_where, flags, value, self._is_wide())
            except (OverflowError, TypeError, ValueError):
                return False  # as the write at once raises, too
        masked = value._masked if type(value) is Array else None
        if masked is None or not is_same(flags, masked.mask):
            return False
        self._check_writeable()
        with mode_of(self._module):
            return self._replace_by_line(line_of_write_where, masked)

    def _write_by_numpy(self, host: np.ndarray, key: Any, value: Any) -> bool:
        """Write to the host's memory; return False for what NumPy cannot read."""
        new = _operand_on_host(value)
        if new is _ELSEWHERE:
            return False
        if isinstance(new, (np.ndarray, np.complexfloating)) and new.dtype.kind == "c":
            refuse_complex(new.dtype, host.dtype)
        if type(new) is float:
            new = number_as_cast(host.dtype, new)
        try:
            host[key if is_basic(key) else key_to_numpy(key)] = new
        except NotOnHost:
            return False
        return True

    # Operators

    def _operate_by_jax(self, other: Any, by: Operator, is_reflected: bool, module: str) -> Any:
        """Return what an operator makes: rows, where an operand has room and they fit, or an exact array."""
        if self._is_scalar and type(other) is list and by.name == "multiply" and self.dtype.kind in "iu":
            return int(self) * other  # a list several times, as Python has it
        is_taken_as_it_is = type(other) in _NUMBERS or isinstance(other, Array)
        operand = other if is_taken_as_it_is else by.operand(other)
        if operand is NotImplemented:
            return NotImplemented
        function = self._variant_of(by, operand, module, is_reflected).of_values
        operands = (operand, self) if is_reflected else (self, operand)
        if (may_have_room(self) or may_have_room(other)) and is_by_jax():
            made = _operated_on_rows(function, operands, module, is_product=by is MATMUL)
            if made is not None:
                return made
        if by is MATMUL:
            values = [unwrap(x) for x in operands]
        else:
            values = [x._operand() if isinstance(x, Array) else x for x in operands]
        made = statement(function, values)
        return wrap(made, module, is_scalar=not made.ndim)

    def _variant_of(self, by: Operator, operand: Any, module: str, is_reflected: bool) -> Operator:
        """Return the operator that a namespace has for an operand: of a power perhaps a square or a root."""
        if module == MUTABLE:
            return by.of_standard
        return by if is_reflected or self._is_scalar else by.for_operand(operand, self)

    __add__ = _binary(ADD)
    __sub__ = _binary(SUB)
    __mul__ = _binary(MUL)
    __truediv__ = _binary(TRUEDIV)
    __floordiv__ = _binary(FLOORDIV)
    __mod__ = _binary(MOD)
    __pow__ = _binary(POW)
    __matmul__ = _binary(MATMUL)
    __lshift__ = _binary(LSHIFT)
    __rshift__ = _binary(RSHIFT)
    __and__ = _binary(AND)
    __or__ = _binary(OR)
    __xor__ = _binary(XOR)

    __radd__ = _binary(ADD, is_reflected=True)
    __rsub__ = _binary(SUB, is_reflected=True)
    __rmul__ = _binary(MUL, is_reflected=True)
    __rtruediv__ = _binary(TRUEDIV, is_reflected=True)
    __rfloordiv__ = _binary(FLOORDIV, is_reflected=True)
    __rmod__ = _binary(MOD, is_reflected=True)
    __rpow__ = _binary(POW, is_reflected=True)
    __rmatmul__ = _binary(MATMUL, is_reflected=True)
    __rlshift__ = _binary(LSHIFT, is_reflected=True)
    __rrshift__ = _binary(RSHIFT, is_reflected=True)
    __rand__ = _binary(AND, is_reflected=True)
    __ror__ = _binary(OR, is_reflected=True)
    __rxor__ = _binary(XOR, is_reflected=True)

    __iadd__ = _in_place(ADD)
    __isub__ = _in_place(SUB)
    __imul__ = _in_place(MUL)
    __itruediv__ = _in_place(TRUEDIV)
    __ifloordiv__ = _in_place(FLOORDIV)
    __imod__ = _in_place(MOD)
    __ipow__ = _in_place(POW)
    __imatmul__ = _in_place(MATMUL)
    __ilshift__ = _in_place(LSHIFT)
    __irshift__ = _in_place(RSHIFT)
    __iand__ = _in_place(AND)
    __ior__ = _in_place(OR)
    __ixor__ = _in_place(XOR)

    __lt__ = _binary(LT)
    __le__ = _binary(LE)
    __gt__ = _binary(GT)
    __ge__ = _binary(GE)
    __eq__ = _binary(EQ)  # type: ignore[assignment]
    __ne__ = _binary(NE)  # type: ignore[assignment]

    __abs__ = _unary("absolute")
    __invert__ = _unary("invert")
    __neg__ = _unary("negative")
    __pos__ = _unary("positive")

    def __divmod__(self, other: Any, /) -> tuple[Self, Self]:
        return self // other, self % other

    def __rdivmod__(self, other: Any, /) -> tuple[Self, Self]:
        return other // self, other % self

    # NumPy's methods: its own on the host, elsewhere functions of `jaxapi.numpy`

    def _call(self, name: str, args: tuple, kwargs: dict) -> Any:
        """Call NumPy's method, or what stands for it among the methods of `jaxapi.numpy`."""
        if not (is_eager() and name in _OF_NUMPY):
            return self._call_by_jax(name, args, kwargs)
        try:
            host = to_numpy(self) if self._host is None else self._host
            operands = [to_numpy(x) for x in args] if args else args
            options = {key: to_numpy(x) for key, x in kwargs.items()} if kwargs else kwargs
        except NotOnHost:
            return self._call_by_jax(name, args, kwargs)
        if self._module != NUMPY:
            operands = [in_jaxs_dtypes(x) for x in operands]
            options = {key: in_jaxs_dtypes(x) for key, x in options.items()}
        if name in _WRITING_METHODS:
            operands = [number_as_cast(host.dtype, x) for x in operands]
        try:
            made = getattr(host, name)(*operands, **options)
        except TypeError as error:
            raise error_of_several(error) or error from None
        if made is host:
            return self
        if options and made is not None and options.get("out") is made:
            return kwargs["out"]
        if name in _OF_POSITIONS or name == "astype":
            given = (*operands, *options.values())
            return from_numpy(made, self._module, given, are_positions=name != "astype")
        if type(made) is np.ndarray and made.dtype is host.dtype:
            return from_host(made, self._module)
        return from_numpy(made, self._module, (host, *operands, *options.values()))

    def _call_by_jax(self, name: str, args: tuple, kwargs: dict) -> Any:
        if is_recording():
            function = _numpy_methods().WAITING.get(name)
            made = (
                None if function is None else line_of_call(function, (self, *args), kwargs, self._is_wide())
            )
            if made is not None:
                return as_from(made, self._module)
        with mode_of(self._module):
            return as_from(getattr(_numpy_methods(), name)(self, *args, **kwargs), self._module)

    def all(self, *args: Any, **kwargs: Any) -> Self:
        """As `numpy.ndarray.all`."""
        return self._call("all", args, kwargs)

    def any(self, *args: Any, **kwargs: Any) -> Self:
        """As `numpy.ndarray.any`."""
        return self._call("any", args, kwargs)

    def argmax(self, *args: Any, **kwargs: Any) -> Self:
        """As `numpy.ndarray.argmax`."""
        return self._call("argmax", args, kwargs)

    def argmin(self, *args: Any, **kwargs: Any) -> Self:
        """As `numpy.ndarray.argmin`."""
        return self._call("argmin", args, kwargs)

    def argpartition(self, *args: Any, **kwargs: Any) -> Self:
        """As `numpy.ndarray.argpartition`."""
        return self._call("argpartition", args, kwargs)

    def argsort(self, *args: Any, **kwargs: Any) -> Self:
        """As `numpy.ndarray.argsort`."""
        return self._call("argsort", args, kwargs)

    def astype(self, *args: Any, **kwargs: Any) -> Self:
        """As `numpy.ndarray.astype`."""
        return self._call("astype", args, kwargs)

    def byteswap(self, *args: Any, **kwargs: Any) -> Self:
        """As `numpy.ndarray.byteswap`."""
        return self._call("byteswap", args, kwargs)

    def choose(self, *args: Any, **kwargs: Any) -> Self:
        """As `numpy.ndarray.choose`."""
        return self._call("choose", args, kwargs)

    def clip(self, *args: Any, **kwargs: Any) -> Self:
        """As `numpy.ndarray.clip`."""
        return self._call("clip", args, kwargs)

    def compress(self, *args: Any, **kwargs: Any) -> Self:
        """As `numpy.ndarray.compress`."""
        return self._call("compress", args, kwargs)

    def conj(self, *args: Any, **kwargs: Any) -> Self:
        """As `numpy.ndarray.conj`."""
        return self._call("conj", args, kwargs)

    def conjugate(self, *args: Any, **kwargs: Any) -> Self:
        """As `numpy.ndarray.conjugate`."""
        return self._call("conjugate", args, kwargs)

    def copy(self, *args: Any, **kwargs: Any) -> Self:
        """As `numpy.ndarray.copy`."""
        if not args and not kwargs and is_recording():
            return copied(self)
        return self._call("copy", args, kwargs)

    def cumprod(self, *args: Any, **kwargs: Any) -> Self:
        """As `numpy.ndarray.cumprod`."""
        return self._call("cumprod", args, kwargs)

    def cumsum(self, *args: Any, **kwargs: Any) -> Self:
        """As `numpy.ndarray.cumsum`."""
        return self._call("cumsum", args, kwargs)

    def diagonal(self, *args: Any, **kwargs: Any) -> Self:
        """As `numpy.ndarray.diagonal`."""
        return self._call("diagonal", args, kwargs)

    def dot(self, *args: Any, **kwargs: Any) -> Self:
        """As `numpy.ndarray.dot`."""
        return self._call("dot", args, kwargs)

    def dump(self, *args: Any, **kwargs: Any) -> None:
        """As `numpy.ndarray.dump`."""
        self._call("dump", args, kwargs)

    def dumps(self, *args: Any, **kwargs: Any) -> bytes:
        """As `numpy.ndarray.dumps`."""
        return self._call("dumps", args, kwargs)

    def fill(self, *args: Any, **kwargs: Any) -> None:
        """As `numpy.ndarray.fill`."""
        self._call("fill", args, kwargs)

    def flatten(self, *args: Any, **kwargs: Any) -> Self:
        """As `numpy.ndarray.flatten`."""
        return self._call("flatten", args, kwargs)

    def get(self, *args: Any, **kwargs: Any) -> Any:
        """Return a copy in the host's memory, as CuPy's method."""
        return self._call("get", args, kwargs)

    def item(self, *args: Any, **kwargs: Any) -> Any:
        """As `numpy.ndarray.item`."""
        return self._call("item", args, kwargs)

    def max(self, *args: Any, **kwargs: Any) -> Self:
        """As `numpy.ndarray.max`."""
        return self._call("max", args, kwargs)

    def mean(self, *args: Any, **kwargs: Any) -> Self:
        """As `numpy.ndarray.mean`."""
        return self._call("mean", args, kwargs)

    def min(self, *args: Any, **kwargs: Any) -> Self:
        """As `numpy.ndarray.min`."""
        return self._call("min", args, kwargs)

    def nonzero(self, *args: Any, **kwargs: Any) -> Any:
        """As `numpy.ndarray.nonzero`."""
        return self._call("nonzero", args, kwargs)

    def partition(self, *args: Any, **kwargs: Any) -> None:
        """As `numpy.ndarray.partition`."""
        self._call("partition", args, kwargs)

    def prod(self, *args: Any, **kwargs: Any) -> Self:
        """As `numpy.ndarray.prod`."""
        return self._call("prod", args, kwargs)

    def ptp(self, *args: Any, **kwargs: Any) -> Self:
        """As `numpy.ptp`."""
        return self._call("ptp", args, kwargs)

    def put(self, *args: Any, **kwargs: Any) -> None:
        """As `numpy.ndarray.put`."""
        self._call("put", args, kwargs)

    def ravel(self, *args: Any, **kwargs: Any) -> Self:
        """As `numpy.ndarray.ravel`."""
        return self._call("ravel", args, kwargs)

    def repeat(self, *args: Any, **kwargs: Any) -> Self:
        """As `numpy.ndarray.repeat`."""
        return self._call("repeat", args, kwargs)

    def reshape(self, *args: Any, **kwargs: Any) -> Self:
        """As `numpy.ndarray.reshape`."""
        return self._call("reshape", args, kwargs)

    def resize(self, *args: Any, **kwargs: Any) -> None:
        """As `numpy.ndarray.resize`."""
        self._call("resize", args, kwargs)

    def round(self, *args: Any, **kwargs: Any) -> Self:
        """As `numpy.ndarray.round`."""
        return self._call("round", args, kwargs)

    def scatter_add(self, *args: Any, **kwargs: Any) -> None:
        """Add at positions, once for each that comes again, as CuPy's method."""
        self._call("scatter_add", args, kwargs)

    def scatter_max(self, *args: Any, **kwargs: Any) -> None:
        """Take maxima at positions, as CuPy's method."""
        self._call("scatter_max", args, kwargs)

    def scatter_min(self, *args: Any, **kwargs: Any) -> None:
        """Take minima at positions, as CuPy's method."""
        self._call("scatter_min", args, kwargs)

    def searchsorted(self, *args: Any, **kwargs: Any) -> Self:
        """As `numpy.ndarray.searchsorted`."""
        return self._call("searchsorted", args, kwargs)

    def set(self, *args: Any, **kwargs: Any) -> None:
        """Write an array of the host to this one, as CuPy's method."""
        self._call("set", args, kwargs)

    def setflags(self, *args: Any, **kwargs: Any) -> None:
        """As `numpy.ndarray.setflags`."""
        self._call("setflags", args, kwargs)

    def sort(self, *args: Any, **kwargs: Any) -> None:
        """As `numpy.ndarray.sort`."""
        self._call("sort", args, kwargs)

    def squeeze(self, *args: Any, **kwargs: Any) -> Self:
        """As `numpy.ndarray.squeeze`."""
        return self._call("squeeze", args, kwargs)

    def std(self, *args: Any, **kwargs: Any) -> Self:
        """As `numpy.ndarray.std`."""
        return self._call("std", args, kwargs)

    def sum(self, *args: Any, **kwargs: Any) -> Self:
        """As `numpy.ndarray.sum`."""
        return self._call("sum", args, kwargs)

    def swapaxes(self, *args: Any, **kwargs: Any) -> Self:
        """As `numpy.ndarray.swapaxes`."""
        return self._call("swapaxes", args, kwargs)

    def take(self, *args: Any, **kwargs: Any) -> Self:
        """As `numpy.ndarray.take`."""
        return self._call("take", args, kwargs)

    def tobytes(self, *args: Any, **kwargs: Any) -> bytes:
        """As `numpy.ndarray.tobytes`."""
        return self._call("tobytes", args, kwargs)

    def to_numpy(self, dtype: Any = None, copy: bool = True) -> np.ndarray:
        """Return a copy as NumPy's array, as pandas' method, by which pandas reads arrays."""
        return np.array(self, dtype, copy=copy or None)

    def tofile(self, *args: Any, **kwargs: Any) -> None:
        """As `numpy.ndarray.tofile`."""
        self._call("tofile", args, kwargs)

    def tolist(self, *args: Any, **kwargs: Any) -> Any:
        """As `numpy.ndarray.tolist`."""
        return self._call("tolist", args, kwargs)

    def trace(self, *args: Any, **kwargs: Any) -> Self:
        """As `numpy.ndarray.trace`."""
        return self._call("trace", args, kwargs)

    def transpose(self, *args: Any, **kwargs: Any) -> Self:
        """As `numpy.ndarray.transpose`."""
        return self._call("transpose", args, kwargs)

    def var(self, *args: Any, **kwargs: Any) -> Self:
        """As `numpy.ndarray.var`."""
        return self._call("var", args, kwargs)

    def view(self, *args: Any, **kwargs: Any) -> Self:
        """As `numpy.ndarray.view`."""
        viewed = self._call("view", args, kwargs)
        kind = kwargs.get("type", args[-1] if args else None)
        return viewed._as_kind(kind) if isinstance(kind, type) and issubclass(kind, Array) else viewed

    def _as_kind(self, kind: type) -> Any:
        """Return the array as one of a subclass."""
        if kind is type(self):
            return self
        array: Any = _new(kind)
        for name in ("_host", "_is_read_only", "_is_scalar", "_module", "_shared", "_view"):
            setattr(array, name, getattr(self, name))
        array._buffer = None
        array._masked = None
        array._pending = None
        if self._host is None and not self._view:
            array._value = self._value
            array._lock = self._lock
        return array


# CuPy's methods are none; ptp is one in some NumPys, which raises.
_OF_NUMPY = frozenset(vars(np.ndarray)) - {"ptp"}
_WRITING_METHODS = frozenset(["fill", "put"])
_OF_POSITIONS = frozenset(["argmax", "argmin", "argpartition", "argsort", "nonzero", "searchsorted"])
_ELSEWHERE = object()  # in place of what is not in the host's memory


def may_have_room(x: Any) -> bool:
    """Whether something is an array that has a buffer, or may be a view of one that has."""
    if type(x) is not Array:
        return False
    return x._buffer is not None or (x._view is not None and x._view.may_have_rows())


def any_may_have_room(args: Sequence[Any]) -> bool:
    """Whether there is such an array among arguments, or in a list or a tuple among them."""
    for x in args:
        if type(x) is Array:
            if may_have_room(x):
                return True
        elif type(x) in (list, tuple) and any(map(may_have_room, x)):
            return True
    return False


def rows_of(x: Any) -> Rows | None:
    """Return the rows of an array that has room, where arrays may have it (`is_by_jax`); else None."""
    return x._rows_if_possible() if isinstance(x, Array) else None


def _has_arrays(key: Any) -> bool:
    """Whether there are arrays, or lists, in a key."""
    if not isinstance(key, tuple):
        return isinstance(key, _ARRAYS_AND_LISTS)
    for k in key:  # noqa: SIM110 (a generator takes longer, and every key is asked)
        if isinstance(k, _ARRAYS_AND_LISTS):
            return True
    return False


def rows_or_value(x: Any, ndim: int | None = None) -> Any:
    """Return the rows of an array that has room, and so many axes; the value of another array, else ``x``."""
    if not isinstance(x, Array):
        return x
    rows = x._rows_if_possible() if ndim is None or x.ndim == ndim else None
    return x._value if rows is None else rows


def _write_part(owner: Array, selection: Selection, value: Any) -> None:
    """Write to what is selected; a view is read by the program that writes, where that is possible."""
    if type(value) is not Array or value._view is None:
        owner._replace_part(put, selection, written(value))
    elif value._owner is not owner:
        owner._replace_part(put, selection, value._operand())
    elif _is_part_for_a_program(value._view, owner):
        owner._replace_part(put_own, selection, value._view.part)
    else:
        owner._replace_part(put, selection, written(value))


def written(value: Any) -> Any:
    """Return what is written to an array, which may be pending."""
    return value._current if type(value) is Array else lend(unwrap(value))


def _is_part_for_a_program(view: View, owner: Array) -> bool:
    """Whether a view selects of an array itself, not of a view of it, and one program can copy that there."""
    if not view.is_selection or view.owner is not owner or owner._host is not None:
        return False
    return one_program_suffices(owner._current_with_room)


def _has_positions(key: Any) -> bool:
    """Whether there is an array of ours in a key."""
    return type(key) is Array or (isinstance(key, tuple) and Array in map(type, key))


_POSITIONS = object()  # in the place of an array in a key
_BOUNDS = frozenset([int, type(None)])  # of slices
_KEYS_KEPT = 1024


@functools.lru_cache(_KEYS_KEPT)
def _reader_at(parts: tuple[Any, ...]) -> Callable[..., Array]:
    """Return what reads an array at positions, which is given the arrays of a key, of these parts."""

    def at_positions(array: Array, *positions: Array) -> Array:
        remaining = iter(positions)
        keys: list[Any] = []
        for part in parts:
            if part is _POSITIONS:
                keys.append(next(remaining)._value)
            else:
                keys.append(slice(*part) if type(part) is tuple else part)
        made = read(array._value, tuple(keys))
        return wrap(made, array._module, is_scalar=not made.ndim and ... not in keys)

    return at_positions


def _operated_on_rows(function: Any, operands: tuple, module: str, is_product: bool) -> Any:
    """Return what an operator's function makes of buffers; None where it needs the exact arrays."""
    if is_product:
        return _calls().call_on_values(function, operands, module)
    views = [x._view for x in operands if type(x) is Array and x._view is not None]
    if any(map(_is_transpose_with_room, views)):
        return _transposes().computed_of_transposes(function, operands, module)
    contents = contents_of(operands)
    made = None if contents is None else computed(function, contents)
    return None if made is None else wrap_rows(made, module)


def contents_of(operands: Sequence[Any]) -> list[Any] | None:
    """Return operands with the rows of arrays that have room, and the values of others; None if none has."""
    all_rows = [x._rows_if_possible() if isinstance(x, Array) else None for x in operands]
    if all_rows.count(None) == len(operands):
        return None
    contents = []
    for x, rows in zip(operands, all_rows, strict=True):
        exact_operand = x._current if isinstance(x, Array) and rows is None else x
        contents.append(exact_operand if rows is None else rows)
    return contents


def _is_transpose_with_room(view: View) -> bool:
    """Whether a view is of an array that has a buffer, and a matrix whose columns are the rows of that."""
    return view.owner._buffer is not None and view.has_rows_as_columns


def _is_on_cpu(array: Array) -> bool:
    return getattr(array.device, "platform", None) == "cpu"


def _operand_on_host(x: Any) -> Any:
    """Return an operand as NumPy takes it, or `_ELSEWHERE`."""
    if isinstance(x, Array):
        host = x._host
        if host is None:
            host = x._readable()
        return _ELSEWHERE if host is None else host
    if type(x) in AS_THEY_ARE or not isinstance(x, (jax.Array, list, tuple)):
        return x
    try:
        return to_numpy(x)
    except NotOnHost:
        return _ELSEWHERE


@functools.cache
def _numpy_methods() -> types.ModuleType:
    """Return what NumPy's methods are of values of JAX, which is loaded where the first is used."""
    from ..numpy import _methods

    return _methods


@functools.cache
def _writing() -> types.ModuleType:
    """Return what writes to buffers, loaded as `_selecting`."""
    from ._capacity import _writing

    return _writing


_NUMBERS = frozenset([bool, int, float, complex])
_READ_AS_A_WHOLE = 2**18  # bytes: they come from a GPU in the time that a program takes to start


def _writes_number_to_rows(array: Array, part: Selection, value: Any) -> bool:
    """Write a number to many rows by a program for other numbers of rows, too; say whether that was done."""
    return type(value) in _NUMBERS and part.has_many_rows and _writing().write_number(array, part, value)


@functools.cache
def _calls() -> types.ModuleType:
    """Return what runs functions on buffers, loaded as `_selecting`."""
    from ._capacity import _calls

    return _calls


@functools.cache
def _transposes() -> types.ModuleType:
    """Return what computes with transposes of buffers, loaded as `_selecting`."""
    from ._capacity import _transposes

    return _transposes


@functools.cache
def _selecting() -> types.ModuleType:
    """Return what selects rows, which is loaded where the first is used: it makes arrays."""
    from ._capacity import _selecting

    return _selecting


def as_from(result: Any, module: str) -> Any:
    """Return results of `jaxapi.numpy` as arrays of the namespace that an array is of."""
    if module == NUMPY:
        return result
    if type(result) in (tuple, list):
        return type(result)(as_from(x, module) for x in result)
    if isinstance(result, np.generic):
        return from_host(np.asarray(result), module, is_scalar=True)
    if isinstance(result, Array):
        result._module = module
    return result


_new = object.__new__


def wrap(value: Any, module: str = MUTABLE, is_scalar: bool = False) -> Any:
    """Make an array of a value whose memory nobody else has, unless by reference to the same object."""
    array = _new(Array)
    if type(value) is Pending:
        array._pending = value
    else:
        array._value = value
        array._pending = None
    array._buffer = None
    array._host = None
    array._is_read_only = False
    array._is_scalar = is_scalar
    array._masked = None
    array._module = module
    array._shared = False
    array._view = None
    array._lock = threading.RLock()
    return array


def _wrap_masked(masked: Masked, module: str) -> Any:
    """Make an array of what a mask selects; what holds its memory is empty until that is read."""
    array = _new(Array)
    array._host = None
    array._is_read_only = False
    array._is_scalar = False
    array._masked = masked
    array._module = module
    array._shared = False
    array._lock = threading.RLock()
    note_reader(array)
    return array


def wrap_rows(rows: Rows, module: str = MUTABLE) -> Any:
    """Make an array of rows whose buffer nobody else has, unless by reference to the same object."""
    count = rows.count
    if count == len(rows.memory):
        return wrap(rows.memory, module)
    if not are_worth_room(rows):
        return wrap(rows.exact(), module)
    buffer = Buffer(rows)
    array = _new(Array)
    array._buffer = buffer
    array._pending = None
    array._host = None
    array._is_read_only = False
    array._is_scalar = False
    array._masked = None
    array._module = module
    array._shared = False
    array._view = None
    array._lock = buffer._lock
    return array


def from_host(host: np.ndarray, module: str, is_scalar: bool = False) -> Any:
    """Make an array of the host's memory."""
    array = _new(Array)
    array._pending = None
    array._buffer = None
    array._host = host
    array._is_read_only = False
    array._is_scalar = is_scalar
    array._masked = None
    array._module = module
    array._shared = False
    array._view = None
    return array


_ARRAYS = (Array, jax.Array, np.ndarray)
_ARRAYS_AND_LISTS = (*_ARRAYS, list)
_WIDE = 8  # bytes


def as_read(part: Any, module: str) -> Any:
    """Return a part of an array in the host's memory, in whose dtype it is: a view, or an element."""
    if type(part) is np.ndarray:
        return from_host(part, module)
    if module == NUMPY or not isinstance(part, np.generic):
        return part
    return from_host(np.asarray(part), module, is_scalar=True)


def from_numpy(result: Any, module: str, operands: Any = (), are_positions: bool = False) -> Any:
    """Return what NumPy returned as arrays of a namespace, in its dtypes; `jaxapi.numpy` has its scalars."""
    kind = type(result)
    if kind is np.ndarray:
        if result.dtype.kind == "O":
            refuse_objects(result, operands)
        if result.itemsize >= _WIDE and module != NUMPY and not x64_mode():
            result = narrow(result, operands, are_positions)
        return from_host(result, module)
    if isinstance(result, np.generic):
        if result.itemsize >= _WIDE and module != NUMPY and not x64_mode():
            result = narrow(result, operands, are_positions)
        return result if module == NUMPY else from_host(np.asarray(result), module, is_scalar=True)
    if kind is tuple or kind is list:
        return kind([from_numpy(part, module, operands, are_positions) for part in result])
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return kind(*[from_numpy(part, module, operands, are_positions) for part in result])
    return result


def view_of(
    owner: Array,
    part: Selection | None,
    shape: tuple | None = None,
    module: str | None = None,
    component: str | None = None,
) -> Any:
    """Return a part of an array as a view, or all of it, perhaps in another shape."""
    array = _new(Array)
    array._view = View(owner, part, shape, component)
    array._pending = None
    array._buffer = None
    array._host = None
    array._shared = False
    array._is_read_only = owner._is_read_only
    array._is_scalar = False
    array._masked = None
    array._module = module or owner._module
    return array


def reshaped(array: Array, shape: tuple[int, ...]) -> Array | None:
    """Return the view in another shape; None where NumPy would have to copy."""
    host = array._in_host_memory() if is_eager() else None
    if host is not None:
        try:
            return from_host(host.reshape(shape, copy=False), array._module)
        except ValueError:
            return None
    if array._is_numpys_scalar:
        return None
    if array._view:
        try:
            layout_of(array).reshape(shape, copy=False)
        except ValueError:
            return None
    return view_of(array, None, shape)


def layout_of(array: Array, memory: np.ndarray | None = None) -> np.ndarray:
    """Return an array with the strides that NumPy's would have; its elements are nowhere and not read.

    It is a part of ``memory``, a vector with as many elements as the owner, if that is given.
    """
    if array._host is not None:
        return array._host
    if array._view:
        return array._view.layout(layout_of(array._view.owner, memory))
    if memory is not None:
        return memory.reshape(array.shape)
    strides = [math.prod(array.shape[axis + 1 :]) for axis in range(array.ndim)]
    return np.lib.stride_tricks.as_strided(np.empty(1, np.int8), array.shape, strides)


def shared(value: Any, module: str = MUTABLE, is_scalar: bool = False) -> Any:
    """Make an array of a value whose memory others may have."""
    array = wrap(lend(value), module, is_scalar)
    array._shared = True
    return array


def copied(source: Array) -> Any:
    """Return a copy."""
    if source._host is not None:
        return from_host(source._host.copy(), source._module, source._is_scalar)
    if source._masked is None and is_recording() and _is_copied_by_line(source):
        line = line_of_elements(COPY, (source,), source._module, makes_scalars=source._is_scalar)
        if line is not None:
            return line
    rows = source._rows()
    if rows is not None:
        return wrap_rows(Rows(duplicate_line(rows.memory), rows.count), source._module)
    return _wrap_apart(source._current, source._owner, source._is_scalar, source._module)


def _is_copied_by_line(source: Array) -> bool:
    """Whether an array is a part of another one, or its memory is there: what waits is not copied."""
    if source._view is not None:
        return source._view.is_selection
    holder: Any = source if source._buffer is None else source._buffer
    return holder._pending is None


def _wrap_apart(value: Any, owner: Array, is_scalar: bool = False, module: str | None = None) -> Any:
    """Make an array of what was read of another one, which may be all of that."""
    is_all = owner._host is None and owner._buffer is None and owner._holds(value)
    return wrap(duplicate_line(value) if is_all else value, module or owner._module, is_scalar)


def unwrap(x):
    """Return the value of an array; lists and tuples are looked through."""
    if isinstance(x, Array):
        return x._value
    kind = type(x)
    if kind is list:
        return [unwrap(part) for part in x]
    if kind is tuple:
        return tuple(unwrap(part) for part in x)
    return x


def _unpickled(host, module=MUTABLE, is_scalar=False):
    sys.modules.get(module) or __import__(module)
    return from_host(host, module, is_scalar) if is_eager() else wrap(as_array(host), module, is_scalar)


_PLAIN_PARTS = frozenset([int, slice, type(None), type(...)])


def _parsed(key, shape: tuple) -> tuple[tuple, Selection | None]:
    """Return the parts of a key, and what is selected, which is None for a key with arrays."""
    keys = tuple(key) if isinstance(key, tuple) else (key,)
    selection = plain_selection(shape, keys)
    if selection is not None:
        return keys, selection
    if not _PLAIN_PARTS.issuperset(map(type, keys)):
        keys = parts_of(_plain_key(key))  # of NumPy's ints Python's
    return keys, selection_of(shape, keys)


def _starts_of(value: jax.Array) -> list[int]:
    """Return where the memory of a value starts, on each device."""
    return [shard.data.unsafe_buffer_pointer() for shard in value.addressable_shards]


def _plain_key(key):
    if isinstance(key, Array):
        return key._current
    kind = type(key)
    if kind is tuple:
        return tuple(map(_plain_key, key))
    if kind is range:
        return list(key)
    return unwrap(key) if kind is list else key


# A pytree


def _child(array):
    view = array._view
    return (
        view.owner if view and view.is_whole else array._handed_out()
    )  # jax.device_put shares memory unseen


def _unflatten(module, children):
    (child,) = children
    # `jax.jacfwd` and its like return the arguments' pytrees as leaves of the result's. Such an array
    # stays a pytree in a pytree, as JAX expects when it takes it apart again: a view of all of it.
    if isinstance(child, Array):
        return view_of(child, None, module=module)
    # Whether it was a scalar cannot be kept: a loop of `jax.lax` starts with ``zeros(())`` and goes on with a
    # sum, which must be of one structure, and `jax.jit` takes what is of one structure for the same.
    return shared(child, module, is_scalar=getattr(child, "shape", None) == ())


jax.tree_util.register_pytree_with_keys(
    Array,
    lambda array: (((jax.tree_util.GetAttrKey("value"), _child(array)),), array._module),
    _unflatten,
    lambda array: ((_child(array),), array._module),
)
