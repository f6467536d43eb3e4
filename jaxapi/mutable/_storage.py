"""What an array holds: a value, a view or what a value will be made of; and how that is replaced."""

import sys
import threading
import weakref
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxapi

from .._compilation import compiled
from .._missing import missing_attribute
from .._tracing import eagerly, in_a_trace, is_traced
from ._deferred import SMALL, Element, PendingWrites, Snapshot, can_defer
from ._selection import Selection, host_values
from ._views import View

__all__ = ["Storage", "duplicate"]

_NEW_LOCK = threading.Lock()
_NUMBERS = (int, float, complex, np.generic)


class Storage:
    """The memory of an array, which writes replace, and the elements that wait to be read or written."""

    __slots__ = ("__weakref__", "_copied", "_deferred", "_lock", "_shared", "_snapshot", "_value", "_view")

    _value: jax.Array  # empty in a view, while another thread writes, and if made later: see __getattr__
    _view: View | None
    _deferred: Any  # what the value will be made of: an Element, a PendingWrites, a _Nested; or None
    _snapshot: Any  # a weak reference to the Snapshot of elements that were read of _value
    _copied: bool  # whether another array may hold the same value, as copies do until they are written to
    _shared: bool  # whether its memory may be in use elsewhere, beyond what references to _value tell
    _lock: Any  # made at the first write

    if not TYPE_CHECKING:  # for a type checker unknown attributes stay errors

        def __getattr__(self, name):
            """Make what a slot lacks: a lock; a view's value; a value that another thread is writing."""
            if name == "_lock":
                with _NEW_LOCK:
                    try:
                        return _slot(self, "_lock")
                    except AttributeError:
                        self._lock = threading.RLock()
                        return self._lock
            if name == "_value":
                if self._view:
                    return self._view.value()
                with self._lock:
                    if self._deferred:
                        self._value = self._deferred.value()
                        if type(self._deferred) is Element:
                            self._copied = True  # what is read next may be this, too
                        self._deferred = None
                    return _slot(self, "_value")
            if name == "_snapshot":
                return None
            if name == "_copied":
                return False
            raise missing_attribute(name, jaxapi.__all__)

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each axis."""
        return self._view.shape if self._view else (self._deferred or self._value).shape

    @property
    def _known(self) -> Any:
        """What knows dtype, shape and device of an array that is no view."""
        return self._deferred or self._value

    @property
    def _owner(self) -> Any:
        """The array that holds the memory: itself, or what it is a view of."""
        array: Any = self
        while array._view:
            array = array._view.owner
        return array

    def _place(self, selection: Selection) -> tuple[Any, Selection]:
        """Return a selection of this array as one of the array that owns the memory."""
        if self._view and self._view.reshaped is None:
            return self._view.owner, selection.within(self._view.selection)
        return self, selection

    def _place_of(self, place: tuple[int, ...]) -> tuple[Any, tuple[int, ...]]:
        """Do the same to the place of an element."""
        if self._view and self._view.reshaped is None:
            return self._view.owner, self._view.selection.place(place)
        return self, place

    def _element(self, place: tuple[int, ...]) -> Element | None:
        """Return an element to be read later, None if it must be read at once."""
        later: Any = self._deferred
        if type(later) is PendingWrites:
            found = later.elements.get(place)
            if found is None:
                return Element(later.snapshot, place)
            return found if type(found) is Element else None
        if type(later) is Element and not place:
            return later
        value = self._value
        known = self._snapshot
        snapshot = known and known()
        if snapshot and snapshot.value is value and not self._shared:
            return Element(snapshot, place)
        if self._view or not can_defer(value):
            return None
        with _NEW_LOCK:
            if self._shared:
                return None
            snapshot = self._snapshot and self._snapshot()
            if snapshot is None or snapshot.value is not value:
                snapshot = Snapshot(value)
                self._snapshot = weakref.ref(snapshot)
            return Element(snapshot, place)

    def _defer_write(self, place: tuple[int, ...], new: Any) -> bool:
        """Take an element that is to be written; say no if it must be written at once."""
        later: Any
        element: Any
        if isinstance(new, Storage):
            element = None if new.shape else new._element(())
        else:
            element = host_values(new, self._owner._known.dtype) if isinstance(new, _NUMBERS) else None
        if self._view or element is None or in_a_trace():
            return False
        with self._lock:
            later = self._deferred
            if type(later) is not PendingWrites:
                self._value  # noqa: B018 (an element is read, to be one of an array of its own)
                start = self._element(place)
                later = start and PendingWrites(start.snapshot)
            if not later or not later.takes(element):
                return False
            later.elements[place] = element
            if self._deferred is None:
                self._deferred = later
                del self._value
            elif later.is_full:
                self._value  # noqa: B018 (which writes them)
        return True

    def _hand_out(self) -> None:
        """Get ready for others who may delete the value: unread elements and copies keep what they have."""
        if self._view:
            if self._copied:
                self._view.forget()
            self._owner._hand_out()
            return
        with self._lock:
            count = _count_holders(self)
            with _NEW_LOCK:
                held = self._snapshot and self._snapshot()
                self._snapshot, self._shared = None, True
            if (held or (self._copied and count != _ALONE_COUNTED)) and not is_traced(self._value):
                self._value = duplicate(self._value)
            self._copied = False

    def _becomes(self, other: Any) -> bool:
        """Take the value of another array as a copy of it would; say no if it must be written."""
        if self._view or other._owner._shared or in_a_trace():
            return False
        new = other._value
        with self._lock:
            old = self._value
            if new.shape != old.shape or new.dtype != old.dtype or new.weak_type:
                return False
            if new.sharding != old.sharding or new.committed != old.committed:
                return False
            other._copied = other._owner._copied = True
            self._value, self._shared, self._copied = new, False, True
        return True

    def _rewrite(self, program, *args) -> None:
        """Replace the value by ``program(value, *args, donate)``; nobody can read it meanwhile."""
        if self._view:
            self._rewrite_view(program, *args)
            return
        with self._lock:
            value, holders = _take_out(self)
            new = value
            try:
                donate = not self._shared and holders == _ALONE and _is_large(value)
                new = program(value, *args, donate)
                if is_traced(new) and not is_traced(value):
                    _refuse_leak()
            except BaseException:
                new = value
                raise
            finally:
                if new is not value:
                    self._shared = False
                self._value = new

    def _rewrite_view(self, program, *args) -> None:
        """Do the same to a view, and to the array that it is a part of."""
        view: Any = self._view
        with self._owner._lock:
            view.write(program(self._value, *args, False))


_copy = compiled(jnp.copy)  # which leaves an array uncommitted to its device, as jnp.copy does not


def duplicate(value: jax.Array) -> jax.Array:
    """Copy a value that is not traced."""
    with eagerly():
        return _copy(value)


def _slot(array, name):
    return Storage.__dict__[name].__get__(array, Storage)


def _is_large(value) -> bool:
    """Whether writing in place saves more than a second program to compile costs."""
    return is_traced(value) or value.nbytes > SMALL


def _take_out(array):
    """Take the value out of an array, and count who holds it."""
    value = array._value
    del array._value
    return value, sys.getrefcount(value)


def _count_holders(array):
    value = array._value
    return sys.getrefcount(value)


# What these count if nobody else holds the value. Without the GIL the count would prove nothing.
_example = object.__new__(Storage)
_example._value = object()  # type: ignore[assignment]
_ALONE_COUNTED = _count_holders(_example)
_ALONE = _take_out(_example)[1]
if not getattr(sys, "_is_gil_enabled", lambda: True)():
    _ALONE = _ALONE_COUNTED = -1


def _refuse_leak() -> None:
    """Raise if an array that is no part of a trace is written to in it: the write would be lost."""
    if is_traced(jnp.zeros(())):  # so that every array made here is traced, too
        raise ValueError(
            "an array from outside is written to inside a function that jax.jit or jax.lax traces, where the "
            "write would be lost: pass the array as an argument and return it"
        )
