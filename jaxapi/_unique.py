"""The distinct elements of an array in two programs: sort and count, then take as many as there are.

`jax.numpy` runs ten to fifty, each compiled apart.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

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
            found = function(x, size=size, fill_value=fill_value)
            return found if result is None else result(*found)
        index = jnp.result_type(int)
        with x64_for(x.dtype):
            *sorted_x, count = _sorted(x, index, "indices" in parts or "inverse_indices" in parts)
            found = _taken(*sorted_x, x.shape, int(count), index, parts)
        return found[0] if result is None else result(*found)

    return unique


def _is_concrete(x) -> bool:
    if is_traced(x) or in_a_trace() or not x.size:
        return False
    return len(x.sharding.device_set) == 1


@functools.partial(compiled, static_argnums=(1, 2))
def _sorted(x, index, with_order):
    """Return the elements in order, where each stood, the rank of each, and how many ranks there are."""
    x = x.reshape(-1)
    if with_order:
        x, order = lax.sort((x, lax.iota(index, x.size)), num_keys=1, is_stable=True)
    else:
        x, order = lax.sort(x, is_stable=True), None
    begins = jnp.concatenate([jnp.zeros(1, bool), x[1:] != x[:-1]])  # NaN differs from NaN
    rank = jnp.cumsum(begins, dtype=index)
    return x, order, rank, rank[-1] + 1


@functools.partial(compiled, static_argnums=(3, 4, 5, 6))
def _taken(x, order, rank, shape, count, index, parts):
    to = jnp.where(rank[1:] > rank[:-1], rank[1:], count)
    places = jnp.zeros(count, index).at[to].set(1 + lax.iota(index, x.size - 1), mode="drop")
    found = {"values": x[places]}
    if "indices" in parts:
        found["indices"] = order[places]
    if "counts" in parts:
        found["counts"] = jnp.diff(places, append=jnp.full(1, x.size, index))
    if "inverse_indices" in parts:
        found["inverse_indices"] = jnp.zeros(x.size, index).at[order].set(rank).reshape(shape)
    return tuple(found[part] for part in parts)
