"""Rows of several arrays put one after another, each over the room of the one before it."""

import functools
from typing import Any

import jax.numpy as jnp
from jax import lax

from ..._core._dtypes import x64_for
from ..._core._lengths import has_own_length
from ..._core._programs import compiled
from .._array import rows_or_value, wrap_rows
from ._rows import Rows, is_exact, number_of, rows_in, takes_room

__all__ = ["concatenated"]


def concatenated(arrays: Any, axis: Any = 0, *, module: str) -> Any:
    """Return arrays joined along the first axis; None for another one, or where exact arrays are needed."""
    contents = _contents_of(arrays)
    if contents is None or type(axis) is not int or axis not in (0, -len(contents[0].shape)):
        return None
    made = _one_after_another(contents)
    return None if made is None else wrap_rows(made, module)


def _contents_of(arrays: Any) -> list[Any] | None:
    """Return each array as rows or a value; None if none has rows, or dtypes or numbers of axes differ."""
    if type(arrays) not in (tuple, list):
        return None
    contents = [rows_or_value(x) for x in arrays]
    if not all(isinstance(x, Rows) or takes_room(x) for x in contents):
        return None
    values = [x.value if isinstance(x, Rows) else x for x in contents]
    if not any(isinstance(x, Rows) for x in contents) or not has_own_length(*values):
        return None
    kinds = {(x.dtype, x.ndim) for x in values}
    return contents if len(kinds) == 1 else None


def _one_after_another(contents: list[Any]) -> Rows | None:
    values = [x.value if isinstance(x, Rows) else x for x in contents]
    first = values[0]
    counts = [len(x) for x in contents]
    total = sum(counts)
    if is_exact(total) or any(x.shape[1:] != first.shape[1:] for x in values):
        return None
    starts = [number_of(sum(counts[:i])) for i in range(len(counts))]
    with x64_for(first.dtype):
        return Rows(_joined(values, starts, rows_in(total)), total)


@functools.partial(compiled, static_argnums=2)
def _joined(values, starts, length):
    """Write values one after another, each over the room of the one before it."""
    longest = max(x.shape[0] for x in values)
    buffer = jnp.zeros((length + longest, *values[0].shape[1:]), values[0].dtype)
    for value, start in zip(values, starts, strict=True):
        buffer = lax.dynamic_update_slice_in_dim(buffer, value, start, 0)
    return buffer[:length]
