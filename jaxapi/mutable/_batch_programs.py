"""How the lines of a batch run: one by one, or, when the same lines come again, as one program.

The bits are the same. In the one program there is a barrier with a fixed layout behind every line: XLA sees
nothing across it that it could compute in another way.
"""

import collections
import itertools
import math
import sys
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

import jax
import numpy as np
from jax import lax

from .._core._constants import repeated
from .._core._internals import in_order_of_rows
from .._core._programs import compiled
from ._in_place import InPlace, is_small

if TYPE_CHECKING:
    import weakref

    from ._batches import Kind, LineProgram, Pending

__all__ = ["WORTH_A_PROGRAM", "Lines", "Numbers", "Operand", "Run"]

_PROGRAMS_KEPT = 256
_MOST_VARIANTS = 3  # of the program of a batch, by the results that are kept
WORTH_A_PROGRAM = 5  # lines


class Numbers(NamedTuple):
    """Some of the numbers of a batch, of one dtype: its programs get all of these as a vector."""

    dtype: np.dtype
    start: int
    shape: tuple[int, ...]

    def of(self, vector: Any) -> Any:
        """Return them, of all numbers of the dtype."""
        return vector[self.start : self.start + math.prod(self.shape)].reshape(self.shape)


# What a line reads: a result of another line, by the numbers of both, the number of an array that the batch
# was given, or some of its numbers.
Operand = tuple[int, int] | int | Numbers


def _is_of_a_line(x: Operand) -> TypeGuard[tuple[int, int]]:
    """Whether an operand is a result of another line."""
    return type(x) is tuple


class _Plan(NamedTuple):
    """What a batch is compiled for: of each line its program and its operands."""

    programs: "tuple[LineProgram, ...]"
    operands: tuple[tuple[Operand, ...], ...]


class Lines:
    """The calls of a batch, in their order: of each its program, its operands, and its results."""

    __slots__ = ("_results", "operands", "programs")

    def __init__(self) -> None:
        """Begin without a call."""
        self.programs: list[LineProgram] = []
        self.operands: list[Sequence[Operand]] = []
        self._results: list[Sequence[weakref.ref[Pending]]] = []  # of which somebody may have some

    def __len__(self) -> int:
        """Return the number of calls."""
        return len(self.programs)

    def add(
        self,
        program: "LineProgram",
        operands: Sequence[Operand],
        results: "Sequence[weakref.ref[Pending]]",
    ) -> None:
        """Append a call."""
        self.programs.append(program)
        self.operands.append(operands)
        self._results.append(results)

    def plan(self) -> _Plan:
        """Return what they are compiled for."""
        return _Plan(tuple(self.programs), tuple(map(tuple, self.operands)))

    def wanted(self) -> list[int]:
        """Return the numbers of lines of which somebody has a result."""
        return [number for number in range(len(self)) if self._living_results(number)]

    def is_wanted(self, number: int) -> bool:
        """Whether somebody has a result of a line."""
        return bool(self._living_results(number))

    def finish(self, number: int, made: Any) -> None:
        """Give what a line returned, or the error that it raised, to who has its results."""
        program = self.programs[number]
        for pending in self._living_results(number):
            if isinstance(made, Exception):
                pending.finish(None, made)
            else:
                pending.finish(program.results(made)[pending.index])

    def _living_results(self, number: int) -> "list[Pending]":
        return [pending for result in self._results[number] if (pending := result()) is not None]


