"""Views and elements read by the program that uses them.

``y[2:] + y[:-2]`` runs one program, not three, and ``x[:-1] = y[1:]`` one, not two. Where a view is used for
the third time, it is read by a program of its own and kept. Reading a part changes no bit of it.
"""

import functools
from typing import Any

import jax

import jaxapi
from jaxapi import _elementwise, linalg

from .._kept import on_gpu
from .._tracing import in_a_trace, is_traced
from ..linalg._compilation import compiled_product
from ._calls import LONGEST, Call, Known, is_plain, kind_of, settings
from ._later import Element
from ._selection import Part, Selection, part_in_program, program_of
from ._storage import Storage

__all__ = ["call_of", "calls_wait", "can_wait", "computed", "reads_parts", "unread"]

# Those that are one program each, whatever their arguments' values.
_OF_MATRICES = ("cholesky", "diagonal", "inv", "matmul", "outer", "solve", "vecdot")
_FUNCTIONS = frozenset(
    [getattr(jaxapi, name) for name in _elementwise.__all__]
    + [getattr(linalg, name) for name in _OF_MATRICES]
)

_OF_AXES = (
    *("all", "any", "argmax", "argmin", "expand_dims", "flip", "max", "mean", "min", "prod", "squeeze"),
    *("std", "sum", "var"),
)
_WAITING = frozenset([jaxapi.where] + [getattr(jaxapi, name) for name in (*_elementwise.__all__, *_OF_AXES)])
_OPTIONS = frozenset(["axis", "correction", "dtype", "keepdims"])  # that are no arrays
_NONE: dict = {}
_KEEPS_APART = jax.__version_info__ >= (0, 11)  # XLA honours the barriers between operations
_ONE_DEVICE = jax.sharding.SingleDeviceSharding


def can_wait(function) -> bool:
    """Whether a call of a function may run with those that use its result."""
    return function in _WAITING


def calls_wait() -> bool:
    """Whether there are calls that need not run at once."""
    return _KEEPS_APART and on_gpu() and not in_a_trace() and not jax.config.jax_disable_jit


def call_of(function, operands, options: dict = _NONE) -> Call | None:
    """Return the call of a function of arrays and kept numbers, to run when its result is needed.

    None if it must run at once: where an operand is traced, on several devices, large, or in memory that
    others may delete, and where an option is an array.
    """
    if not calls_wait() or not _OPTIONS.issuperset(options):
        return None
    now = settings()
    found: list[Call | Part] = []
    kinds = []
    place: Any = None
    here: Any
    for operand in operands:
        x: Any = operand if type(operand) is Part else _held(operand, now)
        if x is None:
            return None
        if type(x) is Call:
            known, here = x.kind.result, (x.sharding, x.committed)
        else:
            source, _, layout = x
            here = (source.sharding, source.committed) if x is not operand else place  # numbers are anywhere
            shape, dtype = source.shape, source.dtype
            if not is_plain(shape, dtype):
                return None
            known = Known(layout.shape if layout else shape, dtype, source.weak_type)
        if place is None:
            place = here
        elif here is not place and here != place:
            return None
        found.append(x)
        kinds.append(known)
    if place is None or type(place[0]) is not _ONE_DEVICE:
        return None
    try:
        kind = kind_of(function, tuple(options.items()), now, tuple(kinds))
    except TypeError:  # an option that is no part of a key
        return None
    return None if kind.result is None else Call(kind, found, *place)


def _held(x, now: tuple) -> Call | Part | None:
    """Return what a call holds of an operand, None if it must not."""
    if not isinstance(x, Storage):
        return None
    later = x._later
    if type(later) is Call and not later.has_run and later.length < LONGEST and later.kind.settings == now:
        return later
    if x._owner._shared:
        return None
    part = (unread(x) if x._view or later else None) or Part(x._value, (), None)
    return None if is_traced(part.source) else part


def reads_parts(function) -> bool:
    """Whether the program of a function of arrays can read views and elements on the way."""
    return function in _FUNCTIONS


def computed(function, *arrays):
    """Return ``function(*arrays)``; None if there is nothing to be read on the way."""
    for x in arrays:
        if not isinstance(x, Storage):
            return None
    parts = [unread(x) if x._view or x._later else None for x in arrays]
    if not any(parts):
        return None
    parts = [part or Part(x._value, (), None) for part, x in zip(parts, arrays, strict=True)]
    if any(is_traced(part.source) for part in parts):
        return None
    sources = [(part.source, part.starts) for part in parts]
    return _program(function, sources, tuple([part.layout for part in parts]))


def unread(x) -> Part | None:
    """Return the array that a view or an element is part of, and where; None for what is read already."""
    later = x._later
    if type(later) is Element and later.place:
        return Part(later.cell.value, *program_of(Selection(later.place, ()), later.cell.value))
    view = x._view
    if view is None or not view.is_read_on_the_way():
        return None
    value = view.owner._value
    starts, layout = program_of(view.selection, value)
    return Part(value, starts, layout if view.reshaped is None else layout._replace(reshaped=view.reshaped))


@functools.partial(compiled_product, static_argnums=(0, 2))
def _program(function, sources, layouts):
    return function(
        *[
            x if layout is None else part_in_program(x, starts, layout)
            for (x, starts), layout in zip(sources, layouts, strict=True)
        ]
    )
