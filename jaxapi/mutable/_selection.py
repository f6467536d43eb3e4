"""What ints and slices select of an array, and reading and writing that.

Positions are inputs of the compiled programs, not part of them: ``x[3]`` and ``x[4]`` share one program, as
do all slices of one length. JAX's own indexing compiles for each.
"""

import functools
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .._core import _parts
from .._core._constants import constant
from .._core._constants import positions as positions_of
from .._core._dtypes import WIDE, refuse_complex, x64_as, x64_for, x64_inside
from .._core._programs import compiled, in_a_trace, is_traced
from .._interop import as_array
from .._interop._numbers import PYTHON_NUMBERS, leaf_types
from ._batches import (
    WAITS,
    LineProgram,
    Pending,
    Positions,
    attempt_by_kinds,
    attempt_of,
    concrete,
    continued,
    kind_of,
    line_of,
    line_program_of,
    number_in,
    takes_pending,
    warn_of_overflow,
)
from ._capacity._rows import is_exact, rows_in
from ._in_place import compiled_in_place
from ._keys import LONG, check_int, expand, indices_along

__all__ = [
    "InArray",
    "Part",
    "Selected",
    "Selection",
    "Source",
    "broadcast",
    "change",
    "compiled_pair",
    "computed_of_parts",
    "on_any_mesh",
]
__all__ += ["line_of_write", "one_program_suffices", "operand_kinds"]
__all__ += ["program_of_change", "program_of_parts"]
__all__ += ["put", "put_own"]
__all__ += ["read_before", "take", "take_line", "values_for"]
__all__ += ["with_first_operand", "without_first_operand", "without_parts"]


# XLA's older compilers drop the barriers of `read_before`: there each element is written by itself.
_LOSES_BARRIERS = jax.__version_info__ < (0, 11)
_SELECTIONS_KEPT = 4096
_LINES_KEPT = 4096
_SHORT = 4  # steps for which each first position is worth a program, where all of an axis is read


class Selection:
    """Positions along each axis of an array, and the axes of what is there."""

    __slots__ = ("_in_array", "axes", "has_many_rows", "is_element", "ranges", "shape")

    def __init__(self, ranges: tuple[Any, ...], axes: tuple[int | None, ...], is_element: bool = False):
        """Take a range or an int for each axis of the array, and what each axis of the result is.

        That is the axis of the array, or None for a new one. ``is_element`` says whether it is one element,
        which is read as a scalar; a key with an Ellipsis selects a view without axes.
        """
        self.ranges = ranges
        self.axes = axes
        self.is_element = is_element
        self.shape = tuple([1 if axis is None else len(ranges[axis]) for axis in axes])
        # Whether the first axis is that of the array, and has more rows than exact ones.
        has_rows = bool(axes) and axes[0] == 0 and type(ranges[0]) is range
        self.has_many_rows = has_rows and not is_exact(self.shape[0])
        self._in_array: InArray | None = None

    def __eq__(self, other: object) -> bool:
        """Whether both select the same, in the same order."""
        if not isinstance(other, Selection):
            return NotImplemented
        return self.ranges == other.ranges and self.axes == other.axes

    def __hash__(self) -> int:
        """Return the hash of what it consists of."""
        return hash((self.ranges, self.axes))

    def in_array(self, shape: tuple[int, ...]) -> "InArray":
        """Return what there is to know of it in an array of this shape; it is computed once."""
        known = self._in_array
        if known is None or known.array_shape != shape:
            known = self._in_array = InArray(self, shape)
        return known

    @classmethod
    def of(cls, keys: tuple, shape: tuple[int, ...]) -> "Selection":
        """Return what the parts of a key select of an array of this shape."""
        ranges: list[range | int] = []
        axes: list[int | None] = []
        has_dots = Ellipsis in keys
        missing = len(shape) - len([k for k in keys if k is not None and k is not Ellipsis])
        if missing or has_dots:
            keys = tuple([k for k, _ in expand(keys, shape)])
        for k in keys:
            if k is None:
                axes.append(None)
                continue
            axis = len(ranges)
            if type(k) is slice:
                axes.append(axis)
                ranges.append(range(*k.indices(shape[axis])))
            else:
                ranges.append(check_int(k, axis, shape[axis]))
        return cls(tuple(ranges), tuple(axes), is_element=not axes and not has_dots)

    @staticmethod
    @functools.lru_cache(_SELECTIONS_KEPT)
    def transposed(shape: tuple[int, ...], axes: tuple[int, ...]) -> "Selection":
        """Return the selection of everything, with the axes in another order."""
        return Selection(tuple(map(range, shape)), axes)

    def is_all(self, shape: tuple[int, ...]) -> bool:
        """Whether it selects all of an array of this shape, in its order."""
        return self.in_array(shape).is_all

    def within(self, outer: "Selection") -> "Selection":
        """Return what this selects of the result of ``outer``, as a selection of the array itself."""
        ranges = list(outer.ranges)
        for positions, axis in zip(self.ranges, outer.axes, strict=True):
            if axis is None:
                continue
            if isinstance(positions, int):
                ranges[axis] = ranges[axis][positions]
            else:
                ranges[axis] = _composed(ranges[axis], positions)
        axes = [None if axis is None else outer.axes[axis] for axis in self.axes]
        return Selection(tuple(ranges), tuple(axes), self.is_element)


