"""The distinct elements of an array in two programs: sort and count, then take as many as there are.

`jax.numpy` runs ten to fifty, each compiled apart.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from ._core._complex_order import sorting_keys
from ._core._dtypes import x64_for
from ._core._programs import compiled, in_a_trace, is_traced

__all__ = ["in_two_programs"]


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


_RESULTS: dict[str, Any] = {
    "unique_all": UniqueAllResult,
    "unique_counts": UniqueCountsResult,
    "unique_inverse": UniqueInverseResult,
}


def in_two_programs(function):
    """Return one of `jax.numpy`'s functions; the size of the result is the number of distinct elements."""
    result = _RESULTS.get(function.__name__)
    parts = ("values",) if result is None else result._fields

    @functools.wraps(function)
    def unique(x, /, *, size=None, fill_value=None):
        if size is not None or not _is_concrete(x):
            distinct = function(x, size=size, fill_value=fill_value)
            return distinct if result is None else result(*distinct)
        index_dtype = jnp.result_type(int)
        with_order = "indices" in parts or "inverse_indices" in parts
        with x64_for(x.dtype):
            in_order = _sorted(x, index_dtype, with_order)
            taken = _taken(in_order, x.shape, int(in_order.distinct_count), parts)
        return taken[0] if result is None else result(*taken)

    return unique


def _is_concrete(x) -> bool:
    if is_traced(x) or in_a_trace() or not x.size:
        return False
    return len(x.sharding.device_set) == 1


class _Sorted(NamedTuple):
    """The elements of an array in order."""

    values: jax.Array
    order: Any  # where each stood; None if nobody asked
    rank: jax.Array  # of each among the distinct ones
    distinct_count: jax.Array


@functools.partial(compiled, static_argnums=(1, 2))
def _sorted(x, index_dtype, with_order) -> _Sorted:
    values = x.reshape(-1)
    keys = sorting_keys(values) if jnp.iscomplexobj(values) else ()
    positions = (lax.iota(index_dtype, values.size),) if with_order else ()
    operands = (*keys, values, *positions)
    in_order = lax.sort(operands, num_keys=len(keys) or 1, is_stable=True)[len(keys) :]
    values = in_order[0]
    order = in_order[1] if with_order else None
    begins = jnp.concatenate([jnp.zeros(1, bool), values[1:] != values[:-1]])  # NaN differs from NaN
    rank = jnp.cumsum(begins, dtype=index_dtype)
    return _Sorted(values, order, rank, rank[-1] + 1)


@functools.partial(compiled, static_argnums=(1, 2, 3))
def _taken(in_order: _Sorted, shape, count, parts) -> tuple:
    """Return the parts of a result of as many elements as are distinct."""
    values, order, rank, _ = in_order
    size = values.size
    index_dtype = rank.dtype
    begins = rank[1:] > rank[:-1]
    # The first of each run of equals writes its position to its rank, the others nowhere.
    target = jnp.where(begins, rank[1:], count)
    positions = 1 + lax.iota(index_dtype, size - 1)
    firsts = jnp.zeros(count, index_dtype).at[target].set(positions, mode="drop")
    made = {"values": values[firsts]}
    if "indices" in parts:
        made["indices"] = order[firsts]
    if "counts" in parts:
        made["counts"] = jnp.diff(firsts, append=jnp.full(1, size, index_dtype))
    if "inverse_indices" in parts:
        made["inverse_indices"] = jnp.zeros(size, index_dtype).at[order].set(rank).reshape(shape)
    return tuple(made[part] for part in parts)
