"""Views: arrays that are a part of another array, as ``x[1:]`` and ``x.T`` are in NumPy.

A view knows whose part it is and by which keys; it keeps what it read until the owner's value is another one.
"""

import weakref

import jax

from .._tracing import is_traced
from ._indexing import read, write

__all__ = ["MATRIX_TRANSPOSE", "TRANSPOSE", "View", "part", "with_part"]

TRANSPOSE, MATRIX_TRANSPOSE = "T", "mT"  # the keys of these two views


def part(value: jax.Array, key) -> jax.Array:
    """Return what a key selects."""
    if isinstance(key, str):
        return value.T if key == TRANSPOSE else value.mT
    return read(value, key)


def with_part(value: jax.Array, path: tuple, new: jax.Array, donate: bool) -> jax.Array:
    """Return ``value`` after what the keys of ``path`` select, one after the other, became ``new``."""
    levels = [value]
    for key in path[:-1]:
        levels.append(part(levels[-1], key))
    for key, old in zip(reversed(path), reversed(levels), strict=True):
        new = part(new, key) if isinstance(key, str) else write(old, key, new, donate and old is value)
    return new


class View:
    """Which part of its owner an array is."""

    __slots__ = ("_known", "owner", "path")

    def __init__(self, array, key, value: jax.Array):
        """Make the view of what ``key`` selects in ``array``, a view or not; ``value`` was read there."""
        above = array._view
        self.owner, self.path = (above.owner, (*above.path, key)) if above else (array, (key,))
        self.remember(value)

    def value(self) -> jax.Array:
        """Return the part as it is now."""
        source = self.owner._value
        seen, value = self._known
        if seen() is source:
            return value
        value = source
        for key in self.path:
            value = part(value, key)
        if is_traced(source) or not is_traced(value):  # else it would outlive its trace
            self._known = weakref.ref(source), value
        return value

    def remember(self, value: jax.Array) -> None:
        """Keep what the part is now."""
        self._known = weakref.ref(self.owner._value), value

    def is_current(self, array, key) -> bool:
        """Whether this is ``array[key]`` as it is now, as the last step of ``array[key] += y`` has it."""
        return (
            self.owner is array
            and len(self.path) == 1
            and self.path[0] is key
            and self._known[0]() is array._value
        )
