"""Buffers, the number of rows that count in them, and when arrays have room."""

import functools
import math
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import jaxapi

from ..._core._constants import constant
from ..._core._dtypes import WIDE, default_dtype, x64_for, x64_on
from ..._core._lengths import KEPT, cut
from ..._core._lengths import capacity as capacity_for
from ..._core._programs import compiled, eagerly, is_traced
from ..._interop._host_memory import aligned_empty
from ..._spaced._linspace import counted
from .. import _host_way as host_way
from .._batches import Pending, concrete, continued, of_rows, recorded

__all__ = [
    "OF_ARGUMENTS",
    "Buffer",
    "Rows",
    "as_default_integers",
    "compiled_in_width",
    "counted_rows",
]
__all__ += [
    "dtype_may_have_room",
    "filled_memory",
    "filled_rows",
    "is_exact",
    "least_rows_with_room",
    "number_of",
    "rows_in",
]
__all__ += ["are_worth_room", "rows_of_host", "takes_room", "with_rows"]

EXACT_UP_TO = 16  # rows
# What functions raise of arguments. On a buffer that is silenced: exact arrays raise it, with their shapes.
OF_ARGUMENTS = (IndexError, NotImplementedError, OverflowError, TypeError, ValueError)
_INT32 = np.dtype(np.int32)
_WITH_ROOM = WIDE | {np.dtype(letter) for letter in "?bBhHiIefF"}  # NumPy's numbers and booleans
_INT32_MAX = np.iinfo(np.int32).max


class Rows:
    """A buffer, a `jax.Array` of which the first rows count, and their number."""

    __slots__ = ("count", "memory")

    def __init__(self, memory: Any, count: int):
        """Say how many rows of a buffer count, which may be pending."""
        self.memory = memory
        self.count = count

    @property
    def value(self) -> jax.Array:
        """The buffer."""
        return concrete(self.memory)

    @property
    def dtype(self) -> np.dtype:
        """The data type of the elements."""
        return self.memory.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of what counts."""
        return (self.count, *self.memory.shape[1:])

    def __len__(self) -> int:
        """Return how many rows count."""
        return self.count

    def exact(self) -> jax.Array:
        """Return what counts, which may be a view of the buffer's memory."""
        return _exact(self.value, self.count)


class Buffer:
    """The buffer that an array holds, and writes replace; the rows that count, and their dtype, stay.

    It is made of rows that `are_worth_room`. ``_value`` is empty while another thread writes: see
    __getattr__.
    """

    __slots__ = ("_lock", "_pending", "_shared", "_value", "count", "dtype", "shape")

    _pending: Pending | None  # the value, where _value is empty
    _value: jax.Array
    _shared: bool  # whether an exact array is a view of its memory, which no write may use then

    def __init__(self, rows: Rows):
        """Hold rows that nobody else writes to."""
        self._lock = threading.RLock()
        self._pending = None
        self._shared = False
        memory = rows.memory
        self.count = rows.count
        self.shape = (rows.count, *memory.shape[1:])  # of what counts
        self.dtype = memory.dtype
        if type(memory) is Pending:
            self._pending = of_rows(memory)
        else:
            self._value = memory

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            """Read a value that is pending, or that another thread is writing."""
            if name != "_value":
                raise AttributeError(name)
            with self._lock:
                pending = self._pending
                if pending is not None:
                    value = pending.value()
                    self._value = value  # no call until both are done, which Ctrl-C could end
                    self._pending = None
                return _value_slot.__get__(self, Buffer)

    @property
    def memory(self) -> Any:
        """The value, or what it is pending as."""
        pending = self._pending
        return self._value if pending is None else pending

    def rows(self) -> Rows:
        """Return the rows as they are now."""
        pending = self._pending
        return Rows(self._value if pending is None else pending, self.count)

    def exact(self) -> jax.Array:
        """Return what counts; the next write leaves the memory to that."""
        with self._lock:
            self._shared = True
            return _exact(self._value, self.count)


def _exact(value: jax.Array, count: int) -> jax.Array:
    """Return the rows that count, of a view of the memory where that is possible."""
    with eagerly():
        if not host_way.checks_programs():
            return cut(count, value)[0]
        with jax.debug_nans(False), jax.debug_infs(False):  # it is no result of a program
            return cut(count, value)[0]


_value_slot = Buffer.__dict__["_value"]


def is_exact(count: float) -> bool:
    """Whether so few rows have no room."""
    return count <= EXACT_UP_TO


def least_rows_with_room() -> int:
    """Return the least number of rows that may have room."""
    return EXACT_UP_TO + 1


def rows_in(count: int) -> int:
    """Return how many rows a buffer has in which so many count."""
    return count if count <= EXACT_UP_TO else capacity_for(count, KEPT)


def number_of(rows: int) -> jax.Array:
    """Return a number of rows, or a position among them, as programs take it."""
    return constant(rows, _INT32)


def dtype_may_have_room(dtype: np.dtype) -> bool:
    """Whether arrays of a dtype may have room: one of NumPy's numbers or booleans."""
    return dtype in _WITH_ROOM


def compiled_in_width(
    function: Callable[..., Any], as_line: Callable[..., Any] | None = None, **options: Any
) -> Callable[..., Any]:
    """Return what `compiled` does, of arrays that keep their 64 bits while x64 mode is off.

    ``as_line`` is `recorded` or `continued`, for a program that may be a line of a batch.
    """
    program = compiled(function, **options)
    if as_line is not None:
        program = as_line(program)

    @functools.wraps(function)
    def run(*args: Any) -> Any:
        with x64_for(*[x.dtype for x in args if isinstance(x, (jax.Array, Pending))]):
            return program(*args)

    return run


