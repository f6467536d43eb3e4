"""Statements that wait: a batch of them becomes one program of JAX, which runs when a value is asked for.

On a device, outside of JAX's transformations, a call of a program that is `recorded` becomes a line of the
batch of its thread, and returns a `Pending` value, of which shape and dtype are known. A batch runs when

- the value of one of its lines is asked for,
- the program comes again to the statement that its first line is of: a loop's next round,
- it has many lines, or makes many bytes.

A batch that comes for the first time runs line by line, each by the line's own program. When the same lines
come again they are compiled as one program, of the same bits: behind every line there is a barrier with a
fixed layout, through which XLA sees nothing that it could compute in another way.
"""

import collections
import contextlib
import functools
import itertools
import math
import sys
import threading
import types
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import lax
from jax.experimental.layout import Layout, with_layout_constraint

from .._core._constants import repeated
from .._core._dtypes import default_dtype, x64_as, x64_mode
from .._core._programs import compiled, eagerly, is_jax_array, is_traced
from . import _host_way as host_way

__all__ = ["LARGE", "Pending", "concrete", "continued", "is_recording", "lend", "line_of", "recorded"]
__all__ += ["run_all", "takes_pending"]

_SHORTEST = 16  # lines that are run because their first statement comes again
_LONGEST = 400  # lines
_MOST_BYTES = 2**28  # of the results of lines
LARGE = 2**25  # bytes of one result: its program takes longer than its call
_PROGRAMS_KEPT = 256
_LINES_KEPT = 4096
_KINDS_KEPT = 4096
_MOST_VARIANTS = 3  # of the program of a batch, by the results that are kept
_WORTH_A_PROGRAM = 3  # lines

_PACKAGE = __name__.partition(".")[0]
_NUMBERS = frozenset([bool, int, float, complex])
_local = threading.local()


class Kind:
    """What a line is compiled for, of an operand; one object for each kind."""

    __slots__ = ("dtype", "shape", "weak_type")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype, weak_type: bool):
        """Take what is known of an array."""
        self.shape = shape
        self.dtype = dtype
        self.weak_type = weak_type

    def structure(self) -> jax.ShapeDtypeStruct:
        """Return what a program is traced with."""
        return jax.ShapeDtypeStruct(self.shape, self.dtype, weak_type=self.weak_type)


@functools.lru_cache(_KINDS_KEPT)
def _kind(shape: tuple[int, ...], dtype: np.dtype, weak_type: bool) -> Kind:
    return Kind(shape, dtype, weak_type)


class Pending:
    """The value that a line of a batch makes. Its shape and its dtype are known before."""

    __slots__ = ("__weakref__", "_error", "_index", "_line", "_value", "kind")

    def __init__(self, kind: Kind, line: "_Line", index: int = 0):
        """Stand for what a line makes, or for one of several results."""
        self.kind = kind
        self._index = index
        self._line: _Line | None = line
        self._value: Any = None
        self._error: Exception | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each axis."""
        return self.kind.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.kind.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.kind.shape)

    @property
    def dtype(self) -> np.dtype:
        """The data type of the elements."""
        return self.kind.dtype

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return self.size * self.kind.dtype.itemsize

    @property
    def weak_type(self) -> bool:
        """Whether the dtype gives way to another one, as a Python number's."""
        return self.kind.weak_type

    @property
    def device(self) -> Any:
        """Where the value is made."""
        line = self._line
        return line.batch.device if line is not None else self.value().device

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
        line = self._line
        if line is not None:
            line.batch.run()
        if self._error is not None:
            raise self._error
        return self._value

    def finish(self, value: Any, error: Exception | None = None) -> None:
        """Take the value, or the error that is raised instead of it."""
        self._value = value
        self._error = error
        self._line = None


def concrete(x: Any) -> Any:
    """Return the value of what may be pending."""
    return x.value() if type(x) is Pending else x


