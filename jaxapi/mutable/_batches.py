"""Statements that wait: a batch of them becomes one program of JAX, which runs when a value is asked for.

On a device, outside of JAX's transformations, a call of a program that is `recorded` becomes a line of the
batch of its thread, and returns a `Pending` value, of which shape and dtype are known. A batch runs when

- the value of one of its lines is asked for,
- the program comes again to the first of its statements that comes again: a loop's next round,
- it has many lines, or makes many bytes.

A batch that comes for the first time runs line by line, each by the line's own program. When the same lines
come again they are compiled as one program, of the same bits: behind every line there is a barrier with a
fixed layout, through which XLA sees nothing that it could compute in another way. Lines of arrays with room
run line by line, so that a new length compiles nothing, unless they are a loop's round.

A batch is open while it takes lines, and busy while it takes one. Its first `run` closes it, and makes a
`Run` of its lines; it is done when all results that somebody has have values. What Ctrl-C ends goes on from
that `Run` when a value is asked for again.

Programs become lines in five ways:

=================== ================================================ ====================
function            makes a line                                     else
=================== ================================================ ====================
`recorded`          where statements wait                            runs the program
`continued`         where an operand is pending                      runs the program
`line_of`           for callers that know that statements wait       runs the program
`attempt_of`        the same                                         returns None
`attempt_by_kinds`  the same, of a program that the kinds of         returns None
                    operands choose
=================== ================================================ ====================
"""

import collections
import contextlib
import contextvars
import functools
import math
import os
import sys
import threading
import types
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import jax
import numpy as np

from .._core._constants import positions as positions_of
from .._core._constants import repeated
from .._core._devices import default_device
from .._core._dtypes import WIDE, default_dtype, x64_as, x64_mode
from .._core._jaxprs import opened, programs_in
from .._core._programs import eagerly, in_a_trace, is_jax_array, is_traced
from . import _host_way as host_way
from ._batch_programs import WORTH_A_PROGRAM, Lines, Numbers, Operand, Run
from ._in_place import is_small

__all__ = ["LARGE", "Pending", "concrete", "continued", "deferred", "is_recording", "lend"]
__all__ += ["WAITS", "Kind", "LineProgram", "Positions", "attempt_by_kinds", "attempt_of"]
__all__ += [
    "is_asked_at_once",
    "is_lent",
    "is_waited_for",
    "kind_of",
    "kind_of_array",
    "line_of",
    "line_program_of",
    "note_reader",
    "number_as_cast",
    "number_in",
    "of_rows",
    "run_all",
    "run_readers",
    "takes_pending",
    "warn_of_overflow",
]

_SHORTEST = 16  # lines that are run because a statement comes again
_LONGEST = 100  # lines
_MOST_BYTES = 2**28  # of the results of lines
LARGE = 2**25  # bytes of one result: its program takes longer than its call
_LINES_KEPT = 4096
_KINDS_KEPT = 4096

_FEW = 8  # elements of an array that may be one of many numbers

# Which object it is, as `id` says. Python tells audit hooks of each call of that, and filelock has one, which
# JAX loads where it is installed: with `id` a line takes half as long again.
identity_of = object.__hash__

_PACKAGE = __name__.partition(".")[0] + "."
_NUMBERS = frozenset([bool, int, float, complex])
_local = threading.local()


class Kind:
    """What a line is compiled for, of an operand; one object for each kind."""

    __slots__ = ("dtype", "nbytes", "shape", "size", "weak_type")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype, weak_type: bool):
        """Take what is known of an array."""
        self.shape = shape
        self.size = math.prod(shape)
        self.nbytes = self.size * dtype.itemsize
        self.dtype = dtype
        self.weak_type = weak_type

    def is_of(self, array: Any) -> bool:
        """Whether an array has this shape and dtype."""
        return array.shape == self.shape and array.dtype == self.dtype

    def structure(self) -> jax.ShapeDtypeStruct:
        """Return what a program is traced with."""
        return jax.ShapeDtypeStruct(self.shape, self.dtype, weak_type=self.weak_type)


@functools.lru_cache(_KINDS_KEPT)
def kind_of(shape: tuple[int, ...], dtype: np.dtype, weak_type: bool = False) -> Kind:
    """Return the kind of arrays of a shape and a dtype."""
    return Kind(shape, dtype, weak_type)


def kind_of_array(array: jax.Array) -> Kind:
    """Return the kind of an array."""
    return kind_of(array.shape, array.dtype, array.weak_type)


