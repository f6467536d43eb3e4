"""Views: arrays that are a part of another array, as ``x[1:]`` and ``x.T`` are in NumPy.

A view knows whose part it is, and keeps what it read until the owner's value is another one.
"""

import weakref

import jax

from .._tracing import is_traced
from ._selection import Selection, take

__all__ = ["View"]


class View:
    """Which part of its owner an array is."""

    __slots__ = ("_known", "owner", "selection")

    _known: tuple[weakref.ref, jax.Array]

    def __init__(self, owner, selection: Selection, source: jax.Array, part: jax.Array):
        """Make the view of a part of ``owner``, no view itself; ``part`` was read from its ``source``."""
        self.owner, self.selection = owner, selection
        self._known = weakref.ref(source), part

    def value(self) -> jax.Array:
        """Return the part as it is now."""
        source = self.owner._value
        seen, value = self._known
        if seen() is source:
            return value
        value = take(source, self.selection)
        if is_traced(source) or not is_traced(value):  # else it would outlive its trace
            self._known = weakref.ref(source), value
        return value

    def remember(self, value: jax.Array) -> None:
        """Keep what the part is now."""
        self._known = weakref.ref(self.owner._value), value

    def is_current(self, owner, selection: Selection) -> bool:
        """Whether it is this part as it is now, as the last step of ``x[key] += y`` has it."""
        return self.owner is owner and self.selection == selection and self._known[0]() is self.owner._value
