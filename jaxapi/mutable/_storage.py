"""What an array holds: a value, or a view of another array's; and how that is replaced."""

import contextlib
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxapi

from .._core._dtypes import native_dtype, x64_for
from .._core._programs import compiled, eagerly, in_a_trace, is_traced
from .._interop._host_memory import copy_by_program, copy_host
from .._missing import missing_attribute
from . import _host_way as host_way
from ._batches import (
    LARGE,
    WAITS,
    Pending,
    concrete,
    is_asked_at_once,
    is_lent,
    is_recording,
    is_waited_for,
    lend,
    recorded,
    run_readers,
)
from ._capacity._rows import Buffer, Rows, rows_in, with_rows
from ._faces import MUTABLE
from ._in_place import is_small
from ._masked import Masked
from ._selection import Part, Selection, Source
from ._views import View

__all__ = ["Storage", "copied_to_jax", "duplicate", "duplicate_line", "is_for_host"]


class Storage:
    """The memory of an array, which writes replace: NumPy's in the host's memory, or a value of JAX.

    In the host's memory ``_host`` is NumPy's array, whose views are NumPy's, and ``_value`` a copy of it for
    JAX. Everywhere else ``_value`` is what is replaced. `_in_host_memory` turns the second into the first.
    On a device a value may be ``_pending``: then ``_value`` is made when it is asked for.
    An array with room has a ``_buffer``, which is replaced, and ``_value`` is what counts of it, made when it
    is asked for and kept until the next write.
    """

    __slots__ = (
        "__weakref__",
        "_buffer",
        "_host",
        "_is_read_only",
        "_is_scalar",
        "_lock",
        "_masked",
        "_module",
        "_pending",
        "_shared",
        "_value",
        "_view",
    )

    # Empty in a view, where _host is the memory, before what counts in a buffer is asked for, and while
    # another thread writes: see __getattr__.
    _value: jax.Array
    _buffer: Buffer | None
    _host: np.ndarray | None
    _is_read_only: bool  # what ``flags.writeable = False`` says; NumPy's array in _host has a flag of its own
    _is_scalar: bool  # whether NumPy's would be a scalar, which only the standard's namespace writes to
    _lock: Any  # which a view lacks, and what _host holds
    _masked: Masked | None  # what a mask selects, where _buffer, _pending, _value and _view are empty
    _module: str  # the namespace that made it
    _pending: Pending | None  # the value, where _value is empty
    _shared: bool  # whether its memory may be in use elsewhere, beyond what references to _value tell
    _view: View | None
    _read_masked: Callable[[Masked], Any]  # as another array

    if not TYPE_CHECKING:  # for a type checker unknown attributes stay errors

        def __getattr__(self, name):
            """Read a view's value, a copy of the host's memory, or a value that another thread is writing.

            Of an array that a mask selects, read that first.
            """
            if name in _MEMORY and self._masked is not None:
                self._hold_what_is_selected()
                return getattr(self, name)
            if name == "_value":
                if self._view:
                    return self._view.value()
                if self._host is not None:
                    return copied_to_jax(self._host)
                with self._lock:
                    if self._host is not None:  # by another thread
                        return copied_to_jax(self._host)
                    pending = self._pending
                    if pending is not None:
                        value = pending.value()
                        self._value = value  # no call until both are done, which Ctrl-C could end
                        self._pending = None
                    elif self._buffer is not None:
                        _value_slot.__set__(self, self._buffer.exact())
                    return _value_slot.__get__(self, Storage)
            raise missing_attribute(name, jaxapi.__all__)

    def _hold_what_is_selected(self) -> None:
        """Read what a mask selects, and hold that from now on."""
        with self._lock, eagerly():  # in a trace, too, from which nothing may stay
            if self._masked is None:  # by another thread
                return
            part = self._read_masked(self._masked)
            with contextlib.suppress(AttributeError):  # of an array with room
                self._value = _value_slot.__get__(part, Storage)
            self._buffer = part._buffer
            self._host = part._host
            self._pending = part._pending
            self._view = part._view
            self._lock = part._lock
            self._masked = None

    def _run_if_it_reads(self, value: Any) -> None:
        """Read what a mask selects of a value, or by it, which others may delete from now on."""
        if self._reads(value):
            self._hold_what_is_selected()

    def _reads(self, value: Any) -> bool:
        """Whether it is what a mask selects of a value, or by it."""
        masked = self._masked
        return masked is not None and masked.reads(value)

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each axis."""
        host = self._host  # asked first, as NumPy computes in less time than a call takes
        if host is not None:
            return host.shape
        pending = self._pending
        return self._kept.shape if pending is None else pending.shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        if self._host is None:
            raise AttributeError(
                "the shape of an array is set on the CPU alone, outside of jit: write x = x.reshape(shape)"
            )
        self._host.shape = shape

    @property
    def _kept(self) -> Any:
        """What the array is kept as, of its shape and dtype: memory, view, buffer, pending or made value."""
        if self._host is not None:
            return self._host
        if self._view is not None:
            return self._view
        if self._buffer is not None:
            return self._buffer
        pending = self._pending
        return self._value if pending is None else pending

    @property
    def _current(self) -> Any:
        """The value, or what it is pending as; of a view or a buffer what is read of that."""
        pending = self._pending
        if pending is not None:
            return self._value if pending.is_there else pending
        if self._view is not None:
            return self._view.current()
        buffer = self._buffer
        part = None if buffer is None else self._part_of_pending(buffer)
        return self._value if part is None else part.taken()

    def _part_of_pending(self, buffer: Buffer) -> Part | None:
        """Return what counts of a buffer that is pending; None of another one."""
        if buffer._pending is None or not is_recording():
            return None
        memory = buffer.memory
        every_row = Selection.of((slice(buffer.count), ...), memory.shape)
        return Part(memory, every_row)

    def _holds(self, value: Any) -> bool:
        """Whether this is the array's value, or what that is pending as."""
        if self._pending is not None:
            return value is self._pending
        with contextlib.suppress(AttributeError):  # if it was not asked for
            return _value_slot.__get__(self, Storage) is value
        return False

    @property
    def _is_numpys_scalar(self) -> bool:
        """Whether it cannot be written to, as a scalar of NumPy's; the standard knows arrays alone."""
        return self._is_scalar and self._module != MUTABLE

    @property
    def _typed(self) -> Any:
        """The host's memory or the value, either of which can be printed."""
        return self._value if self._host is None else self._host

    @property
    def _memory(self) -> Any:
        """What has the dtype and the device, and more rows than count if the array has room."""
        return self._current_with_room if self._host is None else self._host

    def _operand(self) -> Any:
        """Return the value, or of a view what a program reads that computes with it; it may be pending."""
        if self._view is not None:
            return self._view.operand()
        buffer = self._buffer
        part = None if buffer is None else self._part_of_pending(buffer)
        return self._current if part is None else part

    @property
    def _value_with_room(self) -> jax.Array:
        """The value, or the buffer if there is one, in which the positions of what counts are the same."""
        return concrete(self._current_with_room)

    @property
    def _current_with_room(self) -> Any:
        """The same, which may be pending."""
        buffer = self._living_buffer()
        if buffer is not None:
            return buffer.memory
        is_of_all = self._view is not None and self._view.part is None
        rows = self._rows() if is_of_all else None
        return self._current if rows is None else rows.memory

    def _living_buffer(self) -> Buffer | None:
        """Return the buffer; None if the exact array, a view of its memory, was donated to a program."""
        buffer = self._buffer
        if buffer is not None and buffer._shared and self._is_exact_array_deleted():
            return None
        return buffer

    def _is_exact_array_deleted(self) -> bool:
        with contextlib.suppress(AttributeError):  # if there is none
            return _value_slot.__get__(self, Storage).is_deleted()
        return False

    def _rows(self) -> Rows | None:
        """Return the rows that count and their buffer; None for an array that is exact, or has to be."""
        if self._buffer is None and self._view is None:
            return None
        return self._rows_if_possible() if host_way.is_by_jax() else None

    def _rows_if_possible(self) -> Rows | None:
        """Return the same where arrays may have room now (`is_by_jax`)."""
        buffer = self._buffer
        if buffer is None:
            return None if self._view is None else self._view.rows()
        if buffer._shared and self._is_exact_array_deleted():
            return None
        return buffer.rows()

    def _has_room(self) -> bool:
        """Whether there is a buffer with which to compute now."""
        return self._buffer is not None and host_way.is_by_jax() and self._living_buffer() is not None

    @property
    def _owner(self) -> Any:
        """The array that holds the value: itself, or what it is a view of."""
        array: Any = self
        while array._view:
            array = array._view.owner
        return array

    def _selection_in_owner(self, selection: Selection) -> tuple[Any, Selection]:
        """Return a selection of this array as one of the array that owns the value."""
        if self._view and self._view.part is not None and self._view.reshaped is None:
            return self._view.owner, selection.within(self._view.part)
        return self, selection

    # In the host's memory

    def _readable(self) -> np.ndarray | None:
        """Return what NumPy can read, which nobody may write to; None if it is not in the host's memory."""
        if self._host is not None:
            return self._host
        if self._view:
            return None
        value = self._value
        return np.asarray(value) if is_for_host(value) else None

    def _in_host_memory(self) -> np.ndarray | None:
        """Return NumPy's array that is the memory from now on; None if the value is not the host's."""
        if self._host is not None or self._view:
            return self._host
        with self._lock:
            if self._host is None and is_for_host(value := self._value):
                self._host = np.array(value)
                self._host.flags.writeable = not self._is_read_only
                self._buffer = None
                del self._value
        return self._host

    # JAX's values

    def _handed_out(self) -> jax.Array:
        """Return the value for others, who may keep its memory: the next write leaves that as it is."""
        value = self._value
        owner = self._owner
        if owner._host is None and value is owner._value:
            owner._shared = True
            if owner._buffer is not None:
                lend(owner._buffer._value)
        return lend(value)

    def _spent(self) -> jax.Array:
        """Return the value for who may delete it: a copy of what others hold, too."""
        value = self._value
        if self._owner._host is not None:
            return value  # a copy
        if self._owner._buffer is not None:
            return duplicate(value)  # which may be a view of the buffer
        if self._view:
            return duplicate(value) if value is self._owner._value else value
        run_readers(value)
        is_held = self._shared or _count(self, value) != _ALONE
        return duplicate(value) if is_held else value

    def _rewrite(self, program, *args) -> None:
        """Replace the value by ``program(value, *args, made)`` if it may be written to; see `_replace`."""
        self._check_writeable()
        self._replace(program, *args)

    def _check_writeable(self) -> None:
        """Raise for a scalar of NumPy's and for what ``flags.writeable = False`` was said of."""
        if self._is_scalar and self._is_numpys_scalar:
            raise TypeError("a scalar cannot be written to: make an array of it, as numpy.array(x) does")
        if self._is_read_only:
            raise ValueError(
                "assignment destination is read-only: write to a copy, or set x.flags.writeable = True first"
            )

    def _replace(self, program, *args) -> None:
        """Replace the value by ``program(value, *args, made)``; nobody can read it meanwhile.

        ``made`` is None, or a list: then the program may use the memory of the value, and appends its result
        in the same call of C that does so. Ctrl-C is raised between calls, so one of both values is there.
        """
        if self._host is not None:
            new = concrete(program(self._value, *args, None))
            if is_traced(new):
                _refuse_leak(is_lost=True)
            self._host[...] = np.asarray(new)
            return
        if self._view:
            owner = self._owner
            with owner._lock if owner._host is None else contextlib.nullcontext():
                self._view.write(program(self._given_to(program), *args, None))
            return
        with self._lock:
            if self._buffer is None:
                _replace_in(self, program, args)
                return
            new = program(self._given_to(program), *args, None)
            if is_traced(new):
                _refuse_leak()
            if type(new) is Pending:
                with contextlib.suppress(AttributeError):
                    del self._value  # of the buffer; no call follows, which Ctrl-C could end
                self._pending = new
            else:
                self._value = new
                self._pending = None
            self._shared = False
            self._buffer = None  # the program knows of no room: from now on the array is exact

    def _held(self) -> Source | None:
        """Return the value, or the buffer if there is one, where statements wait.

        None is returned for a view, and for a buffer whose memory was donated.
        """
        if self._view is not None:
            return None
        buffer = self._buffer
        if buffer is None:
            pending = self._pending
            return Source(self._value if pending is None or pending.is_there else pending)
        if buffer._shared and self._is_exact_array_deleted():
            return None
        pending = buffer._pending
        return Source(buffer._value if pending is None else pending, buffer.count)

    def _replace_by_line(self, line_of: Any, *args: Any) -> bool:
        """Replace what is held by ``line_of(value, rows, *args)``, a line of a batch.

        ``rows`` says how many count if it is a buffer. Return False if it is no line, and nothing was
        replaced.
        """
        if self._view is not None or self._host is not None:
            return False
        with self._lock:
            held = self._held()
            holder: Any = self if self._buffer is None else self._buffer
            if held is None:
                return False
            if holder._shared and not _is_written_now(held.value):
                return False
            new = line_of(held.value, held.rows, *args)
            if new is None:
                return False
            if holder is not self:
                with contextlib.suppress(AttributeError):
                    del self._value  # what was kept for reuse
            _hold(holder, new)
            return True

    def _given_to(self, program) -> Any:
        """Return the value that a program is given, which is pending if it takes such and statements wait."""
        waits = getattr(program, "takes_pending", False) and is_recording()
        return self._current if waits else self._value

    def _replace_part(self, program, part: Selection, new: Any) -> None:
        """Let a program such as `put` replace what is selected, in the buffer if there is one."""
        if self._has_room():
            self._replace_rows(program, part, new)
        else:
            self._replace(program, part, new)

    def _replace_rows(self, program, *args) -> None:
        """Replace the buffer by ``program(buffer, *args, made)``, of as many rows; see `_replace`."""
        with self._lock:
            if self._buffer is None:  # another thread's write has just made the array exact
                value = self._value
                room = duplicate(concrete(with_rows(value, rows_in(len(value)))))
                self._buffer = Buffer(Rows(room, len(value)))
            with contextlib.suppress(AttributeError):
                del self._value  # what was kept for reuse
            _replace_in(self._buffer, program, args)