class Pending:
    """The value that a line of a batch makes. Its shape and its dtype are known before."""

    __slots__ = ("__weakref__", "_error", "_value", "batch", "dtype", "is_there", "kind", "shape", "source")

    def __init__(self, kind: Kind, batch: "_Batch", source: tuple[int, int]):
        """Stand for a result of a line of a batch, by the numbers of both."""
        self.kind = kind
        self.shape = kind.shape  # the length of each axis
        self.dtype = kind.dtype
        self.source = source
        self.batch: _Batch | None = batch  # until it ran
        self.is_there = False  # whether the value was made
        self._value: Any = None
        self._error: Exception | None = None

    @property
    def index(self) -> int:
        """Which result of its line it is."""
        return self.source[1]

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.kind.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.kind.size

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return self.kind.nbytes

    @property
    def weak_type(self) -> bool:
        """Whether the dtype gives way to another one, as a Python number's."""
        return self.kind.weak_type

    @property
    def device(self) -> Any:
        """Where the value is made."""
        batch = self.batch
        return self.value().device if batch is None else batch.device

    def __len__(self) -> int:
        """Return the length of the first axis."""
        return self.kind.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Return the value as NumPy's array."""
        return np.array(self.value(), dtype, copy=copy)

    def __jax_array__(self) -> jax.Array:
        """Return the value, for functions of jax.numpy."""
        return self.value()

    def value(self) -> jax.Array:
        """Return the value; the batch runs if it has not run yet."""
        batch = self.batch
        if batch is not None:
            batch.run(is_asked=True)
        if self._error is not None:
            raise self._error.with_traceback(None)  # or it would keep the frames of all who asked
        return self._value

    def finish(self, value: Any, error: Exception | None = None) -> None:
        """Take the value, or the error that is raised instead of it."""
        self._value = value
        self._error = error
        self.is_there = value is not None
        self.batch = None


class Positions(tuple):
    """Positions along some axes, below 2**31: int32 numbers of a program."""

    __slots__ = ()


def concrete(x: Any) -> Any:
    """Return the value of what may be pending; of positions their array."""
    if type(x) is Pending:
        return x.value()
    return positions_of(x) if type(x) is Positions else x


_FOR_LINES = frozenset([Pending, Positions])


def _concrete_of(args: Sequence[Any]) -> Sequence[Any]:
    """Return the same of arguments, of which most are no such thing."""
    return args if _FOR_LINES.isdisjoint(map(type, args)) else [concrete(x) for x in args]


def of_rows(x: Any) -> Any:
    """Note of what may be pending that it comes from a buffer, of which some rows count.

    Its batch is not compiled as one, but as a round of a loop: the next one might have buffers of other
    lengths.
    """
    if type(x) is Pending and x.batch is not None:
        x.batch.has_rows = True
    return x


# Arrays that others may have: who donates one to a program of his own deletes it. And the batches that wait.
_lent: weakref.WeakValueDictionary[int, jax.Array] = weakref.WeakValueDictionary()
_waiting: "dict[int, weakref.ref[_Batch]]" = {}  # by their identities


def _forget(identity: int, _: Any) -> None:
    _waiting.pop(identity, None)


def lend(value: Any) -> Any:
    """Return an array that others may have: what waits for it runs before, and nothing will wait for it."""
    if is_jax_array(value) and not is_traced(value):
        _lent[identity_of(value)] = value
        run_readers(value)
    return value


def is_lent(value: Any) -> bool:
    """Whether others may have a value, which is there or pending."""
    return identity_of(value._value if type(value) is Pending else value) in _lent


# Arrays that a mask selects, and that wait: by their identities.
_readers: "dict[int, weakref.ref[Any]]" = {}


def note_reader(array: Any) -> None:
    """Note an array that waits for others, whose `_run_if_it_reads` is called for those that are lent."""
    identity = identity_of(array)
    _readers[identity] = weakref.ref(array, lambda _: _readers.pop(identity, None))


def is_waited_for(value: Any) -> bool:
    """Whether a line, or what a mask selects, waits for an array, as far as is seen without a lock."""
    identity = identity_of(value)
    batches = [reference() for reference in list(_waiting.values())]
    readers = [reference() for reference in list(_readers.values())]
    return any(batch is not None and identity in batch._known for batch in batches) or any(
        array is not None and array._reads(value) for array in readers
    )


def run_readers(value: Any) -> None:
    """Run what waits for an array."""
    for reader in list(_readers.values()):
        array = reader()
        if array is not None:
            array._run_if_it_reads(value)
    for reference in list(_waiting.values()):  # one call of C, whatever other threads do
        batch = reference()
        if batch is not None and batch.has(value):
            batch.run()