class Run:
    """The lines of a closed batch, on their way to values. What Ctrl-C ends goes on when asked again."""

    def __init__(
        self,
        lines: Lines,
        arrays: list[Any],
        numbers: dict[np.dtype, list],
        device: Any,
        may_compile: bool,
    ):
        """Take lines, the arrays that they are given, which nobody else may need, and their numbers."""
        self._lines = lines
        self._arrays = arrays
        with np.errstate(over="ignore"):  # as of a number that float32 has as infinity
            self._numbers = {dtype: np.array(values, dtype) for dtype, values in numbers.items()}
        self._device = device
        # The lines that the one program returns, and what it returned or raised: appended by one call of C.
        self._together: list[Any] = []
        self._each: list[Any] = []  # what each line returned, or the error that it raised, as far as they ran
        is_worth_it = may_compile and len(lines) >= WORTH_A_PROGRAM
        self._program = _program_of(lines.plan()) if is_worth_it else None

    def finish(self) -> None:
        """Give a value, or the error that is raised instead, to all results that somebody has."""
        wanted = self._lines.wanted()
        if not wanted:
            return
        if self._program is not None and not self._each and not self._ran_together():
            self._together.clear()  # what Ctrl-C ended
            self._program.run(self._arrays, self._numbers, self._device, wanted, self._together)
        if not self._ran_together():
            self._finish_each(wanted)
            return
        kept, made = self._together
        for number in wanted:
            self._lines.finish(number, made if isinstance(made, Exception) else made[kept.index(number)])

    def _ran_together(self) -> bool:
        return len(self._together) > 1

    def _finish_each(self, wanted: list[int]) -> None:
        """Run line by line; what depends on one that fails raises its error when it is asked for."""
        needed = _Needed(self._lines, wanted)
        for number in range(len(self._lines)):
            if number not in needed.last_uses:
                if number == len(self._each):
                    self._each.append(None)
                continue
            if number == len(self._each):
                self._run_line(number, needed)
            if self._each[number] is not None:
                self._lines.finish(number, self._each[number])
            for earlier in needed.lines_read_last_by(number):
                self._each[earlier] = None

    def _run_line(self, number: int, needed: "_Needed") -> None:
        """Append what a line returns, or the error that it raises."""
        try:
            try:
                self._call_line(number, needed)
            except ValueError as error:
                if not _is_of_an_interrupt(error):
                    raise
                self._call_line(number, needed)
        except Exception as error:
            self._each.append(error.with_traceback(None))  # whose frames hold the operands

    def _call_line(self, number: int, needed: "_Needed") -> None:
        """Append what a line returns, or the error of a line that it reads."""
        program = self._lines.programs[number]
        operands = [self._operand(x) for x in self._lines.operands[number]]
        failed = [x for x in operands if isinstance(x, Exception)]
        if failed:
            self._each.append(failed[0])
        elif self._may_reuse(number, operands, needed):
            program.call_in_place(operands, self._each)
        else:
            self._each.append(program(operands))

    def _operand(self, x: Any) -> Any:
        """Return the value of an operand, or the error of the line that makes it."""
        if type(x) is int:
            return self._arrays[x]
        if type(x) is Numbers:
            return repeated(x.of(self._numbers[x.dtype]), self._device)
        number, index = x
        made = self._each[number]
        return made if isinstance(made, Exception) else self._lines.programs[number].results(made)[index]

    def _may_reuse(self, number: int, operands: list[Any], needed: "_Needed") -> bool:
        """Whether a line may use the memory of its first operand: nobody else has it, or will read it."""
        lines = self._lines
        if not lines.programs[number].writes or is_small(operands[0]):
            return False
        x, *others = lines.operands[number]
        if x in others:
            return False
        if _is_of_a_line(x):
            source, _ = x
            is_last = needed.last_uses[source] == number and not lines.is_wanted(source)
            is_read_last = is_last and lines.programs[source].is_one
        else:
            is_read_last = type(x) is int and needed.last_readers[x] == number
        # The other list is that of the arrays, or that of what each line returned.
        return is_read_last and sys.getrefcount(operands[0]) == _IN_ONE_LIST + 1


def _count_in_a_list() -> int:
    values = [object()]
    return sys.getrefcount(values[0])


# Without the GIL the count would prove nothing.
_IN_ONE_LIST = _count_in_a_list() if getattr(sys, "_is_gil_enabled", lambda: True)() else -1


class _Needed:
    """Which lines have to run, and who reads what last."""

    def __init__(self, lines: Lines, wanted: list[int]):
        """Go back from the lines whose results somebody has."""
        self.last_uses = {number: number for number in wanted}  # of lines
        self.last_readers: dict[int, int] = {}  # of arrays
        self._read_last: dict[int, list[int]] = {}
        for number in reversed(range(len(lines))):
            if number not in self.last_uses:
                continue
            for x in lines.operands[number]:
                if _is_of_a_line(x):
                    source, _ = x
                    self.last_uses[source] = max(self.last_uses.get(source, -1), number)
                elif type(x) is int:
                    self.last_readers.setdefault(x, number)
        for source, reader in self.last_uses.items():
            self._read_last.setdefault(reader, []).append(source)

    def lines_read_last_by(self, number: int) -> list[int]:
        """Return the numbers of lines whose results nobody reads behind this one."""
        return self._read_last.get(number, [])