def _composed(outer: range, positions: range) -> range:
    """Return what positions select of a range; where they are none, too, where they would start."""
    start = outer.start + positions.start * outer.step
    step = outer.step * positions.step
    return range(start, start + len(positions) * step, step)


def take(value: Any, selection: Selection) -> Any:
    """Return what is selected; of what is pending, as such."""
    known = selection.in_array(value.shape)
    return value if known.is_all else _take(value, *_program_of(known, value))


def take_line(value: Any, selection: Selection) -> Any:
    """Return the same as a line of a batch, where statements wait."""
    known = selection.in_array(value.shape)
    if known.is_all or known.is_long:
        return take(value, selection)
    return _take_line(value, known.starts, known.layout)


def one_program_suffices(value: jax.Array) -> bool:
    """Whether one program can read or write a part and do more: of a concrete value, on one device."""
    if type(value) is Pending:
        return True
    if is_traced(value) or in_a_trace():
        return False
    sharding = value.sharding
    return isinstance(sharding, jax.sharding.SingleDeviceSharding) or len(sharding.device_set) == 1


class Part:
    """An operand that is selected of a value: the program that computes with it reads it."""

    __slots__ = ("dtype", "selection", "value", "weak_type")

    def __init__(self, value: jax.Array, selection: Selection):
        """Hold a value and a selection of a part of it, for which `one_program_suffices`."""
        self.value = value
        self.selection = selection
        self.dtype = value.dtype
        self.weak_type = value.weak_type

    def taken(self) -> Any:
        """Return what is selected, which may be pending."""
        return take(self.value, self.selection)


def computed_of_parts(function, operands) -> Any:
    """Return ``function(*operands)``, by one program that reads parts."""
    inputs, layouts = without_parts(operands, waits=False)
    if Pending in map(type, inputs):
        inputs = list(map(concrete, inputs))
    return _computed(function, layouts, *inputs)


def without_parts(operands, waits: bool) -> tuple[list[Any], tuple[Any, ...]]:
    """Return what a program reads that reads parts itself, and a layout for each operand that is one."""
    inputs = []
    layouts = []
    for x in operands:
        layout = None
        if type(x) is Part:
            starts, layout = _program_of_part(x, waits)
            inputs.append(starts)
            x = x.value
        inputs.append(x)
        layouts.append(layout)
    return inputs, tuple(layouts)


@functools.partial(compiled, static_argnums=(0, 1))
def _computed(function, layouts, *inputs):
    return _computed_of(function, layouts, inputs)