_is_on = os.environ.get("JAXAPI_DEFERRED", "1") == "1"
_is_on_here: contextvars.ContextVar[bool | None] = contextvars.ContextVar("deferred", default=None)


@contextlib.contextmanager
def deferred(on: bool = True) -> Iterator[None]:
    """Let statements wait in this context, or run at once, as ``deferred(False)``.

    On a device, outside of JAX's transformations, statements on arrays of `jaxapi.numpy` and
    `jaxapi.mutable` wait: they return before anything has run. A batch runs when a value is asked for, when a
    loop begins its next round, when it has 100 lines or many bytes, and at the end of the context. Lines that
    come again are compiled as one program, so that a loop of small statements starts fewer of them. On the
    CPU, where NumPy computes, nothing changes. CuPy and NumPy have no such mode; PyTorch's lazy tensors and
    MLX's arrays are alike.

    It is on from the start, unless ``JAXAPI_DEFERRED=0`` is in the environment.

    Parameters
    ----------
    on : bool
        Whether statements wait, in this thread or task.

    Notes
    -----
    Values have the bits of each statement as a program of its own, in the same shapes and dtypes, with the
    same missing values. Errors of shapes, dtypes and indices are raised by the statement; one that the device
    raises is raised by whatever asks for a value that depends on it. Under `jax.jit`, `jax.vmap` and
    `jax.grad` statements are traced, as without it. The first rounds of a loop take longer, as they compile
    more.

    Examples
    --------
    >>> import jaxapi.numpy as np
    >>> u = np.zeros((8, 8))
    >>> with np.deferred(False):  # to time a statement alone
    ...     u[1:-1, 1:-1] += 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1]) + 1
    >>> float(u[1, 1])
    1.0
    """
    before = _is_on_here.set(bool(on))
    try:
        yield
    finally:
        _is_on_here.reset(before)
        if on:
            run_all()


def is_recording() -> bool:
    """Whether statements wait now."""
    is_on = _is_on_here.get()
    return (_is_on if is_on is None else is_on) and host_way.is_by_jax()


def run_all() -> None:
    """Run the statements of this thread that wait."""
    batch = getattr(_local, "batch", None)
    if batch is not None:
        batch.run()


class LineProgram:
    """A program with its options, for operands of certain kinds."""

    __slots__ = (
        "_options",
        "_program",
        "is_one",
        "kinds",
        "nbytes",
        "operand_kinds",
        "starts_at_once",
    )

    def __init__(self, program: Any, options: tuple[Any, ...], kinds: tuple[Kind, ...]):
        """Trace the program; the options stand at the places of its static arguments."""
        self._program = program
        self._options = list(zip(sorted(program.static_argnums), options, strict=False))
        self.operand_kinds = kinds
        structures = [kind.structure() for kind in kinds]
        traced = program.jitted().trace(*self.arguments(structures))
        made = traced.out_info
        self.is_one = not isinstance(made, (list, tuple))
        results = [made] if self.is_one else made
        self.kinds = [kind_of(x.shape, x.dtype, x.weak_type) for x in results]
        self.nbytes = sum(math.prod(x.shape) * x.dtype.itemsize for x in results)
        # What takes long starts while the host goes on. For a product of matrices a GPU's library may choose
        # another algorithm in another program.
        self.starts_at_once = self.nbytes > LARGE or _has_products(traced.jaxpr)

    def arguments(self, operands: Iterable[Any]) -> list[Any]:
        """Return the arguments of the program, in their order."""
        arguments = list(operands)
        for i, option in self._options:
            arguments.insert(i, option)
        return arguments

    @property
    def writes(self) -> bool:
        """Whether it may use the memory of its first operand: `call_in_place`."""
        return hasattr(self._program, "in_place")

    def call_in_place(self, operands: Iterable[Any], made: list[Any]) -> None:
        """Append the result, made in the memory of the first operand."""
        self._program.in_place(self.arguments(operands), made)

    def __call__(self, operands: Iterable[Any]) -> Any:
        """Run the program, and return its result, or a sequence of several."""
        return self._program(*self.arguments(operands))

    def results(self, made: Any) -> Sequence[Any]:
        """Return what a run returned as a sequence."""
        return [made] if self.is_one else made

    def returned(self, results: Sequence[Any]) -> Any:
        """Return what a call returns, of its results, which may be pending."""
        return results[0] if self.is_one else results