def _is_written_now(value: Any) -> bool:
    """Whether a line that writes to memory that may be in use elsewhere runs now, in new memory.

    It does where the value is lent. This lends it, unless somebody waits for it, who would run then.
    """
    if not is_lent(value) and not (type(value) is Pending or is_waited_for(value)):
        lend(value)
    return is_lent(value)


def _replace_in(holder: Any, program, args) -> None:
    """Replace what an array or a buffer holds, in its memory if nobody else holds that."""
    takes_pending = getattr(program, "takes_pending", False)
    may_wait = takes_pending and is_recording() and not is_asked_at_once(is_run=True)
    if may_wait and _write_waits(holder, program, args):
        return
    args = [concrete(x) for x in args]
    value = holder._value
    made = [value]
    try:
        holders = _take_out(holder, value)
        is_alone = holders == _ALONE and not holder._shared
        reuses = is_alone and not is_traced(value) and not is_small(value) and not in_a_trace()
        new = concrete(program(value, *args, made if reuses else None))
        if new is not made[-1]:
            if is_traced(new) and not is_traced(value):
                _refuse_leak()
            made.append(new)
    finally:  # without a call, which Ctrl-C could end
        holder._value = made[-1]
        if made[-1] is not value:
            holder._shared = False


def _write_waits(holder: Any, program, args) -> bool:
    """Let a write wait, as a line of a batch; return False for one that is better done at once."""
    before = holder.memory if type(holder) is Buffer else holder._current
    if before.nbytes > LARGE or holder._shared or is_traced(before):
        return False
    new = program(before, *args, WAITS)
    if new is None:
        return False
    if is_traced(new):
        _refuse_leak()
    _hold(holder, new)
    return True