def as_default_integers(made: jax.Array) -> jax.Array:
    """Return positions, or numbers of elements, in the default dtype of integers.

    Programs of 64-bit arrays make them of 64 bits, in which x64 mode may be off.
    """
    dtype = default_dtype(int)
    return made if made.dtype == dtype else made.astype(dtype)


def are_worth_room(rows: Rows) -> bool:
    """Whether an array of rows has room: they are many, and each element has an int32 for its position."""
    memory = rows.memory
    return rows.count > EXACT_UP_TO and memory.dtype in _WITH_ROOM and 0 < memory.size <= _INT32_MAX


def _buffer_has_int32_positions(size: int) -> bool:
    """Whether a buffer for so many elements has so, too: it has at most twice as many."""
    return 0 < 2 * size <= _INT32_MAX


def takes_room(value: Any) -> bool:
    """Whether a value is an array on one device, of numbers whose dtype is no weak one."""
    if not isinstance(value, (jax.Array, Pending)) or is_traced(value) or not value.ndim:
        return False
    if value.dtype not in _WITH_ROOM or value.weak_type or not 0 < value.size <= _INT32_MAX:
        return False
    if isinstance(value, Pending):
        return True
    return isinstance(value.sharding, jax.sharding.SingleDeviceSharding)


def rows_of_host(host: np.ndarray, sharding: Any = None) -> Rows | None:
    """Return a buffer with a copy of the host's memory; None where all of it counts."""
    count = host.shape[0] if host.ndim else 0
    capacity = rows_in(count)
    if capacity == count or host.dtype not in _WITH_ROOM or not _buffer_has_int32_positions(host.size):
        return None
    room = aligned_empty((capacity, *host.shape[1:]), host.dtype)
    room[:count] = host
    room[count:] = 0
    with eagerly(), x64_on():
        return Rows(jax.device_put(room, sharding), count)


def filled_rows(shape: Any, dtype: np.dtype, value: Any = 0) -> Rows | None:
    """Return a buffer in which each element is a number; None where it has none, or shapes are wrong.

    Other numbers than 0 and 1 are NumPy's, of the dtype.
    """
    lengths = (shape,) if type(shape) is int else shape
    if type(lengths) is not tuple or not lengths or any(type(n) is not int or n < 1 for n in lengths):
        return None
    count = lengths[0]
    capacity = rows_in(count)
    if capacity == count or not _buffer_has_int32_positions(math.prod(lengths)):
        return None
    if not dtype_may_have_room(dtype) or not host_way.is_by_jax():
        return None
    return Rows(filled_memory(value, (capacity, *lengths[1:]), dtype), count)


def filled_memory(value: Any, shape: tuple[int, ...], dtype: np.dtype) -> Any:
    """Return an array of a device in which each element is a number, as `filled_rows`; it may be pending."""
    with x64_for(dtype):
        return _filled(value, shape, dtype) if type(value) is int else _filled_by(value, shape)


def counted_rows(start: Any, stop: Any, step: Any, dtype: np.dtype | None) -> Rows | None:
    """Return a buffer that begins with evenly spaced integers; None where numbers or dtype are others."""
    if stop is None:
        stop = start
        start = 0
    step = 1 if step is None else step
    if not all(type(number) is int for number in (start, stop, step)) or step == 0:
        return None
    count = len(range(start, stop, step))
    capacity = rows_in(count)
    dtype = default_dtype(int) if dtype is None else dtype
    last = start + step * (capacity - 1)
    is_large = max(abs(start), abs(last)) > _INT32_MAX
    is_too_low = dtype.kind == "u" and last < 0
    if is_large or is_too_low or dtype.itemsize < 4:
        return None  # the numbers behind those that count may not be ones of the dtype
    if (
        capacity == count
        or dtype.kind not in "ifu"
        or not dtype_may_have_room(dtype)
        or not host_way.is_by_jax()
    ):
        return None
    if start == 0 and step == 1:
        with x64_for(dtype):
            return Rows(_counted(capacity, dtype), count)
    return Rows(jaxapi.arange(start, last + step, step, dtype=dtype), count)


def with_rows(value: Any, capacity: int) -> Any:
    """Return an array of the host or a device with so many rows, of which new ones are 0."""
    missing = capacity - value.shape[0]
    if not missing:
        return value
    if isinstance(value, np.ndarray):
        return np.concatenate([value, np.zeros((missing, *value.shape[1:]), value.dtype)])
    return _padded(value, missing)


def _padded_by(value, missing):
    zero = jnp.zeros((), value.dtype)
    return lax.pad(value, zero, [(0, missing, 0), *[(0, 0, 0)] * (value.ndim - 1)])


def _filled_with(value, shape, dtype):
    return jnp.full(shape, value, dtype)


_padded = compiled_in_width(_padded_by, continued, static_argnums=1)


def _filled_by_operand(value, shape):
    return jnp.broadcast_to(value, shape)


_filled_by = recorded(compiled(_filled_by_operand, static_argnums=1))
_filled = recorded(compiled(_filled_with, static_argnums=(0, 1, 2)))
_counted = recorded(counted)