def _has_products(jaxpr: Any) -> bool:
    """Whether a program multiplies matrices, in some of its ways."""
    for equation in opened(jaxpr).eqns:
        if equation.primitive.name == "dot_general" or any(map(_has_products, programs_in(equation))):
            return True
    return False


# A user's statement: the identity of its code, its instruction, and one of the programs that it calls.
Statement = tuple[int, int, LineProgram]

# What chooses the program of a line, of which the kinds of operands, and whether x64 mode is on, come last.
ProgramOf = Callable[[tuple[Any, ...]], LineProgram | None]


class _Batch:
    """Lines of one thread, in their order, and the arrays that they are given."""

    def __init__(self, is_x64: bool):
        """Start a batch in x64 mode or not; its first array says where it runs."""
        self.device: Any = None
        self.is_open = True
        self.is_x64 = is_x64
        self.is_busy = False  # while a call is recorded
        self.is_running = False
        self.has_rows = False
        self.lock = threading.RLock()
        # Whether the values of the batch before were asked for: else this one may be the end of a loop.
        self._follows_asked = getattr(_local, "was_asked", False)
        self._is_bound = False  # to its device, as what was put there
        self._lines = Lines()
        self._arrays: list[Any] = []
        self._known: dict[int, tuple[int, Kind]] = {}  # the numbers and kinds of arrays, by their identities
        self._numbers: dict[np.dtype, list[Any]] = {}
        # The codes of statements, kept so that no others have their identities.
        self._statements: dict[Statement, types.CodeType] = {}
        self._first_repeated: Statement | None = None
        self._is_round = False
        self._run: Run | None = None  # once it is closed
        self._is_done = False
        self._bytes = 0
        identity = identity_of(self)
        _waiting[identity] = weakref.ref(self, functools.partial(_forget, identity))

    @property
    def is_empty(self) -> bool:
        """Whether no line is waiting."""
        return not self._lines

    def has(self, array: Any) -> bool:
        """Whether a line reads an array."""
        with self.lock:
            return identity_of(array) in self._known

    def record(self, program_of: ProgramOf, key: tuple[Any, ...], args: Sequence[Any]) -> Any:
        """Add a line for a call, whose program is chosen by the kinds of its operands; return what it makes.

        None is returned for a call that has to run at once, `_RUN_FIRST` where this batch has to run before,
        and `_RUN_OTHERS` where those of arguments have to.
        """
        with self.lock:
            if self.is_busy:  # a finalizer, or a signal's handler, runs in the middle of another call
                return None
            self.is_busy = True
            try:
                known = self._known_operands(args)
                if type(known) is not tuple:
                    return known
                kinds, operands = known
                program = program_of((*key, tuple(kinds), self.is_x64))
                if program is None:
                    return None
                return self._made(program, args, operands, not _NUMBERS.isdisjoint(kinds))
            finally:
                self.is_busy = False

    # Operands: what there is to know comes first, and nothing is kept for a call that is no line

    def _known_operands(self, args: Sequence[Any]) -> Any:
        """Return the kinds of arguments, and of each what a line has for it.

        That is None for what is new, and `_LENT` for what others have, for which no line waits. The kind of a
        Python number is its class. Where the arguments cannot be those of a line, what `record` returns is
        returned.
        """
        if not self._lines.programs:
            self.device = None
            self._is_bound = False
        kinds: list[Any] = []
        operands: list[Any] = []
        has_arrays = False
        for x in args:
            of = type(x)
            operand: Any = None
            if of is Pending and (batch := x.batch) is not None:
                if batch is not self:
                    return _RUN_OTHERS
                has_arrays = True
                kind = x.kind
                operand = x.source
            elif of in _NUMBERS:
                kind = of
            elif of is Positions:
                kind = _kind_of_positions(len(x))
            else:
                value = x.value() if of is Pending else x
                identity = identity_of(value)
                known = self._known.get(identity)
                if known is not None:
                    has_arrays = True
                    number, kind = known
                    # A few elements may be numbers, which a loop's next round has others of: each use counts
                    # as another.
                    if kind.size > _FEW:
                        operand = number
                elif is_jax_array(value):
                    has_arrays = True
                    kind = self._kind_of_array(value)
                    if identity in _lent:
                        operand = _LENT
                else:
                    kind = self._kind_of_host_memory(value)
                if kind is None or kind is _RUN_FIRST:
                    return kind
            kinds.append(kind)
            operands.append(operand)
        if not has_arrays and not self._is_on_default_device():
            return self._elsewhere()
        return kinds, operands

    def _kind_of_array(self, array: jax.Array) -> Any:
        if is_traced(array):  # of a transformation that has ended, which JAX refuses
            return None
        sharding = array.sharding
        if not isinstance(sharding, jax.sharding.SingleDeviceSharding):
            return self._elsewhere()
        (device,) = sharding.device_set
        if self.device is None:
            self.device = device
            self._is_bound = array.committed
        elif device != self.device or not self._takes_bound(array):
            return self._elsewhere()
        return kind_of_array(array)

    def _kind_of_host_memory(self, x: Any) -> Kind | None:
        """Return the kind of a few numbers of NumPy's; a subclass, as of masks, may list others."""
        if type(x) is not np.ndarray and not isinstance(x, np.generic):
            return None
        if x.size > _FEW or x.dtype.kind not in "biufc":
            return None
        if not x.dtype.isnative or (x.dtype in WIDE and not self.is_x64):
            return None
        return kind_of(x.shape, x.dtype)

    def _elsewhere(self) -> Any:
        return _RUN_FIRST if self._lines else None

    def _takes_bound(self, array: Any) -> bool:
        """Whether an array may come to others, of which some are bound to the device and some are not."""
        if array.committed == self._is_bound:
            return True
        if jax.device_count() > 1:
            return False  # as the results of these would be bound, too
        self._is_bound = True
        return True

    def _is_on_default_device(self) -> bool:
        """Whether what is made of numbers alone may come to the others; a new batch runs there."""
        if jax.device_count() > 1 and self._is_bound:
            return False  # as it would be bound, too
        device = default_device()
        if self.device is None:
            self.device = device
        return self.device == device

    def _kept(self, x: Any, kind: Kind) -> Operand:
        """Return what a line has for something new, and keep what that is, until the batch ran."""
        if type(x) is Positions:
            return self._numbers_of(kind, x)
        if type(x) in _NUMBERS:
            if kind.weak_type:
                return self._keep(repeated(x, self.device), kind)
            return self._numbers_of(kind, (x,))
        x = concrete(x)
        if not is_jax_array(x):
            return self._numbers_of(kind, x.ravel().tolist())
        if kind.size > _FEW and (known := self._known.get(identity_of(x))) is not None:
            return known[0]  # an operand that this line has twice
        self._bytes += x.nbytes
        return self._keep(x, kind)

    def _numbers_of(self, kind: Kind, values: Iterable[Any]) -> Numbers:
        numbers = self._numbers.setdefault(kind.dtype, [])
        start = len(numbers)
        numbers.extend(values)
        return Numbers(kind.dtype, start, kind.shape)

    def _keep(self, x: Any, kind: Kind) -> int:
        number = len(self._arrays)
        self._arrays.append(x)
        self._known[identity_of(x)] = number, kind
        return number

    def _ends_before(self, statement: Statement, number: int) -> bool:
        """Whether a loop's next round begins with a statement, or enough is waiting: so many lines.

        A round begins with the statement that is the first one to come again. Others do not end a batch, or
        a loop would have batches that begin at each of its statements.
        """
        if number >= _LONGEST or self._bytes > _MOST_BYTES:
            return True
        if self._first_repeated is None and statement in self._statements:
            self._first_repeated = statement
        self._is_round = statement == self._first_repeated and number >= _SHORTEST
        return self._is_round

    def _made(self, program: LineProgram, args: Sequence[Any], operands: list[Any], has_numbers: bool) -> Any:
        """Return what a call makes: a line, or a program that runs at once."""
        if program.starts_at_once or _LENT in operands:
            return None if _writes_in_place(program) else self._run_now(program, args)
        code, instruction = _code_and_instruction(sys._getframe(_FRAMES_TO_CALLER))
        number = len(self._lines.programs)
        if not number:
            asked = _asked_at_once.get(_place_of(code, instruction))
            if asked is not None and _writes_in_place(program):
                return None
            if asked is not None and asked.runs():
                return self._run_now(program, args)
        statement = (identity_of(code), instruction, program)
        if not self.is_open or self._ends_before(statement, number):
            return _RUN_FIRST
        if has_numbers:
            _check_numbers(args, program.operand_kinds)
        self._statements[statement] = code
        self._bytes += program.nbytes
        if None in operands:
            for i, operand in enumerate(operands):
                if operand is None:
                    operands[i] = self._kept(args[i], program.operand_kinds[i])
        if program.is_one:
            results = [Pending(program.kinds[0], self, (number, 0))]
        else:
            results = [Pending(kind, self, (number, index)) for index, kind in enumerate(program.kinds)]
        self._lines.add(program, operands, [weakref.ref(result) for result in results])
        # A finalizer may have asked for a value meanwhile.
        return program.returned(results) if self.is_open else _RUN_FIRST

    def _run_now(self, program: LineProgram, args: Sequence[Any]) -> Any:
        """Return what a program makes that runs now."""
        _check_numbers(args, program.operand_kinds)
        operands = map(self._value, args, program.operand_kinds)
        with self._modes():
            return program.returned(program.results(program(operands)))

    def _value(self, x: Any, kind: Kind) -> Any:
        """Return an operand of a program that runs now."""
        if type(x) in _NUMBERS:
            with np.errstate(over="ignore"):  # which was said before
                return repeated(x if kind.weak_type else np.asarray(x, kind.dtype), self.device)
        if isinstance(x, (np.ndarray, np.generic)):
            return repeated(x, self.device)
        batch = x.batch if type(x) is Pending else None
        if batch is not None:
            batch.run()  # for a program; nobody asks for the value
        return concrete(x)

    def run(self, is_asked: bool = False) -> None:
        """Compute what is still wanted; nothing, where that was done."""
        with self.lock:
            self.is_open = False
            if self._is_done:
                return
            if self.is_running:
                raise RuntimeError(
                    "a finalizer or a signal's handler asks for a value of a batch while that batch runs"
                )
            self.is_running = True
            try:
                self._finish(is_asked)
            finally:
                self.is_running = False

    def _finish(self, is_asked: bool) -> None:
        if self._run is None:
            may_compile = self._is_round or not self.has_rows
            self._run = Run(self._lines, self._arrays, self._numbers, self.device, may_compile)
        with self._modes():
            self._run.finish()
        if is_asked and self._follows_asked and len(self._lines) < WORTH_A_PROGRAM:
            self._note_statements()
        _local.was_asked = is_asked
        self._is_done = True
        self._run = None
        self._lines = Lines()
        self._arrays = []
        self._numbers = {}
        self._known = {}
        self._statements = {}
        _waiting.pop(identity_of(self), None)

    @contextlib.contextmanager
    def _other_modes(self) -> Iterator[None]:
        """Return a context of the modes of JAX in which the lines are recorded."""
        with eagerly(), x64_as(self.is_x64), _unchecked(), _default_device_as(self.device):
            yield

    def _modes(self) -> contextlib.AbstractContextManager[None]:
        """Return such a context, of x64 mode alone where the other modes are on."""
        are_others_on = is_recording() and _takes_all_operands() and self.device in (None, default_device())
        if not are_others_on:
            return self._other_modes()
        return _AS_IT_IS if x64_mode() is self.is_x64 else x64_as(self.is_x64)

    def _note_statements(self) -> None:
        """Note statements of which the value was asked for before there were enough for a program."""
        for (code_id, instruction, _), code in self._statements.items():
            _asked_at_once[code_id, instruction] = _AskedAtOnce(code, instruction)
            if len(_asked_at_once) > _PLACES_KEPT:
                _asked_at_once.popitem(last=False)


