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
from jax.experimental.layout import Layout, with_layout_constraint

from .._core._constants import repeated
from .._core._programs import compiled
from ._in_place import InPlace, is_small

if TYPE_CHECKING:
    from ._batches import Kind, Line, LineProgram

__all__ = ["WORTH_A_PROGRAM", "Numbers", "Operand", "Run"]

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
_Plan = tuple[tuple["LineProgram", tuple[Operand, ...]], ...]


def _is_of_a_line(x: Operand) -> TypeGuard[tuple[int, int]]:
    """Whether an operand is a result of another line."""
    return type(x) is tuple


class Run:
    """The lines of a closed batch, on their way to values. What Ctrl-C ends goes on when asked again."""

    def __init__(
        self,
        lines: "list[Line]",
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
        self._program = _program_of(lines) if may_compile and len(lines) >= WORTH_A_PROGRAM else None

    def finish(self) -> None:
        """Give a value, or the error that is raised instead, to all results that somebody has."""
        wanted = [line for line in self._lines if line.wanted()]
        if not wanted:
            return
        if self._program is not None and not self._each and not self._ran_together():
            self._together.clear()  # what Ctrl-C ended
            numbers = [line.number for line in wanted]
            self._program.run(self._arrays, self._numbers, self._device, numbers, self._together)
        if not self._ran_together():
            self._finish_each(wanted)
            return
        kept, made = self._together
        for line in wanted:
            _finish(line, made if isinstance(made, Exception) else made[kept.index(line.number)])

    def _ran_together(self) -> bool:
        return len(self._together) > 1

    def _finish_each(self, wanted: "list[Line]") -> None:
        """Run line by line; what depends on one that fails raises its error when it is asked for."""
        needed = _Needed(self._lines, wanted)
        for line in self._lines:
            if line.number not in needed.last_uses:
                if line.number == len(self._each):
                    self._each.append(None)
                continue
            if line.number == len(self._each):
                self._run_line(line, needed)
            if self._each[line.number] is not None:
                _finish(line, self._each[line.number])
            for number in needed.lines_read_last_by(line):
                self._each[number] = None

    def _run_line(self, line: "Line", needed: "_Needed") -> None:
        """Append what a line returns, or the error that it raises."""
        try:
            try:
                self._call_line(line, needed)
            except ValueError as error:
                if not _is_of_an_interrupt(error):
                    raise
                self._call_line(line, needed)
        except Exception as error:
            self._each.append(error.with_traceback(None))  # whose frames hold the operands

    def _call_line(self, line: "Line", needed: "_Needed") -> None:
        """Append what a line returns, or the error of a line that it reads."""
        operands = [self._operand(x) for x in line.operands]
        failed = [x for x in operands if isinstance(x, Exception)]
        if failed:
            self._each.append(failed[0])
        elif self._may_reuse(line, operands, needed):
            line.program.call_in_place(operands, self._each)
        else:
            self._each.append(line.program(operands))

    def _operand(self, x: Any) -> Any:
        """Return the value of an operand, or the error of the line that makes it."""
        if type(x) is int:
            return self._arrays[x]
        if type(x) is Numbers:
            return repeated(x.of(self._numbers[x.dtype]), self._device)
        number, index = x
        made = self._each[number]
        return made if isinstance(made, Exception) else self._lines[number].program.results(made)[index]

    def _may_reuse(self, line: "Line", operands: list[Any], needed: "_Needed") -> bool:
        """Whether a line may use the memory of its first operand: nobody else has it, or will read it."""
        if not line.program.writes or is_small(operands[0]):
            return False
        x = line.operands[0]
        if line.operands.count(x) > 1:
            return False
        if _is_of_a_line(x):
            number, _ = x
            source = self._lines[number]
            is_last = needed.last_uses[number] == line.number and not source.wanted()
            is_read_last = is_last and source.program.is_one
        else:
            is_read_last = type(x) is int and needed.last_readers[x] == line.number
        # The other list is that of the arrays, or that of what each line returned.
        return is_read_last and sys.getrefcount(operands[0]) == _IN_ONE_LIST + 1


def _finish(line: "Line", made: Any) -> None:
    """Give what a line returned, or the error that it raised, to who has its results."""
    for pending in line.wanted():
        if isinstance(made, Exception):
            pending.finish(None, made)
        else:
            pending.finish(line.program.results(made)[pending.index])


def _count_in_a_list() -> int:
    values = [object()]
    return sys.getrefcount(values[0])


# Without the GIL the count would prove nothing.
_IN_ONE_LIST = _count_in_a_list() if getattr(sys, "_is_gil_enabled", lambda: True)() else -1


class _Needed:
    """Which lines have to run, and who reads what last."""

    def __init__(self, lines: "list[Line]", wanted: "list[Line]"):
        """Go back from the lines whose results somebody has."""
        self.last_uses = {line.number: line.number for line in wanted}  # of lines
        self.last_readers: dict[int, int] = {}  # of arrays
        self._read_last: dict[int, list[int]] = {}
        for line in reversed(lines):
            if line.number not in self.last_uses:
                continue
            for x in line.operands:
                if _is_of_a_line(x):
                    number, _ = x
                    self.last_uses[number] = max(self.last_uses.get(number, -1), line.number)
                elif type(x) is int:
                    self.last_readers.setdefault(x, line.number)
        for number, reader in self.last_uses.items():
            self._read_last.setdefault(reader, []).append(number)

    def lines_read_last_by(self, line: "Line") -> list[int]:
        """Return the numbers of lines whose results nobody reads behind this one."""
        return self._read_last.get(line.number, [])


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
        first_operands = [operands[0] for program, operands in plan if program.writes]
        self._written = sorted({x for x in first_operands if type(x) is int})
        all_operands = itertools.chain.from_iterable(operands for _, operands in plan)
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
            kind = (*[x.committed for x in arrays], *map(type, vectors))
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
            room.update(self._plan[number][0].kinds)
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
                program, _ = plan[number]
                return program.results(made[number])[index]

            for number, (program, operands) in enumerate(plan):
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
    for number in reversed(range(len(plan))):
        if number in needed:
            _, operands = plan[number]
            needed.update(x[0] for x in operands if _is_of_a_line(x))
    return needed


def _sealed(value: jax.Array) -> jax.Array:
    """Return a value that is computed as it is alone: nothing is moved or rewritten across a barrier."""
    in_order = with_layout_constraint(value, Layout(major_to_minor=tuple(range(value.ndim))))
    return lax.optimization_barrier(in_order)


_programs: collections.OrderedDict[_Plan, _Program] = collections.OrderedDict()
_programs_lock = threading.RLock()


def _program_of(lines: "list[Line]") -> _Program:
    """Return the program of lines, which was there if they came before."""
    key = tuple([(line.program, line.operands) for line in lines])
    with _programs_lock:
        program = _programs.get(key)
        if program is None:
            program = _programs[key] = _Program(key)
            if len(_programs) > _PROGRAMS_KEPT:
                _programs.popitem(last=False)
        else:
            _programs.move_to_end(key)
        return program
