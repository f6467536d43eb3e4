"""Views and elements read by the program that uses them.

``y[2:] + y[:-2]`` runs one program, not three, and ``x[:-1] = y[1:]`` one, not two, where the parts are used
once: the second time a part is read by a program of its own and kept. Reading a part changes no bit of it.
"""

import functools

import jax

import jaxapi

from .._tracing import is_traced
from ._later import Element
from ._selection import Part, Selection, part_in_program, program_of

__all__ = ["computed", "unread"]

_FUNCTIONS = frozenset([jaxapi.add, jaxapi.subtract, jaxapi.multiply, jaxapi.divide])


def computed(function, x, y) -> jax.Array | None:
    """Return ``function(x, y)`` of two mutable arrays; None if there is nothing to be read on the way."""
    if function not in _FUNCTIONS:
        return None
    first, second = unread(x), unread(y)
    if first is None and second is None:
        return None
    a, b = first or (x._value, (), None), second or (y._value, (), None)
    if is_traced(a[0]) or is_traced(b[0]):
        return None
    return _program(function, *a, *b)


def unread(x) -> Part | None:
    """Return the array that a view or an element is part of, and where; None for what is read already."""
    later = x._later
    if type(later) is Element and later.place:
        return Part(later.cell.value, *program_of(Selection(later.place, ()), later.cell.value))
    view = x._view
    if view is None or not view.is_first_use():
        return None
    value = view.owner._value
    return Part(value, *program_of(view.selection, value))


@functools.partial(jax.jit, static_argnums=(0, 3, 6))
def _program(function, x, x_starts, x_layout, y, y_starts, y_layout):
    if x_layout is not None:
        x = part_in_program(x, x_starts, x_layout)
    if y_layout is not None:
        y = part_in_program(y, y_starts, y_layout)
    return function(x, y)