def _writes_in_place(program: LineProgram) -> bool:
    """Whether a program that runs at once is called elsewhere, where it is known what memory it may use."""
    return program.writes and not is_small(program.operand_kinds[0])


def is_asked_at_once(is_run: bool = False) -> bool:
    """Whether nothing is waiting, and the user's program is at a statement that runs at once.

    ``is_run`` says that it does now.
    """
    batch = getattr(_local, "batch", None)
    if not _asked_at_once or (batch is not None and batch.is_open and not batch.is_empty):
        return False
    asked = _asked_at_once.get(_place_of(*_code_and_instruction(sys._getframe(1))))
    return asked is not None and (not is_run or asked.runs())


def _place_of(code: types.CodeType, instruction: int) -> tuple[int, int]:
    return identity_of(code), instruction


class _AskedAtOnce:
    """A statement of which the value was asked for before there were enough of them for a program.

    Where nothing is waiting it runs at once from now on. At times it waits again, as it may be a loop's, too.
    """

    __slots__ = ("_code", "_place", "_times_left")

    def __init__(self, code: types.CodeType, instruction: int):
        """Keep the code that it is a part of, so that no other has its identity."""
        self._code = code
        self._place = _place_of(code, instruction)
        self._times_left = 50

    def runs(self) -> bool:
        """Note that it runs; return False where it is to wait."""
        self._times_left -= 1
        if self._times_left < 0:
            _asked_at_once.pop(self._place, None)
        return self._times_left >= 0