def _computed_of(function, layouts, inputs):
    remaining_inputs = iter(inputs)
    operands = []
    for layout in layouts:
        if layout is None:
            operands.append(next(remaining_inputs))
        else:
            starts = next(remaining_inputs)
            operands.append(layout.taken(next(remaining_inputs), starts))
    return function(*operands)


def operand_kinds(layouts, kinds) -> list[Any]:
    """Return the kind of each operand, of which a part has that of the array that it is selected of."""
    remaining_kinds = iter(kinds)
    of_operands = []
    for layout in layouts:
        if layout is not None:
            next(remaining_kinds)  # of its starts
        of_operands.append(next(remaining_kinds))
    return of_operands


def program_of_parts(function, layouts, kinds) -> LineProgram:
    """Return the line's program of `computed_of_parts`, for arguments of these kinds."""
    return line_program_of(_computed, (function, layouts), kinds)


@takes_pending
def put(value: jax.Array, selection: Selection, new, made: list | None) -> jax.Array:
    """Return the array after ``new`` was written there, in its memory if ``made`` is a list."""
    if type(new) is Part:
        if new.dtype == value.dtype and one_program_suffices(value):
            with x64_for(value.dtype):
                inputs = _inputs_of(selection, value, new.selection, new.value, made is WAITS)
                return _put_part(made, value, new.value, *inputs)
        new = new.taken()
    with x64_for(value.dtype):
        new = values_for(new, value, made is WAITS)
        starts, layout = _program_of(selection.in_array(value.shape), value, made is WAITS)
        if is_traced(value):
            one_by_one = _LOSES_BARRIERS and is_traced(new)
        else:  # XLA's partitioner fails at the gaps between what is written
            has_gaps = max(map(abs, layout.steps), default=1) > 1
            one_by_one = has_gaps and type(value) is not Pending and len(value.sharding.device_set) > 1
        value, new = read_before(value, new)
        return _put(made, value, new, starts, layout, one_by_one)


@takes_pending
def put_own(value: jax.Array, selection: Selection, own: Selection, made: list | None) -> jax.Array:
    """Return the array after a part of its own was written there, as it was before.

    That is one program, in its memory if ``made`` is a list, of an array for which `one_program_suffices`.
    """
    with x64_for(value.dtype):
        return _put_own(made, value, *_inputs_of(selection, value, own, value, made is WAITS))


def _inputs_of(written: Selection, value, read: Selection, source, waits: bool) -> tuple[Any, ...]:
    """Return the starts of what is written and of what is read, and the layouts of both."""
    starts, layout = _program_of(written.in_array(value.shape), value, waits)
    starts_of_read, layout_of_read = _program_of(read.in_array(source.shape), source, waits)
    return starts, starts_of_read, layout, layout_of_read


def change(value: jax.Array, selection: Selection, function, operand, made: list | None) -> jax.Array:
    """Return the array after ``function(part, operand)`` was written to the part that is selected.

    Where `one_program_suffices` that is one program, in its memory if ``made`` is a list.
    """
    operand = operand.taken() if type(operand) is Part else operand
    if not one_program_suffices(value):
        return put(value, selection, function(take(value, selection), operand), made)
    with x64_for(value.dtype):
        starts, layout = _program_of(selection.in_array(value.shape), value, made is WAITS)
        return _change(made, value, operand, starts, layout, function)


def on_any_mesh(arrays: int, keeps_sharding: bool = True):
    """Let a program of so many arrays take some that are sharded over a mesh's explicit axes.

    JAX's types of sharding refuse to write a part that is not sharded as the whole, so the compiler decides
    inside. The result is sharded as the first array, or lies on every device.
    """

    def decorate(program):
        @functools.wraps(program)
        def run(value, *args):
            sharding = jax.typeof(value).sharding
            axes = sharding.mesh.explicit_axes
            if not axes:
                return program(value, *args)
            if not keeps_sharding:
                sharding = jax.sharding.NamedSharding(sharding.mesh, jax.sharding.PartitionSpec())
            other_arrays = args[: arrays - 1]
            static = args[arrays - 1 :]

            def program_of_arrays(*arrays):
                return program(*arrays, *static)

            on_devices = jax.sharding.auto_axes(program_of_arrays, axes=axes, out_sharding=sharding)
            return on_devices(value, *other_arrays)

        return run

    return decorate


