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
from typing import Any

import jax
import numpy as np
from jax import lax

from .._reading import at_hand, computed_at_hand
from .._tracing import eagerly, in_a_trace
from .._x64 import x64_as, x64_mode
from ._selection import part_in_program, take_part

__all__ = ["LONGEST", "Call", "is_plain", "kind_of", "run_waiting", "settings"]

_LARGE = 2**24  # bytes that keep a GPU busy for as long as a call takes its host
LONGEST = 16  # calls of a program
_MOST = 32  # calls that wait
_OFTEN = 3  # times that calls come in one order until they get a program though each has its own
_FORGOTTEN = 2**12  # orders that are kept; then all are forgotten
_LOCK = threading.RLock()
_waiting: collections.deque = collections.deque()  # weak references
_met: dict = {}  # how often calls came in an order, or their program


def settings() -> tuple:
    """Return JAX's settings that decide on the result of a call."""
    return x64_mode(), jax.config.jax_numpy_dtype_promotion


class Kind:
    """What the calls have in common that one program can run."""

    def __init__(self, function, options: tuple, settings: tuple, operands: tuple):
        self.function, self.options, self.settings = function, dict(options), settings
        self.has_run = False  # alone, so that it is compiled
        self.shape, self.dtype, self.weak_type = None, None, False
        try:
            given = [jax.ShapeDtypeStruct(s, d, weak_type=w) for s, d, w in operands]
            seen, found = jax.eval_shape(lambda *xs: (xs, self(*xs)), *given)
        except Exception:  # which the call raises when it runs at once
            return
        if [x.dtype for x in seen] != [x.dtype for x in given]:  # an old JAX makes float32 of float64
            return
        if isinstance(found, jax.ShapeDtypeStruct) and is_plain(found.shape, found.dtype):
            self.shape, self.dtype, self.weak_type = found.shape, found.dtype, found.weak_type

    def __call__(self, *operands):
        return self.function(*operands, **self.options)


kind_of = functools.lru_cache(maxsize=4096)(Kind)


def is_plain(shape: tuple[int, ...], dtype) -> bool:
    """Whether an array is one of numbers, and not large."""
    return isinstance(dtype, np.dtype) and math.prod(shape) * dtype.itemsize <= _LARGE


class Call:
    """A call that has not run yet; it knows shape, dtype and device of its result."""

    __slots__ = ("__weakref__", "_array", "_at_hand", "_result", "committed", "kind", "length", "operands")
    __slots__ += ("sharding",)

    def __init__(self, kind: Kind, operands: list, sharding, committed: bool):
        self.kind, self.operands, self.sharding, self.committed = kind, operands, sharding, committed
        self.length = 1 + sum([x.length for x in operands if type(x) is Call])
        self._array: Any = None
        self._result: jax.Array | None = None
        self._at_hand: jax.Array | None = None

    shape = property(lambda self: self.kind.shape)
    dtype = property(lambda self: self.kind.dtype)
    weak_type = property(lambda self: self.kind.weak_type)

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
        _waiting.append(weakref.ref(self))
        if len(_waiting) > _MOST:
            oldest = _waiting.popleft()()
            if oldest is not None and oldest.is_wanted:
                oldest.value()

    @property
    def is_simple(self) -> bool:
        """Whether it can run as a call does that does not wait."""
        if self.length > 1 or in_a_trace() or self.kind.settings != settings():
            return False
        return all(x.layout is None for x in self.operands)

    @property
    def has_run(self) -> bool:
        return self._result is not None

    def value(self) -> jax.Array:
        """Run it, with what it is computed of."""
        with _LOCK:
            if self._result is None:
                if self.is_simple:
                    self.finish(_run_alone(self))
                else:
                    _run([self])
            return self._result  # type: ignore[return-value]

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
            calls = [call for call in [reference() for reference in _waiting] if call is not None]
            _waiting.clear()
            for call in calls:
                if call.is_wanted:
                    call.value()


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
    calls = _to_run(wanted)
    plan, sources = _plan(calls, [i for i, call in enumerate(calls) if call in wanted or call.is_wanted])
    with eagerly(), _settings_of(calls[0]):
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
    with eagerly(), _settings_of(call):
        program = _program_of(plan)
        if program is not None:
            (number,) = computed_at_hand(program, *sources)
            return number
        for each in calls:
            each.finish(_run_alone(each))
        return at_hand(call._result)


def _settings_of(call: Call):
    return contextlib.nullcontext() if call.kind.settings == settings() else _settings_as(*call.kind.settings)


@contextlib.contextmanager
def _settings_as(x64: bool, promotion: str):
    with x64_as(x64), jax.numpy_dtype_promotion(promotion):
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
    steps, layouts, _ = plan
    if len(steps) == 1 and layouts.count(None) == len(layouts):
        return None
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