_asked_at_once: collections.OrderedDict[tuple[int, int], _AskedAtOnce] = collections.OrderedDict()
_PLACES_KEPT = 1024


@functools.cache
def _kind_of_positions(count: int) -> Kind:
    return kind_of((count,), np.dtype(np.int32))


def _kind_of_number(kind: type) -> Kind:
    """Return the kind of a Python number, which is weak, as an operand."""
    return kind_of((), np.dtype(bool)) if kind is bool else kind_of((), default_dtype(kind), True)


def _check_numbers(args: Sequence[Any], kinds: Sequence[Kind]) -> None:
    """Raise NumPy's error, or its warning, for Python numbers that the dtypes of a program do not hold."""
    for x, kind in zip(args, kinds, strict=True):
        if type(x) is int and kind.weak_type:
            np.asarray(x, kind.dtype)
        elif type(x) in _NUMBERS and not kind.weak_type:
            is_small_number = type(x) is not complex and abs(x) < _HELD_BY_ALL_FLOATS
            if not is_small_number or kind.dtype.kind not in "fc":
                number_in(kind.dtype, x)


def number_in(dtype: np.dtype, number: complex) -> np.ndarray:
    """Return a Python number in a dtype, with NumPy's error, or its warning of the user's statement."""
    if type(number) is not complex and abs(number) < _HELD_BY_ALL_FLOATS:
        return np.asarray(number, dtype)
    with np.errstate(over="ignore"):
        value = np.asarray(number, dtype)
    overflows = value.dtype.kind in "fc" and _infinite_parts(value.item()) > _infinite_parts(number)
    if overflows and np.geterr()["over"] == "warn":
        warnings.warn("overflow encountered in cast", RuntimeWarning, stacklevel=_frames_of_ours())
    elif overflows:
        np.asarray(number, dtype)  # in the mode that the user chose
    return value