def _hold(holder: Any, new: Any) -> None:
    """Let an array or a buffer hold a new value, which may be pending."""
    if type(new) is not Pending:
        holder._value = new
        holder._pending = None
    elif holder._pending is None:
        del holder._value  # no call until both are done, which Ctrl-C could end
        holder._pending = new
    else:
        holder._pending = new
    holder._shared = False


_value_slot = Storage.__dict__["_value"]
_MEMORY = frozenset(["_buffer", "_pending", "_value", "_view"])


def copied_to_jax(host: np.ndarray) -> jax.Array:
    """Return a copy of the host's memory as a value of JAX, which no later write changes.

    A small one is a program's argument, and of its result: `jax.device_put` takes ten times as long, which
    is most of what a function of a small array takes.
    """
    with eagerly():
        if not is_small(host) or host_way.checks_programs():
            return copy_host(host)
        return copy_by_program(host.astype(native_dtype(host.dtype)))


def is_for_host(value) -> bool:
    """Whether a value is in the host's memory and NumPy's array can take its place."""
    return (
        host_way.is_on()
        and not is_traced(value)
        and value.dtype.kind in "biufc"
        and (not value.committed or jax.device_count() == 1)
        and value.sharding.device_set == {host_way.cpu()}
    )


_copy = compiled(jnp.copy)  # which leaves an array uncommitted to its device, as jnp.copy does not
_copy_line = recorded(_copy)