# Arrays that others may have: who donates one to a program of his own deletes it. And the batches that wait.
_lent: weakref.WeakValueDictionary[int, jax.Array] = weakref.WeakValueDictionary()
_waiting: "weakref.WeakSet[_Batch]" = weakref.WeakSet()


def lend(value: Any) -> Any:
    """Return an array that others may have: what waits for it runs before, and nothing will wait for it."""
    if is_jax_array(value) and not is_traced(value):
        _lent[id(value)] = value
        for batch in list(_waiting):
            if batch.has(value):
                batch.run()
    return value


def is_recording() -> bool:
    """Whether statements wait now."""
    return host_way.is_by_jax()


def run_all() -> None:
    """Run the statements of this thread that wait."""
    batch = getattr(_local, "batch", None)
    if batch is not None:
        batch.run()


class _LineProgram:
    """A program with its options, for operands of certain kinds."""

    __slots__ = ("_options", "_program", "is_one", "kinds", "nbytes")

    def __init__(self, program: Any, options: tuple[Any, ...], kinds: tuple[Kind, ...]):
        """Trace the program; the options stand at the places of its static arguments."""
        self._program = program
        self._options = options
        structures = [kind.structure() for kind in kinds]
        made = program.jitted().trace(*self._arguments(structures)).out_info
        self.is_one = not isinstance(made, (list, tuple))
        results = [made] if self.is_one else made
        self.kinds = [_kind(x.shape, x.dtype, x.weak_type) for x in results]
        self.nbytes = sum(math.prod(x.shape) * x.dtype.itemsize for x in results)

    def _arguments(self, operands: Iterable[Any]) -> list[Any]:
        """Return the arguments of the program, in their order."""
        static = self._program.static_argnums
        remaining_operands = iter(operands)
        remaining_options = iter(self._options)
        count = len(self._options)
        arguments: list[Any] = []
        for i in itertools.count():
            if i in static:
                arguments.append(next(remaining_options))
                count -= 1
                continue
            try:
                arguments.append(next(remaining_operands))
            except StopIteration:
                if not count:
                    return arguments
                raise

    def __call__(self, operands: Iterable[Any]) -> list[Any]:
        """Run the program, and return its results."""
        made = self._program(*self._arguments(operands))
        return [made] if self.is_one else list(made)


class _Line:
    """A call that waits. An operand is a result of another line, or the number of an array of the batch."""

    __slots__ = ("batch", "number", "operands", "program", "results")

    def __init__(self, batch: "_Batch", program: _LineProgram, operands: list[Any]):
        """Note a call."""
        self.batch = batch
        self.program = program
        self.operands = operands
        self.number = 0  # in the order of lines, once the batch runs
        self.results: list[weakref.ref[Pending]] = []

    def wanted(self) -> list[Pending]:
        """Return the results that somebody has."""
        return [pending for result in self.results if (pending := result()) is not None]


class _Place(NamedTuple):
    """A statement of the user's program."""

    code: types.CodeType
    instruction: int


