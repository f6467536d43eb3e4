"""Functions that arrange axes and leave the first one where it is: they do the same to buffers."""

from collections.abc import Callable
from typing import Any

import jax
from numpy.lib.array_utils import normalize_axis_tuple

import jaxapi

from .._array import rows_of, wrap_rows
from .._storage import duplicate
from ._rows import OF_ARGUMENTS, Rows

__all__ = ["SHAPES"]


def _arranged(function: Callable[..., jax.Array], rows: Rows, argument: Any, module: str) -> Any:
    """Return the rows as a function arranges them; None where it raises, as it does of exact arrays."""
    try:
        made = function(rows.value, argument)
    except OF_ARGUMENTS:
        return None
    if made is rows.value:
        made = duplicate(made)
    return wrap_rows(Rows(made, rows.count), module)


def _axes_of(axes: Any, ndim: int) -> tuple[int, ...] | None:
    """Return axes as numbers from 0 on; None for what is no such axes."""
    try:
        return tuple(normalize_axis_tuple(axes, ndim))
    except OF_ARGUMENTS:
        return None


def _broadcast_to(x: Any, shape: Any, *, module: str) -> Any:
    rows = rows_of(x)
    lengths = (shape,) if type(shape) is int else shape
    if rows is None or type(lengths) not in (tuple, list) or len(lengths) != rows.value.ndim:
        return None
    if lengths[0] != rows.count:
        return None
    shape_of_buffer = (len(rows.value), *lengths[1:])
    return _arranged(jaxapi.broadcast_to, rows, shape_of_buffer, module)


def _permute_dims(x: Any, axes: Any, *, module: str) -> Any:
    rows = rows_of(x)
    order = _axes_of(axes, rows.value.ndim) if rows is not None and isinstance(axes, (tuple, list)) else None
    if rows is None or order is None or order[:1] != (0,) or len(order) != rows.value.ndim:
        return None
    return _arranged(jaxapi.permute_dims, rows, order, module)


def _moveaxis(x: Any, source: Any, destination: Any, *, module: str) -> Any:
    rows = rows_of(x)
    if rows is None:
        return None
    ndim = rows.value.ndim
    sources = _axes_of(source, ndim)
    destinations = _axes_of(destination, ndim)
    if sources is None or destinations is None or len(sources) != len(destinations):
        return None
    order = [axis for axis in range(ndim) if axis not in sources]
    for place, axis in sorted(zip(destinations, sources, strict=True)):
        order.insert(place, axis)
    return _permute_dims(x, tuple(order), module=module)


def _squeeze(x: Any, axis: Any = None, *, module: str) -> Any:
    rows = rows_of(x)
    if rows is None:
        return None
    if axis is None:
        axes: Any = tuple([i for i, length in enumerate(rows.shape) if length == 1])
    else:
        axes = _axes_of(axis, rows.value.ndim)
    if axes is None or 0 in axes:
        return None
    return _arranged(jaxapi.squeeze, rows, axes, module)


SHAPES: dict[str, Callable[..., Any]] = {
    "broadcast_to": _broadcast_to,
    "moveaxis": _moveaxis,
    "permute_dims": _permute_dims,
    "squeeze": _squeeze,
}