def duplicate(value: Any) -> Any:
    """Copy a value; one that is traced or pending cannot be changed."""
    if is_traced(value) or type(value) is Pending:
        return value
    with eagerly():
        return _copy(value)


def duplicate_line(value: Any) -> Any:
    """Return the same, which may be pending."""
    if not is_recording() or is_traced(value) or type(value) is Pending:
        return duplicate(value)
    with x64_for(value.dtype):
        return _copy_line(value)


def _take_out(array, value) -> int:
    """Take its value out of an array, and count who holds it."""
    del array._value
    return sys.getrefcount(value)


def _count(array, value) -> int:
    return sys.getrefcount(value)


def _count_alone() -> int:
    """Return what `_rewrite` counts if nobody else holds the value.

    The value is handed on as there, from a local variable: Python 3.14 lends that reference, and does not
    count it.
    """
    array = object.__new__(Storage)
    array._value = object()  # type: ignore[assignment]
    value = array._value
    made = [value]
    try:
        holders = _take_out(array, value)
    finally:
        made.clear()
    return holders


# Without the GIL the count would prove nothing.
_ALONE = _count_alone() if getattr(sys, "_is_gil_enabled", lambda: True)() else -1


def _refuse_leak(is_lost: bool = False) -> None:
    """Raise if an array that is no part of a trace is written to in it: the write would be lost."""
    if is_lost or is_traced(jnp.zeros(())):  # so that every array made here is traced, too
        raise ValueError(
            "an array from outside is written to inside a function that jax.jit or jax.lax traces, where the "
            "write would be lost: pass the array as an argument and return it"
        )
