"""Calls that wait until their results are needed, and then run as one program.

A program takes a GPU's host 50 us to run and JAX 50 ms to compile, however short it is. ``isfinite(sum(x))``
is one program so, and ``sum((x - y) ** 2)``. XLA is kept from joining the operations in it: what comes out is
the same to the last bit as if each had run alone.
"""

import collections
import contextlib
import functools
import math
import threading
import weakref
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import lax

from .._reading import at_hand, computed_at_hand
from .._tracing import eagerly, in_a_trace
from .._x64 import x64_as, x64_mode
from ._selection import part_in_program, take_part

__all__ = ["LONGEST", "Call", "Known", "is_plain", "kind_of", "run_waiting", "settings"]

_LARGE = 2**24  # bytes that keep a GPU busy for as long as a call takes its host
LONGEST = 16  # calls of a program
_MOST = 32  # calls that wait
_OFTEN = 3  # times that calls come in one order until they get a program though each has its own
_FORGOTTEN = 2**12  # orders that are kept; then all are forgotten
_LOCK = threading.RLock()
_waiting: collections.deque = collections.deque()  # weak references to arrays
_met: dict = {}  # how often calls came in an order, or their program


def settings() -> tuple:
    """Return JAX's settings that decide on the result of a call."""
    return x64_mode(), jax.config.jax_numpy_dtype_promotion


class Kind:
    """What the calls have in common that one program can run."""

    def __init__(self, function, options: tuple, settings: tuple, operands: tuple):
        self.function, self.options, self.settings = function, dict(options), settings
        self.has_run = False  # alone, so that it is compiled
        self.result: Any = None  # shape, dtype and more; None if such calls do not wait
        try:
            given = [jax.ShapeDtypeStruct(x.shape, x.dtype, weak_type=x.weak_type) for x in operands]
            seen, found = jax.eval_shape(lambda *xs: (xs, self(*xs)), *given)
        except Exception:  # which the call raises when it runs at once
            return
        if [x.dtype for x in seen] != [x.dtype for x in given]:  # an old JAX makes float32 of float64
            return
        if isinstance(found, jax.ShapeDtypeStruct) and is_plain(found.shape, found.dtype):
            self.result = Known(found.shape, found.dtype, found.weak_type)

    def __call__(self, *operands):
        return self.function(*operands, **self.options)


class Known(NamedTuple):
    """What is known of an array."""

    shape: tuple[int, ...]
    dtype: np.dtype
    weak_type: bool


kind_of = functools.lru_cache(maxsize=4096)(Kind)


def is_plain(shape: tuple[int, ...], dtype) -> bool:
    """Whether an array is one of numbers, and not large."""
    return isinstance(dtype, np.dtype) and math.prod(shape) * dtype.itemsize <= _LARGE


class Call:
    """A call that has not run yet; it knows shape, dtype and device of its result."""

    __slots__ = (
        "__weakref__",
        "_array",
        "_at_hand",
        "_result",
        "committed",
        "kind",
        "length",
        "operands",
        "sharding",
    )

    def __init__(self, kind: Kind, operands: list, sharding, committed: bool):
        self.kind, self.operands, self.sharding, self.committed = kind, operands, sharding, committed
        self.length: int = 1 + sum([x.length for x in operands if type(x) is Call])
        self._array: Any = None
        self._result: Any = None
        self._at_hand: Any = None

    shape = property(lambda self: self.kind.result.shape)
    dtype = property(lambda self: self.kind.result.dtype)

    @property
    def device(self) -> jax.Device:
        (device,) = self.sharding.device_set
        return device

    @property
    def is_wanted(self) -> bool:
        """Whether an array is to hold the result."""
        array = self._array and self._array()
        return array is not None and array._later is self

    def belongs_to(self, array) -> None:
        """Say which array is to hold the result, and wait."""
        self._array = weakref.ref(array)
        _waiting.append(self._array)
        if len(_waiting) > _MOST:
            _run_for(_waiting.popleft())

    @property
    def has_run(self) -> bool:
        return self._result is not None

    def value(self) -> jax.Array:
        """Run it, with what it is computed of."""
        with _LOCK:
            if self._result is None:
                _run([self])
            return self._result

    def item(self) -> jax.Array:
        """Return the number where the host reads it fast."""
        with _LOCK:
            if math.prod(self.shape) > 1:
                self.value()
            if self._at_hand is None and self._result is None:
                others = [call for call in _to_run([self]) if call is not self and call.is_wanted]
                if others:
                    _run(others)
                self._at_hand = _run_at_hand(self)
            return self._at_hand if self._result is None else at_hand(self._result)

    def finish(self, result: jax.Array) -> None:
        """Keep the result, and no longer what it was computed of."""
        self._result = result
        self.operands = []
        self.length = 0