def number_as_cast(dtype: np.dtype, number: Any) -> Any:
    """Return what NumPy casts to a dtype: a Python float that overflows as an infinity, after the warning.

    NumPy's own warning is of the statement that calls it, which is one of ours and not the user's.
    """
    if type(number) is not float or -_HELD_BY_ALL_FLOATS < number < _HELD_BY_ALL_FLOATS:
        return number
    return number_in(dtype, number)[()] if dtype.kind in "fc" else number


def warn_of_overflow(dtype: np.dtype, number: Any) -> None:
    """Warn as NumPy does of a Python number that a dtype does not hold, at the user's statement.

    Of a complex number beside a real dtype nothing is said: it makes the result complex, or is refused.
    """
    if type(number) is complex and dtype.kind != "c":
        return
    is_large = type(number) is complex or (type(number) is float and not abs(number) < _HELD_BY_ALL_FLOATS)
    if is_large and dtype.kind in "fc" and not in_a_trace():
        number_in(dtype, number)


def _infinite_parts(number: complex) -> int:
    return math.isinf(number.real) + math.isinf(number.imag)


def _frames_of_ours() -> int:
    """Return the ``stacklevel`` at which the caller of this function warns of the user's statement."""
    frame = sys._getframe(1)
    count = 1
    while frame.f_back is not None and _is_ours[frame.f_globals.get("__name__")]:
        frame = frame.f_back
        count += 1
    return count


_HELD_BY_ALL_FLOATS = 2**15  # float16 overflows above
_FRAMES_TO_CALLER = 3  # of `attempt_by_kinds`, from `_Batch._made`
_LENT = object()
_RUN_FIRST = object()
_RUN_OTHERS = object()
_AS_IT_IS = contextlib.nullcontext()


def _default_device_as(device: Any) -> contextlib.AbstractContextManager[Any]:
    """Return a context in which arrays that are made of nothing lie on a device."""
    is_default = device is None or device == default_device()
    return contextlib.nullcontext() if is_default else jax.default_device(device)


@contextlib.contextmanager
def _unchecked() -> Iterator[None]:
    """Return a context in which JAX checks no results and no operands, as when the lines were recorded."""
    if not host_way.checks_programs() and _takes_all_operands():
        yield
        return
    with (
        jax.debug_nans(False),
        jax.debug_infs(False),
        jax.disable_jit(False),
        jax.numpy_rank_promotion("allow"),
        jax.transfer_guard_host_to_device("allow"),
    ):
        yield


def _takes_all_operands() -> bool:
    """Whether programs take operands of several numbers of axes, and numbers of the host."""
    guard = jax.config.jax_transfer_guard_host_to_device
    return jax.config.jax_numpy_rank_promotion == "allow" and guard is None


