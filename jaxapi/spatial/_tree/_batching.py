"""What `jax.vmap` makes of a search: one search of all queries, or a search of all trees at once."""

import functools
from functools import partial

import jax
import jax.numpy as jnp

__all__ = ["one_after_another", "one_search_of_all"]


def one_after_another(search):
    """Let vmap do the items of a batch one after another: walking trees in lockstep waits for the slowest.

    Arrays are arguments by position, all that is static by keyword.
    """

    @functools.wraps(search)
    def run(*arrays, **static):
        return jax.custom_batching.sequential_vmap(partial(search, **static))(*arrays)

    return run


def one_search_of_all(search):
    """Let vmap over the queries of ``search(shared, x, number)`` make one search of them all.

    `x` are queries (q, m) and `number` one for each or one for all, results begin with axis q. Where what the
    queries share is batched, such as trees, the search itself is.
    """
    return _with_batches(search, axes_before=0)


def _with_batches(search, axes_before: int):
    """Return a search whose queries and results have so many axes of batches in front.

    What they share and the number may have them.
    """

    @jax.custom_batching.custom_vmap
    def run(shared, x, number):
        return search(shared, x, number)

    @run.def_vmap
    def rule(size, is_batched, shared, x, number):
        is_shared_batched, is_x_batched, is_number_batched = is_batched
        if not is_x_batched:
            x = jnp.broadcast_to(x, (size, *x.shape))
        if any(jax.tree.leaves(is_shared_batched)):
            if not is_number_batched:
                number = jnp.broadcast_to(number, (size, *number.shape))
            shared_axes = jax.tree.map(lambda has_axis: 0 if has_axis else None, is_shared_batched)
            search_of_all = jax.vmap(search, in_axes=(shared_axes, 0, 0))
            results = _with_batches(search_of_all, axes_before + 1)(shared, x, number)
        else:
            q = x.shape[axes_before + 1]
            x = _joined(x, axes_before)
            if is_number_batched or number.ndim > axes_before:
                if not is_number_batched:
                    number = jnp.broadcast_to(number, (size, *number.shape))
                if number.ndim == axes_before + 1:  # one for all queries
                    number = number[..., None]
                number = jnp.broadcast_to(number, (*number.shape[:-1], q))
                number = _joined(number, axes_before)
            results = run(shared, x, number)
            results = jax.tree.map(lambda result: _parted(result, size, q, axes_before), results)
        return results, jax.tree.map(lambda _: True, results)

    return run


def _joined(values, axes_before: int):
    """Return values (size, ..., q, *) as (..., size * q, *), where ... are so many axes."""
    values = jnp.moveaxis(values, 0, axes_before)
    shape = values.shape
    return values.reshape(*shape[:axes_before], -1, *shape[axes_before + 2 :])


def _parted(values, size: int, q: int, axes_before: int):
    """Return what `_joined` has joined, (..., size * q, *), as (size, ..., q, *)."""
    shape = values.shape
    values = values.reshape(*shape[:axes_before], size, q, *shape[axes_before + 1 :])
    return jnp.moveaxis(values, axes_before, 0)
