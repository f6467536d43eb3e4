"""Views: arrays that are a part of another array, as ``x[1:]``, ``x.T`` and ``reshape(x, -1)`` are in NumPy.

A view knows whose part it is, and keeps what it read until the owner's value is another one.
"""

import weakref
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .._tracing import is_traced
from ._selection import Selection, put, take

__all__ = ["View"]


class View:
    """Which part of its owner an array is."""

    __slots__ = ("_known", "owner", "part", "reshaped", "shape")

    _known: tuple[Callable, Any]

    def __init__(self, owner, part: Selection | None, reshaped: tuple | None = None):
        """Make the view of a part of ``owner``, or of all of it in another shape.

        The part is read when it is needed. The owner is no view itself, unless reshaped.
        """
        self.owner, self.part, self.reshaped = owner, part, reshaped
        self.shape: Any = reshaped if part is None else part.shape  # known unread
        self.forget()

    @property
    def selection(self) -> Selection:
        """Which part of the owner, before it is reshaped."""
        if self.part is not None:
            return self.part
        shape = self.owner.shape
        return Selection.transposed(shape, tuple(range(len(shape))))

    @property
    def is_simple(self) -> bool:
        """Whether the selection says all, as nothing is reshaped."""
        return self.reshaped is None and self.owner._view is None

    def value(self) -> jax.Array:
        """Return the part as it is now."""
        source = self.owner._value
        seen, value = self._known
        if seen() is source:
            return value
        value = take(source, self.selection)
        if self.reshaped is not None:
            value = jnp.reshape(value, self.reshaped)
        if is_traced(source) or not is_traced(value):  # else it would outlive its trace
            self._known = weakref.ref(source), value
        return value

    def write(self, new: jax.Array) -> None:
        """Put another part in its place."""
        part = new if self.reshaped is None else jnp.reshape(new, self.selection.shape)
        self.owner._rewrite(put, self.selection, part)
        self.remember(new)

    def layout(self, owners: np.ndarray) -> np.ndarray:
        """Return the strides that NumPy's array would have, from those of the owner."""
        keys = tuple(
            i if isinstance(i, int) else slice(i.start, i.stop if i.stop >= 0 else None, i.step)
            for i in self.selection.ranges
        )
        part = owners[keys]
        kept = [axis for axis in self.selection.axes if axis is not None]
        order = sorted(kept)
        part = part.transpose([order.index(axis) for axis in kept])
        part = part[tuple(None if axis is None else slice(None) for axis in self.selection.axes)]
        return part if self.reshaped is None else part.reshape(self.reshaped, copy=False)

    def remember(self, value: jax.Array) -> None:
        """Keep what the part is now."""
        self._known = weakref.ref(self.owner._value), value

    def forget(self) -> None:
        """Read the part anew when it is needed: another object than before."""
        self._known = _unread, None

    def is_current(self, owner, selection: Selection) -> bool:
        """Whether it is this part as it is now, as the last step of ``x[key] += y`` has it."""
        same = self.owner is owner and self.reshaped is None and self.selection == selection
        return same and self._known[0]() is owner._value


def _unread():
    return None