class _Program:
    """Lines that were seen, compiled as one program from the second time on."""

    def __init__(self, plan: _Plan):
        """Take a program of each line, and its operands."""
        self._plan = plan
        self._lock = threading.RLock()  # a signal's handler may run another batch meanwhile
        self._was_seen = False
        self._failed = False
        self._kept: tuple[int, ...] = ()  # the lines whose results are returned
        self._variants = 0
        self._compiled: dict[tuple[int, ...], InPlace] = {}  # by the arrays whose memory is used
        lines = zip(plan.programs, plan.operands, strict=True)
        first_operands = [operands[0] for program, operands in lines if program.writes]
        self._written = sorted({x for x in first_operands if type(x) is int})
        all_operands = itertools.chain.from_iterable(plan.operands)
        self._dtypes = list(dict.fromkeys(x.dtype for x in all_operands if type(x) is Numbers))

    def run(
        self,
        arrays: list[Any],
        numbers: dict[np.dtype, np.ndarray],
        device: Any,
        wanted: list[int],
        made: list[Any],
    ) -> None:
        """Append the lines that are returned, and what the program returns, or the error that it raises.

        Nothing is appended where lines run one by one: for the first time, and after an error.
        """
        with self._lock:
            if self._failed or not self._keeps(wanted):
                return
            kept = self._kept
            donated = self._donated(arrays)
            if donated not in self._compiled and len(self._compiled) > _MOST_VARIANTS:
                donated = ()
            if donated not in self._compiled:
                self._compiled[donated] = self._compile(donated)
            program = self._compiled[donated]
        made.append(kept)
        given = [None if number in donated else x for number, x in enumerate(arrays)]
        spent = [arrays[number] for number in donated]
        try:
            vectors = [repeated(numbers[dtype], device) for dtype in self._dtypes]
            # Shapes and dtypes are the plan's.
            kind = (device, *[x.committed for x in arrays], *map(type, vectors))
            program.call(kind, (spent, given, vectors), made)
        except Exception as error:
            self._failed = not _is_of_an_interrupt(error)
            if any(arrays[number].is_deleted() for number in donated):
                made.append(error.with_traceback(None))

    def _keeps(self, wanted: list[int]) -> bool:
        """Whether the program returns the results of these lines, from now on."""
        if not self._was_seen:
            self._was_seen = True
            return False
        if set(wanted) <= set(self._kept):
            return True
        if self._variants == _MOST_VARIANTS:
            return False
        self._variants += 1
        self._kept = tuple(sorted({*self._kept, *wanted}))
        self._compiled = {}
        return True

    def _donated(self, arrays: list[Any]) -> tuple[int, ...]:
        """Return the arrays that are written to, nobody else has, and that a result can take the place of."""
        room: collections.Counter[Kind] = collections.Counter()
        for number in self._kept:
            room.update(self._plan.programs[number].kinds)
        donated = []
        for number in self._written:
            if is_small(arrays[number]) or sys.getrefcount(arrays[number]) != _IN_ONE_LIST:
                continue
            kind = next((kind for kind in room if kind.is_of(arrays[number]) and room[kind]), None)
            if kind is not None:
                room[kind] -= 1
                donated.append(number)
        return tuple(donated)

    def _compile(self, donated: tuple[int, ...]) -> InPlace:
        plan = self._plan
        kept = self._kept
        needed = _needed_by(plan, kept)

        def statements(spent: list[Any], given: list[Any], vectors: list[Any]) -> list[Any]:
            arrays = dict(enumerate(given)) | dict(zip(donated, spent, strict=True))
            numbers = dict(zip(self._dtypes, vectors, strict=True))
            made: list[Any] = []

            def value_of(x: Operand) -> Any:
                if isinstance(x, int):
                    return arrays[x]
                if isinstance(x, Numbers):
                    return x.of(numbers[x.dtype])
                number, index = x
                return plan.programs[number].results(made[number])[index]

            for number, (program, operands) in enumerate(zip(plan.programs, plan.operands, strict=True)):
                result = None
                if number in needed:
                    result = jax.tree.map(_sealed, program(list(map(value_of, operands))))
                made.append(result)
            return [made[number] for number in kept]

        return InPlace(compiled(statements, donate_argnums=0).jitted())


def _is_of_an_interrupt(error: Exception) -> bool:
    """Whether JAX made an error of a Ctrl-C that came while it compared what is static."""
    return "Cache keys should be comparable" in str(error)


def _needed_by(plan: _Plan, kept: Sequence[int]) -> set[int]:
    """Return the lines that those read that are kept, and these."""
    needed = set(kept)
    for number in reversed(range(len(plan.programs))):
        if number in needed:
            needed.update(x[0] for x in plan.operands[number] if _is_of_a_line(x))
    return needed


def _sealed(value: jax.Array) -> jax.Array:
    """Return a value that is computed as it is alone: nothing is moved or rewritten across a barrier."""
    return lax.optimization_barrier(in_order_of_rows(value))


_programs: collections.OrderedDict[_Plan, _Program] = collections.OrderedDict()
_programs_lock = threading.RLock()


def _program_of(plan: _Plan) -> _Program:
    """Return the program of lines, which was there if they came before."""
    with _programs_lock:
        program = _programs.get(plan)
        if program is None:
            program = _programs[plan] = _Program(plan)
            if len(_programs) > _PROGRAMS_KEPT:
                _programs.popitem(last=False)
        else:
            _programs.move_to_end(plan)
        return program