class _Batch:
    """Lines of one thread, in their order, and the arrays that they are given."""

    def __init__(self, is_x64: bool):
        """Start a batch in x64 mode or not; its first array says where it runs."""
        self.device: Any = None
        self.is_open = True
        self.is_x64 = is_x64
        self.lock = threading.RLock()
        self._is_bound = False  # to its device, as what was put there
        self._lines: list[_Line] = []
        self._arrays: list[Any] = []
        self._kinds: list[Kind] = []
        self._numbers: dict[int, int] = {}  # of arrays, by their identities
        self._first_place: _Place | None = None
        self._bytes = 0
        _waiting.add(self)

    def has(self, array: Any) -> bool:
        """Whether a line reads an array."""
        return id(array) in self._numbers

    def record(self, program: Any, static: frozenset[int], args: Sequence[Any]) -> Any:
        """Add a line for a call, and return what it makes.

        None is returned for a call that has to run at once, `_RUN_FIRST` where the batch has to run before.
        """
        options = []
        operands: list[Any] = []
        kinds = []
        for i, x in enumerate(args):
            if i in static:
                options.append(x)
                continue
            if type(x) is Pending:
                line = x._line
                if line is not None and line.batch is self:
                    operands.append((line, x._index))
                    kinds.append(x.kind)
                    continue
                x = x.value()
            number = self._number_of(x)
            if number is None:
                return _RUN_FIRST if self._lines else None
            if number == _AT_ONCE:
                return None
            operands.append(number)
            kinds.append(self._kinds[number])
        line_program = _line_program(program, tuple(options), tuple(kinds), self.is_x64)
        if line_program.nbytes > LARGE:
            return None
        return _RUN_FIRST if self._ends_with(line_program) else self._add(line_program, operands)

    def _number_of(self, x: Any) -> int | None:
        """Return the number of an array, which is kept until the batch has run.

        None is returned for an array elsewhere, `_AT_ONCE` for one that no line may wait for.
        """
        if not is_jax_array(x):
            return self._number_of_host(x)
        number = self._numbers.get(id(x))
        return self._number_of_new(x) if number is None else number

    def _number_of_new(self, array: Any) -> int | None:
        if id(array) in _lent:
            return _AT_ONCE
        sharding = array.sharding
        if not isinstance(sharding, jax.sharding.SingleDeviceSharding):
            return None
        (device,) = sharding.device_set
        if self.device is None:
            self.device = device
            self._is_bound = array.committed
        elif device != self.device or (array.committed != self._is_bound and not self._takes_bound(array)):
            return None
        return self._keep(array, _kind(array.shape, array.dtype, array.weak_type))

    def _takes_bound(self, array: Any) -> bool:
        """Whether an array may come to those of a batch of which one is bound to the device, and one is not."""
        if jax.device_count() > 1 and self._lines:
            return False  # as the results of these would be bound, too
        self._is_bound = self._is_bound or array.committed
        return True

    def _number_of_host(self, x: Any) -> int | None:
        """Return the number of a number of Python's, or of NumPy's; `_AT_ONCE` for other memory."""
        if type(x) in _NUMBERS:
            is_bool = type(x) is bool
            kind = _kind((), np.dtype(bool) if is_bool else default_dtype(type(x)), not is_bool)
        elif isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "biufc" and x.size == 1:
            kind = _kind(x.shape, x.dtype, False)
            x = np.array(x)  # whose memory nobody changes
        else:
            return _AT_ONCE
        return self._keep(repeated(x, self.device), kind)

    def _keep(self, x: Any, kind: Kind) -> int:
        number = len(self._arrays)
        self._arrays.append(x)
        self._kinds.append(kind)
        self._numbers[id(x)] = number
        return number

    def _ends_with(self, program: _LineProgram) -> bool:
        """Whether a call comes again to the statement of the first line, or enough is waiting."""
        lines = self._lines
        if len(lines) < _SHORTEST:
            return False
        if len(lines) >= _LONGEST or self._bytes > _MOST_BYTES:
            return True
        return program is lines[0].program and _place() == self._first_place

    def _add(self, program: _LineProgram, operands: list[Any]) -> Any:
        line = _Line(self, program, operands)
        made = [Pending(kind, line, index) for index, kind in enumerate(program.kinds)]
        line.results = [weakref.ref(pending) for pending in made]
        self._lines.append(line)
        self._bytes += program.nbytes
        if self._first_place is None:
            self._first_place = _place()
        return made[0] if program.is_one else made

    def run(self) -> None:
        """Compute what is still asked for; nothing, where that was done."""
        with self.lock:
            self.is_open = False
            lines = self._lines
            wanted = _needed_of(lines)
            if wanted:
                with eagerly(), x64_as(self.is_x64), _unchecked():
                    _compute(lines, self._arrays, wanted)
            self._lines = []
            self._arrays = []
            self._numbers = {}
            _waiting.discard(self)


_RUN_FIRST = object()
_AT_ONCE = -1


