"""The distinct elements of an array in two programs: sort and count, then take them into a buffer with room.

`jax.numpy` runs ten to fifty, each compiled apart.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ._core._devices import in_host_memory
from ._core._dtypes import x64_for
from ._core._lengths import capacity, cut, has_own_length
from ._core._masks import index_dtype_for, put_at, targets
from ._core._order import keys_of
from ._core._programs import compiled
from ._interop import with_numpy

__all__ = ["RESULTS", "distinct_in_buffers", "in_two_programs"]


class UniqueAllResult(NamedTuple):
    """What `unique_all` returns."""

    values: jax.Array
    indices: jax.Array
    inverse_indices: jax.Array
    counts: jax.Array


class UniqueCountsResult(NamedTuple):
    """What `unique_counts` returns."""

    values: jax.Array
    counts: jax.Array


class UniqueInverseResult(NamedTuple):
    """What `unique_inverse` returns."""

    values: jax.Array
    inverse_indices: jax.Array


RESULTS: dict[str, Any] = {
    "unique_all": UniqueAllResult,
    "unique_counts": UniqueCountsResult,
    "unique_inverse": UniqueInverseResult,
}


def in_two_programs(function):
    """Return one of `jax.numpy`'s functions; the size of the result is the number of distinct elements."""
    result = RESULTS.get(function.__name__)
    parts = ("values",) if result is None else result._fields

    def of_own_length(x):
        count, taken = distinct_in_buffers(x, parts)
        with x64_for(x.dtype):
            distinct = [
                array if part == "inverse_indices" else cut(count, array)[0]
                for part, array in zip(parts, taken, strict=True)
            ]
        return distinct[0] if result is None else distinct

    if "inverse_indices" not in parts:
        of_own_length = with_numpy(function.__name__, of_own_length)

    @functools.wraps(function)
    def unique(x, /, *, size=None, fill_value=None):
        if size is not None or not x.size or not has_own_length(x):
            distinct = function(x, size=size, fill_value=fill_value)
        else:
            distinct = of_own_length(x)
        return distinct if result is None else result(*distinct)

    return unique


def distinct_in_buffers(x, parts, size=None, equal_nan=False, row_bytes=None):
    """Return how many elements are distinct, and parts of a result in buffers.

    Inverse indices have the shape of ``x``. If there is a ``size``, so many elements of ``x`` count, and the
    others sort behind them. NaN differs from NaN unless ``equal_nan``. ``row_bytes`` decides how long buffers
    are (see `capacity`), by default those of an element and its indices.
    """
    index_dtype = jnp.result_type(int)
    with_order = "indices" in parts or "inverse_indices" in parts
    with x64_for(x.dtype, index_dtype_for(x.size)):
        in_order = _sorted(x, size, with_order, equal_nan)
        count = int(in_host_memory(in_order.distinct_count))
        index_parts = [part for part in parts if part in ("indices", "counts")]
        row_bytes = row_bytes or x.dtype.itemsize + len(index_parts) * index_dtype.itemsize
        length = capacity(count, row_bytes, most=x.size)
        return count, _taken(in_order, size, x.shape, length, parts, equal_nan, index_dtype)


class _Sorted(NamedTuple):
    """The elements of an array in order."""

    values: jax.Array
    order: Any  # where each stood; None if nobody asked
    rank: jax.Array  # of each among the distinct ones
    distinct_count: jax.Array


@functools.partial(compiled, static_argnums=(2, 3))
def _sorted(x, size, with_order, equal_nan) -> _Sorted:
    position_dtype = index_dtype_for(x.size)
    with x64_for(x.dtype, position_dtype):
        values = x.reshape(-1)
        keys = keys_of(values) if jnp.iscomplexobj(values) else ()
        positions = (lax.iota(position_dtype, values.size),) if with_order else ()
        operands = (*keys, values, *positions)
        in_order = lax.sort(operands, num_keys=len(keys) or 1, is_stable=True)[len(keys) :]
        values = in_order[0]
        order = in_order[1] if with_order else None
        rank = jnp.cumsum(_begins(values, size, equal_nan), dtype=position_dtype) - 1
        return _Sorted(values, order, rank, rank[-1] + 1)


def _begins(values, size, equal_nan):
    """Tell where another value begins, among so many."""
    is_other = values[1:] != values[:-1]
    if equal_nan:
        is_other &= ~(jnp.isnan(values[1:]) & jnp.isnan(values[:-1]))
    begins = jnp.concatenate([jnp.ones(1, bool), is_other])
    return begins if size is None else begins & (lax.iota(np.int32, values.size) < size)


@functools.partial(compiled, static_argnums=(2, 3, 4, 5, 6))
def _taken(in_order: _Sorted, count, shape, length, parts, equal_nan, index_dtype) -> tuple:
    """Return the parts of a result in buffers of `length`, where as many elements count as are distinct."""
    values, order, rank, _ = in_order
    size = values.size
    end = size if count is None else count
    position_dtype = rank.dtype
    with x64_for(values.dtype, position_dtype, index_dtype):
        positions = lax.iota(position_dtype, size)
        where_to = targets(_begins(values, count, equal_nan), rank + 1, length)
        # Where each distinct value begins, and behind the last of them the end.
        ends = jnp.full(length, end, position_dtype)
        begins = put_at(ends, where_to, positions)
        firsts = jnp.minimum(begins, size - 1)
        made = {"values": values[firsts]}
        if "indices" in parts:
            made["indices"] = order[firsts].astype(index_dtype)
        if "counts" in parts:
            counts = jnp.diff(begins, append=jnp.full(1, end, position_dtype))
            made["counts"] = counts.astype(index_dtype)
        if "inverse_indices" in parts:
            inverse = jnp.zeros(size, index_dtype)
            inverse = inverse.at[order].set(rank.astype(index_dtype), unique_indices=True)
            made["inverse_indices"] = inverse.reshape(shape)
        return tuple(made[part] for part in parts)