def run_waiting() -> None:
    """Run every call whose result is wanted, before others may delete what it is computed of."""
    while _waiting:
        with _LOCK:
            arrays = list(_waiting)
            _waiting.clear()
            for array in arrays:
                _run_for(array)


def _run_for(reference) -> None:
    """Run what an array waits for, if there is such an array still."""
    array = reference()
    later = array is not None and array._later
    if type(later) is Call:
        later.value()


def _to_run(calls: list[Call]) -> list[Call]:
    """Return the calls that are to run for these, each after those that it is computed of."""
    found: dict[Call, None] = {}

    def visit(call):
        if call not in found and not call.has_run:
            for operand in call.operands:
                if type(operand) is Call:
                    visit(operand)
            found[call] = None

    for call in calls:
        visit(call)
    return list(found)


def _run(wanted: list[Call]) -> None:
    first = wanted[0]
    if len(wanted) == first.length == 1 and not any(x.layout for x in first.operands):
        with _context_of(first):
            first.finish(_run_alone(first))
        return
    calls = _to_run(wanted)
    plan, sources = _plan(calls, [i for i, call in enumerate(calls) if call in wanted or call.is_wanted])
    with _context_of(calls[0]):
        program = _program_of(plan)
        if program is None:
            for call in calls:
                call.finish(_run_alone(call))
            return
        results = program(*sources)
    for i, result in zip(plan[2], results, strict=True):
        calls[i].finish(result)


def _run_at_hand(call: Call) -> jax.Array:
    calls = _to_run([call])
    plan, sources = _plan(calls, [len(calls) - 1])
    with _context_of(call):
        program = _program_of(plan)
        if program is not None:
            (number,) = computed_at_hand(program, *sources)
            return number
        for each in calls:
            each.finish(_run_alone(each))
        return at_hand(call._result)


def _context_of(call: Call):
    """Return the context in which a call runs: that in which it was made, which is mostly the one around."""
    if call.kind.settings == settings() and not in_a_trace() and jax.sharding.get_abstract_mesh().empty:
        return _AS_IT_IS
    return _apart(*call.kind.settings)


_AS_IT_IS = contextlib.nullcontext()


@contextlib.contextmanager
def _apart(x64: bool, promotion: str):
    with eagerly(), x64_as(x64), jax.numpy_dtype_promotion(promotion):
        yield


def _plan(calls: list[Call], results: list[int]) -> tuple[tuple, tuple]:
    """Return what a program of calls is compiled for, and its inputs: arrays, and where parts of them start.

    Operands are numbered: calls from 0, inputs from -1 on downwards.
    """
    numbers = {call: i for i, call in enumerate(calls)}
    arrays, starts, layouts, steps = [], [], [], []
    for call in calls:
        operands = []
        for x in call.operands:
            number = numbers.get(x) if type(x) is Call else None
            if number is not None:
                operands.append(number)
                continue
            source, start, layout = (x._result, (), None) if type(x) is Call else x
            arrays.append(source)
            starts.append(start)
            layouts.append(layout)
            operands.append(-len(arrays))
        steps.append((call.kind, tuple(operands)))
    return (tuple(steps), tuple(layouts), tuple(results)), (*arrays[:1], arrays[1:], starts)


def _program_of(plan: tuple):
    """Return the compiled program of a plan; None if its calls run one by one.

    They do where next to nothing is to be compiled for that, until they have come often.
    """
    steps, _, _ = plan
    met = _met.get(plan, 0)
    if type(met) is not int:
        return met
    if len(_met) >= _FORGOTTEN:
        _met.clear()
    new = {kind for kind, _ in steps if not kind.has_run}
    if len(steps) > 1 and len(new) < 2 and met + 1 < _OFTEN:
        _met[plan] = met + 1
        return None
    program = _met[plan] = jax.jit(functools.partial(_computed, plan))
    return program


def _run_alone(call: Call) -> jax.Array:
    call.kind.has_run = True
    operands = [x._result if type(x) is Call else take_part(*x) for x in call.operands]
    return call.kind(*operands)


def _computed(plan, first, others, starts):
    """Compute a plan, in a program that has it as a constant."""
    steps, layouts, results = plan
    found = [
        x if layout is None else part_in_program(x, start, layout)
        for x, start, layout in zip((first, *others), starts, layouts, strict=True)
    ][::-1]
    inputs = len(found)
    for kind, operands in steps:
        # the barrier keeps XLA from joining operations, which would round otherwise
        found.append(lax.optimization_barrier(kind(*[found[inputs + i] for i in operands])))
    return [found[inputs + i] for i in results]