def _code_and_instruction(frame: Any) -> tuple[types.CodeType, int]:
    """Return where the user's program is now, which called one of our functions, of which this is a frame."""
    while _is_ours[frame.f_globals.get("__name__")] and frame.f_back is not None:
        frame = frame.f_back
    return frame.f_code, frame.f_lasti


class _OurModules(dict[Any, bool]):
    """Whether a module is one of ours, by the names of those that were on the way to a line."""

    def __missing__(self, name: Any) -> bool:
        self[name] = str(name).startswith(_PACKAGE)
        return self[name]


_is_ours = _OurModules()


# Recording


def recorded(program: Any) -> Callable[..., Any]:
    """Return a program, as `compiled` returns it, whose calls are lines where `is_recording`.

    Its operands may be pending then, and so is its result.
    """
    line = line_of(program)

    @functools.wraps(program)
    def call(*args: Any) -> Any:
        return line(*args) if is_recording() else program(*_concrete_of(args))

    return call


def line_of(program: Any) -> Callable[..., Any]:
    """Return the same for callers that know that statements wait now."""
    attempt = attempt_of(program)

    @functools.wraps(program)
    def call(*args: Any) -> Any:
        made = attempt(*args)
        return program(*_concrete_of(args)) if made is None else made

    return call


def attempt_of(program: Any) -> Callable[..., Any]:
    """Return what makes lines of calls, or returns None for one that has to run at once."""
    static = program.static_argnums

    def attempt(*args: Any) -> Any:
        options: list[Any] = []
        operands: list[Any] = []
        for i, x in enumerate(args):
            (options if i in static else operands).append(x)
        types_of_options = tuple(map(type, options))  # as 1 is equal to True
        return attempt_by_kinds(_line_program_of, (program, tuple(options), types_of_options), operands)

    return attempt


def attempt_by_kinds(
    program_of: ProgramOf, key: tuple[Any, ...], args: Sequence[Any], is_x64: bool | None = None
) -> Any:
    """Make a line of a call whose program is chosen by the kinds of arguments; None where it cannot be one.

    ``program_of((*key, kinds, is_x64))`` chooses it, or returns None. The kind of a Python number is its
    class. The mode is that which is on, or that which is given.
    """
    if is_x64 is None:
        is_x64 = x64_mode()
    made = _batch_in(is_x64).record(program_of, key, args)
    if made is _RUN_OTHERS:
        _run_others(args)
        made = _batch_in(is_x64).record(program_of, key, args)
    if made is _RUN_FIRST:
        run_all()
        made = _batch_in(is_x64).record(program_of, key, args)
    return None if made is _RUN_FIRST or made is _RUN_OTHERS else made


def _batch_in(is_x64: bool) -> _Batch:
    """Return the batch of this thread, in x64 mode or not."""
    batch = getattr(_local, "batch", None)
    if batch is None or not batch.is_open or batch.is_x64 is not is_x64:
        if batch is not None and not batch.is_running:  # else a finalizer, or a signal's handler, is recorded
            batch.run()
        batch = _local.batch = _Batch(is_x64)
    return batch


def _run_others(args: Sequence[Any]) -> None:
    """Run the batches that make arguments and are no batch of this thread."""
    own = getattr(_local, "batch", None)
    for x in args:
        batch = x.batch if type(x) is Pending else None
        if batch is not None and batch is not own:
            batch.run()


def continued(program: Any) -> Callable[..., Any]:
    """Return a program whose calls are lines where an operand is pending; else they run at once."""
    line = recorded(program)

    @functools.wraps(program)
    def call(*args: Any) -> Any:
        return line(*args) if Pending in map(type, args) else program(*args)

    return call


WAITS = object()  # in the place of memory to use: the call is to be a line, or nothing is done


def takes_pending(program: Any) -> Any:
    """Say of a program that it takes values that are pending, and may return one."""
    program.takes_pending = True
    return program


@functools.lru_cache(_LINES_KEPT)
def _line_program_of(key: tuple[Any, ...]) -> LineProgram:
    """Return the program of a line for a program, its options, their types, and the kinds of operands."""
    program, options, _, kinds, _ = key
    typed = [_kind_of_number(kind) if type(kind) is type else kind for kind in kinds]
    return LineProgram(program, options, tuple(typed))  # in the mode that is on


def line_program_of(program: Any, options: tuple[Any, ...], kinds: tuple[Kind, ...]) -> LineProgram:
    """Return the same in the mode that is on."""
    return _line_program_of((program, options, tuple(map(type, options)), kinds, x64_mode()))