@contextlib.contextmanager
def _unchecked() -> Iterator[None]:
    """Return a context in which JAX checks no results, as when the lines were recorded."""
    if not host_way.checks_programs():
        yield
        return
    with jax.debug_nans(False), jax.debug_infs(False), jax.disable_jit(False):
        yield


def _needed_of(lines: list[_Line]) -> list[_Line]:
    """Return the lines whose results somebody has, after numbering all."""
    wanted = []
    for number, line in enumerate(lines):
        line.number = number
        if line.wanted():
            wanted.append(line)
    return wanted


def _place() -> _Place:
    """Return the statement of the user's program that runs now."""
    frame: Any = sys._getframe(2)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_PACKAGE):
        frame = frame.f_back
    return _Place(frame.f_code, frame.f_lasti)


# Recording


def recorded(program: Any) -> Callable[..., Any]:
    """Return a program, as `compiled` returns it, whose calls are lines where `is_recording`.

    Its operands may be pending then, and so is its result.
    """
    line = line_of(program)

    @functools.wraps(program)
    def call(*args: Any) -> Any:
        return line(*args) if is_recording() else program(*[concrete(x) for x in args])

    return call


def line_of(program: Any) -> Callable[..., Any]:
    """Return the same for callers that know that statements wait now."""
    static = program.static_argnums

    @functools.wraps(program)
    def call(*args: Any) -> Any:
        made = _record(program, static, args)
        return program(*[concrete(x) for x in args]) if made is None else made

    return call


def continued(program: Any) -> Callable[..., Any]:
    """Return a program whose calls are lines where an operand is pending; else they run at once."""
    line = recorded(program)

    @functools.wraps(program)
    def call(*args: Any) -> Any:
        return line(*args) if Pending in map(type, args) else program(*args)

    return call


def takes_pending(program: Any) -> Any:
    """Say of a program that it takes values that are pending, and may return one."""
    program.takes_pending = True
    return program


def _record(program: Any, static: frozenset[int], args: Sequence[Any]) -> Pending | None:
    """Make a line of a call; None where it has to run now."""
    batch = getattr(_local, "batch", None)
    is_x64 = x64_mode()
    if batch is None or not batch.is_open or batch.is_x64 is not is_x64:
        if batch is not None:
            batch.run()
        batch = _local.batch = _Batch(is_x64)
    with batch.lock:
        made = batch.record(program, static, args)
    if made is not _RUN_FIRST:
        return made
    batch.run()
    batch = _local.batch = _Batch(is_x64)
    with batch.lock:
        made = batch.record(program, static, args)
    return None if made is _RUN_FIRST else made


@functools.lru_cache(_LINES_KEPT)
def _line_program(
    program: Any, options: tuple[Any, ...], kinds: tuple[Kind, ...], is_x64: bool
) -> _LineProgram:
    return _LineProgram(program, options, kinds)  # in the mode that is on


# Running


def _compute(lines: list[_Line], arrays: list[Any], wanted: list[_Line]) -> None:
    """Give the lines that are wanted their values."""
    if len(wanted) == 1 and len(lines) == 1:
        _compute_each(lines, arrays, wanted)
        return
    program = _program_of(lines) if len(lines) >= _WORTH_A_PROGRAM else None
    made = None if program is None else program(arrays, [line.number for line in wanted])
    if made is None:
        _compute_each(lines, arrays, wanted)
        return
    for line in wanted:
        for pending in line.wanted():
            pending.finish(made[line.number][pending._index])


def _compute_each(lines: list[_Line], arrays: list[Any], wanted: list[_Line]) -> None:
    """Run line by line; what depends on one that fails raises that error when it is asked for."""
    last_uses = _last_uses(lines, wanted)
    values: dict[int, Any] = {}  # of the lines that are read later: results, or an error
    for line in lines:
        if line.number not in last_uses:
            continue
        made = _results_of(line, arrays, values)
        for pending in line.wanted():
            if isinstance(made, Exception):
                pending.finish(None, made)
            else:
                pending.finish(made[pending._index])
        values[line.number] = made
        for x in line.operands:
            if type(x) is tuple and last_uses[x[0].number] == line.number:
                values.pop(x[0].number, None)


