"""Elements of small arrays, read and written when they are needed.

A program's run takes the host 20 to 60 us, for one number as for a thousand. So ``x[i]`` of an array of few
numbers runs none, nor does ``x[i] = y`` of a small one: a loop that hands elements from array to array,
``x[i, i] = y[i]``, runs a program at its end, and ``float(x[i])`` reads the copy of the whole array that JAX
keeps on the host.
"""

import jax
import jax.numpy as jnp
import numpy as np

from .._compilation import compiled
from .._constant_cache import constant
from .._tracing import eagerly, in_a_trace, is_traced
from .._x64 import x64_for
from ._elements import element
from ._selection import Selection, put

__all__ = ["Element", "PendingWrites", "Snapshot", "can_defer"]

SMALL = 2**16  # bytes that are copied as fast as they are written in place
_KEPT = 2**12  # bytes of an array that an unread element may keep in memory
_BLOCK = 32  # elements written at once, at least
_MOST = 1024  # elements that wait to be written


def can_defer(value) -> bool:
    """Whether elements of a value are read and written later: it is small, of one device and no trace's."""
    if is_traced(value) or value.nbytes > SMALL or in_a_trace():
        return False
    return len(value.sharding.device_set) == 1 and isinstance(value.dtype, np.dtype)


class Snapshot:
    """The value that elements are read of: another object once that one may be deleted."""

    __slots__ = ("__weakref__", "is_light", "value")

    def __init__(self, value: jax.Array):
        self.value = value
        self.is_light = value.nbytes <= _KEPT  # so that elements may keep it, a list of many, say


class _OfSnapshot:
    """What has the dtype and the device of its snapshot's value."""

    __slots__ = ("snapshot",)

    def __init__(self, snapshot: Snapshot):
        self.snapshot = snapshot

    @property
    def dtype(self):
        return self.snapshot.value.dtype

    @property
    def device(self):
        return self.snapshot.value.device


class Element(_OfSnapshot):
    """An element, as it was when it was indexed."""

    __slots__ = ("place",)

    shape = ()

    def __init__(self, snapshot: Snapshot, place: tuple[int, ...]):
        self.snapshot = snapshot
        self.place = place

    def value(self) -> jax.Array:
        """Read it on the device."""
        with eagerly():
            return element(self.snapshot.value, Selection(self.place, ()))

    def item(self):
        """Return it as a Python number."""
        return np.asarray(self.snapshot.value).item(*self.place)


class PendingWrites(_OfSnapshot):
    """A value, and elements that are still to be written to it."""

    __slots__ = ("_taken", "elements")

    def __init__(self, snapshot: Snapshot):
        super().__init__(snapshot)
        self._taken: Snapshot | None = None  # the one that the latest element was taken of
        self.elements: dict[tuple[int, ...], Element | np.ndarray] = {}

    @property
    def shape(self):
        return self.snapshot.value.shape

    @property
    def is_full(self) -> bool:
        return len(self.elements) >= _MOST

    def takes(self, new: Element | np.ndarray) -> bool:
        """Whether an element can be written as it is."""
        if not isinstance(new, Element) or new.snapshot is self._taken:
            return True
        value, source = self.snapshot.value, new.snapshot.value
        if source.dtype != value.dtype or source.weak_type or source.sharding != value.sharding:
            return False
        self._taken = new.snapshot
        return True

    def value(self) -> jax.Array:
        """Write what is to be written."""
        value = self.snapshot.value
        with eagerly(), x64_for(value.dtype):
            if len(self.elements) == 1:
                ((place, new),) = self.elements.items()
                number = new.value() if isinstance(new, Element) else new
                return put(value, Selection(place, ()), number, False)
            for source, places, to in self._sources():
                value = _moved(value, source, _positions(places, source.shape, to, value))
            return value

    def _sources(self):
        """Yield each array that elements come from, and the places: there, here."""
        numbers: list = []
        alone: list = []
        groups: dict = {}
        for place, new in self.elements.items():
            if not isinstance(new, Element):
                numbers.append((new, place))
            elif not new.place:
                alone.append((new.snapshot.value, place))
            else:
                groups.setdefault(new.snapshot, []).append((new.place, place))
        for snapshot, pairs in groups.items():
            yield snapshot.value, *zip(*pairs, strict=True)
        if numbers:
            host = np.zeros(_padded(len(numbers)), self.dtype)
            host[: len(numbers)] = [number for number, _ in numbers]
            yield host, _first(len(numbers)), [to for _, to in numbers]
        for start in range(0, len(alone), _BLOCK):
            part = alone[start : start + _BLOCK]
            elements = [x for x, _ in part] + [part[-1][0]] * (_BLOCK - len(part))
            yield _together(elements), _first(len(part)), [to for _, to in part]


def _first(n: int) -> list[tuple[int]]:
    """Return the first places of an array of one axis."""
    return [(i,) for i in range(n)]


def _padded(n: int) -> int:
    """Return how many elements the program writes that writes ``n``, so that few are compiled."""
    return max(_BLOCK, 1 << (n - 1).bit_length())


def _positions(places, shape: tuple[int, ...], to, array: jax.Array):
    """Return flat positions, from and to; the last is repeated, which changes nothing."""
    n = len(to)
    block = np.empty((2, _padded(n)), np.int32)
    block[0, :n] = np.ravel_multi_index(np.array(places).T, shape)  # type: ignore[arg-type]
    block[1, :n] = np.ravel_multi_index(np.array(to).T, array.shape)  # type: ignore[arg-type]
    block[:, n:] = block[:, n - 1 : n]
    return constant(block, array)


@compiled
def _moved(value, source, positions):
    elements = source.reshape(-1).at[positions[0]].get(mode="promise_in_bounds")
    return value.reshape(-1).at[positions[1]].set(elements, mode="promise_in_bounds").reshape(value.shape)


@compiled
def _together(elements):
    return jnp.stack(elements)