def compiled_pair(program, **options):
    """Compile a program twice: as it is, and for a list ``made`` reusing the memory of its first argument.

    The result is appended to the list as `InPlace` does. For `WAITS` the call is a line of a batch; None is
    returned where it cannot be one.
    """
    in_new_memory = compiled(program, **options)
    in_place = in_new_memory.in_place = compiled_in_place(program, **options)
    copying = continued(in_new_memory)
    attempt = attempt_of(in_new_memory)

    def run(made, *args):
        if made is None:
            return copying(*args)
        if made is WAITS:
            return attempt(*args)
        in_place(list(map(concrete, args)), made)
        return made[-1]

    run.in_new_memory = in_new_memory
    return run


class _Layout(NamedTuple):
    """What a program is compiled for: all of a selection but where it starts.

    A tuple, as JAX compares it at each call: of a Ctrl-C in a comparison in Python it makes a ValueError.
    """

    spans: tuple[int, ...]  # along each axis of the array, from the start to the last position
    offsets: tuple[int, ...]  # from the start to the first position
    steps: tuple[int, ...]
    axes: tuple[int | None, ...]  # the array's axes in the order of the result, None for one of length 1

    @property
    def lengths(self) -> list[int]:
        parts = zip(self.spans, self.offsets, self.steps, strict=True)
        return [-(-(span - offset) // abs(step)) for span, offset, step in parts]

    @property
    def kept(self) -> list[int]:
        """The array's axes in the order of the result."""
        return [axis for axis in self.axes if axis is not None]

    @property
    def backward(self) -> list[int]:
        return [axis for axis, step in enumerate(self.steps) if step < 0]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple([1 if axis is None else self.lengths[axis] for axis in self.axes])

    def taken(self, value: Any, starts: Any) -> Any:
        """Return what is selected, in a program that has the starts as inputs."""
        return _taken(value, starts, self)

    def written(self, value: Any, new: Any, starts: Any, one_by_one: bool = False) -> Any:
        """Return the array after that was written, in the same."""
        return _written(value, new, starts, self, one_by_one)


def _program_of(known: "InArray", value, waits: bool = False):
    """Return the inputs and the layout of the program for a selection in an array."""
    is_eager = waits or type(value) is Pending or not (is_traced(value) or in_a_trace())
    return _eager_program_of(known, value, waits) if is_eager else _traced_program_of(known, value)


def _program_of_part(part: Part, waits: bool):
    """Return the same of a part, which is one of a value outside of transformations."""
    return _eager_program_of(part.selection.in_array(part.value.shape), part.value, waits)


def _eager_program_of(known: "InArray", value, waits: bool):
    if known.is_long:
        return indices_along(known.starts, max(known.array_shape)), known.layout
    is_line = waits or type(value) is Pending
    return known.starts if is_line else positions_of(known.starts), known.layout


def _traced_program_of(known: "InArray", value):
    inputs = indices_along(known.starts, max(known.array_shape, default=0))
    # one input is sent faster to a device than several; in a trace they are constants
    return tuple(inputs) if is_traced(value) else inputs, known.layout


class Selected:
    """What a program reads, or writes, of an array: its inputs, and what it is compiled for."""

    __slots__ = ("layout", "shape", "starts")

    def __init__(self, starts: Positions, layout: Any, shape: tuple[int, ...]):
        """Take inputs, what takes them, and the shape of what is selected, with rows that do not count."""
        self.starts = starts
        self.layout = layout
        self.shape = shape


class InArray(Selected):
    """A selection in an array of a certain shape."""

    __slots__ = ("array_shape", "is_all", "is_long", "is_of_many_lengths", "is_of_rows_alone")

    def __init__(self, selection: Selection, shape: tuple[int, ...]):
        """Compute what programs are given, and are compiled for."""
        super().__init__(*_starts_and_layout(selection, shape), selection.shape)
        self.array_shape = shape
        self.is_long = max(shape, default=0) >= LONG  # an axis, whose positions are no int32
        self.is_all = False
        self.is_of_rows_alone = False  # each of them as it is in the array
        if selection.axes == tuple(range(len(shape))):
            every = tuple(map(range, shape))
            self.is_all = selection.ranges == every
            self.is_of_rows_alone = selection.ranges[1:] == every[1:]
        # Whether it is some of many rows, and a program for other lengths, too, is worth it.
        self.is_of_many_lengths = False
        has_int32_positions = 0 < math.prod(shape) < LONG
        if self.is_of_rows_alone and selection.has_many_rows and has_int32_positions:
            count = selection.shape[0]
            self.is_of_many_lengths = selection.ranges[0] != range(shape[0]) and rows_in(count) != count


class Source(NamedTuple):
    """What a line reads an array from: a value or a buffer, which may be pending, or a part of it."""

    value: Any  # or a Python number
    rows: int | None = None  # that count of what is read; None if all do
    selected: Selected | None = None  # None if all is read

    @property
    def memory_shape(self) -> tuple[int, ...]:
        """The shape of what is read, with rows that do not count."""
        return self.value.shape if self.selected is None else self.selected.shape

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of what counts."""
        shape = self.memory_shape
        return shape if self.rows is None else (self.rows, *shape[1:])


def _starts_and_layout(selection: Selection, shape: tuple[int, ...]) -> tuple[Positions, _Layout]:
    """Return the starts along the axes that are not whole, and what a program is compiled for."""
    starts = []
    spans = []
    offsets = []
    steps = []
    for positions, size in zip(selection.ranges, shape, strict=True):
        offset = 0
        if type(positions) is int:
            low = positions
            span = 1
            step = 1
        elif not positions:
            low = 0
            span = 0
            step = 1
        elif positions.step == 1:
            low = positions.start
            span = len(positions)
            step = 1
        else:
            first = positions[0]
            last = positions[-1]
            low = min(first, last)
            span = abs(last - first) + 1
            step = positions.step if span > 1 else 1
            is_of_whole_axis = low < abs(step) and low + span > size - abs(step)  # as x[::2] is
            if is_of_whole_axis and abs(step) <= _SHORT:
                low, span, offset = 0, size, low
        if span < size:  # else it starts at 0
            starts.append(low)
        spans.append(span)
        offsets.append(offset)
        steps.append(step)
    return Positions(starts), _Layout(tuple(spans), tuple(offsets), tuple(steps), selection.axes)


def _all_starts(starts, spans, shape):
    """Return the start along every axis, all of one dtype, as JAX wants them."""
    with x64_for(*[start.dtype for start in starts]):
        remaining_starts = iter(starts)
        zero = np.zeros((), starts[0].dtype if len(starts) else np.int32)
        return [
            next(remaining_starts) if span < size else zero for span, size in zip(spans, shape, strict=True)
        ]


@on_any_mesh(2, keeps_sharding=False)
def _taken(value, starts, layout):
    """Return what is selected, in a program that has the starts as inputs."""
    starts = _all_starts(starts, layout.spans, value.shape)
    block = lax.dynamic_slice(value, starts, layout.spans)
    block = lax.slice(block, layout.offsets, layout.spans, [abs(step) for step in layout.steps])
    block = lax.rev(block, layout.backward)
    order = sorted(layout.kept)
    block = block.reshape([block.shape[axis] for axis in order])
    block = lax.transpose(block, [order.index(axis) for axis in layout.kept])
    return block.reshape(layout.shape)


_take_at_once = compiled(_taken, static_argnums=2)
_take = continued(_take_at_once)
_take_line = line_of(_take_at_once)


@on_any_mesh(3)
def _written(value, new, starts, layout, one_by_one):
    lengths = layout.lengths
    kept = layout.kept
    new = broadcast(new.astype(value.dtype), layout.shape)
    new = new.reshape([lengths[axis] for axis in kept])
    new = lax.transpose(new, [kept.index(axis) for axis in sorted(kept)])
    new = new.reshape([n if axis in kept else 1 for axis, n in enumerate(lengths)])
    new = lax.rev(new, layout.backward)
    starts = _all_starts(starts, layout.spans, value.shape)
    steps = [abs(step) for step in layout.steps]
    if one_by_one:
        parts = zip(starts, layout.offsets, lengths, steps, strict=True)
        positions = [start + offset + step * np.arange(n) for start, offset, n, step in parts]
        return value.at[jnp.ix_(*positions)].set(new) if positions else new
    if any(step > 1 for step in steps):
        old = lax.dynamic_slice(value, starts, layout.spans)
        gaps = []  # along each axis before the first element, after the last, and between two
        for span, offset, n, step in zip(layout.spans, layout.offsets, lengths, steps, strict=True):
            gaps.append((offset, span - offset - (n - 1) * step - 1, step - 1))
        is_written = lax.pad(jnp.ones(new.shape, bool), False, gaps)
        spread = _parts.padded(new, jnp.zeros((), new.dtype), gaps)
        new = jnp.where(is_written, spread, old)
    return lax.dynamic_update_slice(value, new, starts)


def _value_written(value, new, starts, layout, one_by_one):
    return layout.written(value, new, starts, one_by_one)


def _part_written(value, source, starts, starts_of_read, layout, layout_of_read):
    return layout.written(value, layout_of_read.taken(source, starts_of_read), starts)


def _own_part_written(value, starts, starts_of_read, layout, layout_of_read):
    new = layout_of_read.taken(value, starts_of_read)
    value, new = lax.optimization_barrier((value, new))  # all is read before anything is written
    return layout.written(value, new, starts)


_put = compiled_pair(_value_written, static_argnums=(3, 4))


_put_part = compiled_pair(_part_written, static_argnums=(4, 5))
_put_own = compiled_pair(_own_part_written, static_argnums=(3, 4))


def line_of_write(value: Any, written: Selected, new: Source, is_wide: bool) -> Any:
    """Return the array after ``new`` was written there, as a line of a batch; None where it cannot be one.

    ``is_wide`` says whether the array's namespace computes in 64 bits.
    """
    is_x64 = is_wide or value.dtype in WIDE
    read = new.selected
    if read is None:
        key: tuple[Any, ...] = (_put.in_new_memory, written.layout, False)
        return attempt_by_kinds(_line_program_of_write, key, (value, new.value, written.starts), is_x64)
    if new.value.dtype != value.dtype:
        return None
    if new.value is value:
        key = (_put_own.in_new_memory, written.layout, read.layout)
        return attempt_by_kinds(_line_program_of_write, key, (value, written.starts, read.starts), is_x64)
    key = (_put_part.in_new_memory, written.layout, read.layout)
    operands = (value, new.value, written.starts, read.starts)
    return attempt_by_kinds(_line_program_of_write, key, operands, is_x64)


@functools.lru_cache(_LINES_KEPT)
def _line_program_of_write(key: tuple[Any, ...]) -> LineProgram | None:
    """Return the program of such a line; None where the value is not written as it is."""
    program, *layouts, (of_value, of_new, *of_starts), is_x64 = key
    if type(of_new) is type:
        if of_new is complex:
            return None
        of_new = kind_of((), of_value.dtype)
    elif of_new.dtype.kind == "c" and of_value.dtype.kind != "c":
        return None
    with x64_inside() if is_x64 else x64_as(False):
        return line_program_of(program, tuple(layouts), (of_value, of_new, *of_starts))


def _part_changed(value, function, layouts, layout, starts, *inputs):
    """Write what a function makes of a part of an array, and of another operand, to that part.

    ``inputs`` are what `_computed` reads, but for the array, which is the first operand.
    """
    new = _computed_of(function, layouts, with_first_operand(value, layouts, inputs))
    value, new = lax.optimization_barrier((value, new))  # all is read before anything is written
    return layout.written(value, new, starts)


def with_first_operand(value, layouts, inputs) -> list[Any]:
    """Return what a program reads of whose inputs the first operand was left out: it is behind its starts."""
    position = 0 if layouts[0] is None else 1
    return [*inputs[:position], value, *inputs[position:]]


def without_first_operand(layouts, inputs) -> list[Any]:
    """Return inputs of which the first operand is left out."""
    position = 0 if layouts[0] is None else 1
    return [*inputs[:position], *inputs[position + 1 :]]


_change_part = compiled_pair(_part_changed, static_argnums=(1, 2, 3))


def program_of_change(function, layouts, layout, kinds) -> LineProgram:
    """Return the line's program of such a change, for arguments of these kinds."""
    return line_program_of(_change_part.in_new_memory, (function, layouts, layout), kinds)


def _changed(value, operand, starts, layout, function):
    new = function(_taken(value, starts, layout), operand)
    value, new = lax.optimization_barrier((value, new))  # all is read before anything is written
    return _written(value, new, starts, layout, False)


_change = compiled_pair(_changed, static_argnums=(3, 4))


# Values


def values_for(new: Any, value: Any, waits: bool = False) -> Any:
    """Return what is to be written as an array; what comes from the host as NumPy casts it."""
    dtype = value.dtype
    if isinstance(new, (jax.Array, Pending)):
        if new.dtype != dtype:
            refuse_complex(new.dtype, dtype)
        return new
    if isinstance(new, (list, tuple)) and dtype.kind in "biufc":
        numbers = PYTHON_NUMBERS if dtype.kind in "bc" else PYTHON_NUMBERS - {complex}
        if leaf_types(new) <= numbers:
            return np.asarray(new, dtype)  # which raises for a number that an integer dtype does not hold
    if not isinstance(new, (np.ndarray, np.generic, int, float, complex)):
        return values_for(as_array(new), value)
    if type(new) in (int, float) and dtype.kind in "iuf" and not (is_traced(value) or in_a_trace()):
        number: Any = new
        if waits:
            return number_in(dtype, number)
        warn_of_overflow(dtype, number)
        return constant(number, dtype)
    if isinstance(new, complex) or getattr(new, "dtype", dtype).kind == "c":
        refuse_complex(np.dtype(complex), dtype)
    return np.asarray(new).astype(dtype) if hasattr(new, "dtype") else np.asarray(new, dtype)


def read_before(value, new):
    """Return both, so that in a trace all of ``new`` is there before ``value`` is written to.

    In `jax.lax.scan` and `jax.lax.map` XLA's compiler for the CPU writes ``x[1:] -= x[:-1]`` in place while
    it still reads x. That for GPUs, of JAX 0.11, makes one kernel of several writes and their derivatives,
    which may read outside of its memory. Elsewhere the barrier costs a small write a microsecond at most.
    """
    if not (is_traced(value) and is_traced(new)):
        return value, new
    value, new = lax.optimization_barrier((value, new))
    return value, new


def broadcast(new, shape):
    """Broadcast to ``shape``; NumPy lets what is written have more axes in front, of length 1."""
    extra = max(new.ndim - len(shape), 0)
    if math.prod(new.shape[:extra]) == 1:
        trimmed = new.reshape(new.shape[extra:])
        if all(n in (1, size) for n, size in zip(trimmed.shape[::-1], shape[::-1], strict=False)):
            return jnp.broadcast_to(trimmed, shape)
    raise ValueError(f"could not broadcast input array from shape {new.shape} into shape {tuple(shape)}")
