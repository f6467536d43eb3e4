"""What an array holds: a value, or a view of another array's; and how that is replaced."""

import functools
import sys
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxapi

from .._core._dtypes import x64_for
from .._core._programs import compiled, eagerly, in_a_trace, is_traced
from .._missing import missing_attribute
from ._selection import Selection, values_for
from ._views import View

__all__ = ["Storage", "duplicate"]

SMALL = 2**16  # bytes that are copied as fast as they are written in place
_BY_HOST = 2**16  # bytes that the host copies to write single elements


class Storage:
    """The memory of an array, which writes replace."""

    __slots__ = ("__weakref__", "_host", "_lock", "_shared", "_value", "_view")

    _value: (
        jax.Array
    )  # empty in a view, where _host holds it, and while another thread writes: see __getattr__
    _host: np.ndarray | None  # the value of a small array on the CPU after single elements were written
    _view: View | None
    _shared: bool  # whether its memory may be in use elsewhere, beyond what references to _value tell
    _lock: Any  # which a view lacks

    if not TYPE_CHECKING:  # for a type checker unknown attributes stay errors

        def __getattr__(self, name):
            """Read a view's value, one that the host holds, or one that another thread is writing."""
            if name == "_value":
                if self._view:
                    return self._view.value()
                with self._lock:
                    if (host := self._held_by_host()) is not None:
                        with eagerly(), x64_for(host.dtype), jax.default_device(_default_cpu()):
                            self._value = _from_host(host)  # which may use its memory
                        self._host, self._shared = None, False
                    return _value_of(self)
            raise missing_attribute(name, jaxapi.__all__)

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each axis."""
        return self._view.shape if self._view else self._typed.shape

    @property
    def _typed(self) -> Any:
        """The value, or what has its shape and dtype."""
        host = self._host
        return self._value if host is None else host

    @property
    def _owner(self) -> Any:
        """The array that holds the memory: itself, or what it is a view of."""
        array: Any = self
        while array._view:
            array = array._view.owner
        return array

    def _place(self, selection: Selection) -> tuple[Any, Selection]:
        """Return a selection of this array as one of the array that owns the memory."""
        if self._view and self._view.part is not None and self._view.reshaped is None:
            return self._view.owner, selection.within(self._view.part)
        return self, selection

    def _place_of_element(self, place: list[int]) -> tuple[Any, list[int]]:
        """Return the position of an element in the array that owns the memory."""
        view = self._view
        if view is None or view.part is None or view.reshaped is not None:
            return self, place
        found: list[Any] = list(view.part.ranges)  # an int where the view has no axis
        for axis, i in zip(view.part.axes, place, strict=True):
            if axis is not None:
                found[axis] = found[axis][i]
        return view.owner, found

    # Single elements of small arrays on the CPU. A program for each would double the time of
    # scikit-learn's GaussianMixture on 10,000 rows; NumPy reads and writes them in the host's memory.

    def _held_by_host(self) -> "np.ndarray | None":
        """Return the host's memory where it alone has the value."""
        return None if self._host is None or _value_of(self, None) is not None else self._host

    def _seen_by_host(self) -> "np.ndarray | None":
        """Return the value in the host's memory, or None where a program has to read and write it."""
        if in_a_trace():
            return None
        if self._host is None and not self._view:
            with self._lock:  # else a write of another thread could come between
                if _is_for_host(value := self._value):
                    self._host = np.asarray(value)
        return self._host

    def _write_by_host(self, place: list[int], new: Any) -> bool:
        """Write an element; False where a program has to do it."""
        if self._view:
            return False
        if isinstance(new, Storage):
            new = new._value if new._host is None else new._host
        with self._lock:
            seen = self._seen_by_host()
            if seen is None or is_traced(new):
                return False
            if not hasattr(new, "dtype") or new.dtype != seen.dtype:
                if isinstance(new, jax.Array):
                    return False
                new = values_for(new, seen)
            if new.shape:
                return False
            host = self._held_by_host()
            if host is None:
                self._host = host = np.array(seen)
                del self._value
            host[tuple(place)] = new
            return True

    def _handed_out(self) -> jax.Array:
        """Return the value for others, who may keep its memory: the next write leaves that as it is."""
        value, owner = self._value, self._owner
        if value is owner._value:
            owner._shared = True
        return value

    def _spent(self) -> jax.Array:
        """Return the value for who may delete it: a copy of what others hold, too."""
        value = self._value
        held = value is self._owner._value if self._view else self._shared or _count(self, value) != _ALONE
        return duplicate(value) if held else value

    def _rewrite(self, program, *args) -> None:
        """Replace the value by ``program(value, *args, made)``; nobody can read it meanwhile.

        ``made`` is None, or a list: then the program may use the memory of the value, and appends its result
        in the same call of C that does so. Ctrl-C is raised between calls, so one of both values is there.
        """
        if self._view:
            with self._owner._lock:
                self._view.write(program(self._value, *args, None))
            return
        with self._lock:
            value = self._value
            made = [value]
            try:
                holders = _take_out(self, value)
                alone = holders == _ALONE and not self._shared
                reuses = alone and not is_traced(value) and value.nbytes > SMALL and not in_a_trace()
                new = program(value, *args, made if reuses else None)
                if new is not made[-1]:
                    if is_traced(new) and not is_traced(value):
                        _refuse_leak()
                    made.append(new)
            finally:  # without a call, which Ctrl-C could end
                self._value, self._host = made[-1], None
                if made[-1] is not value:
                    self._shared = False


_value_slot = Storage.__dict__["_value"]
_from_host = compiled(lambda host: host)


def _value_of(array, *default):
    """Return what is in the slot of the value."""
    try:
        return _value_slot.__get__(array, Storage)
    except AttributeError:
        if default:
            return None
        raise


def _is_for_host(value) -> bool:
    """Whether NumPy's memory can stand for a value: it is small, and on the CPU that JAX chooses."""
    return (
        value.nbytes <= _BY_HOST
        and value.ndim > 0
        and not (is_traced(value) or value.committed or value.weak_type)
        and value.dtype.kind in "biufc"
        and value.sharding.device_set == {_default_cpu()}
        and jax.config.jax_default_device is None
    )


@functools.cache
def _default_cpu() -> jax.Device | None:
    """Return JAX's first device if it is a CPU."""
    first = jax.local_devices()[0]
    return first if first.platform == "cpu" else None


_copy = compiled(jnp.copy)  # which leaves an array uncommitted to its device, as jnp.copy does not


def duplicate(value: jax.Array) -> jax.Array:
    """Copy a value; one that is traced cannot be changed."""
    if is_traced(value):
        return value
    with eagerly():
        return _copy(value)


def _take_out(array, value) -> int:
    """Take its value out of an array, and count who holds it."""
    del array._value
    return sys.getrefcount(value)


def _count(array, value) -> int:
    return sys.getrefcount(value)


def _count_alone() -> int:
    """Return what `_rewrite` counts if nobody else holds the value."""
    array = object.__new__(Storage)
    array._value = object()  # type: ignore[assignment]
    value = array._value
    made = [value]
    return _take_out(array, made[0] and value)


# Without the GIL the count would prove nothing.
_ALONE = _count_alone() if getattr(sys, "_is_gil_enabled", lambda: True)() else -1


def _refuse_leak() -> None:
    """Raise if an array that is no part of a trace is written to in it: the write would be lost."""
    if is_traced(jnp.zeros(())):  # so that every array made here is traced, too
        raise ValueError(
            "an array from outside is written to inside a function that jax.jit or jax.lax traces, where the "
            "write would be lost: pass the array as an argument and return it"
        )
