"""What `jax.vmap` makes of a search: one search of all queries."""

import jax
import jax.numpy as jnp
from jax import lax

__all__ = ["one_search_of_all"]


def one_search_of_all(search):
    """Let vmap over the queries of ``search(shared, x, number)`` make one search of them all.

    `x` are queries (q, m) and `number` one for each or one for all, results begin with axis q. A batch of
    what they share, such as trees, is searched one after another: walking several in lockstep waits for the
    slowest.
    """

    @jax.custom_batching.custom_vmap
    def run(shared, x, number):
        return search(shared, x, number)

    @run.def_vmap
    def rule(size, batched, shared, x, number):
        shared_is_batched, x_is_batched, number_is_batched = batched

        def batch_of(values, is_batched):
            return values if is_batched else jnp.broadcast_to(values, (size, *values.shape))

        if any(jax.tree.leaves(shared_is_batched)):
            items = jax.tree.map(batch_of, (shared, x, number), tuple(batched))
            results = lax.map(lambda item: run(*item), items)
        else:
            x = batch_of(x, x_is_batched)
            q = x.shape[1]
            if number_is_batched or number.ndim:
                number = number.reshape(size if number_is_batched else 1, -1)
                number = jnp.broadcast_to(number, (size, q)).reshape(-1)
            results = run(shared, x.reshape(-1, x.shape[-1]), number)
            results = jax.tree.map(lambda a: a.reshape(size, q, *a.shape[1:]), results)
        return results, jax.tree.map(lambda _: True, results)

    return run
