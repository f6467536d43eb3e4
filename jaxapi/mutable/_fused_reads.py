"""Views and elements read by the program that uses them.

``y[2:] + y[:-2]`` runs one program, not three, and ``x[:-1] = y[1:]`` one, not two. Where a view is used for
the third time, it is read by a program of its own and kept. Reading a part changes no bit of it.
"""

import functools

import jax

import jaxapi
from jaxapi import _elementwise, linalg

from .._compilation import compiled
from .._tracing import is_traced
from ._deferred import Element
from ._selection import Part, Selection, part_in_program, program_of
from ._storage import Storage

__all__ = ["computed", "reads_parts", "unread"]

# Those that are one program each, whatever their arguments' values.
_OF_MATRICES = ("cholesky", "diagonal", "inv", "matmul", "outer", "solve", "vecdot")
_REDUCTIONS = ("all", "any", "max", "mean", "min", "prod", "std", "sum", "var")
_FUNCTIONS = frozenset(
    [getattr(jaxapi, name) for name in (*_elementwise.__all__, *_REDUCTIONS)]
    + [getattr(linalg, name) for name in _OF_MATRICES]
)
_STATIC = frozenset([int, bool, tuple, type(None)])  # axes, and whether they are kept


def reads_parts(function) -> bool:
    """Whether the program of a function of arrays can read views and elements on the way."""
    return function in _FUNCTIONS


def computed(function, *arrays, **options):
    """Return ``function(*arrays, **options)``; None if there is nothing to be read on the way."""
    for x in arrays:
        if not isinstance(x, (Storage, jax.Array)):
            return None
    if options and not _STATIC.issuperset(map(type, options.values())):
        return None
    parts = [unread(x) if isinstance(x, Storage) and (x._view or x._deferred) else None for x in arrays]
    if not any(parts):
        return None
    parts = [part or Part(_value(x), (), None) for part, x in zip(parts, arrays, strict=True)]
    if any(is_traced(part.source) for part in parts):
        return None
    sources = [(part.source, part.starts) for part in parts]
    return _program(function, sources, tuple([part.layout for part in parts]), tuple(options.items()))


def _value(x) -> jax.Array:
    return x._value if isinstance(x, Storage) else x


def unread(x) -> Part | None:
    """Return the array that a view or an element is part of, and where; None for what is read already."""
    later = x._deferred
    if type(later) is Element and later.place:
        return Part(later.snapshot.value, *program_of(Selection(later.place, ()), later.snapshot.value))
    view = x._view
    if view is None or not view.is_read_on_the_way():
        return None
    value = view.owner._value
    starts, layout = program_of(view.selection, value)
    return Part(value, starts, layout if view.reshaped is None else layout._replace(reshaped=view.reshaped))


@functools.partial(compiled, static_argnums=(0, 2, 3))
def _program(function, sources, layouts, options):
    arrays = [
        x if layout is None else part_in_program(x, starts, layout)
        for (x, starts), layout in zip(sources, layouts, strict=True)
    ]
    return function(*arrays, **dict(options))