def _results_of(line: _Line, arrays: list[Any], values: dict[int, Any]) -> Any:
    """Return the results of a line, or the error that it or one that it reads raises."""
    operands = []
    for x in line.operands:
        if type(x) is tuple:
            made = values[x[0].number]
            if isinstance(made, Exception):
                return made
            operands.append(made[x[1]])
        else:
            operands.append(arrays[x])
    try:
        return line.program(operands)
    except Exception as error:
        return error


def _last_uses(lines: list[_Line], wanted: list[_Line]) -> dict[int, int]:
    """Return the lines that have to run, each with the last one that reads its results."""
    last_uses = {line.number: line.number for line in wanted}
    for line in reversed(lines):
        if line.number in last_uses:
            for x in line.operands:
                if type(x) is tuple:
                    last_uses[x[0].number] = max(last_uses.get(x[0].number, -1), line.number)
    return last_uses


class _Program:
    """Lines that were seen, compiled as one program from the second time on."""

    def __init__(self, plan: tuple[tuple[_LineProgram, tuple[Any, ...]], ...]):
        """Take a program of each line, and its operands: results of lines, or numbers of arrays."""
        self._plan = plan
        self._was_seen = False
        self._kept: frozenset[int] = frozenset()
        self._variants = 0
        self._compiled: Any = None
        self._order: list[int] = []

    def __call__(self, arrays: list[Any], wanted: list[int]) -> dict[int, Any] | None:
        """Return the results that are wanted, or None for lines that run one by one."""
        if not self._was_seen:
            self._was_seen = True
            return None
        if not self._kept.issuperset(wanted):
            if self._variants == _MOST_VARIANTS:
                return None
            self._variants += 1
            self._kept = self._kept.union(wanted)
            self._compile()
        try:
            made = self._compiled(*arrays)
        except Exception:  # which the line raises that fails, and those before it have values
            return None
        return dict(zip(self._order, made, strict=True))

    def _compile(self) -> None:
        order = sorted(self._kept)
        plan = self._plan
        needed = _needed_by(plan, order)

        def statements(*arrays: Any) -> list[Any]:
            made: list[list[Any]] = []
            for number, (program, operands) in enumerate(plan):
                results = []
                if number in needed:
                    values = [made[x[0]][x[1]] if type(x) is tuple else arrays[x] for x in operands]
                    results = [_sealed(result) for result in program(values)]
                made.append(results)
            return [made[i] for i in order]

        self._order = order
        self._compiled = compiled(statements).jitted()


def _needed_by(plan: Sequence[Any], kept: list[int]) -> set[int]:
    """Return the lines that those read that are kept, and these."""
    needed = set(kept)
    for number in reversed(range(len(plan))):
        if number in needed:
            needed.update(x[0] for x in plan[number][1] if type(x) is tuple)
    return needed


def _sealed(value: jax.Array) -> jax.Array:
    """Return a value that is computed as it is alone: nothing is moved or rewritten across a barrier."""
    in_order = with_layout_constraint(value, Layout(major_to_minor=tuple(range(value.ndim))))
    return lax.optimization_barrier(in_order)


_programs: collections.OrderedDict[Any, _Program] = collections.OrderedDict()
_programs_lock = threading.Lock()


def _program_of(lines: list[_Line]) -> _Program:
    """Return the program of lines, which was there if they came before."""
    plan = []
    for line in lines:
        operands = [(x[0].number, x[1]) if type(x) is tuple else x for x in line.operands]
        plan.append((line.program, tuple(operands)))
    key = tuple(plan)
    with _programs_lock:
        program = _programs.get(key)
        if program is None:
            program = _programs[key] = _Program(key)
            if len(_programs) > _PROGRAMS_KEPT:
                _programs.popitem(last=False)
        else:
            _programs.move_to_end(key)
        return program
